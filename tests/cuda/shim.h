/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shim.h - CUDA's words for a C++ compiler of the host, so that generated kernels run on any
 * machine (tests/cuda/sim/).
 *
 * It precedes a kernel's text. What a kernel can see of its position and its
 * neighbours comes from sim_self, which the simulator keeps: threads of a
 * block run in turns on one thread of the host, and change places only inside
 * the functions that sim_self points to. So atomic operations are plain ones.
 *
 * __global__ and __shared__ are left unchanged: the simulator replaces
 * them after preprocessing (sim/compile.c), because it has to know the
 * kernels' names, and shared memory is in a separate section.
 *
 * __CUDACC__ is defined, as by CUDA's compilers; __CUDACC_RTC__ is not, so PTX in asm() belongs
 * under #ifdef __CUDACC_RTC__.
 */
#ifndef CTSC_TESTS_CUDA_SHIM_H
#define CTSC_TESTS_CUDA_SHIM_H

/* ---- the simulator's side -------------------------------------------------------------------- */

struct dim3 {
    unsigned x, y, z;
};

enum sim_collective {
    SIM_SYNCWARP,
    SIM_SHUFFLE,
    SIM_SHUFFLE_UP,
    SIM_SHUFFLE_DOWN,
    SIM_SHUFFLE_XOR,
    SIM_BALLOT
};

struct sim_state {
    struct dim3 thread, block, block_size, grid;
    /* Waits for the block; how many of its threads came with a value that is not 0. */
    int (*barrier)(int line, int value);
    /* Waits for the lanes in mask. lane: whose value, or by how much; among `width` neighbours. */
    unsigned long long (*collective)(enum sim_collective kind, unsigned mask,
                                     unsigned long long value, int lane, int width);
    unsigned (*active)(void);
    /* of instrumented code, before each */
    void (*access)(const void *p, unsigned nbytes, int write);
    void (*trap)(const char *why);
};

/* A kernel as the simulator calls it: with the bytes of its parameters. */
struct sim_kernel {
    const char *name;
    void (*call)(const char *params);
    unsigned long params;
};

enum { SIM_DYNAMIC_SHARED = 232448 }; /* most that a block of an H100 can have */

/* What an image exports, as sim_image. */
struct sim_image {
    const struct sim_kernel *kernels;
    unsigned long nkernels;
    struct sim_state *state;
    char *shared, *shared_end; /* what __shared__ declares */
    char *dynamic;             /* SIM_DYNAMIC_SHARED bytes */
};

#ifdef __cplusplus

static struct sim_state sim_self;

/* ---- words ----------------------------------------------------------------------------------- */

#define __CUDACC__ 1
#define __CUDA_ARCH__ (10 * SIM_ARCH)
#define __device__
#define __host__
#define __constant__
#define __grid_constant__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...)
#define __builtin_assume(x)

#define threadIdx (sim_self.thread)
#define blockIdx (sim_self.block)
#define blockDim (sim_self.block_size)
#define gridDim (sim_self.grid)
#define warpSize 32

typedef decltype(sizeof 0) size_t;

/* ---- vectors --------------------------------------------------------------------------------- */

#define SIM_VECTORS(T, name, a2, a4)                                                               \
    struct __attribute__((aligned(a2))) name##2 { T x, y; };                                       \
    struct name##3 { T x, y, z; };                                                                 \
    struct __attribute__((aligned(a4))) name##4 { T x, y, z, w; };                                 \
    static inline name##2 make_##name##2(T x, T y) { return {x, y}; }                              \
    static inline name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; }                      \
    static inline name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
SIM_VECTORS(signed char, char, 2, 4)
SIM_VECTORS(unsigned char, uchar, 2, 4)
SIM_VECTORS(short, short, 4, 8)
SIM_VECTORS(unsigned short, ushort, 4, 8)
SIM_VECTORS(int, int, 8, 16)
SIM_VECTORS(unsigned, uint, 8, 16)
SIM_VECTORS(long long, longlong, 16, 16)
SIM_VECTORS(unsigned long long, ulonglong, 16, 16)
SIM_VECTORS(float, float, 8, 16)
SIM_VECTORS(double, double, 16, 16)

/* ---- threads that meet ----------------------------------------------------------------------- */

