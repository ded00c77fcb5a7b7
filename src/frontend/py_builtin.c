/* SPDX-License-Identifier: Apache-2.0 */
/*
 * py_builtin.c - Python's builtins: functions, types and the classes of exceptions.
 *
 * Lazy builtins (map, zip, enumerate, ...) run to their end at once and give an iterator over the results.
 * Tests: tests/unit/test_py.c
 */
#include "frontend/py_internal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define TAKE(function, spec, out)                                                                            \
    if (!py_bind(p, r, function, spec, nargs, args, nkw, names, kwargs, out)) return NULL

/* ---- numbers
 * ----------------------------------------------------------------------------------------------- */

bool py_as_float(py *p, source_range r, const py_object *o, double *out) {
    int64_t i;
    int rank;
    if (py_number(o, &i, out, &rank)) return true;
    py_object *m = py_is_tensor(o) ? py_getattr(p, r, (py_object *)o, "item")
                                   : py_find_special(p, (py_object *)o, "__float__");
    py_object *v = m ? py_call0(p, r, m) : NULL;
    if (v && py_number(v, &i, out, &rank)) return true;
    if (!py_failed(p)) py_fail(p, r, "TypeError", "must be real number, not %s", py_type_name(o));
    return false;
}

static const char *builtin_trim(const str *s, size_t *len) {
    const char *b = s->bytes, *e = b + s->len;
    while (b < e && strchr(" \t\n\r\f\v", *b)) b++;
    while (e > b && strchr(" \t\n\r\f\v", e[-1])) e--;
    *len = (size_t)(e - b);
    return b;
}

static py_object *int_of_text(py *p, source_range r, const py_object *o, int64_t base) {
    size_t len, n = 0;
    char digits[80];
    const char *s = builtin_trim(py_str_of(o), &len);
    for (size_t i = 0; i < len && n + 1 < sizeof digits; i++)
        if (s[i] != '_' || i == 0) digits[n++] = s[i];
    digits[n] = '\0';
    char *end = digits, *from = digits + (digits[0] == '-' || digits[0] == '+');
    int prefix = from[0] != '0' ? 0 : (from[1] | 32) == 'b' ? 2 : (from[1] | 32) == 'o' ? 8 : 0;
    if (prefix && (base == 0 || base == prefix)) {
        memmove(from, from + 2, strlen(from + 2) + 1);
        base = prefix;
    }
    errno = 0;
    long long v = n ? strtoll(digits, &end, (int)base) : 0;
    if (end == digits || *end || n + 1 >= sizeof digits) {
        strbuf text = STRBUF_INIT;
        if (py_str(p, r, (py_object *)o, true, &text))
            py_fail(p, r, "ValueError", "invalid literal for int() with base %d: %s", (int)base,
                    sb_str(&text));
        sb_free(&text);
        return NULL;
    }
    if (errno == ERANGE) return py_fail(p, r, "OverflowError", "the integer does not fit in 64 bits");
    return py_int(p, v);
}

static py_object *make_int(PY_ARGS) {
    py_object *a[2];
    int64_t i, base = 10;
    double f;
    int rank;
    (void)self;
    TAKE("int", "x? base?", a);
    if (!a[0]) return py_int(p, 0);
    if (a[1] && !py_as_int(p, r, a[1], &base)) return NULL;
    if (base < 0 || base == 1 || base > 36)
        return py_fail(p, r, "ValueError", "int() base must be >= 2 and <= 36, or 0");
    if (py_str_of(a[0])) return int_of_text(p, r, a[0], base);
    if (a[1]) return py_fail(p, r, "TypeError", "int() can't convert non-string with explicit base");
    const py_object *o = py_enum_plain(a[0]);
    if (!py_number(o, &i, &f, &rank)) {
        py_object *m = py_is_tensor(o) ? py_getattr(p, r, a[0], "item") : py_find_special(p, a[0], "__int__");
        if (!m && !py_failed(p) && !py_is_tensor(o)) m = py_find_special(p, a[0], "__index__");
        py_object *v = m ? py_call0(p, r, m) : NULL;
        if (v && py_number(v, &i, &f, &rank))
            o = v;
        else if (!py_failed(p))
            py_fail(p, r, "TypeError",
                    "int() argument must be a string, a bytes-like object or a real number, not '%s'",
                    py_type_name(o));
        if (py_failed(p)) return NULL;
    }
    if (rank < 2) return py_int(p, i);
    if (isnan(f)) return py_fail(p, r, "ValueError", "cannot convert float NaN to integer");
    if (!(fabs(f) < 0x1p63))
        return py_fail(p, r, "OverflowError", "cannot convert float %s to integer",
                       isinf(f) ? "infinity" : "of this size");
    return py_int(p, (int64_t)f);
}

