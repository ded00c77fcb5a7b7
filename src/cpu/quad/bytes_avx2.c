/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bytes_avx2.c - products of bytes with vectors of 256 bits: AVX-VNNI, and AVX2.
 *
 * Tiles are 6 x 16 and 4 x 16. Without vpdpbusd, vpmaddubsw adds pairs of products and
 * saturates at 16 bits. It cannot with activations of at most 127 (a layer's are checked
 * first; archives with a reduced range have no others), and not with weights that packing
 * marked as QUAD_SAFE; two sums that still fit 16 bits, QUAD_NARROW, are widened together:
 * three multiplications instead of four. Otherwise even and odd bytes are widened to
 * 16 bits in place.
 * Where few activations lie outside a window of 128 values, they are clipped to it, and what
 * they lack is a list of quads per row, whose products are added afterwards: at most 128
 * each, and 2 * 128 * -128 is still -2^15.
 * Tests: tests/unit/test_quantized_bytes.c
 */
#include "cpu/quad/quad.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

static inline TARGET_AVX2 __m256i quant_load_256(const void *p) {
    return _mm256_loadu_si256((const __m256i *)p);
}

static inline TARGET_AVX2 void quant_store_256(void *p, __m256i v) {
    _mm256_storeu_si256((__m256i *)p, v);
}

static inline TARGET_AVX2 __m256i quant_splat_256(const void *p) {
    int32_t quad;
    memcpy(&quad, p, sizeof quad);
    return _mm256_set1_epi32(quad);
}

static inline TARGET_AVX2 __m256i quant_widened(__m256i acc, __m256i x, __m256i w) {
    __m256i even = _mm256_madd_epi16(_mm256_and_si256(x, _mm256_set1_epi16(255)),
                                     _mm256_srai_epi16(_mm256_slli_epi16(w, 8), 8)),
            odd = _mm256_madd_epi16(_mm256_srli_epi16(x, 8), _mm256_srai_epi16(w, 8));
    return _mm256_add_epi32(acc, _mm256_add_epi32(even, odd));
}

/* For x of at most 127, 2 * 127 * 128 being less than 2^15, or weights that are QUAD_SAFE. */
static inline TARGET_AVX2 __m256i quant_pairs(__m256i acc, __m256i x, __m256i w) {
    return _mm256_add_epi32(acc,
                            _mm256_madd_epi16(_mm256_maddubs_epi16(x, w), _mm256_set1_epi16(1)));
}

static inline TARGET_AVX2 void quant_put_256(uint8_t *p, __m256i v, int64_t n) {
    if (n >= 32) {
        quant_store_256(p, v);
        return;
    }
    uint8_t all[32];
    quant_store_256(all, v);
    memcpy(p, all, (size_t)n);
}

