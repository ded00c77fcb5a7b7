/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_call.c - calls of what is not a value: functions that are not compiled, boolean_dispatch,
 * super(), and the methods of modules that are unrolled while compiling (children(), items(), ...).
 *
 * Tests: tests/lang
 */
#include "frontend/program/source.h"

#define CALL_IGNORED "This Python function is annotated to be ignored and cannot be run"

static sugar *call_values(emitter *e, source_range r, const sugar *callee, int nargs,
                          const actual *args, type *hint);
static sugar *call_function(emitter *e, source_range r, const py_object *fn, int nargs,
                            const actual *args, type *hint);

/* ---- children(), modules(), items(), ... ----------------------------------------------------- */

typedef struct call_walk {
    emitter *e;
    source_range r;
    const char *what;
    VEC(sugar *) items;
    bool named;
} call_walk;

static bool call_add(call_walk *w, const char *name, sugar *item) {
    emitter *e = w->e;
    if (!item) return false;
    if (w->named) {
        sugar *pair = irgen_new_sequence(e, 2);
        if (!pair) return false;
        pair->items[0] = source_string(e, name);
        pair->items[1] = item;
        pair->nitems = pair->items[0] ? 2 : 0;
        if (!pair->nitems) return false;
        item = pair;
    }
    return avec_push(e->scratch, &w->items, item) || (diag_no_memory(e->diag), false);
}

static const char *call_join(emitter *e, const char *prefix, const char *name) {
    return *prefix ? arena_printf(e->scratch, "%s.%s", prefix, name) : name;
}

static bool call_is_module(const type *t) { return t->kind == T_CLASS && t->cls->is_module; }

/* modules and named_modules: itself, then everything below; parameters and buffers
 * of all of these. */
static bool call_walk_all(call_walk *w, ir_value *v, const char *prefix, int depth) {
    emitter *e = w->e;
    if (depth > SOURCE_MAX_DEPTH) return irgen_fail(e, w->r, "modules nest too deeply"), false;
    bool modules = strstr(w->what, "modules") != NULL,
         parameters = strstr(w->what, "parameters") != NULL;
    if (modules && !call_add(w, prefix, sugar_of_value(e, v))) return false;
    const class_info *c = v->type->cls;
    for (size_t i = 0; i < c->attributes.len; i++) {
        const attribute *a = &c->attributes.data[i];
        const char *name = call_join(e, prefix, a->name);
        bool data = !modules && (parameters ? a->is_parameter : a->is_buffer) &&
                    a->type->kind != T_NONE;
        if (data && !call_add(w, name, source_element(e, w->r, v, a->name))) return false;
        if (!call_is_module(a->type)) continue;
        sugar *child = source_element(e, w->r, v, a->name);
        if (!child || !call_walk_all(w, child->value, name, depth + 1)) return false;
    }
    return true;
}

