/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group_columns.c - schedule: reductions over outer dims, for a tile of neighbouring
 * results at once.
 *
 *     sum of (n, m) over dim 0       ->         parallel for each tile of 128 columns {
 *                                                   vector for j:  acc[j] = 0
 *                                                   for c:  vector for j:  acc[j] = acc[j] + x[c * m + first + j]
 *                                                   vector for j:  out[first + j] = acc[j] }
 *
 * Memory is read in memory order. What each result of the tile needs (accumulators, and expensive
 * values derived from reductions, such as 1 / sqrt(var)) is kept in local arrays. Stages are as
 * in group_rows.c. Sums of many floats are cut into blocks that are added in double.
 * Tests: tests/unit/test_group.c
 */
#include "codegen/lower/group_internal.h"
#include "codegen/lower/plan/group_tuning.h"

enum { COLUMNS_MAX_KEPT = 8 };

typedef struct columns_sum {
    group_reduction *r;
    nest_buffer *acc, *total;
} columns_sum;
typedef struct columns_kept {
    group_kept *k;
    nest_buffer *value;
} columns_kept;

typedef struct columns_state {
    group_stages f;
    columns_sum sums[GROUP_MAX_REDUCTIONS];
    columns_kept kept[COLUMNS_MAX_KEPT];
    int nkept;
    bool blocks;
    nest_expr *first, *width, *column; /* of the tile; column: in it */
} columns_state;

/* ---- one column ------------------------------------------------------------------------------ */

static nest_expr *columns_result(columns_state *c, const columns_sum *m) {
    nest *n = c->f.s->l.n;
    if (!m->total) return nest_load(n, m->acc, c->column);
    nest_type type = NEST_F32;
    nest_type_of(m->r->src->dt, &type);
    return nest_cast(n, type, nest_load(n, m->total, c->column));
}

/* A loop over the columns of the tile; what stages before `stage` have left is there by then. */
static void columns_open(columns_state *c, int stage) {
    group_stages *f = &c->f;
    group_state *s = f->s;
    c->column = nest_for(s->l.n, "j", lazy_zero(&s->l), c->width, NEST_VECTOR);
    f->index[f->kept[f->nkept - 1].last] = nest_add(s->l.n, c->first, c->column);
    for (int i = 0; i < f->nreductions; i++)
        if (c->sums[i].r->t->depth < stage)
            group_stages_bind(f, c->sums[i].r,
                              nest_let(s->l.n, "r", columns_result(c, &c->sums[i])), f->index);
    for (int i = 0; i < c->nkept; i++) {
        nest_expr *at[LAZY_MAX_DIMS];
        group_kept *k = c->kept[i].k;
        if (!c->kept[i].value || k->t->depth >= stage) continue;
        group_stages_index(f, k->t, f->index, at);
        group_bind_kept(s, k, nest_let(s->l.n, "k", nest_load(s->l.n, c->kept[i].value, c->column)),
                        at);
    }
}
static void columns_close(columns_state *c) {
    group_stages *f = &c->f;
    nest_end(f->s->l.n);
    for (int i = 0; i < f->nreductions; i++) group_stages_bind(f, c->sums[i].r, NULL, NULL);
    for (int i = 0; i < c->nkept; i++) group_bind_kept(f->s, c->kept[i].k, NULL, NULL);
    group_stages_forget(f);
}

static void columns_clear(columns_state *c, int stage) {
    nest *n = c->f.s->l.n;
    columns_open(c, 0);
    for (int i = 0; i < c->f.nreductions; i++) {
        const columns_sum *m = &c->sums[i];
        if (m->r->t->depth != stage) continue;
        nest_store(n, m->acc, c->column, group_identity(c->f.s, m->r));
        if (m->total) nest_store(n, m->total, c->column, nest_const_float(n, NEST_F64, 0));
    }
    columns_close(c);
}

/* ---- stages ---------------------------------------------------------------------------------- */

/* The loops over what is reduced, but the innermost. */
static void columns_open_outer(columns_state *c, int loops) {
    group_stages *f = &c->f;
    for (int k = 0; k < loops; k++)
        f->index[f->reduced[k].last] = nest_for(f->s->l.n, "c", lazy_zero(&f->s->l),
                                                f->reduced[k].extent, 0);
}

/* `times` elements of each column, from index c of the innermost reduced dim on. */
static void columns_accumulate(columns_state *c, int stage, nest_expr *at, int times) {
    group_stages *f = &c->f;
    group_state *s = f->s;
    nest *n = s->l.n;
    nest_expr *acc[GROUP_MAX_REDUCTIONS];
    columns_open(c, stage);
    for (int i = 0; i < f->nreductions; i++)
        if (c->sums[i].r->t->depth == stage)
            acc[i] = nest_variable(n, "acc", nest_load(n, c->sums[i].acc, c->column));
    for (int k = 0; k < times; k++) {
        if (at)
            f->index[f->reduced[f->nreduced - 1].last] =
                k ? nest_let(n, "c", nest_add(n, at, nest_int(n, k))) : at;
        group_stages_use(f, stage);
        for (int i = 0; i < f->nreductions; i++)
            if (c->sums[i].r->t->depth == stage)
                nest_accumulate(n, acc[i], c->sums[i].r->acc,
                                lazy_at(&s->l, c->sums[i].r->src, f->index));
    }
    for (int i = 0; i < f->nreductions; i++)
        if (c->sums[i].r->t->depth == stage) nest_store(n, c->sums[i].acc, c->column, acc[i]);
    columns_close(c);
}

