/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group_loop_flow.c - blocks, loops and branches of a native loop.
 *
 *     %k, %s = prim::Loop(%n, %true, %k0, %s0)          k = k0; s = s0;
 *       block0(%i, %k1, %s1):                           for (i = 0; i < n; i += 1) {
 *         ...                                      ->       let k1 = k, s1 = s; ...
 *         -> (%true, %k2, %s2)                              k = k2; s = s2;
 *                                                       }
 *
 * Carried numbers, and carried new tensors of one element, are variables. At the start of an
 * iteration they are read into lets, so that everything in the body is in SSA form and iterations
 * assign in parallel. A tensor that every iteration passes on (loop_object) is not a variable but
 * itself. Loops whose condition is always true are counted; others are `while` with the condition,
 * and the count, in variables.
 *
 * Branches assign to variables declared in front of them; their types are known when the
 * first branch has been lowered, so the declarations are completed then. Watching. A
 * loop can run for hours, so kernels check at intervals whether to stop: a loop around
 * other loops and a `while` in each iteration, the innermost counted loops after a
 * number of iterations, from a loop around them, so that LLVM can still optimise them:
 *
 *     for (w = 0; w < n; w += 1024) {
 *         if (w > 0) watch(stopped);
 *         for (i = w; i < (n - w > 1024 ? w + 1024 : n); i += 1) ...
 *     }
 * Tests: tests/unit/test_group_loop.c
 */
#include "codegen/lower/loops/group_loop.h"
#include "codegen/lower/plan/group_tuning.h"

typedef struct loop_carried {
    bool kept;      /* the tensor that went in */
    nest_expr *var; /* NULL: not known yet */
    bool tensor;
    dtype dt;
    int ndim;
    nest_stmt *declare;
    nest_expr *before; /* its value at the start of an iteration */
} loop_carried;

bool loop_number_type(const type *t, nest_type *out) {
    switch (t->kind) {
    case T_INT: *out = NEST_I64; return true;
    case T_FLOAT: *out = NEST_F64; return true;
    case T_BOOL: *out = NEST_BOOL; return true;
    default: return false;
    }
}

static nest_expr *flow_zero(loop_state *s, nest_type t) {
    return nest_is_float(t) ? nest_const_float(s->n, t, 0) : nest_const_int(s->n, t, 0);
}

/* Everything written in the group may be written from here on, as seen by what was made before. */
static void flow_barrier(loop_state *s) {
    s->clock++;
    for (int i = 0; i < s->nbases; i++)
        if (s->bases[i].written) s->bases[i].last_write = s->clock;
}

/* The value that x has now: for the variable c. NULL: it cannot be one. */
static nest_expr *flow_value(loop_state *s, loop_value *x, loop_carried *c) {
    if (!x) return NULL;
    if (x->kind == LOOP_NUMBER) return x->e;
    if (x->kind != LOOP_TENSOR) return NULL;
    const loop_tensor *t = x->tensor;
    if (t->view && t->view->base->written) return NULL; /* would have to stay the same memory */
    c->tensor = true;
    c->dt = t->dt;
    c->ndim = t->ndim;
    return loop_read_one(s, t);
}

/* What a variable is outside of where it was assigned. */
static bool flow_define(loop_state *s, const ir_value *v, const loop_carried *c) {
    nest_expr *now = nest_let(s->n, "v", c->var);
    if (!c->tensor) {
        loop_set(s, v, loop_number(s, now));
        return true;
    }
    if (ptrmap_get(&s->written_new, v)) return false;
    loop_set(s, v, loop_of_tensor(s, loop_new_one(s, v, c->dt, c->ndim, now)));
    return true;
}

/* v is the object that went in somewhere above. */
static bool flow_keep(loop_state *s, const ir_value *v) {
    loop_value *x = loop_get(s, loop_object(v));
    if (x) loop_set(s, v, x);
    return x != NULL;
}

static bool flow_is_kept(const ir_value *v) {
    return v->type->kind == T_TENSOR && loop_object(v) != v;
}

/* ---- branches -------------------------------------------------------------------------------- */

