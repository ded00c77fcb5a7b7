/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph_clone.c - copies nodes, bodies and whole graphs.
 *
 * Method: values are created in the order in which PyTorch creates them (a node's outputs before
 * what is in its blocks), so that unnamed values get the numbers PyTorch would print. A body that
 * is inlined once is moved instead: calls nest deeply, and copying each level again would cost the
 * depth times the size.
 * Tests: tests/unit/test_graph.c
 */
#include "ir/graph/graph.h"

typedef struct clone_map {
    ptrmap values; /* of the source -> of the copy */
    ir_value *(*outer)(void *ctx, ir_value *v);
    void *ctx;
    const call_site *call;             /* what the copies' chains of calls end in */
    const call_site *last, *last_copy; /* the chain copied last: neighbours share theirs */
    bool failed;
} clone_map;

_Static_assert(sizeof(call_site) == sizeof(source_range) + 3 * sizeof(void *),
               "no bytes between: they are compared");

/* The chain of calls `from`, of another graph perhaps, continued outwards by `end`. */
static const call_site *clone_chain(graph *g, const call_site *from, const call_site *end) {
    return from ? graph_call_site(g, from->range, from->callee, from->path,
                                  clone_chain(g, from->caller, end))
                : end;
}

static const call_site *clone_call(graph *g, clone_map *m, const call_site *from) {
    if (!from) return m->call;
    if (m->last != from) {
        m->last = from;
        m->last_copy = clone_chain(g, from, m->call);
    }
    return m->last_copy;
}

static ir_value *clone_lookup(clone_map *m, ir_value *v) {
    ir_value *r = ptrmap_get(&m->values, v);
    if (!r && m->outer) r = m->outer(m->ctx, v);
    if (!r) m->failed = true;
    return r ? r : v;
}

static void clone_bind(clone_map *m, const ir_value *from, ir_value *to) {
    if (!ptrmap_put(&m->values, from, to)) m->failed = true;
}

static void clone_attrs(node *to, const node *from) {
    for (const attr *a = from->attrs; a; a = a->next) {
        switch (a->kind) {
        case ATTR_INT: node_set_int(to, a->name, a->u.i); break;
        case ATTR_FLOAT: node_set_float(to, a->name, a->u.f); break;
        case ATTR_STR: node_set_str(to, a->name, a->u.s); break;
        case ATTR_INTS: node_set_ints(to, a->name, a->u.ints.n, a->u.ints.data); break;
        case ATTR_TYPE: node_set_type(to, a->name, a->u.t); break;
        case ATTR_TYPES: node_set_types(to, a->name, a->u.types.n, a->u.types.data); break;
        case ATTR_VALUE: node_set_value_take(to, a->name, value_ref(a->u.v)); break;
        case ATTR_GRAPH: {
            graph *g = graph_clone(a->u.g);
            if (g) node_set_graph(to, a->name, g);
            else to->g->arena.failed = true;
            break;
        }
        }
    }
}

static void clone_block(graph *g, block *to, const block *from, clone_map *m);

static node *clone_node(graph *dst, const node *n, clone_map *m) {
    source_range saved = dst->range;
    dst->range = n->range;
    node *c = node_new(dst, n->kind, 0, NULL, 0);
    dst->range = saved;
    c->call = clone_call(dst, m, n->call);
    c->range_hidden = n->range_hidden;
    c->doubtful = n->doubtful;
    c->op = n->op;
    /* an operator's own name lives as long as the table of operators */
    bool own = n->op && n->op_name == n->op->schema->name;
    c->op_name = own ? n->op_name : intern(&dst->names, n->op_name);
    if (n->scope) c->scope = intern(&dst->names, n->scope);
    for (size_t i = 0; i < n->outputs.len; i++) {
        ir_value *out = node_add_output(c, n->outputs.data[i]->type);
        value_copy_name(out, n->outputs.data[i]);
        clone_bind(m, n->outputs.data[i], out);
    }
    clone_attrs(c, n);
    for (size_t i = 0; i < n->inputs.len && !m->failed; i++) {
        ir_value *in = clone_lookup(m, n->inputs.data[i]);
        if (!m->failed) node_add_input(c, in);
    }
    for (size_t i = 0; i < n->blocks.len && !m->failed && !arena_failed(&dst->arena); i++)
        clone_block(dst, node_add_block(c), n->blocks.data[i], m);
    return c;
}

static void clone_block(graph *g, block *to, const block *from, clone_map *m) {
    for (size_t i = 0; i < from->params.len; i++) {
        ir_value *p = block_add_param(to, from->params.data[i]->type);
        value_copy_name(p, from->params.data[i]);
        clone_bind(m, from->params.data[i], p);
    }
    for (const node *n = from->first; n && !m->failed && !arena_failed(&g->arena); n = n->next)
        block_append(to, clone_node(g, n, m));
    for (size_t i = 0; i < from->returns.len && !m->failed && !arena_failed(&g->arena); i++) {
        ir_value *r = clone_lookup(m, from->returns.data[i]);
        if (!m->failed) block_add_return(to, r);
    }
}

static void clone_finish(graph *g, clone_map *m) {
    ptrmap_free(&m->values);
    if (m->failed) g->arena.failed = true;
}

static void clone_units(graph *dst, const graph *src) {
    for (size_t i = 0; i < src->units.len; i++) graph_hold_unit(dst, src->units.data[i]);
}

node *node_clone(graph *dst, const node *n, ir_value *(*map)(void *ctx, ir_value *v), void *ctx) {
    clone_map m = {.outer = map, .ctx = ctx};
    clone_units(dst, n->g);
    node *c = clone_node(dst, n, &m);
    clone_finish(dst, &m);
    return c;
}

