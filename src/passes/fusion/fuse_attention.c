/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuse_attention.c - fuses attention written as separate operators.
 *
 *     %s = aten::matmul(%q, %t)                  t: the keys, transposed
 *     %s = aten::div(%s, %scale)                 or mul; a number or a tensor of no dims; may be missing
 *     %s = aten::add(%s, %bias, %one)            may be missing                 ->     %y = ctsc::attention(%q, %t, %v, %bias, %hidden, %fill, %scale, ...)
 *     %s = aten::masked_fill(%s, %hidden, %fill) may be missing
 *     %s = aten::to(%s, 6)                       may be missing, or the softmax's dtype
 *     %w = aten::softmax(%s, -1, None)
 *     %w = aten::to(%w, %dtype)                  may be missing
 *     %y = aten::matmul(%w, %v)                  possibly after a dropout that does nothing
 *
 * bmm and baddbmm, with alpha as the scale, are products as well, if both are of that
 * kind. Also matched is the output of torch.export's run_decompositions() for
 * scaled_dot_product_attention: q and t times the root of the scale each, products between
 * views of three dims, and a softmax that is 0 where all scores of a row are -inf.
 *
 *     %a = aten::expand(%q, [b, h, l, d])        %m = aten::eq(%s, -inf)
 *     %a = aten::view(%a, [bh, l, d])            %m = aten::logical_not(%m)
 *     %t = aten::expand(%t, [b, h, d, k])        %m = aten::any(%m, -1, True)
 *     %t = aten::view(%t, [bh, d, k])            %m = aten::logical_not(%m)
 *     %s = aten::bmm(%a, %t)                     %w = aten::_softmax(%s, -1, False)
 *     %s = aten::view(%s, [b, h, l, k])          %z = aten::full_like(%w, 0)
 *                                                %w = aten::where(%m, %z, %w)
 *
 * Its kernels never store the whole matrix of scores (attention/attention_unfused.c).
 *
 * Heads that are repeated for several of the query's need not be, if the operator
 * may see that they were (attention/scaled_dot_product.c tests the sizes):
 *
 *     %a = aten::expand(%k, [b, h, g, s, d])     and so %b of %v
 *     %a = aten::reshape(%a, [b, hg, s, d])                                     ->     %y = ctsc::attention_grouped(%q, %k', %v', [b, hg, s, d], ...)
 *     %y = aten::scaled_dot_product_attention(%q, %a, %b, %mask, ...)
 *
 * For ctsc::attention, keys and values are then unexpanded, and their sizes arguments.
 *
 * Method. From each product its left operand is followed backwards, step by step in
 * this order. Nothing else may read the intermediate values: where a program returns
 * the weights, nothing changes. Then all steps are moved to the last one, if the
 * alias database allows it, and replaced there. Dtypes and shapes are not known
 * here: the operator executes the original steps where they are not those of attention.
 * Tests: tests/ir/fuse-attention
 */
#include "passes/pass/rewrite.h"
#include "passes/pass/value_analysis.h"

#include <math.h>

enum { ATTENTION_STEPS = 24, ATTENTION_DIMS = 8 };

typedef struct attention_match {
    node *steps[ATTENTION_STEPS]; /* from the last but one to the first */
    int count;
    bool batches, divide;
    double factor; /* of q and of the transposed keys */
    ir_value *q, *transposed, *v, *bias, *hidden, *fill, *scale; /* the last four may be NULL */
    ir_value *softmax_dtype, *weights_dtype;                     /* may be NULL */
    ir_value *q_sizes, *transposed_sizes; /* what they are expanded to; may be NULL */
    const ir_value *scores; /* of a softmax that is 0 where all of a row are -inf; else NULL */
} attention_match;

/* ---- steps ----------------------------------------------------------------------------------- */

static node *attention_add(attention_match *m, node *n) {
    return n && m->count < ATTENTION_STEPS ? m->steps[m->count++] = n : NULL;
}

/* The operator that made v, if only the pattern reads it: `at`, and what masks the softmax. */
static node *attention_made(const attention_match *m, const node *at, const ir_value *v) {
    return v == m->scores ? rewrite_read_by(at, v, 2) : rewrite_only_for(at, v);
}

/* v's node as the next step backwards; at: the step that reads it. NULL: it is none. */
static node *attention_step(attention_match *m, const node *at, const ir_value *v) {
    return attention_add(m, attention_made(m, at, v));
}

/* The same, if it is that operator. */
static node *attention_step_is(attention_match *m, const node *at, const ir_value *v,
                               op_symbol key) {
    node *n = attention_made(m, at, v);
    return n && node_is_overload(n, key) ? attention_add(m, n) : NULL;
}

