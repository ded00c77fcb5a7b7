/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm_neon.c - micro-kernels for ARM64, where every processor has NEON.
 *
 * Tiles of 12 x 8 floats (12 x 4 doubles): 24 accumulators, two vectors of B and up to three of A
 * fill 29 of the 32 registers. A multiply-add takes its factor from any lane of a vector, so
 * packed rows of A are loaded four at a time and need no broadcast: 5 loads feed 24 multiply-adds.
 * Unpacked rows are loaded one element at a time into the lowest lane, which is one load each
 * and occupies none of the units that multiply. 24 chains are enough for four units of latency 4.
 * The kernels are in gemm_micro_tile.h; docs/arm64.md has their rates by processor.
 * Tests: tests/unit/test_gemm_block.c
 */
#include "cpu/gemm/gemm_micro.h"

#if defined(__aarch64__) || defined(CPU_NEON_ELSEWHERE)
#include "cpu/neon.h"

#include <stddef.h>

static inline TARGET_NEON float64x2_t gemm_part_double(const double *p, int64_t n) {
    if (n >= 2) return vld1q_f64(p);
    return n == 1 ? vld1q_lane_f64(p, vdupq_n_f64(0), 0) : vdupq_n_f64(0);
}

static inline TARGET_NEON void gemm_put_double(double *p, float64x2_t v, int64_t n) {
    if (n >= 2) vst1q_f64(p, v);
    else if (n == 1) vst1q_lane_f64(p, v, 0);
}

static inline TARGET_NEON void gemm_sum4_float(float32x4_t p, float32x4_t q, float32x4_t r,
                                               float32x4_t s, float *to) {
    vst1q_f32(to, vpaddq_f32(vpaddq_f32(p, q), vpaddq_f32(r, s)));
}

static inline TARGET_NEON void gemm_sum4_double(float64x2_t p, float64x2_t q, float64x2_t r,
                                                float64x2_t s, double *to) {
    vst1q_f64(to, vpaddq_f64(p, q));
    vst1q_f64(to + 2, vpaddq_f64(r, s));
}

static inline TARGET_NEON float64x2_t gemm_fma_double(float64x2_t a, float64x2_t b, float64x2_t c) {
    return vfmaq_f64(c, a, b);
}

/* A lane that there is none of has bytes from 16 on, for which a table lookup gives 0. */
static TARGET_NEON void gemm_spread_float(const float *from, int64_t apart, int64_t pixels, int n,
                                          const float *scale, const int32_t *lanes, int64_t steps,
                                          float *to, int64_t pixel) {
    const int32x4_t bytes = vdupq_n_s32(0x03020100), every = vdupq_n_s32(0x04040404);
    const int32x4_t first = vmlaq_s32(bytes, vld1q_s32(lanes), every);
    const float32x4_t by = scale ? neon_part(scale, n) : vdupq_n_f32(1);
    for (int64_t i = 0; i < pixels; i++, from += apart, to += pixel) {
        __builtin_prefetch(from + GEMM_SPREAD_PREFETCH * apart);
        int8x16_t v = vreinterpretq_s8_f32(vmulq_f32(neon_part(from, n), by));
        int32x4_t lane = first;
        for (int64_t k = 0; k < steps; k++, lane = vaddq_s32(lane, every))
            vst1q_f32(to + k * 4, vreinterpretq_f32_s8(vqtbl1q_s8(v, vreinterpretq_u8_s32(lane))));
    }
}

#define T float
#define V float32x4_t
#define LANES 4
#define NAME(x) gemm_float_##x
#define TARGET TARGET_NEON
#define MR 12
#define DOT_ROWS 6
#define ZERO() vdupq_n_f32(0)
#define VLOAD vld1q_f32
#define VSTORE vst1q_f32
#define SET1 vdupq_n_f32
#define FMA neon_fma
#define FMA_LANE(a, i, b, c) vfmaq_laneq_f32(c, b, a, i)
#define MUL vmulq_f32
#define LOAD_PART neon_part
#define SUM4 gemm_sum4_float
#define ADD vaddq_f32
#define MAX neon_max
#define MIN neon_min
#define STORE_PART neon_put
#define SPREAD gemm_spread_float
#define MICRO const gemm_micro gemm_neon_f32
#define MICRO_HEAD .isa = ISA_NEON, .group_rows = 12, .kc = 256, .mc = 144, .nc = 4096
#define MICRO_TAIL .pack = gemm_pack_float, .unpack = gemm_unpack_float
#include "cpu/gemm/gemm_micro_tile.h"

#define T double
#define V float64x2_t
#define LANES 2
#define NAME(x) gemm_double_##x
#define TARGET TARGET_NEON
#define MR 12
#define DOT_ROWS 6
#define ZERO() vdupq_n_f64(0)
#define VLOAD vld1q_f64
#define VSTORE vst1q_f64
#define SET1 vdupq_n_f64
#define FMA gemm_fma_double
#define FMA_LANE(a, i, b, c) vfmaq_laneq_f64(c, b, a, i)
#define MUL vmulq_f64
#define LOAD_PART gemm_part_double
#define STORE_PART gemm_put_double
#define SUM4 gemm_sum4_double
#define MICRO const gemm_micro gemm_neon_f64
#define MICRO_HEAD .isa = ISA_NEON, .group_rows = 0, .kc = 256, .mc = 96, .nc = 2048
#define MICRO_TAIL .pack = gemm_pack_double, .unpack = gemm_unpack_double
#include "cpu/gemm/gemm_micro_tile.h"

#endif
