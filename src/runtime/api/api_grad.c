/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_grad.c - the part of ctsc.h about gradients: what is recorded, backward passes, parameters
 * and modes of modules.
 *
 * Tests: tests/unit/test_grad_api.c
 */
#include "base/threads/float_mode.h"
#include "runtime/api/api_scope.h"
#include "runtime/autograd/autograd.h"
#include "runtime/program/weights.h"
#include "runtime/train/train.h"

#include <string.h>

/* ---- what is recorded ------------------------------------------------------------------------ */

ctsc_status ctsc_module_set_gradients(ctsc_module *m, bool on, ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    ctsc_status s = api_given(d, m, "the module");
    if (s == CTSC_OK && m->m->gradients != on) {
        m->m->gradients = on;
        unit_drop_codes(m->m->unit); /* it has weights as constants, or may have */
    }
    return api_leave(e, &own, s);
}

void ctsc_scope_set_gradients(ctsc_scope *s, bool on) {
    if (!s) return;
    s->rt.taped |= on; /* once on, writes are counted also where nothing is recorded */
    s->rt.grad_enabled = on;
}

void ctsc_scope_seed(ctsc_scope *s, uint64_t seed) {
    if (s) generator_seed(&s->rt.rng, seed);
}

ctsc_status ctsc_scope_random_state(ctsc_scope *s, ctsc_value **out, ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    tensor *t = NULL;
    ctsc_status st = api_given(d, s, "the scope");
    if (st == CTSC_OK) st = train_random_state(d, &s->rt.rng, &t);
    ctsc_value *h = st == CTSC_OK ? api_wrap_take(value_tensor_take(t)) : NULL;
    if (h) *out = h;
    else if (st == CTSC_OK) st = diag_no_memory(d);
    return api_leave(e, &own, st);
}

ctsc_status ctsc_scope_set_random_state(ctsc_scope *s, const ctsc_value *state, ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    ctsc_status st = api_given(d, s, "the scope");
    if (st == CTSC_OK) st = api_given(d, state, "the state");
    if (st == CTSC_OK) st = train_set_random_state(d, &s->rt.rng, state->v);
    return api_leave(e, &own, st);
}

/* ---- tensors --------------------------------------------------------------------------------- */

static ctsc_status grad_tensor(diag *d, const ctsc_value *t, const char *what) {
    TRY(api_given(d, t, what));
    return t->v.tag == V_TENSOR ? CTSC_OK : diag_fail(d, CTSC_USAGE, "%s is not a tensor", what);
}

ctsc_status ctsc_value_set_requires_grad(ctsc_value *t, bool on, ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    op_ctx cx = {.diag = d};
    ctsc_status s = grad_tensor(d, t, "the value");
    value args[2] = {s == CTSC_OK ? t->v : value_none(), value_bool(on)}, same = value_none();
    if (s == CTSC_OK) s = op_call(&cx, "aten::requires_grad_", 2, args, &same);
    value_unref(same);
    return api_leave(e, &own, s);
}

bool ctsc_value_requires_grad(const ctsc_value *t) {
    return t && t->v.tag == V_TENSOR && autograd_requires_grad(t->v.u.tensor);
}

bool ctsc_value_is_leaf(const ctsc_value *t) {
    return !t || t->v.tag != V_TENSOR || autograd_is_leaf(t->v.u.tensor);
}

char *ctsc_value_grad_fn(const ctsc_value *t) {
    ctsc_grad_node *n = ctsc_grad_node_of(t);
    char *name = n ? ctsc_grad_node_name(n) : NULL;
    ctsc_grad_node_free(n);
    return name;
}

ctsc_value *ctsc_value_grad(const ctsc_value *t) {
    const autograd_meta *m = t && t->v.tag == V_TENSOR ? t->v.u.tensor->autograd : NULL;
    return m && m->grad ? api_wrap_take(value_tensor_take(tensor_ref(m->grad))) : NULL;
}

