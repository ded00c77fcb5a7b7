/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.h - the threads that kernels spread over.
 *
 * One process-wide pool, started at the first parallel call that needs it. Work is cut into pieces
 * whose borders depend on the range and the grain alone, never on the number of threads, so that
 * results do not depend on it either.
 */
#ifndef CTSC_BASE_POOL_H
#define CTSC_BASE_POOL_H

#include <stdint.h>

/* Threads that one parallel call may use, the caller's included. 0 = one per available core. */
void pool_set_threads(int n);
int pool_threads(void);

/* Calls fn(ctx, b, e) for consecutive pieces [b, e) that cover [0, n), each at least `grain` long but
 * the last; from several threads when n > grain. Returns when all are done. A nested call runs
 * on the calling thread alone. */
void pool_for(int64_t n, int64_t grain, void (*fn)(void *ctx, int64_t begin, int64_t end),
              void *ctx);

#endif
