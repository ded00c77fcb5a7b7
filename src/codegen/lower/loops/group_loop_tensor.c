/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group_loop_tensor.c - elements in native loops: reading, writing, pointwise operators, sums.
 *
 *     %d : Tensor = aten::sub(%row_a, %row_b, %one)         (nothing yet)
 *     %q : Tensor = aten::pow(%d, %two)              ->     (nothing yet)
 *     %s : Tensor = aten::sum(%q, %none)                    sum = 0; for (k = 0; k < m; k += 1) sum sum= (a[..] - b[..]) ^ 2;
 *     %t : Tensor = aten::copy_(%place, %s, %false)         out[..] = sum;
 *
 * Tensors of one element are computed where they are used. Longer ones stay lazy until
 * they are summed or written; what they read must not have been written in between.
 * Writing a row that is computed from rows of the same tensor is done in place only if
 * elements with different indices are provably distinct (loop_rows_apart).
 *
 * Rows of up to LOOP_UNROLL elements are unrolled: their length becomes part of the plan.
 * Sums take the liberty that torch.sum takes with the order.
 * Tests: tests/unit/test_group_loop.c
 */
#include "codegen/lower/loops/group_loop.h"
#include "codegen/lower/plan/group_tuning.h"

#include "ir/graph/alias.h"
#include "tensor/promote.h"

#include <math.h>
#include <string.h>

/* ---- reading --------------------------------------------------------------------------------- */

static const lazy_tensor *tensor_lazy(loop_state *s, const loop_tensor *t) {
    if (t->lazy) return t->lazy;
    if (t->view)
        return lazy_buffer(&s->l, t->view->base->buffer, t->ndim, t->view->sizes, t->view->strides,
                           t->view->offset);
    nest_expr *now = t->value->op == NEST_VAR && t->value->u.var->is_mutable
                         ? nest_let(s->n, "v", t->value)
                         : t->value;
    if (!t->ndim) return lazy_scalar(&s->l, t->dt, now);
    /* a tensor of sizes (1, ...): memory of one element */
    nest_buffer *one = nest_add_local(s->n, "one", t->dt, 1);
    nest_expr *strides[LAZY_MAX_DIMS];
    for (int i = 0; i < t->ndim; i++) strides[i] = nest_int(s->n, 0);
    nest_store(s->n, one, nest_int(s->n, 0), now);
    return lazy_buffer(&s->l, one, t->ndim, t->sizes, strides, NULL);
}

/* Is what t was made of still as it was then? */
static bool tensor_fresh(loop_state *s, const loop_tensor *t) {
    for (int i = 0; i < s->nbases && t->lazy; i++)
        if ((t->reads >> i & 1) && s->bases[i].last_write > t->made) return false;
    return true;
}

static bool tensor_has_one(loop_state *s, const loop_tensor *t) {
    for (int i = 0; i < t->ndim; i++)
        if (!(t->sizes[i]->op == NEST_CONST && t->sizes[i]->u.i == 1) &&
            !s->l.is_one(s->l.ctx, t->sizes[i]))
            return false;
    return true;
}

nest_expr *loop_read_one(loop_state *s, const loop_tensor *t) {
    nest_expr *index[LAZY_MAX_DIMS];
    if (!tensor_has_one(s, t) || !tensor_fresh(s, t)) return NULL;
    if (t->value) return nest_let(s->n, "v", t->value);
    for (int i = 0; i < t->ndim; i++) index[i] = nest_int(s->n, 0);
    lazy_forget(&s->l);
    return nest_let(s->n, "v", lazy_at(&s->l, tensor_lazy(s, t), index));
}

nest_expr *loop_round(loop_state *s, dtype dt, nest_expr *e) {
    if (!dtype_is_half(dt)) return e;
    nest_buffer *b = nest_add_local(s->n, "half", dt, 1);
    nest_store(s->n, b, nest_int(s->n, 0), e);
    return nest_let(s->n, "v", nest_load(s->n, b, nest_int(s->n, 0)));
}

loop_tensor *loop_new_one(loop_state *s, const ir_value *v, dtype dt, int ndim, nest_expr *value) {
    loop_tensor *t = arena_new(s->a, loop_tensor);
    bool written = ptrmap_get(&s->written_new, v) != NULL;
    *t = (loop_tensor){.dt = dt, .ndim = ndim};
    for (int i = 0; i < ndim; i++) t->sizes[i] = nest_int(s->n, 1);
    t->value = written ? nest_variable(s->n, "t", value) : value;
    return t;
}

