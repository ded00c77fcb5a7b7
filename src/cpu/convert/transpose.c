/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transpose.c - see transpose.h.
 *
 * The last block of rows or columns overlaps blocks already done. With fewer
 * columns than 8, whole vectors are still stored: the surplus is overwritten by
 * the next row, except for the last rows, which are moved element by element. With
 * fewer rows, whole vectors are loaded. Few columns (the planes of a picture) are
 * interleaved: each vector of the result is picked from those of all columns.
 * Tests: tests/unit/test_transpose.c
 */
#include "cpu/convert/transpose.h"

#include "cpu/isa.h"
#include "cpu/vector.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>

#define TRANSPOSE_TARGET TARGET_AVX2

bool transpose_usable(void) { return isa_has(ISA_AVX2); }

/* Elements 0 to 3 of two lines; elements 4 to 7. */
#define TRANSPOSE_LOW(a, b)                                                                        \
    _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(a)), _mm_loadu_ps(b), 1)

/* Eight lines of src become the columns of out[0..7]. */
static inline TRANSPOSE_TARGET void transpose_eight(const float *src, int64_t step, __m256 out[8]) {
    for (int half = 0; half < 2; half++, src += 4) {
        __m256 a = TRANSPOSE_LOW(src, src + 4 * step),
               b = TRANSPOSE_LOW(src + step, src + 5 * step);
        __m256 c = TRANSPOSE_LOW(src + 2 * step, src + 6 * step),
               d = TRANSPOSE_LOW(src + 3 * step, src + 7 * step);
        __m256 ab = _mm256_unpacklo_ps(a, b), ba = _mm256_unpackhi_ps(a, b),
               cd = _mm256_unpacklo_ps(c, d), dc = _mm256_unpackhi_ps(c, d);
        out[4 * half] = _mm256_shuffle_ps(ab, cd, 0x44);
        out[4 * half + 1] = _mm256_shuffle_ps(ab, cd, 0xee);
        out[4 * half + 2] = _mm256_shuffle_ps(ba, dc, 0x44);
        out[4 * half + 3] = _mm256_shuffle_ps(ba, dc, 0xee);
    }
}

static inline TRANSPOSE_TARGET void transpose_block(float *dst, int64_t ld, const float *src,
                                                    int64_t step) {
    __m256 out[8];
    transpose_eight(src, step, out);
#pragma GCC unroll 8
    for (int k = 0; k < 8; k++) _mm256_storeu_ps(dst + k * ld, out[k]);
}

/* Up to TRANSPOSE_ROWS rows, 8 at least; 8 columns at least. */
static TRANSPOSE_TARGET void transpose_tile(float *dst, int64_t ld, const float *src, int64_t step,
                                            int64_t rows, int64_t cols) {
    for (int64_t j = 0; j < cols; j += 16) {
        int64_t next = j + 8 < cols ? j + 8 : j;
        if (next + 8 > cols) next = cols - 8;
        if (j + 8 > cols) j = next;
        for (int64_t i = 0; i < rows; i += 8) {
            if (i + 8 > rows) i = rows - 8;
            transpose_block(dst + i * ld + j, ld, src + j * step + i, step);
            if (next != j) transpose_block(dst + i * ld + next, ld, src + next * step + i, step);
        }
    }
}

static void transpose_single(float *dst, int64_t ld, const float *src, int64_t step, int64_t rows,
                             int64_t cols, int64_t from_row, int64_t from_col) {
    for (int64_t i = from_row; i < rows; i++)
        for (int64_t j = from_col; j < cols; j++) dst[i * ld + j] = src[j * step + i];
}

/* Fewer than 8 rows: loads past a line's end read the
 * following lines, which the last columns do not have. */
static TRANSPOSE_TARGET void transpose_flat(float *dst, int64_t ld, const float *src, int64_t step,
                                            int64_t rows, int64_t cols) {
    __m256 out[8];
    int64_t j = 0;
    for (; j + 8 <= cols && (j + 7) * step + 8 <= (cols - 1) * step + rows; j += 8) {
        transpose_eight(src + j * step, step, out);
        for (int k = 0; k < rows; k++) _mm256_storeu_ps(dst + k * ld + j, out[k]);
    }
    transpose_single(dst, ld, src, step, rows, cols, 0, j);
}

