/* SPDX-License-Identifier: Apache-2.0 */
/*
 * safetensors_read.c - opens .safetensors files: the header's JSON, and tensors on the mapping.
 *
 * Method. jansson parses the header (it refuses what is said twice and integers beyond 64 bits);
 * the tree becomes entries and is dropped. Entries are sorted by their place: each has to begin
 * where the one before ends, and the last one ends with the file.
 *
 * Ownership: a tensor's storage is a slice of the file's, and holds a
 * reference to it. The first write to it copies that slice and not the file.
 * Tests: tests/unit/test_safetensors.c
 */
#include "runtime/safetensors/safetensors.h"

#include "runtime/archive/archive_internal.h"

#include <jansson.h>
#include <stdlib.h>

enum { SAFE_LENGTH = 8, SAFE_MAX_HEADER = 100000000, SAFE_MAX_NAME = 4096 };

/* ---- one tensor of the header ---------------------------------------------------------------- */

static ctsc_status safe_bad(diag *d, const char *name, const char *what) {
    return diag_fail(d, CTSC_BAD_FILE, "damaged header of a safetensors file: '%.200s' %s", name,
                     what);
}

static ctsc_status safe_shape(diag *d, safe_file *f, const json_t *shape, safe_entry *e) {
    size_t n = json_array_size(shape);
    if (!json_is_array(shape)) return safe_bad(d, e->name, "has no shape");
    if (n > TENSOR_MAX_DIMS)
        return diag_fail(d, CTSC_LIMIT, "safetensors: '%.200s' has %zu dims, more than %d", e->name,
                         n, TENSOR_MAX_DIMS);
    int64_t *sizes = arena_array(&f->arena, int64_t, n ? n : 1);
    if (arena_failed(&f->arena)) return diag_no_memory(d);
    for (size_t i = 0; i < n; i++) {
        const json_t *size = json_array_get(shape, i);
        if (!json_is_integer(size) || json_integer_value(size) < 0)
            return safe_bad(d, e->name, "has a size that is not a number from 0 on");
        sizes[i] = json_integer_value(size);
    }
    e->ndim = (int)n;
    e->sizes = sizes;
    return CTSC_OK;
}

static ctsc_status safe_place(diag *d, const json_t *offsets, safe_entry *e) {
    const json_t *begin = json_array_get(offsets, 0), *end = json_array_get(offsets, 1);
    if (json_array_size(offsets) != 2 || !json_is_integer(begin) || !json_is_integer(end) ||
        json_integer_value(begin) < 0 || json_integer_value(end) < json_integer_value(begin))
        return safe_bad(d, e->name, "has no data_offsets [begin, end]");
    e->begin = (uint64_t)json_integer_value(begin);
    e->end = (uint64_t)json_integer_value(end);
    return CTSC_OK;
}

/* The shape takes the bytes that the offsets give it. */
static ctsc_status safe_extent(diag *d, const safe_entry *e) {
    uint64_t n = safe_type_bits(e->type);
    bool empty = false, fits = true;
    for (int i = 0; i < e->ndim; i++) {
        empty = empty || !e->sizes[i];
        fits = fits && !__builtin_mul_overflow(n, (uint64_t)e->sizes[i], &n);
    }
    if (empty) n = 0;
    else if (!fits || n > INT64_MAX)
        return diag_fail(d, CTSC_LIMIT, "safetensors: the shape of '%.200s' is too large", e->name);
    if (n % 8 || n / 8 != e->end - e->begin)
        return safe_bad(d, e->name, "has data_offsets that do not fit its shape");
    return CTSC_OK;
}

static ctsc_status safe_entry_read(diag *d, safe_file *f, const char *name, const json_t *o,
                                   safe_entry *e) {
    const char *dtype = json_string_value(json_object_get(o, "dtype"));
    if (strlen(name) > SAFE_MAX_NAME) return safe_bad(d, name, "is too long a name");
    *e = (safe_entry){.name = arena_strdup(&f->arena, name)};
    if (arena_failed(&f->arena)) return diag_no_memory(d);
    if (!dtype || strlen(dtype) > SAFE_MAX_NAME) return safe_bad(d, name, "has no dtype");
    e->dtype = arena_strdup(&f->arena, dtype);
    if (arena_failed(&f->arena)) return diag_no_memory(d);
    e->type = safe_type_named(dtype);
    TRY(safe_shape(d, f, json_object_get(o, "shape"), e));
    TRY(safe_place(d, json_object_get(o, "data_offsets"), e));
    return e->type ? safe_extent(d, e) : CTSC_OK;
}

