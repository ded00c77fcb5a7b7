/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alias_build.c - gives every value its location: one walk over the graph (ir/graph/alias.h
 * tells the method).
 *
 *     %l = prim::ListConstruct(%x)              held(l) = x
 *     %y = aten::__getitem__(%l, %i)            y = held(l), by the type variable t in "t[] list -> t"
 *     %y = prim::If(%c) (-> %a) (-> %b)         y = a = b
 *     %y = prim::Loop(..., %a) (%p -> %r)       y = a = p = r
 *
 * "=" joins two locations, and with them what they hold. Nothing depends on the order of the walk,
 * which only numbers the nodes. Joins that follow from a join go to a list of work, so that types
 * nested in a file's own classes cannot exhaust the stack.
 * Tests: tests/unit/test_alias.c
 */
#include "ir/graph/alias_internal.h"

#include <string.h>

/* ---- families -------------------------------------------------------------------------------- */

static const uint8_t alias_families[T_KIND_COUNT] = {
    [T_TENSOR] = ALIAS_TENSOR,   [T_LIST] = ALIAS_LIST,        [T_ANY_LIST] = ALIAS_LIST,
    [T_DICT] = ALIAS_DICT,       [T_TUPLE] = ALIAS_TUPLE,      [T_ANY_TUPLE] = ALIAS_TUPLE,
    [T_CLASS] = ALIAS_OBJECT,    [T_INTERFACE] = ALIAS_OBJECT, [T_ANY_CLASS] = ALIAS_OBJECT,
    [T_ANY] = ALIAS_MIXED,       [T_VAR] = ALIAS_MIXED,        [T_STORAGE] = ALIAS_OTHER,
    [T_GENERATOR] = ALIAS_OTHER, [T_STREAM] = ALIAS_OTHER,     [T_CAPSULE] = ALIAS_OTHER,
    [T_FUTURE] = ALIAS_OTHER,    [T_RREF] = ALIAS_OTHER,       [T_INT] = ALIAS_NONE,
    [T_FLOAT] = ALIAS_NONE,      [T_BOOL] = ALIAS_NONE,        [T_STR] = ALIAS_NONE,
    [T_COMPLEX] = ALIAS_NONE,    [T_NONE] = ALIAS_NONE,        [T_NUMBER] = ALIAS_NONE,
    [T_DEVICE] = ALIAS_NONE,     [T_QSCHEME] = ALIAS_NONE,     [T_FUNCTION] = ALIAS_NONE,
    [T_ANY_ENUM] = ALIAS_NONE,   [T_ENUM] = ALIAS_NONE,
};

alias_family alias_family_of(const type *t) {
    bool several = t->kind == T_OPTIONAL || t->kind == T_UNION;
    if (!several && t->kind != T_TUPLE) return (alias_family)alias_families[t->kind];
    alias_family f = ALIAS_NONE;
    for (int i = 0; i < t->nelems; i++) {
        alias_family e = alias_family_of(t->elems[i]);
        if (e == ALIAS_NONE || e == f) continue;
        if (!several) return ALIAS_TUPLE; /* a tuple of mutable things */
        if (f != ALIAS_NONE) return ALIAS_MIXED;
        f = e;
    }
    return f;
}

bool alias_type_mutable(const type *t) { return alias_family_of(t) != ALIAS_NONE; }

/* ---- union-find ------------------------------------------------------------------------------ */

int alias_find(const alias_db *db, int l) {
    while (db->locations.data[l].parent != l) l = db->locations.data[l].parent;
    return l;
}

static int build_find(alias_db *db, int l) {
    alias_location *all = db->locations.data;
    while (all[l].parent != l) l = all[l].parent = all[all[l].parent].parent;
    return l;
}

static int build_new(alias_db *db) {
    alias_location l = {.parent = (int)db->locations.len, .held = {-1, -1, -1, -1, -1, -1}};
    if (vec_push(&db->locations, l)) return l.parent;
    db->failed = true;
    return 0;
}

