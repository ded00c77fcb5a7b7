/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peephole.c - small rewrites of single nodes that need to look at little more than their inputs.
 *
 *     before:  %b : bool = aten::__is__(%x, %none)      %x : Tensor        after:  False
 *     before:  %y : Tensor = aten::t(%x)  %z : Tensor = aten::t(%y)        after:  uses of %z become %x
 *     before:  %n : int = aten::len(%list)   %list = [%a, %b]              after:  2
 *
 * Method. peephole.def lists the rules by operator; a node is shown to the rules of its operator
 * until one fits. Rules for new entries:
 *   1. Exact: the same bits for every input, NaN, infinities, -0.0 and the lowest int included; the
 *      same errors, too, unless an
 *      error only vanishes with the dead code that would raise it.
 *   2. A result that was a copy may become its original only through peephole_copy, which asks
 *      whether anybody could notice
 *      (a later write, a caller that gets both).
 *   3. What a rule has to know (dtype, rank, sizes) it asks value_analysis.h; not known
 *      means no rewrite.
 *   4. A rule may add nodes in front of n, and removes no node but n.
 * Tests: tests/ir/peephole
 */
#include "passes/peephole/peephole.h"

#include <string.h>

/* ---- helpers --------------------------------------------------------------------------------- */

static void peephole_insert(peephole *p, node *at, node *n) {
    if (at->scope) n->scope = at->scope;
    n->range = at->range;
    n->call = at->call;
    n->range_hidden = at->range_hidden;
    graph_hold_source(p->g, n->range.src);
    node_insert_before(n, at);
}

ir_value *peephole_new_op(peephole *p, node *at, const op *o, int ninputs, ir_value *const *inputs,
                          type *t) {
    if (!o || o->schema->nargs != ninputs) return NULL;
    node *n = node_new_op(p->g, o, ninputs, inputs);
    if (t) n->outputs.data[0]->type = t;
    peephole_insert(p, at, n);
    return n->outputs.data[0];
}

ir_value *peephole_new_node(peephole *p, node *at, node_kind kind, int ninputs,
                            ir_value *const *inputs, type *t) {
    node *n = node_new(p->g, kind, ninputs, inputs, 1);
    n->outputs.data[0]->type = t;
    peephole_insert(p, at, n);
    return n->outputs.data[0];
}

static bool peephole_graph_writes(peephole *p) {
    if (p->writes < 0) p->writes = known_graph_writes(p->g);
    return p->writes;
}

bool peephole_graph_reshapes(peephole *p) {
    if (p->reshapes < 0) p->reshapes = known_graph_reshapes(p->g);
    return p->reshapes;
}

bool peephole_is_contiguous(const ir_value *v) {
    const tensor_info *t = peephole_is_tensor(v) ? v->type->tensor : NULL;
    if (!t || t->ndim < 0 || (t->ndim && (!t->has_strides || !t->sizes || !t->strides)))
        return false;
    int64_t want = 1;
    for (int i = t->ndim; i-- > 0; want *= t->sizes[i])
        if (t->sizes[i] < 1 || (t->sizes[i] != 1 && t->strides[i] != want)) return false;
    return true;
}

/* Nobody may write one of the two while the other is in use, nor get to see both. */
ir_value *peephole_copy(peephole *p, const node *n, ir_value *x) {
    const ir_value *y = n->outputs.data[0];
    for (size_t i = 0; i < y->uses.len; i++)
        if (!known_use_reads(&y->uses.data[i], peephole_is_contiguous(x))) return NULL;
    if (!peephole_graph_writes(p)) return x;
    return known_is_fresh(x) && known_only_read(x) ? x : NULL;
}

/* What writes one of the two and takes the other, too, asks whether they are the same tensor. */
static bool peephole_met_by_write(const ir_value *y, const ir_value *x) {
    for (size_t i = 0; i < y->uses.len; i++) {
        const node *n = y->uses.data[i].user;
        bool writes = false, takes = false;
        for (size_t k = 0; n && n->op && k < n->inputs.len; k++) {
            writes |= known_writes_argument(n, (int)k);
            takes |= n->inputs.data[k] == x;
        }
        if (writes && takes) return true;
    }
    return false;
}

ir_value *peephole_view_of(peephole *p, const node *n, ir_value *x) {
    return peephole_graph_reshapes(p) || peephole_met_by_write(n->outputs.data[0], x) ? NULL : x;
}

