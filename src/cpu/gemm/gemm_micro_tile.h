/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm_micro_tile.h - the micro-kernels as text, for one element type and one set of vectors.
 *
 * Included with these defined, once for each pair:
 *     T, V, LANES                       element, vector, elements of a vector
 *     NAME(x)                           names of what is defined here
 *     TARGET                            function attribute that permits the instructions
 *     MR, DOT_ROWS                      rows of a tile and of a dot kernel
 *     ZERO() VLOAD(p) VSTORE(p, v) SET1(x) FMA(a, b, c) MUL(a, b)
 *     LOAD_PART(p, n)                   the first n elements, zeros after them; reads no others
 *     SUM4(p, q, r, s, to)              the sums of four vectors to to[0..3]
 *     FMA_LANE(a, i, b, c)              if defined: c plus b times lane i of a, where that needs no broadcast; MR is a multiple of LANES then
 *     STORE_PART(p, v, n)               the first n elements; writes no others
 *     ADD(a, b) MAX(a, b) MIN(a, b)     of floats: for rows kernels, which others do not have; b where either is nan
 *     INDEX INDEX_LOAD(p) INDEX_NEXT(i) PERMUTE(v, i)       with these: a vector of lanes' numbers (int32_t), the next numbers, and the lanes of v so numbered;
 *     SPREAD                            or instead the gemm_spread_fn, where permutations are as slow as multiplications
 *     MICRO                             declaration of the gemm_micro that is defined
 *     MICRO_HEAD, MICRO_TAIL            its members before the tables and after them
 * All of these are undefined afterwards.
 *
 * Method: each accumulator is a separate variable, so that it is a register with
 * any compiler at any optimisation level. A tile is two vectors wide: per step of k
 * two loads and a broadcast per row feed 2 * MR multiply-adds. Unpacked rows of A
 * share a pointer in threes: an address reaches the other two with the row stride
 * as its index. A dot kernel holds a vector of each row while the columns pass.
 */

#define TILE_ROWS_1(X) X(0)
#define TILE_ROWS_2(X) TILE_ROWS_1(X) X(1)
#define TILE_ROWS_3(X) TILE_ROWS_2(X) X(2)
#define TILE_ROWS_4(X) TILE_ROWS_3(X) X(3)
#define TILE_ROWS_5(X) TILE_ROWS_4(X) X(4)
#define TILE_ROWS_6(X) TILE_ROWS_5(X) X(5)
#define TILE_ROWS_7(X) TILE_ROWS_6(X) X(6)
#define TILE_ROWS_8(X) TILE_ROWS_7(X) X(7)
#define TILE_ROWS_9(X) TILE_ROWS_8(X) X(8)
#define TILE_ROWS_10(X) TILE_ROWS_9(X) X(9)
#define TILE_ROWS_11(X) TILE_ROWS_10(X) X(10)
#define TILE_ROWS_12(X) TILE_ROWS_11(X) X(11)
#define TILE_ROWS_13(X) TILE_ROWS_12(X) X(12)
#define TILE_ROWS_14(X) TILE_ROWS_13(X) X(13)

/* ---- tiles ----------------------------------------------------------------------------------- */

#define TILE_ZERO(i) V x##i = ZERO(), y##i = ZERO();
#ifdef FMA_LANE
/* The factors of some rows are a vector, loaded where its first row needs it. */
#define TILE_A(i)                                                                                  \
    if ((i) % LANES == 0) f = VLOAD(a + (i));
#define TILE_STEP(i)                                                                               \
    TILE_A(i) x##i = FMA_LANE(f, (i) % LANES, b0, x##i), y##i = FMA_LANE(f, (i) % LANES, b1, y##i);
#define TILE_HALF(i) TILE_A(i) x##i = FMA_LANE(f, (i) % LANES, b0, x##i);
#else
#define TILE_STEP(i) f = SET1(a[i]), x##i = FMA(f, b0, x##i), y##i = FMA(f, b1, y##i);
#define TILE_HALF(i) f = SET1(a[i]), x##i = FMA(f, b0, x##i);
#endif
#define TILE_TOUCH(i)                                                                              \
    __builtin_prefetch(c + (i) * ldc, 1), __builtin_prefetch(c + (i) * ldc + 2 * LANES - 1, 1);
/* Addresses are recomputed after the loop: kept across it, they
 * would take registers from it, including vector registers. */
