/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_show.c - the figures of ctsc profile: a table, two side by side, JSON.
 *
 * Percentages are of self time and add up to 100: each is rounded down to a tenth, and the tenths
 * left over go to those that lost most.
 * JSON: model, method, opt, threads, fma_gflops, and what ctsc_profiler_json has, with peak_percent
 * in each row (of fma_gflops, in self time; null where that or flops is not known, or flops is 0);
 * denormals: null where none were met, else us and flushed_us of a call, and rows with the same of
 * operators and kernels that they slow down;
 * two of these as "a" and "b" where two are compared.
 * Tests: tests/cli/profile.test
 */
#include "cli/profile_show.h"

#include "cli/machine.h"

#include <stdlib.h>
#include <string.h>

enum { SHOW_NAME = 512, SHOW_SOURCE = 60 };

/* ---- rows ------------------------------------------------------------------------------------ */

static void show_collect(void *ctx, const ctsc_profile_entry *e) {
    profile_rows *r = ctx;
    if (r->n == r->cap) {
        size_t cap = r->cap ? 2 * r->cap : 64;
        ctsc_profile_entry *more = realloc(r->data, cap * sizeof *more);
        if (!more) {
            r->failed = true;
            return;
        }
        r->data = more;
        r->cap = cap;
    }
    r->data[r->n++] = *e;
}

static ctsc_profile_by show_table_kind(const profile_args *a) {
    return a->lines     ? CTSC_PROFILE_LINES
           : a->methods ? CTSC_PROFILE_METHODS
                        : CTSC_PROFILE_OPERATORS;
}

static bool show_rows(const profile_args *a, const profile_side *s, profile_rows *out) {
    *out = (profile_rows){0};
    return ctsc_profiler_visit(s->p, show_table_kind(a), show_collect, out) == CTSC_OK &&
           !out->failed;
}

/* Sums up the rows from `from` on in the first of them; returns how many remain. */
static size_t show_fold(profile_rows *r, size_t from) {
    if (!from || r->n <= from + 1) return r->n;
    ctsc_profile_entry sum = {.name = "(others)", .kind = "others"};
    for (size_t i = from; i < r->n; i++) {
        const ctsc_profile_entry *e = &r->data[i];
        sum.self_us += e->self_us;
        sum.count += e->count;
        sum.bytes += e->bytes;
        sum.flops += e->flops;
        sum.uncounted += e->uncounted;
        sum.allocations += e->allocations;
        sum.allocated_bytes += e->allocated_bytes;
        if (e->peak_bytes > sum.peak_bytes) sum.peak_bytes = e->peak_bytes;
    }
    sum.total_us = sum.self_us;
    r->data[from] = sum;
    return r->n = from + 1;
}

/* Tenths of a percent that add up to 1000. out: n of them. */
static void show_shares(size_t n, const double *us, int *out) {
    double sum = 0;
    int left = 1000;
    for (size_t i = 0; i < n; i++) sum += us[i];
    if (sum <= 0) {
        for (size_t i = 0; i < n; i++) out[i] = 0;
        return;
    }
    for (size_t i = 0; i < n; i++) left -= out[i] = (int)(us[i] / sum * 1000);
    for (; left > 0; left--) {
        size_t most = 0;
        for (size_t i = 1; i < n; i++)
            if (us[i] / sum * 1000 - out[i] > us[most] / sum * 1000 - out[most]) most = i;
        out[most]++;
    }
}

/* The shares of the rows' self times; NULL if out of memory. */
static int *show_shares_of(const profile_rows *r) {
    double *us = calloc(r->n + 1, sizeof *us);
    int *out = calloc(r->n + 1, sizeof *out);
    for (size_t i = 0; us && i < r->n; i++) us[i] = r->data[i].self_us;
    if (us && out) show_shares(r->n, us, out);
    else free(out), out = NULL;
    free(us);
    return out;
}

/* ---- cells ----------------------------------------------------------------------------------- */

