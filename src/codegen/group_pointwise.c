/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group_pointwise.c - schedule: every element of the outputs on its own.
 *
 *     out = x * y + b                           parallel for (i = 0; i < n; i += 1)
 *     x, y: (n, m), b: (m)             ->           vector for (j = 0; j < m; j += 1)
 *                                                       out[i * m + j] = x[i * m + j] * y[i * m + j] + b[j];
 *
 * Dims that all operands walk through together are one loop: without broadcasting all of them. The innermost loop is the vector one; the
 * outermost is shared by threads, joined with the next ones if it is short.
 *
 * Loads that jump in the innermost loop (a transposed operand, or b in a[i, k] - b[j, k] where j is innermost) go through tiles: 64 columns,
 * and 64 rounds of the loop around, are copied to a local array in the order they lie in memory, and read from there:
 *
 *     parallel for each tile:
 *         for j:  for k:  tile[k * 64 + j] = b[(first + j) * 10 + k]
 *         for i:  vector for j:  out[i, first + j] = (a[i, 0] - tile[j])^2 + (a[i, 1] - tile[64 + j])^2 + ...
 *
 * Values that are broadcast are computed again for each element they go to: cheap ones are free, as are those that do not
 * change in the innermost loop; what is neither has no plan.
 * Tests: tests/unit/test_group.c
 */
#include "codegen/group_internal.h"

#include <string.h>

enum {
    POINT_AGAIN_COST = 24,  /* what is dearer is not computed over and over */
    POINT_AGAIN_TIMES = 4,
    POINT_SHARED = 16,      /* rounds that the parallel loop should have */
};

/* All outputs have one shape. */
static bool point_same_shape(const group_state *s) {
    const lazy_tensor *t = s->outputs[0];
    for (int i = 1; i < s->noutputs; i++) {
        if (s->outputs[i]->ndim != t->ndim) return false;
        for (int d = 0; d < t->ndim; d++)
            if (!group_same(s->outputs[i]->sizes[d], t->sizes[d])) return false;
    }
    return true;
}

static int64_t point_numel(group_state *s, const lazy_tensor *t) {
    int64_t n = 1;
    for (int d = 0; d < t->ndim; d++) n *= group_value_of(s, t->sizes[d], 1);
    return n;
}

static bool point_is_one(const nest_expr *e) {
    return e->op == NEST_CONST && e->u.i == 1;
}

/* Is t dear to make, smaller than the outputs, and different for neighbouring elements of them? */
static bool point_wastes(group_state *s, const lazy_tensor *t, int64_t numel) {
    int own = t->cost;
    for (int i = 0; i < t->ninputs; i++) own -= t->inputs[i]->cost;
    if (own < POINT_AGAIN_COST) return false;
    return t->ndim > 0 && !point_is_one(t->sizes[t->ndim - 1]) && point_numel(s, t) * POINT_AGAIN_TIMES <= numel;
}

static bool point_any_wastes(group_state *s) {
    int64_t numel = point_numel(s, s->outputs[0]);
    for (size_t i = 0; i < s->kept.len; i++)
        if (point_wastes(s, s->kept.data[i]->src, numel)) return true;
    return false;
}

static int point_cost(const group_state *s) {
    int64_t cost = 0;
    for (int i = 0; i < s->noutputs; i++) cost += s->outputs[i]->cost + 1;
    return cost > 4096 ? 4096 : (int)cost;
}

static void point_store(group_state *s, nest_expr *const *index) {
    nest_expr *values[GROUP_MAX_OUTPUTS];
    for (int i = 0; i < s->noutputs; i++) values[i] = nest_let(s->l.n, "v", lazy_at(&s->l, s->outputs[i], index));
    nest_expr *at = group_address(s, s->outputs[0]->ndim, s->outputs[0]->sizes, index);
    for (int i = 0; i < s->noutputs; i++) nest_store(s->l.n, group_output_buffer(s, i), at, values[i]);
}

/* How many of the outer loops the parallel one takes in. */
static int point_shared(group_state *s, const group_loop *loops, int outer) {
    int64_t rounds = 1;
    for (int k = 0; k < outer; k++) {
        rounds *= group_value_of(s, loops[k].extent, 1);
        if (rounds >= POINT_SHARED) return k + 1;
    }
    return outer;
}

/* The variable of a loop is the index of its last dim. */
static void point_nest(group_state *s, const group_loop *loops, int nloops, nest_expr **index) {
    nest *n = s->l.n;
    int outer = nloops - 1, shared = point_shared(s, loops, outer);
    nest_expr *zero = lazy_zero(&s->l), *extent = lazy_one(&s->l), *work = loops[outer].extent;
    for (int k = 0; k < shared; k++) extent = group_mul(s, extent, loops[k].extent);
    for (int k = shared; k < outer; k++) work = group_mul(s, work, loops[k].extent);
    nest_expr *t = nest_for(n, "t", zero, extent, NEST_PARALLEL);
    for (int k = shared - 1; k > 0; k--) {
        index[loops[k].last] = nest_let(n, "i", nest_mod_index(n, t, loops[k].extent));
        t = nest_let(n, "t", nest_div_index(n, t, loops[k].extent));
    }
    index[loops[0].last] = t;
    for (int k = shared; k < outer; k++) index[loops[k].last] = nest_for(n, "i", zero, loops[k].extent, 0);
    index[loops[outer].last] = nest_for(n, "j", zero, loops[outer].extent, NEST_VECTOR);
    point_store(s, index);
    for (int k = shared; k < nloops; k++) nest_end(n);
    nest_end(n);
    group_set_range(s, extent, work, point_cost(s));
}