#define TILE_FORGET(c, ldc) __asm__("" : "+r"(c), "+r"(ldc))
#define TILE_SET(i)                                                                                \
    VSTORE(c + (i) * ldc, MUL(alpha, x##i)), VSTORE(c + (i) * ldc + LANES, MUL(alpha, y##i));
#define TILE_BLEND(i)                                                                              \
    VSTORE(c + (i) * ldc, FMA(alpha, x##i, MUL(beta, VLOAD(c + (i) * ldc)))),                      \
        VSTORE(c + (i) * ldc + LANES, FMA(alpha, y##i, MUL(beta, VLOAD(c + (i) * ldc + LANES))));

/* The same for m columns of the first vector and n of the second. */
#define TILE_SET_PART(i)                                                                           \
    STORE_PART(c + (i) * ldc, MUL(alpha, x##i), m),                                                \
        STORE_PART(c + (i) * ldc + LANES, MUL(alpha, y##i), n);
#define TILE_BLENDED(at, v, count) FMA(alpha, v, MUL(beta, LOAD_PART(at, count)))
#define TILE_BLEND_PART(i)                                                                         \
    STORE_PART(c + (i) * ldc, TILE_BLENDED(c + (i) * ldc, x##i, m), m),                            \
        STORE_PART(c + (i) * ldc + LANES, TILE_BLENDED(c + (i) * ldc + LANES, y##i, n), n);

/* Only the largest tile and small tiles have a half-width variant: the
 * remainders at the edges of C are small, and each half is a function. */
#define TILE_HAS_HALF(rows) (MR <= 6 || (rows) == MR)

/* narrow: all columns in use are in the first vector. Prefetches are
 * spread over the steps, so that no load has to wait for them. */
#define TILE(rows)                                                                                 \
    static inline __attribute__((always_inline)) TARGET void NAME(body_##rows)(                    \
        int64_t k, const T *a, const T *b, int64_t ldb, T *c, int64_t ldc, int cols, bool narrow,  \
        T al, T be, const char *prefetch, int lines) {                                             \
        const int m = cols < LANES ? cols : LANES, n = narrow ? 0 : cols - m;                      \
        V f, b0, b1;                                                                               \
        TILE_ROWS_##rows(TILE_TOUCH) TILE_FORGET(c, ldc);                                          \
        TILE_ROWS_##rows(TILE_ZERO) if (narrow) {                                                  \
            for (; k > 0; k--, a += MR, b += ldb) {                                                \
                b0 = VLOAD(b);                                                                     \
                TILE_ROWS_##rows(TILE_HALF)                                                        \
            }                                                                                      \
        }                                                                                          \
        else {                                                                                     \
            for (; k > 0; k -= GEMM_NEAR, prefetch += lines * 64) {                                \
                for (int i = 0; i < lines; i++) __builtin_prefetch(prefetch + i * 64, 0, 2);       \
                for (int steps = k < GEMM_NEAR ? (int)k : GEMM_NEAR; steps > 0;                    \
                     steps--, a += MR, b += ldb) {                                                 \
                    b0 = VLOAD(b), b1 = VLOAD(b + LANES);                                          \
                    TILE_ROWS_##rows(TILE_STEP)                                                    \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
        V alpha = SET1(al), beta = SET1(be);                                                       \
        if ((narrow || n < LANES) && be == 0) {                                                    \
            TILE_ROWS_##rows(TILE_SET_PART)                                                        \
        } else if (narrow || n < LANES) {                                                          \
            TILE_ROWS_##rows(TILE_BLEND_PART)                                                      \
        } else if (be == 0) {                                                                      \
            TILE_ROWS_##rows(TILE_SET)                                                             \
        } else {                                                                                   \
            TILE_ROWS_##rows(TILE_BLEND)                                                           \
        }                                                                                          \
    }                                                                                              \
    static TARGET __attribute__((noinline)) void NAME(whole_##rows)(                               \
        int64_t k, const T *a, const T *b, int64_t ldb, T *c, int64_t ldc, int cols, T al, T be,   \
        const char *prefetch, int lines) {                                                         \
        NAME(body_##rows)(k, a, b, ldb, c, ldc, cols, false, al, be, prefetch, lines);             \
    }                                                                                              \
    static TARGET void NAME(near_##rows)(int64_t k, const void *a, const void *b, int64_t ldb,     \
                                         void *c, int64_t ldc, double al, double be,               \
                                         const void *prefetch, int lines) {                        \
        NAME(whole_##rows)(k, a, b, ldb, c, ldc, 2 * LANES, (T)al, (T)be, prefetch, lines);        \
    }                                                                                              \
    static TARGET void NAME(tile_##rows)(int64_t k, const void *a, const void *b, int64_t ldb,     \
                                         void *c, int64_t ldc, int cols, double al, double be) {   \
        if (TILE_HAS_HALF(rows) && cols <= LANES)                                                  \
            NAME(body_##rows)(k, a, b, ldb, c, ldc, cols, true, (T)al, (T)be, NULL, 0);            \
        else NAME(whole_##rows)(k, a, b, ldb, c, ldc, cols, (T)al, (T)be, b, 0);                   \
    }

TILE(1)
TILE(2)
TILE(3)
TILE(4)
TILE(5)
TILE(6)
#if MR >= 12
TILE(7)
TILE(8)
TILE(9)
TILE(10)
TILE(11)
TILE(12)
#endif
#if MR == 14
TILE(13)
TILE(14)
#define TILE_TABLE                                                                                 \
    NULL, NAME(tile_1), NAME(tile_2), NAME(tile_3), NAME(tile_4), NAME(tile_5), NAME(tile_6),      \
        NAME(tile_7), NAME(tile_8), NAME(tile_9), NAME(tile_10), NAME(tile_11), NAME(tile_12),     \
        NAME(tile_13), NAME(tile_14)
#define NEAR_TABLE                                                                                 \
    NULL, NAME(near_1), NAME(near_2), NAME(near_3), NAME(near_4), NAME(near_5), NAME(near_6),      \
        NAME(near_7), NAME(near_8), NAME(near_9), NAME(near_10), NAME(near_11), NAME(near_12),     \
        NAME(near_13), NAME(near_14)
#define TILE_ROWS_ALL(X) TILE_ROWS_14(X)
#elif MR == 12
#define TILE_TABLE                                                                                 \
    NULL, NAME(tile_1), NAME(tile_2), NAME(tile_3), NAME(tile_4), NAME(tile_5), NAME(tile_6),      \
        NAME(tile_7), NAME(tile_8), NAME(tile_9), NAME(tile_10), NAME(tile_11), NAME(tile_12)
#define NEAR_TABLE                                                                                 \
    NULL, NAME(near_1), NAME(near_2), NAME(near_3), NAME(near_4), NAME(near_5), NAME(near_6),      \
        NAME(near_7), NAME(near_8), NAME(near_9), NAME(near_10), NAME(near_11), NAME(near_12)
#define TILE_ROWS_ALL(X) TILE_ROWS_12(X)
#else
#define TILE_TABLE                                                                                 \
    NULL, NAME(tile_1), NAME(tile_2), NAME(tile_3), NAME(tile_4), NAME(tile_5), NAME(tile_6)
#define NEAR_TABLE                                                                                 \
    NULL, NAME(near_1), NAME(near_2), NAME(near_3), NAME(near_4), NAME(near_5), NAME(near_6)
#define TILE_ROWS_ALL(X) TILE_ROWS_6(X)
#endif

/* ---- a tile of unpacked rows ----------------------------------------------------------------- */

#define LYING_A(i) ((i) < 3 ? a : (i) < 6 ? a3 : (i) < 9 ? a6 : (i) < 12 ? a9 : a12)[(i) % 3 * lda]
#define LYING_STEP(i) f = SET1(LYING_A(i)), x##i = FMA(f, b0, x##i), y##i = FMA(f, b1, y##i);
#define LYING_HALF(i) f = SET1(LYING_A(i)), x##i = FMA(f, b0, x##i);
#define LYING_NEXT a++, a3++, a6++, a9++, a12++, b += ldc

/* narrow: of one vector. Prefetches are spread over
 * the steps, so that no load has to wait for them. */
static inline __attribute__((always_inline)) TARGET void NAME(lying_body)(int64_t k, const T *a,
                                                                          int64_t lda, const T *b,
                                                                          T *c, bool narrow, T al,
                                                                          T be, const T *prefetch,
                                                                          int rows_prefetch) {
    enum { ldc = 2 * LANES, LINE = 64 / sizeof(T) };
    const T *a3 = a + 3 * lda, *a6 = a3 + 3 * lda, *a9 = a6 + 3 * lda, *a12 = a9 + 3 * lda;
    V f, b0, b1;
    TILE_ROWS_ALL(TILE_ZERO)
    for (; k > 0; k -= LINE, prefetch += LINE) {
        for (int r = 0; r < rows_prefetch; r++) __builtin_prefetch(prefetch + r * lda, 0, 2);
        int steps = k < LINE ? (int)k : LINE;
        if (narrow) {
            for (; steps > 0; steps--, LYING_NEXT) {
                b0 = VLOAD(b);
                TILE_ROWS_ALL(LYING_HALF)
            }
        } else {
            for (; steps > 0; steps--, LYING_NEXT) {
                b0 = VLOAD(b), b1 = VLOAD(b + LANES);
                TILE_ROWS_ALL(LYING_STEP)
            }
        }
    }
    V alpha = SET1(al), beta = SET1(be);
    if (be == 0) {
        TILE_ROWS_ALL(TILE_SET)
    } else {
        TILE_ROWS_ALL(TILE_BLEND)
    }
}

/* Two functions, for each has registers of its own. */
static TARGET void NAME(lying_half)(int64_t k, const T *a, int64_t lda, const T *b, T *c, T al,
                                    T be, const T *prefetch, int rows_prefetch) {
    NAME(lying_body)(k, a, lda, b, c, true, al, be, prefetch, rows_prefetch);
}

static TARGET void NAME(lying_whole)(int64_t k, const T *a, int64_t lda, const T *b, T *c, T al,
                                     T be, const T *prefetch, int rows_prefetch) {
    NAME(lying_body)(k, a, lda, b, c, false, al, be, prefetch, rows_prefetch);
}

static TARGET void NAME(lying)(int64_t k, const void *a, int64_t lda, const void *b, void *c,
                               int cols, double al, double be, const void *prefetch,
                               int rows_prefetch) {
    (cols <= LANES ? NAME(lying_half) : NAME(lying_whole))(k, a, lda, b, c, (T)al, (T)be, prefetch,
                                                           rows_prefetch);
}

/* ---- rows in segments ------------------------------------------------------------------------ */

#ifdef ADD

#define ROWS_A(i) ((i) < 3 ? a : (i) < 6 ? a3 : (i) < 9 ? a6 : (i) < 12 ? a9 : a12)[(i) % 3 * lda]
#define ROWS_STEP(i) f = SET1(ROWS_A(i)), x##i = FMA(f, b0, x##i), y##i = FMA(f, b1, y##i);
#define ROWS_HALF(i) f = SET1(ROWS_A(i)), x##i = FMA(f, b0, x##i);
#define ROWS_LOAD_X(p) (half && part ? LOAD_PART(p, left) : VLOAD(p))
#define ROWS_LOAD_Y(p) (part ? LOAD_PART((p) + LANES, left - LANES) : VLOAD((p) + LANES))
#define ROWS_ADD(i, p)                                                                             \
    x##i = ADD(x##i, ROWS_LOAD_X((p) + (i) * ldc)),                                                \
    y##i = half ? y##i : ADD(y##i, ROWS_LOAD_Y((p) + (i) * ldc));
#define ROWS_ADD_C(i) ROWS_ADD(i, c)
#define ROWS_ADD_OTHER(i) ROWS_ADD(i, other)
#define ROWS_ADD_BIAS(i) x##i = ADD(x##i, b0), y##i = ADD(y##i, b1);
#define ROWS_CLAMP(i) x##i = MIN(b1, MAX(b0, x##i)), y##i = MIN(b1, MAX(b0, y##i));
#define ROWS_STORE(i)                                                                              \
    if (half && part) STORE_PART(c + (i) * ldc, x##i, left);                                       \
    else VSTORE(c + (i) * ldc, x##i);                                                              \
    if (!half && part) STORE_PART(c + (i) * ldc + LANES, y##i, left - LANES);                      \
    else if (!half) VSTORE(c + (i) * ldc + LANES, y##i);

/* The epilogue of the sums. half: of one vector, or else of two; part: only a part of the last
 * one is used. A masked store has to read the line first, even if it covers all of it. */
#define ROWS_ENDS(rows)                                                                            \
    if (r->ends & GEMM_ADD_C) {                                                                    \
        TILE_ROWS_##rows(ROWS_ADD_C)                                                               \
    }                                                                                              \
    if (r->ends & GEMM_ADD_BIAS) {                                                                 \
        b0 = ROWS_LOAD_X(r->bias), b1 = half ? b0 : ROWS_LOAD_Y(r->bias);                          \
        TILE_ROWS_##rows(ROWS_ADD_BIAS)                                                            \
    }                                                                                              \
    if (r->ends & GEMM_ADD_OTHER) {                                                                \
        TILE_ROWS_##rows(ROWS_ADD_OTHER)                                                           \
    }                                                                                              \
    if (r->ends & GEMM_CLAMP) {                                                                    \
        b0 = SET1(r->low), b1 = SET1(r->high);                                                     \
        TILE_ROWS_##rows(ROWS_CLAMP)                                                               \
    }                                                                                              \
    TILE_ROWS_##rows(ROWS_STORE)

/* A function that does `tile` for some of them. */
#define ROWS_TILES(name, rows, tile)                                                               \
    static TARGET __attribute__((noinline)) void NAME(name)(const gemm_rows *r, int64_t tiles,     \
                                                            const T *a, T *c, const T *other,      \
                                                            const char *prefetch) {                \
        const int64_t down = (rows) * r->ldc, from = (rows) * r->lda, share = r->share;            \
        const bool more = r->ends & GEMM_ADD_OTHER;                                                \
        for (; tiles > 0; tiles--, a += from, c += down, prefetch += share) {                      \
            tile;                                                                                  \
            if (more) other += down;                                                               \
        }                                                                                          \
    }

#define ROWS(rows)                                                                                 \
    static inline __attribute__((always_inline)) TARGET void NAME(rows_tile_##rows)(               \
        const gemm_rows *r, const T *tile, T *c, const T *other, const char *prefetch,             \
        bool half) {                                                                               \
        const int64_t lda = r->lda, ldc = r->ldc, nr = r->nr;                                      \
        const int lines = r->lines, left = r->cols;                                                \
        V f, b0, b1;                                                                               \
        TILE_ROWS_##rows(TILE_ZERO) for (int64_t s = 0; s < r->segments; s++) {                    \
            const T *a = tile + r->segment[s].a, *b = r->b + r->segment[s].b;                      \
            const T *a3 = a + 3 * lda, *a6 = a3 + 3 * lda, *a9 = a6 + 3 * lda,                     \
                    *a12 = a9 + 3 * lda;                                                           \
            for (int64_t k = r->segment[s].k; k > 0; k -= GEMM_NEAR, prefetch += lines * 64) {     \
                for (int i = 0; i < lines; i++) __builtin_prefetch(prefetch + i * 64, 0, 2);       \
                for (int steps = k < GEMM_NEAR ? (int)k : GEMM_NEAR; steps > 0;                    \
                     steps--, a++, a3++, a6++, a9++, a12++, b += half ? nr : 2 * LANES) {          \
                    b0 = VLOAD(b);                                                                 \
                    if (half) {                                                                    \
                        TILE_ROWS_##rows(ROWS_HALF)                                                \
                    } else {                                                                       \
                        b1 = VLOAD(b + LANES);                                                     \
                        TILE_ROWS_##rows(ROWS_STEP)                                                \
                    }                                                                              \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
        if (left == (half ? LANES : 2 * LANES)) {                                                  \
            enum { part = false };                                                                 \
            ROWS_ENDS(rows)                                                                        \
        } else {                                                                                   \
            enum { part = true };                                                                  \
            ROWS_ENDS(rows)                                                                        \
        }                                                                                          \
    }                                                                                              \
    ROWS_TILES(rows_half_##rows, rows, NAME(rows_tile_##rows)(r, a, c, other, prefetch, true))     \
    ROWS_TILES(rows_whole_##rows, rows, NAME(rows_tile_##rows)(r, a, c, other, prefetch, false))   \
    static void NAME(rows_##rows)(const gemm_rows *r, int64_t tiles, const T *a, T *c,             \
                                  const T *other, const char *prefetch) {                          \
        (r->cols <= LANES ? NAME(rows_half_##rows) : NAME(rows_whole_##rows))(r, tiles, a, c,      \
                                                                              other, prefetch);    \
    }

ROWS(1)
ROWS(2)
ROWS(3)
ROWS(4)
ROWS(5)
ROWS(6)
#if MR >= 12
ROWS(7)
ROWS(8)
ROWS(9)
ROWS(10)
ROWS(11)
ROWS(12)
#endif
#if MR == 14
ROWS(13)
ROWS(14)
#define ROWS_TABLE                                                                                 \
    NULL, NAME(rows_1), NAME(rows_2), NAME(rows_3), NAME(rows_4), NAME(rows_5), NAME(rows_6),      \
        NAME(rows_7), NAME(rows_8), NAME(rows_9), NAME(rows_10), NAME(rows_11), NAME(rows_12),     \
        NAME(rows_13), NAME(rows_14)
#elif MR == 12
#define ROWS_TABLE                                                                                 \
    NULL, NAME(rows_1), NAME(rows_2), NAME(rows_3), NAME(rows_4), NAME(rows_5), NAME(rows_6),      \
        NAME(rows_7), NAME(rows_8), NAME(rows_9), NAME(rows_10), NAME(rows_11), NAME(rows_12)
#else
#define ROWS_TABLE                                                                                 \
    NULL, NAME(rows_1), NAME(rows_2), NAME(rows_3), NAME(rows_4), NAME(rows_5), NAME(rows_6)
#endif

/* ---- tiles of one vector --------------------------------------------------------------------- */

#define ONE_STEP_GROUPS(i) f = PERMUTE(VLOAD(&ROWS_A(i)), lanes), x##i = FMA(f, b0, x##i);
#define ONE_STEP_VECTORS(i) f = VLOAD(&ROWS_A(i)), x##i = FMA(f, b0, x##i);
#define ONE_STEP_NARROW(i) f = SET1(ROWS_A(i)), x##i = FMA(f, b0, x##i);
#define ONE_BEGIN_GROUPS INDEX lanes = INDEX_LOAD(r->lanes);
#define ONE_BEGIN_VECTORS
#define ONE_BEGIN_NARROW
#define ONE_NEXT_GROUPS lanes = INDEX_NEXT(lanes)
#define ONE_NEXT_VECTORS a += LANES, a3 += LANES, a6 += LANES, a9 += LANES, a12 += LANES
#define ONE_NEXT_NARROW a++, a3++, a6++, a9++, a12++

/* Of KIND
 *     GROUPS    some groups of channels side by side: at each step a lane multiplies the next one of its own group's
 *     VECTORS   the same for spread pixels: a vector for each step
 *     NARROW    as ROWS, for panels of one vector: the more rows the fewer loads of b, and the more chains */
#define ONE(KIND, name, rows)                                                                      \
    static inline __attribute__((always_inline)) TARGET void NAME(name##_tile_##rows)(             \
        const gemm_rows *r, const T *tile, T *c, const T *other) {                                 \
        enum { half = true };                                                                      \
        const int64_t lda = r->lda, ldc = r->ldc;                                                  \
        const int left = r->cols;                                                                  \
        V f, b0, b1;                                                                               \
        TILE_ROWS_##rows(TILE_ZERO) for (int64_t s = 0; s < r->segments; s++) {                    \
            const T *a = tile + r->segment[s].a, *b = r->b + r->segment[s].b;                      \
            const T *a3 = a + 3 * lda, *a6 = a3 + 3 * lda, *a9 = a6 + 3 * lda,                     \
                    *a12 = a9 + 3 * lda;                                                           \
            ONE_BEGIN_##KIND for (int64_t k = r->segment[s].k; k > 0;                              \
                                  k--, b += LANES, ONE_NEXT_##KIND) {                              \
                b0 = VLOAD(b);                                                                     \
                TILE_ROWS_##rows(ONE_STEP_##KIND)                                                  \
            }                                                                                      \
        }                                                                                          \
        if (left == LANES) {                                                                       \
            enum { part = false };                                                                 \
            ROWS_ENDS(rows)                                                                        \
        } else {                                                                                   \
            enum { part = true };                                                                  \
            ROWS_ENDS(rows)                                                                        \
        }                                                                                          \
    }                                                                                              \
    ROWS_TILES(name##_##rows, rows, NAME(name##_tile_##rows)(r, a, c, other))

/* Functions of two parameters and the number of rows. */
#define EACH_12(X, a, b)                                                                           \
    X(a, b, 1)                                                                                     \
    X(a, b, 2)                                                                                     \
    X(a, b, 3)                                                                                     \
    X(a, b, 4)                                                                                     \
    X(a, b, 5)                                                                                     \
    X(a, b, 6)                                                                                     \
    X(a, b, 7)                                                                                     \
    X(a, b, 8)                                                                                     \
    X(a, b, 9)                                                                                     \
    X(a, b, 10)                                                                                    \
    X(a, b, 11)                                                                                    \
    X(a, b, 12)
#define ONE_TABLE_12(name)                                                                         \
    NULL, NAME(name##_1), NAME(name##_2), NAME(name##_3), NAME(name##_4), NAME(name##_5),          \
        NAME(name##_6), NAME(name##_7), NAME(name##_8), NAME(name##_9), NAME(name##_10),           \
        NAME(name##_11), NAME(name##_12)

#ifdef SPREAD
EACH_12(ONE, VECTORS, groups)
EACH_12(ONE, NARROW, narrow)
#define NARROW_TABLE ONE_TABLE_12(narrow)
#define GROUPS_TABLE ONE_TABLE_12(groups)
#else
EACH_12(ONE, GROUPS, groups)
ONE(GROUPS, groups, 13)
ONE(GROUPS, groups, 14)
#define SPREAD NULL
#define NARROW_TABLE ROWS_TABLE
#define GROUPS_TABLE ONE_TABLE_12(groups), NAME(groups_13), NAME(groups_14)

/* ---- rows of three taps ---------------------------------------------------------------------- */

/* What becomes of the sums of a tile of one vector. */
static TARGET void NAME(taps_ends)(const gemm_rows *r, int rows, const V *sums, T *c,
                                   const T *other) {
    const bool part = r->cols < LANES;
    const int left = r->cols;
    V bias = ZERO(), low = SET1(r->low), high = SET1(r->high);
    if (r->ends & GEMM_ADD_BIAS) bias = LOAD_PART(r->bias, left);
    for (int i = 0; i < rows; i++, c += r->ldc) {
        V x = sums[i];
        if (r->ends & GEMM_ADD_C) x = ADD(x, LOAD_PART(c, left));
        if (r->ends & GEMM_ADD_BIAS) x = ADD(x, bias);
        if (r->ends & GEMM_ADD_OTHER) x = ADD(x, LOAD_PART(other + i * r->ldc, left));
        if (r->ends & GEMM_CLAMP) x = MIN(high, MAX(low, x));
        if (part) STORE_PART(c, x, left);
        else VSTORE(c, x);
    }
}

#define TAPS_GROUPS(at) PERMUTE(VLOAD(at), lanes)
#define TAPS_NARROW(at) SET1(*(at))
#define TAPS_NEXT_GROUPS lanes = INDEX_NEXT(lanes)
#define TAPS_NEXT_NARROW a++
#define TAPS_ADD(i) x##i = FMA(f0, b0, x##i), x##i = FMA(f1, b1, x##i), x##i = FMA(f2, b2, x##i);
/* Of result i; the pixels before its last ones were another's. */
#define TAPS_BEGIN_1(KIND) f0 = TAPS_##KIND(a), f1 = TAPS_##KIND(a + LANES)
#define TAPS_BEGIN_2(KIND) f0 = TAPS_##KIND(a)
#define TAPS_STEP_1(KIND, i)                                                                       \
    f2 = TAPS_##KIND(a + ((i) + 2) * LANES);                                                       \
    TAPS_ADD(i) f0 = f1, f1 = f2;
#define TAPS_STEP_2(KIND, i)                                                                       \
    f1 = TAPS_##KIND(a + (2 * (i) + 1) * LANES), f2 = TAPS_##KIND(a + (2 * (i) + 2) * LANES);      \
    TAPS_ADD(i) f0 = f2;
#define TAPS_STEP_GROUPS_1(i) TAPS_STEP_1(GROUPS, i)
#define TAPS_STEP_GROUPS_2(i) TAPS_STEP_2(GROUPS, i)
#define TAPS_STEP_NARROW_1(i) TAPS_STEP_1(NARROW, i)
#define TAPS_STEP_NARROW_2(i) TAPS_STEP_2(NARROW, i)
#define TAPS_ZERO(i) V x##i = ZERO();
#define TAPS_KEEP(i) sums[i] = x##i;

#define TAPS(KIND, stride, rows)                                                                   \
    static TARGET void NAME(taps_##KIND##_##stride##_##rows)(const gemm_rows *r, int64_t tiles,    \
                                                             const T *tile, T *c, const T *other,  \
                                                             const char *prefetch) {               \
        const int64_t down = (rows) * r->ldc;                                                      \
        V f0, f1, f2, b0, b1, b2, sums[rows];                                                      \
        (void)prefetch;                                                                            \
        for (; tiles > 0; tiles--, tile += (rows) * (stride) * LANES, c += down) {                 \
            TILE_ROWS_##rows(TAPS_ZERO) for (int64_t s = 0; s < r->segments; s++) {                \
                const T *a = tile + r->segment[s].a, *b = r->b + r->segment[s].b;                  \
                const int64_t depth = r->segment[s].k, tap = depth * LANES;                        \
                ONE_BEGIN_##KIND for (int64_t k = depth; k > 0;                                    \
                                      k--, b += LANES, TAPS_NEXT_##KIND) {                         \
                    b0 = VLOAD(b), b1 = VLOAD(b + tap), b2 = VLOAD(b + 2 * tap);                   \
                    TAPS_BEGIN_##stride(KIND);                                                     \
                    TILE_ROWS_##rows(TAPS_STEP_##KIND##_##stride)                                  \
                }                                                                                  \
            }                                                                                      \
            TILE_ROWS_##rows(TAPS_KEEP) NAME(taps_ends)(r, rows, sums, c, other);                  \
            if (r->ends & GEMM_ADD_OTHER) other += down;                                           \
        }                                                                                          \
    }
#define TAPS_ALL(KIND, stride)                                                                     \
    EACH_12(TAPS, KIND, stride)                                                                    \
    TAPS(KIND, stride, 13)                                                                         \
    TAPS(KIND, stride, 14)
TAPS_ALL(GROUPS, 1)
TAPS_ALL(GROUPS, 2)
TAPS_ALL(NARROW, 1)
TAPS_ALL(NARROW, 2)
#define TAPS_TABLE(name) {ONE_TABLE_12(name), NAME(name##_13), NAME(name##_14)}
#define GROUP_TAPS_TABLES TAPS_TABLE(taps_GROUPS_1), TAPS_TABLE(taps_GROUPS_2)
#define NARROW_TAPS_TABLES TAPS_TABLE(taps_NARROW_1), TAPS_TABLE(taps_NARROW_2)
#endif

#else
#define ROWS_TABLE NULL
#define GROUPS_TABLE NULL
#define NARROW_TABLE NULL
#define SPREAD NULL
#endif
#ifndef GROUP_TAPS_TABLES
#define GROUP_TAPS_TABLES {NULL}
#define NARROW_TAPS_TABLES {NULL}
#endif

/* ---- dot kernels ----------------------------------------------------------------------------- */

#define DOT_ZERO(i) V p##i = ZERO(), q##i = ZERO(), r##i = ZERO(), s##i = ZERO();
#define DOT_LOAD(i) V f##i = VLOAD(a + (i) * lda + x);
#define DOT_LOAD_PART(i) V f##i = LOAD_PART(a + (i) * lda + x, k - x);
#define DOT_STEP_P(i) p##i = FMA(f##i, w, p##i);
#define DOT_STEP_Q(i) q##i = FMA(f##i, w, q##i);
#define DOT_STEP_R(i) r##i = FMA(f##i, w, r##i);
#define DOT_STEP_S(i) s##i = FMA(f##i, w, s##i);
#define DOT_OUT(i)                                                                                 \
    SUM4(p##i, q##i, r##i, s##i, sum);                                                             \
    if (cols == 4) NAME(dot_out)(c + (i) * ldc, sum, (T)al, (T)be);                                \
    else                                                                                           \
        for (int j = 0; j < cols; j++) {                                                           \
            T *to = c + (i) * ldc + j;                                                             \
            *to = be == 0 ? (T)al * sum[j] : (T)be * *to + (T)al * sum[j];                         \
        }

typedef T NAME(four) __attribute__((vector_size(4 * sizeof(T)), aligned(sizeof(T)), may_alias));

static inline TARGET void NAME(dot_out)(T *c, const T *sum, T al, T be) {
    NAME(four) v = al * *(const NAME(four) *)sum;
    if (be != 0) v = be * *(NAME(four) *)c + v;
    *(NAME(four) *)c = v;
}

#define DOT(rows)                                                                                  \
    static TARGET void NAME(dot_##rows)(int64_t k, const void *pa, int64_t lda, const void *pb,    \
                                        int64_t ldb, void *pc, int64_t ldc, int cols, double al,   \
                                        double be) {                                               \
        const T *a = pa, *b0 = pb; /* columns that are missing are computed from the first */      \
        const T *b1 = b0 + (cols > 1 ? ldb : 0), *b2 = b0 + (cols > 2 ? 2 * ldb : 0),              \
                *b3 = b0 + (cols > 3 ? 3 * ldb : 0);                                               \
        T *c = pc, sum[4];                                                                         \
        V w;                                                                                       \
        int64_t x = 0;                                                                             \
        TILE_ROWS_##rows(DOT_ZERO) for (; x + LANES <= k; x += LANES) {                            \
            TILE_ROWS_##rows(DOT_LOAD) w = VLOAD(b0 + x);                                          \
            TILE_ROWS_##rows(DOT_STEP_P) w = VLOAD(b1 + x);                                        \
            TILE_ROWS_##rows(DOT_STEP_Q) w = VLOAD(b2 + x);                                        \
            TILE_ROWS_##rows(DOT_STEP_R) w = VLOAD(b3 + x);                                        \
            TILE_ROWS_##rows(DOT_STEP_S)                                                           \
        }                                                                                          \
        if (x < k) {                                                                               \
            TILE_ROWS_##rows(DOT_LOAD_PART) w = LOAD_PART(b0 + x, k - x);                          \
            TILE_ROWS_##rows(DOT_STEP_P) w = LOAD_PART(b1 + x, k - x);                             \
            TILE_ROWS_##rows(DOT_STEP_Q) w = LOAD_PART(b2 + x, k - x);                             \
            TILE_ROWS_##rows(DOT_STEP_R) w = LOAD_PART(b3 + x, k - x);                             \
            TILE_ROWS_##rows(DOT_STEP_S)                                                           \
        }                                                                                          \
        TILE_ROWS_##rows(DOT_OUT)                                                                  \
    }

DOT(1)
DOT(2)
DOT(3)
#if DOT_ROWS == 6
DOT(4)
DOT(5)
DOT(6)
#define DOT_TABLE NULL, NAME(dot_1), NAME(dot_2), NAME(dot_3), NAME(dot_4), NAME(dot_5), NAME(dot_6)
#else
#define DOT_TABLE NULL, NAME(dot_1), NAME(dot_2), NAME(dot_3)
#endif

/* ---- one row --------------------------------------------------------------------------------- */

/* c += the sum of 8 (count) rows of b times a: rows are read side by side from end to end. */
static inline __attribute__((always_inline)) TARGET void NAME(row_steps)(int64_t n, int count,
                                                                         const T *a, const T *b,
                                                                         int64_t ldb, T *c) {
    V f[8];
    T part[LANES];
    int64_t j = 0;
    for (int i = 0; i < count; i++) f[i] = SET1(a[i]);
    for (; j + LANES <= n; j += LANES) {
        V v = VLOAD(c + j);
#pragma GCC unroll 8
        for (int i = 0; i < count; i++) v = FMA(f[i], VLOAD(b + i * ldb + j), v);
        VSTORE(c + j, v);
    }
    if (j == n) return;
    V v = LOAD_PART(c + j, n - j);
    for (int i = 0; i < count; i++) v = FMA(f[i], LOAD_PART(b + i * ldb + j, n - j), v);
    VSTORE(part, v);
    for (int64_t i = 0; j + i < n; i++) c[j + i] = part[i];
}

static TARGET void NAME(row)(int64_t n, int64_t k, const void *pa, int64_t as, const void *pb,
                             int64_t ldb, void *pc, double al, double be) {
    const T *a = pa, *b = pb;
    T *c = pc, scaled[8];
    for (int64_t j = 0; j < n; j++) c[j] = be == 0 ? 0 : (T)be * c[j];
    for (; k > 0; k -= 8, a += 8 * as, b += 8 * ldb) {
        int count = k < 8 ? (int)k : 8;
        for (int i = 0; i < count; i++) scaled[i] = (T)al * a[i * as];
        if (count == 8) NAME(row_steps)(n, 8, scaled, b, ldb, c);
        else
            for (int i = 0; i < count; i++) NAME(row_steps)(n, 1, scaled + i, b + i * ldb, ldb, c);
    }
}

/* ---- one row and a panel --------------------------------------------------------------------- */

#define STREAM_STEP(i)                                                                             \
    f = SET1(a[i]), x##i = FMA(f, VLOAD(b + (i) * 2 * LANES), x##i),                               \
    y##i = FMA(f, VLOAD(b + ((i) * 2 + 1) * LANES), y##i);

/* Chains of four steps each: one alone would wait for itself. The panel comes from far: half of its
 * lines would be late if the processor alone saw the stream. */
static TARGET void NAME(stream)(int64_t k, const void *pa, const void *pb, void *pc, int cols,
                                double al, double be) {
    enum { PREFETCH = 2048, LINES = 4 * 2 * LANES * sizeof(T) / 64 };
    const T *a = pa, *b = pb;
    T *c = pc, part[2 * LANES];
    V f;
    TILE_ROWS_4(TILE_ZERO)
    for (; k >= 4; k -= 4, a += 4, b += 4 * 2 * LANES) {
#pragma GCC unroll 8
        for (int i = 0; i < (int)LINES; i++)
            __builtin_prefetch((const char *)b + PREFETCH + i * 64);
        TILE_ROWS_4(STREAM_STEP)
    }
    for (; k > 0; k--, a++, b += 2 * LANES) {
        TILE_ROWS_1(STREAM_STEP)
    }
    V one = SET1(1), alpha = SET1((T)al), beta = SET1((T)be);
    x0 = MUL(alpha, FMA(one, FMA(one, x0, x1), FMA(one, x2, x3))),
    y0 = MUL(alpha, FMA(one, FMA(one, y0, y1), FMA(one, y2, y3)));
    T *to = cols == 2 * LANES ? c : part;
    if (be != 0) {
        for (int j = 0; to == part && j < 2 * LANES; j++) part[j] = j < cols ? c[j] : 0;
        x0 = FMA(beta, VLOAD(to), x0), y0 = FMA(beta, VLOAD(to + LANES), y0);
    }
    VSTORE(to, x0), VSTORE(to + LANES, y0);
    for (int j = 0; to == part && j < cols; j++) c[j] = part[j];
}

MICRO = {MICRO_HEAD,
         .size = sizeof(T),
         .lanes = LANES,
         .mr = MR,
         .nr = 2 * LANES,
         .dot_rows = DOT_ROWS,
         .tile = {TILE_TABLE},
         .near = {NEAR_TABLE},
         .lying = NAME(lying),
         .dot = {DOT_TABLE},
         .row = NAME(row),
         .rows = {ROWS_TABLE},
         .groups = {GROUPS_TABLE},
         .narrow = {NARROW_TABLE},
         .group_taps = {GROUP_TAPS_TABLES},
         .narrow_taps = {NARROW_TAPS_TABLES},
         .spread = SPREAD,
         .stream = NAME(stream),
         MICRO_TAIL};

#undef T
#undef V
#undef LANES
#undef NAME
#undef TARGET
#undef MR
#undef DOT_ROWS
#undef ZERO
#undef VLOAD
#undef VSTORE
#undef SET1
#undef FMA
#undef FMA_LANE
#undef TILE_STEP
#undef TILE_HALF
#undef MUL
#undef LOAD_PART
#undef SUM4
#undef ADD
#undef MAX
#undef MIN
#undef STORE_PART
#undef ROWS_TABLE
#undef GROUPS_TABLE
#undef NARROW_TABLE
#undef GROUP_TAPS_TABLES
#undef NARROW_TAPS_TABLES
#undef SPREAD
#undef INDEX
#undef INDEX_LOAD
#undef INDEX_NEXT
#undef PERMUTE
#undef TILE_TABLE
#undef NEAR_TABLE
#undef TILE_ROWS_ALL
#undef DOT_TABLE
#undef MICRO
#undef MICRO_HEAD
#undef MICRO_TAIL