/* "12.3 MB" in 9 columns, "12.3 M" without a unit; "-" for nothing. */
static void show_amount(double x, const char *unit) {
    static const char *const prefixes[] = {"", "k", "M", "G", "T"};
    char text[32];
    int i = 0;
    if (x <= 0) {
        printf(" %9s", "-");
        return;
    }
    for (; x >= 999.5 && i < 4; i++) x /= 1000;
    snprintf(text, sizeof text, "%.*f%s%s%s",
             x >= 99.95 || (!i && x == (double)(int)x) ? 0
             : x >= 9.995                              ? 1
                                                       : 2,
             x, i || *unit ? " " : "", prefixes[i], unit);
    printf(" %9s", text);
}

static void show_us(double us) { printf(" %10.*f", us < 10 ? 3 : us < 1000 ? 2 : 1, us); }

static void show_count(double n) { printf(" %8.*f", n == (double)(int64_t)n ? 0 : 1, n); }

/* The line's text, if the file is here. */
static void show_source(const ctsc_profile_entry *e) {
    char line[1024];
    FILE *f = e->file ? fopen(e->file, "r") : NULL;
    unsigned at = 1;
    bool found = false;
    while (f && !(found = at == e->line) && fgets(line, sizeof line, f))
        if (strchr(line, '\n')) at++;
    if (found && fgets(line, sizeof line, f)) {
        const char *text = line + strspn(line, " \t");
        printf("  %.*s",
               (int)(strcspn(text, "\n") < SHOW_SOURCE ? strcspn(text, "\n") : SHOW_SOURCE), text);
    }
    if (f) fclose(f);
}

static const char *show_name(const ctsc_profile_entry *e, char *text) {
    if (!e->file) snprintf(text, SHOW_NAME, "%s", e->name);
    else if (!strcmp(e->kind, "line")) snprintf(text, SHOW_NAME, "%s:%u", e->file, e->line);
    else snprintf(text, SHOW_NAME, "%s (%s:%u)", e->name, e->file, e->line);
    return text;
}

static const char *show_head(const profile_args *a) {
    return a->lines ? "source line" : a->methods ? "method" : "operator or kernel";
}

static void show_title(const profile_args *a, const profile_side *s) {
    printf("%s, method %s, --opt %d, %d thread%s, %llu call%s of %.1f us", s->model.path,
           a->call.method, s->opt, a->threads, a->threads == 1 ? "" : "s",
           (unsigned long long)s->sum.calls, s->sum.calls == 1 ? "" : "s",
           s->sum.total_us / (double)s->sum.calls);
    if (a->fma_gflops > 0) printf(", %.0f GFLOP/s at FMA peak", a->fma_gflops);
    putchar('\n');
}

/* ---- one table ------------------------------------------------------------------------------- */

static void show_row(const profile_args *a, const ctsc_profile_entry *e, int share, double calls) {
    char text[SHOW_NAME];
    show_us(e->self_us / calls);
    printf(" %5d.%d", share / 10, share % 10);
    show_us(e->total_us / calls);
    if (e->count) show_count((double)e->count / calls);
    else printf(" %8s", "-");
    show_amount(e->uncounted || e->self_us <= 0 ? 0 : (double)e->flops / e->self_us * 1e6, "");
    double percent = e->uncounted
                         ? -1
                         : machine_peak_percent((double)e->flops, e->self_us, a->fma_gflops);
    if (percent > 0) printf(" %6.1f", percent);
    else printf(" %6s", "-");
    show_amount(e->self_us <= 0 ? 0 : (double)e->bytes / e->self_us * 1e6, "");
    show_count((double)e->allocations / calls);
    show_amount((double)e->allocated_bytes / calls, "B");
    show_amount((double)e->peak_bytes, "B");
    printf("  %s", show_name(e, text));
    if (a->lines) show_source(e);
    putchar('\n');
}

static void show_denormals(const denormals *d) {
    char text[SHOW_NAME];
    if (!d->n) {
        puts("\nDenormal numbers are met, and cost no time that shows.");
        return;
    }
    printf("\nDenormal numbers slow this down: a call takes %.1f us, with --flush-denormals %.1f "
           "us.\n\n %10s %10s  %s\n",
           d->us, d->flushed_us, "self us", "flushed", "operator or kernel");
    for (size_t i = 0; i < d->n; i++) {
        show_us(d->rows[i].us);
        show_us(d->rows[i].flushed_us);
        printf("  %s\n", denormals_name(&d->rows[i], text, sizeof text));
    }
}

