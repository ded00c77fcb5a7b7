/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dnn_abi.h - what ctsc uses of cuDNN's graph ("backend") interface, as its documentation gives it:
 * names, numbers, signatures. tests/unit/test_cuda_dnn.c compares them with <cudnn.h> where that is
 * installed. Used by dnn.c and by the simulated cuDNN (tests/cuda/sim/dnn.c).
 */
#ifndef CTSC_RUNTIME_CUDA_DNN_ABI_H
#define CTSC_RUNTIME_CUDA_DNN_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef void *dnn_object; /* a handle, or a descriptor */

enum {
    DNN_SUCCESS = 0,
    DNN_CROSS_CORRELATION = 1,
    DNN_ADD = 0,
    DNN_RELU = 100,
    DNN_GELU = 104,
    DNN_GELU_TANH = 107, /* pointwise modes */
    DNN_HEURISTICS_FALLBACK = 2,
    DNN_HEURISTICS_A = 3,
    DNN_NOTE_TENSOR_CORE = 0,
    DNN_NOTE_DOWN_CONVERT_INPUTS = 1,
    DNN_NOTE_REDUCED_PRECISION_REDUCTION = 2,
    DNN_NOTE_NONDETERMINISTIC = 4,
};

enum dnn_data { DNN_FLOAT = 0, DNN_DOUBLE = 1, DNN_HALF = 2, DNN_BFLOAT16 = 9 };

/* X(name, number, cuDNN's name without its prefix) */
#define DNN_DESCRIPTORS(X)                                                                         \
    X(POINTWISE, 0, POINTWISE_DESCRIPTOR)                                                          \
    X(CONVOLUTION, 1, CONVOLUTION_DESCRIPTOR)                                                      \
    X(ENGINE, 2, ENGINE_DESCRIPTOR)                                                                \
    X(CONFIG, 3, ENGINECFG_DESCRIPTOR)                                                             \
    X(HEURISTICS, 4, ENGINEHEUR_DESCRIPTOR)                                                        \
    X(PLAN, 5, EXECUTION_PLAN_DESCRIPTOR)                                                          \
    X(DO_CONVOLUTION, 10, OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR)                                \
    X(DO_POINTWISE, 13, OPERATION_POINTWISE_DESCRIPTOR)                                            \
    X(GRAPH, 15, OPERATIONGRAPH_DESCRIPTOR)                                                        \
    X(PACK, 16, VARIANT_PACK_DESCRIPTOR)                                                           \
    X(TENSOR, 17, TENSOR_DESCRIPTOR)

#define DNN_TYPES(X)                                                                               \
    X(HANDLE, 0)                                                                                   \
    X(DATA_TYPE, 1)                                                                                \
    X(BOOLEAN, 2)                                                                                  \
    X(INT64, 3)                                                                                    \
    X(FLOAT, 4)                                                                                    \
    X(DOUBLE, 5)                                                                                   \
    X(VOID_PTR, 6)                                                                                 \
    X(CONVOLUTION_MODE, 7)                                                                         \
    X(HEUR_MODE, 8)                                                                                \
    X(NUMERICAL_NOTE, 11)                                                                          \
    X(POINTWISE_MODE, 14)                                                                          \
    X(BACKEND_DESCRIPTOR, 15)

