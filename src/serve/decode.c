/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decode.c - an inference request to the arguments of a method, every tensor checked against what
 * the model takes.
 *
 * Format. The body is JSON; with the header Inference-Header-Content-Length only its first
 * bytes are, and the raw elements of those inputs that have the parameter binary_data_size
 * follow in the order of the inputs: little-endian, row-major, BYTES with four bytes of length
 * before each string.
 * Tests: tests/unit/test_serve.c, tests/fuzz/fuzz_request.c
 */
#include "serve/infer.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static bool decode_fail(infer *q, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static bool decode_fail(infer *q, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(q->why, sizeof q->why, fmt, ap);
    va_end(ap);
    return false;
}

/* ---- one tensor of the request --------------------------------------------------------------- */

typedef struct decode_tensor {
    const char *name;
    const datatype *type;
    int ndim;
    int64_t sizes[CONFIG_MAX_DIMS];
    size_t count; /* elements */
    const char *raw;
    size_t raw_len; /* of binary data; raw NULL: none */
    const infer_span *span;
    const json_t *list; /* data as JSON: strings */
} decode_tensor;

static bool decode_shape(infer *q, const json_t *v, decode_tensor *t) {
    if (!json_is_array(v)) return decode_fail(q, "input '%.60s' has no 'shape'", t->name);
    if (json_array_size(v) > CONFIG_MAX_DIMS)
        return decode_fail(q, "input '%.60s' has more than %d dimensions", t->name,
                           CONFIG_MAX_DIMS);
    t->ndim = (int)json_array_size(v);
    t->count = 1;
    for (int i = 0; i < t->ndim; i++) {
        const json_t *d = json_array_get(v, (size_t)i);
        int64_t size = json_is_integer(d) ? json_integer_value(d) : -1;
        if (size < 0)
            return decode_fail(q, "input '%.60s': sizes are whole numbers, not negative", t->name);
        t->sizes[i] = size;
        if (__builtin_mul_overflow(t->count, (size_t)size, &t->count))
            return decode_fail(q, "input '%.60s' is too large", t->name);
    }
    return true;
}

/* Where the elements are: after the JSON, in a span, or in the JSON itself. */
static bool decode_data(infer *q, const json_t *v, decode_tensor *t) {
    const json_t *params = json_object_get(v, "parameters"),
                 *size = json_object_get(params, "binary_data_size");
    const json_t *data = json_object_get(v, "data");
    if (json_object_get(params, "shared_memory_region"))
        return decode_fail(q, "shared memory is not supported");
    if (size) {
        int64_t n = json_is_integer(size) ? json_integer_value(size) : -1;
        if (n < 0 || (uint64_t)n > (uint64_t)(q->raw_end - q->raw))
            return decode_fail(q, "input '%.60s': 'binary_data_size' is more than the body has",
                               t->name);
        if (data)
            return decode_fail(q, "input '%.60s' has both 'data' and 'binary_data_size'", t->name);
        if (t->type->bytes && (size_t)n / t->type->bytes != t->count)
            return decode_fail(q, "input '%.60s': %lld bytes of data do not make its shape",
                               t->name, (long long)n);
        if (t->type->bytes && (size_t)n % t->type->bytes)
            return decode_fail(q, "input '%.60s': the data ends inside an element", t->name);
        t->raw = q->raw;
        t->raw_len = (size_t)n;
        q->raw += n;
        return true;
    }
    if (json_is_integer(data) && json_integer_value(data) >= 0 &&
        json_integer_value(data) < (json_int_t)q->nspans)
        t->span = &q->spans[json_integer_value(data)];
    else if (json_is_array(data)) t->list = data;
    else
        return decode_fail(q, "input '%.60s' has no 'data' (at most %d inputs may have one)",
                           t->name, INFER_SPANS);
    if (t->type->bytes && !datatype_has_json(t->type))
        return decode_fail(q, "input '%.60s': JSON has no %s numbers, send it as binary data",
                           t->name, t->type->wire);
    return true;
}

static bool decode_header(infer *q, const json_t *v, decode_tensor *t) {
    const char *name = json_string_value(json_object_get(v, "name")),
               *type = json_string_value(json_object_get(v, "datatype"));
    if (!name) return decode_fail(q, "an input has no 'name'");
    t->name = name;
    if (!type) return decode_fail(q, "input '%.60s' has no 'datatype'", name);
    t->type = datatype_named(type);
    if (!t->type)
        return decode_fail(q, "input '%.60s': datatype '%.20s' is not supported", name, type);
    return decode_shape(q, json_object_get(v, "shape"), t) && decode_data(q, v, t);
}

/* ---- strings --------------------------------------------------------------------------------- */

