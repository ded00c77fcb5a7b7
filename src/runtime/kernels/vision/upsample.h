/* SPDX-License-Identifier: Apache-2.0 */
/*
 * upsample.h - what the files of resizing share: tables of positions and weights (upsample.c), sums
 * of bytes in whole numbers (upsample_bytes.c), and images whose channels come last
 * (upsample_last.c).
 */
#ifndef CTSC_RUNTIME_KERNELS_VISION_UPSAMPLE_H
#define CTSC_RUNTIME_KERNELS_VISION_UPSAMPLE_H

#include "runtime/kernels/engine/wide.h"

/* One dim: output o is the sum of weight[o * taps + k] * input[begin...]. */
typedef struct upsample_table {
    int64_t in, out;
    int taps;
    bool antialias;
    /* one tap: itself. PyTorch interpolates linearly with weights 1 and 0 then, which is the same
     * except for NaN and infinity; PyTorch 2, which introduced Lanczos' filter, skips the dim. */
    bool identity;
    int64_t *at;  /* taps per output */
    int *used;    /* antialias: how many of an output's taps count */
    void *weight; /* likewise, of the compute dtype; unused taps have weight 0 */
} upsample_table;

/* Resizes a uint8 image [N, C, H, W] by the tables of H and W, which are of double. *out:
 * contiguous, owned. */
ctsc_status upsample_bytes(op_ctx *cx, tensor *input, const upsample_table *rows,
                           const upsample_table *columns, tensor **out);

/* The checks that aten::upsample_bilinear2d.vec (linear) and
 * aten::upsample_nearest2d.vec do on their arguments, and their tables: of three
 * dims, the first unchanged. input: args[0] as [N, C, H, W], taken to be contiguous
 * whatever its strides. t is zero before, and to be freed in any case. */
ctsc_status upsample_tables_2d(op_ctx *cx, const tensor *input, bool linear, const value *args,
                               upsample_table t[3]);
void upsample_tables_free(upsample_table t[3]);

#endif
