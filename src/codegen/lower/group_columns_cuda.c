/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group_columns_cuda.c - schedule: reductions over outer dims on a GPU, for a tile of neighbouring
 * results at once.
 *
 *     sum of (n, m) over dim 0       ->         parallel for each tile of 32 columns, by a cooperative group of 32 * 8 threads {
 *                                                   vector for k:  j = k mod 32;  r = k div 32
 *                                                                  for (c = r; c < n; c += 8)  acc sum= x[c * m + first + j]
 *                                                                  part[k] = acc
 *                                                   vector for j:  for r:  total sum= part[r * 32 + j]
 *                                                                  value[j] = total
 *                                                   vector for j:  out[first + j] = value[j] }
 *
 * A warp reads neighbours. Few tiles of long columns are cut: each iteration has a chunk of its
 * columns and leaves parts in scratch memory, and in a stage of their own (plan->barriers, as in
 * group_blocks.c) iterations join those of a tile. Stages are as in group_rows.c.
 * Tests: tests/unit/test_cuda_emit.c
 */
#include "codegen/lower/group_internal.h"
#include "codegen/lower/plan/group_tuning.h"

typedef struct tile_sum {
    group_reduction *r;
    nest_buffer *part; /* one per thread */
    /* of cut columns: one per chunk and result; sums of floats in double */
    nest_buffer *chunks;
    nest_buffer *value; /* one per column of the tile; of cut columns one per result */
    nest_expr *acc;     /* while a thread is at work */
} tile_sum;

typedef struct tile_state {
    group_stages f;
    tile_sum sums[GROUP_MAX_REDUCTIONS];
    /* threads of a cooperative group: number of columns, threads per column */
    int columns, lanes;
    bool cut;
    nest_expr *width, *length; /* elements of a column; columns side by side */
    nest_expr *tiles, *all;    /* side by side; of all */
    nest_expr *chunks, *results;
    nest_expr *iteration;
    /* in an iteration: its first column; its elements of each */
    nest_expr *first, *chunk, *begin, *end;
} tile_state;

/* ---- where an iteration is ------------------------------------------------------------------- */

/* Iteration t of those of a stage, by tiles, and chunks if `chunks`. */
static void tile_find(tile_state *c, nest_expr *t, bool chunks) {
    group_stages *f = &c->f;
    nest *n = f->s->l.n;
    int inner = f->nkept - 1;
    c->chunk = lazy_zero(&f->s->l);
    c->begin = c->chunk;
    c->end = c->width;
    if (chunks) {
        c->chunk = nest_let(n, "chunk", nest_mod_index(n, t, c->chunks));
        t = nest_let(n, "t", nest_div_index(n, t, c->chunks));
        c->begin = nest_let(n, "begin", nest_mul(n, c->chunk, nest_int(n, TILE_CHUNK)));
        c->end = nest_let(
            n, "end",
            nest_binary(n, NEST_MIN, c->width, nest_add(n, c->begin, nest_int(n, TILE_CHUNK))));
    }
    c->first = nest_let(n, "first",
                        nest_mul(n, nest_mod_index(n, t, c->tiles), nest_int(n, c->columns)));
    if (inner) t = nest_let(n, "t", nest_div_index(n, t, c->tiles));
    for (int k = inner - 1; k >= 0; k--) {
        f->index[f->kept[k].last] = k ? nest_let(n, "i", nest_mod_index(n, t, f->kept[k].extent))
                                      : t;
        if (k) t = nest_let(n, "t", nest_div_index(n, t, f->kept[k].extent));
    }
}

/* At column j of the tile, if it is one: what stages before `stage` have left is there by then. */
static void tile_open_column(tile_state *c, nest_expr *j, int stage) {
    group_stages *f = &c->f;
    nest *n = f->s->l.n;
    nest_expr *column = nest_let(n, "column", nest_add(n, c->first, j));
    nest_if(n, nest_binary(n, NEST_LT, column, c->length));
    group_stages_flat_index(f, f->nreduced ? lazy_zero(&f->s->l) : NULL);
    f->index[f->kept[f->nkept - 1].last] = column;
    for (int i = 0; i < f->nreductions; i++) {
        const tile_sum *m = &c->sums[i];
        if (m->r->t->depth >= stage) continue;
        nest_expr *at = c->cut ? group_stages_address(f, f->index) : j;
        group_stages_bind(f, m->r, nest_let(n, "r", nest_load(n, m->value, at)), f->index);
    }
}
static void tile_close_column(tile_state *c) {
    nest_end(c->f.s->l.n);
    for (int i = 0; i < c->f.nreductions; i++) group_stages_bind(&c->f, c->sums[i].r, NULL, NULL);
    group_stages_forget(&c->f);
}

