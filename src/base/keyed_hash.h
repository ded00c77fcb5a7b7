/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keyed_hash.h - a hash that only those can make who have the key: BLAKE2b with a key (RFC 7693),
 * 32 bytes of it.
 *
 * Its own, since none of the libraries that libctsc.so is linked with has one. libcrypto comes only
 * with some builds of libzip, and a wheel does without it; the kernel's (AF_ALG) is not there in
 * containers and in the sandbox. BLAKE2b takes a key without a construction around it, such as
 * HMAC, and without instructions for it is some three times as fast as SHA-256: a program with
 * hundreds of kernels on disk hashes all of them when it starts.
 *
 * Method: RFC 7693, as it stands there; nothing depends on secret bits but the arithmetic.
 * Tests: tests/unit/test_keyed_hash.c
 */
#ifndef CTSC_BASE_KEYED_HASH_H
#define CTSC_BASE_KEYED_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { KEYED_HASH_KEY = 32, KEYED_HASH_SIZE = 32, KEYED_HASH_BLOCK = 128 };

typedef struct keyed_hash {
    uint64_t h[8], bytes;
    size_t held; /* bytes of block that wait */
    unsigned char block[KEYED_HASH_BLOCK];
} keyed_hash;

void keyed_hash_begin(keyed_hash *k, const unsigned char key[KEYED_HASH_KEY]);
void keyed_hash_add(keyed_hash *k, const void *data, size_t size);
void keyed_hash_end(keyed_hash *k, unsigned char out[KEYED_HASH_SIZE]);
/* In a time that does not depend on where they differ. */
bool keyed_hash_same(const unsigned char a[KEYED_HASH_SIZE],
                     const unsigned char b[KEYED_HASH_SIZE]);

#endif
