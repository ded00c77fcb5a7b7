/* SPDX-License-Identifier: Apache-2.0 */
/*
 * derived.c - runs overloads without a row of their own (ir/op/op_derive.h):
 * calls the base overload and puts its results where the schema requires.
 * Tests: tests/unit/test_ops.c
 */
#include "runtime/kernels/engine/kernel.h"
#include "runtime/ops/registry.h"

enum { DERIVED_MAX = 32 };

/* Runs the base: args without those the schema writes, except for an in-place overload's self. */
static ctsc_status derived_call(op_ctx *cx, const value *args, const op **base, value *results) {
    const schema *s = cx->op->schema;
    const op *o = *base = op_find(cx->op->fn_ctx);
    value given[DERIVED_MAX];
    int n = 0;
    if (!o || !o->fn || o->schema->nargs > DERIVED_MAX || o->schema->nreturns > DERIVED_MAX)
        return diag_fail(cx->diag, CTSC_INTERNAL, "%s has lost %s", cx->op->key,
                         (const char *)cx->op->fn_ctx);
    for (int i = 0; i < s->nargs && n < o->schema->nargs; i++)
        if (!i || !s->args[i].alias || !s->args[i].alias->write) given[n++] = args[i];
    for (int i = 0; i < o->schema->nreturns; i++) results[i] = value_none();
    op_ctx inner = *cx;
    inner.op = o;
    inner.nargs = n;
    inner.out_types = NULL;
    return op_function(o, n, given)(&inner, given, results);
}

static void derived_release(int n, value *results) {
    for (int i = 0; i < n; i++) value_set(&results[i], value_none());
}

ctsc_status op_derived_write(op_ctx *cx, const value *args, value *results) {
    const schema *s = cx->op->schema;
    const op *base;
    value computed[DERIVED_MAX];
    TRY(derived_call(cx, args, &base, computed));
    ctsc_status st = CTSC_OK;
    int k = 0;
    for (int i = 0; i < s->nargs && st == CTSC_OK && k < base->schema->nreturns; i++) {
        if (!s->args[i].alias || !s->args[i].alias->write) continue;
        if (computed[k].tag != V_TENSOR || args[i].tag != V_TENSOR) {
            st = diag_fail(cx->diag, CTSC_UNSUPPORTED, "operator %s is not supported", cx->op->key);
            break;
        }
        value place = value_none(), *into = k < s->nreturns ? &results[k] : &place;
        tensor *t = computed[k].u.tensor;
        computed[k++] = value_none(); /* the next takes it */
        st = i ? op_finish_out(cx, &args[i], t, into) : op_finish_inplace(cx, &args[i], t, into);
        value_set(&place, value_none());
    }
    derived_release(base->schema->nreturns, computed);
    if (st != CTSC_OK) derived_release(s->nreturns, results);
    return st;
}

/* The list is new, its tensors are views. */
static ctsc_status derived_copy_list(op_ctx *cx, list *l) {
    tensor *copy;
    for (size_t i = 0; l->kind == LIST_TENSOR && i < l->len; i++) {
        TRY(tensor_clone(cx->diag, l->u.tensors[i], &copy));
        list_set_take(l, i, value_tensor_take(copy));
    }
    return CTSC_OK;
}

static ctsc_status derived_copy_result(op_ctx *cx, value *v) {
    tensor *copy;
    if (v->tag == V_LIST) return derived_copy_list(cx, v->u.list);
    if (v->tag != V_TENSOR) return CTSC_OK;
    TRY(tensor_clone(cx->diag, v->u.tensor, &copy));
    value_set(v, value_tensor_take(copy));
    return CTSC_OK;
}

ctsc_status op_derived_copy(op_ctx *cx, const value *args, value *results) {
    const op *base;
    TRY(derived_call(cx, args, &base, results));
    ctsc_status s = CTSC_OK;
    for (int i = 0; i < base->schema->nreturns && s == CTSC_OK; i++)
        s = derived_copy_result(cx, &results[i]);
    if (s != CTSC_OK) derived_release(base->schema->nreturns, results);
    return s;
}
