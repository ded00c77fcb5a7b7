/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zip.c - the container: opens it, checks it, hands out records without copying them.
 *
 * Method: the directory is read twice, by zipdir.c and by libzip with its consistency checks, and
 * the file is refused unless both see the same. From then on only the offsets are needed: a stored
 * record is a slice of the mapping, a deflated one is inflated. Content is checked against its CRC
 * when it is first read; a CRC of 0 means that the writer did not compute it (torch.save can be
 * told so). Where the library is linked into one file with everything else (packaging/static.mk)
 * there is no libzip, and the directory is what zipdir.c sees.
 *
 * Ownership: an archive is counted; storages that are slices hold a reference, so the mapping goes
 * when the last of them does. An open archive does not change (except for flags that say
 * "checked"), so threads may share it. Tests: tests/unit/test_archive.c, tests/fuzz/fuzz_archive.c
 */
#include "cpu/convert/crc.h"
#include "runtime/archive/archive_internal.h"

#ifndef CTSC_NO_LIBZIP
#include <zip.h>
#endif
#include <zlib.h>

/* Mapped data is used in place if it is aligned for the widest element. */
enum { ARCHIVE_ALIGNMENT = 16 };

struct archive {
    atomic_int refs;
    reader r;
    uint64_t size;
    const uint8_t *map; /* NULL: read through r */
    zip_dir dir;
    size_t prefix; /* length of the top folder, with its slash */
    const zip_entry **records;
    size_t nrecords;
    strmap by_name;       /* name without the top folder -> zip_entry */
    atomic_bool *checked; /* per entry of dir: CRC seen to be right */
};

/* ---- agreeing with libzip -------------------------------------------------------------------- */

#ifdef CTSC_NO_LIBZIP

static ctsc_status zip_agree(diag *d, const reader *r, uint64_t size, const zip_dir *dir) {
    return (void)d, (void)r, (void)size, (void)dir, CTSC_OK;
}

#else

typedef struct zip_stream {
    const reader *r;
    uint64_t size, at;
    zip_error_t error;
} zip_stream;

static zip_int64_t zip_stream_read(zip_stream *z, void *data, zip_uint64_t len) {
    if (z->at >= z->size) return 0;
    if (len > z->size - z->at) len = z->size - z->at;
    if (z->r->read(z->r->ctx, NULL, z->at, data, (size_t)len) != CTSC_OK) {
        zip_error_set(&z->error, ZIP_ER_READ, 0);
        return -1;
    }
    z->at += len;
    return (zip_int64_t)len;
}

/* The callback of a libzip source: our reader as a seekable stream. */
static zip_int64_t zip_stream_command(void *ctx, void *data, zip_uint64_t len,
                                      zip_source_cmd_t cmd) {
    zip_stream *z = ctx;
    switch (cmd) {
    case ZIP_SOURCE_OPEN: z->at = 0; return 0;
    case ZIP_SOURCE_READ: return zip_stream_read(z, data, len);
    case ZIP_SOURCE_CLOSE: return 0;
    case ZIP_SOURCE_TELL: return (zip_int64_t)z->at;
    case ZIP_SOURCE_ERROR: return zip_error_to_data(&z->error, data, len);
    case ZIP_SOURCE_FREE: return 0;
    case ZIP_SOURCE_SEEK: {
        zip_int64_t at = zip_source_seek_compute_offset(z->at, z->size, data, len, &z->error);
        if (at < 0) return -1;
        z->at = (uint64_t)at;
        return 0;
    }
    case ZIP_SOURCE_STAT: {
        zip_stat_t *st = ZIP_SOURCE_GET_ARGS(zip_stat_t, data, len, &z->error);
        if (!st) return -1;
        zip_stat_init(st);
        st->size = z->size;
        st->valid |= ZIP_STAT_SIZE;
        return sizeof *st;
    }
    case ZIP_SOURCE_SUPPORTS:
        return zip_source_make_command_bitmap(
            ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_CLOSE, ZIP_SOURCE_STAT, ZIP_SOURCE_ERROR,
            ZIP_SOURCE_FREE, ZIP_SOURCE_SEEK, ZIP_SOURCE_TELL, ZIP_SOURCE_SUPPORTS, -1);
    default: zip_error_set(&z->error, ZIP_ER_OPNOTSUPP, 0); return -1;
    }
}

