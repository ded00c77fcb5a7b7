/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantized_plain.c - numbers as plain integers and back (ONNX's QuantizeLinear and
 * DequantizeLinear, torch.export's quantized_decomposed), and plain integers as quantised tensors.
 *
 *     quantize     rint(x / scale) + zero, between the bounds of the integers
 *     dequantize   (q - zero) * scale
 *
 * Rounding is to nearest even and comes before the zero point is added. ONNX divides by the scale,
 * quantized_decomposed multiplies by its reciprocal. Scales and zero points are of the whole tensor
 * or of the indices of one dim. What these loops have no case for (blocks, other floats, integers
 * of other sizes) is left to the operators' bodies in TorchScript.
 *
 * The pass `quantise` (passes/quantise/quantise.h) sees integers as tensors of quint8:
 * ctsc::quantised makes one of plain integers, ctsc::quantised_ints takes the integers out again.
 * Signed ones are moved by 128, unsigned ones are shared.
 * Tests: tests/unit/test_quantized_plain.c, tests/onnx
 */
#include "runtime/kernels/quantised/quantized.h"

#include <string.h>

#define OPERATOR(name)                                                                             \
    ctsc_status op_##name(op_ctx *cx, const value *args, value *results);                          \
    ctsc_status op_##name(op_ctx *cx, const value *args, value *results)

/* One scale and zero point, and how numbers become integers with them. */
typedef struct plain_run {
    float scale;
    bool divide;  /* by the scale; else x is multiplied by `scale`, which is the reciprocal */
    float lo, hi; /* of the integers, less the zero point */
    int32_t zero;
    dtype dt;
} plain_run;

/* ---- numbers to integers --------------------------------------------------------------------- */

#define PLAIN_QUANTISE(T, name)                                                                    \
    static VECTOR_CLONES void plain_quantise_##name(const plain_run *r, const float *x, int64_t n, \
                                                    T *out) {                                      \
        float scale = r->scale, lo = r->lo, hi = r->hi;                                            \
        int32_t zero = r->zero;                                                                    \
        if (r->divide)                                                                             \
            for (int64_t i = 0; i < n; i++) {                                                      \
                float v = rintf(x[i] / scale);                                                     \
                v = v > hi ? hi : v;                                                               \
                v = v > lo ? v : lo;                                                               \
                out[i] = (T)((int32_t)v + zero);                                                   \
            }                                                                                      \
        else                                                                                       \
            for (int64_t i = 0; i < n; i++) {                                                      \
                float v = rintf(x[i] * scale);                                                     \
                v = v > hi ? hi : v;                                                               \
                v = v > lo ? v : lo;                                                               \
                out[i] = (T)((int32_t)v + zero);                                                   \
            }                                                                                      \
    }
PLAIN_QUANTISE(uint8_t, u8)
PLAIN_QUANTISE(int16_t, s16)

static void plain_quantise_some(const plain_run *r, const float *x, int64_t n, void *out) {
    if (dtype_size(r->dt) == 1) plain_quantise_u8(r, x, n, out); /* the low bytes */
    else plain_quantise_s16(r, x, n, out);
}

static void plain_quantise_run(void *ctx, int64_t n, char *const *p, const int64_t *s) {
    const plain_run *r = ctx;
    if (s[0] == (int64_t)dtype_size(r->dt) && s[1] == (int64_t)sizeof(float)) {
        plain_quantise_some(r, (const float *)(void *)p[1], n, p[0]);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        plain_quantise_some(r, (const float *)(void *)(p[1] + i * s[1]), 1, p[0] + i * s[0]);
}

/* ---- integers to numbers --------------------------------------------------------------------- */

#define PLAIN_DEQUANTISE(T, name)                                                                  \
    static VECTOR_CLONES void plain_dequantise_##name(const plain_run *r, const T *q, int64_t n,   \
                                                      float *out) {                                \
        float scale = r->scale;                                                                    \
        int32_t zero = r->zero;                                                                    \
        for (int64_t i = 0; i < n; i++) out[i] = (float)(q[i] - zero) * scale;                     \
    }
