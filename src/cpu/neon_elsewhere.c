/* SPDX-License-Identifier: Apache-2.0 */
/*
 * neon_elsewhere.c - the float kernels for ARM64, on other processors.
 *
 * Programs are compiled ahead of time for ARM64 elsewhere, too (runtime/aot/aot.h). The compiler
 * runs them to learn what they need: forms of packed weights, the sizes of scratch memory, which
 * kernel suits which sizes. All of this follows from the kernels' records. So these are the same
 * sources, with vectors of the compiler's, and runs pretend (ukernel.h) that they are the
 * processor's.
 */
#include "cpu/ukernel_elsewhere.h"

#if !defined(__aarch64__)
#define CPU_NEON_ELSEWHERE
#include "cpu/conv/depthwise_neon.c"
#include "cpu/conv/winograd_neon.c"
#include "cpu/gemm/gemm_neon.c"
#include "cpu/gemm/widen_neon.c"
#include "cpu/rows/activation_neon.c"

const ukernel ukernel_elsewhere[] = {
    {UKERNEL_GEMM, UKERNEL_F32, ISA_NEON, "gemm_neon_f32", &gemm_neon_f32},
    {UKERNEL_GEMM, UKERNEL_F64, ISA_NEON, "gemm_neon_f64", &gemm_neon_f64},
    {UKERNEL_WINOGRAD, UKERNEL_F32, ISA_NEON, "winograd_neon", &winograd_neon},
    {UKERNEL_DEPTHWISE, UKERNEL_F32, ISA_NEON, "depthwise_neon", &depthwise_neon},
    {UKERNEL_ACTIVATION, UKERNEL_F32, ISA_NEON, "activation_neon", &activation_neon},
    {UKERNEL_WIDEN, UKERNEL_F16, ISA_NEON, "widen_f16_neon", &widen_f16_neon},
    {UKERNEL_WIDEN, UKERNEL_BF16, ISA_NEON, "widen_bf16_neon", &widen_bf16_neon},
    {.record = NULL},
};
#else
const ukernel ukernel_elsewhere[] = {{.record = NULL}};
#endif
