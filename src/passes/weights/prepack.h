/* SPDX-License-Identifier: Apache-2.0 */
/* prepack.h - which weights are packed once, for other passes. */
#ifndef CTSC_PASSES_WEIGHTS_PREPACK_H
#define CTSC_PASSES_WEIGHTS_PREPACK_H

#include "tensor/tensor.h"

/* Is w a weight that prepack.c has packed for linear layers? */
bool prepack_is_large(const tensor *w);
/* The same of 16 bits: packed as they are (runtime/kernels/matmul/linear_half.c). */
bool prepack_is_half(const tensor *w);
/* Either. */
bool prepack_is_weight(const tensor *w);

#endif
