/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group_reduce.c - reductions as lazy tensors, and softmax, layer_norm, var and others made of them
 * and of pointwise operators.
 *
 *     softmax(x)  =  e / sum(e)  with  e = exp(x - max(x))
 *
 * Accuracy and order of operations follow runtime/kernels: reduce/reduce_*.c, nn/softmax.c and
 * nn/norm.c: half and bfloat16 are computed in float32 and rounded once, at the end; sums of
 * float32 are made in float32, which schedules cut into blocks.
 * Tests: tests/unit/test_group.c
 */
#include "codegen/lower/group_reduce.h"

#include <math.h>
#include <string.h>

/* Expressions have a limit: parts of deeper ones get a variable, in the loop that the code is in
 * (schedules forget at its end). */
enum { REDUCE_DEEP = 100 };

/* ---- reductions ------------------------------------------------------------------------------ */

/* How many elements there are is a condition of the plan, whether the size is an argument's or was
 * computed (of a slice). */
static nest_expr *reduced_unrolled(group_state *s, group_reduction *r, nest_expr *const *index) {
    const lazy_tensor *src = r->src;
    nest_expr *at[LAZY_MAX_DIMS], *sum = nest_variable(s->l.n, "r", group_identity(s, r));
    int64_t count = 1, sizes[LAZY_MAX_DIMS];
    int next = 0;
    for (int d = 0; d < src->ndim; d++) {
        sizes[d] = 1;
        if (r->mask[d] && !group_specialise(s, src->sizes[d], &sizes[d])) s->l.failed = true;
        if (!r->mask[d] || r->keepdim) at[d] = index[next++];
        count *= sizes[d];
    }
    if (s->l.failed) return sum;
    for (int64_t k = 0; k < count; k++) {
        int64_t rest = k;
        for (int d = src->ndim - 1; d >= 0; d--) {
            if (!r->mask[d]) continue;
            at[d] = plan_expr(s->p, s->a, plan_const(s->p, s->a, rest % sizes[d]));
            rest /= sizes[d];
        }
        nest_accumulate(s->l.n, sum, r->acc, lazy_at(&s->l, src, at));
    }
    return sum;
}

typedef struct reduced_impl {
    group_state *s;
    group_reduction *r;
} reduced_impl;

static nest_expr *reduced_at(lazy *l, const lazy_tensor *t, nest_expr *const *index) {
    const reduced_impl *impl = t->impl;
    group_reduction *r = impl->r;
    if (impl->s->unroll) return reduced_unrolled(impl->s, r, index);
    if (r->value && (!t->ndim || !memcmp(r->at, index, sizeof *index * (size_t)t->ndim)))
        return r->value;
    l->failed = true; /* requested outside the schedule's place */
    return group_identity(impl->s, r);
}

group_reduction *group_reduction_of(const lazy_tensor *t) {
    return t->at == reduced_at ? ((const reduced_impl *)t->impl)->r : NULL;
}

nest_expr *group_identity(group_state *s, const group_reduction *r) {
    nest_type t = NEST_F32;
    nest_type_of(r->src->dt, &t);
    bool low = r->acc == NEST_ACC_MAX;
    if (r->acc == NEST_ACC_SUM || r->acc == NEST_ACC_PROD) {
        int start = r->acc == NEST_ACC_PROD;
        return nest_is_float(t) ? nest_const_float(s->l.n, t, start)
                                : nest_const_int(s->l.n, t, start);
    }
    if (nest_is_float(t)) return nest_const_float(s->l.n, t, low ? -INFINITY : INFINITY);
    if (t == NEST_BOOL || t == NEST_U8)
        return nest_const_int(s->l.n, t, low ? 0 : t == NEST_BOOL ? 1 : 255);
    int bits = nest_types[t].bytes * 8;
    int64_t top = (int64_t)(((uint64_t)1 << (bits - 1)) - 1);
    return nest_const_int(s->l.n, t, low ? -top - 1 : top);
}

