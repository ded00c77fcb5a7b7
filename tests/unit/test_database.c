/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_database.c - rows for what cases of PyTorch's operator database (tests/interop/opdb.py makes
 * them where PyTorch is installed) once found missing or different.
 */
#include "opcase.h"

static const opcase database_rows[] = {
    {"aten::segment_reduce",
     "f64[6,2]{1.5 0.25 0.25 -1.25 0 -2.75 0.75 2 -2.75 2 1 2.5} 'max' i64[4]{1 0 3 2} None None 0 "
     "false "
     "None",
     "f64[4,2]{1.5 0.25 -inf -inf 0.75 2 1 2.5}"},
    {"aten::segment_reduce",
     "f64[6,2]{1.5 0.25 0.25 -1.25 0 -2.75 0.75 2 -2.75 2 1 2.5} 'mean' i64[4]{1 0 3 2} None None "
     "0 false "
     "None",
     "f64[4,2]{1.5 0.25 nan nan 0.333333 -0.666667 -0.875 2.25}"},
    {"aten::segment_reduce",
     "f64[6,2]{1.5 0.25 0.25 -1.25 0 -2.75 0.75 2 -2.75 2 1 2.5} 'min' i64[4]{1 0 3 2} None None 0 "
     "false "
     "None",
     "f64[4,2]{1.5 0.25 inf inf 0 -2.75 -2.75 2}"},
    {"aten::segment_reduce",
     "f64[6,2]{1.5 0.25 0.25 -1.25 0 -2.75 0.75 2 -2.75 2 1 2.5} 'sum' i64[4]{1 0 3 2} None None 0 "
     "false "
     "None",
     "f64[4,2]{1.5 0.25 0 0 1 -2 -1.75 4.5}"},
    {"aten::segment_reduce",
     "f64[6,2]{1.5 0.25 0.25 -1.25 0 -2.75 0.75 2 -2.75 2 1 2.5} 'prod' i64[4]{1 0 3 2} None None "
     "0 false "
     "None",
     "f64[4,2]{1.5 0.25 1 1 0 6.875 -2.75 5}"},
    {"aten::segment_reduce",
     "f64[6,2]{1.5 0.25 0.25 -1.25 0 -2.75 0.75 2 -2.75 2 1 2.5} 'sum' None None i64[4]{0 1 1 6} 0 "
     "false 2",
     "f64[3,2]{3.5 2.25 2 2 1.25 4.5}"},
    {"aten::segment_reduce",
     "f64[2,4]{-1.75 0.5 0.75 -0.25 1.75 1.75 1 -0.25} 'mean' i64[2,3]{1 3 0 2 1 1} None None 1 "
     "false None",
     "f64[2,3]{-1.75 0.333333 nan 1.75 1 -0.25}"},
    {"aten::segment_reduce", "f32[3]{1 nan 3} 'max' i64[2]{3 0} None None 0 false None",
     "f32[2]{nan -inf}"},
    {"aten::segment_reduce", "f64[0,2]{} 'sum' i64[2]{0 0} None None 0 false None",
     "!Expected data.numel() > 0 to be true, but got false."},
    {"aten::segment_reduce",
     "f64[6,2]{1.5 0.25 0.25 -1.25 0 -2.75 0.75 2 -2.75 2 1 2.5} 'sum' i64[3]{1 -1 6} None None 0 "
     "false "
     "None",
     "!lengths contains negative value!"},
    {"aten::segment_reduce",
     "f64[6,2]{1.5 0.25 0.25 -1.25 0 -2.75 0.75 2 -2.75 2 1 2.5} 'sum' i64[2]{1 2} None None 0 "
     "false None",
     "!segment_reduce(): Expected all rows of lengths along axis to sum to "
     "data.size(lengths.dim()-1) when"
     " !unsafe."},
    {"aten::segment_reduce",
     "f64[6,2]{1.5 0.25 0.25 -1.25 0 -2.75 0.75 2 -2.75 2 1 2.5} 'sum' None None None 0 false None",
     "!segment_reduce(): Either lengths or offsets must be defined."},
    {"aten::segment_reduce",
     "f64[6,2]{1.5 0.25 0.25 -1.25 0 -2.75 0.75 2 -2.75 2 1 2.5} 'median' i64[1]{6} None None 0 "
     "false None",
     "!unsupported reduction given! median"},
    {"aten::histogramdd",
     "f64[5,2]{-1.25 -2 1.5 0.5 -0.75 0.25 -2.25 1 -3 -1.25} [2 3] None None false",
     "f64[2,3]{2 0 1 0 0 2} (f64[3]{-3 -0.75 1.5} f64[4]{-2 -1 0 1})"},
    {"aten::histogramdd",
     "f64[5,2]{-1.25 -2 1.5 0.5 -0.75 0.25 -2.25 1 -3 -1.25} [2 2] None f64[5]{1 2 0.5 1 1} true",
     "f64[2,2]{0.107744 0.0538721 0 0.13468} (f64[3]{-3 -0.75 1.5} f64[3]{-2 -0.5 1})"},
    {"aten::histogramdd.int_bins",
     "f64[5,2]{-1.25 -2 1.5 0.5 -0.75 0.25 -2.25 1 -3 -1.25} 2 None None false",
     "f64[2,2]{2 1 0 2} (f64[3]{-3 -0.75 1.5} f64[3]{-2 -0.5 1})"},
    {"aten::histogramdd.TensorList_bins",
     "f64[5,2]{-1.25 -2 1.5 0.5 -0.75 0.25 -2.25 1 -3 -1.25} (f64[4]{-2 0 1 3} f64[2]{-1 1}) None "
     "None "
     "false",
     "f64[3,1]{1 0 1} (f64[4]{-2 0 1 3} f64[2]{-1 1})"},
    {"aten::histogramdd", "f64[3]{0.25 -0.5 1} [2] None None false",
     "!torch.histogramdd: input tensor should have at least 2 dimensions"},
    {"aten::histogramdd",
     "f64[5,2]{-1.25 -2 1.5 0.5 -0.75 0.25 -2.25 1 -3 -1.25} [2 0] None None false",
     "!torch.histogram(): bins must be > 0, but got 0 for dimension 1"},
    {"aten::histogramdd",
     "f64[5,2]{-1.25 -2 1.5 0.5 -0.75 0.25 -2.25 1 -3 -1.25} [2 2] None f64[3]{1 1 1} false",
     "!torch.histogramdd: if weight tensor is provided it should have the same shape as the input "
     "tensor "
     "excluding its innermost dimension, but got input with shape [5, 2] and weight with shape "
     "[3]"},
    {"aten::_histogramdd_bin_edges",
     "f64[5,2]{-1.25 -2 1.5 0.5 -0.75 0.25 -2.25 1 -3 -1.25} [2 2] None None false",
     "(f64[3]{-3 -0.75 1.5} f64[3]{-2 -0.5 1})"},
    {"aten::_histogramdd_from_bin_cts",
     "f64[5,2]{-1.25 -2 1.5 0.5 -0.75 0.25 -2.25 1 -3 -1.25} [2 2] None None false",
     "f64[2,2]{2 1 0 2}"},
    {"aten::fractional_max_pool2d",
     "f64[2,5,4]{-0.75 -3.25 -0.75 -1.5 -1.5 -3.75 -0.75 1.75 0.75 -2.25 1 1.5 -1.75 -2.25 2.5 "
     "0.75 -2 -2 "
     "2.25 -1.5 2 2.75 -0 -1 -3.25 1 2.5 2.25 -0 -0.25 3.25 -0.5 -4.25 -0.75 -1 0 0.25 0 -1.5 "
     "-0.75} [2 2]"
     " [2 3] f64[1,2,2]{0.10000000000000001 0.69999999999999996 0.5 0.90000000000000002}",
     "f64[2,2,3]{-0.75 -0.75 1.75 -1.75 2.5 2.5 2.75 2.75 2.5 0.25 0 0} i64[2,2,3]{0 2 7 12 14 14 "
     "1 1 6 16"
     " 17 15}"},
    {"aten::fractional_max_pool2d",
     "f64[1,3,3]{nan nan nan nan nan nan nan nan nan} [2 2] [1 1] f64[1,1,2]{0.10000000000000001 "
     "0.69999999999999996}",
     "f64[1,1,1]{nan} i64[1,1,1]{8}"},
    {"aten::fractional_max_pool3d",
     "f64[1,1,4,4,4]{0.25 1 -1.75 0.75 -1.75 2.25 0.75 -0.5 2.25 2.25 2 1.25 -0.5 -3 -3.25 2.25 "
     "0.75 -1 "
     "1.75 -0.5 1.5 -1.75 0.5 -4.75 -4.25 -1 1 -0.25 1.75 -1 -2 0.25 -0.5 -4.75 -3.25 2.5 0.5 1.75 "
     "1.25 1 "
     "-2.25 0.5 0.5 2.25 3.5 4.5 2.5 1 0.75 -2 -0.25 -2.25 -1 -1 -1.5 1 3 0.75 3.25 -2.25 -3 2.75 "
     "-0.25 "
     "-1} [2 1 2] [2 3 2] f64[1,1,3]{0.29999999999999999 0.59999999999999998 0.98999999999999999}",
     "f64[1,1,2,3,2]{1 1.75 2.25 2 1.75 2.25 0.75 2.5 3 3.25 4.5 2.5} i64[1,1,2,3,2]{1 18 8 10 28 "
     "15 48 35"
     " 56 58 45 46}"},
    {"aten::fractional_max_pool2d",
     "f64[2,5,4]{1.25 1 3 -0.5 0.5 -1.25 -0.25 -3.25 2 1.25 -3 0.5 3.25 -2.75 2.25 1.25 1.25 0 "
     "5.75 1.25 "
     "-2 -2.75 -4 -1 -3.25 0.25 -2.5 -1.25 -4.5 -0.25 0.75 -3 1.25 -2.75 2.75 -2 1.25 -0.25 -1.75 "
     "-0.25} "
     "[2 2] [5 3] f64[1,2,2]{0.10000000000000001 0.69999999999999996 0.5 0.90000000000000002}",
     "!fractional_max_pool2d(): pool height 2 too large relative to input height 5"},
    {"aten::fractional_max_pool2d",
     "f64[5,4]{-1.25 0.5 -0 2 -2.75 -0.25 -1 -3 1.5 -1.75 -0.25 1.5 -1 -4 1.5 -0.75 0.75 -0.75 -4 "
     "-1} [2 "
     "2] [2 3] f64[1,2,2]{0.10000000000000001 0.69999999999999996 0.5 0.90000000000000002}",
     "!fractional_max_pool2d(): Expected 3D or 4D tensor, but got: [5, 4]"},
    {"aten::fractional_max_pool2d",
     "f64[2,5,4]{-0 -0 -1 -2 0.5 -3.75 -3 0.25 -0.25 0.5 2.25 -2 0.5 -0.5 1 3 1.75 -3.25 -1.5 "
     "-1.75 2.75 "
     "-0.5 2.5 1.25 3.25 -1.5 -0.5 0.75 2 -1.75 -3.25 0.5 -1.25 2.5 2.25 -0 0.25 -3.25 -1 1.5} [2 "
     "2] [2 3]"
     " f32[1,2,2]{0.10000000149011612 0.69999998807907104 0.5 0.89999997615814209}",
     "!expected scalar type Double but found Float"},
    {"aten::fractional_max_pool3d",
     "f64[2,5,4,3]{2.75 -0.75 -2 1 0.25 -2.25 -3.25 -1.25 1.75 2.75 -1.25 1.75 2.25 2.75 0.5 -2.5 "
     "-1.25 "
     "0.25 0.75 -0 1.25 -0.5 -3.5 -0.5 -1 -3.5 2.25 3.5 2.75 -0.75 3.75 0.25 -1 -1.25 2.75 -1.25 "
     "1.75 -2.5"
     " -0.75 1.5 0.5 -0 -0 0.5 -1 -0.25 -0.5 4 0.25 0.5 3.25 0.25 -0.5 1.75 -1 -2.25 -1.5 -1 -1 "
     "1.25 0.5 "
     "1.75 -1.5 2 4.25 -1.5 1.5 2 -1 1.75 0 2.5 -3 3.75 -1.5 1 2.25 1 1 -0.25 3.25 -2.5 -2.5 -5.5 "
     "-0.5 "
     "0.25 -0.75 2.5 -1.75 -0.25 0.75 0.5 -3.5 -1.75 0.75 -1 1.75 2 -1.75 0.25 2.5 3 1.75 -3.5 -2 "
     "-0.25 1 "
     "1.5 -1.75 -0.25 0.25 -0.75 1.5 0 -4.75 0.75 0 1.5 -0.5 0.25} [2 2 9] [2 3 1] "
     "f64[1,2,3]{0.79560162826321157 0.703375578575552 0.21023795802499379 0.58135448187528271 "
     "0.94785746126688653 0.86880620061515146}",
     "!fractional_max_pool3d_out(): pool width 9 too large relative to input width 3"},
    {"aten::gradient.scalarint",
     "f64[3,4]{0 -2 -3 2.25 2.5 -0.75 0.25 -5.25 0.25 4 -1.25 2.5} None None 1",
     "(f64[3,4]{2.5 1.25 3.25 -7.5 0.125 3 0.875 0.125 -2.25 4.75 -1.5 7.75} f64[3,4]{-2 -1.5 "
     "2.125 5.25 "
     "-3.25 -1.125 -2.25 -5.5 3.75 -0.75 -0.75 3.75})"},
    {"aten::gradient.scalarint",
     "f64[3,4]{0 -2 -3 2.25 2.5 -0.75 0.25 -5.25 0.25 4 -1.25 2.5} 2 1 2",
     "(f64[3,4]{-1.25 -0.75 1.0625 4.1875 -2.6875 -0.5625 -1.125 -4.375 4.125 -0.375 -0.375 "
     "4.125})"},
    {"aten::gradient.scalararray",
     "f64[3,4]{0 -2 -3 2.25 2.5 -0.75 0.25 -5.25 0.25 4 -1.25 2.5} 0.5 [0 1] 1",
     "(f64[3,4]{5 2.5 6.5 -15 0.25 6 1.75 0.25 -4.5 9.5 -3 15.5} f64[3,4]{-4 -3 4.25 10.5 -6.5 "
     "-2.25 -4.5 "
     "-11 7.5 -1.5 -1.5 7.5})"},
    {"aten::gradient.array", "f64[3,4]{0 -2 -3 2.25 2.5 -0.75 0.25 -5.25 0.25 4 -1.25 2.5} [1] 2",
     "(f64[3,4]{-2.5 -1.5 2.125 8.375 -5.375 -1.125 -2.25 -8.75 8.25 -0.75 -0.75 8.25})"},
    {"aten::gradient.tensorarray",
     "f64[3,4]{0 -2 -3 2.25 2.5 -0.75 0.25 -5.25 0.25 4 -1.25 2.5} (f64[4]{0 1 3 4}) [1] 2",
     "(f64[3,4]{-2.5 -1.5 3.33333 7.16667 -4.5 -2 -3.5 -7.5 5.875 1.625 1.625 5.875})"},
    {"aten::gradient.tensorarrayint",
     "f64[3,4]{0 -2 -3 2.25 2.5 -0.75 0.25 -5.25 0.25 4 -1.25 2.5} (f64[3]{0 1 3} f64[4]{0 1 3 4}) "
     "None 1",
     "(f64[3,4]{2.5 1.25 3.25 -7.5 1.29167 1.625 1.91667 -3.70833 -1.125 2.375 -0.75 3.875} "
     "f64[3,4]{-2 "
     "-1.5 3.33333 5.25 -3.25 -2 -3.5 -5.5 3.75 1.625 1.625 3.75})"},
    {"aten::gradient.scalarint", "i64[5]{0 1 2 3 4} None None 1", "(f32[5]{1 1 1 1 1})"},
    {"aten::gradient.array", "f64[3,4]{0 -2 -3 2.25 2.5 -0.75 0.25 -5.25 0.25 4 -1.25 2.5} [0] 3",
     "!torch.gradient only supports edge_order=1 and edge_order=2."},
    {"aten::gradient.array", "f64[1,2]{1 -2.25} [0] 1",
     "!torch.gradient expected each dimension size to be at least edge_order+1"},
    {"aten::gradient.tensorarray",
     "f64[3,4]{0 -2 -3 2.25 2.5 -0.75 0.25 -5.25 0.25 4 -1.25 2.5} (f32[2]{0 1}) [0 1] 1",
     "!torch.gradient expected spacing to be unspecified, a scalar or it's spacing and dim "
     "arguments to "
     "have the same length, but got a spacing argument of length 1 and a dim argument of length "
     "2."},
    {"aten::mode",
     "i64[40]{0 2 1 1 2 2 1 1 1 1 0 0 0 1 2 2 2 2 2 2 1 1 1 1 1 2 0 2 2 1 2 0 1 0 1 1 2 1 0 2} 0 "
     "false",
     "i64[]{1} i64[]{2}"},
    {"aten::mode",
     "f64[40]{0 2 1 1 2 2 1 1 1 1 0 0 0 1 2 2 2 2 2 2 1 1 1 1 1 2 0 2 2 1 2 0 1 0 1 1 2 1 0 2} 0 "
     "true",
     "f64[1]{1} i64[1]{2}"},
    {"aten::aminmax", "f32[]{2} 0 true", "f32[]{2} f32[]{2}"},
    {"aten::aminmax", "f32[]{2} None true", "f32[]{2} f32[]{2}"},
    {"aten::addr", "f32[1,1]{nan} f32[1]{nan} f32[1]{2} 0 0", "f32[1,1]{nan}"},
    {"aten::addr", "f32[1,1]{1} f32[1]{2} f32[1]{2} 3 0", "f32[1,1]{3}"},
    {"aten::addbmm_",
     "f64[1]{-1.75} f64[1,2,3]{4.75 -3 -0.5 0.25 -1 -0.25} f64[1,3,2]{1.5 1.5 0.25 3.75 2.5 -1.25} "
     "1 1",
     "f64[2,2]{3.375 -5.25 -2.25 -4.8125}"},
    {"aten::linspace", "4.3 -3 20 4 None None None",
     "i64[20]{4 3 3 2 2 2 1 1 1 0 0 0 0 0 -1 -1 -1 -2 -2 -3}"},
    {"aten::linspace", "0 9 18 3 None None None", "i32[18]{0 0 1 1 2 2 3 3 4 4 5 5 6 6 7 7 8 9}"},
    {"aten::layer_norm",
     "f32[1]{-6.5030999183654785} [1] f32[1]{1.5} f32[1]{-8.3999996185302734} 1e-05 false",
     "f32[1]{-8.3999}"},
    {"aten::special_bessel_j0", "f64[8]{-6 0 9.9999999999999995e-07 3 5 6.2000000000000002 8 30}",
     "f64[8]{0.150645 1 1 -0.260052 -0.177597 0.201747 0.171651 -0.086368}"},
    {"aten::special_bessel_j1", "f64[8]{-6 0 9.9999999999999995e-07 3 5 6.2000000000000002 8 30}",
     "f64[8]{0.276684 0 5e-07 0.339059 -0.327579 -0.232917 0.234636 -0.118751}"},
    {"aten::special_bessel_y0", "f64[8]{-6 0 9.9999999999999995e-07 3 5 6.2000000000000002 8 30}",
     "f64[8]{nan -inf -8.86903 0.37685 -0.308518 -0.24831 0.223521 -0.117296}"},
    {"aten::special_bessel_y1", "f64[8]{-6 0 9.9999999999999995e-07 3 5 6.2000000000000002 8 30}",
     "f64[8]{nan -inf -636620 0.324674 0.147863 -0.222284 -0.15806 0.0844256}"},
};

static void test_rows(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof database_rows / sizeof *database_rows; i++)
        opcase_run(&database_rows[i], 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
