/* SPDX-License-Identifier: Apache-2.0 */
/*
 * depthwise_vector.c - the kernels of depthwise.h for processors with AVX2 and
 * FMA, and for those with AVX-512F.
 * Tests: tests/unit/test_conv_last_depthwise.c
 */
#include "cpu/conv/depthwise.h"

#if defined(__x86_64__)
#include <immintrin.h>

/* UBSan would also find pointers in front of a row's first column. */
#if ISA_BUILDS(AVX2)
#define V __m256
#define LANES 8
#define ROWS 1
#define NAME(x) depthwise_avx2_##x
#define TARGET TARGET_AVX2
#define VLOAD _mm256_loadu_ps
#define VSTORE _mm256_storeu_ps
#define SET1 _mm256_set1_ps
#define FMA _mm256_fmadd_ps
#define MAX _mm256_max_ps
#define MIN _mm256_min_ps
#define KERNELS const depthwise_kernels depthwise_avx2
#define KERNELS_HEAD ISA_AVX2
#include "cpu/conv/depthwise_tile.h"
#endif

#if ISA_BUILDS(AVX512)
#define V __m512
#define LANES 16
#define ROWS 2
#define NAME(x) depthwise_avx512_##x
#define TARGET TARGET_AVX512
#define VLOAD _mm512_loadu_ps
#define VSTORE _mm512_storeu_ps
#define SET1 _mm512_set1_ps
#define FMA _mm512_fmadd_ps
#define MAX _mm512_max_ps
#define MIN _mm512_min_ps
#define KERNELS const depthwise_kernels depthwise_avx512
#define KERNELS_HEAD ISA_AVX512
#include "cpu/conv/depthwise_tile.h"
#endif

#endif
