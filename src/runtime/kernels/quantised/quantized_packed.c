/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantized_packed.c - packed parameters: weights made ready for products of integers, the objects
 * that hold them, and what archives say of them.
 *
 * Serialised state, as PyTorch 1.13 writes and reads it:
 *
 *     LinearPackedParamsBase     (weight, bias or None); a float weight is one for linear_dynamic_fp16
 *     Conv{2,3}dPackedParamsBase ("2", [config, weight], [bias or None]), config = int16 [dims, stride..., padding..., dilation...,
 *                                output_padding..., groups, transposed]; older: (weight, bias, [stride...], [padding...], [dilation...],
 *                                groups), tensors of one int each; of mobile builds: (3, config as a list, [None, weight, bias])
 *     EmbeddingPackedParamsBase  (1, [weight], [], [bit rate])
 *     CellParamsBase             ("quantized_dynamic", [bias_ih, bias_hh], [], [reduce_range], [w_ih, w_hh]), or ("quantized_fp16",
 *                                [], [], [], [w_ih, w_hh]), the last list of objects of LinearPackedParamsBase
 *
 * Invariant: what reaches these functions from a file or a program is checked here,
 * and nowhere else.
 * Tests: tests/unit/test_quantized.c, tests/corpus/quantized
 */
#include "base/minmax.h"
#include "runtime/kernels/quantised/quantized.h"

#include "ir/native.h"

#include <string.h>

#define OPERATOR(name)                                                                             \
    ctsc_status op_##name(op_ctx *cx, const value *args, value *results);                          \
    ctsc_status op_##name(op_ctx *cx, const value *args, value *results)

static const char packed_capsule[] = "packed parameters";
/* clang-format off */
#define PACKED_LINEAR_CLASS    NATIVE_PREFIX "quantized.LinearPackedParamsBase"
#define PACKED_CONV2D_CLASS    NATIVE_PREFIX "quantized.Conv2dPackedParamsBase"
#define PACKED_CONV3D_CLASS    NATIVE_PREFIX "quantized.Conv3dPackedParamsBase"
#define PACKED_EMBEDDING_CLASS NATIVE_PREFIX "quantized.EmbeddingPackedParamsBase"
#define PACKED_CELL_CLASS      NATIVE_PREFIX "rnn.CellParamsBase"
/* clang-format on */

/* ---- objects --------------------------------------------------------------------------------- */

void packed_free(void *ptr) {
    packed *p = ptr;
    if (!p) return;
    tensor_unref(p->weight);
    tensor_unref(p->bias);
    tensor_unref(p->bias_ih);
    tensor_unref(p->bias_hh);
    value_unref(p->weight_ih);
    value_unref(p->weight_hh);
    quad_matrix_free(&p->panels);
    quad_taps_free(&p->taps);
    mem_free(atomic_load(&p->ready));
    mem_free(p->weight_scale);
    mem_free(p);
}

static ctsc_status packed_capsule_take(op_ctx *cx, packed *p, value *out) {
    capsule *c = mem_alloc(sizeof *c);
    if (!c) {
        packed_free(p);
        return diag_no_memory(cx->diag);
    }
    *c = (capsule){.kind = packed_capsule, .ptr = p, .free = packed_free};
    atomic_init(&c->refs, 1);
    *out = (value){.tag = V_CAPSULE, .u.capsule = c};
    return CTSC_OK;
}

ctsc_status packed_object_take(op_ctx *cx, const char *name, packed *p, value *out) {
    type *cls = native_class(name);
    object *o = cls ? object_new(cls, cls->cls->attributes.len) : NULL;
    if (!o) {
        packed_free(p);
        return diag_no_memory(cx->diag);
    }
    ctsc_status s = packed_capsule_take(cx, p, &o->slots[0]);
    if (s == CTSC_OK) *out = value_object_take(o);
    else value_unref(value_object_take(o));
    return s;
}

const packed *packed_in(const value *v) {
    if (v->tag != V_OBJECT || !type_is_native(v->u.object->cls) || !v->u.object->nslots)
        return NULL;
    value held = v->u.object->slots[0];
    return held.tag == V_CAPSULE && held.u.capsule->kind == packed_capsule ? held.u.capsule->ptr
                                                                           : NULL;
}

ctsc_status packed_of(op_ctx *cx, const value *v, packed_kind kind, const packed **out) {
    *out = packed_in(v);
    if (*out && (*out)->kind == kind) return CTSC_OK;
    return kernel_fail(cx, "%s: the packed parameters are of another kind",
                       cx->op ? cx->op->key : "quantized");
}

/* ---- weights --------------------------------------------------------------------------------- */

/* Scale and zero point of output feature j. */
static double packed_scale(const quantiser *q, int64_t j) {
    return quantiser_per_tensor(q) ? q->scale : TENSOR_AT(q->scales, double)[j];
}

static int64_t packed_zero(const quantiser *q, int64_t j) {
    return quantiser_per_tensor(q) ? q->zero_point : TENSOR_AT(q->zero_points, int64_t)[j];
}

