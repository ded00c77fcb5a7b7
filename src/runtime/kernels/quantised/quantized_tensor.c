/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantized_tensor.c - making quantised tensors of numbers, numbers of quantised tensors, and
 * asking for scales and zero points.
 *
 * The rows of ops/quantised_tensors.def lead operators here when an argument is quantised. Views
 * keep their own functions: a view shares the quantiser. Only with one scale for each index of a
 * dimension does it matter which dimension that is; such tensors (weights) are refused by
 * everything but what is written for them.
 * Tests: tests/unit/test_quantized.c, tests/corpus/quantized
 */
#include "base/minmax.h"
#include "runtime/kernels/quantised/quantized.h"

#include <stdlib.h>
#include <string.h>

#define OPERATOR(name)                                                                             \
    ctsc_status op_##name(op_ctx *cx, const value *args, value *results);                          \
    ctsc_status op_##name(op_ctx *cx, const value *args, value *results)

/* ---- order of elements ----------------------------------------------------------------------- */

void quant_last_strides(int ndim, const int64_t *sizes, int64_t *strides) {
    int64_t step = 1;
    strides[1] = step;
    step *= sizes[1] ? sizes[1] : 1;
    for (int i = ndim - 1; i >= 2; i--) {
        strides[i] = step;
        step *= sizes[i] ? sizes[i] : 1;
    }
    strides[0] = step;
}

bool quant_channels_last(const tensor *t) {
    return t->numel > 0 &&
           tensor_is_in_format(t, t->ndim == 5 ? FORMAT_CHANNELS_LAST_3D : FORMAT_CHANNELS_LAST);
}

ctsc_status quant_new_sizes(op_ctx *cx, const tensor *like, int ndim, const int64_t *sizes,
                            dtype dt, quantiser *q, tensor **out) {
    tensor *t;
    TRY(tensor_new(cx->diag, dt, ndim, sizes, &t));
    if (quant_channels_last(like) && !tensor_is_contiguous(like) && ndim == like->ndim)
        quant_last_strides(ndim, sizes, t->strides);
    if (q) t->quantiser = quantiser_ref(q);
    *out = t;
    return CTSC_OK;
}

ctsc_status quant_new_like(op_ctx *cx, const tensor *t, dtype dt, quantiser *q, tensor **out) {
    return quant_new_sizes(cx, t, t->ndim, t->sizes, dt, q, out);
}

ctsc_status quant_new_affine(op_ctx *cx, const tensor *like, dtype dt, double scale,
                             int64_t zero_point, tensor **out) {
    quantiser *q = quantiser_new(scale, zero_point);
    if (!q) return diag_no_memory(cx->diag);
    ctsc_status s = quant_new_like(cx, like, dt, q, out);
    quantiser_unref(q);
    return s;
}

/* Few planes of n bytes each, pixel by pixel. */
#define PIXELS(channels, ...)                                                                      \
    static VECTOR_CLONES void quant_pixels_##channels(const uint8_t *restrict x, int64_t n,        \
                                                      uint8_t *restrict out) {                     \
        const uint8_t *restrict y = x + n, *restrict z = x + 2 * n, *restrict w = x + 3 * n;       \
        for (int64_t i = 0; i < n; i++) {                                                          \
            const uint8_t pixel[] = {__VA_ARGS__};                                                 \
            for (int c = 0; c < channels; c++) out[channels * i + c] = pixel[c];                   \
        }                                                                                          \
        (void)z, (void)w;                                                                          \
    }
PIXELS(2, x[i], y[i])
PIXELS(3, x[i], y[i], z[i])
PIXELS(4, x[i], y[i], z[i], w[i])
#undef PIXELS

/* Images of few channels, as networks begin with: their planes have no gaps. */
static bool quant_permute_image(const tensor *t, tensor *out) {
    if (!tensor_is_contiguous(t) || dtype_size((dtype)t->dtype) != 1) return false;
    int64_t n = t->sizes[0] && t->sizes[1] ? t->numel / t->sizes[0] / t->sizes[1] : 0;
    const uint8_t *from = tensor_data(t);
    uint8_t *to = tensor_data(out);
    for (int64_t b = 0, image = n * t->sizes[1]; b < t->sizes[0]; b++) {
        switch (t->sizes[1]) {
        case 2: quant_pixels_2(from + b * image, n, to + b * image); break;
        case 3: quant_pixels_3(from + b * image, n, to + b * image); break;
        case 4: quant_pixels_4(from + b * image, n, to + b * image); break;
        default: return false;
        }
    }
    return true;
}

