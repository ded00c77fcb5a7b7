/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attention_online.h - softmax over the keys of a query some at a time, for attention_quads.c and
 * attention_few.c: a block's weights are relative to the largest score so far, and what was summed
 * up before is multiplied by what has changed.
 * Tests: tests/unit/test_attention.c
 */
#ifndef CTSC_RUNTIME_KERNELS_ATTENTION_ATTENTION_ONLINE_H
#define CTSC_RUNTIME_KERNELS_ATTENTION_ATTENTION_ONLINE_H

#include "runtime/kernels/attention/attention_job.h"

enum { ONLINE_LANES = 16, ONLINE_KEYS = 128 }; /* keys of a block, at most */

/* A query; head and row say which masks it meets. */
typedef struct online_query {
    int64_t head, row;
    float max, sum; /* of the blocks so far */
} online_query;

static inline int64_t online_round(int64_t n) {
    return (n + ONLINE_LANES - 1) / ONLINE_LANES * ONLINE_LANES;
}

/* Queries [begin, begin + n) of a group that have seen no key. */
void online_begin(const attention_job *job, int64_t group, int64_t begin, int64_t n,
                  online_query *queries);
/* The keys [*first, *end) that any of n queries can see; none: *first == *end. */
void online_span(const attention_job *job, const online_query *queries, int64_t n, int64_t *first,
                 int64_t *end);
/* s: products of a query with `keys` keys from `first` on; they become weights, with zeros up to a
 * multiple of ONLINE_LANES. Returns what earlier sums are to be multiplied by. */
float online_weigh(const attention_job *job, online_query *q, int64_t first, int64_t keys,
                   float *s);
/* o = o * factor + more, n elements, a multiple of ONLINE_LANES. */
void online_add(float *o, const float *more, float factor, int64_t n);
/* Writes the weighed sums o of a query to its row of the result; o is overwritten. */
void online_finish(const attention_job *job, const online_query *q, float *o);
/* Rows of n 16-bit floats of either dtype from p on, strides rs and cs, as floats at stride ld. */
void online_floats(dtype dt, const void *p, int64_t rs, int64_t cs, int64_t rows, int64_t n,
                   float *to, int64_t ld);

#endif
