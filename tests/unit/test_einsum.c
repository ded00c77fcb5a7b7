/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_einsum.c - einsum and tensordot. The expected texts are PyTorch 1.13.1's.
 */
#include "opcase.h"

static const opcase einsum[] = {
    {"aten::einsum", "'ij,jk' (f32[2,3]{0 -2 3 3 2 -1} f32[3,2]{0 -1 1 2 -3 2}) None",
     "f32[2,2]{-11 2 5 -1}"},
    {"aten::einsum", "'ij,jk->ki' (f32[2,3]{2 -3 -3 0 -1 2} f32[3,2]{2 3 3 0 -1 -3}) None",
     "f32[2,2]{-2 -5 15 -6}"},
    {"aten::einsum", "'ii' (f32[3,3]{1 -1 0 3 -1 -1 1 0 2}) None", "f32[]{2}"},
    {"aten::einsum", "'ii->i' (f32[3,3]{0 -3 3 -1 0 1 2 -3 -3}) None", "f32[3]{0 0 -3}"},
    {"aten::einsum", "'i->' (f32[3]{-2 2 -3}) None", "f32[]{-3}"},
    {"aten::einsum", "'ij->ji' (f32[2,3]{-1 -1 -2 2 -1 -1}) None", "f32[3,2]{-1 2 -1 -1 -2 -1}"},
    {"aten::einsum",
     "'bij,bjk->bik' (f32[2,2,3]{1 -1 -1 0 0 1 3 1 -1 -2 1 -2} f32[2,3,2]{1 2 2 -3 -1 -3 3 -1 1 "
     "-2 -1 -1}) None",
     "f32[2,2,2]{0 8 -1 -3 11 -4 -3 2}"},
    {"aten::einsum",
     "'...ij,...jk->...ik' (f32[2,1,2,3]{3 -2 2 -1 1 -2 -3 -2 1 -1 1 -3} f32[2,3,2]{3 2 2 2 3 3 "
     "-1 2 2 2 2 2}) None",
     "f32[2,2,2,2]{11 8 -7 -6 -3 6 -1 -4 -10 -7 -10 -9 1 -8 -3 -6}"},
    {"aten::einsum", "'i,j->ij' (f32[2]{-2 -2} f32[3]{-1 3 1}) None", "f32[2,3]{2 -6 -2 2 -6 -2}"},
    {"aten::einsum", "'ij,ij->' (f32[2,3]{-3 -3 1 0 3 3} f32[2,3]{-1 3 3 -1 2 2}) None",
     "f32[]{9}"},
    {"aten::einsum", "'ij,jk' (i64[2,3]{-3 -1 0 -1 -1 1} i64[3,2]{3 -3 -3 -3 -3 -2}) None",
     "i64[2,2]{-6 12 -3 4}"},
    {"aten::einsum", "'ij,jk->ki' (i64[2,3]{3 1 -2 -2 0 0} i64[3,2]{0 0 1 -1 -2 0}) None",
     "i64[2,2]{5 0 -1 0}"},
    {"aten::einsum", "'ii' (i64[3,3]{-2 -3 2 -1 -3 2 3 2 0}) None", "i64[]{-5}"},
    {"aten::einsum", "'ii->i' (i64[3,3]{2 1 3 -2 0 1 2 -2 -1}) None", "i64[3]{2 0 -1}"},
    {"aten::einsum", "'i->' (i64[3]{-3 -1 0}) None", "i64[]{-4}"},
    {"aten::einsum", "'ij->ji' (i64[2,3]{-3 -3 -2 1 -2 -3}) None", "i64[3,2]{-3 1 -3 -2 -2 -3}"},
    {"aten::einsum",
     "'bij,bjk->bik' (i64[2,2,3]{-2 -1 0 -2 0 2 -2 3 -2 3 -2 3} i64[2,3,2]{-2 3 1 0 0 1 -2 2 3 -2"
     " 2 2}) None",
     "i64[2,2,2]{3 -6 4 -4 9 -14 -6 16}"},
    {"aten::einsum",
     "'...ij,...jk->...ik' (i64[2,1,2,3]{-2 1 -2 1 3 -1 1 2 -2 -2 1 -3} i64[2,3,2]{1 -1 -2 2 -3 "
     "-1 -2 1 1 -2 2 -1}) None",
     "i64[2,2,2,2]{2 6 -2 6 1 -2 -1 -4 3 5 5 7 -4 -1 -1 -1}"},
    {"aten::einsum", "'i,j->ij' (i64[2]{0 2} i64[3]{-2 -1 0}) None", "i64[2,3]{0 0 0 -4 -2 0}"},
    {"aten::einsum", "'ij,ij->' (i64[2,3]{-2 -1 3 3 -3 -2} i64[2,3]{1 2 2 2 1 2}) None",
     "i64[]{1}"},
    {"aten::einsum",
     "'b i d , b j d -> b i j' (f32[2,2,3]{-1 1 2 0 -3 -3 1 1 3 -3 -3 -2} f32[2,2,3]{-3 3 1 2 3 "
     "-2 -3 -3 -3 -2 -2 -3}) None",
     "f32[2,2,2]{8 -3 -12 -3 -15 -13 24 18}"},
    {"aten::einsum",
     "'ij,jk,kl->il' (f32[2,3]{3 3 3 3 -2 -2} f32[3,2]{-2 3 2 -1 3 -1} f32[2,2]{-2 -1 1 -2}) None",
     "f32[2,2]{-15 -15 45 -10}"},
    {"aten::einsum",
     "'ij,jk,kl->il' (f32[2,3]{-1 3 2 2 -1 -3} f32[3,2]{-1 -3 -3 -1 2 -2} f32[2,2]{1 -3 -3 3}) [1"
     " 2 0 1]",
     "f32[2,2]{8 0 -8 18}"},
    {"aten::einsum", "'i...->...i' (f32[2,3]{-3 0 -1 2 -3 0}) None", "f32[3,2]{-3 2 0 -3 -1 0}"},
    {"aten::einsum", "'...i->...' (f32[2,3]{3 2 2 -2 0 -2}) None", "f32[2]{7 -4}"},
    {"aten::einsum", "'iij,j->i' (f32[2,2,3]{0 2 0 -3 3 -3 -1 3 1 -1 -2 0} f32[3]{1 0 1}) None",
     "f32[2]{0 -1}"},
    {"aten::einsum", "'ij,jk' (f32[2,1]{-1 1} f32[3,2]{-2 3 0 -3 -1 3}) None",
     "f32[2,2]{3 -3 -3 3}"},
    {"aten::einsum", "'Aa,aB' (f32[2,3]{-3 1 0 2 -1 3} f32[3,2]{-2 -2 -2 3 -3 -2}) None",
     "f32[2,2]{4 9 -11 -13}"},
    {"aten::einsum", "'ij' (f32[2,3]^{0 -1 2 -2 -2 -2}) None", "f32[2,3]{0 -1 2 -2 -2 -2}"},
    {"aten::einsum",
     "'ij,jk' (f32[2,3]{1 1 1 1 1 1} f32[4,5]{1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1}) None",
     "!einsum(): subscript j has size 4 for operand 1 which does not broadcast with previously "
     "seen size 3"},
    {"aten::einsum",
     "'ij' (f32[2,3]{1 1 1 1 1 1} f32[4,5]{1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1}) None",
     "!einsum(): more operands were provided than specified in the equation"},
    {"aten::einsum",
     "'ij,jk,k' (f32[2,3]{1 1 1 1 1 1} f32[4,5]{1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1}) None",
     "!einsum(): fewer operands were provided than specified in the equation"},
    {"aten::einsum", "'ij->k' (f32[2,3]{1 1 1 1 1 1}) None",
     "!einsum(): output subscript k does not appear in the equation for any input operand"},
    {"aten::einsum", "'ij->ii' (f32[2,3]{1 1 1 1 1 1}) None",
     "!einsum(): output subscript i appears more than once in the output"},
    {"aten::einsum", "'ii' (f32[2,3]{1 1 1 1 1 1}) None",
     "!einsum(): subscript i is repeated for operand 0 but the sizes don't match, 3 != 2"},
    {"aten::einsum", "'ijk' (f32[2,3]{1 1 1 1 1 1}) None",
     "!einsum(): the number of subscripts in the equation (3) does not match the number of "
     "dimensions (2) for operand 0 and no ellipsis was given"},
    {"aten::einsum", "'i1' (f32[2,3]{1 1 1 1 1 1}) None",
     "!einsum(): invalid subscript given at index 1 in the equation string, subscripts must be in"
     " [a-zA-Z]"},
    {"aten::einsum", "'i..' (f32[2,3]{1 1 1 1 1 1}) None",
     "!einsum(): found '.' for operand 0 that is not part of any ellipsis"},
    {"aten::einsum", "'i.....' (f32[2,3]{1 1 1 1 1 1}) None",
     "!einsum(): found '.' for operand 0 for which an ellipsis was already found"},
    {"aten::einsum", "'ij->i1' (f32[2,3]{1 1 1 1 1 1}) None",
     "!einsum(): invalid subscript given at index 5 in the equation string, subscripts must be in"
     " [a-zA-Z]"},
    {"aten::einsum", "'ij->i.' (f32[2,3]{1 1 1 1 1 1}) None",
     "!einsum(): found '.' for output that is not part of any ellipsis (...)"},
    {"aten::einsum", "'ij,jk' (f32[2,3]{1 1 1 1 1 1} f64[3,5]{1 1 1 1 1 1 1 1 1 1 1 1 1 1 1}) None",
     "!expected scalar type Float but found Double"},
    {"aten::einsum", "'...i,...i' (f32[2,3]{1 1 1 1 1 1} f32[4,3]{1 1 1 1 1 1 1 1 1 1 1 1}) None",
     "!einsum(): dimension 0 covered by ellipsis in operand 1has size 4 which does not broadcast "
     "with previously seen ellipsis with size 2 for the respective dimension"},
    {"aten::tensordot", "f32[2,3]{-1 2 1 -2 -3 -2} f32[3,2]{2 -1 1 -2 0 2} [1] [0]",
     "f32[2,2]{0 -1 -7 4}"},
    {"aten::tensordot",
     "f32[2,3,2]{-3 -2 3 -3 -1 -2 3 -3 -1 -1 -3 2} f32[2,2,3]{-1 -1 -1 3 0 -1 1 -3 -3 1 -1 -2} [0"
     " 1] [1 2]",
     "f32[2,2]{13 1 -4 7}"},
    {"aten::tensordot", "f32[2]{1 3} f32[2]{2 -1} [] []", "f32[2,2]{2 -1 6 -3}"},
    {"aten::tensordot", "f32[2,1]{1 2} f32[3,2]{1 1 3 -1 -1 2} [1] [0]", "f32[2,2]{3 2 6 4}"},
    {"aten::tensordot", "f32[2,3]{-3 -2 1 -2 1 -2} f32[3,2]{1 -3 -1 1 1 1} [1] [1]",
     "!contracted dimensions need to match, but first has size 3 in dim 1 and second has size 2 "
     "in dim 1"},
    {"aten::tensordot", "f32[2,3]{0 -2 0 1 3 -1} f32[3,2]{-2 -1 1 -3 0 2} [1] [0 1]",
     "!both dimension lists should have same length"},
};

