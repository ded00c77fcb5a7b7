/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantise.h - operators between a dequantisation and a quantisation become operators on integers.
 *
 *     %x : Tensor = ctsc::onnx_dequantize(%a, %s1, %z1, %axis)
 *     %k : Tensor = ctsc::onnx_dequantize(%w, %s2, %z2, %axis)
 *     %y : Tensor = aten::conv2d(%x, %k, %bias, ...)
 *     %b : Tensor = ctsc::onnx_quantize(%y, %s3, %z3, %axis, %type, %precision)
 *
 *     ->  %t : Tensor = ctsc::quantised(%a, %scale1, %zero1)
 *         %u : Tensor = ctsc::quantised_conv(%t, %packed, %scale3, %zero3, %least, %most)
 *         %b : Tensor = ctsc::quantised_ints(%u, %scale3, %zero3, %type)
 *
 * The one form. Between operators integers are tensors of quint8, as in archives that
 * PyTorch quantised: eight unsigned bits with one scale and zero point, channels-last
 * images. Signed integers are shifted by 128. ctsc::quantised and ctsc::quantised_ints are
 * placed where plain integers come in and go out; where one follows the other with the same
 * scale and zero point, neither is made. Weights are packed while compiling, as constants.
 *
 * The source of the model does not matter: quantise_forms.c reads all spellings of both
 * conversions (ONNX's operators, quantized_decomposed's of torch.export; quantise_fake.c
 * makes the latter of fake_quantize). An importer of an operator on integers (QLinearAdd)
 * writes it as dequantise, the operator on floats, quantise; that is also its meaning.
 *
 * What may be between the two is in quantise_rules.def: an operator, and the function that makes
 * one on integers of it. Bounds (relu, clip) in front of a quantisation are bounds of the
 * integers, because rounding is monotonic. Functions of one element become tables of 256 bytes,
 * whatever operators they are made of, since such operators can be run while compiling. What
 * only moves elements goes in front of the dequantisation, so that it moves bytes and the
 * operators around it meet.
 *
 * Results. A number becomes an integer by rint(x / scale) + zero, to nearest even before the zero
 * point is added, as ONNX says. Sums of products are exact; what the result is scaled with is one
 * float, (scale of x * scale of w) / scale of y, so that an integer may differ by one from what
 * operators on floats come to. Where that would not hold (a sum that may overflow 32 bits, scales
 * that are not positive and finite, integers of other sizes, a weight that is not a constant) the
 * operators stay.
 * Tests: tests/ir/quantise, tests/onnx
 */
#ifndef CTSC_PASSES_QUANTISE_QUANTISE_H
#define CTSC_PASSES_QUANTISE_QUANTISE_H

#include "passes/pass/rewrite.h"
#include "passes/pass/value_analysis.h"
#include "tensor/quantiser.h"

/* ---- quantise_forms.c: conversions as a graph says them -------------------------------------- */

typedef struct quantise_form {
    ir_value *x; /* what is converted */
    /* of constants, borrowed; zero may be NULL. Where they are numbers these are NULL and
     * the next two say it */
    tensor *scale, *zero;
    double scale_number;
    int64_t zero_number;
    int axis;       /* of scales that are a vector */
    dtype dt;       /* of the integers */
    int64_t lo, hi; /* their bounds */
    bool to_ints;   /* else to numbers */
} quantise_form;

/* Is n a conversion between float32 and integers, with constant parameters? */
bool quantise_form_of(const node *n, quantise_form *f);
/* How many scales and zero points there are, along the axis; 0: one for all. */
int64_t quantise_form_vector(const quantise_form *f);
double quantise_form_scale(const quantise_form *f, int64_t i);
int64_t quantise_form_zero(const quantise_form *f, int64_t i);
/* One scale for all, positive and finite, and integers of 8 bits. */
bool quantise_form_is_plain(const quantise_form *f);

