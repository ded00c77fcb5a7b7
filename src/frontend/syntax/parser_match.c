/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parser_match.c - match statements, desugared to if statements.
 *
 *     match point:                     if E_SHAPE(point, 2) and point[0] == 0 and E_CAPTURE(y = point[1]):
 *         case (0, y): A          ->       A
 *         case Circle(r) if r > 1: B   elif isinstance(point, Circle) and E_CAPTURE(r = E_FIELD(point, Circle, 0)) and r > 1:
 *         case _: C                        B
 *                                      else: C
 *
 * A subject that is not a name is assigned to one that no program can write. A subject a, b against
 * patterns of two parts is compared part by part, so that the parts keep their types.
 * Tests: tests/lang/match.py, tests/lang/errors_match.py, tests/unit/test_parser.c
 */
#include "frontend/syntax/parser_internal.h"

#include <string.h>

static expr *match_pattern(parser *p, expr *subject);

/* ---- nodes ----------------------------------------------------------------------------------- */

static expr *match_node(parser *p, expr_kind k, source_range r) {
    expr *x = parser_node(p, k, r.begin);
    if (x) x->range = r;
    return x;
}

static expr *match_name(parser *p, source_range r, const char *name) {
    expr *x = match_node(p, E_NAME, r);
    if (x) x->name = intern(p->names, name);
    return x;
}

static expr *match_int(parser *p, source_range r, int64_t i) {
    expr *x = match_node(p, E_INT, r);
    if (x) x->i = i;
    return x;
}

static expr *match_two(parser *p, expr_kind k, operator_kind op, expr *a, expr *b) {
    if (!a || !b) return NULL;
    expr *x = match_node(p, k, b->range);
    if (!x) return NULL;
    x->op = op;
    x->a = a;
    x->b = b;
    return x;
}

/* Both; what is always true counts for nothing. NULL if either is. */
static expr *match_and(parser *p, expr *a, expr *b) {
    if (!a || !b) return NULL;
    if (a->kind == E_TRUE) return b;
    return b->kind == E_TRUE ? a : match_two(p, E_BOOLOP, O_BOOL_AND, a, b);
}

static expr *match_always(parser *p, source_range r) { return match_node(p, E_TRUE, r); }

static expr *match_capture(parser *p, source_range r, const char *name, expr *a) {
    expr *x = a ? match_node(p, E_CAPTURE, r) : NULL;
    if (!x) return NULL;
    x->name = name;
    x->a = a;
    return x;
}

static expr *match_call(parser *p, source_range r, const char *fn, expr *first, expr *second) {
    expr *x = match_node(p, E_CALL, r);
    if (!x || !first || !(x->a = match_name(p, r, fn)) || !avec_push(p->a, &x->items, first))
        return NULL;
    return !second || avec_push(p->a, &x->items, second) ? x : NULL;
}

/* subject[index] */
static expr *match_element(parser *p, source_range r, expr *subject, expr *index) {
    expr *x = index ? match_node(p, E_SUBSCRIPT, r) : NULL;
    if (!x) return NULL;
    x->a = subject;
    return avec_push(p->a, &x->items, index) ? x : NULL;
}

static expr *match_shape(parser *p, source_range r, expr *subject, const char *what, size_t n,
                         bool more) {
    expr *x = match_node(p, E_SHAPE, r);
    if (!x) return NULL;
    x->a = subject;
    x->name = what;
    x->i = (int64_t)n;
    x->tuple_index = more;
    return x;
}

/* ---- sequences ------------------------------------------------------------------------------- */

/* The rest between `before` and `after` elements: list(subject[before:-after]). */
static expr *match_rest(parser *p, source_range r, expr *subject, size_t before, size_t after) {
    expr *slice = match_node(p, E_SLICE, r);
    if (!slice || !(slice->a = match_int(p, r, (int64_t)before))) return NULL;
    if (after && !(slice->b = match_int(p, r, -(int64_t)after))) return NULL;
    return match_call(p, r, "list", match_element(p, r, subject, slice), NULL);
}

/* A pattern of a sequence whose tokens have been passed: patterns after a star count from
 * the end, which is known only when all have been read, so the parts are read twice. */
typedef struct match_parts { size_t n, star; bool starred; } match_parts;

