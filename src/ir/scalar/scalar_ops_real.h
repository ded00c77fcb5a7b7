/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scalar_ops_real.h - the real operators of scalar_ops.h; read once per type (no include guard).
 *
 * NaN: an operand that is NaN gives NaN, except where a comment says otherwise. Comparisons are
 * written so that a NaN falls through to the operand.
 */
/* clang-format off: operators of one line */

/* ---- arithmetic ------------------------------------------------------------------------------ */

SCALAR_FN REAL OP_NAME(add)(REAL a, REAL b) { return a + b; }
SCALAR_FN REAL OP_NAME(sub)(REAL a, REAL b) { return a - b; }
SCALAR_FN REAL OP_NAME(mul)(REAL a, REAL b) { return a * b; }
SCALAR_FN REAL OP_NAME(div)(REAL a, REAL b) { return a / b; }
SCALAR_FN REAL OP_NAME(add_scaled)(REAL a, REAL b, REAL alpha) { return a + alpha * b; }
SCALAR_FN REAL OP_NAME(addcmul)(REAL a, REAL b, REAL c, REAL value) { return a + value * b * c; }
SCALAR_FN REAL OP_NAME(addcdiv)(REAL a, REAL b, REAL c, REAL value) { return a + value * b / c; }
SCALAR_FN REAL OP_NAME(neg)(REAL x) { return -x; }
SCALAR_FN REAL OP_NAME(abs)(REAL x) { return MATH(fabs)(x); }
SCALAR_FN REAL OP_NAME(positive)(REAL x) { return x; }
SCALAR_FN REAL OP_NAME(square)(REAL x) { return x * x; }
SCALAR_FN REAL OP_NAME(cube)(REAL x) { return x * x * x; }
SCALAR_FN REAL OP_NAME(reciprocal)(REAL x) { return C(1.0) / x; }
SCALAR_FN REAL OP_NAME(reciprocal_square)(REAL x) { return C(1.0) / (x * x); }
SCALAR_FN REAL OP_NAME(sqrt)(REAL x) { return MATH(sqrt)(x); }
SCALAR_FN REAL OP_NAME(rsqrt)(REAL x) { return C(1.0) / MATH(sqrt)(x); }
SCALAR_FN REAL OP_NAME(sign)(REAL x) { return (REAL)((x > C(0.0)) - (x < C(0.0))); }
SCALAR_FN REAL OP_NAME(div_trunc)(REAL a, REAL b) { return MATH(trunc)(a / b); }
/* Python's %: the sign of the divisor. Of what C's % gives, r. */
SCALAR_FN REAL OP_NAME(remainder_of)(REAL r, REAL a, REAL b) {
    (void)a;
    return ((r != C(0.0)) & ((b < C(0.0)) != (r < C(0.0)))) ? r + b : r;
}
SCALAR_FN REAL OP_NAME(remainder)(REAL a, REAL b) {
    return OP_NAME(remainder_of)(OP_NAME(fmod)(a, b), a, b);
}
/* Python's //: exact where a / b rounds up across an integer. */
SCALAR_FN REAL OP_NAME(div_floor_of)(REAL r, REAL a, REAL b) {
    REAL q = (a - r) / b, by_zero = a / b;
    q -= ((r != C(0.0)) & ((b < C(0.0)) != (r < C(0.0)))) ? C(1.0) : C(0.0);
    REAL whole = MATH(floor)(q);
    whole = q - whole > C(0.5) ? whole + C(1.0) : whole;
    whole = q == C(0.0) ? MATH(copysign)(C(0.0), by_zero) : whole;
    return b == C(0.0) ? by_zero : whole;
}
SCALAR_FN REAL OP_NAME(div_floor)(REAL a, REAL b) {
    return OP_NAME(div_floor_of)(OP_NAME(fmod)(a, b), a, b);
}
SCALAR_FN REAL OP_NAME(hypot)(REAL a, REAL b) { return MATH(hypot)(a, b); }
SCALAR_FN REAL OP_NAME(copysign)(REAL a, REAL b) { return MATH(copysign)(a, b); }
SCALAR_FN REAL OP_NAME(nextafter)(REAL a, REAL b) { return MATH(nextafter)(a, b); }
SCALAR_FN REAL OP_NAME(maximum)(REAL a, REAL b) {
    REAL m = a > b ? a : b; /* b if either is NaN */
    return a != a ? a : m;
}
SCALAR_FN REAL OP_NAME(minimum)(REAL a, REAL b) {
    REAL m = a < b ? a : b;
    return a != a ? a : m;
}
/* The number, if one of the two is NaN; the first of two zeros, where libm's may be either. */
SCALAR_FN REAL OP_NAME(fmax)(REAL a, REAL b) {
    REAL m = b > a ? b : a;
    return a != a ? b : m;
}
SCALAR_FN REAL OP_NAME(fmin)(REAL a, REAL b) {
    REAL m = b < a ? b : a;
    return a != a ? b : m;
}
SCALAR_FN REAL OP_NAME(clamp)(REAL x, REAL lo, REAL hi) {
    REAL r = x >= lo ? x : lo;
    r = ((r > hi) | (hi != hi)) ? hi : r;
    return x != x ? x : r;
}
/* Exact at both ends: weight 0 gives a, weight 1 gives b. */
SCALAR_FN REAL OP_NAME(lerp)(REAL a, REAL b, REAL weight) {
    return MATH(fabs)(weight) < C(0.5) ? a + weight * (b - a) : b - (b - a) * (C(1.0) - weight);
}
SCALAR_FN REAL OP_NAME(xlogy)(REAL x, REAL y) {
    if (y != y) return y;
    return x == C(0.0) ? C(0.0) : x * OP_NAME(log)(y);
}
SCALAR_FN REAL OP_NAME(xlog1py)(REAL x, REAL y) {
    if (y != y) return y;
    return x == C(0.0) ? C(0.0) : x * OP_NAME(log1p)(y);
}
SCALAR_FN REAL OP_NAME(logaddexp)(REAL a, REAL b) {
    if (a == b && MATH(fabs)(a) > C(1e38) && a - a != C(0.0)) return a; /* equal infinities */
    REAL m = OP_NAME(maximum)(a, b);
    return m + OP_NAME(log1p)(OP_NAME(exp)(-MATH(fabs)(a - b)));
}
SCALAR_FN REAL OP_NAME(logaddexp2)(REAL a, REAL b) {
    if (a == b && MATH(fabs)(a) > C(1e38) && a - a != C(0.0)) return a;
    REAL m = OP_NAME(maximum)(a, b);
    return m + OP_NAME(log1p)(OP_NAME(exp2)(-MATH(fabs)(a - b))) * C(1.4426950408889634);
}
SCALAR_FN REAL OP_NAME(heaviside)(REAL x, REAL at_zero) {
    return x == C(0.0) ? at_zero : (REAL)(x > C(0.0));
}
SCALAR_FN REAL OP_NAME(ldexp)(REAL x, REAL e) { return x * OP_NAME(exp2)(e); }