/* Scale and zero point of quint8 integers. */
typedef struct quantise_affine { double scale; int64_t zero; } quantise_affine;

/* v is dequantised integers, plain ones: these as a tensor of quint8, which is there or is made.
 * NULL: it is not. */
ir_value *quantise_source(const ir_value *v, quantise_affine *a);
/* What v is if that follows from constants by conversions and moves alone: a new reference, else
 * None. */
value quantise_constant(const ir_value *v);
/* The same of an operator by its key, with arguments that are given. None where it fails. */
value quantise_run(const char *key, int n, const value *args);

/* ---- what a rule makes ----------------------------------------------------------------------- */

/* The quantisation that ends a pattern: new nodes go in front of `at`. As quint8 has it. */
typedef struct quantise_target {
    node *at;
    double scale;
    int64_t zero, lo, hi;
} quantise_target;

/* A new node of the operator `key`, with these inputs and then scale, zero point and, if bounded,
 * bounds. */
ir_value *quantise_op(const quantise_target *to, const char *key, int n, ir_value *const *inputs,
                      bool bounded);
/* rint(x / scale) + zero between the bounds. */
int64_t quantise_number(const quantise_target *to, double x);
bool quantise_unbounded(const quantise_target *to); /* by less than eight bits are */

/* y, which `by` reads, as quint8: by a table or a rule, its bounds and what only moves elements
 * being passed; NULL: no. */
ir_value *quantise_value(const node *by, ir_value *y, const quantise_target *to);
/* n's result as quint8, whose only use is `to`; NULL: no. */
typedef ir_value *(*quantise_rule)(node *n, const quantise_target *to);
#define RULE(symbol, fn) ir_value *fn(node *n, const quantise_target *to);
#define MOVE(symbol)
#include "passes/quantise/quantise_rules.def"
#undef RULE
#undef MOVE

/* quantise_layers.c: a linear layer of dequantised integers whose result stays numbers;
 * false: it is none. */
bool quantise_to_numbers(node *n);
/* quantise_dynamic.c: a product of plain integers with a constant matrix, or a convolution of them,
 * and what becomes of its sums; false: it stays. */
bool quantise_dynamic(node *n);
/* quantise_fake.c: fake_quantize becomes both conversions. */
bool quantise_fakes(graph *g);
/* quantise_layers.c: packed parameters of a linear layer for integers w, [in, out], with
 * dtype, scales and zero points (along dim 1) from f. None: they cannot be made. */
value quantise_pack_matrix(const quantise_form *f, tensor *w);
/* The same of a convolution, n being ctsc::onnx_conv_integer: integers w as its weight. */
value quantise_pack_conv(const node *n, const quantise_form *f, tensor *w);

/* How a convolution's node says what prepack takes: the places of lists among its arguments, in the
 * order that prepack has, and that of the number of groups. */
typedef struct quantise_conv_kind {
    op_symbol op;
    int dims, lists, places[4], groups;
    bool transposed;
    const char *prepack;
} quantise_conv_kind;
enum { QUANTISE_GEOMETRY = 5 };
const quantise_conv_kind *quantise_conv_kind_of(const node *n); /* NULL: it is none */
/* The lists, and then the number of groups; all None before. To be released, also on failure. */
bool quantise_conv_geometry(const node *n, const quantise_conv_kind *k, value *geometry);
void quantise_conv_release(value *geometry);

/* The bounds of a clamp; an open one is infinite. False: n is none. */
bool quantise_bounds_of(const node *n, double *lo, double *hi);
/* The rank of v, while the pass runs; -1: not known. */
int quantise_rank(const ir_value *v);
/* What only moves elements of its first argument, in a way that integers can be moved. */
bool quantise_moves(const node *n);

/* quantise_table.c: v as a function of one tensor's elements, through a table; NULL: it is none. */
ir_value *quantise_table(const ir_value *v, const quantise_target *to);

#endif
