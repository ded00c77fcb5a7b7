/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group_pointwise.c - schedule: every element of the outputs on its own.
 *
 *     out = x * y + b                           parallel for (i = 0; i < n; i += 1)
 *     x, y: (n, m), b: (m)             ->           vector for (j = 0; j < m; j += 1)
 *                                                       out[i * m + j] = x[i * m + j] * y[i * m + j] + b[j];
 *
 * Dims that all operands walk through together are one loop: without broadcasting all of them.
 * The innermost loop is the vector one; the outermost is shared by threads, joined with the next
 * ones if it is short.
 *
 * Loads that jump in the innermost loop (a transposed operand, or b in a[i, k] -
 * b[j, k] where j is innermost) go through tiles: 64 columns, and 64 iterations of
 * the loop around, are copied to a local array in memory order, and read from there:
 *
 *     parallel for each tile:
 *         for j:  for k:  tile[k * 64 + j] = b[(first + j) * 10 + k]
 *         for i:  vector for j:  out[i, first + j] = (a[i, 0] - tile[j])^2 + (a[i, 1] - tile[64 + j])^2 + ...
 *
 * Values that are broadcast are computed again for each element they go to: cheap ones are free, as
 * are those that do not change in the innermost loop; what is neither has no plan.
 * Tests: tests/unit/test_group.c
 */
#include "codegen/lower/group_pointwise.h"
#include "codegen/lower/plan/group_tuning.h"

#include <string.h>

static bool point_same_shape(const lazy_tensor *x, const lazy_tensor *y) {
    if (x->ndim != y->ndim) return false;
    for (int d = 0; d < x->ndim; d++)
        if (!group_same(x->sizes[d], y->sizes[d])) return false;
    return true;
}

static int64_t point_numel(group_state *s, const lazy_tensor *t) {
    int64_t n = 1;
    for (int d = 0; d < t->ndim; d++) n *= group_value_of(s, t->sizes[d], 1);
    return n;
}

/* The largest output is the domain; what is beside it must be little, as one thread makes it. */
static bool point_find_domain(point_state *p) {
    group_state *s = p->s;
    bool wide[GROUP_MAX_OUTPUTS] = {false};
    p->domain = NULL;
    for (int i = 0; i < s->noutputs; i++) {
        const lazy_tensor *t = s->outputs[i];
        wide[i] = s->unroll && point_numel(s, t) != point_numel(s, s->reductions[0]->t) &&
                  group_is_wide(s, t, s->reductions[0]);
        if (wide[i]) p->wide[p->nwide++] = i;
        else if (!p->domain || point_numel(s, t) > point_numel(s, p->domain)) p->domain = t;
    }
    if (!p->domain) return false;
    int64_t numel = point_numel(s, p->domain), little = 0;
    for (int i = 0; i < s->noutputs; i++) {
        if (wide[i]) continue;
        bool fits = point_same_shape(s->outputs[i], p->domain);
        if (fits) p->outputs[p->noutputs++] = i;
        else p->beside[p->nbeside++] = i, little += point_numel(s, s->outputs[i]);
    }
    return little * POINT_BESIDE <= numel || numel + little < POINT_LITTLE;
}

/* The index of element k of a wide output, where the domain's is `index`; false: there is none. */
static bool point_wide_at(point_state *p, int i, int64_t k, nest_expr *const *index,
                          nest_expr **at) {
    group_state *s = p->s;
    const lazy_tensor *t = s->outputs[p->wide[i]];
    int last = t->ndim - 1;
    int64_t count;
    if (!group_specialise(s, t->sizes[last], &count)) s->l.failed = true;
    if (s->l.failed || k >= count) return false;
    for (int d = 0; d < last; d++) at[d] = index[d];
    at[last] = plan_expr(s->p, s->a, plan_const(s->p, s->a, k));
    return true;
}

/* Is t dear to make, smaller than the outputs, and different for neighbouring elements of them? */
static bool point_wastes(group_state *s, const lazy_tensor *t, int64_t numel) {
    int own = t->cost;
    for (int i = 0; i < t->ninputs; i++) own -= t->inputs[i]->cost;
    if (own < POINT_AGAIN_COST) return false;
    return t->ndim > 0 && !group_is_one(t->sizes[t->ndim - 1]) &&
           point_numel(s, t) * POINT_AGAIN_TIMES <= numel;
}

