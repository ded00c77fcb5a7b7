/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blas_abi.h - what ctsc uses of cuBLASLt's interface, as its documentation gives it: names,
 * numbers, signatures.
 * tests/unit/test_cuda_blas.c compares them with cublasLt.h where that is installed. Used by blas.c
 * and by the simulated cuBLASLt (tests/cuda/sim/blas.c).
 */
#ifndef CTSC_RUNTIME_CUDA_BLAS_ABI_H
#define CTSC_RUNTIME_CUDA_BLAS_ABI_H

#include <stddef.h>
#include <stdint.h>

enum {
    BLAS_R_32F = 0,
    BLAS_R_64F = 1,
    BLAS_R_16F = 2,
    BLAS_R_16BF = 14, /* cudaDataType */
    BLAS_COMPUTE_32F = 68,
    BLAS_COMPUTE_64F = 70,
    BLAS_DESC_TRANSA = 3,
    BLAS_DESC_TRANSB = 4,
    BLAS_DESC_EPILOGUE = 7,
    BLAS_DESC_BIAS_POINTER = 8,
    BLAS_EPILOGUE_DEFAULT = 1,
    BLAS_EPILOGUE_RELU = 2,
    BLAS_EPILOGUE_BIAS = 4,
    BLAS_EPILOGUE_RELU_BIAS = 6,
    BLAS_EPILOGUE_GELU = 32,
    BLAS_EPILOGUE_GELU_BIAS = 36,
    BLAS_LAYOUT_BATCH_COUNT = 5,
    BLAS_LAYOUT_BATCH_STRIDE = 6,
    BLAS_PREFER_WORKSPACE = 1,
    BLAS_PREFER_ALIGNMENT_A = 5, /* of B, C and D: the next three */
};

typedef struct blas_algorithm { uint64_t data[8]; } blas_algorithm;
typedef struct blas_answer {
    blas_algorithm algorithm;
    size_t workspace;
    int state;
    float waves;
    int reserved[4];
} blas_answer;

typedef void *blas_object; /* a handle, a descriptor, a layout, a preference */

#define BLAS_FUNCTIONS(X)                                                                          \
    X(Create, (blas_object * handle))                                                              \
    X(MatmulDescCreate, (blas_object * desc, int compute, int scale))                              \
    X(MatmulDescSetAttribute, (blas_object desc, int attribute, const void *value, size_t bytes))  \
    X(MatmulDescDestroy, (blas_object desc))                                                       \
    X(MatrixLayoutCreate,                                                                          \
      (blas_object * layout, int type, uint64_t rows, uint64_t cols, int64_t ld))                  \
    X(MatrixLayoutSetAttribute,                                                                    \
      (blas_object layout, int attribute, const void *value, size_t bytes))                        \
    X(MatrixLayoutDestroy, (blas_object layout))                                                   \
    X(MatmulPreferenceCreate, (blas_object * preference))                                          \
    X(MatmulPreferenceSetAttribute,                                                                \
      (blas_object preference, int attribute, const void *value, size_t bytes))                    \
    X(MatmulPreferenceDestroy, (blas_object preference))                                           \
    X(MatmulAlgoGetHeuristic,                                                                      \
      (blas_object handle, blas_object desc, blas_object a, blas_object b, blas_object c,          \
       blas_object out, blas_object preference, int most, blas_answer *answers, int *found))       \
    X(Matmul, (blas_object handle, blas_object desc, const void *alpha, const void *a,             \
               blas_object la, const void *b, blas_object lb, const void *beta, const void *c,     \
               blas_object lc, void *out, blas_object lout, const blas_algorithm *algorithm,       \
               void *workspace, size_t bytes, void *stream))

#endif
