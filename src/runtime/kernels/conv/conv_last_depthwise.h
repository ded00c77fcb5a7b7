/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv_last_depthwise.h - depthwise convolutions of images whose channels come last, of float32,
 * float16 and bfloat16: one input channel per output channel.
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
 * which cpu/conv/depthwise_vector.c includes the template for.
 *
 * Of images of 16 bits each row becomes floats once, when the first row of results sees it, in a
 * ring of as many rows as those computed together see; results become 16 bits row by row.
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

/* conv_last_depthwise with kernels that this processor can run and that want no more
 * channels than there are. */
ctsc_status conv_last_depthwise_with(const depthwise_kernels *k, diag *d, const conv_shape *s,
                                     dtype dt, const void *in, const float *packed,
                                     const dense_epilogue *after, void *out);

#endif
