/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_plan.c - what an instance of nn.Module has, as torch.jit.script sees it: the plan
 * of its class type.
 *
 * Order and rules are PyTorch's: parameters, buffers, submodules, constants (__constants__,
 * Final), then everything else the instance holds. A type comes from the class's annotations or
 * from the value. Attributes whose values have no TorchScript type are no error until they are
 * used: the reason is kept.
 *
 * Ownership: a plan lives in the unit's arena, its constants are held by the unit.
 *
 * Tests: tests/lang
 */
#include "frontend/program/source.h"

/* ---- what Python knows of the instance ------------------------------------------------------- */

const py_dict *source_module_dict(const py_object *instance, const char *name) {
    const py_object *o = py_dict_get(instance->u.inst.attrs, name);
    return o && o->kind == PY_DICT ? o->u.dict : NULL;
}

/* `__annotations__ = {"coder": Coder}` in the body of a class: types of attributes that only
 * __init__ sets. NULL: there is none. */
static const py_dict *plan_written(const py_class *c) {
    const py_object *o = py_dict_get(c->attrs, "__annotations__");
    return o && o->kind == PY_DICT ? o->u.dict : NULL;
}

/* Python's instance.__annotations__: those of the first class that has some. */
static const py_class *plan_annotated(const py_class *c) {
    for (size_t i = 0; i < c->mro.len; i++) {
        const py_class *b = c->mro.data[i]->u.cls;
        if (b->annotations.len || plan_written(b)) return b;
    }
    return NULL;
}

static const expr *plan_annotation(const py_class *annotated, const char *name) {
    for (size_t i = 0; annotated && i < annotated->annotations.len; i++)
        if (!strcmp(annotated->annotations.data[i].name, name))
            return annotated->annotations.data[i].type;
    return NULL;
}

static bool plan_names(program *g, source_range r, py_object *o, const char *attribute,
                       py_object ***items, int *n) {
    *n = 0;
    py_object *list = py_find(&g->py, r, o, attribute);
    if (!list || list->kind == PY_METHOD || list->kind == PY_FUNCTION)
        return g->py.diag->status == CTSC_OK;
    return py_iterate(&g->py, r, list, items, n);
}

static bool plan_listed(py_object **items, int n, const char *name) {
    for (int i = 0; i < n; i++) {
        const char *item = py_as_text(items[i]);
        if (item && !strcmp(item, name)) return true;
    }
    return false;
}

/* ---- plans ----------------------------------------------------------------------------------- */

typedef struct module_plan {
    program *g;
    source_range r;
    py_object *instance;
    const py_class *cls;
    const py_class *annotated;
    py_env *env;         /* of annotations */
    py_object **ignored; /* __jit_ignored_attributes__ */
    int nignored;
    module_type *m; /* being filled */
    strmap added;   /* names with a place */
} module_plan;

static bool plan_no_memory(module_plan *p) {
    diag_no_memory(p->g->py.diag);
    return false;
}

static const char *plan_name(module_plan *p, const char *name) {
    return intern(&p->g->unit->names, name);
}

static bool plan_attribute(module_plan *p, const char *name, type *t, bool parameter, bool buffer) {
    attribute a = {
        .name = plan_name(p, name), .type = t, .is_parameter = parameter, .is_buffer = buffer};
    return (avec_push(&p->g->unit->arena, &p->m->attributes, a) &&
            strmap_put(&p->added, a.name, p->m)) ||
           plan_no_memory(p);
}

static bool plan_failed(module_plan *p, const char *name, const py_object *o, const char *reason,
                        bool inferred) {
    arena *a = &p->g->unit->arena;
    module_failed f = {plan_name(p, name), NULL};
    const py_object *cls = py_class_of(&p->g->py, o); /* torch.memory_format, net.Config, list */
    const py_object *home = cls && cls->kind == PY_CLASS ? cls->u.cls->module : NULL;
    bool dotted = home && strcmp(home->u.mod.name, "builtins") != 0;
    f.why = arena_printf(
        a,
        "(This attribute exists on the Python module, but we failed to convert Python "
        "type: '%s%s%s' to a TorchScript type. %s. %s)",
        dotted ? home->u.mod.name : "", dotted ? "." : "", py_type_name(o), reason,
        inferred ? "Its type was inferred; try adding a type annotation for the attribute." : "");
    return avec_push(a, &p->m->failed, f) || plan_no_memory(p);
}

/* The type that the class declares for an attribute. *out NULL: none is declared, or it cannot be
 * had; then why says so. */
