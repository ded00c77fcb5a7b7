/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scalar.c - arithmetic, comparison and mathematics on Python numbers.
 *
 * One function serves all overloads of an operator: it looks at the tags, so that .int,
 * .float, .int_float and the Scalar form are rows of one definition. Integers wrap around at
 * 64 bits, as in PyTorch.
 * Tests: tests/unit/test_builtins.c, tests/corpus
 */
#include "runtime/kernels/scalar/complex.h"
#include "tensor/device.h"

#include <math.h>
#include <time.h>

static bool scalar_is_int(const value *v) { return v->tag == V_INT || v->tag == V_BOOL; }
static bool scalar_both_int(const value *a) { return scalar_is_int(&a[0]) && scalar_is_int(&a[1]); }
static ctsc_status scalar_refuse_complex(op_ctx *cx, const value *args, value *results) {
    (void)args, (void)results;
    return diag_fail(cx->diag, CTSC_FAILED, "%s is not defined for complex numbers", cx->op->key);
}
static bool scalar_has_complex(const value *a, int n) {
    for (int i = 0; i < n; i++)
        if (a[i].tag == V_COMPLEX) return true;
    return false;
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

static int64_t scalar_floordiv_int(int64_t a, int64_t b) {
    if (b == -1) return (int64_t)(0 - (uint64_t)a); /* INT64_MIN / -1 traps */
    int64_t q = a / b;
    return q - (a % b != 0 && (a % b < 0) != (b < 0));
}
static int64_t scalar_mod_int(int64_t a, int64_t b) {
    if (b == -1) return 0;
    int64_t r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
static double scalar_mod_float(double a, double b) {
    double r = fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

/* name, function for complex numbers, int result, float result (a and b of that type) */
#define SCALAR_BINARY_OR(name, complex_fn, int_expr, float_expr)                                   \
    ctsc_status op_scalar_##name(op_ctx *cx, const value *args, value *results) {                  \
        if (scalar_has_complex(args, 2)) return complex_fn(cx, args, results);                     \
        if (scalar_both_int(args)) {                                                               \
            int64_t a = arg_int(&args[0]), b = arg_int(&args[1]);                                  \
            return op_return(results, int_expr);                                                   \
        }                                                                                          \
        double a = arg_float(&args[0]), b = arg_float(&args[1]);                                   \
        return op_return(results, float_expr);                                                     \
    }
#define SCALAR_BINARY(name, int_expr, float_expr)                                                  \
    SCALAR_BINARY_OR(name, scalar_refuse_complex, int_expr, float_expr)

#define WRAP(op) value_int((int64_t)((uint64_t)a op(uint64_t) b))
SCALAR_BINARY_OR(add, op_complex_add, WRAP(+), value_float(a + b))
SCALAR_BINARY_OR(sub, op_complex_sub, WRAP(-), value_float(a - b))
SCALAR_BINARY_OR(mul, op_complex_mul, WRAP(*), value_float(a *b))
SCALAR_BINARY_OR(div, op_complex_div, value_float((double)a / (double)b), value_float(a / b))
SCALAR_BINARY(fmod, value_float(fmod((double)a, (double)b)), value_float(fmod(a, b)))
SCALAR_BINARY(mathremainder, value_float(remainder((double)a, (double)b)),
              value_float(remainder(a, b)))
SCALAR_BINARY(atan2, value_float(atan2((double)a, (double)b)), value_float(atan2(a, b)))
SCALAR_BINARY(copysign, value_float(copysign((double)a, (double)b)), value_float(copysign(a, b)))
SCALAR_BINARY_OR(log_base, op_complex_log_base, value_float(log((double)a) / log((double)b)),
                 value_float(log(a) / log(b)))
SCALAR_BINARY(lt, value_bool(a < b), value_bool(a < b))
SCALAR_BINARY(le, value_bool(a <= b), value_bool(a <= b))
SCALAR_BINARY(gt, value_bool(a > b), value_bool(a > b))
SCALAR_BINARY(ge, value_bool(a >= b), value_bool(a >= b))
SCALAR_BINARY_OR(eq, op_complex_eq, value_bool(a == b), value_bool(a == b))
SCALAR_BINARY_OR(ne, op_complex_ne, value_bool(a != b), value_bool(a != b))
SCALAR_BINARY(min, value_int(b < a ? b : a), value_float(b < a ? b : a))
SCALAR_BINARY(max, value_int(b > a ? b : a), value_float(b > a ? b : a))

static ctsc_status scalar_zero_division(op_ctx *cx, const char *text) {
    return diag_fail(cx->diag, CTSC_FAILED, "%s", text);
}

ctsc_status op_scalar_floordiv(op_ctx *cx, const value *args, value *results) {
    if (scalar_both_int(args)) {
        int64_t b = arg_int(&args[1]);
        if (!b) return scalar_zero_division(cx, "division by 0");
        return op_return(results, value_int(scalar_floordiv_int(arg_int(&args[0]), b)));
    }
    return op_return(results, value_float(floor(arg_float(&args[0]) / arg_float(&args[1]))));
}

ctsc_status op_scalar_remainder(op_ctx *cx, const value *args, value *results) {
    if (scalar_both_int(args)) {
        int64_t b = arg_int(&args[1]);
        if (!b) return scalar_zero_division(cx, "integer division or modulo by zero");
        return op_return(results, value_int(scalar_mod_int(arg_int(&args[0]), b)));
    }
    return op_return(results,
                     value_float(scalar_mod_float(arg_float(&args[0]), arg_float(&args[1]))));
}

ctsc_status op_scalar_divmod(op_ctx *cx, const value *args, value *results) {
    if (scalar_both_int(args)) {
        int64_t a = arg_int(&args[0]), b = arg_int(&args[1]);
        if (!b)
            return scalar_zero_division(cx,
                                        "ZeroDivisionError: integer division or modulo by zero");
        results[0] = value_int(scalar_floordiv_int(a, b));
        results[1] = value_int(scalar_mod_int(a, b));
        return CTSC_OK;
    }
    double a = arg_float(&args[0]), b = arg_float(&args[1]);
    if (b == 0) return scalar_zero_division(cx, "ZeroDivisionError: float divmod()");
    results[1] = value_float(scalar_mod_float(a, b));
    results[0] = value_float((a - results[1].u.f) / b);
    return CTSC_OK;
}

ctsc_status op_scalar_round_to_zero_floordiv(op_ctx *cx, const value *args, value *results) {
    int64_t a = arg_int(&args[0]), b = arg_int(&args[1]);
    if (!b) return scalar_zero_division(cx, "division by 0");
    return op_return(results, value_int(b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b));
}

/* Python's words for 0 ** -1, in which PyTorch refuses it, too. */
ctsc_status op_scalar_pow(op_ctx *cx, const value *args, value *results) {
    if (scalar_has_complex(args, 2)) return op_complex_pow(cx, args, results);
    double a = arg_float(&args[0]), b = arg_float(&args[1]);
    if (a == 0 && b < 0)
        return diag_fail(cx->diag, CTSC_FAILED, "0.0 cannot be raised to a negative power");
    return op_return(results, value_float(pow(a, b)));
}
ctsc_status op_scalar_pow_int_to_int(op_ctx *cx, const value *args, value *results) {
    uint64_t base = (uint64_t)arg_int(&args[0]), r = 1;
    int64_t e = arg_int(&args[1]);
    (void)cx;
    if (e < 0) return op_return(results, value_int((int64_t)pow((double)(int64_t)base, (double)e)));
    for (; e; e >>= 1, base *= base)
        if (e & 1) r *= base;
    return op_return(results, value_int((int64_t)r));
}

ctsc_status op_scalar_neg(op_ctx *cx, const value *args, value *results) {
    if (args[0].tag == V_COMPLEX) return op_complex_neg(cx, args, results);
    if (scalar_is_int(&args[0]))
        return op_return(results, value_int((int64_t)(0 - (uint64_t)arg_int(&args[0]))));
    return op_return(results, value_float(-args[0].u.f));
}

ctsc_status op_scalar_abs(op_ctx *cx, const value *args, value *results) {
    if (args[0].tag == V_COMPLEX) return op_complex_abs(cx, args, results);
    if (scalar_is_int(&args[0])) {
        int64_t i = arg_int(&args[0]);
        return op_return(results, value_int(i < 0 ? (int64_t)(0 - (uint64_t)i) : i));
    }
    return op_return(results, value_float(fabs(args[0].u.f)));
}

/* ---- integers -------------------------------------------------------------------------------- */

#define SCALAR_BITS(name, op)                                                                      \
    ctsc_status op_scalar_##name(op_ctx *cx, const value *args, value *results) {                  \
        (void)cx;                                                                                  \
        int64_t r = arg_int(&args[0]) op arg_int(&args[1]);                                        \
        bool boolean = args[0].tag == V_BOOL && args[1].tag == V_BOOL;                             \
        return op_return(results, boolean ? value_bool(r != 0) : value_int(r));                    \
    }
SCALAR_BITS(and, &)
SCALAR_BITS(or, |)
SCALAR_BITS(xor, ^)

/* Shifts by less than 0 or more than 63 are not defined in C: the machine's answer, the
 * count modulo 64. */
ctsc_status op_scalar_lshift(op_ctx *cx, const value *args, value *results) {
    (void)cx;
    return op_return(results,
                     value_int((int64_t)((uint64_t)arg_int(&args[0]) << (arg_int(&args[1]) & 63))));
}
ctsc_status op_scalar_rshift(op_ctx *cx, const value *args, value *results) {
    (void)cx;
    return op_return(results, value_int(arg_int(&args[0]) >> (arg_int(&args[1]) & 63)));
}

ctsc_status op_scalar_not(op_ctx *cx, const value *args, value *results) {
    (void)cx;
    return op_return(results, value_bool(!arg_bool(&args[0])));
}

ctsc_status op_scalar_gcd(op_ctx *cx, const value *args, value *results) {
    (void)cx;
    uint64_t a = (uint64_t)arg_int(&args[0]), b = (uint64_t)arg_int(&args[1]);
    if ((int64_t)a < 0) a = 0 - a;
    if ((int64_t)b < 0) b = 0 - b;
    while (b) {
        uint64_t r = a % b;
        a = b;
        b = r;
    }
    return op_return(results, value_int((int64_t)a));
}

ctsc_status op_scalar_factorial(op_ctx *cx, const value *args, value *results) {
    int64_t n = arg_int(&args[0]);
    uint64_t r = 1;
    if (n < 0)
        return diag_fail(cx->diag, CTSC_FAILED, "factorial() not defined for negative values");
    for (int64_t i = 2; i <= n && i <= 66; i++) r *= (uint64_t)i; /* 66! is 0 modulo 2^64 */
    return op_return(results, value_int((int64_t)r));
}

/* len(range(lo, hi, step)) */
ctsc_status op_scalar_range_length(op_ctx *cx, const value *args, value *results) {
    int64_t lo = arg_int(&args[0]), hi = arg_int(&args[1]), step = arg_int(&args[2]);
    if (!step) return diag_fail(cx->diag, CTSC_FAILED, "range() arg 3 must not be zero");
    uint64_t n = 0;
    if (step > 0 && lo < hi) n = 1 + ((uint64_t)hi - 1 - (uint64_t)lo) / (uint64_t)step;
    if (step < 0 && lo > hi) n = 1 + ((uint64_t)lo - 1 - (uint64_t)hi) / (0 - (uint64_t)step);
    return op_return(results, value_int((int64_t)n));
}
ctsc_status op_scalar_derive_index(op_ctx *cx, const value *args, value *results) {
    (void)cx;
    uint64_t r = (uint64_t)arg_int(&args[1]) +
                 (uint64_t)arg_int(&args[0]) * (uint64_t)arg_int(&args[2]);
    return op_return(results, value_int((int64_t)r));
}

/* ---- mathematics ----------------------------------------------------------------------------- */

#define SCALAR_UNARY_OR(name, complex_fn, expr)                                                    \
    ctsc_status op_scalar_##name(op_ctx *cx, const value *args, value *results) {                  \
        if (args[0].tag == V_COMPLEX) return complex_fn(cx, args, results);                        \
        double x = arg_float(&args[0]);                                                            \
        return op_return(results, value_float(expr));                                              \
    }
