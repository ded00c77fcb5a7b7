/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_run.c - ctsc run: runs a method and prints its result, or compares it with an expected one. */
#include "cli/cli.h"
#include "ctsc_compiler.h"

#include <stdlib.h>
#include <string.h>

enum { OPT_INPUT = 256, OPT_INPUTS, OPT_METHOD, OPT_EXPECT, OPT_RTOL, OPT_ATOL, OPT_OUTPUT, OPT_THREADS,
       OPT_STRICT, OPT_JSON, OPT_MAX_STEPS, OPT_OPT, OPT_DEVICE, OPT_PASSES };

typedef struct run_args {
    cli_model model;
    const char *method, *expect, *output, *passes;
    cli_inputs inputs;
    double rtol, atol;
    int threads;
    uint64_t max_steps;
    bool strict, json;
} run_args;

static const struct argp_option run_options[] = {
    {"inputs", OPT_INPUTS, "FILE", 0, "arguments: a torch.save'd tuple, or a .npy/.npz file", 0},
    {"input", OPT_INPUT, "SPEC", 0, "one argument: 'float32[1,3,8,8]:rand' (zeros, ones, arange), or a literal; "
                                    "once per argument", 0},
    {"method", OPT_METHOD, "NAME", 0, "method to call (forward)", 0},
    {"expect", OPT_EXPECT, "FILE", 0, "compare the result with this torch.save'd value", 0},
    {"rtol", OPT_RTOL, "X", 0, "relative tolerance of --expect (1e-5)", 0},
    {"atol", OPT_ATOL, "X", 0, "absolute tolerance of --expect (1e-8)", 0},
    {"output", OPT_OUTPUT, "FILE", 0, "save the result as torch.save does", 0},
    {"strict", OPT_STRICT, 0, 0, "refuse a model that mentions unsupported operators, even unused ones", 0},
    {"json", OPT_JSON, 0, 0, "print the result as JSON", 0},
    {"threads", OPT_THREADS, "N", 0, "threads to use (all cores)", 0},
    {"opt", OPT_OPT, "N", 0, "optimisation level, 0 to 3: accepted, all of them interpret", 0},
    {"device", OPT_DEVICE, "NAME", 0, "cpu", 0},
    {"max-steps", OPT_MAX_STEPS, "N", 0, "stop after this many interpreter steps", 0},
    {"passes", OPT_PASSES, "A,B,C", 0, "for work on the compiler: inline the method's calls and run these passes on it first "
                                       "(ctsc opt --list)", 0},
    {0}};

