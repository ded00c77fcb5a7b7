/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lazy.c - lazy tensors: leaves, broadcasting, conversion, and the arguments of operators.
 *
 * Method: an element is requested by index expressions. Equal requests get
 * equal results (the memo), so a value that a graph uses ten times occurs
 * ten times in one expression as one node, which the emitter evaluates once.
 * Tests: tests/unit/test_group.c
 */
#include "codegen/lower/lazy/lazy_internal.h"

#include <string.h>

enum { LAZY_MEMOS = 2, LAZY_MAX_COST = 1 << 20 };

/* ---- asking ---------------------------------------------------------------------------------- */

static lazy_memo *lazy_find_memo(const lazy *l, const lazy_tensor *t, nest_expr *const *index) {
    for (int i = 0; i < LAZY_MEMOS; i++) {
        lazy_memo *m = &t->memo[i];
        if (!m->value || m->epoch != l->epoch) continue;
        if (!t->ndim || !memcmp(m->index, index, sizeof *index * (size_t)t->ndim)) return m;
    }
    return NULL;
}

nest_expr *lazy_at(lazy *l, const lazy_tensor *t, nest_expr *const *index) {
    lazy_memo *known = lazy_find_memo(l, t, index);
    if (known) return known->value;
    nest_type type = NEST_BOOL;
    nest_type_of(t->dt, &type);
    if (l->failed || ++l->steps > LAZY_MAX_STEPS || arena_failed(l->a)) {
        l->failed = true;
        return nest_is_float(type) ? nest_const_float(l->n, type, 0)
                                   : nest_const_int(l->n, type, 0);
    }
    nest_expr *x = t->at(l, t, index);
    t->memo[1] = t->memo[0];
    lazy_memo *m = &t->memo[0];
    m->epoch = l->epoch;
    m->value = x;
    if (t->ndim) memcpy(m->index, index, sizeof *index * (size_t)t->ndim);
    return x;
}

/* ---- making ---------------------------------------------------------------------------------- */

lazy_tensor *lazy_new(lazy *l, dtype dt, int ndim, nest_expr *const *sizes, lazy_at_fn at,
                      void *impl) {
    lazy_tensor *t = arena_new(l->a, lazy_tensor);
    t->dt = dt;
    t->ndim = ndim;
    if (ndim) memcpy(t->sizes, sizes, sizeof *sizes * (size_t)ndim);
    t->at = at;
    t->impl = impl;
    t->contiguous = true;
    t->memo = arena_array(l->a, lazy_memo, LAZY_MEMOS);
    return t;
}

void lazy_add_input(lazy_tensor *t, const lazy_tensor *input) {
    if (t->ninputs < LAZY_MAX_INPUTS) t->inputs[t->ninputs++] = input;
    if (input->depth > t->depth) t->depth = input->depth;
    t->cost = t->cost + input->cost > LAZY_MAX_COST ? LAZY_MAX_COST : t->cost + input->cost;
}

nest_expr *lazy_zero(lazy *l) { return l->zero ? l->zero : (l->zero = nest_int(l->n, 0)); }
nest_expr *lazy_one(lazy *l) { return l->one ? l->one : (l->one = nest_int(l->n, 1)); }

typedef struct lazy_leaf {
    nest_buffer *buffer;
    nest_expr *strides[LAZY_MAX_DIMS], *offset, *value;
} lazy_leaf;

static nest_expr *lazy_buffer_at(lazy *l, const lazy_tensor *t, nest_expr *const *index) {
    const lazy_leaf *leaf = t->impl;
    nest_expr *at = leaf->offset ? leaf->offset : lazy_zero(l);
    for (int i = 0; i < t->ndim; i++)
        at = nest_add(l->n, at, nest_mul(l->n, index[i], leaf->strides[i]));
    nest_expr *elsewhere = l->load ? l->load(l->ctx, leaf->buffer, at) : NULL;
    return elsewhere ? elsewhere : nest_load(l->n, leaf->buffer, at);
}

lazy_tensor *lazy_buffer(lazy *l, nest_buffer *b, int ndim, nest_expr *const *sizes,
                         nest_expr *const *strides, nest_expr *offset) {
    lazy_leaf *leaf = arena_new(l->a, lazy_leaf);
    leaf->buffer = b;
    leaf->offset = offset;
    if (ndim) memcpy(leaf->strides, strides, sizeof *strides * (size_t)ndim);
    lazy_tensor *t = lazy_new(l, b->dt, ndim, sizes, lazy_buffer_at, leaf);
    t->cost = 1;
    return t;
}