void group_bind_reduction(group_state *s, group_reduction *r, nest_expr *value,
                          nest_expr *const *at) {
    r->value = value;
    if (value && r->t->ndim) memcpy(r->at, at, sizeof *at * (size_t)r->t->ndim);
    lazy_forget(&s->l);
}

/* The plain reduction of src, in src's dtype. NULL: too many. */
static lazy_tensor *reduced_new(group_state *s, const lazy_tensor *src, const bool *mask,
                                bool keepdim, nest_acc acc) {
    nest_expr *sizes[LAZY_MAX_DIMS];
    int n = 0;
    if (s->nreductions == GROUP_MAX_REDUCTIONS) return NULL;
    group_reduction *r = arena_new(s->a, group_reduction);
    reduced_impl *impl = arena_new(s->a, reduced_impl);
    *impl = (reduced_impl){s, r};
    for (int d = 0; d < src->ndim; d++) {
        r->mask[d] = mask[d];
        if (mask[d] && !keepdim) continue;
        sizes[n++] = mask[d] ? lazy_one(&s->l) : src->sizes[d];
    }
    r->src = src;
    r->acc = acc;
    r->keepdim = keepdim;
    r->t = lazy_new(&s->l, src->dt, n, sizes, reduced_at, impl);
    lazy_add_input(r->t, src);
    r->t->depth = src->depth + 1;
    r->t->cost = 1;
    s->reductions[s->nreductions++] = r;
    return r->t;
}

/* ---- values that may be kept ----------------------------------------------------------------- */

static nest_expr *reduced_kept_at(lazy *l, const lazy_tensor *t, nest_expr *const *index) {
    const group_kept *k = t->impl;
    if (k->value && (!t->ndim || !memcmp(k->at, index, sizeof *index * (size_t)t->ndim)))
        return k->value;
    nest_expr *x = lazy_at(l, k->src, index);
    return x->depth > REDUCE_DEEP ? nest_let(l->n, "x", x) : x;
}

group_kept *group_kept_of(const lazy_tensor *t) {
    return t->at == reduced_kept_at ? t->impl : NULL;
}

lazy_tensor *group_keep(group_state *s, lazy_tensor *t) {
    if (!t || t->is_number || t->at == reduced_kept_at) return t;
    group_kept *k = arena_new(s->a, group_kept);
    k->src = t;
    k->t = lazy_new(&s->l, t->dt, t->ndim, t->sizes, reduced_kept_at, k);
    k->t->contiguous = t->contiguous;
    memcpy(k->t->strides, t->strides, sizeof t->strides);
    lazy_add_input(k->t, t);
    avec_push(s->a, &s->kept, k);
    return k->t;
}

void group_bind_kept(group_state *s, group_kept *k, nest_expr *value, nest_expr *const *at) {
    k->value = value;
    if (value && k->t->ndim) memcpy(k->at, at, sizeof *at * (size_t)k->t->ndim);
    lazy_forget(&s->l);
}

/* ---- arithmetic on whole tensors ------------------------------------------------------------- */

#define BINARY(name, OP)                                                                           \
    lazy_tensor *reduced_##name(group_state *s, const lazy_tensor *x, const lazy_tensor *y) {      \
        return x && y ? lazy_binary(&s->l, NEST_##OP, x, y) : NULL;                                \
    }
BINARY(add, ADD)
BINARY(sub, SUB)
BINARY(mul, MUL)
BINARY(div, DIV)
#undef BINARY

lazy_tensor *reduced_call(group_state *s, const char *function, const lazy_tensor *x) {
    return x ? lazy_call(&s->l, function, x) : NULL;
}
lazy_tensor *reduced_cast(group_state *s, const lazy_tensor *x, dtype dt) {
    return x ? lazy_cast(&s->l, x, dt) : NULL;
}
dtype reduced_wide(dtype dt) { return dtype_is_half(dt) ? DT_FLOAT32 : dt; }
lazy_tensor *reduced_constant(group_state *s, dtype dt, double x) {
    return lazy_scalar(&s->l, dt, lazy_const(&s->l, dt, x));
}

