/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unit_copy.c - takes objects of one program into another, with their classes and functions.
 *
 * Method. Types are copied on demand and recorded before their parts are visited,
 * since classes mention one another. Functions are declared with their types and put
 * on a list; their graphs are copied when a request has declared all it needs, so that
 * chains of calls cost no stack. Invariant: when a request succeeds, the list is empty
 * and everything copied so far is complete. After a failure the target is unusable.
 * Tests: tests/unit/test_trace.c
 */
#include "ir/graph/unit_copy.h"

#include <string.h>

enum { COPY_MAX_DEPTH = 200 };

typedef struct copy_pair { function *from, *to; } copy_pair;

struct unit_copy {
    unit *to;
    diag *d;
    ptrmap types, functions;
    ptrmap objects;      /* old object -> new */
    VEC(value) held;     /* references of both: what is known by its address must stay */
    VEC(unit *) units;   /* references of the sources: likewise for types and functions */
    VEC(copy_pair) todo; /* functions without a graph yet */
    int depth;
};

unit_copy *unit_copy_new(unit *to) {
    unit_copy *c = mem_zalloc(sizeof *c);
    if (c) c->to = unit_ref(to);
    return c;
}

void unit_copy_free(unit_copy *c) {
    if (!c) return;
    for (size_t i = 0; i < c->held.len; i++) value_unref(c->held.data[i]);
    for (size_t i = 0; i < c->units.len; i++) unit_unref(c->units.data[i]);
    vec_free(&c->held);
    vec_free(&c->units);
    vec_free(&c->todo);
    ptrmap_free(&c->types);
    ptrmap_free(&c->functions);
    ptrmap_free(&c->objects);
    unit_unref(c->to);
    mem_free(c);
}

static bool copy_ok(const unit_copy *c) {
    if (c->d->status == CTSC_OK && arena_failed(&c->to->arena)) diag_no_memory(c->d);
    return c->d->status == CTSC_OK;
}

static bool copy_deeper(unit_copy *c) {
    if (++c->depth <= COPY_MAX_DEPTH) return true;
    if (c->d->status == CTSC_OK)
        diag_fail(c->d, CTSC_LIMIT, "a program nests too deeply to become part of another");
    return false;
}

static bool copy_hold_unit(unit_copy *c, unit *u) {
    for (size_t i = 0; i < c->units.len; i++)
        if (c->units.data[i] == u) return true;
    if (vec_push(&c->units, u)) return unit_ref(u), true;
    diag_no_memory(c->d);
    return false;
}

/* __torch__.a.Net, or __torch__.a.___torch_mangle_N.Net with the first N that is free. */
static const char *copy_name(unit_copy *c, const char *old) {
    unit *u = c->to;
    const char *dot = strrchr(old, '.'), *name = intern(&u->names, old);
    int head = dot ? (int)(dot - old) : 0;
    const char *mangled = strstr(old, ".___torch_mangle_");
    if (mangled && mangled - old < head) head = (int)(mangled - old);
    for (int i = 0; strmap_get(&u->classes, name) || strmap_get(&u->functions, name); i++) {
        name = arena_printf(&u->arena, "%.*s.___torch_mangle_%d%s", head, old, i, dot ? dot : "");
        if (!name || arena_failed(&u->arena)) return old;
    }
    return name;
}

static type *copy_type(unit_copy *c, type *t);
static value copy_value(unit_copy *c, value v);
static function *copy_function(unit_copy *c, function *f);

/* ---- functions ------------------------------------------------------------------------------- */

static void copy_arguments(unit_copy *c, int n, const argument *from, argument *to) {
    for (int i = 0; i < n; i++) {
        const argument *a = &from[i];
        to[i] = (argument){.name = intern(&c->to->names, a->name ? a->name : ""),
                           .type = copy_type(c, a->type),
                           .fixed_size = a->fixed_size,
                           .kwarg_only = a->kwarg_only,
                           .has_default = a->has_default,
                           .inferred = a->inferred,
                           .default_value = copy_value(c, a->default_value)};
    }
}

static schema *copy_schema(unit_copy *c, const schema *from) {
    arena *a = &c->to->arena;
    schema *s = arena_new(a, schema);
    argument *args = arena_array(a, argument, from->nargs + 1),
             *returns = arena_array(a, argument, from->nreturns + 1);
    if (!args || !returns || arena_failed(a)) return diag_no_memory(c->d), NULL;
    *s = (schema){.name = intern(&c->to->names, from->name),
                  .overload = "",
                  .args = args,
                  .returns = returns};
    copy_arguments(c, from->nargs, from->args, args);
    copy_arguments(c, from->nreturns, from->returns, returns);
    s->nargs = from->nargs;
    s->nreturns = from->nreturns;
    return s;
}