static bool flow_assign(loop_state *s, const block *b, loop_carried *out) {
    for (size_t i = 0; i < b->returns.len; i++) {
        loop_carried *c = &out[i], now = {0};
        loop_value *x = loop_get(s, b->returns.data[i]);
        if (c->kept || (x && x->kind == LOOP_UNINIT)) continue;
        nest_expr *e = flow_value(s, x, &now);
        if (!e) return false;
        nest_stmt *d = c->declare;
        if (!d->value) { /* the first to tell the type */
            d->value = flow_zero(s, e->type);
            d->var->type = c->var->type = e->type;
            c->tensor = now.tensor, c->dt = now.dt, c->ndim = now.ndim;
        }
        if (c->var->type != e->type || c->tensor != now.tensor || c->dt != now.dt ||
            c->ndim != now.ndim)
            return false;
        nest_set(s->n, c->var, e);
    }
    return true;
}

/* Bounds of numbers that both branches give. */
static void flow_bounds(loop_state *s, const node *n) {
    for (size_t i = 0; i < n->outputs.len; i++) {
        const loop_value *a = loop_get(s, n->blocks.data[0]->returns.data[i]),
                         *b = loop_get(s, n->blocks.data[1]->returns.data[i]);
        loop_value *x = loop_get(s, n->outputs.data[i]);
        if (!a || !b || a->kind != LOOP_NUMBER || b->kind != LOOP_NUMBER ||
            x->kind != LOOP_NUMBER || x->e->type != NEST_I64)
            continue;
        if (a->low.known && b->low.known && a->low.base == b->low.base)
            x->low = a->low.c < b->low.c ? a->low : b->low;
        if (a->high.known && b->high.known && a->high.base == b->high.base)
            x->high = a->high.c > b->high.c ? a->high : b->high;
    }
}

static nest_stmt *flow_last(loop_state *s) {
    if (!s->n->nopen) return s->n->body.last;
    nest_stmt *o = s->n->open[s->n->nopen - 1];
    return s->n->in_else[s->n->nopen - 1] ? o->other.last : o->body.last;
}

static bool flow_if(loop_state *s, const node *n) {
    loop_carried out[LOOP_MAX_CARRIED] = {{0}};
    const loop_value *condition = loop_input(s, n, 0);
    size_t count = n->outputs.len;
    if (count > LOOP_MAX_CARRIED || !condition || condition->kind != LOOP_NUMBER ||
        condition->e->type != NEST_BOOL)
        return false;
    for (size_t i = 0; i < count; i++) {
        out[i].kept = flow_is_kept(n->outputs.data[i]);
        if (out[i].kept) continue;
        out[i].var = nest_variable(s->n, "v", nest_const_int(s->n, NEST_BOOL, 0));
        out[i].declare = flow_last(s);
        out[i].declare->value = NULL;
    }
    nest_if(s->n, condition->e);
    for (int b = 0; b < 2; b++) {
        if (!loop_lower_block(s, n->blocks.data[b]) || !flow_assign(s, n->blocks.data[b], out))
            return false;
        if (b == 0 && (n->blocks.data[1]->first || count)) nest_else(s->n);
    }
    nest_end(s->n);
    for (size_t i = 0; i < count; i++) {
        const ir_value *v = n->outputs.data[i];
        if (out[i].kept) {
            if (!flow_keep(s, v)) return false;
            continue;
        }
        nest_stmt *d = out[i].declare;
        if (!d->value) { /* both are uninitialised: nothing reads it */
            if (!loop_number_type(v->type, &d->var->type)) return false;
            out[i].var->type = d->var->type;
            d->value = flow_zero(s, d->var->type);
        }
        if (!flow_define(s, v, &out[i])) return false;
    }
    flow_bounds(s, n);
    return true;
}

/* ---- loops: bounds of carried ints ----------------------------------------------------------- */

static bool flow_constant_true(const ir_value *v) {
    value c;
    return ir_value_constant(v, &c) && c.tag == V_BOOL && c.u.b;
}