/* ---- elementary functions -------------------------------------------------------------------- */

SCALAR_FN REAL OP_NAME(log10)(REAL x) { return MATH(log10)(x); }
SCALAR_FN REAL OP_NAME(tan)(REAL x) { return MATH(tan)(x); }
SCALAR_FN REAL OP_NAME(asin)(REAL x) { return MATH(asin)(x); }
SCALAR_FN REAL OP_NAME(acos)(REAL x) { return MATH(acos)(x); }
SCALAR_FN REAL OP_NAME(sinh)(REAL x) { return MATH(sinh)(x); }
SCALAR_FN REAL OP_NAME(cosh)(REAL x) { return MATH(cosh)(x); }
SCALAR_FN REAL OP_NAME(asinh)(REAL x) { return MATH(asinh)(x); }
SCALAR_FN REAL OP_NAME(acosh)(REAL x) { return MATH(acosh)(x); }
SCALAR_FN REAL OP_NAME(atanh)(REAL x) { return MATH(atanh)(x); }
SCALAR_FN REAL OP_NAME(erfc)(REAL x) { return MATH(erfc)(x); }
SCALAR_FN REAL OP_NAME(deg2rad)(REAL x) { return x * C(0.017453292519943295); }
SCALAR_FN REAL OP_NAME(rad2deg)(REAL x) { return x * C(57.29577951308232); }
SCALAR_FN REAL OP_NAME(sinc)(REAL x) {
    REAL y = x * C(3.14159265358979323846);
    return x == C(0.0) ? C(1.0) : OP_NAME(sin)(y) / y;
}
/* 0 or pi: the argument of a real number. */
SCALAR_FN REAL OP_NAME(angle)(REAL x) {
    return x < C(0.0) ? C(3.14159265358979323846) : x != x ? x : C(0.0);
}

