/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.h - the geometry of pooling windows, shared by pool.c (fixed windows) and adaptive_pool.c.
 */
#ifndef CTSC_RUNTIME_KERNELS_POOL_POOL_H
#define CTSC_RUNTIME_KERNELS_POOL_POOL_H

#include "runtime/kernels/nn/nn.h"

/* A pooling over up to three dims, the missing ones in front being 1: planes = batch * channels. */
typedef struct pool_geometry {
    int64_t planes;
    int64_t in[3], out[3];
    int64_t kernel[3], stride[3], pad[3], dilation[3];
} pool_geometry;

/* Sizes of the result: those of input with the last n replaced by g->out's. */
static inline void pool_result_sizes(const tensor *input, int n, const pool_geometry *g,
                                     int64_t *sizes) {
    for (int i = 0; i < input->ndim; i++)
        sizes[i] = i < input->ndim - n ? input->sizes[i] : g->out[3 - (input->ndim - i)];
}
/* "Expected 2 to 3 dimensions, but got ...": what the 1-dim poolings ask of their input. */
ctsc_status pool_check_1d(op_ctx *cx, const tensor *input, const char *name);

#endif