/* String number i; NULL at the end or where the data is damaged. *raw moves on. */
static const char *decode_raw_string(const char **raw, const char *end, size_t *len) {
    const unsigned char *p = (const unsigned char *)*raw;
    if (end - *raw < 4) return NULL;
    size_t n = (size_t)p[0] | (size_t)p[1] << 8 | (size_t)p[2] << 16 | (size_t)p[3] << 24;
    if (n > (size_t)(end - *raw - 4)) return NULL;
    *len = n;
    const char *text = *raw + 4;
    *raw = text + n;
    return text;
}

static bool decode_string_list(const json_t *v, ctsc_value **out, size_t cap, size_t *n,
                               int depth) {
    for (size_t i = 0; i < json_array_size(v); i++) {
        const json_t *item = json_array_get(v, i);
        if (json_is_array(item)) {
            if (depth > CONFIG_MAX_DIMS || !decode_string_list(item, out, cap, n, depth + 1))
                return false;
        } else {
            if (!json_is_string(item) || *n >= cap) return false;
            if (!(out[*n] = ctsc_string_new(json_string_value(item), json_string_length(item))))
                return false;
            ++*n;
        }
    }
    return true;
}

/* t->count strings into out, which is zeroed. */
static bool decode_strings(infer *q, const decode_tensor *t, ctsc_value **out) {
    size_t n = 0, len;
    const char *raw = t->raw, *text;
    if (raw) {
        const char *end = raw + t->raw_len;
        for (; n < t->count && (text = decode_raw_string(&raw, end, &len)); n++)
            if (!(out[n] = ctsc_string_new(text, len))) return decode_fail(q, "out of memory");
        if (n == t->count && raw == end) return true;
    } else if (!t->list ? t->count == 0
                        : decode_string_list(t->list, out, t->count, &n, 0) && n == t->count) {
        return true;
    }
    return decode_fail(q, "input '%.60s': its data is not %zu strings", t->name, t->count);
}

/* ---- values ---------------------------------------------------------------------------------- */

static bool decode_to_tensor(infer *q, const decode_tensor *t, ctsc_value **out) {
    if (!t->type->bytes)
        return decode_fail(q, "input '%.60s' must be a tensor of numbers, not of BYTES", t->name);
    size_t bytes;
    /* what the body does not hold is not allocated: an element takes two characters, a
     * separator included */
    if (t->span && t->count > (size_t)(t->span->end - t->span->begin))
        return decode_fail(q, "'data' has fewer elements than the shape of input '%.60s' (%zu)",
                           t->name, t->count);
    if (t->list && t->count)
        return decode_fail(q, "input '%.60s': 'data' holds strings, its datatype is %s", t->name,
                           t->type->wire);
    if (__builtin_mul_overflow(t->count, t->type->bytes, &bytes) || bytes > PTRDIFF_MAX)
        return decode_fail(q, "input '%.60s' is too large", t->name);
    if (ctsc_tensor_new(t->type->dtype, t->ndim, t->sizes, out, NULL) != CTSC_OK)
        return decode_fail(q, "input '%.60s': no memory for it", t->name);
    if (t->raw) {
        if (bytes) memcpy(ctsc_tensor_data(*out), t->raw, bytes);
        if (t->type->dtype == CTSC_BOOL) /* a bool that is neither 0 nor 1 is not one */
            for (size_t i = 0; i < bytes; i++)
                ((uint8_t *)ctsc_tensor_data(*out))[i] = t->raw[i] != 0;
        return true;
    }
    return !t->span || infer_read_numbers(q, t->span, t->type, ctsc_tensor_data(*out), t->count);
}

static bool decode_is_int(const datatype *t) { return t->bytes && t->dtype <= CTSC_INT64; }

static int64_t decode_int_at(ctsc_dtype d, const void *p, size_t i) {
    switch (d) {
    case CTSC_UINT8: return ((const uint8_t *)p)[i];
    case CTSC_INT8: return ((const int8_t *)p)[i];
    case CTSC_INT16: return ((const int16_t *)p)[i];
    case CTSC_INT32: return ((const int32_t *)p)[i];
    case CTSC_INT64: return ((const int64_t *)p)[i];
    default: return 0;
    }
}

/* Element i of a tensor as a number of the given kind; NULL if the datatype does not fit,
 * or without memory. */
static ctsc_value *decode_element(const datatype *t, const ctsc_value *tensor, size_t i,
                                  ctsc_kind kind) {
    const void *p = ctsc_tensor_data(tensor);
    if (kind == CTSC_KIND_INT && decode_is_int(t))
        return ctsc_int_new(decode_int_at(t->dtype, p, i));
    if (kind == CTSC_KIND_BOOL && t->dtype == CTSC_BOOL && t->bytes)
        return ctsc_bool_new(((const uint8_t *)p)[i] != 0);
    if (kind != CTSC_KIND_FLOAT) return NULL;
    if (t->dtype == CTSC_FLOAT32) return ctsc_float_new((double)((const float *)p)[i]);
    if (t->dtype == CTSC_FLOAT64) return ctsc_float_new(((const double *)p)[i]);
    return decode_is_int(t) ? ctsc_float_new((double)decode_int_at(t->dtype, p, i)) : NULL;
}

