/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema.c - reads ATen schema text.
 *
 *     schema   := name ["." overload] "(" [item {"," item}] ")" "->" returns
 *     item     := "*" | "..." | type name ["=" default]
 *     returns  := "..." | type [name] | "(" [type [name] {"," type [name]}] ")"
 *     type     := base [alias] { "[" [N] "]" [alias] | "?" }
 *     base     := Tensor | int | ... | Dict "(" type "," type ")" | Future "(" type ")"
 *               | "(" types ")" | t
 *     alias    := "(" set ["!"] ["->" set] ")"
 *     set      := "*" | a {"|" a}
 *
 * Tests: tests/unit/test_schema.c
 */
#include "base/text/text.h"
#include "ir/native.h"
#include "ir/schema_internal.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

/* ---- characters ------------------------------------------------------------------------------ */

static ctsc_status schema_error(schema_parser *p, const char *what) {
    return diag_fail(p->diag, CTSC_FAILED, "schema '%.*s': %s at column %d",
                     (int)(p->end - p->text), p->text, what, (int)(p->at - p->text) + 1);
}

static void schema_skip(schema_parser *p) {
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\n' || *p->at == '\t')) p->at++;
}

static bool schema_is(schema_parser *p, const char *token) {
    schema_skip(p);
    size_t n = strlen(token);
    return (size_t)(p->end - p->at) >= n && memcmp(p->at, token, n) == 0;
}

static bool schema_accept(schema_parser *p, const char *token) {
    if (!schema_is(p, token)) return false;
    p->at += strlen(token);
    return true;
}

static bool schema_word_char(char c) { return text_is_alnum((unsigned char)c) || c == '_'; }

/* An identifier; dotted ones too if asked. NULL if there is none. */
static const char *schema_word(schema_parser *p, bool dotted) {
    schema_skip(p);
    const char *b = p->at;
    while (p->at < p->end && (schema_word_char(*p->at) || (dotted && *p->at == '.'))) p->at++;
    if (p->at == b) return NULL;
    return arena_strndup(p->arena, b, (size_t)(p->at - b));
}

/* ---- aliases --------------------------------------------------------------------------------- */

static const char *schema_alias_set(schema_parser *p) {
    schema_skip(p);
    const char *b = p->at;
    while (p->at < p->end && (schema_word_char(*p->at) || *p->at == '|' || *p->at == '*')) p->at++;
    return p->at == b ? NULL : arena_strndup(p->arena, b, (size_t)(p->at - b));
}

/* After a type; *out is NULL if there is no annotation. */
static ctsc_status schema_alias(schema_parser *p, alias_info **out) {
    *out = NULL;
    if (p->at >= p->end || *p->at != '(') return CTSC_OK;
    p->at++;
    alias_info *a = arena_new(p->arena, alias_info);
    a->before = schema_alias_set(p);
    if (!a->before) return schema_error(p, "expected an alias set");
    a->write = schema_accept(p, "!");
    if (schema_accept(p, "->") && !(a->after = schema_alias_set(p)))
        return schema_error(p, "expected an alias set");
    if (!schema_accept(p, ")")) return schema_error(p, "expected ')'");
    *out = a;
    return CTSC_OK;
}

/* ---- types ----------------------------------------------------------------------------------- */

