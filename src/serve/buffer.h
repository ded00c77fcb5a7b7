/* SPDX-License-Identifier: Apache-2.0 */
/* buffer.h - growing text and bytes, JSON written into them, numbers read from
 * JSON, and the clock. */
#ifndef CTSC_SERVE_BUFFER_H
#define CTSC_SERVE_BUFFER_H

#include "serve/isolate/call_clock.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* {0} is an empty one. After a failed allocation everything is ignored and `failed` says so: look
 * once, at the end. */
typedef struct buffer {
    char *data; /* from malloc; not terminated */
    size_t len, cap;
    bool failed;
} buffer;

void buffer_free(buffer *b);
/* Room for n more bytes: where they go, or NULL. Add what was written to len. */
char *buffer_reserve(buffer *b, size_t n);
void buffer_put(buffer *b, const void *bytes, size_t n);
void buffer_puts(buffer *b, const char *text);
void buffer_printf(buffer *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A quoted JSON string. Bytes that are not UTF-8 become U+FFFD. */
void buffer_json(buffer *b, const char *text, size_t n);
static inline void buffer_putc(buffer *b, char c) {
    char *to = buffer_reserve(b, 1);
    if (to) *to = c, b->len++;
}

/* JSON numbers (number.c): the shortest text that reads back as the same number; nan and the
 * infinities, for which JSON has no number, are null. */
void buffer_int(buffer *b, int64_t i);
void buffer_float(buffer *b, float f);
void buffer_double(buffer *b, double d);

/* A JSON number, or true or false as 1 and 0. */
typedef struct number {
    bool is_int, is_bool;
    int64_t i; /* if is_int */
    double d;  /* always */
} number;
/* Reads one at p; the text ends at end, which must hold a NUL byte.
 * Returns the position after it, or NULL if there is none. */
const char *number_read(const char *p, const char *end, number *out);

uint64_t clock_wall_ms(void); /* since 1970 */

#endif
