/* SPDX-License-Identifier: Apache-2.0 */
/*
 * irgen_name.c - names and attributes: the meaning of x and x.name.
 *
 * A name is a variable of the function, else what source.h finds in the scope of a source program,
 * else a builtin. An attribute depends on what it is asked of: a slot or method of an object, a
 * field of a named tuple, an operator in disguise (x.dtype), an operator whose first argument is
 * the value (x.relu), a member of a namespace or class.
 * Tests: tests/corpus, tests/lang
 */
#include "frontend/irgen/irgen.h"
#include "frontend/pyeval/core/py.h"

#include <stdlib.h>

/* ---- names ----------------------------------------------------------------------------------- */

static void name_suggest_name(emitter *e, const char *name) {
    suggestion close = {.wanted = name};
    if (e->scope && e->scope->env && py_suggest_qualified(e->diag, e->scope->env, name)) return;
    if (e->scope && e->scope->ops->has_member(e, name))
        return diag_note(e->diag, (source_range){0}, "did you mean 'self.%s'?", name);
    for (const frame *f = e->env; f; f = f->next)
        for (size_t i = 0; i < f->vars.cap; i++)
            if (f->vars.slots[i].key && f->vars.slots[i].key[0] != '$')
                suggest_try(&close, f->vars.slots[i].key);
    if (e->scope && e->scope->env)
        for (const py_env *env = e->scope->env; env; env = env->outer) {
            const py_dict *d = env->vars;
            const py_object *module = env->module;
            for (int k = 0; k < 2;
                 k++, d = module && module->kind == PY_MODULE ? module->u.mod.globals : NULL)
                for (size_t i = 0; d && i < d->entries.len; i++) {
                    const py_object *key = d->entries.data[i].key;
                    if (key && key->kind == PY_VALUE && key->u.v.tag == V_STR)
                        suggest_try(&close, key->u.v.u.str->bytes);
                }
        }
    suggest_note(e->diag, &close);
}

sugar *irgen_name(emitter *e, const expr *x) {
    sugar *s = irgen_get_variable(e, x->range, x->name);
    if (s || irgen_failed(e)) return s;
    s = e->scope ? e->scope->ops->name(e, x->range, x->name) : irgen_builtin_name(e, x->name);
    if (s || irgen_failed(e)) return s;
    irgen_fail(e, x->range, "undefined value %s", x->name);
    name_suggest_name(e, x->name);
    return NULL;
}

/* ---- attributes ------------------------------------------------------------------------------ */

/* Attributes of tensors that are operators in disguise. */
static const struct { const char *name, *op; } name_properties[] = {
    {"dtype", "prim::dtype"},
    {"device", "prim::device"},
    {"shape", "aten::size"},
    {"grad", "prim::grad"},
    {"data", "prim::data"},
    {"is_cuda", "prim::is_cuda"},
    {"is_cpu", "prim::is_cpu"},
    {"is_sparse", "prim::is_sparse"},
    {"layout", "prim::layout"},
    {"is_quantized", "prim::is_quantized"},
    {"requires_grad", "prim::requires_grad"},
    {"is_leaf", "aten::is_leaf"},
    {"ndim", "aten::dim"},
    {"T", "aten::numpy_T"},
    {"H", "aten::matrix_H"},
    {"mT", "aten::mT"},
    {"mH", "aten::mH"},
    {"real", "aten::real"},
    {"imag", "aten::imag"},
    {"is_mkldnn", "prim::is_mkldnn"},
    {"itemsize", "prim::itemsize"},
    {"nbytes", "prim::nbytes"},
    {"name", "prim::name"},
    {"is_meta", "prim::is_meta"},
    {"is_nested", "prim::is_nested"},
    {"retains_grad", "aten::retains_grad"},
    {"is_sparse_csr", "prim::is_sparse_csr"},
    {"is_xpu", "prim::is_xpu"},
    {"is_mps", "prim::is_mps"},
    {"is_ipu", "prim::is_ipu"},
    {"is_vulkan", "prim::is_vulkan"},
};

static const char *name_tensor_property(const char *name) {
    for (size_t i = 0; i < sizeof name_properties / sizeof *name_properties; i++)
        if (!strcmp(name_properties[i].name, name)) return name_properties[i].op;
    return NULL;
}