static bool point_any_wastes(group_state *s, const lazy_tensor *domain) {
    int64_t numel = point_numel(s, domain);
    for (size_t i = 0; i < s->kept.len; i++)
        if (point_wastes(s, s->kept.data[i]->src, numel)) return true;
    return false;
}

int point_cost(const group_state *s) {
    int64_t cost = 0;
    for (int i = 0; i < s->noutputs; i++) cost += s->outputs[i]->cost + 1;
    return cost > 4096 ? 4096 : (int)cost;
}

void point_store(point_state *p) {
    group_state *s = p->s;
    nest_expr *values[GROUP_MAX_OUTPUTS];
    for (int i = 0; i < p->noutputs; i++)
        values[i] = nest_let(s->l.n, "v", lazy_at(&s->l, s->outputs[p->outputs[i]], p->index));
    nest_expr *at = group_address(s, p->domain->ndim, p->domain->sizes, p->index);
    for (int i = 0; i < p->noutputs; i++)
        nest_store(s->l.n, group_output_buffer(s, p->outputs[i]), at, values[i]);
    for (int i = 0; i < p->nwide; i++) {
        const lazy_tensor *t = s->outputs[p->wide[i]];
        nest_expr *index[LAZY_MAX_DIMS], *v;
        for (int64_t k = 0; point_wide_at(p, i, k, p->index, index); k++) {
            v = nest_let(s->l.n, "v", lazy_at(&s->l, t, index));
            nest_store(s->l.n, group_output_buffer(s, p->wide[i]),
                       group_address(s, t->ndim, t->sizes, index), v);
        }
    }
    lazy_forget(&s->l);
}

/* The loads of all that is made at `index`. */
static void point_note(point_state *p, group_walk *w, nest_expr *const *index) {
    group_state *s = p->s;
    nest_expr *at[LAZY_MAX_DIMS];
    for (int i = 0; i < p->noutputs; i++)
        group_walk_note(s, w, lazy_at(&s->l, s->outputs[p->outputs[i]], index));
    for (int i = 0; i < p->nwide; i++)
        for (int64_t k = 0; point_wide_at(p, i, k, index, at); k++)
            group_walk_note(s, w, lazy_at(&s->l, s->outputs[p->wide[i]], at));
}

/* In iteration t of the parallel loop: the first one makes the outputs of other shapes. */
static void point_make_beside(point_state *p, nest_expr *t) {
    group_state *s = p->s;
    if (!p->nbeside) return;
    if (t) nest_if(s->l.n, nest_binary(s->l.n, NEST_EQ, t, lazy_zero(&s->l)));
    for (int i = 0; i < p->nbeside; i++) group_side_output(s, p->beside[i]);
    if (t) nest_end(s->l.n);
}

/* How many of the outer loops the parallel one takes in. */
static int point_shared(group_state *s, const group_loop *loops, int outer) {
    int64_t iterations = 1;
    for (int k = 0; k < outer; k++) {
        iterations *= group_value_of(s, loops[k].extent, 1);
        if (iterations >= POINT_SHARED) return k + 1;
    }
    return outer;
}

/* One loop over everything may leave the caches. If it computes long enough for that to cost
 * little, what it reads and writes is prefetched: where it does not, the processor's own
 * prefetching has nothing to wait for. */
static unsigned point_prefetch(const group_state *s, const group_loop *loop) {
    int64_t extent;
    if (lazy_is_const(loop->extent, &extent) && extent <= POINT_LITTLE) return 0;
    return point_cost(s) >= POINT_PREFETCH_COST ? NEST_PREFETCH : 0;
}

/* The innermost loop; or, if it is narrow, the one around it with it unrolled inside. */
static void point_inner(point_state *p, const group_loop *loop, const group_loop *narrow,
                        unsigned flags) {
    nest *n = p->s->l.n;
    int64_t width = 1;
    p->index[loop->last] = nest_for(n, "j", lazy_zero(&p->s->l), loop->extent, flags | NEST_VECTOR);
    if (narrow && !lazy_is_const(narrow->extent, &width)) p->s->l.failed = true;
    for (int64_t k = 0; k < width; k++) {
        if (narrow)
            p->index[narrow->last] = plan_expr(p->s->p, p->s->a, plan_const(p->s->p, p->s->a, k));
        point_store(p);
    }
    nest_end(n);
}

