/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuse_loops.c - groups loops over numbers
 * and elements of tensors, for native code.
 *
 *     %n : int = aten::size(%x, %zero)                 %s : float = prim::FusionGroup_0(%x)
 *     %s : float = prim::Loop(%n, %true, %s0)          with prim::FusionGroup_0 = graph(%x : Tensor):
 *       block0(%i : int, %t : float):           ->       %n : int = aten::size(%x, %zero)
 *         %a : Tensor = aten::select(%x, %zero, %i)      %s : float = prim::Loop(%n, %true, %s0)
 *         ...                                              block0(%i : int, %t : float): ...
 *
 * Method. Outermost loops first: a loop is taken if everything in its body,
 * nested blocks included, has a class in loop_ops.def, and its inputs are tensors
 * and numbers. If an outer loop holds anything else, its inner loops are tried.
 *
 * Only elements. Operators on whole tensors are as fast called one by one, and use all
 * processors; so tensors in the body must be small as far as can be told: selected by an
 * index, made of such, or known to have one element. Unknown cases are decided at run
 * time, where there is no plan for rows carried from iteration to iteration, for example.
 *
 * Queries of sizes, and computations on them before the loop, are repeated inside
 * the group: the code generator then sees which indices are always in range.
 *
 * Invariants. Tensors that every iteration passes on are not results: their uses are given the
 * tensor that went in. Other tensors that leave are new, or, if no iteration was made, those that
 * went in, or ones from outside that an iteration passed on: so nothing may write to any of these
 * afterwards, unless nothing else has the one that went in. A caller that gets such a tensor as a
 * result gets a copy where the interpreter would have given a view.
 * Tests: tests/ir/fuse-loops/
 */
#include "ir/graph/alias.h"
#include "ir/graph/loop_ops.h"
#include "passes/pass/pass.h"
#include "passes/pass/value_analysis.h"

enum {
    LOOPS_MAX_VALUES = 48,
    LOOPS_MAX_NODES = 4000,
    LOOPS_MAX_DEPTH = 24,
    LOOPS_MAX_QUESTIONS = 20000
};

typedef struct loops_state {
    const alias_db *db;
    const node *loop;
    int nodes;
    int *questions; /* asked about this loop so far */
} loops_state;

/* ---- asking ---------------------------------------------------------------------------------- */

static bool loops_inside(const loops_state *s, const ir_value *v) {
    for (const block *b = v->owner; b; b = b->parent ? b->parent->owner : NULL)
        if (b == s->loop->blocks.data[0]) return true;
    return false;
}

static bool loops_is_list(const type *t) {
    return t->kind == T_LIST && loop_is_number(t->elems[0]);
}

/* A list of numbers that stays as it is made. */
static bool loops_number_list(const ir_value *v) {
    return loops_is_list(v->type) && known_fixed_list(v);
}

/* One element, as the operator that made it tells. */
static bool loops_makes_one(const node *n) {
    value c;
    switch (loop_op_class(n, NULL)) {
    case LOOP_NEW:
    case LOOP_DOT: return true;
    case LOOP_REDUCE: return n->inputs.len < 3 || !node_is_op(n, SYM_SUM);
    case LOOP_FILL_NEW: break;
    default: return false;
    }
    const node *list = n->inputs.data[0]->def;
    if (ir_value_constant(n->inputs.data[0], &c) && c.tag == V_LIST && c.u.list->kind == LIST_INT) {
        for (size_t i = 0; i < c.u.list->len; i++)
            if (c.u.list->u.ints[i] != 1) return false;
        return true;
    }
    if (!list || list->kind != N_LIST_CONSTRUCT) return false;
    for (size_t i = 0; i < list->inputs.len; i++)
        if (!known_number_is(list->inputs.data[i], 1)) return false;
    return true;
}

