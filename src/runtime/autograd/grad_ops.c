/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grad_ops.c - operators that ask for gradients, or about them (rows: ir/ops/gradients.def).
 * Tests: tests/corpus/grad
 */
#include "runtime/autograd/autograd.h"
#include "runtime/autograd/grad_capture.h"
#include "runtime/kernels/engine/kernel.h"

/* ---- flags ----------------------------------------------------------------------------------- */

ctsc_status op_requires_grad_(op_ctx *cx, const value *args, value *results) {
    tensor *t = args[0].u.tensor;
    bool wanted = arg_bool(&args[1]);
    if (wanted && !dtype_is_float((dtype)t->dtype) && !dtype_is_complex((dtype)t->dtype))
        return diag_fail(cx->diag, CTSC_FAILED,
                         "only Tensors of floating point dtype can require gradients");
    if (!wanted && !autograd_is_leaf(t))
        return diag_fail(cx->diag, CTSC_FAILED,
                         "you can only change requires_grad flags of leaf variables. If you want "
                         "to use a computed variable in a subgraph that "
                         "doesn't require differentiation use var_no_grad = var.detach().");
    if (capture_current && t->requires_grad != wanted && !capture_made(capture_current, t))
        capture_fail(capture_current, "it marks a tensor that was there before");
    t->requires_grad = wanted;
    return op_return_self(results, args);
}

ctsc_status op_requires_grad(op_ctx *cx, const value *args, value *results) {
    (void)cx;
    return op_return(results, value_bool(autograd_requires_grad(args[0].u.tensor)));
}

ctsc_status op_is_leaf(op_ctx *cx, const value *args, value *results) {
    (void)cx;
    return op_return(results, value_bool(autograd_is_leaf(args[0].u.tensor)));
}

ctsc_status op_retains_grad(op_ctx *cx, const value *args, value *results) {
    (void)cx;
    const autograd_meta *m = args[0].u.tensor->autograd;
    return op_return(results, value_bool(m && m->retains_grad));
}

ctsc_status op_output_nr(op_ctx *cx, const value *args, value *results) {
    (void)cx;
    const autograd_meta *m = args[0].u.tensor->autograd;
    return op_return(results, value_int(m ? m->made_by.output : 0));
}

ctsc_status op_version(op_ctx *cx, const value *args, value *results) {
    (void)cx;
    return op_return(results, value_int(args[0].u.tensor->storage->version));
}

ctsc_status op_retain_grad(op_ctx *cx, const value *args, value *results) {
    (void)results;
    if (capture_current && !capture_made(capture_current, args[0].u.tensor))
        capture_fail(capture_current, "it marks a tensor that was there before");
    return autograd_retain_grad(cx->diag, args[0].u.tensor);
}

ctsc_status op_grad_of(op_ctx *cx, const value *args, value *results) {
    (void)cx;
    const autograd_meta *m = args[0].u.tensor->autograd;
    if (!m || !m->grad) return CTSC_OK;
    return op_return_tensor(results, tensor_ref(m->grad));
}

/* detach(self), data(self): a new handle that needs no gradient. */
static ctsc_status grad_detach(op_ctx *cx, const value *args, value *results, bool untracked) {
    tensor *t;
    TRY(tensor_alias(cx->diag, args[0].u.tensor, &t));
    t->requires_grad = false;
    if (untracked && cx->rt && cx->rt->taped) {
        autograd_meta *m = autograd_meta_of(cx->diag, t);
        if (m) m->untracked = true;
    }
    return op_return_tensor(results, t);
}

ctsc_status op_detach(op_ctx *cx, const value *args, value *results) {
    return grad_detach(cx, args, results, false);
}

ctsc_status op_data(op_ctx *cx, const value *args, value *results) {
    return grad_detach(cx, args, results, true);
}

ctsc_status op_detach_(op_ctx *cx, const value *args, value *results) {
    tensor *t = args[0].u.tensor;
    if (t->autograd && t->autograd->base && autograd_requires_grad(t))
        return diag_fail(cx->diag, CTSC_FAILED,
                         "Can't detach views in-place. Use detach() instead. If you are using "
                         "DistributedDataParallel (DDP) for training, and "
                         "gradient_as_bucket_view is set as True, gradients are views of DDP "
                         "buckets, and hence detach_() cannot be called on "
                         "these gradients. To fix this error, please refer to the "
                         "Optimizer.zero_grad() function in torch/optim/optimizer.py as a "
                         "solution.");
    autograd_detach_in_place(t);
    return op_return_self(results, args);
}

/* set_data(self, new_data): self keeps its history and its gradient, and refers to the elements of
 * another tensor. */
ctsc_status op_set_data(op_ctx *cx, const value *args, value *results) {
    (void)results;
    tensor *self = args[0].u.tensor, *data = args[1].u.tensor, *as;
    bool differentiable = dtype_is_float((dtype)data->dtype) ||
                          dtype_is_complex((dtype)data->dtype);
    if (self->quantiser || data->quantiser)
        return diag_fail(cx->diag, CTSC_UNSUPPORTED, "set_data: quantised tensors");
    if (self->requires_grad && !differentiable)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "data set to a tensor that requires gradients must be floating point or "
                         "complex dtype");
    if (capture_current && !capture_made(capture_current, self))
        capture_fail(capture_current, "it changes a tensor that was there before");
    TRY(tensor_alias(cx->diag, data, &as));
    tensor_swap_geometry(self, as);
    tensor_unref(as);
    return CTSC_OK;
}

/* ---- the mode -------------------------------------------------------------------------------- */

