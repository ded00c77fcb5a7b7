/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interp_args.c - arguments from outside: checked against a function's
 * schema, and converted to the form that its types require.
 *
 * Converted are, as PyTorch's Python binding does: bool and int to float, int to complex, bool to
 * int, a number to bool, a text to a device, a tensor of one element to a number; a tuple to a list
 * and a list to a tuple; the elements of containers likewise; a plain tuple to the NamedTuple asked
 * for. A container that fits already is shared, not copied. None is an undefined tensor, which may
 * be passed on and which operators refuse.
 * Tests: tests/unit/test_interp.c
 */
#include "runtime/interp/interp.h"
#include "tensor/device.h"

typedef enum conversion { CONVERTED, UNFIT, NO_MEMORY } conversion;

static conversion convert(value in, type *t, value *out);

/* A tensor of one element for a number: any for a float, an integer one for an int. */
static bool convert_element(value *in, type_kind k) {
    tensor *t = in->u.tensor, *here;
    if (t->numel != 1 || dtype_is_complex((dtype)t->dtype)) return false;
    if (k == T_INT && dtype_is_float((dtype)t->dtype)) return false;
    if (tensor_to_device(NULL, t, DEVICE_HOST, &here) != CTSC_OK) return false;
    *in = k == T_INT ? value_int(tensor_item_int(here)) : value_float(tensor_item_float(here));
    tensor_unref(here);
    return true;
}

static conversion convert_scalar(value in, type_kind k, value *out) {
    if (in.tag == V_TENSOR && (k == T_INT || k == T_FLOAT) && !convert_element(&in, k))
        return UNFIT;
    switch (k) {
    case T_INT:
        if (in.tag == V_INT) *out = in;
        else if (in.tag == V_BOOL) *out = value_int(in.u.b);
        else return UNFIT;
        return CONVERTED;
    case T_FLOAT:
        if (in.tag == V_FLOAT) *out = in;
        else if (in.tag == V_INT) *out = value_float((double)in.u.i);
        else if (in.tag == V_BOOL) *out = value_float(in.u.b);
        else return UNFIT;
        return CONVERTED;
    default: break;
    }
    if (in.tag != V_COMPLEX && in.tag != V_FLOAT && in.tag != V_INT && in.tag != V_BOOL)
        return UNFIT;
    if (k == T_NUMBER || in.tag == V_COMPLEX) {
        *out = value_ref(in);
        return CONVERTED;
    }
    double re = in.tag == V_FLOAT ? in.u.f : in.tag == V_INT ? (double)in.u.i : in.u.b;
    complex_box *c = complex_new(re, 0);
    if (!c) return NO_MEMORY;
    *out = (value){.tag = V_COMPLEX, .u.complex = c};
    return CONVERTED;
}

/* Number of elements of a list or tuple, and element i, borrowed or scalar. */
static size_t sequence_len(value v) { return v.tag == V_LIST ? v.u.list->len : v.u.tuple->len; }
static value sequence_get(value v, size_t i) { /* a new reference */
    return v.tag == V_LIST ? list_get(v.u.list, i) : value_ref(v.u.tuple->items[i]);
}

static conversion convert_list(value in, type *t, value *out) {
    type *elem = type_elem(t);
    if (in.tag != V_LIST && in.tag != V_TUPLE) return UNFIT;
    list_kind kind = type_list_kind(elem);
    if (in.tag == V_LIST && in.u.list->kind == kind && in.u.list->elem == elem) {
        *out = value_ref(in);
        return CONVERTED;
    }
    size_t n = sequence_len(in);
    list *l = list_new(kind, elem, n);
    conversion c = l ? CONVERTED : NO_MEMORY;
    for (size_t i = 0; i < n && c == CONVERTED; i++) {
        value old = sequence_get(in, i), v;
        c = convert(old, elem, &v);
        if (c == CONVERTED && !list_append_take(l, v)) c = NO_MEMORY;
        value_unref(old);
    }
    if (c == CONVERTED) *out = value_list_take(l);
    else if (l) value_unref(value_list_take(l));
    return c;
}

