/* SPDX-License-Identifier: Apache-2.0 */
/*
 * string.c - the str methods, and formatting.
 *
 * Strings are bytes here, as in TorchScript: len("é") is 2, and case, classes and widths
 * know ASCII only.
 * Tests: tests/unit/test_builtins.c, tests/corpus
 */
#include "base/text/text.h"
#include "runtime/kernels/engine/kernel.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

typedef struct text { const char *p; size_t n; } text;

static text string_arg(const value *v) { return (text){v->u.str->bytes, v->u.str->len}; }
static ctsc_status string_return(op_ctx *cx, value *results, const char *p, size_t n) {
    str *s = str_new(p, n);
    return s ? op_return(results, value_str_take(s)) : diag_no_memory(cx->diag);
}
/* Returns what was written and frees the buffer. */
static ctsc_status string_return_buffer(op_ctx *cx, value *results, strbuf *sb) {
    ctsc_status s = sb->failed ? diag_no_memory(cx->diag)
                               : string_return(cx, results, sb_str(sb), sb->len);
    sb_free(sb);
    return s;
}
static list *string_list(void) { return list_new(LIST_VALUE, TYPE_STR, 0); }
static bool string_push(list *l, const char *p, size_t n) {
    str *s = str_new(p, n);
    return s && list_append_take(l, value_str_take(s));
}
static ctsc_status string_return_list(op_ctx *cx, value *results, list *l, bool ok) {
    if (l && ok) return op_return(results, value_list_take(l));
    if (l) value_unref(value_list_take(l));
    return diag_no_memory(cx->diag);
}
/* First place of needle in [from, to) of t, or -1. */
static int64_t string_search(text t, text needle, int64_t from, int64_t to) {
    for (int64_t i = from; i + (int64_t)needle.n <= to; i++)
        if (!memcmp(t.p + i, needle.p, needle.n)) return i;
    return -1;
}
static int64_t string_search_back(text t, text needle, int64_t from, int64_t to) {
    for (int64_t i = to - (int64_t)needle.n; i >= from; i--)
        if (!memcmp(t.p + i, needle.p, needle.n)) return i;
    return -1;
}
/* start and end arguments; the default end of -1 means the end of the string */
static void string_bounds(const value *args, text t, int64_t *from, int64_t *to) {
    int64_t n = (int64_t)t.n, a = arg_int(&args[0]), b = arg_int(&args[1]);
    if (a < 0) a = a + n < 0 ? 0 : a + n;
    if (b < 0) b = b + n + 1 < 0 ? 0 : b + n + 1;
    *from = a;
    *to = b > n ? n : b;
}

/* ---- case ------------------------------------------------------------------------------------ */

static ctsc_status string_map(op_ctx *cx, const value *args, value *results,
                              int (*map)(int c, int prev)) {
    text t = string_arg(&args[0]);
    str *s = str_new_raw(t.n);
    if (!s) return diag_no_memory(cx->diag);
    for (size_t i = 0; i < t.n; i++)
        s->bytes[i] = (char)map((unsigned char)t.p[i], i ? (unsigned char)t.p[i - 1] : -1);
    return op_return(results, value_str_take(s));
}
static int string_up(int c, int prev) {
    (void)prev;
    return c < 128 ? text_upper(c) : c;
}
static int string_down(int c, int prev) {
    (void)prev;
    return c < 128 ? text_lower(c) : c;
}
static int string_swap(int c, int prev) {
    (void)prev;
    return c > 127 ? c : text_is_upper(c) ? text_lower(c) : text_upper(c);
}
static int string_cap(int c, int prev) { return prev < 0 ? string_up(c, 0) : string_down(c, 0); }
static int string_titled(int c, int prev) {
    return prev >= 0 && prev < 128 && text_is_alpha(prev) ? string_down(c, 0) : string_up(c, 0);
}
#define STRING_MAP(name, fn)                                                                       \
    ctsc_status op_str_##name(op_ctx *cx, const value *args, value *results) {                     \
        return string_map(cx, args, results, fn);                                                  \
    }
STRING_MAP(upper, string_up)
STRING_MAP(lower, string_down)
STRING_MAP(swapcase, string_swap)
STRING_MAP(capitalize, string_cap)
STRING_MAP(title, string_titled)

