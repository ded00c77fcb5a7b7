/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample.c - greedy choice, temperature and top-k.
 *
 * A seed gives the same tokens wherever the logits are the same. Of equal logits the one with the
 * lower number is the more likely.
 * Tests: tests/unit/test_serve.c
 */
#include "serve/sample.h"

#include <math.h>
#include <stdlib.h>

/* SplitMix64 (Steele, Lea and Flood, 2014); uniform in [0, 1). */
static double sample_random(sampler *s) {
    uint64_t z = s->state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

static void sample_sink(double *heap, size_t n, size_t i) {
    for (size_t least = i;; i = least) {
        for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < n; child++)
            if (heap[child] < heap[least]) least = child;
        if (least == i) return;
        double v = heap[i];
        heap[i] = heap[least];
        heap[least] = v;
    }
}

/* The k-th largest logit, by a heap of the k largest ones, and how many are larger. */
static bool sample_threshold(const double *logits, size_t n, size_t k, double *out,
                             size_t *larger) {
    double *heap = malloc(k * sizeof *heap);
    if (!heap) return false;
    for (size_t i = 0; i < k; i++) heap[i] = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        if (!(logits[i] > heap[0])) continue;
        heap[0] = logits[i];
        sample_sink(heap, k, 0);
    }
    *out = heap[0];
    free(heap);
    *larger = 0;
    for (size_t i = 0; i < n; i++) *larger += logits[i] > *out;
    return true;
}

/* The largest one; n if there is none. */
static size_t sample_best(const double *logits, size_t n) {
    size_t best = n;
    for (size_t i = 0; i < n; i++)
        if (logits[i] > (best < n ? logits[best] : -INFINITY)) best = i;
    return best;
}

bool sample_pick(sampler *s, const double *logits, size_t n, size_t *out) {
    size_t best = sample_best(logits, n), larger = 0;
    double least = -INFINITY, total = 0;
    if (best == n) return false;
    *out = best;
    if (s->temperature <= 0 || isinf(logits[best])) return true;
    bool few = s->top_k && s->top_k < n;
    if (few && !sample_threshold(logits, n, s->top_k, &least, &larger)) return false;
    /* twice the same walk: to know the total, and to where the random number is */
    for (double at = INFINITY;;) {
        double sum = 0;
        size_t ties = few ? s->top_k - larger : n;
        for (size_t i = 0; i < n && sum <= at; i++) {
            if (!(logits[i] >= least) || (few && logits[i] == least && !ties)) continue;
            if (few && logits[i] == least) ties--;
            sum += exp((logits[i] - logits[best]) / s->temperature);
            *out = i;
        }
        if (total > 0) return true;
        total = sum;
        at = sample_random(s) * total;
    }
}
