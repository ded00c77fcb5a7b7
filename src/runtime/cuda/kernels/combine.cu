/* SPDX-License-Identifier: Apache-2.0 */
/*
 * combine.cu - elements added to, multiplied with or compared with what is stored where indices say. Several threads may meet at one element, in any order: sums of
 * floats can differ in their last bits from run to run, as PyTorch's do for these operators.
 */

static __device__ acc_t combined(acc_t a, acc_t v, int how) {
    switch (how) {
    case DENSE_ADD: return (acc_t)(a + v);
    case DENSE_MUL: return (acc_t)(a * v);
    case DENSE_MAXIMUM: return a != a || a > v ? a : v; /* NaN stays, and a new one comes in */
    case DENSE_MINIMUM: return a != a || a < v ? a : v;
    default: return v;
    }
}

/* By exchanging the word the element is in until nobody was in between. */
static __device__ void combine_word(elem_t *p, acc_t v, int how) {
    unsigned long long address = (unsigned long long)p;
    union {
        unsigned word;
        elem_t parts[sizeof(elem_t) < 4 ? 4 / sizeof(elem_t) : 1];
    } old, fresh;
    unsigned *word = (unsigned *)(address & ~3ull), seen = *(volatile unsigned *)word;
    int part = (int)((address & 3) / sizeof(elem_t));
    do {
        old.word = fresh.word = seen;
        store(&fresh.parts[part], combined(load(old.parts[part]), v, how));
        seen = atomicCAS(word, old.word, fresh.word);
    } while (seen != old.word);
}
static __device__ void combine_wide(elem_t *p, acc_t v, int how) {
    union {
        unsigned long long word;
        elem_t value;
    } old, fresh;
    unsigned long long *word = (unsigned long long *)p, seen = *(volatile unsigned long long *)word;
    do {
        old.word = fresh.word = seen;
        store(&fresh.value, combined(load(old.value), v, how));
        seen = atomicCAS(word, old.word, fresh.word);
    } while (seen != old.word);
}

/* The device adds these by itself. */
static __device__ bool add_at_once(float *p, float v) {
    atomicAdd(p, v);
    return true;
}
static __device__ bool add_at_once(int *p, int v) {
    atomicAdd(p, v);
    return true;
}
static __device__ bool add_at_once(double *p, double v) {
    atomicAdd(p, v);
    return true;
}
static __device__ bool add_at_once(long long *p, long long v) {
    atomicAdd((unsigned long long *)p, (unsigned long long)v);
    return true;
}
template <class A> static __device__ bool add_at_once(A *, acc_t) {
    return false;
}

static __device__ void combine(elem_t *p, elem_t v, int how) {
    if (how == DENSE_ADD && add_at_once(p, load(v))) return;
    if (sizeof(elem_t) == 8) combine_wide(p, load(v), how);
    else combine_word(p, load(v), how);
}

extern "C" __global__ void blocks_combine(dense_blocks p) {
    for (dense_int i = thread_first(); i < p.n; i += thread_step()) combine(blocks_at(&p, i), ((const elem_t *)p.dense)[p.scalar ? 0 : i], p.combination);
}
extern "C" __global__ void scatter_combine(dense_scatter p) {
    elem_t *self, *other;
    for (dense_int i = thread_first(); i < p.n; i += thread_step())
        if (scatter_at(&p, i, &self, &other)) combine(self, *other, p.combination);
}