/* ---- tiles ------------------------------------------------------------------------------ */

enum { POINT_TILE = 64, POINT_MAX_STAGED = 64, POINT_STAGED_BYTES = 48 * 1024 };

/* A load that is copied first. Its address as the walk has it; rows: one element per round of the loop around, too. */
typedef struct point_staged { const group_load *load; nest_buffer *local; bool rows; } point_staged;

typedef struct group_staging {
    const group_walk *w;          /* of the loops */
    point_staged loads[POINT_MAX_STAGED];
    int n;
    nest_expr **at;               /* what the walk's variables are now */
    nest_expr *row, *column;      /* in the tile */
} group_staging;

static nest_expr *point_staged_load(void *ctx, nest_buffer *b, nest_expr *address) {
    group_state *s = ctx;
    const group_staging *g = s->staging;
    for (int i = 0; i < g->n; i++) {
        const point_staged *p = &g->loads[i];
        if (p->load->load->u.buffer != b || !group_walk_is(g->w, p->load->load->args[0], g->at, address)) continue;
        nest_expr *at = p->rows ? nest_mul(s->l.n, g->row, nest_int(s->l.n, POINT_TILE)) : lazy_zero(&s->l);
        return nest_load(s->l.n, p->local, nest_add(s->l.n, at, g->column));
    }
    return NULL;
}

static bool point_is_const(const nest_expr *e, int64_t k) {
    return e->op == NEST_CONST && e->u.i == k;
}

/* Which loads jump in the last loop, and can be copied: they stay the same in the loop around, or walk there through memory. */
static void point_find_staged(group_state *s, const group_walk *w, group_staging *g) {
    int inner = w->nvars - 1;
    size_t bytes = 0;
    for (int i = 0; i < w->nloads && g->n < POINT_MAX_STAGED; i++) {
        const group_load *l = &w->loads[i];
        const nest_expr *step = l->step[inner], *around = l->step[inner - 1];
        if (!step || !around || point_is_const(step, 0) || point_is_const(step, 1)) continue;
        bool rows = point_is_const(around, 1);
        size_t length = rows ? POINT_TILE * POINT_TILE : POINT_TILE;
        bytes += length * dtype_size(l->load->u.buffer->dt);
        if ((!rows && !point_is_const(around, 0)) || bytes > POINT_STAGED_BYTES) continue;
        g->loads[g->n++] = (point_staged){l, nest_add_local(s->p->nest, "tile", l->load->u.buffer->dt, (int64_t)length), rows};
    }
}

/* The copying loops. columns, rows: of this tile. */
static void point_stage(group_state *s, const group_staging *g, nest_expr *first_row, nest_expr *rows, nest_expr *first_column,
                        nest_expr *columns) {
    nest *n = s->l.n;
    int inner = g->w->nvars - 1;
    nest_expr *at[LAZY_MAX_DIMS], *tile = nest_int(n, POINT_TILE);
    for (int d = 0; d < g->w->nvars; d++) at[d] = g->at[d];
    for (int pass = 0; pass < 2; pass++) {
        bool any = false;
        for (int i = 0; i < g->n; i++) any |= g->loads[i].rows == pass;
        if (!any) continue;
        nest_expr *j = nest_for(n, "j", lazy_zero(&s->l), columns, 0), *i = NULL;
        if (pass) i = nest_for(n, "i", lazy_zero(&s->l), rows, 0);
        at[inner] = nest_let(n, "c", nest_add(n, first_column, j));
        at[inner - 1] = pass ? nest_let(n, "r", nest_add(n, first_row, i)) : lazy_zero(&s->l);
        for (int k = 0; k < g->n; k++) {
            const point_staged *p = &g->loads[k];
            if (p->rows != pass) continue;
            nest_expr *from = group_walk_put(s, g->w, p->load->load->args[0], at);
            nest_store(n, p->local, pass ? nest_add(n, nest_mul(n, i, tile), j) : j, nest_load(n, p->load->load->u.buffer, from));
        }
        if (pass) nest_end(n);
        nest_end(n);
    }
}

static nest_expr *point_tiles(group_state *s, nest_expr *extent) {
    nest_expr *up = lazy_size(&s->l, NEST_ADD, extent, nest_int(s->l.n, POINT_TILE - 1));
    return lazy_size(&s->l, NEST_DIV_INDEX, up, nest_int(s->l.n, POINT_TILE));
}

