/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bf16_neon.c - products of bfloat16 for ARM64 with bfdot.
 *
 * An instruction adds two products a lane, which it rounds to odd and takes denormal numbers for
 * zero in, as docs/arm64.md says.
 * Tests: tests/unit/test_precision.c
 */
#include "cpu/quad/quad.h"

#if defined(__aarch64__)
#include "cpu/neon_bytes.h"

#include <arm_bf16.h>

static inline TARGET_NEONBF16 bfloat16x8_t bf16_of(int32x4_t v) {
    return vreinterpretq_bf16_s32(v);
}
static inline TARGET_NEONBF16 int32x4_t bf16_same(int32x4_t v) { return v; }

#define NAME(x) bf16_neon_##x
#define TARGET TARGET_NEONBF16
#define MR 6
#define A float32x4_t
#define START vreinterpretq_f32_s32
#define SUMS vreinterpretq_s32_f32
#define X bf16_same
#define DOT(acc, w, x, q) vbfdotq_laneq_f32(acc, bf16_of(w), bf16_of(x), q)
#include "cpu/quad/quad_lane_tile.h"

const quad_kernels quad_bf16_neon = {.isa = ISA_NEONBF16,
                                     .rows = 24,
                                     .panels = 1,
                                     .depth = 1,
                                     .lanes = 4,
                                     .block = 256 << 10,
                                     .tile = bf16_neon_tile};

#endif
