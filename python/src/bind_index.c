/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bind_index.c - x[...] and x[...] = v, as PyTorch takes indices.
 *
 * Method. Indices that give views (ints, slices, None, Ellipsis, 0-dim integer tensors)
 * are applied from left to right; tensors, masks, lists and bools are noted with their
 * dimension, and applied all at once at the end, by aten::index or aten::index_put_.
 */
#include "bind.h"

#include <math.h>
#include <string.h>

typedef struct indexing {
    PyObject *x;           /* the view so far; owned */
    int dim;               /* where the next index applies */
    PyObject *tensors[64]; /* of dimension i; NULL: none */
    int ntensors, ndim;    /* ndim: of the tensor that is indexed */
    bool assigns;          /* the view is going to be written */
} indexing;

static bool put(indexing *ix, PyObject *t_take) {
    if (!t_take) return false;
    if (ix->dim >= 64)
        return Py_DECREF(t_take),
               PyErr_SetString(PyExc_IndexError, "too many indices for a tensor"), false;
    Py_XDECREF(ix->tensors[ix->dim]);
    ix->tensors[ix->dim++] = t_take;
    if (ix->dim > ix->ntensors) ix->ntensors = ix->dim;
    return true;
}

static bool view(indexing *ix, const char *key, size_t n, const bind_arg *args) {
    ctsc_value *handles[5] = {((Tensor *)ix->x)->v};
    for (size_t i = 0; i < n; i++) handles[i + 1] = args[i].v;
    PyObject *x = bind_call_object(key, n + 1, handles);
    if (!x) return false;
    Py_DECREF(ix->x);
    ix->x = x;
    return true;
}

static bool ints_view(indexing *ix, const char *key, size_t n, const int64_t *ints) {
    bind_arg args[4];
    size_t made = 0;
    bool ok = true;
    for (; made < n && ok; made++) {
        args[made].v = bind_small_int(ints[made], &args[made].own);
        ok = args[made].v != NULL;
    }
    ok = ok && view(ix, key, n, args);
    bind_free_args(made, args);
    return ok;
}

static bool select_at(indexing *ix, PyObject *o) {
    ctsc_value *v = ((Tensor *)ix->x)->v;
    if (ix->dim >= ctsc_tensor_ndim(v)) {
        if (!ctsc_tensor_ndim(v))
            PyErr_SetString(PyExc_IndexError,
                            "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or "
                            "`tensor.item<T>()` in C++ to convert "
                            "a 0-dim tensor to a number");
        else
            PyErr_Format(PyExc_IndexError, "too many indices for tensor of dimension %d",
                         ctsc_tensor_ndim(v));
        return false;
    }
    bool traced = bind_tracing() && (TensorCheck(o) || bind_traced_handle(o));
    long long i = 0;
    if (!traced) {
        PyObject *whole = PyNumber_Index(o);
        i = whole ? PyLong_AsLongLong(whole) : -1;
        Py_XDECREF(whole);
        if (i == -1 && PyErr_Occurred()) return false;
        long long size = (long long)ctsc_tensor_sizes(v)[ix->dim];
        if (i < -size || i >= size) {
            PyErr_Format(PyExc_IndexError,
                         "index %lld is out of bounds for dimension %d with size %lld", i, ix->dim,
                         size);
            return false;
        }
        return ints_view(ix, "aten::select", 2, (int64_t[]){ix->dim, i});
    }
    bind_arg args[2];
    if (!bind_to_value(o, false, &args[1])) return false;
    args[0].v = bind_small_int(ix->dim, &args[0].own);
    bool ok = view(ix, "aten::select", 2, args);
    bind_free_args(2, args);
    return ok;
}

/* A bound of a slice: an int, or what a trace follows. */
static bool bound(PyObject *o, int64_t otherwise, bind_arg *out) {
    if (o == Py_None) return out->v = bind_small_int(otherwise, &out->own), out->v != NULL;
    if ((PyLong_Check(o) && bind_traced_handle(o)) || (bind_tracing() && TensorCheck(o)))
        return bind_to_value(o, false, out);
    PyObject *whole = PyNumber_Index(o);
    if (!whole) {
        PyErr_SetString(PyExc_TypeError,
                        "slice indices must be integers or None or have an __index__ method");
        return false;
    }
    int overflow;
    long long i = PyLong_AsLongLongAndOverflow(whole, &overflow);
    Py_DECREF(whole);
    if (overflow) i = overflow > 0 ? INT64_MAX : -INT64_MAX;
    out->v = bind_small_int(i, &out->own);
    return out->v != NULL;
}

