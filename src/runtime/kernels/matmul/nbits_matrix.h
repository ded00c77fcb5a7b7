/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nbits_matrix.h - matrices of 4-bit or 8-bit weights with a scale, and perhaps a zero point,
 * for each group of k, packed for the kernels of cpu/gemm/nbits.h; their products with rows.
 *
 * For layers reduced by the runtime, and for files that have such weights.
 * Tests: tests/unit/test_nbits.c
 */
#ifndef CTSC_RUNTIME_KERNELS_MATMUL_NBITS_MATRIX_H
#define CTSC_RUNTIME_KERNELS_MATMUL_NBITS_MATRIX_H

#include "cpu/ukernel.h"
#include "runtime/kernels/engine/kernel.h"

/* What a matrix is made of: column j of n has k weights scale * (q - middle - zero), the middle
 * being half of what the bits hold (8 or 128). */
typedef struct nbits_source {
    int64_t n, k, group; /* group: elements of k that share a scale */
    int bits;            /* 4 or 8 */
    const float *scale;  /* [n][groups] */
    const float *zero;   /* the same; NULL: 0 */
    /* the k values q of column j; called by several threads */
    void (*column)(const void *ctx, int64_t j, uint8_t *q);
    const void *ctx;
} nbits_source;

static inline int64_t nbits_groups(int64_t k, int64_t group) { return (k + group - 1) / group; }

typedef struct nbits_matrix {
    const nbits_micro *micro;
    nbits_form form;
    int64_t n, k, panels;
    bool one; /* a column has one scale, and numbers are integers, to be multiplied by it */
    uint8_t *data;
    void *memory;
} nbits_matrix;

/* Can groups of this many elements be packed? More than one group need a multiple of eight. */
static inline bool nbits_group_fits(int64_t k, int64_t group) {
    return group > 0 && (group >= k || group % NBITS_EIGHT == 0);
}
/* False if out of memory, or where groups do not fit; nothing is to be freed then. */
bool nbits_matrix_make(nbits_matrix *m, const nbits_source *s);
void nbits_matrix_free(nbits_matrix *m);

/* The form that rows are multiplied in: floats, or integers of one or two bytes with a scale for
 * each segment. BYTES and BRAINS, which is WIDE, may be bfloat16 where that is faster. */
typedef enum nbits_rows {
    NBITS_AS_FLOATS,
    NBITS_AS_BYTES,
    NBITS_AS_WIDE,
    NBITS_AS_BRAINS
} nbits_rows;

/* out = x m + bias. x and out are contiguous, of dtype dt: float32, float16 or bfloat16; bias has
 * n floats, or is NULL. Fails only if out of memory. */
ctsc_status nbits_product(diag *d, const nbits_matrix *m, nbits_rows as, dtype dt, const void *x,
                          int64_t rows, const float *bias, void *out);
/* The same of rows that are integers already: scale * (q - zero), both of a row; zero NULL: 0. out
 * is of float32. */
typedef struct nbits_ints {
    const int8_t *q;
    const float *scale;
    const int32_t *zero;
} nbits_ints;
ctsc_status nbits_product_ints(diag *d, const nbits_matrix *m, const nbits_ints *x, int64_t rows,
                               const float *bias, float *out);
/* The k weights of column j. */
void nbits_column(const nbits_matrix *m, int64_t j, float *to);

#endif
