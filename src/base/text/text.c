/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text.c - numbers in texts, in the C locale.
 *
 * Method: reading has a function that takes the locale (strtod_l); printing has none, so the
 * calling thread's locale is set for as long as it takes. The locale is made once and stays; where
 * there is no memory for it, the program's own decides.
 *
 * Tests: tests/unit/test_base.c; make test-machines runs programs in a locale with a decimal comma
 */
#include "base/text/text.h"

#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_once_t text_once = PTHREAD_ONCE_INIT;
static locale_t text_c;

static void text_make_locale(void) { text_c = newlocale(LC_ALL_MASK, "C", (locale_t)0); }

static locale_t text_locale(void) {
    pthread_once(&text_once, text_make_locale);
    return text_c;
}

double text_double(const char *s, char **end) {
    locale_t c = text_locale();
    return c ? strtod_l(s, end, c) : strtod(s, end);
}

int text_vprint(char *to, size_t size, const char *fmt, va_list ap) {
    locale_t c = text_locale(), before = c ? uselocale(c) : (locale_t)0;
    int n = vsnprintf(to, size, fmt, ap);
    if (c) uselocale(before);
    return n;
}

int text_print(char *to, size_t size, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    int n = text_vprint(to, size, fmt, ap);
    va_end(ap);
    return n;
}
