/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pointwise_binary.c - arithmetic of two operands, each a tensor or a number.
 *
 * One function serves the Tensor, Scalar, in-place and out= overloads of an operator: operands are
 * looked at by tag, not by overload.
 * Tests: tests/unit/test_pointwise.c
 */
#include "runtime/kernels/pointwise/pointwise.h"

#include <string.h>

#define OPERATOR(name)                                                                             \
    ctsc_status op_##name(op_ctx *cx, const value *args, value *results);                          \
    ctsc_status op_##name(op_ctx *cx, const value *args, value *results)

/* Is v a bool tensor or a bool? */
static bool binary_is_bool(const value *v) {
    return v->tag == V_TENSOR ? v->u.tensor->dtype == DT_BOOL : v->tag == V_BOOL;
}

/* ---- add, sub, rsub -------------------------------------------------------------------------- */

PW_REAL_LOOPS(add, 2, 0)
PW_WRAPPING_LOOPS(add, 2, 0)
PW_REAL_LOOPS(add_scaled, 2, 1)
PW_WRAPPING_LOOPS(add_scaled, 2, 1)
PW_CHEAP_LOOP(2, add_bool_loop, uint8_t, uint8_t, , *o = x | y)
PW_CHEAP_LOOP(2, add_scaled_bool_loop, uint8_t, uint8_t, const uint8_t n0 = numbers->i[0] != 0,
              *o = x | (y & n0))
PW_REAL_LOOPS(sub, 2, 0)
PW_WRAPPING_LOOPS(sub, 2, 0)
PW_COMPLEX_LOOPS(CHEAP, add, 2, 0)
PW_COMPLEX_LOOPS(CHEAP, add_scaled, 2, 1)
PW_COMPLEX_LOOPS(CHEAP, sub, 2, 0)
static const pw_op pw_add = {
    "add",
    PW_SAME,
    {PW_REAL_ROW(add), PW_INT_ROW(add), PW_COMPLEX_ROW(add), [DT_BOOL] = add_bool_loop}};
static const pw_op pw_add_scaled = {"add",
                                    PW_SAME,
                                    {PW_REAL_ROW(add_scaled), PW_INT_ROW(add_scaled),
                                     PW_COMPLEX_ROW(add_scaled), [DT_BOOL] = add_scaled_bool_loop}};
static const pw_op pw_sub = {
    "sub", PW_SAME, {PW_REAL_ROW(sub), PW_INT_ROW(sub), PW_COMPLEX_ROW(sub)}};

/* a + sign * alpha * b */
static ctsc_status binary_add(op_ctx *cx, const value *args, const value *a, const value *b,
                              const value *alpha, int sign, value *results) {
    value operands[2] = {*a, *b};
    dtype dt = promote_operands(2, operands);
    if (alpha->tag == V_BOOL && dt != DT_BOOL)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "Boolean alpha only supported for Boolean results.");
    if ((alpha->tag == V_FLOAT || alpha->tag == V_COMPLEX) && dtype_is_integral(dt))
        return diag_fail(cx->diag, CTSC_FAILED,
                         "For integral input tensors, argument alpha must not be a floating point "
                         "number.");
    if (alpha->tag == V_COMPLEX && !dtype_is_complex(dt))
        return diag_fail(
            cx->diag, CTSC_FAILED,
            "For non-complex input tensors, argument alpha must not be a complex number.");
    /* complex operands are multiplied by alpha, 1 or not: what that makes of infinities shows */
    if (!dtype_is_complex(dt) && arg_float(alpha) == 1 &&
        !(alpha->tag == V_COMPLEX && alpha->u.complex->im != 0))
        return pw_run_as(cx, args, 2, operands, sign > 0 ? &pw_add : &pw_sub, dt, NULL, results);
    pw_numbers numbers;
    pw_number(&numbers, 0, alpha);
    if (sign < 0) {
        numbers.f[0] = -numbers.f[0];
        numbers.i[0] = scalar_neg_i64(numbers.i[0]);
        numbers.c[0] = scalar_neg_c128(numbers.c[0]);
    }
    if (dtype_is_half(dt)) {
        TRY(pw_require_fits(cx, alpha, dt));
        numbers.f[0] = dtype_round(dt, numbers.f[0]);
    }
    return pw_run_as(cx, args, 2, operands, &pw_add_scaled, dt, &numbers, results);
}

