/* SPDX-License-Identifier: Apache-2.0 */
/*
 * histogramdd.c - histograms over several dims: the rows of a tensor are points, and each axis has
 * bins of its own.
 *
 * Tests: tests/unit/test_index.c
 */
#include "runtime/kernels/reduce/histogram.h"

#include <math.h>

/* The edges of all axes: from a range of two numbers per axis or, without one, from the least and
 * greatest coordinate. */
static ctsc_status histogramdd_bounds(op_ctx *cx, const tensor *points, const value *range,
                                      int axis, double *least, double *most) {
    dtype dt = (dtype)points->dtype;
    int64_t n = points->sizes[1], m = points->sizes[0];
    *least = 0, *most = 1;
    if (range->tag == V_LIST) {
        *least = range->u.list->u.floats[2 * axis];
        *most = range->u.list->u.floats[2 * axis + 1];
    } else if (m > 0) {
        *least = INFINITY, *most = -INFINITY;
        for (int64_t i = 0; i < m; i++) {
            double v = histogram_at(dt, tensor_data(points), i * n + axis);
            if (v != v) *least = *most = v;
            if (v < *least) *least = v;
            if (v > *most) *most = v;
        }
    }
    return histogram_check_bounds(cx, axis, least, most);
}

static ctsc_status histogramdd_edges(op_ctx *cx, const tensor *points, const value *counts,
                                     const value *range, list *out) {
    const int64_t *bins;
    int64_t n = points->sizes[1];
    if (arg_ints(counts, &bins) != n)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "histogramdd: The size of bins must be equal to the innermost dimension "
                         "of the input.");
    if (range->tag == V_LIST && (int64_t)range->u.list->len != 2 * n)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "torch.histogramdd: for a %lld-dimensional histogram range should have "
                         "%lld elements, but got %zu",
                         (long long)n, (long long)(2 * n), range->u.list->len);
    for (int i = 0; i < n; i++) {
        double least, most;
        tensor *edges;
        if (bins[i] <= 0)
            return diag_fail(cx->diag, CTSC_FAILED,
                             "torch.histogram(): bins must be > 0, but got %" PRId64
                             " for dimension %d",
                             bins[i], i);
        TRY(histogramdd_bounds(cx, points, range, i, &least, &most));
        TRY(histogram_edges(cx, (dtype)points->dtype, least, most, bins[i], &edges));
        TRY(move_list_add(cx, out, edges));
    }
    return CTSC_OK;
}

/* self as [points, coordinates], contiguous. */
static ctsc_status histogramdd_points(op_ctx *cx, tensor *self, tensor **out) {
    dtype dt = (dtype)self->dtype;
    if (self->ndim < 2)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "torch.histogramdd: input tensor should have at least 2 dimensions");
    if (dt != DT_FLOAT32 && dt != DT_FLOAT64) return op_refuse_dtype(cx, "histogram_cpu", dt);
    int64_t n = self->sizes[self->ndim - 1], m = 1;
    if (n < 1 || n > TENSOR_MAX_DIMS)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "torch.histogramdd: %lld-dimensional histograms are not supported",
                         (long long)n);
    for (int i = 0; i < self->ndim - 1; i++) m *= self->sizes[i];
    const int64_t sizes[] = {m, n};
    tensor *flat;
    TRY(tensor_contiguous(cx->diag, self, &flat));
    ctsc_status st = tensor_reshape(cx->diag, flat, 2, sizes, out);
    tensor_unref(flat);
    return st;
}

