/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scalar_ops.h - what each pointwise operator does to one element: the single definition.
 *
 * Three consumers: the interpreter's loops (runtime/kernels/pointwise*.c), and the CPU and GPU code
 * generators. Everything is a `static inline` function over scalars, in the subset C and CUDA
 * share; nothing but <math.h> is called.
 *
 * Names: scalar_OP_T, T being f32, f64 (scalar_ops_real.h, read once for each) or u8, i8, i16, i32,
 * i64 (scalar_ops_int.h). half and bfloat16 compute as f32; bool computes as u8 where an operator
 * admits it. Operands come first, then the operator's numbers: scalar_leaky_relu_f32(x, slope).
 *
 * Method: the float forms of exp, log, tanh, erf, sin, cos, atan2, pow and what is built on them
 * are polynomials written without branches, so that a loop over them becomes vector code; of the
 * double forms exp and log are, the others call libm. The polynomials are minimax fits of our own
 * (Remez exchange), each good to about one unit in the last place on its range.
 * Tests: tests/unit/test_pointwise.c, test_scalar_math.c
 */
/* clang-format off: operators of one line */
#ifndef CTSC_IR_SCALAR_SCALAR_OPS_H
#define CTSC_IR_SCALAR_SCALAR_OPS_H

#include <stdint.h>
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define SCALAR_FN static __device__ __forceinline__
#define SCALAR_NAN_F32 (__int_as_float(0x7fc00000))
#define SCALAR_INF_F32 (__int_as_float(0x7f800000))
#define SCALAR_NAN (__longlong_as_double(0x7ff8000000000000))
#define SCALAR_INF (__longlong_as_double(0x7ff0000000000000))
#else
#include <math.h>
#ifndef SCALAR_FN /* codegen/llvm/scalar_bitcode.c wants functions others can link to */
#define SCALAR_FN static inline __attribute__((unused))
#endif
#define SCALAR_NAN_F32 (__builtin_nanf(""))
#define SCALAR_INF_F32 (__builtin_inff())
#define SCALAR_NAN (__builtin_nan(""))
#define SCALAR_INF (__builtin_inf())
#endif

SCALAR_FN uint32_t scalar_bits_f32(float x) {
    union {
        float f;
        uint32_t u;
    } v;
    v.f = x;
    return v.u;
}
SCALAR_FN float scalar_from_bits_f32(uint32_t bits) {
    union {
        uint32_t u;
        float f;
    } v;
    v.u = bits;
    return v.f;
}

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
SCALAR_FN float scalar_exp_f32(float x) { return expf(x); }
SCALAR_FN float scalar_exp_short_f32(float x) { return expf(x); }
SCALAR_FN float scalar_exp_below_f32(float x) { return expf(x); }
SCALAR_FN float scalar_exp2_short_f32(float x) { return exp2f(x); }
SCALAR_FN float scalar_expm1_f32(float x) { return expm1f(x); }
SCALAR_FN float scalar_log_f32(float x) { return logf(x); }
SCALAR_FN float scalar_log1p_f32(float x) { return log1pf(x); }
SCALAR_FN float scalar_tanh_f32(float x) { return tanhf(x); }
SCALAR_FN float scalar_erf_f32(float x) { return erff(x); }
SCALAR_FN float scalar_erf_short_f32(float x) { return erff(x); }
SCALAR_FN float scalar_sin_f32(float x) { return sinf(x); }
SCALAR_FN float scalar_cos_f32(float x) { return cosf(x); }
SCALAR_FN float scalar_sin_near_f32(float x) { return sinf(x); }
SCALAR_FN float scalar_cos_near_f32(float x) { return cosf(x); }
SCALAR_FN float scalar_exp2_f32(float x) { return exp2f(x); }
SCALAR_FN float scalar_log2_f32(float x) { return log2f(x); }
SCALAR_FN float scalar_pow_f32(float x, float y) { return powf(x, y); }
SCALAR_FN float scalar_atan_f32(float x) { return atanf(x); }
SCALAR_FN float scalar_atan2_f32(float y, float x) { return atan2f(y, x); }
SCALAR_FN float scalar_fmod_f32(float a, float b) { return fmodf(a, b); }
SCALAR_FN double scalar_exp_f64(double x) { return exp(x); }
SCALAR_FN double scalar_log_f64(double x) { return log(x); }
SCALAR_FN double scalar_lgamma_f64(double x) { return lgamma(x); }
#else

