/* SPDX-License-Identifier: Apache-2.0 */
/*
 * irgen_expr.c - expressions: operators, literals, and which file handles what.
 *
 * Every expression evaluates to a sugar (irgen.h); where a value is needed, irgen_as_value makes
 * one of it or explains why there is none. Names, conditions, subscripts, calls and formatted
 * strings have files of their own.
 * Tests: tests/corpus, tests/lang
 */
#include "frontend/irgen/irgen.h"
#include "frontend/pyeval/core/py.h"

enum { EMIT_MAX_DEPTH = 400 };

sugar *sugar_new(emitter *e, sugar_kind kind) {
    sugar *s = arena_new(e->scratch, sugar);
    s->kind = kind;
    return s;
}

sugar *irgen_new_sequence(emitter *e, int room) {
    sugar *s = sugar_new(e, SUGAR_TUPLE);
    s->items = arena_array(e->scratch, sugar *, room + 1);
    if (!s->items) return diag_no_memory(e->diag), NULL;
    return s;
}

sugar *sugar_of_value(emitter *e, ir_value *v) {
    if (!v) return NULL;
    sugar *s = sugar_new(e, SUGAR_VALUE);
    s->value = v;
    return s;
}

/* What PyTorch calls a builtin that is not called. */
static const char *expr_special_text(const char *name) {
    static const struct { const char *name, *text; } table[] = {
        {"aten::len", "__len__"},     {"aten::hex", "__hex__"}, {"aten::oct", "__oct__"},
        {"aten::round", "__round__"}, {"int", "__int__"},       {"float", "__float__"},
        {"bool", "__bool__"},         {"str", "__str__"},       {"complex", "__complex__"}};
    if (!name) return "special form";
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (!strcmp(table[i].name, name)) return table[i].text;
    return strstr(name, "::") ? "builtin" : name;
}

const char *sugar_kind_text(const sugar *s) {
    switch (s->kind) {
    case SUGAR_VALUE: return "value";
    case SUGAR_NAMESPACE:
    case SUGAR_QUALIFIED: return "module";
    case SUGAR_CONSTANTS: return "module";
    case SUGAR_SPECIAL: return expr_special_text(s->name);
    case SUGAR_FUNCTION: return "function";
    case SUGAR_METHOD: return "method";
    case SUGAR_CLASS: return s->type && s->type->kind == T_ENUM ? "EnumClass" : "class";
    case SUGAR_CLOSURE: return "closure";
    case SUGAR_RANGE: return "range";
    case SUGAR_TUPLE: return "SugaredTuple";
    case SUGAR_ZIP: return "zip";
    case SUGAR_ENUMERATE: return "enumerate";
    case SUGAR_REVERSED: return "reversed";
    case SUGAR_SLICE: return "slice";
    case SUGAR_PY: return "python value";
    default: return "builtin";
    }
}

ir_value *irgen_constant_take(emitter *e, value v, type *t) {
    return graph_constant_take(e->g, v, t);
}

ir_value *irgen_hidden_int(emitter *e, int64_t i) {
    source_range place = e->g->range;
    e->g->range = (source_range){0};
    ir_value *v = irgen_constant_take(e, value_int(i), NULL);
    e->g->range = place;
    return v;
}

/* A function as a value: prim::Constant[name="f"] of type Function. */
static ir_value *expr_function_value(emitter *e, function *f) {
    value v = {.tag = V_FUNCTION, .u.function = f};
    ir_value *c = graph_constant_take(e->g, v, TYPE_FUNCTION);
    if (c && c->def) node_set_str(c->def, "name", f->name);
    return c;
}

/* A list that the program's functions only read, as one of its own; NULL without an error: its
 * elements have no type. */
static ir_value *expr_python_list(emitter *e, source_range r, struct py_object *o) {
    sugar *s = o ? e->scope->ops->elements(e, r, o) : NULL;
    ir_value **v = s && s->nitems ? arena_array(e->scratch, ir_value *, s->nitems) : NULL;
    for (int i = 0; v && i < s->nitems; i++) {
        if (s->items[i]->kind != SUGAR_VALUE) return NULL;
        v[i] = s->items[i]->value;
        if (v[i]->type != v[0]->type) return NULL;
    }
    return v ? irgen_list(e, r, v[0]->type, s->nitems, v) : NULL;
}

