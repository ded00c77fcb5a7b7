/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_module.c - attributes that a trace reads from its module, and the resulting module.
 *
 *     declared "layer1.weight", used        class Net(Module):              class Net_layer1(Module):
 *                                             layer1 : __torch__.Net_layer1   weight : Tensor
 *                                             training : bool                 training : bool
 *
 * Tests: tests/unit/test_trace.c
 */
#include "frontend/trace/trace_internal.h"
#include "ir/graph/alias.h"

enum { MODULE_MAX_NESTING = 64 };

/* ---- classes --------------------------------------------------------------------------------- */

/* A class name that is free in the unit: __torch__.Net, __torch__.___torch_mangle_0.Net, ... */
static type *module_class(trace *t, const char *name) {
    unit *u = t->unit;
    const char *q = arena_printf(&u->arena, "__torch__.%s", name);
    for (int i = 0; !arena_failed(&u->arena) && strmap_get(&u->classes, q); i++)
        q = arena_printf(&u->arena, "__torch__.___torch_mangle_%d.%s", i, name);
    if (arena_failed(&u->arena)) return NULL;
    type *cls = type_class_new(u, T_CLASS, q);
    if (arena_failed(&u->arena) || !strmap_put(&u->classes, cls->cls->name, cls)) {
        u->arena.failed = true;
        return NULL;
    }
    cls->cls->is_module = true;
    return cls;
}

bool trace_begin_modules(trace *t, diag *d, const char *class_name) {
    if (!trace_name_fits(class_name, strlen(class_name), false))
        return diag_fail(d, CTSC_USAGE, "'%s' cannot be the name of a class", class_name), false;
    t->root.path = "";
    t->root.cls = module_class(t, class_name);
    return t->root.cls != NULL;
}

/* The modules and tensors of a given object. */
static bool module_adopt(trace *t, trace_module *m, object *o, int depth) {
    bool ok = depth <= MODULE_MAX_NESTING * 4 && ptrmap_put(&t->objects, o, m);
    m->cls = o->cls;
    for (size_t i = 0; i < o->nslots && ok; i++) {
        const attribute *a = &o->cls->cls->attributes.data[i];
        value v = o->slots[i];
        if (v.tag == V_OBJECT && v.u.object->cls->cls->is_module &&
            !ptrmap_get(&t->objects, v.u.object)) {
            trace_module *sub = arena_new(&t->arena, trace_module);
            *sub = (trace_module){.outer = m, .name = a->name};
            ok = !arena_failed(&t->arena) && vec_push(&t->modules, sub) &&
                 module_adopt(t, sub, v.u.object, depth + 1);
        } else if (v.tag == V_TENSOR && !ptrmap_get(&t->attribute_tensors, v.u.tensor)) {
            trace_declared *known = arena_new(&t->arena, trace_declared);
            *known = (trace_declared){.name = a->name, .v = v, .in = m};
            ok = !arena_failed(&t->arena) && vec_push(&t->declared, known);
            if (ok) value_ref(v);
            ok = ok && ptrmap_put(&t->attribute_tensors, v.u.tensor, known);
        }
    }
    return ok;
}

bool trace_begin_given(trace *t, diag *d, object *root) {
    t->given = value_ref(value_object_take(root)).u.object;
    return module_adopt(t, &t->root, root, 0) || (diag_no_memory(d), false);
}

static void module_free_slots(trace_module *m) {
    for (size_t i = 0; i < m->slots.len; i++) value_unref(m->slots.data[i]);
    vec_free(&m->slots);
    vec_free(&m->subs);
}

void trace_free_modules(trace *t) {
    module_free_slots(&t->root);
    for (size_t i = 0; i < t->modules.len; i++) module_free_slots(t->modules.data[i]);
    for (size_t i = 0; i < t->declared.len; i++) value_unref(t->declared.data[i]->v);
    for (size_t i = 0; i < t->scripts.len; i++)
        value_unref((value){.tag = V_OBJECT, .u.object = t->scripts.data[i].o});
    if (t->given) value_unref(value_object_take(t->given));
    vec_free(&t->modules);
    vec_free(&t->declared);
    vec_free(&t->scripts);
    ptrmap_free(&t->attribute_handles);
    ptrmap_free(&t->attribute_tensors);
    strmap_free(&t->attribute_names);
}

/* Adds a slot; takes v. */
static bool module_add(trace *t, trace_module *m, const char *name, type *ty, int role, value v,
                       trace_module *sub) {
    attribute a = {.name = intern(&t->unit->names, name),
                   .type = ty,
                   .is_parameter = role == TRACE_PARAMETER,
                   .is_buffer = role == TRACE_BUFFER};
    bool room = vec_reserve(&m->subs, m->subs.len + 1) && vec_reserve(&m->slots, m->slots.len + 1);
    if (!room || !avec_push(&t->unit->arena, &m->cls->cls->attributes, a)) {
        value_unref(v);
        t->arena.failed = true;
        return false;
    }
    m->subs.data[m->subs.len++] = sub;
    m->slots.data[m->slots.len++] = v;
    return true;
}

