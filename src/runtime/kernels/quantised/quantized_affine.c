/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantized_affine.c - torchao's numbers as integers and back: choose_qparams_affine,
 * quantize_affine, dequantize_affine.
 *
 * Blocks may have any shape; here they are rows (of the last dim), as in networks
 * whose activations are quantised at run time, with a scale for each token. Everything
 * else is left to the operators' bodies in TorchScript, whose arithmetic this is.
 * Tests: tests/pt2/cases_torchao.py, tests/unit/test_quantized_plain.c
 */
#include "base/threads/thread_pool.h"
#include "runtime/kernels/quantised/quantized.h"

#include <float.h>
#include <string.h>

#define OPERATOR(name)                                                                             \
    ctsc_status op_##name(op_ctx *cx, const value *args, value *results);                          \
    ctsc_status op_##name(op_ctx *cx, const value *args, value *results)

static ctsc_status affine_body(op_ctx *cx, const value *args, value *results) {
    return op_host_installed->composite(cx, args, results);
}

/* Rows of k elements. */
typedef struct affine_rows {
    int64_t rows, k;
    float lo, hi; /* of the integers */
    const float *x;
    float *scale; /* of each row, */
    int32_t *zero;
    bool asymmetric;
    float least; /* scale */
    dtype dt;    /* of the integers */
    void *ints;
    float *numbers;
} affine_rows;

/* Are blocks of t rows of it? */
static bool affine_is_rows(const tensor *t, const value *block) {
    const int64_t *b;
    if (arg_ints(block, &b) != t->ndim || !t->ndim || t->storage->device != DEVICE_HOST ||
        t->numel == 0 || t->sizes[t->ndim - 1] < 2)
        return false;
    for (int i = 0; i < t->ndim - 1; i++)
        if (b[i] != 1) return false;
    return b[t->ndim - 1] == t->sizes[t->ndim - 1];
}

static bool affine_is_byte(int64_t dt) { return dt == DT_INT8 || dt == DT_UINT8; }

/* The bounds that are given, or the dtype's. */
static void affine_bounds(affine_rows *r, const value *low, const value *high) {
    r->lo = arg_is_none(low) ? (float)dtype_qmin(r->dt == DT_INT8 ? DT_QINT8 : DT_QUINT8)
                             : (float)arg_float(low);
    r->hi = arg_is_none(high) ? (float)dtype_qmax(r->dt == DT_INT8 ? DT_QINT8 : DT_QUINT8)
                              : (float)arg_float(high);
}

static void affine_shape(affine_rows *r, const tensor *t) {
    r->k = t->sizes[t->ndim - 1];
    r->rows = t->numel / r->k;
}

/* ---- choosing -------------------------------------------------------------------------------- */

static VECTOR_CLONES void affine_range(const float *x, int64_t k, float *low, float *high) {
    float lo = 0, hi = 0;
    for (int64_t i = 0; i < k; i++) {
        lo = x[i] < lo ? x[i] : lo;
        hi = x[i] > hi ? x[i] : hi;
    }
    *low = lo, *high = hi;
}

/* A NaN is one of the row. */
static VECTOR_CLONES bool affine_is_number(const float *x, int64_t k) {
    int odd = 0;
    for (int64_t i = 0; i < k; i++) odd |= x[i] != x[i];
    return !odd;
}

static void affine_choose_rows(void *ctx, int64_t begin, int64_t end) {
    const affine_rows *r = ctx;
    for (int64_t i = begin; i < end; i++) {
        float low, high, scale, zero = (float)(int)((r->hi + r->lo + 1) / 2);
        affine_range(r->x + i * r->k, r->k, &low, &high);
        if (r->asymmetric) scale = (high - low) / (r->hi - r->lo);
        else scale = (-low > high ? -low : high) / ((r->hi - r->lo) / 2);
        scale = scale < r->least ? r->least : scale;
        if (r->asymmetric) {
            zero = r->lo - rintf(low / scale);
            zero = zero < r->lo ? r->lo : zero > r->hi ? r->hi : zero;
        }
        r->scale[i] = scale;
        r->zero[i] = (int32_t)zero;
    }
}

