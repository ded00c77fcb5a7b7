/* SPDX-License-Identifier: Apache-2.0 */
/*
 * save.c - writes a value as torch.save does: a zip with data.pkl, data/N and version.
 *
 * Method. The pickle is protocol 2 without a memo: a container that appears twice is written twice, which loads as
 * equal values. Each tensor gets a storage of its own, written contiguously. libzip writes a temporary
 * file and renames it, so that the target is replaced whole or not at all.
 * Tests: tests/unit/test_api.c, tests/cli
 */
#include "runtime/archive.h"

#include <string.h>
#include <zip.h>

enum { SAVE_MAX_DEPTH = 200 };

typedef struct saver {
    diag *d;
    strbuf pickle;
    VEC(tensor *) tensors; /* contiguous, one per data/N; references */
} saver;

static void save_byte(saver *s, int b) {
    sb_putc(&s->pickle, (char)b);
}
static void save_le(saver *s, uint64_t v, int bytes) {
    for (int i = 0; i < bytes; i++) save_byte(s, (int)(v >> (8 * i) & 255));
}
static void save_global(saver *s, const char *module, const char *name) {
    sb_printf(&s->pickle, "c%s\n%s\n", module, name);
}
static void save_text(saver *s, const char *p, size_t n) {
    save_byte(s, 'X');
    save_le(s, n, 4);
    sb_write(&s->pickle, p, n);
}
static void save_int(saver *s, int64_t i) {
    if (i >= INT32_MIN && i <= INT32_MAX) {
        save_byte(s, 'J');
        save_le(s, (uint32_t)i, 4);
    } else {
        save_byte(s, 0x8a);
        save_byte(s, 8);
        save_le(s, (uint64_t)i, 8);
    }
}
static void save_float(saver *s, double f) {
    uint64_t bits;
    memcpy(&bits, &f, 8);
    save_byte(s, 'G');
    for (int i = 7; i >= 0; i--) save_byte(s, (int)(bits >> (8 * i) & 255));
}
static void save_ints(saver *s, int n, const int64_t *v) {
    save_byte(s, '(');
    for (int i = 0; i < n; i++) save_int(s, v[i]);
    save_byte(s, 't');
}

/* torch._utils._rebuild_tensor_v2(storage, offset, sizes, strides, requires_grad, OrderedDict()) */
static ctsc_status save_tensor(saver *s, tensor *t) {
    tensor *c = NULL;
    char key[24];
    ctsc_status st = tensor_contiguous(s->d, t, &c);
    if (st != CTSC_OK) return st;
    snprintf(key, sizeof key, "%zu", s->tensors.len);
    if (!vec_push(&s->tensors, c)) {
        tensor_unref(c);
        return diag_no_memory(s->d);
    }
    int64_t strides[TENSOR_MAX_DIMS], step = 1;
    for (int i = c->ndim; i-- > 0;) {
        strides[i] = step;
        step *= c->sizes[i] > 1 ? c->sizes[i] : 1;
    }
    save_global(s, "torch._utils", "_rebuild_tensor_v2");
    save_byte(s, '(');
    save_byte(s, '(');
    save_text(s, "storage", 7);
    save_global(s, "torch", dtype_table[c->dtype].storage);
    save_text(s, key, strlen(key));
    save_text(s, "cpu", 3);
    save_int(s, c->numel);
    save_byte(s, 't');
    save_byte(s, 'Q');
    save_int(s, 0);
    save_ints(s, c->ndim, c->sizes);
    save_ints(s, c->ndim, strides);
    save_byte(s, t->requires_grad ? 0x88 : 0x89);
    save_global(s, "collections", "OrderedDict");
    sb_puts(&s->pickle, ")RtR");
    return CTSC_OK;
}

static ctsc_status save_value(saver *s, value v, int depth);

static ctsc_status save_list(saver *s, const list *l, int depth) {
    sb_puts(&s->pickle, "](");
    for (size_t i = 0; i < l->len; i++) {
        value v = list_get(l, i);
        ctsc_status st = save_value(s, v, depth + 1);
        value_unref(v);
        if (st != CTSC_OK) return st;
    }
    save_byte(s, 'e');
    return CTSC_OK;
}

