/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group_reduce_loss.c - losses: a formula element by element, and its mean or sum.
 *
 *     mse_loss(x, y, mean)  =  mean((x - y) * (x - y))
 *
 * The formulas are those of runtime/kernels/loss/loss.c, in the dtype that the operands meet in
 * (half and bfloat16 in float32). What is rounded to the result's dtype is each element, as memory
 * would, and the result.
 * Tests: tests/unit/test_group.c
 */
#include "codegen/lower/group_reduce.h"

#include <string.h>

enum { LOSS_NONE, LOSS_MEAN, LOSS_SUM };

/* x, y: in the computing type; number: the loss's own (delta, beta). */
typedef struct loss_terms {
    group_state *s;
    lazy_tensor *x, *y, *weight, *positive;
    double number;
    dtype dt; /* that the operands meet in */
    bool flag;
} loss_terms;
typedef lazy_tensor *loss_formula(const loss_terms *t);

static lazy_tensor *loss_number(const loss_terms *t, double x) {
    return reduced_constant(t->s, t->x->dt, x);
}
static lazy_tensor *loss_distance(const loss_terms *t) {
    return reduced_call(t->s, "abs", reduced_sub(t->s, t->x, t->y));
}

static lazy_tensor *loss_mse(const loss_terms *t) {
    lazy_tensor *d = group_keep(t->s, reduced_sub(t->s, t->x, t->y));
    return reduced_mul(t->s, d, d);
}
/* z < beta ? z^2 / (2 beta) : z - beta / 2 */
static lazy_tensor *loss_smooth_l1(const loss_terms *t) {
    lazy_tensor *z = group_keep(t->s, loss_distance(t)),
                *half = reduced_mul(t->s, loss_number(t, 0.5), z);
    if (t->number < 0) return NULL;
    return reduced_where(t->s, reduced_compare(t->s, NEST_LT, z, loss_number(t, t->number)),
                         reduced_div(t->s, reduced_mul(t->s, half, z), loss_number(t, t->number)),
                         reduced_sub(t->s, z, loss_number(t, 0.5 * t->number)));
}
/* z < delta ? z^2 / 2 : delta (z - delta / 2) */
static lazy_tensor *loss_huber(const loss_terms *t) {
    lazy_tensor *z = group_keep(t->s, loss_distance(t)),
                *half = reduced_mul(t->s, loss_number(t, 0.5), z);
    if (!(t->number > 0)) return NULL;
    lazy_tensor *far = reduced_sub(t->s, z, loss_number(t, 0.5 * t->number));
    return reduced_where(t->s, reduced_compare(t->s, NEST_LT, z, loss_number(t, t->number)),
                         reduced_mul(t->s, half, z),
                         reduced_mul(t->s, loss_number(t, t->number), far));
}
/* x as an operator that returned it would have rounded it: beyond the largest half
 * there is infinity. */
static lazy_tensor *loss_rounded(const loss_terms *t, lazy_tensor *x) {
    return reduced_cast(t->s, reduced_cast(t->s, x, t->dt), reduced_wide(t->dt));
}
/* y log y - y x, where 0 log 0 is 0; of log targets exp(y) (y - x). */
static lazy_tensor *loss_kl_div(const loss_terms *t) {
    group_state *s = t->s;
    if (t->flag)
        return reduced_mul(s, loss_rounded(t, reduced_call(s, "exp", t->y)),
                           reduced_sub(s, t->y, t->x));
    lazy_tensor *zero = loss_number(t, 0),
                *entropy = reduced_mul(s, t->y, reduced_call(s, "log", t->y));
    entropy = reduced_where(s, reduced_compare(s, NEST_EQ, t->y, zero), zero, entropy);
    return reduced_sub(s, entropy, reduced_mul(s, t->y, t->x));
}
/* (1 - y) x + positive (log(exp(-max) + exp(-x - max)) + max)  with  max = max(-x, 0), positive = (p - 1) y + 1 */
static lazy_tensor *loss_logits(const loss_terms *t) {
    group_state *s = t->s;
    lazy_tensor *zero = loss_number(t, 0), *one = loss_number(t, 1),
                *minus = reduced_sub(s, zero, t->x);
    lazy_tensor *max = group_keep(
        s, reduced_where(s, reduced_compare(s, NEST_LT, t->x, zero), minus, zero));
    lazy_tensor *sum = reduced_add(s, reduced_call(s, "exp", reduced_sub(s, zero, max)),
                                   reduced_call(s, "exp", reduced_sub(s, minus, max)));
    lazy_tensor *log = reduced_add(s, reduced_call(s, "log", sum), max);
    if (t->positive) {
        lazy_tensor *more = reduced_mul(s, reduced_sub(s, t->positive, one), t->y);
        log = reduced_mul(s, reduced_add(s, more, one), log);
    }
    lazy_tensor *loss = reduced_add(s, reduced_mul(s, reduced_sub(s, one, t->y), t->x), log);
    return t->weight ? reduced_mul(s, loss, t->weight) : loss;
}

