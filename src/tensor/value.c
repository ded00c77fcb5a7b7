/* SPDX-License-Identifier: Apache-2.0 */
/*
 * value.c - making and freeing the counted payloads of values.
 *
 * Method: freeing a container frees what it holds, which may be a container again: a linked list
 * in a program is a chain of objects as long as the program likes. Beyond VALUE_FREE_DEPTH the
 * payload is not freed but put on a list of the thread, linked through its type field (its type
 * has been let go by then), and the outermost call frees that list; so neither stack nor
 * allocation can run out.
 * Tests: tests/unit/test_value.c
 */
#include "tensor/value.h"

#include "base/memory/recycle.h"

#include <string.h>

static void value_ignore_type(struct type *t) { (void)t; }

void (*value_type_ref)(struct type *t) = value_ignore_type;
void (*value_type_unref)(struct type *t) = value_ignore_type;
const char *(*value_type_name)(const struct type *t);

static struct type *value_hold_type(struct type *t) {
    if (t) value_type_ref(t);
    return t;
}

static void value_drop_type(struct type **t) {
    if (*t) value_type_unref(*t);
    *t = NULL;
}

/* ---- making ---------------------------------------------------------------------------------- */

str *str_new_raw(size_t len) {
    size_t size;
    if (!size_add(len, offsetof(str, bytes) + 1, &size)) return NULL;
    str *s = mem_alloc(size);
    if (!s) return NULL;
    atomic_init(&s->refs, 1);
    s->len = len;
    s->bytes[len] = '\0';
    return s;
}

str *str_new(const char *bytes, size_t len) {
    str *s = str_new_raw(len);
    if (s && len) memcpy(s->bytes, bytes, len);
    return s;
}

dict *dict_new(struct type *key, struct type *val) {
    dict *d = mem_zalloc(sizeof *d);
    if (!d) return NULL;
    atomic_init(&d->refs, 1);
    d->key_type = value_hold_type(key);
    d->val_type = value_hold_type(val);
    return d;
}

list *list_new(list_kind kind, struct type *elem, size_t reserve) {
    list *l = recycle_alloc(sizeof *l);
    if (!l) return NULL;
    *l = (list){.refs = 1, .kind = (uint8_t)kind};
    if (!list_reserve(l, reserve)) {
        recycle_free(l, sizeof *l);
        return NULL;
    }
    l->elem = value_hold_type(elem);
    return l;
}

tuple *tuple_new(size_t len, struct type *named) {
    size_t size;
    if (!size_mul(len, sizeof(value), &size) || !size_add(size, sizeof(tuple), &size)) return NULL;
    tuple *t = recycle_alloc(size);
    if (!t) return NULL;
    memset(t, 0, size);
    atomic_init(&t->refs, 1);
    t->len = len;
    t->type = value_hold_type(named);
    return t;
}

object *object_new(struct type *cls, size_t nslots) {
    size_t size;
    if (!size_mul(nslots, sizeof(value), &size) || !size_add(size, sizeof(object), &size))
        return NULL;
    object *o = mem_alloc(size);
    if (!o) return NULL;
    atomic_init(&o->refs, 1);
    o->cls = value_hold_type(cls);
    o->nslots = nslots;
    for (size_t i = 0; i < nslots; i++) o->slots[i] = value_uninit();
    return o;
}

enum_value *enum_new(struct type *cls, const char *name, value val_take) {
    enum_value *e = mem_alloc(sizeof *e);
    if (!e) {
        value_unref(val_take);
        return NULL;
    }
    atomic_init(&e->refs, 1);
    e->cls = value_hold_type(cls);
    e->name = name;
    e->val = val_take;
    return e;
}

complex_box *complex_new(double re, double im) {
    complex_box *c = mem_alloc(sizeof *c);
    if (!c) return NULL;
    atomic_init(&c->refs, 1);
    c->re = re;
    c->im = im;
    return c;
}

/* ---- freeing --------------------------------------------------------------------------------- */

const char capsule_opaque[] = "object of an unknown class";

/* The field that links a deferred payload; NULL for payloads that hold no other
 * values (or, a future, can hold another future only through one of the others). */
static struct type **value_link(value v) {
    switch (v.tag) {
    case V_LIST: return v.u.list->kind == LIST_VALUE ? &v.u.list->elem : NULL;
    case V_DICT: return &v.u.dict->key_type;
    case V_TUPLE: return &v.u.tuple->type;
    case V_OBJECT: return &v.u.object->cls;
    case V_ENUM: return &v.u.enumv->cls;
    default: return NULL;
    }
}

static void value_drop_types(value v) {
    struct type **t = value_link(v);
    if (t) value_drop_type(t);
    if (v.tag == V_DICT) value_drop_type(&v.u.dict->val_type);
    if (v.tag == V_LIST) value_drop_type(&v.u.list->elem);
}

