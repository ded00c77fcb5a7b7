/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store.c - stores as ctsc_dist.h offers them, and the one of a single process.
 */
#include "distributed/store.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- the store of one process ---------------------------------------------------------------- */

typedef struct memory_store {
    ctsc_dist_store base;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    store_table *table;
} memory_store;

static ctsc_status memory_ask(ctsc_dist_store *base, const store_request *r, int64_t deadline,
                              store_bytes *answer, ctsc_dist_error *e) {
    memory_store *s = (memory_store *)base;
    ctsc_status st = CTSC_LIMIT;
    bool answered;
    pthread_mutex_lock(&s->lock);
    while (!(answered = store_answer(s->table, r, answer, &st)) && dist_left(deadline)) {
        struct timespec at;
        clock_gettime(CLOCK_MONOTONIC, &at);
        int64_t ns = at.tv_nsec + dist_left(deadline) % 1000 * 1000000;
        at.tv_sec += dist_left(deadline) / 1000 + ns / 1000000000;
        at.tv_nsec = ns % 1000000000;
        pthread_cond_timedwait(&s->changed, &s->lock, &at);
    }
    if (store_changes(r->verb)) pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    if (!answered) return dist_fail(e, CTSC_LIMIT, "wait timeout");
    return st == CTSC_OK ? st : dist_no_memory(e);
}

static void memory_free(ctsc_dist_store *base) {
    memory_store *s = (memory_store *)base;
    store_table_free(s->table);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->changed);
    free(s);
}

