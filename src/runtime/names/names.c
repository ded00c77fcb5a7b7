/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names.c - calls of operators with tensors whose dims have names, and dims called by their names.
 * Tests: tests/python/test_py_named.py
 */
#include "runtime/names/names.h"

#include "runtime/kernels/engine/kernel.h"

#include <string.h>

/* ---- refusals -------------------------------------------------------------------------------- */

ctsc_status names_refuse(op_ctx *cx, const op *o) {
    const char *other = names_refused_key(o);
    return diag_fail(
        cx->diag, CTSC_FAILED,
        "%s%s is not yet supported with named tensors. Please drop names via `tensor = "
        "tensor.rename(None)`, call the op with an unnamed tensor, and set names on the "
        "result of the operation.",
        other ? "aten::" : "", other ? other : o->key);
}

static ctsc_status names_refuse_written(diag *d, const names_row *have, const names_row *want) {
    strbuf a = STRBUF_INIT, b = STRBUF_INIT;
    names_print(have, &a);
    names_print(want, &b);
    ctsc_status s = diag_fail(
        d, CTSC_FAILED,
        "Name mismatch: specified out tensor with names %s are not the same as the computed "
        "output names %s. Please rename the out tensor's dims with `Tensor.rename`.",
        sb_str(&a), sb_str(&b));
    sb_free(&a);
    sb_free(&b);
    return s;
}

static bool names_same(const names_row *a, const names_row *b) {
    for (int i = 0; i < a->n; i++)
        if (a->n != b->n || !names_equal(a->of[i], b->of[i])) return false;
    return a->n == b->n;
}

static bool names_tensors_same(const value *args) {
    names_row a = names_of(args[0].u.tensor), b = names_of(args[1].u.tensor);
    return names_same(&a, &b);
}

/* ---- before ---------------------------------------------------------------------------------- */

/* Names that a written tensor has already are those that it would get. */
static ctsc_status names_check_written(const names_call *c) {
    const schema *s = c->o->schema;
    for (int i = 0; c->known && s->has_alias_write && i < s->nargs; i++) {
        const tensor *t = c->args[i].tag == V_TENSOR ? c->args[i].u.tensor : NULL;
        if (!t || !s->args[i].alias || !s->args[i].alias->write || !tensor_has_names(t)) continue;
        names_row have = names_of(t);
        if (have.n == c->row.n && !names_same(&have, &c->row))
            return names_refuse_written(c->cx->diag, &have, &c->row);
    }
    return CTSC_OK;
}

/* ---- after ----------------------------------------------------------------------------------- */

static bool names_is_argument(const names_call *c, const tensor *t) {
    for (int i = 0; i < c->o->schema->nargs; i++) {
        const alias_info *a = c->o->schema->args[i].alias;
        if (c->args[i].tag == V_TENSOR && c->args[i].u.tensor == t && !(a && a->write)) return true;
    }
    return false;
}

/* Names for the result in *slot, a tensor. One that is an argument stays as it is, and a view of it
 * has other names. */
static ctsc_status names_give(const names_call *c, const names_row *row, tensor **slot) {
    tensor *t = *slot, *view;
    names_row fit = {.n = t->ndim}, have = names_of(t);
    if (row->n > t->ndim) return CTSC_OK;
    for (int i = 0; i < row->n; i++) fit.of[t->ndim - row->n + i] = row->of[i];
    if (names_same(&fit, &have)) return CTSC_OK;
    if (names_is_argument(c, t)) {
        TRY(tensor_alias(c->cx->diag, t, &view));
        tensor_unref(t);
        *slot = t = view;
    }
    return tensor_set_names(c->cx->diag, t, &fit);
}

