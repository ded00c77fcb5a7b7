/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture.h - what a call asks of the device, captured instead of done.
 *
 * Between cuda_capture_begin and cuda_capture_end nothing that the calling thread queues on the
 * device happens. Kernels, copies, fills and cuda_call's are captured with their parameters;
 * memory that is allocated does not exist: its address is made up, and is none that a host or a
 * device could have. Callers cannot tell, unless they need a value: cuda_read and cuda_wait
 * then fail with CTSC_UNSUPPORTED, and so does cuda_capture_end. Other threads are unaffected.
 *
 * The layer cannot know which words among a kernel's parameters are addresses: they are
 * structs of many kinds. So a call is captured twice, the second time with made-up memory at
 * other addresses. A word that differs is an address, and its value identifies the memory; a
 * word that is equal is a number, or the address of memory that existed before (replay.c).
 * Data copied from the host must be the same both times as well; it is kept on the device.
 *
 * Memory that the call finds or makes is a *slot*: first its inputs, in the order in which they
 * were introduced, then what it allocates.
 *
 * Ownership: commands belong to the thread that makes them.
 * Tests: tests/unit/test_cuda_replay.c
 */
#ifndef CTSC_CUDA_CAPTURE_H
#define CTSC_CUDA_CAPTURE_H

#include "cuda/cuda.h"

typedef struct cuda_capture cuda_capture;

/* which: 0 or 1, the first or the second time. Fails with CTSC_USAGE if the thread
 * captures a call already. */
ctsc_status cuda_capture_begin(cuda *c, diag *d, int which, cuda_capture **out);
/* Memory of the call's arguments, as a made-up address that leaves the remainder of `like` by 512:
 * kernels are chosen by alignment. Before the call. */
ctsc_status cuda_capture_input(cuda_capture *n, diag *d, const void *like, size_t nbytes,
                               void **out);
/* The call is over. Fails if it wanted what cannot be captured; n stays the caller's either way. */
ctsc_status cuda_capture_end(cuda_capture *n, diag *d);
void cuda_capture_free(cuda_capture *n);

/* While the calling thread captures: reports that `what` cannot be captured,
 * and invalidates the capture. Else CTSC_OK. Also for code that keeps device
 * memory for later calls: it would keep memory that does not exist. */
ctsc_status cuda_capture_refuse(diag *d, const char *what);
/* Does p point into made-up memory? */
bool cuda_capture_has(const cuda_capture *n, const void *p);

/* ---- afterwards ------------------------------------------------------------------------------ */

/* The slot p points into, and where in it; -1: none. */
int cuda_capture_slot(const cuda_capture *n, const void *p, size_t *at);
size_t cuda_capture_slot_bytes(const cuda_capture *n, int slot);

#endif
