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
 * tensor's memory to the file without a copy, uses the fast checksum of crc.c, and makes waiting
 * for the disk possible.
 *
 * The file is written beside its target under a name of its own, synced, and renamed over the
 * target: a crash leaves the old file or the new one. The new file takes the old one's permissions.
 * A target that is no regular file (a pipe, a device) is written to directly.
 * Tests: tests/unit/test_export.c
 */
#include "runtime/archive/archive_internal.h"
#include "runtime/save/export.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

enum {
    ZIP_ALIGNMENT = 64,
    ZIP_LOCAL_HEADER = 30,
    ZIP_NEEDS_ZIP64 = 45, /* version of the format that a reader must know */
    ZIP_NEEDS_DEFLATE = 20,
    ZIP_UTF8 = 0x0800,
    ZIP_MADE_BY_UNIX = 3 << 8 | 30,
    ZIP_DATE = 1 << 5 | 1, /* 1 January 1980: the same content gives the same file on any day */
    ZIP_BUFFER = 1 << 16,
    ZIP_WRITE_MAX = 1 << 30, /* bytes per system call */
    ZIP_TEMPORARY_TRIES = 100
};
#define ZIP_MAX32 0xffffffffu

typedef struct zip_written {
    const char *name;
    uint64_t offset, csize, usize;
    uint32_t crc;
    uint16_t method;
} zip_written;

struct zip_writer {
    int fd;
    char *target;    /* what the file will be */
    char *temporary; /* what it is until then; NULL: target is written to directly */
    char *folder;
    arena arena;
    VEC(zip_written) records;
    uint64_t offset; /* bytes written, those in the buffer included */
    size_t nbuffer;
    uint8_t buffer[ZIP_BUFFER];
};

/* ---- bytes ----------------------------------------------------------------------------------- */

static ctsc_status zip_write_failed(const zip_writer *z, diag *d, int error) {
    return diag_fail(d, CTSC_ENVIRONMENT, "cannot write %s: %s", z->target, strerror(error));
}

static ctsc_status zip_write_all(zip_writer *z, diag *d, const uint8_t *p, size_t n) {
    while (n) {
        ssize_t k = write(z->fd, p, n < ZIP_WRITE_MAX ? n : ZIP_WRITE_MAX);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) return zip_write_failed(z, d, k < 0 ? errno : EIO);
        p += k;
        n -= (size_t)k;
    }
    return CTSC_OK;
}

static ctsc_status zip_flush(zip_writer *z, diag *d) {
    size_t n = z->nbuffer;
    z->nbuffer = 0;
    return zip_write_all(z, d, z->buffer, n);
}

static ctsc_status zip_write(zip_writer *z, diag *d, const void *data, size_t n) {
    ctsc_status s = CTSC_OK;
    if (n > sizeof z->buffer - z->nbuffer) s = zip_flush(z, d);
    if (s != CTSC_OK) return s;
    z->offset += n;
    if (n > sizeof z->buffer) return zip_write_all(z, d, data, n);
    if (n) memcpy(z->buffer + z->nbuffer, data, n);
    z->nbuffer += n;
    return CTSC_OK;
}

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

/* A new file beside the target, with the permissions a new file gets. */
static int zip_create_temporary(zip_writer *z, size_t len) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t number = hash_u64((uint64_t)now.tv_nsec ^ (uint64_t)now.tv_sec << 30 ^
                               (uint64_t)getpid() << 40);
    for (int i = 0; i < ZIP_TEMPORARY_TRIES; i++) {
        number = hash_u64(number + 1);
        snprintf(z->temporary, len, "%s.%08x.tmp", z->target, (unsigned)number);
        int fd = open(z->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (fd >= 0 || errno != EEXIST) return fd;
    }
    return -1;
}

static ctsc_status zip_create(zip_writer *z, diag *d) {
    struct stat st;
    bool exists = stat(z->target, &st) == 0;
    if (exists && S_ISDIR(st.st_mode)) return zip_write_failed(z, d, EISDIR);
    if (exists && !S_ISREG(st.st_mode)) {
        z->fd = open(z->target, O_WRONLY | O_CLOEXEC);
        return z->fd < 0 ? zip_write_failed(z, d, errno) : CTSC_OK;
    }
    size_t len = strlen(z->target) + 16;
    z->temporary = mem_alloc(len);
    if (!z->temporary) return diag_no_memory(d);
    z->fd = zip_create_temporary(z, len);
    if (z->fd < 0) {
        int error = errno;
        mem_free(z->temporary);
        z->temporary = NULL;
        return zip_write_failed(z, d, error);
    }
    /* Without the right to keep the old permissions the new file has its own. */
    if (exists && fchmod(z->fd, st.st_mode & 0777) != 0) errno = 0;
    return CTSC_OK;
}