#define SCALAR_UNARY(name, expr) SCALAR_UNARY_OR(name, scalar_refuse_complex, expr)
#define SCALAR_UNARY_C(name, expr) SCALAR_UNARY_OR(name, op_complex_##name, expr)
static const double scalar_pi = 3.14159265358979323846;
SCALAR_UNARY_C(acos, acos(x))
SCALAR_UNARY_C(acosh, acosh(x))
SCALAR_UNARY_C(asin, asin(x))
SCALAR_UNARY_C(asinh, asinh(x))
SCALAR_UNARY_C(atan, atan(x))
SCALAR_UNARY_C(atanh, atanh(x))
SCALAR_UNARY_C(cos, cos(x))
SCALAR_UNARY_C(cosh, cosh(x))
SCALAR_UNARY_C(sin, sin(x))
SCALAR_UNARY_C(sinh, sinh(x))
SCALAR_UNARY_C(tan, tan(x))
SCALAR_UNARY_C(tanh, tanh(x))
SCALAR_UNARY(degrees, x * 180.0 / scalar_pi)
SCALAR_UNARY(radians, x *scalar_pi / 180.0)
SCALAR_UNARY(erf, erf(x))
SCALAR_UNARY(erfc, erfc(x))
SCALAR_UNARY_C(exp, exp(x))
SCALAR_UNARY(expm1, expm1(x))
SCALAR_UNARY(fabs, fabs(x))
SCALAR_UNARY(gamma, tgamma(x))
SCALAR_UNARY(lgamma, lgamma(x))
SCALAR_UNARY_C(log, log(x))
SCALAR_UNARY_C(log10, log10(x))
SCALAR_UNARY(log1p, log1p(x))
SCALAR_UNARY_C(sqrt, sqrt(x))
SCALAR_UNARY(round, rint(x)) /* to even, as Python's round */
SCALAR_UNARY_C(angle, isnan(x) ? x : x < 0 ? scalar_pi : 0.0)

