/* SPDX-License-Identifier: Apache-2.0 */
/* json.c - strings as JSON has them.
 * Tests: tests/unit/test_base.c, tests/unit/test_view.c */
#include "base/json.h"

#include <string.h>

/* Length of the UTF-8 sequence at p, of which n bytes are there; 0 if it is none (overlong forms
 * and surrogates are none). The table: RFC 3629, section 4. */
static size_t json_utf8(const unsigned char *p, size_t n) {
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

static void json_characters(strbuf *out, const char *text, size_t len) {
    const unsigned char *p = (const unsigned char *)text;
    for (size_t i = 0, n; i < len && !out->failed; i += n) {
        n = json_utf8(p + i, len - i);
        if (!n) {
            sb_puts(out, "\\ufffd");
            n = 1;
        } else if (p[i] == '"' || p[i] == '\\') {
            sb_putc(out, '\\');
            sb_putc(out, text[i]);
        } else if (p[i] < 0x20 || p[i] == 0x7F || p[i] == '<' || p[i] == '>' || p[i] == '&') {
            sb_printf(out, "\\u%04x", p[i]);
        } else {
            sb_write(out, text + i, n);
        }
    }
}

void json_text(strbuf *out, const char *text, size_t len) {
    sb_putc(out, '"');
    json_characters(out, text, len);
    sb_putc(out, '"');
}

void json_clipped(strbuf *out, const char *text, size_t most) {
    size_t len = strlen(text);
    bool cut = len > most;
    if (cut) len = most;
    /* not within a sequence: continuation bytes are 10xxxxxx */
    while (cut && len && ((unsigned char)text[len] & 0xC0) == 0x80) len--;
    sb_putc(out, '"');
    json_characters(out, text, len);
    sb_puts(out, cut ? "...\"" : "\"");
}
