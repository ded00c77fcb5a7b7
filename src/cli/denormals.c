/* SPDX-License-Identifier: Apache-2.0 */
/*
 * denormals.c - see denormals.h.
 *
 * A row counts where it met denormal numbers, and takes longer with them by DENORMALS_SHARE of the
 * whole call and of its own time: less is within what two measurements differ by.
 * Tests: tests/cli/denormals.test
 */
#include "cli/denormals.h"

#include <stdlib.h>
#include <string.h>

#define DENORMALS_SHARE 0.05

static void denormals_look(void *ctx, const ctsc_profile_entry *e) {
    *(bool *)ctx |= e->denormal > 0;
}

bool denormals_met(const ctsc_profiler *p) {
    bool met = false;
    ctsc_profiler_visit(p, CTSC_PROFILE_OPERATORS, denormals_look, &met);
    return met;
}

/* ---- rows ------------------------------------------------------------------------------------ */

typedef struct denormals_list {
    denormals *d;
    size_t cap;
    double calls;
    bool failed;
} denormals_list;

static void denormals_add(void *ctx, const ctsc_profile_entry *e) {
    denormals_list *l = ctx;
    denormals *d = l->d;
    if (!e->denormal) return;
    if (d->n == l->cap) {
        size_t cap = l->cap ? 2 * l->cap : 16;
        denormals_row *more = realloc(d->rows, cap * sizeof *more);
        if (!more) {
            l->failed = true;
            return;
        }
        d->rows = more;
        l->cap = cap;
    }
    d->rows[d->n++] = (denormals_row){.entry = *e, .us = e->self_us / l->calls};
}

static void denormals_match(void *ctx, const ctsc_profile_entry *e) {
    denormals_list *l = ctx;
    for (size_t i = 0; i < l->d->n; i++) {
        denormals_row *r = &l->d->rows[i];
        const char *a = r->entry.file ? r->entry.file : "", *b = e->file ? e->file : "";
        if (!strcmp(r->entry.name, e->name) && r->entry.line == e->line && !strcmp(a, b))
            r->flushed_us = e->self_us / l->calls;
    }
}

static int denormals_compare(const void *x, const void *y) {
    const denormals_row *a = x, *b = y;
    double m = a->us - a->flushed_us, n = b->us - b->flushed_us;
    return (m < n) - (m > n);
}

/* Both profilers' tables as rows, those that count. */
static bool denormals_join(denormals *d, int calls) {
    denormals_list l = {.d = d, .calls = calls};
    size_t kept = 0;
    if (ctsc_profiler_visit(d->plain, CTSC_PROFILE_OPERATORS, denormals_add, &l) != CTSC_OK ||
        ctsc_profiler_visit(d->flushed, CTSC_PROFILE_OPERATORS, denormals_match, &l) != CTSC_OK ||
        l.failed)
        return false;
    for (size_t i = 0; i < d->n; i++) {
        const denormals_row *r = &d->rows[i];
        double more = r->us - r->flushed_us;
        if (more > DENORMALS_SHARE * d->us && more > DENORMALS_SHARE * r->us) d->rows[kept++] = *r;
    }
    d->n = kept;
    if (kept) qsort(d->rows, kept, sizeof *d->rows, denormals_compare);
    return true;
}

const char *denormals_name(const denormals_row *r, char *text, size_t size) {
    if (!r->entry.file) snprintf(text, size, "%s", r->entry.name);
    else snprintf(text, size, "%s (%s:%u)", r->entry.name, r->entry.file, r->entry.line);
    return text;
}

/* ---- measuring ------------------------------------------------------------------------------- */

static void denormals_drop(void *ctx, const char *text, size_t len) {
    (void)ctx, (void)text, (void)len;
}

static double denormals_call_us(const ctsc_profiler *p) {
    ctsc_profile_summary s = {.size = sizeof s};
    ctsc_profiler_summary(p, &s);
    return s.calls ? s.total_us / (double)s.calls : 0;
}

int denormals_measure(const ctsc_module *m, const char *method, const cli_inputs *in,
                      const cli_limits *limits, int calls, denormals *out, ctsc_error *e) {
    denormals d = {.plain = ctsc_profiler_new(NULL), .flushed = ctsc_profiler_new(NULL)};
    ctsc_run_options o = cli_limited(limits,
                                     (ctsc_run_options){.size = sizeof o, .print = denormals_drop});
    ctsc_status s = d.plain && d.flushed ? CTSC_OK : CTSC_LIMIT;
    if (s != CTSC_OK) ctsc_error_set(e, s, "out of memory");
    for (int k = 0; k <= calls && s == CTSC_OK; k++) /* the first ones are not measured */
        for (int flush = 0; flush < 2 && s == CTSC_OK; flush++) {
            ctsc_value *result = NULL;
            o.profiler = !k ? NULL : flush ? d.flushed : d.plain;
            ctsc_set_flush_denormals(flush);
            s = ctsc_module_run(m, method, in->nvalues, in->values, &o, &result, e);
            ctsc_value_free(result);
        }
    ctsc_set_flush_denormals(false);
    if (s == CTSC_OK) {
        d.us = denormals_call_us(d.plain);
        d.flushed_us = denormals_call_us(d.flushed);
        if (!denormals_join(&d, calls)) s = ctsc_error_set(e, CTSC_LIMIT, "out of memory");
    }
    if (s == CTSC_OK) *out = d;
    else denormals_free(&d);
    return s == CTSC_OK ? 0 : cli_report(e);
}

void denormals_free(denormals *d) {
    free(d->rows);
    ctsc_profiler_free(d->plain);
    ctsc_profiler_free(d->flushed);
    *d = (denormals){0};
}

json_t *denormals_json(const denormals *d) {
    json_t *rows = json_array();
    bool ok = rows != NULL;
    for (size_t i = 0; ok && i < d->n; i++) {
        const denormals_row *r = &d->rows[i];
        ok = json_array_append_new(rows, json_pack("{s:s, s:s?, s:i, s:f, s:f}", "name",
                                                   r->entry.name, "file", r->entry.file, "line",
                                                   (int)r->entry.line, "self_us", r->us,
                                                   "flushed_self_us", r->flushed_us)) == 0;
    }
    if (ok)
        return json_pack("{s:f, s:f, s:o}", "us", d->us, "flushed_us", d->flushed_us, "rows", rows);
    json_decref(rows);
    return NULL;
}
