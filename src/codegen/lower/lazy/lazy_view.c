/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lazy_view.c - views as maps of indices.
 *
 * Most views are affine: index d of the viewed tensor is an index of the view times a step plus a
 * start, or fixed (lazy_map). reshape turns an index into a position and back, by division where
 * dims are merged. Sizes of views are expressions; where Python would clamp or wrap a position,
 * lazy->positive is asked which case it is, so that code has no case distinctions.
 * Tests: tests/unit/test_group.c
 */
#include "codegen/lower/lazy/lazy_internal.h"
#include "tensor/strides.h"

#include <string.h>

/* ---- affine maps ----------------------------------------------------------------------------- */

typedef struct view_map {
    int from[LAZY_MAX_DIMS];
    nest_expr *step[LAZY_MAX_DIMS], *start[LAZY_MAX_DIMS];
} view_map;

static nest_expr *view_map_at(lazy *l, const lazy_tensor *t, nest_expr *const *index) {
    const view_map *m = t->impl;
    const lazy_tensor *in = t->inputs[0];
    nest_expr *own[LAZY_MAX_DIMS];
    for (int d = 0; d < in->ndim; d++) {
        own[d] = m->start[d];
        if (m->from[d] < 0) continue;
        nest_expr *x = nest_mul(l->n, index[m->from[d]], m->step[d]);
        own[d] = nest_add(l->n, own[d], x);
    }
    return lazy_at(l, in, own);
}

static bool view_peek(lazy *l, nest_expr *x, int64_t *out) {
    return lazy_is_const(x, out) || (l->peek && l->peek(l->ctx, x, out));
}

/* Those of the viewed dims; 0 of dims that come from none. */
static bool view_set_strides(lazy *l, const lazy_tensor *t, const view_map *m, lazy_tensor *v) {
    lazy_shape of;
    int64_t step;
    v->contiguous = false;
    if (!lazy_shape_of(l, t, &of)) return !l->peek;
    for (int d = 0; d < t->ndim; d++) {
        if (m->from[d] < 0) continue;
        if (!view_peek(l, m->step[d], &step)) return false;
        v->strides[m->from[d]] += of.strides[d] * step;
    }
    return true;
}

lazy_tensor *lazy_map(lazy *l, const lazy_tensor *t, int ndim, nest_expr *const *sizes,
                      const int *from, nest_expr *const *step, nest_expr *const *start) {
    if (ndim > LAZY_MAX_DIMS) return NULL;
    view_map *m = arena_new(l->a, view_map);
    for (int d = 0; d < t->ndim; d++) {
        m->from[d] = from[d];
        m->step[d] = step ? step[d] : lazy_one(l);
        m->start[d] = start ? start[d] : lazy_zero(l);
    }
    lazy_tensor *v = lazy_new(l, t->dt, ndim, sizes, view_map_at, m);
    lazy_add_input(v, t);
    return view_set_strides(l, t, m, v) ? v : NULL;
}

/* The map that changes nothing, for others to change. */
typedef struct view_plan {
    int ndim, from[LAZY_MAX_DIMS];
    nest_expr *sizes[LAZY_MAX_DIMS], *step[LAZY_MAX_DIMS], *start[LAZY_MAX_DIMS];
} view_plan;

static view_plan view_identity(lazy *l, const lazy_tensor *t) {
    view_plan p = {.ndim = t->ndim};
    for (int d = 0; d < t->ndim; d++) {
        p.from[d] = d;
        p.sizes[d] = t->sizes[d];
        p.step[d] = lazy_one(l);
        p.start[d] = lazy_zero(l);
    }
    return p;
}
static lazy_tensor *view_make(lazy *l, const lazy_tensor *t, const view_plan *p) {
    return lazy_map(l, t, p->ndim, p->sizes, p->from, p->step, p->start);
}
/* Dim d of the view goes. */
static void view_drop(view_plan *p, int ndim, int d) {
    p->ndim--;
    memmove(&p->sizes[d], &p->sizes[d + 1], sizeof p->sizes[0] * (size_t)(p->ndim - d));
    for (int i = 0; i < ndim; i++)
        p->from[i] = p->from[i] == d ? -1 : p->from[i] - (p->from[i] > d);
}
lazy_tensor *lazy_permute(lazy *l, const lazy_tensor *t, const int *order) {
    view_plan p = view_identity(l, t);
    for (int i = 0; i < t->ndim; i++) {
        p.sizes[i] = t->sizes[order[i]];
        p.from[order[i]] = i;
    }
    return view_make(l, t, &p);
}

