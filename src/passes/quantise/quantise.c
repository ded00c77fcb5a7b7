/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantise.c - the pass: where patterns end, and what takes their place (quantise.h).
 *
 * Method. One walk in execution order. At each quantisation the operators
 * that lead to it are examined: bounds first, then those with a row in
 * quantise_rules.def, or functions of one element. What was rewritten is
 * the source of what follows. A graph that contains writes is unchanged.
 */
#include "passes/quantise/quantise.h"

#include "ir/graph/fusible.h"

#include <math.h>

/* ---- what rules share ------------------------------------------------------------------------ */

bool quantise_unbounded(const quantise_target *to) { return to->lo == 0 && to->hi == UINT8_MAX; }

int64_t quantise_number(const quantise_target *to, double x) {
    float v = rintf((float)x / (float)to->scale);
    float lo = (float)(to->lo - to->zero), hi = (float)(to->hi - to->zero);
    v = v > hi ? hi : v;
    v = v > lo ? v : lo;
    return (int64_t)v + to->zero;
}

ir_value *quantise_op(const quantise_target *to, const char *key, int n, ir_value *const *inputs,
                      bool bounded) {
    enum { MOST = 16 };
    ir_value *args[MOST];
    for (int i = 0; i < n; i++) args[i] = inputs[i];
    args[n++] = graph_constant_before_take(to->at, value_float(to->scale), TYPE_FLOAT);
    args[n++] = rewrite_int(to->at, to->zero);
    if (bounded) {
        args[n++] = rewrite_int(to->at, to->lo);
        args[n++] = rewrite_int(to->at, to->hi);
    }
    return rewrite_op(to->at, op_find(key), n, args);
}

/* ---- bounds ---------------------------------------------------------------------------------- */

bool quantise_bounds_of(const node *n, double *lo, double *hi) {
    double *ends[] = {lo, hi};
    *lo = -INFINITY, *hi = INFINITY;
    if (node_is_overload(n, SYM_RELU)) return *lo = 0, true;
    if (node_is_overload(n, SYM_RELU6)) return *lo = 0, *hi = 6, true;
    if (!node_is_overload(n, SYM_HARDTANH) && !node_is_overload(n, SYM_CLAMP)) return false;
    for (int i = 0; i < 2; i++) {
        value v;
        if (known_is_none(n->inputs.data[i + 1])) continue;
        if (!ir_value_constant(n->inputs.data[i + 1], &v)) return false;
        if (v.tag == V_INT) *ends[i] = (double)v.u.i;
        else if (v.tag == V_FLOAT && !isnan(v.u.f)) *ends[i] = v.u.f;
        else return false;
    }
    return *lo <= *hi;
}

/* Operators in front of the quantisation that bound its integers; what they read. */
static ir_value *bounds_passed(const node *by, ir_value *y, quantise_target *to) {
    double lo, hi;
    for (node *n; (n = rewrite_only_for(by, y)) && quantise_bounds_of(n, &lo, &hi); by = n) {
        int64_t least = quantise_number(to, lo), most = quantise_number(to, hi);
        to->lo = least, to->hi = most;
        y = n->inputs.data[0];
    }
    return y;
}

/* ---- moves ----------------------------------------------------------------------------------- */

static bool move_is(const node *n) {
    static const op_symbol moves[] = {
#define RULE(symbol, fn)
#define MOVE(symbol) symbol,
#include "passes/quantise/quantise_rules.def"
#undef RULE
#undef MOVE
    };
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++)
        if (node_is_overload(n, moves[i])) return true;
    return false;
}

/* Only padding with zeros: the zero point represents exactly 0. */
bool quantise_moves(const node *n) {
    if (!move_is(n) || n->outputs.len != 1) return false;
    for (size_t i = 1; i < n->inputs.len; i++)
        if (n->inputs.data[i]->type->kind == T_TENSOR) return false;
    return !node_is_overload(n, SYM_CONSTANT_PAD_ND) || known_number_is(n->inputs.data[2], 0);
}

/* ---- quantisations --------------------------------------------------------------------------- */

static const struct { op_symbol op; quantise_rule rule; } quantise_rules[] = {
#define RULE(symbol, fn) {symbol, fn},
#define MOVE(symbol)
#include "passes/quantise/quantise_rules.def"
#undef RULE
#undef MOVE
};

