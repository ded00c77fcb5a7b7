/* SPDX-License-Identifier: Apache-2.0 */
/*
 * widen.c - products of floats with narrower weights (widen.h), for AVX2 and AVX-512
 * and in plain C.
 * Tests: tests/unit/test_linear_half.c
 */
#include "cpu/gemm/widen.h"

#include "cpu/convert/half.h"

#if defined(__x86_64__)
#include <immintrin.h>

static inline TARGET_AVX2 __m256 widen_f16_256(const float16 *p) {
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)p));
}
static inline TARGET_AVX512 __m512 widen_f16_512(const float16 *p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)p));
}
static inline TARGET_AVX2 __m256 widen_bf16_256(const bfloat16 *p) {
    __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)p));
    return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
}
static inline TARGET_AVX512 __m512 widen_bf16_512(const bfloat16 *p) {
    __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)p));
    return _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
}

#define V __m256
#define LANES 8
#define NAME(x) f16_avx2_##x
#define TARGET TARGET_AVX2
#define MR 6
#define VECTORS 2
#define ELEMENT float16
#define WIDEN widen_f16_256
#define SET1 _mm256_set1_ps
#define ZERO _mm256_setzero_ps
#define FMA _mm256_fmadd_ps
#define ADD _mm256_add_ps
#define VLOAD _mm256_loadu_ps
#define VSTORE _mm256_storeu_ps
#include "cpu/gemm/widen_tile.h"

const widen_micro widen_f16_avx2 = {ISA_AVX2, 6, f16_avx2_tile};

#define V __m512
#define LANES 16
#define NAME(x) f16_avx512_##x
#define TARGET TARGET_AVX512
#define MR 6
#define VECTORS 4
#define ELEMENT float16
#define WIDEN widen_f16_512
#define SET1 _mm512_set1_ps
#define ZERO _mm512_setzero_ps
#define FMA _mm512_fmadd_ps
#define ADD _mm512_add_ps
#define VLOAD _mm512_loadu_ps
#define VSTORE _mm512_storeu_ps
#include "cpu/gemm/widen_tile.h"

const widen_micro widen_f16_avx512 = {ISA_AVX512, 6, f16_avx512_tile};

#define V __m256
#define LANES 8
#define NAME(x) bf16_avx2_##x
#define TARGET TARGET_AVX2
#define MR 6
#define VECTORS 2
#define ELEMENT bfloat16
#define WIDEN widen_bf16_256
#define SET1 _mm256_set1_ps
#define ZERO _mm256_setzero_ps
#define FMA _mm256_fmadd_ps
#define ADD _mm256_add_ps
#define VLOAD _mm256_loadu_ps
#define VSTORE _mm256_storeu_ps
#include "cpu/gemm/widen_tile.h"

const widen_micro widen_bf16_avx2 = {ISA_AVX2, 6, bf16_avx2_tile};

#define V __m512
#define LANES 16
#define NAME(x) bf16_avx512_##x
#define TARGET TARGET_AVX512
#define MR 6
#define VECTORS 4
#define ELEMENT bfloat16
#define WIDEN widen_bf16_512
#define SET1 _mm512_set1_ps
#define ZERO _mm512_setzero_ps
#define FMA _mm512_fmadd_ps
#define ADD _mm512_add_ps
#define VLOAD _mm512_loadu_ps
#define VSTORE _mm512_storeu_ps
#include "cpu/gemm/widen_tile.h"

const widen_micro widen_bf16_avx512 = {ISA_AVX512, 6, bf16_avx512_tile};
#endif

/* ---- plain C --------------------------------------------------------------------------------- */

#define PLAIN(kind, ELEMENT, widen)                                                                \
    static void kind##_plain_tile(int rows, const widen_tile *t) {                                 \
        const ELEMENT *b = t->b;                                                                   \
        for (int r = 0; r < rows; r++) {                                                           \
            float sums[WIDEN_COLUMNS] = {0};                                                       \
            for (int64_t k = 0; k < t->k; k++)                                                     \
                for (int c = 0; c < t->cols; c++)                                                  \
                    sums[c] += t->x[r * t->ldx + k] * widen(b[k * WIDEN_COLUMNS + c]);             \
            for (int c = 0; c < t->cols; c++)                                                      \
                t->out[r * t->ldc + c] = sums[c] * t->scale[c] + t->bias[c];                       \
        }                                                                                          \
    }                                                                                              \
    const widen_micro widen_##kind##_plain = {ISA_PLAIN, 1, kind##_plain_tile};
PLAIN(f16, float16, float16_to_float)
PLAIN(bf16, bfloat16, bfloat16_to_float)
