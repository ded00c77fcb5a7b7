/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nbits.h - products of rows with 4-bit or 8-bit weights that have a scale, and
 * perhaps a zero point, for each group of k of a column. As records of functions.
 *
 * A weight is scale * (q - middle - zero): q its unsigned 4 or 8
 * bits, middle 8 or 128, and zero 0 where there are no zero points.
 *
 * Weights are in panels of nbits_micro.columns columns; a panel has one block for each segment of
 * k (a part of a group, or a whole one), which is read from front to back:
 *
 *     q       4 bits: [k / 8][column][4]; byte i of an eight has its elements i (low half) and
 *             4 + i; 8 bits: [k / 4][column][4]
 *     scale   [column], float16 or float
 *     zero    [column], a signed byte or float, or nothing
 *
 * The last segment may be shorter; k is padded to a multiple
 * of 8 with any values, since rows have zeros there.
 *
 * Rows are floats, or integers with a scale for each segment: bytes, or two bytes each
 * (NBITS_BASE * high + low). Sums of a segment of integers are exact; they, and sums of floats,
 * are accumulated in float32 across segments. A row's result does not depend on the others.
 * Tests: tests/unit/test_nbits.c
 */
#ifndef CTSC_CPU_GEMM_NBITS_H
#define CTSC_CPU_GEMM_NBITS_H

#include "cpu/convert/half.h"
#include "cpu/isa.h"

#include <stddef.h>

enum {
    NBITS_MOST_COLUMNS = 64,
    NBITS_ROWS = 2,                      /* of a tile */
    NBITS_SEGMENT = 128,                 /* elements at most: sums of 16 and 8 bits fit 32 */
    NBITS_EIGHT = 8,                     /* what k and segments are multiples of */
    NBITS_BASE = 254,                    /* no byte of a row is -128, which has no opposite */
    NBITS_WIDE = NBITS_BASE * 127 + 126, /* the largest number of two bytes */
};

typedef enum nbits_zeros { NBITS_NO_ZEROS, NBITS_BYTE_ZEROS, NBITS_FLOAT_ZEROS } nbits_zeros;

/* How panels are laid out. */
typedef struct nbits_form {
    int bits;           /* 4 or 8 */
    int columns;        /* of a panel */
    int64_t k, segment; /* both multiples of 8, segment at most NBITS_SEGMENT */
    bool half;          /* scales are float16 */
    nbits_zeros zeros;
} nbits_form;

/* Bytes of k elements of a panel. */
static inline int64_t nbits_data_bytes(const nbits_form *f, int64_t k) {
    return k * f->bits / 8 * f->columns;
}
static inline int64_t nbits_scale_bytes(const nbits_form *f) {
    return f->columns * (f->half ? 2 : 4);
}
static inline int64_t nbits_zero_bytes(const nbits_form *f) {
    return f->columns * (f->zeros == NBITS_FLOAT_ZEROS ? 4 : f->zeros == NBITS_BYTE_ZEROS);
}
static inline int64_t nbits_segments(const nbits_form *f) {
    return (f->k + f->segment - 1) / f->segment;
}
static inline int64_t nbits_block_bytes(const nbits_form *f) {
    return nbits_data_bytes(f, f->segment) + nbits_scale_bytes(f) + nbits_zero_bytes(f);
}
static inline int64_t nbits_panel_bytes(const nbits_form *f) {
    return nbits_data_bytes(f, f->k) +
           nbits_segments(f) * (nbits_scale_bytes(f) + nbits_zero_bytes(f));
}

/* Some rows times one panel. */
typedef struct nbits_tile {
    const nbits_form *form;
    const void *panel;
    /* integers: `bytes` bytes each (1, or 2: all low ones of a row, then
     * all high ones, k bytes later), rows at stride ldx bytes; per segment
     * the scale and the sum of the integers, rows at stride lds */
    const int8_t *x;
    int bytes;
    /* floats: rows at stride ldx in elements; sums of segments, read where there are zero points */
    const float *floats, *float_sum;
    int64_t ldx, lds;
    const float *scale;
    const int32_t *sum;
    float *out; /* all columns of the panel, rows at stride ldc */
    int64_t ldc;
} nbits_tile;

typedef struct nbits_micro {
    isa isa;
    int columns;
    /* an instruction multiplies and adds four bytes: whole numbers are faster than floats for
     * any number of rows */
    bool dots;
    /* rows: 1 or 2; 1 of numbers of two bytes */
    void (*whole)(int rows, const nbits_tile *t);
    void (*floats)(int rows, const nbits_tile *t);
} nbits_micro;

/* k elements of a block's NBITS_MOST_COLUMNS columns as pairs of bfloat16: scale * (q - less),
 * rounded, of 16 columns each [k / 2][column][2], `apart` elements from one 16 to the next. Needs
 * AVX512-BF16, and as many columns in a panel. */
void nbits_pairs_avx512(const nbits_form *f, const uint8_t *b, const float *scale,
                        const float *less, int64_t k, bfloat16 *to, int64_t apart);

#endif
