/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph_attr.c - attributes of nodes, constants, and questions about nodes.
 *
 * Tests: tests/unit/test_graph.c
 */
#include "ir/graph/alias.h"
#include "tensor/conjugate.h"

/* ---- attributes ------------------------------------------------------------------------------ */

attr *node_attr(const node *n, const char *name) {
    for (attr *a = n->attrs; a; a = a->next)
        if (a->name == name || !strcmp(a->name, name)) return a;
    return NULL;
}

void node_remove_attr(node *n, const char *name) {
    for (attr **p = &n->attrs; *p; p = &(*p)->next)
        if (!strcmp((*p)->name, name)) {
            *p = (*p)->next;
            return;
        }
}

/* The attribute to fill in: the one of that name, or a new one at the end. */
static attr *attr_make(node *n, const char *name, attr_kind kind) {
    attr **p = &n->attrs;
    while (*p && strcmp((*p)->name, name)) p = &(*p)->next;
    attr *a = *p;
    if (!a) {
        a = arena_new(&n->g->arena, attr);
        a->name = intern(&n->g->names, name);
        /* One from the reserve must not be linked to: it will be overwritten. */
        if (!arena_failed(&n->g->arena)) *p = a;
    }
    a->kind = kind;
    return a;
}

void node_set_int(node *n, const char *name, int64_t i) { attr_make(n, name, ATTR_INT)->u.i = i; }

void node_set_float(node *n, const char *name, double f) {
    attr_make(n, name, ATTR_FLOAT)->u.f = f;
}

void node_set_str(node *n, const char *name, const char *s) {
    s = intern(&n->g->names, s);
    attr_make(n, name, ATTR_STR)->u.s = s;
}

void node_set_type(node *n, const char *name, type *t) { attr_make(n, name, ATTR_TYPE)->u.t = t; }

void node_set_types(node *n, const char *name, int count, type *const *types) {
    type **copy = arena_array(&n->g->arena, type *, count ? count : 1);
    attr *a = attr_make(n, name, ATTR_TYPES);
    a->u.types.n = copy ? count : 0;
    a->u.types.data = copy;
    if (copy && count) memcpy(copy, types, (size_t)count * sizeof *types);
}

void node_set_ints(node *n, const char *name, int count, const int64_t *ints) {
    int64_t *copy = arena_array(&n->g->arena, int64_t, count ? count : 1);
    attr *a = attr_make(n, name, ATTR_INTS);
    a->u.ints.n = copy ? count : 0;
    a->u.ints.data = copy;
    if (copy && count) memcpy(copy, ints, (size_t)count * sizeof *ints);
}

void node_set_value_take(node *n, const char *name, value v) {
    if (value_is_counted(v) && !vec_push(&n->g->held, v)) {
        n->g->arena.failed = true;
        value_unref(v);
        v = value_none();
    }
    attr_make(n, name, ATTR_VALUE)->u.v = v;
}

void node_set_graph(node *n, const char *name, graph *g) {
    attr *a = attr_make(n, name, ATTR_GRAPH);
    a->u.g = g;
    if (vec_push(&n->g->subgraphs, g)) return;
    n->g->arena.failed = true;
    node_remove_attr(n, name);
    graph_free(g);
}

const char *node_str(const node *n, const char *name) {
    const attr *a = node_attr(n, name);
    return a && a->kind == ATTR_STR ? a->u.s : "";
}

int64_t node_int(const node *n, const char *name) {
    const attr *a = node_attr(n, name);
    return a && a->kind == ATTR_INT ? a->u.i : 0;
}

/* ---- constants ------------------------------------------------------------------------------- */

/* Readers of a constant's elements find them in memory (tensor/conjugate.h). */
static void attr_resolve(graph *g, value *v) {
    tensor *t;
    if (v->tag != V_TENSOR || !tensor_is_lazy(v->u.tensor)) return;
    if (tensor_resolve(NULL, v->u.tensor, &t) == CTSC_OK) value_set(v, value_tensor_take(t));
    else g->arena.failed = true;
}

ir_value *graph_constant_take(graph *g, value v, type *t) {
    attr_resolve(g, &v);
    node *n = node_new(g, N_CONSTANT, 0, NULL, 0);
    ir_value *out = node_add_output(n, t ? t : type_of_constant(v));
    if (v.tag != V_NONE) node_set_value_take(n, "value", v);
    graph_insert(g, n);
    return out;
}

ir_value *graph_constant_before_take(node *at, value v, type *t) {
    graph *g = at->g;
    block *b = g->insert_block;
    node *before = g->insert_before;
    source_range r = g->range;
    graph_set_insert(g, at->owner, at);
    g->range = (source_range){0};
    ir_value *c = graph_constant_take(g, v, t);
    graph_set_insert(g, b, before);
    g->range = r;
    return c;
}

ir_value *graph_constant_int(graph *g, int64_t i) {
    return graph_constant_take(g, value_int(i), TYPE_INT);
}

ir_value *graph_constant_bool(graph *g, bool b) {
    return graph_constant_take(g, value_bool(b), TYPE_BOOL);
}

ir_value *graph_constant_none(graph *g) { return graph_constant_take(g, value_none(), TYPE_NONE); }

