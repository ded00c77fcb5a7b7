/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scalar_ops_math.h - sin, cos, exp2, log2 and pow of float for scalar_ops.h, without branches and tables, so that loops over them
 * become vector code.
 *
 * Method: what needs more than float's precision (reducing large angles, the logarithm inside pow) is done in double;
 * polynomials are minimax fits of our own. Errors are below two units in the last place over all
 * floats, denormal results included. Rounding to an integer is done by adding and subtracting 1.5 * 2^52 (2^23 in float).
 * Tests: tests/unit/test_scalar_math.c
 */
/* clang-format off: operators of one line */
#ifndef CTSC_IR_SCALAR_OPS_MATH_H
#define CTSC_IR_SCALAR_OPS_MATH_H

SCALAR_FN uint64_t scalar_bits_f64(double x) {
    union {
        double f;
        uint64_t u;
    } v;
    v.f = x;
    return v.u;
}
SCALAR_FN double scalar_from_bits_f64(uint64_t bits) {
    union {
        uint64_t u;
        double f;
    } v;
    v.u = bits;
    return v.f;
}

#define SCALAR_MAGIC_F64 6755399441055744.0 /* 1.5 * 2^52 */

/* x = (4 k + quadrant) pi/2 + r, |r| <= pi/4; the quadrant in the low two bits.
 *
 * x * 2/pi, of which the integer part matters modulo 4 only. x is a multiple of 2^(e - 23), so bits of 2/pi of weight
 * above 2^(25 - e) give multiples of 4 and are left out; the rest comes in three pieces, the first two of so few bits (29)
 * that their products with x are exact. Which bits: one row for each 26 exponents (M. Payne and R. Hanek's idea). */
SCALAR_FN float scalar_reduce_angle_f32(float x, uint32_t *quadrant) {
    double a = x, m = a < 0 ? -a : a;
    double c1 = 0x1.4p-1, c2 = 0x1.7cc1b7p-7, c3 = 0x1.391054a7f09d6p-34;
    int far = m >= 0x1p26;
    c1 = far ? 0x1.17cc1b6p-3 : c1;
    c2 = far ? 0x1.27220a9p-31 : c2;
    c3 = far ? 0x1.3f84eafa3ea6ap-61 : c3;
    far = m >= 0x1p52;
    c1 = far ? 0x1.c9c882ap-29 : c1;
    c2 = far ? 0x1.4fe13a8p-59 : c2;
    c3 = far ? 0x1.f47d4d377036ep-86 : c3;
    far = m >= 0x1p78;
    c1 = far ? 0x1.4a7f09dp-54 : c1;
    c2 = far ? 0x1.7d1f534p-84 : c2;
    c3 = far ? 0x1.bb81b6c52b328p-113 : c3;
    far = m >= 0x1p104;
    c1 = far ? 0x1.57d1f53p-80 : c1;
    c2 = far ? 0x1.377036cp-110 : c2;
    c3 = far ? 0x1.8a5664f10e41p-138 : c3;
    double p1 = a * c1, p2 = a * c2;
    p1 -= 4 * ((p1 * 0.25 + SCALAR_MAGIC_F64) - SCALAR_MAGIC_F64);
    p2 -= 4 * ((p2 * 0.25 + SCALAR_MAGIC_F64) - SCALAR_MAGIC_F64);
    double shifted = (p1 + p2) + SCALAR_MAGIC_F64, n = shifted - SCALAR_MAGIC_F64;
    *quadrant = (uint32_t)scalar_bits_f64(shifted);
    return (float)((((p1 - n) + p2) + a * c3) * 1.57079632679489661923);
}

/* sin(r), or cos(r) for odd quadrants, negated for the upper two. */
SCALAR_FN float scalar_sin_quadrant_f32(float r, uint32_t quadrant) {
    float z = r * r;
    float s = 0.00833217814613851f + z * -0.000195172989813556f;
    s = -0.166666549437010734f + z * s;
    s = r + r * z * s;
    float c = -0.00138873675157377982f + z * 0.0000244384515932400f;
    c = 0.0416666468664427155f + z * c;
    c = 1.0f - (0.5f * z - z * z * c);
    float y = (quadrant & 1u) ? c : s;
    return scalar_from_bits_f32(scalar_bits_f32(y) ^ ((quadrant & 2u) << 30));
}

SCALAR_FN float scalar_sin_f32(float x) {
    uint32_t quadrant;
    float r = scalar_reduce_angle_f32(x, &quadrant);
    float y = scalar_sin_quadrant_f32(r, quadrant);
    return x == 0.0f ? x : y; /* -0 */
}
SCALAR_FN float scalar_cos_f32(float x) {
    uint32_t quadrant;
    float r = scalar_reduce_angle_f32(x, &quadrant);
    return scalar_sin_quadrant_f32(r, quadrant + 1u);
}

