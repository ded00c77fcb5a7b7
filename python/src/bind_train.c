/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bind_train.c - the library's optimisers and clipping, as python/ctsc/optim uses them.
 *
 * Hyperparameters are the library's single numbers (beta1, beta2); what PyTorch's users see, pairs
 * and parameter groups, is made of them in Python. A step runs without the interpreter's lock, its
 * closure with it.
 */
#include "bind.h"

#include <math.h>

typedef struct Optimizer {
    PyObject_HEAD ctsc_optimizer *o;
} Optimizer;

static PyTypeObject *optimizer_type;

/* ---- settings -------------------------------------------------------------------------------- */

enum { MAX_SETTINGS = 256 };
typedef struct settings {
    ctsc_setting all[MAX_SETTINGS];
    size_t n;
} settings;

/* [(name, number)]; the names are the list's. */
static bool read_settings(PyObject *l, settings *s) {
    s->n = 0;
    if (!PyList_Check(l)) return PyErr_SetString(PyExc_TypeError, "settings must be a list"), false;
    for (Py_ssize_t i = 0; i < PyList_Size(l); i++) {
        PyObject *row = PyList_GetItem(l, i);
        if (s->n == MAX_SETTINGS)
            return PyErr_SetString(PyExc_ValueError, "too many settings"), false;
        if (!PyTuple_Check(row) || PyTuple_Size(row) != 2)
            return PyErr_SetString(PyExc_TypeError, "a setting is a name and a number"), false;
        const char *name = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(row, 0), NULL);
        double v = PyFloat_AsDouble(PyTuple_GetItem(row, 1));
        if (!name || (v == -1 && PyErr_Occurred())) return false;
        s->all[s->n++] = (ctsc_setting){name, v};
    }
    return true;
}

static PyObject *done(ctsc_status st, const ctsc_error *e, const char *what) {
    return st == CTSC_OK ? bind_ref(Py_None) : bind_raise(e, what);
}

/* ---- optimisers ------------------------------------------------------------------------------ */

/* Optimizer(name, parameters, settings) */
static PyObject *optimizer_new(PyTypeObject *type, PyObject *args, PyObject *kw) {
    const char *name;
    PyObject *params, *l;
    settings s;
    bind_arg a;
    ctsc_error *e = bind_error();
    (void)kw;
    if (!e || !PyArg_ParseTuple(args, "sO!O", &name, &PyList_Type, &params, &l)) return NULL;
    if (!read_settings(l, &s) || !bind_to_value(params, false, &a)) return NULL;
    Optimizer *o = (Optimizer *)PyType_GenericAlloc(type, 0);
    ctsc_status st = o ? ctsc_optimizer_new(name, a.v, s.n, s.all, &o->o, e) : CTSC_OK;
    bind_free_args(1, &a);
    if (st == CTSC_OK) return (PyObject *)o;
    Py_XDECREF(o);
    return bind_raise(e, name);
}
static void optimizer_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    ctsc_optimizer_free(((Optimizer *)self)->o);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *optimizer_add_group(PyObject *self, PyObject *args) {
    PyObject *params, *l;
    settings s;
    bind_arg a;
    ctsc_error *e = bind_error();
    if (!e || !PyArg_ParseTuple(args, "O!O", &PyList_Type, &params, &l)) return NULL;
    if (!read_settings(l, &s) || !bind_to_value(params, false, &a)) return NULL;
    ctsc_status st = ctsc_optimizer_add_group(((Optimizer *)self)->o, a.v, s.n, s.all, e);
    bind_free_args(1, &a);
    return done(st, e, "add_param_group");
}

/* set(group, name, number) */
static PyObject *optimizer_set(PyObject *self, PyObject *args) {
    Py_ssize_t group;
    const char *name;
    double v;
    ctsc_error *e = bind_error();
    if (!e || !PyArg_ParseTuple(args, "nsd", &group, &name, &v)) return NULL;
    return done(ctsc_optimizer_set(((Optimizer *)self)->o, (size_t)group, name, v, e), e, name);
}
/* get(group, name) -> number; None: there is none of that name */
static PyObject *optimizer_get(PyObject *self, PyObject *args) {
    Py_ssize_t group;
    const char *name;
    if (!PyArg_ParseTuple(args, "ns", &group, &name)) return NULL;
    double v = ctsc_optimizer_get(((Optimizer *)self)->o, (size_t)group, name);
    return isnan(v) ? bind_ref(Py_None) : PyFloat_FromDouble(v);
}

static ctsc_status call_closure(void *fn, double *loss, ctsc_error *e) {
    PyGILState_STATE s = PyGILState_Ensure();
    PyObject *o = PyObject_CallObject(fn, NULL), *f = o ? PyNumber_Float(o) : NULL;
    bool ok = f != NULL;
    if (ok) *loss = PyFloat_AsDouble(f);
    else bind_stash_exception(e, "the closure failed");
    Py_XDECREF(o);
    Py_XDECREF(f);
    PyGILState_Release(s);
    return ok ? CTSC_OK : CTSC_FAILED;
}

