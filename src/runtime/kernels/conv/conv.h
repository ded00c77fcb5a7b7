/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv.h - what the convolution operators share.
 *
 * All of them are treated as three-dimensional: a convolution over fewer dims has leading dims of
 * size 1. conv.c checks arguments and serves the operators; conv_kernels.c and conv_depthwise.c
 * compute the forward ones, conv_transpose.c the transposed ones. Tests: tests/unit/test_conv.c
 */
#ifndef CTSC_RUNTIME_KERNELS_CONV_CONV_H
#define CTSC_RUNTIME_KERNELS_CONV_CONV_H

#include "cpu/conv/conv_shape.h"
#include "cpu/vector.h"
#include "runtime/kernels/matmul/gemm.h"

/* Compiled for several instruction sets, among which the
 * loader selects: for loops that BLAS does not cover. */
/* unroll-and-jam would swap the loops over taps and lanes and leave scalar code */
#define CONV_HOT                                                                                   \
    VECTOR_OPTIMISED("O3", "no-loop-unroll-and-jam") VECTOR_CLONED("avx512f", "avx2", "default")

/* n > 0 in parts of at most `most`: how many. */
static inline int64_t conv_parts(int64_t n, int64_t most) { return (n + most - 1) / most; }

/* Is a pixel of the output made of the one at its place alone? */
bool conv_is_pointwise(const conv_shape *s);
/* bias: out_channels elements, or NULL. dt: int, float or double. */
ctsc_status conv_compute(diag *d, const conv_shape *s, dtype dt, const void *input,
                         const void *weight, const void *bias, void *out);
ctsc_status conv_transpose_compute(diag *d, const conv_shape *s, dtype dt, const void *input,
                                   const void *weight, const void *bias, void *out);

/* The gradient of the weight: of `input` and the gradient of the result, both of s; out as the
 * weight. */
ctsc_status conv_weight_grad(diag *d, const conv_shape *s, dtype dt, const void *input,
                             const void *grad, void *out);

/* im2col: what the outputs [begin, end) of an image's plane see, a row for each of `channels` input
 * channels and each tap; elements of `size` bytes. */
void conv_unfold(const conv_shape *s, size_t size, const void *image, int64_t channels,
                 int64_t begin, int64_t end, void *cols);

/* Does the convolution if it is a depthwise one that conv_depthwise.c covers, and says so in *done.
 */
ctsc_status conv_depthwise(diag *d, const conv_shape *s, dtype dt, const void *input,
                           const void *weight, const void *bias, void *out, bool *done);

/* Output positions whose input coordinate (o * stride -
 * pad + tap * dilation) is in [0, in): [*lo, *hi). */
void conv_valid_range(const conv_shape *s, int dim, int64_t tap, int64_t *lo, int64_t *hi);

#endif