ctsc_status quant_to_channels_last(op_ctx *cx, tensor *t, tensor **out) {
    if (quant_channels_last(t)) return *out = tensor_ref(t), CTSC_OK;
    tensor *copy;
    TRY(tensor_new(cx->diag, (dtype)t->dtype, t->ndim, t->sizes, &copy));
    quant_last_strides(copy->ndim, copy->sizes, copy->strides);
    if (t->quantiser) copy->quantiser = quantiser_ref(t->quantiser);
    ctsc_status s = quant_permute_image(t, copy) ? CTSC_OK : tensor_copy(cx->diag, copy, t);
    if (s == CTSC_OK) *out = copy;
    else tensor_unref(copy);
    return s;
}

int64_t quant_unsigned_zero(const tensor *t) {
    return t->quantiser->zero_point + (t->dtype == DT_QINT8 ? 128 : 0);
}

static VECTOR_CLONES void quant_flip(const uint8_t *x, int64_t n, uint8_t *out) {
    for (int64_t i = 0; i < n; i++) out[i] = x[i] ^ 128;
}

ctsc_status quant_unsigned(op_ctx *cx, tensor *t, tensor **out) {
    tensor *made;
    if (t->dtype != DT_QINT8 && t->dtype != DT_INT8) return *out = tensor_ref(t), CTSC_OK;
    TRY(tensor_new(cx->diag, t->quantiser ? DT_QUINT8 : DT_UINT8, t->ndim, t->sizes, &made));
    memcpy(made->strides, t->strides, (size_t)t->ndim * sizeof *t->strides);
    quant_flip(tensor_data(t), t->numel, tensor_data(made));
    *out = made;
    return CTSC_OK;
}

ctsc_status quant_need_affine(op_ctx *cx, const tensor *t, const char *what) {
    if (!t->quantiser)
        return kernel_fail(cx, "%s: expected a quantized tensor, got %s", what,
                           dtype_table[t->dtype].ir_name);
    if (!quantiser_per_tensor(t->quantiser))
        return kernel_fail(cx, "%s: Only per tensor quantization is supported", what);
    return CTSC_OK;
}

/* ---- choosing -------------------------------------------------------------------------------- */

/* PyTorch's ChooseQuantizationParams, without preserved sparsity. */
ctsc_status quant_choose(op_ctx *cx, float lo, float hi, int qmin, int qmax, quant_params *out) {
    if (!(lo <= hi))
        return kernel_fail(cx,
                           "In ChooseQuantizationParams, min should be less than or equal to max");
    const float small = 6.1e-5f;
    lo = lo < 0 ? lo : 0;
    hi = hi > 0 ? hi : 0;
    double scale = ((double)hi - lo) / (qmax - qmin);
    if ((float)scale == 0 || isinf(1 / (float)scale)) scale = 0.1;
    if (scale < small) {
        float amplifier = small / (float)scale;
        scale = small;
        if (lo == 0) hi = small * (float)(qmax - qmin);
        else if (hi == 0) lo = -small * (float)(qmax - qmin);
        else lo *= amplifier, hi *= amplifier;
    }
    double from_min = qmin - lo / scale, from_max = qmax - hi / scale;
    double min_error = abs(qmin) - fabs(lo / scale), max_error = abs(qmax) - fabs(hi / scale);
    double zero = min_error < max_error ? from_min : from_max;
    out->scale = scale;
    out->zero_point = zero < qmin   ? qmin
                      : zero > qmax ? qmax
                      : isnan(zero) ? qmin
                                    : (int64_t)nearbyint(zero);
    return CTSC_OK;
}

/* fake_scale(running_min, running_max, quant_min, quant_max, symmetric), and fake_zero: for each
 * pair of numbers. Symmetric around zero where the numbers are of both signs. */
static ctsc_status fake_parameters(op_ctx *cx, const value *args, dtype dt, value *results) {
    const tensor *t[] = {args[0].u.tensor, args[1].u.tensor};
    int64_t qmin = arg_int(&args[2]), qmax = arg_int(&args[3]), half = (qmax - qmin) / 2;
    tensor *out;
    for (int k = 0; k < 2; k++)
        if (t[k]->dtype != DT_FLOAT32 || t[k]->numel != t[0]->numel ||
            !tensor_is_contiguous(t[k]) || tensor_device(t[k]) != DEVICE_HOST)
            return kernel_fail(cx, "%s: expected two lists of float32", cx->op->key);
    if (qmin >= qmax || qmin < INT32_MIN || qmax > INT32_MAX)
        return kernel_fail(cx, "%s: `quant_min` should be less than `quant_max`.", cx->op->key);
    TRY(tensor_new(cx->diag, dt, t[0]->ndim, t[0]->sizes, &out));
    for (int64_t i = 0; i < out->numel; i++) {
        float lo = TENSOR_AT(t[0], float)[i], hi = TENSOR_AT(t[1], float)[i];
        bool middle = arg_bool(&args[4]) && lo < 0 && hi > 0;
        if (middle) {
            double below = fabs((double)lo / (double)(half + 1)),
                   above = fabs((double)hi / (double)half), step = below > above ? below : above;
            lo = (float)(step * (double)-(half + 1)), hi = (float)(step * (double)half);
        }
        quant_params p = {1, 0};
        ctsc_status s = quant_choose(cx, fminf(lo, 0), fmaxf(hi, 0), (int)qmin, (int)qmax, &p);
        if (s != CTSC_OK) return tensor_unref(out), s;
        if (middle) p.zero_point = (int64_t)nearbyint((double)(qmin + qmax) / 2);
        if (dt == DT_FLOAT32) TENSOR_AT(out, float)[i] = (float)p.scale;
        else TENSOR_AT(out, int32_t)[i] = (int32_t)p.zero_point;
    }
    return op_return_tensor(results, out);
}
OPERATOR(fake_scale) { return fake_parameters(cx, args, DT_FLOAT32, results); }
OPERATOR(fake_zero) { return fake_parameters(cx, args, DT_INT32, results); }