#define DNN_ATTRIBUTES(X)                                                                          \
    X(POINTWISE_MODE, 0)                                                                           \
    X(POINTWISE_MATH_PREC, 1)                                                                      \
    X(CONVOLUTION_COMP_TYPE, 100)                                                                  \
    X(CONVOLUTION_CONV_MODE, 101)                                                                  \
    X(CONVOLUTION_DILATIONS, 102)                                                                  \
    X(CONVOLUTION_FILTER_STRIDES, 103)                                                             \
    X(CONVOLUTION_POST_PADDINGS, 104)                                                              \
    X(CONVOLUTION_PRE_PADDINGS, 105)                                                               \
    X(CONVOLUTION_SPATIAL_DIMS, 106)                                                               \
    X(ENGINEHEUR_MODE, 200)                                                                        \
    X(ENGINEHEUR_OPERATION_GRAPH, 201)                                                             \
    X(ENGINEHEUR_RESULTS, 202)                                                                     \
    X(ENGINECFG_ENGINE, 300)                                                                       \
    X(EXECUTION_PLAN_HANDLE, 400)                                                                  \
    X(EXECUTION_PLAN_ENGINE_CONFIG, 401)                                                           \
    X(EXECUTION_PLAN_WORKSPACE_SIZE, 402)                                                          \
    X(OPERATION_CONVOLUTION_FORWARD_ALPHA, 700)                                                    \
    X(OPERATION_CONVOLUTION_FORWARD_BETA, 701)                                                     \
    X(OPERATION_CONVOLUTION_FORWARD_CONV_DESC, 702)                                                \
    X(OPERATION_CONVOLUTION_FORWARD_W, 703)                                                        \
    X(OPERATION_CONVOLUTION_FORWARD_X, 704)                                                        \
    X(OPERATION_CONVOLUTION_FORWARD_Y, 705)                                                        \
    X(OPERATION_POINTWISE_PW_DESCRIPTOR, 750)                                                      \
    X(OPERATION_POINTWISE_XDESC, 751)                                                              \
    X(OPERATION_POINTWISE_BDESC, 752)                                                              \
    X(OPERATION_POINTWISE_YDESC, 753)                                                              \
    X(OPERATIONGRAPH_HANDLE, 800)                                                                  \
    X(OPERATIONGRAPH_OPS, 801)                                                                     \
    X(TENSOR_BYTE_ALIGNMENT, 900)                                                                  \
    X(TENSOR_DATA_TYPE, 901)                                                                       \
    X(TENSOR_DIMENSIONS, 902)                                                                      \
    X(TENSOR_STRIDES, 903)                                                                         \
    X(TENSOR_UNIQUE_ID, 906)                                                                       \
    X(TENSOR_IS_VIRTUAL, 907)                                                                      \
    X(VARIANT_PACK_UNIQUE_IDS, 1000)                                                               \
    X(VARIANT_PACK_DATA_POINTERS, 1001)                                                            \
    X(VARIANT_PACK_WORKSPACE, 1003)                                                                \
    X(ENGINE_NUMERICAL_NOTE, 1303)

#define DNN_DESCRIPTOR_NUMBER(name, number, theirs) DNN_##name = number,
#define DNN_TYPE_NUMBER(name, number) DNN_TYPE_##name = number,
#define DNN_ATTRIBUTE_NUMBER(name, number) DNN_ATTR_##name = number,
enum dnn_descriptor { DNN_DESCRIPTORS(DNN_DESCRIPTOR_NUMBER) };
enum dnn_type { DNN_TYPES(DNN_TYPE_NUMBER) };
enum dnn_attribute { DNN_ATTRIBUTES(DNN_ATTRIBUTE_NUMBER) };

#define DNN_FUNCTIONS(X)                                                                           \
    X(Create, (dnn_object * handle))                                                               \
    X(SetStream, (dnn_object handle, void *stream))                                                \
    X(BackendCreateDescriptor, (int descriptor, dnn_object *out))                                  \
    X(BackendDestroyDescriptor, (dnn_object o))                                                    \
    X(BackendFinalize, (dnn_object o))                                                             \
    X(BackendSetAttribute,                                                                         \
      (dnn_object o, int attribute, int type, int64_t count, const void *elements))                \
    X(BackendGetAttribute,                                                                         \
      (dnn_object o, int attribute, int type, int64_t most, int64_t *count, void *elements))       \
    X(BackendExecute, (dnn_object handle, dnn_object plan, dnn_object pack))

#endif
