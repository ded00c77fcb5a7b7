/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_module.c - instances of nn.Module as class types and objects.
 *
 * Method. A plan is drawn up from the instance (source_plan.c). Two instances of one Python class
 * whose plans are equal share a class type, as in PyTorch; a different plan gets a class of its own
 * under a mangled name. Which methods start compilation: forward, what is marked with
 * torch.jit.export, overloads; the rest is declared when something calls it.
 * Ownership: types live in the unit's arena.
 * Tests: tests/lang
 */
#include "frontend/program/source.h"

#include <stdlib.h>

/* ---- equality -------------------------------------------------------------------------------- */

static bool module_same_attributes(const module_type *a, const module_type *b) {
    if (a->attributes.len != b->attributes.len) return false;
    for (size_t i = 0; i < a->attributes.len; i++) {
        const attribute *x = &a->attributes.data[i], *y = &b->attributes.data[i];
        if (x->name != y->name || x->type != y->type || x->is_parameter != y->is_parameter ||
            x->is_buffer != y->is_buffer)
            return false;
    }
    return true;
}

static bool module_same_children(const module_type *a, const module_type *b) {
    if (a->children.len != b->children.len) return false;
    for (size_t i = 0; i < a->children.len; i++) {
        size_t k = 0; /* their order does not count */
        while (k < b->children.len && b->children.data[k].name != a->children.data[i].name) k++;
        if (k == b->children.len || b->children.data[k].type != a->children.data[i].type)
            return false;
        if (a->container != CONTAINER_NONE && k != i) return false;
    }
    return true;
}

static bool module_same_constants(const module_type *a, const module_type *b) {
    if (a->constants.len != b->constants.len) return false;
    for (size_t i = 0; i < a->constants.len; i++) {
        const constant_attribute *x = &a->constants.data[i], *y = &b->constants.data[i];
        if (x->name != y->name || x->type != y->type || !value_equal(x->val, y->val)) return false;
    }
    return true;
}

static bool module_same_functions(const module_type *a, const module_type *b) {
    if (a->functions.len != b->functions.len || a->bound.len != b->bound.len ||
        a->hooks.len != b->hooks.len || a->pre_hooks.len != b->pre_hooks.len)
        return false;
    for (size_t i = 0; i < a->bound.len; i++)
        if (a->bound.data[i].name != b->bound.data[i].name ||
            a->bound.data[i].object != b->bound.data[i].object)
            return false;
    for (size_t i = 0; i < a->functions.len; i++) {
        const module_member *x = &a->functions.data[i], *y = &b->functions.data[i];
        bool same = x->object == y->object ||
                    (x->object->kind == PY_OPERATOR && y->object->kind == PY_OPERATOR &&
                     !strcmp(x->object->u.op_name, y->object->u.op_name));
        if (x->name != y->name || !same) return false;
    }
    for (size_t i = 0; i < a->hooks.len; i++)
        if (a->hooks.data[i] != b->hooks.data[i]) return false;
    for (size_t i = 0; i < a->pre_hooks.len; i++)
        if (a->pre_hooks.data[i] != b->pre_hooks.data[i]) return false;
    return true;
}

static module_type *module_known(program *g, const module_type *m) {
    for (size_t i = 0; i < g->module_types.len; i++) {
        module_type *k = g->module_types.data[i];
        if (k->py_class->u.cls == m->py_class->u.cls && k->traced == m->traced && !k->part &&
            module_same_attributes(k, m) && module_same_children(k, m) &&
            module_same_constants(k, m) && module_same_functions(k, m) &&
            source_static_same(g, k->instance, m->instance))
            return k;
    }
    return NULL;
}

/* ---- methods --------------------------------------------------------------------------------- */

static function *module_add_method(program *g, module_type *m, py_object *fn, const char *name) {
    unit *u = g->unit;
    function *f = class_find_method(m->cls, name);
    if (f) return f;
    f = source_declare(g, fn, arena_printf(&u->arena, "%s.%s", class_name(m->cls), name), m->cls,
                       m);
    if (!f) return NULL;
    return avec_push(&u->arena, &m->cls->cls->methods, f) ? f : (diag_no_memory(g->py.diag), NULL);
}

