/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group_blocks.c - schedule: few results of many elements each, in blocks that threads share.
 *
 *     mean of all n of (x - y)^2     ->         parallel for (t = 0; t < blocks + 1; t += 1) {
 *                                                   if (t < blocks) {
 *                                                       vector for c in block t:  s sum= (x[c] - y[c]) * (x[c] - y[c])
 *                                                       part[t] = s                                         stage 1
 *                                                   } else {
 *                                                       for b:  total sum= part[b]
 *                                                       out[0] = total / n }}                               stage 2
 *
 * Stages. A stage (group_stages.c) is two stages: each block leaves one number per reduction in
 * scratch memory, then each result adds up those of its blocks. Outputs of full size are one more,
 * by blocks again. All stages are iterations of one parallel loop, which the plan cuts
 * (plan->barriers): what is before a stop is done when what is after begins. So there is one
 * kernel, whatever the number of stages. Rejected: a kernel per stage, which compiles longer.
 *
 * Blocks have a size that depends on the sizes of the arguments alone, so results do not depend on
 * the number of threads.
 *
 * On a GPU, a cooperative group executes each iteration: the reduced dims
 * are one loop whose iterations have chunks of BLOCKS_CHUNK; each
 * thread of the group sums little, so no block sums are needed in between.
 * Tests: tests/unit/test_group.c, tests/unit/test_group_blocks.c, tests/unit/test_cuda_emit.c
 */
#include "codegen/lower/group_internal.h"
#include "codegen/lower/plan/group_tuning.h"

typedef struct blocks_sum {
    group_reduction *r;
    dtype dt;                   /* of parts: sums of floats are kept in double */
    nest_buffer *parts, *value; /* one per block and one per result */
    /* of an minmax whose place is arg: the first block that has it; else NULL */
    nest_buffer *where;
    /* while a block is at work; total: NULL unless of floats that are summed */
    nest_expr *acc, *total;
} blocks_sum;

typedef struct blocks_state {
    group_stages f;
    blocks_sum sums[GROUP_MAX_REDUCTIONS];
    /* the loop over reduced dims that is cut; those inside are short */
    int cut;
    /* iterations of that loop per block; such chunks; blocks per result */
    nest_expr *chunk, *chunks, *each;
    nest_expr *results, *all; /* of the group; blocks */
    nest_expr *iteration;     /* the parallel loop's */
    /* in an iteration: the result's number, the block's among all, its iterations
     * of the cut loop */
    nest_expr *row, *at, *start, *end;
} blocks_state;

/* Are all reduced dims one loop? */
static bool blocks_is_flat(const blocks_state *c) { return c->f.s->target == GROUP_CUDA; }

/* ---- where an iteration is ------------------------------------------------------------------- */

/* The index of result number c->row. */
static void blocks_find_result(blocks_state *c) {
    group_stages *f = &c->f;
    nest *n = f->s->l.n;
    nest_expr *t = c->row;
    for (int k = f->nkept - 1; k >= 0; k--) {
        f->index[f->kept[k].last] = k ? nest_let(n, "i", nest_mod_index(n, t, f->kept[k].extent))
                                      : t;
        if (k) t = nest_let(n, "t", nest_div_index(n, t, f->kept[k].extent));
    }
}

/* The stage whose iterations begin at `first` goes by blocks. */
static void blocks_find_block(blocks_state *c, nest_expr *first) {
    group_stages *f = &c->f;
    nest *n = f->s->l.n;
    c->at = nest_let(n, "at", nest_sub(n, c->iteration, first));
    c->row = f->nkept ? nest_let(n, "row", nest_div_index(n, c->at, c->each)) : lazy_zero(&f->s->l);
    nest_expr *t = f->nkept ? nest_let(n, "t", nest_mod_index(n, c->at, c->each)) : c->at;
    blocks_find_result(c);
    nest_expr *number = c->cut ? nest_mod_index(n, t, c->chunks) : t;
    nest_expr *extent = blocks_is_flat(c) ? group_stages_width(f) : f->reduced[c->cut].extent;
    c->start = nest_let(n, "start", nest_mul(n, number, c->chunk));
    c->end = nest_let(n, "end", nest_binary(n, NEST_MIN, extent, nest_add(n, c->start, c->chunk)));
    if (c->cut) t = nest_let(n, "t", nest_div_index(n, t, c->chunks));
    for (int k = c->cut - 1; k >= 0; k--) {
        f->index[f->reduced[k].last] =
            k ? nest_let(n, "i", nest_mod_index(n, t, f->reduced[k].extent)) : t;
        if (k) t = nest_let(n, "t", nest_div_index(n, t, f->reduced[k].extent));
    }
}

