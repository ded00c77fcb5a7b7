/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bind_traced.c - what a trace (bind_trace.c) sees of a call: arguments that come from outside of
 * it, and results as it follows them.
 */
#include "bind.h"

static bool note(const ctsc_value *v) {
    if (ctsc_value_kind(v) != CTSC_KIND_TENSOR || !ctsc_value_requires_grad(v)) return true;
    PyObject *t = bind_tensor_take(ctsc_value_copy(v));
    int st = t ? PyList_Append(bind_current_trace->outside, t) : -1;
    Py_XDECREF(t);
    return st == 0;
}

/* Arguments of a call: inputs are copies without gradients, results are not recorded, so that what
 * requires one comes from elsewhere. */
bool bind_trace_sees(size_t n, ctsc_value *const *args) {
    for (size_t i = 0; bind_current_trace && i < n; i++) {
        bool list = ctsc_value_kind(args[i]) == CTSC_KIND_LIST, ok = note(args[i]);
        for (size_t k = 0; ok && list && k < ctsc_value_len(args[i]); k++) {
            ctsc_value *item = ctsc_value_item(args[i], k);
            bool tensor = item && ctsc_value_kind(item) == CTSC_KIND_TENSOR;
            ok = !item || note(item);
            ctsc_value_free(item);
            if (!tensor) break; /* a list of numbers */
        }
        if (!ok) return false;
    }
    return true;
}

static void capsule_free(PyObject *capsule) {
    Py_XDECREF((PyObject *)PyCapsule_GetContext(capsule));
}

/* A number that the trace follows: Python's, with the handle. */
static PyObject *traced_number(ctsc_value *h) {
    PyObject *plain = bind_from_value(ctsc_value_copy(h)), *result = NULL;
    if (!plain || !PyLong_Check(plain) || PyBool_Check(plain)) return plain;
    PyObject *make = PyDict_GetItemString(bind.hooks, "traced_int"),
             *c = PyCapsule_New(h, "ctsc_value", capsule_free);
    if (c) PyCapsule_SetContext(c, bind_ref((PyObject *)bind_current_trace));
    if (make && c) result = PyObject_CallFunctionObjArgs(make, plain, c, NULL);
    Py_XDECREF(c);
    Py_DECREF(plain);
    return result;
}

static PyObject *traced_sequence(ctsc_value *h, bool list) {
    size_t n = ctsc_value_len(h);
    PyObject *t = list ? PyList_New((Py_ssize_t)n) : PyTuple_New((Py_ssize_t)n);
    for (size_t i = 0; t && i < n; i++) {
        ctsc_value *item = ctsc_item(bind_current_trace->s, h, i);
        PyObject *o = item ? bind_traced_result(item)
                           : bind_raise(ctsc_scope_error(bind_current_trace->s), "trace");
        if (!o ||
            (list ? PyList_SetItem(t, (Py_ssize_t)i, o) : PyTuple_SetItem(t, (Py_ssize_t)i, o)) < 0)
            Py_CLEAR(t);
    }
    return t;
}

PyObject *bind_traced_result(ctsc_value *h) {
    switch (ctsc_value_kind(h)) {
    case CTSC_KIND_INT: return traced_number(h);
    case CTSC_KIND_TUPLE: return traced_sequence(h, false);
    case CTSC_KIND_LIST: return traced_sequence(h, true);
    default: return bind_from_value(ctsc_value_copy(h));
    }
}
