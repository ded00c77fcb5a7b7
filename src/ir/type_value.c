/* SPDX-License-Identifier: Apache-2.0 */
/*
 * type_value.c - the types of values: what a value's type is, and whether a value fits a type.
 *
 * Nesting of hostile values is capped: a deeper value does not fit.
 * Tests: tests/unit/test_type.c
 */
#include "ir/type.h"
#include "tensor/device.h"

enum { TYPE_VALUE_DEPTH = 200 };

list_kind type_list_kind(const type *elem) {
    switch (elem ? elem->kind : T_ANY) {
    case T_INT: return LIST_INT;
    case T_FLOAT: return LIST_FLOAT;
    case T_BOOL: return LIST_BOOL;
    case T_TENSOR: return LIST_TENSOR;
    default: return LIST_VALUE;
    }
}

static type *type_of_depth(value v, bool details, int depth);

static type *type_of_tensor(const tensor *t) {
    bool dims = t->ndim > 0;
    tensor_info ti = {
        .dtype = (int8_t)t->dtype,
        .ndim = (int8_t)t->ndim,
        .requires_grad = t->requires_grad,
        .device = (int8_t)tensor_device(t),
        .has_strides = dims,
        .sizes = t->sizes,
        .strides = t->strides,
    };
    return type_tensor_details(&ti);
}

static type *type_of_list(const list *l, bool details, int depth) {
    static const type_kind flat[] = {
        [LIST_INT] = T_INT, [LIST_FLOAT] = T_FLOAT, [LIST_BOOL] = T_BOOL, [LIST_TENSOR] = T_TENSOR};
    if (l->elem) return type_list(l->elem);
    if (l->kind != LIST_VALUE) return type_list(type_of_kind(flat[l->kind]));
    type *elem = NULL;
    for (size_t i = 0; i < l->len; i++) {
        type *t = type_of_depth(l->u.values[i], details, depth + 1);
        elem = elem ? type_unify(elem, t, true) : t;
    }
    return type_list(elem ? elem : TYPE_TENSOR);
}

static type *type_of_dict(const dict *d, bool details, int depth) {
    type *key = d->key_type, *val = d->val_type;
    for (size_t i = 0; i < d->used && (!d->key_type || !d->val_type); i++) {
        const dict_entry *e = &d->entries[i];
        if (e->key.tag == V_UNINIT) continue;
        type *k = type_of_depth(e->key, details, depth + 1);
        type *v = type_of_depth(e->val, details, depth + 1);
        if (!d->key_type) key = key ? type_unify(key, k, true) : k;
        if (!d->val_type) val = val ? type_unify(val, v, true) : v;
    }
    return type_dict(key ? key : TYPE_STR, val ? val : TYPE_TENSOR);
}

static type *type_of_tuple(const tuple *tp, bool details, int depth) {
    if (tp->type) return tp->type;
    type *few[8] = {NULL}, **elems = few;
    if (tp->len > 8 && !(elems = mem_alloc(tp->len * sizeof *elems))) return TYPE_ANY;
    for (size_t i = 0; i < tp->len; i++) elems[i] = type_of_depth(tp->items[i], details, depth + 1);
    type *t = type_tuple((int)tp->len, elems);
    if (elems != few) mem_free(elems);
    return t;
}

static type *type_of_depth(value v, bool details, int depth) {
    if (depth > TYPE_VALUE_DEPTH) return TYPE_ANY;
    switch ((value_tag)v.tag) {
    case V_NONE: return TYPE_NONE;
    case V_BOOL: return TYPE_BOOL;
    case V_INT: return TYPE_INT;
    case V_FLOAT: return TYPE_FLOAT;
    case V_COMPLEX: return TYPE_COMPLEX;
    case V_STR: return TYPE_STR;
    case V_DEVICE: return TYPE_DEVICE;
    case V_FUNCTION: return TYPE_FUNCTION;
    case V_TENSOR: return details ? type_of_tensor(v.u.tensor) : TYPE_TENSOR;
    case V_LIST: return type_of_list(v.u.list, details, depth);
    case V_DICT: return type_of_dict(v.u.dict, details, depth);
    case V_TUPLE: return type_of_tuple(v.u.tuple, details, depth);
    case V_OBJECT: return v.u.object->cls;
    case V_ENUM: return v.u.enumv->cls;
    case V_FUTURE:
        if (v.u.future->source && v.u.future->source->elem)
            return type_future(v.u.future->source->elem);
        return type_future(v.u.future->done ? type_of_depth(v.u.future->result, details, depth + 1)
                                            : TYPE_ANY);
    case V_CAPSULE:
        return type_of_kind(
            v.u.capsule->kind && !strcmp(v.u.capsule->kind, "Generator") ? T_GENERATOR : T_CAPSULE);
    case V_UNINIT: break;
    }
    return TYPE_ANY;
}

type *type_of_value(value v) { return type_of_depth(v, false, 0); }

type *type_of_constant(value v) { return type_of_depth(v, true, 0); }

/* ---- fitting --------------------------------------------------------------------------------- */

static bool type_admits_depth(const type *t, value v, int depth);

