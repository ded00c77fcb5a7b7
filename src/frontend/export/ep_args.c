/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ep_args.c - arguments of nodes as values of the graph, of the type that the operator's
 * schema asks for.
 *
 * An argument states its kind (as_tensor, as_ints, ...), the schema the expected one. They differ
 * where Python converts: an int for a float, one int for int[2], a list of tensors for a list that
 * may hold None. The numbers of dtypes, layouts and memory formats are not PyTorch's (ep_meta.c).
 */
#include "frontend/export/ep_internal.h"

typedef ir_value *(*arg_fn)(ep_scope *sc, const json_t *v, const argument *formal);

/* What items of the list that formal asks for are; NULL: no list. */
static type *arg_element(const argument *formal) {
    type *t = formal ? formal->type : NULL;
    if (t && t->kind == T_OPTIONAL) t = type_elem(t);
    return t && t->kind == T_LIST ? type_elem(t) : NULL;
}

static ir_value *arg_constant(ep_scope *sc, value v_take) {
    ir_value *c = graph_constant_take(sc->p->g, v_take, NULL);
    sc->p->made++;
    return c ? c : (ep_no_memory(sc->p), NULL);
}

/* ---- scalars --------------------------------------------------------------------------------- */

static ir_value *arg_named(ep_scope *sc, const json_t *v, const char *key) {
    const char *name = json_is_string(v) ? json_string_value(v) : ep_text(sc->p, v, key);
    return name ? ep_name(sc, name) : NULL;
}

static ir_value *arg_tensor(ep_scope *sc, const json_t *v, const argument *formal) {
    (void)formal;
    return arg_named(sc, v, "name");
}

static ir_value *arg_int(ep_scope *sc, const json_t *v, const argument *formal) {
    int64_t i;
    (void)formal;
    return ep_int(sc->p, v, &i) ? arg_constant(sc, value_int(i)) : NULL;
}

static ir_value *arg_float(ep_scope *sc, const json_t *v, const argument *formal) {
    double f;
    (void)formal;
    return ep_float(sc->p, v, &f) ? arg_constant(sc, value_float(f)) : NULL;
}

static ir_value *arg_bool(ep_scope *sc, const json_t *v, const argument *formal) {
    bool b;
    (void)formal;
    return ep_bool(sc->p, v, &b) ? arg_constant(sc, value_bool(b)) : NULL;
}

static ir_value *arg_string(ep_scope *sc, const json_t *v, const argument *formal) {
    const char *s = ep_string(sc->p, v);
    (void)formal;
    return s ? graph_constant_str(sc->p->g, s, json_string_length(v)) : NULL;
}

static ir_value *arg_complex(ep_scope *sc, const json_t *v, const argument *formal) {
    double re, im;
    (void)formal;
    if (!ep_float(sc->p, json_object_get(v, "real"), &re) ||
        !ep_float(sc->p, json_object_get(v, "imag"), &im))
        return NULL;
    complex_box *c = complex_new(re, im);
    return c ? arg_constant(sc, (value){.tag = V_COMPLEX, .u.complex = c})
             : (ep_no_memory(sc->p), NULL);
}

static ir_value *arg_none(ep_scope *sc, const json_t *v, const argument *formal) {
    (void)v, (void)formal;
    return graph_constant_none(sc->p->g);
}

/* {"as_name": "mul"}, or a literal. */
static ir_value *arg_symbolic(ep_scope *sc, const json_t *v, const argument *formal) {
    const json_t *inner;
    const char *kind = ep_union(sc->p, v, &inner);
    if (!kind) return NULL;
    if (!strcmp(kind, "as_name")) return arg_named(sc, inner, "as_name");
    if (!strcmp(kind, "as_int")) return arg_int(sc, inner, formal);
    if (!strcmp(kind, "as_float")) return arg_float(sc, inner, formal);
    if (!strcmp(kind, "as_bool")) return arg_bool(sc, inner, formal);
    return ep_bad(sc->p, "'%.100s' is not a size", kind), NULL;
}

#define ARG_NUMBER(name, read)                                                                     \
    static ir_value *name(ep_scope *sc, const json_t *v, const argument *formal) {                 \
        int64_t number;                                                                            \
        (void)formal;                                                                              \
        return read(sc->p, v, &number) ? arg_constant(sc, value_int(number)) : NULL;               \
    }
ARG_NUMBER(arg_dtype, ep_dtype)
ARG_NUMBER(arg_layout, ep_layout)
ARG_NUMBER(arg_memory_format, ep_memory_format)

