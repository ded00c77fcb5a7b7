/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ep.h - programs of torch.export, which are JSON, as a module: an object of a class with
 * a method forward.
 *
 *     {"target": "torch.ops.aten.linear.default", ...}        graph(%self : __torch__.Net, %x : Tensor):
 *      input_specs: parameter p_fc_weight = fc.weight, ...       %fc : __torch__.torch.nn.modules.linear.Linear = prim::GetAttr[name="fc"](%self)
 *                                                                 %weight : Tensor = prim::GetAttr[name="weight"](%fc)
 *                                                                 %linear : Tensor = aten::linear(%x, %weight, %bias)
 *                                                                 return (%linear)
 *
 * The result is a graph like any method's: passes, interpreter and kernels know
 * of no second kind of program. Parameters, buffers and constants become
 * attributes of modules, by their dotted names; writes stay writes, of operators
 * and, where the program lists new values of buffers or inputs among its results,
 * of a copy_ at the end. Sizes are numbers that are queried at run time.
 *
 * The files, in the order in which a program passes through them:
 *
 *     ep_json.c       the text as a tree, within limits; fields with checks; where messages say they come from
 *     ep_meta.c       what is said of tensors: dtype, sizes, strides; the tables of an archive's weights
 *     ep_pytree.c     nested arguments and results: types, unpacking, packing
 *     ep_module.c     classes and objects for the state (ep_module.h)
 *     ep_signature.c  the method: its arguments, state and results; mutations
 *     ep_check.c      what a call has to fulfil: sizes, ranges, guards
 *     ep_expr.c, ep_expr_emit.c   expressions over sizes: parsed, known as numbers, as nodes
 *     ep_graph.c      nodes in order; names of values
 *     ep_place.c      stack traces as places, modules as scopes
 *     ep_call.c       calls of operators: overload, arguments, results
 *     ep_core.c       forms of core ATen as operators that passes know
 *     ep_args.c       arguments as values of the requested type
 *     ep_number.c     arithmetic on sizes and numbers
 *     ep_view.c       views of tensors whose memory layout differs from PyTorch's
 *     ep_subclass.c   tensors of objects of subclasses of Tensor
 *     ep_hop.c, ep_hop_loop.c, ep_effect.c   higher-order operators: branches and bodies in line; loops; operators that write made functional
 *
 * Invariants: nothing of the text is executed; each name has one definition, and is in scope
 * where it is used; anything not understood is refused either when the program is loaded (it
 * is no such program) or when it is reached (an unknown operator). Formats: docs/pt2.md.
 * Tests: tests/pt2
 */
#ifndef CTSC_FRONTEND_EXPORT_EP_H
#define CTSC_FRONTEND_EXPORT_EP_H

#include "frontend/export/ep_module.h"

/* What is said of a tensor, in elements. */
typedef struct ep_tensor {
    dtype dt;
    int ndim;
    int64_t sizes[TENSOR_MAX_DIMS], strides[TENSOR_MAX_DIMS], offset;
} ep_tensor;

/* Who has the state. */
typedef struct ep_host {
    void *ctx;
    /* A reference to the tensor of that dotted name; None where it is an object of a subclass of
     * Tensor, whose tensors have names of their own ("fc.weight.qdata"). saved: it belongs to the
     * state_dict. */
    ctsc_status (*state)(void *ctx, diag *d, ep_role role, const char *name, bool saved,
                         value *out);
} ep_host;

/* Makes a module of the program in `text`, in unit u. record: what messages call it. *root: a
 * reference to its object. */
ctsc_status ep_import(diag *d, unit *u, const char *record, const void *text, size_t len,
                      const ep_host *host, value *root);

/* One row of the table of an archive's weights. */
typedef struct ep_payload {
    const char *name; /* "fc.weight" */
    const char *path; /* "weight_0", without a folder */
    bool is_param, pickled, has_tensor;
    ep_tensor tensor; /* where has_tensor */
} ep_payload;

/* Reads such a table. visit stops at a failure. */
ctsc_status ep_read_payloads(diag *d, const char *record, const void *text, size_t len,
                             ctsc_status (*visit)(void *ctx, diag *d, const ep_payload *p),
                             void *ctx);

#endif