/* 2^n * 2^f with |f| <= 1/2; 2^n in two halves, so that results may be denormal. */
SCALAR_FN float scalar_exp2_f32(float x) {
    const float magic = 12583166.0f; /* 1.5 * 2^23 + 254 */
    float c = x < -151.0f ? -151.0f : x;
    c = c > 129.0f ? 129.0f : c;
    float shifted = c + magic;
    float f = c - (shifted - magic);
    float q = 0.001340695057241445f + f * 0.000155954845677857874f;
    q = 0.00961768929585437628f + f * q;
    q = 0.0555030970627711852f + f * q;
    q = 0.240226528092997058f + f * q;
    q = 0.693147215403685347f + f * q;
    return scalar_two_scales_f32(1.0f + f * q, scalar_bits_f32(shifted));
}

/* log2 of a positive finite number in double, good to 2^-50: x = m 2^e with m in [sqrt(1/2), sqrt(2)), and log m is a series in
 * (m - 1) / (m + 1). */
SCALAR_FN double scalar_log2_wide_f32(float x) {
    float y = x < 1.17549435e-38f ? x * 16777216.0f : x;
    double e0 = x < 1.17549435e-38f ? -24.0 : 0.0;
    uint32_t bits = scalar_bits_f32(y) - 0x3f3504f3u; /* sqrt(1/2) */
    int32_t n = (int32_t)bits >> 23;
    double m = scalar_from_bits_f32((bits & 0x007fffffu) + 0x3f3504f3u);
    double s = (m - 1.0) / (m + 1.0), z = s * s;
    double q = 0.261440619993586622 + z * 0.242959016354734274;
    q = 0.320616502952998365 + z * q;
    q = 0.412198400377842281 + z * q;
    q = 0.577078017257285278 + z * q;
    q = 0.961796693924308351 + z * q;
    q = 2.88539008177792732 + z * q;
    return s * q + ((double)n + e0);
}

SCALAR_FN float scalar_log2_f32(float x) {
    float r = (float)scalar_log2_wide_f32(x);
    r = x == 0.0f ? -SCALAR_INF_F32 : r;
    r = x < 0.0f ? SCALAR_NAN_F32 : r;
    return x < SCALAR_INF_F32 ? r : x + x; /* inf and NaN */
}

/* 2^t rounded to float, t any number but NaN. */
SCALAR_FN float scalar_exp2_wide_f32(double t) {
    double c = t < -160.0 ? -160.0 : t;
    c = c > 130.0 ? 130.0 : c;
    double shifted = c + SCALAR_MAGIC_F64;
    double f = c - (shifted - SCALAR_MAGIC_F64);
    double q = 0.000154695530033449194 + f * 0.0000152017133929342615;
    q = 0.00133339254999395008 + f * q;
    q = 0.00961802644253085301 + f * q;
    q = 0.0555041034725941232 + f * q;
    q = 0.24022651204154399 + f * q;
    q = 0.693147180731156098 + f * q;
    q = 0.999999999961073042 + f * q;
    double scale = scalar_from_bits_f64((scalar_bits_f64(shifted) + 1023u) << 52);
    return (float)(q * scale);
}

/* |x|^y as 2^(y log2 |x|), then the sign and what IEEE 754 says of the special cases. */
SCALAR_FN float scalar_pow_f32(float x, float y) {
    float a = scalar_from_bits_f32(scalar_bits_f32(x) & 0x7fffffffu);
    float b = scalar_from_bits_f32(scalar_bits_f32(y) & 0x7fffffffu);
    float h = b * 0.5f;
    /* below 2^23, an integer survives adding and subtracting 2^23; from 2^24 on all floats are even */
    int whole = (b >= 8388608.0f) | (((b + 8388608.0f) - 8388608.0f) == b);
    int even = (h >= 8388608.0f) | (((h + 8388608.0f) - 8388608.0f) == h);
    int odd = whole & !even;
    float r = scalar_exp2_wide_f32((double)y * scalar_log2_wide_f32(a));
    /* |x| is 0 or infinite: 0 or infinity, by the sign of y; so it is for infinite y, by |x| against 1 */
    float by_sign = (a < 1.0f) == (y < 0.0f) ? SCALAR_INF_F32 : 0.0f;
    r = ((a == 0.0f) | (a == SCALAR_INF_F32) | (b == SCALAR_INF_F32)) ? by_sign : r;
    r = a == 1.0f ? 1.0f : r;
    uint32_t sign = odd ? scalar_bits_f32(x) & 0x80000000u : 0u;
    r = scalar_from_bits_f32(scalar_bits_f32(r) | sign);
    r = ((x < 0.0f) & (a != SCALAR_INF_F32) & !whole) ? SCALAR_NAN_F32 : r;
    r = ((x != x) | (y != y)) ? SCALAR_NAN_F32 : r;
    return ((y == 0.0f) | (x == 1.0f)) ? 1.0f : r;
}

#endif
/* clang-format on */