static bool plan_declared_type(module_plan *p, const char *name, type **out, strbuf *why) {
    const expr *x = plan_annotation(p->annotated, name);
    const py_dict *written = !x && p->annotated ? plan_written(p->annotated) : NULL;
    py_object *o = written ? py_dict_get(written, name) : NULL;
    program *g = p->g;
    *out = NULL;
    if (!x && !o) return true;
    if (x && source_is_final(g, p->env, x) && x->kind != E_SUBSCRIPT) return true;
    diag d = {0}, *outer = diag_redirect(&g->py.diag, &d);
    *out = x ? source_type_of_expr(g, p->env, x) : source_type_of_object(g, p->r, o);
    diag_restore(&g->py.diag, outer);
    bool ok = d.status != CTSC_LIMIT;
    if (!*out && ok) sb_puts(why, diag_message(&d));
    if (!ok) diag_append(outer, &d);
    diag_clear(&d);
    return ok;
}

/* The declared type, else the one the value has; NULL with the reason in why, or
 * with a failed diag. */
static type *plan_type(module_plan *p, const char *name, py_object *o, bool *inferred,
                       strbuf *why) {
    type *t = NULL;
    const py_class *c = o->kind == PY_INSTANCE ? o->u.inst.cls->u.cls : NULL;
    *inferred = false;
    /* no trace asks for a method of such a class */
    if (p->g->tracing && c && c->kind == PYC_PLAIN && !c->is_script)
        return sb_puts(why, "Its class is not a script class"), NULL;
    if (!plan_declared_type(p, name, &t, why) || t || why->len) return t;
    *inferred = true;
    return source_infer_type(p->g, o, why);
}

static bool plan_ignored(const module_plan *p, const char *name) {
    return plan_listed(p->ignored, p->nignored, name);
}

static bool plan_tensors(module_plan *p, const char *dict, bool parameters) {
    const py_dict *d = source_module_dict(p->instance, dict);
    bool ok = true;
    for (size_t i = 0; d && i < d->entries.len && ok; i++) {
        const py_dict_entry *en = &d->entries.data[i];
        const char *name = py_as_text(en->key);
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

bool source_is_module(const py_object *o) {
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
    return (avec_push(&p->g->unit->arena, &p->m->children, a) &&
            strmap_put(&p->added, a.name, p->m)) ||
           plan_no_memory(p);
}

static bool plan_children(module_plan *p) {
    const py_dict *d = source_module_dict(p->instance, "_modules");
    for (size_t i = 0; d && i < d->entries.len; i++) {
        const py_dict_entry *en = &d->entries.data[i];
        const char *name = py_as_text(en->key);
        if (!name || plan_ignored(p, name)) continue;
        bool ok = py_is_none(en->val)         ? plan_attribute(p, name, TYPE_NONE, false, false)
                  : source_is_module(en->val) ? plan_child(p, name, en->val)
                                              : true;
        if (!ok) return false;
    }
    return true;
}

/* ---- constants ------------------------------------------------------------------------------- */

static bool plan_valid_constant(const py_object *o, int depth) {
    if (depth > 20) return false;
    if (o->kind == PY_SYMBOL) return o->u.symbol == PY_DTYPE || o->u.symbol == PY_LAYOUT;
    if (o->kind == PY_TUPLE || o->kind == PY_LIST) {
        for (size_t i = 0; i < o->u.seq.items.len; i++)
            if (!plan_valid_constant(o->u.seq.items.data[i], depth + 1)) return false;
        return true;
    }
    if (o->kind != PY_VALUE) return false;
    switch (o->u.v.tag) {
    case V_NONE:
    case V_BOOL:
    case V_INT:
    case V_FLOAT:
    case V_STR:
    case V_DEVICE: return true;
    default: return false;
    }
}

/* Lists become tuples. */
static py_object *plan_constant_object(py *p, py_object *o) {
    if (o->kind != PY_TUPLE && o->kind != PY_LIST) return o;
    int n = (int)o->u.seq.items.len;
    py_object *t = py_tuple(p, n, o->u.seq.items.data);
    for (int i = 0; t && i < n; i++)
        if (!(t->u.seq.items.data[i] = plan_constant_object(p, t->u.seq.items.data[i])))
            return NULL;
    return t;
}

static bool plan_constant(module_plan *p, const char *name) {
    program *g = p->g;
    /* a parameter, buffer or submodule: stays what it is */
    if (strmap_get(&p->added, name)) return true;
    py_object *o = py_find(&g->py, p->r, p->instance, name);
    if (!o) return g->py.diag->status == CTSC_OK; /* listed, but never set */
    if (!plan_valid_constant(o, 0))
        return source_fail(
            g, p->r,
            "'%s' object in attribute '%s.%s' is not a valid constant.\nValid constants are:\n"
            "1. a nn.ModuleList\n2. a value of type {bool, float, int, str, NoneType, "
            "torch.device, torch.layout, torch.dtype}\n3. a list or tuple of (2)",
            py_type_name(o), p->cls->name, name);
    o = plan_constant_object(&g->py, o);
    strbuf why = STRBUF_INIT;
    constant_attribute c = {.name = plan_name(p, name),
                            .type = o ? source_infer_type(g, o, &why) : NULL};
    sb_free(&why);
    if (!c.type || !source_value(g, p->r, o, c.type, &c.val)) return false;
    if (!unit_hold(g->unit, c.val) || !avec_push(&g->unit->arena, &p->m->constants, c))
        return plan_no_memory(p);
    return strmap_put(&p->added, c.name, p->m) || plan_no_memory(p);
}

static bool plan_constants(module_plan *p) {
    py_object **names = NULL;
    int n = 0;
    if (!plan_names(p->g, p->r, p->instance, "__constants__", &names, &n)) return false;
    for (int i = 0; i < n; i++) {
        const char *name = py_as_text(names[i]);
        if (name && !plan_constant(p, name)) return false;
    }
    for (size_t i = 0; p->annotated && i < p->annotated->annotations.len; i++) {
        const py_annotation *a = &p->annotated->annotations.data[i];
        if (source_is_final(p->g, p->env, a->type) && !plan_constant(p, a->name)) return false;
    }
    return true;
}

/* ---- other attributes ------------------------------------------------------------------------ */

static bool plan_internal_name(const char *name) {
    static const char *const names[] = {"_version",
                                        "_parameters",
                                        "_buffers",
                                        "_non_persistent_buffers_set",
                                        "_backward_hooks",
                                        "_forward_hooks",
                                        "_forward_pre_hooks",
                                        "_state_dict_hooks",
                                        "_load_state_dict_pre_hooks",
                                        "_load_state_dict_post_hooks",
                                        "_modules",
                                        "_initializing",
                                        "dump_patches"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i], name)) return true;
    return name[0] == '_' && name[1] == '_';
}

