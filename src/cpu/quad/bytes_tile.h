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
 *     PAIR                    quad_tile.h; may be left out
 *     SUMS_ONLY               if defined: neither store nor spread, which do not multiply
 *
 *     V, F, LANES             vectors of int32 and of float, lanes of one
 *     LOAD(p) STORE(p, v)     a vector
 *     SPLAT(p)                the four bytes at p in each lane
 *     LOADF(p)                a vector of float
 *     FLOAT(v) INT(f) ADDF MULF MINF MAXF SETF SETI ADD
 *     PUT(p, v, n)            the low bytes of n lanes, in order
 *     PUT4(p, v, n)           the low bytes of four vectors, in the order of quant_place_channel, n of them
 *     PUT_ROW(p, v)           the low bytes of four vectors, in order; may be left out
 *     GET(p, n)               n bytes, and zeros, as a vector of 4 * LANES
 *     LO8 HI8 LO16 HI16       interleaving within 128 bits
 */

#define VECTORS (QUAD_COLUMNS / LANES)
#define A V
#define LOADA LOAD
#define STOREA STORE
#include "cpu/quad/quad_tile.h"

/* The order of operands is what a sum that is not a number, of a scale that is none, comes to. */
static inline __attribute__((always_inline)) TARGET V NAME(round)(V sum, F scale, F steps, F lo,
                                                                  F hi, V zero) {
    F v = MULF(ADDF(FLOAT(sum), steps), scale);
    return ADD(INT(MAXF(MINF(hi, v), lo)), zero);
}

#ifndef SUMS_ONLY
static TARGET void NAME(store)(const int32_t *sums, int rows, int cols, const quant_bytes *to,
                               uint8_t *out, int64_t ldc) {
    F lo = SETF(to->lo), hi = SETF(to->hi);
    V zero = SETI(to->zero);
    int c = 0;
#ifdef PUT_ROW
    for (; c + 4 * LANES <= cols; c += 4 * LANES)
        for (int r = 0; r < rows; r++) {
            V v[4];
#pragma GCC unroll 4
            for (int i = 0; i < 4; i++) {
                int at = c + i * LANES;
                v[i] = NAME(round)(LOAD(sums + r * QUAD_MAX_PANELS * QUAD_COLUMNS + at),
                                   LOADF(to->scale + at), LOADF(to->steps + at), lo, hi, zero);
            }
            PUT_ROW(out + r * ldc + c, v);
        }
#endif
    for (; c < cols; c += LANES) {
        F scale = LOADF(to->scale + c), steps = LOADF(to->steps + c);
        const int32_t *from = sums + c;
        uint8_t *p = out + c;
        int n = cols - c;
        if (n >= LANES)
            for (int r = 0; r < rows; r++, from += QUAD_MAX_PANELS * QUAD_COLUMNS, p += ldc)
                PUT(p, NAME(round)(LOAD(from), scale, steps, lo, hi, zero), LANES);
        else
            for (int r = 0; r < rows; r++, from += QUAD_MAX_PANELS * QUAD_COLUMNS, p += ldc)
                PUT(p, NAME(round)(LOAD(from), scale, steps, lo, hi, zero), n);
    }
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
    F lo = SETF(d->to.lo), hi = SETF(d->to.hi);
    V zero = SETI(d->to.zero);
#pragma GCC unroll 4
    for (int v = 0; v < 4; v++) {
        F scale = LOADF(d->to.scale + v * LANES), steps = LOADF(d->to.steps + v * LANES);
#pragma GCC unroll 8
        for (int i = 0; i < n; i++) acc[i][v] = NAME(round)(acc[i][v], scale, steps, lo, hi, zero);
    }
#pragma GCC unroll 8
    for (int i = 0; i < n; i++) PUT4(d->out + (o + i) * d->out_step, acc[i], d->channels);
}

static TARGET void NAME(depthwise)(const quant_depthwise *d) {
    int64_t o = 0;
    for (; o + DEPTH <= d->count; o += DEPTH) NAME(together)(d, o, DEPTH);
    for (; o < d->count; o++) NAME(together)(d, o, 1);
}

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
#undef SUMS_ONLY
