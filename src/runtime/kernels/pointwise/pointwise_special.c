/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pointwise_special.c - the special functions (gamma, error, Bessel, orthogonal polynomials).
 * Tests: tests/unit/test_pointwise.c
 */
#include "runtime/kernels/pointwise/pointwise.h"

#define OPERATOR(name)                                                                             \
    ctsc_status op_##name(op_ctx *cx, const value *args, value *results);                          \
    ctsc_status op_##name(op_ctx *cx, const value *args, value *results)

/* The rows SCALAR of ir/ops: the loops over functions of ir/scalar, which take one
 * element at a time.
 * Operands may be numbers. */
#define SPECIAL_FLOATS PW_SAME
#define SPECIAL_REALS PW_REAL
#define OP(key, fn, ...)
#define COMPOSITE(key, ...)
#define OP_SPECIAL_ROW(key, ...)
#define SCALAR(key, function, kind, operands, cost, refused)                                       \
    PW_REAL_LOOPS_OF(PLAIN, PLAIN, function, operands, 0)                                          \
    static const pw_op pw_##function = {refused, SPECIAL_##kind, {PW_REAL_ROW(function)}};         \
    OPERATOR(function) { return pw_run(cx, args, operands, args, &pw_##function, NULL, results); }
#include "ir/op/ops.def"
#undef OP
#undef COMPOSITE
#undef OP_SPECIAL_ROW

PW_REAL_LOOPS_OF(PLAIN, PLAIN, polygamma, 1, 1)
static const pw_op pw_polygamma = {"polygamma", PW_REAL, {PW_REAL_ROW(polygamma)}};

PW_REAL_LOOPS_OF(PLAIN, PLAIN, trigamma, 1, 0)
static const pw_op pw_trigamma = {"polygamma", PW_REAL, {PW_REAL_ROW(trigamma)}};

static ctsc_status special_polygamma(op_ctx *cx, const value *args, const value *self,
                                     const value *order, value *results) {
    if (arg_int(order) < 0)
        return diag_fail(cx->diag, CTSC_FAILED, "polygamma(n, x) does not support negative n.");
    if (arg_int(order) == 1) return pw_run(cx, args, 1, self, &pw_trigamma, NULL, results);
    pw_numbers numbers;
    pw_number(&numbers, 0, order);
    return pw_run(cx, args, 1, self, &pw_polygamma, &numbers, results);
}
/* polygamma(int n, Tensor self), polygamma_(Tensor self, int n) */
OPERATOR(polygamma) { return special_polygamma(cx, args, &args[1], &args[0], results); }
OPERATOR(polygamma_) { return special_polygamma(cx, args, &args[0], &args[1], results); }

/* mvlgamma(self, p): the sum of lgamma(self - i/2), i < p, and a constant. The differences are
 * rounded to float if self is (`narrow`), so that values that round to a pole count as one.
 * Few terms, or terms close to 0, are added up. Otherwise (p is a program's number) the sum is
 * one of lgamma(y + i/2) with y >= 64, or becomes one by the reflection formula, in which the
 * sine has only two values: it is computed by the Euler-Maclaurin formula, with Gauss-Legendre
 * quadrature on pieces of the range whose ends differ by at most a factor of 2. */
enum { MVLGAMMA_SUMMED = 2048, MVLGAMMA_FAR = 64 };

static double special_lgamma_integral(double from, double to) {
    static const double node[5] = {0.14887433898163122, 0.43339539412924719, 0.67940956829902441,
                                   0.86506336668898451, 0.97390652851717172};
    static const double weight[5] = {0.29552422471475287, 0.26926671930999636, 0.21908636251598204,
                                     0.14945134915058059, 0.06667134430868814};
    double sum = 0;
    for (double end; from < to; from = end) {
        end = to < 2 * from ? to : 2 * from;
        double middle = 0.5 * from + 0.5 * end, half = 0.5 * (end - from);
        for (int k = 0; k < 5; k++)
            sum += half * weight[k] *
                   (scalar_lgamma_f64(middle - half * node[k]) +
                    scalar_lgamma_f64(middle + half * node[k]));
    }
    return sum;
}

/* lgamma(y + i/2), i < count, y >= MVLGAMMA_FAR: the integral, half of both ends, and what the
 * first and third derivatives add. */
static double special_lgamma_steps(double y, int64_t count) {
    if (count < 1) return 0;
    double length = 0.5 * (double)(count - 1), z = y + length;
    if (length < 1e-10 * y) return (double)count * scalar_lgamma_f64(y + 0.5 * length);
    double ends = 0.5 * (scalar_lgamma_f64(y) + scalar_lgamma_f64(z)),
           first = (scalar_digamma_f64(z) - scalar_digamma_f64(y)) / 24;
    double third = ((1 / y + 1) / (y * y) - (1 / z + 1) / (z * z)) / 5760;
    return 2 * special_lgamma_integral(y, z) + ends + first - third;
}

/* lgamma(x - i/2), i < count, x <= 1 - MVLGAMMA_FAR */
static double special_lgamma_reflected(double x, int64_t count) {
    if (count < 1) return 0;
    double even = x - floor(x), odd = even < 0.5 ? even + 0.5 : even - 0.5,
           half = (double)(count / 2);
    if (even == 0 || (odd == 0 && half > 0)) return INFINITY; /* poles */
    double sines = ((double)count - half) * log(sin(M_PI * even)) +
                   (half > 0 ? half * log(sin(M_PI * odd)) : 0);
    return (double)count * 1.1447298858494001741 - sines - special_lgamma_steps(1 - x, count);
}

static double special_mvlgamma_term(double at, bool narrow) {
    return scalar_lgamma_f64(narrow ? (float)at : at);
}

static double special_mvlgamma(double x, int64_t order, bool narrow) {
    double sum = 0.25 * (double)order * ((double)order - 1) * 1.1447298858494001741; /* log pi */
    if (order <= MVLGAMMA_SUMMED || x - x != 0) {
        for (int64_t k = 0; k < order && k < MVLGAMMA_SUMMED; k++)
            sum += special_mvlgamma_term(x - 0.5 * (double)k, narrow);
        return sum;
    }
    double above = floor(2 * (x - MVLGAMMA_FAR)) + 1, near = floor(2 * (x + MVLGAMMA_FAR)) + 1;
    int64_t head = above < 0               ? 0
                   : above < (double)order ? (int64_t)above
                                           : order,
            tail = near < 0               ? 0
                   : near < (double)order ? (int64_t)near
                                          : order;
    if (head) sum += special_lgamma_steps(x - 0.5 * (double)(head - 1), head);
    for (int64_t k = head; k < tail; k++) sum += special_mvlgamma_term(x - 0.5 * (double)k, narrow);
    return sum + special_lgamma_reflected(x - 0.5 * (double)tail, order - tail);
}

static void special_mvlgamma_loop(void *ctx, int64_t n, char *const *p, const int64_t *s) {
    const pw_numbers *numbers = ctx;
    for (int64_t i = 0; i < n; i++)
        *(double *)(void *)(p[0] + i * s[0]) = special_mvlgamma(
            *(const double *)(const void *)(p[1] + i * s[1]), numbers->i[0], numbers->i[1] != 0);
}
OPERATOR(mvlgamma) {
    dtype dt = (dtype)args[0].u.tensor->dtype;
    int64_t order = arg_int(&args[1]);
    if (order < 1)
        return diag_fail(cx->diag, CTSC_FAILED, "p has to be greater than or equal to 1");
    /* of the p numbers that PyTorch makes */
    if (order > INT64_MAX / (int64_t)dtype_size(dtype_is_float(dt) ? dt : DT_FLOAT32))
        return diag_fail(cx->diag, CTSC_FAILED,
                         "Storage size calculation overflowed with sizes=[%lld]", (long long)order);
    pw_operand operand;
    TRY(pw_operand_init(cx, &operand, args, DT_FLOAT64));
    pw_numbers numbers = {.i = {order, dt == DT_FLOAT32}};
    op_ctx plain = *cx;
    plain.op = NULL;
    value result = value_none();
    ctsc_status st = pw_loop(&plain, args, 1, &operand, DT_FLOAT64, special_mvlgamma_loop, &numbers,
                             &result);
    pw_operand_free(&operand);
    if (st != CTSC_OK) return st;
    tensor *rounded;
    st = tensor_to_dtype(cx->diag, result.u.tensor, dtype_is_float(dt) ? dt : DT_FLOAT32, &rounded);
    value_unref(result);
    return st == CTSC_OK ? op_finish(cx, args, rounded, results) : st;
}

/* frexp(self) -> (mantissa, exponent) */
OPERATOR(frexp) {
    tensor *t = args[0].u.tensor, *mantissa, *exponent;
    if (!dtype_is_float((dtype)t->dtype))
        return diag_fail(cx->diag, CTSC_FAILED,
                         "torch.frexp() only supports floating-point dtypes");
    TRY(tensor_clone(cx->diag, t, &mantissa));
    ctsc_status st = tensor_new_like(cx->diag, t, DT_INT32, &exponent);
    if (st != CTSC_OK) {
        tensor_unref(mantissa);
        return st;
    }
    size_t size = dtype_size((dtype)t->dtype);
    for (int64_t i = 0; !geometry_only() && i < t->numel; i++) {
        char *at = (char *)tensor_data(mantissa) + (size_t)i * size;
        int e;
        double m = frexp(dtype_load_float((dtype)t->dtype, at), &e);
        dtype_store_float((dtype)t->dtype, at, m);
        TENSOR_AT(exponent, int32_t)[i] = m - m != 0 ? 0 : e;
    }
    results[0] = value_tensor_take(mantissa);
    results[1] = value_tensor_take(exponent);
    return CTSC_OK;
}