/* ---- arguments ------------------------------------------------------------------------------- */

static bool view_dim(lazy *l, const lazy_arg *a, int ndim, int *out) {
    int64_t dim;
    return lazy_arg_int(l, a, &dim) && lazy_wrap_dim(dim, ndim, out);
}

/* A position in [0, size], as Python's slices take it. NULL: not known which case it is. */
static nest_expr *view_position(lazy *l, nest_expr *x, nest_expr *size) {
    nest_expr *one = lazy_one(l);
    int64_t i;
    if (lazy_is_const(x, &i) ? i >= 0 : lazy_is_positive(l, lazy_size(l, NEST_ADD, x, one))) {
        if (lazy_is_const(x, &i) && (i == 0 || i == INT64_MAX)) return i ? size : lazy_zero(l);
        if (lazy_is_positive(l, lazy_size(l, NEST_ADD, lazy_size(l, NEST_SUB, size, x), one)))
            return x;
        return lazy_size(l, NEST_MIN, x, size);
    }
    if (lazy_is_const(x, &i)) {
        nest_expr *from_end = lazy_size(l, NEST_ADD, size, x);
        if (lazy_is_positive(l, lazy_size(l, NEST_ADD, from_end, one))) return from_end;
        return lazy_size(l, NEST_MAX, from_end, lazy_zero(l));
    }
    if (l->specialise && l->specialise(l->ctx, x, &i))
        return view_position(l, nest_int(l->n, i), size);
    if (l->positive) return NULL;
    nest_expr *zero = lazy_zero(l);
    nest_expr *wrapped = nest_select(l->n, nest_binary(l->n, NEST_LT, x, zero),
                                     nest_add(l->n, x, size), x);
    return nest_binary(l->n, NEST_MIN, nest_binary(l->n, NEST_MAX, wrapped, zero), size);
}

/* ---- dims ------------------------------------------------------------------------------------ */

typedef lazy_tensor *view_maker(lazy *l, lowered_op rule, const lazy_tensor *t,
                                const lazy_arg *args);

static lazy_tensor *view_same(lazy *l, lowered_op rule, const lazy_tensor *t,
                              const lazy_arg *args) {
    (void)rule;
    (void)args;
    view_plan p = view_identity(l, t);
    lazy_tensor *v = view_make(l, t, &p);
    if (v) v->contiguous = t->contiguous;
    return v;
}
static lazy_tensor *view_contiguous(lazy *l, lowered_op rule, const lazy_tensor *t,
                                    const lazy_arg *args) {
    int64_t format;
    if (!lazy_arg_int(l, &args[1], &format) || format != 0) return NULL;
    lazy_tensor *v = view_same(l, rule, t, args);
    if (v) v->contiguous = true;
    return v;
}
static lazy_tensor *view_unsqueeze(lazy *l, lowered_op rule, const lazy_tensor *t,
                                   const lazy_arg *args) {
    (void)rule;
    view_plan p = view_identity(l, t);
    int dim;
    if (t->ndim == LAZY_MAX_DIMS || !view_dim(l, &args[1], t->ndim + 1, &dim)) return NULL;
    for (int d = t->ndim; d > dim; d--) p.sizes[d] = p.sizes[d - 1];
    p.sizes[dim] = lazy_one(l);
    p.ndim++;
    for (int d = dim; d < t->ndim; d++) p.from[d]++;
    lazy_tensor *v = view_make(l, t, &p);
    if (!v) return NULL;
    v->contiguous = t->contiguous;
    int64_t size = 1;
    if (dim < t->ndim && l->peek && !view_peek(l, t->sizes[dim], &size)) return NULL;
    v->strides[dim] = dim < t->ndim ? v->strides[dim + 1] * size : 1;
    return v;
}
/* squeeze(self), squeeze(self, dim): which dims go must be known; a size that is not 1 now is
 * taken to stay so. */
