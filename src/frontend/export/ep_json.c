/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ep_json.c - the text of a program as a tree, and its fields with checks.
 *
 * Method. jansson parses (it bounds nesting, refuses what is said twice and integers beyond 64
 * bits); the size is bounded here. Everything above asks through these functions, so that a field
 * that is missing or of another type has one message, which names the field, and the node it is in.
 */
#include "frontend/export/ep_internal.h"

#include <math.h>

/* Python writes numbers that JSON has not, and so did torch.export up to 2.7, which writes them as
 * texts since. The text with quotes around them; false: there are none, or out of memory. */
static bool json_quote_numbers(const char *text, size_t len, strbuf *out) {
    static const char *const words[] = {"Infinity", "-Infinity", "NaN"};
    size_t from = 0;
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '"') {
            for (i++; i < len && text[i] != '"'; i++) i += text[i] == '\\';
            continue;
        }
        if (text[i] != 'I' && text[i] != '-' && text[i] != 'N') continue;
        for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
            size_t n = strlen(words[k]);
            if (len - i < n || memcmp(text + i, words[k], n)) continue;
            sb_write(out, text + from, i - from);
            sb_printf(out, "\"%s\"", words[k]);
            from = i + n;
            i += n - 1;
            break;
        }
    }
    if (from) sb_write(out, text + from, len - from);
    return from && !out->failed;
}

static json_t *json_parse(const char *text, size_t len, json_error_t *e) {
    json_t *json = json_loadb(text, len, JSON_REJECT_DUPLICATES, e);
    strbuf quoted = STRBUF_INIT;
    if (!json && json_quote_numbers(text, len, &quoted))
        json = json_loadb(sb_str(&quoted), quoted.len, JSON_REJECT_DUPLICATES, e);
    sb_free(&quoted);
    return json;
}

json_t *ep_parse(diag *d, const char *record, const void *text, size_t len) {
    if (len > EP_MAX_JSON)
        return diag_fail(d, CTSC_LIMIT, "record %s: %zu bytes of JSON", record, len), NULL;
    json_error_t e;
    json_t *json = json_parse(text, len, &e);
    if (json && json_is_object(json)) return json;
    if (json) diag_fail(d, CTSC_BAD_FILE, "record %s: no JSON object", record);
    else if (json_error_code(&e) == json_error_out_of_memory) diag_no_memory(d);
    else
        diag_fail(d, CTSC_BAD_FILE, "record %s, line %d, column %d: %s", record, e.line, e.column,
                  e.text);
    json_decref(json);
    return NULL;
}

void ep_drop_nulls(json_t *v) {
    const char *key;
    json_t *item;
    void *next;
    size_t i;
    if (json_is_array(v)) json_array_foreach(v, i, item) ep_drop_nulls(item);
    if (!json_is_object(v)) return;
    json_object_foreach_safe(v, next, key, item) {
        if (json_is_null(item)) json_object_del(v, key);
        else ep_drop_nulls(item);
    }
}

/* ---- messages -------------------------------------------------------------------------------- */

static bool ep_fail_v(ep_program *p, ctsc_status status, const char *fmt, va_list ap) {
    if (p->d->status != CTSC_OK) return false;
    strbuf sb = STRBUF_INIT;
    sb_printf(&sb, "record %s", p->record);
    if (p->target) sb_printf(&sb, ", node %zu (%.200s)", p->index, p->target);
    sb_puts(&sb, ": ");
    sb_vprintf(&sb, fmt, ap);
    diag_fail_at(p->d, status, p->g ? p->g->range : (source_range){0}, "%s", sb_str(&sb));
    sb_free(&sb);
    return false;
}

bool ep_bad(ep_program *p, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    ep_fail_v(p, CTSC_BAD_FILE, fmt, ap);
    va_end(ap);
    return false;
}

bool ep_unsupported(ep_program *p, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    ep_fail_v(p, CTSC_UNSUPPORTED, fmt, ap);
    va_end(ap);
    return false;
}

bool ep_no_memory(ep_program *p) {
    if (p->d->status == CTSC_OK) diag_no_memory(p->d);
    return false;
}

/* ---- fields ---------------------------------------------------------------------------------- */

const json_t *ep_optional(const json_t *o, const char *key) {
    const json_t *v = json_object_get(o, key);
    return json_is_null(v) ? NULL : v;
}

const json_t *ep_object(ep_program *p, const json_t *o, const char *key) {
    const json_t *v = json_object_get(o, key);
    if (json_is_object(v)) return v;
    return ep_bad(p, "'%s' is %s", key, v ? "no object" : "missing"), NULL;
}

const json_t *ep_array(ep_program *p, const json_t *o, const char *key) {
    const json_t *v = json_object_get(o, key);
    if (json_is_array(v)) return v;
    return ep_bad(p, "'%s' is %s", key, v ? "no list" : "missing"), NULL;
}

const char *ep_text(ep_program *p, const json_t *o, const char *key) {
    const json_t *v = json_object_get(o, key);
    if (json_is_string(v)) return json_string_value(v);
    return ep_bad(p, "'%s' is %s", key, v ? "no text" : "missing"), NULL;
}

const char *ep_string(ep_program *p, const json_t *v) {
    return json_is_string(v) ? json_string_value(v)
                             : (ep_bad(p, "there is no text where one is expected"), NULL);
}

bool ep_int(ep_program *p, const json_t *v, int64_t *out) {
    if (!json_is_integer(v)) return ep_bad(p, "there is no integer where one is expected");
    *out = json_integer_value(v);
    return true;
}

bool ep_float(ep_program *p, const json_t *v, double *out) {
    static const struct {
        const char *text;
        double f;
    } words[] = {{"Infinity", INFINITY}, {"-Infinity", -INFINITY}, {"NaN", NAN}};
    if (json_is_number(v)) return *out = json_number_value(v), true;
    for (size_t i = 0; json_is_string(v) && i < sizeof words / sizeof *words; i++)
        if (!strcmp(json_string_value(v), words[i].text)) return *out = words[i].f, true;
    return ep_bad(p, "there is no number where one is expected");
}

bool ep_bool(ep_program *p, const json_t *v, bool *out) {
    if (!json_is_boolean(v)) return ep_bad(p, "there is no true or false where one is expected");
    *out = json_is_true(v);
    return true;
}

const char *ep_union(ep_program *p, const json_t *v, const json_t **out) {
    *out = NULL;
    void *it = json_object_size(v) == 1 ? json_object_iter((json_t *)(uintptr_t)v) : NULL;
    if (!it)
        return ep_bad(p, "there is no object with exactly one key where one is expected"), NULL;
    *out = json_object_iter_value(it);
    return json_object_iter_key(it);
}