static py_object *make_float(PY_ARGS) {
    py_object *a[1];
    double f;
    (void)self;
    TAKE("float", "x?", a);
    if (!a[0]) return py_float(p, 0);
    if (!py_str_of(a[0])) return py_as_float(p, r, py_enum_plain(a[0]), &f) ? py_float(p, f) : NULL;
    size_t len;
    const char *s = builtin_trim(py_str_of(a[0]), &len);
    char text[80], *end = text;
    snprintf(text, sizeof text, "%.*s", (int)(len < sizeof text ? len : sizeof text - 1), s);
    f = strtod(text, &end);
    if (len && len < sizeof text && !*end && !strpbrk(text, "xXpP(")) return py_float(p, f);
    strbuf quoted = STRBUF_INIT;
    if (py_str(p, r, a[0], true, &quoted))
        py_fail(p, r, "ValueError", "could not convert string to float: %s", sb_str(&quoted));
    sb_free(&quoted);
    return NULL;
}

static py_object *make_bool(PY_ARGS) {
    py_object *a[1];
    bool truth = false;
    (void)self;
    TAKE("bool", "x?", a);
    return !a[0] || py_truth(p, r, a[0], &truth) ? py_bool(p, truth) : NULL;
}

static py_object *make_complex(PY_ARGS) {
    py_object *a[2];
    double re[2] = {0, 0}, im[2] = {0, 0};
    (void)self;
    TAKE("complex", "real? imag?", a);
    for (int i = 0; i < 2; i++) {
        if (a[i] && a[i]->kind == PY_VALUE && a[i]->u.v.tag == V_COMPLEX)
            re[i] = a[i]->u.v.u.complex->re, im[i] = a[i]->u.v.u.complex->im;
        else if (a[i] && !py_as_float(p, r, a[i], &re[i]))
            return NULL;
    }
    complex_box *c = complex_new(re[0] - im[1], im[0] + re[1]);
    if (c) return py_value_take(p, (value){.tag = V_COMPLEX, .u.complex = c});
    return diag_no_memory(p->diag), NULL;
}

/* Halves go to the even neighbour; with digits, what the decimal notation rounds to. */
static py_object *builtin_round(PY_ARGS) {
    py_object *a[2];
    int64_t i, digits = 0;
    double f;
    int rank;
    (void)self;
    TAKE("round", "number ndigits?", a);
    bool whole = !a[1] || py_is_none(a[1]);
    if (!whole && !py_as_int(p, r, a[1], &digits)) return NULL;
    if (!py_number(a[0], &i, &f, &rank)) {
        py_object *m =
            py_is_tensor(a[0]) ? py_getattr(p, r, a[0], "round") : py_find_special(p, a[0], "__round__");
        if (m) return whole ? py_call0(p, r, m) : py_call1(p, r, m, a[1]);
        return py_fail(p, r, "TypeError", "type %s doesn't define __round__ method", py_type_name(a[0]));
    }
    if (rank < 2 && digits >= 0) return py_int(p, i);
    if (!isfinite(f)) {
        if (!whole) return py_float(p, f);
        return py_fail(p, r, isnan(f) ? "ValueError" : "OverflowError", "cannot convert float %s to integer",
                       isnan(f) ? "NaN" : "infinity");
    }
    if (whole) {
        f = nearbyint(f);
        if (fabs(f) < 0x1p63) return py_int(p, (int64_t)f);
        return py_fail(p, r, "OverflowError", "the result does not fit in a 64 bit integer");
    }
    if (digits > 300) return a[0];
    if (digits >= 0) {
        char text[400];
        snprintf(text, sizeof text, "%.*f", (int)digits, f);
        return strlen(text) < sizeof text - 1 ? py_float(p, strtod(text, NULL)) : a[0];
    }
    double unit = digits < -300 ? INFINITY : pow(10, (double)-digits), rounded = nearbyint(f / unit) * unit;
    if (isinf(unit)) rounded = 0;
    return rank < 2 ? py_int(p, (int64_t)rounded) : py_float(p, rounded);
}

