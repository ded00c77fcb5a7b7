/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_cuda_blas.c - products by cuBLASLt (src/runtime/cuda/blas.c) on a simulated one
 * (tests/cuda/sim/blas.c), which checks how it is called. What blas_abi.h says of its interface is
 * compared with NVIDIA's header where the compiler finds that.
 */
#include "cuda_libraries.h"

#include "ctsc.h"
#include "runtime/cuda/blas_abi.h"

#if defined(__has_include)
#if __has_include(<cublasLt.h>)
#define HAVE_HEADER 1
#include <cublasLt.h>
#endif
#endif

/* ---- the header ------------------------------------------------------------------------------ */

#ifdef HAVE_HEADER
#define SAME(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #theirs)
SAME(BLAS_R_32F, CUDA_R_32F);
SAME(BLAS_R_64F, CUDA_R_64F);
SAME(BLAS_R_16F, CUDA_R_16F);
SAME(BLAS_R_16BF, CUDA_R_16BF);
SAME(BLAS_COMPUTE_32F, CUBLAS_COMPUTE_32F);
SAME(BLAS_COMPUTE_64F, CUBLAS_COMPUTE_64F);
SAME(BLAS_DESC_TRANSA, CUBLASLT_MATMUL_DESC_TRANSA);
SAME(BLAS_DESC_TRANSB, CUBLASLT_MATMUL_DESC_TRANSB);
SAME(BLAS_DESC_EPILOGUE, CUBLASLT_MATMUL_DESC_EPILOGUE);
SAME(BLAS_DESC_BIAS_POINTER, CUBLASLT_MATMUL_DESC_BIAS_POINTER);
SAME(BLAS_EPILOGUE_DEFAULT, CUBLASLT_EPILOGUE_DEFAULT);
SAME(BLAS_EPILOGUE_RELU, CUBLASLT_EPILOGUE_RELU);
SAME(BLAS_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_BIAS);
SAME(BLAS_EPILOGUE_RELU_BIAS, CUBLASLT_EPILOGUE_RELU_BIAS);
SAME(BLAS_EPILOGUE_GELU, CUBLASLT_EPILOGUE_GELU);
SAME(BLAS_EPILOGUE_GELU_BIAS, CUBLASLT_EPILOGUE_GELU_BIAS);
SAME(BLAS_LAYOUT_BATCH_COUNT, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
SAME(BLAS_LAYOUT_BATCH_STRIDE, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
SAME(BLAS_PREFER_WORKSPACE, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
SAME(BLAS_PREFER_ALIGNMENT_A, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
SAME(BLAS_PREFER_ALIGNMENT_A + 3, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
SAME(CUBLAS_OP_N, 0); /* of TRANSA and TRANSB */
SAME(CUBLAS_OP_T, 1);
SAME(sizeof(blas_algorithm), sizeof(cublasLtMatmulAlgo_t));
SAME(sizeof(blas_answer), sizeof(cublasLtMatmulHeuristicResult_t));
SAME(offsetof(blas_answer, workspace), offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
SAME(offsetof(blas_answer, state), offsetof(cublasLtMatmulHeuristicResult_t, state));

/* Compares the signatures, pointers of all kinds being alike: -Wcast-function-type. */
#ifndef __clang__
#pragma GCC diagnostic error "-Wcast-function-type"
#endif
#define SIGNATURE(name, args)                                                                      \
    static inline void header_##name(void) {                                                       \
        typedef int ours args;                                                                     \
        (void)sizeof((ours *)cublasLt##name);                                                      \
    }
BLAS_FUNCTIONS(SIGNATURE)
#endif

/* ---- rows ------------------------------------------------------------------------------------ */

static const dense_row rows[] = {
    {"aten::mm", "f32[3,4]? f32[4,5]?"},
    {"aten::mm", "f32[13,7]^? f32[7,6]^?"},
    {"aten::mm", "f32[1,7]? f32[7,6]^?"},
    {"aten::mm", "f32[13,1]? f32[1,6]?"},
    {"aten::mm", "f32[4,3]<1,8>{1 2 3 4 5 6 7 8 9 1 2 3 4 5 6 7 8 9 1 2} f32[3,2]?"},
    {"aten::mm", "f32[3,0]? f32[0,4]?"},
    {"aten::bmm", "f32[3,4,5]? f32[3,5,6]?"},
    {"aten::matmul", "f32[2,3,4,5]? f32[3,5,6]?"},
    {"aten::matmul", "f32[2,1,4,5]? f32[3,5,2]?"},
    {"aten::matmul", "f32[2,3,4,5]? f32[5,6]?"},
    {"aten::mv", "f32[4,5]? f32[5]?"},
    {"aten::addmm", "f32[4]? f32[3,5]? f32[5,4]? 0.5 2.0"},
    {"aten::baddbmm", "f32[2,3,4]? f32[2,3,5]? f32[2,5,4]? 0.5 2.0"},
    {"aten::linear", "f32[2,3,8]? f32[5,8]? f32[5]?"},
    {"ctsc::linear_epilogue", "f32[2,3,8]? f32[5,8]? f32[5]? None 'relu'"},
    {"ctsc::linear_epilogue", "f32[2,3,8]? f32[5,8]? None None 'relu'"},
    {"ctsc::linear_epilogue", "f32[2,3,8]? f32[5,8]? f32[5]? f32[2,3,5]? 'gelu_tanh'"},
    {"ctsc::linear_epilogue", "f32[2,3,8]? f32[5,8]? None None 'gelu_tanh'"},
    {"ctsc::linear_epilogue", "f32[2,3,8]? f32[5,8]? f32[5]? f32[2,3,5]? 'gelu'"},
    {"ctsc::linear_epilogue", "f32[3,8]? f32[5,8]? f32[3,5]? f32[3,5]? 'relu'"},
    {"aten::conv2d", "f32[2,4,6,5]? f32[6,2,1,1]? f32[6]? [1 1] [0 0] [1 1] 2"},
    {"ctsc::conv_epilogue",
     "f32[2,4,6,5]? f32[7,4,1,1]? f32[7]? [1 1] [0 0] [1 1] 1 f32[2,7,6,5]? 'relu'"},
    {"aten::scaled_dot_product_attention", "f64[2,3,5,8]? f64[2,3,7,8]? f64[2,3,7,6]?"},
};

/* ---- what is asked of it --------------------------------------------------------------------- */

static void child_asks(void) {
    library_takes("f32[3,8]? f32[5,8]? f32[5]? None 'relu'", 1, 1, 0);
    library_takes("f32[3,8]? f32[5,8]? f32[5]? None 'relu'", 1, 0, 0); /* known */
    library_takes("f32[4,8]? f32[5,8]? f32[5]? None 'relu'", 1, 1, 0); /* another size */
    library_takes("f32[3,8]? f32[5,8]? f32[5]? f32[3,5]? 'gelu_tanh'", 1, 1, 0);
    /* by erf: a kernel over the product */
    library_takes("f32[3,8]? f32[5,8]? f32[5]? None 'gelu'", 1, 1, 1);
    library_takes("f32[3,8]? f32[5,8]? f32[5]? None 'gelu'", 1, 0, 1);
}

/* Elements 1 to 5 of a vector on the device: an answer for a bias that is aligned
 * better does not do. */
static void child_asks_for_alignment(void) {
    value args[5], there[5], result = value_none();
    diag d = {0};
    strbuf text = STRBUF_INIT;
    dense_expand("f32[3,8]? f32[5,8]? f32[6]? None 'relu'", "f32", &text);
    CHILD_CHECK(opcase_values(sb_str(&text), args) == 5);
    CHILD_CHECK(through_host_move(&d, 5, args, 1, there) == CTSC_OK);
    tensor *whole = there[2].u.tensor;
    for (int first = 0; first < 2; first++) {
        CHILD_CHECK(tensor_slice(&d, whole, 0, first, first + 5, 1, &there[2].u.tensor) == CTSC_OK);
        CHILD_CHECK(dense_call(op_find("ctsc::linear_epilogue"), NULL, 5, there, &result, &d) ==
                    CTSC_OK);
        CHILD_CHECK(library_count("cublasLtMatmulAlgoGetHeuristic") == first + 1);
        value_set(&result, value_none());
        tensor_unref(there[2].u.tensor);
    }
    tensor_unref(whole);
    for (int i = 0; i < 5; i++) value_unref(args[i]), value_unref(i == 2 ? value_none() : there[i]);
    sb_free(&text);
}

static void asks_once(void **state) {
    (void)state;
    in_child(child_asks);
    in_child(child_asks_for_alignment);
}

/* ---- programs -------------------------------------------------------------------------------- */

/* On a device, at the level that fuses, operators after the product are its epilogue. */
static void child_program(void) {
    static const char text[] = "import torch\n\n@torch.jit.script\ndef forward(x: torch.Tensor):\n"
                               "    return torch.relu(torch.nn.functional.linear(x, x) + x)\n";
    const int64_t sizes[2] = {4, 4};
    ctsc_error *e = ctsc_error_new();
    ctsc_module *m;
    ctsc_value *x, *there, *out[2];
    CHILD_CHECK(ctsc_module_compile_text("net.py", text, sizeof text - 1, NULL, &m, e) == CTSC_OK);
    CHILD_CHECK(ctsc_tensor_new(CTSC_FLOAT32, 2, sizes, &x, e) == CTSC_OK);
    for (int i = 0; i < 16; i++) ((float *)ctsc_tensor_data(x))[i] = (float)(i % 5) - 2;
    CHILD_CHECK(ctsc_module_run(m, "forward", 1, &x, NULL, &out[0], e) == CTSC_OK);
    CHILD_CHECK(ctsc_module_set_opt(m, 2, e) == CTSC_OK &&
                ctsc_module_to(m, "cuda", e) == CTSC_OK &&
                ctsc_value_to(x, "cuda", &there, e) == CTSC_OK);
    int64_t before = library_launches();
    CHILD_CHECK(ctsc_module_run(m, "forward", 1, &there, NULL, &out[1], e) == CTSC_OK);
    CHILD_CHECK(library_count("cublasLtMatmul") == 1 && library_launches() == before);
    char *why = NULL;
    CHILD_CHECK(ctsc_value_close(out[1], out[0], 1e-6, 1e-6, &why));
    for (int i = 0; i < 2; i++) ctsc_value_free(out[i]);
    ctsc_value_free(x);
    ctsc_value_free(there);
    ctsc_module_free(m);
    ctsc_error_free(e);
}

static void programs_have_epilogues(void **state) {
    (void)state;
    in_child(child_program);
}

int main(void) {
    static const library_test blas = {.variable = "CTSC_CUBLASLT",
                                      .rows = rows,
                                      .nrows = sizeof rows / sizeof *rows,
                                      .least = sizeof rows / sizeof *rows + 1,
                                      .work = "cublasLtMatmul",
                                      .plans = "cublasLtMatmulAlgoGetHeuristic",
                                      .questions = "cublasLtMatmulAlgoGetHeuristic",
                                      .op = "ctsc::linear_epilogue"};
    const struct CMUnitTest tests[] = {LIBRARY_TESTS, cmocka_unit_test(asks_once),
                                       cmocka_unit_test(programs_have_epilogues)};
    library_use(&blas);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
