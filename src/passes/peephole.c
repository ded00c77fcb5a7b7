/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peephole.c - small rewrites of single nodes that need to look at nothing but their inputs.
 *
 *     before:  %b : bool = aten::__is__(%x, %none)      %x : Tensor        after:  False
 *     before:  %y : T = prim::unchecked_cast(%x)        %x : T             after:  %x
 *     before:  %y : bool = prim::If(%c) {-> (True)} {-> (False)}           after:  %c
 *
 * Tests: tests/ir/peephole
 */
#include "passes/passes.h"

static ir_value *peephole_constant(graph *g, node *at, value v) {
    block *blk = g->insert_block;
    node *before = g->insert_before;
    source_range r = g->range;
    graph_set_insert(g, at->owner, at);
    g->range = (source_range){0};
    ir_value *c = graph_constant_take(g, v, NULL);
    graph_set_insert(g, blk, before);
    g->range = r;
    return c;
}

/* 1: x is always None; 0: never; -1: not known from the type. */
static int peephole_is_none(const ir_value *x) {
    if (x->type->kind == T_NONE) return 1;
    return type_admits_none(x->type) ? -1 : 0;
}

/* x is None, x is not None */
static ir_value *peephole_identity(graph *g, node *n) {
    bool is = node_is_op(n, "aten::__is__");
    if (!is && !node_is_op(n, "aten::__isnot__")) return NULL;
    int a = peephole_is_none(n->inputs.data[0]), b = peephole_is_none(n->inputs.data[1]);
    if (a < 0 || b < 0 || (a == 0 && b == 0)) return NULL;
    return peephole_constant(g, n, value_bool((a == b) == is));
}

static ir_value *peephole_cast(graph *g, node *n) {
    (void)g;
    bool cast = n->kind == N_UNCHECKED_CAST || node_is_op(n, "aten::_unwrap_optional");
    return cast && n->inputs.data[0]->type == n->outputs.data[0]->type ? n->inputs.data[0] : NULL;
}

/* What is None whatever happens, read from an attribute or cast to it. */
static ir_value *peephole_always_none(graph *g, node *n) {
    if (n->outputs.len != 1 || n->outputs.data[0]->type->kind != T_NONE || n->kind == N_CONSTANT || node_has_side_effects(n))
        return NULL;
    return peephole_constant(g, n, value_none());
}

/* The rank of a convolution's result: what a batch norm behind it asks for. As in PyTorch, which takes batches for granted here. */
static ir_value *peephole_rank(graph *g, node *n) {
    static const struct { const char *op; int rank; } convolutions[] = {{"aten::conv1d", 3}, {"aten::conv2d", 4}, {"aten::conv3d", 5}};
    const node *made = node_is_op(n, "aten::dim") ? n->inputs.data[0]->def : NULL;
    for (size_t i = 0; made && i < sizeof convolutions / sizeof *convolutions; i++)
        if (node_is_op(made, convolutions[i].op)) return peephole_constant(g, n, value_int(convolutions[i].rank));
    return NULL;
}

static ir_value *(*const peephole_rules[])(graph *, node *) = {peephole_identity, peephole_cast, peephole_always_none, peephole_rank};

/* Outputs of an If that are its condition again: True in one branch, False in the other. */
static bool peephole_if(node *n) {
    bool changed = false;
    for (size_t i = 0; i < n->outputs.len; i++) {
        value t, f;
        if (!n->outputs.data[i]->uses.len || !ir_value_constant(n->blocks.data[0]->returns.data[i], &t) || t.tag != V_BOOL || !t.u.b ||
            !ir_value_constant(n->blocks.data[1]->returns.data[i], &f) || f.tag != V_BOOL || f.u.b)
            continue;
        value_replace_uses(n->outputs.data[i], n->inputs.data[0]);
        changed = true;
    }
    return changed;
}

static bool peephole_block(graph *g, block *b) {
    bool changed = false;
    for (node *n = b->first, *next; n && !arena_failed(&g->arena); n = next) {
        next = n->next;
        for (size_t i = 0; i < n->blocks.len; i++) changed |= peephole_block(g, n->blocks.data[i]);
        if (n->kind == N_IF) changed |= peephole_if(n);
        for (size_t i = 0; i < sizeof peephole_rules / sizeof *peephole_rules; i++) {
            ir_value *v = peephole_rules[i](g, n);
            if (!v) continue;
            value_replace_uses(n->outputs.data[0], v);
            node_remove(n);
            changed = true;
            break;
        }
    }
    return changed;
}

bool pass_peephole(pass_ctx *cx, graph *g) {
    (void)cx;
    return peephole_block(g, g->root);
}
