/* SPDX-License-Identifier: Apache-2.0 */
/* json.h - strings as JSON has them. What has to be read is jansson's work. */
#ifndef CTSC_BASE_JSON_H
#define CTSC_BASE_JSON_H

#include "base/text/strbuf.h"

/* A quoted JSON string, also inside a <script> of HTML: '<', '>' and '&' are written as \u003c and
 * so on. Bytes that are not UTF-8 become U+FFFD. */
void json_text(strbuf *out, const char *text, size_t len);
/* The same for a NUL-terminated string, cut to at most
 * `most` bytes; a string that is cut ends in "...". */
void json_clipped(strbuf *out, const char *text, size_t most);

#endif