static ctsc_status save_dict(saver *s, const dict *d, int depth) {
    sb_puts(&s->pickle, "}(");
    for (size_t i = 0; i < d->used; i++) {
        if (d->entries[i].key.tag == V_UNINIT) continue;
        ctsc_status st = save_value(s, d->entries[i].key, depth + 1);
        if (st == CTSC_OK) st = save_value(s, d->entries[i].val, depth + 1);
        if (st != CTSC_OK) return st;
    }
    save_byte(s, 'u');
    return CTSC_OK;
}

static ctsc_status save_value(saver *s, value v, int depth) {
    if (depth > SAVE_MAX_DEPTH) return diag_fail(s->d, CTSC_LIMIT, "the value nests too deeply to be saved");
    switch ((value_tag)v.tag) {
    case V_NONE: save_byte(s, 'N'); return CTSC_OK;
    case V_BOOL: save_byte(s, v.u.b ? 0x88 : 0x89); return CTSC_OK;
    case V_INT: save_int(s, v.u.i); return CTSC_OK;
    case V_FLOAT: save_float(s, v.u.f); return CTSC_OK;
    case V_STR: save_text(s, v.u.str->bytes, v.u.str->len); return CTSC_OK;
    case V_COMPLEX:
        save_global(s, "builtins", "complex");
        save_float(s, v.u.complex->re);
        save_float(s, v.u.complex->im);
        save_byte(s, 0x86);
        save_byte(s, 'R');
        return CTSC_OK;
    case V_TENSOR: return save_tensor(s, v.u.tensor);
    case V_LIST: return save_list(s, v.u.list, depth);
    case V_DICT: return save_dict(s, v.u.dict, depth);
    case V_TUPLE: {
        save_byte(s, '(');
        ctsc_status st = CTSC_OK;
        for (size_t i = 0; st == CTSC_OK && i < v.u.tuple->len; i++) st = save_value(s, v.u.tuple->items[i], depth + 1);
        save_byte(s, 't');
        return st;
    }
    default: return diag_fail(s->d, CTSC_UNSUPPORTED, "a value of this type cannot be saved");
    }
}

/* data must live until the archive is closed. */
static bool save_record(zip_t *z, const char *name, const void *data, size_t n) {
    zip_source_t *src = zip_source_buffer(z, data, n, 0);
    if (!src) return false;
    zip_int64_t i = zip_file_add(z, name, src, ZIP_FL_ENC_UTF_8);
    if (i < 0) {
        zip_source_free(src);
        return false;
    }
    /* 1 January 1980: the same value gives the same file on any day. */
    return zip_file_set_dostime(z, (zip_uint64_t)i, 0, 1 << 5 | 1, 0) == 0 &&
           zip_set_file_compression(z, (zip_uint64_t)i, ZIP_CM_STORE, 0) == 0;
}

static ctsc_status save_archive(saver *s, const char *path) {
    int code = 0;
    zip_t *z = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, &code);
    if (!z) return diag_fail(s->d, CTSC_ENVIRONMENT, "cannot write %s", path);
    bool ok = save_record(z, "archive/data.pkl", sb_str(&s->pickle), s->pickle.len);
    for (size_t i = 0; ok && i < s->tensors.len; i++) {
        char name[48];
        const tensor *t = s->tensors.data[i];
        snprintf(name, sizeof name, "archive/data/%zu", i);
        ok = save_record(z, name, tensor_data(t), (size_t)t->numel * dtype_size((dtype)t->dtype));
    }
    ok = ok && save_record(z, "archive/version", "3\n", 2);
    if (ok && zip_close(z) == 0) return CTSC_OK;
    ctsc_status st = diag_fail(s->d, CTSC_ENVIRONMENT, "cannot write %s: %s", path, zip_strerror(z));
    zip_discard(z);
    return st;
}

ctsc_status save_pickled_file(diag *d, value v, const char *path) {
    saver s = {.d = d};
    save_byte(&s, 0x80);
    save_byte(&s, 2);
    ctsc_status st = save_value(&s, v, 0);
    save_byte(&s, '.');
    if (st == CTSC_OK && s.pickle.failed) st = diag_no_memory(d);
    if (st == CTSC_OK) st = save_archive(&s, path);
    for (size_t i = 0; i < s.tensors.len; i++) tensor_unref(s.tensors.data[i]);
    vec_free(&s.tensors);
    sb_free(&s.pickle);
    return st;
}
