/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantized_pool.c - poolings and means of quantised tensors: of the integers, with the input's
 * scale and zero point.
 *
 * Method. Windows are boxes of up to three dims; the tensor is seen channels last, so that the
 * innermost loop runs over channels. An average is the sum less the zero points, times one over the
 * count in float, rounded to nearest even.
 * Tests: tests/unit/test_quantized.c, tests/corpus/quantized
 */
#include "base/minmax.h"
#include "runtime/kernels/quantised/quantized.h"

#include <string.h>

#define OPERATOR(name)                                                                             \
    ctsc_status op_##name(op_ctx *cx, const value *args, value *results);                          \
    ctsc_status op_##name(op_ctx *cx, const value *args, value *results)

/* Missing dims in front are 1. */
typedef struct qpool {
    const tensor *x; /* channels last */
    tensor *out;     /* the same */
    int64_t batch, channels, in[3], place[3];
    int64_t kernel[3], stride[3], pad[3], dilation[3];
    bool average, adaptive, count_pad;
    int64_t divisor; /* 0: the number of elements */
    /* the zero point is added before rounding: which of PyTorch's kernels it is
     * that does this call */
    bool inside;
    quantiser *to; /* an average's; NULL: x's */
} qpool;

/* Of a place: positions from[d], from[d] + dilation[d], ... of each dim, `count` of them; part:
 * what the dim has in the number that an average divides by. */
typedef struct qpool_window { int64_t from[3], count[3], part[3], counted; } qpool_window;

static void qpool_window_dim(const qpool *p, int d, int64_t at, qpool_window *w) {
    int64_t in = p->in[d], dilation = p->dilation[d];
    if (p->adaptive) {
        w->from[d] = at * in / p->place[d];
        w->part[d] = w->count[d] = ((at + 1) * in + p->place[d] - 1) / p->place[d] - w->from[d];
        return;
    }
    int64_t first = at * p->stride[d] - p->pad[d], last = first + (p->kernel[d] - 1) * dilation + 1,
            to = int64_min(last, in), padded = int64_min(last, in + p->pad[d]),
            before = int64_max(0, -first);
    if (dilation > 1) before = (before + dilation - 1) / dilation * dilation;
    w->from[d] = first + before;
    w->count[d] = int64_max(0, to - w->from[d]);
    w->part[d] = p->count_pad ? padded - first : w->count[d];
    if (dilation > 1) w->count[d] = (w->count[d] + dilation - 1) / dilation;
}

enum { QPOOL_CHANNELS = 128, QPOOL_LANES = 64 };

#define T uint8_t
#define NAME(x) qpool_unsigned_##x
#include "runtime/kernels/quantised/quantized_pool_loops.h"

#define T int8_t
#define NAME(x) qpool_signed_##x
#include "runtime/kernels/quantised/quantized_pool_loops.h"

#define T int32_t
#define NAME(x) qpool_wide_##x
#include "runtime/kernels/quantised/quantized_pool_loops.h"

static void qpool_places(void *ctx, int64_t begin, int64_t end) {
    const qpool *p = ctx;
    qpool_window w;
    int64_t at[3], rest = begin, first = 0; /* dims whose place is another one */
    for (int d = 2; d >= 0; d--) {
        at[d] = rest % p->place[d];
        rest /= p->place[d];
    }
    for (int64_t k = begin; k < end; k++) {
        for (int d = (int)first; d < 3; d++) qpool_window_dim(p, d, at[d], &w);
        w.counted = p->divisor ? p->divisor : w.part[0] * w.part[1] * w.part[2];
        if (p->x->dtype == DT_QUINT8)
            qpool_unsigned_place(p, rest, &w, TENSOR_AT(p->out, uint8_t) + k * p->channels);
        else if (p->x->dtype == DT_QINT8)
            qpool_signed_place(p, rest, &w, TENSOR_AT(p->out, int8_t) + k * p->channels);
        else qpool_wide_place(p, rest, &w, TENSOR_AT(p->out, int32_t) + k * p->channels);
        for (first = 2; first >= 0 && ++at[first] == p->place[first]; first--) at[first] = 0;
        if (first < 0) first = 0, rest++;
    }
}

