/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm_int.h - products of one integer type: sums modulo 2^64, cut to the type at the end, are sums
 * modulo its own size.
 *
 * Included with these defined, once for each; all of them are undefined afterwards:
 *     T           element
 *     NAME(x)     names of what is defined here
 */

/* Integer products: sums modulo 2^64, cut to the type at the end, are sums modulo its own size. */
static void NAME(gemm_chunk)(void *ctx, int64_t begin, int64_t end) {
    gemm_job g = gemm_part(ctx, begin, end);
    uint64_t alpha = (uint64_t)g.alpha.i, beta = (uint64_t)g.beta.i, sum[GEMM_INT_BLOCK];
    for (int64_t i = 0; i < g.m; i++)
        for (int64_t j = 0; j < g.n; j += GEMM_INT_BLOCK) {
            int64_t w = g.n - j < GEMM_INT_BLOCK ? g.n - j : GEMM_INT_BLOCK;
            memset(sum, 0, sizeof sum);
            for (int64_t x = 0; x < g.k; x++) {
                uint64_t f = (uint64_t)((const T *)g.a.p)[i * g.a.rs + x * g.a.cs];
                const T *b = (const T *)g.b.p + x * g.b.rs + j * g.b.cs;
                for (int64_t y = 0; y < w; y++) sum[y] += f * (uint64_t)b[y * g.b.cs];
            }
            T *out = (T *)g.c + i * g.ldc + j;
            for (int64_t y = 0; y < w; y++)
                out[y] = (T)(alpha * sum[y] + (beta ? beta * (uint64_t)out[y] : 0));
        }
}

#undef T
#undef NAME
