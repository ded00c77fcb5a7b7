/* SPDX-License-Identifier: Apache-2.0 */
/*
 * py_ops.c - operators called from Python: overload resolution over objects, and values
 * from and to objects.
 *
 * Method. Overloads are tried in the order of ir/op/schemas.txt, first as the arguments are, then
 * with conversions: an int or a 0-dim tensor for a float, a string for a device, several trailing
 * ints for int[]. Fitting an argument makes its value at once; the values of an overload that does
 * not fit are dropped again. That is simpler than typing objects first, and these calls are few.
 * Ownership: values made here are released here; results become objects of the evaluator.
 * Tests: tests/unit/test_py_torch.c
 */
#include "frontend/pyeval/torch/py_torch.h"
#include "frontend/pyeval/torch/py_trace.h"

#include "base/threads/limits.h"

#include <math.h>

enum { OPS_MAX_ARGS = 64, OPS_MAX_NESTING = 60 };

/* ---- one object as a value of a type --------------------------------------------------------- */

typedef struct ops_fit {
    py *p;
    bool convert; /* with Python's and TorchScript's implicit conversions */
    int depth;
} ops_fit;

static bool ops_infer(ops_fit *f, const py_object *o, value *out);
static bool ops_fits(ops_fit *f, type *t, const argument *arg, const py_object *o, value *out);

static bool ops_give(value v, value *out) {
    *out = v;
    return true;
}

static bool ops_no_memory(ops_fit *f) {
    diag_no_memory(f->p->diag);
    return false;
}

/* The number that a 0-dim or 1-element tensor holds; V_UNINIT: it holds more, or a
 * kind of its own. */
static value ops_element(const py_object *o) {
    if (!py_is_tensor(o) || o->u.v.u.tensor->numel != 1) return value_uninit();
    return py_tensor_item(o->u.v.u.tensor, NULL);
}

static bool ops_number(ops_fit *f, const py_object *o, value *out) {
    if (py_is_number(o)) return ops_give(value_ref(o->u.v), out);
    value v = f->convert ? ops_element(o) : value_uninit();
    return v.tag != V_UNINIT && ops_give(v, out);
}

static bool ops_int(ops_fit *f, const argument *arg, const py_object *o, value *out) {
    if (o->kind == PY_SYMBOL)
        return f->depth == 0 && (f->convert || !arg || arg->leaf_text) &&
               ops_give(value_ref(o->u.v), out);
    if (arg && arg->leaf_text && !strcmp(arg->leaf_text, "ScalarType") && o->kind == PY_CLASS) {
        static const struct { const char *name; dtype dt; } classes[] = {
            {"float", DT_FLOAT64},
            {"int", DT_INT64},
            {"bool", DT_BOOL},
            {"complex", DT_COMPLEX128},
        };
        for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
            if (py_is_builtin_class(o, classes[i].name))
                return ops_give(value_int(classes[i].dt), out);
    }
    if (o->kind != PY_VALUE) return false;
    /* t.view(-1) is not t.view(dtype): the number of a dtype is a last resort. */
    bool symbol = arg && arg->leaf_text && strcmp(arg->leaf_text, "SymInt");
    if (o->u.v.tag == V_INT && (f->convert || !symbol)) return ops_give(o->u.v, out);
    if (!f->convert) return false;
    if (o->u.v.tag == V_BOOL) return ops_give(value_int(o->u.v.u.b), out);
    value v = ops_element(o);
    if (v.tag == V_INT) return ops_give(v, out);
    value_unref(v);
    return false;
}

static bool ops_float(ops_fit *f, const py_object *o, value *out) {
    if (o->kind != PY_VALUE) return false;
    value v = o->u.v.tag == V_TENSOR ? ops_element(o) : o->u.v;
    if (o->u.v.tag != V_FLOAT && !f->convert) return false;
    if (v.tag == V_FLOAT) return ops_give(v, out);
    if (v.tag == V_INT) return ops_give(value_float((double)v.u.i), out);
    if (v.tag == V_BOOL) return ops_give(value_float(v.u.b), out);
    if (o->u.v.tag == V_TENSOR) value_unref(v);
    return false;
}

static bool ops_complex(ops_fit *f, const py_object *o, value *out) {
    if (o->kind == PY_VALUE && o->u.v.tag == V_COMPLEX) return ops_give(value_ref(o->u.v), out);
    value v;
    if (!f->convert || !ops_float(f, o, &v)) return false;
    complex_box *c = complex_new(v.u.f, 0);
    return c ? ops_give((value){.tag = V_COMPLEX, .u.complex = c}, out) : ops_no_memory(f);
}

static bool ops_bool(ops_fit *f, const py_object *o, value *out) {
    if (o->kind == PY_VALUE && o->u.v.tag == V_BOOL) return ops_give(o->u.v, out);
    value v = f->convert ? ops_element(o) : value_uninit();
    if (v.tag == V_BOOL) return ops_give(v, out);
    value_unref(v);
    return false;
}