/* Programs run where their module is: every device of the file is the host. */
static ir_value *arg_device(ep_scope *sc, const json_t *v, const argument *formal) {
    const char *name = ep_text(sc->p, v, "type");
    (void)formal;
    return name ? arg_constant(sc, value_device(0)) : NULL;
}

/* ---- lists ----------------------------------------------------------------------------------- */

static ir_value *arg_empty(ep_scope *sc, type *elem) {
    list *l = list_new(type_list_kind(elem), elem, 0);
    if (!l) return ep_no_memory(sc->p), NULL;
    ir_value *c = graph_constant_take(sc->p->g, value_list_take(l), type_list(elem));
    return c ? c : (ep_no_memory(sc->p), NULL);
}

/* A constant list of numbers, as element type elem. */
static ir_value *arg_numbers(ep_scope *sc, const json_t *v, type *elem,
                             bool (*read)(ep_program *p, const json_t *v, type *elem, value *out)) {
    ep_program *p = sc->p;
    if (!json_is_array(v)) return ep_bad(p, "there is no list where one is expected"), NULL;
    list *l = list_new(type_list_kind(elem), elem, json_array_size(v));
    bool ok = l != NULL || ep_no_memory(p);
    for (size_t i = 0; ok && i < json_array_size(v); i++) {
        value item;
        ok = read(p, json_array_get(v, i), elem, &item) &&
             (list_append_take(l, item) || ep_no_memory(p));
    }
    if (ok) return arg_constant(sc, value_list_take(l));
    if (l) value_unref(value_list_take(l));
    return NULL;
}

static bool read_number(ep_program *p, const json_t *v, type *elem, value *out) {
    int64_t i;
    double f;
    bool b;
    if (elem->kind == T_BOOL) {
        if (!ep_bool(p, v, &b)) return false;
        *out = value_bool(b);
    } else if (elem->kind == T_FLOAT) {
        if (!ep_float(p, v, &f)) return false;
        *out = value_float(f);
    } else {
        if (!ep_int(p, v, &i)) return false;
        *out = value_int(i);
    }
    return true;
}

static bool read_string(ep_program *p, const json_t *v, type *elem, value *out) {
    (void)elem;
    const char *text = ep_string(p, v);
    str *s = text ? str_new(text, json_string_length(v)) : NULL;
    if (!s) return !text ? false : ep_no_memory(p);
    *out = value_str_take(s);
    return true;
}

static ir_value *arg_ints(ep_scope *sc, const json_t *v, const argument *formal) {
    type *want = arg_element(formal);
    return arg_numbers(sc, v, want && want->kind == T_FLOAT ? want : TYPE_INT, read_number);
}
static ir_value *arg_floats(ep_scope *sc, const json_t *v, const argument *formal) {
    (void)formal;
    return arg_numbers(sc, v, TYPE_FLOAT, read_number);
}
/* PyTorch 2.2 says that an empty list holds bools, whatever the schema requests. */
static ir_value *arg_bools(ep_scope *sc, const json_t *v, const argument *formal) {
    type *want = json_is_array(v) && !json_array_size(v) ? arg_element(formal) : NULL;
    if (want) return arg_empty(sc, want);
    return arg_numbers(sc, v, TYPE_BOOL, read_number);
}
static ir_value *arg_strings(ep_scope *sc, const json_t *v, const argument *formal) {
    (void)formal;
    return arg_numbers(sc, v, TYPE_STR, read_string);
}

/* prim::ListConstruct of what `item` makes of each. elem NULL: of the first one's type. */
static ir_value *arg_list(ep_scope *sc, const json_t *v, type *elem, arg_fn item) {
    ep_program *p = sc->p;
    if (!json_is_array(v)) return ep_bad(p, "there is no list where one is expected"), NULL;
    size_t n = json_array_size(v);
    if (!n) return arg_empty(sc, elem ? elem : TYPE_TENSOR);
    node *made = node_new(p->g, N_LIST_CONSTRUCT, 0, NULL, 1);
    for (size_t i = 0; i < n; i++) {
        ir_value *x = item(sc, json_array_get(v, i), NULL);
        if (!x || ep_failed(p)) return ep_no_memory(p), NULL;
        if (!elem) elem = x->type;
        if (!type_is_subtype(x->type, elem)) {
            argument want = {.name = "", .type = elem};
            if (!(x = ep_conform(p, x, &want))) return NULL;
        }
        node_add_input(made, x);
    }
    made->outputs.data[0]->type = type_list(elem);
    return ep_insert(p, made)->outputs.data[0];
}

