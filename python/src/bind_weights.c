/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bind_weights.c - .safetensors files for python/ctsc/safetensors.py: an open file is a capsule.
 */
#include "bind.h"

static const char weights_capsule[] = "ctsc_safetensors";

static void weights_close(PyObject *capsule) {
    ctsc_safetensors_free(PyCapsule_GetPointer(capsule, weights_capsule));
}

static PyObject *weights_open(PyObject *self, PyObject *args) {
    const char *path;
    ctsc_safetensors *f = NULL;
    ctsc_error *e = bind_error();
    (void)self;
    if (!e || !PyArg_ParseTuple(args, "s", &path)) return NULL;
    if (ctsc_safetensors_open(path, &f, e) != CTSC_OK) return bind_raise(e, "safetensors");
    PyObject *capsule = PyCapsule_New(f, weights_capsule, weights_close);
    if (!capsule) ctsc_safetensors_free(f);
    return capsule;
}

/* [(name, dtype, shape), ...] */
static PyObject *weights_rows(PyObject *self, PyObject *capsule) {
    const ctsc_safetensors *f = PyCapsule_GetPointer(capsule, weights_capsule);
    (void)self;
    if (!f) return NULL;
    size_t n = ctsc_safetensors_count(f);
    PyObject *rows = PyList_New((Py_ssize_t)n);
    for (size_t i = 0; rows && i < n; i++) {
        PyObject *shape = bind_sizes(ctsc_safetensors_sizes(f, i), ctsc_safetensors_ndim(f, i)),
                 *row = shape ? Py_BuildValue("(ssN)", ctsc_safetensors_name(f, i),
                                              ctsc_safetensors_dtype(f, i), shape)
                              : NULL;
        if (row) PyList_SetItem(rows, (Py_ssize_t)i, row);
        else Py_CLEAR(rows);
    }
    return rows;
}

static PyObject *weights_metadata(PyObject *self, PyObject *capsule) {
    const ctsc_safetensors *f = PyCapsule_GetPointer(capsule, weights_capsule);
    PyObject *all = f ? PyDict_New() : NULL;
    const char *key, *text;
    (void)self;
    for (size_t i = 0; all && (text = ctsc_safetensors_metadata(f, i, &key)); i++) {
        PyObject *t = PyUnicode_FromString(text);
        if (!t || PyDict_SetItemString(all, key, t) != 0) Py_CLEAR(all);
        Py_XDECREF(t);
    }
    return all;
}

static PyObject *weights_tensor(PyObject *self, PyObject *args) {
    const char *name;
    PyObject *capsule;
    ctsc_value *v = NULL;
    ctsc_error *e = bind_error();
    (void)self;
    if (!e || !PyArg_ParseTuple(args, "Os", &capsule, &name)) return NULL;
    const ctsc_safetensors *f = PyCapsule_GetPointer(capsule, weights_capsule);
    if (!f) return NULL;
    size_t i = ctsc_safetensors_find(f, name);
    if (i == ctsc_safetensors_count(f))
        return PyErr_Format(PyExc_KeyError, "the file has no tensor %s", name);
    return ctsc_safetensors_tensor(f, i, &v, e) == CTSC_OK ? bind_from_value(v)
                                                           : bind_raise(e, "safetensors");
}

/* (tensors, [key, ...], [text, ...], path) */
static PyObject *weights_save(PyObject *self, PyObject *args) {
    const char *path, *keys[BIND_ARGS], *texts[BIND_ARGS];
    PyObject *o, *metadata;
    bind_arg a;
    size_t n = 0;
    Py_ssize_t at = 0;
    PyObject *key, *text;
    ctsc_error *e = bind_error();
    (void)self;
    if (!e || !PyArg_ParseTuple(args, "OO!s", &o, &PyDict_Type, &metadata, &path)) return NULL;
    while (PyDict_Next(metadata, &at, &key, &text)) {
        if (n == BIND_ARGS)
            return PyErr_Format(PyExc_ValueError, "at most %d metadata texts", BIND_ARGS);
        keys[n] = PyUnicode_AsUTF8AndSize(key, NULL);
        texts[n] = keys[n] ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
        if (!texts[n++]) return NULL;
    }
    if (!bind_to_value(o, false, &a)) return NULL;
    ctsc_status st = ctsc_safetensors_save(a.v, n, keys, texts, path, e);
    bind_free_args(1, &a);
    if (st != CTSC_OK) return bind_raise(e, "safetensors");
    Py_RETURN_NONE;
}

PyMethodDef bind_weights_methods[] = {
    {"_safetensors_open", weights_open, METH_VARARGS, NULL},
    {"_safetensors_rows", weights_rows, METH_O, NULL},
    {"_safetensors_metadata", weights_metadata, METH_O, NULL},
    {"_safetensors_tensor", weights_tensor, METH_VARARGS, NULL},
    {"_safetensors_save", weights_save, METH_VARARGS, NULL},
    {0},
};
