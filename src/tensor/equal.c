/* SPDX-License-Identifier: Apache-2.0 */
/*
 * equal.c - `is` and `==`.
 * Tests: tests/unit/test_value.c
 */
#include "tensor/value.h"

#include <string.h>

/* Containers can hold themselves (through Any): comparisons give up at this depth. */
enum { COMPARE_DEPTH = 500 };

bool value_is(value a, value b) {
    if (a.tag != b.tag) return false;
    if (value_is_counted(a)) return a.u.refs == b.u.refs;
    switch (a.tag) {
    case V_BOOL: return a.u.b == b.u.b;
    case V_INT: return a.u.i == b.u.i;
    case V_FLOAT: return a.u.f == b.u.f;
    case V_DEVICE: return a.u.device == b.u.device;
    case V_FUNCTION: return a.u.function == b.u.function;
    default: return true;
    }
}

static bool compare_equal(value a, value b, int depth);

static bool compare_is_number(value v) {
    return v.tag == V_BOOL || v.tag == V_INT || v.tag == V_FLOAT || v.tag == V_COMPLEX;
}

/* int == float exactly, as Python does: a float that is no int64 equals none. */
static bool compare_int_float(int64_t i, double f) {
    return f >= -0x1p63 && f < 0x1p63 && (int64_t)f == i && (double)(int64_t)f == f;
}

static bool compare_numbers(value a, value b) {
    if (a.tag == V_COMPLEX || b.tag == V_COMPLEX) {
        if (a.tag != V_COMPLEX) return compare_numbers(b, a);
        value re = value_float(a.u.complex->re);
        if (b.tag != V_COMPLEX) return a.u.complex->im == 0 && compare_numbers(re, b);
        return re.u.f == b.u.complex->re && a.u.complex->im == b.u.complex->im;
    }
    if (a.tag == V_BOOL) a = value_int(a.u.b);
    if (b.tag == V_BOOL) b = value_int(b.u.b);
    if (a.tag == V_INT && b.tag == V_INT) return a.u.i == b.u.i;
    if (a.tag == V_FLOAT && b.tag == V_FLOAT) return a.u.f == b.u.f;
    return a.tag == V_INT ? compare_int_float(a.u.i, b.u.f) : compare_int_float(b.u.i, a.u.f);
}

static bool compare_lists(const list *a, const list *b, int depth) {
    if (a->len != b->len) return false;
    for (size_t i = 0; i < a->len; i++) {
        value x = list_get(a, i), y = list_get(b, i);
        bool same = compare_equal(x, y, depth);
        value_unref(x);
        value_unref(y);
        if (!same) return false;
    }
    return true;
}

/* Without regard to order. */
static bool compare_dicts(const dict *a, const dict *b, int depth) {
    if (a->len != b->len) return false;
    for (size_t i = 0; i < a->used; i++) {
        const dict_entry *e = &a->entries[i];
        value other;
        if (e->key.tag == V_UNINIT) continue;
        if (!dict_get(b, e->key, &other) || !compare_equal(e->val, other, depth)) return false;
    }
    return true;
}

static bool compare_tuples(const tuple *a, const tuple *b, int depth) {
    if (a->len != b->len) return false;
    for (size_t i = 0; i < a->len; i++)
        if (!compare_equal(a->items[i], b->items[i], depth)) return false;
    return true;
}

static bool compare_equal(value a, value b, int depth) {
    if (depth > COMPARE_DEPTH) return false;
    if (compare_is_number(a) && compare_is_number(b)) return compare_numbers(a, b);
    if (a.tag != b.tag) return false;
    switch (a.tag) {
    case V_STR:
        return a.u.str->len == b.u.str->len &&
               memcmp(a.u.str->bytes, b.u.str->bytes, a.u.str->len) == 0;
    case V_LIST: return compare_lists(a.u.list, b.u.list, depth + 1);
    case V_DICT: return compare_dicts(a.u.dict, b.u.dict, depth + 1);
    case V_TUPLE: return compare_tuples(a.u.tuple, b.u.tuple, depth + 1);
    case V_ENUM: /* each mention of a member is an object of its own */
        return a.u.enumv->cls == b.u.enumv->cls && !strcmp(a.u.enumv->name, b.u.enumv->name);
    default: return value_is(a, b);
    }
}

bool value_equal(value a, value b) { return compare_equal(a, b, 0); }
