/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group_rows.c - schedule: reductions over the innermost dims, a row at a time.
 *
 *     softmax over (n, m)            ->         parallel for (r = 0; r < n; r += 1) {
 *                                                   vector for c:  high max= x[r, c]                        phase 1
 *                                                   vector for c:  e = exp(x[r, c] - high);                 phase 2
 *                                                                  out[r, c] = e;  sum sum= e
 *                                                   vector for c:  out[r, c] = out[r, c] * (1 / sum) }      last phase
 *
 * Phases. A reduction whose operand needs another reduction of the row first runs in a phase after it: a loop over the row per depth, and a last one for
 * outputs of full size. Rows are short enough to stay in the cache between phases.
 *
 * Kept values. A value of full size that is dear and that several phases use is stored when it is first made, in the row of an
 * output of its dtype, which is overwritten last, or in a local row; everything else is computed again from the operands.
 *
 * Long rows are summed in blocks, and the blocks in double.
 * Rejected: one loop over blocks of all rows at once, which needs arrays of accumulators and gains nothing for rows of some hundred elements.
 * Tests: tests/unit/test_group.c
 */
#include "codegen/group_internal.h"

#include <string.h>

enum {
    ROWS_MAX_STORED = 4,
    ROWS_STORE_COST = 8,       /* what is cheaper is computed again */
    ROWS_LOCAL = 8192,         /* elements of a row that is kept in a local buffer */
    ROWS_BLOCK = 4096,         /* elements that are summed in float */
    ROWS_ALONE = 64 * 1024,    /* a single row longer than this is better shared by threads, which one nest cannot */
};

typedef struct rows_stored {
    group_kept *kept;
    nest_buffer *buffer;
    bool local;
} rows_stored;

typedef struct rows_state {
    group_state *s;
    int ndim, kept;                      /* dims of a full value; the first `kept` of them stay */
    nest_expr *sizes[LAZY_MAX_DIMS];
    group_reduction *reductions[GROUP_MAX_REDUCTIONS];
    int nreductions, phases;             /* the last phase is number `phases`, the first 1 */
    bool full[GROUP_MAX_OUTPUTS];        /* the output is of full size */
    group_loop rows[LAZY_MAX_DIMS], columns[LAZY_MAX_DIMS];
    int nrows, ncolumns;
    nest_expr *index[LAZY_MAX_DIMS];     /* of the row; of the element while in a loop over it */
    rows_stored stored[ROWS_MAX_STORED];
    int nstored;
    bool used[GROUP_MAX_OUTPUTS];        /* the output's row holds a kept value */
} rows_state;

/* ---- shape ------------------------------------------------------------------------------ */

static bool rows_reaches(const lazy_tensor *from, const lazy_tensor *t, ptrmap *seen) {
    if (from == t) return true;
    if (ptrmap_get(seen, from)) return false;
    if (!ptrmap_put(seen, from, (void *)from)) return true;
    for (int i = 0; i < from->ninputs; i++)
        if (rows_reaches(from->inputs[i], t, seen)) return true;
    return false;
}
static bool rows_is_used(const group_state *s, const lazy_tensor *t) {
    ptrmap seen = {0};
    bool used = false;
    for (int i = 0; i < s->noutputs && !used; i++) used = rows_reaches(s->outputs[i], t, &seen);
    ptrmap_free(&seen);
    return used;
}

static bool rows_same(int n, nest_expr *const *x, nest_expr *const *y) {
    for (int d = 0; d < n; d++)
        if (!group_same(x[d], y[d])) return false;
    return true;
}
static bool rows_is_one(const nest_expr *e) {
    return e->op == NEST_CONST && e->u.i == 1;
}

/* All reductions are of one shape, and over the same innermost dims. */
static bool rows_find_reductions(rows_state *r) {
    group_state *s = r->s;
    for (int i = 0; i < s->nreductions; i++) {
        group_reduction *red = s->reductions[i];
        if (!rows_is_used(s, red->t)) continue;
        int n = red->src->ndim, kept = 0;
        while (kept < n && !red->mask[kept]) kept++;
        for (int d = kept; d < n; d++)
            if (!red->mask[d] && !rows_is_one(red->src->sizes[d])) return false;
        if (!r->nreductions) {
            r->ndim = n;
            r->kept = kept;
            memcpy(r->sizes, red->src->sizes, sizeof r->sizes);
        }
        if (n != r->ndim || kept != r->kept || !rows_same(n, red->src->sizes, r->sizes)) return false;
        r->reductions[r->nreductions++] = red;
        if (red->t->depth > r->phases) r->phases = red->t->depth;
    }
    r->phases++;
    return r->nreductions > 0;
}

