/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dense_params.h - the parameters of the kernels of kernels/: one struct per kind of
 * kernel, passed by value; and how kernels that work block by block divide their work.
 * The host includes this file; the programs have it prepended (DENSE_FILE in dense.h),
 * so it uses only headers that are prepended too, and only C that is also C++.
 */
#ifndef CTSC_RUNTIME_KERNELS_ENGINE_DENSE_PARAMS_H
#define CTSC_RUNTIME_KERNELS_ENGINE_DENSE_PARAMS_H

#ifndef CTSC_IR_SCALAR_SCALAR_ACTIVATION_H
#include "ir/scalar/scalar_activation.h"
#endif

typedef long long dense_int;
enum { DENSE_DIMS = 12 };

/* The first value that was out of bounds since the host looked (dense.h). */
typedef struct dense_fault {
    int kind, dim;         /* enum dense_fault_kind; 0: nothing */
    dense_int value, size; /* DENSE_FAULT_IMAGE: dim is the region, value the bits of a double */
} dense_fault;
enum dense_fault_kind {
    DENSE_FAULT_ROW = 1,
    DENSE_FAULT_INDEX,
    DENSE_FAULT_POSITION,
    DENSE_FAULT_CLASS,
    DENSE_FAULT_IMAGE,
    DENSE_FAULT_SAMPLES
};

/* What becomes of a sum before it is stored: activation(sum + bias + other). The bias is that of
 * the element's column or channel, `other` has the result's layout; NULL: not added. */
typedef struct dense_epilogue {
    const void *bias, *other;
    int activation, unused; /* enum dense_activation; of floating types only */
    /* of convolutions on the host: elements of the result from one pixel to the next; 0: its
     * channels. Others only without `other` */
    dense_int pitch;
} dense_epilogue;

/* c[i, j] = epilogue(alpha * sum over x of a[i, x] b[x, j] + beta * c[i, j]),
 * `batch` times. Batch number i is decomposed by the nb sizes, the last varying
 * fastest, into offsets of a and b; c advances by m * n elements each time. */
typedef struct dense_gemm {
    const void *a, *b;
    void *c;
    dense_epilogue epilogue;
    dense_int m, n, k, a_rs, a_cs, b_rs, b_cs, ldc, batch;
    dense_int nb, sizes[DENSE_DIMS], a_steps[DENSE_DIMS], b_steps[DENSE_DIMS];
    double alpha, beta;
    dense_int int_alpha, int_beta; /* of integer products */
} dense_gemm;
enum { GEMM_TILE = 64, GEMM_THREADS = 256 }; /* a block's: rows and columns of the result */

/* A convolution as conv_shape has it (conv/conv.h); ci, co: channels of one group. */
typedef struct dense_conv {
    const void *input, *weight;
    void *out;
    dense_epilogue epilogue;
    dense_int batch, groups, ci, co, in[3], kernel[3], outs[3], stride[3], pad[3], dilation[3],
        in_size, kernel_size, out_size;
} dense_conv;
enum { CONV_TILE = 64, CONV_THREADS = 256 }; /* a block's: channels and positions of the result */

/* Windows over planes of up to three dims (pool_geometry in pool/pool.h); adaptive: window o of
 * a dim goes from o * in / out to (o + 1) * in / out, the latter rounded up. */
typedef struct dense_pool {
    const void *x;
    void *y;
    dense_int *places; /* of the maxima in their planes, or NULL */
    /* divisor: 0 for the window's size */
    dense_int planes, in[3], out[3], kernel[3], stride[3], pad[3], dilation[3], divisor;
    int average, adaptive, count_padding, unused;
} dense_pool;

/* y[p, d, h, w] = x[p, at[0][d], at[1][h], at[2][w]] */
typedef struct dense_gather3 {
    const void *x;
    void *y;
    const dense_int *at[3];
    dense_int planes, in[3], out[3];
} dense_gather3;

/* y[p, d, h, w]: the sum of x over taps[0] * taps[1] * taps[2] places, which for output o of a dim
 * are at[o * taps...], times their weights. */
typedef struct dense_resample {
    const void *x;
    void *y;
    const dense_int *at[3];
    const void *weight[3]; /* double for double, else float */
    dense_int planes, in[3], out[3], taps[3];
} dense_resample;