/* What stages before `stage` have left is bound. */
static void blocks_read_results(blocks_state *c, int stage) {
    group_stages *f = &c->f;
    nest *n = f->s->l.n;
    for (int i = 0; i < f->nreductions; i++)
        if (f->reductions[i]->t->depth < stage)
            group_stages_bind(f, f->reductions[i],
                              nest_let(n, "r", nest_load(n, c->sums[i].value, c->row)), f->index);
}
static void blocks_forget(blocks_state *c) {
    for (int i = 0; i < c->f.nreductions; i++)
        group_stages_bind(&c->f, c->f.reductions[i], NULL, NULL);
    group_stages_forget(&c->f);
}

/* ---- a block --------------------------------------------------------------------------------- */

/* The loops inside the cut one; gives how many were opened. */
static int blocks_open_inner(blocks_state *c) {
    group_stages *f = &c->f;
    for (int k = c->cut + 1; k < f->nreduced; k++)
        f->index[f->reduced[k].last] = nest_for(f->s->l.n, "c", lazy_zero(&f->s->l),
                                                f->reduced[k].extent,
                                                k == f->nreduced - 1 ? NEST_VECTOR : 0);
    return f->nreduced - 1 - c->cut;
}
static nest_expr *blocks_open_cut(blocks_state *c, nest_expr *start, nest_expr *end) {
    bool inner = c->cut == c->f.nreduced - 1;
    return c->f.index[c->f.reduced[c->cut].last] = nest_for(c->f.s->l.n, "c", start, end,
                                                            inner ? NEST_VECTOR : 0);
}
/* All loops over the elements of a block; gives how many. */
static int blocks_open(blocks_state *c) {
    if (blocks_is_flat(c)) return group_stages_open_flat(&c->f, c->start, c->end);
    blocks_open_cut(c, c->start, c->end);
    return blocks_open_inner(c) + 1;
}

static void blocks_add(blocks_state *c, int stage) {
    group_stages *f = &c->f;
    group_stages_use(f, stage);
    for (int i = 0; i < f->nreductions; i++) {
        const group_reduction *r = f->reductions[i];
        if (r->t->depth != stage) continue;
        nest_accumulate(f->s->l.n, c->sums[i].acc, r->acc, lazy_at(&f->s->l, r->src, f->index));
    }
}
static void blocks_clear(blocks_state *c, int stage) {
    for (int i = 0; i < c->f.nreductions; i++)
        if (c->f.reductions[i]->t->depth == stage && c->sums[i].total)
            nest_set(c->f.s->l.n, c->sums[i].acc, group_identity(c->f.s, c->f.reductions[i]));
}
static void blocks_add_totals(blocks_state *c, int stage) {
    nest *n = c->f.s->l.n;
    for (int i = 0; i < c->f.nreductions; i++) {
        blocks_sum *m = &c->sums[i];
        if (c->f.reductions[i]->t->depth == stage && m->total)
            nest_set(n, m->total, nest_add(n, m->total, nest_cast(n, NEST_F64, m->acc)));
    }
}

