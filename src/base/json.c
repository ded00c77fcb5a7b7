/* SPDX-License-Identifier: Apache-2.0 */
/* json.c - strings as JSON has them.
 * Tests: tests/unit/test_base.c, tests/unit/test_view.c */
#include "base/json.h"

#include "base/utf8.h"

#include <string.h>

static void json_characters(strbuf *out, const char *text, size_t len) {
    const unsigned char *p = (const unsigned char *)text;
    for (size_t i = 0, n; i < len && !out->failed; i += n) {
        n = utf8_length(p + i, len - i);
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