static lazy_tensor *view_squeeze_dims(lazy *l, const lazy_tensor *t, int first, int last) {
    view_plan p = view_identity(l, t);
    for (int d = last; d >= first; d--) {
        int64_t size;
        nest_expr *above = lazy_size(l, NEST_SUB, t->sizes[d], lazy_one(l));
        if (lazy_is_one(l, t->sizes[d])) {
            view_drop(&p, t->ndim, d);
        } else if (!lazy_is_const(t->sizes[d], &size) && !lazy_is_positive(l, above)) {
            if (!lazy_same_size(l, t->sizes[d], lazy_zero(l))) return NULL;
        }
    }
    lazy_tensor *v = view_make(l, t, &p);
    if (v) v->contiguous = t->contiguous;
    return v;
}
static lazy_tensor *view_squeeze(lazy *l, lowered_op rule, const lazy_tensor *t,
                                 const lazy_arg *args) {
    (void)rule;
    (void)args;
    return view_squeeze_dims(l, t, 0, t->ndim - 1);
}
static lazy_tensor *view_squeeze_dim(lazy *l, lowered_op rule, const lazy_tensor *t,
                                     const lazy_arg *args) {
    int dim;
    if (!view_dim(l, &args[1], t->ndim, &dim)) return NULL;
    return t->ndim ? view_squeeze_dims(l, t, dim, dim) : view_same(l, rule, t, args);
}
static lazy_tensor *view_transpose(lazy *l, lowered_op rule, const lazy_tensor *t,
                                   const lazy_arg *args) {
    int a, b, order[LAZY_MAX_DIMS];
    if (!view_dim(l, &args[1], t->ndim, &a) || !view_dim(l, &args[2], t->ndim, &b)) return NULL;
    if (t->ndim == 0 || a == b) return view_same(l, rule, t, args);
    for (int i = 0; i < t->ndim; i++) order[i] = i == a ? b : i == b ? a : i;
    return lazy_permute(l, t, order);
}
/* t, mT: the last two dims change places; numpy_T: all of them. */
static lazy_tensor *view_transposed(lazy *l, lowered_op rule, const lazy_tensor *t,
                                    const lazy_arg *args) {
    int order[LAZY_MAX_DIMS], n = t->ndim;
    if (rule == LOWER_t && n > 2) return NULL;
    if (rule == LOWER_mT && n < 2) return NULL;
    if (n < 2) return view_same(l, rule, t, args);
    bool all = rule == LOWER_numpy_T;
    for (int i = 0; i < n; i++) order[i] = all ? n - 1 - i : i < n - 2 ? i : 2 * n - 3 - i;
    return lazy_permute(l, t, order);
}
static lazy_tensor *view_permute(lazy *l, lowered_op rule, const lazy_tensor *t,
                                 const lazy_arg *args) {
    (void)rule;
    int64_t dims[LAZY_MAX_DIMS];
    int n, order[LAZY_MAX_DIMS];
    unsigned seen = 0;
    if (!lazy_arg_ints(l, &args[1], LAZY_MAX_DIMS, &n, dims) || n != t->ndim) return NULL;
    for (int i = 0; i < n; i++) {
        if (!lazy_wrap_dim(dims[i], n, &order[i]) || seen & 1u << order[i]) return NULL;
        seen |= 1u << order[i];
    }
    return lazy_permute(l, t, order);
}
static lazy_tensor *view_movedim(lazy *l, lowered_op rule, const lazy_tensor *t,
                                 const lazy_arg *args) {
    int from, to, order[LAZY_MAX_DIMS];
    if (!view_dim(l, &args[1], t->ndim, &from) || !view_dim(l, &args[2], t->ndim, &to)) return NULL;
    if (t->ndim == 0) return view_same(l, rule, t, args);
    for (int i = 0, next = 0; i < t->ndim; i++) {
        if (i == to) {
            order[i] = from;
            continue;
        }
        next += next == from;
        order[i] = next++;
    }
    return lazy_permute(l, t, order);
}

