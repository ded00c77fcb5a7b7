/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decompose.c - replaces operators that are written in TorchScript by their bodies.
 *
 *     %l : Tensor = aten::margin_ranking_loss(%a, %b, %t, %m, %r)     ->     %d : Tensor = aten::sub(%a, %b, %one) ...
 *
 * Patterns of the pass `quantise` (quantise_fake.c) are left to `decompose-rest`, after it.
 *
 * Method. The body of OP_COMPOSITE operators (op_host.composite_body) is
 * inlined in place of the node, repeatedly, since bodies may use such operators
 * too. Its nodes get the operator's source location, which errors must name.
 * Tests: tests/ir/decompose/
 */
#include "ir/graph/graph.h"
#include "ir/unit.h"
#include "passes/passes.h"

enum { DECOMPOSE_MAX = 100000 }; /* nodes replaced: only a body that contains itself gets there */

typedef struct decomposer {
    pass_ctx *cx;
    graph *g;
    bool rest;
    int replaced;
    bool failed;
} decomposer;

static bool decompose_waits(const node *n) {
    return node_is_overload(n, SYM_FAKE_QUANTIZE_PER_TENSOR_AFFINE) ||
           node_is_overload(n, SYM_FAKE_QUANTIZE_PER_TENSOR_AFFINE_TENSOR_QPARAMS) ||
           node_is_overload(n, SYM_FAKE_QUANTIZE_PER_CHANNEL_AFFINE);
}

static void decompose_place(node *n, const node *like) {
    n->range = like->range;
    n->call = like->call;
    n->range_hidden = like->range_hidden;
    n->scope = like->scope;
    for (size_t i = 0; i < n->blocks.len; i++)
        for (node *m = n->blocks.data[i]->first; m; m = m->next) decompose_place(m, like);
}

static void decompose_results(decomposer *x, node *n, ir_value *result) {
    if (!n->outputs.len) return; /* the body's None */
    if (n->outputs.len == 1) {
        value_replace_known(n->outputs.data[0], result);
        return;
    }
    graph_set_insert(x->g, n->owner, n);
    node *unpack = graph_insert(x->g, node_new(x->g, N_TUPLE_UNPACK, 1, &result, 0));
    for (size_t i = 0; i < n->outputs.len; i++)
        value_replace_uses(n->outputs.data[i], node_add_output(unpack, n->outputs.data[i]->type));
}

/* The first of the nodes that replaced n; NULL: there is none, or it failed. */
static node *decompose_node(decomposer *x, node *n) {
    diag *d = x->cx->diag;
    function *f = op_host_installed->composite_body(n->op, d);
    if (!f || ++x->replaced > DECOMPOSE_MAX) {
        x->failed = true;
        return NULL;
    }
    node *before = n->prev, *next = n->next;
    block *b = n->owner;
    ir_value *result;
    graph_inline(x->g, b, n, f->graph, n->inputs.data, &result);
    if (arena_failed(&x->g->arena)) return x->failed = true, NULL;
    for (node *m = before ? before->next : b->first; m != n; m = m->next) decompose_place(m, n);
    decompose_results(x, n, result);
    node_remove(n);
    node *first = before ? before->next : b->first;
    return first == next ? NULL : first;
}

static void decompose_block(decomposer *x, block *b) {
    for (node *n = b->first, *next; n && !x->failed; n = next) {
        next = n->next;
        if (n->kind == N_OP && n->op && n->op->traits.composite &&
            (x->rest || !decompose_waits(n))) {
            node *first = decompose_node(x, n);
            if (first) next = first;
            continue;
        }
        for (size_t i = 0; i < n->blocks.len && !x->failed; i++)
            decompose_block(x, n->blocks.data[i]);
    }
}

static bool decompose(pass_ctx *cx, graph *g, bool rest) {
    decomposer x = {.cx = cx, .g = g, .rest = rest};
    decompose_block(&x, g->root);
    if (x.replaced > DECOMPOSE_MAX)
        diag_fail(cx->diag, CTSC_INTERNAL, "an operator is made of itself");
    return x.replaced > 0;
}

bool pass_decompose(pass_ctx *cx, graph *g) { return decompose(cx, g, false); }

bool pass_decompose_rest(pass_ctx *cx, graph *g) { return decompose(cx, g, true); }
