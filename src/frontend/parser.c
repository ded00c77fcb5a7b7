/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parser.c - statements, and the two ways into the parser.
 *
 * What TorchScript has no meaning for (try, yield, global...) is parsed where that costs little, so that the typing can
 * name it, and else refused here.
 * Tests: tests/unit/test_parser.c
 */
#include "frontend/parser_internal.h"

#include <string.h>

static bool parse_block(parser *p, const char *after, stmt_list *out);
static bool parse_statement(parser *p, stmt_list *out);

/* ---- the parser's basics ---------------------------------------------------------------------------- */

bool parse_error_at(parser *p, source_range r, const char *fmt, ...) {
    if (p->status != CTSC_OK) return false;
    strbuf text = STRBUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    sb_vprintf(&text, fmt, ap);
    va_end(ap);
    p->status = diag_fail_at(p->d, CTSC_FAILED, r, "%s", sb_str(&text));
    sb_free(&text);
    return false;
}

bool parse_advance(parser *p) {
    if (p->status != CTSC_OK) return false;
    p->last_end = p->cur.end;
    p->status = lex_next(&p->lex, &p->cur);
    if (p->status == CTSC_OK) return true;
    p->cur = (token){.kind = TK_EOF, .begin = p->last_end, .end = p->last_end};
    return false;
}

token_kind parse_peek(parser *p) {
    lexer ahead = p->lex;
    token t;
    if (p->status != CTSC_OK) return TK_EOF;
    p->status = lex_next(&ahead, &t);
    return p->status == CTSC_OK ? t.kind : TK_EOF;
}

bool parse_expect(parser *p, token_kind k, const char *after) {
    if (parse_is(p, k)) return parse_advance(p);
    return parse_error_at(p, parse_here(p), "expected %s after %s, but found %s", token_text(k), after,
                          token_text(p->cur.kind));
}

bool parse_enter(parser *p) {
    if (++p->depth <= PARSE_MAX_DEPTH) return p->status == CTSC_OK;
    return parse_error_at(p, parse_here(p), "this code is nested too deeply (more than %d levels)",
                          PARSE_MAX_DEPTH);
}

static bool parse_memory(parser *p) {
    if (p->status == CTSC_OK && arena_failed(p->a)) p->status = diag_no_memory(p->d);
    return p->status == CTSC_OK;
}

static const char *parse_name(parser *p, const char *after) {
    const char *name = p->cur.name;
    return parse_expect(p, TK_NAME, after) ? name : NULL;
}

static stmt *parse_stmt_node(parser *p, stmt_kind k) {
    stmt *s = arena_new(p->a, stmt);
    if (!parse_memory(p)) return NULL;
    s->kind = k;
    s->range = parse_here(p);
    return s;
}

static bool parse_stmt_done(parser *p, stmt *s, stmt_list *out) {
    s->range = parse_range(p, s->range.begin);
    (void)avec_push(p->a, out, s);
    return parse_memory(p);
}

/* ---- simple statements -------------------------------------------------------------------------------- */

