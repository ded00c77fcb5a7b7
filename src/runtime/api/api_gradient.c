/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_gradient.c - the part of ctsc.h about gradients that are the user's own: functions that the
 * library records with their gradients, hooks on gradients and on what is saved, and the graph.
 *
 * A function that was recorded is a node like any other (GRAD_CALL): its inputs' edges, the shapes
 * of its results, and what it saved, which the node keeps as it does for operators: with versions,
 * results without their node, until the pass that needs them last.
 * Tests: tests/unit/test_grad_api.c, tests/python/test_py_hooks.py
 */
#include "runtime/api/api.h"
#include "runtime/autograd/autograd.h"
#include "runtime/autograd/grad_capture.h"

#include <stddef.h>
#include <string.h>

typedef struct own_call {
    grad_call node; /* what the node sees */
    ctsc_gradient g;
    char name[];
} own_call;

struct ctsc_hook {
    grad_hook h; /* what the lists see */
    ctsc_hook_fn fn;
    void *ctx;
    void (*free)(void *ctx);
};

enum { OWN_MAX = 4096 }; /* inputs, outputs and saved tensors of a function */

/* What the user's function said, as the failure of the pass. */
static ctsc_status own_fail(diag *d, ctsc_status s, const char *name, ctsc_error *said) {
    const char *text = diag_message(&said->d);
    diag_fail(d, s, "%s: %s", name, *text ? text : ctsc_status_text(s));
    diag_clear(&said->d);
    return s;
}

/* A tensor from the user in a result's place; NULL: it was none, with a failure. */
static tensor *own_tensor(op_ctx *cx, const char *name, ctsc_value *v, ctsc_status *s) {
    tensor *t = v && v->v.tag == V_TENSOR ? tensor_ref(v->v.u.tensor) : NULL;
    if (v && !t && *s == CTSC_OK)
        *s = diag_fail(cx->diag, CTSC_USAGE, "%s gave a gradient that is not a tensor", name);
    ctsc_value_free(v);
    return t;
}

/* ---- functions ------------------------------------------------------------------------------- */

static void own_call_free(grad_call *node) {
    own_call *c = (own_call *)node;
    if (c->g.free) c->g.free(c->g.ctx);
    mem_free(c);
}

static ctsc_status own_backward(op_ctx *cx, grad_node *n, tensor *const *grads, bool create_graph,
                                tensor **out) {
    own_call *c = (own_call *)n->call;
    size_t ngrads = (size_t)n->noutputs, nsaved = (size_t)n->nsaved, nout = (size_t)n->ninputs;
    size_t given = ngrads + nsaved;
    struct ctsc_value *room = mem_zalloc((given + 1) * sizeof *room);
    ctsc_value **handles = mem_zalloc((given + nout + 1) * sizeof *handles);
    ctsc_error said = {{0}};
    ctsc_status s = room && handles ? CTSC_OK : diag_no_memory(cx->diag);
    for (size_t i = 0; i < ngrads && s == CTSC_OK; i++) {
        if (!grads[i]) continue;
        room[i].v = (value){.tag = V_TENSOR, .u.tensor = tensor_ref(grads[i])};
        handles[i] = &room[i];
    }
    for (size_t i = 0; i < nsaved && s == CTSC_OK; i++) {
        s = grad_unsave(cx->diag, n, &n->saved[i], create_graph, &room[ngrads + i].v);
        handles[ngrads + i] = &room[ngrads + i];
    }
    ctsc_value **made = handles ? handles + given : NULL;
    ctsc_gradient_call call = {.size = sizeof call,
                               .ngrads = ngrads,
                               .grads = handles,
                               .nsaved = nsaved,
                               .saved = handles ? handles + ngrads : NULL,
                               .ninputs = nout,
                               .create_graph = create_graph};
    if (s == CTSC_OK && (s = c->g.fn(c->g.ctx, &call, made, &said)) != CTSC_OK)
        own_fail(cx->diag, s, c->name, &said);
    for (size_t i = 0; i < nout && made; i++) out[i] = own_tensor(cx, c->name, made[i], &s);
    for (size_t i = 0; i < given && room; i++) value_unref(room[i].v);
    mem_free(room);
    mem_free(handles);
    return s;
}

