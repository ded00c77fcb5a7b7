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
 * expression are no part of it. PyTorch reports places that way.
 * Tests: tests/unit/test_parser.c
 */
#include "frontend/parser_internal.h"

static expr *parse_or(parser *p);
static expr *parse_unary(parser *p);
static expr *parse_comprehension(parser *p, expr_kind k, expr *key, expr *element, uint32_t begin);

expr *parse_node(parser *p, expr_kind k, uint32_t begin) {
    expr *e = arena_new(p->a, expr);
    if (arena_failed(p->a)) {
        if (p->status == CTSC_OK) p->status = diag_no_memory(p->d);
        return NULL;
    }
    if (p->status != CTSC_OK) return NULL;
    e->kind = k;
    e->range = parse_range(p, begin);
    return e;
}

expr *parse_unsupported(parser *p, uint32_t begin, const char *why) {
    expr *e = parse_node(p, E_UNSUPPORTED, begin);
    if (e) e->s = why;
    return e;
}

static bool parse_push(parser *p, expr_list *list, expr *e) {
    if (!e) return false;
    (void)avec_push(p->a, list, e);
    if (!arena_failed(p->a)) return true;
    if (p->status == CTSC_OK) p->status = diag_no_memory(p->d);
    return false;
}

/* ---- operators ------------------------------------------------------------------------------------ */

typedef struct binary_operator {
    token_kind token;
    operator_kind op;
    int level; /* binds tighter the higher */
} binary_operator;

static const binary_operator binary_operators[] = {
    {TK_BAR, O_OR, 1},       {TK_CARET, O_XOR, 2},  {TK_AMP, O_AND, 3},
    {TK_LSHIFT, O_LSHIFT, 4}, {TK_RSHIFT, O_RSHIFT, 4}, {TK_PLUS, O_ADD, 5},
    {TK_MINUS, O_SUB, 5},    {TK_STAR, O_MUL, 6},   {TK_DIV, O_DIV, 6},
    {TK_FLOORDIV, O_FLOORDIV, 6}, {TK_MOD, O_MOD, 6}, {TK_AT, O_MATMUL, 6},
};

static const binary_operator *parse_binary_operator(token_kind k) {
    for (size_t i = 0; i < sizeof binary_operators / sizeof *binary_operators; i++)
        if (binary_operators[i].token == k) return &binary_operators[i];
    return NULL;
}

static expr *parse_join(parser *p, expr_kind k, operator_kind op, expr *a, expr *b) {
    if (!a || !b) return NULL;
    expr *e = parse_node(p, k, a->range.begin);
    if (!e) return NULL;
    e->op = op;
    e->a = a;
    e->b = b;
    return e;
}

static bool parse_chain_step(parser *p, int *length) {
    if (++*length <= PARSE_MAX_CHAIN) return true;
    return parse_error_at(p, parse_here(p), "this expression is too long: split it up");
}

static expr *parse_binary(parser *p, int level) {
    expr *left = parse_unary(p);
    int length = 0;
    const binary_operator *o;
    while (left && (o = parse_binary_operator(p->cur.kind)) && o->level >= level) {
        if (!parse_chain_step(p, &length) || !parse_advance(p)) return NULL;
        left = parse_join(p, E_BINARY, o->op, left, parse_binary(p, o->level + 1));
    }
    return left;
}

expr *parse_operand(parser *p) {
    return parse_binary(p, 1);
}

/* A comparison's operator, if one stands here; takes it. */
static bool parse_comparison_operator(parser *p, operator_kind *op) {
    switch (p->cur.kind) {
    case TK_EQ: *op = O_EQ; break;
    case TK_NE: *op = O_NE; break;
    case TK_LT: *op = O_LT; break;
    case TK_LE: *op = O_LE; break;
    case TK_GT: *op = O_GT; break;
    case TK_GE: *op = O_GE; break;
    case TK_IN: *op = O_IN; break;
    case TK_IS:
        if (!parse_advance(p)) return false;
        if (!parse_is(p, TK_NOT)) {
            *op = O_IS;
            return true;
        }
        *op = O_ISNOT;
        break;
    case TK_NOT:
        if (parse_peek(p) != TK_IN || !parse_advance(p)) return false;
        *op = O_NOTIN;
        break;
    default: return false;
    }
    return parse_advance(p);
}

