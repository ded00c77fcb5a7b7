/* SPDX-License-Identifier: Apache-2.0 */
/* rewrite.c - one operator in the place of others (rewrite.h). Tests: tests/ir/fuse-linear,
 * fuse-epilogues, fuse-attention, fuse-rotary */
#include "passes/pass/rewrite.h"

#include <string.h>

static bool rewrite_block(const alias_db *db, block *b, rewrite_rule rule) {
    bool changed = false;
    for (node *n = b->last, *prev; n && !arena_failed(&b->g->arena); n = prev) {
        node *stop = n->next; /* the moved nodes are before it then */
        prev = n->prev;
        for (size_t i = 0; i < n->blocks.len; i++)
            changed |= rewrite_block(db, n->blocks.data[i], rule);
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

node *rewrite_read_by(const node *n, const ir_value *v, size_t uses) {
    node *def = v->def;
    return def && def->kind == N_OP && def->op && def->owner == n->owner && v->uses.len == uses &&
                   def->outputs.len == 1
               ? def
               : NULL;
}

node *rewrite_only_for(const node *n, const ir_value *v) { return rewrite_read_by(n, v, 1); }

bool rewrite_move_down(const alias_db *db, node *n, node *at) {
    if (n->next == at) return true;
    if (!alias_can_move_after(db, n, at->prev)) return false;
    node_move_before(n, at);
    return true;
}

ir_value *rewrite_none(node *at) { return graph_constant_before_take(at, value_none(), TYPE_NONE); }

ir_value *rewrite_str(node *at, const char *text) {
    str *s = str_new(text, strlen(text));
    if (!s) at->g->arena.failed = true;
    return graph_constant_before_take(at, s ? value_str_take(s) : value_none(), TYPE_STR);
}

ir_value *rewrite_bool(node *at, bool b) {
    return graph_constant_before_take(at, value_bool(b), TYPE_BOOL);
}

ir_value *rewrite_int(node *at, int64_t i) {
    return graph_constant_before_take(at, value_int(i), TYPE_INT);
}

ir_value *rewrite_op(node *at, const op *o, int ninputs, ir_value *const *inputs) {
    if (!o) return NULL;
    node *n = node_new_op(at->g, o, ninputs, inputs);
    n->range = at->range;
    n->call = at->call;
    n->range_hidden = at->range_hidden;
    n->scope = at->scope;
    node_insert_before(n, at);
    return n->outputs.data[0];
}

void rewrite_value(ir_value *y, ir_value *with) {
    with->type = y->type;
    if (value_has_name(y)) {
        const char *name = y->name;
        value_set_name(y, "");
        value_set_name(with, name);
    }
    value_replace_uses(y, with);
}

void rewrite_result(node *n, ir_value *with) {
    rewrite_value(n->outputs.data[0], with);
    node_remove(n);
}
