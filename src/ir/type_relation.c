/* SPDX-License-Identifier: Apache-2.0 */
/*
 * type_relation.c - subtypes, common types, type variables, and which values fit a type.
 *
 * The rules are PyTorch 1.13's. Tuples are covariant; lists and dicts, being mutable, are
 * invariant; the details of a tensor type beyond "Tensor" do not count inside them.
 * Tests: tests/unit/test_type.c
 */
#include "ir/unit.h"

/* ---- subtypes -------------------------------------------------------------------------------- */

static bool type_holds_dims(int n, const int64_t *sub, const int64_t *super) {
    for (int i = 0; i < n; i++)
        if (super[i] >= 0 && sub[i] != super[i]) return false;
    return true;
}

/* Everything super knows, sub knows as well. */
static bool type_details_subtype(const tensor_info *sub, const tensor_info *super) {
    if (!super) return true;
    if (!sub) return false;
    if (super->dtype >= 0 && sub->dtype != super->dtype) return false;
    if (super->requires_grad >= 0 && sub->requires_grad != super->requires_grad) return false;
    if (super->device >= 0 && sub->device != super->device) return false;
    if (super->ndim < 0) return true;
    if (sub->ndim != super->ndim || !type_holds_dims(super->ndim, sub->sizes, super->sizes))
        return false;
    return !super->has_strides ||
           (sub->has_strides && type_holds_dims(super->ndim, sub->strides, super->strides));
}

static bool type_tuple_subtype(const type *sub, const type *super) {
    if (sub->nelems != super->nelems || (super->field_names && !sub->field_names)) return false;
    for (int i = 0; i < sub->nelems; i++) {
        if (super->field_names && strcmp(sub->field_names[i], super->field_names[i])) return false;
        if (!type_is_subtype(sub->elems[i], super->elems[i])) return false;
    }
    return true;
}

/* A method can replace another: wider arguments, narrower result. */
static bool type_method_fits(function *have, function *want) {
    if (!have->return_declared) function_ensure_compiled(have, NULL);
    if (!have->schema || !want->schema) return false;
    const schema *h = have->schema, *w = want->schema;
    if (h->nargs != w->nargs || h->nreturns != w->nreturns) return false;
    for (int i = 1; i < h->nargs; i++)
        if (strcmp(h->args[i].name, w->args[i].name) ||
            !type_is_subtype(w->args[i].type, h->args[i].type))
            return false;
    for (int i = 0; i < h->nreturns; i++)
        if (!type_is_subtype(h->returns[i].type, w->returns[i].type)) return false;
    return true;
}

static bool type_implements(const type *cls, const type *iface) {
    if (iface->cls->is_module && !cls->cls->is_module) return false;
    for (size_t i = 0; i < iface->cls->methods.len; i++) {
        function *want = iface->cls->methods.data[i];
        function *have = class_find_method(cls, want->name);
        if (!have || !type_method_fits(have, want)) return false;
    }
    return true;
}

static bool type_union_holds(const type *u, const type *t) {
    for (int i = 0; i < u->nelems; i++)
        if (type_is_subtype(t, u->elems[i])) return true;
    return false;
}

/* Equal except for what is known of tensors. */
static bool type_equal_plain(const type *a, const type *b) {
    return a == b || type_without_details((type *)a) == type_without_details((type *)b);
}

static bool type_same_shape_subtype(const type *sub, const type *super) {
    switch (super->kind) {
    case T_TENSOR: return type_details_subtype(sub->tensor, super->tensor);
    case T_LIST: return type_equal_plain(type_elem(sub), type_elem(super));
    case T_DICT:
        return type_equal_plain(sub->elems[0], super->elems[0]) &&
               type_equal_plain(sub->elems[1], super->elems[1]);
    case T_TUPLE: return type_tuple_subtype(sub, super);
    case T_FUTURE:
    case T_RREF: return type_is_subtype(type_elem(sub), type_elem(super));
    case T_INTERFACE: return type_implements(sub, super);
    default: return false;
    }
}

bool type_is_dict_key(const type *t) {
    switch (t->kind) {
    case T_INT:
    case T_FLOAT:
    case T_BOOL:
    case T_STR:
    case T_COMPLEX:
    case T_TENSOR:
    case T_DEVICE:
    case T_ANY:
    case T_NUMBER:
    case T_ENUM: return true;
    default: return false;
    }
}

