/* SPDX-License-Identifier: Apache-2.0 */
/*
 * autograd.h - reverse-mode differentiation of running programs: what is recorded of a call, and
 * how gradients come back.
 *
 *     y = torch.exp(x)           x: a leaf        y.autograd->fn = grad_node(aten::exp, saved: y) --edge--> x
 *     z = torch.sum(y)                            z.autograd->fn = grad_node(aten::sum)           --edge--> y's fn, output 0
 *     torch.autograd.grad([z], [x])               backward.c walks the edges from z's node, latest node first
 *
 * Method. A program that takes gradients (autograd_wanted) runs as *taped* code: the same bytecode
 * whose operator calls go through tape.c. Where an argument requires a gradient the call leaves a
 * node: what the operator's derivative needs (grad_rules.c finds it: a function in TorchScript per
 * operator and differentiable argument, frontend/prelude/derivatives), and where the gradients of
 * its arguments go. A backward pass calls these functions; under create_graph they run as taped
 * code as well, and so are differentiated like everything else. Programs without gradients have
 * other code, and pay nothing.
 *
 * Saved tensors are checked when they are used: each storage counts the writes to it
 * (storage.version).
 *
 * Ownership: nodes are counted; a node holds its edges' ends and what it
 * saved; a tensor holds the node that made it. A result that its own node
 * saved refers to the storage only, so there are no cycles. Chains of nodes
 * are freed without recursion. Threads: a tensor's metadata is changed only
 * by the program that runs with it, under the rule of tensor.h.
 * Tests: tests/corpus/grad
 */
#ifndef CTSC_RUNTIME_AUTOGRAD_AUTOGRAD_H
#define CTSC_RUNTIME_AUTOGRAD_AUTOGRAD_H

#include "runtime/autograd/grad_rules.h"
#include "tensor/tensor.h"

typedef struct grad_node grad_node;

/* Where a gradient goes: to output `output` of fn, to a leaf, or (both NULL) nowhere. Counted. */
typedef struct grad_edge {
    grad_node *fn;
    tensor *leaf;
    int output;
} grad_edge;

/* What a gradient has to look like: that of the tensor it belongs to. */
typedef struct grad_shape {
    uint8_t dtype, ndim, device;
    const int64_t *sizes;
} grad_shape;

/* How tensors that are saved are kept while a thread has hooks for that. Counted: by the thread,
 * and by each tensor that is kept so. */
typedef struct grad_packer {
    atomic_int refs;
    struct grad_packer *outer; /* of the thread, before this one came */
    ctsc_status (*pack)(struct grad_packer *p, diag *d, tensor *t, void **out);
    ctsc_status (*unpack)(struct grad_packer *p, diag *d, void *packed, tensor **out);
    void (*drop)(struct grad_packer *p, void *packed);
    void (*free)(struct grad_packer *p);
} grad_packer;

/* Something a derivative needs. Of a tensor: its elements as they were at `version`, and its
 * place in the graph. */
typedef struct grad_saved {
    /* V_TENSOR, a number, a list of ints, ...; nothing for a list of tensors, whose
     * `count` tensors follow */
    value v;
    grad_edge edge;
    uint32_t version;
    grad_need need; /* what it is, as formulas name it */
    int index;
    int count;
    bool is_tensor, is_list;
    bool of_result; /* output `output` of the node itself, which it must not hold */
    int output;
    grad_packer *packer; /* v is what it makes of `packed`; NULL: v is v */
    void *packed;
} grad_saved;

typedef enum grad_kind {
    GRAD_RULE,        /* the rule's formulas */
    GRAD_COPY_SLICES, /* `inner` wrote a view: what it did to its base */
    /* a view whose base has been written since it was made: as_strided of the base */
    GRAD_VIEW,
    GRAD_MISSING, /* the operator has no derivative: an error where it is needed */
    GRAD_CALL,    /* a whole call: `call` knows its gradients */
} grad_kind;

/* What the numbers of a view are to those of its base. */
typedef enum grad_parts {
    PARTS_NONE,
    PARTS_OF_BASE, /* of complex ones the parts: torch.real, view_as_real */
    PARTS_OF_VIEW, /* the other way: view_as_complex */
} grad_parts;

/* The gradients of a whole call (GRAD_CALL): of a program's that is a program (grad_pair.h), of
 * what a user of the library computed (runtime/api/api_gradient.c). */
typedef struct grad_call {
    /* grads: per output of n, some NULL; out: per input, new references */
    ctsc_status (*backward)(op_ctx *cx, grad_node *n, tensor *const *grads, bool create_graph,
                            tensor **out);
    void (*free)(struct grad_call *c);
    const char *name; /* of the node */
    bool zeros;       /* of outputs without a gradient; else NULL */
} grad_call;

/* A function that receives gradients in a pass: of a leaf, or of an output of a node.
 * Reference-counted: by the list that contains it, and by the handle that may remove it. */
