/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dispatch.c - operators with an argument that is on a device, or is a device.
 *
 * Method. What an overload does there, its route, is found out once. In this order:
 *     ON_DEVICE                  its function (ir/op/op_traits.h): where it computes, it asks where its arguments are
 *     made of others             composites, in-place and out= overloads, copies of views: they call others, which ask again
 *     views, DEVICE_BLIND        the host's function: it touches no element
 *     fusible (ir/graph/fusible.h)  a kernel made for the operator (one_op.h)
 *     DEVICE_BODY                a body in TorchScript, where there is no such kernel
 *     random numbers, patterns   made on the host and moved, so that programs draw the same numbers everywhere
 *     numbers from tensors       read to the host first
 *     all else                   refused, or with the program's consent done on the host (through_host.c)
 * Tensors of two devices do not meet, except for 0-dim tensors of
 * the host among the operands of what works element by element.
 * Tests: tests/unit/test_cuda_tensor.c, tests/cuda
 */
#include "runtime/cuda/dispatch.h"

#include "ir/graph/fusible.h"
#include "ir/op/op_family.h"
#include "runtime/cuda/cuda_ops.h"
#include "runtime/cuda/one_op.h"
#include "runtime/cuda/through_host.h"
#include "runtime/meta/meta.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* What of the arguments has to be on one device. */
typedef enum device_rule {
    RULE_NONE,     /* the function sees to it, or it does not matter */
    RULE_OPERANDS, /* all but 0-dim tensors of the host */
    RULE_ALL,      /* the same, in the words that PyTorch has for other operators */
    RULE_INDICES,  /* indices may be on the host */
} device_rule;

typedef struct device_route {
    op_fn fn; /* NULL: the operator's own */
    device_rule rule;
    bool composed; /* what fn does not know, a body does */
} device_route;

/* ---- devices of arguments -------------------------------------------------------------------- */

/* A walk over the tensors among the arguments, those in lists included. */
typedef struct dispatch_walk {
    /* from here on, and item k if that is a list; after
     * dispatch_next: where the tensor was found */
    int nargs, argument;
    size_t k;
} dispatch_walk;

/* NULL: there are no more. */
static tensor *dispatch_next(dispatch_walk *w, const value *args) {
    for (; w->argument < w->nargs; w->argument++, w->k = 0) {
        const value *a = &args[w->argument];
        const list *l = a->tag == V_LIST ? a->u.list : NULL;
        size_t count = l && (l->kind == LIST_TENSOR || l->kind == LIST_VALUE) ? l->len
                                                                              : a->tag == V_TENSOR;
        while (w->k < count) {
            size_t k = w->k++;
            tensor *t = !l                               ? a->u.tensor
                        : l->kind == LIST_TENSOR         ? l->u.tensors[k]
                        : l->u.values[k].tag == V_TENSOR ? l->u.values[k].u.tensor
                                                         : NULL;
            if (t) return t;
        }
    }
    return NULL;
}

/* What runs under another name as well: the other one. */
static const op *dispatch_base(const op *o) {
    char key[OP_KEY_LENGTH];
    const op *base = !o->schema->has_alias_write && op_derived_from(o, key) ? op_find(key) : NULL;
    return base && base->fn == o->fn ? base : NULL;
}

/* What PyTorch runs in an operator's place, and compares the devices for. */
static const struct { const char *method, *names[3]; } dispatch_checks[] = {
    [CHECK_ADDMM] = {"wrapper_addmm", {"mat1", "mat2", "self"}},
    [CHECK_MM] = {"wrapper_mm", {"self", "mat2"}},
    [CHECK_INDEX_SELECT] = {"wrapper__index_select", {"self", "index"}},
};

/* "wrapper_mm": PyTorch 1.13's name of the function that compares the devices; *name: what it calls
 * the argument. */
static void dispatch_method(const op *o, int argument, char *out, size_t size, const char **name) {
    const op *base = dispatch_base(o);
    const schema *s = base ? base->schema : o->schema;
    device_check check = o->traits.device_check;
    if (check > CHECK_STRUCTURED) {
        snprintf(out, size, "%s", dispatch_checks[check].method);
        if (argument < 3 && dispatch_checks[check].names[argument])
            *name = dispatch_checks[check].names[argument];
        return;
    }
    snprintf(out, size, check == CHECK_STRUCTURED ? "wrapper_%.0s%s" : "wrapper_%s_%s", s->overload,
             strstr(s->name, "::") + 2);
}

