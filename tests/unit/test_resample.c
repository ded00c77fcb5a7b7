/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_resample.c - pooling, upsampling, grid sampling, padding and sliding blocks. The expected
 * texts are PyTorch 1.13.1's.
 */
#include "opcase.h"

#include "base/threads/thread_pool.h"

static const opcase pooling[] = {
    {"aten::max_pool2d",
     "f32[1,4,4]{-1.9 0.4 -0.3 -1.1 0.6 0.9 0.7 1.4 -0.8 -1.9 1 -1.5 -0.3 1.3 -1 1.2} [2]",
     "f32[1,2,2]{0.9 1.4 1.3 1.2}"},
    {"aten::max_pool2d",
     "f32[1,2,3,4]^{-1.9 0.4 -0.3 -1.1 0.6 0.9 0.7 1.4 -0.8 -1.9 1 -1.5 -0.3 1.3 -1 1.2 1.5 "
     "1.7 0.3 -1.9 -0.7 0.1 -1.5 0.2} [3 2] [1 2] [1 0] [1 1] true",
     "f32[1,2,3,2]{0.9 1.4 0.9 1.4 0.9 1.4 1.7 1.2 1.7 1.2 1.7 0.3}"},
    {"aten::max_pool2d", "f32[1,2,3]{1 nan 3 4 5 6} [2] [1]", "f32[1,1,2]{nan nan}"},
    {"aten::max_pool2d",
     "f32[2,2,3,5]{1 5 2 -3 9 4 0 7 7 9 9 9 9 9 9 -1 -2 nan 3 9 -4 -5 6 2 9 1 2 3 4 5 3 1 4 1 5 9 "
     "2 "
     "6 5 3 0 0 0 0 0 2 7 1 8 2 8 1 8 nan 4 0 0 0 0 0} [2]",
     "f32[2,2,1,2]{5 7 -1 nan 9 6 8 nan}"},
    /* what a mean is, and what needs no computing */
    {"aten::adaptive_avg_pool2d", "c64[1,1,2]{1:2 3:4} [1,1]", "c64[1,1,1]{2:3}"},
    {"aten::adaptive_avg_pool1d", "i32[0,8,8]{} [5]", "i32[0,8,5]{}"},
    {"aten::adaptive_avg_pool2d", "i64[1,0,4,6]{} [3,2]", "i64[1,0,3,2]{}"},
    {"aten::adaptive_avg_pool2d", "i64[1,1,1,2]{1 2} [1,2]",
     "!\"adaptive_avg_pool2d\" not implemented for 'Long'"},
    /* integers, which PyTorch takes since 2.0, beyond what a double holds; ties go to the first */
    {"aten::max_pool2d",
     "i64[1,2,3]{-9223372036854775808 -9007199254740993 9007199254740993 9007199254740992 1 2} [2] "
     "[1]",
     "i64[1,1,2]{9007199254740992 9007199254740993}"},
    {"aten::max_pool2d", "u8[1,2,2]{1 255 7 255} [2] [2] [1]", "u8[1,2,2]{1 255 7 255}"},
    {"aten::max_pool2d_with_indices", "i8[1,2,2]{-128 -128 -128 -128} [2] [2] [1]",
     "i8[1,2,2]{-128 -128 -128 -128} i64[1,2,2]{0 1 2 3}"},
    {"aten::max_pool1d_with_indices", "i32[1,6]{-19 4 -3 -11 6 6} [3] [1] [1] [2]",
     "i32[1,4]{4 6 6 6} i64[1,4]{1 4 5 4}"},
    {"aten::max_pool1d", "i64[1,4]{1 2 3 4} [2]",
     "!\"max_pool1d_impl\" not implemented for 'Long'"},
    {"aten::max_pool2d", "b[1,2,2]{1 0 1 0} [2]", "!\"max_pool2d\" not implemented for 'Bool'"},
    {"aten::max_pool2d_with_indices",
     "f32[1,5,5]{-1.9 0.4 -0.3 -1.1 0.6 0.9 0.7 1.4 -0.8 -1.9 1 -1.5 -0.3 1.3 -1 1.2 1.5 1.7 "
     "0.3 -1.9 -0.7 0.1 -1.5 0.2 0.6} [3] [2] [1]",
     "f32[1,3,3]{0.9 1.4 0.6 1.5 1.7 1.3 1.5 1.7 0.6} i64[1,3,3]{5 7 4 16 17 13 16 17 24}"},
    /* all windows inside: the last NaN, the first of the others */
    {"aten::max_pool2d_with_indices",
     "f32[3,2,4,5]{-inf -inf -inf -inf -2 -2 -2 -2 -inf 2 2 -1 -2 nan -1 -inf -2 2 -2 2 -1 2 -inf "
     "-1 "
     "0 1 nan 2 2 -inf -2 -1 2 1 2 0 -inf -2 0 nan 1 2 -1 -inf 2 -1 -1 1 "
     "0 -1 -inf -1 nan 2 2 -2 -1 -inf -1 0 2 1 -2 0 -inf nan 1 1 1 -2 1 -inf "
     "2 0 0 -2 1 -1 -inf -2 2 2 1 1 0 -inf 2 -1 0 -2 1 nan -inf -2 -2 1 "
     "-1 0 -2 -inf 1 0 0 1 nan -1 -inf 0 -2 -2 2 -2 -1 -inf 2 -1 2 nan -2 1} "
     "[2 2] [2 2] [0 0] [1 1]",
     "f32[3,2,2,2]{-2 -2 2 nan nan 2 0 2 2 1 -1 nan nan 1 1 2 2 1 nan 0 1 1 2 nan} "
     "i64[3,2,2,2]{5 7 10 13 6 7 15 12 1 7 11 12 5 7 10 12 0 2 11 17 0 3 10 17}"},
    {"aten::max_pool2d_with_indices",
     "f64[2,3,5,7]{-inf -inf -inf -inf 0 2 -2 1 -inf 1 -2 2 0 nan 2 -inf 0 0 0 -2 -2 2 -inf 2 "
     "-1 2 nan 1 -1 -inf -2 2 0 -1 -1 0 -inf 1 2 nan 2 -1 0 -inf -1 -2 -2 -1 "
     "-2 2 -inf -2 nan 0 2 1 1 -inf 1 -1 -1 1 -1 -1 -inf nan 0 2 -1 0 -2 -inf "
     "-2 2 2 -1 2 1 -inf 1 2 0 -2 2 1 -inf 1 -1 1 -1 2 nan -inf 2 1 -1 "
     "-1 1 0 -inf -2 0 0 1 nan 1 -inf 0 0 0 -1 2 -2 -inf 1 2 1 nan 0 0 "
     "-inf -1 -2 -2 1 -1 0 -inf -1 -2 nan -1 1 1 -inf -1 1 -2 0 2 1 -inf 0 nan "
     "1 -2 -2 0 -inf 0 1 1 -1 0 -1 -inf nan 2 -2 -1 -1 -2 -inf -2 -1 2 -2 -2 "
     "-2 -inf -1 -1 2 0 1 -1 -inf 0 2 -1 1 0 nan -inf 1 2 2 0 -2 0 -inf -2 "
     "0 1 -1 nan 0 -inf 2 0 -2 2 0 2 -inf 1 -1 2 nan -1} [3 2] [1 2] [0 0] "
     "[1 3]",
     "f64[2,3,3,2]{2 2 2 nan 2 nan nan 2 nan 2 nan nan 2 1 nan 2 nan 2 2 nan 2 nan 1 1 "
     "nan nan 2 nan 2 nan nan 1 nan 2 2 nan} i64[2,3,3,2]{14 5 14 26 14 26 17 5 17 19 17 30 "
     "3 9 21 23 21 23 10 12 10 12 28 19 3 16 17 16 17 16 7 5 7 23 28 33}"},
    {"aten::max_pool2d_with_indices",
     "f32[1,9,9]{-inf -inf -inf -inf 1 -2 -1 0 -inf -2 -2 -1 -2 nan 1 -inf -1 2 0 1 -1 1 -inf 0 "
     "0 2 nan 0 -1 -inf 1 0 2 1 0 2 -inf 0 -2 nan 2 1 0 -inf -2 -2 -1 -2 "
     "2 2 -inf 1 nan -2 -2 -1 1 -inf -2 0 2 -1 1 2 -inf nan 0 2 0 -1 -2 -inf "
     "2 2 1 -2 0 -1 -inf -2 0} [2 2] [1 1] [0 0] [1 1]",
     "f32[1,8,8]{-2 -1 -1 nan nan 1 0 2 1 1 1 nan nan 1 2 nan 1 1 1 1 2 2 2 nan "
     "0 0 nan nan 2 2 1 2 0 0 nan nan 2 1 nan nan -1 1 2 2 2 2 nan nan "
     "2 nan nan 2 2 2 2 1 2 nan nan 2 2 0 -1 0} i64[1,8,8]{9 11 11 13 13 14 7 17 "
     "19 19 21 13 13 14 25 26 19 19 21 21 32 32 25 26 27 37 39 39 32 32 33 35 "
     "37 37 39 39 40 41 52 52 46 56 48 48 49 60 52 52 63 65 65 67 67 60 60 62 "
     "63 65 65 67 67 68 69 80}"},
    {"aten::max_pool3d_with_indices",
     "f32[1,2,3,3]{-1.9 0.4 -0.3 -1.1 0.6 0.9 0.7 1.4 -0.8 -1.9 1 -1.5 -0.3 1.3 -1 1.2 1.5 "
     "1.7} [2] [1] [1 0 1]",
     "f32[1,3,2,4]{-1.1 0.6 0.9 0.9 0.7 1.4 1.4 0.9 -0.3 1.3 1.3 0.9 1.2 1.5 1.7 1.7 -0.3 "
     "1.3 1.3 -1 1.2 1.5 1.7 1.7} i64[1,3,2,4]{3 4 5 5 6 7 7 5 12 13 13 5 15 16 17 17 12 13 "
     "13 14 15 16 17 17}"},
    {"aten::max_pool1d", "f32[2,5]{-1.9 0.4 -0.3 -1.1 0.6 0.9 0.7 1.4 -0.8 -1.9} [2]",
     "f32[2,2]{0.4 -0.3 0.9 1.4}"},
    {"aten::max_pool1d", "f32[2,3]{-1.9 0.4 -0.3 -1.1 0.6 0.9} [4]", "f32[2,0]{}"},
    {"aten::max_pool1d_with_indices", "f32[1,6]{-1.9 0.4 -0.3 -1.1 0.6 0.9} [3] [1] [1] [2]",
     "f32[1,4]{0.4 0.6 0.9 0.6} i64[1,4]{1 4 5 4}"},
    {"aten::max_pool3d",
     "f32[1,1,3,3,3]{-1.9 0.4 -0.3 -1.1 0.6 0.9 0.7 1.4 -0.8 -1.9 1 -1.5 -0.3 1.3 -1 1.2 1.5 "
     "1.7 0.3 -1.9 -0.7 0.1 -1.5 0.2 0.6 1.3 1.7} [2 3 2]",
     "f32[1,1,1,1,1]{1.5}"},
    {"aten::max_pool2d", "f32[2,3]{-1.3 0.6 -1.6 0.6 -0.7 -0.1} [2]",
     "!non-empty 3D or 4D (batch mode) tensor expected for input"},
    {"aten::max_pool2d",
     "f32[2,3,4]{0.8 -0.6 -1 -0.2 1.2 -1.2 1.8 -2 -0.9 -1.9 -1.7 -1.8 0.3 1.6 -1.4 1 0.2 "
     "-1.8 1.2 -0.3 0.8 1.6 1.4 -1.5} [2 2 2]",
     "!max_pool2d: kernel_size must either be a single int, or a tuple of two ints"},
    {"aten::max_pool2d",
     "f32[2,3,4]{-1.7 -2 -0.7 -0.3 0.6 -1.9 1 -1 0.3 1 -0.8 1.8 -1.6 -1.5 -1 2 -0.3 -1.8 1.3 "
     "0.7 0.3 1.2 -1.6 -1.6} [2] [1] [2]",
     "!pad should be at most half of kernel size, but got pad=2 and kernel_size=2"},
    {"aten::max_pool2d",
     "f32[2,3,4]{1.3 -0.9 1.8 -1.6 -2 1.3 1.4 1.3 1.9 0.4 1.9 -0.6 -2 -1.8 0.5 -0.5 1.2 -1.4 "
     "1.3 -0.9 2 -1.7 0.7 -1.3} [2] [0]",
     "!stride should not be zero"},
    {"aten::max_pool2d", "f32[1,2,2]{-0.8 -0.6 0.6 0} [5]",
     "!Given input size: (1x2x2). Calculated output size: (1x0x0). Output size is too small"},
    {"aten::max_pool2d", "f32[2,0,4]{} [2]",
     "!Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but "
     "got:[2, 0, 4]"},
    {"aten::max_pool2d",
     "f32[2,3,4]{-1.5 -1.1 0 -1.4 -1.8 0.7 0.9 1.5 0.1 1.2 -1.4 0.9 -0.6 1.3 1.6 -1 1.7 -0.7 "
     "-0.5 1 -0.9 -0.7 1.1 -1.5} [2] [1] [0] [0]",
     "!dilation should be greater than zero, but got dilationH: 0 dilationW: 0"},
    {"aten::max_pool2d", "i64[1,2,2]{1 1 1 1} [2]", "i64[1,1,1]{1}"},
    {"aten::max_pool1d", "f32[2,3]{-1.9 0.4 -0.3 -1.1 0.6 0.9} [2] [1] [2]",
     "!max_pool1d() padding should be at most half of kernel size, but got padding=2 and "
     "kernel_size=2"},
    {"aten::max_pool1d", "f32[3]{-1.9 0.4 -0.3} [2]",
     "!max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for "
     "input, but got:[3]"},
    {"aten::max_pool3d", "f32[1,2,2,2]{-1.9 0.4 -0.3 -1.1 0.6 0.9 0.7 1.4} [3]",
     "!Given input size: (1x2x2x2). Calculated output size: (1x0x0x0). Output size is too "
     "small"},
    {"aten::avg_pool2d",
     "f32[1,4,4]{-1.9 0.4 -0.3 -1.1 0.6 0.9 0.7 1.4 -0.8 -1.9 1 -1.5 -0.3 1.3 -1 1.2} [2]",
     "f32[1,2,2]{0 0.175 -0.425 -0.075}"},
    {"aten::avg_pool2d",
     "f32[1,3,5]^{-1.9 0.4 -0.3 -1.1 0.6 0.9 0.7 1.4 -0.8 -1.9 1 -1.5 -0.3 1.3 -1} [3 2] [2] "
     "[1] true false",
     "f32[1,2,3]{-0.5 0.55 -0.8 0.95 0.075 -0.6}"},
    {"aten::avg_pool2d",
     "f32[1,3,3]{-1.9 0.4 -0.3 -1.1 0.6 0.9 0.7 1.4 -0.8} [2] [1] [1] false true 3",
     "f32[1,4,4]{-0.633333 -0.5 0.0333333 -0.1 -1 -0.666667 0.533333 0.2 -0.133333 0.533333 "
     "0.7 0.0333333 0.233333 0.7 0.2 -0.266667}"},
    {"aten::avg_pool2d", "i64[1,2,2]{1 2 3 5} [2]", "i64[1,1,1]{2}"},
    {"aten::avg_pool1d", "f32[2,5]{-1.9 0.4 -0.3 -1.1 0.6 0.9 0.7 1.4 -0.8 -1.9} [3] [2] [1]",
     "f32[2,3]{-0.5 -0.333333 -0.166667 0.533333 0.433333 -0.9}"},
    {"aten::avg_pool3d",
     "f32[1,2,2,3]{-1.9 0.4 -0.3 -1.1 0.6 0.9 0.7 1.4 -0.8 -1.9 1 -1.5} [2] [1]",
     "f32[1,1,1,2]{-0.1 0.2125}"},
    {"aten::avg_pool2d", "f32[1,2,2]{-0.3 1.3 -1 1.2} [2] [1] [0] false true 0",
     "!divisor must be not zero"},
    {"aten::avg_pool2d", "f32[2,3]{-1.9 0.4 -0.3 -1.1 0.6 0.9} [2]",
     "!Dimension out of range (expected to be in range of [-2, 1], but got -3)"},
    {"aten::avg_pool3d", "f32[1,2,2,2]{-1.9 0.4 -0.3 -1.1 0.6 0.9 0.7 1.4} [3]",
     "!input image (T: 2 H: 2 W: 2) smaller than kernel size (kT: 3 kH: 3 kW: 3)"},
    {"aten::adaptive_avg_pool2d",
     "f32[1,5,7]{0.1 0.6 1.7 -1.8 -1.9 1.9 1.3 1.3 0.2 0.1 -0.9 1.7 -0.8 1.8 -0.4 -0.7 -1.3 "
     "-1.5 -0.6 -1.8 0.3 1.3 -0.8 -1.6 0.7 1.6 -0.1 0.2 1.4 -1.5 1.4 1.1 1.8 1.7 -0.3} [2 3]",
     "f32[1,2,3]{0.177778 -0.5 0.211111 -0.244444 0.177778 0.311111}"},
    {"aten::adaptive_avg_pool2d",
     "f32[2,3,3]{-1.9 0.4 -0.3 -1.1 0.6 0.9 0.7 1.4 -0.8 -1.9 1 -1.5 -0.3 1.3 -1 1.2 1.5 "
     "1.7} [1 1]",
     "f32[2,1,1]{-0.0111111 0.222222}"},
    {"aten::adaptive_avg_pool1d", "f32[2,5]{-1.9 0.4 -0.3 -1.1 0.6 0.9 0.7 1.4 -0.8 -1.9} [3]",
     "f32[2,3]{-0.75 -0.333333 -0.25 0.8 0.433333 -1.35}"},
    {"aten::adaptive_avg_pool3d",
     "f32[1,2,3,4]{-1.9 0.4 -0.3 -1.1 0.6 0.9 0.7 1.4 -0.8 -1.9 1 -1.5 -0.3 1.3 -1 1.2 1.5 "
     "1.7 0.3 -1.9 -0.7 0.1 -1.5 0.2} [1 2 2]",
     "f32[1,1,2,2]{0.525 -0.0875 0.175 -0.1625}"},
    {"aten::adaptive_max_pool2d",
     "f32[1,3,5]{-1.9 0.4 -0.3 -1.1 0.6 0.9 0.7 1.4 -0.8 -1.9 1 -1.5 -0.3 1.3 -1} [2 2]",
     "f32[1,2,2]{1.4 1.4 1.4 1.4} i64[1,2,2]{7 7 7 7}"},
    {"aten::adaptive_max_pool1d", "f32[1,5]{-1.9 0.4 -0.3 -1.1 0.6} [2]",
     "f32[1,2]{0.4 0.6} i64[1,2]{1 4}"},
    {"aten::adaptive_max_pool3d",
     "f32[1,2,3,2]{-1.9 0.4 -0.3 -1.1 0.6 0.9 0.7 1.4 -0.8 -1.9 1 -1.5} [2 1 2]",
     "f32[1,2,1,2]{0.6 0.9 1 1.4} i64[1,2,1,2]{4 5 10 7}"},
    {"aten::adaptive_avg_pool2d",
     "f32[2,3,3]{-0.3 1.3 -1 1.2 1.5 1.7 0.3 -1.9 -0.7 0.1 -1.5 0.2 0.6 1.3 1.7 -1.3 0.6 "
     "-1.6} [1]",
     "!adaptive_avg_pool2d: output_size must be 2"},
    {"aten::adaptive_avg_pool2d",
     "f32[2,3,3]{-1.9 0.4 -0.3 -1.1 0.6 0.9 0.7 1.4 -0.8 -1.9 1 -1.5 -0.3 1.3 -1 1.2 1.5 "
     "1.7} [-1 1]",
     "!adaptive_avg_pool2d: elements of output_size must be greater than or equal to 0 but "
     "received {-1, 1}"},
    {"aten::adaptive_max_pool2d", "f32[2,3]{-1.9 0.4 -0.3 -1.1 0.6 0.9} [2 2]",
     "!adaptive_max_pool2d(): Expected 3D or 4D tensor, but got: [2, 3]"},
    {"aten::max_unpool2d", "f32[1,1,2]{1 2} i64[1,1,2]{3 0} [2 2]", "f32[1,2,2]{2 0 0 1}"},
    {"aten::max_unpool2d", "f32[1,1,2]{1 2} i64[1,1,2]{4 0} [2 2]",
     "!Found an invalid max index: 4 (output volumes are of size 2x2"},
    {"aten::max_unpool3d", "f32[1,1,1,2]{1 2} i64[1,1,1,2]{3 0} [1 2 2] [1 1 1] [0 0 0]",
     "f32[1,1,2,2]{2 0 0 1}"},
};