/* A link stays a link: what it points to is replaced. */
static char *zip_resolve(const char *path) {
    char *real = realpath(path, NULL), *copy = mem_strdup(real ? real : path);
    free(real);
    return copy;
}

ctsc_status zip_writer_open(diag *d, const char *path, const char *folder, zip_writer **out) {
    zip_writer *z = mem_zalloc(sizeof *z);
    if (!z) return diag_no_memory(d);
    z->fd = -1;
    z->target = zip_resolve(path);
    z->folder = mem_strdup(folder);
    ctsc_status s = arena_init(&z->arena) && z->target && z->folder ? zip_create(z, d)
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
    if (z->fd >= 0) close(z->fd);
    if (z->temporary) unlink(z->temporary);
    vec_free(&z->records);
    arena_free(&z->arena);
    mem_free(z->temporary);
    mem_free(z->target);
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
    size_t used = (size_t)((z->offset + ZIP_LOCAL_HEADER + name + zip64 + 4) % ZIP_ALIGNMENT);
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
    ctsc_status s = zip_write(z, d, h.bytes, h.n);
    if (s == CTSC_OK) s = zip_write(z, d, z->folder, strlen(z->folder));
    if (s == CTSC_OK) s = zip_write(z, d, "/", 1);
    if (s == CTSC_OK) s = zip_write(z, d, r->name, strlen(r->name));
    if (s == CTSC_OK) s = zip_write(z, d, extra.bytes, extra.n);
    return s == CTSC_OK ? zip_write(z, d, filler, padding) : s;
}

ctsc_status zip_writer_add(zip_writer *z, diag *d, const char *name, const void *data, size_t len,
                           bool pack) {
    zip_written r = {
        .name = arena_strdup(&z->arena, name), .offset = z->offset, .csize = len, .usize = len};
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
    if (s == CTSC_OK) s = zip_write(z, d, packed ? packed : data, (size_t)r.csize);
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
    ctsc_status s = zip_write(z, d, h.bytes, h.n);
    if (s == CTSC_OK) s = zip_write(z, d, z->folder, strlen(z->folder));
    if (s == CTSC_OK) s = zip_write(z, d, "/", 1);
    if (s == CTSC_OK) s = zip_write(z, d, r->name, strlen(r->name));
    if (s != CTSC_OK || !extra.n) return s;
    zip_header id = {.n = 0};
    zip_put(&id, 1, 2);
    zip_put(&id, extra.n, 2);
    s = zip_write(z, d, id.bytes, id.n);
    return s == CTSC_OK ? zip_write(z, d, extra.bytes, extra.n) : s;
}

static ctsc_status zip_write_directory(zip_writer *z, diag *d) {
    uint64_t begin = z->offset, n = z->records.len;
    ctsc_status s = CTSC_OK;
    for (size_t i = 0; i < z->records.len && s == CTSC_OK; i++)
        s = zip_write_entry(z, d, &z->records.data[i]);
    if (s != CTSC_OK) return s;
    uint64_t end = z->offset, size = end - begin;
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
        s = zip_write(z, d, h.bytes, h.n);
        h.n = 0;
    }
    zip_put(&h, 0x06054b50, 4);
    zip_put(&h, 0, 4);
    zip_put(&h, n < 0xffff ? n : 0xffff, 2);
    zip_put(&h, n < 0xffff ? n : 0xffff, 2);
    zip_put(&h, zip_clip(size), 4);
    zip_put(&h, zip_clip(begin), 4);
    zip_put(&h, 0, 2);
    return s == CTSC_OK ? zip_write(z, d, h.bytes, h.n) : s;
}

/* After a rename the folder's entry is to reach the disk as well; not every file system
 * can promise that. */
static void zip_sync_folder(const char *path) {
    char *folder = mem_strdup(path), *slash = folder ? strrchr(folder, '/') : NULL;
    if (folder) {
        if (slash) slash[slash == folder] = '\0';
        int fd = open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd >= 0) {
            fsync(fd);
            close(fd);
        }
    }
    mem_free(folder);
}

ctsc_status zip_writer_commit(zip_writer *z, diag *d) {
    ctsc_status s = zip_write_directory(z, d);
    if (s == CTSC_OK) s = zip_flush(z, d);
    if (s != CTSC_OK) return s;
    /* pipes and devices cannot be synced */
    if (fsync(z->fd) != 0 && z->temporary) return zip_write_failed(z, d, errno);
    int closed = close(z->fd);
    z->fd = -1;
    if (closed != 0) return zip_write_failed(z, d, errno);
    if (!z->temporary) return CTSC_OK;
    if (rename(z->temporary, z->target) != 0) return zip_write_failed(z, d, errno);
    mem_free(z->temporary);
    z->temporary = NULL;
    zip_sync_folder(z->target);
    return CTSC_OK;
}
