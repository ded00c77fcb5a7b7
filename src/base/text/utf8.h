/* SPDX-License-Identifier: Apache-2.0 */
/* utf8.h - where characters end. It needs nothing: the server has it as well
 * (tests/check_layers.py). */
#ifndef CTSC_BASE_UTF8_H
#define CTSC_BASE_UTF8_H

#include <stddef.h>

/* Length of the UTF-8 sequence at p, with n bytes available; 0 if it is invalid
 * (overlong forms and surrogates are invalid). The table: RFC 3629, section 4. */
static inline size_t utf8_length(const unsigned char *p, size_t n) {
    static const struct { unsigned char lo, hi, len, next_lo, next_hi; } forms[] = {
        {0xC2, 0xDF, 2, 0x80, 0xBF}, {0xE0, 0xE0, 3, 0xA0, 0xBF}, {0xE1, 0xEC, 3, 0x80, 0xBF},
        {0xED, 0xED, 3, 0x80, 0x9F}, {0xEE, 0xEF, 3, 0x80, 0xBF}, {0xF0, 0xF0, 4, 0x90, 0xBF},
        {0xF1, 0xF3, 4, 0x80, 0xBF}, {0xF4, 0xF4, 4, 0x80, 0x8F}};
    if (*p < 0x80) return 1;
    for (size_t k = 0; k < sizeof forms / sizeof *forms; k++) {
        if (*p < forms[k].lo || *p > forms[k].hi || n < forms[k].len) continue;
        if (p[1] < forms[k].next_lo || p[1] > forms[k].next_hi) return 0;
        for (size_t i = 2; i < forms[k].len; i++)
            if (p[i] < 0x80 || p[i] > 0xBF) return 0;
        return forms[k].len;
    }
    return 0;
}

#endif