static expr *parse_comparison(parser *p) {
    expr *left = parse_operand(p);
    operator_kind op;
    if (!left || !parse_comparison_operator(p, &op)) return p->status == CTSC_OK ? left : NULL;
    expr *e = parse_join(p, E_COMPARE, op, left, parse_operand(p));
    if (!e || !parse_comparison_operator(p, &op)) return p->status == CTSC_OK ? e : NULL;
    expr *chain = parse_node(p, E_CHAIN, left->range.begin);
    if (!chain || !parse_push(p, &chain->items, left) || !parse_push(p, &chain->items, e->b))
        return NULL;
    (void)avec_push(p->a, &chain->ops, e->op);
    do {
        (void)avec_push(p->a, &chain->ops, op);
        if (!parse_push(p, &chain->items, parse_operand(p))) return NULL;
    } while (parse_comparison_operator(p, &op));
    chain->range = parse_range(p, left->range.begin);
    return p->status == CTSC_OK ? chain : NULL;
}

static expr *parse_not(parser *p) {
    if (!parse_is(p, TK_NOT)) return parse_comparison(p);
    uint32_t begin = p->cur.begin;
    if (!parse_enter(p) || !parse_advance(p)) return NULL;
    expr *a = parse_not(p);
    parse_leave(p);
    expr *e = a ? parse_node(p, E_UNARY, begin) : NULL;
    if (!e) return NULL;
    e->op = O_NOT;
    e->a = a;
    return e;
}

static expr *parse_and(parser *p) {
    expr *left = parse_not(p);
    int length = 0;
    while (left && parse_is(p, TK_AND_KW)) {
        if (!parse_chain_step(p, &length) || !parse_advance(p)) return NULL;
        left = parse_join(p, E_BOOLOP, O_BOOL_AND, left, parse_not(p));
    }
    return left;
}

static expr *parse_or(parser *p) {
    expr *left = parse_and(p);
    int length = 0;
    while (left && parse_is(p, TK_OR_KW)) {
        if (!parse_chain_step(p, &length) || !parse_advance(p)) return NULL;
        left = parse_join(p, E_BOOLOP, O_BOOL_OR, left, parse_and(p));
    }
    return left;
}

static expr *parse_lambda(parser *p) {
    uint32_t begin = p->cur.begin;
    if (!parse_advance(p)) return NULL;
    expr *e = parse_node(p, E_LAMBDA, begin);
    if (!e || !parse_params(p, TK_COLON, false, &e->params) ||
        !parse_expect(p, TK_COLON, "the parameters of the lambda"))
        return NULL;
    e->a = parse_expr(p);
    e->range = parse_range(p, begin);
    return e->a ? e : NULL;
}

static expr *parse_ternary(parser *p) {
    expr *a = parse_or(p);
    if (!a || !parse_is(p, TK_IF)) return a;
    if (!parse_advance(p)) return NULL;
    expr *condition = parse_or(p);
    if (!condition || !parse_expect(p, TK_ELSE, "the condition of the expression")) return NULL;
    expr *c = parse_expr(p);
    expr *e = c ? parse_node(p, E_TERNARY, a->range.begin) : NULL;
    if (!e) return NULL;
    e->a = a;
    e->b = condition;
    e->c = c;
    return e;
}

expr *parse_expr(parser *p) {
    if (!parse_enter(p)) return NULL;
    expr *e = parse_is(p, TK_LAMBDA) ? parse_lambda(p) : parse_ternary(p);
    parse_leave(p);
    return e;
}

expr *parse_named_expr(parser *p) {
    if (!parse_is(p, TK_NAME) || parse_peek(p) != TK_COLON_ASSIGN) return parse_expr(p);
    uint32_t begin = p->cur.begin;
    const char *name = p->cur.name;
    if (!parse_advance(p) || !parse_advance(p)) return NULL;
    expr *a = parse_expr(p);
    expr *e = a ? parse_node(p, E_WALRUS, begin) : NULL;
    if (!e) return NULL;
    e->name = name;
    e->a = a;
    return e;
}

