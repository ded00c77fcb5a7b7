/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_gemm_block.c - ctsc's own matrix products: every way and every set of micro-kernels that
 * this processor can run, against three loops.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/threads/thread_pool.h"
#include "runtime/kernels/matmul/gemm_block.h"
#include "ukernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- kernels of 14 rows on pairs of AVX2 vectors: the text that AVX-512 runs ----------------- */

#if defined(__x86_64__)
#include <immintrin.h>

/* Sanitizers make compilation of these take minutes; with them AVX2's kernels, the
 * same text, must do. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define PAIR_TARGET __attribute__((target("avx2,fma")))
#define PAIR(T, S, VEC, N)                                                                         \
    typedef struct pair_##T {                                                                      \
        VEC lo, hi;                                                                                \
    } pair_##T;                                                                                    \
    static inline PAIR_TARGET pair_##T pair_zero_##T(void) {                                       \
        return (pair_##T){_mm256_setzero_##S(), _mm256_setzero_##S()};                             \
    }                                                                                              \
    static inline PAIR_TARGET pair_##T pair_load_##T(const T *p) {                                 \
        return (pair_##T){_mm256_loadu_##S(p), _mm256_loadu_##S(p + (N))};                         \
    }                                                                                              \
    static inline PAIR_TARGET void pair_store_##T(T *p, pair_##T v) {                              \
        _mm256_storeu_##S(p, v.lo), _mm256_storeu_##S(p + (N), v.hi);                              \
    }                                                                                              \
    static inline PAIR_TARGET pair_##T pair_set1_##T(T x) {                                        \
        return (pair_##T){_mm256_set1_##S(x), _mm256_set1_##S(x)};                                 \
    }                                                                                              \
    static inline PAIR_TARGET pair_##T pair_fma_##T(pair_##T a, pair_##T b, pair_##T c) {          \
        return (pair_##T){_mm256_fmadd_##S(a.lo, b.lo, c.lo), _mm256_fmadd_##S(a.hi, b.hi, c.hi)}; \
    }                                                                                              \
    static inline PAIR_TARGET pair_##T pair_mul_##T(pair_##T a, pair_##T b) {                      \
        return (pair_##T){_mm256_mul_##S(a.lo, b.lo), _mm256_mul_##S(a.hi, b.hi)};                 \
    }                                                                                              \
    static inline PAIR_TARGET pair_##T pair_part_##T(const T *p, int64_t n) {                      \
        T whole[2 * (N)] = {0};                                                                    \
        memcpy(whole, p, (size_t)n * sizeof(T));                                                   \
        return pair_load_##T(whole);                                                               \
    }                                                                                              \
    static inline PAIR_TARGET void pair_put_##T(T *p, pair_##T v, int64_t n) {                     \
        T whole[2 * (N)];                                                                          \
        pair_store_##T(whole, v);                                                                  \
        memcpy(p, whole, (size_t)n * sizeof(T));                                                   \
    }                                                                                              \
    static inline PAIR_TARGET T pair_sum_##T(pair_##T v) {                                         \
        T all[2 * (N)], sum = 0;                                                                   \
        pair_store_##T(all, v);                                                                    \
        for (int i = 0; i < 2 * (N); i++) sum += all[i];                                           \
        return sum;                                                                                \
    }                                                                                              \
    static inline PAIR_TARGET void pair_sum4_##T(pair_##T p, pair_##T q, pair_##T r, pair_##T s,   \
                                                 T *to) {                                          \
        to[0] = pair_sum_##T(p), to[1] = pair_sum_##T(q), to[2] = pair_sum_##T(r),                 \
        to[3] = pair_sum_##T(s);                                                                   \
    }

PAIR(float, ps, __m256, 8)
PAIR(double, pd, __m256d, 4)

#define T float
#define V pair_float
#define LANES 16
#define NAME(x) pair_float_##x
#define TARGET PAIR_TARGET
#define MR 14
#define DOT_ROWS 6
#define ZERO pair_zero_float
#define VLOAD pair_load_float
#define VSTORE pair_store_float
#define SET1 pair_set1_float
#define FMA pair_fma_float
#define MUL pair_mul_float
#define LOAD_PART pair_part_float
#define STORE_PART pair_put_float
#define SUM4 pair_sum4_float
#define MICRO static const gemm_micro pair_micro_float
#define MICRO_HEAD .isa = ISA_AVX2, .group_rows = 0, .kc = 24, .mc = 28, .nc = 64
#define MICRO_TAIL .pack = gemm_pack_float, .unpack = gemm_unpack_float
#include "cpu/gemm/gemm_micro_tile.h"

#define T double
#define V pair_double
#define LANES 8
#define NAME(x) pair_double_##x
#define TARGET PAIR_TARGET
#define MR 14
#define DOT_ROWS 6
#define ZERO pair_zero_double
#define VLOAD pair_load_double
#define VSTORE pair_store_double
#define SET1 pair_set1_double
#define FMA pair_fma_double
#define MUL pair_mul_double
#define LOAD_PART pair_part_double
#define STORE_PART pair_put_double
#define SUM4 pair_sum4_double
#define MICRO static const gemm_micro pair_micro_double
#define MICRO_HEAD .isa = ISA_AVX2, .group_rows = 0, .kc = 24, .mc = 28, .nc = 32
#define MICRO_TAIL .pack = gemm_pack_double, .unpack = gemm_unpack_double
#include "cpu/gemm/gemm_micro_tile.h"

static const gemm_micro *const pairs[] = {&pair_micro_float, &pair_micro_double, NULL};
#else
static const gemm_micro *const pairs[] = {NULL};
#endif
#else
static const gemm_micro *const pairs[] = {NULL};
#endif

/* ---- one product ----------------------------------------------------------------------------- */

