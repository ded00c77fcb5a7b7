/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ep_meta.c - numbers of dtypes, layouts and memory formats; what is said of tensors; the tables of
 * an archive's weights.
 */
#include "frontend/export/ep_internal.h"

/*      the schema's, PyTorch's */
static const int8_t meta_dtypes[][2] = {
    {1, 0},   {2, 1},   {3, 2},   {4, 3},   {5, 4},   {6, 5},   {7, 6},
    {8, 7},   {9, 8},   {10, 9},  {11, 10}, {12, 11}, {13, 15}, {28, 27},
    {29, 24}, {30, 23}, {31, 26}, {32, 25}, {33, 44}, {34, 28}, {35, 29},
};

static bool meta_number(ep_program *p, const json_t *v, const char *what, const int8_t (*table)[2],
                        size_t n, int64_t *out) {
    int64_t number;
    if (!ep_int(p, v, &number)) return false;
    for (size_t i = 0; i < n; i++)
        if (table[i][0] == number) return *out = table[i][1], true;
    return ep_bad(p, "%lld is the number of no %s", (long long)number, what);
}
#define META_NUMBER(p, v, what, table, out)                                                        \
    meta_number(p, v, what, table, sizeof table / sizeof *table, out)

bool ep_dtype(ep_program *p, const json_t *v, int64_t *out) {
    return META_NUMBER(p, v, "dtype", meta_dtypes, out);
}

bool ep_layout(ep_program *p, const json_t *v, int64_t *out) {
    static const int8_t layouts[][2] = {{1, 1}, {2, 2}, {3, 4}, {4, 5}, {5, 6}, {6, 3}, {7, 0}};
    return META_NUMBER(p, v, "layout", layouts, out);
}

bool ep_memory_format(ep_program *p, const json_t *v, int64_t *out) {
    static const int8_t formats[][2] = {{1, 0}, {2, 2}, {3, 3}, {4, 1}};
    return META_NUMBER(p, v, "memory format", formats, out);
}

const json_t *ep_meta(ep_program *p, const json_t *graph, const char *name) {
    const json_t *m = json_object_get(json_object_get(graph, "tensor_values"), name);
    return p->major == 1 && m ? json_object_get(m, "meta") : m;
}

bool ep_port(ep_program *p, const json_t *graph, const char *value, port *out) {
    const json_t *meta = ep_meta(p, graph, value), *sizes;
    int64_t dt, own[TENSOR_MAX_DIMS];
    if (!meta) return true;
    if (!(sizes = ep_array(p, meta, "sizes")) || !ep_dtype(p, json_object_get(meta, "dtype"), &dt))
        return false;
    size_t n = json_array_size(sizes);
    if (n > TENSOR_MAX_DIMS) return ep_bad(p, "'%.200s' has %zu dims", value, n);
    for (size_t i = 0; i < n; i++) {
        const json_t *v;
        const char *kind = ep_union(p, json_array_get(sizes, i), &v);
        if (!kind) return false;
        own[i] = -1;
        if (!strcmp(kind, "as_int") && !ep_int(p, v, &own[i])) return false;
        if (own[i] < 0) own[i] = -1;
    }
    int64_t *kept = arena_array(&p->unit->arena, int64_t, (int)n + 1);
    if (!kept) return ep_no_memory(p);
    memcpy(kept, own, n * sizeof *own);
    out->dt = dtype_valid(dt) ? (int)dt : -1;
    out->ndim = (int)n;
    out->sizes = kept;
    return true;
}

/* ---- tensors of the state -------------------------------------------------------------------- */

/* A size that is a number: {"as_int": 3}, or 3 itself in the oldest files. */
static bool meta_size(ep_program *p, const json_t *v, int64_t *out) {
    const json_t *number = v;
    if (json_is_object(v)) {
        const char *kind = ep_union(p, v, &number);
        if (!kind) return false;
        if (strcmp(kind, "as_int")) return ep_bad(p, "a weight has a size that is not a number");
    }
    return ep_int(p, number, out);
}

static bool meta_sizes(ep_program *p, const json_t *list, int n, int64_t *out) {
    for (int i = 0; i < n; i++)
        if (!meta_size(p, json_array_get(list, (size_t)i), &out[i])) return false;
    return true;
}

static bool meta_tensor(ep_program *p, const json_t *meta, ep_tensor *t) {
    int64_t dt, layout = 0;
    const json_t *sizes = ep_array(p, meta, "sizes"),
                 *strides = sizes ? ep_array(p, meta, "strides") : NULL;
    const json_t *offset = ep_optional(meta, "storage_offset"), *lay = ep_optional(meta, "layout");
    if (!strides || !ep_dtype(p, json_object_get(meta, "dtype"), &dt)) return false;
    if (!dtype_valid(dt))
        return ep_unsupported(p, "tensors of dtype number %lld are not supported", (long long)dt);
    if (lay && !ep_layout(p, lay, &layout)) return false;
    if (layout) return ep_unsupported(p, "sparse tensors are not supported");
    size_t n = json_array_size(sizes);
    if (n != json_array_size(strides) || n > TENSOR_MAX_DIMS)
        return ep_bad(p, "a weight has %zu sizes and %zu strides", n, json_array_size(strides));
    *t = (ep_tensor){.dt = (dtype)dt, .ndim = (int)n};
    return meta_sizes(p, sizes, t->ndim, t->sizes) && meta_sizes(p, strides, t->ndim, t->strides) &&
           (!offset || meta_size(p, offset, &t->offset));
}

static bool meta_flag(ep_program *p, const json_t *row, const char *key, bool *out) {
    const json_t *v = ep_optional(row, key);
    *out = false;
    return !v || ep_bool(p, v, out);
}

static bool meta_payload(ep_program *p, const json_t *row, ep_payload *out) {
    const json_t *meta = ep_optional(row, "tensor_meta");
    if (!(out->path = ep_text(p, row, "path_name"))) return false;
    if (!*out->path || strchr(out->path, '/'))
        return ep_bad(p, "'%.100s' is not the name of a record", out->path);
    if (!meta_flag(p, row, "is_param", &out->is_param) ||
        !meta_flag(p, row, "use_pickle", &out->pickled))
        return false;
    out->has_tensor = meta != NULL;
    return !meta || meta_tensor(p, meta, &out->tensor);
}

ctsc_status ep_read_payloads(diag *d, const char *record, const void *text, size_t len,
                             ctsc_status (*visit)(void *ctx, diag *d, const ep_payload *p),
                             void *ctx) {
    unit none = {0}; /* whose arena nothing asks for */
    ep_program p = {.d = d, .unit = &none, .record = record};
    json_t *json = ep_parse(d, record, text, len);
    const json_t *config = json ? ep_object(&p, json, "config") : NULL;
    const char *name;
    json_t *row;
    if (config) json_object_foreach((json_t *)(uintptr_t)config, name, row) {
            ep_payload pay = {.name = name};
            p.target = name;
            if (d->status != CTSC_OK) break;
            if (meta_payload(&p, row, &pay)) visit(ctx, d, &pay);
        }
    json_decref(json);
    return d->status;
}