/* ---- rounding -------------------------------------------------------------------------------- */

SCALAR_FN REAL OP_NAME(floor)(REAL x) { return MATH(floor)(x); }
SCALAR_FN REAL OP_NAME(ceil)(REAL x) { return MATH(ceil)(x); }
SCALAR_FN REAL OP_NAME(trunc)(REAL x) { return MATH(trunc)(x); }
SCALAR_FN REAL OP_NAME(round)(REAL x) { return MATH(rint)(x); } /* half to even */
SCALAR_FN REAL OP_NAME(frac)(REAL x) { return x - MATH(trunc)(x); }
/* ten = 10^|decimals| */
SCALAR_FN REAL OP_NAME(round_decimals)(REAL x, REAL ten, REAL negative) {
    return negative != C(0.0) ? MATH(rint)(x / ten) * ten : MATH(rint)(x * ten) / ten;
}
SCALAR_FN REAL OP_NAME(nan_to_num)(REAL x, REAL nan, REAL high, REAL low) {
    REAL r = x == (REAL)SCALAR_INF ? high : x == -(REAL)SCALAR_INF ? low : x;
    return x != x ? nan : r;
}

/* ---- activations ----------------------------------------------------------------------------- */

SCALAR_FN REAL OP_NAME(relu)(REAL x) { return x < C(0.0) ? C(0.0) : x; }
/* e^-|x| cannot overflow, so small results keep their digits. */
SCALAR_FN REAL OP_NAME(sigmoid)(REAL x) {
    REAL e = OP_NAME(exp)(-MATH(fabs)(x));
    return (x < C(0.0) ? e : C(1.0)) / (C(1.0) + e);
}
SCALAR_FN REAL OP_NAME(log_sigmoid)(REAL x) {
    REAL low = x < C(0.0) ? x : x != x ? x : C(0.0);
    return low - OP_NAME(log1p)(OP_NAME(exp)(-MATH(fabs)(x)));
}
SCALAR_FN REAL OP_NAME(silu)(REAL x) { return x / (C(1.0) + OP_NAME(exp_short)(-x)); }
SCALAR_FN REAL OP_NAME(gelu)(REAL x) {
    return x * C(0.5) * (C(1.0) + OP_NAME(erf_short)(x * C(0.70710678118654752440)));
}
SCALAR_FN REAL OP_NAME(gelu_tanh)(REAL x) {
    /* (1 + tanh(u)) / 2 = 1 / (1 + 2^(-2u / log 2)); -2 sqrt(2/pi) / log 2, and that times 0.044715 */
    REAL u = x * (C(-2.30220819814432489) + C(-0.102943239580023487) * x * x);
    return x / (C(1.0) + OP_NAME(exp2_short)(u));
}
SCALAR_FN REAL OP_NAME(mish)(REAL x) { return x * OP_NAME(tanh)(OP_NAME(log1p)(OP_NAME(exp)(x))); }
SCALAR_FN REAL OP_NAME(tanhshrink)(REAL x) { return x - OP_NAME(tanh)(x); }
SCALAR_FN REAL OP_NAME(hardsigmoid)(REAL x) {
    REAL y = x + C(3.0);
    y = y < C(0.0) ? C(0.0) : y;
    return (y > C(6.0) ? C(6.0) : y) / C(6.0);
}
SCALAR_FN REAL OP_NAME(hardswish)(REAL x) {
    REAL y = x + C(3.0);
    y = y < C(0.0) ? C(0.0) : y;
    return x * (y > C(6.0) ? C(6.0) : y) / C(6.0);
}
SCALAR_FN REAL OP_NAME(threshold)(REAL x, REAL threshold, REAL value) {
    return x <= threshold ? value : x;
}
SCALAR_FN REAL OP_NAME(leaky_relu)(REAL x, REAL slope) { return x > C(0.0) ? x : x * slope; }
SCALAR_FN REAL OP_NAME(prelu)(REAL x, REAL weight) { return x > C(0.0) ? x : weight * x; }
/* elu, selu and celu: negative coefficient, positive coefficient, input coefficient */
SCALAR_FN REAL OP_NAME(elu)(REAL x, REAL negative, REAL positive, REAL input) {
    REAL below = OP_NAME(expm1)(x * input) * negative;
    return x <= C(0.0) ? below : x * positive;
}
SCALAR_FN REAL OP_NAME(softplus)(REAL x, REAL beta, REAL threshold) {
    REAL y = x * beta;
    REAL soft = OP_NAME(log1p)(OP_NAME(exp)(y)) / beta;
    return y > threshold ? x : soft;
}
SCALAR_FN REAL OP_NAME(softshrink)(REAL x, REAL lambda) {
    return x > lambda ? x - lambda : x < -lambda ? x + lambda : x * C(0.0); /* NaN stays */
}
SCALAR_FN REAL OP_NAME(hardshrink)(REAL x, REAL lambda) {
    return ((x >= -lambda) & (x <= lambda)) ? C(0.0) : x;
}
SCALAR_FN REAL OP_NAME(logit)(REAL x) { return OP_NAME(log)(x / (C(1.0) - x)); }
SCALAR_FN REAL OP_NAME(logit_eps)(REAL x, REAL low, REAL high) {
    REAL z = x < low ? low : x > high ? high : x; /* low may be the larger one */
    return OP_NAME(log)(z / (C(1.0) - z));
}
SCALAR_FN REAL OP_NAME(glu)(REAL a, REAL b) { return a * OP_NAME(sigmoid)(b); }