static bool type_admits_list(const type *elem, const list *l, int depth) {
    /* A list that knows its element type keeps it, empty or not. */
    if (l->elem) return type_without_details(l->elem) == type_without_details((type *)elem);
    if (elem->kind == T_ANY) return true;
    for (size_t i = 0; i < l->len; i++) {
        bool fits;
        switch ((list_kind)l->kind) {
        case LIST_INT: fits = type_admits_depth(elem, value_int(l->u.ints[i]), depth + 1); break;
        case LIST_FLOAT:
            fits = type_admits_depth(elem, value_float(l->u.floats[i]), depth + 1);
            break;
        case LIST_BOOL: fits = type_admits_depth(elem, value_bool(l->u.bools[i]), depth + 1); break;
        case LIST_TENSOR:
            fits = elem->kind == T_TENSOR || type_is_subtype(TYPE_TENSOR, elem);
            break;
        default: fits = type_admits_depth(elem, l->u.values[i], depth + 1); break;
        }
        if (!fits) return false;
    }
    return true;
}

static bool type_admits_dict(const type *t, const dict *d, int depth) {
    type *key = t->elems[0], *val = t->elems[1];
    if (d->key_type && d->val_type)
        return type_without_details(d->key_type) == type_without_details(key) &&
               type_without_details(d->val_type) == type_without_details(val);
    for (size_t i = 0; i < d->used; i++) {
        const dict_entry *e = &d->entries[i];
        if (e->key.tag == V_UNINIT) continue;
        if (!type_admits_depth(key, e->key, depth + 1) ||
            !type_admits_depth(val, e->val, depth + 1))
            return false;
    }
    return true;
}

static bool type_admits_tuple(const type *t, const tuple *tp, int depth) {
    if (tp->len != (size_t)t->nelems) return false;
    if (tp->type && t->field_names && !type_is_subtype(tp->type, t)) return false;
    for (int i = 0; i < t->nelems; i++)
        if (!type_admits_depth(t->elems[i], tp->items[i], depth + 1)) return false;
    return true;
}

static bool type_admits_depth(const type *t, value v, int depth) {
    if (depth > TYPE_VALUE_DEPTH) return false;
    switch (t->kind) {
    case T_ANY: return v.tag != V_UNINIT;
    case T_VAR: return true;
    case T_TENSOR: return v.tag == V_TENSOR;
    case T_INT: return v.tag == V_INT;
    case T_FLOAT: return v.tag == V_FLOAT;
    case T_BOOL: return v.tag == V_BOOL;
    case T_STR: return v.tag == V_STR;
    case T_COMPLEX: return v.tag == V_COMPLEX;
    case T_NONE: return v.tag == V_NONE;
    case T_NUMBER:
        return v.tag == V_INT || v.tag == V_FLOAT || v.tag == V_COMPLEX || v.tag == V_BOOL;
    case T_DEVICE: return v.tag == V_DEVICE;
    case T_FUNCTION: return v.tag == V_FUNCTION;
    case T_QSCHEME: return v.tag == V_INT;
    case T_GENERATOR:
    case T_STORAGE:
    case T_STREAM:
    case T_CAPSULE: return v.tag == V_CAPSULE;
    case T_ANY_LIST: return v.tag == V_LIST;
    case T_ANY_TUPLE: return v.tag == V_TUPLE;
    case T_ANY_ENUM: return v.tag == V_ENUM;
    case T_ANY_CLASS: return v.tag == V_OBJECT;
    case T_LIST: return v.tag == V_LIST && type_admits_list(type_elem(t), v.u.list, depth);
    case T_DICT: return v.tag == V_DICT && type_admits_dict(t, v.u.dict, depth);
    case T_TUPLE: return v.tag == V_TUPLE && type_admits_tuple(t, v.u.tuple, depth);
    case T_OPTIONAL: return v.tag == V_NONE || type_admits_depth(type_elem(t), v, depth + 1);
    case T_UNION:
        for (int i = 0; i < t->nelems; i++)
            if (type_admits_depth(t->elems[i], v, depth + 1)) return true;
        return false;
    case T_FUTURE:
    case T_RREF:
        if (v.tag != V_FUTURE) return false;
        if (v.u.future->source)
            return type_is_subtype(v.u.future->source->elem ? v.u.future->source->elem : TYPE_ANY,
                                   type_elem(t));
        return v.u.future->done && type_admits_depth(type_elem(t), v.u.future->result, depth + 1);
    case T_CLASS:
    case T_INTERFACE: return v.tag == V_OBJECT && type_is_subtype(v.u.object->cls, t);
    case T_ENUM: return v.tag == V_ENUM && v.u.enumv->cls == t;
    case T_KIND_COUNT: break;
    }
    return false;
}

bool type_admits_value(const type *t, value v) { return type_admits_depth(t, v, 0); }

bool type_takes_value(const type *t, value v) {
    bool later = (t->kind == T_FUTURE || t->kind == T_RREF) && !t->owner;
    if (later && v.tag == V_FUTURE && v.u.future->source && !v.u.future->source->elem)
        v.u.future->source->elem = type_elem(t);
    return type_admits_value(t, v);
}
