/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantized_linear.c - linear layers with packed weights: of quantised
 * inputs, and of float inputs that are quantised in the call.
 *
 * Method. Rows of the input are unsigned bytes, padded to whole quads; blocks of
 * rows times panels of columns are the chunks that threads share. The dynamic form
 * computes scale and zero point from the smallest and largest input, as uint8 or
 * as its lower half (a reduced range, so that pairs of products do not overflow 16
 * bits on processors without byte dot products; the engine qnnpack ignores it).
 * Tests: tests/unit/test_quantized_bytes.c, tests/unit/test_quantized.c, tests/corpus/quantized
 */
#include "base/memory/recycle.h"
#include "base/minmax.h"
#include "runtime/kernels/quantised/quantized.h"

#include <string.h>

#define OPERATOR(name)                                                                             \
    ctsc_status op_##name(op_ctx *cx, const value *args, value *results);                          \
    ctsc_status op_##name(op_ctx *cx, const value *args, value *results)

typedef struct linear_job {
    const uint8_t *a;
    int64_t rows, lda;
    const quad_matrix *m;
    const quant_ready *ready;
    const quant_floats *floats; /* NULL: the result is bytes, */
    const int32_t *sums;        /* or, with what they begin with, sums */
    char *out;
    int64_t shares; /* of the panels */
    int64_t block;  /* rows */
    const int64_t *segment;
    bool small;                    /* quad_tile.small */
    const quad_outliers *outliers; /* of each block, or NULL */
} linear_job;

enum { LINEAR_WORK = 1 << 20 };
static const int64_t linear_segment[3] = {0}; /* of each set */

/* Chunks are blocks of rows, and within those pairs of panels. */
static void linear_chunks(void *ctx, int64_t begin, int64_t end) {
    const linear_job *j = ctx;
    quad_hold hold = {0};
    for (int64_t chunk = begin; chunk < end; chunk++) {
        int64_t panel = chunk % j->shares * j->m->kernels->panels,
                row = chunk / j->shares * j->block, column = panel * QUAD_COLUMNS;
        quant_bytes to = {0};
        if (!j->sums) {
            to = j->ready->to;
            to.scale += column;
            to.steps += column;
        }
        quad_strip s = {.a = j->a + row * j->lda,
                        .end = j->a + j->rows * j->lda,
                        .rows = int64_min(j->block, j->rows - row),
                        .lda = j->lda,
                        .segment = j->segment,
                        .small = j->small,
                        .outliers = j->outliers ? j->outliers + chunk / j->shares : NULL,
                        .start = (j->sums ? j->sums : j->ready->start) + column,
                        .bytes = j->floats || j->sums ? NULL : &to,
                        .floats = j->floats,
                        .ldc = j->m->n,
                        .column = column};
        s.out = j->out + (row * j->m->n + column) * (j->floats || j->sums ? 4 : 1);
        quad_strip_run(j->m, 0, panel, int64_min(panel + j->m->kernels->panels, j->m->panels), &s,
                       &hold);
    }
    quad_release(&hold);
}

/* Rows that are clipped, and what each block of them lacks (quad_clips). */
typedef struct linear_clipped {
    const uint8_t *a;
    const quad_matrix *m;
    int64_t rows, lda, block, blocks;
    uint8_t *clipped;
    quad_outliers *outliers; /* per block */
    void *memory;            /* with all of them, */
    size_t size;
    _Atomic(bool) many; /* more outliers than are worth it */
} linear_clipped;

static void linear_clip_blocks(void *ctx, int64_t begin, int64_t end) {
    linear_clipped *c = ctx;
    for (int64_t b = begin; b < end && !atomic_load_explicit(&c->many, memory_order_relaxed); b++) {
        int64_t first = b * c->block, rows = int64_min(c->block, c->rows - first), n[2] = {0};
        for (int64_t r = 0; r < rows; r++)
            if (!c->m->kernels->clip(&c->outliers[b], r, r + 1, c->a + (first + r) * c->lda,
                                     c->clipped + (first + r) * c->lda, n)) {
                atomic_store_explicit(&c->many, true, memory_order_relaxed);
                return;
            }
    }
}

