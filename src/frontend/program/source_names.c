/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_names.c - what names and attributes of a source program are to the emitter.
 *
 * A free name is looked up among the evaluator's objects, in the scopes around the function's
 * definition. Immutable objects become constants, functions and classes are declared,
 * operators and builtins are handled by the emitter; the rest stays a Python object
 * (SUGAR_PY) whose attributes can be taken, or which can be called in a way known here.
 * Tests: tests/lang
 */
#include "frontend/program/source.h"

enum { NAMES_MAX_DEPTH = 400 };

static sugar *names_python(emitter *e, py_object *o) {
    sugar *s = sugar_new(e, SUGAR_PY);
    s->py = o;
    return s;
}

static bool names_listed(const char *const *list, size_t n, const char *name) {
    for (size_t i = 0; i < n; i++)
        if (!strcmp(list[i], name)) return true;
    return false;
}

/* ---- objects --------------------------------------------------------------------------------- */

static sugar *names_tuple(emitter *e, source_range r, py_object *o) {
    int n = (int)o->u.seq.items.len;
    sugar **items = arena_array(e->scratch, sugar *, n + 1);
    ir_value **vals = arena_array(e->scratch, ir_value *, n + 1);
    if (!items || !vals) return diag_no_memory(e->diag), NULL;
    bool values = true;
    if (++e->depth > NAMES_MAX_DEPTH) return irgen_fail(e, r, "the value nests too deeply"), NULL;
    for (int i = 0; i < n; i++) {
        if (!(items[i] = source_sugar(e, r, o->u.seq.items.data[i]))) return NULL;
        values &= items[i]->kind == SUGAR_VALUE;
        vals[i] = items[i]->value;
    }
    e->depth--;
    if (values) {
        program *g = e->scope->prog;
        bool named = o->kind == PY_TUPLE && o->u.seq.seq_cls && !py_is_size(o);
        type *t = named ? source_class(g, r, o->u.seq.seq_cls) : NULL;
        if (named && !t) return NULL;
        /* fields that say no types are tensors: of one that holds something else, what it holds is
         * known while compiling */
        for (int i = 0; named && i < n; i++)
            if (!type_is_subtype(vals[i]->type, t->elems[i])) return names_python(e, o);
        return sugar_of_value(e, irgen_tuple(e, r, t, n, vals));
    }
    sugar *s = sugar_new(e, SUGAR_TUPLE);
    s->items = items;
    s->nitems = n;
    return s;
}

static sugar *names_value(emitter *e, source_range r, py_object *o) {
    value v = o->u.v;
    switch (v.tag) {
    case V_NONE:
    case V_BOOL:
    case V_INT:
    case V_FLOAT:
    case V_STR:
    case V_COMPLEX:
    case V_DEVICE:
        e->g->range = r;
        return sugar_of_value(e, irgen_constant_take(e, value_ref(v), NULL));
    default: return names_python(e, o);
    }
}

static const char *names_class_path(emitter *e, const py_class *c) {
    if (!c->module || !strcmp(c->module->u.mod.name, "builtins")) return c->name;
    return arena_printf(e->scratch, "%s.%s", c->module->u.mod.name, c->name);
}

/* torch.finfo and iinfo, which compiled functions have as script classes. */
static py_object *names_type_info(emitter *e, source_range r, py_object *o) {
    const char *path = names_class_path(e, o->u.cls);
    if (strcmp(path, "torch.finfo") && strcmp(path, "torch.iinfo")) return o;
    program *g = e->scope->prog;
    py_object *home = py_import(&g->py, r, "torch._type_info");
    return home ? py_getattr(&g->py, r, home, o->u.cls->name) : NULL;
}

