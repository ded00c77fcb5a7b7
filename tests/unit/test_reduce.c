/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_reduce.c - reductions, scans and order statistics against stored results of PyTorch
 * (reduce_cases.h), and what those rows are too small for: chunks, tiles, columns, precision,
 * threads.
 */
#include "opcase.h"

#include "base/threads/thread_pool.h"
#include "tensor/tensor.h"

#include <math.h>

#include "reduce_cases.h"

#define RUN_CASES(group)                                                                           \
    static void test_##group(void **state) {                                                       \
        (void)state;                                                                               \
        opcase_run(group##_cases, sizeof group##_cases / sizeof *group##_cases);                   \
    }
RUN_CASES(sums)
RUN_CASES(extremes)
RUN_CASES(spread)
RUN_CASES(linalg)
RUN_CASES(scans)
RUN_CASES(orders)

/* ---- large tensors --------------------------------------------------------------------------- */

/* Element k of every large tensor: small enough that int sums are exact, with no pattern of a
 * chunk's length. */
static int64_t pattern(int64_t k) { return (int64_t)((uint64_t)k * 2654435761u >> 7) % 1000 - 500; }

static tensor *large(dtype dt, int64_t rows, int64_t columns) {
    tensor *t;
    assert_int_equal(tensor_new(NULL, dt, 2, (int64_t[]){rows, columns}, &t), CTSC_OK);
    for (int64_t k = 0; k < t->numel; k++)
        dtype_store_int(dt, (char *)tensor_data(t) + (size_t)k * dtype_size(dt), pattern(k));
    return t;
}

static tensor *call(const char *key, tensor *t, value dim) {
    value args[] = {value_tensor_take(t), dim}, results[2] = {value_none(), value_none()};
    op_ctx cx = {0};
    assert_int_equal(op_call(&cx, key, dim.tag == V_NONE ? 1 : 2, args, results), CTSC_OK);
    value_unref(results[1]);
    return results[0].u.tensor;
}

static value one_dim(int64_t dim) {
    list *l = list_new(LIST_INT, TYPE_INT, 1);
    assert_true(list_append_take(l, value_int(dim)));
    return value_list_take(l);
}

/* Sums and extremes over either dim, and over all, of shapes around the sizes at which the engine
 * cuts. */
static void check_large(dtype dt, int64_t rows, int64_t columns) {
    tensor *t = large(dt, rows, columns);
    for (int dim = 0; dim < 2; dim++) {
        value dims = one_dim(dim);
        tensor *sum = call("aten::sum.dim_IntList", t, dims), *top = call("aten::amax", t, dims);
        tensor *place = call("aten::argmax", t, value_int(dim));
        assert_int_equal(sum->numel, dim ? rows : columns);
        for (int64_t r = 0; r < sum->numel; r++) {
            int64_t total = 0, best = INT64_MIN, at = 0;
            for (int64_t k = 0; k < (dim ? columns : rows); k++) {
                int64_t v = pattern(dim ? r * columns + k : k * columns + r);
                total += v;
                if (v > best) best = v, at = k;
            }
            dtype st = (dtype)sum->dtype;
            assert_int_equal(
                dtype_load_int(st, (char *)tensor_data(sum) + (size_t)r * dtype_size(st)), total);
            assert_int_equal(
                dtype_load_int(dt, (char *)tensor_data(top) + (size_t)r * dtype_size(dt)), best);
            assert_int_equal(TENSOR_AT(place, int64_t)[r], at);
        }
        tensor_unref(sum);
        tensor_unref(top);
        tensor_unref(place);
        value_unref(dims);
    }
    tensor_unref(t);
}

static void test_large(void **state) {
    (void)state;
    static const int64_t shapes[][2] = {{3, 70001},  {70001, 3}, {130, 200}, {65, 65},
                                        {1, 131073}, {5000, 17}, {2, 65536}};
    static const dtype dtypes[] = {DT_FLOAT32, DT_FLOAT64, DT_INT64, DT_INT16};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (size_t k = 0; k < sizeof dtypes / sizeof *dtypes; k++)
            check_large(dtypes[k], shapes[i][0], shapes[i][1]);
}

/* Values of one result in several runs: dims 0 and 2 of
 * three, in tensors in which they do not collapse. */
