/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bytes_neon.c - products of bytes for ARM64: with the products that all of it has, with those
 * that add four of a kind (dotprod), and of unsigned by signed bytes (i8mm).
 *
 * The first two multiply signed bytes, so activations are taken as less by 128, and 128 times the
 * weights' sum is added. Products of two bytes may be 2^14, and two of these do not fit 16 bits:
 * without dotprod each pair is added to a sum of 32 bits of its own.
 * Tests: tests/unit/test_quantized_bytes.c
 */
#include "cpu/quad/quad.h"

#if defined(__aarch64__)
#include "cpu/neon_bytes.h"

/* The first two vectors' bytes of each row: see NAME(bytes). */
static inline TARGET_NEON void quant_put_rows_128(uint8_t *p, uint8_t *q, int32x4_t v, int n) {
    uint8x16_t bytes = NEON_U8(v);
    if (n >= 8) {
        vst1_u8(p, vget_low_u8(bytes));
        if (q) vst1_u8(q, vget_high_u8(bytes));
        return;
    }
    uint8_t all[16];
    vst1q_u8(all, bytes);
    memcpy(p, all, (size_t)n);
    if (q) memcpy(q, all + 8, (size_t)n);
}

static inline TARGET_NEON int8x16_t quant_less(int32x4_t x) {
    return veorq_s8(NEON_S8(x), vdupq_n_s8(INT8_MIN));
}
/* 128 times the sums of fours. */
static inline TARGET_NEON int32x4_t quant_more(int32x4_t w) {
    return vshlq_n_s32(vpaddlq_s16(vpaddlq_s8(NEON_S8(w))), 7);
}
static inline TARGET_NEON int32x4_t quant_dot_neon(int32x4_t acc, int32x4_t x, int32x4_t w) {
    int8x16_t a = quant_less(x), b = NEON_S8(w);
    int32x4_t low = vpaddlq_s16(vmull_s8(vget_low_s8(a), vget_low_s8(b))),
              high = vpaddlq_s16(vmull_high_s8(a, b));
    return vaddq_s32(vaddq_s32(acc, vpaddq_s32(low, high)), quant_more(w));
}
static inline TARGET_DOTPROD int32x4_t quant_dot_dotprod(int32x4_t acc, int32x4_t x, int32x4_t w) {
    return vdotq_s32(vaddq_s32(acc, quant_more(w)), quant_less(x), NEON_S8(w));
}
static inline TARGET_I8MM int32x4_t quant_dot_i8mm(int32x4_t acc, int32x4_t x, int32x4_t w) {
    return vusdotq_s32(acc, NEON_U8(x), NEON_S8(w));
}

#define V int32x4_t
#define F float32x4_t
#define LANES 4
#define LOAD neon_load
#define STORE neon_store
#define SPLAT neon_splat
#define LOADF vld1q_f32
#define FLOAT vcvtq_f32_s32
#define INT vcvtnq_s32_f32
#define ADDF vaddq_f32
#define MULF vmulq_f32
#define MINF neon_min
#define SETF vdupq_n_f32
#define SET8 neon_set8
#define SET16 neon_set16
#define PACK16 neon_pack16
#define PACK8 neon_pack8
#define ADD16 neon_add16
#define MAX8 neon_max8
#define XOR veorq_s32
#define PUT neon_put_bytes
#define PUT_ROWS quant_put_rows_128
#define GET neon_get
#define LO8 neon_lo8
#define HI8 neon_hi8
#define LO16 neon_lo16
#define HI16 neon_hi16

#define NAME(x) quant_neon_##x
#define TARGET TARGET_NEON
#define TILE_ELSEWHERE
#define DEPTH 2
#define DP quant_dot_neon
#include "cpu/quad/bytes_tile.h"

#define NAME(x) quant_dotprod_##x
#define TARGET TARGET_DOTPROD
#define TILE_ELSEWHERE
#define DEPTH 2
#define DP quant_dot_dotprod
#define SUMS_ONLY
#include "cpu/quad/bytes_tile.h"

#define NAME(x) quant_i8mm_##x
#define TARGET TARGET_I8MM
#define TILE_ELSEWHERE
#define DEPTH 4
#define DP quant_dot_i8mm
#define SUMS_ONLY
#include "cpu/quad/bytes_tile.h"

/* ---- tiles ----------------------------------------------------------------------------------- */

/* Sums of pairs: those of the first two columns, those of the others. */
static inline TARGET_NEON int32x4x2_t quant_pairs_start(int32x4_t v) {
    return (int32x4x2_t){{vzip1q_s32(v, vdupq_n_s32(0)), vzip2q_s32(v, vdupq_n_s32(0))}};
}
static inline TARGET_NEON int32x4_t quant_pairs_sums(int32x4x2_t acc) {
    return vpaddq_s32(acc.val[0], acc.val[1]);
}
static inline TARGET_NEON int32x4x2_t quant_pairs_dot(int32x4x2_t acc, int32x4_t w, int32x4_t x) {
    int8x16_t a = NEON_S8(x), b = NEON_S8(w);
    acc.val[0] = vpadalq_s16(acc.val[0], vmull_s8(vget_low_s8(a), vget_low_s8(b)));
    acc.val[1] = vpadalq_s16(acc.val[1], vmull_high_s8(a, b));
    return acc;
}
static inline TARGET_NEON int32x4_t quant_same(int32x4_t v) { return v; }

#define NAME(x) quant_neon_##x
#define TARGET TARGET_NEON
#define MR 2
#define A int32x4x2_t
#define START quant_pairs_start
#define SUMS quant_pairs_sums
#define X(v) NEON_OF_S8(quant_less(v))
#define DOT(acc, w, x, q) quant_pairs_dot(acc, w, vdupq_laneq_s32(x, q))
#define OFFSET 128
#include "cpu/quad/quad_lane_tile.h"

#define NAME(x) quant_dotprod_##x
#define TARGET TARGET_DOTPROD
#define MR 6
#define A int32x4_t
#define START quant_same
#define SUMS quant_same
#define X(v) NEON_OF_S8(quant_less(v))
#define DOT(acc, w, x, q) vdotq_laneq_s32(acc, NEON_S8(w), NEON_S8(x), q)
#define OFFSET 128
#include "cpu/quad/quad_lane_tile.h"

#define NAME(x) quant_i8mm_##x
#define TARGET TARGET_I8MM
#define MR 6
#define A int32x4_t
#define START quant_same
#define SUMS quant_same
#define X quant_same
#define DOT(acc, w, x, q) vsudotq_laneq_s32(acc, NEON_S8(w), NEON_U8(x), q)
#include "cpu/quad/quad_lane_tile.h"

#define RECORD(isa_, tile_, depthwise_)                                                            \
    {.isa = isa_,                                                                                  \
     .rows = 24,                                                                                   \
     .panels = 1,                                                                                  \
     .depth = 1,                                                                                   \
     .lanes = LANES,                                                                               \
     .block = 256 << 10,                                                                           \
     .tile = tile_,                                                                                \
     .store = quant_neon_store,                                                                    \
     .spread = quant_neon_spread,                                                                  \
     .depthwise = depthwise_}
const quad_kernels quad_bytes_neon = RECORD(ISA_NEON, quant_neon_tile, quant_neon_depthwise);
const quad_kernels quad_bytes_dotprod = RECORD(ISA_DOTPROD, quant_dotprod_tile,
                                               quant_dotprod_depthwise);
const quad_kernels quad_bytes_i8mm = RECORD(ISA_I8MM, quant_i8mm_tile, quant_i8mm_depthwise);

#endif