static ir_value *arg_tensors(ep_scope *sc, const json_t *v, const argument *formal) {
    type *want = arg_element(formal);
    if (json_array_size(v) == 0 && json_is_array(v))
        return arg_empty(sc, want ? want : TYPE_TENSOR);
    return arg_list(sc, v, want && want->kind == T_OPTIONAL ? want : TYPE_TENSOR, arg_tensor);
}

static ir_value *arg_any(ep_scope *sc, const json_t *v, const argument *formal) {
    return ep_argument(sc, v, formal);
}

/* A tensor or None, as a union; in the oldest files the name alone. */
static ir_value *arg_maybe(ep_scope *sc, const json_t *v, const argument *formal) {
    return json_is_object(v) && !json_object_get(v, "name") ? ep_argument(sc, v, formal)
           : json_is_object(v) || json_is_string(v)
               ? arg_tensor(sc, v, formal)
               : (ep_bad(sc->p, "there is no tensor where one is expected"), NULL);
}

static ir_value *arg_optional_tensors(ep_scope *sc, const json_t *v, const argument *formal) {
    (void)formal;
    return arg_list(sc, v, type_optional(TYPE_TENSOR), arg_maybe);
}

static ir_value *arg_nested_tensors(ep_scope *sc, const json_t *v, const argument *formal) {
    (void)formal;
    return arg_list(sc, v, type_list(TYPE_TENSOR), arg_tensors);
}

static ir_value *arg_int_lists(ep_scope *sc, const json_t *v, const argument *formal) {
    (void)formal;
    return arg_list(sc, v, type_list(TYPE_INT), arg_ints);
}

static ir_value *arg_float_lists(ep_scope *sc, const json_t *v, const argument *formal) {
    (void)formal;
    return arg_list(sc, v, type_list(TYPE_FLOAT), arg_floats);
}

static ir_value *arg_sym_ints(ep_scope *sc, const json_t *v, const argument *formal) {
    type *want = arg_element(formal);
    return arg_list(sc, v, want && want->kind == T_FLOAT ? want : TYPE_INT, arg_symbolic);
}

static ir_value *arg_sym_others(ep_scope *sc, const json_t *v, const argument *formal) {
    return arg_list(sc, v, arg_element(formal), arg_symbolic);
}

static ir_value *arg_refused(ep_scope *sc, const json_t *v, const argument *formal) {
    (void)v, (void)formal;
    return ep_unsupported(sc->p,
                          "arguments that are objects, graphs or operators are not supported here"),
           NULL;
}

/* ---- all kinds ------------------------------------------------------------------------------- */

enum { ARG_NUMERIC = 1 };
static const struct { const char *kind; arg_fn read; int flags; } arg_kinds[] = {
    {"as_tensor", arg_maybe, 0},
    {"as_tensors", arg_tensors, 0},
    {"as_int", arg_int, ARG_NUMERIC},
    {"as_ints", arg_ints, 0},
    {"as_float", arg_float, ARG_NUMERIC},
    {"as_floats", arg_floats, 0},
    {"as_bool", arg_bool, ARG_NUMERIC},
    {"as_bools", arg_bools, 0},
    {"as_none", arg_none, 0},
    {"as_string", arg_string, 0},
    {"as_strings", arg_strings, 0},
    {"as_sym_int", arg_symbolic, ARG_NUMERIC},
    {"as_sym_ints", arg_sym_ints, 0},
    {"as_sym_float", arg_symbolic, ARG_NUMERIC},
    {"as_sym_floats", arg_sym_others, 0},
    {"as_sym_bool", arg_symbolic, ARG_NUMERIC},
    {"as_sym_bools", arg_sym_others, 0},
    {"as_scalar_type", arg_dtype, 0},
    {"as_memory_format", arg_memory_format, 0},
    {"as_layout", arg_layout, 0},
    {"as_device", arg_device, 0},
    {"as_complex", arg_complex, ARG_NUMERIC},
    {"as_optional_tensor", arg_any, 0},
    {"as_optional_tensors", arg_optional_tensors, 0},
    {"as_nested_tensors", arg_nested_tensors, 0},
    {"as_int_lists", arg_int_lists, 0},
    {"as_float_lists", arg_float_lists, 0},
    {"as_custom_obj", arg_refused, 0},
    {"as_graph", arg_refused, 0},
    {"as_operator", arg_refused, 0},
    {"as_string_to_argument", arg_refused, 0},
};

