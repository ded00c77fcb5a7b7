/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_profile.c - the part of ctsc.h about profilers: options, sorted entries, JSON, the timeline.
 *
 * Numbers in texts are integers or have their point put in by hand: the program's locale
 * may print commas.
 * Tests: tests/unit/test_profile.c, tests/cli/profile.test
 */
#include "base/text/json.h"
#include "runtime/api/api.h"
#include "runtime/observe/profile.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct ctsc_profiler { profiler *p; };

ctsc_profiler *ctsc_profiler_new(const ctsc_profiler_options *o) {
    ctsc_profiler_options given = {0};
    if (o) memcpy(&given, o, o->size < sizeof given ? o->size : sizeof given);
    ctsc_profiler *h = mem_zalloc(sizeof *h);
    if (h && !(h->p = profiler_new(given.max_events))) {
        mem_free(h);
        return NULL;
    }
    return h;
}

void ctsc_profiler_free(ctsc_profiler *p) {
    if (!p) return;
    profiler_free(p->p);
    mem_free(p);
}

void ctsc_profiler_reset(ctsc_profiler *p) { profiler_reset(p->p); }

struct profiler *api_profiler(const ctsc_profiler *p) { return p ? p->p : NULL; }

void ctsc_profiler_summary(const ctsc_profiler *h, ctsc_profile_summary *out) {
    profiler *p = h->p;
    pthread_mutex_lock(&p->lock);
    ctsc_profile_summary s = {.size = out->size,
                              .calls = p->calls,
                              .total_us = (double)p->total_ns / 1e3,
                              .events = p->events.len,
                              .events_dropped = p->dropped,
                              .incomplete = p->failed};
    pthread_mutex_unlock(&p->lock);
    memcpy(out, &s, out->size < sizeof s ? out->size : sizeof s);
}

/* ---- entries --------------------------------------------------------------------------------- */

static int report_compare(const void *a, const void *b) {
    const profile_row *x = a, *y = b;
    if (x->sums.self_ns != y->sums.self_ns) return x->sums.self_ns < y->sums.self_ns ? 1 : -1;
    if (x->sums.total_ns != y->sums.total_ns) return x->sums.total_ns < y->sums.total_ns ? 1 : -1;
    int names = strcmp(x->name, y->name);
    return names ? names : x->line < y->line ? -1 : x->line > y->line;
}

/* The rows of a table that count something, sorted: the caller's, with mem_free. NULL with *n 0
 * without memory. Under the lock. */
static profile_row *report_rows(const profiler *p, profile_table t, size_t *n) {
    size_t bytes, count = 0;
    *n = 0;
    profile_row *rows = size_mul(p->list[t].len + 1, sizeof *rows, &bytes) ? mem_alloc(bytes)
                                                                           : NULL;
    for (size_t i = 0; rows && i < p->list[t].len; i++) {
        const profile_row *r = p->list[t].data[i];
        if (r->sums.count || r->sums.total_ns || r->sums.self_ns) rows[count++] = *r;
    }
    if (rows) qsort(rows, count, sizeof *rows, report_compare);
    *n = count;
    return rows;
}

static ctsc_profile_entry report_entry(const profile_row *r) {
    const profile_sums *s = &r->sums;
    return (ctsc_profile_entry){.name = r->name,
                                .kind = r->kind,
                                .file = r->file,
                                .line = r->line,
                                .count = s->count,
                                .self_us = (double)s->self_ns / 1e3,
                                .total_us = (double)s->total_ns / 1e3,
                                .bytes = s->bytes,
                                .flops = s->flops,
                                .uncounted = s->uncounted,
                                .allocations = s->allocations,
                                .allocated_bytes = s->allocated,
                                .peak_bytes = s->peak > 0 ? (uint64_t)s->peak : 0,
                                .denormal = s->denormal};
}

ctsc_status ctsc_profiler_visit(const ctsc_profiler *h, ctsc_profile_by by,
                                void (*visit)(void *ctx, const ctsc_profile_entry *entry),
                                void *ctx) {
    static const profile_table tables[] = {PROFILE_OPS, PROFILE_LINES, PROFILE_METHODS};
    size_t n = 0;
    if ((unsigned)by >= sizeof tables / sizeof *tables) return CTSC_USAGE;
    pthread_mutex_lock(&h->p->lock);
    profile_row *rows = report_rows(h->p, tables[by], &n);
    pthread_mutex_unlock(&h->p->lock);
    for (size_t i = 0; i < n; i++) {
        ctsc_profile_entry e = report_entry(&rows[i]);
        visit(ctx, &e);
    }
    mem_free(rows);
    return rows ? CTSC_OK : CTSC_LIMIT;
}

/* ---- texts ----------------------------------------------------------------------------------- */

static void report_string(strbuf *out, const char *s) { json_text(out, s, strlen(s)); }

/* Nanoseconds as microseconds. */
static void report_us(strbuf *out, int64_t ns) {
    uint64_t n = ns < 0 ? 0 : (uint64_t)ns;
    sb_printf(out, "%llu.%03llu", (unsigned long long)(n / 1000), (unsigned long long)(n % 1000));
}