static bool zip_same_entry(zip_t *za, size_t i, const zip_entry *e) {
    const zip_uint64_t need = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_CRC |
                              ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
    zip_stat_t st;
    if (zip_stat_index(za, i, ZIP_FL_ENC_RAW | ZIP_FL_UNCHANGED, &st) != 0 ||
        (st.valid & need) != need)
        return false;
    return !strcmp(st.name, e->name) && st.size == e->usize && st.comp_size == e->csize &&
           st.crc == e->crc && st.comp_method == e->method && st.encryption_method == ZIP_EM_NONE;
}

static ctsc_status zip_compare(diag *d, zip_t *za, const zip_dir *dir) {
    zip_int64_t n = zip_get_num_entries(za, ZIP_FL_UNCHANGED);
    if (n < 0 || (uint64_t)n != dir->n)
        return diag_fail(d, CTSC_BAD_FILE, "not a readable archive: ambiguous directory");
    for (size_t i = 0; i < dir->n; i++)
        if (!zip_same_entry(za, i, &dir->entries[i]))
            return diag_fail(d, CTSC_BAD_FILE, "record %s (offset %llu): ambiguous directory entry",
                             dir->entries[i].name, (unsigned long long)dir->entries[i].header);
    return CTSC_OK;
}

static ctsc_status zip_agree(diag *d, const reader *r, uint64_t size, const zip_dir *dir) {
    zip_stream z = {.r = r, .size = size};
    zip_error_t error;
    zip_error_init(&z.error);
    zip_error_init(&error);
    ctsc_status s;
    zip_source_t *src = zip_source_function_create(zip_stream_command, &z, &error);
    zip_t *za = src ? zip_open_from_source(src, ZIP_RDONLY | ZIP_CHECKCONS, &error) : NULL;
    if (za) {
        s = zip_compare(d, za, dir);
        zip_discard(za);
    } else {
        if (src) zip_source_free(src);
        s = zip_error_code_zip(&error) == ZIP_ER_MEMORY
                ? diag_no_memory(d)
                : diag_fail(d, CTSC_BAD_FILE, "not a readable archive: %s",
                            zip_error_strerror(&error));
    }
    zip_error_fini(&error);
    zip_error_fini(&z.error);
    return s;
}

#endif

/* ---- opening --------------------------------------------------------------------------------- */

/* torch.export of PyTorch 2.1 to 2.7 writes archives without a top folder. */
static bool archive_is_flat_program(const archive *a) {
    for (size_t i = 0; i < a->dir.n; i++)
        if (!strcmp(a->dir.entries[i].name, "serialized_exported_program.json")) return true;
    return false;
}

static ctsc_status archive_index(diag *d, archive *a, bool flat) {
    flat = flat || archive_is_flat_program(a);
    const char *first = a->dir.entries[0].name, *slash = strchr(first, '/');
    if (!flat && !slash)
        return diag_fail(d, CTSC_BAD_FILE, "file in archive is not in a subdirectory: %s", first);
    a->prefix = flat ? 0 : (size_t)(slash - first) + 1;
    a->records = mem_alloc(a->dir.n * sizeof *a->records);
    a->checked = mem_zalloc(a->dir.n * sizeof *a->checked);
    if (!a->records || !a->checked) return diag_no_memory(d);
    for (size_t i = 0; i < a->dir.n; i++) {
        const zip_entry *e = &a->dir.entries[i];
        if (strncmp(e->name, first, a->prefix) != 0) continue;
        const char *name = e->name + a->prefix;
        if (!*name || name[strlen(name) - 1] == '/') continue;
        if (strmap_get(&a->by_name, name))
            return diag_fail(d, CTSC_BAD_FILE,
                             "record %s (offset %llu): there are two of this name", name,
                             (unsigned long long)e->header);
        if (!strmap_put(&a->by_name, name, (void *)(uintptr_t)e)) return diag_no_memory(d);
        a->records[a->nrecords++] = e;
    }
    return CTSC_OK;
}

