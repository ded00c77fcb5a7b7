/* SPDX-License-Identifier: Apache-2.0 */
/*
 * py_number.c - Python's builtins about numbers: int, float, round, pow, chr, ...
 *
 * Integers have 64 bits; what does not fit is an OverflowError. Tests: tests/unit/test_py.c
 */
#include "base/text/text.h"
#include "frontend/pyeval/core/py_internal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

bool py_as_float(py *p, source_range r, const py_object *o, double *out) {
    int64_t i;
    int rank;
    if (py_number(py_plain(o), &i, out, &rank))
        return p->library->trace_read(p, r, o, "Python float");
    py_object *m = py_is_tensor(o) ? NULL : py_find_special(p, (py_object *)o, "__float__");
    py_object *v = py_is_tensor(o)
                       ? p->library->trace_item(p, r, (py_object *)o, "aten::item", "Python float")
                   : m ? py_call0(p, r, m)
                       : NULL;
    if (v && py_number(v, &i, out, &rank)) return true;
    if (!py_failed(p)) py_fail(p, r, "TypeError", "must be real number, not %s", py_type_name(o));
    return false;
}

static const char *number_trim(const str *s, size_t *len) {
    const char *b = s->bytes, *e = b + s->len;
    while (b < e && strchr(" \t\n\r\f\v", *b)) b++;
    while (e > b && strchr(" \t\n\r\f\v", e[-1])) e--;
    *len = (size_t)(e - b);
    return b;
}

static py_object *number_of_text(py *p, source_range r, const py_object *o, int64_t base) {
    size_t len, n = 0;
    char digits[80];
    const char *s = number_trim(py_str_of(o), &len);
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
    if (errno == ERANGE)
        return py_fail(p, r, "OverflowError", "the integer does not fit in 64 bits");
    return py_int(p, v);
}

static py_object *number_make_int(PY_ARGS) {
    py_object *a[2];
    int64_t i, base = 10;
    double f;
    int rank;
    (void)self;
    PY_TAKE("int", "x? base?", a);
    if (!a[0]) return py_int(p, 0);
    if (a[1] && !py_as_int(p, r, a[1], &base)) return NULL;
    if (base < 0 || base == 1 || base > 36)
        return py_fail(p, r, "ValueError", "int() base must be >= 2 and <= 36, or 0");
    if (py_str_of(a[0])) return number_of_text(p, r, a[0], base);
    if (a[1])
        return py_fail(p, r, "TypeError", "int() can't convert non-string with explicit base");
    const py_object *o = py_plain(a[0]);
    if (!py_number(o, &i, &f, &rank)) {
        py_object *m = py_is_tensor(o) ? NULL : py_find_special(p, a[0], "__int__");
        if (!m && !py_failed(p) && !py_is_tensor(o)) m = py_find_special(p, a[0], "__index__");
        py_object *v = py_is_tensor(o)
                           ? p->library->trace_item(p, r, a[0], "aten::item", "Python integer")
                       : m ? py_call0(p, r, m)
                           : NULL;
        if (v && py_number(v, &i, &f, &rank)) o = v;
        else if (!py_failed(p))
            py_fail(
                p, r, "TypeError",
                "int() argument must be a string, a bytes-like object or a real number, not '%s'",
                py_type_name(o));
        if (py_failed(p)) return NULL;
    }
    if (o->kind == PY_VALUE && o->u.v.tag == V_INT) return (py_object *)o;
    if (!p->library->trace_read(p, r, o, "Python integer")) return NULL;
    if (rank < 2) return py_int(p, i);
    if (isnan(f)) return py_fail(p, r, "ValueError", "cannot convert float NaN to integer");
    if (!(fabs(f) < 0x1p63))
        return py_fail(p, r, "OverflowError", "cannot convert float %s to integer",
                       isinf(f) ? "infinity" : "of this size");
    return py_int(p, (int64_t)f);
}

static py_object *number_make_float(PY_ARGS) {
    py_object *a[1];
    double f;
    (void)self;
    PY_TAKE("float", "x?", a);
    if (!a[0]) return py_float(p, 0);
    if (a[0]->kind == PY_VALUE && a[0]->u.v.tag == V_FLOAT) return a[0];
    if (a[0]->kind == PY_VALUE && a[0]->u.v.tag == V_INT)
        return p->library->trace_number(p, r, "aten::Float", a[0], NULL,
                                        py_float(p, (double)a[0]->u.v.u.i));
    if (!py_str_of(a[0])) return py_as_float(p, r, py_plain(a[0]), &f) ? py_float(p, f) : NULL;
    size_t len;
    const char *s = number_trim(py_str_of(a[0]), &len);
    char text[80], *end = text;
    snprintf(text, sizeof text, "%.*s", (int)(len < sizeof text ? len : sizeof text - 1), s);
    f = text_double(text, &end);
    if (len && len < sizeof text && !*end && !strpbrk(text, "xXpP(")) return py_float(p, f);
    strbuf quoted = STRBUF_INIT;
    if (py_str(p, r, a[0], true, &quoted))
        py_fail(p, r, "ValueError", "could not convert string to float: %s", sb_str(&quoted));
    sb_free(&quoted);
    return NULL;
}

