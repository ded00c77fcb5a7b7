/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parser.c - statements, and the two ways into the parser.
 *
 * What TorchScript has no meaning for (try, yield, global...) is parsed where that costs little, so
 * that the typing can name it, and else refused here. Tests: tests/unit/test_parser.c
 */
#include "frontend/syntax/parser_internal.h"

#include <string.h>

static bool parser_statement(parser *p, stmt_list *out);

/* ---- the parser's basics --------------------------------------------------------------------- */

bool parser_error_at(parser *p, source_range r, const char *fmt, ...) {
    if (p->status != CTSC_OK) return false;
    va_list ap;
    va_start(ap, fmt);
    p->status = diag_fail_v(p->d, CTSC_FAILED, r, fmt, ap);
    va_end(ap);
    return false;
}

bool parser_advance(parser *p) {
    if (p->status != CTSC_OK) return false;
    p->last_end = p->cur.end;
    p->status = lex_next(&p->lex, &p->cur);
    if (p->status == CTSC_OK) return true;
    p->cur = (token){.kind = TK_EOF, .begin = p->last_end, .end = p->last_end};
    return false;
}

token_kind parser_peek(parser *p) {
    lexer ahead = p->lex;
    token t;
    if (p->status != CTSC_OK) return TK_EOF;
    p->status = lex_next(&ahead, &t);
    return p->status == CTSC_OK ? t.kind : TK_EOF;
}

/* After an error: an unclosed bracket anywhere before it is the actual error
 * if it is on an earlier line, and worth a note if it is on the same one. */
static void parser_blame_bracket(parser *p) {
    enum { MOST = 64 };
    source_range open[MOST];
    uint32_t line, bracket_line, column;
    int n = 0;
    lexer lx;
    token t = {0};
    diag unused = {0};
    diag_item *error = p->d && p->d->items.len ? p->d->items.data : NULL;
    if (!error || error->range.src != p->src) return;
    lex_init(&lx, &unused, p->a, p->names, p->src, 0, (uint32_t)p->src->len, false);
    while (lex_next(&lx, &t) == CTSC_OK && t.kind != TK_EOF) {
        bool opens = t.kind == TK_LPAREN || t.kind == TK_LBRACKET || t.kind == TK_LBRACE;
        bool closes = t.kind == TK_RPAREN || t.kind == TK_RBRACKET || t.kind == TK_RBRACE;
        if (opens && n < MOST) open[n] = (source_range){p->src, t.begin, t.end};
        /* A closing one of another kind? Those of a kind are one or two apart in ASCII. */
        if (closes && n > 0 && n <= MOST &&
            (unsigned)(p->src->text[t.begin] - p->src->text[open[n - 1].begin] - 1) > 1)
            break;
        n += opens - (closes && n > 0);
    }
    diag_clear(&unused);
    if (n == 0 || n > MOST || open[n - 1].begin >= error->range.begin) return;
    source_position(p->src, error->range.begin, &line, &column);
    source_position(p->src, open[n - 1].begin, &bracket_line, &column);
    size_t notes = p->d->items.len;
    diag_note(p->d, open[n - 1], "'%c' was never closed", p->src->text[open[n - 1].begin]);
    if (bracket_line == line || p->d->items.len == notes) return;
    diag_item *note = &p->d->items.data[notes], was = p->d->items.data[0];
    p->d->items.data[0] = (diag_item){DIAG_ERROR, note->text, note->range};
    *note = (diag_item){DIAG_NOTE, was.text, was.range};
}

bool parser_expect(parser *p, token_kind k, const char *after) {
    if (parser_is(p, k)) return parser_advance(p);
    bool fresh = p->status == CTSC_OK;
    parser_error_at(p, parser_here(p), "expected %s after %s, but found %s", token_text(k), after,
                    token_text(p->cur.kind));
    token_kind found = p->cur.kind;
    bool item = found == TK_NAME || found == TK_INT || found == TK_FLOAT || found == TK_STRING;
    if (fresh && item && (k == TK_RPAREN || k == TK_RBRACKET || k == TK_RBRACE) &&
        !memchr(p->src->text + p->last_end, '\n', p->cur.begin - p->last_end))
        diag_note(p->d, (source_range){0}, "did you forget a comma?");
    return false;
}

