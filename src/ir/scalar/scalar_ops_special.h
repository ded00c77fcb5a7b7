/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scalar_ops_special.h - the special functions of scalar_ops.h, in double (float calls them and
 * rounds).
 *
 * Method: power series where terms have one sign or stay small, asymptotic series or continued
 * fractions far out, the trapezoidal rule on integrals that decay doubly exponentially, Halley
 * steps for inverses. Tables of fitted coefficients would be faster; these functions are rare and
 * the short forms can be checked by reading. Formula numbers "DLMF" refer to the NIST Digital
 * Library of Mathematical Functions.
 */
/* clang-format off: operators of one line */
#ifndef CTSC_IR_SCALAR_SCALAR_OPS_SPECIAL_H
#define CTSC_IR_SCALAR_SCALAR_OPS_SPECIAL_H

#define SCALAR_PI 3.14159265358979323846
#define SCALAR_SQRT1_2 0.70710678118654752440

/* ---- gamma family ---------------------------------------------------------------------------- */

/* Reflection, upward recurrence to 10, then the asymptotic series (DLMF 5.5.4, 5.5.2, 5.11.2). */
SCALAR_FN double scalar_digamma_f64(double x) {
    double result = 0;
    if (x == 0) return copysign(SCALAR_INF, -x);
    if (x < 0) {
        double part = x - trunc(x);
        if (part == 0) return SCALAR_NAN;
        result = -SCALAR_PI / tan(SCALAR_PI * part);
        x = 1 - x;
    }
    for (; x < 10; x += 1) result -= 1 / x;
    double z = 1 / (x * x);
    double tail =
        z * (1.0 / 12 -
             z * (1.0 / 120 -
                  z * (1.0 / 252 -
                       z * (1.0 / 240 - z * (1.0 / 132 - z * (691.0 / 32760 - z * (1.0 / 12)))))));
    return x > 1e17 ? log(x) + result : log(x) - 0.5 / x - tail + result;
}

/* Hurwitz zeta where q is not far below 0: nine terms, then Euler and Maclaurin's formula (DLMF 25.11.5). For x from 1e13 on, where the formula's
 * factors overflow, there is no result, as in PyTorch. */
SCALAR_FN double scalar_zeta_sum_f64(double x, double q) {
    double a = q, term, sum = pow(q, -x);
    for (int i = 0; i < 9 || a <= 9; i++) {
        a += 1;
        term = pow(a, -x);
        sum += term;
        if (fabs(term) < 1.1102230246251565e-16 * fabs(sum)) return sum;
    }
    /* B_2k / (2k)! for k = 1.. */
    double last = pow(a, -x);
    sum += last * a / (x - 1) - 0.5 * last;
    const double bernoulli[12] = {1.0 / 12,
                                  -1.0 / 720,
                                  1.0 / 30240,
                                  -1.0 / 1209600,
                                  1.0 / 47900160,
                                  -691.0 / 1307674368000.0,
                                  1.0 / 74724249600.0,
                                  -3617.0 / 10670622842880000.0,
                                  43867.0 / 5109094217170944000.0,
                                  -174611.0 / 802857662698291200000.0,
                                  77683.0 / 14101100039391805440000.0,
                                  -236364091.0 / 1693824136731743669452800000.0};
    double factor = 1;
    for (int k = 0; k < 12; k++) {
        factor *= x + 2 * k;
        last /= a;
        term = factor * last * bernoulli[k];
        sum += term;
        if (fabs(term / sum) < 1.1102230246251565e-16) break;
        factor *= x + 2 * k + 1;
        last /= a;
    }
    return sum;
}

/* Poles count before NaN, as in PyTorch. */
SCALAR_FN double scalar_zeta_f64(double x, double q) {
    if (x == 1) return SCALAR_INF;
    if (x < 1) return SCALAR_NAN;
    if (q <= 0) {
        if (q == floor(q)) return SCALAR_INF;
        if (x != floor(x)) return SCALAR_NAN; /* q^-x not real */
    }
    if (!(q <= -32)) return scalar_zeta_sum_f64(x, q);
    /* For any negative q: its negative terms, from the last one on, are those of two sums from above 0. */
    double above = q - floor(q), below = 1 - above;
    double negative = scalar_zeta_sum_f64(x, below) - scalar_zeta_sum_f64(x, 1 - q);
    return scalar_zeta_sum_f64(x, above) + (fmod(x, 2.0) == 0 ? negative : -negative);
}

