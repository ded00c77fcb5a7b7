/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm_micro.h - micro-kernels of matrix products: what a processor does best, as a
 * table of functions.
 *
 * A tile is mr x nr elements of C that stay in registers while k runs. Each element of it is one
 * chain of fused multiply-adds in the order of k, whatever tile it lies in and however much of the
 * tile is wanted: so the value of an element does not depend on where C is cut.
 *
 * A dot kernel makes up to dot_rows x GEMM_DOT_COLS elements out of rows of A and columns of B that
 * both lie without gaps along k: vectors run along k, and nothing has to be packed. Element (i, j)
 * again depends on row i and column j alone.
 *
 * A rows kernel is a tile whose rows of A lie in memory as they are, in segments: what a
 * convolution has whose channels come last, each tap a segment. What is done to sums before they
 * are stored is done in registers.
 *
 * A groups kernel is a rows kernel for convolutions with groups of few channels: its tile is one
 * vector of results wide, which some groups share. b has steps of `lanes` elements, and at a
 * segment's step k lane l multiplies element lanes[l] + k of a vector of A. Where a micro-kernel
 * has `spread`, A has a vector for each step instead, which that function makes.
 *
 * A narrow kernel is a rows kernel for panels of one vector.
 *
 * A taps kernel is a groups or narrow kernel for convolutions whose kernel has three neighbouring
 * taps in a row: a segment is all three of them, whose pixels lie `lanes` elements apart, as the
 * rows of A do, or twice as far; the steps of b are those of the first tap, the second and the
 * third. What was loaded of a pixel serves all results that see it.
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
/* Steps of k whose share of the lines that a kernel brings near is asked for at once. More lines
 * than a core waits for at a time would hold up its loads. */
enum { GEMM_NEAR = 8 };
/* Pixels of which a few channels are copied: so far ahead they are prefetched. */
enum { GEMM_SPREAD_PREFETCH = 16 };

/* C (cols <= nr of its columns) = alpha * a b + beta * C; beta == 0 does not read C. a: k steps of
 * mr elements, of which the kernel uses as many as it has rows; b: k steps of nr elements, ldb
 * apart. All nr are read. */
typedef void gemm_tile_fn(int64_t k, const void *a, const void *b, int64_t ldb, void *c,
                          int64_t ldc, int cols, double alpha, double beta);
/* The same for all nr columns. On the way the next lines of memory from `prefetch` on are brought
 * near: so many for GEMM_NEAR steps of k. */
typedef void gemm_near_fn(int64_t k, const void *a, const void *b, int64_t ldb, void *c,
                          int64_t ldc, double alpha, double beta, const void *prefetch, int lines);
/* A whole tile, nr elements from one row of c to the next: a: mr rows lda apart, each without gaps
 * along k; b: k steps of nr elements. Columns behind `cols` may be left out. On the way k elements
 * of some rows from `prefetch` on, lda apart, are brought near. */
typedef void gemm_lying_fn(int64_t k, const void *a, int64_t lda, const void *b, void *c, int cols,
                           double alpha, double beta, const void *prefetch, int rows_prefetch);
/* A dot kernel: rows of a lda apart and columns of b ldb apart. */
typedef void gemm_dot_fn(int64_t k, const void *a, int64_t lda, const void *b, int64_t ldb, void *c,
                         int64_t ldc, int cols, double alpha, double beta);

/* One row: c (n elements) = alpha * a b + beta * c, a of k elements as apart, b of k
 * rows ldb apart. */
typedef void gemm_row_fn(int64_t n, int64_t k, const void *a, int64_t as, const void *b,
                         int64_t ldb, void *c, double alpha, double beta);

/* `k` elements of each row of A from a on, times as many steps of B from b on;
 * both count elements. */
typedef struct gemm_segment {
    int64_t a, b, k;
} gemm_segment;

enum { GEMM_ADD_C = 1, GEMM_ADD_BIAS = 2, GEMM_ADD_OTHER = 4, GEMM_CLAMP = 8 };

/* c = clamp(a b + c + bias + other, low, high), what `ends` has of it; floats. What a tile has of
 * its own is no part of it: a tile that waited for its stores to be read again as a whole would
 * wait for those of all of C before them. */
typedef struct gemm_rows {
    int64_t lda; /* from one row of a to the next */
    const gemm_segment *segment;
    int64_t segments;
    const float *b; /* steps of nr elements */
    int64_t nr;
    int64_t ldc; /* from one row of c to the next, of which cols elements are used */
    int cols, ends;
    const float *bias;    /* cols elements */
    float low, high;      /* nan stays nan */
    const int32_t *lanes; /* of a groups kernel */
    int lines;            /* of memory that are brought near for GEMM_NEAR steps, */
    int64_t share;        /* bytes of it for a tile */
} gemm_rows;
/* Some tiles, one below the other. other: rows as c's, if GEMM_ADD_OTHER; prefetch: where the lines
 * begin that are brought near. */
typedef void gemm_rows_fn(const gemm_rows *r, int64_t tiles, const float *a, float *c,
                          const float *other, const char *prefetch);

/* `tiles` tiles of so many steps bring as much of the next weights near between them as they use.
 * Those come from afar where there are more weights than rows. */
static inline void gemm_rows_prefetch(gemm_rows *r, int64_t steps, int64_t nr, int64_t tiles) {
    int64_t lines = (steps * nr * (int64_t)sizeof(float) + 64 * tiles - 1) / (64 * tiles);
    r->lines = (int)((lines * GEMM_NEAR + steps - 1) / steps);
    r->share = lines * 64;
}

/* Vectors for a groups kernel from `pixels` pixels apart elements apart, each of n channels (at
 * most the lanes of a vector): at step k < steps lane l has channel lanes[l] + k times its scale
 * (NULL: 1), or 0 where there is none. To `to`, `pixel` elements from one pixel to the next. */
typedef void gemm_spread_fn(const float *from, int64_t apart, int64_t pixels, int n,
                            const float *scale, const int32_t *lanes, int64_t steps, float *to,
                            int64_t pixel);

/* One row with a panel of nr columns: c (cols <= nr elements) = alpha * a b + beta * c; a without
 * gaps. An element is the sum of four chains. */
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
    /* Packs `side` rows of A (columns of B) of `depth` elements into panels of `width`: element (s,
     * d) of a panel goes to to[d * width + s], rows that are missing in the last panel are zeros.
     * Up to 64 bytes behind the last panel are overwritten. */
    void (*pack)(const void *from, int64_t side, int64_t depth, int64_t side_stride,
                 int64_t depth_stride, int width, void *to);
    /* The way back for one panel, rows of it without gaps along depth: element (s, d) to to[s *
     * side_stride + d]. */
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
