/* SPDX-License-Identifier: Apache-2.0 */
/*
 * emit_expr.c - expressions.
 *
 * Tests: tests/corpus
 */
#include "frontend/emit.h"
#include "frontend/importer.h"

#include <stdlib.h>

enum { EMIT_MAX_DEPTH = 400 };

sugar *sugar_new(emitter *e, sugar_kind kind) {
    sugar *s = arena_new(e->scratch, sugar);
    s->kind = kind;
    return s;
}

sugar *sugar_of_value(emitter *e, ir_value *v) {
    if (!v) return NULL;
    sugar *s = sugar_new(e, SUGAR_VALUE);
    s->value = v;
    return s;
}

ir_value *emit_constant_take(emitter *e, value v, type *t) {
    return graph_constant_take(e->g, v, t);
}

/* A function as a value: prim::Constant[name="f"] of type Function. */
static ir_value *expr_function_value(emitter *e, function *f) {
    value v = {.tag = V_FUNCTION, .u.function = f};
    ir_value *c = graph_constant_take(e->g, v, TYPE_FUNCTION);
    if (c && c->def) node_set_str(c->def, "name", f->name);
    return c;
}

ir_value *emit_as_value(emitter *e, source_range r, sugar *s) {
    switch (s->kind) {
    case SUGAR_VALUE: return s->value;
    case SUGAR_FUNCTION: return expr_function_value(e, s->fn);
    case SUGAR_NAMESPACE:
    case SUGAR_QUALIFIED: return emit_fail(e, r, "module '%s' cannot be used as a value", s->name);
    case SUGAR_CLASS: return emit_fail(e, r, "a class cannot be used as a value");
    default: return emit_fail(e, r, "this name cannot be used as a value");
    }
}

ir_value *emit_list(emitter *e, source_range r, type *elem, int n, ir_value *const *values) {
    e->g->range = r;
    node *nd = graph_insert(e->g, node_new(e->g, N_LIST_CONSTRUCT, n, values, 1));
    nd->outputs.data[0]->type = type_list(elem);
    return nd->outputs.data[0];
}

ir_value *emit_tuple(emitter *e, source_range r, type *t, int n, ir_value *const *values) {
    e->g->range = r;
    node *nd = graph_insert(e->g, node_new(e->g, N_TUPLE_CONSTRUCT, n, values, 1));
    if (!t) {
        type **types = arena_array(e->scratch, type *, n ? n : 1);
        if (!types) return diag_no_memory(e->diag), NULL;
        for (int i = 0; i < n; i++) types[i] = values[i]->type;
        t = type_tuple(n, types);
    }
    nd->outputs.data[0]->type = t;
    return nd->outputs.data[0];
}

bool emit_unpack(emitter *e, source_range r, ir_value *v, size_t expected, ir_value ***out, int *n) {
    type *t = v->type;
    e->g->range = r;
    if (t->kind == T_TUPLE) {
        node *nd = graph_insert(e->g, node_new(e->g, N_TUPLE_UNPACK, 1, &v, 0));
        for (int i = 0; i < t->nelems; i++) node_add_output(nd, t->elems[i]);
        *out = nd->outputs.data;
        *n = t->nelems;
        return true;
    }
    if (t->kind == T_LIST && expected) {
        node *nd = graph_insert(e->g, node_new(e->g, N_LIST_UNPACK, 1, &v, 0));
        for (size_t i = 0; i < expected; i++) node_add_output(nd, type_elem(t));
        *out = nd->outputs.data;
        *n = (int)expected;
        return true;
    }
    strbuf sb = STRBUF_INIT;
    type_print_python(t, &sb);
    emit_fail(e, r, "%s cannot be used as a tuple", sb_str(&sb));
    sb_free(&sb);
    return false;
}

/* ---- names and attributes ------------------------------------------------------------------------------ */

