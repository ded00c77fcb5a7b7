/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv_winograd.h - 3x3 convolutions of stride 1 with fewer multiplications: see
 * conv_winograd.c.
 * Tests: tests/unit/test_conv_last.c
 */
#ifndef CTSC_RUNTIME_KERNELS_CONV_CONV_WINOGRAD_H
#define CTSC_RUNTIME_KERNELS_CONV_CONV_WINOGRAD_H

#include "runtime/kernels/conv/conv_packed.h"
#include "runtime/kernels/engine/epilogue.h"

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
                          const dense_epilogue *after, float *out, bool *finite);

#endif
