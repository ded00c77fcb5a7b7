/* SPDX-License-Identifier: Apache-2.0 */
/*
 * number.c - numbers to JSON text and back, fast: bodies of requests are little else.
 *
 * Method. A float32 has at most nine significant digits that matter. It is
 * scaled to a number of nine digits in double arithmetic, whose error (some
 * 1e-16, relative) is far below what the ninth digit says; then the fewest
 * leading digits are taken that are still well inside the half-way points to the
 * neighbouring floats. A double is printed by the C library with 15, 16 or 17
 * digits, the first that reads back. Reading: digits and exponent as integers;
 * if the digits fit 53 bits and the power of ten is exact, one multiplication or
 * division gives the correctly rounded result (Clinger 1990); else strtod.
 * Tests: tests/unit/test_serve.c
 */
#include "serve/buffer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void buffer_int(buffer *b, int64_t i) {
    char text[24], *p = text + sizeof text;
    uint64_t u = i < 0 ? 0 - (uint64_t)i : (uint64_t)i;
    do *--p = (char)('0' + u % 10);
    while (u /= 10);
    if (i < 0) *--p = '-';
    buffer_put(b, p, (size_t)(text + sizeof text - p));
}

static const double number_powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                       1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                       1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
enum { NUMBER_EXACT = 22 }; /* powers of ten that doubles hold exactly */

/* x * 10^e, off by at most a few units in the last place. |e| < 66, which float32 never leaves. */
static double number_scale(double x, int e) {
    for (; e > NUMBER_EXACT; e -= NUMBER_EXACT) x *= 1e22;
    for (; e < -NUMBER_EXACT; e += NUMBER_EXACT) x /= 1e22;
    return e < 0 ? x / number_powers[-e] : x * number_powers[e];
}

enum { NUMBER_DIGITS = 12 }; /* are copied at a time, whether all are wanted or not */

/* Digits d (n of them, no trailing zeros) with the decimal point after the first, times 10^e. */
static void number_put(buffer *b, bool negative, uint32_t d, int n, int e) {
    char digits[2 * NUMBER_DIGITS], text[48], *p = text; /* digits: zeros after the n */
    memset(digits, '0', sizeof digits);
    for (int i = n; i-- > 0; d /= 10) digits[i] = (char)('0' + d % 10);
    if (negative) *p++ = '-';
    if (e >= 0 && e < 10) {
        memcpy(p, digits, NUMBER_DIGITS);
        p += e + 1;
        *p++ = '.';
        memcpy(p, digits + e + 1, NUMBER_DIGITS);
        p += n > e + 1 ? n - e - 1 : 1;
    } else if (e < 0 && e >= -5) {
        memcpy(p, "0.0000", 6);
        p += 1 - e;
        memcpy(p, digits, NUMBER_DIGITS);
        p += n;
    } else {
        *p++ = digits[0];
        if (n > 1) *p++ = '.';
        memcpy(p, digits + 1, NUMBER_DIGITS);
        p += n - 1;
        p += sprintf(p, "e%+03d", e);
    }
    buffer_put(b, text, (size_t)(p - text));
}

/* floor(log10(v)) or one less, from the exponent of 2. */
static int number_exponent(double v) {
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    int two = (int)(bits >> 52) - 1023;
    /* log10(2) = 1233 / 4096, a bit less; rounded down */
    return (int)(((int64_t)two * 1233) >> 12);
}

/* v, which is below 10^(*e + 2), scaled to a number that rounds to 9 digits; *e becomes the
 * exponent of the first one. */
static double number_nine(double v, int *e) {
    double s = number_scale(v, 8 - *e);
    if (s >= 999999999.5) s = number_scale(v, 8 - ++*e);
    else if (s < 99999999.5) s = number_scale(v, 8 - --*e);
    return s;
}

