/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gen_loop.c - loops that touch tensors element by element, as programs write them, since they
 * become native code:
 *
 *     for i in range(x.size(0)):             while i < n:
 *         out[i] = x[i] * k + s                  s = s + float(x[i, j])
 *         s += x[i].item()                       i += 1
 *
 * with one or two nested loops, carried floats and ints, branches on scalars, and indices that are
 * not simply the counter; tensors that rounds and branches pass on as they are or written to:
 *
 *     row = out[i]
 *     if s < k: row = row.mul_(2)
 */
#include "gen.h"

enum { LOOP_CARRIED = 3, LOOP_DEPTH = 2 };

/* What the statements of an element loop work on. */
typedef struct element_loop {
    gen *G;
    ir_value *x, *out; /* read, and written; out may be NULL */
    ir_value *counters[LOOP_DEPTH + 1];
    ir_value *counts[LOOP_DEPTH + 1];
    int depth;     /* loops around */
    size_t inside; /* where the body's scope begins */
} element_loop;

static bool element_source(gen *G, ir_value *v, void *ctx) {
    const tensor *t = gen_tensor(G, v);
    (void)ctx;
    return t->ndim >= 1 && t->ndim <= 3 && t->sizes[0] >= 1 && t->numel <= 64;
}

static bool element_target(gen *G, ir_value *v, void *ctx) {
    const tensor *t = gen_tensor(G, v), *x = gen_tensor(G, ((element_loop *)ctx)->x);
    for (size_t k = 0; k < G->constants.len; k++)
        if (t->storage == G->constants.data[k]) return false;
    return t->ndim >= 1 && t->ndim <= 2 && t->sizes[0] >= x->sizes[0] && !tensor_may_overlap(t);
}

/* An index along dimension k: the counter, or something made of it. */
static ir_value *element_index(element_loop *L, int k) {
    gen *G = L->G;
    ir_value *i = L->counters[k < L->depth ? k : (int)(rng_next(&G->r) % (uint64_t)L->depth)];
    switch (rng_range(&G->r, 0, 11)) {
    case 0:
        return gen_emit(G, "aten::sub.int", false, 2,
                        gen_emit(G, "aten::sub.int", false, 2, L->counts[0], gen_int(G, 1)), i);
    case 1: return gen_emit(G, "aten::floordiv.int", false, 2, i, gen_int(G, 2));
    case 2:
        return gen_emit(G, "aten::remainder.int", false, 2,
                        gen_emit(G, "aten::add.int", false, 2, i, gen_int(G, 1)), L->counts[0]);
    case 3: return gen_emit(G, "aten::sub.int", false, 2, i, gen_int(G, 1));
    case 4: return gen_int(G, rng_range(&G->r, -1, 1));
    default: return i;
    }
}

/* A bound of a slice: constant or made of the counter, from the front or from the back, within the
 * dimension or not. */
static ir_value *element_bound(element_loop *L) {
    gen *G = L->G;
    ir_value *i = L->counters[(int)(rng_next(&G->r) % (uint64_t)L->depth)];
    switch (rng_range(&G->r, 0, 5)) {
    case 0: return i;
    case 1: return gen_emit(G, "aten::add.int", false, 2, i, gen_int(G, rng_range(&G->r, 1, 3)));
    case 2: return gen_emit(G, "aten::sub.int", false, 2, i, L->counts[0]);
    case 3: return gen_emit(G, "aten::sub.int", false, 2, i, gen_int(G, rng_range(&G->r, 1, 3)));
    default: return gen_int(G, rng_range(&G->r, -3, 4));
    }
}