static ctsc_status names_give_value(const names_call *c, value *v) {
    ctsc_status s = CTSC_OK;
    if (v->tag == V_TENSOR) return names_give(c, &c->row, &v->u.tensor);
    list *l = v->tag == V_LIST && v->u.list->kind == LIST_TENSOR ? v->u.list : NULL;
    for (size_t i = 0; l && s == CTSC_OK && i < l->len; i++)
        s = names_give(c, &c->row, &l->u.tensors[i]);
    return s;
}

/* The i-th of a list has the names of the i-th that was given. */
static ctsc_status names_give_each(const names_call *c, value *v) {
    const list *from = c->args[0].u.list;
    list *l = v->tag == V_LIST ? v->u.list : NULL;
    if (!l || l->kind != LIST_TENSOR || from->kind != LIST_TENSOR) return CTSC_OK;
    for (size_t i = 0; i < l->len && i < from->len; i++) {
        names_row row = names_of(from->u.tensors[i]);
        TRY(names_give(c, &row, &l->u.tensors[i]));
    }
    return CTSC_OK;
}

/* ---- the call -------------------------------------------------------------------------------- */

ctsc_status names_run(op_ctx *cx, const op *o, int nargs, const value *args, int returns,
                      value *results, names_next next) {
    names_call c = {.cx = cx, .o = o, .args = args};
    names_rule rule = names_rule_of(o);
    if (rule == NAMES_PASSED) return next(cx, o, nargs, args, returns, results);
    if (rule == NAMES_REFUSED) return names_refuse(cx, o);
    if (rule == NAMES_EQUAL && !names_tensors_same(args))
        return results[0] = value_bool(false), CTSC_OK;
    TRY(names_infer(&c, rule));
    if (c.known) TRY(names_check(cx->diag, &c.row, c.row.n));
    TRY(names_check_written(&c));
    names_suspend();
    ctsc_status s = next(cx, o, nargs, args, returns, results);
    names_resume();
    if (s != CTSC_OK) return s;
    for (int i = 0; i < returns && s == CTSC_OK; i++) {
        if (c.known) s = names_give_value(&c, &results[i]);
        else if (rule == NAMES_EACH) s = names_give_each(&c, &results[i]);
    }
    for (int i = 0; i < returns && s != CTSC_OK; i++) value_set(&results[i], value_none());
    return s;
}

static ctsc_status names_plain(op_ctx *cx, const op *o, int nargs, const value *args, int returns,
                               value *results) {
    (void)returns;
    return op_function(o, nargs, args)(cx, args, results);
}

ctsc_status names_function(op_ctx *cx, const value *args, value *results) {
    const op *o = cx->op;
    if (names_rule_of(o) == NAMES_PASSED) return o->fn(cx, args, results);
    return names_run(cx, o, o->schema->nargs, args, o->schema->nreturns, results, names_plain);
}

/* ---- dims by name ---------------------------------------------------------------------------- */

static const char *const no_lookup =
#define NAMES(rule, families)
#define NAMES_UNSUPPORTED(keys)
#define NAMES_REFUSED_AS(key, name)
#define NAMES_NO_LOOKUP(families) " " families " "
#include "runtime/names/rules.def"
#undef NAMES
#undef NAMES_UNSUPPORTED
#undef NAMES_REFUSED_AS
#undef NAMES_NO_LOOKUP
    ;

static ctsc_status by_name_check(op_ctx *cx) {
    char word[OP_KEY_LENGTH];
    const char *name = cx->op->schema->name + strlen("aten::");
    snprintf(word, sizeof word, " %s ", name);
    if (!strstr(no_lookup, word)) return CTSC_OK;
    return diag_fail(cx->diag, CTSC_FAILED,
                     "%s: You passed a dimname (string) to this op in place of a dimension index "
                     "but it does not yet support this behavior. Please pass a dimension index to "
                     "work around this.",
                     name);
}

static ctsc_status by_name_dim(op_ctx *cx, const tensor *t, value v, int64_t *out) {
    int dim;
    if (v.tag != V_STR || !strcmp(v.u.str->bytes, "*"))
        return diag_fail(cx->diag, CTSC_FAILED,
                         "Please look up dimensions by name, got: name = None.");
    TRY(names_find(cx->diag, t, v.u.str->bytes, &dim));
    *out = dim;
    return CTSC_OK;
}

