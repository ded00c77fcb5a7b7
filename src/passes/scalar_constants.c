/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scalar_constants.c - numbers in the place of constant tensors without dims, where
 * PyTorch puts them.
 *
 *     before:  %c : Double() = prim::Constant[value={3e-05}]()      after:  %c.1 : float = prim::Constant[value=3e-05]()
 *              %y : Tensor = aten::mul(%x, %c)                              %y : Tensor = aten::mul(%x, %c.1)
 *
 * The tracer records the numbers of a Python program as such tensors. A number decides the result's
 * dtype less than a tensor does: int64 times a float64 tensor is float64, times a number it is
 * float32. PyTorch replaces the second operand of four operators when it first runs a graph, so
 * this is a part of what programs mean, at every level; graphs are shown without it. The operators'
 * other names count along: normalize-ops may not change what a graph means. Attributes of modules,
 * which freezing makes constants of, stay.
 * Tests: tests/ir/scalar-constants
 */
#include "passes/pass/value_analysis.h"
#include "passes/passes.h"

static const struct { op_symbol tensor, scalar; } scalar_operators[] = {
    {SYM_ADD_TENSOR, SYM_ADD_SCALAR},           {SYM_SUB_TENSOR, SYM_SUB_SCALAR},
    {SYM_MUL_TENSOR, SYM_MUL_SCALAR},           {SYM_DIV_TENSOR, SYM_DIV_SCALAR},
    {SYM_SUBTRACT_TENSOR, SYM_SUBTRACT_SCALAR}, {SYM_MULTIPLY_TENSOR, SYM_MULTIPLY_SCALAR},
    {SYM_DIVIDE_TENSOR, SYM_DIVIDE_SCALAR},     {SYM_TRUE_DIVIDE_TENSOR, SYM_TRUE_DIVIDE_SCALAR},
};

/* What n is with a number as its second operand: NULL if that is not a constant number. */
static const op *scalar_replacement(const node *n, tensor **constant) {
    if (n->kind != N_OP || !n->op || n->inputs.len < 2) return NULL;
    for (size_t i = 0; i < sizeof scalar_operators / sizeof *scalar_operators; i++) {
        if (n->op->symbol != scalar_operators[i].tensor) continue;
        if (!known_tensor(n->inputs.data[1], constant) || (*constant)->ndim > 0) return NULL;
        dtype dt = (dtype)(*constant)->dtype;
        return dtype_is_float(dt) || dtype_is_int(dt) ? op_of(scalar_operators[i].scalar) : NULL;
    }
    return NULL;
}

static bool scalar_block(graph *g, block *b) {
    bool changed = false;
    for (node *n = b->first; n; n = n->next) {
        tensor *t;
        const op *o = scalar_replacement(n, &t);
        for (size_t i = 0; i < n->blocks.len; i++) changed |= scalar_block(g, n->blocks.data[i]);
        if (!o) continue;
        tensor *here;
        if (tensor_to_device(NULL, t, DEVICE_HOST, &here) != CTSC_OK) continue;
        value v = dtype_is_float((dtype)t->dtype) ? value_float(tensor_item_float(here))
                                                  : value_int(tensor_item_int(here));
        tensor_unref(here);
        graph_set_insert(g, b, n);
        node_set_input(n, 1, graph_constant_take(g, v, NULL));
        n->op = o;
        changed = true;
    }
    return changed;
}

bool pass_scalar_constants(pass_ctx *cx, graph *g) {
    (void)cx;
    return scalar_block(g, g->root);
}

static bool scalar_any(const block *b) {
    for (const node *n = b->first; n; n = n->next) {
        tensor *t;
        if (scalar_replacement(n, &t)) return true;
        for (size_t i = 0; i < n->blocks.len; i++)
            if (scalar_any(n->blocks.data[i])) return true;
    }
    return false;
}

bool pass_scalar_constants_wanted(const graph *g) { return scalar_any(g->root); }
