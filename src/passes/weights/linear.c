/* SPDX-License-Identifier: Apache-2.0 */
/*
 * linear.c - the ways to write a linear layer become aten::linear.
 *
 *     %t = aten::t(%w)  %y = aten::addmm(%b, %x, %t, %beta=1, %alpha=1)     ->     %y = aten::linear(%x, %w, %b)
 *     %t = aten::t(%w)  %y = aten::matmul(%x, %t)                          ->     %y = aten::linear(%x, %w, %none)
 *     %y = aten::linear(%x, %w, %none)  %z = aten::add(%y, %b, %alpha=1)   ->     %z = aten::linear(%x, %w, %b)
 *
 * So does the product with a large constant of 16 bits, whose transpose becomes the weight: layers
 * keep it packed, products would convert it each time.
 *
 * The first two compute the same bits; the third may round differently, which is why it asks for a
 * bias whose dtype and size are known to be the layer's. w must have two dimensions, b one: known
 * from constants, types, or operators that take nothing else.
 * Tests: tests/ir/fuse-linear
 */
#include "passes/pass/pass.h"
#include "passes/pass/rewrite.h"
#include "passes/pass/value_analysis.h"
#include "passes/weights/prepack.h"

/* w of a transposed matrix; NULL: it is not one. matrix: the operator that reads it
 * takes matrices only. */
static ir_value *linear_transposed(const ir_value *v, bool matrix) {
    const node *n = v->def;
    int64_t a, b;
    if (!n || n->kind != N_OP || !n->op) return NULL;
    ir_value *w = n->inputs.data[0];
    if (!matrix && known_rank(w) != 2) return NULL;
    if (node_is_op(n, SYM_T) || node_is_op(n, SYM_NUMPY_T)) return w;
    if (!node_is_op(n, SYM_TRANSPOSE) || !known_int(n->inputs.data[1], &a) ||
        !known_int(n->inputs.data[2], &b))
        return NULL;
    if (a < 0) a += 2;
    if (b < 0) b += 2;
    return (a == 0 && b == 1) || (a == 1 && b == 0) ? w : NULL;
}

/* The transpose of a constant in front of n; NULL: v is none, or there is no memory. */
static ir_value *linear_constant(node *n, const ir_value *v) {
    tensor *t, *turned;
    if (!known_tensor(v, &t) || !prepack_is_half(t) ||
        tensor_transpose(NULL, t, 0, 1, &turned) != CTSC_OK)
        return NULL;
    ir_value *w = graph_constant_before_take(n, value_tensor_take(turned), NULL);
    if (w && value_has_name(v)) value_set_name(w, v->name);
    return w;
}

static bool linear_is_one(const ir_value *v) { return known_number_is(v, 1); }

static bool linear_replace(node *n, ir_value *x, ir_value *w, ir_value *b) {
    ir_value *args[] = {x, w, b ? b : rewrite_none(n)},
             *y = rewrite_op(n, op_of(SYM_LINEAR), 3, args);
    if (y) rewrite_result(n, y);
    return y != NULL;
}

/* A bias as wide as the layer, of its dtype. */
static bool linear_bias_fits(const ir_value *b, const ir_value *w) {
    return known_rank(b) == 1 && known_size(b, 0) >= 0 && known_size(b, 0) == known_size(w, 0) &&
           known_dtype(b) >= 0 && known_dtype(b) == known_dtype(w) &&
           dtype_is_float((dtype)known_dtype(b));
}

static bool linear_add(node *n) {
    if (n->inputs.len != 3 || !linear_is_one(n->inputs.data[2])) return false;
    for (int i = 0; i < 2; i++) {
        const ir_value *y = n->inputs.data[i];
        const node *l = y->def;
        ir_value *b = n->inputs.data[1 - i];
        if (!l || !node_is_op(l, SYM_LINEAR) || l->inputs.len != 3 ||
            !known_is_none(l->inputs.data[2]) || y->uses.len != 1 || l->owner != n->owner ||
            !linear_bias_fits(b, l->inputs.data[1]))
            continue;
        /* nothing between the two may write what the layer reads */
        if (known_graph_writes(n->g) && l->next != n) continue;
        return linear_replace(n, l->inputs.data[0], l->inputs.data[1], b);
    }
    return false;
}

static bool linear_node(node *n) {
    if (n->kind != N_OP || !n->op || !n->op->schema->nreturns || n->outputs.len != 1) return false;
    if (node_is_op(n, SYM_ADD)) return linear_add(n);
    /* other overloads write, or have another dtype */
    bool addmm = node_is_overload(n, SYM_ADDMM), mm = node_is_overload(n, SYM_MM);
    if (!(addmm || mm || node_is_overload(n, SYM_MATMUL))) return false;
    size_t first = addmm ? 1 : 0;
    ir_value *b = addmm ? n->inputs.data[0] : NULL, *by = n->inputs.data[first + 1],
             *w = linear_transposed(by, addmm || mm);
    if (addmm && (known_rank(b) != 1 || !linear_is_one(n->inputs.data[3]) ||
                  !linear_is_one(n->inputs.data[4])))
        return false;
    if (!w) w = linear_constant(n, by);
    return w && linear_replace(n, n->inputs.data[first], w, b);
}

static bool linear_block(block *b) {
    bool changed = false;
    for (node *n = b->first, *next; n && !arena_failed(&b->g->arena); n = next) {
        next = n->next;
        for (size_t i = 0; i < n->blocks.len; i++) changed |= linear_block(n->blocks.data[i]);
        changed |= linear_node(n);
    }
    return changed;
}

bool pass_fuse_linear(pass_ctx *cx, graph *g) {
    (void)cx;
    return linear_block(g->root);
}
