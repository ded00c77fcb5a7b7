/* SPDX-License-Identifier: Apache-2.0 */
/*
 * py_tensor_index.c - subscripts of tensors: t[1, :, None, ..., mask] read and written.
 *
 * Method. As PyTorch does it: ints, slices, None and ... make a view,
 * dimension by dimension; masks and index tensors are noted at their
 * dimension, and aten::index or aten::index_put_ does the rest.
 * Tests: tests/unit/test_py_torch.c
 */
#include "frontend/pyeval/torch/py_torch.h"

enum { INDEX_MAX = 2 * TENSOR_MAX_DIMS };

typedef struct index_walk {
    py *p;
    source_range range;
    py_object *view;
    int dim;                       /* the view's dim of the next item */
    py_object *indices[INDEX_MAX]; /* per dimension of the view: an index tensor or None */
    int nindices;
} index_walk;

static const tensor *index_tensor_of(const index_walk *w) { return w->view->u.v.u.tensor; }

static bool index_view(index_walk *w, const char *op, int nargs, py_object **args) {
    py_object *made = py_call_operator(w->p, w->range, op, nargs, args, 0, NULL, NULL);
    if (made) w->view = made;
    return made != NULL;
}

static bool index_fail(index_walk *w, const char *exception, const char *text) {
    py_fail(w->p, w->range, exception, "%s", text);
    return false;
}

static bool index_record(index_walk *w, py_object *index) {
    if (w->dim >= INDEX_MAX) return index_fail(w, "IndexError", "too many indices for tensor");
    while (w->nindices <= w->dim) w->indices[w->nindices++] = w->p->none;
    w->indices[w->dim++] = index;
    return true;
}

static bool index_insert(index_walk *w) {
    if (index_tensor_of(w)->ndim >= TENSOR_MAX_DIMS)
        return index_fail(w, "IndexError", "too many dimensions");
    return index_view(w, "aten::unsqueeze", 2, (py_object *[]){w->view, py_int(w->p, w->dim)});
}

/* o: the object of i */
static bool index_int(index_walk *w, py_object *o, int64_t i) {
    const tensor *t = index_tensor_of(w);
    if (w->dim >= t->ndim)
        return index_fail(
            w, "IndexError",
            t->ndim ? "too many indices for tensor"
                    : "invalid index of a 0-dim tensor. Use `tensor.item()` in Python "
                      "or `tensor.item<T>()` in C++ to convert a 0-dim tensor to a number");
    int64_t size = t->sizes[w->dim];
    if (i < -size || i >= size) {
        py_fail(w->p, w->range, "IndexError",
                "index %lld is out of bounds for dimension %d with size %lld", (long long)i, w->dim,
                (long long)size);
        return false;
    }
    return index_view(w, "aten::select", 3, (py_object *[]){w->view, py_int(w->p, w->dim), o});
}

/* t[True] adds a dimension of one element, t[False] one without any. */
static bool index_bool(index_walk *w, bool b) {
    int64_t size = b;
    tensor *t;
    if (!index_insert(w)) return false;
    if (tensor_zeros(w->p->diag, DT_INT64, 1, &size, &t) != CTSC_OK)
        return py_kernel_failed(w->p, w->range), false;
    py_object *o = py_tensor_take(w->p, t);
    return o && index_record(w, o);
}

/* A bound of a slice as an int or a 0-dim tensor; None where it is missing. */
static py_object *index_bound(index_walk *w, py_object *o) {
    int64_t i;
    if (!o || py_is_none(o)) return w->p->none;
    if (o->kind == PY_VALUE && o->u.v.tag == V_INT) return o;
    if (py_is_tensor(o) && o->u.v.u.tensor->ndim == 0 &&
        dtype_is_int((dtype)o->u.v.u.tensor->dtype))
        return o;
    return py_as_int(w->p, w->range, o, &i) ? py_int(w->p, i) : NULL;
}

static bool index_slice(index_walk *w, const py_object *s) {
    py *p = w->p;
    py_object *start = index_bound(w, s->u.slice.start),
              *stop = start ? index_bound(w, s->u.slice.stop) : NULL;
    py_object *step = stop ? index_bound(w, s->u.slice.step) : NULL;
    if (!step) return false;
    if (py_is_none(step)) step = py_int(p, 1);
    if (step->u.v.tag == V_INT && step->u.v.u.i <= 0)
        return index_fail(w, "ValueError", "step must be greater than zero");
    if (w->dim >= index_tensor_of(w)->ndim)
        return index_fail(w, "IndexError", "too many indices for tensor");
    return index_view(w, "aten::slice", 5,
                      (py_object *[]){w->view, py_int(p, w->dim++), start, stop, step});
}

static bool index_tensor(index_walk *w, py_object *o) {
    const tensor *t = o->u.v.u.tensor;
    if (t->ndim == 0 && dtype_is_int((dtype)t->dtype)) return index_int(w, o, tensor_item_int(t));
    if (t->ndim == 0 && t->dtype == DT_BOOL) return index_bool(w, tensor_item_int(t) != 0);
    if (w->dim >= index_tensor_of(w)->ndim)
        return index_fail(w, "IndexError", "too many indices for tensor");
    return index_record(w, o);
}

