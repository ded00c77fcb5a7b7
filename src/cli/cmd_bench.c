/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_bench.c - ctsc bench: how long a method takes.
 *
 * Each call gets the same arguments. After the first call, which compiles and is timed by itself, calls are repeated until
 * they have been run for --seconds and --calls times at least; the figures are of those calls.
 */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { OPT_INPUT = 256, OPT_INPUTS, OPT_METHOD, OPT_THREADS, OPT_SECONDS, OPT_CALLS, OPT_JSON };

typedef struct bench_args {
    cli_model model;
    const char *method;
    cli_inputs inputs;
    int threads, calls;
    double seconds;
    bool json;
} bench_args;

static const struct argp_option bench_options[] = {
    {"inputs", OPT_INPUTS, "FILE", 0, "arguments: a torch.save'd tuple, or a .npy/.npz file", 0},
    {"input", OPT_INPUT, "SPEC", 0, "one argument, as in `ctsc run`", 0},
    {"method", OPT_METHOD, "NAME", 0, "method to call (forward)", 0},
    {"threads", OPT_THREADS, "N", 0, "threads to use (all cores)", 0},
    {"seconds", OPT_SECONDS, "X", 0, "time to measure for (2)", 0},
    {"calls", OPT_CALLS, "N", 0, "calls to measure at least (10)", 0},
    {"json", OPT_JSON, 0, 0, "print JSON", 0},
    {0}};

static error_t bench_parse(int key, char *arg, struct argp_state *state) {
    bench_args *a = state->input;
    double n;
    switch (key) {
    case OPT_INPUT: a->inputs.specs[a->inputs.nspecs++] = arg; break;
    case OPT_INPUTS: a->inputs.file = arg; break;
    case OPT_METHOD: a->method = arg; break;
    case OPT_JSON: a->json = true; break;
    case OPT_THREADS:
        n = cli_number(state, "threads", arg);
        if (n < 0 || n > 1024 || n != (int)n) argp_error(state, "--threads: 0 to 1024 are possible");
        a->threads = (int)n;
        break;
    case OPT_SECONDS:
        a->seconds = cli_number(state, "seconds", arg);
        if (a->seconds < 0 || a->seconds > 1e6) argp_error(state, "--seconds: 0 to 1e6 are possible");
        break;
    case OPT_CALLS:
        n = cli_number(state, "calls", arg);
        if (n < 1 || n > 1e8 || n != (int)n) argp_error(state, "--calls: 1 to 1e8 are possible");
        a->calls = (int)n;
        break;
    case ARGP_KEY_INIT: state->child_inputs[0] = &a->model; break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static double bench_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static int bench_compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void bench_drop(void *ctx, const char *text, size_t len) {
    (void)ctx, (void)text, (void)len; /* what the script prints would drown the figures */
}

typedef struct bench_times { double first; double *us; size_t n, cap; } bench_times;

static ctsc_status bench_call(const bench_args *a, const ctsc_module *m, double *us, ctsc_error *e) {
    ctsc_run_options o = {.size = sizeof o, .print = bench_drop};
    ctsc_value *result = NULL;
    double start = bench_now();
    ctsc_status s = ctsc_module_run(m, a->method, a->inputs.nvalues, a->inputs.values, &o, &result, e);
    *us = bench_now() - start;
    ctsc_value_free(result);
    return s;
}

static int bench_measure(const bench_args *a, const ctsc_module *m, bench_times *t, ctsc_error *e) {
    double us, start;
    if (bench_call(a, m, &t->first, e) != CTSC_OK) return cli_report(e);
    for (start = bench_now(); t->n < (size_t)a->calls || bench_now() - start < a->seconds * 1e6;) {
        if (bench_call(a, m, &us, e) != CTSC_OK) return cli_report(e);
        if (t->n == t->cap) {
            size_t cap = t->cap ? 2 * t->cap : 1024;
            double *more = realloc(t->us, cap * sizeof *more);
            if (!more) return cli_complain(CTSC_LIMIT, "out of memory");
            t->us = more;
            t->cap = cap;
        }
        t->us[t->n++] = us;
    }
    qsort(t->us, t->n, sizeof *t->us, bench_compare);
    return 0;
}

static double bench_quantile(const bench_times *t, double q) {
    return t->us[(size_t)(q * (double)(t->n - 1) + 0.5)];
}

static int bench_show(const bench_args *a, const bench_times *t, double load_us) {
    double min = t->us[0], median = bench_quantile(t, 0.5), p90 = bench_quantile(t, 0.9), p99 = bench_quantile(t, 0.99);
    if (a->json)
        return cli_print_json(json_pack("{s:s, s:s, s:i, s:s, s:f, s:f, s:{s:f, s:f, s:f, s:f, s:I}}", "model", a->model.path,
                                        "method", a->method, "threads", a->threads, "device", "cpu", "load_us", load_us,
                                        "first_call_us", t->first, "eager", "min_us", min, "median_us", median, "p90_us", p90,
                                        "p99_us", p99, "calls", (json_int_t)t->n));
    printf("%s, method %s, %zu calls\n\n", a->model.path, a->method, t->n);
    printf("  load        %12.1f us\n  first call  %12.1f us\n", load_us, t->first);
    printf("  min         %12.1f us\n  median      %12.1f us\n  p90         %12.1f us\n  p99         %12.1f us\n", min, median,
           p90, p99);
    return 0;
}

static int bench_with(bench_args *a, ctsc_error *e) {
    ctsc_module *m = NULL;
    bench_times t = {0};
    double start = bench_now();
    int code = cli_load(&a->model, &m, e);
    double load_us = bench_now() - start;
    if (!code) code = cli_read_inputs(&a->inputs, e);
    if (!code) code = bench_measure(a, m, &t, e);
    if (!code) code = bench_show(a, &t, load_us);
    free(t.us);
    cli_free_inputs(&a->inputs);
    ctsc_module_free(m);
    return code;
}

int cmd_bench(int argc, char **argv) {
    static const struct argp_child children[] = CLI_MODEL_CHILD;
    static const struct argp argp = {bench_options, bench_parse, "MODEL",
                                     "Times the calls of a method, by the interpreter.", children, NULL, NULL};
    bench_args a = {.method = "forward", .seconds = 2, .calls = 10};
    a.inputs.specs = calloc((size_t)argc + 1, sizeof *a.inputs.specs);
    ctsc_error *e = ctsc_error_new();
    if (!a.inputs.specs || !e) return cli_complain(CTSC_LIMIT, "out of memory");
    cli_parse_args(&argp, argc, argv, &a);
    ctsc_set_threads(a.threads);
    int code = bench_with(&a, e);
    ctsc_error_free(e);
    free(a.inputs.specs);
    return code;
}