enum { QUANT_RANGE_CHUNKS = 64 };
typedef struct quant_range_job {
    const float *p;
    int64_t n, chunk;
    float lo[QUANT_RANGE_CHUNKS], hi[QUANT_RANGE_CHUNKS];
} quant_range_job;

/* In lanes of their own, since one smallest number waits for the last comparison each time. */
static VECTOR_CLONES void quant_range_run(const float *p, int64_t n, float *lo, float *hi) {
    enum { LANES = 32 };
    float l[LANES], h[LANES];
    int32_t nan[LANES] = {0};
    int64_t i = 0;
    for (int k = 0; k < LANES; k++) l[k] = h[k] = p[0];
    for (; i + LANES <= n; i += LANES)
        for (int k = 0; k < LANES; k++) {
            float x = p[i + k];
            l[k] = x < l[k] ? x : l[k];
            h[k] = x > h[k] ? x : h[k];
            nan[k] |= x != x;
        }
    for (; i < n; i++) {
        l[0] = p[i] < l[0] ? p[i] : l[0];
        h[0] = p[i] > h[0] ? p[i] : h[0];
        nan[0] |= p[i] != p[i];
    }
    *lo = l[0], *hi = h[0];
    for (int k = 0; k < LANES; k++) {
        nan[0] |= nan[k];
        *lo = l[k] < *lo ? l[k] : *lo;
        *hi = h[k] > *hi ? h[k] : *hi;
    }
    if (nan[0]) *lo = *hi = NAN;
}

static void quant_range_chunks(void *ctx, int64_t begin, int64_t end) {
    quant_range_job *j = ctx;
    for (int64_t i = begin; i < end; i++)
        quant_range_run(j->p + i * j->chunk, int64_min(j->chunk, j->n - i * j->chunk), &j->lo[i],
                        &j->hi[i]);
}

void quant_range(const tensor *t, float *lo, float *hi) {
    quant_range_job j = {.p = TENSOR_AT(t, float), .n = t->numel};
    j.chunk = int64_max(16384, (t->numel + QUANT_RANGE_CHUNKS - 1) / QUANT_RANGE_CHUNKS);
    int64_t chunks = (t->numel + j.chunk - 1) / j.chunk;
    pool_for(chunks, 1, quant_range_chunks, &j);
    *lo = j.lo[0], *hi = j.hi[0];
    for (int64_t i = 1; i < chunks; i++) {
        *lo = isnan(*lo) || j.lo[i] >= *lo ? *lo : j.lo[i];
        *hi = isnan(*hi) || j.hi[i] <= *hi ? *hi : j.hi[i];
    }
}

/* ---- one scale ------------------------------------------------------------------------------- */

typedef struct quant_run {
    float scale, inverse;
    int64_t zero_point, lo, hi;
    dtype dt;
    bool per_channel;
} quant_run;

static VECTOR_CLONES void quant_run_bytes(const float *x, int64_t n, float inverse, float lo,
                                          float hi, float nan, int32_t zero_point, int8_t *out) {
    for (int64_t i = 0; i < n; i++) {
        float v = rintf(x[i] * inverse);
        v = v == v ? v : nan;
        v = v > hi ? hi : v;
        v = v > lo ? v : lo;
        out[i] = (int8_t)((int32_t)v + zero_point);
    }
}

static void quant_quantise_run(void *ctx, int64_t n, char *const *p, const int64_t *s) {
    const quant_run *r = ctx;
    bool fits = r->zero_point >= -1024 && r->zero_point <= 1024; /* what is compared stays exact */
    if (r->dt != DT_QINT32 && fits && s[0] == 1 && s[1] == sizeof(float)) {
        quant_run_bytes((const float *)(void *)p[1], n, r->inverse, (float)(r->lo - r->zero_point),
                        (float)(r->hi - r->zero_point),
                        (float)((r->per_channel ? r->lo : r->hi) - r->zero_point),
                        (int32_t)r->zero_point, (int8_t *)p[0]);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        float x = *(const float *)(void *)(p[1] + i * s[1]);
        dtype_store_int(r->dt, p[0] + i * s[0],
                        quant_round(x, r->inverse, r->zero_point, r->lo, r->hi));
    }
}

