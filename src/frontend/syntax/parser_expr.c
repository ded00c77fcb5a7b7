/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parser_expr.c - expressions, by recursive descent; binary operators by precedence climbing.
 *
 *     expr      lambda | or ["if" or "else" expr]
 *     or        and {"or" and}            and   not {"and" not}         not  "not" not | comparison
 *     comparison  operand {("<" | "==" | "in" | "not in" | ...) operand}
 *     operand   binary operators | & ^ << + * and their kin over unary
 *     unary     ("-" | "+" | "~") unary | power
 *     power     postfix ["**" unary]
 *     postfix   atom {"." name | "(" arguments ")" | "[" index "]"}
 *
 * Invariant: a node made of parts begins where its leftmost part begins; parentheses around an
 * expression are not part of it. PyTorch reports places that way.
 * Tests: tests/unit/test_parser.c
 */
#include "frontend/syntax/parser_internal.h"

static expr *parser_or(parser *p);
static expr *parser_unary(parser *p);
static expr *parser_comprehension(parser *p, expr_kind k, expr *key, expr *element, uint32_t begin);

expr *parser_node(parser *p, expr_kind k, uint32_t begin) {
    expr *e = arena_new(p->a, expr);
    if (arena_failed(p->a)) {
        if (p->status == CTSC_OK) p->status = diag_no_memory(p->d);
        return NULL;
    }
    if (p->status != CTSC_OK) return NULL;
    e->kind = k;
    e->range = parser_range(p, begin);
    return e;
}

expr *parser_unsupported(parser *p, uint32_t begin, const char *why) {
    expr *e = parser_node(p, E_UNSUPPORTED, begin);
    if (e) e->s = why;
    return e;
}

static bool parser_push(parser *p, expr_list *list, expr *e) {
    if (!e) return false;
    (void)avec_push(p->a, list, e);
    if (!arena_failed(p->a)) return true;
    if (p->status == CTSC_OK) p->status = diag_no_memory(p->d);
    return false;
}

/* ---- operators ------------------------------------------------------------------------------- */

typedef struct binary_operator {
    token_kind token;
    operator_kind op;
    int level; /* binds tighter the higher */
} binary_operator;

static const binary_operator binary_operators[] = {
    {TK_BAR, O_OR, 1},        {TK_CARET, O_XOR, 2},
    {TK_AMP, O_AND, 3},       {TK_LSHIFT, O_LSHIFT, 4},
    {TK_RSHIFT, O_RSHIFT, 4}, {TK_PLUS, O_ADD, 5},
    {TK_MINUS, O_SUB, 5},     {TK_STAR, O_MUL, 6},
    {TK_DIV, O_DIV, 6},       {TK_FLOORDIV, O_FLOORDIV, 6},
    {TK_MOD, O_MOD, 6},       {TK_AT, O_MATMUL, 6},
};

static const binary_operator *parser_binary_operator(token_kind k) {
    for (size_t i = 0; i < sizeof binary_operators / sizeof *binary_operators; i++)
        if (binary_operators[i].token == k) return &binary_operators[i];
    return NULL;
}

static expr *parser_join(parser *p, expr_kind k, operator_kind op, expr *a, expr *b) {
    if (!a || !b) return NULL;
    expr *e = parser_node(p, k, a->range.begin);
    if (!e) return NULL;
    e->op = op;
    e->a = a;
    e->b = b;
    return e;
}

static bool parser_chain_step(parser *p, int *length) {
    if (++*length <= PARSE_MAX_CHAIN) return true;
    return parser_error_at(p, parser_here(p), "this expression is too long: split it up");
}

static expr *parser_binary(parser *p, int level) {
    expr *left = parser_unary(p);
    int length = 0;
    const binary_operator *o;
    while (left && (o = parser_binary_operator(p->cur.kind)) && o->level >= level) {
        if (!parser_chain_step(p, &length) || !parser_advance(p)) return NULL;
        left = parser_join(p, E_BINARY, o->op, left, parser_binary(p, o->level + 1));
    }
    return left;
}

expr *parser_operand(parser *p) { return parser_binary(p, 1); }

expr *parser_sum(parser *p) { return parser_binary(p, 5); }

