/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lazy_emit.c - the arithmetic of pointwise operators as expressions of a kernel.
 *
 * Functions that are one line of ir/scalar/scalar_ops.h and used by most programs are written here
 * as operations, so that such kernels need no functions linked in, which halves their compile time;
 * all others are calls of the functions there. Each must have the meaning of the function there.
 * Tests: tests/unit/test_group.c
 */
#include "codegen/lower/lazy/lazy_internal.h"

nest_expr *lazy_const(lazy *l, dtype dt, double x) {
    nest_type t = NEST_F32;
    nest_type_of(dt, &t);
    return nest_is_float(t) ? nest_const_float(l->n, t, x) : nest_const_int(l->n, t, (int64_t)x);
}

#define EMITTER(name)                                                                              \
    nest_expr *lazy_emit_##name(lazy *l, const lazy_emitter *e, dtype dt, nest_expr *const *x)
#define UNUSED ((void)e, (void)dt)

EMITTER(call) {
    (void)dt;
    return nest_call(l->n, e->call, e->nx, x);
}
/* A function that answers yes or no. */
EMITTER(test) {
    (void)dt;
    return nest_test(l->n, e->call, x[0]);
}
EMITTER(op) {
    nest_op op = e->op;
    if (dt == DT_BOOL && op == NEST_ADD) op = NEST_OR;
    if (dt == DT_BOOL && op == NEST_MUL) op = NEST_AND;
    return nest_binary(l->n, op, x[0], x[1]);
}
EMITTER(copy) {
    (void)l;
    UNUSED;
    return x[0];
}
EMITTER(neg) {
    UNUSED;
    return nest_unary(l->n, NEST_NEG, x[0]);
}
EMITTER(not) {
    UNUSED;
    return nest_unary(l->n, NEST_NOT, x[0]);
}
EMITTER(square) {
    UNUSED;
    return nest_mul(l->n, x[0], x[0]);
}
EMITTER(cube) {
    UNUSED;
    return nest_mul(l->n, nest_mul(l->n, x[0], x[0]), x[0]);
}
/* 1 / x, or 1 / x^2 if the emitter says MUL. */
EMITTER(reciprocal) {
    nest_expr *y = e->op == NEST_MUL ? nest_mul(l->n, x[0], x[0]) : x[0];
    return nest_div(l->n, lazy_const(l, dt, 1), y);
}
/* NaN stays. */
EMITTER(relu) {
    (void)e;
    nest_expr *zero = lazy_const(l, dt, 0);
    return nest_select(l->n, nest_binary(l->n, NEST_LT, x[0], zero), zero, x[0]);
}
EMITTER(abs) {
    (void)e;
    if (dtype_is_float(dt)) return nest_call1(l->n, "abs", x[0]);
    if (dt == DT_UINT8) return x[0];
    return nest_select(l->n, nest_binary(l->n, NEST_LT, x[0], lazy_const(l, dt, 0)),
                       nest_unary(l->n, NEST_NEG, x[0]), x[0]);
}
EMITTER(sign) {
    (void)e;
    return dt == DT_BOOL ? x[0] : nest_call1(l->n, "sign", x[0]);
}
/* maximum (op GT) and minimum (op LT): of floats the function, which keeps NaN; of
 * ints a comparison. */