/* Outputs are full, or one element a row. */
static bool rows_check_outputs(rows_state *r) {
    for (int i = 0; i < r->s->noutputs; i++) {
        const lazy_tensor *t = r->s->outputs[i];
        r->full[i] = t->ndim == r->ndim && rows_same(t->ndim, t->sizes, r->sizes);
        if (r->full[i]) continue;
        if ((t->ndim != r->kept && t->ndim != r->ndim) || !rows_same(r->kept, t->sizes, r->sizes)) return false;
        for (int d = r->kept; d < t->ndim; d++)
            if (!rows_is_one(t->sizes[d])) return false;
    }
    return true;
}

/* The index of one element a row: of t, which has the reduced dims with size 1, or not at all. */
static void rows_index(const rows_state *r, const lazy_tensor *t, nest_expr *const *index, nest_expr **out) {
    for (int d = 0; d < t->ndim; d++) out[d] = d < r->kept ? index[d] : lazy_zero(&r->s->l);
}

static void rows_bind(rows_state *r, group_reduction *red, nest_expr *value, nest_expr *const *index) {
    nest_expr *at[LAZY_MAX_DIMS];
    rows_index(r, red->t, index, at);
    group_bind_reduction(r->s, red, value, at);
}

/* Which loops it takes. */
static bool rows_find_loops(rows_state *r) {
    group_state *s = r->s;
    group_walk w;
    nest_expr *at[LAZY_MAX_DIMS];
    group_walk_begin(s, &w, r->ndim, r->sizes);
    for (int i = 0; i < r->nreductions; i++)
        rows_bind(r, r->reductions[i], nest_let(s->l.n, "r", group_identity(s, r->reductions[i])), w.vars);
    for (int i = 0; i < r->nreductions; i++) group_walk_note(s, &w, lazy_at(&s->l, r->reductions[i]->src, w.vars));
    for (int i = 0; i < s->noutputs; i++) {
        rows_index(r, s->outputs[i], w.vars, at);
        group_walk_note(s, &w, lazy_at(&s->l, s->outputs[i], r->full[i] ? w.vars : at));
    }
    for (int i = 0; i < r->nreductions; i++) group_bind_reduction(s, r->reductions[i], NULL, NULL);
    group_walk_end(s, &w);
    r->nrows = group_loops(s, &w, 0, r->kept, r->rows);
    r->ncolumns = group_loops(s, &w, r->kept, r->ndim, r->columns);
    return !w.too_many && !s->l.failed;
}

/* ---- kept values ------------------------------------------------------------------------ */

static bool rows_is_stored(const rows_state *r, const group_kept *k) {
    for (int i = 0; i < r->nstored; i++)
        if (r->stored[i].kept == k) return true;
    return false;
}

/* What t costs now that some values are read back. Depth is bounded by the graph's. */
static int rows_cost(const rows_state *r, const lazy_tensor *t) {
    const group_kept *k = group_kept_of(t);
    if (k && rows_is_stored(r, k)) return 1;
    if (group_reduction_of(t)) return 0;
    int cost = t->cost;
    for (int i = 0; i < t->ninputs; i++) cost -= t->inputs[i]->cost;
    for (int i = 0; i < t->ninputs && cost < 1024; i++) cost += rows_cost(r, t->inputs[i]);
    return cost;
}

/* Is k computed on the way to t, other than through what is read back or another phase has left? */
static bool rows_needs(const rows_state *r, const lazy_tensor *t, const group_kept *k, ptrmap *seen) {
    const group_kept *own = group_kept_of(t);
    if (own == k) return true;
    if ((own && rows_is_stored(r, own)) || group_reduction_of(t) || ptrmap_get(seen, t)) return false;
    if (!ptrmap_put(seen, t, (void *)t)) return false;
    for (int i = 0; i < t->ninputs; i++)
        if (rows_needs(r, t->inputs[i], k, seen)) return true;
    return false;
}
static bool rows_phase_needs(const rows_state *r, int phase, const group_kept *k) {
    ptrmap seen = {0};
    bool needs = false;
    for (int i = 0; i < r->nreductions && !needs; i++)
        if (r->reductions[i]->t->depth == phase) needs = rows_needs(r, r->reductions[i]->src, k, &seen);
    for (int i = 0; phase == r->phases && i < r->s->noutputs && !needs; i++)
        if (r->full[i]) needs = rows_needs(r, r->s->outputs[i], k, &seen);
    for (int i = 0; i < r->nstored && !needs; i++) /* its own making */
        if (r->stored[i].kept->t->depth + 1 == phase && r->stored[i].kept != k)
            needs = rows_needs(r, r->stored[i].kept->src, k, &seen);
    ptrmap_free(&seen);
    return needs;
}

static nest_expr *rows_width(const rows_state *r) {
    return group_numel(r->s, r->ndim - r->kept, r->sizes + r->kept);
}