static own_call *own_call_new(const ctsc_gradient *g) {
    const char *name = g->name ? g->name : "Backward";
    size_t n = strlen(name) + 1;
    own_call *c = mem_zalloc(sizeof *c + n);
    if (!c) return NULL;
    memcpy(c->name, name, n);
    c->g = *g;
    c->node = (grad_call){.backward = own_backward,
                          .free = own_call_free,
                          .name = c->name,
                          .zeros = !(g->flags & CTSC_GRADIENT_MISSING)};
    return c;
}

static ctsc_status own_check(diag *d, const char *what, size_t n, ctsc_value *const *values) {
    if (n > OWN_MAX) return diag_fail(d, CTSC_USAGE, "too many tensors");
    if (n) TRY(api_given(d, values, what));
    for (size_t i = 0; i < n; i++) {
        TRY(api_given(d, values[i], what));
        if (values[i]->v.tag != V_TENSOR)
            return diag_fail(d, CTSC_USAGE, "%s is not a tensor", what);
    }
    return CTSC_OK;
}

/* Which of n tensors t is; -1: none. */
static int own_index(size_t n, ctsc_value *const *values, const tensor *t) {
    for (size_t i = 0; i < n; i++)
        if (values[i]->v.u.tensor == t) return (int)i;
    return -1;
}

/* An input that is an output was written: no leaf, no view of another tensor. */
static ctsc_status own_check_written(diag *d, const ctsc_gradient *g, size_t n,
                                     ctsc_value *const *inputs) {
    for (size_t i = 0; i < g->noutputs; i++) {
        const tensor *t = g->outputs[i]->v.u.tensor;
        if (own_index(n, inputs, t) < 0) continue;
        TRY(autograd_check_write(d, t, true));
        if (t->autograd && t->autograd->base)
            return diag_fail(d, CTSC_UNSUPPORTED,
                             "%s writes a view, whose base then has no history",
                             g->name ? g->name : "a function");
    }
    return CTSC_OK;
}

/* Does output i get the node? */
static bool own_is_output(const ctsc_gradient *g, size_t i) {
    dtype t = (dtype)g->outputs[i]->v.u.tensor->dtype;
    return (dtype_is_float(t) || dtype_is_complex(t)) &&
           (!g->differentiable || g->differentiable[i]);
}

static ctsc_status own_record(diag *d, const ctsc_gradient *g, size_t ninputs,
                              ctsc_value *const *inputs, grad_call *call_take) {
    size_t n = ninputs + g->noutputs + g->nsaved;
    tensor **tensors = mem_alloc((n + 1) * sizeof *tensors);
    bool *history = mem_alloc(g->noutputs + 1);
    ctsc_status s = CTSC_OK;
    if (tensors && history) {
        for (size_t i = 0; i < ninputs; i++) tensors[i] = inputs[i]->v.u.tensor;
        for (size_t i = 0; i < g->noutputs; i++) {
            tensors[ninputs + i] = g->outputs[i]->v.u.tensor;
            history[i] = own_is_output(g, i);
        }
        for (size_t i = 0; i < g->nsaved; i++)
            tensors[ninputs + g->noutputs + i] = g->saved[i]->v.u.tensor;
        s = grad_call_record(d, &(grad_record){.call = call_take,
                                               .ninputs = (int)ninputs,
                                               .noutputs = (int)g->noutputs,
                                               .nsaved = (int)g->nsaved,
                                               .inputs = tensors,
                                               .outputs = tensors + ninputs,
                                               .saved = tensors + ninputs + g->noutputs,
                                               .has_history = history});
    } else {
        call_take->free(call_take);
        s = diag_no_memory(d);
    }
    mem_free(tensors);
    mem_free(history);
    return s;
}

