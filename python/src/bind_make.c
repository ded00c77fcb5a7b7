/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bind_make.c - tensors of Python's numbers, and lists of a tensor's: tensor(), tolist().
 *
 * Method. The first item of each depth tells the sizes; a walk over all items finds the dtype they
 * need and checks the lengths, a second one writes them.
 */
#include "bind.h"

#include <string.h>

enum { MAX_DIMS = 64 };
enum { KIND_NONE, KIND_BOOL, KIND_INT, KIND_FLOAT, KIND_COMPLEX };

static bool is_sequence(PyObject *o) {
    return !PyUnicode_Check(o) && !PyBytes_Check(o) && PySequence_Check(o) &&
           !(TensorCheck(o) && !ctsc_tensor_ndim(((Tensor *)o)->v)) && PySequence_Size(o) >= 0;
}

/* What a number is. KIND_NONE with an exception: it is none. *dtype: what it has of its own, a
 * tensor or a scalar of NumPy's; -1 for Python's numbers. */
static int kind_of_dtype(int dtype) {
    char k = bind_dtype_row(dtype)->kind;
    return k == 'b' ? KIND_BOOL : k == 'f' ? KIND_FLOAT : k == 'c' ? KIND_COMPLEX : KIND_INT;
}
static int dtype_of_scalar(PyObject *o) {
    int found = -1;
    PyObject *dtype = PyObject_GetAttrString(o, "dtype");
    PyObject *name = dtype ? PyObject_GetAttrString(dtype, "name") : NULL;
    for (int n = 0; name && PyUnicode_Check(name) && bind_dtype_row(n) && n < 16; n++)
        if (bind_dtype_row(n)->format &&
            !PyUnicode_CompareWithASCIIString(name, bind_dtype_row(n)->name))
            found = n;
    Py_XDECREF(dtype);
    Py_XDECREF(name);
    PyErr_Clear();
    return found;
}
static int kind_of(PyObject *o, int *dtype) {
    *dtype = -1;
    if (PyBool_Check(o)) return KIND_BOOL;
    if (PyLong_Check(o)) return KIND_INT;
    if (PyFloat_CheckExact(o)) return KIND_FLOAT;
    if (PyComplex_CheckExact(o)) return KIND_COMPLEX;
    if (TensorCheck(o)) {
        *dtype = (int)ctsc_tensor_dtype(((Tensor *)o)->v);
        return kind_of_dtype(*dtype);
    }
    if (bind_is_number(o)) {
        if ((*dtype = dtype_of_scalar(o)) >= 0) return kind_of_dtype(*dtype);
        return PyComplex_Check(o) ? KIND_COMPLEX : PyIndex_Check(o) ? KIND_INT : KIND_FLOAT;
    }
    PyErr_Clear();
    if (PyUnicode_Check(o))
        return PyErr_SetString(PyExc_TypeError, "new(): invalid data type 'str'"), KIND_NONE;
    PyObject *name = PyObject_GetAttrString((PyObject *)Py_TYPE(o), "__name__");
    PyErr_Format(PyExc_RuntimeError, "Could not infer dtype of %U", name);
    Py_XDECREF(name);
    return KIND_NONE;
}

/* What Python's numbers of a kind become. */
static const int of_kind[] = {[KIND_NONE] = CTSC_FLOAT32,
                              [KIND_BOOL] = CTSC_BOOL,
                              [KIND_INT] = CTSC_INT64,
                              [KIND_FLOAT] = CTSC_FLOAT32,
                              [KIND_COMPLEX] = CTSC_COMPLEX64};

/* promote_types. */
static int promoted(int a, int b) {
    int ka = kind_of_dtype(a), kb = kind_of_dtype(b);
    if (a == b) return a;
    if (ka == KIND_COMPLEX || kb == KIND_COMPLEX)
        return a == CTSC_COMPLEX128 || b == CTSC_COMPLEX128 || a == CTSC_FLOAT64 ||
                       b == CTSC_FLOAT64
                   ? CTSC_COMPLEX128
                   : CTSC_COMPLEX64;
    if (ka != kb) return ka > kb ? a : b;
    int sa = bind_dtype_row(a)->size, sb = bind_dtype_row(b)->size;
    if (sa != sb) return sa > sb ? a : b;
    return ka == KIND_FLOAT ? CTSC_FLOAT32 : CTSC_INT16; /* half and bfloat16; uint8 and int8 */
}