bool parser_enter(parser *p) {
    if (++p->depth <= PARSE_MAX_DEPTH) return p->status == CTSC_OK;
    return parser_error_at(p, parser_here(p),
                           "this code is nested too deeply (more than %d levels)", PARSE_MAX_DEPTH);
}

static bool parser_memory(parser *p) {
    if (p->status == CTSC_OK && arena_failed(p->a)) p->status = diag_no_memory(p->d);
    return p->status == CTSC_OK;
}

static const char *parser_name(parser *p, const char *after) {
    const char *name = p->cur.name;
    return parser_expect(p, TK_NAME, after) ? name : NULL;
}

stmt *parser_stmt_node(parser *p, stmt_kind k) {
    stmt *s = arena_new(p->a, stmt);
    if (!parser_memory(p)) return NULL;
    s->kind = k;
    s->range = parser_here(p);
    return s;
}

bool parser_stmt_done(parser *p, stmt *s, stmt_list *out) {
    s->range = parser_range(p, s->range.begin);
    (void)avec_push(p->a, out, s);
    return parser_memory(p);
}

/* ---- simple statements ----------------------------------------------------------------------- */

static bool parser_augmented_operator(token_kind k, operator_kind *op) {
    switch (k) {
    case TK_ADD_ASSIGN: *op = O_ADD; return true;
    case TK_SUB_ASSIGN: *op = O_SUB; return true;
    case TK_MUL_ASSIGN: *op = O_MUL; return true;
    case TK_DIV_ASSIGN: *op = O_DIV; return true;
    case TK_FLOORDIV_ASSIGN: *op = O_FLOORDIV; return true;
    case TK_MOD_ASSIGN: *op = O_MOD; return true;
    case TK_POW_ASSIGN: *op = O_POW; return true;
    case TK_AT_ASSIGN: *op = O_MATMUL; return true;
    case TK_AND_ASSIGN: *op = O_AND; return true;
    case TK_OR_ASSIGN: *op = O_OR; return true;
    case TK_XOR_ASSIGN: *op = O_XOR; return true;
    case TK_LSHIFT_ASSIGN: *op = O_LSHIFT; return true;
    case TK_RSHIFT_ASSIGN: *op = O_RSHIFT; return true;
    default: return false;
    }
}

static bool parser_check_target(parser *p, const expr *e) {
    switch (e->kind) {
    case E_NAME:
    case E_ATTR:
    case E_SUBSCRIPT: return true;
    case E_STARRED: return parser_check_target(p, e->a);
    case E_TUPLE:
    case E_LIST:
        for (size_t i = 0; i < e->items.len; i++)
            if (!parser_check_target(p, e->items.data[i])) return false;
        return true;
    default: return parser_error_at(p, e->range, "cannot assign to this expression");
    }
}

/* expr | targets = value | target: T [= value] | target op= value */
static bool parser_expr_statement(parser *p, stmt *s) {
    expr *e = parser_expr_list(p);
    if (!e) return false;
    if (parser_augmented_operator(p->cur.kind, &s->op)) {
        s->kind = S_AUG_ASSIGN;
        (void)avec_push(p->a, &s->targets, e);
        return parser_check_target(p, e) && parser_advance(p) && (s->value = parser_expr_list(p));
    }
    if (parser_is(p, TK_COLON)) {
        s->kind = S_ANN_ASSIGN;
        (void)avec_push(p->a, &s->targets, e);
        if (!parser_check_target(p, e) || !parser_advance(p) || !(s->annotation = parser_expr(p)))
            return false;
        if (!parser_accept(p, TK_ASSIGN)) return p->status == CTSC_OK;
        return (s->value = parser_expr_list(p)) != NULL;
    }
    while (parser_is(p, TK_ASSIGN)) {
        s->kind = S_ASSIGN;
        (void)avec_push(p->a, &s->targets, e);
        if (!parser_check_target(p, e) || !parser_advance(p) || !(e = parser_expr_list(p)))
            return false;
        if (!parser_memory(p)) return false;
    }
    s->value = e;
    return p->status == CTSC_OK;
}

static bool parser_ends_statement(const parser *p) {
    return parser_is(p, TK_NEWLINE) || parser_is(p, TK_SEMICOLON) || parser_is(p, TK_EOF);
}