ir_value *irgen_as_value(emitter *e, source_range r, sugar *s) {
    if (s->kind == SUGAR_VALUE) return s->value;
    if (s->kind == SUGAR_FUNCTION && !s->nitems) return expr_function_value(e, s->fn);
    if (s->kind == SUGAR_TUPLE) { /* a tuple of values, if all of them are */
        ir_value **v = arena_array(e->scratch, ir_value *, s->nitems + 1);
        if (!v) return diag_no_memory(e->diag), NULL;
        for (int i = 0; i < s->nitems; i++)
            if (!(v[i] = irgen_as_value(e, r, s->items[i]))) return NULL;
        return irgen_tuple(e, r, NULL, s->nitems, v);
    }
    if (s->kind == SUGAR_NAMESPACE || s->kind == SUGAR_QUALIFIED)
        return irgen_fail(e, r, "module '%s' cannot be used as a value", s->name);
    if (s->kind == SUGAR_PY && e->scope && s->py) {
        sugar *made = e->scope->ops->object(e, r, s->py);
        if (irgen_failed(e)) return NULL;
        if (made && made->kind == SUGAR_VALUE) return made->value;
        ir_value *list = e->lenient ? expr_python_list(e, r, s->py) : NULL;
        if (list || irgen_failed(e)) return list;
        return irgen_fail(
            e, r,
            "python value of type '%s' cannot be used as a value. Perhaps it is a closed over "
            "global variable? "
            "If so, please consider passing it in as an argument or use a local varible instead.",
            py_type_name(s->py));
    }
    return irgen_fail(e, r, "%s cannot be used as a value", sugar_kind_text(s));
}

ir_value *irgen_list(emitter *e, source_range r, type *elem, int n, ir_value *const *values) {
    e->g->range = r;
    node *nd = graph_insert(e->g, node_new(e->g, N_LIST_CONSTRUCT, n, values, 1));
    nd->outputs.data[0]->type = type_list(elem);
    return nd->outputs.data[0];
}

