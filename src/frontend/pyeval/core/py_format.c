/* SPDX-License-Identifier: Apache-2.0 */
/*
 * py_format.c - format specs, and the three ways of formatting: f"{x:.2f}",
 * "{:>8}".format(x) and "%d" % x.
 *
 * Tests: tests/unit/test_py.c
 */
#include "frontend/pyeval/core/py_internal.h"

#include <math.h>
#include <stdlib.h>

/* ---- format specs ---------------------------------------------------------------------------- */

typedef struct format_spec {
    char fill[8];
    char align, sign, group, type; /* '\0': not given */
    bool alternate, zero;
    int64_t width, precision; /* precision -1: not given */
} format_spec;

static int64_t spec_number(const char **s, const char *end) {
    int64_t n = 0;
    for (; *s < end && **s >= '0' && **s <= '9'; (*s)++)
        if (n < PY_MAX_ITEMS) n = n * 10 + (**s - '0');
    return n;
}

static bool spec_parse(py *p, source_range r, const char *s, size_t len, format_spec *out) {
    const char *end = s + len;
    *out = (format_spec){.fill = " ", .precision = -1};
    size_t first = len ? py_text_at(s, len, 1) : 0;
    if (first && first < len && first < sizeof out->fill && strchr("<>=^", s[first])) {
        memcpy(out->fill, s, first);
        out->fill[first] = '\0';
        out->align = s[first];
        s += first + 1;
    } else if (s < end && strchr("<>=^", *s)) {
        out->align = *s++;
    }
    if (s < end && strchr("+- ", *s)) out->sign = *s++;
    if (s < end && *s == '#') out->alternate = *s++ == '#';
    if (s < end && *s == '0') {
        out->zero = *s++ == '0';
        if (!out->align) {
            strcpy(out->fill, "0");
            out->align = '=';
        }
    }
    out->width = spec_number(&s, end);
    if (s < end && (*s == ',' || *s == '_')) out->group = *s++;
    if (s < end && *s == '.') {
        s++;
        out->precision = spec_number(&s, end);
    }
    if (s < end) out->type = *s++;
    if (s == end && out->width < PY_MAX_ITEMS && out->precision < 4096) return true;
    py_fail(p, r, "ValueError", "Invalid format specifier");
    return false;
}

static void spec_fill(const format_spec *f, int64_t n, strbuf *out) {
    for (int64_t i = 0; i < n; i++) sb_puts(out, f->fill);
}

/* text, whose first `prefix` bytes are sign and "0x", into the width. */
static void spec_pad(const format_spec *f, const char *text, size_t len, size_t prefix,
                     char default_align, strbuf *out) {
    int64_t room = f->width - (int64_t)py_text_len(text, len);
    char align = f->align ? f->align : default_align;
    if (room < 0) room = 0;
    if (align == '=') {
        sb_write(out, text, prefix);
        spec_fill(f, room, out);
        sb_write(out, text + prefix, len - prefix);
        return;
    }
    int64_t left = align == '>' ? room : align == '^' ? room / 2 : 0;
    spec_fill(f, left, out);
    sb_write(out, text, len);
    spec_fill(f, room - left, out);
}

/* The digits before the point in threes. */
static void spec_group(strbuf *text, size_t prefix, char group, int every) {
    size_t end = prefix;
    while (end < text->len && ((text->data[end] >= '0' && text->data[end] <= '9') ||
                               (every == 4 && text->data[end] >= 'a' && text->data[end] <= 'f')))
        end++;
    strbuf out = STRBUF_INIT;
    sb_write(&out, sb_str(text), prefix);
    for (size_t i = prefix; i < end; i++) {
        if (i > prefix && (end - i) % (size_t)every == 0) sb_putc(&out, group);
        sb_putc(&out, text->data[i]);
    }
    sb_write(&out, sb_str(text) + end, text->len - end);
    sb_free(text);
    *text = out;
}

