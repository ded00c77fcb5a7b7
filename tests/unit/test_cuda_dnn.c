/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_cuda_dnn.c - convolutions by cuDNN (src/runtime/cuda/dnn.c) on a simulated one
 * (tests/cuda/sim/dnn.c), which checks how it is called. What dnn_abi.h says of its interface is
 * compared with NVIDIA's header where the compiler finds that.
 */
#include "cuda_libraries.h"

#include "runtime/cuda/dnn_abi.h"

#if defined(__has_include)
#if __has_include(<cudnn.h>)
#include <cudnn.h>
#if CUDNN_MAJOR >= 9
#define HAVE_HEADER 1
#endif
#endif
#endif

/* ---- the header ------------------------------------------------------------------------------ */

#ifdef HAVE_HEADER
#define SAME(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #theirs);
#define SAME_DESCRIPTOR(name, number, theirs) SAME(number, CUDNN_BACKEND_##theirs)
#define SAME_TYPE(name, number) SAME(number, CUDNN_TYPE_##name)
#define SAME_ATTRIBUTE(name, number) SAME(number, CUDNN_ATTR_##name)
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
DNN_DESCRIPTORS(SAME_DESCRIPTOR)
DNN_TYPES(SAME_TYPE)
DNN_ATTRIBUTES(SAME_ATTRIBUTE)
SAME(DNN_SUCCESS, CUDNN_STATUS_SUCCESS)
SAME(DNN_CROSS_CORRELATION, CUDNN_CROSS_CORRELATION)
SAME(DNN_ADD, CUDNN_POINTWISE_ADD)
SAME(DNN_RELU, CUDNN_POINTWISE_RELU_FWD)
SAME(DNN_GELU, CUDNN_POINTWISE_GELU_FWD)
SAME(DNN_GELU_TANH, CUDNN_POINTWISE_GELU_APPROX_TANH_FWD)
SAME(DNN_HEURISTICS_FALLBACK, CUDNN_HEUR_MODE_FALLBACK)
SAME(DNN_HEURISTICS_A, CUDNN_HEUR_MODE_A)
SAME(DNN_NOTE_TENSOR_CORE, CUDNN_NUMERICAL_NOTE_TENSOR_CORE)
SAME(DNN_NOTE_DOWN_CONVERT_INPUTS, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS)
SAME(DNN_NOTE_REDUCED_PRECISION_REDUCTION, CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION)
SAME(DNN_NOTE_NONDETERMINISTIC, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC)
SAME(DNN_FLOAT, CUDNN_DATA_FLOAT)
SAME(DNN_DOUBLE, CUDNN_DATA_DOUBLE)
SAME(DNN_HALF, CUDNN_DATA_HALF)
SAME(DNN_BFLOAT16, CUDNN_DATA_BFLOAT16)
SAME(sizeof(int), sizeof(cudnnDataType_t)) /* of attributes that are enumerations */

/* Compares the signatures, pointers of all kinds being alike. */
#ifndef __clang__
#pragma GCC diagnostic error "-Wcast-function-type"
#endif
#define SIGNATURE(name, args)                                                                      \
    static inline void header_##name(void) {                                                       \
        typedef int ours args;                                                                     \
        (void)sizeof((ours *)cudnn##name);                                                         \
    }
DNN_FUNCTIONS(SIGNATURE)
#endif

/* ---- rows ------------------------------------------------------------------------------------ */

static const dense_row rows[] = {
    {"aten::conv2d", "f32[2,3,9,8]? f32[5,3,3,3]? f32[5]? [1 1] [1 1] [1 1] 1"},
    {"aten::conv2d", "f32[2,3,9,8]? f32[5,3,3,3]? None [1 1] [1 1] [1 1] 1"},
    {"aten::conv2d", "f32[2,4,9,8]? f32[6,2,3,2]? None [2 1] [1 0] [1 2] 2"},
    {"aten::conv2d", "f32[2,4,6,5]? f32[7,4,1,1]? f32[7]? [1 1] [0 0] [1 1] 1"},
    {"aten::conv2d.padding", "f32[2,3,9,8]? f32[5,3,2,4]? f32[5]? [1 1] 'same' [1 1] 1"},
    {"aten::conv1d", "f32[2,3,11]? f32[4,3,3]? f32[4]? [2] [1] [1] 1"},
    {"aten::conv3d", "f32[1,2,4,5,6]? f32[3,2,2,3,2]? f32[3]? [1 2 1] [0 1 1] [1 1 2] 1"},
    {"ctsc::conv_epilogue", "f32[2,3,9,8]? f32[5,3,3,3]? f32[5]? [1 1] [1 1] [1 1] 1 None 'relu'"},
    {"ctsc::conv_epilogue", "f32[2,3,9,8]? f32[5,3,3,3]? None [1 1] [1 1] [1 1] 1 None 'relu'"},
    {"ctsc::conv_epilogue",
     "f32[2,3,9,8]? f32[5,3,3,3]? f32[5]? [1 1] [1 1] [1 1] 1 f32[2,5,9,8]? 'relu'"},
    {"ctsc::conv_epilogue",
     "f32[2,3,9,8]? f32[5,3,3,3]? None [1 1] [1 1] [1 1] 1 f32[2,5,9,8]? 'none'"},
    {"ctsc::conv_epilogue",
     "f32[2,3,9,8]? f32[5,3,3,3]? f32[5]? [1 1] [1 1] [1 1] 1 f32[2,5,9,8]? 'gelu'"},
};

/* ---- what is asked of it --------------------------------------------------------------------- */

static void child_asks(void) {
    library_takes("f32[2,3,9,8]? f32[5,3,3,3]? f32[5]? [1 1] [1 1] [1 1] 1 f32[2,5,9,8]? 'relu'", 1,
                  1, 0);
    /* known */
    library_takes("f32[2,3,9,8]? f32[5,3,3,3]? f32[5]? [1 1] [1 1] [1 1] 1 f32[2,5,9,8]? 'relu'", 1,
                  0, 0);
    /* refused: a kernel over the result */
    library_takes("f32[2,3,9,8]? f32[5,3,3,3]? f32[5]? [1 1] [1 1] [1 1] 1 None 'gelu'", 1, 1, 1);
    /* the same convolution */
    library_takes("f32[2,3,9,8]? f32[5,3,3,3]? f32[5]? [1 1] [1 1] [1 1] 1 None 'gelu_tanh'", 1, 0,
                  1);
    /* depthwise */
    library_takes("f32[2,4,9,8]? f32[4,1,3,3]? f32[4]? [1 1] [1 1] [1 1] 4 None 'relu'", 0, 0, 1);
}

static void asks_once(void **state) {
    (void)state;
    in_child(child_asks);
}

int main(void) {
    static const library_test dnn = {.variable = "CTSC_CUDNN",
                                     .rows = rows,
                                     .nrows = sizeof rows / sizeof *rows,
                                     .least = sizeof rows / sizeof *rows * 4,
                                     .work = "cudnnBackendExecute",
                                     .plans = "cudnn plans",
                                     .questions = "cudnn questions",
                                     .op = "ctsc::conv_epilogue"};
    const struct CMUnitTest tests[] = {LIBRARY_TESTS, cmocka_unit_test(asks_once)};
    library_use(&dnn);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