static py_object *builtin_abs(PY_ARGS) {
    py_object *a[1];
    int64_t i;
    double f;
    int rank;
    (void)self;
    TAKE("abs", "x", a);
    if (py_number(a[0], &i, &f, &rank)) {
        if (rank == 2) return py_float(p, fabs(f));
        return i < 0 ? py_unary(p, r, O_NEG, a[0]) : py_int(p, i);
    }
    if (a[0]->kind == PY_VALUE && a[0]->u.v.tag == V_COMPLEX)
        return py_float(p, hypot(a[0]->u.v.u.complex->re, a[0]->u.v.u.complex->im));
    py_object *m = py_is_tensor(a[0]) ? py_getattr(p, r, a[0], "abs") : py_find_special(p, a[0], "__abs__");
    if (m) return py_call0(p, r, m);
    return py_fail(p, r, "TypeError", "bad operand type for abs(): '%s'", py_type_name(a[0]));
}

static py_object *builtin_pow(PY_ARGS) {
    py_object *a[3];
    int64_t base, e, m, result = 1;
    (void)self;
    TAKE("pow", "base exp mod?", a);
    if (!a[2] || py_is_none(a[2])) return py_binary(p, r, O_POW, a[0], a[1]);
    if (!py_as_int(p, r, a[0], &base) || !py_as_int(p, r, a[1], &e) || !py_as_int(p, r, a[2], &m))
        return NULL;
    if (m == 0 || e < 0)
        return py_fail(p, r, "ValueError", "pow() with this third argument is not supported");
    base %= m;
    for (result %= m; e > 0; e >>= 1) {
        if (e & 1) result = (int64_t)((__int128)result * base % m);
        base = (int64_t)((__int128)base * base % m);
    }
    return py_int(p, result && (result < 0) != (m < 0) ? result + m : result);
}

static py_object *builtin_divmod(PY_ARGS) {
    py_object *a[2], *both[2];
    (void)self;
    TAKE("divmod", "a b", a);
    both[0] = py_binary(p, r, O_FLOORDIV, a[0], a[1]);
    both[1] = both[0] ? py_binary(p, r, O_MOD, a[0], a[1]) : NULL;
    return both[1] ? py_tuple(p, 2, both) : NULL;
}

static py_object *builtin_base(PY_ARGS, const char *name, char type) {
    py_object *a[1];
    int64_t i;
    char spec[3] = {'#', type, '\0'};
    strbuf out = STRBUF_INIT;
    (void)self;
    TAKE(name, "number", a);
    if (!py_as_int(p, r, a[0], &i) || !py_format_value(p, r, py_int(p, i), spec, 2, &out)) return NULL;
    return py_from_buffer(p, &out);
}

static py_object *builtin_hex(PY_ARGS) {
    return builtin_base(p, r, self, nargs, args, nkw, names, kwargs, "hex", 'x');
}

static py_object *builtin_bin(PY_ARGS) {
    return builtin_base(p, r, self, nargs, args, nkw, names, kwargs, "bin", 'b');
}

static py_object *builtin_oct(PY_ARGS) {
    return builtin_base(p, r, self, nargs, args, nkw, names, kwargs, "oct", 'o');
}

static py_object *builtin_chr(PY_ARGS) {
    py_object *a[1];
    int64_t c;
    char s[4];
    size_t n = 0;
    (void)self;
    TAKE("chr", "i", a);
    if (!py_as_int(p, r, a[0], &c)) return NULL;
    if (c < 0 || c > 0x10ffff) return py_fail(p, r, "ValueError", "chr() arg not in range(0x110000)");
    if (c < 0x80)
        s[n++] = (char)c;
    else if (c < 0x800)
        s[n++] = (char)(0xc0 | c >> 6);
    else if (c < 0x10000)
        s[n++] = (char)(0xe0 | c >> 12);
    else
        s[n++] = (char)(0xf0 | c >> 18);
    for (int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3; more > 0; more--)
        s[n++] = (char)(0x80 | (c >> (6 * (more - 1)) & 0x3f));
    return py_string(p, s, n);
}

