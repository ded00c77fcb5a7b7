/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantized_micro.h - micro-kernels of products of bytes: what a processor does best, as a table of
 * functions.
 *
 * Activations are unsigned bytes, weights signed ones, sums int32 that wrap. A lane multiplies and
 * adds quads (engine/quad.h) of neighbouring steps of k (vpdpbusd). Processors without that
 * instruction multiply in 16 bits and get the same sums: no kernel saturates on the way.
 *
 * A convolution with one channel per group has its rows of the kernel, four at a time, as quads:
 * `spread` puts the bytes of four input rows side by side, once for all taps along a row. Its
 * channels come in blocks of 4 * lanes, in the order that interleaving leaves behind: channel
 * quant_place_channel(lanes, p) at place p.
 *
 * Tests: tests/unit/test_quantized_bytes.c
 */
#ifndef CTSC_RUNTIME_KERNELS_QUANTISED_QUANTIZED_MICRO_H
#define CTSC_RUNTIME_KERNELS_QUANTISED_QUANTIZED_MICRO_H

#include "runtime/kernels/engine/quad.h"

#include <stdbool.h>

/* What becomes of sums: round((sum + steps) * scale), at least lo and at most hi, plus zero. lo and
 * hi are whole, so that clamping before rounding is the same as after it. */
typedef struct quant_bytes {
    const float *scale, *steps; /* per column */
    float lo, hi;
    int32_t zero;
} quant_bytes;

/* Results from o to o + count of one row of a convolution with one channel per group; in and out
 * count bytes from one to the next. */
typedef struct quant_depthwise {
    const void *spread; /* what `spread` made of the columns of the input, */
    int64_t size;       /* so many bytes, */
    bool small;         /* known to be at most 127, by whoever has looked */
    int64_t step;       /* bytes of it from one result to the next */
    const int64_t *tap; /* bytes of it from the first */
    const int8_t *b;    /* per tap a block's bytes */
    int64_t taps, count;
    const int32_t *start; /* a block's */
    quant_bytes to;       /* a block's */
    uint8_t *out;
    int64_t out_step, channels; /* channels: of the block, that are there */
} quant_depthwise;

typedef struct quant_micro {
    const char *name;
    bool (*usable)(void);
    int rows, panels; /* of a tile, at most */
    int lanes;
    void (*tile)(int rows, int panels, const quad_tile *t);
    /* rows x cols sums become bytes, rows of them ldc apart */
    void (*store)(const int32_t *sums, int rows, int cols, const quant_bytes *to, uint8_t *out,
                  int64_t ldc);
    /* `channels` bytes of each of four rows, for `count` places step[i] bytes apart in row i,
     * side by side: `next` bytes from one place's block to the next's */
    void (*spread)(const uint8_t *const row[4], const int64_t step[4], int64_t count,
                   int64_t channels, uint8_t *to, int64_t next);
    void (*depthwise)(const quant_depthwise *d);
    /* Are n bytes all at most 127? NULL: nothing is faster for these (quad_tile.small) */
    bool (*small)(const uint8_t *p, int64_t n);
} quant_micro;

/* The fastest that this processor has: what weights are packed for. */
const quant_micro *quant_micro_best(void);
/* All, fastest first, usable or not; the last one is NULL. */
extern const quant_micro *const quant_micros[];
/* For tests, while nothing runs: what quant_micro_best answers; NULL: the fastest. */
extern const quant_micro *quant_micro_chosen;

static inline int64_t quant_place_channel(int lanes, int64_t place) {
    int64_t vector = place / lanes, lane = place % lanes;
    return lane / 4 * 16 + vector * 4 + lane % 4;
}

#endif
