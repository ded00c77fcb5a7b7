/* SPDX-License-Identifier: Apache-2.0 */
/* json.c - strings as JSON has them.
 * Tests: tests/unit/test_base.c, tests/unit/test_view.c */
#include "base/text/json.h"

#include "base/text/json_escape.h"

#include <string.h>

static void json_characters(strbuf *out, const char *text, size_t len) {
    char room[JSON_ESCAPE];
    const char *written;
    for (size_t i = 0, n; i < len && !out->failed;) {
        i += json_character(text + i, len - i, true, room, &written, &n);
        sb_write(out, written, n);
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
