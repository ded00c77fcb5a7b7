/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grad_pair.c - see grad_pair.h.
 * Tests: tests/unit/test_grad_program.c
 */
#include "runtime/autograd/grad_pair.h"

#include "runtime/autograd/grad_program.h"
#include "runtime/code/bytecode.h"
#include "runtime/interp/interp_internal.h"
#include "tensor/device.h"

#include <string.h>

struct grad_pair {
    atomic_int refs;
    code *forward, *backward;
    int nparams, nsaved, nslots, noutputs, nleaves, nwritten;
    int *slots;   /* of each tensor in the result */
    int *leaves;  /* parameters that require gradients */
    int *written; /* parameters that are written */
    bool *seen;   /* of each of these: something else may depend on what was there before */
    bool *reads;  /* of each parameter: the backward program reads it */
    bool draws;   /* random numbers */
};

/* How the call was made, for differentiating its gradients. */
typedef struct pair_call {
    grad_call node; /* what the node sees */
    grad_pair *pair;
    function *f;    /* whose unit is held */
    int nargs, opt; /* the level that it was made at */
    value *args;
    uint64_t module;
    generator *rng; /* before the call; NULL: it draws nothing */
    /* of each parameter that is written and was seen: its bytes then; else NULL */
    storage **before;
} pair_call;

static pair_call *pair_call_of(const grad_node *n) { return (pair_call *)n->call; }

static ctsc_status pair_copy(diag *d, storage *of, storage **out) {
    storage *made;
    if (of->device != DEVICE_HOST) TRY(device_alloc(d, of->device, of->nbytes, &made));
    else if (!(made = storage_new(of->nbytes))) return diag_no_memory(d);
    ctsc_status s = storage_copy_bytes(d, made, of);
    if (s == CTSC_OK) *out = made;
    else storage_unref(made);
    return s;
}

/* ---- tensors of a result --------------------------------------------------------------------- */

typedef bool pair_visitor(void *ctx, tensor **t);

/* In one order; false: a visit was. */
static bool pair_visit(value *v, pair_visitor *visit, void *ctx) {
    bool ok = true;
    switch (v->tag) {
    case V_TENSOR: return visit(ctx, &v->u.tensor);
    case V_TUPLE:
        for (size_t i = 0; ok && i < v->u.tuple->len; i++)
            ok = pair_visit(&v->u.tuple->items[i], visit, ctx);
        return ok;
    case V_LIST:
        for (size_t i = 0; ok && v->u.list->kind == LIST_TENSOR && i < v->u.list->len; i++)
            ok = visit(ctx, &v->u.list->u.tensors[i]);
        for (size_t i = 0; ok && v->u.list->kind == LIST_VALUE && i < v->u.list->len; i++)
            ok = pair_visit(&v->u.list->u.values[i], visit, ctx);
        return ok;
    case V_DICT:
        for (size_t i = 0; ok && i < v->u.dict->used; i++)
            if (v->u.dict->entries[i].key.tag != V_UNINIT)
                ok = pair_visit(&v->u.dict->entries[i].val, visit, ctx);
        return ok;
    default: return true;
    }
}

/* ---- what the call was ----------------------------------------------------------------------- */

bool pair_begin(pair_plan *p, int ninputs, tensor *const *inputs) {
    *p = (pair_plan){.wanted = true};
    p->inputs = mem_alloc(((size_t)ninputs + 1) * sizeof *p->inputs);
    p->versions = mem_alloc(((size_t)ninputs + 1) * sizeof *p->versions);
    if (!p->inputs || !p->versions) return false;
    for (int i = 0; i < ninputs; i++) {
        p->inputs[i] = tensor_ref(inputs[i]);
        p->versions[i] = inputs[i]->storage->version;
    }
    p->ninputs = ninputs;
    return true;
}

void pair_end(pair_plan *p) {
    for (int i = 0; i < p->ninputs; i++) tensor_unref(p->inputs[i]);
    mem_free(p->inputs);
    mem_free(p->versions);
    for (size_t i = 0; i < p->grads.len; i++) tensor_unref(p->grads.data[i]);
    for (size_t i = 0; i < p->found.len; i++) tensor_unref(p->found.data[i]);
    vec_free(&p->slots);
    vec_free(&p->outputs);
    vec_free(&p->grads);
    vec_free(&p->leaves);
    vec_free(&p->found);
    vec_free(&p->leaf_params);
    vec_free(&p->grad_params);
    vec_free(&p->written);
}

