/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_scalar_math.c - the elementary functions of ir/scalar/scalar_ops.h against libm's double
 * functions, over every exponent of float and both signs, special values included.
 *
 * An error is counted in units in the last place of the float nearest to the true result (denormal
 * results: in units of the smallest one). The limits are what the functions reach plus a little.
 */
#include "support.h"

#include "ir/scalar/scalar_ops.h"

#include <math.h>

typedef struct math_case {
    const char *name;
    float (*got)(float);
    double (*want)(double);
    double limit; /* in ulp */
} math_case;

static double math_sigmoid(double x) { return 1 / (1 + exp(-x)); }

/* The short forms have no denormal results, and are infinite where 2^n is. */
static double math_short(double y) {
    return y < 0x1p-126 * 0.70710678118654752  ? 0
           : y > 0x1p127 * 1.41421356237309505 ? INFINITY
                                               : y;
}
static double math_exp_short(double x) { return math_short(exp(x)); }
static double math_exp2_short(double x) { return math_short(exp2(x)); }
static float math_below(float x) { return scalar_exp_below_f32(-fabsf(x)); }
static double math_exp_below(double x) { return math_short(exp(-fabs(x))); }

static const math_case math_cases[] = {
    {"exp", scalar_exp_f32, exp, 1.6},
    {"exp2", scalar_exp2_f32, exp2, 1.6},
    {"exp_short", scalar_exp_short_f32, math_exp_short, 2.5},
    {"exp2_short", scalar_exp2_short_f32, math_exp2_short, 2.5},
    {"exp_below", math_below, math_exp_below, 2.5},
    {"expm1", scalar_expm1_f32, expm1, 4},
    {"log", scalar_log_f32, log, 1.6},
    {"log2", scalar_log2_f32, log2, 0.6},
    {"log1p", scalar_log1p_f32, log1p, 3.5},
    {"sin", scalar_sin_f32, sin, 1.6},
    {"cos", scalar_cos_f32, cos, 1.6},
    {"atan", scalar_atan_f32, atan, 0.6},
    {"tanh", scalar_tanh_f32, tanh, 2.5},
    {"erf", scalar_erf_f32, erf, 3},
    {"sigmoid", scalar_sigmoid_f32, math_sigmoid, 2.5},
};

/* The distance in ulp, 0 if both are NaN or the same infinity. */
static double math_error(float got, double want) {
    if (want != want) return got != got ? 0 : INFINITY;
    if (fabs(want) >= 0x1.ffffffp127)
        return isinf(got) && (got > 0) == (want > 0) ? 0
               : fabsf(got) >= 0x1.fffffep127f       ? 1
                                                     : INFINITY;
    if (!isfinite(got)) return INFINITY;
    int e;
    frexp(want, &e);
    double ulp = ldexp(1, (e < -125 ? -125 : e) - 24);
    return fabs((double)got - want) / ulp;
}

static uint32_t math_random(uint64_t *s) {
    *s = *s * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*s >> 33);
}

static void math_sweep(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof math_cases / sizeof *math_cases; k++) {
        const math_case *c = &math_cases[k];
        uint64_t seed = 7;
        double worst = 0;
        float where = 0;
        for (uint32_t e = 0; e < 256; e++)
            for (uint32_t sign = 0; sign < 2; sign++)
                for (int i = 0; i < 2000; i++) {
                    uint32_t mantissa = i == 0   ? 0
                                        : i == 1 ? 0x7fffff
                                                 : math_random(&seed) & 0x7fffff;
                    float x = scalar_from_bits_f32(sign << 31 | e << 23 | mantissa);
                    double error = math_error(c->got(x), c->want(x));
                    if (error > worst) worst = error, where = x;
                }
        if (getenv("VERBOSE")) printf("%-10s %.3f ulp at %.9g\n", c->name, worst, (double)where);
        if (!(worst <= c->limit))
            fail_msg("%s(%.9g) is %.9g, not %.17g: %.2f ulp", c->name, (double)where,
                     (double)c->got(where), c->want(where), worst);
    }
}

/* Floats nearest to multiples of pi/2, where the reduction loses most. */
static void math_angles(void **state) {
    (void)state;
    for (int64_t k = 1; k < 4000000; k = k < 100000 ? k + 1 : k + 977) {
        float x = (float)((double)k * 1.57079632679489661923);
        assert_true(math_error(scalar_sin_f32(x), sin(x)) <= 1.6 &&
                    math_error(scalar_cos_f32(x), cos(x)) <= 1.6);
    }
    assert_true(signbit(scalar_sin_f32(-0.0f)) && scalar_cos_f32(0) == 1);
}