/* ---- lists of expressions ------------------------------------------------------------------------- */

static expr *parse_starred(parser *p, expr *(*inner)(parser *)) {
    if (!parse_is(p, TK_STAR)) return inner(p);
    uint32_t begin = p->cur.begin;
    if (!parse_advance(p)) return NULL;
    expr *a = parse_operand(p);
    expr *e = a ? parse_node(p, E_STARRED, begin) : NULL;
    if (e) e->a = a;
    return e;
}

/* Can an expression begin with this token? What ends a list after its trailing comma cannot. */
static bool parse_begins_expr(token_kind k) {
    switch (k) {
    case TK_NAME: case TK_INT: case TK_FLOAT: case TK_IMAGINARY: case TK_STRING: case TK_FSTRING: case TK_BYTES:
    case TK_FALSE: case TK_TRUE: case TK_NONE: case TK_ELLIPSIS: case TK_LPAREN: case TK_LBRACKET:
    case TK_LBRACE: case TK_MINUS: case TK_PLUS: case TK_TILDE: case TK_NOT: case TK_LAMBDA:
    case TK_STAR: case TK_AWAIT: case TK_YIELD:
        return true;
    default: return false;
    }
}

static expr *parse_list_of(parser *p, expr *(*inner)(parser *)) {
    uint32_t begin = p->cur.begin;
    expr *first = parse_starred(p, inner);
    if (!first || !parse_is(p, TK_COMMA)) return first;
    expr *e = parse_node(p, E_TUPLE, begin);
    if (!e || !parse_push(p, &e->items, first)) return NULL;
    while (parse_accept(p, TK_COMMA) && parse_begins_expr(p->cur.kind))
        if (!parse_push(p, &e->items, parse_starred(p, inner))) return NULL;
    e->range = parse_range(p, first->range.begin);
    return p->status == CTSC_OK ? e : NULL;
}

expr *parse_expr_list(parser *p) {
    return parse_list_of(p, parse_expr);
}

expr *parse_target_list(parser *p) {
    return parse_list_of(p, parse_operand);
}

/* ---- unary, power ----------------------------------------------------------------------------------- */

static expr *parse_int(parser *p, uint32_t begin, bool negative) {
    uint64_t n = p->cur.magnitude;
    if (n > (uint64_t)INT64_MAX && !negative) {
        parse_error_at(p, parse_here(p), "Integral constant out of range (must fit in a signed 64 bit integer)");
        return NULL;
    }
    if (!parse_advance(p)) return NULL;
    expr *e = parse_node(p, E_INT, begin);
    if (e) e->i = (int64_t)(negative ? 0 - n : n);
    return e;
}

/* A minus sign and an integer are one constant, so that the smallest integer can be written; not in
 * -2 ** 2 and the like, where the sign comes last. */
static expr *parse_negative_int(parser *p, uint32_t begin) {
    if (!parse_is(p, TK_INT)) return NULL;
    switch (parse_peek(p)) {
    case TK_POW: case TK_DOT: case TK_LPAREN: case TK_LBRACKET: return NULL;
    default: return p->status == CTSC_OK ? parse_int(p, begin, true) : NULL;
    }
}

static expr *parse_postfix(parser *p);

static expr *parse_power(parser *p) {
    expr *a = parse_postfix(p);
    if (!a || !parse_is(p, TK_POW)) return a;
    if (!parse_enter(p) || !parse_advance(p)) return NULL;
    expr *b = parse_unary(p);
    parse_leave(p);
    return parse_join(p, E_BINARY, O_POW, a, b);
}

static expr *parse_unary(parser *p) {
    operator_kind op;
    switch (p->cur.kind) {
    case TK_MINUS: op = O_NEG; break;
    case TK_PLUS: op = O_POS; break;
    case TK_TILDE: op = O_INVERT; break;
    default: return parse_power(p);
    }
    uint32_t begin = p->cur.begin;
    if (!parse_enter(p) || !parse_advance(p)) return NULL;
    expr *constant = op == O_NEG ? parse_negative_int(p, begin) : NULL;
    expr *a = constant || p->status != CTSC_OK ? NULL : parse_unary(p);
    parse_leave(p);
    if (constant) return constant;
    expr *e = a ? parse_node(p, E_UNARY, begin) : NULL;
    if (!e) return NULL;
    e->op = op;
    e->a = a;
    return e;
}

