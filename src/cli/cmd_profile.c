/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_profile.c - ctsc profile: what a method's time goes into.
 *
 * The method is called a few times without a profiler, so that graphs and kernels are made and
 * caches warm, then with one. Two models, or two levels, have inputs of their own and take turns,
 * call by call, so that whatever else happens on the machine meets both alike.
 * Tests: tests/cli/profile.test
 */
#include "cli/profile_show.h"

#include "cli/machine.h"

#include <stdlib.h>
#include <string.h>

enum {
    OPT_LINES = 256,
    OPT_METHODS,
    OPT_TRACE,
    OPT_JSON,
    OPT_CALLS,
    OPT_WARMUP,
    OPT_LIMIT,
    OPT_COMPARE,
    OPT_COMPARE_OPT
};
enum { PROFILE_EVENTS = 1000000 };

static const struct argp_option profile_options[] = {
    {"lines", OPT_LINES, 0, 0, "by source line instead of by operator and kernel", 0},
    {"methods", OPT_METHODS, 0, 0, "by method instead", 0},
    {"calls", OPT_CALLS, "N", 0, "calls to measure (10)", 0},
    {"warmup", OPT_WARMUP, "N", 0,
     "calls before them that are not measured (3); with 0 the table shows compiling as well", 0},
    {"limit", OPT_LIMIT, "N", 0, "rows to show, the rest as one (30); 0: all", 0},
    {"trace", OPT_TRACE, "FILE", 0,
     "write a timeline of the measured calls, for Perfetto (ui.perfetto.dev) or Chrome", 0},
    {"json", OPT_JSON, 0, 0, "print everything as JSON", 0},
    {"compare", OPT_COMPARE, "MODEL2", 0, "side by side with this model", 0},
    {"compare-opt", OPT_COMPARE_OPT, "N", 0, "side by side with this level of optimisation", 0},
    {0},
};