/* axis: the dimension of output features. */
static ctsc_status packed_check_weight(op_ctx *cx, const tensor *w, int axis, const char *what) {
    const quantiser *q = w->quantiser;
    if (!q || w->dtype != DT_QINT8)
        return kernel_fail(cx, "%s: weights must be QInt8, but got %s", what,
                           dtype_table[w->dtype].ir_name);
    if (quantiser_per_tensor(q) ? q->zero_point < INT8_MIN || q->zero_point > INT8_MAX
                                : q->scheme != QSCHEME_CHANNEL_AFFINE)
        return kernel_fail(cx, "%s: unsupported quantization of the weight", what);
    if (quantiser_per_tensor(q)) return CTSC_OK;
    if (q->axis != axis || q->scales->numel != w->sizes[axis])
        return kernel_fail(
            cx, "%s: only per output channel quantization is supported for the weight", what);
    for (int64_t j = 0; j < q->zero_points->numel; j++)
        if (packed_zero(q, j) < INT8_MIN || packed_zero(q, j) > INT8_MAX)
            return kernel_fail(cx, "%s: a zero point of the weight is out of range", what);
    return CTSC_OK;
}

static ctsc_status packed_set_bias(op_ctx *cx, packed *p, tensor *bias, const char *what) {
    if (!bias) return CTSC_OK;
    if (bias->ndim != 1) return kernel_fail(cx, "%s: bias should be a vector (1D Tensor)", what);
    if (bias->numel != p->out_features)
        return kernel_fail(cx, "%s: bias should have N elements: %lld", what,
                           (long long)p->out_features);
    if (bias->quantiser) return kernel_fail(cx, "%s: bias should be a float vector", what);
    return wide_as(cx, bias, DT_FLOAT32, &p->bias);
}

static ctsc_status packed_set_scales(op_ctx *cx, packed *p) {
    const quantiser *q = p->weight->quantiser;
    p->per_channel = !quantiser_per_tensor(q);
    p->weight_scale = mem_alloc((size_t)p->out_features * sizeof(float) + 1);
    if (!p->weight_scale) return diag_no_memory(cx->diag);
    for (int64_t j = 0; j < p->out_features; j++) p->weight_scale[j] = (float)packed_scale(q, j);
    return CTSC_OK;
}

static void packed_linear_column(const void *ctx, int64_t group, int64_t j, int16_t *to) {
    const packed *p = ctx;
    const tensor *w = p->weight;
    int64_t k = w->sizes[1], zero = packed_zero(w->quantiser, j);
    const int8_t *from = TENSOR_AT(w, int8_t) + j * k;
    (void)group;
    for (int64_t i = 0; i < k; i++) to[i] = (int16_t)(from[i] - zero);
}

/* A contiguous tensor of the same quantiser. */
static ctsc_status packed_keep_weight(op_ctx *cx, packed *p, tensor *w) {
    return tensor_contiguous(cx->diag, w, &p->weight);
}

ctsc_status packed_linear_new(op_ctx *cx, tensor *weight, tensor *bias, packed **out) {
    const char *what = "quantized::linear_prepack";
    if (weight->ndim != 2)
        return kernel_fail(cx, "The weight tensor for %s should be 2-dimensional.", what);
    TRY(packed_check_weight(cx, weight, 0, what));
    packed *p = mem_zalloc(sizeof *p);
    if (!p) return diag_no_memory(cx->diag);
    p->kind = PACKED_LINEAR;
    p->out_features = weight->sizes[0];
    ctsc_status s = packed_keep_weight(cx, p, weight);
    if (s == CTSC_OK) s = packed_set_bias(cx, p, bias, what);
    if (s == CTSC_OK) s = packed_set_scales(cx, p);
    if (s == CTSC_OK && !quad_matrix_make(&p->panels, 1, p->out_features, 1, weight->sizes[1],
                                          packed_linear_column, p))
        s = diag_no_memory(cx->diag);
    if (s == CTSC_OK) *out = p;
    else packed_free(p);
    return s;
}

/* Weights are float in archives, and rounded to half here. */
ctsc_status packed_half_new(op_ctx *cx, tensor *weight, tensor *bias, packed **out) {
    if (weight->ndim != 2)
        return kernel_fail(
            cx, "The weight tensor for quantized::linear_prepack_fp16 should be 2-dimensional.");
    packed *p = mem_zalloc(sizeof *p);
    if (!p) return diag_no_memory(cx->diag);
    p->kind = PACKED_LINEAR_HALF;
    p->out_features = weight->sizes[0];
    tensor *half = NULL;
    ctsc_status s = tensor_to_dtype(cx->diag, weight, DT_FLOAT16, &half);
    if (s == CTSC_OK) s = wide_as(cx, half, DT_FLOAT32, &p->weight);
    if (s == CTSC_OK) s = packed_set_bias(cx, p, bias, "quantized::linear_prepack_fp16");
    tensor_unref(half);
    if (s == CTSC_OK) {
        float *w = TENSOR_AT(p->weight, float);
        for (int64_t i = 0; i < p->weight->numel; i++) { /* PyTorch saturates */
            if (isinf(w[i])) w[i] = w[i] > 0 ? 65504.0f : -65504.0f;
        }
        *out = p;
    } else {
        packed_free(p);
    }
    return s;
}

/* ---- convolutions ---------------------------------------------------------------------------- */

bool packed_whole_rows(const packed *p) {
    return p->groups == 1 && !p->transposed && p->dilation[2] == 1;
}

/* A column is [tap][input channel of the group]. */
static void packed_conv_column(const void *ctx, int64_t group, int64_t j, int16_t *to) {
    const packed *p = ctx;
    const tensor *w = p->weight;
    const quantiser *q = w->quantiser;
    int64_t inputs = p->transposed ? w->sizes[0] / p->groups : w->sizes[1],
            outputs = p->out_features / p->groups,
            taps = p->kernel[0] * p->kernel[1] * p->kernel[2], out = group * outputs + j,
            zero = packed_zero(q, p->transposed ? (quantiser_per_tensor(q) ? 0 : j) : out);
    for (int64_t i = 0; i < inputs; i++) {
        int64_t at = p->transposed ? (group * inputs + i) * outputs + j : out * inputs + i;
        const int8_t *from = TENSOR_AT(w, int8_t) + at * taps;
        for (int64_t t = 0; t < taps; t++) to[t * inputs + i] = (int16_t)(from[t] - zero);
    }
}