static py_object *builtin_ord(PY_ARGS) {
    py_object *a[1];
    (void)self;
    TAKE("ord", "c", a);
    const str *s = py_str_of(a[0]);
    if (!s || py_text_len(s->bytes, s->len) != 1)
        return py_fail(p, r, "TypeError", "ord() expected a character");
    unsigned char first = (unsigned char)s->bytes[0];
    int64_t c = s->len == 1 ? first : first & (0xff >> (s->len + 1));
    for (size_t i = 1; i < s->len; i++) c = c << 6 | ((unsigned char)s->bytes[i] & 0x3f);
    return py_int(p, c);
}

/* ---- text, containers
 * ------------------------------------------------------------------------------------------ */

static py_object *builtin_text(py *p, source_range r, py_object *o, bool repr) {
    strbuf out = STRBUF_INIT;
    if (py_str(p, r, o, repr, &out)) return py_from_buffer(p, &out);
    sb_free(&out);
    return NULL;
}

static py_object *make_str(PY_ARGS) {
    py_object *a[3];
    (void)self;
    TAKE("str", "object? encoding? errors?", a);
    return a[0] ? builtin_text(p, r, a[0], false) : py_text(p, "");
}

static py_object *builtin_repr(PY_ARGS) {
    py_object *a[1];
    (void)self;
    TAKE("repr", "object", a);
    return builtin_text(p, r, a[0], true);
}

static py_object *builtin_format(PY_ARGS) {
    py_object *a[2];
    (void)self;
    TAKE("format", "value format_spec?", a);
    const str *spec = a[1] ? py_str_of(a[1]) : NULL;
    strbuf out = STRBUF_INIT;
    if (py_format_value(p, r, a[0], spec ? spec->bytes : "", spec ? spec->len : 0, &out))
        return py_from_buffer(p, &out);
    sb_free(&out);
    return NULL;
}

static py_object *make_sequence(PY_ARGS, const char *name, py_kind k) {
    py_object *a[1], **items = NULL;
    int n = 0;
    (void)self;
    TAKE(name, "iterable?", a);
    if (a[0] && !py_iterate(p, r, a[0], &items, &n)) return NULL;
    py_object *o = k == PY_TUPLE  ? py_tuple(p, n, items)
                   : k == PY_LIST ? py_list(p, n, items)
                                  : py_set_new(p);
    for (int i = 0; k == PY_SET && i < n; i++)
        if (!py_set_add(p, r, o, items[i])) return NULL;
    return o;
}

static py_object *make_list(PY_ARGS) {
    return make_sequence(p, r, self, nargs, args, nkw, names, kwargs, "list", PY_LIST);
}

static py_object *make_tuple(PY_ARGS) {
    return make_sequence(p, r, self, nargs, args, nkw, names, kwargs, "tuple", PY_TUPLE);
}

static py_object *make_set(PY_ARGS) {
    return make_sequence(p, r, self, nargs, args, nkw, names, kwargs, "set", PY_SET);
}

static py_object *make_dict(PY_ARGS) {
    py_dict *d = py_dict_new(p);
    (void)self;
    if (nargs > 1) return py_fail(p, r, "TypeError", "dict expected at most 1 argument, got %d", nargs);
    if (nargs && !py_dict_merge(p, r, d, args[0])) return NULL;
    for (int i = 0; i < nkw; i++)
        if (!py_dict_set(p, d, names[i], kwargs[i])) return NULL;
    return py_dict_object(p, d);
}

