/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph_gen.c - the generator's core: placing nodes that are known to run, visible values, branches
 * and loops, and a case as a whole. What is placed comes from gen_op.c (operators by schema),
 * gen_image.c (networks on images) and gen_loop.c (loops over elements).
 */
#include "gen.h"

#include "ir/graph/alias.h"
#include "ir/graph/fusible.h"
#include "passes/pass/value_analysis.h"

#include <math.h>
#include <stdarg.h>

/* ---- placing and undoing --------------------------------------------------------------------- */

gen_mark gen_mark_here(const gen *G) { return (gen_mark){G->g->insert_block->last, G->scope.len}; }

void gen_undo(gen *G, gen_mark m) {
    block *b = G->g->insert_block;
    while (b->last && b->last != m.last) node_remove(b->last);
    G->scope.len = m.scope;
}

void gen_show(gen *G, ir_value *v) { vec_push(&G->scope, v); }

/* Small enough to go on with, and of a kind that is compared: real numbers
 * neither huge nor tiny. */
static bool gen_number_fits(dtype dt, double x) {
    double most = dt == DT_FLOAT16 ? 2e3 : 1e7, least = dt == DT_FLOAT16 ? 1e-3 : 1e-12;
    return x == 0 || !isfinite(x) || (fabs(x) <= most && fabs(x) >= least);
}

static bool gen_elements_fit(dtype dt, const char *at, const tensor *t, int dim) {
    if (dim == t->ndim) return gen_number_fits(dt, dtype_load_float(dt, at));
    for (int64_t i = 0; i < t->sizes[dim]; i++)
        if (!gen_elements_fit(dt, at + (ptrdiff_t)(i * t->strides[dim]) * (ptrdiff_t)dtype_size(dt),
                              t, dim + 1))
            return false;
    return true;
}

static bool gen_value_fits(const gen *G, value v) {
    int64_t most = G->images ? GEN_MAX_IMAGE : GEN_MAX_NUMEL;
    if (v.tag == V_FLOAT) return gen_number_fits(DT_FLOAT64, v.u.f);
    if (v.tag == V_LIST) {
        if (v.u.list->len > 12) return false;
        for (size_t i = 0; v.u.list->kind == LIST_TENSOR && i < v.u.list->len; i++)
            if (!gen_value_fits(G, value_tensor_take(v.u.list->u.tensors[i]))) return false;
        return v.u.list->kind != LIST_VALUE;
    }
    if (v.tag == V_TUPLE) {
        for (size_t i = 0; i < v.u.tuple->len; i++)
            if (!gen_value_fits(G, v.u.tuple->items[i])) return false;
        return true;
    }
    if (v.tag != V_TENSOR) return v.tag == V_INT || v.tag == V_BOOL || v.tag == V_DEVICE;
    const tensor *t = v.u.tensor;
    if (t->ndim > GEN_MAX_DIMS || t->numel > most || (int64_t)t->storage->nbytes > GEN_MAX_BYTES)
        return false;
    if (dtype_is_complex((dtype)t->dtype) || dtype_is_quantised((dtype)t->dtype)) return false;
    return !t->numel || !dtype_is_float((dtype)t->dtype) ||
           gen_elements_fit((dtype)t->dtype, tensor_data(t), t, 0);
}

/* Does it write to a constant? */
static bool gen_writes_constant(const gen *G, const schema *s, const value *args) {
    for (int i = 0; i < s->nargs; i++) {
        if (!s->args[i].alias || !s->args[i].alias->write || args[i].tag != V_TENSOR) continue;
        for (size_t k = 0; k < G->constants.len; k++)
            if (args[i].u.tensor->storage == G->constants.data[k]) return true;
    }
    return false;
}

