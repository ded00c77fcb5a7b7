/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peephole_number.c - the rule of numbers that are computed as tensors without dims.
 *
 *     %t : Long() = prim::NumToTensor(%n)
 *     %h : Long() = aten::floor_divide(%t, %two)        after:  %i : int = aten::floordiv(%n, %c2)
 *     %i : int = aten::Int(%h)
 *
 * The tracer writes arithmetic on sizes this way. As ints it needs no tensors, no kernels, and is
 * known where sizes are known. Both wrap. Divisors must be constants above 0: with others ints and
 * tensors fail with different messages, and INT64_MIN / -1 has no result.
 * Tests: tests/ir/peephole/numbers.ir, numbers-kept.ir
 */
#include "passes/peephole/peephole.h"

enum { NUMBER_DEPTH = 6 };

typedef enum number_form { NUMBER_PLAIN, NUMBER_ALPHA, NUMBER_DIVISOR } number_form;

static const struct number_operator {
    op_symbol tensors, ints;
    number_form form; /* NUMBER_ALPHA: has to be 1 */
} number_operators[] = {
    {SYM_ADD, SYM_ADD_INT, NUMBER_ALPHA},
    {SYM_SUB, SYM_SUB_INT, NUMBER_ALPHA},
    {SYM_MUL, SYM_MUL_INT, NUMBER_PLAIN},
    {SYM_FLOOR_DIVIDE, SYM_FLOORDIV_INT, NUMBER_DIVISOR},
    {SYM_REMAINDER, SYM_REMAINDER_INT, NUMBER_DIVISOR},
};

static const struct number_operator *number_operator_of(const node *n) {
    for (size_t i = 0; i < sizeof number_operators / sizeof *number_operators; i++)
        if (node_is_op(n, number_operators[i].tensors)) return &number_operators[i];
    return NULL;
}

/* A constant, as a number or as a tensor without dims. Other dtypes would wrap elsewhere. */
static bool number_constant(const ir_value *v, int64_t *out) {
    tensor *t;
    if (known_int(v, out)) return true;
    if (!known_tensor(v, &t) || t->ndim > 0 || t->dtype != DT_INT64 ||
        tensor_device(t) != DEVICE_HOST)
        return false;
    *out = tensor_item_int(t);
    return true;
}

/* Is the value of v an int64 that ints can compute? */
static bool number_computed(const ir_value *v, int depth) {
    const node *n = v->def;
    int64_t c;
    if (number_constant(v, &c)) return true;
    if (!n || n->kind != N_OP || !n->op || depth > NUMBER_DEPTH || !known_only_read(v))
        return false;
    if (node_is_op(n, SYM_PRIM_NUMTOTENSOR)) return n->inputs.data[0]->type->kind == T_INT;
    const struct number_operator *o = number_operator_of(n);
    if (!o || !peephole_is_tensor(v) || n->inputs.len < 2) return false;
    if (o->form == NUMBER_ALPHA && n->inputs.len > 2 && !known_number_is(n->inputs.data[2], 1))
        return false;
    if (o->form == NUMBER_DIVISOR && !(number_constant(n->inputs.data[1], &c) && c > 0))
        return false;
    return number_computed(n->inputs.data[0], depth + 1) &&
           number_computed(n->inputs.data[1], depth + 1);
}

/* v, which number_computed says can be had, as an int in front of `at`. */
static ir_value *number_as_int(peephole *p, node *at, const ir_value *v) {
    int64_t c;
    if (number_constant(v, &c)) return peephole_constant(at, value_int(c));
    const node *n = v->def;
    if (node_is_op(n, SYM_PRIM_NUMTOTENSOR)) return n->inputs.data[0];
    ir_value *args[2];
    for (int i = 0; i < 2; i++) args[i] = number_as_int(p, at, n->inputs.data[i]);
    return peephole_new_op(p, at, op_of(number_operator_of(n)->ints), 2, args, NULL);
}

/* The element of a constant tensor that nothing in the graph does more with than this: an attribute
 * of a frozen module that says whether to do something. */
static ir_value *number_element(node *n, const ir_value *t) {
    tensor *known;
    if (n->inputs.len != 1 || !known_tensor(t, &known) || known->numel != 1 ||
        !dtype_is_int((dtype)known->dtype) || tensor_device(known) != DEVICE_HOST)
        return NULL;
    for (size_t i = 0; i < t->uses.len; i++)
        if (!node_is_overload(t->uses.data[i].user, n->op->symbol)) return NULL;
    return peephole_constant(n, value_int(tensor_item_int(known)));
}

ir_value *rule_number(peephole *p, node *n) {
    const ir_value *t = n->inputs.data[0];
    ir_value *constant = number_element(n, t);
    if (constant) return constant;
    /* a constant alone is constant folding's */
    if (n->inputs.len != 1 || !peephole_is_tensor(t) || !t->def || t->def->kind != N_OP ||
        !number_computed(t, 0))
        return NULL;
    return number_as_int(p, n, t);
}
