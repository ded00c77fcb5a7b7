/* SPDX-License-Identifier: Apache-2.0 */
/* test_scalar_text.c - scalar definitions: what they mean (against C), what is refused and where,
 * limits, hostile texts, and operators that have one: in the interpreter, in kernels with their
 * neighbours, with all dtypes and shapes. */
#include "support.h"

#include "codegen/cache/cache.h"
#include "ctsc.h"
#include "ir/scalar/scalar_text.h"
#include "tensor/dtype.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- tools ----------------------------------------------------------------------------------- */

static void defined_register(const char *schema, const char *text, ctsc_op_fn fn, void *ctx) {
    ctsc_error *e = ctsc_error_new();
    ctsc_op_options o = {.size = sizeof o, .scalar = text};
    if (ctsc_register_op(schema, fn, ctx, &o, e) != CTSC_OK)
        fail_msg("%s: %s", text, ctsc_error_message(e));
    ctsc_error_free(e);
}

static ctsc_module *defined_compile(const char *text) {
    ctsc_module *m = NULL;
    ctsc_error *e = ctsc_error_new();
    if (ctsc_module_compile_text("t.py", text, strlen(text), NULL, &m, e) != CTSC_OK)
        fail_msg("%s", ctsc_error_message(e));
    ctsc_error_free(e);
    return m;
}

static ctsc_value *defined_tensor(ctsc_dtype dt, int ndim, const int64_t *sizes) {
    ctsc_value *t = NULL;
    assert_int_equal(ctsc_tensor_new(dt, ndim, sizes, &t, NULL), CTSC_OK);
    return t;
}

static int64_t defined_numel(const ctsc_value *t) {
    int64_t n = 1;
    for (int i = 0; i < ctsc_tensor_ndim(t); i++) n *= ctsc_tensor_sizes(t)[i];
    return n;
}

static void defined_set(ctsc_value *t, int64_t i, double x) {
    void *p = ctsc_tensor_data(t);
    switch (ctsc_tensor_dtype(t)) {
    case CTSC_FLOAT32: ((float *)p)[i] = (float)x; break;
    case CTSC_FLOAT64: ((double *)p)[i] = x; break;
    case CTSC_FLOAT16: ((float16 *)p)[i] = float16_from_float((float)x); break;
    case CTSC_BFLOAT16: ((bfloat16 *)p)[i] = bfloat16_from_float((float)x); break;
    case CTSC_INT64: ((int64_t *)p)[i] = (int64_t)x; break;
    case CTSC_INT32: ((int32_t *)p)[i] = (int32_t)x; break;
    case CTSC_INT8: ((int8_t *)p)[i] = (int8_t)x; break;
    case CTSC_BOOL: ((uint8_t *)p)[i] = x > 0; break;
    default: fail();
    }
}
static double defined_get(const ctsc_value *t, int64_t i) {
    const void *p = ctsc_tensor_data((ctsc_value *)t);
    switch (ctsc_tensor_dtype(t)) {
    case CTSC_FLOAT32: return ((const float *)p)[i];
    case CTSC_FLOAT64: return ((const double *)p)[i];
    case CTSC_FLOAT16: return float16_to_float(((const float16 *)p)[i]);
    default: return bfloat16_to_float(((const bfloat16 *)p)[i]);
    }
}
/* Values of both signs, 0, and enough digits that rounding shows. */
static void defined_fill(ctsc_value *t, unsigned seed) {
    int64_t n = defined_numel(t);
    for (int64_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        defined_set(t, i, i % 11 == 10 ? 0 : ((double)(seed >> 8) / (1 << 24) - 0.5) * 8);
    }
}

static ctsc_value *defined_run(ctsc_module *m, int opt, size_t n, ctsc_value **args) {
    ctsc_error *e = ctsc_error_new();
    ctsc_value *y = NULL;
    assert_int_equal(ctsc_module_set_opt(m, opt, e), CTSC_OK);
    for (int i = 0; i < 3; i++) { /* the first calls may not be fused yet */
        ctsc_value_free(y);
        if (ctsc_module_run(m, "forward", n, args, NULL, &y, e) != CTSC_OK)
            fail_msg("opt %d: %s", opt, ctsc_error_message(e));
    }
    ctsc_error_free(e);
    return y;
}

/* ---- what definitions mean ------------------------------------------------------------------- */

