/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantized_micro.c - products of bytes for AVX-512 VNNI, AVX-VNNI, AVX2, and in plain C.
 *
 * Tiles are 14 x 32 with AVX-512 (28 sums, two vectors of weights and a broadcast fill 31 of the 32
 * registers), 6 x 16 and 4 x 16 otherwise. Without vpdpbusd there are two ways. vpmaddubsw adds
 * pairs of products that saturate at 16 bits, which those of activations of at most 127 cannot
 * reach (archives with a reduced range hold hardly any others), so a tile's are looked at first.
 * Where weights are not large at once, which packing looks at, two such sums still fit 16 bits and
 * are widened together, three multiplications instead of four.
 * For the rest, bytes of even and of odd places are widened to 16 bits where they are: weights once
 * per quad, so that a row costs four instructions instead of two.
 * Tests: tests/unit/test_quantized_bytes.c
 */
#include "runtime/kernels/quantised/quantized_micro.h"

#include <math.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>

/* UBSan makes compilation of the unrolled kernels take minutes. */
#define QUANT_AVX2 __attribute__((target("avx2"), no_sanitize("undefined")))
#define QUANT_AVX_VNNI __attribute__((target("avx2,avxvnni"), no_sanitize("undefined")))
#define QUANT_AVX512                                                                               \
    __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni"),                        \
                   no_sanitize("undefined")))

static bool quant_avx2_usable(void) { return __builtin_cpu_supports("avx2"); }
static bool quant_vnni_usable(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("avxvnni");
}
static bool quant_avx512_usable(void) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vnni");
}

/* ---- vectors of 256 bits --------------------------------------------------------------------- */

static inline QUANT_AVX2 __m256i quant_load_256(const void *p) {
    return _mm256_loadu_si256((const __m256i *)p);
}

static inline QUANT_AVX2 void quant_store_256(void *p, __m256i v) {
    _mm256_storeu_si256((__m256i *)p, v);
}

static inline QUANT_AVX2 __m256i quant_splat_256(const void *p) {
    int32_t quad;
    memcpy(&quad, p, sizeof quad);
    return _mm256_set1_epi32(quad);
}

static inline QUANT_AVX2 __m256i quant_widened(__m256i acc, __m256i x, __m256i w) {
    __m256i even = _mm256_madd_epi16(_mm256_and_si256(x, _mm256_set1_epi16(255)),
                                     _mm256_srai_epi16(_mm256_slli_epi16(w, 8), 8)),
            odd = _mm256_madd_epi16(_mm256_srli_epi16(x, 8), _mm256_srai_epi16(w, 8));
    return _mm256_add_epi32(acc, _mm256_add_epi32(even, odd));
}

/* For x of at most 127: 2 * 127 * 128 is less than 2^15. */
static inline QUANT_AVX2 __m256i quant_pairs(__m256i acc, __m256i x, __m256i w) {
    return _mm256_add_epi32(acc,
                            _mm256_madd_epi16(_mm256_maddubs_epi16(x, w), _mm256_set1_epi16(1)));
}

static inline QUANT_AVX2 void quant_put_256(uint8_t *p, __m256i v, int n) {
    v = _mm256_and_si256(v, _mm256_set1_epi32(255));
    __m128i w = _mm_packs_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    w = _mm_packus_epi16(w, w);
    if (n == 8) {
        _mm_storel_epi64((__m128i *)(void *)p, w);
        return;
    }
    uint8_t bytes[16];
    _mm_storeu_si128((__m128i *)(void *)bytes, w);
    memcpy(p, bytes, (size_t)n);
}

static inline QUANT_AVX2 void quant_put4_256(uint8_t *p, const __m256i *v, int64_t n) {
    __m256i low = _mm256_set1_epi32(255),
            a = _mm256_packs_epi32(_mm256_and_si256(v[0], low), _mm256_and_si256(v[1], low)),
            b = _mm256_packs_epi32(_mm256_and_si256(v[2], low), _mm256_and_si256(v[3], low)),
            bytes = _mm256_packus_epi16(a, b);
    if (n >= 32) {
        quant_store_256(p, bytes);
        return;
    }
    uint8_t all[32];
    quant_store_256(all, bytes);
    memcpy(p, all, (size_t)n);
}

