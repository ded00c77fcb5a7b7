/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv_last_depthwise.h - depthwise convolutions of float32 images whose channels come last: one
 * input channel per output channel.
 *
 * Method: vectors over channels. A tile is seven (or four) output columns of one vector of
 * channels, with AVX-512 of two rows: its sums stay in registers, and every input vector is loaded
 * once and added, times its weights, to all the outputs that it is a part of. Taps outside the
 * image are left out, by a look at a bit per input column. Tiles that do not fit the row's end are
 * moved back over outputs that are there already, and the last vector of channels likewise: the
 * same sums are stored twice.
 *
 * Kernels of a width or stride that there are no tiles for are done four columns at a time, tap by
 * tap; dilated ones as several convolutions of every n-th column. In each case a result is the sum
 * over the taps in their order, beginning with the bias: the same bits for all instruction sets,
 * which conv_last_depthwise_vector.c includes the template for, conv_last_depthwise_tile.h.
 * Tests: tests/unit/test_conv_last_depthwise.c
 */
#ifndef CTSC_RUNTIME_KERNELS_CONV_CONV_LAST_DEPTHWISE_H
#define CTSC_RUNTIME_KERNELS_CONV_CONV_LAST_DEPTHWISE_H

#include "runtime/kernels/conv/conv.h"
#include "runtime/kernels/conv/conv_tail.h"

/* Is s one, on a processor that there are kernels for? */
bool conv_last_depthwise_fits(const conv_shape *s);
/* weight: [channels, 1, kernel...]; packed: [kernel..., channels]. */
void conv_last_depthwise_pack(const conv_shape *s, const float *weight, float *packed);
/* in: [batch, spatial..., channels], out likewise, bias: one per channel or NULL. Fails where a
 * limit came between. */
ctsc_status conv_last_depthwise(diag *d, const conv_shape *s, const float *in, const float *packed,
                                const float *bias, const conv_tail *tail, float *out);

/* ---- what the kernels work on ---------------------------------------------------------------- */

enum { DEPTHWISE_LAST_ROWS = 256 }; /* of a kernel, over all dims but the last */

/* One input row: where its column 0 is, and the weights of the first of those taps that it is
 * multiplied with for the first row of outputs, and for the second one; NULL: none. All at the
 * block's first channel. */
typedef struct depthwise_line {
    const float *in, *weight[2];
} depthwise_line;

/* One output row or two, if the kernels take two: columns [0, end), channels [0, channels) from
 * where the pointers are. */
typedef struct depthwise_span {
    const conv_shape *s;
    const depthwise_line *lines; /* in the order of the sum */
    int64_t nlines, end, channels;
    const float *bias; /* NULL: none */
    float *out[2];     /* where column 0's first channel goes; NULL: no such row */
    int64_t out_step;  /* elements between columns of out */
    float low, high;   /* bounds of what is stored */
} depthwise_span;

typedef struct depthwise_kernels {
    const char *name;
    bool (*usable)(void);
    int lanes, rows; /* channels that a span has at least, rows at most */
    void (*span)(const depthwise_span *p);
} depthwise_kernels;

#if defined(__x86_64__)
extern const depthwise_kernels depthwise_avx2, depthwise_avx512;
#endif
/* conv_last_depthwise with kernels that this processor can run and that want no more
 * channels than there are. */
ctsc_status conv_last_depthwise_with(const depthwise_kernels *k, diag *d, const conv_shape *s,
                                     const float *in, const float *packed, const float *bias,
                                     const conv_tail *tail, float *out);

#endif
