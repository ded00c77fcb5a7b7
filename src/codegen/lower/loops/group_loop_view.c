/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group_loop_view.c - places in tensors: which element x[i, j] is, and whether there is one.
 *
 * A view is an offset into an argument, with sizes and strides. Selecting adds index * stride to
 * the offset. An index that is known to be in range costs nothing; others are wrapped (x[-1]) and
 * checked where they are used.
 *
 * Slices keep their length symbolic where the program makes that possible: x[i:i+3] has 3
 * elements if 0 <= i and i + 3 <= n, which is demanded like an index; x[:i] has i. Others are
 * clamped as Python does.
 * Tests: tests/unit/test_group_loop.c
 */
#include "codegen/lower/loops/group_loop.h"

#include <stdio.h>
#include <string.h>

/* ---- making views ---------------------------------------------------------------------------- */

static bool view_set(loop_state *s, const node *n, const loop_view *from) {
    loop_view *v = arena_new(s->a, loop_view);
    loop_tensor *t = arena_new(s->a, loop_tensor);
    *v = *from;
    v->whole = false;
    *t = (loop_tensor){.dt = v->base->dt, .ndim = v->ndim, .view = v};
    memcpy(t->sizes, v->sizes, sizeof t->sizes);
    loop_set(s, n->outputs.data[0], loop_of_tensor(s, t));
    return true;
}

static void view_remove_dim(loop_view *v, int dim) {
    for (int k = dim; k + 1 < v->ndim; k++) {
        v->sizes[k] = v->sizes[k + 1];
        v->strides[k] = v->strides[k + 1];
        v->dims[k] = v->dims[k + 1];
    }
    v->ndim--;
}

/* A constant dim in [-ndim, ndim). */
static bool view_dim(const loop_value *x, int ndim, int *out) {
    if (!x || x->kind != LOOP_NUMBER || x->e->op != NEST_CONST || x->e->type != NEST_I64)
        return false;
    int64_t d = x->e->u.i;
    if (d < -ndim || d >= ndim) return false;
    *out = (int)(d < 0 ? d + ndim : d);
    return true;
}

bool loop_rows_apart(const loop_view *a, const loop_view *b) {
    if (a->base != b->base || a->ndim != b->ndim) return a->base != b->base;
    bool same = a->offset == b->offset, rows = true;
    for (int k = 0; k < a->ndim; k++) {
        same &= a->sizes[k] == b->sizes[k] && a->strides[k] == b->strides[k];
        rows &= a->dims[k] >= 0 && a->dims[k] == b->dims[k];
    }
    return same || rows;
}

/* ---- indices --------------------------------------------------------------------------------- */

/* The fault is worded with the sizes of the tensor as it is before the index is taken. */
static int64_t view_index_fault(loop_state *s, const node *n, const loop_view *v, int dim) {
    char text[120];
    snprintf(text, sizeof text,
             "select(): index %%lld out of range for tensor of size %%s at dimension %d", dim);
    return loop_fault(s, n, text, v->ndim, v->sizes);
}

/* The index, in [0, size); NULL: it cannot be lowered. */
static nest_expr *view_index(loop_state *s, const node *n, const loop_value *x, const loop_view *v,
                             int dim) {
    nest_expr *size = v->sizes[dim], *e = x->e, *zero = nest_int(s->n, 0);
    bool constant = e->op == NEST_CONST, wraps = constant && e->u.i < 0;
    if (wraps && e->u.i >= -((int64_t)1 << 40) &&
        loop_below(s, loop_bound_const(-e->u.i - 1), size))
        return nest_add(s->n, size, e);
    bool from_zero = loop_not_negative(s, x->low);
    if (from_zero && loop_below(s, x->high, size)) return e;
    int64_t code = view_index_fault(s, n, v, dim);
    if (!code) return NULL;
    nest_expr *below = nest_binary(s->n, NEST_LT, e, size);
    if (from_zero) {
        nest_require(s->n, below, code, e);
        return e;
    }
    nest_expr *least = nest_unary(s->n, NEST_NEG, size);
    nest_require(s->n, nest_binary(s->n, NEST_AND, below, nest_binary(s->n, NEST_GE, e, least)),
                 code, e);
    nest_expr *negative = nest_binary(s->n, NEST_LT, e, zero);
    return nest_let(s->n, "index", nest_select(s->n, negative, nest_add(s->n, e, size), e));
}

static bool view_select(loop_state *s, const node *n, const loop_view *from) {
    const loop_value *x = loop_input(s, n, 2);
    loop_view v = *from;
    int dim;
    if (!x || x->kind != LOOP_NUMBER || x->e->type != NEST_I64 ||
        !view_dim(loop_input(s, n, 1), v.ndim, &dim))
        return false;
    nest_expr *i = view_index(s, n, x, from, dim);
    if (!i) return false;
    v.offset = nest_add(s->n, v.offset, nest_mul(s->n, i, v.strides[dim]));
    view_remove_dim(&v, dim);
    return view_set(s, n, &v);
}

