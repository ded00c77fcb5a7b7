/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_write.c - files that appear whole or not at all.
 *
 * The file is written beside its target under a name of its own, synced, and renamed over the
 * target: a crash leaves the old file or the new one. The new file takes the old one's permissions.
 * A target that is no regular file (a pipe, a device) is written to directly.
 * Tests: tests/unit/test_export.c
 */
#include "runtime/archive/file_write.h"

#include "base/map.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    FILE_BUFFER = 1 << 16,
    FILE_WRITE_MAX = 1 << 30, /* bytes per system call */
    FILE_TEMPORARY_TRIES = 100
};

struct file_writer {
    int fd;
    char *target;    /* what the file will be */
    char *temporary; /* what it is until then; NULL: target is written to directly */
    uint64_t offset; /* bytes written, those in the buffer included */
    size_t nbuffer;
    uint8_t buffer[FILE_BUFFER];
};

/* ---- bytes ----------------------------------------------------------------------------------- */

static ctsc_status file_failed(const file_writer *w, diag *d, int error) {
    return diag_fail(d, CTSC_ENVIRONMENT, "cannot write %s: %s", w->target, strerror(error));
}

static ctsc_status file_write_all(file_writer *w, diag *d, const uint8_t *p, size_t n) {
    while (n) {
        ssize_t k = write(w->fd, p, n < FILE_WRITE_MAX ? n : FILE_WRITE_MAX);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) return file_failed(w, d, k < 0 ? errno : EIO);
        p += k;
        n -= (size_t)k;
    }
    return CTSC_OK;
}

static ctsc_status file_flush(file_writer *w, diag *d) {
    size_t n = w->nbuffer;
    w->nbuffer = 0;
    return file_write_all(w, d, w->buffer, n);
}

ctsc_status file_write(file_writer *w, diag *d, const void *data, size_t n) {
    ctsc_status s = CTSC_OK;
    if (n > sizeof w->buffer - w->nbuffer) s = file_flush(w, d);
    if (s != CTSC_OK) return s;
    w->offset += n;
    if (n > sizeof w->buffer) return file_write_all(w, d, data, n);
    if (n) memcpy(w->buffer + w->nbuffer, data, n);
    w->nbuffer += n;
    return CTSC_OK;
}

/* ---- the file -------------------------------------------------------------------------------- */

/* A new file beside the target, with the permissions a new file gets. */
static int file_create_temporary(file_writer *w, size_t len) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t number = hash_u64((uint64_t)now.tv_nsec ^ (uint64_t)now.tv_sec << 30 ^
                               (uint64_t)getpid() << 40);
    for (int i = 0; i < FILE_TEMPORARY_TRIES; i++) {
        number = hash_u64(number + 1);
        snprintf(w->temporary, len, "%s.%08x.tmp", w->target, (unsigned)number);
        int fd = open(w->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (fd >= 0 || errno != EEXIST) return fd;
    }
    return -1;
}

static ctsc_status file_create(file_writer *w, diag *d) {
    struct stat st;
    bool exists = stat(w->target, &st) == 0;
    if (exists && S_ISDIR(st.st_mode)) return file_failed(w, d, EISDIR);
    if (exists && !S_ISREG(st.st_mode)) {
        w->fd = open(w->target, O_WRONLY | O_CLOEXEC);
        return w->fd < 0 ? file_failed(w, d, errno) : CTSC_OK;
    }
    size_t len = strlen(w->target) + 16;
    w->temporary = mem_alloc(len);
    if (!w->temporary) return diag_no_memory(d);
    w->fd = file_create_temporary(w, len);
    if (w->fd < 0) {
        int error = errno;
        mem_free(w->temporary);
        w->temporary = NULL;
        return file_failed(w, d, error);
    }
    /* Without the right to keep the old permissions the new file has its own. */
    if (exists && fchmod(w->fd, st.st_mode & 0777) != 0) errno = 0;
    return CTSC_OK;
}

/* A link stays a link: what it points to is replaced. */
static char *file_resolve(const char *path) {
    char *real = realpath(path, NULL), *copy = mem_strdup(real ? real : path);
    free(real);
    return copy;
}

ctsc_status file_writer_open(diag *d, const char *path, file_writer **out) {
    file_writer *w = mem_zalloc(sizeof *w);
    if (!w) return diag_no_memory(d);
    w->fd = -1;
    w->target = file_resolve(path);
    ctsc_status s = w->target ? file_create(w, d) : diag_no_memory(d);
    if (s == CTSC_OK) *out = w;
    else file_writer_free(w);
    return s;
}

uint64_t file_writer_offset(const file_writer *w) { return w->offset; }

void file_writer_free(file_writer *w) {
    if (!w) return;
    if (w->fd >= 0) close(w->fd);
    if (w->temporary) unlink(w->temporary);
    mem_free(w->temporary);
    mem_free(w->target);
    mem_free(w);
}

/* After a rename the folder's entry is to reach the disk as well; not every file system
 * can promise that. */
static void file_sync_folder(const char *path) {
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

ctsc_status file_writer_commit(file_writer *w, diag *d) {
    TRY(file_flush(w, d));
    /* pipes and devices cannot be synced */
    if (fsync(w->fd) != 0 && w->temporary) return file_failed(w, d, errno);
    int closed = close(w->fd);
    w->fd = -1;
    if (closed != 0) return file_failed(w, d, errno);
    if (!w->temporary) return CTSC_OK;
    if (rename(w->temporary, w->target) != 0) return file_failed(w, d, errno);
    mem_free(w->temporary);
    w->temporary = NULL;
    file_sync_folder(w->target);
    return CTSC_OK;
}
