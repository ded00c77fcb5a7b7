/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bytes_avx512.c - products of bytes with AVX-512 VNNI.
 *
 * Tiles are 14 x 32: 28 sums, two vectors of weights and a broadcast fill 31 of the 32 registers.
 * Tests: tests/unit/test_quantized_bytes.c
 */
#include "cpu/quad/quad.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

static inline TARGET_AVX512VNNI __m512i quant_splat_512(const void *p) {
    int32_t quad;
    memcpy(&quad, p, sizeof quad);
    return _mm512_set1_epi32(quad);
}

static inline TARGET_AVX512VNNI __mmask64 quant_mask_512(int64_t n) {
    return n >= 64 ? ~(__mmask64)0 : ((__mmask64)1 << n) - 1;
}

static inline TARGET_AVX512VNNI void quant_put_512(uint8_t *p, __m512i v, int64_t n) {
    if (n >= 64) _mm512_storeu_si512(p, v);
    else _mm512_mask_storeu_epi8(p, quant_mask_512(n), v);
}

static inline TARGET_AVX512VNNI void quant_put_rows_512(uint8_t *p, uint8_t *q, __m512i v, int n) {
    v = _mm512_permutexvar_epi32(
        _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15), v);
    __m256i first = _mm512_castsi512_si256(v), second = _mm512_extracti64x4_epi64(v, 1);
    if (n >= 32) {
        _mm256_storeu_si256((__m256i *)(void *)p, first);
        if (q) _mm256_storeu_si256((__m256i *)(void *)q, second);
        return;
    }
    __mmask32 m = (__mmask32)quant_mask_512(n);
    _mm256_mask_storeu_epi8(p, m, first);
    if (q) _mm256_mask_storeu_epi8(q, m, second);
}

static inline TARGET_AVX512VNNI __m512i quant_get_512(const uint8_t *p, int64_t n) {
    return n >= 64 ? _mm512_loadu_si512(p) : _mm512_maskz_loadu_epi8(quant_mask_512(n), p);
}

#define V __m512i
#define F __m512
#define LANES 16
#define NAME(x) quant_avx512_##x
#define TARGET TARGET_AVX512VNNI
#define MR 14
#define MP 2
#define DEPTH 4
#define LOAD _mm512_loadu_si512
#define STORE _mm512_storeu_si512
#define SPLAT quant_splat_512
#define LOADF _mm512_loadu_ps
#define DP _mm512_dpbusd_epi32
#define DIRECT
#define FLOAT _mm512_cvtepi32_ps
#define INT _mm512_cvtps_epi32
#define ADDF _mm512_add_ps
#define MULF _mm512_mul_ps
#define MINF _mm512_min_ps
#define SETF _mm512_set1_ps
#define SET8 _mm512_set1_epi8
#define SET16 _mm512_set1_epi16
#define PACK16 _mm512_packs_epi32
#define PACK8 _mm512_packus_epi16
#define ADD16 _mm512_adds_epi16
#define MAX8 _mm512_max_epu8
#define XOR _mm512_xor_si512
#define PUT quant_put_512
#define PUT_ROWS quant_put_rows_512
#define GET quant_get_512
#define LO8 _mm512_unpacklo_epi8
#define HI8 _mm512_unpackhi_epi8
#define LO16 _mm512_unpacklo_epi16
#define HI16 _mm512_unpackhi_epi16
#include "cpu/quad/bytes_tile.h"

const quad_kernels quad_bytes_avx512 = {.isa = ISA_AVX512VNNI,
                                        .rows = 14,
                                        .panels = 2,
                                        .depth = 1,
                                        .lanes = 16,
                                        .block = 256 << 10,
                                        .heights = quant_avx512_heights,
                                        .direct = true,
                                        .tile = quant_avx512_tile,
                                        .store = quant_avx512_store,
                                        .spread = quant_avx512_spread,
                                        .depthwise = quant_avx512_depthwise};

#endif