typedef struct shape {
    int ndim;
    int64_t sizes[MAX_DIMS];
    int kind;
    int dtype; /* -1: no element has one of its own */
} shape;

static bool measure_first(PyObject *o, shape *s) {
    Py_INCREF(o);
    while (is_sequence(o)) {
        if (s->ndim == MAX_DIMS) {
            Py_DECREF(o);
            return PyErr_SetString(PyExc_ValueError, "max recursion depth exceeded"), false;
        }
        Py_ssize_t n = PySequence_Size(o);
        s->sizes[s->ndim++] = n;
        if (!n) break;
        PyObject *first = PySequence_GetItem(o, 0);
        Py_DECREF(o);
        if (!(o = first)) return false;
    }
    PyErr_Clear();
    Py_DECREF(o);
    return true;
}

static bool measure_all(PyObject *o, int depth, shape *s) {
    if (depth == s->ndim) {
        if (is_sequence(o)) {
            PyObject *name = PyObject_GetAttrString((PyObject *)Py_TYPE(o), "__name__");
            PyErr_Format(PyExc_ValueError,
                         "only one element tensors can be converted to Python scalars, not '%U'",
                         name);
            Py_XDECREF(name);
            return false;
        }
        PyErr_Clear();
        int own, k = kind_of(o, &own), before = s->kind;
        if (k > s->kind) s->kind = k;
        if (k == KIND_NONE || (own < 0 && s->dtype < 0)) return k != KIND_NONE;
        if (own < 0) own = of_kind[k];
        if (s->dtype < 0 && before != KIND_NONE) s->dtype = of_kind[before];
        s->dtype = s->dtype < 0 ? own : promoted(s->dtype, own);
        return true;
    }
    if (!is_sequence(o)) {
        PyErr_Clear();
        PyErr_Format(PyExc_TypeError, "expected sequence of length %lld at dim %d",
                     (long long)s->sizes[depth], depth);
        return false;
    }
    Py_ssize_t n = PySequence_Size(o);
    if (n != s->sizes[depth]) {
        PyErr_Format(PyExc_ValueError, "expected sequence of length %lld at dim %d (got %lld)",
                     (long long)s->sizes[depth], depth, (long long)n);
        return false;
    }
    bool list = PyList_Check(o);
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = list && i < PyList_Size(o) ? bind_ref(PyList_GetItem(o, i))
                                                    : PySequence_GetItem(o, i);
        bool ok = item && measure_all(item, depth + 1, s);
        Py_XDECREF(item);
        if (!ok) return false;
    }
    return true;
}

#define STORE(type, x)                                                                             \
    {                                                                                              \
        type e = (type)(x);                                                                        \
        memcpy(at, &e, sizeof e);                                                                  \
        return true;                                                                               \
    }
static bool store_overflows(const char *name) {
    PyErr_Format(PyExc_RuntimeError, "value cannot be converted to type %s without overflow", name);
    return false;
}

/* An int, in Python's sense, for uint64 alone: what a sign says is refused. */
static bool store_uint64(PyObject *o, void *at) {
    if (!PyLong_Check(o) && (PyFloat_Check(o) || !PyIndex_Check(o)))
        return PyErr_SetString(PyExc_TypeError, "an integer is required"), false;
    PyObject *whole = PyNumber_Index(o);
    if (!whole) return false;
    unsigned long long i = PyLong_AsUnsignedLongLong(whole);
    Py_DECREF(whole);
    if (PyErr_Occurred()) return false;
    STORE(uint64_t, i)
}