static sugar *names_class(emitter *e, source_range r, py_object *o) {
    o = names_type_info(e, r, o);
    if (!o) return NULL;
    const py_class *c = o->u.cls;
    if (c->kind == PYC_BUILTIN || !c->def) {
        sugar *s = irgen_builtin_name(e, names_class_path(e, c));
        if (s || irgen_failed(e)) return s;
        if (c->kind != PYC_NAMED_TUPLE) return names_python(e, o);
    }
    if (c->kind == PYC_EXCEPTION || c->kind == PYC_MODULE) return names_python(e, o);
    if (c->kind == PYC_PLAIN &&
        !strncmp(names_class_path(e, c), "torch.", 6)) { /* of the layer library: no_grad, ... */
        sugar *s = irgen_builtin_name(e, names_class_path(e, c));
        if (s || irgen_failed(e)) return s;
    }
    program *g = e->scope->prog;
    sugar *s = sugar_new(e, SUGAR_CLASS);
    s->type = source_class(g, r, o);
    s->py = o;
    return s->type ? s : NULL;
}

bool source_dropped(const py_object *fn) {
    return fn->u.fn->mode == PY_IGNORE || fn->u.fn->mode == PY_UNUSED;
}

/* @torch.jit._overload: every signature with the body of the definition. */
static sugar *names_overloads(emitter *e, source_range r, py_object *o) {
    program *g = e->scope->prog;
    arena *a = &e->unit->arena;
    size_t n = o->u.fn->overloads.len;
    sugar *s = sugar_new(e, SUGAR_FUNCTION);
    s->items = arena_array(e->scratch, sugar *, n);
    if (!s->items) return diag_no_memory(e->diag), NULL;
    for (size_t i = 0; i < n; i++) {
        py_object *over = o->u.fn->overloads.data[i];
        if (over->kind != PY_FUNCTION || !over->u.fn->def) continue;
        /* once: it takes on the body */
        if (over->u.fn->def->body.data != o->u.fn->def->body.data) {
            func_def *def = arena_new(a, func_def);
            *def = *over->u.fn->def;
            def->body = o->u.fn->def->body;
            def->name = o->u.fn->def->name;
            over->u.fn->def = def;
            over->u.fn->closure = o->u.fn->closure;
        }
        function *f = source_function(g, r, over);
        if (!f) return NULL;
        sugar *one = sugar_new(e, SUGAR_FUNCTION);
        one->fn = f;
        s->fn = s->fn ? s->fn : f;
        s->items[s->nitems++] = one;
    }
    return s->fn ? s : names_python(e, o);
}

static sugar *names_library_function(emitter *e, const py_object *o) {
    return irgen_builtin_of_library(
        e, arena_printf(e->scratch, "%s.%s", o->u.fn->module->u.mod.name, o->u.fn->def->name));
}

static sugar *names_no_builtin(emitter *e, source_range r, const char *name) {
    const char *dot = strrchr(name, '.');
    return irgen_fail(
               e, r,
               "Python builtin <built-in function %s> is currently not supported in Torchscript",
               dot ? dot + 1 : name),
           NULL;
}

static sugar *names_function(emitter *e, source_range r, py_object *o) {
    if (source_dropped(o) || !o->u.fn->def || source_is_expanded(o)) return names_python(e, o);
    if (o->u.fn->module && !strcmp(o->u.fn->module->u.mod.name, "numpy"))
        return names_no_builtin(e, r, o->u.fn->def->name);
    if (o->u.fn->overloads.len) return names_overloads(e, r, o);
    sugar *s = o->u.fn->cls || !o->u.fn->module ? NULL : names_library_function(e, o);
    if (s) return s;
    s = sugar_new(e, SUGAR_FUNCTION);
    s->fn = source_function(e->scope->prog, r, o);
    return s->fn ? s : NULL;
}

static sugar *names_builtin(emitter *e, source_range r, py_object *o) {
    const char *name = o->u.builtin.name;
    if (!strncmp(name, "builtins.", 9)) name += 9;
    sugar *s = irgen_builtin_name(e, name);
    return s || irgen_failed(e) ? s : names_no_builtin(e, r, name);
}

/* A builtin bound to something. Modules that the evaluator lacks have functions bound to their
 * names ("os.getcwd"). */
static sugar *names_builtin_method(emitter *e, source_range r, py_object *o) {
    const py_object *self = o->u.method.self;
    const char *name = strcmp(o->u.method.fn->u.builtin.name, "unavailable") ? NULL
                                                                             : py_as_text(self);
    return name ? names_no_builtin(e, r, name) : names_builtin(e, r, o->u.method.fn);
}