/* What operators run in; its diag is the caller's to set. */
static bool ops_context(py *p, op_ctx *cx) {
    if (!p->host.ops) return false;
    *cx = *p->host.ops;
    cx->out_types = NULL;
    return true;
}

/* Tensors of the evaluator are on the host, whatever device they are asked for on: where weights
 * live is decided when the program runs. */
static bool ops_device(ops_fit *f, const py_object *o, value *out) {
    if (o->kind != PY_VALUE) return false;
    if (o->u.v.tag == V_DEVICE) return ops_give(value_device(DEVICE_HOST), out);
    if (!f->convert) return false;
    if (o->u.v.tag == V_INT && o->u.v.u.i >= 0) return ops_give(value_device(DEVICE_HOST), out);
    if (o->u.v.tag != V_STR) return false;
    const str *text = o->u.v.u.str;
    int64_t device;
    bool known = !strcmp(text->bytes, "meta") ||
                 device_parse(NULL, text->bytes, text->len, &device) == CTSC_OK;
    return known && ops_give(value_device(DEVICE_HOST), out);
}

static bool ops_list(ops_fit *f, type *t, const argument *arg, const py_object *o, value *out) {
    type *elem = type_elem(t);
    int64_t n = arg && f->depth == 0 ? arg->fixed_size : 0;
    bool single = o->kind != PY_LIST && o->kind != PY_TUPLE;
    bool repeats = elem->kind == T_INT || elem->kind == T_FLOAT || elem->kind == T_STR;
    if (single && (!n || !repeats || f->depth)) return false;
    if (!single) n = (int64_t)o->u.seq.items.len;
    list *l = list_new(type_list_kind(elem), elem, (size_t)n);
    if (!l) return ops_no_memory(f);
    f->depth++;
    bool ok = f->depth < OPS_MAX_NESTING;
    for (int64_t i = 0; ok && i < n; i++) {
        value v;
        ok = ops_fits(f, elem, arg, single ? o : o->u.seq.items.data[i], &v);
        if (ok && !list_append_take(l, v)) ok = ops_no_memory(f);
    }
    f->depth--;
    if (ok) return ops_give(value_list_take(l), out);
    value_unref(value_list_take(l));
    return false;
}

static bool ops_tuple(ops_fit *f, type *t, const py_object *o, value *out) {
    if ((o->kind != PY_TUPLE && !(f->convert && o->kind == PY_LIST)) ||
        o->u.seq.items.len != (size_t)t->nelems)
        return false;
    tuple *made = tuple_new((size_t)t->nelems, t->field_names ? t : NULL);
    if (!made) return ops_no_memory(f);
    f->depth++;
    bool ok = f->depth < OPS_MAX_NESTING;
    for (int i = 0; ok && i < t->nelems; i++)
        ok = ops_fits(f, t->elems[i], NULL, o->u.seq.items.data[i], &made->items[i]);
    f->depth--;
    if (ok) return ops_give(value_tuple_take(made), out);
    value_unref(value_tuple_take(made));
    return false;
}

static bool ops_dict(ops_fit *f, type *t, const py_object *o, value *out) {
    if (o->kind != PY_DICT) return false;
    dict *d = dict_new(t->elems[0], t->elems[1]);
    if (!d) return ops_no_memory(f);
    f->depth++;
    bool ok = f->depth < OPS_MAX_NESTING;
    const py_dict *from = o->u.dict;
    for (size_t i = 0; ok && i < from->entries.len; i++) {
        value k, v;
        if (!from->entries.data[i].key) continue;
        if (!(ok = ops_fits(f, t->elems[0], NULL, from->entries.data[i].key, &k))) break;
        if (!(ok = ops_fits(f, t->elems[1], NULL, from->entries.data[i].val, &v))) {
            value_unref(k);
            break;
        }
        if (!dict_set_take(d, k, v)) ok = ops_no_memory(f);
    }
    f->depth--;
    if (ok) return ops_give(value_dict_take(d), out);
    value_unref(value_dict_take(d));
    return false;
}

/* Can o be passed for an argument of type t? *out: its value, owned.
 * Failing leaves nothing in the diag except out of memory. */
