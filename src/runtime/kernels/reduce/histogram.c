/* SPDX-License-Identifier: Apache-2.0 */
/*
 * histogram.c - operators that count values into bins: bincount, histc, histogram. Those of several
 * dims: histogramdd.c.
 *
 * Tests: tests/unit/test_index.c
 */
#include "runtime/kernels/reduce/histogram.h"

#include <math.h>

/* ---- bincount, histc ------------------------------------------------------------------------- */

static ctsc_status histogram_count(op_ctx *cx, const tensor *at, const tensor *weights,
                                   int64_t bins, tensor **out) {
    const int64_t *bin = TENSOR_AT(at, int64_t);
    dtype dt = !weights ? DT_INT64 : weights->dtype == DT_FLOAT32 ? DT_FLOAT32 : DT_FLOAT64;
    tensor *typed, *flat;
    if (!weights) {
        TRY(tensor_zeros(cx->diag, dt, 1, &bins, out));
        int64_t *counts = TENSOR_AT(*out, int64_t);
        for (int64_t i = 0, n = geometry_only() ? 0 : at->numel; i < n; i++) counts[bin[i]]++;
        return CTSC_OK;
    }
    TRY(tensor_to_dtype(cx->diag, (tensor *)weights, dt, &typed));
    ctsc_status status = tensor_contiguous(cx->diag, typed, &flat);
    tensor_unref(typed);
    if (status) return status;
    status = tensor_zeros(cx->diag, dt, 1, &bins, out);
    if (!status)
        move_kernel_for(MOVE_ADD, dt)
            .scatter(at->numel, tensor_data(*out), 0, (const char *)bin, sizeof *bin,
                     (int64_t)dtype_size(dt), tensor_data(flat), (int64_t)dtype_size(dt));
    tensor_unref(flat);
    return status;
}

static void histogram_ends(const int64_t *x, int64_t n, int64_t *least, int64_t *most) {
    int64_t low = x[0], high = x[0];
    for (int64_t i = 1; i < n; i++) {
        low = x[i] < low ? x[i] : low;
        high = x[i] > high ? x[i] : high;
    }
    *least = low;
    *most = high;
}

ctsc_status op_bincount(op_ctx *cx, const value *args, value *results) {
    tensor *self = arg_tensor(&args[0]), *weights = arg_tensor_or_null(&args[1]), *at, *out;
    int64_t bins = arg_int(&args[2]);
    if (!dtype_is_int((dtype)self->dtype))
        return op_refuse_dtype(cx, "bincount_cpu", (dtype)self->dtype);
    if (bins < 0) return diag_fail(cx->diag, CTSC_FAILED, "minlength should be >= 0");
    if (self->ndim == 1 && self->numel == 0) {
        TRY(tensor_zeros(cx->diag, DT_INT64, 1, &bins, &out));
        return op_finish(cx, args, out, results);
    }
    TRY(move_index_int64(cx, self, &at));
    bool fine = self->ndim == 1;
    if (fine && at->numel) {
        int64_t least, most;
        histogram_ends(TENSOR_AT(at, int64_t), at->numel, &least, &most);
        fine = least >= 0 && most < INT64_MAX;
        if (fine && most >= bins) bins = most + 1;
    }
    ctsc_status status = CTSC_OK;
    if (!fine)
        status = diag_fail(cx->diag, CTSC_FAILED,
                           "bincount only supports 1-d non-negative integral inputs.");
    else if (weights && (weights->ndim != 1 || weights->sizes[0] != self->sizes[0]))
        status = diag_fail(cx->diag, CTSC_FAILED,
                           "weights should be 1-d and have the same length as input");
    if (!status) status = histogram_count(cx, at, weights, bins, &out);
    tensor_unref(at);
    return status ? status : op_finish(cx, args, out, results);
}

/* The bin of v, or -1; each step in the arithmetic of the tensor's dtype, as PyTorch computes it.
 * NaN is in none. */
static int64_t histogram_bin(double v, double least, double most, int64_t bins, dtype dt) {
    if (!(v >= least && v <= most)) return -1;
    double at;
    if (dt == DT_FLOAT64) at = (v - least) * (double)bins / (most - least);
    else if (dt == DT_FLOAT32)
        at = (float)((float)((float)v - (float)least) * (float)bins) /
             (float)((float)most - (float)least);
    else
        at = dtype_round(
            dt, dtype_round(dt, dtype_round(dt, v - least) * dtype_round(dt, (double)bins)) /
                    dtype_round(dt, most - least));
    int64_t bin = at >= 0 && at < 0x1p62 ? (int64_t)at : 0;
    return bin >= bins ? bins - 1 : bin;
}

