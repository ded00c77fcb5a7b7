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
 * Values that are broadcast are computed again for each element they go to: cheap ones are free, as are those that do not
 * change in the innermost loop; what is neither has no plan.
 * Tests: tests/unit/test_group.c
 */
#include "codegen/group_internal.h"

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
    } else {
        point_nest(s, loops, n, index);
    }
    return true;
}