static const char *module_between(program *g, const char *name, const char *prefix,
                                  const char *suffix) {
    size_t n = strlen(name), a = strlen(prefix), b = strlen(suffix);
    if (n <= a + b || strncmp(name, prefix, a) || strcmp(name + n - b, suffix)) return NULL;
    return intern_n(&g->unit->names, name + a, n - a - b);
}

/* What the instances have as the method `name`: of the class, or an attribute of their own. */
static py_object *module_find(const module_type *m, const char *name) {
    for (size_t i = 0; i < m->bound.len; i++)
        if (!strcmp(m->bound.data[i].name, name)) return m->bound.data[i].object;
    return py_class_find(m->py_class, name);
}

function *source_module_method(program *g, module_type *m, const char *name) {
    function *known = class_find_method(m->cls, name);
    if (known || !m->cls->cls->source) return known;
    py_object *o = module_find(m, name);
    if (o && o->kind == PY_CLASSMETHOD) o = o->u.fn_object; /* cls is the module, as in PyTorch */
    if (o && o->kind == PY_FUNCTION && o->u.fn->def && !source_dropped(o) &&
        !o->u.fn->overloads.len)
        return module_add_method(g, m, o, name);
    const char *property = module_between(g, name, "__", "_getter");
    bool get = property != NULL;
    if (!property) property = module_between(g, name, "__", "_setter");
    o = property ? py_class_find(m->py_class, property) : NULL;
    if (!o || o->kind != PY_PROPERTY) return NULL;
    o = get ? o->u.property.getter : o->u.property.setter;
    return o && o->kind == PY_FUNCTION && o->u.fn->def ? module_add_method(g, m, o, name) : NULL;
}

/* What super().name means in a method of class `behind`: a method under its own name. */
function *source_module_super(program *g, module_type *m, const py_object *behind,
                              const char *name) {
    const py_class *c = m->py_class->u.cls;
    size_t i = 0;
    while (i < c->mro.len && c->mro.data[i]->u.cls != behind->u.cls) i++;
    for (i++; i < c->mro.len; i++) {
        const py_class *base = c->mro.data[i]->u.cls;
        py_object *o = base->attrs ? py_dict_get(base->attrs, name) : NULL;
        if (!o) continue;
        if (o->kind != PY_FUNCTION || !o->u.fn->def || source_dropped(o)) return NULL;
        return module_add_method(
            g, m, o,
            intern(&g->unit->names,
                   arena_printf(&g->unit->arena, "__super_%s_%s", base->name, name)));
    }
    return NULL;
}

/* forward__0, ...: the signature of one @overload, the body of the definition. */
static bool module_overloads(program *g, module_type *m, const char *name, const py_object *fn) {
    arena *a = &g->unit->arena;
    for (size_t i = 0; i < fn->u.fn->overloads.len; i++) {
        const py_object *over = fn->u.fn->overloads.data[i];
        if (over->kind != PY_FUNCTION || !over->u.fn->def) continue;
        py_object *made = py_new(&g->py, PY_FUNCTION);
        py_function *pf = made->u.fn = arena_new(a, py_function);
        func_def *def = arena_new(a, func_def);
        *def = *over->u.fn->def;
        def->body = fn->u.fn->def->body;
        def->range = fn->u.fn->def->range;
        def->src = fn->u.fn->def->src;
        *pf = *fn->u.fn;
        pf->def = def;
        pf->defaults = over->u.fn->defaults;
        pf->overloads.len = 0;
        const char *mangled = intern(&g->unit->names, arena_printf(a, "%s__%zu", name, i));
        function *f = module_add_method(g, m, made, mangled);
        if (!f || !avec_push(a, &m->overloads, f)) return diag_no_memory(g->py.diag), false;
    }
    return true;
}