static ctsc_status binary_sub_check(op_ctx *cx, const value *a, const value *b) {
    bool first = binary_is_bool(a), second = binary_is_bool(b);
    if (first && second)
        return diag_fail(
            cx->diag, CTSC_FAILED,
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use "
            "the `^` or `logical_xor()` operator instead.");
    if (first || second)
        return diag_fail(
            cx->diag, CTSC_FAILED,
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you "
            "are trying to invert a mask, use the `~` or `logical_not()` operator "
            "instead.");
    return CTSC_OK;
}

OPERATOR(add) { return binary_add(cx, args, &args[0], &args[1], &args[2], 1, results); }
OPERATOR(sub) {
    TRY(binary_sub_check(cx, &args[0], &args[1]));
    return binary_add(cx, args, &args[0], &args[1], &args[2], -1, results);
}
OPERATOR(rsub) {
    TRY(binary_sub_check(cx, &args[1], &args[0]));
    return binary_add(cx, args, &args[1], &args[0], &args[2], -1, results);
}

/* _add_relu: relu(self + alpha * other) */
OPERATOR(add_relu) {
    value sum = value_none();
    op_ctx plain = *cx;
    plain.op = NULL;
    TRY(binary_add(&plain, args, &args[0], &args[1], &args[2], 1, &sum));
    ctsc_status st = op_call(cx, "aten::relu_", 1, &sum, results);
    if (st == CTSC_OK) {
        value_unref(results[0]);
        results[0] = value_none();
        return op_finish(cx, args, sum.u.tensor, results);
    }
    value_unref(sum);
    return st;
}

/* ---- mul, div -------------------------------------------------------------------------------- */

/* half and bfloat16 times or by a number, or a 0-dim tensor of another dtype: as in PyTorch that
 * stays a float, and the result alone is rounded. Other operators round it first. */
