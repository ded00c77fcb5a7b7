/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ep_expr_emit.c - expressions over sizes as nodes: the operators that TorchScript has for numbers.
 */
#include "frontend/export/ep_internal.h"

typedef ir_value *(*emit_fn)(ep_program *p, const char *name, ir_value *const *args);

static ir_value *emit_float(ep_program *p, ir_value *v) {
    return v->type->kind == T_FLOAT ? v : ep_emit(p, "aten::Float", 1, &v);
}

static ir_value *emit_int(ep_program *p, ir_value *v) {
    return v->type->kind == T_INT ? v : ep_emit(p, "aten::Int", 1, &v);
}

static ir_value *emit_bool(ep_program *p, ir_value *v) {
    return v->type->kind == T_BOOL ? v : ep_emit(p, "aten::Bool", 1, &v);
}

/* Two numbers, both float if one is. */
static ir_value *emit_numbers(ep_program *p, const char *name, ir_value *const *args) {
    bool floats = args[0]->type->kind == T_FLOAT || args[1]->type->kind == T_FLOAT;
    ir_value *in[2];
    for (int i = 0; i < 2; i++)
        if (!(in[i] = floats ? emit_float(p, args[i]) : emit_int(p, args[i]))) return NULL;
    return ep_emit(p, name, 2, in);
}

static ir_value *emit_floats(ep_program *p, const char *name, ir_value *const *args) {
    ir_value *in[] = {emit_float(p, args[0]), emit_float(p, args[1])};
    return in[0] && in[1] ? ep_emit(p, name, 2, in) : NULL;
}

static ir_value *emit_ints(ep_program *p, const char *name, ir_value *const *args) {
    ir_value *in[] = {emit_int(p, args[0]), emit_int(p, args[1])};
    return in[0] && in[1] ? ep_emit(p, name, 2, in) : NULL;
}

static ir_value *emit_pow(ep_program *p, const char *name, ir_value *const *args) {
    bool ints = args[0]->type->kind == T_INT && args[1]->type->kind == T_INT;
    return ints ? ep_emit_key(p, "aten::pow.int_to_int", 2, args) : emit_numbers(p, name, args);
}

/* -(-a // b) */
static ir_value *emit_ceildiv(ep_program *p, const char *name, ir_value *const *args) {
    ir_value *minus = ep_emit(p, "aten::neg", 1, args), *in[] = {minus, args[1]};
    ir_value *q = minus ? emit_ints(p, name, in) : NULL;
    return q ? ep_emit(p, "aten::neg", 1, &q) : NULL;
}

static ir_value *emit_bools(ep_program *p, const char *name, ir_value *const *args) {
    ir_value *in[] = {emit_bool(p, args[0]), emit_bool(p, args[1])};
    return in[0] && in[1] ? ep_emit(p, name, 2, in) : NULL;
}

static ir_value *emit_not(ep_program *p, const char *name, ir_value *const *args) {
    ir_value *b = emit_bool(p, args[0]);
    return b ? ep_emit(p, name, 1, &b) : NULL;
}

static ir_value *emit_one(ep_program *p, const char *name, ir_value *const *args) {
    return ep_emit(p, name, 1, args);
}

static ir_value *emit_to_float(ep_program *p, const char *name, ir_value *const *args) {
    (void)name;
    return emit_float(p, args[0]);
}

static ir_value *emit_trunc(ep_program *p, const char *name, ir_value *const *args) {
    (void)name;
    return emit_int(p, args[0]);
}

/* floor, ceil, round: of integers they are these. */
static ir_value *emit_rounded(ep_program *p, const char *name, ir_value *const *args) {
    ir_value *v = args[0]->type->kind == T_INT ? args[0] : ep_emit(p, name, 1, args);
    return v ? emit_int(p, v) : NULL;
}

static ir_value *emit_of_float(ep_program *p, const char *name, ir_value *const *args) {
    ir_value *v = emit_float(p, args[0]);
    return v ? ep_emit(p, name, 1, &v) : NULL;
}

