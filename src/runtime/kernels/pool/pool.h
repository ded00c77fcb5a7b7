/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.h - the geometry of pooling windows, shared by pool.c (fixed windows), adaptive_pool.c, and
 * pool_last.c (channels last).
 */
#ifndef CTSC_RUNTIME_KERNELS_POOL_POOL_H
#define CTSC_RUNTIME_KERNELS_POOL_POOL_H

#include "runtime/kernels/engine/wide.h"

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

/* The part of window o in dim i that is inside the
 * input: positions *begin + k * dilation, k < *count. */
static inline void pool_window(const pool_geometry *g, int i, int64_t o, int64_t *begin,
                               int64_t *count) {
    int64_t start = o * g->stride[i] - g->pad[i], d = g->dilation[i];
    int64_t skip = start < 0 ? (-start + d - 1) / d : 0;
    int64_t last = (g->in[i] - start + d - 1) / d; /* first k beyond the input */
    *begin = start + skip * d;
    *count = int64_max(int64_min(g->kernel[i], last) - skip, 0);
}

/* What the sum of window (od, oh, ow) is divided by; 0 where the window holds nothing. divisor:
 * what was asked for, or 0. */
static inline int64_t pool_divisor(const pool_geometry *g, int64_t divisor, bool count_padding,
                                   const int64_t o[3], int64_t inside) {
    if (inside == 0 || divisor) return inside ? divisor : 0;
    if (!count_padding) return inside;
    int64_t size = 1;
    for (int i = 0; i < 3; i++) {
        int64_t start = o[i] * g->stride[i] - g->pad[i];
        size *= int64_min(start + g->kernel[i], g->in[i] + g->pad[i]) - start;
    }
    return size;
}

/* o * in / out, rounded down after `round` was added, without overflow. in and out are sizes, o <=
 * out. */
static inline int64_t adaptive_scale(int64_t o, int64_t in, int64_t out, int64_t round) {
    if ((o | in | out) <= INT32_MAX) /* a fast division where it will do, that is always */
        return (int64_t)(((uint64_t)o * (uint64_t)in + (uint64_t)round) / (uint64_t)out);
    return (int64_t)(((unsigned __int128)o * (unsigned __int128)in + (unsigned __int128)round) /
                     (unsigned __int128)out);
}
/* Window o of an adaptive pooling in dim i: [*begin, *end). */
static inline void adaptive_window(const pool_geometry *g, int i, int64_t o, int64_t *begin,
                                   int64_t *end) {
    if (g->out[i] == 1) { /* without divisions */
        *begin = 0;
        *end = g->in[i];
        return;
    }
    *begin = adaptive_scale(o, g->in[i], g->out[i], 0);
    *end = adaptive_scale(o + 1, g->in[i], g->out[i], g->out[i] - 1);
}

/* The arguments of aten::max_pool2d and aten::avg_pool2d, checked, and what follows from them
 * (pool.c). *divisor: 0 for the window's size. */
ctsc_status pool_check_max2d(op_ctx *cx, const value *args, pool_geometry *g);
ctsc_status pool_check_avg2d(op_ctx *cx, const value *args, pool_geometry *g, int64_t *divisor);
/* "Expected 2 to 3 dimensions, but got ...": what the 1-dim poolings ask of their input. */
ctsc_status pool_check_1d(op_ctx *cx, const tensor *input, const char *name);

#endif