static uint64_t seed = 88172645463325252u;

static uint64_t random_next(void) {
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return seed;
}

static int64_t random_below(int64_t n) { return (int64_t)(random_next() >> 11) % n; }

static double get(dtype dt, const void *p, int64_t i) {
    return dt == DT_FLOAT32 ? (double)((const float *)p)[i] : ((const double *)p)[i];
}

static void set(dtype dt, void *p, int64_t i, double v) {
    if (dt == DT_FLOAT32) ((float *)p)[i] = (float)v;
    else ((double *)p)[i] = v;
}

/* Exactly as many elements as the matrix reaches, so that a sanitizer sees reads past it. */
static gemm_matrix random_matrix(dtype dt, int64_t rows, int64_t cols, int layout) {
    gemm_matrix m = {NULL, cols, 1};
    switch (layout) {
    case 0: break;
    case 1: m.rs = 1, m.cs = rows; break;
    case 2: m.rs = cols + 3; break;
    case 3: m.rs = 1, m.cs = rows + 5; break;
    case 4: m.rs = 2 * cols + 1, m.cs = 2; break;
    case 5: m.rs = 0, m.cs = 1; break;
    default: m.rs = 1, m.cs = 0; break;
    }
    int64_t n = rows && cols ? (rows - 1) * m.rs + (cols - 1) * m.cs + 1 : 0;
    void *p = malloc((size_t)n * dtype_size(dt) + (n == 0));
    assert_non_null(p);
    for (int64_t i = 0; i < n; i++) set(dt, p, i, (double)random_below(2001) / 1000 - 1);
    m.p = p;
    return m;
}

static void check_product(const gemm_problem *p, dtype dt, const void *before, const char *what) {
    double eps = dt == DT_FLOAT32 ? 1.2e-7 : 2.3e-16;
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->ldc; j++) {
            double got = get(dt, p->c, i * p->ldc + j), old = get(dt, before, i * p->ldc + j);
            if (j >= p->n) { /* between the rows nothing is written */
                assert_true(got == old || (isnan(got) && isnan(old)));
                continue;
            }
            double sum = 0, scale = 0;
            for (int64_t x = 0; x < p->k; x++) {
                double f = get(dt, p->a.p, i * p->a.rs + x * p->a.cs) *
                           get(dt, p->b.p, x * p->b.rs + j * p->b.cs);
                sum += f, scale += fabs(f);
            }
            double want = p->alpha * sum + (p->beta == 0 ? 0 : p->beta * old);
            double room = eps * (double)(p->k + 4) *
                              (fabs(p->alpha) * scale + fabs(p->beta == 0 ? 0 : p->beta * old)) +
                          1e-300;
            if (!(fabs(got - want) <= room))
                fail_msg("%s: %ld x %ld x %ld at %ld, %ld: %.17g, not %.17g", what, (long)p->m,
                         (long)p->n, (long)p->k, (long)i, (long)j, got, want);
        }
}

