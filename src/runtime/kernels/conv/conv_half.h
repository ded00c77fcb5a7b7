/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv_half.h - convolutions of float16 and bfloat16 images whose channels come last, by the
 * kernels of float32: see conv_half.c.
 * Tests: tests/unit/test_conv_last.c
 */
#ifndef CTSC_RUNTIME_KERNELS_CONV_CONV_HALF_H
#define CTSC_RUNTIME_KERNELS_CONV_CONV_HALF_H

#include "runtime/kernels/conv/conv.h"
#include "runtime/kernels/engine/epilogue.h"

/* A convolution of floats, without an epilogue but bounds: of some images, or some rows of one. Its
 * weights, and channels, are those of all. */
typedef ctsc_status conv_of_floats(void *ctx, const conv_shape *s, const float *in, float *out);

/* Is all of an epilogue but the bias a bound, which `run` does as well? */
bool conv_half_bounds(const dense_epilogue *after);

/* What images are multiplied by: [batch, channels]; `image` pixels each. */
typedef struct half_scale {
    const float *scale;
    int64_t channels, image;
} half_scale;

/* in, out: n pixels of dt, float16 or bfloat16, starting at
 * pixel number `first` of the images; out = in * scale. */
void conv_half_scale(dtype dt, const half_scale *by, const void *in, int64_t first, int64_t n,
                     void *out);

/* in, out and after->other: elements of dt; scale: what in is multiplied by first, or NULL;
 * after->bias, and the sums of `run`, which adds it, are floats. Fails where `run` does, without
 * memory, and where a limit came between. */
ctsc_status conv_half(diag *d, const conv_shape *s, dtype dt, const void *in, const float *scale,
                      const dense_epilogue *after, void *out, conv_of_floats *run, void *ctx);

#endif