/* prim::GetAttr in front of everything recorded. */
static ir_value *module_read(trace *t, ir_value *self, const char *name, type *ty) {
    node *n = node_new(t->g, N_GET_ATTR, 1, &self, 1);
    n->outputs.data[0]->type = ty;
    node_set_str(n, "name", name);
    node_insert_before(n, t->anchor);
    value_set_name(n->outputs.data[0], name);
    return n->outputs.data[0];
}

/* The value of a module in a given root, read where it is first needed. */
static ir_value *module_value(trace *t, trace_module *m) {
    VEC(trace_module *) unread = {0};
    bool ok = true;
    for (; !m->ir && ok; m = m->outer) ok = vec_push(&unread, m);
    for (size_t i = unread.len; i-- && ok;)
        unread.data[i]->ir = module_read(t, unread.data[i]->outer->ir, unread.data[i]->name,
                                         unread.data[i]->cls);
    ir_value *v = !ok ? NULL : unread.len ? unread.data[0]->ir : m->ir;
    vec_free(&unread);
    return v;
}

ir_value *trace_object(trace *t, diag *d, const object *o) {
    trace_module *m = ptrmap_get(&t->objects, o);
    ir_value *v = m ? module_value(t, m) : NULL;
    if (!m)
        diag_fail(d, CTSC_UNSUPPORTED,
                  "a scripted module that is called while tracing has to be a part of the module "
                  "that is traced");
    else if (!v) diag_no_memory(d);
    return v;
}

static ir_value *module_read_tensor(trace *t, diag *d, trace_declared *a) {
    ir_value *self = module_value(t, a->in);
    if (!self) return diag_no_memory(d), NULL;
    int slot = class_find_attribute(a->in->cls, a->name);
    a->ir = module_read(t, self, a->name, a->in->cls->cls->attributes.data[slot].type);
    if (a->ir->type->kind != T_OPTIONAL) return a->ir;
    const op *unwrap = op_find("aten::_unwrap_optional");
    node *n = unwrap ? node_new_op(t->g, unwrap, 1, &a->ir) : NULL;
    if (!n) return diag_fail(d, CTSC_INTERNAL, "no operator takes values out of optionals"), NULL;
    node_insert_before(n, t->anchor);
    n->outputs.data[0]->type = TYPE_TENSOR;
    return a->ir = n->outputs.data[0];
}

/* Module `part` of m, with a class called class_name. NULL if out of memory. */
static trace_module *module_new(trace *t, trace_module *m, const char *part,
                                const char *class_name) {
    trace_module *sub = arena_new(&t->arena, trace_module);
    type *cls = arena_failed(&t->arena) ? NULL : module_class(t, class_name);
    if (!cls || !vec_push(&t->modules, sub)) return NULL;
    sub->path = class_name;
    sub->cls = cls;
    sub->ir = module_read(t, m->ir, part, cls);
    return module_add(t, m, part, cls, -1, value_uninit(), sub) ? sub : NULL;
}

/* The module named by the part of `name` before its last
 * dot, created if need be; *last: the part after the dot. */
static trace_module *module_for(trace *t, diag *d, const char *name, const char **last) {
    trace_module *m = &t->root;
    const char *at = name, *dot;
    for (int depth = 0; (dot = strchr(at, '.')); at = dot + 1, depth++) {
        const char *part = arena_strndup(&t->arena, at, (size_t)(dot - at));
        if (!part) return diag_no_memory(d), NULL;
        int slot = class_find_attribute(m->cls, part);
        trace_module *sub = slot >= 0 ? m->subs.data[slot] : NULL;
        if (slot >= 0 && !sub)
            return diag_fail(d, CTSC_USAGE, "attribute '%s': '%s' is a value, not a module", name,
                             part),
                   NULL;
        if (depth > MODULE_MAX_NESTING)
            return diag_fail(d, CTSC_LIMIT, "attribute '%s' is nested too deeply", name), NULL;
        if (!sub) {
            const char *root = strrchr(t->root.cls->cls->name, '.') + 1;
            char *text = arena_printf(&t->arena, "%s_%.*s", root, (int)(dot - name), name);
            if (!text || arena_failed(&t->arena)) return diag_no_memory(d), NULL;
            for (char *p = text; *p; p++)
                if (*p == '.') *p = '_';
            if (!(sub = module_new(t, m, part, text))) return diag_no_memory(d), NULL;
        }
        m = sub;
    }
    *last = at;
    return m;
}

