/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grad_pair.h - a call whose caller goes on differentiating, as two optimised programs: one for the
 * call, one for its gradients.
 *
 *     forward:  (arguments, externals)                        -> (result, saved...)
 *     backward: (arguments, externals, saved, gradients)      -> (gradients of what required one...)
 *
 * Method. After the call has been captured (grad_capture.h) its own backward pass runs,
 * with gradients for all results, and is captured into the same graph. That graph is cut
 * in two after the call: values of the first part that the second reads are saved. A
 * later call runs the first program; its results are the outputs of one node (GRAD_CALL),
 * which runs the second one when their gradients come. Under create_graph the node does
 * not run the program, whose steps have no history: it repeats the call as taped code,
 * with the same random numbers and without its writes, and differentiates that.
 *
 * Not so where results are views of what was there before, share memory, or keep gradients, and
 * where the call writes floating point tensors of others.
 * Ownership: a pair is counted: by its program, and by the nodes that will run it.
 * Tests: tests/unit/test_grad_program.c
 */
#ifndef CTSC_RUNTIME_AUTOGRAD_GRAD_PAIR_H
#define CTSC_RUNTIME_AUTOGRAD_GRAD_PAIR_H

#include "runtime/autograd/autograd.h"
#include "runtime/autograd/grad_capture.h"
#include "runtime/context/runtime.h"

typedef struct grad_pair grad_pair;

/* What is known of a call before it is captured, and of its results. */
typedef struct pair_plan {
    bool wanted;
    tensor **inputs;    /* arguments; borrowed */
    uint32_t *versions; /* of these, before the call */
    int ninputs;
    size_t nodes; /* of the graph, in the call itself */
    /* of each tensor in the result: which output of the node; -1: none */
    VEC(int) slots;
    VEC(tensor *) outputs;             /* borrowed from the result */
    VEC(tensor *) grads;               /* placeholders for their gradients during capture */
    VEC(tensor *) leaves;              /* what requires gradients; borrowed */
    VEC(tensor *) found;               /* their gradients, each may be NULL */
    VEC(int) leaf_params, grad_params; /* parameters of the graph, */
    VEC(int) written;                  /* those that the call writes */
    bool draws;
} pair_plan;

/* Before a call with these arguments. */
bool pair_begin(pair_plan *p, int ninputs, tensor *const *inputs);
/* Afterwards, following capture_return: captures the backward pass too. */
void pair_extend(pair_plan *p, capture *c, op_ctx *cx, value result);
void pair_end(pair_plan *p);

/* Of the captured graph, which is freed. nparams: arguments and externals. NULL: failed. */
grad_pair *pair_new(const pair_plan *p, const capture *c, graph *g, const char *name, int device,
                    diag *d);
grad_pair *pair_ref(grad_pair *p);
void pair_unref(grad_pair *p); /* p may be NULL */
/* The two programs' graphs, which are p's. */
void pair_graphs(const grad_pair *p, const graph **forward, const graph **backward);
/* Runs the call: params are its arguments' tensors and the externals. f, n, args: how it was
 * called. */
ctsc_status pair_run(grad_pair *p, runtime *rt, function *f, int n, const value *args,
                     const value *params, diag *d, value *out);

#endif
