/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strbuf.c - a string that grows, with a sticky failure.
 *
 * Tests: tests/unit/test_base.c
 */
#include "base/text/strbuf.h"
#include "base/text/text.h"

#include <stdio.h>
#include <string.h>

/* Room for n more bytes and the NUL. */
static bool strbuf_reserve(strbuf *sb, size_t n) {
    if (sb->failed) return false;
    size_t want;
    if (!size_add(sb->len, n, &want) || !size_add(want, 1, &want)) {
        sb->failed = true;
        return false;
    }
    if (want <= sb->cap) return true;
    size_t cap = sb->cap < 32 ? 64 : sb->cap > SIZE_MAX / 2 ? want : sb->cap * 2;
    if (cap < want) cap = want;
    char *p = mem_resize(sb->data, cap);
    if (!p) {
        sb->failed = true;
        return false;
    }
    sb->data = p;
    sb->cap = cap;
    return true;
}

void sb_putc(strbuf *sb, char c) { sb_write(sb, &c, 1); }

void sb_write(strbuf *sb, const char *s, size_t len) {
    if (!strbuf_reserve(sb, len)) return;
    if (len) memcpy(sb->data + sb->len, s, len);
    sb->len += len;
    sb->data[sb->len] = '\0';
}

void sb_puts(strbuf *sb, const char *s) { sb_write(sb, s, strlen(s)); }

void sb_fill(strbuf *sb, char c, size_t n) {
    if (!strbuf_reserve(sb, n)) return;
    memset(sb->data + sb->len, c, n);
    sb->len += n;
    sb->data[sb->len] = '\0';
}

void sb_printf(strbuf *sb, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    sb_vprintf(sb, fmt, ap);
    va_end(ap);
}

void sb_vprintf(strbuf *sb, const char *fmt, va_list ap) {
    if (!strbuf_reserve(sb, 64)) return;
    va_list again;
    va_copy(again, ap);
    size_t room = sb->cap - sb->len;
    int n = text_vprint(sb->data + sb->len, room, fmt, ap);
    if (n >= 0 && (size_t)n >= room) {
        sb->data[sb->len] = '\0'; /* what did not fit is written again, or not at all */
        if (strbuf_reserve(sb, (size_t)n))
            text_vprint(sb->data + sb->len, (size_t)n + 1, fmt, again);
        else n = -1;
    }
    va_end(again);
    if (n >= 0) sb->len += (size_t)n;
    else sb->failed = true;
}

void sb_clear(strbuf *sb) {
    sb->len = 0;
    sb->failed = false;
    if (sb->data) sb->data[0] = '\0';
}

void sb_free(strbuf *sb) {
    mem_free(sb->data);
    *sb = (strbuf)STRBUF_INIT;
}

const char *sb_str(const strbuf *sb) { return sb->data ? sb->data : ""; }

char *sb_take(strbuf *sb) {
    char *s = NULL;
    if (strbuf_reserve(sb, 0)) {
        sb->data[sb->len] = '\0';
        s = sb->data;
        sb->data = NULL;
    }
    sb_free(sb);
    return s;
}
