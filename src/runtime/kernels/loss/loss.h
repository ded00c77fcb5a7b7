/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loss.h - the reductions that all loss functions end with.
 */
#ifndef CTSC_RUNTIME_KERNELS_LOSS_LOSS_H
#define CTSC_RUNTIME_KERNELS_LOSS_LOSS_H

#include "runtime/kernels/engine/wide.h"

/* The values of the `reduction` argument. */
enum { LOSS_NONE, LOSS_MEAN, LOSS_SUM };

/* Any value but these is a mistake of the program. */
ctsc_status loss_check_reduction(op_ctx *cx, int64_t reduction);
/* t, its mean or its sum. Takes t. */
ctsc_status loss_reduce(op_ctx *cx, tensor *t, int64_t reduction, tensor **out);

#endif