/* ---- classes --------------------------------------------------------------------------------- */

static bool string_all(const value *v, bool (*is)(int)) {
    text t = string_arg(v);
    for (size_t i = 0; i < t.n; i++)
        if ((unsigned char)t.p[i] > 127 || !is((unsigned char)t.p[i])) return false;
    return t.n > 0;
}
#define STRING_CLASS(name, fn)                                                                     \
    ctsc_status op_str_##name(op_ctx *cx, const value *args, value *results) {                     \
        (void)cx;                                                                                  \
        return op_return(results, value_bool(string_all(&args[0], fn)));                           \
    }
STRING_CLASS(isalnum, text_is_alnum)
STRING_CLASS(isalpha, text_is_alpha)
STRING_CLASS(isdigit, text_is_digit)
STRING_CLASS(isspace, text_is_space)

ctsc_status op_str_isprintable(op_ctx *cx, const value *args, value *results) {
    (void)cx;
    return op_return(results,
                     value_bool(!args[0].u.str->len || string_all(&args[0], text_is_print)));
}
static ctsc_status string_cased(const value *args, value *results, bool (*wrong)(int),
                                bool (*right)(int)) {
    text t = string_arg(&args[0]);
    bool any = false;
    for (size_t i = 0; i < t.n; i++) {
        int c = (unsigned char)t.p[i];
        if (c < 128 && wrong(c)) return op_return(results, value_bool(false));
        if (c < 128 && right(c)) any = true;
    }
    return op_return(results, value_bool(any));
}
ctsc_status op_str_islower(op_ctx *cx, const value *args, value *results) {
    (void)cx;
    return string_cased(args, results, text_is_upper, text_is_lower);
}
ctsc_status op_str_isupper(op_ctx *cx, const value *args, value *results) {
    (void)cx;
    return string_cased(args, results, text_is_lower, text_is_upper);
}
ctsc_status op_str_istitle(op_ctx *cx, const value *args, value *results) {
    text t = string_arg(&args[0]);
    bool any = false, in_word = false;
    (void)cx;
    for (size_t i = 0; i < t.n; i++) {
        int c = (unsigned char)t.p[i];
        bool alpha = c < 128 && text_is_alpha(c);
        if (alpha && (in_word ? text_is_upper(c) : text_is_lower(c)))
            return op_return(results, value_bool(false));
        any |= alpha;
        in_word = alpha;
    }
    return op_return(results, value_bool(any));
}
/* Python 2's rule without the underscore: letters and digits. */
ctsc_status op_str_isidentifier(op_ctx *cx, const value *args, value *results) {
    text t = string_arg(&args[0]);
    bool ok = t.n > 0 && !isdigit((unsigned char)t.p[0]);
    (void)cx;
    for (size_t i = 0; ok && i < t.n; i++) ok = text_is_alnum((unsigned char)t.p[i]) != 0;
    return op_return(results, value_bool(ok));
}

/* ---- stripping and padding ------------------------------------------------------------------- */

static ctsc_status string_strip(op_ctx *cx, const value *args, value *results, bool left,
                                bool right) {
    text t = string_arg(&args[0]), set = string_arg(&args[1]);
    size_t a = 0, b = t.n;
    while (left && a < b && memchr(set.p, t.p[a], set.n)) a++;
    while (right && b > a && memchr(set.p, t.p[b - 1], set.n)) b--;
    return string_return(cx, results, t.p + a, b - a);
}
ctsc_status op_str_strip(op_ctx *cx, const value *args, value *results) {
    return string_strip(cx, args, results, true, true);
}
ctsc_status op_str_lstrip(op_ctx *cx, const value *args, value *results) {
    return string_strip(cx, args, results, true, false);
}
ctsc_status op_str_rstrip(op_ctx *cx, const value *args, value *results) {
    return string_strip(cx, args, results, false, true);
}

enum { STRING_MAX = 1 << 30 }; /* of results whose size an argument decides */