/* False: the rows are multiplied as they are. */
static bool linear_clip(linear_clipped *c, int64_t zero) {
    int64_t unit = c->m->quads * QUAD_BYTES, lists = quad_outliers_bytes(c->block, unit), all, copy;
    if (__builtin_add_overflow(lists, (int64_t)sizeof *c->outliers, &all) ||
        __builtin_mul_overflow(all, c->blocks, &all) ||
        __builtin_mul_overflow(c->rows, c->lda, &copy) ||
        __builtin_add_overflow(all, copy, &c->size) || !(c->memory = recycle_alloc(c->size)))
        return false;
    c->outliers = c->memory;
    char *memory = (char *)(c->outliers + c->blocks);
    for (int64_t b = 0; b < c->blocks; b++) {
        quad_outliers o = quad_outliers_in(c->block, unit, zero, memory + b * lists);
        o.width = o.step = 1;
        o.segment = linear_segment;
        o.segments = c->m->sets;
        c->outliers[b] = o;
    }
    c->clipped = (uint8_t *)memory + c->blocks * lists;
    pool_for(c->blocks, kernel_grain(c->block * c->lda), linear_clip_blocks, c);
    return !c->many;
}

/* a: unsigned bytes with this zero point. */
static void linear_run(const uint8_t *a, int64_t zero, int64_t rows, int64_t lda, const packed *p,
                       const quant_ready *ready, const int32_t *sums, const quant_floats *floats,
                       void *out) {
    const quad_matrix *m = &p->panels;
    linear_job j = {.a = a,
                    .rows = rows,
                    .lda = lda,
                    .m = m,
                    .ready = ready,
                    .floats = floats,
                    .sums = sums,
                    .out = out,
                    .shares = (m->panels + m->kernels->panels - 1) / m->kernels->panels,
                    .block = quad_block_rows(m, lda),
                    .segment = linear_segment};
    int64_t blocks = (rows + j.block - 1) / j.block,
            work = int64_min(rows, j.block) * m->quads * QUAD_PANEL * m->kernels->panels;
    linear_clipped c = {
        .a = a, .m = m, .rows = rows, .lda = lda, .block = j.block, .blocks = blocks};
    const quad_kernels *u = quad_vectors(m->kernels);
    j.small = u->small && u->small(a, rows * lda);
    if (!j.small && quad_clips(m, m->quads * QUAD_BYTES) && linear_clip(&c, zero))
        j.a = c.clipped, j.outliers = c.outliers;
    pool_for(blocks * j.shares, int64_max(1, LINEAR_WORK / int64_max(work, 1)), linear_chunks, &j);
    recycle_free(c.memory, c.size);
}

/* ---- rows of the input ----------------------------------------------------------------------- */

typedef struct linear_rows_job {
    const void *x;
    uint8_t *out;
    int64_t k, lda;
    bool is_float;
    int32_t zero_point;
    float inverse; /* of a float x: 1 / scale */
} linear_rows_job;

static VECTOR_CLONES void linear_quantise(const float *x, int64_t n, float inverse, int32_t zero,
                                          uint8_t *out) {
    float lo = (float)-zero, hi = (float)(255 - zero);
    for (int64_t i = 0; i < n; i++) {
        float v = rintf(x[i] * inverse);
        v = v > hi ? hi : v;
        v = v > lo ? v : lo;
        out[i] = (uint8_t)((int32_t)v + zero);
    }
}

static void linear_fill_rows(void *ctx, int64_t begin, int64_t end) {
    const linear_rows_job *j = ctx;
    for (int64_t r = begin; r < end; r++) {
        uint8_t *out = j->out + r * j->lda;
        if (j->is_float)
            linear_quantise((const float *)j->x + r * j->k, j->k, j->inverse, j->zero_point, out);
        else memcpy(out, (const uint8_t *)j->x + r * j->k, (size_t)j->k);
        memset(out + j->k, 0, (size_t)(j->lda - j->k));
    }
}

