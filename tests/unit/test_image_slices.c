/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_image_slices.c - how batches are cut into slices and joined again.
 */
#include "opcase.h"

#include "runtime/kernels/shape/image_slices.h"

static const opcase counts[] = {
    /* what fits is one slice; what does not is cut evenly, to single images at the least */
    {"ctsc::image_slices", "f32[8,4,4,3]{~} 100.0", "1"},
    {"ctsc::image_slices", "f32[4,1,1,2]{~} 200000.0", "2"},
    {"ctsc::image_slices", "f32[7,1,1,2]{~} 200000.0", "4"},
    {"ctsc::image_slices", "f64[4,1,1,2]{~} 200000.0", "4"},
    {"ctsc::image_slices", "f32[5,2,1,2]{~} 1.0e300", "5"},
    {"ctsc::image_slices", "f32[1,2,1,2]{~} 1.0e300", "1"},
    {"ctsc::image_slices", "f32[0,2,1,2]{} 1.0e300", "1"},
    {"ctsc::image_slices", "f32[5,0,1,2]{} 1.0e300", "1"},
    {"ctsc::image_slices", "f32[5]{~} 1.0e300", "1"},
    {"ctsc::image_slices", "f32[]{~} 1.0e300", "1"},
    {"ctsc::image_slices", "f32[5,2,1,2]{~} -1.0", "1"},
};

static const opcase cuts[] = {
    {"ctsc::image_slice", "f32[3,2]{1 2 3 4 5 6} 0 1", "f32[3,2]{1 2 3 4 5 6}"},
    {"ctsc::image_slice", "f32[3,2]{1 2 3 4 5 6} 0 2", "f32[2,2]{1 2 3 4}"},
    {"ctsc::image_slice", "f32[3,2]{1 2 3 4 5 6} 1 2", "f32[1,2]{5 6}"},
    {"ctsc::image_slice", "f32[3,2]{1 2 3 4 5 6} 3 5", "f32[0,2]{}"},
    {"ctsc::image_slice", "i64[2,3]^{1 2 3 4 5 6} 1 2", "i64[1,3]{4 5 6}"},
    {"ctsc::image_slice", "f32[3,2]{~} 2 2",
     "!ctsc::image_slice: slice 2 of 2 of a tensor with 2 dims"},
    {"ctsc::image_slice", "f32[3,2]{~} -1 2",
     "!ctsc::image_slice: slice -1 of 2 of a tensor with 2 dims"},
    {"ctsc::image_slice", "f32[3,2]{~} 0 0",
     "!ctsc::image_slice: slice 0 of 0 of a tensor with 2 dims"},
    {"ctsc::image_slice", "f32[3,2]{~} 0 -9223372036854775808",
     "!ctsc::image_slice: slice 0 of -9223372036854775808 of a tensor with 2 dims"},
    {"ctsc::image_slice", "f32[3,1]{7 8 9} 2 9223372036854775807", "f32[1,1]{9}"},
    {"ctsc::image_slice", "f32[]{~} 0 2",
     "!ctsc::image_slice: slice 0 of 2 of a tensor with 0 dims"},
};

static const opcase joins[] = {
    {"ctsc::image_join", "f32[1]{0} f32[3,2]{1 2 3 4 5 6} f32[3,1]{~} 0 1",
     "f32[3,2]{1 2 3 4 5 6}"},
    {"ctsc::image_join", "f32[3,2]{1 2 3 4 0 0} f32[1,2]{5 6} f32[3,1]{~} 1 2",
     "f32[3,2]{1 2 3 4 5 6}"},
    {"ctsc::image_join", "f64[3,2]^{1 2 3 4 0 0} f64[1,2]{5 6} f32[3,1]{~} 1 2",
     "f64[3,2]{1 2 3 4 5 6}"},
    {"ctsc::image_join", "f32[1]{0} f32[]{~} f32[3,1]{~} 0 2",
     "!ctsc::image_join: a tensor without dims"},
    {"ctsc::image_join", "f32[1]{0} f32[3]{~} f32[]{~} 0 2",
     "!ctsc::image_join: a tensor without dims"},
    {"ctsc::image_join", "f32[3,2]{~} f32[1,2]{5 6} f32[3,1]{~} 2 2",
     "!ctsc::image_join: slice 2 of 2 of a tensor with 2 dims"},
};

/* Every slice of every number of them, joined one after the other. */
static void test_round_trip(void **state) {
    (void)state;
    for (int64_t images = 1; images < 8; images++)
        for (int64_t slices = 1; slices < 10; slices++) {
            int64_t sizes[2] = {images, 3};
            tensor *t, *whole = NULL;
            op_ctx cx = {.op = op_find("ctsc::image_join")};
            assert_int_equal(tensor_new(NULL, DT_FLOAT32, 2, sizes, &t), CTSC_OK);
            for (int64_t i = 0; i < t->numel; i++) TENSOR_AT(t, float)[i] = (float)i;
            whole = tensor_ref(t);
            for (int64_t i = 0; i < slices; i++) {
                value slice, joined,
                    of[3] = {value_tensor_take(t), value_int(i), value_int(slices)};
                assert_int_equal(op_call(&cx, "ctsc::image_slice", 3, of, &slice), CTSC_OK);
                value with[5] = {value_tensor_take(whole), slice, of[0], of[1], of[2]};
                assert_int_equal(op_call(&cx, "ctsc::image_join", 5, with, &joined), CTSC_OK);
                value_unref(slice);
                tensor_unref(whole);
                whole = joined.u.tensor;
            }
            assert_true(tensor_same_shape(whole, t));
            assert_true(slices == 1 || whole->storage != t->storage);
            assert_memory_equal(tensor_data(whole), tensor_data(t),
                                (size_t)t->numel * sizeof(float));
            tensor_unref(whole);
            tensor_unref(t);
        }
}

static void test_counts(void **state) {
    (void)state;
    image_slices_set_bytes(2 << 20);
    opcase_run(counts, sizeof counts / sizeof *counts);
}

static void test_cuts(void **state) {
    (void)state;
    opcase_run(cuts, sizeof cuts / sizeof *cuts);
}

static void test_joins(void **state) {
    (void)state;
    opcase_run(joins, sizeof joins / sizeof *joins);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_counts), cmocka_unit_test(test_cuts),
                                       cmocka_unit_test(test_joins),
                                       cmocka_unit_test(test_round_trip)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
