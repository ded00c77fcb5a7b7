/* SPDX-License-Identifier: Apache-2.0 */
/*
 * activation_plain.c - activations element by element, in C.
 * Tests: tests/unit/test_epilogue.c
 */
#include "cpu/rows/activation.h"

#include "ir/scalar/scalar_ops.h"

static float activation_element(enum dense_activation a, float x) {
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

static void activation_plain_apply(enum dense_activation a, float *rows, int64_t n) {
    for (int64_t i = 0; i < n; i++) rows[i] = activation_element(a, rows[i]);
}

static void activation_plain_add(float *rows, const float *other, int64_t n) {
    for (int64_t i = 0; i < n; i++) rows[i] += other[i];
}

const activation_kernels activation_plain = {ISA_PLAIN, activation_plain_apply,
                                             activation_plain_add};
