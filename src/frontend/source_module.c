/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_module.c - instances of nn.Module as class types and objects.
 *
 * Method. A plan is drawn up from the instance: parameters, buffers, submodules, constants, other attributes. Two instances of one Python
 * class whose plans are equal share a class type, as in PyTorch; a different plan gets a class of its own under a mangled name. Which
 * methods start compilation: forward, what is marked with torch.jit.export, overloads; the rest is declared when something calls it.
 * Attributes whose values have no TorchScript type are no error until they are used: the reason is kept.
 * Ownership: plans live in the unit's arena; constants belong to the class type, or are released with a plan that is dropped.
 * Tests: tests/lang
 */
#include "frontend/source.h"

#include <stdlib.h>

static void *module_fail(program *g, source_range r, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void *module_fail(program *g, source_range r, const char *fmt, ...) {
    strbuf sb = STRBUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    sb_vprintf(&sb, fmt, ap);
    va_end(ap);
    diag_fail_at(g->py.diag, CTSC_FAILED, r, "%s", sb_str(&sb));
    sb_free(&sb);
    return NULL;
}

/* ---- what Python knows of the instance --------------------------------------------------------------------------- */

static const char *module_key(const py_dict_entry *en) {
    return en->key && en->key->kind == PY_VALUE && en->key->u.v.tag == V_STR ? en->key->u.v.u.str->bytes : NULL;
}

/* instance._parameters and its like. */
static const py_dict *module_dict(const py_object *instance, const char *name) {
    const py_object *o = py_dict_get(instance->u.inst.attrs, name);
    return o && o->kind == PY_DICT ? o->u.dict : NULL;
}

static py_object *module_data(const py_object *instance, const char *name) {
    static const char *const dicts[] = {"_parameters", "_buffers", "_modules"};
    for (int i = 0; i < 3; i++) {
        const py_dict *d = module_dict(instance, dicts[i]);
        py_object *o = d ? py_dict_get(d, name) : NULL;
        if (o) return o;
    }
    return py_dict_get(instance->u.inst.attrs, name);
}

/* Python's instance.__annotations__: those of the first class that has some. */
static const py_class *module_annotated(const py_class *c) {
    for (size_t i = 0; i < c->mro.len; i++)
        if (c->mro.data[i]->u.cls->annotations.len) return c->mro.data[i]->u.cls;
    return NULL;
}

static const expr *module_annotation(const py_class *annotated, const char *name) {
    for (size_t i = 0; annotated && i < annotated->annotations.len; i++)
        if (!strcmp(annotated->annotations.data[i].name, name)) return annotated->annotations.data[i].type;
    return NULL;
}

static bool module_names(program *g, source_range r, py_object *o, const char *attribute, py_object ***items, int *n) {
    *n = 0;
    py_object *list = py_find(&g->py, r, o, attribute);
    if (!list || list->kind == PY_METHOD || list->kind == PY_FUNCTION) return g->py.diag->status == CTSC_OK;
    return py_iterate(&g->py, r, list, items, n);
}

static bool module_listed(py_object **items, int n, const char *name) {
    for (int i = 0; i < n; i++)
        if (items[i]->kind == PY_VALUE && items[i]->u.v.tag == V_STR && !strcmp(items[i]->u.v.u.str->bytes, name)) return true;
    return false;
}

/* ---- plans ---------------------------------------------------------------------------------------------------------- */

typedef struct module_plan {
    program *g;
    source_range r;
    py_object *instance;
    const py_class *cls;
    const py_class *annotated;
    py_env *env;         /* of annotations */
    py_object **ignored; /* __jit_ignored_attributes__ */
    int nignored;
    module_type *m;      /* being filled */
    strmap added;        /* names with a place */
} module_plan;

static bool plan_no_memory(module_plan *p) {
    diag_no_memory(p->g->py.diag);
    return false;
}

static const char *plan_name(module_plan *p, const char *name) {
    return intern(&p->g->unit->names, name);
}

static bool plan_attribute(module_plan *p, const char *name, type *t, bool parameter, bool buffer) {
    attribute a = {.name = plan_name(p, name), .type = t, .is_parameter = parameter, .is_buffer = buffer};
    return (avec_push(&p->g->unit->arena, &p->m->attributes, a) && strmap_put(&p->added, a.name, p->m)) || plan_no_memory(p);
}

static bool plan_failed(module_plan *p, const char *name, const py_object *o, const char *reason, bool inferred) {
    arena *a = &p->g->unit->arena;
    module_failed f = {plan_name(p, name), NULL};
    f.why = arena_printf(a, "(This attribute exists on the Python module, but we failed to convert Python type: '%s' to a TorchScript "
                            "type. %s. %s)",
                         py_type_name(o), reason,
                         inferred ? "Its type was inferred; try adding a type annotation for the attribute." : "");
    return avec_push(a, &p->m->failed, f) || plan_no_memory(p);
}

/* The type that the class declares for an attribute. *out NULL: none is declared, or it cannot be had; then why says so. */
static bool plan_declared_type(module_plan *p, const char *name, type **out, strbuf *why) {
    const expr *x = module_annotation(p->annotated, name);
    program *g = p->g;
    *out = NULL;
    if (!x || (source_is_final(g, p->env, x) && x->kind != E_SUBSCRIPT)) return true;
    diag d = {0}, *before = g->py.diag;
    g->py.diag = &d;
    *out = source_type_of_expr(g, p->env, x);
    g->py.diag = before;
    bool ok = d.status != CTSC_LIMIT;
    if (!*out && ok) sb_puts(why, diag_message(&d));
    if (!ok) diag_append(before, &d);
    diag_clear(&d);
    return ok;
}

/* The declared type, else the one the value has; NULL with the reason in why, or with a failed diag. */
static type *plan_type(module_plan *p, const char *name, py_object *o, bool *inferred, strbuf *why) {
    type *t = NULL;
    *inferred = false;
    if (!plan_declared_type(p, name, &t, why) || t || why->len) return t;
    *inferred = true;
    return source_infer_type(p->g, o, why);
}

static bool plan_ignored(const module_plan *p, const char *name) {
    return module_listed(p->ignored, p->nignored, name);
}

static bool plan_tensors(module_plan *p, const char *dict, bool parameters) {
    const py_dict *d = module_dict(p->instance, dict);
    bool ok = true;
    for (size_t i = 0; d && i < d->entries.len && ok; i++) {
        const py_dict_entry *en = &d->entries.data[i];
        const char *name = module_key(en);
        if (!name || plan_ignored(p, name)) continue;
        strbuf why = STRBUF_INIT;
        bool inferred;
        type *t = plan_type(p, name, en->val, &inferred, &why);
        if (t) ok = plan_attribute(p, name, t, parameters, !parameters);
        else if (p->g->py.diag->status != CTSC_OK) ok = false;
        else ok = plan_failed(p, name, en->val, sb_str(&why), inferred);
        sb_free(&why);
    }
    return ok;
}

static bool module_is_instance(const py_object *o) {
    return o->kind == PY_INSTANCE && o->u.inst.cls->u.cls->kind == PYC_MODULE;
}

static bool plan_child(module_plan *p, const char *name, py_object *o) {
    strbuf ignored = STRBUF_INIT;
    type *t = NULL;
    bool ok = plan_declared_type(p, name, &t, &ignored);
    sb_free(&ignored);
    if (!ok) return false;
    bool interface = t && t->kind == T_INTERFACE;
    module_type *child = source_module_type(p->g, p->r, o);
    if (!child) return false;
    attribute a = {.name = plan_name(p, name), .type = interface ? t : child->cls};
    return (avec_push(&p->g->unit->arena, &p->m->children, a) && strmap_put(&p->added, a.name, p->m)) || plan_no_memory(p);
}

static bool plan_children(module_plan *p) {
    const py_dict *d = module_dict(p->instance, "_modules");
    for (size_t i = 0; d && i < d->entries.len; i++) {
        const py_dict_entry *en = &d->entries.data[i];
        const char *name = module_key(en);
        if (!name || plan_ignored(p, name)) continue;
        bool ok = py_is_none(en->val) ? plan_attribute(p, name, TYPE_NONE, false, false)
                  : module_is_instance(en->val) ? plan_child(p, name, en->val) : true;
        if (!ok) return false;
    }
    return true;
}

/* ---- constants ---- */

static bool module_valid_constant(const py_object *o, int depth) {
    if (depth > 20) return false;
    if (o->kind == PY_SYMBOL) return o->u.symbol == PY_DTYPE || o->u.symbol == PY_LAYOUT;
    if (o->kind == PY_TUPLE || o->kind == PY_LIST) {
        for (size_t i = 0; i < o->u.seq.items.len; i++)
            if (!module_valid_constant(o->u.seq.items.data[i], depth + 1)) return false;
        return true;
    }
    if (o->kind != PY_VALUE) return false;
    switch (o->u.v.tag) {
    case V_NONE: case V_BOOL: case V_INT: case V_FLOAT: case V_STR: case V_DEVICE: return true;
    default: return false;
    }
}

/* Lists become tuples. */
static py_object *module_constant_object(py *p, py_object *o) {
    if (o->kind != PY_TUPLE && o->kind != PY_LIST) return o;
    int n = (int)o->u.seq.items.len;
    py_object *t = py_tuple(p, n, o->u.seq.items.data);
    for (int i = 0; t && i < n; i++) t->u.seq.items.data[i] = module_constant_object(p, t->u.seq.items.data[i]);
    return t;
}

static bool plan_constant(module_plan *p, const char *name) {
    program *g = p->g;
    if (strmap_get(&p->added, name)) return true; /* a parameter, buffer or submodule: stays what it is */
    py_object *o = py_find(&g->py, p->r, p->instance, name);
    if (!o) return g->py.diag->status == CTSC_OK; /* listed, but never set */
    if (!module_valid_constant(o, 0)) {
        module_fail(g, p->r,
                    "'%s' object in attribute '%s.%s' is not a valid constant.\nValid constants are:\n1. a nn.ModuleList\n2. a value of "
                    "type {bool, float, int, str, NoneType, torch.device, torch.layout, torch.dtype}\n3. a list or tuple of (2)",
                    py_type_name(o), p->cls->name, name);
        return false;
    }
    o = module_constant_object(&g->py, o);
    strbuf why = STRBUF_INIT;
    constant_attribute c = {.name = plan_name(p, name), .type = o ? source_infer_type(g, o, &why) : NULL};
    sb_free(&why);
    if (!c.type || !source_value(g, p->r, o, c.type, &c.val)) return false;
    if (!avec_push(&g->unit->arena, &p->m->constants, c)) return value_unref(c.val), plan_no_memory(p);
    return strmap_put(&p->added, c.name, p->m) || plan_no_memory(p);
}

static bool plan_constants(module_plan *p) {
    py_object **names = NULL;
    int n = 0;
    if (!module_names(p->g, p->r, p->instance, "__constants__", &names, &n)) return false;
    for (int i = 0; i < n; i++)
        if (names[i]->kind == PY_VALUE && names[i]->u.v.tag == V_STR && !plan_constant(p, names[i]->u.v.u.str->bytes)) return false;
    for (size_t i = 0; p->annotated && i < p->annotated->annotations.len; i++) {
        const py_annotation *a = &p->annotated->annotations.data[i];
        if (source_is_final(p->g, p->env, a->type) && !plan_constant(p, a->name)) return false;
    }
    return true;
}

/* ---- other attributes ---- */

static bool module_internal_name(const char *name) {
    static const char *const names[] = {
        "_version", "_parameters", "_buffers", "_non_persistent_buffers_set", "_backward_hooks", "_forward_hooks",
        "_forward_pre_hooks", "_state_dict_hooks", "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks", "_modules",
        "_initializing", "dump_patches"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i], name)) return true;
    return name[0] == '_' && name[1] == '_';
}

