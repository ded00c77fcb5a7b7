/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fusible.h - which operators can be part of a kernel, and as what.
 *
 * Rows of ops/NAME.def say it, FUSE(kind, cost), to the pass that forms fusion groups and to the
 * code that lowers them alike: what the pass takes in, the lowering knows. Being fusible is
 * about the operator; whether a certain group with certain dtypes and sizes is lowered is
 * decided when it is run.
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
