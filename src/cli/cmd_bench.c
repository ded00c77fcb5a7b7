/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_bench.c - ctsc bench: how long a method takes as written, with its graph optimised, and
 * with native kernels.
 *
 * Method. Every level has a module and inputs of its own. Each is called a few times, which makes
 * kernels and warms caches; the first and the last of these results must agree between the levels
 * (bench_compare.c), for which the work of a call has to be known: it is counted in a run of its
 * own. Then rounds: in each one every level has a turn of some milliseconds, so that whatever else
 * happens on the machine meets all of them alike. A turn begins with a call that does not count,
 * for the caches. Calls shorter than BATCH_US are timed many at once, since looking at the clock
 * costs some 30 ns; the percentiles are then those of means. The machine's own rates are measured
 * in between. Several models have their turns in the same rounds.
 * Tests: tests/cli/bench.test
 */
#include "cli/bench.h"
#include "cli/progress.h"

#include <stdlib.h>
#include <string.h>

enum { OPT_SECONDS = 256, OPT_CALLS, OPT_JSON, OPT_BATCH };
enum { BATCH_US = 20, BATCH_MAX = 100000, TURN_US = 10000 };

static const struct argp_option bench_options[] = {
    {"seconds", OPT_SECONDS, "X", 0, "time to measure for, all levels of a model together (3)", 0},
    {"calls", OPT_CALLS, "N", 0, "calls to measure at least, per level (1)", 0},
    {"batch", OPT_BATCH, "N,N,...", 0,
     "measure each of these batch sizes, which replace the first size of each tensor of --input; "
     "--threads N,N,... measures several numbers of threads",
     0},
    {"json", OPT_JSON, 0, 0, "print JSON", 0},
    {0},
};