/* A view of x, taken in the loop. */
static ir_value *element_view(element_loop *L, ir_value *x) {
    gen *G = L->G;
    int n = gen_tensor(G, x)->ndim;
    if (!n) return x;
    ir_value *dim = gen_int(G, rng_range(&G->r, -n, n - 1)),
             *other = gen_int(G, rng_range(&G->r, 0, n - 1)), *begin, *end;
    switch (rng_range(&G->r, 0, 5)) {
    case 0:
        return n < 4 ? gen_emit(G, "aten::unsqueeze", false, 2, x,
                                gen_int(G, rng_range(&G->r, -n - 1, n)))
                     : x;
    case 1: return gen_emit(G, "aten::transpose.int", false, 3, x, dim, other);
    default:
        begin = rng_chance(&G->r, 20) ? gen_constant(G, value_none(), TYPE_NONE) : element_bound(L);
        end = rng_chance(&G->r, 40) ? gen_constant(G, value_none(), TYPE_NONE) : element_bound(L);
        return begin && end
                   ? gen_emit(G, "aten::slice.Tensor", false, 5, x, dim, begin, end, gen_int(G, 1))
                   : NULL;
    }
}

/* x[i], x[i, j] or x[i][j][k], perhaps of a view of x: down to `left` dimensions. */
static ir_value *element_at(element_loop *L, ir_value *x, int left) {
    gen *G = L->G;
    for (int views = 0; x && views < 2 && rng_chance(&G->r, 20); views++) x = element_view(L, x);
    if (!x) return NULL;
    int n = gen_tensor(G, x)->ndim;
    for (int k = 0; x && k < n - left; k++)
        x = gen_emit(G, "aten::select.int", false, 3, x, gen_int(G, 0), element_index(L, k));
    return x;
}

static ir_value *element_read(element_loop *L) {
    gen *G = L->G;
    ir_value *v = element_at(L, L->out && rng_chance(&G->r, 20) ? L->out : L->x, 0);
    if (!v) return NULL;
    dtype dt = (dtype)gen_tensor(G, v)->dtype;
    if (rng_chance(&G->r, 20))
        v = gen_emit(G, rng_chance(&G->r, 50) ? "aten::mul.Scalar" : "aten::add.Scalar", false, 2,
                     v, gen_float(G, 0.5));
    if (!v) return NULL;
    dt = (dtype)gen_tensor(G, v)->dtype;
    if (dt == DT_BOOL) return gen_emit(G, "aten::Bool.Tensor", true, 1, v);
    if (dtype_is_int(dt)) return gen_emit(G, "aten::Int.Tensor", true, 1, v);
    if (rng_chance(&G->r, 65)) return gen_emit(G, "aten::Float.Tensor", true, 1, v);
    return gen_emit(G, "aten::Float.Scalar", true, 1, gen_emit(G, "aten::item", false, 1, v));
}

static ir_value *element_scalar(element_loop *L) {
    gen *G = L->G;
    ir_value *v = gen_pick(G, rng_chance(&G->r, 70) ? TYPE_FLOAT : TYPE_INT, NULL, NULL);
    return v ? v : gen_float(G, 1.5);
}

static ir_value *element_arithmetic(element_loop *L) {
    static const char *const floats[] = {"add", "mul", "sub", "add", "mul", "div"};
    static const char *const more[] = {"prim::max.float", "prim::min.float", "aten::pow.float"};
    static const char *const unary[] = {"aten::neg.float", "aten::sqrt.float",  "aten::exp.float",
                                        "prim::abs.float", "aten::floor.float", "aten::sin.float",
                                        "aten::tanh.float"};
    static const char *const ints[] = {"add", "mul", "sub", "floordiv", "remainder"};
    gen *G = L->G;
    char key[40];
    ir_value *a = gen_pick(G, TYPE_FLOAT, NULL, NULL), *b = gen_pick(G, TYPE_FLOAT, NULL, NULL);
    ir_value *i = gen_pick(G, TYPE_INT, NULL, NULL);
    ir_value *k = rng_chance(&G->r, 50) ? gen_pick(G, TYPE_INT, NULL, NULL)
                                        : gen_int(G, rng_range(&G->r, 1, 4));
    switch (rng_range(&G->r, 0, 5)) {
    case 0:
        return i && k ? (snprintf(key, sizeof key, "aten::%s.int", ints[rng_next(&G->r) % 5]),
                         gen_emit(G, key, true, 2, i, k))
                      : NULL;
    case 1: return a ? gen_emit(G, unary[rng_next(&G->r) % 7], true, 1, a) : NULL;
    case 2: return a && b ? gen_emit(G, more[rng_next(&G->r) % 3], true, 2, a, b) : NULL;
    case 3:
        return a && i
                   ? gen_emit(G,
                              rng_chance(&G->r, 50) ? "aten::mul.float_int" : "aten::add.float_int",
                              true, 2, a, i)
                   : NULL;
    default:
        if (!a || !b) return NULL;
        snprintf(key, sizeof key, "aten::%s%s", floats[rng_next(&G->r) % 6], "");
        if (!strcmp(key, "aten::div")) return gen_emit(G, "aten::div.float", true, 2, a, b);
        return gen_emit(G, strcat(key, ".float"), true, 2, a, b);
    }
}