static void spec_binary(uint64_t n, strbuf *out) {
    bool started = false;
    for (int bit = 63; bit >= 0; bit--) {
        bool one = n >> bit & 1;
        started = started || one || bit == 0;
        if (started) sb_putc(out, one ? '1' : '0');
    }
}

static bool spec_int(py *p, source_range r, const format_spec *f, int64_t i, strbuf *out) {
    strbuf text = STRBUF_INIT;
    uint64_t n = i < 0 ? 0 - (uint64_t)i : (uint64_t)i;
    if (i < 0) sb_putc(&text, '-');
    else if (f->sign == '+' || f->sign == ' ') sb_putc(&text, f->sign);
    if (f->alternate && f->type && strchr("xXob", f->type)) sb_printf(&text, "0%c", f->type);
    size_t prefix = text.len;
    switch (f->type) {
    case 'x': sb_printf(&text, "%llx", (unsigned long long)n); break;
    case 'X': sb_printf(&text, "%llX", (unsigned long long)n); break;
    case 'o': sb_printf(&text, "%llo", (unsigned long long)n); break;
    case 'b': spec_binary(n, &text); break;
    case 'c': sb_putc(&text, (char)i); break;
    case '\0':
    case 'n':
    case 'd': sb_printf(&text, "%llu", (unsigned long long)n); break;
    default:
        sb_free(&text);
        py_fail(p, r, "ValueError", "Unknown format code '%c' for object of type 'int'", f->type);
        return false;
    }
    if (f->group) spec_group(&text, prefix, f->group, f->type && strchr("xXob", f->type) ? 4 : 3);
    spec_pad(f, sb_str(&text), text.len, prefix, '>', out);
    if (text.failed) out->failed = true;
    sb_free(&text);
    return true;
}

static bool spec_float(py *p, source_range r, const format_spec *f, double x, strbuf *out) {
    strbuf text = STRBUF_INIT;
    if (signbit(x) && !isnan(x)) sb_putc(&text, '-');
    else if (f->sign == '+' || f->sign == ' ') sb_putc(&text, f->sign);
    size_t prefix = text.len;
    double m = fabs(x);
    int digits = f->precision < 0 ? 6 : (int)f->precision;
    char conversion[8] = {'%', f->alternate ? '#' : '.', '.', '*', f->type, '\0'};
    if (!f->alternate) memmove(conversion + 1, conversion + 2, 4);
    switch (f->type) {
    case 'f':
    case 'F':
    case 'e':
    case 'E':
    case 'g':
    case 'G':
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        sb_printf(&text, conversion, digits, m);
#pragma GCC diagnostic pop
        break;
    case 'n': sb_printf(&text, "%.*g", digits, m); break;
    case '%': sb_printf(&text, "%.*f%%", digits, m * 100); break;
    case '\0':
        if (f->precision < 0) {
            py_float_repr(m, &text);
        } else {
            sb_printf(&text, "%.*g", digits ? digits : 1, m);
            if (!strpbrk(sb_str(&text), ".en")) sb_puts(&text, ".0");
        }
        break;
    default:
        sb_free(&text);
        py_fail(p, r, "ValueError", "Unknown format code '%c' for object of type 'float'", f->type);
        return false;
    }
    if (f->group) spec_group(&text, prefix, f->group, 3);
    spec_pad(f, sb_str(&text), text.len, prefix, '>', out);
    if (text.failed) out->failed = true;
    sb_free(&text);
    return true;
}

static bool spec_text(py *p, source_range r, const format_spec *f, const py_object *o,
                      const char *s, size_t len, strbuf *out) {
    if (f->type && f->type != 's') {
        py_fail(p, r, "ValueError", "Unknown format code '%c' for object of type '%s'", f->type,
                py_type_name(o));
        return false;
    }
    if (f->align == '=' && !f->zero) {
        py_fail(p, r, "ValueError", "'=' alignment not allowed in string format specifier");
        return false;
    }
    if (f->precision >= 0) len = py_text_at(s, len, (size_t)f->precision);
    format_spec g = *f;
    if (g.align == '=') g.align = '<';
    spec_pad(&g, s, len, 0, '<', out);
    return true;
}