bool type_is_subtype(const type *sub, const type *super) {
    if (sub == super || super->kind == T_ANY) return true;
    if (sub->kind == T_UNION) {
        for (int i = 0; i < sub->nelems; i++)
            if (!type_is_subtype(sub->elems[i], super)) return false;
        return true;
    }
    if (sub->kind == T_OPTIONAL)
        return type_is_subtype(TYPE_NONE, super) && type_is_subtype(type_elem(sub), super);
    switch (super->kind) {
    case T_OPTIONAL: return sub->kind == T_NONE || type_is_subtype(sub, type_elem(super));
    case T_UNION:
        if (sub->kind == T_NUMBER)
            return type_union_holds(super, TYPE_INT) && type_union_holds(super, TYPE_FLOAT) &&
                   type_union_holds(super, TYPE_COMPLEX);
        return type_union_holds(super, sub);
    case T_NUMBER: return sub->kind == T_INT || sub->kind == T_FLOAT || sub->kind == T_COMPLEX;
    case T_ANY_LIST: return sub->kind == T_LIST;
    case T_ANY_TUPLE: return sub->kind == T_TUPLE;
    case T_ANY_ENUM: return sub->kind == T_ENUM;
    case T_ANY_CLASS: return sub->kind == T_CLASS;
    case T_INTERFACE:
        if (sub->kind == T_CLASS) return type_implements(sub, super);
        break;
    default: break;
    }
    return sub->kind == super->kind && type_same_shape_subtype(sub, super);
}

/* ---- rebuilding ------------------------------------------------------------------------------ */

/* The same type around other elements. */
static type *type_rebuild(type *t, type **elems) {
    switch (t->kind) {
    case T_LIST: return type_list(elems[0]);
    case T_OPTIONAL: return type_optional(elems[0]);
    case T_FUTURE: return type_future(elems[0]);
    case T_RREF: return type_rref(elems[0]);
    case T_DICT: return type_dict(elems[0], elems[1]);
    case T_UNION: return type_union(t->nelems, elems);
    case T_TUPLE:
        if (!t->field_names) return type_tuple(t->nelems, elems);
        return type_named_tuple(t->owner, t->name, t->nelems, t->field_names, elems);
    default: return t;
    }
}

/* Applies fn to the elements; a NULL from it is passed on. */
static type *type_map(type *t, type *(*fn)(type *t, const void *ctx), const void *ctx) {
    if (t->nelems == 0) return t;
    type *few[8] = {NULL}, **elems = few;
    if (t->nelems > 8 && !(elems = mem_alloc((size_t)t->nelems * sizeof *elems))) return TYPE_ANY;
    bool changed = false, lost = false;
    for (int i = 0; i < t->nelems; i++) {
        elems[i] = fn(t->elems[i], ctx);
        lost |= !elems[i];
        changed |= elems[i] != t->elems[i];
    }
    type *r = lost ? NULL : changed ? type_rebuild(t, elems) : t;
    if (elems != few) mem_free(elems);
    return r;
}

static type *type_drop_details(type *t, const void *ctx) {
    if (t->kind == T_TENSOR) return TYPE_TENSOR;
    return type_map(t, type_drop_details, ctx);
}

type *type_without_details(type *t) { return type_drop_details(t, NULL); }

type *type_without_none(type *t) {
    if (t->kind == T_OPTIONAL) return type_elem(t);
    if (t->kind != T_UNION) return t;
    type *few[8], **rest = few;
    if (t->nelems > 8 && !(rest = mem_alloc((size_t)t->nelems * sizeof *rest))) return TYPE_ANY;
    int n = 0;
    for (int i = 0; i < t->nelems; i++)
        if (t->elems[i]->kind != T_NONE) rest[n++] = t->elems[i];
    type *r = n == t->nelems ? t : type_union(n, rest);
    if (rest != few) mem_free(rest);
    return r;
}

bool type_admits_none(const type *t) { return type_is_subtype(TYPE_NONE, t); }

/* ---- unification ----------------------------------------------------------------------------- */

/* What two tensor types agree on. */
static type *type_join_details(const tensor_info *a, const tensor_info *b) {
    if (!a || !b) return TYPE_TENSOR;
    int64_t sizes[TENSOR_MAX_DIMS], strides[TENSOR_MAX_DIMS];
    tensor_info r = {
        .dtype = a->dtype == b->dtype ? a->dtype : -1,
        .ndim = a->ndim == b->ndim && a->ndim <= TENSOR_MAX_DIMS ? a->ndim : -1,
        .requires_grad = a->requires_grad == b->requires_grad ? a->requires_grad : -1,
        .device = a->device == b->device ? a->device : -1,
        .has_strides = a->has_strides && b->has_strides,
        .sizes = sizes,
        .strides = strides,
    };
    for (int i = 0; i < r.ndim; i++) {
        sizes[i] = a->sizes[i] == b->sizes[i] ? a->sizes[i] : -1;
        if (!r.has_strides) continue;
        strides[i] = a->strides[i];
        if (a->strides[i] != b->strides[i]) r.has_strides = false;
    }
    if (r.ndim < 0) r.has_strides = false;
    return type_tensor_details(&r);
}

