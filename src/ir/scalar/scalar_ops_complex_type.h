/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scalar_ops_complex_type.h - the operators of scalar_ops_complex.h; read once per type
 * (no include guard).
 */
/* clang-format off: operators of one line */

/* ---- arithmetic ------------------------------------------------------------------------------ */

SCALAR_FN COMPLEX COMPLEX_OP(add)(COMPLEX a, COMPLEX b) {
    return (COMPLEX){a.re + b.re, a.im + b.im};
}
SCALAR_FN COMPLEX COMPLEX_OP(sub)(COMPLEX a, COMPLEX b) {
    return (COMPLEX){a.re - b.re, a.im - b.im};
}
SCALAR_FN COMPLEX COMPLEX_OP(mul)(COMPLEX a, COMPLEX b) {
    return (COMPLEX){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
/* By Smith's method, without a branch: the larger part of b divides. */
SCALAR_FN COMPLEX COMPLEX_OP(div)(COMPLEX a, COMPLEX b) {
    const PART re = PART_OP(__builtin_fabs)(b.re), im = PART_OP(__builtin_fabs)(b.im);
    const int turned = re < im, zero = (re == 0) & (im == 0);
    const PART large = turned ? b.im : b.re, small = turned ? b.re : b.im, ratio = small / large,
               scale = 1 / (large + small * ratio);
    const PART x = turned ? a.re * ratio + a.im : a.re + a.im * ratio,
               y = turned ? a.im * ratio - a.re : a.im - a.re * ratio;
    return (COMPLEX){zero ? a.re / re : x * scale, zero ? a.im / re : y * scale};
}
SCALAR_FN COMPLEX COMPLEX_OP(add_scaled)(COMPLEX a, COMPLEX b, COMPLEX alpha) {
    return COMPLEX_OP(add)(a, COMPLEX_OP(mul)(alpha, b));
}
SCALAR_FN COMPLEX COMPLEX_OP(addcmul)(COMPLEX a, COMPLEX b, COMPLEX c, COMPLEX value) {
    return COMPLEX_OP(add)(a, COMPLEX_OP(mul)(COMPLEX_OP(mul)(value, b), c));
}
SCALAR_FN COMPLEX COMPLEX_OP(addcdiv)(COMPLEX a, COMPLEX b, COMPLEX c, COMPLEX value) {
    return COMPLEX_OP(add)(a, COMPLEX_OP(div)(COMPLEX_OP(mul)(value, b), c));
}
SCALAR_FN COMPLEX COMPLEX_OP(neg)(COMPLEX x) { return (COMPLEX){-x.re, -x.im}; }
SCALAR_FN COMPLEX COMPLEX_OP(conj)(COMPLEX x) { return (COMPLEX){x.re, -x.im}; }
SCALAR_FN COMPLEX COMPLEX_OP(square)(COMPLEX x) { return COMPLEX_OP(mul)(x, x); }
SCALAR_FN COMPLEX COMPLEX_OP(cube)(COMPLEX x) { return COMPLEX_OP(mul)(COMPLEX_OP(mul)(x, x), x); }
SCALAR_FN COMPLEX COMPLEX_OP(reciprocal)(COMPLEX x) { return COMPLEX_OP(div)((COMPLEX){1, 0}, x); }
SCALAR_FN COMPLEX COMPLEX_OP(reciprocal_square)(COMPLEX x) {
    return COMPLEX_OP(reciprocal)(COMPLEX_OP(square)(x));
}

/* ---- elementary functions -------------------------------------------------------------------- */

SCALAR_FN NATIVE COMPLEX_OP(to_native)(COMPLEX x) { return __builtin_complex(x.re, x.im); }
SCALAR_FN COMPLEX COMPLEX_OP(from_native)(NATIVE x) { return (COMPLEX){__real__ x, __imag__ x}; }

#define COMPLEX_FUNCTION(name, function)                                                           \
    SCALAR_FN COMPLEX COMPLEX_OP(name)(COMPLEX x) {                                                \
        return COMPLEX_OP(from_native)(LIBM(function)(COMPLEX_OP(to_native)(x)));                  \
    }
COMPLEX_FUNCTION(exp_exact, cexp)
COMPLEX_FUNCTION(log, clog)
COMPLEX_FUNCTION(sqrt, csqrt)
COMPLEX_FUNCTION(sin, csin)
COMPLEX_FUNCTION(cos, ccos)
COMPLEX_FUNCTION(tan, ctan)
COMPLEX_FUNCTION(asin, casin)
COMPLEX_FUNCTION(acos, cacos)
COMPLEX_FUNCTION(atan, catan)
COMPLEX_FUNCTION(sinh, csinh)
COMPLEX_FUNCTION(cosh, ccosh)
COMPLEX_FUNCTION(tanh, ctanh)
COMPLEX_FUNCTION(asinh, casinh)
COMPLEX_FUNCTION(acosh, cacosh)
COMPLEX_FUNCTION(atanh, catanh)
#undef COMPLEX_FUNCTION

/* By the definition, infinities too: vector code where the real functions are. */
SCALAR_FN COMPLEX COMPLEX_OP(exp)(COMPLEX x) {
    PART length = REAL_OP(exp)(x.re);
    return (COMPLEX){length * REAL_OP(cos)(x.im), length * REAL_OP(sin)(x.im)};
}
SCALAR_FN COMPLEX COMPLEX_OP(log2)(COMPLEX x) {
    COMPLEX l = COMPLEX_OP(log)(x);
    return (COMPLEX){l.re / (PART)0.693147180559945309417, l.im / (PART)0.693147180559945309417};
}
SCALAR_FN COMPLEX COMPLEX_OP(log10)(COMPLEX x) {
    COMPLEX l = COMPLEX_OP(log)(x);
    return (COMPLEX){l.re / (PART)2.302585092994045684018, l.im / (PART)2.302585092994045684018};
}
SCALAR_FN COMPLEX COMPLEX_OP(rsqrt)(COMPLEX x) {
    return COMPLEX_OP(reciprocal)(COMPLEX_OP(sqrt)(x));
}
SCALAR_FN COMPLEX COMPLEX_OP(sigmoid)(COMPLEX x) {
    COMPLEX e = COMPLEX_OP(exp_exact)((COMPLEX){-x.re, -x.im});
    return COMPLEX_OP(reciprocal)((COMPLEX){1 + e.re, e.im});
}
SCALAR_FN COMPLEX COMPLEX_OP(silu)(COMPLEX x) {
    COMPLEX e = COMPLEX_OP(exp_exact)((COMPLEX){-x.re, -x.im});
    return COMPLEX_OP(div)(x, (COMPLEX){1 + e.re, e.im});
}
SCALAR_FN COMPLEX COMPLEX_OP(sinc)(COMPLEX x) {
    const PART pi = (PART)3.141592653589793238463;
    COMPLEX y = {x.re * pi, x.im * pi};
    return x.re == 0 && x.im == 0 ? (COMPLEX){1, 0} : COMPLEX_OP(div)(COMPLEX_OP(sin)(y), y);
}
SCALAR_FN COMPLEX COMPLEX_OP(pow)(COMPLEX x, COMPLEX y) {
    return COMPLEX_OP(from_native)(LIBM(cpow)(COMPLEX_OP(to_native)(x), COMPLEX_OP(to_native)(y)));
}
/* x 2^y; of a real y the power is exact. */
SCALAR_FN COMPLEX COMPLEX_OP(ldexp)(COMPLEX x, COMPLEX y) {
    COMPLEX two = {2, 0}, power = {PART_OP(exp2)(y.re), 0};
    return COMPLEX_OP(mul)(x, y.im == 0 ? power : COMPLEX_OP(pow)(two, y));
}

/* ---- tests ----------------------------------------------------------------------------------- */

SCALAR_FN int COMPLEX_OP(eq)(COMPLEX a, COMPLEX b) { return (a.re == b.re) & (a.im == b.im); }
SCALAR_FN int COMPLEX_OP(ne)(COMPLEX a, COMPLEX b) { return (a.re != b.re) | (a.im != b.im); }
SCALAR_FN int COMPLEX_OP(set)(COMPLEX x) { return (x.re != 0) | (x.im != 0); }
SCALAR_FN int COMPLEX_OP(logical_and)(COMPLEX a, COMPLEX b) {
    return COMPLEX_OP(set)(a) & COMPLEX_OP(set)(b);
}
SCALAR_FN int COMPLEX_OP(logical_or)(COMPLEX a, COMPLEX b) {
    return COMPLEX_OP(set)(a) | COMPLEX_OP(set)(b);
}
SCALAR_FN int COMPLEX_OP(logical_xor)(COMPLEX a, COMPLEX b) {
    return COMPLEX_OP(set)(a) ^ COMPLEX_OP(set)(b);
}
SCALAR_FN int COMPLEX_OP(logical_not)(COMPLEX x) { return !COMPLEX_OP(set)(x); }
SCALAR_FN int COMPLEX_OP(isreal)(COMPLEX x) { return x.im == 0; }
SCALAR_FN int COMPLEX_OP(isnan)(COMPLEX x) { return (x.re != x.re) | (x.im != x.im); }
SCALAR_FN int COMPLEX_OP(isinf)(COMPLEX x) {
    PART re = PART_OP(__builtin_fabs)(x.re), im = PART_OP(__builtin_fabs)(x.im);
    return (re == (PART)SCALAR_INF_F32) | (im == (PART)SCALAR_INF_F32);
}
/* clang-format on */
