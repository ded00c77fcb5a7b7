/* SPDX-License-Identifier: Apache-2.0 */
/* json.h - strings as JSON has them. What has to be read is jansson's work. */
#ifndef CTSC_BASE_JSON_H
#define CTSC_BASE_JSON_H

#include "base/strbuf.h"
#include "base/utf8.h"

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

/* A quoted JSON string, also inside a <script> of HTML: '<', '>' and '&' are written as \u003c and
 * so on. Bytes that are not UTF-8 become U+FFFD. */
void json_text(strbuf *out, const char *text, size_t len);
/* The same of a NUL-terminated string, of which at most `most` bytes are taken; what is cut
 * ends in "...". */
void json_clipped(strbuf *out, const char *text, size_t most);

#endif
