/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group_reduce_index.c - position of a minimum or maximum: argmax, argmin, max, min with a dim.
 *
 *     argmax(x)  =  min over i of (x[i] == high or x[i] is NaN ? i : nowhere)    with  high = max(x), NaN if any is
 *
 * Method: two plain reductions, the second over positions. That vectorises, works in every schedule
 * and in blocks, and gives the first of equals, and the first NaN where there is one. Long rows are
 * looked through once: a schedule notes which block had the minmax first, and seeks the place there
 * (group_stages_arg). Rejected: a pair of value and position that is reduced at once, which needs
 * accumulators of two parts in all schedules and is slower, as it compares twice an element.
 * Positions are counted in 32 bits: twice the lanes; the plan says that there are no more.
 * Tests: tests/unit/test_group.c
 */
#include "codegen/lower/group_reduce.h"

#include <string.h>

/* ---- positions ------------------------------------------------------------------------------- */

/* The position of an element among those that its result is made of, counted as if they
 * were contiguous. */
static nest_expr *index_at(lazy *l, const lazy_tensor *t, nest_expr *const *index) {
    const reduced_over *o = t->impl;
    nest_expr *at = lazy_zero(l), *step = lazy_one(l);
    for (int d = t->ndim - 1; d >= 0; d--) {
        if (!o->mask[d]) continue;
        at = nest_add(l->n, at, nest_mul(l->n, index[d], step));
        step = lazy_size(l, NEST_MUL, step, t->sizes[d]);
    }
    return nest_cast(l->n, NEST_I32, at);
}

static lazy_tensor *index_positions(group_state *s, const reduced_over *o) {
    reduced_over *own = arena_new(s->a, reduced_over);
    *own = *o;
    return lazy_new(&s->l, DT_INT32, o->x->ndim, o->x->sizes, index_at, own);
}

/* ---- minmaxes -------------------------------------------------------------------------------- */

/* x: what is compared, in its computing type; minmax: beside it. */
static lazy_tensor *index_of_minmax(group_state *s, const reduced_over *o, lazy_tensor *x,
                                    lazy_tensor *minmax) {
    lazy_tensor *here = reduced_compare(s, NEST_EQ, x, minmax);
    if (x && dtype_is_float(x->dt)) {
        const lazy_emitter either = {lazy_emit_op, NULL, NEST_OR, 2, true};
        const lazy_tensor *both[2] = {here, reduced_compare(s, NEST_NE, x, x)};
        here = both[0] && both[1]
                   ? lazy_pointwise(&s->l, &either, DT_BOOL, DT_BOOL, 2, both, NULL, NULL)
                   : NULL;
    }
    lazy_tensor *at = reduced_where(s, here, index_positions(s, o),
                                    reduced_constant(s, DT_INT32, INT32_MAX));
    lazy_tensor *place = reduced_of(s, o, at, NEST_ACC_MIN);
    if (place) group_reduction_of(place)->place_of = group_reduction_of(minmax);
    return reduced_cast(s, place, DT_INT64);
}

/* The minmax beside x, for elements of x in the computing type. *x: those elements.
 * NULL: there is none. */
static lazy_tensor *index_minmax(group_state *s, const reduced_over *o, bool max, lazy_tensor **x) {
    nest_expr *room = lazy_size(&s->l, NEST_SUB, nest_int(s->l.n, INT32_MAX), o->count);
    if (!lazy_is_positive(&s->l, o->count) || !lazy_is_positive(&s->l, room)) return NULL;
    *x = group_keep(s, reduced_cast(s, o->x, reduced_wide(o->x->dt)));
    return reduced_beside(s, o, *x, max ? NEST_ACC_MAX : NEST_ACC_MIN);
}

lazy_tensor *reduced_place(group_state *s, lowered_op rule, const node *n, const lazy_arg *args,
                           reduced_over *o) {
    (void)n;
    (void)args;
    lazy_tensor *x = NULL;
    if (o->x->dt == DT_BOOL) return NULL; /* refused */
    lazy_tensor *minmax = index_minmax(s, o, rule == LOWER_argmax, &x);
    return minmax ? index_of_minmax(s, o, x, minmax) : NULL;
}

lazy_tensor *reduced_minmax_and_place(group_state *s, lowered_op rule, const node *n,
                                      const lazy_arg *args, reduced_over *o) {
    (void)n;
    (void)args;
    lazy_tensor *x = NULL, *minmax = index_minmax(s, o, rule == LOWER_max_dim, &x);
    if (!minmax) return NULL;
    o->second = index_of_minmax(s, o, x, minmax);
    return reduced_drop(s, o, reduced_cast(s, minmax, o->x->dt));
}
