/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sparse.h - products of sparse matrices with dense ones. As records of
 * functions.
 *
 * Rows of a sparse matrix are compressed (CSR): row r has the elements start[r] to start[r + 1] of
 * `columns` and `values`. Three functions read that form:
 *
 *     product   S B: a sum of rows of B for each row of S; the vectors lie along the rows of B, so
 *               that it pays from a few columns on
 *     dots      S x, for one vector
 *     sampled   of A B' only the elements that S has
 *
 * Matrices that are multiplied again and again by few vectors (weights) have a second form, where
 * the processor finds 16 numbers in a table of 32 with one instruction (`lookup`): SPARSE_LANES
 * rows are a panel, and SPARSE_BLOCK columns a block. Each lane has the elements of its row in the
 * block, one per step, with their columns as bytes; a block has as many steps as its fullest row,
 * and zeros fill the others. So it reads no element of x twice from memory, and rows with equally
 * many elements in each block (2:4) fill it without gaps.
 *
 * Sums are of the elements' type, in the order of a row's elements within each of a fixed number of
 * chains. What is not stored is not multiplied: B must be finite where that matters.
 * Tests: tests/unit/test_sparse.c
 */
#ifndef CTSC_CPU_GEMM_SPARSE_H
#define CTSC_CPU_GEMM_SPARSE_H

#include "cpu/isa.h"

enum {
    SPARSE_LANES = 16,
    SPARSE_BLOCK = 32,
    SPARSE_LOOKUP_ROWS = 6, /* vectors at once */
};

/* Some rows of S; pointers to elements of the record's type. */
typedef struct sparse_part {
    const int64_t *start;   /* one more than rows */
    const int32_t *columns; /* of element start[0], */
    const void *values;     /* and its value */
    const void *b;          /* product: n columns; dots: a vector; sampled: rows of n */
    const void *a;          /* sampled: rows of n, one for each of S */
    int64_t ldb, lda, n;
    void *out; /* product: rows of n; dots: one each; sampled: one for each element */
    int64_t ldo;
    bool add; /* product, dots: to what is there */
} sparse_part;

/* `rows` vectors (1 to SPARSE_LOOKUP_ROWS) times one panel. */
typedef struct sparse_lookup {
    const uint8_t *counts;  /* of each block: its steps */
    const uint8_t *columns; /* [step][SPARSE_LANES] */
    const float *values;    /* the same */
    int64_t blocks;
    const float *x; /* whole blocks; ldx from one vector to the next */
    int64_t ldx;
    float *out; /* `lanes` of each */
    int64_t ldo;
    int lanes;
} sparse_lookup;

typedef struct sparse_micro {
    isa isa;
    void (*product)(const sparse_part *p, int64_t rows);
    void (*dots)(const sparse_part *p, int64_t rows);
    void (*sampled)(const sparse_part *p, int64_t rows);
    void (*lookup)(int rows, const sparse_lookup *l); /* NULL: none */
} sparse_micro;

#endif