/*     quantise(move(y))   ->   move(quantise(y)) */
static ir_value *quantise_before_move(node *n, const quantise_target *to) {
    enum { MOST = 8 };
    ir_value *args[MOST];
    bool padded = node_is_overload(n, SYM_CONSTANT_PAD_ND);
    if (n->inputs.len > MOST || (padded && (to->zero < to->lo || to->zero > to->hi))) return NULL;
    for (size_t i = 1; i < n->inputs.len; i++) args[i] = n->inputs.data[i];
    args[0] = quantise_value(n, n->inputs.data[0], to);
    return args[0] ? rewrite_op(to->at, n->op, (int)n->inputs.len, args) : NULL;
}

/* y as a tensor of quint8, if its operator has a rule and nothing else reads it. */
static ir_value *quantise_by_rule(const node *by, const ir_value *y, const quantise_target *to) {
    node *n = rewrite_only_for(by, y);
    if (!n) return NULL;
    if (quantise_moves(n)) return quantise_before_move(n, to);
    for (size_t i = 0; i < sizeof quantise_rules / sizeof *quantise_rules; i++)
        if (n->op->symbol == quantise_rules[i].op) return quantise_rules[i].rule(n, to);
    return NULL;
}

ir_value *quantise_value(const node *by, ir_value *y, const quantise_target *to) {
    quantise_target bounded = *to;
    ir_value *inner = bounds_passed(by, y, &bounded), *made = quantise_table(inner, &bounded);
    if (made) return made;
    if (inner != y) by = inner->uses.len == 1 ? inner->uses.data[0].user : NULL;
    return by ? quantise_by_rule(by, inner, &bounded) : NULL;
}

/* The integers that were dequantised only to be quantised as before; NULL: they were not. */
static ir_value *quantise_undone(const quantise_form *f, const ir_value *y,
                                 const quantise_target *to) {
    quantise_form d;
    if (!quantise_unbounded(to) || !y->def || !quantise_form_of(y->def, &d) || d.to_ints ||
        d.dt != f->dt || !quantise_form_is_plain(&d) ||
        (float)quantise_form_scale(&d, 0) != (float)quantise_form_scale(f, 0) ||
        quantise_form_zero(&d, 0) != quantise_form_zero(f, 0))
        return NULL;
    return d.x;
}

static ir_value *quantise_back(node *n, const quantise_form *f, ir_value *made) {
    ir_value *args[] = {
        made, graph_constant_before_take(n, value_float(quantise_form_scale(f, 0)), TYPE_FLOAT),
        rewrite_int(n, quantise_form_zero(f, 0)), rewrite_int(n, f->dt)};
    return rewrite_op(n, op_of(SYM_CTSC_QUANTISED_INTS), 4, args);
}

static bool quantise_node(node *n) {
    quantise_form f;
    if (!quantise_form_of(n, &f) || !f.to_ints || !quantise_form_is_plain(&f)) return false;
    int64_t moved = f.dt == DT_INT8 ? 128 : 0;
    quantise_target to = {.at = n,
                          .scale = quantise_form_scale(&f, 0),
                          .zero = quantise_form_zero(&f, 0) + moved,
                          .lo = f.lo + moved,
                          .hi = f.hi + moved};
    quantise_target bounded = to;
    ir_value *y = bounds_passed(n, f.x, &bounded), *ints = quantise_undone(&f, y, &bounded);
    if (!ints) {
        ir_value *made = quantise_value(n, f.x, &to);
        if (!made) return false;
        ints = quantise_back(n, &f, made);
    }
    if (!ints) return false;
    value_replace_uses(n->outputs.data[0], ints);
    node_remove(n);
    return true;
}

/* ---- moves of what was dequantised ----------------------------------------------------------- */

/*     move(dequantise(a))   ->   dequantise(move(a)) */
static bool move_node(node *n) {
    quantise_form f;
    quantise_affine a;
    tensor *t;
    node *from = n->inputs.len ? n->inputs.data[0]->def : NULL;
    if (!quantise_moves(n) || !from || !quantise_form_of(from, &f) || f.to_ints ||
        known_tensor(f.x, &t))
        return false;
    ir_value *source = quantise_source(n->inputs.data[0], &a);
    if (!source) return false;
    enum { MOST = 8 };
    ir_value *args[MOST];
    if (n->inputs.len > MOST || from->inputs.len > MOST) return false;
    for (size_t i = 0; i < n->inputs.len; i++) args[i] = i ? n->inputs.data[i] : source;
    ir_value *moved = rewrite_op(n, n->op, (int)n->inputs.len, args),
             *ints = moved ? quantise_back(n, &f, moved) : NULL;
    if (!ints) return false;
    for (size_t i = 0; i < from->inputs.len; i++) args[i] = i ? from->inputs.data[i] : ints;
    rewrite_result(n, rewrite_op(n, from->op, (int)from->inputs.len, args));
    return true;
}

