/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attention_job.h - one call of attention as the threads that share it see it, and the ways to
 * compute it.
 */
#ifndef CTSC_RUNTIME_KERNELS_ATTENTION_ATTENTION_JOB_H
#define CTSC_RUNTIME_KERNELS_ATTENTION_ATTENTION_JOB_H

#include "runtime/kernels/attention/attention.h"
#include "runtime/kernels/matmul/gemm_block.h"

#include <stdatomic.h>

typedef struct attention_way attention_way;

typedef struct attention_job {
    const attention_call *call;
    dtype dt;
    int64_t heads, rows, cols, depth, width; /* the products of leading dims; L, S, E, V */
    int64_t share;                           /* this many consecutive heads share keys and values */
    /* An item is `step` queries of a group, `blocks` items a group. A group is a head, or `share`
     * heads whose queries are counted through. */
    int64_t groups, queries, step, blocks;
    /* offset of each head, in elements */
    const int64_t *q, *k, *v, *mask, *hidden, *out;
    const attention_way *way;
    atomic_int failed; /* a ctsc_status */
} attention_job;

/* A way to compute calls. */
struct attention_way {
    /* Can it do this one? Then it sets groups, queries and step. */
    bool (*fit)(attention_job *job);
    /* Items [begin, end). Fails only if out of memory. */
    ctsc_status (*run)(const attention_job *job, diag *d, int64_t begin, int64_t end);
};

/* attention_tiles.c: many queries, in any dtype but double.
 * attention_quads.c: many queries in bfloat16, where the processor multiplies pairs of it.
 * attention_few.c: float16 and bfloat16, any number of queries. */
extern const attention_way attention_tiles, attention_quads, attention_few;

/* Sets groups and queries so that heads with the same keys and values are one group. */
static inline void attention_group_heads(attention_job *job) {
    job->groups = job->heads / job->share;
    job->queries = job->rows * job->share;
}
/* Sets step: a multiple of `multiple`, of few items unless they had too few rows each. */
void attention_cut(attention_job *job, int64_t multiple);

/* ---- memory of one thread -------------------------------------------------------------------- */

typedef struct attention_part {
    void *at; /* a pointer to a pointer: where the part begins, at a multiple of 64 bytes */
    int64_t rows, length;
    size_t size; /* of an element */
} attention_part;

/* Parts, with some elements more each, in one block of *total bytes. False: they are too large. */
bool attention_memory(const attention_part *parts, size_t n, char **memory, size_t *total);

/* ---- operands -------------------------------------------------------------------------------- */

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

#endif
