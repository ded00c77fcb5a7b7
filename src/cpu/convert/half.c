/* SPDX-License-Identifier: Apache-2.0 */
/*
 * half.c - conversions of 16-bit floats.
 *
 * Method: plain integer and float arithmetic, which needs no particular processor; arrays use F16C
 * and AVX512-BF16 where these exist, and NEON's conversions of float16. All round to nearest even
 * and quiet a signalling NaN, and agree bit by bit: vcvtneps2bf16, which takes denormals for zero
 * and keeps what a NaN carries, is for vectors without either.
 * Tests: tests/unit/test_tensor.c
 */
#include "cpu/convert/half.h"

#include "cpu/isa.h"
#include "cpu/vector.h"

#include <math.h>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include "cpu/neon.h"
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

/* The first n of 16 elements. */
static inline TARGET_AVX512 __mmask16 half_mask(int64_t n) {
    return (__mmask16)(n >= 16 ? 0xffff : n > 0 ? (1 << n) - 1 : 0);
}

static TARGET_AVX512 void float16_to_floats_avx512(const float16 *src, float *dst, size_t n) {
    size_t i = 0;
    for (; i + 16 <= n; i += 16)
        _mm512_storeu_ps(dst + i, _mm512_cvtph_ps(_mm256_loadu_si256((const void *)(src + i))));
    __mmask16 left = half_mask((int64_t)(n - i));
    if (i < n)
        _mm512_mask_storeu_ps(dst + i, left,
                              _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(left, src + i)));
}

static TARGET_AVX512 void float16_from_floats_avx512(const float *src, float16 *dst, size_t n) {
    enum { NEAREST = _MM_FROUND_TO_NEAREST_INT };
    size_t i = 0;
    for (; i + 16 <= n; i += 16)
        _mm256_storeu_si256((__m256i *)(dst + i),
                            _mm512_cvtps_ph(_mm512_loadu_ps(src + i), NEAREST));
    __mmask16 left = half_mask((int64_t)(n - i));
    if (i < n)
        _mm256_mask_storeu_epi16(dst + i, left,
                                 _mm512_cvtps_ph(_mm512_maskz_loadu_ps(left, src + i), NEAREST));
}

static TARGET_AVX2 size_t float16_from_floats_avx2(const float *src, float16 *dst, size_t n) {
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm_storeu_si128((__m128i *)(dst + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(src + i), _MM_FROUND_TO_NEAREST_INT));
    return i;
}

#elif defined(__aarch64__)
static inline TARGET_NEON float32x4_t float16_widened_neon(const float16 *p) {
    return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(&p->bits)));
}

static inline TARGET_NEON float32x4_t float16_settled_neon(float32x4_t x) {
    return vcvt_f32_f16(vcvt_f16_f32(x));
}

static TARGET_NEON size_t float16_to_floats_neon(const float16 *src, float *dst, size_t n) {
    size_t i = 0;
    for (; i + 4 <= n; i += 4) vst1q_f32(dst + i, float16_widened_neon(src + i));
    return i;
}

static TARGET_NEON size_t float16_from_floats_neon(const float *src, float16 *dst, size_t n) {
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        vst1_u16(&dst[i].bits, vreinterpret_u16_f16(vcvt_f16_f32(vld1q_f32(src + i))));
    return i;
}

static TARGET_NEON int64_t float16_settle_neon(float *x, const float16 *other, bool twice,
                                               int64_t n) {
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) {
        float32x4_t sum = float16_settled_neon(vld1q_f32(x + i));
        if (other) sum = vaddq_f32(sum, float16_widened_neon(other + i));
        vst1q_f32(x + i, other && twice ? float16_settled_neon(sum) : sum);
    }
    return i;
}
#endif

void float16_to_floats(const float16 *src, float *dst, size_t n) {
    size_t i = 0;
#if defined(__x86_64__)
    if (isa_has(ISA_AVX512)) {
        float16_to_floats_avx512(src, dst, n);
        return;
    }
    if (n >= 8 && isa_has(ISA_AVX2)) i = float16_to_floats_avx2(src, dst, n);
#elif defined(__aarch64__)
    if (isa_has(ISA_NEON)) i = float16_to_floats_neon(src, dst, n);
#endif
    for (; i < n; i++) dst[i] = float16_to_float(src[i]);
}

