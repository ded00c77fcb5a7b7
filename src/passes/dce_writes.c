/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dce_writes.c - removes writes to memory that is not read any more, and their operands.
 *
 *     %t : Tensor = aten::zeros(%shape, ...)              (nothing)
 *     %u : Tensor = aten::add_(%t, %x, %one)       ->
 *     return (%x)                                         return (%x)
 *
 * Method. Marks what is needed, sweeps the rest. Needed are: what the graph returns,
 * nodes with effects, and writes to memory known outside; then, for a needed node,
 * the nodes that make its inputs, the nodes around it, and every write to memory that
 * one of its inputs reaches. The position of a write in the graph does not matter, so
 * one that comes after the last read stays. pass_dce, which knows no aliases, keeps
 * every write: that is what PyTorch's graphs show before they are optimised.
 * Tests: tests/ir/dce-writes/
 */
#include "ir/graph/alias.h"
#include "passes/passes.h"

typedef struct writes_link { node *by; int next; } writes_link;

typedef struct writes_dce {
    const alias_db *alias;
    VEC(writes_link) links; /* writers of each location, chained */
    int *first;             /* by location: index into links, -1: none */
    bool *live;             /* by location */
    node *writer;           /* while links are made */
    VEC(node *) todo;
    bool all_live, failed; /* all_live: some needed value may be any memory */
} writes_dce;

static void writes_mark(writes_dce *w, node *n) {
    if (!n || n->mark) return;
    n->mark = 1;
    if (!vec_push(&w->todo, n)) w->failed = true;
}

/* ---- nodes that write ------------------------------------------------------------------------ */

static void writes_link_location(void *ctx, int location) {
    writes_dce *w = ctx;
    writes_link l = {w->writer, w->first[location]};
    if (!vec_push(&w->links, l)) w->failed = true;
    else w->first[location] = (int)w->links.len - 1;
}

/* Nothing but a write of memory that stays inside. */
static bool writes_local(const writes_dce *w, const node *n) {
    if (n->blocks.len || (n->kind != N_OP && n->kind != N_SET_ATTR)) return false;
    return alias_writes(w->alias, n) && !node_has_visible_effects(n) &&
           !alias_writes_outside(w->alias, n);
}

/* Tensor(a!)[]: the elements are written, not the list. */
static bool writes_elements(const node *n, size_t i) {
    return n->kind == N_OP && i < (size_t)n->op->schema->nargs && n->op->schema->args[i].alias &&
           n->op->schema->args[i].alias->elem;
}

static void writes_scan(writes_dce *w, block *b) {
    for (node *n = b->first; n && !w->failed; n = n->next) {
        n->mark = 0;
        for (size_t i = 0; i < n->blocks.len; i++) writes_scan(w, n->blocks.data[i]);
        if (!writes_local(w, n)) continue;
        w->writer = n;
        for (size_t i = 0; i < n->inputs.len; i++)
            if (node_writes_input(n, (int)i) &&
                !alias_visit_locations(w->alias, n->inputs.data[i], writes_elements(n, i),
                                       writes_link_location, w))
                w->all_live = true;
    }
}

static void writes_roots(writes_dce *w, block *b) {
    for (node *n = b->first; n; n = n->next) {
        for (size_t i = 0; i < n->blocks.len; i++) writes_roots(w, n->blocks.data[i]);
        bool holder = n->kind == N_IF || n->kind == N_LOOP; /* needed for what they hold or give */
        if (!holder && !(writes_local(w, n) && !w->all_live) && node_has_side_effects(n))
            writes_mark(w, n);
    }
}

/* ---- what is needed -------------------------------------------------------------------------- */

static void writes_live_location(void *ctx, int location) {
    writes_dce *w = ctx;
    if (w->live[location]) return;
    w->live[location] = true;
    for (int i = w->first[location]; i >= 0; i = w->links.data[i].next)
        writes_mark(w, w->links.data[i].by);
}

static void writes_need(writes_dce *w, ir_value *v) {
    writes_mark(w, v->def ? v->def : v->owner->parent);
    if (!alias_visit_locations(w->alias, v, true, writes_live_location, w))
        for (size_t i = 0; i < w->links.len; i++) writes_mark(w, w->links.data[i].by);
}

static void writes_follow(writes_dce *w, node *n) {
    writes_mark(w, n->owner->parent);
    for (size_t i = 0; i < n->inputs.len; i++) writes_need(w, n->inputs.data[i]);
    for (size_t b = 0; b < n->blocks.len; b++)
        for (size_t i = 0; i < n->blocks.data[b]->returns.len; i++)
            writes_need(w, n->blocks.data[b]->returns.data[i]);
}

static bool writes_sweep(block *b) {
    bool changed = false;
    for (node *n = b->last, *prev; n; n = prev) {
        prev = n->prev;
        if (!n->mark) {
            node_remove(n);
            changed = true;
            continue;
        }
        for (size_t i = 0; i < n->blocks.len; i++) changed |= writes_sweep(n->blocks.data[i]);
    }
    return changed;
}

static bool writes_run(writes_dce *w, graph *g) {
    size_t n = (size_t)alias_location_count(w->alias);
    w->first = mem_alloc((n + 1) * sizeof *w->first);
    w->live = mem_zalloc(n + 1);
    if (!w->first || !w->live) return false;
    for (size_t i = 0; i < n; i++) w->first[i] = -1;
    writes_scan(w, g->root);
    writes_roots(w, g->root);
    for (size_t i = 0; i < g->root->returns.len; i++) {
        ir_value *v = g->root->returns.data[i];
        if (v->def || v->owner != g->root) writes_need(w, v);
    }
    while (w->todo.len && !w->failed) writes_follow(w, vec_pop(&w->todo));
    return !w->failed;
}

bool pass_dce_writes(pass_ctx *cx, graph *g) {
    bool changed = pass_dce(cx, g); /* outputs of If and Loop that nothing uses */
    alias_db *db = alias_new(g);
    writes_dce w = {.alias = db};
    bool ok = db && writes_run(&w, g);
    if (ok && writes_sweep(g->root)) {
        changed = true;
        pass_dce(cx, g);
    }
    if (!ok) g->arena.failed = true;
    alias_free(db);
    vec_free(&w.links);
    vec_free(&w.todo);
    mem_free(w.first);
    mem_free(w.live);
    return changed;
}
