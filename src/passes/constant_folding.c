/* SPDX-License-Identifier: Apache-2.0 */
/*
 * constant_folding.c - evaluates at compile time what depends only on constants of immutable types.
 *
 *     before:  %3 : int = aten::mul(%c3, %c4)          after:  %3 : int = prim::Constant[value=12]()
 *     before:  prim::If(%true) {a} {b}                 after:  a
 *     before:  prim::Loop(%0, ...) {a}                 after:  its initial values
 *     before:  %y = prim::If(%c) {-> (%1)} {-> (%1)}   after:  uses of %y become %1
 *
 * Method. One walk in execution order, so that a folded value feeds its users. This is what PyTorch
 * does before it shows a graph: lists, dicts, tensors and objects can be changed by others and
 * stay; an operator that fails (1 // 0) stays too, to fail when it runs. Calling the operators
 * themselves leaves their meaning in one place.
 * Tests: tests/ir/fold-constants
 */
#include "passes/passes.h"

static bool fold_immutable(const type *t) {
    switch (t->kind) {
    case T_INT:
    case T_FLOAT:
    case T_BOOL:
    case T_STR:
    case T_COMPLEX:
    case T_NONE:
    case T_NUMBER:
    case T_DEVICE: return true;
    case T_OPTIONAL:
    case T_UNION:
    case T_TUPLE:
        for (int i = 0; i < t->nelems; i++)
            if (!fold_immutable(t->elems[i])) return false;
        return !t->of_class; /* a named tuple's constructor would be lost */
    default: return false;
    }
}

/* ---- operators ------------------------------------------------------------------------------- */

enum { FOLD_MAX_ARGS = 16, FOLD_MAX_STRING = 4096 };

/* In code that never runs a constant may have a type that is not its own: isinstance(3, str) and
 * then its upper(). */
static bool fold_constant_inputs(const node *n, value *args) {
    if (n->inputs.len > FOLD_MAX_ARGS) return false;
    for (size_t i = 0; i < n->inputs.len; i++)
        if (!fold_immutable(n->inputs.data[i]->type) ||
            !ir_value_constant(n->inputs.data[i], &args[i]) ||
            !type_admits_value(n->inputs.data[i]->type, args[i]))
            return false;
    return true;
}

/* A tuple of constants; NULL (out of memory counts too): leave it. */
static tuple *fold_tuple(const node *n, const value *args) {
    tuple *t = tuple_new(n->inputs.len, NULL);
    for (size_t i = 0; t && i < n->inputs.len; i++) t->items[i] = value_ref(args[i]);
    return t;
}

/* Could the result be a string much longer than any a person would write? "x" *
 * 10**9, s.ljust(10**9) */
static bool fold_explodes(const node *n, const value *args) {
    if (n->outputs.data[0]->type->kind != T_STR) return false;
    for (size_t i = 0; i < n->inputs.len; i++)
        if (args[i].tag == V_INT && args[i].u.i > FOLD_MAX_STRING) return true;
    return false;
}

static bool fold_run(const node *n, const value *args, value *result) {
    op_ctx cx = {.op = n->op, .nargs = (int)n->inputs.len, .out_types = &n->outputs.data[0]->type};
    diag d = {0};
    if (fold_explodes(n, args)) return false;
    cx.diag = &d;
    *result = value_none();
    bool ok = op_function(n->op, cx.nargs, args)(&cx, args, result) == CTSC_OK;
    diag_clear(&d);
    if (ok && result->tag == V_STR && result->u.str->len > FOLD_MAX_STRING) ok = false;
    if (!ok) value_unref(*result);
    return ok;
}

/* The elements of a constant tuple. */
static bool fold_unpack(graph *g, node *n) {
    value v;
    if (!fold_immutable(n->inputs.data[0]->type) || !ir_value_constant(n->inputs.data[0], &v) ||
        v.tag != V_TUPLE || v.u.tuple->len != n->outputs.len)
        return false;
    for (size_t i = 0; i < n->outputs.len; i++) {
        ir_value *c = graph_constant_before_take(n, value_ref(v.u.tuple->items[i]), NULL);
        if (!c || arena_failed(&g->arena)) return false;
        value_replace_uses(n->outputs.data[i], c);
    }
    node_remove(n);
    return true;
}