/* ---- rules: types ---------------------------------------------------------------------------- */

/* 1: x is always None; 0: never; -1: not known from the type. */
static int peephole_is_none(const ir_value *x) {
    if (x->type->kind == T_NONE) return 1;
    return type_admits_none(x->type) ? -1 : 0;
}

ir_value *rule_identity(peephole *p, node *n) {
    (void)p;
    bool is = node_is_op(n, SYM___IS__);
    int a = peephole_is_none(n->inputs.data[0]), b = peephole_is_none(n->inputs.data[1]);
    if (a < 0 || b < 0 || (a == 0 && b == 0)) return NULL;
    return peephole_constant(n, value_bool((a == b) == is));
}

ir_value *rule_cast(peephole *p, node *n) {
    (void)p;
    return n->inputs.data[0]->type == n->outputs.data[0]->type ? n->inputs.data[0] : NULL;
}

ir_value *rule_cast_narrower(peephole *p, node *n) {
    (void)p;
    ir_value *x = n->inputs.data[0];
    return !type_admits_none(x->type) && type_is_subtype(x->type, n->outputs.data[0]->type) ? x
                                                                                            : NULL;
}

/* What is None whatever happens, read from an attribute or cast to it. */
ir_value *rule_always_none(peephole *p, node *n) {
    (void)p;
    if (n->outputs.len != 1 || n->outputs.data[0]->type->kind != T_NONE || n->kind == N_CONSTANT ||
        node_has_side_effects(n))
        return NULL;
    return peephole_constant(n, value_none());
}

/* What a batch norm after a convolution requires.
 * As in PyTorch, which assumes batches here. */
ir_value *rule_conv_rank(peephole *p, node *n) {
    (void)p;
    static const struct { op_symbol op; int rank; } convolutions[] = {
        {SYM_CONV1D, 3}, {SYM_CONV2D, 4}, {SYM_CONV3D, 5}};
    const node *made = n->inputs.data[0]->def;
    for (size_t i = 0; made && i < sizeof convolutions / sizeof *convolutions; i++)
        if (node_is_op(made, convolutions[i].op))
            return peephole_constant(n, value_int(convolutions[i].rank));
    return NULL;
}

/* ---- rules: branches ------------------------------------------------------------------------- */

/* Outputs of an If that are its condition again: True in one branch, False in the other. */
ir_value *rule_if_condition(peephole *p, node *n) {
    for (size_t i = 0; i < n->outputs.len; i++) {
        bool t, f;
        if (!n->outputs.data[i]->uses.len || !known_bool(n->blocks.data[0]->returns.data[i], &t) ||
            !t || !known_bool(n->blocks.data[1]->returns.data[i], &f) || f)
            continue;
        value_replace_uses(n->outputs.data[i], n->inputs.data[0]);
        p->changed = true;
    }
    return NULL;
}

enum { PEEPHOLE_SAME_NODES = 64 };

static bool peephole_same_attr(const attr *a, const attr *b) {
    if (a->kind != b->kind || strcmp(a->name, b->name)) return false;
    switch (a->kind) {
    case ATTR_INT: return a->u.i == b->u.i;
    case ATTR_STR: return !strcmp(a->u.s, b->u.s);
    case ATTR_TYPE: return a->u.t == b->u.t;
    case ATTR_VALUE:
        if (a->u.v.tag != b->u.v.tag) return false;
        if (a->u.v.tag == V_FLOAT) return a->u.v.u.i == b->u.v.u.i; /* by their bits */
        return a->u.v.tag <= V_INT || a->u.v.tag == V_STR ? value_equal(a->u.v, b->u.v) : false;
    default: return false;
    }
}

/* The same operator, attributes and inputs, where `scratch` of a value of block 1 is its
 * twin in block 0. */
static bool peephole_same_node(const node *a, const node *b) {
    if (a->kind != b->kind || a->op != b->op || strcmp(a->op_name, b->op_name) || a->blocks.len ||
        b->blocks.len || a->inputs.len != b->inputs.len || a->outputs.len != b->outputs.len)
        return false;
    const attr *x = a->attrs, *y = b->attrs;
    for (; x && y; x = x->next, y = y->next)
        if (!peephole_same_attr(x, y)) return false;
    if (x || y) return false;
    for (size_t i = 0; i < a->inputs.len; i++) {
        const ir_value *v = b->inputs.data[i];
        if (a->inputs.data[i] != (v->owner == b->owner ? v->scratch : v)) return false;
    }
    for (size_t i = 0; i < a->outputs.len; i++) {
        if (a->outputs.data[i]->type != b->outputs.data[i]->type) return false;
        b->outputs.data[i]->scratch = a->outputs.data[i];
    }
    return true;
}