static bool copy_compile(unit_copy *c, function *f) {
    bool interface = f->cls && f->cls->kind == T_INTERFACE;
    return interface || function_ensure_compiled(f, c->d) == CTSC_OK;
}

/* The copy of f under a name, as a method of cls or as a function; its graph follows. */
static function *copy_declare(unit_copy *c, function *f, const char *qualified, type *cls) {
    if (!copy_hold_unit(c, f->unit) || !copy_compile(c, f)) return NULL;
    function *made = unit_add_function(c->to, qualified, cls);
    if (!made || arena_failed(&c->to->arena) || !ptrmap_put(&c->functions, f, made))
        return diag_no_memory(c->d), NULL;
    made->is_static = f->is_static;
    made->return_declared = true;
    made->schema = copy_schema(c, f->schema);
    copy_pair p = {f, made};
    if (f->graph && made->schema && !vec_push(&c->todo, p)) diag_no_memory(c->d);
    return copy_ok(c) ? made : NULL;
}

static function *copy_function(unit_copy *c, function *f) {
    function *known = ptrmap_get(&c->functions, f);
    if (known || !copy_ok(c)) return known;
    if (f->cls) { /* with its class */
        copy_type(c, f->cls);
        known = ptrmap_get(&c->functions, f);
        if (!known && copy_ok(c))
            diag_fail(c->d, CTSC_INTERNAL, "'%s' is not a method of its class", f->qualified);
        return known;
    }
    return copy_declare(c, f, copy_name(c, f->qualified), NULL);
}

/* ---- types ----------------------------------------------------------------------------------- */

static bool copy_method(unit_copy *c, function *f, type *cls) {
    const char *q = arena_printf(&c->to->arena, "%s.%s", class_name(cls), f->name);
    function *made = q ? copy_declare(c, f, q, cls) : NULL;
    if (made) avec_push(&c->to->arena, &cls->cls->methods, made);
    return made && copy_ok(c);
}

static void copy_hooks(unit_copy *c, const class_info *from, class_info *to) {
    for (size_t i = 0; i < from->forward_hooks.len && copy_ok(c); i++) {
        function *f = copy_function(c, from->forward_hooks.data[i]);
        avec_push(&c->to->arena, &to->forward_hooks, f);
    }
    for (size_t i = 0; i < from->forward_pre_hooks.len && copy_ok(c); i++) {
        function *f = copy_function(c, from->forward_pre_hooks.data[i]);
        avec_push(&c->to->arena, &to->forward_pre_hooks, f);
    }
}

static type *copy_class(unit_copy *c, type *t) {
    unit *u = c->to;
    const class_info *from = t->cls;
    type *cls = type_class_new(u, t->kind, copy_name(c, from->name));
    if (arena_failed(&u->arena) || !strmap_put(&u->classes, cls->cls->name, cls) ||
        !ptrmap_put(&c->types, t, cls))
        return diag_no_memory(c->d), NULL;
    class_info *to = cls->cls;
    to->is_module = from->is_module;
    to->is_dict = from->is_dict;
    to->is_list = from->is_list;
    for (size_t i = 0; i < from->attributes.len && copy_ok(c); i++) {
        attribute a = from->attributes.data[i];
        a.name = intern(&u->names, a.name);
        a.type = copy_type(c, a.type);
        avec_push(&u->arena, &to->attributes, a);
    }
    for (size_t i = 0; i < from->constants.len && copy_ok(c); i++) {
        const constant_attribute *a = &from->constants.data[i];
        value v = t->kind == T_ENUM ? value_ref(a->val) : copy_value(c, a->val);
        if (!class_add_constant(cls, intern(&u->names, a->name), v, copy_type(c, a->type)))
            diag_no_memory(c->d);
    }
    if (t->kind == T_ENUM && copy_ok(c)) {
        to->enum_value_type = copy_type(c, from->enum_value_type);
        if (!class_add_members(cls)) diag_no_memory(c->d);
    }
    for (size_t i = 0; i < from->methods.len && copy_ok(c); i++)
        copy_method(c, from->methods.data[i], cls);
    if (copy_ok(c)) copy_hooks(c, from, to);
    return cls;
}

static type *copy_structural(unit_copy *c, const type *t, type *const *e) {
    switch (t->kind) {
    case T_LIST: return type_list(e[0]);
    case T_OPTIONAL: return type_optional(e[0]);
    case T_FUTURE: return type_future(e[0]);
    case T_RREF: return type_rref(e[0]);
    case T_DICT: return type_dict(e[0], e[1]);
    case T_UNION: return type_union(t->nelems, e);
    case T_TUPLE: return type_tuple(t->nelems, e);
    default: diag_fail(c->d, CTSC_INTERNAL, "a type that cannot be copied"); return TYPE_ANY;
    }
}

