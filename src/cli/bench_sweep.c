/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_sweep.c - ctsc bench --batch 1,2,4 --threads 1,2: a row for each size of batch and number
 * of threads, of one level.
 *
 * A batch is the first size of each tensor that --input describes. Each point is a benchmark of its
 * own, with modules loaded anew; the time of --seconds is shared among them.
 * Tests: tests/cli/bench.test
 */
#include "cli/bench.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

int bench_list(const char *text, int64_t *out, int most, int64_t min, int64_t max) {
    int n = 0;
    for (const char *p = text; n < most;) {
        char *end;
        long long v = strtoll(p, &end, 10);
        if (end == p || v < min || v > max || (*end && *end != ',')) return 0;
        out[n++] = v;
        if (!*end) return n;
        p = end + 1;
    }
    return 0;
}

/* "x=f32[1,3]:rand" with another first size; *is: it describes a tensor. NULL if out of memory. */
static char *sweep_spec(const char *spec, int64_t batch, bool *is) {
    const char *open = strchr(spec, '['), *rest;
    *is = open && open > spec && isalnum((unsigned char)open[-1]) &&
          isdigit((unsigned char)open[1]);
    if (!*is) return strdup(spec);
    for (rest = open + 1; isdigit((unsigned char)*rest); rest++) continue;
    char *text = malloc(strlen(spec) + 24);
    if (text) sprintf(text, "%.*s%lld%s", (int)(open + 1 - spec), spec, (long long)batch, rest);
    return text;
}

static int sweep_specs(char *const *from, size_t n, int64_t batch, char **to) {
    bool any = false, is = false;
    for (size_t i = 0; i < n; i++) {
        if (!(to[i] = sweep_spec(from[i], batch, &is)))
            return cli_complain(CTSC_LIMIT, "out of memory");
        any |= is;
    }
    return any ? 0 : cli_complain(CTSC_USAGE, "--batch: no --input describes a tensor with sizes");
}

static void sweep_row(const bench *b, const bench_model *m, int64_t batch) {
    const bench_level *l = &m->levels[0];
    double median = bench_quantile(l, 0.5);
    const double us[] = {l->us[0], median, bench_quantile(l, 0.95), bench_quantile(l, 0.99)};
    printf("%7lld %7d", (long long)batch, b->threads);
    for (int i = 0; i < 4; i++) printf(" %10.*f", us[i] < 10 ? 3 : us[i] < 1000 ? 2 : 1, us[i]);
    printf(" %11.0f", (double)m->items / median * 1e6);
    if (m->counted) printf(" %8.2f\n", (double)m->flops / median * 1e-3);
    else printf(" %8s\n", "-");
    fflush(stdout);
}

static int sweep_point(bench *b, int64_t batch, json_t *all, ctsc_error *e) {
    int code = bench_measured(b, e);
    for (int i = 0; i < b->nmodels && !code; i++) {
        if (!all) sweep_row(b, &b->models[i], b->batches ? batch : b->models[i].items);
        else json_array_append_new(all, bench_model_json(b, &b->models[i]));
    }
    for (int i = 0; i < b->nmodels; i++) bench_clear(&b->models[i]);
    return code;
}

int bench_sweep(bench *b, ctsc_error *e) {
    int64_t batches[BENCH_POINTS] = {0}, threads[BENCH_POINTS] = {b->threads};
    int nbatches = b->batches ? bench_list(b->batches, batches, BENCH_POINTS, 1, BENCH_MAX_BATCH)
                              : 1,
        nthreads = b->call.threads_list
                       ? bench_list(b->call.threads_list, threads, BENCH_POINTS, 0, CLI_MAX_THREADS)
                       : 1;
    cli_inputs *in = &b->call.inputs;
    char **given = in->specs, **made = calloc(in->nspecs + 1, sizeof *made);
    json_t *all = b->json ? json_array() : NULL;
    int code = made ? 0 : cli_complain(CTSC_LIMIT, "out of memory");
    b->seconds /= nbatches * nthreads;
    if (b->call.opt < 0) b->call.opt = CLI_OPT_DEFAULT;
    if (!b->json && !code)
        printf("%s, method %s\n\n%7s %7s %10s %10s %10s %10s %11s %8s\n", b->models[0].path,
               b->call.method, "batch", "threads", "min us", "median", "p95", "p99", "items/s",
               "GFLOP/s");
    for (int i = 0; i < nbatches && !code; i++) {
        if (b->batches) code = sweep_specs(given, in->nspecs, batches[i], made);
        if (b->batches) in->specs = made;
        for (int k = 0; k < nthreads && !code; k++) {
            ctsc_set_threads((int)threads[k]);
            b->threads = threads[k] ? (int)threads[k] : machine_cores();
            code = sweep_point(b, batches[i], all, e);
        }
        in->specs = given;
        for (size_t k = 0; k < in->nspecs; k++) free(made[k]), made[k] = NULL;
    }
    free(made);
    if (!b->json) return code;
    if (!code) return cli_print_json(all);
    json_decref(all);
    return code;
}
