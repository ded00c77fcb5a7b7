/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interp_call.c - instructions that run something else: operators, functions, methods, with blocks.
 * Forks have a file of their own (fork.c).
 *
 * Tests: tests/unit/test_interp.c
 */
#include "passes/passes.h"
#include "runtime/interp/watch.h"

/* Room after the registers: arguments, then results. */
static value *call_window(const frame *f) { return f->regs + f->c->nregisters; }

static ctsc_status call_op_many(frame *f, const site *s, const value *args, int returns,
                                bool watched) {
    value *results = call_window(f) + s->nargs;
    for (int i = 0; i < returns; i++) results[i] = value_none();
    TRY(op_function(s->op, s->nargs, args)(&f->cx, args, results));
    if (watched)
        f->in->rt->watch->fn->operator(f->in->rt->watch, s->op, s->nargs, args, returns, results);
    for (int i = 0; i < returns; i++) {
        if (i < s->nresults) site_result(f, s, i, results[i]);
        else value_unref(results[i]);
    }
    return CTSC_OK;
}

/* Arguments are borrowed: gathered without counting, released after
 * the call if this was their last use. watched: rt->watch is told. */
static inline ctsc_status call_op(frame *f, const site *s, bool watched) {
    const op *o = s->op;
    const int32_t *operands = site_operands(f, s);
    value *args = call_window(f);
    if (o->traits.unsafe && !f->in->rt->allow_unsafe)
        return diag_fail(f->in->d, CTSC_UNSUPPORTED,
                         "operator %s is not allowed: it reaches outside the program", o->key);
    for (int i = 0; i < s->nargs; i++) args[i] = *operand_at(f, operands[i]);
    f->cx.op = o;
    f->cx.nargs = s->nargs;
    f->cx.out_types = s->ntypes ? f->c->types.data + s->types : NULL;
    f->cx.diag = f->in->d;
    int returns = o->schema->varret ? s->nresults : o->schema->nreturns;
    int32_t only = s->nresults == 1 ? operands[s->nargs] : SITE_UNUSED;
    ctsc_status st;
    if (returns == 1 && only != SITE_UNUSED) {
        value_set(&f->regs[only], value_none());
        st = op_function(o, s->nargs, args)(&f->cx, args, &f->regs[only]);
        if (watched && st == CTSC_OK)
            f->in->rt->watch->fn->operator(f->in->rt->watch, o, s->nargs, args, 1, &f->regs[only]);
    } else {
        st = call_op_many(f, s, args, returns, watched);
    }
    site_release(f, s);
    return st;
}

ctsc_status bc_call_op(frame *f, const site *s) { return call_op(f, s, false); }
ctsc_status bc_call_op_watched(frame *f, const site *s) { return call_op(f, s, true); }
ctsc_status bc_call_op_taped(frame *f, const site *s) {
    return code_host_installed->call_taped(f, s);
}

static inline ctsc_status call_fused(frame *f, const site *s, bool watched) {
    value *args = call_window(f), *results = args + s->nargs;
    bool native = false;
    for (int i = 0; i < s->nargs; i++) args[i] = *site_arg(f, s, i);
    ctsc_status st = s->group->run(s->group, f->in, args, results, &native);
    if (watched && st == CTSC_OK)
        f->in->rt->watch->fn->kernel(f->in->rt->watch, f->in, s, args, results, native);
    site_release(f, s);
    for (int i = 0; st == CTSC_OK && i < s->nresults; i++) site_result(f, s, i, results[i]);
    return st;
}

ctsc_status bc_fused(frame *f, const site *s) { return call_fused(f, s, false); }
ctsc_status bc_fused_watched(frame *f, const site *s) { return call_fused(f, s, true); }

static ctsc_status call_function(frame *f, const site *s, function *fn) {
    value *args = call_window(f), result = value_none();
    for (int i = 0; i < s->nargs; i++) args[i] = site_take(f, s, i);
    TRY(interp_run_function(f->in, fn, s->nargs, args, &result));
    if (s->nresults == 1) {
        site_result(f, s, 0, result);
    } else {
        value_unref(result);
    }
    return CTSC_OK;
}