/* ---- expanding ------------------------------------------------------------------------------- */

static lazy_tensor *view_expand_to(lazy *l, const lazy_tensor *t, int n, nest_expr *const *sizes) {
    view_plan p = view_identity(l, t);
    int shift = n - t->ndim;
    if (shift < 0) return NULL;
    for (int d = 0; d < n; d++) {
        int64_t size;
        bool known = lazy_is_const(sizes[d], &size);
        nest_expr *own = d >= shift ? t->sizes[d - shift] : NULL;
        if (known && size == -1) {
            if (!own) return NULL;
            p.sizes[d] = own;
        } else if (known ? size < 0
                         : !lazy_is_positive(l, lazy_size(l, NEST_ADD, sizes[d], lazy_one(l)))) {
            return NULL;
        } else {
            p.sizes[d] = sizes[d];
        }
        if (!own) continue;
        p.from[d - shift] = d;
        if (own == p.sizes[d] || lazy_same_size(l, own, p.sizes[d])) continue;
        if (!lazy_is_one(l, own)) return NULL;
        p.from[d - shift] = -1;
    }
    p.ndim = n;
    return view_make(l, t, &p);
}
static lazy_tensor *view_expand(lazy *l, lowered_op rule, const lazy_tensor *t,
                                const lazy_arg *args) {
    (void)rule;
    nest_expr *sizes[LAZY_MAX_DIMS];
    int n;
    return lazy_arg_exprs(l, &args[1], LAZY_MAX_DIMS, &n, sizes) ? view_expand_to(l, t, n, sizes)
                                                                 : NULL;
}
static lazy_tensor *view_expand_as(lazy *l, lowered_op rule, const lazy_tensor *t,
                                   const lazy_arg *args) {
    (void)rule;
    const lazy_tensor *other = lazy_arg_tensor(l, &args[1]);
    return other ? view_expand_to(l, t, other->ndim, other->sizes) : NULL;
}

/* ---- parts ----------------------------------------------------------------------------------- */

lazy_tensor *lazy_slice(lazy *l, const lazy_tensor *t, int dim, nest_expr *start, nest_expr *size,
                        int64_t step) {
    view_plan p = view_identity(l, t);
    p.sizes[dim] = size;
    p.start[dim] = start;
    p.step[dim] = step == 1 ? lazy_one(l) : nest_int(l->n, step);
    return view_make(l, t, &p);
}

static lazy_tensor *view_pick(lazy *l, const lazy_tensor *t, int dim, nest_expr *index) {
    view_plan p = view_identity(l, t);
    view_drop(&p, t->ndim, dim);
    p.start[dim] = index;
    return view_make(l, t, &p);
}
static lazy_tensor *view_select(lazy *l, lowered_op rule, const lazy_tensor *t,
                                const lazy_arg *args) {
    (void)rule;
    int dim;
    int64_t at;
    nest_expr *index;
    if (t->ndim == 0 || !view_dim(l, &args[1], t->ndim, &dim) ||
        !lazy_arg_expr(l, &args[2], &index))
        return NULL;
    nest_expr *size = t->sizes[dim];
    bool known = lazy_is_const(index, &at);
    if (!known && !lazy_is_positive(l, lazy_size(l, NEST_ADD, index, lazy_one(l)))) {
        if (!l->specialise || !l->specialise(l->ctx, index, &at)) return NULL;
        index = nest_int(l->n, at);
        known = true;
    }
    if (known && at < 0) {
        index = lazy_size(l, NEST_ADD, size, index);
        if (!lazy_is_positive(l, lazy_size(l, NEST_ADD, index, lazy_one(l)))) return NULL;
    } else if (!lazy_is_positive(l, lazy_size(l, NEST_SUB, size, index))) {
        return NULL;
    }
    return view_pick(l, t, dim, index);
}