static bool ops_fits(ops_fit *f, type *t, const argument *arg, const py_object *o, value *out) {
    if (t->kind == T_INT || t->kind == T_FLOAT || t->kind == T_NUMBER || t->kind == T_STR)
        o = py_plain(o);
    switch (t->kind) {
    case T_TENSOR: return py_is_tensor(o) && ops_give(value_ref(o->u.v), out);
    case T_INT: return ops_int(f, arg, o, out);
    case T_FLOAT: return ops_float(f, o, out);
    case T_BOOL: return ops_bool(f, o, out);
    case T_COMPLEX: return ops_complex(f, o, out);
    case T_NUMBER: return ops_number(f, o, out);
    case T_STR: return py_is_string(o) && ops_give(value_ref(o->u.v), out);
    case T_NONE: return py_is_none(o) && ops_give(value_none(), out);
    case T_DEVICE: return ops_device(f, o, out);
    case T_GENERATOR:
        return o->kind == PY_VALUE && o->u.v.tag == V_CAPSULE && ops_give(value_ref(o->u.v), out);
    case T_OPTIONAL:
        if (py_is_none(o)) return ops_give(value_none(), out);
        return ops_fits(f, type_elem(t), arg, o, out);
    case T_UNION:
        for (int i = 0; i < t->nelems; i++)
            if (ops_fits(f, t->elems[i], NULL, o, out)) return true;
        return false;
    case T_LIST: return ops_list(f, t, arg, o, out);
    case T_TUPLE: return ops_tuple(f, t, o, out);
    case T_DICT: return ops_dict(f, t, o, out);
    case T_ANY: return ops_infer(f, o, out);
    default: {
        value v;
        if (!ops_infer(f, o, &v)) return false;
        if (type_admits_value(t, v)) return ops_give(v, out);
        value_unref(v);
        return false;
    }
    }
}

/* ---- values of objects whose type is not given ----------------------------------------------- */

/* The type of n inferred values together; NULL: they have none in common. */
static type *ops_unified(const value *v, size_t n, size_t step) {
    type *t = NULL;
    for (size_t i = 0; i < n; i++) {
        type *one = type_of_value(v[i * step]);
        t = t ? type_unify(t, one, false) : one;
        if (!t) return NULL;
    }
    return t ? t : TYPE_TENSOR;
}

static void ops_drop(value *v, size_t n) {
    for (size_t i = 0; i < n; i++) value_unref(v[i]);
    mem_free(v);
}

static bool ops_infer_list(ops_fit *f, const py_object *o, value *out) {
    size_t n = o->u.seq.items.len, done = 0;
    value *items = mem_zalloc((n + 1) * sizeof *items);
    if (!items) return ops_no_memory(f);
    while (done < n && ops_infer(f, o->u.seq.items.data[done], &items[done])) done++;
    type *elem = done == n ? ops_unified(items, n, 1) : NULL;
    list *l = elem ? list_new(type_list_kind(elem), elem, n) : NULL;
    if (elem && !l) diag_no_memory(f->p->diag);
    for (size_t i = 0; l && i < n; i++)
        if (!list_append_take(l, value_ref(items[i]))) {
            value_unref(value_list_take(l));
            l = NULL;
            diag_no_memory(f->p->diag);
        }
    ops_drop(items, done);
    return l && ops_give(value_list_take(l), out);
}

static bool ops_infer_dict(ops_fit *f, const py_object *o, value *out) {
    const py_dict *from = o->u.dict;
    size_t n = 0;
    value *items = mem_zalloc((2 * from->entries.len + 1) * sizeof *items);
    if (!items) return ops_no_memory(f);
    bool ok = true;
    for (size_t i = 0; ok && i < from->entries.len; i++) {
        if (!from->entries.data[i].key) continue;
        ok = ops_infer(f, from->entries.data[i].key, &items[n]) && ++n &&
             ops_infer(f, from->entries.data[i].val, &items[n]) && ++n;
    }
    type *key = ok ? n ? ops_unified(items, n / 2, 2) : TYPE_STR : NULL;
    type *val = key ? ops_unified(items + 1, n / 2, 2) : NULL;
    dict *d = val ? dict_new(key, val) : NULL;
    if (val && !d) diag_no_memory(f->p->diag);
    for (size_t i = 0; d && i < n; i += 2)
        if (!dict_set_take(d, value_ref(items[i]), value_ref(items[i + 1]))) {
            value_unref(value_dict_take(d));
            d = NULL;
            diag_no_memory(f->p->diag);
        }
    ops_drop(items, n);
    return d && ops_give(value_dict_take(d), out);
}

static bool ops_infer_tuple(ops_fit *f, const py_object *o, value *out) {
    size_t n = o->u.seq.items.len;
    tuple *t = tuple_new(n, NULL);
    if (!t) return ops_no_memory(f);
    for (size_t i = 0; i < n; i++)
        if (!ops_infer(f, o->u.seq.items.data[i], &t->items[i])) {
            value_unref(value_tuple_take(t));
            return false;
        }
    return ops_give(value_tuple_take(t), out);
}