/* Names that say more than the IR type they map to. */
static const struct {
    const char *text;
    type_kind kind;
    bool keep;
} schema_names[] = {
    {"Tensor", T_TENSOR, false},
    {"int", T_INT, false},
    {"float", T_FLOAT, false},
    {"bool", T_BOOL, false},
    {"str", T_STR, false},
    {"complex", T_COMPLEX, false},
    {"Scalar", T_NUMBER, false},
    {"NoneType", T_NONE, false},
    {"Any", T_ANY, false},
    {"Device", T_DEVICE, false},
    {"Generator", T_GENERATOR, false},
    {"Storage", T_STORAGE, false},
    {"Stream", T_STREAM, false},
    {"QScheme", T_QSCHEME, false},
    {"Capsule", T_CAPSULE, false},
    {"Function", T_FUNCTION, false},
    {"list", T_ANY_LIST, false},
    {"tuple", T_ANY_TUPLE, false},
    {"AnyEnumType", T_ANY_ENUM, false},
    {"AnyClassType", T_ANY_CLASS, false},
    {"ScalarType", T_INT, true},
    {"Layout", T_INT, true},
    {"MemoryFormat", T_INT, true},
    {"SymInt", T_INT, true},
    {"Dimname", T_STR, true},
    {"number", T_NUMBER, true},
    {"AnyListType", T_ANY_LIST, true},
    {"AnyTupleType", T_ANY_TUPLE, true},
};

static ctsc_status schema_type(schema_parser *p, schema_type_info *out);

static ctsc_status schema_elements(schema_parser *p, const char *end, int want, type **elems,
                                   int max, int *n) {
    for (*n = 0; !schema_is(p, end);) {
        schema_type_info e = {0};
        if (*n && !schema_accept(p, ",")) return schema_error(p, "expected ','");
        TRY(schema_type(p, &e));
        if (*n == max) return schema_error(p, "too many types");
        elems[(*n)++] = e.type;
    }
    p->at++;
    return want < 0 || *n == want ? CTSC_OK : schema_error(p, "wrong number of types");
}

static ctsc_status schema_base(schema_parser *p, schema_type_info *out) {
    type *elems[32];
    int n;
    if (schema_accept(p, "(")) {
        ctsc_status s = schema_elements(p, ")", -1, elems, 32, &n);
        if (s == CTSC_OK) out->type = type_tuple(n, elems);
        return s;
    }
    const char *word = schema_word(p, true);
    if (!word) return schema_error(p, "expected a type");
    static const char *const wrappers[] = {"Dict", "Future", "RRef"};
    for (int w = 0; w < 3; w++) {
        if (strcmp(word, wrappers[w])) continue;
        bool brackets = w > 0 && schema_accept(p, "["); /* as in the text of a graph */
        if (!brackets && !schema_accept(p, "(")) continue;
        TRY(schema_elements(p, brackets ? "]" : ")", w == 0 ? 2 : 1, elems, 32, &n));
        out->type = w == 0   ? type_dict(elems[0], elems[1])
                    : w == 1 ? type_future(elems[0])
                             : type_rref(elems[0]);
        return CTSC_OK;
    }
    if (!strcmp(word, "Union") && schema_accept(p, "(")) {
        ctsc_status s = schema_elements(p, ")", -1, elems, 32, &n);
        if (s == CTSC_OK) out->type = type_union(n, elems);
        return s;
    }
    for (size_t i = 0; i < sizeof schema_names / sizeof *schema_names; i++) {
        if (strcmp(word, schema_names[i].text)) continue;
        out->type = type_of_kind(schema_names[i].kind);
        if (schema_names[i].keep) out->leaf = word;
        return CTSC_OK;
    }
    if (strchr(word, '.')) {
        type *cls = native_class(word);
        out->type = cls ? cls : TYPE_ANY;
        out->leaf = word;
    } else if (text_is_lower((unsigned char)word[0])) {
        out->type = type_var(word);
    } else {
        return schema_error(p, "unknown type");
    }
    return CTSC_OK;
}

/* "[", digits or nothing, "]". */
static ctsc_status schema_list_suffix(schema_parser *p, schema_type_info *out) {
    p->at++;
    int size = 0;
    while (p->at < p->end && isdigit((unsigned char)*p->at)) {
        size = size * 10 + (*p->at++ - '0');
        if (size > 1024) return schema_error(p, "list too long");
    }
    if (p->at >= p->end || *p->at++ != ']') return schema_error(p, "expected ']'");
    if (size) out->fixed_size = size;
    out->type = type_list(out->type);
    alias_info *own;
    TRY(schema_alias(p, &own));
    if (out->alias) {
        if (!own) {
            own = arena_new(p->arena, alias_info);
            own->write = out->alias->write;
        }
        own->elem = out->alias;
    }
    out->alias = own;
    return CTSC_OK;
}