/* A comparison's operator, if there is one here; consumes it. */
static bool parser_comparison_operator(parser *p, operator_kind *op) {
    switch (p->cur.kind) {
    case TK_EQ: *op = O_EQ; break;
    case TK_NE: *op = O_NE; break;
    case TK_LT: *op = O_LT; break;
    case TK_LE: *op = O_LE; break;
    case TK_GT: *op = O_GT; break;
    case TK_GE: *op = O_GE; break;
    case TK_IN: *op = O_IN; break;
    case TK_IS:
        if (!parser_advance(p)) return false;
        if (!parser_is(p, TK_NOT)) {
            *op = O_IS;
            return true;
        }
        *op = O_ISNOT;
        break;
    case TK_NOT:
        if (parser_peek(p) != TK_IN || !parser_advance(p)) return false;
        *op = O_NOTIN;
        break;
    default: return false;
    }
    return parser_advance(p);
}

static expr *parser_comparison(parser *p) {
    expr *left = parser_operand(p);
    operator_kind op;
    if (!left || !parser_comparison_operator(p, &op)) return p->status == CTSC_OK ? left : NULL;
    expr *e = parser_join(p, E_COMPARE, op, left, parser_operand(p));
    if (!e || !parser_comparison_operator(p, &op)) return p->status == CTSC_OK ? e : NULL;
    expr *chain = parser_node(p, E_CHAIN, left->range.begin);
    if (!chain || !parser_push(p, &chain->items, left) || !parser_push(p, &chain->items, e->b))
        return NULL;
    (void)avec_push(p->a, &chain->ops, e->op);
    do {
        (void)avec_push(p->a, &chain->ops, op);
        if (!parser_push(p, &chain->items, parser_operand(p))) return NULL;
    } while (parser_comparison_operator(p, &op));
    chain->range = parser_range(p, left->range.begin);
    return p->status == CTSC_OK ? chain : NULL;
}

static expr *parser_not(parser *p) {
    if (!parser_is(p, TK_NOT)) return parser_comparison(p);
    uint32_t begin = p->cur.begin;
    if (!parser_enter(p) || !parser_advance(p)) return NULL;
    expr *a = parser_not(p);
    parser_leave(p);
    expr *e = a ? parser_node(p, E_UNARY, begin) : NULL;
    if (!e) return NULL;
    e->op = O_NOT;
    e->a = a;
    return e;
}

static expr *parser_and(parser *p) {
    expr *left = parser_not(p);
    int length = 0;
    while (left && parser_is(p, TK_AND_KW)) {
        if (!parser_chain_step(p, &length) || !parser_advance(p)) return NULL;
        left = parser_join(p, E_BOOLOP, O_BOOL_AND, left, parser_not(p));
    }
    return left;
}

static expr *parser_or(parser *p) {
    expr *left = parser_and(p);
    int length = 0;
    while (left && parser_is(p, TK_OR_KW)) {
        if (!parser_chain_step(p, &length) || !parser_advance(p)) return NULL;
        left = parser_join(p, E_BOOLOP, O_BOOL_OR, left, parser_and(p));
    }
    return left;
}

static expr *parser_lambda(parser *p) {
    uint32_t begin = p->cur.begin;
    if (!parser_advance(p)) return NULL;
    expr *e = parser_node(p, E_LAMBDA, begin);
    if (!e || !parser_params(p, TK_COLON, false, &e->params) ||
        !parser_expect(p, TK_COLON, "the parameters of the lambda"))
        return NULL;
    bool outer_yields = p->yields;
    p->yields = false;
    e->a = parser_expr(p);
    e->i = p->yields; /* a generator */
    p->yields = outer_yields;
    e->range = parser_range(p, begin);
    return e->a ? e : NULL;
}

static expr *parser_ternary(parser *p) {
    expr *a = parser_or(p);
    if (!a || !parser_is(p, TK_IF)) return a;
    if (!parser_advance(p)) return NULL;
    expr *condition = parser_or(p);
    if (!condition || !parser_expect(p, TK_ELSE, "the condition of the expression")) return NULL;
    expr *c = parser_expr(p);
    expr *e = c ? parser_node(p, E_TERNARY, a->range.begin) : NULL;
    if (!e) return NULL;
    e->a = a;
    e->b = condition;
    e->c = c;
    return e;
}

expr *parser_expr(parser *p) {
    if (!parser_enter(p)) return NULL;
    expr *e = parser_is(p, TK_LAMBDA) ? parser_lambda(p) : parser_ternary(p);
    parser_leave(p);
    return e;
}

