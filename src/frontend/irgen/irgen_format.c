/* SPDX-License-Identifier: Apache-2.0 */
/*
 * irgen_format.c - text made of values: f-strings, "...".format(...), "..." % ...
 *
 * PyTorch has aten::format, which fills "{}" fields in turn, and aten::percentFormat, whose
 * specifiers have no flags, width or precision. What goes beyond is resolved while compiling:
 * fields are numbered, and a value with a format spec becomes a string by operators and helpers
 * (builtin_functions.c) whose result is Python's to the letter. What they cannot say exactly is
 * refused. An archive's code is left as it is: PyTorch has resolved it already.
 * Tests: tests/lang
 */
#include "frontend/irgen/irgen.h"

/* ---- a text with fields ---------------------------------------------------------------------- */

typedef struct format_text {
    strbuf text; /* with {} for each value */
    bool open;   /* it ends with a brace that is meant literally */
    VEC(actual) values;
} format_text;

static void format_add_value(emitter *e, format_text *f, ir_value *v, source_range r) {
    actual a = {NULL, v, r};
    sb_puts(&f->text, "{}");
    f->open = false;
    avec_push(e->scratch, &f->values, a);
}

/* A literal part. Where it reads {}, that is a value itself. */
static void format_add_literal(emitter *e, format_text *f, const char *s, size_t n,
                               source_range r) {
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '}' && f->open && f->text.len) {
            f->text.len--;
            e->g->range = r;
            format_add_value(e, f, graph_constant_str(e->g, "{}", 2), r);
        } else {
            sb_putc(&f->text, s[i]);
            f->open = s[i] == '{';
        }
    }
}

static ir_value *format_finish(emitter *e, format_text *f, source_range r) {
    actual *args = arena_array(e->scratch, actual, f->values.len + 1);
    ir_value *out = NULL;
    e->g->range = r;
    if (f->text.failed || !args || irgen_failed(e)) {
        diag_no_memory(e->diag);
    } else {
        args[0] = (actual){NULL, graph_constant_str(e->g, sb_str(&f->text), f->text.len), r, true};
        if (f->values.len) memcpy(args + 1, f->values.data, f->values.len * sizeof *args);
        out = irgen_builtin(e, r, "aten::format", (int)f->values.len + 1, args);
    }
    sb_free(&f->text);
    return out;
}

/* ---- format specs ---------------------------------------------------------------------------- */

/* [[fill]align][sign][#][0][width][grouping][.precision][type] */
typedef struct format_spec {
    char fill[5], align, sign, group, type; /* 0: not given; fill: one character, UTF-8 */
    bool alternate, zero;
    int width, precision; /* -1: not given */
} format_spec;

static size_t format_character(const char *s, size_t n) {
    size_t len = 1;
    if ((unsigned char)s[0] >= 0xC0)
        while (len < n && len < 4 && ((unsigned char)s[len] & 0xC0) == 0x80) len++;
    return len;
}

static bool format_number(const char **p, const char *end, int *out) {
    if (*p == end || **p < '0' || **p > '9') return false;
    int n = 0;
    for (; *p < end && **p >= '0' && **p <= '9'; (*p)++)
        if ((n = n * 10 + (**p - '0')) > 100000) return false;
    *out = n;
    return true;
}

static bool format_parse_spec(const char *s, size_t n, format_spec *f) {
    const char *p = s, *end = s + n;
    *f = (format_spec){.width = -1, .precision = -1};
    size_t first = n ? format_character(s, n) : 0;
    if (first && first < n && s[first] && strchr("<>^=", s[first])) {
        memcpy(f->fill, s, first);
        f->align = s[first];
        p = s + first + 1;
    } else if (n && strchr("<>^=", *p)) {
        f->align = *p++;
    }
    if (p < end && strchr("+- ", *p)) f->sign = *p++;
    if (p < end && *p == '#') f->alternate = true, p++;
    if (p < end && *p == '0') f->zero = true, p++;
    if (p < end && *p >= '0' && *p <= '9' && !format_number(&p, end, &f->width)) return false;
    if (p < end && (*p == ',' || *p == '_')) f->group = *p++;
    if (p < end && *p == '.') {
        p++;
        if (!format_number(&p, end, &f->precision)) return false;
    }
    if (p < end) f->type = *p++;
    return p == end;
}

