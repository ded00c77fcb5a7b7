/* SPDX-License-Identifier: Apache-2.0 */
/*
 * started.h - collectives that programs have started and not yet waited for.
 *
 * Groups of processes belong to libctsc-dist.so (ctsc_dist.h), which libctsc neither links with nor
 * opens: a program's collectives run in a group that its host has made and published under the name
 * that the program uses, so the library is in the process by then, and is found by its name. An
 * archive alone cannot make this process talk to others.
 *
 * A collective that was started belongs to the storage of its result, as in PyTorch: that is what
 * is waited for. The list of them holds the tensors, so that their memory stays whatever becomes of
 * the program; one that nothing waits for is dropped when it is done and only the list knows it.
 * Where tensors are on devices, or were (results may be moved as soon as they are returned), a
 * collective is done when its start returns.
 * Tests: tests/distributed/exported.py (tests/python/test_py_distributed.py)
 */
#ifndef CTSC_RUNTIME_KERNELS_COLLECTIVE_STARTED_H
#define CTSC_RUNTIME_KERNELS_COLLECTIVE_STARTED_H

#include "ctsc_dist.h"
#include "runtime/kernels/engine/kernel.h"

/* The group of this name, and how many ranks it has; if there is none, the failure says so. */
ctsc_status collective_group(op_ctx *cx, const value *name, ctsc_dist_group **g, int *rank,
                             int *size);
/* Begins a call whose results are in `out`. Both tensors are held until it is waited for; in: NULL,
 * if there is nothing besides out. */
ctsc_status collective_start(op_ctx *cx, ctsc_dist_group *g, const ctsc_dist_call *call,
                             tensor *out, tensor *in);
/* Waits for what was started on t's storage, if anything was. */
ctsc_status collective_wait(op_ctx *cx, const tensor *t);

#endif
