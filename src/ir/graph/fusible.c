/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fusible.c - judges single nodes.
 *
 * An argument that shapes the code (a dim, a dtype, a mode) must be constant; sizes and positions
 * may also be numbers known when the group runs; real numbers may be anything.
 * Tests: tests/unit/test_group.c, tests/ir/fuse/
 */
#include "ir/graph/fusible.h"

#include <string.h>

/* ---- nodes ----------------------------------------------------------------------------------- */

/* Ints that may be numbers of the program: sizes, positions, lengths. */
static bool fusible_is_free(const char *name) {
    static const char *const names[] = {"size",  "shape",       "start",           "end",
                                        "step",  "index",       "length",          "split_size",
                                        "sizes", "split_sizes", "normalized_shape"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i], name)) return true;
    return false;
}

/* A constant, or a list made of numbers; of constants unless free. */
static bool fusible_is_known(const ir_value *v, bool is_free) {
    value constant;
    if (ir_value_constant(v, &constant)) return true;
    if (v->type->kind == T_INT) return is_free;
    if (v->type->kind != T_LIST || !v->def || v->def->kind != N_LIST_CONSTRUCT) return false;
    for (size_t i = 0; i < v->def->inputs.len; i++)
        if (!fusible_is_known(v->def->inputs.data[i], is_free)) return false;
    return true;
}

/* Numbers of an operator with a scalar definition are only computed with: any will do. */
static bool fusible_is_number(const type *t) {
    return t->kind == T_FLOAT || t->kind == T_INT || t->kind == T_BOOL;
}
static bool fusible_defined_fits(const node *n) {
    for (size_t i = 0; i < n->inputs.len; i++) {
        const type *want = n->op->schema->args[i].type, *is = n->inputs.data[i]->type;
        if (want->kind == T_TENSOR
                ? is->kind != T_TENSOR
                : !fusible_is_number(is) && !fusible_is_known(n->inputs.data[i], false))
            return false;
    }
    return true;
}

static bool fusible_argument_fits(const argument *a, const ir_value *v, fusible_kind kind) {
    const type *t = a->type->kind == T_OPTIONAL ? a->type->elems[0] : a->type;
    if (t->kind == T_TENSOR) return v->type->kind == T_TENSOR || v->type->kind == T_NONE;
    if (t->kind == T_FLOAT || t->kind == T_NUMBER)
        return v->type->kind == T_FLOAT || v->type->kind == T_INT || v->type->kind == T_BOOL ||
               fusible_is_known(v, false);
    return fusible_is_known(v, (kind == FUSIBLE_VIEW || kind == FUSIBLE_ROWS) &&
                                   fusible_is_free(a->name));
}

static const ir_value *fusible_input(const node *n, const char *name) {
    int i = schema_find_arg(n->op->schema, name);
    return i >= 0 && (size_t)i < n->inputs.len ? n->inputs.data[i] : NULL;
}

static bool fusible_input_is(const node *n, const char *name, bool want) {
    const ir_value *v = fusible_input(n, name);
    value constant;
    return !v ||
           (ir_value_constant(v, &constant) && constant.tag == V_BOOL && constant.u.b == want);
}

/* The order of a norm shapes the code. */
static bool fusible_order_fits(const ir_value *v) {
    value p;
    return !v || ir_value_constant(v, &p);
}

/* Training keeps statistics and draws random numbers. */
static bool fusible_mode_fits(const node *n) {
    if (n->op->symbol == SYM_BATCH_NORM) return fusible_input_is(n, "training", false);
    if (n->op->lowered == LOWER_norm) return fusible_order_fits(n->inputs.data[1]);
    return fusible_input_is(n, "train", false);
}

fusible_kind fusible_node(const node *n) {
    fusible_kind kind = n->kind == N_OP ? op_fusible(n->op) : FUSIBLE_NONE;
    if (!kind || n->blocks.len || n->inputs.len != (size_t)n->op->schema->nargs)
        return FUSIBLE_NONE;
    if (n->op->scalar) return fusible_defined_fits(n) ? kind : FUSIBLE_NONE;
    for (size_t i = 0; i < n->inputs.len; i++)
        if (!fusible_argument_fits(&n->op->schema->args[i], n->inputs.data[i], kind))
            return FUSIBLE_NONE;
    return fusible_mode_fits(n) ? kind : FUSIBLE_NONE;
}
