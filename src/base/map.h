/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map.h - hash maps from byte strings, or from pointers, to pointers; and interned strings.
 *
 * Open addressing with linear probing, power-of-two sizes, hashes seeded per process, so that a
 * hostile file cannot choose its collisions. A map does not own what its keys and values point to.
 */
#ifndef CTSC_BASE_MAP_H
#define CTSC_BASE_MAP_H

#include "base/memory/mem.h"

uint64_t hash_bytes(const void *p, size_t len); /* seeded per process */
uint64_t hash_u64(uint64_t x);

typedef struct map_entry {
    const char *key; /* NULL: empty */
    size_t len;
    uint64_t hash;
    void *value;
} map_entry;

/* String keys. The key's bytes must outlive the map. Iteration: slots[0..cap) with key != NULL. */
typedef struct strmap {
    map_entry *slots;
    size_t cap, used;
} strmap;

void *strmap_get(const strmap *m, const char *key);
void *strmap_getn(const strmap *m, const char *key, size_t len);
bool strmap_put(strmap *m, const char *key, void *value); /* replaces; false: out of memory */
bool strmap_putn(strmap *m, const char *key, size_t len, void *value);
void strmap_free(strmap *m);

typedef struct ptrmap {
    struct { const void *key; void *value; } *slots;
    size_t cap, used;
} ptrmap;

void *ptrmap_get(const ptrmap *m, const void *key); /* NULL when absent */
bool ptrmap_put(ptrmap *m, const void *key, void *value);
void ptrmap_free(ptrmap *m);

/* Interned strings: one copy of each text in an arena, so that equal text means equal pointer.
 * Never NULL (a failure marks the arena and yields a string all the same). */
typedef struct interner {
    arena *a;
    strmap map;
} interner;

const char *intern(interner *in, const char *s);
const char *intern_n(interner *in, const char *s, size_t len);
void interner_free(interner *in);

#endif
