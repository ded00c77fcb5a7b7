/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuse_epilogues.c - merges operators on the result
 * of a linear layer or a convolution into it.
 *
 *     %y = aten::linear(%x, %w, %b)
 *     %z = aten::add(%y, %r, %one)          ->     %a = ctsc::linear_epilogue(%x, %w, %b, %r, "relu")
 *     %a = aten::relu(%z)
 *
 * For devices: their kernels add and activate before they store (kernels/engine/epilogue.h),
 * where a separate kernel would read and write everything once more. Activations are relu
 * and gelu of both kinds; either step may be missing. On the CPU a fusion group does as
 * well, except for channels-last convolutions (layout.c), which do it while their result is
 * in registers, and linear layers whose large weight is a constant, which will be packed
 * (prepack.c): fuse-epilogues-host is for them, and knows more activations. There the steps
 * may be in-place operators as well, except for sums after linear layers. x.add_(y) refuses
 * a y that is larger than x, so the convolution is informed of it (`written`).
 *
 * On the host a product before a channels-last convolution becomes a part of it
 * as well, where both factors are results of convolutions: usually an image and a
 * number for each of its channels ("squeeze and excite"). The convolution
 * multiplies pixels when it copies them. Other factors are left to fusion groups.
 *
 * Method. Each block is walked from its end, so that activations are met before
 * sums. The product and the sum are moved to the last of the three, if the alias
 * database allows it, and replaced there. Nothing else may read the intermediate
 * values. In a sum of two products the later one gets the epilogue. Shapes and
 * dtypes are not known here: where the summand has to be broadcast or converted,
 * the operator executes the steps in sequence, as before. Constants and vectors
 * are left to fusion groups, because they are usually broadcast.
 * Tests: tests/ir/fuse-epilogues
 */
#include "ir/op/conv_last_args.h"
#include "passes/pass/rewrite.h"
#include "passes/pass/value_analysis.h"
#include "passes/weights/prepack.h"

#include <string.h>

/* ---- patterns -------------------------------------------------------------------------------- */

/* Whose epilogues are looked for: linear layers of the host are left alone where their
 * precision is going to be reduced. */
typedef enum epilogue_where { ON_DEVICES, ON_HOST_CONVS, ON_HOST_LINEAR } epilogue_where;

/* Is n that overload, or on the host its in-place form? */
static bool epilogue_is(const node *n, op_symbol s, op_symbol in_place, bool host) {
    return node_is_overload(n, s) || (host && node_is_overload(n, in_place));
}

/* Activations on the host that take nothing but a tensor. */
static const struct { op_symbol op, in_place; const char *name; } epilogue_host_rows[] = {
    {SYM_RELU6, SYM_RELU6_, "relu6"},
    {SYM_HARDSIGMOID, SYM_HARDSIGMOID_, "hardsigmoid"},
    {SYM_HARDSWISH, SYM_HARDSWISH_, "hardswish"},
    {SYM_SIGMOID, SYM_SIGMOID_, "sigmoid"},
    {SYM_SILU, SYM_SILU_, "silu"},
};

/* The name of n's activation in epilogues; NULL: it has none. */
static const char *epilogue_activation(const node *n, bool host) {
    value how;
    if (epilogue_is(n, SYM_RELU, SYM_RELU_, host)) return "relu";
    for (size_t i = 0; host && i < sizeof epilogue_host_rows / sizeof *epilogue_host_rows; i++)
        if (epilogue_is(n, epilogue_host_rows[i].op, epilogue_host_rows[i].in_place, host))
            return epilogue_host_rows[i].name;
    if (host && epilogue_is(n, SYM_HARDTANH, SYM_HARDTANH_, host))
        return known_number_is(n->inputs.data[1], 0) && known_number_is(n->inputs.data[2], 6)
                   ? "relu6"
                   : NULL;
    if (!epilogue_is(n, SYM_GELU, SYM_GELU_, host) || !ir_value_constant(n->inputs.data[1], &how) ||
        how.tag != V_STR)
        return NULL;
    return !strcmp(how.u.str->bytes, "none")   ? "gelu"
           : !strcmp(how.u.str->bytes, "tanh") ? "gelu_tanh"
                                               : NULL;
}

static bool epilogue_is_sum(const node *n, bool host) {
    return (node_is_overload(n, SYM_ADD_TENSOR) ||
            (host && node_is_overload(n, SYM_ADD__TENSOR))) &&
           known_number_is(n->inputs.data[2], 1);
}

typedef enum epilogue_product {
    PRODUCT_NONE,
    PRODUCT_LINEAR,
    PRODUCT_ADDMM,
    PRODUCT_MM,
    PRODUCT_CONV,
    PRODUCT_LAST
} epilogue_product;