static void build_later(alias_db *db, int a, int b) {
    alias_pair p = {a, b};
    if (a >= 0 && b >= 0 && a != b && !vec_push(&db->pending, p)) db->failed = true;
}

/* One location for everything l holds. */
static void build_mix(alias_db *db, int l) {
    alias_location *x = &db->locations.data[l];
    int one = -1;
    for (int f = 0; f < ALIAS_COUNT; f++) {
        if (one < 0) one = x->held[f];
        build_later(db, one, x->held[f]);
    }
    for (int f = 0; f < ALIAS_COUNT; f++) x->held[f] = one;
    x->mixed = true;
}

static void build_join_roots(alias_db *db, int a, int b) {
    alias_location *x = &db->locations.data[a], *y = &db->locations.data[b];
    bool mixed = x->mixed || y->mixed;
    y->parent = a;
    for (int f = 0; f < ALIAS_COUNT; f++) {
        build_later(db, x->held[f], y->held[f]);
        if (x->held[f] < 0) x->held[f] = y->held[f];
    }
    if (mixed) build_mix(db, a);
}

static void build_join(alias_db *db, int a, int b) {
    build_later(db, a, b);
    while (db->pending.len && !db->failed) {
        alias_pair p = vec_pop(&db->pending);
        int x = build_find(db, p.a), y = build_find(db, p.b);
        if (x != y) build_join_roots(db, x, y);
    }
}

/* What l holds of family f; made when first asked for. */
static int build_held(alias_db *db, int l, alias_family f) {
    l = build_find(db, l);
    if (f >= ALIAS_MIXED) {
        if (!db->locations.data[l].mixed) build_mix(db, l);
        build_join(db, 0, 0);
        l = build_find(db, l);
        f = 0;
    }
    if (db->locations.data[l].held[f] < 0) {
        int fresh = build_new(db);
        alias_location *x = &db->locations.data[l];
        if (x->mixed)
            for (int i = 0; i < ALIAS_COUNT; i++) x->held[i] = fresh;
        x->held[f] = fresh;
    }
    return db->locations.data[l].held[f];
}

/* ---- values ---------------------------------------------------------------------------------- */

/* -1: immutable */
static int build_value(alias_db *db, const ir_value *v) {
    if (alias_family_of(v->type) == ALIAS_NONE) return -1;
    intptr_t l = (intptr_t)ptrmap_get(&db->values, v);
    if (!l) {
        l = build_new(db) + 1;
        if (!ptrmap_put(&db->values, v, (void *)l)) db->failed = true;
    }
    return (int)l - 1;
}

static void build_same(alias_db *db, const ir_value *a, const ir_value *b) {
    build_join(db, build_value(db, a), build_value(db, b));
}

/* An element of another type than the container says (None into Tensor?) does not matter: its
 * family is its own. */
static void build_hold(alias_db *db, const ir_value *holder, const ir_value *v) {
    int h = build_value(db, holder), l = build_value(db, v);
    if (h >= 0 && l >= 0) build_join(db, build_held(db, h, alias_family_of(v->type)), l);
}

static void build_outside_location(alias_db *db, int l, alias_family f) {
    if (l < 0) return;
    if (f >= ALIAS_MIXED)
        for (int i = 1; i < ALIAS_COUNT; i++) build_join(db, db->world[0], db->world[i]);
    build_join(db, l, db->world[f >= ALIAS_MIXED ? 0 : f]);
}

static void build_outside(alias_db *db, const ir_value *v) {
    build_outside_location(db, build_value(db, v), alias_family_of(v->type));
}

static void build_write(alias_db *db, const node *n, int location) {
    alias_write w = {.order = (int)db->places.len - 1,
                     .location = location,
                     .reshapes = node_write_reshapes(n),
                     .by = n};
    if (!vec_push(&db->writes, w)) db->failed = true;
}

/* ---- operators ------------------------------------------------------------------------------- */

enum { BUILD_LETTERS = 26 };

typedef struct build_call {
    alias_db *db;
    const node *n;
    int letters[BUILD_LETTERS]; /* alias sets of the schema, -1: not met */
    /* location of the values that type variables denote; -1: none yet */
    int elements;
} build_call;