static error_t profile_parse(int key, char *arg, struct argp_state *state) {
    profile_args *a = state->input;
    switch (key) {
    case OPT_LINES: a->lines = true; break;
    case OPT_METHODS: a->methods = true; break;
    case OPT_JSON: a->json = true; break;
    case OPT_TRACE: a->trace = arg; break;
    case OPT_COMPARE: a->compare = arg; break;
    case OPT_CALLS: a->calls = cli_whole_number(state, "calls", arg, 1, 1000000); break;
    case OPT_WARMUP: a->warmup = cli_whole_number(state, "warmup", arg, 0, 1000000); break;
    case OPT_LIMIT: a->limit = cli_whole_number(state, "limit", arg, 0, 1000000); break;
    case OPT_COMPARE_OPT:
        a->compare_opt = cli_whole_number(state, "compare-opt", arg, 0, CLI_OPT_MAX);
        break;
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &a->model;
        state->child_inputs[1] = &a->call;
        state->child_inputs[2] = &a->limits;
        break;
    case ARGP_KEY_END:
        if (a->lines && a->methods) argp_error(state, "--lines or --methods, not both");
        if (a->trace && (a->compare || a->compare_opt >= 0))
            argp_error(state, "--trace is of one model at one level");
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* ---- measuring ------------------------------------------------------------------------------- */

static void profile_drop(void *ctx, const char *text, size_t len) {
    (void)ctx, (void)text, (void)len; /* what the script prints would drown the figures */
}

static int profile_call(const profile_args *a, const profile_side *s, ctsc_profiler *p,
                        ctsc_error *e) {
    ctsc_run_options o = cli_limited(
        &a->limits, (ctsc_run_options){.size = sizeof o, .print = profile_drop, .profiler = p});
    ctsc_value *result = NULL;
    if (ctsc_module_run(s->m, a->call.method, s->inputs.nvalues, s->inputs.values, &o, &result,
                        e) != CTSC_OK)
        return cli_report_call(&s->inputs, e);
    ctsc_value_free(result);
    return 0;
}

static int profile_prepare(const profile_args *a, profile_side *s, ctsc_error *e) {
    ctsc_profiler_options o = {.size = sizeof o, .max_events = a->trace ? PROFILE_EVENTS : 0};
    int code = cli_load_for_call(&s->model, s->opt, a->call.precision, &s->m, e);
    if (code) return code;
    s->inputs = a->call.inputs; /* the texts are shared, what they make is not */
    s->inputs.values = NULL;
    s->inputs.nvalues = 0;
    code = cli_read_inputs(&s->inputs, s->m, a->call.method, e);
    if (!code) code = cli_place(a->call.device, s->m, &s->inputs, e);
    for (int i = 0; i < a->warmup && !code; i++) code = profile_call(a, s, NULL, e);
    if (!code && !(s->p = ctsc_profiler_new(&o))) code = cli_complain(CTSC_LIMIT, "out of memory");
    return code;
}

static int profile_write_trace(const profile_args *a, const profile_side *s) {
    char *text = ctsc_profiler_trace(s->p);
    if (!text) return cli_complain(CTSC_LIMIT, "out of memory");
    FILE *f = fopen(a->trace, "w");
    bool ok = f && fputs(text, f) >= 0;
    if (f && fclose(f) != 0) ok = false;
    int why = ok ? 0 : errno;
    ctsc_string_free(text);
    if (why) return cli_complain(CTSC_ENVIRONMENT, "cannot write %s: %s", a->trace, strerror(why));
    if (s->sum.events_dropped)
        cli_complain(0, "%s has the first %llu events; %llu more are left out (fewer --calls)",
                     a->trace, (unsigned long long)s->sum.events,
                     (unsigned long long)s->sum.events_dropped);
    return 0;
}

static int profile_with(profile_args *a, ctsc_error *e) {
    int code = 0;
    for (int i = 0; i < a->nsides && !code; i++) code = profile_prepare(a, &a->sides[i], e);
    for (int k = 0; k < a->calls && !code; k++)
        for (int i = 0; i < a->nsides && !code; i++)
            code = profile_call(a, &a->sides[i], a->sides[i].p, e);
    for (int i = 0; i < a->nsides && !code; i++) {
        a->sides[i].sum.size = sizeof a->sides[i].sum;
        ctsc_profiler_summary(a->sides[i].p, &a->sides[i].sum);
        if (a->sides[i].sum.incomplete)
            cli_complain(0, "memory ran out: the profile is not complete");
    }
    a->met_denormals = !code && a->nsides == 1 && !a->call.flush_denormals &&
                       denormals_met(a->sides[0].p);
    if (a->met_denormals)
        code = denormals_measure(a->sides[0].m, a->call.method, &a->sides[0].inputs, &a->limits,
                                 a->calls, &a->denormals, e);
    if (!code && a->trace) code = profile_write_trace(a, &a->sides[0]);
    if (!code && (!a->call.device || !strcmp(a->call.device, "cpu")))
        a->fma_gflops = machine_fma_gflops(a->threads);
    if (!code) code = profile_show(a);
    denormals_free(&a->denormals);
    for (int i = 0; i < a->nsides; i++) {
        ctsc_profiler_free(a->sides[i].p);
        cli_free_inputs(&a->sides[i].inputs);
        ctsc_module_free(a->sides[i].m);
    }
    return code;
}

static void profile_choose_sides(profile_args *a) {
    int opt = a->call.opt < 0 ? CLI_OPT_DEFAULT : a->call.opt;
    a->sides[a->nsides++] = (profile_side){.model = a->model, .opt = opt};
    if (!a->compare && a->compare_opt < 0) return;
    profile_side *b = &a->sides[a->nsides++];
    *b = (profile_side){.model = a->model, .opt = a->compare_opt < 0 ? opt : a->compare_opt};
    if (a->compare) b->model.path = a->compare;
}

static const struct argp_child profile_children[] = CLI_LIMITED_CHILDREN;
const struct argp cmd_profile_argp = {
    profile_options,
    profile_parse,
    "MODEL",
    "Calls a method several times and shows what the time goes into, by operator and kernel, by "
    "source line or by method, sorted by their own "
    "(self) time.\v"
    "All figures are means over the measured calls. self: time without what was called from there; "
    "total: with it. Operations on plain numbers have "
    "no rows of their own: their time is part of (interpreter), or of the call that contains them. "
    "FLOP/s "
    "and bytes/s are of self time; - where they are "
    "not known. % peak: the share of the multiply-adds of float32 in registers that the threads "
    "reach together (GFLOP/s at FMA peak, measured). allocated: memory taken for tensors and other "
    "values; peak: the most that one execution held at a time. Where denormal numbers are met, "
    "calls "
    "with and without them are timed as well (--flush-denormals), and operators and kernels that "
    "they slow down are named.",
    profile_children,
    NULL,
    NULL};

int cmd_profile(int argc, char **argv) {
    profile_args a = {.calls = 10, .warmup = 3, .limit = 30, .compare_opt = -1, .fma_gflops = -1};
    ctsc_error *e = ctsc_error_new();
    if (!cli_call_init(&a.call, argc) || !e) return cli_complain(CTSC_LIMIT, "out of memory");
    cli_parse_args(&cmd_profile_argp, argc, argv, &a);
    cli_hear_alerts();
    ctsc_set_threads(a.call.threads);
    a.threads = a.call.threads ? a.call.threads : machine_cores();
    profile_choose_sides(&a);
    int code = profile_with(&a, e);
    ctsc_error_free(e);
    cli_call_free(&a.call);
    return code;
}
