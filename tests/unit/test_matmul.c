/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_matmul.c - matrix products and what is made of them. The expected texts are
 * PyTorch 1.13.1's.
 */
#include "opcase.h"

#include "base/threads/thread_pool.h"
#include "runtime/kernels/matmul/gemm.h"

/* Products large enough to be cut into pieces, of small integers so that every order of summation
 * gives the same: all layouts, against three loops. */
enum { BIG_M = 130, BIG_N = 210, BIG_K = 90 };

static float big_a[BIG_M * BIG_K * 2], big_b[BIG_K * BIG_N * 2], big_c[BIG_M * BIG_N];

static void big_check(gemm_matrix a, gemm_matrix b, int64_t m, int64_t n, int64_t k) {
    assert_int_equal(gemm_run(NULL, DT_FLOAT32, m, n, k, gemm_one, a, b, gemm_zero, big_c, n),
                     CTSC_OK);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            float sum = 0;
            for (int64_t x = 0; x < k; x++)
                sum += ((const float *)a.p)[i * a.rs + x * a.cs] *
                       ((const float *)b.p)[x * b.rs + j * b.cs];
            assert_true(big_c[i * n + j] == sum);
        }
}

static void test_layouts(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof big_a / sizeof big_a[0]; i++)
        big_a[i] = (float)((int)(i * 7 % 11) - 5);
    for (size_t i = 0; i < sizeof big_b / sizeof big_b[0]; i++)
        big_b[i] = (float)((int)(i * 5 % 13) - 6);
    const int64_t shapes[][3] = {{BIG_M, BIG_N, BIG_K}, {1, BIG_N, BIG_K}, {BIG_M, 1, BIG_K},
                                 {BIG_M, BIG_N, 1},     {1, 1, BIG_K},     {3, 4, 5}};
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        int64_t m = shapes[s][0], n = shapes[s][1], k = shapes[s][2];
        const gemm_matrix as[] = {
            {big_a, k, 1}, {big_a, 1, m}, {big_a, 2 * k, 2}, {big_a, 0, 1}, {big_a, 1, 0}};
        const gemm_matrix bs[] = {
            {big_b, n, 1}, {big_b, 1, k}, {big_b, 2 * n, 2}, {big_b, 0, 1}, {big_b, 1, 0}};
        for (int i = 0; i < 5; i++)
            for (int j = 0; j < 5; j++) big_check(as[i], bs[j], m, n, k);
    }
}

/* The same bits from any number of threads, also where sums are rounded. */
static void test_threads(void **state) {
    (void)state;
    static float one[BIG_M * BIG_N];
    for (size_t i = 0; i < sizeof big_a / sizeof big_a[0]; i++) big_a[i] = 1.0f / (float)(i + 1);
    for (size_t i = 0; i < sizeof big_b / sizeof big_b[0]; i++) big_b[i] = 1.0f / (float)(i + 3);
    gemm_matrix a = {big_a, BIG_K, 1}, b = {big_b, BIG_N, 1};
    for (int threads = 1; threads <= 4; threads++) {
        pool_set_threads(threads);
        assert_int_equal(gemm_run(NULL, DT_FLOAT32, BIG_M, BIG_N, BIG_K, gemm_one, a, b, gemm_zero,
                                  big_c, BIG_N),
                         CTSC_OK);
        if (threads == 1) memcpy(one, big_c, sizeof one);
        assert_memory_equal(one, big_c, sizeof one);
    }
    pool_set_threads(0);
}

static tensor *matrix_of(int ndim, const int64_t *sizes, int shift) {
    tensor *t;
    assert_int_equal(tensor_new(NULL, DT_FLOAT32, ndim, sizes, &t), CTSC_OK);
    /* sums are exact */
    for (int64_t i = 0; i < t->numel; i++)
        TENSOR_AT(t, float)[i] = (float)((i * 7 + shift) % 23 - 11) / 4;
    return t;
}

static value linear_by(const char *key, const value *args) {
    op_ctx cx = {.op = op_find(key)};
    value r = value_none();
    assert_int_equal(op_call(&cx, key, 3, args, &r), CTSC_OK);
    return r;
}

/* A constant weight is packed when it is used a second time, and gives the same results before and
 * after, with any number of threads. */
static void test_prepacked(void **state) {
    (void)state;
    static const int64_t shapes[][4] = {
        {1, 1, 40, 30},
        {1, 5, 192, 100},
        {3, 7, 64, 31},
        {2, 100, 300, 257},
        {1, 600, 520, 40},
        {0, 3, 40, 40},
        {1, 9, 0, 40},
        {1, 2, 5000, 33},
        {1, 300, 1030, 700},
        /* rows at a stride of a multiple of 4 KiB */
        {1, 2, 1024, 33},
        {2, 40, 1024, 70},
        {1, 33, 2048, 97},
        {1, 2100, 1024, 5},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int biased = 0; biased < 2; biased++) {
            const int64_t *s = shapes[i], x_sizes[3] = {s[0], s[1], s[2]},
                          w_sizes[2] = {s[3], s[2]};
            tensor *w = matrix_of(2, w_sizes, 5), *own;
            value args[3] = {value_tensor_take(matrix_of(3, x_sizes, 0)), value_none(),
                             biased ? value_tensor_take(matrix_of(1, &s[3], 3)) : value_none()};
            assert_int_equal(tensor_constant(NULL, w, &own), CTSC_OK);
            args[1] = value_tensor_take(w);
            value want = linear_by("aten::linear", args);
            args[1] = value_tensor_take(own);
            for (int turn = 0; turn < 5; turn++) {
                pool_set_threads(turn % 3 + 1);
                value got = linear_by("ctsc::linear_prepacked", args);
                assert_true(tensor_same_shape(got.u.tensor, want.u.tensor));
                assert_memory_equal(tensor_data(got.u.tensor), tensor_data(want.u.tensor),
                                    (size_t)want.u.tensor->numel * sizeof(float));
                value_unref(got);
            }
            tensor_unref(w);
            value_unref(want);
            for (int k = 0; k < 3; k++) value_unref(args[k]);
        }
    pool_set_threads(0);
}

