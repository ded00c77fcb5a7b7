/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bind_handle.c - handles of the library's values as Python's objects: what every other file needs
 * of tensors, and of the numbers that a trace follows.
 */
#include "bind.h"

#include <math.h>
#include <string.h>

/* ---- tensors --------------------------------------------------------------------------------- */

PyObject *bind_tensor_take(ctsc_value *v) {
    Tensor *t = v ? PyObject_GC_New(Tensor, bind.tensor) : NULL;
    if (!t) {
        if (!v && !PyErr_Occurred()) PyErr_NoMemory();
        ctsc_value_free(v);
        return NULL;
    }
    t->v = v;
    t->weak = t->program = t->dict = NULL;
    return (PyObject *)t; /* tracked by the collector from its first attribute on */
}

int64_t bind_numel(const ctsc_value *v) {
    int64_t n = 1;
    const int64_t *sizes = ctsc_tensor_sizes(v);
    for (int i = 0; i < ctsc_tensor_ndim(v); i++) n *= sizes[i];
    return n;
}

PyObject *bind_sizes(const int64_t *n, int ndim) {
    PyObject *t = PyTuple_New(ndim);
    for (int i = 0; t && i < ndim; i++)
        if (PyTuple_SetItem(t, i, PyLong_FromLongLong(n[i])) < 0) Py_CLEAR(t);
    PyObject *type = t ? PyDict_GetItemString(bind.hooks, "Size") : NULL,
             *size = type ? PyObject_CallFunctionObjArgs(type, t, NULL) : bind_ref(t);
    Py_XDECREF(t);
    return size;
}

/* PyTorch's number of a dtype that modules neither take nor give: ctsc.h does not have it. */
enum { COMPLEX32 = 8 };

/* ---- numbers out of memory ------------------------------------------------------------------- */

static double half_to_double(uint16_t h) {
    int exponent = h >> 10 & 31, sign = h >> 15;
    double m = h & 1023, f = exponent == 31 ? (m != 0 ? NAN : INFINITY)
                             : exponent     ? ldexp(1024 + m, exponent - 25)
                                            : ldexp(m, -24);
    return sign ? -f : f;
}

static double bfloat_to_double(uint16_t b) {
    uint32_t u = (uint32_t)b << 16;
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

#define ELEMENT(type, make)                                                                        \
    {                                                                                              \
        type x;                                                                                    \
        memcpy(&x, at, sizeof x);                                                                  \
        return make;                                                                               \
    }
PyObject *bind_element(int dtype, const void *at) {
    switch (dtype) {
    case CTSC_BOOL: ELEMENT(uint8_t, PyBool_FromLong(x))
    case CTSC_UINT8: ELEMENT(uint8_t, PyLong_FromLong(x))
    case CTSC_INT8: ELEMENT(int8_t, PyLong_FromLong(x))
    case CTSC_INT16: ELEMENT(int16_t, PyLong_FromLong(x))
    case CTSC_INT32: ELEMENT(int32_t, PyLong_FromLong(x))
    case CTSC_INT64: ELEMENT(int64_t, PyLong_FromLongLong(x))
    case CTSC_UINT16: ELEMENT(uint16_t, PyLong_FromLong(x))
    case CTSC_UINT32: ELEMENT(uint32_t, PyLong_FromUnsignedLong(x))
    case CTSC_UINT64: ELEMENT(uint64_t, PyLong_FromUnsignedLongLong(x))
    case CTSC_FLOAT16: ELEMENT(uint16_t, PyFloat_FromDouble(half_to_double(x)))
    case CTSC_BFLOAT16: ELEMENT(uint16_t, PyFloat_FromDouble(bfloat_to_double(x)))
    case CTSC_FLOAT32: ELEMENT(float, PyFloat_FromDouble(x))
    case CTSC_FLOAT64: ELEMENT(double, PyFloat_FromDouble(x))
    case COMPLEX32: {
        uint16_t x[2];
        memcpy(x, at, sizeof x);
        return PyComplex_FromDoubles(half_to_double(x[0]), half_to_double(x[1]));
    }
    case CTSC_COMPLEX64: {
        float x[2];
        memcpy(x, at, sizeof x);
        return PyComplex_FromDoubles(x[0], x[1]);
    }
    case CTSC_COMPLEX128: {
        double x[2];
        memcpy(x, at, sizeof x);
        return PyComplex_FromDoubles(x[0], x[1]);
    }
    default: return PyErr_SetString(PyExc_TypeError, "elements of this dtype cannot be read"), NULL;
    }
}

/* ---- the thread's trace ---------------------------------------------------------------------- */

__thread Trace *bind_current_trace;

ctsc_scope *bind_tracing(void) { return bind_current_trace ? bind_current_trace->s : NULL; }

int bind_trace_warns(const char *what) {
    if (!bind_tracing()) return 0;
    PyObject *warn = PyDict_GetItemString(bind.hooks, "tracer_warning"),
             *done = warn ? PyObject_CallFunction(warn, "s", what) : NULL;
    Py_XDECREF(done);
    return warn && !done ? -1 : 0;
}

ctsc_value *bind_traced_handle(PyObject *o) {
    if (!bind_current_trace || !bind.int_type ||
        !PyType_IsSubtype(Py_TYPE(o), (PyTypeObject *)bind.int_type))
        return NULL;
    PyObject *c = PyObject_GetAttr(o, bind.handle_name);
    ctsc_value *h = c && PyCapsule_GetContext(c) == bind_current_trace
                        ? PyCapsule_GetPointer(c, "ctsc_value")
                        : NULL;
    Py_XDECREF(c);
    PyErr_Clear();
    return h;
}
