/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reorder.c - moves operators within their block so that less memory is in use at once.
 *
 *     %m = aten::ones(%sizes, ...)                %y = aten::matmul(%x, %w)
 *     %y = aten::matmul(%x, %w)            ->     %s = aten::sum(%y)            %y ends here
 *     %z = aten::matmul(%u, %w)                   %z = aten::matmul(%u, %w)
 *     %s = aten::sum(%y)                          %m = aten::ones(%sizes, ...)
 *     %r = aten::mul(%z, %m)                      %r = aten::mul(%z, %m)
 *
 * Method. Nodes that free more than they make move up to where their arguments exist; nodes
 * that make more than they free move down to their first reader. Then the peaks of the old and
 * the new order are estimated: bytes where all sizes are known, else the number of tensors.
 * The new order is kept only if its peak is lower. Rejected: scheduling the whole block (Sethi
 * and Ullman's numbers, or a list by bytes freed), because some nodes may not move.
 *
 * What may move. Only an operator that cannot fail (reorder_total): then every program still ends
 * with the error it ended with before. Dependencies, writes and effects between are the alias
 * analysis' matter (alias_can_move_*). Results do not change.
 * Tests: tests/ir/reorder
 */
#include "ir/graph/alias.h"
#include "passes/pass/value_analysis.h"
#include "passes/passes.h"

enum { REORDER_MAX_NODES = 20000, REORDER_MAX_DISTANCE = 512 };

typedef struct reorder {
    alias_db *alias;
    bool bytes;          /* all sizes are known */
    VEC(node *) order;   /* as it was */
    VEC(int64_t) ending; /* per place: what is freed after it */
    bool failed;
} reorder;

/* ---- which operators cannot fail ------------------------------------------------------------- */

/* On every tensor; on every tensor of floats; with sizes that are constant and not negative. */
static bool reorder_total(const node *n) {
    int64_t sizes[KNOWN_MAX_INTS], numel = 1;
    int count;
    if (n->kind != N_OP || !n->op || !n->op->fn || n->outputs.len != 1 ||
        n->outputs.data[0]->type->kind != T_TENSOR || !node_makes_fresh(n))
        return false;
    /* memory_format, layout and the like may not fit */
    for (size_t i = 1; i < n->inputs.len; i++) {
        value v;
        if (!ir_value_constant(n->inputs.data[i], &v) || v.tag != V_NONE) return false;
    }
    if (node_is_overload(n, SYM_ZEROS) || node_is_overload(n, SYM_ONES)) {
        if (!known_ints(n->inputs.data[0], sizes, &count)) return false;
        for (int i = 0; i < count; i++)
            if (sizes[i] < 0 || sizes[i] > INT32_MAX ||
                (numel *= sizes[i] ? sizes[i] : 1) > INT32_MAX)
                return false;
        return true;
    }
    if (!n->inputs.len || n->inputs.data[0]->type->kind != T_TENSOR) return false;
    if (n->op->traits.total) return true;
    int dt = known_dtype(n->inputs.data[0]);
    return (dt == DT_FLOAT32 || dt == DT_FLOAT64) && n->op->traits.total_on_floats;
}

/* ---- lives ----------------------------------------------------------------------------------- */

static bool reorder_fresh(const node *n) {
    return n->kind == N_FUSION_GROUP || (n->kind == N_OP && n->op && node_makes_fresh(n));
}

/* Bytes of a new tensor; -1: not known; 0: out of memory of its own. */
static int64_t reorder_bytes(const ir_value *v) {
    int64_t sizes[KNOWN_MAX_INTS], bytes;
    int n, dt = known_dtype(v);
    if (v->type->kind != T_TENSOR || !v->def || !reorder_fresh(v->def)) return 0;
    if (dt < 0 || !known_sizes(v, sizes, &n)) return -1;
    bytes = (int64_t)dtype_size((dtype)dt);
    for (int i = 0; i < n; i++)
        if (__builtin_mul_overflow(bytes, sizes[i], &bytes)) return -1;
    return bytes;
}

static int64_t reorder_weight(const reorder *r, const ir_value *v) {
    int64_t bytes = reorder_bytes(v);
    return r->bytes || bytes == 0 ? bytes : 1;
}

/* The place after which v is not needed: in its scratch. */
static int reorder_end(const ir_value *v) { return (int)(intptr_t)v->scratch; }

static void reorder_use(ir_value *v, const block *b, int at) {
    if (v->owner == b && v->def && reorder_end(v) < at) v->scratch = (void *)(intptr_t)at;
}

static void reorder_use_nested(const block *inner, const block *b, int at) {
    for (const node *n = inner->first; n; n = n->next) {
        for (size_t i = 0; i < n->inputs.len; i++) reorder_use(n->inputs.data[i], b, at);
        for (size_t i = 0; i < n->blocks.len; i++) reorder_use_nested(n->blocks.data[i], b, at);
    }
    for (size_t i = 0; i < inner->returns.len; i++) reorder_use(inner->returns.data[i], b, at);
}

/* Numbers the nodes in `mark` from 1, and finds where values end. What an operator may pass on
 * lives as long as its results. */
static int reorder_lives(block *b) {
    int count = 0;
    for (node *n = b->first; n; n = n->next) {
        n->mark = ++count;
        for (size_t i = 0; i < n->outputs.len; i++) n->outputs.data[i]->scratch = NULL;
    }
    for (size_t i = 0; i < b->returns.len; i++) reorder_use(b->returns.data[i], b, count + 1);
    for (node *n = b->last; n; n = n->prev) {
        int at = n->mark;
        for (size_t i = 0; i < n->outputs.len; i++) {
            reorder_use(n->outputs.data[i], b, n->mark);
            if (!reorder_fresh(n) && reorder_end(n->outputs.data[i]) > at)
                at = reorder_end(n->outputs.data[i]);
        }
        for (size_t i = 0; i < n->inputs.len; i++) reorder_use(n->inputs.data[i], b, at);
        for (size_t i = 0; i < n->blocks.len; i++) reorder_use_nested(n->blocks.data[i], b, at);
    }
    return count;
}

static int64_t reorder_peak(reorder *r, block *b) {
    int count = reorder_lives(b);
    int64_t live = 0, peak = 0;
    r->ending.len = 0;
    for (int i = 0; i <= count + 1; i++) r->failed |= !vec_push(&r->ending, 0);
    for (node *n = b->first; n && !r->failed; n = n->next) {
        for (size_t i = 0; i < n->outputs.len; i++) {
            int64_t w = reorder_weight(r, n->outputs.data[i]);
            if (__builtin_add_overflow(live, w, &live)) live = INT64_MAX / 2;
            r->ending.data[reorder_end(n->outputs.data[i])] += w;
        }
        if (live > peak) peak = live;
        live -= r->ending.data[n->mark];
    }
    return peak;
}

/* ---- moving ---------------------------------------------------------------------------------- */

/* Bytes of arguments freed after n, minus its results. */
static int64_t reorder_gain(const reorder *r, const node *n) {
    const ir_value *x = n->inputs.len ? n->inputs.data[0] : NULL;
    bool ends = x && x->def && x->owner == n->owner && reorder_end(x) == n->mark;
    return (ends ? reorder_weight(r, x) : 0) - reorder_weight(r, n->outputs.data[0]);
}

static void reorder_up(const reorder *r, node *n) {
    node *at = n->owner->first;
    for (size_t i = 0; i < n->inputs.len; i++) {
        node *def = n->inputs.data[i]->def;
        if (def && def->owner == n->owner && def->mark >= at->mark) at = def->next;
    }
    if (at != n && n->mark - at->mark <= REORDER_MAX_DISTANCE &&
        alias_can_move_before(r->alias, n, at))
        node_move_before(n, at);
}

/* The first node of n's block that reads v, itself or inside. */
static node *reorder_reader(const ir_value *v, const block *b) {
    node *first = NULL;
    for (size_t i = 0; i < v->uses.len; i++) {
        const use *u = &v->uses.data[i];
        node *n = u->user ? u->user : u->blk->parent;
        while (n && n->owner != b) n = n->owner->parent;
        if (n && (!first || n->mark < first->mark)) first = n;
    }
    return first;
}

static void reorder_down(const reorder *r, node *n) {
    node *reader = reorder_reader(n->outputs.data[0], n->owner);
    node *at = reader ? reader->prev : NULL;
    if (at && at != n && reader->mark - n->mark <= REORDER_MAX_DISTANCE &&
        alias_can_move_after(r->alias, n, at))
        node_move_after(n, at);
}

/* Later readers are moved first, so that chains go down together. */
static void reorder_move(const reorder *r, block *b) {
    for (size_t i = 0; i < r->order.len; i++)
        if (reorder_total(r->order.data[i]) && reorder_gain(r, r->order.data[i]) > 0)
            reorder_up(r, r->order.data[i]);
    reorder_lives(b);
    for (size_t i = r->order.len; i-- > 0;)
        if (reorder_total(r->order.data[i]) && reorder_gain(r, r->order.data[i]) < 0)
            reorder_down(r, r->order.data[i]);
}

static bool reorder_changed(const reorder *r, const block *b) {
    const node *n = b->first;
    for (size_t i = 0; i < r->order.len; i++, n = n->next)
        if (n != r->order.data[i]) return true;
    return false;
}

static bool reorder_here(reorder *r, block *b) {
    r->order.len = 0;
    r->bytes = true;
    for (node *n = b->first; n && !r->failed; n = n->next) {
        r->failed |= !vec_push(&r->order, n);
        for (size_t i = 0; i < n->outputs.len; i++)
            r->bytes &= reorder_bytes(n->outputs.data[i]) >= 0;
    }
    if (r->failed || r->order.len > REORDER_MAX_NODES) return false;
    int64_t before = reorder_peak(r, b);
    if (!r->failed) reorder_move(r, b);
    if (r->failed || !reorder_changed(r, b)) return false;
    if (reorder_peak(r, b) < before && !r->failed) return true;
    for (size_t i = r->order.len; i-- > 0;)
        node_move_before(r->order.data[i], i + 1 < r->order.len ? r->order.data[i + 1] : b->first);
    return false;
}

static bool reorder_any(const block *b) {
    for (const node *n = b->first; n; n = n->next)
        if (reorder_total(n)) return true;
    return false;
}

static bool reorder_block(reorder *r, graph *g, block *b) {
    bool changed = false;
    for (node *n = b->first; n && !r->failed; n = n->next)
        for (size_t i = 0; i < n->blocks.len; i++)
            changed |= reorder_block(r, g, n->blocks.data[i]);
    if (r->failed || !reorder_any(b)) return changed;
    if (!r->alias && !(r->alias = alias_new(g))) r->failed = true;
    return (!r->failed && reorder_here(r, b)) || changed;
}

bool pass_reorder(pass_ctx *cx, graph *g) {
    (void)cx;
    reorder r = {0};
    bool changed = reorder_block(&r, g, g->root);
    if (r.failed) g->arena.failed = true;
    vec_free(&r.order);
    vec_free(&r.ending);
    alias_free(r.alias);
    return changed;
}