static int show_one(const profile_args *a) {
    const profile_side *s = &a->sides[0];
    profile_rows r;
    int *shares = NULL;
    if (show_rows(a, s, &r)) {
        show_fold(&r, (size_t)a->limit);
        shares = show_shares_of(&r);
    }
    if (!shares) {
        free(r.data);
        return cli_complain(CTSC_LIMIT, "out of memory");
    }
    double calls = (double)s->sum.calls;
    ctsc_profile_entry all = {
        .name = "total", .kind = "total", .self_us = s->sum.total_us, .total_us = s->sum.total_us};
    show_title(a, s);
    printf("\n %10s %7s %10s %8s %9s %6s %9s %8s %9s %9s  %s\n", "self us", "self %", "total us",
           "count", "FLOP/s", "% peak", "B/s", "allocs", "allocated", "peak", show_head(a));
    for (size_t i = 0; i < r.n; i++) {
        const ctsc_profile_entry *e = &r.data[i];
        show_row(a, e, shares[i], calls);
        all.count += e->count;
        all.bytes += e->bytes;
        all.flops += e->flops;
        all.uncounted += e->uncounted;
        all.allocations += e->allocations;
        all.allocated_bytes += e->allocated_bytes;
        if (e->peak_bytes > all.peak_bytes) all.peak_bytes = e->peak_bytes;
    }
    show_row(a, &all, r.n ? 1000 : 0, calls);
    if (a->met_denormals) show_denormals(&a->denormals);
    free(shares);
    free(r.data);
    return 0;
}

/* ---- side by side ---------------------------------------------------------------------------- */

typedef struct show_pair { ctsc_profile_entry name; double us[2], count[2]; } show_pair;

static bool show_same(const ctsc_profile_entry *x, const ctsc_profile_entry *y) {
    if (strcmp(x->name, y->name) != 0 || x->line != y->line) return false;
    return x->file && y->file ? !strcmp(x->file, y->file) : x->file == y->file;
}

static int show_compare_pairs(const void *x, const void *y) {
    const show_pair *a = x, *b = y;
    double m = a->us[0] + a->us[1], n = b->us[0] + b->us[1];
    return (m < n) - (m > n);
}

/* Joins the tables of both sides; *n rows, NULL if out of memory. */
static show_pair *show_join(const profile_args *a, size_t *n) {
    profile_rows r[2] = {{0}};
    bool ok = show_rows(a, &a->sides[0], &r[0]) && show_rows(a, &a->sides[1], &r[1]);
    show_pair *pairs = ok ? calloc(r[0].n + r[1].n + 1, sizeof *pairs) : NULL;
    *n = 0;
    for (int side = 0; pairs && side < 2; side++)
        for (size_t i = 0; i < r[side].n; i++) {
            const ctsc_profile_entry *e = &r[side].data[i];
            size_t k = 0;
            while (k < *n && !show_same(&pairs[k].name, e)) k++;
            if (k == *n) pairs[(*n)++].name = *e;
            pairs[k].us[side] += e->self_us / (double)a->sides[side].sum.calls;
            pairs[k].count[side] += (double)e->count / (double)a->sides[side].sum.calls;
        }
    if (pairs) qsort(pairs, *n, sizeof *pairs, show_compare_pairs);
    free(r[0].data);
    free(r[1].data);
    return pairs;
}

static void show_pair_row(const show_pair *p, const int share[2]) {
    char text[SHOW_NAME];
    for (int side = 0; side < 2; side++) {
        if (p->us[side] > 0 || p->count[side] > 0) {
            show_us(p->us[side]);
            printf(" %5d.%d", share[side] / 10, share[side] % 10);
        } else {
            printf(" %10s %7s", "-", "-");
        }
        if (p->count[side] > 0) show_count(p->count[side]);
        else printf(" %8s", "-");
    }
    if (p->us[0] > 0 && p->us[1] > 0) printf(" %8.2f", p->us[1] / p->us[0]);
    else printf(" %8s", "-");
    printf("  %s\n", show_name(&p->name, text));
}