static sugar *name_get_slot(emitter *e, source_range r, ir_value *obj, const char *name, type *t) {
    e->g->range = r;
    node *n = node_new(e->g, N_GET_ATTR, 1, &obj, 1);
    node_set_str(n, "name", name);
    graph_insert(e->g, n);
    n->outputs.data[0]->type = t;
    bool number = name[0] >= '0' && name[0] <= '9';
    value_set_name(n->outputs.data[0], number ? arena_printf(e->scratch, "_%s", name) : name);
    return sugar_of_value(e, n->outputs.data[0]);
}

static void name_unknown_member(emitter *e, source_range r, const type *cls, const char *name) {
    suggestion close = {.wanted = name};
    const class_info *c = cls->cls;
    for (size_t i = 0; i < c->attributes.len; i++) suggest_try(&close, c->attributes.data[i].name);
    for (size_t i = 0; i < c->constants.len; i++) suggest_try(&close, c->constants.data[i].name);
    for (size_t i = 0; i < c->methods.len; i++) suggest_try(&close, c->methods.data[i]->name);
    r = suggest_word(r, name);
    const char *short_name = strrchr(class_name(cls), '.') ? strrchr(class_name(cls), '.') + 1
                                                           : class_name(cls);
    if (c->source) irgen_fail(e, r, "Module '%s' has no attribute '%s'", short_name, name);
    else
        irgen_fail(e, r, "'%s' object has no attribute or method '%s'.%s", class_name(cls), name,
                   cls->kind == T_CLASS
                       ? " Did you forget to initialize an attribute in __init__()?"
                       : "");
    suggest_note(e->diag, &close);
}

const char *irgen_local_attribute(emitter *e, const char *name) {
    return arena_printf(e->scratch, "$self.%s", name);
}

/* self.x that only the method being compiled has given a value (irgen_assign.c) */
static sugar *name_local_attribute(emitter *e, source_range r, const ir_value *obj,
                                   const char *name) {
    if (!e->lenient || !e->fn || obj->type != e->fn->cls || obj->def || obj->owner != e->g->root)
        return NULL;
    const char *local = irgen_local_attribute(e, name);
    return irgen_find_variable(e, local) ? irgen_get_variable(e, r, local) : NULL;
}

static sugar *name_object_attribute(emitter *e, source_range r, ir_value *obj, const char *name) {
    type *cls = obj->type;
    int slot = cls->kind == T_CLASS ? class_find_attribute(cls, name) : -1;
    if (slot >= 0) return name_get_slot(e, r, obj, name, cls->cls->attributes.data[slot].type);
    const constant_attribute *ca = class_find_constant(cls, name);
    if (ca && e->scope) return e->scope->ops->constant(e, r, ca->val, ca->type);
    if (ca) return sugar_of_value(e, irgen_constant_take(e, value_ref(ca->val), ca->type));
    sugar *s = name_local_attribute(e, r, obj, name);
    if (s || irgen_failed(e)) return s;
    if (!class_find_method(cls, name)) {
        s = e->scope ? e->scope->ops->object_attribute(e, r, obj, name) : NULL;
        if (s || irgen_failed(e)) return s;
    }
    if (irgen_find_method(e, cls, name)) {
        s = sugar_new(e, SUGAR_METHOD);
        s->value = obj;
        s->name = name;
        return s;
    }
    if (!irgen_failed(e)) name_unknown_member(e, r, cls, name);
    return NULL;
}

/* Each mention of a member is a separate object: `is`
 * distinguishes them in PyTorch, `==` does not. */
static sugar *name_enum_member(emitter *e, type *t, size_t i) {
    const enum_value *member = t->cls->enum_members[i].u.enumv;
    enum_value *mention = enum_new(t, member->name, value_ref(member->val));
    if (!mention) return diag_no_memory(e->diag), NULL;
    return sugar_of_value(e, irgen_constant_take(e, value_enum_take(mention), t));
}

static sugar *name_class_attribute(emitter *e, source_range r, type *t, const char *name) {
    if (t->kind == T_ENUM) {
        suggestion close = {.wanted = name};
        for (size_t i = 0; i < t->cls->constants.len; i++) {
            if (!strcmp(t->cls->constants.data[i].name, name)) return name_enum_member(e, t, i);
            suggest_try(&close, t->cls->constants.data[i].name);
        }
        irgen_fail(e, r, "Enum '%s' has no member '%s'", class_name(t), name);
        suggest_note(e->diag, &close);
        return NULL;
    }
    if (t->kind == T_CLASS && !strcmp(name, "__new__")) {
        sugar *s = sugar_new(e, SUGAR_NEW);
        s->type = t;
        return s;
    }
    function *f = t->kind == T_CLASS ? class_find_method(t, name) : NULL;
    if (f) {
        sugar *s = sugar_new(e, SUGAR_FUNCTION);
        s->fn = f;
        return s;
    }
    sugar *found = e->scope ? e->scope->ops->class_attribute(e, r, t, name) : NULL;
    if (found || irgen_failed(e)) return found;
    irgen_fail(e, r, "class has no attribute '%s'", name);
    return NULL;
}

