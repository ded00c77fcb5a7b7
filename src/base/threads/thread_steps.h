/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_steps.h - work in steps that follow each other so closely that threads stay
 * together between them.
 */
#ifndef CTSC_BASE_THREAD_STEPS_H
#define CTSC_BASE_THREAD_STEPS_H

#include <stdbool.h>
#include <stdint.h>

/* Calls fn(ctx, step, chunk) for the chunks [0, chunks) of each of the steps [0, steps); all of
 * a step are done, and what they wrote can be read, before one of the next begins. A chunk
 * mostly comes to the same thread in all steps, in the opposite order of the step before: what
 * the thread's cache still holds of a chunk's data is used first. Chunks of the pool
 * (thread_pool.h): the limits of the calling thread count, and if one is met, chunks are left
 * out and it returns false. */
bool pool_steps(int64_t steps, int64_t chunks, void (*fn)(void *ctx, int64_t step, int64_t chunk),
                void *ctx);

#endif
