/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuse_epilogues.c - what is done to the result of a linear layer or a convolution becomes a part of it.
 *
 *     %y = aten::linear(%x, %w, %b)
 *     %z = aten::add(%y, %r, %one)          ->     %a = ctsc::linear_epilogue(%x, %w, %b, %r, "relu")
 *     %a = aten::relu(%z)
 *
 * For devices: their kernels add and activate before they store (kernels/epilogue.h), where a kernel of its own would read and write everything once more.
 * On the CPU a fusion group does as well. Activations are relu and gelu of both kinds; either step may be missing.
 *
 * Method. Each block is walked from its end, so that activations are met before sums. The product and the sum are moved to the last of the three, if the
 * alias database allows it, and replaced there. What is between is read by nobody else. Of a sum of two products the later one gets the epilogue.
 * Shapes and dtypes are not known here: where what is added has to be broadcast or converted, the operator does one after the other, as before. Constants
 * and vectors are left to fusion groups, because they are broadcast as a rule.
 * Tests: tests/ir/fuse-epilogues
 */
#include "passes/peephole/value_analysis.h"
#include "passes/rewrite.h"

#include <string.h>

/* ---- patterns ------------------------------------------------------------------------------------------ */

/* The name of n's activation in epilogues; NULL: it has none. */
static const char *epilogue_activation(const node *n) {
    value how;
    if (rewrite_is(n, "aten::relu")) return "relu";
    if (!rewrite_is(n, "aten::gelu") || !ir_value_constant(n->inputs.data[1], &how) || how.tag != V_STR) return NULL;
    return !strcmp(how.u.str->bytes, "none") ? "gelu" : !strcmp(how.u.str->bytes, "tanh") ? "gelu_tanh" : NULL;
}

static bool epilogue_is_sum(const node *n) {
    return rewrite_is(n, "aten::add.Tensor") && fact_number_is(n->inputs.data[2], 1);
}

typedef enum epilogue_product { PRODUCT_NONE, PRODUCT_LINEAR, PRODUCT_ADDMM, PRODUCT_MM, PRODUCT_CONV } epilogue_product;

static epilogue_product epilogue_product_of(const node *n) {
    if (rewrite_is(n, "aten::linear")) return PRODUCT_LINEAR;
    if (rewrite_is(n, "aten::mm")) return PRODUCT_MM;
    if (rewrite_is(n, "aten::addmm") && fact_number_is(n->inputs.data[3], 1) && fact_number_is(n->inputs.data[4], 1)) return PRODUCT_ADDMM;
    return rewrite_is(n, "aten::conv1d") || rewrite_is(n, "aten::conv2d") || rewrite_is(n, "aten::conv3d") ? PRODUCT_CONV : PRODUCT_NONE;
}

typedef struct epilogue_match {
    node *product, *sum; /* sum: may be NULL */
    ir_value *other;
    const char *activation;
} epilogue_match;

/* The product whose result v is; `by` reads it. */
static node *epilogue_find_product(const node *by, const ir_value *v) {
    node *n = rewrite_only_for(by, v);
    return n && epilogue_product_of(n) != PRODUCT_NONE ? n : NULL;
}

static bool epilogue_match_sum(node *sum, epilogue_match *m) {
    node *product[2];
    for (int i = 0; i < 2; i++) product[i] = epilogue_find_product(sum, sum->inputs.data[i]);
    if (!product[0] && !product[1]) return false;
    int i = !product[0] || (product[1] && node_before(product[0], product[1]));
    m->product = product[i];
    m->sum = sum;
    m->other = sum->inputs.data[1 - i];
    int rank = fact_rank(m->other);
    value constant;
    return rank != 0 && rank != 1 && !ir_value_constant(m->other, &constant);
}

static bool epilogue_match_node(node *n, epilogue_match *m) {
    *m = (epilogue_match){.activation = epilogue_activation(n)};
    if (!m->activation) {
        m->activation = "none";
        return epilogue_is_sum(n) && epilogue_match_sum(n, m);
    }
    node *before = rewrite_only_for(n, n->inputs.data[0]);
    if (before && epilogue_is_sum(before)) return epilogue_match_sum(before, m);
    m->product = epilogue_find_product(n, n->inputs.data[0]);
    return m->product != NULL;
}

/* ---- rewriting -------------------------------------------------------------------------------------------- */

static ir_value *epilogue_conv(node *n, const epilogue_match *m, ir_value *other) {
    ir_value *args[9];
    for (int i = 0; i < 7; i++) args[i] = m->product->inputs.data[i];
    args[7] = other;
    args[8] = rewrite_str(n, m->activation);
    return rewrite_op(n, "ctsc::conv_epilogue", 9, args);
}

/* x w + b of matrices: w is the transpose of what a linear layer has. */
static ir_value *epilogue_linear(node *n, const epilogue_match *m, ir_value *other) {
    ir_value *const *in = m->product->inputs.data;
    epilogue_product kind = epilogue_product_of(m->product);
    int x = kind == PRODUCT_ADDMM;
    ir_value *weight = kind == PRODUCT_LINEAR ? in[1] : rewrite_op(n, "aten::t", 1, &in[x + 1]);
    ir_value *bias = kind == PRODUCT_LINEAR ? in[2] : kind == PRODUCT_ADDMM ? in[0] : rewrite_none(n);
    ir_value *args[] = {in[x], weight, bias, other, rewrite_str(n, m->activation)};
    return rewrite_op(n, "ctsc::linear_epilogue", 5, args);
}

static bool epilogue_rewrite(const alias_db *db, node *n, const epilogue_match *m) {
    bool own_sum = m->sum && m->sum != n;
    if (own_sum && !rewrite_move_down(db, m->sum, n)) return false;
    if (!rewrite_move_down(db, m->product, m->sum ? m->sum : n)) return false;
    ir_value *other = m->sum ? m->other : rewrite_none(n);
    ir_value *y = epilogue_product_of(m->product) == PRODUCT_CONV ? epilogue_conv(n, m, other) : epilogue_linear(n, m, other);
    if (!y) return false;
    rewrite_result(n, y);
    if (own_sum) node_remove(m->sum);
    node_remove(m->product);
    return true;
}

static bool epilogue_rule(const alias_db *db, node *n) {
    epilogue_match m;
    return epilogue_match_node(n, &m) && epilogue_rewrite(db, n, &m);
}

bool pass_fuse_epilogues(pass_ctx *cx, graph *g) {
    return rewrite_each(cx, g, epilogue_rule);
}
