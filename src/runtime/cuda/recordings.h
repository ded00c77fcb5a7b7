/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recordings.h - calls of a function on a device, recorded when they repeat and
 * replayed from then on.
 *
 * Each code (code/bytecode.h) keeps a few recordings, one per signature of arguments,
 * most recently used first. A call with a signature is counted; the second is recorded
 * (record.h; for a function it is the third, since the first makes the code). From
 * then on the function is not run: the conditions are checked, memory for the results
 * is allocated, and the replay (cuda/replay.h) is played. A recording whose conditions
 * no longer hold is dropped, and the signature is counted anew. Failures to record are
 * remembered as well; functions without any successful recording are left alone.
 *
 * Not at level 0, which is the reference; not for calls with a limit of steps,
 * which would not be counted; not while a profile is taken, which needs to see the
 * operators. The log says what was recorded, why something was not, and at the end
 * how often it was replayed. CTSC_CUDA_REPLAY=0 in the environment: never.
 *
 * Ownership: recordings belong to a code and die with it, so when the module is freed, moved or
 * frozen. Thread-safe: a table has a lock, which is given up while a call is recorded; other calls
 * run in the ordinary way meanwhile.
 * Tests: tests/unit/test_cuda_recording.c, tests/cuda/run.py --repeat
 */
#ifndef CTSC_RUNTIME_CUDA_RECORDINGS_H
#define CTSC_RUNTIME_CUDA_RECORDINGS_H

#include "runtime/interp/interp.h"

/* As interp_call_take. */
ctsc_status recordings_call(runtime *rt, function *f, int n, value *args, diag *d, value *out);

/* Of the process: calls that were recorded, that could not be, that were replayed; recordings whose
 * conditions did not hold any more. */
typedef struct recordings_stats { int64_t recorded, refused, replayed, dropped; } recordings_stats;
recordings_stats recordings_get_stats(void);

#endif
