/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_run.c - ctsc run: runs a method and prints its result, or compares it with
 * an expected one.
 * Tests: tests/cli/inputs.test, tests/cli/result.test, tests/corpus
 */
#include "cli/run/run.h"
#include "ctsc_compiler.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    OPT_EXPECT = 256,
    OPT_RTOL,
    OPT_ATOL,
    OPT_OUTPUT,
    OPT_STRICT,
    OPT_JSON,
    OPT_PASSES,
    OPT_FULL,
    OPT_TOP,
    OPT_LABELS,
    OPT_TIME,
    OPT_SANDBOX
};

typedef struct run_args {
    cli_model model;
    cli_call call;
    run_files files;
    const char *passes;
    double rtol, atol;
    cli_limits limits;
    int top; /* 0: all of the result */
    bool strict, json, full, time, sandbox;
} run_args;

static const struct argp_option run_options[] = {
    {"expect", OPT_EXPECT, "FILE", 0, "compare the result with this torch.save'd value", 0},
    {"rtol", OPT_RTOL, "X", 0, "relative tolerance of --expect (1e-5)", 0},
    {"atol", OPT_ATOL, "X", 0, "absolute tolerance of --expect (1e-8)", 0},
    {"output", OPT_OUTPUT, "FILE", 0, "save the result as torch.save does", 0},
    {"strict", OPT_STRICT, 0, 0,
     "refuse a model that mentions unsupported operators, even unused ones", 0},
    {"json", OPT_JSON, 0, 0, "print the result as JSON", 0},
    {"full", OPT_FULL, 0, 0,
     "print all of a large result (more than 1000 elements) instead of a summary", 0},
    {"top", OPT_TOP, "N", 0,
     "print the N largest numbers of each row of the result, with their indices", 0},
    {"labels", OPT_LABELS, "FILE", 0, "with --top: names of the places; one per line, or JSON", 0},
    {"time", OPT_TIME, 0, 0, "say how long the call took", 0},
    {"sandbox", OPT_SANDBOX, 0, 0,
     "read only the files of this call, and make no connections, programs or processes (Linux, on "
     "the CPU)",
     0},
    {"passes", OPT_PASSES, "A,B,C", 0,
     "for work on the compiler: inline the method's calls and run these passes on it first "
     "(ctsc opt --list)",
     0},
    {0}};

