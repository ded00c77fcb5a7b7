/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disk.c - the files of a folder of compiled kernels (disk.h).
 *
 * A file NAME.o, numbers as the processor writes them:
 *   1. 8 bytes   "ctsc-k01"
 *   2. 8 bytes   length of the key
 *   3. 8 bytes   length of the data
 *   4. 8 bytes   checksum of key and data (disk_hash)
 *   5. the key, the data, nothing more.
 * NAME is a hash of the key, so two keys can meet in one file: then the last one written stays.
 *
 * The files contain code that will run: the folder must belong to the user and be writable by
 * nobody else, and links are not followed. Reading a file marks it as used (its modification time).
 */
#include "base/disk.h"

#include "base/memory/vec.h"
#include "base/variables.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { DISK_HEADER = 32, DISK_MAX_FILE = 1 << 24 };
static const char disk_magic[] = "ctsc-k01";

/* FNV-1a over words, with a multiplication and shift per word to spread them (constants: FNV
 * and splitmix64).
 * */
uint64_t disk_hash(const void *p, size_t len, uint64_t seed) {
    const unsigned char *bytes = p;
    uint64_t h = seed ^ 0xcbf29ce484222325u ^ len;
    for (; len; bytes += 8, len -= len < 8 ? len : 8) {
        uint64_t word = 0;
        memcpy(&word, bytes, len < 8 ? len : 8);
        h = (h ^ word) * 0xbf58476d1ce4e5b9u;
        h ^= h >> 29;
    }
    h *= 0x94d049bb133111ebu;
    return h ^ (h >> 31);
}

void disk_name(char name[DISK_NAME], char kind, const void *key, size_t key_len) {
    snprintf(name, DISK_NAME, "%c%016llx%016llx", kind,
             (unsigned long long)disk_hash(key, key_len, 1),
             (unsigned long long)disk_hash(key, key_len, 2));
}

/* ---- the folder ------------------------------------------------------------------------------ */

static bool disk_trusted(const char *folder) {
    struct stat s;
    return lstat(folder, &s) == 0 && S_ISDIR(s.st_mode) && s.st_uid == geteuid() &&
           !(s.st_mode & (S_IWGRP | S_IWOTH));
}

/* Makes the folder and those above it. */
static void disk_make(char *folder) {
    for (char *p = folder + 1; *p; p++)
        if (*p == '/') {
            *p = 0;
            mkdir(folder, 0700);
            *p = '/';
        }
    mkdir(folder, 0700);
}

bool disk_path(char path[DISK_PATH], const char *folder) {
    const char *env = variable_get(VARIABLE_CACHE), *xdg = getenv("XDG_CACHE_HOME"),
               *home = getenv("HOME");
    int n = -1;
    if (folder) n = snprintf(path, DISK_PATH, "%s", folder);
    else if (env && !strcmp(env, "0")) return false;
    else if (env) n = snprintf(path, DISK_PATH, "%s", env);
    else if (xdg && *xdg == '/') n = snprintf(path, DISK_PATH, "%s/ctsc", xdg);
    else if (home && *home == '/') n = snprintf(path, DISK_PATH, "%s/.cache/ctsc", home);
    return n > 0 && n < DISK_PATH;
}

void disk_open(disk *k, const char *folder, int64_t limit) {
    char path[DISK_PATH];
    k->limit = limit > 0 ? limit : (int64_t)256 << 20;
    k->folder = NULL;
    if (!disk_path(path, folder)) return;
    disk_make(path);
    if (disk_trusted(path)) k->folder = mem_strdup(path);
}

