/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm_micro.h - micro-kernels of matrix products: the inner
 * loops of each instruction set, as a table of functions.
 *
 * A tile is mr x nr elements of C that stay in registers while k runs. Each element is
 * one chain of fused multiply-adds in the order of k, in every tile and for every number
 * of columns in use: so the value of an element does not depend on how C is divided.
 *
 * A dot kernel makes up to dot_rows x GEMM_DOT_COLS elements from rows of A
 * and columns of B that are both contiguous along k: vectors run along k, and
 * nothing is packed. Again element (i, j) depends only on row i and column j.
 *
 * A rows kernel is a tile that reads unpacked rows of A, in segments of k:
 * for channels-last convolutions as implicit GEMM (no im2col), where each
 * tap is a segment. The epilogue is applied to the sums in registers.
 *
 * A groups kernel is a rows kernel for grouped convolutions with few channels per group: its
 * tile is one vector of results wide, shared by several groups. b has steps of `lanes`
 * elements, and at a segment's step k lane l multiplies element lanes[l] + k of a vector of A.
 * If a micro-kernel has `spread`, A has a vector for each step instead, made by that function.
 *
 * A narrow kernel is a rows kernel for panels that are one vector wide.
 *
 * A taps (three-tap) kernel is a groups or narrow kernel for convolutions with three
 * neighbouring taps in a row: a segment is all three of them. Their pixels are `lanes`
 * elements apart, like the rows of A, or twice as far; the steps of b are those of the
 * first tap, the second and the third. A pixel is loaded once for all results that use it.
 *
 * Tests: tests/unit/test_gemm_block.c, tests/unit/test_conv_last.c
 */
#ifndef CTSC_CPU_GEMM_GEMM_MICRO_H
#define CTSC_CPU_GEMM_GEMM_MICRO_H

#include "cpu/isa.h"

#include <stdbool.h>
#include <stdint.h>

enum { GEMM_TAPS = 3, GEMM_TAPS_STRIDES = 2 }; /* of taps kernels: strides of 1 and 2 */
enum { GEMM_MAX_ROWS = 14, GEMM_MAX_COLS = 32, GEMM_DOT_COLS = 4, GEMM_DOT_MAX_ROWS = 6 };
/* Steps of k whose share of a kernel's prefetches is issued at once.
 * More lines than a core can have outstanding would delay its loads. */
enum { GEMM_NEAR = 8 };
/* Prefetch distance, in pixels, when a few channels of each pixel are copied. */
enum { GEMM_SPREAD_PREFETCH = 16 };

/* C (cols <= nr of its columns) = alpha * a b + beta * C; beta == 0 does
 * not read C. a: k steps of mr elements; the kernel uses one
 * per row; b: k steps of nr elements, at stride ldb. All nr are read. */
typedef void gemm_tile_fn(int64_t k, const void *a, const void *b, int64_t ldb, void *c,
                          int64_t ldc, int cols, double alpha, double beta);
/* The same for all nr columns. Prefetches the next lines of
 * memory from `prefetch` on: `lines` of them per GEMM_NEAR steps of k. */
typedef void gemm_near_fn(int64_t k, const void *a, const void *b, int64_t ldb, void *c,
                          int64_t ldc, double alpha, double beta, const void *prefetch, int lines);
/* A whole tile of unpacked rows, nr elements from one row of c to the next: a: mr rows at
 * stride lda, each contiguous along k; b: k steps of nr elements. Columns after `cols` may
 * be left out. Prefetches k elements of some rows from `prefetch` on, at stride lda. */
typedef void gemm_lying_fn(int64_t k, const void *a, int64_t lda, const void *b, void *c, int cols,
                           double alpha, double beta, const void *prefetch, int rows_prefetch);
/* A dot kernel: rows of a at stride lda and columns of b at stride ldb. */
typedef void gemm_dot_fn(int64_t k, const void *a, int64_t lda, const void *b, int64_t ldb, void *c,
                         int64_t ldc, int cols, double alpha, double beta);

/* One row: c (n elements) = alpha * a b + beta * c, a of
 * k elements at stride as, b of k rows at stride ldb. */
typedef void gemm_row_fn(int64_t n, int64_t k, const void *a, int64_t as, const void *b,
                         int64_t ldb, void *c, double alpha, double beta);

/* A segment of k: `k` elements of each row of A from a
 * on, times k steps of B from b on; both in elements. */
typedef struct gemm_segment {
    int64_t a, b, k;
} gemm_segment;

enum { GEMM_ADD_C = 1, GEMM_ADD_BIAS = 2, GEMM_ADD_OTHER = 4, GEMM_CLAMP = 8 };

/* c = clamp(a b + c + bias + other, low, high), with the terms in `ends`; floats.
 * The fields of a single tile are not in this struct: reading them back as a
 * whole would wait for all earlier stores to C, not only for the tile's own. */