/* Floats are summed in float within a segment, and those sums in double. */
static void blocks_sum_block(blocks_state *c, int stage) {
    group_stages *f = &c->f;
    nest *n = f->s->l.n;
    if (blocks_is_flat(c)) {
        int loops = group_stages_open_flat(f, c->start, c->end);
        blocks_add(c, stage);
        for (int k = 0; k < loops; k++) nest_end(n);
        group_stages_forget(f);
        return;
    }
    bool inner = c->cut == f->nreduced - 1;
    nest_expr *outer = inner ? nest_for_step(n, "b", c->start, c->end, BLOCKS_SUM, 0)
                             : blocks_open_cut(c, c->start, c->end);
    blocks_clear(c, stage);
    if (inner) {
        nest_expr *stop = nest_binary(n, NEST_MIN, c->end,
                                      nest_add(n, outer, nest_int(n, BLOCKS_SUM)));
        blocks_open_cut(c, outer, nest_let(n, "stop", stop));
    }
    int loops = inner ? 1 : blocks_open_inner(c);
    blocks_add(c, stage);
    for (int k = 0; k < loops; k++) nest_end(n);
    group_stages_forget(f);
    blocks_add_totals(c, stage);
    nest_end(n);
    group_stages_forget(f);
}

/* The minmax whose place `stage` seeks: its block alone is looked at. */
static const blocks_sum *blocks_arg(const blocks_state *c, int stage) {
    const group_reduction *minmax = !blocks_is_flat(c) && stage < c->f.last
                                        ? group_stages_arg(&c->f, stage)
                                        : NULL;
    for (int i = 0; minmax && i < c->f.nreductions; i++)
        if (c->sums[i].r == minmax) return &c->sums[i];
    return NULL;
}

static void blocks_reduce(blocks_state *c, int stage, nest_expr *first) {
    group_stages *f = &c->f;
    nest *n = f->s->l.n;
    blocks_find_block(c, first);
    blocks_read_results(c, stage);
    for (int i = 0; i < f->nreductions; i++) {
        blocks_sum *m = &c->sums[i];
        if (m->r->t->depth != stage) continue;
        m->acc = nest_variable(n, "acc", group_identity(f->s, m->r));
        m->total = !blocks_is_flat(c) && m->r->acc == NEST_ACC_SUM && dtype_is_float(m->r->src->dt)
                       ? nest_variable(n, "total", nest_const_float(n, NEST_F64, 0))
                       : NULL;
    }
    const blocks_sum *arg = blocks_arg(c, stage);
    if (arg) nest_if(n, nest_binary(n, NEST_EQ, c->at, nest_load(n, arg->where, c->row)));
    blocks_sum_block(c, stage);
    if (arg) nest_end(n);
    for (int i = 0; i < f->nreductions; i++) {
        const blocks_sum *m = &c->sums[i];
        nest_type type = NEST_F64;
        nest_type_of(m->dt, &type);
        if (m->r->t->depth == stage)
            nest_store(n, m->parts, c->at, m->total ? m->total : nest_cast(n, type, m->acc));
    }
    blocks_forget(c);
}

/* ---- a result -------------------------------------------------------------------------------- */

