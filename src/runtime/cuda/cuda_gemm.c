/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_gemm.c - products of matrices on a CUDA device: cuBLASLt's where it has one, else
 * kernels/gemm.cu.
 *
 * Epilogues that cuBLASLt does not support (gelu by erf, a tensor
 * added to what beta adds already) become a kernel over its result.
 * Tests: tests/unit/test_cuda_dense.c, test_cuda_blas.c
 */
#include "runtime/cuda/dense.h"

DENSE_FILE(gemm)

static int64_t gemm_tiles(int64_t n) { return (n + GEMM_TILE - 1) / GEMM_TILE; }

/* False: not done. */
static bool gemm_by_blas(diag *d, cuda *c, dtype dt, const dense_gemm *g, ctsc_status *status) {
    if (blas_gemm(d, c, dt, g, status)) return true;
    if (!g->epilogue.other && g->epilogue.activation == DENSE_PLAIN) return false;
    dense_gemm product = *g, rest = *g;
    product.epilogue = (dense_epilogue){.bias = g->epilogue.bias};
    rest.epilogue.bias = NULL;
    if (!blas_gemm(d, c, dt, &product, status)) return false;
    if (*status == CTSC_OK)
        *status = dense_each(d, c, &cuda_file_gemm, dense_defines(dt), "gemm_epilogue",
                             g->batch * g->m * g->n, &rest, sizeof rest);
    return true;
}

static ctsc_status gemm_do(diag *d, cuda *c, dtype dt, const dense_gemm *g) {
    ctsc_status st;
    if (g->m == 0 || g->n == 0 || g->batch == 0) return CTSC_OK;
    if (!dense_defines(dt))
        return diag_fail(d, CTSC_UNSUPPORTED,
                         "products of dtype %s are not supported on CUDA devices",
                         dtype_table[dt].torch_name);
    if (gemm_by_blas(d, c, dt, g, &st)) return st;
    return dense_launch(d, c, &cuda_file_gemm, dense_defines(dt), "gemm",
                        gemm_tiles(g->m) * gemm_tiles(g->n) * g->batch, GEMM_THREADS, g, sizeof *g);
}

static dense_gemm gemm_single(int64_t m, int64_t n, int64_t k, gemm_scale alpha, gemm_matrix a,
                              gemm_matrix b, gemm_scale beta, void *out, int64_t ldc,
                              const dense_epilogue *e) {
    return (dense_gemm){.a = a.p,
                        .b = b.p,
                        .c = out,
                        .epilogue = e ? *e : (dense_epilogue){0},
                        .m = m,
                        .n = n,
                        .k = k,
                        .a_rs = a.rs,
                        .a_cs = a.cs,
                        .b_rs = b.rs,
                        .b_cs = b.cs,
                        .ldc = ldc,
                        .batch = 1,
                        .alpha = alpha.f,
                        .beta = beta.f,
                        .int_alpha = alpha.i,
                        .int_beta = beta.i};
}

ctsc_status dense_gemm_run(diag *d, cuda *c, dtype dt, int64_t m, int64_t n, int64_t k,
                           gemm_scale alpha, gemm_matrix a, gemm_matrix b, gemm_scale beta,
                           void *out, int64_t ldc, const dense_epilogue *e) {
    dense_gemm g = gemm_single(m, n, k, alpha, a, b, beta, out, ldc, e);
    return gemm_do(d, c, dt, &g);
}

int64_t dense_batch_step(const tensor *t, int nb, int i) {
    int own = i - (nb - (t->ndim - 2));
    return own < 0 || t->sizes[own] == 1 ? 0 : t->strides[own];
}

ctsc_status dense_gemm_batch(diag *d, const tensor *a, const tensor *b, int nb,
                             const int64_t *batch, gemm_scale alpha, gemm_scale beta, tensor *out,
                             const dense_epilogue *e) {
    gemm_matrix ma = gemm_of(a), mb = gemm_of(b);
    int64_t m = a->sizes[a->ndim - 2], k = a->sizes[a->ndim - 1], n = b->sizes[b->ndim - 1];
    dense_gemm g = gemm_single(m, n, k, alpha, ma, mb, beta, tensor_data(out), n, e);
    for (int i = 0; i < nb; i++) {
        int64_t size = batch[i], sa = dense_batch_step(a, nb, i), sb = dense_batch_step(b, nb, i);
        g.batch *= size;
        if (size == 1) continue;
        dense_int last = g.nb - 1;
        /* goes on where the dim in front stops */
        if (g.nb && g.a_steps[last] == size * sa && g.b_steps[last] == size * sb) {
            g.sizes[last] *= size;
        } else if (g.nb == DENSE_DIMS) {
            return diag_fail(d, CTSC_LIMIT, "too many dimensions");
        } else {
            last = g.nb++;
            g.sizes[last] = size;
        }
        g.a_steps[last] = sa;
        g.b_steps[last] = sb;
    }
    return gemm_do(d, cuda_of(out), (dtype)out->dtype, &g);
}