static ctsc_status dispatch_differ(op_ctx *cx, device_rule rule, const tensor *a, const tensor *b,
                                   int argument) {
    char one[DEVICE_NAME], other[DEVICE_NAME], method[OP_DISPATCH_NAME];
    const char *name = cx->op->schema->args[argument].name;
    device_name(tensor_device(a), one);
    device_name(tensor_device(b), other);
    if (rule == RULE_OPERANDS)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "Expected all tensors to be on the same device, but found at least two "
                         "devices, %s and %s!",
                         one, other);
    dispatch_method(cx->op, argument, method, sizeof method, &name);
    return diag_fail(cx->diag, CTSC_FAILED,
                     "Expected all tensors to be on the same device, but found at least two "
                     "devices, %s and %s! (when checking "
                     "argument for argument %s in method %s)",
                     one, other, name, method);
}

static bool dispatch_may_differ(device_rule rule, const tensor *t) {
    return tensor_device(t) == DEVICE_HOST && (rule == RULE_INDICES || t->ndim == 0);
}

/* *device: where the operator runs. *mixed: some tensors have to be moved there. */
static ctsc_status dispatch_check(op_ctx *cx, device_rule rule, const value *args, int *device,
                                  bool *mixed) {
    const tensor *first = NULL; /* that decides */
    dispatch_walk all = {.nargs = cx->op->schema->nargs}, w = all;
    *mixed = false;
    for (tensor *t; (t = dispatch_next(&w, args));)
        if (!first || (dispatch_may_differ(rule, first) && tensor_device(t) != DEVICE_HOST))
            first = t;
    *device = first ? tensor_device(first) : DEVICE_HOST;
    w = all;
    for (tensor *t; (t = dispatch_next(&w, args));) {
        if (tensor_device(t) == *device) continue;
        if (!dispatch_may_differ(rule, t)) return dispatch_differ(cx, rule, first, t, w.argument);
        *mixed = true;
    }
    return CTSC_OK;
}

/* ---- routes ---------------------------------------------------------------------------------- */

static bool dispatch_is_composed(const op *o) { return o->traits.device_body; }

/* What is wrong with arguments that a body fails for is best said by the host's function; where it
 * finds nothing, the body does not know them. */
static ctsc_status dispatch_explain(op_ctx *cx, const value *args, value *results) {
    TRY(through_host(cx, args, results));
    for (int i = 0; i < cx->op->schema->nreturns; i++) value_set(&results[i], value_none());
    return through_host_or_refuse(cx, args, results);
}

static ctsc_status dispatch_composed(op_ctx *cx, const value *args, value *results) {
    diag own = {.max_tensor = cx->diag->max_tensor};
    op_ctx inner = *cx;
    inner.diag = &own;
    ctsc_status s = op_host_installed->composite(&inner, args, results);
    if (s == CTSC_FAILED) s = dispatch_explain(cx, args, results);
    else if (s != CTSC_OK) diag_fail(cx->diag, s, "%s", diag_message(&own));
    diag_clear(&own);
    return s;
}

static ctsc_status dispatch_one_op(op_ctx *cx, const value *args, value *results) {
    bool ran;
    TRY(one_op_run(cx, args, results, &ran));
    if (ran) return CTSC_OK;
    return dispatch_is_composed(cx->op) ? dispatch_composed(cx, args, results)
                                        : through_host_or_refuse(cx, args, results);
}

static ctsc_status dispatch_write(op_ctx *cx, const value *args, value *results) {
    return op_host_installed->derived_write(cx, args, results);
}

static const device_route route_as_host = {NULL, RULE_NONE},
                          route_one_op = {dispatch_one_op, RULE_OPERANDS},
                          route_composed = {dispatch_composed, RULE_OPERANDS},
                          route_write = {dispatch_write, RULE_NONE},
                          route_by_host = {through_host, RULE_NONE},
                          route_no_kernel = {through_host_or_refuse, RULE_NONE};

static bool dispatch_is_tensor(const type *t) {
    while (t->kind == T_OPTIONAL || t->kind == T_LIST) t = type_elem(t);
    return t->kind == T_TENSOR;
}

static bool dispatch_aliases(const argument *a) {
    return a->alias && (a->alias->before || (a->alias->elem && a->alias->elem->before));
}

/* All results are views of arguments. */
static bool dispatch_is_view(const schema *s) {
    for (int i = 0; i < s->nreturns; i++)
        if (!dispatch_is_tensor(s->returns[i].type) || !dispatch_aliases(&s->returns[i]))
            return false;
    return s->nreturns > 0 && !s->has_alias_write;
}

