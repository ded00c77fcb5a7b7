/* SPDX-License-Identifier: Apache-2.0 */
/* op_call.c - operators that C code calls by key. Tests: tests/unit/test_ops.c */
#include "ir/op/op.h"

enum { OP_CALL_ARGS = 32 };

op_listener *op_listening;

static ctsc_status op_fill(diag *d, const op *o, int nargs, const value *args, value *full) {
    const schema *s = o->schema;
    if (nargs > s->nargs && !s->vararg)
        return diag_fail(d, CTSC_USAGE,
                         "%s() expected at most %d argument(s) but received %d argument(s)", o->key,
                         s->nargs, nargs);
    for (int i = 0; i < nargs; i++) full[i] = args[i];
    for (int i = nargs; i < s->nargs; i++) {
        if (!s->args[i].has_default)
            return diag_fail(d, CTSC_USAGE, "%s() is missing value for argument '%s'", o->key,
                             s->args[i].name);
        full[i] = s->args[i].default_value;
    }
    return CTSC_OK;
}

ctsc_status op_call(op_ctx *cx, const char *key, int nargs, const value *args, value *results) {
    const op *o = op_find(key);
    if (!o) {
        if (!op_builtin_name(0)) return diag_no_memory(cx->diag);
        return diag_fail(cx->diag, CTSC_UNSUPPORTED, "unknown operator %s", key);
    }
    if (!o->fn) return diag_fail(cx->diag, CTSC_UNSUPPORTED, "operator %s is not supported", key);
    int room = nargs > o->schema->nargs ? nargs : o->schema->nargs;
    value few[OP_CALL_ARGS], *full = few;
    if (room > OP_CALL_ARGS && !(full = mem_alloc((size_t)room * sizeof *full)))
        return diag_no_memory(cx->diag);
    for (int i = 0; i < o->schema->nreturns; i++) results[i] = value_none();
    ctsc_status s = op_fill(cx->diag, o, nargs, args, full);
    if (s == CTSC_OK && op_listening) op_listening->called(op_listening, o, room, full);
    if (s == CTSC_OK && cx->call) {
        s = cx->call(cx, key, room, full, results);
    } else if (s == CTSC_OK) {
        op_ctx inner = *cx;
        inner.op = o;
        inner.nargs = nargs;
        inner.out_types = NULL;
        s = op_function(o, nargs > o->schema->nargs ? nargs : o->schema->nargs, full)(&inner, full,
                                                                                      results);
    }
    if (s != CTSC_OK)
        for (int i = 0; i < o->schema->nreturns; i++) value_set(&results[i], value_none());
    if (full != few) mem_free(full);
    return s;
}