static bool ops_infer(ops_fit *f, const py_object *o, value *out) {
    o = py_plain(o);
    if (o->kind == PY_VALUE || o->kind == PY_SYMBOL) return ops_give(value_ref(o->u.v), out);
    if (f->depth >= OPS_MAX_NESTING) return false;
    f->depth++;
    bool ok = o->kind == PY_LIST    ? ops_infer_list(f, o, out)
              : o->kind == PY_TUPLE ? ops_infer_tuple(f, o, out)
              : o->kind == PY_DICT  ? ops_infer_dict(f, o, out)
                                    : false;
    f->depth--;
    return ok;
}

bool py_to_value(py *p, source_range r, const py_object *o, type *t, value *out) {
    ops_fit f = {.p = p};
    value v;
    bool ok = t ? ops_fits(&f, t, NULL, o, &v) : ops_infer(&f, o, &v);
    if (!ok && t && p->diag->status == CTSC_OK) {
        f = (ops_fit){.p = p, .convert = true};
        ok = ops_fits(&f, t, NULL, o, &v);
    }
    if (ok) {
        *out = v;
        return true;
    }
    if (p->diag->status != CTSC_OK) return false;
    if (!t)
        return py_fail(p, r, "TypeError", "an object of type '%s' is not a TorchScript value",
                       py_type_name(o)),
               false;
    strbuf text = STRBUF_INIT;
    type_print_python(t, &text);
    py_fail(p, r, "TypeError", "expected a value of type '%s' but found one of type '%s'",
            sb_str(&text), py_type_name(o));
    sb_free(&text);
    return false;
}

/* ---- objects of values ----------------------------------------------------------------------- */

static py_object *ops_sequence(py *p, py_kind kind, size_t n,
                               value (*get)(const void *from, size_t i), const void *from) {
    py_object *o = py_new(p, kind);
    for (size_t i = 0; i < n; i++) {
        py_object *item = py_from_value(p, get(from, i));
        if (!item || !avec_push(p->a, &o->u.seq.items, item)) return NULL;
    }
    return o;
}

static value ops_list_get(const void *l, size_t i) { return list_get(l, i); }
static value ops_tuple_get(const void *t, size_t i) {
    return value_ref(((const tuple *)t)->items[i]);
}

static py_object *ops_dict_object(py *p, const dict *d) {
    py_object *o = py_new(p, PY_DICT);
    o->u.dict = py_dict_new(p);
    for (size_t i = 0; i < d->used; i++) {
        if (d->entries[i].key.tag == V_UNINIT) continue;
        py_object *k = py_from_value(p, value_ref(d->entries[i].key));
        py_object *v = k ? py_from_value(p, value_ref(d->entries[i].val)) : NULL;
        if (!v || !py_dict_set_key(p, o->u.dict, k, v)) return NULL;
    }
    return o;
}

py_object *py_from_value(py *p, value v) {
    py_object *o;
    switch (v.tag) {
    case V_NONE: return p->none;
    case V_BOOL: return v.u.b ? p->true_ : p->false_;
    case V_LIST: o = ops_sequence(p, PY_LIST, v.u.list->len, ops_list_get, v.u.list); break;
    case V_TUPLE: o = ops_sequence(p, PY_TUPLE, v.u.tuple->len, ops_tuple_get, v.u.tuple); break;
    case V_DICT: o = ops_dict_object(p, v.u.dict); break;
    case V_CAPSULE:
        if (v.u.capsule->kind != capsule_opaque) return py_value_take(p, v);
        o = py_stub(p, (source_range){0}, v.u.capsule->ptr);
        break;
    default: return py_value_take(p, v);
    }
    value_unref(v);
    return o;
}

/* ---- overloads ------------------------------------------------------------------------------- */

typedef struct ops_call {
    py *p;
    source_range range;
    int nargs, nkw;
    py_object **args, **kwargs;
    const char *const *names;
    value full[OPS_MAX_ARGS]; /* one per schema argument */
    /* the object it came from, NULL: a default, or a collected list that nobody records */
    const py_object *of[OPS_MAX_ARGS];
    int filled; /* how many of full are set */
} ops_call;

static void ops_release(ops_call *c) {
    for (int i = 0; i < c->filled; i++) value_unref(c->full[i]);
    c->filled = 0;
}

/* Python calls the first tensor `input` where schemas say self; dim and keepdim have
 * numpy's names too. */
static bool ops_same_name(const char *given, const char *formal) {
    static const char *const aliases[][2] = {
        {"input", "self"}, {"axis", "dim"}, {"keepdims", "keepdim"}, {"x", "self"}, {"x2", "other"},
    };
    if (!strcmp(given, formal)) return true;
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (!strcmp(given, aliases[i][0]) && !strcmp(formal, aliases[i][1])) return true;
    return false;
}

static int ops_keyword(const ops_call *c, const char *formal) {
    for (int k = 0; k < c->nkw; k++)
        if (ops_same_name(c->names[k], formal)) return k;
    return -1;
}