void buffer_float(buffer *b, float f) {
    double v = fabs((double)f);
    if (!isfinite(f)) {
        buffer_puts(b, "null");
        return;
    }
    if (v == 0) {
        buffer_puts(b, signbit(f) ? "-0.0" : "0.0");
        return;
    }
    int e = number_exponent(v), n = 9;
    double s = number_nine(v, &e);
    uint32_t best = (uint32_t)llrint(s), bits;
    float small = (float)v, below;
    memcpy(&bits, &small, sizeof bits);
    bits--; /* the neighbour towards 0, which is the nearer one of a power of two */
    memcpy(&below, &bits, sizeof below);
    double near = number_scale(0.4999999 * (v - (double)below), 8 - e);
    for (double cut = 10; cut <= 1e8; cut *= 10, n--) { /* as long as fewer digits do */
        uint32_t r = (uint32_t)llrint(s / cut);
        if (fabs(r * cut - s) > near) break;
        best = r;
    }
    /* rounded up to a digit more: 9.99 to 10 */
    if (n < 9 && best >= (uint32_t)number_powers[n]) best /= 10, e++;
    while (n > 1 && best % 10 == 0) best /= 10, n--;
    number_put(b, signbit(f), best, n, e);
}

void buffer_double(buffer *b, double d) {
    char text[40];
    if (!isfinite(d)) {
        buffer_puts(b, "null");
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, d);
        if (digits == 17 || strtod(text, NULL) == d) break;
    }
    if (!strpbrk(text, ".e")) strcat(text, ".0");
    buffer_puts(b, text);
}

static const char *number_word(const char *p, const char *end, number *out) {
    bool yes = *p == 't';
    size_t n = yes ? 4 : 5;
    if ((size_t)(end - p) < n || memcmp(p, yes ? "true" : "false", n)) return NULL;
    *out = (number){.is_int = true, .is_bool = true, .i = yes, .d = yes};
    return p + n;
}

const char *number_read(const char *p, const char *end, number *out) {
    const char *start = p, *digits;
    uint64_t mantissa = 0;
    int count = 0, exponent = 0;
    if (p < end && (*p == 't' || *p == 'f')) return number_word(p, end, out);
    bool negative = p < end && *p == '-', is_int = true;
    if (negative) p++;
    for (digits = p; p < end && *p >= '0' && *p <= '9'; p++)
        if (count < 19) mantissa = mantissa * 10 + (uint64_t)(*p - '0'), count += mantissa != 0;
        else count++;
    /* JSON has no leading zeros */
    if (p == digits || (*digits == '0' && p - digits > 1)) return NULL;
    if (p < end && *p == '.') {
        is_int = false;
        for (digits = ++p; p < end && *p >= '0' && *p <= '9'; p++) {
            if (count < 19)
                mantissa = mantissa * 10 + (uint64_t)(*p - '0'), exponent--, count += mantissa != 0;
            else count++;
        }
        if (p == digits) return NULL;
    }
    if (p < end && (*p == 'e' || *p == 'E')) {
        int e = 0;
        is_int = false;
        if (++p < end && (*p == '+' || *p == '-')) p++;
        bool minus = p[-1] == '-';
        for (digits = p; p < end && *p >= '0' && *p <= '9'; p++)
            if (e < 100000) e = e * 10 + (*p - '0');
        if (p == digits) return NULL;
        exponent += minus ? -e : e;
    }
    *out = (number){
        .is_int = is_int &&
                  (count < 19 || (count == 19 && mantissa <= (uint64_t)INT64_MAX + negative))};
    if (count <= 19 && mantissa < (1ull << 53) && exponent >= -NUMBER_EXACT &&
        exponent <= NUMBER_EXACT) {
        double d = (double)mantissa;
        d = exponent < 0 ? d / number_powers[-exponent] : d * number_powers[exponent];
        out->d = negative ? -d : d;
    } else {
        out->d = strtod(start, NULL);
    }
    if (out->is_int) out->i = (int64_t)(negative ? 0 - mantissa : mantissa);
    return p;
}
