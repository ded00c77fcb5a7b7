/* SPDX-License-Identifier: Apache-2.0 */
/*
 * float_mode.h - what the processor does with denormal numbers: a mode of each thread.
 *
 * Denormal numbers (below 2^-126 in float32, 2^-1022 in float64) take many processors' arithmetic a
 * hundred times as long as others. A thread whose mode is to flush them takes denormal operands for
 * zero and makes zero of denormal results.
 *
 * Whose mode counts:
 *   - Calls of the library flush where the process is set to (float_mode_set_flush):
 *     float_mode_begin
 *     and float_mode_end are around each. What the thread's mode was before, it is afterwards.
 *   - Chunks of a parallel call and tasks have the mode of the thread that made them, be it the
 *     process's or one that the program has set itself: results do not depend on the number of
 *     threads. thread_pool.c sees to that.
 *   - Kernels are compiled in the plain mode (float_mode_plain): they are kept, in memory and on
 *     disk, for calls of either mode.
 *
 * Processors also note in the thread's mode that denormal numbers were met: float_mode_take asks.
 * What threads of the pool meet is noted for the thread they help.
 * Tests: tests/unit/test_float_mode.c, tests/threads
 */
#ifndef CTSC_BASE_THREADS_FLOAT_MODE_H
#define CTSC_BASE_THREADS_FLOAT_MODE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* A thread's register of control and status, as the processor has it. */
typedef uint64_t float_mode;
#define FLOAT_MODE_SAME UINT64_MAX /* what was not changed and need not be restored */

extern atomic_bool float_mode_flushes; /* the process's setting */

/* Can this processor flush denormal numbers? */
bool float_mode_can_flush(void);
/* For calls that begin from now on, on all threads, and for the calling thread at once, between its
 * calls, too. False, and nothing has happened: float_mode_can_flush is false. */
bool float_mode_set_flush(bool on);

/* The calling thread's, for others: nothing is noted in it. */
float_mode float_mode_get(void);
/* The calling thread gets the mode m; returns what it was, with what was noted in it. */
float_mode float_mode_use(float_mode m);
/* Back to `before`; what has been noted since stays noted. */
void float_mode_restore(float_mode before);

/* The calling thread flushes; returns what is to be restored. */
float_mode float_mode_flush(void);
/* ... does not flush, whatever it did. */
float_mode float_mode_plain(void);

/* Work of the library's begins, and ends: with what the first one returned. */
static inline float_mode float_mode_begin(void) {
    return __builtin_expect(atomic_load_explicit(&float_mode_flushes, memory_order_relaxed), 0)
               ? float_mode_flush()
               : FLOAT_MODE_SAME;
}
static inline void float_mode_end(float_mode before) {
    if (__builtin_expect(before != FLOAT_MODE_SAME, 0)) float_mode_restore(before);
}

/* Has the calling thread met denormal numbers: as operands, where it does not flush them, or as
 * rounded results, which flushing makes zero? */
bool float_mode_met(void);
/* The same, and forgets it. */
bool float_mode_take(void);
/* The calling thread counts as one that has. */
void float_mode_note(void);

#endif