SCALAR_FN double scalar_polygamma_f64(double x, double n) {
    if (n == 0) return scalar_digamma_f64(x);
    double sign = fmod(n, 2.0) == 0 ? -1 : 1;
    return sign * exp(scalar_lgamma_f64(n + 1)) * scalar_zeta_f64(n + 1, x);
}

/* x^a e^-x / gamma(a) */
SCALAR_FN double scalar_igamma_factor_f64(double a, double x) {
    return exp(a * log(x) - x - scalar_lgamma_f64(a));
}
/* Lower regularised incomplete gamma function by its series (DLMF 8.7.1). */
SCALAR_FN double scalar_igamma_series_f64(double a, double x) {
    double term = 1 / a, sum = term, r = a;
    for (int i = 0; i < 10000; i++) {
        r += 1;
        term *= x / r;
        sum += term;
        if (term <= sum * 1e-17) break;
    }
    return sum * scalar_igamma_factor_f64(a, x);
}
/* Upper one by its continued fraction, evaluated by W. Lentz's method (DLMF 8.9.2). */
SCALAR_FN double scalar_igammac_fraction_f64(double a, double x) {
    double b = x + 1 - a, c = 1e300, d = 1 / b, h = d;
    for (int i = 1; i < 10000; i++) {
        double an = -i * (i - a);
        b += 2;
        d = an * d + b;
        d = fabs(d) < 1e-300 ? 1e-300 : d;
        c = b + an / c;
        c = fabs(c) < 1e-300 ? 1e-300 : c;
        d = 1 / d;
        double step = d * c;
        h *= step;
        if (fabs(step - 1) < 1e-16) break;
    }
    return h * scalar_igamma_factor_f64(a, x);
}
/* The logarithm of a magnitude, with its sign. */
SCALAR_FN double scalar_signed_log1p_f64(double x) {
    return x == 0 ? 0 : copysign(scalar_log1p_f64(fabs(x)), x);
}
SCALAR_FN float scalar_signed_log1p_f32(float x) {
    return x == 0 ? 0 : copysignf(scalar_log1p_f32(fabsf(x)), x);
}

/* The derivative of a sample x of the gamma distribution by its shape a, with PyTorch's three approximations: Taylor's series for small x, a saddle
 * point expansion for large a (its removable singularity at x = a has a series of its own), and else a fitted rational function of both. */
SCALAR_FN double scalar_standard_gamma_grad_small_f64(double a, double x) {
    double numer = 1, denom = a, first = 1 / a, second = 1 / (a * a);
    for (int i = 1; i <= 5; i++) {
        numer *= -x / i;
        denom += 1;
        first += numer / denom;
        second += numer / (denom * denom);
    }
    double power = pow(x, a),
           by_a = (log(x) - scalar_digamma_f64(a)) * power * first - power * second;
    double result = -by_a / (pow(x, a - 1) * exp(-x));
    return result != result ? 0 : result;
}
SCALAR_FN double scalar_standard_gamma_grad_large_f64(double a, double x) {
    if (0.9 * a <= x && x <= 1.1 * a)
        return (1 + 24 * a * (1 + 12 * a)) *
               (1440 * (a * a) + 6 * x * (53 - 120 * x) - 65 * x * x / a + a * (107 + 3600 * x)) /
               (1244160 * (a * a) * (a * a));
    double ratio = log(x / a), root = sqrt(8 * a), far = root / (a - x),
           near = pow(x - a - a * ratio, -1.5);
    double term = ratio * (x < a ? far - near : far + near) -
                  sqrt(2 / a) * (a + x) / ((a - x) * (a - x));
    return -(1 + 1 / (12 * a) * (1 + 1 / (24 * a))) * x * term / root;
}
SCALAR_FN double scalar_standard_gamma_grad_f64(double a, double x) {
    if (x < 0.8) return scalar_standard_gamma_grad_small_f64(a, x);
    if (a > 8) return scalar_standard_gamma_grad_large_f64(a, x);
    const double fit[3][8] = {
        {0.16009398, -0.094634809, 0.025146376, -0.0030648343, 1, 0.32668115, 0.10406089,
         0.0014179084},
        {0.53487893, 0.1298071, 0.065735949, -0.0015649758, 0.16639465, 0.020070113, -0.0035938915,
         -0.00058392623},
        {0.040121004, -0.0065914022, -0.0026286047, -0.0013441777, 0.017050642, -0.0021309326,
         0.00085092367, -1.5247877e-07},
    };
    double u = log(x / a), v = log(a), c[8];
    for (int i = 0; i < 8; i++) c[i] = fit[0][i] + u * (fit[1][i] + u * fit[2][i]);
    return exp((c[0] + v * (c[1] + v * (c[2] + v * c[3]))) /
               (c[4] + v * (c[5] + v * (c[6] + v * c[7]))));
}
SCALAR_FN float scalar_standard_gamma_grad_f32(float a, float x) {
    return (float)scalar_standard_gamma_grad_f64(a, x);
}