static bool affine_all_numbers(const float *x, int64_t rows, int64_t k) {
    bool all = true;
    for (int64_t i = 0; i < rows && all; i++) all = affine_is_number(x + i * k, k);
    return all;
}

/* (input, mapping_type, block_size, target_dtype, quant_min, quant_max, eps, scale_dtype,
 * zero_point_dtype, keepdim) */
OPERATOR(affine_choose) {
    tensor *x = arg_tensor_or_null(&args[0]), *flat = NULL, *scale = NULL, *zero = NULL, *as = NULL;
    const char *how = args[1].u.str->bytes;
    bool asymmetric = !strcmp(how, "ASYMMETRIC"),
         none = arg_is_none(&args[8]); /* then it is the scale's, or int32 */
    if (!x || x->dtype != DT_FLOAT32 || !affine_is_rows(x, &args[2]) ||
        !affine_is_byte(arg_int(&args[3])) || (!asymmetric && strcmp(how, "SYMMETRIC") != 0) ||
        (none && !asymmetric) || arg_int_or(&args[7], DT_FLOAT32) != DT_FLOAT32)
        return affine_body(cx, args, results);
    affine_rows r = {.asymmetric = asymmetric,
                     .dt = (dtype)arg_int(&args[3]),
                     .least = arg_is_none(&args[6]) ? FLT_MIN : (float)arg_float(&args[6])};
    affine_shape(&r, x);
    affine_bounds(&r, &args[4], &args[5]);
    int64_t sizes[TENSOR_MAX_DIMS];
    int ndim = arg_bool(&args[9]) ? x->ndim : x->ndim - 1;
    for (int i = 0; i < ndim; i++) sizes[i] = i < x->ndim - 1 ? x->sizes[i] : 1;
    ctsc_status st = tensor_contiguous(cx->diag, x, &flat);
    if (st == CTSC_OK) {
        r.x = tensor_data(flat);
        if (!affine_all_numbers(r.x, r.rows, r.k))
            return tensor_unref(flat), affine_body(cx, args, results);
    }
    if (st == CTSC_OK) st = tensor_new(cx->diag, DT_FLOAT32, ndim, sizes, &scale);
    if (st == CTSC_OK) st = tensor_new(cx->diag, DT_INT32, ndim, sizes, &zero);
    if (st == CTSC_OK) {
        r.scale = tensor_data(scale);
        r.zero = tensor_data(zero);
        pool_for(r.rows, kernel_grain(r.k), affine_choose_rows, &r);
        st = tensor_to_dtype(cx->diag, zero, arg_dtype_or(&args[8], DT_INT32), &as);
    }
    tensor_unref(flat);
    tensor_unref(zero);
    if (st != CTSC_OK) return tensor_unref(scale), st;
    results[0] = value_tensor_take(scale);
    results[1] = value_tensor_take(as);
    return CTSC_OK;
}

/* ---- converting ------------------------------------------------------------------------------ */

static VECTOR_CLONES void affine_to_ints(const float *x, int64_t k, float by, float zero, float lo,
                                         float hi, uint8_t *out) {
    for (int64_t i = 0; i < k; i++) {
        float v = rintf(x[i] * by) + zero;
        v = v > hi ? hi : v;
        v = v > lo ? v : lo;
        out[i] = (uint8_t)(int32_t)v;
    }
}

static VECTOR_CLONES void affine_to_numbers(const uint8_t *q, int64_t k, int flip, float zero,
                                            float scale, float *out) {
    for (int64_t i = 0; i < k; i++) out[i] = ((float)((q[i] ^ flip) - flip) - zero) * scale;
}

static void affine_quantise_rows(void *ctx, int64_t begin, int64_t end) {
    const affine_rows *r = ctx;
    for (int64_t i = begin; i < end; i++)
        affine_to_ints(r->x + i * r->k, r->k, 1.0f / r->scale[i], (float)r->zero[i], r->lo, r->hi,
                       (uint8_t *)r->ints + i * r->k);
}