static sugar *names_instance(emitter *e, source_range r, py_object *o) {
    py_object *cls = o->u.inst.cls;
    if (cls->u.cls->kind != PYC_ENUM) return names_python(e, o);
    program *g = e->scope->prog;
    type *t = source_class(g, r, cls);
    value v = value_none();
    if (!t || !source_value(g, r, o, t, &v)) return NULL;
    /* each mention is an object of its own */
    enum_value *mention = enum_new(t, v.u.enumv->name, value_ref(v.u.enumv->val));
    value_unref(v);
    if (!mention) return diag_no_memory(e->diag), NULL;
    e->g->range = r;
    return sugar_of_value(e, irgen_constant_take(e, value_enum_take(mention), t));
}

sugar *source_sugar(emitter *e, source_range r, py_object *o) {
    bool derived = o->kind == PY_INSTANCE && o->u.inst.cls->u.cls->kind != PYC_ENUM;
    if (derived) o = (py_object *)py_plain(o);
    switch (o->kind) {
    case PY_VALUE: return names_value(e, r, o);
    case PY_SYMBOL:
        e->g->range = r;
        return sugar_of_value(e, irgen_constant_take(e, value_ref(o->u.v), TYPE_INT));
    case PY_TUPLE: return names_tuple(e, r, o);
    case PY_FUNCTION: return names_function(e, r, o);
    case PY_STATICMETHOD: return source_sugar(e, r, o->u.fn_object);
    case PY_BUILTIN: return names_builtin(e, r, o);
    case PY_OPERATOR: {
        sugar *s = sugar_new(e, SUGAR_BUILTIN);
        s->name = o->u.op_name;
        return s;
    }
    case PY_CLASS: return names_class(e, r, o);
    case PY_METHOD:
        if (o->u.method.fn->kind == PY_BUILTIN) return names_builtin_method(e, r, o);
        return names_python(e, o);
    case PY_INSTANCE: return names_instance(e, r, o);
    default: return names_python(e, o);
    }
}

sugar *source_name(emitter *e, source_range r, const char *name) {
    program *g = e->scope->prog;
    py_object *o = py_lookup(&g->py, e->scope->env, name);
    if (o) return source_sugar(e, r, o);
    if (irgen_failed(e)) return NULL;
    /* Python's builtins that the evaluator does without */
    sugar *s = irgen_builtin_name(e, arena_printf(e->scratch, "builtins.%s", name));
    static const char *const others[] = {"open",    "input",      "eval",       "exec",
                                         "compile", "breakpoint", "memoryview", "help",
                                         "anext",   "aiter",      "__import__"};
    return s || irgen_failed(e) || !names_listed(others, sizeof others / sizeof *others, name)
               ? s
               : names_no_builtin(e, r, name);
}

/* ---- attributes ------------------------------------------------------------------------------ */

/* Names close to the one that a module lacks. */
static void names_suggest(emitter *e, const py_object *o, const char *name) {
    suggestion s = {.wanted = name};
    py_suggest_members(&s, o);
    suggest_note(e->diag, &s);
}

/* super().name */
static sugar *names_super_attribute(emitter *e, source_range r, const sugar *obj,
                                    const char *name) {
    function *f = source_module_super(e->scope->prog, e->scope->module, obj->py->u.super.cls, name);
    if (!f && !irgen_failed(e)) irgen_fail(e, r, "'super' object has no attribute '%s'", name);
    if (!f) return NULL;
    sugar *s = sugar_new(e, SUGAR_METHOD);
    s->value = obj->value;
    s->name = f->name;
    return s;
}

void *source_fail_global(emitter *e, source_range r, const py_object *o) {
    return irgen_fail(
        e, r,
        "python value of type '%s' cannot be used as a value. Perhaps it is a closed over global "
        "variable? If so, please consider passing it in as an argument or use a local varible "
        "instead.",
        py_type_name(o));
}

/* apply of a torch.autograd.Function: the evaluator calls its forward; PyTorch's
 * compiler refuses it. */
