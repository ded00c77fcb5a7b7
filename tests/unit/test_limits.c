/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_limits.c - no work that a program asks for is beyond its limits, whatever numbers it passes.
 *
 *     test_limits [OPERATOR]
 *
 * Method: calls that work, those of tests/edges/cases.txt and of limit_cases.h, are made again with
 * extreme values for each of their numbers: arguments, items of lists, elements of tensors; and
 * with tensors that are expanded along each dimension, which have any number of elements in no
 * memory. Every call has to end, with a result or a failure, under a deadline and a bound on
 * memory. A call that does not end is found by an alarm, long after the deadline: a slow machine
 * does not fail here. Whole programs, interpreted and as native code, are stopped by each of the
 * limits, and from another thread.
 */
#include "opcase.h"

#include "base/clock.h"
#include "base/threads/limits.h"
#include "base/threads/thread_pool.h"
#include "limit_cases.h"
#include "tensor/tensor.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

enum {
    LIMITS_MS = 20,     /* what an operator of the sweep has */
    LIMITS_GUARD = 120, /* seconds after which one that goes on has failed */
    LIMITS_MEMORY = 64 << 20,
    LIMITS_ROWS = 2, /* calls of one operator that are varied */
};

static const char *limits_only;
static char limits_now[1 << 12]; /* the call that runs */
static long limits_calls, limits_stopped;

static void limits_alarm(int signal) {
    (void)signal;
    static const char text[] = " does not end\n";
    if (write(2, limits_now, strlen(limits_now)) < 0 || write(2, text, sizeof text - 1) < 0)
        _exit(2);
    _exit(1);
}

/* ---- one call -------------------------------------------------------------------------------- */

static ctsc_status limits_call(const char *key, int n, const value *args, limits *l, diag *d) {
    static runtime rt;
    value results[OPCASE_MAX_RESULTS];
    mem_budget memory = {.left = LIMITS_MEMORY};
    for (int i = 0; i < OPCASE_MAX_RESULTS; i++) results[i] = value_none();
    runtime_init(&rt);
    op_ctx cx = {.diag = d, .op = op_find(key), .rt = &rt};
    mem_budget *outer_memory = mem_budget_use(&memory);
    limits *outer = limits_use(l);
    alarm(LIMITS_GUARD);
    ctsc_status s = op_call(&cx, key, n, args, results);
    alarm(0);
    limits_use(outer);
    mem_budget_use(outer_memory);
    for (int i = 0; i < OPCASE_MAX_RESULTS; i++) value_unref(results[i]);
    return s;
}

/* Ends: that is the test. */
static void limits_try(const opcase *c, int n, const value *args, const char *what,
                       long long number) {
    diag d = {0};
    limits l = {.deadline = clock_now() + LIMITS_MS * UINT64_C(1000000)};
    snprintf(limits_now, sizeof limits_now, "%s %.1000s: %s %lld", c->op, c->args, what, number);
    ctsc_status s = limits_call(c->op, n, args, &l, &d);
    limits_calls++;
    limits_stopped += atomic_load(&l.reached) != LIMIT_NONE;
    if (s == CTSC_INTERNAL) fail_msg("%s: %s", limits_now, diag_message(&d));
    diag_clear(&d);
}

/* ---- extreme values -------------------------------------------------------------------------- */

static const int64_t limits_ints[] = {-1,
                                      100000,
                                      INT32_MAX,
                                      INT64_C(1) << 31,
                                      INT64_C(1) << 40,
                                      INT64_C(1) << 62,
                                      -(INT64_C(1) << 62),
                                      INT64_MAX,
                                      INT64_MIN};
static const double limits_floats[] = {1e5,    -1e6 - 0.5, 1e9,      -1e15 - 0.5, 1e18, 1e300,
                                       -1e300, 1e-300,     INFINITY, -INFINITY,   NAN};
enum {
    LIMITS_INTS = sizeof limits_ints / sizeof *limits_ints,
    LIMITS_FLOATS = sizeof limits_floats / sizeof *limits_floats
};

static void limits_vary_number(const opcase *c, int n, value *args, int i) {
    value old = args[i];
    for (int k = 0; k < LIMITS_INTS && old.tag == V_INT; k++) {
        args[i] = value_int(limits_ints[k]);
        limits_try(c, n, args, "an argument is", limits_ints[k]);
    }
    for (int k = 0; k < LIMITS_FLOATS && old.tag == V_FLOAT; k++) {
        args[i] = value_float(limits_floats[k]);
        limits_try(c, n, args, "an argument is number", k);
    }
    args[i] = old;
}