/* log gamma(1 + a) for |a| <= 1/20, to the last bits however small a is (DLMF 5.7.3) */
SCALAR_FN double scalar_lgamma1p_small_f64(double a) {
    double sum = -0.57721566490153286061 * a, power = -a;
    for (int k = 2; k <= 14; k++) {
        power *= -a;
        sum += scalar_zeta_f64(k, 1) * power / k;
    }
    return sum;
}
/* The upper one for small x, by the lower one's series without its first term, which is near 1 for small a (DLMF 8.7.3). */
SCALAR_FN double scalar_igammac_series_f64(double a, double x) {
    double lgamma1p = a <= 0.05 ? scalar_lgamma1p_small_f64(a) : scalar_lgamma_f64(a + 1);
    double power = a * log(x) - lgamma1p, factor = 1, sum = 0;
    for (int n = 1; n < 2000; n++) {
        factor *= -x / n;
        double term = factor / (a + n);
        sum += term;
        if (fabs(term) <= fabs(sum) * 1e-17) break;
    }
    return -expm1(power) - exp(power) * a * sum;
}
/* Large a: the uniform expansion (DLMF 8.12.3, 8.12.4), whose coefficients are power series around x = a (8.12.12). Beyond their reach the
 * result is 0 or 1. */
SCALAR_FN double scalar_igamma_large_f64(double a, double x, int upper) {
    double mu = (x - a) / a, half_square;
    if (fabs(mu) < 0.2) { /* mu - log(1 + mu) */
        double power = mu * mu;
        half_square = 0;
        for (int k = 2; k < 40; k++, power *= -mu) half_square += power / k;
    } else {
        half_square = mu - log1p(mu);
    }
    double eta = copysign(sqrt(2 * half_square), mu), tail = a * half_square;
    if (tail > 800) return (mu > 0) == (upper != 0) ? 0 : 1;
    double zero =
        -1.0 / 3 +
        eta * (1.0 / 12 +
               eta * (-2.0 / 135 +
                      eta * (1.0 / 864 +
                             eta * (1.0 / 2835 + eta * (-139.0 / 777600 + eta * (1.0 / 25515))))));
    double one = -1.0 / 540 + eta * (-1.0 / 288 + eta * (1.0 / 378 + eta * (-77.0 / 77760)));
    double rest = exp(-tail) / sqrt(2 * SCALAR_PI) / sqrt(a) * (zero + one / a);
    return upper ? 0.5 * erfc(eta * sqrt(a) * SCALAR_SQRT1_2) + rest
                 : 0.5 * erfc(-eta * sqrt(a) * SCALAR_SQRT1_2) - rest;
}
/* upper: the upper one of the two, a, x > 0. Each by what keeps its digits where it is small. */
SCALAR_FN double scalar_igamma_regular_f64(double a, double x, int upper) {
    double other;
    if (a >= 1e4) return scalar_igamma_large_f64(a, x, upper);
    if (x > 1.1) {
        int series = x < a + 1;
        other = series ? scalar_igamma_series_f64(a, x) : scalar_igammac_fraction_f64(a, x);
        return (series != 0) == (upper != 0) ? 1 - other : other;
    }
    int series = x <= 0.5 ? -0.4 / log(x) < a : x * 1.1 < a;
    other = series ? scalar_igamma_series_f64(a, x) : scalar_igammac_series_f64(a, x);
    return (series != 0) == (upper != 0) ? 1 - other : other;
}
SCALAR_FN double scalar_igamma_f64(double a, double x) {
    if (x < 0 || a < 0) return SCALAR_NAN;
    if (a == 0) return x > 0 ? 1 : SCALAR_NAN;
    if (x == 0) return 0;
    if (a == SCALAR_INF) return x == SCALAR_INF ? SCALAR_NAN : 0; /* whatever x is, as in PyTorch */
    if (x == SCALAR_INF) return 1;
    if (a != a || x != x) return SCALAR_NAN;
    return scalar_igamma_regular_f64(a, x, 0);
}
SCALAR_FN double scalar_igammac_f64(double a, double x) {
    if (x < 0 || a < 0) return SCALAR_NAN;
    if (a == 0) return x > 0 ? 0 : SCALAR_NAN;
    if (x == 0) return 1;
    if (a == SCALAR_INF) return x == SCALAR_INF ? SCALAR_NAN : 1;
    if (x == SCALAR_INF) return 0;
    if (a != a || x != x) return SCALAR_NAN;
    return scalar_igamma_regular_f64(a, x, 1);
}

