/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_gemm_bf16.c - products of bfloat16 matrices that are packed in every
 * call, against sums of doubles: on this processor and on AMX's tile registers,
 * which need none (amx_emulator.h); all layouts of both factors, sizes that
 * fill no tile, NaN between the elements, and an inaccessible page after them.
 */
#include "support.h"

#include "amx_emulator.h"
#include "cpu/isa.h"
#include "fenced.h"
#include "runtime/kernels/matmul/gemm_bf16.h"

#include <math.h>

static uint64_t state = 7;
static uint32_t draw(uint32_t below) {
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)(state >> 33) % below;
}

/* rows x cols numbers with gaps, in memory that is NaN elsewhere. Layouts: contiguous
 * rows; strided rows; contiguous columns; strided columns, by an odd number; neither. */
typedef struct filled {
    bfloat16 *memory;
    size_t bytes;
    gemm_matrix m;
    double *wide;
} filled;

static filled fill(int64_t rows, int64_t cols, int layout) {
    filled f = {.wide = malloc((size_t)(rows * cols) * sizeof(double))};
    f.m.rs = layout == 0 ? cols : layout == 1 ? cols + 5 : layout == 4 ? 2 * cols + 1 : 1;
    f.m.cs = layout == 2 ? rows : layout == 3 ? rows + 3 : layout == 4 ? 2 : 1;
    int64_t size = (rows - 1) * f.m.rs + (cols - 1) * f.m.cs + 1;
    f.bytes = (size_t)size * sizeof *f.memory;
    bfloat16 *p = f.memory = fenced_alloc(NULL, f.bytes);
    for (int64_t i = 0; i < size; i++) p[i] = (bfloat16){0x7fc0};
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) {
            bfloat16 x = bfloat16_from_float(((float)draw(2000) - 1000) / 512);
            p[i * f.m.rs + j * f.m.cs] = x;
            f.wide[i * cols + j] = (double)bfloat16_to_float(x);
        }
    f.m.p = p;
    return f;
}

static void drop(filled *f) {
    fenced_free(NULL, f->memory, f->bytes);
    free(f->wide);
}

static void check(int64_t m, int64_t n, int64_t k, int la, int lb, bool start, bool floats) {
    filled a = fill(m, k, la), b = fill(k, n, lb);
    int64_t ldc = n + (int64_t)draw(3);
    float *from = malloc((size_t)n * sizeof *from);
    size_t width = floats ? sizeof(float) : sizeof(bfloat16);
    char *c = malloc((size_t)(m * ldc) * width);
    memset(c, 0xff, (size_t)(m * ldc) * width);
    for (int64_t j = 0; j < n; j++) from[j] = (float)draw(64) / 8;
    gemm_bf16_product p = {m, n, k, a.m, b.m, start ? from : NULL, c, ldc, floats};
    assert_int_equal(gemm_bf16(NULL, &p), CTSC_OK);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = start ? (double)from[j] : 0, size = fabs(sum);
            for (int64_t x = 0; x < k; x++) {
                sum += a.wide[i * k + x] * b.wide[x * n + j];
                size += fabs(a.wide[i * k + x] * b.wide[x * n + j]);
            }
            const char *at = c + (size_t)(i * ldc + j) * width;
            double got = floats ? (double)*(const float *)(const void *)at
                                : (double)bfloat16_to_float(*(const bfloat16 *)(const void *)at);
            double bound = size * 1e-6 + (floats ? 0 : fabs(sum) / 256);
            if (!(fabs(got - sum) <= bound))
                fail_msg("%lldx%lldx%lld, layouts %d and %d: (%lld, %lld) is %g, not %g",
                         (long long)m, (long long)n, (long long)k, la, lb, (long long)i,
                         (long long)j, got, sum);
        }
    /* nothing is written between rows */
    for (int64_t i = 0; i < m; i++)
        for (size_t x = (size_t)n * width; x < (size_t)ldc * width; x++)
            assert_int_equal((unsigned char)c[(size_t)(i * ldc) * width + x], 0xff);
    free(c);
    free(from);
    drop(&a);
    drop(&b);
}

static void check_cases(int n) {
    for (int i = 0; i < n; i++)
        check(1 + draw(70), 1 + draw(70), 1 + draw(90), (int)draw(5), (int)draw(5), draw(2),
              draw(2));
    /* rows at a stride of a multiple of 2048 bytes, several blocks of rows, many panels */
    for (int layout = 0; layout < 5; layout++)
        check(301, 67, 1024, layout, 4 - layout, true, false);
    check(64, 520, 128, 2, 0, false, false);
    /* few rows: the weight is not packed */
    for (int i = 0; i < 40; i++)
        check(1 + draw(33), 128 + draw(200), 2 * (1 + draw(40)), (int)draw(4), 2 + draw(2), draw(2),
              draw(2));
    check(1, 1, 1, 0, 0, true, true);
}

static void test_vectors(void **unused) {
    (void)unused;
    if (!gemm_bf16_usable()) skip();
    check_cases(1500);
}

static void on_amx(void *ctx, const quad_kernels *u) {
    (void)u;
    ++*(int *)ctx;
    check_cases(100);
}

static void test_tiles(void **unused) {
    (void)unused;
    int seen = 0;
    amx_each(UKERNEL_BF16, on_amx, &seen);
    assert_true(seen > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_vectors),
                                       cmocka_unit_test(test_tiles)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
