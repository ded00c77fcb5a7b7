/* SPDX-License-Identifier: Apache-2.0 */
/*
 * outputs.c - puts the outputs of prim::If and prim::Loop in the order in which they
 * are first used.
 *
 *     %b, %a = prim::If(%c)  ...           ->     %a, %b = prim::If(%c)  ...
 *     %1 = aten::add(%a, %b)                      %1 = aten::add(%a, %b)
 *
 * The order in which a front end met the variables then leaves no trace, so that graphs
 * compare well. Places in the graph are numbered once, blocks after the node they belong to
 * and before the next.
 * Tests: tests/ir/order-outputs/
 */
#include "passes/passes.h"

#include <stdlib.h>

enum { OUTPUTS_MAX = 4096 };

typedef struct output_key { int64_t first; int index; } output_key;

/* Numbers nodes and block ends in the order of the text: a node, then each of its blocks and
 * that block's end. */
static int outputs_number(block *b, int at) {
    for (node *n = b->first; n; n = n->next) {
        n->mark = at++;
        for (size_t i = 0; i < n->blocks.len; i++) at = outputs_number(n->blocks.data[i], at) + 1;
    }
    return at;
}

/* The number of a block's end, where its returns are. */
static int outputs_block_end(const block *b) {
    const node *n = b->last;
    if (n)
        return n->blocks.len ? outputs_block_end(n->blocks.data[n->blocks.len - 1]) + 1
                             : n->mark + 1;
    if (!b->parent) return 1;
    int end = b->parent->mark; /* an empty block */
    for (size_t i = 0; b->parent->blocks.data[i] != b; i++)
        end = outputs_block_end(b->parent->blocks.data[i]);
    return end + 1;
}

static int64_t outputs_first_use(const ir_value *v) {
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < v->uses.len; i++) {
        const use *u = &v->uses.data[i];
        int64_t at = u->user ? u->user->mark : outputs_block_end(u->blk);
        at = at << 16 | (u->index & 0xffff);
        if (at < first) first = at;
    }
    return first;
}

static int outputs_compare(const void *a, const void *b) {
    const output_key *x = a, *y = b;
    return x->first != y->first ? (x->first < y->first ? -1 : 1) : x->index - y->index;
}

/* Moves output order[k] to place k by building the node's lists anew: outputs are added at the end,
 * then the old ones removed. */
static void outputs_permute(graph *g, node *n, const output_key *order, int count) {
    bool loop = n->kind == N_LOOP;
    for (int k = 0; k < count; k++) {
        int i = order[k].index;
        ir_value *old = n->outputs.data[i], *out = node_add_output(n, old->type);
        value_replace_uses(old, out);
        if (loop) {
            block *body = n->blocks.data[0];
            ir_value *p = body->params.data[i + 1], *q = block_add_param(body, p->type);
            node_add_input(n, n->inputs.data[i + 2]);
            value_replace_uses(p, q);
            block_add_return(body, body->returns.data[i + 1]);
            if (value_has_name(p)) {
                const char *name = p->name;
                value_set_name(p, "");
                value_set_name(q, name);
            }
            q->id = p->id;
        } else {
            for (size_t b = 0; b < n->blocks.len; b++)
                block_add_return(n->blocks.data[b], n->blocks.data[b]->returns.data[i]);
        }
        if (value_has_name(old)) {
            const char *name = old->name;
            value_set_name(old, "");
            value_set_name(out, name);
        }
        out->id = old->id;
        if (arena_failed(&g->arena)) return;
    }
    for (int i = count; i-- > 0;) {
        node_remove_output(n, i);
        for (size_t b = 0; b < n->blocks.len; b++)
            block_remove_return(n->blocks.data[b], loop ? i + 1 : i);
        if (loop) {
            block_remove_param(n->blocks.data[0], i + 1);
            node_remove_input(n, i + 2);
        }
    }
}

static bool outputs_node(graph *g, node *n) {
    int count = (int)n->outputs.len;
    if (count < 2 || count > OUTPUTS_MAX) return false;
    output_key *keys = mem_alloc((size_t)count * sizeof *keys);
    bool moved = false;
    if (!keys) return false;
    for (int i = 0; i < count; i++)
        keys[i] = (output_key){outputs_first_use(n->outputs.data[i]), i};
    qsort(keys, (size_t)count, sizeof *keys, outputs_compare);
    for (int i = 0; i < count; i++) moved |= keys[i].index != i;
    if (moved) outputs_permute(g, n, keys, count);
    mem_free(keys);
    return moved;
}

static bool outputs_block(graph *g, block *b) {
    bool changed = false;
    for (node *n = b->first; n; n = n->next) {
        if (n->kind == N_IF || n->kind == N_LOOP) changed |= outputs_node(g, n);
        for (size_t i = 0; i < n->blocks.len; i++) changed |= outputs_block(g, n->blocks.data[i]);
        if (arena_failed(&g->arena)) return changed;
    }
    return changed;
}

bool pass_order_outputs(pass_ctx *cx, graph *g) {
    (void)cx;
    outputs_number(g->root, 1);
    return outputs_block(g, g->root);
}