static bool fold_node(graph *g, node *n) {
    value args[FOLD_MAX_ARGS], result;
    if (n->kind == N_TUPLE_UNPACK) return fold_unpack(g, n);
    if (n->outputs.len != 1 || !fold_immutable(n->outputs.data[0]->type) ||
        !fold_constant_inputs(n, args))
        return false;
    if (n->kind == N_TUPLE_CONSTRUCT) {
        if (n->outputs.data[0]->type->field_names) return false;
        tuple *t = fold_tuple(n, args);
        if (!t) return false;
        result = value_tuple_take(t);
    } else if (n->kind == N_UNCHECKED_CAST) {
        if (!type_admits_value(n->outputs.data[0]->type, args[0])) return false;
        result = value_ref(args[0]);
    } else if (n->kind == N_OP && n->op && n->op->fn && op_is_pure(n->op) &&
               !n->op->schema->vararg && (int)n->inputs.len == n->op->schema->nargs) {
        if (!fold_run(n, args, &result)) return false;
    } else {
        return false;
    }
    ir_value *c = graph_constant_before_take(
        n, result, result.tag == V_NONE ? NULL : n->outputs.data[0]->type);
    if (!c || arena_failed(&g->arena)) return false;
    value_replace_uses(n->outputs.data[0], c);
    node_remove(n);
    return true;
}

/* ---- control flow ---------------------------------------------------------------------------- */

static bool fold_block(graph *g, block *b);

/* The nodes of the branch taken move in front of n, which goes. */
static void fold_take_branch(node *n, block *taken) {
    while (taken->first) node_move_before(taken->first, n);
    for (size_t i = 0; i < n->outputs.len; i++)
        value_replace_known(n->outputs.data[i], taken->returns.data[i]);
    node_remove(n);
}

/* Outputs that are the same whichever branch runs. */
static bool fold_same_outputs(node *n) {
    bool changed = false;
    for (size_t i = 0; i < n->outputs.len; i++) {
        ir_value *t = n->blocks.data[0]->returns.data[i], *f = n->blocks.data[1]->returns.data[i],
                 *out = n->outputs.data[i];
        value a, b;
        if (!out->uses.len) continue;
        if (t == f) {
            value_replace_uses(out, t);
        } else if (t->type == f->type && fold_immutable(t->type) && ir_value_constant(t, &a) &&
                   ir_value_constant(f, &b) && a.tag == b.tag && value_equal(a, b) &&
                   (a.tag != V_FLOAT || !memcmp(&a.u.f, &b.u.f, sizeof a.u.f))) {
            ir_value *c = graph_constant_before_take(n, value_ref(a), t->type);
            if (!c) return changed;
            value_replace_uses(out, c);
        } else {
            continue;
        }
        changed = true;
    }
    return changed;
}

static bool fold_if(graph *g, node *n) {
    value c;
    if (ir_value_constant(n->inputs.data[0], &c) && c.tag == V_BOOL) {
        block *taken = n->blocks.data[c.u.b ? 0 : 1];
        fold_block(g, taken);
        fold_take_branch(n, taken);
        return true;
    }
    bool changed = fold_block(g, n->blocks.data[0]);
    changed |= fold_block(g, n->blocks.data[1]);
    return fold_same_outputs(n) || changed;
}

/* Trip count 0, or a condition that is false from the start. */
static bool fold_loop(graph *g, node *n) {
    value trip, cond;
    bool never = (ir_value_constant(n->inputs.data[0], &trip) && trip.tag == V_INT &&
                  trip.u.i <= 0) ||
                 (ir_value_constant(n->inputs.data[1], &cond) && cond.tag == V_BOOL && !cond.u.b);
    if (!never) return fold_block(g, n->blocks.data[0]);
    for (size_t i = 0; i < n->outputs.len; i++)
        value_replace_uses(n->outputs.data[i], n->inputs.data[i + 2]);
    node_remove(n);
    return true;
}

static bool fold_block(graph *g, block *b) {
    bool changed = false;
    for (node *n = b->first, *next; n && !arena_failed(&g->arena); n = next) {
        next = n->next;
        if (n->kind == N_IF) {
            changed |= fold_if(g, n);
        } else if (n->kind == N_LOOP) {
            changed |= fold_loop(g, n);
        } else if (n->blocks.len == 0) {
            changed |= fold_node(g, n);
        }
    }
    return changed;
}

bool pass_fold_constants(pass_ctx *cx, graph *g) {
    (void)cx;
    return fold_block(g, g->root);
}
