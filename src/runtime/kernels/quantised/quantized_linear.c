/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantized_linear.c - linear layers with packed weights: of quantised inputs, and of float inputs
 * that are quantised on the way.
 *
 * Method. Rows of the input become int16 less the zero point; blocks of rows times panels of
 * columns are the pieces that threads share. The dynamic form takes scale and zero point from the
 * smallest and largest input, as uint8 or as its lower half (a reduced range, so that pairs of
 * products do not overflow 16 bits on processors without better; the engine qnnpack ignores it).
 * Tests: tests/unit/test_quantized.c, tests/corpus/quantized
 */
#include "runtime/kernels/quantised/quantized.h"

#define OPERATOR(name)                                                                             \
    ctsc_status op_##name(op_ctx *cx, const value *args, value *results);                          \
    ctsc_status op_##name(op_ctx *cx, const value *args, value *results)

typedef struct linear_job {
    const int16_t *a;
    int64_t rows, lda;
    const quant_matrix *m;
    const quant_store *store;
    char *out;
    int64_t item, panels, row_blocks;
} linear_job;

enum { LINEAR_ROWS = 16 * QUANT_ROWS };

/* Pieces are blocks of rows, and within those the panels. */
static void linear_pieces(void *ctx, int64_t begin, int64_t end) {
    const linear_job *j = ctx;
    int32_t sums[QUANT_ROWS][QUANT_COLUMNS];
    for (int64_t piece = begin; piece < end; piece++) {
        int64_t panel = piece % j->panels, first = piece / j->panels * LINEAR_ROWS,
                last = nn_min(first + LINEAR_ROWS, j->rows);
        int64_t column = panel * QUANT_COLUMNS, n = nn_min(QUANT_COLUMNS, j->m->n - column);
        for (int64_t r = first; r < last; r += QUANT_ROWS) {
            int rows = (int)nn_min(QUANT_ROWS, last - r);
            quant_tile(j->a + r * j->lda, j->lda, rows, j->m, panel, sums);
            for (int i = 0; i < rows; i++)
                quant_store_row(j->store, sums[i], column, n,
                                j->out + ((r + i) * j->m->n + column) * j->item);
        }
    }
}

static void linear_run(const int16_t *a, int64_t rows, const quant_matrix *m,
                       const quant_store *store, void *out) {
    linear_job j = {.a = a,
                    .rows = rows,
                    .lda = m->pairs * 2,
                    .m = m,
                    .store = store,
                    .out = out,
                    .item = store->to_float ? 4 : 1};
    j.panels = (m->n + QUANT_COLUMNS - 1) / QUANT_COLUMNS;
    j.row_blocks = (rows + LINEAR_ROWS - 1) / LINEAR_ROWS;
    int64_t work = nn_min(rows, LINEAR_ROWS) * m->pairs * 2 * QUANT_COLUMNS;
    pool_for(j.row_blocks * j.panels, nn_max(1, 1000000 / nn_max(work, 1)), linear_pieces, &j);
}

/* ---- rows of the input ----------------------------------------------------------------------- */

typedef struct linear_widen_job {
    const void *x;
    int16_t *out;
    int64_t k, lda;
    dtype dt;
    int32_t zero_point;
    float inverse; /* of a float x: 1 / scale */
} linear_widen_job;

static NN_HOT void linear_widen_floats(const float *x, int64_t n, float inverse, float lo, float hi,
                                       int16_t *out) {
    for (int64_t i = 0; i < n; i++) {
        float v = rintf(x[i] * inverse);
        v = v > hi ? hi : v;
        v = v > lo ? v : lo;
        out[i] = (int16_t)(int32_t)v;
    }
}

static void linear_widen_rows(void *ctx, int64_t begin, int64_t end) {
    const linear_widen_job *j = ctx;
    for (int64_t r = begin; r < end; r++) {
        int16_t *out = j->out + r * j->lda;
        int32_t zero = j->zero_point;
        if (j->dt == DT_FLOAT32) {
            linear_widen_floats((const float *)j->x + r * j->k, j->k, j->inverse, (float)-zero,
                                (float)(255 - zero), out);
        } else if (j->dt == DT_QUINT8) {
            const uint8_t *x = (const uint8_t *)j->x + r * j->k;
            for (int64_t i = 0; i < j->k; i++) out[i] = (int16_t)(x[i] - zero);
        } else {
            const int8_t *x = (const int8_t *)j->x + r * j->k;
            for (int64_t i = 0; i < j->k; i++) out[i] = (int16_t)(x[i] - zero);
        }
        if (j->lda > j->k) out[j->k] = 0;
    }
}

/* x (contiguous, float or quantised) as rows for the product; mem_free gives them back. */
static ctsc_status linear_widen(op_ctx *cx, const tensor *x, int64_t k, int64_t lda, float inverse,
                                int64_t zero_point, int16_t **out) {
    int64_t rows = k ? x->numel / k : 0, count;
    if (__builtin_mul_overflow(rows, lda * 2, &count)) return diag_no_memory(cx->diag);
    int16_t *a = mem_alloc((size_t)count + 1);
    if (!a) return diag_no_memory(cx->diag);
    linear_widen_job j = {tensor_data(x), a, k, lda, (dtype)x->dtype, (int32_t)zero_point, inverse};
    pool_for(rows, nn_grain(k), linear_widen_rows, &j);
    *out = a;
    return CTSC_OK;
}