/* step(closure or None) -> the closure's first loss, or None */
static PyObject *optimizer_step(PyObject *self, PyObject *fn) {
    double loss = 0;
    ctsc_error *e = bind_error();
    if (!e) return NULL;
    Py_INCREF(self); /* the closure may drop the last reference */
    PyThreadState *saved = PyEval_SaveThread();
    ctsc_status st = ctsc_optimizer_step_closure(((Optimizer *)self)->o,
                                                 fn == Py_None ? NULL : call_closure, fn, &loss, e);
    PyEval_RestoreThread(saved);
    Py_DECREF(self);
    if (st != CTSC_OK) return bind_raise(e, "step");
    return fn == Py_None ? bind_ref(Py_None) : PyFloat_FromDouble(loss);
}

static PyObject *optimizer_zero_grad(PyObject *self, PyObject *unused) {
    (void)unused;
    ctsc_optimizer_zero_grad(((Optimizer *)self)->o);
    return bind_ref(Py_None);
}

static PyObject *optimizer_state(PyObject *self, PyObject *unused) {
    (void)unused;
    ctsc_value *v = NULL;
    ctsc_error *e = bind_error();
    if (!e) return NULL;
    ctsc_status st = ctsc_optimizer_state(((Optimizer *)self)->o, &v, e);
    return st == CTSC_OK ? bind_from_value(v) : bind_raise(e, "state_dict");
}
static PyObject *optimizer_load_state(PyObject *self, PyObject *state) {
    bind_arg a;
    ctsc_error *e = bind_error();
    if (!e || !bind_to_value(state, false, &a)) return NULL;
    ctsc_status st = ctsc_optimizer_load_state(((Optimizer *)self)->o, a.v, e);
    bind_free_args(1, &a);
    return done(st, e, "load_state_dict");
}

static PyMethodDef optimizer_methods[] = {
    {"add_group", optimizer_add_group, METH_VARARGS, NULL},
    {"set", optimizer_set, METH_VARARGS, NULL},
    {"get", optimizer_get, METH_VARARGS, NULL},
    {"step", optimizer_step, METH_O, NULL},
    {"zero_grad", optimizer_zero_grad, METH_NOARGS, NULL},
    {"state", optimizer_state, METH_NOARGS, NULL},
    {"load_state", optimizer_load_state, METH_O, NULL},
    {0},
};
static PyType_Slot optimizer_slots[] = {
    {Py_tp_new, optimizer_new},
    {Py_tp_dealloc, optimizer_dealloc},
    {Py_tp_methods, optimizer_methods},
    {0, NULL},
};
static PyType_Spec optimizer_spec = {"ctsc._C.Optimizer", sizeof(Optimizer), 0, Py_TPFLAGS_DEFAULT,
                                     optimizer_slots};

/* ---- clipping -------------------------------------------------------------------------------- */

/* _clip_grad_norm(parameters, largest norm, its kind) -> what it was */
static PyObject *clip_norm(PyObject *self, PyObject *args) {
    PyObject *params;
    double largest, kind, norm = 0;
    bind_arg a;
    (void)self;
    ctsc_error *e = bind_error();
    if (!e || !PyArg_ParseTuple(args, "O!dd", &PyList_Type, &params, &largest, &kind) ||
        !bind_to_value(params, false, &a))
        return NULL;
    ctsc_status st = ctsc_clip_grad_norm(a.v, largest, kind, &norm, e);
    bind_free_args(1, &a);
    return st == CTSC_OK ? PyFloat_FromDouble(norm) : bind_raise(e, "clip_grad_norm_");
}
static PyObject *clip_value(PyObject *self, PyObject *args) {
    PyObject *params;
    double limit;
    bind_arg a;
    (void)self;
    ctsc_error *e = bind_error();
    if (!e || !PyArg_ParseTuple(args, "O!d", &PyList_Type, &params, &limit) ||
        !bind_to_value(params, false, &a))
        return NULL;
    ctsc_status st = ctsc_clip_grad_value(a.v, limit, e);
    bind_free_args(1, &a);
    return done(st, e, "clip_grad_value_");
}

PyMethodDef bind_train_methods[] = {
    {"_clip_grad_norm", clip_norm, METH_VARARGS, NULL},
    {"_clip_grad_value", clip_value, METH_VARARGS, NULL},
    {0},
};

int bind_init_train(PyObject *m) {
    optimizer_type = (PyTypeObject *)PyType_FromSpec(&optimizer_spec);
    if (!optimizer_type) return -1;
    return PyObject_SetAttrString(m, "Optimizer", (PyObject *)optimizer_type);
}
