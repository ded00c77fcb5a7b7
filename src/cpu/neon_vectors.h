/* SPDX-License-Identifier: Apache-2.0 */
/*
 * neon_vectors.h - in place of <arm_neon.h> on other processors: the intrinsics that the float
 * kernels for ARM64 use, as vectors of the compiler's (neon_elsewhere.c says what for).
 *
 * A multiply-add rounds twice here. Everything else is as on ARM64.
 */
#ifndef CTSC_CPU_NEON_VECTORS_H
#define CTSC_CPU_NEON_VECTORS_H

#include <stdint.h>
#include <string.h>

#define TARGET_NEON

#define ELSEWHERE_VECTOR(name, type, bytes) typedef type name __attribute__((vector_size(bytes)))
ELSEWHERE_VECTOR(float32x2_t, float, 8);
ELSEWHERE_VECTOR(float32x4_t, float, 16);
ELSEWHERE_VECTOR(float64x2_t, double, 16);
ELSEWHERE_VECTOR(int32x4_t, int32_t, 16);
ELSEWHERE_VECTOR(uint16x4_t, uint16_t, 8);
ELSEWHERE_VECTOR(uint32x4_t, uint32_t, 16);
ELSEWHERE_VECTOR(int8x16_t, int8_t, 16);
ELSEWHERE_VECTOR(uint8x16_t, uint8_t, 16);
#undef ELSEWHERE_VECTOR

/* Loads and stores, of whole vectors and of single lanes, and one value in all lanes. */
#define ELSEWHERE_MEMORY(V, T, q, type)                                                            \
    static inline V vld1##q##_##type(const T *p) {                                                 \
        V v;                                                                                       \
        memcpy(&v, p, sizeof v);                                                                   \
        return v;                                                                                  \
    }                                                                                              \
    static inline void vst1##q##_##type(T *p, V v) { memcpy(p, &v, sizeof v); }                    \
    static inline V vld1##q##_lane_##type(const T *p, V v, int lane) {                             \
        v[lane] = *p;                                                                              \
        return v;                                                                                  \
    }                                                                                              \
    static inline void vst1##q##_lane_##type(T *p, V v, int lane) { *p = v[lane]; }                \
    static inline V vdup##q##_n_##type(T x) { return x - (V){0}; }
ELSEWHERE_MEMORY(float32x2_t, float, , f32)
ELSEWHERE_MEMORY(float32x4_t, float, q, f32)
ELSEWHERE_MEMORY(float64x2_t, double, q, f64)
ELSEWHERE_MEMORY(int32x4_t, int32_t, q, s32)
ELSEWHERE_MEMORY(uint16x4_t, uint16_t, , u16)
#undef ELSEWHERE_MEMORY

static inline float32x2_t vget_low_f32(float32x4_t v) { return (float32x2_t){v[0], v[1]}; }
static inline float32x4_t vcombine_f32(float32x2_t a, float32x2_t b) {
    return (float32x4_t){a[0], a[1], b[0], b[1]};
}

#define vaddq_f32(a, b) ((a) + (b))
#define vsubq_f32(a, b) ((a) - (b))
#define vmulq_f32(a, b) ((a) * (b))
#define vdivq_f32(a, b) ((a) / (b))
#define vmulq_f64(a, b) ((a) * (b))
#define vaddq_s32(a, b) ((a) + (b))
#define vsubq_s32(a, b) ((a) - (b))
#define vmlaq_s32(c, a, b) ((c) + (a) * (b))
#define vfmaq_f32(c, a, b) ((c) + (a) * (b))
#define vfmaq_f64(c, a, b) ((c) + (a) * (b))
#define vfmsq_f32(c, a, b) ((c) - (a) * (b))
#define vfmaq_laneq_f32(c, a, b, lane) ((c) + (a) * (b)[lane])
#define vfmaq_laneq_f64(c, a, b, lane) ((c) + (a) * (b)[lane])

static inline float32x4_t vpaddq_f32(float32x4_t a, float32x4_t b) {
    return (float32x4_t){a[0] + a[1], a[2] + a[3], b[0] + b[1], b[2] + b[3]};
}
static inline float64x2_t vpaddq_f64(float64x2_t a, float64x2_t b) {
    return (float64x2_t){a[0] + a[1], b[0] + b[1]};
}

#define vreinterpretq_s32_f32(v) ((int32x4_t)(v))
#define vreinterpretq_f32_s32(v) ((float32x4_t)(v))
#define vreinterpretq_f32_s8(v) ((float32x4_t)(v))
#define vreinterpretq_s8_f32(v) ((int8x16_t)(v))
#define vreinterpretq_s32_u32(v) ((int32x4_t)(v))
#define vreinterpretq_u32_s32(v) ((uint32x4_t)(v))
#define vreinterpretq_u8_s32(v) ((uint8x16_t)(v))

#define vreinterpretq_f32_u32(v) ((float32x4_t)(v))
#define vreinterpret_f16_u16(v) (v)
#define vshll_n_u16(v, n) (__builtin_convertvector(v, uint32x4_t) << (n))

#define vcgtq_f32(a, b) ((uint32x4_t)((a) > (b)))
#define vcltq_f32(a, b) ((uint32x4_t)((a) < (b)))
#define vbslq_f32(m, a, b) ((float32x4_t)(((m) & (uint32x4_t)(a)) | (~(m) & (uint32x4_t)(b))))
#define vabsq_f32(v) ((float32x4_t)((uint32x4_t)(v) & 0x7fffffff))
#define vshlq_n_s32(v, n) ((v) << (n))
#define vshrq_n_u32(v, n) ((v) >> (n))

/* Bytes of v by their numbers; 0 where there is none. */
static inline int8x16_t vqtbl1q_s8(int8x16_t v, uint8x16_t at) {
    int8x16_t to;
    for (int i = 0; i < 16; i++) to[i] = at[i] < 16 ? v[at[i]] : 0;
    return to;
}

#endif
