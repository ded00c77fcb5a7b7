/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bytes_plain.c - products of bytes in C: tiles of 4 x 16.
 * Tests: tests/unit/test_quantized_bytes.c
 */
#include "cpu/quad/quad.h"

#include <math.h>
#include <string.h>

enum { PLAIN_LANES = 4, PLAIN_BLOCK = 4 * PLAIN_LANES };

static int32_t quant_plain_dot(int32_t sum, const uint8_t *x, const int8_t *w) {
    int32_t dot = x[0] * w[0] + x[1] * w[1] + x[2] * w[2] + x[3] * w[3];
    return (int32_t)((uint32_t)sum + (uint32_t)dot);
}

static void quant_plain_tile(int rows, int panels, const quad_tile *t) {
    for (int r = 0; r < rows; r++) {
        int32_t *sums = (int32_t *)t->sums + r * t->ld;
        memcpy(sums, t->start, (size_t)panels * QUAD_COLUMNS * sizeof *sums);
        for (int p = 0; p < panels; p++, sums += QUAD_COLUMNS) {
            const int8_t *b = t->b + p * t->panel;
            int64_t zeros = (t->filled - t->quads) * QUAD_PANEL;
            for (int64_t s = 0; s < t->segments; s++, b += zeros) {
                const uint8_t *a = t->a + r * t->lda + t->segment[s];
                for (int64_t q = 0; q < t->quads; q++, a += QUAD_BYTES, b += QUAD_PANEL)
                    for (int c = 0; c < QUAD_COLUMNS; c++)
                        sums[c] = quant_plain_dot(sums[c], a, b + c * QUAD_BYTES);
            }
        }
    }
}

static uint8_t quant_plain_round(int32_t sum, const quant_bytes *to, int64_t column) {
    float v = ((float)sum + to->steps[column]) * to->scale[column];
    v = v > to->hi ? to->hi : v;
    v = v > to->lo ? v : to->lo;
    return (uint8_t)(((int32_t)rintf(v) + to->zero) ^ to->flip);
}

static void quant_plain_store(const int32_t *sums, int rows, int cols, const quant_bytes *to,
                              uint8_t *out, int64_t ldc) {
    for (int r = 0; r < rows; r++, sums += QUAD_MAX_PANELS * QUAD_COLUMNS, out += ldc)
        for (int c = 0; c < cols; c++) out[c] = quant_plain_round(sums[c], to, c);
}

static void quant_plain_spread(const uint8_t *const row[4], const int64_t step[4], int64_t count,
                               int64_t channels, uint8_t *to, int64_t next) {
    for (int64_t i = 0; i < count; i++, to += next)
        for (int64_t p = 0; p < PLAIN_BLOCK; p++) {
            int64_t c = quant_place_channel(PLAIN_LANES, p);
            for (int k = 0; k < 4; k++) to[p * 4 + k] = c < channels ? row[k][i * step[k] + c] : 0;
        }
}

static void quant_plain_depthwise(const quant_depthwise *d) {
    for (int64_t o = 0; o < d->count; o++) {
        int32_t sums[PLAIN_BLOCK];
        memcpy(sums, d->start, sizeof sums);
        for (int64_t t = 0; t < d->taps; t++) {
            const uint8_t *x = (const uint8_t *)d->spread + o * d->step + d->tap[t];
            const int8_t *b = d->b + t * PLAIN_BLOCK * 4;
            for (int p = 0; p < PLAIN_BLOCK; p++)
                sums[p] = quant_plain_dot(sums[p], x + p * 4, b + p * 4);
        }
        if (d->sums) memcpy(d->sums + o * PLAIN_BLOCK, sums, sizeof sums);
        for (int p = 0; p < PLAIN_BLOCK && !d->sums; p++) {
            int64_t c = quant_place_channel(PLAIN_LANES, p);
            if (c < d->channels)
                d->out[o * d->out_step + c] = quant_plain_round(sums[p], &d->to, p);
        }
    }
}

const quad_kernels quad_bytes_plain = {.isa = ISA_PLAIN,
                                       .rows = 4,
                                       .panels = 1,
                                       .depth = 1,
                                       .lanes = PLAIN_LANES,
                                       .block = 256 << 10,
                                       .tile = quant_plain_tile,
                                       .store = quant_plain_store,
                                       .spread = quant_plain_spread,
                                       .depthwise = quant_plain_depthwise};