static error_t bench_parse(int key, char *arg, struct argp_state *state) {
    bench *b = state->input;
    switch (key) {
    case OPT_JSON: b->json = true; break;
    case OPT_BATCH: b->batches = arg; break;
    case ARGP_KEY_ARG:
        if (!b->nmodels) b->model.path = arg;
        b->models[b->nmodels++].path = arg;
        break;
    case OPT_SECONDS: b->seconds = cli_number_within(state, "seconds", arg, 0, 1e6); break;
    case OPT_CALLS: b->calls = cli_whole_number(state, "calls", arg, 1, 100000000); break;
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &b->model;
        state->child_inputs[1] = &b->call;
        state->child_inputs[2] = &b->limits;
        break;
    case ARGP_KEY_END: {
        int64_t points[BENCH_POINTS];
        if (b->batches && !bench_list(b->batches, points, BENCH_POINTS, 1, BENCH_MAX_BATCH))
            argp_error(state, "--batch: '%s' is not a list of at most %d sizes like 1,2,4",
                       b->batches, BENCH_POINTS);
        if (b->call.threads_list &&
            !bench_list(b->call.threads_list, points, BENCH_POINTS, 0, CLI_MAX_THREADS))
            argp_error(state,
                       "--threads: '%s' is not a list of at most %d numbers like 1,2,4 (up to %d)",
                       b->call.threads_list, BENCH_POINTS, CLI_MAX_THREADS);
        if (b->batches && b->call.inputs.file) argp_error(state, "--batch goes with --input");
        if ((b->batches || b->call.threads_list) && b->nmodels > 1)
            argp_error(state, "--batch, and several numbers of threads, are for one model");
        break;
    }
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static void bench_drop(void *ctx, const char *text, size_t len) {
    (void)ctx, (void)text, (void)len; /* what the script prints would drown the figures */
}

ctsc_status bench_call(const bench *b, bench_level *l, ctsc_value **out, ctsc_error *e) {
    ctsc_run_options o = cli_limited(&b->limits,
                                     (ctsc_run_options){.size = sizeof o, .print = bench_drop});
    return ctsc_module_run(l->m, b->call.method, l->inputs.nvalues, l->inputs.values, &o, out, e);
}

/* One sample: the time per call of n calls in a row. *out: the last result. */
static ctsc_status bench_sample(const bench *b, bench_level *l, int n, double *us, ctsc_value **out,
                                ctsc_error *e) {
    ctsc_value *result = NULL;
    ctsc_status s = CTSC_OK;
    double start = machine_now();
    for (int i = 0; i < n && s == CTSC_OK; i++) {
        ctsc_value_free(result);
        result = NULL;
        s = bench_call(b, l, &result, e);
    }
    if (s == CTSC_OK && b->call.device) s = ctsc_device_wait(b->call.device, e);
    *us = (machine_now() - start) / n;
    if (out) *out = result;
    else ctsc_value_free(result);
    return s;
}

/* Loads the level's module, calls it until it is warm, and decides the batch. */
static int bench_prepare(const bench *b, bench_model *bm, bench_level *l, ctsc_error *e) {
    cli_model model = b->model;
    model.path = bm->path;
    ctsc_kernel_stats before = {.size = sizeof before}, after = before;
    progress_say("%s: loading and warming up, %s", bm->path, l->name);
    double start = machine_now(), us;
    int code = cli_load_for_call(&model, l->opt, b->call.precision, &l->m, e);
    l->load_us = machine_now() - start;
    l->inputs = b->call.inputs;
    l->inputs.values = NULL; /* the texts are shared, what they make is not */
    l->inputs.nvalues = 0;
    if (!code) code = cli_read_inputs(&l->inputs, l->m, b->call.method, e);
    if (!code) code = cli_place(b->call.device, l->m, &l->inputs, e);
    if (code) return code;
    ctsc_get_kernel_stats(&before);
    if (bench_sample(b, l, 1, &l->first_us, &l->first, e) != CTSC_OK)
        return cli_report_call(&l->inputs, e);
    for (int i = 0; i < WARM_CALLS; i++) {
        ctsc_value_free(l->warm);
        l->warm = NULL;
        if (bench_sample(b, l, 1, &us, &l->warm, e) != CTSC_OK) return cli_report(e);
        if (!i || us < l->call_us) l->call_us = us;
    }
    ctsc_get_kernel_stats(&after);
    bm->kernels_from_disk = after.from_disk - before.from_disk;
    bm->kernels = after.compiled - before.compiled + bm->kernels_from_disk;
    bm->compile_us = after.compile_us - before.compile_us;
    double batch = l->call_us > 0 ? BATCH_US / l->call_us : BATCH_MAX;
    l->batch = batch < 1 ? 1 : batch > BATCH_MAX ? BATCH_MAX : (int)batch + 1;
    return 0;
}

/* ---- measuring ------------------------------------------------------------------------------- */

static bool bench_note(bench_level *l, double us) {
    if (l->n == l->cap) {
        size_t cap = l->cap ? 2 * l->cap : 1024;
        double *more = realloc(l->us, cap * sizeof *more);
        if (!more) return false;
        l->us = more;
        l->cap = cap;
    }
    l->us[l->n++] = us;
    return true;
}

static int bench_turn(const bench *b, bench_level *l, ctsc_error *e) {
    double us;
    if (l->call_us < 2 * TURN_US && bench_sample(b, l, 1, &us, NULL, e) != CTSC_OK)
        return cli_report(e);
    double start = machine_now();
    do {
        if (bench_sample(b, l, l->batch, &us, NULL, e) != CTSC_OK) return cli_report(e);
        if (!bench_note(l, us)) return cli_complain(CTSC_LIMIT, "out of memory");
    } while (machine_now() - start < TURN_US);
    return 0;
}

static int bench_compare_numbers(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The k-th of all levels of all models. */
static bench_level *bench_level_at(const bench *b, int k) {
    for (bench_model *m = b->models;; k -= m++->nlevels)
        if (k < m->nlevels) return &m->levels[k];
}

/* Every level is first as often as the others. */
static int bench_measure(bench *b, ctsc_error *e) {
    bool enough = false;
    int n = 0;
    for (int i = 0; i < b->nmodels; i++) n += b->models[i].nlevels;
    double start = machine_now();
    for (int round = 0; !enough; round++) {
        progress_say("%s: measuring, %.0f of %.0f s", b->models[0].path,
                     (machine_now() - start) * 1e-6, b->seconds * b->nmodels);
        for (int i = 0; i < n; i++) {
            int code = bench_turn(b, bench_level_at(b, (round + i) % n), e);
            if (code) return code;
        }
        enough = machine_now() - start >= b->seconds * b->nmodels * 1e6;
        for (int i = 0; i < n; i++) {
            const bench_level *l = bench_level_at(b, i);
            enough &= l->n * (size_t)l->batch >= (size_t)b->calls;
        }
    }
    for (int i = 0; i < n; i++)
        qsort(bench_level_at(b, i)->us, bench_level_at(b, i)->n, sizeof(double),
              bench_compare_numbers);
    return 0;
}

/* ---- work ------------------------------------------------------------------------------------ */

/* Calls visit for every tensor in v. */
static void bench_tensors(const ctsc_value *v, void (*visit)(bench_model *b, const ctsc_value *t),
                          bench_model *b, int depth) {
    ctsc_kind k = ctsc_value_kind(v);
    if (k == CTSC_KIND_TENSOR) visit(b, v);
    if ((k != CTSC_KIND_LIST && k != CTSC_KIND_TUPLE && k != CTSC_KIND_DICT) || depth > 50) return;
    for (size_t i = 0; i < ctsc_value_len(v); i++) {
        ctsc_value *item = ctsc_value_item(v, i);
        if (item) bench_tensors(item, visit, b, depth + 1);
        ctsc_value_free(item);
    }
}

static void bench_add_bytes(bench_model *b, const ctsc_value *t) {
    const ctsc_dtype_info *d = ctsc_dtype_describe(ctsc_tensor_dtype(t));
    int64_t n = d ? (int64_t)d->bytes : 0;
    for (int i = 0; i < ctsc_tensor_ndim(t); i++) n = cli_product(n, ctsc_tensor_sizes(t)[i]);
    b->bytes = cli_sum(b->bytes, n);
}

static void bench_add_items(bench_model *b, const ctsc_value *t) {
    if (!b->items && ctsc_tensor_ndim(t)) b->items = ctsc_tensor_sizes(t)[0];
}

/* On inputs as they were at first. A failure leaves the count out, which is not a failure
 * of the benchmark. */
static void bench_count(const bench *all, bench_model *b, ctsc_error *e) {
    cli_inputs inputs = all->call.inputs;
    ctsc_work w = {.size = sizeof w};
    const bench_level *last = &b->levels[b->nlevels - 1];
    inputs.values = NULL;
    inputs.nvalues = 0;
    bool ok = cli_read_inputs(&inputs, last->m, all->call.method, e) == 0;
    ok = ok && cli_place(all->call.device, last->m, &inputs, e) == 0;
    for (size_t i = 0; ok && i < inputs.nvalues; i++) {
        bench_tensors(inputs.values[i], bench_add_items, b, 0);
        bench_tensors(inputs.values[i], bench_add_bytes, b, 0);
    }
    if (!b->items) b->items = 1;
    bench_tensors(b->levels[0].first, bench_add_bytes, b, 0);
    ok = ok && ctsc_module_count_work(last->m, all->call.method, inputs.nvalues, inputs.values, &w,
                                      e) == CTSC_OK;
    b->bytes = cli_sum(b->bytes, w.parameter_bytes);
    b->flops = w.flops;
    b->counted = ok && !w.uncounted;
    if (!b->counted)
        snprintf(b->uncounted, sizeof b->uncounted, "%s",
                 w.uncounted ? w.uncounted : "what it calls");
    cli_free_inputs(&inputs);
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* Other levels than the fused one compute with full precision. */
static void bench_choose_levels(const bench *b, bench_model *m) {
    static const char *const names[BENCH_LEVELS] = {"eager", "optimised", "fused"};
    int opt = b->call.opt < 0 && b->call.precision ? CLI_OPT_DEFAULT : b->call.opt;
    for (int i = 0; i < BENCH_LEVELS; i++)
        if (opt < 0 || i == (opt < BENCH_LEVELS ? opt : BENCH_LEVELS - 1))
            m->levels[m->nlevels++] = (bench_level){.name = names[i], .opt = opt < 0 ? i : opt};
}

static int bench_ready(const bench *b, bench_model *m, ctsc_error *e) {
    int code = 0;
    m->all = b;
    bench_choose_levels(b, m);
    for (int i = 0; i < m->nlevels && !code; i++) code = bench_prepare(b, m, &m->levels[i], e);
    m->layers.size = sizeof m->layers;
    if (!code && b->call.precision &&
        ctsc_module_count_precisions(m->levels[m->nlevels - 1].m, b->call.method, &m->layers, e) !=
            CTSC_OK)
        return cli_report(e);
    progress_say("%s: comparing results", m->path);
    if (!code) bench_count(b, m, e);
    if (!code) bench_compare(m, e);
    return code;
}

void bench_clear(bench_model *m) {
    for (int i = 0; i < m->nlevels; i++) {
        bench_level *l = &m->levels[i];
        ctsc_value_free(l->first);
        ctsc_value_free(l->warm);
        cli_free_inputs(&l->inputs);
        ctsc_module_free(l->m);
        free(l->us);
    }
    *m = (bench_model){.path = m->path};
}

int bench_measured(bench *b, ctsc_error *e) {
    int code = 0;
    for (int i = 0; i < b->nmodels && !code; i++) code = bench_ready(b, &b->models[i], e);
    progress_say("%s: measuring the machine", b->models[0].path);
    if (!code) b->machine = machine_measure(b->threads);
    if (!code) code = bench_measure(b, e);
    progress_end();
    return code;
}

static int bench_with(bench *b, ctsc_error *e) {
    bool same = true;
    int code = bench_measured(b, e);
    if (!code) code = bench_show(b);
    for (int i = 0; i < b->nmodels; i++) {
        same &= b->models[i].same;
        bench_clear(&b->models[i]);
    }
    return code || same ? code : CLI_MISMATCH;
}

static const struct argp_child bench_children[] = CLI_LIMITED_CHILDREN;
const struct argp cmd_bench_argp = {
    bench_options,
    bench_parse,
    "MODEL [MODEL...]",
    "Times the calls of a method: as written (eager), with its graph optimised, and "
    "fused into native kernels, side by side. The results have to agree.\v"
    "With --opt only that level is measured. The measurement takes --seconds, after loading and "
    "warming up. Several models are called with the same inputs, in "
    "turns, and compared.",
    bench_children,
    NULL,
    NULL};

int cmd_bench(int argc, char **argv) {
    bench b = {.seconds = 3, .calls = 1};
    ctsc_error *e = ctsc_error_new();
    b.models = calloc((size_t)argc, sizeof *b.models);
    if (!cli_call_init(&b.call, argc) || !e || !b.models)
        return cli_complain(CTSC_LIMIT, "out of memory");
    b.call.sweeps = true;
    cli_parse_args(&cmd_bench_argp, argc, argv, &b);
    cli_hear_alerts();
    ctsc_set_threads(b.call.threads);
    b.threads = b.call.threads ? b.call.threads : machine_cores();
    int code = b.batches || b.call.threads_list ? bench_sweep(&b, e) : bench_with(&b, e);
    ctsc_error_free(e);
    cli_call_free(&b.call);
    free(b.models);
    return code;
}