static bool tensor_set(loop_state *s, const node *n, loop_tensor *t) {
    loop_set(s, n->outputs.data[0], loop_of_tensor(s, t));
    return true;
}

/* ---- fusible operators ----------------------------------------------------------------------- */

enum { TENSOR_MAX_ARGS = 16 };

/* What an operator reads, gathered over its arguments. */
static void tensor_note_read(loop_tensor *out, const loop_tensor *t) {
    const loop_view *v = t->view ? t->view : t->source;
    out->reads |= t->view ? 1u << t->view->base->number : t->reads;
    out->many_sources |= t->many_sources ||
                         (out->source && v && v->base->written && v != out->source);
    if (v && v->base->written && !out->source) out->source = v;
}

static bool tensor_list_arg(loop_state *s, const loop_value *x, lazy_arg *a) {
    lazy_arg *items = arena_array(s->a, lazy_arg, x->nitems + 1);
    for (int i = 0; i < x->nitems; i++) items[i].t = lazy_number(&s->l, x->items[i]->e);
    a->items = items;
    a->nitems = x->nitems;
    return true;
}

static bool tensor_arg(loop_state *s, const ir_value *v, lazy_arg *a, loop_tensor *out) {
    const loop_value *x = loop_get(s, v);
    if (ir_value_constant(v, &a->constant)) return a->constant.tag != V_TENSOR;
    if (!x) return false;
    switch (x->kind) {
    case LOOP_NUMBER:
        if (x->e->op == NEST_CONST && x->e->type == NEST_I64) a->constant = value_int(x->e->u.i);
        else a->t = lazy_number(&s->l, x->e);
        return true;
    case LOOP_TENSOR:
        if (!tensor_fresh(s, x->tensor)) return false;
        /* one element: read now, as the operator would */
        if (x->tensor->ndim == 0 && x->tensor->view && !out->shares) {
            a->t = lazy_scalar(&s->l, x->tensor->dt, loop_read_one(s, x->tensor));
            return true;
        }
        a->t = tensor_lazy(s, x->tensor);
        tensor_note_read(out, x->tensor);
        return true;
    case LOOP_CONSTANT: a->constant = x->constant; return true;
    case LOOP_LIST: return tensor_list_arg(s, x, a);
    default: return false;
    }
}

/* The elements that operator o makes of n's arguments; out: what they read. */
static const lazy_tensor *tensor_apply(loop_state *s, const node *n, const op *o,
                                       loop_tensor *out) {
    lazy_arg args[TENSOR_MAX_ARGS] = {{0}};
    node as = *n;
    as.op = o;
    as.op_name = o->schema->name;
    if (n->inputs.len > TENSOR_MAX_ARGS || (int)n->inputs.len > o->schema->nargs) return NULL;
    for (size_t i = 0; i < n->inputs.len; i++)
        if (!tensor_arg(s, n->inputs.data[i], &args[i], out)) return NULL;
    lazy_forget(&s->l);
    return lazy_apply(&s->l, &as, args);
}

static bool tensor_reads_written(loop_state *s, const loop_tensor *t) {
    for (int i = 0; i < s->nbases; i++)
        if ((t->reads >> i & 1) && s->bases[i].written) return true;
    return false;
}

static bool tensor_pointwise(loop_state *s, const node *n, bool view) {
    loop_tensor *t = arena_new(s->a, loop_tensor);
    t->shares = view || !node_makes_fresh(n);
    const lazy_tensor *l = n->outputs.len == 1 ? tensor_apply(s, n, n->op, t) : NULL;
    if (!l || s->l.failed) return false;
    bool may_share = t->shares;
    if (may_share &&
        (tensor_reads_written(s, t) || ptrmap_get(&s->written_new, n->outputs.data[0])))
        return false;
    for (size_t i = 0; i < n->inputs.len && may_share; i++) {
        const loop_value *x = loop_input(s, n, (int)i);
        if (x && x->kind == LOOP_TENSOR && x->tensor->value && x->tensor->value->op == NEST_VAR &&
            x->tensor->value->u.var->is_mutable)
            return false;
    }
    t->dt = l->dt;
    t->ndim = l->ndim;
    memcpy(t->sizes, l->sizes, sizeof t->sizes);
    if (t->ndim == 0) {
        nest_expr *e = nest_let(s->n, "v", lazy_at(&s->l, l, NULL));
        return !s->l.failed && tensor_set(s, n, loop_new_one(s, n->outputs.data[0], t->dt, 0, e));
    }
    if (ptrmap_get(&s->written_new, n->outputs.data[0])) { /* of one element, or not at all */
        t->lazy = l;
        t->made = s->clock;
        nest_expr *e = loop_read_one(s, t);
        return e && tensor_set(s, n, loop_new_one(s, n->outputs.data[0], t->dt, t->ndim, e));
    }
    t->lazy = l;
    t->made = s->clock;
    return tensor_set(s, n, t);
}