void float16_from_floats(const float *src, float16 *dst, size_t n) {
    size_t i = 0;
#if defined(__x86_64__)
    if (isa_has(ISA_AVX512)) {
        float16_from_floats_avx512(src, dst, n);
        return;
    }
    if (n >= 8 && isa_has(ISA_AVX2)) i = float16_from_floats_avx2(src, dst, n);
#elif defined(__aarch64__)
    if (isa_has(ISA_NEON)) i = float16_from_floats_neon(src, dst, n);
#endif
    for (; i < n; i++) dst[i] = float16_from_float(src[i]);
}

VECTOR_CLONES void bfloat16_to_floats(const bfloat16 *src, float *dst, size_t n) {
    for (size_t i = 0; i < n; i++) dst[i] = bfloat16_to_float(src[i]);
}

static inline uint32_t bfloat16_rounded(uint32_t u) { /* to a float whose lower half is 0 */
    return (u & 0x7fffffffu) > 0x7f800000u ? 0x7fc00000u
                                           : (u + 0x7fffu + ((u >> 16) & 1)) & 0xffff0000u;
}

VECTOR_CLONES static void bfloat16_bound_plain(const float *src, const bfloat16 *other,
                                               bfloat16 *dst, int64_t n, float low, float high) {
    for (int64_t i = 0; i < n; i++) {
        float sum = src[i];
        if (other)
            sum = float_of_bits(bfloat16_rounded(float_bits(sum))) + bfloat16_to_float(other[i]);
        float x = sum < low ? low : sum;
        dst[i].bits = (uint16_t)(bfloat16_rounded(float_bits(x > high ? high : x)) >> 16);
    }
}

#if defined(__x86_64__)
static inline TARGET_AVX512 __m512 bfloat16_settled_avx512(__m512 x) {
    __m512i u = _mm512_castps_si512(x),
            odd = _mm512_and_si512(_mm512_srli_epi32(u, 16), _mm512_set1_epi32(1)),
            up = _mm512_add_epi32(_mm512_add_epi32(u, _mm512_set1_epi32(0x7fff)), odd),
            rounded = _mm512_and_si512(up, _mm512_set1_epi32((int)0xffff0000));
    return _mm512_castsi512_ps(_mm512_mask_mov_epi32(
        rounded, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), _mm512_set1_epi32(0x7fc00000)));
}

static inline TARGET_AVX512 __m512 bfloat16_widened_avx512(__m256i x) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(x), 16));
}

enum { BFLOAT16_ODD = 0x01 | 0x20 | 0x80 }; /* NaN and denormals, as vfpclassps counts */

static inline TARGET_AVX512BF16 __m512 bfloat16_settled_avx512bf16(__m512 x) {
    if (__builtin_expect(_mm512_fpclass_ps_mask(x, BFLOAT16_ODD), 0))
        return bfloat16_settled_avx512(x);
    return bfloat16_widened_avx512((__m256i)_mm512_cvtneps_pbh(x));
}

/* What is added, to 16 elements or some of them. */
static inline TARGET_AVX512BF16 __m512 bfloat16_plus_avx512(__m512 x, __m256i other) {
    return _mm512_add_ps(bfloat16_settled_avx512bf16(x), bfloat16_widened_avx512(other));
}

#define BFLOAT16_BOUND(x) _mm512_min_ps(most, _mm512_max_ps(least, x))
#define BFLOAT16_LOAD(p) _mm256_loadu_si256((const __m256i *)(p))

