/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bind_compat.h - what every CPython since 3.9 has, and the limited API's headers of
 * 3.9 do not declare.
 *
 * The buffer protocol entered the limited API in 3.11, METH_FASTCALL in 3.10, vectorcall in 3.12;
 * structure, numbers and functions have been what they are now since 3.9, where types made from a
 * spec first took slots of buffers and __vectorcalloffset__. PyUnicode_AsUTF8AndSize is of 3.10's
 * limited API, and of 3.3's library.
 */
#ifndef CTSC_BIND_COMPAT_H
#define CTSC_BIND_COMPAT_H

#include <stdbool.h>

#if Py_LIMITED_API + 0 < 0x030b0000
typedef struct bufferinfo {
    void *buf;
    PyObject *obj;
    Py_ssize_t len, itemsize;
    int readonly, ndim;
    char *format;
    Py_ssize_t *shape, *strides, *suboffsets;
    void *internal;
} Py_buffer;
PyAPI_FUNC(int) PyObject_GetBuffer(PyObject *o, Py_buffer *view, int flags);
PyAPI_FUNC(void) PyBuffer_Release(Py_buffer *view);
PyAPI_FUNC(int) PyObject_CheckBuffer(PyObject *o);
PyAPI_FUNC(int) PyBuffer_ToContiguous(void *buf, const Py_buffer *view, Py_ssize_t len, char order);
#define PyBUF_WRITABLE 0x0001
#define PyBUF_FORMAT 0x0004
#define PyBUF_ND 0x0008
#define PyBUF_STRIDES (0x0010 | PyBUF_ND)
#define PyBUF_C_CONTIGUOUS (0x0020 | PyBUF_STRIDES)
#define PyBUF_RECORDS_RO (PyBUF_STRIDES | PyBUF_FORMAT)
#endif
#ifndef Py_bf_getbuffer
#define Py_bf_getbuffer 1
#define Py_bf_releasebuffer 2
#endif
#ifndef METH_FASTCALL
#define METH_FASTCALL 0x0080
#endif
typedef PyObject *(*bind_fastcall)(PyObject *self, PyObject *const *args, Py_ssize_t n);
typedef PyObject *(*bind_vectorcall)(PyObject *callable, PyObject *const *args, size_t nargsf,
                                     PyObject *names);
#define BIND_HAVE_VECTORCALL (1UL << 11)
#define BIND_METHOD_DESCRIPTOR (1UL << 17)
#define BIND_NARGS(n) ((Py_ssize_t)((n) & ~((size_t)1 << (8 * sizeof(size_t) - 1))))
PyAPI_FUNC(PyObject *) PyVectorcall_Call(PyObject *callable, PyObject *tuple, PyObject *dict);
#if Py_LIMITED_API + 0 < 0x030a0000
PyAPI_FUNC(const char *) PyUnicode_AsUTF8AndSize(PyObject *unicode, Py_ssize_t *size);
#endif
static inline PyObject *bind_ref(PyObject *o) {
    Py_INCREF(o);
    return o;
}

#endif
