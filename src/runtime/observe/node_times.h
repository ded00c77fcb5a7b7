/* SPDX-License-Identifier: Apache-2.0 */
/* node_times.h - what each node of a graph takes when it is run. */
#ifndef CTSC_RUNTIME_OBSERVE_NODE_TIMES_H
#define CTSC_RUNTIME_OBSERVE_NODE_TIMES_H

#include "ir/graph/graph.h"
#include "ir/unit.h"
#include "runtime/context/workspace.h"

typedef struct node_times {
    int64_t *ns; /* mean per call, by the numbers of graph_number; -1: it did not run */
    size_t n;
    int64_t total_ns; /* of a call */
} node_times;

/* Calls g, a graph of method f, with args (all of them, self first): `warmup` times so that kernels
 * are made and caches warm, then `calls` times with a profiler (profile.h). Nodes that are a single
 * instruction on numbers count for no node. g is not changed. *out is the caller's. */
ctsc_status node_times_measure(workspace_pool *pool, const function *f, const graph *g, int nargs,
                               const value *args, int warmup, int calls, diag *d, node_times *out);
void node_times_free(node_times *t);

#endif
