/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grad_hook.c - functions that see gradients on their way, and may give others in their place.
 *
 * They belong to the node that made a tensor, as in PyTorch: once an in-place operator has
 * written the tensor, its earlier hooks see the gradient of its former value. Removed ones
 * are only marked, and leave the list when the next one is added or the list is freed.
 * Tests: tests/unit/test_grad_api.c, tests/python/test_py_hooks.py
 */
#include "runtime/autograd/autograd.h"
#include "runtime/autograd/grad_capture.h"
#include "tensor/device.h"

grad_hook *grad_hook_ref(grad_hook *h) {
    atomic_fetch_add_explicit(&h->refs, 1, memory_order_relaxed);
    return h;
}

void grad_hook_unref(grad_hook *h) {
    if (h && atomic_fetch_sub_explicit(&h->refs, 1, memory_order_acq_rel) == 1) h->free(h);
}

void grad_hooks_free(grad_hook *hooks) {
    while (hooks) {
        grad_hook *next = hooks->next;
        hooks->next = NULL;
        grad_hook_unref(hooks);
        hooks = next;
    }
}

/* Appended; entries of removed hooks are dropped. */
static void hooks_append(grad_hook **at, grad_hook *h) {
    while (*at) {
        grad_hook *old = *at;
        if (atomic_load(&old->removed)) {
            *at = old->next;
            old->next = NULL;
            grad_hook_unref(old);
        } else {
            at = &old->next;
        }
    }
    *at = grad_hook_ref(h);
}

ctsc_status autograd_add_hook(diag *d, tensor *t, grad_hook *h) {
    grad_edge e;
    if (!autograd_requires_grad(t))
        return diag_fail(d, CTSC_FAILED,
                         "cannot register a hook on a tensor that doesn't require gradient");
    TRY(autograd_edge(d, t, &e));
    if (e.fn && h->after)
        return diag_fail(d, CTSC_FAILED,
                         "post accumulate grad hooks cannot be registered on non-leaf tensors");
    autograd_meta *m = autograd_meta_of(d, t);
    if (!m) return d->status;
    h->output = e.fn ? e.output : 0;
    hooks_append(e.fn ? &e.fn->hooks : &m->hooks, h);
    return CTSC_OK;
}

static ctsc_status hook_replace(op_ctx *cx, tensor **g, tensor *by_take) {
    const tensor *old = *g;
    const char *changed = !tensor_same_shape(old, by_take)                   ? "size"
                          : old->dtype != by_take->dtype                     ? "type"
                          : old->storage->device != by_take->storage->device ? "device"
                                                                             : NULL;
    if (changed) {
        tensor_unref(by_take);
        return diag_fail(cx->diag, CTSC_FAILED, "a hook has changed the %s of a gradient", changed);
    }
    tensor_unref(*g);
    *g = by_take;
    return CTSC_OK;
}

ctsc_status grad_hooks_run(op_ctx *cx, grad_hook *hooks, int output, bool after, bool create_graph,
                           tensor **g) {
    ctsc_status s = CTSC_OK;
    grad_hook *next;
    for (grad_hook *h = hooks; h && s == CTSC_OK; h = next) {
        tensor *out = NULL;
        next = h->next;
        if (h->output != output || h->after != after || atomic_load(&h->removed)) continue;
        if (capture_current) capture_fail(capture_current, "a gradient has a hook");
        grad_hook_ref(h);
        s = h->run(h, cx, *g, create_graph, &out);
        if (s == CTSC_OK && out && !after) s = hook_replace(cx, g, out);
        else tensor_unref(out);
        next = h->next;
        grad_hook_unref(h);
    }
    return s;
}
