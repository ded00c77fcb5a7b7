/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group_stages.c - reductions that depend on one another: their shape, their order, and which
 * values are kept between stages.
 *
 * Stages. All reductions of a group are over the same dims of values of one shape, S; outputs have
 * shape S or one element per result. A reduction whose operand needs another reduction first runs
 * in a stage after it; outputs of shape S are written in the last stage.
 *
 * Stored values. A value of shape S that is dear and that several stages need is materialised when
 * it is first made, in an output of its dtype, which is overwritten last, or in a local row;
 * everything else is computed again from the operands.
 * Tests: tests/unit/test_group.c
 */
#include "codegen/lower/group_internal.h"
#include "codegen/lower/plan/group_tuning.h"

#include <string.h>

bool group_is_one(const nest_expr *e) { return e->op == NEST_CONST && e->u.i == 1; }

/* ---- shape ----------------------------------------------------------------------------------- */

static bool stages_reaches(const lazy_tensor *from, const lazy_tensor *t, ptrmap *seen) {
    if (from == t) return true;
    if (ptrmap_get(seen, from)) return false;
    if (!ptrmap_put(seen, from, (void *)from)) return true;
    for (int i = 0; i < from->ninputs; i++)
        if (stages_reaches(from->inputs[i], t, seen)) return true;
    return false;
}
static bool stages_is_used(const group_state *s, const lazy_tensor *t) {
    ptrmap seen = {0};
    bool used = false;
    for (int i = 0; i < s->noutputs && !used; i++) used = stages_reaches(s->outputs[i], t, &seen);
    ptrmap_free(&seen);
    return used;
}

static bool stages_same(int n, nest_expr *const *x, nest_expr *const *y) {
    for (int d = 0; d < n; d++)
        if (!group_same(x[d], y[d])) return false;
    return true;
}

/* All reductions are of one shape, and over the same dims. Whether a dim of size 1 is reduced
 * makes no difference. */
static bool stages_add_reduction(group_stages *f, group_reduction *r) {
    int n = r->src->ndim;
    if (!f->nreductions) {
        f->ndim = n;
        memcpy(f->sizes, r->src->sizes, sizeof f->sizes);
        memcpy(f->mask, r->mask, sizeof f->mask);
    }
    if (n != f->ndim || !stages_same(n, r->src->sizes, f->sizes)) return false;
    for (int d = 0; d < n; d++)
        if (r->mask[d] != f->mask[d]) return false;
    f->reductions[f->nreductions++] = r;
    if (r->t->depth >= f->last) f->last = r->t->depth + 1;
    return true;
}

/* Has t the shape of a result, with the reduced dims left out or of size 1? */
static bool stages_is_result(const group_stages *f, const lazy_tensor *t) {
    int next = 0;
    bool with = t->ndim == f->ndim;
    for (int d = 0; d < f->ndim; d++) {
        if (f->mask[d] && !with) continue;
        if (next == t->ndim) return false;
        const nest_expr *size = t->sizes[next++];
        if (f->mask[d] ? !group_is_one(size) : !group_same(size, f->sizes[d])) return false;
    }
    return next == t->ndim;
}

/* One result in all: then values made from it may have any shape, as they are made after it. */
static bool stages_is_single(const group_stages *f) {
    for (int d = 0; d < f->ndim; d++)
        if (!f->mask[d] && !group_is_one(f->sizes[d])) return false;
    return true;
}

bool group_stages_find(group_state *s, group_stages *f) {
    *f = (group_stages){.s = s};
    for (int i = 0; i < s->nreductions; i++)
        if (stages_is_used(s, s->reductions[i]->t) && !stages_add_reduction(f, s->reductions[i]))
            return false;
    int64_t beside = 0;
    if (!f->nreductions) return false;
    for (int i = 0; i < s->noutputs; i++) {
        const lazy_tensor *t = s->outputs[i];
        f->full[i] = t->ndim == f->ndim && stages_same(t->ndim, t->sizes, f->sizes);
        f->result[i] = !f->full[i] && stages_is_result(f, t);
        if (f->result[i] && group_is_scattered(s, i)) return false;
        if (f->full[i] || f->result[i]) continue;
        f->nbeside++;
        beside += group_value_of(s, group_numel(s, t->ndim, t->sizes), 0);
        if (t->depth > 0 && !stages_is_single(f)) return false;
    }
    int64_t all = group_value_of(s, group_numel(s, f->ndim, f->sizes), 0);
    return beside * STAGES_BESIDE <= all || beside + all < STAGES_LITTLE;
}