enum { FLOW_MAX_DEPTH = 32, FLOW_MAX_QUESTIONS = 1000, FLOW_SMALL_STEP = 1 << 16 };

static bool flow_grows(loop_state *s, const ir_value *v, const ir_value *param, bool bounded,
                       int depth);

/* A number that is added: a small constant, or one that is known not to be negative if the sum
 * is bounded above. */
static bool flow_step(loop_state *s, const ir_value *v, bool bounded) {
    value c;
    if (ir_value_constant(v, &c)) return c.tag == V_INT && c.u.i >= 0 && c.u.i <= FLOW_SMALL_STEP;
    const loop_value *x = loop_get(s, v); /* known only if it comes from outside the loop */
    if (!bounded || !x || x->kind != LOOP_NUMBER || !x->low.known || x->low.base || x->low.c < 0)
        return false;
    return loop_sane(s, x->high);
}

static bool flow_grows_node(loop_state *s, const ir_value *v, const node *n, const ir_value *param,
                            bool bounded, int depth) {
    const char *text;
    if (n->kind == N_IF)
        return flow_grows(s, n->blocks.data[0]->returns.data[v->index], param, bounded, depth) &&
               flow_grows(s, n->blocks.data[1]->returns.data[v->index], param, bounded, depth);
    if (loop_op_class(n, &text) != LOOP_ARITH || !node_is_op(n, SYM_ADD)) return false;
    for (int i = 0; i < 2; i++)
        if (flow_grows(s, n->inputs.data[i], param, bounded, depth) &&
            flow_step(s, n->inputs.data[1 - i], bounded))
            return true;
    return false;
}

/* Is v, what an iteration makes of the carried int param, never less than it? */
static bool flow_grows(loop_state *s, const ir_value *v, const ir_value *param, bool bounded,
                       int depth) {
    if (v == param) return true;
    if (v->type->kind != T_INT || !v->def || depth > FLOW_MAX_DEPTH ||
        ++s->questions > FLOW_MAX_QUESTIONS)
        return false;
    return flow_grows_node(s, v, v->def, param, bounded, depth + 1);
}

