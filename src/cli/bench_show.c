/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_show.c - the figures of ctsc bench, as a table or as JSON.
 *
 * JSON: one object with model, method, threads, device; for each level measured (eager,
 * optimised, fused) an object with min_us, median_us, p90_us, p95_us, p99_us, items_per_second
 * (at the median), calls and peak_percent (of fma_gflops, at the median; null as flops is, and
 * on other devices); precision: null, or what --precision says (name), and the number of
 * layers of each kind (bf16, int8w, int4w, written); first_call_us, compile_us and kernels of
 * the highest level; items (the first size of the inputs), bytes and flops of one call (flops
 * null where they are not all known); copy_gbps and fma_gflops of the machine (null where they
 * could not be measured). Of several models: an array of such objects.
 * Tests: tests/cli/bench.test
 */
#include "cli/bench.h"

#include <string.h>

double bench_quantile(const bench_level *l, double q) {
    return l->us[(size_t)(q * (double)(l->n - 1) + 0.5)];
}

static json_t *show_rate(double x) { return x > 0 ? json_real(x) : json_null(); }

/* Of the peak of the host, which says nothing of other devices. */
static double show_percent(const bench_model *m, const bench_level *l) {
    const char *device = m->all->call.device;
    if (!m->counted || (device && strcmp(device, "cpu") != 0)) return -1;
    return machine_peak_percent((double)m->flops, bench_quantile(l, 0.5),
                                m->all->machine.fma_gflops);
}

static json_t *show_precision_json(const bench_model *m) {
    const ctsc_precision_counts *c = &m->layers;
    const char *name = m->all->call.precision;
    if (!name) return json_null();
    return json_pack("{s:s, s:I, s:I, s:I, s:I}", "name", name, "bf16", (json_int_t)c->bf16,
                     "int8w", (json_int_t)c->int8w, "int4w", (json_int_t)c->int4w, "written",
                     (json_int_t)c->written);
}

json_t *bench_model_json(const bench *b, const bench_model *m) {
    const bench_level *last = &m->levels[m->nlevels - 1];
    json_t *j = json_pack("{s:s, s:s, s:i, s:s}", "model", m->path, "method", b->call.method,
                          "threads", b->threads, "device", b->call.device ? b->call.device : "cpu");
    for (int i = 0; i < m->nlevels && j; i++) {
        const bench_level *l = &m->levels[i];
        json_object_set_new(
            j, l->name,
            json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:I, s:o}", "min_us", l->us[0], "median_us",
                      bench_quantile(l, 0.5), "p90_us", bench_quantile(l, 0.9), "p95_us",
                      bench_quantile(l, 0.95), "p99_us", bench_quantile(l, 0.99),
                      "items_per_second", (double)m->items * 1e6 / bench_quantile(l, 0.5), "calls",
                      (json_int_t)l->n * l->batch, "peak_percent", show_rate(show_percent(m, l))));
    }
    json_object_set_new(j, "precision", show_precision_json(m));
    json_object_set_new(j, "first_call_us", json_real(last->first_us));
    json_object_set_new(j, "compile_us", json_real(m->compile_us));
    json_object_set_new(j, "kernels", json_integer(m->kernels));
    json_object_set_new(j, "items", json_integer(m->items));
    json_object_set_new(j, "bytes", json_integer(m->bytes));
    json_object_set_new(j, "flops", m->counted ? json_integer(m->flops) : json_null());
    json_object_set_new(j, "copy_gbps", show_rate(b->machine.copy_gbps));
    json_object_set_new(j, "fma_gflops", show_rate(b->machine.fma_gflops));
    return j;
}

static int show_json(const bench *b) {
    if (b->nmodels == 1) return cli_print_json(bench_model_json(b, b->models));
    json_t *all = json_array();
    for (int i = 0; i < b->nmodels; i++)
        json_array_append_new(all, bench_model_json(b, &b->models[i]));
    return cli_print_json(all);
}

/* "12.3 M", three digits. */
static void show_amount(double x, const char *unit) {
    static const char *const prefixes[] = {"", "k", "M", "G", "T"};
    int i = 0;
    for (; x >= 999.5 && i < 4; i++) x /= 1000;
    printf("%.*f %s%s", x >= 99.95 || !i ? 0 : x >= 9.995 ? 1 : 2, x, prefixes[i], unit);
}

/* Microseconds: three digits after the point where they are few. */
static void show_us(double us) { printf(" %10.*f", us < 10 ? 3 : us < 1000 ? 2 : 1, us); }

static void show_level(const bench_model *b, const bench_level *l) {
    double median = bench_quantile(l, 0.5);
    printf("  %-10s", l->name);
    show_us(l->us[0]);
    show_us(median);
    show_us(bench_quantile(l, 0.9));
    show_us(bench_quantile(l, 0.99));
    printf(" %10lld %7d %8.2f", (long long)l->n * l->batch, l->batch,
           (double)b->bytes / median * 1e-3);
    if (b->counted) printf(" %9.2f", (double)b->flops / median * 1e-3);
    else printf(" %9s", "-");
    double percent = show_percent(b, l);
    if (percent > 0) printf(" %7.1f", percent);
    else printf(" %7s", "-");
    show_us(l->first_us);
    putchar('\n');
}