static ctsc_status schema_type(schema_parser *p, schema_type_info *out) {
    if (p->depth >= 32) return schema_error(p, "types nest too deeply");
    p->depth++;
    schema_skip(p);
    const char *b = p->at;
    ctsc_status s = schema_base(p, out);
    if (s == CTSC_OK) s = schema_alias(p, &out->alias);
    while (s == CTSC_OK && p->at < p->end && (*p->at == '[' || *p->at == '?')) {
        if (*p->at == '[') {
            s = schema_list_suffix(p, out);
        } else {
            p->at++;
            out->type = type_optional(out->type);
        }
    }
    p->depth--;
    if (s == CTSC_OK && out->leaf) out->text = arena_strndup(p->arena, b, (size_t)(p->at - b));
    return s;
}

/* ---- defaults -------------------------------------------------------------------------------- */

static const struct {
    const char *text;
    int64_t i;
} schema_constants[] = {
    {"contiguous_format", 0},
    {"preserve_format", 1},
    {"channels_last", 2},
    {"channels_last_3d", 3},
    {"Mean", 1},
    {"Sum", 2},
    {"strided", 0},
    {"long", 4},
    {"float", 6},
    {"double", 7},
    {"bool", 11},
};

static ctsc_status schema_number(schema_parser *p, const type *t, value *out) {
    char digits[64];
    size_t n = 0;
    bool real = false;
    const char *b = p->at;
    for (; p->at < p->end && n < sizeof digits - 1; p->at++) {
        char c = *p->at;
        bool exponent_sign = (c == '-' || c == '+') && p->at > b && (p->at[-1] | 32) == 'e';
        if (!isdigit((unsigned char)c) && c != '.' && (c | 32) != 'e' && !exponent_sign &&
            !(c == '-' && p->at == b))
            break;
        real |= c == '.' || (c | 32) == 'e';
        digits[n++] = c;
    }
    digits[n] = '\0';
    char *stop;
    errno = 0;
    if (real) {
        *out = value_float(text_double(digits, &stop));
    } else {
        long long i = strtoll(digits, &stop, 10);
        *out = t->kind == T_FLOAT ? value_float((double)i) : value_int(i);
    }
    return n && !*stop && errno != EINVAL ? CTSC_OK : schema_error(p, "expected a default value");
}

static ctsc_status schema_string(schema_parser *p, value *out) {
    char quote = *p->at++;
    strbuf sb = STRBUF_INIT;
    static const char names[] = "ntabfrv", codes[] = "\n\t\a\b\f\r\v";
    while (p->at < p->end && *p->at != quote) {
        char c = *p->at++;
        if (c == '\\' && p->at < p->end) {
            c = *p->at++;
            const char *k = c ? strchr(names, c) : NULL;
            if (k) c = codes[k - names];
        }
        sb_putc(&sb, c);
    }
    ctsc_status s = p->at++ < p->end ? CTSC_OK : schema_error(p, "unterminated string");
    str *st = s == CTSC_OK && !sb.failed ? str_new(sb_str(&sb), sb.len) : NULL;
    sb_free(&sb);
    if (s == CTSC_OK && !st) s = diag_no_memory(p->diag);
    if (s == CTSC_OK) *out = value_str_take(st);
    return s;
}

static ctsc_status schema_default(schema_parser *p, type *t, int fixed_size, value *out);