static bool parser_raise(parser *p, stmt *s) {
    if (parser_ends_statement(p)) return true;
    if (!(s->value = parser_expr(p))) return false;
    if (!parser_accept(p, TK_FROM)) return p->status == CTSC_OK;
    return (s->cause = parser_expr(p)) != NULL;
}

static bool parser_assert(parser *p, stmt *s) {
    if (!(s->value = parser_expr(p))) return false;
    if (!parser_accept(p, TK_COMMA)) return p->status == CTSC_OK;
    return (s->message = parser_expr(p)) != NULL;
}

static bool parser_delete(parser *p, stmt *s) {
    expr *e = parser_expr_list(p);
    if (!e) return false;
    if (e->kind == E_TUPLE && !e->parenthesised) {
        s->targets = e->items;
    } else {
        (void)avec_push(p->a, &s->targets, e);
    }
    return true;
}

/* "torch.nn", with leading dots; NULL after an error. */
static const char *parser_dotted(parser *p) {
    strbuf text = STRBUF_INIT;
    while (parser_is(p, TK_DOT) || parser_is(p, TK_ELLIPSIS)) {
        sb_puts(&text, parser_is(p, TK_DOT) ? "." : "...");
        parser_advance(p);
    }
    while (parser_is(p, TK_NAME)) {
        sb_puts(&text, p->cur.name);
        if (!parser_advance(p) || !parser_is(p, TK_DOT)) break;
        sb_putc(&text, '.');
        parser_advance(p);
        if (!parser_is(p, TK_NAME)) parser_expect(p, TK_NAME, "'.'");
    }
    const char *out = NULL;
    if (text.failed) {
        p->status = diag_no_memory(p->d);
    } else if (text.len >= ARENA_SMALL) {
        parser_error_at(p, parser_here(p), "this name is too long");
    } else if (p->status == CTSC_OK) {
        if (text.len == 0) parser_expect(p, TK_NAME, "import");
        out = text.len ? intern_n(p->names, sb_str(&text), text.len) : NULL;
    }
    sb_free(&text);
    return out;
}

static bool parser_alias(parser *p, import_name *n) {
    return !parser_accept(p, TK_AS) ? p->status == CTSC_OK
                                    : (n->alias = parser_name(p, "'as'")) != NULL;
}

static bool parser_import(parser *p, stmt *s) {
    do {
        import_name n = {.module = parser_dotted(p)};
        if (!n.module || !parser_alias(p, &n)) return false;
        (void)avec_push(p->a, &s->imports, n);
    } while (parser_accept(p, TK_COMMA));
    return parser_memory(p);
}

static bool parser_from(parser *p, stmt *s) {
    const char *module = parser_dotted(p);
    if (!module || !parser_expect(p, TK_IMPORT, "the module's name")) return false;
    if (strcmp(module, ".") == 0) module = NULL;
    bool paren = parser_accept(p, TK_LPAREN);
    do {
        if (paren && parser_is(p, TK_RPAREN) && s->imports.len > 0) break; /* a comma at the end */
        import_name n = {.module = module, .name = intern(p->names, "*")};
        if (!parser_accept(p, TK_STAR)) {
            n.name = parser_name(p, "'import'");
            if (!n.name || !parser_alias(p, &n)) return false;
        }
        (void)avec_push(p->a, &s->imports, n);
    } while (parser_accept(p, TK_COMMA));
    if (paren && !parser_expect(p, TK_RPAREN, "the imported names")) return false;
    return parser_memory(p);
}

static bool parser_global(parser *p, stmt *s) {
    do {
        uint32_t begin = p->cur.begin;
        const char *name = parser_name(p, "'global'");
        expr *e = name ? parser_node(p, E_NAME, begin) : NULL;
        if (!e) return false;
        e->name = name;
        (void)avec_push(p->a, &s->targets, e);
    } while (parser_accept(p, TK_COMMA));
    return parser_memory(p);
}

static bool parser_nonlocal(parser *p, stmt *s) {
    s->nonlocal = true;
    return parser_global(p, s);
}

static bool parser_return(parser *p, stmt *s) {
    return parser_ends_statement(p) || (s->value = parser_expr_list(p)) != NULL;
}

