/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lexer.h - source text to tokens, one at a time.
 *
 * Layout is Python's: line ends and indentation are tokens, except inside brackets. Comments
 * vanish, except for
 * `# type:` comments, which ride on the token that follows them (the line's NEWLINE, the INDENT of
 * a body, the parameter after a comma).
 *
 * Ownership: token texts live in the arena. A lexer is a plain struct: copying it saves the
 * position. Tests: tests/unit/test_parser.c
 */
#ifndef CTSC_FRONTEND_SYNTAX_LEXER_H
#define CTSC_FRONTEND_SYNTAX_LEXER_H

#include "frontend/syntax/ast.h"

/* Tokens made of punctuation, longest first within a common beginning (the lexer tries them in
 * order). */
/* clang-format off */
#define PUNCTUATION(X)                                                                             \
    X(ELLIPSIS, "...")                                                                             \
    X(DOT, ".") X(POW_ASSIGN, "**=") X(POW, "**") X(MUL_ASSIGN, "*=") X(STAR, "*")                 \
        X(FLOORDIV_ASSIGN, "//=") X(FLOORDIV, "//") X(DIV_ASSIGN, "/=") X(DIV, "/")                \
            X(LSHIFT_ASSIGN, "<<=") X(LSHIFT, "<<") X(LE, "<=") X(LT, "<") X(RSHIFT_ASSIGN, ">>=") \
                X(RSHIFT, ">>") X(GE, ">=") X(GT, ">") X(EQ, "==") X(ASSIGN, "=") X(NE, "!=")      \
                    X(ARROW, "->") X(SUB_ASSIGN, "-=") X(MINUS, "-") X(ADD_ASSIGN, "+=")           \
                        X(PLUS, "+") X(MOD_ASSIGN, "%=") X(MOD, "%") X(AT_ASSIGN, "@=") X(AT, "@") \
                            X(AND_ASSIGN, "&=") X(AMP, "&") X(OR_ASSIGN, "|=") X(BAR, "|")         \
                                X(XOR_ASSIGN, "^=") X(CARET, "^") X(TILDE, "~")                    \
                                    X(COLON_ASSIGN, ":=") X(COLON, ":") X(COMMA, ",")              \
                                        X(SEMICOLON, ";") X(LPAREN, "(") X(RPAREN, ")")            \
                                            X(LBRACKET, "[") X(RBRACKET, "]") X(LBRACE, "{")       \
                                                X(RBRACE, "}")
/* clang-format on */

/* clang-format off */
#define KEYWORDS(X)                                                                                \
    X(FALSE, "False")                                                                              \
    X(NONE, "None") X(TRUE, "True") X(AND_KW, "and") X(AS, "as") X(ASSERT, "assert")               \
        X(ASYNC, "async") X(AWAIT, "await") X(BREAK, "break") X(CLASS, "class")                    \
            X(CONTINUE, "continue") X(DEF, "def") X(DEL, "del") X(ELIF, "elif") X(ELSE, "else")    \
                X(EXCEPT, "except") X(FINALLY, "finally") X(FOR, "for") X(FROM, "from")            \
                    X(GLOBAL, "global") X(IF, "if") X(IMPORT, "import") X(IN, "in") X(IS, "is")    \
                        X(LAMBDA, "lambda") X(NONLOCAL, "nonlocal") X(NOT, "not") X(OR_KW, "or")   \
                            X(PASS, "pass") X(RAISE, "raise") X(RETURN, "return") X(TRY, "try")    \
                                X(WHILE, "while") X(WITH, "with") X(YIELD, "yield")
/* clang-format on */

typedef enum token_kind {
    TK_EOF,
    TK_NEWLINE,
    TK_INDENT,
    TK_DEDENT,
    TK_NAME,      /* name */
    TK_INT,       /* magnitude */
    TK_FLOAT,     /* f */
    TK_IMAGINARY, /* f */
    TK_STRING,    /* s, slen: escapes resolved */
    TK_FSTRING,   /* body_begin, body_end: the text between the quotes; raw */
    TK_BYTES,     /* b"..." */
#define TOKEN_ENUM(k, text) TK_##k,
    PUNCTUATION(TOKEN_ENUM) KEYWORDS(TOKEN_ENUM)
#undef TOKEN_ENUM
        TK_COUNT
} token_kind;

typedef struct token {
    token_kind kind;
    uint32_t begin, end;
    const char *name;   /* NAME and keywords: the text, interned */
    uint64_t magnitude; /* INT: at most 2^63, which only a minus sign in front makes valid */
    double f;
    const char *s;
    size_t slen;
    uint32_t body_begin, body_end;
    bool raw;
    const char *comment; /* the text of a "# type:" comment before this token, or NULL */
} token;

enum { LEX_MAX_INDENT = 100 };

typedef struct lexer {
    diag *d;
    arena *a;
    interner *names;
    source *src;
    uint32_t pos, end;
    int brackets;          /* open brackets: line ends do not count inside */
    bool expression;       /* one expression: line ends never count, no layout tokens */
    bool line_start;       /* at the beginning of a line: indentation is to be read */
    bool any_token;        /* the current line holds a token: its end is a NEWLINE */
    int nindents, dedents; /* open indentations; DEDENT tokens still to be given */
    uint32_t indents[LEX_MAX_INDENT];
    uint32_t plain_indents[LEX_MAX_INDENT]; /* the same with tabs of one column */
    const char *comment;                    /* waits for the next token */
} lexer;

/* Reads src from begin to end; expression: see above. */
void lex_init(lexer *lx, diag *d, arena *a, interner *names, source *src, uint32_t begin,
              uint32_t end, bool expression);
ctsc_status lex_next(lexer *lx, token *out);
/* "':'", "'class'", "end of line": for messages. */
const char *token_text(token_kind k);
static inline bool token_is_keyword(token_kind k) { return k >= TK_FALSE && k <= TK_YIELD; }
/* Resolves the escapes of text[begin, end) of the source into an arena string (NULL after an
 * error, which is in d, or out of memory). doubled_braces: {{ and }} are one brace (f-strings). */
ctsc_status lex_unescape(diag *d, arena *a, source *src, uint32_t begin, uint32_t end, bool raw,
                         bool doubled_braces, const char **out, size_t *len);

#endif
