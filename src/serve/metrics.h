/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics.h - what the server counts.
 *
 * Threads: every number is a separate atomic; a reader sees each
 * number right, and related numbers at most one request apart.
 */
#ifndef CTSC_SERVE_METRICS_H
#define CTSC_SERVE_METRICS_H

#include "serve/buffer.h"

#include <stdatomic.h>

typedef atomic_uint_fast64_t counter;
static inline void counter_add(counter *c, uint64_t n) {
    atomic_fetch_add_explicit(c, n, memory_order_relaxed);
}
static inline uint64_t counter_get(const counter *c) {
    return atomic_load_explicit((counter *)c, memory_order_relaxed);
}

typedef struct timing { counter count, ns; } timing;
static inline void timing_add(timing *t, uint64_t ns) {
    counter_add(&t->count, 1);
    counter_add(&t->ns, ns);
}

/* Upper bounds, in seconds: 50 us to 10 s, three to a power
 * of ten. The last bucket is for everything above. */
enum { HISTOGRAM_BUCKETS = 18 };
typedef struct histogram { counter bucket[HISTOGRAM_BUCKETS]; counter ns; } histogram;
void histogram_add(histogram *h, uint64_t ns);

/* HTTP status codes that a request for an inference may end with, and the slot that counts it. */
enum { METRICS_CODES = 13 };
extern const int metrics_codes[METRICS_CODES];
int metrics_code_slot(int status);

enum { STATS_BATCHES = 129 }; /* distinct batch sizes; the last one is for larger ones */
enum { STATS_WINDOW = 256 };  /* latest latencies, for the status page */

/* Of one version of one model, over all its reloads. */
typedef struct model_stats {
    counter last_inference_ms;
    counter inferences, executions, pending, running;
    timing success, fail, queue, input, infer, output;
    struct { counter count, input_ns, infer_ns, output_ns; } batch[STATS_BATCHES];
    histogram request, queued;
    counter codes[METRICS_CODES];
    counter rejected_full, rejected_timeout, cancelled /* the client hung up */, reloads,
        reload_failures, deaths /* of the model's processes */;
    counter window_next;
    _Atomic uint32_t window_us[STATS_WINDOW];
} model_stats;

/* One answered inference request. */
void stats_request(model_stats *s, int status, uint64_t total_ns, uint64_t queue_ns,
                   uint64_t input_ns, uint64_t infer_ns, uint64_t output_ns, uint64_t rows);
/* One call of the model, for this many rows. */
void stats_execution(model_stats *s, uint64_t rows, uint64_t input_ns, uint64_t infer_ns,
                     uint64_t output_ns);
/* The object of the statistics extension. */
void stats_json(const model_stats *s, const char *name, const char *version, buffer *out);

typedef struct server_stats {
    counter requests, responses_by_class[6]; /* 1xx to 5xx, at their first digit */
    counter connections, connections_total, in_flight, receiving, body_bytes, reply_bytes,
        receive_timeouts, grpc_requests;
    uint64_t started_ms;
} server_stats;

struct server;
/* The text of /metrics, Prometheus 0.0.4. */
void metrics_write(struct server *s, buffer *out);

#endif
