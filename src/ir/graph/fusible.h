/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fusible.h - which operators can be part of a kernel, and as what.
 *
 * Rows of ops/NAME.def declare it with FUSE(kind, cost), for both the pass that
 * forms fusion groups and the code that lowers them: the lowering knows everything
 * that the pass takes in. Fusibility is a property of the operator; whether a
 * group with certain dtypes and sizes is lowered is decided at run time.
 */
#ifndef CTSC_IR_GRAPH_FUSIBLE_H
#define CTSC_IR_GRAPH_FUSIBLE_H

#include "ir/graph/graph.h"

/* In-place overloads (mul_) are none: mutation is removed before fusing. */
static inline fusible_kind op_fusible(const op *o) {
    return o && o->fn ? o->traits.fusible : FUSIBLE_NONE;
}
/* Of a node: also looks at what its constant arguments rule out (a dim that is not constant,
 * rounding_mode, out=, ...). */
fusible_kind fusible_node(const node *n);

#endif
