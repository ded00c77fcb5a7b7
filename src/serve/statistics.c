/* SPDX-License-Identifier: Apache-2.0 */
/*
 * statistics.c - counting requests, and the statistics extension of the protocol.
 *
 * Tests: tests/unit/test_serve.c
 */
#include "serve/metrics.h"

#include <string.h>

const int metrics_codes[METRICS_CODES] = {200, 400, 401, 404, 405, 408, 413,
                                          415, 429, 499, 500, 503, 504};

int metrics_code_slot(int status) {
    for (int i = 0; i < METRICS_CODES; i++)
        if (metrics_codes[i] == status) return i;
    return metrics_code_slot(status < 500 ? 400 : 500);
}

const uint64_t histogram_bounds_ns[HISTOGRAM_BUCKETS - 1] = {
    50000,     100000,     200000,     500000,     1000000,    2000000,
    5000000,   10000000,   20000000,   50000000,   100000000,  200000000,
    500000000, 1000000000, 2000000000, 5000000000, 10000000000};

void histogram_add(histogram *h, uint64_t ns) {
    int i = 0;
    while (i < HISTOGRAM_BUCKETS - 1 && ns > histogram_bounds_ns[i]) i++;
    counter_add(&h->bucket[i], 1);
    counter_add(&h->ns, ns);
}

void stats_request(model_stats *s, int status, uint64_t total_ns, uint64_t queue_ns,
                   uint64_t input_ns, uint64_t infer_ns, uint64_t output_ns, uint64_t rows) {
    counter_add(&s->codes[metrics_code_slot(status)], 1);
    histogram_add(&s->request, total_ns);
    if (status != 200) {
        timing_add(&s->fail, total_ns);
        return;
    }
    timing_add(&s->success, total_ns);
    timing_add(&s->queue, queue_ns);
    timing_add(&s->input, input_ns);
    timing_add(&s->infer, infer_ns);
    timing_add(&s->output, output_ns);
    histogram_add(&s->queued, queue_ns);
    counter_add(&s->inferences, rows ? rows : 1);
    atomic_store_explicit(&s->last_inference_ms, clock_wall_ms(), memory_order_relaxed);
    uint64_t at = atomic_fetch_add_explicit(&s->window_next, 1, memory_order_relaxed);
    uint64_t us = total_ns / 1000;
    atomic_store_explicit(&s->window_us[at % STATS_WINDOW],
                          us < UINT32_MAX ? (uint32_t)us : UINT32_MAX, memory_order_relaxed);
}

void stats_execution(model_stats *s, uint64_t rows, uint64_t input_ns, uint64_t infer_ns,
                     uint64_t output_ns) {
    size_t i = rows < STATS_BATCHES ? (size_t)rows : STATS_BATCHES - 1;
    counter_add(&s->executions, 1);
    counter_add(&s->batch[i].count, 1);
    counter_add(&s->batch[i].input_ns, input_ns);
    counter_add(&s->batch[i].infer_ns, infer_ns);
    counter_add(&s->batch[i].output_ns, output_ns);
}

/* ---- the statistics extension ---------------------------------------------------------------- */

static void stats_pair(buffer *out, const char *name, uint64_t count, uint64_t ns, bool comma) {
    buffer_printf(out, "\"%s\":{\"count\":%llu,\"ns\":%llu}%s", name, (unsigned long long)count,
                  (unsigned long long)ns, comma ? "," : "");
}

static void stats_timing(buffer *out, const char *name, const timing *t) {
    stats_pair(out, name, counter_get(&t->count), counter_get(&t->ns), true);
}

static void stats_batches(const model_stats *s, buffer *out) {
    bool first = true;
    buffer_puts(out, "\"batch_stats\":[");
    for (int i = 0; i < STATS_BATCHES; i++) {
        uint64_t n = counter_get(&s->batch[i].count);
        if (!n) continue;
        buffer_printf(out, "%s{\"batch_size\":%d,", first ? "" : ",", i);
        stats_pair(out, "compute_input", n, counter_get(&s->batch[i].input_ns), true);
        stats_pair(out, "compute_infer", n, counter_get(&s->batch[i].infer_ns), true);
        stats_pair(out, "compute_output", n, counter_get(&s->batch[i].output_ns), false);
        buffer_puts(out, "}");
        first = false;
    }
    buffer_puts(out, "]");
}

void stats_json(const model_stats *s, const char *name, const char *version, buffer *out) {
    buffer_puts(out, "{\"name\":");
    buffer_json(out, name, strlen(name));
    buffer_printf(out,
                  ",\"version\":\"%s\",\"last_inference\":%llu,\"inference_count\":%llu,"
                  "\"execution_count\":%llu,\"inference_stats\":{",
                  version, (unsigned long long)counter_get(&s->last_inference_ms),
                  (unsigned long long)counter_get(&s->inferences),
                  (unsigned long long)counter_get(&s->executions));
    stats_timing(out, "success", &s->success);
    stats_timing(out, "fail", &s->fail);
    stats_timing(out, "queue", &s->queue);
    stats_timing(out, "compute_input", &s->input);
    stats_timing(out, "compute_infer", &s->infer);
    stats_timing(out, "compute_output", &s->output);
    stats_pair(out, "cache_hit", 0, 0, true);
    stats_pair(out, "cache_miss", 0, 0, false);
    buffer_puts(out, "},");
    stats_batches(s, out);
    buffer_puts(out, "}");
}