/* n times the same element (of an int[2] given as one int), or a list in brackets. */
static ctsc_status schema_list(schema_parser *p, type *elem, int n, value *out) {
    list *l = list_new(type_list_kind(elem), elem, (size_t)n);
    if (!l) return diag_no_memory(p->diag);
    ctsc_status s = CTSC_OK;
    bool bracket = schema_accept(p, "[");
    for (int i = 0; s == CTSC_OK && (bracket ? !schema_is(p, "]") : i < n); i++) {
        const char *b = p->at;
        value v;
        if (bracket && i && !schema_accept(p, ",")) s = schema_error(p, "expected ','");
        if (s == CTSC_OK) s = schema_default(p, elem, 0, &v);
        if (s == CTSC_OK && !list_fits((list_kind)l->kind, v)) {
            value_unref(v);
            s = schema_error(p, "default of another type");
        }
        if (s == CTSC_OK && !list_append_take(l, v)) s = diag_no_memory(p->diag);
        if (!bracket && i + 1 < n) p->at = b;
    }
    if (bracket && s == CTSC_OK) p->at++;
    if (s == CTSC_OK) *out = value_list_take(l);
    else value_unref(value_list_take(l));
    return s;
}

static ctsc_status schema_default(schema_parser *p, type *t, int fixed_size, value *out) {
    schema_skip(p);
    if (p->depth >= 32 || p->at >= p->end) return schema_error(p, "expected a default value");
    type *bare = type_without_none(t);
    char c = *p->at;
    if (c == '"' || c == '\'') return schema_string(p, out);
    if (text_is_alpha((unsigned char)c)) {
        const char *word = schema_word(p, false);
        if (!strcmp(word, "None")) return *out = value_none(), CTSC_OK;
        if (!strcmp(word, "True")) return *out = value_bool(true), CTSC_OK;
        if (!strcmp(word, "False")) return *out = value_bool(false), CTSC_OK;
        for (size_t i = 0; i < sizeof schema_constants / sizeof *schema_constants; i++)
            if (!strcmp(word, schema_constants[i].text))
                return *out = value_int(schema_constants[i].i), CTSC_OK;
        return schema_error(p, "unknown default value");
    }
    if (c == '[' || (bare->kind == T_LIST && fixed_size)) {
        p->depth++;
        type *elem = bare->kind == T_LIST ? type_elem(bare) : TYPE_ANY;
        ctsc_status s = schema_list(p, elem, fixed_size, out);
        p->depth--;
        return s;
    }
    return schema_number(p, bare, out);
}

/* ---- arguments ------------------------------------------------------------------------------- */

static ctsc_status schema_argument(schema_parser *p, argument *a, bool is_return) {
    schema_type_info t = {0};
    TRY(schema_type(p, &t));
    a->type = t.type;
    a->type_text = t.text;
    a->leaf_text = t.leaf;
    a->fixed_size = t.fixed_size;
    a->alias = t.alias;
    a->name = schema_word(p, false);
    if (!a->name) {
        if (!is_return) return schema_error(p, "expected a name");
        a->name = "";
    }
    if (is_return || !schema_accept(p, "=")) return CTSC_OK;
    schema_skip(p);
    const char *b = p->at;
    TRY(schema_default(p, a->type, a->fixed_size, &a->default_value));
    a->has_default = true;
    a->default_text = arena_strndup(p->arena, b, (size_t)(p->at - b));
    return CTSC_OK;
}

typedef VEC(argument) argument_list;

/* Up to the closing parenthesis. Arguments are pushed before they are looked at, so that a failure
 * finds their default values in the list. */