/* How many of the tensor's dimensions an item covers. */
static int index_dims(const py_object *o) {
    if (py_is_none(o) || o->kind == PY_ELLIPSIS) return 0;
    if (o->kind == PY_VALUE && o->u.v.tag == V_BOOL) return 0;
    if (py_is_tensor(o) &&
        (o->u.v.u.tensor->dtype == DT_BOOL || o->u.v.u.tensor->dtype == DT_UINT8))
        return o->u.v.u.tensor->ndim;
    return 1;
}

static bool index_item(index_walk *w, py_object *o, int ndim, int given) {
    if (py_is_none(o)) return index_insert(w) && (w->dim++, true);
    if (o->kind == PY_ELLIPSIS) {
        if (ndim > given) w->dim += ndim - given;
        return true;
    }
    if (o->kind == PY_SLICE) return index_slice(w, o);
    if (py_is_tensor(o)) return index_tensor(w, o);
    if (o->kind == PY_VALUE && o->u.v.tag == V_BOOL) return index_bool(w, o->u.v.u.b);
    if (o->kind == PY_VALUE && o->u.v.tag == V_INT) return index_int(w, o, o->u.v.u.i);
    if (py_is_string(o))
        return index_fail(w, "TypeError", "a tensor has no elements by name: the index is a 'str'");
    return index_fail(w, "IndexError",
                      "only integers, slices (`:`), ellipsis (`...`), None and long or byte "
                      "Variables are valid indices");
}

/* Lists, ranges, nested tuples and numpy's arrays in a subscript are index tensors. */
static py_object *index_prepare(py *p, source_range r, py_object *o) {
    py_object *array = py_array_tensor(o);
    if (array) return array;
    o = (py_object *)py_plain(o);
    if (o->kind != PY_LIST && o->kind != PY_TUPLE && o->kind != PY_RANGE) return o;
    tensor *t;
    if (o->kind == PY_RANGE) {
        py_object **items;
        int n;
        if (!py_iterate(p, r, o, &items, &n) || !(o = py_list(p, n, items))) return NULL;
    }
    bool empty = o->u.seq.items.len == 0;
    if (!py_tensor_from_data(p, r, o, empty ? DT_INT64 : -1, &t)) return NULL;
    return py_tensor_take(p, t);
}

static bool index_walk_all(index_walk *w, py_object *key) {
    const tensor *of = index_tensor_of(w);
    py_object **items = &key;
    int n = 1, given = 0;
    if (key->kind == PY_TUPLE) {
        items = key->u.seq.items.data;
        n = (int)key->u.seq.items.len;
    }
    if (n > INDEX_MAX) return index_fail(w, "IndexError", "too many indices for tensor");
    py_object *ready[INDEX_MAX];
    for (int i = 0; i < n; i++) {
        if (!(ready[i] = index_prepare(w->p, w->range, items[i]))) return false;
        given += index_dims(ready[i]);
    }
    if (given > of->ndim && of->ndim) {
        py_fail(w->p, w->range, "IndexError", "too many indices for tensor of dimension %d",
                of->ndim);
        return false;
    }
    for (int i = 0; i < n; i++)
        if (!index_item(w, ready[i], of->ndim, given)) return false;
    return true;
}

py_object *py_tensor_getitem(py *p, source_range r, py_object *t, py_object *key) {
    index_walk w = {.p = p, .range = r, .view = t};
    if (!index_walk_all(&w, key)) return NULL;
    if (!w.nindices)
        return w.view == t ? py_call_operator(p, r, "aten::alias", 1, &t, 0, NULL, NULL) : w.view;
    py_object *args[] = {w.view, py_list(p, w.nindices, w.indices)};
    return args[1] ? py_call_operator(p, r, "aten::index", 2, args, 0, NULL, NULL) : NULL;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* v as a tensor; leading dimensions of size 1 beyond the target's are dropped. */
static py_object *index_source(py *p, source_range r, py_object *v, const tensor *target) {
    tensor *t;
    if (!py_is_tensor(v))
        return py_tensor_from_data(p, r, v, target->dtype, &t) ? py_tensor_take(p, t) : NULL;
    while (v && v->u.v.u.tensor->ndim > target->ndim && v->u.v.u.tensor->sizes[0] == 1)
        v = py_call_operator(p, r, "aten::squeeze", 2, (py_object *[]){v, py_int(p, 0)}, 0, NULL,
                             NULL);
    return v;
}

bool py_tensor_setitem(py *p, source_range r, py_object *t, py_object *key, py_object *v) {
    index_walk w = {.p = p, .range = r, .view = t};
    if (!index_walk_all(&w, key)) return false;
    const tensor *target = index_tensor_of(&w);
    if (!w.nindices && py_is_number(v) && v->u.v.tag != V_COMPLEX)
        return py_call_operator(p, r, "aten::fill_", 2, (py_object *[]){w.view, v}, 0, NULL,
                                NULL) != NULL;
    py_object *from = index_source(p, r, v, target);
    if (from && !w.nindices)
        return py_call_operator(p, r, "aten::copy_", 2, (py_object *[]){w.view, from}, 0, NULL,
                                NULL) != NULL;
    if (from && from->u.v.u.tensor->dtype != target->dtype)
        from = py_cast(p, r, from, target->dtype);
    py_object *args[] = {w.view, py_list(p, w.nindices, w.indices), from};
    return from && args[1] && py_call_operator(p, r, "aten::index_put_", 3, args, 0, NULL, NULL);
}
