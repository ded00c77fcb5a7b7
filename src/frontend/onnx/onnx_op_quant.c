/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_op_quant.c - QuantizeLinear, convolutions of integers.
 *
 *     ConvInteger(x, w, xz, wz)         ctsc::onnx_conv_integer
 *     QLinearConv(x, xs, xz, ...)       quantise(conv(dequantise(x), dequantise(w), dequantise(bias)))
 *     QLinearMatMul                     likewise
 */
#include "frontend/onnx/onnx_internal.h"

/* Pads that follow from the input's size are put around numbers. */
bool onnx_op_conv_integer(onnx_node *n, const char *text) {
    onnx_program *p = n->p;
    onnx_value *weight = onnx_need(n, 1);
    int rank;
    (void)text;
    ir_value *in[4] = {weight ? onnx_t(n, 0) : NULL};
    for (int i = 1; i < 4 && in[i - 1]; i++) in[i] = i < 2 ? onnx_t(n, i) : onnx_t_or_none(n, i);
    if (!in[3]) return false;
    ir_value *y = onnx_conv_integer(n, weight, in, &rank);
    if (!y && !onnx_failed(p)) {
        y = onnx_conv(n, weight,
                      ONNX_EMIT(p, "ctsc::onnx_centred", in[0], in[2], onnx_bool(p, false)),
                      ONNX_EMIT(p, "ctsc::onnx_centred_weight", in[1], in[3]), onnx_none(p), &rank);
        y = y ? ONNX_EMIT(p, "aten::to.dtype", y, onnx_int(p, DT_INT32)) : NULL;
    }
    return y && onnx_out(n, 0, y, rank, DT_INT32);
}

/* Inputs x, and x + 1 and x + 2, its scale and zero point, as numbers. */
static ir_value *quant_numbers(onnx_node *n, int x, int axis) {
    if (!onnx_need(n, x) || !onnx_need(n, x + 1) || !onnx_need(n, x + 2)) return NULL;
    ir_value *v = onnx_t(n, x), *scale = v ? onnx_t(n, x + 1) : NULL,
             *zero = scale ? onnx_t(n, x + 2) : NULL;
    return zero ? ONNX_EMIT(n->p, "ctsc::onnx_dequantize", v, scale, zero, onnx_int(n->p, axis))
                : NULL;
}

/* y as integers with the scale in input `scale` and the zero point in the input after it. */
static ir_value *quant_integers(onnx_node *n, ir_value *y, int scale) {
    onnx_program *p = n->p;
    if (!y || !onnx_need(n, scale) || !onnx_need(n, scale + 1)) return NULL;
    ir_value *s = onnx_t(n, scale), *z = s ? onnx_t(n, scale + 1) : NULL;
    int dt = n->in[scale + 1]->dt;
    return z ? ONNX_EMIT(p, "ctsc::onnx_quantize", y, s, z, onnx_int(p, 1),
                         onnx_int(p, dt >= 0 ? dt : DT_UINT8), onnx_int(p, 0))
             : NULL;
}

/* Dequantised, computed, quantised: what it means, and what the pass `quantise`
 * makes integers of. */
bool onnx_op_qlinear_conv(onnx_node *n, const char *text) {
    enum { X_SCALE = 1, W = 3, W_SCALE, Y_SCALE = 6, Y_ZERO, BIAS };
    onnx_program *p = n->p;
    int rank = -1;
    (void)text;
    onnx_value *weight = onnx_need(n, W);
    ir_value *x = weight ? quant_numbers(n, 0, 1) : NULL, *w = x ? quant_numbers(n, W, 0) : NULL,
             *bias = w ? onnx_t_or_none(n, BIAS) : NULL;
    if (bias && onnx_in(n, BIAS)) {
        ir_value *xs = onnx_t(n, X_SCALE), *ws = xs ? onnx_t(n, W_SCALE) : NULL,
                 *by = ws ? ONNX_EMIT(p, "aten::mul.Tensor", xs, ws) : NULL;
        bias = by ? ONNX_EMIT(p, "ctsc::onnx_dequantize", bias, by, onnx_none(p), onnx_int(p, 0))
                  : NULL;
    }
    ir_value *y = bias ? onnx_conv(n, weight, x, w, bias, &rank) : NULL,
             *q = quant_integers(n, y, Y_SCALE);
    return q && onnx_out(n, 0, q, rank, n->in[Y_ZERO]->dt);
}

bool onnx_op_qlinear_matmul(onnx_node *n, const char *text) {
    enum { B = 3, Y_SCALE = 6, Y_ZERO };
    (void)text;
    ir_value *a = quant_numbers(n, 0, -2), *b = a ? quant_numbers(n, B, -1) : NULL,
             *y = b ? ONNX_EMIT(n->p, "aten::matmul", a, b) : NULL,
             *q = quant_integers(n, y, Y_SCALE);
    return q && onnx_out(n, 0, q, -1, n->in[Y_ZERO]->dt);
}