/* Bytes from one of x's rows to the next as they are multiplied. */
static int64_t linear_pitch(const quad_matrix *m, const tensor *x) {
    return quad_pitch(m->kernels, x->numel / int64_max(m->k, 1), m->quads * QUAD_BYTES);
}

/* x (contiguous; float, or unsigned bytes) as rows of whole quads; recycle_free(*out, *size)
 * gives them back. */
static ctsc_status linear_rows(op_ctx *cx, const tensor *x, int64_t k, int64_t lda, float inverse,
                               int64_t zero_point, uint8_t **out, size_t *size) {
    int64_t rows = k ? x->numel / k : 0;
    if (!size_mul((size_t)rows, (size_t)lda, size)) return diag_no_memory(cx->diag);
    uint8_t *a = recycle_alloc(*size);
    if (!a) return diag_no_memory(cx->diag);
    linear_rows_job j = {tensor_data(x),      a,      k, lda, x->dtype == DT_FLOAT32,
                         (int32_t)zero_point, inverse};
    pool_for(rows, kernel_grain(k), linear_fill_rows, &j);
    *out = a;
    return CTSC_OK;
}

/* ---- the operators --------------------------------------------------------------------------- */

static ctsc_status linear_check(op_ctx *cx, const packed *p, const tensor *x, const char *what) {
    if (x->ndim < 1)
        return kernel_fail(cx, "The dimension of the input tensor for %s should be larger than 0.",
                           what);
    if (x->sizes[x->ndim - 1] != p->weight->sizes[1])
        return kernel_fail(
            cx,
            "%s(): input size does not match weight dimension 1 size: got %lld but expected %lld",
            what, (long long)x->sizes[x->ndim - 1], (long long)p->weight->sizes[1]);
    return CTSC_OK;
}

/* The result's shape: x's with out_features at the end. */
static ctsc_status linear_result(op_ctx *cx, const packed *p, const tensor *x, dtype dt,
                                 tensor **out) {
    int64_t sizes[TENSOR_MAX_DIMS];
    for (int i = 0; i < x->ndim; i++) sizes[i] = x->sizes[i];
    sizes[x->ndim - 1] = p->out_features;
    return tensor_new(cx->diag, dt, x->ndim, sizes, out);
}

/* inputs of no elements: the bias alone, without even a sum */
static void linear_no_input(tensor *out, const packed *p) {
    float *o = TENSOR_AT(out, float);
    for (int64_t i = 0; i < out->numel; i++)
        o[i] = p->bias ? TENSOR_AT(p->bias, float)[i % p->out_features] : 0;
}

/* What sums begin with, and what they are multiplied with, by place. */
static VECTOR_CLONES void linear_dynamic_scales(const quad_matrix *m, const float *weight_scale,
                                                float scale, int32_t zero, int32_t *start,
                                                float *out) {
    const int32_t *sums = m->sums;
    int64_t n = m->n, places = m->panels * QUAD_COLUMNS;
    for (int64_t i = 0; i < places; i++)
        start[i] = (int32_t)(0 - (uint32_t)zero * (uint32_t)sums[i]);
    for (int64_t i = 0; i < n; i++) out[i] = weight_scale[i] * scale;
    for (int64_t i = n; i < places; i++) out[i] = 0;
}

