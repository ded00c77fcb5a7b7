/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay.h - what a call asks of the device, recorded once and asked for again as a whole (a CUDA graph).
 *
 * Asking for a kernel costs the host some microseconds, a recording of a hundred kernels hardly more than one. A recording knows addresses, not
 * tensors, so they must mean the same when it is played again:
 *
 *   - Memory that is allocated while recording belongs to the recording, also when it is freed meanwhile: its calls take turns in it, nobody else
 *     gets it. Results lie there, and the next cuda_replay_play overwrites them.
 *   - Arguments are read at the addresses that they had, or at places of the recording (cuda_replay_place) into which cuda_replay_play
 *     copies this call's arguments first.
 *   - All other memory that the call reads (weights) has to stay where it is; whoever keeps the recording keeps that alive.
 *
 * Only work on the device can be recorded: kernels, cuda_move, cuda_zero, what cuBLASLt does. cuda_read, cuda_write and cuda_wait fail with
 * CTSC_UNSUPPORTED while recording, and so does cuda_replay_end then: such a call cannot be replayed, and has to be made again in the ordinary way, as nothing
 * that was asked for while recording happens. While one thread records, the others wait.
 *
 *     cuda_replay *r;
 *     if (cuda_replay_begin(c, d, &r) == CTSC_OK) {
 *         cuda_replay_place(r, d, nbytes, &x);     ...for each argument that will lie elsewhere next time
 *         ...the call, reading x: launches, allocations...
 *         if (cuda_replay_end(r, d) == CTSC_OK) cuda_replay_play(r, d, (const void *[]){argument});
 *     }
 *
 * Tests: tests/unit/test_cuda_replay.c
 */
#ifndef CTSC_CUDA_REPLAY_H
#define CTSC_CUDA_REPLAY_H

#include "cuda/cuda.h"

typedef struct cuda_replay cuda_replay;

/* Begins to record what the calling thread asks of c. Fails with CTSC_USAGE if it records already. */
ctsc_status cuda_replay_begin(cuda *c, diag *d, cuda_replay **out);
/* While recording: memory for an argument, which lives as long as r. Places are numbered in the order of these calls. */
ctsc_status cuda_replay_place(cuda_replay *r, diag *d, size_t nbytes, void **out);
/* Ends it. If it fails, r is freed. What was recorded has not happened yet. */
ctsc_status cuda_replay_end(cuda_replay *r, diag *d);
/* Copies the arguments (device memory, one per place; NULL: what is there stays) and does what was recorded. */
ctsc_status cuda_replay_play(cuda_replay *r, diag *d, const void *const *arguments);
/* Gives up a recording that has ended, or one under way. Its memory returns to the cache; what is still handed out of it does so when it is freed. */
void cuda_replay_free(cuda_replay *r);
/* Kernels in it that ctsc launches itself. */
int64_t cuda_replay_size(const cuda_replay *r);

#endif