static lazy_tensor *view_slice(lazy *l, lowered_op rule, const lazy_tensor *t,
                               const lazy_arg *args) {
    (void)rule;
    int dim;
    int64_t step;
    nest_expr *start = lazy_zero(l), *end = NULL;
    if (t->ndim == 0 || !view_dim(l, &args[1], t->ndim, &dim) ||
        !lazy_arg_int(l, &args[4], &step) || step < 1)
        return NULL;
    nest_expr *size = t->sizes[dim];
    if (!lazy_arg_is_none(&args[2]) && !lazy_arg_expr(l, &args[2], &start)) return NULL;
    if (!lazy_arg_is_none(&args[3]) && !lazy_arg_expr(l, &args[3], &end)) return NULL;
    start = view_position(l, start, size);
    end = end ? view_position(l, end, size) : size;
    if (!start || !end) return NULL;
    nest_expr *length = lazy_size(l, NEST_SUB, end, start);
    if (start != lazy_zero(l) && !lazy_is_positive(l, lazy_size(l, NEST_ADD, length, lazy_one(l))))
        length = lazy_size(l, NEST_MAX, length, lazy_zero(l));
    if (step > 1)
        length = lazy_size(l, NEST_DIV_INDEX,
                           lazy_size(l, NEST_ADD, length, nest_int(l->n, step - 1)),
                           nest_int(l->n, step));
    return lazy_slice(l, t, dim, start, length, step);
}
/* narrow(self, dim, start, length) */
static lazy_tensor *view_narrow(lazy *l, lowered_op rule, const lazy_tensor *t,
                                const lazy_arg *args) {
    (void)rule;
    int dim;
    nest_expr *start, *length, *one = lazy_one(l);
    if (t->ndim == 0 || !view_dim(l, &args[1], t->ndim, &dim)) return NULL;
    if (!lazy_arg_expr(l, &args[2], &start) || !lazy_arg_expr(l, &args[3], &length)) return NULL;
    if (!lazy_is_positive(l, lazy_size(l, NEST_ADD, start, one)) ||
        !lazy_is_positive(l, lazy_size(l, NEST_ADD, length, one)))
        return NULL;
    nest_expr *end = lazy_size(l, NEST_ADD, start, length);
    if (!lazy_is_positive(l,
                          lazy_size(l, NEST_ADD, lazy_size(l, NEST_SUB, t->sizes[dim], end), one)))
        return NULL;
    return lazy_slice(l, t, dim, start, length, 1);
}

/* ---- reshaping ------------------------------------------------------------------------------- */

/* A range of dims of the viewed tensor with the same elements as a range of the view's dims. */
typedef struct reshape_group {
    int in, in_end, out, out_end;
} reshape_group;
typedef struct view_reshaped {
    reshape_group groups[LAZY_MAX_DIMS];
    int n;
} view_reshaped;

static nest_expr *view_reshape_at(lazy *l, const lazy_tensor *t, nest_expr *const *index) {
    const view_reshaped *r = t->impl;
    const lazy_tensor *in = t->inputs[0];
    nest_expr *own[LAZY_MAX_DIMS];
    for (int d = 0; d < in->ndim; d++) own[d] = lazy_zero(l);
    for (int g = 0; g < r->n; g++) {
        const reshape_group *k = &r->groups[g];
        nest_expr *at = index[k->out];
        for (int d = k->out + 1; d < k->out_end; d++)
            at = nest_add(l->n, nest_mul(l->n, at, t->sizes[d]), index[d]);
        for (int d = k->in_end - 1; d > k->in; d--) {
            own[d] = nest_mod_index(l->n, at, in->sizes[d]);
            at = nest_div_index(l->n, at, in->sizes[d]);
        }
        own[k->in] = at;
    }
    return lazy_at(l, in, own);
}

/* Cuts both shapes where their products agree. Dims of size 1 belong to no group where
 * that can be had. */
