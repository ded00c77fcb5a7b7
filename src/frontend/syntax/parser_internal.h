/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parser_internal.h - what parser.c (statements) and parser_expr.c (expressions) share.
 *
 * Conventions: a function named after a grammar symbol starts at its first token
 * (p->cur) and leaves p->cur just after its last. Functions that give a node return NULL
 * after an error; the others a status. The first error is in p->d, and ends the parse.
 */
#ifndef CTSC_FRONTEND_SYNTAX_PARSER_INTERNAL_H
#define CTSC_FRONTEND_SYNTAX_PARSER_INTERNAL_H

#include "frontend/syntax/lexer.h"

typedef struct parser {
    diag *d;
    arena *a;
    interner *names;
    source *src;
    lexer lex;
    token cur;
    uint32_t last_end;  /* end of the token before cur */
    int depth;          /* nesting of expressions and blocks */
    bool yields;        /* the function being read does */
    ctsc_status status; /* of the first error */
} parser;

/* Left-growing chains (a + b + ..., a.b.c...) nest the tree without nesting the text; those who
 * walk the tree recurse all the same. */
enum { PARSE_MAX_CHAIN = 2 * PARSE_MAX_DEPTH };

/* Moves on by one token; false after an error. */
bool parser_advance(parser *p);
bool parser_error_at(parser *p, source_range r, const char *fmt, ...)
    __attribute__((format(printf, 3, 4))); /* always false */
/* "expected ':' after the condition, but found end of line" */
bool parser_expect(parser *p, token_kind k, const char *after);
static inline bool parser_is(const parser *p, token_kind k) { return p->cur.kind == k; }
/* Consumes the token if it is a k. A lexical error after it shows at the next step, through status.
 */
static inline bool parser_accept(parser *p, token_kind k) {
    return parser_is(p, k) && (parser_advance(p), true);
}
static inline source_range parser_range(const parser *p, uint32_t begin) {
    return (source_range){p->src, begin, p->last_end > begin ? p->last_end : begin};
}
static inline source_range parser_here(const parser *p) {
    return (source_range){p->src, p->cur.begin, p->cur.end};
}
bool parser_enter(parser *p); /* one level deeper; false: too deep */
static inline void parser_leave(parser *p) { p->depth--; }
/* The token after cur. */
token_kind parser_peek(parser *p);

/* A node that ends where the last token did. */
expr *parser_node(parser *p, expr_kind k, uint32_t begin);
/* What Python has and TorchScript has not: parsed, to be refused when something uses it. */
expr *parser_unsupported(parser *p, uint32_t begin, const char *why);
/* expression: ternary, lambda and everything below. */
expr *parser_expr(parser *p);
/* expression, or name := expression. */
expr *parser_named_expr(parser *p);
/* Anything that binds tighter than comparisons: what may precede `in` in a loop. */
expr *parser_operand(parser *p);
/* expression {"," expression} [","]: a tuple if there is a comma. Starred parts are allowed. */
expr *parser_expr_list(parser *p);
/* The targets of a for. */
expr *parser_target_list(parser *p);
/* Parameters up to `end` (')' of a def, ':' of a lambda); annotations where allowed. */
typedef VEC(param) param_list;
bool parser_params(parser *p, token_kind end, bool annotations, void *params_vec);
/* Parses text[begin, end) as one expression with a parser that is a copy of the caller's. */
ctsc_status parser_expression_in(parser *p, uint32_t begin, uint32_t end, expr **out);
/* A sum, and what binds tighter: -1, 1 + 2j, "text". */
expr *parser_sum(parser *p);
/* ":" and what belongs to the statement: the rest of the line, or an indented block. */
bool parser_block(parser *p, const char *after, stmt_list *out);
stmt *parser_stmt_node(parser *p, stmt_kind k);
bool parser_stmt_done(parser *p, stmt *s, stmt_list *out); /* all of its tokens are taken */
/* parser_match.c: does a match statement begin here? (`match` is a name as well.) */
bool parser_is_match(parser *p);
bool parser_match(parser *p, stmt_list *out);
/* Adjacent string literals. */
expr *parser_strings(parser *p);

#endif