/* Unsigned dtypes take what an int of that many bits and a sign would have, and wrap it. */
static bool store_int(PyObject *o, int dtype, void *at) {
    static const struct {
        int dtype;
        long long low, high;
    } ranges[] = {
        {CTSC_UINT8, -UINT8_MAX, UINT8_MAX},    {CTSC_INT8, INT8_MIN, INT8_MAX},
        {CTSC_INT16, INT16_MIN, INT16_MAX},     {CTSC_INT32, INT32_MIN, INT32_MAX},
        {CTSC_UINT16, -UINT16_MAX, UINT16_MAX}, {CTSC_UINT32, -(long long)UINT32_MAX, UINT32_MAX},
    };
    const char *name = bind_dtype_row(dtype)->name;
    if (dtype == CTSC_UINT64) return store_uint64(o, at);
    long long low = INT64_MIN, high = INT64_MAX, i;
    for (size_t k = 0; k < sizeof ranges / sizeof *ranges; k++)
        if (ranges[k].dtype == dtype) low = ranges[k].low, high = ranges[k].high;
    if (PyFloat_Check(o)) {
        double x = PyFloat_AsDouble(o), least = low < -high ? (double)low : 0;
        if (!(x >= least && x <= (double)high && x < 0x1p63)) return store_overflows(name);
        i = (long long)x;
    } else {
        PyObject *whole = PyIndex_Check(o) ? PyNumber_Index(o) : PyNumber_Long(o);
        if (!whole) return false;
        i = PyLong_AsLongLong(whole);
        Py_DECREF(whole);
        if (i == -1 && PyErr_Occurred()) {
            if (PyErr_ExceptionMatches(PyExc_OverflowError))
                PyErr_SetString(PyExc_ValueError, "Overflow when unpacking long long");
            return false;
        }
        if (i < low || i > high) return store_overflows(name);
    }
    switch (dtype) {
    case CTSC_UINT8: STORE(uint8_t, i)
    case CTSC_INT8: STORE(int8_t, i)
    case CTSC_INT16: STORE(int16_t, i)
    case CTSC_INT32: STORE(int32_t, i)
    default: STORE(int64_t, i)
    }
}

static bool store(PyObject *o, int dtype, void *at) {
    const dtype_row *r = bind_dtype_row(dtype);
    if (r->kind == 'b') {
        int yes = PyObject_IsTrue(o);
        if (yes < 0) return false;
        STORE(uint8_t, yes)
    }
    if (r->kind == 'c') {
        PyObject *c = PyComplex_Check(o) || PyFloat_Check(o) || PyLong_Check(o)
                          ? bind_ref(o)
                          : PyObject_CallFunctionObjArgs((PyObject *)&PyComplex_Type, o, NULL);
        if (!c) return false;
        double re = PyComplex_RealAsDouble(c),
               im = PyErr_Occurred() ? 0 : PyComplex_ImagAsDouble(c);
        Py_DECREF(c);
        if (PyErr_Occurred()) return false;
        if (dtype == CTSC_COMPLEX128) {
            double parts[2] = {re, im};
            memcpy(at, parts, sizeof parts);
            return true;
        }
        float parts[2] = {(float)re, (float)im};
        memcpy(at, parts, sizeof parts);
        return true;
    }
    if (r->kind != 'f') return store_int(o, dtype, at);
    double f = PyFloat_AsDouble(o);
    if (f == -1 && PyErr_Occurred()) return false;
    if (dtype == CTSC_FLOAT64) STORE(double, f)
    STORE(float, f)
}

static bool fill(PyObject *o, int depth, const shape *s, int dtype, int size, char **at) {
    if (depth == s->ndim) {
        if (!store(o, dtype, *at)) return false;
        *at += size;
        return true;
    }
    bool list = PyList_Check(o);
    for (int64_t i = 0; i < s->sizes[depth]; i++) {
        PyObject *item = list && i < PyList_Size(o) ? bind_ref(PyList_GetItem(o, (Py_ssize_t)i))
                                                    : PySequence_GetItem(o, (Py_ssize_t)i);
        bool ok = item && fill(item, depth + 1, s, dtype, size, at);
        Py_XDECREF(item);
        if (!ok) return false;
    }
    return true;
}

static PyObject *converted(PyObject *t, int dtype, bool copy) {
    bool own;
    if (!t) return NULL;
    ctsc_value *v = ((Tensor *)t)->v, *flags[2] = {ctsc_bool_new(false), ctsc_bool_new(copy)};
    ctsc_value *args[4] = {v, bind_small_int(dtype < 0 ? (int)ctsc_tensor_dtype(v) : dtype, &own),
                           flags[0], flags[1]};
    PyObject *o = bind_call_object("aten::to.dtype", 4, args);
    ctsc_value_free(flags[0]);
    ctsc_value_free(flags[1]);
    Py_DECREF(t);
    return o;
}