/* ---- calls, subscripts, attributes ----------------------------------------------------------------- */

static bool parse_keyword_argument(parser *p, expr *call) {
    keyword k = {.range = parse_here(p)};
    if (parse_accept(p, TK_POW)) {
        k.name = NULL;
    } else {
        k.name = p->cur.name;
        if (!parse_advance(p) || !parse_advance(p)) return false;
    }
    k.value = parse_expr(p);
    if (!k.value) return false;
    k.range = parse_range(p, k.range.begin);
    (void)avec_push(p->a, &call->kwargs, k);
    return true;
}

static bool parse_argument(parser *p, expr *call) {
    bool named = parse_is(p, TK_NAME) || token_is_keyword(p->cur.kind);
    if (parse_is(p, TK_POW) || (named && parse_peek(p) == TK_ASSIGN))
        return parse_keyword_argument(p, call);
    if (call->kwargs.len > 0 && !parse_is(p, TK_STAR))
        return parse_error_at(p, parse_here(p), "positional argument follows keyword argument");
    uint32_t begin = p->cur.begin;
    expr *e = parse_starred(p, parse_named_expr);
    if (e && parse_is(p, TK_FOR)) e = parse_comprehension(p, E_GENERATOR, NULL, e, begin);
    return parse_push(p, &call->items, e);
}

static expr *parse_call(parser *p, expr *callee) {
    expr *e = parse_node(p, E_CALL, callee->range.begin);
    if (!e || !parse_advance(p)) return NULL;
    e->a = callee;
    while (!parse_is(p, TK_RPAREN)) {
        if (!parse_argument(p, e)) return NULL;
        if (!parse_accept(p, TK_COMMA)) break;
    }
    if (!parse_expect(p, TK_RPAREN, "the arguments of the call")) return NULL;
    e->range = parse_range(p, callee->range.begin);
    return e;
}

/* One index: an expression, or begin:end:step with each part optional. */
static expr *parse_index(parser *p) {
    uint32_t begin = p->cur.begin;
    expr *first = NULL;
    if (!parse_is(p, TK_COLON)) {
        first = parse_starred(p, parse_named_expr);
        if (!first || !parse_is(p, TK_COLON)) return first;
    }
    if (!parse_accept(p, TK_COLON)) return NULL;
    expr *e = parse_node(p, E_SLICE, begin);
    if (!e) return NULL;
    e->a = first;
    if (parse_begins_expr(p->cur.kind) && !(e->b = parse_expr(p))) return NULL;
    if (parse_accept(p, TK_COLON) && parse_begins_expr(p->cur.kind) && !(e->c = parse_expr(p)))
        return NULL;
    e->range = parse_range(p, begin);
    return p->status == CTSC_OK ? e : NULL;
}

static expr *parse_subscript(parser *p, expr *base) {
    expr *e = parse_node(p, E_SUBSCRIPT, base->range.begin);
    if (!e || !parse_advance(p)) return NULL;
    e->a = base;
    if (parse_is(p, TK_RBRACKET)) {
        parse_error_at(p, parse_here(p), "expected an index between the brackets");
        return NULL;
    }
    while (!parse_is(p, TK_RBRACKET)) {
        if (!parse_push(p, &e->items, parse_index(p))) return NULL;
        if (!parse_accept(p, TK_COMMA)) break;
        e->tuple_index = true;
    }
    if (!parse_expect(p, TK_RBRACKET, "the index")) return NULL;
    expr *only = e->items.data[0];
    if (!e->tuple_index && only->kind == E_TUPLE) { /* x[(a, b)] is x[a, b] */
        e->tuple_index = true;
        e->items = only->items;
    }
    e->range = parse_range(p, base->range.begin);
    return e;
}

