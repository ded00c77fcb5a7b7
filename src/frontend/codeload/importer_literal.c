/* SPDX-License-Identifier: Apache-2.0 */
/*
 * importer_literal.c - values in places where nothing is executed:
 * defaults of parameters, Final attributes, members of enums.
 *
 *     numbers, strings, None, inf, nan, 1.+2.j, -1     [..], (..)
 *     CONSTANTS.c0       the archive's constants: tensors
 *     __torch__.C.A      a member of an enum        __torch__.T(1, 2.)    a named tuple
 *     torch.device("cpu")     annotate(T, literal)
 *
 * Tests: tests/cli/defaults.test
 */
#include "frontend/codeload/importer.h"
#include "tensor/device.h"

#include <stdlib.h>

static ctsc_status literal_refuse(diag *d, const expr *x) {
    return diag_fail_at(d, CTSC_FAILED, x->range, "this is not a constant");
}

/* "a.b.c" of names and attributes; NULL: x is something else. */
static const char *literal_dotted(unit *u, const expr *x) {
    if (x->kind == E_NAME) return x->name;
    const char *base = x->kind == E_ATTR ? literal_dotted(u, x->a) : NULL;
    return base ? arena_printf(&u->arena, "%s.%s", base, x->name) : NULL;
}

static ctsc_status literal_name(diag *d, const expr *x, value *out) {
    if (!strcmp(x->name, "inf")) return *out = value_float(__builtin_inf()), CTSC_OK;
    if (!strcmp(x->name, "nan")) return *out = value_float(__builtin_nan("")), CTSC_OK;
    return literal_refuse(d, x);
}

static ctsc_status literal_complex(diag *d, double re, double im, value *out) {
    complex_box *c = complex_new(re, im);
    if (!c) return diag_no_memory(d);
    return *out = (value){.tag = V_COMPLEX, .u.complex = c}, CTSC_OK;
}

static ctsc_status literal_negative(unit *u, diag *d, const expr *x, type *t, value *out) {
    value v;
    if (x->op != O_NEG) return literal_refuse(d, x);
    TRY(importer_literal(u, d, x->a, t, &v));
    if (v.tag == V_INT) v.u.i = (int64_t)(0 - (uint64_t)v.u.i);
    else if (v.tag == V_FLOAT) v.u.f = -v.u.f;
    else if (v.tag == V_COMPLEX) {
        double re = v.u.complex->re, im = v.u.complex->im;
        value_unref(v);
        return literal_complex(d, -re, -im, out);
    } else {
        value_unref(v);
        return literal_refuse(d, x);
    }
    return *out = v, CTSC_OK;
}

/* 1.+2.j, 1.-2.j */
static ctsc_status literal_sum(unit *u, diag *d, const expr *x, value *out) {
    value re, im;
    if ((x->op != O_ADD && x->op != O_SUB) || x->b->kind != E_IMAGINARY)
        return literal_refuse(d, x);
    TRY(importer_literal(u, d, x->a, TYPE_FLOAT, &re));
    if (re.tag != V_FLOAT) return value_unref(re), literal_refuse(d, x);
    im = value_float(x->op == O_SUB ? -x->b->f : x->b->f);
    return literal_complex(d, re.u.f, im.u.f, out);
}

static ctsc_status literal_device(diag *d, const expr *text, value *out) {
    int64_t device;
    ctsc_status s = device_parse(d, text->s, text->slen, &device);
    if (s == CTSC_OK) *out = value_device(device);
    else diag_locate(d, text->range);
    return s;
}

static ctsc_status literal_string(diag *d, const expr *x, type *t, value *out) {
    if (t && t->kind == T_DEVICE) return literal_device(d, x, out);
    str *st = str_new(x->s, x->slen);
    return st ? (*out = value_str_take(st), CTSC_OK) : diag_no_memory(d);
}

static ctsc_status literal_list(unit *u, diag *d, const expr *x, type *t, value *out) {
    type *elem = t && t->kind == T_LIST ? type_elem(t) : NULL;
    list *l = NULL;
    for (size_t i = 0; i < x->items.len || !l; i++) {
        value v = value_none();
        if (i < x->items.len) {
            ctsc_status s = importer_literal(u, d, x->items.data[i], elem, &v);
            if (s != CTSC_OK) {
                if (l) value_unref(value_list_take(l));
                return s;
            }
            if (!elem) elem = type_of_value(v);
        }
        if (!l) l = list_new(elem ? type_list_kind(elem) : LIST_VALUE, elem, x->items.len);
        if (!l) return value_unref(v), diag_no_memory(d);
        if (i >= x->items.len) break;
        bool fits = list_fits((list_kind)l->kind, v);
        if (!fits) value_unref(v);
        if (!fits || !list_append_take(l, v)) {
            value_unref(value_list_take(l));
            return fits ? diag_no_memory(d)
                        : diag_fail_at(d, CTSC_FAILED, x->range, "this list cannot be a constant");
        }
    }
    return *out = value_list_take(l), CTSC_OK;
}

