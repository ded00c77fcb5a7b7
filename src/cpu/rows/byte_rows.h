/* SPDX-License-Identifier: Apache-2.0 */
/*
 * byte_rows.h - element-wise functions of rows of
 * quantised (unsigned) bytes, as records of functions.
 *
 * Float results are rounded to nearest even; then the zero point is added, and the
 * result clamped. Callers ensure that no number is 2^30 or more. All records give the
 * same bytes. Rows may be of any length and alignment; out may be one of the operands.
 *
 * byte_rows_tile.h is the text, included by byte_rows_vector.c once for AVX2 and once
 * for AVX-512. A table of 256 bytes is four vectors with AVX-512 VBMI; with AVX2
 * sixteen, each of which looks up the bytes whose upper four bits are its number.
 * Tests: tests/unit/test_quantized_bytes.c
 */
#ifndef CTSC_CPU_ROWS_BYTE_ROWS_H
#define CTSC_CPU_ROWS_BYTE_ROWS_H

#include "cpu/isa.h"

/* sum: rint((a * a_scale + a_start + b * b_scale + b_start) * scale), each product and start being
 * rounded once; product: rint((a - a_zero) * (b - b_zero) * scale). */
typedef struct byte_pair {
    float a_scale, b_scale, a_start, b_start, scale;
    float a_zero, b_zero;
    int32_t zero, lo, hi;
} byte_pair;

/* rint(x * scale + start), rounded once, by place: of a block of 4 * lanes elements, element
 * quant_place_channel(lanes, p) at place p (cpu/quad/quad.h), whole blocks. */
typedef struct byte_line {
    const float *scale, *start;
    int32_t zero, lo, hi;
} byte_line;

typedef struct byte_rows {
    isa isa;
    int lanes;
    void (*table)(const uint8_t *table, const uint8_t *x, int64_t n, uint8_t *out);
    void (*sum)(const byte_pair *r, const uint8_t *a, const uint8_t *b, int64_t n, uint8_t *out);
    void (*product)(const byte_pair *r, const uint8_t *a, const uint8_t *b, int64_t n,
                    uint8_t *out);
    void (*line)(const byte_line *r, const uint8_t *x, int64_t n, uint8_t *out);
} byte_rows;

#endif
