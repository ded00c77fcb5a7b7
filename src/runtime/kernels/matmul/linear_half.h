/* SPDX-License-Identifier: Apache-2.0 */
/*
 * linear_half.h - linear layers whose weight is a constant of float16 or bfloat16: see
 * linear_half.c.
 * Tests: tests/unit/test_linear_half.c
 */
#ifndef CTSC_RUNTIME_KERNELS_MATMUL_LINEAR_HALF_H
#define CTSC_RUNTIME_KERNELS_MATMUL_LINEAR_HALF_H

#include "runtime/kernels/engine/epilogue.h"

/* out (contiguous, [..., n]) = input [..., k] weight' [n, k] + bias [n] (or NULL), all of one
 * dtype on the host; sizes agree. Does e (may be NULL) where it fits, and says so in e->done.
 * *done: it was done here; it is not where the weight is not a constant, or nothing may be packed.
 * Fails without memory. */
ctsc_status linear_half(diag *d, tensor *input, const tensor *weight, tensor *bias, epilogue *e,
                        tensor *out, bool *done);

#endif
