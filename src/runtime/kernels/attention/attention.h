/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attention.h - softmax(scale * q k' + mask, filled where hidden) v, the core that the attention
 * operators share.
 * Tests: tests/unit/test_attention.c
 */
#ifndef CTSC_RUNTIME_KERNELS_ATTENTION_ATTENTION_H
#define CTSC_RUNTIME_KERNELS_ATTENTION_ATTENTION_H

#include "runtime/kernels/matmul/gemm.h"

/* q: [..., L, E], k: [..., S, E], v: [..., S, V], any strides, one dtype (float or double; on a
 * device any that is real and floating); the leading dims broadcast to those of out. */
typedef struct attention_call {
    tensor *q, *k, *v;
    tensor *mask; /* added to the scores, broadcast to [..., L, S]; NULL: none */
    /* bool, broadcast to [..., L, S]: scores that are `fill` instead; NULL: none; not if causal */
    tensor *hidden;
    double fill;
    bool causal; /* row i sees columns 0 to i */
    bool safe;   /* rows that see nothing have weights of 0, not nan; on the host only */
    double scale;
    tensor *out;     /* [..., L, V], made by the caller; elements of a row adjoin */
    tensor *weights; /* [..., L, S], contiguous, or NULL if nobody wants them */
} attention_call;

ctsc_status attention_compute(diag *d, const attention_call *call);

/* What the leading dims of q, k and v broadcast to, with L and S behind them; fails if they do not,
 * or if mask (NULL: none) does not broadcast to that. */
ctsc_status attention_sizes(diag *d, const tensor *q, const tensor *k, const tensor *v,
                            const tensor *mask, int *nb, int64_t *sizes);

#endif