static ctsc_status histogramdd_check_weight(op_ctx *cx, const tensor *self, const tensor *weight) {
    bool same = weight->ndim == self->ndim - 1;
    TRY(histogram_check_weight_dtype(cx, self, weight));
    for (int i = 0; same && i < weight->ndim; i++) same = weight->sizes[i] == self->sizes[i];
    if (same) return CTSC_OK;
    strbuf have = STRBUF_INIT, given = STRBUF_INIT;
    tensor_print_sizes(self->ndim, self->sizes, &have);
    tensor_print_sizes(weight->ndim, weight->sizes, &given);
    ctsc_status st = diag_fail(
        cx->diag, CTSC_FAILED,
        "torch.histogramdd: if weight tensor is provided it should have the same shape as the "
        "input tensor excluding its "
        "innermost dimension, but got input with shape %s and weight with shape %s",
        sb_str(&have), sb_str(&given));
    sb_free(&have);
    sb_free(&given);
    return st;
}

/* Divides so that the histogram integrates to 1. */
static void histogramdd_density(const histogram_axis *axes, int n, tensor *counts) {
    dtype dt = (dtype)counts->dtype;
    char *data = tensor_data(counts);
    double total = 0;
    for (int64_t i = 0; i < counts->numel; i++) total += histogram_at(dt, data, i);
    for (int64_t i = 0; i < counts->numel; i++) {
        double share = histogram_at(dt, data, i) / total;
        int64_t rest = i;
        for (int d = n - 1; d >= 0; d--) {
            int64_t bin = rest % axes[d].bins;
            rest /= axes[d].bins;
            share /= histogram_at(dt, axes[d].edges, bin + 1) -
                     histogram_at(dt, axes[d].edges, bin);
        }
        dtype_store_float(dt, data + (size_t)i * dtype_size(dt), share);
    }
}

static void histogramdd_fill(const histogram_axis *axes, const tensor *points,
                             const tensor *weights, tensor *counts) {
    dtype dt = (dtype)points->dtype;
    int n = (int)points->sizes[1];
    char *out = tensor_data(counts);
    for (int64_t i = 0; i < points->sizes[0]; i++) {
        int64_t at = 0;
        for (int d = 0; at >= 0 && d < n; d++) {
            int64_t bin = histogram_place(&axes[d],
                                          histogram_at(dt, tensor_data(points), i * n + d));
            at = bin < 0 ? -1 : at * axes[d].bins + bin;
        }
        if (at < 0) continue;
        double w = weights ? histogram_at(dt, tensor_data(weights), i) : 1;
        dtype_store_float(dt, out + (size_t)at * dtype_size(dt), histogram_at(dt, out, at) + w);
    }
}

/* The counts of points between edges, a list of contiguous tensors. */
static ctsc_status histogramdd_count(op_ctx *cx, const value *args, const tensor *points,
                                     const list *edges, bool even, const value *weight,
                                     bool density, tensor **out) {
    histogram_axis axes[TENSOR_MAX_DIMS];
    int64_t sizes[TENSOR_MAX_DIMS];
    tensor *weights = NULL;
    int n = (int)points->sizes[1];
    dtype dt = (dtype)points->dtype;
    for (int i = 0; i < n; i++) {
        const tensor *e = edges->u.tensors[i];
        sizes[i] = e->numel - 1;
        axes[i] = (histogram_axis){dt, sizes[i], tensor_data(e), even};
        if (sizes[i] < 1)
            return diag_fail(cx->diag, CTSC_FAILED,
                             "torch.histogram(): bins must be > 0, but got %" PRId64
                             " for dimension %d",
                             sizes[i], i);
    }
    if (weight->tag == V_TENSOR) {
        TRY(histogramdd_check_weight(cx, arg_tensor(&args[0]), arg_tensor(weight)));
        TRY(tensor_contiguous(cx->diag, arg_tensor(weight), &weights));
    }
    ctsc_status st = tensor_zeros(cx->diag, dt, n, sizes, out);
    if (!st) histogramdd_fill(axes, points, weights, *out);
    if (!st && density) histogramdd_density(axes, n, *out);
    tensor_unref(weights);
    return st;
}

