/* SPDX-License-Identifier: Apache-2.0 */
/*
 * winograd_vector.c - the transforms of winograd.h for processors with AVX2 and FMA, and
 * for those with AVX-512F.
 * Tests: tests/unit/test_conv_last.c
 */
#include "cpu/conv/winograd.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

static inline TARGET_AVX2 __m256 winograd_part(const float *p, int64_t n) {
    return _mm256_maskload_ps(p, _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n),
                                                    _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)));
}

/* Masked stores are slow on many of these processors. */
static inline TARGET_AVX2 void winograd_put(float *p, __m256 v, int64_t n) {
    float all[8];
    _mm256_storeu_ps(all, v);
    memcpy(p, all, (size_t)n * sizeof *p);
}

#if ISA_BUILDS(AVX2)
#define V __m256
#define LANES 8
#define NAME(x) winograd_avx2_##x
#define TARGET TARGET_AVX2
#define VLOAD _mm256_loadu_ps
#define VSTORE _mm256_storeu_ps
#define VLOAD_PART winograd_part
#define VSTORE_PART winograd_put
#define SET1 _mm256_set1_ps
#define ADD _mm256_add_ps
#define SUB _mm256_sub_ps
#define FMA _mm256_fmadd_ps
#define FNMA _mm256_fnmadd_ps
#define MUL _mm256_mul_ps
#define MAX _mm256_max_ps
#define MIN _mm256_min_ps
#define ZERO _mm256_setzero_ps
#define KERNELS const winograd_kernels winograd_avx2
#define KERNELS_HEAD ISA_AVX2
#include "cpu/conv/winograd_tile.h"
#endif

#if ISA_BUILDS(AVX512)
#define V __m512
#define LANES 16
#define NAME(x) winograd_avx512_##x
#define TARGET TARGET_AVX512
#define VLOAD _mm512_loadu_ps
#define VSTORE _mm512_storeu_ps
#define VLOAD_PART(p, n) _mm512_maskz_loadu_ps((__mmask16)((1u << (n)) - 1), p)
#define VSTORE_PART(p, v, n) _mm512_mask_storeu_ps(p, (__mmask16)((1u << (n)) - 1), v)
#define SET1 _mm512_set1_ps
#define ADD _mm512_add_ps
#define SUB _mm512_sub_ps
#define FMA _mm512_fmadd_ps
#define FNMA _mm512_fnmadd_ps
#define MUL _mm512_mul_ps
#define MAX _mm512_max_ps
#define MIN _mm512_min_ps
#define ZERO _mm512_setzero_ps
#define KERNELS const winograd_kernels winograd_avx512
#define KERNELS_HEAD ISA_AVX512
#include "cpu/conv/winograd_tile.h"
#endif

#endif
