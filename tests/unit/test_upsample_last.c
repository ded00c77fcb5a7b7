/* SPDX-License-Identifier: Apache-2.0 */
/* test_upsample_last.c - resizing images whose channels come last: to the last bit what is made of
 * them with channels first. */
#include "last_support.h"

static value random_factors(void) {
    static const double factors[] = {2, 2, 0.5, 1, 1.7, 3, 0.3, 4};
    list *l = list_new(LIST_FLOAT, TYPE_FLOAT, 2);
    for (int i = 0; i < 2; i++) l->u.floats[l->len++] = factors[last_below(8)];
    return value_list_take(l);
}

static void test_random(void **state) {
    (void)state;
    for (int i = 0; i < 3000; i++) {
        int64_t sizes[4] = {1 + last_below(3), 1 + last_below(12), 1 + last_below(12),
                            1 + last_below(last_below(4) ? 6 : 70)};
        int64_t out[3] = {1 + last_below(20), 1 + last_below(20), 2};
        if (last_below(12) == 0) sizes[last_below(4)] = 0;
        if (last_below(4) == 0) out[0] = sizes[1];
        if (last_below(4) == 0) out[1] = sizes[2];
        bool linear = last_below(2), factors = last_below(2);
        value args[4] = {
            value_tensor_take(last_image(last_dtype(), last_below(12) == 0 ? 3 : 4, sizes, true))};
        args[1] = factors ? value_none() : last_ints(last_below(15) ? 2 : 3, out);
        value scale = factors != (last_below(20) == 0) ? random_factors() : value_none();
        if (linear) args[2] = value_bool(last_below(2)), args[3] = scale;
        else args[2] = scale;
        last_check(linear ? "ctsc::upsample_bilinear2d_channels_last"
                          : "ctsc::upsample_nearest2d_channels_last",
                   linear ? "aten::upsample_bilinear2d.vec" : "aten::upsample_nearest2d.vec",
                   linear ? 4 : 3, args, 0);
        value_unref(args[0]);
        value_unref(args[1]);
        value_unref(scale);
    }
}

static const opcase cases[] = {
    {"ctsc::upsample_nearest2d_channels_last", "f32[1,1,2,1]{1 2} [2 4] None",
     "f32[1,2,4,1]{1 1 2 2 1 1 2 2}"},
    {"ctsc::upsample_bilinear2d_channels_last", "f32[1,1,2,1]{1 2} [1 3] true None",
     "f32[1,1,3,1]{1 1.5 2}"},
    {"ctsc::upsample_bilinear2d_channels_last", "f64[1,1,2,1]{1 2} [1 3] true None",
     "f64[1,1,3,1]{1 1.5 2}"},
};

static void test_rows(void **state) {
    (void)state;
    opcase_run(cases, sizeof cases / sizeof *cases);
}

int main(void) {
    srand(6);
    pool_set_threads(1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
