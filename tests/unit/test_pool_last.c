/* SPDX-License-Identifier: Apache-2.0 */
/* test_pool_last.c - pools of images whose channels come last, against those with channels first:
 * random windows, dtypes, ranks and mistakes. */
#include "last_support.h"

static tensor *random_image(bool special) {
    int64_t sizes[4] = {1 + last_below(3), 1 + last_below(14), 1 + last_below(14),
                        1 + last_below(last_below(4) ? 40 : 300)};
    if (last_below(12) == 0) sizes[last_below(4)] = 0;
    return last_image(last_dtype(), last_below(15) == 0 ? 2 : 3 + last_below(2), sizes, special);
}

static void random_windows(int64_t v[4][2]) {
    for (int i = 0; i < 2; i++) {
        v[0][i] = last_below(25) == 0 ? 0 : 1 + last_below(last_below(5) ? 4 : 12);
        v[1][i] = last_below(25) == 0 ? 0 : 1 + last_below(3);
        v[2][i] = last_below(25) == 0 ? v[0][i]
                  : v[0][i] < 2       ? 0
                                      : last_below((int)v[0][i] / 2 + 1);
        v[3][i] = last_below(4) ? 1 : 1 + last_below(2);
    }
}

static void test_windows(void **state) {
    (void)state;
    for (int i = 0; i < 3000; i++) {
        bool max = last_below(2);
        tensor *t = random_image(max);
        int64_t v[4][2];
        random_windows(v);
        value args[7] = {value_tensor_take(t), last_ints(1 + (last_below(3) > 0), v[0]),
                         last_ints(last_below(6) ? 2 : 0, v[1]), last_ints(2, v[2])};
        if (max) {
            args[4] = last_ints(2, v[3]), args[5] = value_bool(last_below(2));
            last_check("ctsc::max_pool2d_channels_last", "aten::max_pool2d", 6, args, 0);
        } else {
            args[4] = value_bool(last_below(2)), args[5] = value_bool(last_below(2)),
            args[6] = last_below(3) ? value_none() : value_int(last_below(7) - 2);
            last_check("ctsc::avg_pool2d_channels_last", "aten::avg_pool2d", 7, args,
                       t->dtype == DT_FLOAT32 ? 2e-3 : 0);
        }
        for (int k = 0; k < 7 && k < (max ? 5 : 4); k++) value_unref(args[k]);
    }
}

static void test_adaptive(void **state) {
    (void)state;
    for (int i = 0; i < 1500; i++) {
        tensor *t = random_image(false);
        int64_t size[3] = {last_below(9), last_below(9), 1};
        if (last_below(3) == 0) size[0] = size[1] = 1;
        if (last_below(30) == 0) size[last_below(2)] = -1;
        value args[2] = {value_tensor_take(t), last_ints(last_below(20) ? 2 : 3, size)};
        last_check("ctsc::adaptive_avg_pool2d_channels_last", "aten::adaptive_avg_pool2d", 2, args,
                   t->dtype == DT_FLOAT32 ? 1e-3 : 0);
        value_unref(args[0]);
        value_unref(args[1]);
    }
}

/* Windows whose sums are added up in parts. */
static void test_large(void **state) {
    (void)state;
    for (int i = 0; i < 20; i++) {
        int64_t sizes[4] = {1 + last_below(2), 1 + last_below(60), 60 + last_below(90),
                            1 + last_below(i % 5 ? 70 : 600)},
                one[2] = {1, 1};
        value args[2] = {value_tensor_take(last_image(DT_FLOAT32, 4, sizes, false)),
                         last_ints(2, one)};
        last_check("ctsc::adaptive_avg_pool2d_channels_last", "aten::adaptive_avg_pool2d", 2, args,
                   1e-3);
        value_unref(args[0]);
        value_unref(args[1]);
    }
}

static const opcase cases[] = {
    {"ctsc::max_pool2d_channels_last", "f32[2,2,1]{1 2 3 4} [2 2] [1 1] [0 0] [1 1] false",
     "f32[1,1,1]{4}"},
    {"ctsc::avg_pool2d_channels_last", "f32[1,2,2,1]{1 2 3 4} [2 2] [1 1] [0 0] false true None",
     "f32[1,1,1,1]{2.5}"},
    {"ctsc::adaptive_avg_pool2d_channels_last", "f32[1,2,2,2]{1 10 2 20 3 30 4 40} [1 1]",
     "f32[1,1,1,2]{2.5 25}"},
    {"ctsc::adaptive_avg_pool2d_channels_last", "f64[1,2,2,2]{1 10 2 20 3 30 4 40} [1 1]",
     "f64[1,1,1,2]{2.5 25}"},
};

static void test_rows(void **state) {
    (void)state;
    opcase_run(cases, sizeof cases / sizeof *cases);
}

int main(void) {
    srand(5);
    pool_set_threads(1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_windows),
        cmocka_unit_test(test_adaptive),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