/* The least and greatest of a contiguous tensor; NaN if there is one. */
static void histogram_bounds(const tensor *flat, double *least, double *most) {
    dtype dt = (dtype)flat->dtype;
    const char *data = tensor_data(flat);
    if (geometry_only()) {
        *least = 0, *most = 1;
        return;
    }
    *least = INFINITY;
    *most = -INFINITY;
    for (int64_t i = 0; !geometry_only() && i < flat->numel; i++) {
        double v = dtype_load_float(dt, data + (size_t)i * dtype_size(dt));
        if (v != v) *least = *most = v;
        if (v < *least) *least = v;
        if (v > *most) *most = v;
    }
}

/* The bounds: as given or, when equal, those of the data. */
static ctsc_status histogram_range(op_ctx *cx, const tensor *flat, const value *args, double *least,
                                   double *most) {
    *least = arg_float(&args[2]);
    *most = arg_float(&args[3]);
    dtype dt = (dtype)flat->dtype;
    *least = dtype_round(dt, *least);
    *most = dtype_round(dt, *most);
    if (*least > *most)
        return diag_fail(cx->diag, CTSC_FAILED, "torch.histc: max must be larger than min");
    if (*least == *most && flat->numel > 0) histogram_bounds(flat, least, most);
    if (*least == *most) {
        *least -= 1;
        *most += 1;
    }
    if (isfinite(*least) && isfinite(*most)) return CTSC_OK;
    return diag_fail(cx->diag, CTSC_FAILED, "torch.histc: range of [%g, %g] is not finite", *least,
                     *most);
}

ctsc_status op_histc(op_ctx *cx, const value *args, value *results) {
    tensor *self = arg_tensor(&args[0]), *flat, *counts = NULL, *out = NULL;
    dtype dt = (dtype)self->dtype;
    int64_t bins = arg_int(&args[1]);
    double least, most;
    if (!dtype_is_float(dt)) return op_refuse_dtype(cx, "histogram_cpu", dt);
    if (bins <= 0)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "torch.histogram(): bins must be > 0, but got %" PRId64 " for dimension 0",
                         bins);
    TRY(tensor_contiguous(cx->diag, self, &flat));
    ctsc_status status = histogram_range(cx, flat, args, &least, &most);
    if (!status) status = tensor_zeros(cx->diag, DT_INT64, 1, &bins, &counts);
    if (!status) {
        const char *data = tensor_data(flat);
        for (int64_t i = 0; !geometry_only() && i < flat->numel; i++) {
            double v = dtype_load_float(dt, data + (size_t)i * dtype_size(dt));
            int64_t bin = histogram_bin(v, least, most, bins, dt);
            if (bin >= 0) TENSOR_AT(counts, int64_t)[bin]++;
        }
        status = tensor_to_dtype(cx->diag, counts, dt, &out);
    }
    tensor_unref(flat);
    tensor_unref(counts);
    return status ? status : op_finish(cx, args, out, results);
}

/* ---- histogram ------------------------------------------------------------------------------- */

/* What histogram adds up: values, contiguous, and their weights (NULL: 1 each), into bins between
 * edges. */
typedef struct histogram_job {
    histogram_axis axis;
    int64_t n;
    const char *values, *weights;
} histogram_job;

/* Between even edges a computed place is corrected by one, for what rounding did to it. */
int64_t histogram_place(const histogram_axis *axis, double v) {
    double least = histogram_at(axis->dt, axis->edges, 0),
           most = histogram_at(axis->dt, axis->edges, axis->bins);
    if (v < least || v > most) return -1;
    int64_t low = 0, high = axis->bins + 1; /* the first edge greater than v is in [low, high] */
    if (axis->even) {
        int64_t near = histogram_bin(v, least, most, axis->bins, axis->dt);
        low = near > 0 ? near - 1 : 0;
        high = near + 2 < high ? near + 2 : high;
    }
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (histogram_at(axis->dt, axis->edges, middle) > v) high = middle;
        else low = middle + 1;
    }
    return low > axis->bins ? axis->bins - 1 : low > 0 ? low - 1 : 0;
}

