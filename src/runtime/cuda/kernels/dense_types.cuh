/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dense_types.cuh - element types, and where elements are, in front of every program of kernels/. The host defines ELEMENT, what lies in memory, COMPUTE, what it is computed
 * in, ELEMENT_IS_INT and ELEMENT_BYTES (dense_defines).
 */
struct f16 {
    unsigned short bits;
};
struct bf16 {
    unsigned short bits;
};
struct wide16 { /* 16 bytes that are only moved */
    unsigned long long low, high;
};

typedef ELEMENT elem_t;
typedef COMPUTE acc_t;

#ifdef __CUDACC_RTC__
static __device__ inline float to_float(f16 v) {
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(v.bits));
    return f;
}
static __device__ inline f16 to_f16(float f) {
    f16 v;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(v.bits) : "f"(f));
    return v;
}
static __device__ inline float float_of_bits(unsigned u) {
    return __uint_as_float(u);
}
static __device__ inline unsigned bits_of_float(float f) {
    return __float_as_uint(f);
}
#else
static inline float float_of_bits(unsigned u) {
    float f;
    __builtin_memcpy(&f, &u, 4);
    return f;
}
static inline unsigned bits_of_float(float f) {
    unsigned u;
    __builtin_memcpy(&u, &f, 4);
    return u;
}
/* Through the exponents: a multiplication by a power of two rounds, and turns half's subnormals into numbers. */
static inline float to_float(f16 v) {
    unsigned magnitude = v.bits & 0x7fffu, sign = (unsigned)(v.bits & 0x8000u) << 16;
    float f = float_of_bits(magnitude << 13) * float_of_bits(0x77800000u);
    if (magnitude >= 0x7c00u) f = float_of_bits(0x7f800000u | (magnitude & 0x3ffu) << 13);
    return float_of_bits(bits_of_float(f) | sign);
}
static inline f16 to_f16(float f) {
    unsigned bits = bits_of_float(f), sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu, half;
    if (magnitude > 0x7f800000u) half = 0x7e00u;
    else if (magnitude >= 0x477ff000u) half = 0x7c00u;
    else if (magnitude < 0x38800000u) half = bits_of_float(float_of_bits(magnitude) + 0.5f) - bits_of_float(0.5f);
    else half = (magnitude + 0xfffu + (magnitude >> 13 & 1u) - 0x38000000u) >> 13;
    f16 v = {(unsigned short)(half | sign)};
    return v;
}
#endif
static __device__ inline float to_float(bf16 v) {
    return float_of_bits((unsigned)v.bits << 16);
}
static __device__ inline bf16 to_bf16(float f) {
    unsigned u = bits_of_float(f), half = (u + 0x7fffu + (u >> 16 & 1u)) >> 16;
    bf16 v = {(unsigned short)(f != f ? 0x7fc0u | (u >> 16 & 0x8000u) : half)};
    return v;
}

/* An element as a number to compute with, and back. */
static __device__ inline float load(f16 v) {
    return to_float(v);
}
static __device__ inline float load(bf16 v) {
    return to_float(v);
}
template <class A> static __device__ inline A load(A v) {
    return v;
}
template <class V> static __device__ inline void store(f16 *p, V v) {
    *p = to_f16((float)v);
}
template <class V> static __device__ inline void store(bf16 *p, V v) {
    *p = to_bf16((float)v);
}
template <class A, class V> static __device__ inline void store(A *p, V v) {
    *p = (A)v;
}

/* This thread among all of the grid, and how many there are: for (i = thread_first(); i < n; i += thread_step()). */
static __device__ inline dense_int thread_first() {
    return (dense_int)blockIdx.x * blockDim.x + threadIdx.x;
}
static __device__ inline dense_int thread_step() {
    return (dense_int)gridDim.x * blockDim.x;
}

/* *rest = n % by, and n / by. A division of 64 bits takes the device many times one of 32. */
static __device__ inline dense_int split(dense_int n, dense_int by, dense_int *rest) {
    if (((unsigned long long)(n | by) >> 32) == 0) {
        unsigned q = (unsigned)n / (unsigned)by;
        *rest = (unsigned)n - q * (unsigned)by;
        return q;
    }
    dense_int q = n / by;
    *rest = n - q * by;
    return q;
}

/* Of many threads one is heard. */
static __device__ inline void note_fault(dense_fault *f, int kind, int dim, dense_int value, dense_int size) {
    if (atomicCAS(&f->kind, 0, kind) != 0) return;
    f->dim = dim;
    f->value = value;
    f->size = size;
}

static __device__ elem_t *element_at(void *p, dense_int bytes) {
    return (elem_t *)((char *)p + bytes);
}

/* Where in self element i of the dense side is. */
static __device__ elem_t *blocks_at(const dense_blocks *p, dense_int i) {
    dense_int offset = 0, at, rest = i;
    for (int k = (int)p->nblock - 1; k >= 0; k--) {
        rest = split(rest, p->block[k], &at);
        offset += at * p->block_steps[k];
    }
    rest = split(rest, p->count, &at);
    offset += p->offsets[at];
    for (int k = (int)p->nfront - 1; k >= 0; k--) {
        rest = split(rest, p->front[k], &at);
        offset += at * p->front_steps[k];
    }
    return element_at(p->self, offset);
}

/* The element of self that element i of the index means, and the other one; false where it is out of bounds. */
static __device__ bool scatter_at(const dense_scatter *p, dense_int i, elem_t **self, elem_t **other) {
    dense_int line = 0, from = 0, at_index = 0, at, rest = i;
    for (int k = (int)p->ndim - 1; k >= 0; k--) {
        rest = split(rest, p->sizes[k], &at);
        line += at * p->self_steps[k];
        at_index += at * p->index_steps[k];
        from += at * p->other_steps[k];
    }
    dense_int v = p->index[at_index];
    if (v < 0 || v >= p->size) {
        note_fault(p->fault, DENSE_FAULT_INDEX, p->dim, v, p->size);
        return false;
    }
    *self = (elem_t *)p->self + line + v * p->step;
    *other = (elem_t *)p->other + from;
    return true;
}
