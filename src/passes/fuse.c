/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuse.c - forms fusion groups: stretches of operators that one kernel can do.
 *
 *     %y : Tensor = aten::mul(%x, %x)              %z : Tensor = prim::FusionGroup_0(%x, %b)
 *     %z : Tensor = aten::add(%y, %b, %one)   ->   with prim::FusionGroup_0 = graph(%x : Tensor, %b : Tensor):
 *                                                    %y : Tensor = aten::mul(%x, %x) ...
 *
 * Method. Each block is walked from its end. A fusible node starts a group, and its producers are drawn in one by one: each is moved down
 * to the group's front if the alias database allows it, so that the members stay neighbours. What the rest of the graph still reads becomes an
 * output. Constants, and lists of numbers that nobody changes, are copied into the group. A group that saves nothing (a single pointwise operator,
 * only views) is not formed.
 *
 * Invariants. Members write nothing and have no effects; outputs are new tensors, never views: a view joins only if nobody outside
 * reads it. Which dtypes and sizes come is not known here: the runtime decides at each call whether a kernel fits (codegen/group.h), so
 * a wrong guess costs time, not correctness.
 * Tests: tests/ir/fuse/
 */
#include "ir/alias.h"
#include "ir/fusible.h"
#include "passes/facts.h"
#include "passes/passes.h"

enum { FUSE_MAX_VALUES = 64, FUSE_MAX_NODES = 256 };

typedef struct fuse_group {
    const alias_db *db;
    node *first, *last; /* neighbours, in order */
    int nodes, work;    /* work: members that compute; views cost nothing alone */
    bool rows;          /* holds a reduction or something made of reductions */
} fuse_group;

/* ---- what may join --------------------------------------------------------------------------------------- */

/* prim::ListUnpack of chunk, split, unbind: each result is a view. */
static bool fuse_is_unpacked_view(const node *n) {
    if (n->kind != N_LIST_UNPACK) return false;
    const ir_value *l = n->inputs.data[0];
    return l->def && l->uses.len == 1 && l->def->owner == n->owner && fusible_node(l->def) == FUSIBLE_VIEW;
}

static fusible_kind fuse_kind(const node *n) {
    if (fuse_is_unpacked_view(n)) return FUSIBLE_VIEW;
    if (n->kind != N_OP || !n->op || n->blocks.len) return FUSIBLE_NONE;
    return fusible_node(n);
}

static bool fuse_is_number(const type *t) {
    return t->kind == T_INT || t->kind == T_FLOAT || t->kind == T_BOOL;
}

/* A list of numbers that stays as it is made: it is made again in the group. */
static const node *fuse_number_list(const ir_value *v) {
    const node *l = fact_fixed_list(v);
    for (size_t i = 0; l && i < l->inputs.len; i++)
        if (!fuse_is_number(l->inputs.data[i]->type)) return NULL;
    return l;
}

/* What a group can take in from outside: tensors, numbers, constants, lists of numbers. */
static bool fuse_input_fits(const ir_value *v) {
    value constant;
    if (ir_value_constant(v, &constant)) return constant.tag != V_OBJECT;
    return v->type->kind == T_TENSOR || fuse_is_number(v->type) || fuse_number_list(v);
}

static bool fuse_inputs_fit(const node *n) {
    if (fuse_is_unpacked_view(n)) return true;
    for (size_t i = 0; i < n->inputs.len; i++)
        if (!fuse_input_fits(n->inputs.data[i])) return false;
    return true;
}

static bool fuse_is_member(const fuse_group *g, const node *n) {
    for (const node *m = g->first; n && m; m = m == g->last ? NULL : m->next)
        if (m == n) return true;
    return false;
}

/* The member that a value is used by, through nested blocks of others: none. */
static bool fuse_used_outside(const fuse_group *g, const ir_value *v) {
    for (size_t i = 0; i < v->uses.len; i++)
        if (!fuse_is_member(g, v->uses.data[i].user)) return true;
    return false;
}

static bool fuse_leaves(const fuse_group *g, const node *n) {
    for (size_t i = 0; i < n->outputs.len; i++)
        if (fuse_used_outside(g, n->outputs.data[i])) return true;
    return false;
}

/* May n be computed where the group stands, and its results go where they are read? */
static bool fuse_may_join(const fuse_group *g, const node *n, fusible_kind kind) {
    if (kind == FUSIBLE_NONE || g->nodes >= FUSE_MAX_NODES || !fuse_inputs_fit(n)) return false;
    if (alias_writes(g->db, n) || node_has_visible_effects(n) || node_is_random(n)) return false;
    bool is_list = n->outputs.len == 1 && n->outputs.data[0]->type->kind == T_LIST;
    if (kind == FUSIBLE_VIEW) return is_list || !fuse_leaves(g, n);
    return !fuse_leaves(g, n) || node_makes_fresh(n);
}

/* ---- growing ----------------------------------------------------------------------------------------------- */

static void fuse_count(fuse_group *g, fusible_kind kind) {
    g->nodes++;
    g->work += kind != FUSIBLE_VIEW;
    g->rows |= kind == FUSIBLE_ROWS || kind == FUSIBLE_REDUCE;
}

static bool fuse_draw_in(fuse_group *g, node *n) {
    if (!n || n->owner != g->last->owner || fuse_is_member(g, n)) return false;
    fusible_kind kind = fuse_kind(n);
    if (!fuse_may_join(g, n, kind)) return false;
    if (n->next != g->first && !alias_can_move_after(g->db, n, g->first->prev)) return false;
    if (n->next != g->first) node_move_before(n, g->first);
    g->first = n;
    fuse_count(g, kind);
    return true;
}