#define __syncthreads() ((void)sim_self.barrier(__LINE__, 0))
#define __syncthreads_count(p) (sim_self.barrier(__LINE__, (p) != 0))
#define __syncthreads_or(p) (sim_self.barrier(__LINE__, (p) != 0) != 0)
#define __syncthreads_and(p) (sim_self.barrier(__LINE__, (p) == 0) == 0)

template <class T>
static inline T sim_shuffle(sim_collective kind, unsigned mask, T value, int lane, int width) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "shuffles move 4 or 8 bytes");
    unsigned long long bits = 0;
    __builtin_memcpy(&bits, &value, sizeof value);
    bits = sim_self.collective(kind, mask, bits, lane, width);
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}
template <class T> static inline T __shfl_sync(unsigned mask, T value, int lane, int width = 32) {
    return sim_shuffle(SIM_SHUFFLE, mask, value, lane, width);
}
template <class T>
static inline T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = 32) {
    return sim_shuffle(SIM_SHUFFLE_UP, mask, value, (int)by, width);
}
template <class T>
static inline T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = 32) {
    return sim_shuffle(SIM_SHUFFLE_DOWN, mask, value, (int)by, width);
}
template <class T> static inline T __shfl_xor_sync(unsigned mask, T value, int by, int width = 32) {
    return sim_shuffle(SIM_SHUFFLE_XOR, mask, value, by, width);
}
static inline void __syncwarp(unsigned mask = 0xffffffffu) {
    sim_self.collective(SIM_SYNCWARP, mask, 0, 0, 32);
}
static inline unsigned __ballot_sync(unsigned mask, int predicate) {
    return (unsigned)sim_self.collective(SIM_BALLOT, mask, predicate != 0, 0, 32);
}
static inline int __any_sync(unsigned mask, int predicate) {
    return __ballot_sync(mask, predicate) != 0;
}
static inline int __all_sync(unsigned mask, int predicate) {
    return __ballot_sync(mask, !predicate) == 0;
}
static inline unsigned __activemask() { return sim_self.active(); }
static inline void __threadfence() {}
static inline void __threadfence_block() {}
static inline void __trap() { sim_self.trap("__trap"); }

/* ---- memory ---------------------------------------------------------------------------------- */

template <class T> static inline T __ldg(const T *p) { return *p; }
template <class T> static inline T __ldcg(const T *p) { return *p; }
template <class T> static inline T __ldcs(const T *p) { return *p; }
template <class T> static inline void __stcs(T *p, T v) { *p = v; }
template <class T> static inline void __stcg(T *p, T v) { *p = v; }

/* What is atomic is no race: the accesses in there are not looked at. */
#ifdef SIM_RACES
#define SIM_PLAIN __attribute__((no_sanitize_thread, noinline))
#else
#define SIM_PLAIN inline
#endif
template <class T> struct sim_same { typedef T type; };
#define SIM_ATOMIC(name, result)                                                                   \
    template <class T> static SIM_PLAIN T name(T *p, typename sim_same<T>::type v) {               \
        T old = *p;                                                                                \
        *p = (T)(result);                                                                          \
        return old;                                                                                \
    }
SIM_ATOMIC(atomicAdd, old + v)
SIM_ATOMIC(atomicSub, old - v)
SIM_ATOMIC(atomicExch, v)
SIM_ATOMIC(atomicMin, v < old ? v : old)
SIM_ATOMIC(atomicMax, old < v ? v : old)
SIM_ATOMIC(atomicAnd, old &v)
SIM_ATOMIC(atomicOr, old | v)
SIM_ATOMIC(atomicXor, old ^ v)
SIM_ATOMIC(atomicInc, old >= v ? 0 : old + 1)
SIM_ATOMIC(atomicDec, old == 0 || old > v ? v : old - 1)
template <class T>
static SIM_PLAIN T atomicCAS(T *p, typename sim_same<T>::type expected,
                             typename sim_same<T>::type v) {
    T old = *p;
    if (old == expected) *p = v;
    return old;
}

/* ---- bits ------------------------------------------------------------------------------------ */

#define SIM_BITS(name, To, From)                                                                   \
    static inline To name(From x) {                                                                \
        To to;                                                                                     \
        __builtin_memcpy(&to, &x, sizeof to);                                                      \
        return to;                                                                                 \
    }