static bool view_reshape_match(lazy *l, const lazy_tensor *t, int n, nest_expr *const *sizes,
                               view_reshaped *r) {
    int i = 0, o = 0;
    while (i < t->ndim || o < n) {
        int64_t a, b;
        if (i < t->ndim && lazy_is_const(t->sizes[i], &a) && a == 1) {
            i++;
            continue;
        }
        if (o < n && lazy_is_const(sizes[o], &b) && b == 1) {
            o++;
            continue;
        }
        if (i == t->ndim || o == n) { /* what is left over holds one element */
            if (!lazy_is_one(l, i == t->ndim ? sizes[o++] : t->sizes[i++])) return false;
            continue;
        }
        reshape_group g = {i, i + 1, o, o + 1};
        nest_expr *left = t->sizes[i++], *right = sizes[o++];
        while (left != right) {
            if (!view_peek(l, left, &a) || !view_peek(l, right, &b)) return false;
            if (a == b && lazy_same_size(l, left, right)) break;
            if (a < b && i < t->ndim) {
                left = lazy_size(l, NEST_MUL, left, t->sizes[i++]);
            } else if (a > b && o < n) {
                right = lazy_size(l, NEST_MUL, right, sizes[o++]);
            } else {
                return false;
            }
        }
        g.in_end = i;
        g.out_end = o;
        r->groups[r->n++] = g;
    }
    return true;
}

/* Products of all sizes except those on both sides. */
static nest_expr *view_rest(lazy *l, const lazy_tensor *t, int n, nest_expr *const *sizes,
                            int skip) {
    nest_expr *left = lazy_one(l), *right = lazy_one(l);
    bool used[LAZY_MAX_DIMS] = {false};
    for (int o = 0; o < n; o++) {
        if (o == skip) continue;
        int found = -1;
        for (int i = 0; i < t->ndim && found < 0; i++)
            if (!used[i] && t->sizes[i] == sizes[o]) found = i;
        if (found >= 0) used[found] = true;
        else right = lazy_size(l, NEST_MUL, right, sizes[o]);
    }
    for (int i = 0; i < t->ndim; i++)
        if (!used[i]) left = lazy_size(l, NEST_MUL, left, t->sizes[i]);
    int64_t a;
    if (lazy_is_const(right, &a) && a == 1) return left;
    return lazy_is_positive(l, right) ? lazy_size(l, NEST_DIV_INDEX, left, right) : NULL;
}

/* A view where strides allow it; else a copy, which is row-major. */
static bool view_reshape_strides(lazy *l, const lazy_tensor *t, lazy_tensor *v) {
    lazy_shape of, to;
    if (!lazy_shape_of(l, t, &of) || !lazy_shape_of(l, v, &to)) return !l->peek;
    if (!strides_of_view(&of.t, v->ndim, to.sizes, to.strides)) return true;
    v->contiguous = tensor_is_contiguous(&to.t);
    memcpy(v->strides, to.strides, sizeof v->strides);
    return true;
}

