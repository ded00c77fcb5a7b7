/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm_bf16.h - products whose factors are rounded to bfloat16, for processors that multiply these
 * (AVX512-BF16): sums are float32.
 *
 * Numerics: factors are rounded to nearest even; a lane adds two products at a time to its sum,
 * denormal factors and sums count as zero, whatever the modes of the thread (docs/precision.md).
 * Which tile an element lies in does not change it.
 * Tests: tests/unit/test_precision.c
 */
#ifndef CTSC_RUNTIME_KERNELS_MATMUL_GEMM_BF16_H
#define CTSC_RUNTIME_KERNELS_MATMUL_GEMM_BF16_H

#include "runtime/kernels/engine/quad.h"
#include "tensor/dtype.h"

#include <stdbool.h>
#include <stddef.h>

enum { GEMM_BF16_PAIR = QUAD_BYTES / 2 }; /* elements of a quad */

/* Whether this processor has the instructions. All below needs them. */
bool gemm_bf16_usable(void);

/* Weights: columns of `stretches` stretches of k elements, k even. */
typedef struct gemm_bf16 {
    int64_t n, groups; /* columns of a group */
    int64_t stretches, k, quads, panels;
    int8_t *data; /* [group][panel][stretch][quad][column][2] */
} gemm_bf16;

/* Bytes of m's data, whose other members are set (quads and panels too, by this);
 * false: too many. */
bool gemm_bf16_size(gemm_bf16 *m, size_t *bytes);
/* Puts column j of a group, its stretches one after the other. data begins as zeros. */
void gemm_bf16_put(const gemm_bf16 *m, int64_t group, int64_t j, const float *column);
/* n elements. */
void gemm_bf16_round(const float *x, int64_t n, bfloat16 *out);

/* Some rows of activations, rounded, with panels [first, last) of a group: out is the first row's
 * first element of these columns. */
typedef struct gemm_bf16_strip {
    const bfloat16 *a;
    int64_t rows, lda;      /* lda: bytes */
    const int64_t *stretch; /* bytes */
    const float *bias;      /* of panel `first` on; NULL: none */
    float *out;
    int64_t ldc;
} gemm_bf16_strip;
void gemm_bf16_run(const gemm_bf16 *m, int64_t group, int64_t first, int64_t last,
                   const gemm_bf16_strip *s);

#endif
