/* SPDX-License-Identifier: Apache-2.0 */
/*
 * neon.h - what the micro-kernels for ARM64 share: parts of vectors, and maxima as x86 has them.
 *
 * NEON has no masked loads and stores: parts go lane by lane. Its own maximum is NaN where either
 * operand is, and takes +0 for more than -0. The tiles of kernels are written for one that is the
 * second operand in both cases, which is what all kernels have to give, so a comparison selects.
 */
#ifndef CTSC_CPU_NEON_H
#define CTSC_CPU_NEON_H

#if defined(__aarch64__) || defined(CPU_NEON_ELSEWHERE)
#include "cpu/isa.h"

#if defined(__aarch64__)
#include <arm_neon.h>
#else
#include "cpu/neon_vectors.h"
#endif

/* The first n floats, zeros after them. */
static inline TARGET_NEON float32x4_t neon_part(const float *p, int64_t n) {
    float32x4_t v = vdupq_n_f32(0);
    if (n >= 4) return vld1q_f32(p);
    if (n >= 2) v = vcombine_f32(vld1_f32(p), vget_low_f32(v));
    if (n == 3) v = vld1q_lane_f32(p + 2, v, 2);
    return n == 1 ? vld1q_lane_f32(p, v, 0) : v;
}

/* The first n floats of v; touches no others. */
static inline TARGET_NEON void neon_put(float *p, float32x4_t v, int64_t n) {
    if (n >= 4) vst1q_f32(p, v);
    else if (n >= 2) vst1_f32(p, vget_low_f32(v));
    if (n == 3) vst1q_lane_f32(p + 2, v, 2);
    if (n == 1) vst1q_lane_f32(p, v, 0);
}

static inline TARGET_NEON float32x4_t neon_max(float32x4_t a, float32x4_t b) {
    return vbslq_f32(vcgtq_f32(a, b), a, b);
}
static inline TARGET_NEON float32x4_t neon_min(float32x4_t a, float32x4_t b) {
    return vbslq_f32(vcltq_f32(a, b), a, b);
}

/* a * b + c, rounded once; c - a * b. */
static inline TARGET_NEON float32x4_t neon_fma(float32x4_t a, float32x4_t b, float32x4_t c) {
    return vfmaq_f32(c, a, b);
}
static inline TARGET_NEON float32x4_t neon_fnma(float32x4_t a, float32x4_t b, float32x4_t c) {
    return vfmsq_f32(c, a, b);
}

#endif
#endif