static void blocks_combine(blocks_state *c, int stage) {
    group_stages *f = &c->f;
    nest *n = f->s->l.n;
    nest_expr *first = nest_let(n, "first", nest_mul(n, c->row, c->each)),
              *where[GROUP_MAX_REDUCTIONS];
    for (int i = 0; i < f->nreductions; i++) {
        blocks_sum *m = &c->sums[i];
        if (m->r->t->depth != stage) continue;
        bool widens = m->dt != m->r->src->dt;
        m->total = nest_variable(
            n, "total", widens ? nest_const_float(n, NEST_F64, 0) : group_identity(f->s, m->r));
        if (m->where) where[i] = nest_variable(n, "where", lazy_zero(&f->s->l));
    }
    unsigned flags = blocks_is_flat(c) ? NEST_VECTOR : 0; /* there, no place is arg */
    nest_expr *b = nest_for(n, "b", lazy_zero(&f->s->l), c->each, flags),
              *at = nest_add(n, first, b);
    for (int i = 0; i < f->nreductions; i++) {
        const blocks_sum *m = &c->sums[i];
        if (m->r->t->depth != stage) continue;
        nest_expr *part = nest_let(n, "part", nest_load(n, m->parts, at));
        if (!m->where) {
            nest_accumulate(n, m->total, m->r->acc, part);
            continue;
        }
        nest_if(n, group_is_better(f->s, m->r, part, m->total));
        nest_set(n, m->total, part);
        nest_set(n, where[i], b);
        nest_end(n);
    }
    nest_end(n);
    for (int i = 0; i < f->nreductions; i++) {
        nest_type type = NEST_F32;
        blocks_sum *m = &c->sums[i];
        if (m->r->t->depth != stage) continue;
        if (m->where) nest_store(n, m->where, c->row, nest_add(n, first, where[i]));
        nest_type_of(m->r->src->dt, &type);
        nest_expr *value = nest_let(n, "r", nest_cast(n, type, m->total));
        nest_store(n, m->value, c->row, value);
        group_stages_bind(f, m->r, value, f->index);
    }
}

static void blocks_result(blocks_state *c, int stage, nest_expr *first) {
    group_stages *f = &c->f;
    group_state *s = f->s;
    nest *n = s->l.n;
    nest_expr *at[LAZY_MAX_DIMS];
    c->row = f->nkept ? nest_let(n, "row", nest_sub(n, c->iteration, first)) : lazy_zero(&s->l);
    blocks_find_result(c);
    for (int d = 0; d < f->ndim; d++)
        if (f->mask[d]) f->index[d] = lazy_zero(&s->l);
    blocks_read_results(c, stage);
    blocks_combine(c, stage);
    for (int i = 0; stage + 1 == f->last && i < s->noutputs; i++) {
        if (!f->result[i]) continue;
        group_stages_index(f, s->outputs[i], f->index, at);
        nest_store(n, group_output_buffer(s, i), group_stages_address(f, f->index),
                   lazy_at(&s->l, s->outputs[i], at));
    }
    if (stage + 1 == f->last) group_stages_beside(f, f->nkept ? c->row : NULL, c->results);
    blocks_forget(c);
}

static void blocks_outputs(blocks_state *c, nest_expr *first) {
    group_stages *f = &c->f;
    nest *n = f->s->l.n;
    blocks_find_block(c, first);
    blocks_read_results(c, f->last);
    int loops = blocks_open(c);
    group_stages_results(f);
    for (int k = 0; k < loops; k++) nest_end(n);
    blocks_forget(c);
}

/* ---- the nest -------------------------------------------------------------------------------- */

static void blocks_make_sums(blocks_state *c) {
    group_stages *f = &c->f;
    for (int i = 0; i < f->nreductions; i++) {
        group_reduction *r = f->reductions[i];
        bool widens = r->acc == NEST_ACC_SUM && dtype_is_float(r->src->dt);
        dtype dt = widens ? DT_FLOAT64 : r->src->dt;
        c->sums[i] = (blocks_sum){.r = r, .dt = dt};
        c->sums[i].parts = group_scratch(c->f.s, "parts", dt, c->all);
        c->sums[i].value = group_scratch(c->f.s, "value", r->src->dt, c->results);
        if (!blocks_is_flat(c) && r->t->depth + 1 < f->last &&
            group_stages_arg(f, r->t->depth + 1) == r)
            c->sums[i].where = group_scratch(c->f.s, "where", DT_INT64, c->results);
    }
}

