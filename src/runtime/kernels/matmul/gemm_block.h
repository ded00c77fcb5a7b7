/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm_block.h - ctsc's own products of float and double matrices: a product cut into blocks that
 * fit the caches, on a processor's micro-kernels.
 *
 * The algorithm of a product (gemm_plan) follows from its shape and strides. Given that,
 * an element of C depends only on its row of A and its column of B: rows and columns may
 * be divided anywhere and shared among threads. Nothing here allocates or uses threads.
 * Tests: tests/unit/test_gemm_block.c
 */
#ifndef CTSC_RUNTIME_KERNELS_MATMUL_GEMM_BLOCK_H
#define CTSC_RUNTIME_KERNELS_MATMUL_GEMM_BLOCK_H

#include "cpu/gemm/gemm_micro.h"
#include "runtime/kernels/engine/epilogue.h"
#include "runtime/kernels/matmul/gemm.h"
#include "tensor/dtype.h"

typedef enum gemm_method {
    GEMM_BLAS,   /* not here */
    GEMM_PACKED, /* both operands are packed */
    /* the transpose of C is made: columns of B, which are
     * contiguous, are read unpacked, and only A is packed */
    GEMM_TRANSPOSED,
    /* the transpose of C is made, of few rows: B fits one tile, and panels of A pass it */
    GEMM_THIN,
    /* B was packed before, all of it: panels of nr columns, one after the other
     * (gemm_block_prepack) */
    GEMM_PREPACKED,
    GEMM_LYING,  /* the same, and rows of A, which are contiguous, are read unpacked */
    GEMM_STREAM, /* the same, and A has one row */
    GEMM_DIRECT, /* B has no gaps along its rows, and too few rows of A use it to repay packing */
    GEMM_ROW,    /* A has one row, and B no gaps along its rows */
    GEMM_DOT,    /* both operands are contiguous along k: read unpacked */
} gemm_method;

typedef struct gemm_plan {
    const gemm_micro *micro; /* NULL if BLAS is to do it */
    gemm_method method;
    int64_t kc; /* GEMM_PREPACKED, GEMM_LYING: steps of k in one sum */
} gemm_plan;

/* C = alpha A B + beta C, as in gemm_run. */
typedef struct gemm_problem {
    int64_t m, n, k;
    double alpha, beta;
    gemm_matrix a, b; /* B packed before: b.p is the panels, b.cs is k */
    void *c;
    int64_t ldc;
    /* GEMM_PREPACKED: what gemm_block_pack_rows made of A; NULL: the product packs A itself */
    const void *rows;
    /* B packed before: what becomes of C. Its bias is a row that is added to each of C's, and beta
     * does not matter then; GEMM_LYING: nor does it without, and alpha is 1. The rest is of floats
     * alone, and `other` has the layout of c. Zeros: nothing */
    dense_epilogue after;
} gemm_problem;

/* The best micro-kernels for this processor, NULL if it has none. */
const gemm_micro *gemm_micro_best(dtype dt);
/* What is best for m, n, k >= 1; c and the scales do not matter. */
gemm_plan gemm_block_plan(const gemm_micro *micro, const gemm_problem *p);
/* The same for a B that was packed before, where alpha is 1 and beta 0. */
gemm_plan gemm_block_plan_prepacked(const gemm_micro *micro, int64_t m, int64_t k,
                                    const gemm_matrix *a);
/* Parts of a product best have a multiple of this many columns. */
int64_t gemm_block_columns(gemm_plan plan);
/* Bytes that gemm_block_run needs, for any part of a product of at most m x n. */
size_t gemm_block_scratch(gemm_plan plan, int64_t m, int64_t n, int64_t k);
/* Elements of all panels of a k x n matrix B, and B as these. */
int64_t gemm_block_prepacked_size(const gemm_micro *micro, int64_t n, int64_t k);
void gemm_block_prepack(const gemm_micro *micro, int64_t n, int64_t k, gemm_matrix b, void *panels);
/* A packed before, too, for GEMM_PREPACKED, so that the parts of a product that have all of its
 * rows need not each do it: parts of A, numbered, and the bytes of one. Parts [begin, end) are
 * packed to theirs of `to`; several threads may do some each. */
int64_t gemm_block_row_parts(gemm_plan plan, int64_t m, int64_t k, size_t *bytes);
void gemm_block_pack_rows(gemm_plan plan, const gemm_problem *p, int64_t begin, int64_t end,
                          void *to);
/* Does a product, or a part of it (some of its rows and columns, all of k). m, n, k >= 1. */
void gemm_block_run(gemm_plan plan, const gemm_problem *p, void *scratch);

#endif
