/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group_pointwise_cuda.c - schedule: every element of the outputs on its own, on a GPU.
 *
 *     out = x * y + b                           parallel for (t = 0; t < n * chunks; t += 1) {
 *     x, y: (n, m), b: (m)             ->           let i = t div chunks;  let first = 4 * (t mod chunks)
 *                                                   vector for (j = first; j < min(m, first + 4); j += 1)
 *                                                       out[i * m + j] = x[i * m + j] * y[i * m + j] + b[j] }
 *
 * A thread makes as many neighbours as 16 bytes hold, in one access each (cuda_emit_pack.c);
 * where rows have no such length it makes one. Small outputs of other shapes are further
 * iterations, an element each.
 *
 * Transposed operands go through tiles in shared memory, which a block fills
 * and drains in the order of memory on either side. A tile's rows are padded
 * by one element, so that the elements of a column are in different banks.
 * Tests: tests/unit/test_cuda_emit.c
 */
#include "codegen/cuda/cuda_emit.h"
#include "codegen/lower/group_pointwise.h"
#include "codegen/lower/plan/group_tuning.h"

/* ---- chunks ---------------------------------------------------------------------------------- */

/* Elements per thread: of accesses that walk with the innermost loop, as many as the
 * printer takes together. */
static int flat_width(const point_state *p, const group_walk *w, const group_loop *inner,
                      int nloops) {
    size_t least = 16, most = 1;
    for (int i = 0; i < w->nloads + p->noutputs; i++) {
        const group_load *l = i < w->nloads ? &w->loads[i] : NULL;
        if (l && !(l->step[inner->last] && group_is_one(l->step[inner->last]))) continue;
        size_t size = dtype_size(l ? l->load->u.buffer->dt
                                   : p->s->outputs[p->outputs[i - w->nloads]]->dt);
        if (size < least) least = size;
        if (size > most) most = size;
    }
    int width = cuda_pack_width(least, most);
    return nloops > 1 && group_value_of(p->s, inner->extent, 0) % width ? 1 : width;
}

/* The index at number t of the loops [0, n), the last one the fastest. */
static void flat_index(point_state *p, const group_loop *loops, int n, nest_expr *t) {
    nest *nest = p->s->l.n;
    for (int k = n - 1; k >= 0; k--) {
        p->index[loops[k].last] = k ? nest_let(nest, "i", nest_mod_index(nest, t, loops[k].extent))
                                    : t;
        if (k) t = nest_let(nest, "t", nest_div_index(nest, t, loops[k].extent));
    }
}

/* Element t of output i, which has a shape of its own. */
static void flat_beside(group_state *s, int i, nest_expr *t) {
    nest *n = s->l.n;
    const lazy_tensor *out = s->outputs[i];
    nest_expr *index[LAZY_MAX_DIMS], *rest = t;
    for (int d = out->ndim - 1; d >= 0; d--) {
        index[d] = d ? nest_let(n, "i", nest_mod_index(n, rest, out->sizes[d])) : rest;
        if (d) rest = nest_let(n, "t", nest_div_index(n, rest, out->sizes[d]));
    }
    nest_store(n, group_output_buffer(s, i), t, lazy_at(&s->l, out, index));
    lazy_forget(&s->l);
}

/* Rounds [first, ...) of the parallel loop: outputs beside the domain. */
static void flat_besides(point_state *p, nest_expr *iteration, nest_expr *first) {
    group_state *s = p->s;
    nest *n = s->l.n;
    for (int k = 0; k < p->nbeside; k++) {
        const lazy_tensor *out = s->outputs[p->beside[k]];
        nest_expr *numel = group_numel(s, out->ndim, out->sizes),
                  *t = nest_let(n, "t", nest_sub(n, iteration, first));
        nest_if(n, nest_binary(n, NEST_LT, t, numel));
        flat_beside(s, p->beside[k], t);
        if (k + 1 < p->nbeside) nest_else(n);
        first = nest_add(n, first, numel);
    }
    for (int k = 0; k < p->nbeside; k++) nest_end(n);
}

void point_flat(point_state *p, const group_walk *w, const group_loop *loops, int nloops) {
    group_state *s = p->s;
    nest *n = s->l.n;
    int width = nloops ? flat_width(p, w, &loops[nloops - 1], nloops) : 1;
    nest_expr *chunk = nest_int(n, width),
              *inner = nloops ? loops[nloops - 1].extent : lazy_one(&s->l);
    nest_expr *up = lazy_size(&s->l, NEST_ADD, inner, nest_int(n, width - 1));
    nest_expr *chunks = width == 1 ? inner : lazy_size(&s->l, NEST_DIV_INDEX, up, chunk),
              *iterations = chunks;
    for (int k = 0; k + 1 < nloops; k++) iterations = group_mul(s, iterations, loops[k].extent);
    nest_expr *all = iterations;
    for (int k = 0; k < p->nbeside; k++) {
        const lazy_tensor *out = s->outputs[p->beside[k]];
        all = lazy_size(&s->l, NEST_ADD, all, group_numel(s, out->ndim, out->sizes));
    }
    nest_expr *iteration = nest_for(n, "t", lazy_zero(&s->l), all, NEST_PARALLEL), *t = iteration;
    if (p->nbeside) nest_if(n, nest_binary(n, NEST_LT, iteration, iterations));
    if (nloops) {
        nest_expr *at = nloops > 1 ? nest_let(n, "c", nest_mod_index(n, t, chunks)) : t;
        if (nloops > 1) t = nest_let(n, "t", nest_div_index(n, t, chunks));
        flat_index(p, loops, nloops - 1, t);
        if (width > 1) {
            nest_expr *first = nest_let(n, "first", nest_mul(n, at, chunk));
            at = nest_for(n, "j", first, nest_binary(n, NEST_MIN, inner, nest_add(n, first, chunk)),
                          NEST_VECTOR);
        }
        p->index[loops[nloops - 1].last] = at;
    }
    point_store(p);
    if (width > 1) nest_end(n);
    if (p->nbeside) {
        nest_else(n);
        flat_besides(p, iteration, iterations);
        nest_end(n);
    }
    nest_end(n);
    group_set_range(s, all, chunk, point_cost(s));
}