/* x: the tensor as given, [batch,] channels, dims places. p has everything but
 * sizes and tensors. */
static ctsc_status qpool_run(op_ctx *cx, tensor *x, int dims, qpool *p, value *results) {
    tensor *full = NULL, *last = NULL, *out = NULL, *flat = NULL;
    bool batched = x->ndim == dims + 2,
         ordered = x->ndim >= 4 && quant_channels_last(x) && !tensor_is_contiguous(x);
    int64_t sizes[5];
    ctsc_status st = CTSC_OK;
    if (batched) full = tensor_ref(x);
    else TRY_OUT(tensor_unsqueeze(cx->diag, x, 0, &full));
    if (dims == 1) { /* channels last is a matter of four dims and more */
        tensor *wide;
        TRY_OUT(tensor_unsqueeze(cx->diag, full, 2, &wide));
        tensor_unref(full);
        full = wide;
        dims = 2;
    }
    TRY_OUT(quant_to_channels_last(cx, full, &last));
    p->batch = sizes[0] = full->sizes[0];
    p->channels = sizes[1] = full->sizes[1];
    int64_t work = 1;
    for (int d = 0; d < 3; d++) {
        int k = d - (3 - dims);
        p->in[d] = k < 0 ? 1 : full->sizes[2 + k];
        if (k >= 0) sizes[2 + k] = p->place[d];
        work *= p->adaptive ? p->in[d] / int64_max(1, p->place[d]) + 1 : p->kernel[d];
    }
    TRY_OUT(tensor_new_quantised(cx->diag, (dtype)x->dtype, dims + 2, sizes,
                                 p->to ? p->to : x->quantiser, &out));
    quant_last_strides(dims + 2, sizes, out->strides);
    p->x = last;
    p->out = out;
    p->inside &= !ordered;
    if (out->numel)
        pool_for(p->batch * p->place[0] * p->place[1] * p->place[2],
                 kernel_grain(work * p->channels), qpool_places, p);
    if (!ordered) TRY_OUT(tensor_contiguous(cx->diag, out, &flat));
    else flat = tensor_ref(out);
    if (x->ndim < 4) { /* the dims that were added go again */
        tensor *thin;
        if (x->ndim == 2 || (x->ndim == 3 && batched)) {
            TRY_OUT(tensor_squeeze_dim(cx->diag, flat, 2, &thin));
            tensor_unref(flat);
            flat = thin;
        }
        if (!batched) {
            TRY_OUT(tensor_squeeze_dim(cx->diag, flat, 0, &thin));
            tensor_unref(flat);
            flat = thin;
        }
    } else if (!batched) {
        tensor *thin;
        TRY_OUT(tensor_squeeze_dim(cx->diag, flat, 0, &thin));
        tensor_unref(flat);
        flat = thin;
    }
    results[0] = value_tensor_take(flat);
    flat = NULL;
out:
    tensor_unref(full);
    tensor_unref(last);
    tensor_unref(out);
    tensor_unref(flat);
    return st;
}

/* ---- arguments ------------------------------------------------------------------------------- */

/* dims numbers, or one for all; an empty list: those of other. */
static ctsc_status qpool_numbers(op_ctx *cx, const value *v, int dims, const int64_t *other,
                                 int64_t least, int64_t *out) {
    const int64_t *data = NULL;
    int n = arg_ints(v, &data);
    if (n != dims && n != 1 && !(n == 0 && other))
        return kernel_fail(cx, "%s: expected %d numbers, got %d", cx->op->key, dims, n);
    for (int d = 0; d < 3; d++) {
        int k = d - (3 - dims);
        out[d] = k < 0 ? least : n == 0 ? other[d] : data[n == 1 ? 0 : k];
        if (out[d] < least || out[d] > INT32_MAX)
            return kernel_fail(cx, "%s: stride, padding, dilation or kernel size out of range",
                               cx->op->key);
    }
    return CTSC_OK;
}