/* What a file seems to be that begins like this. NULL: nothing known. */
static const char *archive_guess(const uint8_t head[16]) {
    static const struct { uint8_t at, len; const char *bytes, *what; } kinds[] = {
        {0, 4, "\x89PNG", "an image"},
        {0, 3, "\xff\xd8\xff", "an image"},
        {0, 6, "\x93NUMPY", "an array of NumPy's"},
        {0, 4, "GGUF", "a GGUF file of llama.cpp's"},
        {4, 4, "TFL3", "a TensorFlow Lite model"},
        {0, 4, "\x89HDF", "an HDF5 file"},
        {0, 4,
         "\x7f"
         "ELF",
         "a program or library"},
        {0, 2, "\x1f\x8b", "compressed by gzip"},
        {0, 1, "<", "a web page or XML"},
        {8, 2, "{\"", "a safetensors file: weights without a program"},
        {0, 1, "{", "JSON"},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!memcmp(head + kinds[i].at, kinds[i].bytes, kinds[i].len)) return kinds[i].what;
    for (int i = 0; i < 16; i++)
        if (head[i] >= 127 || (head[i] < 32 && !strchr("\t\n\r", head[i]))) return NULL;
    return "text; source is compiled with ctsc compile (in Python: ctsc.compile)";
}

/* Messages for files that are something else. */
static ctsc_status archive_recognise(diag *d, const reader *r, uint64_t size) {
    uint8_t head[16] = {0};
    const char *path = r->path ? r->path : "", *what;
    const char *is = r->path ? " is " : "";
    if (!size && r->path) return diag_fail(d, CTSC_BAD_FILE, "%s is empty", path);
    if (size < 8)
        return diag_fail(d, CTSC_BAD_FILE, "%s%snot an archive: only %llu bytes", path, is,
                         (unsigned long long)size);
    TRY(r->read(r->ctx, d, 0, head, size < sizeof head ? size : sizeof head));
    if (!memcmp(head, "PYTORCH1", 8))
        return diag_fail(d, CTSC_UNSUPPORTED,
                         "File is an unsupported archive format from the preview release.");
    if (!memcmp(head + 4, "PTMF", 4))
        return diag_fail(d, CTSC_UNSUPPORTED,
                         "flatbuffer files of the lite interpreter are not supported");
    if (head[0] == 0x80 && head[1] == 0x02)
        return diag_fail(
            d, CTSC_BAD_FILE,
            "%s%snot a zip archive: it begins like a file from torch.save() in its old format",
            path, is);
    if (!memcmp(head, "PK\3\4", 4)) return CTSC_OK;
    what = archive_guess(head);
    return diag_fail(d, CTSC_BAD_FILE, "%s%snot a zip archive%s%s", path, is, what ? ", but " : "",
                     what ? what : "");
}

static ctsc_status archive_open_as(diag *d, reader r, bool flat, archive **out) {
    archive *a = mem_zalloc(sizeof *a);
    if (!a) {
        reader_close(&r);
        return diag_no_memory(d);
    }
    atomic_init(&a->refs, 1);
    a->r = r;
    ctsc_status s = r.size(r.ctx, d, &a->size);
    if (s == CTSC_OK) s = archive_recognise(d, &r, a->size);
    if (s == CTSC_OK) s = zipdir_read(d, &r, a->size, &a->dir);
    if (s == CTSC_OK) s = zip_agree(d, &r, a->size, &a->dir);
    if (s == CTSC_OK) s = archive_index(d, a, flat);
    if (s != CTSC_OK) {
        archive_unref(a);
        return s;
    }
    uint64_t mapped = 0;
    const void *map = r.map ? r.map(r.ctx, &mapped) : NULL;
    if (map && mapped == a->size) a->map = map;
    *out = a;
    return CTSC_OK;
}

ctsc_status archive_open(diag *d, reader r, archive **out) {
    return archive_open_as(d, r, false, out);
}