/* ---- the header ------------------------------------------------------------------------------ */

static const char safe_metadata_key[] = "__metadata__";

static ctsc_status safe_metadata(diag *d, safe_file *f, json_t *o) {
    const char *key;
    json_t *text;
    if (!json_is_object(o)) return safe_bad(d, safe_metadata_key, "is not an object");
    f->metadata = arena_array(&f->arena, safe_pair, json_object_size(o) + 1);
    if (arena_failed(&f->arena)) return diag_no_memory(d);
    json_object_foreach(o, key, text) {
        if (!json_is_string(text)) return safe_bad(d, safe_metadata_key, "has what is not text");
        f->metadata[f->nmetadata++] = (safe_pair){arena_strdup(&f->arena, key),
                                                  arena_strdup(&f->arena, json_string_value(text))};
        if (arena_failed(&f->arena)) return diag_no_memory(d);
    }
    return CTSC_OK;
}

static int safe_compare(const void *a, const void *b) {
    const safe_entry *x = a, *y = b;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    if (x->end != y->end) return x->end < y->end ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Each byte of the data belongs to exactly one tensor. */
static ctsc_status safe_cover(diag *d, const safe_file *f) {
    uint64_t at = 0, room = f->contents->nbytes - f->base;
    for (size_t i = 0; i < f->count; i++) {
        const safe_entry *e = &f->entries[i];
        if (e->end > room) return safe_bad(d, e->name, "ends beyond the end of the file");
        if (e->begin < at) return safe_bad(d, e->name, "overlaps another tensor");
        if (e->begin > at) return safe_bad(d, e->name, "leaves a gap before it");
        at = e->end;
    }
    if (at == room) return CTSC_OK;
    return diag_fail(d, CTSC_BAD_FILE, "damaged safetensors file: %llu bytes after the last tensor",
                     (unsigned long long)(room - at));
}

static ctsc_status safe_entries(diag *d, safe_file *f, json_t *header) {
    const char *name;
    json_t *o;
    f->entries = arena_array(&f->arena, safe_entry, json_object_size(header) + 1);
    if (arena_failed(&f->arena)) return diag_no_memory(d);
    json_object_foreach(header, name, o) {
        if (!strcmp(name, safe_metadata_key)) TRY(safe_metadata(d, f, o));
        else TRY(safe_entry_read(d, f, name, o, &f->entries[f->count++]));
    }
    qsort(f->entries, f->count, sizeof *f->entries, safe_compare);
    for (size_t i = 0; i < f->count; i++)
        if (!strmap_put(&f->by_name, f->entries[i].name, &f->entries[i])) return diag_no_memory(d);
    return safe_cover(d, f);
}

static ctsc_status safe_header(diag *d, safe_file *f) {
    size_t size = f->contents->nbytes;
    const char *text = (const char *)f->contents->data + SAFE_LENGTH;
    uint64_t len = size >= SAFE_LENGTH ? le64(f->contents->data) : 0;
    if (size < SAFE_LENGTH || len > size - SAFE_LENGTH || len < 2)
        return diag_fail(d, CTSC_BAD_FILE,
                         "damaged header of a safetensors file: its length is %llu, the file's %zu",
                         (unsigned long long)len, size);
    if (len > SAFE_MAX_HEADER)
        return diag_fail(d, CTSC_LIMIT, "safetensors: a header of %llu bytes, more than %d",
                         (unsigned long long)len, SAFE_MAX_HEADER);
    f->base = SAFE_LENGTH + (size_t)len;
    json_error_t error;
    json_t *header = *text == '{' ? json_loadb(text, (size_t)len, JSON_REJECT_DUPLICATES, &error)
                                  : NULL;
    if (!header && *text == '{' && json_error_code(&error) == json_error_out_of_memory)
        return diag_no_memory(d);
    if (!header)
        return diag_fail(d, CTSC_BAD_FILE, "damaged header of a safetensors file: %s",
                         *text == '{' ? error.text : "it is not a JSON object");
    ctsc_status s = safe_entries(d, f, header);
    json_decref(header);
    return s;
}

ctsc_status safe_open(diag *d, reader r, safe_file **out) {
    safe_file *f = mem_zalloc(sizeof *f);
    if (!f) return reader_close(&r), diag_no_memory(d);
    f->of_file = r.of_file;
    ctsc_status s = reader_contents(d, r, &f->contents);
    if (s == CTSC_OK) s = arena_init(&f->arena) ? safe_header(d, f) : diag_no_memory(d);
    if (s == CTSC_OK) *out = f;
    else safe_close(f);
    return s;
}

void safe_close(safe_file *f) {
    if (!f) return;
    strmap_free(&f->by_name);
    arena_free(&f->arena);
    storage_unref(f->contents);
    mem_free(f);
}

/* ---- tensors --------------------------------------------------------------------------------- */

static void safe_release(void *ctx, void *data) {
    (void)data;
    storage_unref(ctx);
}

/* Numbers of four bits are kept in eight: PyTorch's dtype for two of them in a byte can do nothing
 * but be looked at. */
static ctsc_status safe_narrow(diag *d, const safe_file *f, const safe_entry *e, tensor **out) {
    TRY(tensor_new(d, DT_FLOAT8_E4M3FN, e->ndim, e->sizes, out));
    float8_from_float4((const uint8_t *)f->contents->data + f->base + e->begin, (*out)->numel,
                       tensor_data(*out));
    return CTSC_OK;
}

ctsc_status safe_tensor(diag *d, const safe_file *f, const safe_entry *e, tensor **out) {
    int64_t strides[TENSOR_MAX_DIMS], nbytes;
    if (e->type && e->type->bits == 4) return safe_narrow(d, f, e, out);
    if (!e->type || e->type->dt < 0)
        return diag_fail(d, CTSC_UNSUPPORTED,
                         "safetensors: '%.200s' has elements of type %.50s, which are not "
                         "supported",
                         e->name, e->dtype);
    dtype dt = (dtype)e->type->dt;
    TRY(tensor_layout(d, dt, e->ndim, e->sizes, strides, &nbytes));
    uint8_t *at = (uint8_t *)f->contents->data + f->base + e->begin;
    size_t size = (size_t)(e->end - e->begin);
    bool slice = (uintptr_t)at % dtype_size(dt) == 0;
    storage *st = slice ? storage_borrow(at, size, safe_release, f->contents) : storage_new(size);
    if (!st) return diag_no_memory(d);
    if (slice) {
        storage_ref(f->contents);
        st->read_only = f->contents->read_only;
        st->of_file = f->of_file && st->read_only;
    } else if (size) {
        memcpy(st->data, at, size);
    }
    ctsc_status s = tensor_on_storage(d, st, dt, e->ndim, e->sizes, strides, 0, out);
    storage_unref(st);
    return s;
}

static ctsc_status safe_put(diag *d, dict *into, const char *name, value v_take) {
    str *key = str_new(name, strlen(name));
    if (!key) value_unref(v_take);
    return key && dict_set_take(into, value_str_take(key), v_take) ? CTSC_OK : diag_no_memory(d);
}

static ctsc_status safe_fill(diag *d, const safe_file *f, dict *into) {
    for (size_t i = 0; i < f->count; i++) {
        tensor *t = NULL;
        TRY(safe_tensor(d, f, &f->entries[i], &t));
        TRY(safe_put(d, into, f->entries[i].name, value_tensor_take(t)));
    }
    for (size_t i = 0; i < f->nmetadata; i++) { /* OTHER = NAME */
        const safe_pair *m = &f->metadata[i];
        const safe_entry *e = strmap_get(&f->by_name, m->text);
        if (!e || strmap_get(&f->by_name, m->key)) continue;
        value same = into->entries[e - f->entries].val;
        TRY(safe_put(d, into, m->key, value_ref(same)));
    }
    return CTSC_OK;
}

ctsc_status load_safetensors(diag *d, reader r, value *out) {
    safe_file *f = NULL;
    TRY(safe_open(d, r, &f));
    dict *into = dict_new(TYPE_STR, TYPE_TENSOR);
    ctsc_status s = into ? safe_fill(d, f, into) : diag_no_memory(d);
    safe_close(f);
    if (s == CTSC_OK) *out = value_dict_take(into);
    else if (into) value_unref(value_dict_take(into));
    return s;
}
