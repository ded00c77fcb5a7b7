/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantized.h - what the operators on quantised tensors share: numbers to integers and back, packed
 * parameters, and the product of integer matrices.
 *
 * quantized_tensor.c  making quantised tensors, and asking about them
 * quantized_packed.c  packed parameters: prepack, unpack, what archives hold of them
 * quantized_gemm.c    the product of integer matrices
 * quantized_linear.c  linear, dynamic and static
 * quantized_conv.c    convolutions and transposed ones, as products of gathered rows
 * quantized_unary.c   functions of one element, by table
 * quantized_binary.c  add, mul, cat, ...
 * quantized_pool.c    poolings and mean
 * quantized_other.c   what only moves elements, normalisations, and what else is computed in float
 * quantized_embedding.c  rows of 8, 4 or 2 bits
 *
 * Weights are int8, activations uint8, sums int32; a sum becomes an integer of the result by one
 * float multiplication, rounding to nearest even. In what PyTorch's engines differ,
 * tensor/qengine.h says which is followed.
 * Tests: tests/unit/test_quantized.c, tests/corpus/quantized
 */
#ifndef CTSC_RUNTIME_KERNELS_QUANTISED_QUANTIZED_H
#define CTSC_RUNTIME_KERNELS_QUANTISED_QUANTIZED_H

#include "runtime/kernels/nn/nn.h"
#include "tensor/qengine.h"
#include "tensor/quantiser.h"

#include <math.h>

/* ---- numbers --------------------------------------------------------------------------------- */

/* As PyTorch without fbgemm: the reciprocal of the scale, all in float. What no int64 can hold
 * becomes the smallest integer, as its conversion does on x86. */
static inline int64_t quant_round(float x, float inverse_scale, int64_t zero_point, int64_t lo,
                                  int64_t hi) {
    float q = (float)zero_point + nearbyintf(x * inverse_scale);
    if (!(q > -0x1p63f && q < 0x1p63f)) return lo;
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
/* Refuses tensors that are not quantised with one scale. what: "quantized::add" */
ctsc_status quant_need_affine(op_ctx *cx, const tensor *t, const char *what);
/* The strides of a channels-last tensor of these sizes. */
void quant_last_strides(int ndim, const int64_t *sizes, int64_t *strides);
/* t in channels-last order: a reference if it is that already. */
ctsc_status quant_to_channels_last(op_ctx *cx, tensor *t, tensor **out);

/* ---- the product of matrices ----------------------------------------------------------------- */

/* A matrix of n columns and k rows, as the micro-kernel wants it; elements are integers less
 * their zero point. */
typedef struct quant_matrix {
    int64_t n, k;
    int64_t pairs; /* k rounded up, in pairs */
    int16_t *data; /* panels of QUANT_COLUMNS columns: [panel][pair][column][2] */
    void *block;   /* what data lies in */
} quant_matrix;
enum { QUANT_COLUMNS = 16, QUANT_ROWS = 4 };

/* element(ctx, column, row) of all; false: no memory. */
bool quant_matrix_make(quant_matrix *m, int64_t n, int64_t k,
                       int16_t (*element)(const void *ctx, int64_t column, int64_t row),
                       const void *ctx);
void quant_matrix_free(quant_matrix *m);
/* Sums for rows [0, rows) of at most QUANT_ROWS rows of a (lda elements apart, pairs * 2 valid ones
 * each) and one panel. */
void quant_tile(const int16_t *a, int64_t lda, int rows, const quant_matrix *m, int64_t panel,
                int32_t sums[QUANT_ROWS][QUANT_COLUMNS]);

/* What becomes of sums: numbers of the result, one per column. */
typedef struct quant_store {
    const float *scale;      /* per column */
    const int32_t *bias;     /* added to the sum; or NULL */
    const float *bias_steps; /* the same in float, of a sum in float; or NULL */
    /* added to the product of sum and scale, for a result in float; or NULL */
    const float *bias_float;
    bool fused;                 /* product and bias_float are rounded once */
    int32_t zero_point, lo, hi; /* of an integer result */
    bool to_float, relu;        /* relu: of a float result */
    dtype dt;                   /* of an integer result: DT_QUINT8 or DT_QINT8 */
} quant_store;
/* One row of n sums, for columns from `column` on. */
void quant_store_row(const quant_store *s, const int32_t *sums, int64_t column, int64_t n,
                     void *out);

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
    /* PACKED_LINEAR: 1; PACKED_CONV: one per group, and NULL for a depthwise convolution */
    quant_matrix *matrix;
    int64_t nmatrices;
    int16_t *depthwise; /* [tap][channel], weights less their zero point */
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

/* weight scale * input scale / output scale, per output feature. */
ctsc_status quant_scales(op_ctx *cx, const packed *p, double input_scale, double output_scale,
                         float **out);
/* The store of a layer whose result is integers (out's dtype), as the engine has it.
 * quant_store_free frees what it holds, on failure too. */
ctsc_status quant_store_make(op_ctx *cx, const packed *p, double input_scale, const tensor *out,
                             bool relu, quant_store *store);
void quant_store_free(quant_store *store);

/* x @ weight.T + bias in float, x quantised on the way: linear_dynamic. */
ctsc_status quant_linear_dynamic(op_ctx *cx, const packed *p, tensor *x, bool relu,
                                 bool reduce_range, tensor **out);
/* x @ weight.T + bias with weights that were rounded to half. */
ctsc_status quant_linear_half(op_ctx *cx, const packed *p, tensor *x, bool relu, tensor **out);

#endif
