/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nbits_avx2.c - products with 4-bit or 8-bit weights (nbits.h), 256
 * bits wide: with plain AVX2, and with byte dot products (AVX-VNNI).
 *
 * Without these: sums of two products of a byte of a row with 4 bits easily fit
 * 16 bits. The sign of weight bytes is moved to the row's bytes, which makes
 * the weights unsigned, and two products of at most 128 * 127 fit 16 bits.
 * Tests: tests/unit/test_nbits.c
 */
#include "cpu/gemm/nbits.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>

static inline TARGET_AVX2 __m256i nbits_dot4_avx2(__m256i acc, __m256i lo, __m256i x, __m256i hi,
                                                  __m256i y) {
    __m256i pairs = _mm256_add_epi16(_mm256_maddubs_epi16(lo, x), _mm256_maddubs_epi16(hi, y));
    return _mm256_add_epi32(acc, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}
static inline TARGET_AVX2 __m256i nbits_dot8_avx2(__m256i acc, __m256i q, __m256i x) {
    __m256i w = _mm256_xor_si256(q, _mm256_set1_epi8((char)0x80)),
            pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(w), _mm256_sign_epi8(x, w));
    return _mm256_add_epi32(acc, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}
static inline TARGET_AVX2 __m256 nbits_halves_256(const uint8_t *p) {
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)p));
}
static inline TARGET_AVX2 __m256 nbits_bytes_256(const uint8_t *p) {
    return _mm256_cvtepi32_ps(
        _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)p)));
}
/* A nibble less 8 is what its four bits mean with the highest one turned, as a number with sign. */
static inline __attribute__((always_inline)) TARGET_AVX2 __m256 nbits_nibble_256(__m256i w, int i) {
    __m256i turned = _mm256_xor_si256(w, _mm256_set1_epi8((char)0x88));
    return _mm256_cvtepi32_ps(_mm256_srai_epi32(_mm256_slli_epi32(turned, 28 - 4 * i), 28));
}

#define VECTOR(x) nbits_256_##x
#define VTARGET TARGET_AVX2
#define I __m256i
#define F __m256
#define LANES 8
#define ISET1 _mm256_set1_epi32
#define LOAD(p) _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define AND _mm256_and_si256
#define XOR _mm256_xor_si256
#define SRL _mm256_srli_epi32
#define SLL _mm256_slli_epi32
#define SRA _mm256_srai_epi32
#define ADD _mm256_add_epi32
#define MUL _mm256_mullo_epi32
#define FLOATS _mm256_cvtepi32_ps
#define SET1 _mm256_set1_ps
#define ZERO _mm256_setzero_ps
#define FMA _mm256_fmadd_ps
#define FNMA _mm256_fnmadd_ps
#define FMUL _mm256_mul_ps
#define VLOAD _mm256_loadu_ps
#define VSTORE _mm256_storeu_ps
#define HALVES nbits_halves_256
#define BYTES nbits_bytes_256
#define NIBBLE nbits_nibble_256
#include "cpu/gemm/nbits_float_tile.h"

#define NAME(x) nbits_avx2_##x
#define TARGET TARGET_AVX2
#define SIGNED 1
#define DOT4 nbits_dot4_avx2
#define DOT8 nbits_dot8_avx2
#include "cpu/gemm/nbits_whole_tile.h"

const nbits_micro nbits_avx2 = {ISA_AVX2, 32, false, nbits_avx2_whole, nbits_256_floats};

#define NAME(x) nbits_avxvnni_##x
#define TARGET TARGET_AVXVNNI
#define SIGNED 0
#define DOT4(acc, lo, x, hi, y) _mm256_dpbusd_avx_epi32(_mm256_dpbusd_avx_epi32(acc, lo, x), hi, y)
#define DOT8(acc, q, x) _mm256_dpbusd_avx_epi32(acc, q, x)
#include "cpu/gemm/nbits_whole_tile.h"

const nbits_micro nbits_avxvnni = {ISA_AVXVNNI, 32, true, nbits_avxvnni_whole, nbits_256_floats};
#endif