/* Whether the kernels for one channel per group have room for what a result of it sees. */
static bool packed_is_depthwise(const packed *p, int64_t inputs, int64_t outputs) {
    enum { WIDE = 256 };
    return inputs == 1 && outputs == 1 && !p->transposed && p->stride[2] <= WIDE &&
           p->kernel[2] <= WIDE && p->dilation[2] <= WIDE && p->kernel[0] * p->kernel[1] <= WIDE;
}

static bool packed_conv_pack(packed *p) {
    const tensor *w = p->weight;
    int64_t inputs = p->transposed ? w->sizes[0] / p->groups : w->sizes[1],
            outputs = p->out_features / p->groups, rows = p->kernel[0] * p->kernel[1],
            width = p->kernel[2];
    if (packed_is_depthwise(p, inputs, outputs))
        return quad_taps_make(&p->taps, p->groups, rows, width, packed_conv_column, p);
    if (packed_whole_rows(p)) inputs *= width;
    else rows *= width;
    return quad_matrix_make(&p->panels, p->groups, outputs, rows, inputs, packed_conv_column, p);
}

static ctsc_status packed_check_geometry(op_ctx *cx, const tensor *w, const packed_geometry *g) {
    enum { LIMIT = 1 << 20 };
    if (g->dims < 1 || g->dims > 3 || w->ndim != g->dims + 2)
        return kernel_fail(cx, "Weights are expected to have %d dimensions", g->dims + 2);
    for (int i = 0; i < g->dims; i++) {
        if (g->stride[i] < 1 || g->stride[i] > LIMIT || g->dilation[i] < 1 ||
            g->dilation[i] > LIMIT || g->padding[i] < 0 || g->padding[i] > LIMIT ||
            g->output_padding[i] < 0 || g->output_padding[i] > LIMIT || w->sizes[i + 2] < 1 ||
            w->sizes[i + 2] > LIMIT)
            return kernel_fail(
                cx,
                "quantized::conv_prepack: stride, padding, dilation or kernel size out of range");
    }
    int64_t out = g->transposed ? w->sizes[1] : w->sizes[0],
            in = g->transposed ? w->sizes[0] : w->sizes[1];
    if (g->groups < 1 || out < 1 || in < 1 || (g->transposed ? in : out) % g->groups)
        return kernel_fail(
            cx, "quantized::conv_prepack: expected output channels to be divisible by groups");
    return CTSC_OK;
}

ctsc_status packed_conv_new(op_ctx *cx, tensor *weight, tensor *bias, const packed_geometry *g,
                            packed **out) {
    const char *what = "quantized::conv_prepack";
    TRY(packed_check_geometry(cx, weight, g));
    TRY(packed_check_weight(cx, weight, g->transposed ? 1 : 0, what));
    if (g->transposed && !quantiser_per_tensor(weight->quantiser))
        return kernel_fail(
            cx, "%s: per channel quantization is not supported for transposed convolutions", what);
    packed *p = mem_zalloc(sizeof *p);
    if (!p) return diag_no_memory(cx->diag);
    p->kind = PACKED_CONV;
    p->dims = g->dims;
    p->groups = g->groups;
    p->transposed = g->transposed;
    p->out_features = g->transposed ? weight->sizes[1] * g->groups : weight->sizes[0];
    for (int i = 0; i < 3; i++) {
        int k = i - (3 - g->dims);
        p->stride[i] = k < 0 ? 1 : g->stride[k];
        p->padding[i] = k < 0 ? 0 : g->padding[k];
        p->dilation[i] = k < 0 ? 1 : g->dilation[k];
        p->output_padding[i] = k < 0 ? 0 : g->output_padding[k];
        p->kernel[i] = k < 0 ? 1 : weight->sizes[k + 2];
    }
    ctsc_status s = packed_keep_weight(cx, p, weight);
    if (s == CTSC_OK) s = packed_set_bias(cx, p, bias, what);
    if (s == CTSC_OK) s = packed_set_scales(cx, p);
    if (s == CTSC_OK && !packed_conv_pack(p)) s = diag_no_memory(cx->diag);
    if (s == CTSC_OK) *out = p;
    else packed_free(p);
    return s;
}

/* ---- scales and biases of a call ------------------------------------------------------------- */

/* weight scale * input scale / output scale */
static float ready_scale(const packed *p, const quant_ready *r, int64_t channel) {
    float step = p->weight_scale[channel] * (float)r->in_scale;
    float out = (float)r->target.scale;
    return r->target.fbgemm ? step / out : step * (1 / out);
}

/* The bias in float, as steps of the sum. fbgemm divides where scales are per channel, and
 * multiplies by the reciprocal where there is one. */
static float ready_steps(const packed *p, const quant_ready *r, int64_t channel) {
    float step = p->weight_scale[channel] * (float)r->in_scale,
          b = TENSOR_AT(p->bias, float)[channel];
    return p->per_channel ? b / step : b * (1 / step);
}

/* The same as qnnpack has it: rounded. */
static int32_t ready_bias(const packed *p, const quant_ready *r, int64_t channel) {
    float step = (float)(packed_scale(p->weight->quantiser, p->per_channel ? channel : 0) *
                         r->in_scale);
    return (int32_t)quant_round(TENSOR_AT(p->bias, float)[channel], 1 / step, 0, INT32_MIN,
                                INT32_MAX);
}

