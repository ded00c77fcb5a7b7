/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scalar_ops_math.h - sin, cos, atan, atan2, fmod, exp2, log2 and pow of float, exp and log of
 * double for scalar_ops.h, without branches and tables, so that loops over them become vector code.
 *
 * Method: what needs more than float's precision (reducing large angles, the logarithm inside pow)
 * is done in double; polynomials are minimax fits of our own. Errors are below two units in the
 * last place (one in double) over all numbers, denormal results included. Rounding to an integer is
 * done by adding and subtracting 1.5 * 2^52 (2^23 in float).
 * Tests: tests/unit/test_scalar_math.c
 */
/* clang-format off: operators of one line */
#ifndef CTSC_IR_SCALAR_SCALAR_OPS_MATH_H
#define CTSC_IR_SCALAR_SCALAR_OPS_MATH_H

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
 * x * 2/pi, whose integer part matters only modulo 4. x is a multiple of 2^(e - 23), so bits of 2/pi of weight
 * above 2^(25 - e) give multiples of 4 and are left out; the rest comes in three pieces, the first two of so few bits (29)
 * that their products with x are exact. The bits: one row per 26 exponents (M. Payne and R. Hanek's idea). */
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

/* The same for |x| < 2^26, without the choice of bits: for loops over blocks that are known to have no larger angle. */
SCALAR_FN float scalar_reduce_near_f32(float x, uint32_t *quadrant) {
    double a = x, p1 = a * 0x1.4p-1, p2 = a * 0x1.7cc1b7p-7;
    p1 -= 4 * ((p1 * 0.25 + SCALAR_MAGIC_F64) - SCALAR_MAGIC_F64);
    p2 -= 4 * ((p2 * 0.25 + SCALAR_MAGIC_F64) - SCALAR_MAGIC_F64);
    double shifted = (p1 + p2) + SCALAR_MAGIC_F64, n = shifted - SCALAR_MAGIC_F64;
    *quadrant = (uint32_t)scalar_bits_f64(shifted);
    return (float)((((p1 - n) + p2) + a * 0x1.391054a7f09d6p-34) * 1.57079632679489661923);
}
SCALAR_FN float scalar_sin_near_f32(float x) {
    uint32_t quadrant;
    float r = scalar_reduce_near_f32(x, &quadrant);
    float y = scalar_sin_quadrant_f32(r, quadrant);
    return x == 0.0f ? x : y;
}
SCALAR_FN float scalar_cos_near_f32(float x) {
    uint32_t quadrant;
    float r = scalar_reduce_near_f32(x, &quadrant);
    return scalar_sin_quadrant_f32(r, quadrant + 1u);
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

/* ---- angles of points ------------------------------------------------------------------------ */

/* atan t, 0 <= t <= 1: a polynomial in t^2. In double, good to 1e-10. */
SCALAR_FN double scalar_atan_unit_f64(double t) {
    double z = t * t;
    double q = 0.00500062210374656364 + z * -0.0007115367889910646674;
    q = -0.01647463999150313373 + z * q;
    q = 0.03470906448231362723 + z * q;
    q = -0.05470829673617984146 + z * q;
    q = 0.07269597378584784497 + z * q;
    q = -0.08988869336447188776 + z * q;
    q = 0.1109522011118187145 + z * q;
    q = -0.1428425325052773371 + z * q;
    q = 0.1999993236405064917 + z * q;
    q = -0.3333333223967816099 + z * q;
    return t + t * z * q;
}

/* The angle in the first octant, then mirrored at the diagonal and the axes. */
SCALAR_FN float scalar_atan2_f32(float y, float x) {
    double ax = __builtin_fabs((double)x), ay = __builtin_fabs((double)y),
           side = __builtin_copysign(1.0, (double)x);
    double low = ax < ay ? ax : ay, high = ax < ay ? ay : ax;
    double t = low / (high == 0.0 ? 1.0 : high);
    t = ((low == high) & (high != 0.0)) ? 1.0 : t; /* two infinities too */
    double r = scalar_atan_unit_f64(t);
    r = ay > ax ? 1.57079632679489661923 - r : r;
    r = side < 0.0 ? 3.14159265358979323846 - r : r;
    float result = __builtin_copysignf((float)r, y);
    return ((x != x) | (y != y)) ? x + y : result;
}
SCALAR_FN float scalar_atan_f32(float x) {
    double a = __builtin_fabs((double)x);
    double r = scalar_atan_unit_f64(a > 1.0 ? 1.0 / a : a);
    return __builtin_copysignf((float)(a > 1.0 ? 1.57079632679489661923 - r : r), x);
}

/* ---- what C's % leaves ----------------------------------------------------------------------- */

/* a - n b for the whole number n next to a / b. Below 2^27, n has so few bits that n b is exact in double, and so is the difference. One b too
 * much or too little, and n = 0 for an infinite b, are put right. */
SCALAR_FN float scalar_fmod_near_f32(float a, float b) {
    double x = __builtin_fabs((double)a), y = __builtin_fabs((double)b);
    double n = (x / y + SCALAR_MAGIC_F64) - SCALAR_MAGIC_F64;
    double r = x - n * y;
    r = r < 0.0 ? r + y : r;
    r = x < y ? x : r;
    return __builtin_copysignf((float)r, a);
}
/* Not for scalar_fmod_near_f32: quotients of 2^27 and more, b = 0, an infinite a, NaN. */
SCALAR_FN int scalar_fmod_far_f32(float a, float b) {
    return !(__builtin_fabs((double)a) < 0x1p27 * __builtin_fabs((double)b));
}
SCALAR_FN float scalar_fmod_f32(float a, float b) {
    return scalar_fmod_far_f32(a, b) ? fmodf(a, b) : scalar_fmod_near_f32(a, b);
}

/* ---- double ---------------------------------------------------------------------------------- */

/* As scalar_exp_f32: x = n log 2 + r, e^r by a polynomial, 2^n in two halves. */
SCALAR_FN double scalar_exp_f64(double x) {
    const double magic = SCALAR_MAGIC_F64 + 2046.0;
    double c = x < -746.0 ? -746.0 : x;
    c = c > 710.0 ? 710.0 : c;
    double shifted = c * 1.44269504088896340736 + magic, n = shifted - magic;
    double r = (c - n * 0x1.62e42fefa38p-1) - n * 0x1.ef35793c7673p-45, z = r * r;
    double q = 2.763133930894465856e-7 + r * 2.511793684300481024e-8;
    q = 2.755721606735815917e-6 + r * q;
    q = 0.00002480148978738070519 + r * q;
    q = 0.0001984126991763244738 + r * q;
    q = 0.001388888894715414881 + r * q;
    q = 0.008333333333307099637 + r * q;
    q = 0.04166666666651494061 + r * q;
    q = 0.1666666666666669921 + r * q;
    q = 0.5000000000000012791 + r * q;
    double y = 1.0 + (r + z * q);
    y = x < -746.0 ? 0.0 : y;
    uint64_t k = scalar_bits_f64(shifted), half = k >> 1;
    return y * scalar_from_bits_f64(half << 52) * scalar_from_bits_f64((k - half) << 52);
}

/* x = m 2^e with m = 1 + f in [sqrt(1/2), sqrt(2)); log(1 + f) = 2 s + s z q with s = f / (2 + f), z = s^2, summed so that what is lost is small
 * against f. */
SCALAR_FN double scalar_log_f64(double x) {
    double y = x < 0x1p-1022 ? x * 0x1p54 : x, e0 = x < 0x1p-1022 ? -1077.0 : -1023.0;
    uint64_t bits = scalar_bits_f64(y) +
                    0x00095f619980c433u; /* 1 - sqrt(1/2), so that e changes there */
    double e = scalar_from_bits_f64((bits >> 52) | 0x4330000000000000u) - 0x1p52 + e0;
    double f = scalar_from_bits_f64((bits & 0x000fffffffffffffu) + 0x3fe6a09e667f3bcdu) - 1.0;
    double s = f / (2.0 + f), z = s * s, h = 0.5 * f * f;
    double q = 0.1531394438458450659 + z * 0.1479712290804303386;
    q = 0.1818356799967338977 + z * q;
    q = 0.2222219851281295694 + z * q;
    q = 0.2857142874285849447 + z * q;
    q = 0.3999999999941321796 + z * q;
    q = 0.6666666666666734494 + z * q;
    double r = e * 0x1.62e42fefa38p-1 - ((h - (s * (h + z * q) + e * 0x1.ef35793c7673p-45)) - f);
    r = x == 0.0 ? -(double)SCALAR_INF_F32 : r;
    r = x < 0.0 ? (double)SCALAR_NAN_F32 : r;
    return x < (double)SCALAR_INF_F32 ? r : x + x; /* inf and NaN */
}

#endif
/* clang-format on */
