/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group_rows.c - schedule: reductions over the innermost dims (and perhaps others), one
 * result at a time.
 *
 *     softmax over (n, m)            ->         parallel for (r = 0; r < n; r += 1) {
 *                                                   vector for c:  high max= x[r, c]                        stage 1
 *                                                   vector for c:  e = exp(x[r, c] - high);                 stage 2
 *                                                                  out[r, c] = e;  sum sum= e
 *                                                   vector for c:  out[r, c] = out[r, c] * (1 / sum) }      last stage
 *
 * Rows are short enough to stay in the cache between stages. Long ones are summed in blocks, and
 * the blocks in double.
 * Rejected: one loop over blocks of all rows at once, which needs arrays of accumulators and gains
 * nothing for rows of some hundred elements.
 *
 * On a GPU a cooperative group makes each row: some lanes of a warp, or a block; so no thread
 * sums so much that blocks are needed, and values are kept in shared memory. All reduced dims
 * are one loop there.
 * Tests: tests/unit/test_group.c, test_cuda_emit.c
 */
#include "codegen/lower/group_internal.h"
#include "codegen/lower/plan/group_tuning.h"

/* Of the stages that read inputs, the one that computes most: it fetches the next row, since the
 * first stage would do nothing but wait for it. That is where values are made that are worth
 * storing, or else the last. */
static bool rows_is_prefetch(const group_stages *f, int stage) {
    int most = f->nmaterialised ? f->materialised[0].kept->t->depth + 1 : f->last;
    return stage == most;
}

/* The loops over a row; the innermost is the vector one. start: where its block of ROWS_BLOCK
 * begins; NULL: all of it.
 * Gives how many loops were opened. */
static int rows_open(group_stages *f, int stage, nest_expr *start) {
    nest *n = f->s->l.n;
    if (f->s->target == GROUP_CUDA)
        return group_stages_open_flat(f, lazy_zero(&f->s->l), group_stages_width(f));
    nest_expr *zero = lazy_zero(&f->s->l);
    unsigned flags = NEST_VECTOR | (start || !rows_is_prefetch(f, stage) ? 0 : NEST_PREFETCH);
    for (int d = 0; d < f->ndim; d++)
        if (f->mask[d]) f->index[d] = zero;
    for (int k = 0; k < f->nreduced; k++) {
        bool inner = k == f->nreduced - 1;
        nest_expr *end = f->reduced[k].extent;
        if (inner && start)
            end = nest_binary(n, NEST_MIN, end, nest_add(n, start, nest_int(n, ROWS_BLOCK)));
        f->index[f->reduced[k].last] = nest_for(n, "c", inner && start ? start : zero, end,
                                                inner ? flags : 0);
    }
    return f->nreduced;
}
static void rows_close(group_stages *f, int loops) {
    for (int k = 0; k < loops; k++) nest_end(f->s->l.n);
    group_stages_forget(f);
}

/* total: of sums of floats, the blocks before this one in double; of an minmax whose place is arg,
 * the minmax so far. */
typedef struct rows_sum {
    group_reduction *r;
    /* where: the first block that has the minmax; NULL: it is not arg */
    nest_expr *value, *total, **where;
} rows_sum;

static void rows_accumulate(group_stages *f, int stage, nest_expr *start, rows_sum *sums,
                            int nsums) {
    int loops = rows_open(f, stage, start);
    group_stages_use(f, stage);
    for (int i = 0; i < nsums; i++)
        nest_accumulate(f->s->l.n, sums[i].value, sums[i].r->acc,
                        lazy_at(&f->s->l, sums[i].r->src, f->index));
    rows_close(f, loops);
}

static void rows_note_block(group_stages *f, rows_sum *sum, nest_expr *b) {
    nest *n = f->s->l.n;
    nest_if(n, group_is_better(f->s, sum->r, sum->value, sum->total));
    nest_set(n, sum->total, sum->value);
    nest_set(n, *sum->where, b);
    nest_end(n);
}

/* Sums of floats over one long loop: each block from zero, the blocks in double. */
static void rows_sum_blocks(group_stages *f, int stage, rows_sum *sums, int nsums) {
    nest *n = f->s->l.n;
    for (int i = 0; i < nsums; i++)
        if (sums[i].where)
            sums[i].total = nest_variable(n, "best", group_identity(f->s, sums[i].r));
        else if (sums[i].r->acc == NEST_ACC_SUM && nest_is_float(sums[i].value->type))
            sums[i].total = nest_variable(n, "total", nest_const_float(n, NEST_F64, 0));
    nest_expr *b = nest_for_step(n, "b", lazy_zero(&f->s->l), f->reduced[0].extent, ROWS_BLOCK, 0);
    for (int i = 0; i < nsums; i++)
        if (sums[i].total) nest_set(n, sums[i].value, group_identity(f->s, sums[i].r));
    rows_accumulate(f, stage, b, sums, nsums);
    for (int i = 0; i < nsums; i++)
        if (sums[i].where) rows_note_block(f, &sums[i], b);
        else if (sums[i].total)
            nest_set(n, sums[i].total,
                     nest_add(n, sums[i].total, nest_cast(n, NEST_F64, sums[i].value)));
    nest_end(n);
    for (int i = 0; i < nsums; i++)
        if (sums[i].total) sums[i].value = nest_cast(n, sums[i].value->type, sums[i].total);
}

static bool rows_in_blocks(const group_stages *f) {
    return f->s->target == GROUP_HOST && f->nreduced == 1 &&
           group_value_of(f->s, f->reduced[0].extent, 0) > ROWS_BLOCK;
}

/* *where: the block that the stage before this one has found, if only that matters; for
 * the stage after it. */