/* out[i] = v, as the front end writes it; or a write in place. */
static ir_value *element_write(element_loop *L) {
    gen *G = L->G;
    ir_value *at = L->out ? element_at(L, L->out, rng_chance(&G->r, 15) ? 1 : 0) : NULL,
             *v = element_scalar(L), *dt, *device, *row;
    if (!at || !v) return NULL;
    switch (rng_range(&G->r, 0, 5)) {
    case 0:
        return gen_emit(G, rng_chance(&G->r, 50) ? "aten::add_.Scalar" : "aten::mul_.Scalar", false,
                        2, at, v);
    case 1: return gen_emit(G, "aten::fill_.Scalar", false, 2, at, v);
    case 2:
        row = element_at(L, L->x, gen_tensor(G, at)->ndim);
        if (row && rng_chance(&G->r, 60)) row = gen_emit(G, "aten::mul.Scalar", false, 2, row, v);
        return row ? gen_emit(G, rng_chance(&G->r, 50) ? "aten::copy_" : "aten::add_.Tensor", false,
                              2, at, row)
                   : NULL;
    default:
        dt = gen_emit(G, "prim::dtype", false, 1, at);
        device = gen_emit(G, "prim::device", false, 1, at);
        v = gen_emit(G, v->type == TYPE_FLOAT ? "aten::tensor.float" : "aten::tensor.int", false, 4,
                     v, dt, device, gen_bool(G, false));
        return v ? gen_emit(G, "aten::copy_", false, 3, at, v, gen_bool(G, false)) : NULL;
    }
}

/* A comparison of numbers at hand. */
static ir_value *element_question(element_loop *L) {
    gen *G = L->G;
    ir_value *a = gen_pick(G, TYPE_FLOAT, NULL, NULL), *b = gen_pick(G, TYPE_FLOAT, NULL, NULL),
             *i = gen_pick(G, TYPE_INT, NULL, NULL);
    if (a && b && a != b)
        return gen_emit(G, rng_chance(&G->r, 50) ? "aten::lt.float" : "aten::ge.float", true, 2, a,
                        b);
    return i ? gen_emit(G, rng_chance(&G->r, 50) ? "aten::eq.int" : "aten::lt.int", true, 2, i,
                        gen_int(G, rng_range(&G->r, 0, 3)))
             : NULL;
}

/* if a < b: s = ...  else: ... */
static bool element_branch(element_loop *L) {
    ir_value *c = element_question(L);
    return c && gen_if(L->G, c);
}

/* t itself, or what writing to it in place returns. */
static ir_value *element_passed(element_loop *L, ir_value *t) {
    gen *G = L->G;
    ir_value *v = rng_chance(&G->r, 55)
                      ? gen_emit(G,
                                 rng_chance(&G->r, 50) ? "aten::add_.Scalar" : "aten::mul_.Scalar",
                                 false, 2, t, element_scalar(L))
                      : NULL;
    return v ? v : t;
}