typedef struct pair_look {
    pair_plan *p;
    capture *c;
} pair_look;

/* Which output of the node a result is; what cannot be one ends the capture. */
static bool pair_note_result(void *ctx, tensor **at) {
    pair_look *l = ctx;
    tensor *t = *at;
    const autograd_meta *m = t->autograd;
    int slot = -1;
    for (size_t i = 0; i < l->p->outputs.len; i++) {
        if (l->p->outputs.data[i] == t) slot = (int)i;
        else if (l->p->outputs.data[i]->storage == t->storage)
            capture_fail(l->c, "results share memory");
    }
    bool made = capture_made(l->c, t), history = autograd_requires_grad(t) && made;
    if (history && (!m || !m->made_by.fn)) capture_fail(l->c, "a result is a new leaf");
    if (history && m && m->base && !capture_made(l->c, m->base))
        capture_fail(l->c, "a result is a view of what was there before");
    if (history && m && m->retains_grad) capture_fail(l->c, "a result keeps its gradient");
    bool ok = true;
    if (history && slot < 0) {
        slot = (int)l->p->outputs.len;
        ok = vec_push(&l->p->outputs, t);
    }
    ok = ok && vec_push(&l->p->slots, slot);
    if (!ok) capture_fail(l->c, "out of memory");
    return !l->c->why;
}

static tensor *pair_param(const pair_plan *p, const capture *c, int i) {
    return i < p->ninputs ? p->inputs[i] : c->externals.data[i - p->ninputs];
}

/* What requires gradients, and what is written. */
static void pair_note_params(pair_plan *p, capture *c) {
    bool ok = true;
    for (int i = 0; ok && i < p->ninputs + (int)c->externals.len; i++) {
        tensor *t = pair_param(p, c, i);
        uint32_t before = i < p->ninputs ? p->versions[i] : c->versions.data[i - p->ninputs];
        bool leaf = autograd_requires_grad(t), written = t->storage->version != before;
        if (leaf && written) capture_fail(c, "it writes what requires gradients");
        if (leaf) ok = vec_push(&p->leaves, t) && vec_push(&p->leaf_params, i);
        if (written) ok = ok && vec_push(&p->written, i);
    }
    if (!ok) capture_fail(c, "out of memory");
    if (!p->leaves.len && p->outputs.len) capture_fail(c, "it makes leaves");
}

/* A tensor for each gradient that the backward pass begins with. */
static bool pair_make_grads(pair_plan *p, capture *c, op_ctx *cx) {
    for (size_t i = 0; i < p->outputs.len; i++) {
        value out = value_none(), args[6] = {{.tag = V_TENSOR, .u.tensor = p->outputs.data[i]}};
        for (int k = 1; k < 6; k++) args[k] = value_none();
        if (op_call(cx, "aten::ones_like", 6, args, &out) != CTSC_OK) return false;
        if (!vec_push(&p->grads, out.u.tensor)) {
            value_unref(out);
            return false;
        }
        int at = capture_parameter(c, out.u.tensor);
        if (at < 0 || !vec_push(&p->grad_params, at)) return false;
    }
    return true;
}

static size_t pair_count_nodes(const graph *g) {
    size_t n = 0;
    for (const node *x = g->root->first; x; x = x->next) n++;
    return n;
}

/* The program itself runs on tensors without history; so does this pass: what it makes of the
 * results' history is recorded, and the results keep it. */
static void pair_capture_backward(pair_plan *p, capture *c, op_ctx *cx) {
    size_t n = p->leaves.len;
    tensor **found = mem_zalloc((n + 1) * sizeof *found);
    diag own = {.max_tensor = cx->diag->max_tensor};
    op_ctx inner = *cx;
    inner.diag = &own;
    bool ok = found && pair_make_grads(p, c, &inner);
    backward_request r = {.nroots = (int)p->outputs.len,
                          .roots = p->outputs.data,
                          .root_grads = p->grads.data,
                          .ninputs = (int)n,
                          .inputs = p->leaves.data,
                          .retain_graph = true,
                          .allow_unused = true,
                          .inner = true};
    capture *outer = capture_current;
    capture_current = c;
    ok = ok && autograd_backward(&inner, &r, found) == CTSC_OK;
    for (size_t i = 0; ok && i < n; i++) {
        value v = found[i] ? (value){.tag = V_TENSOR, .u.tensor = found[i]} : value_none();
        ok = vec_push(&p->found, found[i]);
        if (ok) found[i] = NULL; /* the plan's */
        capture_return(c, v, NULL);
    }
    capture_current = outer;
    for (size_t i = 0; found && i < n; i++) tensor_unref(found[i]);
    mem_free(found);
    diag_clear(&own);
    if (!ok) capture_fail(c, "its gradients cannot be taken");
}

