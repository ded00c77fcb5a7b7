/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pointwise_special.c - the special functions (gamma, error, Bessel, orthogonal polynomials).
 * Tests: tests/unit/test_pointwise.c
 */
#include "runtime/kernels/pointwise.h"

#define OPERATOR(name)                                                                             \
    ctsc_status op_##name(op_ctx *cx, const value *args, value *results);                          \
    ctsc_status op_##name(op_ctx *cx, const value *args, value *results)

/* Columns: function of ir/scalar_ops.h, name in refusals. */
#define SPECIAL_UNARY(X)                                                                           \
    X(lgamma, "lgamma_vml_cpu")                                                                    \
    X(digamma, "digamma")                                                                          \
    X(erfinv, "erfinv_vml_cpu")                                                                    \
    X(erfcx, "erfcx_cpu")                                                                          \
    X(i0, "i0_vml_cpu")                                                                            \
    X(i0e, "i0e_cpu")                                                                              \
    X(i1, "i1_cpu")                                                                                \
    X(i1e, "i1e_cpu")                                                                              \
    X(entr, "entr_cpu")                                                                            \
    X(ndtr, "erfc_vml_cpu")                                                                        \
    X(ndtri, "ndtri_cpu")                                                                          \
    X(log_ndtr, "log_ndtr_cpu")                                                                    \
    X(bessel_j0, "bessel_j0_cpu")                                                                  \
    X(bessel_j1, "bessel_j1_cpu")                                                                  \
    X(bessel_y0, "bessel_y0_cpu")                                                                  \
    X(bessel_y1, "bessel_y1_cpu")                                                                  \
    X(bessel_k0, "modified_bessel_k0_cpu")                                                         \
    X(bessel_k1, "modified_bessel_k1_cpu")                                                         \
    X(bessel_k0e, "scaled_modified_bessel_k0_cpu")                                                 \
    X(bessel_k1e, "scaled_modified_bessel_k1_cpu")                                                 \
    X(spherical_j0, "spherical_bessel_j0_cpu")                                                     \
    X(airy_ai, "airy_ai_cpu")
#define SPECIAL_UNARY_DEFINE(op, label)                                                            \
    PW_REAL_LOOPS_OF(PLAIN, PLAIN, op, 1, 0)                                                               \
    static const pw_op pw_##op = {label, PW_REAL, {PW_REAL_ROW(op)}};                              \
    OPERATOR(op) {                                                                                 \
        return pw_run(cx, args, 1, args, &pw_##op, NULL, results);                                 \
    }
SPECIAL_UNARY(SPECIAL_UNARY_DEFINE)

/* The first operand is x, the second the order; either may be a number. */
#define SPECIAL_BINARY(X)                                                                          \
    X(zeta, "zeta_cpu", PW_REAL)                                                                   \
    X(igamma, "igamma_cpu", PW_SAME)                                                               \
    X(igammac, "igammac_cpu", PW_SAME)                                                             \
    X(chebyshev_t, "chebyshev_polynomial_t_cpu", PW_REAL)                                          \
    X(chebyshev_u, "chebyshev_polynomial_u_cpu", PW_REAL)                                          \
    X(chebyshev_v, "chebyshev_polynomial_v_cpu", PW_REAL)                                          \
    X(chebyshev_w, "chebyshev_polynomial_w_cpu", PW_REAL)                                          \
    X(shifted_t, "shifted_chebyshev_polynomial_t_cpu", PW_REAL)                                    \
    X(shifted_u, "shifted_chebyshev_polynomial_u_cpu", PW_REAL)                                    \
    X(shifted_v, "shifted_chebyshev_polynomial_v_cpu", PW_REAL)                                    \
    X(shifted_w, "shifted_chebyshev_polynomial_w_cpu", PW_REAL)                                    \
    X(hermite_h, "hermite_polynomial_h_cpu", PW_REAL)                                              \
    X(hermite_he, "hermite_polynomial_he_cpu", PW_REAL)                                            \
    X(laguerre_l, "laguerre_polynomial_l_cpu", PW_REAL)                                            \
    X(legendre_p, "legendre_polynomial_p_cpu", PW_REAL)
#define SPECIAL_BINARY_DEFINE(op, label, kind)                                                     \
    PW_REAL_LOOPS_OF(PLAIN, PLAIN, op, 2, 0)                                                               \
    static const pw_op pw_##op = {label, kind, {PW_REAL_ROW(op)}};                                 \
    OPERATOR(op) {                                                                                 \
        return pw_run(cx, args, 2, args, &pw_##op, NULL, results);                                 \
    }
SPECIAL_BINARY(SPECIAL_BINARY_DEFINE)

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
OPERATOR(polygamma) {
    return special_polygamma(cx, args, &args[1], &args[0], results);
}
OPERATOR(polygamma_) {
    return special_polygamma(cx, args, &args[0], &args[1], results);
}

/* mvlgamma(self, p): the sum of lgamma(self - i/2), i < p, and a constant. The differences are float's if self is, so that what is as good as a
 * pole is one. */
static void special_mvlgamma_loop(void *ctx, int64_t n, char *const *p, const int64_t *s) {
    const pw_numbers *numbers = ctx;
    int64_t order = numbers->i[0];
    bool narrow = numbers->i[1] != 0;
    for (int64_t i = 0; i < n; i++) {
        double x = *(const double *)(const void *)(p[1] + i * s[1]);
        double sum = 0.25 * (double)(order * (order - 1)) * 1.1447298858494001741; /* log pi */
        for (int64_t k = 0; k < order; k++) {
            double at = x - 0.5 * (double)k;
            sum += scalar_lgamma_f64(narrow ? (float)at : at);
        }
        *(double *)(void *)(p[0] + i * s[0]) = sum;
    }
}
OPERATOR(mvlgamma) {
    dtype dt = (dtype)args[0].u.tensor->dtype;
    int64_t order = arg_int(&args[1]);
    if (order < 1)
        return diag_fail(cx->diag, CTSC_FAILED, "p has to be greater than or equal to 1");
    pw_operand operand;
    TRY(pw_operand_init(cx, &operand, args, DT_FLOAT64));
    pw_numbers numbers = {.i = {order, dt == DT_FLOAT32}};
    op_ctx plain = *cx;
    plain.op = NULL;
    value result = value_none();
    ctsc_status st =
        pw_loop(&plain, args, 1, &operand, DT_FLOAT64, special_mvlgamma_loop, &numbers, &result);
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
    for (int64_t i = 0; i < t->numel; i++) {
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
