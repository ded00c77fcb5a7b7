/* SPDX-License-Identifier: Apache-2.0 */
/*
 * byte_rows_neon.c - the functions of byte_rows.h for ARM64. A table of 256 bytes is four lookups
 * among 64 bytes each, which leave alone the bytes that are not theirs.
 * Tests: tests/unit/test_quantized_bytes.c
 */
#include "cpu/rows/byte_rows.h"

#if defined(__aarch64__)
#include "cpu/neon_bytes.h"

#define V int32x4_t
#define F float32x4_t
#define LANES 4
#define NAME(x) byte_neon_##x
#define TARGET TARGET_NEON
#define GET neon_get
#define PUT neon_put_bytes
#define LOADF vld1q_f32
#define FLOAT vcvtq_f32_s32
#define INT vcvtnq_s32_f32
#define ADDF vaddq_f32
#define SUBF vsubq_f32
#define MULF vmulq_f32
#define FMA neon_fma
#define SETF vdupq_n_f32
#define SET8 neon_set8
#define SET16 neon_set16
#define LO8 neon_lo8
#define HI8 neon_hi8
#define LO16 neon_lo16
#define HI16 neon_hi16
#define PACK16 neon_pack16
#define PACK8 neon_pack8
#define ADD16 neon_add16
#define MIN8 neon_min8
#define MAX8 neon_max8
#include "cpu/rows/byte_rows_tile.h"

static TARGET_NEON void byte_neon_table(const uint8_t *table, const uint8_t *x, int64_t n,
                                        uint8_t *out) {
    const uint8x16x4_t a = vld1q_u8_x4(table), b = vld1q_u8_x4(table + 64),
                       c = vld1q_u8_x4(table + 128), d = vld1q_u8_x4(table + 192);
    const uint8x16_t step = vdupq_n_u8(64);
    for (; n > 0; n -= 16, x += 16, out += 16) {
        uint8x16_t at = NEON_U8(neon_get(x, n)), y = vqtbl4q_u8(a, at);
        y = vqtbx4q_u8(y, b, at = vsubq_u8(at, step));
        y = vqtbx4q_u8(y, c, at = vsubq_u8(at, step));
        y = vqtbx4q_u8(y, d, vsubq_u8(at, step));
        neon_put_bytes(out, NEON_OF_U8(y), n);
    }
}

const byte_rows byte_rows_neon = {
    ISA_NEON, 4, byte_neon_table, byte_neon_sum, byte_neon_product, byte_neon_line};

#endif