static ir_value *format_refuse(emitter *e, source_range r, const char *spec, const type *t) {
    strbuf sb = STRBUF_INIT;
    type_print_python(t, &sb);
    diag_fail_at(e->diag, CTSC_UNSUPPORTED, r,
                 "the format '%s' of a value of type %s is not supported", spec, sb_str(&sb));
    sb_free(&sb);
    return NULL;
}

static ir_value *format_str_constant(emitter *e, const char *s) {
    return graph_constant_str(e->g, s, strlen(s));
}

static ir_value *format_helper(emitter *e, source_range r, const char *name, int n,
                               ir_value *const *vals) {
    function *f = builtin_helper(e->unit, e->diag, name);
    actual args[4] = {{0}};
    for (int i = 0; i < n; i++) args[i] = (actual){NULL, vals[i], r};
    return f ? irgen_function_call(e, r, f, n, args) : NULL;
}

/* v as format() shows it without a spec */
static ir_value *format_plain(emitter *e, source_range r, ir_value *v) {
    if (v->type->kind == T_STR) return v;
    ir_value *args[] = {format_str_constant(e, "{}"), v};
    return irgen_builtin_values(e, r, "aten::format", 2, args);
}

static ir_value *format_join(emitter *e, source_range r, ir_value *a, const char *b) {
    ir_value *args[] = {a, format_str_constant(e, b)};
    return a ? irgen_builtin_values(e, r, "aten::add", 2, args) : NULL;
}

/* An int in base 2, 8 or 16. */
static ir_value *format_base(emitter *e, source_range r, const format_spec *f, ir_value *v) {
    const char *op = f->type == 'b' ? "aten::bin" : f->type == 'o' ? "aten::oct" : "aten::hex";
    ir_value *text = irgen_builtin_values(e, r, op, 1, &v);
    if (text && !f->alternate) {
        ir_value *args[] = {text,
                            format_str_constant(e, f->type == 'b'   ? "0b"
                                                   : f->type == 'o' ? "0o"
                                                                    : "0x"),
                            format_str_constant(e, "")};
        text = irgen_builtin_values(e, r, "aten::replace", 3, args);
    }
    return text && f->type == 'X' ? irgen_builtin_values(e, r, "aten::upper", 1, &text) : text;
}

static ir_value *format_float(emitter *e, source_range r, const format_spec *f, const char *spec,
                              ir_value *v) {
    int precision = f->precision < 0 ? 6 : f->precision;
    char kind = f->type;
    if (f->alternate || precision > 1000) return format_refuse(e, r, spec, v->type);
    if (kind == '\0' && f->precision < 0) return format_plain(e, r, v);
    if (kind == '%') {
        ir_value *args[] = {v, irgen_constant_take(e, value_float(100), NULL)};
        v = irgen_builtin_values(e, r, "aten::mul", 2, args);
        if (!v) return NULL;
    }
    ir_value *args[] = {v, irgen_constant_take(e, value_int(precision), NULL), NULL}, *text;
    switch (kind) {
    case '%':
    case 'f':
    case 'F': text = format_helper(e, r, "format_fixed", 2, args); break;
    case 'e':
    case 'E': text = format_helper(e, r, "format_exponent", 2, args); break;
    case 'g':
    case 'G':
    case '\0':
        args[2] = graph_constant_bool(e->g, kind == '\0');
        text = format_helper(e, r, "format_general", 3, args);
        break;
    default: return format_refuse(e, r, spec, v->type);
    }
    if (text && (kind == 'F' || kind == 'E' || kind == 'G'))
        text = irgen_builtin_values(e, r, "aten::upper", 1, &text);
    return kind == '%' ? format_join(e, r, text, "%") : text;
}