/* ---- loops over elements --------------------------------------------------------------------- */

typedef struct tensor_walk {
    int ndim;
    nest_expr *sizes[LAZY_MAX_DIMS];
    int64_t count; /* of all elements, if it is small and fixed; else -1 */
    bool apart;    /* elements are independent */
    bool vector;   /* being walked in a vector loop */
    void (*visit)(loop_state *s, struct tensor_walk *w, nest_expr *const *index);
    const lazy_tensor *from;
    const loop_view *to;
    nest_expr *var, *start; /* of sums: the variable, and what it starts with */
    nest_acc acc;
} tensor_walk;

static const nest_op walk_combine[] = {[NEST_ACC_SUM] = NEST_ADD,
                                       [NEST_ACC_PROD] = NEST_MUL,
                                       [NEST_ACC_MIN] = NEST_MIN,
                                       [NEST_ACC_MAX] = NEST_MAX};

/* Small sizes become part of the plan: such loops are unrolled. */
static void walk_fix_sizes(loop_state *s, tensor_walk *w) {
    int64_t count = 1, size;
    w->count = -1;
    for (int i = 0; i < w->ndim; i++) {
        if (!loop_evaluate(s, w->sizes[i], &size) || loop_slot(s, w->sizes[i]) < 0 ||
            size > LOOP_UNROLL)
            return;
        count *= size;
        if (count > LOOP_UNROLL) return;
    }
    for (int i = 0; i < w->ndim; i++) {
        loop_evaluate(s, w->sizes[i], &size);
        if (w->sizes[i]->op != NEST_CONST)
            plan_relate(s->p, s->a, SLOT_IS, loop_slot(s, w->sizes[i]), 0, size);
        w->sizes[i] = nest_int(s->n, size);
    }
    w->count = count;
}

static void walk_inner(loop_state *s, tensor_walk *w, nest_expr **index, unsigned flags) {
    index[w->ndim - 1] = nest_for(s->n, "e", nest_int(s->n, 0), w->sizes[w->ndim - 1], flags);
    lazy_forget(&s->l);
    w->vector = flags != 0;
    w->visit(s, w, index);
    nest_end(s->n);
}

/* Short sums: adding up the lanes of a vector takes longer than four sums side by side. */
static void walk_short_sum(loop_state *s, tensor_walk *w, nest_expr **index) {
    nest_expr *sums[LOOP_LANES], *size = w->sizes[w->ndim - 1];
    nest_expr *whole = nest_let(s->n, "whole",
                                nest_binary(s->n, NEST_AND, size, nest_int(s->n, -LOOP_LANES)));
    sums[0] = w->var;
    w->vector = false;
    for (int k = 1; k < LOOP_LANES; k++) sums[k] = nest_variable(s->n, "lane", w->start);
    nest_expr *e = nest_for_step(s->n, "e", nest_int(s->n, 0), whole, LOOP_LANES, 0);
    for (int k = 0; k < LOOP_LANES; k++) {
        index[w->ndim - 1] = nest_add(s->n, e, nest_int(s->n, k));
        w->var = sums[k];
        lazy_forget(&s->l);
        w->visit(s, w, index);
    }
    nest_end(s->n);
    w->var = sums[0];
    for (int k = 1; k < LOOP_LANES; k++)
        nest_set(s->n, w->var, nest_binary(s->n, walk_combine[w->acc], w->var, sums[k]));
    index[w->ndim - 1] = nest_for(s->n, "e", whole, size, 0);
    lazy_forget(&s->l);
    w->visit(s, w, index);
    nest_end(s->n);
}

