/* SPDX-License-Identifier: Apache-2.0 */
/*
 * histogram.h - what histograms of one dim (histogram.c) and of several (histogramdd.c) share.
 */
#ifndef CTSC_RUNTIME_KERNELS_REDUCE_HISTOGRAM_H
#define CTSC_RUNTIME_KERNELS_REDUCE_HISTOGRAM_H

#include "runtime/kernels/engine/move.h"

/* Bins along one axis: their edges, contiguous, bins + 1 of them. */
typedef struct histogram_axis {
    dtype dt;
    int64_t bins;
    const char *edges;
    bool even; /* edges are equally spaced */
} histogram_axis;

static inline double histogram_at(dtype dt, const char *data, int64_t i) {
    return dtype_load_float(dt, data + (size_t)i * dtype_size(dt));
}
/* The bin whose edges enclose v, or -1. */
int64_t histogram_place(const histogram_axis *axis, double v);
/* Complains about bounds that are not finite or in the wrong order; separates equal ones. */
ctsc_status histogram_check_bounds(op_ctx *cx, int dim, double *least, double *most);
/* bins + 1 edges from least to most. */
ctsc_status histogram_edges(op_ctx *cx, dtype dt, double least, double most, int64_t bins,
                            tensor **out);
/* A tensor of edges as programs give it for a dim. */
ctsc_status histogram_check_edges(op_ctx *cx, const tensor *self, const tensor *edges, int dim);
/* Weights have the dtype of the values. */
ctsc_status histogram_check_weight_dtype(op_ctx *cx, const tensor *self, const tensor *weight);

#endif
