/* SPDX-License-Identifier: Apache-2.0 */
/*
 * activation_vector.c - the activations of activation.h for processors with AVX2 and FMA, and for
 * those with AVX-512F.
 * Tests: tests/unit/test_epilogue.c
 */
#include "cpu/rows/activation.h"

#if defined(__x86_64__)
#include <immintrin.h>

static inline TARGET_AVX2 __m256i activation_lanes(int64_t n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

static inline TARGET_AVX512 __mmask16 activation_mask(int64_t n) {
    return (__mmask16)((1u << n) - 1);
}

#if ISA_BUILDS(AVX2)
#define V __m256
#define I __m256i
#define LANES 8
#define NAME(x) activation_avx2_##x
#define TARGET TARGET_AVX2
#define LOAD _mm256_loadu_ps
#define STORE _mm256_storeu_ps
#define SET1 _mm256_set1_ps
#define ADD _mm256_add_ps
#define SUB _mm256_sub_ps
#define MUL _mm256_mul_ps
#define DIV _mm256_div_ps
#define FMA _mm256_fmadd_ps
#define FNMA _mm256_fnmadd_ps
#define ABS(x) _mm256_andnot_ps(_mm256_set1_ps(-0.0f), x)
#define MAX _mm256_max_ps
#define MIN _mm256_min_ps
#define BELOW(x, y, a, b) _mm256_blendv_ps(b, a, _mm256_cmp_ps(x, y, _CMP_LT_OQ))
#define BITS _mm256_castps_si256
#define FLOATS _mm256_castsi256_ps
#define SHIFT_LEFT _mm256_slli_epi32
#define SHIFT_RIGHT _mm256_srli_epi32
#define SUB_INT _mm256_sub_epi32
#define LOAD_PART(p, n) _mm256_maskload_ps(p, activation_lanes(n))
#define STORE_PART(p, v, n) _mm256_maskstore_ps(p, activation_lanes(n), v)
#define KERNELS const activation_kernels activation_avx2
#define KERNELS_HEAD ISA_AVX2
#include "cpu/rows/activation_tile.h"
#endif

#if ISA_BUILDS(AVX512)
#define V __m512
#define I __m512i
#define LANES 16
#define NAME(x) activation_avx512_##x
#define TARGET TARGET_AVX512
#define LOAD _mm512_loadu_ps
#define STORE _mm512_storeu_ps
#define SET1 _mm512_set1_ps
#define ADD _mm512_add_ps
#define SUB _mm512_sub_ps
#define MUL _mm512_mul_ps
#define DIV _mm512_div_ps
#define FMA _mm512_fmadd_ps
#define FNMA _mm512_fnmadd_ps
#define ABS _mm512_abs_ps
#define MAX _mm512_max_ps
#define MIN _mm512_min_ps
#define BELOW(x, y, a, b) _mm512_mask_blend_ps(_mm512_cmp_ps_mask(x, y, _CMP_LT_OQ), b, a)
#define BITS _mm512_castps_si512
#define FLOATS _mm512_castsi512_ps
#define SHIFT_LEFT _mm512_slli_epi32
#define SHIFT_RIGHT _mm512_srli_epi32
#define SUB_INT _mm512_sub_epi32
#define LOAD_PART(p, n) _mm512_maskz_loadu_ps(activation_mask(n), p)
#define STORE_PART(p, v, n) _mm512_mask_storeu_ps(p, activation_mask(n), v)
#define KERNELS const activation_kernels activation_avx512
#define KERNELS_HEAD ISA_AVX512
#include "cpu/rows/activation_tile.h"
#endif

#endif
