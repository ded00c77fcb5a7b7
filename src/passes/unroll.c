/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unroll.c - unrolls loops with a small constant number of iterations.
 *
 *     %y : Tensor = prim::Loop(%two, %true, %x)                  %a : Tensor = aten::add(%x, %zero, %one)
 *       block0(%i : int, %p : Tensor):                    ->     %y : Tensor = aten::add(%a, %one, %one)
 *         %q : Tensor = aten::add(%p, %i, %one)
 *         -> (%true, %q)
 *
 * Only loops that end by their count: the condition is the constant True at the start and
 * after each iteration. Inner loops go first, so that the size of an outer body is known
 * when its turn comes.
 * Tests: tests/ir/unroll/
 */
#include "passes/passes.h"

enum {
    UNROLL_MAX_ROUNDS = 64,
    UNROLL_MAX_BODY = 32,   /* nodes of one iteration, nested ones included */
    UNROLL_MAX_NODES = 256, /* nodes that replace the loop */
};

static bool unroll_true(const ir_value *v) {
    value c;
    return ir_value_constant(v, &c) && c.tag == V_BOOL && c.u.b;
}

/* Nodes of a block without constants, counted up to a little above `limit`. */
static int unroll_size(const block *b, int limit) {
    int count = 0;
    for (const node *n = b->first; n && count <= limit; n = n->next) {
        count += n->kind != N_CONSTANT;
        for (size_t i = 0; i < n->blocks.len; i++) count += unroll_size(n->blocks.data[i], limit);
    }
    return count;
}

static int unroll_iterations(const node *loop) {
    value trip;
    const block *body = loop->blocks.data[0];
    if (!ir_value_constant(loop->inputs.data[0], &trip) || trip.tag != V_INT || trip.u.i < 1 ||
        trip.u.i > UNROLL_MAX_ROUNDS)
        return 0;
    if (!unroll_true(loop->inputs.data[1]) || !unroll_true(body->returns.data[0])) return 0;
    int size = unroll_size(body, UNROLL_MAX_BODY);
    return size <= UNROLL_MAX_BODY && size * trip.u.i <= UNROLL_MAX_NODES ? (int)trip.u.i : 0;
}

/* Values of the body -> those of the iteration being written; other values are themselves. */
static ir_value *unroll_map(void *ctx, ir_value *v) {
    ir_value *to = ptrmap_get(ctx, v);
    return to ? to : v;
}

static bool unroll_iteration(graph *g, node *loop, int64_t k, ir_value **carried) {
    block *body = loop->blocks.data[0];
    ptrmap map = {0};
    graph_set_insert(g, loop->owner, loop);
    ir_value *count = graph_constant_int(g, k);
    bool ok = count && ptrmap_put(&map, body->params.data[0], count);
    for (size_t i = 1; i < body->params.len; i++)
        ok = ok && ptrmap_put(&map, body->params.data[i], carried[i - 1]);
    for (node *n = body->first; n && ok && !arena_failed(&g->arena); n = n->next) {
        node *c = node_clone(g, n, unroll_map, &map);
        node_insert_before(c, loop);
        for (size_t i = 0; i < n->outputs.len; i++)
            ok = ok && ptrmap_put(&map, n->outputs.data[i], c->outputs.data[i]);
    }
    for (size_t i = 1; i < body->returns.len && ok; i++)
        carried[i - 1] = unroll_map(&map, body->returns.data[i]);
    ptrmap_free(&map);
    return ok && !arena_failed(&g->arena);
}

static bool unroll_loop(graph *g, node *loop, int iterations) {
    size_t n = loop->outputs.len;
    source_range saved = g->range;
    ir_value **carried = mem_zalloc((n + 1) * sizeof *carried);
    bool ok = carried != NULL;
    for (size_t i = 0; i < n && ok; i++) carried[i] = loop->inputs.data[i + 2];
    g->range = loop->range;
    for (int k = 0; k < iterations && ok; k++) ok = unroll_iteration(g, loop, k, carried);
    g->range = saved;
    graph_set_insert(g, g->root, NULL);
    if (ok) {
        for (size_t i = 0; i < n; i++) value_replace_uses(loop->outputs.data[i], carried[i]);
        node_remove(loop);
    } else {
        g->arena.failed = true;
    }
    mem_free(carried);
    return ok;
}

static bool unroll_block(graph *g, block *b) {
    bool changed = false;
    for (node *n = b->first, *next; n && !arena_failed(&g->arena); n = next) {
        next = n->next;
        for (size_t i = 0; i < n->blocks.len; i++) changed |= unroll_block(g, n->blocks.data[i]);
        int iterations = n->kind == N_LOOP ? unroll_iterations(n) : 0;
        if (iterations) changed |= unroll_loop(g, n, iterations);
    }
    return changed;
}

bool pass_unroll(pass_ctx *cx, graph *g) {
    (void)cx;
    return unroll_block(g, g->root);
}
