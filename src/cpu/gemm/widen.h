/* SPDX-License-Identifier: Apache-2.0 */
/*
 * widen.h - products of float rows with two-byte weights, converted to floats in
 * registers: for few rows, where reading the weights dominates. As records of functions.
 *
 * Weights are float16 or bfloat16, in panels of WIDEN_COLUMNS columns, step after
 * step of k. Sums are float32, multiplied by a scale per column at the end. A
 * row's sums do not depend on the other rows, only on whether there are any.
 * Tests: tests/unit/test_linear_half.c
 */
#ifndef CTSC_CPU_GEMM_WIDEN_H
#define CTSC_CPU_GEMM_WIDEN_H

#include "cpu/isa.h"

enum { WIDEN_COLUMNS = 64, WIDEN_MAX_ROWS = 6 };

/* Rows of x times one panel; rows from 1 to widen_micro.rows: out = x b * scale + bias. */
typedef struct widen_tile {
    const float *x; /* ldx elements from row to row */
    int64_t ldx, k;
    const void *b;             /* [k][WIDEN_COLUMNS] */
    const float *scale, *bias; /* WIDEN_COLUMNS each */
    float *out;
    int64_t ldc;
    int cols; /* of WIDEN_COLUMNS, that are used */
} widen_tile;

typedef struct widen_micro {
    isa isa;
    int rows;
    void (*tile)(int rows, const widen_tile *t);
} widen_micro;

#endif
