/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantise_insert.h - operators on floats become operators on quantised tensors:
 * how `ctsc quantize` rewrites a program (runtime/ptq/ptq.h decides what).
 *
 *     %y : Tensor = aten::conv2d(%x, %w, %b, ...)
 *     %z : Tensor = aten::relu(%y)
 *
 *     ->  %q : Tensor = aten::quantize_per_tensor(%x, %s1, %z1, %13)
 *         %r : Tensor = quantized::conv2d_relu(%q, %packed, %s2, %z2)
 *         %z : Tensor = aten::dequantize(%r)
 *
 * The form is that of PyTorch's own quantised archives, frozen: packed parameters are constants,
 * the writer of archives saves them, and the writer of ONNX makes QuantizeLinear and
 * DequantizeLinear around operators on floats of them (frontend/onnx/onnx_out_quant.c). So one
 * insertion serves both.
 *
 * Styles. static: activations have scales that were found beforehand; whole chains are
 * integers. dynamic: linear layers find the scale of their input at each call. weights:
 * layers keep integers, from which floats are made. bf16: layers compute in bfloat16.
 *
 * Static chains. quantise_insert.def lists how an operator is rewritten: a layer (constant
 * weight) is quantised if the scales of its input and result are known; sums and products of
 * two if one of them is integers already; operators that move elements if their argument is.
 * A bound after a layer or sum (relu, clip) is merged into it: where the result's integers
 * cannot exceed it nothing is left to do. The rest stays float, and is given floats. Values
 * written in place may have other names: a graph that contains writes (after
 * remove-mutation) has its layers quantised one by one, each between conversions of its own.
 *
 * Tables of embeddings, if nothing but embeddings reads them, become packed rows as
 * quantized::embedding_byte and embedding_bag_byte take them (8 bits).
 *
 * Recurrent layers are rewritten by quantise_recurrent.c, in the styles dynamic and weights.
 *
 * Values are numbered in execution order (quantise_number), so that what was seen of one graph can
 * be said of a copy.
 * Tests: tests/cli/quantize.test, tests/unit/test_ptq.c, tests/onnx/quantize.py
 */
#ifndef CTSC_PASSES_QUANTISE_QUANTISE_INSERT_H
#define CTSC_PASSES_QUANTISE_QUANTISE_INSERT_H

#include "passes/quantise/quantise.h"

typedef enum quantise_style {
    QUANTISE_STATIC,
    QUANTISE_DYNAMIC,
    QUANTISE_WEIGHTS,
    QUANTISE_BF16
} quantise_style;

/* An operator with a constant float32 weight. */
typedef struct quantise_layer {
    node *n;
    const char *kind;            /* "conv2d", "linear", "matmul", "embedding", "lstm" */
    ir_value *x, *weight, *bias; /* bias: NULL where there is none */
    tensor *w;                   /* the weight's constant, borrowed */
    int axis;                    /* of w's output features */
    bool turned;                 /* w is [in, out] */
    bool table;                  /* only rows are read: bytes of a row have their own zero point */
    /* of recurrent layers: all weights and biases, `weight` first */
    ir_value *const *parts;
    size_t nparts;
} quantise_layer;

/* Is n one that this style may take? */
bool quantise_layer_of(node *n, quantise_style style, quantise_layer *out);
/* What follows n and bounds its result, which it alone reads; NULL: nothing. */
node *quantise_tail(const node *n);

/* Numbers the tensors of g from 1, in scratch; how many there are. */
size_t quantise_number_values(graph *g);
static inline size_t quantise_number_of(const ir_value *v) { return (size_t)(uintptr_t)v->scratch; }
/* Layers of g in execution order, in all blocks. */
typedef VEC(quantise_layer) quantise_layers;
bool quantise_find_layers(graph *g, quantise_style style, quantise_layers *out);
/* Calls `wanted` for each value whose range a static quantisation of g may need. */
void quantise_wanted(graph *g, void (*wanted)(void *ctx, const ir_value *v), void *ctx);

/* How integers of a weight are found. */
typedef struct quantise_weights {
    int bits;        /* 8 or 4 */
    int64_t group;   /* elements of a row that share a scale; 0: all of them */
    bool zeros;      /* groups have zero points */
    bool per_tensor; /* one scale for all (bits 8, no groups) */
} quantise_weights;

/* Bytes of whole rows, without zero points of groups. */
static inline bool quantise_weights_are_bytes(const quantise_weights *w) {
    return w->bits == 8 && !w->group && !w->zeros;
}

typedef struct quantise_plan {
    quantise_style style;
    quantise_weights weights;
    bool reduce_range; /* of dynamic layers: activations have 7 bits */
    bool decomposed;   /* weights: torchao::dequantize_affine, not what PyTorch alone has */
    const bool *keep;  /* by layer: it stays as it is; NULL: none does */
    const quantise_affine *ranges; /* of quint8, by number of value; scale 0: not known */
    size_t nranges;
} quantise_plan;

/* Changes g as planned. made (may be NULL): by layer, was it quantised? */
ctsc_status quantise_insert(diag *d, graph *g, const quantise_plan *p, bool *made);

/* ---- quantise_recurrent.c -------------------------------------------------------------------- */

/* Is n a recurrent layer or cell, all of whose parameters are constant floats? */
bool quantise_recurrent_of(node *n, quantise_layer *l);
/* Part i as a layer of its own, without bias; false: it is not a matrix (part->w is what it is). */
bool quantise_part(const quantise_layer *l, size_t i, quantise_layer *part);
/* Why this layer has no such form (static text); NULL: it has. */
const char *quantise_unfit(const quantise_layer *l, quantise_style style,
                           const quantise_weights *how);
bool quantise_recurrent(const quantise_layer *l, const quantise_plan *p);
/* Parameters as the quantised layer has them, a list or a cell's four; None: they cannot be
 * made. */
value quantise_recurrent_params(const quantise_layer *l, const quantise_plan *p);
/* The layer with these parameters, on the arguments of l->n; false: it fails. */
bool quantise_recurrent_run(const quantise_layer *l, quantise_style style, value params,
                            const value *inputs, value *results);

/* ---- quantise_weights.c ---------------------------------------------------------------------- */

/* The weight as qint8 with the scale of the tensor or of each index of `axis`, symmetric, between
 * -127 and 127; turned weights are turned back. NULL: not finite, or out of memory. */
tensor *quantise_weight_bytes(const quantise_layer *l, bool per_tensor);
/* The packed parameters of a layer for quantized:: operators. None: they cannot be made. */
value quantise_layer_pack(const quantise_layer *l, bool per_tensor);
/* The packed rows of a table. None: they cannot be made. */
value quantise_table_pack(const quantise_layer *l);
/* What w is as integers and back again; same form as l->w. NULL: it cannot be. */
tensor *quantise_weight_rounded(const quantise_layer *l, const quantise_weights *w);
/* A value before l->n for the rounded weight, features first. NULL: none. */
ir_value *quantise_weight_value(const quantise_layer *l, const quantise_weights *w,
                                bool decomposed);
/* Integers [n, k] (int8) and scales (float32 [n, groups]; of a weight of more dims or without
 * groups with as many dims as it, of size 1 except for the features) of w, in l->w's form or its
 * transpose; false: it cannot be, or has zero points. */
bool quantise_weight_parts(const quantise_layer *l, const quantise_weights *w, tensor **q,
                           tensor **scale);
/* Bytes of integers, scales and zero points. */
int64_t quantise_weight_size(const quantise_layer *l, const quantise_weights *w);

#endif
