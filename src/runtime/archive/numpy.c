/* SPDX-License-Identifier: Apache-2.0 */
/*
 * numpy.c - NumPy's array files: .npy (one array) and .npz (a zip of them).
 *
 *     "\x93NUMPY", version (2 bytes), header length (2 bytes; 4 from version 2 on), header, data
 *     header: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }   a Python literal
 *
 * Data stays in the mapping where its alignment allows.
 * Tests: tests/unit/test_pickle.c
 */
#include "runtime/archive/archive_internal.h"

#include <stdio.h>

enum { NUMPY_MAX_HEADER = 65536 };

typedef struct numpy_header {
    dtype dt;
    bool fortran;
    int ndim;
    int64_t sizes[TENSOR_MAX_DIMS];
    size_t data; /* offset of the data */
} numpy_header;

/* The text after 'key': in the header; NULL if it is not there. */
static const char *numpy_field(const char *header, const char *key) {
    char quoted[32];
    snprintf(quoted, sizeof quoted, "'%s':", key);
    const char *p = strstr(header, quoted);
    if (!p) return NULL;
    p += strlen(quoted);
    while (*p == ' ') p++;
    return p;
}

static bool numpy_shape(const char *p, numpy_header *h) {
    if (!p || *p++ != '(') return false;
    h->ndim = 0;
    for (;;) {
        while (*p == ' ' || *p == ',') p++;
        if (*p == ')') return true;
        if (*p < '0' || *p > '9' || h->ndim == TENSOR_MAX_DIMS) return false;
        int64_t n = 0;
        for (; *p >= '0' && *p <= '9'; p++)
            if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, *p - '0', &n))
                return false;
        if (*p == 'L') p++; /* Python 2 */
        h->sizes[h->ndim++] = n;
    }
}

static ctsc_status numpy_literal(diag *d, const char *name, const char *text, numpy_header *h) {
    const char *descr = numpy_field(text, "descr"), *order = numpy_field(text, "fortran_order");
    if (!descr || !order || !numpy_shape(numpy_field(text, "shape"), h))
        return diag_fail(d, CTSC_BAD_FILE, "%s: damaged array header", name);
    h->fortran = !strncmp(order, "True", 4);
    const ctsc_dtype_info *t;
    for (size_t i = 0; (t = dtype_at(i)) != NULL; i++) {
        size_t n = t->typestr ? strlen(t->typestr) : 0;
        if (n && descr[0] == '\'' && !strncmp(descr + 1, t->typestr, n) && descr[n + 1] == '\'') {
            h->dt = (dtype)t->dtype;
            return CTSC_OK;
        }
    }
    int n = *descr == '\'' ? (int)strcspn(descr + 1, "'") + 2 : 12;
    return diag_fail(d, CTSC_UNSUPPORTED, "%s: arrays of type %.*s are not supported", name,
                     n < 12 ? n : 12, descr);
}

static ctsc_status numpy_header_read(diag *d, const char *name, const storage *st,
                                     numpy_header *h) {
    const uint8_t *p = st->data;
    if (st->nbytes < 12 || memcmp(p, "\x93NUMPY", 6) != 0)
        return diag_fail(d, CTSC_BAD_FILE, "%s: not an array of NumPy", name);
    if (p[6] < 1 || p[6] > 3)
        return diag_fail(d, CTSC_UNSUPPORTED, "%s: format version %d", name, p[6]);
    size_t start = p[6] == 1 ? 10 : 12, len = p[6] == 1 ? le16(p + 8) : le32(p + 8);
    if (len > NUMPY_MAX_HEADER || len > st->nbytes - start)
        return diag_fail(d, CTSC_BAD_FILE, "%s: damaged array header", name);
    char *text = mem_strndup((const char *)p + start, len);
    if (!text) return diag_no_memory(d);
    h->data = start + len;
    ctsc_status s = numpy_literal(d, name, text, h);
    mem_free(text);
    return s;
}

