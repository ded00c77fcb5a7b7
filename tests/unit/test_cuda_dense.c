/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_cuda_dense.c - the operators of src/runtime/cuda/ops/dense.def on the simulated device
 * (tests/cuda/sim), against the host's results.
 *
 * Each row (cuda_rows.h) runs on the host and on the device, and with half and bfloat16 in place of
 * float where it has floats. Every program that the rows used is then compiled by the real NVRTC,
 * where there is one, for two architectures.
 */
#include "cuda_rows.h"

#include "codegen/cuda/cuda_emit.h"
#include "runtime/cuda/dense.h"

/* ---- rows ------------------------------------------------------------------------------------ */

static const dense_row rows[] = {
    /* ---- products: tiles with edges, operands transposed and with gaps, batches that broadcast, every kind of number  */
    {"aten::mm", "f32[3,4]? f32[4,5]?"},
    {"aten::mm", "f32[65,70]? f32[70,130]?"},
    {"aten::mm", "f32[65,33]^? f32[33,67]^?"},
    {"aten::mm", "f64[17,9]? f64[9,20]?"},
    {"aten::mm", "i64[5,7]?9 i64[7,3]?9"},
    {"aten::mm", "i32[5,7]?9 i32[7,3]?9"},
    {"aten::mm", "u8[5,7]?99 u8[7,3]?99"},
    {"aten::mm", "f32[3,0]? f32[0,4]?"},
    {"aten::mm", "f32[0,3]? f32[3,4]?"},
    {"aten::bmm", "f32[3,4,5]? f32[3,5,6]?"},
    {"aten::matmul", "f32[2,3,4,5]? f32[3,5,6]?"},
    {"aten::matmul", "f32[2,1,4,5]? f32[3,5,2]?"},
    {"aten::matmul", "f32[7,5]? f32[5]?"},
    {"aten::matmul", "f32[5]? f32[5]?"},
    {"aten::matmul", "f32[5]? f32[2,5,3]?"},
    {"aten::mv", "f32[4,5]? f32[5]?"},
    {"aten::dot", "f32[9]? f32[9]?"},
    {"aten::linear", "f32[2,3,8]? f32[5,8]? f32[5]?"},
    {"aten::linear", "f32[2,8]? f32[5,8]? None"},
    {"aten::linear", "f32[8]? f32[5,8]? f32[5]?"},
    {"aten::addmm", "f32[4]? f32[3,5]? f32[5,4]? 0.5 2.0"},
    {"aten::addmm", "i64[3,4]?9 i64[3,5]?9 i64[5,4]?9 2 3"},
    {"aten::addmv", "f32[3]? f32[3,5]? f32[5]?"},
    {"aten::addbmm", "f32[3,4]? f32[2,3,5]? f32[2,5,4]?"},
    {"aten::baddbmm", "f32[2,3,4]? f32[2,3,5]? f32[2,5,4]? 0.5 2.0"},
    {"aten::baddbmm", "f32[4]? f32[2,3,5]? f32[2,5,4]? 0 1"},
    {"aten::einsum", "'bij,bjk->bik' (f32[2,3,4]? f32[2,4,5]?)"},
    {"aten::einsum", "'i,j->ij' (f32[3]? f32[4]?)"},
    {"aten::tensordot", "f32[3,4,5]? f32[4,3,2]? [1 0] [0 1]"},
    /* ---- with epilogues: in the kernel, and where it cannot do them (other broadcasts or has gaps, integers)  */
    {"ctsc::linear_epilogue", "f32[2,3,8]? f32[5,8]? f32[5]? None 'relu'"},
    {"ctsc::linear_epilogue", "f32[70,8]? f32[67,8]? f32[67]? f32[70,67]? 'gelu'"},
    {"ctsc::linear_epilogue", "f32[2,3,8]? f32[5,8]? None None 'gelu_tanh'"},
    {"ctsc::linear_epilogue", "f32[2,3,8]? f32[5,8]? None f32[2,3,5]? 'none'"},
    {"ctsc::linear_epilogue", "f32[3,8]? f32[5,8]? f32[5]? f32[3,5]^? 'relu'"},
    {"ctsc::linear_epilogue", "f32[3,8]? f32[5,8]? f32[5]? f32[2,1,5]? 'relu'"},
    {"ctsc::linear_epilogue", "f32[3,8]? f32[5,8]? f32[3,5]? f32[3,5]? 'gelu'"},
    {"ctsc::linear_epilogue", "f32[8]? f32[5,8]? f32[5]? f32[5]? 'relu'"},
    {"ctsc::linear_epilogue", "f64[3,8]? f64[5,8]? f64[5]? f64[3,5]? 'gelu'"},
    {"ctsc::linear_epilogue", "i64[3,8]?9 i64[5,8]?9 i64[5]?9 i64[3,5]?9 'relu'"},
    {"ctsc::conv_epilogue", "f32[2,3,9,8]? f32[5,3,3,3]? f32[5]? [1 1] [1 1] [1 1] 1 None 'relu'"},
    {"ctsc::conv_epilogue",
     "f32[2,3,9,8]? f32[5,3,3,3]? f32[5]? [1 1] [1 1] [1 1] 1 f32[2,5,9,8]? 'relu'"},
    {"ctsc::conv_epilogue",
     "f32[2,4,6,5]? f32[7,4,1,1]? f32[7]? [1 1] [0 0] [1 1] 1 f32[2,7,6,5]? 'gelu'"},
    {"ctsc::conv_epilogue",
     "f32[2,4,6,5]? f32[6,2,1,1]? None [1 1] [0 0] [1 1] 2 f32[2,6,6,5]? 'none'"},
    {"ctsc::conv_epilogue",
     "f32[2,4,6,5]? f32[8,1,3,3]? f32[8]? [1 1] [1 1] [1 1] 4 f32[2,8,6,5]? 'gelu_tanh'"},
    {"ctsc::conv_epilogue",
     "f32[2,4,6,5]? f32[7,4,1,1]? f32[7]? [1 1] [0 0] [1 1] 1 f32[7,1,1]? 'relu'"},
    {"ctsc::conv_epilogue", "f32[3,11]? f32[4,3,3]? f32[4]? [2] [1] [1] 1 f32[4,6]? 'relu'"},
    /* ---- convolutions ------------------------------------------------------------------------ */
    {"aten::conv2d", "f32[2,3,9,8]? f32[5,3,3,3]? f32[5]? [1 1] [1 1] [1 1] 1"},
    {"aten::conv2d", "f32[2,4,9,8]? f32[6,2,3,2]? None [2 1] [1 0] [1 2] 2"},
    {"aten::conv2d", "f32[2,4,6,5]? f32[7,4,1,1]? f32[7]? [1 1] [0 0] [1 1] 1"},
    {"aten::conv2d", "f32[2,4,6,5]? f32[6,2,1,1]? None [1 1] [0 0] [1 1] 2"},
    {"aten::conv2d", "f32[2,4,6,5]? f32[8,1,3,3]? f32[8]? [1 1] [1 1] [1 1] 4"},
    {"aten::conv2d", "f32[1,70,5,5]? f32[80,70,3,3]? f32[80]? [1 1] [1 1] [1 1] 1"},
    {"aten::conv2d", "f32[0,3,9,8]? f32[5,3,3,3]? f32[5]? [1 1] [1 1] [1 1] 1"},
    {"aten::conv1d", "f32[2,3,11]? f32[4,3,3]? f32[4]? [2] [1] [1] 1"},
    {"aten::conv3d", "f32[1,2,4,5,6]? f32[3,2,2,3,2]? f32[3]? [1 2 1] [0 1 1] [1 1 2] 1"},
    {"aten::conv2d", "f64[2,3,7,7]? f64[4,3,3,3]? f64[4]? [1 1] [1 1] [1 1] 1"},
    {"aten::conv2d", "i64[1,2,5,5]?9 i64[3,2,3,3]?9 i64[3]?9 [1 1] [0 0] [1 1] 1"},
    {"aten::conv_transpose2d.input",
     "f32[2,4,5,6]? f32[4,3,3,3]? f32[3]? [2 2] [1 1] [1 1] 1 [1 1]"},
    {"aten::conv_transpose2d.input", "f32[2,4,5,6]? f32[4,2,3,2]? None [1 2] [0 1] [0 0] 2 [2 1]"},
    {"aten::conv_transpose1d", "f32[2,4,5]? f32[4,3,3]? f32[3]? [2] [1] [1] 1 [1]"},
    /* ---- windows ----------------------------------------------------------------------------- */
    {"aten::max_pool2d", "f32[2,3,9,8]? [3 2] [2 1] [1 1] [1 2] false"},
    {"aten::max_pool2d", "f32[3,9,8]? [2 2] [2 2] [0 0] [1 1] true"},
    {"aten::max_pool2d_with_indices", "f32[2,3,9,8]? [3 3] [2 2] [1 1] [1 1] false"},
    {"aten::max_pool1d", "f32[2,3,9]? [3] [2] [1] [1] false"},
    {"aten::max_pool3d", "f32[1,2,5,6,7]? [2 3 2] [1 2 2] [0 1 1] [1 1 1] false"},
    {"aten::avg_pool2d", "f32[2,3,9,8]? [3 2] [2 1] [1 1] true true None"},
    {"aten::avg_pool2d", "f32[2,3,9,8]? [3 2] [2 1] [1 1] false false None"},
    {"aten::avg_pool2d", "f32[2,3,9,8]? [3 2] [2 2] [0 0] false false 5"},
    {"aten::avg_pool1d", "f32[2,3,9]? [3] [2] [1] false true"},
    {"aten::avg_pool3d", "f32[1,2,5,6,7]? [2 3 2] [1 2 2] [0 1 1] false true None"},
    {"aten::adaptive_avg_pool2d", "f32[2,3,9,8]? [4 3]"},
    {"aten::adaptive_avg_pool2d", "f32[2,3,9,8]? [1 1]"},
    {"aten::adaptive_max_pool2d", "f32[2,3,9,8]? [4 3]"},
    {"aten::adaptive_avg_pool1d", "f32[2,3,10]? [4]"},
    {"aten::adaptive_avg_pool3d", "f32[2,3,4,5,6]? [2 2 3]"},
    /* ---- positions --------------------------------------------------------------------------- */
    {"aten::constant_pad_nd", "f32[2,3,4]? [1 2 0 1] 1.5"},
    {"aten::constant_pad_nd", "i64[3,4]?9 [-1 2] 7"},
    {"aten::reflection_pad2d", "f32[2,3,4,5]? [2 1 1 3]"},
    {"aten::replication_pad1d", "f32[2,3,4]? [2 3]"},
    {"aten::replication_pad3d", "f32[1,2,3,4,5]? [2 1 1 3 0 2]"},
    {"aten::pad", "f32[2,3,4]? [1 2] 'circular' None"},
    {"aten::upsample_nearest2d", "f32[2,3,4,5]? [7 9] None None"},
    {"aten::upsample_nearest2d", "u8[2,3,4,5]?99 [8 10] None None"},
    {"aten::upsample_nearest1d", "f32[2,3,4]? [7] None"},
    {"aten::_upsample_nearest_exact2d", "f32[2,3,4,5]? [7 9] None None"},
    {"aten::upsample_bilinear2d", "f32[2,3,4,5]? [7 9] false None None"},
    {"aten::upsample_bilinear2d", "f32[2,3,4,5]? [7 5] true None None"},
    {"aten::upsample_bilinear2d", "f64[2,3,4,5]? [3 2] false None None"},
    {"aten::upsample_linear1d", "f32[2,3,4]? [7] false None"},
    {"aten::upsample_trilinear3d", "f32[1,2,3,4,5]? [5 3 7] true None None None"},
    {"aten::upsample_bicubic2d", "f32[2,3,4,5]? [7 9] false None None"},
    {"aten::_upsample_bilinear2d_aa", "f32[2,3,8,9]? [3 4] false None None"},
    /* ---- indices ----------------------------------------------------------------------------- */
    {"aten::embedding", "f32[7,5]? i64[2,3]?7"},
    {"aten::embedding", "f32[7,8]? i32[4]?7"},
    {"aten::embedding", "f64[7,3]? i64[0]?7"},
    {"aten::embedding_bag", "f32[7,5]? i64[6]?7 i64[3]{0 2 2} false 0 false None false"},
    {"aten::embedding_bag", "f32[7,5]? i64[6]?7 i64[3]{0 2 2} false 1 false None false"},
    {"aten::embedding_bag", "f32[7,5]? i64[6]?7 i64[3]{0 2 4} false 2 false None false"},
    {"aten::embedding_bag", "f32[7,5]? i64[6]?7 i64[3]{0 2 6} false 0 false f32[6]? true"},
    {"aten::index_select", "f32[4,5,6]? 1 i64[3]{4 0 4}"},
    {"aten::index_select", "f32[4,5]^? -1 i64[3]{4 0 4}"},
    {"aten::index_select", "b[4]?2 0 i64[6]{3 2 1 0 0 1}"},
    {"aten::index.Tensor", "f32[4,5,6]? (i64[3]{0 3 -1} None i64[3]{5 -6 2})"},
    {"aten::index.Tensor", "f32[4,5,6]? (None i64[2,2]{0 1 4 -1})"},
    {"aten::index.Tensor", "f32[4,5,6]? (b[4,5]?2)"},
    {"aten::index.Tensor", "c64[4]{1:2 3:4 5:6 7:8} (i64[2]{3 1})"},
    {"aten::index_put", "f32[4,5]? (i64[3]{0 3 1} i64[3]{4 0 -1}) f32[3]? false"},
    {"aten::index_put", "f32[4,5]? (i64[3]{0 3 0} None) f32[5]? true"},
    {"aten::index_put", "f32[4,5]? (b[4,5]?2) f32[]{7} false"},
    {"aten::index_add", "f32[4,5]? 0 i64[3]{1 1 3} f32[3,5]? 1"},
    {"aten::index_add", "f32[4,5]? 1 i64[3]{1 1 3} f32[4,3]? 2"},
    {"aten::index_add", "i64[4,5]?9 0 i64[3]{1 1 3} i64[3,5]?9 1"},
    {"aten::index_copy", "f32[4,5]? 0 i64[2]{1 3} f32[2,5]?"},
    {"aten::index_fill.int_Scalar", "f32[4,5]? 1 i64[2]{0 -1} 3"},
    {"aten::gather", "f32[4,5]? 1 i64[4,2]?5"},
    {"aten::gather", "f32[4,5]^? 0 i64[2,5]?4"},
    {"aten::scatter.src", "f32[4,5]? 1 i64[2,2]{0 4 2 1} f32[4,5]?"},
    {"aten::scatter.value", "f32[4,5]? 0 i64[2,2]{0 3 2 1} 2.5"},
    {"aten::scatter_add", "f32[4,5]? 0 i64[3,5]?4 f32[3,5]?"},
    {"aten::scatter_add", "u8[4,5]?9 0 i64[3,5]?4 u8[3,5]?9"},
    {"aten::scatter_add", "i64[4]?9 0 i64[6]?4 i64[6]?9"},
    {"aten::scatter_add", "f64[4]? 0 i64[6]?4 f64[6]?"},
    {"aten::scatter_reduce.two", "f32[4,5]? 0 i64[3,5]?4 f32[3,5]? 'amax' true"},
    {"aten::scatter_reduce.two", "f32[4,5]? 0 i64[3,5]?4 f32[3,5]? 'prod' false"},
    {"aten::scatter_reduce.two", "i16[4,5]?9 0 i64[3,5]?4 i16[3,5]?9 'amin' true"},
    {"aten::take", "f32[4,5]? i64[2,3]{0 19 -1 7 7 -20}"},
    {"aten::nonzero", "f32[3,4,5]{0 1 0 0 2 0 0 0 0 0 0 0 0 0 0 0 0 3 0 0 0 1 0 0 2 0 0 0 0 0 0 0 "
                      "0 0 0 0 0 3 0 0 0 1 0 0 2 0 0 0 0 0 0 0 0 0 0 0 0 3 0 0}"},
    {"aten::nonzero", "b[5000]?2"},
    {"aten::nonzero", "b[0]?2"},
    {"aten::nonzero", "i64[]{3}"},
    {"aten::masked_select", "f32[4,5]? b[5]?2"},
    /* ---- lines and places -------------------------------------------------------------------- */
    {"aten::cumsum", "f32[3,300]? 1"},
    {"aten::cumsum", "f32[3,40,5]? 1"},
    {"aten::cumsum", "i64[700]?9 0"},
    {"aten::cumsum", "b[3,5]?2 -1"},
    {"aten::cumprod", "f64[3,100]? 1"},
    {"aten::logcumsumexp", "f32[3,5]? 1"},
    {"aten::cummax", "f32[3,50]? 1"},
    {"aten::cummin", "i32[30,5]?9 0"},
    {"aten::sort.stable", "f32[3,40]? true 1 false"},
    {"aten::sort.stable", "f32[3,2500]? true 1 true"},
    {"aten::sort.stable", "i64[2000,2]?50 true 0 false"},
    {"aten::sort.stable", "u8[3,30]?9 true -1 true"},
    {"aten::sort.stable", "f64[5]{nan 1 -0.0 0 -inf} true 0 true"},
    {"aten::sort.stable", "b[9]?2 true 0 false"},
    {"aten::topk", "f64[4,50]? 5"},
    {"aten::topk", "f64[4,50]? 3 0 false"},
    {"aten::kthvalue", "f32[4,50]? 7"},
    {"aten::triu", "f32[2,4,5]? 1"},
    {"aten::tril", "i64[5,4]?9 -1"},
    {"aten::flip", "f32[3,4,5]? [0 2]"},
    {"aten::roll", "f32[3,4]? [1 -2] [0 1]"},
    {"aten::roll", "f32[3,4]? [5] []"},
    {"aten::repeat", "f32[3,4]? [2 1 3]"},
    {"aten::repeat_interleave.self_int", "f32[3,4]? 2 1"},
    {"aten::cat", "(f32[2,3]? f32[2,4]? f32[0]?) 1"},
    {"aten::cat", "(f32[2,3]^? i64[1,3]?9) 0"},
    {"aten::stack", "(f32[2,3]? f32[2,3]?) -1"},
    /* ---- attention, recurrent layers --------------------------------------------------------- */
    {"aten::scaled_dot_product_attention", "f32[2,3,5,8]? f32[2,3,7,8]? f32[2,3,7,6]?"},
    {"aten::scaled_dot_product_attention",
     "f32[2,3,50,16]? f32[2,3,50,16]? f32[2,3,50,16]? None 0.0 true"},
    {"aten::scaled_dot_product_attention",
     "f32[2,1,50,16]? f32[2,3,70,16]? f32[2,3,70,130]? f32[50,70]?"},
    {"aten::scaled_dot_product_attention",
     "f32[2,50,16]? f32[2,70,16]? f32[2,70,33]? b[2,1,70]{1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 "
     "1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 "
     "0 0 0 0 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 "
     "1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 0 0 0 0 0 0 0}"},
    {"aten::scaled_dot_product_attention", "f64[2,5,8]? f64[2,7,8]? f64[2,7,6]?"},
    {"ctsc::attention", "f32[2,3,5,8]? f32[2,3,8,7]? f32[2,3,7,6]? None None 0 2.5 true false"},
    {"ctsc::attention", "f32[2,3,5,8]? f32[8,7]? f32[2,1,7,6]? f32[5,7]? None 0 0.5 false false"},
    {"ctsc::attention",
     "f32[2,5,8]? f32[2,8,7]? f32[2,7,6]? f32[2,1,7]? b[1,5,7]?2 -9 3 true true"},
    {"ctsc::attention", "f32[2,3,5,8]? f32[2,3,8,7]? f32[2,3,7,6]? None b[2,1,1,7]{0 0 1 0 0 0 1 1 "
                        "1 1 1 1 1 1} -inf 1 false false"},
    {"ctsc::attention",
     "f64[2,5,8]? f64[2,8,7]? f64[2,7,6]? f64[2,5,7]? b[5,7]?2 -1e9 2.0 true false"},
    /* what is not attention any more, in steps */
    {"ctsc::attention", "f32[2,5,8]? f32[2,8,7]? f32[2,7,6]? f32[3,2,5,7]? None 0 1 false false"},
    {"ctsc::attention", "f32[2,5,8]? f32[2,8,7]? f32[2,7,6]? f32[7]? None 0 1 false true"},
    {"ctsc::attention", "f32[8]? f32[8,7]? f32[7,6]? None None 0 1 false false"},
    {"aten::_scaled_dot_product_attention",
     "f32[2,5,8]? f32[2,7,8]? f32[2,7,6]? None 0.0 true false"},
    {"aten::_native_multi_head_attention", "f32[2,5,8]? f32[2,5,8]? f32[2,5,8]? 8 2 f32[24,8]? "
                                           "f32[24]? f32[8,8]? f32[8]? None false true None"},
    {"aten::_native_multi_head_attention",
     "f32[2,5,8]? f32[2,4,8]? f32[2,4,8]? 8 2 f32[24,8]? f32[24]? f32[8,8]? f32[8]? b[2,4]{0 0 1 1 "
     "0 0 0 1} true true 1"},
    {"aten::lstm.input", "f32[5,2,3]? (f32[1,2,4]? f32[1,2,4]?) (f32[16,3]? f32[16,4]? f32[16]? "
                         "f32[16]?) true 1 0.0 false false false"},
    {"aten::lstm.input", "f32[2,5,3]? (f32[2,2,4]? f32[2,2,4]?) (f32[16,3]? f32[16,4]? f32[16,3]? "
                         "f32[16,4]?) false 1 0.0 false true true"},
    {"aten::lstm.input", "f32[5,2,3]? (f32[1,2,2]? f32[1,2,4]?) (f32[16,3]? f32[16,2]? f32[16]? "
                         "f32[16]? f32[2,4]?) true 1 0.0 false false false"},
    {"aten::gru.input", "f32[5,2,3]? f32[2,2,4]? (f32[12,3]? f32[12,4]? f32[12]? f32[12]? "
                        "f32[12,4]? f32[12,4]? f32[12]? f32[12]?) true 2 0.0 false false false"},
    {"aten::rnn_tanh.input",
     "f32[5,2,3]? f32[1,2,4]? (f32[4,3]? f32[4,4]? f32[4]? f32[4]?) true 1 0.0 false false false"},
    {"aten::rnn_relu.input",
     "f32[5,2,3]? f32[1,2,4]? (f32[4,3]? f32[4,4]?) false 1 0.0 false false false"},
    {"aten::gru_cell", "f32[2,3]? f32[2,4]? f32[12,3]? f32[12,4]? f32[12]? f32[12]?"},
    {"aten::lstm_cell", "f32[2,3]? (f32[2,4]? f32[2,4]?) f32[16,3]? f32[16,4]? f32[16]? f32[16]?"},
    /* ---- positions between elements, regions ------------------------------------------------- */
    {"aten::grid_sampler_2d", "f32[2,3,5,4]? f32[2,6,7,2]? 0 0 false"},
    {"aten::grid_sampler_2d", "f32[2,3,5,4]? f32[2,6,7,2]? 0 1 true"},
    {"aten::grid_sampler_2d", "f32[2,3,5,4]? f32[2,6,7,2]? 0 2 false"},
    {"aten::grid_sampler_2d", "f32[2,3,5,4]? f32[2,6,7,2]? 1 0 true"},
    {"aten::grid_sampler_2d", "f32[2,3,5,4]? f32[2,6,7,2]? 1 1 false"},
    {"aten::grid_sampler_2d", "f32[2,3,5,4]? f32[2,6,7,2]? 1 2 true"},
    {"aten::grid_sampler_2d", "f32[2,3,5,4]? f32[2,6,7,2]? 2 0 false"},
    {"aten::grid_sampler_2d", "f32[2,3,5,4]? f32[2,6,7,2]? 2 1 true"},
    {"aten::grid_sampler_2d", "f32[2,3,5,4]? f32[2,6,7,2]? 2 2 false"},
    {"aten::grid_sampler", "f32[2,3,3,5,4]? f32[2,2,6,7,3]? 0 0 true"},
    {"aten::grid_sampler", "f32[2,3,3,5,4]? f32[2,2,6,7,3]? 0 1 false"},
    {"aten::grid_sampler", "f32[2,3,3,5,4]? f32[2,2,6,7,3]? 0 2 true"},
    {"aten::grid_sampler", "f32[2,3,3,5,4]? f32[2,2,6,7,3]? 1 0 false"},
    {"aten::grid_sampler", "f32[2,3,3,5,4]? f32[2,2,6,7,3]? 1 1 true"},
    {"aten::grid_sampler", "f32[2,3,3,5,4]? f32[2,2,6,7,3]? 1 2 false"},
    {"aten::grid_sampler", "f64[1,2,5,4]^? f64[1,3,3,2]^{nan 0 -inf 1 inf 0.5 -3 4 1e30 2 0 0 1 1 "
                           "-1 -1 0.2 0.3} 0 2 false"},
    {"aten::grid_sampler", "f32[0,3,5,4]? f32[0,6,7,2]? 0 0 false"},
    {"aten::affine_grid_generator", "f32[2,2,3]? [2 1 4 5] true"},
    {"aten::affine_grid_generator", "f32[2,2,3]^? [2 1 4 1] false"},
    {"aten::affine_grid_generator", "f32[2,3,4]? [2 1 3 4 5] false"},
    {"torchvision::nms", "f32[6,4]{0 0 4 4 0.5 0 4 4 8 8 9 9 0 0 4 3.5 8 8 9 9 20 20 20 20} "
                         "f32[6]{0.5 0.75 0.25 0.75 nan 0.125} 0.5"},
    {"torchvision::nms", "f64[200,4]? f64[200]? 0.1"},
    {"torchvision::nms", "f32[0,4]? f32[0]? 0.5"},
    {"torchvision::roi_align",
     "f32[2,3,8,9]? f32[3,5]{0 1 1 7 6 1 -2 0 20 3 1 2 2 2 2} 0.5 2 3 2 true"},
    {"torchvision::roi_align",
     "f32[2,3,8,9]? f32[3,5]{0 1 1 7 6 1 -2 0 20 3 1 2 2 2 2} 1.0 3 2 0 false"},
    {"torchvision::roi_align", "f64[2,3,8,9]? f64[0,5]? 1.0 3 2 -1 false"},
    {"torchvision::roi_pool", "f32[2,3,8,9]? f32[3,5]{0 1 1 7 6 1 -2 0 20 3 1 2 2 2 2} 0.5 2 3"},
    {"torchvision::ps_roi_align", "f32[2,12,8,9]? f32[2,5]{0 1 1 7 6 1 -2 0 20 3} 0.5 2 3 2"},
    {"torchvision::ps_roi_align", "f32[2,12,8,9]? f32[2,5]{0 1 1 7 6 1 0 0 4 3} 1.0 2 3 0"},
    {"torchvision::ps_roi_pool", "f32[2,12,8,9]? f32[2,5]{0 1 1 7 6 1 -2 0 20 3} 0.5 2 3"},
    {"torchvision::deform_conv2d",
     "f32[2,4,6,7]? f32[6,2,3,2]? f32[2,24,4,6]? f32[2,12,4,6]? f32[6]? 1 1 0 0 1 1 2 2 true"},
    {"torchvision::deform_conv2d",
     "f32[2,4,6,7]? f32[5,4,3,3]? f32[2,18,3,4]? f32[2,1]? f32[5]? 2 2 1 1 1 1 1 1 false"},
    /* ---- made of others: all of them are in test_cuda_composed.c ----------------------------- */
    {"aten::cross_entropy_loss", "f64[4,5]? i64[4]{2 0 1 4} f64[5]{1 0.5 2 1 0.25} 1 1 0.1"},
    {"aten::_unique2", "i64[3,4]?5 true true true"},
    {"aten::mul.Tensor", "c64[3,4]? c64[4]?"},
    {"aten::matmul", "c64[2,3,4]? c64[4,5]?"},
    {"aten::conj", "c64[7]?"},
    {"aten::pixel_shuffle", "i64[2,8,3,2]?9 2"},
    {"aten::narrow.Tensor", "i64[3,4]?9 1 i64[]{-3} 2"},
    /* ---- functions of one element that kernels are made for ---------------------------------- */
    {"aten::i0", "f64[9]?"},
    {"aten::special_entr", "f64[9]?"},
    {"aten::special_log_ndtr", "f64[9]?"},
    {"aten::special_erfcx", "f64[9]?"},
    {"aten::special_bessel_j0", "f64[9]?"},
    {"aten::special_ndtri", "f64[5]{0.1 0.25 0.5 0.75 0.9}"},
    {"aten::special_bessel_y0", "f64[5]{0.1 0.25 0.5 0.75 0.9}"},
    {"aten::special_zeta", "f64[4]{2 3 1.5 5} f64[4]{1 0.5 2 3}"},
    {"aten::igamma", "f64[4]{2 3 1.5 5} f64[4]{1 0.5 2 3}"},
    {"aten::special_chebyshev_polynomial_t", "f64[5]? i64[5]?6"},
    {"aten::special_legendre_polynomial_p", "f64[5]? f64[5]{0 1 2 3 4}"},
    {"aten::ldexp.Tensor", "f64[5]? i64[5]?6"},
    {"aten::special_xlog1py", "f64[4]{0 1 2 3} f64[4]{1 0.5 2 3}"},
    {"aten::gcd", "i32[6]?99 i32[6]?99"},
    {"aten::lcm", "i64[6]?99 i64[6]?99"},
    {"aten::__lshift__.Scalar", "i64[4]?9 2"},
    {"aten::atan", "f64[0,3]?"},
};

