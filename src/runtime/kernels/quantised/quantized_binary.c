/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantized_binary.c - sums and products of two quantised tensors, or of one and a number,
 * and concatenation.
 *
 * Method. With the engine qnnpack (base/qengine.h) the sum of two quint8 tensors is
 * computed in integers: each operand times its scale over the result's, as a number of 22
 * bits, and a shift that rounds halves away from zero; qint8 as its XNNPACK does. Scales that
 * differ too much for that, and qint32, go through float, as all do with the other engines. A
 * number is added or multiplied by changing scale and zero point, as far as those allow it.
 * Tests: tests/unit/test_quantized.c, tests/corpus/quantized
 */
#include "base/memory/recycle.h"
#include "base/minmax.h"
#include "runtime/kernels/quantised/quantized.h"

#include <string.h>

#define OPERATOR(name)                                                                             \
    ctsc_status op_##name(op_ctx *cx, const value *args, value *results);                          \
    ctsc_status op_##name(op_ctx *cx, const value *args, value *results)

typedef struct binary_run {
    float a_scale, b_scale, scale, inverse;
    int64_t a_zero, b_zero, zero, lo, hi;
    dtype dt;
    /* of a sum in integers */
    int32_t a_multiplier, b_multiplier, start;
    int shift;
} binary_run;

/* ---- loops ----------------------------------------------------------------------------------- */

static VECTOR_CLONES void binary_add_run(const uint8_t *a, const uint8_t *b, int64_t n,
                                         const binary_run *r, uint8_t *out) {
    int32_t am = r->a_multiplier, bm = r->b_multiplier, start = r->start, zero = (int32_t)r->zero,
            lo = (int32_t)r->lo, hi = (int32_t)r->hi;
    int shift = r->shift;
    int32_t mask = (int32_t)((1u << shift) - 1), half = mask >> 1;
    for (int64_t i = 0; i < n; i++) {
        int32_t sum = start + a[i] * am + b[i] * bm;
        int32_t rest = (sum & mask) - (sum < 0);
        int32_t q = (sum >> shift) + (rest > half) + zero;
        q = q < lo ? lo : q;
        out[i] = (uint8_t)(q > hi ? hi : q);
    }
}