/* Traced programs have tensors of no dims where the source has numbers. */
static bool attention_is_scale(const ir_value *v) {
    return v->type->kind == T_INT || v->type->kind == T_FLOAT ||
           (v->type->kind == T_TENSOR && known_rank(v) == 0);
}

static bool attention_is_last_dim(const ir_value *dim, const ir_value *x) {
    int64_t d;
    return known_int(dim, &d) && (d == -1 || d + 1 == known_rank(x));
}

/* ---- products between views ------------------------------------------------------------------ */

/* A list of ints; v: NULL where the number is known. */
typedef struct attention_list {
    int n;
    struct { const ir_value *v; int64_t number; } of[ATTENTION_DIMS];
} attention_list;

static bool attention_ints(const ir_value *v, attention_list *out) {
    int64_t known[KNOWN_MAX_INTS];
    const node *made = NULL;
    bool all = known_ints(v, known, &out->n);
    if (!all && (made = known_fixed_list(v))) out->n = (int)made->inputs.len;
    if ((!all && !made) || out->n > ATTENTION_DIMS) return false;
    for (int i = 0; i < out->n; i++) {
        bool number = all || known_int(made->inputs.data[i], &known[i]);
        out->of[i].v = number ? NULL : made->inputs.data[i];
        out->of[i].number = number ? known[i] : 0;
    }
    return true;
}

static bool attention_same(const attention_list *a, int i, const attention_list *b, int k) {
    return a->of[i].v == b->of[k].v && a->of[i].number == b->of[k].number;
}

/* An operand: view(expand(x, sizes), [batches, rows, columns]) of the product at `at`. */
typedef struct attention_operand {
    node *expand;
    attention_list sizes, flat;
} attention_operand;

static bool attention_viewed(attention_match *m, const node *at, const ir_value *v,
                             attention_operand *o) {
    node *flat = attention_step_is(m, at, v, SYM_VIEW);
    o->expand = flat ? rewrite_only_for(flat, flat->inputs.data[0]) : NULL;
    if (!o->expand || !node_is_overload(o->expand, SYM_EXPAND) ||
        !attention_ints(o->expand->inputs.data[1], &o->sizes) ||
        !attention_ints(flat->inputs.data[1], &o->flat))
        return false;
    int n = o->sizes.n;
    return n >= 3 && o->flat.n == 3 && attention_same(&o->flat, 1, &o->sizes, n - 2) &&
           attention_same(&o->flat, 2, &o->sizes, n - 1);
}

/* Is y, an aten::view, matmul(x, z) of the tensors that both operands expand? */
static bool attention_product(attention_match *m, const node *y, attention_operand *x,
                              attention_operand *z) {
    attention_list sizes;
    node *product = attention_step_is(m, y, y->inputs.data[0], SYM_BMM);
    if (!product || !attention_ints(y->inputs.data[1], &sizes) ||
        !attention_viewed(m, product, product->inputs.data[0], x) ||
        !attention_viewed(m, product, product->inputs.data[1], z))
        return false;
    int n = sizes.n;
    bool same = x->sizes.n == n && z->sizes.n == n && attention_same(&x->flat, 0, &z->flat, 0) &&
                attention_same(&sizes, n - 2, &x->sizes, n - 2) &&
                attention_same(&sizes, n - 1, &z->sizes, n - 1);
    for (int i = 0; same && i < n - 2; i++)
        same = attention_same(&sizes, i, &x->sizes, i) && attention_same(&sizes, i, &z->sizes, i);
    return same;
}

/* ---- softmax --------------------------------------------------------------------------------- */

static bool attention_number(const ir_value *v, double *x) {
    value c;
    if (!ir_value_constant(v, &c) || (c.tag != V_FLOAT && c.tag != V_INT)) return false;
    *x = c.tag == V_FLOAT ? c.u.f : (double)c.u.i;
    return true;
}

static bool attention_softmax(attention_match *m, const node *n) {
    bool half_to_float = true;
    if (node_is_overload(n, SYM__SOFTMAX)) {
        if (!known_bool(n->inputs.data[2], &half_to_float) || half_to_float) return false;
    } else if (node_is_overload(n, SYM_SOFTMAX_INT)) {
        if (!known_is_none(n->inputs.data[2])) m->softmax_dtype = n->inputs.data[2];
    } else {
        return false;
    }
    return attention_is_last_dim(n->inputs.data[1], n->inputs.data[0]);
}

