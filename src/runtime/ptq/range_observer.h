/* SPDX-License-Identifier: Apache-2.0 */
/*
 * range_observer.h - which range of a tensor's numbers its integers should cover.
 *
 * Two passes over the data: the first finds the least and the largest number, the second, for
 * observers that need one, a histogram between these. So nothing depends on the order of the data,
 * and no bin has to be split.
 *
 *     minmax       all numbers
 *     percentile   P percent of them: half of the rest is cut at each end (ONNX Runtime's)
 *     entropy      the threshold t at which the distribution of |x| up to t, in 128 levels (256
 *                  where no number is negative), has the least Kullback-Leibler divergence from
 *                  the one with all beyond t counted at t (Migacz, 8-bit inference with TensorRT,
 *                  2017). Zeros are exact with any scale and are not counted: half of what follows
 *                  a relu would hide the rest.
 *
 * The scale and zero point of quint8 follow as in PyTorch: 0 is in the range, scale = (max - min) /
 * 255, zero point = -round(min / scale), between 0 and 255. (PyTorch's scales are no smaller than
 * 2^-23; here networks whose numbers are that small keep them.) symmetric: zero point 128 and
 * scale = max(-min, max) / 127.5. reduce_range: 7 bits, for processors whose products of bytes
 * saturate (AVX2 without VNNI, in libraries that use vpmaddubsw).
 * Tests: tests/unit/test_ptq.c
 */
#ifndef CTSC_RUNTIME_PTQ_RANGE_OBSERVER_H
#define CTSC_RUNTIME_PTQ_RANGE_OBSERVER_H

#include "tensor/tensor.h"

typedef enum observer_kind { OBSERVER_MINMAX, OBSERVER_PERCENTILE, OBSERVER_ENTROPY } observer_kind;

typedef struct observer_options {
    observer_kind kind;
    double percentile; /* of OBSERVER_PERCENTILE, above 0 and up to 100 */
    bool symmetric, reduce_range;
} observer_options;

enum { OBSERVER_BINS = 2048 };

typedef struct range_observer {
    double lo, hi;  /* of all numbers seen */
    uint64_t count; /* of the first pass */
    bool other;     /* something else than finite float32 was seen: there is no range */
    /* OBSERVER_BINS of them, between lo and hi or, of entropy, 0 and their largest magnitude; NULL
     * before the second pass */
    uint64_t *bins;
} range_observer;

void observer_free(range_observer *o);
/* The first pass. */
ctsc_status observer_see(range_observer *o, diag *d, tensor *t);
/* The second pass, of the same tensors. */
ctsc_status observer_count(range_observer *o, const observer_options *how, diag *d, tensor *t);
static inline bool observer_has_two_passes(const observer_options *how) {
    return how->kind != OBSERVER_MINMAX;
}
/* false: there is none. */
bool observer_range(const range_observer *o, const observer_options *how, double *lo, double *hi);
/* The same as quint8's scale and zero point. */
bool observer_affine(const range_observer *o, const observer_options *how, double *scale,
                     int64_t *zero);

#endif
