/* SPDX-License-Identifier: Apache-2.0 */
/*
 * safetensors.c - .safetensors files, which hold named tensors and nothing else.
 *
 *     length of the header (8 bytes, little-endian)
 *     header: {"__metadata__": {"key": "text"}, "fc.weight": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...}
 *     data, offsets counted from here
 *
 * Method. The header is read in one go by a parser of the JSON that it consists of; what it does
 * not know is skipped. Tensors are views on the mapping where their alignment allows.
 * Tests: tests/cli/weights.test
 */
#include "base/text.h"
#include "runtime/archive/archive_internal.h"

enum { SAFE_MAX_HEADER = 100 << 20, SAFE_MAX_NAME = 4096, SAFE_MAX_DEPTH = 8 };

typedef struct safe_reader {
    diag *d;
    const char *p, *end; /* the header */
    storage *data;       /* the whole file */
    size_t base;         /* where the data begins */
} safe_reader;

typedef struct safe_entry {
    dtype dt;
    bool has_dtype, has_shape, has_offsets;
    int ndim;
    int64_t sizes[TENSOR_MAX_DIMS];
    int64_t begin, end;
} safe_entry;

static const struct { const char *name; dtype dt; } safe_types[] = {
    {"F64", DT_FLOAT64}, {"F32", DT_FLOAT32}, {"F16", DT_FLOAT16},   {"BF16", DT_BFLOAT16},
    {"I64", DT_INT64},   {"I32", DT_INT32},   {"I16", DT_INT16},     {"I8", DT_INT8},
    {"U8", DT_UINT8},    {"BOOL", DT_BOOL},   {"C64", DT_COMPLEX64},
};

static ctsc_status safe_bad(safe_reader *s) {
    return diag_fail(s->d, CTSC_BAD_FILE, "damaged header of a safetensors file");
}

static void safe_space(safe_reader *s) {
    while (s->p < s->end && (*s->p == ' ' || *s->p == '\n' || *s->p == '\t' || *s->p == '\r'))
        s->p++;
}

/* The next character, if it is c. */
static bool safe_take(safe_reader *s, char c) {
    safe_space(s);
    if (s->p == s->end || *s->p != c) return false;
    s->p++;
    return true;
}

static void safe_utf8(strbuf *out, unsigned c) {
    if (c < 0x80) sb_putc(out, (char)c);
    else if (c < 0x800) sb_printf(out, "%c%c", (int)(0xc0 | c >> 6), (int)(0x80 | (c & 63)));
    else
        sb_printf(out, "%c%c%c", (int)(0xe0 | c >> 12), (int)(0x80 | (c >> 6 & 63)),
                  (int)(0x80 | (c & 63)));
}

static bool safe_escape(safe_reader *s, strbuf *out) {
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    if (s->p == s->end) return false;
    char c = *s->p++;
    const char *at = c ? strchr(from, c) : NULL;
    if (at) return sb_putc(out, to[at - from]), true;
    if (c != 'u' || s->end - s->p < 4) return false;
    unsigned v = 0;
    for (int i = 0; i < 4; i++) {
        char h = *s->p++;
        int digit = h >= '0' && h <= '9'   ? h - '0'
                    : h >= 'a' && h <= 'f' ? h - 'a' + 10
                    : h >= 'A' && h <= 'F' ? h - 'A' + 10
                                           : -1;
        if (digit < 0) return false;
        v = v * 16 + (unsigned)digit;
    }
    safe_utf8(out, v);
    return true;
}

static bool safe_text(safe_reader *s, strbuf *out) {
    out->len = 0;
    if (!safe_take(s, '"')) return false;
    while (s->p < s->end && *s->p != '"' && out->len < SAFE_MAX_NAME) {
        if (*s->p == '\\') {
            s->p++;
            if (!safe_escape(s, out)) return false;
        } else {
            sb_putc(out, *s->p++);
        }
    }
    return safe_take(s, '"') && !out->failed;
}

static bool safe_int(safe_reader *s, int64_t *out) {
    safe_space(s);
    const char *begin = s->p;
    int64_t n = 0;
    for (; s->p < s->end && *s->p >= '0' && *s->p <= '9'; s->p++)
        if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, *s->p - '0', &n))
            return false;
    *out = n;
    return s->p > begin;
}

/* [1, 2, 3], of at most max numbers. */
static bool safe_ints(safe_reader *s, int max, int64_t *out, int *n) {
    *n = 0;
    if (!safe_take(s, '[')) return false;
    if (safe_take(s, ']')) return true;
    do {
        if (*n == max || !safe_int(s, &out[*n])) return false;
        ++*n;
    } while (safe_take(s, ','));
    return safe_take(s, ']');
}

/* Any value. */
static bool safe_skip(safe_reader *s, strbuf *scratch, int depth) {
    safe_space(s);
    if (s->p == s->end || depth > SAFE_MAX_DEPTH) return false;
    if (*s->p == '"') return safe_text(s, scratch);
    bool object = *s->p == '{';
    if (object || *s->p == '[') {
        char close = object ? '}' : ']';
        s->p++;
        if (safe_take(s, close)) return true;
        do
            if ((object && (!safe_text(s, scratch) || !safe_take(s, ':'))) ||
                !safe_skip(s, scratch, depth + 1))
                return false;
        while (safe_take(s, ','));
        return safe_take(s, close);
    }
    const char *begin = s->p; /* a number, true, false, null */
    while (s->p < s->end && (text_is_alnum(*s->p) || *s->p == '+' || *s->p == '-' || *s->p == '.'))
        s->p++;
    return s->p > begin;
}