/* ---- the operators --------------------------------------------------------------------------- */

static ctsc_status linear_check(op_ctx *cx, const packed *p, const tensor *x, const char *what) {
    if (x->ndim < 1)
        return nn_fail(cx, "The dimension of the input tensor for %s should be larger than 0.",
                       what);
    if (x->sizes[x->ndim - 1] != p->weight->sizes[1])
        return nn_fail(
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

ctsc_status quant_linear_dynamic(op_ctx *cx, const packed *p, tensor *x, bool relu,
                                 bool reduce_range, tensor **out) {
    tensor *flat = NULL, *made = NULL;
    int16_t *a = NULL;
    float *scales = NULL, lo, hi;
    quant_params qp;
    if (x->dtype != DT_FLOAT32)
        return nn_fail(cx, "quantized::linear_dynamic: data type of input should be float, got %s",
                       dtype_table[x->dtype].ir_name);
    TRY(linear_check(cx, p, x, "quantized_linear_dynamic"));
    ctsc_status st = tensor_contiguous(cx->diag, x, &flat);
    if (st == CTSC_OK) st = linear_result(cx, p, x, DT_FLOAT32, &made);
    if (st != CTSC_OK || !flat->numel) goto out;
    quant_range(flat, &lo, &hi);
    TRY_OUT(quant_choose(cx, lo, hi, 0, reduce_range && qengine_is_fbgemm() ? 127 : 255, &qp));
    TRY_OUT(quant_scales(cx, p, qp.scale, 1, &scales));
    TRY_OUT(linear_widen(cx, flat, p->matrix->k, p->matrix->pairs * 2, 1 / (float)qp.scale,
                         qp.zero_point, &a));
    quant_store store = {.scale = scales,
                         .bias_float = p->bias ? TENSOR_AT(p->bias, float) : NULL,
                         .to_float = true,
                         .relu = relu,
                         .fused = qengine_is_fbgemm()};
    linear_run(a, flat->numel / p->matrix->k, p->matrix, &store, tensor_data(made));
out:
    if (st == CTSC_OK && !flat->numel) linear_no_input(made, p);
    tensor_unref(flat);
    mem_free(a);
    mem_free(scales);
    if (st == CTSC_OK) *out = made;
    else tensor_unref(made);
    return st;
}

ctsc_status quant_linear_half(op_ctx *cx, const packed *p, tensor *x, bool relu, tensor **out) {
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

static ctsc_status linear_dynamic(op_ctx *cx, const value *args, value *results, bool relu) {
    const packed *p;
    tensor *out;
    TRY(packed_of(cx, &args[1], PACKED_LINEAR, &p));
    TRY(quant_linear_dynamic(cx, p, args[0].u.tensor, relu, arg_bool(&args[2]), &out));
    return op_return_tensor(results, out);
}

OPERATOR(quantized_linear_dynamic) { return linear_dynamic(cx, args, results, false); }
OPERATOR(quantized_linear_relu_dynamic) { return linear_dynamic(cx, args, results, true); }

static ctsc_status linear_half(op_ctx *cx, const value *args, value *results, bool relu) {
    const packed *p;
    tensor *out;
    TRY(packed_of(cx, &args[1], PACKED_LINEAR_HALF, &p));
    TRY(quant_linear_half(cx, p, args[0].u.tensor, relu, &out));
    return op_return_tensor(results, out);
}

OPERATOR(quantized_linear_dynamic_fp16) { return linear_half(cx, args, results, false); }
OPERATOR(quantized_linear_relu_dynamic_fp16) { return linear_half(cx, args, results, true); }

static ctsc_status linear_static(op_ctx *cx, const packed *p, tensor *x, double scale,
                                 int64_t zero_point, bool relu, tensor **out) {
    tensor *flat = NULL, *made = NULL;
    int16_t *a = NULL;
    quant_store store = {0};
    ctsc_status st = tensor_contiguous(cx->diag, x, &flat);
    const quantiser *q = x->quantiser;
    if (st == CTSC_OK) st = linear_result(cx, p, x, (dtype)x->dtype, &made);
    if (st != CTSC_OK) goto out;
    made->quantiser = quantiser_new(scale, zero_point);
    if (!made->quantiser) TRY_OUT(diag_no_memory(cx->diag));
    if (!flat->numel) goto out;
    TRY_OUT(quant_store_make(cx, p, q->scale, made, relu, &store));
    TRY_OUT(linear_widen(cx, flat, p->matrix->k, p->matrix->pairs * 2, 0, q->zero_point, &a));
    linear_run(a, flat->numel / p->matrix->k, p->matrix, &store, tensor_data(made));
out:
    tensor_unref(flat);
    mem_free(a);
    quant_store_free(&store);
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
        return nn_fail(cx, "quantized::linear: Expected activation data type QUInt8 but got %s",
                       dtype_table[x->dtype].ir_name);
    TRY(linear_check(cx, p, x, "quantized::linear"));
    if (zero < dtype_qmin((dtype)x->dtype) || zero > dtype_qmax((dtype)x->dtype))
        return nn_fail(cx, "quantized::linear: output zero point out of range");
    TRY(linear_static(cx, p, x, arg_float(&args[2]), zero, relu, &out));
    return op_return_tensor(results, out);
}

OPERATOR(quantized_linear) { return linear_op(cx, args, results, false); }
OPERATOR(quantized_linear_relu) { return linear_op(cx, args, results, true); }
