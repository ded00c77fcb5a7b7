/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cse.c - computes equal expressions once.
 *
 *     %a : Tensor = aten::mul(%x, %y)                %a : Tensor = aten::mul(%x, %y)
 *     %b : Tensor = aten::mul(%x, %y)          ->    %c : Tensor = aten::add(%a, %a, %one)
 *     %c : Tensor = aten::add(%a, %b, %one)
 *
 * Method. One walk in execution order with a table of the expressions computed so far in this block
 * and those around it; leaving a block drops its entries. A node equals an earlier one if operator,
 * attributes and types are the same, and inputs are the same values or equal constants.
 *
 * Further conditions:
 * - no input, as far as the operator reads it, is written between the two (alias_inputs_same);
 * - a result that was a new object may become the same object as the earlier one: neither of
 *   the two is ever written, and they do not both leave
 *   the graph, where other code could write one of them;
 * - nothing tests whether two objects are one: with `is`, id(), hash() or a dict whose
 *   keys are tensors;
 * - nothing random, no effects, no writes, no calls. Two equal expressions fail alike, so
 *   failures do not matter.
 * Tests: tests/ir/cse/
 */
#include "ir/graph/alias.h"
#include "passes/passes.h"

typedef struct cse_entry {
    node *n;
    uint64_t hash;
    int below; /* the next entry of the bucket, -1: none */
    /* a node that leaves the graph was merged into this one: the database does not know */
    bool flows_out;
} cse_entry;

enum { CSE_BUCKETS = 1024, CSE_MAX_CHAIN = 64 };

typedef struct cse {
    graph *g;
    alias_db *alias;
    VEC(cse_entry) table; /* a stack: inner blocks on top */
    int buckets[CSE_BUCKETS];
    bool asks_identity; /* the graph has an operator that distinguishes equal objects */
    bool changed, failed;
} cse;

/* ---- equality -------------------------------------------------------------------------------- */

static bool cse_scalar(value v) {
    return v.tag == V_NONE || v.tag == V_BOOL || v.tag == V_INT || v.tag == V_FLOAT;
}

static bool cse_same_value(const ir_value *a, const ir_value *b) {
    value x, y;
    if (a == b) return true;
    if (a->type != b->type || !ir_value_constant(a, &x) || !ir_value_constant(b, &y) ||
        x.tag != y.tag || !cse_scalar(x))
        return false;
    /* floats by their bits */
    return x.tag == V_NONE || (x.tag == V_BOOL ? x.u.b == y.u.b : x.u.i == y.u.i);
}

static uint64_t cse_hash_value(const ir_value *v) {
    value x;
    if (!ir_value_constant(v, &x) || !cse_scalar(x)) return hash_u64((uint64_t)(uintptr_t)v);
    uint64_t bits = x.tag == V_NONE ? 0 : x.tag == V_BOOL ? (uint64_t)x.u.b : (uint64_t)x.u.i;
    return hash_u64(bits + ((uint64_t)x.tag << 56));
}

static bool cse_same_attr(const attr *a, const attr *b) {
    if (a->name != b->name || a->kind != b->kind) return false;
    switch (a->kind) {
    case ATTR_INT: return a->u.i == b->u.i;
    case ATTR_FLOAT: return !memcmp(&a->u.f, &b->u.f, sizeof a->u.f);
    case ATTR_STR: return !strcmp(a->u.s, b->u.s);
    case ATTR_INTS:
        return a->u.ints.n == b->u.ints.n &&
               !memcmp(a->u.ints.data, b->u.ints.data, (size_t)a->u.ints.n * sizeof(int64_t));
    case ATTR_TYPE: return a->u.t == b->u.t;
    case ATTR_TYPES:
        return a->u.types.n == b->u.types.n &&
               !memcmp(a->u.types.data, b->u.types.data, (size_t)a->u.types.n * sizeof(type *));
    default: return false;
    }
}

static bool cse_same_node(const node *a, const node *b) {
    if (a->kind != b->kind || a->op != b->op || a->inputs.len != b->inputs.len ||
        a->outputs.len != b->outputs.len || a->doubtful != b->doubtful)
        return false;
    for (size_t i = 0; i < a->inputs.len; i++)
        if (!cse_same_value(a->inputs.data[i], b->inputs.data[i])) return false;
    for (size_t i = 0; i < a->outputs.len; i++)
        if (a->outputs.data[i]->type != b->outputs.data[i]->type) return false;
    const attr *x = a->attrs, *y = b->attrs;
    for (; x && y; x = x->next, y = y->next)
        if (!cse_same_attr(x, y)) return false;
    return !x && !y;
}

static uint64_t cse_hash(const node *n) {
    uint64_t h = hash_u64((uint64_t)n->kind ^ (uint64_t)(uintptr_t)n->op);
    for (size_t i = 0; i < n->inputs.len; i++) h = h * 31 + cse_hash_value(n->inputs.data[i]);
    for (const attr *a = n->attrs; a; a = a->next)
        if (a->kind == ATTR_STR) h = h * 31 + hash_bytes(a->u.s, strlen(a->u.s));
    return h;
}

/* ---- legality -------------------------------------------------------------------------------- */

static bool cse_candidate(const cse *c, const node *n) {
    static const bool kinds[N_KIND_COUNT] = {
        [N_OP] = true,          [N_LIST_CONSTRUCT] = true, [N_TUPLE_CONSTRUCT] = true,
        [N_TUPLE_INDEX] = true, [N_TUPLE_UNPACK] = true,   [N_TUPLE_SLICE] = true,
        [N_GET_ATTR] = true,    [N_UNCHECKED_CAST] = true, [N_ISINSTANCE] = true};
    if (!kinds[n->kind] || n->blocks.len || !n->outputs.len ||
        (n->kind == N_OP && (!n->op || !n->inputs.len)))
        return false;
    return !node_has_visible_effects(n) && !node_is_random(n) && !alias_writes(c->alias, n);
}

