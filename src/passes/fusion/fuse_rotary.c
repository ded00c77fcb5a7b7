/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuse_rotary.c - fuses rotary embeddings into one operator.
 *
 *     %a = aten::slice(%x, %dim, 0, %split, 1)
 *     %b = aten::slice(%x, %dim, %split, None, 1)    None: or a number that no size reaches
 *     %n = aten::neg(%b)
 *     %r = aten::cat([%n, %a], %last)                                     ->     %y = ctsc::rotary(%x, %cos, %sin, %split, %dim, %last)
 *     %p = aten::mul(%x, %cos)
 *     %q = aten::mul(%r, %sin)
 *     %y = aten::add(%p, %q, 1)
 *
 * Factors and summands may be in any order; only these nodes read the intermediate values. Sizes
 * and dims are unknown here: the operator executes the original steps where it is something else
 * (attention/rotary.c). Only on the host: it is for cat, which no fusion group holds.
 * Tests: tests/ir/fuse-rotary
 */
#include "passes/pass/rewrite.h"
#include "passes/pass/value_analysis.h"

typedef struct rotary_match {
    node *add, *plain, *turned, *cat, *list, *neg, *first, *second;
    ir_value *x, *cos, *sin;
} rotary_match;

static bool rotary_same_int(const ir_value *a, const ir_value *b) {
    int64_t x, y;
    return a == b || (known_int(a, &x) && known_int(b, &y) && x == y);
}

/* n: a slice with step 1, from `begin` (NULL: the first) to `end` (NULL: the last). */
static bool rotary_is_slice(const node *n, const ir_value *begin, const ir_value *end) {
    if (!n || !node_is_overload(n, SYM_SLICE_TENSOR)) return false;
    ir_value *const *in = n->inputs.data;
    int64_t all;
    bool starts = begin ? rotary_same_int(in[2], begin)
                        : known_is_none(in[2]) || known_number_is(in[2], 0),
         ends = end ? rotary_same_int(in[3], end)
                    : known_is_none(in[3]) || (known_int(in[3], &all) && all >= INT32_MAX);
    return starts && ends && known_number_is(in[4], 1);
}

/* v = cat([-x[split:], x[:split]]), which n alone reads? */
static bool rotary_turned(rotary_match *m, const node *n, const ir_value *v) {
    m->cat = rewrite_only_for(n, v);
    if (!m->cat || !node_is_overload(m->cat, SYM_CAT)) return false;
    m->list = known_fixed_list(m->cat->inputs.data[0]);
    if (!m->list || m->list->owner != n->owner || m->list->inputs.len != 2 ||
        m->cat->inputs.data[0]->uses.len != 1)
        return false;
    m->neg = rewrite_only_for(m->list, m->list->inputs.data[0]);
    if (!m->neg || !node_is_overload(m->neg, SYM_NEG)) return false;
    m->first = rewrite_only_for(m->list, m->list->inputs.data[1]);
    m->second = rewrite_only_for(m->neg, m->neg->inputs.data[0]);
    if (!m->first || !node_is_overload(m->first, SYM_SLICE_TENSOR)) return false;
    const ir_value *split = m->first->inputs.data[3];
    m->x = m->first->inputs.data[0];
    return split->type->kind == T_INT && rotary_is_slice(m->first, NULL, split) &&
           rotary_is_slice(m->second, split, NULL) && m->second->inputs.data[0] == m->x &&
           rotary_same_int(m->first->inputs.data[1], m->second->inputs.data[1]);
}

static bool rotary_products(rotary_match *m) {
    ir_value *const *plain = m->plain->inputs.data, *const *turned = m->turned->inputs.data;
    for (int i = 0; i < 2; i++) {
        if (!rotary_turned(m, m->turned, turned[i])) continue;
        m->sin = turned[1 - i];
        for (int k = 0; k < 2; k++)
            if (plain[k] == m->x && plain[1 - k] != m->x) return m->cos = plain[1 - k], true;
    }
    return false;
}

static bool rotary_match_node(node *n, rotary_match *m) {
    if (!node_is_overload(n, SYM_ADD_TENSOR) || !known_number_is(n->inputs.data[2], 1))
        return false;
    node *of[2];
    for (int i = 0; i < 2; i++) {
        of[i] = rewrite_only_for(n, n->inputs.data[i]);
        if (!of[i] || !node_is_overload(of[i], SYM_MUL_TENSOR)) return false;
    }
    for (int i = 0; i < 2; i++) {
        *m = (rotary_match){.add = n, .plain = of[i], .turned = of[1 - i]};
        if (rotary_products(m)) return true;
    }
    return false;
}

static bool rotary_rule(const alias_db *db, node *n) {
    rotary_match m;
    if (!rotary_match_node(n, &m)) return false;
    node *steps[] = {m.turned, m.cat, m.list, m.neg, m.second, m.first, m.plain}, *at = n;
    enum { STEPS = sizeof steps / sizeof *steps };
    for (int i = 0; i < STEPS; at = steps[i++])
        if (!rewrite_move_down(db, steps[i], at)) return false;
    ir_value *args[] = {
        m.x, m.cos, m.sin, m.first->inputs.data[3], m.first->inputs.data[1], m.cat->inputs.data[1]};
    ir_value *y = rewrite_op(n, op_of(SYM_CTSC_ROTARY), sizeof args / sizeof *args, args);
    if (!y) return false;
    rewrite_result(n, y);
    for (int i = 0; i < STEPS; i++) node_remove(steps[i]);
    return true;
}

bool pass_fuse_rotary(pass_ctx *cx, graph *g) { return rewrite_each(cx, g, rotary_rule); }