static void clone_inline(graph *dst, block *blk, node *at, const graph *src, ir_value *const *args,
                         ir_value **outs, const call_site *call) {
    clone_map m = {.call = call};
    clone_units(dst, src);
    for (size_t i = 0; i < src->root->params.len; i++)
        clone_bind(&m, src->root->params.data[i], args[i]);
    for (const node *n = src->root->first; n && !m.failed && !arena_failed(&dst->arena);
         n = n->next) {
        node *c = clone_node(dst, n, &m);
        if (at) node_insert_before(c, at);
        else block_append(blk, c);
    }
    for (size_t i = 0; i < src->root->returns.len; i++) {
        outs[i] = ptrmap_get(&m.values, src->root->returns.data[i]);
        /* Without memory the caller still finds values it can hold on to. */
        if (!outs[i]) {
            dst->arena.failed = true;
            outs[i] = src->root->returns.data[i];
        }
    }
    clone_finish(dst, &m);
}

void graph_inline(graph *dst, block *blk, node *at, const graph *src, ir_value *const *args,
                  ir_value **outs) {
    clone_inline(dst, blk, at, src, args, outs, NULL);
}

/* ---- moving a body --------------------------------------------------------------------------- */

typedef struct clone_take {
    graph *dst;
    const block *from; /* the root of the body */
    const call_site *call;
} clone_take;

static void take_block(clone_take *t, block *b);

/* The value that replaces v, which the body reads: for a parameter, the argument. */
static ir_value *take_value(const clone_take *t, ir_value *v) {
    return !v->def && v->owner == t->from ? v->scratch : v;
}

/* v becomes a value of dst: numbered, named and without uses, as a copy made at this
 * point would be. */
static void take_define(graph *dst, ir_value *v) {
    const char *name = v->name;
    v->id = dst->next_id++;
    v->uses.len = 0;
    v->name = "";
    if (name[0]) value_set_name(v, name);
}

static void take_node(clone_take *t, node *n) {
    size_t inputs = n->inputs.len;
    n->g = t->dst;
    if (!n->call) n->call = t->call;
    for (size_t i = 0; i < n->outputs.len; i++) take_define(t->dst, n->outputs.data[i]);
    n->inputs.len = 0; /* there is room: adding them again only makes their uses anew */
    for (size_t i = 0; i < inputs; i++) node_add_input(n, take_value(t, n->inputs.data[i]));
    for (size_t i = 0; i < n->blocks.len; i++) take_block(t, n->blocks.data[i]);
}

static void take_block(clone_take *t, block *b) {
    size_t returns = b->returns.len;
    b->g = t->dst;
    for (size_t i = 0; i < b->params.len; i++) take_define(t->dst, b->params.data[i]);
    for (node *n = b->first; n; n = n->next) take_node(t, n);
    b->returns.len = 0;
    for (size_t i = 0; i < returns; i++) block_add_return(b, take_value(t, b->returns.data[i]));
}

/* The emptied body stays with dst: it owns the memory of its nodes. */
static void inline_take(graph *dst, node *at, graph *body, ir_value *const *args, ir_value **outs,
                        const call_site *call) {
    block *from = body->root;
    clone_take t = {.dst = dst, .from = from, .call = call};
    clone_units(dst, body);
    if (!vec_push(&dst->subgraphs, body)) {
        clone_inline(dst, at->owner, at, body, args, outs, call);
        dst->arena.failed = true;
        graph_free(body);
        return;
    }
    for (size_t i = 0; i < from->params.len; i++) from->params.data[i]->scratch = args[i];
    for (size_t i = 0; i < body->call_sites.cap; i++) { /* its chains all go on outwards */
        call_site *s = body->call_sites.slots[i].value;
        if (s && !s->caller) s->caller = call;
    }
    for (node *n = from->first, *next; n; n = next) {
        next = n->next;
        take_node(&t, n);
        node_insert_before(n, at);
    }
    for (size_t i = 0; i < from->returns.len; i++) outs[i] = take_value(&t, from->returns.data[i]);
    from->first = from->last = NULL;
    from->returns.len = 0;
    if (arena_failed(&body->arena)) dst->arena.failed = true;
}

/* Writes where v is below the graph's own module, "layer1.0"; false: it is something else. */
static bool call_path(const ir_value *v, strbuf *out) {
    const node *n = v->def;
    if (!n) return !v->owner->parent && v->index == 0;
    if (n->kind != N_GET_ATTR || !call_path(n->inputs.data[0], out)) return false;
    sb_printf(out, "%s%s", out->len ? "." : "", node_str(n, "name"));
    return true;
}

void graph_inline_call(graph *dst, node *call, const char *callee, graph *body, bool take,
                       ir_value *const *args, ir_value **outs) {
    strbuf path = STRBUF_INIT;
    bool known = call->kind == N_CALL_METHOD && call_path(call->inputs.data[0], &path);
    const call_site *site = graph_call_site(dst, call->range, callee, known ? sb_str(&path) : NULL,
                                            call->call);
    dst->arena.failed |= path.failed;
    sb_free(&path);
    if (take) inline_take(dst, call, body, args, outs, site);
    else clone_inline(dst, call->owner, call, body, args, outs, site);
}

graph *graph_clone(const graph *g) {
    graph *c = graph_new();
    if (!c) return NULL;
    clone_map m = {0};
    clone_units(c, g);
    clone_block(c, c->root, g->root, &m);
    clone_finish(c, &m);
    if (!arena_failed(&c->arena)) return c;
    graph_free(c);
    return NULL;
}
