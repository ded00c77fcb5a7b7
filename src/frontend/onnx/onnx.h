/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx.h - ONNX models in and out.
 *
 * In: a model becomes an object of a class with a method forward, as programs of torch.export do
 * (frontend/export/ep.h).
 *
 *     node {op_type: "Conv", input: [x, w, b], ...}         graph(%self : __torch__.main_graph, %x : Tensor):
 *     node {op_type: "Relu", ...}                             %w : Tensor = prim::GetAttr[name="w"](%self)
 *     initializer {name: w}, initializer {name: b}            %5 : Tensor = aten::conv2d(%x, %w, %b, ...)
 *                                                             %y : Tensor = aten::relu(%5)
 *                                                             return (%y)
 *
 * There is no second executor: each operator becomes calls of aten operators, those without a
 * counterpart of functions in TorchScript (frontend/prelude/operators/onnx_*.py). The files, in the
 * order in which a model passes through them:
 *
 *     onnx.proto, onnx_wire.c    the messages; bytes as messages, within limits
 *     onnx_data.c                tensors of the file as tensors
 *     onnx_model.c               the model as a method: weights, inputs, checks of them, outputs
 *     onnx_node.c                nodes in order; values by name, as tensors and as numbers; attributes
 *     onnx_rows.def, onnx_rows.c one row per operator and version; templates of calls
 *     onnx_op_*.c                operators that take more than a template
 *
 * Invariants: each name has one definition, in front of its uses (so there are no cycles); what is
 * not understood is refused when the model is loaded, by the operator's name and the node's.
 * Out: onnx_out.h. What is supported: docs/onnx.md.
 * Tests: tests/onnx
 */
#ifndef CTSC_FRONTEND_ONNX_ONNX_H
#define CTSC_FRONTEND_ONNX_ONNX_H

#include "ir/graph/graph.h"
#include "ir/unit.h"

/* Where weights are that the file has not in it. */
typedef struct onnx_host {
    void *ctx;
    /* A reference to the bytes of that file, which the model names. */
    ctsc_status (*external)(void *ctx, diag *d, const char *location, storage **out);
} onnx_host;

/* Makes a module of the model in `data`, in unit u. record: what messages call it. *root: a
 * reference to its object. */
ctsc_status onnx_import(diag *d, unit *u, const char *record, const void *data, size_t len,
                        const onnx_host *host, value *root);

#endif