/* Panels are of one view of a constant: others, as attention takes parts of a weight,
 * are other weights. */
static void test_prepacked_views(void **state) {
    (void)state;
    int64_t x_sizes[2] = {7, 40}, w_sizes[2] = {90, 40};
    tensor *w = matrix_of(2, w_sizes, 5), *own, *part;
    value args[3] = {value_tensor_take(matrix_of(2, x_sizes, 0)), value_none(), value_none()};
    assert_int_equal(tensor_constant(NULL, w, &own), CTSC_OK);
    for (int turn = 0; turn < 9; turn++) {
        int64_t first = turn % 3 * 30;
        assert_int_equal(tensor_slice(NULL, w, 0, first, first + 30, 1, &part), CTSC_OK);
        value_set(&args[1], value_tensor_take(part));
        value want = linear_by("aten::linear", args);
        assert_int_equal(tensor_slice(NULL, own, 0, first, first + 30, 1, &part), CTSC_OK);
        value_set(&args[1], value_tensor_take(part));
        value got = linear_by("aten::linear", args);
        assert_memory_equal(tensor_data(got.u.tensor), tensor_data(want.u.tensor),
                            (size_t)want.u.tensor->numel * sizeof(float));
        value_unref(want), value_unref(got);
    }
    value_unref(args[0]), value_unref(args[1]);
    tensor_unref(w), tensor_unref(own);
}

/* What panels are not for goes to aten::linear: another dtype fails as there, a
 * vector is a vector. */
static void test_prepacked_otherwise(void **state) {
    (void)state;
    int64_t k = 40, w_sizes[2] = {30, 40};
    tensor *w = matrix_of(2, w_sizes, 5), *own;
    assert_int_equal(tensor_constant(NULL, w, &own), CTSC_OK);
    value args[3] = {value_tensor_take(matrix_of(1, &k, 0)), value_tensor_take(own), value_none()};
    for (int turn = 0; turn < 3; turn++) {
        value got = linear_by("ctsc::linear_prepacked", args);
        assert_int_equal(got.u.tensor->ndim, 1);
        assert_int_equal(got.u.tensor->sizes[0], 30);
        value_unref(got);
    }
    tensor *wide;
    assert_int_equal(tensor_to_dtype(NULL, args[0].u.tensor, DT_FLOAT64, &wide), CTSC_OK);
    value_set(&args[0], value_tensor_take(wide));
    op_ctx cx = {.op = op_find("ctsc::linear_prepacked")};
    value r = value_none();
    assert_int_equal(op_call(&cx, "ctsc::linear_prepacked", 3, args, &r), CTSC_FAILED);
    for (int i = 0; i < 3; i++) value_unref(args[i]);
    tensor_unref(w);
}

