/* SPDX-License-Identifier: Apache-2.0 */
/* keyed_hash.c - see keyed_hash.h. Names are RFC 7693's: h, v, m, F, G. */
#include "base/keyed_hash.h"

#include <string.h>

static const uint64_t keyed_hash_iv[8] = {
    0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
    0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179};

/* The order in which a round takes the words of m; rounds 10 and 11 begin again. */
static const unsigned char keyed_hash_sigma[10][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
    {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
    {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
    {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
    {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
};

static uint64_t keyed_hash_word(const unsigned char *p) {
    uint64_t w = 0;
    for (int i = 7; i >= 0; i--) w = w << 8 | p[i];
    return w;
}

static uint64_t keyed_hash_turn(uint64_t x, int n) { return x >> n | x << (64 - n); }

static inline __attribute__((always_inline)) void keyed_hash_g(uint64_t *a, uint64_t *b,
                                                               uint64_t *c, uint64_t *d, uint64_t x,
                                                               uint64_t y) {
    *a += *b + x;
    *d = keyed_hash_turn(*d ^ *a, 32);
    *c += *d;
    *b = keyed_hash_turn(*b ^ *c, 24);
    *a += *b + y;
    *d = keyed_hash_turn(*d ^ *a, 16);
    *c += *d;
    *b = keyed_hash_turn(*b ^ *c, 63);
}

static void keyed_hash_f(keyed_hash *k, const unsigned char *block, bool last) {
    uint64_t v[16], m[16];
    for (int i = 0; i < 16; i++) m[i] = keyed_hash_word(block + 8 * i);
    memcpy(v, k->h, sizeof k->h);
    memcpy(v + 8, keyed_hash_iv, sizeof keyed_hash_iv);
    v[12] ^= k->bytes; /* its upper half, for 2^64 bytes and more, stays 0 */
    if (last) v[14] = ~v[14];
    for (int round = 0; round < 12; round++) {
        const unsigned char *s = keyed_hash_sigma[round % 10];
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) /* columns, then diagonals */
            keyed_hash_g(v + i, v + 4 + i, v + 8 + i, v + 12 + i, m[s[2 * i]], m[s[2 * i + 1]]);
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++)
            keyed_hash_g(v + i, v + 4 + (i + 1) % 4, v + 8 + (i + 2) % 4, v + 12 + (i + 3) % 4,
                         m[s[8 + 2 * i]], m[s[9 + 2 * i]]);
    }
    for (int i = 0; i < 8; i++) k->h[i] ^= v[i] ^ v[i + 8];
}

void keyed_hash_begin(keyed_hash *k, const unsigned char key[KEYED_HASH_KEY]) {
    *k = (keyed_hash){.held = KEYED_HASH_BLOCK}; /* the first block is the key, and zeros */
    memcpy(k->h, keyed_hash_iv, sizeof k->h);
    k->h[0] ^= 0x01010000 ^ KEYED_HASH_KEY << 8 ^ KEYED_HASH_SIZE;
    memcpy(k->block, key, KEYED_HASH_KEY);
}

/* A full block waits until more comes: the last one is hashed differently. */
void keyed_hash_add(keyed_hash *k, const void *data, size_t size) {
    const unsigned char *p = data;
    while (size) {
        if (k->held == KEYED_HASH_BLOCK) {
            k->bytes += KEYED_HASH_BLOCK;
            keyed_hash_f(k, k->block, false);
            k->held = 0;
        }
        size_t n = KEYED_HASH_BLOCK - k->held < size ? KEYED_HASH_BLOCK - k->held : size;
        memcpy(k->block + k->held, p, n);
        k->held += n;
        p += n;
        size -= n;
    }
}

void keyed_hash_end(keyed_hash *k, unsigned char out[KEYED_HASH_SIZE]) {
    k->bytes += k->held;
    memset(k->block + k->held, 0, KEYED_HASH_BLOCK - k->held);
    keyed_hash_f(k, k->block, true);
    for (int i = 0; i < KEYED_HASH_SIZE; i++) out[i] = (unsigned char)(k->h[i / 8] >> 8 * (i % 8));
}

bool keyed_hash_same(const unsigned char a[KEYED_HASH_SIZE],
                     const unsigned char b[KEYED_HASH_SIZE]) {
    unsigned char differs = 0;
    for (int i = 0; i < KEYED_HASH_SIZE; i++) differs |= a[i] ^ b[i];
    return !differs;
}