/* clang-format off */
#define DEFINED_CASES(X)                                                                           \
    X(0, x + y * 2.0)                                                                              \
    X(1, (x + y) * 2.0 - n)                                                                        \
    X(2, x - y - 1 - a)                                                                            \
    X(3, x / y / 2.0)                                                                              \
    X(4, -x * -y)                                                                                  \
    X(5, - - +x)                                                                                   \
    X(6, x > 0 ? x : a * (exp(x) - 1))                                                             \
    X(7, x > 0 ? y > 0 ? 1 : 2 : y > 0 ? 3 : 4)                                                    \
    X(8, x < y || x > 2 && y < 0)                                                                  \
    X(9, (x < y || x > 2) && !(y < 0))                                                             \
    X(10, x == y != 1)                                                                             \
    X(11, x < y == y < x)                                                                          \
    X(12, (x > 0) * x + (x <= 0) * y)                                                              \
    X(13, !x + !!y)                                                                                \
    X(14, x != y ? 25e-2f * x : .5e1 * y)                                                          \
    X(15, x >= y ? 2.5E+1 : 1.L)                                                                   \
    X(16, isnan(x) ? 7 : isinf(x) ? 8 : isfinite(y) ? 9 : 10)                                      \
    X(17, !!signbit(x) + 2 * !!signbit(y))                                                         \
    X(18, round(x) + 10 * rint(y))                                                                 \
    X(19, fmin(x, y) + fmax(x, a) * 3)                                                             \
    X(20, pow(fabs(x), y))                                                                         \
    X(21, atan2(x, y) + hypot(x, y))                                                               \
    X(22, fmod(x, 1.5) + copysign(1, y))                                                           \
    X(23, sqrt(fabs(x)) + log1p(fabs(y)) + expm1(a))                                               \
    X(24, sin(x) * cos(y) + tan(a))                                                                \
    X(25, tanh(x) + erf(y) + erfc(a))                                                              \
    X(26, floor(x) + 10 * ceil(x) + 100 * trunc(x) + 1000 * nearbyint(x))                          \
    X(27, y > 1 ? M_PI * x : INFINITY * y)                                                         \
    X(28, log(fabs(x)) + log2(fabs(x)) + log10(fabs(x)) + exp2(y))                                 \
    X(29, asin(x / 8) + acos(y / 8) + atan(x))                                                     \
    X(30, sinh(x) + cosh(y) + asinh(x) + acosh(y) + atanh(a))                                      \
    X(31, (double)n / 2 + ( double )(x) /* a comment */ * (1))                                     \
    X(32, x && y)                                                                                  \
    X(33, a)                                                                                       \
    X(34, 5)                                                                                       \
    X(35, y)                                                                                       \
    X(36, x ? y : a)                                                                               \
    X(37, lgamma(fabs(x) + 1))                                                                     \
    X(38, (x > y) - (x < y))                                                                       \
    X(39, n * a > x ? sqrt(a) : n)
/* clang-format on */

#define DEFINED_MAKE(k, ...)                                                                       \
    static double defined_case_##k(double x, double y, double a, int n) {                          \
        (void)x, (void)y, (void)a, (void)n;                                                        \
        return __VA_ARGS__;                                                                        \
    }
#pragma GCC diagnostic ignored "-Wparentheses"
DEFINED_CASES(DEFINED_MAKE)

static const struct {
    const char *text;
    double (*fn)(double x, double y, double a, int n);
} defined_cases[] = {
#define DEFINED_ROW(k, ...) {#__VA_ARGS__, defined_case_##k},
    DEFINED_CASES(DEFINED_ROW)};

static const double defined_grid[] = {
    0.0, -0.0, 0.5,      -0.5,      1.0, 2.5, -3.5, -1.25, 0.49999999999999994,
    4.7, -7.1, INFINITY, -INFINITY, NAN};
enum { DEFINED_GRID = sizeof defined_grid / sizeof *defined_grid };

static void defined_check_case(size_t k, ctsc_module *m, ctsc_value **args, double tolerance,
                               int opt) {
    ctsc_value *r = defined_run(m, opt, 4, args);
    assert_int_equal(ctsc_tensor_dtype(r), CTSC_FLOAT64);
    for (int i = 0; i < DEFINED_GRID * DEFINED_GRID; i++) {
        double x = defined_grid[i / DEFINED_GRID], y = defined_grid[i % DEFINED_GRID];
        double want = defined_cases[k].fn(x, y, 0.3, 3), got = defined_get(r, i);
        bool equal = (isnan(want) && isnan(got)) || want == got ||
                     fabs(got - want) <= tolerance * fabs(want);
        if (!equal)
            fail_msg("%s, x %g, y %g, opt %d: %.17g, not %.17g", defined_cases[k].text, x, y, opt,
                     got, want);
    }
    ctsc_value_free(r);
}