/* Which loop is cut, and into what. */
static void blocks_cut(blocks_state *c) {
    group_stages *f = &c->f;
    group_state *s = f->s;
    lazy *l = &s->l;
    nest_expr *inner = lazy_one(l), *extent = group_stages_width(f);
    c->results = lazy_one(l);
    for (int k = 0; k < f->nkept; k++) c->results = group_mul(s, c->results, f->kept[k].extent);
    if (blocks_is_flat(c)) {
        c->chunk = nest_int(l->n, BLOCKS_CHUNK);
        nest_expr *up = lazy_size(l, NEST_ADD, extent, nest_int(l->n, BLOCKS_CHUNK - 1));
        c->each = c->chunks = lazy_size(l, NEST_DIV_INDEX, up, c->chunk);
        c->all = group_mul(s, c->each, c->results);
        return;
    }
    for (c->cut = f->nreduced - 1; c->cut > 0; c->cut--) {
        nest_expr *next = group_mul(s, inner, f->reduced[c->cut].extent);
        if (group_value_of(s, next, 0) >= BLOCKS_SIZE) break;
        inner = next;
    }
    nest_expr *size = nest_int(l->n, BLOCKS_SIZE);
    extent = f->reduced[c->cut].extent;
    nest_expr *least = lazy_size(l, NEST_MAX, inner, lazy_one(l));
    c->chunk = lazy_size(l, NEST_MAX, lazy_size(l, NEST_DIV_INDEX, size, least), lazy_one(l));
    nest_expr *up = lazy_size(l, NEST_SUB, lazy_size(l, NEST_ADD, extent, c->chunk), lazy_one(l));
    c->each = c->chunks = lazy_size(l, NEST_DIV_INDEX, up, c->chunk);
    for (int k = c->cut - 1; k >= 0; k--) c->each = group_mul(s, c->each, f->reduced[k].extent);
    c->all = group_mul(s, c->each, c->results);
}

static void blocks_nest(blocks_state *c) {
    group_stages *f = &c->f;
    group_state *s = f->s;
    nest *n = s->l.n;
    bool any = false;
    for (int i = 0; i < s->noutputs; i++) any |= f->full[i];
    nest_expr *barriers[2 * GROUP_MAX_REDUCTIONS + 4], *at = lazy_zero(&s->l);
    int stages = 0, count = 2 * (f->last - 1) + any;
    for (; stages < count; stages++)
        barriers[stages] = at = group_input(
            s, lazy_size(&s->l, NEST_ADD, at, stages % 2 ? c->results : c->all));
    if (blocks_is_flat(c)) n->coop = BLOCKS_TEAM;
    c->iteration = nest_for(n, "t", lazy_zero(&s->l), at, NEST_PARALLEL);
    for (int k = 0; k < stages; k++) {
        nest_expr *first = k ? barriers[k - 1] : lazy_zero(&s->l);
        if (k + 1 < stages) nest_if(n, nest_binary(n, NEST_LT, c->iteration, barriers[k]));
        if (k % 2) blocks_result(c, k / 2 + 1, first);
        else if (k / 2 + 1 < f->last) blocks_reduce(c, k / 2 + 1, first);
        else blocks_outputs(c, first);
        if (k + 1 < stages) nest_else(n);
        avec_push(s->a, &s->p->barriers, group_slot_of(s, barriers[k]));
    }
    for (int k = 0; k + 1 < stages; k++) nest_end(n);
    nest_end(n);
    s->p->range_begin = plan_const(s->p, s->a, 0);
    s->p->range_end = group_slot_of(s, at);
    s->domain = group_numel(s, f->ndim, f->sizes);
}

bool group_schedule_blocks(group_state *s) {
    blocks_state c = {.cut = 0};
    group_stages *f = &c.f;
    if (!group_stages_find(s, f) || group_value_of(s, group_stages_width(f), 0) <= BLOCKS_SIZE)
        return false;
    if (!group_stages_is_inner(f) || !group_stages_loops(f) || f->nreduced == 0) return false;
    blocks_cut(&c);
    c.chunk = group_input(s, c.chunk);
    c.chunks = group_input(s, c.chunks);
    c.each = group_input(s, c.each);
    s->p->schedule = s->target == GROUP_CUDA ? GROUP_CUDA_BLOCKS : GROUP_BLOCKS;
    group_stages_store(f, false);
    blocks_make_sums(&c);
    blocks_nest(&c);
    return !s->l.failed;
}
