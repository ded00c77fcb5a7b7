/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_write.c - files that appear whole or not at all.
 *
 * Method. The file is written without a name (O_TMPFILE) in the folder of its target, and synced.
 * Then it gets a name: the target's, or, where a file has that, a temporary one that is renamed
 * over the target. A crash leaves the old file or the new one, and a process that is killed while
 * it writes leaves nothing. Where the file system has no files without names (NFS), or no /proc is
 * mounted to name them by, the file is written under the temporary name from the start.
 *
 * The new file takes the old one's permissions. A target that is not a regular file (a pipe, a
 * device) is written to directly.
 * Tests: tests/unit/test_file_write.c, test_export.c, tests/faults/kill.py
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
    FILE_TEMPORARY_TRIES = 100,
    FILE_PROC_PATH = 40 /* "/proc/self/fd/N" */
};

struct file_writer {
    int fd;
    bool direct;     /* target is written to as it is */
    char *target;    /* what the file will be */
    char *temporary; /* its name until then; NULL: it has none */
    uint64_t offset; /* bytes written, those in the buffer included */
    size_t nbuffer;
    uint8_t buffer[FILE_BUFFER];
};

/* ---- bytes ----------------------------------------------------------------------------------- */

static ctsc_status file_failed(const file_writer *w, diag *d, int error) {
    if (error == ENOMEM) return diag_no_memory(d);
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

/* Gives the file a temporary name that no other file has. `make` returns a number from 0 on, or -1
 * with errno. */
static int file_name_temporary(file_writer *w, int (*make)(file_writer *, const char *)) {
    struct timespec now;
    size_t len = strlen(w->target) + 16;
    char *name = mem_alloc(len);
    int made = -1;
    errno = ENOMEM;
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t number = hash_u64((uint64_t)now.tv_nsec ^ (uint64_t)now.tv_sec << 30 ^
                               (uint64_t)getpid() << 40);
    for (int i = 0; name && i < FILE_TEMPORARY_TRIES; i++) {
        number = hash_u64(number + 1);
        snprintf(name, len, "%s.%08x.tmp", w->target, (unsigned)number);
        made = make(w, name);
        if (made >= 0 || errno != EEXIST) break;
    }
    if (made >= 0) w->temporary = name;
    else mem_free(name);
    return made;
}

static int file_create_named(file_writer *w, const char *name) {
    (void)w;
    return open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
}

static int file_link(file_writer *w, const char *name) {
    char path[FILE_PROC_PATH];
    snprintf(path, sizeof path, "/proc/self/fd/%d", w->fd);
    return linkat(AT_FDCWD, path, AT_FDCWD, name, AT_SYMLINK_FOLLOW);
}

/* The folder of a file, to be given to mem_free; NULL: out of memory. */
static char *file_folder(const char *path) {
    const char *slash = strrchr(path, '/');
    size_t n = slash ? (size_t)(slash - path) : 0;
    return n ? mem_strndup(path, n) : mem_strdup(slash ? "/" : ".");
}

/* A new file without a name, that can be given one later; -1 where there is no such thing. */
static int file_create_unnamed(file_writer *w) {
#ifdef O_TMPFILE
    char path[FILE_PROC_PATH], *folder = file_folder(w->target);
    int fd = folder ? open(folder, O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666) : -1;
    mem_free(folder);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (fd < 0 || access(path, F_OK) == 0) return fd;
    close(fd);
#endif
    return -1;
}

static ctsc_status file_create(file_writer *w, diag *d) {
    struct stat st;
    bool exists = stat(w->target, &st) == 0;
    if (exists && S_ISDIR(st.st_mode)) return file_failed(w, d, EISDIR);
    w->direct = exists && !S_ISREG(st.st_mode);
    if (w->direct) w->fd = open(w->target, O_WRONLY | O_CLOEXEC);
    else if ((w->fd = file_create_unnamed(w)) < 0)
        w->fd = file_name_temporary(w, file_create_named);
    if (w->fd < 0) return file_failed(w, d, errno);
    /* Without the right to keep the old permissions the new file has its own. */
    if (exists && !w->direct && fchmod(w->fd, st.st_mode & 0777) != 0) errno = 0;
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
    char *folder = file_folder(path);
    int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    mem_free(folder);
}

/* The whole file gets its name. */
static ctsc_status file_place(file_writer *w, diag *d) {
    if (!w->temporary) {
        if (file_link(w, w->target) == 0) return CTSC_OK;
        if (errno != EEXIST || file_name_temporary(w, file_link) < 0)
            return file_failed(w, d, errno);
    }
    if (rename(w->temporary, w->target) != 0) return file_failed(w, d, errno);
    mem_free(w->temporary);
    w->temporary = NULL;
    return CTSC_OK;
}

ctsc_status file_writer_commit(file_writer *w, diag *d) {
    TRY(file_flush(w, d));
    /* pipes and devices cannot be synced */
    if (fsync(w->fd) != 0 && !w->direct) return file_failed(w, d, errno);
    if (!w->direct) TRY(file_place(w, d));
    int closed = close(w->fd);
    w->fd = -1;
    if (closed != 0) return file_failed(w, d, errno);
    if (!w->direct) file_sync_folder(w->target);
    return CTSC_OK;
}
