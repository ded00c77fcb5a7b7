/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sparse_neon.c - products with sparse matrices (sparse.h), for ARM64.
 * Tests: tests/unit/test_sparse.c
 */
#include "cpu/gemm/sparse.h"

#if defined(__aarch64__)
#include "cpu/neon.h"

#include <stddef.h>

#define V float32x4_t
#define LANES 4
#define ELEMENT float
#define NAME(x) sparse_f32_neon_##x
#define TARGET TARGET_NEON
#define SET1 vdupq_n_f32
#define ZERO() vdupq_n_f32(0)
#define FMA neon_fma
#define ADD vaddq_f32
#define VLOAD vld1q_f32
#define VSTORE vst1q_f32
#include "cpu/gemm/sparse_tile.h"

#define V float64x2_t
#define LANES 2
#define ELEMENT double
#define NAME(x) sparse_f64_neon_##x
#define TARGET TARGET_NEON
#define SET1 vdupq_n_f64
#define ZERO() vdupq_n_f64(0)
#define FMA(a, b, c) vfmaq_f64(c, a, b)
#define ADD vaddq_f64
#define VLOAD vld1q_f64
#define VSTORE vst1q_f64
#include "cpu/gemm/sparse_tile.h"

const sparse_micro sparse_f32_neon = {ISA_NEON, sparse_f32_neon_product, sparse_f32_neon_dots,
                                      sparse_f32_neon_sampled, NULL};
const sparse_micro sparse_f64_neon = {ISA_NEON, sparse_f64_neon_product, sparse_f64_neon_dots,
                                      sparse_f64_neon_sampled, NULL};
#endif