bool py_format_value(py *p, source_range r, py_object *o, const char *spec, size_t len,
                     strbuf *out) {
    py_object *own = py_find_special(p, o, "__format__");
    if (own || py_failed(p)) {
        py_object *text = own ? py_string(p, spec, len) : NULL,
                  *v = text ? py_call1(p, r, own, text) : NULL;
        return v && py_str(p, r, v, false, out);
    }
    if (len == 0) return py_str(p, r, o, false, out);
    if (py_is_tensor(o)) {
        py_object *item = py_getattr(p, r, o, "item");
        if (!item || !(o = py_call0(p, r, item))) return false;
    }
    format_spec f;
    int64_t i;
    double x;
    int rank;
    if (!spec_parse(p, r, spec, len, &f)) return false;
    if (py_number(py_plain(o), &i, &x, &rank)) {
        bool as_float = rank == 2 || (f.type && strchr("fFeEgG%", f.type));
        return as_float ? spec_float(p, r, &f, x, out) : spec_int(p, r, &f, i, out);
    }
    strbuf text = STRBUF_INIT;
    bool ok = py_str(p, r, o, false, &text) && spec_text(p, r, &f, o, sb_str(&text), text.len, out);
    if (text.failed) out->failed = true;
    sb_free(&text);
    return ok && py_room(p, r, (int64_t)out->len);
}

/* ---- "%d" % x -------------------------------------------------------------------------------- */

typedef struct percent {
    py *p;
    source_range r;
    py_object *values; /* one, a tuple of them, or a dict */
    size_t next;
} percent;

static py_object *percent_next(percent *c) {
    if (c->values->kind != PY_TUPLE) {
        if (c->next++ == 0) return c->values;
    } else if (c->next < c->values->u.seq.items.len) {
        return c->values->u.seq.items.data[c->next++];
    }
    return py_fail(c->p, c->r, "TypeError", "not enough arguments for format string");
}

/* "%d" % 1e19: all digits of what int() makes of x, which may be more than an int has. */
static bool percent_whole(percent *c, const format_spec *f, double x, strbuf *out) {
    format_spec whole = *f;
    if (strchr("xXo", f->type))
        return py_fail(c->p, c->r, "TypeError", "%%%c format: an integer is required, not float",
                       f->type),
               false;
    if (isnan(x))
        return py_fail(c->p, c->r, "ValueError", "cannot convert float NaN to integer"), false;
    if (isinf(x))
        return py_fail(c->p, c->r, "OverflowError", "cannot convert float infinity to integer"),
               false;
    whole.type = 'f';
    whole.precision = 0;
    whole.alternate = false;
    return spec_float(c->p, c->r, &whole, trunc(x) + 0.0, out); /* no -0 */
}

