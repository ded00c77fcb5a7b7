/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torchfile.c - files written by torch.save.
 *
 * Since PyTorch 1.6 that is a zip like those of torch.jit.save, with the pickle in data.pkl and one
 * record per storage in data/. The older format is plain:
 *
 *     pickle: magic number 0x1950a86a20f9469cfc6c
 *     pickle: protocol version 1001
 *     pickle: {"protocol_version": 1001, "little_endian": True, "type_sizes": {...}}
 *     pickle: the object; its storages are named by key
 *     pickle: [key, ...]
 *     for each key: number of elements (8 bytes), the elements
 *
 * There, storages are announced before their content is reached: they are made while the object is
 * unpickled and filled at the end, each of them exactly once. Tests: tests/unit/test_pickle.c
 */
#include "runtime/archive/archive_internal.h"

/* ---- zip ------------------------------------------------------------------------------------- */

static ctsc_status torchfile_check(diag *d, archive *a) {
    storage *st = NULL;
    if (archive_has(a, "constants.pkl"))
        return diag_fail(d, CTSC_BAD_FILE,
                         "a TorchScript archive where a file of values is expected");
    if (!archive_has(a, "byteorder")) return CTSC_OK;
    ctsc_status s = archive_read(a, d, "byteorder", &st);
    if (s != CTSC_OK) return s;
    if (st->nbytes < 6 || memcmp(st->data, "little", 6) != 0)
        s = diag_fail(d, CTSC_UNSUPPORTED,
                      "record byteorder: only little-endian files are supported");
    storage_unref(st);
    return s;
}

static ctsc_status torchfile_zip(diag *d, reader r, bool opaque, value *out) {
    archive *a = NULL;
    TRY(archive_open(d, r, &a));
    archive_storages data = {.a = a, .folder = "data/"};
    unpickle_host host = {.ctx = &data, .storage = archive_storages_get, .opaque = opaque};
    storage *st = NULL;
    size_t pos = 0;
    ctsc_status s = torchfile_check(d, a);
    if (s == CTSC_OK) s = archive_read(a, d, "data.pkl", &st);
    if (s == CTSC_OK) s = unpickle(d, "data.pkl", st->data, st->nbytes, &pos, &host, out);
    storage_unref(st);
    archive_storages_free(&data);
    archive_unref(a);
    return s;
}

/* ---- the older format ------------------------------------------------------------------------ */

static const uint8_t torchfile_magic[] = {0x80, 0x02, 0x8a, 0x0a, 0x6c, 0xfc, 0x9c, 0x46,
                                          0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19, 0x2e};

bool torchfile_begins(const uint8_t *head, size_t len) {
    return len >= sizeof torchfile_magic && !memcmp(head, torchfile_magic, sizeof torchfile_magic);
}

typedef struct old_storage {
    char *key;
    storage *s;
    uint64_t numel;
    bool filled;
} old_storage;

typedef struct old_file {
    const uint8_t *p;
    size_t len, pos;
    VEC(old_storage *) storages;
    strmap by_key;
    size_t promised; /* bytes of all storages so far */
} old_file;

static void old_file_free(old_file *f) {
    for (size_t i = 0; i < f->storages.len; i++) {
        storage_unref(f->storages.data[i]->s);
        mem_free(f->storages.data[i]->key);
        mem_free(f->storages.data[i]);
    }
    vec_free(&f->storages);
    strmap_free(&f->by_key);
}

static ctsc_status old_file_storage(void *ctx, diag *d, const char *key, dtype dt, uint64_t numel,
                                    storage **out) {
    old_file *f = ctx;
    size_t nbytes;
    if (numel > SIZE_MAX || !size_mul((size_t)numel, dtype_size(dt), &nbytes))
        return diag_fail(d, CTSC_BAD_FILE, "storage %s: impossible size", key);
    old_storage *os = strmap_get(&f->by_key, key);
    if (os) {
        if (os->s->nbytes != nbytes || os->numel != numel)
            return diag_fail(d, CTSC_BAD_FILE, "storage %s: has two sizes", key);
        *out = storage_ref(os->s);
        return CTSC_OK;
    }
    if (nbytes > f->len - f->promised)
        return diag_fail(d, CTSC_BAD_FILE, "storage %s: larger than the file", key);
    os = mem_zalloc(sizeof *os);
    if (!os || !vec_push(&f->storages, os)) {
        mem_free(os);
        return diag_no_memory(d);
    }
    os->numel = numel;
    os->key = mem_strdup(key);
    os->s = storage_new(nbytes);
    if (!os->key || !os->s || !strmap_put(&f->by_key, os->key, os)) return diag_no_memory(d);
    f->promised += nbytes;
    *out = storage_ref(os->s);
    return CTSC_OK;
}

