/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scalar_text.c - reads scalar definitions: a lexer, and a parser by recursive descent that makes
 * nodes as it goes.
 *
 * Method: a node comes after its operands, so the list is in evaluation order; a
 * local variable is the node of its value. At the end unused nodes are removed,
 * and each remaining node gets a slot for its values (scalar_text_finish).
 * Limits: the length of the text, nodes, depth of the tree, nesting of the text. The text may be
 * hostile: nothing in it makes the parser recurse or allocate beyond these.
 * Tests: tests/unit/test_scalar_text.c
 */
#include "ir/scalar/scalar_text.h"
#include "base/text/text.h"

#include <stdlib.h>
#include <string.h>

const scalar_op_info scalar_op_table[SCALAR_OP_COUNT] = {
#define SCALAR_NODE_ROW(e, operands, gives, takes) {operands, gives, takes},
    SCALAR_NODE_TABLE(SCALAR_NODE_ROW)
#undef SCALAR_NODE_ROW
};

const scalar_function_info scalar_functions[SCALAR_FUNCTION_COUNT] = {
#define SCALAR_FUNCTION_ROW(c, name, operands, cost) {#c, #name, operands, cost},
    SCALAR_FUNCTION_TABLE(SCALAR_FUNCTION_ROW)
#undef SCALAR_FUNCTION_ROW
};

enum { TEXT_MAX_NAMES = SCALAR_MAX_ARGS + 64, TEXT_MAX_NUMBER = 64, NO_NODE = -1 };

typedef enum text_kind { TEXT_END, TEXT_NAME, TEXT_INT, TEXT_REAL, TEXT_SIGN, TEXT_BAD } text_kind;

typedef struct text_token {
    text_kind kind;
    int sign; /* SIGN: the character, or two of them: TEXT_PAIR */
    const char *begin;
    size_t len;
} text_token;
#define TEXT_PAIR(a, b) ((a) << 8 | (b))

typedef struct text_name {
    const char *text;
    size_t len;
    int node;
} text_name;

typedef struct text_parser {
    diag *d;
    const char *text, *at; /* at: just after the token */
    text_token token;
    ctsc_status status;
    int nesting, nnames, nnodes;
    text_name names[TEXT_MAX_NAMES];
    scalar_node nodes[SCALAR_MAX_NODES];
} text_parser;

/* ---- errors ---------------------------------------------------------------------------------- */

static int text_fail_at(text_parser *p, const char *place, const char *message, const char *name,
                        size_t len) {
    unsigned line = 1, column = 1;
    for (const char *c = p->text; c < place; c++, column++)
        if (*c == '\n') line++, column = 0;
    if (p->status == CTSC_OK)
        p->status = diag_fail(
            p->d, CTSC_FAILED, "scalar definition, line %u, column %u: %s%s%.*s%s", line, column,
            message, len ? " '" : "", len > 80 ? 80 : (int)len, name, len ? "'" : "");
    p->token.kind = TEXT_BAD;
    return NO_NODE;
}
/* About the token. */
static int text_fail(text_parser *p, const char *message) {
    if (p->token.kind == TEXT_BAD) return NO_NODE;
    if (p->token.kind == TEXT_END)
        return text_fail_at(p, p->token.begin, message, "the end of the text", 19);
    return text_fail_at(p, p->token.begin, message, p->token.begin, p->token.len);
}

/* ---- lexer ----------------------------------------------------------------------------------- */

static bool text_is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* Spaces and comments. */
static const char *text_skip(text_parser *p, const char *c) {
    for (;;) {
        while (*c == ' ' || (*c >= '\t' && *c <= '\r')) c++;
        if (c[0] == '/' && c[1] == '/') {
            while (*c && *c != '\n') c++;
        } else if (c[0] == '/' && c[1] == '*') {
            const char *end = strstr(c + 2, "*/");
            if (!end) return text_fail_at(p, c, "a comment without an end", "", 0), NULL;
            c = end + 2;
        } else {
            return c;
        }
    }
}

