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