static ctsc_status string_pad(op_ctx *cx, const value *args, value *results, int where) {
    text t = string_arg(&args[0]), fill = string_arg(&args[2]);
    int64_t width = arg_int(&args[1]), n = (int64_t)t.n;
    if (fill.n != 1)
        return diag_fail(cx->diag, CTSC_FAILED,
                         "TypeError: The fill character must be exactly one character long");
    if (width > STRING_MAX) return diag_no_memory(cx->diag);
    int64_t pad = width > n ? width - n : 0;
    int64_t left = where < 0 ? 0 : where > 0 ? pad : pad / 2 + (pad & width & 1);
    strbuf sb = STRBUF_INIT;
    sb_fill(&sb, fill.p[0], (size_t)left);
    sb_write(&sb, t.p, t.n);
    sb_fill(&sb, fill.p[0], (size_t)(pad - left));
    return string_return_buffer(cx, results, &sb);
}
ctsc_status op_str_ljust(op_ctx *cx, const value *args, value *results) {
    return string_pad(cx, args, results, -1);
}
ctsc_status op_str_rjust(op_ctx *cx, const value *args, value *results) {
    return string_pad(cx, args, results, 1);
}
ctsc_status op_str_center(op_ctx *cx, const value *args, value *results) {
    return string_pad(cx, args, results, 0);
}
ctsc_status op_str_zfill(op_ctx *cx, const value *args, value *results) {
    text t = string_arg(&args[0]);
    int64_t width = arg_int(&args[1]), pad = width > (int64_t)t.n ? width - (int64_t)t.n : 0;
    if (width > STRING_MAX) return diag_no_memory(cx->diag);
    strbuf sb = STRBUF_INIT;
    sb_fill(&sb, '0', (size_t)pad); /* before a sign, too */
    sb_write(&sb, t.p, t.n);
    return string_return_buffer(cx, results, &sb);
}
ctsc_status op_str_expandtabs(op_ctx *cx, const value *args, value *results) {
    text t = string_arg(&args[0]);
    int64_t tab = arg_int(&args[1]), column = 0;
    strbuf sb = STRBUF_INIT;
    if (tab > STRING_MAX / 1024) return diag_no_memory(cx->diag);
    for (size_t i = 0; i < t.n && !sb.failed; i++) {
        if (t.p[i] != '\t') {
            sb_putc(&sb, t.p[i]);
            column = t.p[i] == '\n' || t.p[i] == '\r' ? 0 : column + 1;
        } else if (tab > 0) {
            if (!limits_charge((uint64_t)tab)) return sb_free(&sb), limits_fail(cx->diag);
            sb_fill(&sb, ' ', (size_t)(tab - column % tab));
            column += tab - column % tab;
        }
    }
    return string_return_buffer(cx, results, &sb);
}

/* ---- searching ------------------------------------------------------------------------------- */

