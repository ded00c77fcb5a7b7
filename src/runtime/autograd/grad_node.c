/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grad_node.c - nodes of the graph of gradients: memory, and what they save.
 *
 * A node is one block: the node, its edges, shapes, argument numbers and saved values. Chains of
 * nodes are as long as a program runs, so freeing them is a loop: a node whose last reference goes
 * waits in a list while another one is being freed.
 * Tests: tests/corpus/grad
 */
#include "runtime/autograd/autograd.h"
#include "runtime/autograd/grad_capture.h"
#include "tensor/device.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* Of the process: a graph may go on in another thread than the one that began it. */
static _Atomic uint64_t grad_sequence;

static uint64_t grad_next(void) {
    return atomic_fetch_add_explicit(&grad_sequence, 1, memory_order_relaxed) + 1;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static size_t grad_room(size_t *total, size_t n, size_t size) {
    size_t at = (*total + 15) & ~(size_t)15;
    *total = at + n * size;
    return at;
}

grad_node *grad_node_new(grad_kind kind, const op *o, const grad_rule *rule, int ninputs,
                         int noutputs, int nsaved) {
    size_t total = sizeof(grad_node);
    size_t edges = grad_room(&total, (size_t)ninputs, sizeof(grad_edge)),
           shapes = grad_room(&total, (size_t)(ninputs + noutputs), sizeof(grad_shape));
    size_t args = grad_room(&total, (size_t)ninputs, sizeof(int)),
           saved = grad_room(&total, (size_t)nsaved, sizeof(grad_saved));
    char *p = mem_zalloc(total);
    if (!p) return NULL;
    grad_node *n = (grad_node *)(void *)p;
    *n = (grad_node){.kind = kind,
                     .sequence = grad_next(),
                     .o = o,
                     .rule = rule,
                     .ninputs = ninputs,
                     .noutputs = noutputs,
                     .nsaved = nsaved};
    atomic_init(&n->refs, 1);
    n->edges = (grad_edge *)(void *)(p + edges);
    n->inputs = (grad_shape *)(void *)(p + shapes);
    n->outputs = n->inputs + ninputs;
    n->args = (int *)(void *)(p + args);
    n->saved = (grad_saved *)(void *)(p + saved);
    return n;
}

void grad_node_renew(grad_node *n) { n->sequence = grad_next(); }

bool grad_shape_set(grad_shape *s, const tensor *t) {
    int64_t *sizes = t->ndim ? mem_alloc(t->ndim * sizeof *sizes) : NULL;
    if (t->ndim && !sizes) return false;
    if (t->ndim) memcpy(sizes, t->sizes, t->ndim * sizeof *sizes);
    mem_free((void *)s->sizes);
    *s = (grad_shape){
        .dtype = t->dtype, .ndim = t->ndim, .device = t->storage->device, .sizes = sizes};
    return true;
}

bool grad_node_set_outputs(grad_node *n, int noutputs) {
    if (noutputs > n->noutputs) {
        n->more_outputs = mem_zalloc((size_t)noutputs * sizeof *n->more_outputs);
        if (!n->more_outputs) return false;
        n->outputs = n->more_outputs;
    }
    n->noutputs = noutputs;
    return true;
}

grad_node *grad_node_ref(grad_node *n) {
    if (n) atomic_fetch_add_explicit(&n->refs, 1, memory_order_relaxed);
    return n;
}

grad_edge grad_edge_ref(grad_edge e) {
    grad_node_ref(e.fn);
    if (e.leaf) tensor_ref(e.leaf);
    return e;
}

void grad_edge_unref(grad_edge *e) {
    grad_edge gone = *e;
    *e = (grad_edge){0};
    grad_node_unref(gone.fn);
    tensor_unref(gone.leaf);
}

_Thread_local grad_packer *grad_packer_current;

void grad_packer_unref(grad_packer *p) {
    if (p && atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) == 1) p->free(p);
}

void grad_saved_clear(grad_saved *s) {
    value v = s->v;
    grad_packer *p = s->packer;
    s->v = value_none();
    s->packer = NULL;
    value_unref(v);
    if (p) p->drop(p, s->packed);
    grad_packer_unref(p);
    grad_edge_unref(&s->edge);
}

static void grad_node_free(grad_node *n) {
    for (int i = 0; i < n->ninputs; i++) {
        grad_edge_unref(&n->edges[i]);
        mem_free((void *)n->inputs[i].sizes);
    }
    for (int i = 0; i < n->noutputs; i++) mem_free((void *)n->outputs[i].sizes);
    for (int i = 0; i < n->nsaved; i++) grad_saved_clear(&n->saved[i]);
    grad_node_unref(n->inner);
    if (n->call) n->call->free(n->call);
    grad_hooks_free(n->hooks);
    mem_free(n->more_outputs);
    mem_free(n->geometry);
    mem_free(n);
}

