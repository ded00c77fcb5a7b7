/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_rotary.c - ctsc::rotary is what its operators make one after the other, bit for bit: of any
 * dtype, operands that broadcast or have any row stride, any split, with any number of threads.
 */
#include "base/threads/thread_pool.h"
#include "opcase.h"

#include <math.h>

static uint64_t random_state = 88172645463325252u;

static int64_t random_below(int64_t n) {
    random_state ^= random_state << 13, random_state ^= random_state >> 7,
        random_state ^= random_state << 17;
    return (int64_t)(random_state % (uint64_t)n);
}

static tensor *random_tensor(dtype dt, int ndim, const int64_t *sizes) {
    tensor *t, *r;
    assert_int_equal(tensor_new(NULL, DT_FLOAT32, ndim, sizes, &t), CTSC_OK);
    for (int64_t i = 0; i < t->numel; i++)
        TENSOR_AT(t, float)[i] = (float)(random_below(20001) - 10000) * 1e-3f;
    if (t->numel && random_below(8) == 0) TENSOR_AT(t, float)[random_below(t->numel)] = INFINITY;
    assert_int_equal(tensor_to_dtype(NULL, t, dt, &r), CTSC_OK);
    tensor_unref(t);
    return r;
}

/* [b, h, l, d], at times a view of [b, l, h, d], or of more columns. */
static tensor *random_x(dtype dt, const int64_t *s) {
    int64_t turned[4] = {s[0], s[2], s[1], s[3]}, more[4] = {s[0], s[1], s[2], s[3] + 3};
    tensor *t, *view;
    int how = (int)random_below(3);
    if (how == 0) return random_tensor(dt, 4, s);
    t = random_tensor(dt, 4, how == 1 ? turned : more);
    if (how == 1) assert_int_equal(tensor_transpose(NULL, t, 1, 2, &view), CTSC_OK);
    else assert_int_equal(tensor_slice(NULL, t, 3, 2, 2 + s[3], 1, &view), CTSC_OK);
    tensor_unref(t);
    return view;
}

/* cos or sin: some dims are missing or 1. */
static tensor *random_factor(dtype dt, const int64_t *s) {
    int64_t sizes[4] = {random_below(2) ? s[0] : 1, random_below(4) ? 1 : s[1],
                        random_below(8) ? s[2] : 1, s[3]};
    int less = sizes[0] == 1 ? (int)random_below(sizes[1] == 1 ? 3 : 2) : 0;
    return random_tensor(dt, 4 - less, sizes + less);
}

static tensor *rotary_in_steps(const value *args) {
    value second[] = {args[0], args[4], args[3], value_none(), value_int(1)},
          first[] = {args[0], args[4], value_none(), args[3], value_int(1)};
    tensor *b = opcase_made("aten::slice.Tensor", 5, second),
           *a = opcase_made("aten::slice.Tensor", 5, first),
           *n = opcase_made("aten::neg", 1, (value[]){value_tensor_take(b)});
    list *l = list_new(LIST_TENSOR, NULL, 2);
    assert_true(list_append_take(l, value_tensor_take(n)));
    assert_true(list_append_take(l, value_tensor_take(a)));
    value both = value_list_take(l);
    tensor *turned = opcase_made("aten::cat", 2, (value[]){both, args[5]}),
           *q = opcase_made("aten::mul.Tensor", 2, (value[]){value_tensor_take(turned), args[2]}),
           *p = opcase_made("aten::mul.Tensor", 2, (value[]){args[0], args[1]}),
           *y = opcase_made("aten::add.Tensor", 3,
                            (value[]){value_tensor_take(p), value_tensor_take(q), value_int(1)});
    value_unref(both);
    tensor_unref(b), tensor_unref(turned), tensor_unref(p), tensor_unref(q);
    return y;
}

