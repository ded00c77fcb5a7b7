/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lexer_literal.c - numbers and strings.
 *
 * Octal escapes give bytes, because the code in archives writes the bytes of UTF-8 that way
 * ("\303\251"); \x, \u and \U give characters, as in Python. Tests: tests/unit/test_parser.c
 */
#include "base/text/text.h"
#include "frontend/syntax/lexer_internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- numbers --------------------------------------------------------------------------------- */

static int lex_digit_value(char c) {
    if (lex_is_digit(c)) return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return 99;
}

/* Digits with single underscores between them; moves p past them. */
static uint32_t lex_skip_digits(const lexer *lx, uint32_t p, int base) {
    while (lex_digit_value(lex_at(lx, p)) < base ||
           (lex_at(lx, p) == '_' && lex_digit_value(lex_at(lx, p + 1)) < base))
        p++;
    return p;
}

static ctsc_status lex_integer(lexer *lx, token *t, uint32_t digits, uint32_t stop, int base) {
    uint64_t n = 0;
    bool over = false;
    for (uint32_t p = digits; p < stop; p++) {
        char c = lx->src->text[p];
        if (c == '_') continue;
        over |= __builtin_mul_overflow(n, (uint64_t)base, &n);
        over |= __builtin_add_overflow(n, (uint64_t)lex_digit_value(c), &n);
    }
    if (over || n > (uint64_t)INT64_MAX + 1)
        return lex_error(lx, lx->pos, stop,
                         "Integral constant out of range (must fit in a signed 64 bit integer)");
    t->kind = TK_INT;
    t->magnitude = n;
    return CTSC_OK;
}

static ctsc_status lex_based_integer(lexer *lx, token *t, int base) {
    uint32_t digits = lx->pos + 2;
    if (lex_at(lx, digits) == '_') digits++;
    uint32_t stop = lex_skip_digits(lx, digits, base);
    if (stop == digits || lex_is_name(lex_at(lx, stop)))
        return lex_error(lx, lx->pos, stop + 1, "invalid number");
    ctsc_status s = lex_integer(lx, t, digits, stop, base);
    lx->pos = stop;
    return s;
}

static ctsc_status lex_float(lexer *lx, token *t, uint32_t stop) {
    char text[400];
    size_t n = 0;
    for (uint32_t p = lx->pos; p < stop; p++) {
        if (lx->src->text[p] == '_') continue;
        if (n + 1 >= sizeof text) return lex_error(lx, lx->pos, stop, "this number is too long");
        text[n++] = lx->src->text[p];
    }
    text[n] = '\0';
    t->kind = TK_FLOAT;
    t->f = text_double(text, NULL);
    return CTSC_OK;
}

ctsc_status lex_number(lexer *lx, token *t) {
    uint32_t p = lx->pos;
    char second = lex_at(lx, p + 1);
    t->begin = p;
    if (lex_at(lx, p) == '0') {
        if (second == 'x' || second == 'X') return lex_based_integer(lx, t, 16);
        if (second == 'o' || second == 'O') return lex_based_integer(lx, t, 8);
        if (second == 'b' || second == 'B') return lex_based_integer(lx, t, 2);
    }
    p = lex_skip_digits(lx, p, 10);
    bool real = false;
    if (lex_at(lx, p) == '.') {
        real = true;
        p = lex_skip_digits(lx, p + 1, 10);
    }
    if (lex_at(lx, p) == 'e' || lex_at(lx, p) == 'E') {
        uint32_t q = p + 1;
        if (lex_at(lx, q) == '+' || lex_at(lx, q) == '-') q++;
        if (lex_is_digit(lex_at(lx, q))) {
            real = true;
            p = lex_skip_digits(lx, q, 10);
        }
    }
    bool imaginary = lex_at(lx, p) == 'j' || lex_at(lx, p) == 'J';
    TRY(real || imaginary ? lex_float(lx, t, p) : lex_integer(lx, t, lx->pos, p, 10));
    if (imaginary) {
        t->kind = TK_IMAGINARY;
        p++;
    } else if (t->kind == TK_INT && t->magnitude != 0 && lex_at(lx, lx->pos) == '0') {
        return lex_error(lx, lx->pos, p,
                         "leading zeros in decimal integer literals are not permitted; use an 0o "
                         "prefix for octal integers");
    }
    /* "1if x else y" is two tokens; "1abc" is a slip. */
    char next = lex_at(lx, p);
    if (lex_is_name(next) && next != 'i' && next != 'e' && next != 'o' && next != 'a' &&
        next != 'n' && next != 'f')
        return lex_error(lx, lx->pos, p + 1, "invalid number");
    lx->pos = p;
    return CTSC_OK;
}

/* ---- strings --------------------------------------------------------------------------------- */

