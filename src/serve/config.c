/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config.c - reads config.json. A key that is not known is an error: a mistyped one would else be a
 * setting that silently does nothing.
 *
 * Tests: tests/unit/test_serve.c
 */
#include "serve/config.h"

#include <jansson.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ---- datatypes ------------------------------------------------------------------------------- */

static const datatype datatype_strings = {.wire = "BYTES"};
const datatype *const datatype_bytes = &datatype_strings;

const datatype *datatype_named(const char *name) {
    const datatype *t;
    for (size_t i = 0; (t = ctsc_dtype_at(i)) != NULL; i++)
        if (t->wire && !strcmp(t->wire, name)) return t;
    return strcmp(name, datatype_bytes->wire) ? NULL : datatype_bytes;
}

const datatype *datatype_of(ctsc_dtype d) {
    const datatype *t = ctsc_dtype_describe(d);
    return t && t->wire ? t : NULL;
}

bool datatype_has_json(const datatype *t) {
    return t->use == CTSC_DTYPE_COMPUTED && t->dtype != CTSC_FLOAT16 && t->dtype != CTSC_BFLOAT16;
}

/* ---- config.json ----------------------------------------------------------------------------- */

void config_free(model_config *c) {
    for (size_t i = 0; i < c->ninputs; i++) free(c->inputs[i].name);
    for (size_t i = 0; i < c->noutputs; i++) free(c->outputs[i].name);
    free(c->inputs);
    free(c->outputs);
    free(c->method);
    free(c->precision);
    free(c->position);
    *c = (model_config){0};
}

typedef struct config_reader {
    model_config *c;
    char *why;
    size_t why_size;
} config_reader;

static bool config_whole(config_reader *r, const char *key, const json_t *v, int64_t lo, int64_t hi,
                         int64_t *out) {
    if (json_is_integer(v) && json_integer_value(v) >= lo && json_integer_value(v) <= hi) {
        *out = json_integer_value(v);
        return true;
    }
    snprintf(r->why, r->why_size, "config.json: '%s' must be a whole number from %lld to %lld", key,
             (long long)lo, (long long)hi);
    return false;
}

static bool config_shape(config_reader *r, const json_t *v, config_tensor *t) {
    if (!json_is_array(v) || json_array_size(v) > CONFIG_MAX_DIMS) {
        snprintf(r->why, r->why_size, "config.json: a 'shape' must be a list of at most %d numbers",
                 CONFIG_MAX_DIMS);
        return false;
    }
    t->ndim = (int)json_array_size(v);
    for (int i = 0; i < t->ndim; i++)
        if (!config_whole(r, "shape", json_array_get(v, (size_t)i), -1, INT64_C(1) << 40,
                          &t->dims[i]))
            return false;
    return true;
}

static bool config_one_tensor(config_reader *r, const json_t *v, config_tensor *t) {
    const char *key;
    json_t *item;
    t->ndim = -1;
    json_object_foreach((json_t *)v, key, item) {
        if (!strcmp(key, "name") && json_is_string(item) && *json_string_value(item)) {
            free(t->name);
            t->name = strdup(json_string_value(item));
        } else if (!strcmp(key, "datatype") && json_is_string(item)) {
            t->type = datatype_named(json_string_value(item));
            if (!t->type) {
                snprintf(r->why, r->why_size, "config.json: there is no datatype '%.40s'",
                         json_string_value(item));
                return false;
            }
        } else if (!strcmp(key, "shape")) {
            if (!config_shape(r, item, t)) return false;
        } else {
            snprintf(r->why, r->why_size,
                     "config.json: a tensor has 'name', 'datatype' and 'shape', not '%.40s'", key);
            return false;
        }
    }
    if (t->name) return true;
    snprintf(r->why, r->why_size, "config.json: a tensor must have a 'name'");
    return false;
}

static bool config_tensors(config_reader *r, const char *key, const json_t *v, config_tensor **rows,
                           size_t *n) {
    if (!json_is_array(v) || json_array_size(v) > CONFIG_MAX_TENSORS) {
        snprintf(r->why, r->why_size, "config.json: '%s' must be a list", key);
        return false;
    }
    if (*rows) return true; /* a repeated key: jansson keeps one */
    *rows = calloc(json_array_size(v) + 1, sizeof **rows);
    if (!*rows) {
        snprintf(r->why, r->why_size, "out of memory");
        return false;
    }
    for (size_t i = 0; i < json_array_size(v); i++) {
        const json_t *row = json_array_get(v, i);
        *n = i + 1;
        if (!json_is_object(row)) {
            snprintf(r->why, r->why_size, "config.json: '%s' must hold objects", key);
            return false;
        }
        if (!config_one_tensor(r, row, &(*rows)[i])) return false;
    }
    return true;
}