/* f(1, 2, 3) where the schema has one int[]: the list is what remains. */
static bool ops_collect(ops_call *c, const schema *s, int i, int *used, ops_fit *f) {
    const argument *arg = &s->args[i];
    bool last = i + 1 == s->nargs || s->args[i + 1].kwarg_only;
    if (!f->convert || !last || arg->type->kind != T_LIST || arg->type->has_var) return false;
    const py_object *first = c->args[*used];
    if (first->kind == PY_LIST || first->kind == PY_TUPLE) return false;
    py_object rest = {.kind = PY_TUPLE};
    rest.u.seq.items.data = c->args + *used;
    rest.u.seq.items.len = (size_t)(c->nargs - *used);
    if (!ops_fits(f, arg->type, NULL, &rest, &c->full[i])) return false;
    if (f->p->recorder && !(c->of[i] = py_tuple(f->p, c->nargs - *used, c->args + *used)))
        return false;
    *used = c->nargs;
    return true;
}

static bool ops_argument(ops_call *c, const schema *s, int i, int *used, uint64_t *used_kw,
                         ops_fit *f) {
    const argument *arg = &s->args[i];
    c->of[i] = NULL;
    if (!arg->kwarg_only && *used < c->nargs) {
        const py_object *o = c->args[*used];
        if (ops_fits(f, arg->type, arg, o, &c->full[i])) {
            c->of[i] = o;
            ++*used;
            return true;
        }
        return ops_collect(c, s, i, used, f);
    }
    int k = ops_keyword(c, arg->name);
    if (k >= 0) {
        *used_kw |= 1ull << k;
        c->of[i] = c->kwargs[k];
        return ops_fits(f, arg->type, arg, c->kwargs[k], &c->full[i]);
    }
    if (!arg->has_default) return false; /* `names`, too, which would take None */
    c->full[i] = value_ref(arg->default_value);
    return true;
}

/* Fills c->full for the schema; false: it does not fit. */
static bool ops_try(ops_call *c, const schema *s, bool convert) {
    if (s->vararg || s->nargs > OPS_MAX_ARGS || c->nkw > 63) return false;
    for (int i = 0; i < s->nargs; i++)
        if (s->args[i].type->has_var) return false;
    ops_fit f = {.p = c->p, .convert = convert};
    int used = 0;
    uint64_t used_kw = 0;
    for (c->filled = 0; c->filled < s->nargs; c->filled++)
        if (!ops_argument(c, s, c->filled, &used, &used_kw, &f)) {
            ops_release(c);
            return false;
        }
    if (used == c->nargs && used_kw == (c->nkw ? ~0ull >> (64 - c->nkw) : 0)) return true;
    ops_release(c);
    return false;
}

/* Can the overload be meant at all: is every argument there that it needs? (torch.empty's forms
 * with names and with out have such.) */
static bool ops_may_mean(const ops_call *c, const schema *s) {
    for (int i = 0; i < s->nargs; i++) {
        const argument *a = &s->args[i];
        if (!a->has_default && (a->kwarg_only || i >= c->nargs) && ops_keyword(c, a->name) < 0)
            return false;
    }
    return true;
}

/* Types as torch's messages call them where they are lists. */
static void ops_put_type(const type *t, strbuf *text) {
    const type *elem = t->kind == T_LIST ? type_elem(t) : NULL;
    if (elem && elem->kind == T_INT) sb_puts(text, "tuple of ints");
    else if (elem && elem->kind == T_TENSOR) sb_puts(text, "tuple of Tensors");
    else type_print_python(t, text);
}

/* "argument 'size' (position 1) must be tuple of ints, not float", or which of its
 * items does not fit. */
static void ops_describe(const ops_call *c, const argument *a, int position, const py_object *o,
                         strbuf *text) {
    sb_printf(text, "argument '%s'", !strcmp(a->name, "self") ? "input" : a->name);
    if (position) sb_printf(text, " (position %d)", position);
    sb_puts(text, " must be ");
    ops_put_type(a->type, text);
    sb_puts(text, ", ");
    bool items = (o->kind == PY_LIST || o->kind == PY_TUPLE) && a->type->kind == T_LIST;
    ops_fit f = {.p = c->p, .convert = true};
    for (size_t i = 0; items && i < o->u.seq.items.len; i++) {
        value v;
        if (ops_fits(&f, type_elem(a->type), NULL, o->u.seq.items.data[i], &v)) {
            value_unref(v);
            continue;
        }
        sb_printf(text, "but found element of type %s at pos %zu",
                  py_type_name(o->u.seq.items.data[i]), i);
        return;
    }
    sb_printf(text, "not %s", py_type_name(o));
}

