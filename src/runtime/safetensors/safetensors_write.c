/* SPDX-License-Identifier: Apache-2.0 */
/*
 * safetensors_write.c - writes .safetensors files.
 *
 * Method. What the dict holds becomes rows; rows on the same elements become one
 * (`same`), the others metadata. The rest is sorted as the reference implementation does, so that
 * the same tensors give the same file. Elements go to the file from where they are; only
 * tensors with gaps, and those of devices, are copied, one at a time.
 * Tests: tests/unit/test_safetensors.c
 */
#include "runtime/safetensors/safetensors.h"

#include "runtime/archive/file_write.h"
#include "tensor/device.h"

#include <jansson.h>
#include <stdlib.h>

enum { SAFE_ALIGNMENT = 8 };

typedef struct safe_row {
    const char *name;
    tensor *t;
    const safe_type *type;
    const char *same; /* the row that has its elements; NULL: itself */
    uint64_t begin, end;
} safe_row;

typedef struct safe_writer {
    diag *d;
    safe_row *rows;
    size_t n;
} safe_writer;

/* ---- rows ------------------------------------------------------------------------------------ */

static ctsc_status safe_row_make(diag *d, const dict_entry *e, safe_row *row) {
    if (e->key.tag != V_STR || e->val.tag != V_TENSOR)
        return diag_fail(d, CTSC_USAGE, "a safetensors file holds tensors by name, nothing else");
    *row = (safe_row){.name = e->key.u.str->bytes, .t = e->val.u.tensor};
    if (strlen(row->name) != e->key.u.str->len || !strcmp(row->name, "__metadata__"))
        return diag_fail(d, CTSC_USAGE, "safetensors: '%.200s' is not a name of a tensor",
                         row->name);
    row->type = safe_type_of((dtype)row->t->dtype);
    if (row->type) return CTSC_OK;
    return diag_fail(d, CTSC_UNSUPPORTED, "safetensors: '%.200s' is %s, which the format lacks",
                     row->name, dtype_table[row->t->dtype].torch_name);
}

static int safe_by_type(const void *a, const void *b) {
    const safe_row *x = a, *y = b;
    int order = safe_type_order(x->type) - safe_type_order(y->type);
    return order ? order : strcmp(x->name, y->name);
}

/* Where its elements are, and in which order: 0 for tensors that are the same. */
static int safe_compare_views(const tensor *a, const tensor *b) {
    const char *x = tensor_data(a), *y = tensor_data(b);
    if (a == b) return 0;
    if (x != y) return x < y ? -1 : 1;
    if (a->dtype != b->dtype) return a->dtype - b->dtype;
    if (a->ndim != b->ndim) return a->ndim - b->ndim;
    size_t dims = (size_t)a->ndim * sizeof *a->sizes;
    int order = memcmp(a->sizes, b->sizes, dims);
    return order ? order : memcmp(a->strides, b->strides, dims);
}

static int safe_by_view(const void *a, const void *b) {
    const safe_row *x = a, *y = b;
    int order = safe_compare_views(x->t, y->t);
    return order ? order : strcmp(x->name, y->name);
}

/* Rows with the same elements are adjacent, the first by name before the others. */
static void safe_note_same(safe_writer *w) {
    qsort(w->rows, w->n, sizeof *w->rows, safe_by_view);
    const safe_row *first = w->rows;
    for (size_t i = 1; i < w->n; i++) {
        safe_row *row = &w->rows[i];
        if (row->t->numel && !safe_compare_views(row->t, first->t)) row->same = first->name;
        else first = row;
    }
}

/* Fills the places. */
static ctsc_status safe_layout(safe_writer *w) {
    uint64_t at = 0;
    for (size_t i = 0; i < w->n; i++) {
        safe_row *row = &w->rows[i];
        if (row->same) continue;
        row->begin = at;
        at += (uint64_t)row->t->numel * dtype_size((dtype)row->t->dtype);
        row->end = at;
        if (at > INT64_MAX) return diag_fail(w->d, CTSC_LIMIT, "safetensors: too much data");
    }
    return CTSC_OK;
}

/* ---- the header ------------------------------------------------------------------------------ */

/* Takes item; false if out of memory, or where a text is not UTF-8. */
static bool safe_set(json_t *o, const char *key, json_t *item) {
    return json_object_set_new(o, key, item) == 0;
}