static PyObject *part(PyObject *slice, const char *name) {
    return PyObject_GetAttrString(slice, name);
}

/* x[5:0:-2]: the same elements forwards, turned round; a copy, since there are no strides below
 * zero. */
static bool slice_backwards(indexing *ix, PyObject *o) {
    Py_ssize_t start, stop, step;
    if (PySlice_Unpack(o, &start, &stop, &step) < 0) return false;
    int64_t size = ctsc_tensor_sizes(((Tensor *)ix->x)->v)[ix->dim];
    int64_t n = PySlice_AdjustIndices((Py_ssize_t)size, &start, &stop, step);
    int64_t first = n ? start + (n - 1) * (int64_t)step : 0, last = n ? start + 1 : 0;
    int64_t forwards = step == PY_SSIZE_T_MIN ? INT64_MAX : -(int64_t)step;
    if (!ints_view(ix, "aten::slice", 4, (int64_t[]){ix->dim, first, last, forwards})) return false;
    PyObject *dims = PyList_New(0), *dim = PyLong_FromLong(ix->dim);
    bind_arg arg = {0};
    bool ok = dims && dim && PyList_Append(dims, dim) == 0 && bind_to_value(dims, false, &arg) &&
              view(ix, "aten::flip", 1, &arg);
    bind_free_args(1, &arg);
    Py_XDECREF(dims);
    Py_XDECREF(dim);
    return ok;
}

static bool slice_at(indexing *ix, PyObject *o) {
    ctsc_value *v = ((Tensor *)ix->x)->v;
    if (ix->dim >= ctsc_tensor_ndim(v)) {
        if (!ctsc_tensor_ndim(v))
            PyErr_SetString(PyExc_IndexError, "slice() cannot be applied to a 0-dim tensor.");
        else
            PyErr_Format(PyExc_IndexError, "too many indices for tensor of dimension %d",
                         ctsc_tensor_ndim(v));
        return false;
    }
    PyObject *start = part(o, "start"), *stop = part(o, "stop"), *step = part(o, "step");
    bool ok = start && stop && step;
    bind_arg args[4];
    size_t n = 0;
    if (ok && start == Py_None && stop == Py_None && step == Py_None) goto out;
    args[n].v = bind_small_int(ix->dim, &args[n].own);
    n++;
    ok = ok && bound(start, 0, &args[n]) && ++n && bound(stop, INT64_MAX, &args[n]) && ++n &&
         bound(step, 1, &args[n]) && ++n;
    bool backwards = ok && ctsc_value_kind(args[3].v) == CTSC_KIND_INT &&
                     ctsc_value_int(args[3].v) < 0 && !ix->assigns && !bind_tracing();
    if (backwards) {
        ok = slice_backwards(ix, o);
    } else if (ok && ctsc_value_kind(args[3].v) == CTSC_KIND_INT &&
               ctsc_value_int(args[3].v) <= 0) {
        PyErr_SetString(PyExc_ValueError, "step must be greater than zero");
        ok = false;
    }
    ok = ok && (backwards || view(ix, "aten::slice", 4, args));
    bind_free_args(n, args);
out:
    Py_XDECREF(start);
    Py_XDECREF(stop);
    Py_XDECREF(step);
    if (ok) ix->dim++;
    return ok;
}

static bool is_mask(PyObject *o) {
    ctsc_dtype d = ctsc_tensor_dtype(((Tensor *)o)->v);
    return d == CTSC_BOOL || d == CTSC_UINT8;
}