/* The first argument that the overload does not take; false: it is their number or a name. */
static bool ops_blame(ops_call *c, const schema *s, strbuf *text) {
    ops_fit f = {.p = c->p, .convert = true};
    for (int i = 0; i < s->nargs && i < OPS_MAX_ARGS; i++) {
        const argument *a = &s->args[i];
        int k = i < c->nargs && !a->kwarg_only ? -1 : ops_keyword(c, a->name);
        const py_object *o = i < c->nargs && !a->kwarg_only ? c->args[i]
                             : k >= 0                       ? c->kwargs[k]
                                                            : NULL;
        value v;
        if (!o) continue;
        py_object rest = {.kind = PY_TUPLE};
        bool last = i + 1 == s->nargs || s->args[i + 1].kwarg_only,
             items = o->kind == PY_LIST || o->kind == PY_TUPLE;
        if (k < 0 && a->type->kind == T_LIST && last && !items) { /* f(1, 2, 3) */
            rest.u.seq.items.data = c->args + i;
            rest.u.seq.items.len = (size_t)(c->nargs - i);
            o = &rest;
        }
        if (ops_fits(&f, a->type, a, o, &v)) {
            value_unref(v);
            continue;
        }
        ops_describe(c, a, k < 0 ? i + 1 : 0, o, text);
        return true;
    }
    return false;
}

static py_object *ops_misfit(ops_call *c, const char *op_name, int n, const op *const *overloads) {
    strbuf text = STRBUF_INIT;
    const char *name = strstr(op_name, "::");
    const schema *meant = NULL;
    int candidates = 0;
    for (int i = 0; i < n; i++)
        if (ops_may_mean(c, overloads[i]->schema)) meant = overloads[i]->schema, candidates++;
    if (candidates == 1) {
        sb_printf(&text, "%s(): ", name ? name + 2 : op_name);
        bool blamed = ops_blame(c, meant, &text);
        if (blamed) py_fail(c->p, c->range, "TypeError", "%s", sb_str(&text));
        sb_free(&text);
        if (blamed) return NULL;
        text = (strbuf)STRBUF_INIT;
    }
    sb_printf(&text, "%s() received an invalid combination of arguments - got (",
              name ? name + 2 : op_name);
    for (int i = 0; i < c->nargs + c->nkw; i++) {
        const py_object *o = i < c->nargs ? c->args[i] : c->kwargs[i - c->nargs];
        if (i) sb_puts(&text, ", ");
        if (i >= c->nargs) sb_printf(&text, "%s=", c->names[i - c->nargs]);
        sb_puts(&text, py_type_name(o));
    }
    sb_puts(&text, "), but expected one of:");
    for (int i = 0; i < n; i++) {
        if (candidates && !ops_may_mean(c, overloads[i]->schema)) continue;
        sb_puts(&text, "\n * ");
        schema_print(overloads[i]->schema, &text);
    }
    py_fail(c->p, c->range, "TypeError", "%s", sb_str(&text));
    sb_free(&text);
    return NULL;
}

/* ---- weights that come from elsewhere -------------------------------------------------------- */

static bool ops_listed(const char *const *names, size_t n, const char *name) {
    for (size_t i = 0; i < n; i++)
        if (!strcmp(names[i], name)) return true;
    return false;
}
#define OPS_LISTED(names, name) ops_listed(names, sizeof names / sizeof *names, name)

/* Does nothing have to be done, since t's elements are never looked at: random numbers, and what is
 * computed of them in place, as trunc_normal_ does? */
static bool ops_skips(py *p, const tensor *t, const char *name) {
    static const char *const random[] = {"uniform_",   "normal_", "random_",    "exponential_",
                                         "bernoulli_", "cauchy_", "geometric_", "log_normal_"};
    static const char *const derived[] = {"erfinv_",    "mul_", "add_",   "sub_",
                                          "div_",       "neg_", "clamp_", "clamp_min_",
                                          "clamp_max_", "exp_", "log_",   "sqrt_"};
    static const char *const overwriting[] = {"fill_", "zero_", "copy_"};
    if (OPS_LISTED(random, name)) {
        if (!ptrmap_put(&p->unfilled, t->storage, p)) diag_no_memory(p->diag);
        return true;
    }
    if (!ptrmap_get(&p->unfilled, t->storage)) return false;
    if (OPS_LISTED(overwriting, name) && !ptrmap_put(&p->unfilled, t->storage, NULL))
        diag_no_memory(p->diag);
    return OPS_LISTED(derived, name);
}

/* ---- results --------------------------------------------------------------------------------- */

/* The object whose tensor a result is: operators that return an argument return its object. */
static py_object *ops_result(ops_call *c, const schema *s, value v) {
    if (v.tag == V_TENSOR)
        for (int i = 0; i < s->nargs; i++)
            if (c->of[i] && py_is_tensor(c->of[i]) && c->of[i]->u.v.u.tensor == v.u.tensor) {
                value_unref(v);
                return (py_object *)c->of[i];
            }
    return py_from_value(c->p, v);
}

