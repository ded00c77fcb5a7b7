/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm.h - matrix products on raw strided memory: the
 * basis of every operator that multiplies matrices.
 *
 * Float and double go to gemm_block.c, or to BLAS where that does not know the processor; complex
 * products to BLAS; half and bfloat16 are computed in float and rounded once; integers have loops
 * of their own and wrap around. Work is divided by shape, never by the number of threads, so
 * results do not depend on it: BLAS itself runs on one thread and the pool runs several BLAS calls.
 * Tests: tests/unit/test_matmul.c
 */
#ifndef CTSC_RUNTIME_KERNELS_MATMUL_GEMM_H
#define CTSC_RUNTIME_KERNELS_MATMUL_GEMM_H

#include "runtime/kernels/engine/epilogue.h"
#include "runtime/kernels/engine/matrix.h"

gemm_scale gemm_scale_of(const value *v);
bool gemm_supports(dtype dt); /* all numbers but bool and complex32 */
/* Makes BLAS and LAPACK run on the calling thread. Call before the first use of either. */
void gemm_setup(void);

/* c = alpha * a b + beta * c with a: m x k, b: k x n, c: m x n, contiguous
 * rows of c at stride ldc. beta == 0 ignores the contents of c, NaN too.
 * Fails only if out of memory or beyond BLAS's 31-bit sizes. */
ctsc_status gemm_run(diag *d, dtype dt, int64_t m, int64_t n, int64_t k, gemm_scale alpha,
                     gemm_matrix a, gemm_matrix b, gemm_scale beta, void *c, int64_t ldc);

/* On the host: count products of one shape: the i-th takes a moved by a_offsets[i] elements, b by
 * b_offsets[i], and writes c[i * m * n ...]. */
ctsc_status gemm_batch(diag *d, dtype dt, int64_t count, int64_t m, int64_t n, int64_t k,
                       gemm_scale alpha, gemm_matrix a, const int64_t *a_offsets, gemm_matrix b,
                       const int64_t *b_offsets, gemm_scale beta, void *c);

/* ---- on tensors (matmul.c) ------------------------------------------------------------------- */

/* Rows and columns are the last two dims; t has at least two. */
gemm_matrix gemm_of(const tensor *t);
/* Offsets of the matrices of t (all dims but the last two) as its batch dims broadcast to the nb
 * sizes of `batch`, in row-major order of these; count is their product. */
void gemm_offsets(const tensor *t, int nb, const int64_t *batch, int64_t count, int64_t *offsets);
/* Contiguous product over the last two dims, the others broadcast: torch.matmul for ndim >= 2.
 * Inner sizes and dtypes must agree already. */
ctsc_status matmul_batched(diag *d, const tensor *a, const tensor *b, tensor **out);
/* torch.matmul and torch.nn.functional.linear with their checks. */
ctsc_status matmul_tensors(op_ctx *cx, tensor *a, tensor *b, tensor **out);
ctsc_status matmul_linear(op_ctx *cx, tensor *input, tensor *weight, tensor *bias, tensor **out);
/* The same; does e with it where it fits, and says so in it. */
ctsc_status matmul_linear_with(op_ctx *cx, tensor *input, tensor *weight, tensor *bias, epilogue *e,
                               tensor **out);
/* Floating-point operations of torch.einsum on tensors that it takes, pair by pair as it goes about
 * them; path: or NULL. -1: out of memory. */
int64_t einsum_work(const str *equation, const list *ops, const list *path);

#endif
