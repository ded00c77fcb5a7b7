/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv_last.h - channels-last convolutions (engine/channels_last.h) of float32,
 * float16 and bfloat16, with constant weights that are packed for them.
 *
 *     conv_last.c            selects one of these:
 *     conv_rows.c            implicit GEMM: rows of pixels times packed weights, tap by tap
 *     conv_winograd.c        3x3 kernels of stride 1 on tiles, with fewer multiplications
 *     conv_last_depthwise.c  one input channel per output channel
 *     conv_tune.c            measures whether implicit GEMM or Winograd is faster, where the program asks for it
 *     conv_half.c            computes 16-bit images part by part as floats
 *     conv_packed.h          the packed forms of the weights
 *
 * Each result is a sum in an order that depends only on the convolution's
 * shape (and on the measurement for it), so that threads do not change it.
 * Tests: tests/unit/test_conv_last.c
 */
#ifndef CTSC_RUNTIME_KERNELS_CONV_CONV_LAST_H
#define CTSC_RUNTIME_KERNELS_CONV_CONV_LAST_H

#include "runtime/kernels/conv/conv.h"
#include "runtime/kernels/engine/epilogue.h"

/* x (as in below) times scale [batch, in_channels], to out; both of dt. */
void conv_last_scale(const conv_shape *s, dtype dt, const void *x, const float *scale, void *out);
/* Does conv_last_compute take a scale of s' input, which is of dt? */
bool conv_last_takes_scale(const conv_shape *s, dtype dt);
/* Is s one of the convolutions that conv_last_compute does with factors of bfloat16 (conv_bf16.h),
 * where these may be? Its input, result and what it adds may then differ: float32 or bfloat16. */
bool conv_last_mixes(const conv_shape *s);
/* in: [batch, spatial..., in_channels], t: [batch, spatial..., out_channels], both contiguous, or t
 * in a place of its own (channels_place.h), if e adds nothing; weight as in conv_shape, of in's and
 * t's dtype, unless conv_last_mixes, times factors (conv_packed.h; may be NULL), bias of
 * out_channels contiguous floats or NULL. Does e (may be NULL) where it can, and says so in
 * e->done. scale: what in is multiplied by first, rounded to its dtype, or NULL; bf16: factors of
 * floats may be rounded (conv_bf16.h), where there is no scale. *done:
 * there was a kernel for it. Fails without memory, and where a limit came between. */
ctsc_status conv_last_compute(diag *d, const conv_shape *s, const tensor *in, const float *scale,
                              const tensor *weight, const tensor *factors, const tensor *bias,
                              epilogue *e, bool bf16, tensor *t, bool *done);

#endif