static ctsc_status schema_items(schema_parser *p, argument_list *items, bool is_return,
                                bool *dots) {
    bool kwarg_only = false;
    for (bool first = true; !schema_accept(p, ")"); first = false) {
        if (!first && !schema_accept(p, ",")) return schema_error(p, "expected ','");
        if (schema_accept(p, "...")) {
            *dots = true;
            if (!schema_accept(p, ")")) return schema_error(p, "expected ')'");
            return CTSC_OK;
        }
        if (!is_return && schema_accept(p, "*")) {
            kwarg_only = true;
            continue;
        }
        argument a = {.kwarg_only = kwarg_only};
        ctsc_status s = schema_argument(p, &a, is_return);
        if (s == CTSC_OK && arena_failed(p->arena)) s = diag_no_memory(p->diag);
        if (s == CTSC_OK && !avec_push(p->arena, items, a)) s = diag_no_memory(p->diag);
        if (s != CTSC_OK) {
            value_unref(a.default_value);
            return s;
        }
    }
    return CTSC_OK;
}

static ctsc_status schema_returns(schema_parser *p, schema *sc, argument_list *returns) {
    if (schema_accept(p, "...")) {
        sc->varret = true;
        return CTSC_OK;
    }
    /* "(Tensor, Tensor)" is a list of returns; "(Tensor, int)[]" is one return. */
    const char *b = p->at;
    if (schema_accept(p, "(")) {
        TRY(schema_items(p, returns, true, &sc->varret));
        if (p->at >= p->end || (*p->at != '[' && *p->at != '?')) {
            sc->parenthesised_return = returns->len == 1;
            return CTSC_OK;
        }
        returns->len = 0;
        p->at = b;
    }
    argument a = {0};
    ctsc_status s = schema_argument(p, &a, true);
    if (s == CTSC_OK && !avec_push(p->arena, returns, a)) s = diag_no_memory(p->diag);
    return s;
}

static ctsc_status schema_name(schema_parser *p, schema *sc) {
    schema_skip(p);
    const char *b = p->at, *dot = NULL;
    for (; p->at < p->end && *p->at != '('; p->at++) {
        if (*p->at == '.' && !dot) dot = p->at;
        if (!schema_word_char(*p->at) && *p->at != ':' && *p->at != '.')
            return schema_error(p, "unexpected character in the name");
    }
    const char *e = dot ? dot : p->at;
    if (e == b) return schema_error(p, "expected a name");
    sc->name = arena_strndup(p->arena, b, (size_t)(e - b));
    sc->overload = dot ? arena_strndup(p->arena, dot + 1, (size_t)(p->at - dot - 1)) : "";
    return schema_accept(p, "(") ? CTSC_OK : schema_error(p, "expected '('");
}

static bool schema_writes(const alias_info *a) { return a && (a->write || schema_writes(a->elem)); }

ctsc_status schema_parse(diag *d, arena *a, const char *text, size_t len, schema **out) {
    schema_parser p = {.diag = d, .arena = a, .text = text, .at = text, .end = text + len};
    schema *sc = arena_new(a, schema);
    argument_list args = {0}, returns = {0};
    ctsc_status s = schema_name(&p, sc);
    if (s == CTSC_OK) s = schema_items(&p, &args, false, &sc->vararg);
    if (s == CTSC_OK && !schema_accept(&p, "->")) s = schema_error(&p, "expected '->'");
    if (s == CTSC_OK) s = schema_returns(&p, sc, &returns);
    schema_skip(&p);
    if (s == CTSC_OK && p.at != p.end) s = schema_error(&p, "unexpected text");
    sc->args = args.data;
    sc->nargs = (int)args.len;
    sc->returns = returns.data;
    sc->nreturns = (int)returns.len;
    for (int i = 0; i < sc->nargs; i++) sc->has_alias_write |= schema_writes(sc->args[i].alias);
    if (s == CTSC_OK && (arena_failed(a) || type_table_failed())) s = diag_no_memory(d);
    if (s == CTSC_OK) *out = sc;
    else schema_free_values(sc);
    return s;
}

void schema_free_values(schema *s) {
    for (int i = 0; i < s->nargs; i++) value_set(&s->args[i].default_value, value_none());
}

int schema_find_arg(const schema *s, const char *name) {
    for (int i = 0; i < s->nargs; i++)
        if (!strcmp(s->args[i].name, name)) return i;
    return -1;
}