static bool parser_nothing(parser *p, stmt *s) {
    (void)s;
    return p->status == CTSC_OK;
}

typedef struct simple_statement {
    token_kind keyword;
    stmt_kind kind;
    bool (*rest)(parser *p, stmt *s); /* after the keyword */
} simple_statement;

static const simple_statement simple_statements[] = {
    {TK_RETURN, S_RETURN, parser_return},     {TK_RAISE, S_RAISE, parser_raise},
    {TK_ASSERT, S_ASSERT, parser_assert},     {TK_PASS, S_PASS, parser_nothing},
    {TK_BREAK, S_BREAK, parser_nothing},      {TK_CONTINUE, S_CONTINUE, parser_nothing},
    {TK_DEL, S_DELETE, parser_delete},        {TK_IMPORT, S_IMPORT, parser_import},
    {TK_FROM, S_IMPORT, parser_from},         {TK_GLOBAL, S_GLOBAL, parser_global},
    {TK_NONLOCAL, S_GLOBAL, parser_nonlocal},
};

static stmt *parser_simple(parser *p, stmt_list *out) {
    stmt *s = parser_stmt_node(p, S_EXPR);
    if (!s) return NULL;
    const simple_statement *simple = NULL;
    for (size_t i = 0; i < sizeof simple_statements / sizeof *simple_statements; i++)
        if (parser_is(p, simple_statements[i].keyword)) simple = &simple_statements[i];
    if (simple) {
        s->kind = simple->kind;
        if (!parser_advance(p) || !simple->rest(p, s)) return NULL;
    } else if (!parser_expr_statement(p, s)) {
        return NULL;
    }
    return parser_stmt_done(p, s, out) ? s : NULL;
}

/* Statements on one line, up to and with the end of the line. */
static bool parser_line(parser *p, stmt_list *out) {
    for (;;) {
        stmt *s = parser_simple(p, out);
        if (!s) return false;
        if (parser_is(p, TK_NEWLINE) || parser_is(p, TK_EOF)) {
            if (s->kind == S_ASSIGN) s->type_comment = p->cur.comment;
            return parser_is(p, TK_EOF) || parser_advance(p);
        }
        if (s->kind == S_EXPR && s->value && s->value->kind == E_NAME &&
            !parser_is(p, TK_SEMICOLON) && !strcmp(s->value->name, "print"))
            return parser_error_at(
                p, s->value->range,
                "missing parentheses in call to 'print': did you mean print(...)?");
        if (parser_is(p, TK_RPAREN) || parser_is(p, TK_RBRACKET) || parser_is(p, TK_RBRACE))
            return parser_error_at(p, parser_here(p), "unmatched %s", token_text(p->cur.kind));
        if (!parser_is(p, TK_SEMICOLON))
            return parser_error_at(p, parser_here(p), "expected end of line, but found %s",
                                   token_text(p->cur.kind));
        if (!parser_advance(p)) return false;
        if (parser_is(p, TK_NEWLINE)) return parser_advance(p);
    }
}

/* ---- compound statements --------------------------------------------------------------------- */

/* colon: what announced the block. */
static bool parser_is_indented(parser *p, source_range colon, const char *after) {
    if (parser_is(p, TK_INDENT)) return true;
    parser_error_at(p, parser_here(p), "expected an indented block after %s", after);
    if (p->status == CTSC_FAILED) diag_note(p->d, colon, "the block of this line is missing");
    return false;
}

bool parser_block(parser *p, const char *after, stmt_list *out) {
    source_range colon = parser_here(p);
    if (!parser_expect(p, TK_COLON, after)) return false;
    if (!parser_is(p, TK_NEWLINE)) return parser_line(p, out);
    if (!parser_advance(p) || !parser_is_indented(p, colon, after)) return false;
    if (!parser_enter(p) || !parser_advance(p)) return false;
    while (!parser_is(p, TK_DEDENT) && !parser_is(p, TK_EOF))
        if (!parser_statement(p, out)) return false;
    parser_leave(p);
    return parser_is(p, TK_EOF) || parser_advance(p);
}