/* Runs o. False: it failed, or made something unfit; the world is as it was. */
static bool gen_run(gen *G, const op *o, const value *args, value *results) {
    const schema *s = o->schema;
    world w = {0};
    if (s->has_alias_write && gen_writes_constant(G, s, args)) return false;
    if (s->has_alias_write) world_save(&w, (size_t)s->nargs, args);
    bool ok = evaluate_op(&G->e, o, s->nargs, args, NULL, results) == CTSC_OK;
    for (int i = 0; ok && i < s->nreturns; i++)
        if (!gen_value_fits(G, results[i])) {
            ok = false;
            for (int k = 0; k < s->nreturns; k++) value_set(&results[k], value_none());
        }
    /* what was written through a view */
    for (int i = 0; ok && s->has_alias_write && i < s->nargs; i++)
        ok = args[i].tag != V_TENSOR || gen_value_fits(G, args[i]);
    if (!ok && s->has_alias_write) world_restore(&w);
    world_free(&w);
    if (!ok) diag_clear(&G->d);
    return ok;
}

enum { GEN_ROOM = 32 };

/* The last operator of the graph: it fails, at every level. */
static void gen_place_failing(gen *G, const op *o, ir_value *const *args) {
    G->failed = graph_insert(G->g, node_new_op(G->g, o, o->schema->nargs, args));
    G->finished = true;
}

static bool gen_shares(value a, value b) {
    if (a.tag == V_LIST && b.tag == V_LIST && a.u.list == b.u.list) return true;
    for (size_t i = 0; a.tag == V_LIST && a.u.list->kind == LIST_TENSOR && i < a.u.list->len; i++)
        if (gen_shares(value_tensor_take(a.u.list->u.tensors[i]), b)) return true;
    return a.tag == V_TENSOR && b.tag == V_TENSOR && a.u.tensor->storage == b.u.tensor->storage;
}

/* What the compiler takes to be new must be new, whatever else comes of it. */
static void gen_check_fresh(const node *n, const value *args, const value *results) {
    for (size_t i = 0; node_makes_fresh(n) && i < n->outputs.len; i++)
        for (size_t k = 0; k < n->inputs.len; k++)
            if (gen_shares(results[i], args[k])) {
                printf("%s returns its argument or a view of it, but ir/graph/alias.h says that "
                       "its results are new\n",
                       n->op->key);
                fflush(stdout);
                abort();
            }
}

node *gen_place(gen *G, const op *o, ir_value *const *args, bool show) {
    value in[GEN_ROOM], results[GEN_ROOM];
    int n = o->schema->nargs;
    for (int i = 0; i < n; i++) {
        if (!args[i] || (!o->schema->args[i].type->has_var &&
                         !type_is_subtype(args[i]->type, o->schema->args[i].type)))
            return NULL;
        in[i] = gen_value(G, args[i]);
    }
    if (!gen_run(G, o, in, results)) {
        if (G->may_fail && G->depth == 0 && !o->schema->has_alias_write &&
            rng_next(&G->r) % 400 == 0)
            gen_place_failing(G, o, args);
        return NULL;
    }
    node *made = graph_insert(G->g, node_new_op(G->g, o, n, args));
    gen_check_fresh(made, in, results);
    for (int i = 0; i < o->schema->nreturns; i++) {
        evaluation_set_take(&G->e, made->outputs.data[i], results[i]);
        if (show) gen_show(G, made->outputs.data[i]);
    }
    return made;
}

ir_value *gen_emit(gen *G, const char *key, bool show, int n, ...) {
    ir_value *args[GEN_ROOM];
    va_list ap;
    const op *o = op_find(key);
    if (!o) {
        fprintf(stderr, "no operator %s\n", key);
        abort();
    }
    va_start(ap, n);
    for (int i = 0; i < n; i++) args[i] = va_arg(ap, ir_value *);
    va_end(ap);
    for (int i = 0; i < n; i++)
        if (!args[i]) return NULL;
    for (int i = n; i < o->schema->nargs; i++)
        args[i] = gen_constant(G, value_ref(o->schema->args[i].default_value), NULL);
    node *made = gen_place(G, o, args, show);
    return made && made->outputs.len ? made->outputs.data[0] : NULL;
}

void gen_evaluate(gen *G, const node *n) {
    G->e.steps = 0;
    evaluate_node(&G->e, n);
}

ir_value *gen_list(gen *G, type *elem, int n, ir_value *const *items) {
    node *made = graph_insert(G->g, node_new(G->g, N_LIST_CONSTRUCT, n, items, 1));
    made->outputs.data[0]->type = type_list(elem);
    gen_evaluate(G, made);
    return made->outputs.data[0];
}

/* ---- constants ------------------------------------------------------------------------------- */