ctsc_status ctsc_value_set_grad(ctsc_value *t, const ctsc_value *grad, ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    ctsc_status s = grad_tensor(d, t, "the value");
    if (s == CTSC_OK && grad) s = grad_tensor(d, grad, "the gradient");
    if (s == CTSC_OK) s = autograd_assign_grad(d, t->v.u.tensor, grad ? grad->v.u.tensor : NULL);
    return api_leave(e, &own, s);
}

void ctsc_zero_grad(ctsc_value *parameters) {
    const list *l = parameters && parameters->v.tag == V_LIST ? parameters->v.u.list : NULL;
    for (size_t i = 0; l && l->kind == LIST_TENSOR && i < l->len; i++)
        train_drop_grad(l->u.tensors[i]);
}

/* ---- backward passes ------------------------------------------------------------------------- */

/* A pass as a program of its own would make it. */
static ctsc_status grad_pass(diag *d, const backward_request *r, const ctsc_run_options *given,
                             tensor **grads) {
    ctsc_run_options own;
    const ctsc_run_options *o = api_run_options(given, &own);
    runtime *rt = mem_alloc(sizeof *rt);
    if (!rt) return diag_no_memory(d);
    runtime_init(rt);
    rt->taped = rt->grad_enabled = true;
    api_run_limits(rt, o);
    op_ctx cx = {.diag = d, .rt = rt, .op = op_of(SYM_GRAD)};
    float_mode outer_mode = float_mode_begin();
    mem_budget budget = {.left = o->max_bytes < INT64_MAX ? (int64_t)o->max_bytes : INT64_MAX},
               *outer = NULL;
    if (o->max_bytes) outer = mem_budget_use(&budget);
    ctsc_status s = autograd_backward(&cx, r, grads);
    if (o->max_bytes) mem_budget_use(outer);
    float_mode_end(outer_mode);
    mem_free(rt);
    return s;
}

static backward_request grad_request(unsigned flags) {
    bool create = flags & CTSC_CREATE_GRAPH;
    return (backward_request){.create_graph = create,
                              .retain_graph = create || (flags & CTSC_RETAIN_GRAPH),
                              .allow_unused = flags & CTSC_ALLOW_UNUSED,
                              .check_nan = flags & CTSC_CHECK_NAN};
}

ctsc_status ctsc_backward(const ctsc_value *root, const ctsc_value *grad, unsigned flags,
                          const ctsc_run_options *o, ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    ctsc_status s = grad_tensor(d, root, "the value to differentiate");
    if (s == CTSC_OK && grad) s = grad_tensor(d, grad, "the gradient");
    if (s == CTSC_OK) {
        tensor *r = root->v.u.tensor, *g = grad ? grad->v.u.tensor : NULL;
        backward_request q = grad_request(flags);
        q.nroots = 1;
        q.roots = &r;
        q.root_grads = g ? &g : NULL;
        s = grad_pass(d, &q, o, NULL);
    }
    return api_leave(e, &own, s);
}

/* The tensors of n handles; *out is the caller's to free. Entries may be NULL if `missing`. */
static ctsc_status grad_tensors(diag *d, size_t n, ctsc_value *const *values, bool missing,
                                const char *what, tensor ***out) {
    if (n && !values) return api_given(d, values, what);
    tensor **ts = mem_zalloc((n + 1) * sizeof *ts);
    ctsc_status s = ts ? CTSC_OK : diag_no_memory(d);
    for (size_t i = 0; i < n && s == CTSC_OK; i++) {
        if (missing && !values[i]) continue;
        s = grad_tensor(d, values[i], what);
        if (s == CTSC_OK) ts[i] = values[i]->v.u.tensor;
    }
    if (s == CTSC_OK) *out = ts;
    else mem_free(ts);
    return s;
}

/* Handles of the gradients, whose references are taken: all or none. */
static ctsc_status grad_handles(diag *d, size_t n, tensor **grads, ctsc_value **out) {
    ctsc_value **made = mem_zalloc((n + 1) * sizeof *made);
    ctsc_status s = made ? CTSC_OK : diag_no_memory(d);
    for (size_t i = 0; i < n; i++) {
        tensor *g = grads[i];
        if (!g) continue;
        if (s != CTSC_OK) tensor_unref(g);
        else if (!(made[i] = api_wrap_take(value_tensor_take(g)))) s = diag_no_memory(d);
    }
    for (size_t i = 0; i < n && made; i++) {
        if (s == CTSC_OK) out[i] = made[i];
        else ctsc_value_free(made[i]);
    }
    mem_free(made);
    return s;
}

