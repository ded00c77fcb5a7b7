/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block_plan.h - one block of memory for the large requests of a call that is repeated.
 *
 * A program that is called again asks for the same sizes in the same order, and frees them at the
 * same points. A planner writes that down. When two calls in a row were the same, each request gets
 * a place in one block, the *slab*: places overlap only where their lives do not. So the slab is
 * hardly larger than what lives at a time, where lists of free blocks by size (recycle.h) keep the
 * largest number of each size that ever lived, and its pages stay in the caches.
 *
 * A call need not keep to a plan: a request gets its place if it is of the planned size and nothing
 * lives there, and else a gap of the slab, or an ordinary block. What outlives the call, as results
 * do, is not planned; where it does so unexpectedly it keeps the slab alive until it is freed, on
 * whatever thread.
 *
 * A planner is used by one thread at a time, places are given back by any.
 * Tests: tests/unit/test_block_plan.c, tests/unit/test_steady.c
 */
#ifndef CTSC_BASE_BLOCK_PLAN_H
#define CTSC_BASE_BLOCK_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct planner planner;

/* What a block remembers of its request. */
typedef struct plan_mark {
    struct plan_slab *slab; /* its slab; NULL: an ordinary block */
    uint64_t call;          /* in which it was asked for; 0: that was not written down */
    uint32_t request;       /* the how manieth of the call */
    uint16_t slot;          /* of the slab */
    bool outlives;          /* the plan knows that it outlives the call */
} plan_mark;

planner *planner_new(void); /* NULL if out of memory */
void planner_free(planner *p);

void planner_begin(planner *p);
/* The call is over. True: the next one has places for more; blocks that were kept for it will
 * hardly be asked for. */
bool planner_end(planner *p);

/* The place of a request of `bytes`; NULL: an ordinary block is needed. *m is for that as well. */
void *planner_take(planner *p, size_t bytes, plan_mark *m);
/* p: the planner of the freeing thread; NULL: none. Returns whether
 * the block was in a slab, to which it is then returned. */
bool planner_give(planner *p, const plan_mark *m);

/* of the slab; 0: there is none */
size_t planner_slab(const planner *p);

#endif