static void affine_dequantise_rows(void *ctx, int64_t begin, int64_t end) {
    const affine_rows *r = ctx;
    for (int64_t i = begin; i < end; i++)
        affine_to_numbers((const uint8_t *)r->ints + i * r->k, r->k, r->dt == DT_INT8 ? 128 : 0,
                          r->zero ? (float)r->zero[i] : 0, r->scale[i], r->numbers + i * r->k);
}

/* The scales, and zero points as int32, of rows: references. */
static ctsc_status affine_params(op_ctx *cx, affine_rows *r, tensor *scale, tensor *zero,
                                 tensor **own_scale, tensor **own_zero) {
    tensor *ints = NULL;
    TRY(tensor_contiguous(cx->diag, scale, own_scale));
    r->scale = tensor_data(*own_scale);
    if (!zero) return CTSC_OK;
    ctsc_status st = tensor_to_dtype(cx->diag, zero, DT_INT32, &ints);
    if (st == CTSC_OK) st = tensor_contiguous(cx->diag, ints, own_zero);
    tensor_unref(ints);
    if (st == CTSC_OK) r->zero = tensor_data(*own_zero);
    return st;
}

static bool affine_are_params(const tensor *t, const tensor *scale, const tensor *zero) {
    int64_t rows = t->numel / t->sizes[t->ndim - 1];
    return scale->dtype == DT_FLOAT32 && scale->numel == rows &&
           scale->storage->device == DEVICE_HOST &&
           (!zero || (zero->numel == rows && zero->storage->device == DEVICE_HOST &&
                      (affine_is_byte(zero->dtype) || zero->dtype == DT_INT32)));
}

/* t as `made`, of dtype dt, row by row. */
static ctsc_status affine_convert(op_ctx *cx, affine_rows *r, tensor *t, tensor *scale,
                                  tensor *zero, dtype dt, bool quantise, value *results) {
    tensor *flat = NULL, *own_scale = NULL, *own_zero = NULL, *made = NULL;
    affine_shape(r, t);
    ctsc_status st = affine_params(cx, r, scale, zero, &own_scale, &own_zero);
    if (st == CTSC_OK) st = tensor_contiguous(cx->diag, t, &flat);
    if (st == CTSC_OK) st = tensor_new(cx->diag, dt, t->ndim, t->sizes, &made);
    if (st == CTSC_OK && quantise) r->x = tensor_data(flat), r->ints = tensor_data(made);
    if (st == CTSC_OK && !quantise) r->ints = tensor_data(flat), r->numbers = tensor_data(made);
    if (st == CTSC_OK)
        pool_for(r->rows, kernel_grain(r->k),
                 quantise ? affine_quantise_rows : affine_dequantise_rows, r);
    tensor_unref(flat);
    tensor_unref(own_scale);
    tensor_unref(own_zero);
    return st == CTSC_OK ? op_return_tensor(results, made) : st;
}

/* (input, block_size, scale, zero_point, output_dtype, quant_min, quant_max) */
OPERATOR(affine_quantize) {
    tensor *x = args[0].u.tensor, *scale = args[2].u.tensor, *zero = arg_tensor_or_null(&args[3]);
    int64_t dt = arg_int(&args[4]);
    if (x->dtype != DT_FLOAT32 || !affine_is_rows(x, &args[1]) || !affine_is_byte(dt) || !zero ||
        !affine_are_params(x, scale, zero))
        return affine_body(cx, args, results);
    affine_rows r = {.dt = (dtype)dt};
    affine_bounds(&r, &args[5], &args[6]);
    return affine_convert(cx, &r, x, scale, zero, (dtype)dt, true, results);
}

/* (input, block_size, scale, zero_point, input_dtype, quant_min, quant_max, output_dtype) */
OPERATOR(affine_dequantize) {
    tensor *q = args[0].u.tensor, *scale = args[2].u.tensor, *zero = arg_tensor_or_null(&args[3]);
    if (!affine_is_byte(q->dtype) || q->dtype != arg_int(&args[4]) ||
        !affine_is_rows(q, &args[1]) || arg_int(&args[7]) != DT_FLOAT32 ||
        !affine_are_params(q, scale, zero))
        return affine_body(cx, args, results);
    affine_rows r = {.dt = (dtype)q->dtype};
    return affine_convert(cx, &r, q, scale, zero, DT_FLOAT32, false, results);
}