static void binary_add_fixed(void *ctx, int64_t n, char *const *p, const int64_t *s) {
    const binary_run *r = ctx;
    if (s[0] == 1 && s[1] == 1 && s[2] == 1) {
        binary_add_run((const uint8_t *)p[1], (const uint8_t *)p[2], n, r, (uint8_t *)p[0]);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        binary_add_run((const uint8_t *)p[1] + i * s[1], (const uint8_t *)p[2] + i * s[2], 1, r,
                       (uint8_t *)p[0] + i * s[0]);
}

/* qint8, as PyTorch's XNNPACK does it: halves are rounded up. */
static void binary_add_signed(void *ctx, int64_t n, char *const *p, const int64_t *s) {
    const binary_run *r = ctx;
    for (int64_t i = 0; i < n; i++) {
        int32_t a = *(const int8_t *)(p[1] + i * s[1]), b = *(const int8_t *)(p[2] + i * s[2]);
        int64_t q = ((r->start + a * r->a_multiplier + b * r->b_multiplier) >> r->shift) + r->zero;
        *(int8_t *)(p[0] + i * s[0]) = (int8_t)(q < r->lo ? r->lo : q > r->hi ? r->hi : q);
    }
}

/* Rows of quint8 without gaps, on what the processor does best. Where one of the operands is the
 * same all along, it is repeated. The zero points are of 8 bits, and no result is larger than an
 * int. False: another row. */
static bool binary_bytes(const binary_run *r, bool product, int64_t n, char *const *p,
                         const int64_t *s) {
    enum { REPEATED = 512 };
    float most = product ? 512 * 512 : 512 * (r->a_scale + r->b_scale);
    if (s[0] != 1 || (s[1] != 1 && s[1]) || (s[2] != 1 && s[2]) || r->dt != DT_QUINT8 ||
        r->a_zero < 0 || r->a_zero > UINT8_MAX || r->b_zero < 0 || r->b_zero > UINT8_MAX ||
        !(most * r->inverse < 0x1p30f))
        return false;
    byte_pair pair = {.a_scale = r->a_scale,
                      .b_scale = r->b_scale,
                      .a_start = (float)-r->a_zero * r->a_scale,
                      .b_start = (float)-r->b_zero * r->b_scale,
                      .scale = r->inverse,
                      .a_zero = (float)r->a_zero,
                      .b_zero = (float)r->b_zero,
                      .zero = (int32_t)r->zero,
                      .lo = (int32_t)r->lo,
                      .hi = (int32_t)r->hi};
    const byte_rows *u = ukernel_byte_rows();
    const uint8_t *x[2] = {(const uint8_t *)p[1], (const uint8_t *)p[2]};
    uint8_t *out = (uint8_t *)p[0], repeated[2][REPEATED];
    int64_t step = s[1] && s[2] ? n : REPEATED;
    for (int k = 0; k < 2; k++)
        if (!s[k + 1] && n) x[k] = memset(repeated[k], *x[k], REPEATED);
    for (int64_t i = 0; i < n; i += step) {
        int64_t count = int64_min(step, n - i);
        (product ? u->product : u->sum)(&pair, x[0] + i * s[1], x[1] + i * s[2], count, out + i);
    }
    return true;
}

static void binary_add_float(void *ctx, int64_t n, char *const *p, const int64_t *s) {
    const binary_run *r = ctx;
    if (binary_bytes(r, false, n, p, s)) return;
    float a_start = (float)-r->a_zero * r->a_scale, b_start = (float)-r->b_zero * r->b_scale;
    for (int64_t i = 0; i < n; i++) {
        float a = fmaf(r->a_scale, (float)dtype_load_int(r->dt, p[1] + i * s[1]), a_start);
        float b = fmaf(r->b_scale, (float)dtype_load_int(r->dt, p[2] + i * s[2]), b_start);
        dtype_store_int(r->dt, p[0] + i * s[0],
                        quant_round(a + b, r->inverse, r->zero, r->lo, r->hi));
    }
}

static void binary_mul(void *ctx, int64_t n, char *const *p, const int64_t *s) {
    const binary_run *r = ctx;
    if (binary_bytes(r, true, n, p, s)) return;
    for (int64_t i = 0; i < n; i++) {
        int64_t a = dtype_load_int(r->dt, p[1] + i * s[1]) - r->a_zero,
                b = dtype_load_int(r->dt, p[2] + i * s[2]) - r->b_zero;
        dtype_store_int(
            r->dt, p[0] + i * s[0],
            quant_round((float)((double)a * (double)b), r->inverse, r->zero, r->lo, r->hi));
    }
}

/* ---- two tensors ----------------------------------------------------------------------------- */

static ctsc_status binary_check(op_ctx *cx, const tensor *a, const tensor *b, double scale,
                                int64_t zero) {
    const char *name = cx->op->key;
    TRY(quant_need_affine(cx, a, name));
    TRY(quant_need_affine(cx, b, name));
    if (a->dtype != b->dtype)
        return kernel_fail(cx, "%s operands should have same data type.", name);
    if (!(scale > 0) || isinf(scale))
        return kernel_fail(cx, "%s: output scale must be positive", name);
    if (zero < dtype_qmin((dtype)a->dtype) || zero > dtype_qmax((dtype)a->dtype))
        return kernel_fail(cx, "%s: output zero point out of range", name);
    return CTSC_OK;
}

/* Numbers for the sum in integers; false: the scales differ too much. */
static bool binary_fixed(binary_run *r) {
    float a = r->a_scale / r->scale, b = r->b_scale / r->scale, most = a > b ? a : b,
          least = a > b ? b : a;
    bool is_signed = r->dt == DT_QINT8;
    if (!(most < 0x1p8f && least >= (is_signed ? 0x1p-10f : 0x1p-14f))) return false;
    r->shift = (is_signed ? 20 : 21) - ilogbf(most);
    float unit = ldexpf(1, r->shift);
    r->a_multiplier = (int32_t)lrintf(a * unit);
    r->b_multiplier = (int32_t)lrintf(b * unit);
    r->start = -(int32_t)(r->a_multiplier * r->a_zero + r->b_multiplier * r->b_zero);
    if (is_signed) r->start += 1 << (r->shift - 1);
    return true;
}

static ctsc_status binary_sizes(op_ctx *cx, const tensor *a, const tensor *b, double scale,
                                int64_t zero, tensor **out) {
    if (tensor_same_shape(a, b)) return quant_new_affine(cx, a, (dtype)a->dtype, scale, zero, out);
    int ndim;
    int64_t sizes[TENSOR_MAX_DIMS];
    TRY(broadcast_sizes(cx->diag, a->ndim, a->sizes, b->ndim, b->sizes, &ndim, sizes));
    quantiser *q = quantiser_new(scale, zero);
    if (!q) return diag_no_memory(cx->diag);
    const tensor *like = a->numel > b->numel || (a->numel == b->numel && a->ndim >= b->ndim) ? a
                                                                                             : b;
    ctsc_status s = quant_new_sizes(cx, like, ndim, sizes, (dtype)a->dtype, q, out);
    quantiser_unref(q);
    return s;
}

/* ---- a number for each channel --------------------------------------------------------------- */

typedef struct channel_job {
    const uint8_t *x;
    uint8_t *out, *repeated;
    int64_t size, rows; /* of an image, of repeated ones */
    int64_t channels;
    iter_kernel kernel;
    binary_run *run;
    bool flipped; /* the channels' bytes are the first operand */
} channel_job;

static void channel_rows(void *ctx, int64_t begin, int64_t end) {
    static const int64_t steps[] = {1, 1, 1};
    const channel_job *j = ctx;
    for (int64_t i = begin; i < end; i++) {
        int64_t at = i * j->rows * j->channels, n = int64_min(j->rows * j->channels, j->size - at);
        char *p[] = {(char *)j->out + at, (char *)j->repeated, (char *)j->repeated};
        p[j->flipped ? 2 : 1] = (char *)(uintptr_t)(j->x + at);
        j->kernel(j->run, n, p, steps);
    }
}

/* One operand is a byte for each channel of the other's images, whose channels come last: rows of
 * them, repeated, meet many places at once. False: it is not, or there is no memory. */
static bool binary_per_channel(tensor *out, const tensor *a, const tensor *b, iter_kernel kernel,
                               binary_run *r) {
    enum { TOGETHER = 4096 };
    bool flipped = a->numel < b->numel;
    const tensor *images = flipped ? b : a;
    if (flipped) b = a, a = images;
    int64_t n = a->numel, c = a->ndim > 1 ? a->sizes[1] : 0;
    if (r->dt != DT_QUINT8 || !n || c >= TOGETHER || b->ndim != a->ndim || b->numel == n ||
        b->sizes[0] != a->sizes[0] || b->sizes[1] != c || b->numel != a->sizes[0] * c ||
        b->strides[1] != 1 || !quant_channels_last(a) || !quant_channels_last(out))
        return false;
    channel_job j = {.size = n / a->sizes[0],
                     .rows = TOGETHER / c,
                     .channels = c,
                     .kernel = kernel,
                     .run = r,
                     .flipped = flipped};
    if (!(j.repeated = recycle_alloc(TOGETHER))) return false;
    for (int64_t i = 0; i < a->sizes[0]; i++) {
        const uint8_t *channel = TENSOR_AT(b, uint8_t) + i * b->strides[0];
        j.x = TENSOR_AT(a, uint8_t) + i * j.size;
        j.out = TENSOR_AT(out, uint8_t) + i * j.size;
        for (int64_t k = 0; k < j.rows; k++) memcpy(j.repeated + k * c, channel, (size_t)c);
        pool_for((j.size / c + j.rows - 1) / j.rows, kernel_grain(TOGETHER), channel_rows, &j);
    }
    recycle_free(j.repeated, TOGETHER);
    return true;
}

static ctsc_status binary_to(op_ctx *cx, const value *args, bool product, const quant_target *to,
                             value *results) {
    tensor *a = args[0].u.tensor, *b = args[1].u.tensor, *out;
    double scale = to->scale;
    int64_t zero = to->zero;
    TRY(binary_check(cx, a, b, scale, zero));
    TRY(binary_sizes(cx, a, b, scale, zero, &out));
    dtype dt = (dtype)a->dtype;
    binary_run r = {.a_scale = (float)a->quantiser->scale,
                    .b_scale = (float)b->quantiser->scale,
                    .scale = (float)scale,
                    .inverse = 1 / (float)scale,
                    .a_zero = a->quantiser->zero_point,
                    .b_zero = b->quantiser->zero_point,
                    .zero = zero,
                    .lo = to->lo,
                    .hi = to->hi,
                    .dt = dt};
    iter_kernel kernel = product ? binary_mul : binary_add_float;
    if (product) r.inverse = r.a_scale * r.b_scale * r.inverse;
    else if (!to->fbgemm && dt != DT_QINT32 && binary_fixed(&r))
        kernel = dt == DT_QINT8 ? binary_add_signed : binary_add_fixed;
    tensor *operands[] = {out, a, b};
    if (!binary_per_channel(out, a, b, kernel, &r))
        iter_run(out->ndim, out->sizes, 3, operands, kernel, &r, 0);
    return op_return_tensor(results, out);
}

static ctsc_status binary_op(op_ctx *cx, const value *args, double scale, int64_t zero,
                             bool product, bool relu, value *results) {
    const tensor *a = args[0].u.tensor;
    TRY(quant_need_affine(cx, a, cx->op->key));
    quant_target to = quant_target_of((dtype)a->dtype, scale, zero, relu);
    return binary_to(cx, args, product, &to, results);
}

/* quantised_add(self, other, scale, zero_point, least, most) */
OPERATOR(quantised_add) {
    quant_target to = {.dt = DT_QUINT8, .fbgemm = true};
    TRY(quant_target_args(cx, args + 2, &to));
    return binary_to(cx, args, false, &to, results);
}
OPERATOR(quantised_mul) {
    quant_target to = {.dt = DT_QUINT8, .fbgemm = true};
    TRY(quant_target_args(cx, args + 2, &to));
    return binary_to(cx, args, true, &to, results);
}

OPERATOR(quantized_add) {
    return binary_op(cx, args, arg_float(&args[2]), arg_int(&args[3]), false, false, results);
}
OPERATOR(quantized_add_relu) {
    return binary_op(cx, args, arg_float(&args[2]), arg_int(&args[3]), false, true, results);
}
OPERATOR(quantized_mul) {
    return binary_op(cx, args, arg_float(&args[2]), arg_int(&args[3]), true, false, results);
}
OPERATOR(quantized_mul_relu) {
    return binary_op(cx, args, arg_float(&args[2]), arg_int(&args[3]), true, true, results);
}

/* The out= forms take scale and zero point from out. */
static ctsc_status binary_out(op_ctx *cx, const value *args, bool product, bool relu,
                              value *results) {
    const tensor *out = args[2].u.tensor;
    value made = value_none();
    TRY(quant_need_affine(cx, out, cx->op->key));
    TRY(binary_op(cx, args, out->quantiser->scale, out->quantiser->zero_point, product, relu,
                  &made));
    return op_finish_out(cx, &args[2], made.u.tensor, results);
}

OPERATOR(quantized_add_out) { return binary_out(cx, args, false, false, results); }
OPERATOR(quantized_add_relu_out) { return binary_out(cx, args, false, true, results); }
OPERATOR(quantized_mul_out) { return binary_out(cx, args, true, false, results); }
OPERATOR(quantized_mul_relu_out) { return binary_out(cx, args, true, true, results); }

/* ---- a line for each channel ----------------------------------------------------------------- */

typedef struct line_job {
    const uint8_t *x;
    uint8_t *out;
    int64_t size, run; /* in all, and of a run: whole rows of channels */
    byte_line line;
    const byte_rows *rows;
} line_job;

static void line_runs(void *ctx, int64_t begin, int64_t end) {
    const line_job *j = ctx;
    for (int64_t at = begin * j->run; at < int64_min(end * j->run, j->size); at += j->run)
        j->rows->line(&j->line, j->x + at, int64_min(j->run, j->size - at), j->out + at);
}

/* quantised_line(x, factors, starts, scale, zero_point, least, most): rint(q * factor + start) +
 * zero_point for integers q, by channel */
OPERATOR(quantised_line) {
    enum { TOGETHER = 1024 };
    tensor *x = args[0].u.tensor, *wide = NULL, *last = NULL, *out = NULL;
    const tensor *factor = args[1].u.tensor, *start = args[2].u.tensor;
    quant_target to = {.dt = DT_QUINT8};
    TRY(quant_target_args(cx, args + 3, &to));
    TRY(quant_need_affine(cx, x, cx->op->key));
    int64_t c = x->ndim > 1 ? x->sizes[1] : 0;
    bool line = factor->dtype == DT_FLOAT32 && start->dtype == DT_FLOAT32 && factor->numel == c &&
                start->numel == c && tensor_is_contiguous(factor) && tensor_is_contiguous(start);
    if (x->dtype != DT_QUINT8 || !line || x->ndim > 5)
        return kernel_fail(cx,
                           "%s: expected quint8 of two to five dims, and a line for each channel",
                           cx->op->key);
    ctsc_status st = CTSC_OK;
    float *placed = NULL;
    size_t room = 0;
    if (x->ndim == 3) TRY_OUT(tensor_unsqueeze(cx->diag, x, 3, &wide));
    if (x->ndim == 2) TRY_OUT(tensor_contiguous(cx->diag, x, &last));
    else TRY_OUT(quant_to_channels_last(cx, wide ? wide : x, &last));
    TRY_OUT(quant_new_affine(cx, last, DT_QUINT8, to.scale, to.zero, &out));
    if (x->ndim > 2) quant_last_strides(out->ndim, out->sizes, out->strides);
    line_job j = {.x = tensor_data(last),
                  .out = tensor_data(out),
                  .size = out->numel,
                  .run = c * int64_max(1, TOGETHER / int64_max(1, c)),
                  .rows = ukernel_byte_rows()};
    int64_t block = 4 * j.rows->lanes, places = (j.run + block - 1) / block * block;
    room = (size_t)places * 2 * sizeof *placed;
    if (!(placed = recycle_alloc(room))) TRY_OUT(diag_no_memory(cx->diag));
    for (int64_t i = 0; i < places && c; i++) {
        int64_t at = (i / block * block + quant_place_channel(j.rows->lanes, i % block)) % c;
        placed[i] = TENSOR_AT(factor, float)[at];
        placed[places + i] = TENSOR_AT(start, float)[at];
    }
    j.line = (byte_line){placed, placed + places, (int32_t)to.zero, (int32_t)to.lo, (int32_t)to.hi};
    if (j.size) pool_for((j.size + j.run - 1) / j.run, kernel_grain(j.run), line_runs, &j);
    if (wide) {
        tensor *thin;
        TRY_OUT(tensor_squeeze_dim(cx->diag, out, 3, &thin));
        tensor_unref(out);
        out = thin;
    }
out:
    tensor_unref(wide);
    if (placed) recycle_free(placed, room);
    tensor_unref(last);
    if (st == CTSC_OK) return op_return_tensor(results, out);
    tensor_unref(out);
    return st;
}

/* ---- a tensor and a number ------------------------------------------------------------------- */

/* (element - zero point + c) requantised from one scale to another. */
typedef struct number_run {
    float multiplier;
    int64_t from, c, zero, lo, hi;
    int64_t mirror; /* not 0: the result is this less the element */
    bool mirrored;
    dtype dt;
} number_run;

static void number_elements(void *ctx, int64_t n, char *const *p, const int64_t *s) {
    const number_run *r = ctx;
    for (int64_t i = 0; i < n; i++) {
        int64_t q = dtype_load_int(r->dt, p[1] + i * s[1]);
        if (r->mirrored) q = r->mirror - q;
        else if (r->multiplier != 0)
            q = quant_round((float)(q - r->from + r->c), r->multiplier, r->zero, r->lo, r->hi);
        dtype_store_int(r->dt, p[0] + i * s[0], q < r->lo ? r->lo : q > r->hi ? r->hi : q);
    }
}

static ctsc_status number_finish(op_ctx *cx, tensor *x, number_run *r, double scale, int64_t zero,
                                 bool relu, value *results) {
    tensor *out;
    r->dt = (dtype)x->dtype;
    r->zero = zero;
    r->lo = relu ? int64_max(dtype_qmin(r->dt), zero) : dtype_qmin(r->dt);
    r->hi = dtype_qmax(r->dt);
    r->from = x->quantiser->zero_point;
    TRY(quant_new_affine(cx, x, r->dt, scale, zero, &out));
    tensor *operands[] = {out, x};
    iter_run(out->ndim, out->sizes, 2, operands, number_elements, r, 0);
    return op_return_tensor(results, out);
}

static ctsc_status number_add(op_ctx *cx, tensor *x, double number, bool relu, value *results) {
    TRY(quant_need_affine(cx, x, cx->op->key));
    const quantiser *q = x->quantiser;
    int64_t lo = dtype_qmin((dtype)x->dtype), hi = dtype_qmax((dtype)x->dtype),
            zero = q->zero_point;
    if (!isfinite(number / q->scale) || fabs(number / q->scale) > 0x1p31)
        return kernel_fail(cx, "%s: the number is out of range", cx->op->key);
    number_run r = {.c = (int64_t)nearbyint(number / q->scale)};
    int64_t moved = zero - r.c;
    double scale = q->scale;
    if (lo > moved) {
        scale = (double)(float)(double)(hi - moved) / (double)(hi - lo) * q->scale;
        moved = lo;
    } else if (hi < moved) {
        scale = (double)(float)(double)(moved - lo) / (double)(hi - lo) * q->scale;
        moved = hi;
    } else {
        return number_finish(cx, x, &r, scale, moved, relu, results);
    }
    r.multiplier = (float)q->scale * (1 / (float)scale);
    return number_finish(cx, x, &r, scale, moved, relu, results);
}

static ctsc_status number_mul(op_ctx *cx, tensor *x, double number, bool relu, value *results) {
    TRY(quant_need_affine(cx, x, cx->op->key));
    const quantiser *q = x->quantiser;
    int64_t lo = dtype_qmin((dtype)x->dtype), hi = dtype_qmax((dtype)x->dtype);
    if (!isfinite(number)) return kernel_fail(cx, "%s: the number is out of range", cx->op->key);
    number_run r = {0};
    if (number > 0)
        return number_finish(cx, x, &r, number * q->scale, q->zero_point, relu, results);
    r.mirrored = true;
    r.mirror = hi + lo;
    if (number < 0)
        return number_finish(cx, x, &r, fabs(number) * q->scale, hi - (q->zero_point - lo), relu,
                             results);
    r.mirrored = false;
    r.multiplier = 1e-30f; /* everything becomes the zero point */
    return number_finish(cx, x, &r, 1, 0, false, results);
}

static double number_of(const value *v) {
    return v->tag == V_TENSOR ? tensor_item_float(v->u.tensor) : arg_float(v);
}

static ctsc_status number_check(op_ctx *cx, const value *v) {
    if (v->tag != V_TENSOR || (v->u.tensor->numel == 1 && !v->u.tensor->quantiser)) return CTSC_OK;
    return kernel_fail(cx, "%s: expected a tensor of one number", cx->op->key);
}

#define NUMBER(name, fn, relu)                                                                     \
    OPERATOR(quantized_##name) {                                                                   \
        TRY(number_check(cx, &args[1]));                                                           \
        return fn(cx, args[0].u.tensor, number_of(&args[1]), relu, results);                       \
    }                                                                                              \
    OPERATOR(quantized_##name##_reversed) {                                                        \
        TRY(number_check(cx, &args[0]));                                                           \
        return fn(cx, args[1].u.tensor, number_of(&args[0]), relu, results);                       \
    }
NUMBER(add_scalar, number_add, false)
NUMBER(add_scalar_relu, number_add, true)
NUMBER(mul_scalar, number_mul, false)
NUMBER(mul_scalar_relu, number_mul, true)

/* ---- concatenation --------------------------------------------------------------------------- */

static bool cat_is(const tensor *t, const quantiser *to) {
    return t->quantiser->scale == to->scale && t->quantiser->zero_point == to->zero_point;
}

/* x, of another scale and zero point. */
static ctsc_status cat_round(op_ctx *cx, const tensor *x, const quantiser *to, tensor **out) {
    tensor *floats;
    TRY(quant_dequantise(cx, x, &floats));
    ctsc_status s = quant_quantise(cx, floats, (dtype)x->dtype, to->scale, to->zero_point, out);
    tensor_unref(floats);
    return s;
}

/* What each byte of t becomes. */
static ctsc_status cat_table(op_ctx *cx, const tensor *t, const quantiser *to, tensor **table) {
    int64_t size = UINT8_MAX + 1;
    tensor *every;
    TRY(tensor_new_quantised(cx->diag, DT_QUINT8, 1, &size, t->quantiser, &every));
    for (int i = 0; i <= UINT8_MAX; i++) TENSOR_AT(every, uint8_t)[i] = (uint8_t)i;
    ctsc_status s = cat_round(cx, every, to, table);
    tensor_unref(every);
    return s;
}

/* t with another scale and zero point: itself (a reference) if it has them. */
static ctsc_status cat_requantise(op_ctx *cx, tensor *t, const quantiser *to, tensor **out) {
    tensor *table;
    if (cat_is(t, to)) return *out = tensor_ref(t), CTSC_OK;
    if (t->dtype != DT_QUINT8 || t->numel <= UINT8_MAX + 1) return cat_round(cx, t, to, out);
    TRY(cat_table(cx, t, to, &table));
    ctsc_status s = quant_new_affine(cx, t, DT_QUINT8, to->scale, to->zero_point, out);
    if (s == CTSC_OK) quant_table(t, TENSOR_AT(table, uint8_t), *out);
    tensor_unref(table);
    return s;
}

/* Images whose channels come last, side by side: pixel by pixel. */
typedef struct cat_job {
    const uint8_t *x, *table; /* table: NULL: none */
    uint8_t *out;
    int64_t channels, pitch; /* of a pixel, in out from one to the next */
} cat_job;

static void cat_pixels(void *ctx, int64_t begin, int64_t end) {
    const cat_job *j = ctx;
    void (*table)(const uint8_t *, const uint8_t *, int64_t,
                  uint8_t *) = ukernel_byte_rows()->table;
    const uint8_t *x = j->x + begin * j->channels;
    uint8_t *out = j->out + begin * j->pitch;
    for (int64_t i = begin; i < end; i++, x += j->channels, out += j->pitch)
        if (j->table) table(j->table, x, j->channels, out);
        else memcpy(out, x, (size_t)j->channels);
}

static ctsc_status cat_images(op_ctx *cx, tensor *out, int64_t *at, const tensor *t) {
    tensor *table = NULL;
    cat_job j = {.x = tensor_data(t),
                 .out = TENSOR_AT(out, uint8_t) + *at,
                 .channels = t->sizes[1],
                 .pitch = out->sizes[1]};
    if (!cat_is(t, out->quantiser)) {
        TRY(cat_table(cx, t, out->quantiser, &table));
        j.table = tensor_data(table);
    }
    if (t->numel) pool_for(t->numel / j.channels, kernel_grain(j.channels), cat_pixels, &j);
    tensor_unref(table);
    *at += j.channels;
    return CTSC_OK;
}

static ctsc_status cat_copy(op_ctx *cx, tensor *out, int64_t dim, int64_t *at, tensor *part) {
    tensor *place;
    TRY(tensor_slice(cx->diag, out, dim, *at, *at + part->sizes[dim], 1, &place));
    ctsc_status s = tensor_copy(cx->diag, place, part);
    tensor_unref(place);
    *at += part->sizes[dim];
    return s;
}

static ctsc_status cat_check(op_ctx *cx, const list *l, int64_t dim, int64_t *sizes) {
    const tensor *first = l->u.tensors[0];
    memcpy(sizes, first->sizes, (size_t)first->ndim * sizeof *sizes);
    sizes[dim] = 0;
    for (size_t i = 0; i < l->len; i++) {
        const tensor *t = l->u.tensors[i];
        TRY(quant_need_affine(cx, t, "quantized::cat"));
        if (t->dtype != first->dtype) return kernel_fail(cx, "All dtypes must be the same.");
        if (t->ndim != first->ndim)
            return kernel_fail(cx, "Tensors must have same number of dimensions: got %d and %d",
                               first->ndim, t->ndim);
        for (int k = 0; k < t->ndim; k++)
            if (k != dim && t->sizes[k] != first->sizes[k])
                return kernel_fail(cx,
                                   "Sizes of tensors must match except in dimension %lld. Expected "
                                   "size %lld but got size "
                                   "%lld for tensor number %zu in the list.",
                                   (long long)dim, (long long)first->sizes[k],
                                   (long long)t->sizes[k], i);
        if (__builtin_add_overflow(sizes[dim], t->sizes[dim], &sizes[dim]))
            return diag_no_memory(cx->diag);
    }
    return CTSC_OK;
}

static ctsc_status cat_run(op_ctx *cx, const list *l, int64_t dim_arg, const value *scale_arg,
                           const value *zero_arg, unsigned relu, value *results) {
    int64_t sizes[TENSOR_MAX_DIMS], at = 0;
    int dim;
    tensor *out;
    if (l->kind != LIST_TENSOR || !l->len)
        return kernel_fail(cx, "quantized::cat: expected a non-empty list of Tensors");
    tensor *first = l->u.tensors[0];
    if (!first->quantiser || !first->ndim)
        return kernel_fail(cx, "Only per-tensor quantization is supported in 'cat'!");
    TRY(tensor_wrap_dim(cx->diag, dim_arg, first->ndim, &dim));
    TRY(cat_check(cx, l, dim, sizes));
    double scale = scale_arg && scale_arg->tag != V_NONE ? arg_float(scale_arg)
                                                         : first->quantiser->scale;
    int64_t zero = zero_arg && zero_arg->tag != V_NONE ? arg_int(zero_arg)
                                                       : first->quantiser->zero_point;
    if (!(scale > 0) || zero < dtype_qmin((dtype)first->dtype) ||
        zero > dtype_qmax((dtype)first->dtype))
        return kernel_fail(cx, "quantized::cat: scale or zero point out of range");
    quantiser *q = quantiser_new(scale, zero);
    if (!q) return diag_no_memory(cx->diag);
    ctsc_status s = quant_new_sizes(cx, first, first->ndim, sizes, (dtype)first->dtype, q, &out);
    quantiser_unref(q);
    TRY(s);
    bool images = dim == 1 && out->dtype == DT_QUINT8 && quant_channels_last(out);
    for (size_t i = 0; i < l->len && s == CTSC_OK; i++) {
        tensor *part, *t = l->u.tensors[i];
        if (images && quant_channels_last(t)) {
            s = cat_images(cx, out, &at, t);
            continue;
        }
        s = cat_requantise(cx, t, out->quantiser, &part);
        if (s != CTSC_OK) break;
        s = cat_copy(cx, out, dim, &at, part);
        tensor_unref(part);
    }
    value in = value_tensor_take(out);
    if (s == CTSC_OK && relu) {
        op_ctx inner = *cx;
        inner.op = op_find("aten::relu");
        s = inner.op && inner.op->quantised ? inner.op->quantised(&inner, &in, results)
                                            : CTSC_INTERNAL;
        value_unref(in);
        return s;
    }
    if (s == CTSC_OK) return op_return(results, in);
    value_unref(in);
    return s;
}

OPERATOR(quantized_cat) {
    return cat_run(cx, args[0].u.list, arg_int(&args[1]), &args[2], &args[3], false, results);
}
OPERATOR(quantized_cat_relu) {
    return cat_run(cx, args[0].u.list, arg_int(&args[1]), &args[2], &args[3], true, results);
}
OPERATOR(quantised_cat) {
    return cat_run(cx, args[0].u.list, arg_int(&args[1]), NULL, NULL, false, results);
}

/* stack(tensors, dim) */
OPERATOR(quantised_stack) {
    const list *l = args[0].u.list;
    int64_t dim = arg_int(&args[1]);
    if (l->kind != LIST_TENSOR || !l->len)
        return kernel_fail(cx, "stack expects a non-empty TensorList");
    list *wide = list_new(LIST_TENSOR, TYPE_TENSOR, l->len);
    if (!wide) return diag_no_memory(cx->diag);
    int at = 0;
    ctsc_status s = tensor_wrap_dim(cx->diag, dim, l->u.tensors[0]->ndim + 1, &at);
    for (size_t i = 0; i < l->len && s == CTSC_OK; i++) {
        tensor *t;
        if (!tensor_same_shape(l->u.tensors[0], l->u.tensors[i]))
            s = kernel_fail(cx, "stack expects each tensor to be equal size");
        else if ((s = tensor_unsqueeze(cx->diag, l->u.tensors[i], at, &t)) == CTSC_OK &&
                 !list_append_take(wide, value_tensor_take(t)))
            s = diag_no_memory(cx->diag);
    }
    if (s == CTSC_OK) s = cat_run(cx, wide, at, NULL, NULL, false, results);
    value_unref(value_list_take(wide));
    return s;
}