/* At `if` or `elif`. */
static bool parser_if(parser *p, stmt_list *out) {
    stmt *s = parser_stmt_node(p, S_IF);
    if (!s || !parser_enter(p) || !parser_advance(p)) return false;
    if (!(s->value = parser_named_expr(p)) || !parser_block(p, "the condition", &s->body))
        return false;
    if (parser_is(p, TK_ELIF)) {
        if (!parser_if(p, &s->orelse)) return false;
    } else if (parser_accept(p, TK_ELSE) && !parser_block(p, "'else'", &s->orelse)) {
        return false;
    }
    parser_leave(p);
    return p->status == CTSC_OK && parser_stmt_done(p, s, out);
}

static bool parser_loop_else(parser *p, stmt *s) {
    if (!parser_accept(p, TK_ELSE)) return p->status == CTSC_OK;
    return parser_block(p, "'else'", &s->orelse);
}

static bool parser_while(parser *p, stmt_list *out) {
    stmt *s = parser_stmt_node(p, S_WHILE);
    if (!s || !parser_advance(p)) return false;
    s->value = parser_named_expr(p);
    return s->value && parser_block(p, "the condition", &s->body) && parser_loop_else(p, s) &&
           parser_stmt_done(p, s, out);
}

static bool parser_for(parser *p, stmt_list *out) {
    stmt *s = parser_stmt_node(p, S_FOR);
    if (!s || !parser_advance(p)) return false;
    expr *target = parser_target_list(p);
    if (!target || !parser_check_target(p, target)) return false;
    (void)avec_push(p->a, &s->targets, target);
    if (!parser_expect(p, TK_IN, "the target of the loop")) return false;
    s->value = parser_expr_list(p);
    return s->value && parser_block(p, "what the loop goes over", &s->body) &&
           parser_loop_else(p, s) && parser_stmt_done(p, s, out);
}

/* Is the text from "(" to its ")" followed by ":"? Then the parentheses are the statement's own. */
static bool parser_with_parens(parser *p) {
    if (!parser_is(p, TK_LPAREN)) return false;
    lexer ahead = p->lex;
    token t = p->cur;
    while (ahead.brackets >= p->lex.brackets && t.kind != TK_EOF && t.kind != TK_NEWLINE) {
        p->status = lex_next(&ahead, &t);
        if (p->status != CTSC_OK) return false;
    }
    p->status = lex_next(&ahead, &t);
    return p->status == CTSC_OK && t.kind == TK_COLON;
}

static bool parser_with(parser *p, stmt_list *out) {
    stmt *s = parser_stmt_node(p, S_WITH);
    if (!s || !parser_advance(p)) return false;
    bool parens = parser_with_parens(p) && parser_advance(p);
    do {
        if (parens && parser_is(p, TK_RPAREN) && s->items.len > 0) break;
        with_item item = {.context = parser_expr(p)};
        if (!item.context) return false;
        if (parser_accept(p, TK_AS)) {
            item.target = parser_operand(p);
            if (!item.target || !parser_check_target(p, item.target)) return false;
        }
        (void)avec_push(p->a, &s->items, item);
        if (!parser_enter(p)) return false; /* each item is a block around the next */
    } while (parser_accept(p, TK_COMMA));
    if (parens && !parser_expect(p, TK_RPAREN, "the items of 'with'")) return false;
    if (!parser_block(p, "the items of 'with'", &s->body)) return false;
    p->depth -= (int)s->items.len;
    return parser_stmt_done(p, s, out);
}

/* At `except`. */
static bool parser_handler(parser *p, stmt *s) {
    except_handler h = {0};
    if (!parser_advance(p)) return false;
    if (!parser_is(p, TK_COLON)) {
        if (!(h.type = parser_expr(p))) return false;
        if (parser_accept(p, TK_AS) && !(h.name = parser_name(p, "'as'"))) return false;
    }
    if (!parser_block(p, "the head of the handler", &h.body)) return false;
    (void)avec_push(p->a, &s->handlers, h);
    return parser_memory(p);
}

