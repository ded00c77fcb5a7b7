/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics.c - the text of /metrics, in the format that Prometheus reads (0.0.4).
 *
 * Method. A family's rows must be adjacent, so the models
 * are walked once for each row of the table below.
 * Tests: tests/unit/test_serve.c, tests/serve/client.py
 */
#include "serve/metrics.h"

#include "serve/protocol.h"

#include <dirent.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

extern const uint64_t histogram_bounds_ns[];

/* name of the family, help, kind, offset of the counter in model_stats, divisor */
static const struct metric {
    const char *name, *help, *kind;
    size_t offset;
    double divide;
} model_metrics[] = {
#define METRIC(name, kind, field, divide, help)                                                    \
    {name, help, kind, offsetof(model_stats, field), divide}
    METRIC("nv_inference_request_success", "counter", success.count, 1,
           "Requests answered with a result"),
    METRIC("nv_inference_request_failure", "counter", fail.count, 1,
           "Requests answered with an error"),
    METRIC("nv_inference_count", "counter", inferences, 1,
           "Inferences; a request with n rows of a batch counts n"),
    METRIC("nv_inference_exec_count", "counter", executions, 1, "Calls of the model"),
    METRIC("nv_inference_request_duration_us", "counter", success.ns, 1e3,
           "Time of successful requests, microseconds"),
    METRIC("nv_inference_queue_duration_us", "counter", queue.ns, 1e3,
           "Time in queues, microseconds"),
    METRIC("nv_inference_compute_input_duration_us", "counter", input.ns, 1e3,
           "Time reading inputs, microseconds"),
    METRIC("nv_inference_compute_infer_duration_us", "counter", infer.ns, 1e3,
           "Time running models, microseconds"),
    METRIC("nv_inference_compute_output_duration_us", "counter", output.ns, 1e3,
           "Time writing outputs, microseconds"),
    METRIC("nv_inference_pending_request_count", "gauge", pending, 1, "Requests in queues"),
    METRIC("ctsc_requests_waiting", "gauge", pending, 1, "Requests in queues"),
    METRIC("ctsc_requests_running", "gauge", running, 1, "Calls of models that run now"),
    METRIC("ctsc_model_reloads_total", "counter", reloads, 1,
           "Times a model was replaced by a newer file"),
    METRIC("ctsc_model_reload_failures_total", "counter", reload_failures, 1,
           "Times a newer file could not be loaded"),
    METRIC("ctsc_model_process_deaths_total", "counter", deaths, 1,
           "Processes of the model that ended in a call (--isolate)"),
#undef METRIC
};

typedef struct metrics_walk {
    buffer *out;
    const struct metric *metric;
    int kind;
    int64_t ready;
} metrics_walk;

/* name="...",version="..." with the escapes of the format. */
static void metrics_labels(buffer *out, const entry *e) {
    buffer_puts(out, "model=\"");
    for (const char *p = e->name; *p; p++) {
        if (*p == '"' || *p == '\\') buffer_putc(out, '\\');
        buffer_putc(out, *p);
    }
    buffer_printf(out, "\",version=\"%s\"", e->version);
}

static void metrics_head(buffer *out, const char *name, const char *help, const char *kind) {
    buffer_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind);
}

static void metrics_row(void *ctx, entry *e) {
    metrics_walk *w = ctx;
    const counter *c = (const counter *)((const char *)&e->stats + w->metric->offset);
    buffer_printf(w->out, "%s{", w->metric->name);
    metrics_labels(w->out, e);
    buffer_printf(w->out, "} %llu\n",
                  (unsigned long long)((double)counter_get(c) / w->metric->divide));
}

static void metrics_code_row(void *ctx, entry *e) {
    metrics_walk *w = ctx;
    for (int i = 0; i < METRICS_CODES; i++) {
        uint64_t n = counter_get(&e->stats.codes[i]);
        if (!n) continue;
        buffer_puts(w->out, "ctsc_requests_total{");
        metrics_labels(w->out, e);
        buffer_printf(w->out, ",code=\"%d\"} %llu\n", metrics_codes[i], (unsigned long long)n);
    }
}

