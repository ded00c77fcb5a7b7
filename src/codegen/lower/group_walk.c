/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group_walk.c - which memory a value reads, and how the addresses move with the indices.
 *
 * Method: the value is requested at indices that are variables of a temporary nest, and the
 * loads in the expression are analysed: an address is a sum of products, and the factor of
 * an index is its stride. Strides are compared as expressions, which is enough because
 * equal sizes are one expression (group_internal.h) and products are made once (group_mul).
 * Asking tensors for their strides instead would need support in each kind of view.
 * Tests: tests/unit/test_group.c
 */
#include "codegen/lower/group_internal.h"

/* ---- steps ----------------------------------------------------------------------------------- */

static bool walk_depends(const nest_expr *e, const nest_expr *var) {
    if (e->op == NEST_VAR) return e->u.var == var->u.var;
    for (int i = 0; i < e->nargs; i++)
        if (walk_depends(e->args[i], var)) return true;
    return false;
}

/* By how much e grows when var grows by 1; NULL: not the same everywhere. */
static nest_expr *walk_step(group_state *s, nest_expr *e, const nest_expr *var) {
    lazy *l = &s->l;
    if (!walk_depends(e, var)) return lazy_zero(l);
    if (e->op == NEST_VAR) return lazy_one(l);
    nest_expr *x = e->nargs == 2 ? e->args[0] : NULL, *y = x ? e->args[1] : NULL;
    if (e->op == NEST_ADD) {
        nest_expr *a = walk_step(s, x, var), *b = walk_step(s, y, var);
        if (!a || !b) return NULL;
        return a == lazy_zero(l) ? b : b == lazy_zero(l) ? a : lazy_size(l, NEST_ADD, a, b);
    }
    if (e->op == NEST_SUB && !walk_depends(y, var)) return walk_step(s, x, var);
    if (e->op != NEST_MUL) return NULL;
    bool left = walk_depends(x, var);
    if (left && walk_depends(y, var)) return NULL;
    nest_expr *moving = walk_step(s, left ? x : y, var);
    return moving ? group_mul(s, moving, left ? y : x) : NULL;
}

/* ---- loads ----------------------------------------------------------------------------------- */

static void walk_load(group_state *s, group_walk *w, nest_expr *load) {
    if (w->nloads == GROUP_MAX_LOADS) {
        w->too_many = true;
        return;
    }
    group_load *out = &w->loads[w->nloads++];
    out->load = load;
    for (int i = 0; i < w->nvars; i++) out->step[i] = walk_step(s, load->args[0], w->vars[i]);
}

static void walk_expr(group_state *s, group_walk *w, nest_expr *e, uint32_t mark) {
    if (!e || e->mark == mark) return;
    e->mark = mark;
    if (e->op == NEST_LOAD) {
        if (!e->u.buffer->local) walk_load(s, w, e);
        return;
    }
    for (int i = 0; i < e->nargs; i++) walk_expr(s, w, e->args[i], mark);
}

static void walk_block(group_state *s, group_walk *w, const nest_block *b, uint32_t mark) {
    for (nest_stmt *t = b->first; t; t = t->next) {
        walk_expr(s, w, t->value, mark);
        walk_block(s, w, &t->body, mark);
        walk_block(s, w, &t->other, mark);
    }
}

void group_walk_begin(group_state *s, group_walk *w, int nvars, nest_expr *const *sizes) {
    *w = (group_walk){.nvars = nvars};
    nest *aside = nest_new(s->a, "walk");
    if (!arena_failed(s->a)) s->l.n = aside; /* else nothing of this is used */
    lazy_forget(&s->l);
    for (int i = 0; i < nvars; i++) {
        w->sizes[i] = sizes[i];
        w->vars[i] = nest_for(s->l.n, "i", lazy_zero(&s->l), sizes[i], 0);
    }
}
void group_walk_note(group_state *s, group_walk *w, nest_expr *value) {
    (void)w;
    nest_let(s->l.n, "noted", value);
}
void group_walk_end(group_state *s, group_walk *w) {
    walk_block(s, w, &s->l.n->body, nest_fresh_mark(s->p->nest));
    s->l.n = s->p->nest;
    lazy_forget(&s->l);
}