static void walk_outer(loop_state *s, tensor_walk *w, nest_expr **index) {
    for (int i = 0; i + 1 < w->ndim; i++)
        index[i] = nest_for(s->n, "e", nest_int(s->n, 0), w->sizes[i], 0);
    if (w->var) {
        nest_if(s->n,
                nest_binary(s->n, NEST_LT, w->sizes[w->ndim - 1], nest_int(s->n, LOOP_SHORT)));
        walk_short_sum(s, w, index);
        nest_else(s->n);
    }
    walk_inner(s, w, index, w->apart ? NEST_VECTOR : 0);
    if (w->var) nest_end(s->n);
}

static void walk_all(loop_state *s, tensor_walk *w) {
    nest_expr *index[LAZY_MAX_DIMS];
    walk_fix_sizes(s, w);
    if (w->count >= 0) {
        for (int64_t k = 0; k < w->count; k++) {
            int64_t rest = k;
            for (int i = w->ndim - 1; i >= 0; i--) {
                index[i] = nest_int(s->n, rest % w->sizes[i]->u.i);
                rest /= w->sizes[i]->u.i;
            }
            lazy_forget(&s->l);
            w->visit(s, w, index);
        }
        return;
    }
    walk_outer(s, w, index);
    for (int i = 0; i + 1 < w->ndim; i++) nest_end(s->n);
    lazy_forget(&s->l);
}

/* ---- sums ------------------------------------------------------------------------------------ */

static void walk_accumulate(loop_state *s, tensor_walk *w, nest_expr *const *index) {
    nest_expr *e = nest_cast(s->n, w->var->type, lazy_at(&s->l, w->from, index));
    if (!w->vector) nest_set(s->n, w->var, nest_binary(s->n, walk_combine[w->acc], w->var, e));
    else nest_accumulate(s->n, w->var, w->acc, e);
}

static nest_expr *tensor_limit(loop_state *s, nest_type t, bool least) {
    if (nest_is_float(t)) return nest_const_float(s->n, t, least ? -INFINITY : INFINITY);
    int bits = nest_types[t].bytes * 8;
    if (t == NEST_BOOL) return nest_const_int(s->n, t, !least);
    if (!nest_types[t].is_signed)
        return nest_const_int(s->n, t, least ? 0 : (int64_t)((1u << bits) - 1));
    int64_t low = bits == 64 ? INT64_MIN : -((int64_t)1 << (bits - 1));
    return nest_const_int(s->n, t, least ? low : ~low);
}

typedef struct reduce_row {
    const char *name;
    nest_acc acc;
    bool widens; /* ints and bools become int64 */
    bool floats; /* of floating dtypes only */
    bool bools;  /* of bools, after comparing with 0 */
    bool nonempty;
} reduce_row;

static const reduce_row reduce_rows[] = {
    {"sum", NEST_ACC_SUM, true, false, false, false},
    {"mean", NEST_ACC_SUM, false, true, false, false},
    {"prod", NEST_ACC_PROD, true, false, false, false},
    {"max", NEST_ACC_MAX, false, false, false, true},
    {"min", NEST_ACC_MIN, false, false, false, true},
    {"any", NEST_ACC_MAX, false, false, true, false},
    {"all", NEST_ACC_MIN, false, false, true, false},
};

static const reduce_row *reduce_find(const char *name) {
    for (size_t i = 0; i < sizeof reduce_rows / sizeof *reduce_rows; i++)
        if (!strcmp(reduce_rows[i].name, name)) return &reduce_rows[i];
    return NULL;
}

/* Does the operator reduce all dims (or the only one), keep none, and leave the dtype to itself? */
static bool reduce_is_whole(loop_state *s, const node *n, int ndim) {
    const schema *sc = n->op->schema;
    for (size_t i = 1; i < n->inputs.len; i++) {
        const ir_value *v = n->inputs.data[i];
        const loop_value *x = loop_get(s, v);
        const char *name = sc->args[i].name;
        value c;
        bool constant = ir_value_constant(v, &c);
        if (!strcmp(name, "keepdim")) {
            if (!constant || c.tag != V_BOOL || c.u.b) return false;
        } else if (constant && c.tag == V_NONE) {
            continue;
        } else if (!strcmp(name, "dim") && constant && c.tag == V_LIST &&
                   c.u.list->kind == LIST_INT) {
            if (c.u.list->len != (size_t)ndim || ndim != 1) return false;
            if (c.u.list->u.ints[0] != 0 && c.u.list->u.ints[0] != -1) return false;
        } else if (!strcmp(name, "dim") && x && x->kind == LOOP_LIST && x->nitems == 1 &&
                   ndim == 1) {
            const nest_expr *e = x->items[0]->e;
            if (e->op != NEST_CONST || (e->u.i != 0 && e->u.i != -1)) return false;
        } else {
            return false;
        }
    }
    return true;
}