static sugar *name_qualified(emitter *e, const char *name) {
    type *cls = NULL;
    function *fn = NULL;
    if (unit_resolve(e->unit, e->diag, name, &cls, &fn) != CTSC_OK) return NULL;
    if (!cls && !fn) fn = builtin_qualified(e->unit, e->diag, name);
    if (irgen_failed(e)) return NULL;
    sugar *s = sugar_new(e, cls ? SUGAR_CLASS : fn ? SUGAR_FUNCTION : SUGAR_QUALIFIED);
    s->type = cls;
    s->fn = fn;
    s->name = name;
    return s;
}

static sugar *name_constants_member(emitter *e, source_range r, const char *name) {
    value all = e->unit->constants;
    char *end = NULL;
    unsigned long i = name[0] == 'c' && name[1] >= '0' && name[1] <= '9'
                          ? strtoul(name + 1, &end, 10)
                          : 0;
    if (!end || *end || all.tag != V_TUPLE || i >= all.u.tuple->len) {
        irgen_fail(e, r, "the archive has no constant %s", name);
        return NULL;
    }
    value v = all.u.tuple->items[i];
    return sugar_of_value(e, irgen_constant_take(e, value_ref(v), type_of_value(v)));
}

static sugar *name_named_field(emitter *e, source_range r, ir_value *v, const char *name) {
    type *t = v->type;
    for (int i = 0; i < t->nelems; i++) {
        if (strcmp(t->field_names[i], name)) continue;
        e->g->range = r;
        ir_value *in[] = {v, irgen_hidden_int(e, i)};
        node *n = graph_insert(e->g, node_new(e->g, N_TUPLE_INDEX, 2, in, 1));
        n->outputs.data[0]->type = t->elems[i];
        return sugar_of_value(e, n->outputs.data[0]);
    }
    return NULL;
}

/* Attributes that are operators; NULL without an error: none. */
static sugar *name_builtin_property(emitter *e, source_range r, ir_value *v, const char *name) {
    const char *op = NULL;
    int n = 0;
    switch (v->type->kind) {
    case T_ENUM:
        if (!strcmp(name, "name")) op = "prim::EnumName";
        else if (!strcmp(name, "value")) op = "prim::EnumValue";
        break;
    case T_TENSOR:
        op = name_tensor_property(name);
        if (op) op_overloads(op, &n);
        if (!n) op = NULL;
        break;
    case T_DEVICE:
        if (!strcmp(name, "type")) op = "prim::type";
        else if (!strcmp(name, "index")) op = "prim::index";
        break;
    case T_COMPLEX: { /* no operator has the parts of a number */
        const char *part = !strcmp(name, "real")   ? "complex_real"
                           : !strcmp(name, "imag") ? "complex_imag"
                                                   : NULL;
        function *f = part ? builtin_helper(e->unit, e->diag, part) : NULL;
        actual arg = {NULL, v, r};
        return f ? sugar_of_value(e, irgen_function_call(e, r, f, 1, &arg)) : NULL;
    }
    default: break;
    }
    if (!op) return NULL;
    ir_value *made = irgen_builtin_values(e, r, op, 1, &v);
    /* overloads differ in that alone */
    if (made && !strcmp(op, "prim::EnumValue")) made->type = v->type->cls->enum_value_type;
    return sugar_of_value(e, made);
}

/* The operator that x.name() calls, for a value of a builtin type. */
static const char *name_method_operator(emitter *e, const type *t, const char *name) {
    int n = 0;
    if (t->kind == T_TENSOR && !strcmp(name, "type")) name = "to";
    const char *op = arena_printf(e->scratch, "aten::%s", name);
    const struct op *const *list = op_overloads(op, &n);
    bool number = t->kind == T_INT || t->kind == T_FLOAT || t->kind == T_BOOL ||
                  t->kind == T_COMPLEX;
    for (int i = 0; i < n; i++)
        if (!number || (list[i]->schema->nargs && list[i]->schema->args[0].type->kind != T_TENSOR))
            return op;
    return NULL; /* none, or of tensors only */
}