/* ---- slices ---------------------------------------------------------------------------------- */

static nest_expr *view_min(loop_state *s, nest_expr *x, nest_expr *y) {
    return nest_binary(s->n, NEST_MIN, x, y);
}
static nest_expr *view_max(loop_state *s, nest_expr *x, nest_expr *y) {
    return nest_binary(s->n, NEST_MAX, x, y);
}

/* A bound of a slice as Python clamps it. */
static nest_expr *view_clamp(loop_state *s, const loop_value *x, nest_expr *size) {
    nest_expr *zero = nest_int(s->n, 0), *e = x->e;
    if (!(x->low.known && !x->low.base && x->low.c >= 0)) {
        e = nest_select(s->n, nest_binary(s->n, NEST_LT, e, zero), nest_add(s->n, e, size), e);
        e = view_max(s, e, zero);
    }
    return view_min(s, e, size);
}

/* Is x known to be at most size? */
static bool view_at_most(loop_state *s, const loop_value *x, nest_expr *size) {
    return loop_below(s, loop_bound_add(s, x->high, loop_bound_const(1), -1), size);
}

/* end - start, where both are in [0, size] and it is a number that means something elsewhere as
 * well; NULL: none such. */
static nest_expr *view_length(loop_state *s, const loop_value *start, const loop_value *end,
                              nest_expr *size) {
    bool from_zero = start->e->op == NEST_CONST && start->e->u.i == 0;
    bool fixed = start->root == end->root && end->c > start->c;
    const loop_value *added = NULL; /* x[i:i+m] has m */
    for (int i = 0; i < 2 && !fixed; i++)
        if (end->terms[i] && end->terms[i]->e == start->e) added = end->terms[1 - i];
    if (!fixed && !from_zero && !(added && loop_not_negative(s, added->low))) return NULL;
    if (!loop_not_negative(s, start->low) || !loop_not_negative(s, end->low) ||
        !view_at_most(s, end, size))
        return NULL;
    return fixed ? nest_int(s->n, end->c - start->c) : from_zero ? end->e : added->e;
}

static bool view_slice(loop_state *s, const node *n, const loop_view *from) {
    const loop_value *start = loop_input(s, n, 2), *end = loop_input(s, n, 3),
                     *step = loop_input(s, n, 4);
    loop_view v = *from;
    int dim;
    if (!start || !end || !step || !view_dim(loop_input(s, n, 1), v.ndim, &dim)) return false;
    if (step->kind != LOOP_NUMBER || step->e->op != NEST_CONST || step->e->u.i < 1 ||
        step->e->u.i > 1 << 20)
        return false;
    bool to_end = end->kind == LOOP_CONSTANT ||
                  (end->kind == LOOP_NUMBER && end->e->op == NEST_CONST &&
                   end->e->u.i == INT64_MAX);
    if (start->kind == LOOP_CONSTANT) start = loop_number(s, nest_int(s->n, 0));
    if (start->kind != LOOP_NUMBER || start->e->type != NEST_I64) return false;
    if (!to_end && (end->kind != LOOP_NUMBER || end->e->type != NEST_I64)) return false;
    nest_expr *size = v.sizes[dim], *first,
              *length = to_end ? NULL : view_length(s, start, end, size);
    bool from_zero = start->e->op == NEST_CONST && start->e->u.i == 0;
    if (to_end && from_zero && step->e->u.i == 1) return view_set(s, n, &v);
    if (length) {
        first = start->e;
    } else {
        first = nest_let(s->n, "first", view_clamp(s, start, size));
        nest_expr *last = to_end ? size : view_clamp(s, end, size);
        length = nest_let(s->n, "length",
                          view_max(s, nest_sub(s->n, last, first), nest_int(s->n, 0)));
    }
    if (step->e->u.i != 1) {
        nest_expr *more = nest_add(s->n, length, nest_int(s->n, step->e->u.i - 1));
        length = length->op == NEST_CONST
                     ? nest_int(s->n, (length->u.i + step->e->u.i - 1) / step->e->u.i)
                     : nest_let(s->n, "length", nest_div_index(s->n, more, step->e));
    }
    v.offset = nest_add(s->n, v.offset, nest_mul(s->n, first, v.strides[dim]));
    v.sizes[dim] = length;
    v.strides[dim] = nest_mul(s->n, v.strides[dim], step->e);
    v.dims[dim] = -1;
    return view_set(s, n, &v);
}

/* ---- other views ----------------------------------------------------------------------------- */

