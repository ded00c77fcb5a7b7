/* SPDX-License-Identifier: Apache-2.0 */
/*
 * py_tensor_index.c - subscripts of tensors: t[1, :, None, ..., mask] read and written.
 *
 * Method. As PyTorch does it: ints, slices, None and ... make a view, dimension by dimension; masks and index
 * tensors are noted at the dimension where they stand, and aten::index or aten::index_put_ does the rest.
 * Tests: tests/unit/test_py_torch.c
 */
#include "frontend/py_torch.h"

enum { INDEX_MAX = 2 * TENSOR_MAX_DIMS };

typedef struct index_walk {
    py *p;
    source_range range;
    tensor *view;             /* owned */
    int dim;                  /* of the view, where the next item stands */
    value indices[INDEX_MAX]; /* per dimension of the view: an index tensor or None; borrowed from held
                                 objects */
    int nindices;
} index_walk;

static bool index_view(index_walk *w, ctsc_status s, tensor **made) {
    if (s != CTSC_OK) return py_kernel_failed(w->p, w->range), false;
    tensor_unref(w->view);
    w->view = *made;
    return true;
}

static bool index_fail(index_walk *w, const char *exception, const char *text) {
    py_fail(w->p, w->range, exception, "%s", text);
    return false;
}

static bool index_record(index_walk *w, value v) {
    if (w->dim >= INDEX_MAX) return index_fail(w, "IndexError", "too many indices for tensor");
    while (w->nindices <= w->dim) w->indices[w->nindices++] = value_none();
    w->indices[w->dim++] = v;
    return true;
}

static bool index_insert(index_walk *w) {
    tensor *t = NULL;
    if (w->view->ndim >= TENSOR_MAX_DIMS) return index_fail(w, "IndexError", "too many dimensions");
    return index_view(w, tensor_unsqueeze(w->p->diag, w->view, w->dim, &t), &t);
}

static bool index_int(index_walk *w, int64_t i) {
    tensor *t = NULL;
    if (w->dim >= w->view->ndim)
        return index_fail(w, "IndexError",
                          w->view->ndim
                              ? "too many indices for tensor"
                              : "invalid index of a 0-dim tensor. Use `tensor.item()` in Python "
                                "or `tensor.item<T>()` in C++ to convert a 0-dim tensor to a number");
    int64_t size = w->view->sizes[w->dim];
    if (i < -size || i >= size) {
        py_fail(w->p, w->range, "IndexError", "index %lld is out of bounds for dimension %d with size %lld",
                (long long)i, w->dim, (long long)size);
        return false;
    }
    return index_view(w, tensor_select(w->p->diag, w->view, w->dim, i, &t), &t);
}

/* t[True] adds a dimension of one element, t[False] one without any. */
static bool index_bool(index_walk *w, bool b) {
    int64_t size = b;
    tensor *t;
    if (!index_insert(w)) return false;
    if (tensor_zeros(w->p->diag, DT_INT64, 1, &size, &t) != CTSC_OK)
        return py_kernel_failed(w->p, w->range), false;
    py_object *o = py_tensor_take(w->p, t);
    return o && index_record(w, o->u.v);
}

static bool index_slice(index_walk *w, const py_object *s) {
    int64_t start = 0, stop = INT64_MAX, step = 1;
    py *p = w->p;
    if (s->u.slice.step && !py_is_none(s->u.slice.step) && !py_as_int(p, w->range, s->u.slice.step, &step))
        return false;
    if (step <= 0) return index_fail(w, "ValueError", "step must be greater than zero");
    if (s->u.slice.start && !py_is_none(s->u.slice.start) &&
        !py_as_int(p, w->range, s->u.slice.start, &start))
        return false;
    if (s->u.slice.stop && !py_is_none(s->u.slice.stop) && !py_as_int(p, w->range, s->u.slice.stop, &stop))
        return false;
    if (w->dim >= w->view->ndim) return index_fail(w, "IndexError", "too many indices for tensor");
    tensor *t = NULL;
    return index_view(w, tensor_slice(p->diag, w->view, w->dim++, start, stop, step, &t), &t);
}

static bool index_tensor(index_walk *w, const py_object *o) {
    const tensor *t = o->u.v.u.tensor;
    if (t->ndim == 0 && dtype_is_int((dtype)t->dtype)) return index_int(w, tensor_item_int(t));
    if (t->ndim == 0 && t->dtype == DT_BOOL) return index_bool(w, tensor_item_int(t) != 0);
    if (w->dim >= w->view->ndim) return index_fail(w, "IndexError", "too many indices for tensor");
    return index_record(w, o->u.v);
}