/* ---- running --------------------------------------------------------------------------------- */

static void agrees_with_host(void **state) {
    (void)state;
    static const char *const types[] = {"f32", "f16", "bf16"};
    int failed = 0;
    const char *only = getenv("CTSC_TEST_ROW"); /* a part of an operator's name */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int k = 0; k < (strstr(rows[i].args, "f32[") ? 3 : 1); k++)
            if (!only || strstr(rows[i].op, only)) failed += dense_run(&rows[i], types[k]);
    assert_int_equal(failed, 0);
}

/* ---- indices out of bounds ------------------------------------------------------------------- */

/* They show when something is read, once, and do no harm. */
static void faults(void **state) {
    (void)state;
    static const struct { dense_row row; const char *says; } bad[] = {
        {{"aten::embedding", "f32[7,5]? i64[2]{1 7}"}, "index out of range in self"},
        {{"aten::gather", "f32[4,5]? 1 i64[1,2]{0 5}"},
         "index 5 is out of bounds for dimension 1 with size 5"},
        {{"aten::index.Tensor", "f32[4,5]? (i64[2]{0 -5})"},
         "index -5 is out of bounds for dimension 0 with size 4"},
        {{"torchvision::roi_align",
          "f32[2,1,4,4]? f32[2,5]{0 0 0 2 2 2.5 0 0 2 2} 1.0 1 1 1 false"},
         "roi 1 belongs to image 2.5 of a batch of 2"},
        {{"torchvision::roi_pool", "f32[2,1,4,4]? f32[1,5]{nan 0 0 2 2} 1.0 1 1"},
         "roi 0 belongs to image nan of a batch of 2"},
        {{"aten::take", "f32[4,5]? i64[1]{20}"},
         "out of range: tried to access index 20 on a tensor of 20 elements."},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        value args[OPCASE_MAX_ARGS], there[OPCASE_MAX_ARGS],
            results[OPCASE_MAX_RESULTS] = {value_none()};
        diag d = {0};
        strbuf text = STRBUF_INIT;
        tensor *here;
        dense_expand(bad[i].row.args, "f32", &text);
        int n = opcase_values(sb_str(&text), args);
        assert_int_equal(through_host_move(&d, n, args, 1, there), CTSC_OK);
        if (dense_call(op_find(bad[i].row.op), NULL, n, there, results, &d) != CTSC_OK)
            fail_msg("%s: %s", bad[i].row.op, diag_message(&d));
        assert_int_equal(tensor_to_device(&d, results[0].u.tensor, DEVICE_HOST, &here),
                         CTSC_FAILED);
        assert_string_equal(diag_message(&d), bad[i].says);
        diag_clear(&d);
        assert_int_equal(tensor_to_device(&d, there[0].u.tensor, DEVICE_HOST, &here), CTSC_OK);
        tensor_unref(here);
        for (int k = 0; k < OPCASE_MAX_RESULTS; k++) value_unref(results[k]);
        for (int k = 0; k < n; k++) value_unref(there[k]), value_unref(args[k]);
        sb_free(&text);
    }
}