/* e^r - 1 for |r| <= log(2)/2. */
SCALAR_FN float scalar_expm1_small_f32(float r) {
    float q = 0.00138951351f + r * 0.00019176705f;
    q = 0.00833334889f + r * q;
    q = 0.041666666f + r * q;
    q = 0.166666667f + r * q;
    q = 0.5f + r * q;
    return r + r * r * q;
}

/* x = n log 2 + r, |r| <= log(2)/2. Returns r; *shifted: n + bias in the low bits of the float's. bias: 127 if 2^n is to be one
 * factor, 254 if two (scalar_two_scales). */
SCALAR_FN float scalar_exp_reduce_f32(float x, float bias, uint32_t *shifted) {
    const float magic = 12582912.0f +
                        bias; /* 1.5 * 2^23: adding it leaves an integer in the low bits */
    float s = x * 1.44269504f + magic;
    float n = s - magic;
    *shifted = scalar_bits_f32(s);
    return (x - n * 0.693359375f) + n * 2.12194440e-4f;
}

/* (e^r - 1 - r) / r^2 to 3e-9 of e^r. By Estrin's scheme: a loop over it waits for the length of the chain of operations, not their number. */
SCALAR_FN float scalar_exp_tail_f32(float r, float z) {
    float low = 0.499999934f + r * 0.166665204f;
    float high = 0.0416683908f + r * 0.00836874511f;
    return low + z * (high + z * 0.00138145402f);
}

SCALAR_FN float scalar_exp_split_f32(float x, float bias, uint32_t *shifted) {
    float r = scalar_exp_reduce_f32(x, bias, shifted), z = r * r;
    return 1.0f + (r + z * scalar_exp_tail_f32(r, z));
}

/* y * 2^n in two halves, so that results may be denormal. The upper bits of k, which is n + 254 above 1.5 * 2^23's, are shifted out. */
SCALAR_FN float scalar_two_scales_f32(float y, uint32_t k) {
    uint32_t half = k >> 1;
    return y * scalar_from_bits_f32(half << 23) * scalar_from_bits_f32((k - half) << 23);
}

SCALAR_FN float scalar_exp_f32(float x) {
    float c = x < -104.0f ? -104.0f : x;
    c = c > 89.0f ? 89.0f : c;
    uint32_t k;
    float y = scalar_exp_split_f32(c, 254.0f, &k);
    /* what is 0 is not made by underflow, which takes fifty cycles */
    return scalar_two_scales_f32(x < -104.0f ? 0.0f : y, k);
}

/* The same to 1e-7, for what is not a result by itself: softmax and 1 / (1 + e^x). */
SCALAR_FN float scalar_exp_tail_short_f32(float r, float z) {
    float low = 0.499992311f + r * 0.166671142f;
    float high = 0.0418901108f + r * 0.00831252243f;
    return low + z * high;
}

/* For 1 / (1 + e^x): results that would be denormal are 0, and infinite from 2^127.5 on. n is -127 and 128 there, which as an
 * exponent's bits make the factor 0 and infinity. */
SCALAR_FN float scalar_exp_short_f32(float x) {
    uint32_t k;
    float c = x < -88.0f ? -88.0f : x;
    c = c > 89.0f ? 89.0f : c;
    float r = scalar_exp_reduce_f32(c, 127.0f, &k), z = r * r;
    float y = 1.0f + (r + z * scalar_exp_tail_short_f32(r, z));
    return y * scalar_from_bits_f32(k << 23);
}

/* 2^x as scalar_exp_short_f32, for exponents with a built-in factor 1 / log 2. Horner's
 * scheme keeps the fewest values live: the loops that use it need all registers. */
SCALAR_FN float scalar_exp2_short_f32(float x) {
    const float magic = 12583039.0f; /* 1.5 * 2^23 + 127 */
    float c = x < -127.0f ? -127.0f : x;
    c = c > 128.0f ? 128.0f : c;
    float shifted = c + magic;
    float f = c - (shifted - magic);
    float q = 0.00966970809f + f * 0.0013300248f;
    q = 0.0555055998f + f * q;
    q = 0.240222812f + f * q;
    q = 0.693147182f + f * q;
    return (1.0f + f * q) * scalar_from_bits_f32(scalar_bits_f32(shifted) << 23);
}

/* For differences from a maximum, x <= 0; as scalar_exp_short_f32. Nothing is infinite, so that 2^n (1 + y) may be 2^n + 2^n y. */
SCALAR_FN float scalar_exp_below_f32(float x) {
    uint32_t k;
    float r = scalar_exp_reduce_f32(x < -88.0f ? -88.0f : x, 127.0f, &k), z = r * r;
    float power = scalar_from_bits_f32(k << 23);
    return power + power * (r + z * scalar_exp_tail_short_f32(r, z));
}