/* The counts, in the dtype of the values; or, as a density, divided so that they integrate to 1. */
static void histogram_fill(const histogram_job *job, bool density, char *out) {
    dtype dt = job->axis.dt;
    size_t item = dtype_size(dt);
    double total = 0;
    for (int64_t i = 0; !geometry_only() && i < job->n; i++) {
        int64_t bin = histogram_place(&job->axis, histogram_at(dt, job->values, i));
        if (bin < 0) continue;
        double w = job->weights ? histogram_at(dt, job->weights, i) : 1;
        dtype_store_float(dt, out + (size_t)bin * item, histogram_at(dt, out, bin) + w);
    }
    if (!density) return;
    for (int64_t i = 0; i < job->axis.bins; i++) total += histogram_at(dt, out, i);
    for (int64_t i = 0; i < job->axis.bins; i++) {
        double share = histogram_at(dt, out, i) / total;
        double width = histogram_at(dt, job->axis.edges, i + 1) -
                       histogram_at(dt, job->axis.edges, i);
        dtype_store_float(dt, out + (size_t)i * item, share / width);
    }
}

static const char *histogram_ctype(dtype dt) { /* as PyTorch prints a tensor's dtype here */
    switch (dt) {
    case DT_UINT8: return "unsigned char";
    case DT_INT8: return "signed char";
    case DT_INT16: return "short int";
    case DT_INT32: return "int";
    case DT_INT64: return "long int";
    case DT_FLOAT32: return "float";
    case DT_FLOAT64: return "double";
    case DT_BOOL: return "bool";
    case DT_FLOAT16: return "c10::Half";
    case DT_BFLOAT16: return "c10::BFloat16";
    default: return dtype_table[dt].ir_name;
    }
}

ctsc_status histogram_check_weight_dtype(op_ctx *cx, const tensor *self, const tensor *weight) {
    if (weight->dtype == self->dtype) return CTSC_OK;
    return diag_fail(cx->diag, CTSC_FAILED,
                     "torch.histogramdd: if weight tensor is provided, input tensor and weight "
                     "tensor should have the same dtype, but got input(%s), and weight(%s)",
                     histogram_ctype((dtype)self->dtype), histogram_ctype((dtype)weight->dtype));
}

static ctsc_status histogram_check_weight(op_ctx *cx, const tensor *self, const tensor *weight) {
    if (!weight) return CTSC_OK;
    TRY(histogram_check_weight_dtype(cx, self, weight));
    if (weight->numel == self->numel) return CTSC_OK;
    strbuf sb = STRBUF_INIT;
    sb_printf(&sb, "[%" PRId64 ", 1] and weight with shape [%" PRId64 "]", self->numel,
              weight->numel);
    ctsc_status status = diag_fail(
        cx->diag, CTSC_FAILED,
        "torch.histogramdd: if weight tensor is provided it should have the same shape as "
        "the input tensor excluding its innermost dimension, but got input with shape %s",
        sb_str(&sb));
    sb_free(&sb);
    return status;
}

/* Counts self between edges, both contiguous. Takes edges. */
static ctsc_status histogram_finish(op_ctx *cx, const value *args, tensor *edges, bool even,
                                    tensor *weight, bool density, value *results) {
    tensor *self = arg_tensor(&args[0]), *flat = NULL, *weights = NULL, *counts = NULL;
    int64_t bins = edges->numel - 1;
    ctsc_status status = histogram_check_weight(cx, self, weight);
    if (!status && bins < 1)
        status = diag_fail(
            cx->diag, CTSC_FAILED,
            "torch.histogram(): bins must be > 0, but got %" PRId64 " for dimension 0", bins);
    if (!status) status = tensor_contiguous(cx->diag, self, &flat);
    if (!status && weight) status = tensor_contiguous(cx->diag, weight, &weights);
    if (!status) status = tensor_zeros(cx->diag, (dtype)self->dtype, 1, &bins, &counts);
    if (!status) {
        histogram_job job = {.axis = {(dtype)self->dtype, bins, tensor_data(edges), even},
                             .n = flat->numel,
                             .values = tensor_data(flat),
                             .weights = weights ? tensor_data(weights) : NULL};
        histogram_fill(&job, density, tensor_data(counts));
    }
    tensor_unref(flat);
    tensor_unref(weights);
    if (status) {
        tensor_unref(edges);
        return status;
    }
    tensor *out[] = {counts, edges};
    return move_finish_many(cx, args, 2, out, results);
}

