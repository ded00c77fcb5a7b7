/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grad_capture.c - a taped call as a graph (grad_capture.h).
 * Tests: tests/corpus/grad at every level, tests/autograd
 */
#include "runtime/autograd/grad_capture.h"

#include "passes/pass/value_analysis.h"

enum { CAPTURE_MAX_NODES = 20000, CAPTURE_MAX_DEPTH = 32, CAPTURE_SWEEP = 64 };

_Thread_local capture *capture_current;

void capture_fail(capture *c, const char *why) {
    if (!c->why) c->why = why;
}

/* ---- tensors --------------------------------------------------------------------------------- */

static void capture_learn(capture *c, tensor *t, ir_value *v) {
    bool held = vec_push(&c->held, t);
    if (held) tensor_ref(t);
    if (!held || !ptrmap_put(&c->values, t, v)) capture_fail(c, "out of memory");
}

/* What the program has let go it asks for no more: held to the end, all that a call ever computed
 * would be in memory at once. */
static void capture_sweep(capture *c) {
    ptrmap left = {0};
    size_t n = 0;
    for (size_t i = 0; i < c->held.len; i++) {
        tensor *t = c->held.data[i];
        if (atomic_load_explicit(&t->refs, memory_order_acquire) == 1) {
            tensor_unref(t);
            continue;
        }
        c->held.data[n++] = t;
        if (!ptrmap_put(&left, t, ptrmap_get(&c->values, t))) capture_fail(c, "out of memory");
    }
    c->held.len = n;
    ptrmap_free(&c->values);
    c->values = left;
    c->sweep = n + (n / 4 > CAPTURE_SWEEP ? n / 4 : CAPTURE_SWEEP);
}

/* The properties of t in all calls that the graph covers. Strides are
 * left out: those of a result follow from how the program makes it. */
static type *capture_type(const tensor *t) {
    tensor_info info = {.dtype = (int8_t)t->dtype,
                        .ndim = (int8_t)t->ndim,
                        .requires_grad = -1,
                        .device = (int8_t)t->storage->device,
                        .sizes = t->sizes};
    type *known = type_tensor_details(&info);
    return known ? known : TYPE_TENSOR;
}

static void capture_learn_outside(capture *c, tensor *t) {
    capture_learn(c, t, block_add_param(c->g->root, capture_type(t)));
}

static void capture_learn_external(capture *c, tensor *t) {
    bool ok = vec_push(&c->versions, t->storage->version) && vec_push(&c->externals, t);
    if (!ok) return capture_fail(c, "out of memory");
    tensor_ref(t);
    capture_learn_outside(c, t);
}

bool capture_begin(capture *c, int ninputs, tensor *const *inputs) {
    *c = (capture){.g = graph_new(), .sweep = CAPTURE_SWEEP};
    if (!c->g) return false;
    for (int i = 0; i < ninputs; i++) capture_learn_outside(c, inputs[i]);
    return true;
}

void capture_alias(tensor *of, tensor *alias) {
    capture *c = capture_current;
    if (!c || c->why) return;
    ir_value *v = ptrmap_get(&c->values, of);
    if (v) return capture_learn(c, alias, v);
    capture_learn_external(c, of); /* that no operator has met yet */
    if (!c->why) capture_learn(c, alias, ptrmap_get(&c->values, of));
}

static ir_value *capture_tensor(capture *c, tensor *t) {
    ir_value *v = ptrmap_get(&c->values, t);
    if (v) return v;
    capture_learn_external(c, t);
    return ptrmap_get(&c->values, t);
}

int capture_parameter(capture *c, tensor *t) {
    capture_learn_outside(c, t);
    return c->why ? -1 : (int)c->g->root->params.len - 1;
}

bool capture_made(const capture *c, const tensor *t) {
    const ir_value *v = ptrmap_get(&c->values, t);
    return v && v->def;
}

/* ---- values ---------------------------------------------------------------------------------- */

static ir_value *capture_value(capture *c, value v, type *want, int depth);

/* A new list or tuple of n items, of type t. */
static ir_value *capture_construct(capture *c, node_kind kind, size_t n, ir_value **items,
                                   type *t) {
    for (size_t i = 0; i < n; i++)
        if (!items[i]) return NULL;
    node *made = graph_insert(c->g, node_new(c->g, kind, (int)n, items, 1));
    made->outputs.data[0]->type = t;
    return made->outputs.data[0];
}

static ir_value *capture_list(capture *c, const list *l, type *want, int depth) {
    while (want && want->kind == T_OPTIONAL) want = type_elem(want);
    type *elem = l->elem ? l->elem : want && want->kind == T_LIST ? type_elem(want) : TYPE_TENSOR;
    if (want && want->kind == T_LIST && type_elem(want)->kind == T_OPTIONAL) elem = type_elem(want);
    ir_value **items = arena_alloc(&c->g->arena, (l->len + 1) * sizeof *items);
    for (size_t i = 0; items && i < l->len; i++) {
        value item = list_get(l, i);
        items[i] = capture_value(c, item, elem, depth + 1);
        value_unref(item);
    }
    return items ? capture_construct(c, N_LIST_CONSTRUCT, l->len, items, type_list(elem)) : NULL;
}