SCALAR_FN float scalar_expm1_f32(float x) {
    float small = scalar_expm1_small_f32(x), large = scalar_exp_f32(x) - 1.0f;
    float y = ((x > -0.34f) & (x < 0.34f)) ? small : large;
    return x == 0.0f ? x : y; /* -0 */
}

/* x = m 2^e with m in [sqrt(1/2), sqrt(2)); log m by a polynomial. */
SCALAR_FN float scalar_log_f32(float x) {
    float y = x < 1.17549435e-38f ? x * 16777216.0f : x;
    float e0 = x < 1.17549435e-38f ? -24.0f : 0.0f;
    uint32_t bits = scalar_bits_f32(y) - 0x3f3504f3u; /* sqrt(1/2) */
    int32_t n = (int32_t)bits >> 23;
    float e = (float)n + e0;
    float m = scalar_from_bits_f32((bits & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
    float q = -0.117898644f + m * 0.0691554066f;
    q = 0.118729256f + m * q;
    q = -0.123843352f + m * q;
    q = 0.142186639f + m * q;
    q = -0.166692518f + m * q;
    q = 0.200022263f + m * q;
    q = -0.249999866f + m * q;
    q = 0.333333104f + m * q;
    float z = m * m;
    float r = m * z * q + e * -2.12194440e-4f;
    r = r - 0.5f * z;
    r = (m + r) + e * 0.693359375f;
    r = x == 0.0f ? -SCALAR_INF_F32 : r;
    r = x < 0.0f ? SCALAR_NAN_F32 : r;
    return x < SCALAR_INF_F32 ? r : x + x; /* inf and NaN */
}

/* W. Kahan's correction for the rounding of 1 + x. */
SCALAR_FN float scalar_log1p_f32(float x) {
    float u = 1.0f + x;
    float d = u - 1.0f;
    float r = scalar_log_f32(u) * (x / (d == 0.0f ? 1.0f : d));
    r = d == 0.0f ? x : r;
    return x < SCALAR_INF_F32 ? r : x + x;
}

/* m / (m + 2), where m = e^2|x| - 1 = 2^n (e^r - 1) + (2^n - 1): near 0, n is 0 and no digit is lost. */
SCALAR_FN float scalar_tanh_f32(float x) {
    float a = x < 0.0f ? -x : x;
    uint32_t k;
    a = a > 10.0f ? 10.0f : a; /* where 1 is reached */
    float r = scalar_exp_reduce_f32(a + a, 127.0f, &k), z = r * r;
    float power = scalar_from_bits_f32(k << 23);
    float m = power * (r + z * scalar_exp_tail_f32(r, z)) + (power - 1.0f);
    return __builtin_copysignf(m / (m + 2.0f), x);
}

/* Below 1 a polynomial in x^2; above, 1 - exp(-x^2) times a polynomial in 1 / (1 + x/2). */
SCALAR_FN float scalar_erf_f32(float x) {
    float a = x < 0.0f ? -x : x, z = x * x;
    float q = -0.000802084237f + z * 7.88912317e-05f;
    q = 0.00518953546f + z * q;
    q = -0.0268544447f + z * q;
    q = 0.112836002f + z * q;
    q = -0.376126271f + z * q;
    q = 1.12837917f + z * q;
    float small = x * q;
    float t = 1.0f / (1.0f + 0.5f * a);
    float r = -0.187568624f + t * 0.0816469793f;
    r = 0.0286696178f + t * r;
    r = 0.102474692f + t * r;
    r = 0.159426066f + t * r;
    r = 0.252552087f + t * r;
    r = 0.281066212f + t * r;
    r = 0.282191826f + t * r;
    r = -3.7809895e-06f + t * r;
    float large = 1.0f - r * scalar_exp_f32(-z);
    large = x < 0.0f ? -large : large;
    return a < 1.0f ? small : large;
}

/* The same to 4e-7, for what is not a result by itself: gelu, which PyTorch computes no better. A rational function, 2e-8 off before
 * anything is rounded; nan stays nan. */
SCALAR_FN float scalar_erf_short_f32(float x) {
    float c = x < -4.1f ? -4.1f : x; /* where it is beyond 1 */
    c = c > 4.1f ? 4.1f : c;
    float z = c * c;
    float p = 0.000284850219f + z * 2.05006427e-06f;
    p = 0.00376473367f + z * p;
    p = 0.0527459346f + z * p;
    p = 0.190387666f + z * p;
    p = 1.12837911f + z * p;
    float q = 0.0011622983f + z * 3.808978e-05f;
    q = 0.0149674499f + z * q;
    q = 0.114101075f + z * q;
    q = 0.5020594f + z * q;
    q = 1.0f + z * q;
    float e = c * p / q;
    e = e < -1.0f ? -1.0f : e;
    return e > 1.0f ? 1.0f : e;
}

#include "ir/scalar/scalar_ops_math.h"

SCALAR_FN double scalar_lgamma_f64(double x) {
    int sign; /* the plain form writes a global */
    return lgamma_r(x, &sign);
}
#endif

SCALAR_FN double scalar_exp_short_f64(double x) { return scalar_exp_f64(x); }
SCALAR_FN double scalar_exp2_short_f64(double x) { return exp2(x); }
SCALAR_FN double scalar_exp_below_f64(double x) { return scalar_exp_f64(x); }
SCALAR_FN double scalar_expm1_f64(double x) { return expm1(x); }
SCALAR_FN double scalar_log1p_f64(double x) { return log1p(x); }
SCALAR_FN double scalar_tanh_f64(double x) { return tanh(x); }
SCALAR_FN double scalar_erf_f64(double x) { return erf(x); }
SCALAR_FN double scalar_erf_short_f64(double x) { return erf(x); }
SCALAR_FN double scalar_sin_f64(double x) { return sin(x); }
SCALAR_FN double scalar_cos_f64(double x) { return cos(x); }
SCALAR_FN double scalar_exp2_f64(double x) { return exp2(x); }
SCALAR_FN double scalar_log2_f64(double x) { return log2(x); }
SCALAR_FN double scalar_pow_f64(double x, double y) { return pow(x, y); }
SCALAR_FN double scalar_atan_f64(double x) { return atan(x); }
SCALAR_FN double scalar_atan2_f64(double y, double x) { return atan2(y, x); }
SCALAR_FN double scalar_fmod_f64(double a, double b) { return fmod(a, b); }

#include "ir/scalar/scalar_ops_special.h"

/* Real operators: REAL is the type, OP(name) the function's name, MATH(f) libm's function, C(x) a
 * constant. */
#define REAL float
#define OP_NAME(name) scalar_##name##_f32
#define MATH(fn) fn##f
#define C(x) x##f
#define VIA_DOUBLE(name) (float)scalar_##name##_f64
#include "ir/scalar/scalar_ops_polynomials.h"
#include "ir/scalar/scalar_ops_real.h"
#undef REAL
#undef OP_NAME
#undef MATH
#undef C
#undef VIA_DOUBLE

#define REAL double
#define OP_NAME(name) scalar_##name##_f64
#define MATH(fn) fn
#define C(x) x
#define SCALAR_REAL_IS_DOUBLE
#include "ir/scalar/scalar_ops_polynomials.h"
#include "ir/scalar/scalar_ops_real.h"
#undef REAL
#undef OP_NAME
#undef MATH
#undef C
#undef SCALAR_REAL_IS_DOUBLE

/* Integer operators: INT is the type, UINT an unsigned type at least as wide in which nothing
 * overflows. */
#define INT uint8_t
#define UINT uint32_t
#define INT_BITS 8
#define INT_SIGNED 0
#define OP_NAME(name) scalar_##name##_u8
#include "ir/scalar/scalar_ops_int.h"
#undef INT
#undef INT_BITS
#undef INT_SIGNED
#undef OP_NAME

#define INT_SIGNED 1
#define INT int8_t
#define INT_BITS 8
#define OP_NAME(name) scalar_##name##_i8
#include "ir/scalar/scalar_ops_int.h"
#undef INT
#undef INT_BITS
#undef OP_NAME

#define INT int16_t
#define INT_BITS 16
#define OP_NAME(name) scalar_##name##_i16
#include "ir/scalar/scalar_ops_int.h"
#undef INT
#undef INT_BITS
#undef OP_NAME

#define INT int32_t
#define INT_BITS 32
#define OP_NAME(name) scalar_##name##_i32
#include "ir/scalar/scalar_ops_int.h"
#undef INT
#undef UINT
#undef INT_BITS
#undef OP_NAME

#define INT int64_t
#define UINT uint64_t
#define INT_BITS 64
#define OP_NAME(name) scalar_##name##_i64
#include "ir/scalar/scalar_ops_int.h"
#undef INT
#undef UINT
#undef INT_BITS
#undef INT_SIGNED
#undef OP_NAME

#endif
/* clang-format on */