static int module_compare_names(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Names of methods that start compilation besides forward, sorted as Python's dir() does. */
static bool module_exported(program *g, const module_type *m, const char ***out, size_t *n) {
    VEC(const char *) names = {0};
    const py_class *c = m->py_class->u.cls;
    for (size_t i = 0; i < c->mro.len; i++) {
        const py_dict *attrs = c->mro.data[i]->u.cls->attrs;
        for (size_t k = 0; attrs && k < attrs->entries.len; k++) {
            const py_dict_entry *en = &attrs->entries.data[k];
            const char *name = py_as_text(en->key);
            if (!name || en->val->kind != PY_FUNCTION ||
                py_class_find(m->py_class, name) != en->val)
                continue;
            if (en->val->u.fn->mode != PY_EXPORT && !en->val->u.fn->overloads.len) continue;
            if (!avec_push(&g->unit->arena, &names, name)) return diag_no_memory(g->py.diag), false;
        }
    }
    if (names.len) qsort(names.data, names.len, sizeof *names.data, module_compare_names);
    *out = names.data;
    *n = names.len;
    return true;
}

/* nn.Module itself has no forward. */
static bool module_has_forward(const module_type *m) {
    const py_class *c = m->py_class->u.cls;
    py_object *f = module_find(m, "forward");
    if (!f || f->kind != PY_FUNCTION || !f->u.fn->def || source_dropped(f) ||
        f->u.fn->overloads.len)
        return false;
    for (size_t i = c->mro.len; i-- > 0;)
        if (c->mro.data[i]->u.cls->kind == PYC_MODULE)
            return py_class_find(c->mro.data[i], "forward") != f;
    return true;
}

static bool module_same_hook(program *g, const module_type *m, const py_object *fn) {
    const function *f = class_find_method(m->cls, fn->u.fn->def->name);
    if (!f || ((const scope *)f->scope)->fn == fn) return true;
    source_fail(
        g, fn->u.fn->def->range,
        "Hook '%s' on %s has at least two different python definitions. Please use unique names "
        "for all hooks.",
        fn->u.fn->def->name, m->py_class->u.cls->name);
    return false;
}

static bool module_add_hooks(program *g, module_type *m) {
    unit *u = g->unit;
    for (int pre = 0; pre < 2; pre++) {
        size_t n = pre ? m->pre_hooks.len : m->hooks.len;
        for (size_t i = 0; i < n; i++) {
            py_object *fn = (pre ? m->pre_hooks.data : m->hooks.data)[i];
            if (!fn->u.fn->def) continue;
            if (!module_same_hook(g, m, fn)) return false;
            function *f = module_add_method(g, m, fn, fn->u.fn->def->name);
            if (!f) return false;
            if (!(pre ? avec_push(&u->arena, &m->cls->cls->forward_pre_hooks, f)
                      : avec_push(&u->arena, &m->cls->cls->forward_hooks, f)))
                return diag_no_memory(g->py.diag), false;
        }
    }
    return true;
}

static bool module_add_text(program *g, module_type *m, strbuf *text, const char *name) {
    py_env *env = arena_new(&g->unit->arena, py_env);
    env->module = g->main;
    py_object *fn = source_synthesize(g, "<container>", text, m->py_class->u.cls->module, env);
    sb_free(text);
    return fn && module_add_method(g, m, fn, name);
}

/* def __len__(self): return n, and "key in [keys]" for dictionaries, as PyTorch gives
 * it to containers. */
static bool module_add_container_methods(program *g, module_type *m) {
    if (m->container != CONTAINER_LIST && m->container != CONTAINER_DICT) return true;
    strbuf text = STRBUF_INIT;
    sb_printf(&text, "def __len__(self):\n    return %zu\n", m->keys.len);
    if (!module_add_text(g, m, &text, "__len__")) return false;
    if (m->container != CONTAINER_DICT) return true;
    text = (strbuf)STRBUF_INIT;
    sb_puts(&text, "def __contains__(self, key: str):\n    return ");
    for (size_t i = 0; i < m->keys.len; i++) {
        sb_puts(&text, i ? ", " : "key in [");
        if (!py_str(&g->py, (source_range){0}, py_text(&g->py, m->keys.data[i]), true, &text))
            return sb_free(&text), false;
    }
    sb_puts(&text, m->keys.len ? "]\n" : "False\n");
    return module_add_text(g, m, &text, "__contains__");
}

static bool module_methods(program *g, module_type *m) {
    const char **names = NULL;
    size_t n = 0;
    if (!module_exported(g, m, &names, &n)) return false;
    for (size_t i = 0; i < n; i++) {
        py_object *fn = py_class_find(m->py_class, names[i]);
        if (fn->u.fn->overloads.len && !module_overloads(g, m, names[i], fn)) return false;
    }
    if (!m->traced && module_has_forward(m) && !source_module_method(g, m, "forward")) return false;
    for (size_t i = 0; i < n; i++) {
        py_object *fn = py_class_find(m->py_class, names[i]);
        if (!fn->u.fn->overloads.len &&
            !source_module_method(g, m, intern(&g->unit->names, names[i])))
            return false;
    }
    return m->traced || (module_add_hooks(g, m) && module_add_container_methods(g, m));
}

/* ---- types ----------------------------------------------------------------------------------- */

/* Makes the class type of a plan that is new. */
static module_type *module_make(program *g, module_type *m) {
    unit *u = g->unit;
    const py_class *c = m->py_class->u.cls;
    const char *q = source_qualify(g, c->module, c->name);
    type *t = m->cls = type_class_new(u, T_CLASS, q);
    t->cls->is_module = true;
    t->cls->is_list = m->container == CONTAINER_LIST || m->container == CONTAINER_PARAMETERS;
    t->cls->is_dict = m->container == CONTAINER_DICT || m->container == CONTAINER_PARAMETER_DICT;
    t->cls->source = m;
    bool ok = strmap_put(&u->classes, q, t) && vec_push(&g->module_types, m);
    for (size_t i = 0; i < m->attributes.len && ok; i++)
        ok = avec_push(&u->arena, &t->cls->attributes, m->attributes.data[i]);
    for (size_t i = 0; i < m->children.len && ok; i++)
        ok = avec_push(&u->arena, &t->cls->attributes, m->children.data[i]);
    for (size_t i = 0; i < m->constants.len && ok; i++)
        ok = avec_push(&u->arena, &t->cls->constants, m->constants.data[i]);
    if (!ok || arena_failed(&u->arena)) return diag_no_memory(g->py.diag), NULL;
    return module_methods(g, m) ? m : NULL;
}

/* torch.jit.trace(instance, ...) as a part of a program that is compiled. Its class is known before
 * its forward is traced, for the object that the trace is made with. */
static module_type *module_traced(program *g, source_range r, py_object *instance,
                                  const py_object *note) {
    value root = value_none();
    g->tracing = true;
    module_type *m = source_plan(g, r, instance), *made = NULL;
    if (m) {
        m->traced = m->part = true;
        made = module_make(g, m);
    }
    bool ok = made &&
              (ptrmap_put(&g->modules, instance, made) || (diag_no_memory(g->py.diag), 0)) &&
              source_module_object(g, r, instance, &root);
    g->tracing = false;
    ok = ok && source_trace_part(g, r, instance, note, root.u.object);
    value_unref(root);
    return ok ? made : NULL;
}

static module_type *module_plan_type(program *g, source_range r, py_object *instance) {
    const object *archived = py_archive_object(instance);
    const py_object *note = g->tracing ? NULL : ptrmap_get(&g->py.traced, instance);
    if (note && !archived) return module_traced(g, r, instance, note);
    if (archived) return source_archive_module(g, archived, instance);
    bool tracing = g->tracing;
    g->tracing = tracing && !instance->u.inst.scripted;
    module_type *m = source_plan(g, r, instance);
    if (m) m->traced = g->tracing;
    module_type *known = m ? module_known(g, m) : NULL;
    if (m && !known) known = module_make(g, m);
    g->tracing = tracing;
    return known;
}

module_type *source_module_type(program *g, source_range r, py_object *instance) {
    module_type *m = ptrmap_get(&g->modules, instance);
    if (m) return m;
    if (g->depth >= SOURCE_MAX_DEPTH) return source_fail(g, r, "modules nest too deeply");
    g->depth++;
    m = module_plan_type(g, r, instance);
    g->depth--;
    if (m && !ptrmap_put(&g->modules, instance, m)) return diag_no_memory(g->py.diag), NULL;
    return m;
}

/* ---- objects --------------------------------------------------------------------------------- */

/* A module in the place of an interface: it needs the interface's methods. */
static bool module_fits_interface(program *g, source_range r, module_type *m, const type *interface,
                                  const char *name) {
    diag *d = g->py.diag;
    for (size_t i = 0; i < interface->cls->methods.len; i++) {
        function *f = source_module_method(g, m, interface->cls->methods.data[i]->name);
        if (f && function_ensure_compiled(f, d) != CTSC_OK) return false;
        if (d->status != CTSC_OK) return false;
    }
    if (type_is_subtype(m->cls, interface)) return true;
    strbuf why = STRBUF_INIT;
    for (size_t i = 0; i < interface->cls->methods.len; i++) {
        const function *want = interface->cls->methods.data[i],
                       *have = class_find_method(m->cls, want->name);
        strbuf a = STRBUF_INIT, b = STRBUF_INIT;
        if (have) schema_print(have->schema, &a);
        if (want->schema) schema_print(want->schema, &b);
        if (!have) sb_printf(&why, "\nThe module has no method '%s'", want->name);
        else if (want->schema)
            sb_printf(&why,
                      "\nMethod on class '%s' (1) may not be compatible with interface '%s' (2)\n  "
                      "(1) %s\n  (2) %s",
                      class_name(m->cls), class_name(interface), sb_str(&a), sb_str(&b));
        sb_free(&a);
        sb_free(&b);
    }
    source_fail(g, r,
                "Could not cast attribute '%s' to type %s: Object of type %s is not compatible "
                "with interface %s%s",
                name, class_name(interface), class_name(m->cls), class_name(interface),
                sb_str(&why));
    sb_free(&why);
    return false;
}

static bool module_slot(program *g, source_range r, py_object *instance, const attribute *a,
                        value *slot) {
    py_object *o = py_module_data(instance, a->name);
    if (!o) {
        source_fail(g, r, "module '%s' has no attribute '%s'", instance->u.inst.cls->u.cls->name,
                    a->name);
        return false;
    }
    if (source_is_module(o)) {
        module_type *m = source_module_type(g, r, o);
        if (!m ||
            (a->type->kind == T_INTERFACE && !module_fits_interface(g, r, m, a->type, a->name)))
            return false;
        if (!type_is_subtype(m->cls, a->type)) /* an archive's module has kept its class */
            return source_fail(g, r,
                               "Cannot re-assign modules in a ScriptModule with non-scripted "
                               "module, tried to replace existing module '%s'",
                               a->name);
        return source_module_object(g, r, o, slot);
    }
    py_object *held, *declared;
    if (a->type->kind != T_CLASS && source_jit_attribute(o, &held, &declared)) o = held;
    return source_value(g, r, o, a->type, slot);
}

bool source_module_object(program *g, source_range r, py_object *instance, value *out) {
    object *known = ptrmap_get(&g->objects, instance);
    if (known) return *out = value_ref(value_object_take(known)), true;
    module_type *m = source_module_type(g, r, instance);
    if (!m) return false;
    const class_info *c = m->cls->cls;
    object *o = object_new(m->cls, c->attributes.len);
    if (!o) return diag_no_memory(g->py.diag), false;
    value v = value_object_take(o);
    if (!vec_push(&g->held, v)) return value_unref(v), diag_no_memory(g->py.diag), false;
    if (!ptrmap_put(&g->objects, instance, o)) return diag_no_memory(g->py.diag), false;
    if (g->depth >= SOURCE_MAX_DEPTH) return source_fail(g, r, "modules nest too deeply");
    g->depth++;
    bool ok = true;
    for (size_t i = 0; i < o->nslots && ok; i++)
        ok = module_slot(g, r, instance, &c->attributes.data[i], &o->slots[i]);
    g->depth--;
    if (ok) *out = value_ref(v);
    return ok;
}
