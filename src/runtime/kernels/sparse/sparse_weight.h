/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sparse_weight.h - constant weights of linear layers, mostly zero, packed for kernels
 * that skip zeros: see sparse_weight.c.
 * Tests: tests/unit/test_sparse.c
 */
#ifndef CTSC_RUNTIME_KERNELS_SPARSE_SPARSE_WEIGHT_H
#define CTSC_RUNTIME_KERNELS_SPARSE_SPARSE_WEIGHT_H

#include "runtime/kernels/engine/epilogue.h"
#include "runtime/kernels/engine/matrix.h"
#include "tensor/tensor.h"

typedef struct sparse_weight sparse_weight;

#ifdef CTSC_RT /* programs compiled ahead of time: weights are dense */
static inline void sparse_weight_free(sparse_weight *s) { (void)s; }
static inline bool sparse_weight_pays(const sparse_weight *s, int64_t rows) {
    (void)s, (void)rows;
    return false;
}
static inline bool sparse_weight_is_whole(const sparse_weight *s) {
    (void)s;
    return false;
}
static inline sparse_weight *sparse_weight_make(const tensor *w) {
    (void)w;
    return NULL;
}
static inline ctsc_status sparse_weight_run(diag *d, const sparse_weight *s, int64_t m,
                                            gemm_matrix a, const dense_epilogue *after, void *c,
                                            int64_t ldc, bool *done) {
    (void)d, (void)s, (void)m, (void)a, (void)after, (void)c, (void)ldc;
    *done = false;
    return CTSC_OK;
}
#else
/* Of w, a matrix of floats on the host, where that is faster than the dense kernels for few rows,
 * for many, or both; NULL: for neither, or no memory. */
sparse_weight *sparse_weight_make(const tensor *w);
void sparse_weight_free(sparse_weight *s);
/* Is it what to multiply this many rows by? */
bool sparse_weight_pays(const sparse_weight *s, int64_t rows);
/* Always: the dense form of the weight is never used. */
bool sparse_weight_is_whole(const sparse_weight *s);
/* c = a w' and `after`, as gemm_run_prepacked does. *done: false where a has infinities or NaN,
 * which zeros would make NaN: nothing is written then. Fails without memory. */
ctsc_status sparse_weight_run(diag *d, const sparse_weight *s, int64_t m, gemm_matrix a,
                              const dense_epilogue *after, void *c, int64_t ldc, bool *done);
#endif

#endif