/* A double as an int, out-of-range values included: what the machine gives, without
 * undefined behaviour. */
static int64_t scalar_to_int(double x) {
    return x >= -0x1p63 && x < 0x1p63 ? (int64_t)x : INT64_MIN;
}

#define SCALAR_ROUND(name, fn)                                                                     \
    ctsc_status op_scalar_##name(op_ctx *cx, const value *args, value *results) {                  \
        (void)cx;                                                                                  \
        if (scalar_is_int(&args[0])) return op_return(results, value_int(arg_int(&args[0])));      \
        return op_return(results, value_int(scalar_to_int(fn(args[0].u.f))));                      \
    }
SCALAR_ROUND(ceil, ceil)
SCALAR_ROUND(floor, floor)

#define SCALAR_TEST(name, expr)                                                                    \
    ctsc_status op_scalar_##name(op_ctx *cx, const value *args, value *results) {                  \
        (void)cx;                                                                                  \
        double x = arg_float(&args[0]);                                                            \
        return op_return(results, value_bool(expr));                                               \
    }
SCALAR_TEST(isfinite, isfinite(x))
SCALAR_TEST(isinf, isinf(x))
SCALAR_TEST(isnan, isnan(x))

ctsc_status op_scalar_frexp(op_ctx *cx, const value *args, value *results) {
    int e = 0;
    (void)cx;
    results[0] = value_float(frexp(arg_float(&args[0]), &e));
    results[1] = value_int(e);
    return CTSC_OK;
}
ctsc_status op_scalar_modf(op_ctx *cx, const value *args, value *results) {
    double whole = 0;
    (void)cx;
    results[0] = value_float(modf(arg_float(&args[0]), &whole));
    results[1] = value_float(whole);
    return CTSC_OK;
}
ctsc_status op_scalar_ldexp(op_ctx *cx, const value *args, value *results) {
    int64_t e = arg_int(&args[1]);
    (void)cx;
    int clamped = e > 5000 ? 5000 : e < -5000 ? -5000 : (int)e;
    return op_return(results, value_float(ldexp(arg_float(&args[0]), clamped)));
}