/* s is just after the percent sign. Returns where the conversion ends; NULL after an error. */
static const char *percent_one(percent *c, const char *s, const char *end, strbuf *out) {
    format_spec f = {.fill = " ", .precision = -1};
    py_object *o = NULL;
    if (s < end && *s == '(') {
        const char *close = memchr(s, ')', (size_t)(end - s));
        py_object *key = close ? py_string(c->p, s + 1, (size_t)(close - s - 1)) : NULL;
        if (!key || !(o = py_subscript(c->p, c->r, c->values, key))) return NULL;
        c->next = 1;
        s = close + 1;
    }
    for (; s < end && strchr("-+ #0", *s); s++) {
        if (*s == '-') f.align = '<';
        else if (*s == '#') f.alternate = true;
        else if (*s != '0') f.sign = *s;
        else if (!f.align) f.align = '=', strcpy(f.fill, "0");
    }
    if (s < end && *s == '*') {
        py_object *w = percent_next(c);
        if (!w || !py_as_int(c->p, c->r, w, &f.width)) return NULL;
        if (f.width < 0) { /* to the left, then */
            f.align = '<';
            f.width = f.width == INT64_MIN ? INT64_MAX : -f.width;
        }
        if (!py_room(c->p, c->r, f.width)) return NULL;
        s++;
    } else {
        f.width = spec_number(&s, end);
    }
    if (s < end && *s == '.') {
        s++;
        f.precision = spec_number(&s, end);
    }
    if (s == end || f.width >= PY_MAX_ITEMS || f.precision >= 4096)
        return py_fail(c->p, c->r, "ValueError", "incomplete format"), NULL;
    if (!o && !(o = percent_next(c))) return NULL;
    int64_t i;
    double x;
    int rank;
    bool number = py_number(py_plain(o), &i, &x, &rank);
    f.type = *s;
    if (strchr("diuxXo", *s)) {
        if (!number)
            return py_fail(c->p, c->r, "TypeError", "%%%c format: a number is required, not %s", *s,
                           py_type_name(o)),
                   NULL;
        f.precision = -1;
        if (rank == 2) return percent_whole(c, &f, x, out) ? s + 1 : NULL;
        if (strchr("iu", *s)) f.type = 'd';
        return spec_int(c->p, c->r, &f, i, out) ? s + 1 : NULL;
    }
    if (strchr("fFeEgG", *s)) {
        if (!number)
            return py_fail(c->p, c->r, "TypeError", "must be real number, not %s", py_type_name(o)),
                   NULL;
        return spec_float(c->p, c->r, &f, x, out) ? s + 1 : NULL;
    }
    if (*s == 'c' && number && rank < 2) {
        if (!(o = py_call1(c->p, c->r, py_builtin_named(c->p, "chr"), o))) return NULL;
    } else if (*s != 's' && *s != 'r' && *s != 'a' && !(*s == 'c' && py_str_of(o)))
        return py_fail(c->p, c->r, "ValueError", "unsupported format character '%c'", *s), NULL;
    strbuf text = STRBUF_INIT;
    f.type = 's';
    if (!f.align) f.align = '>';
    bool ok = py_str(c->p, c->r, o, *s == 'r' || *s == 'a', &text) &&
              spec_text(c->p, c->r, &f, o, sb_str(&text), text.len, out);
    sb_free(&text);
    return ok ? s + 1 : NULL;
}

py_object *py_format_percent(py *p, source_range r, const py_object *format, py_object *values) {
    const str *t = py_str_of(format);
    percent c = {p, r, values, 0};
    strbuf out = STRBUF_INIT;
    const char *s = t->bytes, *end = s + t->len;
    while (s && s < end) {
        if (*s != '%') {
            sb_putc(&out, *s++);
        } else if (s + 1 < end && s[1] == '%') {
            sb_putc(&out, '%');
            s += 2;
        } else {
            s = percent_one(&c, s + 1, end, &out);
        }
    }
    size_t given = values->kind == PY_TUPLE  ? values->u.seq.items.len
                   : values->kind == PY_DICT ? c.next
                                             : 1;
    if (s && c.next < given)
        s = (const char *)py_fail(p, r, "TypeError",
                                  "not all arguments converted during string formatting");
    if (s) return py_from_buffer(p, &out);
    sb_free(&out);
    return NULL;
}

/* ---- "{}".format(x) -------------------------------------------------------------------------- */

typedef struct fields {
    py *p;
    source_range r;
    int nargs, nkw, next;
    py_object **args, **kwargs;
    const char *const *names;
} fields;

