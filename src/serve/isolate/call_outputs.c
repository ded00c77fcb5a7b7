/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_outputs.c - what a call gave, flattened (call_outputs.h).
 *
 * Tests: tests/unit/test_serve.c, tests/serve/client.py
 */
#include "serve/isolate/call_outputs.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void outputs_drop_print(void *ctx, const char *text, size_t len) {
    (void)ctx, (void)text, (void)len;
}

enum { OUTPUTS_DEPTH = 20, OUTPUTS_MOST = 10000 };

void outputs_free(outputs *o) {
    for (size_t i = 0; i < o->n; i++) {
        ctsc_value_free(o->values[i]);
        free(o->names[i]);
    }
    free(o->values);
    free(o->names);
    *o = (outputs){0};
}

bool outputs_push(outputs *o, const ctsc_value *v, const char *name) {
    if (o->n == o->cap) {
        size_t cap = o->cap ? 2 * o->cap : 4;
        ctsc_value **values = realloc(o->values, cap * sizeof *values);
        if (values) o->values = values;
        char **names = realloc(o->names, cap * sizeof *names);
        if (names) o->names = names;
        if (!values || !names || cap > OUTPUTS_MOST) return false;
        o->cap = cap;
    }
    ctsc_value *mine = NULL;
    char *own = name ? strdup(name) : NULL;
    if (ctsc_value_kind(v) != CTSC_KIND_TENSOR) mine = ctsc_value_copy(v);
    else if (ctsc_tensor_contiguous(v, &mine, NULL) != CTSC_OK) mine = NULL;
    if (!mine || (name && !own)) {
        ctsc_value_free(mine);
        free(own);
        return false;
    }
    o->values[o->n] = mine;
    o->names[o->n++] = own;
    return true;
}

/* What all items of a list are, if that is a number, a bool or a string; else CTSC_KIND_OTHER. */
static ctsc_kind outputs_item_kind(const ctsc_value *v) {
    ctsc_kind all = CTSC_KIND_OTHER;
    for (size_t i = 0; i < ctsc_value_len(v); i++) {
        ctsc_value *item = ctsc_value_item(v, i);
        ctsc_kind k = ctsc_value_kind(item);
        ctsc_value_free(item);
        if (k != CTSC_KIND_INT && k != CTSC_KIND_FLOAT && k != CTSC_KIND_BOOL &&
            k != CTSC_KIND_STRING)
            return CTSC_KIND_OTHER;
        if (i && k != all) return CTSC_KIND_OTHER;
        all = k;
    }
    return all;
}

/* A list of numbers or bools is a tensor of one dimension. */
static bool outputs_push_numbers(outputs *o, const ctsc_value *v, ctsc_kind k, const char *name) {
    int64_t n = (int64_t)ctsc_value_len(v);
    ctsc_value *t = NULL;
    ctsc_dtype dtype = k == CTSC_KIND_INT     ? CTSC_INT64
                       : k == CTSC_KIND_FLOAT ? CTSC_FLOAT64
                                              : CTSC_BOOL;
    if (ctsc_tensor_new(dtype, 1, &n, &t, NULL) != CTSC_OK) return false;
    void *data = ctsc_tensor_data(t);
    for (int64_t i = 0; i < n; i++) {
        ctsc_value *item = ctsc_value_item(v, (size_t)i);
        if (k == CTSC_KIND_INT) ((int64_t *)data)[i] = ctsc_value_int(item);
        else if (k == CTSC_KIND_FLOAT) ((double *)data)[i] = ctsc_value_float(item);
        else ((uint8_t *)data)[i] = ctsc_value_bool(item);
        ctsc_value_free(item);
    }
    bool ok = outputs_push(o, t, name);
    ctsc_value_free(t);
    return ok;
}

static bool outputs_walk(outputs *o, const ctsc_value *v, const char *name, int depth) {
    ctsc_kind k = ctsc_value_kind(v), items;
    if (depth > OUTPUTS_DEPTH) return false;
    if (k == CTSC_KIND_LIST && (items = outputs_item_kind(v)) != CTSC_KIND_OTHER)
        return items == CTSC_KIND_STRING ? outputs_push(o, v, name)
                                         : outputs_push_numbers(o, v, items, name);
    if (k == CTSC_KIND_LIST && !ctsc_value_len(v)) return outputs_push(o, v, name);
    if (k != CTSC_KIND_TUPLE && k != CTSC_KIND_LIST && k != CTSC_KIND_DICT)
        return outputs_push(o, v, name);
    bool ok = true;
    for (size_t i = 0; ok && i < ctsc_value_len(v); i++) {
        ctsc_value *item = ctsc_value_item(v, i),
                   *key = k == CTSC_KIND_DICT ? ctsc_value_key(v, i) : NULL;
        const char *text = ctsc_value_kind(key) == CTSC_KIND_STRING ? ctsc_value_string(key, NULL)
                                                                    : NULL;
        ok = item && (k != CTSC_KIND_DICT || key) && outputs_walk(o, item, text, depth + 1);
        ctsc_value_free(item);
        ctsc_value_free(key);
    }
    return ok;
}

bool outputs_add(outputs *o, const ctsc_value *result) { return outputs_walk(o, result, NULL, 0); }