static void limits_vary_list(const opcase *c, int n, value *args, int i) {
    value old = args[i];
    const list *l = old.u.list;
    for (size_t j = 0; j <= l->len; j++) /* each, then all */
        for (int k = 0; k < LIMITS_INTS; k++) {
            list *made = list_new(LIST_INT, TYPE_INT, l->len);
            for (size_t q = 0; q < l->len; q++)
                list_append_take(made,
                                 value_int(q == j || j == l->len ? limits_ints[k] : l->u.ints[q]));
            args[i] = value_list_take(made);
            limits_try(c, n, args, "an argument's items are", limits_ints[k]);
            value_unref(args[i]);
        }
    args[i] = old;
}

static void limits_vary_elements(const opcase *c, int n, value *args, int i) {
    value old = args[i];
    dtype dt = (dtype)old.u.tensor->dtype;
    bool whole = !dtype_is_float(dt) && !dtype_is_complex(dt);
    int64_t most = old.u.tensor->numel < 6 ? old.u.tensor->numel : 6;
    for (int64_t e = 0; e <= most; e++) /* each, then all */
        for (int k = 0; k < (whole ? LIMITS_INTS : LIMITS_FLOATS); k++) {
            tensor *t;
            assert_int_equal(tensor_clone(NULL, old.u.tensor, &t), CTSC_OK);
            for (int64_t q = e < most ? e : 0; q < (e < most ? e + 1 : t->numel); q++) {
                char *p = (char *)tensor_data(t) + (size_t)q * dtype_size(dt);
                if (whole) dtype_store_int(dt, p, limits_ints[k]);
                else dtype_store_float(opcase_part(dt), p, limits_floats[k]);
            }
            args[i] = value_tensor_take(t);
            limits_try(c, n, args, "an element is number", k);
            value_unref(args[i]);
        }
    args[i] = old;
}

static void limits_expand(const opcase *c, int n, value *args, int i) {
    value old = args[i];
    const tensor *t = old.u.tensor;
    for (int dim = 0; dim < t->ndim; dim++) {
        int64_t sizes[TENSOR_MAX_DIMS], strides[TENSOR_MAX_DIMS];
        tensor *wide;
        memcpy(sizes, t->sizes, sizeof *sizes * (size_t)t->ndim);
        memcpy(strides, t->strides, sizeof *strides * (size_t)t->ndim);
        sizes[dim] = INT64_C(1) << 36, strides[dim] = 0;
        if (tensor_view_raw(NULL, t, t->ndim, sizes, strides, t->offset, &wide) != CTSC_OK)
            continue;
        args[i] = value_tensor_take(wide);
        limits_try(c, n, args, "expanded along dimension", dim);
        value_unref(args[i]);
    }
    args[i] = old;
}

static void limits_vary(const opcase *c) {
    const op *o = op_find(c->op);
    value args[OPCASE_MAX_ARGS];
    if (!o || !o->fn) fail_msg("%s is not implemented", c->op);
    int n = opcase_values(c->args, args);
    for (; n < o->schema->nargs && n < OPCASE_MAX_ARGS && o->schema->args[n].has_default; n++)
        args[n] = value_ref(o->schema->args[n].default_value);
    for (int i = 0; i < n; i++) {
        const list *l = args[i].tag == V_LIST ? args[i].u.list : NULL;
        bool tensor = args[i].tag == V_TENSOR && args[i].u.tensor->numel > 0;
        limits_vary_number(c, n, args, i);
        if (l && l->kind == LIST_INT) limits_vary_list(c, n, args, i);
        if (tensor) limits_vary_elements(c, n, args, i);
        if (tensor) limits_expand(c, n, args, i);
    }
    for (int i = 0; i < n; i++) value_unref(args[i]);
}

static bool limits_wanted(const char *key) { return !limits_only || !strcmp(key, limits_only); }

static void limits_sweep(void **state) {
    (void)state;
    static char line[1 << 16], last[sizeof line];
    int rows = 0;
    FILE *f = fopen("tests/edges/cases.txt", "r");
    assert_non_null(f);
    signal(SIGALRM, limits_alarm);
    for (size_t i = 0; i < sizeof limit_cases / sizeof *limit_cases; i++)
        if (limits_wanted(limit_cases[i].op)) limits_vary(&limit_cases[i]);
    while (fgets(line, sizeof line, f)) {
        char *args = strchr(line, '\t'), *want = args ? strchr(args + 1, '\t') : NULL;
        if (!want || line[0] == '#' || want[1] == '!') continue;
        *args++ = 0, *want = 0;
        if (strcmp(last, line)) rows = 0;
        strcpy(last, line);
        if (rows++ < LIMITS_ROWS && limits_wanted(line)) limits_vary(&(opcase){line, args, ""});
    }
    fclose(f);
    print_message("%ld calls, %ld stopped\n", limits_calls, limits_stopped);
}