/* x[0] in front of a loop over x[i]: what x[i] is, it is. */
static bool loops_one_outside(const ir_value *v) {
    int64_t sizes[KNOWN_MAX_INTS];
    int n;
    if (known_rank(v) == 0 || (v->def && loop_op_class(v->def, NULL) == LOOP_SELECT) ||
        (v->def && loops_makes_one(v->def)))
        return true;
    if (!known_sizes(v, sizes, &n)) return false;
    for (int i = 0; i < n; i++)
        if (sizes[i] != 1) return false;
    return true;
}

static bool loops_small(const loops_state *s, const ir_value *v, int depth);

static bool loops_small_operand(const loops_state *s, const node *n, int depth) {
    for (size_t i = 0; i < n->inputs.len; i++)
        if (n->inputs.data[i]->type->kind == T_TENSOR && loops_small(s, n->inputs.data[i], depth))
            return true;
    return false;
}

static bool loops_small_node(const loops_state *s, const ir_value *v, const node *n, int depth) {
    if (n->kind == N_IF)
        return loops_small(s, n->blocks.data[0]->returns.data[v->index], depth) &&
               loops_small(s, n->blocks.data[1]->returns.data[v->index], depth);
    if (n->kind == N_LOOP) return loops_small(s, n->inputs.data[v->index + 2], depth);
    switch (loop_op_class(n, NULL)) {
    case LOOP_SELECT:
    case LOOP_NEW:
    case LOOP_FILL_NEW:
    case LOOP_REDUCE:
    case LOOP_DOT: return true;
    case LOOP_SLICE:
        if (loops_small(s, n->inputs.data[0], depth)) return true;
        return loops_inside(s, n->inputs.data[2]) || loops_inside(s, n->inputs.data[3]);
    case LOOP_TRANSPOSE:
    case LOOP_UNSQUEEZE:
    case LOOP_VIEW: return loops_small(s, n->inputs.data[0], depth);
    case LOOP_POINTWISE: return loops_small_operand(s, n, depth);
    default: return false;
    }
}

/* Is v a part of a tensor that one iteration looks at, or a single element? */
static bool loops_small(const loops_state *s, const ir_value *v, int depth) {
    if (depth > LOOPS_MAX_DEPTH || ++*s->questions > LOOPS_MAX_QUESTIONS) return false;
    v = loop_object(v);
    if (!loops_inside(s, v)) return loops_one_outside(v);
    if (v->def) return loops_small_node(s, v, v->def, depth + 1);
    const node *around = v->owner->parent;
    return around && around->kind == N_LOOP && v->index &&
           loops_small(s, around->inputs.data[v->index + 1], depth + 1);
}

/* ---- what a group can hold ------------------------------------------------------------------- */

static bool loops_takes_op(const loops_state *s, const node *n) {
    loop_class cls = loop_op_class(n, NULL);
    switch (cls) {
    case LOOP_NONE: return false;
    case LOOP_REDUCE:
    case LOOP_TRANSPOSE:
    case LOOP_UNSQUEEZE:
    case LOOP_VIEW:
    case LOOP_FILL: return loops_small(s, n->inputs.data[0], 0);
    case LOOP_COPY:
    case LOOP_IN_PLACE:
    case LOOP_POINTWISE:
    case LOOP_DOT: return loops_small_operand(s, n, 0);
    case LOOP_FILL_NEW: return loops_makes_one(n);
    default: return true;
    }
}

static bool loops_takes_value(const ir_value *v) {
    const type *t = v->type;
    return loop_is_number(t) || t->kind == T_TENSOR || t->kind == T_NONE || t->kind == T_DEVICE ||
           loops_is_list(t);
}

static bool loops_takes_input(const loops_state *s, const ir_value *v) {
    value c;
    if (loops_inside(s, v)) return true;
    if (ir_value_constant(v, &c)) return c.tag != V_OBJECT && c.tag != V_COMPLEX;
    return loop_is_number(v->type) || v->type->kind == T_TENSOR || loops_number_list(v);
}

static bool loops_takes_block(loops_state *s, const block *b);