/* x is a column, y a row; the text between two operators that leave values as they are. */
static void defined_against_c(void **state) {
    int64_t column[] = {DEFINED_GRID, 1}, row[] = {DEFINED_GRID};
    ctsc_value *args[] = {defined_tensor(CTSC_FLOAT64, 2, column),
                          defined_tensor(CTSC_FLOAT64, 1, row), ctsc_float_new(0.3),
                          ctsc_int_new(3)};
    (void)state;
    for (int i = 0; i < DEFINED_GRID; i++)
        defined_set(args[0], i, defined_grid[i]), defined_set(args[1], i, defined_grid[i]);
    for (size_t k = 0; k < sizeof defined_cases / sizeof *defined_cases; k++) {
        char schema[96], program[256];
        snprintf(schema, sizeof schema,
                 "againstc::case%zu(Tensor x, Tensor y, float a, int n) -> Tensor", k);
        snprintf(program, sizeof program,
                 "import torch\ndef forward(x, y, a: float, n: int):\n    return "
                 "torch.ops.againstc.case%zu(x * 1, y, a, n) * 1\n",
                 k);
        defined_register(schema, defined_cases[k].text, NULL, NULL);
        ctsc_module *m = defined_compile(program);
        defined_check_case(k, m, args, 1e-15, 0);
        defined_check_case(k, m, args, 1e-14, 2);
        ctsc_module_free(m);
    }
    for (int i = 0; i < 4; i++) ctsc_value_free(args[i]);
}

static void defined_functions(void **state) {
    static const char *const texts[] = {
        "float elu(float x, float alpha) { float t = x * 2; return x > 0 ? x : alpha * (expf(t / "
        "2) - 1); }",
        "static inline double f(const double y, double b)\n{\n    const float p = 1, q = p / 2.0f "
        "* 2; // unused: a comment\n    double unused = p;\n"
        "    return y > 0 ? y : b * (expf(y) - q);\n};\n",
        "x > 0 ? x : alpha * (exp(x) - 1)",
    };
    int64_t sizes[] = {5};
    ctsc_value *args[] = {defined_tensor(CTSC_FLOAT32, 1, sizes)};
    (void)state;
    for (int i = 0; i < 5; i++) defined_set(args[0], i, i - 2.5);
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        defined_register("functions::elu(Tensor x, float alpha=0.5) -> Tensor", texts[k], NULL,
                         NULL);
        ctsc_module *m = defined_compile(
            "import torch\ndef forward(x):\n    return torch.ops.functions.elu(x)\n");
        ctsc_value *y = defined_run(m, 0, 1, args);
        for (int i = 0; i < 5; i++) {
            double x = i - 2.5, want = x > 0 ? x : 0.5 * (exp(x) - 1);
            assert_true(fabs(defined_get(y, i) - want) < 1e-6);
        }
        ctsc_value_free(y), ctsc_module_free(m);
    }
    ctsc_value_free(args[0]);
}

/* ---- what is refused ------------------------------------------------------------------------- */

static ctsc_status defined_parse(const char *schema_text, const char *text, char *message,
                                 size_t size) {
    arena a;
    schema *s;
    scalar_text *t = NULL;
    diag d = {0};
    assert_true(arena_init(&a));
    assert_int_equal(schema_parse(&d, &a, schema_text, strlen(schema_text), &s), CTSC_OK);
    ctsc_status st = scalar_text_parse(&d, s, text, &t);
    assert_int_equal(st == CTSC_OK, t != NULL);
    if (message) snprintf(message, size, "%s", diag_message(&d));
    scalar_text_free(t);
    schema_free_values(s);
    arena_free(&a);
    diag_clear(&d);
    return st;
}