/* Freeing a node may free the tensors that it saved, and these other nodes: they wait for
 * the outermost one. */
void grad_node_unref(grad_node *n) {
    static _Thread_local grad_node *waiting;
    static _Thread_local bool freeing;
    if (!n || atomic_fetch_sub_explicit(&n->refs, 1, memory_order_acq_rel) != 1) return;
    n->next_dead = waiting;
    waiting = n;
    if (freeing) return;
    freeing = true;
    while (waiting) {
        grad_node *next = waiting;
        waiting = next->next_dead;
        grad_node_free(next);
    }
    freeing = false;
}

/* ---- what is saved --------------------------------------------------------------------------- */

/* A leaf is kept as it is: its gradient goes to this very tensor. Of others only the elements, and
 * the edge beside them. */
static ctsc_status grad_save_tensor(diag *d, grad_saved *s, tensor *t) {
    grad_edge e;
    TRY(autograd_edge(d, t, &e));
    s->is_tensor = true;
    s->version = t->storage->version;
    if (e.leaf || (!e.fn && !t->autograd)) {
        s->v = value_tensor_take(tensor_ref(t));
        return CTSC_OK;
    }
    tensor *elements;
    TRY(tensor_alias(d, t, &elements));
    elements->requires_grad = false;
    capture_alias(t, elements);
    s->v = value_tensor_take(elements);
    s->edge = grad_edge_ref(e);
    return CTSC_OK;
}

ctsc_status grad_save(diag *d, grad_saved *s, value v) {
    if (v.tag == V_TENSOR) return grad_save_tensor(d, s, v.u.tensor);
    s->v = value_ref(v);
    return CTSC_OK;
}

/* A leaf's gradient goes to the leaf, whatever its elements are kept as. What is captured is a
 * program's, whose tensors are not visible outside. */
ctsc_status grad_pack(diag *d, grad_saved *s, tensor *x) {
    grad_packer *p = grad_packer_current;
    grad_edge e = {0};
    void *packed = NULL;
    if (!p || capture_current) return CTSC_OK;
    if (!s->of_result && !s->edge.fn) TRY(autograd_edge(d, x, &e));
    TRY(p->pack(p, d, x, &packed));
    if (e.leaf) s->edge = grad_edge_ref(e);
    value_set(&s->v, value_none());
    atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
    s->packer = p;
    s->packed = packed;
    return CTSC_OK;
}

/* "torch.FloatTensor [2, 3]" */
static void grad_describe(const tensor *t, strbuf *out) {
    sb_printf(out, "[torch.%sTensor ", dtype_table[t->dtype].ir_name);
    tensor_print_sizes(t->ndim, t->sizes, out);
    sb_puts(out, "]");
}

static ctsc_status grad_refuse_changed(diag *d, const grad_node *n, const grad_saved *s) {
    strbuf text = STRBUF_INIT;
    char name[128];
    grad_describe(s->v.u.tensor, &text);
    const grad_node *by = s->of_result ? n : s->edge.fn;
    if (by) {
        grad_node_name(by, name, sizeof name);
        sb_printf(&text, ", which is output %d of %s,", s->of_result ? s->output : s->edge.output,
                  name);
    }
    ctsc_status st = diag_fail(d, CTSC_FAILED,
                               "one of the variables needed for gradient computation has been "
                               "modified by an inplace operation: %s is at "
                               "version %" PRIu32 "; expected version %" PRIu32
                               " instead. Hint: enable anomaly detection to find the operation "
                               "that failed to compute its gradient, with "
                               "torch.autograd.set_detect_anomaly(True).",
                               sb_str(&text), s->v.u.tensor->storage->version, s->version);
    sb_free(&text);
    return st;
}

/* t's elements, as output `output` of fn. */
static ctsc_status grad_place(diag *d, tensor *t, grad_node *fn, int output, value *out) {
    tensor *placed;
    TRY(tensor_alias(d, t, &placed));
    capture_alias(t, placed);
    placed->requires_grad = false;
    autograd_meta *m = fn ? autograd_meta_of(d, placed) : NULL;
    if (fn && !m) {
        tensor_unref(placed);
        return d->status;
    }
    if (fn) {
        m->made_by = (grad_edge){.fn = grad_node_ref(fn), .output = output};
        placed->requires_grad = true;
    }
    *out = value_tensor_take(placed);
    return CTSC_OK;
}

