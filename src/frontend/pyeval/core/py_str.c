/* SPDX-License-Identifier: Apache-2.0 */
/*
 * py_str.c - the methods of strings.
 *
 * Strings are UTF-8; positions count characters. Upper and lower case are those of ASCII.
 * Tests: tests/unit/test_py.c
 */
#include "base/text/text.h"
#include "frontend/pyeval/core/py_internal.h"

#include <ctype.h>

/* Are the 8 bytes at s ASCII? Then they are 8 characters. */
static bool text_is_ascii8(const char *s) {
    uint64_t w;
    memcpy(&w, s, 8);
    return !(w & UINT64_C(0x8080808080808080));
}

size_t py_text_len(const char *s, size_t n) {
    size_t count = 0, i = 0;
    while (i < n) {
        if (i + 8 <= n && text_is_ascii8(s + i)) {
            count += 8;
            i += 8;
        } else {
            count += ((unsigned char)s[i++] & 0xc0) != 0x80;
        }
    }
    return count;
}

size_t py_text_at(const char *s, size_t n, size_t index) {
    size_t i = 0;
    while (i < n && index > 0) {
        while (index >= 8 && i + 8 <= n && text_is_ascii8(s + i)) {
            i += 8;
            index -= 8;
        }
        if (i == n || !index) break;
        i++;
        while (i < n && ((unsigned char)s[i] & 0xc0) == 0x80) i++;
        index--;
    }
    return i;
}

const char *py_as_text(const py_object *o) {
    const str *s = o ? py_str_of(o) : NULL;
    return s ? s->bytes : NULL;
}

/* The text of an argument; NULL with a TypeError. */
static const str *str_argument(py *p, source_range r, const char *method, const py_object *o) {
    const str *s = py_str_of(o);
    if (!s)
        py_fail(p, r, "TypeError", "%s() argument must be str, not %s", method, py_type_name(o));
    return s;
}

/* ---- case and kinds of characters ------------------------------------------------------------ */

static py_object *str_mapped(py *p, const str *s, void (*map)(char *bytes, size_t len)) {
    str *t = str_new(s->bytes, s->len);
    if (!t) return diag_no_memory(p->diag), NULL;
    map(t->bytes, t->len);
    return py_value_take(p, value_str_take(t));
}

static char str_up(char c) { return c >= 'a' && c <= 'z' ? (char)(c - 32) : c; }

static char str_down(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c; }

static void map_upper(char *s, size_t n) {
    for (size_t i = 0; i < n; i++) s[i] = str_up(s[i]);
}

static void map_lower(char *s, size_t n) {
    for (size_t i = 0; i < n; i++) s[i] = str_down(s[i]);
}

static void map_swapcase(char *s, size_t n) {
    for (size_t i = 0; i < n; i++) s[i] = str_up(s[i]) == s[i] ? str_down(s[i]) : str_up(s[i]);
}

static void map_capitalize(char *s, size_t n) {
    for (size_t i = 0; i < n; i++) s[i] = i ? str_down(s[i]) : str_up(s[i]);
}

static void map_title(char *s, size_t n) {
    bool inside = false;
    for (size_t i = 0; i < n; i++) {
        s[i] = inside ? str_down(s[i]) : str_up(s[i]);
        inside = text_is_alpha((unsigned char)s[i]) != 0;
    }
}

