/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quad_matrix.h - matrices of weights packed into panels of quads (cpu/quad/quad.h), of bytes or
 * bfloat16, and their products with strips of rows.
 *
 * Shared by all such weights: linear layers, convolutions and recurrent layers cut their work
 * into strips; a strip runs tile by tile on the micro-kernel that its matrix was packed for.
 * Tests: tests/unit/test_quantized_bytes.c, tests/unit/test_precision.c, tests/unit/test_amx.c
 */
#ifndef CTSC_RUNTIME_KERNELS_MATMUL_QUAD_MATRIX_H
#define CTSC_RUNTIME_KERNELS_MATMUL_QUAD_MATRIX_H

#include "cpu/ukernel.h"
#include "runtime/kernels/engine/epilogue.h"
#include "runtime/kernels/engine/kernel_tuning.h"

enum { QUAD_PAIR = 2 }; /* bfloat16 of a quad */

/* A column is `segments` segments of k elements, each filled up with zeros to whole quads, and
 * these to whole steps of the kernels that the matrix was packed for. Bytes: elements are integers
 * less their zero point, of up to nine bits; what a byte does not hold is in further sets, which
 * meet the same activations again. */
typedef struct quad_matrix {
    const quad_kernels *kernels;
    int64_t n, groups; /* columns of a group */
    int64_t segments, k;
    int64_t quads, sets; /* sets: 1 of bfloat16 */
    int64_t filled;      /* quads that a segment has in `data` */
    int64_t panels;      /* of a group */
    int8_t *data;        /* [group][panel][set][segment][quad][column][4 bytes] */
    int32_t *sums;       /* of bytes: of a column's elements: [group][panel][column] */
    uint8_t *narrow;     /* of bytes: quad_tile.narrow: [group][panel][set][segment][pair] */
    void *block;         /* of bytes: what data and sums are in */
} quad_matrix;

/* ---- bfloat16 -------------------------------------------------------------------------------- */

/* Sets the sizes of a matrix whose kernels, n, groups, segments and k are set; *bytes: of its
 * data, which the caller provides, zeroed and aligned to 64 bytes. False: too many. */
bool quad_matrix_bf16(quad_matrix *m, size_t *bytes);
/* k filled up to whole steps: rows that are as long, with zeros, are read where they are. */
static inline int64_t quad_whole_k(const quad_kernels *u, int64_t k) {
    int64_t step = u->depth * QUAD_PAIR;
    return (k + step - 1) / step * step;
}
/* Bytes from one row of `bytes` to the next where this many rows are copied. Tile registers read
 * each line of a row whole, and once per panel: rows that share sets of a cache do no harm. */
static inline int64_t quad_pitch(const quad_kernels *u, int64_t rows, int64_t bytes) {
    bool far = rows >= QUAD_FAR_ROWS && bytes % QUAD_FAR == 0 && !u->begin;
    return far ? bytes + QUAD_GAP : bytes;
}
/* Puts column j of a group, its segments one after the other, rounded. k is even. */
void quad_matrix_put(const quad_matrix *m, int64_t group, int64_t j, const float *column);

/* ---- bytes ----------------------------------------------------------------------------------- */

/* column(ctx, group, j, to) writes the segments * k elements of column j. False: out of memory. */
bool quad_matrix_make(quad_matrix *m, int64_t groups, int64_t n, int64_t segments, int64_t k,
                      void (*column)(const void *ctx, int64_t group, int64_t j, int16_t *to),
                      const void *ctx);
void quad_matrix_free(quad_matrix *m);

/* Weights of a convolution with one channel per group, for quad_kernels.depthwise. */
typedef struct quad_taps {
    const quad_kernels *kernels;
    int64_t channels, rows, width; /* rows: of all but the last dim of the kernel */
    int64_t quads, sets;
    int64_t blocks; /* of 4 * lanes channels */
    int8_t *data;   /* [block][set][quad][width][place][4] */
    int32_t *sums;  /* [block][place] */
    void *block;
} quad_taps;

/* channel(ctx, c, 0, to) writes the rows * width elements of channel c. False: out of memory. */
bool quad_taps_make(quad_taps *t, int64_t channels, int64_t rows, int64_t width,
                    void (*channel)(const void *ctx, int64_t c, int64_t zero, int16_t *to),
                    const void *ctx);
