/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place.c - makes new tensors where the module was moved to.
 *
 *     before:  %4 : Device = prim::Constant[value="cpu"]()                 after:  %7 : Device = prim::Constant[value="cuda:0"]()
 *              %x = aten::zeros(%size, %dtype, %layout, %4, %pin)                  %x = aten::zeros(%size, %dtype, %layout, %7, %pin)
 *
 * A traced program has the device of its example arguments in every operator
 * that makes a tensor, and programs that were written for the CPU name none.
 * Operators that are like another tensor (zeros_like, new_ones) follow it.
 * Moves (aten::to) are unchanged: a program that writes them means them.
 * Tests: tests/unit/test_cuda_tensor.c
 */
#include "passes/passes.h"

static bool place_is_move(const op *o) {
    return o->name_symbol == SYM_TO || o->name_symbol == SYM__TO_COPY;
}

static bool place_takes_tensor(const schema *s) {
    return s->nargs && s->args[0].type->kind == T_TENSOR;
}

/* The input that says where, if that is the CPU or not said; -1: none. */
static int place_input(const node *n) {
    value c;
    if (n->kind != N_OP || !n->op || place_is_move(n->op)) return -1;
    int i = schema_find_arg(n->op->schema, "device");
    if (i < 0 || (size_t)i >= n->inputs.len || !ir_value_constant(n->inputs.data[i], &c)) return -1;
    return c.tag == V_NONE || (c.tag == V_DEVICE && c.u.device == DEVICE_HOST) ? i : -1;
}

static bool place_block(graph *g, block *b, int device) {
    bool changed = false;
    for (node *n = b->first; n; n = n->next) {
        for (size_t i = 0; i < n->blocks.len; i++)
            changed |= place_block(g, n->blocks.data[i], device);
        int i = place_input(n);
        if (i < 0) continue;
        bool follows = place_takes_tensor(n->op->schema);
        graph_set_insert(g, b, n);
        node_set_input(n, i,
                       follows ? graph_constant_none(g)
                               : graph_constant_take(g, value_device(device), NULL));
        changed = true;
    }
    return changed;
}

bool pass_place(pass_ctx *cx, graph *g) {
    return cx->device != DEVICE_HOST && place_block(g, g->root, cx->device);
}
