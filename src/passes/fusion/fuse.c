/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuse.c - forms fusion groups: runs of operators that one kernel can do.
 *
 *     %y : Tensor = aten::mul(%x, %x)              %z : Tensor = prim::FusionGroup_0(%x, %b)
 *     %z : Tensor = aten::add(%y, %b, %one)   ->   with prim::FusionGroup_0 = graph(%x : Tensor, %b : Tensor):
 *                                                    %y : Tensor = aten::mul(%x, %x) ...
 *
 * Method. Each block is walked from its end. A fusible node starts a group, and its producers
 * are absorbed one by one: each is moved down to the group's front if the alias database allows
 * it, so that the members stay neighbours. Values read outside become outputs. Constants except
 * tensors of more than a number, and lists of numbers that nothing changes, are copied into the
 * group. A group without a gain (a single cheap operator, only views) is not formed.
 *
 * Invariants. Members write nothing and have no effects; outputs are new
 * tensors, never views: a view joins only if nothing outside reads it. Dtypes
 * and sizes are not known here: the runtime decides at each call whether a
 * kernel fits (codegen/lower/group.h), so a wrong guess costs time, not
 * correctness. Splitting. A group that turns out to have no kernel (reductions
 * over different dims, say) is formed again in parts, by pass_split_group: first
 * of reductions over the same dims, then of one reduction each, then of none.
 * Tests: tests/ir/fuse/, tests/ir/split-group/
 */
#include "ir/graph/alias.h"
#include "ir/graph/fusible.h"
#include "passes/pass/pass.h"
#include "passes/pass/value_analysis.h"

enum {
    FUSE_MAX_VALUES = 64,
    FUSE_MAX_NODES = 256,
    /* quarter cycles an element (FUSE in ir/op/op_traits.h): from exp on, code for the machine's
     * own vectors beats the interpreter's kernels */
    FUSE_ALONE = 8,
};

/* Which reductions may be in one group. */
typedef enum fuse_rule { FUSE_ANY, FUSE_SAME_DIMS, FUSE_ONE, FUSE_NO_REDUCTION } fuse_rule;

typedef struct fuse_group {
    const alias_db *db;
    fuse_rule rule;
    const node *reduction; /* the first that joined; NULL: none yet */
    node *first, *last;    /* neighbours, in order */
    int nodes, work;       /* work: members that compute; views cost nothing alone */
    bool rows;             /* holds a reduction or something made of reductions */
    bool costly;           /* an operator that pays for a kernel of its own */
} fuse_group;

/* ---- what may join --------------------------------------------------------------------------- */