typedef struct product {
    dtype dt;
    gemm_problem p;
    void *before;
    size_t bytes; /* of c */
} product;

static product product_make(dtype dt, int64_t m, int64_t n, int64_t k, int la, int lb) {
    static const double alphas[] = {1, 1, -0.5, 3}, betas[] = {0, 0, 1, 2, -0.25};
    product it = {dt,
                  {m,
                   n,
                   k,
                   alphas[random_below(4)],
                   betas[random_below(5)],
                   {0},
                   {0},
                   NULL,
                   n + random_below(3)},
                  NULL,
                  0};
    it.p.a = random_matrix(dt, m, k, la);
    it.p.b = random_matrix(dt, k, n, lb);
    it.bytes = (size_t)(m * it.p.ldc) * dtype_size(dt);
    it.p.c = malloc(it.bytes + 1);
    it.before = malloc(it.bytes + 1);
    assert_true(it.p.c && it.before);
    for (int64_t i = 0; i < m * it.p.ldc; i++)
        set(dt, it.before, i, it.p.beta == 0 ? NAN : (double)random_below(100) / 10);
    memcpy(it.p.c, it.before, it.bytes);
    return it;
}

static void product_free(product *it) {
    free((void *)it->p.a.p), free((void *)it->p.b.p), free(it->p.c), free(it->before);
}

/* The whole at once, then cut at random borders, with one scratch for parts of all sizes: right,
 * and the same to the last bit. */
static void check_method(product *it, gemm_plan plan, const char *what) {
    const gemm_problem *p = &it->p;
    size_t size = dtype_size(it->dt), need = gemm_block_scratch(plan, p->m, p->n, p->k);
    void *scratch = malloc(need + 1), *whole = malloc(it->bytes + 1);
    assert_true(scratch && whole);
    memcpy(p->c, it->before, it->bytes);
    gemm_block_run(plan, p, scratch);
    check_product(p, it->dt, it->before, what);
    memcpy(whole, p->c, it->bytes);
    memcpy(p->c, it->before, it->bytes);
    int64_t row = 1 + random_below(p->m), col = 1 + random_below(p->n);
    size_t less = gemm_block_scratch(plan, row, col, p->k);
    char *room = malloc(less + 1);
    assert_non_null(room);
    room[less] = 42;
    for (int64_t i = 0; i < p->m; i += row)
        for (int64_t j = 0; j < p->n; j += col) {
            gemm_problem part = *p;
            part.m = p->m - i < row ? p->m - i : row, part.n = p->n - j < col ? p->n - j : col;
            part.a.p = (const char *)p->a.p + (size_t)(i * p->a.rs) * size;
            part.b.p = (const char *)p->b.p + (size_t)(j * p->b.cs) * size;
            part.c = (char *)p->c + (size_t)(i * p->ldc + j) * size;
            gemm_block_run(plan, &part, room);
            assert_int_equal(room[less], 42);
        }
    free(room);
    for (int64_t i = 0; i < p->m; i++)
        assert_memory_equal((char *)p->c + (size_t)(i * p->ldc) * size,
                            (char *)whole + (size_t)(i * p->ldc) * size, (size_t)p->n * size);
    free(scratch), free(whole);
}

/* A packed before, too, in parts that come in any order, for pieces of columns. */
static void check_prepacked_rows(product *it, gemm_plan plan, const gemm_problem *p,
                                 const char *whole) {
    size_t size = dtype_size(it->dt), bytes;
    int64_t parts = gemm_block_row_parts(plan, p->m, p->k, &bytes),
            cols = plan.micro->nr * (1 + random_below(3));
    char *rows = malloc((size_t)parts * bytes);
    assert_non_null(rows);
    for (int64_t i = parts - 1; i >= 0; i--) gemm_block_pack_rows(plan, p, i, i + 1, rows);
    memcpy(p->c, it->before, it->bytes);
    for (int64_t j = 0; j < p->n; j += cols) {
        gemm_problem part = *p;
        part.n = p->n - j < cols ? p->n - j : cols, part.rows = rows;
        part.b.p = (const char *)p->b.p + j * p->k * (int64_t)size;
        part.c = (char *)p->c + j * (int64_t)size;
        gemm_block_run(plan, &part, NULL);
    }
    assert_memory_equal(whole, p->c, it->bytes);
    free(rows);
}

