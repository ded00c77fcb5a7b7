/* SPDX-License-Identifier: Apache-2.0 */
/* seen.h - the types of the tensors that come by when a graph is run. */
#ifndef CTSC_RUNTIME_OBSERVE_SEEN_H
#define CTSC_RUNTIME_OBSERVE_SEEN_H

#include "ir/graph/graph.h"
#include "ir/unit.h"
#include "runtime/observe/graph_kernels.h"

/* Runs g, a graph of method f, once with args (all of them, self first) and gives its
 * tensors the types that they had: what differed between iterations of a loop is not known.
 * groups: receives the fusion groups that were reached, with their arguments; may be NULL.
 * On failure g is as it was. */
ctsc_status seen_run(const function *f, graph *g, int nargs, const value *args,
                     group_records *groups, diag *d);

#endif