static void same(tensor *got, tensor *want, int turn) {
    tensor *flat[2];
    assert_int_equal(got->dtype, want->dtype);
    assert_true(tensor_same_shape(got, want));
    assert_int_equal(tensor_to_dtype(NULL, got, DT_FLOAT64, &flat[0]), CTSC_OK);
    assert_int_equal(tensor_to_dtype(NULL, want, DT_FLOAT64, &flat[1]), CTSC_OK);
    for (int i = 0; i < 2; i++) {
        tensor *dense;
        assert_int_equal(tensor_contiguous(NULL, flat[i], &dense), CTSC_OK);
        tensor_unref(flat[i]);
        flat[i] = dense;
    }
    for (int64_t i = 0; i < got->numel; i++) {
        double a = TENSOR_AT(flat[0], double)[i], b = TENSOR_AT(flat[1], double)[i];
        if (a != b && !(isnan(a) && isnan(b)))
            fail_msg("turn %d, element %lld: %.9g instead of %.9g", turn, (long long)i, a, b);
    }
    tensor_unref(flat[0]), tensor_unref(flat[1]);
}

static void test_random(void **state) {
    (void)state;
    static const dtype dtypes[] = {DT_FLOAT32, DT_BFLOAT16, DT_FLOAT16, DT_FLOAT64, DT_INT64};
    for (int turn = 0; turn < 600; turn++) {
        dtype dt = dtypes[random_below(turn % 4 ? 3 : 5)],
              factor = random_below(12) ? dt : DT_FLOAT32; /* others promote */
        int64_t s[4] = {1 + random_below(2), 1 + random_below(4),
                        1 + random_below(random_below(2) ? 3 : 40),
                        random_below(8) ? 8 * (1 + random_below(16)) : 1 + random_below(40)};
        if (random_below(30) == 0) s[3] = 1100; /* too wide for the kernel */
        if (random_below(30) == 0) s[random_below(4)] = 0;
        int64_t split = random_below(2) ? s[3] / 2 : random_below(2 * s[3] + 3) - s[3] - 1;
        if (random_below(9) == 0) split += s[3];
        tensor *x = random_x(dt, s), *c = random_factor(factor, s), *n = random_factor(factor, s);
        value args[] = {value_tensor_take(x),
                        value_tensor_take(c),
                        value_tensor_take(n),
                        value_int(split),
                        value_int(random_below(2) ? 3 : -1),
                        value_int(random_below(2) ? 3 : -1)};
        /* slices whose sizes do not add up to x's are refused by the product */
        int64_t at = split < 0 ? split + s[3] : split;
        if (at >= 0 && at <= s[3]) {
            pool_set_threads(1 + (int)random_below(3));
            tensor *got = opcase_made("ctsc::rotary", 6, args), *want = rotary_in_steps(args);
            same(got, want, turn);
            tensor_unref(got), tensor_unref(want);
        }
        tensor_unref(x), tensor_unref(c), tensor_unref(n);
    }
    pool_set_threads(1);
}

/* Other dims, other sizes. */
static void test_others(void **state) {
    (void)state;
    static const opcase cases[] = {
        {"ctsc::rotary", "f32[2]{1 2} f32[2]{10 20} f32[2]{3 5} 1 0 0", "f32[2]{4 45}"},
        {"ctsc::rotary", "f32[2,2]{1 2 3 4} f32[2]{1 1} f32[2]{1 1} 1 0 0", "f32[2,2]{-2 -2 4 6}"},
        {"ctsc::rotary", "f32[1,2]{1 2} f32[2,2]{1 1 2 2} f32[2]{1 1} 1 1 1", "f32[2,2]{-1 3 0 5}"},
        {"ctsc::rotary", "f32[1,2]{1 2} f32[1]{2} f32[2]{1 1} 1 1 1", "f32[1,2]{0 5}"},
        {"ctsc::rotary", "f32[1,2]{1 2} f32[3]{1 1 1} f32[2]{1 1} 1 1 1",
         "!The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension "
         "1"},
    };
    opcase_run(cases, sizeof cases / sizeof *cases);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random),
                                       cmocka_unit_test(test_others)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
