/* SPDX-License-Identifier: Apache-2.0 */
/*
 * linear_half.h - linear layers whose weight is a constant of float16 or bfloat16: see
 * linear_half.c.
 * Tests: tests/unit/test_linear_half.c
 */
#ifndef CTSC_RUNTIME_KERNELS_MATMUL_LINEAR_HALF_H
#define CTSC_RUNTIME_KERNELS_MATMUL_LINEAR_HALF_H

#include "cpu/gemm/widen.h"
#include "runtime/kernels/engine/epilogue.h"
#include "runtime/kernels/matmul/quad_matrix.h"

#include <pthread.h>

/* A weight as its kernels read it. */
typedef struct half_weight {
    dtype dt;
    int64_t n, k;
    quad_matrix quads;        /* kernels NULL: */
    const widen_micro *widen; /* these, with */
    uint16_t *panels;         /* [panel][k][WIDEN_COLUMNS] */
    void *memory;
    const void *of; /* the weight, a view of a storage */
    int64_t strides[2];
    struct half_weight *next;
} half_weight;

/* What is kept with a storage (storage.derived): its matrices that were met so far. */
typedef struct half_weights {
    half_weight *_Atomic first;
    int64_t elements;     /* of all of them */
    pthread_mutex_t lock; /* of packing one more; the last, since its size is the system's */
} half_weights;

/* `release` of half_weights. */
void linear_half_free(void *made);

/* out (contiguous, [..., n]) = input [..., k] weight' [n, k] + bias [n] (or NULL), all of one
 * dtype on the host; sizes agree. Does e (may be NULL) where it fits, and says so in e->done.
 * *done: it was done here; it is not where the weight is not a constant, or nothing may be packed.
 * Fails without memory. */
ctsc_status linear_half(diag *d, tensor *input, const tensor *weight, tensor *bias, epilogue *e,
                        tensor *out, bool *done);

#endif