/* Tensors go from iteration to iteration as they are, or as single elements. */
static bool loops_takes_carried(const loops_state *s, const node *n) {
    for (size_t i = 0; i < n->outputs.len; i++) {
        const ir_value *out = n->outputs.data[i], *init = n->inputs.data[i + 2];
        if (loop_is_number(out->type)) continue;
        if (out->type->kind != T_TENSOR) return false;
        if (loop_object(out) == out && !loops_small(s, init, 0)) return false;
    }
    return true;
}

static bool loops_takes_branches(const node *n) {
    for (size_t i = 0; i < n->outputs.len; i++)
        if (!loop_is_number(n->outputs.data[i]->type) && n->outputs.data[i]->type->kind != T_TENSOR)
            return false;
    return true;
}

static bool loops_takes_kind(const loops_state *s, const node *n) {
    value c;
    switch (n->kind) {
    case N_CONSTANT:
        return !ir_value_constant(n->outputs.data[0], &c) ||
               (c.tag != V_TENSOR && c.tag != V_OBJECT && c.tag != V_COMPLEX);
    case N_UNINITIALIZED: return loop_is_number(n->outputs.data[0]->type);
    case N_LIST_CONSTRUCT: return loops_number_list(n->outputs.data[0]);
    case N_LIST_UNPACK: return loops_is_list(n->inputs.data[0]->type);
    case N_IF: return loops_takes_branches(n);
    case N_LOOP: return loops_takes_carried(s, n);
    case N_OP: return loops_takes_op(s, n);
    default: return false;
    }
}

static bool loops_takes_node(loops_state *s, const node *n) {
    if (++s->nodes > LOOPS_MAX_NODES || !loops_takes_kind(s, n)) return false;
    for (size_t i = 0; i < n->inputs.len; i++)
        if (!loops_takes_input(s, n->inputs.data[i])) return false;
    for (size_t i = 0; i < n->outputs.len && n->kind != N_CONSTANT; i++)
        if (!loops_takes_value(n->outputs.data[i])) return false;
    for (size_t i = 0; i < n->blocks.len; i++)
        if (!loops_takes_block(s, n->blocks.data[i])) return false;
    return true;
}

static bool loops_takes_block(loops_state *s, const block *b) {
    for (const node *n = b->first; n; n = n->next)
        if (!loops_takes_node(s, n)) return false;
    for (size_t i = 0; i < b->returns.len; i++)
        if (!loops_takes_input(s, b->returns.data[i])) return false;
    return true;
}

/* May `out` be, or share elements with, a tensor other than `init` that n reads from
 * outside of the loop? */
static bool loops_shares_outside(const loops_state *s, const node *n, const ir_value *out,
                                 const ir_value *init) {
    for (size_t i = 0; i < n->inputs.len; i++) {
        const ir_value *v = n->inputs.data[i];
        if (v != init && v->type->kind == T_TENSOR && !loops_inside(s, v) &&
            alias_may_share(s->db, out, v))
            return true;
    }
    for (size_t k = 0; k < n->blocks.len; k++) {
        const block *b = n->blocks.data[k];
        for (const node *m = b->first; m; m = m->next)
            if (loops_shares_outside(s, m, out, init)) return true;
        for (size_t i = 0; i < b->returns.len; i++) {
            const ir_value *v = b->returns.data[i];
            if (v != init && v->type->kind == T_TENSOR && !loops_inside(s, v) &&
                alias_may_share(s->db, out, v))
                return true;
        }
    }
    return false;
}

/* A new tensor that leaves the loop may be the one that went in, or one from outside that a
 * iteration passed on. */
static bool loops_results_free(const loops_state *s, const node *loop) {
    for (size_t i = 0; i < loop->outputs.len; i++) {
        const ir_value *out = loop->outputs.data[i], *init = loop->inputs.data[i + 2];
        if (out->type->kind != T_TENSOR || loop_object(out) != out ||
            !alias_ever_written(s->db, out))
            continue;
        if (init->uses.len != 1 || !known_is_fresh(init) ||
            loops_shares_outside(s, loop, out, init))
            return false;
    }
    return true;
}

