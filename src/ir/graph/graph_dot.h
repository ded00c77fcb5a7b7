/* SPDX-License-Identifier: Apache-2.0 */
/* graph_dot.h - graphs as drawings, in the language of Graphviz. */
#ifndef CTSC_IR_GRAPH_GRAPH_DOT_H
#define CTSC_IR_GRAPH_GRAPH_DOT_H

#include "ir/graph/graph.h"

/* A whole file for dot. Boxes are nodes, arrows are values with their types; blocks and the graphs
 * of fusion groups are frames around theirs. */
void graph_dot(const graph *g, strbuf *out);

#endif