static py_object *make_range(PY_ARGS) {
    int64_t v[3] = {0, 0, 1};
    (void)self, (void)names, (void)kwargs;
    if (nargs < 1 || nargs > 3 || nkw)
        return py_fail(p, r, "TypeError", "range expected 1 to 3 arguments, got %d", nargs);
    for (int i = 0; i < nargs; i++)
        if (!py_as_int(p, r, args[i], &v[nargs == 1 ? 1 : i])) return NULL;
    if (v[2] == 0) return py_fail(p, r, "ValueError", "range() arg 3 must not be zero");
    py_object *o = py_new(p, PY_RANGE);
    o->u.range.start = v[0];
    o->u.range.stop = v[1];
    o->u.range.step = v[2];
    return o;
}

static py_object *make_slice(PY_ARGS) {
    (void)self, (void)names, (void)kwargs;
    if (nargs < 1 || nargs > 3 || nkw)
        return py_fail(p, r, "TypeError", "slice expected 1 to 3 arguments, got %d", nargs);
    py_object *o = py_new(p, PY_SLICE);
    o->u.slice.start = nargs > 1 ? args[0] : p->none;
    o->u.slice.stop = nargs > 1 ? args[1] : args[0];
    o->u.slice.step = nargs > 2 ? args[2] : p->none;
    return o;
}

static py_object *builtin_len(PY_ARGS) {
    py_object *a[1];
    int64_t n;
    (void)self;
    TAKE("len", "obj", a);
    return py_length(p, r, a[0], &n) ? py_int(p, n) : NULL;
}

static py_object *builtin_enumerate(PY_ARGS) {
    py_object *a[2], **items, *out = py_new(p, PY_ITERATOR);
    int64_t start = 0;
    int n;
    (void)self;
    TAKE("enumerate", "iterable start?", a);
    if ((a[1] && !py_as_int(p, r, a[1], &start)) || !py_iterate(p, r, a[0], &items, &n)) return NULL;
    for (int i = 0; i < n; i++) {
        py_object *pair[] = {py_int(p, start + i), items[i]}, *t = py_tuple(p, 2, pair);
        if (!t || !py_step(p, r) || !py_append(p, out, t)) return NULL;
    }
    return out;
}

static py_object *builtin_zip(PY_ARGS) {
    py_object *out = py_new(p, PY_ITERATOR), ***columns = arena_array(p->a, py_object **, nargs + 1);
    py_object **row = arena_array(p->a, py_object *, nargs + 1);
    int least = INT32_MAX, n = 0;
    (void)self, (void)names, (void)kwargs, (void)nkw;
    if (!columns || !row) return diag_no_memory(p->diag), NULL;
    for (int k = 0; k < nargs; k++) {
        if (!py_iterate(p, r, args[k], &columns[k], &n)) return NULL;
        if (n < least) least = n;
    }
    for (int i = 0; nargs && i < least; i++) {
        for (int k = 0; k < nargs; k++) row[k] = columns[k][i];
        py_object *t = py_tuple(p, nargs, row);
        if (!t || !py_step(p, r) || !py_append(p, out, t)) return NULL;
    }
    return out;
}

static py_object *builtin_map(PY_ARGS) {
    if (nargs < 2) return py_fail(p, r, "TypeError", "map() must have at least two arguments.");
    py_object *rows = builtin_zip(p, r, self, nargs - 1, args + 1, nkw, names, kwargs);
    for (size_t i = 0; rows && i < rows->u.seq.items.len; i++) {
        py_object *row = rows->u.seq.items.data[i];
        py_object *o = py_call(p, r, args[0], nargs - 1, row->u.seq.items.data, 0, NULL, NULL);
        if (!o) return NULL;
        rows->u.seq.items.data[i] = o;
    }
    return rows;
}

static py_object *builtin_filter(PY_ARGS) {
    py_object *a[2], **items, *out = py_new(p, PY_ITERATOR);
    int n;
    (void)self;
    TAKE("filter", "function iterable", a);
    if (!py_iterate(p, r, a[1], &items, &n)) return NULL;
    for (int i = 0; i < n; i++) {
        bool keep;
        py_object *v = py_is_none(a[0]) ? items[i] : py_call1(p, r, a[0], items[i]);
        if (!v || !py_truth(p, r, v, &keep) || (keep && !py_append(p, out, items[i]))) return NULL;
    }
    return out;
}

