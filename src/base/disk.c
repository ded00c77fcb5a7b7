/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disk.c - the files of a folder of compiled kernels (disk.h).
 *
 * A file NAME.o, numbers as the processor writes them:
 *   1. 8 bytes   "ctsc-k02"
 *   2. 8 bytes   length of the key
 *   3. 8 bytes   length of the data
 *   4. the key, the data
 *   5. 32 bytes  the seal, of NAME and all before it; nothing more.
 * NAME is a hash of the key, so two keys can meet in one file: then the last one written stays.
 *
 * The files contain code that will run: the folder must belong to the user and be writable by
 * nobody else, links are not followed, and the seal is looked at before anything of the file is
 * used. Reading a file marks it as used (its modification time).
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
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { DISK_HEADER = 24, DISK_MAX_FILE = 1 << 24 };
static const char disk_magic[] = "ctsc-k02";

/* FNV-1a over words, with a multiplication and shift per word to spread them (constants: FNV
 * and splitmix64). */
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

/* ---- bytes ----------------------------------------------------------------------------------- */

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

/* ---- the secret ------------------------------------------------------------------------------ */

static bool disk_secret_read(const char *path, unsigned char secret[KEYED_HASH_KEY]) {
    struct stat s;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) return false;
    bool ok = fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && s.st_uid == geteuid() &&
              !(s.st_mode & (S_IRWXG | S_IRWXO)) && s.st_size == KEYED_HASH_KEY &&
              disk_read_all(fd, secret, KEYED_HASH_KEY);
    close(fd);
    return ok;
}

/* Whole or not at all, and of two processes that make it at once the first one's stays. */
static bool disk_secret_make(const char *path, unsigned char secret[KEYED_HASH_KEY]) {
    char temporary[DISK_PATH + 8];
    snprintf(temporary, sizeof temporary, "%s.XXXXXX", path);
    int fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0) return false;
    bool ok = getrandom(secret, KEYED_HASH_KEY, 0) == KEYED_HASH_KEY &&
              disk_write_all(fd, secret, KEYED_HASH_KEY) && fsync(fd) == 0;
    ok = close(fd) == 0 && ok;
    if (ok && link(temporary, path) != 0 && !(errno == EEXIST && disk_secret_read(path, secret)))
        /* what is there is not a secret, or the file system has no second names */
        ok = rename(temporary, path) == 0 && disk_secret_read(path, secret);
    unlink(temporary);
    return ok;
}

/* The secret in a file of a folder that is the user's alone. */
static bool disk_secret_in(char *folder, const char *path, unsigned char *secret) {
    disk_make(folder);
    return disk_trusted(folder) &&
           (disk_secret_read(path, secret) || disk_secret_make(path, secret));
}

static bool disk_secret_home(char path[DISK_PATH], unsigned char *secret) {
    char folder[DISK_PATH];
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    int n = -1;
    if (state && *state == '/') n = snprintf(folder, sizeof folder, "%s/ctsc", state);
    else if (home && *home == '/')
        n = snprintf(folder, sizeof folder, "%s/.local/state/ctsc", home);
    if (n < 0 || n >= (int)sizeof folder) return false;
    n = snprintf(path, DISK_PATH, "%s/kernels.secret", folder);
    return n < DISK_PATH && disk_secret_in(folder, path, secret);
}

bool disk_secret_path(char path[DISK_PATH]) {
    unsigned char secret[KEYED_HASH_KEY];
    return disk_secret_home(path, secret);
}

/* In the folder its name begins with a point: disk_trim leaves it. */
static bool disk_find_secret(disk *k, char *folder) {
    char path[DISK_PATH + 16], elsewhere[DISK_PATH];
    snprintf(path, sizeof path, "%s/.secret", folder);
    return disk_secret_home(elsewhere, k->secret) || disk_secret_in(folder, path, k->secret);
}

