/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peephole.h - what the files of rules share (peephole.c tells how rules work).
 *
 *   peephole.c         the engine; rules of types and control flow
 *   peephole_math.c    arithmetic
 *   peephole_number.c  numbers computed as tensors
 *   peephole_view.c    views, casts, copies
 *   peephole_list.c    lists, tuples, dicts, shapes, bools
 */
#ifndef CTSC_PASSES_PEEPHOLE_PEEPHOLE_H
#define CTSC_PASSES_PEEPHOLE_PEEPHOLE_H

#include "passes/pass/pass.h"
#include "passes/pass/value_analysis.h"

typedef struct peephole {
    graph *g;
    bool changed; /* set by rules that change more than one result, or none */
    bool gone;    /* set with it by rules that removed the node */
    /* of the graph: known_graph_writes, known_graph_reshapes; -1: not asked yet */
    int writes, reshapes;
} peephole;

/* Returns what takes the place of n's one result (n then goes), or NULL. */
typedef ir_value *peephole_rule(peephole *p, node *n);

#define RULE(op, fn, when) peephole_rule fn;
#include "passes/peephole/peephole.def"
#undef RULE

/* New things in front of `at`, without a place of their own (constants) or with at's (nodes). */
static inline ir_value *peephole_constant(node *at, value v_take) {
    return graph_constant_before_take(at, v_take, NULL);
}
ir_value *peephole_new_op(peephole *p, node *at, const op *o, int ninputs, ir_value *const *inputs,
                          type *t);
ir_value *peephole_new_node(peephole *p, node *at, node_kind kind, int ninputs,
                            ir_value *const *inputs, type *t);
/* x in the place of n's result, which is a copy of it: x if nobody can tell the
 * difference, else NULL. */
ir_value *peephole_copy(peephole *p, const node *n, ir_value *x);
/* The same where n's result is another view of all of x. */
ir_value *peephole_view_of(peephole *p, const node *n, ir_value *x);
bool peephole_graph_reshapes(peephole *p);
/* Does a tensor type say that v is contiguous? */
bool peephole_is_contiguous(const ir_value *v);

static inline bool peephole_is_tensor(const ir_value *v) { return v->type->kind == T_TENSOR; }

#endif
