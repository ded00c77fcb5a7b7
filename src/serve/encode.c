/* SPDX-License-Identifier: Apache-2.0 */
/*
 * encode.c - from a model's results to the response of the protocol:
 * JSON, followed by the outputs that are requested as binary data.
 *
 * Tests: tests/unit/test_serve.c, tests/serve/client.py
 */
#include "serve/infer.h"

#include <stdarg.h>
#include <string.h>

/* One output, or the rows of it that are this request's. */
typedef struct encode_row {
    const char *name;
    const datatype *type;
    int ndim;
    int64_t sizes[CONFIG_MAX_DIMS];
    size_t count;
    const char *data;        /* of a tensor */
    const ctsc_value *plain; /* of anything else */
    int64_t scalar;          /* room for the element of a number */
    char room[32];
} encode_row;

static bool encode_fail(infer *q, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static bool encode_fail(infer *q, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(q->why, sizeof q->why, fmt, ap);
    va_end(ap);
    return false;
}

static bool encode_tensor(infer *q, const ctsc_value *v, int64_t first, int64_t total,
                          encode_row *r) {
    r->type = datatype_of(ctsc_tensor_dtype(v));
    r->ndim = ctsc_tensor_ndim(v);
    if (!r->type)
        return encode_fail(q, "output '%.60s' has complex numbers, which the protocol cannot carry",
                           r->name);
    if (r->ndim > CONFIG_MAX_DIMS)
        return encode_fail(q, "output '%.60s' has more than %d dimensions", r->name,
                           CONFIG_MAX_DIMS);
    size_t inner = 1;
    for (int i = 0; i < r->ndim; i++) {
        r->sizes[i] = ctsc_tensor_sizes(v)[i];
        if (i || !total) inner *= (size_t)r->sizes[i];
    }
    r->data = ctsc_tensor_data(v);
    r->count = inner;
    if (!total) return true;
    r->sizes[0] = q->job.rows;
    r->count = inner * (size_t)q->job.rows;
    if (r->data) r->data += inner * (size_t)first * r->type->bytes;
    return true;
}

/* An Optional that is not there; a list of no tensors. */
static bool encode_is_nothing(const infer *q, const ctsc_value *v, size_t i) {
    const ctsc_argument *a = ctsc_signature_result(q->job.model->signature, i);
    if (ctsc_value_kind(v) != CTSC_KIND_LIST) return ctsc_value_kind(v) == CTSC_KIND_NONE;
    return !ctsc_value_len(v) && model_list_item(a ? a->type : "") == CTSC_KIND_OTHER;
}

/* Strings; or a list without items, whose type only the signature tells. */
static bool encode_list(infer *q, const ctsc_value *v, size_t i, encode_row *r) {
    const ctsc_argument *a = ctsc_signature_result(q->job.model->signature, i);
    ctsc_kind k = ctsc_value_len(v) ? CTSC_KIND_STRING : model_list_item(a ? a->type : "");
    r->ndim = 1;
    r->count = ctsc_value_len(v);
    r->sizes[0] = (int64_t)r->count;
    r->type = k == CTSC_KIND_INT     ? datatype_of(CTSC_INT64)
              : k == CTSC_KIND_FLOAT ? datatype_of(CTSC_FLOAT64)
              : k == CTSC_KIND_BOOL  ? datatype_of(CTSC_BOOL)
                                     : datatype_bytes;
    r->data = (const char *)&r->scalar;
    r->plain = v;
    return true;
}

static bool encode_plain(infer *q, const ctsc_value *v, encode_row *r) {
    double d;
    r->ndim = 1;
    r->sizes[0] = 1;
    r->count = 1;
    r->data = (const char *)&r->scalar;
    switch (ctsc_value_kind(v)) {
    case CTSC_KIND_INT:
        r->type = datatype_of(CTSC_INT64);
        r->scalar = ctsc_value_int(v);
        return true;
    case CTSC_KIND_FLOAT:
        r->type = datatype_of(CTSC_FLOAT64);
        d = ctsc_value_float(v);
        memcpy(&r->scalar, &d, sizeof d);
        return true;
    case CTSC_KIND_BOOL:
        r->type = datatype_of(CTSC_BOOL);
        *(unsigned char *)&r->scalar = ctsc_value_bool(v);
        return true;
    case CTSC_KIND_STRING:
        r->type = datatype_bytes;
        r->plain = v;
        return true;
    default:
        return encode_fail(q, "output '%.60s' is a value that the protocol cannot carry", r->name);
    }
}

/* Text i of an output of texts; borrowed from it. */
static const char *encode_text(const encode_row *r, size_t i, size_t *len) {
    if (ctsc_value_kind(r->plain) == CTSC_KIND_STRING) return ctsc_value_string(r->plain, len);
    ctsc_value *item = ctsc_value_item(r->plain, i);
    const char *text = ctsc_value_string(item, len);
    ctsc_value_free(item);
    return text;
}

static size_t encode_bytes(const encode_row *r) {
    size_t len, all = 0;
    if (r->type->bytes) return r->count * r->type->bytes;
    for (size_t i = 0; i < r->count; i++) {
        encode_text(r, i, &len);
        all += 4 + len;
    }
    return all;
}

/* ---- elements -------------------------------------------------------------------------------- */

static void encode_numbers(const encode_row *r, buffer *out) {
#define ENCODE_LOOP(ctype, write)                                                                  \
    for (size_t i = 0; i < r->count; i++) {                                                        \
        ctype v;                                                                                   \
        memcpy(&v, r->data + i * sizeof v, sizeof v);                                              \
        if (i) buffer_putc(out, ',');                                                              \
        write;                                                                                     \
    }                                                                                              \
    break;
    switch (r->type->dtype) {
    case CTSC_FLOAT32: ENCODE_LOOP(float, buffer_float(out, v))
    case CTSC_FLOAT64: ENCODE_LOOP(double, buffer_double(out, v))
    case CTSC_INT64: ENCODE_LOOP(int64_t, buffer_int(out, v))
    case CTSC_INT32: ENCODE_LOOP(int32_t, buffer_int(out, v))
    case CTSC_INT16: ENCODE_LOOP(int16_t, buffer_int(out, v))
    case CTSC_INT8: ENCODE_LOOP(int8_t, buffer_int(out, v))
    case CTSC_UINT8: ENCODE_LOOP(uint8_t, buffer_int(out, v))
    case CTSC_BOOL: ENCODE_LOOP(uint8_t, buffer_puts(out, v ? "true" : "false"))
    default: break;
    }
#undef ENCODE_LOOP
}

static void encode_json(const encode_row *r, buffer *out) {
    buffer_puts(out, ",\"data\":[");
    if (r->type->bytes) {
        encode_numbers(r, out);
    } else {
        for (size_t i = 0; i < r->count; i++) {
            size_t len;
            const char *text = encode_text(r, i, &len);
            if (i) buffer_putc(out, ',');
            buffer_json(out, text, len);
        }
    }
    buffer_putc(out, ']');
}

static void encode_raw(const encode_row *r, buffer *out) {
    if (r->type->bytes) {
        buffer_put(out, r->data, r->count * r->type->bytes);
        return;
    }
    for (size_t i = 0; i < r->count; i++) {
        size_t len;
        const char *text = encode_text(r, i, &len);
        unsigned char prefix[4] = {(unsigned char)len, (unsigned char)(len >> 8),
                                   (unsigned char)(len >> 16), (unsigned char)(len >> 24)};
        buffer_put(out, prefix, sizeof prefix);
        buffer_put(out, text, len);
    }
}

/* ---- the response ---------------------------------------------------------------------------- */

/* Output i of the call. */
static bool encode_find(infer *q, const outputs *o, size_t i, int64_t first, int64_t total,
                        encode_row *r) {
    *r = (encode_row){0};
    r->name = model_output_name(q->job.model, i, o->names[i], r->room);
    if (ctsc_value_kind(o->values[i]) == CTSC_KIND_TENSOR)
        return encode_tensor(q, o->values[i], first, total, r);
    if (ctsc_value_kind(o->values[i]) == CTSC_KIND_LIST) return encode_list(q, o->values[i], i, r);
    return encode_plain(q, o->values[i], r);
}

/* Does the request want an output of this name, and how? NULL: no. */
static const json_t *encode_wanted(const infer *q, const char *name) {
    size_t i;
    json_t *v;
    json_array_foreach((json_t *)q->wanted, i, v) {
        const char *n = json_string_value(json_object_get(v, "name"));
        if (n && !strcmp(n, name)) return v;
    }
    return NULL;
}

static bool encode_binary(const infer *q, const encode_row *r, const json_t *wanted) {
    const json_t *own = json_object_get(json_object_get(wanted, "parameters"), "binary_data");
    return json_is_boolean(own) ? json_is_true(own)
                                : q->binary || (!datatype_has_json(r->type) && r->type->bytes &&
                                                q->x->header_length);
}

static bool encode_row_head(infer *q, const encode_row *r, bool binary, buffer *out) {
    if (!binary && r->type->bytes && !datatype_has_json(r->type))
        return encode_fail(q, "output '%.60s': JSON has no %s numbers, ask for it as binary data",
                           r->name, r->type->wire);
    buffer_puts(out, "{\"name\":");
    buffer_json(out, r->name, strlen(r->name));
    buffer_puts(out, ",\"datatype\":\"");
    buffer_puts(out, r->type->wire);
    buffer_puts(out, "\",\"shape\":[");
    for (int i = 0; i < r->ndim; i++) {
        if (i) buffer_putc(out, ',');
        buffer_int(out, r->sizes[i]);
    }
    buffer_putc(out, ']');
    if (binary) buffer_printf(out, ",\"parameters\":{\"binary_data_size\":%zu}", encode_bytes(r));
    else encode_json(r, out);
    buffer_putc(out, '}');
    return true;
}

/* Every name under "outputs" must be one. */
static bool encode_check_wanted(infer *q, const outputs *o, int *status) {
    size_t i;
    json_t *v;
    char room[32];
    json_array_foreach((json_t *)q->wanted, i, v) {
        const char *n = json_string_value(json_object_get(v, "name"));
        bool known = false;
        for (size_t k = 0; n && k < o->n && !known; k++)
            known = !strcmp(n, model_output_name(q->job.model, k, o->names[k], room));
        *status = 400;
        if (!known) return encode_fail(q, "the model has no output '%.60s'", n ? n : "");
        if (json_object_get(json_object_get(v, "parameters"), "classification"))
            return encode_fail(q, "classification is not supported");
    }
    return true;
}

bool infer_encode(infer *q, const outputs *o, int64_t first, int64_t total, int *status) {
    buffer *out = &q->x->reply, raw = {0};
    bool any = false;
    *status = 500;
    if (q->wanted && !encode_check_wanted(q, o, status)) return false;
    buffer_puts(out, "{\"model_name\":");
    buffer_json(out, q->job.model->name, strlen(q->job.model->name));
    buffer_puts(out, ",\"model_version\":\"");
    buffer_puts(out, q->job.model->version);
    buffer_putc(out, '"');
    if (q->id) {
        buffer_puts(out, ",\"id\":");
        buffer_json(out, q->id, strlen(q->id));
    }
    buffer_puts(out, ",\"outputs\":[");
    for (size_t i = 0; i < o->n; i++) {
        encode_row r;
        if (encode_is_nothing(q, o->values[i], i)) continue;
        bool ok = encode_find(q, o, i, first, total, &r);
        const json_t *wanted = ok && q->wanted ? encode_wanted(q, r.name) : NULL;
        if (ok && q->wanted && !wanted) continue;
        bool binary = ok && encode_binary(q, &r, wanted);
        if (ok && any) buffer_putc(out, ',');
        *status = ok ? 400 : 500;
        if (!ok || !encode_row_head(q, &r, binary, out)) {
            buffer_free(&raw);
            return false;
        }
        if (binary) encode_raw(&r, &raw), q->x->json_len = 1;
        any = true;
    }
    buffer_puts(out, "]}");
    if (q->x->json_len) {
        q->x->json_len = out->len;
        buffer_put(out, raw.data, raw.len);
    }
    *status = 500;
    bool ok = !raw.failed && !out->failed;
    buffer_free(&raw);
    return ok || encode_fail(q, "out of memory");
}
