/* SPDX-License-Identifier: Apache-2.0 */
/*
 * freeze_module.c - a module becomes a smaller one that computes the same: torch.jit.freeze.
 *
 * Method. The graph of forward, with all calls inlined, goes through pipeline_freeze, which
 * turns attributes into constants. The frozen module keeps what that graph still reads: new
 * classes with only these attributes, new objects of them, and one method. The old classes
 * and objects are not changed, and a module that cannot be frozen is unchanged.
 *
 *     class Net:  fc: Linear, calls: int                     class ___torch_mangle_0.Net:  calls: int
 *       forward, reset                                  ->     forward     (weights in its constants)
 *
 * Ownership: the new classes live in the module's unit; the old objects go with the old root.
 * Tests: tests/cli/freeze.test, tests/interop/freeze.py
 */
#include "passes/passes.h"
#include "runtime/program/module.h"

#include <string.h>

enum { FREEZE_MAX_DEPTH = 200 };

typedef struct refreeze {
    diag *d;
    module *m;
    graph *g;
    ptrmap objects;    /* value of the graph -> old object */
    ptrmap made;       /* old object -> new object; the old one itself where all of it stays */
    ptrmap whole;      /* old objects that stay as they are */
    VEC(object *) old; /* in the order found, the root first */
} refreeze;

/* ---- what is left ---------------------------------------------------------------------------- */

static bool refreeze_note(refreeze *r, ir_value *v, object *o) {
    if (!ptrmap_put(&r->objects, v, o)) return false;
    for (size_t i = 0; i < r->old.len; i++)
        if (r->old.data[i] == o) return true;
    return vec_push(&r->old, o);
}

/* A module that is used other than by its attributes keeps its class. */
static bool refreeze_node(refreeze *r, node *n) {
    bool access = n->kind == N_GET_ATTR || n->kind == N_SET_ATTR;
    for (size_t i = access ? 1 : 0; i < n->inputs.len; i++) {
        object *o = ptrmap_get(&r->objects, n->inputs.data[i]);
        if (o && !ptrmap_put(&r->whole, o, o)) return false;
    }
    object *o = access ? ptrmap_get(&r->objects, n->inputs.data[0]) : NULL;
    int slot = o ? class_find_attribute(o->cls, node_str(n, "name")) : -1;
    if (slot < 0 || n->kind != N_GET_ATTR) return true;
    value v = o->slots[slot];
    return v.tag != V_OBJECT || !v.u.object->cls->cls->is_module ||
           refreeze_note(r, n->outputs.data[0], v.u.object);
}

static bool refreeze_block(refreeze *r, block *b) {
    for (node *n = b->first; n; n = n->next) {
        if (!refreeze_node(r, n)) return false;
        for (size_t i = 0; i < n->blocks.len; i++)
            if (!refreeze_block(r, n->blocks.data[i])) return false;
    }
    return true;
}

static bool refreeze_block_uses(refreeze *r, const block *b, const object *o, const char *name) {
    for (const node *n = b->first; n; n = n->next) {
        if ((n->kind == N_GET_ATTR || n->kind == N_SET_ATTR) &&
            ptrmap_get(&r->objects, n->inputs.data[0]) == o && !strcmp(node_str(n, "name"), name))
            return true;
        for (size_t i = 0; i < n->blocks.len; i++)
            if (refreeze_block_uses(r, n->blocks.data[i], o, name)) return true;
    }
    return false;
}

/* ---- new classes ----------------------------------------------------------------------------- */

/* __torch__.a.___torch_mangle_N.Net, with the first N that is free. */
static const char *refreeze_name(unit *u, const char *old) {
    const char *dot = strrchr(old, '.');
    size_t head = dot ? (size_t)(dot - old) : 0;
    for (const char *at; (at = strstr(old, ".___torch_mangle_")) && (size_t)(at - old) < head;)
        head = (size_t)(at - old);
    for (int i = 0;; i++) {
        const char *name = arena_printf(&u->arena, "%.*s.___torch_mangle_%d%s", (int)head, old, i,
                                        dot ? dot : "");
        if (!name || arena_failed(&u->arena)) return NULL;
        if (!strmap_get(&u->classes, name)) return name;
    }
}

static object *refreeze_object(refreeze *r, object *old, int depth);

/* The attributes of `old` that the graph uses, with their values, in a new object
 * of a new class. */
static object *refreeze_make(refreeze *r, object *old, int depth) {
    unit *u = r->m->unit;
    const class_info *from = old->cls->cls;
    const char *name = refreeze_name(u, from->name);
    type *cls = name ? type_class_new(u, T_CLASS, name) : NULL;
    if (!cls || arena_failed(&u->arena) || !strmap_put(&u->classes, cls->cls->name, cls))
        return NULL;
    cls->cls->is_module = true;
    value slots[256];
    size_t n = 0;
    for (size_t i = 0; i < from->attributes.len && n < sizeof slots / sizeof *slots; i++) {
        attribute a = from->attributes.data[i];
        if (!refreeze_block_uses(r, r->g->root, old, a.name)) continue;
        value v = old->slots[i];
        if (v.tag == V_OBJECT && v.u.object->cls->cls->is_module) {
            object *sub = refreeze_object(r, v.u.object, depth + 1);
            if (!sub) return NULL;
            v = (value){.tag = V_OBJECT, .u.object = sub};
            a.type = sub->cls;
        }
        slots[n++] = v;
        avec_push(&u->arena, &cls->cls->attributes, a);
    }
    object *o = arena_failed(&u->arena) ? NULL : object_new(cls, n);
    for (size_t i = 0; o && i < n; i++) o->slots[i] = value_ref(slots[i]);
    return o;
}