/* A place for a value of dtype dt. */
static bool rows_find_place(rows_state *r, dtype dt, rows_stored *out) {
    group_state *s = r->s;
    for (int i = 0; i < s->noutputs; i++) {
        if (!r->full[i] || r->used[i] || s->outputs[i]->dt != dt) continue;
        r->used[i] = true;
        out->buffer = group_output_buffer(s, i);
        out->local = false;
        return true;
    }
    nest_expr *room = lazy_size(&s->l, NEST_SUB, nest_int(s->l.n, ROWS_LOCAL + 1), rows_width(r));
    if (!lazy_is_positive(&s->l, room)) return false;
    out->buffer = nest_add_local(s->l.n, "row", dt, ROWS_LOCAL);
    out->local = true;
    return true;
}

static void rows_choose_stored(rows_state *r) {
    group_state *s = r->s;
    for (int depth = 0; depth + 1 < r->phases; depth++)
        for (size_t i = s->kept.len; i-- > 0 && r->nstored < ROWS_MAX_STORED;) {
            group_kept *k = s->kept.data[i];
            int phases = 0;
            if (k->t->depth != depth || k->t->ndim != r->ndim || !rows_same(r->ndim, k->t->sizes, r->sizes)) continue;
            if (rows_cost(r, k->t) < ROWS_STORE_COST) continue;
            for (int p = depth + 1; p <= r->phases; p++) phases += rows_phase_needs(r, p, k);
            rows_stored place = {.kept = k};
            if (phases > 1 && rows_find_place(r, k->t->dt, &place)) r->stored[r->nstored++] = place;
        }
}

static nest_expr *rows_place(const rows_state *r, const rows_stored *k) {
    if (k->local) return group_address(r->s, r->ndim - r->kept, r->sizes + r->kept, r->index + r->kept);
    return group_address(r->s, r->ndim, r->sizes, r->index);
}

/* At the start of an element in `phase`: what earlier phases have stored is read, what is new is made and stored. */
static void rows_use_stored(rows_state *r, int phase) {
    nest *n = r->s->l.n;
    for (int i = 0; i < r->nstored; i++) {
        rows_stored *k = &r->stored[i];
        int made = k->kept->t->depth + 1;
        if (made > phase || (made < phase && !rows_phase_needs(r, phase, k->kept))) continue;
        nest_expr *at = rows_place(r, k), *v;
        if (made < phase) {
            v = nest_let(n, "k", nest_load(n, k->buffer, at));
        } else {
            v = nest_let(n, "k", lazy_at(&r->s->l, k->kept->t, r->index));
            nest_store(n, k->buffer, at, v);
        }
        group_bind_kept(r->s, k->kept, v, r->index);
    }
}
static void rows_forget_stored(rows_state *r) {
    for (int i = 0; i < r->nstored; i++) group_bind_kept(r->s, r->stored[i].kept, NULL, NULL);
}

/* ---- code ------------------------------------------------------------------------------- */

/* The loops over a row; the innermost is the vector one. block: it is cut into blocks, `start` of which is given. */
static void rows_open_columns(rows_state *r, nest_expr *start, int64_t block) {
    nest *n = r->s->l.n;
    nest_expr *zero = lazy_zero(&r->s->l);
    for (int d = r->kept; d < r->ndim; d++) r->index[d] = zero;
    for (int k = 0; k < r->ncolumns; k++) {
        bool inner = k == r->ncolumns - 1;
        nest_expr *end = r->columns[k].extent;
        if (inner && start) end = nest_binary(n, NEST_MIN, end, nest_add(n, start, nest_int(n, block)));
        r->index[r->columns[k].last] = nest_for(n, "c", inner && start ? start : zero, end, inner ? NEST_VECTOR : 0);
    }
}
static void rows_close_columns(rows_state *r) {
    for (int k = 0; k < r->ncolumns; k++) nest_end(r->s->l.n);
    rows_forget_stored(r);
}

typedef struct rows_sum { group_reduction *r; nest_expr *value, *total; } rows_sum;

static void rows_accumulate(rows_state *r, int phase, rows_sum *sums, int nsums) {
    rows_use_stored(r, phase);
    for (int i = 0; i < nsums; i++)
        nest_accumulate(r->s->l.n, sums[i].value, sums[i].r->acc, lazy_at(&r->s->l, sums[i].r->src, r->index));
}