static void test_runs(void **state) {
    (void)state;
    static const int64_t shapes[][3] = {{5, 7, 20}, {3, 2, 40000}, {700, 3, 200}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        int64_t n0 = shapes[i][0], n1 = shapes[i][1], n2 = shapes[i][2];
        tensor *flat = large(DT_FLOAT32, n0 * n1, n2), *t;
        assert_int_equal(tensor_view(NULL, flat, 3, shapes[i], &t), CTSC_OK);
        value dims = one_dim(0);
        assert_true(list_append_take(dims.u.list, value_int(-1)));
        tensor *sum = call("aten::sum.dim_IntList", t, dims), *low = call("aten::amin", t, dims);
        for (int64_t r = 0; r < n1; r++) {
            int64_t total = 0, best = INT64_MAX;
            for (int64_t k = 0; k < n0 * n2; k++) {
                int64_t v = pattern((k / n2 * n1 + r) * n2 + k % n2);
                total += v;
                best = v < best ? v : best;
            }
            assert_int_equal((int64_t)TENSOR_AT(sum, float)[r], total);
            assert_int_equal((int64_t)TENSOR_AT(low, float)[r], best);
        }
        tensor_unref(sum);
        tensor_unref(low);
        value_unref(dims);
        tensor_unref(t);
        tensor_unref(flat);
    }
}

/* A sum that a float accumulator gets wrong in the second digit. */
static void test_precision(void **state) {
    (void)state;
    tensor *t;
    assert_int_equal(tensor_new(NULL, DT_FLOAT32, 1, (int64_t[]){1 << 24}, &t), CTSC_OK);
    for (int64_t k = 0; k < t->numel; k++) TENSOR_AT(t, float)[k] = 0.1F;
    tensor *sum = call("aten::sum", t, value_none()), *var = call("aten::var", t, value_none());
    tensor *mean = call("aten::mean", t, value_none());
    double want = (double)0.1F * (double)t->numel;
    assert_true(fabs((double)*TENSOR_AT(sum, float) - want) < want * 1e-6);
    assert_true(fabs((double)*TENSOR_AT(mean, float) - (double)0.1F) < 1e-7);
    assert_true(*TENSOR_AT(var, float) < 1e-14F);
    tensor_unref(sum);
    tensor_unref(mean);
    tensor_unref(var);
    tensor_unref(t);
}

/* The same bits from one thread and from four. */
static void test_threads(void **state) {
    (void)state;
    static const char *const keys[] = {"aten::sum",         "aten::mean",   "aten::var",
                                       "aten::norm.Scalar", "aten::prod",   "aten::max",
                                       "aten::argmin",      "aten::median", "aten::any"};
    tensor *t = large(DT_FLOAT32, 700, 500);
    for (int64_t k = 0; k < t->numel; k++) TENSOR_AT(t, float)[k] *= 0.37F;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        pool_set_threads(1);
        tensor *one = call(keys[i], t, value_none());
        pool_set_threads(4);
        tensor *four = call(keys[i], t, value_none());
        assert_memory_equal(tensor_data(one), tensor_data(four), dtype_size((dtype)one->dtype));
        tensor_unref(one);
        tensor_unref(four);
    }
    pool_set_threads(0);
    tensor_unref(t);
}

/* Rows long enough for the sorts' deeper levels, with many ties: medians against a count. */
static void test_order(void **state) {
    (void)state;
    tensor *t = large(DT_INT32, 9, 4001);
    tensor *median = call("aten::median.dim", t, value_int(1));
    tensor *mode = call("aten::mode", t, value_int(1));
    for (int64_t r = 0; r < 9; r++) {
        int64_t below = 0, upto = 0, m = TENSOR_AT(median, int32_t)[r], counts[1000] = {0}, top = 0;
        for (int64_t k = 0; k < 4001; k++) {
            int64_t v = pattern(r * 4001 + k);
            below += v < m;
            upto += v <= m;
            counts[v + 500]++;
        }
        assert_true(below <= 2000 && upto > 2000);
        for (int64_t v = 0; v < 1000; v++)
            if (counts[v] > counts[top]) top = v;
        assert_int_equal(TENSOR_AT(mode, int32_t)[r], top - 500);
    }
    tensor_unref(median);
    tensor_unref(mode);
    tensor_unref(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),    cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_spread),  cmocka_unit_test(test_linalg),
        cmocka_unit_test(test_scans),   cmocka_unit_test(test_orders),
        cmocka_unit_test(test_large),   cmocka_unit_test(test_precision),
        cmocka_unit_test(test_threads), cmocka_unit_test(test_runs),
        cmocka_unit_test(test_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