EMITTER(minmax) {
    if (dtype_is_float(dt)) return nest_call(l->n, e->call, 2, x);
    if (dt == DT_BOOL) return nest_binary(l->n, e->op == NEST_GT ? NEST_OR : NEST_AND, x[0], x[1]);
    return nest_select(l->n, nest_binary(l->n, e->op, x[0], x[1]), x[0], x[1]);
}
/* logical_and, logical_or, logical_xor: of operands that count as true unless 0. */
EMITTER(logic) {
    (void)dt;
    return nest_binary(l->n, e->op, nest_cast(l->n, NEST_BOOL, x[0]),
                       nest_cast(l->n, NEST_BOOL, x[1]));
}
EMITTER(logical_not) {
    UNUSED;
    return nest_unary(l->n, NEST_NOT, nest_cast(l->n, NEST_BOOL, x[0]));
}
EMITTER(where) {
    UNUSED;
    return nest_select(l->n, x[0], x[1], x[2]);
}
/* x + alpha y, or x - alpha y. */
EMITTER(scaled) {
    if (dt == DT_BOOL)
        return nest_binary(l->n, NEST_OR, x[0], nest_binary(l->n, NEST_AND, x[1], x[2]));
    return nest_binary(l->n, e->op, x[0], nest_mul(l->n, x[2], x[1]));
}
EMITTER(addcmul) {
    UNUSED;
    return nest_add(l->n, x[0], nest_mul(l->n, nest_mul(l->n, x[3], x[1]), x[2]));
}
EMITTER(addcdiv) {
    UNUSED;
    return nest_add(l->n, x[0], nest_div(l->n, nest_mul(l->n, x[3], x[1]), x[2]));
}

static bool emit_is_number(const nest_expr *x) { /* a constant that is not NaN */
    return x->op == NEST_CONST && (!nest_is_float(x->type) || x->u.f == x->u.f);
}
static bool emit_is_open(const nest_expr *x, double bound) { /* an infinite bound */
    return x->op == NEST_CONST && nest_is_float(x->type) && x->u.f == bound;
}

EMITTER(clamp) {
    (void)e;
    nest *n = l->n;
    if (dtype_is_float(dt) && !(emit_is_number(x[1]) && emit_is_number(x[2])))
        return nest_call(n, "clamp", 3, x);
    nest_expr *r = x[0];
    if (!emit_is_open(x[1], -__builtin_inf()))
        r = nest_select(n, nest_binary(n, NEST_LT, r, x[1]), x[1], r);
    if (!emit_is_open(x[2], __builtin_inf()))
        r = nest_select(n, nest_binary(n, NEST_GT, r, x[2]), x[2], r);
    return r;
}
/* An exponent that is known when the kernel runs. As in PyTorch, halves are roots: of -inf there is
 * none, and that of -0 is -0. */
EMITTER(pow_number) {
    (void)e;
    nest_expr *power = nest_call(l->n, "pow", 2, x), *half = lazy_const(l, dt, 0.5),
              *minus_half = lazy_const(l, dt, -0.5);
    power = nest_select(l->n, nest_binary(l->n, NEST_EQ, x[1], half),
                        nest_call1(l->n, "sqrt", x[0]), power);
    return nest_select(l->n, nest_binary(l->n, NEST_EQ, x[1], minus_half),
                       nest_call1(l->n, "rsqrt", x[0]), power);
}
EMITTER(threshold) {
    UNUSED;
    return nest_select(l->n, nest_binary(l->n, NEST_LE, x[0], x[1]), x[2], x[0]);
}
EMITTER(leaky_relu) {
    (void)e;
    return nest_select(l->n, nest_binary(l->n, NEST_GT, x[0], lazy_const(l, dt, 0)), x[0],
                       nest_mul(l->n, x[0], x[1]));
}
/* input, weight, bias, mean, variance; eps: as the interpreter, x * scale + shift. */
EMITTER(scale_shift) {
    UNUSED;
    return nest_add(l->n, nest_mul(l->n, x[0], x[1]), x[2]);
}
EMITTER(batch_norm) {
    (void)e;
    nest *n = l->n;
    nest_expr *deviation = nest_call1(n, "sqrt", nest_add(n, x[4], x[5]));
    nest_expr *scale = nest_mul(n, nest_div(n, lazy_const(l, dt, 1), deviation), x[1]);
    nest_expr *shift = nest_sub(n, x[2], nest_mul(n, x[3], scale));
    return nest_add(n, nest_mul(n, x[0], scale), shift);
}
