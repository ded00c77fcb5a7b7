/* SPDX-License-Identifier: Apache-2.0 */
/*
 * half.h - floats of 16 bits: what they are, and conversions.
 *
 * Conversions to 16 bits round to nearest even, as the hardware does; NaN stays NaN.
 * Tests: tests/unit/test_tensor.c
 */
#ifndef CTSC_CPU_CONVERT_HALF_H
#define CTSC_CPU_CONVERT_HALF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct float16 { uint16_t bits; } float16;   /* IEEE binary16 */
typedef struct bfloat16 { uint16_t bits; } bfloat16; /* upper half of a float */

static inline uint32_t float_bits(float f) {
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

static inline float float_of_bits(uint32_t u) {
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

float16 float16_from_float(float f);
bfloat16 bfloat16_from_float(float f);
static inline float bfloat16_to_float(bfloat16 h) { return float_of_bits((uint32_t)h.bits << 16); }
float float16_to_float(float16 h);
/* The same for arrays, with the processor's instructions where it has them. */
void float16_to_floats(const float16 *src, float *dst, size_t n);
void float16_from_floats(const float *src, float16 *dst, size_t n);
void bfloat16_to_floats(const bfloat16 *src, float *dst, size_t n);
void bfloat16_from_floats(const float *src, bfloat16 *dst, size_t n);
/* bfloat16_from_floats for `rows` rows of n elements; each, except NaN, becomes at least
 * low and at most high first. other: NULL, or what is added before, as far apart as dst, to
 * elements that are rounded first. */
void bfloat16_rows_from_floats(const float *src, int64_t src_step, const bfloat16 *other,
                               bfloat16 *dst, int64_t dst_step, int64_t rows, int64_t n, float low,
                               float high);
/* Of each two rows of 16 elements of 16 bits, `apart` from one to the next, those of one column
 * side by side: [pair][16][2]. */
void halves_pair_rows(const uint16_t *src, int64_t apart, int64_t pairs, uint32_t *dst);
/* `rows` rows of n elements without gaps, to rows at stride step >= n, filled up with zeros. */
void bfloat16_rows_padded(const bfloat16 *src, int64_t n, bfloat16 *dst, int64_t step,
                          int64_t rows);
/* x[r * ld + i] of `rows` rows of n floats is rounded to 16 bits; other[r * other_ld + i] is added
 * unless other is NULL, and the sum rounded as well if `twice`. */
void float16_settle(float *x, int64_t ld, const float16 *other, int64_t other_ld, bool twice,
                    int64_t rows, int64_t n);
void bfloat16_settle(float *x, int64_t ld, const bfloat16 *other, int64_t other_ld, bool twice,
                     int64_t rows, int64_t n);
/* float16_to_floats for `rows` rows of n elements, n a multiple of 8, at stride n. */
void float16_rows_to_floats(const float16 *src, int64_t src_step, float *dst, int64_t dst_step,
                            int64_t rows, int64_t n);
void bfloat16_rows_to_floats(const bfloat16 *src, int64_t src_step, float *dst, int64_t dst_step,
                             int64_t rows, int64_t n);

#endif
