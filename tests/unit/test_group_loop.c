/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_group_loop.c - native loops against the interpreter: results, tensors that were
 * written, failures.
 *
 * Without libctsc-jit.so both are the interpreter; that kernels were made is then not asked.
 */
#include "support.h"

#include "codegen/cache/cache.h"
#include "ctsc.h"
#include "loop_cases.h"

#include <math.h>

enum { LOOP_MAX_ARGS = 4 };

static bool have_compiler;

static ctsc_module *loop_compile(const char *source) {
    char text[4096];
    ctsc_module *m = NULL;
    ctsc_error *e = ctsc_error_new();
    snprintf(
        text, sizeof text,
        "import math\nimport torch\nfrom torch import Tensor\nfrom typing import List, Tuple\n\n%s",
        source);
    if (ctsc_module_compile_text("t.py", text, strlen(text), NULL, &m, e) != CTSC_OK)
        fail_msg("%s\n%s", ctsc_error_message(e), source);
    ctsc_error_free(e);
    return m;
}

/* ---- arguments ------------------------------------------------------------------------------- */

static void loop_fill(ctsc_value *t, int64_t n) {
    void *p = ctsc_tensor_data(t);
    for (int64_t i = 0; i < n; i++) {
        double x = fmod((double)(i * i + 3) * 0.61803398875, 1.0);
        switch (ctsc_tensor_dtype(t)) {
        case CTSC_FLOAT32: ((float *)p)[i] = (float)x; break;
        case CTSC_FLOAT64: ((double *)p)[i] = x; break;
        case CTSC_INT64: ((int64_t *)p)[i] = (int64_t)(x * 3); break;
        case CTSC_INT32: ((int32_t *)p)[i] = (int32_t)(x * 9) - 4; break;
        case CTSC_FLOAT16: ((uint16_t *)p)[i] = (uint16_t)(0x3000 + (i * 37) % 0x800); break;
        case CTSC_BFLOAT16: ((uint16_t *)p)[i] = (uint16_t)(0x3e00 + (i * 37) % 0x100); break;
        default: fail();
        }
    }
}

/* "f[2,3]" */
static ctsc_value *loop_tensor(const char *spec) {
    static const char letters[] = "fdhbiw";
    static const ctsc_dtype dtypes[] = {CTSC_FLOAT32,  CTSC_FLOAT64, CTSC_FLOAT16,
                                        CTSC_BFLOAT16, CTSC_INT64,   CTSC_INT32};
    int64_t sizes[8], n = 1;
    int ndim = 0;
    for (const char *p = spec + 1; *p && *p != ']' && p[1] != ']'; n *= sizes[ndim++]) {
        char *end;
        sizes[ndim] = strtoll(p + 1, &end, 10);
        p = end;
    }
    ctsc_value *t = NULL;
    assert_int_equal(
        ctsc_tensor_new(dtypes[strchr(letters, *spec) - letters], ndim, sizes, &t, NULL), CTSC_OK);
    loop_fill(t, n);
    return t;
}

static size_t loop_args(const char *specs, ctsc_value **out) {
    char text[256];
    size_t n = 0;
    snprintf(text, sizeof text, "%s", specs);
    for (char *p = strtok(text, " "); p; p = strtok(NULL, " ")) {
        assert_true(n < LOOP_MAX_ARGS);
        out[n++] = strchr(p, '[')   ? loop_tensor(p)
                   : strchr(p, '.') ? ctsc_float_new(atof(p))
                                    : ctsc_int_new(atoll(p));
    }
    return n;
}

static void loop_args_free(size_t n, ctsc_value **args) {
    for (size_t i = 0; i < n; i++) ctsc_value_free(args[i]);
}

/* ---- running --------------------------------------------------------------------------------- */

static void loop_silent(void *ctx, const char *text, size_t len) {
    (void)ctx, (void)text, (void)len;
}

typedef struct loop_run {
    ctsc_value *result, *args[LOOP_MAX_ARGS];
    size_t nargs;
    char message[512];
} loop_run;

static void loop_call(ctsc_module *m, int level, const char *args, loop_run *r) {
    ctsc_error *e = ctsc_error_new();
    ctsc_run_options o = {.size = sizeof o, .print = loop_silent};
    memset(r, 0, sizeof *r);
    r->nargs = loop_args(args, r->args);
    assert_int_equal(ctsc_module_set_opt(m, level, e), CTSC_OK);
    if (ctsc_module_run(m, "forward", r->nargs, r->args, &o, &r->result, e) != CTSC_OK)
        snprintf(r->message, sizeof r->message, "%s", ctsc_error_message(e));
    ctsc_error_free(e);
}

static void loop_run_free(loop_run *r) {
    ctsc_value_free(r->result);
    loop_args_free(r->nargs, r->args);
}