static bool names_is_autograd(const py_object *o, const char *name) {
    if (o->kind != PY_CLASS || strcmp(name, "apply")) return false;
    for (size_t i = 0; i < o->u.cls->mro.len; i++) {
        const py_class *c = o->u.cls->mro.data[i]->u.cls;
        if (c->module && !strcmp(c->module->u.mod.name, "torch.autograd.function")) return true;
    }
    return false;
}

/* What forward of a torch.autograd.Function has as `ctx`: it keeps
 * data for the backward pass, and nothing of it is compiled. */
static const char names_context[] = "the context of a torch.autograd.Function";

bool source_is_context(const sugar *s) {
    return s->kind == SUGAR_PY && !s->py && s->name == names_context;
}

sugar *source_context(emitter *e) {
    sugar *s = sugar_new(e, SUGAR_PY);
    s->name = names_context;
    return s;
}

static sugar *names_context_method(emitter *e, source_range r, const char *name) {
    static const char *const methods[] = {"save_for_backward", "save_for_forward", "mark_dirty",
                                          "mark_non_differentiable", "set_materialize_grads"};
    if (names_listed(methods, sizeof methods / sizeof *methods, name)) return source_context(e);
    return irgen_fail(e, r, "'%s' is kept for the backward pass, and cannot be used in forward",
                      name),
           NULL;
}

/* Beyond PyTorch: apply is forward, as in a trace. */
static sugar *names_autograd(emitter *e, const py_object *cls) {
    py_object *fn = py_class_find(cls, "forward");
    const py_object *setup = py_class_find(cls, "setup_context");
    if (fn && fn->kind == PY_STATICMETHOD) fn = fn->u.fn_object;
    if (setup && setup->kind == PY_STATICMETHOD) setup = setup->u.fn_object;
    bool split = setup && setup->kind == PY_FUNCTION && setup->u.fn->def &&
                 !setup->u.fn->def->src->library;
    if (!fn || fn->kind != PY_FUNCTION || split) return NULL;
    sugar *s = names_python(e, fn);
    s->name = names_context;
    return s;
}

bool source_is_applied(const sugar *s) {
    return s->kind == SUGAR_PY && s->py && s->name == names_context;
}

static sugar *names_fail_autograd(emitter *e, source_range r, const py_object *cls) {
    sugar *s = e->lenient ? names_autograd(e, cls) : NULL;
    if (s || irgen_failed(e)) return s;
    irgen_fail(e, r,
               "Python builtin <built-in method apply of class '%s'> is currently not supported in "
               "Torchscript",
               cls->u.cls->name);
    return NULL;
}

sugar *source_attribute(emitter *e, source_range r, const sugar *obj, const char *name) {
    program *g = e->scope->prog;
    py_object *o = obj->py;
    if (o && o->kind == PY_SUPER && obj->value) return names_super_attribute(e, r, obj, name);
    if (source_is_context(obj)) return names_context_method(e, r, name);
    if (!o)
        return irgen_fail(e, r, "attribute lookup is not defined on %s",
                          obj->name ? obj->name : "this"),
               NULL;
    if (source_is_module(o) && !source_is_layer(g, o)) return source_fail_global(e, r, o);
    if (names_is_autograd(o, name)) return names_fail_autograd(e, r, o);
    py_object *member = py_find(&g->py, r, o, name);
    if (member) return source_sugar(e, r, member);
    if (irgen_failed(e)) return NULL;
    r = suggest_word(r, name);
    if (o->kind == PY_MODULE)
        irgen_fail(e, r, "module '%s' has no attribute '%s'", o->u.mod.name, name);
    else irgen_fail(e, r, "object has no attribute %s", name);
    names_suggest(e, o, name);
    return NULL;
}

/* Methods of modules that are unrolled while compiling. */
static const char *const names_unrolled[] = {"children",      "named_children", "modules",
                                             "named_modules", "parameters",     "named_parameters",
                                             "buffers",       "named_buffers"};
static const char *const names_of_dicts[] = {"keys", "values", "items"};

static bool names_is_dict(const module_type *m) {
    return m->container == CONTAINER_DICT || m->container == CONTAINER_PARAMETER_DICT;
}

