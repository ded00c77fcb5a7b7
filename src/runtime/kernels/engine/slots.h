/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slots.h - scratch memory for the chunks of one parallel call: as many slots as threads can be at
 * it at once, in one block that the caller's thread keeps for its next calls (base/recycle.h). A
 * chunk takes a slot when it begins and gives it back when it ends.
 * Tests: tests/unit/test_base.c, tests/unit/test_conv_last.c
 */
#ifndef CTSC_RUNTIME_KERNELS_ENGINE_SLOTS_H
#define CTSC_RUNTIME_KERNELS_ENGINE_SLOTS_H

#include "base/recycle.h"
#include "base/thread_pool.h"

typedef struct slots {
    char *memory; /* NULL: could not be had */
    void *small;  /* the caller's, where that was enough */
    size_t each, all;
    _Atomic(uint64_t) free; /* a bit per slot */
} slots;

enum { SLOTS_MAX = 64, SLOTS_ALIGN = 64 };

/* Of `bytes` each, for a call of `chunks`: in `small`, aligned, of `room` bytes, if they fit there.
 * False without memory. */
static inline bool slots_begin_in(slots *s, size_t bytes, int64_t chunks, void *small,
                                  size_t room) {
    int64_t n = pool_threads();
    if (n > chunks) n = chunks;
    if (n > SLOTS_MAX) n = SLOTS_MAX;
    if (n < 1) n = 1;
    s->each = (bytes + SLOTS_ALIGN - 1) / SLOTS_ALIGN * SLOTS_ALIGN;
    s->small = NULL;
    s->memory = NULL;
    atomic_init(&s->free, n == 64 ? UINT64_MAX : ((uint64_t)1 << n) - 1);
    if (bytes > SIZE_MAX - SLOTS_ALIGN || s->each > (SIZE_MAX - SLOTS_ALIGN) / (size_t)n)
        return false;
    s->all = s->each * (size_t)n + SLOTS_ALIGN;
    if (s->all - SLOTS_ALIGN <= room) s->small = small;
    s->memory = s->small ? small : recycle_alloc(s->all);
    return s->memory != NULL;
}

static inline bool slots_begin(slots *s, size_t bytes, int64_t chunks) {
    return slots_begin_in(s, bytes, chunks, NULL, 0);
}

static inline void slots_end(slots *s) {
    if (!s->small) recycle_free(s->memory, s->all);
}

/* A slot that nobody else has: waits for one where more threads came than there are slots (calls of
 * thousands of chunks, or a number of threads that was changed meanwhile). */
static inline void *slots_take(slots *s, int *slot) {
    uint64_t free = atomic_load_explicit(&s->free, memory_order_relaxed);
    do {
        while (!free) free = atomic_load_explicit(&s->free, memory_order_relaxed);
        *slot = __builtin_ctzll(free);
    } while (!atomic_compare_exchange_weak_explicit(&s->free, &free, free & ~((uint64_t)1 << *slot),
                                                    memory_order_acquire, memory_order_relaxed));
    char *aligned = s->memory + (-(uintptr_t)s->memory & (SLOTS_ALIGN - 1));
    return aligned + (size_t)*slot * s->each;
}

static inline void slots_give(slots *s, int slot) {
    atomic_fetch_or_explicit(&s->free, (uint64_t)1 << slot, memory_order_release);
}

#endif