static void test_einsum(void **state) {
    (void)state;
    opcase_run(einsum, sizeof einsum / sizeof einsum[0]);
}

/* Whichever operand the result's last dim comes from, there are no gaps along it. */
static void test_gaps(void **state) {
    (void)state;
#define MATRIX "f32[2,2]{1 2 3 4}"
#define BLOCK "f32[2,2,2]{1 2 3 4 5 6 7 8}"
    static const char *const calls[] = {
        "'ij,jk->ik' (" MATRIX " " MATRIX ") None",  "'ij,jk->ki' (" MATRIX " " MATRIX ") None",
        "'bih,bhj->bji' (" BLOCK " " BLOCK ") None", "'ihk,jh->ijk' (" BLOCK " " MATRIX ") None",
        "'ihk,jh->kij' (" BLOCK " " MATRIX ") None", "'jh,ihk->ijk' (" MATRIX " " BLOCK ") None"};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        value args[3], r = value_none();
        assert_int_equal(opcase_values(calls[i], args), 3);
        op_ctx cx = {.op = op_find("aten::einsum")};
        assert_int_equal(op_call(&cx, "aten::einsum", 3, args, &r), CTSC_OK);
        assert_int_equal(r.u.tensor->strides[r.u.tensor->ndim - 1], 1);
        value_unref(r);
        for (int k = 0; k < 3; k++) value_unref(args[k]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_einsum),
        cmocka_unit_test(test_gaps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
