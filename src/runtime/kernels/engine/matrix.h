/* SPDX-License-Identifier: Apache-2.0 */
/* matrix.h - matrices in strided memory and the numbers that products are scaled by. */
#ifndef CTSC_RUNTIME_KERNELS_ENGINE_MATRIX_H
#define CTSC_RUNTIME_KERNELS_ENGINE_MATRIX_H

#include <stdbool.h>
#include <stdint.h>

/* Element (i, j) is p[i * rs + j * cs]; strides count elements and may be 0. */
typedef struct gemm_matrix {
    const void *p;
    int64_t rs, cs;
    /* where p is; NULL: on the host. Asked of a product's first operand: all are on one device. */
    struct cuda *device;
} gemm_matrix;

/* A Scalar argument, as a float product, an integer product and a complex product
 * (f + im j) need it. */
typedef struct gemm_scale {
    double f;
    int64_t i;
    double im;
} gemm_scale;

static const gemm_scale gemm_zero = {0, 0, 0}, gemm_one = {1, 1, 0};

static inline bool gemm_scale_is_zero(gemm_scale s) { return s.f == 0 && s.i == 0 && s.im == 0; }

#endif