SIM_BITS(__float_as_int, int, float)
SIM_BITS(__float_as_uint, unsigned, float)
SIM_BITS(__int_as_float, float, int)
SIM_BITS(__uint_as_float, float, unsigned)
SIM_BITS(__double_as_longlong, long long, double)
SIM_BITS(__longlong_as_double, double, long long)

static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static inline int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
static inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline int __ffsll(long long x) { return __builtin_ffsll(x); }
static inline unsigned __brev(unsigned x) {
    unsigned y = 0;
    for (int i = 0; i < 32; i++) y |= (x >> i & 1u) << (31 - i);
    return y;
}
static inline int __mulhi(int a, int b) { return (int)((long long)a * b >> 32); }
static inline unsigned __umulhi(unsigned a, unsigned b) {
    return (unsigned)((unsigned long long)a * b >> 32);
}
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* clang-format off */
#define SIM_MATH1(F) F(acos) F(acosh) F(asin) F(asinh) F(atan) F(atanh) F(cbrt) F(ceil) F(cos) F(cosh) F(erf) F(erfc) F(exp) F(exp10) F(exp2) \
    F(expm1) F(fabs) F(floor) F(lgamma) F(log) F(log10) F(log1p) F(log2) F(logb) F(nearbyint) F(rint) F(round) F(sin) F(sinh) F(sqrt) \
    F(tan) F(tanh) F(tgamma) F(trunc) F(j0) F(j1) F(y0) F(y1)
/* clang-format on */
#define SIM_MATH2(F)                                                                               \
    F(atan2) F(copysign) F(fdim) F(fmax) F(fmin) F(fmod) F(hypot) F(nextafter) F(pow) F(remainder)
#define SIM_DECLARE1(name)                                                                         \
    double name(double) noexcept;                                                                  \
    float name##f(float) noexcept;
#define SIM_DECLARE2(name)                                                                         \
    double name(double, double) noexcept;                                                          \
    float name##f(float, float) noexcept;