static conversion convert_entry(dict *d, const dict_entry *e, type *t) {
    value key, val;
    conversion c = convert(e->key, t->elems[0], &key);
    if (c != CONVERTED) return c;
    c = convert(e->val, t->elems[1], &val);
    if (c != CONVERTED) {
        value_unref(key);
        return c;
    }
    return dict_set_take(d, key, val) ? CONVERTED : NO_MEMORY;
}

static conversion convert_dict(value in, type *t, value *out) {
    if (in.tag != V_DICT) return UNFIT;
    const dict *from = in.u.dict;
    if (from->key_type == t->elems[0] && from->val_type == t->elems[1]) {
        *out = value_ref(in);
        return CONVERTED;
    }
    dict *d = dict_new(t->elems[0], t->elems[1]);
    conversion c = d ? CONVERTED : NO_MEMORY;
    for (size_t i = 0; i < from->used && c == CONVERTED; i++)
        if (from->entries[i].key.tag != V_UNINIT) c = convert_entry(d, &from->entries[i], t);
    if (c == CONVERTED) *out = value_dict_take(d);
    else if (d) value_unref(value_dict_take(d));
    return c;
}

static conversion convert_tuple(value in, type *t, value *out) {
    if ((in.tag != V_TUPLE && in.tag != V_LIST) || sequence_len(in) != (size_t)t->nelems)
        return UNFIT;
    tuple *to = tuple_new((size_t)t->nelems, t->field_names ? t : NULL);
    if (!to) return NO_MEMORY;
    conversion c = CONVERTED;
    for (int i = 0; i < t->nelems && c == CONVERTED; i++) {
        value old = sequence_get(in, (size_t)i), v;
        c = convert(old, t->elems[i], &v);
        if (c == CONVERTED) to->items[i] = v;
        value_unref(old);
    }
    if (c == CONVERTED) *out = value_tuple_take(to);
    else value_unref(value_tuple_take(to));
    return c;
}

/* Optional, Union: the first member that fits as it is, else the first that can be made to fit. */
static conversion convert_union(value in, const type *t, value *out) {
    if (in.tag == V_NONE && type_admits_none(t)) {
        *out = in;
        return CONVERTED;
    }
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < t->nelems; i++) {
            /* anything might be made one */
            bool loose = t->kind == T_UNION &&
                         (t->elems[i]->kind == T_BOOL || t->elems[i]->kind == T_DEVICE);
            if ((pass == 0 || loose) && !type_admits_value(t->elems[i], in)) continue;
            conversion c = convert(in, t->elems[i], out);
            if (c != UNFIT) return c;
        }
    }
    return UNFIT;
}

static conversion convert_bool(value in, value *out) {
    if (in.tag != V_BOOL && in.tag != V_INT && in.tag != V_FLOAT) return UNFIT;
    *out = value_bool(in.tag == V_BOOL ? in.u.b : in.tag == V_INT ? in.u.i != 0 : in.u.f != 0);
    return CONVERTED;
}

static conversion convert_device(value in, value *out) {
    int64_t device = in.tag == V_DEVICE ? in.u.device : 0;
    if (in.tag != V_DEVICE &&
        (in.tag != V_STR || device_parse(NULL, in.u.str->bytes, in.u.str->len, &device) != CTSC_OK))
        return UNFIT;
    *out = value_device(device);
    return CONVERTED;
}

static conversion convert(value in, type *t, value *out) {
    switch (t->kind) {
    case T_BOOL: return convert_bool(in, out);
    case T_DEVICE: return convert_device(in, out);
    case T_INT:
    case T_FLOAT:
    case T_COMPLEX:
    case T_NUMBER: return convert_scalar(in, t->kind, out);
    case T_LIST: return convert_list(in, t, out);
    case T_DICT: return convert_dict(in, t, out);
    case T_TUPLE: return convert_tuple(in, t, out);
    case T_OPTIONAL:
    case T_UNION: return convert_union(in, t, out);
    default:
        if (!type_takes_value(t, in)) return UNFIT;
        *out = value_ref(in);
        return CONVERTED;
    }
}

/* ---- messages -------------------------------------------------------------------------------- */

