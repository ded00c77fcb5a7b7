/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bind_trace.c - recording what Python computes: a Trace is a scope that the thread's calls go
 * through while it is entered.
 *
 * Tensors are known to the trace by what they are; numbers by the scope's handles, so that sizes
 * come as TracedInt (python/ctsc/_trace.py), an int with the handle in a capsule. Handles live as
 * long as the Trace, which capsules keep.
 */
#include "bind.h"

static void on_warn(void *ctx, const char *text) {
    (void)ctx;
    PyObject *hook = PyDict_GetItemString(bind.hooks, "tracer_note"),
             *done = hook ? PyObject_CallFunction(hook, "s", text) : NULL;
    if (!done) PyErr_Clear();
    Py_XDECREF(done);
}

static PyObject *trace_new(PyTypeObject *type, PyObject *args, PyObject *kw) {
    const char *name = "Traced";
    (void)kw;
    if (!PyArg_ParseTuple(args, "|s", &name)) return NULL;
    Trace *t = (Trace *)PyType_GenericAlloc(type, 0);
    if (!t) return NULL;
    t->s = ctsc_scope_new();
    t->outside = PyList_New(0);
    if (!t->s || !t->outside) return Py_DECREF(t), PyErr_NoMemory();
    ctsc_trace_options o = {.size = sizeof o, .name = name, .warn = on_warn};
    if (ctsc_trace_begin(t->s, &o) == CTSC_OK) return (PyObject *)t;
    bind_raise(ctsc_scope_error(t->s), "trace");
    Py_DECREF(t);
    return NULL;
}

static void trace_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    ctsc_scope_free(((Trace *)self)->s);
    Py_XDECREF(((Trace *)self)->outside);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* _enter() makes it the thread's, _leave() ends that. */
static PyObject *trace_enter(PyObject *self, PyObject *unused) {
    (void)unused;
    if (bind_current_trace)
        return PyErr_SetString(PyExc_RuntimeError, "Tracing can't be nested"), NULL;
    bind_current_trace = (Trace *)bind_ref(self);
    return bind_ref(Py_None);
}
static PyObject *trace_leave(PyObject *self, PyObject *unused) {
    (void)unused;
    if (bind_current_trace == (Trace *)self) {
        bind_current_trace = NULL;
        Py_DECREF(self);
    }
    return bind_ref(Py_None);
}

static PyObject *named(PyObject *self, PyObject *args,
                       ctsc_value *(*declare)(ctsc_scope *, const char *, const ctsc_value *)) {
    const char *name;
    PyObject *o;
    bind_arg a;
    ctsc_scope *s = ((Trace *)self)->s;
    if (!PyArg_ParseTuple(args, "sO", &name, &o) || !bind_to_value(o, true, &a)) return NULL;
    ctsc_value *h = declare(s, name, a.v);
    bind_free_args(1, &a);
    return h ? bind_traced_result(h) : bind_raise(ctsc_scope_error(s), name);
}
static PyObject *trace_input(PyObject *self, PyObject *args) {
    return named(self, args, ctsc_input);
}
static PyObject *trace_parameter(PyObject *self, PyObject *args) {
    return named(self, args, ctsc_parameter);
}
static PyObject *trace_buffer(PyObject *self, PyObject *args) {
    return named(self, args, ctsc_buffer);
}

/* A result with its items as the trace knows them: lists and tuples are the scope's. */
static ctsc_value *result_handle(ctsc_scope *s, PyObject *o) {
    bind_arg a;
    if (PyTuple_Check(o) || PyList_Check(o)) {
        size_t n = (size_t)PySequence_Size(o);
        ctsc_value **items = PyMem_Malloc((n + 1) * sizeof *items), *h = NULL;
        size_t i = 0;
        if (!items) return PyErr_NoMemory(), NULL;
        for (; i < n; i++) {
            PyObject *item = PySequence_GetItem(o, (Py_ssize_t)i);
            items[i] = item ? result_handle(s, item) : NULL;
            Py_XDECREF(item);
            if (!items[i]) break;
        }
        if (i == n) h = PyTuple_Check(o) ? ctsc_tuple(s, n, items) : ctsc_list(s, n, items);
        PyMem_Free(items);
        return h;
    }
    if (!bind_to_value(o, false, &a)) return NULL;
    ctsc_value *h = a.own                   ? ctsc_take(s, a.v)
                    : bind_traced_handle(o) ? a.v
                                            : ctsc_take(s, ctsc_value_copy(a.v));
    return h;
}

static PyObject *trace_end(PyObject *self, PyObject *result) {
    Trace *t = (Trace *)self;
    ctsc_module *m = NULL;
    ctsc_error *e = bind_error();
    ctsc_value *h = e ? result_handle(t->s, result) : NULL;
    if (!h) return PyErr_Occurred() ? NULL : bind_raise(ctsc_scope_error(t->s), "trace");
    return ctsc_trace_end(t->s, h, &m, e) == CTSC_OK ? bind_module_take(m, NULL)
                                                     : bind_raise(e, "trace");
}

static PyObject *is_tracing(PyObject *self, PyObject *unused) {
    (void)self;
    (void)unused;
    return PyBool_FromLong(bind_current_trace != NULL);
}

static PyMethodDef methods[] = {
    {"_enter", trace_enter, METH_NOARGS, NULL},
    {"_leave", trace_leave, METH_NOARGS, NULL},
    {"input", trace_input, METH_VARARGS,
     "input($self, *args)\n--\n\nA value as an input of the trace."},
    {"parameter", trace_parameter, METH_VARARGS,
     "parameter($self, *args)\n--\n\nA tensor as a parameter of the trace."},
    {"buffer", trace_buffer, METH_VARARGS,
     "buffer($self, *args)\n--\n\nA tensor as a buffer of the trace."},
    {"end", trace_end, METH_O, "end($self, result, /)\n--\n\nThe program that was recorded."},
    {"is_tracing", is_tracing, METH_NOARGS | METH_STATIC,
     "is_tracing()\n--\n\nWhether a trace is being recorded."},
    {0},
};
static PyMemberDef members[] = {{"outside", T_OBJECT, offsetof(Trace, outside), READONLY,
                                 "Tensors that the trace has from elsewhere."},
                                {0}};
static PyType_Slot slots[] = {
    {Py_tp_doc, "Trace(*args)\n--\n\nThe recorder of one run of a function."},
    {Py_tp_new, trace_new},
    {Py_tp_dealloc, trace_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {0, NULL},
};
static PyType_Spec spec = {"ctsc._C.Trace", sizeof(Trace), 0, Py_TPFLAGS_DEFAULT, slots};

int bind_init_trace(PyObject *m) {
    bind.trace = (PyTypeObject *)PyType_FromSpec(&spec);
    return bind.trace ? PyObject_SetAttrString(m, "Trace", (PyObject *)bind.trace) : -1;
}
