/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_linear_epilogue.c - linear layers with sums and activations as a part of them
 * (ctsc::linear_epilogue) on the host: many shapes against double, before and after the weight is
 * packed, with any number of threads.
 */
#include "opcase.h"

#include "base/threads/thread_pool.h"

#include <math.h>

static const char *const names[] = {"none",        "relu",      "gelu",    "gelu_tanh", "relu6",
                                    "hardsigmoid", "hardswish", "sigmoid", "silu"};
enum { NAMES = sizeof names / sizeof *names };

static uint64_t seed;

static int64_t below(int64_t n) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((seed >> 33) % (uint64_t)n);
}

static double activation(int which, double x) {
    double bounded = fmin(fmax(x + 3, 0), 6);
    switch (which) {
    case 1: return fmax(x, 0);
    case 2: return x / 2 * (1 + erf(x / sqrt(2)));
    case 3: return x / 2 * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case 4: return fmin(fmax(x, 0), 6);
    case 5: return bounded / 6;
    case 6: return x * bounded / 6;
    case 7: return 1 / (1 + exp(-x));
    case 8: return x / (1 + exp(-x));
    default: return x;
    }
}

/* Small numbers, so that activations are met where they bend. */
static tensor *random_tensor(int ndim, const int64_t *sizes, double scale) {
    tensor *t;
    assert_int_equal(tensor_new(NULL, DT_FLOAT32, ndim, sizes, &t), CTSC_OK);
    for (int64_t i = 0; i < t->numel; i++)
        TENSOR_AT(t, float)[i] = (float)(scale * ((double)below(20001) / 10000 - 1));
    return t;
}

/* t, or the same elements with gaps between rows. */
static tensor *with_gaps(tensor *t) {
    int64_t last = t->sizes[t->ndim - 1], sizes[3] = {t->sizes[0], t->sizes[1], last + 3};
    tensor *wide = random_tensor(3, sizes, 1), *view;
    assert_int_equal(tensor_slice(NULL, wide, 2, 0, last, 1, &view), CTSC_OK);
    assert_int_equal(tensor_copy(NULL, view, t), CTSC_OK);
    tensor_unref(wide), tensor_unref(t);
    return view;
}

typedef struct layer {
    int64_t batch, length, n, k;
    value args[5];
    int which, other; /* other: 0: none, 1: as the result, 2: broadcast, 3: with gaps */
} layer;

static float at(const tensor *t, int64_t b, int64_t l, int64_t i) {
    return TENSOR_AT(
        t,
        float)[(t->sizes[0] == 1 ? 0 : b) * t->strides[0] + l * t->strides[1] + i * t->strides[2]];
}

static void check(const layer *it, const tensor *got) {
    const tensor *x = it->args[0].u.tensor, *w = it->args[1].u.tensor,
                 *b = it->args[2].tag == V_NONE ? NULL : it->args[2].u.tensor,
                 *o = it->args[3].tag == V_NONE ? NULL : it->args[3].u.tensor;
    int64_t all = it->batch * it->length * it->n, step = all < 3000 ? 1 : all / 3000;
    assert_int_equal(got->ndim, 3);
    for (int64_t e = 0; e < all; e += 1 + below(step)) {
        int64_t j = e % it->n, l = e / it->n % it->length, s = e / it->n / it->length;
        double sum = b ? TENSOR_AT(b, float)[j] : 0, size = fabs(sum);
        for (int64_t i = 0; i < it->k; i++) {
            double product = (double)at(x, s, l, i) *
                             (double)TENSOR_AT(w, float)[j * w->strides[0] + i * w->strides[1]];
            sum += product, size += fabs(product);
        }
        if (o) sum += at(o, s, l, j), size += fabs(at(o, s, l, j));
        double want = activation(it->which, sum), have = at(got, s, l, j);
        /* no activation is steeper than 1.2 */
        if (fabs(want - have) > 1e-6 + 4e-7 * size)
            fail_msg("%s of [%lld, %lld, %lld] x [%lld], other %d: %.9g instead of %.9g",
                     names[it->which], (long long)it->batch, (long long)it->length,
                     (long long)it->k, (long long)it->n, it->other, have, want);
    }
}

static void check_layer(int64_t batch, int64_t length, int64_t n, int64_t k) {
    layer it = {batch, length, n, k, .which = (int)below(NAMES), .other = (int)below(4)};
    int64_t x_sizes[3] = {batch, length, k}, w_sizes[2] = {n, k}, o_sizes[3] = {batch, length, n};
    tensor *w = random_tensor(2, w_sizes, 4 / sqrt((double)k + 1)), *own, *x;
    x = random_tensor(3, x_sizes, 1);
    if (below(4) == 0) x = with_gaps(x);
    assert_int_equal(tensor_constant(NULL, w, &own), CTSC_OK);
    tensor_unref(w);
    it.args[0] = value_tensor_take(x), it.args[1] = value_tensor_take(own);
    it.args[2] = below(3) ? value_tensor_take(random_tensor(1, &n, 1)) : value_none();
    if (it.other == 2) o_sizes[0] = 1;
    it.args[3] = value_none();
    if (it.other) {
        tensor *o = random_tensor(3, o_sizes, 2);
        it.args[3] = value_tensor_take(it.other == 3 ? with_gaps(o) : o);
    }
    it.args[4] = value_str_take(str_new(names[it.which], strlen(names[it.which])));
    op_ctx cx = {.op = op_find("ctsc::linear_epilogue")};
    value first = value_none();
    for (int turn = 0; turn < 5; turn++) {
        pool_set_threads(turn % 3 + 1);
        value got = value_none();
        assert_int_equal(op_call(&cx, "ctsc::linear_epilogue", 5, it.args, &got), CTSC_OK);
        if (turn < 2) check(&it, got.u.tensor);
        /* packed from the second call on: the same bits from any number of threads */
        if (turn == 1) first = value_ref(got);
        if (turn > 1)
            assert_memory_equal(tensor_data(got.u.tensor), tensor_data(first.u.tensor),
                                (size_t)first.u.tensor->numel * sizeof(float));
        value_unref(got);
    }
    value_unref(first);
    for (int i = 0; i < 5; i++) value_unref(it.args[i]);
    pool_set_threads(0);
}

static void test_small(void **state) {
    (void)state;
    seed = 1;
    for (int i = 0; i < 1500; i++)
        check_layer(1 + below(3), 1 + below(9), 1 + below(80), 1 + below(70));
}

static void test_large(void **state) {
    (void)state;
    seed = 2;
    static const int64_t shapes[][4] = {{1, 1, 700, 3000},   {1, 2, 700, 1100}, {1, 150, 300, 1024},
                                        {2, 160, 257, 1100}, {1, 600, 33, 64},  {0, 3, 40, 40},
                                        {1, 0, 40, 40},      {1, 9, 40, 0},     {1, 300, 700, 300}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int again = 0; again < 6; again++)
            check_layer(shapes[i][0], shapes[i][1], shapes[i][2], shapes[i][3]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_small), cmocka_unit_test(test_large)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