ir_value *gen_constant(gen *G, value take, type *t) {
    value_ref(take);
    ir_value *v = graph_constant_take(G->g, take, t);
    evaluation_set_take(&G->e, v, take);
    return v;
}

ir_value *gen_int(gen *G, int64_t i) { return gen_constant(G, value_int(i), TYPE_INT); }

ir_value *gen_float(gen *G, double f) { return gen_constant(G, value_float(f), TYPE_FLOAT); }

ir_value *gen_bool(gen *G, bool b) { return gen_constant(G, value_bool(b), TYPE_BOOL); }

ir_value *gen_tensor_constant(gen *G, dtype dt, int ndim, const int64_t *sizes, int style) {
    tensor *t = gen_fill_new(&G->r, dt, ndim, sizes, style);
    vec_push(&G->constants, t->storage);
    return gen_constant(G, value_tensor_take(t), NULL);
}

static bool gen_int_is(gen *G, ir_value *v, void *ctx) {
    return gen_value(G, v).u.i == *(int64_t *)ctx;
}

static bool gen_has_size(gen *G, ir_value *v, void *ctx) {
    const tensor *t = gen_tensor(G, v);
    for (int i = 0; i < t->ndim; i++)
        if (t->sizes[i] == *(int64_t *)ctx) return true;
    return false;
}

ir_value *gen_int_like(gen *G, int64_t i) {
    ir_value *v = NULL;
    if (rng_chance(&G->r, 25) && (v = gen_pick(G, TYPE_INT, gen_int_is, &i))) return v;
    if (i >= 0 && rng_chance(&G->r, 30) && (v = gen_pick(G, TYPE_TENSOR, gen_has_size, &i))) {
        const tensor *t = gen_tensor(G, v);
        int dim = 0;
        while (t->sizes[dim] != i) dim++;
        return gen_emit(G, "aten::size.int", false, 2, v,
                        gen_int(G, rng_chance(&G->r, 70) ? dim : dim - t->ndim));
    }
    return gen_int(G, i);
}

/* ---- visible values -------------------------------------------------------------------------- */

ir_value *gen_pick(gen *G, const type *t, bool (*fits)(gen *G, ir_value *v, void *ctx), void *ctx) {
    size_t n = G->scope.len;
    for (int tries = 0; n && tries < 12; tries++) {
        size_t back = rng_next(&G->r) % (rng_chance(&G->r, 55) && n > 5 ? 5 : n);
        ir_value *v = G->scope.data[n - 1 - back];
        if (v->type == t || type_is_subtype(v->type, t))
            if (!fits || fits(G, v, ctx)) return v;
    }
    size_t at = n ? rng_next(&G->r) % n : 0;
    for (size_t i = 0; i < n; i++) {
        ir_value *v = G->scope.data[(at + i) % n];
        if ((v->type == t || type_is_subtype(v->type, t)) && (!fits || fits(G, v, ctx))) return v;
    }
    return NULL;
}

ir_value *gen_pick_tensor(gen *G) { return gen_pick(G, TYPE_TENSOR, NULL, NULL); }

/* ---- branches -------------------------------------------------------------------------------- */

void gen_save_scope(gen *G, world *w) {
    for (size_t i = 0; i < G->scope.len; i++) {
        value v = gen_value(G, G->scope.data[i]);
        world_save(w, 1, &v);
    }
}

static bool gen_carries(const ir_value *v) {
    static const type_kind kinds[] = {T_TENSOR, T_INT, T_FLOAT, T_BOOL, T_LIST};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (v->type->kind == kinds[i]) return true;
    return false;
}

/* Statements in a block of their own; what they made visible stays so until the caller hides it. */
static void gen_block_statements(gen *G, block *b, int n) {
    block *outer = G->g->insert_block;
    graph_set_insert(G->g, b, NULL);
    G->depth++;
    gen_statements(G, n);
    G->depth--;
    graph_set_insert(G->g, outer, NULL);
}