/* ---- the real compiler ----------------------------------------------------------------------- */

static const dtype all_types[] = {DT_UINT8,   DT_INT16,    DT_INT32,   DT_INT64,  DT_BOOL,
                                  DT_FLOAT16, DT_BFLOAT16, DT_FLOAT32, DT_FLOAT64};
static const struct { const char *file, *types, *between; } programs[] = {
    /* one digit for each of all_types; what is in front of the file (DENSE_FILE_WITH) */
    {"gemm", "111101111"},
    {"conv", "111101111"},
    {"resample", "000101111"},
    {"gather3", "111100000"},
    {"move", "111100000"},
    {"combine", "111111111"},
    {"places", "100000000"},
    {"bags", "000001111"},
    {"attention", "000001111"},
    {"cell", "000001111"},
    {"scan", "111111111"},
    {"sort", "111111111"},
    {"triangle", "111100000"},
    {"sampling", "000001111", "sampling.h"},
    {"regions", "000001111", "regions.h"},
};

static void compile_read(const char *folder, const char *file, const char *end, strbuf *text) {
    char path[200];
    size_t len;
    snprintf(path, sizeof path, "src/%s/%s%s", folder, file, end);
    unsigned char *part = support_read(path, &len);
    CHILD_CHECK(part != NULL);
    sb_write(text, (char *)part, len);
    free(part);
}