static bool config_text(config_reader *r, const char *key, const json_t *v, char **to) {
    if (!json_is_string(v)) {
        snprintf(r->why, r->why_size, "config.json: '%s' must be text", key);
        return false;
    }
    free(*to);
    *to = strdup(json_string_value(v));
    if (!*to) snprintf(r->why, r->why_size, "out of memory");
    return *to != NULL;
}

static bool config_versions(config_reader *r, const json_t *v) {
    const char *text = json_is_string(v) ? json_string_value(v) : "";
    r->c->only_latest = !strcmp(text, "latest");
    if (r->c->only_latest || !strcmp(text, "all")) return true;
    snprintf(r->why, r->why_size, "config.json: 'versions' must be \"all\" or \"latest\"");
    return false;
}

/* Settings that are whole numbers: key, bounds, where it goes, and what it is multiplied with. */
static const struct {
    const char *key;
    int64_t lo, hi;
    size_t offset, size;
    int64_t scale;
} config_numbers[] = {
#define NUMBER(key, lo, hi, field, scale)                                                          \
    {key, lo, hi, offsetof(model_config, field), sizeof(((model_config *)0)->field), scale}
    /* clang-format off */
    NUMBER("max_batch_size",     0, 65536,     max_batch,    1),
    NUMBER("max_queue_delay_us", 0, 10000000,  max_delay_us, 1),
    NUMBER("instances",          1, 256,       instances,    1),
    NUMBER("max_queue",          1, 1000000,   max_queue,    1),
    NUMBER("timeout_ms",         0, 86400000,  timeout_us,   1000),
    NUMBER("max_bytes",          0, INT64_MAX, max_bytes,    1),
    NUMBER("max_process_bytes",  0, INT64_MAX, max_process_bytes, 1),
    NUMBER("opt",                0, 3,         opt,          1),
    NUMBER("max_length",         0, 1000000,   max_length,   1),
    NUMBER("warmup",             0, 1000,      warmup,       1)
/* clang-format on */
#undef NUMBER
};

static bool config_key(config_reader *r, const char *key, const json_t *v) {
    model_config *c = r->c;
    if (!strcmp(key, "method")) return config_text(r, key, v, &c->method);
    if (!strcmp(key, "precision")) return config_text(r, key, v, &c->precision);
    if (!strcmp(key, "position")) return config_text(r, key, v, &c->position);
    if (!strcmp(key, "versions")) return config_versions(r, v);
    if (!strcmp(key, "inputs")) return config_tensors(r, key, v, &c->inputs, &c->ninputs);
    if (!strcmp(key, "outputs")) return config_tensors(r, key, v, &c->outputs, &c->noutputs);
    for (size_t i = 0; i < sizeof config_numbers / sizeof *config_numbers; i++) {
        int64_t n;
        if (strcmp(key, config_numbers[i].key)) continue;
        if (!config_whole(r, key, v, config_numbers[i].lo, config_numbers[i].hi, &n)) return false;
        n *= config_numbers[i].scale;
        int small = (int)n; /* the table's bounds say that it fits where the field is an int */
        bool wide = config_numbers[i].size == sizeof n;
        memcpy((char *)c + config_numbers[i].offset, wide ? (void *)&n : (void *)&small,
               config_numbers[i].size);
        return true;
    }
    snprintf(r->why, r->why_size, "config.json: there is no setting '%.40s'", key);
    return false;
}

bool config_read(const char *text, size_t len, const serve_options *o, model_config *out, char *why,
                 size_t why_size) {
    config_reader r = {.c = out, .why = why, .why_size = why_size};
    *out = (model_config){.instances = o->instances,
                          .max_queue = o->max_queue,
                          .timeout_us = o->timeout_us,
                          .max_bytes = o->max_bytes,
                          .max_process_bytes = o->max_process_bytes,
                          .opt = 2,
                          .warmup = 4};
    out->method = strdup("forward");
    if (o->precision) out->precision = strdup(o->precision);
    if (text && len > (1u << 20)) {
        snprintf(why, why_size, "config.json is larger than 1 MiB");
        return false;
    }
    json_error_t je;
    json_t *root = text ? json_loadb(text, len, 0, &je) : json_object();
    bool ok = json_is_object(root);
    if (!root && (!text || json_error_code(&je) == json_error_out_of_memory))
        snprintf(why, why_size, "out of memory");
    else if (!ok)
        snprintf(why, why_size, "config.json, line %d: %.100s", root ? 1 : je.line,
                 root ? "not an object" : je.text);
    const char *key;
    json_t *v;
    if (ok) {
        json_object_foreach(root, key, v) {
            ok = config_key(&r, key, v);
            if (!ok) break;
        }
    }
    json_decref(root);
    for (size_t i = 0; ok && i < out->ninputs; i++) ok = out->inputs[i].name != NULL;
    if (ok && (!out->method || (o->precision && !out->precision))) {
        snprintf(why, why_size, "out of memory");
        ok = false;
    }
    return ok;
}