ctsc_status ctsc_record(const ctsc_gradient *given, size_t ninputs, ctsc_value *const *inputs,
                        ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    ctsc_gradient g = {0};
    ctsc_status s = api_given(d, given, "the gradient");
    if (s != CTSC_OK) return api_leave(e, &own, s);
    memcpy(&g, given, given->size < sizeof g ? given->size : sizeof g);
    own_call *c = own_call_new(&g);
    if (!c && g.free) g.free(g.ctx);
    if (!c) return api_leave(e, &own, diag_no_memory(d));
    s = g.fn ? CTSC_OK : diag_fail(d, CTSC_USAGE, "a gradient needs a function");
    if (s == CTSC_OK) s = own_check(d, "an input", ninputs, inputs);
    if (s == CTSC_OK) s = own_check(d, "an output", g.noutputs, g.outputs);
    if (s == CTSC_OK) s = own_check(d, "a saved tensor", g.nsaved, g.saved);
    if (s == CTSC_OK) s = own_check_written(d, &g, ninputs, inputs);
    if (s == CTSC_OK && capture_current)
        capture_fail(capture_current, "a function of the user's was recorded");
    if (s == CTSC_OK) s = own_record(d, &g, ninputs, inputs, &c->node);
    else own_call_free(&c->node);
    return api_leave(e, &own, s);
}

/* ---- hooks ----------------------------------------------------------------------------------- */

static void hook_free(grad_hook *h) {
    ctsc_hook *own = (ctsc_hook *)h;
    if (own->free) own->free(own->ctx);
    mem_free(own);
}

static ctsc_status hook_run(grad_hook *h, op_ctx *cx, tensor *g, bool create_graph, tensor **out) {
    ctsc_hook *own = (ctsc_hook *)h;
    struct ctsc_value given = {.v = {.tag = V_TENSOR, .u.tensor = g}};
    ctsc_value *made = NULL;
    ctsc_error said = {{0}};
    ctsc_status s = own->fn(own->ctx, &given, create_graph ? CTSC_CREATE_GRAPH : 0, &made, &said);
    if (s != CTSC_OK) return own_fail(cx->diag, s, "a hook failed", &said);
    *out = own_tensor(cx, "a hook", made, &s);
    return s;
}

ctsc_status ctsc_value_add_hook(ctsc_value *t, unsigned flags, ctsc_hook_fn fn, void *ctx,
                                void (*free_ctx)(void *), ctsc_hook **out, ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    ctsc_hook *h = mem_zalloc(sizeof *h);
    if (!h) {
        if (free_ctx) free_ctx(ctx);
        return api_leave(e, &own, diag_no_memory(d));
    }
    *h = (ctsc_hook){.h = {.run = hook_run, .free = hook_free, .after = flags & CTSC_HOOK_AFTER},
                     .fn = fn,
                     .ctx = ctx,
                     .free = free_ctx};
    atomic_init(&h->h.refs, 1);
    ctsc_status s = fn ? own_check(d, "the value", 1, &t)
                       : diag_fail(d, CTSC_USAGE, "a hook needs a function");
    if (s == CTSC_OK) s = autograd_add_hook(d, t->v.u.tensor, &h->h);
    if (s == CTSC_OK && out) *out = h;
    else grad_hook_unref(&h->h);
    return api_leave(e, &own, s);
}

void ctsc_hook_remove(ctsc_hook *h) {
    if (h) atomic_store(&h->h.removed, true);
}

void ctsc_hook_free(ctsc_hook *h) { grad_hook_unref(h ? &h->h : NULL); }

/* ---- hooks of saved tensors ------------------------------------------------------------------ */

typedef struct own_packer {
    grad_packer p; /* what nodes see */
    ctsc_saved_hooks h;
} own_packer;

static ctsc_status packer_pack(grad_packer *p, diag *d, tensor *t, void **out) {
    const ctsc_saved_hooks *h = &((own_packer *)p)->h;
    struct ctsc_value given = {.v = {.tag = V_TENSOR, .u.tensor = t}};
    ctsc_error said = {{0}};
    ctsc_status s = h->pack(h->ctx, &given, out, &said);
    return s == CTSC_OK ? s : own_fail(d, s, "a hook of a saved tensor failed", &said);
}

