/* SPDX-License-Identifier: Apache-2.0 */
/*
 * iter.h - walks several tensors of one (broadcast) shape together.
 *
 * The iterator collapses dimensions that all operands step through evenly, orders them so that the
 * innermost is the fastest for the output, and calls the kernel with runs of n elements and a byte
 * stride per operand. Contiguous operands thus meet the kernel as one long run. Runs may be handed
 * to several threads; every element belongs to exactly one run.
 *
 * It does not allocate outputs and does not convert: operands come with the dtypes the kernel
 * expects (op_binary_prepare and the like, in runtime/kernels, do that part).
 * Tests: tests/unit/test_tensor.c
 */
#ifndef CTSC_TENSOR_ITER_H
#define CTSC_TENSOR_ITER_H

#include "tensor/tensor.h"

enum { ITER_MAX_OPERANDS = 8 };

/* p[k]: address of operand k's first element of the run; s[k]: its stride in bytes. */
typedef void (*iter_kernel)(void *ctx, int64_t n, char *const *p, const int64_t *s);

/* operands[k] must be broadcastable to the shape (ndim, sizes). An output (written operand) must
 * have exactly that shape. Cannot fail once the shapes fit; grain: least elements worth a thread of
 * their own (0: default). */
void iter_run(int ndim, const int64_t *sizes, int noperands, tensor *const *operands,
              iter_kernel kernel, void *ctx, int64_t grain);
/* The same, but a limit of the thread's may end it (limits.h): false then, and what the kernel has
 * not written must not be read. */
bool iter_run_limited(int ndim, const int64_t *sizes, int noperands, tensor *const *operands,
                      iter_kernel kernel, void *ctx, int64_t grain);

/* The same, serial and in row-major order of the shape (for kernels that carry state
 * from run to run). */
void iter_run_ordered(int ndim, const int64_t *sizes, int noperands, tensor *const *operands,
                      iter_kernel kernel, void *ctx);
bool iter_run_ordered_limited(int ndim, const int64_t *sizes, int noperands,
                              tensor *const *operands, iter_kernel kernel, void *ctx);

#endif
