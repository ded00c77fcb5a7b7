/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nbits_float_tile.h - the kernels of nbits.h for rows of floats as text, for one set of vectors.
 *
 * Included with these defined, which stay for nbits_whole_tile.h:
 *     VECTOR(x), VTARGET      names of what is defined here, and the attribute for the instructions
 *     I, F, LANES             vectors of 32-bit integers and of floats, lanes of one
 *     ISET1 LOAD AND XOR SRL SLL SRA ADD MUL   integers
 *     FLOATS(i)               integers as floats
 *     SET1 ZERO FMA FNMA FMUL VLOAD VSTORE     floats
 *     HALVES(p), BYTES(p)     LANES float16 or signed bytes as floats
 *     NIBBLE(w, i)            nibble i of each lane, less 8, as floats
 *
 * A panel is four vectors of columns.
 */

enum { VECTOR(COLUMNS) = 4 * LANES };

static inline __attribute__((always_inline)) VTARGET F VECTOR(scales)(const nbits_form *f,
                                                                      const uint8_t *b, int v) {
    const uint8_t *p = b + v * LANES * (f->half ? 2 : 4);
    return f->half ? HALVES(p) : VLOAD((const float *)(const void *)p);
}

static inline __attribute__((always_inline)) VTARGET F VECTOR(zeros)(const nbits_form *f,
                                                                     const uint8_t *b, int v) {
    bool narrow = f->zeros == NBITS_BYTE_ZEROS;
    b += nbits_scale_bytes(f) + v * LANES * (narrow ? 1 : 4);
    return narrow ? BYTES(b) : VLOAD((const float *)(const void *)b);
}

/* The eight nibbles of a lane are elements 0, 4, 1, 5 and so on of an eight of k. */
static inline __attribute__((always_inline)) VTARGET void VECTOR(floats4)(
    const int rows, const float *const *x, const uint8_t *b, int64_t at, int64_t k, F (*acc)[4]) {
    for (int64_t i = 0; i < k; i += NBITS_EIGHT, at += NBITS_EIGHT) {
#pragma GCC unroll 4
        for (int v = 0; v < 4; v++, b += 4 * LANES) {
            I w = LOAD(b);
#pragma GCC unroll 8
            for (int e = 0; e < NBITS_EIGHT; e++) {
                F q = NIBBLE(w, e);
#pragma GCC unroll 2
                for (int r = 0; r < rows; r++)
                    acc[r][v] = FMA(SET1(x[r][at + e % 2 * 4 + e / 2]), q, acc[r][v]);
            }
        }
    }
}

static inline __attribute__((always_inline)) VTARGET void VECTOR(floats8)(
    const int rows, const float *const *x, const uint8_t *b, int64_t at, int64_t k, F (*acc)[4]) {
    const I sign = ISET1((int32_t)0x80808080);
    for (int64_t i = 0; i < k; i += 4, at += 4) {
#pragma GCC unroll 4
        for (int v = 0; v < 4; v++, b += 4 * LANES) {
            I w = XOR(LOAD(b), sign);
#pragma GCC unroll 4
            for (int e = 0; e < 4; e++) {
                F q = FLOATS(SRA(e < 3 ? SLL(w, 24 - 8 * e) : w, 24));
#pragma GCC unroll 2
                for (int r = 0; r < rows; r++) acc[r][v] = FMA(SET1(x[r][at + e]), q, acc[r][v]);
            }
        }
    }
}

static inline __attribute__((always_inline)) VTARGET void VECTOR(float_rows)(const int bits,
                                                                             const int rows,
                                                                             const nbits_tile *t) {
    const nbits_form *f = t->form;
    const uint8_t *b = t->panel;
    const float *x[2] = {0};
    F sums[2][4];
#pragma GCC unroll 2
    for (int r = 0; r < rows; r++) x[r] = t->floats + r * t->ldx;
#pragma GCC unroll 2
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (int v = 0; v < 4; v++) sums[r][v] = ZERO();
    for (int64_t s = 0, at = 0; at < f->k; s++, at += f->segment) {
        int64_t k = f->k - at < f->segment ? f->k - at : f->segment;
        F acc[2][4];
#pragma GCC unroll 2
        for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
            for (int v = 0; v < 4; v++) acc[r][v] = ZERO();
        if (bits == 4) VECTOR(floats4)(rows, x, b, at, k, acc);
        else VECTOR(floats8)(rows, x, b, at, k, acc);
        b += k * bits / 8 * VECTOR(COLUMNS);
#pragma GCC unroll 4
        for (int v = 0; v < 4; v++) {
            F scale = VECTOR(scales)(f, b, v),
              zero = f->zeros == NBITS_NO_ZEROS ? ZERO() : VECTOR(zeros)(f, b, v);
#pragma GCC unroll 2
            for (int r = 0; r < rows; r++) {
                F sum = acc[r][v];
                if (f->zeros != NBITS_NO_ZEROS)
                    sum = FNMA(zero, SET1(t->float_sum[r * t->lds + s]), sum);
                sums[r][v] = FMA(sum, scale, sums[r][v]);
            }
        }
        b += nbits_scale_bytes(f) + nbits_zero_bytes(f);
    }
#pragma GCC unroll 2
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (int v = 0; v < 4; v++) VSTORE(t->out + r * t->ldc + v * LANES, sums[r][v]);
}

static VTARGET void VECTOR(floats)(int rows, const nbits_tile *t) {
    int bits = t->form->bits;
    if (bits == 4 && rows == 1) VECTOR(float_rows)(4, 1, t);
    else if (bits == 4) VECTOR(float_rows)(4, 2, t);
    else if (rows == 1) VECTOR(float_rows)(8, 1, t);
    else VECTOR(float_rows)(8, 2, t);
}
