/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bind_grad.c - gradients of what operators and programs compute: the thread's mode, what tensors
 * know of them, backward passes.
 *
 * Operators are recorded by the scope that they go through (bind_operator.c), programs by their
 * module (bind_module.c), both where the thread's mode says so. Passes run without the
 * interpreter's lock.
 */
#include "bind.h"

/* as torch.no_grad leaves it; threads begin with gradients enabled */
static __thread bool disabled;

bool bind_grad_enabled(void) { return !disabled; }

bool bind_grad_set(bool on) {
    bool before = !disabled;
    disabled = !on;
    return before;
}

static PyObject *is_enabled(PyObject *self, PyObject *unused) {
    (void)self;
    (void)unused;
    return PyBool_FromLong(!disabled);
}

/* _set_grad_enabled(mode) -> the mode before */
static PyObject *set_enabled(PyObject *self, PyObject *mode) {
    (void)self;
    int on = PyObject_IsTrue(mode);
    if (on < 0) return NULL;
    return PyBool_FromLong(bind_grad_set(on));
}

/* ---- what tensors know ----------------------------------------------------------------------- */

PyObject *bind_get_requires_grad(PyObject *self, void *unused) {
    (void)unused;
    return PyBool_FromLong(ctsc_value_requires_grad(((Tensor *)self)->v));
}

int bind_set_requires_grad(PyObject *self, PyObject *v, void *unused) {
    (void)unused;
    int on = v ? PyObject_IsTrue(v) : 0;
    ctsc_error *e = on < 0 ? NULL : bind_error();
    if (!e) return -1;
    if (ctsc_value_set_requires_grad(((Tensor *)self)->v, on, e) == CTSC_OK) return 0;
    bind_raise(e, "requires_grad");
    return -1;
}

PyObject *bind_get_grad(PyObject *self, void *unused) {
    (void)unused;
    ctsc_value *g = ctsc_value_grad(((Tensor *)self)->v);
    return g ? bind_tensor_take(g) : bind_ref(Py_None);
}

int bind_set_grad(PyObject *self, PyObject *v, void *unused) {
    (void)unused;
    ctsc_error *e = bind_error();
    if (!e) return -1;
    if (v && v != Py_None && !TensorCheck(v))
        return PyErr_Format(PyExc_TypeError,
                            "assigned grad expected to be a Tensor or None but got grad of type %S",
                            (PyObject *)Py_TYPE(v)),
               -1;
    const ctsc_value *g = v && v != Py_None ? ((Tensor *)v)->v : NULL;
    if (ctsc_value_set_grad(((Tensor *)self)->v, g, e) == CTSC_OK) return 0;
    bind_raise(e, "grad");
    return -1;
}

PyObject *bind_get_is_leaf(PyObject *self, void *unused) {
    (void)unused;
    return PyBool_FromLong(ctsc_value_is_leaf(((Tensor *)self)->v));
}

/* ---- passes ---------------------------------------------------------------------------------- */

/* _backward(tensor, gradient or None, flags) */
static PyObject *backward(PyObject *self, PyObject *args) {
    PyObject *root, *grad;
    unsigned flags;
    (void)self;
    ctsc_error *e = bind_error();
    if (!e || !PyArg_ParseTuple(args, "O!OI", bind.tensor, &root, &grad, &flags)) return NULL;
    if (grad != Py_None && !TensorCheck(grad))
        return PyErr_Format(PyExc_TypeError, "gradients can be either Tensors or None, but got %S",
                            (PyObject *)Py_TYPE(grad));
    const ctsc_value *g = grad == Py_None ? NULL : ((Tensor *)grad)->v;
    const ctsc_cancel *c = bind_interrupt_enter();
    ctsc_run_options o = bind_limits(c);
    PyThreadState *saved = PyEval_SaveThread();
    ctsc_status st = ctsc_backward(((Tensor *)root)->v, g, flags, &o, e);
    PyEval_RestoreThread(saved);
    if (bind_interrupt_leave(c, st != CTSC_OK)) return NULL;
    return st == CTSC_OK ? bind_ref(Py_None) : bind_raise(e, "backward");
}