static void args_declaration(const function *f, strbuf *out) {
    sb_puts(out, "Declaration: ");
    schema_print(f->schema, out);
}

static ctsc_status args_fail(diag *d, strbuf *text) {
    ctsc_status s = text->failed ? diag_no_memory(d) : diag_fail(d, CTSC_USAGE, "%s", sb_str(text));
    sb_free(text);
    return s;
}

static ctsc_status args_mismatch(const function *f, int i, value v, diag *d) {
    const argument *a = &f->schema->args[i];
    int64_t device;
    if (a->type->kind == T_DEVICE && v.tag == V_STR) /* its name says nothing */
        return device_parse(d, v.u.str->bytes, v.u.str->len, &device);
    strbuf text = STRBUF_INIT;
    sb_printf(&text, "%s() Expected a value of type '", f->name);
    type_print_python(a->type, &text);
    sb_printf(&text, "%s' for argument '%s' but instead found type '",
              a->inferred ? " (inferred)" : "", a->name);
    type_print_python(type_of_value(v), &text);
    sb_puts(&text, "'.\n");
    if (a->inferred)
        sb_printf(&text,
                  "Inferred '%s' to be of type 'Tensor' because it was not annotated with an "
                  "explicit type.\n",
                  a->name);
    sb_printf(&text, "Position: %d\n", i);
    args_declaration(f, &text);
    return args_fail(d, &text);
}

static ctsc_status args_missing(const function *f, int i, diag *d) {
    strbuf text = STRBUF_INIT;
    sb_printf(&text, "%s() is missing value for argument '%s'. ", f->name, f->schema->args[i].name);
    args_declaration(f, &text);
    return args_fail(d, &text);
}

static ctsc_status args_too_many(const function *f, int nargs, diag *d) {
    strbuf text = STRBUF_INIT;
    sb_printf(&text, "%s() expected at most %d argument(s) but received %d argument(s). ", f->name,
              f->schema->nargs, nargs);
    args_declaration(f, &text);
    return args_fail(d, &text);
}

/* Most arguments are tensors, objects of the very class asked for, or what the type
 * says to the letter. */
static inline bool args_fit_at_once(value in, const type *t) {
    switch (in.tag) {
    case V_TENSOR: return t->kind == T_TENSOR;
    case V_OBJECT: return in.u.object->cls == t;
    case V_BOOL: return t->kind == T_BOOL;
    case V_INT: return t->kind == T_INT;
    case V_FLOAT: return t->kind == T_FLOAT;
    case V_STR: return t->kind == T_STR;
    default: return false;
    }
}

bool interp_args_fit(const function *f, int nargs, const value *args) {
    const schema *sc = f->schema;
    bool fit = nargs == sc->nargs;
    for (int i = 0; i < nargs && fit; i++) fit = args_fit_at_once(args[i], sc->args[i].type);
    return fit;
}

ctsc_status interp_check_args(const function *f, int nargs, const value *args, diag *d,
                              value *full) {
    const schema *sc = f->schema;
    if (nargs > sc->nargs) return args_too_many(f, nargs, d);
    int done = 0;
    ctsc_status s = CTSC_OK;
    for (; done < sc->nargs && s == CTSC_OK; done++) {
        const argument *a = &sc->args[done];
        bool given = done < nargs;
        if (!given && !a->has_default) {
            s = args_missing(f, done, d);
            break;
        }
        value in = given ? args[done] : a->default_value;
        if (args_fit_at_once(in, a->type)) {
            full[done] = value_ref(in);
            continue;
        }
        if (in.tag == V_NONE && a->type->kind == T_TENSOR) {
            tensor_note_kind(TENSOR_KIND_UNDEFINED);
            full[done] = in;
            continue;
        }
        conversion c = convert(in, a->type, &full[done]);
        if (c == CONVERTED) continue;
        s = c == NO_MEMORY ? diag_no_memory(d) : args_mismatch(f, done, in, d);
        break;
    }
    for (int i = 0; s != CTSC_OK && i < done; i++) {
        value_unref(full[i]);
        full[i] = value_none();
    }
    return s;
}