ir_value *graph_constant_str(graph *g, const char *s, size_t len) {
    str *st = str_new(s, len);
    if (!st) g->arena.failed = true;
    return graph_constant_take(g, st ? value_str_take(st) : value_none(), TYPE_STR);
}

bool ir_value_constant(const ir_value *v, value *out) {
    if (!v->def || v->def->kind != N_CONSTANT) return false;
    const attr *a = node_attr(v->def, "value");
    /* A function that only its name is known of (parsed text) is not a value. */
    if (!a && v->def->attrs) return false;
    if (!a) {
        *out = value_none();
    } else if (a->kind == ATTR_VALUE) {
        *out = a->u.v;
    } else if (a->kind == ATTR_INT) {
        *out = v->type->kind == T_BOOL ? value_bool(a->u.i != 0) : value_int(a->u.i);
    } else if (a->kind == ATTR_FLOAT) {
        *out = value_float(a->u.f);
    } else {
        return false;
    }
    return true;
}

/* ---- asking ---------------------------------------------------------------------------------- */

#define NODE_TEXT(k, text, pure) text,
static const char *const node_texts[N_KIND_COUNT] = {NODE_KINDS(NODE_TEXT)};
#define NODE_PURE(k, text, pure) pure,
static const bool node_pure[N_KIND_COUNT] = {NODE_KINDS(NODE_PURE)};

const char *node_kind_text(const node *n) {
    return n->kind == N_OP ? n->op_name : node_texts[n->kind];
}

node_kind node_kind_named(const char *text) {
    for (int k = N_OP + 1; k < N_KIND_COUNT; k++)
        if (!strcmp(text, node_texts[k])) return (node_kind)k;
    return N_OP;
}

op_symbol node_symbol(const node *n) {
    switch (n->kind) {
    case N_OP: return n->op ? n->op->name_symbol : SYM_NONE;
    case N_IF: return SYM_PRIM_IF;
    case N_LIST_UNPACK: return SYM_PRIM_LISTUNPACK;
    case N_TUPLE_SLICE: return SYM_PRIM_TUPLESLICE;
    case N_UNCHECKED_CAST: return SYM_PRIM_UNCHECKED_CAST;
    default: return SYM_NONE;
    }
}

static bool op_has_effects(const op *o) {
    if (!o) return true;
    /* one without results is there for something else */
    bool returns = o->schema->nreturns > 0 || o->schema->varret;
    return !returns || o->traits.side_effect || o->traits.unsafe || o->schema->has_alias_write;
}

/* Writes that the schema does not mark, which only the node's constants decide (batch
 * norm's statistics). */
static bool node_writes_unmarked(const node *n) {
    for (size_t i = 0; i < n->inputs.len; i++)
        if (node_writes_input(n, (int)i)) return true;
    return false;
}

static bool block_has_effects(const block *b) {
    for (const node *n = b->first; n; n = n->next)
        if (node_has_side_effects(n)) return true;
    return false;
}

bool node_has_side_effects(const node *n) {
    bool nested = n->kind == N_IF || n->kind == N_LOOP || n->kind == N_FUSION_GROUP;
    if (n->kind == N_OP ? op_has_effects(n->op) || node_writes_unmarked(n)
                        : !node_pure[n->kind] && !nested)
        return true;
    const attr *group = n->kind == N_FUSION_GROUP ? node_attr(n, "Subgraph") : NULL;
    if (group && block_has_effects(group->u.g->root)) return true;
    for (size_t i = 0; i < n->blocks.len; i++)
        if (block_has_effects(n->blocks.data[i])) return true;
    return false;
}

bool node_before(const node *a, const node *b) {
    if (a == b) return false;
    for (const node *p = a->next, *q = b->next; p || q;) {
        if (p == b) return true;
        if (q == a) return false;
        if (p) p = p->next;
        if (q) q = q->next;
    }
    return false;
}

bool node_dominates(const node *a, const node *b) {
    while (b && b->owner != a->owner) b = b->owner ? b->owner->parent : NULL;
    return b && node_before(a, b);
}

int block_depth(const block *b) {
    int depth = 0;
    for (; b->parent; b = b->parent->owner) depth++;
    return depth;
}

bool block_holds(const block *b, node_kind kind) {
    for (const node *n = b->first; n; n = n->next) {
        if (n->kind == kind) return true;
        for (size_t i = 0; i < n->blocks.len; i++)
            if (block_holds(n->blocks.data[i], kind)) return true;
    }
    return false;
}

/* ---- overloads ------------------------------------------------------------------------------- */

static bool op_takes(const op *o, int ninputs, ir_value *const *inputs) {
    const schema *s = o->schema;
    if (s->vararg ? ninputs < s->nargs : ninputs != s->nargs) return false;
    type_bindings b = {0};
    for (int i = 0; i < s->nargs; i++)
        if (!type_match(s->args[i].type, inputs[i]->type, &b)) return false;
    return true;
}

const op *op_match(const char *name, int ninputs, ir_value *const *inputs) {
    int n;
    const op *const *ops = op_overloads(name, &n);
    for (int i = 0; i < n; i++)
        if (op_takes(ops[i], ninputs, inputs)) return ops[i];
    return NULL;
}