static ctsc_status quant_linear_dynamic(op_ctx *cx, const packed *p, tensor *x, bool relu,
                                        bool reduce_range, tensor **out) {
    tensor *flat = NULL, *made = NULL;
    uint8_t *a = NULL;
    int32_t *start = NULL;
    float lo, hi;
    quant_params qp;
    if (x->dtype != DT_FLOAT32)
        return kernel_fail(cx,
                           "quantized::linear_dynamic: data type of input should be float, got %s",
                           dtype_table[x->dtype].ir_name);
    TRY(linear_check(cx, p, x, "quantized_linear_dynamic"));
    const quad_matrix *m = &p->panels;
    int64_t lda = linear_pitch(m, x);
    size_t size = 0, places = (size_t)(m->panels * QUAD_COLUMNS), room = places * 2 * sizeof(float);
    ctsc_status st = tensor_contiguous(cx->diag, x, &flat);
    if (st == CTSC_OK) st = linear_result(cx, p, x, DT_FLOAT32, &made);
    if (st != CTSC_OK || !flat->numel) goto out;
    quant_range(flat, &lo, &hi);
    TRY_OUT(quant_choose(cx, lo, hi, 0, reduce_range && qengine_is_fbgemm() ? 127 : 255, &qp));
    if (!(start = recycle_alloc(room))) TRY_OUT(diag_no_memory(cx->diag));
    float *scale = (float *)(void *)(start + places);
    linear_dynamic_scales(m, p->weight_scale, (float)qp.scale, (int32_t)qp.zero_point, start,
                          scale);
    TRY_OUT(linear_rows(cx, flat, m->k, lda, 1 / (float)qp.scale, qp.zero_point, &a, &size));
    quant_floats store = {.scale = scale,
                          .bias = p->bias ? TENSOR_AT(p->bias, float) : NULL,
                          .relu = relu,
                          .fused = qengine_is_fbgemm()};
    linear_run(a, qp.zero_point, flat->numel / m->k, lda, p, NULL, start, &store,
               tensor_data(made));
out:
    if (st == CTSC_OK && !flat->numel) linear_no_input(made, p);
    tensor_unref(flat);
    recycle_free(a, size);
    recycle_free(start, room);
    if (st == CTSC_OK) *out = made;
    else tensor_unref(made);
    return st;
}

static ctsc_status quant_linear_half(op_ctx *cx, const packed *p, tensor *x, bool relu,
                                     tensor **out) {
    value args[] = {value_tensor_take(x), value_tensor_take(p->weight),
                    p->bias ? value_tensor_take(p->bias) : value_none()},
          r = value_none();
    TRY(linear_check(cx, p, x, "quantized_linear_dynamic_fp16"));
    TRY(op_call(cx, "aten::linear", 3, args, &r));
    if (relu) {
        value in = r;
        r = value_none();
        ctsc_status s = op_call(cx, "aten::relu", 1, &in, &r);
        value_unref(in);
        TRY(s);
    }
    *out = r.u.tensor;
    return CTSC_OK;
}

/* The weight decides how it is done, not the operator's name: cells of recurrent layers call
 * linear_dynamic with floats of 16 bits, too. */
static ctsc_status linear_object(op_ctx *cx, const value *v, tensor *x, bool relu,
                                 bool reduce_range, tensor **out) {
    const packed *p = packed_in(v);
    if (!p || p->kind != PACKED_LINEAR_HALF) TRY(packed_of(cx, v, PACKED_LINEAR, &p));
    return p->kind == PACKED_LINEAR_HALF ? quant_linear_half(cx, p, x, relu, out)
                                         : quant_linear_dynamic(cx, p, x, relu, reduce_range, out);
}

ctsc_status quant_linear_object(op_ctx *cx, const value *v, tensor *x, bool reduce_range,
                                tensor **out) {
    return linear_object(cx, v, x, false, reduce_range, out);
}

static ctsc_status linear_dynamic(op_ctx *cx, const value *args, bool relu, bool reduce_range,
                                  value *results) {
    tensor *out;
    TRY(linear_object(cx, &args[1], args[0].u.tensor, relu, reduce_range, &out));
    return op_return_tensor(results, out);
}