/* Something visible of the type, of what was made since `from` if possible. */
static ir_value *gen_result_like(gen *G, const type *t, size_t from) {
    size_t n = G->scope.len - from, at = n ? rng_next(&G->r) % n : 0;
    for (size_t i = 0; i < n && rng_chance(&G->r, 85); i++)
        if (G->scope.data[from + (at + i) % n]->type == t)
            return G->scope.data[from + (at + i) % n];
    for (int tries = 0; tries < 8; tries++) {
        ir_value *v = G->scope.data[rng_next(&G->r) % G->scope.len];
        if (v->type == t) return v;
    }
    for (size_t i = 0; i < G->scope.len; i++)
        if (G->scope.data[i]->type == t) return G->scope.data[i];
    return NULL;
}

/* One branch; what was in its scope last is left in `kept`. */
static void gen_branch(gen *G, block *b, bool taken, int n) {
    world w = {0};
    if (!taken) gen_save_scope(G, &w);
    gen_block_statements(G, b, n);
    if (!taken) world_restore(&w);
    world_free(&w);
}

bool gen_if(gen *G, ir_value *condition) {
    enum { MOST = 3 };
    bool taken = gen_value(G, condition).u.b;
    size_t before = G->scope.len;
    if (!before) return false;
    node *n = graph_insert(G->g, node_new(G->g, N_IF, 1, &condition, 0));
    block *b[2] = {node_add_block(n), node_add_block(n)};
    ir_value *first[MOST], *second;
    int wanted = (int)rng_range(&G->r, 0, MOST), found = 0;
    gen_branch(G, b[0], taken, (int)rng_range(&G->r, 0, 4));
    for (int i = 0; i < wanted; i++) {
        ir_value *v = gen_result_like(G, G->scope.data[rng_next(&G->r) % G->scope.len]->type,
                                      before);
        if (v && gen_carries(v)) first[found++] = v;
    }
    G->scope.len = before;
    gen_branch(G, b[1], !taken, (int)rng_range(&G->r, 0, 4));
    for (int i = 0; i < found; i++) {
        if (!(second = gen_result_like(G, first[i]->type, before))) continue;
        block_add_return(b[0], first[i]);
        block_add_return(b[1], second);
        ir_value *out = node_add_output(n, first[i]->type);
        evaluation_set_take(&G->e, out, value_ref(gen_value(G, taken ? first[i] : second)));
    }
    G->scope.len = before;
    for (size_t i = 0; i < n->outputs.len; i++) gen_show(G, n->outputs.data[i]);
    return true;
}

/* ---- loops ----------------------------------------------------------------------------------- */

static bool gen_small_count(gen *G, ir_value *v, void *ctx) {
    int64_t i = gen_value(G, v).u.i;
    (void)ctx;
    return i >= 0 && i <= 5;
}

static bool gen_carried(gen *G, ir_value *v, void *ctx) {
    (void)G;
    (void)ctx;
    return gen_carries(v);
}

/* The condition for another round: usually the constant True. */
static ir_value *gen_condition(gen *G) {
    ir_value *v = rng_chance(&G->r, 25) ? gen_pick(G, TYPE_BOOL, NULL, NULL) : NULL;
    return v ? v : gen_bool(G, true);
}

bool gen_outputs_fit(const gen *G, const node *n) {
    for (size_t i = 0; i < n->outputs.len; i++)
        if (!gen_value_fits(G, gen_value(G, n->outputs.data[i]))) return false;
    for (size_t i = 0; i < G->scope.len; i++)
        if (!gen_value_fits(G, gen_value(G, G->scope.data[i]))) return false;
    return true;
}

/* The first round's statements, and what is returned of them: the loop is complete then. */
static void gen_loop_body(gen *G, node *n, block *b) {
    size_t inside = G->scope.len;
    block *outer = G->g->insert_block;
    for (size_t i = 0; i < b->params.len; i++) gen_show(G, b->params.data[i]);
    gen_block_statements(G, b, (int)rng_range(&G->r, 1, 5));
    graph_set_insert(G->g, b, NULL);
    block_add_return(b, gen_condition(G));
    graph_set_insert(G->g, outer, NULL);
    for (size_t i = 1; i < b->params.len; i++)
        block_add_return(b, gen_result_like(G, b->params.data[i]->type, inside));
    (void)n;
    G->scope.len = inside;
}