static bool module_is_callable(const py_object *o) {
    return o->kind == PY_FUNCTION || o->kind == PY_BUILTIN || o->kind == PY_OPERATOR;
}

/* torch.jit.Attribute(value, type): the value, and the type into *t. */
static py_object *plan_jit_attribute(module_plan *p, py_object *o, type **t) {
    py_object *v = NULL, *declared = NULL;
    const py_object *cls = o->kind == PY_TUPLE ? o->u.seq.seq_cls : o->kind == PY_INSTANCE ? o->u.inst.cls : NULL;
    if (!cls || strcmp(cls->u.cls->name, "Attribute")) return o;
    if (o->kind == PY_TUPLE && o->u.seq.items.len == 2) {
        v = o->u.seq.items.data[0];
        declared = o->u.seq.items.data[1];
    } else if (o->kind == PY_INSTANCE) {
        v = py_dict_get(o->u.inst.attrs, "value");
        declared = py_dict_get(o->u.inst.attrs, "type");
    }
    if (!v || !declared) return o;
    *t = source_type_of_object(p->g, p->r, declared);
    return *t ? v : NULL;
}

static bool plan_other(module_plan *p, const char *name, py_object *o) {
    program *g = p->g;
    arena *a = &g->unit->arena;
    if (module_is_callable(o)) {
        module_member f = {plan_name(p, name), o};
        return avec_push(a, &p->m->functions, f) || plan_no_memory(p);
    }
    type *t = NULL;
    bool inferred = false;
    strbuf why = STRBUF_INIT;
    py_object *v = plan_jit_attribute(p, o, &t);
    if (v && !t) t = plan_type(p, name, v, &inferred, &why);
    bool ok = v != NULL;
    if (ok && t) ok = plan_attribute(p, name, t, false, false);
    else if (ok && g->py.diag->status == CTSC_OK) ok = plan_failed(p, name, o, sb_str(&why), inferred);
    else ok = false;
    sb_free(&why);
    return ok;
}