ctsc_status histogram_check_bounds(op_ctx *cx, int dim, double *least, double *most) {
    if (!isfinite(*least) || !isfinite(*most))
        return diag_fail(cx->diag, CTSC_FAILED,
                         "torch.histogramdd: dimension %d's range [%g, %g] is not finite", dim,
                         *least, *most);
    if (*least > *most)
        return diag_fail(
            cx->diag, CTSC_FAILED,
            "torch.histogramdd: min should not exceed max, but got min %g max %g for dimension %d",
            *least, *most, dim);
    if (*least == *most) {
        *least -= 0.5;
        *most += 0.5;
    }
    return CTSC_OK;
}

ctsc_status histogram_edges(op_ctx *cx, dtype dt, double least, double most, int64_t bins,
                            tensor **out) {
    if (bins == INT64_MAX) return diag_no_memory(cx->diag); /* one edge more does not fit */
    const value line[] = {value_float(least), value_float(most), value_int(bins + 1),
                          value_int(dt)};
    value edges = value_none();
    TRY(op_call(cx, "aten::linspace", 4, line, &edges));
    *out = edges.u.tensor;
    return CTSC_OK;
}

ctsc_status histogram_check_edges(op_ctx *cx, const tensor *self, const tensor *edges, int dim) {
    if (edges->dtype != self->dtype)
        return diag_fail(
            cx->diag, CTSC_FAILED,
            "torch.histogramdd: input tensor and bins tensors should have the same "
            "dtype, but got input with dtype %s and bins for dimension %d with dtype %s",
            histogram_ctype((dtype)self->dtype), dim, histogram_ctype((dtype)edges->dtype));
    if (edges->ndim != 1)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "torch.histogramdd: bins tensor should have one dimension, but got %d "
                         "dimensions in the bins tensor for dimension %d",
                         edges->ndim, dim);
    if (edges->numel == 0)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "torch.histogramdd: bins tensor should have at least 1 element, but got 0 "
                         "elements in the bins tensor for dimension %d",
                         dim);
    return CTSC_OK;
}

/* histogram(self, bins, *, range, weight, density): evenly between the bounds. */
ctsc_status op_histogram(op_ctx *cx, const value *args, value *results) {
    tensor *self = arg_tensor(&args[0]), *flat;
    dtype dt = (dtype)self->dtype;
    int64_t bins = arg_int(&args[1]);
    double least = 0, most = 1;
    if (dt != DT_FLOAT32 && dt != DT_FLOAT64) return op_refuse_dtype(cx, "histogramdd", dt);
    if (bins <= 0)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "torch.histogram(): bins must be > 0, but got %" PRId64 " for dimension 0",
                         bins);
    if (args[2].tag == V_LIST) {
        const list *range = args[2].u.list;
        if (range->len != 2)
            return diag_fail(cx->diag, CTSC_FAILED,
                             "torch.histogramdd: for a 1-dimensional histogram range should have 2 "
                             "elements, but got %zu",
                             range->len);
        least = range->u.floats[0];
        most = range->u.floats[1];
    } else if (self->numel > 0) {
        TRY(tensor_contiguous(cx->diag, self, &flat));
        histogram_bounds(flat, &least, &most);
        tensor_unref(flat);
    }
    TRY(histogram_check_bounds(cx, 0, &least, &most));
    tensor *edges;
    TRY(histogram_edges(cx, dt, least, most, bins, &edges));
    return histogram_finish(cx, args, edges, true, arg_tensor_or_null(&args[3]), arg_bool(&args[4]),
                            results);
}

/* histogram(self, bins, *, weight, density): bins holds the edges. */
ctsc_status op_histogram_edges(op_ctx *cx, const value *args, value *results) {
    const tensor *self = arg_tensor(&args[0]), *bins = arg_tensor(&args[1]);
    dtype dt = (dtype)self->dtype;
    tensor *edges;
    TRY(histogram_check_edges(cx, self, bins, 0));
    if (dt != DT_FLOAT32 && dt != DT_FLOAT64) return op_refuse_dtype(cx, "histogram_cpu", dt);
    TRY(tensor_clone(cx->diag, bins, &edges));
    return histogram_finish(cx, args, edges, false, arg_tensor_or_null(&args[2]),
                            arg_bool(&args[3]), results);
}
