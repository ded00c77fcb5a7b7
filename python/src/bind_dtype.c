/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bind_dtype.c - ctsc.float32 and its like: one object per element type, with PyTorch's attributes.
 */
#include "bind.h"

#include <string.h>

static const dtype_row rows[] = {
    {CTSC_UINT8, "uint8", NULL, 1, "B", "|u1", 'u', 1},
    {CTSC_INT8, "int8", NULL, 1, "b", "|i1", 'i', 0},
    {CTSC_INT16, "int16", "short", 2, "h", "<i2", 'i', 0},
    {CTSC_INT32, "int32", "int", 4, "i", "<i4", 'i', 0},
    {CTSC_INT64, "int64", "long", 8, "l", "<i8", 'i', 0},
    {CTSC_FLOAT16, "float16", "half", 2, "e", "<f2", 'f', 2},
    {CTSC_FLOAT32, "float32", "float", 4, "f", "<f4", 'f', 2},
    {CTSC_FLOAT64, "float64", "double", 8, "d", "<f8", 'f', 2},
    {CTSC_COMPLEX64, "complex64", "cfloat", 8, "Zf", "<c8", 'c', 5},
    {CTSC_COMPLEX128, "complex128", "cdouble", 16, "Zd", "<c16", 'c', 5},
    {CTSC_BOOL, "bool", NULL, 1, "?", "|b1", 'b', 6},
    {CTSC_BFLOAT16, "bfloat16", NULL, 2, NULL, NULL, 'f', 4},
    /* Of archives' quantised tensors: named, never made. */
    {12, "qint8", NULL, 1, NULL, NULL, 'q', 0},
    {13, "quint8", NULL, 1, NULL, NULL, 'q', 0},
    {14, "qint32", NULL, 4, NULL, NULL, 'q', 0},
    {16, "quint4x2", NULL, 1, NULL, NULL, 'q', 0},
    {17, "quint2x4", NULL, 1, NULL, NULL, 'q', 0},
    /* Stored and converted, not computed with. */
    {CTSC_FLOAT8_E5M2, "float8_e5m2", NULL, 1, NULL, NULL, 'F', 0},
    {CTSC_FLOAT8_E4M3FN, "float8_e4m3fn", NULL, 1, NULL, NULL, 'F', 0},
    {CTSC_FLOAT8_E5M2FNUZ, "float8_e5m2fnuz", NULL, 1, NULL, NULL, 'F', 0},
    {CTSC_FLOAT8_E4M3FNUZ, "float8_e4m3fnuz", NULL, 1, NULL, NULL, 'F', 0},
    {CTSC_FLOAT8_E8M0FNU, "float8_e8m0fnu", NULL, 1, NULL, NULL, 'F', 0},
    {CTSC_UINT16, "uint16", NULL, 2, "H", "<u2", 'U', 1},
    {CTSC_UINT32, "uint32", NULL, 4, "I", "<u4", 'U', 1},
    {CTSC_UINT64, "uint64", NULL, 8, "Q", "<u8", 'U', 1},
    /* Of PyTorch alone: programs name them, in tables and comparisons. No tensor has them. */
    {8, "complex32", "chalf", 4, NULL, NULL, 'C', 0},
    {45, "float4_e2m1fn_x2", NULL, 1, NULL, NULL, 'F', 0},
};
enum { NROWS = sizeof rows / sizeof *rows, NUMBERS = BIND_DTYPES };
static PyObject *objects[NUMBERS];
static const dtype_row *by_number[NUMBERS];

const dtype_row *bind_dtype_row(int number) {
    return number >= 0 && number < NUMBERS ? by_number[number] : NULL;
}

PyObject *bind_dtype_object(int number) {
    return number >= 0 && number < NUMBERS && objects[number] ? objects[number] : Py_None;
}

static const dtype_row *row_of(PyObject *self) { return by_number[((Dtype *)self)->number]; }
static PyObject *dtype_repr(PyObject *self) {
    return PyUnicode_FromFormat("ctsc.%s", row_of(self)->name);
}
/* Pickled by name: the singletons stay singletons. */
static PyObject *dtype_reduce(PyObject *self, PyObject *unused) {
    (void)unused;
    return PyUnicode_FromString(row_of(self)->name);
}
static PyObject *dtype_number(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromLong(((Dtype *)self)->number);
}
static PyObject *dtype_itemsize(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromLong(row_of(self)->size);
}
static PyObject *dtype_name(PyObject *self, void *unused) {
    (void)unused;
    return PyUnicode_FromString(row_of(self)->name);
}
static PyObject *dtype_is(PyObject *self, void *kinds) {
    return PyBool_FromLong(strchr(kinds, row_of(self)->kind) != NULL);
}
static PyObject *dtype_typestr(PyObject *self, void *unused) {
    (void)unused;
    const char *text = row_of(self)->typestr;
    if (!text) Py_RETURN_NONE;
    return PyUnicode_FromString(text);
}

static PyMethodDef methods[] = {{"__reduce__", dtype_reduce, METH_NOARGS, NULL}, {0}};
static PyGetSetDef properties[] = {
    {"itemsize", dtype_itemsize, NULL, NULL, NULL},
    {"name", dtype_name, NULL, NULL, NULL},
    {"is_floating_point", dtype_is, NULL, NULL, "fF"},
    {"is_complex", dtype_is, NULL, NULL, "cC"},
    {"is_signed", dtype_is, NULL, NULL, "ifcFC"},
    {"_ctsc_value_", dtype_number, NULL, NULL, NULL},
    {"_typestr", dtype_typestr, NULL, NULL, NULL},
    {0},
};
static PyType_Slot slots[] = {
    {Py_tp_new, bind_no_new},
    {Py_tp_repr, dtype_repr},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {0, NULL},
};
static PyType_Spec spec = {"ctsc.dtype", sizeof(Dtype), 0, Py_TPFLAGS_DEFAULT, slots};

int bind_init_dtype(PyObject *m) {
    bind.dtype = (PyTypeObject *)PyType_FromSpec(&spec);
    if (!bind.dtype || PyModule_AddObject(m, "dtype", bind_ref((PyObject *)bind.dtype)) < 0)
        return -1;
    for (int i = 0; i < NROWS; i++) {
        const dtype_row *r = &rows[i];
        Dtype *o = (Dtype *)PyType_GenericAlloc(bind.dtype, 0);
        if (!o) return -1;
        o->number = r->number;
        by_number[r->number] = r;
        objects[r->number] = (PyObject *)o;
        if (PyObject_SetAttrString(m, r->name, (PyObject *)o) < 0) return -1;
        if (r->other_name && PyObject_SetAttrString(m, r->other_name, (PyObject *)o) < 0) return -1;
    }
    return 0;
}