static void show_machine(const bench *b) {
    printf("  the machine  ");
    if (b->machine.copy_gbps > 0) printf("copies %.1f GB/s", b->machine.copy_gbps);
    if (b->machine.fma_gflops > 0)
        printf(", multiplies and adds %.0f GFLOP/s", b->machine.fma_gflops);
    printf(" (%d thread%s)\n", b->threads, b->threads == 1 ? "" : "s");
}

static void show_agreement(const bench_model *b) {
    if (b->same && b->by_float64)
        printf("  results      agree (at most %.2g of the largest value from a float64 run)\n",
               b->from_float64);
    else
        printf("  results      %s (rtol %g, and %.2g of the largest value)\n",
               b->same ? "agree" : "DIFFER", b->rtol, b->share);
}

static void show_precision(const bench_model *b) {
    const ctsc_precision_counts *c = &b->layers;
    const struct { const char *name; int64_t n; } kinds[] = {
        {"bf16", c->bf16}, {"int8w", c->int8w}, {"int4w", c->int4w}, {"as written", c->written}};
    const char *comma = "";
    if (!b->all->call.precision) return;
    printf("  precision    %s: layers", b->all->call.precision);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (!kinds[i].n) continue;
        printf("%s %lld %s", comma, (long long)kinds[i].n, kinds[i].name);
        comma = ",";
    }
    puts(*comma ? "" : " none that can be reduced");
}

static void show_model(const bench *all, const bench_model *b) {
    const bench_level *last = &b->levels[b->nlevels - 1];
    printf("%s, method %s, %d thread%s", b->path, all->call.method, all->threads,
           all->threads == 1 ? "" : "s");
    if (all->machine.fma_gflops > 0) printf(", %.0f GFLOP/s at FMA peak", all->machine.fma_gflops);
    printf("\n\n  %-10s %10s %10s %10s %10s %10s %7s %8s %9s %7s %10s\n", "us a call", "min",
           "median", "p90", "p99", "calls", "batch", "GB/s", "GFLOP/s", "% peak", "first call");
    for (int i = 0; i < b->nlevels; i++) show_level(b, &b->levels[i]);
    printf("\n  throughput  ");
    for (int i = 0; i < b->nlevels; i++) {
        printf(" %s ", b->levels[i].name);
        show_amount((double)b->items * 1e6 / bench_quantile(&b->levels[i], 0.5), "");
        if (i + 1 < b->nlevels) putchar(',');
    }
    printf(" items/s (%lld in a call)\n", (long long)b->items);
    printf("  loading      %.1f us\n", last->load_us);
    show_precision(b);
    printf("  compiling    %.1f us, %lld kernel%s", b->compile_us, (long long)b->kernels,
           b->kernels == 1 ? "" : "s");
    if (b->kernels_from_disk)
        printf(" (%lld from the cache on disk)", (long long)b->kernels_from_disk);
    printf("\n  one call     ");
    show_amount((double)b->bytes, "B in inputs, parameters and results, ");
    if (b->counted || b->flops) show_amount((double)b->flops, "FLOP");
    if (!b->counted) printf("%s%s: not counted", b->flops ? ", " : "operations of ", b->uncounted);
    putchar('\n');
    if (all->nmodels == 1) show_machine(all);
    if (b->nlevels > 1) show_agreement(b);
}

/* The highest level of each model. */
static void show_comparison(const bench *b) {
    const bench_level *first = NULL;
    int width = 0;
    for (int i = 0; i < b->nmodels; i++)
        width = (int)strlen(b->models[i].path) > width ? (int)strlen(b->models[i].path) : width;
    printf("  %-*s %10s %10s\n", width, "us a call", "min", "median");
    for (int i = 0; i < b->nmodels; i++) {
        const bench_level *l = &b->models[i].levels[b->models[i].nlevels - 1];
        double median = bench_quantile(l, 0.5);
        if (!first) first = l;
        printf("  %-*s", width, b->models[i].path);
        show_us(l->us[0]);
        show_us(median);
        if (l != first)
            printf("   %.2f times the first one's", median / bench_quantile(first, 0.5));
        putchar('\n');
    }
}

static int show_text(const bench *b) {
    for (int i = 0; i < b->nmodels; i++) {
        show_model(b, &b->models[i]);
        if (b->nmodels > 1) putchar('\n');
    }
    if (b->nmodels == 1) return 0;
    show_comparison(b);
    show_machine(b);
    return 0;
}

int bench_show(const bench *b) { return b->json ? show_json(b) : show_text(b); }