static const opcase resampling[] = {
    {"aten::upsample_nearest1d", "f32[1,2,3]{-1.9 0.4 -0.3 -1.1 0.6 0.9} [7]",
     "f32[1,2,7]{-1.9 -1.9 -1.9 0.4 0.4 -0.3 -0.3 -1.1 -1.1 -1.1 0.6 0.6 0.9 0.9}"},
    {"aten::upsample_nearest2d",
     "f32[1,2,2,3]^{-1.9 0.4 -0.3 -1.1 0.6 0.9 0.7 1.4 -0.8 -1.9 1 -1.5} [3 5]",
     "f32[1,2,3,5]{-1.9 -1.9 0.4 0.4 -0.3 -1.9 -1.9 0.4 0.4 -0.3 -1.1 -1.1 0.6 0.6 0.9 0.7 "
     "0.7 1.4 1.4 -0.8 0.7 0.7 1.4 1.4 -0.8 -1.9 -1.9 1 1 -1.5}"},
    {"aten::upsample_nearest2d", "u8[1,1,2,2]{1 2 3 4} [4 4]",
     "u8[1,1,4,4]{1 1 2 2 1 1 2 2 3 3 4 4 3 3 4 4}"},
    {"aten::upsample_nearest3d", "f32[1,1,2,1,2]{-1.9 0.4 -0.3 -1.1} [3 2 3]",
     "f32[1,1,3,2,3]{-1.9 -1.9 0.4 -1.9 -1.9 0.4 -1.9 -1.9 0.4 -1.9 -1.9 0.4 -0.3 -0.3 -1.1 "
     "-0.3 -0.3 -1.1}"},
    {"aten::_upsample_nearest_exact2d", "f32[1,1,2,3]{-1.9 0.4 -0.3 -1.1 0.6 0.9} [3 5]",
     "f32[1,1,3,5]{-1.9 -1.9 0.4 -0.3 -0.3 -1.1 -1.1 0.6 0.9 0.9 -1.1 -1.1 0.6 0.9 0.9}"},
    {"aten::_upsample_nearest_exact1d", "f32[1,1,5]{-1.9 0.4 -0.3 -1.1 0.6} [3]",
     "f32[1,1,3]{-1.9 -0.3 0.6}"},
    {"aten::upsample_nearest1d.vec", "f32[1,1,2]{-1.9 0.4} [4] None",
     "f32[1,1,4]{-1.9 -1.9 0.4 0.4}"},
    {"aten::upsample_linear1d", "f32[1,1,3]{-1.9 0.4 -0.3} [5] false",
     "f32[1,1,5]{-1.9 -0.98 0.4 -0.0200001 -0.3}"},
    {"aten::upsample_bilinear2d", "f32[1,1,2,3]^{-1.9 0.4 -0.3 -1.1 0.6 0.9} [3 4] false",
     "f32[1,1,3,4]{-1.9 -0.4625 0.1375 -0.3 -1.5 -0.25 0.425 0.3 -1.1 -0.0375 0.7125 0.9}"},
    {"aten::upsample_bicubic2d",
     "f32[1,1,3,3]{0.1 0.6 1.7 -1.8 -1.9 1.9 1.3 1.3 0.2} [2 4] "
     "false",
     "f32[1,1,2,4]{-0.465332 -0.415811 0.639601 1.94031 0.534 0.491331 0.520168 0.59973}"},
    {"aten::upsample_trilinear3d", "f32[1,1,2,2,1]{-1.9 0.4 -0.3 -1.1} [3 2 2] false",
     "f32[1,1,3,2,2]{-1.9 -1.9 0.4 0.4 -1.1 -1.1 -0.35 -0.35 -0.3 -0.3 -1.1 -1.1}"},
    {"aten::_upsample_bilinear2d_aa",
     "f32[1,1,4,5]{-1.9 0.4 -0.3 -1.1 0.6 0.9 0.7 1.4 -0.8 -1.9 1 -1.5 -0.3 1.3 -1 1.2 1.5 "
     "1.7 0.3 -1.9} [2 3] false",
     "f32[1,1,2,3]{-0.0530612 0.155556 -0.669388 0.655102 0.593651 -0.620408}"},
    {"aten::_upsample_bicubic2d_aa",
     "f32[1,1,5,3]{1.8 2 -0.6 -0.5 1.4 1.5 1.6 0.6 -1.7 1.2 0.2 -1.8 0.4 0.3 -1.6} [2 4] "
     "false",
     "f32[1,1,2,4]{0.791482 1.29352 0.931374 -0.067932 0.98322 0.685563 -0.46628 -1.75021}"},
    {"aten::upsample_linear1d", "f32[1,1,3]{-1.9 0.4 -0.3} [5] true",
     "f32[1,1,5]{-1.9 -0.75 0.4 0.05 -0.3}"},
    {"aten::upsample_bilinear2d", "f32[1,1,2,3]^{-1.9 0.4 -0.3 -1.1 0.6 0.9} [3 4] true",
     "f32[1,1,3,4]{-1.9 -0.366667 0.166667 -0.3 -1.5 -0.166667 0.433333 0.3 -1.1 0.0333334 "
     "0.7 0.9}"},
    {"aten::upsample_bicubic2d",
     "f32[1,1,3,3]{0.1 0.6 1.7 -1.8 -1.9 1.9 1.3 1.3 0.2} [2 4] "
     "true",
     "f32[1,1,2,4]{0.1 0.32037 1.00185 1.7 1.3 1.42222 0.953704 0.2}"},
    {"aten::upsample_trilinear3d", "f32[1,1,2,2,1]{-1.9 0.4 -0.3 -1.1} [3 2 2] true",
     "f32[1,1,3,2,2]{-1.9 -1.9 0.4 0.4 -1.1 -1.1 -0.35 -0.35 -0.3 -0.3 -1.1 -1.1}"},
    {"aten::_upsample_bilinear2d_aa",
     "f32[1,1,4,5]{-1.9 0.4 -0.3 -1.1 0.6 0.9 0.7 1.4 -0.8 -1.9 1 -1.5 -0.3 1.3 -1 1.2 1.5 "
     "1.7 0.3 -1.9} [2 3] true",
     "f32[1,1,2,3]{0.271429 0.03125 -0.840625 0.847619 0.4875 -1.04167}"},
    {"aten::_upsample_bicubic2d_aa",
     "f32[1,1,5,3]{0.1 0.6 1.7 -1.8 -1.9 1.9 1.3 1.3 0.2 0.1 -0.9 1.7 -0.8 1.8 -0.4} [2 4] "
     "true",
     "f32[1,1,2,4]{-0.181452 -0.172023 0.136561 1.01872 -0.407493 0.369394 0.997449 0.274428}"},
    {"aten::upsample_bilinear2d", "f64[1,1,2,2]{-1.9 0.4 -0.3 -1.1} [4 4] false 2.0 2.0",
     "f64[1,1,4,4]{-1.9 -1.325 -0.175 0.4 -1.5 -1.11875 -0.35625 0.025 -0.7 -0.70625 "
     "-0.71875 -0.725 -0.3 -0.5 -0.9 -1.1}"},
    {"aten::upsample_bilinear2d.vec", "f32[1,1,2,2]{-1.9 0.4 -0.3 -1.1} [3 3] false None",
     "f32[1,1,3,3]{-1.9 -0.75 0.4 -1.1 -0.725 -0.35 -0.3 -0.7 -1.1}"},
    {"aten::upsample_bilinear2d", "f32[1,1,2,2]{-1.9 0.4 -0.3 -1.1} [2 2] false",
     "f32[1,1,2,2]{-1.9 0.4 -0.3 -1.1}"},
    {"aten::upsample_nearest2d", "f32[1,2,3]{0.6 0.9 0.7 1.4 -0.8 -1.9} [5 5]",
     "!It is expected input_size equals to 4, but got size 3"},
    {"aten::upsample_nearest2d", "f32[1,1,2,3]{1 -1.5 -0.3 1.3 -1 1.2} [5]",
     "!It is expected output_size equals to 2, but got size 1"},
    {"aten::upsample_bilinear2d", "f32[1,1,2,0]{} [2 2] false",
     "!Input and output sizes should be greater than 0, but got input (H: 2, W: 0) output "
     "(H: 2, W: 2)"},
    {"aten::upsample_linear1d", "i64[1,1,2]{1 1} [3] false",
     "!\"compute_indices_weights_linear\" not implemented for 'Long'"},
    {"aten::upsample_nearest1d.vec", "f32[1,1,2]{1.5 1.7} None None",
     "!Must specify exactly one of output_size and scale_factors"},
    {"aten::upsample_nearest1d", "f32[1,0,2]{} [4]",
     "!Non-empty 3D data tensor expected but got a tensor with sizes [1, 0, 2]"},
    {"aten::__interpolate", "f32[1,1,2]{-1.9 0.4} 5", "f32[1,1,5]{-1.9 -1.9 -1.9 0.4 0.4}"},
    {"aten::__interpolate",
     "f32[1,1,2,3]{-1.9 0.4 -0.3 -1.1 0.6 0.9} None 1.5 'bilinear' false false",
     "f32[1,1,3,4]{-1.9 -0.75 0.283333 -0.183333 -1.5 -0.5 0.466667 0.333333 -1.1 -0.25 0.65 "
     "0.85}"},
    {"aten::__interpolate",
     "f32[1,1,2,3]{-1.9 0.4 -0.3 -1.1 0.6 0.9} None 1.5 'bilinear' "
     "false",
     "f32[1,1,3,4]{-1.9 -0.4625 0.1375 -0.3 -1.5 -0.25 0.425 0.3 -1.1 -0.0375 0.7125 0.9}"},
    {"aten::__interpolate.size_list",
     "f32[1,1,4,4]{-1.9 0.4 -0.3 -1.1 0.6 0.9 0.7 1.4 -0.8 -1.9 1 -1.5 -0.3 1.3 -1 1.2} [2 "
     "2] None 'area'",
     "f32[1,1,2,2]{0 0.175 -0.425 -0.075}"},
    {"aten::__upsample", "f32[1,1,2,2]{-1.9 0.4 -0.3 -1.1} None 2 'bilinear' true",
     "f32[1,1,4,4]{-1.9 -1.13333 -0.366667 0.4 -1.36667 -0.944444 -0.522222 -0.1 -0.833333 "
     "-0.755556 -0.677778 -0.6 -0.3 -0.566667 -0.833333 -1.1}"},
    {"aten::__upsample_nearest", "f32[1,1,2]{-1.9 0.4} None 2", "f32[1,1,4]{-1.9 -1.9 0.4 0.4}"},
    {"aten::__upsample_bilinear", "f32[1,1,2,2]{-1.9 0.4 -0.3 -1.1} 3",
     "f32[1,1,3,3]{-1.9 -0.75 0.4 -1.1 -0.725 -0.35 -0.3 -0.7 -1.1}"},
    {"aten::__interpolate", "f32[1,1,2]{0.6 0.9} 5 None 'bilinear'",
     "!Got 3D input, but bilinear mode needs 4D input"},
    {"aten::__interpolate", "f32[1,1,2]{-1.9 0.4} 5 None 'nearest' true",
     "!align_corners option can only be set with the interpolating modes: linear | bilinear "
     "| bicubic | trilinear"},
    {"aten::__interpolate", "f32[2,3]{-1.9 0.4 -0.3 -1.1 0.6 0.9} 5",
     "!Input Error: Only 3D, 4D and 5D input Tensors supported (got 2D) for the modes: "
     "nearest | linear | bilinear | trilinear (got nearest) "},
    {"aten::grid_sampler",
     "f32[1,1,3,2]{-1.9 0.4 -0.3 -1.1 0.6 0.9} f32[1,1,3,2]{0.56 1.12 -0.64 -1.52 0.8 -1.2} "
     "0 0 true",
     "f32[1,1,1,3]{0.73392 -0.71328 0.136}"},
    {"aten::grid_sampler",
     "f32[1,1,3,2]{-1.9 0.4 -0.3 -1.1 0.6 0.9} f32[1,1,3,2]{0.56 1.12 -0.64 -1.52 0.8 -1.2} "
     "0 1 false",
     "f32[1,1,1,3]{0.9 -1.9 0.4}"},
    {"aten::grid_sampler",
     "f32[1,1,3,2]{-1.9 0.4 -0.3 -1.1 0.6 0.9} f32[1,1,3,2]{0.56 1.12 -0.64 -1.52 0.8 -1.2} "
     "0 2 false",
     "f32[1,1,1,3]{0.9 -1.452 0.4}"},
    {"aten::grid_sampler",
     "f32[1,1,3,2]{-1.9 0.4 -0.3 -1.1 0.6 0.9} f32[1,1,3,2]{0.56 1.12 -0.64 -1.52 0.8 -1.2} "
     "1 0 false",
     "f32[1,1,1,3]{0 0 0}"},
    {"aten::grid_sampler",
     "f32[1,1,3,2]{-1.9 0.4 -0.3 -1.1 0.6 0.9} f32[1,1,3,2]{0.56 1.12 -0.64 -1.52 0.8 -1.2} "
     "1 1 true",
     "f32[1,1,1,3]{0.9 -1.9 0.4}"},
    {"aten::grid_sampler",
     "f32[1,1,3,2]{-1.9 0.4 -0.3 -1.1 0.6 0.9} f32[1,1,3,2]{0.56 1.12 -0.64 -1.52 0.8 -1.2} "
     "1 2 false",
     "f32[1,1,1,3]{0.9 -1.9 0.4}"},
    {"aten::grid_sampler",
     "f32[1,1,3,2]{-1.9 0.4 -0.3 -1.1 0.6 0.9} f32[1,1,3,2]{0.56 1.12 -0.64 -1.52 0.8 -1.2} "
     "2 0 false",
     "f32[1,1,1,3]{0.362852 0.201811 0.129546}"},
    {"aten::grid_sampler",
     "f32[1,1,3,2]{-1 -1.6 0.4 -1.2 2 0.3} f32[1,1,3,2]{0.96 -0.08 0.64 -0.4 0.64 -0.96} 2 1 "
     "false",
     "f32[1,1,1,3]{-1.49473 -1.62897 -1.67995}"},
    {"aten::grid_sampler",
     "f32[1,1,3,2]{-1.9 0.4 -0.3 -1.1 0.6 0.9} f32[1,1,3,2]{0.56 1.12 -0.64 -1.52 0.8 -1.2} "
     "2 2 true",
     "f32[1,1,1,3]{0.795865 -1.22253 0.175283}"},
    {"aten::grid_sampler",
     "f32[1,2,2,2,2]^{-1.9 0.4 -0.3 -1.1 0.6 0.9 0.7 1.4 -0.8 -1.9 1 -1.5 -0.3 1.3 -1 1.2} "
     "f32[1,1,1,2,3]{0.1 0.1 0.6 0.4 0.9 0.3} 0 1 true",
     "f32[1,2,1,1,2]{0.61425 0.470125 0.1335 0.08325}"},
    {"aten::grid_sampler_3d",
     "f32[1,1,2,2,2]{-1.9 0.4 -0.3 -1.1 0.6 0.9 0.7 1.4} f32[1,1,1,2,3]{-0.8 -1.9 1 -1.5 "
     "-0.3 1.3} 1 2 false",
     "f32[1,1,1,1,2]{0.6 0.6}"},
    {"aten::affine_grid_generator", "f32[1,2,3]{-1.9 0.4 -0.3 -1.1 0.6 0.9} [1 1 2 2] false",
     "f32[1,2,2,2]{0.45 1.15 -1.45 0.05 0.85 1.75 -1.05 0.65}"},
    {"aten::affine_grid_generator",
     "f32[1,3,4]{-1.9 0.4 -0.3 -1.1 0.6 0.9 0.7 1.4 -0.8 -1.9 1 -1.5} [1 1 1 2 2] true",
     "f32[1,1,2,2,3]{0.4 -0.1 1.2 -3.4 1.1 -0.4 1.2 1.7 -2.6 -2.6 2.9 -4.2}"},
    {"aten::grid_sampler", "f32[1,1,2,2]{-0.3 1.3 -1 1.2} f32[1,1,1,3]{1.5 1.7 0.3} 0 0 false",
     "!grid_sampler(): expected grid to have size 2 in last dimension, but got grid with "
     "sizes [1, 1, 1, 3]"},
    {"aten::grid_sampler",
     "f32[1,1,2,2]{-1.9 -0.7 0.1 -1.5} f32[2,1,1,2]{0.2 0.6 1.3 1.7} 0 0 false",
     "!grid_sampler(): expected grid and input to have same batch size, but got input with "
     "sizes [1, 1, 2, 2] and grid with sizes [2, 1, 1, 2]"},
    {"aten::grid_sampler", "f32[1,1,2,2]{-1.3 0.6 -1.6 0.6} f64[1,1,1,2]{-0.7 -0.1} 0 0 false",
     "!expected scalar type Float but found Double"},
    {"aten::affine_grid_generator", "f32[1,2,3]{0.8 -0.6 -1 -0.2 1.2 -1.2} [1 1 2] false",
     "!AffineGridGenerator needs 4d (spatial) or 5d (volumetric) inputs."},
};

