/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lexer.c - tokens of the Python subset: layout, names, punctuation. Literals are in
 * lexer_literal.c.
 *
 * Method: a hand-written scanner over bytes. Bytes above 0x7f count as
 * parts of names, so that names in any script pass; inside strings every
 * byte except the quote, the backslash and the line end is literal. Tests: tests/unit/test_parser.c
 */
#include "frontend/syntax/lexer_internal.h"

#include <string.h>

typedef struct token_spelling {
    const char *text;
    size_t len;
} token_spelling;

static const token_spelling punctuation[] = {
#define TOKEN_TEXT(k, text) {text, sizeof text - 1},
    PUNCTUATION(TOKEN_TEXT)
#undef TOKEN_TEXT
};

static const token_spelling keywords[] = {
#define TOKEN_TEXT(k, text) {text, sizeof text - 1},
    KEYWORDS(TOKEN_TEXT)
#undef TOKEN_TEXT
};

enum {
    PUNCTUATION_COUNT = sizeof punctuation / sizeof *punctuation,
    KEYWORD_COUNT = sizeof keywords / sizeof *keywords,
};

const char *token_text(token_kind k) {
    static const char *const texts[TK_COUNT] = {[TK_EOF] = "end of file",
                                                [TK_NEWLINE] = "end of line",
                                                [TK_INDENT] = "indentation",
                                                [TK_DEDENT] = "end of the indented block",
                                                [TK_NAME] = "a name",
                                                [TK_INT] = "a number",
                                                [TK_FLOAT] = "a number",
                                                [TK_IMAGINARY] = "a number",
                                                [TK_STRING] = "a string",
                                                [TK_FSTRING] = "a string",
                                                [TK_BYTES] = "bytes",
#define TOKEN_TEXT(k, text) [TK_##k] = "'" text "'",
                                                PUNCTUATION(TOKEN_TEXT) KEYWORDS(TOKEN_TEXT)
#undef TOKEN_TEXT
    };
    return texts[k];
}

void lex_init(lexer *lx, diag *d, arena *a, interner *names, source *src, uint32_t begin,
              uint32_t end, bool expression) {
    *lx = (lexer){.d = d,
                  .a = a,
                  .names = names,
                  .src = src,
                  .pos = begin,
                  .end = end,
                  .expression = expression,
                  .line_start = !expression,
                  .nindents = 1};
    if (begin == 0 && end >= 3 && memcmp(src->text, "\xef\xbb\xbf", 3) == 0) lx->pos = 3;
}

ctsc_status lex_error(lexer *lx, uint32_t begin, uint32_t end, const char *message) {
    return diag_fail_at(lx->d, CTSC_FAILED, (source_range){lx->src, begin, end}, "%s", message);
}

/* At '#': skips to the line's end, keeping what a type comment says. */
static void lex_comment(lexer *lx) {
    uint32_t p = lx->pos + 1;
    while (lex_at(lx, p) == ' ' || lex_at(lx, p) == '\t') p++;
    uint32_t stop = p;
    while (stop < lx->end && lx->src->text[stop] != '\n') stop++;
    lx->pos = stop;
    if (stop - p < 5 || memcmp(lx->src->text + p, "type:", 5) != 0) return;
    p += 5;
    while (p < stop && (lex_at(lx, p) == ' ' || lex_at(lx, p) == '\t')) p++;
    uint32_t e = p;
    while (e < stop && lex_at(lx, e) != '#') e++; /* "# type: int  # noqa" */
    while (e > p && (unsigned char)lex_at(lx, e - 1) <= ' ') e--;
    if (e - p >= 6 && memcmp(lx->src->text + p, "ignore", 6) == 0) return;
    if (e - p > ARENA_SMALL - 1) return;
    lx->comment = arena_strndup(lx->a, lx->src->text + p, e - p);
}

/* Skips blanks, joined lines and comments within a line. */
static ctsc_status lex_skip(lexer *lx) {
    for (;;) {
        char c = lex_at(lx, lx->pos);
        if (c == ' ' || c == '\t' || c == '\f' || c == '\r') {
            lx->pos++;
        } else if (c == '#') {
            lex_comment(lx);
        } else if (c == '\n' && (lx->brackets > 0 || lx->expression)) {
            lx->pos++;
        } else if (c == '\\') {
            uint32_t p = lx->pos + 1;
            if (lex_at(lx, p) == '\r') p++;
            if (lex_at(lx, p) != '\n')
                return lex_error(lx, lx->pos, lx->pos + 1,
                                 "unexpected character after line continuation character");
            lx->pos = p + 1;
        } else {
            return CTSC_OK;
        }
    }
}