static ctsc_status grad_unpack(diag *d, grad_node *n, const grad_saved *s, bool taped, value *out) {
    tensor *t;
    TRY(s->packer->unpack(s->packer, d, s->packed, &t));
    ctsc_status st = CTSC_OK;
    if (taped && s->edge.leaf) *out = value_tensor_take(tensor_ref(s->edge.leaf));
    else if (s->of_result) st = grad_place(d, t, taped ? n : NULL, s->output, out);
    else st = grad_place(d, t, taped ? s->edge.fn : NULL, s->edge.output, out);
    tensor_unref(t);
    return st;
}

ctsc_status grad_unsave(diag *d, grad_node *n, grad_saved *s, bool taped, value *out) {
    *out = value_none();
    if (s->packer) return grad_unpack(d, n, s, taped, out);
    if (!s->is_tensor || s->v.tag != V_TENSOR) {
        *out = value_ref(s->v);
        return CTSC_OK;
    }
    tensor *t = s->v.u.tensor;
    if (t->storage->version != s->version) return grad_refuse_changed(d, n, s);
    grad_node *fn = s->of_result ? n : s->edge.fn;
    if (!taped || !fn) {
        *out = value_ref(s->v);
        return CTSC_OK;
    }
    return grad_place(d, t, fn, s->of_result ? s->output : s->edge.output, out);
}

void grad_node_release_saved(grad_node *n) {
    for (int i = 0; n->has_saved && i < n->nsaved; i++) grad_saved_clear(&n->saved[i]);
    n->freed |= n->has_saved;
    if (n->inner) {
        grad_node_release_saved(n->inner);
        n->freed |= n->inner->freed;
    }
}

/* ---- inputs, and whole calls ----------------------------------------------------------------- */

ctsc_status grad_node_set_input(diag *d, grad_node *n, int i, tensor *t) {
    grad_edge e;
    if (!grad_shape_set(&n->inputs[i], t)) return diag_no_memory(d);
    if (!autograd_requires_grad(t)) return CTSC_OK;
    TRY(autograd_edge(d, t, &e));
    n->edges[i] = grad_edge_ref(e);
    return CTSC_OK;
}

static bool record_has_history(const grad_record *r, int i) {
    return !r->has_history || r->has_history[i];
}

/* Saved outputs are kept without their node, which would hold itself. */
static ctsc_status record_save(diag *d, grad_node *n, const grad_record *r, int i) {
    tensor *t = r->saved[i], *elements;
    int output = 0;
    while (output < r->noutputs && r->outputs[output] != t) output++;
    if (output == r->noutputs) {
        TRY(grad_save(d, &n->saved[i], (value){V_TENSOR, {.tensor = t}}));
        return grad_pack(d, &n->saved[i], t);
    }
    TRY(tensor_alias(d, t, &elements));
    elements->requires_grad = false;
    n->saved[i] = (grad_saved){.v = value_tensor_take(elements),
                               .is_tensor = true,
                               .of_result = record_has_history(r, output),
                               .output = output,
                               .version = t->storage->version};
    return grad_pack(d, &n->saved[i], elements);
}

static ctsc_status record_fill(diag *d, grad_node *n, const grad_record *r) {
    for (int i = 0; i < r->ninputs; i++) TRY(grad_node_set_input(d, n, i, r->inputs[i]));
    for (int i = 0; i < r->noutputs; i++)
        if (!grad_shape_set(&n->outputs[i], r->outputs[i])) return diag_no_memory(d);
    for (int i = 0; i < r->nsaved; i++) TRY(record_save(d, n, r, i));
    n->has_saved = r->nsaved > 0;
    /* after the nodes that edges of the inputs may have made */
    grad_node_renew(n);
    for (int i = 0; i < r->noutputs; i++) {
        if (!record_has_history(r, i)) continue;
        r->outputs[i]->requires_grad = false;
        TRY(autograd_set_history(d, r->outputs[i], grad_node_ref(n), i));
    }
    return CTSC_OK;
}