static py_object *builtin_reversed(PY_ARGS) {
    py_object *a[1], **items;
    int n;
    (void)self;
    TAKE("reversed", "sequence", a);
    py_object *own = py_find_special(p, a[0], "__reversed__");
    if (own) return py_call0(p, r, own);
    if (py_failed(p) || !py_iterate(p, r, a[0], &items, &n)) return NULL;
    for (int i = 0; i < n / 2; i++) {
        py_object *swap = items[i];
        items[i] = items[n - 1 - i];
        items[n - 1 - i] = swap;
    }
    return py_iterator(p, n, items);
}

static py_object *builtin_iter(PY_ARGS) {
    py_object *a[1], **items;
    int n;
    (void)self;
    TAKE("iter", "object", a);
    if (a[0]->kind == PY_ITERATOR) return a[0];
    py_object *own = py_find_special(p, a[0], "__iter__");
    py_object *it = own ? py_call0(p, r, own) : NULL;
    if (own && (!it || it->kind == PY_INSTANCE || it->kind == PY_ITERATOR)) return it;
    return !py_failed(p) && py_iterate(p, r, it ? it : a[0], &items, &n) ? py_iterator(p, n, items) : NULL;
}

static py_object *builtin_next(PY_ARGS) {
    py_object *a[2];
    (void)self;
    TAKE("next", "iterator default?", a);
    py_object *m =
        a[0]->kind == PY_ITERATOR || a[0]->kind == PY_INSTANCE ? py_find(p, r, a[0], "__next__") : NULL;
    if (!m && !py_failed(p))
        return py_fail(p, r, "TypeError", "'%s' object is not an iterator", py_type_name(a[0]));
    py_object *o = m ? py_call0(p, r, m) : NULL;
    if (o || !a[1] || !p->diag->exception || strcmp(p->diag->exception, "builtins.StopIteration")) return o;
    diag_clear(p->diag);
    p->raised = NULL;
    return a[1];
}

static py_object *builtin_extreme(PY_ARGS, const char *name, operator_kind op) {
    py_object **items = args, *key = NULL, *otherwise = NULL, *best = NULL, *best_key = NULL;
    int n = nargs;
    (void)self;
    for (int i = 0; i < nkw; i++) {
        if (!strcmp(names[i], "key") && !py_is_none(kwargs[i]))
            key = kwargs[i];
        else if (!strcmp(names[i], "default"))
            otherwise = kwargs[i];
        else if (strcmp(names[i], "key"))
            return py_fail(p, r, "TypeError", "'%s' is an invalid keyword argument for %s()", names[i], name);
    }
    if (nargs == 0) return py_fail(p, r, "TypeError", "%s expected at least 1 argument, got 0", name);
    if (nargs == 1 && !py_iterate(p, r, args[0], &items, &n)) return NULL;
    for (int i = 0; i < n; i++) {
        py_object *k = key ? py_call1(p, r, key, items[i]) : items[i];
        bool better = true;
        if (!k) return NULL;
        if (best) {
            py_object *c = py_compare(p, r, op, k, best_key);
            if (!c || !py_truth(p, r, c, &better)) return NULL;
        }
        if (better) best = items[i], best_key = k;
    }
    if (best || otherwise) return best ? best : otherwise;
    return py_fail(p, r, "ValueError", "%s() arg is an empty sequence", name);
}

static py_object *builtin_min(PY_ARGS) {
    return builtin_extreme(p, r, self, nargs, args, nkw, names, kwargs, "min", O_LT);
}

static py_object *builtin_max(PY_ARGS) {
    return builtin_extreme(p, r, self, nargs, args, nkw, names, kwargs, "max", O_GT);
}

static py_object *builtin_sum(PY_ARGS) {
    py_object *a[2], **items;
    int n;
    (void)self;
    TAKE("sum", "iterable start?", a);
    if (!py_iterate(p, r, a[0], &items, &n)) return NULL;
    py_object *total = a[1] ? a[1] : py_int(p, 0);
    for (int i = 0; total && i < n; i++)
        total = py_step(p, r) ? py_binary(p, r, O_ADD, total, items[i]) : NULL;
    return total;
}