PLAIN_DEQUANTISE(uint8_t, u8)
PLAIN_DEQUANTISE(int8_t, s8)
PLAIN_DEQUANTISE(int16_t, s16)
PLAIN_DEQUANTISE(uint16_t, u16)

static void plain_dequantise_some(const plain_run *r, const void *q, int64_t n, float *out) {
    switch (r->dt) {
    case DT_UINT8: plain_dequantise_u8(r, q, n, out); return;
    case DT_INT8: plain_dequantise_s8(r, q, n, out); return;
    case DT_INT16: plain_dequantise_s16(r, q, n, out); return;
    case DT_UINT16: plain_dequantise_u16(r, q, n, out); return;
    default: { /* int32, whose difference may need more bits */
        const int32_t *from = q;
        for (int64_t i = 0; i < n; i++) out[i] = ((float)from[i] - (float)r->zero) * r->scale;
    }
    }
}

static void plain_dequantise_run(void *ctx, int64_t n, char *const *p, const int64_t *s) {
    const plain_run *r = ctx;
    if (s[0] == (int64_t)sizeof(float) && s[1] == (int64_t)dtype_size(r->dt)) {
        plain_dequantise_some(r, p[1], n, (float *)(void *)p[0]);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        plain_dequantise_some(r, p[1] + i * s[1], 1, (float *)(void *)(p[0] + i * s[0]));
}

/* ---- parameters ------------------------------------------------------------------------------ */

/* How a call is done: one run for each index of dim `axis`; -1: one for all. */
typedef struct plain_call {
    tensor *x, *out;
    const tensor *scale, *zero; /* zero: NULL, of 8, 16 or 32 bits, or int64 */
    int axis;
    int64_t lo, hi;
    dtype dt; /* of the integers */
    bool quantise, divide;
} plain_call;

/* Of zero points. */
static bool plain_is_integer(dtype dt) {
    return dt == DT_UINT8 || dt == DT_INT8 || dt == DT_INT16 || dt == DT_UINT16 || dt == DT_INT32;
}

/* What plain_dequantise_some knows. */
static bool plain_is_stored(dtype dt) { return plain_is_integer(dt) && dt != DT_INT64; }

static int64_t plain_number_at(const tensor *t, int64_t i) {
    int64_t step = t->numel == 1 ? 0 : t->strides[0];
    return dtype_load_int((dtype)t->dtype, (const char *)tensor_data(t) +
                                               i * step * (int64_t)dtype_size((dtype)t->dtype));
}

static float plain_scale_at(const tensor *t, int64_t i) {
    int64_t step = t->numel == 1 ? 0 : t->strides[0];
    return (float)dtype_load_float((dtype)t->dtype,
                                   (const char *)tensor_data(t) +
                                       i * step * (int64_t)dtype_size((dtype)t->dtype));
}

/* Do these loops do it? Scales are one, or as many as the dim has indices. */
static bool plain_fits(plain_call *c, int64_t axis) {
    const tensor *s = c->scale, *z = c->zero;
    if ((s->dtype != DT_FLOAT32 && s->dtype != DT_FLOAT64) || tensor_device(s) != DEVICE_HOST ||
        (z && (z->numel != s->numel || !plain_is_integer((dtype)z->dtype))))
        return false;
    c->axis = -1;
    if (s->numel == 1) return true;
    if (axis < 0) axis += c->x->ndim;
    c->axis = (int)axis;
    return s->ndim == 1 && (!z || z->ndim == 1) && axis >= 0 && axis < c->x->ndim &&
           c->x->sizes[axis] == s->numel;
}

static plain_run plain_run_of(const plain_call *c, int64_t i) {
    int64_t zero = c->zero ? plain_number_at(c->zero, i) : 0;
    float scale = plain_scale_at(c->scale, i);
    return (plain_run){.scale = c->quantise && !c->divide ? 1 / scale : scale,
                       .divide = c->divide,
                       .lo = (float)(c->lo - zero),
                       .hi = (float)(c->hi - zero),
                       .zero = (int32_t)zero,
                       .dt = c->dt};
}

static ctsc_status plain_call_run(op_ctx *cx, plain_call *c) {
    iter_kernel kernel = c->quantise ? plain_quantise_run : plain_dequantise_run;
    ctsc_status s = CTSC_OK;
    for (int64_t i = 0; i < (c->axis < 0 ? 1 : c->x->sizes[c->axis]) && s == CTSC_OK; i++) {
        plain_run r = plain_run_of(c, i);
        tensor *operands[2] = {c->out, c->x}, *part[2] = {0};
        for (int k = 0; k < 2 && c->axis >= 0 && s == CTSC_OK; k++)
            s = tensor_select(cx->diag, operands[k], c->axis, i, &part[k]);
        if (s == CTSC_OK) {
            if (c->axis >= 0) memcpy(operands, part, sizeof part);
            iter_run(operands[0]->ndim, operands[0]->sizes, 2, operands, kernel, &r, 0);
        }
        tensor_unref(part[0]);
        tensor_unref(part[1]);
    }
    return s;
}

/* The result, of x's sizes and order of elements, and what is in it. */
static ctsc_status plain_compute(op_ctx *cx, plain_call *c, dtype made, value *results) {
    TRY(quant_new_like(cx, c->x, made, NULL, &c->out));
    ctsc_status s = plain_call_run(cx, c);
    if (s == CTSC_OK) return op_return_tensor(results, c->out);
    tensor_unref(c->out);
    return s;
}

static void plain_bounds(plain_call *c) {
    bool wide = dtype_size(c->dt) == 2, is_signed = c->dt == DT_INT8 || c->dt == DT_INT16;
    c->hi = wide ? (is_signed ? INT16_MAX : UINT16_MAX) : is_signed ? INT8_MAX : UINT8_MAX;
    c->lo = is_signed ? -c->hi - 1 : 0;
}

/* What the operator is in TorchScript. */
static ctsc_status plain_body(op_ctx *cx, const value *args, value *results) {
    return op_host_installed->composite(cx, args, results);
}

/* ---- ONNX ------------------------------------------------------------------------------------ */

/* onnx_quantize(x, scale, zero, axis, type, precision) */
OPERATOR(onnx_quantize) {
    plain_call c = {.x = args[0].u.tensor,
                    .scale = args[1].u.tensor,
                    .zero = arg_tensor_or_null(&args[2]),
                    .quantise = true,
                    .divide = true};
    c.dt = c.zero ? (dtype)c.zero->dtype : (dtype)arg_int(&args[4]);
    bool known = c.dt == DT_UINT8 || c.dt == DT_INT8 || c.dt == DT_INT16 || c.dt == DT_UINT16;
    if (!known || c.x->dtype != DT_FLOAT32 || c.scale->dtype != DT_FLOAT32 || arg_int(&args[5]) ||
        !plain_fits(&c, arg_int(&args[3])))
        return plain_body(cx, args, results);
    plain_bounds(&c);
    return plain_compute(cx, &c, c.dt, results);
}

/* onnx_dequantize(x, scale, zero, axis) */
OPERATOR(onnx_dequantize) {
    plain_call c = {
        .x = args[0].u.tensor, .scale = args[1].u.tensor, .zero = arg_tensor_or_null(&args[2])};
    c.dt = (dtype)c.x->dtype;
    if (!plain_is_stored(c.dt) || c.scale->dtype != DT_FLOAT32 ||
        (c.zero && c.zero->dtype != c.dt) || !plain_fits(&c, arg_int(&args[3])))
        return plain_body(cx, args, results);
    return plain_compute(cx, &c, DT_FLOAT32, results);
}

/* ---- torch.export ---------------------------------------------------------------------------- */

/* The scale and zero point of a call that has them as numbers. */
typedef struct plain_numbers { tensor *scale, *zero; } plain_numbers;

static ctsc_status plain_numbers_of(op_ctx *cx, const value *args, plain_numbers *n) {
    TRY(tensor_scalar_float(cx->diag, DT_FLOAT64, arg_float(&args[1]), &n->scale));
    ctsc_status s = tensor_scalar_int(cx->diag, DT_INT64, arg_int(&args[2]), &n->zero);
    if (s != CTSC_OK) tensor_unref(n->scale);
    return s;
}

/* Bounds that the integers' dtype has room for, and zero points of their size. */
static bool plain_narrow(const plain_call *c) {
    int64_t n = c->zero ? c->zero->numel : 0;
    plain_call most = *c;
    plain_bounds(&most);
    for (int64_t i = 0; i < n; i++) {
        int64_t zero = plain_number_at(c->zero, i);
        if (zero < INT16_MIN || zero > UINT16_MAX) return false;
    }
    return c->lo <= c->hi && c->lo >= most.lo && c->hi <= most.hi;
}

/* at: of quant_min, quant_max and dtype among the arguments */
static ctsc_status plain_decomposed(op_ctx *cx, const value *args, plain_call *c, int64_t axis,
                                    int at, value *results) {
    c->x = args[0].u.tensor;
    c->lo = arg_int(&args[at]);
    c->hi = arg_int(&args[at + 1]);
    c->dt = (dtype)arg_int(&args[at + 2]);
    bool small = c->dt == DT_UINT8 || c->dt == DT_INT8 || c->dt == DT_INT16 || c->dt == DT_UINT16,
         fits = small && plain_narrow(c) && plain_fits(c, axis);
    if (c->quantise)
        return fits && c->x->dtype == DT_FLOAT32 ? plain_compute(cx, c, c->dt, results)
                                                 : plain_body(cx, args, results);
    const value *to = &args[at + 3];
    return fits && c->x->dtype == c->dt && arg_int_or(to, DT_FLOAT32) == DT_FLOAT32
               ? plain_compute(cx, c, DT_FLOAT32, results)
               : plain_body(cx, args, results);
}

static ctsc_status plain_per_tensor(op_ctx *cx, const value *args, bool quantise, value *results) {
    plain_numbers n;
    TRY(plain_numbers_of(cx, args, &n));
    plain_call c = {.scale = n.scale, .zero = n.zero, .quantise = quantise};
    ctsc_status s = plain_decomposed(cx, args, &c, 0, 3, results);
    tensor_unref(n.scale);
    tensor_unref(n.zero);
    return s;
}

static ctsc_status plain_per_channel(op_ctx *cx, const value *args, bool quantise, value *results) {
    plain_call c = {
        .scale = args[1].u.tensor, .zero = arg_tensor_or_null(&args[2]), .quantise = quantise};
    /* with one scale it is a dim all the same, whose size the body checks */
    if (c.scale->ndim != 1 || c.scale->numel == 1 || c.scale->dtype != DT_FLOAT32)
        return plain_body(cx, args, results);
    return plain_decomposed(cx, args, &c, arg_int(&args[3]), 4, results);
}

OPERATOR(decomposed_quantize) { return plain_per_tensor(cx, args, true, results); }
OPERATOR(decomposed_dequantize) { return plain_per_tensor(cx, args, false, results); }
OPERATOR(decomposed_quantize_channels) { return plain_per_channel(cx, args, true, results); }
OPERATOR(decomposed_dequantize_channels) { return plain_per_channel(cx, args, false, results); }

/* ---- what results become --------------------------------------------------------------------- */

ctsc_status quant_target_args(op_ctx *cx, const value *args, quant_target *to) {
    to->scale = arg_float(&args[0]);
    to->zero = arg_int(&args[1]);
    to->lo = arg_int(&args[2]);
    to->hi = arg_int(&args[3]);
    to->whole = true;
    if (!((float)to->scale > 0) || isinf((float)to->scale) || to->zero < dtype_qmin(to->dt) ||
        to->zero > dtype_qmax(to->dt) || to->lo < dtype_qmin(to->dt) ||
        to->hi > dtype_qmax(to->dt) || to->lo > to->hi)
        return kernel_fail(cx, "%s: scale, zero point or bounds out of range", cx->op->key);
    return CTSC_OK;
}

/* ---- plain integers as quantised tensors ----------------------------------------------------- */

static VECTOR_CLONES void plain_flip_bytes(const uint8_t *x, int64_t n, uint8_t *out) {
    for (int64_t i = 0; i < n; i++) out[i] = x[i] ^ 128;
}

static void plain_flip_run(void *ctx, int64_t n, char *const *p, const int64_t *s) {
    (void)ctx;
    if (s[0] == 1 && s[1] == 1) {
        plain_flip_bytes((const uint8_t *)p[1], n, (uint8_t *)p[0]);
        return;
    }
    for (int64_t i = 0; i < n; i++) p[0][i * s[0]] = (char)(p[1][i * s[1]] ^ 128);
}

/* t's bytes under another dtype of 8 bits: shared, or in a tensor of their own and moved by 128. */
static ctsc_status plain_as(op_ctx *cx, tensor *t, dtype dt, bool moved, tensor **out) {
    if (!moved) {
        TRY(tensor_alias(cx->diag, t, out));
        (*out)->dtype = (uint8_t)dt;
        tensor_set_quantiser_take(*out, NULL);
        return CTSC_OK;
    }
    TRY(quant_new_like(cx, t, dt, NULL, out));
    tensor *operands[] = {*out, t};
    iter_run(t->ndim, t->sizes, 2, operands, plain_flip_run, NULL, 0);
    return CTSC_OK;
}

/* quantised(ints, scale, zero_point): the zero point is that of the integers as they are */
OPERATOR(quantised) {
    tensor *t = args[0].u.tensor, *out;
    bool moved = t->dtype == DT_INT8;
    int64_t zero = arg_int(&args[2]) + (moved ? 128 : 0);
    if (t->dtype != DT_UINT8 && t->dtype != DT_INT8)
        return kernel_fail(cx, "%s: expected integers of 8 bits, got %s", cx->op->key,
                           dtype_table[t->dtype].ir_name);
    quantiser *q = quantiser_new(arg_float(&args[1]), zero);
    if (!q) return diag_no_memory(cx->diag);
    ctsc_status s = plain_as(cx, t, DT_QUINT8, moved, &out);
    if (s != CTSC_OK) return quantiser_unref(q), s;
    tensor_set_quantiser_take(out, q);
    return op_return_tensor(results, out);
}

/* quantised_ints(self, scale, zero_point, type): the latter are the integers' */
OPERATOR(quantised_ints) {
    tensor *t = args[0].u.tensor, *out;
    dtype dt = (dtype)arg_int(&args[3]);
    TRY(quant_need_affine(cx, t, cx->op->key));
    if (t->dtype != DT_QUINT8 || (dt != DT_UINT8 && dt != DT_INT8))
        return kernel_fail(cx, "%s: expected integers of 8 bits", cx->op->key);
    TRY(plain_as(cx, t, dt, dt == DT_INT8, &out));
    return op_return_tensor(results, out);
}

/* quantised_table(x, table, scale, zero_point): table[q] for each integer q of x */
OPERATOR(quantised_table) {
    tensor *x = args[0].u.tensor, *table = args[1].u.tensor, *out;
    TRY(quant_need_affine(cx, x, cx->op->key));
    if (x->dtype != DT_QUINT8 || table->dtype != DT_UINT8 || table->ndim != 1 ||
        table->numel != 256 || !tensor_is_contiguous(table))
        return kernel_fail(cx, "%s: expected quint8 and a table of 256 bytes", cx->op->key);
    TRY(quant_new_affine(cx, x, DT_QUINT8, arg_float(&args[2]), arg_int(&args[3]), &out));
    quant_table(x, TENSOR_AT(table, uint8_t), out);
    return op_return_tensor(results, out);
}
