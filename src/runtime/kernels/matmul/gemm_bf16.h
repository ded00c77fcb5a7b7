/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm_bf16.h - products of bfloat16 matrices where the processor multiplies pairs of these.
 * Sums are float32. Training multiplies so: its weights change with every step.
 */
#ifndef CTSC_RUNTIME_KERNELS_MATMUL_GEMM_BF16_H
#define CTSC_RUNTIME_KERNELS_MATMUL_GEMM_BF16_H

#include "base/diag.h"
#include "runtime/kernels/engine/matrix.h"

typedef struct gemm_bf16_product {
    int64_t m, n, k; /* none is 0 */
    gemm_matrix a, b;
    const float *start; /* n numbers that the sums begin with, up to whole panels; NULL: zeros */
    void *c;            /* rows at stride ldc, in elements */
    int64_t ldc;
    bool floats; /* c is of float32, else sums are rounded to bfloat16 */
} gemm_bf16_product;

/* Is there anything faster here than products of floats? */
bool gemm_bf16_usable(void);
/* Only where it is usable. Fails only if out of memory. */
ctsc_status gemm_bf16(diag *d, const gemm_bf16_product *p);

#endif
