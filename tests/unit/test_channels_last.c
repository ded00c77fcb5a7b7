/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_channels_last.c - conversions to channels last and back, what is asked of such images, batch
 * norms of constants on them.
 */
#include "opcase.h"

static const opcase conversions[] = {
    {"ctsc::to_channels_last", "f32[1,2,1,3]{1 2 3 4 5 6} 2", "f32[1,1,3,2]{1 4 2 5 3 6}"},
    {"ctsc::to_channels_first", "f32[1,1,3,2]{1 4 2 5 3 6} 2", "f32[1,2,1,3]{1 2 3 4 5 6}"},
    {"ctsc::to_channels_last", "i64[2,3]^{1 2 3 4 5 6} 1", "i64[3,2]{1 4 2 5 3 6}"},
    {"ctsc::to_channels_first", "f64[2,1,1,1,2]{1 2 3 4} 3", "f64[2,2,1,1,1]{1 2 3 4}"},
    {"ctsc::to_channels_last", "b[2,1,2,1,2]{1 0 0 1 1 1 0 0} 1", "b[2,1,2,2,1]{1 0 0 1 1 1 0 0}"},
    {"ctsc::to_channels_last", "f32[0,2,3,4]{} 2", "f32[0,3,4,2]{}"},
    /* too few dims: the operator that gets it reports it */
    {"ctsc::to_channels_last", "f32[2,3]{1 2 3 4 5 6} 2", "f32[2,3]{1 2 3 4 5 6}"},
    {"ctsc::to_channels_last", "f32[]{7} 1", "f32[]{7}"},
    {"ctsc::to_channels_last", "f32[1]{7} 4", "!ctsc::to_channels_last: 4 spatial dimensions"},
    {"ctsc::to_channels_first", "f32[1]{7} 0", "!ctsc::to_channels_first: 0 spatial dimensions"},
};

static const opcase questions[] = {
    {"ctsc::channels_last_dim", "f32[2,5,7,3]{~} 0 2", "0"},
    {"ctsc::channels_last_dim", "f32[2,5,7,3]{~} 1 2", "3"},
    {"ctsc::channels_last_dim", "f32[2,5,7,3]{~} 2 2", "1"},
    {"ctsc::channels_last_dim", "f32[2,5,7,3]{~} -1 2", "2"},
    {"ctsc::channels_last_dim", "f32[2,5,7,3]{~} -3 2", "3"},
    {"ctsc::channels_last_dim", "f32[5,7,3]{~} 0 2", "2"},
    {"ctsc::channels_last_dim", "f32[5,7,3]{~} 3 2", "3"},
    {"ctsc::channels_last_dim", "f32[5,7,3]{~} -4 2", "-4"},
    {"ctsc::channels_last_dim", "f32[3]{~} 0 2", "0"},
    {"ctsc::channels_last_sizes", "f32[2,5,7,3]{~} 2", "[2 3 5 7]"},
    {"ctsc::channels_last_sizes", "f32[5,3]{~} 1", "[3 5]"},
    {"ctsc::channels_last_sizes", "f32[3]{~} 1", "[3]"},
    {"ctsc::channels_last_sizes", "f32[]{~} -1",
     "!ctsc::channels_last_sizes: -1 spatial dimensions"},
    {"ctsc::channels_last_dim", "f32[3]{~} 0 -9223372036854775808",
     "!ctsc::channels_last_dim: -9223372036854775808 spatial dimensions"},
};

static const opcase scales[] = {
    {"ctsc::scale_channels_last", "f32[1,1,2,2]{1 2 3 4} f32[2]{2 3} f32[2]{10 20} 2",
     "f32[1,1,2,2]{12 26 16 32}"},
    {"ctsc::scale_channels_last", "f32[2,2,1]^{1 2 3 4} f32[1]{2} f32[1]{1} 1",
     "f32[2,2,1]{3 5 7 9}"},
    {"ctsc::scale_channels_last", "f32[0,2,2]{} f32[2]{2 3} f32[2]{10 20} 1", "f32[0,2,2]{}"},
    /* 16 bits: floats in between, rounded once; dtype is that of the batch norm's parameters */
    {"ctsc::scale_channels_last", "bf16[1,1,2,2]{1 2 3 4} f32[2]{1.00390625 3} f32[2]{0 20} 2 15",
     "bf16[1,1,2,2]{1 26 3.01562 32}"},
    {"ctsc::scale_channels_last", "f16[2,2,1]^{1 2 3 4} f32[1]{2} f32[1]{1} 1",
     "f16[2,2,1]{3 5 7 9}"},
    {"ctsc::scale_channels_last", "f32[1,2,2]{1 2 3 4} f32[2]{2 3} f32[2]{10 20} 1 15",
     "!mixed dtype (CPU): expect input to have scalar type of BFloat16"},
    {"ctsc::scale_channels_last", "f16[1,2,2]{1 2 3 4} f32[2]{2 3} f32[2]{10 20} 1 15",
     "!mixed dtype (CPU): expect parameter to have scalar type of Float"},
    /* without a batch dim, channels are what batch_norm takes for them */
    {"ctsc::scale_channels_last", "f32[1,2,2]{1 2 3 4} f32[1]{2} f32[1]{1} 2",
     "f32[1,2,2]{3 5 7 9}"},
    {"ctsc::scale_channels_last", "f32[1,1,2,2]{1 2 3 4} f32[1]{2} f32[1]{1} 2",
     "!running_mean should contain 2 elements not 1"},
    {"ctsc::scale_channels_last", "f32[]{1} f32[1]{2} f32[1]{1} -1",
     "!ctsc::scale_channels_last: -1 spatial dimensions"},
    {"ctsc::scale_channels_last", "f32[1,1,2,1]{1 2} f32[2]{2 2} f32[2]{1 1} 2",
     "!running_mean should contain 1 elements not 2"},
};

static void test_conversions(void **state) {
    (void)state;
    opcase_run(conversions, sizeof conversions / sizeof *conversions);
}

static void test_questions(void **state) {
    (void)state;
    opcase_run(questions, sizeof questions / sizeof *questions);
}

static void test_scales(void **state) {
    (void)state;
    opcase_run(scales, sizeof scales / sizeof *scales);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_conversions),
                                       cmocka_unit_test(test_questions),
                                       cmocka_unit_test(test_scales)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
