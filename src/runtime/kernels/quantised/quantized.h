/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantized.h - what the operators on quantised tensors share: conversions, and
 * packed parameters. Integer matrices are multiplied by matmul/quad_matrix.c.
 *
 * quantized_tensor.c  making quantised tensors, and querying them
 * quantized_plain.c   plain integers: ONNX's and torch.export's, and as quantised tensors
 * quantized_affine.c  torchao's integers, a scale for each row
 * quantized_packed.c  packed parameters: prepack, unpack, their form in archives
 * quantized_linear.c  linear, dynamic and static
 * quantized_matmul.c  products of integers of two tensors, plain or quantised
 * quantized_conv.c    convolutions and transposed ones, as products of rows of taps
 * quantized_depthwise.c  those with one channel per group
 * quantized_unary.c   functions of one element, by table
 * quantized_binary.c  add, mul, cat, ...
 * quantized_pool.c    poolings and mean
 * quantized_other.c   moving elements, normalisations, and others computed in float
 * quantized_embedding.c  rows of 8, 4 or 2 bits
 *
 * Weights are int8, activations uint8, sums int32; a sum becomes an integer
 * of the result by one float multiplication, rounding to nearest even.
 * Where PyTorch's engines differ, base/qengine.h says which is followed.
 * Tests: tests/unit/test_quantized.c, tests/corpus/quantized
 */
#ifndef CTSC_RUNTIME_KERNELS_QUANTISED_QUANTIZED_H
#define CTSC_RUNTIME_KERNELS_QUANTISED_QUANTIZED_H

#include "base/qengine.h"
#include "runtime/kernels/engine/wide.h"
#include "runtime/kernels/matmul/quad_matrix.h"
#include "tensor/quantiser.h"

#include <math.h>
#include <stdatomic.h>

/* ---- numbers --------------------------------------------------------------------------------- */

/* As PyTorch without fbgemm: the reciprocal of the scale, all in float. NaN becomes the smallest
 * integer. */
static inline int64_t quant_round(float x, float inverse_scale, int64_t zero_point, int64_t lo,
                                  int64_t hi) {
    float q = (float)zero_point + nearbyintf(x * inverse_scale);
    if (!(q > -0x1p63f && q < 0x1p63f)) return q > 0 ? hi : lo;
    return (int64_t)q < lo ? lo : (int64_t)q > hi ? hi : (int64_t)q;
}
static inline float quant_value(int64_t q, float scale, int64_t zero_point) {
    return (float)(q - zero_point) * scale;
}
/* Scale and zero point for numbers in [lo, hi], as integers in [qmin, qmax]. */
typedef struct quant_params { double scale; int64_t zero_point; } quant_params;
ctsc_status quant_choose(op_ctx *cx, float lo, float hi, int qmin, int qmax, quant_params *out);
/* Smallest and largest element of a contiguous float tensor that is not empty. */
void quant_range(const tensor *t, float *lo, float *hi);

/* ---- tensors --------------------------------------------------------------------------------- */

/* Channels last: four or five dims, the second with stride 1 and everything else packed. */
bool quant_channels_last(const tensor *t);
/* Of t's sizes and, where t has no gaps, order of elements; of dtype dt, with q (borrowed;
 * NULL: not quantised). */
ctsc_status quant_new_like(op_ctx *cx, const tensor *t, dtype dt, quantiser *q, tensor **out);
/* The same with sizes of their own: channels last if like is. */
ctsc_status quant_new_sizes(op_ctx *cx, const tensor *like, int ndim, const int64_t *sizes,
                            dtype dt, quantiser *q, tensor **out);
/* With a quantiser for the whole tensor. */
ctsc_status quant_new_affine(op_ctx *cx, const tensor *like, dtype dt, double scale,
                             int64_t zero_point, tensor **out);
/* t (quantised) as floats, contiguous. */
ctsc_status quant_dequantise(op_ctx *cx, const tensor *t, tensor **out);
/* A contiguous float tensor, quantised. */
ctsc_status quant_quantise(op_ctx *cx, const tensor *t, dtype dt, double scale, int64_t zero_point,
                           tensor **out);
/* out = table[x] for each byte of x, of the same sizes. */
void quant_table(tensor *x, const uint8_t *table, tensor *out);
/* Refuses tensors that are not quantised with one scale. what: "quantized::add" */
ctsc_status quant_need_affine(op_ctx *cx, const tensor *t, const char *what);
/* The strides of a channels-last tensor of these sizes. */
void quant_last_strides(int ndim, const int64_t *sizes, int64_t *strides);
/* t in channels-last order: a reference if it is that already. */
ctsc_status quant_to_channels_last(op_ctx *cx, tensor *t, tensor **out);

/* ---- layers ---------------------------------------------------------------------------------- */

/* What becomes of a layer's sums: integers of dt, from lo to hi. */
typedef struct quant_target {
    double scale;
    int64_t zero, lo, hi;
    dtype dt;
    bool fbgemm; /* bias and scales as fbgemm has them, else qnnpack (base/qengine.h) */
    bool whole;  /* the bias was quantised, to steps of the sums */
} quant_target;

/* Those of dt, not below zero where relu says so, as the engine has it that was chosen. */
quant_target quant_target_of(dtype dt, double scale, int64_t zero, bool relu);
/* to->dt is set; the rest is in arguments: scale, zero_point, least, most. */
ctsc_status quant_target_args(op_ctx *cx, const value *args, quant_target *to);