/* grid_sampler (sampling.h): x is [batch, channels, in...], the last dim of grid holds
 * `dims` coordinates. */
typedef struct dense_grid {
    const void *x, *grid;
    void *y;
    dense_int batch, channels, in[3], out[3]; /* in[0], out[0]: 1 for two dims */
    int dims, mode, padding, align;           /* enum dense_grid_mode, dense_grid_padding */
} dense_grid;
enum dense_grid_mode { DENSE_BILINEAR, DENSE_NEAREST, DENSE_BICUBIC };
enum dense_grid_padding { DENSE_ZEROS, DENSE_BORDER, DENSE_REFLECTION };

/* affine_grid_generator: theta is [batch, dims, dims + 1]. */
typedef struct dense_affine {
    const void *theta;
    void *y;
    dense_int batch, size[3]; /* size[0]: 1 for two dims */
    int dims, align;
} dense_affine;

/* One item of a deformable convolution: columns is [channels * kernel, out positions],
 * mask may be NULL. */
typedef struct dense_deform {
    const void *x, *offset, *mask;
    void *columns;
    dense_int channels, offset_groups, size[2], kernel[2], stride[2], pad[2], dilation[2], out[2];
} dense_deform;

/* torchvision's operators on regions (regions.h): a region is a row (image, x1, y1,
 * x2, y2) of rois. */
typedef struct dense_regions {
    const void *x, *rois;
    void *y;
    int *map; /* second result: places of the maxima, or channels; may be NULL */
    /* sampling: samples per bin and dim; <= 0: as many as fit */
    dense_int batch, channels, height, width, regions, out_channels, bins[2], sampling;
    double scale;
    dense_fault *fault;
    int aligned, unused;
} dense_regions;
/* per region: more than a picture has pixels is a mistake */
enum { DENSE_REGION_SAMPLES = 1 << 24 };

/* Bit j of word w of row i of mask: the box of rank i overlaps that of rank 64 w + j > i by more
 * than the threshold. */
typedef struct dense_overlaps {
    const void *boxes;
    const dense_int *order;
    unsigned long long *mask;
    dense_int n, words;
    double threshold;
} dense_overlaps;

/* How an element is combined with what is written to it: the numbers of move_op
 * (engine/move.h). */
enum dense_combination { DENSE_SET, DENSE_ADD, DENSE_MUL, DENSE_MAXIMUM, DENSE_MINIMUM };

/* dst[...] = src[...]; steps in bytes, of any sign. */
typedef struct dense_move {
    const void *src;
    void *dst;
    dense_int n, ndim, sizes[DENSE_DIMS], dst_steps[DENSE_DIMS], src_steps[DENSE_DIMS];
} dense_move;

/* offsets[i] += index[i] * step, negative indices counting from the end of `size`. */
typedef struct dense_offsets {
    const dense_int *index;
    dense_int *offsets;
    dense_int count, size, step;
    dense_fault *fault;
    int dim, unused;
} dense_offsets;

/* An index_plan (index/index.h): element n of `dense`, decomposed into a position
 * in the front dims, one of `count`, and one in the block's dims, belongs to the
 * sum of their byte offsets in self. scalar: dense is one element. */
typedef struct dense_blocks {
    void *self, *dense;
    const dense_int *offsets;
    dense_int n, count, nfront, front[DENSE_DIMS], front_steps[DENSE_DIMS], nblock,
        block[DENSE_DIMS], block_steps[DENSE_DIMS];
    int scalar, combination;
} dense_blocks;

/* Element n of index moves between `other` and self, which does not move along the indexed dim;
 * steps in elements. */
typedef struct dense_scatter {
    void *self, *other;
    const dense_int *index;
    dense_int n, ndim, sizes[DENSE_DIMS], self_steps[DENSE_DIMS], index_steps[DENSE_DIMS],
        other_steps[DENSE_DIMS];
    dense_int size, step; /* of the indexed dim */
    dense_fault *fault;
    int dim, combination;
} dense_scatter;

/* Row i of out is row index[i] of the table, both `width` elements. */
typedef struct dense_rows {
    const void *table;
    void *out;
    const dense_int *index;
    dense_int count, width, rows;
    dense_fault *fault;
    int wrap, fault_kind;
} dense_rows;