static bool parser_try(parser *p, stmt_list *out) {
    stmt *s = parser_stmt_node(p, S_TRY);
    if (!s || !parser_advance(p) || !parser_block(p, "'try'", &s->body)) return false;
    while (parser_is(p, TK_EXCEPT))
        if (!parser_handler(p, s)) return false;
    if (s->handlers.len > 0 && parser_accept(p, TK_ELSE) && !parser_block(p, "'else'", &s->orelse))
        return false;
    if (parser_accept(p, TK_FINALLY)) {
        if (!parser_block(p, "'finally'", &s->final)) return false;
    } else if (s->handlers.len == 0) {
        return parser_error_at(p, parser_here(p), "expected 'except' or 'finally' block");
    }
    return parser_stmt_done(p, s, out);
}

/* ---- definitions ----------------------------------------------------------------------------- */

/* One parameter, a lone "*" or "/" (which give none: *got is false). */
static bool parser_param(parser *p, bool annotations, bool *kwarg_only, param *out, bool *got) {
    *out = (param){.range = parser_here(p), .kwarg_only = *kwarg_only};
    *got = true;
    if (parser_accept(p, TK_DIV)) {
        *got = false;
        return p->status == CTSC_OK;
    }
    if (parser_accept(p, TK_STAR)) {
        *kwarg_only = true;
        out->star = true;
        *got = parser_is(p, TK_NAME);
        if (!*got) return p->status == CTSC_OK;
    } else if (parser_accept(p, TK_POW)) {
        out->star_star = true;
    }
    if (!(out->name = parser_name(p, "the parameters before it"))) return false;
    if (annotations && parser_accept(p, TK_COLON) && !(out->annotation = parser_expr(p)))
        return false;
    if (parser_accept(p, TK_ASSIGN) && !(out->default_value = parser_expr(p))) return false;
    out->range = parser_range(p, out->range.begin);
    return p->status == CTSC_OK;
}

bool parser_params(parser *p, token_kind end, bool annotations, void *params_vec) {
    param_list *params = params_vec;
    bool kwarg_only = false;
    while (!parser_is(p, end)) {
        param one;
        bool got;
        if (!parser_param(p, annotations, &kwarg_only, &one, &got)) return false;
        if (got) (void)avec_push(p->a, params, one);
        if (!parser_memory(p)) return false;
        if (!parser_accept(p, TK_COMMA)) break;
    }
    return p->status == CTSC_OK;
}

/* The parameters of a def. Those with a "# type:" comment of their own, as in
 *     def f(a,  # type: Tensor
 *           b,  # type: int
 *           ):
 * are collected in `comments`, "Tensor, int". */
static bool parser_def_params(parser *p, func_def *f, strbuf *comments) {
    param_list *params = (param_list *)(void *)&f->params;
    bool kwarg_only = false;
    while (!parser_is(p, TK_RPAREN)) {
        param one;
        bool got;
        if (!parser_param(p, true, &kwarg_only, &one, &got)) return false;
        if (got) (void)avec_push(p->a, params, one);
        if (!parser_memory(p)) return false;
        const char *comment = p->cur.comment;
        bool more = parser_accept(p, TK_COMMA);
        if (more && p->cur.comment) comment = p->cur.comment;
        if (got && comment) {
            if (comments->len > 0) sb_puts(comments, ", ");
            sb_puts(comments, comment);
        }
        if (!more) break;
    }
    return p->status == CTSC_OK;
}

/* "(...) -> R" with the parameters' own comments put in. */
static bool parser_merge_comments(parser *p, func_def *f, const strbuf *comments) {
    if (comments->failed) {
        p->status = diag_no_memory(p->d);
        return false;
    }
    const char *c = f->type_comment;
    if (comments->len == 0 || !c || strncmp(c, "(...)", 5) != 0) return true;
    if (comments->len + strlen(c) > ARENA_SMALL / 2)
        return parser_error_at(p, f->range, "the type comments of this function are too long");
    f->type_comment = arena_printf(p->a, "(%s)%s", sb_str(comments), c + 5);
    return parser_memory(p);
}

static void parser_note_docstring(func_def *f, const stmt_list *body) {
    if (body->len != 1) return;
    const stmt *first = body->data[0];
    if (first->kind == S_EXPR && first->value->kind == E_STR) f->docstring = first->value->s;
}

/* The body. A type comment follows the colon, is on a line of its own, or follows the docstring.
 */