/* ---- what is counted ------------------------------------------------------------------------- */

/* Numbers that are not sizes cost steps. */
static void limits_steps(void **state) {
    (void)state;
    static const opcase cases[] = {
        {"aten::chunk", "f32[0]{} 100000 0", ""},
        {"aten::tensor_split.sections", "f32[0]{} 100000 0", ""},
        {"aten::mul.left_t", "[1 2] 1000000", ""},
        {"prim::rangelist", "1000000", ""},
        {"aten::zeros", "[10000000]", ""},
        {"aten::arange", "10000000", ""},
        {"aten::repeat", "f32[1]{1} [10000000]", ""},
        {"aten::one_hot", "i64[2]{0 1} 5000000", ""},
        {"aten::tril_indices", "4000000 1 0", ""},
        {"aten::bincount", "i64[1]{7000000} None 0", ""},
        {"aten::combinations",
         "f32[40]{1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 1 2 3 4 5 6 7 8 9 10 11 12 13 "
         "14 15 16 17 18 19 20} 5 false",
         ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        value args[OPCASE_MAX_ARGS];
        diag d = {0};
        uint64_t left = 100;
        limits l = {.steps_left = &left};
        int n = opcase_values(cases[i].args, args);
        ctsc_status s = limits_call(cases[i].op, n, args, &l, &d);
        if (s != CTSC_LIMIT || left)
            fail_msg("%s: status %d, %lu steps left: %s", cases[i].op, s, (unsigned long)left,
                     diag_message(&d));
        diag_clear(&d);
        for (int k = 0; k < n; k++) value_unref(args[k]);
    }
}

/* Requests that no memory can fill fail at once, whatever overflows on the way. */
static void limits_memory(void **state) {
    (void)state;
    static const opcase cases[] = {
        {"aten::zeros", "[1152921504606846976]", ""},
        {"aten::zeros", "[4294967296 4294967296]", ""},
        {"aten::empty.memory_format", "[4611686018427387904 4]", ""},
        {"aten::empty_strided", "[4 4] [4611686018427387904 1]", ""},
        {"aten::arange", "1152921504606846976", ""},
        {"aten::linspace", "0 1 1152921504606846976", ""},
        {"aten::eye", "4294967296", ""},
        {"aten::repeat", "f32[2]{1 2} [1152921504606846976 8]", ""},
        {"aten::constant_pad_nd", "f32[2]{1 2} [4611686018427387904 4611686018427387904]", ""},
        {"aten::mul.left_t", "[1 2] 4611686018427387904", ""},
        {"prim::rangelist", "4611686018427387904", ""},
        {"aten::one_hot", "i64[2]{0 1} 1152921504606846976", ""},
        {"aten::bincount", "i64[1]{1152921504606846976}", ""},
        {"aten::tril_indices", "2147483647 2147483647 0", ""},
        {"aten::mvlgamma", "f64[1]{2} 1152921504606846976", ""},
        {"aten::ljust", "'a' 4611686018427387904 ' '", ""},
        {"aten::hann_window", "1152921504606846976", ""},
        {"aten::randperm", "1152921504606846976", ""},
        {"aten::upsample_nearest1d", "f32[1,1,2]{1 2} [1152921504606846976] None", ""},
        {"aten::fft_fft", "f32[2]{1 2} 1152921504606846976 -1", ""},
        {"aten::repeat_interleave.self_int", "f32[2]{1 2} 1152921504606846976", ""},
        {"aten::tile", "f32[2]{1 2} [1152921504606846976]", ""},
        {"aten::vander", "f32[2]{1 2} 1152921504606846976", ""},
        {"aten::diag_embed", "f32[2]{1 2} 4611686018427387904 0 1", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        strbuf got = STRBUF_INIT;
        static counting unused;
        snprintf(limits_now, sizeof limits_now, "%s %s", cases[i].op, cases[i].args);
        alarm(LIMITS_GUARD);
        if (opcase_once(&cases[i], &unused, 0, &got) == CTSC_OK)
            fail_msg("%s has a result", limits_now);
        alarm(0);
        sb_free(&got);
    }
}

/* ---- programs -------------------------------------------------------------------------------- */

/* One operator or one fused kernel with work for a year; nothing that the interpreter could
 * stop in between. */
static const char *const limits_programs[] = {
    "    return x.expand(1 << 45).sum()\n",
    "    return (x.expand(1 << 45) * 2.0 + 1.0).sum()\n",
    "    return torch.exp(x.expand(4, 1 << 43)).sum(1)\n",
    "    return torch.softmax(x.expand(8, 1 << 41), 1).sum() if n > 1 else (x.expand(1 << 45) * "
    "2.0).max()\n",
    "    return x.expand(3, 1 << 42).argmax(1)\n",
    "    y = torch.zeros(1)\n    y.expand(1 << 45).fill_(3.0)\n    return y\n",
    "    k = 1\n    for i in range(n):\n        for j in range(n):\n            k = (k * 5 + j) % "
    "1000003\n    return k\n",
    "    return torch.matmul(x.expand(1 << 20, 1 << 20), x.expand(1 << 20, 1)).sum()\n",
    "    return torch.max_pool2d(torch.zeros(1, 1, 2600, 2600), [1300, 1300], [1, 1])\n",
    "    return torch.avg_pool2d(torch.zeros(1, 1, 2600, 2600), [1300, 1300], [1, 1])\n",
    "    return torch.max_pool2d(torch.zeros(1, 1, 1500, 1500, dtype=torch.int64), [750, 750], [1, "
    "1])\n",
};

static ctsc_module *limits_compiled(const char *body, int opt) {
    char text[1000];
    ctsc_module *m = NULL;
    ctsc_error *e = ctsc_error_new();
    snprintf(text, sizeof text, "import torch\ndef forward(x: torch.Tensor, n: int):\n%s", body);
    if (ctsc_module_compile_text("t.py", text, strlen(text), NULL, &m, e) != CTSC_OK)
        fail_msg("%s: %s", body, ctsc_error_message(e));
    assert_int_equal(ctsc_module_set_opt(m, opt, e), CTSC_OK);
    ctsc_error_free(e);
    return m;
}

static void *limits_cancel_soon(void *c) {
    usleep(30000);
    ctsc_cancel_set(c);
    return NULL;
}

static void limits_stop_program(const char *body, int opt, ctsc_value **args) {
    ctsc_error *e = ctsc_error_new();
    ctsc_cancel *c = ctsc_cancel_new();
    ctsc_module *m = limits_compiled(body, opt);
    ctsc_value *out = NULL;
    pthread_t other;
    ctsc_run_options timed = {
        .size = sizeof timed, .timeout_us = 30000, .max_bytes = LIMITS_MEMORY};
    ctsc_run_options cancelled = {
        .size = sizeof cancelled, .cancel = c, .max_bytes = LIMITS_MEMORY};
    snprintf(limits_now, sizeof limits_now, "level %d: %s", opt, body);
    alarm(LIMITS_GUARD);
    for (int round = 0; round < 2; round++) /* kernels may come with the second call */
        if (ctsc_module_run(m, "forward", 2, args, &timed, &out, e) != CTSC_LIMIT)
            fail_msg("%s: %s", limits_now, ctsc_error_message(e));
    assert_int_equal(pthread_create(&other, NULL, limits_cancel_soon, c), 0);
    if (ctsc_module_run(m, "forward", 2, args, &cancelled, &out, e) != CTSC_LIMIT)
        fail_msg("%s: %s", limits_now, ctsc_error_message(e));
    pthread_join(other, NULL);
    alarm(0);
    assert_null(out);
    ctsc_module_free(m), ctsc_cancel_free(c), ctsc_error_free(e);
}

static void limits_run_programs(void **state) {
    (void)state;
    const int64_t one = 1;
    ctsc_value *args[2] = {NULL, ctsc_int_new(INT64_MAX)};
    assert_int_equal(ctsc_tensor_new(CTSC_FLOAT32, 1, &one, &args[0], NULL), CTSC_OK);
    for (int threads = 1; threads <= 2; threads++) {
        ctsc_set_threads(threads);
        for (size_t i = 0; i < sizeof limits_programs / sizeof *limits_programs; i++)
            for (int opt = 0; opt <= 3; opt += threads == 1 ? 1 : 3)
                limits_stop_program(limits_programs[i], opt, args);
    }
    ctsc_value_free(args[0]), ctsc_value_free(args[1]);
}

int main(int argc, char **argv) {
    if (argc > 1) limits_only = argv[1];
    ctsc_set_compiling(CTSC_COMPILE_IN_CALLS);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_sweep),
        cmocka_unit_test(limits_steps),
        cmocka_unit_test(limits_memory),
        cmocka_unit_test(limits_run_programs),
    };
    pool_set_threads(1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
