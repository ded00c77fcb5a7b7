/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forks.c - analysis of forks (forks.h).
 *
 * Method. A body is analysed with its calls inlined, in a copy; a remaining call
 * (through an interface, or of a function that does not compile) may do anything.
 * Effects come from the nodes, writes from the alias database of the copy. All
 * errors are on the safe side: a body that is not understood runs at once.
 */
#include "passes/forks.h"
#include "passes/passes.h"

#include <string.h>

/* Bodies of nested forks that are looked into for one question: the number of forks can
 * double at each level. */
enum { FORK_MAX_BODIES = 256 };

static bool fork_is_wait(const node *n) { return n->kind == N_OP && node_is_op(n, SYM_WAIT); }

/* Random operators of the library are effects as well, except for those that only
 * look random, so that no pass folds them; a program's own may draw from anywhere. */
static bool fork_draws(const node *n) {
    return node_is_random(n) && strncmp(n->op_name, "aten::", 6) != 0;
}

static bool fork_body_is_pure(const graph *body, int *budget);

static bool fork_node_is_pure(const alias_db *db, const node *n, int *budget);

static bool fork_block_is_pure(const alias_db *db, const block *b, int *budget) {
    for (const node *n = b->first; n; n = n->next)
        if (!fork_node_is_pure(db, n, budget)) return false;
    return true;
}

static const graph *fork_body(const node *n) {
    const attr *a = node_attr(n, "Subgraph");
    if (!a) return NULL;
    if (a->kind == ATTR_GRAPH) return a->u.g;
    return a->kind == ATTR_VALUE && a->u.v.tag == V_FUNCTION ? a->u.v.u.function->graph : NULL;
}

static bool fork_node_is_pure(const alias_db *db, const node *n, int *budget) {
    if (n->kind == N_FORK) return fork_body_is_pure(fork_body(n), budget);
    if (n->kind == N_RAISE || fork_is_wait(n)) return true; /* failures travel with the future */
    for (size_t i = 0; i < n->blocks.len; i++)
        if (!fork_block_is_pure(db, n->blocks.data[i], budget)) return false;
    return n->blocks.len ||
           !(node_has_visible_effects(n) || fork_draws(n) || alias_writes_world(db, n));
}

/* body NULL: not known. */
static bool fork_body_is_pure(const graph *body, int *budget) {
    diag lost = {0};
    graph *g = body && (*budget)-- > 0 ? graph_clone(body) : NULL;
    bool inlined = g && pipeline_inline(g, false, &lost) == CTSC_OK && !arena_failed(&g->arena);
    alias_db *db = inlined ? alias_new(g) : NULL;
    bool pure = db && fork_block_is_pure(db, g->root, budget);
    if (db) alias_free(db);
    graph_free(g);
    diag_clear(&lost);
    return pure;
}

bool fork_runs_apart(const node *n) {
    int budget = FORK_MAX_BODIES;
    return fork_body_is_pure(fork_body(n), &budget);
}

/* ---- places where forked bodies have to have ended ------------------------------------------- */

static bool fork_type_holds_future(const type *t) {
    if (t->kind == T_FUTURE || t->kind == T_ANY || t->kind == T_VAR) return true;
    for (int i = 0; i < t->nelems; i++)
        if (fork_type_holds_future(t->elems[i])) return true;
    return false;
}

static bool fork_takes_future(const node *n) {
    for (size_t i = 0; i < n->inputs.len; i++)
        if (fork_type_holds_future(n->inputs.data[i]->type)) return true;
    return false;
}

/* Operators that put futures into containers and take them out, without a look at them. */
static bool fork_is_mover(const node *n) {
    switch (node_symbol(n)) {
    case SYM_APPEND:
    case SYM_INSERT:
    case SYM_EXTEND:
    case SYM_POP:
    case SYM___GETITEM__:
    case SYM__SET_ITEM:
    case SYM_SLICE:
    case SYM_LEN:
    case SYM___IS__:
    case SYM___ISNOT__: return true;
    default: return false;
    }
}

static bool fork_only_moves(const node *n) {
    switch (n->kind) {
    case N_LIST_CONSTRUCT:
    case N_TUPLE_CONSTRUCT:
    case N_DICT_CONSTRUCT:
    case N_LIST_UNPACK:
    case N_TUPLE_UNPACK:
    case N_TUPLE_INDEX:
    case N_TUPLE_SLICE:
    case N_UNCHECKED_CAST: return true;
    case N_OP: return fork_is_mover(n);
    default: return false;
    }
}

bool fork_ends_before(const alias_db *db, const node *n, bool runs_apart) {
    if (n->blocks.len || n->kind == N_RAISE || fork_is_wait(n)) return false;
    if (n->kind == N_FORK) return !runs_apart || fork_takes_future(n);
    if (node_has_visible_effects(n) && !node_is_random(n)) return true;
    return alias_writes_world(db, n) || (fork_takes_future(n) && !fork_only_moves(n));
}
