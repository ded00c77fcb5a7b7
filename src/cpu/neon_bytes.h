/* SPDX-License-Identifier: Apache-2.0 */
/*
 * neon_bytes.h - vectors of 128 bits whose lanes are of several widths, for the tiles of kernels on
 * bytes: all are int32x4_t, as x86 has one type for them.
 */
#ifndef CTSC_CPU_NEON_BYTES_H
#define CTSC_CPU_NEON_BYTES_H

#if defined(__aarch64__)
#include "cpu/neon.h"

#include <string.h>

#define NEON_S8 vreinterpretq_s8_s32
#define NEON_U8 vreinterpretq_u8_s32
#define NEON_S16 vreinterpretq_s16_s32
#define NEON_OF_S8 vreinterpretq_s32_s8
#define NEON_OF_U8 vreinterpretq_s32_u8
#define NEON_OF_S16 vreinterpretq_s32_s16

static inline TARGET_NEON int32x4_t neon_load(const void *p) {
    return NEON_OF_U8(vld1q_u8((const uint8_t *)p));
}
static inline TARGET_NEON void neon_store(void *p, int32x4_t v) {
    vst1q_u8((uint8_t *)p, NEON_U8(v));
}
/* The four bytes at p in each lane. */
static inline TARGET_NEON int32x4_t neon_splat(const void *p) {
    int32_t four;
    memcpy(&four, p, sizeof four);
    return vdupq_n_s32(four);
}
/* n bytes, and zeros. */
static inline TARGET_NEON int32x4_t neon_get(const uint8_t *p, int64_t n) {
    uint8_t part[16] = {0};
    if (n >= 16) return neon_load(p);
    memcpy(part, p, (size_t)n);
    return neon_load(part);
}
static inline TARGET_NEON void neon_put_bytes(uint8_t *p, int32x4_t v, int64_t n) {
    uint8_t part[16];
    neon_store(n >= 16 ? p : part, v);
    if (n < 16) memcpy(p, part, (size_t)n);
}

static inline TARGET_NEON int32x4_t neon_lo8(int32x4_t a, int32x4_t b) {
    return NEON_OF_S8(vzip1q_s8(NEON_S8(a), NEON_S8(b)));
}
static inline TARGET_NEON int32x4_t neon_hi8(int32x4_t a, int32x4_t b) {
    return NEON_OF_S8(vzip2q_s8(NEON_S8(a), NEON_S8(b)));
}
static inline TARGET_NEON int32x4_t neon_lo16(int32x4_t a, int32x4_t b) {
    return NEON_OF_S16(vzip1q_s16(NEON_S16(a), NEON_S16(b)));
}
static inline TARGET_NEON int32x4_t neon_hi16(int32x4_t a, int32x4_t b) {
    return NEON_OF_S16(vzip2q_s16(NEON_S16(a), NEON_S16(b)));
}
/* Saturating: four bytes to two, two to one without sign; sums of two. */
static inline TARGET_NEON int32x4_t neon_pack16(int32x4_t a, int32x4_t b) {
    return NEON_OF_S16(vqmovn_high_s32(vqmovn_s32(a), b));
}
static inline TARGET_NEON int32x4_t neon_pack8(int32x4_t a, int32x4_t b) {
    return NEON_OF_U8(vqmovun_high_s16(vqmovun_s16(NEON_S16(a)), NEON_S16(b)));
}
static inline TARGET_NEON int32x4_t neon_add16(int32x4_t a, int32x4_t b) {
    return NEON_OF_S16(vqaddq_s16(NEON_S16(a), NEON_S16(b)));
}
static inline TARGET_NEON int32x4_t neon_min8(int32x4_t a, int32x4_t b) {
    return NEON_OF_U8(vminq_u8(NEON_U8(a), NEON_U8(b)));
}
static inline TARGET_NEON int32x4_t neon_max8(int32x4_t a, int32x4_t b) {
    return NEON_OF_U8(vmaxq_u8(NEON_U8(a), NEON_U8(b)));
}
static inline TARGET_NEON int32x4_t neon_set8(int8_t x) { return NEON_OF_S8(vdupq_n_s8(x)); }
static inline TARGET_NEON int32x4_t neon_set16(int16_t x) { return NEON_OF_S16(vdupq_n_s16(x)); }

#endif
#endif