static nest_expr *lazy_value_at(lazy *l, const lazy_tensor *t, nest_expr *const *index) {
    (void)l;
    (void)index;
    return ((const lazy_leaf *)t->impl)->value;
}

lazy_tensor *lazy_scalar(lazy *l, dtype dt, nest_expr *value) {
    lazy_leaf *leaf = arena_new(l->a, lazy_leaf);
    leaf->value = value;
    return lazy_new(l, dt, 0, NULL, lazy_value_at, leaf);
}

lazy_tensor *lazy_number(lazy *l, nest_expr *value) {
    dtype dt = value->type == NEST_BOOL     ? DT_BOOL
               : nest_is_float(value->type) ? DT_FLOAT64
                                            : DT_INT64;
    lazy_tensor *t = lazy_scalar(l, dt,
                                 nest_cast(l->n, dt == DT_FLOAT64 ? NEST_F64 : value->type, value));
    t->is_number = true;
    return t;
}

/* ---- conversion ------------------------------------------------------------------------------ */

nest_expr *lazy_round(lazy *l, nest_expr *x, dtype dt) {
    if (!dtype_is_half(dt)) return x;
    if (x->op == NEST_LOAD && x->u.buffer->dt == dt) return x;
    return nest_call1(l->n, dt == DT_FLOAT16 ? "round_f16" : "round_bf16", x);
}

/* Constants are folded, so that the code's text is short and tests of constants see through it. */
static nest_expr *lazy_fold_cast(lazy *l, nest_expr *x, nest_type to) {
    if (x->op != NEST_CONST || x->type == to) return NULL;
    bool real = nest_is_float(x->type);
    if (nest_is_float(to)) return nest_const_float(l->n, to, real ? x->u.f : (double)x->u.i);
    if (to == NEST_BOOL) return nest_const_int(l->n, to, real ? x->u.f != 0 : x->u.i != 0);
    if (real && !(x->u.f > -0x1p31 && x->u.f < 0x1p31)) return NULL;
    int64_t i = real ? (int64_t)x->u.f : x->u.i;
    if (to == NEST_U8) i = (uint8_t)i;
    if (to == NEST_I8) i = (int8_t)i;
    if (to == NEST_I16) i = (int16_t)i;
    if (to == NEST_I32) i = (int32_t)i;
    return nest_const_int(l->n, to, i);
}

nest_expr *lazy_convert(lazy *l, nest_expr *x, dtype from, dtype to) {
    nest_type type = NEST_BOOL;
    nest_type_of(to, &type);
    nest_expr *folded = lazy_fold_cast(l, x, type);
    x = folded ? folded : nest_cast(l->n, type, x);
    return from == to ? x : lazy_round(l, x, to);
}

static nest_expr *lazy_cast_at(lazy *l, const lazy_tensor *t, nest_expr *const *index) {
    return lazy_convert(l, lazy_at(l, t->inputs[0], index), t->inputs[0]->dt, t->dt);
}

