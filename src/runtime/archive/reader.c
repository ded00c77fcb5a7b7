/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reader.c - where the bytes of an archive come from: a mapped file, or memory of the caller.
 *
 * Files are mapped, so that weights are paged in when used and shared between processes; a file
 * that cannot be mapped (a pipe does not qualify, it has no size) is read with pread. A mapped file
 * must not be truncated while it is in use: the kernel answers an access beyond the new end with
 * SIGBUS. Replace model files by renaming a new one over them.
 *
 * Ownership: a reader is closed by its last owner; memory readers borrow.
 * Tests: tests/unit/test_archive.c
 */
#include "runtime/archive/archive_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Archives, and files of all other formats that are read here, are little-endian, and tensors lie
 * in memory as in them. */
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "ctsc runs on little-endian processors only"
#endif

void reader_close(reader *r) {
    if (r->close) r->close(r->ctx);
    *r = (reader){0};
}

/* ---- files ----------------------------------------------------------------------------------- */

typedef struct file_reader {
    int fd; /* -1 once mapped */
    uint64_t size;
    void *map; /* NULL: not mapped */
} file_reader;

static ctsc_status file_reader_size(void *ctx, diag *d, uint64_t *out) {
    (void)d;
    *out = ((file_reader *)ctx)->size;
    return CTSC_OK;
}

static ctsc_status file_reader_read(void *ctx, diag *d, uint64_t offset, void *buf, size_t len) {
    file_reader *f = ctx;
    if (offset > f->size || len > f->size - offset)
        return diag_fail(d, CTSC_BAD_FILE,
                         "the file ends at offset %llu, wanted %zu bytes at offset %llu",
                         (unsigned long long)f->size, len, (unsigned long long)offset);
    if (f->map) {
        memcpy(buf, (char *)f->map + offset, len);
        return CTSC_OK;
    }
    char *to = buf;
    while (len) {
        ssize_t n = pread(f->fd, to, len, (off_t)offset);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return diag_fail(d, CTSC_ENVIRONMENT, "reading failed: %s", strerror(errno));
        if (n == 0) return diag_fail(d, CTSC_BAD_FILE, "the file became shorter while it was read");
        to += n;
        offset += (uint64_t)n;
        len -= (size_t)n;
    }
    return CTSC_OK;
}

static const void *file_reader_map(void *ctx, uint64_t *len) {
    file_reader *f = ctx;
    *len = f->size;
    return f->map;
}

static void file_reader_close(void *ctx) {
    file_reader *f = ctx;
    if (f->map) munmap(f->map, (size_t)f->size);
    if (f->fd >= 0) close(f->fd);
    mem_free(f);
}

/* Takes fd; name: for messages. */
static ctsc_status file_reader_open(diag *d, int fd, const char *path, reader *out) {
    struct stat st;
    file_reader *f = NULL;
    ctsc_status s = CTSC_OK;
    if (fstat(fd, &st) != 0)
        s = diag_fail(d, CTSC_BAD_FILE, "cannot open %s: %s", path, strerror(errno));
    else if (!S_ISREG(st.st_mode))
        s = diag_fail(d, CTSC_BAD_FILE, "cannot open %s: not a regular file", path);
    else if (!(f = mem_zalloc(sizeof *f))) s = diag_no_memory(d);
    if (s != CTSC_OK) {
        close(fd);
        return s;
    }
    f->fd = fd;
    f->size = (uint64_t)st.st_size;
    if (f->size > 0 && f->size <= PTRDIFF_MAX) {
        void *map = mmap(NULL, (size_t)f->size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (map != MAP_FAILED) {
            f->map = map;
            f->fd = -1;
            close(fd);
        }
    }
    *out = (reader){
        file_reader_size, file_reader_read, file_reader_map, file_reader_close, f, true, NULL};
    return CTSC_OK;
}

ctsc_status reader_open_file(diag *d, const char *path, reader *out) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return diag_fail(d, CTSC_BAD_FILE, "cannot open %s: %s", path, strerror(errno));
    return file_reader_open(d, fd, path, out);
}