static const opcase products[] = {
    {"aten::mm", "f32[2,3]{-3 0 1 0 0 3} f32[3,2]{-3 2 -3 0 1 3}", "f32[2,2]{10 -3 3 9}"},
    {"aten::mm", "f64[2,3]{2 2 -1 2 3 0} f64[3,2]{1 -2 0 -1 1 3}", "f64[2,2]{1 -9 2 -7}"},
    {"aten::mm", "i64[2,3]{-1 2 2 -1 0 2} i64[3,2]{-3 2 -1 3 -1 2}", "i64[2,2]{-1 8 1 2}"},
    {"aten::mm", "i32[2,3]{1 -2 1 1 0 -2} i32[3,2]{-2 1 0 -2 1 0}", "i32[2,2]{-1 5 -4 1}"},
    {"aten::mm", "u8[2,3]{1 0 0 1 0 0} u8[3,2]{1 3 3 2 1 0}", "u8[2,2]{1 3 1 3}"},
    {"aten::mm", "bf16[2,3]{0 1 -3 1 -1 -1} bf16[3,2]{-1 -3 -3 -2 -2 -3}", "bf16[2,2]{3 7 4 2}"},
    {"aten::mm", "f32[2,3]^{2 -1 0 -2 2 3} f32[3,4]^{2 3 -2 3 -2 -2 2 1 3 2 0 0}",
     "f32[2,4]{6 8 -6 5 1 -4 8 -4}"},
    {"aten::mm", "f32[0,3]{} f32[3,2]{-2 2 2 -3 1 -3}", "f32[0,2]{}"},
    {"aten::mm", "f32[2,0]{} f32[0,2]{}", "f32[2,2]{0 0 0 0}"},
    {"aten::mm", "f32[2,3]{3 0 0 -1 3 -2} f32[2,3]{2 -2 2 0 0 1}",
     "!mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)"},
    {"aten::mm", "f32[2,3]{1 -1 -1 3 3 2} f64[3,2]{-2 2 -2 -2 -1 3}",
     "!expected scalar type Float but found Double"},
    {"aten::mm", "f32[3]{1 1 0} f32[3,2]{1 2 1 -3 1 2}", "!self must be a matrix"},
    {"aten::mm", "f32[2,3]{0 -1 0 2 0 2} f32[3]{-3 -1 3}", "!mat2 must be a matrix"},
    {"aten::mm", "b[2,2]{1 0 1 1} b[2,2]{0 1 0 0}",
     "!\"addmm_impl_cpu_\" not implemented for 'Bool'"},
    {"aten::mv", "f32[2,3]{0 -3 -2 1 0 -3} f32[3]{-1 0 -1}", "f32[2]{2 2}"},
    {"aten::mv", "f32[3,2]^{0 1 0 0 2 1} f32[2]{0 2}", "f32[3]{2 0 2}"},
    {"aten::mv", "f32[2,3]{3 1 1 -3 0 -1} f32[4]{-2 0 0 -2}", "!size mismatch, got 2, 2x3,4"},
    {"aten::mv", "f32[2,3]{0 1 2 -1 -2 0} f32[3,1]{3 1 0}",
     "!vector + matrix @ vector expected, got 1, 2, 2"},
    {"aten::dot", "f32[4]{1 -3 -1 -2} f32[4]{0 -1 -2 3}", "f32[]{-1}"},
    {"aten::dot", "i16[4]{3 -2 3 2} i16[4]{3 3 3 3}", "i16[]{18}"},
    {"aten::dot", "f32[2]{2 -2} f32[3]{-2 3 1}",
     "!inconsistent tensor size, expected tensor [2] and src [3] to have the same number of "
     "elements, but got 2 and 3 elements respectively"},
    {"aten::dot", "f32[2,2]{1 3 2 -2} f32[3]{-1 0 1}",
     "!1D tensors expected, but got 2D and 1D tensors"},
    {"aten::dot", "f32[2]{-2 -3} f64[2]{0 1}",
     "!dot : expected both vectors to have same dtype, but found Float and Double"},
    {"aten::vdot", "f32[3]{-1 1 3} f32[3]{0 -1 0}", "f32[]{-1}"},
    {"aten::bmm",
     "f32[2,2,3]{-2 2 -1 3 1 -3 -3 2 0 1 0 -2} f32[2,3,2]{2 0 2 -2 -1 -3 -1 2 -2 3 0 -3}",
     "f32[2,2,2]{1 -1 11 7 -1 0 -1 8}"},
    {"aten::bmm",
     "f32[2,2,3]^{2 3 1 -1 -2 -2 1 2 -2 1 -2 1} f32[2,3,2]^{0 1 0 -2 -2 -1 3 1 -1 -3 -1 3}",
     "f32[2,2,2]{-2 -5 4 5 3 -11 4 10}"},
    {"aten::bmm",
     "f32[2,2,3]{0 0 -1 0 0 2 -1 3 2 -2 -2 -3} f32[3,3,2]{-1 1 -2 -1 2 -1 2 1 -1 1 1 2 3 0 1 -3 1"
     " -1}",
     "!Expected size for first two dimensions of batch2 tensor to be: [2, 3] but got: [3, 3]."},
    {"aten::bmm", "f32[2,3]{-2 0 0 0 -1 3} f32[3,2]{-1 3 1 -2 -3 -2}",
     "!batch1 must be a 3D tensor"},
    {"aten::matmul", "f32[3]{2 -3 -1} f32[3]{3 3 0}", "f32[]{-3}"},
    {"aten::matmul", "f32[2,3]{2 3 3 -3 -1 3} f32[3]{0 0 0}", "f32[2]{0 0}"},
    {"aten::matmul", "f32[3]{-1 0 0} f32[3,2]{0 3 3 0 -1 1}", "f32[2]{0 -3}"},
    {"aten::matmul",
     "f32[2,1,2,3]{1 1 3 2 1 0 2 2 -1 -3 1 3} f32[2,3,2]{-1 -2 0 -3 -2 -1 2 1 -2 2 -2 0}",
     "f32[2,2,2,2]{-7 -8 -2 -7 -6 3 2 4 0 -9 -3 0 2 6 -14 -1}"},
    {"aten::matmul", "f32[2,2,3]{-2 -2 -1 1 -3 -1 0 0 2 -2 3 3} f32[3,2]{1 0 -1 3 -2 0}",
     "f32[2,2,2]{2 -6 6 -9 -4 0 -11 9}"},
    {"aten::matmul", "f32[2,2,3]^{-1 -3 -1 -2 -3 -2 -1 3 0 0 -3 -2} f32[3,2]{3 -2 1 -3 3 -2}",
     "f32[2,2,2]{-9 13 -15 17 0 -7 -9 13}"},
    {"aten::matmul", "f32[3]{-2 3 1} f32[2,3,2]{-1 -2 1 0 0 -2 1 3 -1 1 -1 1}",
     "f32[2,2]{5 2 -6 -2}"},
    {"aten::matmul", "f32[2,3]{0 -2 -2 -3 -3 0} f32[2,3,1]{2 -2 0 -1 0 2}", "f32[2,2,1]{4 0 -4 3}"},
    {"aten::matmul", "f32[]{3} f32[2]{3 -2}",
     "!both arguments to matmul need to be at least 1D, but they are 0D and 1D"},
    {"aten::matmul", "f32[2,2,3]{1 -1 -2 -3 -1 2 0 0 2 0 1 1} f32[4,2]{2 3 2 -1 -3 1 -1 -1}",
     "!mat1 and mat2 shapes cannot be multiplied (4x3 and 4x2)"},
    {"aten::matmul",
     "f32[2,2,3]{2 -1 1 -1 -2 -2 0 -3 -1 -2 0 -2} f32[2,4,2]{2 0 -1 0 1 2 -3 2 0 3 2 1 1 1 2 -3}",
     "!Expected size for first two dimensions of batch2 tensor to be: [2, 3] but got: [2, 4]."},
    {"aten::matmul",
     "f32[3,2,3]{0 1 -3 3 2 -3 1 0 -1 -2 0 0 -1 1 3 1 1 2} f32[2,3,2]{1 0 2 2 2 -1 -3 3 1 -3 -3 "
     "-3}",
     "!The size of tensor a (3) must match the size of tensor b (2) at non-singleton dimension 0"},
    {"aten::matmul", "f32[2,3]{3 3 1 1 3 -1} f32[4]{1 -3 -2 0}", "!size mismatch, got 2, 2x3,4"},
    {"aten::matmul",
     "f32[3]{3 3 -1} f32[2,4,5]{2 -2 0 1 -3 -2 1 2 3 3 -1 -2 3 -3 2 -3 0 3 -3 3 -2 0 2 0 2 -2 2 0"
     " 3 3 -1 -2 3 1 2 2 -3 -1 -3 3}",
     "!size mismatch, got 10, 10x4,3"},
    {"aten::inner", "f32[2,3]{-1 1 0 2 2 2} f32[2,3]{-2 -2 3 -1 -3 3}", "f32[2,2]{0 -2 -2 -2}"},
    {"aten::inner", "f32[]{-3} f32[2,3]{1 -1 -2 2 -2 2}", "f32[2,3]{-3 3 6 -6 6 -6}"},
    {"aten::inner", "f32[2,3]{1 -1 3 -3 -2 3} f32[2,4]{2 3 -2 2 1 -3 -3 2}",
     "!inner() the last dimension must match on both input tensors but got shapes [2, 3] and [2, "
     "4]"},
    {"aten::outer", "f32[2]{3 -3} f32[3]{-2 -2 -1}", "f32[2,3]{-6 -6 -3 6 6 3}"},
    {"aten::outer", "i64[2]{1 -3} f32[3]{1 1 1}", "f32[2,3]{1 1 1 -3 -3 -3}"},
    {"aten::outer", "f32[2,2]{-2 -3 -2 -1} f32[3]{1 -3 2}",
     "!outer: Expected 1-D argument self, but got 2-D"},
    {"aten::ger", "f32[2]{-3 3} f32[2]{-1 2}", "f32[2,2]{3 -6 -3 6}"},
};