lazy_tensor *lazy_cast(lazy *l, const lazy_tensor *t, dtype dt) {
    nest_type type;
    if (!nest_type_of(dt, &type)) return NULL;
    lazy_tensor *c = lazy_new(l, dt, t->ndim, t->sizes, lazy_cast_at, NULL);
    lazy_add_input(c, t);
    return c;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

nest_expr *lazy_size(lazy *l, nest_op op, nest_expr *x, nest_expr *y) {
    int64_t a = 0, b = 0, r;
    bool ca = lazy_is_const(x, &a), cb = lazy_is_const(y, &b);
    if (ca && cb) {
        bool over = false;
        switch (op) {
        case NEST_ADD: over = __builtin_add_overflow(a, b, &r); break;
        case NEST_SUB: over = __builtin_sub_overflow(a, b, &r); break;
        case NEST_MUL: over = __builtin_mul_overflow(a, b, &r); break;
        case NEST_MIN: r = a < b ? a : b; break;
        case NEST_MAX: r = a > b ? a : b; break;
        default: r = a / (b ? b : 1); break;
        }
        if (!over) return r == 0 ? lazy_zero(l) : r == 1 ? lazy_one(l) : nest_int(l->n, r);
    }
    if (op == NEST_SUB && cb && b == 0) return x;
    if ((op == NEST_SUB) && x == y) return lazy_zero(l);
    if ((op == NEST_MIN || op == NEST_MAX) && x == y) return x;
    if (op == NEST_DIV_INDEX && cb && b == 1) return x;
    return nest_binary(l->n, op, x, y);
}

bool lazy_same_size(lazy *l, nest_expr *x, nest_expr *y) {
    int64_t a, b;
    if (x == y) return true;
    if (lazy_is_const(x, &a) && lazy_is_const(y, &b)) return a == b;
    return l->equal && l->equal(l->ctx, x, y);
}

bool lazy_is_positive(lazy *l, nest_expr *x) {
    int64_t a;
    if (lazy_is_const(x, &a)) return a > 0;
    return l->positive && l->positive(l->ctx, x);
}

bool lazy_is_one(lazy *l, nest_expr *x) {
    int64_t a;
    if (lazy_is_const(x, &a)) return a == 1;
    return l->is_one && l->is_one(l->ctx, x);
}

static bool lazy_const_one(const nest_expr *x) {
    int64_t a;
    return lazy_is_const(x, &a) && a == 1;
}

/* Does a dim of size x stay where it is when broadcast to size to? If not, its index is 0. */
static bool lazy_stays(lazy *l, nest_expr *x, nest_expr *to) {
    return x == to || (!lazy_const_one(x) && lazy_same_size(l, x, to));
}

void lazy_broadcast_index(lazy *l, const lazy_tensor *t, int ndim, nest_expr *const *sizes,
                          nest_expr *const *index, nest_expr **out) {
    int shift = ndim - t->ndim;
    for (int i = 0; i < t->ndim; i++)
        out[i] = lazy_stays(l, t->sizes[i], sizes[i + shift]) ? index[i + shift] : lazy_zero(l);
}

/* One dim of several tensors. */
static nest_expr *lazy_meet(lazy *l, nest_expr *x, nest_expr *y) {
    int64_t a;
    if (x == y || lazy_const_one(y)) return x;
    if (lazy_const_one(x)) return y;
    if (lazy_same_size(l, x, y)) return lazy_is_const(y, &a) ? y : x;
    if (lazy_is_one(l, x)) return y;
    return lazy_is_one(l, y) ? x : NULL;
}

bool lazy_broadcast_sizes(lazy *l, int n, const lazy_tensor *const *ts, int *ndim,
                          nest_expr **sizes) {
    *ndim = 0;
    for (int i = 0; i < n; i++)
        if (ts[i]->ndim > *ndim) *ndim = ts[i]->ndim;
    for (int d = 0; d < *ndim; d++) {
        sizes[d] = lazy_one(l);
        for (int i = 0; i < n; i++) {
            int own = d - (*ndim - ts[i]->ndim);
            if (own < 0) continue;
            sizes[d] = lazy_meet(l, sizes[d], ts[i]->sizes[own]);
            if (!sizes[d]) return false;
        }
    }
    return true;
}

/* ---- arguments ------------------------------------------------------------------------------- */

/* A tensor constant of one element is its value. */
static const lazy_tensor *lazy_constant_tensor(lazy *l, const tensor *t) {
    nest_type type;
    tensor *here;
    if (t->ndim != 0 || !nest_type_of((dtype)t->dtype, &type)) return NULL;
    if (tensor_to_device(NULL, (tensor *)t, DEVICE_HOST, &here) != CTSC_OK) return NULL;
    nest_expr *x = nest_is_float(type) ? nest_const_float(l->n, type, tensor_item_float(here))
                                       : nest_const_int(l->n, type, tensor_item_int(here));
    tensor_unref(here);
    return lazy_scalar(l, (dtype)t->dtype, x);
}

const lazy_tensor *lazy_arg_tensor(lazy *l, const lazy_arg *a) {
    if (a->t || a->items) return a->t;
    switch (a->constant.tag) {
    case V_BOOL: return lazy_number(l, nest_const_int(l->n, NEST_BOOL, a->constant.u.b));
    case V_INT: return lazy_number(l, nest_int(l->n, a->constant.u.i));
    case V_FLOAT: return lazy_number(l, nest_const_float(l->n, NEST_F64, a->constant.u.f));
    case V_TENSOR: return lazy_constant_tensor(l, a->constant.u.tensor);
    default: return NULL;
    }
}

bool lazy_arg_expr(lazy *l, const lazy_arg *a, nest_expr **out) {
    const lazy_tensor *t = lazy_arg_tensor(l, a);
    if (!t || !t->is_number || t->dt == DT_FLOAT64) return false;
    nest_expr *x = lazy_at(l, t, NULL), *folded = lazy_fold_cast(l, x, NEST_I64);
    *out = folded ? folded : nest_cast(l->n, NEST_I64, x);
    return true;
}

bool lazy_arg_int(lazy *l, const lazy_arg *a, int64_t *out) {
    nest_expr *x;
    if (!lazy_arg_expr(l, a, &x)) return false;
    return lazy_is_const(x, out) || (l->specialise && l->specialise(l->ctx, x, out));
}

bool lazy_arg_float(const lazy_arg *a, double *out) {
    if (a->t || a->items) return false;
    const value *v = &a->constant;
    if (v->tag != V_FLOAT && v->tag != V_INT && v->tag != V_BOOL) return false;
    *out = v->tag == V_FLOAT ? v->u.f : v->tag == V_INT ? (double)v->u.i : (double)v->u.b;
    return true;
}

bool lazy_arg_bool(lazy *l, const lazy_arg *a, bool *out) {
    int64_t i;
    if (!lazy_arg_int(l, a, &i)) return false;
    *out = i != 0;
    return true;
}

bool lazy_arg_dtype(lazy *l, const lazy_arg *a, dtype other, dtype *out) {
    int64_t i;
    nest_type type;
    *out = other;
    if (lazy_arg_is_none(a)) return true;
    if (!lazy_arg_int(l, a, &i) || !dtype_valid(i)) return false;
    *out = (dtype)i;
    return nest_type_of(*out, &type);
}

bool lazy_arg_exprs(lazy *l, const lazy_arg *a, int max, int *n, nest_expr **out) {
    *n = 0;
    if (a->items) {
        for (; *n < a->nitems; ++*n)
            if (*n == max || !lazy_arg_expr(l, &a->items[*n], &out[*n])) return false;
        return true;
    }
    if (a->t || a->constant.tag != V_LIST || a->constant.u.list->kind != LIST_INT) {
        *n = 1;
        return max > 0 && lazy_arg_expr(l, a, &out[0]);
    }
    const list *ints = a->constant.u.list;
    if (ints->len > (size_t)max) return false;
    for (; *n < (int)ints->len; ++*n) out[*n] = nest_int(l->n, ints->u.ints[*n]);
    return true;
}

bool lazy_arg_ints(lazy *l, const lazy_arg *a, int max, int *n, int64_t *out) {
    nest_expr *list[LAZY_MAX_DIMS * 2];
    *n = 0;
    if (lazy_arg_is_none(a)) return true;
    if (max > LAZY_MAX_DIMS * 2) max = LAZY_MAX_DIMS * 2;
    if (!lazy_arg_exprs(l, a, max, n, list)) return false;
    for (int i = 0; i < *n; i++)
        if (!lazy_is_const(list[i], &out[i]) &&
            !(l->specialise && l->specialise(l->ctx, list[i], &out[i])))
            return false;
    return true;
}

bool lazy_wrap_dim(int64_t dim, int ndim, int *out) {
    int n = ndim > 0 ? ndim : 1;
    if (dim < -n || dim >= n) return false;
    *out = (int)(dim < 0 ? dim + n : dim);
    return true;
}

/* ---- operators ------------------------------------------------------------------------------- */

lazy_tensor *lazy_apply(lazy *l, const node *n, const lazy_arg *args) {
    fusible_kind kind = n->kind == N_OP ? op_fusible(n->op) : FUSIBLE_NONE;
    if (!kind) return NULL;
    if (n->op->scalar) return lazy_apply_custom(l, n->op->scalar, args);
    if (kind == FUSIBLE_POINTWISE) return lazy_apply_pointwise(l, n->op, args);
    return kind == FUSIBLE_VIEW ? lazy_apply_view(l, n->op->lowered, args) : NULL;
}
