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

#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

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

#define T float
#define NAME(x) x##_float
#define STEP 8
#include "cpu/gemm/gemm_pack_panels.h"

#define T double
#define NAME(x) x##_double
#define STEP 4
#include "cpu/gemm/gemm_pack_panels.h"

#endif