/* A class attribute that can be a constant. */
static bool names_immutable(const py_object *o) {
    if (o->kind == PY_SYMBOL) return true;
    if (o->kind != PY_VALUE)
        return o->kind == PY_TUPLE ||
               (o->kind == PY_INSTANCE && o->u.inst.cls->u.cls->kind == PYC_ENUM);
    return o->u.v.tag <= V_DEVICE || o->u.v.tag == V_STR || o->u.v.tag == V_COMPLEX;
}

static sugar *names_bound(emitter *e, ir_value *self, py_object *fn, const char *name) {
    sugar *s = sugar_new(e, SUGAR_PY);
    s->py = fn;
    s->value = self;
    s->name = name;
    return s;
}

static sugar *names_property(emitter *e, source_range r, ir_value *obj, const char *name) {
    const char *getter = intern(&e->unit->names, arena_printf(e->scratch, "__%s_getter", name));
    if (!source_method(e, obj->type, getter)) return NULL;
    return sugar_of_value(e, irgen_method(e, r, obj, getter, 0, NULL));
}

static sugar *names_method_overloads(emitter *e, const module_type *m, ir_value *obj,
                                     const char *name) {
    sugar *s = sugar_new(e, SUGAR_METHOD);
    size_t n = strlen(name);
    s->value = obj;
    s->name = name;
    s->items = arena_array(e->scratch, sugar *, m->overloads.len);
    if (!s->items) return diag_no_memory(e->diag), NULL;
    for (size_t i = 0; i < m->overloads.len; i++) {
        const char *full = m->overloads.data[i]->name;
        if (strncmp(full, name, n) || strncmp(full + n, "__", 2)) continue;
        sugar *one = sugar_new(e, SUGAR_METHOD);
        one->value = obj;
        one->name = full;
        one->fn = m->overloads.data[i];
        s->items[s->nitems++] = one;
    }
    return s->nitems ? s : NULL;
}

static const module_failed *names_failed(const module_type *m, const char *name) {
    for (size_t i = 0; i < m->failed.len; i++)
        if (!strcmp(m->failed.data[i].name, name)) return &m->failed.data[i];
    return NULL;
}

/* What the Python class of a module has under that name. */
static sugar *names_class_member(emitter *e, source_range r, const module_type *m, ir_value *obj,
                                 const char *name) {
    py_object *o = py_class_find(m->py_class, name);
    if (!o) return NULL;
    switch (o->kind) {
    case PY_PROPERTY: return names_property(e, r, obj, name);
    case PY_STATICMETHOD: return source_sugar(e, r, o->u.fn_object);
    case PY_FUNCTION:
        if (source_dropped(o)) return names_bound(e, obj, o, name);
        return o->u.fn->overloads.len ? names_method_overloads(e, m, obj, name) : NULL;
    case PY_BUILTIN:
    case PY_OPERATOR: return source_sugar(e, r, o);
    case PY_LIST:
    case PY_DICT: return e->lenient ? names_python(e, o) : NULL;
    default: return names_immutable(o) ? source_sugar(e, r, o) : NULL;
    }
}

static sugar *names_module_attribute(emitter *e, source_range r, module_type *m, ir_value *obj,
                                     const char *name) {
    if (names_listed(names_unrolled, sizeof names_unrolled / sizeof *names_unrolled, name) ||
        (names_is_dict(m) && names_listed(names_of_dicts, 3, name)))
        return names_bound(e, obj, NULL, name);
    for (size_t i = 0; i < m->functions.len; i++)
        if (!strcmp(m->functions.data[i].name, name))
            return source_sugar(e, r, m->functions.data[i].object);
    const module_failed *f = names_failed(m, name);
    py_object *plain = f ? source_static_object(e, m, name) : NULL;
    if (plain) return names_python(e, plain);
    if (f) {
        const py_object *value = py_dict_get(m->instance->u.inst.attrs, name);
        if (e->lenient && value && value->kind != PY_INSTANCE &&
            !source_want_classes(e->scope->prog, value))
            return NULL;
        irgen_fail(e, suggest_word(r, name), "Module '%s' has no attribute '%s' %s",
                   m->py_class->u.cls->name, name, f->why);
        source_hint_untyped(e, m, name);
        return NULL;
    }
    return names_class_member(e, r, m, obj, name);
}

