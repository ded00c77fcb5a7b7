/* SPDX-License-Identifier: Apache-2.0 */
/* access_log.h - the access log: one JSON object per request and line. */
#ifndef CTSC_SERVE_ACCESS_LOG_H
#define CTSC_SERVE_ACCESS_LOG_H

#include "serve/protocol.h"

#include <string.h>

typedef struct access_log {
    pthread_mutex_t lock;
    int fd; /* -1: no log */
    buffer lines;
    _Atomic uint64_t date[2][4]; /* as headers have it, 29 characters; the latest is date[which] */
    atomic_int which;
} access_log;

/* path: a file to append to, "-" for stdout, NULL for none. False: errno. */
bool log_open(access_log *l, const char *path);
void log_close(access_log *l);
/* Any thread. Lines are written by log_flush, or when there are many. */
void log_request(access_log *l, const exchange *x, const char *address, uint64_t total_ns);
void log_flush(access_log *l);
/* Copies the value of a header traceparent (NULL: none) if it is well-formed. */
void log_trace(char out[56], const char *header);
/* The value of a Date header, which log_tick makes: once a second or oftener. */
void log_tick(access_log *l);
static inline void log_date(access_log *l, char out[32]) {
    int which = atomic_load_explicit(&l->which, memory_order_acquire);
    for (int i = 0; i < 4; i++) {
        uint64_t word = atomic_load_explicit(&l->date[which][i], memory_order_relaxed);
        memcpy(out + i * sizeof word, &word, sizeof word);
    }
}

#endif
