/* SPDX-License-Identifier: Apache-2.0 */
/*
 * py_math.c - the modules math and cmath.
 *
 * Method. Functions of one or two doubles are rows of a table with a C function each, called by one
 * builtin per row (the X-macros make them); domain and range errors are told from the result as
 * Python does: NaN out of numbers is a ValueError, infinity out of finite numbers an OverflowError
 * or, at a pole, a ValueError.
 * Tests: tests/unit/test_py_torch.c
 */
#include "frontend/pyeval/lib/py_lib.h"

#include <complex.h>
#undef complex /* a member of value is called that */
#include <math.h>

#ifndef CMPLX /* glibc's is for gcc alone */
#define CMPLX(re, im) __builtin_complex((double)(re), (double)(im))
#endif

static py_object *math_result(py *p, source_range r, double out, double x, double y) {
    if (isnan(out) && !isnan(x) && !isnan(y))
        return py_fail(p, r, "ValueError", "math domain error");
    if (isinf(out) && isfinite(x) && isfinite(y))
        return py_fail(p, r, "OverflowError", "math range error");
    return py_float(p, out);
}

static py_object *math_call1(py *p, source_range r, const char *name, double (*f)(double),
                             int nargs, py_object **args, int nkw, const char *const *names,
                             py_object **kwargs) {
    py_object *a[1];
    double x;
    if (!py_bind(p, r, name, "x", PY_GIVEN, a) || !py_as_float(p, r, a[0], &x)) return NULL;
    return math_result(p, r, f(x), x, 0);
}

static py_object *math_call2(py *p, source_range r, const char *name, double (*f)(double, double),
                             int nargs, py_object **args, int nkw, const char *const *names,
                             py_object **kwargs) {
    py_object *a[2];
    double x, y;
    if (!py_bind(p, r, name, "x y", PY_GIVEN, a) || !py_as_float(p, r, a[0], &x) ||
        !py_as_float(p, r, a[1], &y))
        return NULL;
    return math_result(p, r, f(x, y), x, y);
}

static double math_degrees_of(double x) { return x * (180.0 / M_PI); }
static double math_radians_of(double x) { return x * (M_PI / 180.0); }
static double math_gamma_of(double x) { return x == floor(x) && x <= 0 ? NAN : tgamma(x); }
static double math_lgamma_of(double x) { return lgamma(x); }
static double math_log2_of(double x) { return x <= 0 ? NAN : log2(x); }
static double math_log10_of(double x) { return x <= 0 ? NAN : log10(x); }
static double math_log1p_of(double x) { return x <= -1 ? NAN : log1p(x); }
static double math_atanh_of(double x) { return fabs(x) >= 1 ? NAN : atanh(x); }
static double math_pow_of(double x, double y) { return x == 0 && y < 0 ? NAN : pow(x, y); }
static double math_exp2_of(double x) { return exp2(x); }

/* clang-format off */
#define MATH_ONE(X)                                                                                \
    X(sqrt, sqrt) X(exp, exp) X(exp2, math_exp2_of) X(expm1, expm1) X(log2, math_log2_of) X(log10, math_log10_of)         \
    X(log1p, math_log1p_of) X(sin, sin) X(cos, cos) X(tan, tan) X(asin, asin) X(acos, acos) X(atan, atan) X(sinh, sinh)   \
    X(cosh, cosh) X(tanh, tanh) X(asinh, asinh) X(acosh, acosh) X(atanh, math_atanh_of) X(erf, erf) X(erfc, erfc)         \
    X(gamma, math_gamma_of) X(lgamma, math_lgamma_of) X(fabs, fabs) X(degrees, math_degrees_of)    \
    X(radians, math_radians_of) X(cbrt, cbrt)
#define MATH_TWO(X)                                                                                \
    X(atan2, atan2)                                                                                \
    X(pow, math_pow_of) X(copysign, copysign) X(fmod, fmod) X(remainder, remainder) X(nextafter, nextafter)
/* clang-format on */

#define MATH_ONE_FN(name, f)                                                                       \
    static py_object *math_##name(PY_ARGS) {                                                       \
        (void)self;                                                                                \
        return math_call1(p, r, #name, f, PY_GIVEN);                                               \
    }
#define MATH_TWO_FN(name, f)                                                                       \
    static py_object *math_##name(PY_ARGS) {                                                       \
        (void)self;                                                                                \
        return math_call2(p, r, #name, f, PY_GIVEN);                                               \
    }