/* Elements [begin, end) of the innermost reduced dim, four at a time where they are cheap: the
 * accumulators are loaded and materialised less. */
static void columns_reduce(columns_state *c, int stage, nest_expr *begin, nest_expr *end) {
    group_stages *f = &c->f;
    nest *n = f->s->l.n;
    int cost = f->nmaterialised ? COLUMNS_CHEAP : 0;
    for (int i = 0; i < f->nreductions; i++)
        if (c->sums[i].r->t->depth == stage) cost += c->sums[i].r->src->cost;
    if (cost < COLUMNS_CHEAP) {
        nest_expr *times = nest_int(n, COLUMNS_TIMES),
                  *count = nest_div_index(n, nest_sub(n, end, begin), times);
        nest_expr *whole = nest_let(n, "whole", nest_add(n, begin, nest_mul(n, count, times)));
        nest_expr *at = nest_for_step(n, "c", begin, whole, COLUMNS_TIMES, 0);
        columns_accumulate(c, stage, at, COLUMNS_TIMES);
        nest_end(n);
        begin = whole;
    }
    nest_expr *at = nest_for(n, "c", begin, end, 0);
    columns_accumulate(c, stage, at, 1);
    nest_end(n);
}

static void columns_add_totals(columns_state *c, int stage) {
    nest *n = c->f.s->l.n;
    columns_open(c, 0);
    for (int i = 0; i < c->f.nreductions; i++) {
        const columns_sum *m = &c->sums[i];
        if (m->r->t->depth != stage || !m->total) continue;
        nest_expr *acc = nest_cast(n, NEST_F64, nest_load(n, m->acc, c->column));
        nest_store(n, m->total, c->column, nest_add(n, nest_load(n, m->total, c->column), acc));
        nest_store(n, m->acc, c->column, group_identity(c->f.s, m->r));
    }
    columns_close(c);
}

/* Values of one element per result that are dear and come of this stage: made once, for the loops
 * over full values. */
static void columns_keep(columns_state *c, int stage) {
    group_stages *f = &c->f;
    group_state *s = f->s;
    bool any = false;
    for (int i = 0; i < c->nkept; i++) any |= c->kept[i].k->t->depth == stage;
    if (!any) return;
    columns_open(c, stage + 1);
    for (int i = 0; i < c->nkept; i++) {
        nest_expr *at[LAZY_MAX_DIMS];
        columns_kept *k = &c->kept[i];
        if (k->k->t->depth != stage) continue;
        group_stages_index(f, k->k->t, f->index, at);
        nest_buffer *value = nest_add_local(s->l.n, "kept", k->k->t->dt, COLUMNS_TILE);
        nest_store(s->l.n, value, c->column, lazy_at(&s->l, k->k->t, at));
        k->value = value;
    }
    columns_close(c);
}

static void columns_stage(columns_state *c, int stage) {
    group_stages *f = &c->f;
    nest *n = f->s->l.n;
    int inner = f->nreduced - 1;
    columns_clear(c, stage);
    columns_open_outer(c, inner);
    if (inner < 0) {
        columns_accumulate(c, stage, NULL, 1);
    } else if (!c->blocks) {
        columns_reduce(c, stage, lazy_zero(&f->s->l), f->reduced[inner].extent);
    } else {
        nest_expr *end = f->reduced[inner].extent,
                  *b = nest_for_step(n, "b", lazy_zero(&f->s->l), end, COLUMNS_BLOCK, 0);
        nest_expr *stop = nest_let(
            n, "stop", nest_binary(n, NEST_MIN, end, nest_add(n, b, nest_int(n, COLUMNS_BLOCK))));
        columns_reduce(c, stage, b, stop);
        columns_add_totals(c, stage);
        nest_end(n);
    }
    for (int k = 0; k < inner; k++) nest_end(n);
    columns_keep(c, stage);
}

static void columns_last_stage(columns_state *c) {
    group_stages *f = &c->f;
    group_state *s = f->s;
    nest *n = s->l.n;
    nest_expr *values[GROUP_MAX_OUTPUTS], *at[LAZY_MAX_DIMS];
    for (int full = 0; full < 2; full++) {
        bool any = false;
        const bool *wanted = full ? f->full : f->result;
        for (int i = 0; i < s->noutputs; i++) any |= wanted[i];
        if (!any) continue;
        if (full) columns_open_outer(c, f->nreduced);
        columns_open(c, f->last);
        if (full) group_stages_use(f, f->last);
        for (int i = 0; i < s->noutputs; i++) {
            if (!wanted[i]) continue;
            group_stages_index(f, s->outputs[i], f->index, at);
            values[i] = nest_let(n, "v", lazy_at(&s->l, s->outputs[i], full ? f->index : at));
        }
        for (int i = 0; i < s->noutputs; i++) {
            if (!wanted[i]) continue;
            nest_store(n, group_output_buffer(s, i),
                       full ? group_output_address(s, i, f->index)
                            : group_stages_address(f, f->index),
                       values[i]);
        }
        columns_close(c);
        for (int k = 0; full && k < f->nreduced; k++) nest_end(n);
    }
}

