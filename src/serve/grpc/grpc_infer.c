/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grpc_infer.c - ModelInfer: a message to the JSON and the binary tensors that the same request is
 * over HTTP, and a response's tensors to a message.
 *
 * Method. Tensors are most of a message. So the raw ones are found where they are in its bytes,
 * and only the rest is unpacked; they are copied once, after the JSON. Typed contents become raw
 * elements. All outputs are asked for as binary data, and what the answer says of them in JSON are
 * the fields of the message.
 * Tests: tests/serve/triton.py
 */
#include "serve/grpc/grpc_internal.h"

#include "serve/config.h"

#include <string.h>

/* Two bytes may be a tensor or a parameter, which takes a hundred times as many here. */
enum { INFER_FIELDS = 4 * CONFIG_MAX_TENSORS, INFER_PARAMETERS = 64 };

typedef struct span { const uint8_t *at; size_t len; } span;
typedef struct raws { size_t n; span of[CONFIG_MAX_TENSORS]; } raws;

/* ---- the bytes of a message ------------------------------------------------------------------ */

enum { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };
enum { RAW_INPUT_CONTENTS = 7 };

/* The position after the number at p; NULL: none. */
static const uint8_t *wire_number(const uint8_t *p, const uint8_t *end, uint64_t *out) {
    *out = 0;
    for (int shift = 0; p < end && shift < 64; shift += 7) {
        *out |= (uint64_t)(*p & 0x7F) << shift;
        if (!(*p++ & 0x80)) return p;
    }
    return NULL;
}

/* The position after the field at p, and what it is; NULL: damaged. */
static const uint8_t *wire_field(const uint8_t *p, const uint8_t *end, uint64_t *tag, span *bytes) {
    uint64_t n = 0;
    *bytes = (span){0};
    if (!(p = wire_number(p, end, tag))) return NULL;
    switch (*tag & 7) {
    case WIRE_VARINT: return wire_number(p, end, &n);
    case WIRE_64: n = 8; break;
    case WIRE_32: n = 4; break;
    case WIRE_BYTES:
        if (!(p = wire_number(p, end, &n))) return NULL;
        break;
    default: return NULL;
    }
    if (n > (uint64_t)(end - p)) return NULL;
    *bytes = (span){p, (size_t)n};
    return p + n;
}

/* Notes the raw tensors of a message; everything else goes to rest. */
static bool infer_split(ask *a, raws *r, buffer *rest) {
    const uint8_t *p = a->bytes, *end = p + a->len;
    for (size_t fields = 0; p < end; fields++) {
        uint64_t tag;
        span bytes;
        const uint8_t *next = wire_field(p, end, &tag, &bytes);
        if (!next) return ask_refuse(a, 400, "the request is not a message of this method");
        if (fields == INFER_FIELDS) return ask_refuse(a, 400, "more than %d fields", INFER_FIELDS);
        if (tag != (RAW_INPUT_CONTENTS << 3 | WIRE_BYTES)) buffer_put(rest, p, (size_t)(next - p));
        else if (r->n < CONFIG_MAX_TENSORS) r->of[r->n++] = bytes;
        else return ask_refuse(a, 400, "more than %d tensors", CONFIG_MAX_TENSORS);
        p = next;
    }
    return true;
}

/* ---- typed contents -------------------------------------------------------------------------- */

/* Bytes of the elements of `contents` as the binary extension has them; the field is the one that
 * the datatype has. NULL out: they are only counted. False: a number does not fit. */
static bool infer_elements(const Rpc__Contents *c, const datatype *t, size_t *bytes, buffer *out) {
#define ELEMENTS(field, n, type, fits)                                                             \
    *bytes = c->n * sizeof(type);                                                                  \
    for (size_t i = 0; out && i < c->n; i++) {                                                     \
        type v = (type)c->field[i];                                                                \
        if (fits && (int64_t)v != (int64_t)c->field[i]) return false;                              \
        buffer_put(out, &v, sizeof v);                                                             \
    }                                                                                              \
    return true;
    switch (t->dtype) {
    case CTSC_BOOL: ELEMENTS(bool_contents, n_bool_contents, uint8_t, false)
    case CTSC_UINT8: ELEMENTS(uint_contents, n_uint_contents, uint8_t, true)
    case CTSC_INT8: ELEMENTS(int_contents, n_int_contents, int8_t, true)
    case CTSC_INT16: ELEMENTS(int_contents, n_int_contents, int16_t, true)
    case CTSC_INT32: ELEMENTS(int_contents, n_int_contents, int32_t, true)
    case CTSC_INT64: ELEMENTS(int64_contents, n_int64_contents, int64_t, true)
    case CTSC_FLOAT32: ELEMENTS(fp32_contents, n_fp32_contents, float, false)
    case CTSC_FLOAT64: ELEMENTS(fp64_contents, n_fp64_contents, double, false)
    default: *bytes = 0; return true;
    }
#undef ELEMENTS
}