/* The loop of a thread over its elements of the column, which is there for columns of one element
 * as well: only one thread has that. */
static void tile_open_elements(tile_state *c, nest_expr *lane) {
    nest *n = c->f.s->l.n;
    group_stages_flat_index(
        &c->f, nest_for_step(n, "c", nest_add(n, c->begin, lane), c->end, c->lanes, 0));
}

/* ---- a stage --------------------------------------------------------------------------------- */

static bool tile_makes(const tile_sum *m, int stage) { return m->r->t->depth == stage; }

/* Each thread's share of a column. */
static void tile_reduce(tile_state *c, int stage) {
    group_stages *f = &c->f;
    nest *n = f->s->l.n;
    nest_expr *columns = nest_int(n, c->columns);
    nest_expr *k = nest_for(n, "k", lazy_zero(&f->s->l), nest_int(n, c->columns * c->lanes),
                            NEST_VECTOR);
    nest_expr *j = nest_let(n, "j", nest_mod_index(n, k, columns)),
              *lane = nest_let(n, "lane", nest_div_index(n, k, columns));
    for (int i = 0; i < f->nreductions; i++)
        if (tile_makes(&c->sums[i], stage))
            c->sums[i].acc = nest_variable(n, "acc", group_identity(f->s, c->sums[i].r));
    tile_open_column(c, j, stage);
    tile_open_elements(c, lane);
    group_stages_use(f, stage);
    for (int i = 0; i < f->nreductions; i++) {
        const tile_sum *m = &c->sums[i];
        if (tile_makes(m, stage))
            nest_accumulate(n, m->acc, m->r->acc, lazy_at(&f->s->l, m->r->src, f->index));
    }
    nest_end(n);
    tile_close_column(c);
    for (int i = 0; i < f->nreductions; i++)
        if (tile_makes(&c->sums[i], stage)) nest_store(n, c->sums[i].part, k, c->sums[i].acc);
    nest_end(n);
}

/* The threads' shares of a column become its value, or its chunk's. */
static void tile_join(tile_state *c, int stage) {
    group_stages *f = &c->f;
    nest *n = f->s->l.n;
    nest_expr *j = nest_for(n, "j", lazy_zero(&f->s->l), nest_int(n, c->columns), NEST_VECTOR);
    tile_open_column(c, j, 0);
    for (int i = 0; i < f->nreductions; i++) {
        const tile_sum *m = &c->sums[i];
        nest_type type = NEST_F32;
        if (!tile_makes(m, stage)) continue;
        nest_expr *total = nest_variable(n, "total", nest_load(n, m->part, j));
        nest_expr *lane = nest_for(n, "lane", lazy_one(&f->s->l), nest_int(n, c->lanes), 0);
        nest_accumulate(
            n, total, m->r->acc,
            nest_load(n, m->part, nest_add(n, nest_mul(n, lane, nest_int(n, c->columns)), j)));
        nest_end(n);
        nest_type_of(c->cut ? m->chunks->dt : m->r->src->dt, &type);
        nest_expr *at = c->cut ? nest_add(n, nest_mul(n, c->chunk, c->results),
                                          group_stages_address(f, f->index))
                               : j;
        nest_store(n, c->cut ? m->chunks : m->value, at, nest_cast(n, type, total));
    }
    tile_close_column(c);
    nest_end(n);
}