ctsc_status reader_open_fd(diag *d, int fd, reader *out) {
    char name[40];
    snprintf(name, sizeof name, "file descriptor %d", fd);
    int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (own < 0) return diag_fail(d, CTSC_BAD_FILE, "cannot open %s: %s", name, strerror(errno));
    return file_reader_open(d, own, name, out);
}

/* ---- memory ---------------------------------------------------------------------------------- */

typedef struct memory_reader {
    const char *data;
    size_t len;
} memory_reader;

static ctsc_status memory_reader_size(void *ctx, diag *d, uint64_t *out) {
    (void)d;
    *out = ((memory_reader *)ctx)->len;
    return CTSC_OK;
}

static ctsc_status memory_reader_read(void *ctx, diag *d, uint64_t offset, void *buf, size_t len) {
    memory_reader *m = ctx;
    if (offset > m->len || len > m->len - offset)
        return diag_fail(d, CTSC_BAD_FILE,
                         "the file ends at offset %zu, wanted %zu bytes at offset %llu", m->len,
                         len, (unsigned long long)offset);
    if (len) memcpy(buf, m->data + offset, len);
    return CTSC_OK;
}

static const void *memory_reader_map(void *ctx, uint64_t *len) {
    memory_reader *m = ctx;
    *len = m->len;
    return m->data;
}

ctsc_status reader_open_memory(diag *d, const void *data, size_t len, reader *out) {
    memory_reader *m = mem_alloc(sizeof *m);
    if (!m) return diag_no_memory(d);
    *m = (memory_reader){data, len};
    *out = (reader){
        memory_reader_size, memory_reader_read, memory_reader_map, mem_free, m, false, NULL};
    return CTSC_OK;
}

typedef struct storage_reader { memory_reader m; storage *st; } storage_reader;

static void storage_reader_close(void *ctx) {
    storage_unref(((storage_reader *)ctx)->st);
    mem_free(ctx);
}

ctsc_status reader_open_storage(diag *d, storage *st, reader *out) {
    storage_reader *r = mem_alloc(sizeof *r);
    if (!r) return diag_no_memory(d);
    *r = (storage_reader){{st->data, st->nbytes}, storage_ref(st)};
    *out = (reader){memory_reader_size,
                    memory_reader_read,
                    memory_reader_map,
                    storage_reader_close,
                    r,
                    st->of_file,
                    NULL};
    return CTSC_OK;
}

/* ---- the whole of it ------------------------------------------------------------------------- */

static void reader_contents_release(void *ctx, void *data) {
    (void)data;
    reader *r = ctx;
    reader_close(r);
    mem_free(r);
}

ctsc_status reader_contents(diag *d, reader r, storage **out) {
    uint64_t size;
    ctsc_status s = r.size(r.ctx, d, &size);
    storage *st = NULL;
    if (s == CTSC_OK && size > PTRDIFF_MAX) s = diag_fail(d, CTSC_LIMIT, "the file is too large");
    if (s != CTSC_OK) goto out;
    uint64_t mapped = 0;
    const void *map = r.map ? r.map(r.ctx, &mapped) : NULL;
    if (map && mapped == size) {
        reader *keep = mem_alloc(sizeof *keep);
        if (keep)
            st = storage_borrow((void *)(uintptr_t)map, (size_t)size, reader_contents_release,
                                keep);
        if (!st) {
            mem_free(keep);
            s = diag_no_memory(d);
            goto out;
        }
        *keep = r;
        st->read_only = true;
        *out = st;
        return CTSC_OK;
    }
    st = storage_new((size_t)size);
    s = st ? r.read(r.ctx, d, 0, st->data, (size_t)size) : diag_no_memory(d);
out:
    reader_close(&r);
    if (s == CTSC_OK) *out = st;
    else storage_unref(st);
    return s;
}
