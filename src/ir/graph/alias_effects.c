/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alias_effects.c - the effects of single nodes: side
 * effects, writes, failures, and which inputs they read.
 *
 * Method. An operator's schema says most (Tensor(a!) is written, Tensor(a) -> Tensor(a) shares);
 * its row says whether it prints, raises or draws random numbers, and the traits at the end of
 * ir/op/op_traits.h what neither says. A missing permission (MAKES_VIEW, NEVER_FAILS) costs an
 * optimisation, a missing warning (WRITES, MAY_RETURN_ARGUMENT) would be a bug. The warnings were
 * found by running every program of the corpus and comparing storages, and by reading the kernels.
 * Tests: tests/unit/test_alias.c
 */
#include "ir/graph/alias.h"
#include "ir/graph/loop_ops.h"

#include <string.h>

static op_traits effects_traits(const node *n) {
    return n->kind == N_OP && n->op ? n->op->traits : (op_traits){0};
}

static bool effects_known_false(const node *n, int i) {
    value v;
    return i >= 0 && i < (int)n->inputs.len && ir_value_constant(n->inputs.data[i], &v) &&
           v.tag == V_BOOL && !v.u.b;
}

/* dropout(x, p, train=False), lstm(..., train=False): nothing random about them. */
static bool effects_not_training(const node *n) {
    int i = schema_find_arg(n->op->schema, "train");
    if (i < 0) i = schema_find_arg(n->op->schema, "training");
    return effects_known_false(n, i);
}

bool node_is_random(const node *n) {
    if (n->kind != N_OP) return false;
    return !n->op || (op_traits_differ(n->op->traits) && !effects_not_training(n));
}

static const bool effects_of_kind[N_KIND_COUNT] = {
    [N_CALL_FUNCTION] = true, [N_CALL_METHOD] = true,    [N_RAISE] = true,   [N_PRINT] = true,
    [N_FORK] = true,          [N_ENTER] = true,          [N_EXIT] = true,    [N_LOAD] = true,
    [N_STORE] = true,         [N_LOOP_CONDITION] = true, [N_RETURN] = true,  [N_BREAK] = true,
    [N_CONTINUE] = true,      [N_WITH] = true,           [N_CLOSURE] = true,
};

static bool effects_own(const node *n) {
    if (n->kind != N_OP) return effects_of_kind[n->kind];
    if (!n->op || n->op->traits.unsafe) return true;
    if (!n->op->traits.side_effect) return false;
    return !(n->op->traits.draws && effects_not_training(n));
}

bool node_has_visible_effects(const node *n) {
    if (effects_own(n)) return true;
    for (size_t i = 0; i < n->blocks.len; i++)
        for (const node *m = n->blocks.data[i]->first; m; m = m->next)
            if (node_has_visible_effects(m)) return true;
    return false;
}

/* ---- failures -------------------------------------------------------------------------------- */

static bool effects_simple(const type *t) {
    return t->kind == T_INT || t->kind == T_FLOAT || t->kind == T_BOOL || t->kind == T_NONE;
}

static bool effects_never_fails(const node *n) {
    never_fails kind = effects_traits(n).never_fails;
    if (kind == FAILS_PERHAPS || !n->op->fn) return false;
    for (size_t i = 0; i < n->inputs.len && kind == NEVER_FAILS_NUMBERS; i++)
        if (!effects_simple(n->inputs.data[i]->type)) return false;
    return true;
}

static const bool effects_kind_total[N_KIND_COUNT] = {
    [N_CONSTANT] = true,      [N_LIST_CONSTRUCT] = true, [N_TUPLE_CONSTRUCT] = true,
    [N_TUPLE_UNPACK] = true,  [N_TUPLE_INDEX] = true,    [N_TUPLE_SLICE] = true,
    [N_GET_ATTR] = true,      [N_SET_ATTR] = true,       [N_UNCHECKED_CAST] = true,
    [N_UNINITIALIZED] = true, [N_ISINSTANCE] = true,     [N_IF] = true,
    [N_LOOP] = true,          [N_CREATE_OBJECT] = true,
};

bool node_may_raise(const node *n) {
    if (n->kind == N_OP ? !effects_never_fails(n) : !effects_kind_total[n->kind]) return true;
    for (size_t i = 0; i < n->blocks.len; i++)
        for (const node *m = n->blocks.data[i]->first; m; m = m->next)
            if (node_may_raise(m)) return true;
    return false;
}

/* ---- writes ---------------------------------------------------------------------------------- */

/* Arguments `first` to `last` are written, unless the argument `unless_false` is known to be
 * False (-1: always). */
static const struct { int first, last, unless_false; } effects_unmarked_writes[WRITES_COUNT] = {
    [WRITES_STATISTICS] = {3, 4, 5}, [WRITES_GATHERED] = {3, 4, -1}, [WRITES_UPDATED] = {1, 2, -1},
    [WRITES_NOISE] = {1, 1, 4},      [WRITES_SELF] = {0, 0, -1},
};

static bool effects_alias_writes(const alias_info *a) {
    return a && (a->write || effects_alias_writes(a->elem));
}

/* Does a group with loops write the elements of parameter i? Its graph holds views that loop_viewed
 * knows; a write to anything else that is not new counts for all. */