static const struct {
    lowered_op rule;
    loss_formula *formula;
    const char *number; /* the argument that is the loss's own */
    bool self_dtype;    /* the result has that of self, whatever the operands meet in */
    /* computed in place in a copy of the target, whose shape and dtype have to do */
    bool in_target;
} loss_rows[] = {
    {LOWER_mse_loss, loss_mse, NULL, false, false},
    {LOWER_l1_loss, loss_distance, NULL, false, false},
    {LOWER_smooth_l1_loss, loss_smooth_l1, "beta", false, false},
    {LOWER_huber_loss, loss_huber, "delta", true, false},
    {LOWER_kl_div, loss_kl_div, NULL, false, false},
    {LOWER_binary_cross_entropy_with_logits, loss_logits, NULL, false, true},
};

/* An optional operand, in the computing type. False: it is not a tensor that can be had. */
static bool loss_operand(group_state *s, const lazy_arg *a, dtype dt, lazy_tensor **out) {
    const lazy_tensor *t = a && !lazy_arg_is_none(a) ? lazy_arg_tensor(&s->l, a) : NULL;
    *out = t && !t->is_number
               ? group_keep(s, reduced_cast(s, reduced_cast(s, t, dt), reduced_wide(dt)))
               : NULL;
    return !a || lazy_arg_is_none(a) || *out;
}

/* Is the shape of t that of y? */
static bool loss_same_shape(group_state *s, const lazy_tensor *t, const lazy_tensor *y) {
    bool same = t->ndim == y->ndim;
    for (int d = 0; same && d < t->ndim; d++)
        same = lazy_same_size(&s->l, t->sizes[d], y->sizes[d]);
    return same;
}

static lazy_tensor *loss_reduce(group_state *s, lazy_tensor *e, int64_t reduction, dtype dt) {
    reduced_over o = {.x = e};
    if (!e || reduction == LOSS_NONE) return e;
    for (int d = 0; d < e->ndim; d++) o.mask[d] = true;
    reduced_set_count(s, &o);
    lazy_tensor *sum = reduced_of(s, &o, reduced_cast(s, e, reduced_wide(dt)), NEST_ACC_SUM);
    if (reduction == LOSS_MEAN) sum = reduced_div(s, sum, reduced_count(s, &o, reduced_wide(dt)));
    return reduced_cast(s, sum, dt);
}

lazy_tensor *reduced_loss(group_state *s, lowered_op rule, const node *n, const lazy_arg *args,
                          reduced_over *o) {
    const lazy_tensor *pair[2] = {o->x, lazy_arg_tensor(&s->l, &args[1])};
    const lazy_arg *flag = reduced_named(n, args, "log_target");
    loss_terms t = {.s = s};
    int64_t reduction;
    size_t i = 0;
    while (loss_rows[i].rule != rule) i++;
    if (!pair[1] || pair[1]->is_number ||
        !lazy_arg_int(&s->l, reduced_named(n, args, "reduction"), &reduction))
        return NULL;
    t.dt = lazy_promote(2, pair);
    dtype dt = loss_rows[i].self_dtype ? o->x->dt : t.dt;
    if (reduction < LOSS_NONE || reduction > LOSS_SUM || !dtype_is_float(dt)) return NULL;
    /* a number's float64 among float32: the operator has more digits */
    if (dtype_size(dt) > dtype_size(t.dt)) return NULL;
    if (flag && (!lazy_arg_bool(&s->l, flag, &t.flag) || !dtype_is_float(o->x->dt) ||
                 !dtype_is_float(pair[1]->dt)))
        return NULL;
    if (loss_rows[i].number &&
        !lazy_arg_float(reduced_named(n, args, loss_rows[i].number), &t.number))
        return NULL;
    if (!loss_operand(s, &args[0], t.dt, &t.x) || !loss_operand(s, &args[1], t.dt, &t.y))
        return NULL;
    if (!loss_operand(s, reduced_named(n, args, "weight"), t.dt, &t.weight)) return NULL;
    if (!loss_operand(s, reduced_named(n, args, "pos_weight"), t.dt, &t.positive)) return NULL;
    lazy_tensor *e = loss_rows[i].formula(&t);
    if (loss_rows[i].in_target && !dtype_is_float(pair[1]->dt)) return NULL;
    if (!e ||
        (loss_rows[i].in_target && !(loss_same_shape(s, t.x, t.y) && loss_same_shape(s, e, t.y))))
        return NULL;
    return loss_reduce(s, group_keep(s, reduced_cast(s, e, dt)), reduction, dt);
}