/* Strides in elements, and how many there are. */
static bool numpy_layout(const numpy_header *h, int64_t *strides, int64_t *numel) {
    int64_t n = 1;
    bool empty = false;
    for (int k = 0; k < h->ndim; k++) {
        int i = h->fortran ? k : h->ndim - 1 - k;
        strides[i] = n;
        if (h->sizes[i] == 0) empty = true;
        if (__builtin_mul_overflow(n, h->sizes[i] ? h->sizes[i] : 1, &n)) return false;
    }
    *numel = empty ? 0 : n;
    return true;
}

/* st: the whole .npy; borrowed. */
static ctsc_status numpy_array(diag *d, const char *name, storage *st, value *out) {
    numpy_header h;
    int64_t strides[TENSOR_MAX_DIMS], numel;
    size_t nbytes, item;
    ctsc_status s = numpy_header_read(d, name, st, &h);
    if (s != CTSC_OK) return s;
    item = dtype_size(h.dt);
    if (!numpy_layout(&h, strides, &numel) || !size_mul((size_t)numel, item, &nbytes) ||
        nbytes > st->nbytes - h.data)
        return diag_fail(d, CTSC_BAD_FILE, "%s: the data is shorter than the shape says", name);
    tensor *t = NULL;
    if (h.data % item == 0) {
        s = tensor_on_storage(d, st, h.dt, h.ndim, h.sizes, strides, (int64_t)(h.data / item), &t);
    } else {
        storage *own = storage_new(nbytes);
        if (!own) return diag_no_memory(d);
        if (nbytes) memcpy(own->data, (char *)st->data + h.data, nbytes);
        s = tensor_on_storage(d, own, h.dt, h.ndim, h.sizes, strides, 0, &t);
        storage_unref(own);
    }
    if (s == CTSC_OK) *out = value_tensor_take(t);
    return s;
}

static ctsc_status numpy_member(diag *d, archive *a, const char *name, dict *di) {
    storage *st = NULL;
    value v;
    ctsc_status s = archive_read(a, d, name, &st);
    if (s == CTSC_OK) s = numpy_array(d, name, st, &v);
    storage_unref(st);
    if (s != CTSC_OK) return s;
    size_t len = strlen(name);
    if (len > 4 && !strcmp(name + len - 4, ".npy")) len -= 4;
    str *key = str_new(name, len);
    if (!key) {
        value_unref(v);
        return diag_no_memory(d);
    }
    return dict_set_take(di, value_str_take(key), v) ? CTSC_OK : diag_no_memory(d);
}

static ctsc_status numpy_zip(diag *d, reader r, value *out) {
    archive *a;
    ctsc_status s = archive_open_flat(d, r, &a);
    if (s != CTSC_OK) return s;
    dict *di = dict_new(TYPE_STR, TYPE_TENSOR);
    if (!di) s = diag_no_memory(d);
    for (size_t i = 0; i < archive_count(a) && s == CTSC_OK; i++)
        s = numpy_member(d, a, archive_record_name(a, i), di);
    archive_unref(a);
    if (s == CTSC_OK) *out = value_dict_take(di);
    else if (di) value_unref(value_dict_take(di));
    return s;
}

ctsc_status load_numpy_file(diag *d, const char *path, value *out) {
    reader r;
    TRY(reader_open_file(d, path, &r));
    uint8_t head[4] = {0};
    uint64_t size = 0;
    ctsc_status s = r.size(r.ctx, d, &size);
    if (s == CTSC_OK && size >= sizeof head) s = r.read(r.ctx, d, 0, head, sizeof head);
    if (s != CTSC_OK) {
        reader_close(&r);
        return s;
    }
    if (!memcmp(head, "PK\3\4", 4)) return numpy_zip(d, r, out);
    storage *st;
    TRY(reader_contents(d, r, &st));
    s = numpy_array(d, path, st, out);
    storage_unref(st);
    return s;
}
