/* SPDX-License-Identifier: Apache-2.0 */
/*
 * llvm_emit.h - a loop nest as LLVM IR text.
 *
 * The text is all that the compiler library (llvm_jit.c) gets, and the key under which kernels are
 * cached: what is not in it cannot change the code. It needs no LLVM to be made.
 */
#ifndef CTSC_CODEGEN_LLVM_LLVM_EMIT_H
#define CTSC_CODEGEN_LLVM_LLVM_EMIT_H

#include "codegen/nest/nest.h"

typedef struct llvm_target {
    bool f16c;        /* the processor converts half precision */
    int vector_width; /* preferred, in bits; 0: LLVM's choice */
} llvm_target;

/* Appends a module with one function, @kernel, of type kernel_fn (cache.h). Verifies n first. */
ctsc_status nest_emit_llvm(nest *n, const llvm_target *target, strbuf *out, diag *d);

#endif
