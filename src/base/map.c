/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map.c - hash maps and interned strings.
 *
 * Method: the hash folds 128-bit products, eight bytes at a time, from a seed drawn once per
 * process. Tables double when three quarters full; nothing is ever removed, so probing needs no
 * marks.
 * Tests: tests/unit/test_base.c
 */
#include "base/map.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

/* ---- hashing --------------------------------------------------------------------------------- */

/* Odd constants with half their bits set: the fractional parts of sqrt(2), sqrt(3), sqrt(5). */
#define HASH_K1 UINT64_C(0x6a09e667f3bcc909)
#define HASH_K2 UINT64_C(0xbb67ae8584caa73b)
#define HASH_K3 UINT64_C(0x3c6ef372fe94f82b)

static _Atomic uint64_t hash_seed_word;

static uint64_t hash_seed(void) {
    uint64_t seed = atomic_load_explicit(&hash_seed_word, memory_order_relaxed);
    if (seed) return seed;
    uint64_t fresh = 0;
    if (getrandom(&fresh, sizeof fresh, GRND_NONBLOCK) != (ssize_t)sizeof fresh) {
        struct timespec ts;
        clock_gettime(CLOCK_MONOTONIC, &ts);
        fresh = (uint64_t)ts.tv_nsec * HASH_K1 ^ (uint64_t)(uintptr_t)&ts;
    }
    fresh |= 1; /* 0 means: not drawn yet */
    /* Several threads may draw at once; the first one's seed holds for all. */
    return atomic_compare_exchange_strong(&hash_seed_word, &seed, fresh) ? fresh : seed;
}

static uint64_t hash_fold(uint64_t a, uint64_t b) {
    unsigned __int128 p = (unsigned __int128)a * b;
    return (uint64_t)p ^ (uint64_t)(p >> 64);
}

uint64_t hash_u64(uint64_t x) {
    return hash_fold(hash_fold(x ^ HASH_K1, hash_seed() ^ HASH_K2), HASH_K3);
}

uint64_t hash_bytes(const void *p, size_t len) {
    const unsigned char *s = p;
    uint64_t seed = hash_seed(), h = seed ^ hash_fold(len ^ HASH_K1, HASH_K2);
    for (; len >= 8; s += 8, len -= 8) {
        uint64_t w;
        memcpy(&w, s, 8);
        h = hash_fold(h ^ w, seed ^ HASH_K3);
    }
    uint64_t w = 0;
    for (size_t i = 0; i < len; i++) w |= (uint64_t)s[i] << (8 * i);
    return hash_fold(hash_fold(h ^ w, seed ^ HASH_K2), HASH_K1);
}

/* ---- string keys ----------------------------------------------------------------------------- */

/* The slot of the key, or the empty slot where it belongs. The table must have an empty slot. */
static map_entry *strmap_find(const strmap *m, const char *key, size_t len, uint64_t hash) {
    size_t mask = m->cap - 1;
    for (size_t i = (size_t)hash & mask;; i = (i + 1) & mask) {
        map_entry *e = &m->slots[i];
        if (!e->key) return e;
        if (e->hash == hash && e->len == len && (len == 0 || memcmp(e->key, key, len) == 0))
            return e;
    }
}

static bool strmap_grow(strmap *m) {
    strmap bigger = {.cap = m->cap ? m->cap * 2 : 16, .used = m->used};
    size_t bytes;
    if (!size_mul(bigger.cap, sizeof *bigger.slots, &bytes)) return false;
    bigger.slots = mem_zalloc(bytes);
    if (!bigger.slots) return false;
    for (size_t i = 0; i < m->cap; i++) {
        map_entry *e = &m->slots[i];
        if (e->key) *strmap_find(&bigger, e->key, e->len, e->hash) = *e;
    }
    mem_free(m->slots);
    *m = bigger;
    return true;
}

void *strmap_get(const strmap *m, const char *key) { return strmap_getn(m, key, strlen(key)); }

void *strmap_getn(const strmap *m, const char *key, size_t len) {
    if (m->used == 0) return NULL;
    return strmap_find(m, key, len, hash_bytes(key, len))->value;
}

bool strmap_put(strmap *m, const char *key, void *value) {
    return strmap_putn(m, key, strlen(key), value);
}

bool strmap_putn(strmap *m, const char *key, size_t len, void *value) {
    uint64_t hash = hash_bytes(key, len);
    if (m->cap) {
        map_entry *e = strmap_find(m, key, len, hash);
        if (e->key) {
            e->value = value;
            return true;
        }
    }
    if (m->used >= m->cap / 4 * 3 && !strmap_grow(m)) return false;
    *strmap_find(m, key, len, hash) = (map_entry){key, len, hash, value};
    m->used++;
    return true;
}

void strmap_free(strmap *m) {
    mem_free(m->slots);
    *m = (strmap){0};
}

/* ---- pointer keys ---------------------------------------------------------------------------- */

static size_t ptrmap_find(const ptrmap *m, const void *key) {
    size_t mask = m->cap - 1;
    size_t i = (size_t)hash_u64((uint64_t)(uintptr_t)key) & mask;
    while (m->slots[i].key && m->slots[i].key != key) i = (i + 1) & mask;
    return i;
}

static bool ptrmap_grow(ptrmap *m) {
    ptrmap bigger = {.cap = m->cap ? m->cap * 2 : 16, .used = m->used};
    size_t bytes;
    if (!size_mul(bigger.cap, sizeof *bigger.slots, &bytes)) return false;
    bigger.slots = mem_zalloc(bytes);
    if (!bigger.slots) return false;
    for (size_t i = 0; i < m->cap; i++)
        if (m->slots[i].key) {
            size_t j = ptrmap_find(&bigger, m->slots[i].key);
            bigger.slots[j].key = m->slots[i].key;
            bigger.slots[j].value = m->slots[i].value;
        }
    mem_free(m->slots);
    *m = bigger;
    return true;
}

void *ptrmap_get(const ptrmap *m, const void *key) {
    return m->used && key ? m->slots[ptrmap_find(m, key)].value : NULL;
}

bool ptrmap_put(ptrmap *m, const void *key, void *value) {
    if (!key) return false;
    if (m->cap) {
        size_t i = ptrmap_find(m, key);
        if (m->slots[i].key) {
            m->slots[i].value = value;
            return true;
        }
    }
    if (m->used >= m->cap / 4 * 3 && !ptrmap_grow(m)) return false;
    size_t i = ptrmap_find(m, key);
    m->slots[i].key = key;
    m->slots[i].value = value;
    m->used++;
    return true;
}

void ptrmap_free(ptrmap *m) {
    mem_free(m->slots);
    *m = (ptrmap){0};
}

/* ---- interned strings ------------------------------------------------------------------------ */

const char *intern(interner *in, const char *s) { return intern_n(in, s, strlen(s)); }

const char *intern_n(interner *in, const char *s, size_t len) {
    const char *known = strmap_getn(&in->map, s, len);
    if (known) return known;
    char *copy = arena_strndup(in->a, s, len);
    if (!copy) return "";
    /* A string in the arena's reserve will be overwritten: it must not become a key. */
    if (!in->a->failed && !strmap_putn(&in->map, copy, len, copy)) in->a->failed = true;
    return copy;
}

void interner_free(interner *in) { strmap_free(&in->map); }
