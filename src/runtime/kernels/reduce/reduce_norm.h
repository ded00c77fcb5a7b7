/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce_norm.h - the vector norm that other operators build on.
 */
#ifndef CTSC_RUNTIME_KERNELS_REDUCE_REDUCE_NORM_H
#define CTSC_RUNTIME_KERNELS_REDUCE_REDUCE_NORM_H

#include "runtime/kernels/reduce/reduce.h"

/* p-norm over the masked dims of `in` converted to dt, a real floating dtype. */
ctsc_status norm_vector(op_ctx *cx, const tensor *in, double p, const bool *mask, bool keepdim,
                        dtype dt, tensor **out);

#endif
