/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strbuf.h - a string that grows. A failed allocation is sticky (`failed`): later writes are
 * dropped, and the owner looks once, at the end.
 */
#ifndef CTSC_BASE_STRBUF_H
#define CTSC_BASE_STRBUF_H

#include "base/memory/mem.h"

typedef struct strbuf {
    char *data; /* NUL-terminated once anything was written; NULL before */
    size_t len, cap;
    bool failed;
} strbuf;

#define STRBUF_INIT {NULL, 0, 0, false}

void sb_putc(strbuf *sb, char c);
void sb_write(strbuf *sb, const char *s, size_t len);
void sb_puts(strbuf *sb, const char *s);
void sb_fill(strbuf *sb, char c, size_t n);
void sb_printf(strbuf *sb, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void sb_vprintf(strbuf *sb, const char *fmt, va_list ap);
void sb_clear(strbuf *sb); /* empties, keeps the memory */
void sb_free(strbuf *sb);
const char *sb_str(const strbuf *sb); /* never NULL ("" when empty) */
/* the text as a mem_free-able string, NULL if failed; sb is empty after */
char *sb_take(strbuf *sb);

#endif