/* ---- error function family ------------------------------------------------------------------- */

/* e^(x^2) erfc(x); far out by the continued fraction DLMF 7.9.3. */
SCALAR_FN double scalar_erfcx_f64(double x) {
    if (x != x) return x;
    if (x < -26.7) return SCALAR_INF;
    if (x < 3) return exp(x * x) * erfc(x);
    double f = x;
    for (int i = 100; i > 0; i--) f = x + 0.5 * i / f;
    return 0.56418958354775628695 / f;
}

SCALAR_FN double scalar_ndtr_f64(double x) { return 0.5 * erfc(-x * SCALAR_SQRT1_2); }

SCALAR_FN double scalar_log_ndtr_f64(double x) {
    double t = x * SCALAR_SQRT1_2;
    return x < -1 ? log(scalar_erfcx_f64(-t) / 2) - t * t : log1p(-erfc(t) / 2);
}

/* Lower tail p <= 1/2: the start is Abramowitz and Stegun 26.2.23, then Halley steps. */
SCALAR_FN double scalar_ndtri_tail_f64(double p) {
    double t = sqrt(-2 * log(p));
    double z = (2.515517 + t * (0.802853 + t * 0.010328)) /
                   (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))) -
               t;
    for (int i = 0; i < 3; i++) {
        double u = (scalar_ndtr_f64(z) - p) * 2.50662827463100050242 * exp(0.5 * z * z);
        if (u - u != 0) break; /* p is denormal: the start is as close as possible */
        z -= u / (1 + 0.5 * z * u);
    }
    return z;
}
SCALAR_FN double scalar_ndtri_f64(double p) {
    if (p == 0) return -SCALAR_INF;
    if (p == 1) return SCALAR_INF;
    if (!(p > 0 && p < 1)) return SCALAR_NAN;
    if (p == 0.5) return 0;
    return p <= 0.5 ? scalar_ndtri_tail_f64(p) : -scalar_ndtri_tail_f64(1 - p);
}

SCALAR_FN double scalar_erfinv_f64(double y) {
    double a = fabs(y);
    if (!(a <= 1)) return SCALAR_NAN;
    if (a == 1) return copysign(SCALAR_INF, y);
    if (a > 0.5) return copysign(scalar_ndtri_tail_f64(0.5 * (1 - a)) * SCALAR_SQRT1_2, y);
    double w = SCALAR_PI * y * y; /* Maclaurin's series, then Newton steps */
    double x = 0.88622692545275801365 * y *
               (1 + w * (1.0 / 12 + w * (7.0 / 480 + w * (127.0 / 40320))));
    for (int i = 0; i < 3; i++) x -= (erf(x) - y) * 0.88622692545275801365 * exp(x * x);
    return x;
}

SCALAR_FN double scalar_entr_f64(double x) {
    if (x != x) return x;
    return x > 0 ? -x * log(x) : x == 0 ? 0 : -SCALAR_INF;
}

/* ---- Bessel functions ------------------------------------------------------------------------ */

/* e^-|x| I_order(|x|), order 0 or 1: DLMF 10.25.2 (all terms positive) and 10.40.1. */
SCALAR_FN double scalar_bessel_ie_f64(double x, int order) {
    double a = fabs(x), sum = 1, term = 1;
    if (a != a) return a;
    if (a < 25) {
        double z = 0.25 * a * a;
        for (int k = 1; k < 200; k++) {
            term *= z / ((double)k * (k + order));
            sum += term;
            if (term < sum * 1e-17) break;
        }
        return sum * exp(-a) * (order ? 0.5 * a : 1);
    }
    for (int k = 1; k < 30; k++) {
        double odd = 2 * k - 1;
        term *= -(4.0 * order * order - odd * odd) / (k * 8 * a);
        sum += term;
        if (fabs(term) < 1e-17) break;
    }
    return sum / (sqrt(2 * SCALAR_PI) * sqrt(a));
}
SCALAR_FN double scalar_i0e_f64(double x) { return scalar_bessel_ie_f64(x, 0); }
SCALAR_FN double scalar_i1e_f64(double x) {
    return x < 0 ? -scalar_bessel_ie_f64(x, 1) : scalar_bessel_ie_f64(x, 1);
} /* 0 of -0 */
SCALAR_FN double scalar_i0_f64(double x) { return exp(fabs(x)) * scalar_i0e_f64(x); }
SCALAR_FN double scalar_i1_f64(double x) { return exp(fabs(x)) * scalar_i1e_f64(x); }

