/* SPDX-License-Identifier: Apache-2.0 */
/* graph_kernels.h - what the kernels of a graph's fusion groups look like, for the arguments the
 * groups were seen with. */
#ifndef CTSC_RUNTIME_OBSERVE_GRAPH_KERNELS_H
#define CTSC_RUNTIME_OBSERVE_GRAPH_KERNELS_H

#include "base/memory/vec.h"
#include "ir/graph/graph.h"

/* A group and the arguments it was first reached with. */
typedef struct group_seen { const node *n; value *args; } group_seen;
typedef struct group_records { VEC(group_seen) seen; } group_records;

/* Notes a group's arguments (new references), unless it was seen before. */
ctsc_status group_record(group_records *r, const node *n, const value *args, diag *d);
void group_records_free(group_records *r);
typedef enum group_text {
    GROUP_TEXT_LLVM, /* the loop nest and its LLVM IR */
    GROUP_TEXT_ASSEMBLY,
    GROUP_TEXT_CUDA, /* the loop nest for a GPU and its CUDA C++ */
    GROUP_TEXT_PTX,
    GROUP_TEXT_SASS /* the GPU's own code */
} group_text;
/* The kernels of g's groups, in the order in which graph_print numbers them. */
ctsc_status group_describe(const group_records *r, const graph *g, group_text what, strbuf *out,
                           diag *d);

#endif