/* ---- ranks ----------------------------------------------------------------------------------- */

/* Of results of all operators, from the arguments on: known_rank asks back through a few alone.
 * Values have it as scratch, plus one; 0: not known. */
static int rank_noted(const ir_value *v) { return (int)(intptr_t)v->scratch - 1; }

static void rank_note(ir_value *v, int rank) {
    v->scratch = (void *)(intptr_t)(rank < 0 ? 0 : rank + 1);
}

static int rank_of_result(const node *n) {
    int rank = known_rank(n->outputs.data[0]);
    if (rank >= 0 || n->kind != N_OP || !n->op || !n->inputs.len) return rank;
    bool keeps = false;
    if (node_is_overload(n, SYM_MEAN_DIM)) known_bool(n->inputs.data[2], &keeps);
    if (keeps || n->op->traits.rank == RANK_SAME) return rank_noted(n->inputs.data[0]);
    if (op_fusible(n->op) != FUSIBLE_POINTWISE) return -1;
    for (size_t i = 0; i < n->inputs.len; i++) { /* they are broadcast */
        if (n->inputs.data[i]->type->kind != T_TENSOR) continue;
        int own = rank_noted(n->inputs.data[i]);
        if (own < 0) return -1;
        rank = own > rank ? own : rank;
    }
    return rank;
}

static void rank_block(block *b) {
    for (size_t i = 0; i < b->params.len; i++)
        rank_note(b->params.data[i], known_rank(b->params.data[i]));
    for (node *n = b->first; n; n = n->next) {
        for (size_t i = 0; i < n->blocks.len; i++) rank_block(n->blocks.data[i]);
        for (size_t i = 0; i < n->outputs.len; i++) n->outputs.data[i]->scratch = NULL;
        if (n->outputs.len == 1 && n->outputs.data[0]->type->kind == T_TENSOR)
            rank_note(n->outputs.data[0], rank_of_result(n));
    }
}

int quantise_rank(const ir_value *v) {
    int rank = rank_noted(v);
    return rank < 0 ? known_rank(v) : rank;
}

/* ---- the pass -------------------------------------------------------------------------------- */

static bool quantise_block(block *b) {
    bool changed = false;
    for (node *n = b->first, *next; n && !arena_failed(&b->g->arena); n = next) {
        next = n->next;
        for (size_t i = 0; i < n->blocks.len; i++) changed |= quantise_block(n->blocks.data[i]);
        if (n->kind != N_OP || !n->op) continue;
        if (node_is_overload(n, SYM_CTSC_ONNX_MATMUL_INTEGER) ||
            node_is_overload(n, SYM_CTSC_ONNX_CONV_INTEGER))
            changed |= quantise_dynamic(n);
        else changed |= quantise_node(n) || move_node(n);
    }
    return changed;
}

/* What still makes numbers of dequantised integers and a constant matrix. */
static bool quantise_rest(block *b) {
    bool changed = false;
    for (node *n = b->first, *next; n && !arena_failed(&b->g->arena); n = next) {
        next = n->next;
        for (size_t i = 0; i < n->blocks.len; i++) changed |= quantise_rest(n->blocks.data[i]);
        if (n->kind == N_OP && n->op) changed |= quantise_to_numbers(n);
    }
    return changed;
}

/* Products of torchao's integers: what is written meanwhile matters to neither factor. */
static bool quantise_products(block *b) {
    bool changed = false;
    for (node *n = b->first, *next; n && !arena_failed(&b->g->arena); n = next) {
        next = n->next;
        for (size_t i = 0; i < n->blocks.len; i++) changed |= quantise_products(n->blocks.data[i]);
        if (node_is_overload(n, SYM__INT_MM)) changed |= quantise_dynamic(n);
    }
    return changed;
}

bool pass_quantise(pass_ctx *cx, graph *g) {
    (void)cx;
    bool changed = quantise_products(g->root);
    if (known_graph_writes_tensors(g)) return changed;
    changed |= quantise_fakes(g);
    rank_block(g->root);
    changed |= quantise_block(g->root);
    return quantise_rest(g->root) || changed;
}