static bool one(indexing *ix, PyObject *o, int specified) {
    if (o == Py_None) return ints_view(ix, "aten::unsqueeze", 1, (int64_t[]){ix->dim}) && ++ix->dim;
    if (o == Py_Ellipsis) {
        ix->dim += ix->ndim - specified;
        return true;
    }
    if (PyBool_Check(o)) {
        PyObject *t = bind_tensor_of(o, CTSC_BOOL);
        bool own;
        ctsc_value *args[2] = {t ? ((Tensor *)t)->v : NULL, bind_small_int(0, &own)};
        PyObject *mask = t ? bind_call_object("aten::unsqueeze", 2, args) : NULL;
        Py_XDECREF(t);
        if (!mask || !ints_view(ix, "aten::unsqueeze", 1, (int64_t[]){ix->dim}))
            return Py_XDECREF(mask), false;
        return put(ix, mask);
    }
    if (PySlice_Check(o)) return slice_at(ix, o);
    if (TensorCheck(o)) {
        char kind = bind_dtype_row((int)ctsc_tensor_dtype(((Tensor *)o)->v))->kind;
        int ndim = ctsc_tensor_ndim(((Tensor *)o)->v);
        if (!ndim && strchr("iu", kind) && !is_mask(o) && !bind_tracing()) return select_at(ix, o);
        if (!ndim && is_mask(o)) {
            if (!ints_view(ix, "aten::unsqueeze", 1, (int64_t[]){ix->dim})) return false;
            bool own;
            ctsc_value *args[2] = {((Tensor *)o)->v, bind_small_int(0, &own)};
            return put(ix, bind_call_object("aten::unsqueeze", 2, args));
        }
        if (kind == 'f' || kind == 'c') {
            PyErr_SetString(PyExc_IndexError,
                            "tensors used as indices must be long, int, byte or bool tensors");
            return false;
        }
        if (ix->dim >= ctsc_tensor_ndim(((Tensor *)ix->x)->v)) {
            PyErr_Format(PyExc_IndexError, "too many indices for tensor of dimension %d",
                         ctsc_tensor_ndim(((Tensor *)ix->x)->v));
            return false;
        }
        if (ctsc_tensor_dtype(((Tensor *)o)->v) != CTSC_INT32) return put(ix, bind_ref(o));
        PyObject *wide = PyObject_CallMethod(o, "to", "O", bind_dtype_object(CTSC_INT64));
        return put(ix, wide);
    }
    if (PyIndex_Check(o) && !PyObject_CheckBuffer(o)) return select_at(ix, o);
    if (PyList_Check(o) || PyTuple_Check(o) || PyObject_CheckBuffer(o)) {
        bool empty = (PyList_Check(o) || PyTuple_Check(o)) && PySequence_Size(o) == 0;
        PyObject *t = bind_tensor_of(o, empty ? CTSC_INT64 : -1);
        if (!t) return false;
        if (!ctsc_tensor_ndim(((Tensor *)t)->v) && !is_mask(t)) { /* NumPy's ints */
            bool ok = select_at(ix, t);
            Py_DECREF(t);
            return ok;
        }
        bool ok = one(ix, t, specified);
        Py_DECREF(t);
        return ok;
    }
    if (PyIndex_Check(o)) return select_at(ix, o);
    if (PyUnicode_Check(o)) {
        PyErr_SetString(PyExc_TypeError, "new(): invalid data type 'str'");
        return false;
    }
    PyObject *name = PyObject_GetAttrString((PyObject *)Py_TYPE(o), "__name__");
    PyErr_Format(PyExc_IndexError,
                 "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables "
                 "are valid indices (got %U)",
                 name);
    Py_XDECREF(name);
    return false;
}

static int specified_dims(PyObject *index) {
    int n = 0;
    for (Py_ssize_t i = 0; i < PyTuple_Size(index); i++) {
        PyObject *o = PyTuple_GetItem(index, i);
        if (o == Py_None || o == Py_Ellipsis || PyBool_Check(o)) continue;
        n += TensorCheck(o) && is_mask(o) ? ctsc_tensor_ndim(((Tensor *)o)->v) : 1;
    }
    return n;
}

static void indexing_free(indexing *ix) {
    for (int i = 0; i < ix->ntensors; i++) Py_XDECREF(ix->tensors[i]);
    Py_XDECREF(ix->x);
}

static bool apply(indexing *ix, PyObject *self, PyObject *index, bool assigns) {
    *ix = (indexing){.x = bind_ref(self), .assigns = assigns};
    ix->ndim = ctsc_tensor_ndim(((Tensor *)self)->v);
    if (!PyTuple_Check(index)) return one(ix, index, index == Py_Ellipsis ? 0 : 1);
    int specified = specified_dims(index);
    if (specified > ctsc_tensor_ndim(((Tensor *)self)->v)) {
        PyErr_Format(PyExc_IndexError, "too many indices for tensor of dimension %d",
                     ctsc_tensor_ndim(((Tensor *)self)->v));
        return false;
    }
    for (Py_ssize_t i = 0; i < PyTuple_Size(index); i++)
        if (!one(ix, PyTuple_GetItem(index, i), specified)) return false;
    return true;
}

