/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quad_tile.h - tiles of products of quads (quad.h) as text, for one set of vectors and one kind of
 * factors.
 *
 * Included with these defined, which stay:
 *     V, A, LANES             vectors of quads and of sums, lanes of one
 *     NAME(x), TARGET         names of what is defined here, and the attribute for the instructions
 *     MR, MP                  rows of a tile of MP panels; panels of a tile, at most
 *     VECTORS                 vectors of a panel
 *     LOAD(p)                 a vector of weights
 *     LOADA(p) STOREA(p, v)   a vector of sums
 *     SPLAT(p)                the quad at p in each lane
 *     DP(acc, x, w)           acc and the products of x and w
 *     PAIR(acc, x, w, y, v)   if defined: acc and the products of x and w and of y and v, for
 *                             quads that the tile marks as QUAD_NARROW
 *     SAFE(acc, x, w)         if defined: DP for quads that it marks as QUAD_SAFE
 *     DIRECT                  if defined: NAME(direct)(acc, t, rows, panel) makes bytes of sums
 * Defines NAME(tile)(rows, panels, tile) and, for tiles of 14 rows, NAME(heights).
 */

/* One quad of each row, a: every third of these; safe: QUAD_SAFE. */
static inline __attribute__((always_inline)) TARGET void NAME(quad)(A (*acc)[MP * VECTORS],
                                                                    const uint8_t **a, int64_t lda,
                                                                    const int8_t *b, int64_t panel,
                                                                    const int rows, const int width,
                                                                    const bool safe) {
    V w[MP * VECTORS];
    (void)safe; /* without SAFE */
#pragma GCC unroll 4
    for (int c = 0; c < width; c++) w[c] = LOAD(b + c / VECTORS * panel + c % VECTORS * 4 * LANES);
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++) {
        V x = SPLAT(a[r / 3] + r % 3 * lda);
#pragma GCC unroll 4
        for (int c = 0; c < width; c++)
#ifdef SAFE
            if (safe) acc[r][c] = SAFE(acc[r][c], x, w[c]);
            else
#endif
                acc[r][c] = DP(acc[r][c], x, w[c]);
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; r += 3) a[r / 3] += QUAD_BYTES;
}

#ifdef PAIR
/* Two quads that are QUAD_NARROW. */
static inline __attribute__((always_inline)) TARGET void NAME(pair)(A (*acc)[MP * VECTORS],
                                                                    const uint8_t **a, int64_t lda,
                                                                    const int8_t *b, int64_t panel,
                                                                    const int rows,
                                                                    const int width) {
    V w[MP * VECTORS], v[MP * VECTORS];
#pragma GCC unroll 4
    for (int c = 0; c < width; c++) {
        const int8_t *at = b + c / VECTORS * panel + c % VECTORS * 4 * LANES;
        w[c] = LOAD(at);
        v[c] = LOAD(at + QUAD_PANEL);
    }
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++) {
        const uint8_t *at = a[r / 3] + r % 3 * lda;
        V x = SPLAT(at), y = SPLAT(at + QUAD_BYTES);
#pragma GCC unroll 4
        for (int c = 0; c < width; c++) acc[r][c] = PAIR(acc[r][c], x, w[c], y, v[c]);
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; r += 3) a[r / 3] += 2 * QUAD_BYTES;
}
#endif