static ctsc_status by_name_dims(op_ctx *cx, const tensor *t, const list *given, value *out) {
    list *l = list_new(LIST_INT, NULL, given->len);
    ctsc_status s = l ? CTSC_OK : diag_no_memory(cx->diag);
    for (size_t i = 0; s == CTSC_OK && i < given->len; i++) {
        int64_t dim = 0;
        value item = list_get(given, i);
        s = by_name_dim(cx, t, item, &dim);
        value_unref(item);
        if (s == CTSC_OK && !list_append_take(l, value_int(dim))) s = diag_no_memory(cx->diag);
    }
    if (s == CTSC_OK) *out = value_list_take(l);
    else if (l) value_unref(value_list_take(l));
    return s;
}

static const tensor *by_name_self(const value *args) {
    const list *l = args[0].tag == V_LIST ? args[0].u.list : NULL;
    if (args[0].tag == V_TENSOR) return args[0].u.tensor;
    return l && l->kind == LIST_TENSOR && l->len ? l->u.tensors[0] : NULL;
}

static const type *by_name_word(const type *t) {
    while (t->kind == T_OPTIONAL || t->kind == T_LIST) t = type_elem(t);
    return t;
}

ctsc_status names_given(op_ctx *cx, const value *v, names_row *out) {
    const list *l = v->tag == V_LIST ? v->u.list : NULL;
    *out = (names_row){0};
    if (l && l->len > TENSOR_MAX_DIMS)
        return diag_fail(cx->diag, CTSC_LIMIT, "more than %d names", TENSOR_MAX_DIMS);
    for (size_t i = 0; l && i < l->len; i++) { /* the list keeps the text */
        value item = list_get(l, i);
        const char *name = item.tag == V_STR ? item.u.str->bytes : NULL;
        out->of[out->n++] = name && strcmp(name, "*") ? name : NULL;
        value_unref(item);
    }
    return CTSC_OK;
}

enum { BY_NAME_ARGS = 24 };

ctsc_status op_by_name(op_ctx *cx, const value *args, value *results) {
    const op *o = cx->op;
    const tensor *self = by_name_self(args);
    value given[BY_NAME_ARGS];
    const value *names = NULL;
    int n = 0;
    ctsc_status s = by_name_check(cx);
    if (s == CTSC_OK && o->schema->nargs > BY_NAME_ARGS)
        s = diag_fail(cx->diag, CTSC_INTERNAL, "%s has too many arguments", o->key);
    for (int i = 0; s == CTSC_OK && i < o->schema->nargs; i++) {
        const type *t = o->schema->args[i].type;
        int64_t dim = 0;
        if (by_name_word(t)->kind != T_STR) {
            given[n++] = value_ref(args[i]);
        } else if (t->kind == T_OPTIONAL) {
            names = &args[i];
        } else if (args[i].tag == V_LIST) {
            s = self ? by_name_dims(cx, self, args[i].u.list, &given[n]) : CTSC_OK;
            n += s == CTSC_OK;
        } else {
            s = self ? by_name_dim(cx, self, args[i], &dim) : CTSC_OK;
            if (s == CTSC_OK) given[n++] = value_int(dim);
        }
    }
    if (s == CTSC_OK) s = op_call(cx, op_named_base(o), n, given, results);
    while (n > 0) value_unref(given[--n]);
    if (s != CTSC_OK || !names || names->tag != V_LIST || results[0].tag != V_TENSOR) return s;
    names_row row;
    s = names_given(cx, names, &row);
    if (s == CTSC_OK) s = tensor_set_names(cx->diag, results[0].u.tensor, &row);
    if (s != CTSC_OK) value_set(&results[0], value_none());
    return s;
}