static bool plan_is_callable(const py_object *o) {
    return o->kind == PY_FUNCTION || o->kind == PY_BUILTIN || o->kind == PY_OPERATOR;
}

bool source_jit_attribute(py_object *o, py_object **v, py_object **declared) {
    const py_object *cls = o->kind == PY_TUPLE      ? o->u.seq.seq_cls
                           : o->kind == PY_INSTANCE ? o->u.inst.cls
                                                    : NULL;
    *v = *declared = NULL;
    if (!cls || strcmp(cls->u.cls->name, "Attribute")) return false;
    if (o->kind == PY_TUPLE && o->u.seq.items.len == 2) {
        *v = o->u.seq.items.data[0];
        *declared = o->u.seq.items.data[1];
    } else if (o->kind == PY_INSTANCE) {
        *v = py_dict_get(o->u.inst.attrs, "value");
        *declared = py_dict_get(o->u.inst.attrs, "type");
    }
    return *v && *declared;
}

/* An attribute's value; the type into *t where torch.jit.Attribute declares one. */
static py_object *plan_value(module_plan *p, py_object *o, type **t) {
    py_object *v, *declared;
    if (!source_jit_attribute(o, &v, &declared)) return o;
    *t = source_type_of_object(p->g, p->r, declared);
    return *t ? v : NULL;
}

static bool plan_other(module_plan *p, const char *name, py_object *o) {
    program *g = p->g;
    arena *a = &g->unit->arena;
    if (plan_is_callable(o)) {
        module_member f = {plan_name(p, name), o};
        return avec_push(a, &p->m->functions, f) || plan_no_memory(p);
    }
    if (o->kind == PY_METHOD && o->u.method.self == p->instance &&
        o->u.method.fn->kind == PY_FUNCTION) {
        module_member f = {plan_name(p, name), o->u.method.fn};
        return avec_push(a, &p->m->bound, f) || plan_no_memory(p);
    }
    type *t = NULL;
    bool inferred = false;
    strbuf why = STRBUF_INIT;
    py_object *v = plan_value(p, o, &t);
    if (v && !t) t = plan_type(p, name, v, &inferred, &why);
    bool ok = v != NULL;
    if (ok && t) ok = plan_attribute(p, name, t, false, false);
    else if (ok && g->py.diag->status == CTSC_OK)
        ok = plan_failed(p, name, o, sb_str(&why), inferred);
    else ok = false;
    sb_free(&why);
    return ok;
}

static bool plan_others(module_plan *p) {
    const py_dict *d = p->instance->u.inst.attrs;
    for (size_t i = 0; i < d->entries.len; i++) {
        const py_dict_entry *en = &d->entries.data[i];
        const char *name = py_as_text(en->key);
        if (!name || plan_internal_name(name) || plan_ignored(p, name) ||
            strmap_get(&p->added, name))
            continue;
        if (!plan_other(p, name, en->val)) return false;
    }
    return true;
}

