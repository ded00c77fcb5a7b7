/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ep_number.c - arithmetic on sizes and numbers: _operator.add, math.trunc, torch.sym_max, ...
 *
 * They have the meaning of the expressions that ep_expr_emit.c makes nodes of: a call becomes such
 * an expression about its operands.
 */
#include "frontend/export/ep_internal.h"

static const struct { const char *from, *to; } number_rows[] = {
    {"add", "add"},         {"sub", "sub"},         {"mul", "mul"},        {"floordiv", "floordiv"},
    {"truediv", "truediv"}, {"mod", "mod"},         {"pow", "pow"},        {"neg", "neg"},
    {"pos", "same"},        {"eq", "eq"},           {"ne", "ne"},          {"lt", "lt"},
    {"le", "le"},           {"gt", "gt"},           {"ge", "ge"},          {"and_", "and_"},
    {"or_", "or_"},         {"abs", "abs"},         {"lshift", "lshift"},  {"rshift", "rshift"},
    {"trunc", "trunc"},     {"floor", "floor"},     {"ceil", "ceil"},      {"round", "round"},
    {"sym_int", "trunc"},   {"sym_float", "float"}, {"sym_ite", "where"},  {"sym_max", "max"},
    {"sym_min", "min"},     {"sym_not", "not"},     {"_sym_sqrt", "sqrt"}, {"sym_sqrt", "sqrt"},
    {"_sym_exp", "exp"},    {"_sym_log", "log"},    {"_sym_sin", "sin"},   {"_sym_cos", "cos"},
    {"_sym_tan", "tan"},    {"_sym_tanh", "tanh"},  {"_sym_asin", "asin"}, {"_sym_acos", "acos"},
    {"_sym_atan", "atan"},  {"_sym_sinh", "sinh"},  {"_sym_cosh", "cosh"}, {"sym_sum", "add"},
};

/* `and` of bools is logical, of ints bitwise. */
static const char *number_logic(const char *to, const ir_value *v) {
    bool bools = v->type->kind == T_BOOL;
    if (!strcmp(to, "and_")) return bools ? "and" : "bitand";
    if (!strcmp(to, "or_")) return bools ? "or" : "bitor";
    return to;
}

bool ep_number(ep_node *n, const char *name) {
    ep_program *p = n->sc->p;
    /* no symbol of a file begins with a space */
    static const char *const names[] = {" 0", " 1", " 2"};
    ep_expr operands[3], *args[3];
    size_t row = 0, count = json_array_size(n->inputs);
    while (row < sizeof number_rows / sizeof *number_rows && strcmp(number_rows[row].from, name))
        row++;
    if (row == sizeof number_rows / sizeof *number_rows)
        return ep_unsupported(p, "calls of this are not supported");
    if (!count || count > 3) return ep_bad(p, "it has %zu operands", count);
    const char *to = number_rows[row].to;
    for (size_t i = 0; i < count; i++) {
        ir_value *v = ep_argument(n->sc, ep_node_arg(n, i), NULL);
        if (!v) return false;
        if (v->type->kind == T_TENSOR && !(v = ep_emit(p, "aten::item", 1, &v))) return false;
        if (i == 0) to = number_logic(to, v);
        if (!strmap_put(&p->symbols, names[i], v)) return ep_no_memory(p);
        operands[i] = (ep_expr){.kind = EP_SYMBOL, .name = names[i]};
        args[i] = &operands[i];
    }
    ep_expr call = {.kind = EP_CALL, .name = to, .n = (int)count, .args = args};
    ir_value *v = ep_expr_emit(p, &call);
    if (!v) return ep_bad(p, "it does not take %zu operands of these types", count);
    return ep_results(n, 1, &v, 0);
}
