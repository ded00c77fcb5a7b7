/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work.h - what one call of an operator has to do: floating-point operations, bytes
 * read and written.
 * Tests: tests/unit/test_work.c, tests/unit/test_optimize.c, tests/unit/test_profile.c
 */
#ifndef CTSC_RUNTIME_OBSERVE_WORK_H
#define CTSC_RUNTIME_OBSERVE_WORK_H

#include "ctsc_compiler.h"
#include "ir/graph/graph.h"
#include "ir/op/op.h"
#include "ir/unit.h"

typedef struct work_cost {
    int64_t flops;
    /* flops is all; false: the operator makes floating-point values, and its row does not say */
    bool known;
    int64_t bytes; /* of tensors read and written; none for views */
} work_cost;

/* The call has succeeded; args hold what they did before, or, written in place, since. */
work_cost work_of_call(const op *o, int nargs, const value *args, int nresults,
                       const value *results);
/* Of one call of f, whose graph as written, calls inlined, is g: runs it with probes. args: one
 * for each of f's. */
ctsc_status work_of_graph(diag *d, const function *f, const graph *g, int nargs, const value *args,
                          ctsc_work *out);
int64_t work_value_bytes(value v); /* of a tensor or a list of tensors; else 0 */

#endif
