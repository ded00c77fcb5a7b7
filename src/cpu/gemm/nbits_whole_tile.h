/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nbits_whole_tile.h - the kernels of nbits.h for rows
 * of integers as text, for one set of instructions.
 *
 * Included with these defined, once for each; all of them are undefined afterwards:
 *     NAME(x), TARGET         names of what is defined here, and the attribute for the instructions
 *     SIGNED                  whether DOT8 takes its bytes less 128
 *     DOT4(acc, lo, x, hi, y) acc + lo x + hi y, four products a lane; lo and hi at most 15
 *     DOT8(acc, q, x)         acc + q x
 * The vectors are those of nbits_float_tile.h, which is included before.
 *
 * Method: a tile has at most two lines of bytes, which are two rows, or
 * the low and the high bytes of one. More would not be faster: two keep
 * the multipliers busy, and more sums do not fit in the registers.
 */

/* Four bytes of a row for all lanes. */
static inline __attribute__((always_inline)) TARGET I NAME(four)(const int8_t *x) {
    int32_t four;
    memcpy(&four, x, sizeof four);
    return ISET1(four);
}

/* The sums of a segment of `lines` lines of bytes. */
static inline __attribute__((always_inline)) TARGET void NAME(segment4)(
    const int lines, const int8_t *const *x, const uint8_t *b, int64_t at, int64_t k, I (*acc)[4]) {
    const I mask = ISET1(0x0f0f0f0f);
    for (int64_t i = 0; i < k; i += NBITS_EIGHT, at += NBITS_EIGHT) {
#pragma GCC unroll 4
        for (int v = 0; v < 4; v++, b += 4 * LANES) {
            I w = LOAD(b), lo = AND(w, mask), hi = AND(SRL(w, 4), mask);
#pragma GCC unroll 2
            for (int l = 0; l < lines; l++)
                acc[l][v] = DOT4(acc[l][v], lo, NAME(four)(x[l] + at), hi,
                                 NAME(four)(x[l] + at + 4));
        }
    }
}

static inline __attribute__((always_inline)) TARGET void NAME(segment8)(
    const int lines, const int8_t *const *x, const uint8_t *b, int64_t at, int64_t k, I (*acc)[4]) {
    for (int64_t i = 0; i < k; i += 4, at += 4) {
#pragma GCC unroll 4
        for (int v = 0; v < 4; v++, b += 4 * LANES) {
            I w = LOAD(b);
#pragma GCC unroll 2
            for (int l = 0; l < lines; l++) acc[l][v] = DOT8(acc[l][v], w, NAME(four)(x[l] + at));
        }
    }
}

static inline __attribute__((always_inline)) TARGET void NAME(whole_rows)(const int bits,
                                                                          const int bytes,
                                                                          const int rows,
                                                                          const nbits_tile *t) {
    const nbits_form *f = t->form;
    const int lines = rows * bytes, middle = bits == 4 ? 8 : SIGNED ? 0 : 128;
    const uint8_t *b = t->panel;
    const int8_t *x[2] = {0};
    F sums[2][4];
#pragma GCC unroll 2
    for (int l = 0; l < lines; l++) x[l] = t->x + l * (bytes == 2 ? f->k : t->ldx);
#pragma GCC unroll 2
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (int v = 0; v < 4; v++) sums[r][v] = ZERO();
    for (int64_t s = 0, at = 0; at < f->k; s++, at += f->segment) {
        int64_t k = f->k - at < f->segment ? f->k - at : f->segment;
        I acc[2][4];
#pragma GCC unroll 2
        for (int l = 0; l < lines; l++)
#pragma GCC unroll 4
            for (int v = 0; v < 4; v++)
                acc[l][v] = ISET1(l < rows ? -middle * t->sum[l * t->lds + s] : 0);
        if (bits == 4) NAME(segment4)(lines, x, b, at, k, acc);
        else NAME(segment8)(lines, x, b, at, k, acc);
        b += k * bits / 8 * VECTOR(COLUMNS);
#pragma GCC unroll 4
        for (int v = 0; v < 4; v++) {
            F scale = VECTOR(scales)(f, b, v),
              zero = f->zeros == NBITS_NO_ZEROS ? ZERO() : VECTOR(zeros)(f, b, v);
#pragma GCC unroll 2
            for (int r = 0; r < rows; r++) {
                I whole = acc[r][v];
                if (bytes == 2) whole = ADD(whole, MUL(acc[rows + r][v], ISET1(NBITS_BASE)));
                F sum = FLOATS(whole);
                if (f->zeros != NBITS_NO_ZEROS)
                    sum = FNMA(zero, SET1((float)t->sum[r * t->lds + s]), sum);
                sums[r][v] = FMA(FMUL(sum, SET1(t->scale[r * t->lds + s])), scale, sums[r][v]);
            }
        }
        b += nbits_scale_bytes(f) + nbits_zero_bytes(f);
    }
#pragma GCC unroll 2
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (int v = 0; v < 4; v++) VSTORE(t->out + r * t->ldc + v * LANES, sums[r][v]);
}

static TARGET void NAME(whole)(int rows, const nbits_tile *t) {
    int bits = t->form->bits;
    if (bits == 4 && t->bytes == 2) NAME(whole_rows)(4, 2, 1, t);
    else if (bits == 4 && rows == 1) NAME(whole_rows)(4, 1, 1, t);
    else if (bits == 4) NAME(whole_rows)(4, 1, 2, t);
    else if (t->bytes == 2) NAME(whole_rows)(8, 2, 1, t);
    else if (rows == 1) NAME(whole_rows)(8, 1, 1, t);
    else NAME(whole_rows)(8, 1, 2, t);
}

#undef NAME
#undef TARGET
#undef SIGNED
#undef DOT4
#undef DOT8