/* e^x K_order(x), order 0, 1/3 or 1: the integral of exp(-x (cosh t - 1)) cosh(order t), t > 0 (DLMF 10.32.9), up to where the exponent is
 * -45; far out 10.40.2; near 0, where the integrand is wide, 10.30.2 and 10.30.3. */
SCALAR_FN double scalar_bessel_ke_f64(double x, double order) {
    if (x != x || x < 0) return SCALAR_NAN;
    if (x == 0) return SCALAR_INF;
    if (x - x != 0) return 0;
    if (x < 1e-9 && order == 0)
        return 0.11593151565841244881 - log(x); /* log 2 - Euler's constant */
    if (x < 1e-9 && order == 1) return 1 / x;
    if (x > 100) {
        double sum = 1, term = 1;
        for (int k = 1; k < 30 && fabs(term) > 1e-17; k++) {
            double odd = 2 * k - 1;
            term *= (4 * order * order - odd * odd) / (k * 8 * x);
            sum += term;
        }
        return sum * sqrt(0.5 * SCALAR_PI) / sqrt(x);
    }
    double end = acosh(1 + 45 / x) + 1, h = end / 128, sum = 0.5;
    for (int i = 1; i <= 128; i++) {
        double t = i * h, s = sinh(0.5 * t);
        sum += exp(-2 * x * s * s) * cosh(order * t);
    }
    return sum * h;
}
SCALAR_FN double scalar_bessel_k0e_f64(double x) { return scalar_bessel_ke_f64(x, 0); }
SCALAR_FN double scalar_bessel_k1e_f64(double x) { return scalar_bessel_ke_f64(x, 1); }
SCALAR_FN double scalar_bessel_k0_f64(double x) {
    return x - x != 0 ? scalar_bessel_k0e_f64(x) : scalar_bessel_k0e_f64(x) * exp(-x);
}
SCALAR_FN double scalar_bessel_k1_f64(double x) {
    return x - x != 0 ? scalar_bessel_k1e_f64(x) : scalar_bessel_k1e_f64(x) * exp(-x);
}
/* J and Y of order 0 and 1, by S. L. Moshier's approximations (Cephes, j0.c and j1.c) as PyTorch evaluates them: the denominators that
 * should begin with z^n begin with the next term, which costs up to 1e-6 around x = 6. z is x^2 up to 5, else 25 / x^2. */