/* ---- casts ----------------------------------------------------------------------------------- */

ctsc_status op_scalar_to_bool(op_ctx *cx, const value *args, value *results) {
    (void)cx;
    return op_return(results,
                     value_bool(args[0].tag == V_FLOAT ? args[0].u.f != 0 : arg_bool(&args[0])));
}
ctsc_status op_scalar_to_int(op_ctx *cx, const value *args, value *results) {
    if (args[0].tag == V_COMPLEX) return scalar_refuse_complex(cx, args, results);
    if (args[0].tag == V_FLOAT) return op_return(results, value_int(scalar_to_int(args[0].u.f)));
    return op_return(results, value_int(arg_int(&args[0])));
}
ctsc_status op_scalar_to_float(op_ctx *cx, const value *args, value *results) {
    if (args[0].tag == V_COMPLEX) return scalar_refuse_complex(cx, args, results);
    return op_return(results, value_float(arg_float(&args[0])));
}

/* ---- everything ------------------------------------------------------------------------------ */

ctsc_status op_scalar_is(op_ctx *cx, const value *args, value *results) {
    (void)cx;
    return op_return(results, value_bool(value_is(args[0], args[1])));
}
ctsc_status op_scalar_isnot(op_ctx *cx, const value *args, value *results) {
    (void)cx;
    return op_return(results, value_bool(!value_is(args[0], args[1])));
}
/* ---- hash ------------------------------------------------------------------------------------ */