static void rows_stage(group_stages *f, int stage, nest_expr **where) {
    nest *n = f->s->l.n;
    rows_sum sums[GROUP_MAX_REDUCTIONS];
    int nsums = 0;
    for (int i = 0; i < f->nreductions; i++) {
        group_reduction *r = f->reductions[i];
        if (r->t->depth == stage)
            sums[nsums++] = (rows_sum){.r = r,
                                       .value = nest_variable(n, "acc", group_identity(f->s, r))};
    }
    bool blocks = rows_in_blocks(f);
    nest_expr *found = *where;
    const group_reduction *arg = blocks && stage + 1 < f->last ? group_stages_arg(f, stage + 1)
                                                               : NULL;
    *where = arg ? nest_variable(n, "where", lazy_zero(&f->s->l)) : NULL;
    for (int i = 0; i < nsums; i++) sums[i].where = sums[i].r == arg ? where : NULL;
    if (found) rows_accumulate(f, stage, found, sums, nsums);
    else if (blocks) rows_sum_blocks(f, stage, sums, nsums);
    else rows_accumulate(f, stage, NULL, sums, nsums);
    for (int i = 0; i < nsums; i++)
        group_stages_bind(f, sums[i].r, nest_let(n, "r", sums[i].value), f->index);
}

static void rows_last_stage(group_stages *f) {
    group_state *s = f->s;
    nest *n = s->l.n;
    nest_expr *values[GROUP_MAX_OUTPUTS], *at[LAZY_MAX_DIMS];
    bool any = false;
    for (int i = 0; i < s->noutputs; i++) any |= f->full[i];
    if (any) {
        int loops = rows_open(f, f->last, NULL);
        group_stages_use(f, f->last);
        for (int i = 0; i < s->noutputs; i++)
            if (f->full[i]) values[i] = nest_let(n, "v", lazy_at(&s->l, s->outputs[i], f->index));
        for (int i = 0; i < s->noutputs; i++)
            if (f->full[i])
                nest_store(n, group_output_buffer(s, i), group_output_address(s, i, f->index),
                           values[i]);
        rows_close(f, loops);
    }
    for (int i = 0; i < s->noutputs; i++) {
        if (!f->result[i]) continue;
        group_stages_index(f, s->outputs[i], f->index, at);
        nest_store(n, group_output_buffer(s, i), group_stages_address(f, f->index),
                   lazy_at(&s->l, s->outputs[i], at));
    }
}

static void rows_nest(group_stages *f) {
    group_state *s = f->s;
    nest *n = s->l.n;
    nest_expr *t = NULL, *extent = lazy_one(&s->l);
    for (int k = 0; k < f->nkept; k++) extent = group_mul(s, extent, f->kept[k].extent);
    if (f->nkept) t = nest_for(n, "row", lazy_zero(&s->l), extent, NEST_PARALLEL);
    if (t) group_stages_beside(f, t, extent);
    for (int k = f->nkept - 1; k > 0; k--) {
        f->index[f->kept[k].last] = nest_let(n, "i", nest_mod_index(n, t, f->kept[k].extent));
        t = nest_let(n, "t", nest_div_index(n, t, f->kept[k].extent));
    }
    if (f->nkept) f->index[f->kept[0].last] = t;
    nest_expr *where = NULL;
    for (int p = 1; p < f->last; p++) rows_stage(f, p, &where);
    rows_last_stage(f);
    if (!f->nkept) {
        group_stages_beside(f, NULL, NULL);
        return;
    }
    nest_end(n);
    group_set_range(s, extent, group_stages_width(f), group_stages_cost(f));
}

/* Threads for a row on a GPU; 0: one makes it alone. */
static int rows_coop(group_state *s, nest_expr *width) {
    int64_t most = group_bucket(s, width),
            coop = most > ROWS_WARP ? most / ROWS_THREAD : most / ROWS_LANE;
    if (most <= ROWS_WARP) return coop > 32 ? 32 : coop < 2 ? 0 : (int)coop;
    return coop < 128 ? 128 : coop > 1024 ? 1024 : (int)coop;
}

static bool rows_on_gpu(group_stages *f, int64_t width, int64_t all) {
    group_state *s = f->s;
    if (width > ROWS_LONG && all < ROWS_GROUPS * width) return false;
    if (!group_stages_loops(f)) return false;
    s->p->schedule = GROUP_CUDA_ROWS;
    s->l.n->coop = rows_coop(s, group_stages_width(f));
    group_stages_store(f, s->l.n->coop > 0);
    rows_nest(f);
    return !s->l.failed;
}

bool group_schedule_rows(group_state *s) {
    group_stages f;
    if (!group_stages_find(s, &f)) return false;
    if (!group_stages_is_inner(&f)) return false;
    int64_t width = group_value_of(s, group_stages_width(&f), 0),
            all = group_value_of(s, group_numel(s, f.ndim, f.sizes), 1);
    if (s->target == GROUP_CUDA) return rows_on_gpu(&f, width, all);
    if (width > ROWS_ALONE && all < 2 * width) return false;
    if (width > 4 * ROWS_ALONE && all < ROWS_FEW * width) return false;
    if (!group_stages_loops(&f)) return false;
    bool wide = f.nreductions && dtype_size(f.reductions[0]->src->dt) == 8;
    if (wide && width > ROWS_TINY && width <= ROWS_BLOCK && group_stages_seeks_plainly(&f))
        return false;
    s->p->schedule = rows_in_blocks(&f) ? GROUP_LONG_ROWS : GROUP_ROWS;
    group_stages_store(&f, true);
    rows_nest(&f);
    return !s->l.failed;
}
