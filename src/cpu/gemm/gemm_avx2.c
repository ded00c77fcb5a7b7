/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm_avx2.c - micro-kernels for processors with AVX2 and FMA.
 *
 * Tiles of 6 x 16 floats (6 x 8 doubles): 12 accumulators, two vectors of B and a
 * broadcast fill 15 of the 16 registers, and 12 chains are more than the 8 to 10 that keep
 * two units of latency 4 or 5 busy. Tiles of one vector have 12 rows for the same reason.
 * A permutation takes as long as two multiply-adds here, so the pixels of groups are
 * spread when they are copied, not once per tap. The kernels are in gemm_micro_tile.h.
 * Tests: tests/unit/test_gemm_block.c
 */
#include "cpu/gemm/gemm_micro.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

static inline TARGET_AVX2 __m256 gemm_part_float(const float *p, int64_t n) {
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_maskload_ps(p, _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), lanes));
}

/* Masked stores are slow on many of these processors. */
static inline TARGET_AVX2 void gemm_put_float(float *p, __m256 v, int64_t n) {
    float all[8];
    _mm256_storeu_ps(all, v);
    memcpy(p, all, (size_t)n * sizeof *p);
}

static inline TARGET_AVX2 void gemm_put_double(double *p, __m256d v, int64_t n) {
    double all[4];
    _mm256_storeu_pd(all, v);
    memcpy(p, all, (size_t)n * sizeof *p);
}

static inline TARGET_AVX2 __m256d gemm_part_double(const double *p, int64_t n) {
    const __m256i lanes = _mm256_setr_epi64x(0, 1, 2, 3);
    return _mm256_maskload_pd(p, _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), lanes));
}

static inline TARGET_AVX2 void gemm_sum4_float(__m256 p, __m256 q, __m256 r, __m256 s, float *to) {
    __m256 t = _mm256_hadd_ps(_mm256_hadd_ps(p, q), _mm256_hadd_ps(r, s));
    _mm_storeu_ps(to, _mm_add_ps(_mm256_castps256_ps128(t), _mm256_extractf128_ps(t, 1)));
}

static inline TARGET_AVX2 void gemm_sum4_double(__m256d p, __m256d q, __m256d r, __m256d s,
                                                double *to) {
    __m256d t = _mm256_hadd_pd(p, q), u = _mm256_hadd_pd(r, s);
    _mm256_storeu_pd(
        to, _mm256_add_pd(_mm256_permute2f128_pd(t, u, 0x20), _mm256_permute2f128_pd(t, u, 0x31)));
}

static TARGET_AVX2 void gemm_spread_float(const float *from, int64_t apart, int64_t pixels, int n,
                                          const float *scale, const int32_t *lanes, int64_t steps,
                                          float *to, int64_t pixel) {
    const __m256i first = _mm256_loadu_si256((const __m256i *)(const void *)lanes),
                  there = _mm256_cmpgt_epi32(_mm256_set1_epi32(n),
                                             _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    const __m256 by = scale ? _mm256_maskload_ps(scale, there) : _mm256_set1_ps(1);
    for (int64_t i = 0; i < pixels; i++, from += apart, to += pixel) {
        __builtin_prefetch(from + GEMM_SPREAD_PREFETCH * apart);
        __m256 v = _mm256_mul_ps(_mm256_maskload_ps(from, there), by);
        __m256i lane = first;
        for (int64_t k = 0; k < steps; k++, lane = _mm256_add_epi32(lane, _mm256_set1_epi32(1)))
            _mm256_storeu_ps(to + k * 8, _mm256_permutevar8x32_ps(v, lane));
    }
}

#define T float
#define V __m256
#define LANES 8
#define NAME(x) gemm_float_##x
#define TARGET TARGET_AVX2
#define MR 6
#define DOT_ROWS 3
#define ZERO _mm256_setzero_ps
#define VLOAD _mm256_loadu_ps
#define VSTORE _mm256_storeu_ps
#define SET1 _mm256_set1_ps
#define FMA _mm256_fmadd_ps
#define MUL _mm256_mul_ps
#define LOAD_PART gemm_part_float
#define SUM4 gemm_sum4_float
#define ADD _mm256_add_ps
#define MAX _mm256_max_ps
#define MIN _mm256_min_ps
#define STORE_PART gemm_put_float
#define SPREAD gemm_spread_float
#define MICRO const gemm_micro gemm_avx2_f32
#define MICRO_HEAD .isa = ISA_AVX2, .group_rows = 12, .kc = 384, .mc = 144, .nc = 4096
#define MICRO_TAIL .pack = gemm_pack_float, .unpack = gemm_unpack_float
#include "cpu/gemm/gemm_micro_tile.h"

#define T double
#define V __m256d
#define LANES 4
#define NAME(x) gemm_double_##x
#define TARGET TARGET_AVX2
#define MR 6
#define DOT_ROWS 3
#define ZERO _mm256_setzero_pd
#define VLOAD _mm256_loadu_pd
#define VSTORE _mm256_storeu_pd
#define SET1 _mm256_set1_pd
#define FMA _mm256_fmadd_pd
#define MUL _mm256_mul_pd
#define LOAD_PART gemm_part_double
#define STORE_PART gemm_put_double
#define SUM4 gemm_sum4_double
#define MICRO const gemm_micro gemm_avx2_f64
#define MICRO_HEAD .isa = ISA_AVX2, .group_rows = 0, .kc = 256, .mc = 120, .nc = 2048
#define MICRO_TAIL .pack = gemm_pack_double, .unpack = gemm_unpack_double
#include "cpu/gemm/gemm_micro_tile.h"

#endif