/* Frees a payload whose types are let go. */
static void value_free_contents(value v) {
    switch (v.tag) {
    case V_LIST:
        list_free_items(v.u.list);
        recycle_free(v.u.list, sizeof(list));
        return;
    case V_DICT: dict_clear(v.u.dict); break;
    case V_TUPLE:
        for (size_t i = 0; i < v.u.tuple->len; i++) value_unref(v.u.tuple->items[i]);
        recycle_free(v.u.tuple, sizeof(tuple) + v.u.tuple->len * sizeof(value));
        return;
    case V_OBJECT:
        for (size_t i = 0; i < v.u.object->nslots; i++) value_unref(v.u.object->slots[i]);
        break;
    case V_ENUM: value_unref(v.u.enumv->val); break;
    case V_FUTURE:
        value_unref(v.u.future->result);
        diag_clear(&v.u.future->error);
        if (v.u.future->source) v.u.future->source->free(v.u.future->source);
        break;
    case V_CAPSULE:
        if (v.u.capsule->free) v.u.capsule->free(v.u.capsule->ptr);
        break;
    default: break;
    }
    mem_free(v.u.refs);
}

#ifdef CTSC_RT
/* A compiled program's values are nested as deep as it was when it was compiled, and the run-time
 * library has no thread-local variables (rt/rt_thread.c). */
void value_free_payload(value v) {
    if (v.tag == V_TENSOR) {
        tensor_free(v.u.tensor);
        return;
    }
    value_drop_types(v);
    value_free_contents(v);
}
#else
enum { VALUE_FREE_DEPTH = 200 };

static _Thread_local int value_free_depth;
/* Payloads put off, by tag. */
static _Thread_local void *value_put_off[V_CAPSULE + 1];
static _Thread_local bool value_any_put_off;

static bool value_take_put_off(value *out) {
    for (int tag = 0; tag <= V_CAPSULE; tag++) {
        void *p = value_put_off[tag];
        if (!p) continue;
        *out = (value){.tag = (uint8_t)tag, .u.refs = p};
        struct type **link = value_link(*out);
        value_put_off[tag] = *link;
        *link = NULL;
        return true;
    }
    return false;
}

void value_free_payload(value v) {
    if (v.tag == V_TENSOR) {
        tensor_free(v.u.tensor);
        return;
    }
    value_drop_types(v);
    struct type **link = value_link(v);
    if (link && value_free_depth >= VALUE_FREE_DEPTH) {
        *link = value_put_off[v.tag];
        value_put_off[v.tag] = v.u.refs;
        value_any_put_off = true;
        return;
    }
    value_free_depth++;
    value_free_contents(v);
    if (value_free_depth == 1 && value_any_put_off) {
        value late;
        while (value_take_put_off(&late)) value_free_contents(late);
        value_any_put_off = false;
    }
    value_free_depth--;
}
#endif

/* ---- copies ---------------------------------------------------------------------------------- */

static ctsc_status clone_list(diag *d, const list *l, value *out) {
    list *copy = list_new((list_kind)l->kind, l->elem, l->len);
    ctsc_status s = copy ? CTSC_OK : diag_no_memory(d);
    for (size_t i = 0; i < l->len && s == CTSC_OK; i++) {
        value item = list_get(l, i), own = value_none();
        s = value_clone(d, item, &own);
        value_unref(item);
        if (s == CTSC_OK && !list_append_take(copy, own)) s = diag_no_memory(d);
    }
    if (s == CTSC_OK) *out = value_list_take(copy);
    else if (copy) value_unref(value_list_take(copy));
    return s;
}

static ctsc_status clone_tuple(diag *d, const tuple *t, value *out) {
    tuple *copy = tuple_new(t->len, t->type);
    ctsc_status s = copy ? CTSC_OK : diag_no_memory(d);
    for (size_t i = 0; i < t->len && s == CTSC_OK; i++)
        s = value_clone(d, t->items[i], &copy->items[i]);
    if (s == CTSC_OK) *out = value_tuple_take(copy);
    else if (copy) value_unref(value_tuple_take(copy));
    return s;
}

static ctsc_status clone_dict(diag *d, const dict *from, value *out) {
    dict *copy = dict_new(from->key_type, from->val_type);
    ctsc_status s = copy ? CTSC_OK : diag_no_memory(d);
    for (size_t i = 0; i < from->used && s == CTSC_OK; i++) {
        value own = value_none();
        if (from->entries[i].key.tag == V_UNINIT) continue;
        s = value_clone(d, from->entries[i].val, &own);
        if (s == CTSC_OK && !dict_set_take(copy, value_ref(from->entries[i].key), own))
            s = diag_no_memory(d);
    }
    if (s == CTSC_OK) *out = value_dict_take(copy);
    else if (copy) value_unref(value_dict_take(copy));
    return s;
}

ctsc_status value_clone(diag *d, value v, value *out) {
    tensor *t = NULL;
    switch (v.tag) {
    case V_TENSOR:
        if (tensor_clone(d, v.u.tensor, &t) != CTSC_OK) return d->status;
        *out = value_tensor_take(t);
        return CTSC_OK;
    case V_LIST: return clone_list(d, v.u.list, out);
    case V_TUPLE: return clone_tuple(d, v.u.tuple, out);
    case V_DICT: return clone_dict(d, v.u.dict, out);
    default: *out = value_ref(v); return CTSC_OK;
    }
}