/* ---- tests (1 or 0) -------------------------------------------------------------------------- */

SCALAR_FN uint8_t OP_NAME(isnan)(REAL x) { return x != x; }
SCALAR_FN uint8_t OP_NAME(isinf)(REAL x) { return MATH(fabs)(x) == (REAL)SCALAR_INF; }
SCALAR_FN uint8_t OP_NAME(isfinite)(REAL x) { return MATH(fabs)(x) < (REAL)SCALAR_INF; }
SCALAR_FN uint8_t OP_NAME(isposinf)(REAL x) { return x == (REAL)SCALAR_INF; }
SCALAR_FN uint8_t OP_NAME(isneginf)(REAL x) { return x == -(REAL)SCALAR_INF; }
SCALAR_FN uint8_t OP_NAME(signbit)(REAL x) { return MATH(copysign)(C(1.0), x) < C(0.0); }

/* Reflection, upward recurrence, asymptotic series (DLMF 5.15.6, 5.15.5, 5.15.8). In the computing
 * type: near the poles the result is what sin(pi x) rounds to, and PyTorch's is as well. */
SCALAR_FN REAL OP_NAME(trigamma)(REAL x) {
    REAL result = C(0.0), sign = C(1.0);
    if (x < C(0.5)) {
        REAL s = MATH(sin)(C(3.14159265358979323846) * x);
        sign = -C(1.0);
        result = -C(9.86960440108935861883) / (s * s);
        x = C(1.0) - x;
    }
    for (int i = 0; i < 6; i++, x += C(1.0)) result += C(1.0) / (x * x);
    REAL z = C(1.0) / (x * x);
    REAL series = C(1.0) / C(6.0) - z * (C(1.0) / C(30.0) - z * (C(1.0) / C(42.0)));
    return sign * (result + (C(1.0) + C(1.0) / (C(2.0) * x) + z * series) / x);
}

/* ---- special functions of float -------------------------------------------------------------- */

#ifndef SCALAR_REAL_IS_DOUBLE
/* Rational approximations in the centre and in the tails, then two Newton steps, fused as in PyTorch's kernel: trunc_normal_
 * makes weights with it, which are to be equal to the last bit. */
