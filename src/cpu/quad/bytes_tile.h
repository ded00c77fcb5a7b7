/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bytes_tile.h - the micro-kernels of products of bytes as text, for one set of vectors.
 *
 * Included with these defined, once for each way to multiply; those of the first part are undefined
 * afterwards:
 *     NAME(x), TARGET         names of what is defined here, and the attribute for the instructions
 *     MR                      rows of a tile of MP panels
 *     MP                      panels of a tile, at most
 *     DEPTH                   results of a depthwise convolution that are made together
 *     DP(acc, x, w)           acc and the products of unsigned bytes x and signed bytes w
 *     PAIR, SAFE              quad_tile.h; may be left out
 *     SUMS_ONLY               if defined: neither store nor spread, which do not multiply
 *     TILE_ELSEWHERE          if defined: no tiles, which need MR, MP, SPLAT and PAIR
 *     DIRECT                  if defined: full tiles store bytes (quad_tile.bytes); they have two
 *                             vectors to a row
 *
 *     V, F, LANES             vectors of int32 and of float, lanes of one
 *     LOAD(p) STORE(p, v)     a vector
 *     SPLAT(p)                the four bytes at p in each lane
 *     LOADF(p)                a vector of float
 *     FLOAT(v) INT(f) ADDF MULF MINF SETF
 *     SET8 SET16              a number in each lane of 8 or 16 bits
 *     PACK16 PACK8 ADD16      four bytes to two, two to one, sums of two, all saturating
 *     MAX8 XOR                the larger bytes; bits
 *     PUT(p, v, n)            n bytes of v
 *     PUT_ROWS(p, q, v, n)    of v, as NAME(bytes) leaves them, the bytes of the first two vectors to p,
 *                             those of the others to q, n of each (or all); q may be NULL
 *     GET(p, n)               n bytes, and zeros, as a vector of 4 * LANES
 *     LO8 HI8 LO16 HI16       interleaving within 128 bits
 */

/* Numbers of sums, at most hi. The order of operands is what a sum that is not a number, of a scale
 * that is none, comes to. */
static inline __attribute__((always_inline)) TARGET V NAME(round)(V sum, F scale, F steps, F hi,
                                                                  const bool whole) {
    F v = FLOAT(sum);
    if (!whole) v = ADDF(v, steps);
    return INT(MINF(hi, MULF(v, scale)));
}

typedef struct NAME(ends) {
    V zero, least, flip;
} NAME(ends);

/* Four vectors of numbers as bytes, of each 128 bits those of the first in front. */
static inline __attribute__((always_inline)) TARGET V NAME(bytes)(const V *v,
                                                                  const NAME(ends) * e) {
    V a = ADD16(PACK16(v[0], v[1]), e->zero), b = ADD16(PACK16(v[2], v[3]), e->zero);
    return XOR(MAX8(PACK8(a, b), e->least), e->flip);
}
#define ENDS(to)                                                                                   \
    {SET16((int16_t)(to)->zero), SET8((char)((int32_t)(to)->lo + (to)->zero)),                     \
     SET8((char)(to)->flip)}

#ifdef DIRECT
/* The sums of a tile as bytes (quant_bytes.plain), from where they are; first: its first panel. */
static inline __attribute__((always_inline)) TARGET void NAME(direct)(V (*acc)[2],
                                                                      const quad_tile *t,
                                                                      const int rows,
                                                                      int64_t first) {
    const quant_bytes *to = t->bytes;
    const float *scales = to->scale + first * QUAD_COLUMNS;
    F scale[] = {LOADF(scales), LOADF(scales + LANES)};
    V zero = SET16((int16_t)to->zero);
    uint8_t *out = t->out + first * QUAD_COLUMNS;
    int64_t ldc = t->ldc;
#pragma GCC unroll 8
    for (int r = 0; r < rows; r += 2, out += 2 * ldc) {
        const int second = r + 1 < rows ? r + 1 : r;
        V v[4];
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++)
            v[i] = INT(MULF(FLOAT(acc[i < 2 ? r : second][i % 2]), scale[i % 2]));
        V a = ADD16(PACK16(v[0], v[1]), zero), b = ADD16(PACK16(v[2], v[3]), zero);
        PUT_ROWS(out, second > r ? out + ldc : NULL, PACK8(a, b), 2 * LANES);
    }
}
#endif

#ifndef TILE_ELSEWHERE
#define VECTORS (QUAD_COLUMNS / LANES)
#define A V
#define LOADA LOAD
#define STOREA STORE
#include "cpu/quad/quad_tile.h"
#endif