VECTOR_LOOPS static void quant_dequantise_run(void *ctx, int64_t n, char *const *p,
                                              const int64_t *s) {
    const quant_run *r = ctx;
    float scale = r->scale;
    int32_t zero = (int32_t)r->zero_point;
    if (r->dt != DT_QINT32 && s[0] == sizeof(float) && s[1] == 1) {
        float *out = (float *)(void *)p[0];
        const uint8_t *u = (const uint8_t *)p[1];
        const int8_t *i8 = (const int8_t *)p[1];
        if (r->dt == DT_QUINT8)
            for (int64_t i = 0; i < n; i++) out[i] = (float)(u[i] - zero) * scale;
        else
            for (int64_t i = 0; i < n; i++) out[i] = (float)(i8[i] - zero) * scale;
        return;
    }
    for (int64_t i = 0; i < n; i++)
        *(float *)(void *)(p[0] + i * s[0]) = quant_value(dtype_load_int(r->dt, p[1] + i * s[1]),
                                                          scale, r->zero_point);
}

static void quant_fill_affine(tensor *out, const tensor *x) {
    const quantiser *q = out->quantiser;
    dtype dt = (dtype)out->dtype;
    quant_run r = {.inverse = 1 / (float)q->scale,
                   .zero_point = q->zero_point,
                   .lo = dtype_qmin(dt),
                   .hi = dtype_qmax(dt),
                   .dt = dt};
    tensor *operands[] = {out, (tensor *)x};
    iter_run(out->ndim, out->sizes, 2, operands, quant_quantise_run, &r, 0);
}

static ctsc_status quant_check_params(op_ctx *cx, int64_t zero_point, dtype dt) {
    if (zero_point > dtype_qmax(dt))
        return kernel_fail(
            cx, "quantize_tensor_per_tensor_affine zero_point %lld is above upper bound.",
            (long long)zero_point);
    if (zero_point < dtype_qmin(dt))
        return kernel_fail(
            cx, "quantize_tensor_per_tensor_affine zero_point %lld is below lower bound.",
            (long long)zero_point);
    return CTSC_OK;
}

ctsc_status quant_quantise(op_ctx *cx, const tensor *t, dtype dt, double scale, int64_t zero_point,
                           tensor **out) {
    tensor *made;
    if (t->dtype != DT_FLOAT32)
        return kernel_fail(cx, "Quantize only works on Float Tensor, got %s",
                           dtype_table[t->dtype].ir_name);
    TRY(quant_check_params(cx, zero_point, dt));
    TRY(quant_new_affine(cx, t, dt, scale, zero_point, &made));
    quant_fill_affine(made, t);
    *out = made;
    return CTSC_OK;
}

/* ---- a scale for each index of a dimension --------------------------------------------------- */

typedef struct quant_channels { const quantiser *q; tensor *x, *out; } quant_channels;

static void quant_quantise_channel(const quantiser *q, int64_t c, tensor *out, tensor *x) {
    dtype dt = (dtype)out->dtype;
    tensor *operands[] = {out, x};
    if (q->scheme == QSCHEME_CHANNEL_AFFINE) {
        float scale = (float)TENSOR_AT(q->scales, double)[c];
        quant_run r = {.inverse = 1 / scale,
                       .per_channel = true,
                       .zero_point = TENSOR_AT(q->zero_points, int64_t)[c],
                       .lo = dtype_qmin(dt),
                       .hi = dtype_qmax(dt),
                       .dt = dt};
        iter_run(out->ndim, out->sizes, 2, operands, quant_quantise_run, &r, 0);
    }
}

/* Zero points are real numbers: integer = x / scale + zero point. */
static void quant_float_channel_run(void *ctx, int64_t n, char *const *p, const int64_t *s) {
    const float *f = ctx; /* 1 / scale, zero point */
    for (int64_t i = 0; i < n; i++) {
        float v = rintf(*(const float *)(void *)(p[1] + i * s[1]) * f[0] + f[1]);
        *(uint8_t *)(p[0] + i * s[0]) = (uint8_t)(v > 255 ? 255 : v > 0 ? (int)v : 0);
    }
}

static void quant_dequantise_channel(const quantiser *q, int64_t c, tensor *out, tensor *x) {
    tensor *operands[] = {out, x};
    if (q->scheme == QSCHEME_CHANNEL_AFFINE) {
        quant_run r = {.scale = (float)TENSOR_AT(q->scales, double)[c],
                       .zero_point = TENSOR_AT(q->zero_points, int64_t)[c],
                       .dt = (dtype)x->dtype};
        iter_run(out->ndim, out->sizes, 2, operands, quant_dequantise_run, &r, 0);
    }
}

