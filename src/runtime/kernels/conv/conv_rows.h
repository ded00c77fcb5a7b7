/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv_rows.h - direct convolution of images whose channels come last: see conv_rows.c.
 * Tests: tests/unit/test_conv_last.c
 */
#ifndef CTSC_RUNTIME_KERNELS_CONV_CONV_ROWS_H
#define CTSC_RUNTIME_KERNELS_CONV_CONV_ROWS_H

#include "runtime/kernels/conv/conv_packed.h"
#include "runtime/kernels/engine/dense_params.h"

/* What becomes of the sums: activation(sum + bias + other). */
typedef struct conv_ends {
    const float *bias, *other; /* out_channels elements, NULL: none; as the result, NULL: none */
    enum dense_activation activation;
} conv_ends;

/* Fails without memory, and where a limit came between. */
ctsc_status conv_rows(diag *d, const conv_shape *s, const conv_packed *w, const float *in, const conv_ends *ends, float *out);

#endif