static inline QUANT_AVX2 void quant_put_row_256(uint8_t *p, const __m256i *v) {
    __m256i bytes;
    quant_put4_256((uint8_t *)&bytes, v, 32);
    /* packing works within 128 bits */
    quant_store_256(p,
                    _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7)));
}

static inline QUANT_AVX2 __m256i quant_get_256(const uint8_t *p, int64_t n) {
    if (n >= 32) return quant_load_256(p);
    uint8_t all[32] = {0};
    memcpy(all, p, (size_t)n);
    return quant_load_256(all);
}

/* The same for two quads that are narrow: widened once. */
static inline QUANT_AVX2 __m256i quant_pairs_twice(__m256i acc, __m256i x, __m256i w, __m256i y,
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
#define MAXF _mm256_max_ps
#define SETF _mm256_set1_ps
#define SETI _mm256_set1_epi32
#define ADD _mm256_add_epi32
#define PUT quant_put_256
#define PUT4 quant_put4_256
#define PUT_ROW quant_put_row_256
#define GET quant_get_256
#define LO8 _mm256_unpacklo_epi8
#define HI8 _mm256_unpackhi_epi8
#define LO16 _mm256_unpacklo_epi16
#define HI16 _mm256_unpackhi_epi16

#define NAME(x) quant_vnni_##x
#define TARGET QUANT_AVX_VNNI
#define MR 6
#define MP 1
#define DEPTH 2
#define DP _mm256_dpbusd_avx_epi32
#include "runtime/kernels/quantised/quantized_micro_tile.h"

#define NAME(x) quant_wide_##x
#define TARGET QUANT_AVX2
#define MR 4
#define MP 1
#define DEPTH 1
#define DP quant_widened
#include "runtime/kernels/quantised/quantized_micro_tile.h"

#define NAME(x) quant_small_##x
#define TARGET QUANT_AVX2
#define MR 4
#define MP 1
#define DEPTH 2
#define DP quant_pairs
#define PAIR quant_pairs_twice
#define SUMS_ONLY
#include "runtime/kernels/quantised/quantized_micro_tile.h"

/* ---- AVX2: activations of seven bits, and of eight ------------------------------------------- */

/* Whether n bytes, which are whole quads, are all at most 127. */
static inline __attribute__((always_inline)) QUANT_AVX2 bool quant_are_small(const uint8_t *p,
                                                                             int64_t n) {
    __m256i all = _mm256_setzero_si256(), lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    for (; n >= 32; n -= 32, p += 32) all = _mm256_or_si256(all, quant_load_256(p));
    __m256i there = _mm256_cmpgt_epi32(_mm256_set1_epi32((int32_t)n / QUAD_BYTES), lane);
    all = _mm256_or_si256(all, _mm256_maskload_epi32((const int *)(const void *)p, there));
    return !_mm256_movemask_epi8(all);
}

static QUANT_AVX2 bool quant_avx2_small(const uint8_t *p, int64_t n) {
    if (!quant_are_small(p, n / QUAD_BYTES * QUAD_BYTES)) return false;
    for (int64_t i = n / QUAD_BYTES * QUAD_BYTES; i < n; i++)
        if (p[i] > INT8_MAX) return false;
    return true;
}

static QUANT_AVX2 bool quant_tile_is_small(int rows, const quad_tile *t) {
    for (int64_t s = 0; s < t->stretches; s++)
        for (int r = 0; r < rows; r++)
            if (!quant_are_small(t->a + r * t->lda + t->stretch[s], t->quads * QUAD_BYTES))
                return false;
    return true;
}

/* Looking at the activations once for several panels. */
static void quant_avx2_tile(int rows, int panels, const quad_tile *t) {
    bool small = t->small || quant_tile_is_small(rows, t);
    quad_tile one = *t;
    for (int p = 0; p < panels; p++) {
        if (small) quant_small_tile(rows, 1, &one);
        else quant_wide_tile(rows, 1, &one);
        one.b += t->panel;
        one.narrow += t->stretches * quad_pairs(t->quads);
        one.start = (const int32_t *)one.start + QUAD_COLUMNS;
        one.sums = (int32_t *)one.sums + QUAD_COLUMNS;
    }
}

static QUANT_AVX2 void quant_avx2_depthwise(const quant_depthwise *d) {
    if (d->small || quant_are_small(d->spread, d->size)) quant_small_depthwise(d);
    else quant_wide_depthwise(d);
}

#undef V
#undef F
#undef LANES
#undef LOAD
#undef STORE
#undef SPLAT
#undef LOADF
#undef FLOAT
#undef INT
#undef ADDF
#undef MULF
#undef MINF
#undef MAXF
#undef SETF
#undef SETI
#undef ADD
#undef PUT
#undef PUT4
#undef PUT_ROW
#undef GET
#undef LO8
#undef HI8
#undef LO16
#undef HI16

/* ---- vectors of 512 bits --------------------------------------------------------------------- */

static inline QUANT_AVX512 __m512i quant_splat_512(const void *p) {
    int32_t quad;
    memcpy(&quad, p, sizeof quad);
    return _mm512_set1_epi32(quad);
}

static inline QUANT_AVX512 void quant_put_512(uint8_t *p, __m512i v, int n) {
    __m128i bytes = _mm512_cvtepi32_epi8(v);
    if (n == 16) _mm_storeu_si128((__m128i *)(void *)p, bytes);
    else _mm_mask_storeu_epi8(p, (__mmask16)((1u << n) - 1), bytes);
}

static inline QUANT_AVX512 __mmask64 quant_mask_512(int64_t n) {
    return n >= 64 ? ~(__mmask64)0 : ((__mmask64)1 << n) - 1;
}

static inline QUANT_AVX512 void quant_put4_512(uint8_t *p, const __m512i *v, int64_t n) {
    __m512i low = _mm512_set1_epi32(255),
            a = _mm512_packs_epi32(_mm512_and_si512(v[0], low), _mm512_and_si512(v[1], low)),
            b = _mm512_packs_epi32(_mm512_and_si512(v[2], low), _mm512_and_si512(v[3], low)),
            bytes = _mm512_packus_epi16(a, b);
    if (n >= 64) _mm512_storeu_si512(p, bytes);
    else _mm512_mask_storeu_epi8(p, quant_mask_512(n), bytes);
}

static inline QUANT_AVX512 __m512i quant_get_512(const uint8_t *p, int64_t n) {
    return n >= 64 ? _mm512_loadu_si512(p) : _mm512_maskz_loadu_epi8(quant_mask_512(n), p);
}

#define V __m512i
#define F __m512
#define LANES 16
#define NAME(x) quant_avx512_##x
#define TARGET QUANT_AVX512
#define MR 14
#define MP 2
#define DEPTH 4
#define LOAD _mm512_loadu_si512
#define STORE _mm512_storeu_si512
#define SPLAT quant_splat_512
#define LOADF _mm512_loadu_ps
#define DP _mm512_dpbusd_epi32
#define FLOAT _mm512_cvtepi32_ps
#define INT _mm512_cvtps_epi32
#define ADDF _mm512_add_ps
#define MULF _mm512_mul_ps
#define MINF _mm512_min_ps
#define MAXF _mm512_max_ps
#define SETF _mm512_set1_ps
#define SETI _mm512_set1_epi32
#define ADD _mm512_add_epi32
#define PUT quant_put_512
#define PUT4 quant_put4_512
#define GET quant_get_512
#define LO8 _mm512_unpacklo_epi8
#define HI8 _mm512_unpackhi_epi8
#define LO16 _mm512_unpacklo_epi16
#define HI16 _mm512_unpackhi_epi16
#include "runtime/kernels/quantised/quantized_micro_tile.h"

static const quant_micro quant_micro_avx512 = {
    "avx512vnni",        quant_avx512_usable,   14, 2, 16, quant_avx512_tile, quant_avx512_store,
    quant_avx512_spread, quant_avx512_depthwise};
static const quant_micro quant_micro_vnni = {
    "avxvnni",         quant_vnni_usable,   6, 1, 8, quant_vnni_tile, quant_vnni_store,
    quant_vnni_spread, quant_vnni_depthwise};
static const quant_micro quant_micro_avx2 = {"avx2",
                                             quant_avx2_usable,
                                             4,
                                             2,
                                             8,
                                             quant_avx2_tile,
                                             quant_wide_store,
                                             quant_wide_spread,
                                             quant_avx2_depthwise,
                                             quant_avx2_small};
#endif

/* ---- plain C --------------------------------------------------------------------------------- */

enum { PLAIN_LANES = 4, PLAIN_BLOCK = 4 * PLAIN_LANES };

static bool quant_plain_usable(void) { return true; }

static int32_t quant_plain_dot(int32_t sum, const uint8_t *x, const int8_t *w) {
    int32_t dot = x[0] * w[0] + x[1] * w[1] + x[2] * w[2] + x[3] * w[3];
    return (int32_t)((uint32_t)sum + (uint32_t)dot);
}

static void quant_plain_tile(int rows, int panels, const quad_tile *t) {
    for (int r = 0; r < rows; r++) {
        int32_t *sums = (int32_t *)t->sums + r * t->ld;
        memcpy(sums, t->start, (size_t)panels * QUAD_COLUMNS * sizeof *sums);
        for (int p = 0; p < panels; p++, sums += QUAD_COLUMNS) {
            const int8_t *b = t->b + p * t->panel;
            for (int64_t s = 0; s < t->stretches; s++) {
                const uint8_t *a = t->a + r * t->lda + t->stretch[s];
                for (int64_t q = 0; q < t->quads; q++, a += QUAD_BYTES, b += QUAD_PANEL)
                    for (int c = 0; c < QUAD_COLUMNS; c++)
                        sums[c] = quant_plain_dot(sums[c], a, b + c * QUAD_BYTES);
            }
        }
    }
}

static uint8_t quant_plain_round(int32_t sum, const quant_bytes *to, int64_t column) {
    float v = ((float)sum + to->steps[column]) * to->scale[column];
    v = v > to->hi ? to->hi : v;
    v = v > to->lo ? v : to->lo;
    return (uint8_t)((int32_t)rintf(v) + to->zero);
}

static void quant_plain_store(const int32_t *sums, int rows, int cols, const quant_bytes *to,
                              uint8_t *out, int64_t ldc) {
    for (int r = 0; r < rows; r++, sums += QUAD_MAX_PANELS * QUAD_COLUMNS, out += ldc)
        for (int c = 0; c < cols; c++) out[c] = quant_plain_round(sums[c], to, c);
}

static void quant_plain_spread(const uint8_t *const row[4], const int64_t step[4], int64_t count,
                               int64_t channels, uint8_t *to, int64_t next) {
    for (int64_t i = 0; i < count; i++, to += next)
        for (int64_t p = 0; p < PLAIN_BLOCK; p++) {
            int64_t c = quant_place_channel(PLAIN_LANES, p);
            for (int k = 0; k < 4; k++) to[p * 4 + k] = c < channels ? row[k][i * step[k] + c] : 0;
        }
}

static void quant_plain_depthwise(const quant_depthwise *d) {
    for (int64_t o = 0; o < d->count; o++) {
        int32_t sums[PLAIN_BLOCK];
        memcpy(sums, d->start, sizeof sums);
        for (int64_t t = 0; t < d->taps; t++) {
            const uint8_t *x = (const uint8_t *)d->spread + o * d->step + d->tap[t];
            const int8_t *b = d->b + t * PLAIN_BLOCK * 4;
            for (int p = 0; p < PLAIN_BLOCK; p++)
                sums[p] = quant_plain_dot(sums[p], x + p * 4, b + p * 4);
        }
        for (int p = 0; p < PLAIN_BLOCK; p++) {
            int64_t c = quant_place_channel(PLAIN_LANES, p);
            if (c < d->channels)
                d->out[o * d->out_step + c] = quant_plain_round(sums[p], &d->to, p);
        }
    }
}

static const quant_micro quant_micro_plain = {"plain",
                                              quant_plain_usable,
                                              4,
                                              1,
                                              PLAIN_LANES,
                                              quant_plain_tile,
                                              quant_plain_store,
                                              quant_plain_spread,
                                              quant_plain_depthwise};

/* ---- choosing -------------------------------------------------------------------------------- */

const quant_micro *const quant_micros[] = {
#if defined(__x86_64__)
    &quant_micro_avx512, &quant_micro_vnni, &quant_micro_avx2,
#endif
    &quant_micro_plain, NULL};

const quant_micro *quant_micro_chosen;

const quant_micro *quant_micro_best(void) {
    if (quant_micro_chosen) return quant_micro_chosen;
    const quant_micro *const *u = quant_micros;
    while (!(*u)->usable()) u++;
    return *u;
}