static ir_value *capture_tuple(capture *c, const tuple *t, type *want, int depth) {
    ir_value **items = arena_alloc(&c->g->arena, (t->len + 1) * sizeof *items);
    bool fits = want && want->kind == T_TUPLE && (size_t)want->nelems == t->len;
    type **types = arena_alloc(&c->g->arena, (t->len + 1) * sizeof *types);
    for (size_t i = 0; items && types && i < t->len; i++) {
        items[i] = capture_value(c, t->items[i], fits ? want->elems[i] : NULL, depth + 1);
        types[i] = items[i] ? items[i]->type : TYPE_NONE;
    }
    return items && types ? capture_construct(c, N_TUPLE_CONSTRUCT, t->len, items,
                                              fits ? want : type_tuple((int)t->len, types))
                          : NULL;
}

static ir_value *capture_dict(capture *c, const dict *d, type *want, int depth) {
    if (!want && d->key_type && d->val_type) want = type_dict(d->key_type, d->val_type);
    ir_value **items = arena_alloc(&c->g->arena, (2 * d->used + 1) * sizeof *items);
    size_t n = 0;
    for (size_t i = 0; items && i < d->used; i++) {
        if (d->entries[i].key.tag == V_UNINIT) continue;
        items[n++] = capture_value(c, d->entries[i].key, NULL, depth + 1);
        items[n++] = capture_value(c, d->entries[i].val, NULL, depth + 1);
    }
    return items && want && want->kind == T_DICT
               ? capture_construct(c, N_DICT_CONSTRUCT, n, items, want)
               : NULL;
}