static type *copy_named_tuple(unit_copy *c, type *t, type *const *e) {
    unit *u = c->to;
    const char **fields = arena_array(&u->arena, const char *, t->nelems + 1);
    if (!fields) return diag_no_memory(c->d), t;
    for (int i = 0; i < t->nelems; i++) fields[i] = intern(&u->names, t->field_names[i]);
    if (!copy_ok(c)) return t;
    if (!t->name) return type_named_tuple(u, NULL, t->nelems, fields, e);
    type *made = type_named_tuple(u, copy_name(c, t->name), t->nelems, fields, e);
    /* Any, if there was no memory */
    if (made->kind != T_TUPLE || arena_failed(&u->arena) ||
        !strmap_put(&u->classes, made->name, made))
        diag_no_memory(c->d);
    return made;
}

/* Never NULL. */
static type *copy_type(unit_copy *c, type *t) {
    if (!t || !t->owner || t->owner == c->to || t->owner->permanent) return t;
    type *known = ptrmap_get(&c->types, t), *made = NULL;
    if (known || !copy_ok(c)) return known ? known : t;
    if (!copy_hold_unit(c, t->owner)) return t;
    if (copy_deeper(c)) {
        if (t->cls) {
            made = copy_class(c, t);
        } else {
            type **e = arena_array(&c->to->arena, type *, t->nelems + 1);
            if (!e) diag_no_memory(c->d);
            for (int i = 0; e && i < t->nelems; i++) e[i] = copy_type(c, t->elems[i]);
            if (copy_ok(c))
                made = t->kind == T_TUPLE && t->field_names ? copy_named_tuple(c, t, e)
                                                            : copy_structural(c, t, e);
            if (made && !ptrmap_put(&c->types, t, made)) diag_no_memory(c->d);
        }
    }
    c->depth--;
    return made ? made : t;
}

/* ---- values ---------------------------------------------------------------------------------- */

static bool copy_foreign(const unit_copy *c, const type *t) {
    return t && t->owner && t->owner != c->to && !t->owner->permanent;
}

static value copy_object(unit_copy *c, value v) {
    const object *from = v.u.object;
    object *known = ptrmap_get(&c->objects, from);
    if (known) return value_ref(value_object_take(known));
    type *cls = copy_type(c, from->cls);
    object *o = copy_ok(c) ? object_new(cls, from->nslots) : NULL;
    if (!o) return copy_ok(c) ? diag_no_memory(c->d) : 0, value_none();
    value made = value_object_take(o);
    if (!vec_reserve(&c->held, c->held.len + 2) || !ptrmap_put(&c->objects, from, o)) {
        diag_no_memory(c->d);
        return made;
    }
    c->held.data[c->held.len++] = value_ref(v);
    c->held.data[c->held.len++] = value_ref(made);
    for (size_t i = 0; i < from->nslots && copy_ok(c); i++)
        o->slots[i] = copy_value(c, from->slots[i]);
    return made;
}

static value copy_list(unit_copy *c, value v) {
    const list *from = v.u.list;
    if (from->kind != LIST_VALUE ||
        (from->elem && !from->elem->of_class && from->elem->kind != T_ANY))
        return value_ref(v);
    list *l = list_new(LIST_VALUE, copy_type(c, from->elem), from->len);
    for (size_t i = 0; l && i < from->len && copy_ok(c); i++)
        if (!list_append_take(l, copy_value(c, from->u.values[i]))) diag_no_memory(c->d);
    if (!l) return diag_no_memory(c->d), value_none();
    return value_list_take(l);
}

static value copy_dict(unit_copy *c, value v) {
    const dict *from = v.u.dict;
    if (from->val_type && !from->val_type->of_class && from->val_type->kind != T_ANY)
        return value_ref(v);
    dict *made = dict_new(copy_type(c, from->key_type), copy_type(c, from->val_type));
    for (size_t i = 0; made && i < from->used && copy_ok(c); i++) {
        const dict_entry *e = &from->entries[i];
        if (e->key.tag == V_UNINIT) continue;
        if (!dict_set_take(made, value_ref(e->key), copy_value(c, e->val))) diag_no_memory(c->d);
    }
    if (!made) return diag_no_memory(c->d), value_none();
    return value_dict_take(made);
}