/* The same result or message, and the same elements in the arguments. */
static void loop_same(const char *what, const loop_run *got, const loop_run *want,
                      double tolerance) {
    if (strcmp(got->message, want->message))
        fail_msg("'%s', not '%s':\n%s", got->message, want->message, what);
    if (want->result && !ctsc_value_close(got->result, want->result, tolerance, tolerance, NULL))
        fail_msg("another result:\n%s", what);
    for (size_t i = 0; i < want->nargs; i++)
        if (!ctsc_value_close(got->args[i], want->args[i], tolerance, tolerance, NULL))
            fail_msg("another argument %d:\n%s", (int)i, what);
}

/* How many groups of the method have a kernel for such arguments. */
static int loop_kernels(ctsc_module *m, const char *specs) {
    ctsc_value *args[LOOP_MAX_ARGS];
    size_t n = loop_args(specs, args);
    char *text = NULL;
    int count = 0;
    ctsc_error *e = ctsc_error_new();
    if (ctsc_module_graph_for(m, "forward", n, args, CTSC_GRAPH_KERNELS, &text, e) == CTSC_OK)
        for (const char *p = text; (p = strstr(p, "; nest loop(")); p++) count++;
    ctsc_error_free(e);
    ctsc_string_free(text);
    loop_args_free(n, args);
    return count;
}

/* Calls the program at both levels with each of the arguments in turn, "a; b". */
static void loop_check(const char *source, const char *calls, bool native) {
    ctsc_module *m = loop_compile(source), *plain = loop_compile(source);
    char text[256];
    snprintf(text, sizeof text, "%s", calls);
    for (char *p = text, *next; p; p = next) {
        next = strchr(p, ';');
        if (next) *next++ = 0;
        loop_run want, got;
        bool rough = strchr(p, 'h') || strchr(p, 'b');
        loop_call(plain, 0, p, &want);
        loop_call(m, 2, p, &got);
        loop_same(source, &got, &want, rough ? 1e-2 : 1e-5);
        if (native && have_compiler && p == text && !want.message[0] && !loop_kernels(m, p))
            fail_msg("no native loop:\n%s", source);
        loop_run_free(&want);
        loop_run_free(&got);
    }
    ctsc_module_free(m);
    ctsc_module_free(plain);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void loop_programs(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof loop_cases / sizeof *loop_cases; i++)
        loop_check(loop_cases[i].source, loop_cases[i].args, true);
}

/* Failures in a round: the message, and what the rounds before it wrote. The kernel is made by
 * calls that succeed and by calls that fail. */
static void loop_faults(void **state) {
    (void)state;
    static const char *const over = "def forward(x: Tensor, n: int) -> Tensor:\n"
                                    "    for i in range(n):\n"
                                    "        x[i] = x[i] * 2 + 1\n"
                                    "    return x\n";
    loop_check(over, "f[10] 10;f[10] 12;f[10] 3;f[0] 1;f[4] 4", true);
    loop_check(over, "f[10] 12;f[10] 10;f[10] 11", false);
    static const char *const matrix = "def forward(x: Tensor, out: Tensor) -> Tensor:\n"
                                      "    for i in range(x.shape[0]):\n"
                                      "        for j in range(x.shape[1]):\n"
                                      "            out[i, j] = x[i, j] + 1\n"
                                      "    return out\n";
    loop_check(matrix, "f[5,6] f[5,6];f[5,6] f[4,6];f[5,6] f[5,5];f[0,6] f[4,6]", true);
    loop_check(matrix, "f[5,6] f[4,6];f[5,6] f[5,5];f[5,6] f[7,8]", false);
    static const char *const back = "def forward(x: Tensor, n: int) -> float:\n"
                                    "    s = 0.0\n"
                                    "    for i in range(n):\n"
                                    "        s += x[-i - 1].item() + float(x[i // 2])\n"
                                    "    return s\n";
    loop_check(back, "f[10] 10;f[10] 11;f[10] 2", true);
    /* another int than the one that the condition bounds */
    static const char *const ahead = "def forward(x: Tensor) -> float:\n"
                                     "    s = 0.0\n"
                                     "    k = 0\n"
                                     "    i = 1\n"
                                     "    while k < x.shape[0]:\n"
                                     "        s += x[i].item()\n"
                                     "        i += 2\n"
                                     "        k += 1\n"
                                     "    return s\n";
    loop_check(ahead, "f[10];f[1];f[0]", true);
    /* the first round is entered by another bound than the others: what that says of i
     * is no bound here */
    static const char *const entered = "def forward(x: Tensor, n: int) -> float:\n"
                                       "    s = 0.0\n"
                                       "    i = n\n"
                                       "    go = i < 5\n"
                                       "    while go:\n"
                                       "        s += x[i].item()\n"
                                       "        i += 1\n"
                                       "        go = i < 3\n"
                                       "    return s\n";
    loop_check(entered, "f[10] 0;f[10] 4;f[3] 4;f[3] 3;f[3] 2;f[3] 7", true);
}

