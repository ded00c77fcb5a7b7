/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module_call.c - calls a method of a loaded module, with the hooks of its class around forward.
 *
 * Hooks of submodules need nothing here: the compiler that wrote the archive put their calls into
 * the code. Tests: tests/corpus
 */
#include "base/memory/recycle.h"
#include "runtime/autograd/autograd.h"
#include "runtime/autograd/grad_program.h"
#include "runtime/cuda/recordings.h"
#include "runtime/program/module.h"

enum { CALL_FEW = 16 }; /* arguments that need no allocation */

/* Takes args. */
static ctsc_status call_function(function *f, runtime *rt, int n, value *args, diag *d,
                                 value *result) {
    if (rt->taped) return program_call(rt, f, n, args, d, result);
    return device_in_use() ? recordings_call(rt, f, n, args, d, result)
                           : interp_call_take(rt, f, n, args, d, result);
}

static ctsc_status call_converted(function *f, runtime *rt, size_t nargs, const value *args,
                                  diag *d, value *result) {
    size_t total = (size_t)f->schema->nargs, bytes = total * sizeof(value);
    value few[CALL_FEW], *full = total <= CALL_FEW ? few : recycle_alloc(bytes);
    if (!full) return diag_no_memory(d);
    ctsc_status s = interp_check_args(f, (int)nargs, args, d, full);
    if (s == CTSC_OK) s = call_function(f, rt, (int)total, full, d, result);
    if (full != few) recycle_free(full, bytes);
    return s;
}

/* Most calls need no conversion: then the arguments need not be copied. */
static inline ctsc_status call_plain(function *f, runtime *rt, size_t nargs, const value *args,
                                     diag *d, value *result) {
    bool as_they_are = !device_in_use() && interp_args_fit(f, (int)nargs, args);
    return as_they_are ? interp_call(rt, f, (int)nargs, args, d, result)
                       : call_converted(f, rt, nargs, args, d, result);
}

static ctsc_status call_checked(function *f, runtime *rt, size_t nargs, const value *args, diag *d,
                                value *result) {
    return rt->taped ? call_converted(f, rt, nargs, args, d, result)
                     : call_plain(f, rt, nargs, args, d, result);
}

/* The arguments after self as one tuple. */
static tuple *call_pack(size_t nargs, const value *args) {
    tuple *t = tuple_new(nargs - 1, NULL);
    for (size_t i = 1; t && i < nargs; i++) t->items[i - 1] = value_ref(args[i]);
    return t;
}

/* hook(self, (args...)): what it returns takes the arguments' place, None leaves them. */
static ctsc_status call_pre_hook(function *hook, runtime *rt, value **args, size_t *nargs,
                                 diag *d) {
    tuple *packed = call_pack(*nargs, *args);
    if (!packed) return diag_no_memory(d);
    value in[2] = {(*args)[0], value_tuple_take(packed)}, out = value_none();
    ctsc_status s = call_checked(hook, rt, 2, in, d, &out);
    value_unref(in[1]);
    if (s != CTSC_OK || out.tag == V_NONE) return s;
    size_t n = out.tag == V_TUPLE ? out.u.tuple->len : 1;
    value *next = recycle_alloc((n + 1) * sizeof *next);
    if (next) {
        next[0] = value_ref((*args)[0]);
        for (size_t i = 0; i < n; i++)
            next[i + 1] = value_ref(out.tag == V_TUPLE ? out.u.tuple->items[i] : out);
        for (size_t i = 0; i < *nargs; i++) value_unref((*args)[i]);
        recycle_free(*args, *nargs * sizeof **args);
        *args = next;
        *nargs = n + 1;
    }
    value_unref(out);
    return next ? CTSC_OK : diag_no_memory(d);
}

/* hook(self, (args...), result): likewise for the result. */
static ctsc_status call_hook(function *hook, runtime *rt, const value *args, size_t nargs, diag *d,
                             value *result) {
    tuple *packed = call_pack(nargs, args);
    if (!packed) return diag_no_memory(d);
    value in[3] = {args[0], value_tuple_take(packed), *result}, out = value_none();
    ctsc_status s = call_checked(hook, rt, 3, in, d, &out);
    value_unref(in[1]);
    if (s == CTSC_OK && out.tag != V_NONE) value_set(result, out);
    return s;
}

static ctsc_status call_hooked(const class_info *c, function *f, runtime *rt, size_t n,
                               const value *args, diag *d, value *result) {
    value *full = recycle_alloc(n * sizeof *full), out = value_none();
    ctsc_status s = CTSC_OK;
    if (!full) return diag_no_memory(d);
    for (size_t i = 0; i < n; i++) full[i] = value_ref(args[i]);
    for (size_t i = 0; i < c->forward_pre_hooks.len && s == CTSC_OK; i++)
        s = call_pre_hook(c->forward_pre_hooks.data[i], rt, &full, &n, d);
    if (s == CTSC_OK) s = call_checked(f, rt, n, full, d, &out);
    for (size_t i = 0; i < c->forward_hooks.len && s == CTSC_OK; i++)
        s = call_hook(c->forward_hooks.data[i], rt, full, n, d, &out);
    for (size_t i = 0; i < n; i++) value_unref(full[i]);
    recycle_free(full, n * sizeof *full);
    if (s == CTSC_OK) *result = out;
    else value_unref(out);
    return s;
}

static ctsc_status call_prepare_gradients(function *f, runtime *rt, diag *d) {
    bool gradients;
    TRY(autograd_wanted(f, d, &gradients));
    rt->grad_requested |= rt->taped; /* by the caller, which needs results with their history */
    if (gradients) rt->taped = rt->grad_enabled = true;
    return CTSC_OK;
}

ctsc_status module_call(function *f, runtime *rt, size_t nargs, const value *args, diag *d,
                        value *result) {
    const class_info *c = f->cls ? f->cls->cls : NULL;
    bool concerned = __builtin_expect(autograd_concerns(f, rt->taped), 0);
    if (concerned) TRY(call_prepare_gradients(f, rt, d));
    bool hooked = c && (c->forward_pre_hooks.len || c->forward_hooks.len) &&
                  f == class_find_method(f->cls, "forward");
    return hooked      ? call_hooked(c, f, rt, nargs, args, d, result)
           : concerned ? call_checked(f, rt, nargs, args, d, result)
                       : call_plain(f, rt, nargs, args, d, result);
}