/* May the token after cur begin with c? Saves most of the lookahead. */
static bool parser_may_follow(const parser *p, char c) {
    uint32_t at = p->lex.pos;
    while (at < p->lex.end && (p->src->text[at] == ' ' || p->src->text[at] == '\t')) at++;
    return at < p->lex.end && (p->src->text[at] == c || strchr("\n\r\f\\#", p->src->text[at]));
}

expr *parser_named_expr(parser *p) {
    if (!parser_is(p, TK_NAME) || !parser_may_follow(p, ':') || parser_peek(p) != TK_COLON_ASSIGN)
        return parser_expr(p);
    uint32_t begin = p->cur.begin;
    const char *name = p->cur.name;
    if (!parser_advance(p) || !parser_advance(p)) return NULL;
    expr *a = parser_expr(p);
    expr *e = a ? parser_node(p, E_WALRUS, begin) : NULL;
    if (!e) return NULL;
    e->name = name;
    e->a = a;
    return e;
}

/* ---- lists of expressions -------------------------------------------------------------------- */

static expr *parser_starred(parser *p, expr *(*inner)(parser *)) {
    if (!parser_is(p, TK_STAR)) return inner(p);
    uint32_t begin = p->cur.begin;
    if (!parser_enter(p) || !parser_advance(p)) return NULL;
    expr *a = parser_operand(p);
    p->depth--;
    expr *e = a ? parser_node(p, E_STARRED, begin) : NULL;
    if (e) e->a = a;
    return e;
}

/* Can an expression begin with this token? What ends a list after its trailing comma cannot. */
static bool parser_begins_expr(token_kind k) {
    switch (k) {
    case TK_NAME:
    case TK_INT:
    case TK_FLOAT:
    case TK_IMAGINARY:
    case TK_STRING:
    case TK_FSTRING:
    case TK_BYTES:
    case TK_FALSE:
    case TK_TRUE:
    case TK_NONE:
    case TK_ELLIPSIS:
    case TK_LPAREN:
    case TK_LBRACKET:
    case TK_LBRACE:
    case TK_MINUS:
    case TK_PLUS:
    case TK_TILDE:
    case TK_NOT:
    case TK_LAMBDA:
    case TK_STAR:
    case TK_AWAIT:
    case TK_YIELD: return true;
    default: return false;
    }
}

static expr *parser_list_of(parser *p, expr *(*inner)(parser *)) {
    uint32_t begin = p->cur.begin;
    expr *first = parser_starred(p, inner);
    if (!first || !parser_is(p, TK_COMMA)) return first;
    expr *e = parser_node(p, E_TUPLE, begin);
    if (!e || !parser_push(p, &e->items, first)) return NULL;
    while (parser_accept(p, TK_COMMA) && parser_begins_expr(p->cur.kind))
        if (!parser_push(p, &e->items, parser_starred(p, inner))) return NULL;
    e->range = parser_range(p, first->range.begin);
    return p->status == CTSC_OK ? e : NULL;
}

expr *parser_expr_list(parser *p) { return parser_list_of(p, parser_expr); }

expr *parser_target_list(parser *p) { return parser_list_of(p, parser_operand); }

/* ---- unary, power ---------------------------------------------------------------------------- */

static expr *parser_int(parser *p, uint32_t begin, bool negative) {
    uint64_t n = p->cur.magnitude;
    if (n > (uint64_t)INT64_MAX && !negative) {
        parser_error_at(p, parser_here(p),
                        "Integral constant out of range (must fit in a signed 64 bit integer)");
        return NULL;
    }
    if (!parser_advance(p)) return NULL;
    expr *e = parser_node(p, E_INT, begin);
    if (e) e->i = (int64_t)(negative ? 0 - n : n);
    return e;
}

/* A minus sign and an integer are one constant, so that the smallest integer can be written; not in
 * -2 ** 2 and the like, where the sign comes last. */
static expr *parser_negative_int(parser *p, uint32_t begin) {
    if (!parser_is(p, TK_INT)) return NULL;
    switch (parser_peek(p)) {
    case TK_POW:
    case TK_DOT:
    case TK_LPAREN:
    case TK_LBRACKET: return NULL;
    default: return p->status == CTSC_OK ? parser_int(p, begin, true) : NULL;
    }
}

static expr *parser_postfix(parser *p);

static expr *parser_power(parser *p) {
    expr *a = parser_postfix(p);
    if (!a || !parser_is(p, TK_POW)) return a;
    if (!parser_enter(p) || !parser_advance(p)) return NULL;
    expr *b = parser_unary(p);
    parser_leave(p);
    return parser_join(p, E_BINARY, O_POW, a, b);
}

