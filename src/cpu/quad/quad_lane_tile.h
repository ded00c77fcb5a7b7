/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quad_lane_tile.h - tiles of products of quads (quad.h) as text, for instructions of ARM64 that
 * multiply vectors of weights by one quad of a vector of activations.
 *
 * Included with these defined, once for each; all of them are undefined afterwards:
 *     NAME(x), TARGET         names of what is defined here, and the attribute for the instructions
 *     MR                      rows of a strip
 *     A                       vectors of sums
 *     START(v) SUMS(a)        sums that begin with the int32_t v; as int32_t
 *     X(v)                    four quads of a row, as DOT takes them
 *     DOT(acc, w, x, q)       acc and the products of the weights w and quad q of x
 *     OFFSET                  if defined: X takes this off each byte of a row
 *
 * Method: four quads of each row are one load and need no broadcast; they meet 16 vectors of
 * weights, of which four at a time, a quad's, are read. What OFFSET takes off is added again to
 * what the sums begin with, a sum of weights, which is made once for all strips of rows.
 */

/* Up to four quads of `rows` rows, n of each. */
static inline __attribute__((always_inline)) TARGET void NAME(quads)(A (*acc)[4],
                                                                     const int32x4_t *rows4,
                                                                     const int8_t *b,
                                                                     const int rows, const int n) {
#pragma GCC unroll 4
    for (int q = 0; q < n; q++)
#pragma GCC unroll 4
        for (int c = 0; c < 4; c++) {
            int32x4_t w = neon_load(b + q * QUAD_PANEL + c * 16);
#pragma GCC unroll 8
            for (int r = 0; r < rows; r++) acc[r][c] = DOT(acc[r][c], w, rows4[r], q);
        }
}

/* start: QUAD_COLUMNS of 32 bits. */
static inline __attribute__((always_inline)) TARGET void NAME(body)(const quad_tile *t,
                                                                    const int32_t *start,
                                                                    const uint8_t *from,
                                                                    int32_t *sums, const int rows) {
    A acc[MR][4];
    const int8_t *b = t->b, *next = t->lines ? t->next : b;
    const int64_t ahead = t->lines ? QUAD_PANEL : 0, lda = t->lda, ld = t->ld,
                  zeros = (t->filled - t->quads) * QUAD_PANEL;
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (int c = 0; c < 4; c++) acc[r][c] = START(vld1q_s32(start + c * 4));
    for (int64_t s = 0; s < t->segments; s++, b += zeros) {
        const uint8_t *a = from + t->segment[s];
        int64_t left = t->quads;
        for (; left >= 4; left -= 4, a += 16, b += 4 * QUAD_PANEL, next += 4 * ahead) {
            int32x4_t x[MR];
#pragma GCC unroll 4
            for (int i = 0; i < 4; i++) __builtin_prefetch(next + i * ahead, 0, 3);
#pragma GCC unroll 8
            for (int r = 0; r < rows; r++) x[r] = X(neon_load(a + r * lda));
            NAME(quads)(acc, x, b, rows, 4);
        }
        for (; left > 0; left--, a += QUAD_BYTES, b += QUAD_PANEL, next += ahead) {
            int32x4_t x[MR];
#pragma GCC unroll 8
            for (int r = 0; r < rows; r++) x[r] = X(neon_splat(a + r * lda));
            NAME(quads)(acc, x, b, rows, 1);
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (int c = 0; c < 4; c++) vst1q_s32(sums + r * ld + c * 4, SUMS(acc[r][c]));
}

#ifdef OFFSET
/* The start of sums whose activations are less by OFFSET. */
static TARGET void NAME(begin)(const quad_tile *t, const int32_t *start, int32_t *to) {
    int32x4_t sum[4];
    const int8_t *b = t->b;
    for (int c = 0; c < 4; c++) sum[c] = vdupq_n_s32(0);
    for (int64_t s = 0; s < t->segments; s++, b += (t->filled - t->quads) * QUAD_PANEL)
        for (int64_t left = t->quads; left > 0; left--, b += QUAD_PANEL)
#pragma GCC unroll 4
            for (int c = 0; c < 4; c++)
                sum[c] = vpadalq_s16(sum[c], vpaddlq_s8(NEON_S8(neon_load(b + c * 16))));
    for (int c = 0; c < 4; c++)
        vst1q_s32(to + c * 4, vmlaq_n_s32(vld1q_s32(start + c * 4), sum[c], OFFSET));
}
#endif

static TARGET void NAME(tile)(int rows, int panels, const quad_tile *t) {
    quad_tile one = *t;
    for (; panels > 0; panels--) {
        const int32_t *start = one.start;
        const uint8_t *a = one.a;
        int32_t *sums = one.sums;
        int left = rows;
#ifdef OFFSET
        int32_t begin[QUAD_COLUMNS];
        NAME(begin)(&one, start, begin);
        start = begin;
#endif
        for (; left >= MR; left -= MR, a += MR * one.lda, sums += MR * one.ld, one.lines = 0)
            NAME(body)(&one, start, a, sums, MR);
        for (; left >= 2; left -= 2, a += 2 * one.lda, sums += 2 * one.ld, one.lines = 0)
            NAME(body)(&one, start, a, sums, 2);
        if (left) NAME(body)(&one, start, a, sums, 1);
        one.b += one.panel;
        one.start = (const int32_t *)one.start + QUAD_COLUMNS;
        one.sums = (int32_t *)one.sums + QUAD_COLUMNS;
    }
}

#undef NAME
#undef TARGET
#undef MR
#undef A
#undef START
#undef SUMS
#undef X
#undef DOT
#undef OFFSET