/* Runs the rounds after the first. */
static bool gen_loop_rest(gen *G, node *n, block *b) {
    bool go_on = gen_value(G, b->returns.data[0]).u.b;
    value next[8];
    for (size_t i = 1; i < b->params.len; i++)
        next[i] = value_ref(gen_value(G, b->returns.data[i]));
    for (size_t i = 1; i < b->params.len; i++)
        evaluation_set_take(&G->e, b->params.data[i], next[i]);
    G->e.steps = 0;
    bool ok = evaluate_loop(&G->e, n, 1, go_on) == CTSC_OK;
    diag_clear(&G->d);
    return ok;
}

static ir_value *gen_trip_count(gen *G) {
    ir_value *v = rng_chance(&G->r, 50) ? gen_pick(G, TYPE_INT, gen_small_count, NULL) : NULL;
    if (v) return v;
    int64_t count = rng_range(&G->r, 0, 4);
    return rng_chance(&G->r, 50) ? gen_int_like(G, count) : gen_int(G, count);
}

bool gen_counted_loop(gen *G) {
    enum { MOST = 3 };
    ir_value *inputs[2 + MOST];
    gen_mark m = gen_mark_here(G);
    int carried = (int)rng_range(&G->r, 0, MOST), k = 2;
    inputs[0] = gen_trip_count(G);
    inputs[1] = gen_condition(G);
    for (int i = 0; i < carried; i++)
        if ((inputs[k] = gen_pick(G, TYPE_ANY, gen_carried, NULL))) k++;
    int64_t trips = gen_value(G, inputs[1]).u.b ? gen_value(G, inputs[0]).u.i : 0;
    world w = {0};
    gen_save_scope(G, &w);
    node *n = graph_insert(G->g, node_new(G->g, N_LOOP, k, inputs, 0));
    block *b = node_add_block(n);
    evaluation_set_take(&G->e, block_add_param(b, TYPE_INT), value_int(0));
    for (int i = 2; i < k; i++) {
        evaluation_set_take(&G->e, block_add_param(b, inputs[i]->type),
                            value_ref(gen_value(G, inputs[i])));
        node_add_output(n, inputs[i]->type);
    }
    gen_loop_body(G, n, b);
    bool ok = true;
    if (trips > 0) {
        ok = gen_loop_rest(G, n, b) && gen_outputs_fit(G, n);
    } else {
        world_restore(&w);
        for (int i = 2; i < k; i++)
            evaluation_set_take(&G->e, n->outputs.data[i - 2], value_ref(gen_value(G, inputs[i])));
    }
    if (!ok) {
        world_restore(&w);
        gen_undo(G, m);
    }
    for (size_t i = 0; ok && i < n->outputs.len; i++) gen_show(G, n->outputs.data[i]);
    world_free(&w);
    return ok;
}

/* ---- statements ------------------------------------------------------------------------------ */

static bool gen_some_if(gen *G) {
    gen_mark m = gen_mark_here(G);
    ir_value *c = gen_pick(G, TYPE_BOOL, NULL, NULL), *a, *b;
    if (!c || rng_chance(&G->r, 30)) {
        a = gen_pick(G, TYPE_INT, NULL, NULL);
        b = a && rng_chance(&G->r, 50) ? gen_pick(G, TYPE_INT, NULL, NULL)
                                       : gen_int(G, rng_range(&G->r, -1, 4));
        c = a ? gen_emit(G, rng_chance(&G->r, 50) ? "aten::lt.int" : "aten::eq.int", true, 2, a, b)
              : c;
    }
    if (!c && rng_chance(&G->r, 30)) c = gen_bool(G, rng_chance(&G->r, 50));
    if (c && gen_if(G, c)) return true;
    gen_undo(G, m);
    return false;
}

void gen_statements(gen *G, int n) {
    enum { DEEPEST = 3 };
    for (int tries = 0; n > 0 && tries < 60 && G->nodes_left > 0 && !G->finished; tries++) {
        int what = (int)rng_range(&G->r, 0, 99);
        bool deeper = G->depth < DEEPEST, done;
        gen_focus focus = G->focus;
        if (rng_chance(&G->r, 15)) G->focus = (gen_focus)(rng_next(&G->r) % FOCUS_COUNT);
        if (G->images && rng_chance(&G->r, 70)) done = gen_image_step(G);
        else if (what < 4 && deeper) done = gen_some_if(G);
        else if (what < 7 && deeper) done = gen_counted_loop(G);
        else if (what < (G->focus == FOCUS_SCALARS ? 18 : 9) && deeper) done = gen_element_loop(G);
        else if (what < 26) done = gen_container(G);
        else if (what < 28) done = gen_einsum(G);
        else if (what < 30) done = gen_number_tensor(G);
        else if (what < 33) done = gen_broadcast(G);
        else if (what < 36) done = gen_attention(G);
        else done = gen_operator(G);
        G->focus = focus;
        if (!done) continue;
        G->nodes_left--;
        n--;
    }
}

