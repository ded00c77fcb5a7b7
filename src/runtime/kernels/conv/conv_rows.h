/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv_rows.h - direct convolution of images whose channels come last: see conv_rows.c.
 * Tests: tests/unit/test_conv_last.c
 */
#ifndef CTSC_RUNTIME_KERNELS_CONV_CONV_ROWS_H
#define CTSC_RUNTIME_KERNELS_CONV_CONV_ROWS_H

#include "runtime/kernels/conv/conv_packed.h"
#include "runtime/kernels/engine/epilogue.h"

/* Is this method worth it? Where taps are very far apart, unfolding is less work. */
bool conv_rows_fits(const conv_shape *s);
/* scale: [batch, in_channels], what the input is multiplied by first, or NULL; bias: out_channels
 * elements, or NULL. Fails without memory, and where a limit came between. */
ctsc_status conv_rows(diag *d, const conv_shape *s, const conv_packed *w, const float *in,
                      const float *scale, const dense_epilogue *after, float *out);

#endif