/* Copies of a Tensor[] of edges, checked and contiguous. */
static ctsc_status histogramdd_given(op_ctx *cx, const tensor *points, const value *bins,
                                     list *out) {
    const list *given = bins->u.list;
    long long n = points->sizes[1];
    if ((int64_t)given->len != n)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "torch.histogramdd: expected %lld sequences of bin edges for a "
                         "%lld-dimensional histogram but got %zu",
                         n, n, given->len);
    for (int i = 0; i < n; i++) {
        tensor *edges = arg_list_tensor(bins, (size_t)i), *flat;
        TRY(histogram_check_edges(cx, points, edges, i));
        TRY(tensor_contiguous(cx->diag, edges, &flat));
        TRY(move_list_add(cx, out, flat));
    }
    return CTSC_OK;
}

enum { HISTOGRAMDD_COUNTS = 1, HISTOGRAMDD_EDGES = 2 };

/* bins: numbers, or tensors of edges. wanted: which of the two results. */
static ctsc_status histogramdd_run(op_ctx *cx, const value *args, const value *bins,
                                   const value *range, const value *weight, bool density,
                                   int wanted, value *results) {
    tensor *points, *counts = NULL;
    list *edges = NULL;
    bool given = bins->u.list->kind == LIST_TENSOR;
    TRY(histogramdd_points(cx, arg_tensor(&args[0]), &points));
    ctsc_status st = move_list_new(cx, bins->u.list->len, &edges);
    if (!st)
        st = given ? histogramdd_given(cx, points, bins, edges)
                   : histogramdd_edges(cx, points, bins, range, edges);
    if (!st && (wanted & HISTOGRAMDD_COUNTS))
        st = histogramdd_count(cx, args, points, edges, !given, weight, density, &counts);
    tensor_unref(points);
    if (st) {
        if (edges) value_unref(value_list_take(edges));
        return st;
    }
    if (counts) *results++ = value_tensor_take(counts);
    if (wanted & HISTOGRAMDD_EDGES) *results = value_list_take(edges);
    else value_unref(value_list_take(edges));
    return CTSC_OK;
}

/* (self, bins, range, weight, density) -> (hist, bin_edges) */
ctsc_status op_histogramdd(op_ctx *cx, const value *args, value *results) {
    return histogramdd_run(cx, args, &args[1], &args[2], &args[3], arg_bool(&args[4]),
                           HISTOGRAMDD_COUNTS | HISTOGRAMDD_EDGES, results);
}
ctsc_status op_histogramdd_bin_edges(op_ctx *cx, const value *args, value *results) {
    return histogramdd_run(cx, args, &args[1], &args[2], &args[3], false, HISTOGRAMDD_EDGES,
                           results);
}
ctsc_status op_histogramdd_from_cts(op_ctx *cx, const value *args, value *results) {
    return histogramdd_run(cx, args, &args[1], &args[2], &args[3], arg_bool(&args[4]),
                           HISTOGRAMDD_COUNTS, results);
}
/* (self, bins, weight, density) */
ctsc_status op_histogramdd_from_tensors(op_ctx *cx, const value *args, value *results) {
    const value none = value_none();
    return histogramdd_run(cx, args, &args[1], &none, &args[2], arg_bool(&args[3]),
                           HISTOGRAMDD_COUNTS, results);
}
/* the same number of bins along each axis */
ctsc_status op_histogramdd_int(op_ctx *cx, const value *args, value *results) {
    const tensor *self = arg_tensor(&args[0]);
    int64_t n = self->ndim ? self->sizes[self->ndim - 1] : 0, counts[TENSOR_MAX_DIMS];
    value bins;
    if (n > TENSOR_MAX_DIMS) n = TENSOR_MAX_DIMS;
    for (int64_t i = 0; i < n; i++) counts[i] = arg_int(&args[1]);
    TRY(move_return_ints(cx, (int)n, counts, &bins));
    ctsc_status st = histogramdd_run(cx, args, &bins, &args[2], &args[3], arg_bool(&args[4]),
                                     HISTOGRAMDD_COUNTS | HISTOGRAMDD_EDGES, results);
    value_unref(bins);
    return st;
}
