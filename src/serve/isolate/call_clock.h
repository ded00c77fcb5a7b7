/* SPDX-License-Identifier: Apache-2.0 */
/* call_clock.h - the clock that deadlines are held against. */
#ifndef CTSC_SERVE_ISOLATE_CALL_CLOCK_H
#define CTSC_SERVE_ISOLATE_CALL_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Monotonic. */
static inline uint64_t clock_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#endif