/* ---- the nest -------------------------------------------------------------------------------- */

static bool columns_is_result(const group_stages *f, const lazy_tensor *t) {
    int next = 0;
    if (t->depth == 0) return false;
    for (int d = 0; d < f->ndim; d++) {
        if (f->mask[d] && t->ndim != f->ndim) continue;
        if (next == t->ndim) return false;
        if (f->mask[d] ? !group_is_one(t->sizes[next]) : !group_same(t->sizes[next], f->sizes[d]))
            return false;
        next++;
    }
    return next == t->ndim;
}

static void columns_choose_kept(columns_state *c) {
    group_stages *f = &c->f;
    for (size_t i = 0; i < f->s->kept.len && c->nkept < COLUMNS_MAX_KEPT; i++) {
        group_kept *k = f->s->kept.data[i];
        int cost = k->t->cost;
        if (k->t->depth >= f->last || !columns_is_result(f, k->t) || group_reduction_of(k->src))
            continue;
        if (cost >= COLUMNS_KEEP_COST && group_stages_needs_ever(f, k))
            c->kept[c->nkept++] = (columns_kept){k, NULL};
    }
}

static void columns_make_sums(columns_state *c) {
    group_stages *f = &c->f;
    nest *n = f->s->l.n;
    c->blocks = f->nreduced &&
                group_value_of(f->s, f->reduced[f->nreduced - 1].extent, 0) > COLUMNS_BLOCK;
    for (int i = 0; i < f->nreductions; i++) {
        group_reduction *r = f->reductions[i];
        c->sums[i] = (columns_sum){r, nest_add_local(n, "acc", r->src->dt, COLUMNS_TILE), NULL};
        if (c->blocks && r->acc == NEST_ACC_SUM && dtype_is_float(r->src->dt))
            c->sums[i].total = nest_add_local(n, "total", DT_FLOAT64, COLUMNS_TILE);
    }
}

static void columns_nest(columns_state *c) {
    group_stages *f = &c->f;
    group_state *s = f->s;
    nest *n = s->l.n;
    int inner = f->nkept - 1;
    nest_expr *tile = nest_int(n, COLUMNS_TILE), *length = f->kept[inner].extent;
    nest_expr *tiles = lazy_size(&s->l, NEST_DIV_INDEX,
                                 lazy_size(&s->l, NEST_ADD, length, nest_int(n, COLUMNS_TILE - 1)),
                                 tile);
    nest_expr *extent = tiles;
    for (int k = 0; k < inner; k++) extent = group_mul(s, extent, f->kept[k].extent);
    nest_expr *t = nest_for(n, "t", lazy_zero(&s->l), extent, NEST_PARALLEL);
    group_stages_beside(f, t, extent);
    c->first = nest_let(n, "first", nest_mul(n, nest_mod_index(n, t, tiles), tile));
    c->width = nest_let(n, "width", nest_binary(n, NEST_MIN, tile, nest_sub(n, length, c->first)));
    t = nest_let(n, "t", nest_div_index(n, t, tiles));
    for (int k = inner - 1; k >= 0; k--) {
        f->index[f->kept[k].last] = k ? nest_let(n, "i", nest_mod_index(n, t, f->kept[k].extent))
                                      : t;
        if (k) t = nest_let(n, "t", nest_div_index(n, t, f->kept[k].extent));
    }
    for (int p = 1; p < f->last; p++) columns_stage(c, p);
    columns_last_stage(c);
    nest_end(n);
    group_set_range(s, extent, group_mul(s, group_stages_width(f), tile), group_stages_cost(f));
}

bool group_schedule_columns(group_state *s) {
    columns_state c = {.nkept = 0};
    if (!group_stages_find(s, &c.f) || !group_stages_loops(&c.f) || c.f.nkept == 0) return false;
    if (group_stages_seeks_plainly(&c.f)) return false;
    int64_t all = group_value_of(s, group_numel(s, c.f.ndim, c.f.sizes), 0),
            width = group_value_of(s, group_stages_width(&c.f), 1);
    if (width > COLUMNS_ALONE / COLUMNS_TILE && all < COLUMNS_FEW * COLUMNS_TILE * width)
        return false;
    group_stages_store(&c.f, false);
    columns_make_sums(&c);
    columns_choose_kept(&c);
    s->p->schedule = c.blocks ? GROUP_LONG_COLUMNS : GROUP_COLUMNS;
    columns_nest(&c);
    return !s->l.failed;
}
