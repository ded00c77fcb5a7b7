/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zip_write.c - writes the container: a zip whose records can be mapped, in a file that appears
 * whole or not at all.
 *
 * Layout of a record, the padding chosen so that data begins at a multiple of 64 (as PyTorch does):
 *
 *     local header (30) | folder/name | [zip64 sizes (20)] | "FB" padding, filled with Z | data
 *
 * Zip64 fields are written where a size or an offset needs them, and only there.
 *
 * Method. The headers are written here and not by libzip, because libzip offers no way to align
 * data: it lays the file out itself when it is closed. Writing them also lets data go from the
 * tensor's memory to the file without a copy, and uses the fast checksum of crc.c.
 * Tests: tests/unit/test_export.c
 */
#include "cpu/convert/crc.h"
#include "runtime/archive/archive_internal.h"
#include "runtime/archive/file_write.h"
#include "runtime/save/export.h"

#include <zlib.h>

enum {
    ZIP_ALIGNMENT = 64,
    ZIP_LOCAL_HEADER = 30,
    ZIP_NEEDS_ZIP64 = 45, /* version of the format that a reader must know */
    ZIP_NEEDS_DEFLATE = 20,
    ZIP_UTF8 = 0x0800,
    ZIP_MADE_BY_UNIX = 3 << 8 | 30,
    ZIP_DATE = 1 << 5 | 1, /* 1 January 1980: the same content gives the same file on any day */
};
#define ZIP_MAX32 0xffffffffu

typedef struct zip_written {
    const char *name;
    uint64_t offset, csize, usize;
    uint32_t crc;
    uint16_t method;
} zip_written;

struct zip_writer {
    file_writer *file;
    char *folder;
    arena arena;
    VEC(zip_written) records;
};

/* A header under construction. */
typedef struct zip_header {
    uint8_t bytes[128];
    size_t n;
} zip_header;

static void zip_put(zip_header *h, uint64_t v, int nbytes) {
    for (int i = 0; i < nbytes; i++) h->bytes[h->n++] = (uint8_t)(v >> 8 * i);
}

static uint32_t zip_clip(uint64_t v) { return v < ZIP_MAX32 ? (uint32_t)v : ZIP_MAX32; }

/* ---- the file -------------------------------------------------------------------------------- */

ctsc_status zip_writer_open(diag *d, const char *path, const char *folder, zip_writer **out) {
    zip_writer *z = mem_zalloc(sizeof *z);
    if (!z) return diag_no_memory(d);
    z->folder = mem_strdup(folder);
    ctsc_status s = arena_init(&z->arena) && z->folder ? file_writer_open(d, path, &z->file)
                                                       : diag_no_memory(d);
    if (s != CTSC_OK) {
        zip_writer_free(z);
        return s;
    }
    *out = z;
    return CTSC_OK;
}

void zip_writer_free(zip_writer *z) {
    if (!z) return;
    file_writer_free(z->file);
    vec_free(&z->records);
    arena_free(&z->arena);
    mem_free(z->folder);
    mem_free(z);
}

/* ---- records --------------------------------------------------------------------------------- */

static void *zip_zlib_alloc(void *ctx, unsigned n, unsigned size) {
    size_t bytes;
    (void)ctx;
    return size_mul(n, size, &bytes) ? mem_alloc(bytes) : NULL;
}

static void zip_zlib_free(void *ctx, void *p) {
    (void)ctx;
    mem_free(p);
}