ctsc_status ctsc_grad(size_t noutputs, ctsc_value *const *outputs, ctsc_value *const *grad_outputs,
                      size_t ninputs, ctsc_value *const *inputs, unsigned flags,
                      const ctsc_run_options *o, ctsc_value **grads, ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    tensor **roots = NULL, **given = NULL, **ins = NULL, **found = NULL;
    backward_request q = grad_request(flags);
    ctsc_status s = ninputs > INT32_MAX || noutputs > INT32_MAX
                        ? diag_fail(d, CTSC_USAGE, "too many tensors")
                        : CTSC_OK;
    if (s == CTSC_OK) s = grad_tensors(d, noutputs, outputs, false, "an output", &roots);
    if (s == CTSC_OK && grad_outputs)
        s = grad_tensors(d, noutputs, grad_outputs, true, "a gradient", &given);
    if (s == CTSC_OK) s = grad_tensors(d, ninputs, inputs, false, "an input", &ins);
    if (s == CTSC_OK && !ninputs) s = diag_fail(d, CTSC_FAILED, "grad requires non-empty inputs.");
    if (s == CTSC_OK && !(found = mem_zalloc(ninputs * sizeof *found))) s = diag_no_memory(d);
    q.nroots = (int)noutputs, q.roots = roots, q.root_grads = given;
    q.ninputs = (int)ninputs, q.inputs = ins;
    if (s == CTSC_OK) s = grad_pass(d, &q, o, found);
    if (s == CTSC_OK) s = grad_handles(d, ninputs, found, grads);
    mem_free(roots);
    mem_free(given);
    mem_free(ins);
    mem_free(found);
    return api_leave(e, &own, s);
}

/* ---- modules --------------------------------------------------------------------------------- */

enum { GRAD_MAX_DEPTH = 200 };

static ctsc_status grad_collect(const ctsc_module *m, bool named, bool buffers, ctsc_value **out,
                                ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    value v;
    ctsc_status s = api_given(d, m, "the module");
    if (s == CTSC_OK) s = module_tensors(m->m, d, named, buffers, &v);
    ctsc_value *h = s == CTSC_OK ? api_wrap_take(v) : NULL;
    if (h) *out = h;
    else if (s == CTSC_OK) s = diag_no_memory(d);
    return api_leave(e, &own, s);
}

ctsc_status ctsc_module_parameters(const ctsc_module *m, ctsc_value **out, ctsc_error *e) {
    return grad_collect(m, false, false, out, e);
}

ctsc_status ctsc_module_named_parameters(const ctsc_module *m, ctsc_value **out, ctsc_error *e) {
    return grad_collect(m, true, false, out, e);
}

ctsc_status ctsc_module_state(const ctsc_module *m, ctsc_value **out, ctsc_error *e) {
    return grad_collect(m, true, true, out, e);
}

/* Every tensor of `own` has its counterpart in `given`, and the reverse. */
static ctsc_status state_check(diag *d, const dict *own, const dict *given) {
    value v;
    for (size_t i = 0; i < own->used; i++) {
        const dict_entry *x = &own->entries[i];
        if (x->key.tag != V_STR) continue;
        if (!dict_get(given, x->key, &v) || v.tag != V_TENSOR)
            return diag_fail(d, CTSC_FAILED, "the state has no tensor \"%s\"", x->key.u.str->bytes);
        if (tensor_same_shape(x->val.u.tensor, v.u.tensor)) continue;
        strbuf a = STRBUF_INIT, b = STRBUF_INIT;
        tensor_print_sizes(v.u.tensor->ndim, v.u.tensor->sizes, &a);
        tensor_print_sizes(x->val.u.tensor->ndim, x->val.u.tensor->sizes, &b);
        ctsc_status s = diag_fail(d, CTSC_FAILED,
                                  "size mismatch for %s: a tensor of shape %s for one of shape %s",
                                  x->key.u.str->bytes, sb_str(&a), sb_str(&b));
        sb_free(&a);
        sb_free(&b);
        return s;
    }
    for (size_t i = 0; i < given->used; i++) {
        const dict_entry *x = &given->entries[i];
        if (x->key.tag == V_STR && !dict_get(own, x->key, &v) &&
            !weights_is_scale(own, given, x->key.u.str))
            return diag_fail(d, CTSC_FAILED, "the module has no tensor \"%s\"",
                             x->key.u.str->bytes);
    }
    return CTSC_OK;
}

