/* SPDX-License-Identifier: Apache-2.0 */
/*
 * create.h - what the operators that make tensors share: options, and filling.
 */
#ifndef CTSC_RUNTIME_KERNELS_ENGINE_CREATE_H
#define CTSC_RUNTIME_KERNELS_ENGINE_CREATE_H

#include "runtime/kernels/engine/kernel.h"

/* The dtype requested of a creation operator: that of `out` in an out= overload, the argument
 * `dtype`, or fallback. Refuses layouts other than strided. Where the operator makes its tensor on
 * the host only, the dispatcher of devices moves it (runtime/cuda/dispatch.c). */
ctsc_status create_options(op_ctx *cx, const value *args, dtype fallback, dtype *dt);
/* Where a new tensor goes: to `out`, to the argument `device`, or next to `like`
 * (which may be NULL). */
int create_device(op_ctx *cx, const value *args, const tensor *like);
/* The argument called `name`, NULL if the overload has none or it is None. */
const value *create_arg(op_ctx *cx, const value *args, const char *name);
/* A new tensor for sizes: an int[] argument. */
ctsc_status create_sized(op_ctx *cx, const value *sizes, dtype dt, tensor **out);
/* t[...] = v, a number. t must be writable. */
ctsc_status create_fill(op_ctx *cx, tensor *t, const value *v);

#endif
