/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm_pack.c - packing of operands into the panels that micro-kernels read.
 *
 * Method: operands that are contiguous along the side are copied; those contiguous along k are
 * transposed in registers, 8 x 8 floats (4 x 4 doubles) at a time; everything else, including
 * the borders, goes element by element. Eight rows of a narrower panel write past its width,
 * into the next step of k: steps are written in order and a panel's last rows first, so the
 * overwritten data is written again. Unpacking is the same exchange of rows and columns.
 * Tests: tests/unit/test_gemm_block.c
 */
#include "cpu/cpu_tuning.h"
#include "cpu/gemm/gemm_micro.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>

/* Aligned, since the position of short loops decides their
 * speed: by two thirds for the one over single elements. */
#define PACK_TARGET TARGET_AVX2 __attribute__((aligned(64)))

/* Eight rows, the first at r0 and the others at `stride`; at most `last` more
 * exist, and the last one is used for those after it. depth is a multiple of 4.
 * to[d * width + 0..7] for all d. Data `prefetch` elements ahead is prefetched. */
static PACK_TARGET void pack_rows_float(const float *r0, int64_t depth, int64_t stride, int last,
                                        int64_t prefetch, int64_t width, float *to) {
    const float *r1 = r0 + (last > 1 ? 1 : last) * stride,
                *r2 = r0 + (last > 2 ? 2 : last) * stride;
    const float *r3 = r0 + (last > 3 ? 3 : last) * stride,
                *r4 = r0 + (last > 4 ? 4 : last) * stride;
    const float *r5 = r0 + (last > 5 ? 5 : last) * stride,
                *r6 = r0 + (last > 6 ? 6 : last) * stride;
    const float *r7 = r0 + (last > 7 ? 7 : last) * stride;
#define PACK_PAIR(r, s)                                                                            \
    _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(r + d)), _mm_loadu_ps(s + d), 1)
    for (int64_t d = 0; d < depth; d += 4, to += 4 * width) {
        if (d % 16 == 0) /* a line of each row */
            for (int i = 0; i <= (last < 7 ? last : 7); i++)
                __builtin_prefetch(r0 + prefetch + i * stride + d, 0, 2);
        __m256 v0 = PACK_PAIR(r0, r4), v1 = PACK_PAIR(r1, r5), v2 = PACK_PAIR(r2, r6),
               v3 = PACK_PAIR(r3, r7);
        __m256d t0 = _mm256_castps_pd(_mm256_unpacklo_ps(v0, v1)),
                t1 = _mm256_castps_pd(_mm256_unpackhi_ps(v0, v1));
        __m256d t2 = _mm256_castps_pd(_mm256_unpacklo_ps(v2, v3)),
                t3 = _mm256_castps_pd(_mm256_unpackhi_ps(v2, v3));
        _mm256_storeu_ps(to, _mm256_castpd_ps(_mm256_unpacklo_pd(t0, t2)));
        _mm256_storeu_ps(to + width, _mm256_castpd_ps(_mm256_unpackhi_pd(t0, t2)));
        _mm256_storeu_ps(to + 2 * width, _mm256_castpd_ps(_mm256_unpacklo_pd(t1, t3)));
        _mm256_storeu_ps(to + 3 * width, _mm256_castpd_ps(_mm256_unpackhi_pd(t1, t3)));
    }
#undef PACK_PAIR
}

/* Four rows; depth is a multiple of 2. */
static PACK_TARGET void pack_rows_double(const double *r0, int64_t depth, int64_t stride, int last,
                                         int64_t prefetch, int64_t width, double *to) {
    const double *r1 = r0 + (last > 1 ? 1 : last) * stride,
                 *r2 = r0 + (last > 2 ? 2 : last) * stride;
    const double *r3 = r0 + (last > 3 ? 3 : last) * stride;
#define PACK_PAIR(r, s)                                                                            \
    _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(r + d)), _mm_loadu_pd(s + d), 1)
    for (int64_t d = 0; d < depth; d += 2, to += 2 * width) {
        if (d % 8 == 0)
            for (int i = 0; i <= (last < 3 ? last : 3); i++)
                __builtin_prefetch(r0 + prefetch + i * stride + d, 0, 2);
        __m256d v0 = PACK_PAIR(r0, r2), v1 = PACK_PAIR(r1, r3);
        _mm256_storeu_pd(to, _mm256_unpacklo_pd(v0, v1));
        _mm256_storeu_pd(to + width, _mm256_unpackhi_pd(v0, v1));
    }
