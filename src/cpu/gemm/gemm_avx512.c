/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm_avx512.c - micro-kernels for processors with AVX-512F.
 *
 * Tiles of 14 x 32 floats (14 x 16 doubles): 28 accumulators, two vectors of B and a broadcast fill
 * 31 of the 32 registers. The kernels are in gemm_micro_tile.h; tests/unit/test_gemm_block.c runs
 * the same text with pairs of smaller vectors on processors that lack these.
 * Tests: tests/unit/test_gemm_block.c
 */
#include "cpu/gemm/gemm_micro.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

static inline TARGET_AVX512 __m512 gemm_part_float(const float *p, int64_t n) {
    return _mm512_maskz_loadu_ps((__mmask16)((1u << n) - 1), p);
}

static inline TARGET_AVX512 void gemm_put_float(float *p, __m512 v, int64_t n) {
    _mm512_mask_storeu_ps(p, (__mmask16)((1u << n) - 1), v);
}

static inline TARGET_AVX512 void gemm_put_double(double *p, __m512d v, int64_t n) {
    _mm512_mask_storeu_pd(p, (__mmask8)((1u << n) - 1), v);
}

static inline TARGET_AVX512 __m512d gemm_part_double(const double *p, int64_t n) {
    return _mm512_maskz_loadu_pd((__mmask8)((1u << n) - 1), p);
}

/* Sums of the two halves. */
static inline TARGET_AVX512 __m256 gemm_half_float(__m512 v) {
    return _mm256_add_ps(_mm512_castps512_ps256(v),
                         _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(v), 1)));
}

static inline TARGET_AVX512 __m256d gemm_half_double(__m512d v) {
    return _mm256_add_pd(_mm512_castpd512_pd256(v), _mm512_extractf64x4_pd(v, 1));
}

static inline TARGET_AVX512 void gemm_sum4_float(__m512 p, __m512 q, __m512 r, __m512 s,
                                                 float *to) {
    __m256 t = _mm256_hadd_ps(_mm256_hadd_ps(gemm_half_float(p), gemm_half_float(q)),
                              _mm256_hadd_ps(gemm_half_float(r), gemm_half_float(s)));
    _mm_storeu_ps(to, _mm_add_ps(_mm256_castps256_ps128(t), _mm256_extractf128_ps(t, 1)));
}

static inline TARGET_AVX512 void gemm_sum4_double(__m512d p, __m512d q, __m512d r, __m512d s,
                                                  double *to) {
    __m256d t = _mm256_hadd_pd(gemm_half_double(p), gemm_half_double(q));
    __m256d u = _mm256_hadd_pd(gemm_half_double(r), gemm_half_double(s));
    _mm256_storeu_pd(
        to, _mm256_add_pd(_mm256_permute2f128_pd(t, u, 0x20), _mm256_permute2f128_pd(t, u, 0x31)));
}

#define T float
#define V __m512
#define LANES 16
#define NAME(x) gemm_float_##x
#define TARGET TARGET_AVX512
#define MR 14
#define DOT_ROWS 6
#define ZERO _mm512_setzero_ps
#define VLOAD _mm512_loadu_ps
#define VSTORE _mm512_storeu_ps
#define SET1 _mm512_set1_ps
#define FMA _mm512_fmadd_ps
#define MUL _mm512_mul_ps
#define LOAD_PART gemm_part_float
#define SUM4 gemm_sum4_float
#define ADD _mm512_add_ps
#define MAX _mm512_max_ps
#define MIN _mm512_min_ps
#define STORE_PART gemm_put_float
#define INDEX __m512i
#define INDEX_LOAD(p) _mm512_loadu_si512(p)
#define INDEX_NEXT(v) _mm512_add_epi32(v, _mm512_set1_epi32(1))
#define PERMUTE(v, i) _mm512_permutexvar_ps(i, v)
#define MICRO const gemm_micro gemm_avx512_f32
#define MICRO_HEAD .isa = ISA_AVX512, .group_rows = 14, .kc = 256, .mc = 280, .nc = 4096
#define MICRO_TAIL .pack = gemm_pack_float, .unpack = gemm_unpack_float
#include "cpu/gemm/gemm_micro_tile.h"

#define T double
#define V __m512d
#define LANES 8
#define NAME(x) gemm_double_##x
#define TARGET TARGET_AVX512
#define MR 14
#define DOT_ROWS 6
#define ZERO _mm512_setzero_pd
#define VLOAD _mm512_loadu_pd
#define VSTORE _mm512_storeu_pd
#define SET1 _mm512_set1_pd
#define FMA _mm512_fmadd_pd
#define MUL _mm512_mul_pd
#define LOAD_PART gemm_part_double
#define STORE_PART gemm_put_double
#define SUM4 gemm_sum4_double
#define MICRO const gemm_micro gemm_avx512_f64
#define MICRO_HEAD .isa = ISA_AVX512, .group_rows = 0, .kc = 256, .mc = 140, .nc = 2048
#define MICRO_TAIL .pack = gemm_pack_double, .unpack = gemm_unpack_double
#include "cpu/gemm/gemm_micro_tile.h"

#endif