/* ---- tiles ----------------------------------------------------------------------------------- */

/* Where a tile is: its first row and column, and how much of it there is. */
typedef struct flat_tile {
    nest_expr *first_row, *rows, *first_column, *columns;
} flat_tile;

/* A loop of the cooperative group over the places of a tile: `slow` and `fast`, with the condition
 * that they are in it. */
static void flat_open_tile(nest *n, nest_expr *slow_end, nest_expr *fast_end, nest_expr **slow,
                           nest_expr **fast) {
    nest_expr *tile = nest_int(n, POINT_TILE);
    nest_expr *k = nest_for(n, "k", nest_int(n, 0), nest_int(n, POINT_TILE * POINT_TILE),
                            NEST_VECTOR);
    *slow = nest_let(n, "i", nest_div_index(n, k, tile));
    *fast = nest_let(n, "j", nest_mod_index(n, k, tile));
    nest_if(n, nest_binary(n, NEST_AND, nest_binary(n, NEST_LT, *slow, slow_end),
                           nest_binary(n, NEST_LT, *fast, fast_end)));
}
static void flat_close_tile(nest *n) {
    nest_end(n);
    nest_end(n);
}

/* Memory goes along the rows' index: it is the fast one. */
static void flat_stage(group_state *s, const group_staging *g, const flat_tile *t) {
    nest *n = s->l.n;
    int inner = g->w->nvars - 1;
    nest_expr *at[LAZY_MAX_DIMS], *row, *column;
    for (int d = 0; d < g->w->nvars; d++) at[d] = g->at[d];
    flat_open_tile(n, t->columns, t->rows, &column, &row);
    at[inner] = nest_let(n, "c", nest_add(n, t->first_column, column));
    at[inner - 1] = nest_let(n, "r", nest_add(n, t->first_row, row));
    for (int k = 0; k < g->n; k++) {
        const point_staged *p = &g->loads[k];
        nest_expr *from = group_walk_put(s, g->w, p->load->load->args[0], at);
        nest_store(n, p->local, nest_add(n, nest_mul(n, row, nest_int(n, g->pitch)), column),
                   nest_load(n, p->load->load->u.buffer, from));
    }
    flat_close_tile(n);
}

void point_tiled_coop(point_state *p, const group_loop *loops, int nloops, group_staging *g) {
    group_state *s = p->s;
    nest *n = s->l.n;
    int inner = nloops - 1, around = nloops - 2;
    nest_expr *tile = nest_int(n, POINT_TILE), *at[LAZY_MAX_DIMS];
    nest_expr *columns = point_tiles(s, loops[inner].extent),
              *rows = point_tiles(s, loops[around].extent);
    nest_expr *extent = group_mul(s, rows, columns);
    for (int k = 0; k < around; k++) extent = group_mul(s, extent, loops[k].extent);
    n->coop = POINT_TEAM;
    nest_expr *t = nest_for(n, "t", lazy_zero(&s->l), extent, NEST_PARALLEL);
    flat_tile where;
    where.first_column = nest_let(n, "column", nest_mul(n, nest_mod_index(n, t, columns), tile));
    t = nest_let(n, "t", nest_div_index(n, t, columns));
    where.first_row = nest_let(n, "row", nest_mul(n, nest_mod_index(n, t, rows), tile));
    if (around) t = nest_let(n, "t", nest_div_index(n, t, rows));
    flat_index(p, loops, around, t);
    for (int k = 0; k < around; k++) at[k] = p->index[loops[k].last];
    where.columns = nest_let(n, "columns", nest_sub(n, loops[inner].extent, where.first_column));
    where.rows = nest_let(n, "rows", nest_sub(n, loops[around].extent, where.first_row));
    g->at = at;
    flat_stage(s, g, &where);
    flat_open_tile(n, where.rows, where.columns, &g->row, &g->column);
    p->index[loops[around].last] = at[around] = nest_let(n, "r",
                                                         nest_add(n, where.first_row, g->row));
    p->index[loops[inner].last] = at[inner] = nest_let(n, "c",
                                                       nest_add(n, where.first_column, g->column));
    point_begin_staged(s, g);
    point_store(p);
    point_end_staged(s);
    flat_close_tile(n);
    nest_end(n);
    group_set_range(s, extent, nest_int(n, POINT_TILE * POINT_TILE), point_cost(s));
}