/* ---- attributes ------------------------------------------------------------------------------ */

static bool module_name_fits(const char *name) {
    for (const char *at = name, *dot; at; at = dot ? dot + 1 : NULL) {
        dot = strchr(at, '.');
        size_t n = dot ? (size_t)(dot - at) : strlen(at);
        bool taken = (n == 8 && !memcmp(at, "training", n)) ||
                     (n == 7 && !memcmp(at, "forward", n));
        if (taken || !trace_name_fits(at, n, true)) return false;
    }
    return strlen(name) < 1000;
}

static ctsc_status trace_declare(trace *t, diag *d, const char *name, value v,
                                 trace_declared **out) {
    type *ty = type_of_value(v);
    if (ty->of_class || v.tag == V_NONE)
        return diag_fail(d, CTSC_UNSUPPORTED,
                         "attribute '%s': only tensors, numbers, strings and containers of them "
                         "can be attributes of a "
                         "trace",
                         name);
    trace_declared *a = arena_new(&t->arena, trace_declared);
    *a = (trace_declared){.v = value_ref(v)};
    if (arena_failed(&t->arena) || !vec_push(&t->declared, a)) {
        value_unref(v);
        return diag_no_memory(d);
    }
    *out = a;
    return CTSC_OK;
}

ctsc_status trace_attribute(trace *t, diag *d, const char *name, trace_role role, trace_operand x) {
    bool tensor = x.v.tag == V_TENSOR;
    trace_declared *a = tensor ? ptrmap_get(&t->attribute_tensors, x.v.u.tensor) : NULL;
    if (!module_name_fits(name))
        return diag_fail(d, CTSC_USAGE, "'%s' cannot be the name of an attribute", name);
    if (tensor && !a &&
        (ptrmap_get(&t->tensors, x.v.u.tensor) || ptrmap_get(&t->constants, x.v.u.tensor)))
        return diag_fail(
            d, CTSC_USAGE,
            "attribute '%s' is an input, was computed by the trace, or has been used as a constant",
            name);
    if (!a) TRY(trace_declare(t, d, name, x.v, &a));
    if (!a->ir) {
        a->name = arena_strdup(&t->arena, name);
        a->role = role;
    }
    if (tensor && !ptrmap_put(&t->attribute_tensors, x.v.u.tensor, a)) return diag_no_memory(d);
    if (x.handle && !ptrmap_put(&t->attribute_handles, x.handle, a)) return diag_no_memory(d);
    return trace_status(t, d);
}

/* Numbers may be declared each time they are read. */
static ir_value *attribute_again(const trace *t, const trace_declared *a) {
    const trace_declared *other = strmap_get(&t->attribute_names, a->name);
    return other && a->v.tag != V_TENSOR && other->v.tag == a->v.tag && value_equal(other->v, a->v)
               ? other->ir
               : NULL;
}

ir_value *trace_attribute_of(trace *t, diag *d, trace_operand x) {
    trace_declared *a = x.handle ? ptrmap_get(&t->attribute_handles, x.handle) : NULL;
    if (!a && x.v.tag == V_TENSOR) a = ptrmap_get(&t->attribute_tensors, x.v.u.tensor);
    if (!a || a->ir) return a ? a->ir : NULL;
    if (a->in) return module_read_tensor(t, d, a);
    if ((a->ir = attribute_again(t, a))) return a->ir;
    const char *last;
    trace_module *m = module_for(t, d, a->name, &last);
    if (!m) return NULL;
    if (class_find_attribute(m->cls, last) >= 0)
        return diag_fail(d, CTSC_USAGE,
                         "two different values are used as attribute '%s': declare one of them "
                         "with another name",
                         a->name),
               NULL;
    type *ty = type_without_details(type_of_value(a->v));
    int role = ty->kind == T_TENSOR ? (int)a->role : -1;
    if (!module_add(t, m, last, ty, role, value_ref(a->v), NULL)) return diag_no_memory(d), NULL;
    if (!strmap_put(&t->attribute_names, a->name, a)) return diag_no_memory(d), NULL;
    return a->ir = module_read(t, m->ir, last, ty);
}

/* ---- scripts --------------------------------------------------------------------------------- */

object *trace_find_submodule(const trace *t, const void *key, ir_value **self) {
    for (size_t i = 0; i < t->scripts.len; i++)
        if (t->scripts.data[i].key == key)
            return *self = t->scripts.data[i].ir, t->scripts.data[i].o;
    return NULL;
}