/* Sums up the rows from `from` on in the first of them; returns how many remain. */
static size_t show_fold_pairs(show_pair *pairs, size_t n, size_t from) {
    if (!from || n <= from + 1) return n;
    pairs[from].name = (ctsc_profile_entry){.name = "(others)", .kind = "others"};
    for (size_t i = from + 1; i < n; i++)
        for (int side = 0; side < 2; side++) {
            pairs[from].us[side] += pairs[i].us[side];
            pairs[from].count[side] += pairs[i].count[side];
        }
    return from + 1;
}

static void show_pairs(const profile_args *a, const show_pair *pairs, size_t n,
                       int *const shares[2]) {
    show_pair all = {.name = {.name = "total"}};
    for (int side = 0; side < 2; side++) {
        printf("%c  ", "AB"[side]);
        show_title(a, &a->sides[side]);
        all.us[side] = a->sides[side].sum.total_us / (double)a->sides[side].sum.calls;
    }
    printf("\n %10s %7s %8s %10s %7s %8s %8s  %s\n", "A self us", "A %", "A count", "B self us",
           "B %", "B count", "B / A", show_head(a));
    for (size_t i = 0; i < n; i++) {
        show_pair_row(&pairs[i], (int[]){shares[0][i], shares[1][i]});
        for (int side = 0; side < 2; side++) all.count[side] += pairs[i].count[side];
    }
    show_pair_row(&all, (int[]){1000, 1000});
}

static int show_two(const profile_args *a) {
    size_t n = 0;
    show_pair *pairs = show_join(a, &n);
    if (pairs) n = show_fold_pairs(pairs, n, (size_t)a->limit);
    double *us = calloc(n + 1, sizeof *us);
    int *shares[2] = {calloc(n + 1, sizeof(int)), calloc(n + 1, sizeof(int))};
    bool ok = pairs && us && shares[0] && shares[1];
    for (int side = 0; ok && side < 2; side++) {
        for (size_t i = 0; i < n; i++) us[i] = pairs[i].us[side];
        show_shares(n, us, shares[side]);
    }
    if (ok) show_pairs(a, pairs, n, shares);
    free(us), free(shares[0]), free(shares[1]), free(pairs);
    return ok ? 0 : cli_complain(CTSC_LIMIT, "out of memory");
}

/* ---- JSON ------------------------------------------------------------------------------------ */

/* Adds peak_percent to the rows of a table; false if out of memory. */
static bool show_json_percents(json_t *rows, double peak) {
    size_t i;
    json_t *row;
    bool ok = true;
    json_array_foreach(rows, i, row) {
        double percent = machine_peak_percent(json_number_value(json_object_get(row, "flops")),
                                              json_number_value(json_object_get(row, "self_us")),
                                              peak);
        ok &= json_object_set_new(row, "peak_percent",
                                  percent > 0 ? json_real(percent) : json_null()) == 0;
    }
    return ok;
}

static json_t *show_json_side(const profile_args *a, const profile_side *s) {
    char *text = ctsc_profiler_json(s->p);
    json_t *j = json_pack("{s:s, s:s, s:i, s:i, s:o}", "model", s->model.path, "method",
                          a->call.method, "opt", s->opt, "threads", a->threads, "fma_gflops",
                          a->fma_gflops > 0 ? json_real(a->fma_gflops) : json_null());
    json_t *rest = text ? json_loads(text, 0, NULL) : NULL;
    ctsc_string_free(text);
    bool ok = j && rest && show_json_percents(json_object_get(rest, "operators"), a->fma_gflops) &&
              show_json_percents(json_object_get(rest, "lines"), a->fma_gflops) &&
              show_json_percents(json_object_get(rest, "methods"), a->fma_gflops);
    if (!ok || json_object_update(j, rest) != 0) json_decref(j), j = NULL;
    json_decref(rest);
    return j;
}

static int show_json(const profile_args *a) {
    json_t *j = show_json_side(a, &a->sides[0]);
    if (a->nsides == 1 && j &&
        json_object_set_new(j, "denormals",
                            a->met_denormals ? denormals_json(&a->denormals) : json_null()) != 0)
        json_decref(j), j = NULL;
    if (a->nsides == 2) j = json_pack("{s:o, s:o}", "a", j, "b", show_json_side(a, &a->sides[1]));
    return cli_print_json(j);
}

int profile_show(const profile_args *a) {
    return a->json ? show_json(a) : a->nsides == 2 ? show_two(a) : show_one(a);
}