static bool plan_others(module_plan *p) {
    const py_dict *d = p->instance->u.inst.attrs;
    for (size_t i = 0; i < d->entries.len; i++) {
        const py_dict_entry *en = &d->entries.data[i];
        const char *name = module_key(en);
        if (!name || module_internal_name(name) || plan_ignored(p, name) || strmap_get(&p->added, name)) continue;
        if (!plan_other(p, name, en->val)) return false;
    }
    return true;
}

static bool plan_hooks(module_plan *p) {
    for (int pre = 0; pre < 2; pre++) {
        const py_dict *d = module_dict(p->instance, pre ? "_forward_pre_hooks" : "_forward_hooks");
        for (size_t i = 0; d && i < d->entries.len; i++) {
            const py_dict_entry *en = &d->entries.data[i];
            if (!en->key || en->val->kind != PY_FUNCTION) continue;
            if (!(pre ? avec_push(&p->g->unit->arena, &p->m->pre_hooks, en->val)
                      : avec_push(&p->g->unit->arena, &p->m->hooks, en->val)))
                return plan_no_memory(p);
        }
    }
    return true;
}

static container_kind module_container(const py_class *c) {
    static const struct { const char *name; container_kind kind; } table[] = {
        {"ModuleList", CONTAINER_LIST},          {"Sequential", CONTAINER_LIST},
        {"ModuleDict", CONTAINER_DICT},          {"ParameterList", CONTAINER_PARAMETERS},
        {"ParameterDict", CONTAINER_PARAMETER_DICT},
    };
    for (size_t i = 0; i < c->mro.len; i++) {
        const py_class *b = c->mro.data[i]->u.cls;
        if (!b->module || strncmp(b->module->u.mod.name, "torch.nn", 8)) continue;
        for (size_t k = 0; k < sizeof table / sizeof *table; k++)
            if (!strcmp(b->name, table[k].name)) return table[k].kind;
    }
    return CONTAINER_NONE;
}

