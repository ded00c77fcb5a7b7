/* SPDX-License-Identifier: Apache-2.0 */
/*
 * licm.c - moves what is the same in every iteration of a loop in front of it.
 *
 *      = prim::Loop(%n, %true)                         %w : Tensor = aten::t(%weight)
 *       block0(%i : int):                               = prim::Loop(%n, %true)
 *         %w : Tensor = aten::t(%weight)         ->       block0(%i : int):
 *         ...                                               ...
 *
 * Method. Inner loops first, so that a node can climb through several. A node of the body itself
 * (not of an If in it) moves if
 * - its inputs come from outside the loop, and no iteration writes what it reads of them;
 * - it has no effects, writes nothing and is not random;
 * - what it makes is immutable, or a new object that is never written and does not leave the graph:
 *   iterations may then share one;
 * - it cannot fail; or the loop surely runs its first iteration and nothing in front of the
 *   node can be seen outside: an operator that fails on the first iteration then fails before
 *   it just the same.
 * Tests: tests/ir/licm/
 */
#include "ir/graph/alias.h"
#include "passes/passes.h"

static bool licm_inputs_outside(const node *n, const node *loop) {
    for (size_t i = 0; i < n->inputs.len; i++)
        for (const block *b = n->inputs.data[i]->owner; b; b = b->parent ? b->parent->owner : NULL)
            if (b == loop->blocks.data[0]) return false;
    return true;
}

static bool licm_shareable(const alias_db *db, const node *n) {
    node_result makes = node_makes(n);
    for (size_t i = 0; i < n->outputs.len; i++) {
        const ir_value *v = n->outputs.data[i];
        if (makes == RESULT_SAME || !alias_type_mutable(v->type)) continue;
        if (makes == RESULT_VIEW ? alias_ever_reshaped(db, v)
                                 : alias_ever_written(db, v) || alias_flows_out(db, v))
            return false;
    }
    return true;
}

/* A constant trip count above 0, and a condition that begins as True. */
static bool licm_surely_runs(const node *loop) {
    value trip, go;
    return ir_value_constant(loop->inputs.data[0], &trip) && trip.tag == V_INT && trip.u.i > 0 &&
           ir_value_constant(loop->inputs.data[1], &go) && go.tag == V_BOOL && go.u.b;
}

static bool licm_movable(const alias_db *db, const node *n, const node *loop, bool may_fail) {
    if (n->blocks.len || !n->outputs.len || n->kind == N_UNINITIALIZED ||
        n->kind == N_CREATE_OBJECT)
        return false;
    if (n->kind == N_OP && !n->op) return false;
    if (!licm_inputs_outside(n, loop) || node_has_visible_effects(n) || node_is_random(n) ||
        alias_writes(db, n))
        return false;
    if (!may_fail && node_may_raise(n)) return false;
    return n->kind == N_CONSTANT || (alias_inputs_kept(db, n, loop) && licm_shareable(db, n));
}

static bool licm_block(const alias_db *db, block *b);

static bool licm_loop(const alias_db *db, node *loop) {
    bool changed = false, may_fail = licm_surely_runs(loop);
    for (node *n = loop->blocks.data[0]->first, *next; n; n = next) {
        next = n->next;
        if (licm_movable(db, n, loop, may_fail)) {
            node_move_before(n, loop);
            changed = true;
        } else if (node_has_visible_effects(n) || alias_writes_world(db, n)) {
            may_fail = false;
        }
    }
    return changed;
}

static bool licm_block(const alias_db *db, block *b) {
    bool changed = false;
    for (node *n = b->first; n; n = n->next) {
        for (size_t i = 0; i < n->blocks.len; i++) changed |= licm_block(db, n->blocks.data[i]);
        if (n->kind == N_LOOP) changed |= licm_loop(db, n);
    }
    return changed;
}

bool pass_licm(pass_ctx *cx, graph *g) {
    (void)cx;
    alias_db *db = alias_new(g);
    if (!db) {
        g->arena.failed = true;
        return false;
    }
    bool changed = licm_block(db, g->root);
    alias_free(db);
    return changed;
}