#define BINARY_NUMBER_LOOPS(op)                                                                    \
    static void op##_f16_number_loop(void *ctx, int64_t n, char *const *p, const int64_t *s) {     \
        const pw_numbers *numbers = ctx;                                                           \
        pw_half_number(op##_f32_loop, DT_FLOAT16, (float)numbers->f[0], n, p, s);                  \
    }                                                                                              \
    static void op##_bf16_number_loop(void *ctx, int64_t n, char *const *p, const int64_t *s) {    \
        const pw_numbers *numbers = ctx;                                                           \
        pw_half_number(op##_f32_loop, DT_BFLOAT16, (float)numbers->f[0], n, p, s);                 \
    }                                                                                              \
    static const pw_op pw_##op##_number = {                                                        \
        #op "_cpu",                                                                                \
        PW_SAME,                                                                                   \
        {[DT_FLOAT16] = op##_f16_number_loop, [DT_BFLOAT16] = op##_bf16_number_loop}};

/* Is x a half, and y a number or a 0-dim tensor that is none and leaves x one? */
static bool binary_stays_wide(const value *operands) {
    const value *x = &operands[0], *y = &operands[1];
    if (x->tag != V_TENSOR || !dtype_is_half((dtype)x->u.tensor->dtype)) return false;
    if (y->tag != V_TENSOR) return y->tag != V_COMPLEX;
    const tensor *t = y->u.tensor;
    return t->ndim == 0 && t->dtype != x->u.tensor->dtype &&
           promote_operands(2, operands) == (dtype)x->u.tensor->dtype;
}

static ctsc_status binary_by_number(op_ctx *cx, const value *args, const pw_op *by_number,
                                    value *results) {
    pw_numbers numbers;
    value number = args[1];
    if (number.tag == V_TENSOR) {
        const tensor *t = number.u.tensor;
        number = dtype_is_float((dtype)t->dtype) ? value_float(tensor_item_float(t))
                                                 : value_int(tensor_item_int(t));
    }
    pw_number(&numbers, 0, &number);
    return pw_run(cx, args, 1, args, by_number, &numbers, results);
}

static ctsc_status binary_product(op_ctx *cx, const value *args, const pw_op *op,
                                  const pw_op *by_number, value *results) {
    return binary_stays_wide(args) ? binary_by_number(cx, args, by_number, results)
                                   : pw_run(cx, args, 2, args, op, NULL, results);
}

PW_REAL_LOOPS(mul, 2, 0)
PW_WRAPPING_LOOPS(mul, 2, 0)
PW_CHEAP_LOOP(2, mul_bool_loop, uint8_t, uint8_t, , *o = x & y)
PW_COMPLEX_LOOPS(CHEAP, mul, 2, 0)
static const pw_op pw_mul = {
    "mul_cpu",
    PW_SAME,
    {PW_REAL_ROW(mul), PW_INT_ROW(mul), PW_COMPLEX_ROW(mul), [DT_BOOL] = mul_bool_loop}};
BINARY_NUMBER_LOOPS(mul)
OPERATOR(mul) { return binary_product(cx, args, &pw_mul, &pw_mul_number, results); }

PW_REAL_LOOPS(div, 2, 0)
PW_COMPLEX_LOOPS(CHEAP, div, 2, 0)
static const pw_op pw_div = {"div_cpu", PW_REAL, {PW_REAL_ROW(div), PW_COMPLEX_ROW(div)}};
BINARY_NUMBER_LOOPS(div)
OPERATOR(div) { return binary_product(cx, args, &pw_div, &pw_div_number, results); }

/* Quotients of half and bfloat16 as PyTorch has them: each step in 16 bits. */
static float binary_rounded(float x, dtype dt) {
    return dt == DT_FLOAT16 ? float16_to_float(float16_from_float(x))
                            : bfloat16_to_float(bfloat16_from_float(x));
}
static float binary_div_trunc(float a, float b, dtype dt) {
    return truncf(binary_rounded(a / b, dt));
}
static float binary_div_floor(float a, float b, dtype dt) {
    if (b == 0) return a / b;
    float r = fmodf(a, b), q = binary_rounded(binary_rounded(a - r, dt) / b, dt);
    if (r != 0 && (b < 0) != (r < 0)) q = binary_rounded(q - 1, dt);
    if (q == 0) return copysignf(0, a / b);
    return floorf(q) + (float)(q - floorf(q) > 0.5F);
}
#define BINARY_STEPS_LOOP(op, sfx, dt)                                                             \
    PW_PLAIN_LOOP(2, op##_##sfx##_steps_loop, float, float, , *o = binary_##op(x, y, dt))          \
    static void op##_##sfx##_loop(void *ctx, int64_t n, char *const *p, const int64_t *s) {        \
        pw_half(op##_##sfx##_steps_loop, 2, dt, false, ctx, n, p, s);                              \
    }
#define BINARY_STEPS_LOOPS(op)                                                                     \
    BINARY_STEPS_LOOP(op, f16, DT_FLOAT16) BINARY_STEPS_LOOP(op, bf16, DT_BFLOAT16)

PW_CHEAP_LOOP(2, div_trunc_f32_loop, float, float, , *o = scalar_div_trunc_f32(x, y))
PW_CHEAP_LOOP(2, div_trunc_f64_loop, double, double, , *o = scalar_div_trunc_f64(x, y))
BINARY_STEPS_LOOPS(div_trunc)
PW_INT_LOOPS_OF(PLAIN, div_trunc, 2, 0)
static const pw_op pw_div_trunc = {
    "div_trunc_cpu", PW_SAME, {PW_REAL_ROW(div_trunc), PW_INT_ROW(div_trunc)}};
BINARY_NUMBER_LOOPS(div_trunc)
/* Float operators made of what C's % leaves: in vectors where the quotients of a block are small
 * enough, one by one where not. */
enum { BINARY_BLOCK = 512 };
PW_CLONES static bool binary_any_far(const float *a, int64_t n, const float *b, bool same) {
    int far = 0;
    if (same)
        for (int64_t i = 0; i < n; i++) far |= scalar_fmod_far_f32(a[i], b[0]);
    else
        for (int64_t i = 0; i < n; i++) far |= scalar_fmod_far_f32(a[i], b[i]);
    return far;
}
static void binary_by_distance(iter_kernel near, iter_kernel any, void *ctx, int64_t n,
                               char *const *p, const int64_t *s) {
    const int64_t size = sizeof(float);
    bool dense = s[0] == size && s[1] == size && (s[2] == size || s[2] == 0);
    if (!dense) {
        any(ctx, n, p, s);
        return;
    }
    for (int64_t at = 0; at < n; at += BINARY_BLOCK) {
        int64_t part = n - at < BINARY_BLOCK ? n - at : BINARY_BLOCK;
        char *const q[3] = {p[0] + at * size, p[1] + at * size, p[2] + at * s[2]};
        bool far = binary_any_far((const float *)(const void *)q[1], part,
                                  (const float *)(const void *)q[2], s[2] == 0);
        (far ? any : near)(ctx, part, q, s);
    }
}
#define BINARY_BY_FMOD(op, of)                                                                     \
    PW_MATH_LOOP(2, op##_near_loop, float, float, , *o = of(scalar_fmod_near_f32(x, y), x, y))     \
    PW_PLAIN_LOOP(2, op##_any_loop, float, float, , *o = scalar_##op##_f32(x, y))                  \
    static void op##_f32_loop(void *ctx, int64_t n, char *const *p, const int64_t *s) {            \
        binary_by_distance(op##_near_loop, op##_any_loop, ctx, n, p, s);                           \
    }
#define BINARY_ITSELF(r, a, b) (r)

BINARY_BY_FMOD(div_floor, scalar_div_floor_of_f32)
PW_PLAIN_LOOP(2, div_floor_f64_loop, double, double, , *o = scalar_div_floor_f64(x, y))
BINARY_STEPS_LOOPS(div_floor)
PW_INT_LOOPS_OF(PLAIN, div_floor, 2, 0)
static const pw_op pw_div_floor = {
    "div_floor_cpu", PW_SAME, {PW_REAL_ROW(div_floor), PW_INT_ROW(div_floor)}};
BINARY_NUMBER_LOOPS(div_floor)

/* Operators whose integer form divides. */
static ctsc_status binary_divide(op_ctx *cx, const value *args, const pw_op *op, value *results) {
    dtype dt = promote_operands(2, args);
    if (op->loops[dt] && !(args[0].tag == V_TENSOR && args[0].u.tensor->numel == 0))
        TRY(pw_refuse_zero(cx, &args[1], dt));
    return pw_run_as(cx, args, 2, args, op, dt, NULL, results);
}

/* By one element of the same dtype, PyTorch rounds only the result. */
static bool binary_rounds_once(const value *args) {
    if (binary_stays_wide(args)) return true;
    if (args[0].tag != V_TENSOR || args[1].tag != V_TENSOR) return false;
    const tensor *x = args[0].u.tensor, *y = args[1].u.tensor;
    return dtype_is_half((dtype)x->dtype) && y->dtype == x->dtype && y->numel == 1 &&
           y->ndim <= x->ndim;
}

/* div(..., rounding_mode): None, 'trunc' or 'floor' */
OPERATOR(div_mode) {
    const value *mode = &args[2];
    if (arg_is_none(mode)) return op_div(cx, args, results);
    bool wide = binary_rounds_once(args);
    if (!strcmp(mode->u.str->bytes, "trunc"))
        return wide ? binary_by_number(cx, args, &pw_div_trunc_number, results)
                    : binary_divide(cx, args, &pw_div_trunc, results);
    if (!strcmp(mode->u.str->bytes, "floor"))
        return wide ? binary_by_number(cx, args, &pw_div_floor_number, results)
                    : binary_divide(cx, args, &pw_div_floor, results);
    return diag_fail(cx->diag, CTSC_FAILED,
                     "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found "
                     "'%s'",
                     mode->u.str->bytes);
}
OPERATOR(floor_divide) {
    return binary_rounds_once(args) ? binary_by_number(cx, args, &pw_div_floor_number, results)
                                    : binary_divide(cx, args, &pw_div_floor, results);
}

BINARY_BY_FMOD(remainder, scalar_remainder_of_f32)
PW_REAL_LOOPS_BUT_F32(PLAIN, remainder, 2, 0)
PW_INT_LOOPS_OF(PLAIN, remainder, 2, 0)
static const pw_op pw_remainder = {
    "remainder_cpu", PW_SAME, {PW_REAL_ROW(remainder), PW_INT_ROW(remainder)}};
OPERATOR(remainder) { return binary_divide(cx, args, &pw_remainder, results); }

BINARY_BY_FMOD(fmod, BINARY_ITSELF)
PW_REAL_LOOPS_BUT_F32(PLAIN, fmod, 2, 0)
PW_INT_LOOPS_OF(PLAIN, fmod, 2, 0)
static const pw_op pw_fmod = {"fmod_cpu", PW_SAME, {PW_REAL_ROW(fmod), PW_INT_ROW(fmod)}};
OPERATOR(fmod) { return binary_divide(cx, args, &pw_fmod, results); }

/* ---- pow ------------------------------------------------------------------------------------- */

PW_REAL_LOOPS_OF(MATH, PLAIN, pow, 2, 0)
PW_INT_LOOPS_OF(PLAIN, pow, 2, 0)
PW_COMPLEX_LOOPS(PLAIN, pow, 2, 0)
static const pw_op pw_pow = {
    "pow", PW_SAME, {PW_REAL_ROW(pow), PW_INT_ROW(pow), PW_COMPLEX_ROW(pow)}};
#define BINARY_POWER(op)                                                                           \
    PW_REAL_LOOPS(op, 1, 0)                                                                        \
    PW_COMPLEX_LOOPS(CHEAP, op, 1, 0)                                                              \
    static const pw_op pw_##op = {"pow", PW_SAME, {PW_REAL_ROW(op), PW_COMPLEX_ROW(op)}};
BINARY_POWER(sqrt)
BINARY_POWER(rsqrt)
BINARY_POWER(square)
BINARY_POWER(cube)
BINARY_POWER(reciprocal)
BINARY_POWER(reciprocal_square)

PW_PLAIN_LOOP(1, positive_c64_loop, complex64, complex64, , *o = x)
PW_PLAIN_LOOP(1, positive_c128_loop, complex128, complex128, , *o = x)
PW_PLAIN_LOOP(2, second_c64_loop, complex64, complex64, , (void)x; *o = y)
PW_PLAIN_LOOP(2, second_c128_loop, complex128, complex128, , (void)x; *o = y)
static const pw_op pw_positive = {"pow", PW_SAME, {PW_COMPLEX_ROW(positive)}};
static const pw_op pw_second = {"pow", PW_SAME, {PW_COMPLEX_ROW(second)}};

/* The exponents that PyTorch treats specially (they differ from pow at -inf, and are faster). */
static const pw_op *binary_pow_special(double exponent) {
    return exponent == 2      ? &pw_square
           : exponent == 0.5  ? &pw_sqrt
           : exponent == 3    ? &pw_cube
           : exponent == -0.5 ? &pw_rsqrt
           : exponent == -1   ? &pw_reciprocal
           : exponent == -2   ? &pw_reciprocal_square
                              : NULL;
}

/* A power of 0 or 1, of anything, NaN too: 1, or the base itself. */
static ctsc_status binary_pow_trivial(op_ctx *cx, const value *args, dtype dt, value *results) {
    value operands[2] = {args[0], value_int(1)};
    if (arg_float(&args[1]) == 1)
        return pw_run_as(cx, args, 1, operands, &pw_positive, dt, NULL, results);
    return pw_run_as(cx, args, 2, operands, &pw_second, dt, NULL, results);
}

/* pow(self, exponent) in dtype dt; dt is the promoted dtype, or double for float_power. */
static ctsc_status binary_pow(op_ctx *cx, const value *args, dtype dt, value *results) {
    const value *exponent = &args[1];
    if (exponent->tag != V_TENSOR && args[0].tag == V_TENSOR) {
        if (exponent->tag == V_COMPLEX && exponent->u.complex->im != 0)
            return pw_run_as(cx, args, 2, args, &pw_pow, dt, NULL, results);
        if (dtype_is_complex(dt) && (arg_float(exponent) == 0 || arg_float(exponent) == 1))
            return binary_pow_trivial(cx, args, dt, results);
        if (dtype_is_integral(dt) && arg_int(exponent) < 0)
            return diag_fail(cx->diag, CTSC_FAILED,
                             "Integers to negative integer powers are not allowed.");
        if (dt != DT_BOOL) TRY(pw_require_fits(cx, exponent, dt));
        const pw_op *special = !dtype_is_integral(dt) ? binary_pow_special(arg_float(exponent))
                                                      : NULL;
        if (special) return pw_run_as(cx, args, 1, args, special, dt, NULL, results);
        if (dt == DT_BOOL) return op_refuse_dtype(cx, "pow", dt);
    }
    return pw_run_as(cx, args, 2, args, &pw_pow, dt, NULL, results);
}
OPERATOR(pow) { return binary_pow(cx, args, promote_operands(2, args), results); }
OPERATOR(float_power) {
    dtype dt = dtype_is_complex(promote_operands(2, args)) ? DT_COMPLEX128 : DT_FLOAT64;
    int index;
    const tensor *target = op_target(cx, args, &index);
    if (target && index == 0 && target->dtype != dt)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "the base given to float_power_ has dtype %s but the operation's result "
                         "requires dtype %s",
                         dtype_table[target->dtype].ir_name, dtype_table[dt].ir_name);
    return binary_pow(cx, args, dt, results);
}

/* ---- the larger, the smaller ----------------------------------------------------------------- */

PW_INT_LOOPS(maximum, 2, 0)
PW_INT_LOOPS(minimum, 2, 0)
#define BINARY_MINMAX(op, kind, label, integer, bool_loop)                                         \
    PW_REAL_LOOPS_OF(kind, kind, op, 2, 0)                                                         \
    static const pw_op pw_##op = {label,                                                           \
                                  PW_SAME,                                                         \
                                  {PW_REAL_ROW(op), PW_INT_ROW(integer), [DT_BOOL] = bool_loop},   \
                                  #op " not implemented for complex tensors."};                    \
    OPERATOR(op) { return pw_run(cx, args, 2, args, &pw_##op, NULL, results); }
BINARY_MINMAX(maximum, CHEAP, "maximum_cpu", maximum, add_bool_loop)
BINARY_MINMAX(minimum, CHEAP, "minimum_cpu", minimum, mul_bool_loop)
BINARY_MINMAX(fmax, PLAIN, "fmax_cpu", maximum, add_bool_loop)
BINARY_MINMAX(fmin, PLAIN, "fmin_cpu", minimum, mul_bool_loop)

/* ---- real functions of two operands ---------------------------------------------------------- */

/* Columns: operator, kinds of the loops of float and of double, name in refusals, what
 * happens to integers. */
#define BINARY_FUNCTIONS(X)                                                                        \
    X(atan2, MATH, PLAIN, "atan2_cpu", PW_REAL)                                                    \
    X(copysign, CHEAP, CHEAP, "copysign_cpu", PW_REAL)                                             \
    X(xlogy, MATH, MATH, "xlogy_cpu", PW_REAL)                                                     \
    X(xlog1py, MATH, PLAIN, "xlog1py_cpu", PW_REAL)                                                \
    X(hypot, PLAIN, PLAIN, "hypot_cpu", PW_SAME)                                                   \
    X(logaddexp2, MATH, PLAIN, "logaddexp2_cpu", PW_SAME)
#define BINARY_DEFINE(op, kind, kind64, label, integers)                                           \
    PW_REAL_LOOPS_OF(kind, kind64, op, 2, 0)                                                       \
    static const pw_op pw_##op = {label, integers, {PW_REAL_ROW(op)}};                             \
    OPERATOR(op) { return pw_run(cx, args, 2, args, &pw_##op, NULL, results); }
BINARY_FUNCTIONS(BINARY_DEFINE)

PW_REAL_LOOPS_OF(MATH, PLAIN, logaddexp, 2, 0)
PW_COMPLEX_LOOPS(PLAIN, logaddexp, 2, 0)
static const pw_op pw_logaddexp = {
    "logaddexp_cpu", PW_SAME, {PW_REAL_ROW(logaddexp), PW_COMPLEX_ROW(logaddexp)}};
OPERATOR(logaddexp) { return pw_run(cx, args, 2, args, &pw_logaddexp, NULL, results); }

PW_REAL_LOOPS_OF(MATH, PLAIN, ldexp, 2, 0)
PW_COMPLEX_LOOPS(PLAIN, ldexp, 2, 0)
static const pw_op pw_ldexp = {"ldexp_cpu", PW_REAL, {PW_REAL_ROW(ldexp), PW_COMPLEX_ROW(ldexp)}};
OPERATOR(ldexp) { return pw_run(cx, args, 2, args, &pw_ldexp, NULL, results); }

/* nextafter: in half and bfloat16 too, neighbours are neighbouring bit patterns. */
static uint16_t binary_next16(uint16_t bits, float a, float b) {
    if (a == 0) return (uint16_t)((scalar_bits_f32(b) >> 16 & 0x8000u) | 1u);
    return (uint16_t)((a < b) == (a > 0) ? bits + 1 : bits - 1);
}
#define BINARY_NEXT(sfx, T)                                                                        \
    static T binary_nextafter_##sfx(T x, T y) {                                                    \
        float a = LOAD(x), b = LOAD(y);                                                            \
        if (a != a || b != b) return a != a ? x : y;                                               \
        return a == b ? y : (T){binary_next16(x.bits, a, b)};                                      \
    }
BINARY_NEXT(f16, float16)
BINARY_NEXT(bf16, bfloat16)
PW_PLAIN_LOOP(2, nextafter_f32_loop, float, float, , *o = scalar_nextafter_f32(x, y))
PW_PLAIN_LOOP(2, nextafter_f64_loop, double, double, , *o = scalar_nextafter_f64(x, y))
PW_PLAIN_LOOP(2, nextafter_f16_loop, float16, float16, , *o = binary_nextafter_f16(x, y))
PW_PLAIN_LOOP(2, nextafter_bf16_loop, bfloat16, bfloat16, , *o = binary_nextafter_bf16(x, y))
static const pw_op pw_nextafter = {"nextafter_cpu", PW_SAME, {PW_REAL_ROW(nextafter)}};
OPERATOR(nextafter) { return pw_run(cx, args, 2, args, &pw_nextafter, NULL, results); }

/* heaviside(self, values): both of one dtype, any. */
PW_REAL_LOOPS(heaviside, 2, 0)
#define BINARY_STEP(sfx, T)                                                                        \
    PW_CHEAP_LOOP(2, heaviside_##sfx##_loop, T, T, , *o = x == 0 ? y : (T)(x > 0))
BINARY_STEP(u8, uint8_t)
BINARY_STEP(i8, int8_t)
BINARY_STEP(i16, int16_t)
BINARY_STEP(i32, int32_t)
BINARY_STEP(i64, int64_t)
static const pw_op pw_heaviside = {
    "heaviside_cpu",
    PW_SAME,
    {PW_REAL_ROW(heaviside), PW_INT_ROW(heaviside), [DT_BOOL] = heaviside_u8_loop},
    "heaviside is not yet implemented for complex tensors."};
OPERATOR(heaviside) {
    if (dtype_is_complex(promote_operands(2, args)))
        return diag_fail(cx->diag, CTSC_FAILED, "%s", pw_heaviside.no_complex);
    if (args[0].u.tensor->dtype != args[1].u.tensor->dtype)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "heaviside is not yet implemented for tensors with different dtypes.");
    return pw_run(cx, args, 2, args, &pw_heaviside, NULL, results);
}

/* ---- integers -------------------------------------------------------------------------------- */

PW_INT_LOOPS_OF(PLAIN, gcd, 2, 0)
PW_INT_LOOPS_OF(PLAIN, lcm, 2, 0)
static const pw_op pw_gcd = {"gcd_cpu", PW_SAME, {PW_INT_ROW(gcd)}};
static const pw_op pw_lcm = {"lcm_cpu", PW_SAME, {PW_INT_ROW(lcm)}};
OPERATOR(gcd) { return pw_run(cx, args, 2, args, &pw_gcd, NULL, results); }
OPERATOR(lcm) { return pw_run(cx, args, 2, args, &pw_lcm, NULL, results); }
