/* SPDX-License-Identifier: Apache-2.0 */
/* lexer_internal.h - shared by lexer.c (layout, words) and lexer_literal.c (numbers, strings). */
#ifndef CTSC_FRONTEND_SYNTAX_LEXER_INTERNAL_H
#define CTSC_FRONTEND_SYNTAX_LEXER_INTERNAL_H

#include "frontend/syntax/lexer.h"

/* The byte at p; NUL after the end. */
static inline char lex_at(const lexer *lx, uint32_t p) {
    return p < lx->end ? lx->src->text[p] : '\0';
}
static inline bool lex_is_digit(char c) { return c >= '0' && c <= '9'; }
static inline bool lex_is_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || lex_is_digit(c) || c == '_' ||
           (unsigned char)c >= 0x80;
}

ctsc_status lex_error(lexer *lx, uint32_t begin, uint32_t end, const char *message);
/* At a digit, or at a point before one. */
ctsc_status lex_number(lexer *lx, token *t);
/* At the opening quote; begin: where the literal starts. */
ctsc_status lex_string(lexer *lx, uint32_t quote, bool raw, token *t);
/* A word of one or two letters is at pos, followed by a quote at `quote`: *prefix
 * says whether the word is a string's prefix; if so, the string is read. */
ctsc_status lex_prefixed_string(lexer *lx, uint32_t quote, token *t, bool *prefix);

#endif
