/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_steps.c - work in steps, shared by threads that spin from one step to the next.
 *
 * Method: the chunks of a step are divided into as many homes as threads may come. A thread takes
 * the chunks of its own home, then those that are left in others', and waits until the step's last
 * one is done. Nobody depends on another thread's coming: a thread of the pool that is late, or
 * never joins, finds its home emptied, and a step waits only for chunks that somebody has begun.
 * (One call of the pool per step would wake and join the threads each time: several microseconds,
 * where a step of a recurrent layer takes twenty.)
 *
 * Invariants: a home's count of taken chunks only grows, over all steps; of step s it is between s
 * and s + 1 times its size, since nothing takes one of s before all of s - 1 are done.
 * Tests: tests/unit/test_base.c
 */
#include "base/threads/thread_steps.h"

#include "base/threads/limits.h"
#include "base/threads/thread_pool.h"

#include <sched.h>

enum { STEPS_HOMES = 64, STEPS_SPINS = 4000 };

typedef struct steps_home {
    _Alignas(64) _Atomic int64_t taken;
    int64_t begin, size;
} steps_home;

typedef struct steps_job {
    void (*fn)(void *ctx, int64_t step, int64_t chunk);
    void *ctx;
    int64_t steps, chunks;
    int homes;
    _Alignas(64) _Atomic int64_t done; /* chunks, of all steps */
    _Alignas(64) atomic_bool stopped;
    steps_home home[STEPS_HOMES];
} steps_job;

/* The next chunk of the home in this step; -1: none is left. */
static int64_t steps_take(steps_home *h, int64_t step) {
    int64_t taken = atomic_load_explicit(&h->taken, memory_order_relaxed),
            end = (step + 1) * h->size;
    while (taken < end)
        if (atomic_compare_exchange_weak_explicit(&h->taken, &taken, taken + 1,
                                                  memory_order_relaxed, memory_order_relaxed)) {
            int64_t at = taken - step * h->size;
            return h->begin + (step % 2 ? h->size - 1 - at : at);
        }
    return -1;
}

/* Waits until this many chunks are done; false: the job has been stopped. */
static bool steps_wait(steps_job *job, int64_t done) {
    for (int spins = 0; atomic_load_explicit(&job->done, memory_order_acquire) < done; spins++) {
        if (atomic_load_explicit(&job->stopped, memory_order_relaxed)) return false;
        if (spins < STEPS_SPINS) {
#if defined(__x86_64__)
            __builtin_ia32_pause();
#endif
        } else {
            sched_yield(); /* the thread with the last chunk may wait for this processor */
        }
    }
    return !atomic_load_explicit(&job->stopped, memory_order_relaxed);
}

static void steps_member(steps_job *job, int64_t member) {
    for (int64_t step = 0; step < job->steps; step++) {
        if (limits_stop()) atomic_store_explicit(&job->stopped, true, memory_order_relaxed);
        if (!steps_wait(job, step * job->chunks)) return;
        for (int64_t i = 0, chunk; i < job->homes; i++)
            while ((chunk = steps_take(&job->home[(member + i) % job->homes], step)) >= 0) {
                job->fn(job->ctx, step, chunk);
                atomic_fetch_add_explicit(&job->done, 1, memory_order_release);
            }
    }
}

static void steps_members(void *ctx, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) steps_member(ctx, i);
}

bool pool_steps(int64_t steps, int64_t chunks, void (*fn)(void *ctx, int64_t step, int64_t chunk),
                void *ctx) {
    if (steps <= 0 || chunks <= 0) return true;
    int64_t homes = pool_threads();
    if (homes > STEPS_HOMES) homes = STEPS_HOMES;
    if (homes > chunks) homes = chunks;
    steps_job job = {.fn = fn, .ctx = ctx, .steps = steps, .chunks = chunks, .homes = (int)homes};
    for (int64_t i = 0; i < homes; i++) {
        job.home[i].begin = chunks * i / homes;
        job.home[i].size = chunks * (i + 1) / homes - job.home[i].begin;
    }
    bool whole = pool_for_limited(homes, 1, steps_members, &job);
    return whole && !atomic_load_explicit(&job.stopped, memory_order_relaxed);
}