/* What vcvtneps2bf16 takes for something else is done again. */
static inline __attribute__((always_inline)) TARGET_AVX512BF16 void bfloat16_rows_some(
    const float *src, int64_t src_step, const bfloat16 *other, bfloat16 *dst, int64_t dst_step,
    int64_t rows, int64_t n, float low, float high, const bool add) {
    const __m512 least = _mm512_set1_ps(low), most = _mm512_set1_ps(high);
    const __mmask16 left = half_mask(n % 16);
    for (; rows > 0; rows--, src += src_step, dst += dst_step, other += add ? dst_step : 0) {
        __mmask16 odd = 0;
        int64_t i = 0;
        for (; i + 32 <= n; i += 32) {
            __m512 x = _mm512_loadu_ps(src + i), y = _mm512_loadu_ps(src + i + 16);
            if (add) x = bfloat16_plus_avx512(x, BFLOAT16_LOAD(other + i));
            if (add) y = bfloat16_plus_avx512(y, BFLOAT16_LOAD(other + i + 16));
            x = BFLOAT16_BOUND(x), y = BFLOAT16_BOUND(y);
            odd = _kor_mask16(odd, _kor_mask16(_mm512_fpclass_ps_mask(x, BFLOAT16_ODD),
                                               _mm512_fpclass_ps_mask(y, BFLOAT16_ODD)));
            _mm512_storeu_si512(dst + i, (__m512i)_mm512_cvtne2ps_pbh(y, x));
        }
        if (i + 16 <= n) {
            __m512 x = _mm512_loadu_ps(src + i);
            if (add) x = bfloat16_plus_avx512(x, BFLOAT16_LOAD(other + i));
            x = BFLOAT16_BOUND(x);
            odd = _kor_mask16(odd, _mm512_fpclass_ps_mask(x, BFLOAT16_ODD));
            _mm256_storeu_si256((__m256i *)(dst + i), (__m256i)_mm512_cvtneps_pbh(x));
            i += 16;
        }
        if (i < n) {
            __m512 x = _mm512_maskz_loadu_ps(left, src + i);
            if (add) x = bfloat16_plus_avx512(x, _mm256_maskz_loadu_epi16(left, other + i));
            x = BFLOAT16_BOUND(x);
            odd = _kor_mask16(odd, _mm512_fpclass_ps_mask(x, BFLOAT16_ODD));
            _mm256_mask_storeu_epi16(dst + i, left, (__m256i)_mm512_cvtneps_pbh(x));
        }
        if (__builtin_expect(odd, 0)) bfloat16_bound_plain(src, other, dst, n, low, high);
    }
}

static TARGET_AVX512BF16 void bfloat16_rows_avx512(const float *src, int64_t src_step,
                                                   const bfloat16 *other, bfloat16 *dst,
                                                   int64_t dst_step, int64_t rows, int64_t n,
                                                   float low, float high) {
    if (other) bfloat16_rows_some(src, src_step, other, dst, dst_step, rows, n, low, high, true);
    else bfloat16_rows_some(src, src_step, NULL, dst, dst_step, rows, n, low, high, false);
}
#endif

void bfloat16_rows_from_floats(const float *src, int64_t src_step, const bfloat16 *other,
                               bfloat16 *dst, int64_t dst_step, int64_t rows, int64_t n, float low,
                               float high) {
#if defined(__x86_64__)
    if (isa_has(ISA_AVX512BF16)) {
        bfloat16_rows_avx512(src, src_step, other, dst, dst_step, rows, n, low, high);
        return;
    }
#endif
    for (; rows > 0; rows--, src += src_step, dst += dst_step, other += other ? dst_step : 0)
        bfloat16_bound_plain(src, other, dst, n, low, high);
}

void bfloat16_from_floats(const float *src, bfloat16 *dst, size_t n) {
    enum { SOME = 256 }; /* that are done again together */
    int64_t rows = (int64_t)n / SOME, left = (int64_t)n % SOME;
    bfloat16_rows_from_floats(src, SOME, NULL, dst, SOME, rows, SOME, -INFINITY, INFINITY);
    src += rows * SOME, dst += rows * SOME;
    if (left) bfloat16_rows_from_floats(src, 0, NULL, dst, 0, 1, left, -INFINITY, INFINITY);
}