/* One loop, and things to be done once: iterations of a block each. */
static void point_blocks(point_state *p, const group_loop *loop) {
    group_state *s = p->s;
    nest *n = s->l.n;
    nest_expr *block = nest_int(n, POINT_BLOCK);
    nest_expr *up = lazy_size(&s->l, NEST_ADD, loop->extent, nest_int(n, POINT_BLOCK - 1));
    /* one iteration at least: what is beside may be more than nothing where the
     * domain is nothing */
    nest_expr *iterations = lazy_size(&s->l, NEST_MAX, lazy_size(&s->l, NEST_DIV_INDEX, up, block),
                                      lazy_one(&s->l));
    nest_expr *t = nest_for(n, "t", lazy_zero(&s->l), iterations, NEST_PARALLEL);
    point_make_beside(p, t);
    nest_expr *first = nest_let(n, "first", nest_mul(n, t, block));
    nest_expr *end = nest_binary(n, NEST_MIN, loop->extent, nest_add(n, first, block));
    p->index[loop->last] = nest_for(n, "j", first, end, NEST_VECTOR | point_prefetch(s, loop));
    point_store(p);
    nest_end(n);
    nest_end(n);
    group_set_range(s, iterations, block, point_cost(s));
}

/* The variable of a loop is the index of its last dim. narrow: the loop in the
 * last one, or NULL. */
static void point_nest(point_state *p, const group_loop *loops, int nloops,
                       const group_loop *narrow) {
    group_state *s = p->s;
    nest *n = s->l.n;
    int outer = nloops - 1, shared = point_shared(s, loops, outer);
    nest_expr *zero = lazy_zero(&s->l), *extent = lazy_one(&s->l), *work = loops[outer].extent;
    for (int k = 0; k < shared; k++) extent = group_mul(s, extent, loops[k].extent);
    for (int k = shared; k < outer; k++) work = group_mul(s, work, loops[k].extent);
    if (p->nbeside) extent = lazy_size(&s->l, NEST_MAX, extent, lazy_one(&s->l));
    nest_expr *t = nest_for(n, "t", zero, extent, NEST_PARALLEL);
    point_make_beside(p, t);
    if (p->nbeside) { /* the iteration that is there for them alone */
        nest_expr *any = lazy_one(&s->l);
        for (int k = 0; k < shared; k++) any = group_mul(s, any, loops[k].extent);
        nest_if(n, nest_binary(n, NEST_LT, t, any));
    }
    for (int k = shared - 1; k > 0; k--) {
        p->index[loops[k].last] = nest_let(n, "i", nest_mod_index(n, t, loops[k].extent));
        t = nest_let(n, "t", nest_div_index(n, t, loops[k].extent));
    }
    p->index[loops[0].last] = t;
    for (int k = shared; k < outer; k++)
        p->index[loops[k].last] = nest_for(n, "i", zero, loops[k].extent, 0);
    point_inner(p, &loops[outer], narrow, 0);
    for (int k = shared; k < outer; k++) nest_end(n);
    if (p->nbeside) nest_end(n);
    nest_end(n);
    group_set_range(s, extent, work, point_cost(s));
}

/* ---- tiles ----------------------------------------------------------------------------------- */

static nest_expr *point_staged_load(void *ctx, nest_buffer *b, nest_expr *address) {
    group_state *s = ctx;
    const group_staging *g = s->staging;
    for (int i = 0; i < g->n; i++) {
        const point_staged *p = &g->loads[i];
        if (p->load->load->u.buffer != b ||
            !group_walk_is(g->w, p->load->load->args[0], g->at, address))
            continue;
        nest_expr *at = p->rows ? nest_mul(s->l.n, g->row, nest_int(s->l.n, g->pitch))
                                : lazy_zero(&s->l);
        return nest_load(s->l.n, p->local, nest_add(s->l.n, at, g->column));
    }
    return NULL;
}

void point_begin_staged(group_state *s, group_staging *g) {
    s->staging = g;
    s->l.load = point_staged_load;
    lazy_forget(&s->l);
}
void point_end_staged(group_state *s) {
    s->l.load = NULL;
    lazy_forget(&s->l);
}

