/* SPDX-License-Identifier: Apache-2.0 */
/*
 * activation_neon.c - the activations of activation.h for ARM64.
 * Tests: tests/unit/test_epilogue.c
 */
#include "cpu/rows/activation.h"

#if defined(__aarch64__) || defined(CPU_NEON_ELSEWHERE)
#include "cpu/neon.h"

static inline TARGET_NEON int32x4_t activation_right(int32x4_t v) {
    return vreinterpretq_s32_u32(vshrq_n_u32(vreinterpretq_u32_s32(v), 1));
}

#define V float32x4_t
#define I int32x4_t
#define LANES 4
#define NAME(x) activation_neon_##x
#define TARGET TARGET_NEON
#define LOAD vld1q_f32
#define STORE vst1q_f32
#define SET1 vdupq_n_f32
#define ADD vaddq_f32
#define SUB vsubq_f32
#define MUL vmulq_f32
#define DIV vdivq_f32
#define FMA neon_fma
#define FNMA neon_fnma
#define ABS vabsq_f32
#define MAX neon_max
#define MIN neon_min
#define BELOW(x, y, a, b) vbslq_f32(vcltq_f32(x, y), a, b)
#define BITS vreinterpretq_s32_f32
#define FLOATS vreinterpretq_f32_s32
#define SHIFT_LEFT vshlq_n_s32
#define SHIFT_RIGHT(v, n) activation_right(v)
#define SUB_INT vsubq_s32
#define LOAD_PART neon_part
#define STORE_PART neon_put
#define KERNELS const activation_kernels activation_neon
#define KERNELS_HEAD ISA_NEON
#include "cpu/rows/activation_tile.h"

#endif