static int64_t string_find(const value *args, bool back) {
    text t = string_arg(&args[0]), needle = string_arg(&args[1]);
    int64_t from, to;
    string_bounds(args + 2, t, &from, &to);
    if (from > to) return -1;
    return back ? string_search_back(t, needle, from, to) : string_search(t, needle, from, to);
}
ctsc_status op_str_find(op_ctx *cx, const value *args, value *results) {
    (void)cx;
    return op_return(results, value_int(string_find(args, false)));
}
ctsc_status op_str_rfind(op_ctx *cx, const value *args, value *results) {
    (void)cx;
    return op_return(results, value_int(string_find(args, true)));
}
static ctsc_status string_index(op_ctx *cx, const value *args, value *results, bool back) {
    int64_t i = string_find(args, back);
    if (i < 0) return diag_fail(cx->diag, CTSC_FAILED, "ValueError: substring not found");
    return op_return(results, value_int(i));
}
ctsc_status op_str_index(op_ctx *cx, const value *args, value *results) {
    return string_index(cx, args, results, false);
}
ctsc_status op_str_rindex(op_ctx *cx, const value *args, value *results) {
    return string_index(cx, args, results, true);
}
ctsc_status op_str_count(op_ctx *cx, const value *args, value *results) {
    text t = string_arg(&args[0]), needle = string_arg(&args[1]);
    int64_t from, to, n = 0;
    (void)cx;
    string_bounds(args + 2, t, &from, &to);
    if (from > to) return op_return(results, value_int(0));
    if (!needle.n) return op_return(results, value_int(to - from + 1));
    /* PyTorch asks only where an occurrence begins */
    for (int64_t i; (i = string_search(t, needle, from, (int64_t)t.n)) >= 0 && i < to;
         from = i + (int64_t)needle.n)
        n++;
    return op_return(results, value_int(n));
}
static ctsc_status string_affix(const value *args, value *results, bool end) {
    text t = string_arg(&args[0]), a = string_arg(&args[1]);
    int64_t from, to;
    string_bounds(args + 2, t, &from, &to);
    /* an end before the start: none, as in PyTorch */
    if (to < from && from <= (int64_t)t.n) to = (int64_t)t.n;
    bool ok = to - from >= (int64_t)a.n &&
              !memcmp(t.p + (end ? to - (int64_t)a.n : from), a.p, a.n);
    return op_return(results, value_bool(ok));
}
ctsc_status op_str_startswith(op_ctx *cx, const value *args, value *results) {
    (void)cx;
    return string_affix(args, results, false);
}
ctsc_status op_str_endswith(op_ctx *cx, const value *args, value *results) {
    (void)cx;
    return string_affix(args, results, true);
}
ctsc_status op_str_replace(op_ctx *cx, const value *args, value *results) {
    text t = string_arg(&args[0]), old = string_arg(&args[1]), new = string_arg(&args[2]);
    int64_t max = arg_int(&args[3]), at = 0, n = (int64_t)t.n;
    strbuf sb = STRBUF_INIT;
    for (int64_t done = 0; (max < 0 || done < max) && !sb.failed; done++) {
        int64_t i = old.n ? string_search(t, old, at, n) : at < n ? at : at == n ? n : -1;
        if (i < 0 || at > n) break;
        sb_write(&sb, t.p + at, (size_t)(i - at));
        sb_write(&sb, new.p, new.n);
        at = i + (int64_t)old.n;
        if (!old.n) {
            if (at < n) sb_putc(&sb, t.p[at]);
            at++;
        }
    }
    if (at < n) sb_write(&sb, t.p + at, (size_t)(n - at));
    return string_return_buffer(cx, results, &sb);
}

/* ---- splitting and joining ------------------------------------------------------------------- */

/* Without a separator PyTorch heeds no limit. */
static ctsc_status string_split_space(op_ctx *cx, text t, value *results) {
    list *l = string_list();
    bool ok = l != NULL;
    size_t i = 0;
    while (ok) {
        while (i < t.n && text_is_space((unsigned char)t.p[i])) i++;
        if (i == t.n) break;
        size_t b = i;
        while (i < t.n && !text_is_space((unsigned char)t.p[i])) i++;
        ok = string_push(l, t.p + b, i - b);
    }
    return string_return_list(cx, results, l, ok);
}
ctsc_status op_str_split(op_ctx *cx, const value *args, value *results) {
    text t = string_arg(&args[0]);
    int64_t max = arg_int(&args[2]), at = 0;
    if (args[1].tag == V_NONE) return string_split_space(cx, t, results);
    text sep = string_arg(&args[1]);
    if (!sep.n) return diag_fail(cx->diag, CTSC_FAILED, "ValueError: empty separator");
    list *l = string_list();
    bool ok = l != NULL;
    for (int64_t k = 0; ok && (max < 0 || k < max); k++) {
        int64_t i = string_search(t, sep, at, (int64_t)t.n);
        if (i < 0) break;
        ok = string_push(l, t.p + at, (size_t)(i - at));
        at = i + (int64_t)sep.n;
    }
    ok = ok && string_push(l, t.p + at, t.n - (size_t)at);
    return string_return_list(cx, results, l, ok);
}
ctsc_status op_str_rsplit(op_ctx *cx, const value *args, value *results) {
    text t = string_arg(&args[0]), sep = string_arg(&args[1]);
    int64_t max = arg_int(&args[2]), end = (int64_t)t.n;
    if (!sep.n) return diag_fail(cx->diag, CTSC_FAILED, "ValueError: empty separator");
    list *l = string_list();
    bool ok = l != NULL;
    for (int64_t k = 0; ok && (max < 0 || k < max); k++) {
        int64_t i = string_search_back(t, sep, 0, end);
        if (i < 0) break;
        str *s = str_new(t.p + i + sep.n, (size_t)end - (size_t)i - sep.n);
        ok = s && list_insert_take(l, 0, value_str_take(s));
        end = i;
    }
    if (ok) {
        str *s = str_new(t.p, (size_t)end);
        ok = s && list_insert_take(l, 0, value_str_take(s));
    }
    return string_return_list(cx, results, l, ok);
}
/* As PyTorch does: every byte of a line separator separates ("\r\n" twice, and the bytes of U+2028
 * and U+2029 one by one), and a kept separator is an element of its own. */