static sugar *names_script_attribute(emitter *e, source_range r, class_source *cs, ir_value *obj,
                                     const char *name) {
    py_object *o = py_class_find(cs->cls, name);
    if (!o) return NULL;
    if (o->kind == PY_PROPERTY) return names_property(e, r, obj, name);
    if (o->kind == PY_STATICMETHOD) return source_sugar(e, r, o->u.fn_object);
    if (o->kind == PY_FUNCTION && source_dropped(o)) return names_bound(e, obj, o, name);
    if (o->kind == PY_FUNCTION || o->kind == PY_CLASSMETHOD) return NULL;
    irgen_fail(
        e, r,
        "'%s' object has no attribute or method '%s'. '%s' is defined as a class attribute which "
        "currently is not supported. Consider converting this to an instance attribute.",
        class_name(cs->type), name, name);
    return NULL;
}

sugar *source_object_attribute(emitter *e, source_range r, ir_value *obj, const char *name) {
    const type *t = obj->type;
    if (!e->scope || t->kind != T_CLASS) return NULL;
    program *g = e->scope->prog;
    if (t->cls->source) return names_module_attribute(e, r, t->cls->source, obj, name);
    class_source *cs = source_class_of(g, t);
    return cs ? names_script_attribute(e, r, cs, obj, name) : NULL;
}

int source_isinstance(emitter *e, const type *t, const expr *x) {
    program *g = e->scope->prog;
    const module_type *m = t->cls->source;
    const py_object *o = py_eval(&g->py, e->scope->env, x);
    int found = 0;
    if (!o) return -1;
    if (o->kind == PY_CLASS) return py_is_subclass(m->py_class, o);
    if (o->kind != PY_TUPLE) return 0;
    for (size_t i = 0; i < o->u.seq.items.len && !found; i++) {
        const py_object *c = o->u.seq.items.data[i];
        found = c->kind == PY_CLASS && py_is_subclass(m->py_class, c);
    }
    return found;
}

sugar *source_constant(emitter *e, source_range r, value v, type *t) {
    if (v.tag != V_TUPLE || t->kind != T_TUPLE || (size_t)t->nelems != v.u.tuple->len) {
        e->g->range = r;
        return sugar_of_value(e, irgen_constant_take(e, value_ref(v), t));
    }
    ir_value **items = arena_array(e->scratch, ir_value *, t->nelems + 1);
    if (!items) return diag_no_memory(e->diag), NULL;
    for (int i = 0; i < t->nelems; i++) {
        sugar *s = source_constant(e, r, v.u.tuple->items[i], t->elems[i]);
        if (!s) return NULL;
        items[i] = s->value;
    }
    return sugar_of_value(e, irgen_tuple(e, r, t, t->nelems, items));
}

sugar *source_class_attribute(emitter *e, source_range r, const type *t, const char *name) {
    class_source *cs = e->scope ? source_class_of(e->scope->prog, t) : NULL;
    if (cs && names_is_autograd(cs->cls, name)) return names_fail_autograd(e, r, cs->cls);
    py_object *o = cs ? py_class_find(cs->cls, name) : NULL;
    if (o && (o->kind == PY_STATICMETHOD || o->kind == PY_INSTANCE)) return source_sugar(e, r, o);
    return NULL;
}

function *source_method(emitter *e, type *cls, const char *name) {
    if (cls->kind != T_CLASS && cls->kind != T_INTERFACE) return NULL;
    function *f = class_find_method(cls, name);
    if (f || !e->scope) return f;
    program *g = e->scope->prog;
    if (cls->cls->source) return source_module_method(g, cls->cls->source, name);
    class_source *cs = source_class_of(g, cls);
    return cs ? source_class_method(g, cs, name) : NULL;
}

/* ---- containers ------------------------------------------------------------------------------ */

sugar *source_string(emitter *e, const char *text) {
    return sugar_of_value(e, graph_constant_str(e->g, text, strlen(text)));
}

sugar *source_element(emitter *e, source_range r, ir_value *v, const char *key) {
    return irgen_attribute(e, r, sugar_of_value(e, v), key);
}

