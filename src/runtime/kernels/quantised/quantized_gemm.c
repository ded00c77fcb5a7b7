/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantized_gemm.c - the product of integer matrices, and what becomes of its sums.
 *
 * Method. Zero points are subtracted before multiplying, so that elements are int16 of at most 9
 * bits and a sum needs no correction; padding is zeros. A panel holds 16 columns, two rows side by
 * side: one vpmaddwd of a pair of a's elements with eight columns adds both products. Bytes
 * (vpmaddubsw) would be half the memory, but their sums of two saturate.
 * Invariant: sums are exact while k * 255 * 383 < 2^31, k < 21,000; beyond that they wrap,
 * as PyTorch's do.
 * Tests: tests/unit/test_quantized.c
 */
#include "runtime/kernels/quantised/quantized.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* ---- packing --------------------------------------------------------------------------------- */

bool quant_matrix_make(quant_matrix *m, int64_t n, int64_t k,
                       int16_t (*element)(const void *ctx, int64_t column, int64_t row),
                       const void *ctx) {
    int64_t panels = (n + QUANT_COLUMNS - 1) / QUANT_COLUMNS, pairs = (k + 1) / 2, count, bytes;
    *m = (quant_matrix){.n = n, .k = k, .pairs = pairs};
    if (__builtin_mul_overflow(panels, pairs, &count) ||
        __builtin_mul_overflow(count, QUANT_COLUMNS * 2 * 2, &bytes) ||
        bytes > PTRDIFF_MAX - TENSOR_ALIGNMENT)
        return false;
    m->block = mem_zalloc((size_t)bytes + TENSOR_ALIGNMENT);
    if (!m->block) return false;
    m->data = (int16_t *)(((uintptr_t)m->block + TENSOR_ALIGNMENT - 1) &
                          ~(uintptr_t)(TENSOR_ALIGNMENT - 1));
    for (int64_t j = 0; j < n; j++) {
        int16_t *panel = m->data + j / QUANT_COLUMNS * pairs * QUANT_COLUMNS * 2 +
                         j % QUANT_COLUMNS * 2;
        for (int64_t i = 0; i < k; i++)
            panel[i / 2 * QUANT_COLUMNS * 2 + i % 2] = element(ctx, j, i);
    }
    return true;
}

void quant_matrix_free(quant_matrix *m) {
    mem_free(m->block);
    *m = (quant_matrix){0};
}

/* ---- multiplying ----------------------------------------------------------------------------- */

static void quant_tile_plain(const int16_t *a, int64_t lda, int rows, const int16_t *b,
                             int64_t pairs, int32_t sums[QUANT_ROWS][QUANT_COLUMNS]) {
    for (int r = 0; r < rows; r++) {
        uint32_t s[QUANT_COLUMNS] = {0};
        for (int64_t p = 0; p < pairs; p++) {
            int32_t x = a[r * lda + 2 * p], y = a[r * lda + 2 * p + 1];
            const int16_t *w = b + p * QUANT_COLUMNS * 2;
            for (int c = 0; c < QUANT_COLUMNS; c++)
                s[c] += (uint32_t)(x * w[2 * c] + y * w[2 * c + 1]);
        }
        memcpy(sums[r], s, sizeof s);
    }
}

#if defined(__x86_64__)
/* rows is 1, 2 or 4: known where it is called, so that the sums stay in registers. */
static inline __attribute__((target("avx2"), always_inline)) void quant_tile_rows(
    const int16_t *a, int64_t lda, const int rows, const int16_t *b, int64_t pairs,
    int32_t sums[QUANT_ROWS][QUANT_COLUMNS]) {
    __m256i s[QUANT_ROWS][2];
    for (int r = 0; r < rows; r++) s[r][0] = s[r][1] = _mm256_setzero_si256();
    for (int64_t p = 0; p < pairs; p++) {
        __m256i b0 = _mm256_load_si256((const __m256i *)(const void *)(b + p * QUANT_COLUMNS * 2));
        __m256i b1 = _mm256_load_si256(
            (const __m256i *)(const void *)(b + p * QUANT_COLUMNS * 2 + QUANT_COLUMNS));
        for (int r = 0; r < rows; r++) {
            int32_t pair;
            memcpy(&pair, a + r * lda + 2 * p, sizeof pair);
            __m256i x = _mm256_set1_epi32(pair);
            s[r][0] = _mm256_add_epi32(s[r][0], _mm256_madd_epi16(x, b0));
            s[r][1] = _mm256_add_epi32(s[r][1], _mm256_madd_epi16(x, b1));
        }
    }
    for (int r = 0; r < rows; r++) {
        _mm256_storeu_si256((__m256i *)(void *)sums[r], s[r][0]);
        _mm256_storeu_si256((__m256i *)(void *)(sums[r] + QUANT_COLUMNS / 2), s[r][1]);
    }
}