/* A number without its field: digits, sign and grouping. */
static ir_value *format_digits(emitter *e, source_range r, const format_spec *f, const char *spec,
                               ir_value *v) {
    bool real = f->type && strchr("eEfFgG%", f->type), whole = f->type && strchr("bcdoxX", f->type);
    if (v->type->kind == T_BOOL || (whole && v->type->kind == T_TENSOR))
        v = irgen_cast(e, r, T_INT, v);
    if (v && (real || v->type->kind == T_TENSOR || v->type->kind == T_NUMBER))
        v = irgen_cast(e, r, T_FLOAT, v);
    if (!v) return NULL;
    ir_value *text;
    if (v->type->kind == T_FLOAT) {
        if (whole)
            return irgen_fail(e, r, "Unknown format code '%c' for object of type 'float'", f->type);
        text = format_float(e, r, f, spec, v);
    } else if (f->precision >= 0) {
        return irgen_fail(e, r, "Precision not allowed in integer format specifier");
    } else if (f->type == 'c') {
        return irgen_builtin_values(e, r, "aten::chr", 1, &v);
    } else if (f->type && strchr("boxX", f->type)) {
        text = format_base(e, r, f, v);
    } else {
        text = format_plain(e, r, v);
    }
    if (text && f->group) {
        if (f->zero || (f->type && strchr("boxXeEgG", f->type)) ||
            (!f->type && v->type->kind == T_FLOAT))
            return format_refuse(e, r, spec, v->type);
        ir_value *args[] = {text, format_str_constant(e, f->group == ',' ? "," : "_")};
        text = format_helper(e, r, "format_group", 2, args);
    }
    if (text && (f->sign == '+' || f->sign == ' ')) {
        ir_value *args[] = {text, format_str_constant(e, f->sign == '+' ? "+" : " ")};
        text = format_helper(e, r, "format_sign", 2, args);
    }
    return text;
}

static ir_value *format_field(emitter *e, source_range r, const format_spec *f, ir_value *text,
                              char align) {
    if (f->width <= 0) return text;
    const char *fill = f->fill[0] ? f->fill : f->zero ? "0" : " ";
    ir_value *width = irgen_constant_take(e, value_int(f->width), NULL);
    if (align == '<' || align == '>') {
        ir_value *args[] = {text, width, format_str_constant(e, fill)};
        return irgen_builtin_values(e, r, align == '<' ? "aten::ljust" : "aten::rjust", 3, args);
    }
    ir_value *args[] = {text, width, format_str_constant(e, align == '^' ? "^" : "="),
                        format_str_constant(e, fill)};
    return format_helper(e, r, "format_pad", 4, args);
}

/* format(v, spec), a string */
static ir_value *format_value(emitter *e, source_range r, ir_value *v, const char *spec, size_t n) {
    format_spec f;
    e->g->range = r;
    if (!n) return v;
    if (memchr(spec, '{', n)) {
        diag_fail_at(e->diag, CTSC_UNSUPPORTED, r,
                     "a format spec that is made at run time is not supported");
        return NULL;
    }
    if (!format_parse_spec(spec, n, &f))
        return irgen_fail(e, r, "Invalid format specifier '%.*s'", (int)n, spec);
    switch (v->type->kind) {
    case T_STR: {
        if ((f.type && f.type != 's') || f.sign || f.group || f.alternate || f.align == '=')
            return irgen_fail(e, r, "Invalid format specifier '%.*s' for a string", (int)n, spec);
        if (f.precision >= 0) {
            ir_value *args[] = {v, graph_constant_none(e->g),
                                irgen_constant_take(e, value_int(f.precision), NULL)};
            v = irgen_builtin_values(e, r, "aten::slice", 3, args);
        }
        return v ? format_field(e, r, &f, v, f.align ? f.align : '<') : NULL;
    }
    case T_TENSOR:
        if (!f.type) return format_refuse(e, r, spec, v->type);
        break;
    case T_INT:
    case T_FLOAT:
    case T_BOOL:
    case T_NUMBER: break;
    default: return format_refuse(e, r, spec, v->type);
    }
    ir_value *text = format_digits(e, r, &f, spec, v);
    return text ? format_field(e, r, &f, text, f.align ? f.align : f.zero ? '=' : '>') : NULL;
}

