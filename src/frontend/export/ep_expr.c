/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ep_expr.c - expressions over sizes, read and, where all is known, computed.
 *
 * One grammar serves the three forms that files have:
 *
 *     Add(Symbol('s77', positive=True, integer=True), Integer(1))      what sympy writes as constructors, since 2.6
 *     s0 + 1                                                           what it wrote before, and still writes for keys of ranges
 *     L['x'].size()[0] % 2 == 0                                        guards: Python, about the arguments
 *
 * Method. A parser by precedence makes a tree whose calls have canonical
 * names ("floordiv" of //, FloorDiv and CleanDiv); nothing is evaluated by
 * name. Keyword arguments (positive=True) are assumptions, and skipped. An
 * unknown form gives no tree, which is not an error: the caller decides.
 */
#include "base/text/text.h"
#include "frontend/export/ep_internal.h"

enum { EXPR_DEPTH = 200 };

typedef struct expr_parser {
    ep_program *p;
    const char *at;
    int depth;
} expr_parser;

/* What is called, and what that is here. */
static const struct { const char *from, *to; } expr_calls[] = {
    {"Add", "add"},
    {"Mul", "mul"},
    {"Pow", "pow"},
    {"PowByNatural", "pow"},
    {"FloatPow", "fpow"},
    {"Max", "max"},
    {"Min", "min"},
    {"max", "max"},
    {"min", "min"},
    {"sym_max", "max"},
    {"sym_min", "min"},
    {"FloorDiv", "floordiv"},
    {"CleanDiv", "floordiv"},
    {"CeilDiv", "ceildiv"},
    {"Mod", "mod"},
    {"PythonMod", "mod"},
    {"ModularIndexing", "modidx"},
    {"IntTrueDiv", "truediv"},
    {"FloatTrueDiv", "truediv"},
    {"Rational", "truediv"},
    {"ToFloat", "float"},
    {"sym_float", "float"},
    {"float", "float"},
    {"TruncToInt", "trunc"},
    {"trunc", "trunc"},
    {"sym_int", "trunc"},
    {"int", "trunc"},
    {"FloorToInt", "floor"},
    {"floor", "floor"},
    {"CeilToInt", "ceil"},
    {"ceil", "ceil"},
    {"ceiling", "ceil"},
    {"RoundToInt", "round"},
    {"round", "round"},
    {"Equality", "eq"},
    {"Eq", "eq"},
    {"Unequality", "ne"},
    {"Ne", "ne"},
    {"StrictGreaterThan", "gt"},
    {"GreaterThan", "ge"},
    {"StrictLessThan", "lt"},
    {"LessThan", "le"},
    {"Gt", "gt"},
    {"Ge", "ge"},
    {"Lt", "lt"},
    {"Le", "le"},
    {"And", "and"},
    {"Or", "or"},
    {"Not", "not"},
    {"sym_not", "not"},
    {"Where", "where"},
    {"sym_ite", "where"},
    {"Piecewise", "piecewise"},
    {"ExprCondPair", "pair"},
    {"Identity", "same"},
    {"LShift", "lshift"},
    {"RShift", "rshift"},
    {"abs", "abs"},
    {"Abs", "abs"},
    {"OpaqueUnaryFn_sqrt", "sqrt"},
    {"sqrt", "sqrt"},
    {"_sym_sqrt", "sqrt"},
    {"OpaqueUnaryFn_exp", "exp"},
    {"OpaqueUnaryFn_log", "log"},
    {"OpaqueUnaryFn_sin", "sin"},
    {"OpaqueUnaryFn_cos", "cos"},
    {"OpaqueUnaryFn_tan", "tan"},
    {"OpaqueUnaryFn_tanh", "tanh"},
    {"OpaqueUnaryFn_asin", "asin"},
    {"OpaqueUnaryFn_acos", "acos"},
    {"OpaqueUnaryFn_atan", "atan"},
    {"OpaqueUnaryFn_sinh", "sinh"},
    {"OpaqueUnaryFn_cosh", "cosh"},
    {"BitwiseFn_bitwise_and", "bitand"},
    {"BitwiseFn_bitwise_or", "bitor"},
    {"BitwiseFn_bitwise_xor", "bitxor"},
    {"Symbol", "Symbol"},
    {"Integer", "same"},
    {"Float", "Float"},
    {"size", "size"},
    {"stride", "stride"},
    {"storage_offset", "storage_offset"},
};

/* ---- trees ----------------------------------------------------------------------------------- */

static ep_expr *expr_new(expr_parser *x, ep_expr_kind kind, const char *name, int n,
                         ep_expr *const *args) {
    ep_expr *e = arena_new(&x->p->scratch, ep_expr);
    e->kind = kind;
    e->name = name;
    e->n = n;
    e->args = arena_array(&x->p->scratch, ep_expr *, n ? n : 1);
    if (!e->args || arena_failed(&x->p->scratch)) return NULL;
    for (int i = 0; i < n; i++) {
        e->args[i] = args[i];
        if (args[i]->depth >= e->depth) e->depth = args[i]->depth + 1;
    }
    return e->depth > EXPR_DEPTH ? NULL : e;
}

static ep_expr *expr_call(expr_parser *x, const char *name, ep_expr *a, ep_expr *b) {
    ep_expr *args[] = {a, b};
    return a && b ? expr_new(x, EP_CALL, name, 2, args) : NULL;
}

static void expr_space(expr_parser *x) {
    while (text_is_space(*x->at)) x->at++;
}

static bool expr_take(expr_parser *x, const char *text) {
    expr_space(x);
    size_t n = strlen(text);
    if (strncmp(x->at, text, n)) return false;
    /* `or` of `origin` */
    if (text_is_alpha(text[0]) && (text_is_alnum(x->at[n]) || x->at[n] == '_')) return false;
    x->at += n;
    return true;
}

static ep_expr *expr_read(expr_parser *x, int least);

/* ---- operands -------------------------------------------------------------------------------- */

static ep_expr *expr_number(expr_parser *x) {
    const char *begin = x->at;
    int64_t i = 0;
    bool whole = true, fits = true;
    for (; text_is_digit(*x->at); x->at++)
        fits = fits && !__builtin_mul_overflow(i, 10, &i) &&
               !__builtin_add_overflow(i, *x->at - '0', &i);
    if (*x->at == '.' || *x->at == 'e' || *x->at == 'E') {
        char *end;
        whole = false;
        double f = text_double(begin, &end);
        x->at = end;
        ep_expr *e = expr_new(x, EP_FLOAT, NULL, 0, NULL);
        if (e) e->f = f;
        return e;
    }
    ep_expr *e = fits && whole ? expr_new(x, EP_INT, NULL, 0, NULL) : NULL;
    if (e) e->i = i;
    return e;
}

/* 'text' or "text", without escapes; NULL: none. */
static const char *expr_quoted(expr_parser *x) {
    expr_space(x);
    char quote = *x->at;
    const char *end = quote == '\'' || quote == '"' ? strchr(x->at + 1, quote) : NULL;
    if (!end) return NULL;
    const char *s = arena_strndup(&x->p->scratch, x->at + 1, (size_t)(end - x->at - 1));
    x->at = end + 1;
    return s;
}

/* Arguments up to ')'. Keywords are skipped. */
static ep_expr *expr_arguments(expr_parser *x, const char *name) {
    VEC(ep_expr *) args = {0};
    bool ok = true, more = !expr_take(x, ")");
    while (ok && more) {
        expr_space(x);
        const char *word = x->at;
        while (text_is_alnum(*word) || *word == '_') word++;
        bool keyword = word > x->at && *word == '=' && word[1] != '=';
        if (keyword) x->at = word + 1;
        const char *quoted = expr_quoted(x);
        ep_expr *a = quoted ? expr_new(x, EP_PATH, quoted, 0, NULL) : expr_read(x, 0);
        ok = a && (keyword || vec_push(&args, a));
        more = ok && expr_take(x, ",");
        if (more && expr_take(x, ")")) break;
        if (ok && !more) ok = expr_take(x, ")");
    }
    ep_expr *e = ok && args.len < INT32_MAX ? expr_new(x, EP_CALL, name, (int)args.len, args.data)
                                            : NULL;
    vec_free(&args);
    return e;
}

/* Symbol('s0'), Float('0.5'), Integer(3) are leaves. */
static ep_expr *expr_simple(expr_parser *x, ep_expr *e) {
    if (!e) return NULL;
    const char *text = e->n && e->args[0]->kind == EP_PATH ? e->args[0]->name : NULL;
    if (!strcmp(e->name, "Symbol")) return text ? expr_new(x, EP_SYMBOL, text, 0, NULL) : NULL;
    if (!strcmp(e->name, "Float")) {
        if (!text) return e->n && e->args[0]->kind != EP_CALL ? e->args[0] : NULL;
        char *end;
        double f = text_double(text, &end);
        ep_expr *leaf = *end || end == text ? NULL : expr_new(x, EP_FLOAT, NULL, 0, NULL);
        if (leaf) leaf->f = f;
        return leaf;
    }
    if (text) return NULL;
    return !strcmp(e->name, "same") && e->n == 1 ? e->args[0] : e;
}

/* L['x'][0].size()[1]: the part before .size() is a path to an argument. */
static ep_expr *expr_path(expr_parser *x, const char *begin) {
    for (;;) {
        if (*x->at == '[') {
            const char *end = strchr(x->at, ']');
            if (!end) return NULL;
            x->at = end + 1;
        } else {
            break;
        }
    }
    ep_expr *path = expr_new(
        x, EP_PATH, arena_strndup(&x->p->scratch, begin, (size_t)(x->at - begin)), 0, NULL);
    if (!path || *x->at != '.') return path;
    const char *method = expr_take(x, ".size()") || expr_take(x, ".shape") ? "size"
                         : expr_take(x, ".stride()")                       ? "stride"
                                                                           : NULL;
    if (!method)
        return expr_take(x, ".storage_offset()") ? expr_new(x, EP_CALL, "storage_offset", 1, &path)
                                                 : NULL;
    if (!expr_take(x, "[")) return NULL;
    ep_expr *dim = expr_number(x);
    return dim && expr_take(x, "]") ? expr_call(x, method, path, dim) : NULL;
}

static ep_expr *expr_word(expr_parser *x) {
    const char *begin = x->at, *last = x->at;
    while (text_is_alnum(*x->at) || *x->at == '_' ||
           (*x->at == '.' && (text_is_alpha(x->at[1]) || x->at[1] == '_'))) {
        if (*x->at == '.') last = x->at + 1;
        x->at++;
    }
    size_t n = (size_t)(x->at - last);
    if (*begin == 'L' && *x->at == '[' && x->at == begin + 1) return expr_path(x, begin);
    if (expr_take(x, "(")) {
        for (size_t i = 0; i < sizeof expr_calls / sizeof *expr_calls; i++)
            if (strlen(expr_calls[i].from) == n && !memcmp(expr_calls[i].from, last, n))
                return expr_simple(x, expr_arguments(x, expr_calls[i].to));
        return NULL;
    }
    static const struct {
        const char *word;
        bool truth;
    } truths[] = {{"true", true}, {"True", true}, {"false", false}, {"False", false}};
    for (size_t i = 0; i < sizeof truths / sizeof *truths; i++)
        if (strlen(truths[i].word) == n && !memcmp(truths[i].word, last, n)) {
            ep_expr *e = expr_new(x, EP_BOOL, NULL, 0, NULL);
            if (e) e->i = truths[i].truth;
            return e;
        }
    return last == begin ? expr_new(x, EP_SYMBOL, arena_strndup(&x->p->scratch, begin, n), 0, NULL)
                         : NULL;
}

static ep_expr *expr_unary(expr_parser *x, const char *name, int least) {
    ep_expr *a = expr_read(x, least);
    if (a && !strcmp(name, "neg") && a->kind == EP_INT) return a->i = -a->i, a;
    return a ? expr_new(x, EP_CALL, name, 1, &a) : NULL;
}

static ep_expr *expr_operand(expr_parser *x) {
    expr_space(x);
    if (expr_take(x, "-")) return expr_unary(x, "neg", 80);
    if (expr_take(x, "+")) return expr_read(x, 80);
    if (expr_take(x, "not")) return expr_unary(x, "not", 30);
    if (expr_take(x, "~")) return expr_unary(x, "not", 80);
    if (expr_take(x, "(")) {
        ep_expr *e = expr_read(x, 0);
        if (e && expr_take(x, ",")) { /* a pair of Piecewise */
            ep_expr *second = expr_read(x, 0);
            e = expr_call(x, "pair", e, second);
        }
        return e && expr_take(x, ")") ? e : NULL;
    }
    if (text_is_digit(*x->at) || *x->at == '.') return expr_number(x);
    return text_is_alpha(*x->at) || *x->at == '_' ? expr_word(x) : NULL;
}

/* ---- operators ------------------------------------------------------------------------------- */

/* Operators that are a prefix of others come after them. */
static const struct { const char *text, *name; int level; } expr_operators[] = {
    {"or", "or", 10}, {"and", "and", 20},   {"==", "eq", 40},     {"!=", "ne", 40},
    {"<=", "le", 40}, {">=", "ge", 40},     {"<<", "lshift", 65}, {">>", "rshift", 65},
    {"<", "lt", 40},  {">", "gt", 40},      {"|", "or", 50},      {"&", "and", 60},
    {"+", "add", 70}, {"-", "sub", 70},     {"**", "pow", 90},    {"//", "floordiv", 75},
    {"*", "mul", 75}, {"/", "truediv", 75}, {"%", "mod", 75},
};

static ep_expr *expr_operators_behind(expr_parser *x, ep_expr *left, int least) {
    ep_expr *compared = NULL; /* the right side of a comparison: 1 < x < 3 compares it once more */
    for (bool found = true; found && left;) {
        found = false;
        for (size_t i = 0; i < sizeof expr_operators / sizeof *expr_operators && !found; i++) {
            int level = expr_operators[i].level;
            if (level < least || !expr_take(x, expr_operators[i].text)) continue;
            found = true;
            ep_expr *right = expr_read(x, level == 90 ? 80 : level + 1);
            if (!right) return NULL;
            ep_expr *made = expr_call(x, expr_operators[i].name,
                                      level == 40 && compared ? compared : left, right);
            left = level == 40 && compared ? expr_call(x, "and", left, made) : made;
            compared = level == 40 ? right : NULL;
        }
    }
    return left;
}

/* An operand and the operators after it that bind at least this tightly. */
static ep_expr *expr_read(expr_parser *x, int least) {
    if (++x->depth > EXPR_DEPTH) return NULL;
    ep_expr *e = expr_operators_behind(x, expr_operand(x), least);
    x->depth--;
    return e;
}

ep_expr *ep_expr_parse(ep_program *p, const char *text) {
    expr_parser x = {.p = p, .at = text};
    ep_expr *e = expr_read(&x, 0);
    expr_space(&x);
    return e && !*x.at ? e : NULL;
}

/* ---- numbers --------------------------------------------------------------------------------- */

static bool expr_compute(const char *name, int64_t a, int64_t b, int64_t *out) {
    if (!strcmp(name, "add")) return !__builtin_add_overflow(a, b, out);
    if (!strcmp(name, "sub")) return !__builtin_sub_overflow(a, b, out);
    if (!strcmp(name, "mul")) return !__builtin_mul_overflow(a, b, out);
    if (!strcmp(name, "max")) return *out = a > b ? a : b, true;
    if (!strcmp(name, "min")) return *out = a < b ? a : b, true;
    if (b == 0 || (b == -1 && a == INT64_MIN)) return false;
    if (!strcmp(name, "floordiv")) return *out = a / b - (a % b != 0 && (a < 0) != (b < 0)), true;
    if (!strcmp(name, "mod"))
        return *out = a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0), true;
    return false;
}

bool ep_expr_number(const ep_expr *e, const char *symbol, int64_t at, int64_t *out) {
    if (e->kind == EP_INT) return *out = e->i, true;
    if (e->kind == EP_SYMBOL) return *out = at, symbol && !strcmp(symbol, e->name);
    if (e->kind != EP_CALL || !e->n) return false;
    int64_t all, next;
    if (!ep_expr_number(e->args[0], symbol, at, &all)) return false;
    if (e->n == 1 && !strcmp(e->name, "neg")) return !__builtin_sub_overflow(0, all, out);
    if (e->n < 2) return false;
    for (int i = 1; i < e->n; i++)
        if (!ep_expr_number(e->args[i], symbol, at, &next) ||
            !expr_compute(e->name, all, next, &all))
            return false;
    *out = all;
    return true;
}

const char *ep_expr_unknown(const ep_program *p, const ep_expr *e, bool *more) {
    if (e->kind == EP_SYMBOL) return strmap_get(&p->symbols, e->name) ? NULL : e->name;
    const char *found = NULL;
    for (int i = 0; i < e->n; i++) {
        const char *s = ep_expr_unknown(p, e->args[i], more);
        if (s && found && strcmp(s, found)) *more = true;
        if (s) found = s;
    }
    return found;
}