#undef PACK_PAIR
}

/* Of panels. */
#define PACK_WIDTHS(WIDTH) WIDTH(6) WIDTH(8) WIDTH(14) WIDTH(16)

#elif defined(__aarch64__)
#include <arm_neon.h>

#define PACK_TARGET TARGET_NEON

/* As above, four rows of four at a time. */
static inline __attribute__((always_inline)) PACK_TARGET void pack_four_float(
    const float *r0, const float *r1, const float *r2, const float *r3, int64_t width, float *to) {
    float32x4_t v0 = vld1q_f32(r0), v1 = vld1q_f32(r1), v2 = vld1q_f32(r2), v3 = vld1q_f32(r3);
    float64x2_t t0 = vreinterpretq_f64_f32(vtrn1q_f32(v0, v1)),
                t1 = vreinterpretq_f64_f32(vtrn2q_f32(v0, v1));
    float64x2_t t2 = vreinterpretq_f64_f32(vtrn1q_f32(v2, v3)),
                t3 = vreinterpretq_f64_f32(vtrn2q_f32(v2, v3));
    vst1q_f32(to, vreinterpretq_f32_f64(vtrn1q_f64(t0, t2)));
    vst1q_f32(to + width, vreinterpretq_f32_f64(vtrn1q_f64(t1, t3)));
    vst1q_f32(to + 2 * width, vreinterpretq_f32_f64(vtrn2q_f64(t0, t2)));
    vst1q_f32(to + 3 * width, vreinterpretq_f32_f64(vtrn2q_f64(t1, t3)));
}

static PACK_TARGET void pack_rows_float(const float *r0, int64_t depth, int64_t stride, int last,
                                        int64_t prefetch, int64_t width, float *to) {
    const float *r[8];
    for (int i = 0; i < 8; i++) r[i] = r0 + (last > i ? i : last) * stride;
    for (int64_t d = 0; d < depth; d += 4, to += 4 * width) {
        if (d % 16 == 0)
            for (int i = 0; i <= (last < 7 ? last : 7); i++)
                __builtin_prefetch(r0 + prefetch + i * stride + d, 0, 2);
        pack_four_float(r[0] + d, r[1] + d, r[2] + d, r[3] + d, width, to);
        pack_four_float(r[4] + d, r[5] + d, r[6] + d, r[7] + d, width, to + 4);
    }
}

static PACK_TARGET void pack_rows_double(const double *r0, int64_t depth, int64_t stride, int last,
                                         int64_t prefetch, int64_t width, double *to) {
    const double *r[4];
    for (int i = 0; i < 4; i++) r[i] = r0 + (last > i ? i : last) * stride;
    for (int64_t d = 0; d < depth; d += 2, to += 2 * width) {
        if (d % 8 == 0)
            for (int i = 0; i <= (last < 3 ? last : 3); i++)
                __builtin_prefetch(r0 + prefetch + i * stride + d, 0, 2);
#pragma GCC unroll 2
        for (int i = 0; i < 4; i += 2) {
            float64x2_t v = vld1q_f64(r[i] + d), w = vld1q_f64(r[i + 1] + d);
            vst1q_f64(to + i, vtrn1q_f64(v, w));
            vst1q_f64(to + width + i, vtrn2q_f64(v, w));
        }
    }
}

#define PACK_WIDTHS(WIDTH) WIDTH(4) WIDTH(8) WIDTH(12)

#endif

#ifdef PACK_TARGET
#define T float
#define NAME(x) x##_float
#define STEP 8
#include "cpu/gemm/gemm_pack_panels.h"

#define T double
#define NAME(x) x##_double
#define STEP 4
#include "cpu/gemm/gemm_pack_panels.h"

#endif
