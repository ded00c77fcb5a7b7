/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm_wide.h - products by BLAS, and tiny ones without, for one real type.
 *
 * Included with these defined, once for each; all of them are undefined afterwards:
 *     T           element
 *     NAME(x)     names of what is defined here
 *     BLAS(x)     BLAS's function x of the type
 */

/* Sums of a row side by side: one alone waits for each of its additions. */
static inline __attribute__((always_inline)) void NAME(tiny_sums)(const gemm_job *g, const T *row,
                                                                  const T *b, T *out, const int n) {
    T sum[GEMM_TINY_SUMS] = {0}, alpha = (T)g->alpha.f, beta = (T)g->beta.f;
    int64_t step = g->b.rs, apart = g->b.cs;
    for (int64_t x = 0; x < g->k; x++, b += step) {
        T v = row[x * g->a.cs];
#pragma GCC unroll 8
        for (int j = 0; j < n; j++) sum[j] += v * b[j * apart];
    }
    for (int j = 0; j < n; j++)
        out[j] = beta == 0 ? alpha * sum[j] : beta * out[j] + alpha * sum[j];
}

static void NAME(gemm_tiny)(const gemm_job *g) {
    for (int64_t i = 0; i < g->m; i++) {
        const T *row = (const T *)g->a.p + i * g->a.rs, *b = g->b.p;
        T *out = (T *)g->c + i * g->ldc;
        int64_t j = 0;
        for (; j + GEMM_TINY_SUMS <= g->n; j += GEMM_TINY_SUMS)
            NAME(tiny_sums)(g, row, b + j * g->b.cs, out + j, GEMM_TINY_SUMS);
        for (; j < g->n; j++) NAME(tiny_sums)(g, row, b + j * g->b.cs, out + j, 1);
    }
}

/* Layouts fit BLAS. */
static void NAME(gemm_chunk)(void *ctx, int64_t begin, int64_t end) {
    gemm_job g = gemm_part(ctx, begin, end);
    gemm_layout la = gemm_layout_of(g.m, g.k, g.a.rs, g.a.cs);
    gemm_layout lb = gemm_layout_of(g.k, g.n, g.b.rs, g.b.cs);
    T alpha = (T)g.alpha.f, beta = (T)g.beta.f;
    if (g.n == 1 && (g.k == 1 || g.b.rs > 0)) {
        bool plain = la.trans == CblasNoTrans;
        BLAS(gemv)(CblasRowMajor, la.trans, (blasint)(plain ? g.m : g.k),
                   (blasint)(plain ? g.k : g.m), alpha, g.a.p, (blasint)la.ld, g.b.p,
                   (blasint)(g.k == 1 ? 1 : g.b.rs), beta, (T *)g.c, (blasint)g.ldc);
        return;
    }
    if (g.m == 1 && (g.k == 1 || g.a.cs > 0)) {
        bool plain = lb.trans == CblasNoTrans; /* c = transpose(b) a */
        BLAS(gemv)(CblasRowMajor, plain ? CblasTrans : CblasNoTrans, (blasint)(plain ? g.k : g.n),
                   (blasint)(plain ? g.n : g.k), alpha, g.b.p, (blasint)lb.ld, g.a.p,
                   (blasint)(g.k == 1 ? 1 : g.a.cs), beta, (T *)g.c, 1);
        return;
    }
    BLAS(gemm)(CblasRowMajor, la.trans, lb.trans, (blasint)g.m, (blasint)g.n, (blasint)g.k, alpha,
               g.a.p, (blasint)la.ld, g.b.p, (blasint)lb.ld, beta, (T *)g.c, (blasint)g.ldc);
}

static void NAME(gemm_scale)(const gemm_job *g) { /* c = beta * c, for k == 0 or alpha == 0 */
    T beta = (T)g->beta.f;
    for (int64_t i = 0; i < g->m; i++) {
        T *out = (T *)g->c + i * g->ldc;
        for (int64_t j = 0; j < g->n; j++) out[j] = beta == 0 ? 0 : beta * out[j];
    }
}

#undef T
#undef NAME
#undef BLAS
