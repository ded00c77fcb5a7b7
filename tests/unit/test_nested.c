/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_nested.c - nested tensors and the padding of sequences. The expected texts are
 * PyTorch 1.13.1's.
 */
#include "opcase.h"

static const opcase padding[] = {
    {"aten::pad_sequence", "(i64[2]{1 2} f32[1]{3.5})", "i64[2,2]{1 3 2 0}"},
    {"aten::pad_sequence", "(f32[1,2]{1 2} f32[3,2]{1 2 3 4 5 6} f32[0,2]{}) true 0.5",
     "f32[3,3,2]{1 2 0.5 0.5 0.5 0.5 1 2 3 4 5 6 0.5 0.5 0.5 0.5 0.5 0.5}"},
    {"aten::pad_sequence", "(f32[1,2]{1 2} f32[1,3]{1 2 3})",
     "!The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 1"},
    {"aten::masked_fill.Scalar", "f32[3]{0 0 0} i64[3]{0 1 256} 9.0",
     "!masked_fill_ only supports boolean masks, but got mask with dtype long int"},
    {"aten::masked_fill.Scalar", "f32[2]{0 0} u8[2]{0 1} 9.0",
     "!masked_fill_ only supports boolean masks, but got mask with dtype unsigned char"},
};

static const opcase nesting[] = {
    {"aten::_nested_tensor_from_mask_left_aligned", "f32[2,2,1]{1 2 3 4} b[2,2]{1 0 1 1}", "true"},
    {"aten::_nested_tensor_from_mask_left_aligned", "f32[2,2,1]{1 2 3 4} b[2,2]{1 0 0 1}", "false"},
    {"aten::_nested_tensor_from_mask", "f32[2,2,1]{1 2 3 4} b[2,2]{1 0 0 1}",
     "!Mask must be left-aligned without gaps"},
    {"aten::_nested_tensor_from_mask", "f32[2,2,1]{1 2 3 4} f32[2,2]{1 0 0 1}",
     "!Expected mask to be of ScalarType Bool, but got Float instead."},
    {"aten::_nested_tensor_from_mask", "f32[2,2,1]{1 2 3 4} b[2,3]{1 0 0 1 0 0}",
     "!Mask size should match input size"},
    {"aten::_nested_tensor_from_mask", "f32[2,2]{1 2 3 4} b[2,2]{1 0 0 1}",
     "!Input should be a 3D tensor, N * L * D"},
    /* seen as the padded tensor it is stored as */
    {"aten::_nested_tensor_from_mask", "f32[2,3,1]{1 2 3 4 5 6} b[2,3]{1 0 0 1 1 0}",
     "f32[2,2,1]{1 0 4 5}"},
};

static void test_padding(void **state) {
    (void)state;
    opcase_run(padding, sizeof padding / sizeof padding[0]);
}

static void test_nesting(void **state) {
    (void)state;
    opcase_run(nesting, sizeof nesting / sizeof nesting[0]);
}

/* There and back, with the padding asked for. */
static void test_round_trip(void **state) {
    (void)state;
    diag d = {0};
    op_ctx cx = {.diag = &d};
    const int64_t sizes[] = {2, 3, 1};
    tensor *t, *mask;
    assert_int_equal(tensor_new(&d, DT_FLOAT32, 3, sizes, &t), CTSC_OK);
    assert_int_equal(tensor_zeros(&d, DT_BOOL, 2, sizes, &mask), CTSC_OK);
    for (int i = 0; i < 6; i++) TENSOR_AT(t, float)[i] = (float)(i + 1);
    TENSOR_AT(mask, bool)[0] = TENSOR_AT(mask, bool)[3] = TENSOR_AT(mask, bool)[4] = true;
    value args[2] = {value_tensor_take(t), value_tensor_take(mask)}, nested = value_none();
    assert_int_equal(op_call(&cx, "aten::_nested_tensor_from_mask", 2, args, &nested), CTSC_OK);
    value is = value_none(), back[2] = {nested, value_float(9)}, padded = value_none();
    assert_int_equal(op_call(&cx, "prim::is_nested", 1, &nested, &is), CTSC_OK);
    assert_true(is.u.b);
    assert_int_equal(op_call(&cx, "aten::to_padded_tensor", 2, back, &padded), CTSC_OK);
    const float want[] = {1, 9, 4, 5};
    assert_int_equal(padded.u.tensor->numel, 4);
    assert_memory_equal(tensor_data(padded.u.tensor), want, sizeof want);
    value refused = value_none();
    back[0] = args[0];
    assert_int_equal(op_call(&cx, "aten::to_padded_tensor", 2, back, &refused), CTSC_FAILED);
    for (int i = 0; i < 2; i++) value_unref(args[i]);
    value_unref(nested);
    value_unref(padded);
    diag_clear(&d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_padding),
        cmocka_unit_test(test_nesting),
        cmocka_unit_test(test_round_trip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