static ctsc_status qpool_check(op_ctx *cx, const tensor *x, int dims) {
    TRY(quant_need_affine(cx, x, cx->op->key));
    if (x->ndim != dims + 1 && x->ndim != dims + 2)
        return kernel_fail(cx, "%s: Expected input tensor to have %d or %d dimensions, got %d",
                           cx->op->key, dims + 1, dims + 2, x->ndim);
    for (int i = x->ndim - dims - 1; i < x->ndim; i++)
        if (x->sizes[i] < 1 || x->sizes[i] > INT32_MAX)
            return kernel_fail(cx, "%s: Expected input to have non-empty dimensions", cx->op->key);
    return CTSC_OK;
}

static ctsc_status qpool_places_of(op_ctx *cx, const tensor *x, int dims, bool ceil_mode,
                                   qpool *p) {
    for (int d = 0; d < 3; d++) {
        int k = d - (3 - dims);
        int64_t in = k < 0 ? 1 : x->sizes[x->ndim - dims + k],
                room = in + 2 * p->pad[d] - p->dilation[d] * (p->kernel[d] - 1) - 1;
        if (p->pad[d] * 2 > p->kernel[d])
            return kernel_fail(
                cx,
                "pad should be at most half of kernel size, but got pad=%lld and kernel_size=%lld",
                (long long)p->pad[d], (long long)p->kernel[d]);
        if (k < 0) {
            p->place[d] = 1;
            continue;
        }
        int64_t up = ceil_mode ? p->stride[d] - 1 : 0;
        p->place[d] = room + up < 0 ? 0 : (room + up) / p->stride[d] + 1;
        if (ceil_mode && (p->place[d] - 1) * p->stride[d] >= in + p->pad[d]) p->place[d]--;
        if (p->place[d] < 1) return kernel_fail(cx, "%s: Output size is too small", cx->op->key);
    }
    return CTSC_OK;
}

/* max_pool(self, kernel_size, stride, padding, dilation, ceil_mode) */
static ctsc_status qpool_max(op_ctx *cx, const value *args, int dims, value *results) {
    qpool p = {.average = false};
    tensor *x = args[0].u.tensor;
    TRY(qpool_check(cx, x, dims));
    TRY(qpool_numbers(cx, &args[1], dims, NULL, 1, p.kernel));
    TRY(qpool_numbers(cx, &args[2], dims, p.kernel, 1, p.stride));
    TRY(qpool_numbers(cx, &args[3], dims, NULL, 0, p.pad));
    TRY(qpool_numbers(cx, &args[4], dims, NULL, 1, p.dilation));
    TRY(qpool_places_of(cx, x, dims, arg_bool(&args[5]), &p));
    return qpool_run(cx, x, dims, &p, results);
}

/* avg_pool(self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override) */
static ctsc_status qpool_average(op_ctx *cx, const value *args, int dims, quantiser *to,
                                 value *results) {
    qpool p = {.average = true, .dilation = {1, 1, 1}, .to = to};
    tensor *x = args[0].u.tensor;
    TRY(qpool_check(cx, x, dims));
    TRY(qpool_numbers(cx, &args[1], dims, NULL, 1, p.kernel));
    TRY(qpool_numbers(cx, &args[2], dims, p.kernel, 1, p.stride));
    TRY(qpool_numbers(cx, &args[3], dims, NULL, 0, p.pad));
    p.count_pad = arg_bool(&args[5]);
    if (dims > 1 && !arg_is_none(&args[6])) {
        p.divisor = arg_int(&args[6]);
        if (!p.divisor) return kernel_fail(cx, "divisor must be not zero");
    }
    p.inside = dims != 3 && (x->dtype != DT_QUINT8 || arg_bool(&args[4])); /* else qnnpack's */
    TRY(qpool_places_of(cx, x, dims, arg_bool(&args[4]), &p));
    return qpool_run(cx, x, dims, &p, results);
}