static const opcase padding[] = {
    {"aten::constant_pad_nd", "f32[2,2]{-1.9 0.4 -0.3 -1.1} [1 0 -1 1] 0.5",
     "f32[2,3]{0.5 -0.3 -1.1 0.5 0.5 0.5}"},
    {"aten::constant_pad_nd", "i64[2]{1 2} [1 1] 7", "i64[4]{7 1 2 7}"},
    {"aten::constant_pad_nd", "b[2]{1 0} [0 2] 1", "b[4]{1 0 1 1}"},
    {"aten::pad", "f32[1,3,2]^{-1.9 0.4 -0.3 -1.1 0.6 0.9} [1 1 2 0] 'reflect'",
     "f32[1,5,4]{0.9 0.6 0.9 0.6 -1.1 -0.3 -1.1 -0.3 0.4 -1.9 0.4 -1.9 -1.1 -0.3 -1.1 -0.3 "
     "0.9 0.6 0.9 0.6}"},
    {"aten::pad", "f32[1,3]{-1.9 0.4 -0.3} [2 1] 'replicate'",
     "f32[1,6]{-1.9 -1.9 -1.9 0.4 -0.3 -0.3}"},
    {"aten::pad", "f32[1,1,4]{-1.9 0.4 -0.3 -1.1} [2 1] 'circular'",
     "f32[1,1,7]{-0.3 -1.1 -1.9 0.4 -0.3 -1.1 -1.9}"},
    {"aten::pad", "f32[2]{-1.9 0.4} [1 2] 'constant'", "f32[5]{0 -1.9 0.4 0 0}"},
    {"aten::reflection_pad3d",
     "f32[1,2,2,2]{-1.9 0.4 -0.3 -1.1 0.6 0.9 0.7 1.4} [1 0 0 1 1 "
     "0]",
     "f32[1,3,3,3]{0.9 0.6 0.9 1.4 0.7 1.4 0.9 0.6 0.9 0.4 -1.9 0.4 -1.1 -0.3 -1.1 0.4 -1.9 "
     "0.4 0.9 0.6 0.9 1.4 0.7 1.4 0.9 0.6 0.9}"},
    {"aten::replication_pad2d", "f32[1,2,2]{-1.9 0.4 -0.3 -1.1} [1 -1 0 1]",
     "f32[1,3,2]{-1.9 -1.9 -0.3 -0.3 -0.3 -0.3}"},
    {"aten::replication_pad3d", "f32[1,1,2,1]{-1.9 0.4} [1 0 1 1 0 1]",
     "f32[1,2,4,2]{-1.9 -1.9 -1.9 -1.9 0.4 0.4 0.4 0.4 -1.9 -1.9 -1.9 -1.9 0.4 0.4 0.4 0.4}"},
    {"aten::_pad_circular", "f32[1,1,2,2]{-1.9 0.4 -0.3 -1.1} [1 0 0 1]",
     "f32[1,1,3,3]{0.4 -1.9 0.4 -1.1 -0.3 -1.1 0.4 -1.9 0.4}"},
    {"aten::_pad_enum", "f32[1,1,3]{-1.9 0.4 -0.3} [1 1] 2", "f32[1,1,5]{-0.3 -1.9 0.4 -0.3 -1.9}"},
    {"aten::pad", "f32[2,2]{-1.1 0.6 0.9 0.7} [1] 'constant'",
     "!Padding length must be divisible by 2"},
    {"aten::pad", "f32[2,2]{1.4 -0.8 -1.9 1} [1 1] 'mirror'", "!Unrecognised padding mode mirror"},
    {"aten::pad", "f32[2,2]{-1.5 -0.3 1.3 -1} [1 1] 'reflect' 1.0",
     "!Padding mode \"reflect\" doesn't take in value argument"},
    {"aten::pad", "f32[1,1,2]{1.2 1.5} [3 0] 'circular'",
     "!Padding value causes wrapping around more than once."},
    {"aten::reflection_pad1d", "f32[1,2]{1.7 0.3} [2 0]",
     "!Argument #4: Padding size should be less than the corresponding input dimension, but "
     "got: padding (2, 0) at dimension 1 of input [1, 2]"},
    {"aten::reflection_pad2d", "f32[1,2,2]{-1.9 -0.7 0.1 -1.5} [0 0 2 0]",
     "!Argument #6: Padding size should be less than the corresponding input dimension, but "
     "got: padding (2, 0) at dimension 1 of input 3"},
    {"aten::replication_pad1d", "f32[1,2]{0.2 0.6} [-3 0]",
     "!input (W: 2) is too small. Calculated output W: -1"},
    {"aten::constant_pad_nd", "f32[2]{1.3 1.7} [1]",
     "!Length of pad must be even but instead it equals 1"},
    {"aten::constant_pad_nd", "f32[2]{-1.3 0.6} [1 1 1 1]",
     "!Length of pad should be no more than twice the number of dimensions of the input. Pad "
     "length is 4while the input has 1dimensions."},
    {"aten::constant_pad_nd", "f32[2]{-1.6 0.6} [-1 -2]",
     "!start (0) + length (-1) exceeds dimension size (1)."},
    {"aten::im2col",
     "f32[1,3,3]{-1.9 0.4 -0.3 -1.1 0.6 0.9 0.7 1.4 -0.8} [2 2] [1 1] [0 0] "
     "[1 1]",
     "f32[4,4]{-1.9 0.4 -1.1 0.6 0.4 -0.3 0.6 0.9 -1.1 0.6 0.7 1.4 0.6 0.9 1.4 -0.8}"},
    {"aten::im2col", "f32[1,1,3,2]^{-1.9 0.4 -0.3 -1.1 0.6 0.9} [2 1] [1 1] [1 0] [2 1]",
     "f32[1,2,4]{0 0 -0.3 -1.1 -1.9 0.4 0.6 0.9}"},
    {"aten::col2im",
     "f32[4,4]{-1.9 0.4 -0.3 -1.1 0.6 0.9 0.7 1.4 -0.8 -1.9 1 -1.5 -0.3 1.3 -1 1.2} [3 3] [2 "
     "2] [1 1] [0 0] [1 1]",
     "f32[1,3,3]{-1.9 1 0.9 -1.1 -2.6 2.7 1 -2.5 1.2}"},
    {"aten::col2im",
     "f32[1,2,4]{-1.9 0.4 -0.3 -1.1 0.6 0.9 0.7 1.4} [3 3] [2 1] [2 1] [1 0] "
     "[2 2]",
     "f32[1,1,3,3]{0 0 0 0.3 0 -0.2 0 0 0}"},
    {"aten::pixel_shuffle", "f32[4,1,2]{-1.9 0.4 -0.3 -1.1 0.6 0.9 0.7 1.4} 2",
     "f32[1,2,4]{-1.9 -0.3 0.4 -1.1 0.6 0.7 0.9 1.4}"},
    {"aten::pixel_unshuffle", "f32[1,2,4]^{-1.9 0.4 -0.3 -1.1 0.6 0.9 0.7 1.4} 2",
     "f32[4,1,2]{-1.9 -0.3 0.4 -1.1 0.6 0.7 0.9 1.4}"},
    {"aten::channel_shuffle", "f32[1,4,2]{-1.9 0.4 -0.3 -1.1 0.6 0.9 0.7 1.4} 2",
     "f32[1,4,2]{-1.9 0.4 0.6 0.9 -0.3 -1.1 0.7 1.4}"},
    {"aten::native_channel_shuffle", "f32[1,4,1,1]{-1.9 0.4 -0.3 -1.1} 2",
     "f32[1,4,1,1]{-1.9 -0.3 0.4 -1.1}"},
    {"aten::im2col",
     "f32[1,1,3,3]{0.6 0.9 0.7 1.4 -0.8 -1.9 1 -1.5 -0.3} [4 2] [1 1] [0 0] "
     "[1 1]",
     "!Given input with spatial size (3, 3), kernel_size=(4, 2), dilation=(1, 1), "
     "padding=(0, 0), calculated shape of the array of sliding blocks as (0, 2), but its "
     "components must be at least one."},
    {"aten::im2col",
     "f32[1,3,3]{1.3 -1 1.2 1.5 1.7 0.3 -1.9 -0.7 0.1} [2 2] [0 1] [0 0] [1 "
     "1]",
     "!dilation should be greater than zero, but got dilation_height: 0 dilation_width: 1"},
    {"aten::col2im",
     "f32[4,5]{-1.5 0.2 0.6 1.3 1.7 -1.3 0.6 -1.6 0.6 -0.7 -0.1 0.8 -0.6 -1 -0.2 1.2 -1.2 "
     "1.8 -2 -0.9} [3 3] [2 2] [1 1] [0 0] [1 1]",
     "!Given output_size=(3, 3), kernel_size=(2, 2), dilation=(1, 1), padding=(0, 0), "
     "stride=(1, 1), expected size of input's dimension 2 to match the calculated number of "
     "sliding blocks 2 * 2 = 4, but got input.size(2)=5."},
    {"aten::pixel_shuffle", "f32[3,1,2]{-1.9 -1.7 -1.8 0.3 1.6 -1.4} 2",
     "!pixel_shuffle expects its input's 'channel' dimension to be divisible by the square "
     "of upscale_factor, but input.size(-3)=3 is not divisible by 4"},
    {"aten::pixel_unshuffle",
     "f32[1,3,4]{1 0.2 -1.8 1.2 -0.3 0.8 1.6 1.4 -1.5 -1.7 -2 -0.7} "
     "2",
     "!pixel_unshuffle expects height to be divisible by downscale_factor, but "
     "input.size(-2)=3 is not divisible by 2"},
    {"aten::channel_shuffle", "f32[1,3,2]{-0.3 0.6 -1.9 1 -1 0.3} 2",
     "!Number of channels must be divisible by groups. Got 3 channels and 2 groups."},
};