void disk_open(disk *k, const char *folder, int64_t limit) {
    char path[DISK_PATH];
    k->limit = limit > 0 ? limit : (int64_t)256 << 20;
    k->folder = NULL;
    if (!disk_path(path, folder)) return;
    disk_make(path);
    if (disk_trusted(path) && disk_find_secret(k, path)) k->folder = mem_strdup(path);
}

void disk_close(disk *k) {
    mem_free(k->folder);
    k->folder = NULL;
}

/* Of a file's name, its header, and key and data in one piece. */
static void disk_seal(const disk *k, const char *name, const void *header, const void *body,
                      size_t size, unsigned char seal[KEYED_HASH_SIZE]) {
    keyed_hash hash;
    keyed_hash_begin(&hash, k->secret);
    keyed_hash_add(&hash, name, strlen(name) + 1);
    keyed_hash_add(&hash, header, DISK_HEADER);
    keyed_hash_add(&hash, body, size);
    keyed_hash_end(&hash, seal);
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool disk_parse(const disk *k, const char *name, const unsigned char *file, size_t size,
                       const char *key, size_t key_len, void **data, size_t *out) {
    uint64_t lengths[2];
    unsigned char seal[KEYED_HASH_SIZE];
    size_t body = size - DISK_HEADER - KEYED_HASH_SIZE;
    const unsigned char *kept = file + DISK_HEADER + body;
    memcpy(lengths, file + 8, sizeof lengths);
    if (memcmp(file, disk_magic, 8) != 0 || lengths[0] != key_len || key_len > body ||
        lengths[1] != body - key_len || memcmp(file + DISK_HEADER, key, key_len) != 0)
        return false;
    disk_seal(k, name, file, file + DISK_HEADER, body, seal);
    if (!keyed_hash_same(seal, kept)) return false;
    void *copy = mem_alloc(body - key_len);
    if (!copy) return false;
    memcpy(copy, file + DISK_HEADER + key_len, body - key_len);
    *data = copy;
    *out = body - key_len;
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
    if (fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && s.st_size >= DISK_HEADER + KEYED_HASH_SIZE &&
        s.st_size <= DISK_MAX_FILE && s.st_uid == geteuid())
        file = mem_alloc((size_t)s.st_size);
    if (file && disk_read_all(fd, file, (size_t)s.st_size))
        ok = disk_parse(k, name, file, (size_t)s.st_size, key, key_len, data, size);
    if (ok && time(NULL) - s.st_mtime > 3600) futimens(fd, NULL);
    mem_free(file);
    close(fd);
    return ok;
}

/* ---- writing --------------------------------------------------------------------------------- */

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
    unsigned char header[DISK_HEADER], seal[KEYED_HASH_SIZE];
    if (!k->folder || key_len + size > DISK_MAX_FILE - DISK_HEADER - KEYED_HASH_SIZE) return;
    if (snprintf(path, sizeof path, "%s/%s.o", k->folder, name) >= (int)sizeof path) return;
    if (snprintf(temporary, sizeof temporary, "%s/%s.XXXXXX", k->folder, name) >=
        (int)sizeof temporary)
        return;
    char *body = mem_alloc(key_len + size);
    if (!body) return;
    memcpy(body, key, key_len);
    memcpy(body + key_len, data, size);
    uint64_t lengths[2] = {key_len, size};
    memcpy(header, disk_magic, 8);
    memcpy(header + 8, lengths, sizeof lengths);
    disk_seal(k, name, header, body, key_len + size, seal);
    int fd = mkostemp(temporary, O_CLOEXEC);
    if (fd >= 0) {
        bool ok = disk_write_all(fd, header, sizeof header) &&
                  disk_write_all(fd, body, key_len + size) && disk_write_all(fd, seal, sizeof seal);
        ok = close(fd) == 0 && ok;
        if (!ok || rename(temporary, path) != 0) unlink(temporary);
        else disk_trim(k);
    }
    mem_free(body);
}