void group_stages_beside(group_stages *f, nest_expr *t, nest_expr *extent) {
    group_state *s = f->s;
    if (!f->nbeside) return;
    if (t && !lazy_is_positive(&s->l, extent)) s->l.failed = true;
    if (t) nest_if(s->l.n, nest_binary(s->l.n, NEST_EQ, t, lazy_zero(&s->l)));
    for (int i = 0; i < s->noutputs; i++)
        if (!f->full[i] && !f->result[i]) group_side_output(s, i);
    if (t) nest_end(s->l.n);
}

void group_stages_index(const group_stages *f, const lazy_tensor *t, nest_expr *const *index,
                        nest_expr **out) {
    int next = 0;
    bool with = t->ndim == f->ndim;
    for (int d = 0; d < f->ndim; d++)
        if (with || !f->mask[d]) out[next++] = f->mask[d] ? lazy_zero(&f->s->l) : index[d];
}

void group_stages_bind(group_stages *f, group_reduction *r, nest_expr *value,
                       nest_expr *const *index) {
    nest_expr *at[LAZY_MAX_DIMS];
    if (value) group_stages_index(f, r->t, index, at);
    group_bind_reduction(f->s, r, value, at);
}

bool group_stages_is_inner(const group_stages *f) {
    int last = -1;
    for (int d = 0; d < f->ndim; d++)
        if (!group_is_one(f->sizes[d])) last = d;
    return last < 0 || f->mask[last];
}

nest_expr *group_stages_width(const group_stages *f) {
    nest_expr *n = lazy_one(&f->s->l);
    for (int d = f->ndim - 1; d >= 0; d--)
        if (f->mask[d]) n = group_mul(f->s, n, f->sizes[d]);
    return n;
}

nest_expr *group_stages_address(const group_stages *f, nest_expr *const *index) {
    nest_expr *sizes[LAZY_MAX_DIMS], *at[LAZY_MAX_DIMS];
    int n = 0;
    for (int d = 0; d < f->ndim; d++) {
        if (f->mask[d]) continue;
        sizes[n] = f->sizes[d];
        at[n++] = index[d];
    }
    return group_address(f->s, n, sizes, at);
}

int group_stages_cost(const group_stages *f) {
    int64_t cost = 0;
    for (int i = 0; i < f->nreductions; i++) cost += f->reductions[i]->src->cost + 1;
    for (int i = 0; i < f->s->noutputs; i++) cost += f->full[i] ? f->s->outputs[i]->cost + 1 : 0;
    return cost > 4096 ? 4096 : (int)cost;
}

/* The loops over dims that are reduced, or over those that are not: dims that are neighbours are
 * joined where that can be done. */
static int stages_loops(group_stages *f, const group_walk *w, bool reduced, group_loop *out) {
    int n = 0;
    for (int d = 0, end; d < f->ndim; d = end) {
        for (end = d + 1; end < f->ndim && f->mask[end] == f->mask[d];) end++;
        if (f->mask[d] == reduced) n += group_loops(f->s, w, d, end, out + n);
    }
    return n;
}

/* Does a load jump from element to element of the innermost loop? A vector of it is many loads. */
static bool stages_gathers(const group_stages *f, const group_walk *w) {
    if (!f->nreduced) return false;
    for (int i = 0; i < w->nloads; i++) {
        const nest_expr *step = w->loads[i].step[f->reduced[f->nreduced - 1].last];
        if (!step || step->op != NEST_CONST || step->u.i < 0 || step->u.i > 1) return true;
    }
    return false;
}

/* How many loads move by one element with the loop. */
static int stages_units(const group_walk *w, const group_loop *loop) {
    int units = 0;
    for (int i = 0; i < w->nloads; i++)
        units += w->loads[i].step[loop->last] && group_is_one(w->loads[i].step[loop->last]);
    return units;
}

/* Where only results are written, the order of the loops is free: they
 * follow memory. Positions of minima and maxima need their own order. */
static void stages_order(group_stages *f, const group_walk *w) {
    if (f->nreduced < 2) return;
    group_loop *inner = &f->reduced[f->nreduced - 1], *best = inner;
    for (int i = 0; i < f->s->noutputs; i++)
        if (f->full[i]) return;
    for (int i = 0; i < f->nreductions; i++)
        if (f->reductions[i]->place_of) return;
    for (int k = 0; k < f->nreduced; k++)
        if (stages_units(w, &f->reduced[k]) > stages_units(w, best)) best = &f->reduced[k];
    const group_loop other = *inner;
    *inner = *best;
    *best = other;
}