typedef struct grad_hook {
    atomic_int refs;
    atomic_bool removed;
    bool after; /* of a leaf: once its gradient has been added to the others; it gets the leaf */
    int output; /* of the node */
    struct grad_hook *next;
    /* *out: what takes the gradient's place; NULL: nothing does */
    ctsc_status (*run)(struct grad_hook *h, op_ctx *cx, tensor *g, bool create_graph, tensor **out);
    void (*free)(struct grad_hook *h);
} grad_hook;

struct grad_node {
    atomic_int refs;
    grad_kind kind;
    uint64_t sequence; /* nodes are differentiated latest first */
    const op *o;
    const grad_rule *rule;
    int ninputs, noutputs, nsaved;
    grad_edge *edges;             /* per input */
    grad_shape *inputs, *outputs; /* per input, per output */
    /* `outputs`, where there turned out to be more than there was room for */
    grad_shape *more_outputs;
    int *args; /* per input: the argument of o it is (or is in) */
    grad_saved *saved;
    grad_node *inner; /* GRAD_COPY_SLICES */
    grad_call *call;  /* GRAD_CALL */
    grad_hook *hooks; /* of its outputs, in the order in which they came */
    /* GRAD_COPY_SLICES, GRAD_VIEW: of the view within its base: ndim, offset, sizes, strides;
     * the base's strides */
    int64_t *geometry;
    /* with them: where there are any, complex numbers
     * count as two, in a separate dim after the others */
    grad_parts parts;
    bool conjugated, negated; /* with them: the view's numbers are so to those of the base */
    bool freed, has_saved;    /* what was saved is gone; there was something */
    /* of outputs that keep their gradients; borrowed: they hold the node */
    struct autograd_meta *retained;
    grad_node *next_dead;
};

/* What autograd knows of a tensor (tensor.autograd); a tensor without it is a leaf and no view. */
typedef struct autograd_meta {
    grad_edge made_by; /* fn and output; fn NULL: a leaf */
    tensor *grad;
    bool retains_grad; /* not of leaves, which always do */
    struct autograd_meta *next_retained;
    grad_hook *hooks;      /* of leaves */
    bool of_many;          /* a view by an operator that returns several: not to be written */
    bool without_grad;     /* a view made while gradients were off */
    bool untracked;        /* x.data: writes to it are not counted */
    tensor *base;          /* of a view: what it is a view of, which is none itself */
    uint32_t view_version; /* of the storage when made_by was right for this view */
} autograd_meta;

/* ---- what is known of tensors (grad_meta.c) -------------------------------------------------- */

autograd_meta *autograd_meta_of(diag *d, tensor *t); /* made if need be; NULL if out of memory */
/* Does t require a gradient? Also of a view whose base came to require one by a write. */
bool autograd_requires_grad(const tensor *t);
/* Where t's gradient goes; borrowed. Makes the node of a view that was written
 * through another one. */
ctsc_status autograd_edge(diag *d, tensor *t, grad_edge *out);
/* t is output `output` of fn now (whose reference is taken): a new tensor, or one that
 * an operator wrote. */
ctsc_status autograd_set_history(diag *d, tensor *t, grad_node *fn_take, int output);
/* v is a new view of `of`. */
ctsc_status autograd_set_view(diag *d, tensor *v, tensor *of, bool of_many, bool grad_enabled);
/* An operator is about to write t: refused for leaves that require gradients and for some views.
 * grad: the write is recorded. */
ctsc_status autograd_check_write(diag *d, const tensor *t, bool grad_enabled);
bool autograd_is_leaf(const tensor *t);
void autograd_detach_in_place(tensor *t);
/* g becomes t's gradient; NULL: none. */
ctsc_status autograd_assign_grad(diag *d, tensor *t, tensor *g);
/* t keeps its gradient, though it is not a leaf. */
ctsc_status autograd_retain_grad(diag *d, tensor *t);
/* m->grad += g, or = g if there is none: the gradient of leaf t, or (NULL) of a tensor
 * that retains it. */
ctsc_status autograd_accumulate(op_ctx *cx, autograd_meta *m, const tensor *t, tensor *g,
                                bool create_graph);

/* ---- hooks (grad_hook.c) --------------------------------------------------------------------- */

/* h is t's, or its node's as long as t is what that made. Fails for tensors that require no
 * gradient, and (h->after) for others than leaves. */
ctsc_status autograd_add_hook(diag *d, tensor *t, grad_hook *h);
/* Runs those of the list for an output, before the gradient goes on (*g is replaced) or after. */
ctsc_status grad_hooks_run(op_ctx *cx, grad_hook *hooks, int output, bool after, bool create_graph,
                           tensor **g);
grad_hook *grad_hook_ref(grad_hook *h);
void grad_hook_unref(grad_hook *h); /* h may be NULL */
void grad_hooks_free(grad_hook *hooks);