static void compile_program(const char *file, const char *between, dtype dt, const char *arch) {
    strbuf text = STRBUF_INIT;
    diag d = {0};
    void *image = NULL;
    size_t size = 0;
    sb_puts(&text, dense_defines(dt));
    compile_read("ir/scalar", "scalar_activation.h", "", &text);
    compile_read("runtime/kernels/engine", "dense_params.h", "", &text);
    compile_read("runtime/cuda/kernels", "dense_types.cuh", "", &text);
    if (between) compile_read("runtime/kernels/vision", between, "", &text);
    compile_read("runtime/cuda/kernels", file, ".cu", &text);
    cuda_source source = {
        .text = sb_str(&text), .len = text.len, .name = file, .headers = cuda_emit_headers()};
    if (cuda_compile(&d, &source, arch, &image, &size) != CTSC_OK)
        fprintf(stderr, "%s %s: %s\n", file, arch, diag_message(&d));
    CHILD_CHECK(image != NULL);
    mem_free(image);
    sb_free(&text);
}

/* In a process of its own, since this one has the simulator for NVRTC. */
static void child_compiles(void) {
    diag d = {0};
    unsetenv("CTSC_NVRTC");
    if (!*cuda_compiler(&d)) {
        printf("skipped: %s\n", diag_message(&d));
        return;
    }
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        for (size_t k = 0; k < sizeof all_types / sizeof *all_types; k++) {
            if (programs[i].types[k] != '1') continue;
            /* code for processors is made of one type only: it takes its time */
            bool last = !strchr(programs[i].types + k + 1, '1');
            compile_program(programs[i].file, programs[i].between, all_types[k],
                            last ? "sm_80" : "compute_80");
            if (last) compile_program(programs[i].file, programs[i].between, all_types[k], "sm_90");
        }
}

static void compiles(void **state) {
    (void)state;
    if (getenv("CTSC_TEST_ROW")) return;
    in_child(child_compiles);
}

int main(void) {
    sim_use();
    const struct CMUnitTest tests[] = {cmocka_unit_test(agrees_with_host), cmocka_unit_test(faults),
                                       cmocka_unit_test(compiles)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
