/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bf16_avx512.c - products of bfloat16 with AVX512-BF16. Tiles are 14 x 32, as those of bytes.
 * Tests: tests/unit/test_quad_bf16.c, tests/unit/test_precision.c
 */
#include "cpu/quad/quad.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

static inline TARGET_AVX512BF16 __m512i bf16_splat(const void *p) {
    int32_t pair;
    memcpy(&pair, p, sizeof pair);
    return _mm512_set1_epi32(pair);
}

static inline TARGET_AVX512BF16 __m512 bf16_dot(__m512 acc, __m512i x, __m512i w) {
    return _mm512_dpbf16_ps(acc, (__m512bh)x, (__m512bh)w);
}

#define V __m512i
#define A __m512
#define LANES 16
#define NAME(x) bf16_##x
#define TARGET TARGET_AVX512BF16
#define MR 14
#define MP 2
#define VECTORS 1
#define LOAD _mm512_loadu_si512
#define LOADA _mm512_loadu_ps
#define STOREA(p, v) _mm512_storeu_ps((float *)(void *)(p), v)
#define SPLAT bf16_splat
#define DP bf16_dot
#include "cpu/quad/quad_tile.h"

static TARGET_AVX512BF16 void bf16_row(const quad_tile *t) {
    enum { AHEAD = 16 * QUAD_PANEL };
    __m512 acc[QUAD_ROW_PANELS];
    const int8_t *b = t->b;
    const int64_t panel = t->panel, zeros = (t->filled - t->quads) * QUAD_PANEL;
#pragma GCC unroll 4
    for (int c = 0; c < QUAD_ROW_PANELS; c++)
        acc[c] = _mm512_loadu_ps((const float *)t->start + c * LANES);
    for (int64_t s = 0; s < t->segments; s++, b += zeros) {
        const uint8_t *a = t->a + t->segment[s];
        for (int64_t left = t->quads; left > 0; left--, a += QUAD_BYTES, b += QUAD_PANEL) {
            __m512i x = bf16_splat(a);
#pragma GCC unroll 4
            for (int c = 0; c < QUAD_ROW_PANELS; c++) {
                __builtin_prefetch(b + c * panel + AHEAD, 0, 3);
                acc[c] = bf16_dot(acc[c], x, LOAD(b + c * panel));
            }
        }
    }
#pragma GCC unroll 4
    for (int c = 0; c < QUAD_ROW_PANELS; c++)
        _mm512_storeu_ps((float *)t->sums + c * LANES, acc[c]);
}

static inline __attribute__((always_inline)) TARGET_AVX512BF16 void bf16_groups_body(
    const quad_tile *t, const int rows) {
    __m512 acc[MR];
    const int8_t *b = t->b;
    const int64_t lda = t->lda, zeros = (t->filled - t->quads) * QUAD_PANEL;
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++) acc[r] = _mm512_loadu_ps(t->start);
    for (int64_t s = 0; s < t->segments; s++, b += zeros) {
        const uint8_t *a[(MR + 2) / 3];
#pragma GCC unroll 8
        for (int r = 0; r < rows; r += 3) a[r / 3] = t->a + t->segment[s] + r * lda;
        __m512i lanes = _mm512_loadu_si512(t->lanes);
        for (int64_t left = t->quads; left > 0; left--, b += QUAD_PANEL) {
            __m512i w = LOAD(b);
#pragma GCC unroll 16
            for (int r = 0; r < rows; r++) {
                const void *at = a[r / 3] + r % 3 * lda;
                __m512i x = _mm512_castsi256_si512(_mm256_loadu_si256(at));
                acc[r] = bf16_dot(acc[r], _mm512_permutexvar_epi32(lanes, x), w);
            }
            lanes = _mm512_add_epi32(lanes, _mm512_set1_epi32(1));
        }
    }
    float *sums = t->sums;
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++) _mm512_storeu_ps(sums + r * t->ld, acc[r]);
}

#define GROUPS(rows)                                                                               \
    static                                                                                         \
        __attribute__((noinline)) TARGET_AVX512BF16 void bf16_groups_##rows(const quad_tile *t) {  \
        bf16_groups_body(t, rows);                                                                 \
    }
GROUPS(14)
GROUPS(7)
GROUPS(4)
GROUPS(2)
GROUPS(1)

static void bf16_groups(int rows, const quad_tile *t) {
    static void (*const of[])(const quad_tile *) = {bf16_groups_14, bf16_groups_7, bf16_groups_4,
                                                    bf16_groups_2, bf16_groups_1};
    static const int height[] = {14, 7, 4, 2, 1};
    quad_by_heights(rows, t, of, height);
}

const quad_kernels quad_bf16_avx512 = {.isa = ISA_AVX512BF16,
                                       .rows = MR,
                                       .panels = MP,
                                       .depth = 1,
                                       .lanes = LANES,
                                       .block = 256 << 10,
                                       .heights = bf16_heights,
                                       .tile = bf16_tile,
                                       .groups = bf16_groups,
                                       .row = bf16_row};

#endif