bool group_stages_loops(group_stages *f) {
    group_state *s = f->s;
    group_walk w;
    nest_expr *at[LAZY_MAX_DIMS];
    group_walk_begin(s, &w, f->ndim, f->sizes);
    /* some value that is not a constant: x * 0 would lose the loads of x */
    for (int i = 0; i < f->nreductions; i++)
        group_stages_bind(f, f->reductions[i],
                          nest_variable(s->l.n, "r", group_identity(s, f->reductions[i])), w.vars);
    for (int i = 0; i < f->nreductions; i++)
        group_walk_note(s, &w, lazy_at(&s->l, f->reductions[i]->src, w.vars));
    for (int i = 0; i < s->noutputs; i++) {
        if (!f->full[i] && !f->result[i]) continue;
        group_stages_index(f, s->outputs[i], w.vars, at);
        group_walk_note(s, &w, lazy_at(&s->l, s->outputs[i], f->full[i] ? w.vars : at));
        /* loops are joined where stores allow it, too */
        if (f->full[i] && group_is_scattered(s, i))
            group_walk_note(
                s, &w,
                nest_load(s->l.n, group_output_buffer(s, i), group_output_address(s, i, w.vars)));
    }
    for (int i = 0; i < f->nreductions; i++) group_stages_bind(f, f->reductions[i], NULL, NULL);
    group_walk_end(s, &w);
    f->nkept = stages_loops(f, &w, false, f->kept);
    f->nreduced = stages_loops(f, &w, true, f->reduced);
    stages_order(f, &w);
    f->gathers = stages_gathers(f, &w);
    for (int d = 0; d < f->ndim; d++) f->index[d] = lazy_zero(&s->l);
    return !w.too_many && !s->l.failed;
}

const group_reduction *group_stages_arg(const group_stages *f, int stage) {
    const group_reduction *minmax = NULL;
    for (int i = 0; i < f->nreductions; i++) {
        const group_reduction *r = f->reductions[i];
        if (r->t->depth != stage) continue;
        if (!r->place_of || (minmax && r->place_of != minmax)) return NULL;
        minmax = r->place_of;
    }
    for (int i = 0; i < f->nmaterialised; i++) /* made in this stage, and so all of it */
        if (f->materialised[i].kept->t->depth + 1 == stage) return NULL;
    return minmax && minmax->t->depth == stage - 1 ? minmax : NULL;
}

bool group_stages_seeks_plainly(const group_stages *f) {
    for (int i = 0; i < f->nreductions; i++)
        if (f->reductions[i]->place_of && f->reductions[i]->place_of->src->cost <= STAGES_SEEK_COST)
            return true;
    return false;
}

nest_expr *group_is_better(group_state *s, const group_reduction *r, nest_expr *v,
                           nest_expr *best) {
    nest *n = s->l.n;
    nest_expr *beyond = nest_binary(n, r->acc == NEST_ACC_MAX ? NEST_GT : NEST_LT, v, best);
    if (!nest_is_float(v->type)) return beyond;
    nest_expr *first_nan = nest_binary(n, NEST_AND, nest_binary(n, NEST_NE, v, v),
                                       nest_binary(n, NEST_EQ, best, best));
    return nest_binary(n, NEST_OR, beyond, first_nan);
}

/* ---- materialised values --------------------------------------------------------------------- */

static bool stages_is_materialised(const group_stages *f, const group_kept *k) {
    for (int i = 0; i < f->nmaterialised; i++)
        if (f->materialised[i].kept == k) return true;
    return false;
}

/* What t costs now that some values are read back. */
static int stages_cost_of(const group_stages *f, const lazy_tensor *t) {
    const group_kept *k = group_kept_of(t);
    if (k && stages_is_materialised(f, k)) return 1;
    if (group_reduction_of(t)) return 0;
    int cost = t->cost;
    if (f->gathers && !t->ninputs && cost) return STAGES_STORE_COST;
    for (int i = 0; i < t->ninputs; i++) cost -= t->inputs[i]->cost;
    for (int i = 0; i < t->ninputs && cost < STAGES_STORE_COST; i++)
        cost += stages_cost_of(f, t->inputs[i]);
    return cost;
}