/* A row or an element, and two branches that pass it on: if a < b: row = row.mul_(2) */
static bool element_pass(element_loop *L) {
    gen *G = L->G;
    ir_value *t = element_at(L, L->out ? L->out : L->x, rng_chance(&G->r, 50) ? 1 : 0), *c, *out;
    if (!t || !L->out || !(c = element_question(L))) return false;
    bool taken = gen_value(G, c).u.b;
    block *outer = G->g->insert_block;
    node *n = graph_insert(G->g, node_new(G->g, N_IF, 1, &c, 0));
    for (int i = 0; i < 2; i++) {
        block *b = node_add_block(n);
        world w = {0};
        if (taken != (i == 0)) gen_save_scope(G, &w);
        graph_set_insert(G->g, b, NULL);
        block_add_return(b, element_passed(L, t));
        graph_set_insert(G->g, outer, NULL);
        if (taken != (i == 0)) world_restore(&w);
        world_free(&w);
    }
    out = node_add_output(n, TYPE_TENSOR);
    evaluation_set_take(&G->e, out,
                        value_ref(gen_value(G, n->blocks.data[!taken]->returns.data[0])));
    gen_show(G, out);
    if (rng_chance(&G->r, 50)) element_passed(L, out);
    return true;
}

static bool element_nest(element_loop *L);

static bool element_statement(element_loop *L) {
    int what = (int)rng_range(&L->G->r, 0, 99);
    if (what < 30) return element_read(L) != NULL;
    if (what < 60) return element_arithmetic(L) != NULL;
    if (what < 82) return element_write(L) != NULL;
    if (what < 89) return L->depth < LOOP_DEPTH && element_nest(L);
    if (what < 93) return element_pass(L);
    return element_branch(L);
}

static void element_statements(element_loop *L, int n) {
    gen *G = L->G;
    for (int tries = 0; n > 0 && tries < 20; tries++) {
        gen_mark m = gen_mark_here(G);
        if (element_statement(L)) n--;
        else gen_undo(G, m);
    }
}

/* ---- the loop itself ------------------------------------------------------------------------- */

static ir_value *element_result(gen *G, const ir_value *param, size_t inside) {
    for (int tries = 0; tries < 10 && G->scope.len > inside; tries++) {
        ir_value *v = G->scope.data[inside + rng_next(&G->r) % (G->scope.len - inside)];
        if (v->type == param->type && (v != param || tries > 4)) return v;
    }
    return (ir_value *)param;
}

/* Another round? True; or a comparison: a while loop, or one with a break. */
static ir_value *element_condition(element_loop *L, ir_value *counter) {
    gen *G = L->G;
    ir_value *f = gen_pick(G, TYPE_FLOAT, NULL, NULL);
    if (rng_chance(&G->r, 75)) return gen_bool(G, true);
    if (f && rng_chance(&G->r, 50))
        return gen_emit(G, "aten::lt.float", false, 2, f, gen_float(G, 2.5));
    return gen_emit(G, "aten::lt.int", false, 2, counter, gen_int(G, rng_range(&G->r, 0, 6)));
}

static int element_carried(gen *G, ir_value **inputs) {
    int n = (int)rng_range(&G->r, 0, LOOP_CARRIED), k = 0;
    for (int i = 0; i < n; i++) {
        const type *t = rng_chance(&G->r, 70) ? TYPE_FLOAT : TYPE_INT;
        ir_value *v = rng_chance(&G->r, 50) ? gen_pick(G, t, NULL, NULL) : NULL;
        inputs[k++] = v ? v : t == TYPE_FLOAT ? gen_float(G, 0) : gen_int(G, 0);
    }
    return k;
}