static bool reduce_nonempty(loop_state *s, const loop_tensor *t) {
    for (int i = 0; i < t->ndim; i++)
        if (!s->l.positive(s->l.ctx, t->sizes[i])) return false;
    return true;
}

static nest_expr *reduce_number_of(loop_state *s, const tensor_walk *w, nest_type t) {
    nest_expr *count = nest_int(s->n, 1);
    for (int i = 0; i < w->ndim; i++) count = nest_mul(s->n, count, w->sizes[i]);
    return nest_cast(s->n, t, count);
}

static bool tensor_reduce_lazy(loop_state *s, const node *n, const reduce_row *r,
                               const loop_tensor *t, const lazy_tensor *l) {
    nest_type type;
    dtype dt = r->bools ? DT_BOOL : r->widens && dtype_is_integral(l->dt) ? DT_INT64 : l->dt;
    if ((r->floats && !dtype_is_float(l->dt)) || (r->bools && l->dt == DT_UINT8) ||
        (r->nonempty && !reduce_nonempty(s, t)))
        return false;
    nest_type_of(dt, &type);
    nest_expr *init = r->acc == NEST_ACC_MIN || r->acc == NEST_ACC_MAX
                          ? tensor_limit(s, type, r->acc == NEST_ACC_MAX)
                      : nest_is_float(type) ? nest_const_float(s->n, type, r->acc == NEST_ACC_PROD)
                                            : nest_const_int(s->n, type, r->acc == NEST_ACC_PROD);
    tensor_walk w = {.ndim = l->ndim,
                     .apart = true,
                     .visit = walk_accumulate,
                     .from = l,
                     .start = init,
                     .acc = r->acc};
    memcpy(w.sizes, l->sizes, sizeof w.sizes);
    w.var = nest_variable(s->n, r->name, init);
    walk_all(s, &w);
    nest_expr *e = r->floats ? nest_div(s->n, w.var, reduce_number_of(s, &w, type)) : w.var;
    e = loop_round(s, dt, nest_let(s->n, "v", e));
    return !s->l.failed && tensor_set(s, n, loop_new_one(s, n->outputs.data[0], dt, 0, e));
}

static bool tensor_reduce(loop_state *s, const node *n, const char *text) {
    const loop_value *x = loop_input(s, n, 0);
    const reduce_row *r = reduce_find(text);
    if (!r || !x || x->kind != LOOP_TENSOR || !tensor_fresh(s, x->tensor) ||
        !reduce_is_whole(s, n, x->tensor->ndim))
        return false;
    return tensor_reduce_lazy(s, n, r, x->tensor, tensor_lazy(s, x->tensor));
}

/* The sum of products of two vectors. */
static bool tensor_dot(loop_state *s, const node *n) {
    const loop_value *x = loop_input(s, n, 0), *y = loop_input(s, n, 1);
    const op *mul = op_of(SYM_MUL_TENSOR);
    loop_tensor t = {0};
    if (!mul || !x || !y || x->kind != LOOP_TENSOR || y->kind != LOOP_TENSOR) return false;
    const loop_tensor *a = x->tensor, *b = y->tensor;
    if (a->ndim != 1 || b->ndim != 1 || a->dt != b->dt ||
        !s->l.equal(s->l.ctx, a->sizes[0], b->sizes[0]))
        return false;
    const lazy_tensor *l = tensor_apply(s, n, mul, &t);
    if (!l || l->ndim != 1 || l->dt == DT_BOOL) return false;
    t.ndim = 1;
    t.sizes[0] = l->sizes[0];
    reduce_row r = *reduce_find("sum");
    r.widens = false;
    return tensor_reduce_lazy(s, n, &r, &t, l);
}

/* ---- writing --------------------------------------------------------------------------------- */

static void walk_store(loop_state *s, tensor_walk *w, nest_expr *const *index) {
    nest_expr *at = w->to->offset, *from[LAZY_MAX_DIMS];
    for (int i = 0; i < w->ndim; i++)
        at = nest_add(s->n, at, nest_mul(s->n, index[i], w->to->strides[i]));
    lazy_broadcast_index(&s->l, w->from, w->ndim, w->sizes, index, from);
    nest_store(s->n, w->to->base->buffer, at, lazy_at(&s->l, w->from, from));
}