/* ---- cases ----------------------------------------------------------------------------------- */

static type *gen_argument_type(const gen_argument *a) {
    switch (a->tag) {
    case V_INT: return TYPE_INT;
    case V_FLOAT: return TYPE_FLOAT;
    case V_BOOL: return TYPE_BOOL;
    case V_LIST: return type_list(TYPE_TENSOR);
    default: return TYPE_TENSOR;
    }
}

/* What nobody uses is returned, and some more: little should be dead from the start. */
static void gen_returns(gen *G) {
    enum { MOST = 6 };
    block *b = G->g->root;
    if (G->failed) {
        for (size_t i = 0; i < G->failed->outputs.len; i++)
            block_add_return(b, G->failed->outputs.data[i]);
    }
    for (size_t i = G->scope.len; i-- > 0 && b->returns.len < MOST;) {
        ir_value *v = G->scope.data[i];
        if (v->type->kind == T_DEVICE ||
            (v->uses.len ? !rng_chance(&G->r, 10) : !rng_chance(&G->r, 80)))
            continue;
        block_add_return(b, v);
    }
    if (!b->returns.len && G->scope.len) block_add_return(b, vec_last(&G->scope));
}

static int64_t gen_size(rng *r, int64_t most) {
    static const int64_t sizes[] = {0, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 5, 6, 7, 8, 9, 16, 17};
    int64_t n = sizes[rng_next(r) % (sizeof sizes / sizeof *sizes)];
    if (n == 0 && !rng_chance(r, 30)) n = 3;
    return n > most ? most : n;
}

static void gen_free(gen *G) {
    evaluation_free(&G->e);
    vec_free(&G->scope);
    vec_free(&G->constants);
    diag_clear(&G->d);
}

/* Arguments, and an empty graph that takes them. */
static void gen_begin(gen *G, gen_case *out) {
    value own[GEN_MAX_ARGS];
    memset(out, 0, sizeof *out);
    evaluation_init(&G->e, &G->d);
    rng_next(&G->r);
    for (int i = 0; i < GEN_SIZES; i++) out->sizes[i] = gen_size(&G->r, 17);
    out->images = G->images;
    out->nargs = G->images ? gen_image_arguments(&G->r, out->sizes, out->recipes)
                           : gen_arguments(&G->r, out->sizes, out->recipes);
    memcpy(G->sizes, out->sizes, sizeof G->sizes);
    gen_make_arguments(&G->r, out->nargs, out->recipes, out->sizes, out->args);
    copy_values((size_t)out->nargs, out->args, own);
    for (int i = 0; i < out->nargs; i++) {
        ir_value *v = block_add_param(G->g->root, gen_argument_type(&out->recipes[i]));
        evaluation_set_take(&G->e, v, own[i]);
        gen_show(G, v);
    }
    graph_set_insert(G->g, G->g->root, NULL);
    G->focus = (gen_focus)(rng_next(&G->r) % FOCUS_COUNT);
}

static bool gen_end(gen *G, gen_case *out) {
    gen_returns(G);
    out->g = G->g;
    out->fails = G->failed != NULL;
    gen_free(G);
    return out->g->root->returns.len > 0;
}

bool gen_case_new(const gen_ops *ops, uint64_t seed, gen_case *out) {
    gen G = {.r = {seed}, .ops = ops, .g = graph_new(), .d = {.max_tensor = 1 << 16}};
    rng s = {seed ^ 0x9e3779b9u};
    G.images = rng_chance(&s, gen_image_percent(ops));
    gen_begin(&G, out);
    G.nodes_left = (int)rng_range(&G.r, 3, G.images ? 16 : 30);
    gen_statements(&G, G.nodes_left);
    return gen_end(&G, out);
}