ir_value *irgen_tuple(emitter *e, source_range r, type *t, int n, ir_value *const *values) {
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

bool irgen_unpack(emitter *e, source_range r, ir_value *v, size_t expected, ir_value ***out,
                  int *n) {
    type *t = v->type;
    e->g->range = r;
    /* just made: its parts are at hand */
    if (t->kind == T_TUPLE && v->def && v->def->kind == N_TUPLE_CONSTRUCT) {
        *out = v->def->inputs.data;
        *n = (int)v->def->inputs.len;
        return true;
    }
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
    irgen_fail(e, r, "%s cannot be used as a tuple", sb_str(&sb));
    sb_free(&sb);
    return false;
}

/* ---- operators ------------------------------------------------------------------------------- */

static const struct { const char *op, *magic, *reflected; } expr_operators[O_COUNT] = {
    [O_ADD] = {"aten::add", "__add__", "__radd__"},
    [O_SUB] = {"aten::sub", "__sub__", "__rsub__"},
    [O_MUL] = {"aten::mul", "__mul__", "__rmul__"},
    [O_DIV] = {"aten::div", "__truediv__", "__rtruediv__"},
    [O_FLOORDIV] = {"aten::floordiv", "__floordiv__", "__rfloordiv__"},
    [O_MOD] = {"aten::remainder", "__mod__", "__rmod__"},
    [O_POW] = {"aten::pow", "__pow__", "__rpow__"},
    [O_MATMUL] = {"aten::matmul", "__matmul__", "__rmatmul__"},
    [O_AND] = {"aten::__and__", "__and__", "__rand__"},
    [O_OR] = {"aten::__or__", "__or__", "__ror__"},
    [O_XOR] = {"aten::__xor__", "__xor__", "__rxor__"},
    [O_LSHIFT] = {"aten::__lshift__", "__lshift__", "__rlshift__"},
    [O_RSHIFT] = {"aten::__rshift__", "__rshift__", "__rrshift__"},
    [O_EQ] = {"aten::eq", "__eq__", "__eq__"},
    [O_NE] = {"aten::ne", "__ne__", "__ne__"},
    [O_LT] = {"aten::lt", "__lt__", "__gt__"},
    [O_LE] = {"aten::le", "__le__", "__ge__"},
    [O_GT] = {"aten::gt", "__gt__", "__lt__"},
    [O_GE] = {"aten::ge", "__ge__", "__le__"},
    [O_IS] = {"aten::__is__"},
    [O_ISNOT] = {"aten::__isnot__"},
    [O_NEG] = {"aten::neg", "__neg__"},
    [O_INVERT] = {"aten::bitwise_not", "__invert__"},
};

/* a op= b: {in place on tensors and lists, otherwise} */
static const struct { const char *inplace, *plain; } expr_augmented[O_COUNT] = {
    [O_ADD] = {"aten::add_", "aten::add"},
    [O_SUB] = {"aten::sub_", "aten::sub"},
    [O_MUL] = {"aten::mul_", "aten::mul"},
    [O_DIV] = {"aten::div_", "aten::div"},
    [O_MOD] = {"aten::fmod_", "aten::fmod"},
    [O_POW] = {"aten::pow_", "aten::pow"},
    [O_AND] = {"aten::__iand__", "aten::__and__"},
    [O_OR] = {"aten::__ior__", "aten::__or__"},
    [O_XOR] = {"aten::__ixor__", "aten::__xor__"},
    [O_LSHIFT] = {"aten::__ilshift__", "aten::__lshift__"},
    [O_RSHIFT] = {"aten::__irshift__", "aten::__rshift__"},
    [O_FLOORDIV] = {"aten::floor_divide_", "aten::floordiv"},
    [O_MATMUL] = {NULL, "aten::matmul"},
};

const char *irgen_augmented_operator(operator_kind op, const type *t) {
    bool mutable = t->kind == T_TENSOR || (t->kind == T_LIST && (op == O_ADD || op == O_MUL));
    const char *inplace = expr_augmented[op].inplace;
    return mutable && inplace ? inplace : expr_augmented[op].plain;
}

static ir_value *expr_contains(emitter *e, source_range r, operator_kind op, ir_value *item,
                               ir_value *in) {
    ir_value *args[] = {in, item}, *v;
    actual arg = {NULL, item, r};
    if (in->type->kind == T_CLASS && in->type->cls->is_module && e->scope) {
        /* A key that a ModuleDict lacks: known, so that a branch that takes it is
         * never looked at. */
        sugar *keys = e->scope->ops->sequence(e, r, in);
        value want = value_none(), have = value_none();
        bool found = false;
        if (!keys && irgen_failed(e)) return NULL;
        if (keys && ir_value_constant(item, &want) && want.tag == V_STR) {
            for (int i = 0; i < keys->nitems; i++)
                found = found ||
                        (keys->items[i]->kind == SUGAR_VALUE &&
                         ir_value_constant(keys->items[i]->value, &have) && have.tag == V_STR &&
                         !strcmp(have.u.str->bytes, want.u.str->bytes));
            e->g->range = r;
            if (!found || !irgen_find_method(e, in->type, "__contains__"))
                return irgen_failed(e) ? NULL : graph_constant_bool(e->g, found == (op == O_IN));
        }
    }
    if (in->type->kind == T_CLASS) v = irgen_method(e, r, in, "__contains__", 1, &arg);
    else v = irgen_builtin_values(e, r, "aten::__contains__", 2, args);
    return v && op == O_NOTIN ? irgen_builtin_values(e, r, "aten::__not__", 1, &v) : v;
}

static ir_value *expr_concatenate_tuples(emitter *e, source_range r, ir_value *a, ir_value *b) {
    ir_value **pa, **pb;
    int na, nb;
    if (!irgen_unpack(e, r, a, 0, &pa, &na) || !irgen_unpack(e, r, b, 0, &pb, &nb)) return NULL;
    ir_value **all = arena_array(e->scratch, ir_value *, na + nb + 1);
    if (!all) return diag_no_memory(e->diag), NULL;
    if (na) memcpy(all, pa, (size_t)na * sizeof *all);
    if (nb) memcpy(all + na, pb, (size_t)nb * sizeof *all);
    return irgen_tuple(e, r, NULL, na + nb, all);
}

/* Tuples of one element type compare as lists; others element by element. */
static bool expr_compares_elements(const type *a, const type *b) {
    if (a->kind != T_TUPLE || b->kind != T_TUPLE) return false;
    if (a->nelems != b->nelems || !a->nelems) return true;
    type_kind k = a->elems[0]->kind;
    bool listed = k == T_INT || k == T_FLOAT || k == T_BOOL || k == T_STR || k == T_TENSOR;
    for (int i = 0; i < a->nelems; i++)
        if (!listed || a->elems[i] != a->elems[0] || b->elems[i] != a->elems[0]) return true;
    return false;
}

static ir_value *expr_compare_elements(emitter *e, source_range r, operator_kind op, ir_value *a,
                                       ir_value *b) {
    ir_value **pa, **pb, *all = NULL;
    int na, nb;
    e->g->range = r;
    if (a->type->nelems != b->type->nelems) return graph_constant_bool(e->g, op == O_NE);
    if (!irgen_unpack(e, r, a, 0, &pa, &na) || !irgen_unpack(e, r, b, 0, &pb, &nb)) return NULL;
    for (int i = 0; i < na; i++) {
        ir_value *one = irgen_binary_values(e, r, op, pa[i], pb[i]);
        if (one) one = irgen_truth(e, r, one);
        ir_value *two[] = {all, one};
        if (!one) return NULL;
        all = all ? irgen_builtin_values(e, r, op == O_EQ ? "aten::__and__" : "aten::__or__", 2,
                                         two)
                  : one;
        if (!all) return NULL;
    }
    return all ? all : graph_constant_bool(e->g, op == O_EQ);
}

/* "ab" * 3 has no operator: "".join(["ab"] * 3) */
static ir_value *expr_repeat_string(emitter *e, source_range r, ir_value *s, ir_value *n) {
    ir_value *one = irgen_list(e, r, TYPE_STR, 1, &s);
    ir_value *args[] = {one, n};
    ir_value *many = irgen_builtin_values(e, r, "aten::mul", 2, args);
    if (!many) return NULL;
    ir_value *join[] = {graph_constant_str(e->g, "", 0), many};
    return irgen_builtin_values(e, r, "aten::join", 2, join);
}

ir_value *irgen_binary_values(emitter *e, source_range r, operator_kind op, ir_value *a,
                              ir_value *b) {
    ir_value *args[] = {a, b};
    type_kind ka = a->type->kind, kb = b->type->kind;
    if (op == O_IN || op == O_NOTIN) return expr_contains(e, r, op, a, b);
    const char *magic = expr_operators[op].magic, *reflected = expr_operators[op].reflected;
    if (magic && (ka == T_CLASS || (ka == T_INTERFACE && class_find_method(a->type, magic)))) {
        actual arg = {NULL, b, r};
        if (irgen_find_method(e, a->type, magic) || kb != T_CLASS || !reflected ||
            !irgen_find_method(e, b->type, reflected))
            return irgen_failed(e) ? NULL : irgen_method(e, r, a, magic, 1, &arg);
    }
    if (kb == T_CLASS && reflected && irgen_find_method(e, b->type, reflected)) {
        actual arg = {NULL, a, r};
        return irgen_method(e, r, b, reflected, 1, &arg);
    }
    if (irgen_failed(e)) return NULL;
    if (op == O_ADD && ka == T_TUPLE && kb == T_TUPLE) return expr_concatenate_tuples(e, r, a, b);
    if ((op == O_EQ || op == O_NE) && expr_compares_elements(a->type, b->type))
        return expr_compare_elements(e, r, op, a, b);
    if (op == O_MUL && ka == T_STR && kb == T_INT) return expr_repeat_string(e, r, a, b);
    if (op == O_MUL && ka == T_INT && kb == T_STR) return expr_repeat_string(e, r, b, a);
    return irgen_builtin_values(e, r, expr_operators[op].op, 2, args);
}

static ir_value *expr_binary(emitter *e, const expr *x) {
    ir_value *a = irgen_expr(e, x->a, NULL);
    if (a && x->op == O_MOD && a->type->kind == T_STR) return irgen_percent(e, x, a);
    ir_value *b = a ? irgen_expr(e, x->b, NULL) : NULL;
    return b ? irgen_binary_values(e, x->range, x->op, a, b) : NULL;
}

static bool expr_literal_number(const expr *x) {
    return x->kind == E_INT || x->kind == E_FLOAT || x->kind == E_IMAGINARY;
}

static ir_value *expr_unary(emitter *e, const expr *x) {
    source_range r = x->range;
    e->g->range = r;
    if (x->op == O_NEG && x->a->kind == E_INT)
        return irgen_constant_take(e, value_int((int64_t)(0 - (uint64_t)x->a->i)), NULL);
    if (x->op == O_NEG && x->a->kind == E_FLOAT)
        return irgen_constant_take(e, value_float(-x->a->f), NULL);
    ir_value *a = irgen_expr(e, x->a, NULL);
    if (!a || (x->op == O_POS && expr_literal_number(x->a))) return a;
    type_kind k = a->type->kind;
    if (x->op == O_POS) {
        if (k == T_CLASS) return irgen_method(e, r, a, "__pos__", 0, NULL);
        if (k == T_TENSOR || k == T_INT || k == T_FLOAT || k == T_COMPLEX || k == T_NUMBER)
            return a;
        return irgen_fail(e, r, "bad operand type for unary +");
    }
    if (k == T_CLASS) return irgen_method(e, r, a, expr_operators[x->op].magic, 0, NULL);
    if (x->op == O_INVERT && k == T_INT) { /* ~n is -1 - n; no operator takes ints */
        ir_value *args[] = {irgen_hidden_int(e, -1), a};
        return irgen_builtin_values(e, r, "aten::sub", 2, args);
    }
    return irgen_builtin_values(e, r, expr_operators[x->op].op, 1, &a);
}

/* ---- conditions as values -------------------------------------------------------------------- */

ir_value *irgen_truth(emitter *e, source_range r, ir_value *v) {
    type_kind k = v->type->kind;
    if (k == T_BOOL) return v;
    bool number = k == T_TENSOR || k == T_INT || k == T_FLOAT || k == T_NUMBER || k == T_COMPLEX;
    bool container = k == T_LIST || k == T_STR || k == T_DICT || k == T_TUPLE;
    bool object = k == T_CLASS && irgen_find_method(e, v->type, "__bool__");
    bool sized = k == T_CLASS && !object && irgen_find_method(e, v->type, "__len__");
    if (irgen_failed(e)) return NULL;
    if (sized) {
        ir_value *args[] = {irgen_method(e, r, v, "__len__", 0, NULL), irgen_hidden_int(e, 0)};
        return args[0] ? irgen_builtin_values(e, r, "aten::gt", 2, args) : NULL;
    }
    if (number || container || object) return irgen_cast(e, r, T_BOOL, v);
    strbuf sb = STRBUF_INIT;
    type_print_python(v->type, &sb);
    irgen_fail(e, r, "Could not cast value of type %s to bool", sb_str(&sb));
    sb_free(&sb);
    return NULL;
}

ir_value *irgen_condition(emitter *e, const expr *x) {
    condition c;
    return irgen_condition_parts(e, x, &c) ? c.value : NULL;
}

/* `self.scale or 1 / sqrt(n)`: PyTorch has a bool. Where it is known which side Python takes, that
 * side's value is meant. */
static ir_value *expr_boolop(emitter *e, const expr *x, type *hint) {
    int known = e->lenient && e->scope ? e->scope->ops->static_truth(e, x->a) : -1;
    if (known < 0) return irgen_failed(e) ? NULL : irgen_condition(e, x);
    return irgen_expr(e, known == (x->op == O_BOOL_OR) ? x->a : x->b, hint);
}

/* a < b < c as (a < b) and (b < c): b is evaluated twice, as PyTorch does it. */
static expr *expr_unchain(emitter *e, const expr *x) {
    expr *all = NULL;
    for (size_t i = 0; i + 1 < x->items.len; i++) {
        expr *one = arena_new(e->scratch, expr);
        one->kind = E_COMPARE;
        one->op = x->ops.data[i];
        one->range = (source_range){x->range.src, x->items.data[i]->range.begin,
                                    x->items.data[i + 1]->range.end};
        one->a = x->items.data[i];
        one->b = x->items.data[i + 1];
        if (!all) {
            all = one;
            continue;
        }
        expr *both = arena_new(e->scratch, expr);
        both->kind = E_BOOLOP;
        both->op = O_BOOL_AND;
        both->range = x->range;
        both->a = all;
        both->b = one;
        all = both;
    }
    return all;
}

/* One arm of a conditional expression, with what the condition says of types there. */
static ir_value *expr_arm(emitter *e, block *b, const expr *x, const refinement *learnt,
                          type *hint) {
    block *ib = e->g->insert_block;
    node *in = e->g->insert_before;
    graph_set_insert(e->g, b, NULL);
    irgen_push_frame(e, b);
    ir_value *v = irgen_refine(e, x->range, learnt) ? irgen_expr(e, x, hint) : NULL;
    irgen_pop_frame(e);
    graph_set_insert(e->g, ib, in);
    return v;
}

/* An int beside a float is one. */
static ir_value *expr_arm_float(emitter *e, block *b, source_range r, ir_value *v) {
    block *ib = e->g->insert_block;
    node *in = e->g->insert_before;
    graph_set_insert(e->g, b, NULL);
    v = match_convert(e, r, TYPE_FLOAT, v, true);
    graph_set_insert(e->g, ib, in);
    return v;
}

static ir_value *expr_ternary(emitter *e, const expr *x, type *hint) {
    condition c;
    if (!irgen_condition_parts(e, x->b, &c)) return NULL;
    if (c.known >= 0) { /* only one side exists */
        irgen_push_frame(e, e->env->blk);
        bool ok = irgen_refine(e, x->range, c.known ? c.when_true : c.when_false);
        ir_value *v = ok ? irgen_expr(e, c.known ? x->a : x->c, hint) : NULL;
        irgen_pop_frame(e);
        return v;
    }
    e->g->range = x->range;
    node *n = graph_insert(e->g, node_new(e->g, N_IF, 1, &c.value, 0));
    block *bt = node_add_block(n), *bf = node_add_block(n);
    ir_value *t = expr_arm(e, bt, x->a, c.when_true, hint);
    ir_value *f = t ? expr_arm(e, bf, x->c, c.when_false, hint) : NULL;
    if (!f) return NULL;
    if (e->lenient && t->type->kind != f->type->kind) { /* 0.1 if self.training else 0 */
        if (f->type->kind == T_FLOAT) t = expr_arm_float(e, bt, x->range, t);
        else if (t->type->kind == T_FLOAT) f = expr_arm_float(e, bf, x->range, f);
        if (!t || !f) return NULL;
    }
    type *u = type_unify(t->type, f->type, false);
    if (!u && hint && type_is_subtype(t->type, hint) && type_is_subtype(f->type, hint)) u = hint;
    if (!u) {
        strbuf a = STRBUF_INIT, b = STRBUF_INIT;
        type_print_python(t->type, &a);
        type_print_python(f->type, &b);
        irgen_fail(e, x->range,
                   "if-expression's true branch has type %s but false branch has type %s",
                   sb_str(&a), sb_str(&b));
        sb_free(&a);
        sb_free(&b);
        return NULL;
    }
    block_add_return(bt, t);
    block_add_return(bf, f);
    return node_add_output(n, u);
}

/* ---- literals -------------------------------------------------------------------------------- */

/* The values of a list's or tuple's elements, starred ones spread out. hint: of each element, by
 * position if it is a tuple's. */
static ir_value **expr_items(emitter *e, const expr_list *xs, type *hint, bool by_position,
                             int *n) {
    VEC(ir_value *) vals = {0};
    for (size_t i = 0; i < xs->len; i++) {
        const expr *x = xs->data[i];
        if (x->kind == E_STARRED) {
            sugar *s = irgen_sugar(e, x->a, NULL);
            ir_value **parts;
            int np;
            if (!s || !irgen_spread(e, x->range, s, &parts, &np)) return NULL;
            for (int k = 0; k < np; k++) avec_push(e->scratch, &vals, parts[k]);
            continue;
        }
        ir_value *v = irgen_expr(e, x, !hint ? NULL : by_position ? hint->elems[i] : hint);
        if (!v) return NULL;
        avec_push(e->scratch, &vals, v);
    }
    if (irgen_failed(e)) return diag_no_memory(e->diag), NULL;
    static ir_value *none[1];
    *n = (int)vals.len;
    return vals.data ? vals.data : none;
}

static type *expr_unify_list(int n, ir_value *const *v) {
    type *t = n ? v[0]->type : TYPE_TENSOR;
    for (int i = 1; i < n; i++) t = type_unify(t, v[i]->type, true);
    return t;
}

/* A hint of Optional[List[T]] is good for lists, and the literal becomes what is hinted. */
static ir_value *expr_as_hinted(emitter *e, ir_value *v, type *hint) {
    if (!hint || hint->kind != T_OPTIONAL || type_elem(hint) != v->type) return v;
    node *n = graph_insert(e->g, node_new(e->g, N_UNCHECKED_CAST, 1, &v, 1));
    n->outputs.data[0]->type = hint;
    return n->outputs.data[0];
}

/* The type within a hint that a literal of this kind has: T of Optional[T], the only such
 * member of a Union. */
static type *expr_literal_hint(type *hint, type_kind kind) {
    if (hint && hint->kind == T_OPTIONAL) hint = type_elem(hint);
    if (hint && hint->kind == T_UNION) {
        type *only = NULL;
        for (int i = 0; i < hint->nelems; i++) {
            if (hint->elems[i]->kind != kind) continue;
            if (only) return NULL;
            only = hint->elems[i];
        }
        hint = only;
    }
    return hint && hint->kind == kind ? hint : NULL;
}

/* A display with starred elements, beyond what PyTorch takes: a list where the number of
 * elements is not known. */
static ir_value *expr_starred_literal(emitter *e, const expr *x) {
    value_vector v = {0};
    bool joined;
    if (!irgen_starred(e, x->range, &x->items, 0, &v, &joined)) return NULL;
    if (joined) return v.data[0];
    if (x->kind == E_TUPLE) return irgen_tuple(e, x->range, NULL, (int)v.len, v.data);
    return irgen_list(e, x->range, expr_unify_list((int)v.len, v.data), (int)v.len, v.data);
}

static ir_value *expr_list_literal(emitter *e, const expr *x, type *hint) {
    type *want = expr_literal_hint(hint, T_LIST), *elem = want ? type_elem(want) : NULL;
    int n = 0;
    ir_value **v = expr_items(e, &x->items, elem, false, &n);
    if (!v) return NULL;
    if (!elem) return irgen_list(e, x->range, expr_unify_list(n, v), n, v);
    for (int i = 0; i < n; i++) {
        v[i] = match_convert(e, x->range, elem, v[i], false);
        if (!v[i]) return NULL;
    }
    bool ok = true;
    for (int i = 0; i < n; i++) ok = ok && type_is_subtype(v[i]->type, elem);
    if (!ok) {
        strbuf a = STRBUF_INIT, b = STRBUF_INIT;
        type_print_python(want, &a);
        type_print_python(expr_unify_list(n, v), &b);
        irgen_fail(e, x->range,
                   "List type annotation `%s` did not match the types of the given list elements, "
                   "which were unified to %s",
                   sb_str(&a), sb_str(&b));
        sb_free(&a);
        sb_free(&b);
        return NULL;
    }
    return expr_as_hinted(e, irgen_list(e, x->range, elem, n, v), hint);
}

static ir_value *expr_tuple_literal(emitter *e, const expr *x, type *hint) {
    int n = 0;
    hint = expr_literal_hint(hint, T_TUPLE);
    if (hint && (irgen_has_starred(&x->items, 0) || hint->nelems != (int)x->items.len)) hint = NULL;
    ir_value **v = expr_items(e, &x->items, hint, true, &n);
    return v ? irgen_tuple(e, x->range, NULL, n, v) : NULL;
}

static ir_value *expr_fail_types(emitter *e, source_range r, const char *before, const type *a,
                                 const char *between, const type *b, const char *after) {
    strbuf ta = STRBUF_INIT, tb = STRBUF_INIT;
    type_print_python(a, &ta);
    type_print_python(b, &tb);
    irgen_fail(e, r, "%s%s%s%s%s", before, sb_str(&ta), between, sb_str(&tb), after);
    sb_free(&ta);
    sb_free(&tb);
    return NULL;
}

/* The types of a dictionary: those hinted, or those found. */
static type *expr_dict_type(emitter *e, const expr *x, type *want, size_t n, ir_value **in) {
    type *kt = want ? want->elems[0] : n ? in[0]->type : TYPE_STR;
    type *vt = want ? want->elems[1] : n ? in[1]->type : TYPE_TENSOR;
    for (size_t i = 0; i < n; i++) {
        source_range at = x->keys.data[i]->range;
        if (!type_is_subtype(in[2 * i]->type, kt))
            return expr_fail_types(e, at,
                                   "Dict keys must contain only a single type. Expected: ", kt,
                                   " but found ", in[2 * i]->type, " instead"),
                   NULL;
        if (!want) vt = type_unify(vt, in[2 * i + 1]->type, true);
        else if (!type_is_subtype(in[2 * i + 1]->type, vt))
            return expr_fail_types(e, x->range, "Type annotation was inferred to be `", want,
                                   "`, but the type of values given by the dict literal is ",
                                   in[2 * i + 1]->type, ""),
                   NULL;
    }
    return want ? want : type_dict(kt, vt);
}

static ir_value *expr_dict_literal(emitter *e, const expr *x, type *hint) {
    type *want = expr_literal_hint(hint, T_DICT);
    size_t n = x->items.len;
    ir_value **in = arena_array(e->scratch, ir_value *, 2 * n + 1);
    if (!in) return diag_no_memory(e->diag), NULL;
    for (size_t i = 0; i < n; i++) {
        if (!x->keys.data[i])
            return irgen_fail(e, x->range,
                              "dictionaries cannot be unpacked into a dictionary literal");
        ir_value *k = irgen_expr(e, x->keys.data[i], want ? want->elems[0] : NULL);
        ir_value *v = k ? irgen_expr(e, x->items.data[i], want ? want->elems[1] : NULL) : NULL;
        if (v && want) v = match_convert(e, x->range, want->elems[1], v, false);
        if (!v) return NULL;
        in[2 * i] = k;
        in[2 * i + 1] = v;
    }
    type *t = expr_dict_type(e, x, want, n, in);
    if (!t) return NULL;
    e->g->range = x->range;
    node *nd = graph_insert(e->g, node_new(e->g, N_DICT_CONSTRUCT, (int)(2 * n), in, 1));
    nd->outputs.data[0]->type = t;
    return expr_as_hinted(e, nd->outputs.data[0], hint);
}

/* (name := value) */
static ir_value *expr_walrus(emitter *e, const expr *x, type *hint) {
    ir_value *v = irgen_expr(e, x->a, hint);
    return v && irgen_set_value(e, x->range, x->name, v) ? v : NULL;
}

/* ---- dispatch -------------------------------------------------------------------------------- */

static ir_value *expr_refused(emitter *e, const expr *x) {
    static const struct { expr_kind kind; const char *what; } names[] = {
        {E_LAMBDA, "Lambda"}, {E_SET, "Set"},         {E_SET_COMP, "SetComp"},
        {E_YIELD, "Yield"},   {E_STARRED, "Starred"}, {E_YIELD_FROM, "YieldFrom"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].kind == x->kind)
            return irgen_fail(e, x->range, "%s aren't supported", names[i].what);
    if (x->kind == E_UNPACK)
        return irgen_fail(e, x->range, "Dict expansion (e.g. `{**dict}`) is not supported");
    /* no part of the language, as try is none */
    if (x->kind == E_UNSUPPORTED) return irgen_fail(e, x->range, "%s", x->s);
    diag_fail_at(e->diag, CTSC_UNSUPPORTED, x->range, "this expression is not supported");
    return NULL;
}

static ir_value *expr_value(emitter *e, const expr *x, type *hint) {
    e->g->range = x->range;
    switch (x->kind) {
    case E_INT: return irgen_constant_take(e, value_int(x->i), NULL);
    case E_FLOAT: return irgen_constant_take(e, value_float(x->f), NULL);
    case E_IMAGINARY: {
        complex_box *c = complex_new(0, x->f);
        if (!c) return diag_no_memory(e->diag), NULL;
        return irgen_constant_take(e, (value){.tag = V_COMPLEX, .u.complex = c}, NULL);
    }
    case E_STR: return graph_constant_str(e->g, x->s, x->slen);
    case E_TRUE: return graph_constant_bool(e->g, true);
    case E_FALSE: return graph_constant_bool(e->g, false);
    case E_NONE: return graph_constant_none(e->g);
    case E_UNARY: return x->op == O_NOT ? irgen_condition(e, x) : expr_unary(e, x);
    case E_COMPARE:
        if (x->op == O_IS || x->op == O_ISNOT) return irgen_condition(e, x);
        return expr_binary(e, x);
    case E_BINARY: return expr_binary(e, x);
    case E_BOOLOP: return expr_boolop(e, x, hint);
    case E_CHAIN: return irgen_condition(e, expr_unchain(e, x));
    case E_TERNARY: return expr_ternary(e, x, hint);
    case E_TUPLE:
    case E_LIST:
        if (e->lenient && irgen_has_starred(&x->items, 0)) return expr_starred_literal(e, x);
        return x->kind == E_TUPLE ? expr_tuple_literal(e, x, hint) : expr_list_literal(e, x, hint);
    case E_DICT: return expr_dict_literal(e, x, hint);
    case E_LIST_COMP:
    case E_DICT_COMP:
    case E_GENERATOR: return irgen_comprehension(e, x, hint);
    case E_FSTRING: return irgen_fstring(e, x);
    case E_WALRUS: return expr_walrus(e, x, hint);
    case E_CAPTURE:
    case E_SHAPE: return irgen_condition(e, x);
    default: return expr_refused(e, x);
    }
}

/* Is something in the tuple that cannot be a value: slice(...), a lambda? */
static bool expr_holds_sugars(const emitter *e, const expr *x) {
    for (size_t i = 0; i < x->items.len; i++) {
        const expr *it = x->items.data[i];
        if (it->kind == E_LAMBDA || (it->kind == E_TUPLE && expr_holds_sugars(e, it)) ||
            (it->kind == E_CALL && it->a->kind == E_NAME && !strcmp(it->a->name, "slice") &&
             !irgen_find_variable(e, "slice")))
            return true;
    }
    return false;
}

static sugar *expr_tuple_of_sugars(emitter *e, const expr *x) {
    sugar *s = irgen_new_sequence(e, (int)x->items.len);
    for (size_t i = 0; s && i < x->items.len; i++)
        if (!(s->items[s->nitems++] = irgen_sugar(e, x->items.data[i], NULL))) return NULL;
    return s;
}

sugar *irgen_sugar(emitter *e, const expr *x, type *hint) {
    sugar *s = NULL;
    if (irgen_failed(e)) return diag_no_memory(e->diag), NULL;
    if (++e->depth > EMIT_MAX_DEPTH) {
        irgen_fail(e, x->range, "expressions nest too deeply");
    } else if (x->kind == E_NAME) {
        s = irgen_name(e, x);
    } else if (x->kind == E_ATTR) {
        sugar *base = irgen_sugar(e, x->a, NULL);
        if (base) s = irgen_attribute(e, x->range, base, x->name);
    } else if (x->kind == E_CALL) {
        s = irgen_call(e, x, hint);
    } else if (x->kind == E_SUBSCRIPT) {
        s = irgen_subscript_sugar(e, x, hint);
    } else if (x->kind == E_FIELD) {
        s = irgen_match_field(e, x);
    } else if (x->kind == E_TUPLE && e->lenient && e->scope && !irgen_has_starred(&x->items, 0) &&
               expr_holds_sugars(e, x)) {
        s = expr_tuple_of_sugars(e, x);
    } else if (x->kind == E_LAMBDA && e->lenient && e->scope && !x->i) {
        s = irgen_lambda(e, x);
    } else {
        s = sugar_of_value(e, expr_value(e, x, hint));
    }
    e->depth--;
    if (s && s->kind == SUGAR_VALUE && s->value && type_is_huge(s->value->type)) {
        irgen_fail(e, x->range, "the type of this value is too large");
        return NULL;
    }
    return s;
}

ir_value *irgen_expr(emitter *e, const expr *x, type *hint) {
    sugar *s = irgen_sugar(e, x, hint);
    return s ? irgen_as_value(e, x->range, s) : NULL;
}