static bool decode_items(infer *q, const decode_tensor *t, ctsc_kind kind, ctsc_value **items) {
    if (kind == CTSC_KIND_STRING) {
        if (t->type->bytes)
            return decode_fail(q, "input '%.60s' must have datatype BYTES", t->name);
        return decode_strings(q, t, items);
    }
    ctsc_value *tensor = NULL;
    bool ok = decode_to_tensor(q, t, &tensor);
    for (size_t i = 0; ok && i < t->count; i++) {
        items[i] = decode_element(t->type, tensor, i, kind);
        if (!items[i])
            ok = decode_fail(q, "input '%.60s' cannot have datatype %s", t->name, t->type->wire);
    }
    ctsc_value_free(tensor);
    return ok;
}

/* An argument that is not a tensor: one element, or a list of them. */
static bool decode_plain(infer *q, const decode_tensor *t, const model_input *in,
                         ctsc_value **out) {
    bool list = in->form == INPUT_LIST;
    if (!list && t->count != 1)
        return decode_fail(q, "input '%.60s' must have one element, not %zu", t->name, t->count);
    if (t->count > q->x->body_len)
        return decode_fail(q, "input '%.60s' has fewer elements than its shape", t->name);
    ctsc_value **items = calloc(t->count + 1, sizeof *items);
    if (!items) return decode_fail(q, "out of memory");
    bool ok = decode_items(q, t, list ? in->item : in->arg->kind, items);
    if (ok && list) *out = ctsc_list_new(t->count, items);
    else if (ok) *out = ctsc_value_copy(items[0]);
    if (ok && !*out) ok = decode_fail(q, "out of memory");
    for (size_t i = 0; i < t->count; i++) ctsc_value_free(items[i]);
    free(items);
    return ok;
}

/* ---- against the model ----------------------------------------------------------------------- */

static bool decode_check(infer *q, const decode_tensor *t, const model_input *in) {
    const config_tensor *c = in->config;
    const datatype *type = c && c->type ? c->type : model_input_type(in);
    if (type && type != t->type)
        return decode_fail(q, "input '%.60s' must have datatype %s, not %s", t->name, type->wire,
                           t->type->wire);
    if (!c) return true;
    bool same = c->ndim < 0 || c->ndim == t->ndim;
    for (int i = 0; same && i < c->ndim; i++) same = c->dims[i] < 0 || c->dims[i] == t->sizes[i];
    if (same) return true;
    char want[200], *to = want;
    for (int i = 0; i < c->ndim && to < want + 160; i++)
        to += sprintf(to, "%s%lld", i ? ", " : "", (long long)c->dims[i]);
    *to = '\0';
    return decode_fail(q, "input '%.60s' must have the shape [%s]", t->name, want);
}

/* "the model has no input 'tok': its inputs are 'tokens', 'mask'", as many as fit. */
static bool decode_unknown(infer *q, const char *name) {
    const model *m = q->job.model;
    char names[256] = "";
    size_t n = 0;
    for (size_t i = 0; i < m->ninputs && n < sizeof names - 80; i++)
        n += (size_t)snprintf(names + n, sizeof names - n, "%s'%.60s'", i ? ", " : "",
                              m->inputs[i].arg->name);
    return decode_fail(q, "the model has no input '%.60s'%s%s", name, n ? ": its inputs are " : "",
                       names);
}

static bool decode_input(infer *q, const json_t *v) {
    const model *m = q->job.model;
    decode_tensor t = {0};
    if (!json_is_object(v)) return decode_fail(q, "'inputs' must hold objects");
    if (!decode_header(q, v, &t)) return false;
    int k = model_find_input(m, t.name);
    if (k < 0) return decode_unknown(q, t.name);
    const model_input *in = &m->inputs[k];
    if (q->job.args[k]) return decode_fail(q, "input '%.60s' is given twice", t.name);
    if (in->form == INPUT_NONE)
        return decode_fail(q, "input '%.60s' is a %.60s, which the protocol cannot carry", t.name,
                           in->arg->type);
    if (!decode_check(q, &t, in)) return false;
    return in->form == INPUT_TENSOR ? decode_to_tensor(q, &t, &q->job.args[k])
                                    : decode_plain(q, &t, in, &q->job.args[k]);
}