/* Is k computed on the way to t, other than through what is read back or what
 * another stage has left? */
static bool stages_reads(const group_stages *f, const lazy_tensor *t, const group_kept *k,
                         ptrmap *seen) {
    const group_kept *own = group_kept_of(t);
    if (own == k) return true;
    if ((own && stages_is_materialised(f, own)) || group_reduction_of(t) || ptrmap_get(seen, t))
        return false;
    if (!ptrmap_put(seen, t, (void *)t)) return false;
    for (int i = 0; i < t->ninputs; i++)
        if (stages_reads(f, t->inputs[i], k, seen)) return true;
    return false;
}

static bool stages_needs(const group_stages *f, int stage, const group_kept *k) {
    ptrmap seen = {0};
    bool needs = false;
    for (int i = 0; i < f->nreductions && !needs; i++)
        if (f->reductions[i]->t->depth == stage)
            needs = stages_reads(f, f->reductions[i]->src, k, &seen);
    for (int i = 0; stage == f->last && i < f->s->noutputs && !needs; i++)
        if (f->full[i]) needs = stages_reads(f, f->s->outputs[i], k, &seen);
    for (int i = 0; i < f->nmaterialised && !needs; i++) /* the making of another */
        if (f->materialised[i].kept != k && f->materialised[i].kept->t->depth + 1 == stage)
            needs = stages_reads(f, f->materialised[i].kept->src, k, &seen);
    ptrmap_free(&seen);
    return needs;
}

bool group_stages_needs_ever(const group_stages *f, const group_kept *k) {
    ptrmap seen = {0};
    bool needs = false;
    for (int i = 0; i < f->nreductions && !needs; i++)
        needs = stages_reads(f, f->reductions[i]->src, k, &seen);
    for (int i = 0; i < f->s->noutputs && !needs; i++)
        needs = stages_reads(f, f->s->outputs[i], k, &seen);
    ptrmap_free(&seen);
    return needs;
}

int64_t group_bucket(group_state *s, nest_expr *e) {
    int64_t now = group_value_of(s, e, 0), top = 1;
    while (top < now) top *= 2;
    nest_expr *room = lazy_size(&s->l, NEST_SUB, nest_int(s->l.n, top + 1), e);
    lazy_is_positive(&s->l, room);
    if (top > 1) lazy_is_positive(&s->l, lazy_size(&s->l, NEST_SUB, e, nest_int(s->l.n, top / 2)));
    return top;
}

void group_stages_flat_index(group_stages *f, nest_expr *t) {
    nest *n = f->s->l.n;
    for (int d = 0; d < f->ndim; d++)
        if (f->mask[d]) f->index[d] = lazy_zero(&f->s->l);
    for (int k = f->nreduced - 1; k >= 0; k--) {
        f->index[f->reduced[k].last] =
            k ? nest_let(n, "i", nest_mod_index(n, t, f->reduced[k].extent)) : t;
        if (k) t = nest_let(n, "t", nest_div_index(n, t, f->reduced[k].extent));
    }
}

int group_stages_open_flat(group_stages *f, nest_expr *begin, nest_expr *end) {
    nest_expr *t = f->nreduced ? nest_for(f->s->l.n, "c", begin, end, NEST_VECTOR) : NULL;
    group_stages_flat_index(f, t);
    return f->nreduced > 0;
}

/* May a value be materialised where others are: does nothing read those in later stages,
 * once it is there? */
static bool stages_may_replace(group_stages *f, const group_materialised *by) {
    bool needed = false;
    int others = f->nmaterialised;
    f->materialised[f->nmaterialised++] = *by;
    for (int p = by->kept->t->depth + 2; p <= f->last; p++)
        for (int i = 0; i < others; i++)
            needed |= f->materialised[i].buffer == by->buffer &&
                      stages_needs(f, p, f->materialised[i].kept);
    f->nmaterialised = others;
    return !needed;
}

/* A row in shared memory, which cooperative groups have little of: that of a value which nobody
 * needs once k is made, else one of its own. */
static bool stages_find_shared(group_stages *f, group_kept *k, group_materialised *out) {
    dtype dt = k->t->dt;
    for (int i = 0; i < f->nmaterialised; i++) {
        *out = (group_materialised){.kept = k, .buffer = f->materialised[i].buffer, .local = true};
        if (f->materialised[i].local && out->buffer->dt == dt && stages_may_replace(f, out))
            return true;
    }
    int64_t length = group_bucket(f->s, group_stages_width(f)),
            bytes = length * (int64_t)dtype_size(dt);
    if (f->local_bytes + bytes > STAGES_SHARED) return false;
    f->local_bytes += bytes;
    out->buffer = nest_add_local(f->s->l.n, "row", dt, length);
    return out->local = true;
}

