/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sparse_vector.c - products with sparse matrices (sparse.h), for AVX2 and, of floats, AVX-512.
 * Tests: tests/unit/test_sparse.c
 */
#include "cpu/gemm/sparse.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define V __m256
#define LANES 8
#define ELEMENT float
#define NAME(x) sparse_f32_avx2_##x
#define TARGET TARGET_AVX2
#define SET1 _mm256_set1_ps
#define ZERO _mm256_setzero_ps
#define FMA _mm256_fmadd_ps
#define ADD _mm256_add_ps
#define VLOAD _mm256_loadu_ps
#define VSTORE _mm256_storeu_ps
#include "cpu/gemm/sparse_tile.h"

#define V __m256d
#define LANES 4
#define ELEMENT double
#define NAME(x) sparse_f64_avx2_##x
#define TARGET TARGET_AVX2
#define SET1 _mm256_set1_pd
#define ZERO _mm256_setzero_pd
#define FMA _mm256_fmadd_pd
#define ADD _mm256_add_pd
#define VLOAD _mm256_loadu_pd
#define VSTORE _mm256_storeu_pd
#include "cpu/gemm/sparse_tile.h"

#define V __m512
#define LANES 16
#define ELEMENT float
#define NAME(x) sparse_f32_avx512_##x
#define TARGET TARGET_AVX512
#define SET1 _mm512_set1_ps
#define ZERO _mm512_setzero_ps
#define FMA _mm512_fmadd_ps
#define ADD _mm512_add_ps
#define VLOAD _mm512_loadu_ps
#define VSTORE _mm512_storeu_ps
#define NO_DOTS
#define LOAD_SOME(p, n) _mm512_maskz_loadu_ps((__mmask16)((1u << (n)) - 1), p)
#define STORE_SOME(p, v, n) _mm512_mask_storeu_ps(p, (__mmask16)((1u << (n)) - 1), v)
#include "cpu/gemm/sparse_tile.h"

/* Two chains of sums where one vector leaves registers for them. */
static inline __attribute__((always_inline)) TARGET_AVX512 void sparse_lookup_rows(
    const sparse_lookup *l, const int rows) {
    const int chains = rows == 1 ? 4 : rows < 4 ? 2 : 1;
    __m512 acc[8], low[SPARSE_LOOKUP_ROWS], high[SPARSE_LOOKUP_ROWS];
    const uint8_t *column = l->columns;
    const float *value = l->values, *x = l->x;
#pragma GCC unroll 8
    for (int i = 0; i < rows * chains; i++) acc[i] = _mm512_setzero_ps();
    for (int64_t b = 0; b < l->blocks; b++, x += SPARSE_BLOCK) {
        int steps = l->counts[b];
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++) {
            low[r] = _mm512_loadu_ps(x + r * l->ldx);
            high[r] = _mm512_loadu_ps(x + r * l->ldx + SPARSE_LANES);
        }
#define SPARSE_STEP(c)                                                                             \
    do {                                                                                           \
        __m512i at = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)column)); \
        __m512 w = _mm512_loadu_ps(value);                                                         \
        _Pragma("GCC unroll 8") for (int r = 0; r < rows; r++) acc[(c) * rows + r] =               \
            _mm512_fmadd_ps(w, _mm512_permutex2var_ps(low[r], at, high[r]), acc[(c) * rows + r]);  \
        column += SPARSE_LANES, value += SPARSE_LANES;                                             \
    } while (0)
        for (; steps >= chains; steps -= chains)
#pragma GCC unroll 4
            for (int c = 0; c < chains; c++) SPARSE_STEP(c);
        for (; chains > 1 && steps > 0; steps--) SPARSE_STEP(0);
#undef SPARSE_STEP
    }
    __mmask16 lanes = (__mmask16)((1u << l->lanes) - 1);
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) {
#pragma GCC unroll 4
        for (int c = 1; c < chains; c++) acc[r] = _mm512_add_ps(acc[r], acc[c * rows + r]);
        _mm512_mask_storeu_ps(l->out + r * l->ldo, lanes, acc[r]);
    }
}

static TARGET_AVX512 void sparse_avx512_lookup(int rows, const sparse_lookup *l) {
    switch (rows) {
    case 1: sparse_lookup_rows(l, 1); break;
    case 2: sparse_lookup_rows(l, 2); break;
    case 3: sparse_lookup_rows(l, 3); break;
    case 4: sparse_lookup_rows(l, 4); break;
    case 5: sparse_lookup_rows(l, 5); break;
    default: sparse_lookup_rows(l, 6);
    }
}

const sparse_micro sparse_f32_avx2 = {ISA_AVX2, sparse_f32_avx2_product, sparse_f32_avx2_dots,
                                      sparse_f32_avx2_sampled, NULL};
const sparse_micro sparse_f64_avx2 = {ISA_AVX2, sparse_f64_avx2_product, sparse_f64_avx2_dots,
                                      sparse_f64_avx2_sampled, NULL};
const sparse_micro sparse_f32_avx512 = {ISA_AVX512, sparse_f32_avx512_product, sparse_f32_avx2_dots,
                                        sparse_f32_avx512_sampled, sparse_avx512_lookup};
#endif