ctsc_value **bind_handles(PyObject *tuple, bool none, const char *what) {
    Py_ssize_t n = PyTuple_Size(tuple);
    ctsc_value **hs = PyMem_Malloc((size_t)(n + 1) * sizeof *hs);
    if (!hs) return PyErr_NoMemory(), NULL;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *o = PyTuple_GetItem(tuple, i);
        if (!TensorCheck(o) && !(none && o == Py_None)) {
            PyErr_Format(PyExc_TypeError, "%s must be Tensors, not %S", what,
                         (PyObject *)Py_TYPE(o));
            return PyMem_Free(hs), NULL;
        }
        hs[i] = o == Py_None ? NULL : ((Tensor *)o)->v;
    }
    return hs;
}

/* A tuple of what was found, taken; None where there is nothing. */
static PyObject *gradients(size_t n, ctsc_value **found) {
    PyObject *t = PyTuple_New((Py_ssize_t)n);
    for (size_t i = 0; i < n; i++) {
        PyObject *o = !found[i] ? bind_ref(Py_None) : bind_tensor_take(found[i]);
        if (!t) Py_XDECREF(o);
        else if (!o || PyTuple_SetItem(t, (Py_ssize_t)i, o) < 0) Py_CLEAR(t);
    }
    return t;
}

/* _grad(outputs, gradients of them, inputs, flags): tuples */
static PyObject *grad(PyObject *self, PyObject *args) {
    PyObject *outputs, *given, *inputs, *result = NULL;
    unsigned flags;
    (void)self;
    ctsc_error *e = bind_error();
    if (!e || !PyArg_ParseTuple(args, "O!O!O!I", &PyTuple_Type, &outputs, &PyTuple_Type, &given,
                                &PyTuple_Type, &inputs, &flags))
        return NULL;
    size_t n = (size_t)PyTuple_Size(outputs), m = (size_t)PyTuple_Size(inputs);
    if ((size_t)PyTuple_Size(given) != n)
        return PyErr_Format(PyExc_RuntimeError, "got %zd tensors and %zd gradients",
                            PyTuple_Size(outputs), PyTuple_Size(given));
    ctsc_value **outs = bind_handles(outputs, false, "outputs"),
               **gs = outs ? bind_handles(given, true, "gradients") : NULL,
               **ins = gs ? bind_handles(inputs, false, "inputs") : NULL,
               **found = ins ? PyMem_Malloc((m + 1) * sizeof *found) : NULL;
    if (ins && !found) PyErr_NoMemory();
    for (size_t i = 0; found && i < m; i++) found[i] = NULL;
    if (found) {
        const ctsc_cancel *c = bind_interrupt_enter();
        ctsc_run_options o = bind_limits(c);
        PyThreadState *saved = PyEval_SaveThread();
        ctsc_status st = ctsc_grad(n, outs, gs, m, ins, flags, &o, found, e);
        PyEval_RestoreThread(saved);
        if (bind_interrupt_leave(c, st != CTSC_OK))
            for (size_t i = 0; i < m; i++) ctsc_value_free(found[i]);
        else result = st == CTSC_OK ? gradients(m, found) : bind_raise(e, "grad");
    }
    PyMem_Free(outs);
    PyMem_Free(gs);
    PyMem_Free(ins);
    PyMem_Free(found);
    return result;
}

PyMethodDef bind_grad_methods[] = {
    {"is_grad_enabled", is_enabled, METH_NOARGS,
     "is_grad_enabled()\n--\n\nWhether operators of this thread are recorded for gradients."},
    {"_set_grad_enabled", set_enabled, METH_O, NULL},
    {"_backward", backward, METH_VARARGS, NULL},
    {"_grad", grad, METH_VARARGS, NULL},
    {0},
};