/* Does l, broadcast, have the sizes of the place it is written to? */
static bool store_fits(loop_state *s, const lazy_tensor *l, int ndim, nest_expr *const *sizes) {
    if (l->ndim > ndim) return false;
    for (int i = 0; i < l->ndim; i++) {
        nest_expr *from = l->sizes[i], *to = sizes[ndim - l->ndim + i];
        bool one = from->op == NEST_CONST && from->u.i == 1;
        if (!one && from != to && !s->l.equal(s->l.ctx, from, to) && !s->l.is_one(s->l.ctx, from))
            return false;
    }
    return true;
}

/* Elements that are read where others are written: each is read
 * before it is written only if they are the same or far apart. */
static bool store_ordered(const loop_view *to, const loop_tensor *reads, bool *apart) {
    bool same_base = reads->reads >> to->base->number & 1;
    *apart = true;
    if (!same_base) return true;
    if (to->ndim == 0) return true;
    return !reads->many_sources && reads->source && loop_rows_apart(to, reads->source);
}

static bool tensor_store(loop_state *s, const node *n, const loop_tensor *to, const lazy_tensor *l,
                         const loop_tensor *reads) {
    const lazy_tensor *c = lazy_cast(&s->l, l, to->dt);
    if (!c || !store_fits(s, c, to->ndim, to->sizes)) return false;
    loop_set(s, n->outputs.data[0], loop_input(s, n, 0));
    if (to->value) {
        nest_expr *index[LAZY_MAX_DIMS];
        if (to->value->op != NEST_VAR || !to->value->u.var->is_mutable) return false;
        for (int i = 0; i < c->ndim; i++) index[i] = nest_int(s->n, 0);
        lazy_forget(&s->l);
        nest_set(s->n, to->value,
                 loop_round(s, to->dt, nest_let(s->n, "v", lazy_at(&s->l, c, index))));
        return !s->l.failed;
    }
    if (!to->view || !to->view->base->written) return false;
    tensor_walk w = {.ndim = to->ndim, .visit = walk_store, .from = c, .to = to->view};
    memcpy(w.sizes, to->sizes, sizeof w.sizes);
    if (!store_ordered(to->view, reads, &w.apart)) return false;
    walk_all(s, &w);
    to->view->base->last_write = ++s->clock;
    return !s->l.failed;
}

static const loop_tensor *tensor_target(loop_state *s, const node *n) {
    const loop_value *x = loop_input(s, n, 0);
    return x && x->kind == LOOP_TENSOR && !x->tensor->lazy && n->outputs.len == 1 ? x->tensor
                                                                                  : NULL;
}

/* Where a number becomes an element of dtype dt, PyTorch requires it
 * to be in range; NaN and infinities are in range of floats only. */
static bool number_fits(loop_state *s, const node *n, nest_expr *e, dtype dt) {
    nest *at = s->n;
    bool real = nest_is_float(e->type), whole = dt == DT_INT64;
    if (e->type == NEST_BOOL || dt == DT_BOOL || dt == DT_FLOAT64 || (!real && whole)) return true;
    if (e->op == NEST_CONST)
        return dtype_fits(dt, real ? e->u.f : (double)e->u.i) &&
               !(dt == DT_UINT8 && real && e->u.f < 0);
    double high = whole ? 0x1p63 : dtype_largest(dt),
           low = -high - (dtype_is_int(dt) && dt != DT_UINT8 && !whole);
    if (dt == DT_UINT8 && real) low = 0; /* negative ints wrap */
    nest_expr *x = nest_cast(at, NEST_F64, e);
    nest_expr *above = nest_binary(at, NEST_GE, x, nest_const_float(at, NEST_F64, low));
    nest_expr *below = nest_binary(at, whole ? NEST_LT : NEST_LE, x,
                                   nest_const_float(at, NEST_F64, high));
    nest_expr *fits = nest_binary(at, NEST_AND, above, below);
    if (dtype_is_float(dt)) { /* what minus itself is not 0 */
        nest_expr *odd = nest_binary(at, NEST_NE, nest_sub(at, x, x),
                                     nest_const_float(at, NEST_F64, 0));
        fits = nest_binary(at, NEST_OR, odd, fits);
    }
    const char *message = arena_printf(
        s->a, "value cannot be converted to type %s without overflow", dtype_ctype_name(dt));
    int64_t code = loop_fault(s, n, message, 0, NULL);
    if (!code) return false;
    nest_require(at, fits, code, nest_int(at, 0));
    return true;
}

