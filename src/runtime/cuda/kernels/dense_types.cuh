/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dense_types.cuh - element types, and where elements are, in front of every program of kernels/. The host defines ELEMENT, the type in memory, COMPUTE, what it is computed
 * in, ELEMENT_IS_INT and ELEMENT_BYTES (dense_defines).
 */
#include "codegen/cuda/nest_convert.h"

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

/* An element as a number to compute with, and back. */
static __device__ inline float load(f16 v) {
    return nest_load_f16(v.bits);
}
static __device__ inline float load(bf16 v) {
    return nest_load_bf16(v.bits);
}
template <class A> static __device__ inline A load(A v) {
    return v;
}
template <class V> static __device__ inline void store(f16 *p, V v) {
    p->bits = nest_store_f16((float)v);
}
template <class V> static __device__ inline void store(bf16 *p, V v) {
    p->bits = nest_store_bf16((float)v);
}
template <class A, class V> static __device__ inline void store(A *p, V v) {
    *p = (A)v;
}

/* The words of files that the host reads as well (runtime/kernels/engine/each_real.h). */
#define REAL          acc_t
#define ELEM          elem_t
#define REAL_FN(name) name
#define MATH(name)    name
#define LOAD(v)       load(v)
#define STORE(p, v)   store(p, v)

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

/* ---- what is done to sums (dense_epilogue) ---- */

static __device__ inline float activate(float v, int activation) {
    return activation == DENSE_RELU ? scalar_relu_f32(v) : activation == DENSE_GELU ? scalar_gelu_f32(v) : scalar_gelu_tanh_f32(v);
}
static __device__ inline double activate(double v, int activation) {
    return activation == DENSE_RELU ? scalar_relu_f64(v) : activation == DENSE_GELU ? scalar_gelu_f64(v) : scalar_gelu_tanh_f64(v);
}
template <class A> static __device__ inline A activate(A v, int) { /* of integers: none */
    return v;
}

/* place: where the element is stored; along: its column or channel. */
template <class A> static __device__ inline A epilogue(const dense_epilogue *e, A sum, dense_int place, dense_int along) {
    if (e->bias) sum += (A)load(((const elem_t *)e->bias)[along]);
    if (e->other) sum += (A)load(((const elem_t *)e->other)[place]);
    return e->activation == DENSE_PLAIN ? sum : activate(sum, e->activation);
}

/* ---- where elements are ---- */

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