static bool parser_def_body(parser *p, func_def *f) {
    source_range colon = parser_here(p);
    if (!parser_expect(p, TK_COLON, "the head of the function")) return false;
    if (!parser_is(p, TK_NEWLINE)) return parser_line(p, &f->body);
    f->type_comment = p->cur.comment;
    if (!parser_advance(p) || !parser_is_indented(p, colon, "the head of the function"))
        return false;
    if (!f->type_comment) f->type_comment = p->cur.comment;
    if (!parser_enter(p) || !parser_advance(p)) return false;
    while (!parser_is(p, TK_DEDENT) && !parser_is(p, TK_EOF)) {
        if (!f->type_comment && f->body.len < 2 && p->cur.comment && p->cur.comment[0] == '(')
            f->type_comment = p->cur.comment;
        if (!parser_statement(p, &f->body)) return false;
        parser_note_docstring(f, &f->body);
    }
    parser_leave(p);
    return parser_is(p, TK_EOF) || parser_advance(p);
}

/* Of `async def`: skipped, and `no` in its place; so what defines it can be used, if
 * not the function. */
static bool parser_async_body(parser *p, func_def *f, expr *no) {
    if (!parser_expect(p, TK_COLON, "the head of the function")) return false;
    for (int depth = 0; !parser_is(p, TK_EOF);) {
        token_kind k = p->cur.kind;
        depth += (k == TK_INDENT) - (k == TK_DEDENT);
        if (!parser_advance(p)) return false;
        if (!depth && (k == TK_DEDENT || (k == TK_NEWLINE && !parser_is(p, TK_INDENT)))) break;
    }
    stmt *s = parser_stmt_node(p, S_EXPR);
    if (!s) return false;
    s->value = no;
    return parser_stmt_done(p, s, &f->body);
}

/* no: stands for the body, of `async def`; or NULL. */
static bool parser_def(parser *p, uint32_t begin, const expr_list *decorators, expr *no,
                       stmt_list *out) {
    stmt *s = parser_stmt_node(p, S_DEF);
    func_def *f = arena_new(p->a, func_def);
    if (!s || !parser_memory(p) || !parser_advance(p)) return false;
    s->def = f;
    s->range.begin = begin;
    f->src = p->src;
    f->decorators = *decorators;
    f->name_range = parser_here(p);
    strbuf comments = STRBUF_INIT;
    bool outer_yields = p->yields;
    p->yields = false;
    bool ok = (f->name = parser_name(p, "'def'")) &&
              parser_expect(p, TK_LPAREN, "the function's name") &&
              parser_def_params(p, f, &comments) && parser_expect(p, TK_RPAREN, "the parameters");
    if (ok && parser_accept(p, TK_ARROW)) ok = (f->returns = parser_expr(p)) != NULL;
    ok = ok && p->status == CTSC_OK && (no ? parser_async_body(p, f, no) : parser_def_body(p, f));
    f->range = s->range = parser_range(p, begin);
    ok = ok && parser_merge_comments(p, f, &comments);
    f->is_generator = p->yields;
    p->yields = outer_yields;
    sb_free(&comments);
    return ok && parser_stmt_done(p, s, out);
}

static bool parser_async(parser *p, uint32_t begin, const expr_list *decorators, stmt_list *out) {
    uint32_t at = p->cur.begin;
    if (parser_peek(p) != TK_DEF)
        return parser_error_at(p, parser_here(p), "async code is not supported");
    if (!parser_advance(p)) return false;
    expr *no = parser_unsupported(p, at, "async function definitions aren't supported");
    return no && parser_def(p, begin, decorators, no, out);
}

static bool parser_class(parser *p, uint32_t begin, const expr_list *decorators, stmt_list *out) {
    stmt *s = parser_stmt_node(p, S_CLASS);
    class_def *c = arena_new(p->a, class_def);
    if (!s || !parser_memory(p) || !parser_advance(p)) return false;
    s->cls = c;
    s->range.begin = begin;
    c->decorators = *decorators;
    if (!(c->name = parser_name(p, "'class'"))) return false;
    if (parser_accept(p, TK_LPAREN)) {
        while (!parser_is(p, TK_RPAREN)) {
            keyword k = {.name = NULL};
            uint32_t at = p->cur.begin;
            if (parser_is(p, TK_NAME) && parser_peek(p) == TK_ASSIGN &&
                (!(k.name = parser_name(p, "'('")) || !parser_advance(p)))
                return false;
            if (!(k.value = parser_expr(p))) return false;
            k.range = parser_range(p, at);
            if (!k.name) (void)avec_push(p->a, &c->bases, k.value);
            else if (strcmp(k.name, "metaclass")) (void)avec_push(p->a, &c->keywords, k);
            if (!parser_accept(p, TK_COMMA)) break;
        }
        if (!parser_expect(p, TK_RPAREN, "the bases of the class")) return false;
    }
    if (!parser_block(p, "the head of the class", &c->body)) return false;
    c->range = parser_range(p, begin);
    return parser_stmt_done(p, s, out);
}