static json_t *safe_row_json(const safe_row *row) {
    json_t *o = json_object(), *shape = json_array(), *place = json_array();
    for (int i = 0; i < row->t->ndim; i++)
        json_array_append_new(shape, json_integer(row->t->sizes[i]));
    json_array_append_new(place, json_integer((json_int_t)row->begin));
    json_array_append_new(place, json_integer((json_int_t)row->end));
    bool ok = json_array_size(shape) == (size_t)row->t->ndim && json_array_size(place) == 2;
    ok = safe_set(o, "dtype", json_string(safe_type_name(row->type))) && ok;
    ok = safe_set(o, "shape", shape) && ok;
    ok = safe_set(o, "data_offsets", place) && ok;
    if (ok) return o;
    json_decref(o);
    return NULL;
}

static bool safe_metadata_json(const safe_writer *w, size_t n, const safe_pair *metadata,
                               json_t *header) {
    json_t *o = json_object();
    bool ok = o != NULL;
    for (size_t i = 0; ok && i < n; i++)
        ok = safe_set(o, metadata[i].key, json_string(metadata[i].text));
    for (size_t i = 0; ok && i < w->n; i++)
        if (w->rows[i].same) ok = safe_set(o, w->rows[i].name, json_string(w->rows[i].same));
    if (ok && json_object_size(o)) return safe_set(header, "__metadata__", o);
    json_decref(o);
    return ok;
}

/* The text, padded; to be freed with free. NULL: out of memory, or no UTF-8. */
static char *safe_header_text(const safe_writer *w, size_t n, const safe_pair *metadata,
                              size_t *len) {
    json_t *header = json_object();
    bool ok = header && safe_metadata_json(w, n, metadata, header);
    for (size_t i = 0; ok && i < w->n; i++)
        if (!w->rows[i].same) ok = safe_set(header, w->rows[i].name, safe_row_json(&w->rows[i]));
    char *text = ok ? json_dumps(header, JSON_COMPACT) : NULL;
    json_decref(header);
    size_t used = text ? strlen(text) : 0,
           size = (used + SAFE_ALIGNMENT - 1) & ~(size_t)(SAFE_ALIGNMENT - 1);
    char *padded = text ? realloc(text, size + 1) : NULL;
    if (!padded) return free(text), NULL;
    memset(padded + used, ' ', size - used);
    *len = size;
    return padded;
}

/* ---- the file -------------------------------------------------------------------------------- */

static ctsc_status safe_write_row(diag *d, file_writer *file, const safe_row *row) {
    tensor *dense = NULL, *here = NULL;
    ctsc_status s = tensor_contiguous(d, row->t, &dense);
    if (s == CTSC_OK) s = tensor_to_device(d, dense, DEVICE_HOST, &here);
    if (s == CTSC_OK && row->end > row->begin)
        s = file_write(file, d, tensor_data(here), (size_t)(row->end - row->begin));
    tensor_unref(dense);
    tensor_unref(here);
    return s;
}

static ctsc_status safe_write_file(safe_writer *w, const char *header, size_t len,
                                   const char *path) {
    file_writer *file = NULL;
    uint8_t length[8];
    for (int i = 0; i < 8; i++) length[i] = (uint8_t)((uint64_t)len >> 8 * i);
    ctsc_status s = file_writer_open(w->d, path, &file);
    if (s == CTSC_OK) s = file_write(file, w->d, length, sizeof length);
    if (s == CTSC_OK) s = file_write(file, w->d, header, len);
    for (size_t i = 0; i < w->n && s == CTSC_OK; i++)
        if (!w->rows[i].same) s = safe_write_row(w->d, file, &w->rows[i]);
    if (s == CTSC_OK) s = file_writer_commit(file, w->d);
    file_writer_free(file);
    return s;
}

ctsc_status safe_write(diag *d, const dict *tensors, size_t nmetadata, const safe_pair *metadata,
                       const char *path) {
    safe_writer w = {.d = d, .rows = mem_zalloc((tensors->len + 1) * sizeof(safe_row))};
    ctsc_status s = w.rows ? CTSC_OK : diag_no_memory(d);
    for (size_t i = 0; i < tensors->used && s == CTSC_OK; i++)
        if (tensors->entries[i].key.tag != V_UNINIT)
            s = safe_row_make(d, &tensors->entries[i], &w.rows[w.n++]);
    if (s == CTSC_OK) {
        safe_note_same(&w);
        qsort(w.rows, w.n, sizeof *w.rows, safe_by_type);
    }
    if (s == CTSC_OK) s = safe_layout(&w);
    size_t len = 0;
    char *header = s == CTSC_OK ? safe_header_text(&w, nmetadata, metadata, &len) : NULL;
    if (s == CTSC_OK && !header)
        s = diag_fail(d, CTSC_USAGE, "safetensors: a name or a text of the metadata is not UTF-8");
    if (s == CTSC_OK) s = safe_write_file(&w, header, len, path);
    free(header);
    mem_free(w.rows);
    return s;
}
