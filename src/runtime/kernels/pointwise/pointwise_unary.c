/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pointwise_unary.c - operators of one tensor: elementary functions, rounding, tests.
 *
 * Each row of a list below makes the loops, the table and the operator function; that function
 * serves the functional, in-place and out= overloads alike.
 * Tests: tests/unit/test_pointwise.c
 */
#include "runtime/kernels/pointwise/pointwise.h"
#include "tensor/conjugate.h"
#include "tensor/strides.h"

/* Integers become float32. Columns: operator, kinds of the loops of float and of double, name in
 * refusals, how complex numbers are refused if otherwise. */
#define UNARY_REAL(X)                                                                              \
    X(erf, MATH, PLAIN, "erf_vml_cpu", NULL)                                                       \
    X(erfc, PLAIN, PLAIN, "erfc_vml_cpu", NULL)                                                    \
    X(deg2rad, CHEAP, CHEAP, "mul_cpu", "deg2rad is not supported for complex tensors.")           \
    X(rad2deg, CHEAP, CHEAP, "mul_cpu", "rad2deg is not supported for complex tensors.")           \
    X(angle, CHEAP, CHEAP, "angle_cpu", NULL)
/* The same, and complex numbers. Columns: operator, kinds of the loops of float, of double and of
 * complex numbers, name in refusals. */
#define UNARY_COMPLEX(X)                                                                           \
    X(exp, MATH, MATH, MATH, "exp_vml_cpu")                                                        \
    X(exp2, MATH, PLAIN, PLAIN, "exp2")                                                            \
    X(expm1, MATH, PLAIN, PLAIN, "expm1_vml_cpu")                                                  \
    X(log1p, MATH, PLAIN, PLAIN, "log1p_vml_cpu")                                                  \
    X(log, MATH, MATH, PLAIN, "log_vml_cpu")                                                       \
    X(log2, MATH, PLAIN, PLAIN, "log2_vml_cpu")                                                    \
    X(log10, PLAIN, PLAIN, PLAIN, "log10_vml_cpu")                                                 \
    X(sqrt, CHEAP, CHEAP, PLAIN, "sqrt_vml_cpu")                                                   \
    X(rsqrt, CHEAP, CHEAP, PLAIN, "rsqrt_cpu")                                                     \
    X(reciprocal, CHEAP, CHEAP, CHEAP, "reciprocal_cpu")                                           \
    X(tan, PLAIN, PLAIN, PLAIN, "tan_vml_cpu")                                                     \
    X(asin, PLAIN, PLAIN, PLAIN, "asin_vml_cpu")                                                   \
    X(acos, PLAIN, PLAIN, PLAIN, "acos_vml_cpu")                                                   \
    X(atan, MATH, PLAIN, PLAIN, "atan_vml_cpu")                                                    \
    X(sinh, PLAIN, PLAIN, PLAIN, "sinh_cpu")                                                       \
    X(cosh, PLAIN, PLAIN, PLAIN, "cosh_cpu")                                                       \
    X(tanh, MATH, PLAIN, PLAIN, "tanh_vml_cpu")                                                    \
    X(asinh, PLAIN, PLAIN, PLAIN, "asinh_cpu")                                                     \
    X(acosh, PLAIN, PLAIN, PLAIN, "acosh_cpu")                                                     \
    X(atanh, PLAIN, PLAIN, PLAIN, "atanh_cpu")                                                     \
    X(sigmoid, MATH, MATH, PLAIN, "sigmoid_cpu")                                                   \
    X(sinc, MATH, PLAIN, PLAIN, "sinc_cpu")

#define UNARY_OPERATOR(op)                                                                         \
    ctsc_status op_##op(op_ctx *cx, const value *args, value *results);                            \
    ctsc_status op_##op(op_ctx *cx, const value *args, value *results) {                           \
        return pw_run(cx, args, 1, args, &pw_##op, NULL, results);                                 \
    }
#define UNARY_REAL_DEFINE(op, kind, kind64, label, refusal)                                        \
    PW_REAL_LOOPS_OF(kind, kind64, op, 1, 0)                                                       \
    static const pw_op pw_##op = {label, PW_REAL, {PW_REAL_ROW(op)}, refusal};                     \
    UNARY_OPERATOR(op)
#define UNARY_COMPLEX_DEFINE(op, kind, kind64, kind_complex, label)                                \
    PW_REAL_LOOPS_OF(kind, kind64, op, 1, 0)                                                       \
    PW_COMPLEX_LOOPS(kind_complex, op, 1, 0)                                                       \
    static const pw_op pw_##op = {label, PW_REAL, {PW_REAL_ROW(op), PW_COMPLEX_ROW(op)}};          \
    UNARY_OPERATOR(op)