static bool point_is_const(const nest_expr *e, int64_t k) {
    return e->op == NEST_CONST && e->u.i == k;
}

/* Which loads jump in the last loop, and can be copied: they stay the same in the loop around, or
 * walk there through memory. */
static void point_find_staged(group_state *s, const group_walk *w, group_staging *g) {
    int inner = w->nvars - 1;
    size_t bytes = 0;
    for (int i = 0; i < w->nloads && g->n < POINT_MAX_STAGED; i++) {
        const group_load *l = &w->loads[i];
        const nest_expr *step = l->step[inner], *around = l->step[inner - 1];
        if (!step || !around || point_is_const(step, 0) || point_is_const(step, 1)) continue;
        bool rows = point_is_const(around, 1);
        if (!rows && s->target == GROUP_CUDA) continue; /* the cache serves them */
        size_t length = (size_t)(rows ? POINT_TILE * g->pitch : POINT_TILE);
        bytes += length * dtype_size(l->load->u.buffer->dt);
        if ((!rows && !point_is_const(around, 0)) || bytes > POINT_STAGED_BYTES) continue;
        g->loads[g->n++] = (point_staged){
            l, nest_add_local(s->p->nest, "tile", l->load->u.buffer->dt, (int64_t)length), rows};
    }
}

/* The copying loops. columns, rows: of this tile. */
static void point_stage(group_state *s, const group_staging *g, nest_expr *first_row,
                        nest_expr *rows, nest_expr *first_column, nest_expr *columns) {
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
            nest_store(n, p->local, pass ? nest_add(n, nest_mul(n, i, tile), j) : j,
                       nest_load(n, p->load->load->u.buffer, from));
        }
        if (pass) nest_end(n);
        nest_end(n);
    }
}

nest_expr *point_tiles(group_state *s, nest_expr *extent) {
    nest_expr *up = lazy_size(&s->l, NEST_ADD, extent, nest_int(s->l.n, POINT_TILE - 1));
    return lazy_size(&s->l, NEST_DIV_INDEX, up, nest_int(s->l.n, POINT_TILE));
}

/* Chunks of the parallel loop: an outer index, a tile of the loop around, a tile
 * of the inner one. */
static void point_tiled(point_state *p, const group_loop *loops, int nloops, group_staging *g) {
    group_state *s = p->s;
    nest *n = s->l.n;
    nest_expr **index = p->index;
    int inner = nloops - 1, around = nloops - 2;
    nest_expr *zero = lazy_zero(&s->l), *tile = nest_int(n, POINT_TILE), *at[LAZY_MAX_DIMS];
    nest_expr *columns = point_tiles(s, loops[inner].extent),
              *rows = point_tiles(s, loops[around].extent);
    nest_expr *extent = group_mul(s, rows, columns);
    for (int k = 0; k < around; k++) extent = group_mul(s, extent, loops[k].extent);
    nest_expr *t = nest_for(n, "t", zero, extent, NEST_PARALLEL);
    nest_expr *first_column = nest_let(n, "column",
                                       nest_mul(n, nest_mod_index(n, t, columns), tile));
    t = nest_let(n, "t", nest_div_index(n, t, columns));
    nest_expr *first_row = nest_let(n, "row", nest_mul(n, nest_mod_index(n, t, rows), tile));
    t = nest_let(n, "t", nest_div_index(n, t, rows));
    for (int k = around - 1; k >= 0; k--) {
        index[loops[k].last] = at[k] = k ? nest_let(n, "i", nest_mod_index(n, t, loops[k].extent))
                                         : t;
        if (k) t = nest_let(n, "t", nest_div_index(n, t, loops[k].extent));
    }
    nest_expr *width = nest_let(
        n, "width", nest_binary(n, NEST_MIN, tile, nest_sub(n, loops[inner].extent, first_column)));
    nest_expr *height = nest_let(
        n, "height", nest_binary(n, NEST_MIN, tile, nest_sub(n, loops[around].extent, first_row)));
    g->at = at;
    point_stage(s, g, first_row, height, first_column, width);
    g->row = nest_for(n, "i", zero, height, 0);
    index[loops[around].last] = at[around] = nest_let(n, "r", nest_add(n, first_row, g->row));
    g->column = nest_for(n, "j", zero, width, NEST_VECTOR);
    index[loops[inner].last] = at[inner] = nest_add(n, first_column, g->column);
    point_begin_staged(s, g);
    point_store(p);
    point_end_staged(s);
    for (int k = 0; k < 3; k++) nest_end(n);
    group_set_range(s, extent, nest_int(n, POINT_TILE * POINT_TILE), point_cost(s));
}

