/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slots.h - scratch memory for the chunks of one parallel call. A
 * chunk takes a slot when it begins and returns it when it ends.
 *
 * Threads of the pool have scratch memory of their own, which is in their caches from the last
 * call; the caller's thread has a block that it keeps for its next calls (base/memory/recycle.h).
 * Where chunks need more than the pool's threads have, that block has as many slots as threads can
 * be at the call at once.
 * Tests: tests/unit/test_base.c, tests/unit/test_conv_last.c
 */
#ifndef CTSC_RUNTIME_KERNELS_ENGINE_SLOTS_H
#define CTSC_RUNTIME_KERNELS_ENGINE_SLOTS_H

#include "base/memory/recycle.h"
#include "base/threads/thread_pool.h"

typedef struct slots {
    char *memory; /* NULL: could not be had */
    void *small;  /* the caller's, where that was enough */
    size_t each, all;
    _Atomic(uint64_t) free; /* a bit per slot */
} slots;

/* A slot that was taken: of the block, or the thread's own (SLOTS_OWN). */
typedef struct slot {
    void *memory;
    int index;
} slot;

enum { SLOTS_MAX = 64, SLOTS_ALIGN = 64, SLOTS_OWN = -1 };

/* Do threads of the pool have as much of their own? (None has where POOL_SCRATCH is 0.) */
static inline bool slots_are_own(size_t bytes) { return bytes + 1 <= POOL_SCRATCH; }

/* Of `bytes` each, for a call of `chunks`: in `small`, aligned, of `room` bytes, if they fit there.
 * False if out of memory. */
static inline bool slots_begin_in(slots *s, size_t bytes, int64_t chunks, void *small,
                                  size_t room) {
    int64_t n = slots_are_own(bytes) ? 1 : pool_threads();
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

/* Waits where more threads came than there are slots: calls of thousands of chunks, a number of
 * threads that was changed meanwhile, or a thread of the pool whose own scratch is in use. */
static inline slot slots_take(slots *s) {
    void *own = slots_are_own(s->each) ? pool_scratch_take() : NULL;
    if (own) return (slot){own, SLOTS_OWN};
    uint64_t free = atomic_load_explicit(&s->free, memory_order_relaxed);
    int index;
    do {
        while (!free) free = atomic_load_explicit(&s->free, memory_order_relaxed);
        index = __builtin_ctzll(free);
    } while (!atomic_compare_exchange_weak_explicit(&s->free, &free, free & ~((uint64_t)1 << index),
                                                    memory_order_acquire, memory_order_relaxed));
    char *aligned = s->memory + (-(uintptr_t)s->memory & (SLOTS_ALIGN - 1));
    return (slot){aligned + (size_t)index * s->each, index};
}

static inline void slots_give(slots *s, slot taken) {
    if (taken.index == SLOTS_OWN) pool_scratch_give(taken.memory);
    else atomic_fetch_or_explicit(&s->free, (uint64_t)1 << taken.index, memory_order_release);
}

#endif
