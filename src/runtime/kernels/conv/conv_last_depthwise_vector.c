/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv_last_depthwise_vector.c - the kernels of conv_last_depthwise.h for processors with AVX2 and
 * FMA, and for those with AVX-512F.
 * Tests: tests/unit/test_conv_last_depthwise.c
 */
#include "runtime/kernels/conv/conv_last_depthwise.h"

#if defined(__x86_64__)
#include <immintrin.h>

/* UBSan makes compilation of the unrolled kernels slow, and finds pointers in front of a
 * row's first column. */
#define DEPTHWISE_AVX2 __attribute__((target("avx2,fma"), no_sanitize("undefined")))
#define DEPTHWISE_AVX512 __attribute__((target("avx512f,avx2,fma"), no_sanitize("undefined")))

static bool depthwise_avx2_usable(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static bool depthwise_avx512_usable(void) {
    return __builtin_cpu_supports("avx512f") && depthwise_avx2_usable();
}

#define V __m256
#define LANES 8
#define ROWS 1
#define NAME(x) depthwise_avx2_##x
#define TARGET DEPTHWISE_AVX2
#define VLOAD _mm256_loadu_ps
#define VSTORE _mm256_storeu_ps
#define SET1 _mm256_set1_ps
#define FMA _mm256_fmadd_ps
#define MAX _mm256_max_ps
#define MIN _mm256_min_ps
#define KERNELS const depthwise_kernels depthwise_avx2
#define KERNELS_HEAD "avx2", depthwise_avx2_usable
#include "runtime/kernels/conv/conv_last_depthwise_tile.h"

#define V __m512
#define LANES 16
#define ROWS 2
#define NAME(x) depthwise_avx512_##x
#define TARGET DEPTHWISE_AVX512
#define VLOAD _mm512_loadu_ps
#define VSTORE _mm512_storeu_ps
#define SET1 _mm512_set1_ps
#define FMA _mm512_fmadd_ps
#define MAX _mm512_max_ps
#define MIN _mm512_min_ps
#define KERNELS const depthwise_kernels depthwise_avx512
#define KERNELS_HEAD "avx512", depthwise_avx512_usable
#include "runtime/kernels/conv/conv_last_depthwise_tile.h"

#endif