static const opcase sums_with_products[] = {
    {"aten::linear", "f32[2,3]{1 3 1 -2 -3 0} f32[2,3]{2 0 -1 1 -2 0} f32[2]{0 0}",
     "f32[2,2]{1 -5 -4 4}"},
    {"aten::linear", "f32[2,3]{3 -3 2 -3 2 0} f32[2,3]{-3 -2 -1 0 -2 2} None",
     "f32[2,2]{-5 10 5 -4}"},
    {"aten::linear", "f32[3]{1 0 2} f32[2,3]{-3 -3 -3 0 1 -3} f32[2]{-1 2}", "f32[2]{-10 -4}"},
    {"aten::linear", "f32[2,2,3]{-1 -3 0 -1 3 -1 2 3 -1 3 3 0} f32[2,3]{1 -2 1 1 3 3} f32[2]{-1 2}",
     "f32[2,2,2]{4 -8 -9 7 -6 10 -4 14}"},
    {"aten::linear",
     "f32[2,2,3]^{3 -1 -2 3 -1 -2 -3 0 -3 -3 -1 -3} f32[2,3]^{-2 3 -2 2 -3 3} f32[2]{1 1}",
     "f32[2,2,2]{-4 4 -4 4 13 -14 10 -11}"},
    {"aten::linear", "f32[2,3]{-2 -3 0 -1 -2 1} f32[3]{3 1 1} None", "f32[2]{-9 -4}"},
    {"aten::linear", "f32[2,3]{-2 -2 1 0 3 3} f32[2,4]{2 1 -1 0 2 1 3 1} None",
     "!mat1 and mat2 shapes cannot be multiplied (2x3 and 4x2)"},
    {"aten::linear", "f32[2,3]{-3 3 1 -3 -3 -1} f32[2,3]{0 2 -2 -2 2 1} f32[3]{-2 -3 1}",
     "!The expanded size of the tensor (2) must match the existing size (3) at non-singleton "
     "dimension 1.  Target sizes: [2, 2].  Tensor sizes: [3]"},
    {"aten::linear", "f32[2,3]{2 0 0 2 -2 2} f64[2,3]{1 1 -1 3 -2 1} f32[2]{1 -1}",
     "!self and mat2 must have the same dtype"},
    {"aten::linear", "f32[2,3]{-2 0 3 -2 0 -2} f32[2,3,1]{1 2 2 -1 3 2} None",
     "!t() expects a tensor with <= 2 dimensions, but self is 3D"},
    {"aten::linear", "f32[2,3]{-1 1 0 -2 -1 3} f32[3]{1 0 -1} f32[1]{2}",
     "!mat2 must be a matrix, got 1-D tensor"},
    {"aten::addmm", "f32[2,2]{2 -2 -3 1} f32[2,3]{1 0 2 -3 3 -1} f32[3,2]{2 0 0 0 0 -3} 1 1",
     "f32[2,2]{4 -8 -9 4}"},
    {"aten::addmm", "f32[2]{-2 2} f32[2,3]{-3 2 -1 0 2 -3} f32[3,2]{-1 1 3 -2 1 2} 2 3",
     "f32[2,2]{20 -23 5 -26}"},
    {"aten::addmm",
     "f32[2,2]{nan nan nan nan} f32[2,3]{2 -2 3 -3 -2 -2} f32[3,2]{0 2 1 -1 -2 -3} 0 1",
     "f32[2,2]{-8 -3 2 2}"},
    {"aten::addmm", "i64[2,2]{0 -3 0 3} i64[2,3]{3 -3 -1 -2 2 3} i64[3,2]{0 -3 0 -2 0 0} 0.2 1.6",
     "i64[2,2]{0 -3 0 2}"},
    {"aten::addmm_", "f32[2,2]{1 0 3 0} f32[2,3]{1 -3 3 1 -2 -1} f32[3,2]{-2 -2 -2 -3 -2 3} 1 1",
     "f32[2,2]{-1 16 7 1}"},
    {"aten::addmm_", "f32[2]{-1 -3} f32[2,3]{1 -2 -2 2 2 1} f32[3,2]{-3 0 2 -3 2 -1} 1 1",
     "!Bad in-place call: input tensor size [2] and output tensor size [2, 2] should match"},
    {"aten::addmm", "f32[3,2]{3 3 -1 1 -2 1} f32[2,3]{-1 -2 -1 1 0 -3} f32[3,2]{3 -1 0 2 -2 3} 1 1",
     "!The expanded size of the tensor (2) must match the existing size (3) at non-singleton "
     "dimension 0.  Target sizes: [2, 2].  Tensor sizes: [3, 2]"},
    {"aten::addmm", "f32[2,2]{-3 -2 -1 3} f32[2,3]{3 -2 1 1 -2 -2} f32[2,3]{-1 2 -3 0 -2 -1} 1 1",
     "!mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)"},
    {"aten::addmm", "f64[2,2]{0 -1 -3 3} f32[2,3]{3 -2 -1 1 -1 -3} f32[3,2]{1 1 2 1 2 -1} 1 1",
     "!self and mat2 must have the same dtype"},
    {"aten::addmm", "f32[2,2]{2 3 -3 2} f32[2,3]{0 -2 3 1 3 -3} f32[3]{-1 1 2} 1 1",
     "!mat2 must be a matrix, got 1-D tensor"},
    {"aten::addmv", "f32[2]{1 -2} f32[2,3]{-2 -3 1 -2 -3 1} f32[3]{-3 1 2} 2 1", "f32[2]{7 1}"},
    {"aten::addmv_", "f32[2]{-1 0} f32[2,3]{-3 1 0 2 -3 0} f32[3]{0 3 -3} 1 -1", "f32[2]{-4 9}"},
    {"aten::addmv", "f32[3]{3 0 1} f32[2,3]{3 -1 1 3 3 -1} f32[3]{0 -2 2} 1 1",
     "!size mismatch, got 3, 2x3,3"},
    {"aten::addr", "f32[2,3]{0 3 0 -2 3 -3} f32[2]{-2 -2} f32[3]{2 2 -1} 1 2",
     "f32[2,3]{-8 -5 4 -10 -5 1}"},
    {"aten::addr", "b[2,3]{0 0 1 0 1 1} b[2]{0 0} b[3]{0 0 1} true true", "b[2,3]{0 0 1 0 1 1}"},
    {"aten::addr_", "f32[2,3]{-2 -3 1 0 2 3} f32[2]{3 2} f32[3]{-1 1 1} 1 2",
     "f32[2,3]{-8 3 7 -4 6 7}"},
    {"aten::addr", "i64[2,3]{-1 0 1 2 2 1} i64[2]{-1 2} i64[3]{-3 2 -3} 1 1.5",
     "!For integral input tensors, argument alpha must not be a floating point number."},
    {"aten::addr", "f32[2,2]{1 3 -3 2} f32[3]{2 2 0} f32[2]{3 -3} 1 1",
     "!The expanded size of the tensor (3) must match the existing size (2) at non-singleton "
     "dimension 0.  Target sizes: [3, 2].  Tensor sizes: [2, 2]"},
    {"aten::baddbmm",
     "f32[2,2,2]{-2 -1 -2 -2 1 3 -3 -3} f32[2,2,3]{2 1 -1 2 3 -2 2 1 3 -3 2 -1} f32[2,3,2]{-1 2 "
     "-3 -2 -3 2 3 0 -2 -3 2 1} 1 1",
     "f32[2,2,2]{-4 -1 -7 -8 11 3 -18 -10}"},
    {"aten::baddbmm",
     "f32[2]{-1 -2} f32[2,2,3]{0 -3 2 -2 -2 3 2 2 1 2 -1 -3} f32[2,3,2]{0 1 0 0 0 2 -2 2 2 -2 0 "
     "2} 2 3",
     "f32[2,2,2]{-2 8 -2 8 -2 2 -20 -4}"},
    {"aten::baddbmm_",
     "f32[2,2,2]{2 1 1 3 -1 1 -2 -3} f32[2,2,3]{2 1 0 1 -3 3 -2 -1 -2 -3 3 -3} f32[2,3,2]{1 3 -3 "
     "-1 -3 3 -2 3 1 1 1 -2} 0 1",
     "f32[2,2,2]{-1 5 1 15 1 -3 6 0}"},
    {"aten::baddbmm",
     "f32[2,2,2]{-2 -2 3 3 2 -3 1 -1} f32[2,2,3]{-3 0 2 2 -2 2 1 -1 1 3 3 -3} f32[2,4,2]{1 -2 -3 "
     "0 -2 0 -1 1 1 1 1 -3 -3 0 0 1} 1 1",
     "!Expected size for first two dimensions of batch2 tensor to be: [2, 3] but got: [2, 4]."},
    {"aten::addbmm",
     "f32[2,2]{2 1 1 1} f32[2,2,3]{-2 -3 -1 2 1 -3 -2 0 -1 -2 1 0} f32[2,3,2]{-2 -3 -3 -3 -3 2 -2"
     " -2 3 0 -3 1} 2 3",
     "f32[2,2]{73 50 29 -31}"},
    {"aten::addbmm_",
     "f32[2,2]{-3 -3 1 -2} f32[2,2,3]{-2 2 -2 3 1 -2 3 0 -3 -3 0 2} f32[2,3,2]{2 -3 0 0 0 -3 2 0 "
     "0 3 1 3} 1 1",
     "f32[2,2]{-4 0 3 1}"},
    {"aten::addbmm",
     "f32[2,2]{1 1 0 3} f32[3,2,3]{3 2 3 0 -1 1 2 2 -1 3 -2 2 2 0 1 0 -2 -3} f32[2,3,2]{3 0 2 3 0"
     " 3 -1 -1 0 -3 3 -1} 1 1",
     "!batch1 and batch2 must have same number of batches, got 3 and 2"},
    {"aten::addbmm",
     "f32[2,2]{1 -1 2 2} f32[2,2,3]{0 2 2 1 -1 -3 3 -3 0 -1 -2 0} f32[2,4,2]{-2 -3 2 -2 1 3 2 -1 "
     "0 -1 2 -3 0 1 0 -2} 1 1",
     "!Incompatible matrix sizes for bmm (2x3 and 4x2)"},
};