/* How many of the tensor's dimensions an item stands for. */
static int index_dims(const py_object *o) {
    if (py_is_none(o) || o->kind == PY_ELLIPSIS) return 0;
    if (o->kind == PY_VALUE && o->u.v.tag == V_BOOL) return 0;
    if (py_is_tensor(o) && (o->u.v.u.tensor->dtype == DT_BOOL || o->u.v.u.tensor->dtype == DT_UINT8))
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
    if (o->kind == PY_VALUE && o->u.v.tag == V_INT) return index_int(w, o->u.v.u.i);
    if (py_is_string(o))
        return index_fail(w, "TypeError", "a tensor has no elements by name: the index is a 'str'");
    return index_fail(
        w, "IndexError",
        "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices");
}

/* Lists, ranges and nested tuples in a subscript are index tensors. */
static py_object *index_prepare(py *p, source_range r, py_object *o) {
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

static bool index_walk_all(index_walk *w, const tensor *of, py_object *key) {
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
        py_fail(w->p, w->range, "IndexError", "too many indices for tensor of dimension %d", of->ndim);
        return false;
    }
    if (tensor_alias(w->p->diag, of, &w->view) != CTSC_OK) return false;
    w->view->requires_grad = false;
    for (int i = 0; i < n; i++)
        if (!index_item(w, ready[i], of->ndim, given)) return false;
    return true;
}

static bool index_list(index_walk *w, value *out) {
    type *elem = type_optional(TYPE_TENSOR);
    list *l = list_new(type_list_kind(elem), elem, (size_t)w->nindices);
    for (int i = 0; l && i < w->nindices; i++)
        if (!list_append_take(l, value_ref(w->indices[i]))) {
            value_unref(value_list_take(l));
            l = NULL;
        }
    if (!l) return diag_no_memory(w->p->diag), false;
    *out = value_list_take(l);
    return true;
}

py_object *py_tensor_getitem(py *p, source_range r, py_object *t, py_object *key) {
    index_walk w = {.p = p, .range = r};
    py_object *o = NULL;
    value indices, result;
    if (!index_walk_all(&w, t->u.v.u.tensor, key)) {
        if (w.view) tensor_unref(w.view);
        return NULL;
    }
    value view = value_tensor_take(w.view);
    if (!w.nindices) return py_value_take(p, view);
    if (index_list(&w, &indices)) {
        if (py_run_op(p, r, "aten::index.Tensor", 2, (value[]){view, indices}, &result))
            o = py_from_value(p, result);
        value_unref(indices);
    }
    value_unref(view);
    return o;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* v as a tensor of the target's dtype; leading dimensions of size 1 beyond the target's are dropped. */
static bool index_source(py *p, source_range r, py_object *v, const tensor *target, tensor **out) {
    tensor *t;
    if (py_is_tensor(v))
        t = tensor_ref(v->u.v.u.tensor);
    else if (!py_tensor_from_data(p, r, v, target->dtype, &t))
        return false;
    int skip = 0;
    while (t->ndim - skip > target->ndim && t->sizes[skip] == 1) skip++;
    if (!skip) {
        *out = t;
        return true;
    }
    ctsc_status s =
        tensor_view_raw(p->diag, t, t->ndim - skip, t->sizes + skip, t->strides + skip, t->offset, out);
    tensor_unref(t);
    return s == CTSC_OK || (py_kernel_failed(p, r), false);
}

static bool index_write(index_walk *w, tensor *from) {
    if (!w->nindices)
        return tensor_copy(w->p->diag, w->view, from) == CTSC_OK || (py_kernel_failed(w->p, w->range), false);
    value indices, source = value_tensor_take(from), view = value_tensor_take(w->view), result, converted;
    if (!index_list(w, &indices)) return false;
    bool ok = py_run_op(w->p, w->range, "aten::to.dtype", 2, (value[]){source, value_int(w->view->dtype)},
                        &converted);
    if (ok) {
        ok = py_run_op(w->p, w->range, "aten::index_put_", 3, (value[]){view, indices, converted}, &result);
        if (ok) value_unref(result);
        value_unref(converted);
    }
    value_unref(indices);
    return ok;
}

bool py_tensor_setitem(py *p, source_range r, py_object *t, py_object *key, py_object *v) {
    index_walk w = {.p = p, .range = r};
    tensor *from = NULL;
    bool ok = index_walk_all(&w, t->u.v.u.tensor, key) && index_source(p, r, v, w.view, &from) &&
              index_write(&w, from);
    if (from) tensor_unref(from);
    if (w.view) tensor_unref(w.view);
    return ok;
}