static void report_flops(strbuf *out, int64_t flops, bool known) {
    if (known) sb_printf(out, "%lld", (long long)flops);
    else sb_puts(out, "null");
}

static void report_row(strbuf *out, const profile_row *r) {
    const profile_sums *s = &r->sums;
    sb_puts(out, "{\"name\": ");
    report_string(out, r->name);
    sb_printf(out, ", \"kind\": \"%s\"", r->kind);
    if (r->file) {
        sb_puts(out, ", \"file\": ");
        report_string(out, r->file);
        sb_printf(out, ", \"line\": %u", r->line);
    }
    sb_printf(out, ", \"count\": %llu, \"self_us\": ", (unsigned long long)s->count);
    report_us(out, s->self_ns);
    sb_puts(out, ", \"total_us\": ");
    report_us(out, s->total_ns);
    sb_printf(out, ", \"bytes\": %lld, \"flops\": ", (long long)s->bytes);
    report_flops(out, s->flops, !s->uncounted);
    sb_printf(out,
              ", \"allocations\": %llu, \"allocated_bytes\": %llu, \"peak_bytes\": %lld, "
              "\"denormal\": %llu}",
              (unsigned long long)s->allocations, (unsigned long long)s->allocated,
              (long long)(s->peak > 0 ? s->peak : 0), (unsigned long long)s->denormal);
}

static bool report_table(strbuf *out, const profiler *p, profile_table t, const char *name) {
    size_t n;
    profile_row *rows = report_rows(p, t, &n);
    sb_printf(out, ",\n \"%s\": [", name);
    for (size_t i = 0; i < n; i++) {
        sb_puts(out, i ? ",\n  " : "\n  ");
        report_row(out, &rows[i]);
    }
    sb_putc(out, ']');
    mem_free(rows);
    return rows != NULL;
}

char *ctsc_profiler_json(const ctsc_profiler *h) {
    strbuf out = STRBUF_INIT;
    profiler *p = h->p;
    pthread_mutex_lock(&p->lock);
    sb_printf(&out, "{\"calls\": %llu, \"total_us\": ", (unsigned long long)p->calls);
    report_us(&out, p->total_ns);
    sb_printf(&out, ", \"incomplete\": %s", p->failed ? "true" : "false");
    bool ok = report_table(&out, p, PROFILE_OPS, "operators") &&
              report_table(&out, p, PROFILE_LINES, "lines") &&
              report_table(&out, p, PROFILE_METHODS, "methods");
    pthread_mutex_unlock(&p->lock);
    sb_puts(&out, "}\n");
    if (ok) return sb_take(&out);
    sb_free(&out);
    return NULL;
}

/* A complete event of the Trace Event Format ("X"), which nests by its times. */
static void report_event(strbuf *out, const profiler *p, const profile_event *e, int process) {
    sb_puts(out, "{\"ph\": \"X\", \"name\": ");
    report_string(out, e->op->name);
    sb_printf(out, ", \"cat\": \"%s\", \"pid\": %d, \"tid\": %d, \"ts\": ", e->op->kind, process,
              e->thread);
    report_us(out, (int64_t)(e->begin - p->origin));
    sb_puts(out, ", \"dur\": ");
    report_us(out, (int64_t)e->ns);
    sb_puts(out, ", \"args\": {");
    if (e->shapes) {
        sb_puts(out, "\"arguments\": ");
        report_string(out, e->shapes);
        sb_puts(out, ", ");
    }
    if (e->line && e->line->file) {
        sb_puts(out, "\"file\": ");
        report_string(out, e->line->file);
        sb_printf(out, ", \"line\": %u, ", e->line->line);
    }
    sb_printf(out, "\"bytes\": %lld, \"flops\": ", (long long)e->bytes);
    report_flops(out, e->flops, e->flops >= 0);
    sb_puts(out, "}}");
}

/* A thread's name, at its first event. */
static void report_thread(strbuf *out, const profiler *p, size_t at, int process) {
    int thread = p->events.data[at].thread;
    /* further back it does no harm to say it again */
    for (size_t i = at; i-- > 0 && at - i < 1000;)
        if (p->events.data[i].thread == thread) return;
    sb_printf(out,
              "{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": %d, \"tid\": %d, \"args\": "
              "{\"name\": \"thread %d\"}},\n",
              process, thread, thread);
}

char *ctsc_profiler_trace(const ctsc_profiler *h) {
    strbuf out = STRBUF_INIT;
    profiler *p = h->p;
    int process = (int)getpid();
    pthread_mutex_lock(&p->lock);
    sb_printf(&out,
              "{\"displayTimeUnit\": \"ns\", \"otherData\": {\"producer\": \"ctsc %s\", "
              "\"dropped\": \"%llu\"}, \"traceEvents\": [\n",
              ctsc_version(), (unsigned long long)p->dropped);
    sb_printf(&out,
              "{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": %d, \"tid\": 0, \"args\": "
              "{\"name\": \"ctsc\"}}",
              process);
    for (size_t i = 0; i < p->events.len; i++) {
        sb_puts(&out, ",\n");
        report_thread(&out, p, i, process);
        report_event(&out, p, &p->events.data[i], process);
    }
    pthread_mutex_unlock(&p->lock);
    sb_puts(&out, "]}\n");
    return sb_take(&out);
}
