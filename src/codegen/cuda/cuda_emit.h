/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_emit.h - a loop nest as a CUDA kernel.
 *
 * The parallel loop's iterations are shared by the grid. What an iteration is depends on the nest
 * (nest.h, point 9): of a nest without a cooperative group each iteration is one thread's, in a
 * grid-stride loop; with a cooperative group a block (or a warp) takes an iteration together: its
 * vector loops are shared by the cooperative group's threads, accumulations meet by shuffles and
 * shared memory, all else is computed by each thread for itself, and stores outside vector loops
 * are made by one.
 *
 * The text includes "codegen/cuda/nest_cuda.h" and through it
 * "ir/scalar/scalar_ops.h", which the compiling code supplies (cuda_emit_headers):
 * the definitions of operators are the same single source as on the CPU. It is C++
 * that the host's compiler accepts too, after tests/cuda/shim.h.
 *
 * A grid may have any number of blocks. The fastest is as many as the iterations
 * need, (iterations * cooperative group + block - 1) / block of them, without a
 * limit: short-lived threads keep more memory accesses in flight than those that
 * stride. A nest without a parallel loop has one iteration.
 *
 * The kernel takes one struct by value, in this order, without gaps: a pointer per buffer of
 * the nest; the ints (int64); the floats (double); begin and end (int64), the chunk of the
 * parallel loop's range.
 */
#ifndef CTSC_CODEGEN_CUDA_CUDA_EMIT_H
#define CTSC_CODEGEN_CUDA_CUDA_EMIT_H

#include "codegen/nest/nest.h"

typedef struct cuda_kernel_shape {
    int block; /* threads of a block */
    /* threads that take one iteration together: 1, or the nest's cooperative group */
    int coop;
    int shared; /* bytes of dynamic shared memory of a block */
} cuda_kernel_shape;

/* Appends the source of extern "C" __global__ void kernel(...). Fails with CTSC_UNSUPPORTED for
 * nests that fail or are watched: loops of programs stay on the host.
 * Verifies n first. */
ctsc_status nest_emit_cuda(nest *n, strbuf *out, cuda_kernel_shape *shape, diag *d);

/* Rounds of a vector loop that are made together if the elements accessed one after the other have
 * `least` to `most` bytes. */
int cuda_pack_width(size_t least, size_t most);

/* Name, text pairs for #include, NULL-ended; live as long as the process. NULL if out of memory. */
const char *const *cuda_emit_headers(void);

#endif