static size_t lex_put_utf8(char *out, uint32_t c) {
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xe0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 0x3f));
        out[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 0x3f));
    out[2] = (char)(0x80 | (c >> 6 & 0x3f));
    out[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

typedef struct unescape {
    diag *d;
    source *src;
    const char *text;
    uint32_t p, end;
    char *out;
    size_t n;
} unescape;

/* \x, \u, \U: exactly `digits` hexadecimal digits. */
static ctsc_status unescape_hex(unescape *u, int digits) {
    uint32_t c = 0, start = u->p;
    for (int i = 0; i < digits; i++, u->p++) {
        int v = u->p < u->end ? lex_digit_value(u->text[u->p]) : 99;
        if (v > 15)
            return diag_fail_at(u->d, CTSC_FAILED, (source_range){u->src, start - 2, u->p},
                                "truncated \\%c escape: %d hexadecimal digits must follow",
                                u->text[start - 1], digits);
        c = c << 4 | (uint32_t)v;
    }
    if (c > 0x10ffff)
        return diag_fail_at(u->d, CTSC_FAILED, (source_range){u->src, start - 2, u->p},
                            "illegal Unicode character");
    u->n += lex_put_utf8(u->out + u->n, c);
    return CTSC_OK;
}

/* p is just after the backslash. An escape never grows the text. */
static ctsc_status unescape_one(unescape *u) {
    static const char letters[] = "\\\\''\"\"a\ab\bf\fn\nr\rt\tv\v";
    char c = u->text[u->p++];
    for (const char *l = letters; *l; l += 2) {
        if (*l != c) continue;
        u->out[u->n++] = l[1];
        return CTSC_OK;
    }
    if (c == '\n') return CTSC_OK;
    if (c == '\r' && u->p < u->end && u->text[u->p] == '\n') {
        u->p++;
        return CTSC_OK;
    }
    if (c >= '0' && c <= '7') {
        unsigned v = (unsigned)(c - '0');
        for (int i = 0; i < 2 && u->p < u->end && u->text[u->p] >= '0' && u->text[u->p] <= '7'; i++)
            v = v * 8 + (unsigned)(u->text[u->p++] - '0');
        u->out[u->n++] = (char)(v & 0xff);
        return CTSC_OK;
    }
    if (c == 'x') return unescape_hex(u, 2);
    if (c == 'u') return unescape_hex(u, 4);
    if (c == 'U') return unescape_hex(u, 8);
    if (c == 'N')
        return diag_fail_at(u->d, CTSC_FAILED, (source_range){u->src, u->p - 2, u->p},
                            "characters by name (\\N{...}) are not supported");
    u->out[u->n++] = '\\';
    u->out[u->n++] = c;
    return CTSC_OK;
}

ctsc_status lex_unescape(diag *d, arena *a, source *src, uint32_t begin, uint32_t end, bool raw,
                         bool doubled_braces, const char **out, size_t *len) {
    unescape u = {d, src, src->text, begin, end, arena_alloc(a, (size_t)(end - begin) + 1), 0};
    if (!u.out || arena_failed(a)) return diag_no_memory(d);
    while (u.p < end) {
        char c = u.text[u.p++];
        if (c == '\\' && !raw && u.p < end) {
            TRY(unescape_one(&u));
            continue;
        }
        if (c == '\r' && u.p < end && u.text[u.p] == '\n') continue; /* lines end in \n alone */
        u.out[u.n++] = c;
        if (doubled_braces && (c == '{' || c == '}') && u.p < end && u.text[u.p] == c) u.p++;
    }
    u.out[u.n] = '\0';
    *out = u.out;
    *len = u.n;
    return CTSC_OK;
}

/* From the opening quote to just after the closing one. */
static ctsc_status lex_string_body(lexer *lx, uint32_t quote, token *t) {
    char q = lex_at(lx, quote);
    bool triple = lex_at(lx, quote + 1) == q && lex_at(lx, quote + 2) == q;
    uint32_t p = quote + (triple ? 3 : 1);
    t->body_begin = p;
    for (;; p++) {
        if (p >= lx->end || (!triple && lx->src->text[p] == '\n'))
            return lex_error(lx, lx->pos, p,
                             triple ? "unterminated triple-quoted string literal"
                                    : "unterminated string literal");
        char c = lx->src->text[p];
        if (c == '\\') {
            p++; /* whatever follows does not end the string, in raw strings neither */
            if (lex_at(lx, p) == '\r' && lex_at(lx, p + 1) == '\n') p++;
        } else if (c == q && (!triple || (lex_at(lx, p + 1) == q && lex_at(lx, p + 2) == q))) {
            break;
        }
    }
    t->body_end = p;
    lx->pos = p + (triple ? 3 : 1);
    return CTSC_OK;
}

ctsc_status lex_string(lexer *lx, uint32_t quote, bool raw, token *t) {
    t->kind = TK_STRING;
    t->raw = raw;
    TRY(lex_string_body(lx, quote, t));
    return lex_unescape(lx->d, lx->a, lx->src, t->body_begin, t->body_end, raw, false, &t->s,
                        &t->slen);
}

ctsc_status lex_prefixed_string(lexer *lx, uint32_t quote, token *t, bool *prefix) {
    bool raw = false, format = false, bytes = false;
    *prefix = false;
    for (uint32_t p = lx->pos; p < quote; p++) {
        switch (lx->src->text[p] | 0x20) {
        case 'r': raw = true; break;
        case 'f': format = true; break;
        case 'b': bytes = true; break;
        case 'u': break;
        default: return CTSC_OK;
        }
    }
    *prefix = true;
    if (!format && !bytes) return lex_string(lx, quote, raw, t);
    t->kind = bytes ? TK_BYTES : TK_FSTRING;
    t->raw = raw;
    return lex_string_body(lx, quote, t);
}