/* "a", "b|a", "*" */
static void build_sets(build_call *c, const char *sets, int l, alias_family f, bool has_var) {
    for (const char *s = sets ? sets : ""; *s; s++) {
        /* with a variable: the holder knows better */
        if (*s == '*' && !has_var) build_outside_location(c->db, l, f);
        if (*s < 'a' || *s > 'z') continue;
        int *at = &c->letters[*s - 'a'];
        if (*at < 0) *at = l;
        else build_join(c->db, *at, l);
    }
}

static const type *build_element(const type *t) {
    return t->kind == T_LIST || t->kind == T_OPTIONAL ? t->elems[0] : NULL;
}

static void build_annotation(build_call *c, const alias_info *a, int l, const type *t,
                             bool has_var) {
    if (!a || l < 0) return;
    build_sets(c, a->before, l, alias_family_of(t), has_var);
    if (a->write && (a->before || !a->elem)) build_write(c->db, c->n, l);
    const type *e = build_element(t);
    alias_family f = e ? alias_family_of(e) : ALIAS_MIXED;
    if (a->elem && f != ALIAS_NONE)
        build_annotation(c, a->elem, build_held(c->db, l, f), e ? e : t, has_var);
}

/* Elements flow where the schema has a type variable: "t[] self", "t el", "Dict(str,
 * t)", "(str, t)[]". */
static void build_variables(build_call *c, const type *declared, const type *actual, int l) {
    if (!declared->has_var || l < 0) return;
    if (c->elements < 0) c->elements = build_new(c->db);
    if (declared->kind == T_VAR) {
        build_join(c->db, build_held(c->db, c->elements, alias_family_of(actual)), l);
        return;
    }
    bool optional = declared->kind == T_OPTIONAL,
         match = actual->kind == declared->kind && actual->nelems == declared->nelems;
    for (int i = 0; i < declared->nelems; i++) {
        const type *e = match ? actual->elems[i] : optional ? actual : TYPE_ANY;
        alias_family f = alias_family_of(e);
        if (f != ALIAS_NONE)
            build_variables(c, declared->elems[i], e, optional ? l : build_held(c->db, l, f));
    }
}

/* The result may be the argument, or be held by it, or hold it. */
static void build_related(alias_db *db, const ir_value *out, const ir_value *in) {
    int o = build_value(db, out), l = build_value(db, in);
    if (o < 0 || l < 0) return;
    alias_family of = alias_family_of(out->type), f = alias_family_of(in->type);
    if (of == ALIAS_TENSOR && f == ALIAS_LIST) {
        build_join(db, o, build_held(db, l, ALIAS_TENSOR));
    } else if (f == ALIAS_TENSOR && (of == ALIAS_LIST || of == ALIAS_TUPLE)) {
        build_join(db, build_held(db, o, ALIAS_TENSOR), l);
    } else {
        build_join(db, o, l);
        if (of != f) build_join(db, build_held(db, l, ALIAS_MIXED), o);
    }
}

static void build_unknown(alias_db *db, const node *n) {
    for (size_t i = 0; i < n->inputs.len; i++) build_outside(db, n->inputs.data[i]);
    for (size_t i = 0; i < n->outputs.len; i++) build_outside(db, n->outputs.data[i]);
    for (size_t b = 0; b < n->blocks.len; b++) {
        for (size_t i = 0; i < n->blocks.data[b]->params.len; i++)
            build_outside(db, n->blocks.data[b]->params.data[i]);
        for (size_t i = 0; i < n->blocks.data[b]->returns.len; i++)
            build_outside(db, n->blocks.data[b]->returns.data[i]);
    }
    build_write(db, n, ALIAS_WORLD);
}

/* aten::set_ and others that give their first argument the storage of another; in-place operators
 * whose schema forgets to say that they return it. */
static bool build_shares_arguments(const node *n) {
    return node_is_op(n, SYM_SET_) || node_is_op(n, SYM_SET_DATA);
}