void pair_extend(pair_plan *p, capture *c, op_ctx *cx, value result) {
    pair_look l = {p, c};
    if (c->why) return;
    if (pair_visit(&result, pair_note_result, &l)) pair_note_params(p, c);
    p->wanted = p->outputs.len != 0;
    p->draws = c->draws;
    if (c->why || !p->wanted) return;
    p->nodes = pair_count_nodes(c->g);
    pair_capture_backward(p, c, cx);
}

/* ---- cutting the graph ----------------------------------------------------------------------- */

typedef struct pair_cut {
    VEC(node *) nodes; /* of a graph, in order */
} pair_cut;

static bool pair_list_nodes(const graph *g, pair_cut *out) {
    for (node *n = g->root->first; n; n = n->next)
        if (!vec_push(&out->nodes, n)) return false;
    return true;
}

/* Is v, of the call, read by the backward pass? */
static bool pair_crosses(const ir_value *v) {
    for (size_t i = 0; i < v->uses.len; i++) {
        const use *u = &v->uses.data[i];
        if (u->user ? u->user->mark : u->index > 0) return true;
    }
    return false;
}

typedef struct pair_saved {
    size_t node;
    int output;
} pair_saved;

typedef VEC(pair_saved) pair_saved_list;

static bool pair_find_saved(const pair_plan *p, const pair_cut *cut, pair_saved_list *out) {
    for (size_t i = 0; i < cut->nodes.len; i++) cut->nodes.data[i]->mark = i >= p->nodes;
    for (size_t i = 0; i < p->nodes; i++) {
        const node *n = cut->nodes.data[i];
        for (size_t k = 0; k < n->outputs.len; k++) {
            if (!pair_crosses(n->outputs.data[k])) continue;
            if (n->outputs.data[k]->type->kind != T_TENSOR) return false;
            if (!vec_push(out, ((pair_saved){i, (int)k}))) return false;
        }
    }
    return true;
}

/* The graph returns a tuple of these. */
static void pair_return(graph *g, ir_value **items, size_t n) {
    type **types = arena_alloc(&g->arena, (n + 1) * sizeof *types);
    if (!types) return;
    for (size_t i = 0; i < n; i++) types[i] = items[i]->type;
    node *made = graph_insert(g, node_new(g, N_TUPLE_CONSTRUCT, (int)n, items, 1));
    made->outputs.data[0]->type = type_tuple((int)n, types);
    while (g->root->returns.len) block_remove_return(g->root, (int)g->root->returns.len - 1);
    block_add_return(g->root, made->outputs.data[0]);
}

static void pair_drop_grad_params(const pair_plan *p, graph *g) {
    for (size_t i = p->grad_params.len; i-- > 0;)
        block_remove_param(g->root, p->grad_params.data[i]);
}

/* The call alone, which returns what is saved, too. */
static bool pair_cut_forward(const pair_plan *p, graph *g, const pair_saved_list *saved) {
    pair_cut cut = {0};
    ir_value **items = arena_alloc(&g->arena, (saved->len + 1) * sizeof *items);
    bool ok = items && pair_list_nodes(g, &cut);
    while (ok && g->root->returns.len > 1)
        block_remove_return(g->root, (int)g->root->returns.len - 1);
    for (size_t i = cut.nodes.len; ok && i-- > p->nodes;) node_remove(cut.nodes.data[i]);
    for (size_t i = 0; ok && i < saved->len; i++)
        items[i + 1] = cut.nodes.data[saved->data[i].node]->outputs.data[saved->data[i].output];
    if (ok) {
        items[0] = g->root->returns.data[0];
        pair_return(g, items, saved->len + 1);
        pair_drop_grad_params(p, g);
    }
    vec_free(&cut.nodes);
    return ok && !arena_failed(&g->arena);
}

