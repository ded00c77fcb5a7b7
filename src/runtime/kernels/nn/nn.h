/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nn.h - what the kernels of neural-network layers (norm, softmax, loss) share,
 * beside engine/wide.h.
 */
#ifndef CTSC_RUNTIME_KERNELS_NN_NN_H
#define CTSC_RUNTIME_KERNELS_NN_NN_H

#include "runtime/kernels/engine/wide.h"

/* softmax or log_softmax of input, taken as dtype dt, over a dim. */
ctsc_status nn_softmax(op_ctx *cx, tensor *input, int64_t dim, dtype dt, bool logarithm,
                       tensor **out);

/* Sums with several partial sums at once; exact enough for float by adding blocks up in double. */
double nn_sum_f32(const float *p, int64_t n);
double nn_sum_f64(const double *p, int64_t n);
/* Sum of (p[i] - mean)^2. */
double nn_square_sum_f32(const float *p, int64_t n, float mean);
double nn_square_sum_f64(const double *p, int64_t n, double mean);
#define nn_sum(p, n) _Generic(*(p), float: nn_sum_f32, double: nn_sum_f64)((const void *)(p), n)
#define nn_square_sum(p, n, mean)                                                                  \
    _Generic(*(p), float: nn_square_sum_f32, double: nn_square_sum_f64)((const void *)(p), n, mean)

#endif
