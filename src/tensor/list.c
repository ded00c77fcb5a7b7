/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list.c - Python lists, stored flat for the common element types.
 *
 * Tests: tests/unit/test_value.c
 */
#include "base/memory/recycle.h"
#include "tensor/value.h"

#include <string.h>

static size_t list_item_size(const list *l) {
    switch ((list_kind)l->kind) {
    case LIST_INT: return sizeof(int64_t);
    case LIST_FLOAT: return sizeof(double);
    case LIST_BOOL: return sizeof(bool);
    case LIST_TENSOR: return sizeof(tensor *);
    default: return sizeof(value);
    }
}

bool list_fits(list_kind kind, value v) {
    switch (kind) {
    case LIST_INT: return v.tag == V_INT;
    case LIST_FLOAT: return v.tag == V_FLOAT;
    case LIST_BOOL: return v.tag == V_BOOL;
    case LIST_TENSOR: return v.tag == V_TENSOR;
    default: return true;
    }
}

/* Moves the reference in slot i out. */
static value list_take_slot(const list *l, size_t i) {
    switch ((list_kind)l->kind) {
    case LIST_INT: return value_int(l->u.ints[i]);
    case LIST_FLOAT: return value_float(l->u.floats[i]);
    case LIST_BOOL: return value_bool(l->u.bools[i]);
    case LIST_TENSOR: return value_tensor_take(l->u.tensors[i]);
    default: return l->u.values[i];
    }
}

/* Moves v's reference into slot i, whose old content is not looked at. */
static void list_fill_slot(list *l, size_t i, value v) {
    switch ((list_kind)l->kind) {
    case LIST_INT: l->u.ints[i] = v.u.i; break;
    case LIST_FLOAT: l->u.floats[i] = v.u.f; break;
    case LIST_BOOL: l->u.bools[i] = v.u.b; break;
    case LIST_TENSOR: l->u.tensors[i] = v.u.tensor; break;
    default: l->u.values[i] = v; break;
    }
}

/* Shifts slots [from, len) to begin at `to`. */
static void list_shift(list *l, size_t from, size_t to) {
    size_t item = list_item_size(l);
    if (l->len > from)
        memmove((char *)l->u.raw + to * item, (char *)l->u.raw + from * item,
                (l->len - from) * item);
}

value list_get(const list *l, size_t i) { return value_ref(list_take_slot(l, i)); }

void list_set_take(list *l, size_t i, value v) {
    value old = list_take_slot(l, i);
    list_fill_slot(l, i, v);
    value_unref(old);
}

bool list_reserve(list *l, size_t n) {
    if (n <= l->cap) return true;
    size_t cap = n < l->cap * 2 ? l->cap * 2 : n, bytes;
    if (l->cap && cap < 8) cap = 8;
    if (!size_mul(cap, list_item_size(l), &bytes)) return false;
    void *raw = recycle_alloc(bytes);
    if (!raw) return false;
    if (l->len) memcpy(raw, l->u.raw, l->len * list_item_size(l));
    recycle_free(l->u.raw, l->cap * list_item_size(l));
    l->u.raw = raw;
    l->cap = cap;
    return true;
}

void list_free_items(list *l) {
    list_clear(l);
    recycle_free(l->u.raw, l->cap * list_item_size(l));
    l->u.raw = NULL;
    l->cap = 0;
}

bool list_append_take(list *l, value v) { return list_insert_take(l, l->len, v); }

bool list_insert_take(list *l, size_t i, value v) {
    if (l->len == l->cap && !list_reserve(l, l->len + 1)) {
        value_unref(v);
        return false;
    }
    list_shift(l, i, i + 1);
    list_fill_slot(l, i, v);
    l->len++;
    return true;
}

value list_remove_at(list *l, size_t i) {
    value v = list_take_slot(l, i);
    list_shift(l, i + 1, i);
    l->len--;
    return v;
}

void list_clear(list *l) {
    /* From the end, the length first: freeing an element must not find a half-dead list. */
    if (l->kind == LIST_VALUE || l->kind == LIST_TENSOR)
        while (l->len > 0) value_unref(list_take_slot(l, --l->len));
    l->len = 0;
}