/* Of overloads on tensors: their results are none, so that these have to be read anyway. */
static bool dispatch_makes_numbers(const schema *s) {
    for (int i = 0; i < s->nreturns; i++)
        if (dispatch_is_tensor(s->returns[i].type)) return false;
    return !s->has_alias_write;
}

static bool dispatch_takes_tensors(const schema *s) {
    for (int i = 0; i < s->nargs; i++)
        if (dispatch_is_tensor(s->args[i].type)) return true;
    return false;
}

/* A dict of tensors by tensor: keys are compared as objects. */
static bool dispatch_is_container(const schema *s) {
    return s->nargs && s->args[0].type->kind == T_DICT;
}

static bool dispatch_indexes(const op *o) {
    switch (o->name_symbol) {
    case SYM_INDEX:
    case SYM_INDEX_PUT:
    case SYM_INDEX_PUT_:
    case SYM__INDEX_PUT_IMPL:
    case SYM__INDEX_PUT_IMPL_: return true;
    default: return false;
    }
}

static const device_route *dispatch_new_row(const op *o) {
    device_route *r = mem_alloc(sizeof *r); /* as long as the operator: for ever */
    if (r)
        *r = (device_route){o->fn, dispatch_indexes(o) ? RULE_INDICES : RULE_ALL,
                            dispatch_is_composed(o)};
    return r;
}

static const device_route *dispatch_find_route(const op *o) {
    const schema *s = o->schema;
    if (o->traits.on_device) return dispatch_new_row(o);
    const op *base = dispatch_base(o);
    if (base) return dispatch_find_route(base);
    if (o->traits.device_blind || dispatch_is_container(s)) return &route_as_host;
    if (o->traits.composite || o->fn == op_host_installed->derived_write ||
        o->fn == op_host_installed->derived_copy)
        return &route_as_host;
    if (s->has_alias_write && o->fn_ctx && o->traits.into) return &route_write;
    fusible_kind kind = op_fusible(o);
    if (kind && kind != FUSIBLE_VIEW) return &route_one_op;
    if (dispatch_is_composed(o)) return &route_composed;
    if (dispatch_is_view(s)) return &route_as_host;
    bool made = !dispatch_takes_tensors(s) || o->traits.draws;
    return made || dispatch_makes_numbers(s) ? &route_by_host : &route_no_kernel;
}

static const device_route *dispatch_route(const op *o) {
    const device_route *r = atomic_load_explicit(&o->route, memory_order_acquire);
    if (r) return r;
    r = dispatch_find_route(o);
    /* Overloads are const to their users; the registry, which
     * owns them, makes none of its memory const (op.c). */
    if (r) atomic_store_explicit(&((op *)o)->route, r, memory_order_release);
    return r;
}

device_support op_device_support(const op *o) {
    if (!o->fn) return DEVICE_SUPPORT_NONE;
    const device_route *r = dispatch_route(o);
    if (r == &route_no_kernel) return DEVICE_SUPPORT_NONE;
    return r == &route_by_host ? DEVICE_SUPPORT_HOST : DEVICE_SUPPORT_FULL;
}

/* ---- calls ----------------------------------------------------------------------------------- */

enum { DISPATCH_ARGS = 64 };

/* With what is elsewhere moved to the device. */
static ctsc_status dispatch_moved(op_ctx *cx, op_fn fn, int device, const value *args,
                                  value *results) {
    value own[DISPATCH_ARGS];
    int n = cx->op->schema->nargs;
    if (n > DISPATCH_ARGS)
        return diag_fail(cx->diag, CTSC_INTERNAL, "%s has too many arguments", cx->op->key);
    TRY(through_host_move(cx->diag, n, args, device, own));
    ctsc_status s = fn(cx, own, results);
    for (int i = 0; i < n; i++) value_unref(own[i]);
    return s;
}

ctsc_status op_on_device(op_ctx *cx, const value *args, value *results) {
    if (meta_wanted(cx->op, args)) return meta_call(cx, args, results);
    const device_route *r = dispatch_route(cx->op);
    int device;
    bool mixed;
    if (!r) return diag_no_memory(cx->diag);
    op_fn fn = r->fn ? r->fn : cx->op->fn;
    if (r->rule == RULE_NONE) return fn(cx, args, results);
    TRY(dispatch_check(cx, r->rule, args, &device, &mixed));
    ctsc_status s = mixed ? dispatch_moved(cx, fn, device, args, results) : fn(cx, args, results);
    if (s != CTSC_UNSUPPORTED || !r->composed) return s;
    diag_clear(cx->diag);
    return dispatch_composed(cx, args, results);
}
