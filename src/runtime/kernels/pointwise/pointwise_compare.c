/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pointwise_compare.c - comparisons, logic, bitwise operators and shifts, closeness.
 * Tests: tests/unit/test_pointwise.c
 */
#include "runtime/kernels/pointwise/pointwise.h"

#define OPERATOR(name)                                                                             \
    ctsc_status op_##name(op_ctx *cx, const value *args, value *results);                          \
    ctsc_status op_##name(op_ctx *cx, const value *args, value *results)

/* Loops for all dtypes of an expression over x and y that is 0 or 1; ALIKE: of one for which
 * bytes with a sign are as good as those without. */
#define COMPARE_LOOPS_BUT_I8(op, K, EXPR)                                                          \
    PW_CHEAP_LOOP(K, op##_u8_loop, uint8_t, uint8_t, , *o = EXPR)                                  \
    PW_CHEAP_LOOP(K, op##_i16_loop, uint8_t, int16_t, , *o = EXPR)                                 \
    PW_CHEAP_LOOP(K, op##_i32_loop, uint8_t, int32_t, , *o = EXPR)                                 \
    PW_CHEAP_LOOP(K, op##_i64_loop, uint8_t, int64_t, , *o = EXPR)                                 \
    PW_CHEAP_LOOP(K, op##_f32_loop, uint8_t, float, , *o = EXPR)                                   \
    PW_CHEAP_LOOP(K, op##_f64_loop, uint8_t, double, , *o = EXPR)                                  \
    PW_HALF_LOOPS(op, K, true)
#define COMPARE_LOOPS_SIGNED(op, K, EXPR)                                                          \
    COMPARE_LOOPS_BUT_I8(op, K, EXPR)                                                              \
    PW_CHEAP_LOOP(K, op##_i8_loop, uint8_t, int8_t, , *o = EXPR)
#define COMPARE_LOOPS_ALIKE(op, K, EXPR)                                                           \
    COMPARE_LOOPS_BUT_I8(op, K, EXPR)                                                              \
    PW_BYTES_ALIKE(op)
/* x > y is y < x. */
#define COMPARE_LOOP_MIRRORED(op, of, type)                                                        \
    static void op##_##type##_loop(void *ctx, int64_t n, char *const *p, const int64_t *s) {       \
        of##_##type##_loop(ctx, n, (char *const[]){p[0], p[2], p[1]},                              \
                           (const int64_t[]){s[0], s[2], s[1]});                                   \
    }
#define COMPARE_LOOPS_MIRRORED(op, K, of)                                                          \
    COMPARE_LOOP_MIRRORED(op, of, u8)                                                              \
    COMPARE_LOOP_MIRRORED(op, of, i8)                                                              \
    COMPARE_LOOP_MIRRORED(op, of, i16)                                                             \
    COMPARE_LOOP_MIRRORED(op, of, i32)                                                             \
    COMPARE_LOOP_MIRRORED(op, of, i64)                                                             \
    COMPARE_LOOP_MIRRORED(op, of, f32)                                                             \
    COMPARE_LOOP_MIRRORED(op, of, f64)                                                             \
    PW_HALF_LOOPS(op, K, true)
#define COMPARE_ROW(op) PW_REAL_ROW(op), PW_INT_ROW(op), [DT_BOOL] = op##_u8_loop

/* ---- comparisons and logic ------------------------------------------------------------------- */

/* clang-format off */
#define COMPARE_EQ  x == y
#define COMPARE_NE  x != y
#define COMPARE_LT  x < y
#define COMPARE_LE  x <= y
#define COMPARE_AND (x != 0) & (y != 0)
#define COMPARE_OR  (x != 0) | (y != 0)
#define COMPARE_XOR (x != 0) != (y != 0)
#define COMPARE_NOT x == 0
/* clang-format on */

/* Columns: operator, name in refusals, loops, expression or what it mirrors, whether complex
 * numbers have it. */
/* clang-format off */
#define COMPARE_OPERATORS(X)                                                                       \
    X(eq,          "eq_cpu",          ALIKE,    COMPARE_EQ,  PW_COMPLEX_ROW)                       \
    X(ne,          "ne_cpu",          ALIKE,    COMPARE_NE,  PW_COMPLEX_ROW)                       \
    X(lt,          "lt_cpu",          SIGNED,   COMPARE_LT,  COMPARE_NO_COMPLEX)                   \
    X(le,          "le_cpu",          SIGNED,   COMPARE_LE,  COMPARE_NO_COMPLEX)                   \
    X(gt,          "gt_cpu",          MIRRORED, lt,          COMPARE_NO_COMPLEX)                   \
    X(ge,          "ge_cpu",          MIRRORED, le,          COMPARE_NO_COMPLEX)                   \
    X(logical_and, "logical_and_cpu", ALIKE,    COMPARE_AND, PW_COMPLEX_ROW)                       \
    X(logical_or,  "logical_or_cpu",  ALIKE,    COMPARE_OR,  PW_COMPLEX_ROW)                       \
    X(logical_xor, "logical_xor_cpu", ALIKE,    COMPARE_XOR, PW_COMPLEX_ROW)
/* clang-format on */
#define COMPARE_NO_COMPLEX(op)
PW_COMPLEX_TEST_LOOPS(eq, 2)
PW_COMPLEX_TEST_LOOPS(ne, 2)
PW_COMPLEX_TEST_LOOPS(logical_and, 2)
PW_COMPLEX_TEST_LOOPS(logical_or, 2)
PW_COMPLEX_TEST_LOOPS(logical_xor, 2)
PW_COMPLEX_TEST_LOOPS(logical_not, 1)
#define COMPARE_DEFINE(op, label, LOOPS, OF, COMPLEX_ROW)                                          \
    COMPARE_LOOPS_##LOOPS(op, 2, OF) static const pw_op pw_##op = {                                \
        label, PW_TO_BOOL, {COMPARE_ROW(op), COMPLEX_ROW(op)}};                                    \
    OPERATOR(op) { return pw_run(cx, args, 2, args, &pw_##op, NULL, results); }
COMPARE_OPERATORS(COMPARE_DEFINE)

COMPARE_LOOPS_ALIKE(logical_not, 1, COMPARE_NOT)
static const pw_op pw_logical_not = {
    "logical_not_cpu", PW_TO_BOOL, {COMPARE_ROW(logical_not), PW_COMPLEX_ROW(logical_not)}};
OPERATOR(logical_not) { return pw_run(cx, args, 1, args, &pw_logical_not, NULL, results); }

/* ---- bits ------------------------------------------------------------------------------------ */

#define COMPARE_BITWISE(op)                                                                        \
    PW_WRAPPING_LOOPS(op, 2, 0)                                                                    \
    static const pw_op pw_##op = {                                                                 \
        #op "_cpu", PW_SAME, {PW_INT_ROW(op), [DT_BOOL] = op##_u8_loop}};                          \
    OPERATOR(op) { return pw_run(cx, args, 2, args, &pw_##op, NULL, results); }
COMPARE_BITWISE(bitwise_and)
COMPARE_BITWISE(bitwise_or)
COMPARE_BITWISE(bitwise_xor)

PW_WRAPPING_LOOPS(bitwise_not, 1, 0)
static const pw_op pw_bitwise_not = {
    "bitwise_not_cpu", PW_SAME, {PW_INT_ROW(bitwise_not), [DT_BOOL] = logical_not_u8_loop}};
OPERATOR(bitwise_not) { return pw_run(cx, args, 1, args, &pw_bitwise_not, NULL, results); }

PW_INT_LOOPS(lshift, 2, 0)
PW_INT_LOOPS(rshift, 2, 0)
static const pw_op pw_lshift = {"lshift_cpu", PW_SAME, {PW_INT_ROW(lshift)}};
static const pw_op pw_rshift = {"rshift_cpu", PW_SAME, {PW_INT_ROW(rshift)}};
OPERATOR(lshift) { return pw_run(cx, args, 2, args, &pw_lshift, NULL, results); }
OPERATOR(rshift) { return pw_run(cx, args, 2, args, &pw_rshift, NULL, results); }

/* ---- closeness ------------------------------------------------------------------------------- */

typedef struct compare_tolerance {
    double rtol, atol;
    bool equal_nan;
} compare_tolerance;

static bool compare_close(double a, double b, const compare_tolerance *tol) {
    if (a == b) return true;
    if (a != a && b != b) return tol->equal_nan;
    double allowed = tol->atol + fabs(tol->rtol * b), error = fabs(a - b);
    return error <= allowed && error - error == 0;
}
PW_PLAIN_LOOP(2, isclose_f64_loop, uint8_t, double, const compare_tolerance *tol = ctx,
              *o = compare_close(x, y, tol))
/* In int64, where equal doubles may be different integers. */
PW_PLAIN_LOOP(2, isclose_i64_loop, uint8_t, int64_t, const compare_tolerance *tol = ctx,
              *o = x == y ||
                   ((tol->rtol != 0 || tol->atol != 0) &&
                    fabs((double)x - (double)y) <= tol->atol + fabs(tol->rtol * (double)y)))

/* By lengths, in double; the difference must be finite. */
static bool compare_close_complex(complex128 a, complex128 b, const compare_tolerance *tol) {
    if (scalar_eq_c128(a, b)) return true;
    if (scalar_isnan_c128(a) && scalar_isnan_c128(b)) return tol->equal_nan;
    double allowed = tol->atol + scalar_abs_c128((complex128){tol->rtol * b.re, tol->rtol * b.im});
    double error = scalar_abs_c128(scalar_sub_c128(a, b));
    return error <= allowed && error - error == 0;
}
PW_PLAIN_LOOP(2, isclose_c128_loop, uint8_t, complex128, const compare_tolerance *tol = ctx,
              *o = compare_close_complex(x, y, tol))

static ctsc_status compare_isclose(op_ctx *cx, const value *args, value *results) {
    compare_tolerance tol = {arg_float(&args[2]), arg_float(&args[3]), arg_bool(&args[4])};
    const tensor *a = args[0].u.tensor, *b = args[1].u.tensor;
    if (a->dtype != b->dtype)
        return diag_fail(cx->diag, CTSC_FAILED, "%s did not match %s",
                         dtype_table[a->dtype].ir_name, dtype_table[b->dtype].ir_name);
    if (!(tol.rtol >= 0))
        return diag_fail(cx->diag, CTSC_FAILED,
                         "rtol must be greater than or equal to zero, but got %g", tol.rtol);
    if (!(tol.atol >= 0))
        return diag_fail(cx->diag, CTSC_FAILED,
                         "atol must be greater than or equal to zero, but got %g", tol.atol);
    dtype dt = dtype_is_complex((dtype)a->dtype) ? DT_COMPLEX128
               : dtype_is_float((dtype)a->dtype) ? DT_FLOAT64
                                                 : DT_INT64;
    iter_kernel loop = dt == DT_COMPLEX128 ? isclose_c128_loop
                       : dt == DT_FLOAT64  ? isclose_f64_loop
                                           : isclose_i64_loop;
    if (dtype_is_quantised((dtype)a->dtype)) return op_refuse_dtype(cx, "isclose", (dtype)a->dtype);
    pw_operand operands[2];
    TRY(pw_operand_init(cx, &operands[0], &args[0], dt));
    ctsc_status st = pw_operand_init(cx, &operands[1], &args[1], dt);
    if (st == CTSC_OK) {
        st = pw_loop(cx, args, 2, operands, DT_BOOL, loop, &tol, results);
        pw_operand_free(&operands[1]);
    }
    pw_operand_free(&operands[0]);
    return st;
}
OPERATOR(isclose) { return compare_isclose(cx, args, results); }

static bool compare_all_set(const tensor *mask) { /* of a fresh, contiguous result */
    const uint8_t *p = tensor_data(mask);
    for (int64_t i = 0; i < mask->numel; i++)
        if (!p[i]) return false;
    return true;
}
OPERATOR(allclose) {
    value mask = value_none();
    TRY(compare_isclose(cx, args, &mask));
    bool all = compare_all_set(mask.u.tensor);
    value_unref(mask);
    return op_return(results, value_bool(all));
}

/* equal(self, other) -> bool: same shape and elements. */
OPERATOR(equal) {
    const tensor *a = args[0].u.tensor, *b = args[1].u.tensor;
    if (!tensor_same_shape(a, b)) return op_return(results, value_bool(false));
    value mask = value_none();
    op_ctx plain = *cx;
    plain.op = NULL;
    TRY(pw_run(&plain, args, 2, args, &pw_eq, NULL, &mask));
    bool all = compare_all_set(mask.u.tensor);
    value_unref(mask);
    return op_return(results, value_bool(all));
}

/* is_nonzero(self) -> bool */
OPERATOR(is_nonzero) {
    const tensor *t = args[0].u.tensor;
    if (t->numel != 1)
        return diag_fail(cx->diag, CTSC_FAILED, "Boolean value of Tensor with %s is ambiguous",
                         t->numel ? "more than one value" : "no values");
    const char *p = tensor_data(t);
    dtype dt = (dtype)t->dtype, part = dtype_part(dt);
    bool set = dtype_is_complex(dt) ? dtype_load_float(part, p) != 0 ||
                                          dtype_load_float(part, p + dtype_size(part)) != 0
               : dtype_is_float(dt) ? tensor_item_float(t) != 0
                                    : tensor_item_int(t) != 0;
    return op_return(results, value_bool(set));
}
