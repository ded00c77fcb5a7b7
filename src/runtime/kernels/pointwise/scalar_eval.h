/* SPDX-License-Identifier: Apache-2.0 */
/* scalar_eval.h - runs scalar definitions (ir/scalar/scalar_text.h) in the interpreter. */
#ifndef CTSC_RUNTIME_KERNELS_POINTWISE_SCALAR_EVAL_H
#define CTSC_RUNTIME_KERNELS_POINTWISE_SCALAR_EVAL_H

#include "runtime/kernels/engine/kernel.h"

/* The function of operators that have a definition and nothing else. */
ctsc_status op_scalar_eval(op_ctx *cx, const value *args, value *results);

#endif
