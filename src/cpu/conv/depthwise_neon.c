/* SPDX-License-Identifier: Apache-2.0 */
/*
 * depthwise_neon.c - the kernels of depthwise.h for ARM64. 32 registers hold a tile of two rows, as
 * those of AVX-512 do.
 * Tests: tests/unit/test_conv_last_depthwise.c
 */
#include "cpu/conv/depthwise.h"

#if defined(__aarch64__) || defined(CPU_NEON_ELSEWHERE)
#include "cpu/neon.h"

#include <stddef.h>

#define V float32x4_t
#define LANES 4
#define ROWS 2
#define NAME(x) depthwise_neon_##x
#define TARGET TARGET_NEON
#define VLOAD vld1q_f32
#define VSTORE vst1q_f32
#define SET1 vdupq_n_f32
#define FMA neon_fma
#define MAX neon_max
#define MIN neon_min
#define KERNELS const depthwise_kernels depthwise_neon
#define KERNELS_HEAD ISA_NEON
#include "cpu/conv/depthwise_tile.h"

#endif