static int arg_kind(const char *kind) {
    for (int i = 0; i < (int)(sizeof arg_kinds / sizeof *arg_kinds); i++)
        if (!strcmp(arg_kinds[i].kind, kind)) return i;
    return -1;
}

bool ep_is_number(const json_t *arg) {
    void *it = json_object_iter((json_t *)(uintptr_t)arg);
    int k = it ? arg_kind(json_object_iter_key(it)) : -1;
    return k >= 0 && (arg_kinds[k].flags & ARG_NUMERIC);
}

ir_value *ep_argument(ep_scope *sc, const json_t *arg, const argument *formal) {
    ep_program *p = sc->p;
    const json_t *v;
    const char *kind = ep_union(p, arg, &v);
    int k = kind ? arg_kind(kind) : -1;
    if (!kind) return NULL;
    if (k < 0) return ep_unsupported(p, "arguments of kind '%.100s' are not supported", kind), NULL;
    if (++p->nesting > EP_MAX_NESTING * 2) return ep_bad(p, "arguments nest too deeply"), NULL;
    ir_value *x = arg_kinds[k].read(sc, v, formal);
    p->nesting--;
    return x && formal ? ep_conform(p, x, formal) : x;
}

/* ---- conversions ----------------------------------------------------------------------------- */

/* One number for int[2]. */
static ir_value *conform_spread(ep_program *p, ir_value *v, type *list, int n) {
    node *made = node_new(p->g, N_LIST_CONSTRUCT, 0, NULL, 1);
    for (int i = 0; i < n; i++) node_add_input(made, v);
    made->outputs.data[0]->type = list;
    return ep_insert(p, made)->outputs.data[0];
}

static ir_value *conform_constant(ep_program *p, value c, const type *want) {
    double f = c.tag == V_FLOAT ? c.u.f : c.tag == V_BOOL ? c.u.b : (double)c.u.i;
    if (want->kind == T_FLOAT) return graph_constant_take(p->g, value_float(f), NULL);
    if (want->kind == T_BOOL) return graph_constant_bool(p->g, f != 0);
    return c.tag == V_BOOL ? graph_constant_int(p->g, c.u.b) : NULL;
}

static const char *conform_by(const type *have, const type *want) {
    bool number = have->kind == T_INT || have->kind == T_FLOAT || have->kind == T_BOOL ||
                  have->kind == T_TENSOR || have->kind == T_NUMBER;
    if (!number) return NULL;
    if (want->kind == T_FLOAT) return "aten::Float";
    if (want->kind == T_INT && have->kind != T_FLOAT) return "aten::Int";
    if (want->kind == T_BOOL) return "aten::Bool";
    if (want->kind == T_NUMBER && have->kind == T_TENSOR) return "aten::item";
    return NULL;
}

ir_value *ep_conform(ep_program *p, ir_value *v, const argument *formal) {
    type *want = formal->type, *inner = want->kind == T_OPTIONAL ? type_elem(want) : want;
    value c;
    if (want->has_var || type_is_subtype(v->type, want) || inner->kind == T_ANY) return v;
    if (inner->kind == T_NUMBER && v->type->kind == T_BOOL)
        return ir_value_constant(v, &c) ? v : ep_emit(p, "aten::Int", 1, &v);
    if (inner->kind == T_LIST && type_is_subtype(v->type, type_elem(inner)) &&
        formal->fixed_size > 0)
        return conform_spread(p, v, inner, formal->fixed_size);
    if (inner->kind == T_LIST && type_elem(inner)->kind == T_NUMBER && v->type->kind == T_LIST)
        return v;
    bool constant = ir_value_constant(v, &c) &&
                    (c.tag == V_INT || c.tag == V_FLOAT || c.tag == V_BOOL);
    ir_value *made = constant ? conform_constant(p, c, inner) : NULL;
    if (made) return made;
    const char *by = conform_by(v->type, inner);
    if (by) return ep_emit(p, by, 1, &v);
    strbuf have = STRBUF_INIT, asked = STRBUF_INIT;
    type_print_plain(v->type, &have);
    type_print_plain(want, &asked);
    ep_bad(p, "argument '%s' is a %s where the operator takes a %s", formal->name, sb_str(&have),
           sb_str(&asked));
    sb_free(&have);
    sb_free(&asked);
    return NULL;
}
