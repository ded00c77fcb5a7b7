/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bind_dtype.c - ctsc.float32 and the like: one object per element type, with PyTorch's attributes.
 */
#include "bind.h"

#include <stddef.h>
#include <string.h>

/* Of PyTorch alone: programs name them, in tables and comparisons. No tensor has them. */
static const dtype_row named_only[] = {
    {.number = 16, .name = "quint4x2", .size = 1, .kind = 'q'},
    {.number = 17, .name = "quint2x4", .size = 1, .kind = 'q'},
    {.number = 45, .name = "float4_e2m1fn_x2", .size = 1, .kind = 'F'},
};
enum { NAMED_ONLY = sizeof named_only / sizeof *named_only, NUMBERS = BIND_DTYPES };
static dtype_row rows[NUMBERS];
static PyObject *objects[NUMBERS];
static const dtype_row *by_number[NUMBERS];

/* In lower case what operators compute with. */
static char kind_of(const ctsc_dtype_info *d) {
    bool computed = d->use == CTSC_DTYPE_COMPUTED;
    switch (d->kind) {
    case CTSC_DTYPE_BOOL: return 'b';
    case CTSC_DTYPE_UNSIGNED: return computed ? 'u' : 'U';
    case CTSC_DTYPE_SIGNED: return 'i';
    case CTSC_DTYPE_FLOAT: return computed ? 'f' : 'F';
    case CTSC_DTYPE_COMPLEX: return computed ? 'c' : 'C';
    default: return 'q';
    }
}

/* DLPack's type code, of what has a buffer format. */
static uint8_t dl_code_of(const ctsc_dtype_info *d) {
    switch (d->kind) {
    case CTSC_DTYPE_BOOL: return 6;
    case CTSC_DTYPE_UNSIGNED: return 1;
    case CTSC_DTYPE_FLOAT: return 2;
    case CTSC_DTYPE_COMPLEX: return 5;
    default: return 0;
    }
}

static dtype_row row_from(const ctsc_dtype_info *d) {
    return (dtype_row){.number = d->dtype,
                       .name = d->name,
                       .other_name = d->other_name,
                       .type_name = d->type_name,
                       .method = d->method,
                       .wire = d->wire,
                       .size = (int)d->bytes,
                       .format = d->format,
                       .typestr = d->typestr,
                       .kind = kind_of(d),
                       .dl_code = dl_code_of(d)};
}

const dtype_row *bind_dtype_row(int number) {
    return number >= 0 && number < NUMBERS ? by_number[number] : NULL;
}

PyObject *bind_dtype_object(int number) {
    return number >= 0 && number < NUMBERS && objects[number] ? objects[number] : Py_None;
}

static const dtype_row *row_of(PyObject *self) { return by_number[((Dtype *)self)->number]; }
/* As what the package is imported (_as_torch.py): "ctsc.float32" or "torch.float32". */
static PyObject *dtype_repr(PyObject *self) {
    PyObject *module = PyObject_GetAttrString((PyObject *)Py_TYPE(self), "__module__"),
             *text = module ? PyUnicode_FromFormat("%U.%s", module, row_of(self)->name) : NULL;
    Py_XDECREF(module);
    return text;
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
static PyObject *dtype_is(PyObject *self, void *kinds) {
    return PyBool_FromLong(strchr(kinds, row_of(self)->kind) != NULL);
}
/* A text of the row, at `field` bytes from its beginning, or None. */
static PyObject *dtype_text(PyObject *self, void *field) {
    const char *text = *(const char *const *)((const char *)row_of(self) + (intptr_t)field);
    if (!text) Py_RETURN_NONE;
    return PyUnicode_FromString(text);
}

static PyMethodDef methods[] = {{"__reduce__", dtype_reduce, METH_NOARGS, NULL}, {0}};
#define TEXT(field) ((void *)offsetof(dtype_row, field))
static PyGetSetDef properties[] = {
    {"itemsize", dtype_itemsize, NULL, "How many bytes an element has.", NULL},
    {"name", dtype_text, NULL, "Its name: 'float32'.", TEXT(name)},
    {"is_floating_point", dtype_is, NULL, "Whether it is of floating-point numbers.", "fF"},
    {"is_complex", dtype_is, NULL, "Whether it is of complex numbers.", "cC"},
    {"is_signed", dtype_is, NULL, "Whether it has negative numbers.", "ifcFC"},
    {"_ctsc_value_", dtype_number, NULL, NULL, NULL},
    {"_typestr", dtype_text, NULL, NULL, TEXT(typestr)},
    {"_type_name", dtype_text, NULL, NULL, TEXT(type_name)},
    {"_method", dtype_text, NULL, NULL, TEXT(method)},
    {"_wire", dtype_text, NULL, NULL, TEXT(wire)},
    {"_computed", dtype_is, NULL, NULL, "buifc"},
    {0},
};
static PyType_Slot slots[] = {
    {Py_tp_doc, "dtype()\n--\n\nThe kind of a tensor's numbers: ctsc.float32, ctsc.int64, ..."},
    {Py_tp_new, bind_no_new},
    {Py_tp_repr, dtype_repr},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {0, NULL},
};
static PyType_Spec spec = {"ctsc.dtype", sizeof(Dtype), 0, Py_TPFLAGS_DEFAULT, slots};

/* The object of a row, under its names in the module, and in *all. */
static int add_dtype(PyObject *m, const dtype_row *given, PyObject *all) {
    dtype_row *r = &rows[given->number];
    Dtype *o = (Dtype *)PyType_GenericAlloc(bind.dtype, 0);
    if (!o) return -1;
    *r = *given;
    o->number = r->number;
    by_number[r->number] = r;
    objects[r->number] = (PyObject *)o;
    if (PyList_Append(all, (PyObject *)o) < 0) return -1;
    if (PyObject_SetAttrString(m, r->name, (PyObject *)o) < 0) return -1;
    return r->other_name ? PyObject_SetAttrString(m, r->other_name, (PyObject *)o) : 0;
}

int bind_init_dtype(PyObject *m) {
    bind.dtype = (PyTypeObject *)PyType_FromSpec(&spec);
    PyObject *all = PyList_New(0);
    if (!bind.dtype || !all ||
        PyModule_AddObject(m, "dtype", bind_ref((PyObject *)bind.dtype)) < 0 ||
        PyModule_AddObject(m, "dtypes", all) < 0)
        return -1;
    const ctsc_dtype_info *d;
    for (size_t i = 0; (d = ctsc_dtype_at(i)) != NULL && (int)d->dtype < NUMBERS; i++) {
        dtype_row r = row_from(d);
        if (add_dtype(m, &r, all) < 0) return -1;
    }
    for (int i = 0; i < NAMED_ONLY; i++)
        if (add_dtype(m, &named_only[i], all) < 0) return -1;
    return 0;
}