static expr *parser_unary(parser *p) {
    operator_kind op;
    switch (p->cur.kind) {
    case TK_MINUS: op = O_NEG; break;
    case TK_PLUS: op = O_POS; break;
    case TK_TILDE: op = O_INVERT; break;
    default: return parser_power(p);
    }
    uint32_t begin = p->cur.begin;
    if (!parser_enter(p) || !parser_advance(p)) return NULL;
    expr *constant = op == O_NEG ? parser_negative_int(p, begin) : NULL;
    expr *a = constant || p->status != CTSC_OK ? NULL : parser_unary(p);
    parser_leave(p);
    if (constant) return constant;
    expr *e = a ? parser_node(p, E_UNARY, begin) : NULL;
    if (!e) return NULL;
    e->op = op;
    e->a = a;
    return e;
}

/* ---- calls, subscripts, attributes ----------------------------------------------------------- */

static bool parser_keyword_argument(parser *p, expr *call) {
    keyword k = {.range = parser_here(p)};
    if (parser_accept(p, TK_POW)) {
        k.name = NULL;
    } else {
        k.name = p->cur.name;
        if (!parser_advance(p) || !parser_advance(p)) return false;
    }
    k.value = parser_expr(p);
    if (!k.value) return false;
    k.range = parser_range(p, k.range.begin);
    for (size_t i = 0; k.name && i < call->kwargs.len && i < PARSE_MAX_DEPTH; i++)
        if (call->kwargs.data[i].name == k.name)
            return parser_error_at(p, k.range, "keyword argument repeated: %s", k.name);
    (void)avec_push(p->a, &call->kwargs, k);
    return true;
}

static bool parser_argument(parser *p, expr *call) {
    bool named = parser_is(p, TK_NAME) || token_is_keyword(p->cur.kind);
    if (parser_is(p, TK_POW) || (named && parser_may_follow(p, '=') && parser_peek(p) == TK_ASSIGN))
        return parser_keyword_argument(p, call);
    if (call->kwargs.len > 0 && !parser_is(p, TK_STAR))
        return parser_error_at(p, parser_here(p), "positional argument follows keyword argument");
    uint32_t begin = p->cur.begin;
    expr *e = parser_starred(p, parser_named_expr);
    if (e && parser_is(p, TK_FOR)) e = parser_comprehension(p, E_GENERATOR, NULL, e, begin);
    return parser_push(p, &call->items, e);
}

static expr *parser_call(parser *p, expr *callee) {
    expr *e = parser_node(p, E_CALL, callee->range.begin);
    if (!e || !parser_advance(p)) return NULL;
    e->a = callee;
    while (!parser_is(p, TK_RPAREN)) {
        if (!parser_argument(p, e)) return NULL;
        if (!parser_accept(p, TK_COMMA)) break;
    }
    if (!parser_expect(p, TK_RPAREN, "the arguments of the call")) return NULL;
    e->range = parser_range(p, callee->range.begin);
    return e;
}

/* One index: an expression, or begin:end:step with each part optional. */
static expr *parser_index(parser *p) {
    uint32_t begin = p->cur.begin;
    expr *first = NULL;
    if (!parser_is(p, TK_COLON)) {
        first = parser_starred(p, parser_named_expr);
        if (!first || !parser_is(p, TK_COLON)) return first;
    }
    if (!parser_accept(p, TK_COLON)) return NULL;
    expr *e = parser_node(p, E_SLICE, begin);
    if (!e) return NULL;
    e->a = first;
    if (parser_begins_expr(p->cur.kind) && !(e->b = parser_expr(p))) return NULL;
    if (parser_accept(p, TK_COLON) && parser_begins_expr(p->cur.kind) && !(e->c = parser_expr(p)))
        return NULL;
    e->range = parser_range(p, begin);
    return p->status == CTSC_OK ? e : NULL;
}

static expr *parser_subscript(parser *p, expr *base) {
    expr *e = parser_node(p, E_SUBSCRIPT, base->range.begin);
    if (!e || !parser_advance(p)) return NULL;
    e->a = base;
    if (parser_is(p, TK_RBRACKET)) {
        parser_error_at(p, parser_here(p), "expected an index between the brackets");
        return NULL;
    }
    while (!parser_is(p, TK_RBRACKET)) {
        if (!parser_push(p, &e->items, parser_index(p))) return NULL;
        if (!parser_accept(p, TK_COMMA)) break;
        e->tuple_index = true;
    }
    if (!parser_expect(p, TK_RBRACKET, "the index")) return NULL;
    expr *only = e->items.data[0];
    if (!e->tuple_index && only->kind == E_TUPLE) { /* x[(a, b)] is x[a, b] */
        e->tuple_index = true;
        e->items = only->items;
    }
    e->range = parser_range(p, base->range.begin);
    return e;
}