/* Bytes as std::hash of GNU's C++ library has them for strings and floats (MurmurHash64A with that
 * library's seed), since programs put things into buckets by their hashes. */
static uint64_t hash_mixed(uint64_t h, uint64_t word) { return (h ^ word) * 0xc6a4a7935bd1e995u; }
static uint64_t hash_shifted(uint64_t v) { return v ^ v >> 47; }
static int64_t hash_of_bytes(const void *data, size_t n) {
    const uint8_t *p = data;
    uint64_t m = 0xc6a4a7935bd1e995u, h = 0xc70f6907u ^ n * m, word = 0;
    for (; n >= 8; n -= 8, p += 8) {
        memcpy(&word, p, 8);
        h = hash_mixed(h, hash_shifted(word * m) * m);
    }
    word = 0;
    for (size_t i = 0; i < n; i++) word |= (uint64_t)p[i] << 8 * i;
    if (n) h = hash_mixed(h, word);
    return (int64_t)hash_shifted(hash_shifted(h) * m);
}

/* Kind and index of a device, a byte each: no index is 255. Here "cpu:0" is "cpu". */
static int64_t hash_of_device(int64_t device) {
    if (device == 0) return 0xff;
    if (device == DEVICE_META) return 14 << 16 | 0xff;
    return device == VALUE_DEVICE_CUDA ? 0x100ff : 1 << 16 | ((device - 1) & 0xff);
}

static ctsc_status hash_of_value(diag *d, value v, int64_t *out);

/* Items one after the other, as boost's hash_combine. */
static ctsc_status hash_of_tuple(diag *d, const tuple *t, int64_t *out) {
    uint64_t h = 0;
    int64_t item;
    for (size_t i = 0; i < t->len; i++) {
        TRY(hash_of_value(d, t->items[i], &item));
        h ^= (uint64_t)item + 0x9e3779b9u + (h << 6) + (h >> 2);
    }
    *out = (int64_t)h;
    return CTSC_OK;
}

static ctsc_status hash_refuse(diag *d, value v) {
    strbuf text = STRBUF_INIT;
    type *t = type_of_value(v);
    if (t) type_print_python(t, &text);
    ctsc_status st = diag_fail(
        d, CTSC_FAILED, v.tag == V_ENUM ? "unhashable type: 'Enum<%s>'" : "unhashable type: '%s'",
        sb_str(&text));
    sb_free(&text);
    return st;
}

static ctsc_status hash_of_value(diag *d, value v, int64_t *out) {
    double x;
    switch (v.tag) {
    case V_NONE: return *out = 0, CTSC_OK;
    case V_BOOL: return *out = v.u.b, CTSC_OK;
    case V_INT: return *out = v.u.i, CTSC_OK;
    case V_FLOAT: x = v.u.f; return *out = x == 0 ? 0 : hash_of_bytes(&x, sizeof x), CTSC_OK;
    case V_STR: return *out = hash_of_bytes(v.u.str->bytes, v.u.str->len), CTSC_OK;
    /* as `is` compares them */
    case V_TENSOR: return *out = (int64_t)(uintptr_t)v.u.tensor, CTSC_OK;
    case V_DEVICE: return *out = hash_of_device(v.u.device), CTSC_OK;
    case V_TUPLE: return hash_of_tuple(d, v.u.tuple, out);
    default: return hash_refuse(d, v);
    }
}