static const opcase distances_and_others[] = {
    {"aten::kron", "f32[2,2]{-2 2 0 3} f32[1,3]{1 2 0}", "f32[2,6]{-2 -4 -0 2 4 0 0 0 0 3 6 0}"},
    {"aten::kron", "f32[2]{2 2} f32[2,2]{0 3 -1 3}", "f32[2,4]{0 6 0 6 -2 6 -2 6}"},
    {"aten::bilinear",
     "f32[2,3]{-1 0 -2 0 1 -2} f32[2,2]{2 -1 -3 -2} f32[2,3,2]{-3 3 -2 -1 -3 1 -3 0 -1 -1 0 0} "
     "f32[2]{-1 2}",
     "f32[2,2]{22 8 -7 7}"},
    {"aten::bilinear",
     "f32[2,3]{-3 -3 2 1 1 2} f32[3,2]{-2 -3 -2 3 1 -3} f32[2,3,2]{0 0 -1 2 -3 -2 3 2 1 -2 -3 -2}"
     " None",
     "!bilinear(): input batch dimensions do not match at dim 0: got 2 and 3"},
    {"aten::_trilinear",
     "f32[2,3]{-3 -3 0 2 0 -3} f32[2,3]{1 1 2 1 0 1} f32[2,3]{-3 3 -3 -2 -3 -3} [] [] [] [1] 1",
     "f32[2]{0 5}"},
    {"aten::chain_matmul", "(f32[2,3]{-2 0 -1 0 1 -2} f32[3,2]{1 -3 3 -2 3 2} f32[2,2]{1 0 3 -1})",
     "f32[2,2]{7 -4 -21 6}"},
    {"aten::linalg_multi_dot", "(f32[3]{2 2 3} f32[3,2]{0 -2 -2 2 -1 3} f32[2]{1 3})", "f32[]{20}"},
    {"aten::linalg_multi_dot",
     "(f32[2,3]{2 -2 2 0 2 -3} f32[3,2]{0 2 2 -3 -3 -3} f32[2,4]{-1 1 -1 -2 -1 -1 -1 -3} "
     "f32[4,1]{-1 1 2 2})",
     "f32[2,1]{8 -76}"},
    {"aten::linalg_multi_dot", "(f32[2,3]{-3 -3 3 -3 3 -2})",
     "!multi_dot(): expected at least 2 tensors but got 1"},
    {"aten::linalg_multi_dot", "(f32[2,3]{-2 1 -1 0 0 -3} f32[2,3]{3 3 2 -1 3 1})",
     "!multi_dot(): tensors 0 and 1 with shapes [2, 3] and [2, 3] cannot be multiplied"},
    {"aten::cross", "f32[2,3]{0 1 3 0 0 3} f32[2,3]{0 -3 2 0 -1 0} None",
     "f32[2,3]{11 0 -0 3 0 -0}"},
    {"aten::cross", "i64[3,2]{-1 0 -3 -2 -2 1} i64[3,2]{3 -3 1 2 -2 -1} 0",
     "i64[3,2]{8 0 -8 -3 8 -6}"},
    {"aten::cross", "f32[2,2]{1 -3 1 -3} f32[2,2]{1 -1 1 1} None",
     "!no dimension of size 3 in input"},
    {"aten::linalg_cross", "f32[2,3]{0 -1 2 -1 1 2} f32[1,3]{-1 -3 -2} -1",
     "f32[2,3]{8 -2 -1 4 -4 4}"},
    {"aten::linalg_cross", "f32[2,3]{0 2 -2 3 0 -1} f32[3]{-3 1 -2} -1",
     "!linalg.cross: inputs must have the same number of dimensions."},
    {"aten::linalg_vecdot", "f32[2,3]{-3 0 1 0 -2 0} f32[2,3]{0 -3 2 3 -1 -2} -1", "f32[2]{2 2}"},
    {"aten::linalg_vecdot", "f32[2,3]{0 1 -2 -1 1 0} f64[2,3]{1 1 -2 -3 3 2} -1",
     "!linalg.vecdot: Expected x and y to have the same dtype, but found x of type Float and y of"
     " type Double instead"},
    {"aten::cdist",
     "f64[2,3]{1.125 0.75 0.375 1.75 0.375 0.875} f64[3,3]{0.375 0.625 -0.375 -2 -1.125 2.875 "
     "0.125 -2.125 0.25} 0.0 None",
     "f64[2,3]{3 3 3 3 3 3}"},
    {"aten::pdist", "f64[4,3]{-2.75 -0.375 -0.5 0.25 3 -0.625 -1.375 0 2 1.875 1.125 0.375} 0.0",
     "f64[6]{3 3 3 3 3 3}"},
    {"aten::cdist",
     "f64[2,3]{1 -2.5 -0.875 -2.375 -0.875 -0} f64[3,3]{0.5 -0.375 1.375 -1.625 -2.25 1.375 0.25 "
     "-0.625 -0.625} 1.0 None",
     "f64[2,3]{4.875 5.125 2.875 4.75 3.5 3.5}"},
    {"aten::pdist", "f64[4,3]{1.25 0.75 1 -0.875 -0.625 0.625 0.75 0 0.5 0.625 1.875 2} 1.0",
     "f64[6]{3.875 1.75 2.75 2.375 5.375 3.5}"},
    {"aten::cdist",
     "f64[2,3]{1.125 1.875 -0.375 -0.625 -0.75 0.5} f64[3,3]{0.375 1.125 0 -1.125 -0.125 2.125 "
     "-1.5 0.875 0.375} 2.0 None",
     "f64[2,3]{1.125 3.91312 2.90743 2.18303 1.81142 1.84983}"},
    {"aten::pdist",
     "f64[4,3]{-1.5 -2.25 -2.875 -1.875 1.875 -0.625 -1 0.5 1.25 1.5 0.125 2.125} 2.0",
     "f64[6]{4.71368 4.98278 6.29608 2.48433 4.69208 2.67512}"},
    {"aten::cdist",
     "f64[2,3]{-1.25 -0.25 0.625 0.75 -0.25 3} f64[3,3]{0.875 1.375 -0.375 -0.75 -1.75 -0.25 -0.5"
     " -1.25 -1.125} 3.0 None",
     "f64[2,3]{2.45999 1.60957 1.89279 3.49622 3.45041 4.18206}"},
    {"aten::pdist",
     "f64[4,3]{-1.375 -1.5 0.5 0.125 1.875 0.375 -0.25 -2.625 -1.25 0.375 0.125 -1.125} 3.0",
     "f64[6]{3.47106 2.01711 2.40678 4.5704 2.06064 2.7608}"},
    {"aten::cdist",
     "f64[2,2,3]{-0.875 1.5 1.875 1 1.375 2.375 -0.25 -0.625 -1.25 -0.5 -0.875 1.125} "
     "f64[3,3]{0.125 -1.5 0.5 0.5 -0.375 -2.875 -2.375 0.375 -0.75} 2.0 2",
     "f64[2,2,3]{3.44828 5.28855 3.22587 3.54216 5.55653 4.70704 1.99217 1.8071 2.40117 1.08253 "
     "4.15331 2.93151}"},
    {"aten::cdist",
     "f64[2,3]{-0.75 -0.125 -1 -2.125 -0.375 -0.875} f64[26,3]{-0.875 -0 -0.125 -1.25 0.625 "
     "-0.625 -1.125 2.25 -1.375 -0.125 0.5 2.375 -0.625 -1.25 -1.125 2.25 0 1.375 0.375 -2.125 "
     "-2.25 0.5 0.625 -0.875 0.625 1 0.5 -1.25 -1.625 -0.875 -0.5 -3.5 -0.75 -2.375 0.875 0.75 "
     "2.375 0.875 -0.25 -1.75 -1.5 2 0.5 -1 -1.5 0.625 2.125 -0.25 -1.5 -1.125 0.625 -2.625 0.625"
     " -1.625 0.25 1 -1.375 -0.75 -0.75 0.375 -0.75 -2.625 2.375 0.25 0.875 1 -0.375 -0.375 -1 "
     "1.5 2.125 -1.875 -0.125 1.375 -0.75 2 1.125 -0.5} 2.0 None",
     "f64[2,26]{0.892679 0.976281 2.43349 3.48882 1.1388 3.82835 2.61307 1.46309 2.32513 1.58607 "
     "3.39347 2.58904 3.36573 3.44828 1.60565 2.74146 2.05015 2.11394 1.55121 1.51038 4.20007 "
     "2.44949 0.450694 3.30009 1.64412 3.06186 1.5052 1.35208 2.85318 3.91511 1.75446 4.93394 "
     "3.34711 2.80903 3.36805 1.52582 3.52447 2.06534 4.71202 3.10996 2.76981 3.7687 1.78973 "
     "1.34629 2.78949 1.89572 4.18517 3.27395 1.75446 4.5156 2.66047 4.40525}"},
    {"aten::cdist",
     "f64[2,3]{-0.5 -0 1.375 -2.125 0.875 -1} f64[2,4]{-0.25 -1.25 -2.5 -0.5 1.375 -2.125 -0.875 "
     "-0.5} 2.0 None",
     "!X1 and X2 must have the same number of columns. X1: 3 X2: 4"},
    {"aten::cdist",
     "f64[2,3]{-1.375 -1.125 1.75 -0.125 0.75 0} f64[2,3]{0.25 -1.875 1.625 -0.625 0 -1.375} -1.0"
     " None",
     "!cdist only supports non-negative p values"},
    {"aten::cdist", "f64[3]{1 0.625 1.375} f64[2,3]{-1.25 0.875 0.375 0.875 -1.375 0.375} 2.0 None",
     "!cdist only supports at least 2D tensors, X1 got: 1D"},
    {"aten::cdist", "i64[2,3]{1 -2 1 -3 0 3} i64[2,3]{-3 2 2 1 0 0} 2.0 None",
     "!cdist only supports floating-point dtypes, X1 got: Long"},
    {"aten::pdist", "f64[2,2,2]{-0.875 -1.125 -1.375 -1 2.25 0.375 -1 -0.625} 2.0",
     "!pdist only supports 2D tensors, got: 3D"},
    {"aten::pairwise_distance",
     "f64[2,3]{2 0.625 1.25 0.875 -0.625 -0.625} f64[2,3]{-2 0.125 0.625 1 0.125 -1.375} 2.0 "
     "1e-06 false",
     "f64[2]{4.07929 1.068}"},
    {"aten::pairwise_distance",
     "f64[2,3]{-2 1.25 1.125 0.75 -0.125 -0.75} f64[3]{1.25 1 -2.375} 1.0 1e-06 true",
     "f64[2,1]{7 3.25}"},
    {"aten::cosine_similarity",
     "f64[2,3]{-0.25 -0.25 -0.75 0.25 -0.125 0} f64[2,3]{0.25 2.25 2.25 -1 -0.625 -0.5} 1 1e-08",
     "f64[2]{-0.873799 -0.480079}"},
    {"aten::cosine_similarity",
     "f64[2,3]{-1.5 0.625 0.75 -1 1.125 1} f64[3]{-1 -1.75 -2.375} 0 1e-08",
     "f64[3]{0.980581 -0.961524 -0.989949}"},
    {"aten::cosine_similarity", "f32[2,3]{0 0 0 0 0 0} f32[2,3]{2 2 -3 2 -3 1} 1 1e-08",
     "f32[2]{0 0}"},
    {"aten::cosine_similarity", "i64[2,2]{-3 3 1 -3} i64[2,2]{-3 2 -1 3} 1 1e-08",
     "!expected common dtype to be floating point, yet common dtype is Long"},
};

static void test_products(void **state) {
    (void)state;
    opcase_run(products, sizeof products / sizeof products[0]);
}

static void test_sums_with_products(void **state) {
    (void)state;
    opcase_run(sums_with_products, sizeof sums_with_products / sizeof sums_with_products[0]);
}

static void test_distances_and_others(void **state) {
    (void)state;
    opcase_run(distances_and_others, sizeof distances_and_others / sizeof distances_and_others[0]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_sums_with_products),
        cmocka_unit_test(test_distances_and_others),
        cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_prepacked),
        cmocka_unit_test(test_prepacked_views),
        cmocka_unit_test(test_prepacked_otherwise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
