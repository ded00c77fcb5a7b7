/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_pool.h - the threads that kernels spread over, and that forked functions run on.
 *
 * One process-wide pool, started at the first parallel call that needs it. Work is cut into chunks
 * whose borders depend on the range and the grain alone, never on the number of threads, so that
 * results do not depend on it either. Calls of equal length are divided among the threads in the
 * same way, where none is late: what a thread wrote it reads again.
 *
 * What the processor does with denormal numbers (float_mode.h) is the same for all chunks and tasks
 * as where they were made.
 *
 * Chunks are leaves: they wait for nothing. Tasks are whole programs: they spread
 * chunks and offer their own tasks, for which they wait before they end. A thread that
 * waits for a task helps with chunks and runs tasks that its own task has offered, so
 * that it is idle only if there is nothing to do for it. It begins no other task:
 * those are unrelated to the suspended one, and the stack would grow without bounds.
 */
#ifndef CTSC_BASE_THREAD_POOL_H
#define CTSC_BASE_THREAD_POOL_H

#include "base/memory/mem.h"
#include "base/threads/float_mode.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Threads that one parallel call may use, the caller's included. 0 = one per available core. */
void pool_set_threads(int n);
int pool_threads(void);

enum {
    POOL_CHUNKS = 64,
    /* grains in a chunk: views can have any number of elements without memory, and limits are
     * looked at between chunks */
    POOL_MAX_GRAINS = 32,
};
/* How long the chunks of [0, n) are, whatever the number of threads; n > 0. */
static inline int64_t pool_chunk_size(int64_t n, int64_t grain) {
    if (grain < 1) grain = 1;
    int64_t chunk = n / POOL_CHUNKS + (n % POOL_CHUNKS != 0);
    if (chunk / POOL_MAX_GRAINS >= grain) chunk = grain * POOL_MAX_GRAINS;
    return chunk < grain ? grain : chunk;
}
/* Calls fn(ctx, b, e) for consecutive chunks [b, e) that cover [0, n), each at least `grain` long
 * but the last; from several threads when n > grain. Returns when all are done. A nested call runs
 * on the calling thread alone. */
void pool_for(int64_t n, int64_t grain, void (*fn)(void *ctx, int64_t begin, int64_t end),
              void *ctx);

/* The same, under the limits of the calling thread (limits.h): once one is met, chunks that
 * nobody has begun are left out, and it returns false. What they would have written must
 * not be read then. */
bool pool_for_limited(int64_t n, int64_t grain, void (*fn)(void *ctx, int64_t begin, int64_t end),
                      void *ctx);

/* Memory of the calling thread's own, where it is one of the pool's and is not using it already:
 * POOL_SCRATCH bytes, aligned to 64, the same ones each time, so that they stay in the caches of
 * its core. NULL: none. Given back by the same thread. (Sanitizers would see no borders in it.) */
enum { POOL_SCRATCH = SANITIZED ? 0 : 8 << 20 };
void *pool_scratch_take(void);
void pool_scratch_give(void *scratch);

/* A task, in memory of its maker, which sets run and maker. Each task that was
 * offered is taken back, or waited for, before the code that offered it ends. */
typedef struct pool_task {
    void (*run)(struct pool_task *t);
    /* whose tasks belong together: he waits for them and is there until all are over */
    const void *maker;
    /* the rest is thread_pool.c's */
    struct pool_task *prev, *next;
    struct pool_task *parent; /* the task it was offered in; NULL: none */
    float_mode mode;          /* its maker's */
    atomic_int state;
} pool_task;

/* Another thread may run t from now on. False, and nothing has happened: there is one thread, or
 * enough tasks wait for one already. */
bool pool_offer(pool_task *t);
/* True: nobody has begun t, and nobody will. */
bool pool_take_back(pool_task *t);
/* Until t, which somebody has begun, is over. */
void pool_wait(pool_task *t);

#endif