void disk_close(disk *k) {
    mem_free(k->folder);
    k->folder = NULL;
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool disk_read_all(int fd, unsigned char *p, size_t n) {
    while (n) {
        ssize_t got = read(fd, p, n);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        p += got;
        n -= (size_t)got;
    }
    return true;
}

static bool disk_parse(const unsigned char *file, size_t size, const char *key, size_t key_len,
                       void **data, size_t *out) {
    uint64_t lengths[3];
    memcpy(lengths, file + 8, sizeof lengths);
    if (memcmp(file, disk_magic, 8) != 0 || lengths[0] != key_len || lengths[1] > size)
        return false;
    if (DISK_HEADER + lengths[0] + lengths[1] != size ||
        memcmp(file + DISK_HEADER, key, key_len) != 0)
        return false;
    if (lengths[2] != disk_hash(file + DISK_HEADER, size - DISK_HEADER, 0)) return false;
    void *copy = mem_alloc((size_t)lengths[1]);
    if (!copy) return false;
    memcpy(copy, file + DISK_HEADER + key_len, (size_t)lengths[1]);
    *data = copy;
    *out = (size_t)lengths[1];
    return true;
}

bool disk_read(const disk *k, const char *name, const char *key, size_t key_len, void **data,
               size_t *size) {
    char path[4200];
    struct stat s;
    if (!k->folder || snprintf(path, sizeof path, "%s/%s.o", k->folder, name) >= (int)sizeof path)
        return false;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) return false;
    bool ok = false;
    unsigned char *file = NULL;
    if (fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && s.st_size >= DISK_HEADER &&
        s.st_size <= DISK_MAX_FILE && s.st_uid == geteuid())
        file = mem_alloc((size_t)s.st_size);
    if (file && disk_read_all(fd, file, (size_t)s.st_size))
        ok = disk_parse(file, (size_t)s.st_size, key, key_len, data, size);
    if (ok && time(NULL) - s.st_mtime > 3600) futimens(fd, NULL);
    mem_free(file);
    close(fd);
    return ok;
}

/* ---- writing --------------------------------------------------------------------------------- */

static bool disk_write_all(int fd, const void *data, size_t n) {
    const char *p = data;
    while (n) {
        ssize_t put = write(fd, p, n);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) return false;
        p += put;
        n -= (size_t)put;
    }
    return true;
}

typedef struct disk_file {
    time_t used;
    int64_t bytes;
    char name[48];
} disk_file;

static int disk_compare(const void *a, const void *b) {
    const disk_file *x = a, *y = b;
    return x->used < y->used ? -1 : x->used > y->used;
}

/* Removes what was used longest ago until three quarters of the limit remain. */
static void disk_trim(const disk *k) {
    VEC(disk_file) files = {0};
    int64_t total = 0;
    DIR *dir = opendir(k->folder);
    if (!dir) return;
    for (struct dirent *e; (e = readdir(dir));) {
        disk_file f;
        struct stat s;
        if (e->d_name[0] == '.' || strlen(e->d_name) >= sizeof f.name) continue;
        if (fstatat(dirfd(dir), e->d_name, &s, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(s.st_mode))
            continue;
        f.used = s.st_mtime;
        f.bytes = s.st_size;
        strcpy(f.name, e->d_name);
        total += f.bytes;
        if (!vec_push(&files, f)) break;
    }
    if (total > k->limit) {
        qsort(files.data, files.len, sizeof *files.data, disk_compare);
        for (size_t i = 0; i < files.len && total > k->limit / 4 * 3; i++) {
            unlinkat(dirfd(dir), files.data[i].name, 0);
            total -= files.data[i].bytes;
        }
    }
    vec_free(&files);
    closedir(dir);
}

void disk_write(const disk *k, const char *name, const char *key, size_t key_len, const void *data,
                size_t size) {
    char path[4200], temporary[4200];
    unsigned char header[DISK_HEADER];
    if (!k->folder || key_len + size > DISK_MAX_FILE - DISK_HEADER) return;
    if (snprintf(path, sizeof path, "%s/%s.o", k->folder, name) >= (int)sizeof path) return;
    if (snprintf(temporary, sizeof temporary, "%s/%s.XXXXXX", k->folder, name) >=
        (int)sizeof temporary)
        return;
    char *body = mem_alloc(key_len + size);
    if (!body) return;
    memcpy(body, key, key_len);
    memcpy(body + key_len, data, size);
    uint64_t lengths[3] = {key_len, size, disk_hash(body, key_len + size, 0)};
    memcpy(header, disk_magic, 8);
    memcpy(header + 8, lengths, sizeof lengths);
    int fd = mkostemp(temporary, O_CLOEXEC);
    if (fd >= 0) {
        bool ok = disk_write_all(fd, header, sizeof header) &&
                  disk_write_all(fd, body, key_len + size);
        ok = close(fd) == 0 && ok;
        if (!ok || rename(temporary, path) != 0) unlink(temporary);
        else disk_trim(k);
    }
    mem_free(body);
}