static void defined_errors(void **state) {
    static const struct { const char *text, *message; } cases[] = {
        {"", "line 1, column 1: a value expected before 'the end of the text'"},
        {"x +", "line 1, column 4: a value expected before 'the end of the text'"},
        {"x y", "line 1, column 3: the definition does not end before 'y'"},
        {"x\n  + z", "line 2, column 5: nothing here is called 'z'"},
        {"x % 2", "line 1, column 3: not understood: '%'"},
        {"x = 2", "line 1, column 3: the definition does not end before '='"},
        {"(x", "line 1, column 3: ) expected before"},
        {"x ? 1", "line 1, column 6: : expected before"},
        {"cbrt(x)", "line 1, column 1: there is no function 'cbrt'"},
        {"x(1)", "line 1, column 2: the definition does not end before '('"},
        {"pow(x)", "line 1, column 6: , expected before ')'"},
        {"exp(x, x)", "line 1, column 6: ) expected before ','"},
        {"exp", "line 1, column 1: nothing here is called 'exp'"},
        {"1 / 2 * x", "line 1, column 3: a division of integers"},
        {"x * ((x > 0) / n)", "line 1, column 14: a division of integers"},
        {"0x10 + x", "line 1, column 1: a number that is not decimal"},
        {"010 + x", "line 1, column 1: a number that is not decimal"},
        {"1f + x", "line 1, column 1: a number that is not decimal"},
        {"1.5.2 + x", "line 1, column 1: a number that is not decimal"},
        {"x /* +", "line 1, column 3: a comment without an end"},
        {"x & x", "line 1, column 3: not understood: '&'"},
        {"x ? x : \x80", "line 1, column 9: not understood:"},
        {"float f(float x) { return x; }",
         "line 1, column 16: the schema has more arguments than there are before ')'"},
        {"float f(float x, int n, float z) { return x; }",
         "line 1, column 23: the schema has no argument for what follows ','"},
        {"float f(int x, int n) { return x; }",
         "line 1, column 9: float or double expected before 'int'"},
        {"float f(float x, float x) { return x; }", "line 1, column 24: a second 'x'"},
        {"float f(float x, int n) { if (x) return 1; return x; }",
         "line 1, column 27: a declaration or return expected before 'if'"},
        {"float f(float x, int n) { float t; return x; }",
         "line 1, column 34: = expected before ';'"},
        {"float f(float x, int n) { x = 2; return x; }",
         "line 1, column 27: a declaration or return expected before 'x'"},
        {"float f(float x, int n) { float t = t; return x; }",
         "line 1, column 37: nothing here is called 't'"},
        {"float f(float x, int n) { return x }", "line 1, column 36: ; expected before '}'"},
        {"float f(float x, int n) { return x; } float",
         "line 1, column 39: the definition does not end before 'float'"},
        {"float f(float x, int n) { return n / 2 * x; }",
         "line 1, column 36: a division of integers"},
        {"void f(float x, int n) { return x; }", "nothing here is called 'void'"},
        {"system(x)", "there is no function 'system'"},
        {"__builtin_trap()", "there is no function '__builtin_trap'"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char message[256];
        ctsc_status s = defined_parse("m::f(Tensor x, int n) -> Tensor", cases[i].text, message,
                                      sizeof message);
        if (s != CTSC_FAILED || !strstr(message, cases[i].message))
            fail_msg("%s: %s, not %s", cases[i].text, message, cases[i].message);
    }
    /* An error reaches the caller, and nothing is registered. */
    ctsc_error *e = ctsc_error_new();
    ctsc_op_options o = {.size = sizeof o, .scalar = "x +* 2"};
    assert_int_equal(ctsc_register_op("m::wrong(Tensor x) -> Tensor", NULL, NULL, &o, e),
                     CTSC_FAILED);
    assert_string_equal(ctsc_error_message(e),
                        "scalar definition, line 1, column 4: a value expected before '*'");
    o.scalar = "x", o.flags = CTSC_OP_RANDOM;
    assert_int_equal(ctsc_register_op("m::wrong(Tensor x) -> Tensor", NULL, NULL, &o, e),
                     CTSC_USAGE);
    /* a program of before there was the field */
    o.flags = 0, o.size = offsetof(ctsc_op_options, scalar);
    assert_int_equal(ctsc_register_op("m::wrong(Tensor x) -> Tensor", NULL, NULL, &o, e),
                     CTSC_USAGE);
    ctsc_error_free(e);
}

static void defined_schemas(void **state) {
    static const char *const refused[] = {
        "m::f(Tensor x) -> (Tensor, Tensor)",
        "m::f(Tensor x) -> float",
        "m::f(Tensor(a!) x) -> Tensor(a!)",
        "m::f(Tensor(a) x) -> Tensor(a)",
        "m::f(Tensor x, int[] n) -> Tensor",
        "m::f(Tensor? x) -> Tensor",
        "m::f(float x) -> Tensor",
        "m::f(Tensor[] x) -> Tensor",
        "m::f(Tensor x, str s) -> Tensor",
        "m::f(Tensor x, Tensor b, Tensor c, Tensor d, Tensor e, Tensor f, Tensor g, Tensor h) -> "
        "Tensor",
    };
    char message[256];
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (defined_parse(refused[i], "x", message, sizeof message) != CTSC_USAGE)
            fail_msg("%s: %s", refused[i], message);
    assert_int_equal(defined_parse("m::f(Tensor x, Scalar s, bool b, *, float f=1) -> Tensor",
                                   "b ? x * s : f", NULL, 0),
                     CTSC_OK);
}

/* times * unit between begin and end */
static char *defined_repeat(const char *begin, const char *unit, int times, const char *end) {
    size_t n = strlen(begin) + strlen(unit) * (size_t)times + strlen(end) + 1, at = 0;
    char *s = malloc(n);
    at += (size_t)sprintf(s, "%s", begin);
    for (int i = 0; i < times; i++) at += (size_t)sprintf(s + at, "%s", unit);
    sprintf(s + at, "%s", end);
    return s;
}

static void defined_limits(void **state) {
    static const struct { const char *begin, *unit, *end, *message; int fits, fails; } cases[] = {
        {"", "(", "x", "nested too deeply", 0, 16000},
        {"", "-", "x", "nested too deeply", 60, 16000},
        {"", "exp(", "x", "nested too deeply", 0, 4000},
        {"", "x?x:", "x", "nested too deeply", 60, 4000},
        {"x", "+x", "", "too large", 90, 8000},
        {"", "1e1", "", "not decimal", 1, 5000},
        {"", "9", ".0", "not decimal, or too long", 61, 62},
        {"x", " ", "", "more than 16384 bytes", 16383, 16384},
        {"", "x?x:(", "x", "nested too deeply", 0, 3000},
        {"x", "*(float)1", "", "too large", 40, 1800},
    };
    char message[256];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *good = defined_repeat(cases[i].begin, cases[i].unit, cases[i].fits, cases[i].end);
        char *bad = defined_repeat(cases[i].begin, cases[i].unit, cases[i].fails, cases[i].end);
        if (cases[i].fits &&
            defined_parse("m::f(Tensor x) -> Tensor", good, message, sizeof message) != CTSC_OK)
            fail_msg("%s", message);
        assert_int_equal(defined_parse("m::f(Tensor x) -> Tensor", bad, message, sizeof message),
                         CTSC_FAILED);
        if (!strstr(message, cases[i].message)) fail_msg("%s...: %s", cases[i].unit, message);
        free(good), free(bad);
    }
}