UNARY_REAL(UNARY_REAL_DEFINE)
UNARY_COMPLEX(UNARY_COMPLEX_DEFINE)

/* sin and cos: blocks without an angle of 2^26 or more need no choice of the bits of 2/pi. The
 * numbers are the same. */
enum { UNARY_BLOCK = 1024 };
PW_CLONES static bool unary_any_far(const float *x, int64_t n) {
    int far = 0;
    for (int64_t i = 0; i < n; i++) far |= !(fabsf(x[i]) < 0x1p26f);
    return far;
}
static void unary_by_distance(iter_kernel near, iter_kernel any, void *ctx, int64_t n,
                              char *const *p, const int64_t *s) {
    const int64_t size = sizeof(float);
    for (int64_t at = 0; at < n; at += UNARY_BLOCK) {
        int64_t part = n - at < UNARY_BLOCK ? n - at : UNARY_BLOCK;
        char *const q[2] = {p[0] + at * s[0], p[1] + at * s[1]};
        bool far = s[1] != size || unary_any_far((const float *)(const void *)q[1], part);
        (far ? any : near)(ctx, part, q, s);
    }
}
#define UNARY_ANGLE(op, label)                                                                     \
    PW_MATH_LOOP(1, op##_near_loop, float, float, , *o = scalar_##op##_near_f32(x))                \
    PW_MATH_LOOP(1, op##_any_loop, float, float, , *o = scalar_##op##_f32(x))                      \
    static void op##_f32_loop(void *ctx, int64_t n, char *const *p, const int64_t *s) {            \
        unary_by_distance(op##_near_loop, op##_any_loop, ctx, n, p, s);                            \
    }                                                                                              \
    PW_REAL_LOOPS_BUT_F32(PLAIN, op, 1, 0)                                                         \
    PW_COMPLEX_LOOPS(PLAIN, op, 1, 0)                                                              \
    static const pw_op pw_##op = {label, PW_REAL, {PW_REAL_ROW(op), PW_COMPLEX_ROW(op)}};          \
    UNARY_OPERATOR(op)
UNARY_ANGLE(sin, "sin_vml_cpu")
UNARY_ANGLE(cos, "cos_vml_cpu")

#define OPERATOR(name)                                                                             \
    ctsc_status op_##name(op_ctx *cx, const value *args, value *results);                          \
    ctsc_status op_##name(op_ctx *cx, const value *args, value *results)

/* ---- the dtype stays ------------------------------------------------------------------------- */

static bool unary_is_bool(const value *args) { return args[0].u.tensor->dtype == DT_BOOL; }

PW_REAL_LOOPS(abs, 1, 0)
PW_INT_LOOPS(abs, 1, 0)
PW_COMPLEX_LOOPS_TO(CHEAP, abs, 1, float, double)
static const pw_op pw_abs = {
    "abs_cpu", PW_TO_PART, {PW_REAL_ROW(abs), PW_INT_ROW(abs), PW_COMPLEX_ROW(abs)}};
OPERATOR(abs) {
    int index;
    if (dtype_is_complex((dtype)args[0].u.tensor->dtype) && op_target(cx, args, &index) &&
        index == 0)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "In-place abs is not supported for complex tensors.");
    return pw_run(cx, args, 1, args, &pw_abs, NULL, results);
}

PW_REAL_LOOPS(neg, 1, 0)
PW_WRAPPING_LOOPS(neg, 1, 0)
PW_COMPLEX_LOOPS(CHEAP, neg, 1, 0)
static const pw_op pw_neg = {
    "neg_cpu", PW_SAME, {PW_REAL_ROW(neg), PW_INT_ROW(neg), PW_COMPLEX_ROW(neg)}};
OPERATOR(neg) {
    if (unary_is_bool(args))
        return diag_fail(
            cx->diag, CTSC_FAILED,
            "Negation, the `-` operator, on a bool tensor is not supported. If you are "
            "trying to invert a mask, use the `~` or `logical_not()` operator instead.");
    return pw_run(cx, args, 1, args, &pw_neg, NULL, results);
}

PW_REAL_LOOPS(sign, 1, 0)
PW_INT_LOOPS(sign, 1, 0)
static const pw_op pw_sign = {"sign_cpu",
                              PW_SAME,
                              {PW_REAL_ROW(sign), PW_INT_ROW(sign), [DT_BOOL] = sign_u8_loop},
                              "Unlike NumPy, torch.sign is not intended to support complex "
                              "numbers. Please use torch.sgn instead."};
OPERATOR(sign) { return pw_run(cx, args, 1, args, &pw_sign, NULL, results); }

PW_COMPLEX_LOOPS(CHEAP, sgn, 1, 0)
static const pw_op pw_sgn = {"sgn_cpu", PW_SAME, {PW_COMPLEX_ROW(sgn)}};
OPERATOR(sgn) {
    bool is_complex = dtype_is_complex((dtype)args[0].u.tensor->dtype);
    return pw_run(cx, args, 1, args, is_complex ? &pw_sgn : &pw_sign, NULL, results);
}

PW_COMPLEX_LOOPS(CHEAP, conj, 1, 0)
static const pw_op pw_conj = {"conj_cpu", PW_SAME, {PW_COMPLEX_ROW(conj)}};
/* conj_physical(x): a tensor of its own, except for real x in the functional form. */
OPERATOR(conj_physical) {
    tensor *t = args[0].u.tensor;
    if (dtype_is_complex((dtype)t->dtype))
        return pw_run(cx, args, 1, args, &pw_conj, NULL, results);
    return op_finish(cx, args, tensor_ref(t), results);
}
/* conj(x) of real tensors: the tensor itself; of complex ones a view that knows of being
 * conjugated. Devices have no such views: there it is computed. */
OPERATOR(conj) {
    tensor *t = args[0].u.tensor, *view;
    if (!dtype_is_complex((dtype)t->dtype)) return op_return_self(results, args);
    if (tensor_device(t) != DEVICE_HOST) return op_conj_physical(cx, args, results);
    TRY(tensor_lazy_view(cx->diag, t, true, false, &view));
    return op_return_tensor(results, view);
}
OPERATOR(neg_view) {
    tensor *view;
    TRY(tensor_lazy_view(cx->diag, args[0].u.tensor, false, true, &view));
    return op_return_tensor(results, view);
}
OPERATOR(is_conj) {
    (void)cx;
    results[0] = value_bool(args[0].u.tensor->conjugated);
    return CTSC_OK;
}
OPERATOR(is_neg) {
    (void)cx;
    results[0] = value_bool(args[0].u.tensor->negated);
    return CTSC_OK;
}
OPERATOR(resolve_conj) {
    tensor *copy, *t = args[0].u.tensor;
    if (!t->conjugated) return op_return_self(results, args);
    TRY(tensor_clone_like(cx->diag, t, &copy));
    return op_return_tensor(results, copy);
}
OPERATOR(resolve_neg) {
    tensor *copy, *t = args[0].u.tensor;
    if (!t->negated) return op_return_self(results, args);
    TRY(tensor_clone_like(cx->diag, t, &copy));
    return op_return_tensor(results, copy);
}
/* +x */
OPERATOR(positive) {
    if (unary_is_bool(args))
        return diag_fail(cx->diag, CTSC_FAILED,
                         "The `+` operator, on a bool tensor is not supported.");
    return op_return_self(results, args);
}

PW_REAL_LOOPS(square, 1, 0)
PW_WRAPPING_LOOPS(square, 1, 0)
PW_COMPLEX_LOOPS(CHEAP, square, 1, 0)
static const pw_op pw_square = {
    "pow", PW_SAME, {PW_REAL_ROW(square), PW_INT_ROW(square), PW_COMPLEX_ROW(square)}};
OPERATOR(square) {
    dtype dt = unary_is_bool(args) ? DT_INT64 : (dtype)args[0].u.tensor->dtype;
    return pw_run_as(cx, args, 1, args, &pw_square, dt, NULL, results);
}

/* Rounding leaves integers alone. */
PW_WRAPPING_LOOPS(positive, 1, 0)
#define UNARY_ROUNDING(op, label, refusal)                                                         \
    PW_REAL_LOOPS(op, 1, 0)                                                                        \
    static const pw_op pw_##op = {                                                                 \
        label, PW_SAME, {PW_REAL_ROW(op), PW_INT_ROW(positive)}, refusal};                         \
    OPERATOR(op) { return pw_run(cx, args, 1, args, &pw_##op, NULL, results); }
UNARY_ROUNDING(floor, "floor_vml_cpu", "floor is not supported for complex inputs")
UNARY_ROUNDING(ceil, "ceil_vml_cpu", "ceil is not supported for complex inputs")
UNARY_ROUNDING(trunc, "trunc_vml_cpu", "trunc is not supported for complex inputs")
UNARY_ROUNDING(round, "round_vml_cpu", NULL)

PW_REAL_LOOPS(frac, 1, 0)
static const pw_op pw_frac = {"frac_cpu", PW_SAME, {PW_REAL_ROW(frac)}};
OPERATOR(frac) { return pw_run(cx, args, 1, args, &pw_frac, NULL, results); }

/* round.decimals(self, *, int decimals) */
PW_REAL_LOOPS(round_decimals, 1, 2)
static const pw_op pw_round_decimals = {
    "round_vml_cpu", PW_SAME, {PW_REAL_ROW(round_decimals), PW_INT_ROW(positive)}};
OPERATOR(round_decimals) {
    int64_t decimals = arg_int(&args[1]);
    if (decimals == 0) return pw_run(cx, args, 1, args, &pw_round, NULL, results);
    pw_numbers numbers;
    pw_number_float(&numbers, 0, pow(10.0, fabs((double)decimals)));
    pw_number_float(&numbers, 1, decimals < 0);
    return pw_run(cx, args, 1, args, &pw_round_decimals, &numbers, results);
}

/* relu: clamp_min(0) */
PW_REAL_LOOPS(relu, 1, 0)
PW_INT_LOOPS(relu, 1, 0)
static const pw_op pw_relu = {"clamp_min_cpu",
                              PW_SAME,
                              {PW_REAL_ROW(relu), PW_INT_ROW(relu)},
                              "clamp is not supported for complex types"};
OPERATOR(relu) {
    if (unary_is_bool(args))
        return diag_fail(cx->diag, CTSC_FAILED, "Boolean inputs not supported for relu");
    return pw_run(cx, args, 1, args, &pw_relu, NULL, results);
}

/* ---- tests ----------------------------------------------------------------------------------- */

/* Of integers all elements have the same answer: 0, or 1 for isfinite. */
PW_CHEAP_LOOP(1, unary_false_loop, uint8_t, uint8_t, , (void)x; *o = 0)
PW_CHEAP_LOOP(1, unary_true_loop, uint8_t, uint8_t, , (void)x; *o = 1)

static ctsc_status unary_test(op_ctx *cx, const value *args, value *results, const pw_op *op,
                              iter_kernel constant) {
    tensor *t = args[0].u.tensor;
    if (!dtype_is_integral((dtype)t->dtype)) return pw_run(cx, args, 1, args, op, NULL, results);
    tensor *mask;
    TRY(tensor_new_like(cx->diag, t, DT_BOOL, &mask));
    pw_operand operand = {.t = mask, .given = t};
    ctsc_status st = pw_loop(cx, args, 1, &operand, DT_BOOL, constant, NULL, results);
    tensor_unref(mask);
    return st;
}

#define UNARY_NO_COMPLEX(op)
#define UNARY_TEST(op, label, constant, COMPLEX_ROW, refusal)                                      \
    PW_TEST_LOOPS(op, 1)                                                                           \
    static const pw_op pw_##op = {label, PW_TO_BOOL, {PW_REAL_ROW(op), COMPLEX_ROW(op)}, refusal}; \
    OPERATOR(op) { return unary_test(cx, args, results, &pw_##op, constant); }
PW_COMPLEX_TEST_LOOPS(isnan, 1)
PW_COMPLEX_TEST_LOOPS(isinf, 1)
PW_COMPLEX_TEST_LOOPS(isfinite, 1)
UNARY_TEST(isnan, "isnan", unary_false_loop, PW_COMPLEX_ROW, NULL)
UNARY_TEST(isinf, "isinf", unary_false_loop, PW_COMPLEX_ROW, NULL)
UNARY_TEST(isfinite, "isfinite", unary_true_loop, PW_COMPLEX_ROW, NULL)
UNARY_TEST(isposinf, "isposinf_cpu", unary_false_loop, UNARY_NO_COMPLEX,
           "isposinf does not support complex inputs.")
UNARY_TEST(isneginf, "isneginf_cpu", unary_false_loop, UNARY_NO_COMPLEX,
           "isneginf does not support complex inputs.")

PW_TEST_LOOPS(signbit, 1)
#define UNARY_NEGATIVE(sfx, T) PW_CHEAP_LOOP(1, signbit_##sfx##_loop, uint8_t, T, , *o = x < 0)
UNARY_NEGATIVE(i8, int8_t)
UNARY_NEGATIVE(i16, int16_t)
UNARY_NEGATIVE(i32, int32_t)
UNARY_NEGATIVE(i64, int64_t)
static const pw_op pw_signbit = {
    "signbit_cpu",
    PW_TO_BOOL,
    {PW_REAL_ROW(signbit), [DT_INT8] = signbit_i8_loop, [DT_INT16] = signbit_i16_loop,
     [DT_INT32] = signbit_i32_loop, [DT_INT64] = signbit_i64_loop, [DT_UINT8] = unary_false_loop,
     [DT_BOOL] = unary_false_loop},
    "signbit is not implemented for complex tensors."};
OPERATOR(signbit) { return pw_run(cx, args, 1, args, &pw_signbit, NULL, results); }

/* isreal: no imaginary part. */
PW_COMPLEX_TEST_LOOPS(isreal, 1)
static const pw_op pw_isreal = {"isreal", PW_TO_BOOL, {PW_COMPLEX_ROW(isreal)}};
OPERATOR(isreal) {
    tensor *t;
    if (dtype_is_complex((dtype)args[0].u.tensor->dtype))
        return pw_run(cx, args, 1, args, &pw_isreal, NULL, results);
    TRY(tensor_new_like(cx->diag, args[0].u.tensor, DT_BOOL, &t));
    pw_operand operand = {.t = t, .given = args[0].u.tensor};
    ctsc_status st = pw_loop(cx, args, 1, &operand, DT_BOOL, unary_true_loop, NULL, results);
    tensor_unref(t);
    return st;
}

/* ---- with numbers ---------------------------------------------------------------------------- */

/* nan_to_num(self, nan=None, posinf=None, neginf=None): absent bounds are the dtype's largest and
 * lowest. */
static void unary_nan_to_num_bounds(dtype dt, double *high) {
    *high = dt == DT_FLOAT64   ? 1.7976931348623157e308
            : dt == DT_FLOAT32 ? 3.4028234663852886e38
            : dt == DT_FLOAT16 ? 65504.0
                               : 3.3895313892515355e38;
}
PW_REAL_LOOPS(nan_to_num, 1, 3)
/* The parts of complex numbers one by one. */
#define UNARY_NAN_TO_NUM(sfx, T, P, real)                                                          \
    PW_PLAIN_LOOP(1, nan_to_num_##sfx##_loop, T, T, PW_NUMS3(P, f),                                \
                  *o = ((T){scalar_nan_to_num_##real(x.re, n0, n1, n2),                            \
                            scalar_nan_to_num_##real(x.im, n0, n1, n2)}))
UNARY_NAN_TO_NUM(c64, complex64, float, f32)
UNARY_NAN_TO_NUM(c128, complex128, double, f64)
static const pw_op pw_nan_to_num = {"nan_to_num",
                                    PW_SAME,
                                    {PW_REAL_ROW(nan_to_num), PW_INT_ROW(positive),
                                     PW_COMPLEX_ROW(nan_to_num), [DT_BOOL] = positive_u8_loop}};
OPERATOR(nan_to_num) {
    pw_numbers numbers = {0};
    double high;
    unary_nan_to_num_bounds(dtype_part((dtype)args[0].u.tensor->dtype), &high);
    pw_number_float(&numbers, 0, arg_is_none(&args[1]) ? 0 : arg_float(&args[1]));
    pw_number_float(&numbers, 1, arg_is_none(&args[2]) ? high : arg_float(&args[2]));
    pw_number_float(&numbers, 2, arg_is_none(&args[3]) ? -high : arg_float(&args[3]));
    return pw_run(cx, args, 1, args, &pw_nan_to_num, &numbers, results);
}

/* logit(self, eps=None): between eps and 1 - eps, which are of the dtype. */
PW_REAL_LOOPS_OF(MATH, MATH, logit, 1, 0)
PW_REAL_LOOPS_OF(MATH, MATH, logit_eps, 1, 2)
static const pw_op pw_logit = {"logit_cpu", PW_REAL, {PW_REAL_ROW(logit)}};
static const pw_op pw_logit_eps = {"logit_cpu", PW_REAL, {PW_REAL_ROW(logit_eps)}};
OPERATOR(logit) {
    if (arg_is_none(&args[1]) || arg_float(&args[1]) < 0)
        return pw_run(cx, args, 1, args, &pw_logit, NULL, results);
    pw_numbers numbers;
    dtype dt = (dtype)args[0].u.tensor->dtype;
    if (!dtype_is_float(dt)) dt = DT_FLOAT32;
    const double eps = dtype_round(dt, arg_float(&args[1]));
    pw_number_float(&numbers, 0, eps);
    pw_number_float(&numbers, 1, dtype_round(dt, 1 - eps));
    return pw_run(cx, args, 1, args, &pw_logit_eps, &numbers, results);
}
