/* SPDX-License-Identifier: Apache-2.0 */
/*
 * py_tensor_data.c - tensors of nested sequences of numbers: torch.tensor([[1, 2], [3, 4]]).
 *
 * Method. One walk finds the shape along the first elements and the dtype over all, a
 * second one stores.
 * The dtype is PyTorch's: complex64 if there is a complex number, else float32, int64, bool;
 * tensors among the elements count with their own.
 * Tests: tests/unit/test_py_torch.c
 */
#include "frontend/pyeval/torch/py_torch.h"

typedef struct data_walk {
    py *p;
    source_range range;
    int ndim;
    int64_t sizes[TENSOR_MAX_DIMS];
    int dtype; /* -1: none seen yet */
    tensor *to;
    int64_t at; /* next element to store */
} data_walk;

static const py_object *data_first(const py_object *o) {
    return o->u.seq.items.len ? o->u.seq.items.data[0] : NULL;
}

static bool data_is_sequence(const py_object *o) {
    return o->kind == PY_LIST || o->kind == PY_TUPLE;
}

static bool data_shape(data_walk *w, const py_object *o) {
    int64_t total = 1;
    while (o) {
        if (data_is_sequence(o)) {
            if (w->ndim == TENSOR_MAX_DIMS)
                return py_fail(w->p, w->range, "ValueError", "too many dimensions"), false;
            int64_t n = (int64_t)o->u.seq.items.len;
            w->sizes[w->ndim++] = n;
            if (n && (total *= n) > PY_MAX_ITEMS)
                return py_fail(w->p, w->range, "MemoryError", "more than %d items", PY_MAX_ITEMS),
                       false;
            o = data_first(o);
            continue;
        }
        if (!py_is_tensor(o)) return true;
        const tensor *t = o->u.v.u.tensor;
        if (w->ndim + t->ndim > TENSOR_MAX_DIMS)
            return py_fail(w->p, w->range, "ValueError", "too many dimensions"), false;
        for (int i = 0; i < t->ndim; i++) w->sizes[w->ndim++] = t->sizes[i];
        return true;
    }
    return true;
}

/* Is it a number or an array of numpy's? */
static bool data_is_numpy(const py_object *o) {
    const py_object *home = o->kind == PY_INSTANCE ? o->u.inst.cls->u.cls->module : NULL;
    return home && !strcmp(home->u.mod.name, "numpy");
}

static int data_dtype_of(const py_object *o) {
    bool wide = data_is_numpy(o); /* floats are float64 */
    o = py_plain(o);
    if (o->kind != PY_VALUE) return -1;
    switch (o->u.v.tag) {
    case V_BOOL: return DT_BOOL;
    case V_INT: return DT_INT64;
    case V_FLOAT: return wide ? DT_FLOAT64 : DT_FLOAT32;
    case V_COMPLEX: return DT_COMPLEX64;
    case V_TENSOR: return o->u.v.u.tensor->dtype;
    default: return -1;
    }
}

/* Checks o, which is at depth `dim`, against the shape; joins the dtypes. */
static bool data_check(data_walk *w, const py_object *o, int dim) {
    if (data_is_sequence(o)) {
        if (dim >= w->ndim || (int64_t)o->u.seq.items.len != w->sizes[dim])
            return py_fail(w->p, w->range, "ValueError",
                           "expected sequence of length %lld at dim %d (got %zu)",
                           dim < w->ndim ? (long long)w->sizes[dim] : 0, dim, o->u.seq.items.len),
                   false;
        for (size_t i = 0; i < o->u.seq.items.len; i++)
            if (!data_check(w, o->u.seq.items.data[i], dim + 1)) return false;
        return true;
    }
    int dt = data_dtype_of(o);
    if (dt < 0)
        return py_fail(w->p, w->range, "TypeError",
                       "new(): data must be a sequence of numbers (got %s)", py_type_name(o)),
               false;
    bool fits = dim == w->ndim;
    if (py_is_tensor(o)) {
        const tensor *t = o->u.v.u.tensor;
        fits = dim + t->ndim == w->ndim;
        for (int i = 0; fits && i < t->ndim; i++) fits = t->sizes[i] == w->sizes[dim + i];
    }
    if (!fits)
        return py_fail(w->p, w->range, "TypeError",
                       "not a sequence: elements of a nested list differ in their shape"),
               false;
    w->dtype = w->dtype < 0 ? dt : (int)dtype_promote((dtype)w->dtype, (dtype)dt);
    return true;
}