ctsc_status op_str_splitlines(op_ctx *cx, const value *args, value *results) {
    static const char breaks[] = "\n\r\v\f\x1c\x1d\x1e\x85\xe2\x80\xa8\xa9";
    text t = string_arg(&args[0]);
    bool keep = arg_bool(&args[1]);
    list *l = string_list();
    bool ok = l != NULL;
    size_t from = 0;
    for (size_t i = 0; ok && i < t.n; i++) {
        if (!t.p[i] || !strchr(breaks, t.p[i])) continue;
        ok = string_push(l, t.p + from, i - from) && (!keep || string_push(l, t.p + i, 1));
        from = i + 1;
    }
    if (ok && from < t.n) ok = string_push(l, t.p + from, t.n - from);
    return string_return_list(cx, results, l, ok);
}
static ctsc_status string_partition(op_ctx *cx, const value *args, value *results, bool back) {
    text t = string_arg(&args[0]), sep = string_arg(&args[1]);
    if (!sep.n) return diag_fail(cx->diag, CTSC_FAILED, "ValueError: empty separator");
    int64_t i = back ? string_search_back(t, sep, 0, (int64_t)t.n)
                     : string_search(t, sep, 0, (int64_t)t.n);
    size_t head = i < 0 ? (back ? 0 : t.n) : (size_t)i, mid = i < 0 ? 0 : sep.n;
    ctsc_status s = string_return(cx, &results[0], t.p, head);
    if (s == CTSC_OK) s = string_return(cx, &results[1], sep.p, mid);
    if (s == CTSC_OK) s = string_return(cx, &results[2], t.p + head + mid, t.n - head - mid);
    for (int k = 0; s != CTSC_OK && k < 3; k++) value_set(&results[k], value_none());
    return s;
}
ctsc_status op_str_partition(op_ctx *cx, const value *args, value *results) {
    return string_partition(cx, args, results, false);
}
ctsc_status op_str_rpartition(op_ctx *cx, const value *args, value *results) {
    return string_partition(cx, args, results, true);
}
ctsc_status op_str_join(op_ctx *cx, const value *args, value *results) {
    text sep = string_arg(&args[0]);
    const list *l = args[1].u.list;
    strbuf sb = STRBUF_INIT;
    for (size_t i = 0; i < l->len; i++) {
        if (i) sb_write(&sb, sep.p, sep.n);
        sb_write(&sb, l->u.values[i].u.str->bytes, l->u.values[i].u.str->len);
    }
    return string_return_buffer(cx, results, &sb);
}
ctsc_status op_str_list(op_ctx *cx, const value *args, value *results) {
    text t = string_arg(&args[0]);
    list *l = string_list();
    bool ok = l != NULL;
    for (size_t i = 0; ok && i < t.n; i++) ok = string_push(l, t.p + i, 1);
    return string_return_list(cx, results, l, ok);
}

/* ---- elements -------------------------------------------------------------------------------- */

ctsc_status op_str_getitem(op_ctx *cx, const value *args, value *results) {
    text t = string_arg(&args[0]);
    int64_t i = arg_int(&args[1]), n = (int64_t)t.n;
    if (i < 0) i += n;
    if (i < 0 || i >= n) return diag_fail(cx->diag, CTSC_FAILED, "string index out of range");
    return string_return(cx, results, t.p + i, 1);
}
ctsc_status op_str_add(op_ctx *cx, const value *args, value *results) {
    text a = string_arg(&args[0]), b = string_arg(&args[1]);
    str *s = str_new_raw(a.n + b.n);
    if (!s) return diag_no_memory(cx->diag);
    memcpy(s->bytes, a.p, a.n);
    memcpy(s->bytes + a.n, b.p, b.n);
    return op_return(results, value_str_take(s));
}
static int string_compare(const value *args) {
    text a = string_arg(&args[0]), b = string_arg(&args[1]);
    int c = memcmp(a.p, b.p, a.n < b.n ? a.n : b.n);
    return c ? c : a.n < b.n ? -1 : a.n > b.n;
}
#define STRING_COMPARE(name, op)                                                                   \
    ctsc_status op_str_##name(op_ctx *cx, const value *args, value *results) {                     \
        (void)cx;                                                                                  \
        return op_return(results, value_bool(string_compare(args) op 0));                          \
    }