static bool infer_strings(const Rpc__Contents *c, size_t *bytes, buffer *out) {
    *bytes = 0;
    for (size_t i = 0; i < c->n_bytes_contents; i++) {
        size_t len = c->bytes_contents[i].len;
        *bytes += 4 + len;
        if (!out) continue;
        unsigned char prefix[4] = {(unsigned char)len, (unsigned char)(len >> 8),
                                   (unsigned char)(len >> 16), (unsigned char)(len >> 24)};
        buffer_put(out, prefix, sizeof prefix);
        buffer_put(out, c->bytes_contents[i].data, len);
    }
    return true;
}

static size_t infer_count(const Rpc__Contents *c) {
    return c->n_bool_contents + c->n_int_contents + c->n_int64_contents + c->n_uint_contents +
           c->n_uint64_contents + c->n_fp32_contents + c->n_fp64_contents + c->n_bytes_contents;
}

/* Input i: how many bytes its elements have, and, to out, the elements. */
static bool infer_data(ask *a, const Rpc__InferRequest *m, const raws *r, size_t i, size_t *bytes,
                       buffer *out) {
    const Rpc__Tensor *in = m->inputs[i];
    const datatype *t = datatype_named(in->datatype);
    bool ok = true;
    *bytes = 0;
    if (r->n) {
        *bytes = r->of[i].len;
        if (out) buffer_put(out, r->of[i].at, r->of[i].len);
        if (!in->contents || !infer_count(in->contents)) return true;
        return ask_refuse(a, 400, "input '%.60s' has contents beside raw_input_contents", in->name);
    }
    if (!in->contents || !t) return true; /* what is wrong with it is said later */
    if (t == datatype_bytes) ok = infer_strings(in->contents, bytes, out);
    else ok = infer_elements(in->contents, t, bytes, out);
    if (!ok)
        return ask_refuse(a, 400, "input '%.60s': a number in its contents is no %s", in->name,
                          t->wire);
    if (!*bytes && infer_count(in->contents))
        return ask_refuse(a, 400, "input '%.60s': its contents are not in the field for %s",
                          in->name, t->wire);
    return true;
}

/* ---- the request as JSON --------------------------------------------------------------------- */

static void infer_text(buffer *out, const char *key, const char *text) {
    buffer_puts(out, key);
    buffer_json(out, text, strlen(text));
}

static void infer_parameter(buffer *out, const Rpc__Parameter *p) {
    switch (p ? p->choice_case : RPC__PARAMETER__CHOICE__NOT_SET) {
    case RPC__PARAMETER__CHOICE_BOOL_PARAM:
        buffer_puts(out, p->bool_param ? "true" : "false");
        break;
    case RPC__PARAMETER__CHOICE_INT64_PARAM: buffer_int(out, p->int64_param); break;
    case RPC__PARAMETER__CHOICE_STRING_PARAM: infer_text(out, "", p->string_param); break;
    case RPC__PARAMETER__CHOICE_DOUBLE_PARAM: buffer_double(out, p->double_param); break;
    case RPC__PARAMETER__CHOICE_UINT64_PARAM:
        buffer_printf(out, "%llu", (unsigned long long)p->uint64_param);
        break;
    default: buffer_puts(out, "null");
    }
}

/* The members of a "parameters" object; how tensors are sent is not the client's to say. */
static bool infer_parameters(ask *a, Rpc__ParameterEntry *const *of, size_t n) {
    buffer *out = &a->body;
    if (n > INFER_PARAMETERS)
        return ask_refuse(a, 400, "more than %d parameters in one place", INFER_PARAMETERS);
    for (size_t i = 0; i < n; i++) {
        if (!strncmp(of[i]->key, "binary_data", 11)) continue;
        infer_text(out, ",", of[i]->key);
        buffer_putc(out, ':');
        infer_parameter(out, of[i]->value);
    }
    return true;
}

