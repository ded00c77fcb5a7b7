/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group_reduce_norm.c - vector norms of any order, distances, and normalisation over
 * what is not a row.
 *
 *     instance_norm(x)  =  (x - mean) * rsqrt(var + eps) * weight[channel] + bias[channel]
 *
 * Tests: tests/unit/test_group.c
 */
#include "codegen/lower/group_reduce.h"

#include <math.h>
#include <string.h>

/* ---- norms ----------------------------------------------------------------------------------- */

static lazy_tensor *norm_power(group_state *s, const lazy_tensor *x, double p) {
    if (!x) return NULL;
    nest_expr *number = lazy_const(&s->l, x->dt, p);
    const lazy_emitter power = {lazy_emit_call, "pow", NEST_CALL, 2, false};
    return lazy_pointwise(&s->l, &power, x->dt, x->dt, 1, &x, NULL, &number);
}

/* |x|^p, and the root of a sum of such: the orders that programs use without pow. */
static lazy_tensor *norm_term(group_state *s, lazy_tensor *x, double p) {
    lazy_tensor *size = group_keep(s, reduced_call(s, "abs", x)), *square = reduced_mul(s, x, x);
    if (p == 1) return size;
    if (p == 2) return square;
    if (p == 3) return reduced_mul(s, square, size);
    if (p == 4) return reduced_mul(s, square, square);
    return p == 0.5 ? reduced_call(s, "sqrt", size) : norm_power(s, size, p);
}
static lazy_tensor *norm_root(group_state *s, lazy_tensor *sum, double p) {
    if (p == 1) return sum;
    return p == 2 ? reduced_call(s, "sqrt", sum) : norm_power(s, sum, 1 / p);
}

lazy_tensor *reduced_norm_of(group_state *s, const reduced_over *o, double p, dtype dt) {
    lazy_tensor *x = group_keep(s, reduced_cast(s, reduced_cast(s, o->x, dt), reduced_wide(dt)));
    /* the root makes 1 / p times as much of the sum's rounding */
    if (p != 0 && fabs(p) < 0.5) return NULL;
    if (!x || isnan(p) || ((p < 0 || isinf(p)) && !lazy_is_positive(&s->l, o->count))) return NULL;
    if (isinf(p))
        return reduced_cast(
            s, reduced_of(s, o, reduced_call(s, "abs", x), p > 0 ? NEST_ACC_MAX : NEST_ACC_MIN),
            dt);
    if (p == 0) {
        lazy_tensor *is = reduced_compare(s, NEST_NE, x, reduced_constant(s, x->dt, 0));
        return reduced_cast(s, reduced_of(s, o, reduced_cast(s, is, x->dt), NEST_ACC_SUM), dt);
    }
    return reduced_cast(s, norm_root(s, reduced_of(s, o, norm_term(s, x, p), NEST_ACC_SUM), p), dt);
}

lazy_tensor *reduced_norm(group_state *s, lowered_op rule, const node *n, const lazy_arg *args,
                          reduced_over *o) {
    double p = 2;
    dtype dt;
    bool order = rule != LOWER_frobenius_norm;
    if (order && !lazy_arg_is_none(&args[1]) && !lazy_arg_float(&args[1], &p)) return NULL;
    if (!reduced_dtype(s, n, args, o->x->dt, &dt) || !dtype_is_float(dt) ||
        !dtype_is_float(o->x->dt))
        return NULL;
    /* refused: narrower */
    if (node_is_op(n, SYM_LINALG_VECTOR_NORM) && dtype_promote(o->x->dt, dt) != dt) return NULL;
    return reduced_norm_of(s, o, p, dt);
}

/* The norm of x1 - x2 + eps over the last dim. */
lazy_tensor *reduced_pairwise(group_state *s, lowered_op rule, const node *n, const lazy_arg *args,
                              reduced_over *o) {
    (void)rule;
    const lazy_tensor *other = lazy_arg_tensor(&s->l, &args[1]);
    double p, eps;
    if (!other || other->is_number || !lazy_arg_float(reduced_named(n, args, "p"), &p)) return NULL;
    if (!lazy_arg_float(reduced_named(n, args, "eps"), &eps)) return NULL;
    dtype dt = lazy_promote(2, (const lazy_tensor *const[]){o->x, other});
    bool subtracts = o->x->dt != DT_BOOL && other->dt != DT_BOOL; /* as aten::sub does */
    lazy_tensor *d = dtype_is_float(dt) && subtracts ? reduced_sub(s, o->x, other) : NULL;
    if (!d) return NULL;
    reduced_over last = {.x = reduced_add(s, d, reduced_constant(s, dt, eps)),
                         .keepdim = o->keepdim};
    if (!last.x) return NULL;
    if (d->ndim) last.mask[d->ndim - 1] = true;
    reduced_set_count(s, &last);
    return reduced_norm_of(s, &last, p, dt);
}

/* x, but at least low; NaN stays. */
static lazy_tensor *norm_at_least(group_state *s, lazy_tensor *x, double low) {
    x = group_keep(s, x);
    lazy_tensor *least = x ? reduced_constant(s, x->dt, low) : NULL;
    return reduced_where(s, reduced_compare(s, NEST_LT, x, least), least, x);
}

