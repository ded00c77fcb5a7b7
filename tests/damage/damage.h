/* SPDX-License-Identifier: Apache-2.0 */
/*
 * damage.h - archives damaged inside: what damage_main.c (who runs them) asks of damage_mutate.c
 * (who makes them).
 */
#ifndef CTSC_TESTS_DAMAGE_H
#define CTSC_TESTS_DAMAGE_H

#include "runtime/archive/archive_internal.h"

/* Random numbers: splitmix64 (S. Vigna, public domain algorithm). The same state gives
 * the same damage. */
typedef struct rng { uint64_t state; } rng;

static inline uint64_t rng_next(rng *r) {
    uint64_t z = r->state += 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}
/* From 0 to below n; 0 for n = 0. */
static inline size_t rng_below(rng *r, size_t n) { return n ? (size_t)(rng_next(r) % n) : 0; }

/* A number that programs are bad at: small, at the edge of a type, or any. */
int64_t damage_int(rng *r);

/* Appends a damaged copy of the archive (or of anything, size bytes) to out: one to three of its
 * records changed, then written anew with the checksums they should have; at times the bytes of the
 * zip itself. operators: names that code may call ("relu"), n of them. */
void damage_archive(rng *r, const uint8_t *data, size_t size, const char *const *operators,
                    size_t n, strbuf *out);

#endif