/* !r, !s, !a */
static ir_value *format_convert(emitter *e, source_range r, ir_value *v, char conversion) {
    if (!strchr("rsa", conversion))
        return irgen_fail(e, r, "invalid conversion character '%c': expected 's', 'r' or 'a'",
                          conversion);
    if (conversion == 's')
        return v->type->kind == T_STR ? v : irgen_builtin_values(e, r, "aten::str", 1, &v);
    if (v->type->kind == T_STR) return format_helper(e, r, "repr_str", 1, &v);
    return format_plain(e, r, v);
}

/* ---- f-strings ------------------------------------------------------------------------------- */

ir_value *irgen_fstring(emitter *e, const expr *x) {
    format_text f = {.text = STRBUF_INIT};
    for (size_t i = 0; i < x->items.len; i++) {
        const expr *part = x->items.data[i];
        if (part->kind == E_STR) {
            format_add_literal(e, &f, part->s, part->slen, part->range);
            continue;
        }
        ir_value *v = irgen_expr(e, part->a, NULL);
        if (v && part->name) v = format_convert(e, part->range, v, part->name[0]);
        if (v && part->s) v = format_value(e, part->range, v, part->s, strlen(part->s));
        if (!v) {
            sb_free(&f.text);
            return NULL;
        }
        format_add_value(e, &f, v, part->range);
    }
    return format_finish(e, &f, x->range);
}

/* ---- str.format ------------------------------------------------------------------------------ */

/* Are all fields {} and all other braces absent? Then aten::format says it. */
static bool format_is_simple(const char *s, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (s[i] != '{' && s[i] != '}') continue;
        if (s[i] == '}' || i + 1 >= n || s[i + 1] != '}') return false;
        i++;
    }
    return true;
}

/* The argument that a field names: the next one, the n-th, or a keyword. */
static const actual *format_argument(emitter *e, source_range r, const char *s, size_t n, int nargs,
                                     const actual *args, int *next) {
    int i = -1;
    const char *p = s;
    if (!n) {
        i = (*next)++;
    } else if (format_number(&p, s + n, &i)) {
        if (p != s + n) i = INT32_MAX;
    } else {
        for (size_t k = 0; k < n; k++)
            if (s[k] == '.' || s[k] == '[') {
                diag_fail_at(e->diag, CTSC_UNSUPPORTED, r,
                             "attributes and elements in a format field are not supported");
                return NULL;
            }
        for (int k = 0; k < nargs; k++)
            if (args[k].name && strlen(args[k].name) == n && !memcmp(args[k].name, s, n))
                return &args[k];
        irgen_fail(e, r, "format has no argument '%.*s'", (int)n, s);
        return NULL;
    }
    if (i < 0 || i >= nargs || args[i].name) {
        irgen_fail(e, r, "Replacement index %d out of range for positional args", i);
        return NULL;
    }
    return &args[i];
}

/* One field: s[0..n) is the text between the braces. */
static bool format_add_field(emitter *e, source_range r, format_text *f, const char *s, size_t n,
                             int nargs, const actual *args, int *next) {
    size_t name = 0;
    while (name < n && s[name] != '!' && s[name] != ':') name++;
    const actual *a = format_argument(e, r, s, name, nargs, args, next);
    if (!a) return false;
    ir_value *v = a->value;
    size_t at = name;
    if (at + 1 < n && s[at] == '!') {
        v = format_convert(e, r, v, s[at + 1]);
        at += 2;
    }
    if (v && at < n && s[at] == ':')
        v = format_value(e, r, v, arena_strndup(e->scratch, s + at + 1, n - at - 1), n - at - 1);
    else if (v && at < n) return irgen_fail(e, r, "expected ':' after conversion specifier"), false;
    if (v) format_add_value(e, f, v, r);
    return v != NULL;
}