/* What a layer's sums begin with and how they end, for one kind of call. */
typedef struct quant_ready {
    double in_scale;
    int64_t in_zero;
    quant_target target;
    int32_t *start; /* by place: [group][panel][column], or [block][place] */
    quant_bytes to; /* the same */
    size_t size;    /* of it all */
} quant_ready;

/* ---- packed parameters ----------------------------------------------------------------------- */

typedef enum packed_kind {
    PACKED_LINEAR,
    PACKED_LINEAR_HALF,
    PACKED_CONV,
    PACKED_EMBEDDING,
    PACKED_CELL
} packed_kind;

/* What the capsule of an object of a native class (ir/native.h) points to. Never changed. */
typedef struct packed {
    packed_kind kind;
    /* contiguous, qint8; of PACKED_LINEAR_HALF float, rounded to half; of
     * PACKED_EMBEDDING quint8 */
    tensor *weight;
    tensor *bias; /* float, contiguous; or NULL */
    bool per_channel;
    int64_t out_features;
    float *weight_scale; /* out_features */
    /* of PACKED_LINEAR and PACKED_CONV, or else, with one channel per group, */
    quad_matrix panels;
    quad_taps taps;               /* these: taps.data is not NULL */
    _Atomic(quant_ready *) ready; /* of the first call; NULL: none yet */
    /* of convolutions, as three-dimensional ones: the missing dims in front are 1 */
    int dims;
    int64_t stride[3], padding[3], dilation[3], output_padding[3], kernel[3], groups;
    bool transposed;
    int64_t bit_rate; /* of an embedding */
    /* of a cell */
    const char *cell_type; /* "quantized_dynamic", "quantized_fp16" */
    tensor *bias_ih, *bias_hh;
    value weight_ih, weight_hh; /* objects of LinearPackedParamsBase */
    bool reduce_range;
} packed;

/* The packed parameters in an object; NULL where there are none. */
const packed *packed_in(const value *v);
/* The same; fails unless they are of that kind. */
ctsc_status packed_of(op_ctx *cx, const value *v, packed_kind kind, const packed **out);
/* Object of a class from `name`, holding p. Takes p, which mem_zalloc made, on failure too. */
ctsc_status packed_object_take(op_ctx *cx, const char *name, packed *p, value *out);
void packed_free(void *p);
ctsc_status packed_linear_new(op_ctx *cx, tensor *weight, tensor *bias, packed **out);
ctsc_status packed_half_new(op_ctx *cx, tensor *weight, tensor *bias, packed **out);
/* geometry: stride, padding, dilation, output_padding: dims numbers each. */
typedef struct packed_geometry {
    int dims;
    int64_t stride[3], padding[3], dilation[3], output_padding[3], groups;
    bool transposed;
} packed_geometry;
ctsc_status packed_conv_new(op_ctx *cx, tensor *weight, tensor *bias, const packed_geometry *g,
                            packed **out);
/* A convolution's segments are rows of its kernel, or, false, single taps. */
bool packed_whole_rows(const packed *p);

/* For inputs of unsigned bytes with this scale and zero point, to integers. To be given back. */
ctsc_status quant_ready_take(op_ctx *cx, const packed *p, double in_scale, int64_t in_zero,
                             const quant_target *target, const quant_ready **ready);
void quant_ready_give(const packed *p, const quant_ready *ready);
/* The zero point of t (8 bits) as unsigned bytes have it, and its bytes as such: of a signed tensor
 * both are moved by 128. The result has t's layout and is a reference where nothing changes. */
int64_t quant_unsigned_zero(const tensor *t);
ctsc_status quant_unsigned(op_ctx *cx, tensor *t, tensor **out);

/* x @ weight.T + bias in float, with an object of LinearPackedParamsBase: x is quantised on the
 * way, or weights were rounded to half. */
ctsc_status quant_linear_object(op_ctx *cx, const value *v, tensor *x, bool reduce_range,
                                tensor **out);

/* What sums begin with, for integers with this zero point, given the sums of a column's weights by
 * place; and, where the first of args is a scale, not None, what to multiply them with and add: one
 * number, or one for each of n columns. scale has room for 2 n. */
ctsc_status quant_numbers(op_ctx *cx, const int32_t *sums, int64_t places, int64_t n, int64_t zero,
                          const value *args, int32_t *start, float *scale, quant_floats *to);

/* ---- a call of a convolution ----------------------------------------------------------------- */

/* Everything is three-dimensional, missing dims in front being 1. */
typedef struct qconv {
    const packed *p;
    const uint8_t *x, *end;               /* unsigned, channels last */
    uint8_t *out;                         /* the same, or 32 bits an element */
    int64_t batch, in[3], place[3];       /* input and output sizes */
    int64_t in_channels, inputs, outputs; /* inputs, outputs: per group */
    int64_t places;                       /* output places, of all batches */
    uint8_t zero;                         /* the padding around the input */
    bool small;                           /* quad_tile.small: of the input and of zero */
    const quant_ready *ready;
    /* or, where start is not NULL, sums begin with it and stay, or become floats; out is theirs */
    const int32_t *start;
    const quant_floats *floats;
} qconv;
/* The layers of p->taps. */
ctsc_status quant_depthwise_run(op_ctx *cx, const qconv *c);

#endif
