/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv_bf16.h - convolutions whose channels come last, with factors that are rounded to bfloat16
 * (matmul/quad_matrix.h), or are bfloat16: for --precision bf16, and archives of bfloat16.
 * Tests: tests/unit/test_precision.c
 */
#ifndef CTSC_RUNTIME_KERNELS_CONV_CONV_BF16_H
#define CTSC_RUNTIME_KERNELS_CONV_CONV_BF16_H

#include "runtime/kernels/conv/conv_packed.h"
#include "runtime/kernels/engine/epilogue.h"
#include "runtime/kernels/matmul/quad_matrix.h"

typedef struct conv_dtypes { dtype in, other, out; } conv_dtypes;
static inline conv_dtypes conv_dtypes_all(dtype dt) { return (conv_dtypes){dt, dt, dt}; }

/* Is it worth it, and can it be done here? Depends on weights and geometry, and on the input's
 * size where that is out of the ordinary. */
bool conv_bf16_fits(const conv_shape *s);
/* How the weights are laid out for these kernels; false: too many bytes. */
bool conv_bf16_layout(const conv_shape *s, const quad_kernels *u, quad_matrix *m, size_t *bytes);
/* Is that how `packed` is laid out? Dilated kernels have other segments than those that are not. */
bool conv_bf16_suits(const conv_shape *s, const quad_matrix *packed);
/* w, contiguous and as in conv_shape, to m->data, which begins as zeros; false if out of memory. */
bool conv_bf16_pack(const conv_shape *s, const quad_matrix *m, const float *w);
/* As conv_rows; dt: each float32 or bfloat16; scale: of an input of bfloat16 alone. Fails without
 * memory, and where a limit came between. */
ctsc_status conv_bf16(diag *d, const conv_shape *s, const conv_packed *w, conv_dtypes dt,
                      const void *in, const float *scale, const dense_epilogue *after, void *out);

#endif