static expr *parser_attribute(parser *p, expr *base) {
    if (!parser_advance(p)) return NULL;
    if (!parser_is(p, TK_NAME) && !token_is_keyword(p->cur.kind)) {
        parser_error_at(p, parser_here(p), "expected a name after '.', but found %s",
                        token_text(p->cur.kind));
        return NULL;
    }
    const char *name = p->cur.name;
    if (!parser_advance(p)) return NULL;
    expr *e = parser_node(p, E_ATTR, base->range.begin);
    if (!e) return NULL;
    e->a = base;
    e->name = name;
    return e;
}

static expr *parser_atom(parser *p);

static expr *parser_postfix(parser *p) {
    expr *e = parser_atom(p);
    int length = 0;
    while (e) {
        token_kind k = p->cur.kind;
        if (k != TK_DOT && k != TK_LPAREN && k != TK_LBRACKET) break;
        if (!parser_chain_step(p, &length)) return NULL;
        e = k == TK_DOT      ? parser_attribute(p, e)
            : k == TK_LPAREN ? parser_call(p, e)
                             : parser_subscript(p, e);
    }
    return e;
}

/* ---- atoms ----------------------------------------------------------------------------------- */

/* At `for`, the element is read; up to the closing bracket, which is not taken. */
static expr *parser_comprehension(parser *p, expr_kind k, expr *key, expr *element,
                                  uint32_t begin) {
    expr *e = parser_node(p, k, begin);
    if (!e || !parser_advance(p)) return NULL;
    e->a = element;
    if (key && !parser_push(p, &e->keys, key)) return NULL;
    e->target = parser_target_list(p);
    if (!e->target || !parser_expect(p, TK_IN, "the target of the comprehension")) return NULL;
    e->b = parser_or(p);
    while (e->b && parser_accept(p, TK_IF))
        if (!parser_push(p, &e->items, parser_or(p))) return NULL;
    if (!e->b || p->status != CTSC_OK) return NULL;
    if (parser_is(p, TK_FOR)) {
        if (!parser_enter(p)) return NULL;
        e->c = parser_comprehension(p, E_GENERATOR, NULL, NULL, p->cur.begin);
        parser_leave(p);
        if (!e->c) return NULL;
    }
    e->range = parser_range(p, begin);
    return e;
}

/* "(" ")" | "(" expr ")" | "(" expr "," ... ")" | "(" expr "for" ... ")" */
static expr *parser_paren(parser *p) {
    uint32_t begin = p->cur.begin;
    if (!parser_advance(p)) return NULL;
    expr *e = NULL;
    if (parser_is(p, TK_RPAREN)) {
        e = parser_node(p, E_TUPLE, begin);
    } else {
        e = parser_list_of(p, parser_named_expr);
        if (e && parser_is(p, TK_FOR)) e = parser_comprehension(p, E_GENERATOR, NULL, e, begin);
    }
    if (!e || !parser_expect(p, TK_RPAREN, "the expression in parentheses")) return NULL;
    if (e->kind == E_TUPLE && !e->parenthesised) e->range = parser_range(p, begin);
    e->parenthesised = true;
    return e;
}

static expr *parser_list(parser *p) {
    uint32_t begin = p->cur.begin;
    expr *e = parser_node(p, E_LIST, begin);
    if (!e || !parser_advance(p)) return NULL;
    while (!parser_is(p, TK_RBRACKET)) {
        expr *item = parser_starred(p, parser_named_expr);
        if (item && parser_is(p, TK_FOR) && e->items.len == 0) {
            e = parser_comprehension(p, E_LIST_COMP, NULL, item, begin);
            if (!e) return NULL;
            break;
        }
        if (!parser_push(p, &e->items, item)) return NULL;
        if (!parser_accept(p, TK_COMMA)) break;
    }
    if (!parser_expect(p, TK_RBRACKET, "the elements of the list")) return NULL;
    e->range = parser_range(p, begin);
    return e;
}