ctsc_status trace_submodule(trace *t, diag *d, const void *key, const char *name, object *o,
                            ir_value **self) {
    const char *own = arena_strdup(&t->arena, name);
    for (int i = 1; own && class_find_attribute(t->root.cls, own) >= 0; i++)
        own = arena_printf(&t->arena, "%s_%d", name, i);
    if (!own) return diag_no_memory(d);
    value v = value_ref((value){.tag = V_OBJECT, .u.object = o});
    if (!module_add(t, &t->root, own, o->cls, -1, v, NULL)) return diag_no_memory(d);
    trace_script s = {key, o, module_read(t, t->self, own, o->cls)};
    if (!vec_push(&t->scripts, s)) return diag_no_memory(d);
    value_ref(v);
    *self = s.ir;
    return trace_status(t, d);
}

/* ---- the module ------------------------------------------------------------------------------ */

/* Each run begins with what a constant was:  %c = prim::Constant; aten::add_(%c, ...)  ->  %c = ...; %d = aten::clone(%c); aten::add_(%d, ...) */
static bool module_copy_constants(trace *t) {
    alias_db *db = alias_new(t->g);
    if (!db) return false;
    VEC(node *) written = {0};
    bool ok = true;
    for (node *n = t->g->root->first; n && ok; n = n->next) {
        bool tensor = n->kind == N_CONSTANT && n->outputs.data[0]->type->kind == T_TENSOR;
        if (tensor && alias_ever_written(db, n->outputs.data[0])) ok = vec_push(&written, n);
    }
    alias_free(db);
    const op *clone = op_find("aten::clone");
    for (size_t i = 0; i < written.len && ok && clone; i++) {
        ir_value *old = written.data[i]->outputs.data[0];
        graph_set_insert(t->g, t->g->root, written.data[i]->next);
        ir_value *in[] = {old, graph_constant_none(t->g)};
        node *copy = graph_insert(t->g, node_new_op(t->g, clone, 2, in));
        value_replace_uses(old, copy->outputs.data[0]);
        node_set_input(copy, 0, old);
    }
    vec_free(&written);
    graph_set_insert(t->g, t->g->root, NULL);
    return ok && clone;
}

static object *module_object(trace *t, trace_module *m, int depth) {
    if (depth > MODULE_MAX_NESTING + 1) return NULL;
    if (class_find_attribute(m->cls, "training") < 0 &&
        !module_add(t, m, "training", TYPE_BOOL, -1, value_bool(false), NULL))
        return NULL;
    object *o = object_new(m->cls, m->slots.len);
    for (size_t i = 0; o && i < m->slots.len; i++) {
        object *sub = m->subs.data[i] ? module_object(t, m->subs.data[i], depth + 1) : NULL;
        if (m->subs.data[i] && !sub) {
            value_unref(value_object_take(o));
            return NULL;
        }
        o->slots[i] = sub ? value_object_take(sub) : value_ref(m->slots.data[i]);
    }
    return o;
}

/* forward(self, inputs...) -> result */
static function *module_forward(trace *t, graph *g) {
    unit *u = t->unit;
    const char *name = arena_printf(&u->arena, "%s.forward", class_name(t->root.cls));
    schema *s = arena_new(&u->arena, schema);
    s->nargs = (int)g->root->params.len;
    s->nreturns = 1;
    s->overload = "";
    s->args = arena_array(&u->arena, argument, s->nargs);
    s->returns = arena_array(&u->arena, argument, 1);
    function *f = name && s->args && s->returns ? unit_add_function(u, name, t->root.cls) : NULL;
    if (!f) return NULL;
    s->name = f->name;
    for (int i = 0; i < s->nargs; i++)
        s->args[i] = (argument){.name = i ? intern(&u->names, t->inputs.data[i - 1]) : "self",
                                .type = g->root->params.data[i]->type};
    s->returns[0] = (argument){.name = "", .type = g->root->returns.data[0]->type};
    f->schema = s;
    f->return_declared = true;
    f->graph = g;
    f->state = FUNCTION_READY;
    avec_push(&u->arena, &t->root.cls->cls->methods, f);
    return f;
}

ctsc_status trace_finish(trace *t, diag *d, value *out) {
    if (!module_copy_constants(t)) return diag_no_memory(d);
    graph *g = t->keep_graph ? graph_clone(t->g) : t->g;
    if (!g) return diag_no_memory(d);
    ctsc_status s = trace_status(t, d);
    if (s == CTSC_OK) s = graph_verify(d, g);
    if (s == CTSC_OK && t->unit->simplify) s = t->unit->simplify(g, d);
    object *o = s != CTSC_OK ? NULL
                : t->given   ? value_ref(value_object_take(t->given)).u.object
                             : module_object(t, &t->root, 0);
    if (!o || !module_forward(t, g)) {
        if (g != t->g) graph_free(g);
        if (o) value_unref(value_object_take(o));
        return s == CTSC_OK ? diag_no_memory(d) : s;
    }
    if (g == t->g) t->g = NULL;
    *out = value_object_take(o);
    return CTSC_OK;
}
