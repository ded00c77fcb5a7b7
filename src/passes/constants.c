/* SPDX-License-Identifier: Apache-2.0 */
/*
 * constants.c - one copy of each constant, at the top of the graph.
 *
 *     block0():                                       %2 : int = prim::Constant[value=1]()
 *       %5 : int = prim::Constant[value=1]()    ->    ...
 *       %6 : Tensor = aten::add(%x, %y, %5)             %6 : Tensor = aten::add(%x, %y, %2)
 *
 * Equal means: same type and same value. Tensors and other mutable objects are equal only to
 * themselves. Candidates are compared within buckets of one hash, so that a graph of n
 * constants costs about n.
 * Tests: tests/ir/pool-constants/
 */
#include "passes/passes.h"

#include <string.h>

typedef struct pool_entry { node *n; uint64_t hash; } pool_entry;
typedef struct pool {
    graph *g;
    pool_entry *slots;
    size_t cap, used;
    bool changed;
    node *last;
} pool;

static uint64_t pool_hash(const node *n) {
    const attr *a = node_attr(n, "value");
    uint64_t h = hash_u64((uint64_t)(uintptr_t)n->outputs.data[0]->type);
    if (!a || a->kind != ATTR_VALUE) return h;
    value v = a->u.v;
    switch (v.tag) {
    case V_STR: return h ^ hash_bytes(v.u.str->bytes, v.u.str->len);
    case V_LIST:
    case V_TUPLE:
    case V_DICT:
    case V_COMPLEX: return h;
    case V_NONE: return h;
    case V_BOOL: return h ^ hash_u64(v.u.b);
    default: return h ^ hash_u64((uint64_t)v.u.i);
    }
}

static bool pool_same(const node *a, const node *b) {
    if (a->outputs.data[0]->type != b->outputs.data[0]->type) return false;
    const attr *x = node_attr(a, "value"), *y = node_attr(b, "value");
    if (!x || !y) return !x && !y;
    if (x->kind != ATTR_VALUE || y->kind != ATTR_VALUE) return false;
    value u = x->u.v, v = y->u.v;
    if (u.tag != v.tag) return false;
    switch (u.tag) {
    case V_NONE: return true;
    case V_BOOL: return u.u.b == v.u.b;
    case V_FLOAT: return !memcmp(&u.u.f, &v.u.f, sizeof u.u.f); /* 0.0 is not -0.0 */
    case V_STR:
        return u.u.str->len == v.u.str->len &&
               !memcmp(u.u.str->bytes, v.u.str->bytes, u.u.str->len);
    default: return u.u.i == v.u.i; /* numbers by value, the rest by identity */
    }
}

static bool pool_grow(pool *p) {
    size_t cap = p->cap ? p->cap * 2 : 64;
    pool_entry *slots = mem_zalloc(cap * sizeof *slots);
    if (!slots) return false;
    for (size_t i = 0; i < p->cap; i++) {
        if (!p->slots[i].n) continue;
        size_t k = p->slots[i].hash & (cap - 1);
        while (slots[k].n) k = (k + 1) & (cap - 1);
        slots[k] = p->slots[i];
    }
    mem_free(p->slots);
    p->slots = slots;
    p->cap = cap;
    return true;
}

static void pool_constant(pool *p, node *n) {
    if (p->used * 2 >= p->cap && !pool_grow(p)) return;
    uint64_t h = pool_hash(n);
    size_t k = h & (p->cap - 1);
    for (; p->slots[k].n; k = (k + 1) & (p->cap - 1)) {
        if (p->slots[k].hash != h || !pool_same(p->slots[k].n, n)) continue;
        value_replace_uses(n->outputs.data[0], p->slots[k].n->outputs.data[0]);
        node_remove(n);
        p->changed = true;
        return;
    }
    p->slots[k] = (pool_entry){n, h};
    p->used++;
    /* keeps the order of first appearance */
    node *at = p->last ? p->last->next : p->g->root->first;
    if (at != n) {
        node_move_before(n, at ? at : p->g->root->first);
        p->changed = true;
    }
    p->last = n;
}

static void pool_block(pool *p, block *b) {
    for (node *n = b->first, *next; n; n = next) {
        next = n->next;
        for (size_t i = 0; i < n->blocks.len; i++) pool_block(p, n->blocks.data[i]);
        if (n->kind == N_CONSTANT && n->outputs.len == 1) pool_constant(p, n);
    }
}

bool pass_pool_constants(pass_ctx *cx, graph *g) {
    (void)cx;
    pool p = {.g = g};
    pool_block(&p, g->root);
    mem_free(p.slots);
    return p.changed;
}