/* named: the type of the tuple, where that has names. */
static ctsc_status literal_tuple(unit *u, diag *d, const expr *x, type *t, type *named,
                                 value *out) {
    tuple *tp = tuple_new(x->items.len, named);
    if (!tp) return diag_no_memory(d);
    for (size_t i = 0; i < x->items.len; i++) {
        type *et = t && t->kind == T_TUPLE && (int)i < t->nelems ? t->elems[i] : NULL;
        ctsc_status s = importer_literal(u, d, x->items.data[i], et, &tp->items[i]);
        if (s != CTSC_OK) return value_unref(value_tuple_take(tp)), s;
    }
    return *out = value_tuple_take(tp), CTSC_OK;
}

static ctsc_status literal_table(unit *u, diag *d, const expr *x, value *out) {
    char *end = NULL;
    unsigned long i = x->name[0] == 'c' && x->name[1] >= '0' && x->name[1] <= '9'
                          ? strtoul(x->name + 1, &end, 10)
                          : 0;
    if (!end || *end || u->constants.tag != V_TUPLE || i >= u->constants.u.tuple->len)
        return diag_fail_at(d, CTSC_BAD_FILE, x->range, "the archive has no constant %s", x->name);
    return *out = value_ref(u->constants.u.tuple->items[i]), CTSC_OK;
}

static ctsc_status literal_member(unit *u, diag *d, const expr *x, value *out) {
    type *cls = NULL;
    function *fn = NULL;
    const char *name = literal_dotted(u, x->a);
    TRY(name ? unit_resolve(u, d, name, &cls, &fn) : literal_refuse(d, x));
    for (size_t i = 0;
         cls && cls->kind == T_ENUM && cls->cls->enum_members && i < cls->cls->constants.len; i++)
        if (!strcmp(cls->cls->constants.data[i].name, x->name))
            return *out = value_ref(cls->cls->enum_members[i]), CTSC_OK;
    return literal_refuse(d, x);
}

static ctsc_status literal_attribute(unit *u, diag *d, const expr *x, value *out) {
    return x->a->kind == E_NAME && !strcmp(x->a->name, "CONSTANTS") ? literal_table(u, d, x, out)
                                                                    : literal_member(u, d, x, out);
}

static ctsc_status literal_call(unit *u, diag *d, const expr *x, type *t, value *out) {
    const char *name = literal_dotted(u, x->a);
    type *cls = NULL;
    function *fn = NULL;
    if (!name || x->kwargs.len) return literal_refuse(d, x);
    if (!strcmp(name, "torch.device") && x->items.len == 1 && x->items.data[0]->kind == E_STR)
        return literal_device(d, x->items.data[0], out);
    if (!strcmp(name, "annotate") && x->items.len == 2) {
        ctsc_status s = annotation_type(u, d, x->items.data[0], &t);
        return s == CTSC_OK ? importer_literal(u, d, x->items.data[1], t, out) : s;
    }
    if (!strchr(name, '.')) return literal_refuse(d, x);
    TRY(unit_resolve(u, d, name, &cls, &fn));
    if (!cls || cls->kind != T_TUPLE || (size_t)cls->nelems != x->items.len)
        return literal_refuse(d, x);
    return literal_tuple(u, d, x, cls, cls, out);
}

ctsc_status importer_literal(unit *u, diag *d, const expr *x, type *t, value *out) {
    if (t && t->kind == T_OPTIONAL && x->kind != E_NONE) t = type_elem(t);
    switch (x->kind) {
    case E_NONE: return *out = value_none(), CTSC_OK;
    case E_TRUE: return *out = value_bool(true), CTSC_OK;
    case E_FALSE: return *out = value_bool(false), CTSC_OK;
    case E_INT:
        return *out = t && t->kind == T_FLOAT ? value_float((double)x->i) : value_int(x->i),
               CTSC_OK;
    case E_FLOAT: return *out = value_float(x->f), CTSC_OK;
    case E_IMAGINARY: return literal_complex(d, 0, x->f, out);
    case E_NAME: return literal_name(d, x, out);
    case E_UNARY: return literal_negative(u, d, x, t, out);
    case E_BINARY: return literal_sum(u, d, x, out);
    case E_STR: return literal_string(d, x, t, out);
    case E_LIST: return literal_list(u, d, x, t, out);
    case E_TUPLE: return literal_tuple(u, d, x, t, NULL, out);
    case E_ATTR: return literal_attribute(u, d, x, out);
    case E_CALL: return literal_call(u, d, x, t, out);
    default: return literal_refuse(d, x);
    }
}