/* *out: a block to free, or NULL if deflating does not pay. */
static ctsc_status zip_deflate(diag *d, const void *data, size_t len, uint8_t **out,
                               size_t *outlen) {
    z_stream zs = {.zalloc = zip_zlib_alloc, .zfree = zip_zlib_free};
    uint8_t *p = mem_alloc(len);
    *out = NULL;
    if (!p) return diag_no_memory(d);
    if (deflateInit2(&zs, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, MAX_MEM_LEVEL - 1,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
        mem_free(p);
        return diag_no_memory(d);
    }
    zs.next_in = (Bytef *)(uintptr_t)data;
    zs.avail_in = (uInt)len;
    zs.next_out = p;
    zs.avail_out = (uInt)len;
    bool smaller = deflate(&zs, Z_FINISH) == Z_STREAM_END && zs.avail_out;
    *outlen = zs.total_out;
    deflateEnd(&zs);
    if (smaller) *out = p;
    else mem_free(p);
    return CTSC_OK;
}

/* Local header, name, extra fields: everything up to the data. */
static ctsc_status zip_write_local(zip_writer *z, diag *d, const zip_written *r) {
    static const uint8_t filler[ZIP_ALIGNMENT] =
        "ZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZ";
    bool big = r->usize >= ZIP_MAX32 || r->csize >= ZIP_MAX32;
    size_t name = strlen(z->folder) + 1 + strlen(r->name), zip64 = big ? 20 : 0;
    size_t used = (size_t)((file_writer_offset(z->file) + ZIP_LOCAL_HEADER + name + zip64 + 4) %
                           ZIP_ALIGNMENT);
    size_t padding = used ? ZIP_ALIGNMENT - used : 0;
    zip_header h = {.n = 0}, extra = {.n = 0};
    zip_put(&h, 0x04034b50, 4);
    zip_put(&h, big ? ZIP_NEEDS_ZIP64 : ZIP_NEEDS_DEFLATE, 2);
    zip_put(&h, ZIP_UTF8, 2);
    zip_put(&h, r->method, 2);
    zip_put(&h, 0, 2);
    zip_put(&h, ZIP_DATE, 2);
    zip_put(&h, r->crc, 4);
    zip_put(&h, big ? ZIP_MAX32 : r->csize, 4);
    zip_put(&h, big ? ZIP_MAX32 : r->usize, 4);
    zip_put(&h, name, 2);
    zip_put(&h, zip64 + 4 + padding, 2);
    if (big) {
        zip_put(&extra, 1, 2);
        zip_put(&extra, 16, 2);
        zip_put(&extra, r->usize, 8);
        zip_put(&extra, r->csize, 8);
    }
    zip_put(&extra, 'F' | 'B' << 8, 2);
    zip_put(&extra, padding, 2);
    ctsc_status s = file_write(z->file, d, h.bytes, h.n);
    if (s == CTSC_OK) s = file_write(z->file, d, z->folder, strlen(z->folder));
    if (s == CTSC_OK) s = file_write(z->file, d, "/", 1);
    if (s == CTSC_OK) s = file_write(z->file, d, r->name, strlen(r->name));
    if (s == CTSC_OK) s = file_write(z->file, d, extra.bytes, extra.n);
    return s == CTSC_OK ? file_write(z->file, d, filler, padding) : s;
}

ctsc_status zip_writer_add(zip_writer *z, diag *d, const char *name, const void *data, size_t len,
                           bool pack) {
    zip_written r = {.name = arena_strdup(&z->arena, name),
                     .offset = file_writer_offset(z->file),
                     .csize = len,
                     .usize = len};
    uint8_t *packed = NULL;
    size_t npacked = 0;
    if (arena_failed(&z->arena)) return diag_no_memory(d);
    if (strlen(z->folder) + strlen(name) > 0xfff0)
        return diag_fail(d, CTSC_LIMIT, "record %s: the name is too long", name);
    if (pack && len && len < ZIP_MAX32) {
        TRY(zip_deflate(d, data, len, &packed, &npacked));
    }
    r.crc = crc32_update(0, data, len);
    if (packed) {
        r.method = ZIP_DEFLATED;
        r.csize = npacked;
    }
    ctsc_status s = vec_push(&z->records, r) ? zip_write_local(z, d, &r) : diag_no_memory(d);
    if (s == CTSC_OK) s = file_write(z->file, d, packed ? packed : data, (size_t)r.csize);
    mem_free(packed);
    return s;
}

/* ---- the directory --------------------------------------------------------------------------- */

static ctsc_status zip_write_entry(zip_writer *z, diag *d, const zip_written *r) {
    zip_header h = {.n = 0}, extra = {.n = 0};
    if (r->usize >= ZIP_MAX32) zip_put(&extra, r->usize, 8);
    if (r->csize >= ZIP_MAX32) zip_put(&extra, r->csize, 8);
    if (r->offset >= ZIP_MAX32) zip_put(&extra, r->offset, 8);
    zip_put(&h, 0x02014b50, 4);
    zip_put(&h, ZIP_MADE_BY_UNIX, 2);
    zip_put(&h, extra.n ? ZIP_NEEDS_ZIP64 : ZIP_NEEDS_DEFLATE, 2);
    zip_put(&h, ZIP_UTF8, 2);
    zip_put(&h, r->method, 2);
    zip_put(&h, 0, 2);
    zip_put(&h, ZIP_DATE, 2);
    zip_put(&h, r->crc, 4);
    zip_put(&h, zip_clip(r->csize), 4);
    zip_put(&h, zip_clip(r->usize), 4);
    zip_put(&h, strlen(z->folder) + 1 + strlen(r->name), 2);
    zip_put(&h, extra.n ? extra.n + 4 : 0, 2);
    zip_put(&h, 0, 2);                       /* comment */
    zip_put(&h, 0, 2);                       /* volume */
    zip_put(&h, 0, 2);                       /* internal attributes */
    zip_put(&h, (uint64_t)0100644 << 16, 4); /* a regular file */
    zip_put(&h, zip_clip(r->offset), 4);
    ctsc_status s = file_write(z->file, d, h.bytes, h.n);
    if (s == CTSC_OK) s = file_write(z->file, d, z->folder, strlen(z->folder));
    if (s == CTSC_OK) s = file_write(z->file, d, "/", 1);
    if (s == CTSC_OK) s = file_write(z->file, d, r->name, strlen(r->name));
    if (s != CTSC_OK || !extra.n) return s;
    zip_header id = {.n = 0};
    zip_put(&id, 1, 2);
    zip_put(&id, extra.n, 2);
    s = file_write(z->file, d, id.bytes, id.n);
    return s == CTSC_OK ? file_write(z->file, d, extra.bytes, extra.n) : s;
}

static ctsc_status zip_write_directory(zip_writer *z, diag *d) {
    uint64_t begin = file_writer_offset(z->file), n = z->records.len;
    ctsc_status s = CTSC_OK;
    for (size_t i = 0; i < z->records.len && s == CTSC_OK; i++)
        s = zip_write_entry(z, d, &z->records.data[i]);
    if (s != CTSC_OK) return s;
    uint64_t end = file_writer_offset(z->file), size = end - begin;
    bool big = n >= 0xffff || begin >= ZIP_MAX32 || size >= ZIP_MAX32;
    zip_header h = {.n = 0};
    if (big) {
        zip_put(&h, 0x06064b50, 4); /* zip64 end record */
        zip_put(&h, 44, 8);
        zip_put(&h, ZIP_MADE_BY_UNIX, 2);
        zip_put(&h, ZIP_NEEDS_ZIP64, 2);
        zip_put(&h, 0, 8); /* volumes */
        zip_put(&h, n, 8);
        zip_put(&h, n, 8);
        zip_put(&h, size, 8);
        zip_put(&h, begin, 8);
        zip_put(&h, 0x07064b50, 4); /* where it is */
        zip_put(&h, 0, 4);
        zip_put(&h, end, 8);
        zip_put(&h, 1, 4);
        s = file_write(z->file, d, h.bytes, h.n);
        h.n = 0;
    }
    zip_put(&h, 0x06054b50, 4);
    zip_put(&h, 0, 4);
    zip_put(&h, n < 0xffff ? n : 0xffff, 2);
    zip_put(&h, n < 0xffff ? n : 0xffff, 2);
    zip_put(&h, zip_clip(size), 4);
    zip_put(&h, zip_clip(begin), 4);
    zip_put(&h, 0, 2);
    return s == CTSC_OK ? file_write(z->file, d, h.bytes, h.n) : s;
}

ctsc_status zip_writer_commit(zip_writer *z, diag *d) {
    ctsc_status s = zip_write_directory(z, d);
    return s == CTSC_OK ? file_writer_commit(z->file, d) : s;
}