typedef struct gemm_rows {
    int64_t lda; /* from one row of a to the next */
    const gemm_segment *segment;
    int64_t segments;
    const float *b; /* steps of nr elements */
    int64_t nr;
    int64_t ldc; /* from one row of c to the next; cols elements of each are used */
    int cols, ends;
    const float *bias;    /* cols elements */
    float low, high;      /* nan stays nan */
    const int32_t *lanes; /* of a groups kernel */
    int lines;            /* cache lines to prefetch per GEMM_NEAR steps, */
    int64_t share;        /* bytes of these for a tile */
} gemm_rows;
/* Some tiles, one below the other. other: rows as c's, if
 * GEMM_ADD_OTHER; prefetch: where the lines to prefetch begin. */
typedef void gemm_rows_fn(const gemm_rows *r, int64_t tiles, const float *a, float *c,
                          const float *other, const char *prefetch);

/* `tiles` tiles of this many steps together prefetch as much of the next weights as
 * they use. With more weights than rows, these come from outer caches or memory. */
static inline void gemm_rows_prefetch(gemm_rows *r, int64_t steps, int64_t nr, int64_t tiles) {
    int64_t lines = (steps * nr * (int64_t)sizeof(float) + 64 * tiles - 1) / (64 * tiles);
    r->lines = (int)((lines * GEMM_NEAR + steps - 1) / steps);
    r->share = lines * 64;
}

/* Vectors for a groups kernel from `pixels` pixels at stride `apart`, with n channels each (at
 * most the lanes of a vector): at step k < steps lane l has channel lanes[l] + k times its scale
 * (NULL: 1), or 0 where there is none. To `to`, `pixel` elements from one pixel to the next. */
typedef void gemm_spread_fn(const float *from, int64_t apart, int64_t pixels, int n,
                            const float *scale, const int32_t *lanes, int64_t steps, float *to,
                            int64_t pixel);

/* One row with a panel of nr columns: c (cols <= nr elements) = alpha * a
 * b + beta * c; a is contiguous. An element is the sum of four chains. */
typedef void gemm_stream_fn(int64_t k, const void *a, const void *b, void *c, int cols,
                            double alpha, double beta);

typedef struct gemm_micro {
    isa isa;
    int size; /* bytes of an element */
    int mr, nr, dot_rows;
    int lanes, group_rows;                 /* of a vector; of groups and narrow kernels */
    int64_t kc, mc, nc;                    /* sizes of blocks: see kernels/matmul/gemm_block.c */
    gemm_tile_fn *tile[GEMM_MAX_ROWS + 1]; /* by rows, from 1 to mr */
    gemm_near_fn *near[GEMM_MAX_ROWS + 1];
    gemm_lying_fn *lying;
    gemm_dot_fn *dot[GEMM_DOT_MAX_ROWS + 1]; /* by rows, from 1 to dot_rows */
    gemm_row_fn *row;
    gemm_rows_fn *rows[GEMM_MAX_ROWS + 1]; /* by rows, from 1 to mr; of floats only */
    /* by rows, from 1 to group_rows; of floats only */
    gemm_rows_fn *groups[GEMM_MAX_ROWS + 1];
    gemm_rows_fn *narrow[GEMM_MAX_ROWS + 1]; /* the same */
    /* taps kernels, by stride - 1 and rows; NULL where others are as fast */
    gemm_rows_fn *group_taps[GEMM_TAPS_STRIDES][GEMM_MAX_ROWS + 1];
    gemm_rows_fn *narrow_taps[GEMM_TAPS_STRIDES][GEMM_MAX_ROWS + 1];
    gemm_spread_fn *spread; /* or NULL */
    gemm_stream_fn *stream;
    /* Packs `side` rows of A (columns of B) of `depth` elements into panels of `width`:
     * element (s, d) of a panel goes to to[d * width + s], rows missing in the last
     * panel are zeros. Up to 64 bytes after the last panel are overwritten. */
    void (*pack)(const void *from, int64_t side, int64_t depth, int64_t side_stride,
                 int64_t depth_stride, int width, void *to);
    /* The inverse for one panel, with rows contiguous along
     * depth: element (s, d) goes to to[s * side_stride + d]. */
    void (*unpack)(const void *from, int64_t side, int64_t depth, int64_t side_stride, int width,
                   void *to);
} gemm_micro;

void gemm_pack_float(const void *from, int64_t side, int64_t depth, int64_t side_stride,
                     int64_t depth_stride, int width, void *to);
void gemm_pack_double(const void *from, int64_t side, int64_t depth, int64_t side_stride,
                      int64_t depth_stride, int width, void *to);
void gemm_unpack_float(const void *from, int64_t side, int64_t depth, int64_t side_stride,
                       int width, void *to);
void gemm_unpack_double(const void *from, int64_t side, int64_t depth, int64_t side_stride,
                        int width, void *to);

#endif