/* NULL: recording has failed. */
static ir_value *capture_value(capture *c, value v, type *want, int depth) {
    ir_value *made = NULL;
    while (want && want->kind == T_OPTIONAL) want = type_elem(want);
    if (depth > CAPTURE_MAX_DEPTH) return capture_fail(c, "a value is nested too deeply"), NULL;
    switch (v.tag) {
    case V_TENSOR: made = capture_tensor(c, v.u.tensor); break;
    case V_LIST: made = capture_list(c, v.u.list, want, depth); break;
    case V_TUPLE: made = capture_tuple(c, v.u.tuple, want, depth); break;
    case V_DICT: made = capture_dict(c, v.u.dict, want, depth); break;
    case V_NONE:
    case V_BOOL:
    case V_INT:
    case V_FLOAT:
    case V_COMPLEX:
    case V_STR:
    case V_DEVICE: made = graph_constant_take(c->g, value_ref(v), NULL); break;
    default: capture_fail(c, "a value of a kind that graphs have no constants of"); break;
    }
    if (!made) capture_fail(c, "a value that has no place in a graph");
    return made;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static bool capture_has_tensor(int n, const value *v) {
    for (int i = 0; i < n; i++) {
        if (v[i].tag == V_TENSOR) return true;
        if (v[i].tag != V_LIST) continue;
        const list *l = v[i].u.list;
        if (l->kind == LIST_TENSOR && l->len) return true;
        for (size_t k = 0; l->kind == LIST_VALUE && k < l->len; k++)
            if (capture_has_tensor(1, &l->u.values[k])) return true;
    }
    return false;
}

/* Which elements an index takes depends on a mask's elements, and so does how many. */
static bool capture_indexes_by_mask(const op *o, int n, const value *args) {
    if (o->name_symbol != SYM_INDEX && o->name_symbol != SYM__UNSAFE_INDEX) return false;
    for (int i = 1; i < n; i++) {
        if (args[i].tag != V_LIST) continue;
        for (size_t k = 0; k < args[i].u.list->len; k++) {
            value v = list_get(args[i].u.list, k);
            bool mask = v.tag == V_TENSOR &&
                        (v.u.tensor->dtype == DT_BOOL || v.u.tensor->dtype == DT_UINT8);
            value_unref(v);
            if (mask) return true;
        }
    }
    return false;
}

/* Is an argument or result declared as tensors, rather than as whatever a container holds? */
static bool capture_is_of_tensors(const argument *a) {
    type *t = a->type;
    while (t->kind == T_OPTIONAL || t->kind == T_LIST) t = type_elem(t);
    return t->kind == T_TENSOR;
}

static bool capture_reads_tensors(const op *o, int n, const value *args) {
    for (int i = 0; i < n && i < o->schema->nargs; i++)
        if (capture_is_of_tensors(&o->schema->args[i]) && capture_has_tensor(1, &args[i]))
            return true;
    return false;
}

/* What cannot be the same in each call; NULL: nothing. */
static const char *capture_objection(const op *o, int n, const value *args, int returns,
                                     const value *results) {
    bool takes = capture_has_tensor(n, args), gives = capture_has_tensor(returns, results);
    /* what the signature decides, or the mode */
    bool checks = o->traits.side_effect && o->traits.device_blind;
    /* passes keep what draws random numbers, and its order */
    bool draws = o->traits.draws && (takes || gives);
    if ((o->traits.side_effect && !checks && !draws) || o->traits.unsafe || o->traits.foreign)
        return "it has effects";
    if (!gives && !o->traits.device_blind && capture_reads_tensors(o, n, args))
        return "it reads elements";
    if (o->traits.sized_by_data || capture_indexes_by_mask(o, n, args))
        return "sizes depend on elements";
    if (o->schema->vararg || o->schema->varret)
        return takes ? "an operator of any number of arguments" : NULL;
    return NULL;
}

/* Views of what was there before are made by operators too: whatever is written may be that. */
static bool capture_writes(const op *o) {
    return o->schema->has_alias_write || o->traits.writes != WRITES_NOTHING;
}

static void capture_results(capture *c, node *n, int returns, const value *results) {
    for (int i = 0; i < returns; i++) {
        ir_value *out = n->outputs.data[i];
        if (results[i].tag == V_TENSOR) out->type = capture_type(results[i].u.tensor);
        if (results[i].tag == V_TENSOR && !ptrmap_get(&c->values, results[i].u.tensor))
            capture_learn(c, results[i].u.tensor, out);
        if (results[i].tag != V_LIST || !capture_has_tensor(1, &results[i])) continue;
        const list *l = results[i].u.list;
        node *parts = graph_insert(c->g, node_new(c->g, N_LIST_UNPACK, 1, &out, (int)l->len));
        for (size_t k = 0; k < l->len; k++) {
            value v = list_get(l, k);
            parts->outputs.data[k]->type = v.tag == V_TENSOR ? capture_type(v.u.tensor)
                                                             : TYPE_TENSOR;
            if (v.tag == V_TENSOR && !ptrmap_get(&c->values, v.u.tensor))
                capture_learn(c, v.u.tensor, parts->outputs.data[k]);
            value_unref(v);
        }
    }
}

void capture_call(capture *c, const op *o, int nargs, const value *args, int returns,
                  const value *results) {
    if (c->why) return;
    if (c->held.len >= c->sweep) capture_sweep(c);
    if (c->why) return;
    const char *why = capture_objection(o, nargs, args, returns, results);
    if (why) return capture_fail(c, why);
    /* sizes and other numbers, which the signature decides */
    if (!capture_has_tensor(returns, results)) return;
    /* of containers, which are unpacked */
    if (!o->schema->nreturns || !capture_is_of_tensors(&o->schema->returns[0])) return;
    if (++c->nodes > CAPTURE_MAX_NODES) return capture_fail(c, "it is too long");
    ir_value **in = arena_alloc(&c->g->arena, (size_t)(nargs + 1) * sizeof *in);
    if (!in) return capture_fail(c, "out of memory");
    for (int i = 0; i < nargs && !c->why; i++)
        in[i] = capture_value(c, args[i], o->schema->args[i].type, 0);
    if (c->why) return;
    node *n = graph_insert(c->g, node_new_op(c->g, o, nargs, in));
    c->draws |= o->traits.draws;
    c->writes |= capture_writes(o) || c->draws;
    capture_results(c, n, returns, results);
    if (arena_failed(&c->g->arena)) capture_fail(c, "out of memory");
}

/* ---- the end --------------------------------------------------------------------------------- */

void capture_return(capture *c, value v, type *t) {
    if (c->why) return;
    ir_value *out = capture_value(c, v, t, 0);
    if (out) block_add_return(c->g->root, out);
}

static void capture_forget_types(block *b) {
    for (int i = 0; i < (int)b->params.len; i++)
        if (b->params.data[i]->type->kind == T_TENSOR) b->params.data[i]->type = TYPE_TENSOR;
    for (node *n = b->first; n; n = n->next)
        for (size_t i = 0; i < n->outputs.len; i++)
            if (n->outputs.data[i]->type->kind == T_TENSOR) n->outputs.data[i]->type = TYPE_TENSOR;
}

graph *capture_end(capture *c) {
    graph *g = c->g;
    bool failed = c->why || !g || arena_failed(&g->arena);
    /* a tensor that changes its sizes has no sizes */
    if (!failed && known_graph_reshapes(g)) capture_forget_types(g->root);
    for (size_t i = 0; i < c->held.len; i++) tensor_unref(c->held.data[i]);
    vec_free(&c->held);
    vec_free(&c->versions);
    ptrmap_free(&c->values);
    for (size_t i = 0; failed && i < c->externals.len; i++) tensor_unref(c->externals.data[i]);
    if (failed) {
        vec_free(&c->externals);
        graph_free(g);
    }
    c->g = NULL;
    return failed ? NULL : g;
}