ctsc_status bc_call(frame *f, const site *s) { return call_function(f, s, s->fn); }

/* Through an interface: the method is looked up on the object. */
ctsc_status bc_call_method(frame *f, const site *s) {
    const value *self = s->nargs ? site_arg(f, s, 0) : NULL;
    function *fn = self && self->tag == V_OBJECT ? class_find_method(self->u.object->cls, s->name)
                                                 : NULL;
    if (!fn) return diag_fail(f->in->d, CTSC_FAILED, "the object has no method '%s'", s->name);
    return call_function(f, s, fn);
}

ctsc_status bc_unsupported(frame *f, const site *s) {
    diag_fail(f->in->d, CTSC_UNSUPPORTED, "operator %s is not supported", s->name);
    op_note_library(f->in->d, s->name);
    return CTSC_UNSUPPORTED;
}

/* ---- with ------------------------------------------------------------------------------------ */

ctsc_status interp_call_hook(interp *in, value object, const char *name, value *out) {
    enum { HOOK_PARAMS = 4 }; /* __exit__(self, type, value, traceback) */
    function *fn = object.tag == V_OBJECT ? class_find_method(object.u.object->cls, name) : NULL;
    if (!fn)
        return diag_fail(in->d, CTSC_FAILED, "the object of a with statement has no method '%s'",
                         name);
    int n = fn->schema ? fn->schema->nargs : 1;
    if (n > HOOK_PARAMS || n < 1)
        return diag_fail(in->d, CTSC_FAILED, "method '%s' has the wrong number of arguments", name);
    value args[HOOK_PARAMS] = {value_ref(object)};
    return interp_run_function(in, fn, n, args, out);
}

/* Regions of torch.autocast for the CPU have become casts by now (passes/autocast.c), except for
 * those that were not understood. For other devices, or not enabled, it changes nothing here. */
static ctsc_status call_check_autocast(interp *in, value v) {
    if (v.tag != V_OBJECT || !pass_autocast_is(v.u.object->cls)) return CTSC_OK;
    int enabled = class_find_attribute(v.u.object->cls, "_enabled"),
        device = class_find_attribute(v.u.object->cls, "device");
    if (enabled < 0 || device < 0) return CTSC_OK;
    const value *on = &v.u.object->slots[enabled], *where = &v.u.object->slots[device];
    if (on->tag != V_BOOL || !on->u.b || where->tag != V_STR ||
        strncmp(where->u.str->bytes, "cpu", 3) != 0)
        return CTSC_OK;
    return diag_fail(
        in->d, CTSC_UNSUPPORTED,
        "torch.autocast on the CPU is supported where its arguments are known when the "
        "program is compiled, and what is called within can become a part of the caller");
}

ctsc_status bc_enter(frame *f, const site *s) {
    interp *in = f->in;
    value object = *site_arg(f, s, 0), result = value_none();
    ctsc_status allowed = call_check_autocast(in, object);
    if (allowed != CTSC_OK) return allowed;
    if (object.tag != V_NONE) {
        TRY(interp_call_hook(in, object, "__enter__", &result));
        entered e = {.object = object, .depth = in->rt->depth};
        if (!vec_push(&in->entered, e)) {
            value_unref(result);
            return diag_no_memory(in->d);
        }
        value_ref(object);
    }
    site_release(f, s);
    site_result(f, s, 0, result);
    return CTSC_OK;
}

ctsc_status bc_exit(frame *f, const site *s) {
    interp *in = f->in;
    value object = *site_arg(f, s, 0), result = value_none();
    if (object.tag != V_NONE) {
        if (in->entered.len > 0 && value_is(vec_last(&in->entered).object, object))
            value_unref(vec_pop(&in->entered).object);
        TRY(interp_call_hook(in, object, "__exit__", &result));
    }
    site_release(f, s);
    if (s->nresults == 1) {
        site_result(f, s, 0, result);
    } else {
        value_unref(result);
    }
    return CTSC_OK;
}
