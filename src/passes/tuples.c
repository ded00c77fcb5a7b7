/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tuples.c - removes tuples that are made only to be unpacked.
 *
 *     %t = prim::TupleConstruct(%a, %b)
 *     %x, %y = prim::TupleUnpack(%t)          ->      uses of %x are uses of %a, of %y of %b
 *
 * The constructor itself goes with dead code elimination once nothing uses it.
 * Tests: tests/ir/lower-tuples/
 */
#include "passes/passes.h"

static bool tuples_node(node *n) {
    if (n->kind != N_TUPLE_UNPACK && n->kind != N_TUPLE_INDEX) return false;
    const node *made = n->inputs.data[0]->def;
    if (!made || made->kind != N_TUPLE_CONSTRUCT) return false;
    if (n->kind == N_TUPLE_UNPACK) {
        if (made->inputs.len != n->outputs.len) return false;
        for (size_t i = 0; i < n->outputs.len; i++)
            value_replace_uses(n->outputs.data[i], made->inputs.data[i]);
    } else {
        value v;
        if (!ir_value_constant(n->inputs.data[1], &v) || v.tag != V_INT) return false;
        int64_t len = (int64_t)made->inputs.len, i = v.u.i < 0 ? v.u.i + len : v.u.i;
        if (i < 0 || i >= len) return false;
        value_replace_uses(n->outputs.data[0], made->inputs.data[i]);
    }
    node_remove(n);
    return true;
}

static bool tuples_block(block *b) {
    bool changed = false;
    for (node *n = b->first, *next; n; n = next) {
        next = n->next;
        for (size_t i = 0; i < n->blocks.len; i++) changed |= tuples_block(n->blocks.data[i]);
        changed |= tuples_node(n);
    }
    return changed;
}

bool pass_lower_tuples(pass_ctx *cx, graph *g) {
    (void)cx;
    return tuples_block(g->root);
}
