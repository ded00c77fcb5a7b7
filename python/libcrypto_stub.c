/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libcrypto_stub.c - what libzip asks of OpenSSL for encrypted entries, which archives of programs
 * do not have: it fails.
 *
 * Debian's libzip is linked with libcrypto, five megabytes that nothing in a wheel would ever call.
 * auditwheel puts this in its place, under a name of its own, so that no other library finds it.
 */
#include <stddef.h>

#define NOTHING(name)                                                                              \
    __attribute__((visibility("default"))) void *name(void);                                       \
    void *name(void) { return NULL; }
NOTHING(AES_encrypt)
NOTHING(AES_set_encrypt_key)
NOTHING(EVP_sha1)
NOTHING(HMAC_CTX_free)
NOTHING(HMAC_CTX_new)
NOTHING(HMAC_Final)
NOTHING(HMAC_Init_ex)
NOTHING(HMAC_Update)
NOTHING(PKCS5_PBKDF2_HMAC_SHA1)
NOTHING(RAND_bytes)