static bool plan_keys(module_plan *p) {
    module_type *m = p->m;
    arena *a = &p->g->unit->arena;
    m->container = module_container(p->cls);
    bool of_modules = m->container == CONTAINER_LIST || m->container == CONTAINER_DICT;
    bool of_parameters = m->container == CONTAINER_PARAMETERS || m->container == CONTAINER_PARAMETER_DICT;
    for (size_t i = 0; of_modules && i < m->children.len; i++)
        if (!avec_push(a, &m->keys, m->children.data[i].name)) return plan_no_memory(p);
    for (size_t i = 0; of_parameters && i < m->attributes.len; i++)
        if (m->attributes.data[i].is_parameter && !avec_push(a, &m->keys, m->attributes.data[i].name)) return plan_no_memory(p);
    return true;
}

bool source_module_initialized(program *g, source_range r, const py_object *instance) {
    const py_class *c = instance->u.inst.cls->u.cls;
    if (module_dict(instance, "_parameters")) return true;
    module_fail(g, r, "'%s.%s' has not been initialized, did you forget to call 'super()'?",
                c->module ? c->module->u.mod.name : "builtins", c->name);
    return false;
}

static bool plan_fill(module_plan *p) {
    return source_module_initialized(p->g, p->r, p->instance) &&
           module_names(p->g, p->r, p->instance, "__jit_ignored_attributes__", &p->ignored, &p->nignored) &&
           plan_tensors(p, "_parameters", true) && plan_tensors(p, "_buffers", false) && plan_children(p) && plan_constants(p) &&
           plan_others(p) && plan_hooks(p) && plan_keys(p);
}

