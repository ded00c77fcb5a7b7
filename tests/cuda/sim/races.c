/* SPDX-License-Identifier: Apache-2.0 */
/*
 * races.c - finds accesses to shared memory that nothing orders.
 *
 * Kernels are compiled with the instrumentation of -fsanitize=thread, which calls __tsan_read4
 * and the like before each access; shim.h defines those itself. For each byte of shared memory
 * the last writer and reader are recorded, and when: in which interval between barriers of the
 * block, and between __syncwarp of its warp. Two accesses, one of them a write, are ordered if
 * one thread makes both, or a barrier is between them, or they are of one warp and a
 * __syncwarp is between them. A shuffle is none: CUDA does not promise that it orders memory.
 *
 * Of several readers in an interval only the last is known, so a race with another one may be
 * missed. Atomic operations are not looked at.
 */
#include "sim.h"

#include <string.h>

enum { RACES_WARP = 32, RACES_WARPS = 32, RACES_BYTES = SIM_DYNAMIC_SHARED };

typedef struct access {
    uint16_t thread;      /* plus one; 0: nobody */
    uint32_t block, warp; /* intervals */
} access;

typedef struct shadow {
    access write, read;
} shadow;

static struct {
    const char *begin;
    size_t size;
    shadow bytes[RACES_BYTES];
} races_range[2];
static uint32_t races_block = 1, races_warps[RACES_WARPS];

void sim_races_begin(const char *fixed, size_t nfixed, const char *dynamic, size_t ndynamic) {
    races_range[0].begin = fixed;
    races_range[0].size = nfixed < RACES_BYTES ? nfixed : RACES_BYTES;
    races_range[1].begin = dynamic;
    races_range[1].size = ndynamic < RACES_BYTES ? ndynamic : RACES_BYTES;
    races_block++; /* what other blocks did is in order */
}

void sim_races_barrier(void) { races_block++; }

void sim_races_warp(int warp) { races_warps[warp]++; }

static bool races_ordered(const access *a, int thread) {
    if (!a->thread || a->thread == thread + 1 || a->block != races_block) return true;
    int warp = thread / RACES_WARP;
    return (a->thread - 1) / RACES_WARP == warp && a->warp != races_warps[warp];
}

int sim_races_access(int thread, const char *p, unsigned nbytes, bool write) {
    for (int r = 0; r < 2; r++) {
        if (p < races_range[r].begin || p >= races_range[r].begin + races_range[r].size) continue;
        size_t at = (size_t)(p - races_range[r].begin);
        for (size_t i = at; i < at + nbytes && i < races_range[r].size; i++) {
            shadow *s = &races_range[r].bytes[i];
            access now = {(uint16_t)(thread + 1), races_block, races_warps[thread / RACES_WARP]};
            if (!races_ordered(&s->write, thread)) return s->write.thread - 1;
            if (write && !races_ordered(&s->read, thread)) return s->read.thread - 1;
            if (write) s->write = now;
            else s->read = now;
        }
    }
    return -1;
}
