/* SPDX-License-Identifier: Apache-2.0 */
/*
 * int8w.h - products of float rows with weights of a byte each and a scale per column: for
 * few rows, whose time is the weights' way from memory.
 *
 * A weight w is round(w / scale) * scale, scale = the column's largest magnitude / 127. Bytes
 * become floats in registers; sums are float32, multiplied by the scale at the end.
 * Tests: tests/unit/test_precision.c
 */
#ifndef CTSC_CPU_GEMM_INT8W_H
#define CTSC_CPU_GEMM_INT8W_H

#include "cpu/isa.h"

enum { INT8W_COLUMNS = 64, INT8W_MAX_ROWS = 6 };

typedef struct gemm_int8w {
    int64_t n, k, panels;
    int8_t *data; /* [panel][k][INT8W_COLUMNS] */
    float *scale; /* [panel][column] */
} gemm_int8w;

/* Rows of x times one panel; rows from 1 to int8w_micro.rows. */
typedef struct int8w_tile {
    const float *x; /* ldx elements from row to row */
    int64_t ldx, k;
    const int8_t *b;
    const float *scale, *bias; /* INT8W_COLUMNS each */
    float *out;
    int64_t ldc;
    int cols; /* of INT8W_COLUMNS, that are wanted */
} int8w_tile;

typedef struct int8w_micro {
    isa isa;
    int rows;
    void (*tile)(int rows, const int8w_tile *t);
} int8w_micro;

/* A column of weights, as apart, into its place; false: one of them is not finite. data and scale
 * begin as zeros. */
bool gemm_int8w_put(const gemm_int8w *m, int64_t j, const float *column, int64_t as);

#endif