VECTOR_CLONES static void halves_pair_rows_plain(const uint16_t *src, int64_t apart, int64_t pairs,
                                                 uint32_t *dst) {
    for (; pairs > 0; pairs--, src += 2 * apart, dst += 16)
        for (int c = 0; c < 16; c++) dst[c] = (uint32_t)src[c] | (uint32_t)src[apart + c] << 16;
}

#if defined(__x86_64__)
static TARGET_AVX512 void halves_pair_rows_avx512(const uint16_t *src, int64_t apart, int64_t pairs,
                                                  uint32_t *dst) {
    for (; pairs > 0; pairs--, src += 2 * apart, dst += 16) {
        __m512i low = _mm512_cvtepu16_epi32(BFLOAT16_LOAD(src)),
                high = _mm512_cvtepu16_epi32(BFLOAT16_LOAD(src + apart));
        _mm512_storeu_si512(dst, _mm512_or_si512(low, _mm512_slli_epi32(high, 16)));
    }
}
#endif

void halves_pair_rows(const uint16_t *src, int64_t apart, int64_t pairs, uint32_t *dst) {
#if defined(__x86_64__)
    if (isa_has(ISA_AVX512)) {
        halves_pair_rows_avx512(src, apart, pairs, dst);
        return;
    }
#endif
    halves_pair_rows_plain(src, apart, pairs, dst);
}

#if defined(__x86_64__)
static inline TARGET_AVX512 __mmask32 half_line_mask(int64_t n) {
    return (__mmask32)(n >= 32 ? 0xffffffffu : n > 0 ? (UINT32_C(1) << n) - 1 : 0);
}

static TARGET_AVX512 void bfloat16_rows_padded_avx512(const bfloat16 *src, int64_t n, bfloat16 *dst,
                                                      int64_t step, int64_t rows) {
    const int64_t whole = n & ~INT64_C(31);
    const __mmask32 from = half_line_mask(n - whole), to = half_line_mask(step - whole);
    for (; rows > 0; rows--, src += n, dst += step) {
        int64_t i = 0;
        for (; i < whole; i += 32) _mm512_storeu_si512(dst + i, _mm512_loadu_si512(src + i));
        if (i < step)
            _mm512_mask_storeu_epi16(dst + i, to, _mm512_maskz_loadu_epi16(from, src + i));
        for (i += 32; i < step; i += 32)
            _mm512_mask_storeu_epi16(dst + i, half_line_mask(step - i), _mm512_setzero_si512());
    }
}
#endif

void bfloat16_rows_padded(const bfloat16 *src, int64_t n, bfloat16 *dst, int64_t step,
                          int64_t rows) {
#if defined(__x86_64__)
    if (isa_has(ISA_AVX512)) {
        bfloat16_rows_padded_avx512(src, n, dst, step, rows);
        return;
    }
#endif
    for (; rows > 0; rows--, src += n, dst += step) {
        memcpy(dst, src, (size_t)n * sizeof *dst);
        memset(dst + n, 0, (size_t)(step - n) * sizeof *dst);
    }
}

VECTOR_CLONES static void bfloat16_settle_plain(float *x, const bfloat16 *other, bool twice,
                                                int64_t n) {
    for (int64_t i = 0; i < n; i++) x[i] = float_of_bits(bfloat16_rounded(float_bits(x[i])));
    if (!other) return;
    for (int64_t i = 0; i < n; i++) x[i] += bfloat16_to_float(other[i]);
    if (twice) bfloat16_settle_plain(x, NULL, false, n);
}

#if defined(__x86_64__)
/* Of either kind, 16 elements at a time. */
#define SETTLE(name, TARGET, kind, settled, widened)                                               \
    static TARGET void name(float *x, int64_t ld, const kind *other, int64_t other_ld, bool twice, \
                            int64_t rows, int64_t n) {                                             \
        for (; rows > 0; rows--, x += ld, other += other ? other_ld : 0)                           \
            for (int64_t i = 0; i < n; i += 16) {                                                  \
                bool whole = i + 16 <= n;                                                          \
                __mmask16 there = whole ? 0xffff : half_mask(n - i);                               \
                __m512 sum = _mm512_maskz_loadu_ps(there, x + i);                                  \
                sum = settled(sum);                                                                \
                if (other) {                                                                       \
                    __m256i more = _mm256_maskz_loadu_epi16(there, other + i);                     \
                    sum = _mm512_add_ps(sum, widened(more));                                       \
                    if (twice) sum = settled(sum);                                                 \
                }                                                                                  \
                if (whole) _mm512_storeu_ps(x + i, sum);                                           \
                else _mm512_mask_storeu_ps(x + i, there, sum);                                     \
            }                                                                                      \
    }
