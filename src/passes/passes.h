/* SPDX-License-Identifier: Apache-2.0 */
/*
 * passes.h - transformations of graphs, and the orders they run in.
 *
 * A pass is `bool pass_x(pass_ctx *, graph *)`: true if it changed something. It leaves a valid graph
 * behind, whatever it was given, unless memory ran out (arena_failed) or ctx->diag says otherwise. passes.def lists them.
 * Tests: tests/ir/<pass>/
 */
#ifndef CTSC_PASSES_PASSES_H
#define CTSC_PASSES_PASSES_H

#include "ir/unit.h"

typedef struct pass_ctx { diag *diag; } pass_ctx;

#define PASS(name, fn, text) bool fn(pass_ctx *cx, graph *g);
#include "passes/passes.def"
#undef PASS

typedef struct pass { const char *name; bool (*fn)(pass_ctx *, graph *); const char *text; } pass;
extern const pass pass_table[]; /* terminated by name == NULL */
const pass *pass_find(const char *name);

/* After emission: what PyTorch does before it shows a .graph. Has the type of unit->simplify. */
ctsc_status pipeline_simplify(graph *g, diag *d);
/* A function's graph, before it takes the place of calls. */
ctsc_status pipeline_body(graph *g, diag *d);
/* For `graph --inlined`: every call replaced by its body. */
ctsc_status pipeline_inline(graph *g, diag *d);

#endif
