/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_complex.c - complex tensors: pointwise operators, reductions, products, refusals,
 * printing. The rows of complex_cases.h are PyTorch 1.13.1's, but for dot and vdot, which are
 * sums of its products.
 */
#include "opcase.h"

#include "base/threads/thread_pool.h"

#include <math.h>

#include "complex_cases.h"

#define COMPLEX_ROWS(name)                                                                         \
    static void test_##name(void **state) {                                                        \
        (void)state;                                                                               \
        opcase_run(complex_##name, sizeof complex_##name / sizeof *complex_##name);                \
    }
COMPLEX_ROWS(unary)
COMPLEX_ROWS(binary)
COMPLEX_ROWS(ternary)
COMPLEX_ROWS(reduce)
COMPLEX_ROWS(product)

static tensor *complex_pattern(int ndim, const int64_t *sizes) {
    tensor *t;
    assert_int_equal(tensor_new(NULL, DT_COMPLEX64, ndim, sizes, &t), CTSC_OK);
    for (int64_t i = 0; i < t->numel; i++)
        TENSOR_AT(t, complex64)[i] = (complex64){(float)(i % 7) - 3, (float)(i % 5) - 2};
    return t;
}

static value complex_call(const char *key, int n, const value *args) {
    op_ctx cx = {.op = op_find(key)};
    value r = value_none();
    assert_int_equal(op_call(&cx, key, n, args, &r), CTSC_OK);
    return r;
}

/* Large enough for vectors, chunks, several threads and BLAS; whole numbers, so
 * that all is exact. */
static void test_large(void **state) {
    (void)state;
    int64_t n = 70 * 3000, matrix[2] = {70, 3000};
    value flat = value_tensor_take(complex_pattern(1, &n)),
          m = value_tensor_take(complex_pattern(2, matrix));
    double re = 0, im = 0;
    for (int64_t i = 0; i < n; i++) re += (double)(i % 7) - 3, im += (double)(i % 5) - 2;
    value sum = complex_call("aten::sum", 1, &flat);
    assert_true(TENSOR_AT(sum.u.tensor, complex64)->re == (float)re &&
                TENSOR_AT(sum.u.tensor, complex64)->im == (float)im);
    value turned = complex_call("aten::t", 1, &m), pair[2] = {m, turned};
    value product = complex_call("aten::mm", 2, pair);
    const complex64 *a = TENSOR_AT(m.u.tensor, complex64),
                    *c = TENSOR_AT(product.u.tensor, complex64);
    for (int64_t i = 0; i < 70; i += 23)
        for (int64_t j = 0; j < 70; j += 11) {
            double x = 0, y = 0;
            for (int64_t k = 0; k < 3000; k++) {
                complex64 p = a[i * 3000 + k], q = a[j * 3000 + k];
                x += (double)(p.re * q.re - p.im * q.im), y += (double)(p.re * q.im + p.im * q.re);
            }
            assert_true(c[i * 70 + j].re == (float)x && c[i * 70 + j].im == (float)y);
        }
    value done[] = {flat, m, sum, turned, product};
    for (size_t i = 0; i < sizeof done / sizeof *done; i++) value_unref(done[i]);
}

/* PyTorch prints the real part. */
static void test_print(void **state) {
    (void)state;
    int64_t two = 2;
    tensor *t = complex_pattern(1, &two);
    strbuf sb = STRBUF_INIT;
    tensor_print(t, &sb);
    assert_string_equal(sb_str(&sb), "-3\n-2\n[ CPUComplexFloatType{2} ]");
    sb_free(&sb);
    tensor_unref(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unary),   cmocka_unit_test(test_binary),
        cmocka_unit_test(test_ternary), cmocka_unit_test(test_reduce),
        cmocka_unit_test(test_product), cmocka_unit_test(test_large),
        cmocka_unit_test(test_print),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
