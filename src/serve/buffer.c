/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buffer.c - growing text and bytes.
 *
 * Tests: tests/unit/test_serve.c
 */
#include "serve/buffer.h"

#include "base/text/json_escape.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void buffer_free(buffer *b) {
    free(b->data);
    *b = (buffer){0};
}

char *buffer_reserve(buffer *b, size_t n) {
    if (b->failed) return NULL;
    if (n <= b->cap - b->len) return b->data + b->len;
    size_t want = b->len + n, cap = b->cap < 128 ? 256 : 2 * b->cap;
    if (cap < want) cap = want;
    char *more = n <= SIZE_MAX / 4 && want <= SIZE_MAX / 4 ? realloc(b->data, cap) : NULL;
    if (!more) {
        b->failed = true;
        return NULL;
    }
    b->data = more;
    b->cap = cap;
    return b->data + b->len;
}

void buffer_put(buffer *b, const void *bytes, size_t n) {
    char *to = n ? buffer_reserve(b, n) : NULL;
    if (!to) return;
    memcpy(to, bytes, n);
    b->len += n;
}

void buffer_puts(buffer *b, const char *text) { buffer_put(b, text, strlen(text)); }

void buffer_printf(buffer *b, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    char *to = n >= 0 ? buffer_reserve(b, (size_t)n + 1) : NULL;
    if (to) {
        vsnprintf(to, (size_t)n + 1, fmt, again);
        b->len += (size_t)n;
    }
    va_end(again);
    va_end(ap);
}

void buffer_json(buffer *b, const char *text, size_t len) {
    char room[JSON_ESCAPE];
    const char *written;
    buffer_putc(b, '"');
    for (size_t i = 0, n; i < len && !b->failed;) {
        i += json_character(text + i, len - i, false, room, &written, &n);
        buffer_put(b, written, n);
    }
    buffer_putc(b, '"');
}

uint64_t clock_wall_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000u + (uint64_t)t.tv_nsec / 1000000u;
}
