/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce_precision.c - layers with constant weights compute with less precision than they were
 * written with, where the module is to (ctsc_module_set_precision, docs/precision.md).
 *
 *     reduce-bf16     ctsc::linear_prepacked    ->  ctsc::linear_bf16
 *                     ctsc::conv_channels_last  ->  ctsc::conv_channels_last_bf16
 *     reduce-int8w    ctsc::linear_prepacked    ->  ctsc::linear_int8w
 *                     aten::embedding           ->  ctsc::embedding_int8w
 *     reduce-int4w    the same of 4 bits, with pass_ctx.reduce_group and .reduce_zeros
 *
 * All run last: by then "layout" and "prepack" have found the layers, and given their weights
 * storages of their own. A table that is a layer's weight as well shares the layer's storage, so
 * that it is packed once.
 * Tests: tests/cli/precision.test, tests/unit/test_precision.c
 */
#include "passes/pass/rewrite.h"
#include "passes/pass/value_analysis.h"
#include "passes/weights/prepack.h"

static bool reduce_node(node *n, op_symbol from, op_symbol to) {
    if (!node_is_overload(n, from)) return false;
    ir_value *y = rewrite_op(n, op_of(to), (int)n->inputs.len, n->inputs.data);
    if (!y) return false;
    rewrite_result(n, y);
    return true;
}

static bool reduce_bf16_rule(const alias_db *db, node *n) {
    (void)db;
    return reduce_node(n, SYM_CTSC_LINEAR_PREPACKED, SYM_CTSC_LINEAR_BF16) ||
           reduce_node(n, SYM_CTSC_CONV_CHANNELS_LAST, SYM_CTSC_CONV_CHANNELS_LAST_BF16);
}

bool pass_reduce_bf16(pass_ctx *cx, graph *g) { return rewrite_each(cx, g, reduce_bf16_rule); }

/* ---- weights alone --------------------------------------------------------------------------- */

enum { REDUCE_GROUP = 32 };

/* What a walk over the graph knows. */
typedef struct reduce_walk {
    graph *g;
    bool four;
    int64_t group; /* of four bits */
    bool zeros;
    VEC(tensor *) layers; /* weights of linear layers; borrowed from constants of the graph */
} reduce_walk;

/* The weight of a linear layer that has these elements; NULL: none. */
static tensor *reduce_layer(const reduce_walk *w, const tensor *t) {
    for (size_t i = 0; i < w->layers.len; i++) {
        tensor *layer = w->layers.data[i];
        if (tensor_data(layer) == tensor_data(t) && layer->dtype == t->dtype && layer->ndim == 2 &&
            layer->sizes[0] == t->sizes[0] && layer->sizes[1] == t->sizes[1] &&
            layer->strides[0] == t->strides[0] && layer->strides[1] == t->strides[1])
            return layer;
    }
    return NULL;
}

/* n becomes `to`, with its first `ninputs` inputs and what four bits need besides. */
static bool reduce_weights(const reduce_walk *w, node *n, op_symbol to, int ninputs) {
    ir_value *in[5];
    for (int i = 0; i < ninputs; i++) in[i] = n->inputs.data[i];
    if (w->four) in[ninputs++] = rewrite_int(n, w->group);
    if (w->four) in[ninputs++] = rewrite_bool(n, w->zeros);
    ir_value *y = rewrite_op(n, op_of(to), ninputs, in);
    if (y) rewrite_result(n, y);
    return y != NULL;
}

static bool reduce_linear(reduce_walk *w, node *n) {
    tensor *weight;
    if (!node_is_overload(n, SYM_CTSC_LINEAR_PREPACKED) ||
        !known_tensor(n->inputs.data[1], &weight))
        return false;
    tensor *same = reduce_layer(w, weight);
    if (!same) w->g->arena.failed |= !vec_push(&w->layers, weight);
    else if (same != weight)
        node_set_input(n, 1,
                       graph_constant_before_take(n, value_tensor_take(tensor_ref(same)),
                                                  n->inputs.data[1]->type));
    return reduce_weights(w, n, w->four ? SYM_CTSC_LINEAR_INT4W : SYM_CTSC_LINEAR_INT8W, 3);
}

static bool reduce_embedding(reduce_walk *w, node *n) {
    tensor *table;
    if (!node_is_overload(n, SYM_EMBEDDING) || !known_tensor(n->inputs.data[0], &table) ||
        !prepack_is_weight(table))
        return false;
    tensor *own = reduce_layer(w, table);
    if (own) tensor_ref(own);
    else if (tensor_constant(NULL, table, &own) != CTSC_OK) return false;
    node_set_input(n, 0,
                   graph_constant_before_take(n, value_tensor_take(own), n->inputs.data[0]->type));
    return reduce_weights(w, n, w->four ? SYM_CTSC_EMBEDDING_INT4W : SYM_CTSC_EMBEDDING_INT8W, 2);
}

static bool reduce_block(reduce_walk *w, block *b, bool (*rule)(reduce_walk *w, node *n)) {
    bool changed = false;
    for (node *n = b->first, *next; n && !arena_failed(&w->g->arena); n = next) {
        next = n->next;
        for (size_t i = 0; i < n->blocks.len; i++)
            changed |= reduce_block(w, n->blocks.data[i], rule);
        if (n->kind == N_OP) changed |= rule(w, n);
    }
    return changed;
}

static bool reduce_walk_run(reduce_walk *w) {
    bool changed = reduce_block(w, w->g->root, reduce_linear);
    changed |= reduce_block(w, w->g->root, reduce_embedding);
    vec_free(&w->layers);
    return changed;
}

bool pass_reduce_int8w(pass_ctx *cx, graph *g) {
    (void)cx;
    return reduce_walk_run(&(reduce_walk){.g = g});
}

bool pass_reduce_int4w(pass_ctx *cx, graph *g) {
    return reduce_walk_run(
        &(reduce_walk){.g = g,
                       .four = true,
                       .group = cx->reduce_group ? cx->reduce_group : REDUCE_GROUP,
                       .zeros = cx->reduce_zeros});
}
