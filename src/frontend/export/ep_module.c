/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ep_module.c - classes and objects for the state of a program: "layers.0.weight" is attribute
 * weight of module 0 of module layers.
 *
 * Classes are called what the program says its modules were (nn_module_stack), else after their
 * path. A module that shares its class with another one has a class of its own all the same: each
 * has the attributes that the program has for it.
 */
#include "frontend/export/ep_module.h"

#include "base/text/text.h"

enum { MODULE_DEPTH = 64, MODULE_NAME = 2000, MODULE_CLASS_NAME = 300 };

/* name as code can say it: "encoder.0" is encoder._0. */
static char *module_class_name(ep_modules *p, const char *name) {
    size_t n = strnlen(name, MODULE_CLASS_NAME), k = 0;
    char *own = arena_alloc(&p->unit->arena, 2 * n + 1);
    for (size_t i = 0; own && i < n; i++) {
        char c = name[i];
        bool first = !k || own[k - 1] == '.', dot = c == '.' && !first && i + 1 < n;
        if (first && text_is_digit(c)) own[k++] = '_';
        own[k++] = dot || text_is_alnum(c) ? c : '_';
    }
    return own;
}

static bool modules_no_memory(ep_modules *p) {
    if (p->d->status == CTSC_OK) diag_no_memory(p->d);
    return false;
}

