/* SPDX-License-Identifier: Apache-2.0 */
/*
 * half.c - conversions of 16-bit floats.
 *
 * Method: plain integer and float arithmetic, which needs no particular processor; arrays use F16C
 * where it exists. Both round to nearest even and quiet a signalling NaN, so they agree bit by bit.
 * Tests: tests/unit/test_tensor.c
 */
#include "cpu/convert/half.h"

#include "cpu/isa.h"
#include "cpu/vector.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

float float16_to_float(float16 h) {
    uint32_t sign = (uint32_t)(h.bits & 0x8000u) << 16;
    uint32_t exponent = (h.bits >> 10) & 0x1fu, mantissa = h.bits & 0x3ffu;
    if (exponent == 0x1f) {
        uint32_t quiet = mantissa ? 0x400000u : 0;
        return float_of_bits(sign | 0x7f800000u | quiet | mantissa << 13);
    }
    if (exponent == 0) { /* zero or subnormal: mantissa * 2^-24, exact in a float */
        float f = (float)mantissa * 0x1p-24f;
        return sign ? -f : f;
    }
    return float_of_bits(sign | (exponent + 112) << 23 | mantissa << 13);
}

float16 float16_from_float(float f) {
    uint32_t u = float_bits(f), sign = (u >> 16) & 0x8000u, magnitude = u & 0x7fffffffu;
    uint32_t h;
    if (magnitude > 0x7f800000u) { /* NaN: keep the upper payload bits, quieted */
        h = 0x7e00u | ((magnitude >> 13) & 0x3ffu);
    } else if (magnitude >= 0x47800000u) { /* 65536 and up, infinity */
        h = 0x7c00u;
    } else if (magnitude < 0x38800000u) {
        /* Below 2^-14: adding 0.5 shifts the mantissa to units of 2^-24 and rounds it to even. */
        h = float_bits(float_of_bits(magnitude) + 0.5f) - 0x3f000000u;
    } else { /* rounding may carry into the exponent, up to infinity: that is right */
        h = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1)) >> 13;
    }
    return (float16){(uint16_t)(sign | h)};
}

bfloat16 bfloat16_from_float(float f) {
    uint32_t u = float_bits(f);
    if ((u & 0x7fffffffu) > 0x7f800000u) return (bfloat16){0x7fc0};
    return (bfloat16){(uint16_t)((u + 0x7fffu + ((u >> 16) & 1)) >> 16)};
}

/* ---- arrays ---------------------------------------------------------------------------------- */

#if defined(__x86_64__)
static TARGET_AVX2 size_t float16_to_floats_avx2(const float16 *src, float *dst, size_t n) {
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(dst + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(src + i))));
    return i;
}

static TARGET_AVX2 size_t float16_from_floats_avx2(const float *src, float16 *dst, size_t n) {
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm_storeu_si128((__m128i *)(dst + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(src + i), _MM_FROUND_TO_NEAREST_INT));
    return i;
}

#endif

void float16_to_floats(const float16 *src, float *dst, size_t n) {
    size_t i = 0;
#if defined(__x86_64__)
    if (n >= 8 && isa_has(ISA_AVX2)) i = float16_to_floats_avx2(src, dst, n);
#endif
    for (; i < n; i++) dst[i] = float16_to_float(src[i]);
}

void float16_from_floats(const float *src, float16 *dst, size_t n) {
    size_t i = 0;
#if defined(__x86_64__)
    if (n >= 8 && isa_has(ISA_AVX2)) i = float16_from_floats_avx2(src, dst, n);
#endif
    for (; i < n; i++) dst[i] = float16_from_float(src[i]);
}

VECTOR_CLONES void bfloat16_to_floats(const bfloat16 *src, float *dst, size_t n) {
    for (size_t i = 0; i < n; i++) dst[i] = bfloat16_to_float(src[i]);
}

VECTOR_CLONES void bfloat16_from_floats(const float *src, bfloat16 *dst, size_t n) {
    for (size_t i = 0; i < n; i++) {
        uint32_t u = float_bits(src[i]), rounded = (u + 0x7fffu + ((u >> 16) & 1)) >> 16;
        dst[i].bits = (uint16_t)((u & 0x7fffffffu) > 0x7f800000u ? 0x7fc0u : rounded);
    }
}

#if defined(__x86_64__)
static TARGET_AVX2 void float16_rows_avx2(const float16 *src, int64_t src_step, float *dst,
                                          int64_t dst_step, int64_t rows, int64_t n) {
    for (; rows > 0; rows--, src += src_step, dst += dst_step)
        for (int64_t i = 0; i < n; i += 8)
            _mm256_storeu_ps(dst + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(src + i))));
}
#endif

void float16_rows_to_floats(const float16 *src, int64_t src_step, float *dst, int64_t dst_step,
                            int64_t rows, int64_t n) {
#if defined(__x86_64__)
    if (isa_has(ISA_AVX2)) {
        float16_rows_avx2(src, src_step, dst, dst_step, rows, n);
        return;
    }
#endif
    for (; rows > 0; rows--, src += src_step, dst += dst_step)
        for (int64_t i = 0; i < n; i++) dst[i] = float16_to_float(src[i]);
}

VECTOR_CLONES void bfloat16_rows_to_floats(const bfloat16 *src, int64_t src_step, float *dst,
                                           int64_t dst_step, int64_t rows, int64_t n) {
    for (; rows > 0; rows--, src += src_step, dst += dst_step)
        for (int64_t i = 0; i < n; i += 8)
            for (int e = 0; e < 8; e++) dst[i + e] = bfloat16_to_float(src[i + e]);
}