void reduced_set_count(group_state *s, reduced_over *o) {
    o->count = lazy_one(&s->l);
    for (int d = 0; d < o->x->ndim; d++)
        if (o->mask[d]) o->count = group_mul(s, o->count, o->x->sizes[d]);
}
lazy_tensor *reduced_count(group_state *s, const reduced_over *o, dtype dt) {
    return lazy_scalar(&s->l, dt, lazy_convert(&s->l, o->count, DT_INT64, dt));
}
lazy_tensor *reduced_of(group_state *s, const reduced_over *o, const lazy_tensor *src,
                        nest_acc acc) {
    return src ? reduced_new(s, src, o->mask, o->keepdim, acc) : NULL;
}
lazy_tensor *reduced_beside(group_state *s, const reduced_over *o, const lazy_tensor *src,
                            nest_acc acc) {
    return src ? reduced_new(s, src, o->mask, true, acc) : NULL;
}

lazy_tensor *reduced_where(group_state *s, const lazy_tensor *condition, const lazy_tensor *x,
                           const lazy_tensor *y) {
    const lazy_emitter select = {lazy_emit_where, NULL, NEST_SELECT, 3, true};
    if (!condition || !x || !y) return NULL;
    const lazy_tensor *operands[3] = {condition, x, y};
    return lazy_pointwise(&s->l, &select, x->dt, x->dt, 3, operands,
                          (const dtype[]){DT_BOOL, x->dt, x->dt}, NULL);
}
lazy_tensor *reduced_compare(group_state *s, nest_op op, const lazy_tensor *x,
                             const lazy_tensor *y) {
    const lazy_emitter compare = {lazy_emit_op, NULL, op, 2, true};
    if (!x || !y) return NULL;
    return lazy_pointwise(&s->l, &compare, x->dt, DT_BOOL, 2, (const lazy_tensor *const[]){x, y},
                          NULL, NULL);
}

lazy_tensor *reduced_drop(group_state *s, const reduced_over *o, lazy_tensor *t) {
    nest_expr *sizes[LAZY_MAX_DIMS];
    int from[LAZY_MAX_DIMS], kept = 0;
    if (!t || o->keepdim) return t;
    for (int d = 0; d < t->ndim; d++) {
        from[d] = o->mask[d] ? -1 : kept;
        if (!o->mask[d]) sizes[kept++] = t->sizes[d];
    }
    return lazy_map(&s->l, t, kept, sizes, from, NULL, NULL);
}

/* ---- arguments ------------------------------------------------------------------------------- */

const lazy_arg *reduced_named(const node *n, const lazy_arg *args, const char *name) {
    int i = schema_find_arg(n->op->schema, name);
    return i < 0 ? NULL : &args[i];
}

/* dim: absent, None or empty: all. */
static bool reduced_dims(group_state *s, const node *n, const lazy_arg *args, reduced_over *o) {
    const lazy_arg *dim = reduced_named(n, args, "dim"), *keep = reduced_named(n, args, "keepdim");
    int64_t dims[LAZY_MAX_DIMS];
    int count = 0, at;
    if (!(o->x = lazy_arg_tensor(&s->l, &args[0])) || o->x->is_number) return false;
    if (dim && !lazy_arg_ints(&s->l, dim, LAZY_MAX_DIMS, &count, dims)) return false;
    if (keep && !lazy_arg_bool(&s->l, keep, &o->keepdim)) return false;
    for (int d = 0; d < o->x->ndim; d++) o->mask[d] = count == 0;
    for (int i = 0; i < count; i++) {
        /* no dim twice */
        if (!lazy_wrap_dim(dims[i], o->x->ndim, &at) || (o->x->ndim ? o->mask[at] : i > 0))
            return false;
        o->mask[at] = o->x->ndim > 0;
    }
    reduced_set_count(s, o);
    return true;
}
bool reduced_dtype(group_state *s, const node *n, const lazy_arg *args, dtype other, dtype *out) {
    const lazy_arg *dt = reduced_named(n, args, "dtype");
    nest_type type;
    *out = other;
    return (!dt || lazy_arg_dtype(&s->l, dt, other, out)) && nest_type_of(*out, &type);
}