/* Borrowed from r->made, which holds a reference of each. */
static object *refreeze_object(refreeze *r, object *old, int depth) {
    object *o = ptrmap_get(&r->made, old);
    if (o || depth > FREEZE_MAX_DEPTH) return o;
    if (ptrmap_get(&r->whole, old)) {
        o = old;
        value_ref((value){.tag = V_OBJECT, .u.object = o});
    } else {
        o = refreeze_make(r, old, depth);
    }
    if (o && !ptrmap_put(&r->made, old, o)) {
        value_unref((value){.tag = V_OBJECT, .u.object = o});
        return NULL;
    }
    return o;
}

/* Values that are modules get their new classes. */
static void refreeze_types(refreeze *r) {
    for (size_t i = 0; i < r->objects.cap; i++) {
        ir_value *v = (ir_value *)r->objects.slots[i].key;
        const object *o = v ? ptrmap_get(&r->made, r->objects.slots[i].value) : NULL;
        if (o) v->type = o->cls;
    }
}

/* ---- the new module -------------------------------------------------------------------------- */

/* The method of the new class: f's signature, with another self. */
static function *refreeze_method(refreeze *r, const function *f, type *cls) {
    unit *u = r->m->unit;
    const char *name = arena_printf(&u->arena, "%s.%s", cls->cls->name, f->name);
    function *made = name ? unit_add_function(u, name, cls) : NULL;
    schema *s = arena_new(&u->arena, schema);
    *s = *f->schema;
    s->args = arena_alloc(&u->arena, (size_t)s->nargs * sizeof *s->args);
    if (!made || !s->args || arena_failed(&u->arena)) return NULL;
    memcpy(s->args, f->schema->args, (size_t)s->nargs * sizeof *s->args);
    for (int i = 0; i < s->nargs; i++) value_ref(s->args[i].default_value);
    s->args[0].type = cls;
    made->schema = s;
    made->return_declared = true;
    made->range = f->range;
    made->graph = r->g;
    made->state = FUNCTION_READY;
    r->g = NULL;
    avec_push(&u->arena, &cls->cls->methods, made);
    return made;
}

static ctsc_status refreeze_module(refreeze *r, const function *f) {
    object *root = r->m->root.u.object;
    if (!refreeze_note(r, r->g->root->params.data[0], root) || !refreeze_block(r, r->g->root))
        return diag_no_memory(r->d);
    if (ptrmap_get(&r->whole, root))
        return diag_fail(
            r->d, CTSC_UNSUPPORTED,
            "the module cannot be frozen: '%s' passes itself on to a call that cannot be inlined",
            f->name);
    object *o = refreeze_object(r, root, 0);
    if (!o) return diag_no_memory(r->d);
    refreeze_types(r);
    if (!refreeze_method(r, f, o->cls) || arena_failed(&r->m->unit->arena))
        return diag_no_memory(r->d);
    value_set(&r->m->root, value_ref((value){.tag = V_OBJECT, .u.object = o}));
    r->m->entry = NULL;
    return CTSC_OK;
}

static void refreeze_free(refreeze *r) {
    for (size_t i = 0; i < r->made.cap; i++)
        if (r->made.slots[i].key)
            value_unref((value){.tag = V_OBJECT, .u.object = r->made.slots[i].value});
    ptrmap_free(&r->made);
    ptrmap_free(&r->objects);
    ptrmap_free(&r->whole);
    vec_free(&r->old);
    graph_free(r->g);
}

static ctsc_status freeze_check(diag *d, const module *m, const function *f) {
    const object *o = m->root.u.object;
    if (!f) return diag_fail(d, CTSC_USAGE, "the module has no method 'forward' to freeze");
    int training = class_find_attribute(o->cls, "training");
    if (training >= 0 && o->slots[training].tag == V_BOOL && o->slots[training].u.b && !m->entry)
        return diag_fail(d, CTSC_USAGE,
                         "Freezing is currently only implemented for modules in eval mode. Please "
                         "call .eval() on "
                         "your module before freezing.");
    if (o->cls->cls->forward_hooks.len || o->cls->cls->forward_pre_hooks.len)
        return diag_fail(d, CTSC_UNSUPPORTED, "a module with forward hooks cannot be frozen");
    return CTSC_OK;
}

ctsc_status module_freeze(diag *d, module *m, bool fold) {
    function *f = module_method(m, "forward");
    refreeze r = {.d = d, .m = m};
    ctsc_status s = freeze_check(d, m, f);
    if (s == CTSC_OK) s = function_ensure_compiled(f, d);
    if (s != CTSC_OK) return s;
    pthread_mutex_lock(&m->unit->lock);
    pass_ctx cx = {.diag = d, .self = m->root.u.object, .batched = true};
    if (!(r.g = graph_clone(f->graph))) s = diag_no_memory(d);
    if (s == CTSC_OK) s = pipeline_freeze(&cx, r.g, fold);
    if (s == CTSC_OK) s = refreeze_module(&r, f);
    pthread_mutex_unlock(&m->unit->lock);
    refreeze_free(&r);
    return s;
}