/* The column a line starts at, over blank and comment lines; tabs reach to the next multiple of 8,
 * for *plain to the next column. false at the end of the text. */
static bool lex_line_column(lexer *lx, uint32_t *column, uint32_t *plain) {
    uint32_t col = 0, ones = 0;
    while (lx->pos < lx->end) {
        char c = lx->src->text[lx->pos];
        if (c == ' ') {
            col++;
            ones++;
        } else if (c == '\t') {
            col = (col / 8 + 1) * 8;
            ones++;
        } else if (c == '\n' || c == '\f') {
            col = ones = 0;
        } else if (c == '#') {
            lex_comment(lx);
            continue;
        } else if (c != '\r') {
            *column = col;
            *plain = ones;
            return true;
        }
        lx->pos++;
    }
    return false;
}

/* Just after a line's indentation. */
static ctsc_status lex_tabs(lexer *lx) {
    uint32_t begin = lx->pos;
    while (begin > 0 && lx->src->text[begin - 1] != '\n') begin--;
    return lex_error(lx, begin, lx->pos, "inconsistent use of tabs and spaces in indentation");
}

/* Compares a line's indentation with the open ones. *indent: an INDENT is due. How deep a
 * line is must not depend on the width of a tab: as in Python, tabs of 8 columns and of
 * one have to agree. */
static ctsc_status lex_indentation(lexer *lx, bool *indent) {
    uint32_t column = 0, plain = 0;
    lx->line_start = false;
    if (!lex_line_column(lx, &column, &plain)) column = plain = 0;
    uint32_t top = lx->indents[lx->nindents - 1], plain_top = lx->plain_indents[lx->nindents - 1];
    if (column > top) {
        if (plain <= plain_top) return lex_tabs(lx);
        if (lx->nindents == LEX_MAX_INDENT)
            return lex_error(lx, lx->pos, lx->pos, "too many levels of indentation");
        lx->indents[lx->nindents] = column;
        lx->plain_indents[lx->nindents++] = plain;
        *indent = true;
        return CTSC_OK;
    }
    while (lx->indents[lx->nindents - 1] > column) {
        lx->nindents--;
        lx->dedents++;
    }
    if (lx->indents[lx->nindents - 1] != column)
        return lex_error(lx, lx->pos, lx->pos,
                         "unindent does not match any outer indentation level");
    return lx->plain_indents[lx->nindents - 1] == plain ? CTSC_OK : lex_tabs(lx);
}

/* The first spelling in `punctuation` that begins with a byte;
 * spellings with a common first byte are adjacent. 0: none does. */
static token_kind lex_punctuation_first(char c) {
    static const uint8_t first[128] = {
        ['.'] = TK_ELLIPSIS,
        ['*'] = TK_POW_ASSIGN,
        ['/'] = TK_FLOORDIV_ASSIGN,
        ['<'] = TK_LSHIFT_ASSIGN,
        ['>'] = TK_RSHIFT_ASSIGN,
        ['='] = TK_EQ,
        ['!'] = TK_NE,
        ['-'] = TK_ARROW,
        ['+'] = TK_ADD_ASSIGN,
        ['%'] = TK_MOD_ASSIGN,
        ['@'] = TK_AT_ASSIGN,
        ['&'] = TK_AND_ASSIGN,
        ['|'] = TK_OR_ASSIGN,
        ['^'] = TK_XOR_ASSIGN,
        ['~'] = TK_TILDE,
        [':'] = TK_COLON_ASSIGN,
        [','] = TK_COMMA,
        [';'] = TK_SEMICOLON,
        ['('] = TK_LPAREN,
        [')'] = TK_RPAREN,
        ['['] = TK_LBRACKET,
        [']'] = TK_RBRACKET,
        ['{'] = TK_LBRACE,
        ['}'] = TK_RBRACE,
    };
    return (unsigned char)c < sizeof first ? (token_kind)first[(unsigned char)c] : TK_EOF;
}

static token_kind lex_keyword(const char *s, size_t len) {
    if (len > sizeof "continue" - 1) return TK_NAME;
    for (int i = 0; i < KEYWORD_COUNT; i++)
        if (keywords[i].text[0] == *s && keywords[i].len == len &&
            memcmp(keywords[i].text, s, len) == 0)
            return (token_kind)(TK_FALSE + i);
    return TK_NAME;
}