/* Fewer than 8 columns, and as many rows as there are. */
static TRANSPOSE_TARGET void transpose_narrow(float *dst, const float *src, int64_t step,
                                              int64_t rows, int64_t cols) {
    __m256 out[8];
    int64_t i = 0;
    for (; i + 16 <= rows; i += 8) {
        const float *line[8];
        for (int k = 0; k < 8; k++) line[k] = src + i + (k < cols ? k : 0) * step;
        for (int half = 0; half < 2; half++) {
            int at = 4 * half;
            __m256 a = TRANSPOSE_LOW(line[0] + at, line[4] + at),
                   b = TRANSPOSE_LOW(line[1] + at, line[5] + at);
            __m256 c = TRANSPOSE_LOW(line[2] + at, line[6] + at),
                   d = TRANSPOSE_LOW(line[3] + at, line[7] + at);
            __m256 ab = _mm256_unpacklo_ps(a, b), ba = _mm256_unpackhi_ps(a, b),
                   cd = _mm256_unpacklo_ps(c, d), dc = _mm256_unpackhi_ps(c, d);
            out[at] = _mm256_shuffle_ps(ab, cd, 0x44);
            out[at + 1] = _mm256_shuffle_ps(ab, cd, 0xee);
            out[at + 2] = _mm256_shuffle_ps(ba, dc, 0x44);
            out[at + 3] = _mm256_shuffle_ps(ba, dc, 0xee);
        }
        for (int k = 0; k < 8; k++) _mm256_storeu_ps(dst + (i + k) * cols, out[k]);
    }
    transpose_single(dst, cols, src, step, rows, cols, i, 0);
}

/* Up to WEAVE_MOST columns: element e of `cols` vectors' results is row e / cols of
 * column e % cols.
 * */
enum { WEAVE_MOST = 4 };
static inline __attribute__((always_inline)) TRANSPOSE_TARGET void transpose_weave(
    float *dst, const float *src, int64_t step, int64_t rows, const int cols) {
    int32_t from[8 * WEAVE_MOST], of[8 * WEAVE_MOST];
    __m256i pick[WEAVE_MOST], mask[WEAVE_MOST][WEAVE_MOST];
    for (int e = 0; e < 8 * cols; e++) from[e] = e / cols, of[e] = e % cols;
    for (int v = 0; v < cols; v++) {
        __m256i column = _mm256_loadu_si256((const __m256i *)(const void *)(of + 8 * v));
        pick[v] = _mm256_loadu_si256((const __m256i *)(const void *)(from + 8 * v));
        for (int c = 1; c < cols; c++)
            mask[v][c] = _mm256_cmpeq_epi32(column, _mm256_set1_epi32(c));
    }
    int64_t i = 0;
    for (; i + 8 <= rows; i += 8, dst += 8 * cols) {
        __m256 line[WEAVE_MOST];
#pragma GCC unroll 4
        for (int c = 0; c < cols; c++) line[c] = _mm256_loadu_ps(src + i + c * step);
#pragma GCC unroll 4
        for (int v = 0; v < cols; v++) {
            __m256 out = _mm256_permutevar8x32_ps(line[0], pick[v]);
#pragma GCC unroll 4
            for (int c = 1; c < cols; c++)
                out = _mm256_blendv_ps(out, _mm256_permutevar8x32_ps(line[c], pick[v]),
                                       _mm256_castsi256_ps(mask[v][c]));
            _mm256_storeu_ps(dst + 8 * v, out);
        }
    }
    transpose_single(dst - i * cols, cols, src, step, rows, cols, i, 0);
}

static TRANSPOSE_TARGET void transpose_few(float *dst, const float *src, int64_t step, int64_t rows,
                                           int64_t cols) {
    if (cols == 2) transpose_weave(dst, src, step, rows, 2);
    else if (cols == 3) transpose_weave(dst, src, step, rows, 3);
    else if (cols == 4) transpose_weave(dst, src, step, rows, 4);
    else transpose_narrow(dst, src, step, rows, cols);
}

/* The elements are moved as floats, which changes none. */
void transpose_words(uint32_t *dst, int64_t ld, const uint32_t *src, int64_t step, int64_t rows,
                     int64_t cols) {
    float *to = (float *)(void *)dst;
    const float *from = (const float *)(const void *)src;
    if (cols < 8) transpose_few(to, from, step, rows, cols);
    else
        for (int64_t i = 0; i < rows; i += TRANSPOSE_ROWS) {
            int64_t n = rows - i < TRANSPOSE_ROWS ? rows - i : TRANSPOSE_ROWS;
            (n < 8 ? transpose_flat : transpose_tile)(to + i * ld, ld, from + i, step, n, cols);
        }
}

#elif defined(__aarch64__)
#include "cpu/neon.h"

bool transpose_usable(void) { return isa_has(ISA_NEON); }