/* The chunks of each column become its value. */
static void tile_join_chunks(tile_state *c, int stage) {
    group_stages *f = &c->f;
    nest *n = f->s->l.n;
    nest_expr *j = nest_for(n, "j", lazy_zero(&f->s->l), nest_int(n, c->columns), NEST_VECTOR);
    tile_open_column(c, j, 0);
    nest_expr *row = nest_let(n, "row", group_stages_address(f, f->index));
    for (int i = 0; i < f->nreductions; i++) {
        const tile_sum *m = &c->sums[i];
        nest_type type = NEST_F32, of_chunks = NEST_F64;
        if (!tile_makes(m, stage)) continue;
        nest_type_of(m->r->src->dt, &type);
        nest_type_of(m->chunks->dt, &of_chunks);
        nest_expr *start = of_chunks == type ? group_identity(f->s, m->r)
                                             : nest_const_float(n, NEST_F64, 0);
        nest_expr *total = nest_variable(n, "total", start);
        nest_expr *chunk = nest_for(n, "chunk", lazy_zero(&f->s->l), c->chunks, 0);
        nest_accumulate(n, total, m->r->acc,
                        nest_load(n, m->chunks, nest_add(n, nest_mul(n, chunk, c->results), row)));
        nest_end(n);
        nest_store(n, m->value, row, nest_cast(n, type, total));
    }
    tile_close_column(c);
    nest_end(n);
}

/* ---- outputs --------------------------------------------------------------------------------- */

static void tile_results(tile_state *c) {
    group_stages *f = &c->f;
    group_state *s = f->s;
    nest *n = s->l.n;
    nest_expr *at[LAZY_MAX_DIMS];
    bool any = false;
    for (int i = 0; i < s->noutputs; i++) any |= f->result[i];
    if (!any) return;
    tile_open_column(c, nest_for(n, "j", lazy_zero(&s->l), nest_int(n, c->columns), NEST_VECTOR),
                     f->last);
    for (int i = 0; i < s->noutputs; i++) {
        if (!f->result[i]) continue;
        group_stages_index(f, s->outputs[i], f->index, at);
        nest_store(n, group_output_buffer(s, i), group_stages_address(f, f->index),
                   lazy_at(&s->l, s->outputs[i], at));
    }
    tile_close_column(c);
    nest_end(n);
}

static bool tile_has_full(const tile_state *c) {
    for (int i = 0; i < c->f.s->noutputs; i++)
        if (c->f.full[i]) return true;
    return false;
}

static void tile_full(tile_state *c) {
    group_stages *f = &c->f;
    group_state *s = f->s;
    nest *n = s->l.n;
    nest_expr *columns = nest_int(n, c->columns);
    if (!tile_has_full(c)) return;
    nest_expr *k = nest_for(n, "k", lazy_zero(&s->l), nest_int(n, c->columns * c->lanes),
                            NEST_VECTOR);
    nest_expr *j = nest_let(n, "j", nest_mod_index(n, k, columns)),
              *lane = nest_let(n, "lane", nest_div_index(n, k, columns));
    tile_open_column(c, j, f->last);
    tile_open_elements(c, lane);
    group_stages_results(f);
    nest_end(n);
    tile_close_column(c);
    nest_end(n);
}

/* ---- the nest -------------------------------------------------------------------------------- */

static void tile_whole(tile_state *c) {
    group_stages *f = &c->f;
    group_state *s = f->s;
    nest_expr *t = nest_for(s->l.n, "t", lazy_zero(&s->l), c->all, NEST_PARALLEL);
    group_stages_beside(f, t, c->all);
    tile_find(c, t, false);
    for (int p = 1; p < f->last; p++) {
        tile_reduce(c, p);
        tile_join(c, p);
    }
    tile_results(c);
    tile_full(c);
    nest_end(s->l.n);
    group_set_range(s, c->all, group_mul(s, c->width, nest_int(s->l.n, c->columns)),
                    group_stages_cost(f));
}

/* Stage k: chunks of stage k / 2 + 1, or their joining; the last one may be that
 * of full outputs. */
static void tile_stage(tile_state *c, int k, nest_expr *first) {
    group_stages *f = &c->f;
    nest *n = f->s->l.n;
    int stage = k / 2 + 1;
    nest_expr *t = nest_let(n, "t", nest_sub(n, c->iteration, first));
    tile_find(c, t, k % 2 == 0);
    if (k % 2 == 0 && stage == f->last) {
        tile_full(c);
    } else if (k % 2 == 0) {
        tile_reduce(c, stage);
        tile_join(c, stage);
    } else {
        tile_join_chunks(c, stage);
        if (stage + 1 == f->last) tile_results(c);
        if (stage + 1 == f->last) group_stages_beside(f, t, c->all);
    }
}