/* ---- equality --------------------------------------------------------------------------------------------------------- */

static bool module_same_attributes(const module_type *a, const module_type *b) {
    if (a->attributes.len != b->attributes.len) return false;
    for (size_t i = 0; i < a->attributes.len; i++) {
        const attribute *x = &a->attributes.data[i], *y = &b->attributes.data[i];
        if (x->name != y->name || x->type != y->type || x->is_parameter != y->is_parameter || x->is_buffer != y->is_buffer)
            return false;
    }
    return true;
}

static bool module_same_children(const module_type *a, const module_type *b) {
    if (a->children.len != b->children.len) return false;
    for (size_t i = 0; i < a->children.len; i++) {
        size_t k = 0; /* their order does not count */
        while (k < b->children.len && b->children.data[k].name != a->children.data[i].name) k++;
        if (k == b->children.len || b->children.data[k].type != a->children.data[i].type) return false;
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
    if (a->functions.len != b->functions.len || a->hooks.len != b->hooks.len || a->pre_hooks.len != b->pre_hooks.len) return false;
    for (size_t i = 0; i < a->functions.len; i++) {
        const module_member *x = &a->functions.data[i], *y = &b->functions.data[i];
        bool same = x->object == y->object || (x->object->kind == PY_OPERATOR && y->object->kind == PY_OPERATOR &&
                                               !strcmp(x->object->u.op_name, y->object->u.op_name));
        if (x->name != y->name || !same) return false;
    }
    for (size_t i = 0; i < a->hooks.len; i++)
        if (a->hooks.data[i] != b->hooks.data[i]) return false;
    for (size_t i = 0; i < a->pre_hooks.len; i++)
        if (a->pre_hooks.data[i] != b->pre_hooks.data[i]) return false;
    return true;
}

static module_type *module_known(const program *g, const module_type *m) {
    for (size_t i = 0; i < g->module_types.len; i++) {
        module_type *k = g->module_types.data[i];
        if (k->py_class->u.cls == m->py_class->u.cls && module_same_attributes(k, m) && module_same_children(k, m) &&
            module_same_constants(k, m) && module_same_functions(k, m))
            return k;
    }
    return NULL;
}

static void module_drop(module_type *m) {
    for (size_t i = 0; i < m->constants.len; i++) value_set(&m->constants.data[i].val, value_none());
}

/* ---- methods ------------------------------------------------------------------------------------------------------------ */

static bool module_dropped(const py_object *fn) {
    return fn->u.fn->mode == PY_IGNORE || fn->u.fn->mode == PY_UNUSED;
}

static function *module_add_method(program *g, source_range r, module_type *m, py_object *fn, const char *name) {
    unit *u = g->unit;
    function *f = class_find_method(m->cls, name);
    if (f) return f;
    f = source_declare(g, r, fn, arena_printf(&u->arena, "%s.%s", class_name(m->cls), name), m->cls, m);
    if (!f) return NULL;
    return avec_push(&u->arena, &m->cls->cls->methods, f) ? f : (diag_no_memory(g->py.diag), NULL);
}

static const char *module_between(program *g, const char *name, const char *prefix, const char *suffix) {
    size_t n = strlen(name), a = strlen(prefix), b = strlen(suffix);
    if (n <= a + b || strncmp(name, prefix, a) || strcmp(name + n - b, suffix)) return NULL;
    return intern_n(&g->unit->names, name + a, n - a - b);
}

function *source_module_method(program *g, source_range r, module_type *m, const char *name) {
    function *known = class_find_method(m->cls, name);
    if (known) return known;
    py_object *o = py_class_find(m->py_class, name);
    if (o && o->kind == PY_CLASSMETHOD) o = o->u.fn_object; /* cls is the module, as in PyTorch */
    if (o && o->kind == PY_FUNCTION && o->u.fn->def && !module_dropped(o) && !o->u.fn->overloads.len)
        return module_add_method(g, r, m, o, name);
    const char *property = module_between(g, name, "__", "_getter");
    bool get = property != NULL;
    if (!property) property = module_between(g, name, "__", "_setter");
    o = property ? py_class_find(m->py_class, property) : NULL;
    if (!o || o->kind != PY_PROPERTY) return NULL;
    o = get ? o->u.property.getter : o->u.property.setter;
    return o && o->kind == PY_FUNCTION && o->u.fn->def ? module_add_method(g, r, m, o, name) : NULL;
}

/* What super().name means in a method of class `behind`: a method under a name of its own. */
function *source_module_super(program *g, source_range r, module_type *m, const py_object *behind, const char *name) {
    const py_class *c = m->py_class->u.cls;
    size_t i = 0;
    while (i < c->mro.len && c->mro.data[i]->u.cls != behind->u.cls) i++;
    for (i++; i < c->mro.len; i++) {
        const py_class *base = c->mro.data[i]->u.cls;
        py_object *o = base->attrs ? py_dict_get(base->attrs, name) : NULL;
        if (!o) continue;
        if (o->kind != PY_FUNCTION || !o->u.fn->def || module_dropped(o)) return NULL;
        return module_add_method(g, r, m, o, intern(&g->unit->names, arena_printf(&g->unit->arena, "__super_%s_%s", base->name, name)));
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
        function *f = module_add_method(g, def->range, m, made, mangled);
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
            const char *name = module_key(en);
            if (!name || en->val->kind != PY_FUNCTION || py_class_find(m->py_class, name) != en->val) continue;
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
    py_object *f = py_class_find(m->py_class, "forward");
    if (!f || f->kind != PY_FUNCTION || !f->u.fn->def || module_dropped(f) || f->u.fn->overloads.len) return false;
    for (size_t i = c->mro.len; i-- > 0;)
        if (c->mro.data[i]->u.cls->kind == PYC_MODULE) return py_class_find(c->mro.data[i], "forward") != f;
    return true;
}

static bool module_add_hooks(program *g, module_type *m) {
    unit *u = g->unit;
    for (int pre = 0; pre < 2; pre++) {
        size_t n = pre ? m->pre_hooks.len : m->hooks.len;
        for (size_t i = 0; i < n; i++) {
            py_object *fn = (pre ? m->pre_hooks.data : m->hooks.data)[i];
            if (!fn->u.fn->def) continue;
            function *f = module_add_method(g, fn->u.fn->def->range, m, fn, fn->u.fn->def->name);
            if (!f) return false;
            if (!(pre ? avec_push(&u->arena, &m->cls->cls->forward_pre_hooks, f)
                      : avec_push(&u->arena, &m->cls->cls->forward_hooks, f)))
                return diag_no_memory(g->py.diag), false;
        }
    }
    return true;
}

/* def __len__(self): return n, as PyTorch gives it to containers. */
static bool module_add_len(program *g, module_type *m) {
    unit *u = g->unit;
    if (m->container != CONTAINER_LIST && m->container != CONTAINER_DICT) return true;
    stmt_list body = {0};
    char *text = arena_printf(&u->arena, "def __len__(self):\n    return %zu\n", m->keys.len);
    source *src = source_new("<container>", text, strlen(text));
    if (!src || !vec_push(&u->sources, src)) return source_unref(src), diag_no_memory(g->py.diag), false;
    if (parse_module(g->py.diag, &u->arena, &u->names, src, &body) != CTSC_OK || body.len != 1) return false;
    py_object *fn = py_new(&g->py, PY_FUNCTION);
    fn->u.fn = arena_new(&u->arena, py_function);
    fn->u.fn->def = body.data[0]->def;
    fn->u.fn->qualname = "__len__";
    fn->u.fn->module = m->py_class->u.cls->module;
    fn->u.fn->closure = arena_new(&u->arena, py_env);
    fn->u.fn->closure->module = g->main;
    return module_add_method(g, (source_range){0}, m, fn, "__len__") != NULL;
}

static bool module_methods(program *g, source_range r, module_type *m) {
    const char **names = NULL;
    size_t n = 0;
    if (!module_exported(g, m, &names, &n)) return false;
    for (size_t i = 0; i < n; i++) {
        py_object *fn = py_class_find(m->py_class, names[i]);
        if (fn->u.fn->overloads.len && !module_overloads(g, m, names[i], fn)) return false;
    }
    if (module_has_forward(m) && !source_module_method(g, r, m, "forward")) return false;
    for (size_t i = 0; i < n; i++) {
        py_object *fn = py_class_find(m->py_class, names[i]);
        if (!fn->u.fn->overloads.len && !source_module_method(g, r, m, intern(&g->unit->names, names[i]))) return false;
    }
    return module_add_hooks(g, m) && module_add_len(g, m);
}

/* ---- types ------------------------------------------------------------------------------------------------------------------ */

/* Makes the class type of a plan that is new. */
static module_type *module_make(program *g, source_range r, module_type *m) {
    unit *u = g->unit;
    const py_class *c = m->py_class->u.cls;
    const char *q = source_qualify(g, c->module, c->name);
    type *t = m->cls = type_class_new(u, T_CLASS, q);
    t->cls->is_module = true;
    t->cls->is_list = m->container == CONTAINER_LIST || m->container == CONTAINER_PARAMETERS;
    t->cls->is_dict = m->container == CONTAINER_DICT || m->container == CONTAINER_PARAMETER_DICT;
    t->cls->source = m;
    bool ok = strmap_put(&u->classes, q, t) && vec_push(&g->module_types, m);
    for (size_t i = 0; i < m->attributes.len && ok; i++) ok = avec_push(&u->arena, &t->cls->attributes, m->attributes.data[i]);
    for (size_t i = 0; i < m->children.len && ok; i++) ok = avec_push(&u->arena, &t->cls->attributes, m->children.data[i]);
    for (size_t i = 0; i < m->constants.len && ok; i++) ok = avec_push(&u->arena, &t->cls->constants, m->constants.data[i]);
    if (!ok || arena_failed(&u->arena)) return diag_no_memory(g->py.diag), NULL;
    return module_methods(g, r, m) ? m : NULL;
}

static module_type *module_plan_type(program *g, source_range r, py_object *instance) {
    const py_class *c = instance->u.inst.cls->u.cls;
    module_plan p = {.g = g, .r = r, .instance = instance, .cls = c, .annotated = module_annotated(c)};
    py_env *empty = arena_new(&g->unit->arena, py_env);
    empty->module = c->module ? c->module : g->main;
    p.env = p.annotated && p.annotated->env ? p.annotated->env : empty;
    p.m = arena_new(&g->unit->arena, module_type);
    p.m->prog = g;
    p.m->py_class = instance->u.inst.cls;
    p.m->instance = instance;
    bool ok = plan_fill(&p);
    strmap_free(&p.added);
    module_type *known = ok ? module_known(g, p.m) : NULL;
    if (!ok || known) return module_drop(p.m), known;
    return module_make(g, r, p.m);
}

module_type *source_module_type(program *g, source_range r, py_object *instance) {
    module_type *m = ptrmap_get(&g->modules, instance);
    if (m) return m;
    if (g->depth >= SOURCE_MAX_DEPTH) return module_fail(g, r, "modules nest too deeply");
    g->depth++;
    m = module_plan_type(g, r, instance);
    g->depth--;
    if (m && !ptrmap_put(&g->modules, instance, m)) return diag_no_memory(g->py.diag), NULL;
    return m;
}

/* ---- objects ------------------------------------------------------------------------------------------------------------------ */

/* A module in the place of an interface: it needs the interface's methods. */
static bool module_fits_interface(program *g, source_range r, module_type *m, const type *interface, const char *name) {
    diag *d = g->py.diag;
    for (size_t i = 0; i < interface->cls->methods.len; i++) {
        function *f = source_module_method(g, r, m, interface->cls->methods.data[i]->name);
        if (f && function_ensure_compiled(f, d) != CTSC_OK) return g->py.diag = d, false;
        g->py.diag = d;
        if (d->status != CTSC_OK) return false;
    }
    if (type_is_subtype(m->cls, interface)) return true;
    module_fail(g, r, "Expected a value of type '%s' for attribute '%s' but the module '%s' does not have its methods",
                class_name(interface), name, class_name(m->cls));
    return false;
}

static bool module_slot(program *g, source_range r, py_object *instance, const attribute *a, value *slot) {
    py_object *o = module_data(instance, a->name);
    if (!o) {
        module_fail(g, r, "module '%s' has no attribute '%s'", instance->u.inst.cls->u.cls->name, a->name);
        return false;
    }
    if (module_is_instance(o)) {
        module_type *m = source_module_type(g, r, o);
        if (!m || (a->type->kind == T_INTERFACE && !module_fits_interface(g, r, m, a->type, a->name))) return false;
        return source_module_object(g, r, o, slot);
    }
    const py_object *cls = o->kind == PY_TUPLE ? o->u.seq.seq_cls : o->kind == PY_INSTANCE ? o->u.inst.cls : NULL;
    if (cls && !strcmp(cls->u.cls->name, "Attribute") && a->type->kind != T_CLASS) { /* torch.jit.Attribute */
        if (o->kind == PY_TUPLE && o->u.seq.items.len == 2) o = o->u.seq.items.data[0];
        else if (o->kind == PY_INSTANCE && py_dict_get(o->u.inst.attrs, "value")) o = py_dict_get(o->u.inst.attrs, "value");
    }
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
    if (g->depth >= SOURCE_MAX_DEPTH) return module_fail(g, r, "modules nest too deeply") != NULL;
    g->depth++;
    bool ok = true;
    for (size_t i = 0; i < o->nslots && ok; i++) ok = module_slot(g, r, instance, &c->attributes.data[i], &o->slots[i]);
    g->depth--;
    if (ok) *out = value_ref(v);
    return ok;
}