/* Four lines of src become the columns of four lines of dst. */
static inline TARGET_NEON void transpose_four(uint32_t *dst, int64_t ld, const uint32_t *src,
                                              int64_t step) {
    uint32x4_t a = vld1q_u32(src), b = vld1q_u32(src + step), c = vld1q_u32(src + 2 * step),
               d = vld1q_u32(src + 3 * step);
    uint64x2_t ab = vreinterpretq_u64_u32(vtrn1q_u32(a, b)),
               ba = vreinterpretq_u64_u32(vtrn2q_u32(a, b)),
               cd = vreinterpretq_u64_u32(vtrn1q_u32(c, d)),
               dc = vreinterpretq_u64_u32(vtrn2q_u32(c, d));
    vst1q_u32(dst, vreinterpretq_u32_u64(vtrn1q_u64(ab, cd)));
    vst1q_u32(dst + ld, vreinterpretq_u32_u64(vtrn1q_u64(ba, dc)));
    vst1q_u32(dst + 2 * ld, vreinterpretq_u32_u64(vtrn2q_u64(ab, cd)));
    vst1q_u32(dst + 3 * ld, vreinterpretq_u32_u64(vtrn2q_u64(ba, dc)));
}

/* Two to four columns: stores that interleave. Returns the rows that are done. */
static TARGET_NEON int64_t transpose_weave(uint32_t *dst, const uint32_t *src, int64_t step,
                                           int64_t rows, int64_t cols) {
    int64_t i = 0;
    for (; cols == 2 && i + 4 <= rows; i += 4, src += 4, dst += 8)
        vst2q_u32(dst, (uint32x4x2_t){{vld1q_u32(src), vld1q_u32(src + step)}});
    for (; cols == 3 && i + 4 <= rows; i += 4, src += 4, dst += 12)
        vst3q_u32(dst, (uint32x4x3_t){
                           {vld1q_u32(src), vld1q_u32(src + step), vld1q_u32(src + 2 * step)}});
    for (; cols == 4 && i + 4 <= rows; i += 4, src += 4, dst += 16)
        vst4q_u32(dst, (uint32x4x4_t){{vld1q_u32(src), vld1q_u32(src + step),
                                       vld1q_u32(src + 2 * step), vld1q_u32(src + 3 * step)}});
    return i;
}

static void transpose_single(uint32_t *dst, int64_t ld, const uint32_t *src, int64_t step,
                             int64_t rows, int64_t cols, int64_t from_row, int64_t from_col) {
    for (int64_t i = from_row; i < rows; i++)
        for (int64_t j = from_col; j < cols; j++) dst[i * ld + j] = src[j * step + i];
}

/* Up to TRANSPOSE_ROWS rows. */
static TARGET_NEON void transpose_tile(uint32_t *dst, int64_t ld, const uint32_t *src, int64_t step,
                                       int64_t rows, int64_t cols) {
    const int64_t down = rows / 4 * 4, right = cols / 4 * 4;
    for (int64_t j = 0; j < right; j += 4)
        for (int64_t i = 0; i < down; i += 4)
            transpose_four(dst + i * ld + j, ld, src + j * step + i, step);
    transpose_single(dst, ld, src, step, down, cols, 0, right);
    transpose_single(dst, ld, src, step, rows, cols, down, 0);
}

void transpose_words(uint32_t *dst, int64_t ld, const uint32_t *src, int64_t step, int64_t rows,
                     int64_t cols) {
    if (ld == cols && cols >= 2 && cols <= 4) {
        int64_t done = transpose_weave(dst, src, step, rows, cols);
        transpose_single(dst, ld, src, step, rows, cols, done, 0);
        return;
    }
    for (int64_t i = 0; i < rows; i += TRANSPOSE_ROWS) {
        int64_t n = rows - i < TRANSPOSE_ROWS ? rows - i : TRANSPOSE_ROWS;
        transpose_tile(dst + i * ld, ld, src + i, step, n, cols);
    }
}

#else

bool transpose_usable(void) { return false; }

void transpose_words(uint32_t *dst, int64_t ld, const uint32_t *src, int64_t step, int64_t rows,
                     int64_t cols) {
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) dst[i * ld + j] = src[j * step + i];
}

#endif

/* ---- smaller elements ------------------------------------------------------------------------ */

/* Images: few columns that are all of dst's, or few rows that are all of src's. Loops whose steps
 * are constants become vectors. */