static value copy_tuple(unit_copy *c, value v) {
    const tuple *from = v.u.tuple;
    tuple *t = tuple_new(from->len, from->type ? copy_type(c, from->type) : NULL);
    for (size_t i = 0; t && i < from->len && copy_ok(c); i++)
        t->items[i] = copy_value(c, from->items[i]);
    if (!t) return diag_no_memory(c->d), value_none();
    return value_tuple_take(t);
}

static value copy_enum(unit_copy *c, value v) {
    type *cls = copy_type(c, v.u.enumv->cls);
    for (size_t i = 0; copy_ok(c) && cls->cls->enum_members && i < cls->cls->constants.len; i++)
        if (!strcmp(cls->cls->constants.data[i].name, v.u.enumv->name))
            return value_ref(cls->cls->enum_members[i]);
    if (copy_ok(c))
        diag_fail(c->d, CTSC_INTERNAL, "an enum has lost its member %s", v.u.enumv->name);
    return value_none();
}

/* A reference. */
static value copy_value(unit_copy *c, value v) {
    value out = value_none();
    if (!copy_ok(c)) return out;
    if (copy_deeper(c)) {
        switch (v.tag) {
        case V_OBJECT:
            out = copy_foreign(c, v.u.object->cls) ? copy_object(c, v) : value_ref(v);
            break;
        case V_LIST: out = copy_list(c, v); break;
        case V_DICT: out = copy_dict(c, v); break;
        case V_TUPLE: out = copy_tuple(c, v); break;
        case V_ENUM: out = copy_foreign(c, v.u.enumv->cls) ? copy_enum(c, v) : value_ref(v); break;
        case V_FUNCTION:
            out = (value){.tag = V_FUNCTION, .u.function = copy_function(c, v.u.function)};
            break;
        default: out = value_ref(v); break;
        }
    }
    c->depth--;
    return out;
}

/* ---- graphs ---------------------------------------------------------------------------------- */

static void copy_graph(unit_copy *c, graph *g);

static void copy_attr(unit_copy *c, graph *g, attr *a) {
    if (a->kind == ATTR_TYPE) a->u.t = copy_type(c, a->u.t);
    for (int i = 0; a->kind == ATTR_TYPES && i < a->u.types.n; i++)
        a->u.types.data[i] = copy_type(c, a->u.types.data[i]);
    if (a->kind == ATTR_GRAPH) copy_graph(c, a->u.g);
    if (a->kind != ATTR_VALUE) return;
    value v = copy_value(c, a->u.v); /* the graph holds the old one, and now the new one */
    if (copy_ok(c) && vec_push(&g->held, v)) a->u.v = v;
    else value_unref(v), copy_ok(c) ? diag_no_memory(c->d) : 0;
}

static void copy_block(unit_copy *c, graph *g, block *b) {
    for (size_t i = 0; i < b->params.len; i++)
        b->params.data[i]->type = copy_type(c, b->params.data[i]->type);
    for (node *n = b->first; n && copy_ok(c); n = n->next) {
        for (size_t i = 0; i < n->outputs.len; i++)
            n->outputs.data[i]->type = copy_type(c, n->outputs.data[i]->type);
        for (attr *a = n->attrs; a; a = a->next) copy_attr(c, g, a);
        for (size_t i = 0; i < n->blocks.len; i++) copy_block(c, g, n->blocks.data[i]);
    }
}

static void copy_graph(unit_copy *c, graph *g) {
    if (copy_deeper(c)) copy_block(c, g, g->root);
    c->depth--;
}

static ctsc_status copy_finish(unit_copy *c) {
    while (c->todo.len && copy_ok(c)) {
        copy_pair p = vec_pop(&c->todo);
        graph *g = graph_clone(p.from->graph);
        if (!g) return diag_no_memory(c->d);
        copy_graph(c, g);
        p.to->graph = g;
        p.to->state = FUNCTION_READY;
        if (copy_ok(c) && arena_failed(&g->arena)) diag_no_memory(c->d);
    }
    return copy_ok(c) ? CTSC_OK : c->d->status;
}

ctsc_status unit_copy_value(unit_copy *c, diag *d, value v, value *out) {
    diag *outer = diag_redirect(&c->d, d);
    c->depth = 0;
    value made = copy_value(c, v);
    ctsc_status s = copy_finish(c);
    diag_restore(&c->d, outer);
    if (s == CTSC_OK) *out = made;
    else value_unref(made);
    return s;
}

ctsc_status unit_copy_type(unit_copy *c, diag *d, type *t, type **out) {
    diag *outer = diag_redirect(&c->d, d);
    c->depth = 0;
    type *made = copy_type(c, t);
    ctsc_status s = copy_finish(c);
    diag_restore(&c->d, outer);
    if (s == CTSC_OK) *out = made;
    return s;
}