static ir_value *emit_modidx(ep_program *p, const char *name, ir_value *const *args) {
    ir_value *q = emit_ints(p, "aten::floordiv", args), *in[] = {q, args[2]};
    return q ? emit_ints(p, name, in) : NULL;
}

static ir_value *emit_same(ep_program *p, const char *name, ir_value *const *args) {
    (void)p, (void)name;
    return args[0];
}

/*  the tree's name, arguments (-1: two or more, from the left), how, with which operator */
static const struct { const char *name; int n; emit_fn emit; const char *op; } emit_rows[] = {
    {"add", -1, emit_numbers, "aten::add"},
    {"sub", 2, emit_numbers, "aten::sub"},
    {"mul", -1, emit_numbers, "aten::mul"},
    {"max", -1, emit_numbers, "prim::max"},
    {"min", -1, emit_numbers, "prim::min"},
    {"floordiv", 2, emit_numbers, "aten::floordiv"},
    {"ceildiv", 2, emit_ceildiv, "aten::floordiv"},
    {"mod", 2, emit_numbers, "aten::remainder"},
    {"modidx", 3, emit_modidx, "aten::remainder"},
    {"truediv", 2, emit_floats, "aten::div"},
    {"pow", 2, emit_pow, "aten::pow"},
    {"fpow", 2, emit_floats, "aten::pow"},
    {"eq", 2, emit_numbers, "aten::eq"},
    {"ne", 2, emit_numbers, "aten::ne"},
    {"lt", 2, emit_numbers, "aten::lt"},
    {"le", 2, emit_numbers, "aten::le"},
    {"gt", 2, emit_numbers, "aten::gt"},
    {"ge", 2, emit_numbers, "aten::ge"},
    {"and", -1, emit_bools, "aten::__and__"},
    {"or", -1, emit_bools, "aten::__or__"},
    {"not", 1, emit_not, "aten::__not__"},
    {"neg", 1, emit_one, "aten::neg"},
    {"abs", 1, emit_one, "prim::abs"},
    {"float", 1, emit_to_float, NULL},
    {"trunc", 1, emit_trunc, NULL},
    {"floor", 1, emit_rounded, "aten::floor"},
    {"ceil", 1, emit_rounded, "aten::ceil"},
    {"round", 1, emit_rounded, "aten::round"},
    {"lshift", 2, emit_ints, "aten::__lshift__"},
    {"rshift", 2, emit_ints, "aten::__rshift__"},
    {"bitand", 2, emit_ints, "aten::__and__"},
    {"bitor", 2, emit_ints, "aten::__or__"},
    {"bitxor", 2, emit_ints, "aten::__xor__"},
    {"same", 1, emit_same, NULL},
    {"sqrt", 1, emit_of_float, "aten::sqrt"},
    {"exp", 1, emit_of_float, "aten::exp"},
    {"log", 1, emit_of_float, "aten::log"},
    {"sin", 1, emit_of_float, "aten::sin"},
    {"cos", 1, emit_of_float, "aten::cos"},
    {"tan", 1, emit_of_float, "aten::tan"},
    {"tanh", 1, emit_of_float, "aten::tanh"},
    {"asin", 1, emit_of_float, "aten::asin"},
    {"acos", 1, emit_of_float, "aten::acos"},
    {"atan", 1, emit_of_float, "aten::atan"},
    {"sinh", 1, emit_of_float, "aten::sinh"},
    {"cosh", 1, emit_of_float, "aten::cosh"},
};

static ir_value *emit_input(ep_program *p, const char *path) {
    for (size_t i = 0; i < p->inputs.len; i++)
        if (p->inputs.data[i].access && !strcmp(p->inputs.data[i].access, path))
            return p->inputs.data[i].ir;
    return NULL;
}