static ir_value *format_resolve(emitter *e, source_range r, const char *s, size_t n, int nargs,
                                const actual *args) {
    format_text f = {.text = STRBUF_INIT};
    int next = 0;
    size_t start = 0, i = 0;
    bool ok = true;
    while (ok && i < n) {
        if (s[i] != '{' && s[i] != '}') {
            i++;
            continue;
        }
        if (i + 1 < n && s[i + 1] == s[i]) { /* an escaped brace */
            format_add_literal(e, &f, s + start, i + 1 - start, r);
            start = i += 2;
            continue;
        }
        size_t end = i + 1, depth = 1;
        for (; s[i] == '{' && end < n; end++)
            if (s[end] == '{') depth++;
            else if (s[end] == '}' && --depth == 0) break;
        if (s[i] == '}' || end >= n) {
            irgen_fail(e, r, "Single '%c' encountered in format string", s[i]);
            ok = false;
            break;
        }
        format_add_literal(e, &f, s + start, i - start, r);
        ok = format_add_field(e, r, &f, s + i + 1, end - i - 1, nargs, args, &next);
        start = i = end + 1;
    }
    if (!ok) return sb_free(&f.text), NULL;
    format_add_literal(e, &f, s + start, n - start, r);
    return format_finish(e, &f, r);
}

ir_value *irgen_str_format(emitter *e, const expr *x, ir_value *text) {
    actual *args;
    int n;
    value c = value_none();
    source_range r = x->a->range;
    if (!irgen_arguments(e, x, 0, &args, &n)) return NULL;
    bool known = e->scope && ir_value_constant(text, &c) && c.tag == V_STR;
    if (known && !format_is_simple(c.u.str->bytes, c.u.str->len))
        return format_resolve(e, r, c.u.str->bytes, c.u.str->len, n, args);
    actual *all = arena_array(e->scratch, actual, n + 1);
    if (!all) return diag_no_memory(e->diag), NULL;
    all[0] = (actual){NULL, text, r, true};
    if (n) memcpy(all + 1, args, (size_t)n * sizeof *all);
    return irgen_builtin(e, r, "aten::format", n + 1, all);
}

/* ---- % --------------------------------------------------------------------------------------- */

/* Only specifiers that aten::percentFormat knows? */
static bool format_percent_is_simple(const char *s, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (s[i] != '%') continue;
        if (++i >= n || !strchr("sdieEfFgGc%", s[i])) return false;
    }
    return true;
}

/* %[flags][width][.precision]type as a format spec. */
static size_t format_percent_spec(const char *s, size_t n, format_spec *f) {
    const char *p = s, *end = s + n;
    *f = (format_spec){.width = -1, .precision = -1, .align = '>'};
    for (; p < end && strchr("-+ #0", *p); p++) {
        if (*p == '-') f->align = '<';
        else if (*p == '#') f->alternate = true;
        else if (*p == '0') f->zero = true;
        else if (f->sign != '+') f->sign = *p;
    }
    if (p < end && *p >= '1' && *p <= '9' && !format_number(&p, end, &f->width)) return 0;
    if (p < end && *p == '.') {
        p++;
        f->precision = 0;
        if (p < end && *p >= '0' && *p <= '9' && !format_number(&p, end, &f->precision)) return 0;
    }
    if (p == end || !strchr("sdiuxXoeEfFgGrc", *p)) return 0;
    f->type = *p == 'i' || *p == 'u' ? 'd' : *p;
    if (f->align == '<') f->zero = false;
    return (size_t)(p + 1 - s);
}