ctsc_status archive_open_flat(diag *d, reader r, archive **out) {
    return archive_open_as(d, r, true, out);
}

archive *archive_ref(archive *a) {
    atomic_fetch_add_explicit(&a->refs, 1, memory_order_relaxed);
    return a;
}

void archive_unref(archive *a) {
    if (!a || atomic_fetch_sub_explicit(&a->refs, 1, memory_order_acq_rel) != 1) return;
    strmap_free(&a->by_name);
    mem_free(a->records);
    mem_free(a->checked);
    zipdir_free(&a->dir);
    reader_close(&a->r);
    mem_free(a);
}

bool archive_has(const archive *a, const char *record) {
    return strmap_get(&a->by_name, record) != NULL;
}

size_t archive_count(const archive *a) { return a->nrecords; }

const char *archive_record_name(const archive *a, size_t i) {
    return a->records[i]->name + a->prefix;
}

/* ---- reading --------------------------------------------------------------------------------- */

static ctsc_status archive_check(archive *a, diag *d, const zip_entry *e, const void *data) {
    atomic_bool *checked = &a->checked[e - a->dir.entries];
    if (e->crc == 0 || atomic_load_explicit(checked, memory_order_relaxed)) return CTSC_OK;
    if (crc32_update(0, data, (size_t)e->usize) != e->crc)
        return diag_fail(d, CTSC_BAD_FILE,
                         "record %s (offset %llu): damaged, its checksum is wrong",
                         e->name + a->prefix, (unsigned long long)e->data);
    /* Only what stays in the mapping need not be looked at again. */
    if (a->map && e->method == ZIP_STORED)
        atomic_store_explicit(checked, true, memory_order_relaxed);
    return CTSC_OK;
}

static voidpf archive_zalloc(voidpf ctx, uInt n, uInt size) {
    (void)ctx;
    size_t bytes;
    return size_mul(n, size, &bytes) ? mem_zalloc(bytes) : NULL;
}

static void archive_zfree(voidpf ctx, voidpf p) {
    (void)ctx;
    mem_free(p);
}

/* Inflates exactly e->usize bytes from exactly e->csize. */
static ctsc_status archive_inflate(archive *a, diag *d, const zip_entry *e, const uint8_t *in,
                                   void *out) {
    z_stream z = {.zalloc = archive_zalloc, .zfree = archive_zfree};
    if (inflateInit2(&z, -MAX_WBITS) != Z_OK) return diag_no_memory(d);
    uint64_t in_left = e->csize, out_left = e->usize;
    uint8_t extra; /* catches content that is longer than announced */
    z.next_in = (Bytef *)(uintptr_t)in;
    z.next_out = out;
    int rc = Z_OK;
    bool overflow = false;
    while (rc == Z_OK) {
        uInt in_now = in_left > 1 << 30 ? 1 << 30 : (uInt)in_left;
        uInt out_now = out_left > 1 << 30 ? 1 << 30 : (uInt)out_left;
        z.avail_in = in_now;
        z.avail_out = out_now;
        if (out_now == 0) {
            z.next_out = &extra;
            z.avail_out = 1;
        }
        rc = inflate(&z, Z_NO_FLUSH);
        in_left -= in_now - z.avail_in;
        if (out_now == 0) overflow = overflow || z.avail_out == 0;
        else out_left -= out_now - z.avail_out;
        if (overflow) break;
    }
    inflateEnd(&z);
    if (rc == Z_MEM_ERROR) return diag_no_memory(d);
    if (rc != Z_STREAM_END || overflow || in_left || out_left)
        return diag_fail(d, CTSC_BAD_FILE, "record %s (offset %llu): damaged compressed data",
                         e->name + a->prefix, (unsigned long long)e->data);
    return CTSC_OK;
}