/* ---- loops ----------------------------------------------------------------------------------- */

bool group_same(const nest_expr *x, const nest_expr *y) {
    if (x == y) return true;
    if (x->op != y->op || x->type != NEST_I64 || y->type != NEST_I64) return false;
    if (x->op == NEST_CONST) return x->u.i == y->u.i;
    if (x->op == NEST_INPUT) return x->u.input == y->u.input;
    if (x->op == NEST_VAR) return x->u.var == y->u.var;
    if (x->op == NEST_LOAD || x->op == NEST_CALL || x->nargs == 0 || x->nargs != y->nargs)
        return false;
    for (int i = 0; i < x->nargs; i++)
        if (!group_same(x->args[i], y->args[i])) return false;
    return true;
}

static int walk_var(const group_walk *w, const nest_expr *e) {
    for (int i = 0; e->op == NEST_VAR && i < w->nvars; i++)
        if (e->u.var == w->vars[i]->u.var) return i;
    return -1;
}

nest_expr *group_walk_put(group_state *s, const group_walk *w, nest_expr *e,
                          nest_expr *const *with) {
    int var = walk_var(w, e);
    if (var >= 0) return with[var];
    if (e->nargs != 2) return e;
    nest_expr *x = group_walk_put(s, w, e->args[0], with),
              *y = group_walk_put(s, w, e->args[1], with);
    return x == e->args[0] && y == e->args[1] ? e : nest_binary(s->l.n, e->op, x, y);
}

bool group_walk_is(const group_walk *w, const nest_expr *pattern, nest_expr *const *with,
                   const nest_expr *e) {
    int var = walk_var(w, pattern);
    if (var >= 0) return with[var] == e;
    if (pattern->nargs != 2) return group_same(pattern, e);
    return pattern->op == e->op && e->nargs == 2 &&
           group_walk_is(w, pattern->args[0], with, e->args[0]) &&
           group_walk_is(w, pattern->args[1], with, e->args[1]);
}

static bool walk_is_one(const nest_expr *e) { return e->op == NEST_CONST && e->u.i == 1; }

/* Dims of size 1 join on either side, so the last dim of a loop is the last that is not 1. */
int group_loops(group_state *s, const group_walk *w, int first, int end, group_loop *out) {
    int n = 0;
    for (int d = first; d < end; d++) {
        if (walk_is_one(w->sizes[d])) continue;
        group_loop *before = n ? &out[n - 1] : NULL;
        bool joins = before != NULL;
        for (int i = 0; joins && i < w->nloads; i++) {
            nest_expr *outer = w->loads[i].step[before->last], *inner = w->loads[i].step[d];
            joins = outer && inner && group_same(outer, group_mul(s, inner, w->sizes[d]));
        }
        if (joins)
            *before = (group_loop){before->first, d, group_mul(s, before->extent, w->sizes[d])};
        else out[n++] = (group_loop){d, d, w->sizes[d]};
    }
    return n;
}

nest_expr *group_address(group_state *s, int ndim, nest_expr *const *sizes,
                         nest_expr *const *index) {
    nest_expr *step = lazy_one(&s->l), *parts[LAZY_MAX_DIMS], *at = lazy_zero(&s->l);
    for (int d = ndim - 1; d >= 0; d--) {
        parts[d] = nest_mul(s->l.n, index[d], step);
        step = group_mul(s, step, sizes[d]);
    }
    for (int d = 0; d < ndim; d++) at = nest_add(s->l.n, at, parts[d]);
    return at;
}

nest_expr *group_output_address(group_state *s, int i, nest_expr *const *index) {
    const lazy_tensor *t = s->outputs[i];
    nest_expr *sizes[LAZY_MAX_DIMS], *at[LAZY_MAX_DIMS];
    if (!group_is_scattered(s, i)) return group_address(s, t->ndim, t->sizes, index);
    for (int d = 0; d < t->ndim; d++) {
        sizes[d] = t->sizes[s->orders[i].dims[d]];
        at[d] = index[s->orders[i].dims[d]];
    }
    return group_address(s, t->ndim, sizes, at);
}