/* Where the part that begins here ends: its "," or what closes the sequence. */
static bool match_skip_part(parser *p, token_kind close) {
    int open = 0;
    for (;;) {
        token_kind k = p->cur.kind;
        if (open == 0 && (k == TK_COMMA || k == close || k == TK_IF || k == TK_COLON)) return true;
        if (k == TK_EOF || k == TK_NEWLINE) return false;
        if (k == TK_LPAREN || k == TK_LBRACKET || k == TK_LBRACE) open++;
        if (k == TK_RPAREN || k == TK_RBRACKET || k == TK_RBRACE) open--;
        if (open < 0 || !parser_advance(p)) return false;
    }
}

/* Counts the parts up to `close`, without taking them. */
static bool match_count(parser *p, token_kind close, match_parts *out) {
    parser ahead = *p;
    *out = (match_parts){0};
    while (!parser_is(&ahead, close) && !parser_is(&ahead, TK_IF) && !parser_is(&ahead, TK_COLON)) {
        if (parser_is(&ahead, TK_STAR)) {
            if (out->starred)
                return parser_error_at(p, parser_here(&ahead),
                                       "multiple starred expressions in sequence pattern");
            out->starred = true;
            out->star = out->n;
        }
        if (!match_skip_part(&ahead, close)) break;
        out->n++;
        if (!parser_accept(&ahead, TK_COMMA)) break;
    }
    p->status = ahead.status;
    return p->status == CTSC_OK;
}

/* One part: of a subject that is a display, its own; else subject[i]. */
static expr *match_part(parser *p, expr *subject, const match_parts *parts, size_t i,
                        bool by_part) {
    source_range r = parser_here(p);
    if (parser_accept(p, TK_STAR)) {
        const char *name = p->cur.name;
        source_range at = parser_here(p);
        if (!parser_expect(p, TK_NAME, "'*'")) return NULL;
        if (!strcmp(name, "_")) return match_always(p, r);
        return match_capture(p, at, name, match_rest(p, r, subject, i, parts->n - i - 1));
    }
    if (by_part) return match_pattern(p, subject->items.data[i]);
    int64_t at = parts->starred && i > parts->star ? -(int64_t)(parts->n - i) : (int64_t)i;
    return match_pattern(p, match_element(p, r, subject, match_int(p, r, at)));
}

/* Parts up to `close`, which stays. */
static expr *match_sequence(parser *p, expr *subject, token_kind close) {
    source_range r = parser_here(p);
    match_parts parts;
    if (!match_count(p, close, &parts)) return NULL;
    bool by_part = subject->kind == E_TUPLE && !parts.starred && parts.n == subject->items.len;
    expr *all = by_part ? match_always(p, r)
                        : match_shape(p, r, subject, "sequence", parts.n - parts.starred,
                                      parts.starred);
    for (size_t i = 0; all && i < parts.n; i++) {
        all = match_and(p, all, match_part(p, subject, &parts, i, by_part));
        if (all && i + 1 < parts.n && !parser_expect(p, TK_COMMA, "the pattern")) return NULL;
    }
    if (all && parts.n) parser_accept(p, TK_COMMA);
    return p->status == CTSC_OK ? all : NULL;
}

/* ---- mappings, classes ----------------------------------------------------------------------- */

static expr *match_mapping(parser *p, expr *subject) {
    expr *all = match_shape(p, parser_here(p), subject, "mapping", 0, true);
    parser_advance(p);
    while (all && !parser_is(p, TK_RBRACE)) {
        source_range r = parser_here(p);
        if (parser_is(p, TK_POW))
            return parser_error_at(p, r, "patterns with ** are not supported"), NULL;
        expr *key = parser_operand(p);
        if (!key || !parser_expect(p, TK_COLON, "the key")) return NULL;
        all = match_and(p, all, match_two(p, E_COMPARE, O_IN, key, subject));
        all = all ? match_and(p, all, match_pattern(p, match_element(p, r, subject, key))) : NULL;
        if (!parser_accept(p, TK_COMMA)) break;
    }
    return all && parser_expect(p, TK_RBRACE, "the pattern") ? all : NULL;
}

