/* SPDX-License-Identifier: Apache-2.0 */
/*
 * winograd_neon.c - the transforms of winograd.h for ARM64.
 * Tests: tests/unit/test_conv_last.c
 */
#include "cpu/conv/winograd.h"

#if defined(__aarch64__) || defined(CPU_NEON_ELSEWHERE)
#include "cpu/neon.h"

#define V float32x4_t
#define LANES 4
#define NAME(x) winograd_neon_##x
#define TARGET TARGET_NEON
#define VLOAD vld1q_f32
#define VSTORE vst1q_f32
#define VLOAD_PART neon_part
#define VSTORE_PART neon_put
#define SET1 vdupq_n_f32
#define ADD vaddq_f32
#define SUB vsubq_f32
#define FMA neon_fma
#define FNMA neon_fnma
#define MUL vmulq_f32
#define MAX neon_max
#define MIN neon_min
#define ZERO() vdupq_n_f32(0)
#define KERNELS const winograd_kernels winograd_neon
#define KERNELS_HEAD ISA_NEON
#include "cpu/conv/winograd_tile.h"

#endif