/* One that has no epilogue yet. */
static bool epilogue_is_last(const node *n) {
    value name;
    return node_is_overload(n, SYM_CTSC_CONV_CHANNELS_LAST) && n->inputs.len == CONV_LAST_ARGS &&
           known_is_none(n->inputs.data[CONV_LAST_OTHER]) &&
           ir_value_constant(n->inputs.data[CONV_LAST_ACTIVATION], &name) && name.tag == V_STR &&
           !strcmp(name.u.str->bytes, "none");
}

/* A linear layer that prepack.c has a packed weight for. A bias that has to be broadcast
 * is not added by the product. */
static bool epilogue_is_packed(const node *n) {
    tensor *w;
    const ir_value *const *in = (const ir_value *const *)n->inputs.data;
    return node_is_overload(n, SYM_LINEAR) && known_tensor(in[1], &w) && prepack_is_weight(w) &&
           (known_is_none(in[2]) || known_rank(in[2]) == 1);
}

static epilogue_product epilogue_product_of(const node *n, epilogue_where where) {
    if (where == ON_HOST_CONVS) return epilogue_is_last(n) ? PRODUCT_LAST : PRODUCT_NONE;
    if (where == ON_HOST_LINEAR) return epilogue_is_packed(n) ? PRODUCT_LINEAR : PRODUCT_NONE;
    if (node_is_overload(n, SYM_LINEAR)) return PRODUCT_LINEAR;
    if (node_is_overload(n, SYM_MM)) return PRODUCT_MM;
    if (node_is_overload(n, SYM_ADDMM) && known_number_is(n->inputs.data[3], 1) &&
        known_number_is(n->inputs.data[4], 1))
        return PRODUCT_ADDMM;
    return node_is_overload(n, SYM_CONV1D) || node_is_overload(n, SYM_CONV2D) ||
                   node_is_overload(n, SYM_CONV3D)
               ? PRODUCT_CONV
               : PRODUCT_NONE;
}

typedef struct epilogue_match {
    node *product, *sum; /* sum: may be NULL */
    ir_value *other;
    const char *activation;
    epilogue_where where;
} epilogue_match;

/* The product whose result v is; `by` reads it. */
static node *epilogue_find_product(const node *by, const ir_value *v, epilogue_where where) {
    node *n = rewrite_only_for(by, v);
    return n && epilogue_product_of(n, where) != PRODUCT_NONE ? n : NULL;
}

static bool epilogue_match_sum(node *sum, epilogue_match *m) {
    node *product[2];
    bool written = sum->op->schema->has_alias_write;
    for (int i = 0; i < 2; i++)
        product[i] = written && i ? NULL
                                  : epilogue_find_product(sum, sum->inputs.data[i], m->where);
    if (!product[0] && !product[1]) return false;
    int i = !product[0] || (product[1] && node_before(product[0], product[1]));
    m->product = product[i];
    m->sum = sum;
    m->other = sum->inputs.data[1 - i];
    int rank = known_rank(m->other);
    value constant;
    return rank != 0 && rank != 1 && !ir_value_constant(m->other, &constant);
}

static bool epilogue_match_node(node *n, epilogue_where where, epilogue_match *m) {
    bool host = where != ON_DEVICES, written = where == ON_HOST_CONVS; /* sums may be add_ */
    *m = (epilogue_match){.activation = epilogue_activation(n, host), .where = where};
    if (!m->activation) {
        m->activation = "none";
        return epilogue_is_sum(n, written) && epilogue_match_sum(n, m);
    }
    node *before = rewrite_only_for(n, n->inputs.data[0]);
    if (before && epilogue_is_sum(before, written) && epilogue_match_sum(before, m)) return true;
    m->sum = NULL;
    m->product = epilogue_find_product(n, n->inputs.data[0], where);
    return m->product != NULL;
}

/* ---- rewriting ------------------------------------------------------------------------------- */

static ir_value *epilogue_conv(node *n, const epilogue_match *m, ir_value *other) {
    ir_value *args[9];
    for (int i = 0; i < 7; i++) args[i] = m->product->inputs.data[i];
    args[7] = other;
    args[8] = rewrite_str(n, m->activation);
    return rewrite_op(n, op_of(SYM_CTSC_CONV_EPILOGUE), 9, args);
}

static ir_value *epilogue_last(node *n, const epilogue_match *m, ir_value *other) {
    ir_value *args[CONV_LAST_ARGS];
    for (int i = 0; i < CONV_LAST_OTHER; i++) args[i] = m->product->inputs.data[i];
    args[CONV_LAST_OTHER] = other;
    args[CONV_LAST_ACTIVATION] = rewrite_str(n, m->activation);
    args[CONV_LAST_WRITTEN] = rewrite_bool(n, m->sum && m->sum->op->schema->has_alias_write);
    args[CONV_LAST_FACTORS] = m->product->inputs.data[CONV_LAST_FACTORS];
    return rewrite_op(n, op_of(SYM_CTSC_CONV_CHANNELS_LAST), CONV_LAST_ARGS, args);
}