/* B packed before: the whole, then cut into pieces whose columns are whole panels. */
static void check_prepacked_by(product *it, gemm_plan plan) {
    const gemm_micro *u = plan.micro;
    const gemm_problem *p = &it->p;
    size_t size = dtype_size(it->dt);
    char *panels = malloc((size_t)gemm_block_prepacked_size(u, p->n, p->k) * size),
         *scratch = malloc(gemm_block_scratch(plan, p->m, p->n, p->k) + 1);
    char *whole = malloc(it->bytes + 1);
    assert_true(panels && scratch && whole);
    gemm_block_prepack(u, p->n, p->k, p->b, panels);
    gemm_problem q = *p;
    q.b = (gemm_matrix){.p = panels, .cs = p->k};
    memcpy(p->c, it->before, it->bytes);
    gemm_block_run(plan, &q, scratch);
    check_product(p, it->dt, it->before, "packed before");
    memcpy(whole, p->c, it->bytes);
    memcpy(p->c, it->before, it->bytes);
    int64_t rows = 1 + random_below(p->m), cols = u->nr * (1 + random_below(3));
    for (int64_t i = 0; i < p->m; i += rows)
        for (int64_t j = 0; j < p->n; j += cols) {
            gemm_problem part = q;
            part.m = p->m - i < rows ? p->m - i : rows, part.n = p->n - j < cols ? p->n - j : cols;
            part.a.p = (const char *)p->a.p + i * p->a.rs * (int64_t)size;
            part.b.p = panels + j * p->k * (int64_t)size;
            part.c = (char *)p->c + (i * p->ldc + j) * (int64_t)size;
            gemm_block_run(plan, &part, scratch);
        }
    assert_memory_equal(whole, p->c, it->bytes);
    if (plan.method == GEMM_PREPACKED) check_prepacked_rows(it, plan, &q, whole);
    free(panels), free(scratch), free(whole);
}

static void check_prepacked(product *it, const gemm_micro *u) {
    double alpha = it->p.alpha, beta = it->p.beta;
    gemm_plan plan = gemm_block_plan_prepacked(u, it->p.m, it->p.k, &it->p.a);
    if (plan.method == GEMM_LYING) {
        it->p.alpha = 1, it->p.beta = 0;
        check_prepacked_by(it, plan);
        it->p.alpha = alpha, it->p.beta = beta;
        plan.method = GEMM_PREPACKED;
    }
    check_prepacked_by(it, plan);
}