/* The backward pass alone: parameters take the place of what was saved. */
static bool pair_cut_backward(const pair_plan *p, graph *g, const pair_cut *cut,
                              const pair_saved_list *saved) {
    size_t n = g->root->returns.len - 1;
    ir_value **items = arena_alloc(&g->arena, (n + 1) * sizeof *items);
    if (!items) return false;
    for (size_t i = 0; i < saved->len; i++) {
        ir_value *v = cut->nodes.data[saved->data[i].node]->outputs.data[saved->data[i].output];
        value_replace_uses(v, block_add_param(g->root, v->type));
    }
    for (size_t i = 0; i < p->grad_params.len; i++) {
        ir_value *v = g->root->params.data[p->grad_params.data[i]];
        value_replace_uses(v, block_add_param(g->root, v->type));
    }
    for (size_t i = 0; i < n; i++) items[i] = g->root->returns.data[i + 1];
    pair_return(g, items, n);
    for (size_t i = p->nodes; i-- > 0;) node_remove(cut->nodes.data[i]);
    pair_drop_grad_params(p, g);
    return !arena_failed(&g->arena);
}

/* ---- making ---------------------------------------------------------------------------------- */

grad_pair *pair_ref(grad_pair *p) {
    if (p) atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
    return p;
}

void pair_unref(grad_pair *p) {
    if (!p || atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) != 1) return;
    if (p->forward) code_free(p->forward);
    if (p->backward) code_free(p->backward);
    mem_free(p->slots);
    mem_free(p->leaves);
    mem_free(p->written);
    mem_free(p->seen);
    mem_free(p->reads);
    mem_free(p);
}

void pair_graphs(const grad_pair *p, const graph **forward, const graph **backward) {
    *forward = p->forward->graph;
    *backward = p->backward->graph;
}

static bool pair_copy_ints(int **out, size_t n, const int *from) {
    *out = mem_alloc((n + 1) * sizeof **out);
    if (*out && n) memcpy(*out, from, n * sizeof **out);
    return *out != NULL;
}

/* Parameters as the programs count them: without the placeholders for gradients. */
static void pair_number_leaves(const pair_plan *p, grad_pair *made) {
    made->nleaves = (int)p->leaves.len;
    made->nslots = (int)p->slots.len;
    made->noutputs = (int)p->outputs.len;
    made->nwritten = (int)p->written.len;
    made->draws = p->draws;
}

/* Counters and their like: all that is done with them is that they are written. */
static bool pair_only_written(const ir_value *v) {
    for (size_t i = 0; i < v->uses.len; i++) {
        const use *u = &v->uses.data[i];
        const op *o = u->user ? u->user->op : NULL;
        if (!o || u->index != 0 || !o->schema->args[0].alias || !o->schema->args[0].alias->write)
            return false;
        for (size_t k = 0; k < u->user->outputs.len; k++)
            if (u->user->outputs.data[k]->uses.len) return false;
    }
    return true;
}

static bool pair_alone(const pair_plan *p, const capture *c, int nparams, int at) {
    const storage *own = pair_param(p, c, at)->storage;
    for (int i = 0; i < nparams; i++)
        if (i != at && pair_param(p, c, i)->storage == own) return false;
    return true;
}

static void pair_find_seen(const pair_plan *p, const capture *c, const graph *forward,
                           grad_pair *made) {
    for (int i = 0; i < made->nwritten; i++) {
        int at = made->written[i];
        made->seen[i] = !pair_only_written(forward->root->params.data[at]) ||
                        !pair_alone(p, c, made->nparams, at);
    }
}

static grad_pair *pair_describe(const pair_plan *p, const graph *backward, int nparams,
                                const pair_saved_list *saved) {
    grad_pair *made = mem_zalloc(sizeof *made);
    if (!made) return NULL;
    atomic_init(&made->refs, 1);
    made->nparams = nparams;
    made->nsaved = (int)saved->len;
    made->reads = mem_alloc((size_t)nparams + 1);
    made->seen = mem_zalloc(p->written.len + 1);
    bool ok = made->reads && made->seen &&
              pair_copy_ints(&made->slots, p->slots.len, p->slots.data) &&
              pair_copy_ints(&made->leaves, p->leaf_params.len, p->leaf_params.data) &&
              pair_copy_ints(&made->written, p->written.len, p->written.data);
    if (ok) {
        pair_number_leaves(p, made);
        for (int i = 0; i < nparams; i++)
            made->reads[i] = backward->root->params.data[i]->uses.len != 0;
        return made;
    }
    pair_unref(made);
    return NULL;
}