ctsc_status op_set_grad_enabled(op_ctx *cx, const value *args, value *results) {
    (void)results;
    if (cx->rt && cx->rt->taped) cx->rt->grad_enabled = arg_bool(&args[0]);
    return CTSC_OK;
}

ctsc_status op_is_grad_enabled(op_ctx *cx, const value *args, value *results) {
    (void)args;
    return op_return(results, value_bool(cx->rt && cx->rt->taped && cx->rt->grad_enabled));
}

/* ---- backward passes ------------------------------------------------------------------------- */

/* The tensors of a list argument, borrowed; None is NULL. *out is freed by the caller. */
static ctsc_status grad_list(op_ctx *cx, const value *v, int *n, tensor ***out) {
    const list *l = v->u.list;
    *n = v->tag == V_LIST ? (int)l->len : 0;
    *out = mem_zalloc((size_t)*n * sizeof **out + 1);
    if (!*out) return diag_no_memory(cx->diag);
    for (int i = 0; i < *n; i++) {
        value x = list_get(l, (size_t)i);
        (*out)[i] = x.tag == V_TENSOR ? x.u.tensor : NULL;
        value_unref(x); /* the list holds it */
    }
    return CTSC_OK;
}

static ctsc_status grad_check_counts(op_ctx *cx, int roots, int grads) {
    if (!grads || roots == grads) return CTSC_OK;
    return diag_fail(cx->diag, CTSC_FAILED, "got %d tensors and %d gradients", roots, grads);
}

static ctsc_status grad_results(op_ctx *cx, int n, tensor **grads, value *results) {
    type *elem = type_optional(TYPE_TENSOR);
    list *l = list_new(type_list_kind(elem), elem, (size_t)n);
    for (int i = 0; i < n; i++) {
        value v = grads[i] ? value_tensor_take(grads[i]) : value_none();
        grads[i] = NULL;
        if (!l || !list_append_take(l, v)) value_unref(v);
    }
    if (!l) return diag_no_memory(cx->diag);
    return op_return(results, value_list_take(l));
}

/* grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False,
 * allow_unused=False) */
ctsc_status op_grad(op_ctx *cx, const value *args, value *results) {
    tensor **roots = NULL, **inputs = NULL, **given = NULL, **grads = NULL;
    int nroots, ninputs = 0, ngiven = 0;
    ctsc_status s = grad_list(cx, &args[0], &nroots, &roots);
    if (s == CTSC_OK) s = grad_list(cx, &args[1], &ninputs, &inputs);
    if (s == CTSC_OK) s = grad_list(cx, &args[2], &ngiven, &given);
    if (s == CTSC_OK) s = grad_check_counts(cx, nroots, ngiven);
    grads = s == CTSC_OK ? mem_zalloc((size_t)ninputs * sizeof *grads + 1) : NULL;
    if (s == CTSC_OK && !grads) s = diag_no_memory(cx->diag);
    if (s == CTSC_OK && !ninputs)
        s = diag_fail(cx->diag, CTSC_FAILED, "grad requires non-empty inputs.");
    bool create = arg_bool(&args[4]);
    backward_request r = {.nroots = nroots,
                          .roots = roots,
                          .root_grads = ngiven ? given : NULL,
                          .ninputs = ninputs,
                          .inputs = inputs,
                          .create_graph = create,
                          .retain_graph = arg_is_none(&args[3]) ? create : arg_bool(&args[3]),
                          .allow_unused = arg_bool(&args[5])};
    if (s == CTSC_OK) s = autograd_backward(cx, &r, grads);
    if (s == CTSC_OK) s = grad_results(cx, ninputs, grads, results);
    mem_free(roots);
    mem_free(inputs);
    mem_free(given);
    mem_free(grads);
    return s;
}

/* backward.TensorList(tensors, grad_tensors=None, retain_graph=None, create_graph=False) */
ctsc_status op_backward_list(op_ctx *cx, const value *args, value *results) {
    (void)results;
    tensor **roots = NULL, **given = NULL;
    int nroots, ngiven = 0;
    ctsc_status s = grad_list(cx, &args[0], &nroots, &roots);
    if (s == CTSC_OK) s = grad_list(cx, &args[1], &ngiven, &given);
    if (s == CTSC_OK) s = grad_check_counts(cx, nroots, ngiven);
    bool create = arg_bool(&args[3]);
    backward_request r = {.nroots = nroots,
                          .roots = roots,
                          .root_grads = ngiven ? given : NULL,
                          .create_graph = create,
                          .retain_graph = arg_is_none(&args[2]) ? create : arg_bool(&args[2])};
    if (s == CTSC_OK) s = autograd_backward(cx, &r, NULL);
    mem_free(roots);
    mem_free(given);
    return s;
}

/* backward(self, gradient=None, retain_graph=None, create_graph=False) */
ctsc_status op_backward(op_ctx *cx, const value *args, value *results) {
    (void)results;
    tensor *root = args[0].u.tensor, *given = arg_tensor_or_null(&args[1]);
    bool create = arg_bool(&args[3]);
    backward_request r = {.nroots = 1,
                          .roots = &root,
                          .root_grads = given ? &given : NULL,
                          .create_graph = create,
                          .retain_graph = arg_is_none(&args[2]) ? create : arg_bool(&args[2])};
    return autograd_backward(cx, &r, NULL);
}

/* ---- what graphs of derivatives are made of -------------------------------------------------- */

/* AutogradAdd(a, b): either may be missing. */
ctsc_status op_autograd_add(op_ctx *cx, const value *args, value *results) {
    bool a = args[0].tag == V_TENSOR, b = args[1].tag == V_TENSOR;
    if (!a || !b) return op_return(results, value_ref(args[a ? 0 : 1]));
    return op_call(cx, "aten::add.Tensor", 2, args, results);
}