static lazy_tensor *view_reshape_to(lazy *l, lowered_op rule, const lazy_tensor *t, int n,
                                    nest_expr **sizes) {
    int64_t size;
    int rest = -1;
    view_reshaped *r = arena_new(l->a, view_reshaped);
    for (int d = 0; d < n; d++) {
        if (lazy_is_const(sizes[d], &size) && size == -1) {
            if (rest >= 0) return NULL;
            rest = d;
        } else if (!lazy_is_positive(l, sizes[d])) {
            return NULL; /* 0, or -1 from a number */
        }
    }
    if (!t->contiguous && rule != LOWER_reshape) return NULL; /* view() might refuse */
    if (rest >= 0 && !(sizes[rest] = view_rest(l, t, n, sizes, rest))) return NULL;
    for (int d = 0; d < t->ndim; d++) /* what is empty has no quotients */
        if (!lazy_is_positive(l, t->sizes[d])) return NULL;
    if (!view_reshape_match(l, t, n, sizes, r)) return NULL;
    lazy_tensor *v = lazy_new(l, t->dt, n, sizes, view_reshape_at, r);
    lazy_add_input(v, t);
    return t->contiguous || view_reshape_strides(l, t, v) ? v : NULL;
}
static lazy_tensor *view_reshape(lazy *l, lowered_op rule, const lazy_tensor *t,
                                 const lazy_arg *args) {
    nest_expr *sizes[LAZY_MAX_DIMS];
    int n;
    return lazy_arg_exprs(l, &args[1], LAZY_MAX_DIMS, &n, sizes)
               ? view_reshape_to(l, rule, t, n, sizes)
               : NULL;
}
static lazy_tensor *view_reshape_as(lazy *l, lowered_op rule, const lazy_tensor *t,
                                    const lazy_arg *args) {
    const lazy_tensor *other = lazy_arg_tensor(l, &args[1]);
    nest_expr *sizes[LAZY_MAX_DIMS];
    if (!other) return NULL;
    memcpy(sizes, other->sizes, sizeof sizes);
    return view_reshape_to(l, rule, t, other->ndim, sizes);
}
/* flatten(self, start_dim, end_dim), ravel(self) */
static lazy_tensor *view_flatten(lazy *l, lowered_op rule, const lazy_tensor *t,
                                 const lazy_arg *args) {
    int first = 0, last = t->ndim - 1, n = 0;
    nest_expr *sizes[LAZY_MAX_DIMS];
    bool all = rule == LOWER_ravel;
    if (t->ndim == 0) return NULL;
    if (!all && (!view_dim(l, &args[1], t->ndim, &first) || !view_dim(l, &args[2], t->ndim, &last)))
        return NULL;
    if (first > last) return NULL;
    if (first == last) return view_same(l, rule, t, args);
    for (int d = 0; d < t->ndim; d++) {
        if (d > first && d <= last)
            sizes[n - 1] = lazy_size(l, NEST_MUL, sizes[n - 1], t->sizes[d]);
        else sizes[n++] = t->sizes[d];
    }
    lazy_tensor *v = view_reshape_to(l, LOWER_reshape, t, n, sizes);
    if (v && all) v->contiguous = true;
    return v;
}
/* unflatten(self, dim, sizes) */
static lazy_tensor *view_unflatten(lazy *l, lowered_op rule, const lazy_tensor *t,
                                   const lazy_arg *args) {
    (void)rule;
    nest_expr *parts[LAZY_MAX_DIMS], *sizes[LAZY_MAX_DIMS];
    int dim, n, total = 0;
    if (t->ndim == 0 || !view_dim(l, &args[1], t->ndim, &dim)) return NULL;
    if (!lazy_arg_exprs(l, &args[2], LAZY_MAX_DIMS, &n, parts) || n == 0 ||
        t->ndim - 1 + n > LAZY_MAX_DIMS)
        return NULL;
    for (int d = 0; d < t->ndim; d++)
        for (int k = 0; k < (d == dim ? n : 1); k++)
            sizes[total++] = d == dim ? parts[k] : t->sizes[d];
    return view_reshape_to(l, LOWER_view, t, total, sizes);
}

/* ---- several results ------------------------------------------------------------------------- */

/* Pieces of `length`, the last perhaps shorter: there must be exactly `count`. */
static bool view_cut(lazy *l, const lazy_tensor *t, int dim, nest_expr *length, int count,
                     lazy_tensor **out) {
    nest_expr *size = t->sizes[dim], *many = nest_int(l->n, count),
              *before = nest_int(l->n, count - 1);
    bool even = lazy_same_size(l, lazy_size(l, NEST_MUL, length, many), size);
    nest_expr *last = even ? length
                           : lazy_size(l, NEST_SUB, size, lazy_size(l, NEST_MUL, length, before));
    if (!lazy_is_positive(l, length)) return false;
    if (!even &&
        (!lazy_is_positive(l, last) || !lazy_is_positive(l, lazy_size(l, NEST_SUB, length, last))))
        return false;
    for (int k = 0; k < count; k++) {
        nest_expr *start = lazy_size(l, NEST_MUL, length, nest_int(l->n, k));
        if (!(out[k] = lazy_slice(l, t, dim, start, k == count - 1 ? last : length, 1)))
            return false;
    }
    return true;
}
static bool view_split_sizes(lazy *l, const lazy_tensor *t, int dim, const lazy_arg *lengths,
                             int count, lazy_tensor **out) {
    enum { MAX_PARTS = 64 };
    nest_expr *sizes[MAX_PARTS], *start = lazy_zero(l);
    int n;
    if (!lazy_arg_exprs(l, lengths, MAX_PARTS, &n, sizes) || n != count) return false;
    for (int k = 0; k < n; k++) {
        if (!lazy_is_positive(l, lazy_size(l, NEST_ADD, sizes[k], lazy_one(l)))) return false;
        if (!(out[k] = lazy_slice(l, t, dim, start, sizes[k], 1))) return false;
        start = lazy_size(l, NEST_ADD, start, sizes[k]);
    }
    return lazy_same_size(l, start, t->sizes[dim]);
}

