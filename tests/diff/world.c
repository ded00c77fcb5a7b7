/* SPDX-License-Identifier: Apache-2.0 */
/*
 * world.c - copies of values that keep what they share, and snapshots of all they reach.
 */
#include "diff.h"

/* ---- copies ---------------------------------------------------------------------------------- */

typedef struct copied { const void *from; void *to; } copied;
typedef VEC(copied) copies;

static void *copies_find(const copies *c, const void *from) {
    for (size_t i = 0; i < c->len; i++)
        if (c->data[i].from == from) return c->data[i].to;
    return NULL;
}

static storage *copy_storage(copies *c, const storage *s) {
    storage *made = copies_find(c, s);
    if (made) return storage_ref(made);
    made = storage_new(s->nbytes);
    if (s->nbytes) memcpy(made->data, s->data, s->nbytes);
    vec_push(c, ((copied){s, made}));
    return made;
}

static tensor *copy_tensor(copies *c, const tensor *t) {
    tensor *made = copies_find(c, t);
    diag d = {0};
    if (made) return tensor_ref(made);
    storage *s = copy_storage(c, t->storage);
    if (tensor_on_storage(&d, s, (dtype)t->dtype, t->ndim, t->sizes, t->strides, t->offset,
                          &made) != CTSC_OK)
        abort();
    made->requires_grad = t->requires_grad;
    storage_unref(s);
    vec_push(c, ((copied){t, made}));
    return made;
}

static value copy_value(copies *c, value v);

static list *copy_list(copies *c, const list *l) {
    list *made = copies_find(c, l);
    if (made) return (list *)value_ref(value_list_take(made)).u.list;
    made = list_new((list_kind)l->kind, l->elem, l->len);
    vec_push(c, ((copied){l, made}));
    for (size_t i = 0; i < l->len; i++) {
        value item = list_get(l, i);
        list_append_take(made, copy_value(c, item));
        value_unref(item);
    }
    return made;
}

static value copy_value(copies *c, value v) {
    if (v.tag == V_TENSOR) return value_tensor_take(copy_tensor(c, v.u.tensor));
    if (v.tag == V_LIST) return value_list_take(copy_list(c, v.u.list));
    if (v.tag != V_TUPLE) return value_ref(v);
    tuple *t = tuple_new(v.u.tuple->len, v.u.tuple->type);
    for (size_t i = 0; i < t->len; i++) t->items[i] = copy_value(c, v.u.tuple->items[i]);
    return value_tuple_take(t);
}

void copy_values(size_t n, const value *from, value *to) {
    copies c = {0};
    for (size_t i = 0; i < n; i++) to[i] = copy_value(&c, from[i]);
    vec_free(&c);
}

/* ---- snapshots ------------------------------------------------------------------------------- */

static void world_add(world *w, value v);

static void world_add_tensor(world *w, tensor *t) {
    for (size_t i = 0; i < w->tensors.len; i++)
        if (w->tensors.data[i].t == t) return;
    vec_push(&w->tensors, ((world_tensor){tensor_ref(t), *t}));
    for (size_t i = 0; i < w->storages.len; i++)
        if (w->storages.data[i].s == t->storage) return;
    storage *s = storage_ref(t->storage);
    vec_push(&w->storages, ((world_storage){s, w->bytes.len}));
    vec_reserve(&w->bytes, w->bytes.len + s->nbytes);
    if (s->nbytes) memcpy(w->bytes.data + w->bytes.len, s->data, s->nbytes);
    w->bytes.len += s->nbytes;
}

static void world_add_list(world *w, list *l) {
    for (size_t i = 0; i < w->lists.len; i++)
        if (w->lists.data[i].l == l) return;
    size_t at = w->items.len, n = l->len;
    value_ref(value_list_take(l));
    vec_push(&w->lists, ((world_list){l, at, n}));
    for (size_t i = 0; i < n; i++) vec_push(&w->items, list_get(l, i));
    for (size_t i = 0; i < n; i++) world_add(w, w->items.data[at + i]);
}

static void world_add(world *w, value v) {
    if (v.tag == V_TENSOR) world_add_tensor(w, v.u.tensor);
    if (v.tag == V_LIST) world_add_list(w, v.u.list);
    if (v.tag == V_TUPLE)
        for (size_t i = 0; i < v.u.tuple->len; i++) world_add(w, v.u.tuple->items[i]);
}

void world_save(world *w, size_t n, const value *values) {
    for (size_t i = 0; i < n; i++) world_add(w, values[i]);
}

/* Only ranks that fit inside the handle are made here, so its dims are part of it. */
static void world_restore_tensor(tensor *t, const tensor *saved) {
    if (t->sizes != t->inline_dims) mem_free(t->sizes);
    t->sizes = t->inline_dims;
    t->strides = t->inline_dims + TENSOR_INLINE_DIMS;
    t->ndim = saved->ndim;
    t->numel = saved->numel;
    t->offset = saved->offset;
    memcpy(t->inline_dims, saved->inline_dims, sizeof t->inline_dims);
    if (t->storage == saved->storage) return;
    storage_unref(t->storage);
    t->storage = storage_ref(saved->storage);
}

void world_restore(world *w) {
    for (size_t i = 0; i < w->storages.len; i++) {
        storage *s = w->storages.data[i].s;
        if (s->nbytes) memcpy(s->data, w->bytes.data + w->storages.data[i].at, s->nbytes);
    }
    for (size_t i = 0; i < w->tensors.len; i++)
        world_restore_tensor(w->tensors.data[i].t, &w->tensors.data[i].saved);
    for (size_t i = 0; i < w->lists.len; i++) {
        const world_list *x = &w->lists.data[i];
        list_clear(x->l);
        for (size_t k = 0; k < x->n; k++)
            list_append_take(x->l, value_ref(w->items.data[x->at + k]));
    }
}

void world_free(world *w) {
    for (size_t i = 0; i < w->storages.len; i++) storage_unref(w->storages.data[i].s);
    for (size_t i = 0; i < w->tensors.len; i++) tensor_unref(w->tensors.data[i].t);
    for (size_t i = 0; i < w->lists.len; i++) value_unref(value_list_take(w->lists.data[i].l));
    for (size_t i = 0; i < w->items.len; i++) value_unref(w->items.data[i]);
    vec_free(&w->storages);
    vec_free(&w->tensors);
    vec_free(&w->lists);
    vec_free(&w->bytes);
    vec_free(&w->items);
}