static void name_unknown_method(emitter *e, source_range r, const ir_value *v, const char *name) {
    const type *t = v->type;
    strbuf sb = STRBUF_INIT;
    suggestion best = {.wanted = name};
    type_print_python(t, &sb);
    irgen_fail(e, suggest_word(r, name), "'%s' object has no attribute or method '%s'.",
               sb_str(&sb), name);
    sb_free(&sb);
    for (size_t i = 0; t->kind == T_TENSOR && i < sizeof name_properties / sizeof *name_properties;
         i++)
        suggest_try(&best, name_properties[i].name);
    for (int i = 0; t->field_names && i < t->nelems; i++) suggest_try(&best, t->field_names[i]);
    if (t->kind == T_TENSOR || t->kind == T_STR || t->kind == T_LIST || t->kind == T_DICT)
        suggest_operators(&best, (int)t->kind);
    suggest_note(e->diag, &best);
    source_range of = {r.src, r.begin, suggest_word(r, name).begin};
    if (of.end > of.begin) of.end--; /* the dot */
    explain_optional(e, of, v);
}

static sugar *name_value_attribute(emitter *e, source_range r, ir_value *v, const char *name) {
    type *t = v->type;
    if (t->kind == T_CLASS || t->kind == T_INTERFACE) return name_object_attribute(e, r, v, name);
    sugar *s = t->kind == T_TENSOR ? irgen_tensor_method(e, v, name) : NULL;
    if (!s && t->field_names) s = name_named_field(e, r, v, name);
    if (!s) s = name_builtin_property(e, r, v, name);
    if (s || irgen_failed(e)) return s;
    const char *op = name_method_operator(e, t, name);
    if (!op) return name_unknown_method(e, r, v, name), NULL;
    s = sugar_new(e, SUGAR_BUILTIN);
    s->name = op;
    s->value = v;
    return s;
}

sugar *irgen_attribute(emitter *e, source_range r, sugar *base, const char *name) {
    switch (base->kind) {
    case SUGAR_QUALIFIED:
        return name_qualified(e, arena_printf(e->scratch, "%s.%s", base->name, name));
    case SUGAR_NAMESPACE: return irgen_namespace_member(e, r, base, name);
    case SUGAR_CONSTANTS: return name_constants_member(e, r, name);
    case SUGAR_CLASS: return name_class_attribute(e, r, base->type, name);
    case SUGAR_PY: return e->scope->ops->attribute(e, r, base, name);
    case SUGAR_VALUE: return name_value_attribute(e, r, base->value, name);
    default:
        irgen_fail(e, r, "attribute lookup is not defined on %s", sugar_kind_text(base));
        return NULL;
    }
}

/* Asks by trying, in a place that is thrown away: attributes of Python objects can be
 * found in many ways. */
static bool name_try_attribute(emitter *e, sugar *base, const char *name) {
    graph *g = e->g;
    diag ours = {0}, **evaluator = e->scope ? e->scope->ops->diag(e->scope) : &e->diag;
    block *ib = g->insert_block;
    node *in = g->insert_before, *hold = node_new(g, N_IF, 0, NULL, 0); /* never inserted */
    graph_set_insert(g, node_add_block(hold), NULL);
    diag *outer = diag_redirect(&e->diag, &ours), *evaluators = diag_redirect(evaluator, &ours);
    bool found = irgen_attribute(e, g->range, base, name) != NULL;
    if (ours.status == CTSC_LIMIT) diag_append(outer, &ours);
    diag_restore(evaluator, evaluators);
    diag_restore(&e->diag, outer);
    diag_clear(&ours);
    graph_set_insert(g, ib, in);
    while (hold->blocks.data[0]->last) node_remove(hold->blocks.data[0]->last);
    return found;
}

bool irgen_has_attribute(emitter *e, sugar *base, const char *name) {
    const type *t = base->kind == SUGAR_VALUE ? base->value->type : NULL;
    if (t && (t->kind == T_CLASS || t->kind == T_INTERFACE)) {
        if (t->kind == T_CLASS && class_find_attribute(t, name) >= 0) return true;
        if (class_find_constant(t, name) || class_find_method(t, name)) return true;
        if (!e->scope) return false;
    }
    for (int i = 0; t && t->field_names && i < t->nelems; i++)
        if (!strcmp(t->field_names[i], name)) return true;
    return name_try_attribute(e, base, name);
}
