/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm_complex.h - the same as gemm_wide.h for a complex type, which C's operators would
 * treat by Annex G.
 *
 * Included with these defined, once for each; all of them are undefined afterwards:
 *     T           element
 *     NAME(x)     names of what is defined here
 *     PART        the parts' type
 *     BLAS(x)     BLAS's function x of the type
 *     SCALAR(x)   scalar definition x of the type
 */

/* The same for complex numbers, which C's operators would treat by Annex G. */
static void NAME(gemm_tiny)(const gemm_job *g) {
    const T alpha = {(PART)g->alpha.f, (PART)g->alpha.im};
    const T beta = {(PART)g->beta.f, (PART)g->beta.im};
    for (int64_t i = 0; i < g->m; i++) {
        const T *row = (const T *)g->a.p + i * g->a.rs;
        T *out = (T *)g->c + i * g->ldc;
        for (int64_t j = 0; j < g->n; j++) {
            const T *col = (const T *)g->b.p + j * g->b.cs;
            T sum = {0, 0};
            for (int64_t x = 0; x < g->k; x++)
                sum = SCALAR(add)(sum, SCALAR(mul)(row[x * g->a.cs], col[x * g->b.rs]));
            sum = SCALAR(mul)(alpha, sum);
            out[j] = SCALAR(set)(beta) ? SCALAR(add)(SCALAR(mul)(beta, out[j]), sum) : sum;
        }
    }
}

static void NAME(gemm_chunk)(void *ctx, int64_t begin, int64_t end) {
    gemm_job g = gemm_part(ctx, begin, end);
    gemm_layout la = gemm_layout_of(g.m, g.k, g.a.rs, g.a.cs);
    gemm_layout lb = gemm_layout_of(g.k, g.n, g.b.rs, g.b.cs);
    const T alpha = {(PART)g.alpha.f, (PART)g.alpha.im}, beta = {(PART)g.beta.f, (PART)g.beta.im};
    BLAS(gemm)(CblasRowMajor, la.trans, lb.trans, (blasint)g.m, (blasint)g.n, (blasint)g.k, &alpha,
               g.a.p, (blasint)la.ld, g.b.p, (blasint)lb.ld, &beta, g.c, (blasint)g.ldc);
}

static void NAME(gemm_scale)(const gemm_job *g) {
    const T beta = {(PART)g->beta.f, (PART)g->beta.im};
    for (int64_t i = 0; i < g->m; i++) {
        T *out = (T *)g->c + i * g->ldc;
        for (int64_t j = 0; j < g->n; j++)
            out[j] = SCALAR(set)(beta) ? SCALAR(mul)(beta, out[j]) : (T){0, 0};
    }
}

#undef T
#undef NAME
#undef PART
#undef BLAS
#undef SCALAR
