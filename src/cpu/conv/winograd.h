/* SPDX-License-Identifier: Apache-2.0 */
/*
 * winograd.h - the transforms of Winograd's convolutions (kernels/conv/conv_winograd.c), as records
 * of functions.
 * Tests: tests/unit/test_conv_last.c
 */
#ifndef CTSC_CPU_CONV_WINOGRAD_H
#define CTSC_CPU_CONV_WINOGRAD_H

#include "cpu/isa.h"

/* Where the results of a tile go, and what is done to them on the way. */
typedef struct winograd_result {
    float *out; /* result (y, x) at out + y * row + x * column */
    int64_t row, column;
    int rows, columns;         /* those of the tile that exist */
    const float *bias, *other; /* a tile's channels; as out; NULL: none */
    bool clamp;
    float low, high;
} winograd_result;

/* pixel: all input pixels of a tile, n channels of each. Product p's elements
 * go to to + p * apart, n of them, padded with zeros to whole vectors. */
typedef void winograd_input_fn(const float *const *pixel, int64_t n, float *to, int64_t apart);
/* The inverse transform: products at from + p * apart, n channels. */
typedef bool winograd_output_fn(const float *from, int64_t apart, int64_t n,
                                const winograd_result *r);
typedef struct winograd_transforms {
    winograd_input_fn *input;
    winograd_output_fn *output;
} winograd_transforms;

/* The transforms of one instruction set. */
typedef struct winograd_kernels {
    isa isa;
    int lanes;
    winograd_transforms of_4, of_2; /* tiles of 4 x 4 and of 2 x 2 results */
} winograd_kernels;

#endif