/* ---- sum, mean, prod, minmaxes --------------------------------------------------------------- */

lazy_tensor *reduced_sum_as(group_state *s, const reduced_over *o, dtype dt) {
    const lazy_tensor *x = o->x->dt == dt ? o->x : reduced_cast(s, o->x, dt);
    return reduced_cast(s, reduced_of(s, o, reduced_cast(s, x, reduced_wide(dt)), NEST_ACC_SUM),
                        dt);
}
static lazy_tensor *reduced_sum(group_state *s, lowered_op rule, const node *n,
                                const lazy_arg *args, reduced_over *o) {
    (void)rule;
    dtype dt;
    if (!reduced_dtype(s, n, args, dtype_is_integral(o->x->dt) ? DT_INT64 : o->x->dt, &dt))
        return NULL;
    return dt == DT_BOOL ? NULL : reduced_sum_as(s, o, dt);
}
static lazy_tensor *reduced_mean(group_state *s, lowered_op rule, const node *n,
                                 const lazy_arg *args, reduced_over *o) {
    (void)rule;
    dtype dt;
    if (!reduced_dtype(s, n, args, o->x->dt, &dt) || !dtype_is_float(dt)) return NULL;
    dtype wide = reduced_wide(dt);
    const lazy_tensor *x = reduced_cast(s, reduced_cast(s, o->x, dt), wide);
    return reduced_cast(
        s, reduced_div(s, reduced_of(s, o, x, NEST_ACC_SUM), reduced_count(s, o, wide)), dt);
}
static lazy_tensor *reduced_prod(group_state *s, lowered_op rule, const node *n,
                                 const lazy_arg *args, reduced_over *o) {
    (void)rule;
    dtype dt;
    if (!reduced_dtype(s, n, args, dtype_is_integral(o->x->dt) ? DT_INT64 : o->x->dt, &dt) ||
        dt == DT_BOOL)
        return NULL;
    const lazy_tensor *x = reduced_cast(s, o->x, dt);
    return reduced_cast(
        s,
        reduced_of(s, o, reduced_cast(s, x, dtype_is_float(dt) ? DT_FLOAT64 : dt), NEST_ACC_PROD),
        dt);
}
lazy_tensor *reduced_minmax(group_state *s, lowered_op rule, const node *n, const lazy_arg *args,
                            reduced_over *o) {
    (void)n;
    (void)args;
    if (!lazy_is_positive(&s->l, o->count)) return NULL; /* of nothing there is none */
    bool max = rule == LOWER_amax || rule == LOWER_max;
    const lazy_tensor *x = reduced_cast(s, o->x, reduced_wide(o->x->dt));
    return reduced_cast(s, reduced_of(s, o, x, max ? NEST_ACC_MAX : NEST_ACC_MIN), o->x->dt);
}
static lazy_tensor *reduced_any(group_state *s, lowered_op rule, const node *n,
                                const lazy_arg *args, reduced_over *o) {
    (void)n;
    (void)args;
    lazy_tensor *r = reduced_of(s, o, reduced_cast(s, o->x, DT_BOOL),
                                rule == LOWER_any ? NEST_ACC_MAX : NEST_ACC_MIN);
    return o->x->dt == DT_UINT8 ? reduced_cast(s, r, DT_UINT8) : r;
}