/* Which output channel a place belongs to; -1: none. */
static int64_t ready_channel(const packed *p, int64_t place) {
    if (p->taps.data) {
        int64_t size = 4 * p->taps.kernels->lanes,
                c = place / size * size + quant_place_channel(p->taps.kernels->lanes, place % size);
        return c < p->taps.channels ? c : -1;
    }
    int64_t each = p->panels.panels * QUAD_COLUMNS, j = place % each;
    return j < p->panels.n ? place / each * p->panels.n + j : -1;
}

static int64_t ready_places(const packed *p) {
    return p->taps.data ? p->taps.blocks * 4 * p->taps.kernels->lanes
                        : p->panels.groups * p->panels.panels * QUAD_COLUMNS;
}

/* A bias of whole steps, as a quantised one is but for its rounding to float, becomes a part of
 * what sums begin with. Not that of very long sums, which might overflow. */
static void ready_fold(const packed *p, quant_ready *r, float *steps, int64_t n) {
    int64_t k = p->taps.data ? p->taps.rows * p->taps.width : p->panels.segments * p->panels.k;
    float off = r->target.whole ? 0x1p-21f : 0;
    r->to.whole = k < 1 << 15;
    for (int64_t i = 0; i < n && r->to.whole; i++)
        r->to.whole = fabsf(steps[i]) < 0x1p24f &&
                      fabsf(steps[i] - rintf(steps[i])) <= fabsf(steps[i]) * off;
    for (int64_t i = 0; i < n && r->to.whole; i++) {
        r->start[i] = (int32_t)((uint32_t)r->start[i] + (uint32_t)(int32_t)rintf(steps[i]));
        steps[i] = 0;
    }
}

/* quant_bytes.plain: of n places. */
static bool ready_is_plain(const quant_bytes *to, int64_t n) {
    bool plain = to->whole && to->lo + (float)to->zero == 0 &&
                 to->hi + (float)to->zero == UINT8_MAX && !to->flip;
    for (int64_t i = 0; i < n; i++) plain = plain && fabsf(to->scale[i]) < 0.5f;
    return plain;
}

static void ready_fill(const packed *p, quant_ready *r) {
    const int32_t *sums = p->taps.data ? p->taps.sums : p->panels.sums;
    float *scale = (float *)(uintptr_t)r->to.scale, *steps = (float *)(uintptr_t)r->to.steps;
    int64_t n = ready_places(p);
    for (int64_t i = 0; i < n; i++) {
        int64_t c = ready_channel(p, i);
        bool bias = c >= 0 && p->bias;
        r->start[i] = (int32_t)(0 - (uint32_t)r->in_zero * (uint32_t)sums[i]);
        scale[i] = c < 0 ? 0 : ready_scale(p, r, c);
        steps[i] = bias && r->target.fbgemm ? ready_steps(p, r, c) : 0;
        if (bias && !r->target.fbgemm)
            r->start[i] = (int32_t)((uint32_t)r->start[i] + (uint32_t)ready_bias(p, r, c));
    }
    ready_fold(p, r, steps, n);
    r->to.plain = ready_is_plain(&r->to, n);
}

static ctsc_status ready_make(op_ctx *cx, const packed *p, const quant_ready *like,
                              quant_ready **out) {
    size_t n = (size_t)ready_places(p), each = n * sizeof(float), size = sizeof *like + 3 * each;
    quant_ready *r = mem_alloc(size);
    if (!r) return diag_no_memory(cx->diag);
    *r = *like;
    r->size = size;
    r->start = (int32_t *)(void *)(r + 1);
    r->to.scale = (const float *)(const void *)((char *)(r + 1) + each);
    r->to.steps = (const float *)(const void *)((char *)(r + 1) + 2 * each);
    ready_fill(p, r);
    *out = r;
    return CTSC_OK;
}

static bool ready_same(const quant_ready *a, const quant_ready *b) {
    const quant_target *x = &a->target, *y = &b->target;
    return a->in_scale == b->in_scale && x->scale == y->scale && a->in_zero == b->in_zero &&
           x->zero == y->zero && x->dt == y->dt && x->lo == y->lo && x->hi == y->hi &&
           x->fbgemm == y->fbgemm && x->whole == y->whole;
}

quant_target quant_target_of(dtype dt, double scale, int64_t zero, bool relu) {
    int64_t lo = dtype_qmin(dt);
    return (quant_target){.scale = scale,
                          .zero = zero,
                          .lo = relu ? int64_max(lo, zero) : lo,
                          .hi = dtype_qmax(dt),
                          .dt = dt,
                          .fbgemm = qengine_is_fbgemm()};
}

/* That of the first call is kept: an archive calls a layer in one place, with the same scales. */
ctsc_status quant_ready_take(op_ctx *cx, const packed *p, double in_scale, int64_t in_zero,
                             const quant_target *target, const quant_ready **ready) {
    int64_t zero = target->zero;
    uint8_t flip = target->dt == DT_QINT8 ? 128 : 0;
    quant_ready like = {.in_scale = in_scale,
                        .in_zero = in_zero,
                        .target = *target,
                        .to = {.lo = (float)(target->lo - zero),
                               .hi = (float)(target->hi - zero),
                               .zero = (int32_t)zero + flip,
                               .flip = flip}};
    _Atomic(quant_ready *) *kept = &((packed *)(uintptr_t)p)->ready;
    quant_ready *r = atomic_load_explicit(kept, memory_order_acquire), *none = NULL;
    if (r && ready_same(r, &like)) return *ready = r, CTSC_OK;
    TRY(ready_make(cx, p, &like, &r));
    atomic_compare_exchange_strong_explicit(kept, &none, r, memory_order_acq_rel,
                                            memory_order_relaxed);
    *ready = r;
    return CTSC_OK;
}

