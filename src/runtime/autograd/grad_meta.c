/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grad_meta.c - a tensor's autograd data: the node that made it, its gradient, its base.
 *
 * Views. A view knows its base, the tensor at the end of the chain of views. Writing a view
 * changes the base:
 *
 *     b = torch.zeros(3)        b: copy_slices(fn = copy_, of b's elements 0..1) --> x's node
 *     b[0:1].copy_(x)           every view of b made before: as_strided of b, made when it is next used (autograd_edge)
 *
 * How the view knows: storage.version has changed since its own node was right for it.
 * Messages are PyTorch's.
 * Tests: tests/corpus/grad
 */
#include "runtime/autograd/autograd.h"
#include "runtime/autograd/grad_capture.h"
#include "tensor/device.h"

#include <string.h>

autograd_meta *autograd_meta_of(diag *d, tensor *t) {
    if (!t->autograd) t->autograd = mem_zalloc(sizeof *t->autograd);
    if (!t->autograd) diag_no_memory(d);
    return t->autograd;
}

/* Its gradient is kept no more. */
static void autograd_forget_retained(autograd_meta *m) {
    grad_node *n = m->retains_grad ? m->made_by.fn : NULL;
    for (autograd_meta **at = n ? &n->retained : NULL; at && *at; at = &(*at)->next_retained)
        if (*at == m) {
            *at = m->next_retained;
            break;
        }
    m->retains_grad = false;
}

ctsc_status autograd_assign_grad(diag *d, tensor *t, tensor *g) {
    if (g && !tensor_same_shape(t, g))
        return diag_fail(d, CTSC_FAILED, "assigned grad has data of a different size");
    if (g && (g->dtype != t->dtype || g->storage->device != t->storage->device))
        return diag_fail(d, CTSC_FAILED, "assigned grad has data of a different type");
    autograd_meta *m = g || t->autograd ? autograd_meta_of(d, t) : NULL;
    if (!m) return g ? CTSC_LIMIT : CTSC_OK;
    tensor *before = m->grad;
    m->grad = g ? tensor_ref(g) : NULL;
    tensor_unref(before);
    return CTSC_OK;
}

ctsc_status autograd_retain_grad(diag *d, tensor *t) {
    grad_edge e;
    if (!autograd_requires_grad(t))
        return diag_fail(d, CTSC_FAILED,
                         "can't retain_grad on Tensor that has requires_grad=False");
    TRY(autograd_edge(d, t, &e));
    autograd_meta *m = t->autograd;
    if (!e.fn || m->retains_grad) return CTSC_OK;
    m->retains_grad = true;
    m->next_retained = e.fn->retained;
    e.fn->retained = m;
    return CTSC_OK;
}

static void autograd_meta_free(autograd_meta *m) {
    autograd_forget_retained(m);
    grad_hooks_free(m->hooks);
    grad_edge_unref(&m->made_by);
    tensor_unref(m->grad);
    tensor_unref(m->base);
    mem_free(m);
}

__attribute__((constructor)) static void autograd_install(void) {
    tensor_autograd_free = autograd_meta_free;
}

/* The view was right for an older state of the storage, and the base has a history now. */
static bool autograd_view_is_stale(const tensor *t) {
    const autograd_meta *m = t->autograd;
    return m && m->base && m->view_version != t->storage->version && m->base->autograd &&
           m->base->autograd->made_by.fn;
}

bool autograd_requires_grad(const tensor *t) {
    return t->requires_grad || autograd_view_is_stale(t);
}

bool autograd_is_leaf(const tensor *t) {
    return !autograd_view_is_stale(t) && (!t->autograd || !t->autograd->made_by.fn);
}

/* ---- views ----------------------------------------------------------------------------------- */

/* t's strides and its offset, in halves of its numbers if `halved`: a dim more. */
static int64_t *autograd_put_strides(int64_t *out, const tensor *t, bool halved) {
    for (int i = 0; i < t->ndim; i++) *out++ = t->strides[i] * (halved ? 2 : 1);
    if (halved) *out++ = 1;
    return out;
}

/* The geometry of v in its base: ndim, offset, sizes,
 * strides; the base's strides. False if out of memory. */
static bool autograd_set_geometry(grad_node *n, const tensor *v, const tensor *base) {
    bool complex_view = dtype_is_complex((dtype)v->dtype),
         complex_base = dtype_is_complex((dtype)base->dtype);
    n->parts = complex_view == complex_base ? PARTS_NONE
               : complex_base               ? PARTS_OF_BASE
                                            : PARTS_OF_VIEW;
    n->conjugated = v->conjugated != base->conjugated;
    n->negated = v->negated != base->negated;
    bool halved_view = n->parts == PARTS_OF_VIEW, halved_base = n->parts == PARTS_OF_BASE;
    int64_t *g = n->geometry = mem_alloc((size_t)(2 + 2 * (v->ndim + 1) + base->ndim + 1) *
                                         sizeof *g);
    if (!g) return false;
    *g++ = v->ndim + halved_view;
    *g++ = v->offset * (halved_view ? 2 : 1) - base->offset * (halved_base ? 2 : 1);
    for (int i = 0; i < v->ndim; i++) *g++ = v->sizes[i];
    if (halved_view) *g++ = 2;
    g = autograd_put_strides(g, v, halved_view);
    autograd_put_strides(g, base, halved_base);
    return true;
}

/* The base was written: v's gradient goes through as_strided of it. */
static ctsc_status autograd_refresh_view(diag *d, tensor *v) {
    autograd_meta *m = v->autograd;
    grad_node *n = grad_node_new(GRAD_VIEW, NULL, NULL, 1, 1, 0);
    bool ok = n && grad_shape_set(&n->inputs[0], m->base) && grad_shape_set(&n->outputs[0], v) &&
              autograd_set_geometry(n, v, m->base);
    if (!ok) {
        grad_node_unref(n);
        return diag_no_memory(d);
    }
    n->edges[0] = grad_edge_ref(m->base->autograd->made_by);
    m->view_version = v->storage->version;
    return autograd_set_history(d, v, n, 0);
}

ctsc_status autograd_set_view(diag *d, tensor *v, tensor *of, bool of_many, bool grad_enabled) {
    autograd_meta *m = autograd_meta_of(d, v);
    if (!m) return diag_no_memory(d);
    const autograd_meta *from = of->autograd;
    tensor *base = from && from->base ? from->base : of;
    if (m->base) return CTSC_OK;
    m->base = tensor_ref(base);
    m->view_version = v->storage->version;
    m->of_many = of_many || (from && from->of_many);
    m->without_grad = !grad_enabled || (from && from->without_grad);
    m->untracked = from && from->untracked;
    return CTSC_OK;
}

/* ---- history --------------------------------------------------------------------------------- */

ctsc_status autograd_edge(diag *d, tensor *t, grad_edge *out) {
    *out = (grad_edge){0};
    if (autograd_view_is_stale(t)) TRY(autograd_refresh_view(d, t));
    const autograd_meta *m = t->autograd;
    if (m && m->made_by.fn) *out = m->made_by;
    else if (t->requires_grad) out->leaf = t;
    return CTSC_OK;
}

static ctsc_status autograd_put_history(diag *d, tensor *t, grad_node *fn, int output) {
    autograd_meta *m = autograd_meta_of(d, t);
    if (!m) {
        grad_node_unref(fn);
        return diag_no_memory(d);
    }
    autograd_forget_retained(m);
    grad_edge before = m->made_by;
    m->made_by = (grad_edge){.fn = fn, .output = output};
    t->requires_grad = true;
    grad_edge_unref(&before);
    return CTSC_OK;
}

/* A write to a view: the base is what copying `fn`'s result into its old elements makes. */
static ctsc_status autograd_rebase(diag *d, tensor *v, grad_node *fn) {
    tensor *base = v->autograd->base;
    grad_node *n = grad_node_new(GRAD_COPY_SLICES, fn->o, NULL, fn->ninputs, 1, 0);
    grad_edge whole;
    bool ok = n && grad_shape_set(&n->inputs[0], base) && grad_shape_set(&n->outputs[0], base) &&
              autograd_set_geometry(n, v, base);
    if (!ok || autograd_edge(d, base, &whole) != CTSC_OK) {
        grad_node_unref(n);
        grad_node_unref(fn);
        return diag_no_memory(d);
    }
    n->inner = fn;
    n->edges[0] = grad_edge_ref(whole);
    for (int i = 1; i < fn->ninputs; i++) n->edges[i] = grad_edge_ref(fn->edges[i]);
    TRY(autograd_put_history(d, base, n, 0));
    return autograd_refresh_view(d, v);
}

ctsc_status autograd_set_history(diag *d, tensor *t, grad_node *fn, int output) {
    if (fn->kind != GRAD_VIEW && t->autograd && t->autograd->base && fn->rule && fn->rule->in_place)
        return autograd_rebase(d, t, fn);
    return autograd_put_history(d, t, fn, output);
}

void autograd_detach_in_place(tensor *t) {
    t->requires_grad = false;
    if (t->autograd) grad_edge_unref(&t->autograd->made_by);
}

/* ---- writes ---------------------------------------------------------------------------------- */

static ctsc_status autograd_refuse_many(diag *d, const tensor *t) {
    char name[128] = "UnbindBackward0";
    const grad_edge *e = &t->autograd->made_by;
    if (e->fn) grad_node_name(e->fn, name, sizeof name);
    return diag_fail(d, CTSC_FAILED,
                     "Output %d of %s is a view and is being modified inplace. This view is the "
                     "output of a function that returns multiple "
                     "views. Such functions do not allow the output views to be modified inplace. "
                     "You should replace the inplace operation "
                     "by an out-of-place one.",
                     e->output, name);
}

ctsc_status autograd_check_write(diag *d, const tensor *t, bool grad_enabled) {
    if (!grad_enabled) return CTSC_OK;
    const autograd_meta *m = t->autograd;
    if (t->requires_grad && !(m && m->made_by.fn))
        return diag_fail(
            d, CTSC_FAILED,
            "a leaf Variable that requires grad is being used in an in-place operation.");
    if (!m || !m->base) return CTSC_OK;
    bool tracked = autograd_requires_grad(t) || autograd_requires_grad(m->base);
    if (m->base->requires_grad && autograd_is_leaf(m->base))
        return diag_fail(
            d, CTSC_FAILED,
            "a view of a leaf Variable that requires grad is being used in an in-place operation.");
    if (m->of_many && tracked) return autograd_refuse_many(d, t);
    if (m->without_grad && tracked)
        return diag_fail(d, CTSC_FAILED,
                         "A view was created in no_grad mode and is being modified inplace with "
                         "grad mode enabled. Given that this use case "
                         "is ambiguous and error-prone, it is forbidden. You can clarify your code "
                         "by moving both the view and the inplace "
                         "either both inside the no_grad block (if you don't want the inplace to "
                         "be tracked) or both outside (if you want "
                         "the inplace to be tracked).");
    return CTSC_OK;
}

/* ---- gradients of leaves --------------------------------------------------------------------- */

static bool autograd_same_strides(const tensor *a, const tensor *b) {
    for (int i = 0; i < a->ndim; i++)
        if (a->sizes[i] > 1 && a->strides[i] != b->strides[i]) return false;
    return true;
}

/* A leaf's gradient has the leaf's layout, if that is dense; else it is row-major. */
static bool autograd_lies_right(const tensor *leaf, const tensor *g) {
    bool dense = !tensor_may_overlap(leaf);
    int64_t span = 1;
    for (int i = 0; i < leaf->ndim; i++) span += (leaf->sizes[i] - 1) * leaf->strides[i];
    if (leaf->numel && (!dense || span != leaf->numel)) return tensor_is_contiguous(g);
    return !leaf->numel || autograd_same_strides(leaf, g);
}

static ctsc_status autograd_first(op_ctx *cx, autograd_meta *m, const tensor *t, tensor *g,
                                  bool create_graph) {
    bool alone = atomic_load_explicit(&g->refs, memory_order_acquire) == 1;
    if (create_graph || !t || (alone && autograd_lies_right(t, g))) {
        m->grad = tensor_ref(g);
        return CTSC_OK;
    }
    tensor *own;
    TRY(tensor_new_like(cx->diag, g, (dtype)g->dtype, &own));
    /* a transposed leaf: the same strides fit, since both have all elements of as
     * large a storage */
    if (!autograd_lies_right(t, own) && t->ndim)
        memcpy(own->strides, t->strides, (size_t)t->ndim * sizeof *t->strides);
    value args[3] = {{.tag = V_TENSOR, .u.tensor = own},
                     {.tag = V_TENSOR, .u.tensor = g},
                     value_bool(false)},
          same = value_none();
    ctsc_status s = op_call(cx, "aten::copy_", 3, args, &same);
    value_unref(same);
    if (s == CTSC_OK) m->grad = own;
    else tensor_unref(own);
    return s;
}

ctsc_status autograd_accumulate(op_ctx *cx, autograd_meta *m, const tensor *t, tensor *g,
                                bool create_graph) {
    if (capture_current) {
        if (t && !capture_made(capture_current, t))
            capture_fail(capture_current, "a gradient is kept with a tensor that was there before");
        create_graph = true; /* neither copies nor sums in place */
    }
    if (!m->grad) return autograd_first(cx, m, t, g, create_graph);
    value args[3] = {{.tag = V_TENSOR, .u.tensor = m->grad},
                     {.tag = V_TENSOR, .u.tensor = g},
                     value_int(1)},
          sum = value_none();
    if (!create_graph) {
        m->grad->storage->version++;
        TRY(op_call(cx, "aten::add_.Tensor", 3, args, &sum));
        value_unref(sum);
        return CTSC_OK;
    }
    TRY(tape_call_key(cx, "aten::add.Tensor", 3, args, &sum));
    tensor *before = m->grad;
    m->grad = sum.u.tensor;
    tensor_unref(before);
    return CTSC_OK;
}