/* Texts made of pieces of texts: no crash, no leak, and every
 * node of an accepted text comes after its operands. */
static void defined_hostile(void **state) {
    static const char *const pieces[] = {
        "x",
        "n",
        "1",
        "2.5f",
        "1e",
        "(",
        ")",
        "?",
        ":",
        "+",
        "-",
        "*",
        "/",
        "!",
        "==",
        "&&",
        "||",
        "<",
        ",",
        ";",
        "{",
        "}",
        "=",
        "float ",
        "double ",
        "return ",
        "exp(",
        "powf(",
        "round(",
        "isnan(",
        "float f(float x, int n) {",
        "float t = ",
        "/*",
        "*/",
        "//",
        "\n",
        " ",
        "(float)",
        "const ",
        "\xff",
        "t",
        "x*x",
        "(x+1)",
        "&",
        ".5",
        "1e400",
        "INFINITY",
    };
    static const char *const whole[] = {
        "float f(float x, int n) { float t = x * 2; return x > 0 ? t : expf(x) - 1.5e-3f; }",
        "x > 0 ? pow(x, n) : -round(x) / 3.0"};
    unsigned seed = 12345;
    int accepted = 0;
    (void)state;
    for (int i = 0; i < 60000; i++) {
        char text[512];
        size_t len = 0;
        if (i % 2) len = (size_t)sprintf(text, "%s", whole[i / 2 % 2]);
        for (int k = 0; k < 1 + i % 12 && len < 400; k++) {
            seed = seed * 1664525u + 1013904223u;
            const char *piece = pieces[(seed >> 16) % (sizeof pieces / sizeof *pieces)];
            size_t add = strlen(piece), at = len ? (seed >> 4) % (len + 1) : 0;
            if (!(i % 2)) at = len;
            if (i % 4 == 1) { /* in the place of as much as it is long */
                if (at + add > len) at = len - add;
                memcpy(text + at, piece, add);
            } else {
                memmove(text + at + add, text + at, len - at);
                memcpy(text + at, piece, add);
                len += add;
            }
        }
        text[len] = 0;
        accepted += defined_parse("m::f(Tensor x, int n) -> Tensor", text, NULL, 0) == CTSC_OK;
    }
    assert_true(accepted > 100);
}

/* Every allocation fails once: an error, and nothing is left. */
static void defined_no_memory(void **state) {
    counting c = {0};
    arena a;
    schema *s;
    scalar_text *t = NULL;
    ctsc_status st = CTSC_LIMIT;
    const char *text = "m::f(Tensor x) -> Tensor";
    (void)state;
    assert_true(arena_init(&a));
    assert_int_equal(schema_parse(NULL, &a, text, strlen(text), &s), CTSC_OK);
    for (long i = 1; st != CTSC_OK; i++) {
        c = (counting){.fail_at = i};
        mem_set_hook(counting_hook, &c);
        st = scalar_text_parse(NULL, s, "x * 2 + expf(x) / 3.0f", &t);
        assert_true(st == CTSC_OK || (st == CTSC_LIMIT && !t && c.live == 0));
        if (st == CTSC_OK) assert_true(i > 3);
        scalar_text_free(t);
        assert_true(c.live == 0);
        mem_set_hook(NULL, NULL);
    }
    arena_free(&a);
}

