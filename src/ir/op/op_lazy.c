/* SPDX-License-Identifier: Apache-2.0 */
/*
 * op_lazy.c - operators with a lazily conjugated or negated argument (tensor/conjugate.h).
 *
 * Views, copies and queries take such tensors as they are: op_takes_lazy. All others
 * compute with resolved copies. What an operator writes to a copy is copied back
 * through the lazy view, so that the underlying memory gets it with the right signs.
 * Tests: tests/python/test_py_lazy.py
 */
#include "ir/op/op.h"
#include "tensor/conjugate.h"

enum { LAZY_ARGS = 64 };

bool op_takes_lazy(const op *o) {
    const schema *s = o->schema;
    if (o->traits.asks_geometry || o->traits.reshapes) return true;
    if (s->has_alias_write) return false;
    if (o->traits.device_blind) return true;
    for (int i = 0; i < s->nreturns; i++)
        if (s->returns[i].alias) return true;
    return false;
}

static ctsc_status lazy_resolve_list(diag *d, const list *l, value *out) {
    list *made = list_new(l->kind, l->elem, l->len);
    if (!made) return diag_no_memory(d);
    *out = value_list_take(made);
    for (size_t i = 0; i < l->len; i++) {
        value item = list_get(l, i);
        tensor *t = item.tag == V_TENSOR ? item.u.tensor : NULL, *resolved;
        if (t) {
            ctsc_status s = tensor_resolve(d, t, &resolved);
            value_unref(item);
            if (s != CTSC_OK) return s;
            item = value_tensor_take(resolved);
        }
        if (!list_append_take(made, item)) return diag_no_memory(d);
    }
    return CTSC_OK;
}

static ctsc_status lazy_resolve(diag *d, const value *arg, value *out) {
    tensor *t;
    if (arg->tag == V_TENSOR) {
        TRY(tensor_resolve(d, arg->u.tensor, &t));
        *out = value_tensor_take(t);
        return CTSC_OK;
    }
    if (arg->tag == V_LIST && (arg->u.list->kind == LIST_TENSOR || arg->u.list->kind == LIST_VALUE))
        return lazy_resolve_list(d, arg->u.list, out);
    *out = value_ref(*arg);
    return CTSC_OK;
}

/* What was written to a copy of the argument goes to the argument. */
static ctsc_status lazy_write_back(diag *d, const value *arg, const value *given) {
    ctsc_status s = CTSC_OK;
    for (size_t i = 0; arg->tag == V_LIST && i < arg->u.list->len && s == CTSC_OK; i++) {
        value to = list_get(arg->u.list, i), from = list_get(given->u.list, i);
        s = lazy_write_back(d, &to, &from);
        value_unref(to);
        value_unref(from);
    }
    if (arg->tag != V_TENSOR || given->u.tensor == arg->u.tensor) return s;
    return tensor_copy(d, arg->u.tensor, given->u.tensor);
}

/* An operator that returns its argument returns that, not its copy. */
static void lazy_return_argument(const value *arg, const value *given, int n, value *results) {
    for (int i = 0; arg->tag == V_TENSOR && i < n; i++)
        if (results[i].tag == V_TENSOR && results[i].u.tensor == given->u.tensor)
            value_set(&results[i], value_ref(*arg));
}

ctsc_status op_with_resolved(op_ctx *cx, const value *args, value *results) {
    const op *o = cx->op;
    const schema *s = o->schema;
    int n = s->nargs, made = 0;
    value given[LAZY_ARGS];
    ctsc_status st = n > LAZY_ARGS ? diag_fail(cx->diag, CTSC_UNSUPPORTED,
                                               "operator %s of lazily conjugated tensors", o->key)
                                   : CTSC_OK;
    while (st == CTSC_OK && made < n) {
        given[made] = value_none();
        st = lazy_resolve(cx->diag, &args[made], &given[made]);
        made++;
    }
    if (st == CTSC_OK) st = op_function(o, n, given)(cx, given, results);
    for (int i = 0; i < n && st == CTSC_OK; i++) {
        if (s->has_alias_write && s->args[i].alias)
            st = lazy_write_back(cx->diag, &args[i], &given[i]);
        lazy_return_argument(&args[i], &given[i], s->nreturns, results);
    }
    while (made > 0) value_unref(given[--made]);
    for (int i = 0; st != CTSC_OK && i < s->nreturns; i++) value_set(&results[i], value_none());
    return st;
}
