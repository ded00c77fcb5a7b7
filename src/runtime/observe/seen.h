/* SPDX-License-Identifier: Apache-2.0 */
/* seen.h - the types of the tensors that come by when a graph is run. */
#ifndef CTSC_RUNTIME_OBSERVE_SEEN_H
#define CTSC_RUNTIME_OBSERVE_SEEN_H

#include "ir/graph/graph.h"
#include "ir/unit.h"
#include "runtime/observe/graph_kernels.h"

/* Floating-point operations of each node (work.h), of all its runs, by the numbers of
 * graph_number; -1: not counted. */
typedef struct node_work { int64_t *flops; size_t n; } node_work;

/* Runs g, a graph of method f, once with args (all of them, self first) and gives its
 * tensors the types that they had: what differed between iterations of a loop is not known.
 * groups: receives the fusion groups that were reached, with their arguments; may be NULL.
 * work: receives what the nodes had to do, to be given to node_work_free; may be NULL.
 * On failure g is as it was. */
ctsc_status seen_run(const function *f, graph *g, int nargs, const value *args,
                     group_records *groups, node_work *work, diag *d);
void node_work_free(node_work *w);

#endif
