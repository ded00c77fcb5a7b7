/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text.h - numbers and characters in texts, whatever locale the host program has set: a decimal
 * comma in it changes no archive, schema or kernel, and letters are those of ASCII. (The functions
 * of <stdlib.h>, <stdio.h> and <ctype.h> follow setlocale.)
 */
#ifndef CTSC_BASE_TEXT_H
#define CTSC_BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

double text_double(const char *s, char **end); /* strtod */
/* snprintf */
int text_print(char *to, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
int text_vprint(char *to, size_t size, const char *fmt, va_list ap);

static inline bool text_is_lower(int c) { return c >= 'a' && c <= 'z'; }
static inline bool text_is_upper(int c) { return c >= 'A' && c <= 'Z'; }
static inline bool text_is_alpha(int c) { return text_is_lower(c) || text_is_upper(c); }
static inline bool text_is_digit(int c) { return c >= '0' && c <= '9'; }
static inline bool text_is_alnum(int c) { return text_is_alpha(c) || text_is_digit(c); }
static inline bool text_is_print(int c) { return c >= ' ' && c <= '~'; }
static inline bool text_is_space(int c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
static inline int text_lower(int c) { return text_is_upper(c) ? c + 32 : c; }
static inline int text_upper(int c) { return text_is_lower(c) ? c - 32 : c; }

#endif
