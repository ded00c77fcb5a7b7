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
    const int64_t *q, *k, *v, *mask, *out; /* offset of each head, in elements */
    bool tiles;                            /* attention_tiles.c does it */
    atomic_int failed;                     /* a ctsc_status */
} attention_job;

static inline gemm_matrix attention_at(const tensor *t, int64_t offset, size_t size) {
    gemm_matrix m = gemm_of(t);
    m.p = (const char *)m.p + offset * (int64_t)size;
    return m;
}

/* e^x for x <= 0 to the last bit or two: x = n ln 2 + r, a polynomial for e^r (Taylor, degree 7),
 * and n put into the exponent. Written without branches, so that the compiler can vectorise it. */
static inline float attention_exp(float x) {
    const float shifter =
        12582912.0f; /* 1.5 * 2^23: adding it rounds to an integer in the low bits */
    float low = x < -87.0f ? -87.0f : x;
    union {
        float f;
        uint32_t u;
    } n = {low * 1.44269504f + shifter}, scale;
    float whole = n.f - shifter;
    float r = low - whole * 0.693359375f + whole * 2.12194440e-4f;
    float p = 1.98412698e-4f;
    p = p * r + 1.38888889e-3f;
    p = p * r + 8.33333333e-3f;
    p = p * r + 4.16666667e-2f;
    p = p * r + 1.66666667e-1f;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    scale.u = (n.u + 127u) << 23;
    return p * scale.f * (x < -87.0f ? 0.0f : 1.0f);
}

/* May attention_tiles.c do the call? If so, sets job->step. */
bool attention_tiles_fit(attention_job *job);
/* Items [begin, end). Fails only without memory. */
ctsc_status attention_tiles_run(const attention_job *job, diag *d, int64_t begin, int64_t end);

#endif