static bool build_returns_first(const node *n) {
    size_t len = strlen(n->op_name);
    return n->op->schema->nargs && len > 1 && n->op_name[len - 1] == '_' &&
           n->op_name[len - 2] != '_';
}

static void build_op_result(build_call *c, int i) {
    alias_db *db = c->db;
    const node *n = c->n;
    const schema *s = n->op->schema;
    const ir_value *out = n->outputs.data[i];
    int o = build_value(db, out);
    if (o < 0) return;
    const argument *r = i < s->nreturns ? &s->returns[i] : NULL;
    if (r) build_annotation(c, r->alias, o, out->type, r->type->has_var);
    if (r) build_variables(c, r->type, out->type, o);
    bool unsaid = !r || (!r->alias && !r->type->has_var && (r->type->kind == T_ANY || s->vararg));
    if (unsaid || node_returns_unmarked(n))
        for (size_t k = 0; k < n->inputs.len; k++) build_related(db, out, n->inputs.data[k]);
    else if (build_returns_first(n) && n->inputs.len) build_related(db, out, n->inputs.data[0]);
}

static void build_op(alias_db *db, const node *n) {
    if (!n->op) {
        build_unknown(db, n);
        return;
    }
    build_call c = {.db = db, .n = n, .elements = -1};
    for (int i = 0; i < BUILD_LETTERS; i++) c.letters[i] = -1;
    const schema *s = n->op->schema;
    for (int i = 0; i < (int)n->inputs.len; i++) {
        const ir_value *v = n->inputs.data[i];
        int l = build_value(db, v);
        if (l < 0) continue;
        const argument *a = i < s->nargs ? &s->args[i] : NULL;
        if (a) build_annotation(&c, a->alias, l, v->type, a->type->has_var);
        if (a) build_variables(&c, a->type, v->type, l);
        if (node_writes_input(n, i) && !(a && a->alias)) build_write(db, n, l);
        if (i && build_shares_arguments(n)) build_related(db, n->inputs.data[0], v);
    }
    for (size_t i = 0; i < n->outputs.len; i++) build_op_result(&c, (int)i);
    /* the forked function may end only now */
    if (node_is_op(n, SYM_WAIT)) build_write(db, n, ALIAS_WORLD);
}

/* ---- other nodes ----------------------------------------------------------------------------- */

static void build_fresh(alias_db *db, const node *n) { (void)db, (void)n; }

static void build_constant(alias_db *db, const node *n) {
    build_outside(db, n->outputs.data[0]); /* one object for all runs */
}

static void build_construct(alias_db *db, const node *n) {
    for (size_t i = 0; i < n->inputs.len; i++)
        build_hold(db, n->outputs.data[0], n->inputs.data[i]);
}

static void build_take(alias_db *db, const node *n) {
    for (size_t i = 0; i < n->outputs.len && n->inputs.len; i++)
        build_hold(db, n->inputs.data[0], n->outputs.data[i]);
}

static void build_pass(alias_db *db, const node *n) {
    build_same(db, n->outputs.data[0], n->inputs.data[0]);
}

static void build_set_attr(alias_db *db, const node *n) {
    build_hold(db, n->inputs.data[0], n->inputs.data[1]);
    build_write(db, n, build_value(db, n->inputs.data[0]));
}

static void build_if(alias_db *db, const node *n) {
    for (size_t i = 0; i < n->outputs.len; i++)
        for (size_t b = 0; b < n->blocks.len; b++)
            build_same(db, n->outputs.data[i], n->blocks.data[b]->returns.data[i]);
}

static void build_loop(alias_db *db, const node *n) {
    const block *body = n->blocks.data[0];
    for (size_t i = 0; i < n->outputs.len; i++) {
        const ir_value *out = n->outputs.data[i];
        build_same(db, out, n->inputs.data[i + 2]);
        build_same(db, out, body->params.data[i + 1]);
        build_same(db, out, body->returns.data[i + 1]);
    }
}

/* Groups compute; what they return may be a view of what they were given. Those made of loops
 * write to tensors. */