extern "C" {
SIM_MATH1(SIM_DECLARE1)
SIM_MATH2(SIM_DECLARE2)
double fma(double, double, double) noexcept;
float fmaf(float, float, float) noexcept;
double ldexp(double, int) noexcept;
float ldexpf(float, int) noexcept;
double frexp(double, int *) noexcept;
float frexpf(float, int *) noexcept;
double modf(double, double *) noexcept;
float modff(float, float *) noexcept;
long lrint(double) noexcept;
long lrintf(float) noexcept;
long long llrint(double) noexcept;
long long llrintf(float) noexcept;
long long llabs(long long) noexcept;
int abs(int) noexcept;
void *memcpy(void *, const void *, size_t) noexcept;
void *memset(void *, int, size_t) noexcept;
}
#define SIM_FLOAT1(name)                                                                           \
    static inline float name(float x) { return name##f(x); }
#define SIM_FLOAT2(name)                                                                           \
    static inline float name(float x, float y) { return name##f(x, y); }
SIM_MATH1(SIM_FLOAT1)
SIM_MATH2(SIM_FLOAT2)
static inline float fma(float x, float y, float z) { return fmaf(x, y, z); }
static inline float abs(float x) { return fabsf(x); }
static inline double abs(double x) { return fabs(x); }
static inline long long abs(long long x) { return llabs(x); }

static inline double rsqrt(double x) { return 1 / sqrt(x); }
static inline float rsqrtf(float x) { return 1 / sqrtf(x); }
static inline float rsqrt(float x) { return rsqrtf(x); }
static inline float __expf(float x) { return expf(x); }
static inline float __exp10f(float x) { return exp10f(x); }
static inline float __logf(float x) { return logf(x); }
static inline float __log2f(float x) { return log2f(x); }
static inline float __sinf(float x) { return sinf(x); }
static inline float __cosf(float x) { return cosf(x); }
static inline float __powf(float x, float y) { return powf(x, y); }
static inline float __fdividef(float x, float y) { return x / y; }
static inline float __saturatef(float x) { return x > 0 ? x < 1 ? x : 1 : 0; }
static inline float __fadd_rn(float x, float y) { return x + y; }
static inline float __fsub_rn(float x, float y) { return x - y; }
static inline float __fmul_rn(float x, float y) { return x * y; }
static inline float __fdiv_rn(float x, float y) { return x / y; }
static inline float __fsqrt_rn(float x) { return sqrtf(x); }
static inline float __frcp_rn(float x) { return 1 / x; }
static inline float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }
static inline double __dadd_rn(double x, double y) { return x + y; }
static inline double __dsub_rn(double x, double y) { return x - y; }
static inline double __dmul_rn(double x, double y) { return x * y; }
static inline double __fma_rn(double x, double y, double z) { return fma(x, y, z); }
static inline int __float2int_rn(float x) { return (int)rintf(x); }
static inline int __float2int_rz(float x) { return (int)x; }
static inline float __int2float_rn(int x) { return (float)x; }

static inline bool isnan(float x) { return __builtin_isnan(x); }
static inline bool isnan(double x) { return __builtin_isnan(x); }
static inline bool isinf(float x) { return __builtin_isinf(x); }
static inline bool isinf(double x) { return __builtin_isinf(x); }
static inline bool isfinite(float x) { return __builtin_isfinite(x); }
static inline bool isfinite(double x) { return __builtin_isfinite(x); }
static inline bool signbit(float x) { return __builtin_signbit(x); }
static inline bool signbit(double x) { return __builtin_signbit(x); }

#define SIM_MIN_MAX(T)                                                                             \
    static inline T min(T a, T b) { return b < a ? b : a; }                                        \
    static inline T max(T a, T b) { return a < b ? b : a; }
SIM_MIN_MAX(int)
SIM_MIN_MAX(unsigned)
SIM_MIN_MAX(long)
SIM_MIN_MAX(unsigned long)
SIM_MIN_MAX(long long)
SIM_MIN_MAX(unsigned long long)
static inline float min(float a, float b) { return fminf(a, b); }
static inline float max(float a, float b) { return fmaxf(a, b); }
static inline double min(double a, double b) { return fmin(a, b); }
static inline double max(double a, double b) { return fmax(a, b); }

/* ---- instrumented code ----------------------------------------------------------------------- */

#ifdef SIM_RACES
/* What -fsanitize=thread calls. */
extern "C" {
#define SIM_ACCESS(name, size)                                                                     \
    SIM_PLAIN void __tsan_read##name(void *p) { sim_self.access(p, size, 0); }                     \
    SIM_PLAIN void __tsan_write##name(void *p) { sim_self.access(p, size, 1); }                    \
    SIM_PLAIN void __tsan_unaligned_read##name(void *p) { sim_self.access(p, size, 0); }           \
    SIM_PLAIN void __tsan_unaligned_write##name(void *p) { sim_self.access(p, size, 1); }
SIM_ACCESS(1, 1)
SIM_ACCESS(2, 2)
SIM_ACCESS(4, 4)
SIM_ACCESS(8, 8)
SIM_ACCESS(16, 16)
SIM_PLAIN void __tsan_read_range(void *p, size_t n) { sim_self.access(p, (unsigned)n, 0); }
SIM_PLAIN void __tsan_write_range(void *p, size_t n) { sim_self.access(p, (unsigned)n, 1); }
SIM_PLAIN void __tsan_func_entry(void *) {}
SIM_PLAIN void __tsan_func_exit(void) {}
SIM_PLAIN void __tsan_init(void) {}
}
#endif

/* ---- calls of kernels ------------------------------------------------------------------------ */

template <class T> static inline T sim_parameter(const char *params, size_t &at) {
    T x;
    at = (at + alignof(T) - 1) / alignof(T) * alignof(T);
    __builtin_memcpy(&x, params + at, sizeof x);
    at += sizeof x;
    return x;
}
template <class... T> struct sim_call {
    /* Its arguments are evaluated from left to right, as braces promise. */
    sim_call(void (*kernel)(T...), T... x) { kernel(x...); }
};
template <class> struct sim_signature;
template <class... T> struct sim_signature<void(T...)> {
    static constexpr size_t size() {
        size_t at = 0;
        ((at = (at + alignof(T) - 1) / alignof(T) * alignof(T) + sizeof(T)), ...);
        return at;
    }
    template <void (*kernel)(T...)> static void call(const char *params) {
        size_t at = 0;
        sim_call<T...>{kernel, sim_parameter<T>(params, at)...};
        (void)at;
    }
};

#endif
#endif
