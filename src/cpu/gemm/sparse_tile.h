/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sparse_tile.h - the kernels of sparse.h as text, for one set of vectors and one type.
 *
 * Included with these defined, once for each; all of them are undefined afterwards:
 *     V, LANES, ELEMENT       vectors, lanes of one, and what they hold
 *     NAME(x), TARGET         names of what is defined here, and the attribute for the instructions
 *     SET1(x) ZERO() FMA(a, b, c) ADD(a, b) VLOAD(p) VSTORE(p, v)
 *     NO_DOTS                 if another set's function does as well
 *     LOAD_SOME(p, n) STORE_SOME(p, v, n)   the first n lanes, where there are masks; else elements
 *                             are computed one by one
 *
 * Method. product: a strip of up to eight vectors of columns stays in registers while the elements
 * of a row pass; narrower strips have several sums each, that the latency of an addition does not
 * show. Wide products go strip by strip, each for all of the rows, so that a strip of B stays in
 * the caches. dots: eight sums, one element each; gathering instructions are slower.
 */

enum { NAME(most) = 8 };

/* Columns [0, vectors * LANES) of one row; `some` (0: all) of the last vector. */
static inline __attribute__((always_inline)) TARGET void NAME(strip)(
    const int32_t *columns, const ELEMENT *values, int64_t count, const ELEMENT *b, int64_t ldb,
    ELEMENT *out, bool add, const int vectors, const int chains, int some) {
    V acc[NAME(most)];
    int64_t j = 0;
    (void)some;
#ifdef LOAD_SOME
#define STRIP_LOAD(p, v) (vectors == 1 && some ? LOAD_SOME(p, some) : VLOAD((p) + (v) * LANES))
#else
#define STRIP_LOAD(p, v) VLOAD((p) + (v) * LANES)
#endif
#pragma GCC unroll 8
    for (int i = 0; i < vectors * chains; i++) acc[i] = ZERO();
    for (; j + chains <= count; j += chains)
#pragma GCC unroll 8
        for (int c = 0; c < chains; c++) {
            const ELEMENT *row = b + columns[j + c] * ldb;
            V f = SET1(values[j + c]);
#pragma GCC unroll 8
            for (int v = 0; v < vectors; v++)
                acc[c * vectors + v] = FMA(f, STRIP_LOAD(row, v), acc[c * vectors + v]);
        }
    for (; chains > 1 && j < count; j++) {
        const ELEMENT *row = b + columns[j] * ldb;
        V f = SET1(values[j]);
#pragma GCC unroll 8
        for (int v = 0; v < vectors; v++) acc[v] = FMA(f, STRIP_LOAD(row, v), acc[v]);
    }
#pragma GCC unroll 8
    for (int v = 0; v < vectors; v++) {
#pragma GCC unroll 8
        for (int c = 1; c < chains; c++) acc[v] = ADD(acc[v], acc[c * vectors + v]);
        if (add) acc[v] = ADD(acc[v], STRIP_LOAD(out, v));
#ifdef LOAD_SOME
        if (vectors == 1 && some) {
            STORE_SOME(out, acc[0], some);
            return;
        }
#endif
        VSTORE(out + v * LANES, acc[v]);
    }
#undef STRIP_LOAD
}

/* The same strip of all rows. */
static inline __attribute__((always_inline)) TARGET void NAME(strips)(const sparse_part *p,
                                                                      int64_t rows, int64_t column,
                                                                      const int vectors,
                                                                      const int chains, int some) {
    const ELEMENT *values = p->values, *b = (const ELEMENT *)p->b + column;
    ELEMENT *out = (ELEMENT *)p->out + column;
    int64_t first = p->start[0];
    for (int64_t r = 0; r < rows; r++, out += p->ldo) {
        int64_t at = p->start[r] - first;
        NAME(strip)(p->columns + at, values + at, p->start[r + 1] - p->start[r], b, p->ldb, out,
                    p->add, vectors, chains, some);
    }
}