static ctsc_status old_file_fill(old_file *f, diag *d, const char *key) {
    old_storage *os = strmap_get(&f->by_key, key);
    if (!os || os->filled)
        return diag_fail(d, CTSC_BAD_FILE, "storage %s (offset %zu): not expected", key, f->pos);
    if (f->len - f->pos < 8 || f->len - f->pos - 8 < os->s->nbytes)
        return diag_fail(d, CTSC_BAD_FILE, "storage %s (offset %zu): the file is cut short", key,
                         f->pos);
    if (le64(f->p + f->pos) != os->numel)
        return diag_fail(d, CTSC_BAD_FILE,
                         "storage %s (offset %zu): has another size than announced", key, f->pos);
    if (os->s->nbytes) memcpy(os->s->data, f->p + f->pos + 8, os->s->nbytes);
    f->pos += 8 + os->s->nbytes;
    os->filled = true;
    return CTSC_OK;
}

static ctsc_status old_file_fill_all(old_file *f, diag *d, value keys) {
    size_t n = keys.tag == V_LIST ? keys.u.list->len : 0;
    if (keys.tag != V_LIST)
        return diag_fail(d, CTSC_BAD_FILE, "offset %zu: no list of storages", f->pos);
    ctsc_status s = CTSC_OK;
    for (size_t i = 0; i < n && s == CTSC_OK; i++) {
        value key = list_get(keys.u.list, i);
        s = key.tag == V_STR
                ? old_file_fill(f, d, key.u.str->bytes)
                : diag_fail(d, CTSC_BAD_FILE, "offset %zu: a storage without key", f->pos);
        value_unref(key);
    }
    for (size_t i = 0; i < f->storages.len && s == CTSC_OK; i++)
        if (!f->storages.data[i]->filled)
            s = diag_fail(d, CTSC_BAD_FILE, "storage %s: has no content", f->storages.data[i]->key);
    return s;
}

/* The three pickles before the object. */
static ctsc_status old_file_header(old_file *f, diag *d) {
    value version = value_none(), info = value_none(), little, key = value_none();
    f->pos = sizeof torchfile_magic;
    ctsc_status s = unpickle(d, "protocol version", f->p, f->len, &f->pos, NULL, &version);
    if (s == CTSC_OK && (version.tag != V_INT || version.u.i != 1001))
        s = diag_fail(d, CTSC_UNSUPPORTED, "offset %zu: unknown protocol version",
                      sizeof torchfile_magic);
    if (s == CTSC_OK) s = unpickle(d, "system information", f->p, f->len, &f->pos, NULL, &info);
    if (s == CTSC_OK) {
        str *name = str_new("little_endian", 13);
        if (name) key = value_str_take(name);
        else s = diag_no_memory(d);
    }
    if (s == CTSC_OK && (info.tag != V_DICT || !dict_get(info.u.dict, key, &little) ||
                         little.tag != V_BOOL || !little.u.b))
        s = diag_fail(d, CTSC_UNSUPPORTED, "offset %zu: only little-endian files are supported",
                      f->pos);
    value_unref(version);
    value_unref(info);
    value_unref(key);
    return s;
}

static ctsc_status torchfile_old(diag *d, reader r, bool opaque, value *out) {
    storage *st;
    TRY(reader_contents(d, r, &st));
    old_file f = {.p = st->data, .len = st->nbytes};
    unpickle_host host = {.ctx = &f, .storage = old_file_storage, .opaque = opaque};
    value object = value_none(), keys = value_none();
    ctsc_status s = old_file_header(&f, d);
    if (s == CTSC_OK) s = unpickle(d, "object", f.p, f.len, &f.pos, &host, &object);
    if (s == CTSC_OK) s = unpickle(d, "storage keys", f.p, f.len, &f.pos, NULL, &keys);
    if (s == CTSC_OK) s = old_file_fill_all(&f, d, keys);
    if (s == CTSC_OK) *out = object;
    else value_unref(object);
    value_unref(keys);
    old_file_free(&f);
    storage_unref(st);
    return s;
}

static ctsc_status torchfile_load(diag *d, reader r, bool opaque, value *out) {
    uint8_t head[sizeof torchfile_magic] = {0};
    uint64_t size = 0;
    ctsc_status s = r.size(r.ctx, d, &size);
    if (s == CTSC_OK && size < sizeof head)
        s = diag_fail(d, CTSC_BAD_FILE, "not a file from torch.save(): only %llu bytes",
                      (unsigned long long)size);
    if (s == CTSC_OK) s = r.read(r.ctx, d, 0, head, sizeof head);
    if (s == CTSC_OK && torchfile_begins(head, sizeof head))
        return torchfile_old(d, r, opaque, out);
    if (s == CTSC_OK && !memcmp(head, "PK\3\4", 4)) return torchfile_zip(d, r, opaque, out);
    uint8_t tar[5] = {0};
    if (s == CTSC_OK && size > 512) s = r.read(r.ctx, d, 257, tar, sizeof tar);
    if (s == CTSC_OK && !memcmp(tar, "ustar", 5))
        s = diag_fail(d, CTSC_UNSUPPORTED, "the tar format of PyTorch 0.1 is not supported");
    if (s == CTSC_OK)
        s = diag_fail(d, CTSC_BAD_FILE,
                      "not a file from torch.save(): neither a zip archive nor a pickle");
    reader_close(&r);
    return s;
}

ctsc_status load_pickled_file(diag *d, reader r, value *out) {
    return torchfile_load(d, r, false, out);
}
ctsc_status load_checkpoint(diag *d, reader r, value *out) {
    return torchfile_load(d, r, true, out);
}
