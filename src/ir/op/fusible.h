/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fusible.h - which operators can be part of a kernel, and as what.
 *
 * The table (fusible.def) is shared by the pass that forms fusion groups and by the code that lowers them: what the pass takes in,
 * the lowering knows. Being fusible is about the operator; whether a certain group with certain dtypes and sizes is lowered is
 * decided when it is run.
 *
 *     FUSIBLE("aten::mul.Tensor", POINTWISE, "mul", cost)
 */
#ifndef CTSC_IR_OP_FUSIBLE_H
#define CTSC_IR_OP_FUSIBLE_H

#include "ir/graph/graph.h"

typedef enum fusible_kind {
    FUSIBLE_NONE,
    FUSIBLE_POINTWISE, /* element by element, with broadcasting */
    FUSIBLE_VIEW,      /* an index map: unsqueeze, transpose, select, slice, expand, chunk's parts, ... */
    FUSIBLE_REDUCE,    /* sum, mean, max, argmax, var, norm, ... over dims */
    FUSIBLE_ROWS,      /* pointwise and reductions over the same dims: softmax, layer_norm, ... */
} fusible_kind;

typedef struct fusible {
    const char *key;      /* "aten::mul.Tensor" */
    fusible_kind kind;
    const char *function; /* of ir/scalar/scalar_ops.h, or what the lowering calls it */
    int cost;             /* rough cycles per float32 element of vector code */
} fusible;

/* NULL: the operator is not in the table. In-place overloads (mul_) are not: mutation is removed before fusing. */
const fusible *fusible_find(const op *o);
/* Of a node: also looks at what its constant arguments rule out (a dim that is not constant, rounding_mode, out=, ...). */
fusible_kind fusible_node(const node *n);

#endif