/* Decimal numbers as in C, with f, F, l or L after a floating-point one. */
static const char *text_number(text_parser *p, const char *c) {
    const char *begin = c;
    bool real = false;
    while (text_is_digit(*c)) c++;
    if (*c == '.') real = true, c++;
    while (text_is_digit(*c)) c++;
    if (*c == 'e' || *c == 'E') {
        const char *digits = c + 1 + (c[1] == '+' || c[1] == '-');
        if (text_is_digit(*digits)) {
            real = true;
            for (c = digits; text_is_digit(*c);) c++;
        }
    }
    p->token.len = (size_t)(c - begin);
    p->token.kind = real ? TEXT_REAL : TEXT_INT;
    if (real && (*c == 'f' || *c == 'F' || *c == 'l' || *c == 'L')) c++;
    bool octal = !real && begin[0] == '0' && p->token.len > 1;
    if (octal || text_is_letter(*c) || text_is_digit(*c) || *c == '.' ||
        p->token.len >= TEXT_MAX_NUMBER)
        return text_fail_at(p, begin, "a number that is not decimal, or too long", "", 0), NULL;
    return c;
}

static void text_next(text_parser *p) {
    static const int pairs[] = {TEXT_PAIR('|', '|'), TEXT_PAIR('&', '&'), TEXT_PAIR('=', '='),
                                TEXT_PAIR('!', '='), TEXT_PAIR('<', '='), TEXT_PAIR('>', '=')};
    if (p->token.kind == TEXT_BAD) return;
    const char *c = text_skip(p, p->at);
    if (!c) return;
    p->token = (text_token){.kind = TEXT_END, .begin = c, .len = 1};
    if (!*c) return;
    if (text_is_letter(*c)) {
        p->token.kind = TEXT_NAME;
        for (p->at = c; text_is_letter(*p->at) || text_is_digit(*p->at);) p->at++;
        p->token.len = (size_t)(p->at - c);
        return;
    }
    if (text_is_digit(*c) || (*c == '.' && text_is_digit(c[1]))) {
        const char *end = text_number(p, c);
        if (end) p->at = end;
        return;
    }
    p->token.kind = TEXT_SIGN;
    p->token.sign = *c;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (c[0] == pairs[i] >> 8 && c[1] == (pairs[i] & 0xff))
            p->token.sign = pairs[i], p->token.len = 2;
    p->at = c + p->token.len;
    if (!strchr("()?:!<>+-*/{},;=", *c) && p->token.len == 1) text_fail(p, "not understood:");
}

static bool text_is_sign(const text_parser *p, int sign) {
    return p->token.kind == TEXT_SIGN && p->token.sign == sign;
}
static bool text_is_word(const text_parser *p, const char *word) {
    return p->token.kind == TEXT_NAME && strlen(word) == p->token.len &&
           !memcmp(p->token.begin, word, p->token.len);
}
static bool text_take(text_parser *p, int sign) {
    if (!text_is_sign(p, sign)) return false;
    text_next(p);
    return true;
}
static bool text_take_word(text_parser *p, const char *word) {
    if (!text_is_word(p, word)) return false;
    text_next(p);
    return true;
}
static bool text_expect(text_parser *p, char sign) {
    static const char *const messages[] = {
        "( expected before", ") expected before", ", expected before", ": expected before",
        "; expected before", "{ expected before", "} expected before", "= expected before"};
    if (text_take(p, sign)) return true;
    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++)
        if (messages[i][0] == sign) text_fail(p, messages[i]);
    return false;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static bool text_gives_int(const text_parser *p, scalar_op op, const int *x) {
    if (scalar_op_table[op].gives_condition) return true;
    switch (op) {
    case SCALAR_NEG: return p->nodes[x[0]].is_int;
    case SCALAR_ADD:
    case SCALAR_SUB:
    case SCALAR_MUL: return p->nodes[x[0]].is_int && p->nodes[x[1]].is_int;
    case SCALAR_SELECT: return p->nodes[x[1]].is_int && p->nodes[x[2]].is_int;
    default: return false;
    }
}

