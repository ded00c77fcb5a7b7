/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce_precision.c - layers with constant weights compute with less precision than they were
 * written with, where the module is to (ctsc_module_set_precision, docs/precision.md).
 *
 *     reduce-bf16     ctsc::linear_prepacked    ->  ctsc::linear_bf16
 *                     ctsc::conv_channels_last  ->  ctsc::conv_channels_last_bf16
 *     reduce-int8w    ctsc::linear_prepacked    ->  ctsc::linear_int8w
 *
 * Both run last: by then "layout" and "prepack" have found the layers, and given their weights
 * storages of their own.
 * Tests: tests/cli/precision.test
 */
#include "passes/pass/rewrite.h"

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

static bool reduce_int8w_rule(const alias_db *db, node *n) {
    (void)db;
    return reduce_node(n, SYM_CTSC_LINEAR_PREPACKED, SYM_CTSC_LINEAR_INT8W);
}

bool pass_reduce_bf16(pass_ctx *cx, graph *g) { return rewrite_each(cx, g, reduce_bf16_rule); }
bool pass_reduce_int8w(pass_ctx *cx, graph *g) { return rewrite_each(cx, g, reduce_int8w_rule); }