/* prim::ListUnpack of chunk, split, unbind: each result is a view. */
static bool fuse_is_unpacked_view(const node *n) {
    if (n->kind != N_LIST_UNPACK) return false;
    const ir_value *l = n->inputs.data[0];
    return l->def && l->uses.len == 1 && l->def->owner == n->owner &&
           fusible_node(l->def) == FUSIBLE_VIEW;
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
    const node *l = known_fixed_list(v);
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

/* A set of constant dims as bits, dim -8 being bit 0; 0: not known. */
static unsigned fuse_dim_bit(const ir_value *v) {
    value k;
    enum { LOW = -8, HIGH = 8 };
    if (!ir_value_constant(v, &k) || k.tag != V_INT || k.u.i < LOW || k.u.i >= HIGH) return 0;
    return 1u << (k.u.i - LOW);
}
static unsigned fuse_dims(const node *n) {
    enum { ALL = 1 << 16 };
    value k;
    unsigned dims = 0, bit = 1;
    if (fusible_node(n) == FUSIBLE_ROWS && n->op->symbol != SYM_SOFTMAX_INT &&
        n->op->symbol != SYM_LOG_SOFTMAX_INT)
        return 0;
    int at = schema_find_arg(n->op->schema, "dim");
    if (at < 0) return ALL;
    const ir_value *v = n->inputs.data[at];
    const node *list = fuse_number_list(v);
    if (ir_value_constant(v, &k) && k.tag == V_NONE) return ALL;
    for (size_t i = 0; list && bit && i < list->inputs.len; i++)
        dims |= bit = fuse_dim_bit(list->inputs.data[i]);
    if (list) return !bit ? 0 : dims ? dims : ALL;
    return fuse_dim_bit(v);
}

/* Does the group's rule let one more reduction in? */
static bool fuse_rule_fits(const fuse_group *g, const node *n, fusible_kind kind) {
    if (g->rule == FUSE_ANY || (kind != FUSIBLE_REDUCE && kind != FUSIBLE_ROWS)) return true;
    if (g->rule == FUSE_NO_REDUCTION) return false;
    if (!g->reduction) return true;
    unsigned dims = fuse_dims(n);
    return g->rule == FUSE_SAME_DIMS && dims && dims == fuse_dims(g->reduction);
}

/* Does n bring elements into another order that are then repeated along new dims? Each place would
 * look for its element again. */
static bool fuse_is_repeated_copy(const node *n) {
    if (n->kind != N_OP || n->op->traits.work != WORK_MOVE || n->inputs.len == 0) return false;
    const node *from = n->inputs.data[0]->def;
    if (!from || !(node_is_op(from, SYM_PERMUTE) || node_is_op(from, SYM_TRANSPOSE))) return false;
    const ir_value *v = n->outputs.data[0];
    for (size_t i = 0; i < v->uses.len; i++)
        if (!node_is_op(v->uses.data[i].user, SYM_UNSQUEEZE)) return false;
    return true;
}

/* May n be computed at the group's place, and its results be available where they are read? */
static bool fuse_may_join(const fuse_group *g, const node *n, fusible_kind kind) {
    if (kind == FUSIBLE_NONE || g->nodes >= FUSE_MAX_NODES || !fuse_inputs_fit(n)) return false;
    if (!fuse_rule_fits(g, n, kind)) return false;
    if (alias_writes(g->db, n) || node_has_visible_effects(n) || node_is_random(n)) return false;
    bool is_list = n->outputs.len == 1 && n->outputs.data[0]->type->kind == T_LIST;
    if (kind == FUSIBLE_VIEW) return is_list || (!fuse_leaves(g, n) && !fuse_is_repeated_copy(n));
    return !fuse_leaves(g, n) || node_makes_fresh(n);
}

/* ---- growing --------------------------------------------------------------------------------- */

static void fuse_count(fuse_group *g, const node *n, fusible_kind kind) {
    if (!g->reduction && (kind == FUSIBLE_ROWS || kind == FUSIBLE_REDUCE)) g->reduction = n;
    g->nodes++;
    g->work += kind != FUSIBLE_VIEW;
    g->costly |= kind == FUSIBLE_POINTWISE && n->kind == N_OP && n->op->traits.cost >= FUSE_ALONE;
    g->rows |= kind == FUSIBLE_ROWS || kind == FUSIBLE_REDUCE;
}

static bool fuse_absorb(fuse_group *g, node *n) {
    if (!n || n->owner != g->last->owner || fuse_is_member(g, n)) return false;
    fusible_kind kind = fuse_kind(n);
    if (!fuse_may_join(g, n, kind)) return false;
    if (n->next != g->first && !alias_can_move_after(g->db, n, g->first->prev)) return false;
    if (n->next != g->first) node_move_before(n, g->first);
    g->first = n;
    fuse_count(g, n, kind);
    return true;
}

/* Producers of members, nearest first, until none can be had any more. */
static void fuse_grow(fuse_group *g) {
    for (bool grown = true; grown;) {
        grown = false;
        for (node *m = g->last; m && !grown; m = m == g->first ? NULL : m->prev)
            for (size_t i = 0; i < m->inputs.len && !grown; i++)
                grown = fuse_absorb(g, m->inputs.data[i]->def);
    }
}

/* ---- the group's graph ----------------------------------------------------------------------- */

typedef struct fuse_build {
    const fuse_group *from;
    graph *sub;
    ptrmap copies; /* value outside -> value inside */
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
    value k;
    bool number = ir_value_constant(v, &k) && (k.tag != V_TENSOR || k.u.tensor->ndim == 0);
    if (!list && !number) return fuse_add_param(b, v);
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

/* Replacing uses gave the inner values' uses away as well: so outputs are replaced once
 * members are copied. */
static bool fuse_make(const fuse_group *from, graph *g) {
    fuse_build b = {.from = from, .sub = graph_new()};
    if (!b.sub) return false;
    for (const node *m = from->first; m && !b.failed; m = m == from->last ? NULL : m->next)
        fuse_copy_node(&b, m);
    if (!b.failed) fuse_collect_outputs(&b);
    ptrmap_free(&b.copies);
    if (b.failed || arena_failed(&b.sub->arena) || b.noutputs == 0) {
        graph_free(b.sub);
        return false;
    }
    fuse_replace(&b, g);
    return true;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* A sum alone is as fast in the interpreter; so is a view. */
static bool fuse_pays(const fuse_group *g) {
    return g->work >= 2 || g->costly || (g->rows && g->nodes >= 1);
}

static bool fuse_block(const alias_db *db, graph *g, block *b, fuse_rule rule) {
    bool changed = false;
    for (node *n = b->last, *prev; n; n = prev) {
        prev = n->prev;
        for (size_t i = 0; i < n->blocks.len; i++)
            changed |= fuse_block(db, g, n->blocks.data[i], rule);
        fusible_kind kind = fuse_kind(n);
        if (kind == FUSIBLE_NONE || kind == FUSIBLE_VIEW) continue;
        fuse_group group = {.db = db, .rule = rule, .first = n, .last = n};
        if (!fuse_may_join(&group, n, kind)) continue;
        fuse_count(&group, n, kind);
        fuse_grow(&group);
        prev = group.first->prev;
        if (fuse_pays(&group) && fuse_make(&group, g)) changed = true;
    }
    return changed;
}

/* Losses broadcast their operands themselves:
 *
 *     %l = prim::ListConstruct(%x, %y)
 *     %b = aten::broadcast_tensors(%l)
 *     %p, %q = prim::ListUnpack(%b)
 *     %z = aten::mse_loss(%p, %q, %r)       ->       %z = aten::mse_loss(%x, %y, %r) */
static bool fuse_is_loss(const node *n) {
    return (node_is_overload(n, SYM_MSE_LOSS) || node_is_overload(n, SYM_L1_LOSS) ||
            node_is_overload(n, SYM_SMOOTH_L1_LOSS) || node_is_overload(n, SYM_HUBER_LOSS)) &&
           n->inputs.len >= 2;
}

static bool fuse_see_through_broadcast(node *n) {
    node *unpack = n->inputs.data[0]->def;
    if (!unpack || unpack->kind != N_LIST_UNPACK || unpack->outputs.len != 2 ||
        unpack->owner != n->owner)
        return false;
    if (n->inputs.data[0] != unpack->outputs.data[0] ||
        n->inputs.data[1] != unpack->outputs.data[1])
        return false;
    ir_value *list = unpack->inputs.data[0];
    node *broadcast = list->def;
    if (list->uses.len != 1 || !broadcast || broadcast->kind != N_OP || !broadcast->op ||
        broadcast->owner != n->owner)
        return false;
    if (broadcast->op->symbol != SYM_BROADCAST_TENSORS) return false;
    ir_value *given = broadcast->inputs.data[0];
    node *made = given->def;
    if (given->uses.len != 1 || !made || made->kind != N_LIST_CONSTRUCT || made->inputs.len != 2)
        return false;
    for (int i = 0; i < 2; i++) node_set_input(n, i, made->inputs.data[i]);
    if (unpack->outputs.data[0]->uses.len || unpack->outputs.data[1]->uses.len) return true;
    node_remove(unpack);
    node_remove(broadcast);
    node_remove(made);
    return true;
}

static bool fuse_prepare(block *b) {
    bool changed = false;
    for (node *n = b->last, *prev; n; n = prev) {
        if (fuse_is_loss(n)) changed |= fuse_see_through_broadcast(n);
        prev = n->prev;
        for (size_t i = 0; i < n->blocks.len; i++) changed |= fuse_prepare(n->blocks.data[i]);
    }
    return changed;
}

static bool fuse_graph(pass_ctx *cx, graph *g, fuse_rule rule) {
    alias_db *db = alias_new(g);
    if (!db) {
        diag_no_memory(cx->diag);
        return false;
    }
    bool changed = fuse_block(db, g, g->root, rule);
    alias_free(db);
    return changed;
}

bool pass_fuse(pass_ctx *cx, graph *g) {
    bool changed = fuse_prepare(g->root);
    return fuse_graph(cx, g, FUSE_ANY) || changed;
}

/* ---- splitting ------------------------------------------------------------------------------- */

/* Is g one group and nothing beside? */
static bool fuse_is_whole(const graph *g) {
    int groups = 0;
    for (const node *n = g->root->first; n; n = n->next) {
        groups += n->kind == N_FUSION_GROUP;
        if (n->kind == N_OP || n->kind == N_LIST_UNPACK) return false;
    }
    return groups == 1;
}

bool pass_split_group(pass_ctx *cx, graph *g) {
    for (fuse_rule rule = FUSE_SAME_DIMS; rule <= FUSE_NO_REDUCTION; rule++) {
        graph *trial = graph_clone(g);
        if (!trial) {
            diag_no_memory(cx->diag);
            return false;
        }
        bool splits = fuse_graph(cx, trial, rule) && !fuse_is_whole(trial);
        graph_free(trial);
        if (splits) return fuse_graph(cx, g, rule);
    }
    return false;
}