/* copy_(self, src), fill_(self, value), zero_(self) */
static bool tensor_copy_into(loop_state *s, const node *n, const char *text) {
    const loop_tensor *to = tensor_target(s, n);
    lazy_arg a = {0};
    loop_tensor reads = {0};
    if (!to) return false;
    if (!strcmp(text, "zero")) {
        a.t = lazy_number(&s->l, nest_int(s->n, 0));
    } else {
        const loop_value *x = loop_input(s, n, 1);
        if (!x) return false;
        if (x->kind == LOOP_NUMBER && !number_fits(s, n, x->e, to->dt)) return false;
        if (x->kind == LOOP_NUMBER) a.t = lazy_number(&s->l, x->e);
        else if (x->kind != LOOP_TENSOR || !tensor_arg(s, n->inputs.data[1], &a, &reads))
            return false;
    }
    return a.t && tensor_store(s, n, to, a.t, &reads);
}

/* bool < int < float */
static int tensor_category(dtype dt) { return dt == DT_BOOL ? 0 : dtype_is_int(dt) ? 1 : 2; }

/* self.add_(...) is self.copy_(self.add(...)), if the result can be cast to self's dtype. */
static bool tensor_in_place(loop_state *s, const node *n) {
    const loop_tensor *to = tensor_target(s, n);
    const op *functional = loop_functional(n->op);
    loop_tensor reads = {0};
    if (!to || !functional) return false;
    const lazy_tensor *l = tensor_apply(s, n, functional, &reads);
    if (!l || l->ndim > to->ndim || tensor_category(l->dt) > tensor_category(to->dt)) return false;
    return tensor_store(s, n, to, l, &reads);
}

/* ---- numbers and tensors of one element ------------------------------------------------------ */

/* int(x) of what no int64 is fails. */
static bool item_to_int(loop_state *s, const node *n, nest_expr *e) {
    int64_t code = loop_fault(s, n, "value cannot be converted to type int64_t without overflow", 0,
                              NULL);
    if (!code) return false;
    nest_expr *low = nest_binary(s->n, NEST_GE, e, nest_const_float(s->n, NEST_F64, -0x1p63));
    nest_expr *high = nest_binary(s->n, NEST_LT, e, nest_const_float(s->n, NEST_F64, 0x1p63));
    nest_require(s->n, nest_binary(s->n, NEST_AND, low, high), code, nest_int(s->n, 0));
    loop_set_number(s, n, nest_cast(s->n, NEST_I64, e));
    return true;
}

static bool tensor_item(loop_state *s, const node *n, const char *text) {
    const loop_value *x = loop_input(s, n, 0);
    if (!x || x->kind != LOOP_TENSOR) return false;
    bool implicit = !strncmp(text, "implicit", 8);
    if (implicit && x->tensor->ndim) return false;
    nest_expr *e = loop_read_one(s, x->tensor);
    if (!e || s->l.failed) return false;
    if (implicit) text += text[8] ? 9 : 8;
    if (implicit && !strcmp(text, "int") && !nest_types[e->type].is_int) return false;
    nest_type whole = e->type == NEST_BOOL     ? NEST_BOOL
                      : nest_is_float(e->type) ? NEST_F64
                                               : NEST_I64;
    e = nest_cast(s->n, whole, e);
    if (!strcmp(text, "int") && whole == NEST_F64) return item_to_int(s, n, e);
    nest_type t = !strcmp(text, "int")     ? NEST_I64
                  : !strcmp(text, "float") ? NEST_F64
                  : !strcmp(text, "bool")  ? NEST_BOOL
                                           : whole;
    loop_set_number(s, n, nest_cast(s->n, t, e));
    return true;
}

/* The dtype of a new tensor: argument `dtype`, or `other` if that is None. */
static bool tensor_new_dtype(loop_state *s, const node *n, dtype other, dtype *out) {
    int i = schema_find_arg(n->op->schema, "dtype");
    const loop_value *x = i >= 0 ? loop_input(s, n, i) : NULL;
    nest_type t;
    if (!x) return false;
    if (x->kind == LOOP_CONSTANT && x->constant.tag == V_NONE) *out = other;
    else if (x->kind == LOOP_NUMBER && x->e->op == NEST_CONST && x->e->type == NEST_I64 &&
             dtype_valid(x->e->u.i))
        *out = (dtype)x->e->u.i;
    else return false;
    return nest_type_of(*out, &t);
}