bool lazy_apply_list(lazy *l, const node *n, const lazy_arg *args, int count, lazy_tensor **out) {
    bool view = n->kind == N_OP && op_fusible(n->op) == FUSIBLE_VIEW;
    lowered_op rule = view ? n->op->lowered : LOWER_NONE;
    const lazy_tensor *t = view ? lazy_arg_tensor(l, &args[0]) : NULL;
    bool unbind = rule == LOWER_unbind;
    int dim, parts;
    int64_t chunks;
    nest_expr *length;
    if (!t || t->is_number || t->ndim == 0 || count < 1 ||
        !view_dim(l, &args[unbind ? 1 : 2], t->ndim, &dim))
        return false;
    if (unbind) {
        if (!lazy_same_size(l, t->sizes[dim], nest_int(l->n, count))) return false;
        for (parts = 0; parts < count; parts++)
            if (!(out[parts] = view_pick(l, t, dim, nest_int(l->n, parts)))) return false;
        return true;
    }
    if (rule == LOWER_split_with_sizes) return view_split_sizes(l, t, dim, &args[1], count, out);
    if (rule == LOWER_split)
        return lazy_arg_expr(l, &args[1], &length) && view_cut(l, t, dim, length, count, out);
    if (rule != LOWER_chunk || !lazy_arg_int(l, &args[1], &chunks) || chunks < 1) return false;
    length = lazy_size(l, NEST_DIV_INDEX, t->sizes[dim], nest_int(l->n, chunks));
    if (chunks == count &&
        lazy_same_size(l, lazy_size(l, NEST_MUL, length, nest_int(l->n, chunks)), t->sizes[dim]))
        return view_cut(l, t, dim, length, count, out);
    length = lazy_size(l, NEST_DIV_INDEX,
                       lazy_size(l, NEST_ADD, t->sizes[dim], nest_int(l->n, chunks - 1)),
                       nest_int(l->n, chunks));
    return view_cut(l, t, dim, length, count, out);
}

/* ---- the table ------------------------------------------------------------------------------- */

#define VIEW(name) [LOWER_##name - LOWERED_VIEWS]
static view_maker *const view_rules[LOWERED_REDUCTIONS - LOWERED_VIEWS] = {
    VIEW(identity) = view_same,
    VIEW(unsqueeze) = view_unsqueeze,
    VIEW(transpose) = view_transpose,
    VIEW(t) = view_transposed,
    VIEW(mT) = view_transposed,
    VIEW(numpy_T) = view_transposed,
    VIEW(permute) = view_permute,
    VIEW(movedim) = view_movedim,
    VIEW(expand) = view_expand,
    VIEW(expand_as) = view_expand_as,
    VIEW(select) = view_select,
    VIEW(slice) = view_slice,
    VIEW(narrow) = view_narrow,
    VIEW(reshape) = view_reshape,
    VIEW(view) = view_reshape,
    VIEW(reshape_as) = view_reshape_as,
    VIEW(view_as) = view_reshape_as,
    VIEW(flatten) = view_flatten,
    VIEW(ravel) = view_flatten,
    VIEW(unflatten) = view_unflatten,
    VIEW(contiguous) = view_contiguous,
    VIEW(squeeze) = view_squeeze,
    VIEW(squeeze_dim) = view_squeeze_dim,
};

lazy_tensor *lazy_apply_view(lazy *l, lowered_op rule, const lazy_arg *args) {
    const lazy_tensor *t = lazy_arg_tensor(l, &args[0]);
    if (!t || t->is_number) return NULL;
    if (rule < LOWERED_VIEWS || rule >= LOWERED_REDUCTIONS) return NULL;
    /* those with several results: lazy_apply_list */
    view_maker *make = view_rules[rule - LOWERED_VIEWS];
    return make ? make(l, rule, t, args) : NULL;
}
