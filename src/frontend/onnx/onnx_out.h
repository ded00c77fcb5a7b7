/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_out.h - a method as a model of ONNX.
 *
 * Method. The graph of the method, its calls inlined, is walked as an interpreter would walk
 * it: with example arguments, so that each value has a dtype and sizes, and branches and
 * loops that do not depend on the arguments' elements are those of the example. Values that
 * depend on the arguments are written as nodes, operator by operator (onnx_out_rows.def);
 * the others are computed, and become initialisers where nodes read them.
 *
 * Sizes that may change (dynamic axes): the walk runs in two worlds at once, with arguments of two
 * sizes. A number that is the same in both is a constant, and one that differs is computed by
 * nodes. A branch that is taken in one world only is written as If, and so is one that depends on
 * elements (onnx_out_flow.c); one that follows from such a size and is taken in both is warned of.
 * (Rules that say of each operator which of its result's sizes follow from which arguments' would
 * be as many again as the operators.)
 *
 *     onnx_out.c         the walk: values, containers, control flow, operators, writes in place
 *     onnx_out_body.c    operators that are TorchScript
 *     onnx_out_flow.c    If and Loop
 *     onnx_out_lists.c   lists that these fill: sequences; onnx_out_numbers.c: of numbers
 *     onnx_out_sized.c   sizes that elements say
 *     onnx_out_float8.c  floats of eight bits
 *     onnx_out_quant.c   quantised tensors
 *     onnx_out_weight.c    constants that are kept as integers
 *     onnx_out_model.c   nodes, attributes, initialisers; the model and its bytes
 *     onnx_out_*.c       what the rows name
 *
 * What cannot be written is refused, with the operator and its place.
 * Tests: tests/onnx
 */
#ifndef CTSC_FRONTEND_ONNX_ONNX_OUT_H
#define CTSC_FRONTEND_ONNX_ONNX_OUT_H

#include "ir/graph/graph.h"
#include "ir/unit.h"

enum { ONNX_OUT_MIN_OPSET = 13, ONNX_OUT_MAX_OPSET = 28, ONNX_OUT_OPSET = 20 };

/* A dim of an argument that may have any size. */
typedef struct onnx_axis {
    int input, dim;
    const char *name;
} onnx_axis;

typedef struct onnx_out_options {
    int opset;
    int nargs; /* self first */
    /* borrowed. second: the same of other sizes where there are dynamic axes; else NULL */
    const value *args, *second;
    const char *const *names; /* of the arguments, self first */
    /* what the first inputs and outputs are to be called */
    size_t ninputs, noutputs;
    const char *const *inputs, *const *outputs;
    int naxes;
    const onnx_axis *axes;
    struct runtime *rt;                            /* for operators that ask for one */
    void (*warn)(void *ctx, const char *text);     /* NULL: dropped */
    void (*progress)(void *ctx, const char *text); /* what is being done; NULL: dropped */
    void *warn_ctx;                                /* of both */
    /* takes the bytes of the model, part by part; false: it failed */
    bool (*write)(void *ctx, const void *data, size_t len);
    void *ctx;
} onnx_out_options;

/* g: the method's graph, its calls inlined. */
ctsc_status onnx_write(diag *d, const graph *g, const onnx_out_options *options);

#endif