static py_object *builtin_quantifier(PY_ARGS, const char *name, bool until) {
    py_object *a[1], **items;
    int n;
    (void)self;
    TAKE(name, "iterable", a);
    if (!py_iterate(p, r, a[0], &items, &n)) return NULL;
    for (int i = 0; i < n; i++) {
        bool truth;
        if (!py_truth(p, r, items[i], &truth)) return NULL;
        if (truth == until) return py_bool(p, until);
    }
    return py_bool(p, !until);
}

static py_object *builtin_any(PY_ARGS) {
    return builtin_quantifier(p, r, self, nargs, args, nkw, names, kwargs, "any", true);
}

static py_object *builtin_all(PY_ARGS) {
    return builtin_quantifier(p, r, self, nargs, args, nkw, names, kwargs, "all", false);
}

/* ---- table
 * ---------------------------------------------------------------------------------------------------------
 */

static const struct {
    const char *name;
    py_builtin_fn make;
} builtin_types[] = {
    {"int", make_int},       {"float", make_float}, {"bool", make_bool},   {"complex", make_complex},
    {"str", make_str},       {"list", make_list},   {"tuple", make_tuple}, {"set", make_set},
    {"frozenset", make_set}, {"dict", make_dict},   {"range", make_range}, {"slice", make_slice},
};

static const struct {
    const char *name;
    py_builtin_fn fn;
} builtin_functions[] = {
    {"len", builtin_len},       {"enumerate", builtin_enumerate},
    {"zip", builtin_zip},       {"map", builtin_map},
    {"filter", builtin_filter}, {"reversed", builtin_reversed},
    {"sorted", py_sorted},      {"min", builtin_min},
    {"max", builtin_max},       {"sum", builtin_sum},
    {"any", builtin_any},       {"all", builtin_all},
    {"abs", builtin_abs},       {"round", builtin_round},
    {"divmod", builtin_divmod}, {"pow", builtin_pow},
    {"repr", builtin_repr},     {"format", builtin_format},
    {"iter", builtin_iter},     {"next", builtin_next},
    {"ord", builtin_ord},       {"chr", builtin_chr},
    {"hex", builtin_hex},       {"bin", builtin_bin},
    {"oct", builtin_oct},
};

/* name, base; a base stands before what derives from it */
static const char *const builtin_exceptions[][2] = {
    {"BaseException", NULL},
    {"Exception", "BaseException"},
    {"KeyboardInterrupt", "BaseException"},
    {"SystemExit", "BaseException"},
    {"GeneratorExit", "BaseException"},
    {"ArithmeticError", "Exception"},
    {"OverflowError", "ArithmeticError"},
    {"ZeroDivisionError", "ArithmeticError"},
    {"FloatingPointError", "ArithmeticError"},
    {"AssertionError", "Exception"},
    {"AttributeError", "Exception"},
    {"BufferError", "Exception"},
    {"EOFError", "Exception"},
    {"ImportError", "Exception"},
    {"ModuleNotFoundError", "ImportError"},
    {"LookupError", "Exception"},
    {"IndexError", "LookupError"},
    {"KeyError", "LookupError"},
    {"MemoryError", "Exception"},
    {"NameError", "Exception"},
    {"UnboundLocalError", "NameError"},
    {"OSError", "Exception"},
    {"IOError", "OSError"},
    {"FileNotFoundError", "OSError"},
    {"PermissionError", "OSError"},
    {"TimeoutError", "OSError"},
    {"ConnectionError", "OSError"},
    {"ReferenceError", "Exception"},
    {"RuntimeError", "Exception"},
    {"NotImplementedError", "RuntimeError"},
    {"RecursionError", "RuntimeError"},
    {"StopIteration", "Exception"},
    {"StopAsyncIteration", "Exception"},
    {"SyntaxError", "Exception"},
    {"IndentationError", "SyntaxError"},
    {"SystemError", "Exception"},
    {"TypeError", "Exception"},
    {"ValueError", "Exception"},
    {"UnicodeError", "ValueError"},
    {"UnicodeDecodeError", "UnicodeError"},
    {"UnicodeEncodeError", "UnicodeError"},
    {"Warning", "Exception"},
    {"UserWarning", "Warning"},
    {"DeprecationWarning", "Warning"},
    {"PendingDeprecationWarning", "Warning"},
    {"RuntimeWarning", "Warning"},
    {"FutureWarning", "Warning"},
    {"ImportWarning", "Warning"},
    {"UnicodeWarning", "Warning"},
    {"ResourceWarning", "Warning"},
    {"SyntaxWarning", "Warning"},
};