static bool safe_field(safe_reader *s, const char *key, strbuf *scratch, safe_entry *e) {
    int64_t offsets[2];
    int n = 0;
    if (!strcmp(key, "shape"))
        return e->has_shape = safe_ints(s, TENSOR_MAX_DIMS, e->sizes, &e->ndim);
    if (!strcmp(key, "data_offsets")) {
        e->has_offsets = safe_ints(s, 2, offsets, &n) && n == 2;
        if (e->has_offsets) e->begin = offsets[0], e->end = offsets[1];
        return e->has_offsets;
    }
    if (strcmp(key, "dtype") != 0) return safe_skip(s, scratch, 0);
    if (!safe_text(s, scratch)) return false;
    for (size_t i = 0; i < sizeof safe_types / sizeof *safe_types; i++)
        if (!strcmp(safe_types[i].name, sb_str(scratch)))
            e->dt = safe_types[i].dt, e->has_dtype = true;
    if (!e->has_dtype)
        diag_fail(s->d, CTSC_UNSUPPORTED, "safetensors: tensors of type %.20s are not supported",
                  sb_str(scratch));
    return e->has_dtype;
}

static bool safe_tensor(safe_reader *s, const safe_entry *e, value *out) {
    size_t item = dtype_size(e->dt), room = s->data->nbytes - s->base;
    int64_t strides[TENSOR_MAX_DIMS], n = 1;
    for (int i = e->ndim - 1; i >= 0; i--) {
        strides[i] = n;
        if (__builtin_mul_overflow(n, e->sizes[i], &n)) return false;
    }
    if (e->begin > e->end || (uint64_t)e->end > room ||
        (uint64_t)(e->end - e->begin) != (uint64_t)n * item)
        return false;
    size_t at = s->base + (size_t)e->begin;
    storage *st = s->data;
    if (at % item) { /* not aligned: a copy */
        if (!(st = storage_new((size_t)n * item))) return diag_no_memory(s->d), false;
        memcpy(st->data, (const char *)s->data->data + at, (size_t)n * item);
        at = 0;
    } else {
        storage_ref(st);
    }
    tensor *t = NULL;
    bool ok = tensor_on_storage(s->d, st, e->dt, e->ndim, e->sizes, strides, (int64_t)(at / item),
                                &t) == CTSC_OK;
    storage_unref(st);
    if (ok) *out = value_tensor_take(t);
    return ok;
}

static bool safe_put(safe_reader *s, dict *into, const char *name, size_t len,
                     const safe_entry *e) {
    value v;
    if (!e->has_dtype || !e->has_shape || !e->has_offsets || !safe_tensor(s, e, &v)) return false;
    str *key = str_new(name, len);
    if (key && dict_set_take(into, value_str_take(key), v)) return true;
    if (!key) value_unref(v);
    return diag_no_memory(s->d), false;
}

static bool safe_header(safe_reader *s, dict *into) {
    strbuf name = STRBUF_INIT, scratch = STRBUF_INIT;
    bool ok = safe_take(s, '{'), more = ok && !safe_take(s, '}');
    while (ok && more) {
        ok = safe_text(s, &name) && safe_take(s, ':');
        bool metadata = ok && !strcmp(sb_str(&name), "__metadata__");
        if (metadata) ok = safe_skip(s, &scratch, 0);
        if (ok && !metadata) {
            safe_entry e = {0};
            ok = safe_take(s, '{');
            while (ok) {
                strbuf key = STRBUF_INIT;
                ok = safe_text(s, &key) && safe_take(s, ':') &&
                     safe_field(s, sb_str(&key), &scratch, &e);
                sb_free(&key);
                if (!safe_take(s, ',')) break;
            }
            ok = ok && safe_take(s, '}') && safe_put(s, into, sb_str(&name), name.len, &e);
        }
        more = safe_take(s, ',');
        if (ok && !more) ok = safe_take(s, '}');
    }
    sb_free(&name);
    sb_free(&scratch);
    return ok;
}

ctsc_status load_safetensors(diag *d, reader r, value *out) {
    storage *st = NULL;
    ctsc_status s = reader_contents(d, r, &st);
    if (s != CTSC_OK) return s;
    uint64_t len = st->nbytes >= 8 ? le64(st->data) : 0;
    safe_reader sr = {.d = d, .data = st};
    dict *into = NULL;
    if (len < 2 || len > SAFE_MAX_HEADER || len > st->nbytes - 8) s = safe_bad(&sr);
    else if (!(into = dict_new(TYPE_STR, TYPE_TENSOR))) s = diag_no_memory(d);
    if (s == CTSC_OK) {
        sr.p = (const char *)st->data + 8;
        sr.end = sr.p + len;
        sr.base = 8 + (size_t)len;
        if (!safe_header(&sr, into)) s = d->status != CTSC_OK ? d->status : safe_bad(&sr);
    }
    storage_unref(st);
    if (s == CTSC_OK) *out = value_dict_take(into);
    else if (into) value_unref(value_dict_take(into));
    return s;
}
