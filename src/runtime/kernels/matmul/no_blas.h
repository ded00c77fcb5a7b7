/* SPDX-License-Identifier: Apache-2.0 */
/* no_blas.h - in place of OpenBLAS's header in the run-time library of compiled programs (src/rt),
 * which has no BLAS: gemm.c refuses what would come here. */
#ifndef CTSC_RUNTIME_KERNELS_MATMUL_NO_BLAS_H
#define CTSC_RUNTIME_KERNELS_MATMUL_NO_BLAS_H

typedef int blasint;
typedef enum CBLAS_TRANSPOSE { CblasNoTrans, CblasTrans } CBLAS_TRANSPOSE;
static inline void no_blas(int order, ...) { (void)order; }
#define cblas_sgemm no_blas
#define cblas_sgemv no_blas
#define cblas_dgemm no_blas
#define cblas_dgemv no_blas
enum { GEMM_HAS_BLAS = 0, CblasRowMajor = 0 };

#endif
