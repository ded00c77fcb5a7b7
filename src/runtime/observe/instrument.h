/* SPDX-License-Identifier: Apache-2.0 */
/*
 * instrument.h - runs a graph and shows what each of its nodes got and gave.
 *
 *     graph(%x : Tensor):                                    graph(%x : Tensor):
 *       %y : Tensor = aten::mul(%x, %x)              ->         = ctsc::probe(%0, %x)
 *       return (%y)                                            %y : Tensor = aten::mul(%x, %x)
 *                                                               = ctsc::probe(%1, %x, %x, %y)
 *                                                              return (%y)
 *
 * A copy of the graph gets a probe after every node and at the beginning of every block, and
 * is run by the interpreter. Fusion groups are dissolved in the copy, so that their nodes
 * are observed as well: nothing here depends on the native form of a group. Values are those
 * of the copy's run; nodes, blocks and graphs in callbacks are those of the original.
 * Tests: tests/unit/test_optimize.c, tests/cli/graph-for.test
 */
#ifndef CTSC_RUNTIME_OBSERVE_INSTRUMENT_H
#define CTSC_RUNTIME_OBSERVE_INSTRUMENT_H

#include "ir/graph/graph.h"
#include "ir/unit.h"
#include "runtime/context/runtime.h"

typedef struct instrument {
    /* After a node, except constants: its inputs and outputs,
     * borrowed. inputs: of operators (N_OP) and fusion groups only. */
    ctsc_status (*node)(void *ctx, const node *n, const value *inputs, const value *outputs);
    /* At the beginning of a block, a group's graph included: its parameters. */
    ctsc_status (*block)(void *ctx, const block *b, const value *params);
    void *ctx;
} instrument;

/* Runs g, a graph of method f, with args (all of them, self first). *out: the result. */
ctsc_status instrument_run(const instrument *in, const function *f, const graph *g, runtime *rt,
                           int nargs, const value *args, diag *d, value *out);

#endif