/* ---- what rows cannot say ---------------------------------------------------------------------
 */

/* Half is computed in float: PyTorch has no half here. */
static const opcase half[] = {
    {"aten::max_pool2d", "f16[1,2,2]{1 2 3 4} [2]", "f16[1,1,1]{4}"},
    {"aten::upsample_bilinear2d", "f16[1,1,1,2]{1 2} [1 4] false", "f16[1,1,1,4]{1 1.25 1.75 2}"},
};

static void test_half(void **state) {
    (void)state;
    opcase_run(half, sizeof half / sizeof *half);
}

/* Scale factors: a list of floats, cut to sizes. */
static void test_scale_factors(void **state) {
    (void)state;
    const char *at = "f32[1,1,3]{1 2 4}";
    value x = opcase_value(&at), result = value_none();
    list *factors = list_new(LIST_FLOAT, TYPE_FLOAT, 1);
    assert_non_null(factors);
    list_append_take(factors, value_float(1.5));
    value args[] = {x, value_none(), value_list_take(factors)};
    op_ctx cx = {0};
    assert_int_equal(op_call(&cx, "aten::upsample_nearest1d.vec", 3, args, &result), CTSC_OK);
    strbuf text = STRBUF_INIT;
    opcase_print(result, &text);
    value_unref(result);
    value linear[] = {x, value_none(), value_bool(false), args[2]};
    result = value_none();
    assert_int_equal(op_call(&cx, "aten::upsample_linear1d.vec", 4, linear, &result), CTSC_OK);
    opcase_print(result, &text);
    assert_string_equal(sb_str(&text), "f32[1,1,4]{1 1 2 4}f32[1,1,4]{1 1.5 2.33333 3.66667}");
    sb_free(&text);
    value_unref(result);
    value_unref(x);
    value_unref(args[2]);
}

