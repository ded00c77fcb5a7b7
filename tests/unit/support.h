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
#include "ctsc.h"

#include <limits.h>
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

/* Does cycle(ctx) with each of its allocations failing in turn (every so-manieth where there are more than `most`), once and for good: it has to end with
 * CTSC_OK or CTSC_LIMIT and to leak nothing. message: what the last failure said, or "". */
static inline void support_fail_allocations(counting *count, const char *name, long most, ctsc_status (*cycle)(void *ctx), void *ctx,
                                            const char *message) {
    assert_int_equal(cycle(ctx), CTSC_OK);
    assert_int_equal(cycle(ctx), CTSC_OK); /* fills the process-wide tables */
    long live = count->live;
    count->requests = 0;
    assert_int_equal(cycle(ctx), CTSC_OK);
    assert_int_equal(count->live, live);
    if (getenv("CTSC_FAULTS_ALL")) most = LONG_MAX;
    long total = count->requests, step = total > most ? total / most : 1;
    for (int sticky = 0; sticky < 2; sticky++)
        for (long k = 1; k <= total; k += step) {
            long grown = 0;
            /* What grows once may be a process-wide table; what grows again is a leak. */
            for (int again = 0; again < 2 && (again == 0 || grown); again++) {
                long before = count->live;
                count->requests = 0;
                count->sticky = sticky;
                count->fail_at = k;
                ctsc_status s = cycle(ctx);
                count->fail_at = 0;
                if (s != CTSC_LIMIT && s != CTSC_OK) fail_msg("%s: allocation %ld: status %d: %s", name, k, s, message);
                grown = count->live - before;
            }
            if (grown) fail_msg("%s: allocation %ld: %ld blocks leaked", name, k, grown);
        }
    assert_int_equal(cycle(ctx), CTSC_OK);
    print_message("%s: %ld allocations, every %ld failed\n", name, total, step);
}

#endif