SETTLE(bfloat16_settle_avx512, TARGET_AVX512, bfloat16, bfloat16_settled_avx512,
       bfloat16_widened_avx512)
SETTLE(bfloat16_settle_avx512bf16, TARGET_AVX512BF16, bfloat16, bfloat16_settled_avx512bf16,
       bfloat16_widened_avx512)

static inline TARGET_AVX512 __m512 float16_settled_avx512(__m512 x) {
    return _mm512_cvtph_ps(_mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}
SETTLE(float16_settle_avx512, TARGET_AVX512, float16, float16_settled_avx512, _mm512_cvtph_ps)
#undef SETTLE
#endif

void bfloat16_settle(float *x, int64_t ld, const bfloat16 *other, int64_t other_ld, bool twice,
                     int64_t rows, int64_t n) {
#if defined(__x86_64__)
    if (isa_has(ISA_AVX512)) {
        (isa_has(ISA_AVX512BF16) ? bfloat16_settle_avx512bf16
                                 : bfloat16_settle_avx512)(x, ld, other, other_ld, twice, rows, n);
        return;
    }
#endif
    for (; rows > 0; rows--, x += ld, other += other ? other_ld : 0)
        bfloat16_settle_plain(x, other, twice, n);
}

#if defined(__x86_64__)
static inline TARGET_AVX2 __m256 float16_settled_avx2(__m256 x) {
    return _mm256_cvtph_ps(_mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}

static TARGET_AVX2 int64_t float16_settle_avx2(float *x, const float16 *other, bool twice,
                                               int64_t n) {
    int64_t i = 0;
    for (; !other && i + 8 <= n; i += 8)
        _mm256_storeu_ps(x + i, float16_settled_avx2(_mm256_loadu_ps(x + i)));
    for (; i + 8 <= n; i += 8) {
        __m256 more = _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(other + i))),
               sum = _mm256_add_ps(float16_settled_avx2(_mm256_loadu_ps(x + i)), more);
        _mm256_storeu_ps(x + i, twice ? float16_settled_avx2(sum) : sum);
    }
    return i;
}
#endif

static float float16_settled(float x) { return float16_to_float(float16_from_float(x)); }

void float16_settle(float *x, int64_t ld, const float16 *other, int64_t other_ld, bool twice,
                    int64_t rows, int64_t n) {
#if defined(__x86_64__)
    if (isa_has(ISA_AVX512)) {
        float16_settle_avx512(x, ld, other, other_ld, twice, rows, n);
        return;
    }
#endif
    for (; rows > 0; rows--, x += ld, other += other ? other_ld : 0) {
        int64_t i = 0;
#if defined(__x86_64__)
        if (n >= 8 && isa_has(ISA_AVX2)) i = float16_settle_avx2(x, other, twice, n);
#elif defined(__aarch64__)
        if (isa_has(ISA_NEON)) i = float16_settle_neon(x, other, twice, n);
#endif
        for (; i < n; i++) {
            x[i] = float16_settled(x[i]);
            if (!other) continue;
            x[i] += float16_to_float(other[i]);
            if (twice) x[i] = float16_settled(x[i]);
        }
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
        float16_to_floats(src, dst, (size_t)n);
}

VECTOR_CLONES void bfloat16_rows_to_floats(const bfloat16 *src, int64_t src_step, float *dst,
                                           int64_t dst_step, int64_t rows, int64_t n) {
    for (; rows > 0; rows--, src += src_step, dst += dst_step)
        for (int64_t i = 0; i < n; i += 8)
            for (int e = 0; e < 8; e++) dst[i + e] = bfloat16_to_float(src[i + e]);
}