/* The record in memory of its own. */
static ctsc_status archive_copy(archive *a, diag *d, const zip_entry *e, storage *st) {
    if (e->method == ZIP_STORED) {
        if (!a->map) return a->r.read(a->r.ctx, d, e->data, st->data, st->nbytes);
        if (st->nbytes) memcpy(st->data, a->map + e->data, st->nbytes);
        return CTSC_OK;
    }
    if (a->map) return archive_inflate(a, d, e, a->map + e->data, st->data);
    uint8_t *in = mem_alloc((size_t)e->csize);
    if (!in) return diag_no_memory(d);
    ctsc_status s = a->r.read(a->r.ctx, d, e->data, in, (size_t)e->csize);
    if (s == CTSC_OK) s = archive_inflate(a, d, e, in, st->data);
    mem_free(in);
    return s;
}

static void archive_release(void *ctx, void *data) {
    (void)data;
    archive_unref(ctx);
}

ctsc_status archive_read(archive *a, diag *d, const char *record, storage **out) {
    const zip_entry *e = strmap_get(&a->by_name, record);
    if (!e)
        return diag_fail(d, CTSC_BAD_FILE,
                         "PytorchStreamReader failed locating file %s: file not found", record);
    const uint8_t *at = a->map ? a->map + e->data : NULL;
    storage *st;
    ctsc_status s = CTSC_OK;
    if (at && e->method == ZIP_STORED && (uintptr_t)at % ARCHIVE_ALIGNMENT == 0) {
        st = storage_borrow((void *)(uintptr_t)at, (size_t)e->usize, archive_release, a);
        if (!st) return diag_no_memory(d);
        archive_ref(a);
        st->read_only = true;
        st->of_file = a->r.of_file;
    } else {
        st = storage_new((size_t)e->usize);
        if (!st) return diag_no_memory(d);
        s = archive_copy(a, d, e, st);
    }
    if (s == CTSC_OK) s = archive_check(a, d, e, st->data);
    if (s == CTSC_OK) *out = st;
    else storage_unref(st);
    return s;
}

/* ---- storages of tensors --------------------------------------------------------------------- */

static ctsc_status archive_storages_load(archive_storages *as, diag *d, const char *key,
                                         size_t nbytes, storage **out) {
    strbuf record = STRBUF_INIT;
    sb_printf(&record, "%s%s", as->folder, key);
    ctsc_status s;
    if (record.failed) {
        s = diag_no_memory(d);
    } else if (nbytes == 0 && !archive_has(as->a, sb_str(&record))) {
        *out = storage_new(0); /* writers leave out empty ones */
        s = *out ? CTSC_OK : diag_no_memory(d);
    } else {
        s = archive_read(as->a, d, sb_str(&record), out);
    }
    sb_free(&record);
    if (s != CTSC_OK) return s;
    char *kept = mem_strdup(key);
    if (!kept || !vec_push(&as->keys, kept)) {
        mem_free(kept);
        storage_unref(*out);
        return diag_no_memory(d);
    }
    if (!strmap_put(&as->by_key, kept, *out)) {
        storage_unref(*out);
        return diag_no_memory(d);
    }
    return CTSC_OK;
}

ctsc_status archive_storages_get(void *ctx, diag *d, const char *key, dtype dt, uint64_t numel,
                                 storage **out) {
    archive_storages *as = ctx;
    size_t nbytes;
    if (numel > SIZE_MAX || !size_mul((size_t)numel, dtype_size(dt), &nbytes))
        return diag_fail(d, CTSC_BAD_FILE, "record %s%s: impossible size", as->folder, key);
    storage *st = strmap_get(&as->by_key, key);
    if (!st) {
        TRY(archive_storages_load(as, d, key, nbytes, &st));
    }
    if (st->nbytes < nbytes || st->nbytes - nbytes >= dtype_size(dt))
        return diag_fail(d, CTSC_BAD_FILE, "record %s%s: has %zu bytes where the tensors need %zu",
                         as->folder, key, st->nbytes, nbytes);
    *out = storage_ref(st);
    return CTSC_OK;
}

void archive_storages_free(archive_storages *as) {
    for (size_t i = 0; i < as->keys.len; i++) {
        storage_unref(strmap_get(&as->by_key, as->keys.data[i]));
        mem_free(as->keys.data[i]);
    }
    vec_free(&as->keys);
    strmap_free(&as->by_key);
}
