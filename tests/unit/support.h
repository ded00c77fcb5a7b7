/* SPDX-License-Identifier: Apache-2.0 */
/* support.h - what several unit tests share: reading files, a counting and failing allocator. */
#ifndef CTSC_TESTS_SUPPORT_H
#define CTSC_TESTS_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Paths are relative to the project's root, where the tests run. NULL: no such file. free() it. */
static inline unsigned char *support_read(const char *path, size_t *len) {
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    fseek(f, 0, SEEK_END);
    long n = ftell(f);
    rewind(f);
    unsigned char *data = malloc((size_t)n + 1);
    if (data && fread(data, 1, (size_t)n, f) != (size_t)n) n = 0;
    fclose(f);
    if (data) data[n] = 0;
    *len = (size_t)n;
    return data;
}

/* Counts blocks, and fails request number `fail_at` (all from it on, if sticky). */
typedef struct counting { atomic_long live, requests, fail_at; atomic_bool sticky; } counting;

static inline void *counting_hook(void *ctx, void *p, size_t size) {
    counting *c = ctx;
    if (size == 0) {
        if (p) c->live--;
        free(p);
        return NULL;
    }
    long n = ++c->requests;
    if (c->fail_at && (n == c->fail_at || (c->sticky && n > c->fail_at))) return NULL;
    void *q = realloc(p, size);
    if (q && !p) c->live++;
    return q;
}

#endif