static void quant_float_dequantise_run(void *ctx, int64_t n, char *const *p, const int64_t *s) {
    const float *f = ctx; /* scale, zero point */
    for (int64_t i = 0; i < n; i++)
        *(float *)(void *)(p[0] + i * s[0]) = ((float)*(const uint8_t *)(p[1] + i * s[1]) - f[1]) *
                                              f[0];
}

static void quant_channel(const quantiser *q, int64_t c, bool quantise, tensor *out, tensor *x) {
    if (q->scheme != QSCHEME_CHANNEL_FLOAT) {
        (quantise ? quant_quantise_channel : quant_dequantise_channel)(q, c, out, x);
        return;
    }
    float scale = TENSOR_AT(q->scales, float)[c],
          f[2] = {quantise ? 1 / scale : scale, TENSOR_AT(q->zero_points, float)[c]};
    tensor *operands[] = {out, x};
    iter_run(out->ndim, out->sizes, 2, operands,
             quantise ? quant_float_channel_run : quant_float_dequantise_run, f, 0);
}

static ctsc_status quant_each_channel(op_ctx *cx, const quantiser *q, bool quantise, tensor *out,
                                      const tensor *x) {
    for (int64_t c = 0; c < out->sizes[q->axis]; c++) {
        tensor *to = NULL, *from = NULL;
        ctsc_status s = tensor_select(cx->diag, out, q->axis, c, &to);
        if (s == CTSC_OK) s = tensor_select(cx->diag, x, q->axis, c, &from);
        if (s == CTSC_OK) quant_channel(q, c, quantise, to, from);
        tensor_unref(to);
        tensor_unref(from);
        TRY(s);
    }
    return CTSC_OK;
}

ctsc_status quant_dequantise(op_ctx *cx, const tensor *t, tensor **out) {
    tensor *made;
    const quantiser *q = t->quantiser;
    TRY(quant_new_like(cx, t, DT_FLOAT32, NULL, &made));
    ctsc_status s = CTSC_OK;
    if (quantiser_per_tensor(q)) {
        quant_run r = {
            .scale = (float)q->scale, .zero_point = q->zero_point, .dt = (dtype)t->dtype};
        tensor *operands[] = {made, (tensor *)t};
        iter_run(t->ndim, t->sizes, 2, operands, quant_dequantise_run, &r, 0);
    } else {
        s = q->axis < t->ndim && q->scales->numel == t->sizes[q->axis]
                ? quant_each_channel(cx, q, false, made, t)
                : kernel_fail(cx, "dequantize: the tensor's scales do not fit its shape");
    }
    if (s == CTSC_OK) *out = made;
    else tensor_unref(made);
    return s;
}

/* ---- operators: making ----------------------------------------------------------------------- */

static ctsc_status quant_arg_dtype(op_ctx *cx, const value *v, dtype *out) {
    int64_t code = arg_int(v);
    if (!dtype_valid(code) || !dtype_is_quantised((dtype)code))
        return kernel_fail(
            cx, "Creation of quantized tensor requires quantized dtype like torch.quint8");
    *out = (dtype)code;
    return CTSC_OK;
}

/* quantize_per_tensor(self, scale, zero_point, dtype), numbers or tensors of one element */
OPERATOR(quantize_per_tensor) {
    dtype dt = DT_QUINT8;
    tensor *out;
    TRY(quant_arg_dtype(cx, &args[3], &dt));
    for (int i = 1; i < 3; i++)
        if (args[i].tag == V_TENSOR && args[i].u.tensor->numel != 1)
            return kernel_fail(cx, "a Tensor with %lld elements cannot be converted to Scalar",
                               (long long)args[i].u.tensor->numel);
    double scale = args[1].tag == V_TENSOR ? tensor_item_float(args[1].u.tensor)
                                           : arg_float(&args[1]);
    int64_t zero = args[2].tag == V_TENSOR ? tensor_item_int(args[2].u.tensor) : arg_int(&args[2]);
    TRY(quant_quantise(cx, args[0].u.tensor, dt, scale, zero, &out));
    return op_return_tensor(results, out);
}