/* ---- nodes (grad_node.c) --------------------------------------------------------------------- */

/* Room for everything but geometry; edges, shapes and saved values are empty.
 * NULL if out of memory. */
grad_node *grad_node_new(grad_kind kind, const op *o, const grad_rule *rule, int ninputs,
                         int noutputs, int nsaved);
/* n is the latest node again: its edges lead to nodes that were made after it (of views,
 * see autograd_edge). */
void grad_node_renew(grad_node *n);
grad_node *grad_node_ref(grad_node *n);
void grad_node_unref(grad_node *n);
void grad_edge_unref(grad_edge *e);
grad_edge grad_edge_ref(grad_edge e);
/* Keeps t's shape in s; false if out of memory. */
bool grad_shape_set(grad_shape *s, const tensor *t);
/* Input i of n is t: its shape, and the edge to what made it where it needs a gradient. */
ctsc_status grad_node_set_input(diag *d, grad_node *n, int i, tensor *t);
/* Saves a value; a tensor with its version and where its gradient goes. */
ctsc_status grad_save(diag *d, grad_saved *s, value v);
void grad_saved_clear(grad_saved *s);
/* The thread's hooks of saved tensors, if it has any, keep what s has saved, x. */
ctsc_status grad_pack(diag *d, grad_saved *s, tensor *x);
extern _Thread_local grad_packer *grad_packer_current;
void grad_packer_unref(grad_packer *p);
/* What was saved, for use: a reference. Fails where it has been written since. taped: with its
 * place in the graph, else without. */
ctsc_status grad_unsave(diag *d, grad_node *n, grad_saved *s, bool taped, value *out);
/* A whole call: outputs come of inputs, by what `call` gives the gradients of. */
typedef struct grad_record {
    grad_call *call; /* taken, also on failure */
    int ninputs, noutputs, nsaved;
    tensor *const *inputs;
    tensor *const *outputs;  /* each a tensor of its own, or an input that was written */
    tensor *const *saved;    /* what the gradients need; outputs among them */
    const bool *has_history; /* per output; NULL: all of them */
} grad_record;
/* One node made the outputs. */
ctsc_status grad_call_record(diag *d, const grad_record *r);
/* There are n outputs: room for their shapes. */
bool grad_node_set_outputs(grad_node *n, int noutputs);
/* "ExpBackward0" */
void grad_node_name(const grad_node *n, char *out, size_t size);
void grad_node_release_saved(grad_node *n);

/* ---- calls that are recorded (tape.c) -------------------------------------------------------- */

/* Calls o as a taped program does. args: borrowed; results: as of op_fn. */
ctsc_status tape_call(op_ctx *cx, const op *o, int nargs, const value *args, int returns,
                      value *results);
/* The same by key. */
ctsc_status tape_call_key(op_ctx *cx, const char *key, int nargs, const value *args,
                          value *results);
/* What code_host.call_taped is: a call site of taped code. */
struct frame;
struct site;
ctsc_status tape_call_site(struct frame *f, const struct site *s);

/* ---- backward passes (backward.c) ------------------------------------------------------------ */

typedef struct backward_request {
    int nroots;
    tensor **roots;      /* what is differentiated */
    tensor **root_grads; /* each NULL for the implicit one */
    int ninputs;         /* 0: gradients are accumulated in all leaves */
    tensor **inputs;     /* gradients with respect to these */
    bool retain_graph, create_graph, allow_unused, check_nan;
    bool inner; /* a part of a pass: hooks of leaves and inputs are that one's */
} backward_request;

/* grads: ninputs of them, each a new reference or NULL. */
ctsc_status autograd_backward(op_ctx *cx, const backward_request *r, tensor **grads);

/* ---- programs (grad_wanted.c) ---------------------------------------------------------------- */

/* Remembers whether f, or what it calls, asks for gradients. Compiles what it calls (what does not
 * compile may never be reached). Fails without memory. */
ctsc_status autograd_find_wanted(function *f, diag *d);

/* May a call of f have to do with gradients? One test; false for programs that never ask. */
static inline bool autograd_concerns(const function *f, bool taped) {
    return (__atomic_load_n(&f->takes_gradients, __ATOMIC_ACQUIRE) ^ FUNCTION_TAKES_NONE) | taped;
}

/* Does f, or what it calls, ask for gradients? */
static inline ctsc_status autograd_wanted(function *f, diag *d, bool *out) {
    uint8_t known = __atomic_load_n(&f->takes_gradients, __ATOMIC_ACQUIRE);
    ctsc_status s = CTSC_OK;
    if (!known) {
        s = autograd_find_wanted(f, d);
        known = __atomic_load_n(&f->takes_gradients, __ATOMIC_ACQUIRE);
    }
    *out = known == FUNCTION_TAKES_GRADIENTS;
    return s;
}

#endif