/* ---- with neighbours, in kernels ------------------------------------------------------------- */

static int defined_count(const char *text, const char *what) {
    int n = 0;
    for (const char *c = text; (c = strstr(c, what)); c++) n++;
    return n;
}

/* One group, which holds the operator; nothing of it outside. */
static void defined_check_fused(ctsc_module *m, int opt, size_t n, ctsc_value **args,
                                const char *op) {
    ctsc_error *e = ctsc_error_new();
    char *text = NULL;
    assert_int_equal(ctsc_module_set_opt(m, opt, e), CTSC_OK);
    if (!codegen_available(codegen_shared(), NULL)) return ctsc_error_free(e);
    if (ctsc_module_graph_for(m, "forward", n, args, CTSC_GRAPH_KERNELS, &text, e) != CTSC_OK)
        fail_msg("%s", ctsc_error_message(e));
    const char *group = strstr(text, "with prim::FusionGroup_0");
    if (!group || strstr(text, "prim::FusionGroup_1") || !strstr(group, op) ||
        strstr(text, op) < group)
        fail_msg("opt %d: %s", opt, text);
    if (!strstr(text, "nest group")) fail_msg("no kernel: %s", text);
    if (defined_count(text, op) != 1) fail_msg("twice: %s", text);
    ctsc_string_free(text), ctsc_error_free(e);
}

static double defined_step(ctsc_dtype dt) {
    return dt == CTSC_FLOAT64    ? 1e-14
           : dt == CTSC_FLOAT16  ? 1.2e-3
           : dt == CTSC_BFLOAT16 ? 1e-2
                                 : 4e-7;
}

static void defined_compare(const ctsc_value *a, const ctsc_value *b, const char *what) {
    if (ctsc_tensor_dtype(a) != ctsc_tensor_dtype(b) || ctsc_tensor_ndim(a) != ctsc_tensor_ndim(b))
        fail_msg("%s: another type", what);
    for (int i = 0; i < ctsc_tensor_ndim(a); i++)
        assert_int_equal(ctsc_tensor_sizes(a)[i], ctsc_tensor_sizes(b)[i]);
    for (int64_t i = 0, n = defined_numel(a); i < n; i++) {
        double x = defined_get(a, i), y = defined_get(b, i);
        if (!(fabs(x - y) <= defined_step(ctsc_tensor_dtype(a)) * (1 + fabs(x))))
            fail_msg("%s: element %d is %.9g and %.9g", what, (int)i, x, y);
    }
}

#define DEFINED_PROGRAM                                                                            \
    "import torch\n"                                                                               \
    "def forward(x, y, limit: float, n: int):\n"                                                   \
    "    return torch.tanh(torch.ops.fused.clip(x * 2, y - 0.25, limit, n)) + y\n"

static void defined_fused(void **state) {
    static const ctsc_dtype dtypes[][2] = {
        {CTSC_FLOAT32, CTSC_FLOAT32},   {CTSC_FLOAT64, CTSC_FLOAT64}, {CTSC_FLOAT16, CTSC_FLOAT16},
        {CTSC_BFLOAT16, CTSC_BFLOAT16}, {CTSC_INT64, CTSC_INT32},     {CTSC_INT8, CTSC_FLOAT32},
        {CTSC_FLOAT16, CTSC_FLOAT32},   {CTSC_FLOAT32, CTSC_FLOAT64}, {CTSC_INT64, CTSC_FLOAT16},
        {CTSC_FLOAT16, CTSC_BFLOAT16},  {CTSC_BOOL, CTSC_FLOAT32},
    };
    static const struct { int nx, ny; int64_t x[3], y[3]; } shapes[] = {
        {1, 1, {7}, {7}},         {2, 2, {33, 65}, {33, 65}},
        {2, 1, {4, 700}, {700}},  {2, 2, {5, 1}, {1, 9}},
        {0, 0, {0}, {0}},         {2, 0, {3, 5}, {0}},
        {0, 1, {0}, {6}},         {2, 2, {0, 3}, {0, 3}},
        {2, 1, {0, 3}, {3}},      {3, 2, {2, 3, 1}, {3, 300}},
        {1, 1, {40000}, {40000}},
    };
    (void)state;
    defined_register(
        "fused::clip(Tensor x, Tensor y, float limit, int n) -> Tensor",
        "float clip(float x, float y, float limit, int n) {\n    float a = fabsf(x) + n, t = y > x "
        "? y : limit;\n"
        "    return a < limit && y != 0 ? x : copysignf(limit + log1pf(a * a), x) + t;\n}",
        NULL, NULL);
    ctsc_module *m = defined_compile(DEFINED_PROGRAM);
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
            char what[64];
            ctsc_value *args[] = {defined_tensor(dtypes[i][0], shapes[k].nx, shapes[k].x),
                                  defined_tensor(dtypes[i][1], shapes[k].ny, shapes[k].y),
                                  ctsc_float_new(1.3), ctsc_int_new(1)};
            defined_fill(args[0], 1), defined_fill(args[1], 2);
            ctsc_value *plain = defined_run(m, 0, 4, args);
            for (int opt = 2; opt <= 3; opt++) {
                ctsc_value *fused = defined_run(m, opt, 4, args);
                snprintf(what, sizeof what, "dtypes %d %d, shape %zu, opt %d", dtypes[i][0],
                         dtypes[i][1], k, opt);
                defined_compare(plain, fused, what);
                ctsc_value_free(fused);
                if (k == 1 && dtypes[i][0] != CTSC_BOOL)
                    defined_check_fused(m, opt, 4, args, "fused::clip(");
            }
            ctsc_value_free(plain);
            for (int j = 0; j < 4; j++) ctsc_value_free(args[j]);
        }
    ctsc_module_free(m);
}