static type *type_unify_tuples(type *a, type *b, bool with_union) {
    if (a->nelems != b->nelems) return NULL;
    type *few[8] = {NULL}, **elems = few;
    if (a->nelems > 8 && !(elems = mem_alloc((size_t)a->nelems * sizeof *elems))) return NULL;
    type *r = TYPE_NONE;
    for (int i = 0; i < a->nelems && r; i++)
        r = elems[i] = type_unify(a->elems[i], b->elems[i], with_union);
    if (r) r = type_tuple(a->nelems, elems);
    if (elems != few) mem_free(elems);
    return r;
}

static type *type_unify_plain(type *a, type *b, bool with_union) {
    if (type_is_subtype(a, b)) return b;
    if (type_is_subtype(b, a)) return a;
    if (a->kind == T_TENSOR && b->kind == T_TENSOR) return type_join_details(a->tensor, b->tensor);
    if (a->kind == T_NONE) return type_optional(b);
    if (b->kind == T_NONE) return type_optional(a);
    if (a->kind == T_OPTIONAL || b->kind == T_OPTIONAL) {
        type *opt = a->kind == T_OPTIONAL ? a : b, *other = opt == a ? b : a;
        type *elem = type_unify(type_elem(opt), other, false);
        if (elem) return type_optional(elem);
    }
    if (a->kind == T_TUPLE && b->kind == T_TUPLE) return type_unify_tuples(a, b, with_union);
    if (a->kind == T_FUTURE && b->kind == T_FUTURE) {
        type *elem = type_unify(type_elem(a), type_elem(b), false);
        if (elem) return type_future(elem);
    }
    type *pa = type_without_details(a), *pb = type_without_details(b);
    if (type_is_subtype(pa, pb)) return pb;
    if (type_is_subtype(pb, pa)) return pa;
    return NULL;
}

type *type_unify(type *a, type *b, bool with_union) {
    type *t = type_unify_plain(a, b, with_union);
    if (t || !with_union) return t;
    type *both[] = {a, b};
    return type_union(2, both);
}

/* ---- type variables -------------------------------------------------------------------------- */

static bool type_bind(const type *var, type *actual, type_bindings *b) {
    for (int i = 0; i < b->n; i++) {
        if (strcmp(b->names[i], var->name)) continue;
        type *t = type_unify(b->types[i], actual, false);
        if (t) b->types[i] = t;
        return t != NULL;
    }
    if (b->n == TYPE_MAX_BINDINGS) return false;
    b->names[b->n] = var->name;
    b->types[b->n++] = actual;
    return true;
}

bool type_match(const type *formal, type *actual, type_bindings *b) {
    if (!formal->has_var) return type_is_subtype(actual, formal);
    switch (formal->kind) {
    case T_VAR: return type_bind(formal, actual, b);
    case T_OPTIONAL:
        if (actual->kind == T_NONE) return true;
        return type_match(type_elem(formal), type_without_none(actual), b);
    case T_LIST:
        /* A tuple whose members have a common type serves as a list. */
        if (actual->kind == T_TUPLE) {
            for (int i = 0; i < actual->nelems; i++)
                if (!type_match(type_elem(formal), actual->elems[i], b)) return false;
            return actual->nelems > 0;
        }
        break;
    default: break;
    }
    if (actual->kind != formal->kind || actual->nelems != formal->nelems) return false;
    for (int i = 0; i < formal->nelems; i++)
        if (!type_match(formal->elems[i], actual->elems[i], b)) return false;
    return true;
}

static type *type_substitute_one(type *t, const void *ctx) {
    const type_bindings *b = ctx;
    if (!t->has_var) return t;
    if (t->kind != T_VAR) return type_map(t, type_substitute_one, ctx);
    for (int i = 0; i < b->n; i++)
        if (!strcmp(b->names[i], t->name)) return b->types[i];
    return NULL;
}

type *type_substitute(type *formal, const type_bindings *b) {
    return type_substitute_one(formal, b);
}