/* The list of tensors and Nones. */
static ctsc_value *index_list(const indexing *ix) {
    ctsc_value *items[64], *none = ctsc_none_new(), *l = NULL;
    for (int i = 0; i < ix->ntensors; i++)
        items[i] = ix->tensors[i] ? ((Tensor *)ix->tensors[i])->v : none;
    if (none) l = ctsc_list_new((size_t)ix->ntensors, items);
    ctsc_value_free(none);
    if (!l) PyErr_NoMemory();
    return l;
}

/* Failures of operators on the indices are Python's IndexError. */
static void as_index_error(void) {
    PyObject *type, *x, *trace;
    if (!PyErr_Occurred() || PyErr_ExceptionMatches(PyExc_IndexError)) return;
    PyErr_Fetch(&type, &x, &trace);
    PyErr_NormalizeException(&type, &x, &trace);
    PyObject *text = x ? PyObject_GetAttrString(x, "message") : NULL;
    PyErr_Clear();
    const char *s = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    if (s && (strstr(s, "index") && (strstr(s, "out of") || strstr(s, "does not match") ||
                                     strstr(s, "could not be broadcast")))) {
        PyErr_SetObject(PyExc_IndexError, text);
        Py_XDECREF(type);
        Py_XDECREF(x);
        Py_XDECREF(trace);
    } else {
        PyErr_Clear();
        PyErr_Restore(type, x, trace);
    }
    Py_XDECREF(text);
}

PyObject *bind_getitem(PyObject *self, PyObject *index) {
    indexing ix;
    PyObject *result = NULL;
    if (bind_overrides(self)) return bind_intercepted("aten::__getitem__", self, index);
    if (apply(&ix, self, index, false)) {
        if (ix.ntensors) {
            ctsc_value *args[2] = {((Tensor *)ix.x)->v, index_list(&ix)};
            if (args[1]) result = bind_call_object("aten::index", 2, args);
            ctsc_value_free(args[1]);
            if (!result) as_index_error();
        } else if (ix.x == self) {
            ctsc_value *v = ((Tensor *)self)->v;
            result = bind_call_object("aten::alias", 1, &v);
        } else {
            result = bind_ref(ix.x);
        }
    }
    indexing_free(&ix);
    return result;
}

/* A number as a 0-dim tensor that the trace makes. */
static PyObject *traced_number(PyObject *v, int dtype) {
    PyObject *empty = PyList_New(0), *full = NULL;
    bind_arg args[3] = {{0}};
    bool ok = empty && bind_to_value(empty, false, &args[0]) && bind_to_value(v, false, &args[1]);
    args[2].v = bind_small_int(dtype, &args[2].own);
    const char *const names[] = {NULL, NULL, "dtype"};
    ctsc_value *h = ok ? ctsc_scope_call(bind_tracing(), "aten::full", 3, names,
                                         (ctsc_value *[]){args[0].v, args[1].v, args[2].v})
                       : NULL;
    if (h) full = bind_traced_result(h);
    else if (ok) bind_raise(ctsc_scope_error(bind_tracing()), "full");
    bind_free_args(3, args);
    Py_XDECREF(empty);
    return full;
}

/* A number that some dtype has no room for. */
static bool may_not_fit(PyObject *v) {
    if (PyFloat_Check(v)) return !(fabs(PyFloat_AsDouble(v)) <= 65504);
    if (!PyLong_Check(v)) return false;
    int overflow;
    long long i = PyLong_AsLongLongAndOverflow(v, &overflow);
    return overflow || i < 0 || i > 127;
}

/* The same as a 0-dim tensor, refused as fill_ refuses it for several elements. */
static PyObject *checked_number(PyObject *v, int dtype) {
    PyObject *pair = Py_BuildValue("[i]", 2), *first = NULL;
    bind_arg args[3] = {{0}};
    const char *const names[] = {NULL, NULL, "dtype"};
    bool own;
    if (pair && bind_to_value(pair, false, &args[0]) && bind_to_value(v, false, &args[1])) {
        args[2].v = bind_small_int(dtype, &args[2].own);
        ctsc_value *full = bind_call("aten::full", 3, names,
                                     (ctsc_value *[]){args[0].v, args[1].v, args[2].v});
        ctsc_value *zero = bind_small_int(0, &own);
        if (full) first = bind_call_object("aten::select", 3, (ctsc_value *[]){full, zero, zero});
        ctsc_value_free(full);
    }
    bind_free_args(3, args);
    Py_XDECREF(pair);
    return first;
}

