/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dict.c - Python dicts: insertion-ordered entries and a hash index over them.
 *
 * Method: entries are stored in an array in insertion order; the index holds their positions, with
 * linear probing. Deleting leaves a hole among the entries, and closes the gap in the index by
 * moving later positions of the probe sequence back, so the index needs no marks for deleted ones.
 * Holes at the end are given up at once (popitem stays cheap), others when the array is full.
 * Invariants: the index has more slots than live entries; keys are compared by type and value.
 * Tests: tests/unit/test_value.c
 */
#include "base/map.h"
#include "tensor/value.h"

#include <string.h>

enum { DICT_FIRST_CAP = 8 };

/* ---- keys ------------------------------------------------------------------------------------ */

static uint64_t dict_hash_float(double f) {
    uint64_t bits;
    if (f == 0) f = 0; /* -0.0 == 0.0 */
    memcpy(&bits, &f, sizeof bits);
    return hash_u64(bits);
}

static uint64_t dict_hash(value key) {
    switch (key.tag) {
    case V_BOOL: return hash_u64(key.u.b);
    case V_INT: return hash_u64((uint64_t)key.u.i);
    case V_DEVICE: return hash_u64((uint64_t)key.u.device);
    case V_FLOAT: return dict_hash_float(key.u.f);
    case V_COMPLEX:
        return hash_u64(dict_hash_float(key.u.complex->re) + dict_hash_float(key.u.complex->im));
    case V_STR: return hash_bytes(key.u.str->bytes, key.u.str->len);
    default: return hash_u64(value_is_counted(key) ? (uint64_t)(uintptr_t)key.u.refs : key.tag);
    }
}

static bool dict_same_key(value a, value b) {
    if (a.tag != b.tag) return false;
    switch (a.tag) {
    case V_BOOL: return a.u.b == b.u.b;
    case V_INT: return a.u.i == b.u.i;
    case V_DEVICE: return a.u.device == b.u.device;
    case V_FLOAT: return a.u.f == b.u.f;
    case V_COMPLEX: return a.u.complex->re == b.u.complex->re && a.u.complex->im == b.u.complex->im;
    case V_STR:
        return a.u.str->len == b.u.str->len &&
               memcmp(a.u.str->bytes, b.u.str->bytes, a.u.str->len) == 0;
    default: return !value_is_counted(a) || a.u.refs == b.u.refs;
    }
}

/* ---- the index ------------------------------------------------------------------------------- */

/* The index slot of the key, or the empty slot where it belongs. */
static size_t dict_find(const dict *d, value key, uint64_t hash) {
    size_t mask = d->nindex - 1, i = (size_t)hash & mask;
    for (; d->index[i] >= 0; i = (i + 1) & mask) {
        const dict_entry *e = &d->entries[d->index[i]];
        if (e->hash == hash && dict_same_key(e->key, key)) break;
    }
    return i;
}

/* Empties slot i and moves back whatever the probing would no longer reach. */
static void dict_close_gap(dict *d, size_t i) {
    size_t mask = d->nindex - 1;
    for (size_t j = (i + 1) & mask; d->index[j] >= 0; j = (j + 1) & mask) {
        size_t home = (size_t)d->entries[d->index[j]].hash & mask;
        if (((j - home) & mask) < ((j - i) & mask)) continue; /* its home comes after the gap */
        d->index[i] = d->index[j];
        i = j;
    }
    d->index[i] = -1;
}

/* Closes the holes among the entries. The index must be filled anew after that. */
static void dict_compact(dict *d) {
    size_t n = 0;
    for (size_t i = 0; i < d->used; i++)
        if (d->entries[i].key.tag != V_UNINIT) d->entries[n++] = d->entries[i];
    d->used = n;
}

static void dict_fill_index(dict *d) {
    memset(d->index, 0xff, d->nindex * sizeof *d->index);
    for (size_t k = 0; k < d->used; k++) {
        size_t i = (size_t)d->entries[k].hash & (d->nindex - 1);
        while (d->index[i] >= 0) i = (i + 1) & (d->nindex - 1);
        d->index[i] = (int32_t)k;
    }
}

/* Room for one more entry at the end. */
static bool dict_make_room(dict *d) {
    if (d->used < d->cap) return true;
    if (d->len < d->cap - d->cap / 4) { /* a quarter or more are holes: that will do */
        dict_compact(d);
        dict_fill_index(d);
        return true;
    }
    size_t cap = d->cap ? d->cap * 2 : DICT_FIRST_CAP;
    if (cap > INT32_MAX / 2) return false;
    int32_t *index = mem_alloc(cap * 2 * sizeof *index);
    dict_entry *entries = index ? mem_resize(d->entries, cap * sizeof *entries) : NULL;
    if (!entries) {
        mem_free(index);
        return false;
    }
    mem_free(d->index);
    d->index = index;
    d->nindex = cap * 2;
    d->entries = entries;
    d->cap = cap;
    dict_compact(d);
    dict_fill_index(d);
    return true;
}

/* ---- the public functions -------------------------------------------------------------------- */

bool dict_get(const dict *d, value key, value *out) {
    if (d->len == 0) return false;
    int32_t at = d->index[dict_find(d, key, dict_hash(key))];
    if (at < 0) return false;
    *out = d->entries[at].val;
    return true;
}

bool dict_set_take(dict *d, value key, value val) {
    uint64_t hash = dict_hash(key);
    int32_t at = d->len ? d->index[dict_find(d, key, hash)] : -1;
    if (at >= 0) {
        value_set(&d->entries[at].val, val);
        value_unref(key);
        return true;
    }
    if (!dict_make_room(d)) {
        value_unref(key);
        value_unref(val);
        return false;
    }
    d->index[dict_find(d, key, hash)] = (int32_t)d->used;
    d->entries[d->used++] = (dict_entry){key, val, hash};
    d->len++;
    return true;
}

bool dict_delete(dict *d, value key) {
    if (d->len == 0) return false;
    size_t slot = dict_find(d, key, dict_hash(key));
    if (d->index[slot] < 0) return false;
    dict_entry *e = &d->entries[d->index[slot]];
    value old_key = e->key, old_val = e->val;
    dict_close_gap(d, slot);
    e->key = value_uninit();
    e->val = value_none();
    d->len--;
    while (d->used > 0 && d->entries[d->used - 1].key.tag == V_UNINIT) d->used--;
    value_unref(old_key);
    value_unref(old_val);
    return true;
}

void dict_clear(dict *d) {
    dict_entry *entries = d->entries;
    size_t used = d->used;
    mem_free(d->index);
    d->index = NULL;
    d->entries = NULL;
    d->len = d->used = d->cap = d->nindex = 0;
    for (size_t i = 0; i < used; i++) {
        if (entries[i].key.tag == V_UNINIT) continue;
        value_unref(entries[i].key);
        value_unref(entries[i].val);
    }
    mem_free(entries);
}