/* The n of a condition `v < n` (or `n > v`) among the terms of c; *equal: it is `v <= n`. */
static const ir_value *flow_less(loop_state *s, const ir_value *c, const ir_value *v, bool *equal,
                                 int depth) {
    static const struct { op_symbol name; int at; bool equal; } rows[] = {
        {SYM_LT, 0, false},
        {SYM_LE, 0, true},
        {SYM_GT, 1, false},
        {SYM_GE, 1, true},
    };
    const node *n = c->def;
    if (!n || n->inputs.len != 2 || depth > FLOW_MAX_DEPTH || ++s->questions > FLOW_MAX_QUESTIONS)
        return NULL;
    if (node_is_op(n, SYM___AND__)) {
        const ir_value *found = flow_less(s, n->inputs.data[0], v, equal, depth + 1);
        return found ? found : flow_less(s, n->inputs.data[1], v, equal, depth + 1);
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (node_is_op(n, rows[i].name) && n->inputs.data[rows[i].at] == v) {
            *equal = rows[i].equal;
            return n->inputs.data[1 - rows[i].at];
        }
    return NULL;
}

static bool flow_same_int(const ir_value *a, const ir_value *b) {
    value x, y;
    if (a == b) return true;
    return ir_value_constant(a, &x) && ir_value_constant(b, &y) && x.tag == V_INT &&
           y.tag == V_INT && x.u.i == y.u.i;
}

/* What carried int k is below whenever an iteration starts, because the loop's
 * condition says so. */
static loop_bound flow_upper(loop_state *s, const node *loop, int k) {
    const ir_value *first = loop->inputs.data[k + 2], *enter = loop->inputs.data[1];
    const block *body = loop->blocks.data[0];
    bool equal = false, equal_first = false;
    value x, y;
    const ir_value *limit = flow_less(s, body->returns.data[0], body->returns.data[k + 1], &equal,
                                      0);
    const loop_value *l = limit ? loop_get(s, limit) : NULL;
    if (!l || l->kind != LOOP_NUMBER || l->e->type != NEST_I64) return (loop_bound){0};
    const ir_value *at_first = flow_less(s, enter, first, &equal_first, 0);
    bool entered = at_first && equal_first == equal && flow_same_int(at_first, limit);
    if (!entered && flow_constant_true(enter) && ir_value_constant(first, &x) &&
        ir_value_constant(limit, &y) && x.tag == V_INT && y.tag == V_INT)
        entered = equal ? x.u.i <= y.u.i : x.u.i < y.u.i;
    return entered ? loop_bound_add(s, l->high, loop_bound_const(equal ? 0 : 1), -1)
                   : (loop_bound){0};
}

static void flow_carried_bounds(loop_state *s, const node *loop, int k, const loop_value *init,
                                loop_bound *low, loop_bound *high) {
    const block *body = loop->blocks.data[0];
    *low = (loop_bound){0};
    s->questions = 0;
    *high = flow_upper(s, loop, k);
    if (init->kind == LOOP_NUMBER && init->e->type == NEST_I64 && init->low.known &&
        flow_grows(s, body->returns.data[k + 1], body->params.data[k + 1], loop_sane(s, *high), 0))
        *low = init->low;
}

/* ---- loops ----------------------------------------------------------------------------------- */

typedef struct flow_loop {
    const node *n;
    const block *body;
    int count;
    bool counted, strips;             /* strips: two loops were opened */
    nest_expr *trip, *iteration, *go; /* iteration, go: variables of a while */
    loop_carried carried[LOOP_MAX_CARRIED];
    loop_bound low[LOOP_MAX_CARRIED], high[LOOP_MAX_CARRIED];
} flow_loop;

static bool flow_carry_in(loop_state *s, flow_loop *f) {
    for (int k = 0; k < f->count; k++) {
        loop_carried *c = &f->carried[k];
        const ir_value *param = f->body->params.data[k + 1];
        loop_value *init = loop_input(s, f->n, k + 2);
        nest_type t;
        c->kept = flow_is_kept(param);
        if (c->kept) continue;
        if (!init) return false;
        nest_expr *e;
        if (init->kind == LOOP_UNINIT) {
            if (!loop_number_type(param->type, &t)) return false;
            e = flow_zero(s, t);
        } else {
            e = flow_value(s, init, c);
        }
        if (!e || (c->tensor && ptrmap_get(&s->written_new, param))) return false;
        if (e->type == NEST_I64 && !c->tensor)
            flow_carried_bounds(s, f->n, k, init, &f->low[k], &f->high[k]);
        c->var = nest_variable(s->n, param->name[0] ? param->name : "v", e);
    }
    return true;
}

static bool flow_start_round(loop_state *s, flow_loop *f) {
    for (int k = 0; k < f->count; k++) {
        loop_carried *c = &f->carried[k];
        const ir_value *param = f->body->params.data[k + 1];
        if (c->kept ? !flow_keep(s, param) : !flow_define(s, param, c)) return false;
        if (c->kept || c->tensor) continue;
        loop_value *x = loop_get(s, param);
        c->before = x->e;
        x->low = f->low[k];
        x->high = f->high[k];
    }
    return true;
}

static bool flow_end_round(loop_state *s, flow_loop *f) {
    nest_expr *next[LOOP_MAX_CARRIED];
    for (int k = 0; k < f->count; k++) {
        loop_carried *c = &f->carried[k], now = {0};
        loop_value *x = loop_get(s, f->body->returns.data[k + 1]);
        next[k] = NULL;
        if (c->kept || (x && x->kind == LOOP_UNINIT)) continue;
        next[k] = flow_value(s, x, &now);
        if (!next[k] || next[k]->type != c->var->type || now.tensor != c->tensor ||
            now.dt != c->dt || now.ndim != c->ndim)
            return false;
        if (c->tensor) next[k] = nest_let(s->n, "v", next[k]);
    }
    for (int k = 0; k < f->count; k++)
        if (next[k] && next[k] != f->carried[k].before) nest_set(s->n, f->carried[k].var, next[k]);
    return true;
}

/* 0, 1, ..., trip - 1 */
static void flow_iteration_number(loop_state *s, flow_loop *f, nest_expr *i) {
    const loop_value *trip = loop_input(s, f->n, 0);
    loop_value *x = loop_number(s, i);
    const node *range = f->n->inputs.data[0]->def;
    x->low = loop_bound_const(0);
    x->high = loop_bound_add(s, trip->high, loop_bound_const(1), -1);
    if (range && loop_op_class(range, NULL) == LOOP_RANGE_LENGTH) {
        const loop_value *lo = loop_input(s, range, 0), *hi = loop_input(s, range, 1),
                         *step = loop_input(s, range, 2);
        if (lo && hi && step && step->low.known && !step->low.base && step->low.c > 0)
            x->high = loop_bound_add(s, loop_bound_add(s, hi->high, lo->low, -1),
                                     loop_bound_const(1), -1);
    }
    loop_set(s, f->body->params.data[0], x);
}

static void flow_open_counted(loop_state *s, flow_loop *f) {
    nest *n = s->n;
    nest_expr *begin = nest_int(n, 0), *end = f->trip;
    const char *name = f->body->params.data[0]->name;
    bool inner = !block_holds(f->body, N_LOOP);
    f->strips = inner && !(f->trip->op == NEST_CONST && f->trip->u.i <= FLOW_STRIP);
    if (f->strips) {
        nest_expr *strip = nest_int(n, FLOW_STRIP),
                  *w = nest_for_step(n, "w", begin, end, FLOW_STRIP, 0);
        nest_if(n, nest_binary(n, NEST_GT, w, begin));
        nest_watch(n, GROUP_STOPPED);
        nest_end(n);
        begin = w;
        end = nest_select(n, nest_binary(n, NEST_GT, nest_binary(n, NEST_SUB, f->trip, w), strip),
                          nest_add(n, w, strip), f->trip);
    }
    flow_iteration_number(s, f, nest_for(n, name[0] ? name : "i", begin, end, 0));
    if (!inner) nest_watch(n, GROUP_STOPPED);
}

static bool flow_open(loop_state *s, flow_loop *f) {
    nest_expr *zero = nest_int(s->n, 0);
    if (f->counted) {
        flow_open_counted(s, f);
        return true;
    }
    const loop_value *go = loop_input(s, f->n, 1);
    if (!go || go->kind != LOOP_NUMBER || go->e->type != NEST_BOOL) return false;
    bool endless = f->trip->op == NEST_CONST && f->trip->u.i == INT64_MAX;
    f->go = nest_variable(s->n, "go", go->e);
    if (!endless || f->body->params.data[0]->uses.len)
        f->iteration = nest_variable(s->n, "round", zero);
    nest_while(s->n, endless ? f->go
                             : nest_binary(s->n, NEST_AND, f->go,
                                           nest_binary(s->n, NEST_LT, f->iteration, f->trip)));
    nest_watch(s->n, GROUP_STOPPED);
    if (f->iteration) flow_iteration_number(s, f, nest_let(s->n, "round", f->iteration));
    return true;
}

static bool flow_close(loop_state *s, flow_loop *f) {
    const loop_value *go = loop_get(s, f->body->returns.data[0]);
    if (!go || go->kind != LOOP_NUMBER || go->e->type != NEST_BOOL || !flow_end_round(s, f))
        return false;
    if (!f->counted) nest_set(s->n, f->go, go->e);
    if (f->iteration) nest_set(s->n, f->iteration, nest_add(s->n, f->iteration, nest_int(s->n, 1)));
    nest_end(s->n);
    if (f->strips) nest_end(s->n);
    return true;
}

static bool flow_loop_node(loop_state *s, const node *n) {
    flow_loop *f = arena_alloc(s->a, sizeof *f);
    const loop_value *trip = loop_input(s, n, 0);
    if (!f || n->outputs.len > LOOP_MAX_CARRIED || !trip || trip->kind != LOOP_NUMBER ||
        trip->e->type != NEST_I64)
        return false;
    f->n = n;
    f->body = n->blocks.data[0];
    f->count = (int)n->outputs.len;
    f->trip = trip->e;
    f->counted = flow_constant_true(n->inputs.data[1]) &&
                 flow_constant_true(f->body->returns.data[0]);
    flow_barrier(s);
    bool ok = flow_carry_in(s, f) && flow_open(s, f) && flow_start_round(s, f) &&
              loop_lower_block(s, f->body) && flow_close(s, f);
    flow_barrier(s);
    for (int k = 0; k < f->count && ok; k++) {
        const ir_value *v = n->outputs.data[k];
        ok = f->carried[k].kept ? flow_keep(s, v) : flow_define(s, v, &f->carried[k]);
    }
    return ok;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static bool flow_constant(loop_state *s, const node *n) {
    const ir_value *v = n->outputs.data[0];
    value c;
    loop_value *x = arena_new(s->a, loop_value);
    if (!ir_value_constant(v, &c) || c.tag == V_TENSOR || c.tag == V_COMPLEX) return false;
    if (c.tag == V_INT) x = loop_number(s, nest_int(s->n, c.u.i));
    else if (c.tag == V_BOOL) x = loop_number(s, nest_const_int(s->n, NEST_BOOL, c.u.b));
    else if (c.tag == V_FLOAT) x = loop_number(s, nest_const_float(s->n, NEST_F64, c.u.f));
    else x->kind = LOOP_CONSTANT, x->constant = c;
    loop_set(s, v, x);
    return true;
}

static bool flow_list(loop_state *s, const node *n) {
    loop_value *x = arena_new(s->a, loop_value);
    if (n->inputs.len > LOOP_MAX_CARRIED) return false;
    x->kind = LOOP_LIST;
    x->nitems = (int)n->inputs.len;
    x->items = arena_array(s->a, loop_value *, n->inputs.len + 1);
    for (int i = 0; i < x->nitems; i++) {
        x->items[i] = loop_input(s, n, i);
        if (!x->items[i] || x->items[i]->kind != LOOP_NUMBER) return false;
    }
    loop_set(s, n->outputs.data[0], x);
    return true;
}

static bool flow_unpack(loop_state *s, const node *n) {
    const loop_value *x = loop_input(s, n, 0);
    if (!x || x->kind != LOOP_LIST || x->nitems != (int)n->outputs.len) return false;
    for (int i = 0; i < x->nitems; i++) loop_set(s, n->outputs.data[i], x->items[i]);
    return true;
}

static bool flow_uninitialised(loop_state *s, const node *n) {
    loop_value *x = arena_new(s->a, loop_value);
    x->kind = LOOP_UNINIT;
    loop_set(s, n->outputs.data[0], x);
    return true;
}

static bool flow_op(loop_state *s, const node *n) {
    const char *text;
    loop_class cls = loop_op_class(n, &text);
    if (cls == LOOP_NONE) return false;
    if (cls < LOOP_ITEM) return loop_lower_number(s, n, cls, text);
    if (cls >= LOOP_QUERY && cls <= LOOP_LIST_LEN) return loop_lower_query(s, n, cls, text);
    if (cls >= LOOP_SELECT && cls <= LOOP_UNSQUEEZE) return loop_lower_view(s, n, cls, text);
    return loop_lower_tensor(s, n, cls, text);
}

static bool flow_node(loop_state *s, const node *n) {
    switch (n->kind) {
    case N_CONSTANT: return flow_constant(s, n);
    case N_IF: return flow_if(s, n);
    case N_LOOP: return flow_loop_node(s, n);
    case N_LIST_CONSTRUCT: return flow_list(s, n);
    case N_LIST_UNPACK: return flow_unpack(s, n);
    case N_UNINITIALIZED: return flow_uninitialised(s, n);
    case N_OP: return flow_op(s, n);
    default: return false;
    }
}

bool loop_lower_block(loop_state *s, const block *b) {
    for (const node *n = b->first; n; n = n->next)
        if (s->failed || arena_failed(s->a) || s->n->overflow || !flow_node(s, n)) return false;
    return true;
}