static ir_value *format_percent_value(emitter *e, source_range r, const char *spec, format_spec *f,
                                      ir_value *v) {
    if (f->type == 's' || f->type == 'r') {
        v = format_convert(e, r, v, f->type);
        if (v && f->precision >= 0) {
            ir_value *args[] = {v, graph_constant_none(e->g),
                                irgen_constant_take(e, value_int(f->precision), NULL)};
            v = irgen_builtin_values(e, r, "aten::slice", 3, args);
        }
        f->zero = false;
        return v ? format_field(e, r, f, v, f->align) : NULL;
    }
    type_kind k = v->type->kind;
    if (k != T_INT && k != T_FLOAT && k != T_BOOL && k != T_NUMBER && k != T_TENSOR &&
        !(f->type == 'c' && k == T_STR))
        return irgen_fail(e, r, "%%%c format: a number is required", f->type);
    if (f->type == 'c') {
        ir_value *text = k == T_STR ? v : irgen_builtin_values(e, r, "aten::chr", 1, &v);
        return text ? format_field(e, r, f, text, f->align) : NULL;
    }
    if (k == T_FLOAT && strchr("xXo", f->type))
        return irgen_fail(e, r, "%%%c format: an integer is required, not float", f->type);
    if (k == T_FLOAT && f->type == 'd') v = format_helper(e, r, "format_whole", 1, &v);
    else if (strchr("dxXo", f->type)) v = irgen_cast(e, r, T_INT, v);
    ir_value *text = v ? format_digits(e, r, f, spec, v) : NULL;
    return text ? format_field(e, r, f, text, f->zero ? '=' : f->align) : NULL;
}

static ir_value *format_percent(emitter *e, source_range r, const char *s, size_t n, int nargs,
                                ir_value *const *args) {
    format_text f = {.text = STRBUF_INIT};
    int used = 0;
    size_t start = 0;
    for (size_t i = 0; i < n;) {
        if (s[i] != '%') {
            i++;
            continue;
        }
        format_add_literal(e, &f, s + start, i - start, r);
        if (i + 1 < n && s[i + 1] == '%') {
            start = i + 1; /* one % of the two is text */
            i += 2;
            continue;
        }
        format_spec spec;
        size_t len = format_percent_spec(s + i + 1, n - i - 1, &spec);
        ir_value *v = NULL;
        if (!len)
            irgen_fail(e, r, "unsupported format character in '%.*s'",
                       (int)(n - i > 16 ? 16 : n - i), s + i);
        else if (used == nargs) irgen_fail(e, r, "not enough arguments for format string");
        else
            v = format_percent_value(e, r, arena_strndup(e->scratch, s + i, len + 1), &spec,
                                     args[used++]);
        if (!v) return sb_free(&f.text), NULL;
        format_add_value(e, &f, v, r);
        start = i += len + 1;
    }
    if (used < nargs) {
        sb_free(&f.text);
        return irgen_fail(e, r, "not all arguments converted during string formatting");
    }
    format_add_literal(e, &f, s + start, n - start, r);
    return format_finish(e, &f, r);
}

ir_value *irgen_percent(emitter *e, const expr *x, ir_value *text) {
    value c = value_none();
    ir_value *v = irgen_expr(e, x->b, NULL);
    if (!v) return NULL;
    bool known = e->scope && ir_value_constant(text, &c) && c.tag == V_STR;
    if (!known || format_percent_is_simple(c.u.str->bytes, c.u.str->len)) {
        ir_value *args[] = {text, v};
        return irgen_builtin_values(e, x->range, "aten::percentFormat", 2, args);
    }
    ir_value **parts = &v;
    int n = 1;
    if (v->type->kind == T_TUPLE && !irgen_unpack(e, x->range, v, 0, &parts, &n)) return NULL;
    e->g->range = x->range;
    return format_percent(e, x->range, c.u.str->bytes, c.u.str->len, n, parts);
}