/* b is in a loop that does not contain a: one a for many b's. */
static bool cse_more_often(const node *a, const node *b) {
    for (const block *at = b->owner; at && at != a->owner;
         at = at->parent ? at->parent->owner : NULL)
        if (at->parent && at->parent->kind != N_IF) return true;
    return false;
}

/* A container of new tensors: where these go, the database is not asked. Lists of views are as good
 * as any other list of them. */
static bool cse_new_contents(const node *n, size_t i) {
    const type *t = n->outputs.data[i]->type;
    if (n->kind != N_OP || (t->kind != T_LIST && t->kind != T_TUPLE && t->kind != T_DICT))
        return false;
    const schema *s = n->op->schema;
    if ((int)i >= s->nreturns || s->returns[i].type->has_var || s->returns[i].alias) return false;
    for (int k = 0; k < t->nelems; k++)
        if (alias_type_mutable(t->elems[k])) return true;
    return false;
}

static bool cse_tells_apart(const node *n) {
    if (node_is_op(n, SYM___IS__) || node_is_op(n, SYM___ISNOT__))
        return n->inputs.data[0]->type->kind != T_NONE && n->inputs.data[1]->type->kind != T_NONE;
    if (node_is_op(n, SYM_PRIM_ID) || node_is_op(n, SYM_HASH))
        return alias_type_mutable(n->inputs.data[0]->type);
    for (size_t i = 0; i < n->inputs.len; i++) {
        const type *t = n->inputs.data[i]->type;
        if (t->kind == T_DICT && t->elems[0]->kind == T_TENSOR) return true;
    }
    return false;
}

static bool cse_any_tells_apart(const block *b) {
    for (const node *n = b->first; n; n = n->next) {
        if (cse_tells_apart(n)) return true;
        for (size_t i = 0; i < n->blocks.len; i++)
            if (cse_any_tells_apart(n->blocks.data[i])) return true;
    }
    return false;
}

/* b's outputs may become a's. */
static bool cse_may_merge(const cse *c, const cse_entry *e, const node *b) {
    const node *a = e->n;
    if (!alias_inputs_same(c->alias, a, b)) return false;
    node_result makes = node_makes(b);
    for (size_t i = 0; i < b->outputs.len; i++) {
        const ir_value *x = a->outputs.data[i], *y = b->outputs.data[i];
        if (makes == RESULT_SAME || !alias_type_mutable(y->type)) continue;
        if (c->asks_identity || cse_new_contents(b, i)) return false;
        if (makes == RESULT_VIEW && !alias_ever_reshaped(c->alias, x) &&
            !alias_ever_reshaped(c->alias, y))
            continue;
        if (makes == RESULT_VIEW || alias_ever_written(c->alias, x) ||
            alias_ever_written(c->alias, y))
            return false;
        if (alias_flows_out(c->alias, y) &&
            (cse_more_often(a, b) || e->flows_out || alias_flows_out(c->alias, x)))
            return false;
    }
    return true;
}

/* ---- the walk -------------------------------------------------------------------------------- */

static cse_entry *cse_find(const cse *c, const node *n, uint64_t h) {
    int steps = 0;
    for (int i = c->buckets[h % CSE_BUCKETS]; i >= 0 && steps++ < CSE_MAX_CHAIN;
         i = c->table.data[i].below) {
        cse_entry *e = &c->table.data[i];
        if (e->hash == h && cse_same_node(e->n, n) && cse_may_merge(c, e, n)) return e;
    }
    return NULL;
}

static void cse_enter(cse *c, node *n, uint64_t h) {
    cse_entry e = {n, h, c->buckets[h % CSE_BUCKETS], false};
    if (!vec_push(&c->table, e)) c->failed = true;
    else c->buckets[h % CSE_BUCKETS] = (int)c->table.len - 1;
}

static void cse_block(cse *c, block *b) {
    size_t mine = c->table.len;
    for (node *n = b->first, *next; n && !c->failed; n = next) {
        next = n->next;
        for (size_t i = 0; i < n->blocks.len; i++) cse_block(c, n->blocks.data[i]);
        if (!cse_candidate(c, n)) continue;
        uint64_t h = cse_hash(n);
        cse_entry *same = cse_find(c, n, h);
        if (!same) {
            cse_enter(c, n, h);
            continue;
        }
        for (size_t i = 0; i < n->outputs.len; i++) {
            same->flows_out |= alias_flows_out(c->alias, n->outputs.data[i]);
            value_replace_uses(n->outputs.data[i], same->n->outputs.data[i]);
        }
        node_remove(n);
        c->changed = true;
    }
    while (c->table.len > mine) {
        const cse_entry *e = &vec_last(&c->table);
        c->buckets[e->hash % CSE_BUCKETS] = e->below;
        c->table.len--;
    }
}

bool pass_cse(pass_ctx *cx, graph *g) {
    (void)cx;
    cse c = {.g = g, .alias = alias_new(g), .asks_identity = cse_any_tells_apart(g->root)};
    for (int i = 0; i < CSE_BUCKETS; i++) c.buckets[i] = -1;
    if (c.alias) cse_block(&c, g->root);
    if (!c.alias || c.failed) g->arena.failed = true;
    alias_free(c.alias);
    vec_free(&c.table);
    return c.changed;
}