OPERATOR(quantize_per_tensor_list) {
    dtype dt = DT_QUINT8;
    const list *in = args[0].u.list;
    const tensor *scales = args[1].u.tensor, *zeros = args[2].u.tensor;
    TRY(quant_arg_dtype(cx, &args[3], &dt));
    list *l = list_new(LIST_TENSOR, TYPE_TENSOR, in->len);
    if (!l) return diag_no_memory(cx->diag);
    ctsc_status s = CTSC_OK;
    if (scales->numel < (int64_t)in->len || zeros->numel < (int64_t)in->len || scales->ndim != 1 ||
        zeros->ndim != 1)
        s = kernel_fail(cx,
                        "quantize_per_tensor: expected a scale and a zero point for each tensor");
    for (size_t i = 0; i < in->len && s == CTSC_OK; i++) {
        double scale = dtype_load_float((dtype)scales->dtype,
                                        (char *)tensor_data(scales) +
                                            (int64_t)i * scales->strides[0] *
                                                (int64_t)dtype_size((dtype)scales->dtype));
        int64_t zero = dtype_load_int((dtype)zeros->dtype,
                                      (char *)tensor_data(zeros) +
                                          (int64_t)i * zeros->strides[0] *
                                              (int64_t)dtype_size((dtype)zeros->dtype));
        tensor *out;
        s = quant_quantise(cx, in->u.tensors[i], dt, scale, zero, &out);
        if (s == CTSC_OK && !list_append_take(l, value_tensor_take(out)))
            s = diag_no_memory(cx->diag);
    }
    if (s == CTSC_OK) return op_return(results, value_list_take(l));
    value_unref(value_list_take(l));
    return s;
}

/* quantize_per_tensor_dynamic(self, dtype, reduce_range): the last halves the range, with
 * the engine fbgemm */
OPERATOR(quantize_per_tensor_dynamic) {
    dtype dt = DT_QUINT8;
    tensor *x, *out = NULL;
    float lo = 0, hi = 0;
    quant_params p;
    if (args[1].u.i == DT_FLOAT16) { /* rounded to half and back */
        tensor *half;
        TRY(tensor_to_dtype(cx->diag, args[0].u.tensor, DT_FLOAT16, &half));
        return op_return_tensor(results, half);
    }
    TRY(quant_arg_dtype(cx, &args[1], &dt));
    if (dt == DT_QINT32) return kernel_fail(cx, "dtype QInt32 not supported");
    TRY(wide_as(cx, args[0].u.tensor, DT_FLOAT32, &x));
    if (x->numel) quant_range(x, &lo, &hi);
    int parts = arg_bool(&args[2]) && qengine_is_fbgemm() ? 2 : 1;
    ctsc_status s = quant_choose(cx, lo, hi, (int)dtype_qmin(dt) / parts,
                                 (int)dtype_qmax(dt) / parts, &p);
    if (s == CTSC_OK) s = quant_quantise(cx, x, dt, p.scale, p.zero_point, &out);
    tensor_unref(x);
    return s == CTSC_OK ? op_return_tensor(results, out) : s;
}

/* scales and zero_points in the dtypes of a quantiser; axis wrapped and checked against x. */
static ctsc_status quant_channel_params(op_ctx *cx, dtype dt, const tensor *x, tensor *scales,
                                        tensor *zeros, int64_t axis, quantiser **out) {
    bool real = dtype_is_float((dtype)zeros->dtype);
    tensor *s = NULL, *z = NULL;
    if (axis < 0 || axis >= x->ndim)
        return kernel_fail(cx,
                           "Channel axis out of range in per channel affine quantization. Got: "
                           "%lldExpected: [0, %d)",
                           (long long)axis, x->ndim);
    if (scales->ndim != 1) return kernel_fail(cx, "scale tensor must have dimension 1");
    if (zeros->ndim != 1) return kernel_fail(cx, "zero_points tensor must have dimension 1");
    if (scales->numel != zeros->numel)
        return kernel_fail(cx, "number of elements in scales and zero_points must match");
    if (scales->numel != x->sizes[axis])
        return kernel_fail(cx, "length of scales must equal to channel, expected %lld got, %lld",
                           (long long)x->sizes[axis], (long long)scales->numel);
    ctsc_status st = wide_as(cx, scales, real ? DT_FLOAT32 : DT_FLOAT64, &s);
    if (st == CTSC_OK) st = wide_as(cx, zeros, real ? DT_FLOAT32 : DT_INT64, &z);
    for (int64_t i = 0; st == CTSC_OK && !real && i < z->numel; i++)
        st = quant_check_params(cx, TENSOR_AT(z, int64_t)[i], dt);
    if (st == CTSC_OK &&
        !(*out = quantiser_new_channels(real ? QSCHEME_CHANNEL_FLOAT : QSCHEME_CHANNEL_AFFINE, s, z,
                                        (int)axis)))
        st = diag_no_memory(cx->diag);
    tensor_unref(s);
    tensor_unref(z);
    return st;
}

/* quantize_per_channel(self, scales, zero_points, axis, dtype) */
OPERATOR(quantize_per_channel) {
    dtype dt = DT_QUINT8;
    quantiser *q;
    tensor *x = args[0].u.tensor, *out;
    TRY(quant_arg_dtype(cx, &args[4], &dt));
    if (x->dtype != DT_FLOAT32)
        return kernel_fail(cx, "Quantize only works on Float Tensor, got %s",
                           dtype_table[x->dtype].ir_name);
    TRY(quant_channel_params(cx, dt, x, args[1].u.tensor, args[2].u.tensor, arg_int(&args[3]), &q));
    ctsc_status s = CTSC_OK;
    if (q->scheme == QSCHEME_CHANNEL_FLOAT && dt != DT_QUINT8)
        s = kernel_fail(cx, "quantize_per_channel: float zero points need quint8");
    if (s == CTSC_OK) s = quant_new_like(cx, x, dt, q, &out);
    quantiser_unref(q);
    TRY(s);
    s = quant_each_channel(cx, out->quantiser, true, out, x);
    if (s == CTSC_OK) return op_return_tensor(results, out);
    tensor_unref(out);
    return s;
}

