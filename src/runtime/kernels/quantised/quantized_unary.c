/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantized_unary.c - functions of one element of a quantised tensor.
 *
 * Method. An 8-bit element has 256 values: a function is computed in float once for each, into a
 * table of bytes, and the tensor goes through the table. The scale of the result is the input's, or
 * given, or one that suits the function's range.
 * Tests: tests/unit/test_quantized.c, tests/corpus/quantized
 */
#include "runtime/kernels/quantised/quantized.h"

#include <string.h>

#define OPERATOR(name)                                                                             \
    ctsc_status op_##name(op_ctx *cx, const value *args, value *results);                          \
    ctsc_status op_##name(op_ctx *cx, const value *args, value *results)

typedef float (*unary_fn)(float x, const double *p);

/* PyTorch's kernels differ in rounding; it only
 * shows in results half-way between two integers. */
typedef enum unary_rounding {
    UNARY_PLAIN,
    /* element * scale - zero point * scale, as one operation: its vector loops with a
     * premultiplied zero point */
    UNARY_FUSED,
    UNARY_ADDED, /* the zero point is added before rounding: qnnpack's tables */
} unary_rounding;

typedef struct unary_call {
    unary_fn fn;
    double p[3];  /* parameters of fn */
    double scale; /* of the result */
    int64_t zero_point;
    unary_rounding rounding;
} unary_call;

/* ---- through a table ------------------------------------------------------------------------- */

static void unary_bytes(void *ctx, int64_t n, char *const *p, const int64_t *s) {
    const uint8_t *table = ctx;
    const char *x = p[1];
    char *out = p[0];
    if (s[0] == 1 && s[1] == 1) {
        ukernel_byte_rows()->table(table, (const uint8_t *)x, n, (uint8_t *)out);
        return;
    }
    for (int64_t i = 0; i < n; i++) out[i * s[0]] = (char)table[(uint8_t)x[i * s[1]]];
}

void quant_table(tensor *x, const uint8_t *table, tensor *out) {
    tensor *operands[] = {out, x};
    iter_run(out->ndim, out->sizes, 2, operands, unary_bytes, (void *)(uintptr_t)table, 0);
}

typedef struct unary_wide { const unary_call *c; const quantiser *q; } unary_wide;

static int64_t unary_one(const unary_call *c, const quantiser *q, int64_t i, dtype dt) {
    float scale = (float)q->scale, x = quant_value(i, scale, q->zero_point);
    if (c->rounding == UNARY_FUSED) x = fmaf(scale, (float)i, (float)-q->zero_point * scale);
    float y = c->fn(x, c->p);
    if (c->rounding == UNARY_ADDED)
        return quant_round(y * (1 / (float)c->scale) + (float)c->zero_point, 1, 0, dtype_qmin(dt),
                           dtype_qmax(dt));
    return quant_round(y, 1 / (float)c->scale, c->zero_point, dtype_qmin(dt), dtype_qmax(dt));
}

static void unary_ints(void *ctx, int64_t n, char *const *p, const int64_t *s) {
    const unary_wide *w = ctx;
    for (int64_t i = 0; i < n; i++)
        *(int32_t *)(void *)(p[0] + i * s[0]) = (int32_t)unary_one(
            w->c, w->q, *(const int32_t *)(void *)(p[1] + i * s[1]), DT_QINT32);
}

static ctsc_status unary_run(op_ctx *cx, tensor *x, const unary_call *c, value *results) {
    tensor *out;
    dtype dt = (dtype)x->dtype;
    TRY(quant_need_affine(cx, x, cx->op->key));
    if (c->zero_point < dtype_qmin(dt) || c->zero_point > dtype_qmax(dt))
        return kernel_fail(cx, "%s: output zero point out of range", cx->op->key);
    TRY(quant_new_affine(cx, x, dt, c->scale, c->zero_point, &out));
    tensor *operands[] = {out, x};
    if (dt == DT_QINT32) {
        unary_wide w = {c, x->quantiser};
        iter_run(out->ndim, out->sizes, 2, operands, unary_ints, &w, 0);
    } else {
        uint8_t table[256];
        for (int i = 0; i < 256; i++)
            table[i] = (uint8_t)unary_one(c, x->quantiser, dt == DT_QINT8 ? (int8_t)i : i, dt);
        quant_table(x, table, out);
    }
    return op_return_tensor(results, out);
}

/* ---- functions ------------------------------------------------------------------------------- */

static float unary_relu(float x, const double *p) { return (void)p, x > 0 ? x : 0; }
static float unary_clamp(float x, const double *p) {
    float lo = (float)p[0], hi = (float)p[1];
    x = x < lo ? lo : x;
    return x > hi ? hi : x;
}
static float unary_sigmoid(float x, const double *p) { return (void)p, 1 / (1 + expf(-x)); }
static float unary_tanh(float x, const double *p) { return (void)p, tanhf(x); }
static float unary_hardsigmoid(float x, const double *p) {
    (void)p;
    x += 3;
    x = x < 0 ? 0 : x;
    return (x > 6 ? 6 : x) / 6;
}
static float unary_hardswish(float x, const double *p) {
    (void)p;
    float y = x + 3;
    y = y < 0 ? 0 : y;
    return x * (y > 6 ? 6 : y) / 6;
}
static float unary_leaky_relu(float x, const double *p) { return x < 0 ? x * (float)p[0] : x; }
static float unary_threshold(float x, const double *p) { return x > (float)p[0] ? x : (float)p[1]; }
static float unary_elu(float x, const double *p) { /* alpha, scale, input_scale */
    float negative = (float)(p[0] * p[1]), positive = (float)p[1], inner = (float)p[2];
    return x >= 0 ? x * positive : (expf(x * inner) - 1) * negative;
}
static float unary_celu(float x, const double *p) {
    float alpha = (float)p[0];
    return x >= 0 ? x : alpha * (expf(x / alpha) - 1);
}
static float unary_gelu(float x, const double *p) {
    if (p[0] == 0) return x * 0.5f * (1 + erff(x * (float)M_SQRT1_2));
    float inner = (float)(M_SQRT2 * M_2_SQRTPI * 0.5) * (x + 0.044715f * x * x * x);
    return 0.5f * x * (1 + tanhf(inner));
}