static bool stages_find_place(group_stages *f, group_kept *k, bool local, group_materialised *out) {
    group_state *s = f->s;
    dtype dt = k->t->dt;
    *out = (group_materialised){.kept = k};
    if (s->target == GROUP_CUDA && local && stages_find_shared(f, k, out)) return true;
    *out = (group_materialised){.kept = k};
    for (int i = 0; i < s->noutputs; i++) {
        if (!f->full[i] || f->used[i] || s->outputs[i]->dt != dt || group_is_scattered(s, i))
            continue;
        f->used[i] = true;
        out->buffer = group_output_buffer(s, i);
        return true;
    }
    nest_expr *room = lazy_size(&s->l, NEST_SUB, nest_int(s->l.n, STAGES_LOCAL + 1),
                                group_stages_width(f));
    if (!local || s->target == GROUP_CUDA || !lazy_is_positive(&s->l, room)) return false;
    out->buffer = nest_add_local(s->l.n, "row", dt, STAGES_LOCAL);
    out->local = true;
    return true;
}

/* The latest first: a value after a materialised one costs nothing any more. */
void group_stages_store(group_stages *f, bool local) {
    group_state *s = f->s;
    /* a GPU's memory is far */
    int least = s->target == GROUP_CUDA && local ? 1 : STAGES_STORE_COST;
    for (int depth = 0; depth + 1 < f->last; depth++)
        for (size_t i = s->kept.len; i-- > 0 && f->nmaterialised < GROUP_MAX_STORED;) {
            group_kept *k = s->kept.data[i];
            int stages = 0;
            if (k->t->depth != depth || k->t->ndim != f->ndim ||
                !stages_same(f->ndim, k->t->sizes, f->sizes))
                continue;
            if (stages_cost_of(f, k->t) < least) continue;
            for (int p = depth + 1; p <= f->last; p++) stages += stages_needs(f, p, k);
            group_materialised place;
            if (stages > 1 && stages_find_place(f, k, local, &place))
                f->materialised[f->nmaterialised++] = place;
        }
}

static nest_expr *stages_place(const group_stages *f, const group_materialised *k) {
    nest_expr *sizes[LAZY_MAX_DIMS], *at[LAZY_MAX_DIMS];
    int n = 0;
    if (!k->local) return group_address(f->s, f->ndim, f->sizes, f->index);
    for (int d = 0; d < f->ndim; d++) {
        if (!f->mask[d]) continue;
        sizes[n] = f->sizes[d];
        at[n++] = f->index[d];
    }
    return group_address(f->s, n, sizes, at);
}

void group_stages_use(group_stages *f, int stage) {
    nest *n = f->s->l.n;
    for (int i = 0; i < f->nmaterialised; i++) {
        group_materialised *k = &f->materialised[i];
        int made = k->kept->t->depth + 1;
        if (made > stage || (made < stage && !stages_needs(f, stage, k->kept))) continue;
        nest_expr *at = stages_place(f, k), *v;
        if (made < stage) {
            v = nest_let(n, "k", nest_load(n, k->buffer, at));
        } else {
            v = nest_let(n, "k", lazy_at(&f->s->l, k->kept->t, f->index));
            nest_store(n, k->buffer, at, v);
        }
        group_bind_kept(f->s, k->kept, v, f->index);
    }
}

void group_stages_results(group_stages *f) {
    group_state *s = f->s;
    nest *n = s->l.n;
    nest_expr *values[GROUP_MAX_OUTPUTS];
    group_stages_use(f, f->last);
    for (int i = 0; i < s->noutputs; i++)
        if (f->full[i]) values[i] = nest_let(n, "v", lazy_at(&s->l, s->outputs[i], f->index));
    for (int i = 0; i < s->noutputs; i++)
        if (f->full[i])
            nest_store(n, group_output_buffer(s, i), group_output_address(s, i, f->index),
                       values[i]);
}

void group_stages_forget(group_stages *f) {
    for (int i = 0; i < f->nmaterialised; i++)
        group_bind_kept(f->s, f->materialised[i].kept, NULL, NULL);
    lazy_forget(&f->s->l);
}
