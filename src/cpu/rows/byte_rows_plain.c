/* SPDX-License-Identifier: Apache-2.0 */
/*
 * byte_rows_plain.c - rows of bytes element by element, in C.
 * Tests: tests/unit/test_quantized_bytes.c
 */
#include "cpu/rows/byte_rows.h"

#include <math.h>

static inline uint8_t byte_of(float x, int32_t zero, int32_t lo, int32_t hi) {
    int32_t q = (int32_t)rintf(x) + zero;
    q = q < hi ? q : hi;
    return (uint8_t)(q > lo ? q : lo);
}

static void plain_table(const uint8_t *table, const uint8_t *x, int64_t n, uint8_t *out) {
    for (int64_t i = 0; i < n; i++) out[i] = table[x[i]];
}

static void plain_sum(const byte_pair *r, const uint8_t *a, const uint8_t *b, int64_t n,
                      uint8_t *out) {
    for (int64_t i = 0; i < n; i++) {
        float x = fmaf(r->a_scale, a[i], r->a_start) + fmaf(r->b_scale, b[i], r->b_start);
        out[i] = byte_of(x * r->scale, r->zero, r->lo, r->hi);
    }
}

static void plain_product(const byte_pair *r, const uint8_t *a, const uint8_t *b, int64_t n,
                          uint8_t *out) {
    for (int64_t i = 0; i < n; i++)
        out[i] = byte_of((a[i] - r->a_zero) * (b[i] - r->b_zero) * r->scale, r->zero, r->lo, r->hi);
}

/* In blocks of 16, whose places are their elements. */
static void plain_line(const byte_line *r, const uint8_t *x, int64_t n, uint8_t *out) {
    for (int64_t i = 0; i < n; i++)
        out[i] = byte_of(fmaf(x[i], r->scale[i], r->start[i]), r->zero, r->lo, r->hi);
}

const byte_rows byte_rows_plain = {ISA_PLAIN, 4, plain_table, plain_sum, plain_product, plain_line};