OPERATOR(quantized_linear_dynamic) {
    return linear_dynamic(cx, args, false, arg_bool(&args[2]), results);
}
OPERATOR(quantized_linear_relu_dynamic) {
    return linear_dynamic(cx, args, true, arg_bool(&args[2]), results);
}
OPERATOR(quantized_linear_dynamic_fp16) { return linear_dynamic(cx, args, false, false, results); }
OPERATOR(quantized_linear_relu_dynamic_fp16) {
    return linear_dynamic(cx, args, true, false, results);
}

static ctsc_status linear_static(op_ctx *cx, const packed *p, tensor *x, const quant_target *to,
                                 tensor **out) {
    tensor *flat = NULL, *bytes = NULL, *made = NULL;
    uint8_t *a = NULL;
    size_t size = 0;
    const quant_ready *ready = NULL;
    const quad_matrix *m = &p->panels;
    int64_t lda = linear_pitch(m, x), zero = quant_unsigned_zero(x);
    ctsc_status st = tensor_contiguous(cx->diag, x, &flat);
    if (st == CTSC_OK) st = linear_result(cx, p, x, to->dt, &made);
    if (st != CTSC_OK) goto out;
    made->quantiser = quantiser_new(to->scale, to->zero);
    if (!made->quantiser) TRY_OUT(diag_no_memory(cx->diag));
    if (!made->numel) goto out;
    TRY_OUT(quant_unsigned(cx, flat, &bytes));
    TRY_OUT(quant_ready_take(cx, p, x->quantiser->scale, zero, to, &ready));
    if (lda > m->k) TRY_OUT(linear_rows(cx, bytes, m->k, lda, 0, zero, &a, &size));
    linear_run(a ? a : tensor_data(bytes), zero, made->numel / m->n, lda, p, ready, NULL, NULL,
               tensor_data(made));
out:
    tensor_unref(flat);
    tensor_unref(bytes);
    recycle_free(a, size);
    quant_ready_give(p, ready);
    if (st == CTSC_OK) *out = made;
    else tensor_unref(made);
    return st;
}

/* linear(X, packed, scale, zero_point) */
static ctsc_status linear_op(op_ctx *cx, const value *args, value *results, bool relu) {
    const packed *p;
    tensor *x = args[0].u.tensor, *out;
    int64_t zero = arg_int(&args[3]);
    TRY(packed_of(cx, &args[1], PACKED_LINEAR, &p));
    TRY(quant_need_affine(cx, x, "quantized::linear"));
    if (x->dtype != DT_QUINT8 && x->dtype != DT_QINT8)
        return kernel_fail(cx, "quantized::linear: Expected activation data type QUInt8 but got %s",
                           dtype_table[x->dtype].ir_name);
    TRY(linear_check(cx, p, x, "quantized::linear"));
    if (zero < dtype_qmin((dtype)x->dtype) || zero > dtype_qmax((dtype)x->dtype))
        return kernel_fail(cx, "quantized::linear: output zero point out of range");
    quant_target to = quant_target_of((dtype)x->dtype, arg_float(&args[2]), zero, relu);
    TRY(linear_static(cx, p, x, &to, &out));
    return op_return_tensor(results, out);
}

/* quantised_linear(self, packed, scale, zero_point, least, most) */
OPERATOR(quantised_linear) {
    const packed *p;
    tensor *x = args[0].u.tensor, *out;
    quant_target to = {.dt = DT_QUINT8, .fbgemm = true};
    TRY(quant_target_args(cx, args + 2, &to));
    TRY(packed_of(cx, &args[1], PACKED_LINEAR, &p));
    TRY(quant_need_affine(cx, x, cx->op->key));
    if (x->dtype != DT_QUINT8) return kernel_fail(cx, "%s: expected quint8", cx->op->key);
    TRY(linear_check(cx, p, x, cx->op->key));
    TRY(linear_static(cx, p, x, &to, &out));
    return op_return_tensor(results, out);
}

OPERATOR(quantized_linear) { return linear_op(cx, args, results, false); }
OPERATOR(quantized_linear_relu) { return linear_op(cx, args, results, true); }