PyObject *bind_tensor_of(PyObject *data, int dtype) {
    if (TensorCheck(data)) return converted(bind_ref(data), dtype, true);
    if (!PyList_Check(data) && !PyTuple_Check(data) && !PyBytes_Check(data) &&
        PyObject_CheckBuffer(data))
        return converted(bind_from_buffer(data, true), dtype, true);
    shape s = {.dtype = -1};
    if (!measure_first(data, &s) || !measure_all(data, 0, &s)) return NULL;
    int want = dtype >= 0     ? dtype
               : s.dtype >= 0 ? s.dtype
                              : of_kind[s.kind],
        made = want == CTSC_FLOAT16 || want == CTSC_BFLOAT16 || bind_dtype_row(want)->kind == 'F'
                   ? CTSC_FLOAT32
               : bind_dtype_row(want)->kind == 'U' ? CTSC_INT64
                                                   : want;
    int kind = bind_dtype_row(want)->kind;
    if (kind != 'c' && kind != 'b' && s.kind == KIND_COMPLEX)
        return PyErr_SetString(PyExc_TypeError,
                               want == CTSC_UINT64 ? "an integer is required"
                               : strchr("fF", kind)
                                   ? "must be real number, not complex"
                                   : "'complex' object cannot be interpreted as an integer"),
               NULL;
    ctsc_value *v = NULL;
    ctsc_error *e = bind_error();
    if (!e || ctsc_tensor_new((ctsc_dtype)made, s.ndim, s.sizes, &v, e) != CTSC_OK)
        return e ? bind_raise(e, "tensor") : NULL;
    char *at = ctsc_tensor_data(v);
    int stored = bind_dtype_row(want)->kind == 'U' ? want : made;
    if (!fill(data, 0, &s, stored, bind_dtype_row(made)->size, &at))
        return ctsc_value_free(v), NULL;
    PyObject *t = bind_tensor_take(v);
    return made == want ? t : converted(t, want, false);
}

/* tensor(data, dtype_number): -1 for what the data says. */
static PyObject *make_tensor(PyObject *self, PyObject *args) {
    PyObject *data;
    int dtype;
    (void)self;
    if (!PyArg_ParseTuple(args, "Oi", &data, &dtype)) return NULL;
    if (dtype >= 0 && (!bind_dtype_row(dtype) || dtype > CTSC_UINT64 ||
                       strchr("qC", bind_dtype_row(dtype)->kind)))
        return PyErr_SetString(PyExc_TypeError, "tensors of this dtype are not supported"), NULL;
    return bind_tensor_of(data, dtype);
}

static PyObject *list_of(const ctsc_value *v, int dim, const char *at, int dtype, int size) {
    if (dim == ctsc_tensor_ndim(v)) return bind_element(dtype, at);
    Py_ssize_t n = (Py_ssize_t)ctsc_tensor_sizes(v)[dim];
    PyObject *l = PyList_New(n);
    for (Py_ssize_t i = 0; l && i < n; i++) {
        PyObject *item = list_of(v, dim + 1, at + i * ctsc_tensor_strides(v)[dim] * size, dtype,
                                 size);
        if (!item || PyList_SetItem(l, i, item) < 0) Py_CLEAR(l);
    }
    return l;
}

/* A tensor that an operator makes: a new handle; NULL with an exception. */
static ctsc_value *made_by(const char *key, int n, ctsc_value *const *args) {
    PyObject *o = bind_call_object(key, (size_t)n, args);
    ctsc_value *v = o ? ctsc_value_copy(((Tensor *)o)->v) : NULL;
    Py_XDECREF(o);
    return v;
}

/* On the host, and its elements in memory: a new handle; NULL with an exception. */
static ctsc_value *on_host(Tensor *t) {
    if (ctsc_tensor_is_lazy(t->v)) {
        return made_by("aten::clone", 1, (ctsc_value *[1]){t->v});
    }
    if (ctsc_tensor_device(t->v) == -1) return ctsc_value_copy(t->v);
    ctsc_value *v = NULL;
    ctsc_error *e = bind_error();
    if (e && ctsc_value_to(t->v, "cpu", &v, e) != CTSC_OK) bind_raise(e, "to");
    return v;
}

ctsc_value *bind_readable(Tensor *t) {
    int dtype = (int)ctsc_tensor_dtype(t->v);
    if (bind_dtype_row(dtype)->kind != 'F') return on_host(t);
    bool own;
    ctsc_value *args[2] = {t->v, bind_small_int(CTSC_FLOAT32, &own)};
    return made_by("aten::to.dtype", 2, args);
}

PyObject *bind_tolist(Tensor *t) {
    ctsc_value *v = bind_readable(t);
    if (!v) return NULL;
    int dtype = (int)ctsc_tensor_dtype(v);
    PyObject *o = list_of(v, 0, ctsc_tensor_data(v), dtype, bind_dtype_row(dtype)->size);
    ctsc_value_free(v);
    return o;
}

PyMethodDef bind_make_methods[] = {{"_tensor", make_tensor, METH_VARARGS, NULL}, {0}};