/* Arguments that were not given. */
static bool decode_rest(infer *q) {
    const model *m = q->job.model;
    for (size_t i = 0; i < m->ninputs; i++) {
        const ctsc_argument *a = m->inputs[i].arg;
        if (q->job.args[i]) continue;
        if (a->default_value) q->job.args[i] = ctsc_value_copy(a->default_value);
        else if (a->optional) q->job.args[i] = ctsc_none_new();
        else return decode_fail(q, "input '%.60s' is missing", m->inputs[i].name);
        if (!q->job.args[i]) return decode_fail(q, "out of memory");
    }
    return true;
}

/* Rows along dimension 0 if all inputs are tensors that agree on them. */
static int64_t decode_rows(const infer *q) {
    const model *m = q->job.model;
    int64_t rows = 0;
    if (m->config.max_batch <= 1) return 0;
    for (size_t i = 0; i < m->ninputs; i++) {
        const ctsc_value *v = q->job.args[i];
        if (ctsc_value_kind(v) != CTSC_KIND_TENSOR || ctsc_tensor_ndim(v) < 1) return 0;
        int64_t n = ctsc_tensor_sizes(v)[0];
        if (n < 1 || (i && n != rows)) return 0;
        rows = n;
    }
    return rows;
}

/* ---- the body -------------------------------------------------------------------------------- */

static bool decode_split(infer *q, size_t *json_len) {
    const exchange *x = q->x;
    *json_len = x->body_len;
    if (x->header_length) {
        size_t n = strlen(x->header_length);
        if (!n || n > 15 || strspn(x->header_length, "0123456789") != n ||
            strtoull(x->header_length, NULL, 10) > x->body_len)
            return decode_fail(q,
                               "Inference-Header-Content-Length is not a length inside the body");
        *json_len = (size_t)strtoull(x->header_length, NULL, 10);
    }
    q->raw = x->body + *json_len;
    q->raw_end = x->body + x->body_len;
    return true;
}

static bool decode_json(infer *q, size_t len) {
    json_error_t je = {0};
    buffer *frame = &q->frame, *last = &q->last_frame;
    frame->len = 0;
    infer_find_data(q, q->x->body, len, frame);
    if (frame->failed) {
        buffer_free(frame);
        return decode_fail(q, "out of memory");
    }
    if (!q->root || frame->len != last->len || memcmp(frame->data, last->data, frame->len)) {
        json_decref(q->root);
        q->root = protocol_parse_json(frame->data ? frame->data : "", frame->len, &je);
        buffer old = *last;
        *last = *frame;
        *frame = old;
    }
    if (!q->root)
        return decode_fail(q, "the request is not JSON: line %d: %.120s", je.line, je.text);
    if (!json_is_object(q->root)) return decode_fail(q, "the request is not a JSON object");
    return true;
}

static bool decode_parameters(infer *q) {
    const json_t *params = json_object_get(q->root, "parameters"), *v;
    if (params && !json_is_object(params)) return decode_fail(q, "'parameters' must be an object");
    q->binary = json_is_true(json_object_get(params, "binary_data_output"));
    /* microseconds; no longer than the model's own */
    if ((v = json_object_get(params, "timeout"))) {
        if (!json_is_integer(v) || json_integer_value(v) < 0)
            return decode_fail(q, "parameter 'timeout' must be a number of microseconds");
        uint64_t us = (uint64_t)json_integer_value(v),
                 until = q->x->started_ns +
                         (us < UINT32_MAX * 1000ull ? us : UINT32_MAX * 1000ull) * 1000;
        if (us && (!q->job.deadline_ns || until < q->job.deadline_ns)) q->job.deadline_ns = until;
    }
    if (json_integer_value(json_object_get(params, "sequence_id")))
        return decode_fail(q, "sequences are not supported");
    return true;
}

bool infer_decode(infer *q) {
    size_t len, i;
    json_t *v;
    if (!decode_split(q, &len) || !decode_json(q, len)) return false;
    const json_t *inputs = json_object_get(q->root, "inputs"), *id = json_object_get(q->root, "id");
    if (id && !json_is_string(id)) return decode_fail(q, "'id' must be text");
    q->id = json_string_value(id);
    q->wanted = json_object_get(q->root, "outputs");
    if (q->wanted && !json_is_array(q->wanted)) return decode_fail(q, "'outputs' must be a list");
    if (!json_is_array(inputs)) return decode_fail(q, "the request has no list 'inputs'");
    if (!decode_parameters(q)) return false;
    json_array_foreach((json_t *)inputs, i, v) {
        if (!decode_input(q, v)) return false;
    }
    if (q->raw != q->raw_end)
        return decode_fail(q, "%zu bytes after the last input belong to no input",
                           (size_t)(q->raw_end - q->raw));
    if (!decode_rest(q)) return false;
    q->job.rows = decode_rows(q);
    return true;
}