static py_object *fields_root(fields *c, const char *s, size_t len) {
    if (len == 0) {
        if (c->next < c->nargs) return c->args[c->next++];
        return py_fail(c->p, c->r, "IndexError",
                       "Replacement index %d out of range for positional args tuple", c->next);
    }
    if (*s >= '0' && *s <= '9') {
        const char *at = s;
        int64_t i = spec_number(&at, s + len);
        if (i < c->nargs) return c->args[i];
        return py_fail(c->p, c->r, "IndexError",
                       "Replacement index %lld out of range for positional args tuple",
                       (long long)i);
    }
    for (int i = 0; i < c->nkw; i++)
        if (strlen(c->names[i]) == len && !memcmp(c->names[i], s, len)) return c->kwargs[i];
    return py_fail(c->p, c->r, "KeyError", "'%.*s'", (int)len, s);
}

/* "0.name[key]" */
static py_object *fields_value(fields *c, const char *s, size_t len) {
    size_t at = 0;
    while (at < len && s[at] != '.' && s[at] != '[') at++;
    py_object *o = fields_root(c, s, at);
    while (o && at < len) {
        size_t begin = ++at;
        if (s[begin - 1] == '.') {
            while (at < len && s[at] != '.' && s[at] != '[') at++;
            o = py_getattr(c->p, c->r, o, intern_n(c->p->names, s + begin, at - begin));
            continue;
        }
        while (at < len && s[at] != ']') at++;
        const char *digits = s + begin;
        int64_t i = spec_number(&digits, s + at);
        py_object *key = digits == s + at ? py_int(c->p, i)
                                          : py_string(c->p, s + begin, at - begin);
        o = key ? py_subscript(c->p, c->r, o, key) : NULL;
        at++;
    }
    return o;
}

static bool fields_write(fields *c, const char *s, size_t len, int depth, strbuf *out);

/* The text between braces. */
static bool fields_one(fields *c, const char *s, size_t len, int depth, strbuf *out) {
    size_t name = 0;
    while (name < len && s[name] != '!' && s[name] != ':') name++;
    py_object *o = fields_value(c, s, name);
    if (!o) return false;
    size_t at = name;
    if (at < len && s[at] == '!') {
        strbuf text = STRBUF_INIT;
        bool ok = py_str(c->p, c->r, o, at + 1 < len && s[at + 1] != 's', &text);
        if (!ok || !(o = py_from_buffer(c->p, &text))) {
            sb_free(&text);
            return false;
        }
        at = at + 2 < len ? at + 2 : len;
    }
    if (at < len && s[at] == ':') at++;
    strbuf spec = STRBUF_INIT;
    bool ok = fields_write(c, s + at, len - at, depth + 1, &spec) &&
              py_format_value(c->p, c->r, o, sb_str(&spec), spec.len, out);
    sb_free(&spec);
    return ok;
}

static bool fields_write(fields *c, const char *s, size_t len, int depth, strbuf *out) {
    for (size_t i = 0; i < len; i++) {
        bool doubled = depth == 0 && i + 1 < len && s[i + 1] == s[i];
        if (s[i] != '{' && s[i] != '}') {
            sb_putc(out, s[i]);
        } else if (doubled) {
            sb_putc(out, s[i++]);
        } else if (s[i] == '}' || depth > 2) {
            py_fail(c->p, c->r, "ValueError", "Single '%c' encountered in format string", s[i]);
            return false;
        } else {
            size_t begin = ++i;
            for (int open = 1; i < len && (open += s[i] == '{' ? 1 : s[i] == '}' ? -1 : 0) > 0;)
                i++;
            if (i >= len)
                return py_fail(c->p, c->r, "ValueError", "expected '}' before end of string"),
                       false;
            if (!fields_one(c, s + begin, i - begin, depth, out)) return false;
        }
    }
    return true;
}

py_object *py_format_fields(py *p, source_range r, const char *format, size_t len, int nargs,
                            py_object **args, int nkw, const char *const *names,
                            py_object **kwargs) {
    fields c = {p, r, nargs, nkw, 0, args, kwargs, names};
    strbuf out = STRBUF_INIT;
    if (fields_write(&c, format, len, 0, &out)) return py_from_buffer(p, &out);
    sb_free(&out);
    return NULL;
}
