/* SPDX-License-Identifier: Apache-2.0 */
/* process.h - the clock, and how much memory this process has and had at most: what benchmarks in
 * C share. */
#ifndef CTSC_BENCH_PROCESS_H
#define CTSC_BENCH_PROCESS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static inline double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* A figure of /proc/self/status; 0: there is none. */
static inline long status_kib(const char *name) {
    FILE *f = fopen("/proc/self/status", "r");
    char line[256];
    size_t len = strlen(name);
    long kib = 0;
    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, name, len) && line[len] == ':') kib = atol(line + len + 1);
    if (f) fclose(f);
    return kib;
}

static inline long peak_kib(void) { return status_kib("VmHWM"); }

/* From here on peak_kib is the peak since now, where the system can do that. */
static inline void peak_reset(void) {
    FILE *f = fopen("/proc/self/clear_refs", "w");
    if (f) fputs("5", f);
    if (f) fclose(f);
}

#endif