/* Any operand may be NO_NODE: something failed before. */
static int text_node(text_parser *p, scalar_op op, scalar_function function, int a, int b, int c) {
    const int x[3] = {a, b, c};
    scalar_node n = {.op = (uint8_t)op, .function = (uint8_t)function, .uniform = op != SCALAR_ARG};
    int operands = scalar_operands(&n);
    for (int i = 0; i < operands; i++) {
        if (x[i] < 0 || p->status != CTSC_OK) return NO_NODE;
        n.args[i] = (uint16_t)x[i];
        n.uniform &= p->nodes[x[i]].uniform;
        if (p->nodes[x[i]].depth > n.depth) n.depth = p->nodes[x[i]].depth;
    }
    if (p->nnodes == SCALAR_MAX_NODES || ++n.depth > SCALAR_MAX_DEPTH)
        return text_fail_at(p, p->token.begin, "the definition is too large here", "", 0);
    n.is_int = text_gives_int(p, op, x);
    p->nodes[p->nnodes] = n;
    return p->nnodes++;
}
static int text_const(text_parser *p, double number, bool is_int) {
    int n = text_node(p, SCALAR_CONST, 0, NO_NODE, NO_NODE, NO_NODE);
    if (n >= 0) p->nodes[n].number = number, p->nodes[n].is_int = is_int;
    return n;
}
static int text_binary_node(text_parser *p, scalar_op op, int a, int b) {
    return text_node(p, op, 0, a, b, NO_NODE);
}
static int text_call1(text_parser *p, scalar_function f, int x) {
    return text_node(p, SCALAR_CALL, f, x, NO_NODE, NO_NODE);
}

/* ---- names ----------------------------------------------------------------------------------- */

static const text_name *text_find(const text_parser *p, const char *text, size_t len) {
    for (int i = 0; i < p->nnames; i++)
        if (p->names[i].len == len && !memcmp(p->names[i].text, text, len)) return &p->names[i];
    return NULL;
}
static bool text_declare(text_parser *p, const char *text, size_t len, int node) {
    if (text_find(p, text, len)) return text_fail_at(p, text, "a second", text, len), false;
    if (p->nnames == TEXT_MAX_NAMES)
        return text_fail_at(p, text, "too many names at", text, len), false;
    p->names[p->nnames++] = (text_name){text, len, node};
    return true;
}

