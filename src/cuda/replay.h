/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay.h - a call that was captured (capture.h), done again for other inputs as a whole.
 *
 *     for (which = 0; which < 2; which++) {
 *         cuda_capture_begin(c, d, which, &n[which]);
 *         cuda_capture_input(n[which], d, x, nbytes, &place);
 *         ...the call, reading place...
 *         cuda_capture_end(n[which], d);
 *     }
 *     int result = cuda_capture_slot(n[0], what the call returned, &at);
 *     cuda_replay_make(d, n[0], n[1], 1, &result, &r);
 *     cuda_replay_play(r, d, (void *[]){x}, (void *[]){y});
 *
 * Inputs and results are used in place at each play: nothing is copied, and results are
 * the caller's own memory. Memory that the call allocates only for itself is one block
 * of the replay, which counts as live, is allocated at the first play, and is released
 * when memory runs out; the next play allocates another. All other memory that the call
 * reads (weights) has to stay in place; the owner of the replay ensures that.
 *
 * Thread-safe except for cuda_replay_free.
 * Tests: tests/unit/test_cuda_replay.c
 */
#ifndef CTSC_CUDA_REPLAY_H
#define CTSC_CUDA_REPLAY_H

#include "cuda/capture.h"

typedef struct cuda_replay cuda_replay;

/* kept: slots that outlive the call, its results; the caller gives their memory to each play. Fails
 * with CTSC_UNSUPPORTED if the two captures are not of the same call, or if memory outlives the
 * call that is not a result. */
ctsc_status cuda_replay_make(diag *d, const cuda_capture *first, const cuda_capture *second,
                             int nkept, const int *kept, cuda_replay **out);
/* One address per input, one per result. CTSC_LIMIT: there is no memory, and
 * nothing has happened. */
ctsc_status cuda_replay_play(cuda_replay *r, diag *d, void *const *inputs, void *const *results);
void cuda_replay_free(cuda_replay *r); /* r may be NULL */

/* What r does: launches, copies, fillings and other calls; bytes of its own. */
size_t cuda_replay_size(const cuda_replay *r);
size_t cuda_replay_scratch(const cuda_replay *r);

/* Of a device, since the start. */
typedef struct cuda_replay_stats {
    int64_t made, played;     /* replays; plays of them */
    int64_t graphs, launched; /* CUDA graphs made; launches of them */
    int64_t updates;          /* kernels of graphs that were given other addresses */
} cuda_replay_stats;
cuda_replay_stats cuda_get_replay_stats(cuda *c);

#endif