/* Enough live values to make blocks short. */
static void defined_wide(void **state) {
    enum { LOCALS = 60 };
    char text[8192], sum[1024];
    int at = sprintf(text, "float f(float x) {\n"), end = 0;
    (void)state;
    for (int i = 0; i < LOCALS; i++) {
        at += sprintf(text + at, "    float a%d = x * %d.5f + sqrtf(%d);\n", i, i, i);
        end += sprintf(sum + end, "%sa%d", i ? " + " : "", i);
    }
    sprintf(text + at, "    return %s;\n}\n", sum);
    defined_register("wide::f(Tensor x) -> Tensor", text, NULL, NULL);
    ctsc_module *m = defined_compile(
        "import torch\ndef forward(x):\n    return torch.ops.wide.f(x * 1) * 1\n");
    for (int i = 0; i < 6; i++) {
        int64_t n = (const int64_t[]){1, 31, 1000}[i / 2];
        ctsc_value *x = defined_tensor(i % 2 ? CTSC_FLOAT64 : CTSC_FLOAT32, 1, &n);
        defined_fill(x, 4);
        for (int opt = 0; opt <= 2; opt += 2) {
            ctsc_value *y = defined_run(m, opt, 1, &x);
            for (int64_t k = 0; k < n; k++) {
                double want = 0;
                for (int j = 0; j < LOCALS; j++) want += defined_get(x, k) * (j + 0.5) + sqrt(j);
                if (fabs(defined_get(y, k) - want) > (i % 2 ? 1e-11 : 2e-2))
                    fail_msg("%d: %g, not %g", (int)k, defined_get(y, k), want);
            }
            ctsc_value_free(y);
        }
        ctsc_value_free(x);
    }
    ctsc_module_free(m);
}

/* Into a reduction, in a loop, and of views. */
static void defined_around(void **state) {
    static const char *const programs[] = {
        "import torch\ndef forward(x):\n    return torch.softmax(torch.ops.around.gate(x, x.t()[:, "
        ":1] + 1) * 2, 1)\n",
        "import torch\ndef forward(x):\n    s = torch.zeros(6, 6)\n    for i in range(5):\n        "
        "s = torch.ops.around.gate(s + x, x) + i\n    return s\n",
        "import torch\ndef forward(x):\n    return torch.ops.around.gate(x.t(), x[::2].repeat(2, "
        "1)[:, ::1]).sum(0)\n",
        "import torch\ndef forward(x):\n    return (x.unsqueeze(0).expand(3, 6, 6) * "
        "torch.ops.around.gate(x[0], x[:, 1:2])).mean()\n",
    };
    int64_t sizes[] = {6, 6};
    ctsc_value *x = defined_tensor(CTSC_FLOAT32, 2, sizes);
    (void)state;
    defined_fill(x, 9);
    defined_register("around::gate(Tensor x, Tensor g) -> Tensor", "x / (1.0f + expf(-g))", NULL,
                     NULL);
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        ctsc_module *m = defined_compile(programs[i]);
        ctsc_value *plain = defined_run(m, 0, 1, &x);
        for (int opt = 1; opt <= 3; opt++) {
            ctsc_value *y = defined_run(m, opt, 1, &x);
            defined_compare(plain, y, programs[i]);
            ctsc_value_free(y);
        }
        ctsc_value_free(plain), ctsc_module_free(m);
    }
    ctsc_value_free(x);
}

