/* SPDX-License-Identifier: Apache-2.0 */
/* rewrite.c - one operator in the place of others (rewrite.h). Tests: tests/ir/fuse-linear, fuse-epilogues, fuse-attention */
#include "passes/rewrite.h"

#include <string.h>

static bool rewrite_block(const alias_db *db, block *b, rewrite_rule rule) {
    bool changed = false;
    for (node *n = b->last, *prev; n && !arena_failed(&b->g->arena); n = prev) {
        node *stop = n->next; /* what moved stands in front of it then */
        prev = n->prev;
        for (size_t i = 0; i < n->blocks.len; i++) changed |= rewrite_block(db, n->blocks.data[i], rule);
        if (n->kind != N_OP || !rule(db, n)) continue;
        changed = true;
        prev = stop ? stop->prev : b->last;
    }
    return changed;
}

bool rewrite_each(pass_ctx *cx, graph *g, rewrite_rule rule) {
    alias_db *db = alias_new(g);
    if (!db) {
        diag_no_memory(cx->diag);
        return false;
    }
    bool changed = rewrite_block(db, g->root, rule);
    alias_free(db);
    return changed;
}

bool rewrite_is(const node *n, const char *key) {
    return n->kind == N_OP && n->op && !strcmp(n->op->key, key);
}

node *rewrite_only_for(const node *n, const ir_value *v) {
    node *def = v->def;
    return def && def->kind == N_OP && def->op && def->owner == n->owner && v->uses.len == 1 && def->outputs.len == 1 ? def : NULL;
}

bool rewrite_move_down(const alias_db *db, node *n, node *at) {
    if (n->next == at) return true;
    if (!alias_can_move_after(db, n, at->prev)) return false;
    node_move_before(n, at);
    return true;
}

/* Where the graph's own functions insert, while something is put in front of a node. */
typedef struct rewrite_place {
    block *blk;
    node *before;
    source_range range;
} rewrite_place;

static rewrite_place rewrite_begin(node *at) {
    graph *g = at->g;
    rewrite_place was = {g->insert_block, g->insert_before, g->range};
    graph_set_insert(g, at->owner, at);
    g->range = (source_range){0};
    return was;
}

static ir_value *rewrite_end(node *at, const rewrite_place *was, ir_value *made) {
    graph_set_insert(at->g, was->blk, was->before);
    at->g->range = was->range;
    return made;
}

ir_value *rewrite_none(node *at) {
    rewrite_place was = rewrite_begin(at);
    return rewrite_end(at, &was, graph_constant_none(at->g));
}

ir_value *rewrite_str(node *at, const char *text) {
    rewrite_place was = rewrite_begin(at);
    return rewrite_end(at, &was, graph_constant_str(at->g, text, strlen(text)));
}

ir_value *rewrite_bool(node *at, bool b) {
    rewrite_place was = rewrite_begin(at);
    return rewrite_end(at, &was, graph_constant_bool(at->g, b));
}

ir_value *rewrite_int(node *at, int64_t i) {
    rewrite_place was = rewrite_begin(at);
    return rewrite_end(at, &was, graph_constant_int(at->g, i));
}

ir_value *rewrite_op(node *at, const char *key, int ninputs, ir_value *const *inputs) {
    const op *o = op_find(key);
    if (!o) return NULL;
    node *n = node_new_op(at->g, o, ninputs, inputs);
    n->range = at->range;
    n->call = at->call;
    n->range_hidden = at->range_hidden;
    n->scope = at->scope;
    node_insert_before(n, at);
    return n->outputs.data[0];
}

void rewrite_result(node *n, ir_value *with) {
    ir_value *y = n->outputs.data[0];
    with->type = y->type;
    if (value_has_name(y)) {
        const char *name = y->name;
        value_set_name(y, "");
        value_set_name(with, name);
    }
    value_replace_uses(y, with);
    node_remove(n);
}
