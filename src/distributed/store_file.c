/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_file.c - a store in a file.
 *
 * Method. The file is a log: each change appends a record, under a lock (flock). Each process keeps
 * a table of what it has read, and reads the rest before it answers. Waiting is looking again.
 *
 * A record, numbers as the processor writes them:
 *   1. 8 bytes   length of the key
 *   2. 8 bytes   length of the value; FILE_DELETED: there is none any more
 *   3. the key, the value.
 */
#include "distributed/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FILE_DELETED UINT64_MAX
static const char file_users_key[] = "ctsc/closed";
enum { FILE_PAUSE_MS = 5 };

typedef struct file_store {
    ctsc_dist_store base;
    store_table *table;
    int fd, users;
    off_t read; /* how much of the file is in the table */
    char path[];
} file_store;

static bool file_read(int fd, void *data, size_t bytes, off_t at) {
    char *p = data;
    while (bytes) {
        ssize_t n = pread(fd, p, bytes, at);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        p += n, at += n, bytes -= (size_t)n;
    }
    return true;
}

static bool file_write(int fd, const void *data, size_t bytes, off_t at) {
    const char *p = data;
    while (bytes) {
        ssize_t n = pwrite(fd, p, bytes, at);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        p += n, at += n, bytes -= (size_t)n;
    }
    return true;
}

/* Reads what others appended. A record that is cut off, by a process that was killed, is written
 * over by the next one. */
static bool file_catch_up(file_store *s) {
    struct stat info;
    uint64_t head[2];
    if (fstat(s->fd, &info) != 0) return false;
    while (s->read + (off_t)sizeof head <= info.st_size &&
           file_read(s->fd, head, sizeof head, s->read)) {
        uint64_t left = (uint64_t)(info.st_size - s->read) - sizeof head;
        uint64_t value = head[1] == FILE_DELETED ? 0 : head[1];
        if (head[0] > left || value > left - head[0]) break;
        char *both = malloc((size_t)(head[0] + value) + 1);
        bool ok = both &&
                  file_read(s->fd, both, (size_t)(head[0] + value), s->read + (off_t)sizeof head);
        if (ok && head[1] == FILE_DELETED) store_table_delete(s->table, both, (size_t)head[0]);
        else if (ok)
            ok = store_table_set(s->table, both, (size_t)head[0], both + head[0], (size_t)value);
        free(both);
        if (!ok) return false;
        s->read += (off_t)(sizeof head + head[0] + value);
    }
    return true;
}

static bool file_append(file_store *s, const char *key) {
    const store_bytes *v = store_table_get(s->table, key, strlen(key));
    uint64_t head[2] = {strlen(key), v ? v->bytes : FILE_DELETED};
    off_t at = s->read;
    bool ok = file_write(s->fd, head, sizeof head, at) &&
              file_write(s->fd, key, (size_t)head[0], at += (off_t)sizeof head) &&
              (!v || file_write(s->fd, v->data, v->bytes, at + (off_t)head[0]));
    if (ok) s->read += (off_t)(sizeof head + head[0] + (v ? v->bytes : 0));
    return ok;
}

static ctsc_status file_ask(ctsc_dist_store *base, const store_request *r, int64_t deadline,
                            store_bytes *answer, ctsc_dist_error *e) {
    file_store *s = (file_store *)base;
    for (;;) {
        ctsc_status st = CTSC_OK;
        if (flock(s->fd, LOCK_EX) != 0)
            return dist_fail(e, CTSC_ENVIRONMENT, "%s cannot be locked: %s", s->path,
                             strerror(errno));
        bool ok = file_catch_up(s), answered = ok && store_answer(s->table, r, answer, &st);
        if (answered && st == CTSC_OK && store_changes(r->verb)) ok = file_append(s, r->keys[0]);
        int why = errno;
        flock(s->fd, LOCK_UN);
        if (!ok) return dist_fail(e, CTSC_ENVIRONMENT, "%s: %s", s->path, strerror(why));
        if (answered) return st == CTSC_OK ? st : dist_no_memory(e);
        if (!dist_left(deadline)) return dist_fail(e, CTSC_LIMIT, "wait timeout");
        nanosleep(&(struct timespec){0, FILE_PAUSE_MS * 1000000}, NULL);
    }
}

static void file_free(ctsc_dist_store *base) {
    file_store *s = (file_store *)base;
    int64_t closed = 0;
    if (s->users > 0 && ctsc_dist_store_add(base, file_users_key, 1, &closed, NULL) == CTSC_OK &&
        closed >= s->users)
        unlink(s->path);
    close(s->fd);
    store_table_free(s->table);
    free(s);
}

ctsc_status ctsc_dist_store_file(const char *path, int users, int64_t timeout_ms,
                                 ctsc_dist_store **out, ctsc_dist_error *e) {
    static const store_kind kind = {file_ask, file_free};
    file_store *s = calloc(1, sizeof *s + strlen(path) + 1);
    if (!s || !(s->table = store_table_new())) return free(s), dist_no_memory(e);
    strcpy(s->path, path);
    s->base = (ctsc_dist_store){&kind, timeout_ms, 0};
    s->users = users;
    s->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (s->fd < 0) {
        ctsc_status st = dist_fail(e, CTSC_ENVIRONMENT, "%s cannot be opened: %s", path,
                                   strerror(errno));
        store_table_free(s->table);
        free(s);
        return st;
    }
    *out = &s->base;
    return CTSC_OK;
}
