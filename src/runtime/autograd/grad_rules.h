/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grad_rules.h - the derivative of an operator: which functions of frontend/prelude/derivatives
 * compute it, and what they need.
 *
 * The functions' names say what they are for; KEY is the
 * operator's name followed by two underscores and its overload's:
 *
 *     def KEY__d_ARG(...) -> Tensor                     the gradient of argument ARG
 *     def KEY__d_ARG__ARG2(...) -> Tuple[...]           of several at once; `wanted: List[bool]` tells which are asked for
 *     def KEY__as(...the operator's arguments...)       no formula: the operator is what this body does
 *
 * and their parameters what they need:
 *
 *     grad, grad0, grad1, ...      the gradient of the result; of result i. Optional[Tensor]: None if there is none, else zeros
 *     grads: List[Tensor]          of a result that is a list
 *     result, result0, ...         results (saved)
 *     ARG                          an argument (saved)
 *     ARG_sizes, ARG_dtype         of a tensor argument; of a list of tensors: lists of these
 *     ARG_layout                   of a tensor argument: its strides, followed by its offset
 *     wanted                       see above; of an argument that is a list, one per tensor in it
 *
 * A result whose gradient no formula mentions, where one mentions another's, has none.
 * Only what the formulas of arguments that require gradients mention is saved. Gradients need not
 * have the argument's shape and dtype: the engine sums them over broadcast dims and converts them.
 * In-place overloads have the rule of the overload that computes the same (op_derive.h); out=
 * overloads have none.
 */
#ifndef CTSC_RUNTIME_AUTOGRAD_GRAD_RULES_H
#define CTSC_RUNTIME_AUTOGRAD_GRAD_RULES_H

#include "ir/graph/graph.h"
#include "ir/op/op.h"
#include "ir/unit.h"

typedef enum grad_need {
    NEED_GRAD,  /* of result `index` */
    NEED_GRADS, /* of result `index`, a list */
    NEED_ARG,
    NEED_RESULT,
    NEED_SIZES, /* of argument `index` */
    NEED_DTYPE,
    NEED_LAYOUT,
    NEED_WANTED,
} grad_need;

typedef struct grad_param {
    grad_need need;
    int index;
    bool optional; /* NEED_GRAD: None instead of zeros */
} grad_param;

enum { GRAD_MAX_ARGS = 64 };

typedef struct grad_formula {
    function *fn;
    int nparams, ninputs;
    grad_param *params;
    int inputs[GRAD_MAX_ARGS]; /* the arguments of the operator that it computes gradients of */
} grad_formula;

typedef enum grad_rule_kind {
    RULE_MISSING,  /* nobody knows: an error where its gradient is needed */
    RULE_CONSTANT, /* results have no gradient: NO_GRADIENT */
    RULE_FORMULAS,
    RULE_BODY, /* runs as `body` where a gradient is required */
    RULE_OUT,  /* an out= overload: refused where a gradient is required */
} grad_rule_kind;

typedef struct grad_rule {
    grad_rule_kind kind;
    function *body; /* RULE_BODY */
    /* the overload the rule is of: not the operator itself if that writes its argument */
    const op *base;
    int nformulas;
    grad_formula *formulas;
    uint64_t differentiable; /* bit i: argument i has a formula */
    /* bit i: result i has a gradient; all ones but where formulas mention some only */
    uint64_t outputs;
    bool in_place; /* argument 0 is written */
} grad_rule;

/* The rule of o; lives as long as the process. Thread-safe. */
ctsc_status grad_rule_of(const op *o, diag *d, const grad_rule **out);

#endif