/* The number has to fit `first`; from there it is cast, which may wrap. */
static bool tensor_new_of(loop_state *s, const node *n, nest_expr *e, dtype first, dtype dt,
                          int ndim) {
    lazy_tensor *l = lazy_cast(&s->l, lazy_cast(&s->l, lazy_number(&s->l, e), first), dt);
    if (!l || !number_fits(s, n, e, first)) return false;
    lazy_forget(&s->l);
    nest_expr *v = lazy_at(&s->l, l, NULL);
    if (v->op != NEST_CONST) v = nest_let(s->n, "v", v);
    return tensor_set(s, n,
                      loop_new_one(s, n->outputs.data[0], dt, ndim,
                                   v->op == NEST_CONST ? v : loop_round(s, dt, v)));
}

/* tensor(x), which is of x's natural dtype first; scalar_tensor(x) */
static bool tensor_new_number(loop_state *s, const node *n, const char *text) {
    const loop_value *x = loop_input(s, n, 0);
    dtype dt;
    if (!x || x->kind != LOOP_NUMBER) return false;
    bool scalar = !strcmp(text, "scalar"), real = nest_is_float(x->e->type) || scalar;
    int grad = schema_find_arg(n->op->schema, "requires_grad");
    value c;
    if (grad >= 0 && (!ir_value_constant(n->inputs.data[grad], &c) || c.tag != V_BOOL || c.u.b))
        return false;
    dtype natural = real ? DT_FLOAT32 : x->e->type == NEST_BOOL ? DT_BOOL : DT_INT64;
    if (!tensor_new_dtype(s, n, natural, &dt)) return false;
    return tensor_new_of(s, n, x->e, scalar ? dt : natural, dt, 0);
}

/* zeros(sizes), ones(sizes), full(sizes, x) of one element */
static bool tensor_new_filled(loop_state *s, const node *n, const char *text) {
    value c;
    int ndim = -1;
    const loop_value *sizes = loop_input(s, n, 0), *x;
    if (ir_value_constant(n->inputs.data[0], &c) && c.tag == V_LIST && c.u.list->kind == LIST_INT) {
        ndim = (int)c.u.list->len;
        for (size_t i = 0; i < c.u.list->len; i++)
            if (c.u.list->u.ints[i] != 1) return false;
    } else if (sizes && sizes->kind == LOOP_LIST) {
        ndim = sizes->nitems;
        for (int i = 0; i < ndim; i++)
            if (sizes->items[i]->e->op != NEST_CONST || sizes->items[i]->e->u.i != 1) return false;
    }
    if (ndim < 0 || ndim > LAZY_MAX_DIMS) return false;
    bool full = !strcmp(text, "full");
    nest_expr *e = nest_const_float(s->n, NEST_F64, !strcmp(text, "ones"));
    dtype dt = DT_FLOAT32;
    if (full) {
        x = loop_input(s, n, 1);
        if (!x || x->kind != LOOP_NUMBER) return false;
        e = x->e;
        dt = nest_is_float(e->type) ? DT_FLOAT32 : e->type == NEST_BOOL ? DT_BOOL : DT_INT64;
    }
    return tensor_new_dtype(s, n, dt, &dt) && tensor_new_of(s, n, e, dt, dt, ndim);
}

bool loop_lower_tensor(loop_state *s, const node *n, loop_class cls, const char *text) {
    switch (cls) {
    case LOOP_ITEM: return tensor_item(s, n, text);
    case LOOP_NEW: return tensor_new_number(s, n, text);
    case LOOP_FILL_NEW: return tensor_new_filled(s, n, text);
    case LOOP_COPY:
    case LOOP_FILL: return tensor_copy_into(s, n, text);
    case LOOP_REDUCE: return tensor_reduce(s, n, text);
    case LOOP_DOT: return tensor_dot(s, n);
    case LOOP_POINTWISE: return tensor_pointwise(s, n, false);
    case LOOP_VIEW: return tensor_pointwise(s, n, true);
    case LOOP_IN_PLACE: return tensor_in_place(s, n);
    default: return false;
    }
}
