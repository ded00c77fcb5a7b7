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

#endif
