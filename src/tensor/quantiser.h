/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantiser.h - the real values of a quantised tensor's integers: real = (integer -
 * zero_point) * scale.
 *
 * One scale and zero point for the whole tensor, or one for each index of a dimension (the axis). A
 * tensor of a quantised dtype has a quantiser (tensor.quantiser), and tensors of other dtypes have
 * none; views share it.
 *
 * Ownership: counted, immutable once made.
 * Tests: tests/unit/test_quantized.c
 */
#ifndef CTSC_TENSOR_QUANTISER_H
#define CTSC_TENSOR_QUANTISER_H

#include "tensor/tensor.h"

/* The numbers are PyTorch's QScheme values. */
typedef enum qscheme {
    QSCHEME_TENSOR_AFFINE,
    QSCHEME_CHANNEL_AFFINE,
    QSCHEME_TENSOR_SYMMETRIC,  /* a name only: no tensor has it */
    QSCHEME_CHANNEL_SYMMETRIC, /* a name only */
    /* per_channel_affine_float_qparams: real = integer * scale + zero_point * scale, both float */
    QSCHEME_CHANNEL_FLOAT,
} qscheme;

typedef struct quantiser {
    atomic_int refs;
    qscheme scheme;
    double scale; /* of QSCHEME_TENSOR_AFFINE */
    int64_t zero_point;
    int axis;            /* of the others: which dimension scales and zero_points go along */
    tensor *scales;      /* 1-dim, contiguous: double; of QSCHEME_CHANNEL_FLOAT float */
    tensor *zero_points; /* 1-dim, contiguous: int64; of QSCHEME_CHANNEL_FLOAT float */
} quantiser;

/* NULL: out of memory. */
quantiser *quantiser_new(double scale, int64_t zero_point);
/* scales and zero_points are borrowed, and have the dtypes named above. */
quantiser *quantiser_new_channels(qscheme scheme, tensor *scales, tensor *zero_points, int axis);
quantiser *quantiser_ref(quantiser *q);
void quantiser_unref(quantiser *q); /* q may be NULL */
bool quantiser_equal(const quantiser *a, const quantiser *b);
static inline bool quantiser_per_tensor(const quantiser *q) {
    return q->scheme == QSCHEME_TENSOR_AFFINE;
}
/* "per_tensor_affine" */
const char *qscheme_name(qscheme s);

/* t (of a quantised dtype) gets q, whose reference passes in. */
void tensor_set_quantiser_take(tensor *t, quantiser *q);
/* Contiguous and uninitialised, of a quantised dtype, with q (a new reference of it). */
ctsc_status tensor_new_quantised(diag *d, dtype dt, int ndim, const int64_t *sizes, quantiser *q,
                                 tensor **out);
/* Smallest and largest integer of a quantised dtype. */
int64_t dtype_qmin(dtype dt);
int64_t dtype_qmax(dtype dt);
/* The quantised element at `at` (in the storage, of dtype dt) as a number; channel: its
 * index along the axis. */
double quantiser_value(const quantiser *q, dtype dt, const void *at, int64_t channel);

#endif