static lazy_tensor *reduced_aminmax(group_state *s, lowered_op rule, const node *n,
                                    const lazy_arg *args, reduced_over *o) {
    (void)rule;
    /* with keepdim PyTorch's results have a dim that the argument has not */
    if (!o->x->ndim) return NULL;
    o->second = reduced_minmax(s, LOWER_amax, n, args, o);
    return reduced_minmax(s, LOWER_amin, n, args, o);
}
static lazy_tensor *reduced_count_nonzero(group_state *s, lowered_op rule, const node *n,
                                          const lazy_arg *args, reduced_over *o) {
    (void)rule;
    (void)n;
    (void)args;
    return reduced_of(s, o, reduced_cast(s, reduced_cast(s, o->x, DT_BOOL), DT_INT64),
                      NEST_ACC_SUM);
}
/* NaN counts as 0. */
static lazy_tensor *reduced_nansum(group_state *s, lowered_op rule, const node *n,
                                   const lazy_arg *args, reduced_over *o) {
    dtype dt;
    if (!dtype_is_float(o->x->dt))
        return dtype_is_integral(o->x->dt) ? reduced_sum(s, rule, n, args, o) : NULL;
    if (!reduced_dtype(s, n, args, o->x->dt, &dt) || !dtype_is_float(dt)) return NULL;
    lazy_tensor *x = group_keep(s, reduced_cast(s, reduced_cast(s, o->x, dt), reduced_wide(dt)));
    lazy_tensor *term = x ? reduced_where(s, reduced_compare(s, NEST_NE, x, x),
                                          reduced_constant(s, x->dt, 0), x)
                          : NULL;
    return reduced_cast(s, reduced_of(s, o, term, NEST_ACC_SUM), dt);
}

/* ---- variance, norms, logsumexp -------------------------------------------------------------- */

lazy_tensor *reduced_center(group_state *s, const reduced_over *o, const lazy_tensor *x) {
    return reduced_div(s, reduced_beside(s, o, x, NEST_ACC_SUM), reduced_count(s, o, x->dt));
}

static lazy_tensor *reduced_var(group_state *s, lowered_op rule, const node *n,
                                const lazy_arg *args, reduced_over *o) {
    const lazy_arg *unbiased = reduced_named(n, args, "unbiased"),
                   *correction = reduced_named(n, args, "correction");
    int64_t less = 1;
    if (!dtype_is_float(o->x->dt)) return NULL;
    if (unbiased && !lazy_arg_int(&s->l, unbiased, &less)) return NULL;
    if (correction && !lazy_arg_is_none(correction) && !lazy_arg_int(&s->l, correction, &less))
        return NULL;
    /* Sums over a whole tensor are doubles, as PyTorch's are: of many equal squares, added to a
     * float, all round the same way. (Rows are shorter; there it would take twice the time.) */
    bool whole = s->target == GROUP_HOST && o->x->ndim > 0;
    for (int d = 0; d < o->x->ndim; d++) whole &= o->mask[d];
    dtype wide = reduced_wide(o->x->dt), sums = whole ? DT_FLOAT64 : wide;
    lazy_tensor *x = group_keep(s, reduced_cast(s, o->x, wide));
    lazy_tensor *mean = reduced_center(s, o, reduced_cast(s, x, sums));
    lazy_tensor *d = group_keep(s, reduced_sub(s, x, reduced_cast(s, mean, wide)));
    lazy_tensor *sum = reduced_of(s, o, reduced_cast(s, reduced_mul(s, d, d), sums), NEST_ACC_SUM);
    nest_expr *by = lazy_size(&s->l, NEST_MAX,
                              lazy_size(&s->l, NEST_SUB, o->count, nest_int(s->l.n, less)),
                              lazy_zero(&s->l));
    lazy_tensor *var = reduced_div(
        s, sum, lazy_scalar(&s->l, sums, lazy_convert(&s->l, by, DT_INT64, sums)));
    return reduced_cast(s, rule == LOWER_std ? reduced_call(s, "sqrt", var) : var, o->x->dt);
}