static module_type *names_container(const ir_value *v) {
    const type *t = v->type;
    module_type *m = t->kind == T_CLASS ? t->cls->source : NULL;
    return m && m->container != CONTAINER_NONE ? m : NULL;
}

/* Calling it calls its elements in turn, so that a part of it can be called as well. */
static bool names_is_chain(const module_type *m) {
    const py_object *fn = m->container == CONTAINER_LIST ? py_class_find(m->py_class, "forward")
                                                         : NULL;
    return fn && fn->kind == PY_FUNCTION && fn->u.fn->module &&
           !strcmp(fn->u.fn->module->u.mod.name, "torch.nn.modules.container");
}

sugar *source_sequence(emitter *e, source_range r, ir_value *v) {
    module_type *m = names_container(v);
    sugar *s = m ? irgen_new_sequence(e, (int)m->keys.len) : NULL;
    if (s) s->chain = names_is_chain(m);
    for (size_t i = 0; s && i < m->keys.len; i++) {
        sugar *item = names_is_dict(m) ? source_string(e, m->keys.data[i])
                                       : source_element(e, r, v, m->keys.data[i]);
        if (!item) return NULL;
        s->items[s->nitems++] = item;
    }
    return s;
}

/* ---- the emitter's questions ----------------------------------------------------------------- */

bool source_match_field(emitter *e, source_range r, const expr *cls, int64_t i, const char **name) {
    program *g = e->scope->prog;
    py_object *o = py_eval(&g->py, e->scope->env, cls);
    return o && py_match_field(&g->py, r, o, i, name);
}

static bool source_container(const type *t, module_container *out) {
    const module_type *m = t->cls->source;
    if (!m || m->container == CONTAINER_NONE) return false;
    *out = (module_container){names_is_dict(m), m->keys.len, m->keys.data};
    return true;
}

/* @torch.autocast(...): an object like the decorator's, made in the function. */
static bool source_within(emitter *e, source_range r, ir_value **out) {
    const py_object *fn = e->scope->fn;
    py_object *context = fn && fn->kind == PY_FUNCTION ? fn->u.fn->autocast : NULL;
    if (!context) return true;
    py *p = &e->scope->prog->py;
    static const char *const names[] = {"device", "fast_dtype", "_enabled"};
    actual args[] = {{.range = r}, {.range = r}, {.range = r}};
    for (int i = 0; i < 3; i++) {
        py_object *o = py_getattr(p, r, context, names[i]);
        sugar *s = o ? source_sugar(e, r, o) : NULL;
        if (!s || !(args[i].value = irgen_as_value(e, r, s))) return false;
    }
    py_object *mod = py_import(p, r, "torch.amp.autocast_mode"),
              *cls = mod ? py_getattr(p, r, mod, "autocast") : NULL;
    sugar *made = cls ? source_sugar(e, r, cls) : NULL;
    if (made) made = irgen_call_sugar(e, r, made, 3, args, NULL);
    return made && (*out = irgen_as_value(e, r, made)) != NULL;
}

static diag **source_diag(const scope *s) { return &s->prog->py.diag; }

const scope_ops source_scope_ops = {
    .diag = source_diag,
    .name = source_name,
    .object = source_sugar,
    .attribute = source_attribute,
    .object_attribute = source_object_attribute,
    .class_attribute = source_class_attribute,
    .constant = source_constant,
    .sequence = source_sequence,
    .container = source_container,
    .call = source_call,
    .specialized = source_specialized,
    .within = source_within,
    .inlined = source_inlined,
    .default_of = source_default_of,
    .forgets = source_is_context,
    .method = source_method,
    .isinstance = source_isinstance,
    .match_field = source_match_field,
    .annotation = source_annotation,
    .static_truth = source_static_truth,
    .static_range = source_static_range,
    .static_int = source_static_int,
    .static_text = source_static_text,
    .static_sugar = source_static_sugar,
    .elements = source_elements,
    .predicate = source_predicate,
    .hint_assigned = source_hint_assigned,
    .has_member = source_has_member,
    .refused = source_refused,
};
