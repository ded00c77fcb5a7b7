/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dce.c - removes unused code without effects: nodes,
 * outputs of prim::If, carried values of prim::Loop.
 *
 *     %a, %b = prim::If(%c)  -> (%x, %y) -> (%z, %w)     with %b unused ->    %a = prim::If(%c)  -> (%x) -> (%z)
 *
 * One sweep from the end: a node is visited after all its possible users, and loses its dead
 * outputs before its blocks are swept, so that the nodes that fed them are removed in the
 * same sweep. A carried value is dead if its output is unused and its parameter feeds nothing
 * but itself. Writes to arguments and other effects keep a node (node_has_side_effects), and
 * so does everything that may raise in a way a program can notice.
 * Tests: tests/ir/dce/
 */
#include "passes/passes.h"

static bool dce_unused(const node *n) {
    for (size_t i = 0; i < n->outputs.len; i++)
        if (n->outputs.data[i]->uses.len) return false;
    return true;
}

static bool dce_if_outputs(node *n) {
    bool changed = false;
    for (int i = (int)n->outputs.len; i-- > 0;) {
        if (n->outputs.data[i]->uses.len) continue;
        node_remove_output(n, i);
        for (size_t b = 0; b < n->blocks.len; b++) block_remove_return(n->blocks.data[b], i);
        changed = true;
    }
    return changed;
}

/* Inputs of a Loop: trip count, condition, carried...; its block takes (i, carried...) and returns
 * (condition, carried...). */
static bool dce_loop_carried(node *n) {
    block *body = n->blocks.data[0];
    bool changed = false;
    for (int i = (int)n->outputs.len; i-- > 0;) {
        ir_value *p = body->params.data[i + 1];
        bool only_itself = p->uses.len == 0 || (p->uses.len == 1 && !p->uses.data[0].user &&
                                                body->returns.data[i + 1] == p);
        if (n->outputs.data[i]->uses.len || !only_itself) continue;
        node_remove_output(n, i);
        block_remove_return(body, i + 1);
        block_remove_param(body, i + 1);
        node_remove_input(n, i + 2);
        changed = true;
    }
    return changed;
}

static bool dce_block(block *b) {
    bool changed = false;
    for (node *n = b->last, *prev; n; n = prev) {
        prev = n->prev;
        if (n->kind == N_IF) changed |= dce_if_outputs(n);
        if (n->kind == N_LOOP) changed |= dce_loop_carried(n);
        for (size_t i = 0; i < n->blocks.len; i++) changed |= dce_block(n->blocks.data[i]);
        if (n->kind == N_LOOP) changed |= dce_loop_carried(n); /* what its body no longer uses */
        if (dce_unused(n) && !node_has_side_effects(n)) {
            node_remove(n);
            changed = true;
        }
    }
    return changed;
}

bool pass_dce(pass_ctx *cx, graph *g) {
    (void)cx;
    return dce_block(g->root);
}