static bool plan_hooks(module_plan *p) {
    for (int pre = 0; pre < 2; pre++) {
        const py_dict *d = source_module_dict(p->instance,
                                              pre ? "_forward_pre_hooks" : "_forward_hooks");
        for (size_t i = 0; d && i < d->entries.len; i++) {
            const py_dict_entry *en = &d->entries.data[i];
            if (!en->key || p->g->tracing) continue;
            if (en->val->kind != PY_FUNCTION)
                return source_fail(p->g, p->r,
                                   "a forward hook of module '%s' is not a function but a %s: it "
                                   "cannot be compiled. Remove it first, or trace the module",
                                   p->cls->name, py_type_name(en->val));
            if (!(pre ? avec_push(&p->g->unit->arena, &p->m->pre_hooks, en->val)
                      : avec_push(&p->g->unit->arena, &p->m->hooks, en->val)))
                return plan_no_memory(p);
        }
    }
    return true;
}

static container_kind plan_container(const py_class *c) {
    static const struct {
        const char *name;
        container_kind kind;
    } table[] = {
        {"ModuleList", CONTAINER_LIST},
        {"Sequential", CONTAINER_LIST},
        {"ModuleDict", CONTAINER_DICT},
        {"ParameterList", CONTAINER_PARAMETERS},
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

/* Is this attribute an element of the container? A ParameterList names its elements by numbers:
 * parameters, and what else it was given. */
static bool plan_is_element(const module_type *m, const char *name, bool is_parameter) {
    return m->container == CONTAINER_PARAMETERS ? *name >= '0' && *name <= '9' : is_parameter;
}

/* Parameters and lists of them may both be in a ParameterList: their order is that
 * of their numbers. */
static bool plan_count_keys(module_plan *p, size_t n) {
    arena *a = &p->g->unit->arena;
    for (size_t i = 0; i < n; i++)
        if (!avec_push(a, &p->m->keys, intern(&p->g->unit->names, arena_printf(a, "%zu", i))))
            return plan_no_memory(p);
    return true;
}

static bool plan_keys(module_plan *p) {
    module_type *m = p->m;
    arena *a = &p->g->unit->arena;
    m->container = plan_container(p->cls);
    bool of_modules = m->container == CONTAINER_LIST || m->container == CONTAINER_DICT;
    bool of_parameters = m->container == CONTAINER_PARAMETERS ||
                         m->container == CONTAINER_PARAMETER_DICT;
    for (size_t i = 0; of_parameters && i < m->attributes.len; i++)
        if (plan_is_element(m, m->attributes.data[i].name, m->attributes.data[i].is_parameter) &&
            !avec_push(a, &m->keys, m->attributes.data[i].name))
            return plan_no_memory(p);
    for (size_t i = 0; (of_modules || of_parameters) && i < m->children.len; i++)
        if (!avec_push(a, &m->keys, m->children.data[i].name)) return plan_no_memory(p);
    if (m->container != CONTAINER_PARAMETERS || !m->children.len) return true;
    size_t n = m->keys.len;
    m->keys.len = 0;
    return plan_count_keys(p, n);
}

bool source_module_initialized(program *g, source_range r, const py_object *instance) {
    const py_class *c = instance->u.inst.cls->u.cls;
    if (source_module_dict(instance, "_parameters")) return true;
    return source_fail(g, r, "'%s.%s' has not been initialized, did you forget to call 'super()'?",
                       c->module ? c->module->u.mod.name : "builtins", c->name);
}

static bool plan_fill(module_plan *p) {
    return source_module_initialized(p->g, p->r, p->instance) &&
           plan_names(p->g, p->r, p->instance, "__jit_ignored_attributes__", &p->ignored,
                      &p->nignored) &&
           plan_tensors(p, "_parameters", true) && plan_tensors(p, "_buffers", false) &&
           plan_children(p) && plan_constants(p) && plan_others(p) && plan_hooks(p) && plan_keys(p);
}

module_type *source_plan(program *g, source_range r, py_object *instance) {
    const py_class *c = instance->u.inst.cls->u.cls;
    module_plan p = {
        .g = g, .r = r, .instance = instance, .cls = c, .annotated = plan_annotated(c)};
    py_env *empty = arena_new(&g->unit->arena, py_env);
    empty->module = c->module ? c->module : g->main;
    p.env = p.annotated && p.annotated->env ? p.annotated->env : empty;
    p.m = arena_new(&g->unit->arena, module_type);
    if (arena_failed(&g->unit->arena)) return plan_no_memory(&p), NULL;
    p.m->prog = g;
    p.m->py_class = instance->u.inst.cls;
    p.m->instance = instance;
    bool ok = plan_fill(&p) && (!arena_failed(&g->unit->arena) || plan_no_memory(&p));
    strmap_free(&p.added);
    return ok ? p.m : NULL;
}