SCALAR_FN double scalar_bessel0_rp(double z) {
    return ((-4.79443220978201773821e+09 * z + 1.95617491946556577543e+12) * z -
            2.49248344360967716204e+14) *
               z +
           9.70862251047306323952e+15;
}
SCALAR_FN double scalar_bessel0_rq(double z) {
    return ((((((4.99563147152651017219e+02 * z + 1.73785401676374683123e+05) * z +
                4.84409658339962045305e+07) *
                   z +
               1.11855537045356834862e+10) *
                  z +
              2.11277520115489217587e+12) *
                 z +
             3.10518229857422583814e+14) *
                z +
            3.18121955943204943306e+16) *
               z +
           1.71086294081043136091e+18;
}
SCALAR_FN double scalar_bessel0_pp(double z) {
    return (((((7.96936729297347051624e-04 * z + 8.28352392107440799803e-02) * z +
               1.23953371646414299388e+00) *
                  z +
              5.44725003058768775090e+00) *
                 z +
             8.74716500199817011941e+00) *
                z +
            5.30324038235394892183e+00) *
               z +
           9.99999999999999997821e-01;
}
SCALAR_FN double scalar_bessel0_pq(double z) {
    return (((((9.24408810558863637013e-04 * z + 8.56288474354474431428e-02) * z +
               1.25352743901058953537e+00) *
                  z +
              5.47097740330417105182e+00) *
                 z +
             8.76190883237069594232e+00) *
                z +
            5.30605288235394617618e+00) *
               z +
           1.00000000000000000218e+00;
}
SCALAR_FN double scalar_bessel0_qp(double z) {
    return ((((((-1.13663838898469149931e-02 * z - 1.28252718670509318512e+00) * z -
                1.95539544257735972385e+01) *
                   z -
               9.32060152123768231369e+01) *
                  z -
              1.77681167980488050595e+02) *
                 z -
             1.47077505154951170175e+02) *
                z -
            5.14105326766599330220e+01) *
               z -
           6.05014350600728481186e+00;
}
SCALAR_FN double scalar_bessel0_qq(double z) {
    return (((((6.43178256118178023184e+01 * z + 8.56430025976980587198e+02) * z +
               3.88240183605401609683e+03) *
                  z +
              7.24046774195652478189e+03) *
                 z +
             5.93072701187316984827e+03) *
                z +
            2.06209331660327847417e+03) *
               z +
           2.42005740240291393179e+02;
}
SCALAR_FN double scalar_bessel0_yp(double z) {
    return ((((((1.55924367855235737965e+04 * z - 1.46639295903971606143e+07) * z +
                5.43526477051876500413e+09) *
                   z -
               9.82136065717911466409e+11) *
                  z +
              8.75906394395366999549e+13) *
                 z -
             3.46628303384729719441e+15) *
                z +
            4.42733268572569800351e+16) *
               z -
           1.84950800436986690637e+16;
}
SCALAR_FN double scalar_bessel0_yq(double z) {
    return (((((1.04128353664259848412e+03 * z + 6.26107330137134956842e+05) * z +
               2.68919633393814121987e+08) *
                  z +
              8.64002487103935000337e+10) *
                 z +
             2.02979612750105546709e+13) *
                z +
            3.17157752842975028269e+15) *
               z +
           2.50596256172653059228e+17;
}
SCALAR_FN double scalar_bessel1_rp(double z) {
    return ((-8.99971225705559398224e+08 * z + 4.52228297998194034323e+11) * z -
            7.27494245221818276015e+13) *
               z +
           3.68295732863852883286e+15;
}
SCALAR_FN double scalar_bessel1_rq(double z) {
    return ((((((6.20836478118054335476e+02 * z + 2.56987256757748830383e+05) * z +
                8.35146791431949253037e+07) *
                   z +
               2.21511595479792499675e+10) *
                  z +
              4.74914122079991414898e+12) *
                 z +
             7.84369607876235854894e+14) *
                z +
            8.95222336184627338078e+16) *
               z +
           5.32278620332680085395e+18;
}
SCALAR_FN double scalar_bessel1_pp(double z) {
    return (((((7.62125616208173112003e-04 * z + 7.31397056940917570436e-02) * z +
               1.12719608129684925192e+00) *
                  z +
              5.11207951146807644818e+00) *
                 z +
             8.42404590141772420927e+00) *
                z +
            5.21451598682361504063e+00) *
               z +
           1.00000000000000000254e+00;
}
SCALAR_FN double scalar_bessel1_pq(double z) {
    return (((((5.71323128072548699714e-04 * z + 6.88455908754495404082e-02) * z +
               1.10514232634061696926e+00) *
                  z +
              5.07386386128601488557e+00) *
                 z +
             8.39985554327604159757e+00) *
                z +
            5.20982848682361821619e+00) *
               z +
           9.99999999999999997461e-01;
}
SCALAR_FN double scalar_bessel1_qp(double z) {
    return ((((((5.10862594750176621635e-02 * z + 4.98213872951233449420e+00) * z +
                7.58238284132545283818e+01) *
                   z +
               3.66779609360150777800e+02) *
                  z +
              7.10856304998926107277e+02) *
                 z +
             5.97489612400613639965e+02) *
                z +
            2.11688757100572135698e+02) *
               z +
           2.52070205858023719784e+01;
}
SCALAR_FN double scalar_bessel1_qq(double z) {
    return (((((7.42373277035675149943e+01 * z + 1.05644886038262816351e+03) * z +
               4.98641058337653607651e+03) *
                  z +
              9.56231892404756170795e+03) *
                 z +
             7.99704160447350683650e+03) *
                z +
            2.82619278517639096600e+03) *
               z +
           3.36093607810698293419e+02;
}
SCALAR_FN double scalar_bessel1_yp(double z) {
    return ((((1.26320474790178026440e+09 * z - 6.47355876379160291031e+11) * z +
              1.14509511541823727583e+14) *
                 z -
             8.12770255501325109621e+15) *
                z +
            2.02439475713594898196e+17) *
               z -
           7.78877196265950026825e+17;
}
SCALAR_FN double scalar_bessel1_yq(double z) {
    return ((((((5.94301592346128195359e+02 * z + 2.35564092943068577943e+05) * z +
                7.34811944459721705660e+07) *
                   z +
               1.87601316108706159478e+10) *
                  z +
              3.88231277496238566008e+12) *
                 z +
             6.20557727146953693363e+14) *
                z +
            6.87141087355300489866e+16) *
               z +
           3.97270608116560655612e+18;
}
/* x > 5: the asymptotic wave of J (turn 0) or Y, a quarter of a turn later */
SCALAR_FN double scalar_bessel0_wave(double x, int turn) {
    double z = 25 / (x * x), at = x - 0.785398163397448309615660845819875721;
    double p = scalar_bessel0_pp(z) / scalar_bessel0_pq(z),
           q = 5 / x * (scalar_bessel0_qp(z) / scalar_bessel0_qq(z));
    double wave = turn ? p * sin(at) + q * cos(at) : p * cos(at) - q * sin(at);
    return wave * 0.797884560802865355879892119868763737 / sqrt(x);
}
/* x > 5: the asymptotic wave of J (turn 0) or Y, a quarter of a turn later */
SCALAR_FN double scalar_bessel1_wave(double x, int turn) {
    double z = 25 / (x * x), at = x - 2.356194490192344928846982537459627163;
    double p = scalar_bessel1_pp(z) / scalar_bessel1_pq(z),
           q = 5 / x * (scalar_bessel1_qp(z) / scalar_bessel1_qq(z));
    double wave = turn ? p * sin(at) + q * cos(at) : p * cos(at) - q * sin(at);
    return wave * 0.797884560802865355879892119868763737 / sqrt(x);
}
SCALAR_FN double scalar_bessel_j0_f64(double x) {
    double a = fabs(x), z = x * x;
    if (a < 0.00001) return 1 - z / 4;
    if (!(a <= 5)) return scalar_bessel0_wave(a, 0);
    return (z - 5.78318596294678452118e+00) * (z - 3.04712623436620863991e+01) *
           scalar_bessel0_rp(z) / scalar_bessel0_rq(z);
}
SCALAR_FN double scalar_bessel_j1_f64(double x) {
    double a = fabs(x), z = x * x;
    if (!(a <= 5)) return x < 0 ? -scalar_bessel1_wave(a, 0) : scalar_bessel1_wave(a, 0);
    return scalar_bessel1_rp(z) / scalar_bessel1_rq(z) * x * (z - 1.46819706421238932572e+01) *
           (z - 4.92184563216946036703e+01);
}
SCALAR_FN double scalar_bessel_y0_f64(double x) {
    double z = x * x;
    if (x == 0) return -SCALAR_INF;
    if (x < 0) return SCALAR_NAN;
    if (!(x <= 5)) return scalar_bessel0_wave(x, 1);
    return scalar_bessel0_yp(z) / scalar_bessel0_yq(z) +
           2 / SCALAR_PI * log(x) * scalar_bessel_j0_f64(x);
}
SCALAR_FN double scalar_bessel_y1_f64(double x) {
    double z = x * x;
    if (x == 0) return -SCALAR_INF;
    if (x < 0) return SCALAR_NAN;
    if (!(x <= 5)) return scalar_bessel1_wave(x, 1);
    return x * (scalar_bessel1_yp(z) / scalar_bessel1_yq(z)) +
           2 / SCALAR_PI * (scalar_bessel_j1_f64(x) * log(x) - 1 / x);
}
SCALAR_FN double scalar_spherical_j0_f64(double x) {
    double z = x * x;
    if (fabs(x) == SCALAR_INF) return 0;
    return z < 0.25 ? 1 - z / 6 * (1 - z / 20 * (1 - z / 42 * (1 - z / 72 * (1 - z / 110))))
                    : sin(x) / x;
}
/* Maclaurin's series near 0 (DLMF 9.4.1), K_1/3 for larger x (9.6.2), the oscillating asymptotic
 * series for negative x (9.7.9). */
