/* SPDX-License-Identifier: Apache-2.0 */
/* int8w.c - see int8w.h. */
#include "cpu/gemm/int8w.h"

#include <math.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>

static inline TARGET_AVX2 __m256 int8w_widen_256(const int8_t *p) {
    return _mm256_cvtepi32_ps(
        _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)p)));
}
static inline TARGET_AVX512 __m512 int8w_widen_512(const int8_t *p) {
    return _mm512_cvtepi32_ps(
        _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)(const void *)p)));
}

#define V __m256
#define LANES 8
#define NAME(x) int8w_avx2_##x
#define TARGET TARGET_AVX2
#define MR 2
#define WIDEN int8w_widen_256
#define SET1 _mm256_set1_ps
#define ZERO _mm256_setzero_ps
#define FMA _mm256_fmadd_ps
#define ADD _mm256_add_ps
#define VLOAD _mm256_loadu_ps
#define VSTORE _mm256_storeu_ps
#include "cpu/gemm/int8w_tile.h"

#define V __m512
#define LANES 16
#define NAME(x) int8w_avx512_##x
#define TARGET TARGET_AVX512
#define MR 6
#define WIDEN int8w_widen_512
#define SET1 _mm512_set1_ps
#define ZERO _mm512_setzero_ps
#define FMA _mm512_fmadd_ps
#define ADD _mm512_add_ps
#define VLOAD _mm512_loadu_ps
#define VSTORE _mm512_storeu_ps
#include "cpu/gemm/int8w_tile.h"

const int8w_micro int8w_avx2 = {ISA_AVX2, 2, int8w_avx2_tile};
const int8w_micro int8w_avx512 = {ISA_AVX512, 6, int8w_avx512_tile};
#endif

static void int8w_plain_tile(int rows, const int8w_tile *t) {
    for (int r = 0; r < rows; r++) {
        float sums[INT8W_COLUMNS] = {0};
        for (int64_t k = 0; k < t->k; k++)
            for (int c = 0; c < t->cols; c++)
                sums[c] += t->x[r * t->ldx + k] * (float)t->b[k * INT8W_COLUMNS + c];
        for (int c = 0; c < t->cols; c++)
            t->out[r * t->ldc + c] = sums[c] * t->scale[c] + t->bias[c];
    }
}

const int8w_micro int8w_plain = {ISA_PLAIN, 1, int8w_plain_tile};

bool gemm_int8w_put(const gemm_int8w *m, int64_t j, const float *column, int64_t as) {
    float most = 0;
    for (int64_t i = 0; i < m->k; i++) {
        if (!isfinite(column[i * as])) return false;
        if (fabsf(column[i * as]) > most) most = fabsf(column[i * as]);
    }
    float scale = most / INT8_MAX;
    int8_t *to = m->data + j / INT8W_COLUMNS * m->k * INT8W_COLUMNS + j % INT8W_COLUMNS;
    m->scale[j] = scale;
    for (int64_t i = 0; i < m->k && scale > 0; i++)
        to[i * INT8W_COLUMNS] = (int8_t)fminf(INT8_MAX,
                                              fmaxf(-INT8_MAX, rintf(column[i * as] / scale)));
    return true;
}