/* x y / (max(|x|, eps) max(|y|, eps)) */
lazy_tensor *reduced_cosine(group_state *s, lowered_op rule, const node *n, const lazy_arg *args,
                            reduced_over *o) {
    (void)rule;
    const lazy_tensor *pair[2] = {o->x, lazy_arg_tensor(&s->l, &args[1])};
    double eps;
    if (!pair[1] || pair[1]->is_number || o->x->ndim == 0 || pair[1]->ndim != o->x->ndim)
        return NULL;
    if (!lazy_arg_float(reduced_named(n, args, "eps"), &eps)) return NULL;
    for (int d = 0; d < o->x->ndim; d++)
        if (!lazy_same_size(&s->l, pair[1]->sizes[d], o->x->sizes[d])) return NULL;
    dtype dt = lazy_promote(2, pair), wide = reduced_wide(dt);
    if (!dtype_is_float(dt)) return NULL;
    lazy_tensor *x = group_keep(s, reduced_cast(s, reduced_cast(s, pair[0], dt), wide));
    lazy_tensor *y = group_keep(s, reduced_cast(s, reduced_cast(s, pair[1], dt), wide));
    lazy_tensor *xy = reduced_of(s, o, reduced_mul(s, x, y), NEST_ACC_SUM);
    lazy_tensor *xx = norm_at_least(s, reduced_of(s, o, reduced_mul(s, x, x), NEST_ACC_SUM),
                                    eps * eps);
    lazy_tensor *yy = norm_at_least(s, reduced_of(s, o, reduced_mul(s, y, y), NEST_ACC_SUM),
                                    eps * eps);
    return reduced_cast(
        s,
        reduced_div(s, xy,
                    reduced_mul(s, reduced_call(s, "sqrt", xx), reduced_call(s, "sqrt", yy))),
        dt);
}

/* ---- normalisation --------------------------------------------------------------------------- */

/* weight or bias, one element per channel (dim 1), shaped to go with x; *out
 * NULL: there is none. */
static bool norm_param(group_state *s, const lazy_arg *a, const lazy_tensor *x, lazy_tensor **out) {
    nest_expr *sizes[LAZY_MAX_DIMS];
    const int from[1] = {1};
    *out = NULL;
    if (lazy_arg_is_none(a)) return true;
    const lazy_tensor *t = lazy_arg_tensor(&s->l, a);
    if (!t || t->ndim != 1 || (t->dt != x->dt && t->dt != reduced_wide(x->dt)) ||
        !lazy_same_size(&s->l, t->sizes[0], x->sizes[1]))
        return false;
    for (int d = 0; d < x->ndim; d++) sizes[d] = d == 1 ? x->sizes[1] : lazy_one(&s->l);
    *out = reduced_cast(s, lazy_map(&s->l, t, x->ndim, sizes, from, NULL, NULL),
                        reduced_wide(x->dt));
    return *out != NULL;
}

/* x normalised over the dims of o, then scaled and shifted by channel. */
static lazy_tensor *norm_normalised(group_state *s, const reduced_over *o, const lazy_arg *weights,
                                    const lazy_arg *eps) {
    lazy_tensor *weight, *bias;
    const lazy_tensor *number = lazy_arg_tensor(&s->l, eps);
    dtype wide = reduced_wide(o->x->dt);
    if (!number || !norm_param(s, &weights[0], o->x, &weight) ||
        !norm_param(s, &weights[1], o->x, &bias))
        return NULL;
    lazy_tensor *x = group_keep(s, reduced_cast(s, o->x, wide));
    lazy_tensor *d = group_keep(s, reduced_sub(s, x, group_keep(s, reduced_center(s, o, x))));
    lazy_tensor *var = reduced_center(s, o, reduced_mul(s, d, d));
    lazy_tensor *scale = group_keep(
        s, reduced_call(s, "rsqrt", reduced_add(s, var, reduced_cast(s, number, wide))));
    lazy_tensor *y = reduced_mul(s, d, scale);
    if (weight) y = reduced_mul(s, y, weight);
    if (bias) y = reduced_add(s, y, bias);
    return reduced_cast(s, y, o->x->dt);
}

/* With the statistics of the input, none kept. */
lazy_tensor *reduced_instance_norm(group_state *s, lowered_op rule, const node *n,
                                   const lazy_arg *args, reduced_over *o) {
    (void)rule;
    bool own;
    if (!lazy_arg_is_none(&args[3]) || !lazy_arg_is_none(&args[4])) return NULL;
    if (!lazy_arg_bool(&s->l, &args[5], &own) || !own || o->x->ndim < 3 ||
        !dtype_is_float(o->x->dt))
        return NULL;
    for (int d = 0; d < o->x->ndim; d++) o->mask[d] = d >= 2;
    reduced_set_count(s, o);
    if (!lazy_is_positive(&s->l, group_numel(s, o->x->ndim, o->x->sizes))) return NULL;
    return norm_normalised(s, o, &args[1], reduced_named(n, args, "eps"));
}

/* One group, or as many as channels: groups of some channels would be dims that the
 * tensor does not have. */
lazy_tensor *reduced_group_norm(group_state *s, lowered_op rule, const node *n,
                                const lazy_arg *args, reduced_over *o) {
    (void)rule;
    int64_t groups;
    if (!lazy_arg_int(&s->l, &args[1], &groups) || groups < 1 || o->x->ndim < 2 ||
        !dtype_is_float(o->x->dt))
        return NULL;
    if (groups != 1 && !lazy_same_size(&s->l, o->x->sizes[1], nest_int(s->l.n, groups)))
        return NULL;
    for (int d = 0; d < o->x->ndim; d++) o->mask[d] = d >= 2 || (d == 1 && groups == 1);
    reduced_set_count(s, o);
    if (!lazy_is_positive(&s->l, group_numel(s, o->x->ndim, o->x->sizes))) return NULL;
    return norm_normalised(s, o, &args[2], reduced_named(n, args, "eps"));
}