#define TRANSPOSE_FEW(T, name)                                                                     \
    VECTOR_CLONES static void transpose_weave_##name(T *restrict dst, const T *restrict src,       \
                                                     int64_t step, int64_t rows, int64_t cols) {   \
        const T *a = src, *b = src + step, *c = b + step, *d = c + step;                           \
        switch (cols) {                                                                            \
        case 2:                                                                                    \
            for (int64_t i = 0; i < rows; i++) dst[2 * i] = a[i], dst[2 * i + 1] = b[i];           \
            break;                                                                                 \
        case 3:                                                                                    \
            for (int64_t i = 0; i < rows; i++)                                                     \
                dst[3 * i] = a[i], dst[3 * i + 1] = b[i], dst[3 * i + 2] = c[i];                   \
            break;                                                                                 \
        default:                                                                                   \
            for (int64_t i = 0; i < rows; i++) {                                                   \
                dst[4 * i] = a[i], dst[4 * i + 1] = b[i];                                          \
                dst[4 * i + 2] = c[i], dst[4 * i + 3] = d[i];                                      \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    VECTOR_CLONES static void transpose_part_##name(                                               \
        T *restrict dst, int64_t ld, const T *restrict src, int64_t rows, int64_t cols) {          \
        T *a = dst, *b = dst + ld, *c = b + ld, *d = c + ld;                                       \
        switch (rows) {                                                                            \
        case 2:                                                                                    \
            for (int64_t j = 0; j < cols; j++) a[j] = src[2 * j], b[j] = src[2 * j + 1];           \
            break;                                                                                 \
        case 3:                                                                                    \
            for (int64_t j = 0; j < cols; j++)                                                     \
                a[j] = src[3 * j], b[j] = src[3 * j + 1], c[j] = src[3 * j + 2];                   \
            break;                                                                                 \
        default:                                                                                   \
            for (int64_t j = 0; j < cols; j++) {                                                   \
                a[j] = src[4 * j], b[j] = src[4 * j + 1];                                          \
                c[j] = src[4 * j + 2], d[j] = src[4 * j + 3];                                      \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    static bool transpose_image_##name(T *dst, int64_t ld, const T *src, int64_t step,             \
                                       int64_t rows, int64_t cols) {                               \
        bool weave = cols >= 2 && cols <= 4 && ld == cols,                                         \
             part = rows >= 2 && rows <= 4 && step == rows;                                        \
        if (weave) transpose_weave_##name(dst, src, step, rows, cols);                             \
        else if (part) transpose_part_##name(dst, ld, src, rows, cols);                            \
        return weave || part;                                                                      \
    }                                                                                              \
    static void transpose_each_##name(T *restrict dst, int64_t ld, const T *restrict src,          \
                                      int64_t step, int64_t rows, int64_t cols) {                  \
        for (int64_t j = 0; j < cols; j++)                                                         \
            for (int64_t i = 0; i < rows; i++) dst[i * ld + j] = src[j * step + i];                \
    }
TRANSPOSE_FEW(uint8_t, bytes)
TRANSPOSE_FEW(uint16_t, halves)

typedef uint16_t transpose_eight_halves __attribute__((vector_size(16)));

/* Zips lines k and k + 4 three times: then line k has column k. */
static inline void transpose_zip(const transpose_eight_halves in[8],
                                 transpose_eight_halves out[8]) {
    for (int k = 0; k < 4; k++) {
        out[2 * k] = __builtin_shufflevector(in[k], in[k + 4], 0, 8, 1, 9, 2, 10, 3, 11);
        out[2 * k + 1] = __builtin_shufflevector(in[k], in[k + 4], 4, 12, 5, 13, 6, 14, 7, 15);
    }
}

static void transpose_block_halves(uint16_t *dst, int64_t ld, const uint16_t *src, int64_t step) {
    transpose_eight_halves a[8], b[8];
    for (int k = 0; k < 8; k++) memcpy(&a[k], src + k * step, sizeof a[k]);
    transpose_zip(a, b);
    transpose_zip(b, a);
    transpose_zip(a, b);
    for (int k = 0; k < 8; k++) memcpy(dst + k * ld, &b[k], sizeof b[k]);
}

void transpose_halves(uint16_t *dst, int64_t ld, const uint16_t *src, int64_t step, int64_t rows,
                      int64_t cols) {
    if (transpose_image_halves(dst, ld, src, step, rows, cols)) return;
    int64_t down = rows / 8 * 8, right = cols / 8 * 8;
    for (int64_t j = 0; j < right; j += 8)
        for (int64_t i = 0; i < down; i += 8)
            transpose_block_halves(dst + i * ld + j, ld, src + j * step + i, step);
    transpose_each_halves(dst + right, ld, src + right * step, step, down, cols - right);
    transpose_each_halves(dst + down * ld, ld, src + down, step, rows - down, cols);
}

void transpose_bytes(uint8_t *dst, int64_t ld, const uint8_t *src, int64_t step, int64_t rows,
                     int64_t cols) {
    if (!transpose_image_bytes(dst, ld, src, step, rows, cols))
        transpose_each_bytes(dst, ld, src, step, rows, cols);
}