static inline __attribute__((always_inline)) TARGET void NAME(body)(const quad_tile *t,
                                                                    const int rows, int64_t first,
                                                                    const int panels) {
    A acc[MR][MP * VECTORS];
    const int width = panels * VECTORS;
    const int8_t *b = t->b + first * t->panel;
#if !defined PAIR && !defined SAFE
    const int8_t *next = t->lines ? t->next : b; /* without lines one that is there anyway */
    const int64_t step = t->lines ? QUAD_PANEL : 0;
#endif
    int64_t lda = t->lda, panel = t->panel, zeros = (t->filled - t->quads) * QUAD_PANEL;
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (int c = 0; c < width; c++)
            acc[r][c] = LOADA((const int32_t *)t->start + first * QUAD_COLUMNS + c * LANES);
    for (int64_t s = 0; s < t->segments; s++, b += zeros) {
        const uint8_t *a[(MR + 2) / 3];
#pragma GCC unroll 8
        for (int r = 0; r < rows; r += 3) a[r / 3] = t->a + t->segment[s] + r * lda;
        int64_t left = t->quads;
#ifdef PAIR
        const uint8_t *narrow = t->narrow + first * t->narrows + s * quad_pairs(left);
        for (; left > 0; narrow++) {
            for (; *narrow & QUAD_NARROW; narrow++, left -= 2, b += 2 * QUAD_PANEL)
                NAME(pair)(acc, a, lda, b, panel, rows, width);
            for (int i = 0; i < 2 && left > 0; i++, left--, b += QUAD_PANEL)
                NAME(quad)(acc, a, lda, b, panel, rows, width, false);
        }
#elif defined SAFE
        const uint8_t *narrow = t->narrow + first * t->narrows + s * quad_pairs(left);
        for (unsigned marks = *narrow; left > 0; marks = *++narrow)
            for (int i = 0; i < 2 && left > 0; i++, marks >>= 1, left--, b += QUAD_PANEL)
                if (marks & QUAD_SAFE) NAME(quad)(acc, a, lda, b, panel, rows, width, true);
                else NAME(quad)(acc, a, lda, b, panel, rows, width, false);
#else
        for (; left > 0; left--, b += QUAD_PANEL, next += step) {
            __builtin_prefetch(next, 0, 2); /* to the second cache: the first has this panel */
            NAME(quad)(acc, a, lda, b, panel, rows, width, false);
        }
#endif
    }
#ifdef DIRECT
    if (panels == MP && t->bytes) {
        NAME(direct)(acc, t, rows, first);
        return;
    }
#endif
    int32_t *sums = (int32_t *)t->sums + first * QUAD_COLUMNS;
    int64_t ld = t->ld;
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (int c = 0; c < width; c++) STOREA(sums + r * ld + c * LANES, acc[r][c]);
}

/* One function per height, so that the registers are each one's own. */
#define HEIGHT(rows)                                                                               \
    static __attribute__((noinline)) TARGET void NAME(tile_##rows)(const quad_tile *t,             \
                                                                   int64_t first) {                \
        NAME(body)(t, rows, first, MP);                                                            \
    }
HEIGHT(1)
HEIGHT(2)
HEIGHT(4)
#if MR <= 6
HEIGHT(3)
#endif
#if MR == 6
HEIGHT(5)
HEIGHT(6)
#endif
#if MR > 6
HEIGHT(7)
HEIGHT(8)
HEIGHT(14)
#endif
#undef HEIGHT

#if MP > 1
#define HEIGHT(rows)                                                                               \
    static __attribute__((noinline)) TARGET void NAME(half_##rows)(const quad_tile *t) {           \
        NAME(body)(t, rows, 0, 1);                                                                 \
    }
HEIGHT(1)
HEIGHT(2)
HEIGHT(4)
HEIGHT(8)
HEIGHT(14)
#undef HEIGHT

/* The last panel of an odd number: few heights, and what is over in several steps. */
static TARGET void NAME(half)(int rows, const quad_tile *t) {
    static void (*const of[])(const quad_tile *) = {NAME(half_14), NAME(half_8), NAME(half_4),
                                                    NAME(half_2), NAME(half_1)};
    static const int height[] = {14, 8, 4, 2, 1};
    quad_by_heights(rows, t, of, height);
}
#endif

#if MR > 6
/* quad_kernels.heights: no tile of a single row, which waits for its own sums, but where one is
 * left. */
static const uint8_t NAME(heights)[QUAD_HEIGHTS] = {
    0, 1, 2, 2, 4, 4, 4, 7, 8, 7, 8, 7, 8, 7, 14, 8, 8, 8, 14, 8, 8, 14, 14, 8, 8, 14, 14, 14};
#endif

/* MP panels at most, or, of one panel each, as many tiles as there are panels. */
static TARGET void NAME(tile)(int rows, int panels, const quad_tile *t) {
    static void (*const of[])(const quad_tile *, int64_t) = {
#if MR <= 6
        NAME(tile_1),       NAME(tile_2),         NAME(tile_3),       NAME(tile_4),
#endif
#if MR == 6
        NAME(tile_5),       NAME(tile_6),
#endif
#if MR > 6
        [0] = NAME(tile_1), [1] = NAME(tile_2),   [3] = NAME(tile_4), [6] = NAME(tile_7),
        [7] = NAME(tile_8), [13] = NAME(tile_14),
#endif
    };
#if MP > 1
    if (panels == 1) {
        NAME(half)(rows, t);
        return;
    }
    panels = 1;
#endif
    for (int64_t p = 0; p < panels; p++) of[rows - 1](t, p);
}