static bool loops_uses_results(const node *loop) {
    for (size_t i = 0; i < loop->outputs.len; i++)
        if (loop->outputs.data[i]->uses.len) return true;
    return false;
}

static bool loops_takes(loops_state *s) {
    if (s->loop->kind != N_LOOP ||
        (!loops_uses_results(s->loop) && !node_has_side_effects(s->loop)))
        return false;
    return loops_takes_node(s, s->loop) && loops_results_free(s, s->loop);
}

/* ---- the group ------------------------------------------------------------------------------- */

typedef struct loops_build {
    const alias_db *db;
    graph *sub;
    ptrmap copies;  /* value outside -> value inside */
    ptrmap tensors; /* tensors that the loop uses */
    ir_value *params[LOOPS_MAX_VALUES];
    int nparams;
    int questions;
    bool failed;
} loops_build;

static void loops_note_tensors(loops_build *b, const node *n) {
    for (size_t i = 0; i < n->inputs.len; i++)
        if (n->inputs.data[i]->type->kind == T_TENSOR &&
            !ptrmap_put(&b->tensors, n->inputs.data[i], (void *)1))
            b->failed = true;
    for (size_t i = 0; i < n->blocks.len; i++)
        for (const node *m = n->blocks.data[i]->first; m; m = m->next) loops_note_tensors(b, m);
}

static bool loops_repeatable(loops_build *b, const ir_value *v, int depth);

static bool loops_repeatable_inputs(loops_build *b, const node *n, int depth) {
    for (size_t i = 0; i < n->inputs.len; i++)
        if (!loops_repeatable(b, n->inputs.data[i], depth + 1)) return false;
    return true;
}

/* A size of a tensor that the loop uses anyhow, and that keeps its sizes. */
static bool loops_asks_size(const loops_build *b, const node *n) {
    loop_class cls = loop_op_class(n, NULL);
    value c;
    if (cls != LOOP_QUERY && cls != LOOP_SIZES) return false;
    const ir_value *t = n->inputs.data[0];
    if (n->inputs.len > 1 && !ir_value_constant(n->inputs.data[1], &c)) return false;
    return ptrmap_get(&b->tensors, t) && !alias_ever_reshaped(b->db, t);
}

/* Can the group compute the number v again, from its own parameters? */
static bool loops_repeatable(loops_build *b, const ir_value *v, int depth) {
    value c;
    const node *n = v->def;
    if (ir_value_constant(v, &c)) return c.tag == V_INT || c.tag == V_BOOL || c.tag == V_FLOAT;
    if (!n || !loop_is_number(v->type)) return loop_is_number(v->type);
    if (depth > LOOPS_MAX_DEPTH || ++b->questions > LOOPS_MAX_QUESTIONS) return false;
    if (n->kind == N_LIST_UNPACK) {
        const ir_value *l = n->inputs.data[0];
        return l->uses.len == 1 && l->def && loops_asks_size(b, l->def);
    }
    switch (loop_op_class(n, NULL)) {
    case LOOP_QUERY: return loops_asks_size(b, n);
    case LOOP_ARITH:
    case LOOP_COMPARE: return loops_repeatable_inputs(b, n, depth);
    case LOOP_RANGE_LENGTH:
        return !known_number_is(n->inputs.data[2], 0) && ir_value_constant(n->inputs.data[2], &c);
    default: return false;
    }
}

static bool loops_repeats(loops_build *b, const ir_value *v) {
    return v->def && v->def->kind != N_CONSTANT && loop_is_number(v->type) &&
           loops_repeatable(b, v, 0);
}

static ir_value *loops_map(void *ctx, ir_value *v);

