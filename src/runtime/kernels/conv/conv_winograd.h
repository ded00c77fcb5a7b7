/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv_winograd.h - 3x3 convolutions of stride 1 with fewer multiplications: see
 * conv_winograd.c.
 * Tests: tests/unit/test_conv_last.c
 */
#ifndef CTSC_RUNTIME_KERNELS_CONV_CONV_WINOGRAD_H
#define CTSC_RUNTIME_KERNELS_CONV_CONV_WINOGRAD_H

#include "runtime/kernels/conv/conv_packed.h"
#include "runtime/kernels/conv/conv_tail.h"

/* Can s be done this way? */
bool conv_winograd_fits(const conv_shape *s);
/* The way that a model says is fastest on this processor, CONV_WINOGRAD_4 or CONV_WINOGRAD_2;
 * CONV_FORMS: neither. Depends on the shape alone. */
conv_form conv_winograd_best(const conv_shape *s);
/* Products that a tile is made of; 0: the form is none of these. */
int conv_winograd_products(conv_form form);
/* Fills p->weights (its form one of the two) from w, [out_channels][in_channels][3][3]. */
void conv_winograd_pack(const conv_packed *p, const float *w);
/* As conv_rows. finite: all sums are; else some results are wrong, as what is not finite goes
 * through all of a tile. */
ctsc_status conv_winograd(diag *d, const conv_shape *s, const conv_packed *w, const float *in,
                          const float *bias, const conv_tail *tail, float *out, bool *finite);

/* Where the results of a tile go, and what is done to them on the way. */
typedef struct winograd_result {
    float *out; /* result (y, x) at out + y * row + x * column */
    int64_t row, column;
    int rows, columns;         /* those of the tile that exist */
    const float *bias, *other; /* a tile's channels; as out; NULL: none */
    bool clamp;
    float low, high;
} winograd_result;

/* pixel: all input pixels of a tile, n channels of each. Product p's elements go to to + p * apart,
 * n of them rounded up to whole vectors (zeros). */
typedef void winograd_input_fn(const float *const *pixel, int64_t n, float *to, int64_t apart);
/* The way back: products at from + p * apart, n channels. */
typedef bool winograd_output_fn(const float *from, int64_t apart, int64_t n,
                                const winograd_result *r);
typedef struct winograd_transforms {
    winograd_input_fn *input;
    winograd_output_fn *output;
} winograd_transforms;

/* The transforms of one instruction set. */
typedef struct winograd_kernels {
    const char *name;
    bool (*usable)(void);
    int lanes;
    winograd_transforms of_4, of_2; /* tiles of 4 x 4 and of 2 x 2 results */
} winograd_kernels;

#if defined(__x86_64__)
extern const winograd_kernels winograd_avx2, winograd_avx512;
#endif

#endif