static error_t run_parse(int key, char *arg, struct argp_state *state) {
    run_args *a = state->input;
    switch (key) {
    case OPT_EXPECT: a->files.expect = arg; break;
    case OPT_PASSES: a->passes = arg; break;
    case OPT_OUTPUT: a->files.output = arg; break;
    case OPT_RTOL: a->rtol = cli_number_within(state, "rtol", arg, 0, INFINITY); break;
    case OPT_ATOL: a->atol = cli_number_within(state, "atol", arg, 0, INFINITY); break;
    case OPT_STRICT: a->strict = true; break;
    case OPT_JSON: a->json = true; break;
    case OPT_FULL: a->full = true; break;
    case OPT_TIME: a->time = true; break;
    case OPT_SANDBOX: a->sandbox = true; break;
    case OPT_LABELS: a->files.labels = arg; break;
    case OPT_TOP: a->top = cli_whole_number(state, "top", arg, 1, 1000000); break;
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &a->model;
        state->child_inputs[1] = &a->call;
        state->child_inputs[2] = &a->limits;
        break;
    case ARGP_KEY_END:
        if (a->files.labels && !a->top) argp_error(state, "--labels goes with --top");
        if (a->sandbox && a->call.device && strcmp(a->call.device, "cpu"))
            argp_error(state, "--sandbox is for the CPU: devices need their drivers");
        if (a->top && (a->json || a->full))
            argp_error(state, "--top, --json and --full exclude each other");
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static void run_print(void *ctx, const char *text, size_t len) {
    (void)ctx;
    fwrite(text, 1, len, stdout);
}

static void run_unsupported(void *ctx, const ctsc_operator_use *u) {
    if (u->supported) return;
    ++*(int *)ctx;
    fprintf(stderr, "ctsc: %s is not supported (used in %s, %s:%u)\n", u->key, u->function, u->file,
            u->line);
}

static int run_strict(const ctsc_module *m, ctsc_error *e) {
    int missing = 0;
    if (ctsc_module_operators(m, run_unsupported, &missing, e) != CTSC_OK) return cli_report(e);
    return missing ? CTSC_UNSUPPORTED : 0;
}

static int run_compare(const run_args *a, const ctsc_value *got, ctsc_error *e) {
    ctsc_value *want = NULL;
    char *why = NULL;
    if (ctsc_value_load(a->files.expect, &want, e) != CTSC_OK) return cli_report(e);
    bool same = ctsc_value_close(got, want, a->rtol, a->atol, &why);
    fflush(stdout);
    if (same) fprintf(stderr, "ctsc: the result is as expected\n");
    else fprintf(stderr, "ctsc: the result differs: %s\n", why ? why : "");
    ctsc_string_free(why);
    ctsc_value_free(want);
    return same ? 0 : CLI_MISMATCH;
}

static int run_show_json(const ctsc_value *result, ctsc_error *e) {
    ctsc_value *here;
    if (ctsc_value_to(result, "cpu", &here, e) != CTSC_OK) return cli_report(e);
    int code = cli_print_json(cli_value_json(here));
    ctsc_value_free(here);
    return code;
}

static int run_show(const run_args *a, const ctsc_value *result, ctsc_error *e) {
    int code = 0;
    if (a->files.output && ctsc_value_save(result, a->files.output, e) != CTSC_OK)
        code = cli_report(e);
    if (a->files.expect && !code) return run_compare(a, result, e);
    if (a->files.output || code) return code;
    if (a->json) return run_show_json(result, e);
    if (a->top) return run_print_top(result, a->top, a->files.labels, e);
    if (!a->full) return run_print_result(result, e);
    char *text = ctsc_value_print(result);
    if (!text) return cli_complain(CTSC_LIMIT, "out of memory");
    puts(text);
    ctsc_string_free(text);
    return 0;
}

static double run_clock(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int run_with(run_args *a, ctsc_error *e) {
    ctsc_module *m = NULL;
    ctsc_value *result = NULL;
    ctsc_run_options o = cli_limited(
        &a->limits, (ctsc_run_options){.size = sizeof o, .print = run_print, .warn = cli_warn});
    int code = cli_load_for_call(&a->model, a->call.opt, a->call.precision, &m, e);
    if (!code && a->strict) code = run_strict(m, e);
    if (!code && a->passes && ctsc_module_apply_passes(m, a->call.method, a->passes, e) != CTSC_OK)
        code = cli_report(e);
    if (!code) code = cli_read_inputs(&a->call.inputs, m, a->call.method, e);
    if (!code) code = cli_place(a->call.device, m, &a->call.inputs, e);
    double start = run_clock();
    if (!code && ctsc_module_run(m, a->call.method, a->call.inputs.nvalues, a->call.inputs.values,
                                 &o, &result, e) != CTSC_OK)
        code = cli_report_call(&a->call.inputs, e);
    if (!code && a->time)
        fprintf(stderr, "ctsc: %s took %.3f ms (the first call)\n", a->call.method,
                (run_clock() - start) * 1e3);
    if (!code) code = run_show(a, result, e);
    ctsc_value_free(result);
    ctsc_module_free(m);
    return code;
}

static const struct argp_child run_children[] = CLI_LIMITED_CHILDREN;
const struct argp cmd_run_argp = {
    run_options,
    run_parse,
    "MODEL",
    "Runs a method of a TorchScript archive or of Python source.\v"
    "Without --expect and --output the result is printed as TorchScript's print does; of tensors "
    "with more than 1000 elements a summary, as PyTorch's repr is.",
    run_children,
    NULL,
    NULL};

int cmd_run(int argc, char **argv) {
    run_args a = {.rtol = 1e-5, .atol = 1e-8};
    ctsc_error *e = ctsc_error_new();
    if (!cli_call_init(&a.call, argc) || !e) return cli_complain(CTSC_LIMIT, "out of memory");
    cli_parse_args(&cmd_run_argp, argc, argv, &a);
    cli_hear_alerts();
    ctsc_set_threads(a.call.threads);
    int code = cli_check_output(a.files.output, CLI_SAVED);
    if (!code && a.sandbox) code = run_enter_sandbox(&a.model, &a.call, &a.files);
    if (!code) code = run_with(&a, e);
    ctsc_error_free(e);
    cli_call_free(&a.call);
    return code;
}