static void build_group(alias_db *db, const node *n) {
    for (size_t k = 0; k < n->inputs.len; k++)
        if (node_writes_input(n, (int)k)) build_write(db, n, build_value(db, n->inputs.data[k]));
    for (size_t i = 0; i < n->outputs.len; i++)
        for (size_t k = 0; k < n->inputs.len; k++)
            build_related(db, n->outputs.data[i], n->inputs.data[k]);
}

static void (*const build_kinds[N_KIND_COUNT])(alias_db *, const node *) = {
    [N_OP] = build_op,
    [N_CONSTANT] = build_constant,
    [N_IF] = build_if,
    [N_LOOP] = build_loop,
    [N_LIST_CONSTRUCT] = build_construct,
    [N_TUPLE_CONSTRUCT] = build_construct,
    [N_DICT_CONSTRUCT] = build_construct,
    [N_LIST_UNPACK] = build_take,
    [N_TUPLE_UNPACK] = build_take,
    [N_TUPLE_INDEX] = build_take,
    [N_CONTAINER_INDEX] = build_take,
    [N_TUPLE_SLICE] = build_pass,
    [N_GET_ATTR] = build_take,
    [N_SET_ATTR] = build_set_attr,
    [N_CREATE_OBJECT] = build_fresh,
    [N_UNCHECKED_CAST] = build_pass,
    [N_UNINITIALIZED] = build_fresh,
    [N_ISINSTANCE] = build_fresh,
    [N_RAISE] = build_fresh,
    [N_PRINT] = build_fresh,
    [N_TOLIST] = build_fresh,
    [N_FUSION_GROUP] = build_group,
};

static void build_node(alias_db *db, const node *n) {
    (build_kinds[n->kind] ? build_kinds[n->kind] : build_unknown)(db, n);
}

static void build_block(alias_db *db, const block *b) {
    for (const node *n = b->first; n && !db->failed; n = n->next) {
        size_t order = db->places.len;
        alias_place p = {.n = n};
        if (!vec_push(&db->places, p) || !ptrmap_put(&db->orders, n, (void *)(intptr_t)order))
            db->failed = true;
        if (db->failed) return;
        for (size_t i = 0; i < n->outputs.len; i++) build_value(db, n->outputs.data[i]);
        /* build_write takes the newest number: the node's own, before its blocks */
        build_node(db, n);
        for (size_t i = 0; i < n->blocks.len; i++) build_block(db, n->blocks.data[i]);
        db->places.data[order].end = (int)db->places.len - 1;
    }
}

static void build_escape(alias_db *db, int l) {
    VEC(int) stack = {0};
    if (!vec_push(&stack, l)) db->failed = true;
    while (stack.len) {
        alias_location *x = &db->locations.data[build_find(db, vec_pop(&stack))];
        if (x->escapes) continue;
        x->escapes = true;
        for (int f = 0; f < ALIAS_COUNT; f++)
            if (x->held[f] >= 0 && !vec_push(&stack, x->held[f])) db->failed = true;
    }
    vec_free(&stack);
}

void alias_build(alias_db *db) {
    const graph *g = db->g;
    alias_place none = {0};
    if (!vec_push(&db->places, none)) db->failed = true; /* numbers begin at 1 */
    for (int f = 0; f < ALIAS_COUNT; f++) db->world[f] = build_new(db);
    for (int f = 0; f < ALIAS_COUNT && !db->failed; f++)
        for (int h = 0; h < ALIAS_COUNT; h++)
            db->locations.data[db->world[f]].held[h] = db->world[h];
    for (size_t i = 0; i < g->root->params.len && !db->failed; i++)
        build_outside(db, g->root->params.data[i]);
    if (!db->failed) build_block(db, g->root);
    for (int f = 0; f < ALIAS_COUNT && !db->failed; f++) build_escape(db, db->world[f]);
    for (size_t i = 0; i < g->root->returns.len && !db->failed; i++) {
        int l = build_value(db, g->root->returns.data[i]);
        if (l >= 0) build_escape(db, l);
    }
}