/* A function beside the definition runs where nothing is fused. */
static ctsc_status defined_double(void *ctx, size_t nargs, ctsc_value *const *args,
                                  ctsc_value **results, ctsc_error *e) {
    (void)nargs, (void)e;
    ++*(int *)ctx;
    results[0] = defined_tensor(CTSC_FLOAT32, 1, ctsc_tensor_sizes(args[0]));
    for (int64_t i = 0; i < defined_numel(args[0]); i++)
        defined_set(results[0], i, 2 * defined_get(args[0], i));
    return CTSC_OK;
}
static void defined_both(void **state) {
    static int calls;
    int64_t sizes[] = {4};
    ctsc_value *x = defined_tensor(CTSC_FLOAT32, 1, sizes);
    (void)state;
    defined_fill(x, 5);
    defined_register("both::twice(Tensor x) -> Tensor", "2 * x", defined_double, &calls);
    ctsc_module *m = defined_compile(
        "import torch\ndef forward(x):\n    return torch.ops.both.twice(x + 1) + 1\n");
    ctsc_value *plain = defined_run(m, 0, 1, &x);
    assert_int_equal(calls, 3);
    ctsc_value *fused = defined_run(m, 2, 1, &x);
    defined_compare(plain, fused, "function and definition");
    ctsc_value_free(plain), ctsc_value_free(fused);
    calls = 0;
    ctsc_value_free(defined_run(m, 2, 1, &x));
    if (codegen_available(codegen_shared(), NULL)) assert_int_equal(calls, 0);
    ctsc_value_free(x), ctsc_module_free(m);
}

/* More tensors than a kernel's operator takes; dtypes that are refused; shapes that do not fit; an
 * argument's dtype without influence. */
static void defined_edges(void **state) {
    int64_t sizes[] = {3}, other[] = {4};
    ctsc_error *e = ctsc_error_new();
    ctsc_value *x = defined_tensor(CTSC_FLOAT32, 1, sizes), *y = NULL;
    (void)state;
    defined_fill(x, 3);
    defined_register("edges::seven(Tensor a, Tensor b, Tensor c, Tensor d, Tensor e, Tensor f, "
                     "Tensor g) -> Tensor",
                     "a + 2*b + 3*c + 4*d + 5*e + 6*f + 7*g", NULL, NULL);
    ctsc_module *m = defined_compile("import torch\ndef forward(x):\n    return "
                                     "torch.ops.edges.seven(x, x, x, x, x, x, x * 2) - x\n");
    for (int opt = 0; opt <= 3; opt++) {
        y = defined_run(m, opt, 1, &x);
        for (int i = 0; i < 3; i++)
            assert_true(fabs(defined_get(y, i) - 34 * defined_get(x, i)) < 1e-4);
        ctsc_value_free(y);
    }
    ctsc_module_free(m);
    defined_register("edges::pair(Tensor a, Tensor b, Scalar s) -> Tensor", "a * b + s", NULL,
                     NULL);
    m = defined_compile(
        "import torch\ndef forward(x, y):\n    return torch.ops.edges.pair(x + 1, y, 2) * 2\n");
    ctsc_value *bad[] = {x, defined_tensor(CTSC_FLOAT32, 1, other)},
               *cplx[] = {x, defined_tensor(CTSC_COMPLEX64, 1, sizes)};
    for (int opt = 0; opt <= 3; opt++) {
        y = NULL;
        assert_int_equal(ctsc_module_set_opt(m, opt, e), CTSC_OK);
        assert_int_equal(ctsc_module_run(m, "forward", 2, bad, NULL, &y, e), CTSC_FAILED);
        assert_non_null(strstr(ctsc_error_message(e),
                               "must match the size of tensor b (4) at non-singleton dimension 0"));
        assert_int_equal(ctsc_module_run(m, "forward", 2, cplx, NULL, &y, e), CTSC_FAILED);
        if (!strstr(ctsc_error_message(e), "not implemented for 'ComplexFloat'"))
            fail_msg("%s", ctsc_error_message(e));
        assert_null(y);
    }
    ctsc_value_free(bad[1]), ctsc_value_free(cplx[1]), ctsc_value_free(x);
    ctsc_module_free(m), ctsc_error_free(e);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defined_against_c), cmocka_unit_test(defined_functions),
        cmocka_unit_test(defined_errors),    cmocka_unit_test(defined_schemas),
        cmocka_unit_test(defined_limits),    cmocka_unit_test(defined_hostile),
        cmocka_unit_test(defined_fused),     cmocka_unit_test(defined_around),
        cmocka_unit_test(defined_both),      cmocka_unit_test(defined_edges),
        cmocka_unit_test(defined_wide),      cmocka_unit_test(defined_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