/* Producers of members, nearest first, until none can be had any more. */
static void fuse_grow(fuse_group *g) {
    for (bool grown = true; grown;) {
        grown = false;
        for (node *m = g->last; m && !grown; m = m == g->first ? NULL : m->prev)
            for (size_t i = 0; i < m->inputs.len && !grown; i++) grown = fuse_draw_in(g, m->inputs.data[i]->def);
    }
}

/* ---- the group's graph --------------------------------------------------------------------------------------- */

typedef struct fuse_build {
    const fuse_group *from;
    graph *sub;
    ptrmap copies;                  /* value outside -> value inside */
    ir_value *params[FUSE_MAX_VALUES], *outputs[FUSE_MAX_VALUES];
    int nparams, noutputs;
    bool failed;
} fuse_build;

static ir_value *fuse_map(void *ctx, ir_value *v);

static ir_value *fuse_add_copy(fuse_build *b, ir_value *v, ir_value *copy) {
    if (!ptrmap_put(&b->copies, v, copy)) b->failed = true;
    return copy;
}

static ir_value *fuse_add_param(fuse_build *b, ir_value *v) {
    ir_value *p = block_add_param(b->sub->root, v->type);
    if (value_has_name(v)) value_set_name(p, v->name);
    if (b->nparams < FUSE_MAX_VALUES) b->params[b->nparams++] = v;
    else b->failed = true;
    return fuse_add_copy(b, v, p);
}

static void fuse_copy_node(fuse_build *b, const node *n) {
    node *copy = node_clone(b->sub, n, fuse_map, b);
    block_append(b->sub->root, copy);
    for (size_t i = 0; i < n->outputs.len; i++) {
        value_copy_name(copy->outputs.data[i], n->outputs.data[i]);
        fuse_add_copy(b, n->outputs.data[i], copy->outputs.data[i]);
    }
}

static ir_value *fuse_map(void *ctx, ir_value *v) {
    fuse_build *b = ctx;
    ir_value *known = ptrmap_get(&b->copies, v);
    if (known) return known;
    const node *list = v->def && v->def->kind == N_LIST_CONSTRUCT ? fuse_number_list(v) : NULL;
    if (!list && !(v->def && v->def->kind == N_CONSTANT)) return fuse_add_param(b, v);
    fuse_copy_node(b, v->def);
    return ptrmap_get(&b->copies, v);
}

static void fuse_collect_outputs(fuse_build *b) {
    const fuse_group *g = b->from;
    for (const node *m = g->first; m; m = m == g->last ? NULL : m->next)
        for (size_t i = 0; i < m->outputs.len; i++) {
            ir_value *v = m->outputs.data[i];
            if (!fuse_used_outside(g, v)) continue;
            if (b->noutputs < FUSE_MAX_VALUES) b->outputs[b->noutputs++] = v;
            else b->failed = true;
            block_add_return(b->sub->root, ptrmap_get(&b->copies, v));
        }
}

static void fuse_replace(fuse_build *b, graph *g) {
    const fuse_group *from = b->from;
    node *n = node_new(g, N_FUSION_GROUP, b->nparams, b->params, 0);
    n->range = from->last->range;
    node_set_graph(n, "Subgraph", b->sub);
    node_insert_after(n, from->last);
    for (int i = 0; i < b->noutputs; i++) {
        ir_value *out = node_add_output(n, b->outputs[i]->type);
        value_replace_uses(b->outputs[i], out);
        value_copy_name(out, b->outputs[i]);
    }
    for (node *m = from->last, *prev, *stop = from->first; m; m = prev) {
        prev = m == stop ? NULL : m->prev;
        node_remove(m);
    }
}

/* Replacing uses gave the inner values' uses away as well: so outputs are replaced once members are copied. */
static bool fuse_make(const fuse_group *from, graph *g) {
    fuse_build b = {.from = from, .sub = graph_new()};
    if (!b.sub) return false;
    for (const node *m = from->first; m && !b.failed; m = m == from->last ? NULL : m->next) fuse_copy_node(&b, m);
    if (!b.failed) fuse_collect_outputs(&b);
    ptrmap_free(&b.copies);
    if (b.failed || arena_failed(&b.sub->arena) || b.noutputs == 0) {
        graph_free(b.sub);
        return false;
    }
    fuse_replace(&b, g);
    return true;
}

/* ---- blocks ----------------------------------------------------------------------------------------------------- */

/* One pointwise operator alone is as fast in the interpreter; so is a view. */
static bool fuse_pays(const fuse_group *g) {
    return g->work >= 2 || (g->rows && g->nodes >= 1);
}

static bool fuse_block(const alias_db *db, graph *g, block *b) {
    bool changed = false;
    for (node *n = b->last, *prev; n; n = prev) {
        prev = n->prev;
        for (size_t i = 0; i < n->blocks.len; i++) changed |= fuse_block(db, g, n->blocks.data[i]);
        fusible_kind kind = fuse_kind(n);
        if (kind == FUSIBLE_NONE || kind == FUSIBLE_VIEW) continue;
        fuse_group group = {.db = db, .first = n, .last = n};
        if (!fuse_may_join(&group, n, kind)) continue;
        fuse_count(&group, kind);
        fuse_grow(&group);
        prev = group.first->prev;
        if (fuse_pays(&group) && fuse_make(&group, g)) changed = true;
    }
    return changed;
}

bool pass_fuse(pass_ctx *cx, graph *g) {
    alias_db *db = alias_new(g);
    if (!db) {
        diag_no_memory(cx->diag);
        return false;
    }
    bool changed = fuse_block(db, g, g->root);
    alias_free(db);
    return changed;
}