SCALAR_FN float scalar_erfinv_centre_f32(float y) {
    float z = y * y;
    float num = fmaf(fmaf(fmaf(-0.140543331f, z, 0.914624893f), z, -1.645349621f), z, 0.886226899f);
    float den = fmaf(
        fmaf(fmaf(fmaf(0.012229801f, z, -0.329097515f), z, 1.442710462f), z, -2.118377725f), z,
        1.0f);
    return y * num / den;
}
SCALAR_FN float scalar_erfinv_tail_f32(float y) {
    float z = sqrtf(-logf((1.0f - fabsf(y)) / 2.0f));
    float num = fmaf(fmaf(fmaf(1.641345311f, z, 3.429567803f), z, -1.624906493f), z, -1.970840454f);
    float den = fmaf(fmaf(1.637067800f, z, 3.543889200f), z, 1.0f);
    return copysignf(num, y) / den;
}
SCALAR_FN float scalar_erfinv_f32(float y) {
    float a = fabsf(y);
    if (!(a <= 1.0f)) return (float)SCALAR_NAN;
    if (a == 1.0f) return copysignf((float)SCALAR_INF, y);
    float x = a <= 0.7f ? scalar_erfinv_centre_f32(y) : scalar_erfinv_tail_f32(y);
    for (int i = 0; i < 2; i++) x -= (erff(x) - y) / (1.1283791670955126f * expf(-x * x));
    return x;
}
#endif

/* ---- special functions that exist in double only --------------------------------------------- */

#ifndef SCALAR_REAL_IS_DOUBLE
SCALAR_FN float scalar_lgamma_f32(float x) { return VIA_DOUBLE(lgamma)(x); }
SCALAR_FN float scalar_digamma_f32(float x) { return VIA_DOUBLE(digamma)(x); }
/* The exponential is float's, which is infinite from 88.72 on: so are PyTorch's results, though the product would be less. */
SCALAR_FN float scalar_i0_f32(float x) { return scalar_exp_f32(fabsf(x)) * VIA_DOUBLE(i0e)(x); }
SCALAR_FN float scalar_i0e_f32(float x) { return VIA_DOUBLE(i0e)(x); }
SCALAR_FN float scalar_i1_f32(float x) { return scalar_exp_f32(fabsf(x)) * VIA_DOUBLE(i1e)(x); }
SCALAR_FN float scalar_i1e_f32(float x) { return VIA_DOUBLE(i1e)(x); }
SCALAR_FN float scalar_entr_f32(float x) { return VIA_DOUBLE(entr)(x); }
SCALAR_FN float scalar_ndtr_f32(float x) { return VIA_DOUBLE(ndtr)(x); }
SCALAR_FN float scalar_ndtri_f32(float x) { return VIA_DOUBLE(ndtri)(x); }
SCALAR_FN float scalar_log_ndtr_f32(float x) { return VIA_DOUBLE(log_ndtr)(x); }
SCALAR_FN float scalar_erfcx_f32(float x) { return VIA_DOUBLE(erfcx)(x); }
SCALAR_FN float scalar_bessel_j0_f32(float x) { return VIA_DOUBLE(bessel_j0)(x); }
SCALAR_FN float scalar_bessel_j1_f32(float x) { return VIA_DOUBLE(bessel_j1)(x); }
SCALAR_FN float scalar_bessel_y0_f32(float x) { return VIA_DOUBLE(bessel_y0)(x); }
SCALAR_FN float scalar_bessel_y1_f32(float x) { return VIA_DOUBLE(bessel_y1)(x); }
SCALAR_FN float scalar_bessel_k0_f32(float x) { return VIA_DOUBLE(bessel_k0)(x); }
SCALAR_FN float scalar_bessel_k1_f32(float x) { return VIA_DOUBLE(bessel_k1)(x); }
SCALAR_FN float scalar_bessel_k0e_f32(float x) { return VIA_DOUBLE(bessel_k0e)(x); }
SCALAR_FN float scalar_bessel_k1e_f32(float x) { return VIA_DOUBLE(bessel_k1e)(x); }
SCALAR_FN float scalar_spherical_j0_f32(float x) { return VIA_DOUBLE(spherical_j0)(x); }
SCALAR_FN float scalar_airy_ai_f32(float x) { return VIA_DOUBLE(airy_ai)(x); }
SCALAR_FN float scalar_zeta_f32(float x, float q) { return VIA_DOUBLE(zeta)(x, q); }
SCALAR_FN float scalar_polygamma_f32(float x, float n) { return VIA_DOUBLE(polygamma)(x, n); }
SCALAR_FN float scalar_igamma_f32(float a, float x) { return VIA_DOUBLE(igamma)(a, x); }
SCALAR_FN float scalar_igammac_f32(float a, float x) { return VIA_DOUBLE(igammac)(a, x); }
#endif
/* clang-format on */