/* subject.name, or its i-th positional field */
static expr *match_member(parser *p, source_range r, expr *subject, expr *cls, const char *name,
                          int64_t i) {
    expr *x = match_node(p, name ? E_ATTR : E_FIELD, r);
    if (!x) return NULL;
    x->a = subject;
    x->name = name;
    x->b = name ? NULL : cls;
    x->i = i;
    return x;
}

/* After Class( */
static expr *match_class(parser *p, expr *subject, expr *cls) {
    expr *all = match_call(p, cls->range, "isinstance", subject, cls);
    bool named = false;
    for (int64_t i = 0; all && !parser_is(p, TK_RPAREN); i++) {
        source_range r = parser_here(p);
        const char *name = NULL;
        if (parser_is(p, TK_NAME) && parser_peek(p) == TK_ASSIGN) {
            name = p->cur.name;
            named = true;
            if (!parser_advance(p) || !parser_advance(p)) return NULL;
        } else if (named) {
            return parser_error_at(p, r, "positional patterns follow keyword patterns"), NULL;
        }
        expr *member = match_member(p, r, subject, cls, name, i);
        all = member ? match_and(p, all, match_pattern(p, member)) : NULL;
        if (!parser_accept(p, TK_COMMA)) break;
    }
    return all && parser_expect(p, TK_RPAREN, "the pattern") ? all : NULL;
}

/* ---- patterns -------------------------------------------------------------------------------- */

/* name, a.b, or Class(...) */
static expr *match_named(parser *p, expr *subject) {
    source_range r = parser_here(p);
    const char *name = p->cur.name;
    if (!parser_advance(p)) return NULL;
    if (!parser_is(p, TK_DOT) && !parser_is(p, TK_LPAREN))
        return strcmp(name, "_") ? match_capture(p, r, name, subject) : match_always(p, r);
    expr *x = match_name(p, r, name);
    while (x && parser_accept(p, TK_DOT)) {
        expr *a = x;
        name = p->cur.name;
        if (!parser_expect(p, TK_NAME, "'.'") || !(x = parser_node(p, E_ATTR, r.begin)))
            return NULL;
        x->a = a;
        x->name = name;
    }
    if (!x) return NULL;
    return parser_accept(p, TK_LPAREN) ? match_class(p, subject, x)
                                       : match_two(p, E_COMPARE, O_EQ, subject, x);
}

static expr *match_bracketed(parser *p, expr *subject) {
    bool list = parser_is(p, TK_LBRACKET);
    token_kind close = list ? TK_RBRACKET : TK_RPAREN;
    match_parts parts;
    if (!parser_advance(p) || !match_count(p, close, &parts)) return NULL;
    parser ahead = *p;
    bool comma = parts.n != 1 || parts.starred; /* (p) is p, (p,) a sequence */
    if (!comma && match_skip_part(&ahead, close)) comma = parser_is(&ahead, TK_COMMA);
    expr *x = list || comma ? match_sequence(p, subject, close) : match_pattern(p, subject);
    return x && parser_expect(p, close, "the pattern") ? x : NULL;
}

static expr *match_closed(parser *p, expr *subject) {
    switch (p->cur.kind) {
    case TK_NAME: return match_named(p, subject);
    case TK_LPAREN:
    case TK_LBRACKET: return match_bracketed(p, subject);
    case TK_LBRACE: return match_mapping(p, subject);
    case TK_NONE:
    case TK_TRUE:
    case TK_FALSE: return match_two(p, E_COMPARE, O_IS, subject, parser_operand(p));
    case TK_INT:
    case TK_FLOAT:
    case TK_MINUS:
    case TK_STRING: return match_two(p, E_COMPARE, O_EQ, subject, parser_sum(p));
    default:
        return parser_error_at(p, parser_here(p), "expected a pattern, but found %s",
                               token_text(p->cur.kind)),
               NULL;
    }
}

/* p | q | r as name */
static expr *match_alternatives(parser *p, expr *subject) {
    expr *x = match_closed(p, subject);
    while (x && parser_accept(p, TK_BAR))
        x = match_two(p, E_BOOLOP, O_BOOL_OR, x, match_closed(p, subject));
    if (!x || !parser_accept(p, TK_AS)) return x;
    source_range r = parser_here(p);
    const char *name = p->cur.name;
    return parser_expect(p, TK_NAME, "'as'") ? match_and(p, x, match_capture(p, r, name, subject))
                                             : NULL;
}