STRING_COMPARE(eq, ==)
STRING_COMPARE(ne, !=)
STRING_COMPARE(lt, <)
STRING_COMPARE(le, <=)
STRING_COMPARE(gt, >)
STRING_COMPARE(ge, >=)

ctsc_status op_str_ord(op_ctx *cx, const value *args, value *results) {
    text t = string_arg(&args[0]);
    if (t.n != 1)
        return diag_fail(cx->diag, CTSC_FAILED, "String for ord() must be 1 character, found %zu",
                         t.n);
    return op_return(results, value_int((unsigned char)t.p[0]));
}
ctsc_status op_str_chr(op_ctx *cx, const value *args, value *results) {
    int64_t i = arg_int(&args[0]);
    if (i < 0 || i >= 1114112)
        return diag_fail(cx->diag, CTSC_FAILED, "chr() arg not in range(0x110000), found %lld",
                         (long long)i);
    char c = (char)i;
    return string_return(cx, results, &c, 1);
}
static ctsc_status string_radix(op_ctx *cx, const value *args, value *results, const char *prefix,
                                int base) {
    int64_t i = arg_int(&args[0]);
    uint64_t u = i < 0 ? 0 - (uint64_t)i : (uint64_t)i;
    char digits[80];
    size_t n = sizeof digits;
    do digits[--n] = "0123456789abcdef"[u % (unsigned)base];
    while (u /= (unsigned)base);
    strbuf sb = STRBUF_INIT;
    sb_printf(&sb, "%s%s", i < 0 ? "-" : "", prefix);
    sb_write(&sb, digits + n, sizeof digits - n);
    return string_return_buffer(cx, results, &sb);
}
ctsc_status op_str_hex(op_ctx *cx, const value *args, value *results) {
    return string_radix(cx, args, results, "0x", 16);
}
ctsc_status op_str_oct(op_ctx *cx, const value *args, value *results) {
    return string_radix(cx, args, results, "0o", 8);
}
ctsc_status op_str_bin(op_ctx *cx, const value *args, value *results) {
    return string_radix(cx, args, results, "0b", 2);
}

/* ---- numbers and formatting ------------------------------------------------------------------ */

ctsc_status op_str_to_float(op_ctx *cx, const value *args, value *results) {
    const char *s = args[0].u.str->bytes;
    char *end;
    double x = text_double(s, &end);
    if (end == s || *end)
        return diag_fail(cx->diag, CTSC_FAILED, "could not convert string to float: '%s'", s);
    return op_return(results, value_float(x));
}
ctsc_status op_str_to_int(op_ctx *cx, const value *args, value *results) {
    const char *s = args[0].u.str->bytes;
    char *end;
    errno = 0;
    long long i = strtoll(s, &end, 10);
    if (end == s || *end || errno)
        return diag_fail(cx->diag, CTSC_FAILED, "invalid literal for int() with base 10: '%s'", s);
    return op_return(results, value_int(i));
}
ctsc_status op_str_of(op_ctx *cx, const value *args, value *results) {
    strbuf sb = STRBUF_INIT;
    value_print(args[0], &sb);
    return string_return_buffer(cx, results, &sb);
}
/* "{} and {}".format(a, b): braces only, in order; values that no brace asks for are ignored */
ctsc_status op_str_format(op_ctx *cx, const value *args, value *results) {
    text t = string_arg(&args[0]);
    strbuf sb = STRBUF_INIT;
    int next = 1;
    for (size_t i = 0; i < t.n;) {
        const char *open = i + 1 < t.n && t.p[i] == '{' && t.p[i + 1] == '}' ? t.p + i : NULL;
        if (!open) {
            sb_putc(&sb, t.p[i++]);
            continue;
        }
        if (next >= cx->nargs) {
            sb_free(&sb);
            return diag_fail(cx->diag, CTSC_FAILED, "Too few arguments for format string: %s", t.p);
        }
        value_print(args[next++], &sb);
        i += 2;
    }
    return string_return_buffer(cx, results, &sb);
}