static bool parser_decorated(parser *p, stmt_list *out) {
    uint32_t begin = p->cur.begin;
    expr_list decorators = {0};
    while (parser_accept(p, TK_AT)) {
        expr *e = parser_named_expr(p);
        if (!e || !parser_expect(p, TK_NEWLINE, "the decorator")) return false;
        (void)avec_push(p->a, &decorators, e);
        if (!parser_memory(p)) return false;
    }
    if (parser_is(p, TK_ASYNC)) return parser_async(p, begin, &decorators, out);
    if (parser_is(p, TK_DEF)) return parser_def(p, begin, &decorators, NULL, out);
    if (parser_is(p, TK_CLASS)) return parser_class(p, begin, &decorators, out);
    return parser_error_at(p, parser_here(p),
                           "expected 'def' or 'class' after the decorators, but found %s",
                           token_text(p->cur.kind));
}

static bool parser_statement(parser *p, stmt_list *out) {
    if (p->status != CTSC_OK) return false;
    static const expr_list none = {0};
    switch (p->cur.kind) {
    case TK_IF: return parser_if(p, out);
    case TK_WHILE: return parser_while(p, out);
    case TK_FOR: return parser_for(p, out);
    case TK_WITH: return parser_with(p, out);
    case TK_TRY: return parser_try(p, out);
    case TK_DEF: return parser_def(p, p->cur.begin, &none, NULL, out);
    case TK_CLASS: return parser_class(p, p->cur.begin, &none, out);
    case TK_AT: return parser_decorated(p, out);
    case TK_ASYNC: return parser_async(p, p->cur.begin, &none, out);
    case TK_INDENT: return parser_error_at(p, parser_here(p), "unexpected indent");
    default: return parser_is_match(p) ? parser_match(p, out) : parser_line(p, out);
    }
}

/* ---- the ways in ----------------------------------------------------------------------------- */

ctsc_status parse_module(diag *d, arena *a, interner *names, source *src, stmt_list *out) {
    if (src->len >= UINT32_MAX / 2)
        return diag_fail(d, CTSC_LIMIT, "%s is too large to be parsed", src->name);
    parser p = {.d = d, .a = a, .names = names, .src = src};
    stmt_list body = {0};
    lex_init(&p.lex, d, a, names, src, 0, (uint32_t)src->len, false);
    if (parser_advance(&p))
        while (!parser_is(&p, TK_EOF) && parser_statement(&p, &body)) {
        }
    if (p.status == CTSC_OK) *out = body;
    else if (p.status == CTSC_FAILED) parser_blame_bracket(&p);
    return p.status;
}

ctsc_status parser_expression_in(parser *p, uint32_t begin, uint32_t end, expr **out) {
    lex_init(&p->lex, p->d, p->a, p->names, p->src, begin, end, true);
    p->cur = (token){.begin = begin, .end = begin};
    expr *e = parser_advance(p) ? parser_expr_list(p) : NULL;
    if (e && !parser_is(p, TK_EOF))
        parser_error_at(p, parser_here(p), "expected the end of the expression, but found %s",
                        token_text(p->cur.kind));
    if (p->status == CTSC_OK) *out = e;
    return p->status;
}

ctsc_status parse_expression(diag *d, arena *a, interner *names, source *src, uint32_t begin,
                             uint32_t end, expr **out) {
    if (src->len >= UINT32_MAX / 2)
        return diag_fail(d, CTSC_LIMIT, "%s is too large to be parsed", src->name);
    parser p = {.d = d, .a = a, .names = names, .src = src};
    return parser_expression_in(&p, begin, end, out);
}
