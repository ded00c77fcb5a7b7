/* SPDX-License-Identifier: Apache-2.0 */
/*
 * limits.h - what may end work that has begun: cancellation, a deadline, a number of steps.
 *
 * The limits of a program belong to the thread that runs it, as its budget of memory does
 * (mem.h), so that a loop anywhere below it can ask: one in an operator, in the tensor layer, in
 * a chunk of a parallel call (the threads of the pool work under the limits of whom they help).
 * The interpreter looks at its program's limits between operators; what is here is for the work
 * of one operator:
 *
 *   - A loop whose iterations are not bounded by sizes of tensors (a number of parts, of
 *     repetitions) charges what it does: limits_charge(iterations), beforehand
 *     where the number is known, else now and then.
 *   - A loop that may be long because tensors are large charges nothing and asks now and then
 *     (limits_stop); pool_for_limited does it between chunks.
 *
 * Code that is told to stop discards its results and fails with limits_fail: parts that
 * were skipped must not be read. Loops are no slower where a thread has no limits.
 * Tests: tests/unit/test_limits.c
 */
#ifndef CTSC_BASE_LIMITS_H
#define CTSC_BASE_LIMITS_H

#include "base/diag.h"
#include "base/memory/mem.h"

#include <stdatomic.h>

enum limit_kind { LIMIT_NONE, LIMIT_CANCELLED, LIMIT_TIME, LIMIT_STEPS };

typedef struct limits {
    const atomic_bool *cancelled; /* set by another thread; NULL: none */
    uint64_t deadline;            /* on clock_now's scale; 0: none */
    /* UINT64_MAX: not counted. Read and written atomically while chunks of a parallel call run */
    uint64_t *steps_left;
    /* the first limit_kind that was met: it stays, whatever becomes of the cancellation */
    atomic_int reached;
} limits;

enum {
    /* iterations of an operator's loop for one step: about what an instruction of the
     * interpreter takes */
    LIMITS_ITERATIONS = 64,
    LIMITS_BYTES = 64 << 10, /* of a new tensor for one step: about what filling them takes */
};

extern MEM_THREAD_LOCAL limits *limits_current;

/* Makes l (or none: NULL) the calling thread's; returns what was it before. */
limits *limits_use(limits *l);
bool limits_met(limits *l);                  /* the time is over, or somebody cancelled */
bool limits_take(limits *l, uint64_t steps); /* false: they are not left, or limits_met */
/* Which limit was met, as a failure. */
ctsc_status limits_fail(diag *d);

/* The loop is to end. For about every ten microseconds of work: reading the clock takes a
 * thirtieth of one. */
static inline bool limits_stop(void) {
    return __builtin_expect(limits_current != NULL, 0) && limits_met(limits_current);
}
/* Counts iterations of an operator's loop, those beyond a multiple of LIMITS_ITERATIONS never: true
 * if it may make them. */
static inline bool limits_charge(uint64_t iterations) {
    return __builtin_expect(limits_current == NULL, 1) ||
           limits_take(limits_current, iterations / LIMITS_ITERATIONS);
}

#endif
