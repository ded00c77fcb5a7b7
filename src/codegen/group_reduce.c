/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group_reduce.c - reductions as lazy tensors, and softmax, layer_norm, var and others made of them and of pointwise
 * operators.
 *
 *     softmax(x)  =  e / sum(e)  with  e = exp(x - max(x))
 *
 * Accuracy and order of operations follow runtime/kernels/reduce_*.c, softmax.c and norm.c: half and bfloat16 are
 * computed in float32 and rounded once, at the end; sums of float32 are made in float32, which schedules cut into
 * blocks.
 * Tests: tests/unit/test_group.c
 */
#include "codegen/group_internal.h"

#include <math.h>
#include <string.h>

/* Expressions have a limit: parts of deeper ones get a variable, in the loop that the code is in (schedules forget at
 * its end). */
enum { REDUCE_DEEP = 100 };

/* ---- reductions ------------------------------------------------------------------------- */

static nest_expr *reduce_unrolled(group_state *s, group_reduction *r, nest_expr *const *index) {
    const lazy_tensor *src = r->src;
    nest_expr *at[LAZY_MAX_DIMS], *sum = nest_variable(s->l.n, "r", group_identity(s, r));
    int64_t count = 1, sizes[LAZY_MAX_DIMS];
    int next = 0;
    for (int d = 0; d < src->ndim; d++) {
        sizes[d] = 1;
        if (r->mask[d]) lazy_is_const(src->sizes[d], &sizes[d]);
        if (!r->mask[d] || r->keepdim) at[d] = index[next++];
        count *= sizes[d];
    }
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

typedef struct reduce_impl {
    group_state *s;
    group_reduction *r;
} reduce_impl;

static nest_expr *reduce_at(lazy *l, const lazy_tensor *t, nest_expr *const *index) {
    const reduce_impl *impl = t->impl;
    group_reduction *r = impl->r;
    if (impl->s->unroll) return reduce_unrolled(impl->s, r, index);
    if (r->value && (!t->ndim || !memcmp(r->at, index, sizeof *index * (size_t)t->ndim))) return r->value;
    l->failed = true; /* asked for elsewhere than where the schedule is */
    return group_identity(impl->s, r);
}

group_reduction *group_reduction_of(const lazy_tensor *t) {
    return t->at == reduce_at ? ((const reduce_impl *)t->impl)->r : NULL;
}

nest_expr *group_identity(group_state *s, const group_reduction *r) {
    nest_type t = NEST_F32;
    nest_type_of(r->src->dt, &t);
    bool low = r->acc == NEST_ACC_MAX;
    if (r->acc == NEST_ACC_SUM || r->acc == NEST_ACC_PROD) {
        int start = r->acc == NEST_ACC_PROD;
        return nest_is_float(t) ? nest_const_float(s->l.n, t, start) : nest_const_int(s->l.n, t, start);
    }
    if (nest_is_float(t)) return nest_const_float(s->l.n, t, low ? -INFINITY : INFINITY);
    if (t == NEST_BOOL || t == NEST_U8) return nest_const_int(s->l.n, t, low ? 0 : t == NEST_BOOL ? 1 : 255);
    int bits = nest_types[t].bytes * 8;
    int64_t top = (int64_t)(((uint64_t)1 << (bits - 1)) - 1);
    return nest_const_int(s->l.n, t, low ? -top - 1 : top);
}

void group_bind_reduction(group_state *s, group_reduction *r, nest_expr *value, nest_expr *const *at) {
    r->value = value;
    if (value && r->t->ndim) memcpy(r->at, at, sizeof *at * (size_t)r->t->ndim);
    lazy_forget(&s->l);
}

/* The plain reduction of src, in src's dtype. NULL: too many. */
static lazy_tensor *reduce_new(group_state *s, const lazy_tensor *src, const bool *mask, bool keepdim, nest_acc acc) {
    nest_expr *sizes[LAZY_MAX_DIMS];
    int n = 0;
    if (s->nreductions == GROUP_MAX_REDUCTIONS) return NULL;
    group_reduction *r = arena_new(s->a, group_reduction);
    reduce_impl *impl = arena_new(s->a, reduce_impl);
    *impl = (reduce_impl){s, r};
    for (int d = 0; d < src->ndim; d++) {
        r->mask[d] = mask[d];
        if (mask[d] && !keepdim) continue;
        sizes[n++] = mask[d] ? lazy_one(&s->l) : src->sizes[d];
    }
    r->src = src;
    r->acc = acc;
    r->keepdim = keepdim;
    r->t = lazy_new(&s->l, src->dt, n, sizes, reduce_at, impl);
    lazy_add_input(r->t, src);
    r->t->depth = src->depth + 1;
    r->t->cost = 1;
    s->reductions[s->nreductions++] = r;
    return r->t;
}

/* ---- values that may be kept ------------------------------------------------------------ */

static nest_expr *reduce_kept_at(lazy *l, const lazy_tensor *t, nest_expr *const *index) {
    const group_kept *k = t->impl;
    if (k->value && (!t->ndim || !memcmp(k->at, index, sizeof *index * (size_t)t->ndim))) return k->value;
    nest_expr *x = lazy_at(l, k->src, index);
    return x->depth > REDUCE_DEEP ? nest_let(l->n, "x", x) : x;
}

group_kept *group_kept_of(const lazy_tensor *t) {
    return t->at == reduce_kept_at ? t->impl : NULL;
}

lazy_tensor *group_keep(group_state *s, lazy_tensor *t) {
    if (!t || t->is_number || t->at == reduce_kept_at) return t;
    group_kept *k = arena_new(s->a, group_kept);
    k->src = t;
    k->t = lazy_new(&s->l, t->dt, t->ndim, t->sizes, reduce_kept_at, k);
    k->t->contiguous = t->contiguous;
    lazy_add_input(k->t, t);
    avec_push(s->a, &s->kept, k);
    return k->t;
}

void group_bind_kept(group_state *s, group_kept *k, nest_expr *value, nest_expr *const *at) {
    k->value = value;
    if (value && k->t->ndim) memcpy(k->at, at, sizeof *at * (size_t)k->t->ndim);
    lazy_forget(&s->l);
}

/* ---- arithmetic on whole tensors -------------------------------------------------------- */

#define BINARY(name, OP)                                                                                               \
    static lazy_tensor *reduce_##name(group_state *s, const lazy_tensor *x, const lazy_tensor *y) {                    \
        return x && y ? lazy_binary(&s->l, NEST_##OP, x, y) : NULL;                                                    \
    }
BINARY(add, ADD)
BINARY(sub, SUB)
BINARY(mul, MUL)
BINARY(div, DIV)
#undef BINARY

static lazy_tensor *reduce_call(group_state *s, const char *function, const lazy_tensor *x) {
    return x ? lazy_call(&s->l, function, x) : NULL;
}
static lazy_tensor *reduce_cast(group_state *s, const lazy_tensor *x, dtype dt) {
    return x ? lazy_cast(&s->l, x, dt) : NULL;
}
static dtype reduce_wide(dtype dt) { /* what dt is computed in */
    return dt == DT_FLOAT16 || dt == DT_BFLOAT16 ? DT_FLOAT32 : dt;
}
static lazy_tensor *reduce_constant(group_state *s, dtype dt, double x) {
    return lazy_scalar(&s->l, dt, lazy_const(&s->l, dt, x));
}

/* What a reduction is over. */
typedef struct reduce_over {
    const lazy_tensor *x;
    bool mask[LAZY_MAX_DIMS], keepdim;
    nest_expr *count; /* elements of x per result */
} reduce_over;

static void reduce_set_count(group_state *s, reduce_over *o) {
    o->count = lazy_one(&s->l);
    for (int d = 0; d < o->x->ndim; d++)
        if (o->mask[d]) o->count = group_mul(s, o->count, o->x->sizes[d]);
}
/* The count as a 0-dim tensor of dtype dt. */
static lazy_tensor *reduce_count(group_state *s, const reduce_over *o, dtype dt) {
    return lazy_scalar(&s->l, dt, lazy_convert(&s->l, o->count, DT_INT64, dt));
}
static lazy_tensor *reduce_of(group_state *s, const reduce_over *o, const lazy_tensor *src, nest_acc acc) {
    return src ? reduce_new(s, src, o->mask, o->keepdim, acc) : NULL;
}
/* The same, always keeping dims: for use beside x. */
static lazy_tensor *reduce_beside(group_state *s, const reduce_over *o, const lazy_tensor *src, nest_acc acc) {
    return src ? reduce_new(s, src, o->mask, true, acc) : NULL;
}

/* ---- arguments -------------------------------------------------------------------------- */

static const lazy_arg *reduce_named(const node *n, const lazy_arg *args, const char *name) {
    int i = schema_find_arg(n->op->schema, name);
    return i < 0 ? NULL : &args[i];
}

/* dim: absent, None or empty: all. */
static bool reduce_dims(group_state *s, const node *n, const lazy_arg *args, reduce_over *o) {
    const lazy_arg *dim = reduce_named(n, args, "dim"), *keep = reduce_named(n, args, "keepdim");
    int64_t dims[LAZY_MAX_DIMS];
    int count = 0, at;
    if (!(o->x = lazy_arg_tensor(&s->l, &args[0])) || o->x->is_number) return false;
    if (dim && !lazy_arg_ints(&s->l, dim, LAZY_MAX_DIMS, &count, dims)) return false;
    if (keep && !lazy_arg_bool(&s->l, keep, &o->keepdim)) return false;
    for (int d = 0; d < o->x->ndim; d++) o->mask[d] = count == 0;
    for (int i = 0; i < count; i++) {
        if (!lazy_wrap_dim(dims[i], o->x->ndim, &at) || (o->x->ndim && o->mask[at])) return false;
        o->mask[at] = o->x->ndim > 0;
    }
    reduce_set_count(s, o);
    return true;
}
static bool reduce_dtype(group_state *s, const node *n, const lazy_arg *args, dtype other, dtype *out) {
    const lazy_arg *dt = reduce_named(n, args, "dtype");
    nest_type type;
    *out = other;
    return (!dt || lazy_arg_dtype(&s->l, dt, other, out)) && nest_type_of(*out, &type);
}

/* ---- sum, mean, prod, extremes ---------------------------------------------------------- */

typedef lazy_tensor *reduce_maker(group_state *s, const char *name, const node *n, const lazy_arg *args,
                                  reduce_over *o);

static lazy_tensor *reduce_sum_as(group_state *s, const reduce_over *o, dtype dt) {
    const lazy_tensor *x = o->x->dt == dt ? o->x : reduce_cast(s, o->x, dt);
    return reduce_cast(s, reduce_of(s, o, reduce_cast(s, x, reduce_wide(dt)), NEST_ACC_SUM), dt);
}
static lazy_tensor *reduce_sum(group_state *s, const char *name, const node *n, const lazy_arg *args, reduce_over *o) {
    (void)name;
    dtype dt;
    if (!reduce_dtype(s, n, args, dtype_is_integral(o->x->dt) ? DT_INT64 : o->x->dt, &dt)) return NULL;
    return dt == DT_BOOL ? NULL : reduce_sum_as(s, o, dt);
}
static lazy_tensor *reduce_mean(group_state *s, const char *name, const node *n, const lazy_arg *args, reduce_over *o) {
    (void)name;
    dtype dt;
    if (!reduce_dtype(s, n, args, o->x->dt, &dt) || !dtype_is_float(dt)) return NULL;
    return reduce_div(s, reduce_sum_as(s, o, dt), reduce_count(s, o, dt));
}
static lazy_tensor *reduce_prod(group_state *s, const char *name, const node *n, const lazy_arg *args, reduce_over *o) {
    (void)name;
    dtype dt;
    if (!reduce_dtype(s, n, args, dtype_is_integral(o->x->dt) ? DT_INT64 : o->x->dt, &dt) || dt == DT_BOOL) return NULL;
    const lazy_tensor *x = reduce_cast(s, o->x, dt);
    return reduce_cast(s, reduce_of(s, o, reduce_cast(s, x, dtype_is_float(dt) ? DT_FLOAT64 : dt), NEST_ACC_PROD), dt);
}
static lazy_tensor *reduce_extreme(group_state *s, const char *name, const node *n, const lazy_arg *args,
                                   reduce_over *o) {
    (void)n;
    (void)args;
    if (!lazy_is_positive(&s->l, o->count)) return NULL; /* of nothing there is none */
    bool max = !strcmp(name, "amax") || !strcmp(name, "max");
    const lazy_tensor *x = reduce_cast(s, o->x, reduce_wide(o->x->dt));
    return reduce_cast(s, reduce_of(s, o, x, max ? NEST_ACC_MAX : NEST_ACC_MIN), o->x->dt);
}
static lazy_tensor *reduce_any(group_state *s, const char *name, const node *n, const lazy_arg *args, reduce_over *o) {
    (void)n;
    (void)args;
    lazy_tensor *r = reduce_of(s, o, reduce_cast(s, o->x, DT_BOOL), strcmp(name, "any") ? NEST_ACC_MIN : NEST_ACC_MAX);
    return o->x->dt == DT_UINT8 ? reduce_cast(s, r, DT_UINT8) : r;
}

/* ---- variance, norms, logsumexp --------------------------------------------------------- */

/* The mean of x in its computing type, beside x. */
static lazy_tensor *reduce_center(group_state *s, const reduce_over *o, const lazy_tensor *x) {
    return reduce_div(s, reduce_beside(s, o, x, NEST_ACC_SUM), reduce_count(s, o, x->dt));
}

static lazy_tensor *reduce_var(group_state *s, const char *name, const node *n, const lazy_arg *args, reduce_over *o) {
    const lazy_arg *unbiased = reduce_named(n, args, "unbiased"), *correction = reduce_named(n, args, "correction");
    int64_t less = 1;
    if (!dtype_is_float(o->x->dt)) return NULL;
    if (unbiased && !lazy_arg_int(&s->l, unbiased, &less)) return NULL;
    if (correction && !lazy_arg_is_none(correction) && !lazy_arg_int(&s->l, correction, &less)) return NULL;
    dtype wide = reduce_wide(o->x->dt);
    lazy_tensor *x = group_keep(s, reduce_cast(s, o->x, wide));
    lazy_tensor *d = group_keep(s, reduce_sub(s, x, reduce_center(s, o, x)));
    lazy_tensor *sum = reduce_of(s, o, reduce_mul(s, d, d), NEST_ACC_SUM);
    nest_expr *by =
        lazy_size(&s->l, NEST_MAX, lazy_size(&s->l, NEST_SUB, o->count, nest_int(s->l.n, less)), lazy_zero(&s->l));
    lazy_tensor *var = reduce_div(s, sum, lazy_scalar(&s->l, wide, lazy_convert(&s->l, by, DT_INT64, wide)));
    return reduce_cast(s, strcmp(name, "std") ? var : reduce_call(s, "sqrt", var), o->x->dt);
}

static lazy_tensor *reduce_norm_of(group_state *s, const reduce_over *o, double p, dtype dt) {
    dtype wide = reduce_wide(dt);
    lazy_tensor *x = reduce_cast(s, reduce_cast(s, o->x, dt), wide), *r;
    if (p == 2) {
        r = reduce_call(s, "sqrt", reduce_of(s, o, reduce_mul(s, x, x), NEST_ACC_SUM));
    } else if (p == 1) {
        r = reduce_of(s, o, reduce_call(s, "abs", x), NEST_ACC_SUM);
    } else if (isinf(p)) {
        if (!lazy_is_positive(&s->l, o->count)) return NULL;
        r = reduce_of(s, o, reduce_call(s, "abs", x), p > 0 ? NEST_ACC_MAX : NEST_ACC_MIN);
    } else {
        return NULL;
    }
    return reduce_cast(s, r, dt);
}
static lazy_tensor *reduce_norm(group_state *s, const char *name, const node *n, const lazy_arg *args, reduce_over *o) {
    double p = 2;
    dtype dt;
    bool order = strcmp(name, "frobenius_norm") != 0;
    if (order && !lazy_arg_is_none(&args[1]) && !lazy_arg_float(&args[1], &p)) return NULL;
    if (!reduce_dtype(s, n, args, o->x->dt, &dt) || !dtype_is_float(dt) || !dtype_is_float(o->x->dt)) return NULL;
    return reduce_norm_of(s, o, p, dt);
}

/* An infinite maximum is not subtracted. */
static lazy_tensor *reduce_finite(group_state *s, lazy_tensor *m) {
    if (!m) return NULL;
    const lazy_tensor *zero = reduce_constant(s, m->dt, 0);
    lazy_emitter test = {lazy_emit_test, "isinf", NEST_CALL, 1, true},
                 select = {lazy_emit_where, NULL, NEST_SELECT, 3, true};
    const lazy_tensor *in = m, *mask = lazy_pointwise(&s->l, &test, m->dt, DT_BOOL, 1, &in, NULL, NULL);
    const lazy_tensor *x[3] = {mask, zero, m};
    return lazy_pointwise(&s->l, &select, m->dt, m->dt, 3, x, (const dtype[]){DT_BOOL, m->dt, m->dt}, NULL);
}
static lazy_tensor *reduce_logsumexp(group_state *s, const char *name, const node *n, const lazy_arg *args,
                                     reduce_over *o) {
    (void)name;
    (void)n;
    (void)args;
    dtype dt = dtype_is_integral(o->x->dt) ? DT_FLOAT32 : o->x->dt;
    if (!lazy_is_positive(&s->l, o->count)) return NULL;
    lazy_tensor *x = reduce_cast(s, o->x, reduce_wide(dt));
    lazy_tensor *high = group_keep(s, reduce_finite(s, reduce_beside(s, o, x, NEST_ACC_MAX)));
    lazy_tensor *e = group_keep(s, reduce_call(s, "exp", reduce_sub(s, x, high)));
    lazy_tensor *log = reduce_call(s, "log", reduce_beside(s, o, e, NEST_ACC_SUM));
    lazy_tensor *r = reduce_cast(s, reduce_add(s, log, high), dt);
    if (!r || o->keepdim) return r;
    nest_expr *sizes[LAZY_MAX_DIMS];
    int from[LAZY_MAX_DIMS], kept = 0;
    for (int d = 0; d < r->ndim; d++) {
        from[d] = o->mask[d] ? -1 : kept;
        if (!o->mask[d]) sizes[kept++] = r->sizes[d];
    }
    return lazy_map(&s->l, r, kept, sizes, from, NULL, NULL);
}

/* ---- rows ------------------------------------------------------------------------------- */

static lazy_tensor *reduce_softmax(group_state *s, const char *name, const node *n, const lazy_arg *args,
                                   reduce_over *o) {
    dtype dt;
    bool widen = false, log = !strcmp(name, "log_softmax");
    const lazy_arg *half = reduce_named(n, args, "half_to_float");
    if (half && (!lazy_arg_bool(&s->l, half, &widen) || widen)) return NULL;
    if (o->x->ndim == 0 || !reduce_dtype(s, n, args, o->x->dt, &dt) || !dtype_is_float(dt)) return NULL;
    lazy_tensor *x = group_keep(s, reduce_cast(s, reduce_cast(s, o->x, dt), reduce_wide(dt)));
    lazy_tensor *shifted = group_keep(s, reduce_sub(s, x, reduce_beside(s, o, x, NEST_ACC_MAX)));
    lazy_tensor *e = group_keep(s, reduce_call(s, "exp_below", shifted)), *sum = reduce_beside(s, o, e, NEST_ACC_SUM);
    lazy_tensor *y = log ? reduce_sub(s, shifted, group_keep(s, reduce_call(s, "log", sum)))
                         : reduce_mul(s, e, group_keep(s, reduce_div(s, reduce_constant(s, x->dt, 1), sum)));
    return reduce_cast(s, y, dt);
}

/* weight or bias of layer_norm: NULL in *out where there is none. */
static bool reduce_layer_param(group_state *s, const lazy_arg *a, const lazy_tensor *x, int dims,
                               const lazy_tensor **out) {
    *out = NULL;
    if (lazy_arg_is_none(a)) return true;
    const lazy_tensor *t = lazy_arg_tensor(&s->l, a);
    if (!t || t->ndim != dims || t->dt != x->dt) return false;
    for (int d = 0; d < dims; d++)
        if (!lazy_same_size(&s->l, t->sizes[d], x->sizes[x->ndim - dims + d])) return false;
    *out = t;
    return true;
}
static lazy_tensor *reduce_layer_norm(group_state *s, const char *name, const node *n, const lazy_arg *args,
                                      reduce_over *o) {
    (void)name;
    (void)n;
    nest_expr *shape[LAZY_MAX_DIMS];
    const lazy_tensor *weight, *bias;
    int dims;
    if (!dtype_is_float(o->x->dt) || !lazy_arg_exprs(&s->l, &args[1], LAZY_MAX_DIMS, &dims, shape)) return NULL;
    if (dims < 1 || dims > o->x->ndim) return NULL;
    for (int d = 0; d < o->x->ndim; d++) {
        int at = d - (o->x->ndim - dims);
        o->mask[d] = at >= 0;
        if (at >= 0 && !lazy_same_size(&s->l, o->x->sizes[d], shape[at])) return NULL;
    }
    reduce_set_count(s, o);
    if (!reduce_layer_param(s, &args[2], o->x, dims, &weight) || !reduce_layer_param(s, &args[3], o->x, dims, &bias))
        return NULL;
    dtype wide = reduce_wide(o->x->dt);
    const lazy_tensor *number = lazy_arg_tensor(&s->l, &args[4]);
    if (!number) return NULL;
    lazy_tensor *eps = reduce_cast(s, number, wide), *x = group_keep(s, reduce_cast(s, o->x, wide));
    lazy_tensor *d = group_keep(s, reduce_sub(s, x, group_keep(s, reduce_center(s, o, x))));
    lazy_tensor *var = reduce_center(s, o, reduce_mul(s, d, d));
    lazy_tensor *scale = group_keep(s, reduce_call(s, "rsqrt", reduce_add(s, var, eps)));
    lazy_tensor *y = reduce_mul(s, d, scale);
    if (weight) y = reduce_mul(s, y, reduce_cast(s, weight, wide));
    if (bias) y = reduce_add(s, y, reduce_cast(s, bias, wide));
    return reduce_cast(s, y, o->x->dt);
}

/* ---- the table -------------------------------------------------------------------------- */

static const struct {
    const char *name;
    reduce_maker *make;
} reduce_rows[] = {
    {"sum", reduce_sum},
    {"mean", reduce_mean},
    {"prod", reduce_prod},
    {"amax", reduce_extreme},
    {"amin", reduce_extreme},
    {"max", reduce_extreme},
    {"min", reduce_extreme},
    {"any", reduce_any},
    {"all", reduce_any},
    {"var", reduce_var},
    {"std", reduce_var},
    {"norm", reduce_norm},
    {"frobenius_norm", reduce_norm},
    {"logsumexp", reduce_logsumexp},
    {"softmax", reduce_softmax},
    {"log_softmax", reduce_softmax},
    {"layer_norm", reduce_layer_norm},
};

lazy_tensor *group_apply_reduce(group_state *s, const node *n, const fusible *f, const lazy_arg *args) {
    reduce_over o = {.x = NULL};
    if (!reduce_dims(s, n, args, &o)) return NULL;
    for (size_t i = 0; i < sizeof reduce_rows / sizeof *reduce_rows; i++)
        if (!strcmp(reduce_rows[i].name, f->function)) return reduce_rows[i].make(s, f->function, n, args, &o);
    return NULL;
}