static bool parse_augmented_operator(token_kind k, operator_kind *op) {
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

static bool parse_check_target(parser *p, const expr *e) {
    switch (e->kind) {
    case E_NAME: case E_ATTR: case E_SUBSCRIPT: return true;
    case E_STARRED: return parse_check_target(p, e->a);
    case E_TUPLE: case E_LIST:
        for (size_t i = 0; i < e->items.len; i++)
            if (!parse_check_target(p, e->items.data[i])) return false;
        return true;
    default:
        return parse_error_at(p, e->range, "cannot assign to this expression");
    }
}

/* expr | targets = value | target: T [= value] | target op= value */
static bool parse_expr_statement(parser *p, stmt *s) {
    expr *e = parse_expr_list(p);
    if (!e) return false;
    if (parse_augmented_operator(p->cur.kind, &s->op)) {
        s->kind = S_AUG_ASSIGN;
        (void)avec_push(p->a, &s->targets, e);
        return parse_check_target(p, e) && parse_advance(p) && (s->value = parse_expr_list(p));
    }
    if (parse_is(p, TK_COLON)) {
        s->kind = S_ANN_ASSIGN;
        (void)avec_push(p->a, &s->targets, e);
        if (!parse_check_target(p, e) || !parse_advance(p) || !(s->annotation = parse_expr(p)))
            return false;
        if (!parse_accept(p, TK_ASSIGN)) return p->status == CTSC_OK;
        return (s->value = parse_expr_list(p)) != NULL;
    }
    while (parse_is(p, TK_ASSIGN)) {
        s->kind = S_ASSIGN;
        (void)avec_push(p->a, &s->targets, e);
        if (!parse_check_target(p, e) || !parse_advance(p) || !(e = parse_expr_list(p))) return false;
        if (!parse_memory(p)) return false;
    }
    s->value = e;
    return p->status == CTSC_OK;
}

static bool parse_ends_statement(const parser *p) {
    return parse_is(p, TK_NEWLINE) || parse_is(p, TK_SEMICOLON) || parse_is(p, TK_EOF);
}

static bool parse_raise(parser *p, stmt *s) {
    if (parse_ends_statement(p)) return true;
    if (!(s->value = parse_expr(p))) return false;
    if (!parse_accept(p, TK_FROM)) return p->status == CTSC_OK;
    return (s->cause = parse_expr(p)) != NULL;
}

static bool parse_assert(parser *p, stmt *s) {
    if (!(s->value = parse_expr(p))) return false;
    if (!parse_accept(p, TK_COMMA)) return p->status == CTSC_OK;
    return (s->message = parse_expr(p)) != NULL;
}

static bool parse_delete(parser *p, stmt *s) {
    expr *e = parse_expr_list(p);
    if (!e) return false;
    if (e->kind == E_TUPLE && !e->parenthesised) {
        s->targets = e->items;
    } else {
        (void)avec_push(p->a, &s->targets, e);
    }
    return true;
}

/* "torch.nn", with leading dots; NULL after an error. */
static const char *parse_dotted(parser *p) {
    strbuf text = STRBUF_INIT;
    while (parse_is(p, TK_DOT) || parse_is(p, TK_ELLIPSIS)) {
        sb_puts(&text, parse_is(p, TK_DOT) ? "." : "...");
        parse_advance(p);
    }
    while (parse_is(p, TK_NAME)) {
        sb_puts(&text, p->cur.name);
        if (!parse_advance(p) || !parse_is(p, TK_DOT)) break;
        sb_putc(&text, '.');
        parse_advance(p);
        if (!parse_is(p, TK_NAME)) parse_expect(p, TK_NAME, "'.'");
    }
    const char *out = NULL;
    if (text.failed) {
        p->status = diag_no_memory(p->d);
    } else if (text.len >= ARENA_SMALL) {
        parse_error_at(p, parse_here(p), "this name is too long");
    } else if (p->status == CTSC_OK) {
        if (text.len == 0) parse_expect(p, TK_NAME, "import");
        out = text.len ? intern_n(p->names, sb_str(&text), text.len) : NULL;
    }
    sb_free(&text);
    return out;
}

static bool parse_alias(parser *p, import_name *n) {
    return !parse_accept(p, TK_AS) ? p->status == CTSC_OK : (n->alias = parse_name(p, "'as'")) != NULL;
}

static bool parse_import(parser *p, stmt *s) {
    do {
        import_name n = {.module = parse_dotted(p)};
        if (!n.module || !parse_alias(p, &n)) return false;
        (void)avec_push(p->a, &s->imports, n);
    } while (parse_accept(p, TK_COMMA));
    return parse_memory(p);
}

static bool parse_from(parser *p, stmt *s) {
    const char *module = parse_dotted(p);
    if (!module || !parse_expect(p, TK_IMPORT, "the module's name")) return false;
    if (strcmp(module, ".") == 0) module = NULL;
    bool paren = parse_accept(p, TK_LPAREN);
    do {
        if (paren && parse_is(p, TK_RPAREN) && s->imports.len > 0) break; /* a comma at the end */
        import_name n = {.module = module, .name = intern(p->names, "*")};
        if (!parse_accept(p, TK_STAR)) {
            n.name = parse_name(p, "'import'");
            if (!n.name || !parse_alias(p, &n)) return false;
        }
        (void)avec_push(p->a, &s->imports, n);
    } while (parse_accept(p, TK_COMMA));
    if (paren && !parse_expect(p, TK_RPAREN, "the imported names")) return false;
    return parse_memory(p);
}

static bool parse_global(parser *p, stmt *s) {
    do {
        uint32_t begin = p->cur.begin;
        const char *name = parse_name(p, "'global'");
        expr *e = name ? parse_node(p, E_NAME, begin) : NULL;
        if (!e) return false;
        e->name = name;
        (void)avec_push(p->a, &s->targets, e);
    } while (parse_accept(p, TK_COMMA));
    return parse_memory(p);
}

static bool parse_return(parser *p, stmt *s) {
    return parse_ends_statement(p) || (s->value = parse_expr_list(p)) != NULL;
}

static bool parse_nothing(parser *p, stmt *s) {
    (void)s;
    return p->status == CTSC_OK;
}

typedef struct simple_statement {
    token_kind keyword;
    stmt_kind kind;
    bool (*rest)(parser *p, stmt *s); /* behind the keyword */
} simple_statement;

static const simple_statement simple_statements[] = {
    {TK_RETURN, S_RETURN, parse_return},  {TK_RAISE, S_RAISE, parse_raise},
    {TK_ASSERT, S_ASSERT, parse_assert},  {TK_PASS, S_PASS, parse_nothing},
    {TK_BREAK, S_BREAK, parse_nothing},   {TK_CONTINUE, S_CONTINUE, parse_nothing},
    {TK_DEL, S_DELETE, parse_delete},     {TK_IMPORT, S_IMPORT, parse_import},
    {TK_FROM, S_IMPORT, parse_from},      {TK_GLOBAL, S_GLOBAL, parse_global},
    {TK_NONLOCAL, S_GLOBAL, parse_global},
};

static stmt *parse_simple(parser *p, stmt_list *out) {
    stmt *s = parse_stmt_node(p, S_EXPR);
    if (!s) return NULL;
    const simple_statement *simple = NULL;
    for (size_t i = 0; i < sizeof simple_statements / sizeof *simple_statements; i++)
        if (parse_is(p, simple_statements[i].keyword)) simple = &simple_statements[i];
    if (simple) {
        s->kind = simple->kind;
        if (!parse_advance(p) || !simple->rest(p, s)) return NULL;
    } else if (!parse_expr_statement(p, s)) {
        return NULL;
    }
    return parse_stmt_done(p, s, out) ? s : NULL;
}

/* Statements on one line, up to and with the end of the line. */
static bool parse_line(parser *p, stmt_list *out) {
    for (;;) {
        stmt *s = parse_simple(p, out);
        if (!s) return false;
        if (parse_is(p, TK_NEWLINE) || parse_is(p, TK_EOF)) {
            if (s->kind == S_ASSIGN) s->type_comment = p->cur.comment;
            return parse_is(p, TK_EOF) || parse_advance(p);
        }
        if (!parse_is(p, TK_SEMICOLON))
            return parse_error_at(p, parse_here(p), "expected end of line, but found %s",
                                  token_text(p->cur.kind));
        if (!parse_advance(p)) return false;
        if (parse_is(p, TK_NEWLINE)) return parse_advance(p);
    }
}

/* ---- compound statements ------------------------------------------------------------------------------- */

/* ":" and what belongs to the statement: the rest of the line, or an indented block. */
static bool parse_block(parser *p, const char *after, stmt_list *out) {
    if (!parse_expect(p, TK_COLON, after)) return false;
    if (!parse_is(p, TK_NEWLINE)) return parse_line(p, out);
    if (!parse_advance(p)) return false;
    if (!parse_is(p, TK_INDENT))
        return parse_error_at(p, parse_here(p), "expected an indented block after %s", after);
    if (!parse_enter(p) || !parse_advance(p)) return false;
    while (!parse_is(p, TK_DEDENT) && !parse_is(p, TK_EOF))
        if (!parse_statement(p, out)) return false;
    parse_leave(p);
    return parse_is(p, TK_EOF) || parse_advance(p);
}

/* At `if` or `elif`. */
static bool parse_if(parser *p, stmt_list *out) {
    stmt *s = parse_stmt_node(p, S_IF);
    if (!s || !parse_enter(p) || !parse_advance(p)) return false;
    if (!(s->value = parse_named_expr(p)) || !parse_block(p, "the condition", &s->body)) return false;
    if (parse_is(p, TK_ELIF)) {
        if (!parse_if(p, &s->orelse)) return false;
    } else if (parse_accept(p, TK_ELSE) && !parse_block(p, "'else'", &s->orelse)) {
        return false;
    }
    parse_leave(p);
    return p->status == CTSC_OK && parse_stmt_done(p, s, out);
}

static bool parse_loop_else(parser *p, stmt *s) {
    if (!parse_accept(p, TK_ELSE)) return p->status == CTSC_OK;
    return parse_block(p, "'else'", &s->orelse);
}

static bool parse_while(parser *p, stmt_list *out) {
    stmt *s = parse_stmt_node(p, S_WHILE);
    if (!s || !parse_advance(p)) return false;
    s->value = parse_named_expr(p);
    return s->value && parse_block(p, "the condition", &s->body) && parse_loop_else(p, s) &&
           parse_stmt_done(p, s, out);
}

static bool parse_for(parser *p, stmt_list *out) {
    stmt *s = parse_stmt_node(p, S_FOR);
    if (!s || !parse_advance(p)) return false;
    expr *target = parse_target_list(p);
    if (!target || !parse_check_target(p, target)) return false;
    (void)avec_push(p->a, &s->targets, target);
    if (!parse_expect(p, TK_IN, "the target of the loop")) return false;
    s->value = parse_expr_list(p);
    return s->value && parse_block(p, "what the loop goes over", &s->body) &&
           parse_loop_else(p, s) && parse_stmt_done(p, s, out);
}

/* Is the text from "(" to its ")" followed by ":"? Then the parentheses are the statement's own. */
static bool parse_with_parens(parser *p) {
    if (!parse_is(p, TK_LPAREN)) return false;
    lexer ahead = p->lex;
    token t = p->cur;
    while (ahead.brackets >= p->lex.brackets && t.kind != TK_EOF && t.kind != TK_NEWLINE) {
        p->status = lex_next(&ahead, &t);
        if (p->status != CTSC_OK) return false;
    }
    p->status = lex_next(&ahead, &t);
    return p->status == CTSC_OK && t.kind == TK_COLON;
}

static bool parse_with(parser *p, stmt_list *out) {
    stmt *s = parse_stmt_node(p, S_WITH);
    if (!s || !parse_advance(p)) return false;
    bool parens = parse_with_parens(p) && parse_advance(p);
    do {
        if (parens && parse_is(p, TK_RPAREN) && s->items.len > 0) break;
        with_item item = {.context = parse_expr(p)};
        if (!item.context) return false;
        if (parse_accept(p, TK_AS)) {
            item.target = parse_operand(p);
            if (!item.target || !parse_check_target(p, item.target)) return false;
        }
        (void)avec_push(p->a, &s->items, item);
    } while (parse_accept(p, TK_COMMA));
    if (parens && !parse_expect(p, TK_RPAREN, "the items of 'with'")) return false;
    return parse_block(p, "the items of 'with'", &s->body) && parse_stmt_done(p, s, out);
}

/* Handlers and finally are read into orelse; the typing refuses the statement by its kind. */
static bool parse_try(parser *p, stmt_list *out) {
    stmt *s = parse_stmt_node(p, S_TRY);
    if (!s || !parse_advance(p) || !parse_block(p, "'try'", &s->body)) return false;
    while (parse_is(p, TK_EXCEPT) || parse_is(p, TK_FINALLY) || parse_is(p, TK_ELSE)) {
        bool except = parse_is(p, TK_EXCEPT);
        if (!parse_advance(p)) return false;
        if (except && !parse_is(p, TK_COLON)) {
            if (!parse_expr(p)) return false;
            if (parse_accept(p, TK_AS) && !parse_name(p, "'as'")) return false;
        }
        if (!parse_block(p, "the head of the handler", &s->orelse)) return false;
    }
    return parse_stmt_done(p, s, out);
}

/* ---- definitions ------------------------------------------------------------------------------------------ */

/* One parameter, a lone "*" or "/" (which give none: *got is false). */
static bool parse_param(parser *p, bool annotations, bool *kwarg_only, param *out, bool *got) {
    *out = (param){.range = parse_here(p), .kwarg_only = *kwarg_only};
    *got = true;
    if (parse_accept(p, TK_DIV)) {
        *got = false;
        return p->status == CTSC_OK;
    }
    if (parse_accept(p, TK_STAR)) {
        *kwarg_only = true;
        out->star = true;
        *got = parse_is(p, TK_NAME);
        if (!*got) return p->status == CTSC_OK;
    } else if (parse_accept(p, TK_POW)) {
        out->star_star = true;
    }
    if (!(out->name = parse_name(p, "the parameters before it"))) return false;
    if (annotations && parse_accept(p, TK_COLON) && !(out->annotation = parse_expr(p))) return false;
    if (parse_accept(p, TK_ASSIGN) && !(out->default_value = parse_expr(p))) return false;
    out->range = parse_range(p, out->range.begin);
    return p->status == CTSC_OK;
}

bool parse_params(parser *p, token_kind end, bool annotations, void *params_vec) {
    param_list *params = params_vec;
    bool kwarg_only = false;
    while (!parse_is(p, end)) {
        param one;
        bool got;
        if (!parse_param(p, annotations, &kwarg_only, &one, &got)) return false;
        if (got) (void)avec_push(p->a, params, one);
        if (!parse_memory(p)) return false;
        if (!parse_accept(p, TK_COMMA)) break;
    }
    return p->status == CTSC_OK;
}

/* The parameters of a def. Those with a "# type:" comment of their own, as in
 *     def f(a,  # type: Tensor
 *           b,  # type: int
 *           ):
 * are collected in `comments`, "Tensor, int". */
static bool parse_def_params(parser *p, func_def *f, strbuf *comments) {
    param_list *params = (param_list *)(void *)&f->params;
    bool kwarg_only = false;
    while (!parse_is(p, TK_RPAREN)) {
        param one;
        bool got;
        if (!parse_param(p, true, &kwarg_only, &one, &got)) return false;
        if (got) (void)avec_push(p->a, params, one);
        if (!parse_memory(p)) return false;
        const char *comment = p->cur.comment;
        bool more = parse_accept(p, TK_COMMA);
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
static bool parse_merge_comments(parser *p, func_def *f, const strbuf *comments) {
    if (comments->failed) {
        p->status = diag_no_memory(p->d);
        return false;
    }
    const char *c = f->type_comment;
    if (comments->len == 0 || !c || strncmp(c, "(...)", 5) != 0) return true;
    if (comments->len + strlen(c) > ARENA_SMALL / 2)
        return parse_error_at(p, f->range, "the type comments of this function are too long");
    f->type_comment = arena_printf(p->a, "(%s)%s", sb_str(comments), c + 5);
    return parse_memory(p);
}

static void parse_note_docstring(func_def *f, const stmt_list *body) {
    if (body->len != 1) return;
    const stmt *first = body->data[0];
    if (first->kind == S_EXPR && first->value->kind == E_STR) f->docstring = first->value->s;
}

/* The body. A type comment stands behind the colon, on a line of its own, or behind the docstring. */
static bool parse_def_body(parser *p, func_def *f) {
    if (!parse_expect(p, TK_COLON, "the head of the function")) return false;
    if (!parse_is(p, TK_NEWLINE)) return parse_line(p, &f->body);
    f->type_comment = p->cur.comment;
    if (!parse_advance(p)) return false;
    if (!parse_is(p, TK_INDENT))
        return parse_error_at(p, parse_here(p), "expected an indented block after the head of the function");
    if (!f->type_comment) f->type_comment = p->cur.comment;
    if (!parse_enter(p) || !parse_advance(p)) return false;
    while (!parse_is(p, TK_DEDENT) && !parse_is(p, TK_EOF)) {
        if (!f->type_comment && f->body.len < 2 && p->cur.comment && p->cur.comment[0] == '(')
            f->type_comment = p->cur.comment;
        if (!parse_statement(p, &f->body)) return false;
        parse_note_docstring(f, &f->body);
    }
    parse_leave(p);
    return parse_is(p, TK_EOF) || parse_advance(p);
}

static bool parse_def(parser *p, uint32_t begin, const expr_list *decorators, stmt_list *out) {
    stmt *s = parse_stmt_node(p, S_DEF);
    func_def *f = arena_new(p->a, func_def);
    if (!s || !parse_memory(p) || !parse_advance(p)) return false;
    s->def = f;
    s->range.begin = begin;
    f->src = p->src;
    f->decorators = *decorators;
    f->name_range = parse_here(p);
    strbuf comments = STRBUF_INIT;
    bool ok = (f->name = parse_name(p, "'def'")) &&
              parse_expect(p, TK_LPAREN, "the function's name") &&
              parse_def_params(p, f, &comments) && parse_expect(p, TK_RPAREN, "the parameters");
    if (ok && parse_accept(p, TK_ARROW)) ok = (f->returns = parse_expr(p)) != NULL;
    ok = ok && p->status == CTSC_OK && parse_def_body(p, f);
    f->range = s->range = parse_range(p, begin);
    ok = ok && parse_merge_comments(p, f, &comments);
    sb_free(&comments);
    return ok && parse_stmt_done(p, s, out);
}

static bool parse_class(parser *p, uint32_t begin, const expr_list *decorators, stmt_list *out) {
    stmt *s = parse_stmt_node(p, S_CLASS);
    class_def *c = arena_new(p->a, class_def);
    if (!s || !parse_memory(p) || !parse_advance(p)) return false;
    s->cls = c;
    s->range.begin = begin;
    c->decorators = *decorators;
    if (!(c->name = parse_name(p, "'class'"))) return false;
    if (parse_accept(p, TK_LPAREN)) {
        while (!parse_is(p, TK_RPAREN)) {
            bool keyword = parse_is(p, TK_NAME) && parse_peek(p) == TK_ASSIGN; /* metaclass=... */
            if (keyword && (!parse_advance(p) || !parse_advance(p))) return false;
            expr *base = parse_expr(p);
            if (!base) return false;
            if (!keyword) (void)avec_push(p->a, &c->bases, base);
            if (!parse_accept(p, TK_COMMA)) break;
        }
        if (!parse_expect(p, TK_RPAREN, "the bases of the class")) return false;
    }
    if (!parse_block(p, "the head of the class", &c->body)) return false;
    c->range = parse_range(p, begin);
    return parse_stmt_done(p, s, out);
}

static bool parse_decorated(parser *p, stmt_list *out) {
    uint32_t begin = p->cur.begin;
    expr_list decorators = {0};
    while (parse_accept(p, TK_AT)) {
        expr *e = parse_named_expr(p);
        if (!e || !parse_expect(p, TK_NEWLINE, "the decorator")) return false;
        (void)avec_push(p->a, &decorators, e);
        if (!parse_memory(p)) return false;
    }
    if (parse_is(p, TK_DEF)) return parse_def(p, begin, &decorators, out);
    if (parse_is(p, TK_CLASS)) return parse_class(p, begin, &decorators, out);
    return parse_error_at(p, parse_here(p), "expected 'def' or 'class' after the decorators, but found %s",
                          token_text(p->cur.kind));
}

static bool parse_statement(parser *p, stmt_list *out) {
    if (p->status != CTSC_OK) return false;
    static const expr_list none = {0};
    switch (p->cur.kind) {
    case TK_IF: return parse_if(p, out);
    case TK_WHILE: return parse_while(p, out);
    case TK_FOR: return parse_for(p, out);
    case TK_WITH: return parse_with(p, out);
    case TK_TRY: return parse_try(p, out);
    case TK_DEF: return parse_def(p, p->cur.begin, &none, out);
    case TK_CLASS: return parse_class(p, p->cur.begin, &none, out);
    case TK_AT: return parse_decorated(p, out);
    case TK_ASYNC: return parse_error_at(p, parse_here(p), "async code is not supported");
    case TK_INDENT: return parse_error_at(p, parse_here(p), "unexpected indent");
    default: return parse_line(p, out);
    }
}

/* ---- the ways in ------------------------------------------------------------------------------------------- */

ctsc_status parse_module(diag *d, arena *a, interner *names, source *src, stmt_list *out) {
    if (src->len >= UINT32_MAX / 2)
        return diag_fail(d, CTSC_LIMIT, "%s is too large to be parsed", src->name);
    parser p = {.d = d, .a = a, .names = names, .src = src};
    stmt_list body = {0};
    lex_init(&p.lex, d, a, names, src, 0, (uint32_t)src->len, false);
    if (parse_advance(&p))
        while (!parse_is(&p, TK_EOF) && parse_statement(&p, &body)) {}
    if (p.status == CTSC_OK) *out = body;
    return p.status;
}

ctsc_status parse_expression_in(parser *p, uint32_t begin, uint32_t end, expr **out) {
    lex_init(&p->lex, p->d, p->a, p->names, p->src, begin, end, true);
    p->cur = (token){.begin = begin, .end = begin};
    expr *e = parse_advance(p) ? parse_expr_list(p) : NULL;
    if (e && !parse_is(p, TK_EOF))
        parse_error_at(p, parse_here(p), "expected the end of the expression, but found %s",
                       token_text(p->cur.kind));
    if (p->status == CTSC_OK) *out = e;
    return p->status;
}

ctsc_status parse_expression(diag *d, arena *a, interner *names, source *src, uint32_t begin,
                             uint32_t end, expr **out) {
    if (src->len >= UINT32_MAX / 2)
        return diag_fail(d, CTSC_LIMIT, "%s is too large to be parsed", src->name);
    parser p = {.d = d, .a = a, .names = names, .src = src};
    return parse_expression_in(&p, begin, end, out);
}
