/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attention_job.h - one call of attention as the threads see it that share it: for attention_core.c
 * and attention_tiles.c.
 */
#ifndef CTSC_RUNTIME_KERNELS_ATTENTION_ATTENTION_JOB_H
#define CTSC_RUNTIME_KERNELS_ATTENTION_ATTENTION_JOB_H

#include "runtime/kernels/attention/attention.h"
#include "runtime/kernels/matmul/gemm_block.h"

#include <stdatomic.h>

typedef struct attention_job {
    const attention_call *call;
    dtype dt;
    int64_t heads, rows, cols, depth, width; /* the products of leading dims; L, S, E, V */
    /* an item is so many rows of a head; so many items make a head */
    int64_t step, blocks;
    /* offset of each head, in elements */
    const int64_t *q, *k, *v, *mask, *hidden, *out;
    bool tiles;        /* attention_tiles.c does it */
    atomic_int failed; /* a ctsc_status */
} attention_job;

static inline gemm_matrix attention_at(const tensor *t, int64_t offset, size_t size) {
    gemm_matrix m = gemm_of(t);
    m.p = (const char *)m.p + offset * (int64_t)size;
    return m;
}

/* Elements of a mask from a head's row on: (i, j) at p + i * rs + j * cs. p is
 * NULL: there is none. */
typedef struct attention_mask {
    const char *p;
    int64_t rs, cs;
} attention_mask;

static inline attention_mask attention_mask_at(const tensor *t, const int64_t *offset, int64_t head,
                                               int64_t row) {
    if (!t) return (attention_mask){NULL, 0, 0};
    gemm_matrix m = gemm_of(t);
    attention_mask at = {m.p, t->sizes[t->ndim - 2] == 1 ? 0 : m.rs,
                         t->sizes[t->ndim - 1] == 1 ? 0 : m.cs};
    at.p += (offset[head] + row * at.rs) * (int64_t)dtype_size((dtype)t->dtype);
    return at;
}

/* For the loops of softmax: as CONV_HOT, and multiplications are fused with sums where the
 * processor does that. */
#define ATTENTION_HOT                                                                              \
    VECTOR_OPTIMISED("O3", "no-loop-unroll-and-jam", "fp-contract=fast")                           \
    VECTOR_CLONED("avx512f", "arch=x86-64-v3", "default")

#define ATTENTION_EXP_MOST 87.0f /* e^x is 0 for x below its negative */

/* e^x for x <= 0 to the last bit or two: x = n ln 2 + r, a polynomial for e^r (of degree 6, whose
 * relative error is the least, 3e-9), and n put into the exponent. Written without branches, so
 * that the compiler can vectorise it. */
static inline __attribute__((always_inline)) float attention_exp(float x) {
    const float shifter =
        12582912.0f; /* 1.5 * 2^23: adding it rounds to an integer in the low bits */
    float low = x < -ATTENTION_EXP_MOST ? -ATTENTION_EXP_MOST : x;
    union {
        float f;
        uint32_t u;
    } n = {low * 1.44269504f + shifter}, scale;
    float whole = n.f - shifter;
    float r = low - whole * 0.693359375f + whole * 2.12194440e-4f;
    float p = 1.3814540579915047e-3f;
    p = p * r + 8.36874544620514e-3f;
    p = p * r + 4.166838899254799e-2f;
    p = p * r + 1.666652113199234e-1f;
    p = p * r + 4.999999403953552e-1f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    scale.u = (n.u + 127u) << 23;
    float y = p * scale.f;
    return x < -ATTENTION_EXP_MOST ? 0.0f : y;
}

/* May attention_tiles.c do the call? If so, sets job->step. */
bool attention_tiles_fit(attention_job *job);
/* Items [begin, end). Fails only without memory. */
ctsc_status attention_tiles_run(const attention_job *job, diag *d, int64_t begin, int64_t end);

#endif