ctsc_status grad_call_record(diag *d, const grad_record *r) {
    grad_node *n = grad_node_new(GRAD_CALL, NULL, NULL, r->ninputs, r->noutputs, r->nsaved);
    if (!n) {
        r->call->free(r->call);
        return diag_no_memory(d);
    }
    n->call = r->call;
    ctsc_status s = record_fill(d, n, r);
    grad_node_unref(n);
    return s;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Which of the formulas of its name an overload has where it is not the first: the order of
 * PyTorch's derivatives.yaml. Numbers given to add, sub, mul and div are tensors there. */
static const struct {
    const char *name, *overload;
    int which;
} formulas[] = {
    {"clamp", "", 1},
    {"clamp_max", "Tensor", 1},
    {"clamp_min", "Tensor", 1},
    {"copysign", "Scalar", 1},
    {"div", "Scalar_mode", 2},
    {"div", "Tensor_mode", 2},
    {"fill", "Tensor", 1},
    {"fmod", "Tensor", 1},
    {"index_fill", "int_Tensor", 1},
    {"lerp", "Tensor", 1},
    {"masked_fill", "Tensor", 1},
    {"max", "", 1},
    {"mean", "dim", 1},
    {"median", "dim", 1},
    {"min", "", 1},
    {"nanmedian", "dim", 1},
    {"norm", "ScalarOpt_dim", 1},
    {"norm", "ScalarOpt_dim_dtype", 3},
    {"norm", "ScalarOpt_dtype", 2},
    {"normal", "Tensor_Tensor", 2},
    {"normal", "float_Tensor", 1},
    {"pow", "Scalar", 2},
    {"pow", "Tensor_Tensor", 1},
    {"prod", "dim_int", 1},
    {"remainder", "Tensor", 1},
    {"round", "decimals", 1},
    {"rsub", "Scalar", 1},
    {"scatter", "value", 1},
    {"sort", "stable", 1},
    {"special_xlog1py", "other_scalar", 2},
    {"special_xlog1py", "self_scalar", 1},
    {"special_zeta", "other_scalar", 2},
    {"special_zeta", "self_scalar", 1},
    {"squeeze", "dim", 1},
    {"squeeze", "dims", 2},
    {"sum", "dim_IntList", 1},
    {"xlogy", "Scalar_Other", 2},
    {"xlogy", "Scalar_Self", 1},
};

/* What PyTorch makes of operators that have no formulas there. */
static const char *const composed_of[][2] = {
    {"chunk", "split"}, {"contiguous", "clone"}, {"to", "_to_copy"}};

static const char *node_formula_name(const char *name) {
    for (size_t i = 0; i < sizeof composed_of / sizeof *composed_of; i++)
        if (!strcmp(composed_of[i][0], name)) return composed_of[i][1];
    return name;
}

static int node_formula(const char *name, const char *overload) {
    for (size_t i = 0; i < sizeof formulas / sizeof *formulas; i++)
        if (!strcmp(formulas[i].name, name) && !strcmp(formulas[i].overload, overload))
            return formulas[i].which;
    return 0;
}

/* What PyTorch composes it of, whose last part the node is named by. */
static const char *node_of_linear(const grad_node *n) {
    bool bias = false;
    for (int i = 0; i < n->ninputs; i++) bias |= n->args[i] == 2;
    if (n->outputs[0].ndim == 2) return bias ? "AddmmBackward0" : "MmBackward0";
    return n->outputs[0].ndim == 1 && !bias ? "SqueezeBackward4" : "UnsafeViewBackward0";
}

/* PyTorch's: the operator's name without "_forward" in camel case, a digit beginning a word, and
 * which of its formulas. */
void grad_node_name(const grad_node *n, char *out, size_t size) {
    static const char *const kinds[] = {
        [GRAD_COPY_SLICES] = "CopySlices", [GRAD_VIEW] = "AsStridedBackward0"};
    if (n->kind == GRAD_CALL) {
        snprintf(out, size, "%s", n->call->name);
        return;
    }
    if (n->kind == GRAD_COPY_SLICES || n->kind == GRAD_VIEW || !n->o) {
        snprintf(out, size, "%s", n->o || n->kind != GRAD_RULE ? kinds[n->kind] : "Backward");
        return;
    }
    const op *o = n->rule && n->rule->base ? n->rule->base : n->o;
    if (!strcmp(o->schema->name, "aten::linear")) {
        snprintf(out, size, "%s", node_of_linear(n));
        return;
    }
    const char *colons = strstr(o->schema->name, "::");
    const char *name = node_formula_name(colons ? colons + 2 : "");
    const char *end = name + strlen(name), *forward = strstr(name, "_forward");
    if (forward && !strcmp(forward, "_forward")) end = forward;
    size_t k = 0;
    bool upper = true;
    for (const char *s = name; s < end && k + 16 < size; s++) {
        bool letter = *s >= 'a' && *s <= 'z';
        if (*s != '_') out[k++] = upper && letter ? (char)(*s - 'a' + 'A') : *s;
        upper = !letter;
    }
    snprintf(out + k, size - k, "Backward%d", node_formula(name, o->schema->overload));
}
