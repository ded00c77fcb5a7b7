/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scalar_ops_complex.h - what each pointwise operator does to one complex element: the
 * single definition.
 *
 * Names: scalar_OP_c64, scalar_OP_c128, as in scalar_ops.h; operands first, then the
 * operator's numbers. The interpreter's loops are the only consumer: generated kernels take no
 * complex tensors.
 *
 * Method: sums, products and quotients are those of PyTorch's c10::complex: without C's corrections
 * for infinities (Annex G); quotients are scaled, and those by 0 are infinities. Elementary
 * functions are libm's, which PyTorch calls too, through the compiler's names for them, as
 * <complex.h> would define `complex` and `I` as macros.
 * Tests: tests/unit/test_complex.c, tests/interop/complex.py
 */
#ifndef CTSC_IR_SCALAR_SCALAR_OPS_COMPLEX_H
#define CTSC_IR_SCALAR_SCALAR_OPS_COMPLEX_H

#include "ir/scalar/scalar_ops.h"
#include "tensor/dtype.h"

/* clang-format off */
#define COMPLEX          complex64
#define PART             float
#define NATIVE           float _Complex
#define COMPLEX_OP(name) scalar_##name##_c64
#define PART_OP(name)    name##f
#define LIBM(name)       __builtin_##name##f
#define REAL_OP(name)    scalar_##name##_f32
/* clang-format on */
#include "ir/scalar/scalar_ops_complex_type.h"
#undef COMPLEX
#undef PART
#undef NATIVE
#undef COMPLEX_OP
#undef PART_OP
#undef LIBM
#undef REAL_OP

/* clang-format off */
#define COMPLEX          complex128
#define PART             double
#define NATIVE           double _Complex
#define COMPLEX_OP(name) scalar_##name##_c128
#define PART_OP(name)    name
#define LIBM(name)       __builtin_##name
#define REAL_OP(name)    scalar_##name##_f64
/* clang-format on */
#include "ir/scalar/scalar_ops_complex_type.h"
#undef COMPLEX
#undef PART
#undef NATIVE
#undef COMPLEX_OP
#undef PART_OP
#undef LIBM
#undef REAL_OP

/* The length of a vector of floats cannot overflow in double, so that a loop over
 * it needs no call. */
SCALAR_FN float scalar_abs_c64(complex64 x) {
    double re = (double)x.re, im = (double)x.im;
    float length = (float)__builtin_sqrt(re * re + im * im);
    return __builtin_fabsf(x.re) == SCALAR_INF_F32 || __builtin_fabsf(x.im) == SCALAR_INF_F32
               ? SCALAR_INF_F32
               : length;
}
SCALAR_FN double scalar_abs_c128(complex128 x) { return __builtin_hypot(x.re, x.im); }

#define COMPLEX_FROM_ABS(sfx, T, P)                                                                \
    SCALAR_FN T scalar_sgn_##sfx(T x) {                                                            \
        P length = scalar_abs_##sfx(x);                                                            \
        if (length - length != 0)                                                                  \
            return (T){length - length, length - length}; /* NaN, of infinite lengths as well */   \
        return length == 0 ? (T){0, 0} : (T){x.re / length, x.im / length};                        \
    }                                                                                              \
    SCALAR_FN int scalar_isfinite_##sfx(T x) {                                                     \
        P length = scalar_abs_##sfx(x);                                                            \
        return length - length == 0; /* a length that overflows counts as infinite */              \
    }                                                                                              \
    SCALAR_FN T scalar_lerp_##sfx(T a, T b, T weight) {                                            \
        T d = scalar_sub_##sfx(b, a);                                                              \
        if (scalar_abs_##sfx(weight) < (P)0.5)                                                     \
            return scalar_add_##sfx(a, scalar_mul_##sfx(weight, d));                               \
        return scalar_sub_##sfx(b, scalar_mul_##sfx(d, scalar_sub_##sfx((T){1, 0}, weight)));      \
    }
COMPLEX_FROM_ABS(c64, complex64, float)
COMPLEX_FROM_ABS(c128, complex128, double)
#undef COMPLEX_FROM_ABS

/* ---- in double for both -----------------------------------------------------------------------
 * Rarely used, and long: one function each, no loop has a copy. */

#define COMPLEX_LONG static __attribute__((noinline, unused))
#define COMPLEX_NARROW1(name)                                                                      \
    SCALAR_FN complex64 scalar_##name##_c64(complex64 x) {                                         \
        const complex128 r = scalar_##name##_c128((complex128){(double)x.re, (double)x.im});       \
        return (complex64){(float)r.re, (float)r.im};                                              \
    }

COMPLEX_LONG complex128 scalar_exp2_c128(complex128 x) {
    const double ln2 = 0.693147180559945309417;
    return scalar_exp_exact_c128((complex128){x.re * ln2, x.im * ln2});
}
COMPLEX_LONG complex128 scalar_expm1_c128(complex128 x) {
    const double half = __builtin_sin(x.im / 2);
    return (complex128){__builtin_expm1(x.re) * __builtin_cos(x.im) - 2 * half * half,
                        __builtin_exp(x.re) * __builtin_sin(x.im)};
}
COMPLEX_LONG complex128 scalar_log1p_c128(complex128 x) {
    const double angle = __builtin_atan2(x.im, x.re + 1);
    if (__builtin_hypot(x.re, x.im) < 0.5) {
        const double r = x.re * (2 + x.re) + x.im * x.im; /* |1 + x|^2 - 1 */
        return (complex128){r == 0 ? x.re : __builtin_log1p(r) / 2, angle};
    }
    return (complex128){__builtin_log(__builtin_hypot(x.re + 1, x.im)), angle};
}
/* log(exp(a) + exp(b)), around the one whose real part is larger. */
COMPLEX_LONG complex128 scalar_logaddexp_c128(complex128 a, complex128 b) {
    if (scalar_isnan_c128(a) || scalar_isnan_c128(b)) return (complex128){SCALAR_NAN, SCALAR_NAN};
    const complex128 low = a.re < b.re ? a : b, high = a.re < b.re ? b : a;
    if (low.re == high.re && low.re - low.re != 0)
        return low.re < 0 ? low
                          : scalar_log_c128(scalar_add_c128(scalar_exp_exact_c128(low),
                                                            scalar_exp_exact_c128(high)));
    return scalar_add_c128(scalar_log1p_c128(scalar_exp_exact_c128(scalar_sub_c128(low, high))),
                           high);
}
COMPLEX_NARROW1(exp2)
COMPLEX_NARROW1(expm1)
COMPLEX_NARROW1(log1p)
SCALAR_FN complex64 scalar_logaddexp_c64(complex64 a, complex64 b) {
    const complex128 r = scalar_logaddexp_c128((complex128){(double)a.re, (double)a.im},
                                               (complex128){(double)b.re, (double)b.im});
    return (complex64){(float)r.re, (float)r.im};
}
#undef COMPLEX_NARROW1

#endif
