/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overlap.c - lets collectives between processes run while other operators do.
 *
 *     %p = aten::matmul(%x, %v)                     %a = _c10d_functional::all_reduce(%h, %sum, %group)
 *     %a = _c10d_functional::all_reduce(%h, ...)    %p = aten::matmul(%x, %v)
 *     %b = _c10d_functional::wait_tensor(%a)    ->  %q = aten::matmul(%x, %w)
 *     %q = aten::matmul(%x, %w)                     %b = _c10d_functional::wait_tensor(%a)
 *     %r = aten::add(%b, %q, %one)                  %r = aten::add(%b, %q, %one)
 *
 * Method. Waits go down to their first reader, then starts go up to where their arguments exist.
 * Dependencies and writes are the alias analysis' matter. The order of starts among themselves
 * never changes: it is the same on all ranks, which would otherwise wait for one another. A start
 * passes at most one wait, so that of many collectives (each layer's weights, gathered) no more
 * than one is under way beyond the one that is waited for: results that wait for their readers take
 * memory.
 *
 * Errors. A collective that fails is reported at its wait, wherever that is, and a start may come
 * before an operator that fails: the run ends with an error either way, and the other ranks lose
 * this one either way. Nothing passes what can be seen from outside (prints, writes to arguments).
 * Tests: tests/ir/overlap
 */
#include "ir/graph/alias.h"
#include "passes/passes.h"

enum { OVERLAP_MAX_DISTANCE = 512, OVERLAP_WAITS = 1 };

static collective_part overlap_part(const node *n) {
    return n->kind == N_OP && n->op ? n->op->traits.collective : COLLECTIVE_NOT;
}

static bool overlap_is_seen(const alias_db *db, const node *n) {
    return overlap_part(n) != COLLECTIVE_WAIT &&
           (node_has_visible_effects(n) || alias_writes_world(db, n));
}

/* Past starts, too: what this wait says, or fails with, has nothing to do with them. */
static bool overlap_down(const alias_db *db, node *wait) {
    node *at = wait;
    int left = OVERLAP_MAX_DISTANCE;
    for (node *m = wait->next; m && left-- > 0; m = m->next) {
        bool start = overlap_part(m) == COLLECTIVE_START;
        if ((!start && overlap_is_seen(db, m)) || !alias_independent(db, wait, m)) break;
        at = m;
    }
    if (at == wait) return false;
    node_move_after(wait, at);
    return true;
}

static bool overlap_up(const alias_db *db, node *start) {
    node *at = start;
    int left = OVERLAP_MAX_DISTANCE, waits = OVERLAP_WAITS;
    for (node *m = start->prev; m && left-- > 0; m = m->prev) {
        waits -= overlap_part(m) == COLLECTIVE_WAIT;
        if (waits < 0 || overlap_is_seen(db, m) || !alias_independent(db, m, start)) break;
        at = m;
    }
    if (at == start) return false;
    node_move_before(start, at);
    return true;
}

static bool overlap_any(const block *b) {
    for (const node *n = b->first; n; n = n->next) {
        if (overlap_part(n) != COLLECTIVE_NOT) return true;
        for (size_t i = 0; i < n->blocks.len; i++)
            if (overlap_any(n->blocks.data[i])) return true;
    }
    return false;
}

/* Later waits first: an earlier one, which may be what they are computed with, follows them. */
static bool overlap_block(const alias_db *db, block *b) {
    bool changed = false;
    for (node *n = b->first; n; n = n->next)
        for (size_t i = 0; i < n->blocks.len; i++) changed |= overlap_block(db, n->blocks.data[i]);
    for (node *n = b->last, *before; n; n = before) {
        before = n->prev;
        if (overlap_part(n) == COLLECTIVE_WAIT) changed |= overlap_down(db, n);
    }
    for (node *n = b->first, *after; n; n = after) {
        after = n->next;
        if (overlap_part(n) == COLLECTIVE_START) changed |= overlap_up(db, n);
    }
    return changed;
}

bool pass_overlap(pass_ctx *cx, graph *g) {
    (void)cx;
    if (!overlap_any(g->root)) return false;
    alias_db *db = alias_new(g);
    if (!db) return g->arena.failed = true, false;
    bool changed = overlap_block(db, g->root);
    alias_free(db);
    return changed;
}