/* Builds the node and its first round, runs the others, and goes back if one fails. */
static bool element_build(element_loop *L, ir_value *count) {
    gen *G = L->G;
    gen_mark m = gen_mark_here(G);
    block *outer = G->g->insert_block;
    world w = {0};
    ir_value *inputs[3 + LOOP_CARRIED] = {count, gen_bool(G, true)};
    int k = 2 + element_carried(G, inputs + 2), written = -1; /* the input that is L->out */
    ir_value *out_before = L->out;
    if (L->out && rng_chance(&G->r, 20)) inputs[written = k++] = L->out;
    gen_save_scope(G, &w);
    node *n = graph_insert(G->g, node_new(G->g, N_LOOP, k, inputs, 0));
    block *b = node_add_block(n);
    size_t inside = G->scope.len;
    evaluation_set_take(&G->e, block_add_param(b, TYPE_INT), value_int(0));
    for (int i = 2; i < k; i++) {
        evaluation_set_take(&G->e, block_add_param(b, inputs[i]->type),
                            value_ref(gen_value(G, inputs[i])));
        node_add_output(n, inputs[i]->type);
    }
    for (size_t i = 0; i < b->params.len; i++) gen_show(G, b->params.data[i]);
    if (written > 0) L->out = b->params.data[written - 1];
    L->counters[L->depth] = b->params.data[0];
    L->counts[L->depth++] = count;
    G->depth++;
    graph_set_insert(G->g, b, NULL);
    element_statements(L, (int)rng_range(&G->r, 2, 6));
    ir_value *more = element_condition(L, b->params.data[0]);
    if (written > 0) L->out = element_passed(L, L->out);
    graph_set_insert(G->g, outer, NULL);
    G->depth--;
    L->depth--;
    block_add_return(b, more ? more : inputs[1]);
    for (int i = 1; i < (int)b->params.len; i++)
        block_add_return(b,
                         i + 1 == written ? L->out : element_result(G, b->params.data[i], inside));
    L->out = out_before;
    G->scope.len = inside;
    bool go_on = gen_value(G, b->returns.data[0]).u.b;
    value next[3 + LOOP_CARRIED];
    for (size_t i = 1; i < b->params.len; i++)
        next[i] = value_ref(gen_value(G, b->returns.data[i]));
    for (size_t i = 1; i < b->params.len; i++)
        evaluation_set_take(&G->e, b->params.data[i], next[i]);
    G->e.steps = 0;
    bool fails = evaluate_loop(&G->e, n, 1, go_on) == CTSC_FAILED,
         ok = !fails && gen_outputs_fit(G, n);
    if (fails && G->depth == 0 && rng_chance(&G->r, 10)) {
        G->finished = true;
        G->failed = n;
    }
    diag_clear(&G->d);
    for (size_t i = 0; ok && i < n->outputs.len; i++) { /* as large as may be multiplied again */
        value v = gen_value(G, n->outputs.data[i]);
        ok = v.tag != V_FLOAT || (v.u.f < 1e6 && v.u.f > -1e6);
    }
    if (!ok) world_restore(&w);
    if (!ok && !G->failed) gen_undo(G, m);
    for (size_t i = 0; ok && i < n->outputs.len; i++) gen_show(G, n->outputs.data[i]);
    world_free(&w);
    return ok || G->failed;
}

static bool element_nest(element_loop *L) {
    gen *G = L->G;
    int dim = gen_tensor(G, L->x)->ndim > L->depth ? L->depth : 0;
    if (gen_tensor(G, L->x)->sizes[dim] == 0) return false;
    ir_value *count = gen_emit(G, "aten::size.int", false, 2, L->x, gen_int(G, dim));
    return count && element_build(L, count);
}

static ir_value *element_out(element_loop *L) {
    gen *G = L->G;
    ir_value *v, *n;
    if (rng_chance(&G->r, 40) && (v = gen_pick(G, TYPE_TENSOR, element_target, L))) return v;
    if (rng_chance(&G->r, 20)) return NULL;
    if (rng_chance(&G->r, 50)) return gen_emit(G, "aten::zeros_like", true, 1, L->x);
    n = gen_emit(G, "aten::size.int", false, 2, L->x, gen_int(G, 0));
    n = gen_list(G, TYPE_INT, 1, &n);
    return gen_emit(G, "aten::zeros", true, 1, n);
}

bool gen_element_loop(gen *G) {
    gen_mark m = gen_mark_here(G);
    element_loop L = {.G = G, .x = gen_pick(G, TYPE_TENSOR, element_source, NULL)};
    gen_focus focus = G->focus;
    G->focus = FOCUS_SCALARS;
    if (L.x) L.out = element_out(&L);
    ir_value *count = L.x ? gen_emit(G, "aten::size.int", false, 2, L.x, gen_int(G, 0)) : NULL;
    bool ok = count && element_build(&L, count);
    G->focus = focus;
    if (!ok) gen_undo(G, m); /* nothing but fresh tensors was made before the loop */
    return ok;
}