/* Sums of floats over one long loop: each block from its own zero, the blocks in double. */
static void rows_sum_blocks(rows_state *r, int phase, rows_sum *sums, int nsums) {
    nest *n = r->s->l.n;
    for (int i = 0; i < nsums; i++) {
        if (sums[i].r->acc == NEST_ACC_SUM && nest_is_float(sums[i].value->type))
            sums[i].total = nest_variable(n, "total", nest_const_float(n, NEST_F64, 0));
    }
    nest_expr *b = nest_for_step(n, "b", lazy_zero(&r->s->l), r->columns[0].extent, ROWS_BLOCK, 0);
    for (int i = 0; i < nsums; i++)
        if (sums[i].total) nest_set(n, sums[i].value, group_identity(r->s, sums[i].r));
    rows_open_columns(r, b, ROWS_BLOCK);
    rows_accumulate(r, phase, sums, nsums);
    rows_close_columns(r);
    for (int i = 0; i < nsums; i++)
        if (sums[i].total) nest_set(n, sums[i].total, nest_add(n, sums[i].total, nest_cast(n, NEST_F64, sums[i].value)));
    nest_end(n);
    for (int i = 0; i < nsums; i++)
        if (sums[i].total) sums[i].value = nest_cast(n, sums[i].value->type, sums[i].total);
}

static void rows_phase(rows_state *r, int phase) {
    nest *n = r->s->l.n;
    rows_sum sums[GROUP_MAX_REDUCTIONS];
    int nsums = 0;
    for (int i = 0; i < r->nreductions; i++) {
        group_reduction *red = r->reductions[i];
        if (red->t->depth != phase) continue;
        sums[nsums++] = (rows_sum){red, nest_variable(n, "acc", group_identity(r->s, red)), NULL};
    }
    if (r->ncolumns == 1 && group_value_of(r->s, r->columns[0].extent, 0) > ROWS_BLOCK) {
        rows_sum_blocks(r, phase, sums, nsums);
    } else {
        rows_open_columns(r, NULL, 0);
        rows_accumulate(r, phase, sums, nsums);
        rows_close_columns(r);
    }
    for (int i = 0; i < nsums; i++) rows_bind(r, sums[i].r, nest_let(n, "r", sums[i].value), r->index);
}

static void rows_last_phase(rows_state *r) {
    group_state *s = r->s;
    nest *n = s->l.n;
    nest_expr *values[GROUP_MAX_OUTPUTS], *at[LAZY_MAX_DIMS];
    bool any = false;
    for (int i = 0; i < s->noutputs; i++) any |= r->full[i];
    if (any) {
        rows_open_columns(r, NULL, 0);
        rows_use_stored(r, r->phases);
        for (int i = 0; i < s->noutputs; i++)
            if (r->full[i]) values[i] = nest_let(n, "v", lazy_at(&s->l, s->outputs[i], r->index));
        for (int i = 0; i < s->noutputs; i++)
            if (r->full[i]) nest_store(n, group_output_buffer(s, i), group_address(s, r->ndim, r->sizes, r->index), values[i]);
        rows_close_columns(r);
    }
    for (int i = 0; i < s->noutputs; i++) {
        if (r->full[i]) continue;
        rows_index(r, s->outputs[i], r->index, at);
        nest_store(n, group_output_buffer(s, i), group_address(s, r->kept, r->sizes, r->index), lazy_at(&s->l, s->outputs[i], at));
    }
}

static void rows_nest(rows_state *r) {
    group_state *s = r->s;
    nest *n = s->l.n;
    nest_expr *t = NULL, *extent = lazy_one(&s->l);
    int cost = 0;
    for (int d = 0; d < r->ndim; d++) r->index[d] = lazy_zero(&s->l);
    for (int k = 0; k < r->nrows; k++) extent = group_mul(s, extent, r->rows[k].extent);
    if (r->nrows) t = nest_for(n, "row", lazy_zero(&s->l), extent, NEST_PARALLEL);
    for (int k = r->nrows - 1; k > 0; k--) {
        r->index[r->rows[k].last] = nest_let(n, "i", nest_mod_index(n, t, r->rows[k].extent));
        t = nest_let(n, "t", nest_div_index(n, t, r->rows[k].extent));
    }
    if (r->nrows) r->index[r->rows[0].last] = t;
    for (int p = 1; p < r->phases; p++) rows_phase(r, p);
    rows_last_phase(r);
    if (!r->nrows) return;
    nest_end(n);
    for (int i = 0; i < r->nreductions; i++) cost += r->reductions[i]->src->cost + 1;
    for (int i = 0; i < s->noutputs; i++) cost += r->full[i] ? s->outputs[i]->cost + 1 : 0;
    group_set_range(s, extent, rows_width(r), cost > 4096 ? 4096 : cost);
}

bool group_schedule_rows(group_state *s) {
    rows_state r = {.s = s};
    if (!rows_find_reductions(&r) || !rows_check_outputs(&r)) return false;
    int64_t width = group_value_of(s, rows_width(&r), 0), rows = group_value_of(s, group_numel(s, r.kept, r.sizes), 1);
    if (rows < 2 && width > ROWS_ALONE) return false;
    if (!rows_find_loops(&r)) return false;
    rows_choose_stored(&r);
    rows_nest(&r);
    return true;
}
