/* SPDX-License-Identifier: Apache-2.0 */
/*
 * int8w_tile.h - the kernels of int8w.h as text, for one set of vectors.
 *
 * Included with these defined, once for each; all of them are undefined afterwards:
 *     V, LANES                vectors of floats, lanes of one
 *     NAME(x), TARGET         names of what is defined here, and the attribute for the instructions
 *     MR                      rows of a tile, 2 or 6
 *     WIDEN(p)                LANES signed bytes as floats
 *     SET1(x) ZERO() FMA(a, b, c) ADD(a, b) VLOAD(p) VSTORE(p, v)
 *
 * Method: four vectors of columns at a time. A single row has two chains of sums per vector, one
 * for the even steps of k and one for the odd ones: four would wait for one another.
 */

static inline __attribute__((always_inline)) TARGET void NAME(four)(const int8w_tile *t,
                                                                    int64_t column, const int rows,
                                                                    float *out, int64_t ldc) {
    const int chains = rows == 1 ? 2 : 1;
    V acc[MR < 2 ? 2 : MR][4];
    const int8_t *b = t->b + column;
    const float *x = t->x;
    int64_t ldx = t->ldx, k = t->k;
#pragma GCC unroll 8
    for (int r = 0; r < rows * chains; r++)
#pragma GCC unroll 4
        for (int v = 0; v < 4; v++) acc[r][v] = ZERO();
    for (; k >= chains; k -= chains)
#pragma GCC unroll 2
        for (int i = 0; i < chains; i++, b += INT8W_COLUMNS, x++) {
            V w[4];
#pragma GCC unroll 4
            for (int v = 0; v < 4; v++) w[v] = WIDEN(b + v * LANES);
#pragma GCC unroll 8
            for (int r = 0; r < rows; r++) {
                V f = SET1(x[r * ldx]);
#pragma GCC unroll 4
                for (int v = 0; v < 4; v++) acc[r + i][v] = FMA(f, w[v], acc[r + i][v]);
            }
        }
    if (chains == 2) {
#pragma GCC unroll 4
        for (int v = 0; v < 4; v++) {
            if (k) acc[0][v] = FMA(SET1(*x), WIDEN(b + v * LANES), acc[0][v]);
            acc[0][v] = ADD(acc[0][v], acc[1][v]);
        }
    }
#pragma GCC unroll 4
    for (int v = 0; v < 4; v++) {
        V scale = VLOAD(t->scale + column + v * LANES), bias = VLOAD(t->bias + column + v * LANES);
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++)
            VSTORE(out + r * ldc + column + v * LANES, FMA(acc[r][v], scale, bias));
    }
}

static inline __attribute__((always_inline)) TARGET void NAME(rows)(const int8w_tile *t,
                                                                    const int rows) {
    float part[MR * INT8W_COLUMNS];
    bool whole = t->cols == INT8W_COLUMNS;
    float *out = whole ? t->out : part;
    int64_t ldc = whole ? t->ldc : INT8W_COLUMNS;
    for (int64_t c = 0; c < t->cols; c += 4 * LANES) NAME(four)(t, c, rows, out, ldc);
    for (int r = 0; r < rows && !whole; r++)
        memcpy(t->out + r * t->ldc, part + r * INT8W_COLUMNS, (size_t)t->cols * sizeof *part);
}

static TARGET void NAME(tile)(int rows, const int8w_tile *t) {
    switch (rows) {
    case 1: NAME(rows)(t, 1); break;
    case 2: NAME(rows)(t, 2); break;
#if MR > 2
    case 3: NAME(rows)(t, 3); break;
    case 4: NAME(rows)(t, 4); break;
    case 5: NAME(rows)(t, 5); break;
    default: NAME(rows)(t, 6);
#endif
    }
}

#undef V
#undef LANES
#undef NAME
#undef TARGET
#undef MR
#undef WIDEN
#undef SET1
#undef ZERO
#undef FMA
#undef ADD
#undef VLOAD
#undef VSTORE