/* Pieces of the parallel loop: an outer index, a tile of the loop around, a tile of the inner one. */
static void point_tiled(group_state *s, const group_loop *loops, int nloops, group_staging *g, nest_expr **index) {
    nest *n = s->l.n;
    int inner = nloops - 1, around = nloops - 2;
    nest_expr *zero = lazy_zero(&s->l), *tile = nest_int(n, POINT_TILE), *at[LAZY_MAX_DIMS];
    nest_expr *columns = point_tiles(s, loops[inner].extent), *rows = point_tiles(s, loops[around].extent);
    nest_expr *extent = group_mul(s, rows, columns);
    for (int k = 0; k < around; k++) extent = group_mul(s, extent, loops[k].extent);
    nest_expr *t = nest_for(n, "t", zero, extent, NEST_PARALLEL);
    nest_expr *first_column = nest_let(n, "column", nest_mul(n, nest_mod_index(n, t, columns), tile));
    t = nest_let(n, "t", nest_div_index(n, t, columns));
    nest_expr *first_row = nest_let(n, "row", nest_mul(n, nest_mod_index(n, t, rows), tile));
    t = nest_let(n, "t", nest_div_index(n, t, rows));
    for (int k = around - 1; k >= 0; k--) {
        index[loops[k].last] = at[k] = k ? nest_let(n, "i", nest_mod_index(n, t, loops[k].extent)) : t;
        if (k) t = nest_let(n, "t", nest_div_index(n, t, loops[k].extent));
    }
    nest_expr *width = nest_let(n, "width", nest_binary(n, NEST_MIN, tile, nest_sub(n, loops[inner].extent, first_column)));
    nest_expr *height = nest_let(n, "height", nest_binary(n, NEST_MIN, tile, nest_sub(n, loops[around].extent, first_row)));
    g->at = at;
    point_stage(s, g, first_row, height, first_column, width);
    g->row = nest_for(n, "i", zero, height, 0);
    index[loops[around].last] = at[around] = nest_let(n, "r", nest_add(n, first_row, g->row));
    g->column = nest_for(n, "j", zero, width, NEST_VECTOR);
    index[loops[inner].last] = at[inner] = nest_add(n, first_column, g->column);
    s->staging = g;
    s->l.load = point_staged_load;
    lazy_forget(&s->l);
    point_store(s, index);
    s->l.load = NULL;
    for (int k = 0; k < 3; k++) nest_end(n);
    group_set_range(s, extent, nest_int(n, POINT_TILE * POINT_TILE), point_cost(s));
}

/* Asks again, with the loops' variables as indices, so that addresses look as they will in the code. */
static bool point_tile(group_state *s, const group_loop *loops, int nloops, nest_expr **index) {
    group_walk w;
    group_staging *g = arena_new(s->a, group_staging);
    nest_expr *extents[LAZY_MAX_DIMS], *at[LAZY_MAX_DIMS];
    if (nloops < 2) return false;
    memcpy(at, index, sizeof at);
    for (int k = 0; k < nloops; k++) extents[k] = loops[k].extent;
    group_walk_begin(s, &w, nloops, extents);
    for (int k = 0; k < nloops; k++) at[loops[k].last] = w.vars[k];
    for (int i = 0; i < s->noutputs; i++) group_walk_note(s, &w, lazy_at(&s->l, s->outputs[i], at));
    group_walk_end(s, &w);
    g->w = &w;
    point_find_staged(s, &w, g);
    if (g->n) point_tiled(s, loops, nloops, g, index);
    return g->n > 0;
}

/* ---- the schedule ----------------------------------------------------------------------- */

bool group_schedule_pointwise(group_state *s) {
    const lazy_tensor *out = s->outputs[0];
    nest_expr *index[LAZY_MAX_DIMS];
    group_walk w;
    group_loop loops[LAZY_MAX_DIMS];
    if (!point_same_shape(s) || point_any_wastes(s)) return false;
    group_walk_begin(s, &w, out->ndim, out->sizes);
    for (int i = 0; i < s->noutputs; i++) group_walk_note(s, &w, lazy_at(&s->l, s->outputs[i], w.vars));
    group_walk_end(s, &w);
    if (w.too_many || s->l.failed) return false;
    for (int d = 0; d < out->ndim; d++) index[d] = lazy_zero(&s->l);
    int n = group_loops(s, &w, 0, out->ndim, loops);
    if (n == 0) {
        point_store(s, index);
    } else if (n == 1) {
        index[loops[0].last] = nest_for(s->l.n, "i", lazy_zero(&s->l), loops[0].extent, NEST_PARALLEL | NEST_VECTOR);
        point_store(s, index);
        nest_end(s->l.n);
        group_set_range(s, loops[0].extent, lazy_one(&s->l), point_cost(s));
    } else if (!point_tile(s, loops, n, index)) {
        point_nest(s, loops, n, index);
    }
    return !s->l.failed;
}