static sugar *call_unroll(emitter *e, source_range r, ir_value *v, const char *name) {
    call_walk w = {.e = e, .r = r, .what = name};
    w.named = !strncmp(name, "named_", 6) || !strcmp(name, "items");
    const module_type *m = v->type->cls->source;
    bool keys = !strcmp(name, "keys"),
         of_dict = keys || !strcmp(name, "items") || !strcmp(name, "values"), ok = true;
    if (of_dict) {
        for (size_t i = 0; i < m->keys.len && ok; i++) {
            const char *k = m->keys.data[i];
            ok = call_add(&w, k, keys ? source_string(e, k) : source_element(e, r, v, k));
        }
    } else if (strstr(name, "children")) {
        const class_info *c = v->type->cls;
        for (size_t i = 0; i < c->attributes.len && ok; i++)
            if (call_is_module(c->attributes.data[i].type) ||
                c->attributes.data[i].type->kind == T_INTERFACE)
                ok = call_add(&w, c->attributes.data[i].name,
                              source_element(e, r, v, c->attributes.data[i].name));
    } else {
        ok = call_walk_all(&w, v, "", 0);
    }
    if (!ok) return NULL;
    sugar *s = sugar_new(e, SUGAR_TUPLE);
    s->items = w.items.data;
    s->nitems = (int)w.items.len;
    return s;
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* A function marked with torch.jit.unused or ignore: the call raises, its result has the
 * declared type. (PyTorch keeps calls of ignored functions as calls back into Python, which no
 * archive can hold.) */
static sugar *call_dropped(emitter *e, source_range r, const sugar *callee, int nargs,
                           const actual *args) {
    program *g = e->scope->prog;
    py_object *fn = callee->py;
    type *result = TYPE_TENSOR;
    bool varargs = false, declared = false;
    for (size_t i = 0; i < fn->u.fn->def->params.len; i++)
        varargs |= fn->u.fn->def->params.data[i].star || fn->u.fn->def->params.data[i].star_star;
    if (!varargs) {
        schema *sc = NULL;
        if (!source_signature(g, fn, fn->u.fn->closure, callee->value ? callee->value->type : NULL,
                              &sc, &declared))
            return NULL;
        if (declared) result = sc->returns[0].type;
        const schema *one = sc;
        int which = 0;
        bool ok = match_schemas(e, r, &one, 1, nargs, args, &which) != NULL;
        schema_free_values(sc);
        if (!ok) return NULL;
    }
    e->g->range = r;
    ir_value *in[] = {graph_constant_str(e->g, CALL_IGNORED, strlen(CALL_IGNORED)),
                      graph_constant_none(e->g)};
    graph_insert(e->g, node_new(e->g, N_RAISE, 2, in, 0));
    node *n = graph_insert(e->g, node_new(e->g, N_UNINITIALIZED, 0, NULL, 1));
    n->outputs.data[0]->type = result;
    return sugar_of_value(e, n->outputs.data[0]);
}

static py_object *call_member(const py_object *o, const char *name) {
    return o->kind == PY_INSTANCE ? py_dict_get(o->u.inst.attrs, name) : NULL;
}

static bool call_is_dispatch(const py_object *o) {
    return o->kind == PY_INSTANCE && !strcmp(o->u.inst.cls->u.cls->name, "BooleanDispatch") &&
           call_member(o, "if_true") && call_member(o, "if_false") && call_member(o, "arg_name");
}

/* max_pool2d and the like: which of two functions is called depends on a constant bool
 * among the arguments. */
static sugar *call_dispatch(emitter *e, source_range r, const py_object *o, int nargs,
                            const actual *args, type *hint) {
    const py_object *name = call_member(o, "arg_name"), *index = call_member(o, "arg_index"),
                    *def = call_member(o, "default");
    const char *wanted = py_as_text(name);
    int64_t at = index && index->kind == PY_VALUE && index->u.v.tag == V_INT ? index->u.v.u.i : -1;
    bool flag = def && def->kind == PY_VALUE && def->u.v.tag == V_BOOL && def->u.v.u.b;
    for (int i = 0; i < nargs; i++) {
        bool here = args[i].name ? wanted && !strcmp(args[i].name, wanted) : i == at;
        value v;
        if (!here) continue;
        if (!ir_value_constant(args[i].value, &v) || v.tag != V_BOOL) {
            if (args[i].name)
                irgen_fail(
                    e, r, "Keyword argument '%s' for boolean dispatch at position was not constant",
                    wanted);
            else
                irgen_fail(e, r, "Argument for boolean dispatch at position %d was not constant",
                           (int)at);
            return NULL;
        }
        flag = v.u.b;
    }
    return call_function(e, r, call_member(o, flag ? "if_true" : "if_false"), nargs, args, hint);
}

/* super() and super(C, self) in a method of a module: what comes after C in self's classes. */
static sugar *call_super_of(emitter *e, py_object *cls, const sugar *self) {
    if (!self || self->kind != SUGAR_VALUE) return NULL;
    py_object *o = py_new(&e->scope->prog->py, PY_SUPER);
    o->u.super.cls = cls;
    sugar *s = sugar_new(e, SUGAR_PY);
    s->py = o;
    s->value = self->value;
    return s;
}

static sugar *call_super(emitter *e, source_range r, int nargs) {
    const py_object *fn = e->scope->fn;
    if (nargs || !e->scope->module || !fn->u.fn->cls || !fn->u.fn->def->params.len) {
        irgen_fail(
            e, r,
            nargs ? "super() takes no arguments, or a class and the object, in a script function"
                  : "super() can only be used in methods of modules");
        return NULL;
    }
    return call_super_of(e, fn->u.fn->cls,
                         irgen_get_variable(e, r, fn->u.fn->def->params.data[0].name));
}

static sugar *call_super_explicit(emitter *e, const expr *call) {
    const module_type *m = e->scope->module;
    const expr *first = call->items.data[0], *second = call->items.data[1];
    if (!m) return call_super(e, call->range, 0);
    const sugar *cls = irgen_sugar(e, first, NULL),
                *self = cls ? irgen_sugar(e, second, NULL) : NULL;
    if (!self) return NULL;
    if (cls->kind != SUGAR_PY || !cls->py || cls->py->kind != PY_CLASS) {
        irgen_fail(e, first->range, "super() argument 1 must be a class");
        return NULL;
    }
    const py_class *c = m->py_class->u.cls;
    bool found = false;
    for (size_t i = 0; i < c->mro.len; i++) found |= c->mro.data[i] == cls->py;
    if (found && self->kind == SUGAR_VALUE && self->value->type == m->cls)
        return call_super_of(e, cls->py, self);
    irgen_fail(e, second->range, "super(type, obj): obj must be an instance or subtype of type");
    return NULL;
}

static bool call_is_super(const py_object *o) {
    return o && o->kind == PY_CLASS && !strcmp(o->u.cls->name, "super");
}

static sugar *call_function(emitter *e, source_range r, const py_object *fn, int nargs,
                            const actual *args, type *hint) {
    sugar *s = source_sugar(e, r, (py_object *)fn);
    if (s && s->kind == SUGAR_PY) return call_values(e, r, s, nargs, args, hint);
    return s ? irgen_call_sugar(e, r, s, nargs, args, hint) : NULL;
}

static sugar *call_values(emitter *e, source_range r, const sugar *callee, int nargs,
                          const actual *args, type *hint) {
    py_object *o = callee->py;
    if (!o) return call_unroll(e, r, callee->value, callee->name);
    if (o->kind == PY_FUNCTION && source_dropped(o)) {
        actual *all = arena_array(e->scratch, actual, nargs + 1);
        if (!all) return diag_no_memory(e->diag), NULL;
        int n = 0;
        if (callee->value) all[n++] = (actual){.value = callee->value, .range = r};
        for (int i = 0; i < nargs; i++) all[n++] = args[i];
        return call_dropped(e, r, callee, n, all);
    }
    if (call_is_dispatch(o)) return call_dispatch(e, r, o, nargs, args, hint);
    const py_object *layer = o->kind == PY_INSTANCE || o->kind == PY_METHOD
                                 ? source_layer_callee(e, o)
                                 : NULL;
    if (layer) return call_function(e, r, layer, nargs, args, hint);
    if (call_is_super(o)) return call_super(e, r, nargs);
    if (o->kind == PY_CLASS)
        irgen_fail(e, r, "Cannot instantiate class '%s' in a script function", o->u.cls->name);
    else if (py_is_missing(o)) py_fail_missing(&e->scope->prog->py, r, o);
    else if (o->kind == PY_MODULE) irgen_fail(e, r, "module '%s' cannot be called", o->u.mod.name);
    else if (o->kind == PY_INSTANCE && o->u.inst.cls->u.cls->kind == PYC_MODULE)
        source_fail_global(e, r, o);
    else irgen_fail(e, r, "'%s' object is not callable in a script function", py_type_name(o));
    return NULL;
}

sugar *source_call(emitter *e, const expr *call, const sugar *callee, type *hint) {
    actual *args = NULL;
    int n = 0;
    if (call_is_super(callee->py) && call->items.len == 2 && !call->kwargs.len)
        return call_super_explicit(e, call);
    if (callee->py && source_is_expanded(callee->py))
        return source_expand_call(e, call, callee->py);
    if (callee->py && callee->py->kind == PY_CLASS && callee->py->u.cls->kind == PYC_MODULE) {
        sugar *layer = source_layer(e, call, callee->py);
        if (layer || irgen_failed(e)) return layer;
    }
    if (!irgen_arguments(e, call, 0, &args, &n)) return NULL;
    if (source_is_context(callee)) return sugar_of_value(e, graph_constant_none(e->g));
    return call_values(e, call->range, callee, n, args, hint);
}