static ir_value *loops_bind(loops_build *b, ir_value *v, ir_value *copy) {
    if (!ptrmap_put(&b->copies, v, copy)) b->failed = true;
    return copy;
}

static void loops_copy_node(loops_build *b, const node *n) {
    node *copy = node_clone(b->sub, n, loops_map, b);
    block_append(b->sub->root, copy);
    for (size_t i = 0; i < n->outputs.len; i++) {
        value_copy_name(copy->outputs.data[i], n->outputs.data[i]);
        loops_bind(b, n->outputs.data[i], copy->outputs.data[i]);
    }
}

static ir_value *loops_add_param(loops_build *b, ir_value *v) {
    ir_value *p = block_add_param(b->sub->root, v->type);
    if (value_has_name(v)) value_set_name(p, v->name);
    if (b->nparams < LOOPS_MAX_VALUES) b->params[b->nparams++] = v;
    else b->failed = true;
    return loops_bind(b, v, p);
}

static ir_value *loops_map(void *ctx, ir_value *v) {
    loops_build *b = ctx;
    value c;
    ir_value *known = ptrmap_get(&b->copies, v);
    if (known) return known;
    bool constant = (ir_value_constant(v, &c) && c.tag != V_TENSOR) ||
                    (v->def && v->def->kind == N_UNINITIALIZED);
    if (!constant && !loops_number_list(v) && !loops_repeats(b, v) &&
        !(v->def && loops_asks_size(b, v->def)))
        return loops_add_param(b, v);
    loops_copy_node(b, v->def);
    return ptrmap_get(&b->copies, v);
}

static void loops_replace(loops_build *b, graph *g, node *loop) {
    node *n = node_new(g, N_FUSION_GROUP, b->nparams, b->params, 0);
    n->range = loop->range;
    node_insert_before(n, loop);
    for (size_t i = 0; i < loop->outputs.len; i++) {
        ir_value *out = loop->outputs.data[i];
        const ir_value *object = loop_object(out);
        if (!out->uses.len) continue;
        if (object != out) {
            value_replace_uses(out, loop->inputs.data[i + 2]);
            continue;
        }
        ir_value *result = node_add_output(n, out->type);
        block_add_return(b->sub->root, ptrmap_get(&b->copies, out));
        value_replace_uses(out, result);
        value_copy_name(result, out);
    }
    node_set_graph(n, "Subgraph", b->sub); /* last: without memory it frees the graph */
    node_remove(loop);
}

static bool loops_make(const loops_state *s, graph *g, node *loop) {
    loops_build b = {.db = s->db, .sub = graph_new()};
    if (!b.sub) {
        g->arena.failed = true;
        return false;
    }
    loops_note_tensors(&b, loop);
    if (!b.failed) loops_copy_node(&b, loop);
    bool ok = !b.failed && !arena_failed(&b.sub->arena) && loop->outputs.len < LOOPS_MAX_VALUES;
    if (ok) loops_replace(&b, g, loop);
    else graph_free(b.sub);
    ptrmap_free(&b.copies);
    ptrmap_free(&b.tensors);
    return ok;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static bool loops_block(const alias_db *db, graph *g, block *b) {
    bool changed = false;
    for (node *n = b->first, *next; n && !arena_failed(&g->arena); n = next) {
        next = n->next;
        int questions = 0;
        loops_state s = {.db = db, .loop = n, .questions = &questions};
        if (n->kind == N_LOOP && loops_takes(&s) && loops_make(&s, g, n)) {
            changed = true;
            continue;
        }
        for (size_t i = 0; i < n->blocks.len; i++) changed |= loops_block(db, g, n->blocks.data[i]);
    }
    return changed;
}

bool pass_fuse_loops(pass_ctx *cx, graph *g) {
    alias_db *db = alias_new(g);
    (void)cx;
    if (!db) {
        g->arena.failed = true;
        return false;
    }
    bool changed = loops_block(db, g, g->root);
    alias_free(db);
    return changed;
}
