/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv_last_depthwise.h - channels-last depthwise convolutions of
 * float32, float16 and bfloat16: one input channel per output channel.
 *
 * Method: vectors over channels. A tile is seven (or four) output columns of one
 * vector of channels, with AVX-512 of two rows: its sums stay in registers, and
 * every input vector is loaded once and added, times its weights, to all the
 * outputs that use it. Taps outside the image are skipped, by a test of one bit
 * per input column. Tiles at the end of a row overlap outputs already computed,
 * and so does the last vector of channels: the same sums are stored twice.
 *
 * Kernels of other widths or strides than the tiles' are computed four columns at a time,
 * tap by tap; dilated ones as several convolutions of every n-th column. In each case a
 * result is the sum over the taps in order, beginning with the bias: the same bits for
 * all instruction sets, for which cpu/conv/depthwise_vector.c includes the template.
 *
 * Rows of 16-bit images are converted to floats once, when the first row of results reads
 * them, in a ring of as many rows as are used together; results become 16 bits row by row.
 * Tests: tests/unit/test_conv_last_depthwise.c
 */
#ifndef CTSC_RUNTIME_KERNELS_CONV_CONV_LAST_DEPTHWISE_H
#define CTSC_RUNTIME_KERNELS_CONV_CONV_LAST_DEPTHWISE_H

#include "cpu/ukernel.h"
#include "runtime/kernels/conv/conv.h"
#include "runtime/kernels/engine/epilogue.h"

/* Is s one, on a processor that there are kernels for? */
bool conv_last_depthwise_fits(const conv_shape *s);
/* weight: [channels, 1, kernel...]; packed: [kernel..., channels]. */
void conv_last_depthwise_pack(const conv_shape *s, const float *weight, float *packed);
/* in: [batch, spatial..., channels], out likewise, of dt; bias: one float per channel or NULL.
 * Fails where a limit came between, and, of 16 bits, without memory. */
ctsc_status conv_last_depthwise(diag *d, const conv_shape *s, dtype dt, const void *in,
                                const float *packed, const dense_epilogue *after, void *out);
/* Has the ring of rows a size that suits caches? */
bool conv_last_depthwise_fits_half(const conv_shape *s);

enum { DEPTHWISE_LAST_ROWS = 256 }; /* of a kernel, over all dims but the last */

/* conv_last_depthwise with kernels that this processor can
 * run and that need no more channels than there are. */
ctsc_status conv_last_depthwise_with(const depthwise_kernels *k, diag *d, const conv_shape *s,
                                     dtype dt, const void *in, const float *packed,
                                     const dense_epilogue *after, void *out);

#endif