static ctsc_status packer_unpack(grad_packer *p, diag *d, void *packed, tensor **out) {
    const ctsc_saved_hooks *h = &((own_packer *)p)->h;
    ctsc_value *made = NULL;
    ctsc_error said = {{0}};
    ctsc_status s = h->unpack(h->ctx, packed, &made, &said);
    if (s != CTSC_OK) return own_fail(d, s, "a hook of a saved tensor failed", &said);
    if (made && made->v.tag == V_TENSOR) *out = tensor_ref(made->v.u.tensor);
    else s = diag_fail(d, CTSC_USAGE, "a hook of a saved tensor gave no tensor back");
    ctsc_value_free(made);
    return s;
}

static void packer_drop(grad_packer *p, void *packed) {
    const ctsc_saved_hooks *h = &((own_packer *)p)->h;
    if (h->drop) h->drop(h->ctx, packed);
}

static void packer_free(grad_packer *p) {
    const ctsc_saved_hooks *h = &((own_packer *)p)->h;
    if (h->free) h->free(h->ctx);
    mem_free(p);
}

ctsc_status ctsc_saved_hooks_push(const ctsc_saved_hooks *given, ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    ctsc_saved_hooks h = {0};
    ctsc_status s = api_given(d, given, "the hooks");
    if (s != CTSC_OK) return api_leave(e, &own, s);
    memcpy(&h, given, given->size < sizeof h ? given->size : sizeof h);
    own_packer *p = h.pack && h.unpack ? mem_zalloc(sizeof *p) : NULL;
    if (!p) {
        s = h.pack && h.unpack ? diag_no_memory(d)
                               : diag_fail(d, CTSC_USAGE, "hooks need pack and unpack");
        if (h.free) h.free(h.ctx);
        return api_leave(e, &own, s);
    }
    *p = (own_packer){.p = {.pack = packer_pack,
                            .unpack = packer_unpack,
                            .drop = packer_drop,
                            .free = packer_free,
                            .outer = grad_packer_current},
                      .h = h};
    atomic_init(&p->p.refs, 1);
    grad_packer_current = &p->p;
    return api_leave(e, &own, CTSC_OK);
}

void ctsc_saved_hooks_pop(void) {
    grad_packer *p = grad_packer_current;
    if (!p) return;
    grad_packer_current = p->outer;
    grad_packer_unref(p);
}

/* ---- the graph ------------------------------------------------------------------------------- */

struct ctsc_grad_node {
    grad_edge e; /* its fn, or its leaf */
};

static ctsc_grad_node *node_of_edge(grad_edge e) {
    ctsc_grad_node *n = e.fn || e.leaf ? mem_alloc(sizeof *n) : NULL;
    if (n) n->e = grad_edge_ref(e);
    return n;
}

ctsc_grad_node *ctsc_grad_node_of(const ctsc_value *t) {
    grad_edge e = {0};
    diag d = {0};
    if (ctsc_value_is_leaf(t) || autograd_edge(&d, t->v.u.tensor, &e) != CTSC_OK)
        e = (grad_edge){0};
    diag_clear(&d);
    return node_of_edge(e);
}

void ctsc_grad_node_free(ctsc_grad_node *n) {
    if (n) grad_edge_unref(&n->e);
    mem_free(n);
}

const void *ctsc_grad_node_id(const ctsc_grad_node *n) {
    return n->e.fn ? (const void *)n->e.fn : n->e.leaf;
}

char *ctsc_grad_node_name(const ctsc_grad_node *n) {
    char name[128] = "AccumulateGrad";
    if (n->e.fn) grad_node_name(n->e.fn, name, sizeof name);
    char *out = mem_alloc(strlen(name) + 1);
    return out ? strcpy(out, name) : NULL;
}

size_t ctsc_grad_node_edges(const ctsc_grad_node *n) {
    return n->e.fn ? (size_t)n->e.fn->ninputs : 0;
}

ctsc_grad_node *ctsc_grad_node_next(const ctsc_grad_node *n, size_t i, size_t *output) {
    if (i >= ctsc_grad_node_edges(n)) return NULL;
    grad_edge e = n->e.fn->edges[i];
    *output = e.fn ? (size_t)e.output : 0;
    return node_of_edge(e);
}

ctsc_value *ctsc_grad_node_leaf(const ctsc_grad_node *n) {
    tensor *t = n->e.leaf;
    return t ? api_wrap_take(value_tensor_take(tensor_ref(t))) : NULL;
}
