/* SPDX-License-Identifier: Apache-2.0 */
/* cache_internal.h - what cache.c, disk.c and library.c share. */
#ifndef CTSC_CODEGEN_CACHE_INTERNAL_H
#define CTSC_CODEGEN_CACHE_INTERNAL_H

#include "codegen/cache.h"
#include "codegen/jit.h"

/* ---- library.c: finding libctsc-jit.so ---- */

/* The interface of the library at path, or of the first found; NULL and d if there is none. Never closed again: LLVM
 * does not survive being unloaded. Thread-safe. */
const jit_interface *library_open(const char *path, diag *d);

/* ---- disk.c: the folder of objects ---- */

typedef struct disk {
    char *folder; /* NULL: none */
    int64_t limit;
} disk;

enum { DISK_PATH = 4096 };
/* Where the folder is to be: `folder`, or as the environment says (cache.h). False: nowhere. */
bool disk_path(char path[DISK_PATH], const char *folder);
/* Finds and makes the folder; leaves it NULL if there is none that can be trusted. */
void disk_open(disk *k, const char *folder, int64_t limit);
void disk_close(disk *k);
/* The object stored for key, mem_alloc'd; false if there is none or anything about it is wrong. */
bool disk_read(const disk *k, const char *name, const char *key, size_t key_len, void **data, size_t *size);
/* Failure is silent: the next process compiles again. */
void disk_write(const disk *k, const char *name, const char *key, size_t key_len, const void *data, size_t size);

/* A number for names and checksums; the same in every process. */
uint64_t disk_hash(const void *p, size_t len, uint64_t seed);

#endif