/* torch.max(x, 0) has .values and .indices. */
static py_object *ops_tuple_class(py *p, const schema *s) {
    if (!s->returns[0].name || !s->returns[0].name[0]) return NULL;
    const char *name = strstr(s->name, "::");
    py_object *mod = py_new(p, PY_MODULE); /* of its own: classes of the same name may differ */
    mod->u.mod.name = "torch.return_types";
    mod->u.mod.globals = py_dict_new(p);
    py_object *cls = py_tuple_class(p, mod, intern(p->names, name ? name + 2 : s->name));
    if (!cls) return NULL;
    cls->u.cls->field_defaults = arena_array(p->a, py_object *, s->nreturns);
    cls->u.cls->field_types = arena_array(p->a, const expr *, s->nreturns);
    for (int i = 0; i < s->nreturns; i++)
        if (!avec_push(p->a, &cls->u.cls->fields, intern(p->names, s->returns[i].name)))
            return NULL;
    return cls;
}

/* in: the arguments in the graph that records the call; NULL: none does. */
static py_object *ops_results(ops_call *c, const op *o, value *results, ir_value *const *in) {
    const schema *s = o->schema;
    py_object *items[OPS_MAX_ARGS];
    bool ok = true;
    for (int i = 0; i < s->nreturns; i++) ok &= (items[i] = ops_result(c, s, results[i])) != NULL;
    if (!ok || (in && !py_trace_results(c->p, c->range, o, in, items))) return NULL;
    if (s->nreturns < 2) return s->nreturns ? items[0] : c->p->none;
    py_object *t = py_tuple(c->p, s->nreturns, items);
    if (t) t->u.seq.seq_cls = ops_tuple_class(c->p, s);
    return t;
}

py_object *py_kernel_failed(py *p, source_range r) {
    static const char *const index_errors[] = {"Dimension out of range", "index ",
                                               "too many indices", "Dimension specified"};
    diag *d = p->diag;
    diag_locate(d, r);
    if (d->status != CTSC_FAILED || d->exception) return NULL;
    const char *cls = "builtins.RuntimeError";
    for (size_t i = 0; i < sizeof index_errors / sizeof *index_errors; i++)
        if (!strncmp(diag_message(d), index_errors[i], strlen(index_errors[i])))
            cls = "builtins.IndexError";
    py_name_exception(p, cls);
    return NULL;
}

/* An operator's own loops count as steps of the code that calls it. */
typedef struct ops_limits { limits limits, *outer; uint64_t left; } ops_limits;

static void ops_limits_begin(const py *p, ops_limits *l) {
    uint64_t most = py_max_steps(p);
    l->left = p->steps < most ? most - p->steps : 0;
    l->limits = (limits){.steps_left = &l->left};
    l->outer = limits_use(&l->limits);
}

static void ops_limits_end(py *p, ops_limits *l) {
    uint64_t most = py_max_steps(p);
    if (p->steps < most) p->steps = most - l->left;
    limits_use(l->outer);
}

bool py_run_op(py *p, source_range r, const char *key, int nargs, const value *args,
               value *result) {
    op_ctx cx;
    if (!ops_context(p, &cx)) return py_unsupported(p, r, "operators cannot run here"), false;
    cx.diag = p->diag;
    value out[2] = {value_none(), value_none()};
    ops_limits own;
    ops_limits_begin(p, &own);
    ctsc_status s = op_call(&cx, key, nargs, args, out);
    ops_limits_end(p, &own);
    if (s != CTSC_OK) return py_kernel_failed(p, r), false;
    *result = out[0];
    value_unref(out[1]);
    return true;
}

static py_object *ops_run(ops_call *c, const op *o) {
    const schema *s = o->schema;
    if (!o->fn) return py_unsupported(c->p, c->range, "operator %s is not supported", o->key);
    if (s->nreturns > OPS_MAX_ARGS)
        return py_unsupported(c->p, c->range, "operator %s has too many results", o->key);
    value results[OPS_MAX_ARGS];
    op_ctx cx;
    if (!ops_context(c->p, &cx)) return py_unsupported(c->p, c->range, "operators cannot run here");
    for (int i = 0; i < s->nreturns; i++) results[i] = value_none();
    if (!py_autocast_arguments(c->p, c->range, o, c->of, c->full)) return NULL;
    ir_value *in[OPS_MAX_ARGS];
    bool records = py_tracing(c->p);
    if (records && !py_trace_arguments(c->p, c->range, o, c->of, c->full, &records, in))
        return NULL;
    cx.diag = c->p->diag;
    cx.op = o;
    cx.nargs = s->nargs;
    ops_limits own;
    ops_limits_begin(c->p, &own);
    ctsc_status st = c->p->records ? c->p->host.training->call(&cx, o, s->nargs, c->full,
                                                               s->nreturns, results)
                                   : op_function(o, s->nargs, c->full)(&cx, c->full, results);
    ops_limits_end(c->p, &own);
    if (st == CTSC_OK) return ops_results(c, o, results, records ? in : NULL);
    for (int i = 0; i < s->nreturns; i++) value_unref(results[i]);
    return py_kernel_failed(c->p, c->range);
}