#ifndef LOAD_SOME
/* Columns [column, n) that fill no vector. */
static TARGET void NAME(rest)(const sparse_part *p, int64_t rows, int64_t column) {
    const ELEMENT *values = p->values, *b = p->b;
    ELEMENT *out = p->out;
    int64_t first = p->start[0];
    for (int64_t r = 0; r < rows; r++, out += p->ldo)
        for (int64_t c = column; c < p->n; c++) {
            ELEMENT sum = 0;
            for (int64_t j = p->start[r] - first; j < p->start[r + 1] - first; j++)
                sum += values[j] * b[p->columns[j] * p->ldb + c];
            out[c] = p->add ? out[c] + sum : sum;
        }
}
#endif

static TARGET void NAME(product)(const sparse_part *p, int64_t rows) {
    int64_t c = 0;
    for (; c + 8 * LANES <= p->n; c += 8 * LANES) NAME(strips)(p, rows, c, 8, 1, 0);
    if (c + 4 * LANES <= p->n) NAME(strips)(p, rows, c, 4, 1, 0), c += 4 * LANES;
    if (c + 2 * LANES <= p->n) NAME(strips)(p, rows, c, 2, 2, 0), c += 2 * LANES;
    if (c + LANES <= p->n) NAME(strips)(p, rows, c, 1, 4, 0), c += LANES;
#ifdef LOAD_SOME
    if (c < p->n) NAME(strips)(p, rows, c, 1, 4, (int)(p->n - c));
#else
    if (c < p->n) NAME(rest)(p, rows, c);
#endif
}

#ifndef NO_DOTS
static TARGET void NAME(dots)(const sparse_part *p, int64_t rows) {
    const ELEMENT *values = p->values, *x = p->b;
    ELEMENT *out = p->out;
    const int32_t *columns = p->columns;
    for (int64_t r = 0; r < rows; r++, out += p->ldo) {
        int64_t count = p->start[r + 1] - p->start[r], j = 0;
        ELEMENT sum[8] = {0}, last = 0;
        for (; j + 8 <= count; j += 8)
#pragma GCC unroll 8
            for (int i = 0; i < 8; i++) sum[i] += values[j + i] * x[columns[j + i]];
        for (; j < count; j++) last += values[j] * x[columns[j]];
        last += ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
        *out = p->add ? *out + last : last;
        values += count, columns += count;
    }
}
#endif

static TARGET void NAME(sampled)(const sparse_part *p, int64_t rows) {
    const ELEMENT *a = p->a, *b = p->b;
    ELEMENT *out = p->out, lanes[LANES];
    const int32_t *column = p->columns;
    for (int64_t r = 0; r < rows; r++, a += p->lda)
        for (int64_t j = p->start[r]; j < p->start[r + 1]; j++, column++) {
            const ELEMENT *other = b + *column * p->ldb;
            V acc[4] = {ZERO(), ZERO(), ZERO(), ZERO()};
            int64_t c = 0;
            ELEMENT sum = 0;
            for (; c + 4 * LANES <= p->n; c += 4 * LANES)
#pragma GCC unroll 4
                for (int v = 0; v < 4; v++)
                    acc[v] = FMA(VLOAD(a + c + v * LANES), VLOAD(other + c + v * LANES), acc[v]);
            for (; c + LANES <= p->n; c += LANES)
                acc[0] = FMA(VLOAD(a + c), VLOAD(other + c), acc[0]);
            VSTORE(lanes, ADD(ADD(acc[0], acc[1]), ADD(acc[2], acc[3])));
            for (; c < p->n; c++) sum += a[c] * other[c];
            for (int i = 0; i < LANES; i++) sum += lanes[i];
            *out++ = sum;
        }
}

#undef V
#undef LANES
#undef ELEMENT
#undef NAME
#undef TARGET
#undef SET1
#undef ZERO
#undef FMA
#undef ADD
#undef VLOAD
#undef VSTORE
#undef NO_DOTS
#undef LOAD_SOME
#undef STORE_SOME
