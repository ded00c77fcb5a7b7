/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decode_json.c - the lists of numbers in a request, read without making a JSON
 * object of each number.
 *
 * Method. One walk over the text finds the arrays at inputs[i].data. Those that hold no strings
 * are noted as spans; the JSON parser gets a copy of the text with the number of the span in
 * their place. Later, when datatype and shape are known, a span is read straight into the tensor.
 * The contents of a span are checked by the reader as strictly as a JSON parser would; the text
 * around it is checked by the JSON parser, so the walk may be naive about text that is not JSON.
 * Tests: tests/unit/test_serve.c, tests/fuzz/fuzz_request.c
 */
#include "serve/infer.h"

#include <math.h>
#include <string.h>

/* ---- finding --------------------------------------------------------------------------------- */

enum { DATA_DEPTH = 4 };
/* the last key at each depth */
typedef struct data_walk { const char *key[DATA_DEPTH]; size_t len[DATA_DEPTH]; } data_walk;

static bool data_is(const data_walk *w, int depth, const char *name) {
    return w->len[depth] == strlen(name) && !memcmp(w->key[depth], name, w->len[depth]);
}

/* The closing quote of the string that begins at p, or end. */
static const char *data_string_end(const char *p, const char *end) {
    while (p < end && *p != '"') p += *p == '\\' ? 2 : 1;
    return p < end ? p : end;
}

/* Returns the position after the ']' that closes the '[' at p; NULL
 * if there is none, or something other than numbers inside. */
static const char *data_close(const char *p, const char *end) {
    int depth = 0;
    for (; p < end; p++) {
        if (*p == '[') depth++;
        else if (*p == ']' && --depth == 0) return p + 1;
        else if (*p == '"' || *p == '{' || *p == '}') return NULL;
    }
    return NULL;
}

static bool data_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/* Notes the string at p if it is a key. Returns the position after it. */
static const char *data_string(data_walk *w, int depth, const char *p, const char *end) {
    const char *close = data_string_end(p + 1, end), *after = close < end ? close + 1 : end;
    const char *next = after;
    while (next < end && data_space(*next)) next++;
    if (next < end && *next == ':' && depth >= 0 && depth < DATA_DEPTH) {
        w->key[depth] = p + 1;
        w->len[depth] = (size_t)(close - p - 1);
    }
    return after;
}

void infer_find_data(infer *q, const char *text, size_t len, buffer *rest) {
    const char *end = text + len, *copied = text;
    data_walk w = {0};
    int depth = 0;
    for (const char *p = text; p < end;) {
        if (*p == '"') {
            p = data_string(&w, depth, p, end);
            continue;
        }
        const char *close = NULL;
        if (*p == '[' && depth == 3 && data_is(&w, 3, "data") && data_is(&w, 1, "inputs") &&
            q->nspans < INFER_SPANS)
            close = data_close(p, end);
        if (close) {
            buffer_put(rest, copied, (size_t)(p - copied));
            buffer_int(rest, (int64_t)q->nspans);
            q->spans[q->nspans++] = (infer_span){p, close};
            copied = p = close;
            continue;
        }
        if (*p == '{' || *p == '[') depth++;
        else if (*p == '}' || *p == ']') depth--;
        p++;
    }
    buffer_put(rest, copied, (size_t)(end - copied));
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool data_whole(const number *v, int64_t lo, int64_t hi, int64_t *out) {
    if (v->is_int) *out = v->i;
    /* 1.0, 1e3 */
    else if (v->d == floor(v->d) && fabs(v->d) <= 9007199254740992.0) *out = (int64_t)v->d;
    else return false;
    return *out >= lo && *out <= hi;
}

/* One number into element i; false: it does not fit the type. */
static bool data_store(const datatype *t, void *to, size_t i, const number *v) {
    int64_t n;
    switch (t->dtype) {
    case CTSC_FLOAT32: ((float *)to)[i] = (float)v->d; return !v->is_bool;
    case CTSC_FLOAT64: ((double *)to)[i] = v->d; return !v->is_bool;
    case CTSC_BOOL:
        if (!data_whole(v, 0, 1, &n)) return false;
        ((uint8_t *)to)[i] = (uint8_t)n;
        return true;
#define DATA_INT(code, ctype, lo, hi)                                                              \
    case code:                                                                                     \
        if (v->is_bool || !data_whole(v, lo, hi, &n)) return false;                                \
        ((ctype *)to)[i] = (ctype)n;                                                               \
        return true;
        DATA_INT(CTSC_UINT8, uint8_t, 0, UINT8_MAX)
        DATA_INT(CTSC_INT8, int8_t, INT8_MIN, INT8_MAX)
        DATA_INT(CTSC_INT16, int16_t, INT16_MIN, INT16_MAX)
        DATA_INT(CTSC_INT32, int32_t, INT32_MIN, INT32_MAX)
        DATA_INT(CTSC_INT64, int64_t, INT64_MIN, INT64_MAX)
#undef DATA_INT
    default: return false;
    }
}

bool infer_read_numbers(infer *q, const infer_span *s, const datatype *t, void *to, size_t n) {
    size_t count = 0;
    bool value = false, need = true; /* a value has just ended; one must come now */
    int depth = 0;
    for (const char *p = s->begin; p < s->end;) {
        number v;
        if (data_space(*p)) {
            p++;
        } else if (*p == '[' && !value) {
            depth++, p++;
            need = false; /* [] is a list */
        } else if (*p == ']' && (value || !need)) {
            depth--, p++;
            value = true, need = false;
        } else if (*p == ',' && value) {
            p++;
            value = false, need = true;
        } else {
            const char *next = value ? NULL : number_read(p, s->end, &v);
            if (!next) {
                snprintf(q->why, sizeof q->why, "'data' is not a list of numbers (at '%.*s')",
                         (int)(s->end - p < 12 ? s->end - p : 12), p);
                return false;
            }
            if (count < n && !data_store(t, to, count, &v)) {
                snprintf(q->why, sizeof q->why, "'data' holds %.*s, which is no %s",
                         (int)(next - p < 30 ? next - p : 30), p, t->name);
                return false;
            }
            count++;
            p = next;
            value = true, need = false;
        }
    }
    if (count == n && depth == 0) return true;
    snprintf(q->why, sizeof q->why, "'data' has %zu elements, the shape %zu", count, n);
    return false;
}
