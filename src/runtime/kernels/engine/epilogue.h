/* SPDX-License-Identifier: Apache-2.0 */
/*
 * epilogue.h - further steps on the result of a product
 * or a convolution: adding a tensor, and an activation.
 *
 * The pass fuse-epilogues makes ctsc::linear_epilogue and ctsc::conv_epilogue from
 * a layer and the operators that follow it. There are two forms: `epilogue`, from
 * the operator's arguments, and `dense_epilogue` (dense_params.h), the same with
 * addresses, for kernels of the host and of devices. Kernels do all in one where
 * they can (epilogue_fits); otherwise the original operators of the program do it.
 *
 * On the host, it is applied to rows of sums while they are in
 * the L1 cache, by the micro-kernels of cpu/rows/activation.h.
 * Tests: tests/unit/test_cuda_dense.c, tests/unit/test_epilogue.c
 */
#ifndef CTSC_RUNTIME_KERNELS_ENGINE_EPILOGUE_H
#define CTSC_RUNTIME_KERNELS_ENGINE_EPILOGUE_H

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

/* What e, which fits (NULL: none), is to kernels, with a bias. */
dense_epilogue epilogue_of(const void *bias, const epilogue *e);
/* From the arguments `Tensor? other, str activation`: "none", "relu", "gelu", "gelu_tanh", "relu6",
 * "hardsigmoid", "hardswish", "sigmoid", "silu". */
ctsc_status epilogue_read(op_ctx *cx, const value *other, const value *activation, epilogue *out);
/* May the kernel that makes `result` do it? e: NULL for none. epilogue_fits: on devices,
 * epilogue_fits_host: on the host, floats, epilogue_fits_half: numbers of 16 bits. */
bool epilogue_fits(const epilogue *e, const tensor *result);
bool epilogue_fits_host(const epilogue *e, const tensor *result);
bool epilogue_fits_half(const epilogue *e, const tensor *result);
/* Does it unless the kernel has, and returns the result. Takes t. */
ctsc_status epilogue_finish(op_ctx *cx, const epilogue *e, tensor *t, value *results);

/* ---- on the host, floats --------------------------------------------------------------------- */

/* What is added to the result's element number `at` and those after it; NULL: nothing. */
static inline const float *epilogue_other(const dense_epilogue *e, int64_t at) {
    return e->other ? (const float *)e->other + at : NULL;
}
/* rows[i] = a(rows[i]) of n contiguous elements. */
void activation_apply(enum dense_activation a, float *rows, int64_t n);
/* The whole epilogue except the bias, for n contiguous
 * elements of the result, starting at element number `at`. */
void epilogue_rows(const dense_epilogue *e, float *rows, int64_t at, int64_t n);
/* The same for results of 16 bits, float16 or bfloat16, as `other` is: n sums, which are
 * overwritten, become out[0 .. n). Rounded wherever the operators that the program had round: in
 * front of `other` and of an activation, and at the end. */
void epilogue_halves(const dense_epilogue *e, dtype dt, float *rows, int64_t at, int64_t n,
                     void *out);
/* Those activations that are bounds: true, and a(x) = min(*high, max(*low, x)) with NaN kept; false
 * leaves both as they are. */
bool activation_bounds(enum dense_activation a, float *low, float *high);

#endif
