/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuse_attention.c - unfused attention becomes one operator.
 *
 *     %s = aten::matmul(%q, %t)                  t: the keys, transposed
 *     %s = aten::div(%s, %scale)                 or mul; may be missing
 *     %s = aten::add(%s, %bias, %one)            may be missing                 ->     %y = ctsc::attention(%q, %t, %v, %bias, %hidden, %fill, %scale, ...)
 *     %s = aten::masked_fill(%s, %hidden, %fill) may be missing
 *     %w = aten::softmax(%s, -1, None)
 *     %y = aten::matmul(%w, %v)                  behind a dropout that does nothing, maybe
 *
 * For devices, which have a kernel that never writes the scores down (kernels/attention_unfused.c);
 * on the CPU the parts are as fast. bmm and baddbmm, with alpha as the scale, are products as well,
 * if both are of that kind.
 *
 * Method. From each product its left operand is followed backwards, step by step in this order.
 * What is between is read by nobody else: where a program returns the weights, nothing changes.
 * Then all steps are moved to the last one, if the alias database allows it, and replaced there.
 * Dtypes and shapes are not known here: the operator does what the steps did where they are not
 * those of attention.
 * Tests: tests/ir/fuse-attention
 */
#include "passes/peephole/value_analysis.h"
#include "passes/rewrite.h"

enum { ATTENTION_STEPS = 6 };

typedef struct attention_match {
    node *steps[ATTENTION_STEPS]; /* from the last but one to the first */
    int count;
    bool batches, divide;
    ir_value *q, *transposed, *v, *bias, *hidden, *fill, *scale; /* the last four may be NULL */
} attention_match;

/* ---- steps ----------------------------------------------------------------------------------- */

/* v's node as the next step backwards; at: the step that reads it. NULL: it is none. */
static node *attention_step(attention_match *m, const node *at, const ir_value *v) {
    node *n = rewrite_only_for(at, v);
    if (!n || m->count == ATTENTION_STEPS) return NULL;
    return m->steps[m->count++] = n;
}

static void attention_step_back(attention_match *m) { m->count--; }

static bool attention_is_number(const ir_value *v) {
    return v->type->kind == T_INT || v->type->kind == T_FLOAT;
}

static bool attention_softmax(const node *n) {
    int64_t dim;
    return node_is_overload(n, SYM_SOFTMAX_INT) && fact_int(n->inputs.data[1], &dim) &&
           fact_is_none(n->inputs.data[2]) &&
           (dim == -1 || dim + 1 == fact_rank(n->inputs.data[0]));
}

static bool attention_idle_dropout(const node *n) {
    bool train;
    return node_is_overload(n, SYM_DROPOUT) && fact_bool(n->inputs.data[2], &train) && !train;
}

/* The first product, of q and the transposed keys. */
static bool attention_first(attention_match *m, const node *n) {
    ir_value *const *in = n->inputs.data;
    int at = 0;
    if (m->batches && !m->bias && !m->scale && node_is_overload(n, SYM_BADDBMM) &&
        fact_number_is(in[3], 1)) {
        m->bias = in[0];
        m->scale = in[4];
        at = 1;
    } else if (!node_is_overload(n, m->batches ? SYM_BMM : SYM_MATMUL)) {
        return false;
    }
    m->q = in[at];
    m->transposed = in[at + 1];
    return true;
}

/* What is in front of the bias: the product, scaled or not. */
static bool attention_scores(attention_match *m, const node *at, const ir_value *v) {
    node *n = attention_step(m, at, v);
    if (!n) return false;
    bool scales = (node_is_op(n, SYM_MUL) || node_is_op(n, SYM_DIV)) && n->inputs.len == 2 &&
                  attention_is_number(n->inputs.data[1]);
    if (!scales) return attention_first(m, n);
    m->divide = node_is_op(n, SYM_DIV);
    m->scale = n->inputs.data[1];
    node *product = attention_step(m, n, n->inputs.data[0]);
    return product && attention_first(m, product);
}

static bool attention_biased(attention_match *m, const node *at, const ir_value *v) {
    node *n = rewrite_only_for(at, v);
    if (!n || !node_is_overload(n, SYM_ADD_TENSOR) || !fact_number_is(n->inputs.data[2], 1))
        return attention_scores(m, at, v);
    if (!attention_step(m, at, v)) return false;
    attention_match before = *m;
    for (int i = 0; i < 2; i++) {
        *m = before;
        m->bias = n->inputs.data[1 - i];
        if (attention_scores(m, n, n->inputs.data[i])) return true;
    }
    return false;
}

static bool attention_masked(attention_match *m, const node *at, const ir_value *v) {
    node *n = attention_step(m, at, v);
    if (!n) return false;
    if (node_is_overload(n, SYM_MASKED_FILL_SCALAR)) {
        m->hidden = n->inputs.data[1];
        m->fill = n->inputs.data[2];
        return attention_biased(m, n, n->inputs.data[0]);
    }
    attention_step_back(m);
    return attention_biased(m, at, v);
}

static bool attention_match_node(node *n, attention_match *m) {
    bool batches = node_is_overload(n, SYM_BMM);
    if (!batches && !node_is_overload(n, SYM_MATMUL)) return false;
    *m = (attention_match){.batches = batches, .v = n->inputs.data[1]};
    node *step = attention_step(m, n, n->inputs.data[0]);
    if (step && attention_idle_dropout(step)) step = attention_step(m, step, step->inputs.data[0]);
    return step && attention_softmax(step) && attention_masked(m, step, step->inputs.data[0]);
}

/* ---- rewriting ------------------------------------------------------------------------------- */

static bool attention_rewrite(const alias_db *db, node *n, const attention_match *m) {
    node *at = n;
    for (int i = 0; i < m->count; at = m->steps[i++])
        if (!rewrite_move_down(db, m->steps[i], at)) return false;
    ir_value *args[] = {m->q,
                        m->transposed,
                        m->v,
                        m->bias ? m->bias : rewrite_none(n),
                        m->hidden ? m->hidden : rewrite_none(n),
                        m->fill ? m->fill : rewrite_int(n, 0),
                        m->scale ? m->scale : rewrite_int(n, 1),
                        rewrite_bool(n, m->divide),
                        rewrite_bool(n, m->batches)};
    ir_value *y = rewrite_op(n, op_of(SYM_CTSC_ATTENTION), sizeof args / sizeof *args, args);
    if (!y) return false;
    rewrite_result(n, y);
    for (int i = 0; i < m->count; i++) node_remove(m->steps[i]);
    return true;
}

static bool attention_rule(const alias_db *db, node *n) {
    attention_match m;
    return attention_match_node(n, &m) && attention_rewrite(db, n, &m);
}

bool pass_fuse_attention(pass_ctx *cx, graph *g) { return rewrite_each(cx, g, attention_rule); }