/* The name that PyTorch's messages give a value's kind. */
static const char *string_kind(value v) {
    switch ((value_tag)v.tag) {
    case V_NONE: return "None";
    case V_STR: return "String";
    case V_TENSOR: return "Tensor";
    case V_LIST: return "GenericList";
    case V_DICT: return "GenericDict";
    case V_TUPLE: return "Tuple";
    case V_COMPLEX: return "ComplexDouble";
    case V_DEVICE: return "Device";
    case V_ENUM: return "Enum";
    default: return "Object";
    }
}

static ctsc_status string_percent_one(op_ctx *cx, char spec, value v, strbuf *sb) {
    bool number = v.tag == V_INT || v.tag == V_FLOAT || v.tag == V_BOOL;
    bool letter = v.tag == V_STR && v.u.str->len == 1;
    double single = number ? (float)arg_float(&v) : 0; /* PyTorch formats a float32 */
    switch (spec) {
    case 's': value_print(v, sb); return CTSC_OK;
    case 'd':
    case 'i':
        if (!number) break;
        if (v.tag != V_FLOAT) sb_printf(sb, "%lld", (long long)arg_int(&v));
        else if (fabs(v.u.f) < 0x1p31) sb_printf(sb, "%d", (int)v.u.f);
        /* the machine's conversion to int, without undefined behaviour */
        else sb_printf(sb, "%d", INT32_MIN);
        return CTSC_OK;
    case 'f':
    case 'F':
    case 'e':
    case 'E':
        if (!number) break;
        sb_printf(sb, spec == 'e' ? "%e" : spec == 'E' ? "%E" : "%f", single);
        return CTSC_OK;
    case 'c':
        if (v.tag != V_INT && !letter)
            return diag_fail(cx->diag, CTSC_FAILED,
                             "%%c requires an int or char for formatting, but got %s",
                             string_kind(v));
        sb_putc(sb, v.tag == V_INT ? (char)v.u.i : v.u.str->bytes[0]);
        return CTSC_OK;
    default:
        return diag_fail(cx->diag, CTSC_FAILED,
                         "The specifier %%%c is not supported in TorchScript format strings", spec);
    }
    return diag_fail(cx->diag, CTSC_FAILED, "%%%c requires a number for formatting, but got %s",
                     spec, string_kind(v));
}
/* "%d items" % n */
ctsc_status op_str_percent(op_ctx *cx, const value *args, value *results) {
    text t = string_arg(&args[0]);
    const value *items = args + 1;
    int n = cx->nargs - 1, next = 0;
    strbuf sb = STRBUF_INIT;
    if (n == 1 && items[0].tag == V_TUPLE) { /* the right side was one tuple */
        n = (int)items[0].u.tuple->len;
        items = items[0].u.tuple->items;
    }
    for (size_t i = 0; i < t.n; i++) {
        if (t.p[i] != '%') {
            sb_putc(&sb, t.p[i]);
            continue;
        }
        if (++i == t.n) {
            sb_free(&sb);
            return diag_fail(cx->diag, CTSC_FAILED, "Incomplete format specifier");
        }
        if (t.p[i] == '%') {
            sb_putc(&sb, '%');
            continue;
        }
        ctsc_status s = next >= n ? diag_fail(cx->diag, CTSC_FAILED,
                                              "Too few arguments for format string: %s", t.p)
                                  : string_percent_one(cx, t.p[i], items[next++], &sb);
        if (s != CTSC_OK) {
            sb_free(&sb);
            return s;
        }
    }
    if (next < n) {
        sb_free(&sb);
        return diag_fail(cx->diag, CTSC_FAILED, "Too many arguments for format string: %s", t.p);
    }
    return string_return_buffer(cx, results, &sb);
}