void quant_ready_give(const packed *p, const quant_ready *ready) {
    quant_ready *r = (quant_ready *)(uintptr_t)ready;
    if (r && r != atomic_load_explicit(&p->ready, memory_order_relaxed)) mem_free(r);
}

/* ---- prepack and unpack ---------------------------------------------------------------------- */

OPERATOR(quantized_linear_prepack) {
    packed *p = NULL;
    TRY(packed_linear_new(cx, args[0].u.tensor, arg_tensor_or_null(&args[1]), &p));
    return packed_object_take(cx, PACKED_LINEAR_CLASS, p, results);
}

OPERATOR(quantized_linear_prepack_fp16) {
    packed *p = NULL;
    TRY(packed_half_new(cx, args[0].u.tensor, arg_tensor_or_null(&args[1]), &p));
    return packed_object_take(cx, PACKED_LINEAR_CLASS, p, results);
}

static ctsc_status packed_arg_ints(op_ctx *cx, const value *v, int dims, int64_t *out,
                                   const char *what) {
    const int64_t *data;
    int n = arg_ints(v, &data);
    if (n != dims)
        return kernel_fail(cx, "%s should contain %d elements for %dD convolution.", what, dims,
                           dims);
    for (int i = 0; i < dims; i++) out[i] = data[i];
    return CTSC_OK;
}

/* A convolution over one dim is one over two, the first
 * of size 1, in PyTorch's packed parameters as well. */
static ctsc_status packed_widen(op_ctx *cx, tensor *w, packed_geometry *g, tensor **out) {
    if (w->ndim != 3) return kernel_fail(cx, "Weights are expected to have 3 dimensions");
    g->dims = 2;
    g->stride[1] = g->stride[0], g->padding[1] = g->padding[0], g->dilation[1] = g->dilation[0],
    g->output_padding[1] = g->output_padding[0];
    g->stride[0] = g->dilation[0] = 1, g->padding[0] = g->output_padding[0] = 0;
    tensor *view;
    TRY(tensor_unsqueeze(cx->diag, w, 2, &view));
    *out = view;
    return CTSC_OK;
}

static ctsc_status packed_conv_prepack(op_ctx *cx, const value *args, value *results, int dims,
                                       bool transposed) {
    packed_geometry g = {.dims = dims, .transposed = transposed};
    int k = 2;
    tensor *w = args[0].u.tensor, *wide = NULL;
    TRY(packed_arg_ints(cx, &args[k++], dims, g.stride, "stride"));
    TRY(packed_arg_ints(cx, &args[k++], dims, g.padding, "padding"));
    if (transposed)
        TRY(packed_arg_ints(cx, &args[k++], dims, g.output_padding,
                            "quantized::conv_prepack: output_padding"));
    TRY(packed_arg_ints(cx, &args[k++], dims, g.dilation, "dilation"));
    g.groups = arg_int(&args[k]);
    if (dims == 1) TRY(packed_widen(cx, w, &g, &wide));
    packed *p = NULL;
    ctsc_status s = packed_conv_new(cx, wide ? wide : w, arg_tensor_or_null(&args[1]), &g, &p);
    tensor_unref(wide);
    TRY(s);
    return packed_object_take(cx, dims == 3 ? PACKED_CONV3D_CLASS : PACKED_CONV2D_CLASS, p,
                              results);
}

OPERATOR(quantized_conv1d_prepack) { return packed_conv_prepack(cx, args, results, 1, false); }
OPERATOR(quantized_conv2d_prepack) { return packed_conv_prepack(cx, args, results, 2, false); }
OPERATOR(quantized_conv3d_prepack) { return packed_conv_prepack(cx, args, results, 3, false); }
OPERATOR(quantized_conv_transpose1d_prepack) {
    return packed_conv_prepack(cx, args, results, 1, true);
}
OPERATOR(quantized_conv_transpose2d_prepack) {
    return packed_conv_prepack(cx, args, results, 2, true);
}
OPERATOR(quantized_conv_transpose3d_prepack) {
    return packed_conv_prepack(cx, args, results, 3, true);
}

/* (weight, bias) of a linear layer or a convolution */
OPERATOR(packed_unpack) {
    const packed *p = packed_in(&args[0]);
    if (!p || !p->weight || p->kind == PACKED_EMBEDDING)
        return kernel_fail(cx, "%s: there is nothing to unpack", cx->op->key);
    results[0] = value_tensor_take(tensor_ref(p->weight));
    if (p->bias) results[1] = value_tensor_take(tensor_ref(p->bias));
    return CTSC_OK;
}

/* With the weight's added dim taken out again. */
OPERATOR(quantized_conv1d_unpack) {
    const packed *p;
    tensor *w;
    TRY(packed_of(cx, &args[0], PACKED_CONV, &p));
    TRY(tensor_squeeze_dim(cx->diag, p->weight, 2, &w));
    results[0] = value_tensor_take(w);
    if (p->bias) results[1] = value_tensor_take(tensor_ref(p->bias));
    return CTSC_OK;
}

static ctsc_status packed_return_ints(op_ctx *cx, const packed *p, const int64_t *from,
                                      value *results) {
    list *l = list_new(LIST_INT, TYPE_INT, 3);
    if (!l) return diag_no_memory(cx->diag);
    for (int i = 3 - p->dims; i < 3; i++) l->u.ints[l->len++] = from[i];
    return op_return(results, value_list_take(l));
}