/* The dtype that n converts to, doing nothing else; NULL: it is no such conversion. */
static ir_value *attention_cast(const node *n) {
    ir_value *const *in = n->inputs.data;
    bool copy = node_is_overload(n, SYM__TO_COPY);
    if (copy) {
        for (int i = 2; i < 5; i++)
            if (!known_is_none(in[i])) return NULL;
        if (!known_is_none(in[6])) return NULL;
    } else {
        bool prim = node_is_overload(n, SYM_TO_PRIM_DTYPE);
        if ((!prim && !node_is_overload(n, SYM_TO_DTYPE)) || !known_bool(in[3], &copy) || copy ||
            (!prim && !known_is_none(in[4])))
            return NULL;
    }
    return in[1]->type->kind == T_INT ? in[1] : NULL;
}

/* v without a conversion, whose dtype *dtype is then. */
static const ir_value *attention_uncast(attention_match *m, const node *at, const ir_value *v,
                                        ir_value **dtype) {
    node *n = rewrite_only_for(at, v);
    ir_value *to = n ? attention_cast(n) : NULL;
    if (!to || !attention_add(m, n)) return v;
    *dtype = to;
    return n->inputs.data[0];
}

/* Is it all(scores == -inf, -1, True), as `at` reads it? */
static bool attention_hides_all(attention_match *m, const node *at, const ir_value *v,
                                const ir_value *scores) {
    bool keep;
    double low;
    node *no = attention_step_is(m, at, v, SYM_LOGICAL_NOT),
         *any = no ? attention_step_is(m, no, no->inputs.data[0], SYM_ANY_DIM) : NULL,
         *yes = any ? attention_step_is(m, any, any->inputs.data[0], SYM_LOGICAL_NOT) : NULL,
         *low_one = yes ? attention_step_is(m, yes, yes->inputs.data[0], SYM_EQ_SCALAR) : NULL;
    return low_one && low_one->inputs.data[0] == scores &&
           attention_number(low_one->inputs.data[1], &low) && low == (double)-INFINITY &&
           known_bool(any->inputs.data[2], &keep) && keep &&
           attention_is_last_dim(any->inputs.data[1], scores);
}

/* where(all(scores == -inf), 0, softmax(scores)), as
 * _safe_softmax is decomposed; the scores, or NULL. */
static const ir_value *attention_safe_softmax(attention_match *m, node *where) {
    ir_value *const *in = where->inputs.data;
    node *zero = attention_step_is(m, where, in[1], SYM_FULL_LIKE),
         *softmax = zero && zero->inputs.data[0] == in[2] ? rewrite_read_by(where, in[2], 2) : NULL;
    if (!softmax || !attention_add(m, softmax) || !attention_softmax(m, softmax) ||
        m->softmax_dtype || !known_number_is(zero->inputs.data[1], 0) ||
        !known_is_none(zero->inputs.data[2]) ||
        !attention_hides_all(m, where, in[0], softmax->inputs.data[0]))
        return NULL;
    return m->scores = softmax->inputs.data[0];
}

static bool attention_idle_dropout(const node *n) {
    bool train;
    return node_is_overload(n, SYM_DROPOUT) && (known_number_is(n->inputs.data[1], 0) ||
                                                (known_bool(n->inputs.data[2], &train) && !train));
}

/* ---- scores ---------------------------------------------------------------------------------- */

/* x, which `at` reads, without a constant number it was multiplied with. */
static ir_value *attention_unscaled(attention_match *m, const node *at, ir_value *x) {
    double by;
    node *n = rewrite_only_for(at, x);
    if (!n || !node_is_overload(n, SYM_MUL_SCALAR) || !attention_number(n->inputs.data[1], &by) ||
        !attention_add(m, n))
        return x;
    m->factor *= by;
    return n->inputs.data[0];
}

/* The same of an operand of a product between views: its expand is made anew. */
static bool attention_expanded(attention_match *m, const attention_operand *o, ir_value **x,
                               ir_value **sizes) {
    if (!attention_add(m, o->expand)) return false;
    *sizes = o->expand->inputs.data[1];
    *x = attention_unscaled(m, o->expand, o->expand->inputs.data[0]);
    return true;
}

