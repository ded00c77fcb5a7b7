/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crc.c - CRC-32 at memory speed, so that every record of an archive can be checked when it is
 * opened.
 *
 * Method: on x86 with carry-less multiplication, four 128-bit accumulators are folded over the data
 * (V. Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ", 2009): an
 * accumulator A represents A * x^512 once the next 64 bytes have been added, so it is replaced by
 * its two halves times x^(512+64) and x^512 modulo the polynomial. The final result is a 16-byte
 * message with the same remainder, which zlib finishes together with the remaining bytes. ARM64 has
 * instructions for this polynomial, which take eight bytes each. Elsewhere zlib does all of it.
 * Tests: tests/unit/test_archive.c (against zlib, all lengths and alignments)
 */
#include "cpu/convert/crc.h"

#include "cpu/isa.h"

#include <zlib.h>

static uint32_t crc32_zlib(uint32_t crc, const uint8_t *p, size_t len) {
    return (uint32_t)crc32_z(crc, p, len);
}

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

/* x^(512+32), x^(512-32), x^(128+32), x^(128-32) modulo the polynomial, bit-reflected and shifted
 * left by one. */
#define CRC_FOLD_64 0x154442bd4ull, 0x1c6e41596ull
#define CRC_FOLD_16 0x1751997d0ull, 0x0ccaa009eull

#define CRC_TARGET __attribute__((target("pclmul,sse4.1")))

CRC_TARGET static inline __m128i crc32_fold(__m128i a, __m128i k, __m128i next) {
    __m128i lo = _mm_clmulepi64_si128(a, k, 0x00), hi = _mm_clmulepi64_si128(a, k, 0x11);
    return _mm_xor_si128(_mm_xor_si128(lo, hi), next);
}

CRC_TARGET static inline __m128i crc32_load(const uint8_t *p) {
    return _mm_loadu_si128((const __m128i *)p);
}

/* len >= 64. */
CRC_TARGET static uint32_t crc32_clmul(uint32_t crc, const uint8_t *p, size_t len) {
    const uint64_t k64[2] = {CRC_FOLD_64}, k16[2] = {CRC_FOLD_16};
    __m128i k = crc32_load((const uint8_t *)k64);
    __m128i a = _mm_xor_si128(crc32_load(p), _mm_cvtsi32_si128((int)~crc));
    __m128i b = crc32_load(p + 16), c = crc32_load(p + 32), d = crc32_load(p + 48);
    for (p += 64, len -= 64; len >= 64; p += 64, len -= 64) {
        a = crc32_fold(a, k, crc32_load(p));
        b = crc32_fold(b, k, crc32_load(p + 16));
        c = crc32_fold(c, k, crc32_load(p + 32));
        d = crc32_fold(d, k, crc32_load(p + 48));
    }
    k = crc32_load((const uint8_t *)k16);
    a = crc32_fold(a, k, b);
    a = crc32_fold(a, k, c);
    a = crc32_fold(a, k, d);
    uint8_t rest[16];
    _mm_storeu_si128((__m128i *)rest, a);
    /* zlib inverts the register on entry; all ones make it start at zero. */
    return crc32_zlib(crc32_zlib(UINT32_MAX, rest, sizeof rest), p, len);
}

uint32_t crc32_update(uint32_t crc, const void *data, size_t len) {
    if (len >= 64 && isa_has(ISA_SSE42)) return crc32_clmul(crc, data, len);
    return crc32_zlib(crc, data, len);
}

#elif defined(__aarch64__)
#include <arm_acle.h>
#include <string.h>

TARGET_CRC static uint32_t crc32_eights(uint32_t crc, const uint8_t *p, size_t len) {
    uint64_t eight;
    crc = ~crc;
    for (; len >= sizeof eight; len -= sizeof eight, p += sizeof eight) {
        memcpy(&eight, p, sizeof eight);
        crc = __crc32d(crc, eight);
    }
    for (; len > 0; len--) crc = __crc32b(crc, *p++);
    return ~crc;
}

uint32_t crc32_update(uint32_t crc, const void *data, size_t len) {
    return (isa_has(ISA_CRC) ? crc32_eights : crc32_zlib)(crc, data, len);
}

#else

uint32_t crc32_update(uint32_t crc, const void *data, size_t len) {
    return crc32_zlib(crc, data, len);
}

#endif
