/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nbits_plain.c - products with weights of 4 or 8 bits (nbits.h), in plain C.
 * Tests: tests/unit/test_nbits.c
 */
#include "cpu/gemm/nbits.h"

#include "cpu/convert/half.h"

enum { PLAIN_COLUMNS = 16 };

/* Element i of column c of a block, less the middle. */
static int nbits_plain_weight(const nbits_form *f, const uint8_t *b, int64_t i, int c) {
    if (f->bits == 8) return b[(i / 4 * PLAIN_COLUMNS + c) * 4 + i % 4] - 128;
    int eight = b[(i / NBITS_EIGHT * PLAIN_COLUMNS + c) * 4 + i % 4];
    return (i % NBITS_EIGHT < 4 ? eight & 15 : eight >> 4) - 8;
}

static float nbits_plain_scale(const nbits_form *f, const uint8_t *b, int c) {
    float16 half;
    float scale;
    if (!f->half) return memcpy(&scale, b + c * 4, sizeof scale), scale;
    memcpy(&half, b + c * 2, sizeof half);
    return float16_to_float(half);
}

static float nbits_plain_zero(const nbits_form *f, const uint8_t *b, int c) {
    float zero;
    b += nbits_scale_bytes(f);
    if (f->zeros == NBITS_NO_ZEROS) return 0;
    if (f->zeros == NBITS_BYTE_ZEROS) return (float)(int8_t)b[c];
    memcpy(&zero, b + c * 4, sizeof zero);
    return zero;
}

static void nbits_plain_whole(int rows, const nbits_tile *t) {
    const nbits_form *f = t->form;
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < PLAIN_COLUMNS; c++) {
            const uint8_t *b = t->panel;
            const int8_t *x = t->x + r * t->ldx;
            float all = 0;
            for (int64_t s = 0, at = 0, k; at < f->k; s++, at += k) {
                k = f->k - at < f->segment ? f->k - at : f->segment;
                int32_t sum = 0;
                for (int64_t i = 0; i < k; i++) {
                    int x16 = t->bytes == 2 ? x[at + i] + NBITS_BASE * x[f->k + at + i] : x[at + i];
                    sum += x16 * nbits_plain_weight(f, b, i, c);
                }
                b += nbits_data_bytes(f, k);
                float less = (float)t->sum[r * t->lds + s] * nbits_plain_zero(f, b, c);
                all += ((float)sum - less) * t->scale[r * t->lds + s] * nbits_plain_scale(f, b, c);
                b += nbits_scale_bytes(f) + nbits_zero_bytes(f);
            }
            t->out[r * t->ldc + c] = all;
        }
}

static void nbits_plain_floats(int rows, const nbits_tile *t) {
    const nbits_form *f = t->form;
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < PLAIN_COLUMNS; c++) {
            const uint8_t *b = t->panel;
            float all = 0;
            for (int64_t s = 0, at = 0, k; at < f->k; s++, at += k) {
                k = f->k - at < f->segment ? f->k - at : f->segment;
                float sum = 0;
                for (int64_t i = 0; i < k; i++)
                    sum += t->floats[r * t->ldx + at + i] * (float)nbits_plain_weight(f, b, i, c);
                b += nbits_data_bytes(f, k);
                if (f->zeros != NBITS_NO_ZEROS)
                    sum -= t->float_sum[r * t->lds + s] * nbits_plain_zero(f, b, c);
                all += sum * nbits_plain_scale(f, b, c);
                b += nbits_scale_bytes(f) + nbits_zero_bytes(f);
            }
            t->out[r * t->ldc + c] = all;
        }
}

const nbits_micro nbits_plain = {ISA_PLAIN, PLAIN_COLUMNS, false, nbits_plain_whole,
                                 nbits_plain_floats};