#define STR_MAP(name)                                                                              \
    static py_object *str_##name(PY_ARGS) {                                                        \
        if (!py_bind(p, r, #name, "", nargs, args, nkw, names, kwargs, NULL)) return NULL;         \
        return str_mapped(p, py_str_of(self), map_##name);                                         \
    }
STR_MAP(upper)
STR_MAP(lower)
STR_MAP(swapcase)
STR_MAP(capitalize)
STR_MAP(title)

static bool str_all(const str *s, bool (*is)(int)) {
    for (size_t i = 0; i < s->len; i++)
        if (!is((unsigned char)s->bytes[i])) return false;
    return s->len > 0;
}

#define STR_TEST(name, condition)                                                                  \
    static py_object *str_##name(PY_ARGS) {                                                        \
        if (!py_bind(p, r, #name, "", nargs, args, nkw, names, kwargs, NULL)) return NULL;         \
        const str *s = py_str_of(self);                                                            \
        return py_bool(p, condition);                                                              \
    }
static bool str_has_case(const str *s, bool (*wrong)(int), bool (*right)(int)) {
    bool any = false;
    for (size_t i = 0; i < s->len; i++) {
        if (wrong((unsigned char)s->bytes[i])) return false;
        any = any || right((unsigned char)s->bytes[i]);
    }
    return any;
}

static bool str_names(const str *s) {
    for (size_t i = 0; i < s->len; i++)
        if (!(text_is_alnum((unsigned char)s->bytes[i]) || s->bytes[i] == '_' ||
              (unsigned char)s->bytes[i] > 127))
            return false;
    return s->len > 0 && !isdigit((unsigned char)s->bytes[0]);
}

STR_TEST(isdigit, str_all(s, text_is_digit))
STR_TEST(isalpha, str_all(s, text_is_alpha))
STR_TEST(isalnum, str_all(s, text_is_alnum))
STR_TEST(isspace, str_all(s, text_is_space))
STR_TEST(isupper, str_has_case(s, text_is_lower, text_is_upper))
STR_TEST(islower, str_has_case(s, text_is_upper, text_is_lower))
STR_TEST(isidentifier, str_names(s))

/* ---- searching ------------------------------------------------------------------------------- */

/* Bounds of "find(sub, start, end)" as bytes. */
static bool str_bounds(py *p, source_range r, const str *s, py_object *from, py_object *to,
                       size_t *begin, size_t *end) {
    py_object slice = {.kind = PY_SLICE,
                       .u.slice = {from ? from : p->none, to ? to : p->none, p->none}};
    int64_t start, step, count;
    *begin = 0;
    *end = s->len;
    if (!from && !to) return true;
    if (!py_slice_bounds(p, r, &slice, (int64_t)py_text_len(s->bytes, s->len), &start, &step,
                         &count))
        return false;
    *begin = py_text_at(s->bytes, s->len, (size_t)start);
    *end = py_text_at(s->bytes, s->len, (size_t)(start + count));
    return true;
}

static int64_t str_search(const str *s, size_t begin, size_t end, const str *part, bool last) {
    if (part->len > end - begin) return -1;
    for (size_t i = 0; i <= end - begin - part->len; i++) {
        size_t at = last ? end - part->len - i : begin + i;
        if (!memcmp(s->bytes + at, part->bytes, part->len)) return (int64_t)at;
    }
    return -1;
}

static py_object *str_find_any(PY_ARGS, const char *method, bool last, bool must) {
    py_object *a[3];
    size_t begin, end;
    if (!py_bind(p, r, method, "sub start? end?", nargs, args, nkw, names, kwargs, a)) return NULL;
    const str *s = py_str_of(self), *part = str_argument(p, r, method, a[0]);
    if (!part || !str_bounds(p, r, s, a[1], a[2], &begin, &end)) return NULL;
    int64_t at = str_search(s, begin, end, part, last);
    if (at < 0 && must) return py_fail(p, r, "ValueError", "substring not found");
    return py_int(p, at < 0 ? -1 : (int64_t)py_text_len(s->bytes, (size_t)at));
}

static py_object *str_find(PY_ARGS) {
    return str_find_any(p, r, self, nargs, args, nkw, names, kwargs, "find", false, false);
}

static py_object *str_rfind(PY_ARGS) {
    return str_find_any(p, r, self, nargs, args, nkw, names, kwargs, "rfind", true, false);
}

static py_object *str_index(PY_ARGS) {
    return str_find_any(p, r, self, nargs, args, nkw, names, kwargs, "index", false, true);
}

static py_object *str_rindex(PY_ARGS) {
    return str_find_any(p, r, self, nargs, args, nkw, names, kwargs, "rindex", true, true);
}

static py_object *str_count(PY_ARGS) {
    py_object *a[3];
    size_t begin, end;
    if (!py_bind(p, r, "count", "sub start? end?", nargs, args, nkw, names, kwargs, a)) return NULL;
    const str *s = py_str_of(self), *part = str_argument(p, r, "count", a[0]);
    if (!part || !str_bounds(p, r, s, a[1], a[2], &begin, &end)) return NULL;
    if (part->len == 0) return py_int(p, (int64_t)py_text_len(s->bytes + begin, end - begin) + 1);
    int64_t n = 0;
    for (int64_t at; (at = str_search(s, begin, end, part, false)) >= 0;
         begin = (size_t)at + part->len)
        n++;
    return py_int(p, n);
}

static py_object *str_affix(PY_ARGS, const char *method, bool suffix) {
    py_object *a[3];
    size_t begin, end;
    if (!py_bind(p, r, method, "prefix start? end?", nargs, args, nkw, names, kwargs, a))
        return NULL;
    const str *s = py_str_of(self);
    if (!str_bounds(p, r, s, a[1], a[2], &begin, &end)) return NULL;
    size_t n = a[0]->kind == PY_TUPLE ? a[0]->u.seq.items.len : 1;
    for (size_t i = 0; i < n; i++) {
        const str *part = str_argument(p, r, method,
                                       a[0]->kind == PY_TUPLE ? a[0]->u.seq.items.data[i] : a[0]);
        if (!part) return NULL;
        if (part->len > end - begin) continue;
        if (!memcmp(s->bytes + (suffix ? end - part->len : begin), part->bytes, part->len))
            return p->true_;
    }
    return p->false_;
}

static py_object *str_startswith(PY_ARGS) {
    return str_affix(p, r, self, nargs, args, nkw, names, kwargs, "startswith", false);
}

static py_object *str_endswith(PY_ARGS) {
    return str_affix(p, r, self, nargs, args, nkw, names, kwargs, "endswith", true);
}

static py_object *str_without(PY_ARGS, const char *method, bool suffix) {
    py_object *a[1];
    if (!py_bind(p, r, method, "affix", nargs, args, nkw, names, kwargs, a)) return NULL;
    const str *s = py_str_of(self), *part = str_argument(p, r, method, a[0]);
    if (!part) return NULL;
    if (part->len > s->len ||
        memcmp(s->bytes + (suffix ? s->len - part->len : 0), part->bytes, part->len))
        return self;
    return py_string(p, s->bytes + (suffix ? 0 : part->len), s->len - part->len);
}

static py_object *str_removeprefix(PY_ARGS) {
    return str_without(p, r, self, nargs, args, nkw, names, kwargs, "removeprefix", false);
}

static py_object *str_removesuffix(PY_ARGS) {
    return str_without(p, r, self, nargs, args, nkw, names, kwargs, "removesuffix", true);
}

/* ---- trimming, padding ----------------------------------------------------------------------- */

static bool str_in_set(const str *set, char c) {
    return set ? memchr(set->bytes, c, set->len) != NULL : text_is_space((unsigned char)c) != 0;
}

static py_object *str_trim(PY_ARGS, const char *method, bool left, bool right) {
    py_object *a[1];
    if (!py_bind(p, r, method, "chars?", nargs, args, nkw, names, kwargs, a)) return NULL;
    const str *s = py_str_of(self),
              *set = a[0] && !py_is_none(a[0]) ? str_argument(p, r, method, a[0]) : NULL;
    if (py_failed(p)) return NULL;
    size_t begin = 0, end = s->len;
    while (left && begin < end && str_in_set(set, s->bytes[begin])) begin++;
    while (right && end > begin && str_in_set(set, s->bytes[end - 1])) end--;
    return py_string(p, s->bytes + begin, end - begin);
}

static py_object *str_strip(PY_ARGS) {
    return str_trim(p, r, self, nargs, args, nkw, names, kwargs, "strip", true, true);
}

static py_object *str_lstrip(PY_ARGS) {
    return str_trim(p, r, self, nargs, args, nkw, names, kwargs, "lstrip", true, false);
}

static py_object *str_rstrip(PY_ARGS) {
    return str_trim(p, r, self, nargs, args, nkw, names, kwargs, "rstrip", false, true);
}

/* where: 'l' text left, 'r' right, 'c' in the middle, '0' zeros after the sign */
static py_object *str_pad(PY_ARGS, const char *method, char where) {
    py_object *a[2];
    int64_t width;
    if (!py_bind(p, r, method, "width fillchar?", nargs, args, nkw, names, kwargs, a)) return NULL;
    const str *s = py_str_of(self), *fill = a[1] ? str_argument(p, r, method, a[1]) : NULL;
    if (py_failed(p) || !py_as_int(p, r, a[0], &width) || !py_room(p, r, width)) return NULL;
    if (fill && py_text_len(fill->bytes, fill->len) != 1)
        return py_fail(p, r, "TypeError", "The fill character must be exactly one character long");
    int64_t len = (int64_t)py_text_len(s->bytes, s->len), room = width > len ? width - len : 0;
    int64_t left = where == 'l' ? 0 : where == 'c' ? room / 2 + (room & width & 1) : room;
    const char *with = where == '0' ? "0" : fill ? fill->bytes : " ";
    strbuf out = STRBUF_INIT;
    size_t sign = where == '0' && s->len && (s->bytes[0] == '-' || s->bytes[0] == '+');
    sb_write(&out, s->bytes, sign);
    for (int64_t i = 0; i < left; i++) sb_puts(&out, with);
    sb_write(&out, s->bytes + sign, s->len - sign);
    for (int64_t i = left; i < room; i++) sb_puts(&out, with);
    return py_from_buffer(p, &out);
}

static py_object *str_ljust(PY_ARGS) {
    return str_pad(p, r, self, nargs, args, nkw, names, kwargs, "ljust", 'l');
}

static py_object *str_rjust(PY_ARGS) {
    return str_pad(p, r, self, nargs, args, nkw, names, kwargs, "rjust", 'r');
}

static py_object *str_center(PY_ARGS) {
    return str_pad(p, r, self, nargs, args, nkw, names, kwargs, "center", 'c');
}

static py_object *str_zfill(PY_ARGS) {
    return str_pad(p, r, self, nargs, args, nkw, names, kwargs, "zfill", '0');
}

/* ---- splitting, joining ---------------------------------------------------------------------- */

static bool str_push(py *p, source_range r, py_object *list, const char *s, size_t n) {
    py_object *o = py_string(p, s, n);
    return o && py_step(p, r) && py_append(p, list, o);
}

static bool str_split_space(py *p, source_range r, const str *s, int64_t max, bool last,
                            py_object *list) {
    size_t begin = 0, end = s->len;
    while (begin < end && text_is_space((unsigned char)s->bytes[begin])) begin++;
    while (end > begin && text_is_space((unsigned char)s->bytes[end - 1])) end--;
    for (; begin < end; max--) {
        size_t a = begin, b = end;
        if (max == 0) return str_push(p, r, list, s->bytes + begin, end - begin);
        if (!last) {
            for (b = a; b < end && !text_is_space((unsigned char)s->bytes[b]); b++) {
            }
            for (begin = b; begin < end && text_is_space((unsigned char)s->bytes[begin]); begin++) {
            }
        } else {
            for (a = b; a > begin && !text_is_space((unsigned char)s->bytes[a - 1]); a--) {
            }
            for (end = a; end > begin && text_is_space((unsigned char)s->bytes[end - 1]); end--) {
            }
        }
        if (!str_push(p, r, list, s->bytes + a, b - a)) return false;
    }
    return true;
}

static bool str_split_at(py *p, source_range r, const str *s, const str *sep, int64_t max,
                         bool last, py_object *list) {
    size_t begin = 0, end = s->len;
    for (; max != 0; max--) {
        int64_t at = str_search(s, begin, end, sep, last);
        if (at < 0) break;
        bool ok = last ? str_push(p, r, list, s->bytes + at + sep->len, end - (size_t)at - sep->len)
                       : str_push(p, r, list, s->bytes + begin, (size_t)at - begin);
        if (!ok) return false;
        if (last) end = (size_t)at;
        else begin = (size_t)at + sep->len;
    }
    return str_push(p, r, list, s->bytes + begin, end - begin);
}

static py_object *str_split_any(PY_ARGS, const char *method, bool last) {
    py_object *a[2], *list = py_new(p, PY_LIST);
    int64_t max = -1;
    if (!py_bind(p, r, method, "sep? maxsplit?", nargs, args, nkw, names, kwargs, a)) return NULL;
    const str *sep = a[0] && !py_is_none(a[0]) ? str_argument(p, r, method, a[0]) : NULL;
    if (py_failed(p) || (a[1] && !py_as_int(p, r, a[1], &max))) return NULL;
    if (sep && sep->len == 0) return py_fail(p, r, "ValueError", "empty separator");
    bool ok = sep ? str_split_at(p, r, py_str_of(self), sep, max, last, list)
                  : str_split_space(p, r, py_str_of(self), max, last, list);
    for (size_t i = 0, n = list->u.seq.items.len; last && i < n / 2; i++) {
        py_object *swap = list->u.seq.items.data[i];
        list->u.seq.items.data[i] = list->u.seq.items.data[n - 1 - i];
        list->u.seq.items.data[n - 1 - i] = swap;
    }
    return ok ? list : NULL;
}

static py_object *str_split(PY_ARGS) {
    return str_split_any(p, r, self, nargs, args, nkw, names, kwargs, "split", false);
}

static py_object *str_rsplit(PY_ARGS) {
    return str_split_any(p, r, self, nargs, args, nkw, names, kwargs, "rsplit", true);
}

static py_object *str_splitlines(PY_ARGS) {
    py_object *a[1], *list = py_new(p, PY_LIST);
    bool keep = false;
    if (!py_bind(p, r, "splitlines", "keepends?", nargs, args, nkw, names, kwargs, a)) return NULL;
    if (a[0] && !py_truth(p, r, a[0], &keep)) return NULL;
    const str *s = py_str_of(self);
    for (size_t at = 0; at < s->len;) {
        size_t end = at, next;
        while (end < s->len && s->bytes[end] != '\n' && s->bytes[end] != '\r') end++;
        next = end < s->len ? end + 1 : end;
        if (next < s->len && s->bytes[end] == '\r' && s->bytes[next] == '\n') next++;
        if (!str_push(p, r, list, s->bytes + at, (keep ? next : end) - at)) return NULL;
        at = next;
    }
    return list;
}

static py_object *str_partition_any(PY_ARGS, const char *method, bool last) {
    py_object *a[1], *list = py_new(p, PY_TUPLE);
    if (!py_bind(p, r, method, "sep", nargs, args, nkw, names, kwargs, a)) return NULL;
    const str *s = py_str_of(self), *sep = str_argument(p, r, method, a[0]);
    if (!sep) return NULL;
    if (sep->len == 0) return py_fail(p, r, "ValueError", "empty separator");
    int64_t at = str_search(s, 0, s->len, sep, last);
    size_t head = at >= 0 ? (size_t)at : last ? 0 : s->len, middle = at >= 0 ? sep->len : 0;
    bool ok = str_push(p, r, list, s->bytes, head) &&
              str_push(p, r, list, s->bytes + head, middle) &&
              str_push(p, r, list, s->bytes + head + middle, s->len - head - middle);
    return ok ? list : NULL;
}

static py_object *str_partition(PY_ARGS) {
    return str_partition_any(p, r, self, nargs, args, nkw, names, kwargs, "partition", false);
}

static py_object *str_rpartition(PY_ARGS) {
    return str_partition_any(p, r, self, nargs, args, nkw, names, kwargs, "rpartition", true);
}

static py_object *str_join(PY_ARGS) {
    py_object *a[1], **items;
    int n;
    if (!py_bind(p, r, "join", "iterable", nargs, args, nkw, names, kwargs, a)) return NULL;
    if (!py_iterate(p, r, a[0], &items, &n)) return NULL;
    const str *s = py_str_of(self);
    strbuf out = STRBUF_INIT;
    for (int i = 0; i < n; i++) {
        const str *t = py_str_of(py_plain(items[i]));
        if (!t) {
            py_fail(p, r, "TypeError", "sequence item %d: expected str instance, %s found", i,
                    py_type_name(items[i]));
        } else if (py_room(p, r, (int64_t)(out.len + t->len + s->len))) {
            if (i) sb_write(&out, s->bytes, s->len);
            sb_write(&out, t->bytes, t->len);
            continue;
        }
        sb_free(&out);
        return NULL;
    }
    return py_from_buffer(p, &out);
}

static py_object *str_replace(PY_ARGS) {
    py_object *a[3];
    int64_t max = -1;
    if (!py_bind(p, r, "replace", "old new count?", nargs, args, nkw, names, kwargs, a))
        return NULL;
    const str *s = py_str_of(self), *from = str_argument(p, r, "replace", a[0]),
              *to = from ? str_argument(p, r, "replace", a[1]) : NULL;
    if (!to || (a[2] && !py_as_int(p, r, a[2], &max))) return NULL;
    if (!py_room(p, r, (int64_t)((s->len + 1) / (from->len ? from->len : 1) * to->len + s->len)))
        return NULL;
    strbuf out = STRBUF_INIT;
    size_t at = 0;
    for (; max != 0; max--) {
        if (from->len == 0) {
            sb_write(&out, to->bytes, to->len);
            if (at == s->len) break;
            sb_write(&out, s->bytes + at, py_text_at(s->bytes + at, s->len - at, 1));
            at += py_text_at(s->bytes + at, s->len - at, 1);
            continue;
        }
        int64_t found = str_search(s, at, s->len, from, false);
        if (found < 0) break;
        sb_write(&out, s->bytes + at, (size_t)found - at);
        sb_write(&out, to->bytes, to->len);
        at = (size_t)found + from->len;
    }
    sb_write(&out, s->bytes + at, s->len - at);
    return py_from_buffer(p, &out);
}

static py_object *str_format(PY_ARGS) {
    const str *s = py_str_of(self);
    return py_format_fields(p, r, s->bytes, s->len, nargs, args, nkw, names, kwargs);
}

static py_object *str_encode(PY_ARGS) {
    (void)p, (void)r, (void)nargs, (void)args, (void)nkw, (void)names, (void)kwargs;
    return self;
}

const py_method_row py_string_methods[] = {
    {"str", "upper", str_upper},
    {"str", "lower", str_lower},
    {"str", "swapcase", str_swapcase},
    {"str", "capitalize", str_capitalize},
    {"str", "title", str_title},
    {"str", "casefold", str_lower},
    {"str", "isdigit", str_isdigit},
    {"str", "isdecimal", str_isdigit},
    {"str", "isnumeric", str_isdigit},
    {"str", "isalpha", str_isalpha},
    {"str", "isalnum", str_isalnum},
    {"str", "isspace", str_isspace},
    {"str", "isupper", str_isupper},
    {"str", "islower", str_islower},
    {"str", "isidentifier", str_isidentifier},
    {"str", "find", str_find},
    {"str", "rfind", str_rfind},
    {"str", "index", str_index},
    {"str", "rindex", str_rindex},
    {"str", "count", str_count},
    {"str", "startswith", str_startswith},
    {"str", "endswith", str_endswith},
    {"str", "removeprefix", str_removeprefix},
    {"str", "removesuffix", str_removesuffix},
    {"str", "strip", str_strip},
    {"str", "lstrip", str_lstrip},
    {"str", "rstrip", str_rstrip},
    {"str", "ljust", str_ljust},
    {"str", "rjust", str_rjust},
    {"str", "center", str_center},
    {"str", "zfill", str_zfill},
    {"str", "split", str_split},
    {"str", "rsplit", str_rsplit},
    {"str", "splitlines", str_splitlines},
    {"str", "partition", str_partition},
    {"str", "rpartition", str_rpartition},
    {"str", "join", str_join},
    {"str", "replace", str_replace},
    {"str", "format", str_format},
    {"str", "encode", str_encode},
    {0},
};
