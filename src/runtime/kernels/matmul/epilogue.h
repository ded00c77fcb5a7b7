/* SPDX-License-Identifier: Apache-2.0 */
/*
 * epilogue.h - what a product or a convolution does to its result besides: adding a tensor,
 * and an activation.
 *
 * The pass fuse-epilogues makes ctsc::linear_epilogue and ctsc::conv_epilogue of the operators that
 * stood behind. The kernels of devices do all in one where they can (epilogue_fits); in all other
 * cases it is done by the operators that the program had.
 * Tests: tests/unit/test_cuda_dense.c
 */
#ifndef CTSC_RUNTIME_KERNELS_MATMUL_EPILOGUE_H
#define CTSC_RUNTIME_KERNELS_MATMUL_EPILOGUE_H

#include "runtime/kernels/engine/dense_params.h"
#include "runtime/kernels/engine/kernel.h"

/* activation(result + other) */
typedef struct epilogue {
    tensor *other; /* NULL: nothing is added; borrowed */
    enum dense_activation activation;
    /* other is added in place: it is refused where that would make the result larger */
    bool written;
    bool done; /* by the kernel */
} epilogue;

/* What e, which fits (NULL: none), is to kernels of devices, beside a bias. */
dense_epilogue epilogue_of_device(const void *bias, const epilogue *e);
/* From the arguments `Tensor? other, str activation`: "none", "relu", "gelu", "gelu_tanh", "relu6",
 * "hardsigmoid", "hardswish", "sigmoid", "silu". */
ctsc_status epilogue_read(op_ctx *cx, const value *other, const value *activation, epilogue *out);
/* May the kernel that makes `result` do it? e: NULL for none. epilogue_fits: on devices,
 * epilogue_fits_host: on the host, floats. */
bool epilogue_fits(const epilogue *e, const tensor *result);
bool epilogue_fits_host(const epilogue *e, const tensor *result);
/* Does it unless the kernel has, and returns the result. Takes t. */
ctsc_status epilogue_finish(op_ctx *cx, const epilogue *e, tensor *t, value *results);

#endif