/* An infinite maximum is not subtracted. */
static lazy_tensor *reduced_finite(group_state *s, lazy_tensor *m) {
    if (!m) return NULL;
    const lazy_tensor *zero = reduced_constant(s, m->dt, 0);
    const lazy_emitter test = {lazy_emit_test, "isinf", NEST_CALL, 1, true};
    const lazy_tensor *in = m;
    return reduced_where(s, lazy_pointwise(&s->l, &test, m->dt, DT_BOOL, 1, &in, NULL, NULL), zero,
                         m);
}
static lazy_tensor *reduced_logsumexp(group_state *s, lowered_op rule, const node *n,
                                      const lazy_arg *args, reduced_over *o) {
    (void)rule;
    (void)n;
    (void)args;
    dtype dt = dtype_is_integral(o->x->dt) ? DT_FLOAT32 : o->x->dt;
    if (!lazy_is_positive(&s->l, o->count)) return NULL;
    lazy_tensor *x = reduced_cast(s, o->x, reduced_wide(dt));
    lazy_tensor *high = group_keep(s, reduced_finite(s, reduced_beside(s, o, x, NEST_ACC_MAX)));
    lazy_tensor *e = group_keep(s, reduced_call(s, "exp", reduced_sub(s, x, high)));
    lazy_tensor *log = reduced_call(s, "log", reduced_beside(s, o, e, NEST_ACC_SUM));
    return reduced_drop(s, o, reduced_cast(s, reduced_add(s, log, high), dt));
}

/* ---- rows ------------------------------------------------------------------------------------ */

static lazy_tensor *reduced_softmax(group_state *s, lowered_op rule, const node *n,
                                    const lazy_arg *args, reduced_over *o) {
    dtype dt;
    bool widen = false, log = rule == LOWER_log_softmax;
    const lazy_arg *half = reduced_named(n, args, "half_to_float");
    if (half && (!lazy_arg_bool(&s->l, half, &widen) || widen)) return NULL;
    if (o->x->ndim == 0 || !reduced_dtype(s, n, args, o->x->dt, &dt) || !dtype_is_float(dt))
        return NULL;
    lazy_tensor *x = group_keep(s, reduced_cast(s, reduced_cast(s, o->x, dt), reduced_wide(dt)));
    lazy_tensor *shifted = group_keep(s, reduced_sub(s, x, reduced_beside(s, o, x, NEST_ACC_MAX)));
    lazy_tensor *e = group_keep(s, reduced_call(s, "exp_below", shifted)),
                *sum = reduced_beside(s, o, e, NEST_ACC_SUM);
    lazy_tensor *y =
        log ? reduced_sub(s, shifted, group_keep(s, reduced_call(s, "log", sum)))
            : reduced_mul(s, e, group_keep(s, reduced_div(s, reduced_constant(s, x->dt, 1), sum)));
    return reduced_cast(s, y, dt);
}

/* weight or bias of layer_norm: NULL in *out where there is none. */
static bool reduced_layer_param(group_state *s, const lazy_arg *a, const lazy_tensor *x, int dims,
                                const lazy_tensor **out) {
    *out = NULL;
    if (lazy_arg_is_none(a)) return true;
    const lazy_tensor *t = lazy_arg_tensor(&s->l, a);
    /* half precision goes with parameters of single precision, too */
    if (!t || t->ndim != dims || (t->dt != x->dt && t->dt != reduced_wide(x->dt))) return false;
    for (int d = 0; d < dims; d++)
        if (!lazy_same_size(&s->l, t->sizes[d], x->sizes[x->ndim - dims + d])) return false;
    *out = t;
    return true;
}
static lazy_tensor *reduced_layer_norm(group_state *s, lowered_op rule, const node *n,
                                       const lazy_arg *args, reduced_over *o) {
    (void)rule;
    (void)n;
    nest_expr *shape[LAZY_MAX_DIMS];
    const lazy_tensor *weight, *bias;
    int dims;
    if (!dtype_is_float(o->x->dt) || !lazy_arg_exprs(&s->l, &args[1], LAZY_MAX_DIMS, &dims, shape))
        return NULL;
    if (dims < 1 || dims > o->x->ndim) return NULL;
    for (int d = 0; d < o->x->ndim; d++) {
        int at = d - (o->x->ndim - dims);
        o->mask[d] = at >= 0;
        if (at >= 0 && !lazy_same_size(&s->l, o->x->sizes[d], shape[at])) return NULL;
    }
    reduced_set_count(s, o);
    if (!reduced_layer_param(s, &args[2], o->x, dims, &weight) ||
        !reduced_layer_param(s, &args[3], o->x, dims, &bias))
        return NULL;
    dtype wide = reduced_wide(o->x->dt);
    const lazy_tensor *number = lazy_arg_tensor(&s->l, &args[4]);
    if (!number) return NULL;
    lazy_tensor *eps = reduced_cast(s, number, wide),
                *x = group_keep(s, reduced_cast(s, o->x, wide));
    lazy_tensor *d = group_keep(s, reduced_sub(s, x, group_keep(s, reduced_center(s, o, x))));
    lazy_tensor *var = reduced_center(s, o, reduced_mul(s, d, d));
    lazy_tensor *scale = group_keep(s, reduced_call(s, "rsqrt", reduced_add(s, var, eps)));
    lazy_tensor *y = reduced_mul(s, d, scale);
    if (weight) y = reduced_mul(s, y, reduced_cast(s, weight, wide));
    if (bias) y = reduced_add(s, y, reduced_cast(s, bias, wide));
    return reduced_cast(s, y, o->x->dt);
}

