/* SPDX-License-Identifier: Apache-2.0 */
/*
 * widen_neon.c - products of floats with narrower weights (widen.h) for ARM64, which converts
 * float16 without any extension.
 * Tests: tests/unit/test_linear_half.c
 */
#include "cpu/gemm/widen.h"

#include "cpu/convert/half.h"

#if defined(__aarch64__) || defined(CPU_NEON_ELSEWHERE)
#include "cpu/neon.h"

#if defined(CPU_NEON_ELSEWHERE)
static inline float32x4_t vcvt_f32_f16(uint16x4_t v) {
    float32x4_t to;
    for (int i = 0; i < 4; i++) to[i] = float16_to_float((float16){v[i]});
    return to;
}
#endif

static inline TARGET_NEON float32x4_t widen_f16_neon_four(const float16 *p) {
    return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(&p->bits)));
}
static inline TARGET_NEON float32x4_t widen_bf16_neon_four(const bfloat16 *p) {
    return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(&p->bits), 16));
}

#define V float32x4_t
#define LANES 4
#define NAME(x) f16_neon_##x
#define TARGET TARGET_NEON
#define MR 6
#define VECTORS 4
#define ROW_VECTORS 8
#define ELEMENT float16
#define WIDEN widen_f16_neon_four
#define SET1 vdupq_n_f32
#define ZERO() vdupq_n_f32(0)
#define FMA neon_fma
#define ADD vaddq_f32
#define VLOAD vld1q_f32
#define VSTORE vst1q_f32
#include "cpu/gemm/widen_tile.h"

const widen_micro widen_f16_neon = {ISA_NEON, 6, f16_neon_tile};

#define V float32x4_t
#define LANES 4
#define NAME(x) bf16_neon_##x
#define TARGET TARGET_NEON
#define MR 6
#define VECTORS 4
#define ROW_VECTORS 8
#define ELEMENT bfloat16
#define WIDEN widen_bf16_neon_four
#define SET1 vdupq_n_f32
#define ZERO() vdupq_n_f32(0)
#define FMA neon_fma
#define ADD vaddq_f32
#define VLOAD vld1q_f32
#define VSTORE vst1q_f32
#include "cpu/gemm/widen_tile.h"

const widen_micro widen_bf16_neon = {ISA_NEON, 6, bf16_neon_tile};
#endif