static void tile_in_chunks(tile_state *c) {
    group_state *s = c->f.s;
    nest *n = s->l.n;
    nest_expr *barriers[2 * GROUP_MAX_REDUCTIONS + 4], *at = lazy_zero(&s->l),
                                                       *cut = group_mul(s, c->all, c->chunks);
    int stages = 2 * (c->f.last - 1) + tile_has_full(c);
    for (int k = 0; k < stages; k++)
        barriers[k] = at = group_input(s, lazy_size(&s->l, NEST_ADD, at, k % 2 ? c->all : cut));
    c->iteration = nest_for(n, "t", lazy_zero(&s->l), at, NEST_PARALLEL);
    for (int k = 0; k < stages; k++) {
        if (k + 1 < stages) nest_if(n, nest_binary(n, NEST_LT, c->iteration, barriers[k]));
        tile_stage(c, k, k ? barriers[k - 1] : lazy_zero(&s->l));
        if (k + 1 < stages) nest_else(n);
        avec_push(s->a, &s->p->barriers, group_slot_of(s, barriers[k]));
    }
    for (int k = 0; k < stages; k++) nest_end(n);
    group_set_range(s, at, group_mul(s, nest_int(n, TILE_CHUNK), nest_int(n, c->columns)),
                    group_stages_cost(&c->f));
}

static void tile_shape(tile_state *c) {
    group_stages *f = &c->f;
    group_state *s = f->s;
    c->width = group_stages_width(f);
    c->length = f->kept[f->nkept - 1].extent;
    int64_t length = group_bucket(s, c->length), lanes = group_bucket(s, c->width) / TILE_LANE;
    c->columns = length < TILE_COLUMNS ? (int)length : TILE_COLUMNS;
    c->lanes = lanes < 1 ? 1 : lanes > TILE_LANES ? TILE_LANES : (int)lanes;
    if (c->columns * c->lanes < 32) c->lanes = 32 / c->columns;
    nest_expr *up = lazy_size(&s->l, NEST_ADD, c->length, nest_int(s->l.n, c->columns - 1));
    c->tiles = lazy_size(&s->l, NEST_DIV_INDEX, up, nest_int(s->l.n, c->columns));
    c->all = c->tiles;
    c->results = c->length;
    for (int k = 0; k + 1 < f->nkept; k++) {
        c->all = group_mul(s, c->all, f->kept[k].extent);
        c->results = group_mul(s, c->results, f->kept[k].extent);
    }
    c->cut = group_value_of(s, c->all, 0) < TILE_FEW && group_value_of(s, c->width, 0) > TILE_LONG;
    if (!c->cut) return;
    up = lazy_size(&s->l, NEST_ADD, c->width, nest_int(s->l.n, TILE_CHUNK - 1));
    c->chunks = group_input(s, lazy_size(&s->l, NEST_DIV_INDEX, up, nest_int(s->l.n, TILE_CHUNK)));
    c->results = group_input(s, c->results);
}

static void tile_make_sums(tile_state *c) {
    group_stages *f = &c->f;
    group_state *s = f->s;
    for (int i = 0; i < f->nreductions; i++) {
        group_reduction *r = f->reductions[i];
        dtype dt = r->acc == NEST_ACC_SUM && dtype_is_float(r->src->dt) ? DT_FLOAT64 : r->src->dt;
        c->sums[i] = (tile_sum){
            .r = r, .part = nest_add_local(s->l.n, "part", r->src->dt, c->columns * c->lanes)};
        if (c->cut) {
            c->sums[i].chunks = group_scratch(s, "chunks", dt, group_mul(s, c->chunks, c->results));
            c->sums[i].value = group_scratch(s, "value", r->src->dt, c->results);
        } else {
            c->sums[i].value = nest_add_local(s->l.n, "value", r->src->dt, c->columns);
        }
    }
}

bool group_schedule_columns_cuda(group_state *s) {
    tile_state c = {.columns = 0};
    if (!group_stages_find(s, &c.f) || !group_stages_loops(&c.f) || c.f.nkept == 0) return false;
    tile_shape(&c);
    s->l.n->coop = c.columns * c.lanes;
    group_stages_store(&c.f, false);
    tile_make_sums(&c);
    s->p->schedule = c.cut ? GROUP_CUDA_CHUNKS : GROUP_CUDA_COLUMNS;
    if (c.cut) tile_in_chunks(&c);
    else tile_whole(&c);
    return !s->l.failed;
}
