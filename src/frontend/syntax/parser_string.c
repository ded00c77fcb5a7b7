/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parser_string.c - string literals: adjacent ones are joined; f-strings are split.
 *
 * An f-string's expressions are parsed at their place in the source,
 * so that their locations are right. Tests: tests/unit/test_parser.c
 */
#include "frontend/syntax/parser_internal.h"

#include <string.h>

/* Appends text to the last STR part of list, or as a new one. While parts are joined, `i` of the
 * part is the room its text has, so that many small literals cost no more than one large one. */
static bool string_add_text(parser *p, expr_list *list, const char *s, size_t len, source_range r) {
    expr *last = list->len > 0 ? list->data[list->len - 1] : NULL;
    if (last && last->kind == E_STR) {
        if (last->slen + len >= (size_t)last->i) {
            size_t room = 2 * (last->slen + len) + 1;
            last->s = arena_grow(p->a, last->s, last->slen, room);
            last->i = (int64_t)room;
        }
        if (!last->s || arena_failed(p->a)) {
            p->status = diag_no_memory(p->d);
            return false;
        }
        char *text = (char *)last->s; /* the arena's, made by arena_grow or lex_unescape */
        memcpy(text + last->slen, s, len);
        last->slen += len;
        text[last->slen] = '\0';
        last->range.end = r.end;
        return true;
    }
    expr *e = parser_node(p, E_STR, r.begin);
    if (!e) return false;
    e->s = s;
    e->slen = len;
    e->range.end = r.end;
    (void)avec_push(p->a, list, e);
    return true;
}

/* Where the expression that starts at `at` ends within the f-string: at the first !, : or } that is
 * not in brackets or in a nested string. */
static uint32_t fstring_expr_end(const char *text, uint32_t at, uint32_t end) {
    int brackets = 0;
    char quote = '\0';
    for (; at < end; at++) {
        char c = text[at];
        if (quote) {
            if (c == quote) quote = '\0';
        } else if (c == '\'' || c == '"') {
            quote = c;
        } else if (c == '(' || c == '[' || c == '{') {
            brackets++;
        } else if (brackets > 0) {
            if (c == ')' || c == ']' || c == '}') brackets--;
        } else if (c == '}' || c == ':' || (c == '!' && !(at + 1 < end && text[at + 1] == '='))) {
            break;
        }
    }
    return at;
}

/* f"{x=}" shows the text before the value. *end: where x ends. */
static bool fstring_self_documenting(const char *text, uint32_t begin, uint32_t *end) {
    uint32_t e = *end;
    while (e > begin && text[e - 1] == ' ') e--;
    if (e - begin < 2 || text[e - 1] != '=' || strchr("=!<>", text[e - 2])) return false;
    *end = e - 1;
    return true;
}

/* text[*at] is the opening brace; *at is left just after the closing one. */
static bool fstring_part(parser *p, expr_list *list, uint32_t *at, uint32_t end) {
    const char *text = p->src->text;
    uint32_t open = *at, stop = fstring_expr_end(text, open + 1, end), expr_end = stop;
    source_range r = {p->src, open, stop};
    expr *e = parser_node(p, E_FORMAT, open);
    if (!e) return false;
    bool documenting = fstring_self_documenting(text, open + 1, &expr_end);
    if (documenting) {
        char *label = arena_strndup(p->a, text + open + 1, stop - open - 1);
        if (!label || !string_add_text(p, list, label, strlen(label), r)) return false;
        e->name = intern(p->names, "r");
    }
    if (parser_enter(p)) {
        parser inner = *p;
        p->status = parser_expression_in(&inner, open + 1, expr_end, &e->a);
        parser_leave(p);
    }
    if (p->status != CTSC_OK) return false;
    if (stop < end && text[stop] == '!') {
        e->name = intern_n(p->names, text + stop + 1, stop + 1 < end ? 1 : 0);
        stop += 2;
    }
    if (stop < end && text[stop] == ':') {
        if (documenting && text[stop - 2] != '!') e->name = NULL; /* f"{x=:.2f}" formats x itself */
        uint32_t spec = stop + 1;
        for (int depth = 0; stop < end && (depth > 0 || text[stop] != '}'); stop++)
            depth += text[stop] == '{' ? 1 : text[stop] == '}' ? -1 : 0;
        e->s = arena_strndup(p->a, text + spec, stop - spec);
        e->slen = stop - spec;
    }
    if (stop >= end || text[stop] != '}') return parser_error_at(p, r, "f-string: expecting '}'");
    *at = stop + 1;
    e->range.end = *at;
    (void)avec_push(p->a, list, e);
    return true;
}

static bool fstring_split(parser *p, const token *t, expr_list *list) {
    const char *text = p->src->text;
    uint32_t at = t->body_begin, plain = at;
    while (at <= t->body_end) {
        bool end = at == t->body_end;
        bool doubled = !end && (text[at] == '{' || text[at] == '}') && at + 1 < t->body_end &&
                       text[at + 1] == text[at];
        if (!end && (doubled || (text[at] != '{' && text[at] != '}'))) {
            /* A backslash keeps the next byte from being a brace: only \N{...} would, which is
             * refused. */
            at += doubled ? 2 : 1;
            continue;
        }
        if (at > plain) {
            const char *s;
            size_t len;
            ctsc_status st = lex_unescape(p->d, p->a, p->src, plain, at, t->raw, true, &s, &len);
            if (st != CTSC_OK) {
                p->status = st;
                return false;
            }
            if (!string_add_text(p, list, s, len, (source_range){p->src, plain, at})) return false;
        }
        if (end) break;
        if (text[at] == '}')
            return parser_error_at(p, (source_range){p->src, at, at + 1},
                                   "f-string: single '}' is not allowed");
        if (!fstring_part(p, list, &at, t->body_end)) return false;
        plain = at;
    }
    return true;
}

expr *parser_strings(parser *p) {
    uint32_t begin = p->cur.begin;
    bool format = false, bytes = false;
    expr_list parts = {0};
    while (parser_is(p, TK_STRING) || parser_is(p, TK_FSTRING) || parser_is(p, TK_BYTES)) {
        token t = p->cur;
        if (t.kind == TK_BYTES) {
            bytes = true;
        } else if (t.kind == TK_FSTRING) {
            format = true;
            if (!fstring_split(p, &t, &parts)) return NULL;
        } else if (!string_add_text(p, &parts, t.s, t.slen, parser_here(p))) {
            return NULL;
        }
        if (!parser_advance(p)) return NULL;
    }
    if (bytes) return parser_unsupported(p, begin, "bytes literals aren't supported");
    if (format || parts.len == 0) {
        expr *e = parser_node(p, E_FSTRING, begin);
        if (e) e->items = parts;
        return e;
    }
    parts.data[0]->range = parser_range(p, begin);
    return parts.data[0];
}
