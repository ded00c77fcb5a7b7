/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_compile_training.c - gradients and optimisers for module-level code: the evaluator's
 * py_training (frontend/pyeval/torch/py_gradients.c), done by runtime/autograd and runtime/train.
 *
 * Tests: tests/lang/training*.py
 */
#include "frontend/pyeval/core/py.h"
#include "runtime/api/api.h"
#include "runtime/autograd/autograd.h"
#include "runtime/train/train.h"

static void training_begin(op_ctx *cx) { cx->rt->taped = cx->rt->grad_enabled = true; }

/* A call that the program differentiates itself. */
typedef struct training_call {
    grad_call node; /* what the node sees */
    void *ctx;
    ctsc_status (*gradients)(void *ctx, diag *d, tensor *const *grads, bool create_graph,
                             tensor **out);
    void (*release)(void *ctx);
} training_call;

static ctsc_status training_backward(op_ctx *cx, grad_node *n, tensor *const *grads,
                                     bool create_graph, tensor **out) {
    const training_call *c = (const training_call *)n->call;
    runtime *rt = cx->rt;
    bool taped = rt->taped, enabled = rt->grad_enabled;
    rt->taped = true; /* it may record anew what it differentiates */
    ctsc_status s = c->gradients(c->ctx, cx->diag, grads, create_graph, out);
    rt->taped = taped;
    rt->grad_enabled = enabled;
    return s;
}

static void training_release(grad_call *call) {
    training_call *c = (training_call *)call;
    c->release(c->ctx);
    mem_free(c);
}

static ctsc_status training_record(diag *d, int ninputs, tensor *const *inputs, int noutputs,
                                   tensor *const *outputs, void *ctx,
                                   ctsc_status (*gradients)(void *ctx, diag *d,
                                                            tensor *const *grads, bool create_graph,
                                                            tensor **out),
                                   void (*release)(void *ctx)) {
    training_call *c = mem_alloc(sizeof *c);
    if (!c) {
        release(ctx);
        return diag_no_memory(d);
    }
    *c = (training_call){
        {training_backward, training_release, "Backward", false}, ctx, gradients, release};
    return grad_call_record(d, &(grad_record){.call = &c->node,
                                              .ninputs = ninputs,
                                              .noutputs = noutputs,
                                              .inputs = inputs,
                                              .outputs = outputs});
}

static ctsc_status training_random_state(op_ctx *cx, diag *d, tensor **out) {
    return train_random_state(d, &cx->rt->rng, out);
}

static ctsc_status training_set_random_state(op_ctx *cx, diag *d, value state) {
    return train_set_random_state(d, &cx->rt->rng, state);
}

static ctsc_status training_add_group(diag *d, optimizer *o, const list *params, size_t n,
                                      const char *const *names, const double *numbers) {
    train_setting *settings = mem_alloc((n + 1) * sizeof *settings);
    if (!settings) return diag_no_memory(d);
    for (size_t i = 0; i < n; i++) settings[i] = (train_setting){names[i], numbers[i]};
    ctsc_status s = optimizer_add_group(d, o, params, n, settings);
    mem_free(settings);
    return s;
}

static void training_free(void *o) { optimizer_free(o); }

const py_training api_training = {
    .begin = training_begin,
    .call = tape_call,
    .set_grad = autograd_assign_grad,
    .record = training_record,
    .random_state = training_random_state,
    .set_random_state = training_set_random_state,
    .optimizer_new = optimizer_new,
    .optimizer_free = training_free,
    .optimizer_add_group = training_add_group,
    .optimizer_set = optimizer_set,
    .optimizer_step = optimizer_step,
    .optimizer_zero_grad = optimizer_zero_grad,
    .optimizer_state = optimizer_state,
    .optimizer_load_state = optimizer_load_state,
};
