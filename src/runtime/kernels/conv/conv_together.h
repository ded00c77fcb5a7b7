/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv_together.h - batches small images along the depth dimension.
 *
 *     [image][channel][place]  ->  [channel][image][place]
 *
 * A product per image with few columns is dominated by overhead. Concatenated, the
 * planes of a channel are one volume whose kernel does not extend in the first dim:
 * any code that computes convolutions of volumes then does all images at once.
 * Tests: tests/unit/test_conv.c
 */
#ifndef CTSC_RUNTIME_KERNELS_CONV_CONV_TOGETHER_H
#define CTSC_RUNTIME_KERNELS_CONV_CONV_TOGETHER_H

#include "runtime/kernels/conv/conv.h"

/* Are there several images, of one or two dims, and too small to be done one by one? */
bool conv_together_fits(const conv_shape *s);
/* Images that are done at a time. */
int64_t conv_together_images(const conv_shape *s);
/* s with `images` images as the depth of one. */
conv_shape conv_together_shape(const conv_shape *s, int64_t images);
/* Planes of n elements of `size` bytes: [images][channels] as [channels][images]. */
void conv_together_gather(const void *from, int64_t images, int64_t channels, int64_t n,
                          size_t size, void *to);

typedef ctsc_status conv_fn(diag *d, const conv_shape *s, dtype dt, const void *input,
                            const void *weight, const void *bias, void *out);
/* Does a convolution that fits by `compute`, some images at a time. */
ctsc_status conv_together(diag *d, const conv_shape *s, dtype dt, const void *input,
                          const void *weight, const void *bias, void *out, conv_fn *compute);

#endif