#define PACKED_QUESTION(name, ...)                                                                 \
    OPERATOR(quantized_conv_##name) {                                                              \
        const packed *p;                                                                           \
        TRY(packed_of(cx, &args[0], PACKED_CONV, &p));                                             \
        return __VA_ARGS__;                                                                        \
    }
PACKED_QUESTION(stride, packed_return_ints(cx, p, p->stride, results))
PACKED_QUESTION(padding, packed_return_ints(cx, p, p->padding, results))
PACKED_QUESTION(output_padding, packed_return_ints(cx, p, p->output_padding, results))
PACKED_QUESTION(dilation, packed_return_ints(cx, p, p->dilation, results))
PACKED_QUESTION(groups, op_return(results, value_int(p->groups)))
PACKED_QUESTION(transpose, op_return(results, value_int(p->transposed)))

/* ---- embeddings ------------------------------------------------------------------------------ */

static ctsc_status packed_embedding_new(op_ctx *cx, tensor *weight, packed **out) {
    const quantiser *q = weight->quantiser;
    if (!q || weight->dtype != DT_QUINT8 || q->scheme != QSCHEME_CHANNEL_FLOAT || q->axis != 0 ||
        weight->ndim != 2 || q->scales->numel != weight->sizes[0])
        return kernel_fail(cx, "embedding_bag_prepack operator requires a weight of 2 dimensions, "
                               "quantized per row with "
                               "float zero points");
    packed *p = mem_zalloc(sizeof *p);
    if (!p) return diag_no_memory(cx->diag);
    p->kind = PACKED_EMBEDDING;
    p->bit_rate = 8;
    ctsc_status s = packed_keep_weight(cx, p, weight);
    if (s == CTSC_OK) *out = p;
    else packed_free(p);
    return s;
}

OPERATOR(quantized_embedding_prepack) {
    packed *p = NULL;
    TRY(packed_embedding_new(cx, args[0].u.tensor, &p));
    return packed_object_take(cx, PACKED_EMBEDDING_CLASS, p, results);
}

OPERATOR(quantized_embedding_unpack) {
    const packed *p;
    TRY(packed_of(cx, &args[0], PACKED_EMBEDDING, &p));
    return op_return_tensor(results, tensor_ref(p->weight));
}

OPERATOR(packed_bit_rate) {
    const packed *p;
    TRY(packed_of(cx, &args[0], PACKED_EMBEDDING, &p));
    return op_return(results, value_int(p->bit_rate));
}

/* ---- cells ----------------------------------------------------------------------------------- */

static ctsc_status packed_cell_new(op_ctx *cx, const char *cell_type, value ih, value hh,
                                   tensor *bias_ih, tensor *bias_hh, bool reduce_range,
                                   packed **out) {
    const packed *pi = packed_in(&ih), *ph = packed_in(&hh);
    packed_kind want = !strcmp(cell_type, "quantized_fp16") ? PACKED_LINEAR_HALF : PACKED_LINEAR;
    if (!pi || !ph || pi->kind != want || ph->kind != want)
        return kernel_fail(cx, "quantized cell parameters: the weights are not packed for %s",
                           cell_type);
    packed *p = mem_zalloc(sizeof *p);
    if (!p) return diag_no_memory(cx->diag);
    p->kind = PACKED_CELL;
    p->cell_type = cell_type;
    p->weight_ih = value_ref(ih);
    p->weight_hh = value_ref(hh);
    p->bias_ih = bias_ih ? tensor_ref(bias_ih) : NULL;
    p->bias_hh = bias_hh ? tensor_ref(bias_hh) : NULL;
    p->reduce_range = reduce_range;
    *out = p;
    return CTSC_OK;
}

OPERATOR(quantized_cell_params_dynamic) {
    packed *p = NULL;
    TRY(packed_cell_new(cx, "quantized_dynamic", args[0], args[1], args[2].u.tensor,
                        args[3].u.tensor, arg_bool(&args[4]), &p));
    return packed_object_take(cx, PACKED_CELL_CLASS, p, results);
}

OPERATOR(quantized_cell_params_fp16) {
    packed *p = NULL;
    TRY(packed_cell_new(cx, "quantized_fp16", args[0], args[1], NULL, NULL, false, &p));
    return packed_object_take(cx, PACKED_CELL_CLASS, p, results);
}

/* ---- state: out ------------------------------------------------------------------------------ */

/* Containers are filled after they were made; a failure shows at the end, in the flag. */
static value state_tensor(tensor *t) { return t ? value_tensor_take(tensor_ref(t)) : value_none(); }

static value state_list(list *l, int n, const value *items, bool *failed) {
    for (int i = 0; i < n; i++) {
        if (!l) value_unref(items[i]);
        else if (!list_append_take(l, items[i])) *failed = true;
    }
    if (l) return value_list_take(l);
    *failed = true;
    return value_none();
}

static value state_tuple(int n, const value *items, bool *failed) {
    tuple *t = tuple_new((size_t)n, NULL);
    for (int i = 0; i < n; i++) {
        if (t) t->items[i] = items[i];
        else value_unref(items[i]);
    }
    if (t) return value_tuple_take(t);
    *failed = true;
    return value_none();
}

static value state_str(const char *text, bool *failed) {
    str *s = str_new(text, strlen(text));
    if (s) return value_str_take(s);
    *failed = true;
    return value_none();
}