/* Powers of two are read as floats. */
static ir_value *quant_scale(onnx_node *n) {
    ir_value *scale = onnx_t(n, 1);
    if (!scale || n->in[1]->dt != DT_FLOAT8_E8M0FNU) return scale;
    return ONNX_EMIT(n->p, "aten::to.dtype", scale, onnx_int(n->p, DT_FLOAT32));
}

/* output_dtype: the product is one of floats, rounded once. */
bool onnx_op_dequantize(onnx_node *n, const char *text) {
    onnx_program *p = n->p;
    int64_t to = onnx_attr_int(n, "output_dtype", 0), axis = onnx_attr_int(n, "axis", 1),
            block = onnx_attr_int(n, "block_size", 0);
    int dt = to ? onnx_to_dtype(to) : -1;
    ir_value *x = onnx_t(n, 0), *scale = x ? quant_scale(n) : NULL,
             *zero = scale ? onnx_t_or_none(n, 2) : NULL;
    (void)text;
    if (!zero) return false;
    int from = n->in[1]->dt == DT_FLOAT8_E8M0FNU ? DT_FLOAT32 : n->in[1]->dt;
    if (to && (dt < 0 || !dtype_is_float((dtype)dt) || dtype_is_float8((dtype)dt)))
        return onnx_unsupported(p, "output_dtype %lld is not supported", (long long)to);
    if (to && dt != from) scale = ONNX_EMIT(p, "aten::to.dtype", scale, onnx_int(p, DT_FLOAT32));
    if (block < 0) return onnx_bad(p, "block_size %lld", (long long)block);
    ir_value *y = block ? ONNX_EMIT(p, "ctsc::onnx_dequantize_blocks", x, scale, zero,
                                    onnx_int(p, axis), onnx_int(p, block))
                        : ONNX_EMIT(p, "ctsc::onnx_dequantize", x, scale, zero, onnx_int(p, axis));
    if (to && dt != from && y) y = ONNX_EMIT(p, "aten::to.dtype", y, onnx_int(p, dt));
    if (!y || !onnx_out(n, 0, y, n->in[0]->rank, to ? dt : from)) return false;
    bool plain = block && from == n->in[1]->dt && (!to || dt == from);
    return !plain || onnx_nbits_note(n, axis < 0 ? axis + n->in[0]->rank : axis, block);
}

bool onnx_op_quantize(onnx_node *n, const char *text) {
    onnx_program *p = n->p;
    int64_t to = onnx_attr_int(n, "output_dtype", 0), by = onnx_attr_int(n, "precision", 0);
    int dt = to ? onnx_to_dtype(to) : DT_UINT8, precision = by ? onnx_to_dtype(by) : 0;
    ir_value *x = onnx_t(n, 0), *scale = x ? quant_scale(n) : NULL,
             *zero = scale ? onnx_t_or_none(n, 2) : NULL;
    (void)text;
    if (!zero) return false;
    if (onnx_in(n, 2) && n->in[2]->dt >= 0) dt = n->in[2]->dt, to = n->in[2]->narrow;
    bool is_signed;
    int bits = onnx_few_bits(to, &is_signed);
    if (bits) dt = onnx_kept_dtype(to);
    if (onnx_is_narrow(to) && !bits) {
        ir_value *axis = onnx_int(p, onnx_attr_int(n, "axis", 1)),
                 *y = ONNX_EMIT(p, "ctsc::onnx_quantize_float4", x, scale, axis,
                                onnx_int(p, precision));
        if (precision < 0 || !y || !onnx_out(n, 0, y, n->in[0]->rank, DT_FLOAT8_E4M3FN))
            return precision >= 0 ? false : onnx_unsupported(p, "this precision");
        onnx_set_narrow(n, to);
        return true;
    }
    if (dtype_is_float8((dtype)dt))
        return onnx_out(n, 0,
                        ONNX_EMIT(p, "ctsc::onnx_quantize_float8", x, scale,
                                  onnx_int(p, onnx_attr_int(n, "axis", 1)), onnx_int(p, dt),
                                  onnx_bool(p, onnx_attr_int(n, "saturate", 1)),
                                  onnx_int(p, precision)),
                        n->in[0]->rank, dt);
    if (precision < 0 || (dt != DT_UINT8 && dt != DT_INT8 && dt != DT_INT16 && dt != DT_UINT16))
        return onnx_unsupported(p, "quantisation to %s",
                                onnx_type_name(to) ? onnx_type_name(to) : "this type");
    ir_value *y = ONNX_EMIT(p, "ctsc::onnx_quantize", x, scale, zero,
                            onnx_int(p, onnx_attr_int(n, "axis", 1)), onnx_int(p, dt),
                            onnx_int(p, precision));
    if (y && bits)
        y = ONNX_EMIT(p, "aten::clamp", y, onnx_int(p, is_signed ? -(1 << (bits - 1)) : 0),
                      onnx_int(p, (1 << (is_signed ? bits - 1 : bits)) - 1));
    if (!y || !onnx_out(n, 0, y, n->in[0]->rank, dt)) return false;
    onnx_set_narrow(n, to);
    return true;
}