static py_object *number_make_bool(PY_ARGS) {
    py_object *a[1];
    bool truth = false;
    (void)self;
    PY_TAKE("bool", "x?", a);
    return !a[0] || py_truth(p, r, a[0], &truth) ? py_bool(p, truth) : NULL;
}

static py_object *number_make_complex(PY_ARGS) {
    py_object *a[2];
    double re[2] = {0, 0}, im[2] = {0, 0};
    (void)self;
    PY_TAKE("complex", "real? imag?", a);
    for (int i = 0; i < 2; i++) {
        if (a[i] && a[i]->kind == PY_VALUE && a[i]->u.v.tag == V_COMPLEX)
            re[i] = a[i]->u.v.u.complex->re, im[i] = a[i]->u.v.u.complex->im;
        else if (a[i] && !py_as_float(p, r, a[i], &re[i])) return NULL;
    }
    complex_box *c = complex_new(re[0] - im[1], im[0] + re[1]);
    if (c) return py_value_take(p, (value){.tag = V_COMPLEX, .u.complex = c});
    return diag_no_memory(p->diag), NULL;
}

/* Halves go to the even neighbour; with digits, what the decimal notation rounds to. */
static py_object *number_round(PY_ARGS) {
    py_object *a[2];
    int64_t i, digits = 0;
    double f;
    int rank;
    (void)self;
    PY_TAKE("round", "number ndigits?", a);
    bool whole = !a[1] || py_is_none(a[1]);
    if (!whole && !py_as_int(p, r, a[1], &digits)) return NULL;
    if (!py_number(a[0], &i, &f, &rank)) {
        py_object *m = py_is_tensor(a[0]) ? py_getattr(p, r, a[0], "round")
                                          : py_find_special(p, a[0], "__round__");
        if (m) return whole ? py_call0(p, r, m) : py_call1(p, r, m, a[1]);
        py_object *plain = (py_object *)py_plain(a[0]);
        if (plain != a[0] && !py_failed(p))
            return number_round(p, r, self, 2, (py_object *[]){plain, a[1] ? a[1] : p->none}, 0,
                                NULL, NULL);
        return py_fail(p, r, "TypeError", "type %s doesn't define __round__ method",
                       py_type_name(a[0]));
    }
    if (rank < 2 && digits >= 0) return py_int(p, i);
    if (!isfinite(f)) {
        if (!whole) return py_float(p, f);
        return py_fail(p, r, isnan(f) ? "ValueError" : "OverflowError",
                       "cannot convert float %s to integer", isnan(f) ? "NaN" : "infinity");
    }
    if (whole) {
        f = nearbyint(f);
        if (fabs(f) < 0x1p63) return py_int(p, (int64_t)f);
        return py_fail(p, r, "OverflowError", "the result does not fit in a 64 bit integer");
    }
    if (digits > 300) return a[0];
    if (digits >= 0) {
        char text[400];
        text_print(text, sizeof text, "%.*f", (int)digits, f);
        return strlen(text) < sizeof text - 1 ? py_float(p, text_double(text, NULL)) : a[0];
    }
    double unit = digits < -300 ? INFINITY : pow(10, (double)-digits),
           rounded = nearbyint(f / unit) * unit;
    if (isinf(unit)) rounded = 0;
    return rank < 2 ? py_int(p, (int64_t)rounded) : py_float(p, rounded);
}

static py_object *number_abs(PY_ARGS) {
    py_object *a[1];
    int64_t i;
    double f;
    int rank;
    (void)self;
    PY_TAKE("abs", "x", a);
    if (py_number(a[0], &i, &f, &rank)) {
        if (rank == 2) return py_float(p, fabs(f));
        return i < 0 ? py_unary(p, r, O_NEG, a[0]) : py_int(p, i);
    }
    if (a[0]->kind == PY_VALUE && a[0]->u.v.tag == V_COMPLEX)
        return py_float(p, hypot(a[0]->u.v.u.complex->re, a[0]->u.v.u.complex->im));
    py_object *m = py_is_tensor(a[0]) ? py_getattr(p, r, a[0], "abs")
                                      : py_find_special(p, a[0], "__abs__");
    if (m) return py_call0(p, r, m);
    py_object *plain = (py_object *)py_plain(a[0]);
    if (plain != a[0] && !py_failed(p)) return number_abs(p, r, self, 1, &plain, 0, NULL, NULL);
    return py_fail(p, r, "TypeError", "bad operand type for abs(): '%s'", py_type_name(a[0]));
}