/* A scale that is no ratio of the sizes counts, unless two dims stay or double, however the memory
 * is laid out; positions are float's: as PyTorch 2 computes it. */
static void test_scale_beside_sizes(void **state) {
    (void)state;
    static const struct {
        const char *op, *image, *want;
        int n;
    } rows[] = {
        {"aten::upsample_nearest2d.vec", "f32[1,1,1,3]{1 2 4}", "f32[1,1,1,6]{1 1 2 2 4 4}", 2},
        {"aten::upsample_nearest2d.vec", "f32[1,2,1,3]{1 2 4 8 16 32}",
         "f32[1,2,1,6]{1 1 2 2 4 4 8 8 16 16 32 32}", 2},
        {"aten::upsample_nearest2d.vec", "bf16[1,2,1,3]{1 2 4 8 16 32}",
         "bf16[1,2,1,6]{1 1 2 2 4 4 8 8 16 16 32 32}", 2},
        {"aten::_upsample_nearest_exact2d.vec", "f32[1,1,1,3]{1 2 4}", "f32[1,1,1,6]{1 1 2 2 2 4}",
         2},
        {"aten::upsample_nearest1d.vec", "f32[1,1,3]{1 2 4}", "f32[1,1,6]{1 1 1 2 2 4}", 1},
        {"aten::upsample_nearest3d.vec", "f32[1,1,1,1,3]{1 2 4}", "f32[1,1,1,1,6]{1 1 1 2 2 4}", 3},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        list *factors = list_new(LIST_FLOAT, TYPE_FLOAT, 3);
        assert_non_null(factors);
        for (int d = 1; d < rows[i].n; d++) list_append_take(factors, value_float(1));
        list_append_take(factors, value_float(2.3));
        const char *at = rows[i].image;
        value args[] = {opcase_value(&at), value_none(), value_list_take(factors)},
              result = value_none();
        op_ctx cx = {0};
        strbuf text = STRBUF_INIT;
        assert_int_equal(op_call(&cx, rows[i].op, 3, args, &result), CTSC_OK);
        opcase_print(result, &text);
        assert_string_equal(sb_str(&text), rows[i].want);
        sb_free(&text);
        value_unref(result);
        value_unref(args[0]);
        value_unref(args[2]);
    }
}

