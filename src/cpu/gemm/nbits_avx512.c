/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nbits_avx512.c - products with weights of 4 or 8 bits (nbits.h), of 512 bits: with AVX-512 alone,
 * as nbits_avx2.c does it, and with dot products of bytes (AVX512-VNNI).
 * Tests: tests/unit/test_nbits.c
 */
#include "cpu/gemm/nbits.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>

static inline TARGET_AVX512 __m512i nbits_dot4_avx512(__m512i acc, __m512i lo, __m512i x,
                                                      __m512i hi, __m512i y) {
    __m512i pairs = _mm512_add_epi16(_mm512_maddubs_epi16(lo, x), _mm512_maddubs_epi16(hi, y));
    return _mm512_add_epi32(acc, _mm512_madd_epi16(pairs, _mm512_set1_epi16(1)));
}
static inline TARGET_AVX512 __m512i nbits_dot8_avx512(__m512i acc, __m512i q, __m512i x) {
    __m512i w = _mm512_xor_si512(q, _mm512_set1_epi8((char)0x80));
    __mmask64 negative = _mm512_movepi8_mask(w);
    __m512i signs = _mm512_mask_sub_epi8(x, negative, _mm512_setzero_si512(), x),
            pairs = _mm512_maddubs_epi16(_mm512_abs_epi8(w), signs);
    return _mm512_add_epi32(acc, _mm512_madd_epi16(pairs, _mm512_set1_epi16(1)));
}
static inline TARGET_AVX512 __m512 nbits_halves_512(const uint8_t *p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)p));
}
static inline TARGET_AVX512 __m512 nbits_bytes_512(const uint8_t *p) {
    return _mm512_cvtepi32_ps(
        _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)(const void *)p)));
}
/* The permutation takes the lowest four bits of each lane for the place in the table. */
static inline __attribute__((always_inline)) TARGET_AVX512 __m512 nbits_nibble_512(__m512i w,
                                                                                   int i) {
    const __m512 less8 = _mm512_setr_ps(-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7);
    return _mm512_permutexvar_ps(i ? _mm512_srli_epi32(w, (unsigned)(4 * i)) : w, less8);
}

/* Numbers of two elements of k side by side. */
static inline TARGET_AVX512BF16 void nbits_store_pair_512(__m512 first, __m512 second,
                                                          bfloat16 *to) {
    const __m512i beside = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9,
                                            24, 8, 23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1,
                                            16, 0);
    __m512i both = (__m512i)_mm512_cvtne2ps_pbh(second, first);
    _mm512_storeu_si512(to, _mm512_permutexvar_epi16(beside, both));
}

#define NUMBER8(i)                                                                                 \
    _mm512_mul_ps(_mm512_sub_ps(_mm512_cvtepi32_ps(_mm512_and_si512(                               \
                                    i ? _mm512_srli_epi32(w, (unsigned)(8 * i)) : w, mask)),       \
                                zero[v]),                                                          \
                  by[v])
#define NUMBER4(i) _mm512_mul_ps(_mm512_sub_ps(nbits_nibble_512(w, i), zero[v]), by[v])

void TARGET_AVX512BF16 nbits_pairs_avx512(const nbits_form *f, const uint8_t *b, const float *scale,
                                          const float *less, int64_t k, bfloat16 *to,
                                          int64_t apart) {
    enum { VECTORS = NBITS_MOST_COLUMNS / 16, AHEAD = 2048 }; /* bytes */
    const __m512i mask = _mm512_set1_epi32(255);
    __m512 by[VECTORS], zero[VECTORS];
    for (int v = 0; v < VECTORS; v++) {
        by[v] = _mm512_loadu_ps(scale + 16 * v);
        zero[v] = _mm512_sub_ps(_mm512_loadu_ps(less + 16 * v),
                                _mm512_set1_ps(f->bits == 8 ? 0 : 8));
    }
    const bool eight = f->bits == 8;
    const int64_t step = eight ? 4 : NBITS_EIGHT; /* elements of k in a vector's lane */
    for (int64_t i = 0; i < k; i += step, to += 16 * step)
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++, b += 64) {
            __m512i w = _mm512_loadu_si512(b);
            bfloat16 *at = to + v * apart;
            _mm_prefetch((const char *)b + AHEAD, _MM_HINT_T0);
            if (eight) {
                nbits_store_pair_512(NUMBER8(0), NUMBER8(1), at);
                nbits_store_pair_512(NUMBER8(2), NUMBER8(3), at + 32);
            } else {
                nbits_store_pair_512(NUMBER4(0), NUMBER4(2), at);
                nbits_store_pair_512(NUMBER4(4), NUMBER4(6), at + 32);
                nbits_store_pair_512(NUMBER4(1), NUMBER4(3), at + 64);
                nbits_store_pair_512(NUMBER4(5), NUMBER4(7), at + 96);
            }
        }
}
#undef NUMBER4
#undef NUMBER8

#define VECTOR(x) nbits_512_##x
#define VTARGET TARGET_AVX512
#define I __m512i
#define F __m512
#define LANES 16
#define ISET1 _mm512_set1_epi32
#define LOAD(p) _mm512_loadu_si512((const void *)(p))
#define AND _mm512_and_si512
#define XOR _mm512_xor_si512
#define SRL(w, n) _mm512_srli_epi32(w, (unsigned)(n))
#define SLL(w, n) _mm512_slli_epi32(w, (unsigned)(n))
#define SRA(w, n) _mm512_srai_epi32(w, (unsigned)(n))
#define ADD _mm512_add_epi32
#define MUL _mm512_mullo_epi32
#define FLOATS _mm512_cvtepi32_ps
#define SET1 _mm512_set1_ps
#define ZERO _mm512_setzero_ps
#define FMA _mm512_fmadd_ps
#define FNMA _mm512_fnmadd_ps
#define FMUL _mm512_mul_ps
#define VLOAD _mm512_loadu_ps
#define VSTORE _mm512_storeu_ps
#define HALVES nbits_halves_512
#define BYTES nbits_bytes_512
#define NIBBLE nbits_nibble_512
#include "cpu/gemm/nbits_float_tile.h"

#define NAME(x) nbits_avx512_##x
#define TARGET TARGET_AVX512
#define SIGNED 1
#define DOT4 nbits_dot4_avx512
#define DOT8 nbits_dot8_avx512
#include "cpu/gemm/nbits_whole_tile.h"

const nbits_micro nbits_avx512 = {ISA_AVX512, 64, false, nbits_avx512_whole, nbits_512_floats};

#define NAME(x) nbits_avx512vnni_##x
#define TARGET TARGET_AVX512VNNI
#define SIGNED 0
#define DOT4(acc, lo, x, hi, y) _mm512_dpbusd_epi32(_mm512_dpbusd_epi32(acc, lo, x), hi, y)
#define DOT8(acc, q, x) _mm512_dpbusd_epi32(acc, q, x)
#include "cpu/gemm/nbits_whole_tile.h"

const nbits_micro nbits_avx512vnni = {ISA_AVX512VNNI, 64, true, nbits_avx512vnni_whole,
                                      nbits_512_floats};
#endif
