/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_ops.h - operators for tensors on a CUDA device: what their functions share.
 *
 * What the dispatcher (dispatch.c) guarantees when an ON_DEVICE function
 * (ir/op/op_traits.h) runs: every tensor argument is on one device (a 0-dim tensor of the
 * host was moved there); the overload is functional. In-place and out= overloads are not
 * ON_DEVICE: the functional overload's result is copied into their target. Nor are views,
 * composites, fusible operators (they become kernels by themselves, one_op.h), or other
 * names of the same overload. If one of them is ON_DEVICE all the same, that has priority.
 *
 * Elements are at addresses that the host cannot read: such a function looks at dtypes and geometry
 * only, launches kernels and waits for nothing. Allocations are reused in the order of the device's
 * work, so scratch memory may be freed as soon as the kernel that uses it is launched.
 *
 * Tensors: tensor_new_on and tensor_new_like make results; tensor_contiguous, tensor_to_dtype,
 * tensor_copy and the views work on devices. Arguments are read by kernels/engine/kernel.h; op_call
 * runs other operators.
 * Tests: tests/unit/test_cuda_tensor.c, tests/cuda
 */
#ifndef CTSC_RUNTIME_CUDA_CUDA_OPS_H
#define CTSC_RUNTIME_CUDA_CUDA_OPS_H

#include "base/text/embed.h"
#include "cuda/cuda.h"
#include "runtime/kernels/engine/device_kernels.h"
#include "runtime/kernels/engine/kernel.h"

/* A storage of memory of c, which is taken, also on failure. */
ctsc_status device_take(diag *d, cuda *c, void *data, size_t nbytes, storage **out);
/* Of a number as in storage.device and value_device; fails where there is none. */
ctsc_status cuda_of_device(diag *d, int device, cuda **out);

/* ---- kernels from files ---------------------------------------------------------------------- */

/*
 * kernels/NAME.cu, embedded in the library; with `defines` in front ("#define T float\n") each is
 * one program per set of definitions. "scalar_ops.h" and "nest_cuda.h" can be included
 * (codegen/cuda/cuda_emit.h).
 *
 *     CUDA_FILE(pool)                        in the .c file: declares cuda_file_pool, of kernels/NAME.cu
 *     extern "C" __global__ void max_pool(struct max_pool_params p) { ... }
 */
typedef struct cuda_file {
    const char *name;
    embedded *text, *const *before; /* before: texts in front of it, NULL-ended, or NULL */
    embedded *template_text;        /* one more, after them; or NULL */
} cuda_file;
#define CUDA_FILE(file) CUDA_FILE_MADE(file, NULL, NULL)
#define CUDA_FILE_AFTER(before, file) CUDA_FILE_MADE(file, before, NULL)
#define CUDA_FILE_MADE(file, before, template_text)                                                \
    EMBED(cuda_text_##file, "src/runtime/cuda/kernels/" #file ".cu")                               \
    static const cuda_file cuda_file_##file = {#file ".cu", &cuda_text_##file, before,             \
                                               template_text};

/* Compiled at the first request, then found by file, defines and symbol. */
ctsc_status cuda_file_kernel(diag *d, cuda *c, const cuda_file *file, const char *defines,
                             const char *symbol, size_t shared, const cuda_kernel **out);

/* Launches the kernel with as many threads as there are items, or as the device runs at once where
 * that is less: its threads go on in steps of the whole grid. Nothing is launched for 0 items.
 * params: the kernel's one parameter. */
ctsc_status cuda_each(op_ctx *cx, cuda *c, const cuda_file *file, const char *defines,
                      const char *symbol, int64_t items, const void *params, size_t nbytes);

#endif
