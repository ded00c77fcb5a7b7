/* SPDX-License-Identifier: Apache-2.0 */
/* prepack.h - which weights are packed once, for other passes. */
#ifndef CTSC_PASSES_WEIGHTS_PREPACK_H
#define CTSC_PASSES_WEIGHTS_PREPACK_H

#include "tensor/tensor.h"

/* Is w a weight that prepack.c has packed for linear layers? */
bool prepack_is_large(const tensor *w);
/* The same of 16 or 32 bits. */
bool prepack_is_weight(const tensor *w);

#endif
