/* SPDX-License-Identifier: Apache-2.0 */
/*
 * widen_tile.h - the kernels of widen.h as text, for one set of vectors and one kind of weights.
 *
 * Included with these defined, once for each; all of them are undefined afterwards:
 *     V, LANES                vectors of floats, lanes of one
 *     NAME(x), TARGET         names of what is defined here, and the attribute for the instructions
 *     MR, VECTORS             rows of a tile of VECTORS vectors
 *     ROW_VECTORS             vectors of a tile of one row, if not all of a panel
 *     ELEMENT                 of weights
 *     WIDEN(p)                LANES of them as floats
 *     SET1(x) ZERO() FMA(a, b, c) ADD(a, b) VLOAD(p) VSTORE(p, v)
 *
 * Method: some vectors of columns at a time. A single row passes a panel once, all of its columns
 * together, in eight chains of sums: where four vectors are a panel, each has one for the even
 * steps of k and one for the odd ones. Several rows take VECTORS at a time.
 */

static inline __attribute__((always_inline)) TARGET void NAME(some)(const widen_tile *t,
                                                                    int64_t column, const int rows,
                                                                    const int vectors, float *out,
                                                                    int64_t ldc) {
    const int chains = rows == 1 && vectors == 4 ? 2 : 1;
    V acc[MR][WIDEN_COLUMNS / LANES];
    const ELEMENT *b = (const ELEMENT *)t->b + column;
    const float *x = t->x;
    int64_t ldx = t->ldx, k = t->k;
#pragma GCC unroll 8
    for (int r = 0; r < rows * chains; r++)
#pragma GCC unroll 8
        for (int v = 0; v < vectors; v++) acc[r][v] = ZERO();
    for (; k >= chains; k -= chains)
#pragma GCC unroll 2
        for (int i = 0; i < chains; i++, b += WIDEN_COLUMNS, x++) {
            V w[WIDEN_COLUMNS / LANES];
#pragma GCC unroll 8
            for (int v = 0; v < vectors; v++) w[v] = WIDEN(b + v * LANES);
#pragma GCC unroll 8
            for (int r = 0; r < rows; r++) {
                V f = SET1(x[r * ldx]);
#pragma GCC unroll 8
                for (int v = 0; v < vectors; v++) acc[r + i][v] = FMA(f, w[v], acc[r + i][v]);
            }
        }
    if (chains == 2) {
#pragma GCC unroll 8
        for (int v = 0; v < vectors; v++) {
            if (k) acc[0][v] = FMA(SET1(*x), WIDEN(b + v * LANES), acc[0][v]);
            acc[0][v] = ADD(acc[0][v], acc[1][v]);
        }
    }
#pragma GCC unroll 8
    for (int v = 0; v < vectors; v++) {
        V scale = VLOAD(t->scale + column + v * LANES), bias = VLOAD(t->bias + column + v * LANES);
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++)
            VSTORE(out + r * ldc + column + v * LANES, FMA(acc[r][v], scale, bias));
    }
}

static inline __attribute__((always_inline)) TARGET void NAME(rows)(const widen_tile *t,
                                                                    const int rows) {
    float part[MR * WIDEN_COLUMNS];
    bool whole = t->cols == WIDEN_COLUMNS;
    float *out = whole ? t->out : part;
    int64_t ldc = whole ? t->ldc : WIDEN_COLUMNS;
#ifdef ROW_VECTORS
    const int some = rows == 1 ? ROW_VECTORS : VECTORS;
#else
    const int some = rows == 1 ? WIDEN_COLUMNS / LANES : VECTORS;
#endif
    if (rows == 1 && some == WIDEN_COLUMNS / LANES) NAME(some)(t, 0, 1, some, out, ldc);
    else
        for (int64_t c = 0; c < t->cols; c += some * LANES) NAME(some)(t, c, rows, some, out, ldc);
    for (int r = 0; r < rows && !whole; r++)
        memcpy(t->out + r * t->ldc, part + r * WIDEN_COLUMNS, (size_t)t->cols * sizeof *part);
}

static TARGET void NAME(tile)(int rows, const widen_tile *t) {
    switch (rows) {
    case 1: NAME(rows)(t, 1); break;
    case 2: NAME(rows)(t, 2); break;
    case 3: NAME(rows)(t, 3); break;
    case 4: NAME(rows)(t, 4); break;
    case 5: NAME(rows)(t, 5); break;
    default: NAME(rows)(t, 6);
    }
}

#undef V
#undef LANES
#undef NAME
#undef TARGET
#undef MR
#undef VECTORS
#undef ROW_VECTORS
#undef WIDEN
#undef SET1
#undef ZERO
#undef FMA
#undef ADD
#undef VLOAD
#undef VSTORE
#undef ELEMENT