/* embedding_bag (index/embedding.c). */
typedef struct dense_bags {
    const void *table, *scale;
    const dense_int *index, *offsets;
    void *y;
    dense_int *max_at, *sizes, *bag_of; /* each may be NULL */
    dense_int count, bags, noffsets, width, rows, padding;
    dense_fault *fault;
    int mode, unused; /* 0: sum, 1: mean, 2: maximum */
} dense_bags;

/* The positions of the flags that are set, in order; before: how many are set in front of each
 * chunk, and at its end how many there are. */
typedef struct dense_flags {
    const unsigned char *flags;
    dense_int *before, *places;
    dense_int n, chunks;
} dense_flags;
enum { FLAGS_CHUNK = 2048, FLAGS_THREADS = 256 }; /* a block's */

/* coordinates[i, :] of place[i] in a tensor of these sizes */
typedef struct dense_coordinates {
    const dense_int *places;
    dense_int *out;
    dense_int count, ndim, sizes[64];
} dense_coordinates;

/* softmax(scale * q k' + mask) v of `heads` heads; strides in elements, head number n being split
 * by the nb sizes. Scores for which `hidden`, bytes, is not 0 are `fill` instead. */
typedef struct dense_attention {
    const void *q, *k, *v, *mask;
    const unsigned char *hidden;
    void *out;
    dense_int heads, rows, cols, depth, width, nb, sizes[DENSE_DIMS];
    dense_int q_steps[DENSE_DIMS], k_steps[DENSE_DIMS], v_steps[DENSE_DIMS], mask_steps[DENSE_DIMS],
        hidden_steps[DENSE_DIMS], out_steps[DENSE_DIMS];
    dense_int q_rs, q_cs, k_rs, k_cs, v_rs, v_cs, mask_rs, mask_cs, hidden_rs, hidden_cs, out_rs;
    double scale, fill;
    int causal, unused;
} dense_attention;
enum { ATTENTION_ROWS = 16, ATTENTION_WARPS = 4 }; /* a block's */
/* most depth and width that its shared memory has room for */
enum { ATTENTION_WIDTH = 128 };

/* One step of one direction of a recurrent layer (rnn/rnn.c), for `rows` rows. */
typedef struct dense_cell {
    /* [rows, n gates * hidden]: products with the input, and with the state unless GRU */
    void *gates;
    const void *products; /* GRU: those with the state, of the same shape */
    const void *bias;     /* of the products with the state, or NULL */
    /* state [rows, hidden]; c: LSTM only; out: rows at stride out_step, or NULL */
    void *h, *c, *out;
    dense_int rows, hidden, out_step;
    int kind, unused; /* enum dense_cell_kind */
} dense_cell;
enum dense_cell_kind { DENSE_LSTM, DENSE_GRU, DENSE_RNN_TANH, DENSE_RNN_RELU };

/* Running results along the middle dim of [outer, n, inner]; places: cummax and cummin only. */
typedef struct dense_scan {
    const void *x;
    void *y;
    dense_int *places;
    dense_int outer, n, inner;
    int what, unused; /* enum dense_scan_kind */
} dense_scan;
enum dense_scan_kind {
    DENSE_SCAN_SUM,
    DENSE_SCAN_PROD,
    DENSE_SCAN_LOGSUMEXP,
    DENSE_SCAN_MAX,
    DENSE_SCAN_MIN
};
enum { SCAN_THREADS = 256 }; /* of a block that does a line */

/* Lines of a tensor as keys with their positions, sorted; line number n is split by the nd sizes of
 * all dims but the sorted one. */
typedef struct dense_sort {
    const void *x;
    void *values;
    dense_int *indices;
    unsigned long long *keys, *keys_to; /* [lines, n] */
    dense_int *at, *at_to;
    /* results are those of rank [first, first + count) */
    dense_int lines, n, x_step, first, count, out_step;
    dense_int nd, sizes[DENSE_DIMS], x_steps[DENSE_DIMS], out_steps[DENSE_DIMS];
    dense_int run; /* elements of what is sorted already */
    int descending, unused;
} dense_sort;
enum { SORT_TILE = 1024, SORT_THREADS = 512 }; /* a block's, where sorting begins */

/* Zeroes what is above (lower) or below the diagonal of each of `matrices`. */
typedef struct dense_triangle {
    void *t;
    dense_int matrices, rows, cols, diagonal;
    int lower, unused;
} dense_triangle;

#endif