SCALAR_FN double scalar_airy_ai_f64(double x) {
    if (x != x) return x;
    double a = fabs(x), xi = 2.0 / 3 * a * sqrt(a);
    if (a == SCALAR_INF) return SCALAR_NAN; /* as in PyTorch */
    if (x > 2) {
        if (xi > 745) return 0;
        return sqrt(x / 3) / SCALAR_PI * scalar_bessel_ke_f64(xi, 1.0 / 3) * exp(-xi);
    }
    if (x >= -7) {
        double f = 1, g = x, tf = 1, tg = x, cube = x * x * x;
        for (int k = 1; k < 100; k++) {
            tf *= cube / ((3.0 * k - 1) * (3.0 * k));
            tg *= cube / ((3.0 * k) * (3.0 * k + 1));
            f += tf;
            g += tg;
            if (fabs(tf) + fabs(tg) < 1e-18) break;
        }
        return 0.35502805388781723926 * f - 0.25881940379280679840 * g;
    }
    double even = 1, odd = 0, u = 1;
    for (int k = 1; k < 24; k++) {
        u *= (6.0 * k - 5) * (6.0 * k - 3) * (6.0 * k - 1) / (216.0 * k * (2.0 * k - 1)) / xi;
        double sign = (k / 2) % 2 ? -1 : 1;
        if (k % 2) odd += sign * u;
        else even += sign * u;
        if (u < 1e-17) break;
    }
    double phase = xi - SCALAR_PI / 4;
    return (cos(phase) * even + sin(phase) * odd) / (sqrt(SCALAR_PI) * sqrt(sqrt(a)));
}