static void metrics_rejected_row(void *ctx, entry *e) {
    metrics_walk *w = ctx;
    const struct {
        const char *reason;
        uint64_t n;
    } rows[] = {
        {"queue_full", counter_get(&e->stats.rejected_full)},
        {"timeout_in_queue", counter_get(&e->stats.rejected_timeout)},
        {"client_gone", counter_get(&e->stats.cancelled)},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        buffer_puts(w->out, "ctsc_requests_rejected_total{");
        metrics_labels(w->out, e);
        buffer_printf(w->out, ",reason=\"%s\"} %llu\n", rows[i].reason,
                      (unsigned long long)rows[i].n);
    }
}

/* The rows of one histogram: buckets that add up, the sum, the count. le: bounds as text. */
static void metrics_histogram_row(metrics_walk *w, entry *e, const char *name, const histogram *h) {
    uint64_t total = 0;
    for (int i = 0; i < HISTOGRAM_BUCKETS; i++) {
        total += counter_get(&h->bucket[i]);
        buffer_printf(w->out, "%s_bucket{", name);
        metrics_labels(w->out, e);
        if (i < HISTOGRAM_BUCKETS - 1)
            buffer_printf(w->out, ",le=\"%g\"} %llu\n", (double)histogram_bounds_ns[i] / 1e9,
                          (unsigned long long)total);
        else buffer_printf(w->out, ",le=\"+Inf\"} %llu\n", (unsigned long long)total);
    }
    buffer_printf(w->out, "%s_sum{", name);
    metrics_labels(w->out, e);
    buffer_printf(w->out, "} %.9g\n%s_count{", (double)counter_get(&h->ns) / 1e9, name);
    metrics_labels(w->out, e);
    buffer_printf(w->out, "} %llu\n", (unsigned long long)total);
}

static void metrics_request_row(void *ctx, entry *e) {
    metrics_histogram_row(ctx, e, "ctsc_request_duration_seconds", &e->stats.request);
}

static void metrics_queue_row(void *ctx, entry *e) {
    metrics_histogram_row(ctx, e, "ctsc_queue_duration_seconds", &e->stats.queued);
}

static void metrics_batch_row(void *ctx, entry *e) {
    static const int bounds[] = {1, 2, 4, 8, 16, 32, 64, 128};
    metrics_walk *w = ctx;
    uint64_t total = 0, rows = 0;
    int size = 0;
    for (size_t b = 0; b < sizeof bounds / sizeof *bounds; b++) {
        for (; size <= bounds[b] && size < STATS_BATCHES - 1; size++) {
            uint64_t n = counter_get(&e->stats.batch[size].count);
            total += n;
            rows += n * (uint64_t)size;
        }
        buffer_puts(w->out, "ctsc_batch_size_bucket{");
        metrics_labels(w->out, e);
        buffer_printf(w->out, ",le=\"%d\"} %llu\n", bounds[b], (unsigned long long)total);
    }
    uint64_t larger = counter_get(&e->stats.batch[STATS_BATCHES - 1].count);
    total += larger;
    rows += larger * STATS_BATCHES;
    buffer_puts(w->out, "ctsc_batch_size_bucket{");
    metrics_labels(w->out, e);
    buffer_printf(w->out, ",le=\"+Inf\"} %llu\nctsc_batch_size_sum{", (unsigned long long)total);
    metrics_labels(w->out, e);
    buffer_printf(w->out, "} %llu\nctsc_batch_size_count{", (unsigned long long)rows);
    metrics_labels(w->out, e);
    buffer_printf(w->out, "} %llu\n", (unsigned long long)total);
}

static void metrics_count_ready(void *ctx, entry *e) {
    ((metrics_walk *)ctx)->ready += e->current != NULL;
}

/* ---- the process ----------------------------------------------------------------------------- */

static long metrics_resident_pages(long *all) {
    long resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    *all = 0;
    if (f && fscanf(f, "%ld %ld", all, &resident) != 2) resident = 0;
    if (f) fclose(f);
    return resident;
}

static int metrics_open_files(void) {
    int n = 0;
    DIR *d = opendir("/proc/self/fd");
    while (d && readdir(d)) n++;
    if (d) closedir(d);
    return n > 3 ? n - 3 : 0; /* ".", "..", and the folder itself */
}

static void metrics_one(buffer *out, const char *name, const char *kind, const char *help,
                        double v) {
    metrics_head(out, name, help, kind);
    buffer_printf(out, "%s %.17g\n", name, v);
}