static bool effects_block_writes_param(const block *b, const ir_value *param) {
    for (const node *n = b->first; n; n = n->next) {
        for (size_t k = 0; k < n->blocks.len; k++)
            if (effects_block_writes_param(n->blocks.data[k], param)) return true;
        if (!loop_op_writes(n)) continue;
        const ir_value *v = loop_viewed(n->inputs.data[0]);
        bool is_new = v->def && v->def->kind == N_OP && v->def->op && node_makes_fresh(v->def);
        bool other = !v->def && v->owner == param->owner && v != param;
        if (!is_new && !other) return true;
    }
    return false;
}

static bool effects_group_writes(const node *n, int i) {
    const attr *a = node_attr(n, "Subgraph");
    if (!a || a->kind != ATTR_GRAPH || i >= (int)a->u.g->root->params.len) return true;
    const ir_value *param = a->u.g->root->params.data[i];
    return param->type->kind == T_TENSOR && effects_block_writes_param(a->u.g->root, param);
}

bool node_writes_input(const node *n, int i) {
    if (n->kind == N_SET_ATTR) return i == 0;
    if (n->kind == N_FUSION_GROUP) return effects_group_writes(n, i);
    if (n->kind != N_OP || !n->op) return false; /* what may do anything is asked of the database */
    if (i < n->op->schema->nargs && effects_alias_writes(n->op->schema->args[i].alias)) return true;
    unmarked_writes set = n->op->traits.writes;
    return set != WRITES_NOTHING && i >= effects_unmarked_writes[set].first &&
           i <= effects_unmarked_writes[set].last &&
           !effects_known_false(n, effects_unmarked_writes[set].unless_false);
}

/* Operators of other namespaces may do anything to what they write. */
static bool effects_are_known(const node *n) {
    return !strncmp(n->op_name, "aten::", 6) || !strncmp(n->op_name, "prim::", 6);
}

bool node_write_reshapes(const node *n) {
    if (n->kind == N_FUSION_GROUP) return false;
    if (n->kind != N_OP || !n->op) return true;
    for (int i = 0; i < n->op->schema->nargs && i < (int)n->inputs.len; i++)
        if (node_writes_input(n, i) &&
            (n->op->schema->args[i].type->kind != T_TENSOR || n->op->schema->args[i].kwarg_only))
            /* lists grow, out= is resized; statistics are not */
            return n->op->schema->args[i].type->kind != T_OPTIONAL;
    return !effects_are_known(n) || n->op->traits.reshapes;
}

/* ---- reads ----------------------------------------------------------------------------------- */

static node_read effects_op_reads(const node *n, int i) {
    const schema *s = n->op->schema;
    op_traits traits = n->op->traits;
    if (i >= s->nargs) return READ_DEEP;
    if (i == 0 && (traits.makes_view || traits.asks_geometry)) return READ_SHAPE;
    const type *t = s->args[i].type;
    if (!t->has_var || traits.reads_deeply) return READ_DEEP;
    if (t->kind == T_LIST || t->kind == T_DICT) return READ_SELF;
    return t->kind == T_VAR && s->nargs &&
                   (s->args[0].type->kind == T_LIST || s->args[0].type->kind == T_DICT)
               ? READ_NONE
               : READ_DEEP;
}

static const node_read effects_kind_reads[N_KIND_COUNT] = {
    [N_GET_ATTR] = READ_SELF, [N_LIST_UNPACK] = READ_SELF,   [N_CONTAINER_INDEX] = READ_SELF,
    [N_PRINT] = READ_DEEP,    [N_CALL_FUNCTION] = READ_DEEP, [N_CALL_METHOD] = READ_DEEP,
    [N_FORK] = READ_DEEP,     [N_ENTER] = READ_DEEP,         [N_EXIT] = READ_DEEP,
    [N_TOLIST] = READ_DEEP,   [N_CLOSURE] = READ_DEEP,       [N_FUSION_GROUP] = READ_DEEP,
    [N_RAISE] = READ_DEEP,
};

node_read node_reads_input(const node *n, int i) {
    if (n->kind != N_OP) return effects_kind_reads[n->kind];
    return n->op ? effects_op_reads(n, i) : READ_DEEP;
}

/* ---- results --------------------------------------------------------------------------------- */

bool node_returns_unmarked(const node *n) { return effects_traits(n).may_return_argument; }

node_result node_makes(const node *n) {
    switch (n->kind) {
    case N_GET_ATTR:
    case N_TUPLE_INDEX:
    case N_TUPLE_UNPACK:
    case N_LIST_UNPACK:
    case N_UNCHECKED_CAST: return RESULT_SAME;
    case N_OP: break;
    default: return RESULT_NEW;
    }
    if (effects_traits(n).makes_view)
        return n->outputs.len == 1 && n->outputs.data[0]->type->kind == T_TENSOR ? RESULT_VIEW
                                                                                 : RESULT_NEW;
    bool element = node_is_op(n, SYM___GETITEM__) || node_is_op(n, SYM_SELECT);
    return element && n->inputs.data[0]->type->kind != T_TENSOR ? RESULT_SAME : RESULT_NEW;
}

bool node_makes_fresh(const node *n) {
    if (n->kind == N_LIST_CONSTRUCT || n->kind == N_DICT_CONSTRUCT || n->kind == N_CREATE_OBJECT)
        return true;
    if (n->kind != N_OP || !n->op || n->op->schema->vararg || n->op->schema->varret ||
        node_returns_unmarked(n))
        return false;
    const schema *s = n->op->schema;
    if (s->has_alias_write) return false;
    for (int i = 0; i < s->nreturns; i++)
        if (s->returns[i].alias || s->returns[i].type->has_var || s->returns[i].type->kind == T_ANY)
            return false;
    return true;
}
