/* SPDX-License-Identifier: Apache-2.0 */
/*
 * passes.h - transformations of graphs, and the orders they run in.
 *
 * pass/pass.h says what a pass is. Lists of passes are text (pass_run_list), as on the command
 * line; pipeline.def says which pass runs when, and where.
 * Tests: tests/ir/<pass>/, tests/cli/opt.test, tests/unit/test_pipeline.c
 */
#ifndef CTSC_PASSES_PASSES_H
#define CTSC_PASSES_PASSES_H

#include "passes/pass/pass.h"

typedef struct pass { const char *name; bool (*fn)(pass_ctx *, graph *); const char *text; } pass;
extern const pass pass_table[]; /* terminated by name == NULL */
const pass *pass_find(const char *name);

/* Runs passes in order: "inline,[peephole,fold-constants,dce],pool-constants".
 * A group in brackets is repeated until nothing changes any more, at most
 * PASS_MAX_ROUNDS times. *changed (may be NULL): did anything change? */
enum { PASS_MAX_ROUNDS = 16, PASS_MAX_NESTING = 8 };
ctsc_status pass_run_list(pass_ctx *cx, graph *g, const char *list, bool *changed);
/* A table of cx->times: how often each pass ran, how often it changed something,
 * how long it took. */
void pass_print_times(const pass_ctx *cx, strbuf *out);

/* Would scalar-constants, which every level of optimisation needs, change g? */
bool pass_scalar_constants_wanted(const graph *g);
/* Is there torch.autocast in g? Its calls have to be inlined first then, at every level. */
bool pass_autocast_wanted(const graph *g);
/* Is t the class of PyTorch's that is entered to cast? */
bool pass_autocast_is(const type *t);
/* After emission: what PyTorch does before it shows a .graph. Has the type of unit->simplify. */
ctsc_status pipeline_simplify(graph *g, diag *d);
/* A function's graph, before it takes the place of calls. */
ctsc_status pipeline_body(pass_ctx *cx, graph *g);
/* Every call replaced by its body. shown: for `graph --inlined`, and not to be run (pass_ctx). */
ctsc_status pipeline_inline(graph *g, bool shown, diag *d);
/* The graph of a method of a module in eval mode becomes that of the frozen module. cx->self is the
 * module; calls are inlined first. fold: batch norms and constant factors go into the weights as
 * well, which changes results by rounding. */
ctsc_status pipeline_freeze(pass_ctx *cx, graph *g, bool fold);
/* What every level of optimisation needs of a function's graph that is run as it is written. */
ctsc_status pipeline_level_0(pass_ctx *cx, graph *g);
/* The same for the levels from 1 on, after inlining: composite operators become the operators
 * they are made of. */
ctsc_status pipeline_prepare(pass_ctx *cx, graph *g);
/* Attributes of cx->self, which stay as they are, become constants. */
ctsc_status pipeline_specialise(pass_ctx *cx, graph *g, int level);
/* Is `layout` among the passes of level 2? */
bool pipeline_has_layout(const pass_ctx *cx);
/* All else of a level, on a graph without calls, for cx->device. */
ctsc_status pipeline_level(pass_ctx *cx, graph *g, int level);

/* The stages of pipeline.def. */
typedef enum pipeline_stage {
    PIPELINE_SIMPLIFY = 1,
    PIPELINE_FREEZE = 2,
    PIPELINE_PREPARE = 4,
    PIPELINE_SPECIALISE = 8,
    PIPELINE_OPTIMISE = 16,
} pipeline_stage;
/* What a stage runs at a level for cx->device, ->unpacked and ->reduce: a list for pass_run_list,
 * put at the end of out. */
void pipeline_order(const pass_ctx *cx, pipeline_stage stage, int level, strbuf *out);

/* The function that a call runs, if that is known. */
function *inline_callee(const node *n);

#endif