/* x w + b of matrices: w is the transpose of what a linear layer has. */
static ir_value *epilogue_linear(node *n, const epilogue_match *m, ir_value *other) {
    ir_value *const *in = m->product->inputs.data;
    epilogue_product kind = epilogue_product_of(m->product, m->where);
    int x = kind == PRODUCT_ADDMM;
    ir_value *weight = kind == PRODUCT_LINEAR ? in[1] : rewrite_op(n, op_of(SYM_T), 1, &in[x + 1]);
    ir_value *bias = kind == PRODUCT_LINEAR  ? in[2]
                     : kind == PRODUCT_ADDMM ? in[0]
                                             : rewrite_none(n);
    ir_value *args[] = {in[x], weight, bias, other, rewrite_str(n, m->activation)};
    return rewrite_op(n, op_of(SYM_CTSC_LINEAR_EPILOGUE), 5, args);
}

static bool epilogue_rewrite(const alias_db *db, node *n, const epilogue_match *m) {
    bool own_sum = m->sum && m->sum != n;
    if (own_sum && !rewrite_move_down(db, m->sum, n)) return false;
    if (!rewrite_move_down(db, m->product, m->sum ? m->sum : n)) return false;
    ir_value *other = m->sum ? m->other : rewrite_none(n);
    epilogue_product kind = epilogue_product_of(m->product, m->where);
    ir_value *y = kind == PRODUCT_LAST   ? epilogue_last(n, m, other)
                  : kind == PRODUCT_CONV ? epilogue_conv(n, m, other)
                                         : epilogue_linear(n, m, other);
    if (!y) return false;
    if (m->where != ON_DEVICES) {
        /* what fails as a rule is the product: its place, not the last step's */
        y->def->range = m->product->range;
        y->def->call = m->product->call;
        y->def->scope = m->product->scope;
    }
    rewrite_result(n, y);
    if (own_sum) node_remove(m->sum);
    node_remove(m->product);
    return true;
}

static bool epilogue_rule(const alias_db *db, node *n) {
    epilogue_match m;
    return epilogue_match_node(n, ON_DEVICES, &m) && epilogue_rewrite(db, n, &m);
}

static bool epilogue_rule_convs(const alias_db *db, node *n) {
    epilogue_match m;
    return epilogue_match_node(n, ON_HOST_CONVS, &m) && epilogue_rewrite(db, n, &m);
}

static bool epilogue_rule_linear(const alias_db *db, node *n) {
    epilogue_match m;
    return epilogue_match_node(n, ON_HOST_LINEAR, &m) && epilogue_rewrite(db, n, &m);
}

static bool epilogue_is_any_last(const node *n) {
    return n && n->kind == N_OP && n->op &&
           (node_is_overload(n, SYM_CTSC_CONV_CHANNELS_LAST) ||
            node_is_overload(n, SYM_CTSC_CONV_CHANNELS_LAST_SCALED));
}

/* Results of convolutions, and the product read by the one convolution n. */
static bool prologue_rule_host(const alias_db *db, node *n) {
    if (!node_is_overload(n, SYM_CTSC_CONV_CHANNELS_LAST) || n->inputs.len != CONV_LAST_ARGS)
        return false;
    node *product = rewrite_only_for(n, n->inputs.data[0]);
    if (!product || !node_is_overload(product, SYM_MUL_TENSOR)) return false;
    for (int i = 0; i < 2; i++)
        if (!epilogue_is_any_last(product->inputs.data[i]->def)) return false;
    if (!rewrite_move_down(db, product, n)) return false;
    ir_value *args[CONV_LAST_ARGS + 1];
    for (int i = 0; i < CONV_LAST_ARGS; i++) args[i] = n->inputs.data[i];
    args[0] = product->inputs.data[0];
    args[CONV_LAST_ARGS] = product->inputs.data[1];
    ir_value *y = rewrite_op(n, op_of(SYM_CTSC_CONV_CHANNELS_LAST_SCALED), CONV_LAST_ARGS + 1,
                             args);
    if (!y) return false;
    rewrite_result(n, y);
    node_remove(product);
    return true;
}

bool pass_fuse_epilogues(pass_ctx *cx, graph *g) { return rewrite_each(cx, g, epilogue_rule); }

bool pass_fuse_epilogues_host(pass_ctx *cx, graph *g) {
    bool changed = rewrite_each(cx, g, epilogue_rule_convs);
    changed = rewrite_each(cx, g, prologue_rule_host) || changed;
    bool linear = !cx->reduce.pass || cx->reduce.error > 0; /* which has chosen already */
    return (linear && rewrite_each(cx, g, epilogue_rule_linear)) || changed;
}