static error_t run_parse(int key, char *arg, struct argp_state *state) {
    run_args *a = state->input;
    switch (key) {
    case OPT_INPUT: a->inputs.specs[a->inputs.nspecs++] = arg; break;
    case OPT_INPUTS: a->inputs.file = arg; break;
    case OPT_METHOD: a->method = arg; break;
    case OPT_EXPECT: a->expect = arg; break;
    case OPT_PASSES: a->passes = arg; break;
    case OPT_OUTPUT: a->output = arg; break;
    case OPT_RTOL: a->rtol = cli_number(state, "rtol", arg); break;
    case OPT_ATOL: a->atol = cli_number(state, "atol", arg); break;
    case OPT_STRICT: a->strict = true; break;
    case OPT_JSON: a->json = true; break;
    case OPT_THREADS: {
        double n = cli_number(state, "threads", arg);
        if (n < 0 || n > 1024 || n != (int)n) argp_error(state, "--threads: 0 to 1024 are possible");
        a->threads = (int)n;
        break;
    }
    case OPT_OPT: {
        double n = cli_number(state, "opt", arg);
        if (n != 0 && n != 1 && n != 2 && n != 3) argp_error(state, "--opt: 0, 1, 2 or 3");
        break;
    }
    case OPT_DEVICE:
        if (strcmp(arg, "cpu")) {
            cli_complain(CTSC_UNSUPPORTED, "--device %s: only cpu is supported", arg);
            exit(CTSC_UNSUPPORTED);
        }
        break;
    case OPT_MAX_STEPS: {
        double n = cli_number(state, "max-steps", arg);
        if (n < 1 || n > 1e18) argp_error(state, "--max-steps: a positive number is expected");
        a->max_steps = (uint64_t)n;
        break;
    }
    case ARGP_KEY_INIT: state->child_inputs[0] = &a->model; break;
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
    fprintf(stderr, "ctsc: %s is not supported (used in %s, %s:%u)\n", u->key, u->function, u->file, u->line);
}

static int run_strict(const ctsc_module *m, ctsc_error *e) {
    int missing = 0;
    if (ctsc_module_operators(m, run_unsupported, &missing, e) != CTSC_OK) return cli_report(e);
    return missing ? CTSC_UNSUPPORTED : 0;
}

static int run_compare(const run_args *a, const ctsc_value *got, ctsc_error *e) {
    ctsc_value *want = NULL;
    char *why = NULL;
    if (ctsc_value_load(a->expect, &want, e) != CTSC_OK) return cli_report(e);
    bool same = ctsc_value_close(got, want, a->rtol, a->atol, &why);
    fflush(stdout);
    if (same) fprintf(stderr, "ctsc: the result is as expected\n");
    else fprintf(stderr, "ctsc: the result differs: %s\n", why ? why : "");
    ctsc_string_free(why);
    ctsc_value_free(want);
    return same ? 0 : CLI_MISMATCH;
}

static int run_show(const run_args *a, const ctsc_value *result, ctsc_error *e) {
    int code = 0;
    if (a->output && ctsc_value_save(result, a->output, e) != CTSC_OK) code = cli_report(e);
    if (a->expect && !code) return run_compare(a, result, e);
    if (a->output || code) return code;
    if (a->json) return cli_print_json(cli_value_json(result));
    char *text = ctsc_value_print(result);
    if (!text) return cli_complain(CTSC_LIMIT, "out of memory");
    puts(text);
    ctsc_string_free(text);
    return 0;
}

static int run_with(run_args *a, ctsc_error *e) {
    ctsc_module *m = NULL;
    ctsc_value *result = NULL;
    ctsc_run_options o = {.size = sizeof o, .max_steps = a->max_steps, .print = run_print, .warn = cli_warn};
    int code = cli_load(&a->model, &m, e);
    if (!code && a->strict) code = run_strict(m, e);
    if (!code && a->passes && ctsc_module_apply_passes(m, a->method, a->passes, e) != CTSC_OK) code = cli_report(e);
    if (!code) code = cli_read_inputs(&a->inputs, e);
    if (!code && ctsc_module_run(m, a->method, a->inputs.nvalues, a->inputs.values, &o, &result, e) != CTSC_OK)
        code = cli_report(e);
    if (!code) code = run_show(a, result, e);
    ctsc_value_free(result);
    cli_free_inputs(&a->inputs);
    ctsc_module_free(m);
    return code;
}

int cmd_run(int argc, char **argv) {
    static const struct argp_child children[] = CLI_MODEL_CHILD;
    static const struct argp argp = {run_options, run_parse, "MODEL",
                                     "Runs a method of a TorchScript archive or of Python source.\v"
                                     "Without --expect and --output the result is printed as TorchScript's print does.",
                                     children, NULL, NULL};
    run_args a = {.method = "forward", .rtol = 1e-5, .atol = 1e-8};
    a.inputs.specs = calloc((size_t)argc + 1, sizeof *a.inputs.specs);
    ctsc_error *e = ctsc_error_new();
    if (!a.inputs.specs || !e) return cli_complain(CTSC_LIMIT, "out of memory");
    cli_parse_args(&argp, argc, argv, &a);
    ctsc_set_threads(a.threads);
    int code = run_with(&a, e);
    ctsc_error_free(e);
    free(a.inputs.specs);
    return code;
}
