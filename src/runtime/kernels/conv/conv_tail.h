/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv_tail.h - what becomes of the sums of a convolution before its kernels are done with them: a
 * tensor is added, and an activation applied, row by row while the row is in the first cache.
 *
 * The kernels are cpu/rows/activation.h's.
 * Tests: tests/unit/test_conv_tail.c
 */
#ifndef CTSC_RUNTIME_KERNELS_CONV_CONV_TAIL_H
#define CTSC_RUNTIME_KERNELS_CONV_CONV_TAIL_H

#include "runtime/kernels/engine/dense_params.h"

#include <stdbool.h>
#include <stdint.h>

/* activation(sum + bias + other): the kernel adds the bias. */
typedef struct conv_tail {
    const float *other; /* lies as the result does; NULL: not added */
    enum dense_activation activation;
    /* elements of the result from one pixel to the next; 0: its channels. Others only without
     * `other` */
    int64_t pitch;
} conv_tail;

/* rows[i] = a(rows[i]) of n contiguous elements. */
void conv_tail_apply(enum dense_activation a, float *rows, int64_t n);
/* The whole tail for n contiguous elements of the result, the first of which is its
 * element number `at`. */
void conv_tail_finish(const conv_tail *tail, float *rows, int64_t at, int64_t n);

/* Those activations that are bounds: true, and a(x) = min(*high, max(*low, x)) with NaN kept; false
 * leaves both as they are. */
bool conv_tail_bounds(enum dense_activation a, float *low, float *high);

#endif
