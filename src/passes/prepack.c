/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prepack.c - layers whose weight is a constant may keep it packed for their kernels (runtime/kernels/matmul/packed_weights.h).
 *
 *     %w : Tensor = prim::Constant[value=<Tensor>]()
 *     %y : Tensor = aten::linear(%x, %w, %b)           ->     %y : Tensor = ctsc::linear_prepacked(%x, %w', %b)
 *
 * %w' has the elements of %w by a storage of its own, since what is derived from them is kept there. Small weights stay: there is little to gain. Runs behind
 * the passes that look for linear layers.
 * Tests: tests/cli/prepack.test
 */
#include "passes/peephole/value_analysis.h"
#include "passes/rewrite.h"

#include "tensor/device.h"

enum { PREPACK_LEAST = 1024 }; /* elements */

static bool prepack_fits(const node *n, tensor **weight) {
    if (!rewrite_is(n, "aten::linear") || !fact_tensor(n->inputs.data[1], weight)) return false;
    const tensor *w = *weight;
    return w->dtype == DT_FLOAT32 && w->ndim == 2 && w->numel >= PREPACK_LEAST && tensor_device(w) == DEVICE_HOST;
}

static bool prepack_rule(const alias_db *db, node *n) {
    (void)db;
    tensor *weight, *own;
    if (!prepack_fits(n, &weight) || tensor_constant(NULL, weight, &own) != CTSC_OK) return false;
    ir_value *w = graph_constant_before_take(n, value_tensor_take(own), n->inputs.data[1]->type);
    if (value_has_name(n->inputs.data[1])) value_set_name(w, n->inputs.data[1]->name);
    ir_value *y = rewrite_op(n, "ctsc::linear_prepacked", 3, (ir_value *[]){n->inputs.data[0], w, n->inputs.data[2]});
    if (!y) return false;
    rewrite_result(n, y);
    return true;
}

bool pass_prepack(pass_ctx *cx, graph *g) {
    return rewrite_each(cx, g, prepack_rule);
}