/* The result does not depend on the number of threads. */
static void test_threads(void **state) {
    (void)state;
    const int64_t sizes[] = {2, 3, 100, 90};
    tensor *t;
    assert_int_equal(tensor_new(NULL, DT_FLOAT32, 4, sizes, &t), CTSC_OK);
    for (int64_t i = 0; i < t->numel; i++)
        TENSOR_AT(t, float)[i] = (float)(i * 2654435761u % 1000) / 7.0f - 50.0f;
    const char *at = "[3] [2] [1]", *up = "[157 133] false", *all = "1";
    value pool[] = {value_tensor_take(t), opcase_value(&at), opcase_value(&at), opcase_value(&at)};
    value resize[] = {pool[0], opcase_value(&up), opcase_value(&up)};
    value soft[] = {pool[0], opcase_value(&all)};
    const struct {
        const char *op;
        int n;
        const value *args;
    } runs[] = {
        {"aten::max_pool2d", 4, pool},
        {"aten::avg_pool2d", 4, pool},
        {"aten::upsample_bilinear2d", 3, resize},
        {"aten::softmax.int", 2, soft},
    };
    for (size_t k = 0; k < sizeof runs / sizeof *runs; k++) {
        value results[2] = {value_none(), value_none()};
        op_ctx cx = {0};
        for (int i = 0; i < 2; i++) {
            pool_set_threads(i ? 4 : 1);
            assert_int_equal(op_call(&cx, runs[k].op, runs[k].n, runs[k].args, &results[i]),
                             CTSC_OK);
        }
        tensor *a = results[0].u.tensor, *b = results[1].u.tensor;
        assert_memory_equal(tensor_data(a), tensor_data(b), (size_t)a->numel * sizeof(float));
        value_unref(results[0]);
        value_unref(results[1]);
    }
    pool_set_threads(0);
    for (int i = 0; i < 4; i++) value_unref(pool[i]);
    value_unref(resize[1]);
}

static void test_pooling(void **state) {
    (void)state;
    opcase_run(pooling, sizeof pooling / sizeof *pooling);
}

static void test_resampling(void **state) {
    (void)state;
    opcase_run(resampling, sizeof resampling / sizeof *resampling);
}

static void test_padding(void **state) {
    (void)state;
    opcase_run(padding, sizeof padding / sizeof *padding);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pooling),       cmocka_unit_test(test_resampling),
        cmocka_unit_test(test_padding),       cmocka_unit_test(test_half),
        cmocka_unit_test(test_scale_factors), cmocka_unit_test(test_scale_beside_sizes),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
