/* SPDX-License-Identifier: Apache-2.0 */
/*
 * byte_rows_vector.c - the functions of byte_rows.h for processors with AVX2 and FMA, and for those
 * with AVX-512.
 * Tests: tests/unit/test_quantized_bytes.c
 */
#include "cpu/rows/byte_rows.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

static inline TARGET_AVX2 __m256i byte_get_256(const uint8_t *p, int64_t n) {
    uint8_t part[32] = {0};
    if (n >= 32) return _mm256_loadu_si256((const __m256i *)(const void *)p);
    memcpy(part, p, (size_t)n);
    return _mm256_loadu_si256((const __m256i *)(const void *)part);
}

static inline TARGET_AVX2 void byte_put_256(uint8_t *p, __m256i v, int64_t n) {
    uint8_t part[32];
    _mm256_storeu_si256((__m256i *)(void *)(n >= 32 ? p : part), v);
    if (n < 32) memcpy(p, part, (size_t)n);
}

static inline TARGET_AVX512 __mmask64 byte_mask_512(int64_t n) {
    return n >= 64 ? ~(__mmask64)0 : ((__mmask64)1 << n) - 1;
}

#define V __m256i
#define F __m256
#define LANES 8
#define NAME(x) byte_avx2_##x
#define TARGET TARGET_AVX2
#define GET byte_get_256
#define PUT byte_put_256
#define LOADF _mm256_loadu_ps
#define FLOAT _mm256_cvtepi32_ps
#define INT _mm256_cvtps_epi32
#define ADDF _mm256_add_ps
#define SUBF _mm256_sub_ps
#define MULF _mm256_mul_ps
#define FMA _mm256_fmadd_ps
#define SETF _mm256_set1_ps
#define SET8 _mm256_set1_epi8
#define SET16 _mm256_set1_epi16
#define LO8 _mm256_unpacklo_epi8
#define HI8 _mm256_unpackhi_epi8
#define LO16 _mm256_unpacklo_epi16
#define HI16 _mm256_unpackhi_epi16
#define PACK16 _mm256_packs_epi32
#define PACK8 _mm256_packus_epi16
#define ADD16 _mm256_adds_epi16
#define MIN8 _mm256_min_epu8
#define MAX8 _mm256_max_epu8
#include "cpu/rows/byte_rows_tile.h"

#define V __m512i
#define F __m512
#define LANES 16
#define NAME(x) byte_avx512_##x
#define TARGET TARGET_AVX512
#define GET(p, n) _mm512_maskz_loadu_epi8(byte_mask_512(n), p)
#define PUT(p, v, n) _mm512_mask_storeu_epi8(p, byte_mask_512(n), v)
#define LOADF _mm512_loadu_ps
#define FLOAT _mm512_cvtepi32_ps
#define INT _mm512_cvtps_epi32
#define ADDF _mm512_add_ps
#define SUBF _mm512_sub_ps
#define MULF _mm512_mul_ps
#define FMA _mm512_fmadd_ps
#define SETF _mm512_set1_ps
#define SET8 _mm512_set1_epi8
#define SET16 _mm512_set1_epi16
#define LO8 _mm512_unpacklo_epi8
#define HI8 _mm512_unpackhi_epi8
#define LO16 _mm512_unpacklo_epi16
#define HI16 _mm512_unpackhi_epi16
#define PACK16 _mm512_packs_epi32
#define PACK8 _mm512_packus_epi16
#define ADD16 _mm512_adds_epi16
#define MIN8 _mm512_min_epu8
#define MAX8 _mm512_max_epu8
#include "cpu/rows/byte_rows_tile.h"

/* ---- tables ---------------------------------------------------------------------------------- */

/* A byte less 16 k is an index of row k where it is less than 16; elsewhere the sum with 112
 * has its highest bit, for which vpshufb gives 0. */
static TARGET_AVX2 void byte_avx2_table(const uint8_t *table, const uint8_t *x, int64_t n,
                                        uint8_t *out) {
    __m256i row[16], high = _mm256_set1_epi8(112), step = _mm256_set1_epi8(16);
    for (int k = 0; k < 16; k++)
        row[k] = _mm256_broadcastsi128_si256(
            _mm_loadu_si128((const __m128i *)(const void *)(table + 16 * k)));
    for (; n > 0; n -= 32, x += 32, out += 32) {
        __m256i at = byte_get_256(x, n), y = _mm256_setzero_si256();
#pragma GCC unroll 16
        for (int k = 0; k < 16; k++) {
            y = _mm256_or_si256(y, _mm256_shuffle_epi8(row[k], _mm256_adds_epu8(at, high)));
            at = _mm256_sub_epi8(at, step);
        }
        byte_put_256(out, y, n);
    }
}

static TARGET_AVX512VBMI void byte_avx512_table(const uint8_t *table, const uint8_t *x, int64_t n,
                                                uint8_t *out) {
    __m512i a = _mm512_loadu_si512(table), b = _mm512_loadu_si512(table + 64),
            c = _mm512_loadu_si512(table + 128), d = _mm512_loadu_si512(table + 192);
    for (; n > 0; n -= 64, x += 64, out += 64) {
        __mmask64 m = n >= 64 ? ~(__mmask64)0 : ((__mmask64)1 << n) - 1;
        __m512i at = _mm512_maskz_loadu_epi8(m, x), low = _mm512_permutex2var_epi8(a, at, b),
                high = _mm512_permutex2var_epi8(c, at, d);
        _mm512_mask_storeu_epi8(out, m, _mm512_mask_blend_epi8(_mm512_movepi8_mask(at), low, high));
    }
}

const byte_rows byte_rows_avx2 = {
    ISA_AVX2, 8, byte_avx2_table, byte_avx2_sum, byte_avx2_product, byte_avx2_line};
const byte_rows byte_rows_avx512 = {
    ISA_AVX512, 16, byte_avx2_table, byte_avx512_sum, byte_avx512_product, byte_avx512_line};
const byte_rows byte_rows_vbmi = {
    ISA_AVX512VBMI, 16, byte_avx512_table, byte_avx512_sum, byte_avx512_product, byte_avx512_line};

#endif