static void data_store_complex(dtype dt, void *at, double re, double im) {
    if (dt == DT_COMPLEX128) *(complex128 *)at = (complex128){re, im};
    if (dt == DT_COMPLEX64) *(complex64 *)at = (complex64){(float)re, (float)im};
    if (dt == DT_COMPLEX32)
        *(complex32 *)at = (complex32){float16_from_float((float)re),
                                       float16_from_float((float)im)};
}

static bool data_store_tensor(data_walk *w, const tensor *from) {
    int64_t strides[TENSOR_MAX_DIMS], step = 1;
    for (int i = from->ndim - 1; i >= 0; i--) {
        strides[i] = step;
        step *= from->sizes[i];
    }
    tensor *part;
    ctsc_status s = tensor_view_raw(w->p->diag, w->to, from->ndim, from->sizes, strides,
                                    w->to->offset + w->at, &part);
    if (s == CTSC_OK) {
        s = tensor_copy(w->p->diag, part, from);
        tensor_unref(part);
    }
    w->at += from->numel;
    return s == CTSC_OK || (py_kernel_failed(w->p, w->range), false);
}

static bool data_store(data_walk *w, const py_object *o) {
    if (data_is_sequence(o)) {
        for (size_t i = 0; i < o->u.seq.items.len; i++)
            if (!data_store(w, o->u.seq.items.data[i])) return false;
        return true;
    }
    value v = py_plain(o)->u.v;
    if (v.tag == V_TENSOR) return data_store_tensor(w, v.u.tensor);
    dtype dt = (dtype)w->to->dtype;
    void *at = (char *)tensor_data(w->to) + (size_t)w->at++ * dtype_size(dt);
    double re = v.tag == V_FLOAT  ? v.u.f
                : v.tag == V_INT  ? (double)v.u.i
                : v.tag == V_BOOL ? v.u.b
                                  : v.u.complex->re;
    double im = v.tag == V_COMPLEX ? v.u.complex->im : 0;
    if (dtype_is_complex(dt)) {
        data_store_complex(dt, at, re, im);
    } else if (v.tag == V_COMPLEX) {
        return py_fail(w->p, w->range, "TypeError", "can't convert complex to float"), false;
    } else if (v.tag == V_FLOAT) {
        if (dt == DT_BOOL) dtype_store_int(dt, at, re != 0);
        else dtype_store_float(dt, at, re);
    } else {
        dtype_store_int(dt, at, v.tag == V_INT ? (dt == DT_BOOL ? v.u.i != 0 : v.u.i) : v.u.b);
    }
    return true;
}

py_object *py_array_tensor(const py_object *o) {
    if (!data_is_numpy(o) || strcmp(o->u.inst.cls->u.cls->name, "ndarray")) return NULL;
    py_object *t = py_dict_get(o->u.inst.attrs, "_t");
    return t && py_is_tensor(t) ? t : NULL;
}

/* Ranges and iterators among the data become lists; a self-containing list ends at the depth
 * limit of the shape. */
static const py_object *data_listed(py *p, source_range r, const py_object *o) {
    const py_object *array = py_array_tensor(o);
    if (array) return array;
    if (o->kind != PY_RANGE) return o;
    py_object **items;
    int n;
    return py_iterate(p, r, (py_object *)o, &items, &n) ? py_list(p, n, items) : NULL;
}

bool py_tensor_from_data(py *p, source_range r, const py_object *data, int64_t dtype,
                         tensor **out) {
    data_walk w = {.p = p, .range = r, .dtype = -1};
    if (!(data = data_listed(p, r, data))) return false;
    if (!data_shape(&w, data) || !data_check(&w, data, 0)) return false;
    if (dtype >= 0) w.dtype = (int)dtype;
    if (w.dtype < 0) w.dtype = DT_FLOAT32;
    if (tensor_new(p->diag, (enum dtype)w.dtype, w.ndim, w.sizes, &w.to) != CTSC_OK)
        return py_kernel_failed(p, r), false;
    if (data_store(&w, data)) {
        *out = w.to;
        return true;
    }
    tensor_unref(w.to);
    return false;
}
