/* SPDX-License-Identifier: Apache-2.0 */
/*
 * activation.h - activations and sums of rows of floats, as records of functions.
 *
 * The vector code agrees with ir/scalar/scalar_ops_real.h to two or three units in the last place
 * (gelu: of its argument where that is larger), and to the bit in what is NaN, infinite or cut
 * off. It is a template, activation_tile.h, included by activation_vector.c once for AVX2 and
 * once for AVX-512; processors with neither run the scalar functions. The choice among these does
 * not depend on the number of elements, nor does an element's result depend on its neighbours.
 * Tests: tests/unit/test_epilogue.c
 */
#ifndef CTSC_CPU_ROWS_ACTIVATION_H
#define CTSC_CPU_ROWS_ACTIVATION_H

#include "cpu/isa.h"
#include "ir/scalar/scalar_activation.h"

typedef struct activation_kernels {
    isa isa;
    void (*apply)(enum dense_activation a, float *rows, int64_t n);
    void (*add)(float *rows, const float *other, int64_t n); /* rows[i] += other[i] */
} activation_kernels;

#endif