static bool infer_input(ask *a, const Rpc__InferRequest *m, const raws *r, size_t i, size_t *data) {
    const Rpc__Tensor *in = m->inputs[i];
    size_t bytes;
    if (!infer_data(a, m, r, i, &bytes, NULL)) return false;
    *data += bytes;
    infer_text(&a->body, i ? ",{\"name\":" : "{\"name\":", in->name);
    infer_text(&a->body, ",\"datatype\":", in->datatype);
    buffer_puts(&a->body, ",\"shape\":[");
    for (size_t k = 0; k < in->n_shape; k++) {
        if (k) buffer_putc(&a->body, ',');
        buffer_int(&a->body, in->shape[k]);
    }
    buffer_printf(&a->body, "],\"parameters\":{\"binary_data_size\":%zu", bytes);
    if (!infer_parameters(a, in->parameters, in->n_parameters)) return false;
    buffer_puts(&a->body, "}}");
    return true;
}

static bool infer_outputs(ask *a, const Rpc__InferRequest *m) {
    if (!m->n_outputs) return true;
    buffer_puts(&a->body, ",\"outputs\":[");
    for (size_t i = 0; i < m->n_outputs; i++) {
        infer_text(&a->body, i ? ",{\"name\":" : "{\"name\":", m->outputs[i]->name);
        buffer_puts(&a->body, ",\"parameters\":{\"binary_data\":true");
        if (!infer_parameters(a, m->outputs[i]->parameters, m->outputs[i]->n_parameters))
            return false;
        buffer_puts(&a->body, "}}");
    }
    buffer_putc(&a->body, ']');
    return true;
}

static bool infer_write(ask *a, const Rpc__InferRequest *m, const raws *r) {
    size_t data = 0, bytes;
    if (r->n && r->n != m->n_inputs)
        return ask_refuse(a, 400, "raw_input_contents has %zu tensors, the request %zu inputs",
                          r->n, m->n_inputs);
    if (!ask_path(a, m->model_name, m->model_version, "/infer")) return false;
    buffer_puts(&a->body, "{\"parameters\":{\"binary_data_output\":true");
    if (!infer_parameters(a, m->parameters, m->n_parameters)) return false;
    buffer_puts(&a->body, "}");
    if (*m->id) infer_text(&a->body, ",\"id\":", m->id);
    if (!infer_outputs(a, m)) return false;
    buffer_puts(&a->body, ",\"inputs\":[");
    for (size_t i = 0; i < m->n_inputs; i++)
        if (!infer_input(a, m, r, i, &data)) return false;
    buffer_puts(&a->body, "]}");
    snprintf(a->header_length, sizeof a->header_length, "%zu", a->body.len);
    buffer_reserve(&a->body, data + 1);
    for (size_t i = 0; i < m->n_inputs; i++)
        if (!infer_data(a, m, r, i, &bytes, &a->body)) return false;
    return true;
}

bool infer_ask(ask *a) {
    raws r;
    buffer rest = {0};
    r.n = 0;
    bool ok = infer_split(a, &r, &rest);
    const Rpc__InferRequest *m = NULL;
    if (ok && !rest.failed)
        m = message_read(&a->memory, &rpc__infer_request__descriptor, rest.data, rest.len);
    if (ok && !m) ok = ask_refuse(a, 400, "the request is not a message of this method");
    ok = ok && infer_write(a, m, &r);
    buffer_free(&rest);
    return ok;
}

/* ---- the answer ------------------------------------------------------------------------------ */

Rpc__InferResponse *infer_answer(scratch *a, const json_t *j, const char *tensors, size_t len) {
    Rpc__InferResponse *m = message_of_json(a, &rpc__infer_response__descriptor, j);
    const json_t *outputs = json_object_get(j, "outputs");
    size_t n = json_array_size(outputs), at = 0;
    if (!m || !n) return m;
    m->raw_output_contents = scratch_alloc(a, n * sizeof *m->raw_output_contents);
    if (!m->raw_output_contents) return NULL;
    for (size_t i = 0; i < n; i++) {
        const json_t *parameters = json_object_get(json_array_get(outputs, i), "parameters");
        size_t bytes = (size_t)json_integer_value(json_object_get(parameters, "binary_data_size"));
        if (bytes > len - at) return NULL;
        m->raw_output_contents[i] = (ProtobufCBinaryData){bytes, (uint8_t *)tensors + at};
        at += bytes;
    }
    m->n_raw_output_contents = n;
    return m;
}
