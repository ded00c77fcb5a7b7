/* SPDX-License-Identifier: Apache-2.0 */
/* json_escape.h - how a character is written within a JSON string: for callers with a buffer.
 * Tests: tests/unit/test_base.c, tests/unit/test_serve.c */
#ifndef CTSC_BASE_JSON_ESCAPE_H
#define CTSC_BASE_JSON_ESCAPE_H

#include "base/text/utf8.h"

#include <stdbool.h>
#include <stdio.h>

enum { JSON_ESCAPE = 8 };

/* How the first character of text, which has len bytes, is written within quotes: *out, of *n
 * bytes, in text or in room. Bytes that are not UTF-8 become U+FFFD; html: '<', '>' and '&' are
 * escaped, too, as within a <script>. Returns the bytes it takes of text. */
static inline size_t json_character(const char *text, size_t len, bool html, char room[JSON_ESCAPE],
                                    const char **out, size_t *n) {
    const unsigned char *p = (const unsigned char *)text;
    size_t length = utf8_length(p, len);
    bool control = *p < 0x20 || *p == 0x7F, quoted = *p == '"' || *p == '\\',
         markup = html && (*p == '<' || *p == '>' || *p == '&');
    *out = room;
    if (!length) *n = (size_t)snprintf(room, JSON_ESCAPE, "\\ufffd");
    else if (quoted) *n = (size_t)snprintf(room, JSON_ESCAPE, "\\%c", *text);
    else if (control || markup) *n = (size_t)snprintf(room, JSON_ESCAPE, "\\u%04x", *p);
    else *out = text, *n = length;
    return length ? length : 1;
}

#endif