static sugar *expr_name(emitter *e, const expr *x) {
    sugar *s = emit_get_variable(e, x->range, x->name);
    if (s || emit_failed(e)) return s;
    s = emit_builtin_name(e, x->name);
    if (s) return s;
    emit_fail(e, x->range, "undefined value %s", x->name);
    return NULL;
}

/* Attributes of tensors that are operators in disguise. */
static const char *expr_tensor_property(const char *name) {
    static const struct { const char *name, *op; } table[] = {
        {"dtype", "prim::dtype"},   {"device", "prim::device"},     {"shape", "aten::size"},
        {"grad", "prim::grad"},     {"data", "prim::data"},         {"is_cuda", "prim::is_cuda"},
        {"is_cpu", "prim::is_cpu"}, {"is_sparse", "prim::is_sparse"}, {"layout", "prim::layout"},
        {"is_quantized", "prim::is_quantized"}, {"requires_grad", "prim::requires_grad"},
        {"is_leaf", "aten::is_leaf"}, {"ndim", "aten::dim"},        {"T", "aten::numpy_T"},
        {"H", "aten::matrix_H"},    {"mT", "aten::mT"},             {"mH", "aten::mH"},
        {"real", "aten::real"},     {"imag", "aten::imag"},         {"is_mkldnn", "prim::is_mkldnn"},
        {"itemsize", "prim::itemsize"}, {"nbytes", "prim::nbytes"}, {"name", "prim::name"},
        {"is_meta", "prim::is_meta"}, {"is_nested", "prim::is_nested"}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (!strcmp(table[i].name, name)) return table[i].op;
    return NULL;
}

static sugar *expr_object_attribute(emitter *e, source_range r, ir_value *obj, const char *name) {
    type *cls = obj->type;
    int slot = cls->kind == T_CLASS ? class_find_attribute(cls, name) : -1;
    if (slot >= 0) {
        e->g->range = r;
        node *n = node_new(e->g, N_GET_ATTR, 1, &obj, 1);
        node_set_str(n, "name", name);
        graph_insert(e->g, n);
        n->outputs.data[0]->type = cls->cls->attributes.data[slot].type;
        bool number = name[0] >= '0' && name[0] <= '9';
        value_set_name(n->outputs.data[0], number ? arena_printf(e->scratch, "_%s", name) : name);
        return sugar_of_value(e, n->outputs.data[0]);
    }
    const constant_attribute *ca = class_find_constant(cls, name);
    if (ca) return sugar_of_value(e, emit_constant_take(e, value_ref(ca->val), ca->type));
    if (class_find_method(cls, name)) {
        sugar *s = sugar_new(e, SUGAR_METHOD);
        s->value = obj;
        s->name = name;
        return s;
    }
    emit_fail(e, r, "object of type '%s' has no attribute or method '%s'", class_name(cls), name);
    return NULL;
}

/* Each mention of a member is an object of its own: `is` tells them apart in PyTorch, `==` does not. */
static sugar *expr_enum_member(emitter *e, type *t, size_t i) {
    const enum_value *member = t->cls->enum_members[i].u.enumv;
    enum_value *mention = enum_new(t, member->name, value_ref(member->val));
    if (!mention) return diag_no_memory(e->diag), NULL;
    return sugar_of_value(e, emit_constant_take(e, value_enum_take(mention), t));
}

static sugar *expr_class_attribute(emitter *e, source_range r, type *t, const char *name) {
    if (t->kind == T_ENUM) {
        for (size_t i = 0; i < t->cls->constants.len; i++)
            if (!strcmp(t->cls->constants.data[i].name, name))
                return expr_enum_member(e, t, i);
        emit_fail(e, r, "Enum '%s' has no member '%s'", class_name(t), name);
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
    emit_fail(e, r, "class has no attribute '%s'", name);
    return NULL;
}

static sugar *expr_qualified(emitter *e, source_range r, const char *name) {
    type *cls = NULL;
    function *fn = NULL;
    (void)r;
    if (unit_resolve(e->unit, e->diag, name, &cls, &fn) != CTSC_OK) return NULL;
    sugar *s = sugar_new(e, cls ? SUGAR_CLASS : fn ? SUGAR_FUNCTION : SUGAR_QUALIFIED);
    s->type = cls;
    s->fn = fn;
    s->name = name;
    return s;
}

static sugar *expr_constants_member(emitter *e, source_range r, const char *name) {
    value all = e->unit->constants;
    char *end = NULL;
    unsigned long i = name[0] == 'c' && name[1] >= '0' && name[1] <= '9' ? strtoul(name + 1, &end, 10) : 0;
    if (!end || *end || all.tag != V_TUPLE || i >= all.u.tuple->len) {
        emit_fail(e, r, "the archive has no constant %s", name);
        return NULL;
    }
    value v = all.u.tuple->items[i];
    return sugar_of_value(e, emit_constant_take(e, value_ref(v), type_of_value(v)));
}

sugar *emit_attribute(emitter *e, source_range r, sugar *base, const char *name) {
    switch (base->kind) {
    case SUGAR_QUALIFIED:
        return expr_qualified(e, r, arena_printf(e->scratch, "%s.%s", base->name, name));
    case SUGAR_NAMESPACE: return emit_namespace_member(e, r, base, name);
    case SUGAR_CONSTANTS: return expr_constants_member(e, r, name);
    case SUGAR_CLASS: return expr_class_attribute(e, r, base->type, name);
    case SUGAR_VALUE: break;
    default: emit_fail(e, r, "attribute lookup is not defined on this name"); return NULL;
    }
    ir_value *v = base->value;
    type *t = v->type;
    if (t->kind == T_CLASS || t->kind == T_INTERFACE) return expr_object_attribute(e, r, v, name);
    if (t->kind == T_TUPLE && t->field_names) {
        for (int i = 0; i < t->nelems; i++) {
            if (strcmp(t->field_names[i], name)) continue;
            ir_value *in[] = {v, graph_constant_int(e->g, i)};
            node *n = graph_insert(e->g, node_new(e->g, N_TUPLE_INDEX, 2, in, 1));
            n->outputs.data[0]->type = t->elems[i];
            return sugar_of_value(e, n->outputs.data[0]);
        }
    }
    if (t->kind == T_ENUM && !strcmp(name, "name"))
        return sugar_of_value(e, emit_builtin_values(e, r, "prim::EnumName", 1, &v));
    if (t->kind == T_ENUM && !strcmp(name, "value")) {
        ir_value *member = emit_builtin_values(e, r, "prim::EnumValue", 1, &v);
        if (member) member->type = t->cls->enum_value_type; /* the overloads differ in that alone */
        return sugar_of_value(e, member);
    }
    if (t->kind == T_TENSOR) {
        const char *op = expr_tensor_property(name);
        if (op) return sugar_of_value(e, emit_builtin_values(e, r, op, 1, &v));
    }
    if (t->kind == T_DEVICE && (!strcmp(name, "type") || !strcmp(name, "index")))
        return sugar_of_value(e, emit_builtin_values(e, r, *name == 't' ? "prim::type" : "prim::index", 1, &v));
    /* a method of a builtin type: an operator whose first argument is the value */
    sugar *s = sugar_new(e, SUGAR_BUILTIN);
    s->name = arena_printf(e->scratch, "aten::%s", name);
    s->value = v;
    int n = 0;
    op_overloads(s->name, &n);
    if (!n && strcmp(name, "tolist")) {
        strbuf sb = STRBUF_INIT;
        type_print_python(t, &sb);
        emit_fail(e, r, "'%s' object has no attribute or method '%s'", sb_str(&sb), name);
        sb_free(&sb);
        return NULL;
    }
    return s;
}

/* ---- operators ---------------------------------------------------------------------------------------------- */

static const struct { const char *op, *magic; } expr_operators[O_COUNT] = {
    [O_ADD] = {"aten::add", "__add__"},         [O_SUB] = {"aten::sub", "__sub__"},
    [O_MUL] = {"aten::mul", "__mul__"},         [O_DIV] = {"aten::div", "__truediv__"},
    [O_FLOORDIV] = {"aten::floordiv", "__floordiv__"}, [O_MOD] = {"aten::remainder", "__mod__"},
    [O_POW] = {"aten::pow", "__pow__"},         [O_MATMUL] = {"aten::matmul", "__matmul__"},
    [O_AND] = {"aten::__and__", "__and__"},     [O_OR] = {"aten::__or__", "__or__"},
    [O_XOR] = {"aten::__xor__", "__xor__"},     [O_LSHIFT] = {"aten::__lshift__", "__lshift__"},
    [O_RSHIFT] = {"aten::__rshift__", "__rshift__"}, [O_EQ] = {"aten::eq", "__eq__"},
    [O_NE] = {"aten::ne", "__ne__"},            [O_LT] = {"aten::lt", "__lt__"},
    [O_LE] = {"aten::le", "__le__"},            [O_GT] = {"aten::gt", "__gt__"},
    [O_GE] = {"aten::ge", "__ge__"},            [O_IS] = {"aten::__is__", NULL},
    [O_ISNOT] = {"aten::__isnot__", NULL},      [O_NEG] = {"aten::neg", "__neg__"},
    [O_INVERT] = {"aten::bitwise_not", "__invert__"},
};

static ir_value *expr_binary_values(emitter *e, source_range r, operator_kind op, ir_value *a, ir_value *b) {
    ir_value *args[] = {a, b};
    if (op == O_IN || op == O_NOTIN) {
        ir_value *in[] = {b, a};
        actual item = {NULL, a, r};
        ir_value *v = b->type->kind == T_CLASS ? emit_method(e, r, b, "__contains__", 1, &item)
                                               : emit_builtin_values(e, r, "aten::__contains__", 2, in);
        return v && op == O_NOTIN ? emit_builtin_values(e, r, "aten::__not__", 1, &v) : v;
    }
    const char *magic = expr_operators[op].magic;
    if (a->type->kind == T_CLASS && magic && class_find_method(a->type, magic)) {
        actual arg = {NULL, b, r};
        return emit_method(e, r, a, magic, 1, &arg);
    }
    return emit_builtin_values(e, r, expr_operators[op].op, 2, args);
}

static ir_value *expr_binary(emitter *e, const expr *x) {
    ir_value *a = emit_expr(e, x->a, NULL);
    ir_value *b = a ? emit_expr(e, x->b, NULL) : NULL;
    return b ? expr_binary_values(e, x->range, x->op, a, b) : NULL;
}

static ir_value *expr_unary(emitter *e, const expr *x) {
    if (x->op == O_NEG && (x->a->kind == E_INT || x->a->kind == E_FLOAT)) {
        e->g->range = x->range;
        return emit_constant_take(e, x->a->kind == E_INT ? value_int((int64_t)(0 - (uint64_t)x->a->i))
                                                         : value_float(-x->a->f), NULL);
    }
    if (x->op == O_NOT) {
        ir_value *c = emit_condition(e, x->a);
        return c ? emit_builtin_values(e, x->range, "aten::__not__", 1, &c) : NULL;
    }
    ir_value *a = emit_expr(e, x->a, NULL);
    if (!a || x->op == O_POS) return a;
    const char *magic = expr_operators[x->op].magic;
    if (a->type->kind == T_CLASS && class_find_method(a->type, magic))
        return emit_method(e, x->range, a, magic, 0, NULL);
    return emit_builtin_values(e, x->range, expr_operators[x->op].op, 1, &a);
}

ir_value *emit_condition(emitter *e, const expr *x) {
    ir_value *v = emit_expr(e, x, NULL);
    if (!v || v->type->kind == T_BOOL) return v;
    strbuf sb = STRBUF_INIT;
    type_print_python(v->type, &sb);
    type_kind k = v->type->kind;
    if (k != T_TENSOR && k != T_INT && k != T_FLOAT && k != T_NUMBER && k != T_CLASS)
        v = emit_fail(e, x->range, "Could not cast value of type %s to bool", sb_str(&sb));
    else v = emit_cast(e, x->range, T_BOOL, v);
    sb_free(&sb);
    return v;
}

/* One arm of a conditional expression. */
static ir_value *expr_arm(emitter *e, block *b, const expr *x, bool as_bool, type *hint) {
    block *ib = e->g->insert_block;
    node *in = e->g->insert_before;
    graph_set_insert(e->g, b, NULL);
    emit_push_frame(e, b);
    ir_value *v = as_bool ? emit_condition(e, x) : emit_expr(e, x, hint);
    emit_pop_frame(e);
    graph_set_insert(e->g, ib, in);
    return v;
}

static ir_value *expr_select(emitter *e, source_range r, ir_value *cond, const expr *t, const expr *f,
                             bool as_bool, bool known, type *hint) {
    e->g->range = r;
    node *n = graph_insert(e->g, node_new(e->g, N_IF, 1, &cond, 0));
    block *bt = node_add_block(n), *bf = node_add_block(n);
    block *short_arm = known ? bt : bf;
    ir_value *v[2];
    for (int k = 0; k < 2; k++) {
        const expr *x = k == 0 ? t : f;
        block *b = k == 0 ? bt : bf;
        if (x) {
            v[k] = expr_arm(e, b, x, as_bool, hint);
        } else { /* the short-circuited arm of and / or */
            block *ib = e->g->insert_block;
            node *in = e->g->insert_before;
            graph_set_insert(e->g, short_arm, NULL);
            v[k] = graph_constant_bool(e->g, known);
            graph_set_insert(e->g, ib, in);
        }
        if (!v[k]) return NULL;
    }
    type *u = type_unify(v[0]->type, v[1]->type, false);
    if (!u) {
        strbuf a = STRBUF_INIT, b = STRBUF_INIT;
        type_print_python(v[0]->type, &a);
        type_print_python(v[1]->type, &b);
        emit_fail(e, r, "If-expression has mismatched types: %s and %s", sb_str(&a), sb_str(&b));
        sb_free(&a);
        sb_free(&b);
        return NULL;
    }
    block_add_return(bt, v[0]);
    block_add_return(bf, v[1]);
    return node_add_output(n, u);
}

static ir_value *expr_boolop(emitter *e, const expr *x) {
    ir_value *a = emit_condition(e, x->a);
    if (!a) return NULL;
    bool is_or = x->op == O_BOOL_OR;
    return expr_select(e, x->range, a, is_or ? NULL : x->b, is_or ? x->b : NULL, true, is_or, NULL);
}

static ir_value *expr_ternary(emitter *e, const expr *x, type *hint) {
    ir_value *c = emit_condition(e, x->b);
    return c ? expr_select(e, x->range, c, x->a, x->c, false, false, hint) : NULL;
}

/* ---- literals ---------------------------------------------------------------------------------------------- */

static ir_value **expr_items(emitter *e, const expr_list *xs, type *hint, int *n) {
    ir_value **vals = arena_array(e->scratch, ir_value *, xs->len + 1);
    if (!vals) return diag_no_memory(e->diag), NULL;
    for (size_t i = 0; i < xs->len; i++)
        if (!(vals[i] = emit_expr(e, xs->data[i], hint))) return NULL;
    *n = (int)xs->len;
    return vals;
}

static ir_value *expr_list_literal(emitter *e, const expr *x, type *hint) {
    if (hint && hint->kind == T_OPTIONAL) hint = type_elem(hint);
    type *elem = hint && hint->kind == T_LIST ? type_elem(hint) : NULL;
    int n = 0;
    ir_value **v = expr_items(e, &x->items, elem, &n);
    if (!v) return NULL;
    if (!elem) {
        elem = n ? v[0]->type : TYPE_TENSOR;
        for (int i = 1; i < n; i++) {
            type *u = type_unify(elem, v[i]->type, true);
            elem = u ? u : TYPE_ANY;
        }
    } else {
        for (int i = 0; i < n; i++) {
            v[i] = match_convert(e, x->range, elem, v[i], true);
            if (!v[i]) return NULL;
            if (type_is_subtype(v[i]->type, elem)) continue;
            strbuf a = STRBUF_INIT, b = STRBUF_INIT;
            type_print_python(elem, &a);
            type_print_python(v[i]->type, &b);
            emit_fail(e, x->range, "List type annotation `List[%s]` did not match the types of the given list elements, which were unified to %s",
                      sb_str(&a), sb_str(&b));
            sb_free(&a);
            sb_free(&b);
            return NULL;
        }
    }
    return emit_list(e, x->range, elem, n, v);
}

static ir_value *expr_tuple_literal(emitter *e, const expr *x, type *hint) {
    int n = (int)x->items.len;
    ir_value **v = arena_array(e->scratch, ir_value *, n + 1);
    if (!v) return diag_no_memory(e->diag), NULL;
    if (hint && (hint->kind != T_TUPLE || hint->nelems != n)) hint = NULL;
    for (int i = 0; i < n; i++)
        if (!(v[i] = emit_expr(e, x->items.data[i], hint ? hint->elems[i] : NULL))) return NULL;
    return emit_tuple(e, x->range, NULL, n, v);
}

static ir_value *expr_dict_literal(emitter *e, const expr *x, type *hint) {
    if (hint && hint->kind == T_OPTIONAL) hint = type_elem(hint);
    type *kt = NULL, *vt = NULL;
    if (hint && hint->kind == T_DICT) kt = hint->elems[0], vt = hint->elems[1];
    size_t n = x->items.len;
    ir_value **in = arena_array(e->scratch, ir_value *, 2 * n + 1);
    if (!in) return diag_no_memory(e->diag), NULL;
    for (size_t i = 0; i < n; i++) {
        ir_value *k = emit_expr(e, x->keys.data[i], kt);
        ir_value *v = k ? emit_expr(e, x->items.data[i], vt) : NULL;
        if (!v) return NULL;
        if (hint) k = match_convert(e, x->range, kt, k, true), v = match_convert(e, x->range, vt, v, true);
        if (!k || !v) return NULL;
        in[2 * i] = k;
        in[2 * i + 1] = v;
    }
    if (!kt) {
        kt = n ? in[0]->type : TYPE_STR;
        vt = n ? in[1]->type : TYPE_TENSOR;
        for (size_t i = 1; i < n; i++) {
            vt = type_unify(vt, in[2 * i + 1]->type, true);
            if (!vt) return emit_fail(e, x->range, "Dict values must be of one type");
        }
    }
    for (size_t i = 0; i < n; i++)
        if (!type_is_subtype(in[2 * i]->type, kt) || !type_is_subtype(in[2 * i + 1]->type, vt))
            return emit_fail(e, x->range, "Dict keys and values must be of one type each");
    e->g->range = x->range;
    node *nd = graph_insert(e->g, node_new(e->g, N_DICT_CONSTRUCT, (int)(2 * n), in, 1));
    nd->outputs.data[0]->type = type_dict(kt, vt);
    return nd->outputs.data[0];
}

/* ---- subscripts ------------------------------------------------------------------------------------------------ */

static ir_value *expr_slice(emitter *e, const expr *x, ir_value *base, const expr *s) {
    ir_value *bound[3];
    const expr *parts[] = {s->a, s->b, s->c};
    for (int i = 0; i < 3; i++) {
        bound[i] = parts[i] ? emit_expr(e, parts[i], NULL)
                            : i == 2 ? graph_constant_int(e->g, 1) : graph_constant_none(e->g);
        if (!bound[i]) return NULL;
    }
    if (base->type->kind == T_TENSOR) {
        ir_value *args[] = {base, graph_constant_int(e->g, 0), bound[0], bound[1], bound[2]};
        return emit_builtin_values(e, x->range, "aten::slice", 5, args);
    }
    ir_value *args[] = {base, bound[0], bound[1], bound[2]};
    return emit_builtin_values(e, x->range, "aten::slice", 4, args);
}

static ir_value *expr_tuple_index(emitter *e, const expr *x, ir_value *base, ir_value *index) {
    value c = value_none();
    type *t = base->type;
    if (ir_value_constant(index, &c) && c.tag == V_INT) {
        int64_t i = c.u.i < 0 ? c.u.i + t->nelems : c.u.i;
        if (i < 0 || i >= t->nelems)
            return emit_fail(e, x->range, "Tuple index out of range. Tuple is length %d and index is %lld",
                             t->nelems, (long long)c.u.i);
        ir_value *in[] = {base, index};
        node *n = graph_insert(e->g, node_new(e->g, N_TUPLE_INDEX, 2, in, 1));
        n->outputs.data[0]->type = t->elems[i];
        return n->outputs.data[0];
    }
    for (int i = 1; i < t->nelems; i++)
        if (t->elems[i] != t->elems[0])
            return emit_fail(e, x->range, "Cannot index into a tuple with a non-integer literal because we cannot resolve the output type");
    ir_value *in[] = {base, index};
    node *n = graph_insert(e->g, node_new(e->g, N_TUPLE_INDEX, 2, in, 1));
    n->outputs.data[0]->type = t->nelems ? t->elems[0] : TYPE_NONE;
    return n->outputs.data[0];
}

/* x[i, 1:2, None, mask]: selects, slices and unsqueezes dimension by dimension, then one aten::index. */
static ir_value *expr_tensor_index(emitter *e, const expr *x, ir_value *v) {
    int dim = 0;
    ir_value *indices[64];
    int nindices = 0, advanced = 0;
    for (size_t i = 0; i < x->items.len && dim < 60; i++) {
        const expr *it = x->items.data[i];
        if (it->kind == E_ELLIPSIS)
            return emit_fail(e, it->range, "an ellipsis in an index is not supported here");
        if (it->kind == E_SLICE) {
            ir_value *b[3];
            const expr *parts[] = {it->a, it->b, it->c};
            for (int k = 0; k < 3; k++) {
                b[k] = parts[k] ? emit_expr(e, parts[k], NULL)
                                : k == 2 ? graph_constant_int(e->g, 1) : graph_constant_none(e->g);
                if (!b[k]) return NULL;
            }
            ir_value *args[] = {v, graph_constant_int(e->g, dim++), b[0], b[1], b[2]};
            v = emit_builtin_values(e, x->range, "aten::slice", 5, args);
        } else if (it->kind == E_NONE) {
            ir_value *args[] = {v, graph_constant_int(e->g, dim++)};
            v = emit_builtin_values(e, x->range, "aten::unsqueeze", 2, args);
        } else {
            ir_value *ix = emit_expr(e, it, NULL);
            if (!ix) return NULL;
            if (ix->type->kind == T_INT) {
                ir_value *args[] = {v, graph_constant_int(e->g, dim), ix};
                v = emit_builtin_values(e, x->range, "aten::select", 3, args);
            } else {
                while (nindices < dim) indices[nindices++] = graph_constant_none(e->g);
                if (ix->type->kind == T_LIST) ix = emit_builtin_values(e, x->range, "aten::tensor", 1, &ix);
                if (!ix) return NULL;
                indices[nindices++] = ix;
                advanced++;
                dim++;
            }
        }
        if (!v) return NULL;
    }
    if (!advanced) return v;
    ir_value *l = emit_list(e, x->range, type_optional(TYPE_TENSOR), nindices, indices);
    ir_value *args[] = {v, l};
    return emit_builtin_values(e, x->range, "aten::index", 2, args);
}

ir_value *emit_subscript(emitter *e, const expr *x, type *hint) {
    (void)hint;
    ir_value *base = emit_expr(e, x->a, NULL);
    if (!base) return NULL;
    if (base->type->kind == T_TENSOR) return expr_tensor_index(e, x, base);
    if (x->items.len != 1) return emit_fail(e, x->range, "only tensors can be indexed by several indices");
    const expr *ix = x->items.data[0];
    if (ix->kind == E_SLICE) return expr_slice(e, x, base, ix);
    ir_value *index = emit_expr(e, ix, NULL);
    if (!index) return NULL;
    e->g->range = x->range;
    if (base->type->kind == T_TUPLE) return expr_tuple_index(e, x, base, index);
    if (base->type->kind == T_CLASS) {
        actual arg = {NULL, index, ix->range};
        return emit_method(e, x->range, base, "__getitem__", 1, &arg);
    }
    ir_value *args[] = {base, index};
    return emit_builtin_values(e, x->range, "aten::__getitem__", 2, args);
}

/* ---- dispatch -------------------------------------------------------------------------------------------------- */

static ir_value *expr_value(emitter *e, const expr *x, type *hint) {
    e->g->range = x->range;
    switch (x->kind) {
    case E_INT: return emit_constant_take(e, value_int(x->i), NULL);
    case E_FLOAT: return emit_constant_take(e, value_float(x->f), NULL);
    case E_IMAGINARY: {
        complex_box *c = complex_new(0, x->f);
        if (!c) return diag_no_memory(e->diag), NULL;
        return emit_constant_take(e, (value){.tag = V_COMPLEX, .u.complex = c}, NULL);
    }
    case E_STR: return graph_constant_str(e->g, x->s, x->slen);
    case E_TRUE: return graph_constant_bool(e->g, true);
    case E_FALSE: return graph_constant_bool(e->g, false);
    case E_NONE: return graph_constant_none(e->g);
    case E_UNARY: return expr_unary(e, x);
    case E_BINARY:
    case E_COMPARE: return expr_binary(e, x);
    case E_BOOLOP: return expr_boolop(e, x);
    case E_TERNARY: return expr_ternary(e, x, hint);
    case E_SUBSCRIPT: return emit_subscript(e, x, hint);
    case E_TUPLE: return expr_tuple_literal(e, x, hint);
    case E_LIST: return expr_list_literal(e, x, hint);
    case E_DICT: return expr_dict_literal(e, x, hint);
    default:
        diag_fail_at(e->diag, CTSC_UNSUPPORTED, x->range, "%s",
                     x->kind == E_UNSUPPORTED ? x->s : "this expression is not supported");
        return NULL;
    }
}

sugar *emit_sugar(emitter *e, const expr *x, type *hint) {
    sugar *s = NULL;
    if (emit_failed(e)) return diag_no_memory(e->diag), NULL;
    if (++e->depth > EMIT_MAX_DEPTH) {
        emit_fail(e, x->range, "expressions nest too deeply");
    } else if (x->kind == E_NAME) {
        s = expr_name(e, x);
    } else if (x->kind == E_ATTR) {
        sugar *base = emit_sugar(e, x->a, NULL);
        if (base) s = emit_attribute(e, x->range, base, x->name);
    } else if (x->kind == E_CALL) {
        s = emit_call(e, x, hint);
    } else {
        s = sugar_of_value(e, expr_value(e, x, hint));
    }
    e->depth--;
    return s;
}

ir_value *emit_expr(emitter *e, const expr *x, type *hint) {
    sugar *s = emit_sugar(e, x, hint);
    return s ? emit_as_value(e, x->range, s) : NULL;
}