static py_object *exception_init(PY_ARGS) {
    (void)nkw, (void)names, (void)kwargs, (void)r;
    py_object *all = py_tuple(p, nargs, args);
    return all && py_dict_set(p, self->u.inst.attrs, "args", all) ? p->none : NULL;
}

static py_object *exception_with_traceback(PY_ARGS) {
    (void)p, (void)r, (void)nargs, (void)args, (void)nkw, (void)names, (void)kwargs;
    return self;
}

static bool builtin_add_exceptions(py *p) {
    for (size_t i = 0; i < sizeof builtin_exceptions / sizeof *builtin_exceptions; i++) {
        const char *base = builtin_exceptions[i][1];
        py_object *from = base ? py_builtin_class(p, base) : p->object_class;
        if (!py_class_new(p, NULL, builtin_exceptions[i][0], 1, &from, PYC_EXCEPTION)) return false;
    }
    py_object *init = py_builtin(p, "__init__", exception_init),
              *trace = py_builtin(p, "with_traceback", exception_with_traceback);
    init->u.builtin.method = trace->u.builtin.method = true;
    py_dict *root = py_builtin_class(p, "BaseException")->u.cls->attrs;
    return py_dict_set(p, root, "__init__", init) && py_dict_set(p, root, "with_traceback", trace);
}

/* Types that are only looked at: type(None), type(f), ... */
static const char *const builtin_shadow_types[] = {
    "NoneType",
    "function",
    "method",
    "builtin_function_or_method",
    "module",
    "ellipsis",
    "NotImplementedType",
    "generator",
    "_GenericAlias",
    "ScriptFunction",
    "bytes",
};

static bool builtin_add_methods(py *p, const char *type) {
    static const py_method_row *const tables[] = {py_container_methods, py_string_methods};
    py_object *cls = py_builtin_class(p, type);
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (const py_method_row *m = tables[t]; m->type; m++) {
            if (strcmp(m->type, type)) continue;
            py_object *fn = py_builtin(p, m->name, m->fn);
            fn->u.builtin.method = true;
            if (!py_dict_set(p, cls->u.cls->attrs, m->name, fn)) return false;
        }
    return true;
}

bool py_builtins_init(py *p) {
    p->object_class = NULL;
    p->object_class = py_class_new(p, NULL, "object", 0, NULL, PYC_PLAIN);
    if (!p->object_class) return false;
    py_dict *g = p->builtins->u.mod.globals;
    for (size_t i = 0; i < sizeof builtin_types / sizeof *builtin_types; i++) {
        py_object *base =
            !strcmp(builtin_types[i].name, "bool") ? py_builtin_class(p, "int") : p->object_class;
        py_object *cls = py_class_new(p, NULL, builtin_types[i].name, 1, &base, PYC_BUILTIN);
        if (!cls) return false;
        cls->u.cls->make = builtin_types[i].make;
        if (!builtin_add_methods(p, builtin_types[i].name)) return false;
    }
    for (size_t i = 0; i < sizeof builtin_shadow_types / sizeof *builtin_shadow_types; i++)
        if (!py_class_new(p, NULL, builtin_shadow_types[i], 0, NULL, PYC_BUILTIN)) return false;
    for (size_t i = 0; i < sizeof builtin_functions / sizeof *builtin_functions; i++)
        if (!py_dict_set(p, g, builtin_functions[i].name,
                         py_builtin(p, builtin_functions[i].name, builtin_functions[i].fn)))
            return false;
    bool ok = py_dict_set(p, g, "Ellipsis", p->ellipsis) &&
              py_dict_set(p, g, "NotImplemented", p->not_implemented) &&
              py_dict_set(p, g, "__debug__", p->true_) && builtin_add_exceptions(p) && py_objects_init(p);
    return ok && py_memory(p);
}