/* adaptive_avg_pool(self, output_size) */
static ctsc_status qpool_adaptive(op_ctx *cx, const value *args, int dims, quantiser *to,
                                  value *results) {
    qpool p = {.average = true, .adaptive = true, .inside = true, .dilation = {1, 1, 1}, .to = to};
    const int64_t *sizes;
    tensor *x = args[0].u.tensor;
    TRY(qpool_check(cx, x, dims));
    int n = arg_ints(&args[1], &sizes);
    if (n != dims && n != 1)
        return kernel_fail(cx, "%s: output_size must be %d", cx->op->key, dims);
    for (int d = 0; d < 3; d++) {
        int k = d - (3 - dims);
        p.place[d] = k < 0 ? 1 : sizes[n == 1 ? 0 : k];
        if (p.place[d] < 0)
            return kernel_fail(cx, "%s: elements of output_size must be greater than or equal to 0",
                               cx->op->key);
    }
    return qpool_run(cx, x, dims, &p, results);
}

OPERATOR(quantised_max_pool1d) { return qpool_max(cx, args, 1, results); }
OPERATOR(quantised_max_pool2d) { return qpool_max(cx, args, 2, results); }
OPERATOR(quantised_max_pool3d) { return qpool_max(cx, args, 3, results); }
OPERATOR(quantised_avg_pool1d) { return qpool_average(cx, args, 1, NULL, results); }
OPERATOR(quantised_avg_pool2d) { return qpool_average(cx, args, 2, NULL, results); }
OPERATOR(quantised_avg_pool3d) { return qpool_average(cx, args, 3, NULL, results); }
OPERATOR(quantised_adaptive_avg_pool1d) { return qpool_adaptive(cx, args, 1, NULL, results); }
OPERATOR(quantised_adaptive_avg_pool2d) { return qpool_adaptive(cx, args, 2, NULL, results); }
OPERATOR(quantised_adaptive_avg_pool3d) { return qpool_adaptive(cx, args, 3, NULL, results); }

/* ---- averages of another scale --------------------------------------------------------------- */

/* args: the float operator's, except for the number of dims after
 * the first; params: scale and zero point of the integers. */
static ctsc_status qpool_to(op_ctx *cx, const value *args, int count, value *results,
                            ctsc_status (*pool)(op_ctx *cx, const value *args, int dims,
                                                quantiser *to, value *results)) {
    enum { MOST = 8 };
    quant_target to = {.dt = DT_QUINT8};
    const value *params = args + 1 + count;
    value bounds[] = {params[0], params[1], value_int(0), value_int(UINT8_MAX)}, given[MOST];
    int64_t dims = arg_int(&args[1]);
    TRY(quant_target_args(cx, bounds, &to));
    if (args[0].u.tensor->dtype != DT_QUINT8 || dims < 1 || dims > 3)
        return kernel_fail(cx, "%s: expected quint8 and 1 to 3 dims", cx->op->key);
    quantiser *q = quantiser_new(to.scale, to.zero);
    if (!q) return diag_no_memory(cx->diag);
    for (int i = 0; i < count; i++) given[i] = args[i ? i + 1 : 0];
    ctsc_status s = pool(cx, given, (int)dims, q, results);
    quantiser_unref(q);
    return s;
}

/* quantised_avg_pool(self, dims, kernel_size, stride, padding, ceil_mode, count_include_pad,
 * divisor_override, scale, zero_point) */
OPERATOR(quantised_avg_pool) { return qpool_to(cx, args, 7, results, qpool_average); }
/* quantised_adaptive_avg_pool(self, dims, output_size, scale, zero_point) */
OPERATOR(quantised_adaptive_avg_pool) { return qpool_to(cx, args, 2, results, qpool_adaptive); }
