/* SPDX-License-Identifier: Apache-2.0 */
/* shrink.h - makes a graph that shows a difference as small as can be (shrink.c). */
#ifndef CTSC_TESTS_SHRINK_H
#define CTSC_TESTS_SHRINK_H

#include "diff.h"

/* A smaller graph for which `bad` still holds; the caller's. bad must not change the graph. */
graph *shrink_graph(const graph *g, bool (*bad)(void *ctx, graph *g), void *ctx);

#endif
