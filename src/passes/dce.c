/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dce.c - removes nodes whose outputs nobody uses and which do nothing else.
 *
 * One sweep from the end: a node is looked at after everything that could use it. Writes to arguments and
 * other effects keep a node (node_has_side_effects), and so does everything that may raise in a
 * way a program can notice: only kinds and operators known to be pure go. Outputs of If and Loop stay as they are.
 * Tests: tests/ir/dce/
 */
#include "passes/passes.h"

static bool dce_unused(const node *n) {
    for (size_t i = 0; i < n->outputs.len; i++)
        if (n->outputs.data[i]->uses.len) return false;
    return true;
}

static bool dce_block(block *b) {
    bool changed = false;
    for (node *n = b->last, *prev; n; n = prev) {
        prev = n->prev;
        for (size_t i = 0; i < n->blocks.len; i++) changed |= dce_block(n->blocks.data[i]);
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