static bool peephole_same_blocks(const block *t, const block *f) {
    const node *a = t->first, *b = f->first;
    for (int i = 0; a && b; a = a->next, b = b->next)
        if (++i > PEEPHOLE_SAME_NODES || !peephole_same_node(a, b)) return false;
    if (a || b) return false;
    for (size_t i = 0; i < t->returns.len; i++) {
        const ir_value *v = f->returns.data[i];
        if (t->returns.data[i] != (v->owner == f ? v->scratch : v)) return false;
    }
    return true;
}

ir_value *rule_if_same(peephole *p, node *n) {
    block *t = n->blocks.data[0], *f = n->blocks.data[1];
    if (!peephole_same_blocks(t, f)) return NULL;
    while (t->first) node_move_before(t->first, n);
    for (size_t i = 0; i < n->outputs.len; i++)
        value_replace_known(n->outputs.data[i], t->returns.data[i]);
    node_remove(n);
    p->changed = p->gone = true;
    return NULL;
}

/* ---- the engine ------------------------------------------------------------------------------ */

enum peephole_when { PEEPHOLE_SHOWN = 1, PEEPHOLE_EXACT = 2, PEEPHOLE_GUESS = 4 };

typedef struct peephole_row { op_symbol op; peephole_rule *rewrite; int when; } peephole_row;

static const peephole_row peephole_rows[] = {
#define RULE(op, fn, when) {op, fn, PEEPHOLE_##when},
#include "passes/peephole/peephole.def"
#undef RULE
};

enum { PEEPHOLE_ROWS = sizeof peephole_rows / sizeof *peephole_rows };

/* Where an operator's rows begin; made once a run. row + 1; 0: there are none */
typedef struct peephole_index { uint8_t first[SYM_COUNT]; } peephole_index;

_Static_assert(PEEPHOLE_ROWS < UINT8_MAX, "too many rules for the index");

static void peephole_fill(peephole_index *x) {
    for (int i = PEEPHOLE_ROWS - 1; i >= 0; i--) x->first[peephole_rows[i].op] = (uint8_t)(i + 1);
}

/* Tries the rows of one operator on n; true: n is gone. */
static bool peephole_try(peephole *p, const peephole_index *x, node *n, op_symbol op, int when) {
    int first = x->first[op] - 1;
    for (int i = first; i >= 0 && i < PEEPHOLE_ROWS && peephole_rows[i].op == op; i++) {
        if (!(peephole_rows[i].when & when)) continue;
        ir_value *v = peephole_rows[i].rewrite(p, n);
        if (v) {
            value_replace_uses(n->outputs.data[0], v);
            node_remove(n);
            p->changed = true;
        }
        if (v || p->gone) {
            p->gone = false;
            return true;
        }
    }
    return false;
}

static void peephole_block(peephole *p, const peephole_index *x, block *b, int when) {
    for (node *n = b->first, *next; n && !arena_failed(&p->g->arena); n = next) {
        next = n->next;
        for (size_t i = 0; i < n->blocks.len; i++) peephole_block(p, x, n->blocks.data[i], when);
        if (n->kind == N_OP && !n->op) continue;
        if (!peephole_try(p, x, n, node_symbol(n), when)) peephole_try(p, x, n, SYM_NONE, when);
    }
}

static bool peephole_run(graph *g, int when) {
    peephole p = {.g = g, .writes = -1, .reshapes = -1};
    peephole_index x = {{0}};
    peephole_fill(&x);
    peephole_block(&p, &x, g->root, when);
    return p.changed;
}

bool pass_peephole(pass_ctx *cx, graph *g) {
    (void)cx;
    return peephole_run(g, PEEPHOLE_SHOWN | PEEPHOLE_EXACT);
}

bool pass_peephole_shown(pass_ctx *cx, graph *g) {
    return peephole_run(g, PEEPHOLE_SHOWN | (cx->shown ? PEEPHOLE_GUESS : 0));
}