static bool modules_bad(ep_modules *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static bool modules_bad(ep_modules *p, const char *fmt, ...) {
    strbuf sb = STRBUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    sb_vprintf(&sb, fmt, ap);
    va_end(ap);
    diag_fail(p->d, CTSC_BAD_FILE, "record %s: %s", p->record, sb_str(&sb));
    sb_free(&sb);
    return false;
}

/* A class name that is free in the unit, as in traced modules. */
static type *module_class(ep_modules *p, const char *name) {
    unit *u = p->unit;
    char *own = module_class_name(p, name);
    const char *q = arena_printf(&u->arena, "__torch__.%s", own ? own : "");
    for (int i = 0; !arena_failed(&u->arena) && strmap_get(&u->classes, q); i++)
        q = arena_printf(&u->arena, "__torch__.___torch_mangle_%d.%s", i, own);
    if (arena_failed(&u->arena)) return modules_no_memory(p), NULL;
    type *cls = type_class_new(u, T_CLASS, q);
    if (arena_failed(&u->arena) || !strmap_put(&u->classes, cls->cls->name, cls))
        return modules_no_memory(p), NULL;
    cls->cls->is_module = true;
    return cls;
}

bool ep_modules_begin(ep_modules *p) {
    const char *name = strmap_get(&p->types, "");
    p->root.path = "";
    p->root.cls = module_class(p, name ? name : p->class_name);
    if (!p->root.cls) return false;
    if (!(p->g = graph_new())) return modules_no_memory(p);
    p->self = block_add_param(p->g->root, p->root.cls);
    value_set_name(p->self, "self");
    p->anchor = graph_insert(p->g, node_new(p->g, N_CONSTANT, 0, NULL, 1));
    p->anchor->outputs.data[0]->type = TYPE_NONE;
    return !arena_failed(&p->g->arena) || modules_no_memory(p);
}

function *ep_modules_forward(ep_modules *p, const char *const *names) {
    unit *u = p->unit;
    type *cls = p->root.cls;
    const block *root = p->g->root;
    const char *name = arena_printf(&u->arena, "%s.forward", class_name(cls));
    schema *sc = arena_new(&u->arena, schema);
    sc->nargs = (int)root->params.len;
    sc->nreturns = 1;
    sc->overload = "";
    sc->args = arena_array(&u->arena, argument, sc->nargs);
    sc->returns = arena_array(&u->arena, argument, 1);
    function *f = name && sc->args && sc->returns ? unit_add_function(u, name, cls) : NULL;
    if (!f) return NULL;
    sc->name = f->name;
    for (int i = 0; i < sc->nargs; i++)
        sc->args[i] = (argument){.name = i ? names[i - 1] : "self",
                                 .type = root->params.data[i]->type};
    sc->returns[0] = (argument){.name = "", .type = root->returns.data[0]->type};
    f->schema = sc;
    f->return_declared = true;
    f->graph = p->g;
    f->state = FUNCTION_READY;
    p->g = NULL;
    return avec_push(&u->arena, &cls->cls->methods, f) && !arena_failed(&u->arena) ? f : NULL;
}

void ep_modules_end(ep_modules *p) {
    graph_free(p->g);
    for (size_t k = 0; k <= p->all.len; k++) {
        ep_module *m = k < p->all.len ? p->all.data[k] : &p->root;
        for (size_t i = 0; i < m->slots.len; i++) value_unref(m->slots.data[i]);
        vec_free(&m->slots);
        vec_free(&m->subs);
        strmap_free(&m->index);
    }
    vec_free(&p->all);
}

/* -1: there is none. Classes find theirs one by one, which thousands of weights are too many for. */
static int module_slot(const ep_module *m, const char *name) {
    return (int)(uintptr_t)strmap_get(&m->index, name) - 1;
}

/* Adds a slot; takes v. */
static bool module_add(ep_modules *p, ep_module *m, const char *name, type *ty, int role, value v,
                       ep_module *sub) {
    attribute a = {.name = intern(&p->unit->names, name),
                   .type = ty,
                   .is_parameter = role == EP_PARAMETER,
                   .is_buffer = role == EP_BUFFER};
    bool room = vec_reserve(&m->subs, m->subs.len + 1) &&
                vec_reserve(&m->slots, m->slots.len + 1) && a.name &&
                strmap_put(&m->index, a.name, (void *)(m->slots.len + 1));
    if (!room || !avec_push(&p->unit->arena, &m->cls->cls->attributes, a)) {
        value_unref(v);
        return modules_no_memory(p);
    }
    m->subs.data[m->subs.len++] = sub;
    m->slots.data[m->slots.len++] = v;
    return true;
}

static ep_module *module_new(ep_modules *p, ep_module *outer, const char *name, const char *path) {
    const char *cls = strmap_get(&p->types, path);
    ep_module *m = arena_new(p->scratch, ep_module);
    *m = (ep_module){.path = path, .outer = outer, .name = name};
    if (!(m->cls = module_class(p, cls ? cls : path))) return NULL;
    if (arena_failed(p->scratch) || !vec_push(&p->all, m)) return modules_no_memory(p), NULL;
    return module_add(p, outer, name, m->cls, -1, value_uninit(), m) ? m : NULL;
}

/* The module named by the part of `name` before its last dot; *last: the part after it. */
static ep_module *module_of(ep_modules *p, const char *name, const char **last) {
    ep_module *m = &p->root;
    const char *at = name, *dot;
    for (int depth = 0; (dot = strchr(at, '.')); at = dot + 1, depth++) {
        const char *part = arena_strndup(p->scratch, at, (size_t)(dot - at)),
                   *path = arena_strndup(p->scratch, name, (size_t)(dot - name));
        if (!part || !path) return modules_no_memory(p), NULL;
        if (!*part || depth > MODULE_DEPTH)
            return modules_bad(p, "'%.200s' cannot be the name of an attribute", name), NULL;
        int slot = module_slot(m, part);
        if (slot >= 0 && !m->subs.data[slot])
            return modules_bad(p, "'%.200s': '%s' is a tensor and a module", name, part), NULL;
        if (!(m = slot >= 0 ? m->subs.data[slot] : module_new(p, m, part, path))) return NULL;
    }
    *last = at;
    return m;
}

ep_state *ep_modules_add(ep_modules *p, const char *name, ep_role role, value v) {
    const char *last = NULL;
    ep_module *m = strlen(name) < MODULE_NAME
                       ? module_of(p, name, &last)
                       : (modules_bad(p, "an attribute has a name of %zu bytes", strlen(name)),
                          NULL);
    if (m && (!*last || module_slot(m, last) >= 0)) {
        modules_bad(p,
                    *last ? "there are two attributes '%.200s'"
                          : "'%.200s' cannot be the name of an attribute",
                    name);
        m = NULL;
    }
    if (!m) return value_unref(v), NULL;
    ep_state *s = arena_new(p->scratch, ep_state);
    *s = (ep_state){.in = m};
    if (!module_add(p, m, last, TYPE_TENSOR, role, v, NULL)) return NULL;
    s->name = m->cls->cls->attributes.data[m->cls->cls->attributes.len - 1].name;
    return arena_failed(p->scratch) ? (modules_no_memory(p), NULL) : s;
}

/* prim::GetAttr in front of everything else. */
static ir_value *module_read(ep_modules *p, ir_value *self, const char *name, type *ty) {
    node *n = node_new(p->g, N_GET_ATTR, 1, &self, 1);
    n->outputs.data[0]->type = ty;
    node_set_str(n, "name", name);
    n->range = (source_range){0};
    node_insert_before(n, p->anchor);
    value_set_name(n->outputs.data[0], name);
    return n->outputs.data[0];
}

static ir_value *module_value(ep_modules *p, ep_module *m) {
    if (!m->outer) return p->self;
    /* as deep as MODULE_DEPTH */
    if (!m->ir) m->ir = module_read(p, module_value(p, m->outer), m->name, m->cls);
    return m->ir;
}

ir_value *ep_modules_read(ep_modules *p, ep_state *s) {
    if (!s->ir) s->ir = module_read(p, module_value(p, s->in), s->name, TYPE_TENSOR);
    return s->ir;
}

object *ep_modules_object(ep_modules *p, ep_module *m) {
    if (class_find_attribute(m->cls, "training") < 0 &&
        !module_add(p, m, "training", TYPE_BOOL, -1, value_bool(false), NULL))
        return NULL;
    object *o = object_new(m->cls, m->slots.len);
    for (size_t i = 0; o && i < m->slots.len; i++) {
        object *sub = m->subs.data[i] ? ep_modules_object(p, m->subs.data[i]) : NULL;
        if (m->subs.data[i] && !sub) return value_unref(value_object_take(o)), NULL;
        o->slots[i] = sub ? value_object_take(sub) : value_ref(m->slots.data[i]);
    }
    return o ? o : (modules_no_memory(p), NULL);
}