/* v as a tensor that x[...] takes: of x's dtype, numbers 0-dim. */
static PyObject *assigned(PyObject *x, PyObject *v) {
    if (TensorCheck(v)) return bind_ref(v);
    int dtype = (int)ctsc_tensor_dtype(((Tensor *)x)->v);
    if (bind_is_number(v) || PyBool_Check(v))
        return bind_tracing()   ? traced_number(v, dtype)
               : may_not_fit(v) ? checked_number(v, dtype)
                                : bind_tensor_of(v, dtype);
    if (PyObject_CheckBuffer(v) && !PyBytes_Check(v)) return bind_tensor_of(v, -1);
    PyObject *name = PyObject_GetAttrString((PyObject *)Py_TYPE(v), "__name__");
    PyErr_Format(PyExc_TypeError, "can't assign a %U to a ctsc tensor", name);
    Py_XDECREF(name);
    return NULL;
}

/* Without leading dims of size 1 beyond those of x. */
static PyObject *without_ones(PyObject *x, PyObject *t_take) {
    while (t_take && ctsc_tensor_ndim(((Tensor *)t_take)->v) > ctsc_tensor_ndim(((Tensor *)x)->v) &&
           ctsc_tensor_sizes(((Tensor *)t_take)->v)[0] == 1) {
        bool own;
        ctsc_value *args[2] = {((Tensor *)t_take)->v, bind_small_int(0, &own)};
        PyObject *less = bind_call_object("aten::squeeze", 2, args);
        Py_DECREF(t_take);
        t_take = less;
    }
    return t_take;
}

/* t, broadcast to x as a view: so that x[:] = x[0] asks for no elements that both have. Else t, for
 * the copy to say what is wrong. */
static PyObject *as_wide(PyObject *x, PyObject *t_take) {
    const ctsc_value *a = t_take ? ((Tensor *)t_take)->v : NULL, *b = ((Tensor *)x)->v;
    if (!a || bind_tracing() || !ctsc_tensor_ndim(a)) return t_take;
    int n = ctsc_tensor_ndim(a);
    if (n == ctsc_tensor_ndim(b) &&
        !memcmp(ctsc_tensor_sizes(a), ctsc_tensor_sizes(b), (size_t)n * sizeof(int64_t)))
        return t_take;
    ctsc_value *args[2] = {(ctsc_value *)a, (ctsc_value *)b};
    PyObject *wide = bind_call_object("aten::expand_as", 2, args);
    if (!wide) return PyErr_Clear(), t_take;
    Py_DECREF(t_take);
    return wide;
}

/* x is filled with v: a number is converted as fill_ does it, and tensors of several dims may be
 * expanded ones. */
static PyObject *filled(PyObject *x, PyObject *v) {
    bind_arg value = {0};
    PyObject *done = NULL;
    if (bind_to_value(v, false, &value))
        done = bind_call_object("aten::fill_", 2, (ctsc_value *[]){((Tensor *)x)->v, value.v});
    bind_free_args(1, &value);
    return done;
}

static bool fills(PyObject *x, PyObject *v) {
    if (bind_tracing()) return false;
    if (TensorCheck(v))
        return !ctsc_tensor_ndim(((Tensor *)v)->v) && ctsc_tensor_ndim(((Tensor *)x)->v);
    return bind_is_number(v) || PyBool_Check(v);
}

int bind_setitem(PyObject *self, PyObject *index, PyObject *v) {
    indexing ix;
    if (!v) return PyErr_SetString(PyExc_TypeError, "Tensor does not support deleting items"), -1;
    PyObject *t = NULL, *done = NULL;
    if (!apply(&ix, self, index, true)) goto out;
    if (!ix.ntensors && fills(ix.x, v)) {
        done = filled(ix.x, v);
        goto out;
    }
    if (!(t = assigned(self, v))) goto out;
    if (!ix.ntensors) {
        t = as_wide(ix.x, without_ones(ix.x, t));
        ctsc_value *args[2] = {((Tensor *)ix.x)->v, t ? ((Tensor *)t)->v : NULL};
        if (t) done = bind_call_object("aten::copy_", 2, args);
    } else {
        ctsc_value *args[3] = {((Tensor *)ix.x)->v, index_list(&ix), ((Tensor *)t)->v};
        if (args[1]) done = bind_call_object("aten::index_put_", 3, args);
        ctsc_value_free(args[1]);
    }
    if (!done) as_index_error();
out:
    indexing_free(&ix);
    Py_XDECREF(t);
    Py_XDECREF(done);
    return done ? 0 : -1;
}