/* L['x'].size()[0] */
static ir_value *emit_geometry(ep_program *p, const ep_expr *e) {
    ir_value *t = e->n && e->args[0]->kind == EP_PATH ? emit_input(p, e->args[0]->name) : NULL;
    if (!t || t->type->kind != T_TENSOR) return NULL;
    if (e->n == 1) return ep_emit_key(p, "aten::storage_offset", 1, &t);
    ir_value *in[] = {t, graph_constant_int(p->g, e->args[1]->i)};
    return ep_emit_key(p, !strcmp(e->name, "size") ? "aten::size.int" : "aten::stride.int", 2, in);
}

/* a if cond else b, both computed: numbers have no effects. */
static ir_value *emit_where(ep_program *p, const ep_expr *cond, const ep_expr *a,
                            const ep_expr *b) {
    ir_value *c = ep_expr_emit(p, cond), *x = c ? ep_expr_emit(p, a) : NULL,
             *y = x ? ep_expr_emit(p, b) : NULL;
    if (!y || !(c = emit_bool(p, c))) return NULL;
    if (x->type != y->type && (!(x = emit_float(p, x)) || !(y = emit_float(p, y)))) return NULL;
    node *n = ep_insert(p, node_new(p->g, N_IF, 1, &c, 1));
    block_add_return(node_add_block(n), x);
    block_add_return(node_add_block(n), y);
    n->outputs.data[0]->type = x->type;
    return n->outputs.data[0];
}

/* (v, c), ..., (w, true) */
static ir_value *emit_piecewise(ep_program *p, const ep_expr *e) {
    const ep_expr *last = e->n ? e->args[e->n - 1] : NULL;
    for (int i = 0; i < e->n; i++)
        if (e->args[i]->kind != EP_CALL || strcmp(e->args[i]->name, "pair") || e->args[i]->n != 2)
            return NULL;
    if (e->n == 1) return ep_expr_emit(p, last->args[0]);
    return e->n == 2 ? emit_where(p, e->args[0]->args[1], e->args[0]->args[0], last->args[0])
                     : NULL;
}

static ir_value *emit_call(ep_program *p, const ep_expr *e) {
    if (!strcmp(e->name, "size") || !strcmp(e->name, "stride") ||
        !strcmp(e->name, "storage_offset"))
        return emit_geometry(p, e);
    if (!strcmp(e->name, "where"))
        return e->n == 3 ? emit_where(p, e->args[0], e->args[1], e->args[2]) : NULL;
    if (!strcmp(e->name, "piecewise")) return emit_piecewise(p, e);
    size_t row = 0;
    while (row < sizeof emit_rows / sizeof *emit_rows && strcmp(emit_rows[row].name, e->name))
        row++;
    if (row == sizeof emit_rows / sizeof *emit_rows) return NULL;
    bool many = emit_rows[row].n < 0;
    if (many ? e->n < 2 : e->n != emit_rows[row].n) return NULL;
    ir_value *args[3] = {ep_expr_emit(p, e->args[0])};
    if (!many) {
        for (int i = 1; i < e->n; i++)
            if (!args[i - 1] || !(args[i] = ep_expr_emit(p, e->args[i]))) return NULL;
        return args[0] ? emit_rows[row].emit(p, emit_rows[row].op, args) : NULL;
    }
    for (int i = 1; i < e->n && args[0]; i++) {
        args[1] = ep_expr_emit(p, e->args[i]);
        args[0] = args[1] ? emit_rows[row].emit(p, emit_rows[row].op, args) : NULL;
    }
    return args[0];
}

ir_value *ep_expr_emit(ep_program *p, const ep_expr *e) {
    if (ep_failed(p)) return NULL;
    switch (e->kind) {
    case EP_INT: return graph_constant_int(p->g, e->i);
    case EP_FLOAT: return graph_constant_take(p->g, value_float(e->f), NULL);
    case EP_BOOL: return graph_constant_bool(p->g, e->i != 0);
    case EP_SYMBOL: return strmap_get(&p->symbols, e->name);
    case EP_PATH: return emit_input(p, e->name);
    case EP_CALL: return emit_call(p, e);
    }
    return NULL;
}
