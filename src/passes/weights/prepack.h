/* SPDX-License-Identifier: Apache-2.0 */
/* prepack.h - which weights are packed once, for other passes. */
#ifndef CTSC_PASSES_WEIGHTS_PREPACK_H
#define CTSC_PASSES_WEIGHTS_PREPACK_H

#include "ir/graph/graph.h"

/* Is w a weight that prepack.c has packed for linear layers? */
bool prepack_is_large(const tensor *w);
/* The same of 16 bits: packed as they are (runtime/kernels/matmul/linear_half.c). */
bool prepack_is_half(const tensor *w);
/* Either. */
bool prepack_is_weight(const tensor *w);
/* The weight of an aten::linear that is such a constant. */
bool prepack_fits(const node *n, tensor **weight);
/* The same as a constant with a storage of its own; NULL: out of memory. */
ir_value *prepack_weight(node *n, const tensor *t);

#endif