#ifndef SUMS_ONLY
/* Two rows of two vectors. */
static inline __attribute__((always_inline)) TARGET void NAME(store_as)(const int32_t *sums,
                                                                        int rows, int cols,
                                                                        const quant_bytes *to,
                                                                        uint8_t *out, int64_t ldc,
                                                                        const bool whole) {
    F hi = SETF(to->hi);
    NAME(ends) ends = ENDS(to);
    for (int c = 0; c < cols; c += 2 * LANES) {
        int second = c + LANES < cols ? c + LANES : c, n = cols - c;
        F scale[] = {LOADF(to->scale + c), LOADF(to->scale + second)},
          steps[] = {LOADF(to->steps + c), LOADF(to->steps + second)};
        const int32_t *from = sums + c;
        uint8_t *p = out + c;
        for (int r = 0; r < rows; r += 2, p += 2 * ldc) {
            V v[4];
#pragma GCC unroll 4
            for (int i = 0; i < 4; i++)
                v[i] = NAME(round)(
                    LOAD(from + i % 2 * LANES + (r + i / 2 < rows ? i / 2 : 0) * QUAD_TILE_COLUMNS),
                    scale[i % 2], steps[i % 2], hi, whole);
            PUT_ROWS(p, r + 1 < rows ? p + ldc : NULL, NAME(bytes)(v, &ends), n);
            from += 2 * QUAD_TILE_COLUMNS;
        }
    }
}

static TARGET void NAME(store)(const int32_t *sums, int rows, int cols, const quant_bytes *to,
                               uint8_t *out, int64_t ldc) {
    if (to->whole) NAME(store_as)(sums, rows, cols, to, out, ldc, true);
    else NAME(store_as)(sums, rows, cols, to, out, ldc, false);
}

static TARGET void NAME(spread)(const uint8_t *const row[4], const int64_t step[4], int64_t count,
                                int64_t channels, uint8_t *to, int64_t next) {
    const uint8_t *r0 = row[0], *r1 = row[1], *r2 = row[2], *r3 = row[3];
    for (int64_t i = 0; i < count; i++, to += next) {
        V a = GET(r0, channels), b = GET(r1, channels), c = GET(r2, channels),
          d = GET(r3, channels), ab = LO8(a, b), cd = LO8(c, d);
        STORE(to, LO16(ab, cd));
        STORE(to + 4 * LANES, HI16(ab, cd));
        ab = HI8(a, b), cd = HI8(c, d);
        STORE(to + 8 * LANES, LO16(ab, cd));
        STORE(to + 12 * LANES, HI16(ab, cd));
        r0 += step[0], r1 += step[1], r2 += step[2], r3 += step[3];
    }
}
#endif

/* ---- one channel per group ------------------------------------------------------------------- */

static inline __attribute__((always_inline)) TARGET void NAME(together)(const quant_depthwise *d,
                                                                        int64_t o, const int n) {
    V acc[DEPTH][4];
    const uint8_t *x = (const uint8_t *)d->spread + o * d->step;
    const int8_t *b = d->b;
    int64_t step = d->step;
#pragma GCC unroll 8
    for (int i = 0; i < n; i++)
#pragma GCC unroll 4
        for (int v = 0; v < 4; v++) acc[i][v] = LOAD(d->start + v * LANES);
    for (int64_t t = 0; t < d->taps; t++, b += 16 * LANES) {
        const uint8_t *at = x + d->tap[t];
#pragma GCC unroll 4
        for (int v = 0; v < 4; v++) {
            V w = LOAD(b + v * 4 * LANES);
#pragma GCC unroll 8
            for (int i = 0; i < n; i++)
                acc[i][v] = DP(acc[i][v], LOAD(at + i * step + v * 4 * LANES), w);
        }
    }
    if (d->sums) {
#pragma GCC unroll 8
        for (int i = 0; i < n; i++)
#pragma GCC unroll 4
            for (int v = 0; v < 4; v++) STORE(d->sums + (o + i) * 4 * LANES + v * LANES, acc[i][v]);
        return;
    }
    F hi = SETF(d->to.hi);
    NAME(ends) ends = ENDS(&d->to);
#pragma GCC unroll 4
    for (int v = 0; v < 4; v++) {
        F scale = LOADF(d->to.scale + v * LANES), steps = LOADF(d->to.steps + v * LANES);
        if (d->to.whole) {
#pragma GCC unroll 8
            for (int i = 0; i < n; i++) acc[i][v] = NAME(round)(acc[i][v], scale, steps, hi, true);
        } else {
#pragma GCC unroll 8
            for (int i = 0; i < n; i++) acc[i][v] = NAME(round)(acc[i][v], scale, steps, hi, false);
        }
    }
#pragma GCC unroll 8
    for (int i = 0; i < n; i++)
        PUT(d->out + (o + i) * d->out_step, NAME(bytes)(acc[i], &ends), d->channels);
}

static TARGET void NAME(depthwise)(const quant_depthwise *d) {
    int64_t o = 0;
    for (; o + DEPTH <= d->count; o += DEPTH) NAME(together)(d, o, DEPTH);
    for (; o < d->count; o++) NAME(together)(d, o, 1);
}

#undef ENDS
#undef VECTORS
#undef A
#undef LOADA
#undef STOREA
#undef NAME
#undef TARGET
#undef MR
#undef MP
#undef DEPTH
#undef DP
#undef PAIR
#undef SAFE
#undef SUMS_ONLY
#undef TILE_ELSEWHERE
#undef DIRECT