static expr *parse_attribute(parser *p, expr *base) {
    if (!parse_advance(p)) return NULL;
    if (!parse_is(p, TK_NAME) && !token_is_keyword(p->cur.kind)) {
        parse_error_at(p, parse_here(p), "expected a name after '.', but found %s",
                       token_text(p->cur.kind));
        return NULL;
    }
    const char *name = p->cur.name;
    if (!parse_advance(p)) return NULL;
    expr *e = parse_node(p, E_ATTR, base->range.begin);
    if (!e) return NULL;
    e->a = base;
    e->name = name;
    return e;
}

static expr *parse_atom(parser *p);

static expr *parse_postfix(parser *p) {
    expr *e = parse_atom(p);
    int length = 0;
    while (e) {
        token_kind k = p->cur.kind;
        if (k != TK_DOT && k != TK_LPAREN && k != TK_LBRACKET) break;
        if (!parse_chain_step(p, &length)) return NULL;
        e = k == TK_DOT ? parse_attribute(p, e) : k == TK_LPAREN ? parse_call(p, e) : parse_subscript(p, e);
    }
    return e;
}

/* ---- atoms -------------------------------------------------------------------------------------------- */

/* At `for`, the element is read; up to the closing bracket, which is not taken. */
static expr *parse_comprehension(parser *p, expr_kind k, expr *key, expr *element, uint32_t begin) {
    expr *e = parse_node(p, k, begin);
    if (!e || !parse_advance(p)) return NULL;
    e->a = element;
    if (key && !parse_push(p, &e->keys, key)) return NULL;
    e->target = parse_target_list(p);
    if (!e->target || !parse_expect(p, TK_IN, "the target of the comprehension")) return NULL;
    e->b = parse_or(p);
    while (e->b && parse_accept(p, TK_IF))
        if (!parse_push(p, &e->items, parse_or(p))) return NULL;
    bool several = parse_is(p, TK_FOR);
    while (parse_accept(p, TK_FOR)) {
        if (!parse_target_list(p) || !parse_expect(p, TK_IN, "the target of the comprehension") ||
            !parse_or(p))
            return NULL;
        while (parse_accept(p, TK_IF))
            if (!parse_or(p)) return NULL;
    }
    if (several) return parse_unsupported(p, begin, "Only a single generator is currently supported");
    e->range = parse_range(p, begin);
    return e->b && p->status == CTSC_OK ? e : NULL;
}

/* "(" ")" | "(" expr ")" | "(" expr "," ... ")" | "(" expr "for" ... ")" */
static expr *parse_paren(parser *p) {
    uint32_t begin = p->cur.begin;
    if (!parse_advance(p)) return NULL;
    expr *e = NULL;
    if (parse_is(p, TK_RPAREN)) {
        e = parse_node(p, E_TUPLE, begin);
    } else {
        e = parse_list_of(p, parse_named_expr);
        if (e && parse_is(p, TK_FOR)) e = parse_comprehension(p, E_GENERATOR, NULL, e, begin);
    }
    if (!e || !parse_expect(p, TK_RPAREN, "the expression in parentheses")) return NULL;
    if (e->kind == E_TUPLE && !e->parenthesised) e->range = parse_range(p, begin);
    e->parenthesised = true;
    return e;
}

static expr *parse_list(parser *p) {
    uint32_t begin = p->cur.begin;
    expr *e = parse_node(p, E_LIST, begin);
    if (!e || !parse_advance(p)) return NULL;
    while (!parse_is(p, TK_RBRACKET)) {
        expr *item = parse_starred(p, parse_named_expr);
        if (item && parse_is(p, TK_FOR) && e->items.len == 0) {
            e = parse_comprehension(p, E_LIST_COMP, NULL, item, begin);
            if (!e) return NULL;
            break;
        }
        if (!parse_push(p, &e->items, item)) return NULL;
        if (!parse_accept(p, TK_COMMA)) break;
    }
    if (!parse_expect(p, TK_RBRACKET, "the elements of the list")) return NULL;
    e->range = parse_range(p, begin);
    return e;
}