MATH_ONE(MATH_ONE_FN)
MATH_TWO(MATH_TWO_FN)

static py_object *math_log(PY_ARGS) {
    py_object *a[2];
    (void)self;
    double x, base = 0;
    if (!py_bind(p, r, "log", "x base?", PY_GIVEN, a) || !py_as_float(p, r, a[0], &x)) return NULL;
    if (a[1] && !py_as_float(p, r, a[1], &base)) return NULL;
    if (x <= 0 || (a[1] && base <= 0)) return py_fail(p, r, "ValueError", "math domain error");
    if (!a[1]) return py_float(p, log(x));
    return base == 1 ? py_fail(p, r, "ZeroDivisionError", "float division by zero")
                     : py_float(p, log(x) / log(base));
}

/* floor, ceil, trunc: ints. */
static py_object *math_whole(py *p, source_range r, const char *name, double (*f)(double),
                             int nargs, py_object **args, int nkw, const char *const *names,
                             py_object **kwargs) {
    py_object *a[1];
    double x;
    if (!py_bind(p, r, name, "x", PY_GIVEN, a)) return NULL;
    if (a[0]->kind == PY_VALUE && a[0]->u.v.tag == V_INT) return a[0];
    if (!py_as_float(p, r, a[0], &x)) return NULL;
    if (isnan(x)) return py_fail(p, r, "ValueError", "cannot convert float NaN to integer");
    if (isinf(x)) return py_fail(p, r, "OverflowError", "cannot convert float infinity to integer");
    x = f(x);
    if (x < -0x1p63 || x >= 0x1p63)
        return py_fail(p, r, "OverflowError", "the integer does not fit in 64 bits");
    return py_int(p, (int64_t)x);
}
static py_object *math_floor(PY_ARGS) {
    return (void)self, math_whole(p, r, "floor", floor, PY_GIVEN);
}
static py_object *math_ceil(PY_ARGS) {
    return (void)self, math_whole(p, r, "ceil", ceil, PY_GIVEN);
}
static py_object *math_trunc(PY_ARGS) {
    return (void)self, math_whole(p, r, "trunc", trunc, PY_GIVEN);
}

static py_object *math_modf(PY_ARGS) {
    py_object *a[1];
    (void)self;
    double x, whole;
    if (!py_bind(p, r, "modf", "x", PY_GIVEN, a) || !py_as_float(p, r, a[0], &x)) return NULL;
    double part = modf(x, &whole);
    py_object *both[] = {py_float(p, part), py_float(p, whole)};
    return py_tuple(p, 2, both);
}

static py_object *math_frexp(PY_ARGS) {
    py_object *a[1];
    (void)self;
    double x;
    int e = 0;
    if (!py_bind(p, r, "frexp", "x", PY_GIVEN, a) || !py_as_float(p, r, a[0], &x)) return NULL;
    double m = frexp(x, &e);
    py_object *both[] = {py_float(p, m), py_int(p, isfinite(x) ? e : 0)};
    return py_tuple(p, 2, both);
}

static py_object *math_ldexp(PY_ARGS) {
    py_object *a[2];
    (void)self;
    double x;
    int64_t i;
    if (!py_bind(p, r, "ldexp", "x i", PY_GIVEN, a) || !py_as_float(p, r, a[0], &x) ||
        !py_as_int(p, r, a[1], &i))
        return NULL;
    if (i > 100000) i = 100000;
    if (i < -100000) i = -100000;
    return math_result(p, r, ldexp(x, (int)i), x, 0);
}