ctsc_status op_scalar_hash(op_ctx *cx, const value *args, value *results) {
    int64_t h = 0;
    TRY(hash_of_value(cx->diag, args[0], &h));
    return op_return(results, value_int(h));
}
ctsc_status op_scalar_unwrap_optional(op_ctx *cx, const value *args, value *results) {
    if (args[0].tag == V_NONE) return diag_fail(cx->diag, CTSC_FAILED, "Unwrapping null optional");
    return op_return(results, value_ref(args[0]));
}

/* ---- profiling ------------------------------------------------------------------------------- */

ctsc_status op_add_stat(op_ctx *cx, const value *args, value *results) {
    (void)cx, (void)args, (void)results;
    return CTSC_OK;
}
/* Nanoseconds since some time. */
ctsc_status op_time_point(op_ctx *cx, const value *args, value *results) {
    struct timespec t;
    (void)cx, (void)args;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return op_return(results, value_int((int64_t)t.tv_sec * 1000000000 + t.tv_nsec));
}
/* A handle, which is a tensor to TorchScript. */
ctsc_status op_record_enter(op_ctx *cx, const value *args, value *results) {
    int64_t size = 1;
    tensor *t;
    (void)args;
    TRY(tensor_zeros(cx->diag, DT_UINT8, 1, &size, &t));
    return op_return_tensor(results, t);
}
ctsc_status op_record_exit(op_ctx *cx, const value *args, value *results) {
    (void)cx, (void)args, (void)results;
    return CTSC_OK;
}
ctsc_status op_record_future(op_ctx *cx, const value *args, value *results) {
    (void)cx;
    return op_return(results, value_ref(args[1]));
}
ctsc_status op_object_id(op_ctx *cx, const value *args, value *results) {
    (void)cx;
    return op_return(results,
                     value_int(args[0].tag == V_NONE ? 0 : (int64_t)(uintptr_t)args[0].u.refs));
}

/* Questions about the build and the mode, whose answer here is always the same. */
ctsc_status op_scalar_answer_false(op_ctx *cx, const value *args, value *results) {
    (void)cx, (void)args;
    return op_return(results, value_bool(false));
}
ctsc_status op_scalar_ignore(op_ctx *cx, const value *args, value *results) {
    (void)cx, (void)args, (void)results;
    return CTSC_OK;
}

ctsc_status op_warn(op_ctx *cx, const value *args, value *results) {
    (void)results;
    if (cx->rt && cx->rt->warn) cx->rt->warn(cx->rt->sink_ctx, args[0].u.str->bytes);
    return CTSC_OK;
}

/* ---- devices and enums ----------------------------------------------------------------------- */

ctsc_status op_device_from_str(op_ctx *cx, const value *args, value *results) {
    int64_t device;
    TRY(device_parse(cx->diag, args[0].u.str->bytes, args[0].u.str->len, &device));
    return op_return(results, value_device(device));
}
ctsc_status op_device_type(op_ctx *cx, const value *args, value *results) {
    const char *s = args[0].u.device == DEVICE_META ? "meta" : args[0].u.device ? "cuda" : "cpu";
    str *r = str_new(s, strlen(s));
    return r ? op_return(results, value_str_take(r)) : diag_no_memory(cx->diag);
}
ctsc_status op_device_index(op_ctx *cx, const value *args, value *results) {
    (void)cx;
    bool indexed = args[0].u.device > 0 && args[0].u.device != DEVICE_META;
    return op_return(results, indexed ? value_int(args[0].u.device - 1) : value_none());
}
ctsc_status op_enum_name(op_ctx *cx, const value *args, value *results) {
    const char *s = args[0].u.enumv->name;
    str *r = str_new(s, strlen(s));
    return r ? op_return(results, value_str_take(r)) : diag_no_memory(cx->diag);
}
ctsc_status op_enum_value(op_ctx *cx, const value *args, value *results) {
    (void)cx;
    return op_return(results, value_ref(args[0].u.enumv->val));
}
ctsc_status op_value_eq(op_ctx *cx, const value *args, value *results) {
    (void)cx;
    return op_return(results, value_bool(value_equal(args[0], args[1])));
}
ctsc_status op_value_ne(op_ctx *cx, const value *args, value *results) {
    (void)cx;
    return op_return(results, value_bool(!value_equal(args[0], args[1])));
}
