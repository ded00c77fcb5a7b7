/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nn.c - sums that the kernels of neural-network layers share.
 * Tests: tests/unit/test_nn.c
 */
#include "runtime/kernels/nn/nn.h"

#include "runtime/kernels/reduce/reduce_vec.h"

enum { NN_LANES = 16, NN_BLOCK = 2048 };

#define T float
#define NAME nn_square_sum_f32
#include "runtime/kernels/nn/nn_square_sum.h"

#define T double
#define NAME nn_square_sum_f64
#include "runtime/kernels/nn/nn_square_sum.h"

double nn_sum_f32(const float *p, int64_t n) { return reduce_total_f32(p, n); }
double nn_sum_f64(const double *p, int64_t n) { return reduce_total_f64(p, n); }
