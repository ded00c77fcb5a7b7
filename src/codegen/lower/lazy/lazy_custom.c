/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lazy_custom.c - operators of a program's own that have a scalar definition
 * (ir/scalar/scalar_text.h) as lazy tensors.
 *
 * Tensors are converted to the computing type (float64 if they are promoted to that, else
 * float32), the definition's nodes become expressions, and the result is rounded to the dtype
 * of the result once. runtime/kernels/pointwise/scalar_eval.c does the same block by block.
 * Tests: tests/unit/test_scalar_text.c
 */
#include "codegen/lower/lazy/lazy_internal.h"

#include "ir/scalar/scalar_text.h"

_Static_assert((int)SCALAR_MAX_FUSED <= (int)LAZY_MAX_INPUTS, "what is fusible can be lowered");

typedef struct custom_definition {
    const scalar_text *text;
    nest_type type;                      /* of the arithmetic */
    int operands[SCALAR_MAX_ARGS];       /* by argument of the schema: which operand it is, */
    nest_expr *numbers[SCALAR_MAX_ARGS]; /* or its value */
} custom_definition;

static nest_expr *custom_binary(lazy *l, nest_op op, nest_expr *const *x) {
    return nest_binary(l->n, op, x[0], x[1]);
}

/* x: the node's operands, as conditions or numbers, as the node needs them. */
static nest_expr *custom_node(lazy *l, const scalar_node *n, nest_expr *const *x) {
    static const nest_op ops[SCALAR_OP_COUNT] = {
        [SCALAR_ADD] = NEST_ADD, [SCALAR_SUB] = NEST_SUB, [SCALAR_MUL] = NEST_MUL,
        [SCALAR_DIV] = NEST_DIV, [SCALAR_EQ] = NEST_EQ,   [SCALAR_NE] = NEST_NE,
        [SCALAR_LT] = NEST_LT,   [SCALAR_LE] = NEST_LE,   [SCALAR_GT] = NEST_GT,
        [SCALAR_GE] = NEST_GE,   [SCALAR_AND] = NEST_AND, [SCALAR_OR] = NEST_OR,
    };
    switch ((scalar_op)n->op) {
    case SCALAR_NEG: return nest_unary(l->n, NEST_NEG, x[0]);
    case SCALAR_NOT: return nest_unary(l->n, NEST_NOT, x[0]);
    case SCALAR_SELECT: return nest_select(l->n, x[0], x[1], x[2]);
    case SCALAR_CALL:
        return nest_call(l->n, scalar_functions[n->function].name, scalar_operands(n), x);
    default: return custom_binary(l, ops[n->op], x);
    }
}

static nest_expr *custom_leaf(lazy *l, const custom_definition *c, const scalar_node *n,
                              nest_expr *const *operands) {
    if (n->op == SCALAR_CONST) return nest_const_float(l->n, c->type, n->number);
    return c->text->is_tensor[n->arg] ? operands[c->operands[n->arg]] : c->numbers[n->arg];
}

static nest_expr *custom_emit(lazy *l, const lazy_emitter *e, dtype dt,
                              nest_expr *const *operands) {
    const custom_definition *c = e->custom;
    nest_expr *made[SCALAR_MAX_NODES];
    (void)dt;
    for (int i = 0; i < c->text->nnodes; i++) {
        const scalar_node *n = &c->text->nodes[i];
        nest_expr *x[3];
        for (int k = 0; k < scalar_operands(n); k++) {
            bool condition = n->op == SCALAR_SELECT ? k == 0
                                                    : scalar_op_table[n->op].takes_conditions;
            x[k] = nest_cast(l->n, condition ? NEST_BOOL : c->type, made[n->args[k]]);
        }
        made[i] = n->op <= SCALAR_ARG ? custom_leaf(l, c, n, operands) : custom_node(l, n, x);
    }
    return nest_cast(l->n, c->type, made[c->text->root]);
}

/* A number argument in the computing type; NULL: not a real number. */
static nest_expr *custom_number(lazy *l, const lazy_arg *a, dtype compute) {
    const lazy_tensor *t = lazy_arg_tensor(l, a);
    return t && t->is_number ? lazy_convert(l, lazy_at(l, t, NULL), t->dt, compute) : NULL;
}

lazy_tensor *lazy_apply_custom(lazy *l, const scalar_text *t, const lazy_arg *args) {
    const lazy_tensor *x[SCALAR_MAX_FUSED];
    custom_definition *c = arena_new(l->a, custom_definition);
    nest_type type;
    int n = 0;
    for (int i = 0; i < t->nargs; i++) {
        if (!t->is_tensor[i]) continue;
        x[n] = lazy_arg_tensor(l, &args[i]);
        if (!x[n] || x[n]->is_number || !nest_type_of(x[n]->dt, &type)) return NULL;
        c->operands[i] = n++;
    }
    dtype result = lazy_promote(n, x);
    if (dtype_is_integral(result)) result = DT_FLOAT32;
    if (!dtype_is_float(result)) return NULL;
    dtype compute = result == DT_FLOAT64 ? DT_FLOAT64 : DT_FLOAT32;
    for (int i = 0; i < t->nargs; i++)
        if (!t->is_tensor[i] && !(c->numbers[i] = custom_number(l, &args[i], compute))) return NULL;
    c->text = t;
    c->type = compute == DT_FLOAT64 ? NEST_F64 : NEST_F32;
    lazy_tensor *made = lazy_pointwise(l,
                                       &(lazy_emitter){.emit = custom_emit, .nx = n, .custom = c},
                                       compute, result, n, x, NULL, NULL);
    if (made) made->cost += t->cost;
    return made;
}