static int text_constant(text_parser *p) {
    static const struct { const char *name; double value; } known[] = {
        {"INFINITY", __builtin_inf()},          {"NAN", __builtin_nan("")},
        {"M_E", 2.7182818284590452354},         {"M_LOG2E", 1.4426950408889634074},
        {"M_LOG10E", 0.43429448190325182765},   {"M_LN2", 0.69314718055994530942},
        {"M_LN10", 2.30258509299404568402},     {"M_PI", 3.14159265358979323846},
        {"M_PI_2", 1.57079632679489661923},     {"M_PI_4", 0.78539816339744830962},
        {"M_1_PI", 0.31830988618379067154},     {"M_2_PI", 0.63661977236758134308},
        {"M_2_SQRTPI", 1.12837916709551257390}, {"M_SQRT2", 1.41421356237309504880},
        {"M_SQRT1_2", 0.70710678118654752440},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (text_take_word(p, known[i].name)) return text_const(p, known[i].value, false);
    return text_fail(p, "nothing here is called");
}

/* ---- calls ----------------------------------------------------------------------------------- */

static int text_ternary(text_parser *p);

/* Functions that are several nodes. round takes halves away from 0: x - trunc(x) is exact. */
static int text_made_isnan(text_parser *p, int x) { return text_binary_node(p, SCALAR_NE, x, x); }
static int text_made_isinf(text_parser *p, int x) {
    return text_binary_node(p, SCALAR_EQ, text_call1(p, SCALAR_FN_fabs, x),
                            text_const(p, __builtin_inf(), false));
}
static int text_made_isfinite(text_parser *p, int x) {
    return text_binary_node(p, SCALAR_LT, text_call1(p, SCALAR_FN_fabs, x),
                            text_const(p, __builtin_inf(), false));
}
static int text_made_one(text_parser *p, int x) { /* with the sign of x */
    return text_node(p, SCALAR_CALL, SCALAR_FN_copysign, text_const(p, 1, false), x, NO_NODE);
}
static int text_made_signbit(text_parser *p, int x) {
    return text_binary_node(p, SCALAR_LT, text_made_one(p, x), text_const(p, 0, false));
}
static int text_made_round(text_parser *p, int x) {
    int whole = text_call1(p, SCALAR_FN_trunc, x);
    int rest = text_call1(p, SCALAR_FN_fabs, text_binary_node(p, SCALAR_SUB, x, whole));
    int further = text_binary_node(p, SCALAR_ADD, whole, text_made_one(p, x));
    return text_node(p, SCALAR_SELECT, 0,
                     text_binary_node(p, SCALAR_GE, rest, text_const(p, 0.5, false)), further,
                     whole);
}

static const struct text_made {
    const char *name;
    int (*make)(text_parser *p, int x);
} text_made[] = {
    {"isnan", text_made_isnan},     {"isinf", text_made_isinf}, {"isfinite", text_made_isfinite},
    {"signbit", text_made_signbit}, {"round", text_made_round},
};

/* "exp" and "expf" are one function. */
static bool text_is_called(const text_token *t, const char *name) {
    size_t len = strlen(name);
    return !memcmp(t->begin, name, t->len < len ? t->len : len) &&
           (t->len == len || (t->len == len + 1 && t->begin[len] == 'f'));
}

/* The token is the name, ( follows. */
static int text_call(text_parser *p) {
    const text_token name = p->token;
    int f = 0, made = 0, n = 0, x[2] = {NO_NODE, NO_NODE};
    const int nmade = sizeof text_made / sizeof *text_made;
    while (f < SCALAR_FUNCTION_COUNT && !text_is_called(&name, scalar_functions[f].c)) f++;
    while (made < nmade && !text_is_called(&name, text_made[made].name)) made++;
    if (f == SCALAR_FUNCTION_COUNT && made == nmade) return text_fail(p, "there is no function");
    int want = f < SCALAR_FUNCTION_COUNT ? scalar_functions[f].operands : 1;
    text_next(p);
    text_next(p);
    while (n < want) {
        if (n && !text_expect(p, ',')) return NO_NODE;
        if ((x[n++] = text_ternary(p)) < 0) return NO_NODE;
    }
    if (!text_expect(p, ')')) return NO_NODE;
    return f < SCALAR_FUNCTION_COUNT ? text_node(p, SCALAR_CALL, f, x[0], x[1], NO_NODE)
                                     : text_made[made].make(p, x[0]);
}

/* ---- expressions ----------------------------------------------------------------------------- */

static bool text_is_type(const text_parser *p) {
    return text_is_word(p, "float") || text_is_word(p, "double");
}

static int text_literal(text_parser *p) {
    char digits[TEXT_MAX_NUMBER];
    memcpy(digits, p->token.begin, p->token.len);
    digits[p->token.len] = 0;
    double x = text_double(digits, NULL);
    bool is_int = p->token.kind == TEXT_INT;
    text_next(p);
    return text_const(p, x, is_int);
}

static int text_primary(text_parser *p) {
    if (p->token.kind == TEXT_INT || p->token.kind == TEXT_REAL) return text_literal(p);
    if (text_take(p, '(')) {
        int x = text_ternary(p);
        return x >= 0 && text_expect(p, ')') ? x : NO_NODE;
    }
    if (p->token.kind != TEXT_NAME) return text_fail(p, "a value expected before");
    const text_name *known = text_find(p, p->token.begin, p->token.len);
    const char *behind = text_skip(p, p->at);
    if (behind && *behind == '(' && !known) return text_call(p);
    if (!known) return text_constant(p);
    text_next(p);
    return known->node;
}

static int text_unary(text_parser *p);

/* (float)x: what matters is that the result is not an integer any more. */
static int text_cast(text_parser *p) {
    text_next(p);
    text_next(p);
    int x = text_expect(p, ')') ? text_unary(p) : NO_NODE;
    return x >= 0 && p->nodes[x].is_int
               ? text_binary_node(p, SCALAR_MUL, x, text_const(p, 1, false))
               : x;
}

static bool text_is_cast(text_parser *p) {
    const char *c = text_is_sign(p, '(') ? text_skip(p, p->at) : NULL;
    size_t len = !c ? 0 : !strncmp(c, "float", 5) ? 5 : !strncmp(c, "double", 6) ? 6 : 0;
    return len && !text_is_letter(c[len]) && !text_is_digit(c[len]);
}

static int text_unary_inside(text_parser *p) {
    if (text_is_cast(p)) return text_cast(p);
    if (text_take(p, '+')) return text_unary(p);
    if (text_take(p, '-')) return text_node(p, SCALAR_NEG, 0, text_unary(p), NO_NODE, NO_NODE);
    if (text_take(p, '!')) return text_node(p, SCALAR_NOT, 0, text_unary(p), NO_NODE, NO_NODE);
    return text_primary(p);
}
static int text_unary(text_parser *p) {
    if (++p->nesting > SCALAR_MAX_NESTING)
        return text_fail_at(p, p->token.begin, "nested too deeply", "", 0);
    int x = text_unary_inside(p);
    p->nesting--;
    return x;
}

static const struct text_operator { int sign, level; scalar_op op; } text_operators[] = {
    {TEXT_PAIR('|', '|'), 0, SCALAR_OR},
    {TEXT_PAIR('&', '&'), 1, SCALAR_AND},
    {TEXT_PAIR('=', '='), 2, SCALAR_EQ},
    {TEXT_PAIR('!', '='), 2, SCALAR_NE},
    {'<', 3, SCALAR_LT},
    {'>', 3, SCALAR_GT},
    {TEXT_PAIR('<', '='), 3, SCALAR_LE},
    {TEXT_PAIR('>', '='), 3, SCALAR_GE},
    {'+', 4, SCALAR_ADD},
    {'-', 4, SCALAR_SUB},
    {'*', 5, SCALAR_MUL},
    {'/', 5, SCALAR_DIV},
};

/* Operators of this level and tighter ones, from the left. */
static int text_binary(text_parser *p, int level) {
    int x = text_unary(p);
    while (x >= 0 && p->token.kind == TEXT_SIGN) {
        const struct text_operator *o = NULL;
        for (size_t i = 0; i < sizeof text_operators / sizeof *text_operators; i++)
            if (text_operators[i].sign == p->token.sign && text_operators[i].level >= level)
                o = &text_operators[i];
        if (!o) break;
        const char *place = p->token.begin;
        text_next(p);
        int y = text_binary(p, o->level + 1);
        if (y >= 0 && o->op == SCALAR_DIV && p->nodes[x].is_int && p->nodes[y].is_int)
            return text_fail_at(p, place,
                                "a division of integers: write 2.0 for 2, or cast to float", "", 0);
        x = text_binary_node(p, o->op, x, y);
    }
    return x;
}

static int text_ternary(text_parser *p) {
    if (++p->nesting > SCALAR_MAX_NESTING)
        return text_fail_at(p, p->token.begin, "nested too deeply", "", 0);
    int x = text_binary(p, 0);
    if (x >= 0 && text_take(p, '?')) {
        int yes = text_ternary(p);
        int no = yes >= 0 && text_expect(p, ':') ? text_ternary(p) : NO_NODE;
        x = text_node(p, SCALAR_SELECT, 0, x, yes, no);
    }
    p->nesting--;
    return x;
}

/* ---- functions ------------------------------------------------------------------------------- */

static int text_argument(text_parser *p, const schema *s, int i) {
    int kind = s->args[i].type->kind, n = text_node(p, SCALAR_ARG, 0, NO_NODE, NO_NODE, NO_NODE);
    if (n < 0) return NO_NODE;
    p->nodes[n].arg = i;
    p->nodes[n].uniform = kind != T_TENSOR;
    p->nodes[n].is_int = kind == T_INT || kind == T_BOOL;
    return n;
}

/* Parses [const] and a C type; the current token is then the name. The type
 * of an argument that is an integer in the schema may be an integer type. */
static bool text_parameter(text_parser *p, int node) {
    text_take_word(p, "const");
    bool real = text_is_type(p), whole = text_is_word(p, "int") || text_is_word(p, "long") ||
                                         text_is_word(p, "int64_t") || text_is_word(p, "bool");
    if (!real && !(whole && p->nodes[node].is_int))
        return text_fail(p, "float or double expected before"), false;
    p->nodes[node].is_int = whole;
    text_next(p);
    if (p->token.kind != TEXT_NAME) return text_fail(p, "a name expected before"), false;
    if (!text_declare(p, p->token.begin, p->token.len, node)) return false;
    text_next(p);
    return true;
}

static bool text_parameters(text_parser *p, const schema *s) {
    for (int i = 0; i < s->nargs; i++) {
        if (text_is_sign(p, ')'))
            return text_fail(p, "the schema has more arguments than there are before"), false;
        if (i && !text_expect(p, ',')) return false;
        int node = text_argument(p, s, i);
        if (node < 0 || !text_parameter(p, node)) return false;
    }
    if (text_is_sign(p, ','))
        return text_fail(p, "the schema has no argument for what follows"), false;
    return text_expect(p, ')');
}

/* const float a = ..., b = ...; */
static bool text_locals(text_parser *p) {
    text_take_word(p, "const");
    if (!text_is_type(p)) return text_fail(p, "a declaration or return expected before"), false;
    do {
        text_next(p); /* the type, or a comma */
        const text_token name = p->token;
        if (name.kind != TEXT_NAME) return text_fail(p, "a name expected before"), false;
        text_next(p);
        if (!text_expect(p, '=')) return false;
        int x = text_ternary(p);
        /* float t = 1; is real */
        if (x >= 0 && p->nodes[x].is_int)
            x = text_binary_node(p, SCALAR_MUL, x, text_const(p, 1, false));
        if (x < 0 || !text_declare(p, name.begin, name.len, x)) return false;
    } while (text_is_sign(p, ','));
    return text_expect(p, ';');
}

static int text_function(text_parser *p, const schema *s) {
    while (text_take_word(p, "static") || text_take_word(p, "inline") || text_take_word(p, "const"))
        continue;
    if (!text_is_type(p)) return text_fail(p, "float or double expected before");
    text_next(p);
    if (p->token.kind != TEXT_NAME) return text_fail(p, "the function's name expected before");
    text_next(p);
    if (!text_expect(p, '(') || !text_parameters(p, s) || !text_expect(p, '{')) return NO_NODE;
    while (!text_is_word(p, "return"))
        if (!text_locals(p)) return NO_NODE;
    text_next(p);
    int x = text_ternary(p);
    return x >= 0 && text_expect(p, ';') && text_expect(p, '}') ? x : NO_NODE;
}

static int text_expression(text_parser *p, const schema *s) {
    for (int i = 0; i < s->nargs; i++) {
        int node = text_argument(p, s, i);
        if (node < 0 || !text_declare(p, s->args[i].name, strlen(s->args[i].name), node))
            return NO_NODE;
    }
    return text_ternary(p);
}

static int text_definition(text_parser *p, const schema *s) {
    text_next(p);
    bool function = text_is_type(p) || text_is_word(p, "static") || text_is_word(p, "inline") ||
                    text_is_word(p, "const");
    int root = function ? text_function(p, s) : text_expression(p, s);
    if (root < 0) return NO_NODE;
    if (function) text_take(p, ';');
    return p->token.kind == TEXT_END ? root : text_fail(p, "the definition does not end before");
}

/* ---- the result ------------------------------------------------------------------------------ */

/* Leaves out what nothing uses; what is left keeps its order. Returns the root's new number. */
static int text_prune(text_parser *p, int root) {
    uint16_t moved[SCALAR_MAX_NODES];
    bool used[SCALAR_MAX_NODES] = {0};
    int n = 0;
    used[root] = true;
    for (int i = root; i >= 0; i--)
        for (int k = 0; used[i] && k < scalar_operands(&p->nodes[i]); k++)
            used[p->nodes[i].args[k]] = true;
    for (int i = 0; i <= root; i++) {
        if (!used[i]) continue;
        scalar_node *to = &p->nodes[n];
        *to = p->nodes[i];
        for (int k = 0; k < scalar_operands(to); k++) to->args[k] = moved[to->args[k]];
        moved[i] = (uint16_t)n++;
    }
    p->nnodes = n;
    return n - 1;
}

/* Places: a node may take the place of an operand read for the last time. Uniform ones keep theirs.
 * Returns how many there are. */
static int text_place(text_parser *p) {
    uint16_t last[SCALAR_MAX_NODES] = {0}, idle[SCALAR_MAX_NODES];
    int nidle = 0, slots = 0;
    for (int i = 0; i < p->nnodes; i++)
        for (int k = 0; k < scalar_operands(&p->nodes[i]); k++)
            last[p->nodes[i].args[k]] = (uint16_t)i;
    for (int i = 0; i < p->nnodes; i++) {
        scalar_node *n = &p->nodes[i];
        for (int k = 0; k < scalar_operands(n) && !n->uniform; k++) {
            const scalar_node *x = &p->nodes[n->args[k]];
            if (x->uniform || last[n->args[k]] != i) continue;
            idle[nidle++] = x->slot;
            last[n->args[k]] = 0; /* x * x gives it back once */
        }
        n->slot = nidle && !n->uniform ? idle[--nidle] : (uint16_t)slots++;
    }
    return slots;
}

static int text_cost(const text_parser *p) {
    int cost = 0;
    for (int i = 0; i < p->nnodes; i++) {
        const scalar_node *n = &p->nodes[i];
        if (n->uniform || n->op == SCALAR_ARG) continue;
        cost += n->op == SCALAR_CALL  ? scalar_functions[n->function].cost
                : n->op == SCALAR_DIV ? 3
                                      : 1;
    }
    return cost ? cost : 1;
}

static ctsc_status text_finish(text_parser *p, const schema *s, int root, scalar_text *t) {
    t->root = text_prune(p, root);
    t->slots = text_place(p);
    t->nnodes = p->nnodes;
    t->nargs = s->nargs;
    scalar_node *nodes = arena_array(&t->arena, scalar_node, p->nnodes);
    const char *key = arena_printf(&t->arena, "%s%s%s", s->name, *s->overload ? "." : "",
                                   s->overload);
    if (!nodes || !key || arena_failed(&t->arena)) return diag_no_memory(p->d);
    memcpy(nodes, p->nodes, sizeof *nodes * (size_t)p->nnodes);
    t->nodes = nodes;
    t->cost = text_cost(p);
    if (t->ntensors <= SCALAR_MAX_FUSED)
        t->traits = (op_traits){FUSE(POINTWISE, t->cost < OP_COST_MAX ? t->cost : OP_COST_MAX)};
    return CTSC_OK;
}

/* ---- the schema ------------------------------------------------------------------------------ */

static ctsc_status text_check_schema(diag *d, const schema *s, scalar_text *t) {
    if (s->nreturns != 1 || s->returns[0].type->kind != T_TENSOR || s->returns[0].alias ||
        s->vararg || s->varret || s->has_alias_write)
        return diag_fail(d, CTSC_USAGE,
                         "%s: an operator with a scalar definition returns one new Tensor",
                         s->name);
    if (s->nargs > SCALAR_MAX_ARGS)
        return diag_fail(d, CTSC_USAGE, "%s: more than %d arguments with a scalar definition",
                         s->name, SCALAR_MAX_ARGS);
    for (int i = 0; i < s->nargs; i++) {
        int kind = s->args[i].type->kind;
        bool fits = kind == T_TENSOR || kind == T_FLOAT || kind == T_INT || kind == T_BOOL ||
                    kind == T_NUMBER;
        if (!fits || s->args[i].alias)
            return diag_fail(d, CTSC_USAGE,
                             "%s: with a scalar definition, arguments are Tensor, float, int, bool "
                             "or Scalar: not %s",
                             s->name, s->args[i].name);
        t->is_tensor[i] = kind == T_TENSOR;
        t->ntensors += kind == T_TENSOR;
    }
    if (t->ntensors >= 1 && t->ntensors <= SCALAR_MAX_TENSORS) return CTSC_OK;
    return diag_fail(d, CTSC_USAGE, "%s: with a scalar definition, 1 to %d arguments are Tensor",
                     s->name, SCALAR_MAX_TENSORS);
}

ctsc_status scalar_text_parse(diag *d, const schema *s, const char *text, scalar_text **out) {
    text_parser *p = mem_zalloc(sizeof *p);
    scalar_text *t = mem_zalloc(sizeof *t);
    ctsc_status st = p && t && arena_init(&t->arena) ? text_check_schema(d, s, t)
                                                     : diag_no_memory(d);
    if (st == CTSC_OK && strlen(text) > SCALAR_MAX_TEXT)
        st = diag_fail(d, CTSC_FAILED, "%s: a scalar definition of more than %d bytes", s->name,
                       SCALAR_MAX_TEXT);
    if (st == CTSC_OK) {
        p->d = d, p->text = p->at = p->token.begin = text;
        int root = text_definition(p, s);
        st = root >= 0 ? text_finish(p, s, root, t) : p->status;
    }
    mem_free(p);
    if (st == CTSC_OK) return *out = t, CTSC_OK;
    scalar_text_free(t);
    return st;
}

void scalar_text_free(scalar_text *t) {
    if (!t) return;
    arena_free(&t->arena);
    mem_free(t);
}