/* *weight by its scale, in its place; nothing is left of it after a failure. */
static ctsc_status state_scale(diag *d, tensor *scale, value *weight) {
    op_ctx cx = {.diag = d};
    value args[2] = {*weight, value_tensor_take(scale)}, scaled = value_none();
    ctsc_status s = op_call(&cx, "ctsc::scaled_weight", 2, args, &scaled);
    value_unref(*weight);
    *weight = scaled;
    return s;
}

static ctsc_status state_copy(diag *d, const dict *own, const dict *given) {
    value v;
    for (size_t i = 0; i < own->used; i++) {
        const dict_entry *x = &own->entries[i];
        if (x->key.tag != V_STR || !dict_get(given, x->key, &v) || v.u.tensor == x->val.u.tensor)
            continue;
        tensor *t = x->val.u.tensor, *scale = weights_scale(own, given, x->key.u.str);
        value from = value_ref(v);
        if (scale) TRY(state_scale(d, scale, &from));
        ctsc_status s = tensor_make_writable(d, t);
        if (s == CTSC_OK) s = tensor_copy(d, t, from.u.tensor);
        value_unref(from);
        if (s != CTSC_OK) return s;
        t->storage->version++;
    }
    return CTSC_OK;
}

ctsc_status ctsc_module_load_state(ctsc_module *m, const ctsc_value *state, ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    value mine = value_none();
    ctsc_status s = api_given(d, m, "the module");
    if (s == CTSC_OK) s = api_given(d, state, "the state");
    if (s == CTSC_OK && state->v.tag != V_DICT)
        s = diag_fail(d, CTSC_USAGE, "the state is not a dict of tensors");
    if (s == CTSC_OK) s = module_tensors(m->m, d, true, true, &mine);
    if (s == CTSC_OK) s = state_check(d, mine.u.dict, state->v.u.dict);
    if (s == CTSC_OK) s = state_copy(d, mine.u.dict, state->v.u.dict);
    if (s == CTSC_OK) unit_drop_codes(m->m->unit);
    value_unref(mine);
    return api_leave(e, &own, s);
}

/* seen: an object that is met again, or cannot be noted, is left out; the flags are set before. */
static void grad_set_training(const object *o, bool on, int depth, ptrmap *seen) {
    int at = class_find_attribute(o->cls, "training");
    if (at >= 0 && (size_t)at < o->nslots && o->slots[at].tag == V_BOOL)
        ((object *)o)->slots[at].u.b = on;
    if (depth >= GRAD_MAX_DEPTH || ptrmap_get(seen, o) || !ptrmap_put(seen, o, (void *)o)) return;
    for (size_t i = 0; i < o->nslots; i++) {
        const type *t = o->cls->cls->attributes.data[i].type;
        if (o->slots[i].tag == V_OBJECT && t->kind == T_CLASS && t->cls->is_module)
            grad_set_training(o->slots[i].u.object, on, depth + 1, seen);
    }
}

static void grad_set_mode(ctsc_module *m, bool training) {
    if (!m) return;
    ptrmap seen = {0};
    grad_set_training(m->m->root.u.object, training, 0, &seen);
    ptrmap_free(&seen);
    if (!m->m->gradients) unit_drop_codes(m->m->unit); /* the mode is a constant there */
}

void ctsc_module_train(ctsc_module *m) { grad_set_mode(m, true); }

void ctsc_module_eval(ctsc_module *m) { grad_set_mode(m, false); }