static __attribute__((target("avx2"))) void quant_tile_avx2(
    const int16_t *a, int64_t lda, int rows, const int16_t *b, int64_t pairs,
    int32_t sums[QUANT_ROWS][QUANT_COLUMNS]) {
    if (rows == QUANT_ROWS) {
        quant_tile_rows(a, lda, QUANT_ROWS, b, pairs, sums);
        return;
    }
    if (rows >= 2) quant_tile_rows(a, lda, 2, b, pairs, sums);
    if (rows & 1) quant_tile_rows(a + (rows - 1) * lda, lda, 1, b, pairs, sums + rows - 1);
}
#endif

void quant_tile(const int16_t *a, int64_t lda, int rows, const quant_matrix *m, int64_t panel,
                int32_t sums[QUANT_ROWS][QUANT_COLUMNS]) {
    const int16_t *b = m->data + panel * m->pairs * QUANT_COLUMNS * 2;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        quant_tile_avx2(a, lda, rows, b, m->pairs, sums);
        return;
    }
#endif
    quant_tile_plain(a, lda, rows, b, m->pairs, sums);
}

/* ---- storing --------------------------------------------------------------------------------- */

static NN_FUSED void quant_store_fused(const int32_t *sums, const float *scale, const float *bias,
                                       bool relu, int64_t n, float *out) {
    for (int64_t i = 0; i < n; i++) {
        float v = fmaf((float)sums[i], scale[i], bias[i]);
        out[i] = relu && v < 0 ? 0 : v;
    }
}

static NN_HOT void quant_store_floats(const int32_t *sums, const float *scale, const float *bias,
                                      bool relu, int64_t n, float *out) {
    for (int64_t i = 0; i < n; i++) {
        float product = (float)sums[i] * scale[i];
        float v = bias ? product + bias[i] : product;
        out[i] = relu && v < 0 ? 0 : v;
    }
}

/* lo and hi are whole, so that clamping before rounding is the same as after it. */
static NN_HOT void quant_store_ints(const int32_t *sums, const float *scale, const int32_t *bias,
                                    float lo, float hi, int32_t zero_point, int64_t n,
                                    int8_t *out) {
    for (int64_t i = 0; i < n; i++) {
        int32_t sum = bias ? (int32_t)((uint32_t)sums[i] + (uint32_t)bias[i]) : sums[i];
        float v = (float)sum * scale[i];
        v = v > hi ? hi : v;
        v = v > lo ? v : lo;
        out[i] = (int8_t)((int32_t)rintf(v) + zero_point);
    }
}

static NN_HOT void quant_store_steps(const int32_t *sums, const float *scale, const float *bias,
                                     float lo, float hi, int32_t zero_point, int64_t n,
                                     int8_t *out) {
    for (int64_t i = 0; i < n; i++) {
        float v = ((float)sums[i] + bias[i]) * scale[i];
        v = v > hi ? hi : v;
        v = v > lo ? v : lo;
        out[i] = (int8_t)((int32_t)rintf(v) + zero_point);
    }
}

void quant_store_row(const quant_store *s, const int32_t *sums, int64_t column, int64_t n,
                     void *out) {
    float lo = (float)(s->lo - s->zero_point), hi = (float)(s->hi - s->zero_point);
    if (s->to_float && s->fused && s->bias_float)
        quant_store_fused(sums, s->scale + column, s->bias_float + column, s->relu, n, out);
    else if (s->to_float)
        quant_store_floats(sums, s->scale + column, s->bias_float ? s->bias_float + column : NULL,
                           s->relu, n, out);
    else if (s->bias_steps)
        quant_store_steps(sums, s->scale + column, s->bias_steps + column, lo, hi, s->zero_point, n,
                          out);
    else
        quant_store_ints(sums, s->scale + column, s->bias ? s->bias + column : NULL, lo, hi,
                         s->zero_point, n, out);
}
