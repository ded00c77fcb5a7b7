/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_layer.c - layers that a function makes where it uses them: nn.ReLU()(x), or has as a
 * global variable.
 *
 * PyTorch refuses both, since a module is not a value. A layer without parameters, buffers and
 * parts is no more than its attributes, though, so where a function cannot be compiled as PyTorch
 * would compile it (emitter.lenient), the evaluator makes the layer, and a call of it is one of a
 * function: the layer's method, with `self` as a variable around it. As in Python it was never told
 * eval(): its `training` is True.
 * Tests: tests/lang/accepted_layers.py, tests/lang/errors_construct_layer.py
 */
#include "frontend/program/source.h"

enum { LAYER_MOST = 1000 };

/* Has the dict any value but None? */
static bool layer_holds(const py_object *o, const char *name) {
    const py_dict *d = source_module_dict(o, name);
    for (size_t i = 0; d && i < d->entries.len; i++)
        if (d->entries.data[i].key && !py_is_none(d->entries.data[i].val)) return true;
    return false;
}

static bool layer_is_plain(const py_object *o) {
    static const char *const dicts[] = {"_parameters", "_buffers", "_modules", "_forward_hooks",
                                        "_forward_pre_hooks"};
    if (!source_is_module(o) || !source_module_dict(o, "_parameters")) return false;
    for (size_t i = 0; i < sizeof dicts / sizeof *dicts; i++)
        if (layer_holds(o, dicts[i])) return false;
    return true;
}

bool source_is_layer(const program *g, const py_object *o) {
    for (size_t i = 0; i < g->layers.len; i++)
        if (g->layers.data[i].instance == o) return true;
    return false;
}

static bool layer_add(program *g, source_range r, made_layer one) {
    if (g->layers.len >= LAYER_MOST)
        return source_fail(g, r, "too many kinds of layers are made in functions");
    return avec_push(&g->unit->arena, &g->layers, one) || (diag_no_memory(g->py.diag), false);
}

/* ---- making one ------------------------------------------------------------------------------ */

/* The values of the arguments; false, without an error: they are not all known while compiling. */
static bool layer_arguments(emitter *e, const expr *call, py_object *args, py_object *named) {
    py *p = &e->scope->prog->py;
    for (size_t i = 0; i < call->items.len; i++) {
        const expr *x = call->items.data[i];
        py_object *o = x->kind == E_STARRED ? NULL : source_static_value(e, x);
        if (!o || !py_append(p, args, o)) return false;
    }
    for (size_t i = 0; i < call->kwargs.len; i++) {
        const keyword *k = &call->kwargs.data[i];
        py_object *o = k->name ? source_static_value(e, k->value) : NULL,
                  *pair[] = {o ? py_text(p, k->name) : NULL, o};
        if (!pair[0] || !py_append(p, named, py_tuple(p, 2, pair))) return false;
    }
    return true;
}

static py_object *layer_new(program *g, source_range r, const py_object *cls, const expr *call,
                            py_object *args, const py_object *named) {
    int n = (int)call->kwargs.len;
    const char **names = arena_array(&g->unit->arena, const char *, n + 1);
    py_object **values = arena_array(&g->unit->arena, py_object *, n + 1);
    if (!names || !values) return diag_no_memory(g->py.diag), NULL;
    for (int i = 0; i < n; i++) {
        names[i] = call->kwargs.data[i].name;
        values[i] = named->u.seq.items.data[i]->u.seq.items.data[1];
    }
    return py_call(&g->py, r, (py_object *)cls, (int)args->u.seq.items.len, args->u.seq.items.data,
                   n, names, values);
}

/* One instance for a class and these arguments: every attempt at the function finds the same. */
sugar *source_layer(emitter *e, const expr *call, const py_object *cls) {
    program *g = e->scope->prog;
    py_object *args = py_list(&g->py, 0, NULL), *named = py_list(&g->py, 0, NULL), *o = NULL;
    if (!e->lenient || !args || !named || !layer_arguments(e, call, args, named)) return NULL;
    for (size_t i = 0; i < g->layers.len && !o; i++) {
        const made_layer *l = &g->layers.data[i];
        if (l->cls == cls && py_equal(&g->py, l->args, args) && py_equal(&g->py, l->named, named))
            o = l->instance;
    }
    if (!o) {
        o = layer_new(g, call->range, cls, call, args, named);
        if (!o || !layer_is_plain(o)) return NULL;
        if (!layer_add(g, call->range, (made_layer){cls, args, named, o})) return NULL;
    }
    sugar *s = sugar_new(e, SUGAR_PY);
    s->py = o;
    return s;
}

/* ---- calling it ------------------------------------------------------------------------------ */

/* The method without its first parameter, whose name is a variable around the function. */
static py_object *layer_bind(program *g, py_object *instance, const py_object *method) {
    arena *a = &g->unit->arena;
    const py_function *from = method->u.fn;
    const func_def *was = from->def;
    size_t n = was->params.len;
    if (!n || was->params.data[0].star || was->params.data[0].star_star) return NULL;
    py_object *fn = py_new(&g->py, PY_FUNCTION);
    py_function *pf = fn->u.fn = arena_new(a, py_function);
    func_def *def = arena_new(a, func_def);
    py_env *env = arena_new(a, py_env);
    *def = *was;
    def->name = arena_printf(a, "%s_%s", instance->u.inst.cls->u.cls->name, was->name);
    def->params.data = was->params.data + 1;
    def->params.len = n - 1;
    *env = (py_env){
        .vars = py_dict_new(&g->py), .outer = from->closure, .module = from->closure->module};
    *pf = *from;
    pf->def = def;
    pf->closure = env;
    pf->defaults = from->defaults ? from->defaults + 1 : NULL;
    pf->cls = NULL;
    return py_dict_set(&g->py, env->vars, was->params.data[0].name, instance) ? fn : NULL;
}

const py_object *source_layer_callee(emitter *e, const py_object *o) {
    program *g = e->scope->prog;
    py_object *instance = o->kind == PY_METHOD ? o->u.method.self : (py_object *)o;
    if (instance->kind != PY_INSTANCE) return NULL;
    if (!source_is_layer(g, instance)) {
        if (!e->lenient || o->kind == PY_METHOD || !layer_is_plain(instance)) return NULL;
        if (!layer_add(g, (source_range){0}, (made_layer){.instance = instance})) return NULL;
    }
    const py_object *fn = o->kind == PY_METHOD ? o->u.method.fn
                                               : py_class_find(instance->u.inst.cls, "forward");
    if (!fn || fn->kind != PY_FUNCTION || !fn->u.fn->def || source_dropped(fn)) return NULL;
    for (size_t i = 0; i < g->layer_methods.len; i++) {
        const layer_method *m = &g->layer_methods.data[i];
        if (m->instance == instance && m->of == fn) return m->bound;
    }
    layer_method m = {instance, fn, layer_bind(g, instance, fn)};
    if (m.bound && !avec_push(&g->unit->arena, &g->layer_methods, m))
        return diag_no_memory(g->py.diag), NULL;
    return m.bound;
}