/* One "key: value" of a dict, or an element of a set, into e. *comprehension: what e became. */
static bool parser_brace_item(parser *p, expr *e, uint32_t begin, expr **comprehension) {
    if (parser_is(p, TK_POW)) { /* {**other} */
        expr *a = parser_advance(p) ? parser_operand(p) : NULL;
        expr *other = a ? parser_node(p, E_UNPACK, begin) : NULL;
        if (!other) return false;
        other->a = a;
        return parser_push(p, &e->keys, other) && parser_push(p, &e->items, other);
    }
    expr *key = parser_starred(p, parser_named_expr);
    if (!key) return false;
    bool pair = parser_is(p, TK_COLON);
    if (e->items.len == 0 && !pair) e->kind = E_SET;
    if (pair != (e->kind == E_DICT))
        return parser_error_at(p, parser_here(p),
                               pair ? "expected ',' or '}' in the set, but found ':'"
                                    : "expected ':' after the key of the dictionary");
    expr *item = key;
    if (pair && (!parser_advance(p) || !(item = parser_expr(p)))) return false;
    if (parser_is(p, TK_FOR) && e->items.len == 0) {
        *comprehension = parser_comprehension(p, pair ? E_DICT_COMP : E_SET_COMP, pair ? key : NULL,
                                              item, begin);
        return *comprehension != NULL;
    }
    return (!pair || parser_push(p, &e->keys, key)) && parser_push(p, &e->items, item);
}

static expr *parser_braces(parser *p) {
    uint32_t begin = p->cur.begin;
    expr *e = parser_node(p, E_DICT, begin), *comprehension = NULL;
    if (!e || !parser_advance(p)) return NULL;
    while (!parser_is(p, TK_RBRACE) && !comprehension) {
        if (!parser_brace_item(p, e, begin, &comprehension)) return NULL;
        if (!parser_accept(p, TK_COMMA)) break;
    }
    if (comprehension) e = comprehension;
    if (!parser_expect(p, TK_RBRACE, "the elements between braces")) return NULL;
    e->range = parser_range(p, begin);
    return e;
}

static expr *parser_simple_atom(parser *p, expr_kind k) {
    uint32_t begin = p->cur.begin;
    token t = p->cur;
    if (!parser_advance(p)) return NULL;
    expr *e = parser_node(p, k, begin);
    if (!e) return NULL;
    e->name = t.name;
    e->f = t.f;
    return e;
}

static expr *parser_yield(parser *p) {
    uint32_t begin = p->cur.begin;
    if (!parser_enter(p) || !parser_advance(p)) return NULL;
    bool from = parser_accept(p, TK_FROM);
    expr *a = NULL;
    if (parser_begins_expr(p->cur.kind) && !(a = parser_expr_list(p))) return NULL;
    parser_leave(p);
    p->yields = true;
    expr *e = parser_node(p, from ? E_YIELD_FROM : E_YIELD, begin);
    if (e) e->a = a;
    return e;
}

static expr *parser_await(parser *p) {
    uint32_t begin = p->cur.begin;
    if (!parser_enter(p) || !parser_advance(p) || !parser_unary(p)) return NULL;
    parser_leave(p);
    return parser_unsupported(p, begin, "Await aren't supported");
}

static expr *parser_atom(parser *p) {
    if (p->status != CTSC_OK) return NULL;
    switch (p->cur.kind) {
    case TK_NAME: return parser_simple_atom(p, E_NAME);
    case TK_TRUE: return parser_simple_atom(p, E_TRUE);
    case TK_FALSE: return parser_simple_atom(p, E_FALSE);
    case TK_NONE: return parser_simple_atom(p, E_NONE);
    case TK_ELLIPSIS: return parser_simple_atom(p, E_ELLIPSIS);
    case TK_INT: return parser_int(p, p->cur.begin, false);
    case TK_FLOAT: return parser_simple_atom(p, E_FLOAT);
    case TK_IMAGINARY: return parser_simple_atom(p, E_IMAGINARY);
    case TK_STRING:
    case TK_BYTES:
    case TK_FSTRING: return parser_strings(p);
    case TK_LPAREN: return parser_paren(p);
    case TK_LBRACKET: return parser_list(p);
    case TK_LBRACE: return parser_braces(p);
    case TK_YIELD: return parser_yield(p);
    case TK_AWAIT: return parser_await(p);
    default:
        parser_error_at(p, parser_here(p), "expected an expression, but found %s",
                        token_text(p->cur.kind));
        return NULL;
    }
}