/* A name, a keyword, or a string with a prefix. */
static ctsc_status lex_word(lexer *lx, token *t) {
    uint32_t p = lx->pos;
    while (lex_is_name(lex_at(lx, p))) p++;
    size_t len = p - lx->pos;
    char quote = lex_at(lx, p);
    if ((quote == '"' || quote == '\'') && len <= 2) {
        bool prefix;
        ctsc_status s = lex_prefixed_string(lx, p, t, &prefix);
        if (s != CTSC_OK || prefix) return s;
    }
    if (len >= ARENA_SMALL) return lex_error(lx, lx->pos, p, "this name is too long");
    t->kind = lex_keyword(lx->src->text + lx->pos, len);
    t->name = intern_n(lx->names, lx->src->text + lx->pos, len);
    lx->pos = p;
    return CTSC_OK;
}

static ctsc_status lex_punctuation(lexer *lx, token *t) {
    const char *at = lx->src->text + lx->pos;
    size_t left = lx->end - lx->pos;
    token_kind first = lex_punctuation_first(*at);
    for (int i = (int)first - TK_ELLIPSIS;
         first && i < PUNCTUATION_COUNT && punctuation[i].text[0] == *at; i++) {
        const token_spelling *s = &punctuation[i];
        if (s->len > left || memcmp(s->text, at, s->len) != 0) continue;
        t->kind = (token_kind)(TK_ELLIPSIS + i);
        lx->pos += (uint32_t)s->len;
        if (t->kind == TK_LPAREN || t->kind == TK_LBRACKET || t->kind == TK_LBRACE) {
            lx->brackets++;
        } else if (t->kind == TK_RPAREN || t->kind == TK_RBRACKET || t->kind == TK_RBRACE) {
            if (lx->brackets > 0) lx->brackets--;
        }
        return CTSC_OK;
    }
    if (*at == '\0')
        return lex_error(lx, lx->pos, lx->pos + 1, "source code cannot contain null bytes");
    return diag_fail_at(lx->d, CTSC_FAILED, (source_range){lx->src, lx->pos, lx->pos + 1},
                        (unsigned char)*at < ' ' ? "invalid non-printable character 0x%02x"
                                                 : "unexpected character '%c'",
                        *at);
}

/* The tokens of layout: INDENT, DEDENT, NEWLINE, EOF. true: one was given. */
static bool lex_layout(lexer *lx, token *t, bool indent) {
    t->begin = t->end = lx->pos;
    if (indent) {
        t->kind = TK_INDENT;
        return true;
    }
    if (lx->dedents > 0) {
        lx->dedents--;
        t->kind = TK_DEDENT;
        return true;
    }
    if (lx->pos < lx->end && lx->src->text[lx->pos] != '\n') return false;
    if (lx->any_token && !lx->expression) {
        t->kind = TK_NEWLINE;
        lx->any_token = false;
        lx->line_start = true;
        lx->brackets = 0;
    } else {
        t->kind = TK_EOF;
    }
    return true;
}

ctsc_status lex_next(lexer *lx, token *t) {
    *t = (token){0};
    bool indent = false;
    ctsc_status s = CTSC_OK;
    if (lx->line_start) {
        s = lex_indentation(lx, &indent);
    } else if (lx->dedents == 0) {
        s = lex_skip(lx);
    }
    if (s != CTSC_OK) return s;
    bool layout = lex_layout(lx, t, indent);
    if (arena_failed(lx->a)) return diag_no_memory(lx->d);
    /* A comment before dedents belongs to what follows them. */
    if (t->kind != TK_DEDENT || !layout) {
        t->comment = lx->comment;
        lx->comment = NULL;
    }
    if (layout) return CTSC_OK;
    lx->any_token = true;
    char c = lx->src->text[lx->pos];
    if ((c >= '0' && c <= '9') || (c == '.' && lex_is_digit(lex_at(lx, lx->pos + 1)))) {
        s = lex_number(lx, t);
    } else if (c == '"' || c == '\'') {
        s = lex_string(lx, lx->pos, false, t);
    } else if ((c == '\xc2' && !strchr("\xaa\xb5\xb7\xba", lex_at(lx, lx->pos + 1))) ||
               (c == '\xe2' && (lex_at(lx, lx->pos + 1) & ~1) == '\x80')) {
        /* typographic quotes, dashes and spaces: U+00A0.., U+2000.. */
        s = lex_error(lx, lx->pos, lx->pos + (c == '\xc2' ? 2 : 3), "invalid character");
    } else if (lex_is_name(c)) {
        s = lex_word(lx, t);
    } else {
        s = lex_punctuation(lx, t);
    }
    t->end = lx->pos;
    if (s == CTSC_OK && arena_failed(lx->a)) return diag_no_memory(lx->d);
    return s;
}