static expr *match_pattern(parser *p, expr *subject) {
    if (!subject || !parser_enter(p)) return NULL;
    expr *x = match_alternatives(p, subject);
    parser_leave(p);
    return x;
}

/* The pattern of a case: a sequence needs no brackets. */
static expr *match_open_pattern(parser *p, expr *subject) {
    match_parts parts;
    if (!match_count(p, TK_COLON, &parts)) return NULL;
    parser ahead = *p;
    bool comma = parts.n > 1 || parts.starred ||
                 (match_skip_part(&ahead, TK_COLON) && parser_is(&ahead, TK_COMMA));
    return comma ? match_sequence(p, subject, TK_COLON) : match_pattern(p, subject);
}

/* ---- the statement --------------------------------------------------------------------------- */

static bool match_at_case(const parser *p) {
    return parser_is(p, TK_NAME) && !strcmp(p->cur.name, "case");
}

/* At a `case`; the cases after it are its `else`. */
static bool match_case(parser *p, expr *subject, stmt_list *out) {
    stmt *s = parser_stmt_node(p, S_IF);
    if (!s || !parser_enter(p) || !parser_advance(p) ||
        !(s->value = match_open_pattern(p, subject)))
        return false;
    if (parser_accept(p, TK_IF) && !(s->value = match_and(p, s->value, parser_named_expr(p))))
        return false;
    if (!parser_block(p, "the pattern", &s->body)) return false;
    if (match_at_case(p) && !match_case(p, subject, &s->orelse)) return false;
    parser_leave(p);
    return p->status == CTSC_OK && parser_stmt_done(p, s, out);
}

/* The subject, evaluated once: names for what is none. The parts of a display have one each. */
static expr *match_subject(parser *p, expr *x, stmt_list *out) {
    if (x->kind == E_NAME) return x;
    if (x->kind == E_TUPLE && x->items.len) {
        expr *parts = match_node(p, E_TUPLE, x->range);
        for (size_t i = 0; parts && i < x->items.len; i++) {
            if (x->items.data[i]->kind == E_STARRED)
                return parser_error_at(p, x->items.data[i]->range,
                                       "a starred subject is not supported"),
                       NULL;
            expr *part = match_subject(p, x->items.data[i], out);
            if (!part || !avec_push(p->a, &parts->items, part)) return NULL;
        }
        return parts;
    }
    stmt *s = parser_stmt_node(p, S_ASSIGN);
    expr *name = s ? match_name(p, x->range, arena_printf(p->a, "match$%u", x->range.begin)) : NULL;
    if (!name || !avec_push(p->a, &s->targets, name)) return NULL;
    s->value = x;
    s->range = x->range;
    return avec_push(p->a, out, s) ? name : NULL;
}

bool parser_is_match(parser *p) {
    if (!parser_is(p, TK_NAME) || strcmp(p->cur.name, "match")) return false;
    parser ahead = *p;
    diag unused = {0};
    ahead.d = ahead.lex.d = &unused;
    bool colon = false, is = parser_advance(&ahead);
    for (size_t n = 0; is && !parser_is(&ahead, TK_NEWLINE) && !parser_is(&ahead, TK_EOF); n++) {
        colon = n > 0 && parser_is(&ahead, TK_COLON);
        is = parser_advance(&ahead);
    }
    is = is && colon && parser_advance(&ahead) && parser_is(&ahead, TK_INDENT) &&
         parser_advance(&ahead) && match_at_case(&ahead);
    diag_clear(&unused);
    return is;
}

bool parser_match(parser *p, stmt_list *out) {
    if (!parser_advance(p)) return false;
    expr *x = parser_expr_list(p), *subject = x ? match_subject(p, x, out) : NULL;
    if (!subject || !parser_expect(p, TK_COLON, "the subject") || !parser_advance(p) ||
        !parser_enter(p) || !parser_advance(p))
        return false;
    if (!match_case(p, subject, out)) return false;
    parser_leave(p);
    if (!parser_is(p, TK_DEDENT) && !parser_is(p, TK_EOF))
        return parser_error_at(p, parser_here(p), "expected 'case', but found %s",
                               token_text(p->cur.kind));
    return parser_is(p, TK_EOF) || parser_advance(p);
}
