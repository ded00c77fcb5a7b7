/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm_bf16.c - see gemm_bf16.h.
 *
 * Tiles are 14 x 32, as those of bytes (quantised/quantized_micro.c). Sums begin with the bias, and
 * full tiles are stored where they belong.
 */
#include "runtime/kernels/matmul/gemm_bf16.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>

#define BF16_AVX512                                                                                \
    __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16"),                        \
                   no_sanitize("undefined")))

bool gemm_bf16_usable(void) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bf16");
}

static inline BF16_AVX512 __m512i bf16_splat(const void *p) {
    int32_t pair;
    memcpy(&pair, p, sizeof pair);
    return _mm512_set1_epi32(pair);
}

static inline BF16_AVX512 __m512 bf16_dot(__m512 acc, __m512i x, __m512i w) {
    return _mm512_dpbf16_ps(acc, (__m512bh)x, (__m512bh)w);
}

BF16_AVX512 void gemm_bf16_round(const float *x, int64_t n, bfloat16 *out) {
    int64_t i = 0;
    for (; i + 32 <= n; i += 32)
        _mm512_storeu_si512(out + i, (__m512i)_mm512_cvtne2ps_pbh(_mm512_loadu_ps(x + i + 16),
                                                                  _mm512_loadu_ps(x + i)));
    for (; i < n; i += 16) {
        __mmask16 there = n - i < 16 ? (__mmask16)((1u << (n - i)) - 1) : (__mmask16)0xffff;
        _mm256_mask_storeu_epi16(out + i, there,
                                 (__m256i)_mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(there, x + i)));
    }
}

#define V __m512i
#define A __m512
#define LANES 16
#define NAME(x) bf16_##x
#define TARGET BF16_AVX512
#define MR 14
#define MP 2
#define VECTORS 1
#define LOAD _mm512_loadu_si512
#define LOADA _mm512_loadu_ps
#define STOREA(p, v) _mm512_storeu_ps((float *)(void *)(p), v)
#define SPLAT bf16_splat
#define DP bf16_dot
#include "runtime/kernels/engine/quad_tile.h"

/* Panels [p, p + panels), of which cols columns are there. */
static void bf16_panels(quad_tile *t, const gemm_bf16_strip *s, int panels, int64_t cols,
                        int64_t column) {
    float start[QUAD_MAX_PANELS * QUAD_COLUMNS] = {0};
    _Alignas(64) float sums[QUAD_MAX_ROWS * QUAD_MAX_PANELS * QUAD_COLUMNS];
    int64_t tiles = (s->rows + MR - 1) / MR;
    bool whole = cols == panels * QUAD_COLUMNS;
    if (s->bias) memcpy(start, s->bias + column, (size_t)cols * sizeof *start);
    t->start = start;
    t->ld = whole ? s->ldc : QUAD_MAX_PANELS * QUAD_COLUMNS;
    for (int64_t i = 0, row = 0; i < tiles; i++) {
        int rows = (int)((s->rows - row) / (tiles - i));
        float *out = s->out + row * s->ldc + column;
        t->a = (const uint8_t *)s->a + row * s->lda;
        t->sums = whole ? out : sums;
        bf16_tile(rows, panels, t);
        for (int r = 0; r < rows && !whole; r++)
            memcpy(out + r * s->ldc, sums + r * t->ld, (size_t)cols * sizeof *out);
        row += rows;
    }
}

void gemm_bf16_run(const gemm_bf16 *m, int64_t group, int64_t first, int64_t last,
                   const gemm_bf16_strip *s) {
    int64_t panel = m->stretches * m->quads * QUAD_PANEL;
    quad_tile t = {.lda = s->lda,
                   .stretch = s->stretch,
                   .stretches = m->stretches,
                   .quads = m->quads,
                   .panel = panel};
    for (int64_t p = first; p < last; p += MP) {
        int panels = last - p < MP ? (int)(last - p) : MP;
        int64_t there = m->n - p * QUAD_COLUMNS,
                cols = there < panels * QUAD_COLUMNS ? there : panels * QUAD_COLUMNS;
        t.b = m->data + (group * m->panels + p) * panel;
        bf16_panels(&t, s, panels, cols, (p - first) * QUAD_COLUMNS);
    }
}
#else
bool gemm_bf16_usable(void) { return false; }
void gemm_bf16_round(const float *x, int64_t n, bfloat16 *out) {
    for (int64_t i = 0; i < n; i++) out[i] = bfloat16_from_float(x[i]);
}
void gemm_bf16_run(const gemm_bf16 *m, int64_t group, int64_t first, int64_t last,
                   const gemm_bf16_strip *s) {
    (void)m, (void)group, (void)first, (void)last, (void)s;
}
#endif

/* ---- packing --------------------------------------------------------------------------------- */

bool gemm_bf16_size(gemm_bf16 *m, size_t *bytes) {
    m->quads = m->k / GEMM_BF16_PAIR;
    m->panels = (m->n + QUAD_COLUMNS - 1) / QUAD_COLUMNS;
    int64_t all;
    if (__builtin_mul_overflow(m->stretches, m->quads * QUAD_PANEL, &all) ||
        __builtin_mul_overflow(all, m->groups * m->panels, &all))
        return false;
    *bytes = (size_t)all;
    return true;
}

void gemm_bf16_put(const gemm_bf16 *m, int64_t group, int64_t j, const float *column) {
    int64_t panel = m->stretches * m->quads * QUAD_PANEL;
    bfloat16 *to = (bfloat16 *)(void *)(m->data + (group * m->panels + j / QUAD_COLUMNS) * panel) +
                   j % QUAD_COLUMNS * GEMM_BF16_PAIR;
    for (int64_t i = 0; i < m->stretches * m->k;
         i += GEMM_BF16_PAIR, to += QUAD_COLUMNS * GEMM_BF16_PAIR)
        for (int e = 0; e < GEMM_BF16_PAIR; e++) to[e] = bfloat16_from_float(column[i + e]);
}