/* The degree of a polynomial as an integer; -1, for which all are 0, if there is none. */
SCALAR_FN int64_t scalar_degree_f64(double n) { return n > -1 && n < 9e18 ? (int64_t)n : -1; }

/* ---- polynomials of high degree (scalar_ops_polynomials.h has the others) ----------------
 * A degree is a number that a program computes: its size must not decide how long a call takes. Above SCALAR_DEGREE_SUMMED closed or asymptotic forms
 * take over, whose error falls with the square of the degree and is below 1e-9 of the polynomial's amplitude there. Recurrences that overflow end as
 * infinity minus infinity, so that a closed form which does is nan. */

enum { SCALAR_DEGREE_SUMMED = 8192 };

SCALAR_FN double scalar_overflowed_f64(double r) { return r - r == 0 ? r : SCALAR_NAN; }

/* Chebyshev's outside [-1, 1] (DLMF 18.5.1 to 18.5.4). There T and U keep or change their sign with x's, V and W change places. */
SCALAR_FN double scalar_chebyshev_t_beyond_f64(double x, int64_t n) {
    return (x < 0 && n % 2 ? -1 : 1) * cosh((double)n * acosh(fabs(x)));
}
SCALAR_FN double scalar_chebyshev_u_beyond_f64(double x, int64_t n) {
    double a = acosh(fabs(x));
    return (x < 0 && n % 2 ? -1 : 1) * sinh(((double)n + 1) * a) / sinh(a);
}
/* V; W if w. */
SCALAR_FN double scalar_chebyshev_half_beyond_f64(double x, int64_t n, int w) {
    double a = acosh(fabs(x)), m = (double)n + 0.5;
    return (x < 0 && n % 2 ? -1 : 1) *
           (w == (x >= 0) ? sinh(m * a) / sinh(a / 2) : cosh(m * a) / cosh(a / 2));
}
/* Laguerre's polynomial where the recurrence has not overflowed, so that |x| is small beside v = 4 n + 2: the first two terms of the uniform expansion
 * in Bessel functions (DLMF 18.15.19), modified ones for negative x. */
SCALAR_FN double scalar_laguerre_far_f64(double x, double n) {
    double v = 4 * n + 2, t = fabs(x) / v, side = x < 0 ? -1 : 1, rest = 1 - side * t,
           ratio = side * t / rest, root = sqrt(t * rest);
    double xi = 0.5 * (root + (x < 0 ? log1p(sqrt(t) + t / (1 + sqrt(rest))) : asin(sqrt(t)))),
           z = v * xi;
    double second =
        -(0.125 + xi * sqrt(rest / t) * (-0.125 + 0.25 * ratio + 5.0 / 24 * ratio * ratio)) / v;
    double zero = x < 0 ? scalar_i0e_f64(z) : scalar_bessel_j0_f64(z),
           one = x < 0 ? scalar_i1e_f64(z) : scalar_bessel_j1_f64(z);
    return scalar_overflowed_f64(exp(0.5 * x + (x < 0 ? z : 0)) * sqrt(xi / root) *
                                 (zero + second * one / xi));
}
/* Legendre's polynomial for x >= 0, not 1: the first two terms of the uniform expansion in Bessel functions (DLMF 14.15.11), modified ones for x > 1. */
SCALAR_FN double scalar_legendre_far_f64(double x, double n) {
    double u = n + 0.5, a = x > 1 ? acosh(x) : acos(x), z = u * a,
           tangent = x > 1 ? tanh(a) : tan(a);
    /* (1 - a cot a) / (8 a) is a / 24 to its last digit where the difference is lost */
    double second = (a < 1e-4 ? (x > 1 ? -a / 24 : a / 24) : (1 - a / tangent) / (8 * a)) / u;
    double zero = x > 1 ? scalar_i0_f64(z) : scalar_bessel_j0_f64(z),
           one = x > 1 ? scalar_i1_f64(z) : scalar_bessel_j1_f64(z);
    return scalar_overflowed_f64(sqrt(a / (x > 1 ? sinh(a) : sin(a))) * (zero - second * one));
}
#endif
/* clang-format on */
