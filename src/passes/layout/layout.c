/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout.c - converts regions around convolutions to channels-last tensors.
 *
 *     %y = aten::conv2d(%x, %w, ...)                  %x' = ctsc::to_channels_last(%x, 2)
 *     %z = aten::relu(%y)                     ->      %y' = ctsc::conv_channels_last(%x', %w, ...)
 *     %m = aten::mean(%z, [2, 3], false)              %z' = aten::relu(%y')
 *     return (%z, %m)                                 %m = aten::mean(%z', [-3, -2], false)
 *                                                     %last = ctsc::lies_channels_last(%x, 2)
 *                                                     %z = ctsc::to_channels_first(%z', 2, %last)
 *
 * The kernels of convolutions and pools need the channels of a pixel to be contiguous. %x' is
 * the *twin* of %x: an ordinary tensor whose last n + 1 dims are [spatial..., channels] where
 * %x has [channels, spatial...], n of them spatial. Ranks are usually unknown, since a graph is
 * compiled once for all shapes and conv2d takes images without a batch dim too; that the last n
 * + 1 dims are permuted is true for every rank above n. Dims that count from the front and
 * whose place depends on the rank are permuted when the program runs (ctsc::channels_last_dim).
 *
 * Method. One walk in program order. A node with a rule (layout_rules.def) and a twin for an
 * argument, and each convolution that gains enough, gets a counterpart before it that works
 * on twins. Conversions are made where a convolution needs a value from outside this set.
 * Nodes whose twins meet belong to one *region*. The decision comes only then: a region
 * stays if the gain of its convolutions exceeds the cost of its conversions, including those
 * back to channels first, which each value gets once if something without a rule reads it
 * (including a return). Then the originals are removed, or else their counterparts.
 *
 * Writes. A value has a twin if nothing writes its memory later, or if the writer is
 * also the last reader: then it is as if the operator made a new value, and the
 * counterpart writes the twin. The alias database is queried about original nodes only.
 *
 * Strides. A value that leaves a region has the layout that it would have without: a
 * convolution's result that of its image or its weight, others that of their first operand.
 * The layout of an image from outside is tested at run time (ctsc::lies_channels_last).
 *
 * Errors are raised by the same operators in the same order. Where one names dims or sizes of
 * operands that do not fit together, they are those of the twins.
 * Tests: tests/ir/layout, tests/cli/layout.test
 */
#include "passes/layout/layout.h"

#include "ir/graph/fusible.h"

enum {
    LAYOUT_CHANGED = 1,
    LAYOUT_MADE = 2,   /* node.mark */
    LAYOUT_WAYS = 200, /* uses looked at to see whether a view is alone */
    /* multiplications of a convolution that pay for the conversion of an element */
    LAYOUT_PRICE = 32,
};

/* ---- regions --------------------------------------------------------------------------------- */

static int layout_region_new(layout *l) {
    layout_region r = {.above = (int)l->regions.len};
    if (!vec_push(&l->regions, r)) l->failed = true;
    return l->failed ? 0 : r.above;
}

static int layout_region_top(layout *l, int r) {
    while (l->regions.data[r].above != r)
        r = l->regions.data[r].above = l->regions.data[l->regions.data[r].above].above;
    return r;
}

static void layout_region_join(layout *l, int a, int b) {
    a = layout_region_top(l, a);
    b = layout_region_top(l, b);
    if (a == b) return;
    l->regions.data[b].above = a;
    l->regions.data[a].gain += l->regions.data[b].gain;
    l->regions.data[a].cost += l->regions.data[b].cost;
}

static bool layout_pays(layout *l, int region) {
    const layout_region *r = &l->regions.data[layout_region_top(l, region)];
    return r->gain > r->cost;
}

/* ---- new nodes ------------------------------------------------------------------------------- */

static ir_value *layout_made_node(layout *l, node *n) {
    n->mark = LAYOUT_MADE;
    if (!vec_push(&l->made, ((layout_made){n, l->region}))) l->failed = true;
    return n->outputs.len ? n->outputs.data[0] : NULL;
}

ir_value *layout_op(layout *l, const op *o, int n, ir_value *const *args) {
    ir_value *y = o && o->fn ? rewrite_op(l->at, o, n, args) : NULL;
    return y ? layout_made_node(l, y->def) : NULL;
}

node *layout_clone(layout *l, const node *n, int nargs, ir_value *const *args) {
    node *copy = n->kind == N_OP ? node_new_op(l->g, n->op, nargs, args)
                                 : node_new(l->g, n->kind, nargs, args, (int)n->outputs.len);
    for (size_t i = 0; i < n->outputs.len; i++)
        if (n->outputs.data[i]->type->kind != T_TENSOR)
            copy->outputs.data[i]->type = n->outputs.data[i]->type;
    copy->range = n->range;
    copy->call = n->call;
    copy->range_hidden = n->range_hidden;
    copy->scope = n->scope;
    node_insert_before(copy, l->at);
    layout_made_node(l, copy);
    return copy;
}

ir_value *layout_list(layout *l, int n, ir_value *const *elements, type *t) {
    node *made = node_new(l->g, N_LIST_CONSTRUCT, n, elements, 1);
    made->outputs.data[0]->type = t;
    node_insert_before(made, l->at);
    return layout_made_node(l, made);
}

ir_value *layout_constant_take(layout *l, value v) {
    return layout_made_node(l, graph_constant_before_take(l->at, v, NULL)->def);
}

ir_value *layout_int(layout *l, int64_t i) { return layout_constant_take(l, value_int(i)); }

ir_value *layout_ints(layout *l, int n, const int64_t *ints) {
    list *made = list_new(LIST_INT, TYPE_INT, (size_t)n);
    for (int i = 0; made && i < n; i++)
        if (!list_append_take(made, value_int(ints[i]))) l->failed = true;
    if (!made) l->failed = true;
    return layout_constant_take(l, made ? value_list_take(made) : value_none());
}

/* ---- twins ----------------------------------------------------------------------------------- */

layout_twin *layout_find(layout *l, const ir_value *v, bool sure) {
    layout_twin *t = ptrmap_get(&l->twins, v);
    if (!t || !t->last || (sure && t->least <= t->spatial)) return NULL;
    return !t->last->def || t->last->def->owner == l->at->owner ||
                   node_dominates(t->last->def, l->at)
               ? t
               : NULL;
}

layout_twin *layout_use(layout *l, const ir_value *v, int spatial, bool sure) {
    layout_twin *t = layout_find(l, v, sure);
    if (!t || t->spatial != spatial) return NULL;
    if (!vec_push(&l->used, t->region)) l->failed = true;
    return t;
}

layout_twin *layout_give(layout *l, ir_value *v, ir_value *last, const layout_twin *like) {
    layout_twin *t = arena_new(&l->scratch, layout_twin);
    *t = *like;
    t->last = last;
    t->own = last != like->last && v->def == l->at && node_makes_fresh(l->at);
    t->region = l->region;
    if (!ptrmap_put(&l->twins, v, t)) l->failed = true;
    return t;
}

void layout_say_order(layout *l, const ir_value *v, layout_order order) {
    layout_twin *t = ptrmap_get(&l->twins, v);
    t->order = order;
}

void layout_ask_order(layout *l, layout_twin *t, ir_value *v) {
    t->order = ORDER_ROWS;
    if (t->spatial < 2) return;
    t->lies_last = layout_op(l, op_of(SYM_CTSC_LIES_CHANNELS_LAST), 2,
                             (ir_value *[]){v, layout_int(l, t->spatial)});
    if (t->lies_last) t->order = ORDER_ASKED;
}

layout_twin *layout_bring(layout *l, ir_value *v, int spatial, int64_t channels) {
    layout_twin *t = layout_use(l, v, spatial, false);
    if (t || layout_find(l, v, false)) return t;
    int rank = known_rank(v);
    if (v->type->kind != T_TENSOR || alias_written_after(l->db, v, l->at)) return NULL;
    layout_twin like = {.spatial = spatial,
                        .least = rank < 0 ? 0 : rank,
                        .most = rank < 0 ? LAYOUT_ANY_RANK : rank,
                        .channels = channels};
    int region = l->region;
    l->region = layout_region_new(l);
    layout_ask_order(l, &like, v);
    ir_value *last = layout_op(l, op_of(SYM_CTSC_TO_CHANNELS_LAST), 2,
                               (ir_value *[]){v, layout_int(l, spatial)});
    t = last ? layout_give(l, v, last, &like) : NULL;
    if (t && !l->failed) l->regions.data[l->region].cost = (double)channels * LAYOUT_PRICE;
    l->region = region;
    return t ? layout_use(l, v, spatial, false) : NULL;
}

/* ---- dims ------------------------------------------------------------------------------------ */

/* The dim that counts from the end, after turning. */
static int64_t layout_turned(int64_t from_end, int spatial) {
    if (from_end == -1 - spatial) return -1;
    return from_end >= -spatial && from_end < 0 ? from_end - 1 : from_end;
}

int layout_from_end(const layout_twin *t, int64_t dim) {
    if (dim < 0) return dim > -LAYOUT_MAX_ARGS ? (int)dim : 0;
    if (t->most == LAYOUT_ANY_RANK || dim >= t->most || (dim < t->most - 1 && t->least < t->most))
        return 0;
    return (int)dim - t->most;
}

ir_value *layout_dim(layout *l, const layout_twin *t, ir_value *v, int *from_end) {
    int64_t dim;
    bool known = known_int(v, &dim);
    if (from_end) *from_end = known ? layout_from_end(t, dim) : 0;
    if (known && dim < 0) return layout_int(l, layout_turned(dim, t->spatial));
    if (known && t->least == t->most)
        return layout_int(l, dim < t->most ? layout_turned(dim - t->most, t->spatial) : dim);
    return layout_op(l, op_of(SYM_CTSC_CHANNELS_LAST_DIM), 3,
                     (ir_value *[]){t->last, v, layout_int(l, t->spatial)});
}

/* ---- writes ---------------------------------------------------------------------------------- */

/* The node in w's block that contains the user, or is it, comes before w. */
static bool layout_before(const use *u, const node *w) {
    const node *n = u->user;
    while (n && n->owner != w->owner) n = n->owner->parent;
    return n && n != w && node_before(n, w);
}

/* Is there one node that writes v, which no other use follows, and does nobody else know v's memory
 * by another name? */
static bool layout_last_writes(const ir_value *v) {
    const node *w = NULL;
    for (size_t i = 0; i < v->uses.len; i++) {
        const node *n = v->uses.data[i].user;
        if (!n || n->kind != N_OP || !n->op || !node_writes_input(n, v->uses.data[i].index))
            continue;
        if (w && w != n) return false;
        w = n;
    }
    if (!w || !v->def || w->owner != v->def->owner) return false;
    for (size_t i = 0; i < v->uses.len; i++) {
        const use *u = &v->uses.data[i];
        if (u->user != w && (!layout_before(u, w) || !known_use_reads(u, false))) return false;
    }
    return true;
}

/* Does n's first argument have memory of its own, which n then writes and returns? */
static bool layout_hands_on(layout *l, const node *n) {
    if (n->kind != N_OP || !n->op || n->inputs.len < 1 || !node_writes_input(n, 0)) return false;
    const layout_twin *t = layout_find(l, n->inputs.data[0], false);
    return t && t->own;
}

/* May n's results have twins? */
static bool layout_keeps(layout *l, const node *n) {
    bool own = n->kind == N_OP && n->op && (node_makes_fresh(n) || layout_hands_on(l, n));
    for (size_t i = 0; i < n->outputs.len; i++) {
        const ir_value *v = n->outputs.data[i];
        if (alias_type_mutable(v->type) && alias_written_after(l->db, v, n) &&
            !(own && layout_last_writes(v)))
            return false;
    }
    return true;
}

/* ---- views that are known outside ------------------------------------------------------------ */

/* Can what the user makes share memory with what it uses there? */
static bool layout_passes_on(const use *u) {
    const node *n = u->user;
    if (node_makes_fresh(n)) return false;
    return n->kind != N_OP || u->index >= n->op->schema->nargs ||
           n->op->schema->args[u->index].alias || node_returns_unmarked(n);
}

/* In how many ways does v's memory get to a return, a container or a call? Views of it count, lists
 * of them too; two are as good as more. left: uses that may be looked at, since paths may meet
 * again; without any more there are two ways. */
static int layout_count_ways(const ir_value *v, int *left) {
    int ways = 0;
    for (size_t i = 0; i < v->uses.len && ways < 2; i++) {
        if (--*left < 0) return 2;
        const node *user = v->uses.data[i].user;
        bool op = user && ((user->kind == N_OP && user->op) || user->kind == N_LIST_UNPACK);
        if (op && !layout_passes_on(&v->uses.data[i])) continue;
        if (!op) ways++;
        for (size_t k = 0; op && k < user->outputs.len; k++)
            ways += layout_count_ways(user->outputs.data[k], left);
    }
    return ways;
}

static int layout_ways_out(const ir_value *v) {
    int left = LAYOUT_WAYS;
    return layout_count_ways(v, &left);
}

/* The value whose memory v is a view of; NULL: it is not new. */
static const ir_value *layout_root(const ir_value *v) {
    while (v->def && !node_makes_fresh(v->def)) {
        if (v->def->kind != N_OP || !v->def->op || !v->def->inputs.len ||
            v->def->inputs.data[0]->type->kind != T_TENSOR)
            return NULL;
        v = v->def->inputs.data[0];
    }
    return v->def ? v : NULL;
}

/* Does the caller get a view that n makes, and something else with elements in common? A twin
 * would be a copy. */
static bool layout_shares_outside(const node *n) {
    int ways = 0;
    if (n->kind != N_OP || !n->op || !n->inputs.len || n->inputs.data[0]->type->kind != T_TENSOR ||
        node_makes_fresh(n))
        return false;
    for (size_t i = 0; i < n->outputs.len; i++) ways += layout_ways_out(n->outputs.data[i]);
    const ir_value *root = ways ? layout_root(n->inputs.data[0]) : NULL;
    return ways && (!root || layout_ways_out(root) > 1);
}

/* ---- the walk -------------------------------------------------------------------------------- */

static const struct layout_row { op_symbol key; layout_rule *rule; } layout_rows[] = {
#define LAYOUT(key, rule) {key, rule},
#include "passes/layout/layout_rules.def"
#undef LAYOUT
};

static layout_rule *layout_rule_of(const node *n) {
    op_symbol key = n->kind == N_OP && n->op   ? n->op->symbol
                    : n->kind == N_LIST_UNPACK ? SYM_PRIM_LISTUNPACK
                                               : SYM_NONE;
    for (size_t i = 0; key != SYM_NONE && i < sizeof layout_rows / sizeof *layout_rows; i++)
        if (layout_rows[i].key == key) return layout_rows[i].rule;
    return n->kind == N_OP && n->op ? layout_pointwise : NULL;
}

static void layout_forget(layout *l, node *n) {
    for (size_t i = 0; i < n->outputs.len; i++) {
        layout_twin *t = ptrmap_get(&l->twins, n->outputs.data[i]);
        if (t) t->last = NULL;
    }
}

static void layout_node(layout *l, node *n) {
    layout_rule *rule = layout_rule_of(n);
    l->at = n;
    if (!rule || !n->outputs.len || !layout_keeps(l, n) || layout_shares_outside(n)) return;
    l->plain = NULL;
    l->used.len = 0;
    l->region = layout_region_new(l);
    if (!rule(l, n)) {
        layout_forget(l, n);
        return;
    }
    for (size_t i = 0; i < l->used.len && !l->failed; i++)
        layout_region_join(l, l->region, l->used.data[i]);
    if (!vec_push(&l->changes, ((layout_change){n, l->region, l->plain}))) l->failed = true;
    n->mark = LAYOUT_CHANGED;
}

static void layout_clear(block *b) {
    for (node *n = b->first; n; n = n->next) {
        n->mark = 0;
        for (size_t i = 0; i < n->blocks.len; i++) layout_clear(n->blocks.data[i]);
    }
}

static void layout_block(layout *l, block *b) {
    for (node *n = b->first, *next; n && !l->failed && !arena_failed(&l->g->arena); n = next) {
        next = n->next;
        for (size_t i = 0; i < n->blocks.len; i++) layout_block(l, n->blocks.data[i]);
        layout_node(l, n);
    }
}

/* ---- what it costs --------------------------------------------------------------------------- */

/* Is n, whose results are read only by nodes with counterparts, a part of what goes? Lists, and
 * views that a rule has looked through. */
static bool layout_goes(const node *n) {
    if (n->mark == LAYOUT_CHANGED) return true;
    if (n->kind != N_LIST_CONSTRUCT &&
        !(n->kind == N_OP && n->op && op_fusible(n->op) == FUSIBLE_VIEW))
        return false;
    for (size_t i = 0; i < n->outputs.len; i++)
        for (size_t k = 0; k < n->outputs.data[i]->uses.len; k++) {
            const node *user = n->outputs.data[i]->uses.data[k].user;
            if (!user || user->mark == LAYOUT_MADE || !layout_goes(user)) return false;
        }
    return true;
}

static bool layout_read_outside(const ir_value *v) {
    for (size_t i = 0; i < v->uses.len; i++)
        if (!v->uses.data[i].user || !layout_goes(v->uses.data[i].user)) return true;
    return false;
}

/* Conversions to channels first that a change will need. */
static void layout_count(layout *l, const layout_change *c) {
    for (size_t i = 0; i < c->n->outputs.len && !c->plain; i++) {
        const layout_twin *t = ptrmap_get(&l->twins, c->n->outputs.data[i]);
        if (t && t->last && layout_read_outside(c->n->outputs.data[i]))
            l->regions.data[layout_region_top(l, c->region)].cost += (double)t->channels *
                                                                     LAYOUT_PRICE;
    }
}

/* ---- what becomes of it ---------------------------------------------------------------------- */

static bool layout_unused(const node *n) {
    for (size_t i = 0; i < n->outputs.len; i++)
        if (n->outputs.data[i]->uses.len) return false;
    return true;
}

/* New nodes of regions that stay as they were; all: others that nothing uses as well. */
static void layout_sweep(layout *l, bool all) {
    for (size_t i = l->made.len; i-- > 0;) {
        layout_made *m = &l->made.data[i];
        bool wanted = layout_pays(l, m->region);
        if (m->n && layout_unused(m->n) &&
            (!wanted || (all && !(m->n->op && m->n->op->schema->has_alias_write)))) {
            node_remove(m->n);
            m->n = NULL;
        }
    }
}

/* Removes n, and what stood in front of it for its sake alone. */
static void layout_remove(node *n) {
    VEC(node *) defs = {0};
    for (size_t i = 0; i < n->inputs.len; i++) /* else it is left to dce */
        if (n->inputs.data[i]->def && !n->inputs.data[i]->def->mark)
            (void)vec_push(&defs, n->inputs.data[i]->def);
    node_remove(n);
    for (size_t i = 0; i < defs.len; i++)
        if (defs.data[i]->owner && layout_unused(defs.data[i]) && layout_goes(defs.data[i]))
            layout_remove(defs.data[i]);
    vec_free(&defs);
}

static void layout_name(ir_value *v, ir_value *with) {
    if (!value_has_name(v) || value_has_name(with)) return;
    const char *name = v->name;
    value_set_name(v, "");
    value_set_name(with, name);
}

static void layout_replace(ir_value *v, ir_value *with) {
    with->type = v->type;
    layout_name(v, with);
    value_replace_uses(v, with);
}

static void layout_turn_back(layout *l, ir_value *v, const layout_twin *t) {
    ir_value *lies_last = t->order == ORDER_ASKED ? t->lies_last
                                                  : rewrite_bool(v->def, t->order == ORDER_LAST);
    node *n = node_new_op(l->g, op_of(SYM_CTSC_TO_CHANNELS_FIRST), 3,
                          (ir_value *[]){t->last, rewrite_int(v->def, t->spatial), lies_last});
    n->range = v->def->range;
    n->call = v->def->call;
    n->scope = v->def->scope;
    node_insert_before(n, v->def);
    layout_replace(v, n->outputs.data[0]);
}

static void layout_commit(layout *l, const layout_change *c) {
    for (size_t i = 0; i < c->n->outputs.len; i++) {
        ir_value *v = c->n->outputs.data[i];
        const layout_twin *t = ptrmap_get(&l->twins, v);
        if (c->plain) layout_replace(v, c->plain);
        else if (v->uses.len) layout_turn_back(l, v, t);
        else if (t && t->last) layout_name(v, t->last);
    }
    layout_remove(c->n);
}

static bool layout_finish(layout *l) {
    bool changed = false;
    for (size_t i = 0; i < l->changes.len; i++) layout_count(l, &l->changes.data[i]);
    layout_sweep(l, false);
    for (size_t i = l->changes.len; i-- > 0;)
        if (layout_pays(l, l->changes.data[i].region)) {
            layout_commit(l, &l->changes.data[i]);
            changed = true;
        }
    layout_sweep(l, true);
    return changed;
}

/* No convolution, no gain. */
static bool layout_has_convolution(const block *b) {
    for (const node *n = b->first; n; n = n->next) {
        if (n->kind == N_OP && n->op && n->op->traits.work == WORK_CONV) return true;
        for (size_t i = 0; i < n->blocks.len; i++)
            if (layout_has_convolution(n->blocks.data[i])) return true;
    }
    return false;
}

bool pass_layout(pass_ctx *cx, graph *g) {
    bool changed = false;
    if (!layout_has_convolution(g->root)) return false;
    layout l = {.g = g, .db = alias_new(g)};
    if (!l.db || !arena_init(&l.scratch)) diag_no_memory(cx->diag);
    else {
        layout_clear(g->root);
        layout_block(&l, g->root);
        if (l.failed || arena_failed(&l.scratch)) diag_no_memory(cx->diag);
        else changed = layout_finish(&l);
    }
    arena_free(&l.scratch);
    if (l.db) alias_free(l.db);
    ptrmap_free(&l.twins);
    vec_free(&l.regions);
    vec_free(&l.made);
    vec_free(&l.changes);
    vec_free(&l.used);
    return changed;
}