/* ---- operators ------------------------------------------------------------------------------- */

/* Scale and zero point for results in [0, 1], of `range` 1, or in [-1, 1], of `range` 2:
 * whole powers of two. */
static void unary_unit_params(dtype dt, int range, unary_call *c) {
    double steps = dt == DT_QINT32 ? 0x1p32 : 256;
    c->scale = range / steps;
    c->zero_point = range == 1 ? (dt == DT_QINT8 ? INT8_MIN : 0) : dt == DT_QUINT8 ? 128 : 0;
}

static ctsc_status unary_same(op_ctx *cx, tensor *x, unary_fn fn, double p0, double p1, double p2,
                              unary_rounding rounding, value *results) {
    TRY(quant_need_affine(cx, x, cx->op->key));
    unary_call c = {fn, {p0, p1, p2}, x->quantiser->scale, x->quantiser->zero_point, rounding};
    return unary_run(cx, x, &c, results);
}

static ctsc_status unary_given(op_ctx *cx, const value *args, unary_fn fn, double p0, double p1,
                               double p2, const value *params, unary_rounding rounding,
                               value *results) {
    unary_call c = {fn, {p0, p1, p2}, arg_float(&params[0]), arg_int(&params[1]), rounding};
    if (!(c.scale > 0)) return kernel_fail(cx, "%s: output scale must be positive", cx->op->key);
    return unary_run(cx, args[0].u.tensor, &c, results);
}

static ctsc_status unary_unit(op_ctx *cx, const value *args, unary_fn fn, int range,
                              value *results) {
    unary_call c = {.fn = fn};
    unary_unit_params((dtype)args[0].u.tensor->dtype, range, &c);
    return unary_run(cx, args[0].u.tensor, &c, results);
}

static double unary_or(const value *v, double other) {
    return v->tag == V_NONE ? other : arg_float(v);
}

OPERATOR(quantised_relu) {
    return unary_same(cx, args[0].u.tensor, unary_relu, 0, 0, 0, UNARY_PLAIN, results);
}
OPERATOR(quantised_relu6) {
    return unary_same(cx, args[0].u.tensor, unary_clamp, 0, 6, 0, UNARY_PLAIN, results);
}
OPERATOR(quantised_hardtanh) {
    return unary_same(cx, args[0].u.tensor, unary_clamp, arg_float(&args[1]), arg_float(&args[2]),
                      0, UNARY_PLAIN, results);
}
OPERATOR(quantised_clamp) {
    if (arg_is_none(&args[1]) && arg_is_none(&args[2]))
        return kernel_fail(cx, "Both min and max should be specified for quantized clamp!");
    return unary_same(cx, args[0].u.tensor, unary_clamp, unary_or(&args[1], -INFINITY),
                      unary_or(&args[2], INFINITY), 0, UNARY_PLAIN, results);
}
OPERATOR(quantised_threshold) {
    return unary_same(cx, args[0].u.tensor, unary_threshold, arg_float(&args[1]),
                      arg_float(&args[2]), 0, UNARY_FUSED, results);
}
OPERATOR(quantised_leaky_relu) {
    return unary_same(cx, args[0].u.tensor, unary_leaky_relu, arg_float(&args[1]), 0, 0,
                      UNARY_FUSED, results);
}
OPERATOR(quantised_gelu) {
    const tensor *x = args[0].u.tensor;
    TRY(quant_need_affine(cx, x, cx->op->key));
    bool estimate = args[1].tag == V_STR && !strcmp(args[1].u.str->bytes, "tanh");
    unary_call c = {
        unary_gelu, {estimate}, (float)x->quantiser->scale, x->quantiser->zero_point, UNARY_PLAIN};
    return unary_run(cx, args[0].u.tensor, &c, results);
}
OPERATOR(quantised_sigmoid) { return unary_unit(cx, args, unary_sigmoid, 1, results); }
OPERATOR(quantised_hardsigmoid) { return unary_unit(cx, args, unary_hardsigmoid, 1, results); }
OPERATOR(quantised_tanh) { return unary_unit(cx, args, unary_tanh, 2, results); }

OPERATOR(quantized_sigmoid) {
    return unary_given(cx, args, unary_sigmoid, 0, 0, 0, args + 1, UNARY_PLAIN, results);
}
OPERATOR(quantized_hardswish) {
    return unary_given(cx, args, unary_hardswish, 0, 0, 0, args + 1,
                       args[0].u.tensor->dtype == DT_QUINT8 ? UNARY_ADDED : UNARY_PLAIN, results);
}
OPERATOR(quantized_leaky_relu) {
    return unary_given(cx, args, unary_leaky_relu, arg_float(&args[1]), 0, 0, args + 3, UNARY_FUSED,
                       results);
}
OPERATOR(quantized_elu) {
    return unary_given(cx, args, unary_elu, arg_float(&args[3]), arg_float(&args[4]),
                       arg_float(&args[5]), args + 1, UNARY_FUSED, results);
}
OPERATOR(quantized_celu) {
    if (arg_float(&args[3]) == 0)
        return kernel_fail(cx, "ZeroDivisionError: alpha cannot be 0 for CELU");
    return unary_given(cx, args, unary_celu, arg_float(&args[3]), 0, 0, args + 1, UNARY_FUSED,
                       results);
}
