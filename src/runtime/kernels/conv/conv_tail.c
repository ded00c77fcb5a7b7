/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv_tail.c - see conv_tail.h: the choice among instruction sets, and the activations
 * element by element.
 * Tests: tests/unit/test_conv_tail.c
 */
#include "runtime/kernels/conv/conv_tail.h"

#include "ir/scalar/scalar_ops.h"

#include <math.h>

static float tail_element(enum dense_activation a, float x) {
    switch (a) {
    case DENSE_PLAIN: return x;
    case DENSE_RELU: return scalar_relu_f32(x);
    case DENSE_GELU: return scalar_gelu_f32(x);
    case DENSE_GELU_TANH: return scalar_gelu_tanh_f32(x);
    case DENSE_RELU6: return scalar_clamp_f32(x, 0.0f, 6.0f);
    case DENSE_HARDSIGMOID: return scalar_hardsigmoid_f32(x);
    case DENSE_HARDSWISH: return scalar_hardswish_f32(x);
    case DENSE_SIGMOID: return scalar_sigmoid_f32(x);
    case DENSE_SILU: return scalar_silu_f32(x);
    }
    return x;
}

static void tail_scalar_apply(enum dense_activation a, float *rows, int64_t n) {
    for (int64_t i = 0; i < n; i++) rows[i] = tail_element(a, rows[i]);
}

static void tail_scalar_add(float *rows, const float *other, int64_t n) {
    for (int64_t i = 0; i < n; i++) rows[i] += other[i];
}

static bool tail_scalar_usable(void) { return true; }

const conv_tail_kernels conv_tail_scalar = {"scalar", tail_scalar_usable, tail_scalar_apply,
                                            tail_scalar_add};

static const conv_tail_kernels *tail_kernels(void) {
#if defined(__x86_64__)
    if (conv_tail_avx512.usable()) return &conv_tail_avx512;
    if (conv_tail_avx2.usable()) return &conv_tail_avx2;
#endif
    return &conv_tail_scalar;
}

void conv_tail_apply(enum dense_activation a, float *rows, int64_t n) {
    if (a != DENSE_PLAIN) tail_kernels()->apply(a, rows, n);
}

void conv_tail_finish(const conv_tail *tail, float *rows, int64_t at, int64_t n) {
    if (tail->other) tail_kernels()->add(rows, tail->other + at, n);
    conv_tail_apply(tail->activation, rows, n);
}

bool conv_tail_bounds(enum dense_activation a, float *low, float *high) {
    if (a != DENSE_PLAIN && a != DENSE_RELU && a != DENSE_RELU6) return false;
    *low = a == DENSE_PLAIN ? -INFINITY : 0.0f;
    *high = a == DENSE_RELU6 ? 6.0f : INFINITY;
    return true;
}
