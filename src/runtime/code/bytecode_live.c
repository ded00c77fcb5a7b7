/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bytecode_live.c - where each value of a graph is used last.
 *
 * Method: for a value of block B, each use is lifted to the node of B that holds it; the last such
 * node ends the value. Used directly there, the value is moved into the node. Used within a
 * prim::If, the question is asked again for each of its blocks, and a block that does not use it
 * releases it at its start; so a large tensor is freed in the branch that is done with it. Used
 * within a prim::Loop, it lives until the loop is over.
 * Tests: tests/unit/test_interp.c
 */
#include "runtime/code/bytecode_internal.h"

enum { LIVE_MAX_DEPTH = 500 };

static bool live_memory(translator *tr) {
    if (arena_failed(&tr->scratch)) return tr_no_memory(tr);
    return tr->status == CTSC_OK;
}

block_life *tr_block_life(translator *tr, const block *b) {
    if (!b->parent) return &tr->root;
    node_life *life = b->parent->scratch;
    for (size_t i = 0; i < b->parent->blocks.len; i++)
        if (b->parent->blocks.data[i] == b) return &life->blocks[i];
    return &tr->root;
}

static void live_prepare_block(translator *tr, block *b, block_life *life);

static void live_prepare_node(translator *tr, node *n) {
    node_life *life = arena_new(&tr->scratch, node_life);
    if (!live_memory(tr)) return;
    life->last_use = arena_alloc(&tr->scratch, n->inputs.len + 1);
    life->blocks = arena_array(&tr->scratch, block_life, n->blocks.len + 1);
    if (!live_memory(tr)) return;
    n->scratch = life;
    for (size_t i = 0; i < n->outputs.len; i++) n->outputs.data[i]->scratch = NULL;
    for (size_t i = 0; i < n->blocks.len && tr->status == CTSC_OK; i++)
        live_prepare_block(tr, n->blocks.data[i], &life->blocks[i]);
}

static void live_prepare_block(translator *tr, block *b, block_life *life) {
    if (++tr->depth > LIVE_MAX_DEPTH) {
        tr->status = diag_fail(tr->d, CTSC_LIMIT, "this function is nested too deeply");
        return;
    }
    life->last_use = arena_alloc(&tr->scratch, b->returns.len + 1);
    if (!live_memory(tr)) return;
    for (size_t i = 0; i < b->params.len; i++) b->params.data[i]->scratch = NULL;
    int position = 0;
    for (node *n = b->first; n && tr->status == CTSC_OK; n = n->next) {
        n->mark = position++;
        live_prepare_node(tr, n);
    }
    tr->depth--;
}

typedef struct last_use {
    node *at;      /* node of the block; NULL with `returned` unset: none */
    bool returned; /* a return of the block */
    bool nested;   /* some use at `at` is within it */
    int index;     /* last input, or return, that is the value */
} last_use;

/* The node of b that holds u: itself or around it. false: u is not in b. *at NULL: a return of b.
 */
static bool live_lift(const use *u, const block *b, node **at) {
    const block *home = u->user ? u->user->owner : u->blk;
    node *n = u->user;
    while (home != b) {
        n = home ? home->parent : NULL;
        if (!n) return false;
        home = n->owner;
    }
    *at = n;
    return true;
}

static last_use live_last(const ir_value *v, const block *b) {
    last_use last = {0};
    for (size_t i = 0; i < v->uses.len; i++) {
        const use *u = &v->uses.data[i];
        node *at;
        if (!live_lift(u, b, &at)) continue;
        if (!at) {
            if (!last.returned) last = (last_use){.returned = true, .index = u->index};
            if (u->index > last.index) last.index = u->index;
            continue;
        }
        if (last.returned || (last.at && at->mark < last.at->mark)) continue;
        if (at != last.at) last = (last_use){.at = at, .index = -1};
        if (at != u->user) last.nested = true;
        else if (u->index > last.index) last.index = u->index;
    }
    return last;
}

/* owner: b is the block that defines v. */
static void live_place(translator *tr, ir_value *v, block *b, bool owner) {
    last_use last = live_last(v, b);
    if (last.returned) {
        tr_block_life(tr, b)->last_use[last.index] = true;
        return;
    }
    if (!last.at) {
        (void)avec_push(&tr->scratch, &tr_block_life(tr, b)->drops, v);
        return;
    }
    node_life *life = last.at->scratch;
    if (owner) (void)avec_push(&tr->scratch, &life->ends, v);
    if (last.nested && last.at->kind == N_IF) {
        for (size_t i = 0; i < last.at->blocks.len; i++)
            live_place(tr, v, last.at->blocks.data[i], false);
    } else if (last.nested || last.at->kind == N_IF) {
        (void)avec_push(&tr->scratch, &life->drops, v);
    } else {
        life->last_use[last.index] = true;
    }
}

static bool live_is_constant(const ir_value *v) {
    return v->def && (v->def->kind == N_CONSTANT || v->def->kind == N_UNINITIALIZED);
}

static void live_block(translator *tr, block *b) {
    /* The registers of a loop's parameters are not the body's to give back, see tr_loop. */
    for (size_t i = 0; i < b->params.len; i++) live_place(tr, b->params.data[i], b, !b->parent);
    for (node *n = b->first; n && live_memory(tr); n = n->next) {
        for (size_t i = 0; i < n->outputs.len; i++)
            if (n->outputs.data[i]->uses.len && !live_is_constant(n->outputs.data[i]))
                live_place(tr, n->outputs.data[i], b, true);
        for (size_t i = 0; i < n->blocks.len; i++) live_block(tr, n->blocks.data[i]);
    }
}

void tr_find_lives(translator *tr, graph *g) {
    live_prepare_block(tr, g->root, &tr->root);
    if (tr->status == CTSC_OK) live_block(tr, g->root);
    if (tr->status == CTSC_OK) live_memory(tr);
}
