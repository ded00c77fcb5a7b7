/* SPDX-License-Identifier: Apache-2.0 */
/* support.h - what several unit tests share: reading files, a counting and failing allocator. */
#ifndef CTSC_TESTS_SUPPORT_H
#define CTSC_TESTS_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory/mem.h"
#include "ctsc.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Tests count on which call is the first native one. test_background.c is for the other way. */
__attribute__((constructor)) static void support_compile_in_calls(void) {
    ctsc_set_compiling(CTSC_COMPILE_IN_CALLS);
}

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

typedef ctsc_status (*support_cycle)(void *ctx);

/* One cycle without request number k, or without all from it on. What grows once may be a
 * process-wide table; what grows again is a leak. */
static inline bool support_fails_well(counting *count, const char *name, long k, bool sticky,
                                      support_cycle cycle, void *ctx, const char *message) {
    const char *which = sticky ? " and all after it" : "";
    long grown = 0;
    for (int again = 0; again < 2 && (again == 0 || grown); again++) {
        long before = count->live;
        count->requests = 0;
        count->sticky = sticky;
        count->fail_at = k;
        ctsc_status s = cycle(ctx);
        count->fail_at = 0;
        grown = count->live - before;
        if (s == CTSC_LIMIT || s == CTSC_OK) continue;
        print_error("%s: allocation %ld%s: status %d: %s\n", name, k, which, s, message);
        return false;
    }
    if (grown) print_error("%s: allocation %ld%s: %ld blocks leaked\n", name, k, which, grown);
    return grown == 0;
}

/* Does cycle(ctx) with its allocations failing in turn, once and for good: it has to end with
 * CTSC_OK or CTSC_LIMIT and to leak nothing. Where there are more than `most`, every so-manieth
 * fails, others for good than once; all of them with CTSC_FAULTS_ALL=1, number N with
 * CTSC_FAULTS_AT=N. message: what the last failure said, or "". */
static inline void support_fail_allocations(counting *count, const char *name, long most,
                                            support_cycle cycle, void *ctx, const char *message) {
    assert_int_equal(cycle(ctx), CTSC_OK);
    assert_int_equal(cycle(ctx), CTSC_OK); /* fills the process-wide tables */
    long live = count->live;
    count->requests = 0;
    assert_int_equal(cycle(ctx), CTSC_OK);
    assert_int_equal(count->live, live);
    const char *at = getenv("CTSC_FAULTS_AT");
    long total = count->requests, tried = 0, failures = 0;
    long step = total > most && !getenv("CTSC_FAULTS_ALL") ? (total + most - 1) / most : 1,
         only = at ? atol(at) : 0;
    for (int sticky = 0; sticky < 2; sticky++)
        for (long k = only ? only : 1 + sticky * step / 2; k <= (only ? only : total);
             k += step, tried++)
            failures += !support_fails_well(count, name, k, sticky, cycle, ctx, message);
    if (failures) fail_msg("%s: %ld of %ld failures are not survived", name, failures, tried);
    assert_int_equal(cycle(ctx), CTSC_OK);
    print_message("%s: %ld allocations, %ld failures\n", name, total, tried);
}

#endif