static void check_all(const gemm_micro *u, int64_t m, int64_t n, int64_t k, int la, int lb) {
    product it = product_make(u->size == sizeof(float) ? DT_FLOAT32 : DT_FLOAT64, m, n, k, la, lb);
    check_method(&it, (gemm_plan){.micro = u, .method = GEMM_PACKED}, isa_table[u->isa].name);
    if (it.p.b.cs == 1)
        check_method(&it, (gemm_plan){.micro = u, .method = GEMM_DIRECT}, isa_table[u->isa].name);
    if (it.p.b.cs == 1 && m == 1)
        check_method(&it, (gemm_plan){.micro = u, .method = GEMM_ROW}, isa_table[u->isa].name);
    if (it.p.a.cs == 1 && it.p.b.rs == 1)
        check_method(&it, (gemm_plan){.micro = u, .method = GEMM_DOT}, isa_table[u->isa].name);
    if (it.p.b.rs == 1)
        check_method(&it, (gemm_plan){.micro = u, .method = GEMM_TRANSPOSED},
                     isa_table[u->isa].name);
    if (n <= u->mr)
        check_method(&it, (gemm_plan){.micro = u, .method = GEMM_THIN}, isa_table[u->isa].name);
    check_prepacked(&it, u);
    product_free(&it);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void check_methods(const gemm_micro *u) {
    static const int64_t large[][3] = {{130, 210, 600}, {500, 40, 300}, {7, 70, 2100},
                                       {64, 33, 1030},  {1, 4100, 77},  {245, 17, 261},
                                       {3, 1, 5000}};
    for (int i = 0; i < 400; i++)
        check_all(u, 1 + random_below(70), 1 + random_below(70), 1 + random_below(70),
                  (int)random_below(7), (int)random_below(7));
    for (int m = 1; m <= 15; m++) /* every number of rows and columns of a tile */
        for (int n = 1; n <= 33; n++)
            check_all(u, m, n, 1 + random_below(20), (int)random_below(2), (int)random_below(2));
    for (size_t i = 0; i < sizeof large / sizeof *large; i++)
        for (int layout = 0; layout < 4; layout++)
            check_all(u, large[i][0], large[i][1], large[i][2], layout & 1, layout >> 1);
}

static void test_methods(void **state) {
    (void)state;
    for (ukernel_type type = UKERNEL_F64; type <= UKERNEL_F32; type++)
        for (const ukernel **u = usable_ukernels(UKERNEL_GEMM, type); *u; u++)
            check_methods((*u)->record);
    for (int i = 0; pairs[i] && isa_has(pairs[i]->isa); i++) check_methods(pairs[i]);
}

/* What gemm_run makes of it, sizes of 0 too; the same bits from any number of threads. */
static void test_run(void **state) {
    (void)state;
    for (int i = 0; i < 600; i++) {
        bool is_large = i % 20 == 0;
        dtype dt = i % 2 ? DT_FLOAT32 : DT_FLOAT64;
        int64_t most = is_large ? 400 : 71;
        product it = product_make(dt, random_below(most), random_below(most), random_below(most),
                                  (int)random_below(7), (int)random_below(7));
        const gemm_problem *p = &it.p;
        void *first = malloc(it.bytes + 1);
        for (int threads = 1; threads <= 3; threads++) {
            pool_set_threads(threads);
            memcpy(p->c, it.before, it.bytes);
            assert_int_equal(gemm_run(NULL, dt, p->m, p->n, p->k, (gemm_scale){p->alpha, 0}, p->a,
                                      p->b, (gemm_scale){p->beta, 0}, p->c, p->ldc),
                             CTSC_OK);
            if (threads == 1) {
                check_product(p, dt, it.before, "gemm_run");
                memcpy(first, p->c, it.bytes);
            }
            for (int64_t r = 0; r < p->m; r++)
                assert_memory_equal((char *)p->c + (size_t)(r * p->ldc) * dtype_size(dt),
                                    (char *)first + (size_t)(r * p->ldc) * dtype_size(dt),
                                    (size_t)p->n * dtype_size(dt));
        }
        free(first);
        product_free(&it);
    }
    pool_set_threads(0);
}

/* NaN and infinity reach exactly the elements that they should. */
static void test_nan(void **state) {
    (void)state;
    for (int turned = 0; turned < 2; turned++) {
        product it = product_make(DT_FLOAT32, 20, 40, 50, 0, turned);
        it.p.beta = 0;
        ((float *)it.p.a.p)[3 * it.p.a.rs + 49 * it.p.a.cs] = NAN;
        ((float *)it.p.b.p)[49 * it.p.b.rs + 39 * it.p.b.cs] = INFINITY;
        assert_int_equal(gemm_run(NULL, DT_FLOAT32, 20, 40, 50, gemm_one, it.p.a, it.p.b, gemm_zero,
                                  it.p.c, it.p.ldc),
                         CTSC_OK);
        for (int64_t i = 0; i < 20; i++)
            for (int64_t j = 0; j < 40; j++) {
                float v = ((float *)it.p.c)[i * it.p.ldc + j];
                assert_int_equal(isnan(v) != 0, i == 3);
                assert_int_equal(isinf(v) != 0, i != 3 && j == 39);
            }
        product_free(&it);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_methods), cmocka_unit_test(test_run),
                                       cmocka_unit_test(test_nan)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