ctsc_status ctsc_dist_store_memory(int64_t timeout_ms, ctsc_dist_store **out, ctsc_dist_error *e) {
    static const store_kind kind = {memory_ask, memory_free};
    memory_store *s = calloc(1, sizeof *s);
    pthread_condattr_t attributes;
    if (!s || !(s->table = store_table_new())) return free(s), dist_no_memory(e);
    s->base = (ctsc_dist_store){&kind, timeout_ms, 0};
    pthread_mutex_init(&s->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&s->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    *out = &s->base;
    return CTSC_OK;
}

/* ---- what all stores offer ------------------------------------------------------------------- */

void ctsc_dist_store_free(ctsc_dist_store *s) {
    if (s) s->kind->free(s);
}
int ctsc_dist_store_port(const ctsc_dist_store *s) { return s->port; }
void ctsc_dist_store_set_timeout(ctsc_dist_store *s, int64_t timeout_ms) {
    s->timeout_ms = timeout_ms;
}
void ctsc_dist_free(void *data) { free(data); }

static ctsc_status store_ask(ctsc_dist_store *s, const store_request *r, int64_t timeout_ms,
                             store_bytes *answer, ctsc_dist_error *e) {
    if (timeout_ms < 0) timeout_ms = s->timeout_ms;
    ctsc_status st = s->kind->ask(s, r, dist_now() + timeout_ms, answer, e);
    if (st != CTSC_LIMIT || (r->verb != STORE_GET && r->verb != STORE_WAIT)) return st;
    return dist_fail(e, st, "wait timeout after %" PRId64 "ms, keys: %.200s%s", timeout_ms,
                     r->keys[0], r->n > 1 ? ", ..." : "");
}

/* A request whose answer is a number. */
static ctsc_status store_number(ctsc_dist_store *s, const store_request *r, int64_t *out,
                                ctsc_dist_error *e) {
    store_bytes answer = {NULL, 0};
    ctsc_status st = store_ask(s, r, -1, &answer, e);
    if (st == CTSC_OK && out) *out = strtoll(answer.data, NULL, 10);
    free(answer.data);
    return st;
}

static store_bytes store_lend(const void *data, size_t bytes) {
    return (store_bytes){(char *)data, bytes};
}

ctsc_status ctsc_dist_store_set(ctsc_dist_store *s, const char *key, const void *data, size_t bytes,
                                ctsc_dist_error *e) {
    store_bytes answer = {NULL, 0};
    store_request r = {STORE_SET, 1, &key, store_lend(data, bytes), {NULL, 0}};
    ctsc_status st = store_ask(s, &r, -1, &answer, e);
    free(answer.data);
    return st;
}

ctsc_status ctsc_dist_store_get(ctsc_dist_store *s, const char *key, int64_t timeout_ms,
                                void **data, size_t *bytes, ctsc_dist_error *e) {
    store_bytes answer = {NULL, 0};
    store_request r = {.verb = STORE_GET, .n = 1, .keys = &key};
    ctsc_status st = store_ask(s, &r, timeout_ms, &answer, e);
    if (st != CTSC_OK) return st;
    *data = answer.data;
    *bytes = answer.bytes;
    return CTSC_OK;
}

ctsc_status ctsc_dist_store_add(ctsc_dist_store *s, const char *key, int64_t n, int64_t *sum,
                                ctsc_dist_error *e) {
    char text[24];
    int len = snprintf(text, sizeof text, "%" PRId64, n);
    store_request r = {STORE_ADD, 1, &key, store_lend(text, (size_t)len), {NULL, 0}};
    return store_number(s, &r, sum, e);
}

ctsc_status ctsc_dist_store_append(ctsc_dist_store *s, const char *key, const void *data,
                                   size_t bytes, ctsc_dist_error *e) {
    store_bytes answer = {NULL, 0};
    store_request r = {STORE_APPEND, 1, &key, store_lend(data, bytes), {NULL, 0}};
    ctsc_status st = store_ask(s, &r, -1, &answer, e);
    free(answer.data);
    return st;
}

ctsc_status ctsc_dist_store_exchange(ctsc_dist_store *s, const char *key, const void *expected,
                                     size_t expected_bytes, const void *desired,
                                     size_t desired_bytes, void **data, size_t *bytes,
                                     ctsc_dist_error *e) {
    store_bytes answer = {NULL, 0};
    store_request r = {STORE_EXCHANGE, 1, &key, store_lend(desired, desired_bytes),
                       store_lend(expected, expected_bytes)};
    ctsc_status st = store_ask(s, &r, -1, &answer, e);
    if (st != CTSC_OK) return st;
    *data = answer.data;
    *bytes = answer.bytes;
    return CTSC_OK;
}

ctsc_status ctsc_dist_store_check(ctsc_dist_store *s, size_t n, const char *const *keys,
                                  bool *there, ctsc_dist_error *e) {
    int64_t found = 0;
    store_request r = {.verb = STORE_CHECK, .n = n, .keys = keys};
    ctsc_status st = store_number(s, &r, &found, e);
    if (st == CTSC_OK) *there = found != 0;
    return st;
}

ctsc_status ctsc_dist_store_wait(ctsc_dist_store *s, size_t n, const char *const *keys,
                                 int64_t timeout_ms, ctsc_dist_error *e) {
    store_bytes answer = {NULL, 0};
    store_request r = {.verb = STORE_WAIT, .n = n, .keys = keys};
    if (!n) return CTSC_OK;
    ctsc_status st = store_ask(s, &r, timeout_ms, &answer, e);
    free(answer.data);
    return st;
}

ctsc_status ctsc_dist_store_delete(ctsc_dist_store *s, const char *key, bool *was_there,
                                   ctsc_dist_error *e) {
    int64_t found = 0;
    store_request r = {.verb = STORE_DELETE, .n = 1, .keys = &key};
    ctsc_status st = store_number(s, &r, &found, e);
    if (st == CTSC_OK && was_there) *was_there = found != 0;
    return st;
}

ctsc_status ctsc_dist_store_count(ctsc_dist_store *s, int64_t *keys, ctsc_dist_error *e) {
    store_request r = {.verb = STORE_COUNT};
    return store_number(s, &r, keys, e);
}
