/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph_json.h - graphs as JSON, for drawings that a person can open and close (`ctsc view`).
 *
 *     {"ops":     [{"key": "aten::add.Tensor", "schema": "aten::add.Tensor(Tensor self, ...", "family": "pointwise", "args": ["self", ...]}, ...],
 *      "lines":   [{"file": "net.py", "line": 12, "text": "return self.fc(x)"}, ...],
 *      "boxes":   [{"parent": 0, "kind": "module", "name": "layer1", "class": "__torch__.torch.nn...Sequential"}, ...],
 *      "values":  [{"name": "x.1", "type": "float32[1,3,224,224]", "text": "3"}, ...],
 *      "nodes":   [{"kind": "aten::add", "box": 3, "in": [0, 7], "out": [8], ...}, ...],
 *      "groups":  [{"node": "prim::FusionGroup_0", "us": 12.5}, ...],
 *      "control": [[4, 5], ...], "us": 1234.5, "flops": 67890}
 *
 * Boxes are what nodes are in: modules and functions, by the chains of calls of inlined nodes,
 * nested blocks, and the nodes that own these. Box 0 is the whole; a box's parent comes before it.
 * "in" and "out" are indices of values. "parameter" of a value is the attribute it was read from,
 * "declared" its type as the model's file has it, with names for sizes that are open.
 *
 * Nodes have, where it is known: "op" and "at" (indices of ops and lines),
 * "attributes", "group" (the number of a fusion group, whose nodes are listed here
 * like the graph's own), "us" (microseconds per call), "flops" (floating-point operations of a
 * call, none written where there are none; null: they are not counted), "scope", and "hide":
 * "constant", "carrier" (it only packs or unpacks its inputs), "number" (it yields no
 * tensor). Nodes with a "role" are not nodes of the graph: "input" and "output" (the
 * graph's parameters and returns), "begin" and "end" (those of a nested block), "join"
 * (the results of the node with blocks). "control" are pairs of nodes: the first comes
 * before the second without giving it a value. The whole has "us" if nodes have times,
 * and "flops", the sum of those that are counted, if there was a call.
 */
#ifndef CTSC_IR_GRAPH_GRAPH_JSON_H
#define CTSC_IR_GRAPH_GRAPH_JSON_H

#include "base/map.h"
#include "ir/graph/graph.h"

/* Nodes with those of nested blocks and of the bodies of fusion groups, in the order of
 * graph_number. */
typedef struct graph_json_options {
    const object *self; /* the module that the first parameter is; NULL: not known */
    /* nanoseconds per call of each, -1: not known; NULL: of none */
    const int64_t *ns;
    size_t nns;
    int64_t total_ns; /* of a call, with `ns` */
    /* floating-point operations of each, -1: not counted; NULL: of none */
    const int64_t *flops;
    size_t nflops;
    /* types that values are said to have, by their names: written as "declared" */
    const strmap *declared;
} graph_json_options;

/* Visits all nodes, owners before what is in them, and numbers them from 0. */
void graph_number(const graph *g, void (*visit)(void *ctx, node *n, size_t number), void *ctx);
void graph_json(const graph *g, const graph_json_options *o, strbuf *out);

#endif
