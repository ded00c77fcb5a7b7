/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nbits_weight.h - packed forms of constant weights of few bits (nbits_matrix.h), kept
 * with their storages: of float weights to be reduced, and of weights as in files.
 *
 * Packed at the first call (prepack_derived_now). NULL: packing is not possible, and the operator
 * computes with the weights as floats.
 * Tests: tests/unit/test_precision.c, tests/unit/test_linear_nbits.c
 */
#ifndef CTSC_RUNTIME_KERNELS_MATMUL_NBITS_WEIGHT_H
#define CTSC_RUNTIME_KERNELS_MATMUL_NBITS_WEIGHT_H

#include "runtime/kernels/matmul/nbits_matrix.h"

/* How a float weight [n, k] is reduced: 4 or 8 bits; a scale per `group` elements of a row (0: per
 * row), and a zero point where `zeros`. */
typedef struct nbits_reduction {
    int bits;
    int64_t group;
    bool zeros;
} nbits_reduction;

/* Of w, a constant of float32, float16 or bfloat16. Not of one that is not finite. */
const nbits_matrix *nbits_reduced(const tensor *w, nbits_reduction how);

/* Weights as files have them: `data` uint8 [n, ...], of each row ceil(k / group) groups of
 * group * bits / 8 bytes, the lowest bits first; scale [n, groups] of float32, float16 or bfloat16;
 * zero points as uint8 [n, ceil(groups * bits / 8)], packed likewise, or [n, groups] of floats;
 * NULL: half of what the bits hold. */
typedef struct nbits_file {
    const tensor *data, *scale, *zero;
    int64_t n, k, group;
    int bits; /* 2, 4 or 8 */
} nbits_file;

/* Sets n. Refuses sizes and dtypes that do not belong together, under `name`. */
ctsc_status nbits_file_check(op_ctx *cx, const char *name, nbits_file *f);
/* Of f, which has been checked, kept with the storage of its data if that is a constant. */
const nbits_matrix *nbits_filed(const nbits_file *f);
/* Column j of f as k floats. */
void nbits_file_column(const nbits_file *f, int64_t j, float *to);

#endif
