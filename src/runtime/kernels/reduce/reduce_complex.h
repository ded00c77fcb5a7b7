/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce_complex.h - what reductions do with complex values: steps of the kinds, and results made
 * of real reductions.
 */
#ifndef CTSC_RUNTIME_KERNELS_REDUCE_REDUCE_COMPLEX_H
#define CTSC_RUNTIME_KERNELS_REDUCE_REDUCE_COMPLEX_H

#include "runtime/kernels/reduce/reduce.h"

/* Steps of rows REDUCE_C64 and REDUCE_C128: f + g j the sum or product; i the values that are not
 * 0, n all of them. */
#define REDUCE_COMPLEX_STEP(name)                                                                  \
    void name(const reduce_job *j, reduce_acc *a, const void *data, int64_t n, int64_t first)
REDUCE_COMPLEX_STEP(reduce_sum_c64);
REDUCE_COMPLEX_STEP(reduce_sum_c128);
REDUCE_COMPLEX_STEP(reduce_prod_c64);
REDUCE_COMPLEX_STEP(reduce_prod_c128);
REDUCE_COMPLEX_STEP(reduce_count_c64);
REDUCE_COMPLEX_STEP(reduce_count_c128);
/* The complex rows of a kind. */
#define REDUCE_COMPLEX_ROWS(what)                                                                  \
    [REDUCE_C64] = reduce_##what##_c64, [REDUCE_C128] = reduce_##what##_c128

/* Stores f + g j, divided by n (1: as it is) as PyTorch divides a sum by a count. The job's
 * output is complex. */
void reduce_store_complex(const reduce_job *j, int64_t result, double f, double g, double n);

/* |in|, of the parts' dtype. Of a real tensor: itself. */
ctsc_status reduce_lengths(op_ctx *cx, tensor *in, tensor **out);
/* The real (part 0) and imaginary (part 1) numbers of a complex tensor, as a view. */
ctsc_status reduce_part(op_ctx *cx, const tensor *in, int part, tensor **out);

#endif