static value state_conv(op_ctx *cx, const packed *p, bool *failed) {
    int64_t count = 1 + 4 * p->dims + 2;
    tensor *config = NULL;
    if (tensor_new(cx->diag, DT_INT16, 1, &count, &config) != CTSC_OK) {
        *failed = true;
        return value_none();
    }
    int16_t *c = TENSOR_AT(config, int16_t);
    *c++ = (int16_t)p->dims;
    const int64_t *lists[] = {p->stride, p->padding, p->dilation, p->output_padding};
    for (int k = 0; k < 4; k++)
        for (int i = 3 - p->dims; i < 3; i++) *c++ = (int16_t)lists[k][i];
    *c++ = (int16_t)p->groups;
    *c++ = p->transposed;
    value tensors[] = {value_tensor_take(config), state_tensor(p->weight)},
          biases[] = {state_tensor(p->bias)};
    value items[] = {
        state_str("2", failed),
        state_list(list_new(LIST_TENSOR, TYPE_TENSOR, 2), 2, tensors, failed),
        state_list(list_new(LIST_VALUE, type_optional(TYPE_TENSOR), 1), 1, biases, failed)};
    return state_tuple(3, items, failed);
}

static value state_embedding(const packed *p, bool *failed) {
    value tensors[] = {state_tensor(p->weight)}, rate[] = {value_int(p->bit_rate)};
    value items[] = {value_int(1),
                     state_list(list_new(LIST_TENSOR, TYPE_TENSOR, 1), 1, tensors, failed),
                     state_list(list_new(LIST_FLOAT, TYPE_FLOAT, 0), 0, NULL, failed),
                     state_list(list_new(LIST_INT, TYPE_INT, 1), 1, rate, failed)};
    return state_tuple(4, items, failed);
}

static value state_cell(const packed *p, bool *failed) {
    bool dynamic = p->bias_ih && p->bias_hh;
    value biases[2] = {value_none(), value_none()}, range[] = {value_int(p->reduce_range)};
    value weights[] = {value_ref(p->weight_ih), value_ref(p->weight_hh)};
    if (dynamic) biases[0] = state_tensor(p->bias_ih), biases[1] = state_tensor(p->bias_hh);
    type *linear = native_class(PACKED_LINEAR_CLASS);
    value items[] = {
        state_str(p->cell_type, failed),
        state_list(list_new(LIST_TENSOR, TYPE_TENSOR, 2), dynamic ? 2 : 0, biases, failed),
        state_list(list_new(LIST_FLOAT, TYPE_FLOAT, 0), 0, NULL, failed),
        state_list(list_new(LIST_INT, TYPE_INT, 1), dynamic ? 1 : 0, range, failed),
        state_list(list_new(LIST_VALUE, linear, 2), 2, weights, failed)};
    return state_tuple(5, items, failed);
}

OPERATOR(packed_state) {
    const packed *p = packed_in(&args[0]);
    bool failed = false;
    value made;
    if (!p) return kernel_fail(cx, "the packed parameters are not set");
    switch (p->kind) {
    case PACKED_CONV: made = state_conv(cx, p, &failed); break;
    case PACKED_EMBEDDING: made = state_embedding(p, &failed); break;
    case PACKED_CELL: made = state_cell(p, &failed); break;
    default: {
        value items[] = {state_tensor(p->weight), state_tensor(p->bias)};
        made = state_tuple(2, items, &failed);
    }
    }
    if (!failed) return op_return(results, made);
    value_unref(made);
    return diag_no_memory(cx->diag);
}

/* ---- state: in ------------------------------------------------------------------------------- */

static ctsc_status state_bad(op_ctx *cx) {
    return diag_fail(cx->diag, CTSC_BAD_FILE,
                     "the state of packed parameters is not one that is known");
}

/* Element i of a tuple or a list, borrowed; None where there is none. */
static value state_item(value v, size_t i) {
    if (v.tag == V_TUPLE && i < v.u.tuple->len) return v.u.tuple->items[i];
    if (v.tag != V_LIST || i >= v.u.list->len) return value_none();
    const list *l = v.u.list;
    return l->kind == LIST_TENSOR  ? (value){.tag = V_TENSOR, .u.tensor = l->u.tensors[i]}
           : l->kind == LIST_VALUE ? l->u.values[i]
           : l->kind == LIST_INT   ? value_int(l->u.ints[i])
                                   : value_none();
}

static size_t state_length(value v) {
    return v.tag == V_TUPLE ? v.u.tuple->len : v.tag == V_LIST ? v.u.list->len : 0;
}

static bool state_is_tensor(value v) { return v.tag == V_TENSOR && v.u.tensor; }

static ctsc_status state_set_linear(op_ctx *cx, value state, packed **out) {
    value w = state_item(state, 0), b = state_item(state, 1);
    if (!state_is_tensor(w) || (b.tag != V_NONE && !state_is_tensor(b))) return state_bad(cx);
    tensor *bias = arg_tensor_or_null(&b);
    return w.u.tensor->quantiser ? packed_linear_new(cx, w.u.tensor, bias, out)
                                 : packed_half_new(cx, w.u.tensor, bias, out);
}

/* config: dims, stride..., padding..., dilation..., output_padding..., groups, transposed */
static ctsc_status state_conv_of(op_ctx *cx, int dims, size_t n, const int64_t *config, value w,
                                 value b, packed **out) {
    packed_geometry g = {.dims = dims};
    if (n != (size_t)(1 + 4 * dims + 2) || config[0] != dims || !state_is_tensor(w) ||
        (b.tag != V_NONE && !state_is_tensor(b)))
        return state_bad(cx);
    for (int i = 0; i < dims; i++) {
        g.stride[i] = config[1 + i];
        g.padding[i] = config[1 + dims + i];
        g.dilation[i] = config[1 + 2 * dims + i];
        g.output_padding[i] = config[1 + 3 * dims + i];
    }
    g.groups = config[1 + 4 * dims];
    g.transposed = config[2 + 4 * dims] != 0;
    return packed_conv_new(cx, w.u.tensor, arg_tensor_or_null(&b), &g, out);
}