/* Asks again, with the loops' variables as indices, so that addresses look as they
 * will in the code. */
static bool point_tile(point_state *p, const group_loop *loops, int nloops) {
    group_state *s = p->s;
    group_walk w;
    group_staging *g = arena_new(s->a, group_staging);
    nest_expr *extents[LAZY_MAX_DIMS], *at[LAZY_MAX_DIMS];
    if (nloops < 2 || p->nbeside) return false;
    memcpy(at, p->index, sizeof at);
    for (int k = 0; k < nloops; k++) extents[k] = loops[k].extent;
    group_walk_begin(s, &w, nloops, extents);
    for (int k = 0; k < nloops; k++) at[loops[k].last] = w.vars[k];
    point_note(p, &w, at);
    group_walk_end(s, &w);
    g->w = &w;
    /* of shared memory's banks, columns are to use different ones */
    g->pitch = s->target == GROUP_CUDA ? POINT_TILE + 1 : POINT_TILE;
    point_find_staged(s, &w, g);
    if (!g->n) return false;
    s->p->schedule = s->target == GROUP_CUDA ? GROUP_CUDA_TILES : GROUP_TILES;
    (s->target == GROUP_CUDA ? point_tiled_coop : point_tiled)(p, loops, nloops, g);
    return true;
}

/* ---- the schedule ---------------------------------------------------------------------------- */

/* Is the last loop so short that the one around it is the better vector loop? Then its
 * length is to be known. */
static bool point_is_narrow(group_state *s, const group_loop *loops, int nloops) {
    if (nloops < 2 || s->unroll) return false;
    int64_t width = group_value_of(s, loops[nloops - 1].extent, 0),
            around = group_value_of(s, loops[nloops - 2].extent, 0);
    return width > 0 && width <= POINT_NARROW && around >= 4 * POINT_NARROW;
}

bool group_schedule_pointwise(group_state *s) {
    point_state p = {.s = s};
    group_walk w;
    group_loop loops[LAZY_MAX_DIMS];
    if (!point_find_domain(&p) || point_any_wastes(s, p.domain)) return false;
    const lazy_tensor *domain = p.domain;
    group_walk_begin(s, &w, domain->ndim, domain->sizes);
    point_note(&p, &w, w.vars);
    group_walk_end(s, &w);
    if (w.too_many || s->l.failed) return false;
    for (int d = 0; d < domain->ndim; d++) p.index[d] = lazy_zero(&s->l);
    int n = group_loops(s, &w, 0, domain->ndim, loops);
    s->p->schedule = s->target == GROUP_CUDA ? GROUP_CUDA_ELEMENTS
                     : p.nbeside             ? GROUP_BESIDE
                                             : GROUP_ELEMENTS;
    if (s->target == GROUP_CUDA) {
        if (!point_tile(&p, loops, n)) point_flat(&p, &w, loops, n);
        return !s->l.failed;
    }
    bool narrow = !p.nbeside && point_is_narrow(s, loops, n);
    if (narrow && group_ask_constant(s, loops[n - 1].extent)) return false;
    narrow = narrow && loops[n - 1].extent->op == NEST_CONST;
    if (narrow) s->p->schedule = GROUP_NARROW;
    if (n == 0) {
        point_make_beside(&p, NULL);
        point_store(&p);
    } else if (n == 1 && p.nbeside) {
        point_blocks(&p, &loops[0]);
    } else if (n - narrow == 1) {
        point_inner(&p, &loops[0], narrow ? &loops[1] : NULL,
                    NEST_PARALLEL | (narrow ? 0 : point_prefetch(s, &loops[0])));
        group_set_range(s, loops[0].extent, narrow ? loops[1].extent : lazy_one(&s->l),
                        point_cost(s));
    } else if (narrow || !point_tile(&p, loops, n)) {
        point_nest(&p, loops, n - narrow, narrow ? &loops[n - 1] : NULL);
    }
    return !s->l.failed;
}