/* ---- integers, to sums or numbers ------------------------------------------------------------ */

/* One number for each of n columns: those of t, or its one. */
static ctsc_status numbers_spread(op_ctx *cx, const tensor *t, int64_t n, float *out) {
    if (t->dtype != DT_FLOAT32 || (t->numel != 1 && t->numel != n) || !tensor_is_contiguous(t))
        return kernel_fail(cx, "%s: scales and biases are one float, or one for each column",
                           cx->op->key);
    for (int64_t i = 0; i < n; i++) out[i] = TENSOR_AT(t, float)[t->numel == 1 ? 0 : i];
    return CTSC_OK;
}

ctsc_status quant_numbers(op_ctx *cx, const int32_t *sums, int64_t places, int64_t n, int64_t zero,
                          const value *args, int32_t *start, float *scale, quant_floats *to) {
    const tensor *s = arg_tensor_or_null(&args[0]), *b = arg_tensor_or_null(&args[1]);
    for (int64_t i = 0; i < places; i++)
        start[i] = (int32_t)(0 - (uint32_t)zero * (uint32_t)sums[i]);
    if (!s) return CTSC_OK;
    TRY(numbers_spread(cx, s, n, scale));
    if (b) TRY(numbers_spread(cx, b, n, scale + n));
    *to = (quant_floats){.scale = scale, .bias = b ? scale + n : NULL};
    return CTSC_OK;
}

/* integer_linear(self, packed, zero_point, scale, bias): the sums of products of plain integers,
 * less their zero point; with a scale their numbers, with the bias. */
OPERATOR(integer_linear) {
    const packed *p;
    tensor *x = args[0].u.tensor, *flat = NULL, *bytes = NULL, *made = NULL;
    const tensor *z = arg_tensor_or_null(&args[2]);
    bool moved = x->dtype == DT_INT8, numbers = !arg_is_none(&args[3]);
    uint8_t *a = NULL;
    size_t size = 0;
    quant_floats store;
    TRY(packed_of(cx, &args[1], PACKED_LINEAR, &p));
    TRY(linear_check(cx, p, x, cx->op->key));
    if ((x->dtype != DT_UINT8 && !moved) || (z && (z->numel != 1 || z->dtype != x->dtype)))
        return kernel_fail(cx, "%s: expected integers of 8 bits and a zero point of theirs",
                           cx->op->key);
    const quad_matrix *m = &p->panels;
    int64_t lda = linear_pitch(m, x), zero = (z ? tensor_item_int(z) : 0) + (moved ? 128 : 0);
    size_t places = (size_t)(m->panels * QUAD_COLUMNS), room = places * 3 * sizeof(int32_t);
    int32_t *start = recycle_alloc(room);
    if (!start) return diag_no_memory(cx->diag);
    ctsc_status st = quant_numbers(cx, m->sums, (int64_t)places, m->n, zero, args + 3, start,
                                   (float *)(void *)(start + places), &store);
    if (st == CTSC_OK) st = tensor_contiguous(cx->diag, x, &flat);
    if (st == CTSC_OK) st = linear_result(cx, p, x, numbers ? DT_FLOAT32 : DT_INT32, &made);
    if (st != CTSC_OK || !made->numel) goto out;
    TRY_OUT(quant_unsigned(cx, flat, &bytes));
    if (lda > m->k) TRY_OUT(linear_rows(cx, bytes, m->k, lda, 0, zero, &a, &size));
    linear_run(a ? a : tensor_data(bytes), zero, made->numel / m->n, lda, p, NULL, start,
               numbers ? &store : NULL, tensor_data(made));
out:
    tensor_unref(flat);
    tensor_unref(bytes);
    recycle_free(a, size);
    recycle_free(start, room);
    if (st == CTSC_OK) return op_return_tensor(results, made);
    tensor_unref(made);
    return st;
}