static void math_pow(void **state) {
    (void)state;
    static const float special[] = {
        0,     -0.0f,  1,        -1,        2,        -2,          3,          -3,          0.5f,
        -0.5f, 1.5f,   -1.5f,    16777216,  16777215, -8388607,    8388607.5f, 1e-45f,      -1e-40f,
        3e38f, -3e38f, INFINITY, -INFINITY, NAN,      0.99999994f, 1.0000001f, -0.99999994f};
    enum { N = sizeof special / sizeof *special };
    double worst = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            float got = scalar_pow_f32(special[i], special[j]);
            double want = pow(special[i], special[j]);
            if (math_error(got, want) > 1 || (want == 0 && !signbit(got) != !signbit(want)))
                fail_msg("pow(%g, %g) is %g, not %g", (double)special[i], (double)special[j],
                         (double)got, want);
        }
    uint64_t seed = 3;
    for (int i = 0; i < 1000000; i++) {
        float x = scalar_from_bits_f32(math_random(&seed) << 1),
              y = ((float)(int32_t)math_random(&seed) - 1073741824.0f) *
                  (i % 2 ? 0x1p-24f : 0x1p-21f);
        if (i % 3 == 0) y = rintf(y);
        float got = scalar_pow_f32(x, y);
        double error = math_error(got, pow(x, y));
        if (error > worst) worst = error;
        if (!(error <= 1))
            fail_msg("pow(%.9g, %.9g) is %.9g, not %.17g", (double)x, (double)y, (double)got,
                     pow(x, y));
    }
    if (getenv("VERBOSE")) printf("pow %.3f ulp\n", worst);
}

/* The double forms, against long double: within 1.1 ulp,
 * over all magnitudes and close to 0, 1 and the ends. */
static double math_error_wide(double got, long double want) {
    if (want != want) return got != got ? 0 : INFINITY;
    if (isinf((double)want) || isinf(got)) return got == (double)want ? 0 : INFINITY;
    int e;
    frexpl(want, &e);
    return (double)(fabsl((long double)got - want) / ldexpl(1, (e < -1021 ? -1021 : e) - 53));
}
static double math_random_wide(uint64_t *s, int i) {
    uint64_t bits = (uint64_t)math_random(s) << 33 ^ (uint64_t)math_random(s) << 11 ^
                    math_random(s);
    double unit = (double)math_random(s) * 0x1p-31 + (double)math_random(s) * 0x1p-62;
    return i % 4 == 0   ? scalar_from_bits_f64(bits)
           : i % 4 == 1 ? unit * 1490 - 745
           : i % 4 == 2 ? unit + 0.5
                        : unit * 1e-300;
}
static void math_double(void **state) {
    (void)state;
    uint64_t seed = 11;
    for (int i = 0; i < 1000000; i++) {
        double x = math_random_wide(&seed, i);
        double exp_error = math_error_wide(scalar_exp_f64(x), expl(x)),
               log_error = math_error_wide(scalar_log_f64(x), logl(x));
        if (!(exp_error <= 1.1 && log_error <= 1))
            fail_msg("%.17g: exp %.2f ulp, log %.2f ulp", x, exp_error, log_error);
    }
    assert_true(scalar_exp_f64(-INFINITY) == 0 && scalar_exp_f64(INFINITY) == INFINITY &&
                scalar_exp_f64(0) == 1 && isnan(scalar_exp_f64(NAN)));
    assert_true(scalar_log_f64(0) == -INFINITY && scalar_log_f64(INFINITY) == INFINITY &&
                scalar_log_f64(1) == 0 && isnan(scalar_log_f64(NAN)));
}

/* Two operands: every pair of special values, then quotients of all sizes. fmod is exact. The near
 * forms of sin and cos are the same numbers. */
static void math_pairs(void **state) {
    (void)state;
    static const float special[] = {0,      -0.0f,   1,     -1,     0.5f,     3,         -7.25f,
                                    1e-45f, -1e-40f, 3e38f, -3e38f, INFINITY, -INFINITY, NAN};
    enum { N = sizeof special / sizeof *special };
    uint64_t seed = 5;
    for (int i = 0; i < 1000000; i++) {
        float x = scalar_from_bits_f32(math_random(&seed) << 1 ^ math_random(&seed)),
              y = scalar_from_bits_f32(math_random(&seed) << 1 ^ math_random(&seed));
        if (i < N * N) x = special[i / N], y = special[i % N];
        else if (i % 2)
            y = ldexpf(x, -(int)(math_random(&seed) % 30)) * (float)(1 + math_random(&seed) % 5);
        float angle = scalar_atan2_f32(y, x), left = scalar_fmod_f32(x, y), want = fmodf(x, y);
        if (!(math_error(angle, atan2(y, x)) <= 0.6) ||
            (angle == angle && !signbit(angle) != !signbit(y)))
            fail_msg("atan2(%.9g, %.9g) is %.9g", (double)y, (double)x, (double)angle);
        if (want == want ? left != want || !signbit(left) != !signbit(want) : left == left)
            fail_msg("fmod(%.9g, %.9g) is %.9g, not %.9g", (double)x, (double)y, (double)left,
                     (double)want);
        if (fabsf(x) < 0x1p26f)
            assert_true(scalar_sin_near_f32(x) == scalar_sin_f32(x) &&
                        scalar_cos_near_f32(x) == scalar_cos_f32(x));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(math_sweep),  cmocka_unit_test(math_angles), cmocka_unit_test(math_pow),
        cmocka_unit_test(math_double), cmocka_unit_test(math_pairs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