/* ---- the call -------------------------------------------------------------------------------- */

/* Factory functions take requires_grad, which their schemas do not have: takes it out
 * of the keywords. */
static bool ops_take_requires_grad(ops_call *c, int n, const op *const *overloads, bool *wanted) {
    int k = ops_keyword(c, "requires_grad");
    *wanted = false;
    for (int i = 0; i < n && k >= 0; i++)
        if (schema_find_arg(overloads[i]->schema, "requires_grad") >= 0) k = -1;
    if (k < 0) return true;
    if (!py_truth(c->p, c->range, c->kwargs[k], wanted)) return false;
    const char **names = arena_array(c->p->a, const char *, c->nkw);
    py_object **kwargs = arena_array(c->p->a, py_object *, c->nkw);
    int left = 0;
    for (int i = 0; i < c->nkw; i++)
        if (i != k) {
            names[left] = c->names[i];
            kwargs[left++] = c->kwargs[i];
        }
    c->names = names;
    c->kwargs = kwargs;
    c->nkw = left;
    return true;
}

static py_object *ops_resolve(ops_call *c, const char *op_name, int n, const op *const *overloads) {
    for (int convert = 0; convert < 2; convert++)
        for (int i = 0; i < n; i++) {
            if (ops_try(c, overloads[i]->schema, convert)) {
                py_object *o = ops_run(c, overloads[i]);
                ops_release(c);
                return o;
            }
            if (c->p->diag->status != CTSC_OK) return NULL;
        }
    return ops_misfit(c, op_name, n, overloads);
}

/* An operator may look at every element, and an expanded tensor has more than memory holds. */
static bool ops_count_work(py *p, source_range r, int nargs, py_object **args) {
    uint64_t elements = 0;
    for (int i = 0; i < nargs; i++)
        if (py_is_tensor(args[i]))
            elements += (uint64_t)args[i]->u.v.u.tensor->numel / (PY_STEP_BYTES / 4);
    return py_work(p, r, elements);
}

/* nonzero(x, as_tuple=True): Python's binding calls an operator of another name. */
static py_object *ops_nonzero(py *p, source_range r, int nargs, py_object **args, py_object *flag) {
    bool as_tuple;
    if (!py_truth(p, r, flag, &as_tuple)) return NULL;
    py_object *o = py_call_operator(p, r, as_tuple ? "aten::nonzero_numpy" : "aten::nonzero", nargs,
                                    args, 0, NULL, NULL);
    return o && as_tuple && o->kind == PY_LIST
               ? py_tuple(p, (int)o->u.seq.items.len, o->u.seq.items.data)
               : o;
}

py_object *py_call_operator(py *p, source_range r, const char *op_name, int nargs, py_object **args,
                            int nkw, const char *const *names, py_object **kwargs) {
    int n;
    if (nkw == 1 && !strcmp(names[0], "as_tuple") && !strcmp(op_name, "aten::nonzero"))
        return ops_nonzero(p, r, nargs, args, kwargs[0]);
    const op *const *overloads = op_overloads(op_name, &n);
    if (!n) return py_fail(p, r, "AttributeError", "there is no operator %s", op_name);
    const char *base = strstr(op_name, "::");
    bool grad;
    if (overloads[0]->name_symbol == SYM_SET_GRAD_ENABLED && nargs == 1) /* used by no_grad */
        return py_truth(p, r, args[0], &grad) ? (py_set_gradients(p, grad), p->none) : NULL;
    if (overloads[0]->name_symbol == SYM_IS_GRAD_ENABLED) return py_bool(p, !p->no_grad);
    if (p->host.skip_init && nargs && py_is_tensor(args[0]) && base &&
        ops_skips(p, args[0]->u.v.u.tensor, base + 2))
        return p->diag->status == CTSC_OK ? args[0] : NULL;
    if (!ops_count_work(p, r, nargs, args)) return NULL;
    ops_call *c = mem_zalloc(sizeof *c);
    if (!c) return diag_no_memory(p->diag), NULL;
    *c = (ops_call){.p = p,
                    .range = r,
                    .nargs = nargs,
                    .args = args,
                    .nkw = nkw,
                    .names = names,
                    .kwargs = kwargs};
    bool wants_grad;
    py_object *o = NULL;
    if (nkw > 63) py_fail(p, r, "TypeError", "%s() got too many keyword arguments", op_name);
    else if (ops_take_requires_grad(c, n, overloads, &wants_grad))
        o = ops_resolve(c, op_name, n, overloads);
    if (o && wants_grad && py_is_tensor(o)) o->u.v.u.tensor->requires_grad = true;
    mem_free(c);
    return o;
}
