/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv_tail.c - see conv_tail.h.
 * Tests: tests/unit/test_conv_tail.c
 */
#include "runtime/kernels/conv/conv_tail.h"

#include "cpu/ukernel.h"

#include <math.h>

void conv_tail_apply(enum dense_activation a, float *rows, int64_t n) {
    if (a != DENSE_PLAIN) ukernel_activation()->apply(a, rows, n);
}

void conv_tail_finish(const conv_tail *tail, float *rows, int64_t at, int64_t n) {
    if (tail->other) ukernel_activation()->add(rows, tail->other + at, n);
    conv_tail_apply(tail->activation, rows, n);
}

bool conv_tail_bounds(enum dense_activation a, float *low, float *high) {
    if (a != DENSE_PLAIN && a != DENSE_RELU && a != DENSE_RELU6) return false;
    *low = a == DENSE_PLAIN ? -INFINITY : 0.0f;
    *high = a == DENSE_RELU6 ? 6.0f : INFINITY;
    return true;
}