/* ---- cases for a cell of the coverage table -------------------------------------------------- */

/* An operator of the label, on `with`. */
static node *gen_labelled(gen *G, int label, ir_value *with) {
    enum { TRIES = 8 };
    int n = 0;
    while (coverage_operator(label, n)) n++;
    for (int tries = 0; tries < TRIES; tries++) {
        gen_mark m = gen_mark_here(G);
        const op *o = op_find(coverage_operator(label, (int)(rng_next(&G->r) % (uint64_t)n)));
        node *made = o ? gen_apply(G, o, with) : NULL;
        if (made && coverage_has(made, &G->e, label)) return made;
        gen_undo(G, m);
    }
    return NULL;
}

/* A tensor that n makes; of a list one of its items. */
static ir_value *gen_result_of(gen *G, node *n) {
    ir_value *v = n->outputs.data[rng_next(&G->r) % n->outputs.len];
    if (v->type->kind != T_LIST) return v->type->kind == T_TENSOR ? v : NULL;
    size_t len = gen_value(G, v).u.list->len;
    if (!len || len > 8) return NULL;
    node *unpack = graph_insert(G->g, node_new(G->g, N_LIST_UNPACK, 1, &v, 0));
    for (size_t i = 0; i < len; i++) gen_show(G, node_add_output(unpack, type_elem(v->type)));
    gen_evaluate(G, unpack);
    return unpack->outputs.data[rng_next(&G->r) % len];
}

/* Operators that compute make a group worth a kernel, two of them; views, and copies that may be
 * none, are part of one only where another member reads them. */
static int gen_computes(const node *n) { return n->op && op_fusible(n->op) != FUSIBLE_VIEW; }

/* What reads `between`, which `first` made, and what reads that; true: it has been placed. */
static bool gen_second(gen *G, int label, const node *first, ir_value *between) {
    node *last = gen_labelled(G, label, between);
    if (!last) return false;
    int more = 2 - gen_computes(first) - gen_computes(last);
    if (!node_makes_fresh(last) && !more) more = 1;
    if (!more) more = rng_chance(&G->r, 40);
    ir_value *end = gen_result_of(G, last);
    for (; end && more > 0 && rng_chance(&G->r, 96); more--) {
        node *n = gen_apply(
            G, op_find(rng_chance(&G->r, 50) ? "aten::add.Scalar" : "aten::mul.Tensor"), end);
        if (!n) break;
        end = n->outputs.data[0];
    }
    /* else all of it may be dead */
    if (end && rng_chance(&G->r, 97)) block_add_return(G->g->root, end);
    return true;
}

/* The whole of it, from where the graph is empty. */
static bool gen_pair(gen *G, int first, int second, coverage_miss *miss) {
    for (int i = (int)rng_range(&G->r, 0, 2); i > 0; i--) gen_operator(G);
    node *made = G->finished
                     ? NULL
                     : gen_labelled(G, first, rng_chance(&G->r, 50) ? gen_pick_tensor(G) : NULL);
    ir_value *between = made ? gen_result_of(G, made) : NULL;
    bool done = between && gen_second(G, second, made, between);
    if (between) *miss = done ? MISS_PASSES : MISS_SECOND;
    return done;
}

/* Making a graph is cheap against what is done with it: one that lacks the second operator is made
 * anew, on other operands. */
bool gen_case_pair(const gen_ops *ops, uint64_t seed, int first, int second, gen_case *out,
                   coverage_miss *miss) {
    enum { TRIES = 6 };
    *miss = MISS_FIRST;
    for (int try = 1;; try++) {
        gen G = {.r = {seed + (uint64_t)try * 0x632be59bd9b4e019u},
                 .ops = ops,
                 .g = graph_new(),
                 .d = {.max_tensor = 1 << 16}};
        gen_begin(&G, out);
        G.focus = rng_chance(&G.r, 80) ? FOCUS_POINTWISE : FOCUS_ANY;
        G.nodes_left = 8;
        bool done = gen_pair(&G, first, second, miss);
        if (done && rng_chance(&G.r, 20) && !G.finished) gen_operator(&G);
        bool ok = gen_end(&G, out) && done;
        if (ok || try == TRIES) return ok;
        gen_case_free(out);
    }
}

