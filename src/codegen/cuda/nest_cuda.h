/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nest_cuda.h - what kernels printed by cuda_emit.c call, beside the operators of
 * ir/scalar/scalar_ops.h. C++ for NVRTC, and for the host's compiler with tests/cuda/shim.h, which
 * runs the general forms.
 *
 * Arithmetic: products of floats that no sum may absorb (nest_mul), integers that wrap, minmaxes
 * that keep a NaN.
 * Memory: reads past the first-level cache's coherence, 16 bytes at a time where addresses allow.
 * Cooperative groups: a cooperative group is 2 to 32 neighbouring lanes of a warp, or a block. All
 * its threads call these together and all get the result. Values are added in an order that depends
 * on the cooperative group's size alone.
 * Tests: tests/unit/test_cuda_emit.c
 */
#ifndef CTSC_CODEGEN_CUDA_NEST_CUDA_H
#define CTSC_CODEGEN_CUDA_NEST_CUDA_H

#include "codegen/cuda/nest_convert.h"

#define NEST_FN template <typename T> static __device__ __forceinline__

/* ---- arithmetic ------------------------------------------------------------------------------ */

NEST_FN T nest_add(T a, T b) { return (T)((uint64_t)a + (uint64_t)b); }
static __device__ __forceinline__ float nest_add(float a, float b) { return a + b; }
static __device__ __forceinline__ double nest_add(double a, double b) { return a + b; }
NEST_FN T nest_sub(T a, T b) { return (T)((uint64_t)a - (uint64_t)b); }
NEST_FN T nest_mul(T a, T b) { return (T)((uint64_t)a * (uint64_t)b); }
#ifdef __CUDACC_RTC__
static __device__ __forceinline__ float nest_mul(float a, float b) { return __fmul_rn(a, b); }
static __device__ __forceinline__ double nest_mul(double a, double b) { return __dmul_rn(a, b); }
#else
static __device__ __forceinline__ float nest_mul(float a, float b) { return a * b; }
static __device__ __forceinline__ double nest_mul(double a, double b) { return a * b; }
#endif

/* Of numbers that are not negative: unsigned division is the shorter one. */
NEST_FN T nest_div(T a, T b) {
    return sizeof(T) > 4 ? (T)((uint64_t)a / (uint64_t)b) : (T)((uint32_t)a / (uint32_t)b);
}
NEST_FN T nest_mod(T a, T b) {
    return sizeof(T) > 4 ? (T)((uint64_t)a % (uint64_t)b) : (T)((uint32_t)a % (uint32_t)b);
}

NEST_FN T nest_min(T a, T b) { return a != a || a < b ? a : b; }
NEST_FN T nest_max(T a, T b) { return a != a || a > b ? a : b; }
#if defined(__CUDACC_RTC__) && __CUDA_ARCH__ >= 800
static __device__ __forceinline__ float nest_min(float a, float b) {
    float r;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
    return r;
}
static __device__ __forceinline__ float nest_max(float a, float b) {
    float r;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
    return r;
}
#endif

/* ---- memory ---------------------------------------------------------------------------------- */

/* N neighbours that are read and written at once. */
template <typename T, int N> struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) nest_pack {
    T v[N];
};

/* Are packs at p aligned for their type? */
template <int N, typename T> static __device__ __forceinline__ bool nest_fits_pack(const T *p) {
    return (uint64_t)p % alignof(nest_pack<T, N>) == 0;
}
template <int N, typename T>
static __device__ __forceinline__ nest_pack<T, N> nest_read_pack(const T *p) {
    return *(const nest_pack<T, N> *)p;
}
template <int N, typename T>
static __device__ __forceinline__ void nest_write_pack(T *p, const nest_pack<T, N> &pack) {
    *(nest_pack<T, N> *)p = pack;
}