static inline TARGET_AVX2 void quant_put_rows_256(uint8_t *p, uint8_t *q, __m256i v, int n) {
    v = _mm256_permutevar8x32_epi32(v, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    if (n >= 16) {
        _mm_storeu_si128((__m128i *)(void *)p, _mm256_castsi256_si128(v));
        if (q) _mm_storeu_si128((__m128i *)(void *)q, _mm256_extracti128_si256(v, 1));
        return;
    }
    uint8_t all[32];
    quant_store_256(all, v);
    memcpy(p, all, (size_t)n);
    if (q) memcpy(q, all + 16, (size_t)n);
}

static inline TARGET_AVX2 __m256i quant_get_256(const uint8_t *p, int64_t n) {
    if (n >= 32) return quant_load_256(p);
    uint8_t all[32] = {0};
    memcpy(all, p, (size_t)n);
    return quant_load_256(all);
}

/* The same for two quads that are 16-bit safe: widened once. */
static inline TARGET_AVX2 __m256i quant_pairs_twice(__m256i acc, __m256i x, __m256i w, __m256i y,
                                                    __m256i v) {
    __m256i sums = _mm256_add_epi16(_mm256_maddubs_epi16(x, w), _mm256_maddubs_epi16(y, v));
    return _mm256_add_epi32(acc, _mm256_madd_epi16(sums, _mm256_set1_epi16(1)));
}

#define V __m256i
#define F __m256
#define LANES 8
#define LOAD quant_load_256
#define STORE quant_store_256
#define SPLAT quant_splat_256
#define LOADF _mm256_loadu_ps
#define FLOAT _mm256_cvtepi32_ps
#define INT _mm256_cvtps_epi32
#define ADDF _mm256_add_ps
#define MULF _mm256_mul_ps
#define MINF _mm256_min_ps
#define SETF _mm256_set1_ps
#define SET8 _mm256_set1_epi8
#define SET16 _mm256_set1_epi16
#define PACK16 _mm256_packs_epi32
#define PACK8 _mm256_packus_epi16
#define ADD16 _mm256_adds_epi16
#define MAX8 _mm256_max_epu8
#define XOR _mm256_xor_si256
#define PUT quant_put_256
#define PUT_ROWS quant_put_rows_256
#define GET quant_get_256
#define LO8 _mm256_unpacklo_epi8
#define HI8 _mm256_unpackhi_epi8
#define LO16 _mm256_unpacklo_epi16
#define HI16 _mm256_unpackhi_epi16

#define NAME(x) quant_vnni_##x
#define TARGET TARGET_AVXVNNI
#define MR 6
#define MP 1
#define DEPTH 2
#define DP _mm256_dpbusd_avx_epi32
#include "cpu/quad/bytes_tile.h"

#define NAME(x) quant_wide_##x
#define TARGET TARGET_AVX2
#define MR 4
#define MP 1
#define DEPTH 1
#define DP quant_widened
#define SAFE quant_pairs
#define DIRECT
#include "cpu/quad/bytes_tile.h"

#define NAME(x) quant_small_##x
#define TARGET TARGET_AVX2
#define MR 4
#define MP 1
#define DEPTH 2
#define DP quant_pairs
#define PAIR quant_pairs_twice
#define SUMS_ONLY
#define DIRECT
#include "cpu/quad/bytes_tile.h"

/* ---- AVX2: activations of seven bits, and of eight ------------------------------------------- */

/* Whether n bytes, which are whole quads, are all at most 127. */
static inline __attribute__((always_inline)) TARGET_AVX2 bool quant_are_small(const uint8_t *p,
                                                                              int64_t n) {
    __m256i all = _mm256_setzero_si256(), lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    for (; n >= 32; n -= 32, p += 32) all = _mm256_or_si256(all, quant_load_256(p));
    __m256i there = _mm256_cmpgt_epi32(_mm256_set1_epi32((int32_t)n / QUAD_BYTES), lane);
    all = _mm256_or_si256(all, _mm256_maskload_epi32((const int *)(const void *)p, there));
    return !_mm256_movemask_epi8(all);
}

static TARGET_AVX2 bool quant_avx2_small(const uint8_t *p, int64_t n) {
    if (!quant_are_small(p, n / QUAD_BYTES * QUAD_BYTES)) return false;
    for (int64_t i = n / QUAD_BYTES * QUAD_BYTES; i < n; i++)
        if (p[i] > INT8_MAX) return false;
    return true;
}

static void quant_avx2_tile(int rows, int panels, const quad_tile *t) {
    if (t->small) quant_small_tile(rows, panels, t);
    else quant_wide_tile(rows, panels, t);
}

static TARGET_AVX2 void quant_avx2_depthwise(const quant_depthwise *d) {
    if (d->small || quant_are_small(d->spread, d->size)) quant_small_depthwise(d);
    else quant_wide_depthwise(d);
}

/* Appends the lanes of `quads` that are not 0, few if any, to entry n; how many. */
static inline __attribute__((always_inline)) TARGET_AVX2 int64_t
quant_append(__m128i quads, __m128i places, uint32_t *at, uint32_t *quad, int64_t n) {
    static const uint32_t order[16] = {/* of four lanes, those of the bits in front */
                                       0x00000000, 0x00000000, 0x00000001, 0x00000100,
                                       0x00000002, 0x00000200, 0x00000201, 0x00020100,
                                       0x00000003, 0x00000300, 0x00000301, 0x00030100,
                                       0x00000302, 0x00030200, 0x00030201, 0x03020100};
    if (_mm_testz_si128(quads, quads)) return 0;
    __m128i none = _mm_cmpeq_epi32(quads, _mm_setzero_si128());
    unsigned there = (unsigned)_mm_movemask_ps(_mm_castsi128_ps(none)) ^ 15;
    __m128i to = _mm_cvtepu8_epi32(_mm_cvtsi32_si128((int32_t)order[there]));
    _mm_storeu_ps((float *)(void *)(quad + n), _mm_permutevar_ps(_mm_castsi128_ps(quads), to));
    _mm_storeu_ps((float *)(void *)(at + n), _mm_permutevar_ps(_mm_castsi128_ps(places), to));
    return (int64_t)(0x4332322132212110u >> (4 * there) & 7);
}

static TARGET_AVX2 bool quant_avx2_clip(const quad_outliers *o, int64_t first, int64_t last,
                                        const uint8_t *from, uint8_t *to, int64_t n[2]) {
    const __m128i lane = _mm_setr_epi32(0, QUAD_BYTES, 2 * QUAD_BYTES, 3 * QUAD_BYTES),
                  low = _mm_set1_epi8((char)o->low), most = _mm_set1_epi8(INT8_MAX),
                  high = _mm_set1_epi8((char)(o->low + INT8_MAX));
    const int64_t unit = o->unit, room = o->most - unit / QUAD_BYTES - QUAD_BYTES;
    const bool below = o->low;
    int32_t *span = o->span + 4 * first;
    uint32_t *at = o->at, *quad = o->quad, *less_at = at + o->most, *less_quad = quad + o->most;
    int64_t more = n[0], less = n[1];
    for (int64_t u = first; u < last; u++, from += unit, to += unit, span += 4) {
        __m128i places = _mm_add_epi32(_mm_set1_epi32((int32_t)(u * unit)), lane);
        if (more > room || less > room) return false;
        span[0] = (int32_t)more, span[2] = (int32_t)less;
        for (int64_t i = 0; i < unit; i += 16) {
            __m128i x;
            if (i + 16 <= unit) {
                x = _mm_loadu_si128((const __m128i *)(const void *)(from + i));
                _mm_storeu_si128((__m128i *)(void *)(to + i),
                                 _mm_min_epu8(_mm_subs_epu8(x, low), most));
            } else { /* lanes that are not there lack nothing */
                __m128i there = _mm_cmpgt_epi32(_mm_set1_epi32((int32_t)(unit - i)), lane);
                x = _mm_maskload_epi32((const int *)(const void *)(from + i), there);
                _mm_maskstore_epi32((int *)(void *)(to + i), there,
                                    _mm_min_epu8(_mm_subs_epu8(x, low), most));
                x = _mm_blendv_epi8(low, x, there);
            }
            more += quant_append(_mm_subs_epu8(x, high), places, at, quad, more);
            if (below)
                less += quant_append(_mm_subs_epu8(low, x), places, less_at, less_quad, less);
            places = _mm_add_epi32(places, _mm_set1_epi32(16));
        }
        span[1] = (int32_t)more, span[3] = (int32_t)less;
    }
    n[0] = more, n[1] = less;
    return true;
}

/* The products of entries [from, to) with the panels at b, added to acc; less: bytes from b to what
 * the first unit's first quad would meet. */
static inline __attribute__((always_inline)) TARGET_AVX2 void quant_entries(
    __m256i *acc, const quad_outliers *o, int64_t from, int64_t to, const int8_t *b, int64_t less,
    int64_t panel, const int width) {
    for (int64_t i = from; i < to; i++) {
        __m256i x = quant_splat_256(o->quad + i);
        const int8_t *w = b + (o->at[i] * (int64_t)QUAD_COLUMNS - less);
#pragma GCC unroll 4
        for (int c = 0; c < width; c++)
            acc[c] = quant_pairs(acc[c], x, quant_load_256(w + c / 2 * panel + c % 2 * 32));
    }
}

static inline __attribute__((always_inline)) TARGET_AVX2 void quant_amend_row(
    const quad_tile *t, const int8_t *b, const quad_outliers *o, int64_t first, int32_t *sums,
    const int width) {
    __m256i acc[4];
#pragma GCC unroll 4
    for (int c = 0; c < width; c++) acc[c] = _mm256_setzero_si256();
    for (int pass = o->low ? 1 : 0; pass >= 0; pass--) { /* what to subtract, and what to add */
        for (int64_t s = 0; s < o->segments; s++) {
            int64_t u = first + o->segment[s], more = pass ? o->most : 0,
                    less = u * o->unit * QUAD_COLUMNS - s * t->filled * QUAD_PANEL;
            const int32_t *span = o->span + 4 * u + 2 * pass;
            quant_entries(acc, o, more + span[0], more + span[4 * (o->width - 1) + 1], b, less,
                          t->panel, width);
        }
#pragma GCC unroll 4
        for (int c = 0; pass && c < width; c++)
            acc[c] = _mm256_sub_epi32(_mm256_setzero_si256(), acc[c]);
    }
#pragma GCC unroll 4
    for (int c = 0; c < width; c++)
        quant_store_256(sums + c * 8, _mm256_add_epi32(quant_load_256(sums + c * 8), acc[c]));
}

static TARGET_AVX2 void quant_avx2_amend(int rows, int panels, const quad_tile *t, const int8_t *b,
                                         const quad_outliers *o, int64_t first) {
    int32_t *sums = t->sums;
    for (int r = 0; r < rows; r++, sums += t->ld, first += o->step)
        if (panels == 2) quant_amend_row(t, b, o, first, sums, 4);
        else quant_amend_row(t, b, o, first, sums, 2);
}

const quad_kernels quad_bytes_avxvnni = {.isa = ISA_AVXVNNI,
                                         .rows = 6,
                                         .panels = 1,
                                         .depth = 1,
                                         .lanes = 8,
                                         .block = 256 << 10,
                                         .tile = quant_vnni_tile,
                                         .store = quant_vnni_store,
                                         .spread = quant_vnni_spread,
                                         .depthwise = quant_vnni_depthwise};
const quad_kernels quad_bytes_avx2 = {.isa = ISA_AVX2,
                                      .rows = 4,
                                      .panels = 2,
                                      .depth = 1,
                                      .lanes = 8,
                                      .direct = true,
                                      .block = 256 << 10,
                                      .tile = quant_avx2_tile,
                                      .store = quant_wide_store,
                                      .spread = quant_wide_spread,
                                      .depthwise = quant_avx2_depthwise,
                                      .small = quant_avx2_small,
                                      .clip = quant_avx2_clip,
                                      .amend = quant_avx2_amend};

#endif