void gen_case_free(gen_case *c) {
    for (int i = 0; i < c->nargs; i++) value_unref(c->args[i]);
    graph_free(c->g);
}

/* Elements of the largest tensor argument. */
static double gen_largest(const gen_case *c) {
    double largest = 0;
    for (int i = 0; i < c->nargs; i++) {
        double numel = 1;
        for (int d = 0; d < c->recipes[i].ndim; d++)
            numel *= (double)(c->recipes[i].sizes[d] >= 0 ? c->recipes[i].sizes[d]
                                                          : c->sizes[~c->recipes[i].sizes[d]]);
        if (numel > largest) largest = numel;
    }
    return largest;
}

/* What a value is known to be in a graph of a captured call (runtime/autograd/grad_capture.c). */
static void gen_learn(const evaluation *e, ir_value *v) {
    value x = evaluation_get(e, v);
    if (x.tag != V_TENSOR || v->type->kind != T_TENSOR) return;
    tensor_info info = {.dtype = (int8_t)x.u.tensor->dtype,
                        .ndim = (int8_t)x.u.tensor->ndim,
                        .requires_grad = -1,
                        .device = 0,
                        .sizes = x.u.tensor->sizes};
    v->type = type_tensor_details(&info);
}

bool gen_case_learn(const gen_case *c, graph *g) {
    value own[GEN_MAX_ARGS];
    diag d = {0};
    evaluation e;
    if (known_graph_reshapes(g)) return false;
    evaluation_init(&e, &d);
    copy_values((size_t)c->nargs, c->args, own);
    bool ok = evaluate_graph(&e, g, own) == CTSC_OK;
    for (size_t i = 0; ok && i < g->root->params.len; i++) gen_learn(&e, g->root->params.data[i]);
    for (node *n = g->root->first; ok && n; n = n->next)
        for (size_t i = 0; i < n->outputs.len; i++) gen_learn(&e, n->outputs.data[i]);
    evaluation_free(&e);
    for (int i = 0; i < c->nargs; i++) value_unref(own[i]);
    diag_clear(&d);
    return ok;
}

void gen_case_vary(gen_case *c, rng *r, int64_t max_size) {
    for (int i = 0; i < c->nargs; i++) value_unref(c->args[i]);
    for (int i = 0; i < GEN_SIZES; i++)
        if (rng_chance(r, 60))
            c->sizes[i] = rng_chance(r, 70) ? gen_size(r, max_size) : rng_range(r, 0, max_size);
    for (int i = 0; i < c->nargs; i++)
        if (c->recipes[i].layout != LAYOUT_VIEW && rng_chance(r, 30))
            c->recipes[i].layout = (gen_layout)rng_range(r, LAYOUT_CONTIGUOUS, LAYOUT_APART);
    gen_make_arguments(r, c->nargs, c->recipes, c->sizes, c->args);
}

void gen_case_stretch(gen_case *c, rng *r) {
    const double most = rng_chance(r, 4) ? 300000 : 20000;
    static const int64_t long_sizes[] = {140,  260,  300,  400,  520,   700,   1100,
                                         2100, 4100, 4500, 9000, 17000, 70000, 140000};
    for (int i = 0; i < c->nargs; i++) value_unref(c->args[i]);
    int which = (int)rng_range(r, 0, GEN_SIZES - 1), other = (which + 1) % GEN_SIZES;
    for (int i = 0; i < GEN_SIZES; i++) c->sizes[i] = rng_range(r, 1, 4);
    c->sizes[which] = long_sizes[rng_next(r) % (sizeof long_sizes / sizeof *long_sizes)];
    if (rng_chance(r, 30)) c->sizes[other] = rng_range(r, 5, 140);
    for (int i = 0; i < c->nargs; i++) /* sums of these are exact, in any order */
        if (rng_chance(r, 70)) c->recipes[i].style = STYLE_INTEGERS;
    for (int i = 0; gen_largest(c) > most; i++)
        c->sizes[i % GEN_SIZES] = (c->sizes[i % GEN_SIZES] + 1) / 2;
    gen_make_arguments(r, c->nargs, c->recipes, c->sizes, c->args);
}