/* Of memory that nothing writes while the kernel runs. */
#ifdef __CUDACC_RTC__
NEST_FN T nest_fetch(const T *p) { return __ldg(p); }
static __device__ __forceinline__ int64_t nest_fetch(const int64_t *p) { return __ldg(p); }
template <int N, typename T>
static __device__ __forceinline__ nest_pack<T, N> nest_fetch_pack(const T *p) {
    union {
        nest_pack<T, N> pack;
        uint4 quads[sizeof(T) * N / 16 + 1];
        uint2 pair;
        uint32_t word;
    } u;
    if (sizeof(T) * N == 4) u.word = __ldg((const uint32_t *)p);
    if (sizeof(T) * N == 8) u.pair = __ldg((const uint2 *)p);
    for (int i = 0; i < (int)(sizeof(T) * N / 16); i++) u.quads[i] = __ldg((const uint4 *)p + i);
    return u.pack;
}
#else
NEST_FN T nest_fetch(const T *p) { return *p; }
template <int N, typename T>
static __device__ __forceinline__ nest_pack<T, N> nest_fetch_pack(const T *p) {
    return nest_read_pack<N>(p);
}
#endif

/* ---- cooperative groups ---------------------------------------------------------------------- */

/* The threads of the caller's warp that are in its cooperative group. */
template <int SIZE> static __device__ __forceinline__ unsigned nest_coop_mask() {
    return SIZE >= 32 ? 0xffffffffu
                      : ((1u << (SIZE % 32)) - 1u) << (threadIdx.x % 32u / SIZE * SIZE);
}

/* What threads of the cooperative group have written is seen by all of it. */
template <int SIZE> static __device__ __forceinline__ void nest_barrier() {
    if (SIZE > 32) __syncthreads();
    else __syncwarp(nest_coop_mask<SIZE>());
}

struct nest_sum {
    NEST_FN T join(T a, T b) { return nest_add(a, b); }
};
struct nest_prod {
    NEST_FN T join(T a, T b) { return nest_mul(a, b); }
};
struct nest_least {
    NEST_FN T join(T a, T b) { return nest_min(a, b); }
};
struct nest_most {
    NEST_FN T join(T a, T b) { return nest_max(a, b); }
};

NEST_FN T nest_shuffle(unsigned mask, T x, int distance) {
    return __shfl_xor_sync(mask, x, distance);
}
static __device__ __forceinline__ bool nest_shuffle(unsigned mask, bool x, int distance) {
    return __shfl_xor_sync(mask, (int)x, distance) != 0;
}
static __device__ __forceinline__ uint8_t nest_shuffle(unsigned mask, uint8_t x, int distance) {
    return (uint8_t)__shfl_xor_sync(mask, (int)x, distance);
}
static __device__ __forceinline__ int8_t nest_shuffle(unsigned mask, int8_t x, int distance) {
    return (int8_t)__shfl_xor_sync(mask, (int)x, distance);
}
static __device__ __forceinline__ int16_t nest_shuffle(unsigned mask, int16_t x, int distance) {
    return (int16_t)__shfl_xor_sync(mask, (int)x, distance);
}

/* Each thread's x joined to one. Of a block: by warps, whose results meet in scratch (shared, 8
 * bytes per warp). */
template <int SIZE, typename OP, typename T>
static __device__ __forceinline__ T nest_join(T x, void *scratch) {
    unsigned mask = nest_coop_mask<SIZE>();
#pragma unroll
    for (int distance = (SIZE < 32 ? SIZE : 32) / 2; distance > 0; distance /= 2)
        x = OP::join(x, nest_shuffle(mask, x, distance));
    if (SIZE <= 32) return x;
    T *parts = (T *)scratch;
    if (threadIdx.x % 32u == 0) parts[threadIdx.x / 32u] = x;
    __syncthreads();
    x = parts[0];
    for (int i = 1; i < SIZE / 32; i++) x = OP::join(x, parts[i]);
    __syncthreads(); /* scratch may be written again */
    return x;
}

#endif
