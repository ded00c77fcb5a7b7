/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nbits_neon.c - products with 4-bit or 8-bit weights (nbits.h) for ARM64: with the products of
 * bytes that all of it has, and with those that add four (dotprod).
 *
 * Bytes of a row are never -128, so the sum of two products of signed bytes fits 16 bits.
 * Tests: tests/unit/test_nbits.c
 */
#include "cpu/gemm/nbits.h"

#if defined(__aarch64__)
#include "cpu/neon_bytes.h"

static inline TARGET_NEON int32x4_t nbits_dot8_neon(int32x4_t acc, int32x4_t q, int32x4_t x) {
    int8x16_t w = veorq_s8(NEON_S8(q), vdupq_n_s8(INT8_MIN)), y = NEON_S8(x);
    int16x8_t low = vmull_s8(vget_low_s8(w), vget_low_s8(y)), high = vmull_high_s8(w, y);
    return vpadalq_s16(acc, vpaddq_s16(low, high));
}
/* Two products of at most 15 * 127 each, twice. */
static inline TARGET_NEON int32x4_t nbits_dot4_neon(int32x4_t acc, int32x4_t lo, int32x4_t x,
                                                    int32x4_t hi, int32x4_t y) {
    int8x16_t a = NEON_S8(lo), b = NEON_S8(hi), c = NEON_S8(x), d = NEON_S8(y);
    int16x8_t low = vmlal_s8(vmull_s8(vget_low_s8(a), vget_low_s8(c)), vget_low_s8(b),
                             vget_low_s8(d)),
              high = vmlal_high_s8(vmull_high_s8(a, c), b, d);
    return vpadalq_s16(acc, vpaddq_s16(low, high));
}
static inline TARGET_DOTPROD int32x4_t nbits_dot8_dotprod(int32x4_t acc, int32x4_t q, int32x4_t x) {
    return vdotq_s32(acc, veorq_s8(NEON_S8(q), vdupq_n_s8(INT8_MIN)), NEON_S8(x));
}
static inline TARGET_DOTPROD int32x4_t nbits_dot4_dotprod(int32x4_t acc, int32x4_t lo, int32x4_t x,
                                                          int32x4_t hi, int32x4_t y) {
    return vdotq_s32(vdotq_s32(acc, NEON_S8(lo), NEON_S8(x)), NEON_S8(hi), NEON_S8(y));
}
static inline TARGET_NEON float32x4_t nbits_halves_neon(const uint8_t *p) {
    return vcvt_f32_f16(vreinterpret_f16_u8(vld1_u8(p)));
}
static inline TARGET_NEON float32x4_t nbits_bytes_neon(const uint8_t *p) {
    int8x16_t bytes = NEON_S8(neon_splat(p));
    return vcvtq_f32_s32(vmovl_s16(vget_low_s16(vmovl_s8(vget_low_s8(bytes)))));
}
/* Shifts of lanes: the left one, and the right one with zeros or the sign. */
static inline __attribute__((always_inline)) TARGET_NEON int32x4_t nbits_left(int32x4_t w, int n) {
    return vshlq_s32(w, vdupq_n_s32(n));
}
static inline __attribute__((always_inline)) TARGET_NEON int32x4_t nbits_right(int32x4_t w, int n) {
    return vreinterpretq_s32_u32(vshlq_u32(vreinterpretq_u32_s32(w), vdupq_n_s32(-n)));
}
static inline __attribute__((always_inline)) TARGET_NEON int32x4_t nbits_signed(int32x4_t w,
                                                                                int n) {
    return vshlq_s32(w, vdupq_n_s32(-n));
}
/* As with AVX2: the highest bit of a nibble turned is its sign. */
static inline __attribute__((always_inline)) TARGET_NEON float32x4_t nbits_nibble_neon(int32x4_t w,
                                                                                       int i) {
    int32x4_t turned = veorq_s32(w, neon_set8((int8_t)0x88));
    return vcvtq_f32_s32(nbits_signed(nbits_left(turned, 28 - 4 * i), 28));
}

#define VECTOR(x) nbits_128_##x
#define VTARGET TARGET_NEON
#define I int32x4_t
#define F float32x4_t
#define LANES 4
#define ISET1 vdupq_n_s32
#define LOAD neon_load
#define AND vandq_s32
#define XOR veorq_s32
#define SRL nbits_right
#define SLL nbits_left
#define SRA nbits_signed
#define ADD vaddq_s32
#define MUL vmulq_s32
#define FLOATS vcvtq_f32_s32
#define SET1 vdupq_n_f32
#define ZERO() vdupq_n_f32(0)
#define FMA neon_fma
#define FNMA neon_fnma
#define FMUL vmulq_f32
#define VLOAD vld1q_f32
#define VSTORE vst1q_f32
#define HALVES nbits_halves_neon
#define BYTES nbits_bytes_neon
#define NIBBLE nbits_nibble_neon
#include "cpu/gemm/nbits_float_tile.h"

#define NAME(x) nbits_neon_##x
#define TARGET TARGET_NEON
#define SIGNED 1
#define DOT4 nbits_dot4_neon
#define DOT8 nbits_dot8_neon
#include "cpu/gemm/nbits_whole_tile.h"

const nbits_micro nbits_neon = {ISA_NEON, 16, false, nbits_neon_whole, nbits_128_floats};

#define NAME(x) nbits_dotprod_##x
#define TARGET TARGET_DOTPROD
#define SIGNED 1
#define DOT4 nbits_dot4_dotprod
#define DOT8 nbits_dot8_dotprod
#include "cpu/gemm/nbits_whole_tile.h"

const nbits_micro nbits_dotprod = {ISA_DOTPROD, 16, true, nbits_dotprod_whole, nbits_128_floats};
#endif