static void loop_divisions(void **state) {
    (void)state;
    static const char *const texts[] = {"100 // (m - i)",
                                        "100 % (m - i)",
                                        "int(100 / (m - i + 0.5))",
                                        "(-7 - i) // 2 + (-7 - i) % 4",
                                        "(i - 5) // (i - 20) + (i - 5) % (i - 20)",
                                        "(i - 5) ** 2",
                                        "abs(i - 5) * 3 // 7",
                                        "9223372036854775807 * i"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char source[512];
        snprintf(source, sizeof source,
                 "def forward(n: int, m: int, x: Tensor):\n    s = 0\n    for i in range(n):\n     "
                 "   s += int(%s)\n        x[i] = s\n    return s\n",
                 texts[i]);
        loop_check(source, "10 20 i[30];10 5 i[30];30 -1 i[30]", true);
    }
}

/* Tensors that share memory are not for a kernel that writes one of them. */
static void loop_sharing(void **state) {
    (void)state;
    loop_check("def forward(x: Tensor) -> Tensor:\n    y = x[1:]\n    for i in "
               "range(y.shape[0]):\n        y[i] = x[i] + y[i]\n    return x\n",
               "f[20]", false);
    loop_check("def forward(x: Tensor) -> Tensor:\n    y = x\n    for i in range(1, y.shape[0]):\n "
               "       y[i] = x[i - 1] + y[i]\n    return x\n",
               "f[20]", false);
    /* a row made before the rows it reads are written */
    loop_check("def forward(x: Tensor) -> Tensor:\n    for i in range(1, x.shape[0]):\n        r = "
               "x[i - 1] * 2\n        x[i - 1] = x[i]\n        x[i] = r\n"
               "    return x\n",
               "f[5,7]", false);
    /* a result of no rounds is what went in */
    loop_check("def forward(x: Tensor, s: Tensor, n: int):\n    t = s + 1\n    for i in "
               "range(n):\n        t = t + x[i]\n    t += 1\n    return t, s\n",
               "f[5] f[1] 0;f[5] f[1] 5", false);
}

/* New kinds of arguments, new sizes: the plan holds or another is made. */
static void loop_kinds(void **state) {
    (void)state;
    static const char *const sum = "def forward(x: Tensor, w: Tensor) -> Tensor:\n"
                                   "    out = torch.zeros(x.shape[0])\n"
                                   "    for i in range(x.shape[0]):\n"
                                   "        out[i] = torch.sum((x[i] - w) ** 2)\n"
                                   "    return out\n";
    loop_check(sum,
               "f[3,2] f[2];f[9,2] f[2];f[4,3] f[3];f[4,40] f[40];f[4,7] f[7];f[4,7] f[1];d[4,7] "
               "f[7];i[4,100] i[100];h[4,9] h[9];f[4,0] f[0]",
               false);
    loop_check("def forward(x: Tensor, n: int, a: float):\n    k = 0\n    t = 0.0\n    for i in "
               "range(n):\n        if float(x[i]) > a:\n            k += 1\n"
               "            t += float(x[i])\n        elif i % 2 == 0:\n            t -= a\n    "
               "return k, t\n",
               "f[30] 30 0.5;i[30] 30 1.0;d[30] 20 0.1;b[30] 30 0.2", true);
}

/* A constant size that the plan compares with an argument's: of 3 numbers, of 1, of 4. */
static void loop_constant_sizes(void **state) {
    (void)state;
    static const char *const slice = "def forward(x: Tensor, w: Tensor) -> Tensor:\n"
                                     "    out = torch.zeros(x.shape[0])\n"
                                     "    for i in range(x.shape[0]):\n"
                                     "        out[i] = torch.sum(x[i, 1:4] * w)\n"
                                     "    return out\n";
    loop_check(slice, "f[5,8] f[3];f[5,9] f[3];f[5,8] f[1];f[5,8] f[4];f[5,3] f[3]", true);
    static const char *const flipped = "def forward(x: Tensor, w: Tensor) -> Tensor:\n"
                                       "    out = torch.zeros(x.shape[0])\n"
                                       "    for i in range(x.shape[0]):\n"
                                       "        out[i] = torch.sum(w * x[i, 1:4])\n"
                                       "    return out\n";
    loop_check(flipped, "f[5,8] f[3];f[5,9] f[3];f[5,8] f[1];f[5,8] f[4];f[5,3] f[3]", true);
}

static int loop_setup(void **state) {
    (void)state;
    have_compiler = codegen_available(codegen_shared(), NULL);
    if (!have_compiler) printf("test_group_loop: without a compiler for kernels\n");
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loop_programs),  cmocka_unit_test(loop_faults),
        cmocka_unit_test(loop_divisions), cmocka_unit_test(loop_sharing),
        cmocka_unit_test(loop_kinds),     cmocka_unit_test(loop_constant_sizes),
    };
    return cmocka_run_group_tests(tests, loop_setup, NULL);
}
