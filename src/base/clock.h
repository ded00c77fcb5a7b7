/* SPDX-License-Identifier: Apache-2.0 */
/* clock.h - the clock of deadlines, profiles and compile times. */
#ifndef CTSC_BASE_CLOCK_H
#define CTSC_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Nanoseconds of a clock that only goes forward. */
static inline uint64_t clock_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#endif
