/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bind_register.c - operators of a program's own, written in Python or as a piece of C text.
 *
 * A function of Python is called with the interpreter's lock, from whatever thread runs the
 * program. What it raises ends the call, and is raised again by it. Registered functions are kept
 * for good, as the library keeps them.
 */
#include "bind.h"

#include <string.h>

static PyObject *arguments(size_t n, ctsc_value *const *args) {
    PyObject *t = PyTuple_New((Py_ssize_t)n);
    for (size_t i = 0; t && i < n; i++) {
        PyObject *o = bind_from_value(ctsc_value_copy(args[i]));
        if (!o || PyTuple_SetItem(t, (Py_ssize_t)i, o) < 0) Py_CLEAR(t);
    }
    return t;
}

/* ctx: (function, number of results) */
static ctsc_status run_python(void *ctx, size_t nargs, ctsc_value *const *args,
                              ctsc_value **results, ctsc_error *e) {
    PyGILState_STATE s = PyGILState_Ensure();
    PyObject *fn = PyTuple_GetItem(ctx, 0), *t = arguments(nargs, args),
             *o = t ? PyObject_CallObject(fn, t) : NULL;
    long n = PyLong_AsLong(PyTuple_GetItem(ctx, 1));
    bool ok = o != NULL;
    if (ok && n == 1) ok = bind_give(o, &results[0]);
    if (ok && n > 1 && (!PyTuple_Check(o) || PyTuple_Size(o) != n)) {
        PyErr_Format(PyExc_TypeError,
                     "the operator has %ld results and must return a tuple of them", n);
        ok = false;
    }
    for (long i = 0; ok && n > 1 && i < n; i++) ok = bind_give(PyTuple_GetItem(o, i), &results[i]);
    if (!ok) bind_stash_exception(e, "an operator in Python failed");
    Py_XDECREF(o);
    Py_XDECREF(t);
    PyGILState_Release(s);
    return ok ? CTSC_OK : CTSC_FAILED;
}

/* _register(schema, function or None, results, flags, C text or None) */
static PyObject *register_op(PyObject *self, PyObject *args) {
    const char *schema, *scalar;
    PyObject *fn;
    int results;
    unsigned flags;
    (void)self;
    ctsc_error *e = bind_error();
    if (!e || !PyArg_ParseTuple(args, "sOiIz", &schema, &fn, &results, &flags, &scalar))
        return NULL;
    PyObject *ctx = Py_BuildValue("(Oi)", fn, results);
    ctsc_op_options o = {.size = sizeof o, .flags = flags, .scalar = scalar};
    if (!ctx) return NULL;
    ctsc_status st = ctsc_register_op(schema, fn == Py_None ? NULL : run_python, ctx, &o, e);
    if (st == CTSC_OK) return bind_ref(Py_None); /* ctx is the library's for good */
    Py_DECREF(ctx);
    return bind_raise(e, "register_op");
}

static PyObject *load_library(PyObject *self, PyObject *args) {
    const char *path;
    (void)self;
    ctsc_error *e = bind_error();
    if (!e || !PyArg_ParseTuple(args, "s", &path)) return NULL;
    return ctsc_load_library(path, e) == CTSC_OK ? bind_ref(Py_None)
                                                 : bind_raise(e, "load_library");
}

PyMethodDef bind_register_methods[] = {
    {"_register", register_op, METH_VARARGS, NULL},
    {"load_library", load_library, METH_VARARGS,
     "load_library(path, /)\n--\n\nLoads operators of a shared library."},
    {0},
};