/* The quantised dtype whose integers are of that dtype; fails for others. */
static ctsc_status quant_dtype_of_ints(op_ctx *cx, dtype ints, dtype *out) {
    switch (ints) {
    case DT_UINT8: return *out = DT_QUINT8, CTSC_OK;
    case DT_INT8: return *out = DT_QINT8, CTSC_OK;
    case DT_INT32: return *out = DT_QINT32, CTSC_OK;
    default:
        return kernel_fail(
            cx, "Creation of quantized tensor requires quantized dtype like torch.quint8");
    }
}

/* The integers of x under another dtype. Takes q. */
static ctsc_status quant_reinterpret_take(op_ctx *cx, tensor *x, dtype dt, quantiser *q,
                                          value *results) {
    tensor *copy;
    ctsc_status s = tensor_new_like(cx->diag, x, (dtype)x->dtype, &copy);
    if (s == CTSC_OK) {
        s = tensor_copy(cx->diag, copy, x);
        copy->dtype = (uint8_t)dt;
        if (s == CTSC_OK) {
            tensor_set_quantiser_take(copy, q);
            return op_return_tensor(results, copy);
        }
        tensor_unref(copy);
    }
    quantiser_unref(q);
    return s;
}

OPERATOR(make_per_tensor_quantized) {
    dtype dt = DT_QUINT8;
    TRY(quant_dtype_of_ints(cx, (dtype)args[0].u.tensor->dtype, &dt));
    TRY(quant_check_params(cx, arg_int(&args[2]), dt));
    quantiser *q = quantiser_new(arg_float(&args[1]), arg_int(&args[2]));
    return q ? quant_reinterpret_take(cx, args[0].u.tensor, dt, q, results)
             : diag_no_memory(cx->diag);
}

OPERATOR(make_per_channel_quantized) {
    dtype dt = DT_QUINT8;
    quantiser *q;
    TRY(quant_dtype_of_ints(cx, (dtype)args[0].u.tensor->dtype, &dt));
    TRY(quant_channel_params(cx, dt, args[0].u.tensor, args[1].u.tensor, args[2].u.tensor,
                             arg_int(&args[3]), &q));
    return quant_reinterpret_take(cx, args[0].u.tensor, dt, q, results);
}

/* _empty_affine_quantized(size, *, dtype, layout, device, pin_memory, scale, zero_point,
 * memory_format): zeros, so that it is the same each time */
OPERATOR(empty_affine_quantized) {
    dtype dt = DT_QUINT8;
    const int64_t *sizes;
    int n = arg_ints(&args[0], &sizes);
    if (arg_is_none(&args[1]))
        return kernel_fail(
            cx, "Creation of quantized tensor requires quantized dtype like torch.quint8");
    TRY(quant_arg_dtype(cx, &args[1], &dt));
    TRY(quant_check_params(cx, arg_int(&args[6]), dt));
    quantiser *q = quantiser_new(arg_float(&args[5]), arg_int(&args[6]));
    if (!q) return diag_no_memory(cx->diag);
    tensor *t;
    ctsc_status s = tensor_zeros(cx->diag, dt, n, sizes, &t);
    if (s == CTSC_OK) {
        tensor_set_quantiser_take(t, q);
        return op_return_tensor(results, t);
    }
    quantiser_unref(q);
    return s;
}

/* ---- operators: numbers ---------------------------------------------------------------------- */

OPERATOR(dequantize_plain) { /* of a tensor that is not quantised: as float */
    tensor *out;
    TRY(tensor_to_dtype(cx->diag, args[0].u.tensor, DT_FLOAT32, &out));
    return op_return_tensor(results, out);
}

OPERATOR(dequantize) {
    tensor *out;
    TRY(quant_dequantise(cx, args[0].u.tensor, &out));
    return op_return_tensor(results, out);
}