grad_pair *pair_new(const pair_plan *p, const capture *c, graph *g, const char *name, int device,
                    diag *d) {
    int nparams = p->ninputs + (int)c->externals.len;
    pair_cut cut = {0};
    pair_saved_list saved = {0};
    graph *forward = graph_clone(g), *backward = g;
    grad_pair *made = NULL;
    bool ok = forward && pair_list_nodes(g, &cut) && pair_find_saved(p, &cut, &saved) &&
              pair_cut_forward(p, forward, &saved) && pair_cut_backward(p, g, &cut, &saved);
    if (ok) made = pair_describe(p, g, nparams, &saved);
    if (made) pair_find_seen(p, c, forward, made);
    vec_free(&cut.nodes);
    vec_free(&saved);
    if (made && program_compile(name, forward, device, d, &made->forward) == CTSC_OK) {
        forward = NULL;
        ok = program_compile(name, backward, device, d, &made->backward) == CTSC_OK;
        backward = NULL;
    } else {
        ok = false;
        if (made) forward = NULL; /* program_compile took it */
    }
    graph_free(forward);
    graph_free(backward);
    if (ok) return made;
    pair_unref(made);
    return NULL;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static void pair_call_free(grad_call *node) {
    pair_call *c = (pair_call *)node;
    unit *u = c->f ? c->f->unit : NULL;
    for (int i = 0; i < c->nargs; i++) value_unref(c->args[i]);
    mem_free(c->args);
    mem_free(c->rng);
    for (int i = 0; c->before && i < c->pair->nwritten; i++)
        if (c->before[i]) storage_unref(c->before[i]);
    mem_free(c->before);
    pair_unref(c->pair);
    mem_free(c);
    if (u) unit_unref(u);
}

static ctsc_status pair_backward(op_ctx *cx, grad_node *n, tensor *const *grads, bool create_graph,
                                 tensor **out);

/* What a repeated call has to find where this one will have written. */
static ctsc_status pair_keep_before(pair_call *c, const value *params, diag *d) {
    const grad_pair *p = c->pair;
    c->before = mem_zalloc(((size_t)p->nwritten + 1) * sizeof *c->before);
    if (!c->before) return diag_no_memory(d);
    for (int i = 0; i < p->nwritten; i++) {
        storage *s = params[p->written[i]].u.tensor->storage;
        if (p->seen[i] && s->nbytes) TRY(pair_copy(d, s, &c->before[i]));
    }
    return CTSC_OK;
}

static ctsc_status pair_call_new(grad_pair *p, function *f, int n, const value *args,
                                 const value *params, const runtime *rt, diag *d, pair_call **out) {
    pair_call *c = mem_zalloc(sizeof *c);
    if (!c) return diag_no_memory(d);
    c->node = (grad_call){
        .backward = pair_backward, .free = pair_call_free, .name = "CapturedBackward"};
    c->pair = pair_ref(p);
    c->opt = rt->opt;
    c->f = f;
    unit_ref(f->unit);
    c->args = mem_alloc(((size_t)n + 1) * sizeof *c->args);
    c->rng = p->draws ? mem_alloc(sizeof *c->rng) : NULL;
    bool ok = c->args && (c->rng || !p->draws) && program_state(n, args, &c->module);
    for (; ok && c->nargs < n; c->nargs++) c->args[c->nargs] = value_ref(args[c->nargs]);
    if (ok && c->rng) *c->rng = rt->rng;
    ctsc_status s = !ok           ? diag_no_memory(d)
                    : p->nwritten ? pair_keep_before(c, params, d)
                                  : CTSC_OK;
    if (s == CTSC_OK) *out = c;
    else pair_call_free(&c->node);
    return s;
}

/* What was made by the call: its elements, since the node must not hold its own results. */
static ctsc_status pair_save_made(diag *d, grad_saved *s, tensor *t) {
    tensor *elements;
    TRY(tensor_alias(d, t, &elements));
    elements->requires_grad = false;
    s->v = value_tensor_take(elements);
    s->is_tensor = true;
    s->version = t->storage->version;
    return CTSC_OK;
}

static ctsc_status pair_fill_node(const grad_pair *p, grad_node *n, const value *params,
                                  const tuple *made, diag *d) {
    for (int i = 0; i < p->nleaves; i++)
        TRY(grad_node_set_input(d, n, i, params[p->leaves[i]].u.tensor));
    for (int i = 0; i < p->nparams; i++) TRY(grad_save(d, &n->saved[i], params[i]));
    for (int i = 0; i < p->nsaved; i++)
        TRY(pair_save_made(d, &n->saved[p->nparams + i], made->items[1 + i].u.tensor));
    n->has_saved = true;
    return CTSC_OK;
}

typedef struct pair_attach {
    const grad_pair *p;
    grad_node *n;
    diag *d;
    const value *params;
    int at;
} pair_attach;

/* A handle of its own for what the program gave as it came in. */
static ctsc_status pair_own_handle(const pair_attach *a, tensor **at) {
    bool given = false;
    for (int i = 0; i < a->p->nparams; i++) given |= a->params[i].u.tensor == *at;
    if (!given) return CTSC_OK;
    tensor *own;
    TRY(tensor_alias(a->d, *at, &own));
    tensor_unref(*at);
    *at = own;
    return CTSC_OK;
}

static bool pair_attach_result(void *ctx, tensor **at) {
    pair_attach *a = ctx;
    int slot = a->at < a->p->nslots ? a->p->slots[a->at] : -1;
    a->at++;
    if (slot < 0) return true;
    const autograd_meta *m = (*at)->autograd;
    if (m && m->made_by.fn == a->n) return true; /* met before */
    if (pair_own_handle(a, at) != CTSC_OK) return false;
    tensor *t = *at;
    if (!grad_shape_set(&a->n->outputs[slot], t)) {
        diag_no_memory(a->d);
        return false;
    }
    t->requires_grad = false;
    return autograd_set_history(a->d, t, grad_node_ref(a->n), slot) == CTSC_OK;
}

/* The results' history. */
static ctsc_status pair_attach_node(grad_pair *p, pair_call *call, const value *params, diag *d,
                                    const tuple *made, value *result) {
    grad_node *n = grad_node_new(GRAD_CALL, NULL, NULL, p->nleaves, p->noutputs,
                                 p->nparams + p->nsaved);
    if (!n) {
        pair_call_free(&call->node);
        return diag_no_memory(d);
    }
    n->call = &call->node;
    ctsc_status s = pair_fill_node(p, n, params, made, d);
    grad_node_renew(n);
    pair_attach a = {.p = p, .n = n, .d = d, .params = params};
    if (s == CTSC_OK && !pair_visit(result, pair_attach_result, &a)) s = d->status;
    grad_node_unref(n);
    return s;
}

ctsc_status pair_run(grad_pair *p, runtime *rt, function *f, int n, const value *args,
                     const value *params, diag *d, value *out) {
    pair_call *call = NULL;
    TRY(pair_call_new(p, f, n, args, params, rt, d, &call));
    bool taped = rt->taped, enabled = rt->grad_enabled;
    value made = value_none();
    rt->taped = rt->grad_enabled = false;
    ctsc_status s = interp_call_code(rt, p->forward, p->nparams, params, d, &made);
    rt->taped = taped;
    rt->grad_enabled = enabled;
    if (s != CTSC_OK) {
        pair_call_free(&call->node);
        return s;
    }
    for (int i = 0; i < p->nwritten; i++) params[p->written[i]].u.tensor->storage->version++;
    value result = value_ref(made.u.tuple->items[0]);
    s = pair_attach_node(p, call, params, d, made.u.tuple, &result);
    value_unref(made);
    if (s == CTSC_OK) *out = result;
    else value_unref(result);
    return s;
}

/* ---- backward passes ------------------------------------------------------------------------- */

static ctsc_status pair_zeros(op_ctx *cx, const grad_shape *s, value *out) {
    tensor *t;
    TRY(tensor_new_on(cx->diag, s->device, (dtype)s->dtype, s->ndim, s->sizes, &t));
    *out = value_tensor_take(t);
    value same = value_none();
    ctsc_status st = op_call(cx, "aten::zero_", 1, out, &same);
    value_unref(same);
    return st;
}

static ctsc_status pair_arguments(op_ctx *cx, const grad_pair *p, grad_node *n,
                                  tensor *const *grads, value *args) {
    int at = 0;
    for (int i = 0; i < p->nparams + p->nsaved; i++, at++) {
        grad_saved *s = &n->saved[i];
        if (i < p->nparams && !p->reads[i]) args[at] = value_ref(s->v);
        else TRY(grad_unsave(cx->diag, n, s, false, &args[at]));
    }
    for (int i = 0; i < p->noutputs; i++, at++) {
        if (grads[i]) args[at] = value_tensor_take(tensor_ref(grads[i]));
        else TRY(pair_zeros(cx, &n->outputs[i], &args[at]));
    }
    return CTSC_OK;
}

static ctsc_status pair_run_backward(op_ctx *cx, grad_node *n, tensor *const *grads, tensor **out) {
    const grad_pair *p = pair_call_of(n)->pair;
    int nargs = p->nparams + p->nsaved + p->noutputs;
    value *args = mem_zalloc(((size_t)nargs + 1) * sizeof *args), made = value_none();
    if (!args) return diag_no_memory(cx->diag);
    runtime *rt = cx->rt;
    bool taped = rt->taped, enabled = rt->grad_enabled;
    int opt = rt->opt;
    rt->taped = rt->grad_enabled = false;
    rt->opt = pair_call_of(n)->opt;
    ctsc_status s = pair_arguments(cx, p, n, grads, args);
    if (s == CTSC_OK) s = interp_call_code(rt, p->backward, nargs, args, cx->diag, &made);
    rt->taped = taped;
    rt->grad_enabled = enabled;
    rt->opt = opt;
    for (int i = 0; s == CTSC_OK && i < p->nleaves; i++) {
        value v = made.u.tuple->items[i];
        if (v.tag == V_TENSOR) out[i] = tensor_ref(v.u.tensor);
    }
    for (int i = 0; i < nargs; i++) value_unref(args[i]);
    mem_free(args);
    value_unref(made);
    return s;
}

/* ---- gradients of gradients ------------------------------------------------------------------ */

/* What a repeated call must not change: memory without history. */
typedef struct pair_memory {
    storage *of, *was;
    uint32_t version;
} pair_memory;

static ctsc_status pair_keep_memory(const grad_pair *p, const grad_node *n, diag *d,
                                    pair_memory *kept) {
    for (int i = 0; i < p->nparams; i++) {
        const tensor *t = n->saved[i].v.u.tensor;
        if (t->requires_grad || !t->storage->nbytes) continue;
        kept[i] = (pair_memory){.of = t->storage, .version = t->storage->version};
        TRY(pair_copy(d, t->storage, &kept[i].was));
    }
    return CTSC_OK;
}

static ctsc_status pair_return_before(op_ctx *cx, const grad_node *n) {
    const pair_call *c = pair_call_of(n);
    for (int i = 0; c->before && i < c->pair->nwritten; i++)
        if (c->before[i])
            TRY(storage_copy_bytes(cx->diag, n->saved[c->pair->written[i]].v.u.tensor->storage,
                                   c->before[i]));
    return CTSC_OK;
}

/* On the host only what changed is written: other threads may read the rest. */
static ctsc_status pair_restore_memory(const grad_pair *p, diag *d, pair_memory *kept) {
    ctsc_status s = CTSC_OK;
    for (int i = 0; kept && i < p->nparams; i++) {
        pair_memory *k = &kept[i];
        if (!k->was) continue;
        bool written = k->of->device != DEVICE_HOST ||
                       memcmp(k->of->data, k->was->data, k->of->nbytes) != 0;
        if (written && s == CTSC_OK) s = storage_copy_bytes(d, k->of, k->was);
        k->of->version = k->version;
        storage_unref(k->was);
    }
    mem_free(kept);
    return s;
}

typedef struct pair_roots {
    const grad_pair *p;
    int at, n;
    tensor **roots, **root_grads; /* nslots each */
    tensor *const *grads;
    bool *taken; /* of each output */
} pair_roots;

static bool pair_take_root(void *ctx, tensor **t) {
    pair_roots *r = ctx;
    int slot = r->at < r->p->nslots ? r->p->slots[r->at] : -1;
    r->at++;
    if (slot < 0 || !r->grads[slot] || r->taken[slot]) return true;
    r->taken[slot] = true;
    r->roots[r->n] = *t;
    r->root_grads[r->n++] = r->grads[slot];
    return true;
}

/* The gradients of a call that was repeated, with their history. */
static ctsc_status pair_differentiate(op_ctx *cx, grad_node *n, value *result, tensor *const *grads,
                                      tensor **leaves, tensor **out) {
    const grad_pair *p = pair_call_of(n)->pair;
    size_t slots = (size_t)p->nslots + 1;
    tensor **room = mem_zalloc(2 * slots * sizeof *room);
    bool *taken = mem_zalloc((size_t)p->noutputs + 1);
    ctsc_status s = room && taken ? CTSC_OK : diag_no_memory(cx->diag);
    pair_roots roots = {
        .p = p, .roots = room, .root_grads = room + slots, .grads = grads, .taken = taken};
    if (s == CTSC_OK) pair_visit(result, pair_take_root, &roots);
    backward_request r = {.nroots = roots.n,
                          .roots = roots.roots,
                          .root_grads = roots.root_grads,
                          .ninputs = p->nleaves,
                          .inputs = leaves,
                          .retain_graph = true,
                          .create_graph = true,
                          .allow_unused = true,
                          .inner = true};
    if (s == CTSC_OK && roots.at != p->nslots)
        s = diag_fail(cx->diag, CTSC_INTERNAL, "a repeated call has other results");
    if (s == CTSC_OK && roots.n) s = autograd_backward(cx, &r, out);
    mem_free(room);
    mem_free(taken);
    return s;
}

/* A parameter with its place in the graph; NULL if out of memory. */
static ctsc_status pair_leaf(op_ctx *cx, grad_node *n, int param, tensor **out) {
    value v = value_none();
    TRY(grad_unsave(cx->diag, n, &n->saved[param], true, &v));
    *out = v.u.tensor;
    return CTSC_OK;
}

static ctsc_status pair_check_repeat(op_ctx *cx, grad_node *n) {
    const pair_call *c = pair_call_of(n);
    uint64_t module;
    value v = value_none();
    for (int i = 0, k = 0; i < c->pair->nparams; i++) {
        if (k < c->pair->nwritten && c->pair->written[k] == i) {
            k++; /* what a repeated call finds there is known */
            continue;
        }
        TRY(grad_unsave(cx->diag, n, &n->saved[i], false, &v));
        value_unref(v);
    }
    if (!program_state(c->nargs, c->args, &module) || module != c->module)
        return diag_fail(cx->diag, CTSC_UNSUPPORTED,
                         "gradients with create_graph of a call of %s whose module has been "
                         "changed since are not supported",
                         c->f->name);
    return CTSC_OK;
}

static ctsc_status pair_repeat(op_ctx *cx, grad_node *n, value *out) {
    const pair_call *c = pair_call_of(n);
    runtime *rt = cx->rt;
    generator *now = c->rng ? mem_alloc(sizeof *now) : NULL;
    value *args = mem_alloc(((size_t)c->nargs + 1) * sizeof *args);
    if (!args || (c->rng && !now)) {
        mem_free(now);
        mem_free(args);
        return diag_no_memory(cx->diag);
    }
    for (int i = 0; i < c->nargs; i++) args[i] = value_ref(c->args[i]);
    if (now) *now = rt->rng, rt->rng = *c->rng;
    ctsc_status s = interp_call_take(rt, c->f, c->nargs, args, cx->diag, out);
    if (now) rt->rng = *now;
    mem_free(now);
    mem_free(args);
    return s;
}

static ctsc_status pair_run_again(op_ctx *cx, grad_node *n, tensor *const *grads, tensor **out) {
    const grad_pair *p = pair_call_of(n)->pair;
    TRY(pair_check_repeat(cx, n));
    value result = value_none();
    tensor **leaves = mem_zalloc(((size_t)p->nleaves + 1) * sizeof *leaves);
    pair_memory *kept = mem_zalloc(((size_t)p->nparams + 1) * sizeof *kept);
    ctsc_status s = leaves && kept ? pair_keep_memory(p, n, cx->diag, kept)
                                   : diag_no_memory(cx->diag);
    if (s == CTSC_OK) s = pair_return_before(cx, n);
    if (s == CTSC_OK) s = pair_repeat(cx, n, &result);
    ctsc_status restored = pair_restore_memory(p, cx->diag, kept);
    if (s == CTSC_OK) s = restored;
    for (int i = 0; s == CTSC_OK && i < p->nleaves; i++)
        s = pair_leaf(cx, n, p->leaves[i], &leaves[i]);
    if (s == CTSC_OK) s = pair_differentiate(cx, n, &result, grads, leaves, out);
    for (int i = 0; leaves && i < p->nleaves; i++) tensor_unref(leaves[i]);
    mem_free(leaves);
    value_unref(result);
    return s;
}

static ctsc_status pair_backward(op_ctx *cx, grad_node *n, tensor *const *grads, bool create_graph,
                                 tensor **out) {
    if (capture_current) capture_fail(capture_current, "it differentiates an earlier call");
    return create_graph ? pair_run_again(cx, n, grads, out) : pair_run_backward(cx, n, grads, out);
}
