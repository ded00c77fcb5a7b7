/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inline.c - replaces calls by the bodies of what they call.
 *
 *     %y = prim::CallMethod[name="forward"](%m, %x)     ->     %w = prim::GetAttr[name="weight"](%m)
 *                                                             %y = aten::linear(%x, %w, %b)
 *
 * Bodies are inlined before they are copied, so that each call is visited once. A method called through an
 * interface has no single body and stays a call. Depth and size are capped: nested calls can double
 * the graph at each level.
 * Tests: tests/cli/show.test
 */
#include "passes/passes.h"

enum { INLINE_MAX_DEPTH = 128, INLINE_MAX_BYTES = 256 << 20 };

static function *inline_callee(const node *n) {
    value v;
    if (n->kind == N_CALL_FUNCTION && ir_value_constant(n->inputs.data[0], &v) && v.tag == V_FUNCTION)
        return v.u.function;
    if (n->kind == N_CALL_METHOD && n->inputs.data[0]->type->kind == T_CLASS)
        return class_find_method(n->inputs.data[0]->type, node_str(n, "name"));
    return NULL;
}

static bool inline_block(pass_ctx *cx, graph *g, block *b, int depth);

static bool inline_call(pass_ctx *cx, graph *g, node *n, function *f, int depth) {
    if (depth > INLINE_MAX_DEPTH || g->arena.total > INLINE_MAX_BYTES) {
        diag_fail_at(cx->diag, CTSC_LIMIT, n->range, "calls nest too deeply to be inlined");
        return false;
    }
    if (function_ensure_compiled(f, cx->diag) != CTSC_OK) return false;
    size_t skip = n->kind == N_CALL_FUNCTION;
    ir_value *outs[1];
    node *before = n->prev;
    block *home = n->owner;
    graph_inline(g, home, n, f->graph, n->inputs.data + skip, outs);
    if (arena_failed(&g->arena)) return false;
    if (value_has_name(n->outputs.data[0]) && !value_has_name(outs[0])) {
        const char *name = n->outputs.data[0]->name;
        value_set_name(n->outputs.data[0], "");
        value_set_name(outs[0], name);
    }
    value_replace_uses(n->outputs.data[0], outs[0]);
    for (node *m = before ? before->next : home->first, *next; m != n; m = next) {
        next = m->next;
        function *inner = inline_callee(m);
        if (inner) {
            if (!inline_call(cx, g, m, inner, depth + 1)) return false;
        } else {
            for (size_t i = 0; i < m->blocks.len; i++)
                if (!inline_block(cx, g, m->blocks.data[i], depth + 1)) return false;
        }
    }
    node_remove(n);
    return true;
}

static bool inline_block(pass_ctx *cx, graph *g, block *b, int depth) {
    for (node *n = b->first, *next; n; n = next) {
        next = n->next;
        function *f = inline_callee(n);
        if (f && !inline_call(cx, g, n, f, depth)) return false;
        if (f) continue;
        for (size_t i = 0; i < n->blocks.len; i++)
            if (!inline_block(cx, g, n->blocks.data[i], depth)) return false;
    }
    return true;
}

bool pass_inline(pass_ctx *cx, graph *g) {
    return inline_block(cx, g, g->root, 0);
}