/* One "key: value" of a dict, or an element of a set, into e. *comprehension: what e became. */
static bool parse_brace_item(parser *p, expr *e, uint32_t begin, expr **comprehension) {
    if (parse_is(p, TK_POW)) { /* {**other} */
        if (!parse_advance(p) || !parse_operand(p)) return false;
        expr *other = parse_unsupported(p, begin, "dictionary unpacking (**) is not supported");
        return parse_push(p, &e->keys, other) && parse_push(p, &e->items, other);
    }
    expr *key = parse_starred(p, parse_named_expr);
    if (!key) return false;
    bool pair = parse_is(p, TK_COLON);
    if (e->items.len == 0 && !pair) e->kind = E_SET;
    if (pair != (e->kind == E_DICT))
        return parse_error_at(p, parse_here(p), pair ? "expected ',' or '}' in the set, but found ':'"
                                                     : "expected ':' after the key of the dictionary");
    expr *item = key;
    if (pair && (!parse_advance(p) || !(item = parse_expr(p)))) return false;
    if (parse_is(p, TK_FOR) && e->items.len == 0) {
        *comprehension = parse_comprehension(p, E_DICT_COMP, key, item, begin);
        if (*comprehension && !pair)
            *comprehension = parse_unsupported(p, begin, "SetComp aren't supported");
        return *comprehension != NULL;
    }
    return (!pair || parse_push(p, &e->keys, key)) && parse_push(p, &e->items, item);
}

static expr *parse_braces(parser *p) {
    uint32_t begin = p->cur.begin;
    expr *e = parse_node(p, E_DICT, begin), *comprehension = NULL;
    if (!e || !parse_advance(p)) return NULL;
    while (!parse_is(p, TK_RBRACE) && !comprehension) {
        if (!parse_brace_item(p, e, begin, &comprehension)) return NULL;
        if (!parse_accept(p, TK_COMMA)) break;
    }
    if (comprehension) e = comprehension;
    if (!parse_expect(p, TK_RBRACE, "the elements between braces")) return NULL;
    e->range = parse_range(p, begin);
    return e;
}

static expr *parse_simple_atom(parser *p, expr_kind k) {
    uint32_t begin = p->cur.begin;
    token t = p->cur;
    if (!parse_advance(p)) return NULL;
    expr *e = parse_node(p, k, begin);
    if (!e) return NULL;
    e->name = t.name;
    e->f = t.f;
    return e;
}

static expr *parse_yield(parser *p) {
    uint32_t begin = p->cur.begin;
    if (!parse_enter(p) || !parse_advance(p)) return NULL;
    (void)parse_accept(p, TK_FROM);
    if (parse_begins_expr(p->cur.kind) && !parse_expr_list(p)) return NULL;
    parse_leave(p);
    return parse_unsupported(p, begin, "Yield aren't supported");
}

static expr *parse_await(parser *p) {
    uint32_t begin = p->cur.begin;
    if (!parse_enter(p) || !parse_advance(p) || !parse_unary(p)) return NULL;
    parse_leave(p);
    return parse_unsupported(p, begin, "Await aren't supported");
}

static expr *parse_atom(parser *p) {
    if (p->status != CTSC_OK) return NULL;
    switch (p->cur.kind) {
    case TK_NAME: return parse_simple_atom(p, E_NAME);
    case TK_TRUE: return parse_simple_atom(p, E_TRUE);
    case TK_FALSE: return parse_simple_atom(p, E_FALSE);
    case TK_NONE: return parse_simple_atom(p, E_NONE);
    case TK_ELLIPSIS: return parse_simple_atom(p, E_ELLIPSIS);
    case TK_INT: return parse_int(p, p->cur.begin, false);
    case TK_FLOAT: return parse_simple_atom(p, E_FLOAT);
    case TK_IMAGINARY: return parse_simple_atom(p, E_IMAGINARY);
    case TK_STRING:
    case TK_BYTES:
    case TK_FSTRING: return parse_strings(p);
    case TK_LPAREN: return parse_paren(p);
    case TK_LBRACKET: return parse_list(p);
    case TK_LBRACE: return parse_braces(p);
    case TK_YIELD: return parse_yield(p);
    case TK_AWAIT: return parse_await(p);
    default:
        parse_error_at(p, parse_here(p), "expected an expression, but found %s",
                       token_text(p->cur.kind));
        return NULL;
    }
}