void quad_taps_free(quad_taps *t);

/* ---- strips ---------------------------------------------------------------------------------- */

/* What becomes of sums of bytes that stay numbers: sum * scale + bias. */
typedef struct quant_floats {
    const float *scale, *bias; /* per column; bias may be NULL */
    bool fused, relu;          /* fused: product and bias are rounded once */
} quant_floats;
/* One row of n sums, for columns from `column` on. */
void quant_store_floats(const quant_floats *to, const int32_t *sums, int64_t column, int64_t n,
                        float *out);

/* Rows that should pass the panels together: whole tiles, with this many bytes per row. */
int64_t quad_block_rows(const quad_matrix *m, int64_t bytes);

/* Rows of bytes may be clipped to a window of seven bits where the matrix's kernels are faster with
 * these, and what they lack be added as outliers (cpu/quad/quad.h): worth it for a matrix of some
 * panels and rows most of whose bytes are in the window. unit: bytes of which segments are made,
 * at row and segment offsets that are multiples of it. */
bool quad_clips(const quad_matrix *m, int64_t unit);
/* Bytes of memory for the outliers of so many units; INT64_MAX: too many. */
int64_t quad_outliers_bytes(int64_t units, int64_t unit);
/* The window around a zero point, and `memory` for the rest; segments and steps
 * are the caller's. */
quad_outliers quad_outliers_in(int64_t units, int64_t unit, int64_t zero, void *memory);

/* What a thread holds while it computes strips: the configuration of its tile registers. Begins as
 * zeros; quad_release gives it back, before the thread does anything else. */
typedef struct quad_hold {
    const quad_kernels *kernels; /* NULL: nothing is held */
    int rows;
} quad_hold;
void quad_release(quad_hold *h);

/* Some rows of activations with panels [first, last) of a group; out: the first row's first element
 * of these. Of bytes, one of `bytes` and `floats` says what becomes of the sums, for the panels'
 * first column and for columns from `column` on; sums of bfloat16 are the result. */
typedef struct quad_strip {
    const void *a, *end;    /* end: of what may be read of a; NULL: of what the rows need */
    int64_t rows, lda;      /* lda: bytes */
    int64_t of;             /* rows of the whole layer, so that all are summed alike; 0: these */
    const int64_t *segment; /* where each begins in a row, bytes: sets * segments */
    /* All but `some` of the segments, from `from` on, would meet zeros alone, and are left out, of
     * a matrix with one set; some 0: none */
    int64_t from, some;
    /* of bfloat16: quad_tile.lanes, of a panel alone, with this many columns; NULL: all
     * columns meet the same elements */
    const int32_t *lanes;
    int columns;
    bool small; /* quad_tile.small */
    /* NULL, or what the rows, which are clipped, lack; the first begins at unit `clipped` */
    const quad_outliers *outliers;
    int64_t clipped;
    int64_t before; /* as long strips that have met these panels, and prefetched some of the next */
    /* of panel `first` on, 32 bits a column; bytes: of whole panels, bfloat16: of the columns that
     * are there, NULL: zeros */
    const void *start;
    const quant_bytes *bytes;
    const quant_floats *floats;
    /* of bfloat16: out is bfloat16, other is, else floats. Sums are rounded wherever a program's
     * operators round: in front of such an other, and for such an out in front of the activation
     * and at the end. */
    bool halves, half_other;
    const void *other; /* to add, where out's elements are; NULL: nothing */
    enum dense_activation activation;
    /* Of each `period` rows the first `keep` are results, and these follow one another in out; the
     * others are rows as well, whatever they are. 0: all of them. */
    int64_t period, keep;
    void *out;
    int64_t ldc, column;
} quad_strip;
/* Rows of a convolution's kernel are m's segments, or some of them each; the first meets row y of
 * `rows` rows of the input, the others as many further as `step` says. Leaves out those that meet
 * none, where any does. */
void quad_strip_see(const quad_matrix *m, int64_t y, int64_t step, int64_t taps, int64_t rows,
                    quad_strip *s);
void quad_strip_run(const quad_matrix *m, int64_t group, int64_t first, int64_t last,
                    const quad_strip *s, quad_hold *h);

#endif