static ctsc_status quant_dequantise_any(op_ctx *cx, value v, value *out, int depth) {
    if (v.tag == V_TENSOR) {
        tensor *t;
        ctsc_status s = v.u.tensor->quantiser
                            ? quant_dequantise(cx, v.u.tensor, &t)
                            : tensor_to_dtype(cx->diag, v.u.tensor, DT_FLOAT32, &t);
        if (s == CTSC_OK) *out = value_tensor_take(t);
        return s;
    }
    bool is_list = v.tag == V_LIST, is_tuple = v.tag == V_TUPLE;
    if ((!is_list && !is_tuple) || depth > 32)
        return kernel_fail(cx,
                           "Unsupported type in dequantize, only List[Tensor] and Tuple[Tensor or "
                           "other types] are supported");
    ctsc_status s = CTSC_OK;
    if (is_tuple) {
        tuple *t = tuple_new(v.u.tuple->len, v.u.tuple->type);
        if (!t) return diag_no_memory(cx->diag);
        for (size_t i = 0; i < t->len && s == CTSC_OK; i++) {
            value item = v.u.tuple->items[i];
            bool inner = item.tag == V_TENSOR || item.tag == V_LIST || item.tag == V_TUPLE;
            if (inner) s = quant_dequantise_any(cx, item, &t->items[i], depth + 1);
            else t->items[i] = value_ref(item);
        }
        *out = value_tuple_take(t);
    } else {
        list *l = list_new((list_kind)v.u.list->kind, v.u.list->elem, v.u.list->len);
        if (!l) return diag_no_memory(cx->diag);
        for (size_t i = 0; i < v.u.list->len && s == CTSC_OK; i++) {
            value item = list_get(v.u.list, i), made = value_none();
            s = quant_dequantise_any(cx, item, &made, depth + 1);
            value_unref(item);
            if (s == CTSC_OK && !list_append_take(l, made)) s = diag_no_memory(cx->diag);
        }
        *out = value_list_take(l);
    }
    if (s != CTSC_OK) value_set(out, value_none());
    return s;
}

OPERATOR(dequantize_any) { return quant_dequantise_any(cx, args[0], results, 0); }

OPERATOR(int_repr) {
    const tensor *t = args[0].u.tensor;
    dtype ints = t->dtype == DT_QUINT8 ? DT_UINT8 : t->dtype == DT_QINT8 ? DT_INT8 : DT_INT32;
    tensor *out, plain = *t;
    TRY(quant_new_like(cx, t, ints, NULL, &out));
    plain.dtype = (uint8_t)ints; /* a view of the integers, not counted */
    plain.quantiser = NULL;
    if (plain.sizes == t->inline_dims)
        plain.sizes = plain.inline_dims, plain.strides = plain.inline_dims + TENSOR_INLINE_DIMS;
    ctsc_status s = tensor_copy(cx->diag, out, &plain);
    if (s == CTSC_OK) return op_return_tensor(results, out);
    tensor_unref(out);
    return s;
}

/* ---- operators: questions -------------------------------------------------------------------- */

OPERATOR(q_scale) {
    const quantiser *q = args[0].u.tensor->quantiser;
    if (!quantiser_per_tensor(q))
        return kernel_fail(
            cx, "Expected quantizer->qscheme() == kPerTensorAffine to be true, but got false.");
    return op_return(results, value_float(q->scale));
}

OPERATOR(q_zero_point) {
    const quantiser *q = args[0].u.tensor->quantiser;
    if (!quantiser_per_tensor(q))
        return kernel_fail(
            cx, "Expected quantizer->qscheme() == kPerTensorAffine to be true, but got false.");
    return op_return(results, value_int(q->zero_point));
}

static ctsc_status quant_need_channels(op_ctx *cx, const quantiser *q) {
    if (!quantiser_per_tensor(q)) return CTSC_OK;
    return kernel_fail(
        cx, "Expected quantizer->qscheme() == kPerChannelAffine || quantizer->qscheme() == "
            "kPerChannelAffineFloatQParams to be true, but got false.");
}

OPERATOR(q_per_channel_scales) {
    const quantiser *q = args[0].u.tensor->quantiser;
    TRY(quant_need_channels(cx, q));
    tensor *copy; /* the quantiser never changes */
    TRY(tensor_clone(cx->diag, q->scales, &copy));
    return op_return_tensor(results, copy);
}

OPERATOR(q_per_channel_zero_points) {
    const quantiser *q = args[0].u.tensor->quantiser;
    TRY(quant_need_channels(cx, q));
    tensor *copy; /* the quantiser never changes */
    TRY(tensor_clone(cx->diag, q->zero_points, &copy));
    return op_return_tensor(results, copy);
}

OPERATOR(q_per_channel_axis) {
    const quantiser *q = args[0].u.tensor->quantiser;
    TRY(quant_need_channels(cx, q));
    return op_return(results, value_int(q->axis));
}

OPERATOR(qscheme) {
    (void)cx;
    return op_return(results, value_int(args[0].u.tensor->quantiser->scheme));
}

/* What all of these do with a tensor that is not quantised. */
OPERATOR(not_quantised) {
    (void)args, (void)results;
    return kernel_fail(cx,
                       "Could not run '%s' with arguments from the 'CPU' backend. This could be "
                       "because the operator "
                       "doesn't exist for this backend",
                       cx->op->key);
}