#define MATH_QUESTION(name, test)                                                                  \
    static py_object *math_##name(PY_ARGS) {                                                       \
        py_object *a[1];                                                                           \
        (void)self;                                                                                \
        double x;                                                                                  \
        if (!py_bind(p, r, #name, "x", PY_GIVEN, a) || !py_as_float(p, r, a[0], &x)) return NULL;  \
        return py_bool(p, test(x));                                                                \
    }
MATH_QUESTION(isnan, isnan)
MATH_QUESTION(isinf, isinf)
MATH_QUESTION(isfinite, isfinite)

static py_object *math_isclose(PY_ARGS) {
    py_object *a[4];
    (void)self;
    double x, y, rel = 1e-9, abs_tol = 0;
    if (!py_bind(p, r, "isclose", "a b rel_tol? abs_tol?", PY_GIVEN, a)) return NULL;
    if (!py_as_float(p, r, a[0], &x) || !py_as_float(p, r, a[1], &y)) return NULL;
    if ((a[2] && !py_as_float(p, r, a[2], &rel)) || (a[3] && !py_as_float(p, r, a[3], &abs_tol)))
        return NULL;
    bool close = x == y || (isfinite(x) && isfinite(y) &&
                            fabs(x - y) <= fmax(rel * fmax(fabs(x), fabs(y)), abs_tol));
    return py_bool(p, close);
}

/* ---- ints ------------------------------------------------------------------------------------ */

static uint64_t math_gcd_of(uint64_t a, uint64_t b) {
    while (b) {
        uint64_t t = a % b;
        a = b;
        b = t;
    }
    return a;
}

static uint64_t math_abs(int64_t v) { return v < 0 ? 0 - (uint64_t)v : (uint64_t)v; }

static py_object *math_big(py *p, source_range r) {
    return py_fail(p, r, "OverflowError", "the integer does not fit in 64 bits");
}

static py_object *math_gcd(PY_ARGS) {
    (void)self, (void)names, (void)kwargs;
    uint64_t g = 0;
    if (nkw) return py_fail(p, r, "TypeError", "gcd() takes no keyword arguments");
    for (int i = 0; i < nargs; i++) {
        int64_t v;
        if (!py_as_int(p, r, args[i], &v)) return NULL;
        g = math_gcd_of(g, math_abs(v));
    }
    return g > INT64_MAX ? math_big(p, r) : py_int(p, (int64_t)g);
}

static py_object *math_lcm(PY_ARGS) {
    (void)self, (void)names, (void)kwargs;
    int64_t m = 1;
    if (nkw) return py_fail(p, r, "TypeError", "lcm() takes no keyword arguments");
    for (int i = 0; i < nargs; i++) {
        int64_t v;
        if (!py_as_int(p, r, args[i], &v)) return NULL;
        if (!v) return py_int(p, 0);
        uint64_t a = math_abs(v), g = math_gcd_of((uint64_t)m, a);
        if (a / g > INT64_MAX || __builtin_mul_overflow(m, (int64_t)(a / g), &m))
            return math_big(p, r);
    }
    return py_int(p, m);
}

static py_object *math_factorial(PY_ARGS) {
    py_object *a[1];
    (void)self;
    int64_t n, f = 1;
    if (!py_bind(p, r, "factorial", "x", PY_GIVEN, a) || !py_as_int(p, r, a[0], &n)) return NULL;
    if (n < 0) return py_fail(p, r, "ValueError", "factorial() not defined for negative values");
    for (int64_t i = 2; i <= n; i++)
        if (__builtin_mul_overflow(f, i, &f)) return math_big(p, r);
    return py_int(p, f);
}

/* n! / (n-k)!, divided by k! if `choose`. */
static py_object *math_count(py *p, source_range r, const char *name, bool choose, int nargs,
                             py_object **args, int nkw, const char *const *names,
                             py_object **kwargs) {
    py_object *a[2];
    int64_t n, k, out = 1;
    if (!py_bind(p, r, name, "n k", PY_GIVEN, a) || !py_as_int(p, r, a[0], &n) ||
        !py_as_int(p, r, a[1], &k))
        return NULL;
    if (n < 0 || k < 0)
        return py_fail(p, r, "ValueError", "%s() takes non-negative integers", name);
    if (k > n) return py_int(p, 0);
    if (choose && k > n - k) k = n - k;
    for (int64_t i = 0; i < k; i++) {
        __int128 next = (__int128)out * (n - i);
        if (choose) next /= i + 1;
        if (next > INT64_MAX) return math_big(p, r);
        out = (int64_t)next;
    }
    return py_int(p, out);
}
static py_object *math_comb(PY_ARGS) {
    return (void)self, math_count(p, r, "comb", true, PY_GIVEN);
}
static py_object *math_perm(PY_ARGS) {
    return (void)self, math_count(p, r, "perm", false, PY_GIVEN);
}

static py_object *math_isqrt(PY_ARGS) {
    py_object *a[1];
    (void)self;
    int64_t n;
    if (!py_bind(p, r, "isqrt", "n", PY_GIVEN, a) || !py_as_int(p, r, a[0], &n)) return NULL;
    if (n < 0) return py_fail(p, r, "ValueError", "isqrt() argument must be nonnegative");
    int64_t s = (int64_t)sqrt((double)n);
    while (s > 0 && (__int128)s * s > n) s--;
    while ((__int128)(s + 1) * (s + 1) <= n) s++;
    return py_int(p, s);
}

/* ---- sequences ------------------------------------------------------------------------------- */

static py_object *math_prod(PY_ARGS) {
    py_object *a[2], **items;
    (void)self;
    int n;
    if (!py_bind(p, r, "prod", "iterable start?", PY_GIVEN, a) ||
        !py_iterate(p, r, a[0], &items, &n))
        return NULL;
    py_object *out = a[1] ? a[1] : py_int(p, 1);
    for (int i = 0; out && i < n; i++) out = py_binary(p, r, O_MUL, out, items[i]);
    return out;
}

static py_object *math_fsum(PY_ARGS) {
    py_object *a[1], **items;
    (void)self;
    int n;
    long double sum = 0;
    if (!py_bind(p, r, "fsum", "iterable", PY_GIVEN, a) || !py_iterate(p, r, a[0], &items, &n))
        return NULL;
    for (int i = 0; i < n; i++) {
        double x;
        if (!py_as_float(p, r, items[i], &x)) return NULL;
        sum += x;
    }
    return py_float(p, (double)sum);
}

static py_object *math_hypot(PY_ARGS) {
    (void)self, (void)names, (void)kwargs;
    double h = 0;
    if (nkw) return py_fail(p, r, "TypeError", "hypot() takes no keyword arguments");
    for (int i = 0; i < nargs; i++) {
        double x;
        if (!py_as_float(p, r, args[i], &x)) return NULL;
        h = hypot(h, x);
    }
    return py_float(p, h);
}

static py_object *math_dist(PY_ARGS) {
    py_object *a[2], **x, **y;
    (void)self;
    int n, m;
    double h = 0;
    if (!py_bind(p, r, "dist", "p q", PY_GIVEN, a) || !py_iterate(p, r, a[0], &x, &n) ||
        !py_iterate(p, r, a[1], &y, &m))
        return NULL;
    if (n != m)
        return py_fail(p, r, "ValueError", "both points must have the same number of dimensions");
    for (int i = 0; i < n; i++) {
        double u, v;
        if (!py_as_float(p, r, x[i], &u) || !py_as_float(p, r, y[i], &v)) return NULL;
        h = hypot(h, u - v);
    }
    return py_float(p, h);
}

/* ---- complex --------------------------------------------------------------------------------- */

static bool math_as_complex(py *p, source_range r, const py_object *o, double _Complex *out) {
    double x;
    if (o->kind == PY_VALUE && o->u.v.tag == V_COMPLEX) {
        *out = CMPLX(o->u.v.u.complex->re, o->u.v.u.complex->im);
        return true;
    }
    if (!py_as_float(p, r, o, &x)) return false;
    *out = CMPLX(x, 0);
    return true;
}

static py_object *math_complex(py *p, double _Complex z) {
    complex_box *c = complex_new(creal(z), cimag(z));
    return c ? py_value_take(p, (value){.tag = V_COMPLEX, .u.complex = c})
             : (diag_no_memory(p->diag), NULL);
}

static double _Complex math_clog10(double _Complex z) { return clog(z) / CMPLX(M_LN10, 0); }

/* clang-format off */
#define MATH_COMPLEX(X)                                                                            \
    X(sqrt, csqrt) X(exp, cexp) X(log, clog) X(log10, math_clog10) X(sin, csin) X(cos, ccos) X(tan, ctan) X(asin, casin) \
    X(acos, cacos) X(atan, catan) X(sinh, csinh) X(cosh, ccosh) X(tanh, ctanh) X(asinh, casinh) X(acosh, cacosh)         \
    X(atanh, catanh)
/* clang-format on */
#define MATH_COMPLEX_FN(name, f)                                                                   \
    static py_object *cmath_##name(PY_ARGS) {                                                      \
        py_object *a[1];                                                                           \
        (void)self;                                                                                \
        double _Complex z;                                                                         \
        if (!py_bind(p, r, "cmath." #name, "z", PY_GIVEN, a) || !math_as_complex(p, r, a[0], &z))  \
            return NULL;                                                                           \
        return math_complex(p, f(z));                                                              \
    }
MATH_COMPLEX(MATH_COMPLEX_FN)

#define MATH_COMPLEX_ASK(name, answer)                                                             \
    static py_object *cmath_##name(PY_ARGS) {                                                      \
        py_object *a[1];                                                                           \
        (void)self;                                                                                \
        double _Complex z;                                                                         \
        if (!py_bind(p, r, "cmath." #name, "z", PY_GIVEN, a) || !math_as_complex(p, r, a[0], &z))  \
            return NULL;                                                                           \
        return answer;                                                                             \
    }
MATH_COMPLEX_ASK(phase, py_float(p, carg(z)))
MATH_COMPLEX_ASK(isnan, py_bool(p, isnan(creal(z)) || isnan(cimag(z))))
MATH_COMPLEX_ASK(isinf, py_bool(p, isinf(creal(z)) || isinf(cimag(z))))
MATH_COMPLEX_ASK(isfinite, py_bool(p, isfinite(creal(z)) && isfinite(cimag(z))))

static py_object *cmath_rect(PY_ARGS) {
    py_object *a[2];
    (void)self;
    double length, phi;
    if (!py_bind(p, r, "cmath.rect", "r phi", PY_GIVEN, a) || !py_as_float(p, r, a[0], &length) ||
        !py_as_float(p, r, a[1], &phi))
        return NULL;
    return math_complex(p, CMPLX(length * cos(phi), length * sin(phi)));
}

static py_object *cmath_polar(PY_ARGS) {
    py_object *a[1];
    (void)self;
    double _Complex z;
    if (!py_bind(p, r, "cmath.polar", "z", PY_GIVEN, a) || !math_as_complex(p, r, a[0], &z))
        return NULL;
    py_object *both[] = {py_float(p, cabs(z)), py_float(p, carg(z))};
    return py_tuple(p, 2, both);
}

/* ---- the modules ----------------------------------------------------------------------------- */

static const py_row math_rows[] = {
#define MATH_ROW(name, f) {"math." #name, math_##name},
    MATH_ONE(MATH_ROW) MATH_TWO(MATH_ROW) MATH_ROW(log, 0) MATH_ROW(floor, 0) MATH_ROW(ceil, 0)
        MATH_ROW(trunc, 0) MATH_ROW(modf, 0) MATH_ROW(frexp, 0) MATH_ROW(ldexp, 0)
            MATH_ROW(isnan, 0) MATH_ROW(isinf, 0) MATH_ROW(isfinite, 0) MATH_ROW(isclose, 0)
                MATH_ROW(gcd, 0) MATH_ROW(lcm, 0) MATH_ROW(factorial, 0) MATH_ROW(comb, 0)
                    MATH_ROW(perm, 0) MATH_ROW(isqrt, 0) MATH_ROW(prod, 0) MATH_ROW(fsum, 0)
                        MATH_ROW(hypot, 0) MATH_ROW(dist, 0)
#undef MATH_ROW
#define MATH_ROW(name, f) {"cmath." #name, cmath_##name},
                            MATH_COMPLEX(MATH_ROW) MATH_ROW(phase, 0) MATH_ROW(isnan, 0)
                                MATH_ROW(isinf, 0) MATH_ROW(isfinite, 0) MATH_ROW(rect, 0)
                                    MATH_ROW(polar, 0)
#undef MATH_ROW
                                        {NULL, NULL},
};

bool py_math_module(py *p, const char *dotted, py_object *mod) {
    static const struct { const char *name; double v; } constants[] = {
        {"pi", M_PI}, {"e", M_E}, {"tau", 2 * M_PI}, {"inf", INFINITY}, {"nan", NAN}};
    if (strcmp(dotted, "math") && strcmp(dotted, "cmath")) return false;
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++)
        if (!py_module_set_take(p, mod, constants[i].name, py_float(p, constants[i].v)))
            return false;
    if (!strcmp(dotted, "cmath") &&
        (!py_module_set_take(p, mod, "infj", math_complex(p, CMPLX(0, INFINITY))) ||
         !py_module_set_take(p, mod, "nanj", math_complex(p, CMPLX(0, NAN)))))
        return false;
    return py_add_rows(p, mod, math_rows);
}
