/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm.c - the speed of matrix products, one thread: ctsc's own in each way it can be done, against
 * OpenBLAS in the same run.
 *
 *     gemm [--double] [FILTER]        (make bench-gemm)
 *
 * Calls of the candidates follow each other in turns, so all meet the same machine; shown are the
 * best and the median of each, in GFLOP/s, and the ratio of what ctsc chooses to OpenBLAS. B is
 * given as columns without gaps ("t", a linear layer's weight) or as rows.
 */
#define bfloat16 openblas_bfloat16
#include <cblas.h>
#undef bfloat16
#undef complex
#undef I

#include "base/threads/thread_pool.h"
#include "runtime/kernels/matmul/gemm_block.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BENCH_WAYS = 6, BENCH_MAX_ROUNDS = 4000 };

typedef struct bench_shape {
    const char *name;
    int64_t m, n, k;
    bool turned, a_turned; /* B's columns are without gaps, A's are */
} bench_shape;

static double bench_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void bench_blas(bool wide, const gemm_problem *p) {
    bool turned = p->b.cs != 1;
    int ldb = (int)(turned ? p->b.cs : p->b.rs), m = (int)p->m, n = (int)p->n, k = (int)p->k;
    CBLAS_TRANSPOSE tb = turned ? CblasTrans : CblasNoTrans;
    CBLAS_TRANSPOSE ta = p->a.cs == 1 ? CblasNoTrans : CblasTrans;
    int lda = (int)(p->a.cs == 1 ? p->a.rs : p->a.cs);
    if (m == 1) { /* as gemm.c does it */
        tb = turned ? CblasNoTrans : CblasTrans;
        if (wide)
            cblas_dgemv(CblasRowMajor, tb, turned ? n : k, turned ? k : n, 1, p->b.p, ldb, p->a.p,
                        1, 0, p->c, 1);
        else
            cblas_sgemv(CblasRowMajor, tb, turned ? n : k, turned ? k : n, 1, p->b.p, ldb, p->a.p,
                        1, 0, p->c, 1);
    } else if (wide) {
        cblas_dgemm(CblasRowMajor, ta, tb, m, n, k, 1, p->a.p, lda, p->b.p, ldb, 0, p->c, n);
    } else {
        cblas_sgemm(CblasRowMajor, ta, tb, m, n, k, 1, p->a.p, lda, p->b.p, ldb, 0, p->c, n);
    }
}

static int bench_compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* way 0: OpenBLAS; 1: gemm_run; then the methods. False: not for this shape. */
static bool bench_call(int way, dtype dt, const gemm_problem *p, void *scratch) {
    gemm_plan plan = {gemm_micro_best(dt), GEMM_BLAS};
    switch (way) {
    case 0: bench_blas(dt == DT_FLOAT64, p); return true;
    case 1:
        gemm_run(NULL, dt, p->m, p->n, p->k, gemm_one, p->a, p->b, gemm_zero, p->c, p->ldc);
        return true;
    case 2: plan.method = GEMM_PACKED; break;
    case 3: plan.method = p->m == 1 ? GEMM_ROW : GEMM_DIRECT; break;
    case 4: plan.method = GEMM_DOT; break;
    default: plan.method = GEMM_TRANSPOSED; break;
    }
    if (!plan.micro || (way == 3 && (p->b.cs != 1 || p->m > 64)) ||
        ((plan.method == GEMM_DOT || plan.method == GEMM_TRANSPOSED) && p->b.rs != 1))
        return false;
    gemm_block_run(plan, p, scratch);
    return true;
}

static void bench_run(dtype dt, const bench_shape *s) {
    size_t size = dtype_size(dt), na = (size_t)(s->m * s->k), nb = (size_t)(s->n * s->k),
           nc = (size_t)(s->m * s->n);
    char *a = aligned_alloc(4096, (na * size + 8191) / 4096 * 4096),
         *b = aligned_alloc(4096, (nb * size + 8191) / 4096 * 4096);
    char *c = aligned_alloc(4096, (nc * size + 8191) / 4096 * 4096),
         *scratch = aligned_alloc(4096, 64 << 20);
    static double times[BENCH_WAYS][BENCH_MAX_ROUNDS];
    if (!a || !b || !c || !scratch) abort();
    memset(c, 0, nc * size);
    for (size_t i = 0; i < na; i++)
        dt == DT_FLOAT64 ? (((double *)a)[i] = (double)(i % 17) - 8)
                         : (((float *)a)[i] = (float)(i % 17) - 8);
    for (size_t i = 0; i < nb; i++)
        dt == DT_FLOAT64 ? (((double *)b)[i] = (double)(i % 13) - 6)
                         : (((float *)b)[i] = (float)(i % 13) - 6);
    gemm_problem p = {s->m,
                      s->n,
                      s->k,
                      1,
                      0,
                      {a, s->a_turned ? 1 : s->k, s->a_turned ? s->m : 1},
                      {b, s->turned ? 1 : s->n, s->turned ? s->k : 1},
                      c,
                      s->n};
    double flops = 2.0 * (double)s->m * (double)s->n * (double)s->k;
    int rounds = (int)(0.12 / (flops / 40e9 * 4)) + 7;
    if (rounds > BENCH_MAX_ROUNDS) rounds = BENCH_MAX_ROUNDS;
    bool has[BENCH_WAYS];
    for (int r = -1; r < rounds; r++)
        for (int w = 0; w < BENCH_WAYS; w++) {
            if (r >= 0 && !has[w]) continue;
            double begin = bench_now();
            has[w] = bench_call(w, dt, &p, scratch);
            if (r >= 0) times[w][r] = bench_now() - begin;
        }
    printf("%-10s %5ld %5ld %5ld %s", s->name, (long)s->m, (long)s->n, (long)s->k,
           s->turned ? "t" : " ");
    for (int w = 0; w < BENCH_WAYS; w++) {
        if (has[w]) qsort(times[w], (size_t)rounds, sizeof(double), bench_compare);
        if (has[w])
            printf("  %5.1f %5.1f", flops / times[w][0] * 1e-9,
                   flops / times[w][rounds / 2] * 1e-9);
        else printf("      -     -");
    }
    printf("   %5.2f %5.2f\n", times[0][0] / times[1][0],
           times[0][rounds / 2] / times[1][rounds / 2]);
    fflush(stdout);
    free(a), free(b), free(c), free(scratch);
}

static const bench_shape bench_shapes[] = {
    {"lstm", 64, 2048, 512, true},
    {"square", 16, 16, 16},
    {"square", 32, 32, 32},
    {"square", 64, 64, 64},
    {"square", 100, 100, 100},
    {"square", 128, 128, 128},
    {"square", 256, 256, 256},
    {"square", 512, 512, 512},
    {"square", 768, 768, 768},
    {"square", 1024, 1024, 1024},
    {"square", 64, 64, 64, true},
    {"square", 256, 256, 256, true},
    {"square", 1024, 1024, 1024, true},
    {"conv1", 64, 12544, 147},
    {"conv2", 64, 3136, 576},
    {"conv3", 128, 784, 1152},
    {"conv4", 256, 196, 2304},
    {"conv5", 512, 49, 4608},
    {"conv1x1", 128, 784, 64},
    {"conv27", 32, 1024, 27},
    {"qk", 64, 64, 64, true},
    {"qk", 64, 128, 64, true},
    {"qk", 64, 512, 64, true},
    {"qk", 64, 2048, 64, true},
    {"av", 64, 64, 128},
    {"av", 64, 64, 512},
    {"av", 64, 64, 2048},
    {"head", 64, 10, 512, true},
    {"head", 512, 10, 512, true},
    {"tall", 4096, 16, 64},
    {"tall", 4096, 8, 512, true},
    {"outer", 512, 512, 4},
    /* steps of training: an LSTM's, a small GPT's, an MLP's */
    {"train", 16, 1024, 256, true},
    {"train", 16, 256, 1024},
    {"train", 512, 1024, 256, true},
    {"train", 512, 256, 1024},
    {"train", 1024, 256, 512, false, true},
    {"train", 512, 384, 128, true},
    {"train", 512, 128, 384},
    {"train", 384, 128, 512, false, true},
    {"train", 512, 512, 128, true},
    {"train", 512, 128, 512},
    {"train", 512, 128, 512, true},
    {"train", 512, 128, 512, false, true},
    {"train", 64, 1024, 784, true},
    {"train", 1024, 784, 64, false, true},
    {"train", 64, 64, 32, true},
    {"train", 64, 32, 64},
};

static const char *bench_filter;

static bool bench_wanted(const char *name) { return !bench_filter || strstr(name, bench_filter); }

int main(int argc, char **argv) {
    dtype dt = DT_FLOAT32;
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "--double")) dt = DT_FLOAT64;
        else bench_filter = argv[i];
    pool_set_threads(1);
    gemm_setup();
    printf(
        "%-10s %5s %5s %5s    %-12s %-12s %-12s %-12s %-12s %-12s  ratio (best, median), GFLOP/s\n",
        "", "m", "n", "k", "OpenBLAS", "gemm_run", "packed", "direct/row", "dot", "turned");
    for (size_t i = 0; i < sizeof bench_shapes / sizeof *bench_shapes; i++)
        if (bench_wanted(bench_shapes[i].name)) bench_run(dt, &bench_shapes[i]);
    static const int64_t rows[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128};
    static const int64_t sides[][2] = {
        {512, 512}, {768, 768}, {3072, 768}, {768, 3072}, {2048, 2048}};
    for (int turned = 1; turned >= 0 && bench_wanted("linear"); turned--)
        for (size_t s = 0; s < sizeof sides / sizeof *sides; s++)
            for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
                bench_shape one = {"linear", rows[r], sides[s][0], sides[s][1], turned == 1};
                bench_run(dt, &one);
            }
    return 0;
}