/* The first product, of q and the transposed keys. */
static bool attention_first(attention_match *m, const node *n) {
    ir_value *const *in = n->inputs.data;
    attention_operand q, transposed;
    int at = 0;
    if (node_is_overload(n, SYM_VIEW))
        return !m->batches && attention_product(m, n, &q, &transposed) &&
               attention_expanded(m, &q, &m->q, &m->q_sizes) &&
               attention_expanded(m, &transposed, &m->transposed, &m->transposed_sizes);
    if (m->batches && !m->bias && !m->scale && node_is_overload(n, SYM_BADDBMM) &&
        known_number_is(in[3], 1)) {
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
                  attention_is_scale(n->inputs.data[1]);
    if (!scales) return attention_first(m, n);
    m->divide = node_is_op(n, SYM_DIV);
    m->scale = n->inputs.data[1];
    node *product = attention_step(m, n, n->inputs.data[0]);
    return product && attention_first(m, product);
}

static bool attention_biased(attention_match *m, const node *at, const ir_value *v) {
    node *n = attention_made(m, at, v);
    if (!n || !node_is_overload(n, SYM_ADD_TENSOR) || !known_number_is(n->inputs.data[2], 1))
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
    node *n = attention_made(m, at, v);
    if (!n || !node_is_overload(n, SYM_MASKED_FILL_SCALAR)) return attention_biased(m, at, v);
    m->hidden = n->inputs.data[1];
    m->fill = n->inputs.data[2];
    return attention_add(m, n) && attention_biased(m, n, n->inputs.data[0]);
}

/* ---- the pattern ----------------------------------------------------------------------------- */

/* The last product, weights v; the step that made the weights. */
static node *attention_last(attention_match *m, node *n) {
    attention_operand weights, v;
    m->batches = node_is_overload(n, SYM_BMM);
    if (m->batches || node_is_overload(n, SYM_MATMUL)) {
        m->v = n->inputs.data[1];
        return attention_step(m, n, n->inputs.data[0]);
    }
    if (!node_is_overload(n, SYM_VIEW) || !attention_product(m, n, &weights, &v)) return NULL;
    m->v = v.expand->outputs.data[0];
    return attention_add(m, weights.expand)
               ? attention_step(m, weights.expand, weights.expand->inputs.data[0])
               : NULL;
}

static bool attention_match_node(node *n, attention_match *m) {
    *m = (attention_match){.factor = 1};
    node *step = attention_last(m, n);
    if (step && attention_idle_dropout(step)) step = attention_step(m, step, step->inputs.data[0]);
    if (step && (m->weights_dtype = attention_cast(step)))
        step = attention_step(m, step, step->inputs.data[0]);
    if (!step) return false;
    const ir_value *scores = NULL;
    if (attention_softmax(m, step)) scores = step->inputs.data[0];
    else if (!m->weights_dtype && node_is_overload(step, SYM_WHERE_SELF))
        scores = attention_safe_softmax(m, step);
    if (scores && !m->scores && !m->softmax_dtype)
        scores = attention_uncast(m, step, scores, &m->softmax_dtype);
    return scores && attention_masked(m, m->steps[m->count - 1], scores);
}

/* ---- rewriting ------------------------------------------------------------------------------- */

/* The scale and what q and the keys were multiplied with as one; NULL: it is not known. */
static ir_value *attention_scale(node *at, attention_match *m) {
    double by = 1;
    if (m->factor == 1) return m->scale ? m->scale : rewrite_int(at, 1);
    if (m->scale && !attention_number(m->scale, &by)) return NULL;
    by = m->divide ? m->factor / by : m->factor * by;
    m->divide = false;
    return graph_constant_before_take(at, value_float(by), TYPE_FLOAT);
}

static ir_value *attention_expand(node *at, ir_value *x, ir_value *sizes) {
    return sizes ? rewrite_op(at, op_of(SYM_EXPAND), 3,
                              (ir_value *[]){x, sizes, rewrite_bool(at, false)})
                 : x;
}

static bool attention_rewrite(const alias_db *db, node *n, attention_match *m) {
    node *at = n;
    for (int i = 0; i < m->count; at = m->steps[i++])
        if (!rewrite_move_down(db, m->steps[i], at)) return false;
    ir_value *scale = attention_scale(n, m);
    if (!scale) return false;
    ir_value *args[] = {attention_expand(n, m->q, m->q_sizes),
                        attention_expand(n, m->transposed, m->transposed_sizes),
                        m->v,
                        m->bias ? m->bias : rewrite_none(n),
                        m->hidden ? m->hidden : rewrite_none(n),
                        m->fill ? m->fill : rewrite_int(n, 0),
                        scale,
                        rewrite_bool(n, m->divide),
                        rewrite_bool(n, m->batches),
                        rewrite_bool(n, m->scores != NULL),
                        m->softmax_dtype ? m->softmax_dtype : rewrite_none(n),
                        m->weights_dtype ? m->weights_dtype : rewrite_none(n),
                        rewrite_none(n),
                        rewrite_none(n)};
    op_symbol key = scale->type->kind == T_TENSOR ? SYM_CTSC_ATTENTION_TENSOR : SYM_CTSC_ATTENTION;
    ir_value *y = args[0] && args[1] ? rewrite_op(n, op_of(key), sizeof args / sizeof *args, args)
                                     : NULL;
    if (!y) return false;
    rewrite_result(n, y);
    for (int i = 0; i < m->count; i++) node_remove(m->steps[i]);
    return true;
}

/* ---- repeated heads -------------------------------------------------------------------------- */

/* The reshape that made v of an expanded tensor, if n alone reads it. */
static node *attention_repeated(const node *n, const ir_value *v) {
    node *flat = rewrite_only_for(n, v);
    if (!flat || (!node_is_overload(flat, SYM_RESHAPE) && !node_is_overload(flat, SYM_VIEW)))
        return NULL;
    const node *wide = flat->inputs.data[0]->def;
    return wide && node_is_overload(wide, SYM_EXPAND) ? flat : NULL;
}

static bool attention_grouped_rule(const alias_db *db, node *n) {
    bool grouped;
    if (!node_is_overload(n, SYM_SCALED_DOT_PRODUCT_ATTENTION)) return false;
    ir_value *const *in = n->inputs.data;
    node *k = attention_repeated(n, in[1]), *v = attention_repeated(n, in[2]);
    if (!k || !v || k == v || !known_bool(in[7], &grouped) || grouped ||
        !rewrite_move_down(db, k, n) || !rewrite_move_down(db, v, n))
        return false;
    ir_value *args[] = {in[0],
                        k->inputs.data[0],
                        v->inputs.data[0],
                        k->inputs.data[1],
                        v->inputs.data[1],
                        in[3],
                        in[4],
                        in[5],
                        in[6]};
    ir_value *y = rewrite_op(n, op_of(SYM_CTSC_ATTENTION_GROUPED), sizeof args / sizeof *args,
                             args);
    if (!y) return false;
    rewrite_result(n, y);
    node_remove(k);
    node_remove(v);
    return true;
}

/* The reshape of the keys whose last two dims n, ctsc::attention, gets exchanged. */
static node *attention_repeated_keys(const node *n, node **transpose) {
    attention_list sizes;
    int64_t a, b;
    *transpose = rewrite_only_for(n, n->inputs.data[1]);
    if (!*transpose || !node_is_overload(*transpose, SYM_TRANSPOSE_INT)) return NULL;
    ir_value *const *in = (*transpose)->inputs.data;
    node *flat = attention_repeated(*transpose, in[0]);
    if (!flat || !attention_ints(flat->inputs.data[1], &sizes) || sizes.n != 4 ||
        !known_int(in[1], &a) || !known_int(in[2], &b))
        return NULL;
    a += a < 0 ? 4 : 0, b += b < 0 ? 4 : 0;
    return (a == 2 && b == 3) || (a == 3 && b == 2) ? flat : NULL;
}

/* Heads that are repeated in front of ctsc::attention. */
static bool attention_repeated_rule(const alias_db *db, node *n) {
    enum { KEYS = 1, VALUES = 2, BATCHES = 8, SAFE = 9, KEY_SIZES = 12, VALUE_SIZES = 13 };
    bool batches, safe;
    node *transpose;
    if ((!node_is_overload(n, SYM_CTSC_ATTENTION) &&
         !node_is_overload(n, SYM_CTSC_ATTENTION_TENSOR)) ||
        !known_bool(n->inputs.data[BATCHES], &batches) || batches ||
        !known_bool(n->inputs.data[SAFE], &safe) || safe)
        return false;
    node *k = attention_repeated_keys(n, &transpose),
         *v = attention_repeated(n, n->inputs.data[VALUES]);
    if (!k || !v || !rewrite_move_down(db, transpose, n) || !rewrite_move_down(db, k, transpose) ||
        !rewrite_move_down(db, v, n))
        return false;
    node_set_input(n, KEYS, k->inputs.data[0]);
    node_set_input(n, VALUES, v->inputs.data[0]);
    node_set_input(n, KEY_SIZES, k->inputs.data[1]);
    node_set_input(n, VALUE_SIZES, v->inputs.data[1]);
    node_remove(transpose);
    node_remove(k);
    node_remove(v);
    return true;
}

static bool attention_rule(const alias_db *db, node *n) {
    attention_match m;
    return attention_match_node(n, &m) && attention_rewrite(db, n, &m);
}

bool pass_fuse_attention(pass_ctx *cx, graph *g) {
    bool changed = rewrite_each(cx, g, attention_rule);
    changed |= rewrite_each(cx, g, attention_repeated_rule);
    return rewrite_each(cx, g, attention_grouped_rule) || changed;
}
