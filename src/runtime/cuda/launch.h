/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch.h - a fusion group's graph on a CUDA device: kernels made so far, and launching them.
 *
 * As runtime/exec/fused.h on the host: each kernel has the plan that says which arguments it is
 * for; a call looks for one that fits, and has one made if there is none. Where a graph cannot be
 * lowered for its arguments the caller runs its operators one by one. Used by fusion groups
 * (fused.c) and for single operators (one_op.h).
 *
 * Ownership: a cuda_group borrows its graph. Thread-safe: kernels are only added, under a lock, and
 * published with a release store.
 * Tests: tests/unit/test_cuda_tensor.c, tests/cuda
 */
#ifndef CTSC_RUNTIME_CUDA_LAUNCH_H
#define CTSC_RUNTIME_CUDA_LAUNCH_H

#include "ir/graph/graph.h"
#include "tensor/device.h"
#include "tensor/value.h"

typedef struct cuda_group cuda_group;

/* name: for messages, copied. */
ctsc_status cuda_group_new(diag *d, const graph *g, const char *name, cuda_group **out);
void cuda_group_free(cuda_group *f);

/* The device of the first tensor that is on one; DEVICE_HOST: there is none. */
int cuda_group_device(int n, const value *args);

/* args: one per parameter, borrowed, a tensor of them on a device; 0-dim tensors of the host are
 * moved there. results: one slot per return of the graph, each a new reference when it ran. *ran:
 * false if there is no kernel for such arguments; nothing has happened then. */
ctsc_status cuda_group_run(cuda_group *f, diag *d, const value *args, value *results, bool *ran);

#endif