enum { STATE_CONFIG = 32 };

/* The first version: lists of tensors of one int each. */
static ctsc_status state_conv_first(op_ctx *cx, value state, int dims, packed **out) {
    int64_t config[STATE_CONFIG] = {dims};
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < dims; i++) {
            value v = state_item(state_item(state, (size_t)(2 + k)), (size_t)i);
            if (!state_is_tensor(v) || v.u.tensor->numel != 1) return state_bad(cx);
            config[1 + k * dims + i] = tensor_item_int(v.u.tensor);
        }
    value groups = state_item(state, 5);
    if (!state_is_tensor(groups) || groups.u.tensor->numel != 1) return state_bad(cx);
    config[1 + 4 * dims] = tensor_item_int(groups.u.tensor);
    return state_conv_of(cx, dims, (size_t)(3 + 4 * dims), config, state_item(state, 0),
                         state_item(state, 1), out);
}

static ctsc_status state_set_conv(op_ctx *cx, value state, int dims, packed **out) {
    int64_t config[STATE_CONFIG];
    value version = state_item(state, 0), list1 = state_item(state, 1),
          list2 = state_item(state, 2);
    if (state_is_tensor(version)) return state_conv_first(cx, state, dims, out);
    if (version.tag == V_STR && !strcmp(version.u.str->bytes, "2")) {
        value c = state_item(list1, 0);
        if (!state_is_tensor(c) || c.u.tensor->ndim != 1 || c.u.tensor->numel > STATE_CONFIG ||
            c.u.tensor->dtype != DT_INT16)
            return state_bad(cx);
        for (int64_t i = 0; i < c.u.tensor->numel; i++)
            config[i] = TENSOR_AT(c.u.tensor, int16_t)[i * c.u.tensor->strides[0]];
        return state_conv_of(cx, dims, (size_t)c.u.tensor->numel, config, state_item(list1, 1),
                             state_item(list2, 0), out);
    }
    if (version.tag != V_INT || version.u.i != 3 || state_length(list1) > STATE_CONFIG)
        return state_bad(cx);
    for (size_t i = 0; i < state_length(list1); i++) {
        value v = state_item(list1, i);
        if (v.tag != V_INT) return state_bad(cx);
        config[i] = v.u.i;
    }
    return state_conv_of(cx, dims, state_length(list1), config, state_item(list2, 1),
                         state_item(list2, 2), out);
}

static ctsc_status state_set_embedding(op_ctx *cx, value state, packed **out) {
    value version = state_item(state, 0), w = state_item(state_item(state, 1), 0),
          rate = state_item(state_item(state, 3), 0);
    if (version.tag != V_INT || version.u.i != 1 || !state_is_tensor(w) || rate.tag != V_INT)
        return state_bad(cx);
    if (rate.u.i != 8)
        return diag_fail(cx->diag, CTSC_UNSUPPORTED,
                         "packed embeddings of %lld bits are not supported", (long long)rate.u.i);
    return packed_embedding_new(cx, w.u.tensor, out);
}

static ctsc_status state_set_cell(op_ctx *cx, value state, packed **out) {
    value kind = state_item(state, 0), biases = state_item(state, 1),
          range = state_item(state_item(state, 3), 0), weights = state_item(state, 4);
    if (kind.tag != V_STR) return state_bad(cx);
    bool dynamic = !strcmp(kind.u.str->bytes, "quantized_dynamic");
    if (!dynamic && strcmp(kind.u.str->bytes, "quantized_fp16"))
        return diag_fail(cx->diag, CTSC_UNSUPPORTED, "cell parameters of type %s are not supported",
                         kind.u.str->bytes);
    value ih = state_item(biases, 0), hh = state_item(biases, 1);
    if (dynamic && (!state_is_tensor(ih) || !state_is_tensor(hh))) return state_bad(cx);
    return packed_cell_new(cx, dynamic ? "quantized_dynamic" : "quantized_fp16",
                           state_item(weights, 0), state_item(weights, 1),
                           dynamic ? ih.u.tensor : NULL, dynamic ? hh.u.tensor : NULL,
                           range.tag == V_INT && range.u.i, out);
}

/* packed_set_state(object, state): once, while the object is being made */
OPERATOR(packed_set_state) {
    packed *p = NULL;
    (void)results;
    if (args[0].tag != V_OBJECT || !type_is_native(args[0].u.object->cls) ||
        !args[0].u.object->nslots)
        return state_bad(cx);
    object *o = args[0].u.object;
    const char *name = class_name(o->cls);
    if (o->slots[0].tag != V_UNINIT)
        return kernel_fail(cx, "the packed parameters are set already");
    if (!strcmp(name, PACKED_LINEAR_CLASS)) TRY(state_set_linear(cx, args[1], &p));
    else if (!strcmp(name, PACKED_CONV2D_CLASS)) TRY(state_set_conv(cx, args[1], 2, &p));
    else if (!strcmp(name, PACKED_CONV3D_CLASS)) TRY(state_set_conv(cx, args[1], 3, &p));
    else if (!strcmp(name, PACKED_EMBEDDING_CLASS)) TRY(state_set_embedding(cx, args[1], &p));
    else TRY(state_set_cell(cx, args[1], &p));
    return packed_capsule_take(cx, p, &o->slots[0]);
}