static bool view_transpose(loop_state *s, const node *n, const loop_view *from, bool matrix) {
    loop_view v = *from;
    int a = 0, b = 1;
    if (matrix && v.ndim < 2) return view_set(s, n, &v);
    if (matrix ? v.ndim > 2
               : !view_dim(loop_input(s, n, 1), v.ndim, &a) ||
                     !view_dim(loop_input(s, n, 2), v.ndim, &b))
        return false;
    v.sizes[a] = from->sizes[b], v.sizes[b] = from->sizes[a];
    v.strides[a] = from->strides[b], v.strides[b] = from->strides[a];
    v.dims[a] = from->dims[b], v.dims[b] = from->dims[a];
    return view_set(s, n, &v);
}

static bool view_unsqueeze(loop_state *s, const node *n, const loop_view *from) {
    loop_view v = *from;
    int dim;
    if (v.ndim + 1 > LAZY_MAX_DIMS || !view_dim(loop_input(s, n, 1), v.ndim + 1, &dim))
        return false;
    for (int k = v.ndim; k > dim; k--) {
        v.sizes[k] = v.sizes[k - 1];
        v.strides[k] = v.strides[k - 1];
        v.dims[k] = v.dims[k - 1];
    }
    v.ndim++;
    v.sizes[dim] = nest_int(s->n, 1);
    v.strides[dim] = nest_int(s->n, 0);
    v.dims[dim] = -1;
    return view_set(s, n, &v);
}

bool loop_lower_view(loop_state *s, const node *n, loop_class cls, const char *text) {
    const loop_value *x = loop_input(s, n, 0);
    if (!x || x->kind != LOOP_TENSOR) return false;
    const loop_view *v = x->tensor->view;
    if (!v) return loop_lower_tensor(s, n, LOOP_VIEW, text);
    switch (cls) {
    case LOOP_SELECT: return view_select(s, n, v);
    case LOOP_SLICE: return view_slice(s, n, v);
    case LOOP_TRANSPOSE: return view_transpose(s, n, v, !strcmp(text, "t"));
    case LOOP_UNSQUEEZE: return view_unsqueeze(s, n, v);
    default: return false;
    }
}

/* ---- questions ------------------------------------------------------------------------------- */

static bool view_sizes(loop_state *s, const node *n, const loop_tensor *t) {
    loop_value *x = arena_new(s->a, loop_value);
    x->kind = LOOP_LIST;
    x->nitems = t->ndim;
    x->items = arena_array(s->a, loop_value *, t->ndim + 1);
    for (int i = 0; i < t->ndim; i++) x->items[i] = loop_number(s, t->sizes[i]);
    loop_set(s, n->outputs.data[0], x);
    return true;
}

static bool view_list_get(loop_state *s, const node *n, const loop_value *x) {
    int at;
    if (x->kind != LOOP_LIST || !view_dim(loop_input(s, n, 1), x->nitems, &at)) return false;
    loop_set(s, n->outputs.data[0], x->items[at]);
    return true;
}

static bool view_numel(loop_state *s, const node *n, const loop_tensor *t) {
    nest_expr *e = nest_int(s->n, 1);
    for (int i = 0; i < t->ndim; i++) e = nest_mul(s->n, e, t->sizes[i]);
    loop_set_number(s, n, e);
    return true;
}

bool loop_lower_query(loop_state *s, const node *n, loop_class cls, const char *text) {
    const loop_value *x = loop_input(s, n, 0);
    int dim = 0;
    if (!x) return false;
    if (cls == LOOP_LIST_GET) return view_list_get(s, n, x);
    if (cls == LOOP_LIST_LEN) {
        if (x->kind != LOOP_LIST) return false;
        loop_set_number(s, n, nest_int(s->n, x->nitems));
        return true;
    }
    if (x->kind != LOOP_TENSOR) return false;
    const loop_tensor *t = x->tensor;
    if (cls == LOOP_SIZES) return view_sizes(s, n, t);
    if (!strcmp(text, "numel")) return view_numel(s, n, t);
    if (!strcmp(text, "device")) {
        loop_value *d = arena_new(s->a, loop_value);
        d->kind = LOOP_CONSTANT;
        d->constant = value_device(0);
        loop_set(s, n->outputs.data[0], d);
        return true;
    }
    if (!strcmp(text, "dim") || !strcmp(text, "dtype")) {
        loop_set_number(s, n, nest_int(s->n, text[1] == 'i' ? t->ndim : (int)t->dt));
        return true;
    }
    if (!strcmp(text, "size") ? !view_dim(loop_input(s, n, 1), t->ndim, &dim) : t->ndim < 1)
        return false;
    loop_set(s, n->outputs.data[0], loop_number(s, t->sizes[dim]));
    return true;
}