static void metrics_process(buffer *out) {
    struct rusage u;
    long pages, resident = metrics_resident_pages(&pages), page = sysconf(_SC_PAGESIZE);
    double total = (double)sysconf(_SC_PHYS_PAGES) * (double)page,
           avail = (double)sysconf(_SC_AVPHYS_PAGES) * (double)page;
    getrusage(RUSAGE_SELF, &u);
    double cpu = (double)u.ru_utime.tv_sec + (double)u.ru_stime.tv_sec +
                 (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
    metrics_one(out, "process_resident_memory_bytes", "gauge", "Resident memory",
                (double)resident * (double)page);
    metrics_one(out, "process_virtual_memory_bytes", "gauge", "Virtual memory",
                (double)pages * (double)page);
    metrics_one(out, "process_open_fds", "gauge", "Open files", metrics_open_files());
    metrics_one(out, "process_cpu_seconds_total", "counter", "Processor time, user and system",
                cpu);
    metrics_one(out, "nv_cpu_memory_total_bytes", "gauge", "Memory of the machine", total);
    metrics_one(out, "nv_cpu_memory_used_bytes", "gauge", "Memory of the machine in use",
                total - avail);
}

static void metrics_server(server *s, buffer *out) {
    metrics_head(out, "ctsc_build_info", "The version", "gauge");
    buffer_printf(out, "ctsc_build_info{version=\"%s\"} 1\n", ctsc_version());
    metrics_one(out, "ctsc_http_requests_total", "counter", "HTTP requests",
                (double)counter_get(&s->stats.requests));
    metrics_head(out, "ctsc_http_responses_total",
                 "HTTP responses, by the first digit of their status", "counter");
    for (int i = 2; i <= 5; i++)
        buffer_printf(out, "ctsc_http_responses_total{class=\"%dxx\"} %llu\n", i,
                      (unsigned long long)counter_get(&s->stats.responses_by_class[i]));
    metrics_one(out, "ctsc_http_requests_in_flight", "gauge", "HTTP requests without an answer yet",
                (double)counter_get(&s->stats.in_flight));
    metrics_one(out, "ctsc_http_connections", "gauge", "Open connections",
                (double)counter_get(&s->stats.connections));
    metrics_one(out, "ctsc_http_connections_total", "counter", "Connections",
                (double)counter_get(&s->stats.connections_total));
    metrics_one(out, "ctsc_http_received_bytes_total", "counter", "Bytes of request bodies",
                (double)counter_get(&s->stats.body_bytes));
    metrics_one(out, "ctsc_http_sent_bytes_total", "counter", "Bytes of response bodies",
                (double)counter_get(&s->stats.reply_bytes));
    metrics_one(out, "ctsc_http_receive_timeouts_total", "counter",
                "Connections closed since a request took too long to arrive",
                (double)counter_get(&s->stats.receive_timeouts));
    metrics_one(out, "ctsc_grpc_requests_total", "counter", "Calls over gRPC",
                (double)counter_get(&s->stats.grpc_requests));
    metrics_one(out, "ctsc_draining", "gauge", "1 while the server is about to end",
                atomic_load(&s->draining));
}

void metrics_write(server *s, buffer *out) {
    metrics_walk w = {.out = out};
    static const struct {
        const char *name, *kind, *help;
        void (*row)(void *ctx, entry *e);
    } more[] = {
        {"ctsc_requests_total", "counter", "Inference requests by HTTP status", metrics_code_row},
        {"ctsc_requests_rejected_total", "counter",
         "Inference requests that ended without a result of the model's: turned away, or given up "
         "by the client",
         metrics_rejected_row},
        {"ctsc_request_duration_seconds", "histogram",
         "Time from the whole request to its response", metrics_request_row},
        {"ctsc_queue_duration_seconds", "histogram", "Time in queues", metrics_queue_row},
        {"ctsc_batch_size", "histogram", "Rows of one call", metrics_batch_row},
    };
    for (size_t i = 0; i < sizeof model_metrics / sizeof *model_metrics; i++) {
        w.metric = &model_metrics[i];
        metrics_head(out, w.metric->name, w.metric->help, w.metric->kind);
        repository_visit(&s->repository, metrics_row, &w);
    }
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        metrics_head(out, more[i].name, more[i].help, more[i].kind);
        repository_visit(&s->repository, more[i].row, &w);
    }
    repository_visit(&s->repository, metrics_count_ready, &w);
    metrics_one(out, "ctsc_models_loaded", "gauge", "Versions of models that answer requests",
                (double)w.ready);
    metrics_server(s, out);
    metrics_process(out);
}