static py_object *number_pow(PY_ARGS) {
    py_object *a[3];
    int64_t base, e, m, result = 1;
    (void)self;
    PY_TAKE("pow", "base exp mod?", a);
    if (!a[2] || py_is_none(a[2])) return py_binary(p, r, O_POW, a[0], a[1]);
    if (!py_as_int(p, r, a[0], &base) || !py_as_int(p, r, a[1], &e) || !py_as_int(p, r, a[2], &m))
        return NULL;
    if (m == 0 || e < 0)
        return py_fail(p, r, "ValueError", "pow() with this third argument is not supported");
    if (m == -1) return py_int(p, 0); /* in C, INT64_MIN has no such remainder */
    base %= m;
    for (result %= m; e > 0; e >>= 1) {
        if (e & 1) result = (int64_t)((__int128)result * base % m);
        base = (int64_t)((__int128)base * base % m);
    }
    return py_int(p, result && (result < 0) != (m < 0) ? result + m : result);
}

static py_object *number_divmod(PY_ARGS) {
    py_object *a[2], *both[2];
    (void)self;
    PY_TAKE("divmod", "a b", a);
    both[0] = py_binary(p, r, O_FLOORDIV, a[0], a[1]);
    both[1] = both[0] ? py_binary(p, r, O_MOD, a[0], a[1]) : NULL;
    return both[1] ? py_tuple(p, 2, both) : NULL;
}

static py_object *number_base(PY_ARGS, const char *name, char type) {
    py_object *a[1];
    int64_t i;
    char spec[3] = {'#', type, '\0'};
    strbuf out = STRBUF_INIT;
    (void)self;
    PY_TAKE(name, "number", a);
    if (!py_as_int(p, r, a[0], &i) || !py_format_value(p, r, py_int(p, i), spec, 2, &out))
        return NULL;
    return py_from_buffer(p, &out);
}

static py_object *number_hex(PY_ARGS) {
    return number_base(p, r, self, nargs, args, nkw, names, kwargs, "hex", 'x');
}

static py_object *number_bin(PY_ARGS) {
    return number_base(p, r, self, nargs, args, nkw, names, kwargs, "bin", 'b');
}

static py_object *number_oct(PY_ARGS) {
    return number_base(p, r, self, nargs, args, nkw, names, kwargs, "oct", 'o');
}

static py_object *number_chr(PY_ARGS) {
    py_object *a[1];
    int64_t c;
    char s[4];
    size_t n = 0;
    (void)self;
    PY_TAKE("chr", "i", a);
    if (!py_as_int(p, r, a[0], &c)) return NULL;
    if (c < 0 || c > 0x10ffff)
        return py_fail(p, r, "ValueError", "chr() arg not in range(0x110000)");
    if (c < 0x80) s[n++] = (char)c;
    else if (c < 0x800) s[n++] = (char)(0xc0 | c >> 6);
    else if (c < 0x10000) s[n++] = (char)(0xe0 | c >> 12);
    else s[n++] = (char)(0xf0 | c >> 18);
    for (int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3; more > 0; more--)
        s[n++] = (char)(0x80 | (c >> (6 * (more - 1)) & 0x3f));
    return py_string(p, s, n);
}

static py_object *number_ord(PY_ARGS) {
    py_object *a[1];
    (void)self;
    PY_TAKE("ord", "c", a);
    const str *s = py_str_of(a[0]);
    if (!s || py_text_len(s->bytes, s->len) != 1)
        return py_fail(p, r, "TypeError", "ord() expected a character");
    unsigned char first = (unsigned char)s->bytes[0];
    int64_t c = s->len == 1 ? first : first & (0xff >> (s->len + 1));
    for (size_t i = 1; i < s->len; i++) c = c << 6 | ((unsigned char)s->bytes[i] & 0x3f);
    return py_int(p, c);
}

const py_row py_number_types[] = {
    {"int", number_make_int},
    {"float", number_make_float},
    {"bool", number_make_bool},
    {"complex", number_make_complex},
    {NULL, NULL},
};

const py_row py_number_functions[] = {
    {"abs", number_abs}, {"round", number_round}, {"divmod", number_divmod},
    {"pow", number_pow}, {"ord", number_ord},     {"chr", number_chr},
    {"hex", number_hex}, {"bin", number_bin},     {"oct", number_oct},
    {NULL, NULL},
};
