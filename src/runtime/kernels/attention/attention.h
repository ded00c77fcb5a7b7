/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attention.h - softmax(scale * q k' + mask, filled where hidden) v, the core that the attention
 * operators share.
 * Tests: tests/unit/test_attention.c
 */
#ifndef CTSC_RUNTIME_KERNELS_ATTENTION_ATTENTION_H
#define CTSC_RUNTIME_KERNELS_ATTENTION_ATTENTION_H

#include "runtime/kernels/matmul/gemm.h"

/* q: [..., L, E], k: [..., S, E], v: [..., S, V], any strides, one dtype (real and floating;
 * float16 and bfloat16 on the host only where nobody wants the weights); the leading dims broadcast
 * to those of out, which has the same dtype. */
typedef struct attention_call {
    tensor *q, *k, *v;
    tensor *mask; /* added to the scores, broadcast to [..., L, S], of q's dtype; NULL: none */
    /* bool, broadcast to [..., L, S]: scores that are `fill` instead; NULL: none; not if causal */
    tensor *hidden;
    bool shown; /* `hidden` is true where scores stay; on the host only */
    double fill;
    bool causal; /* row i sees columns 0 to i */
    bool safe;   /* rows that see nothing have weights of 0, not nan; on the host only */
    double scale;
    tensor *out;     /* [..., L, V], made by the caller; elements of a row adjoin */
    tensor *weights; /* [..., L, S], contiguous, or NULL if they are not needed */
} attention_call;

ctsc_status attention_compute(diag *d, const attention_call *call);

/* The broadcast shape of the leading dims of q, k and v, followed by L and S; fails
 * if they do not broadcast, or if mask (NULL: none) does not broadcast to that. */
ctsc_status attention_sizes(diag *d, const tensor *q, const tensor *k, const tensor *v,
                            const tensor *mask, int *nb, int64_t *sizes);

/* ---- what the operators share (scaled_dot_product.c) ----------------------------------------- */

/* The dtype to compute in: q's, but float for float16 and bfloat16 if the weights are wanted on
 * the host. */
dtype attention_work(const tensor *q, bool weights);
/* Replaces *t by its conversion. */
ctsc_status attention_convert(diag *d, tensor **t, dtype dt);
/* t [b, h, g, s, d], the same for all of g, if reshaping it to these sizes is [b, h * g, s, d]: as
 * [b, h, s, d] in *out; else NULL. */
ctsc_status attention_repeated(diag *d, const tensor *t, const value *sizes, tensor **out);
/* t [..., n, rows, columns] with n heads as [..., n / group, group, rows, columns]; NULL
 * and matrices stay. */
ctsc_status attention_split(diag *d, tensor *t, int64_t group, tensor **out);
/* A mask to be added: a bool mask becomes 0 and -inf, -inf where it equals `hidden`. */
ctsc_status attention_additive(op_ctx *cx, tensor *mask, bool hidden, dtype work, tensor **out);

#endif