/* ---- the table ------------------------------------------------------------------------------- */

#define REDUCTION(name) [LOWER_##name - LOWERED_REDUCTIONS]
static reduced_maker *const reduced_rules[LOWERED_COUNT - LOWERED_REDUCTIONS] = {
    REDUCTION(sum) = reduced_sum,
    REDUCTION(mean) = reduced_mean,
    REDUCTION(prod) = reduced_prod,
    REDUCTION(amax) = reduced_minmax,
    REDUCTION(amin) = reduced_minmax,
    REDUCTION(max) = reduced_minmax,
    REDUCTION(min) = reduced_minmax,
    REDUCTION(any) = reduced_any,
    REDUCTION(all) = reduced_any,
    REDUCTION(var) = reduced_var,
    REDUCTION(std) = reduced_var,
    REDUCTION(norm) = reduced_norm,
    REDUCTION(frobenius_norm) = reduced_norm,
    REDUCTION(logsumexp) = reduced_logsumexp,
    REDUCTION(softmax) = reduced_softmax,
    REDUCTION(log_softmax) = reduced_softmax,
    REDUCTION(layer_norm) = reduced_layer_norm,
    REDUCTION(aminmax) = reduced_aminmax,
    REDUCTION(count_nonzero) = reduced_count_nonzero,
    REDUCTION(nansum) = reduced_nansum,
    REDUCTION(pairwise_distance) = reduced_pairwise,
    REDUCTION(cosine_similarity) = reduced_cosine,
    REDUCTION(instance_norm) = reduced_instance_norm,
    REDUCTION(group_norm) = reduced_group_norm,
    REDUCTION(mse_loss) = reduced_loss,
    REDUCTION(l1_loss) = reduced_loss,
    REDUCTION(smooth_l1_loss) = reduced_loss,
    REDUCTION(huber_loss) = reduced_loss,
    REDUCTION(kl_div) = reduced_loss,
    REDUCTION(binary_cross_entropy_with_logits) = reduced_loss,
    REDUCTION(argmax) = reduced_place,
    REDUCTION(argmin) = reduced_place,
    REDUCTION(max_dim) = reduced_minmax_and_place,
    REDUCTION(min_dim) = reduced_minmax_and_place,
};

bool group_apply_reduce(group_state *s, const node *n, const lazy_arg *args, lazy_tensor **out) {
    lowered_op rule = n->op->lowered;
    reduced_over o = {.x = NULL};
    if (rule < LOWERED_REDUCTIONS || !reduced_dims(s, n, args, &o)) return false;
    out[0] = reduced_rules[rule - LOWERED_REDUCTIONS](s, rule, n, args, &o);
    out[1] = o.second;
    return out[0] && (n->outputs.len == 1 || out[1]);
}
