/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disk.h - a folder of what is expensive to make: bytes by key, shared by processes and
 * kept between them.
 *
 * It holds compiled kernels, for the processor (codegen/cache/cache.c) and for CUDA devices
 * (cuda/program.c), in $XDG_CACHE_HOME/ctsc or ~/.cache/ctsc. CTSC_CACHE=0 in the environment turns
 * it off, CTSC_CACHE=DIR moves it. A file holds the whole key and a seal, and is used only if all
 * of it fits, and only if nobody but the user can write the folder. Files are written under a
 * temporary name and renamed. When the folder grows over its limit, the files used longest ago go.
 *
 * The seal is a hash of the file under a secret of the user (base/keyed_hash.h), so that who can
 * put a file into the folder, by a shared volume, a restored backup or a program that writes where
 * it should not, cannot have it executed. The secret is 32 random bytes, made at first use, in
 * $XDG_STATE_HOME/ctsc/kernels.secret or ~/.local/state/ctsc/kernels.secret, which only the user
 * can read. Where neither can be written, as for services without a home, it lies in the folder
 * itself: then it tells files that were damaged or made elsewhere, and nothing more.
 * Tests: tests/unit/test_codegen.c
 */
#ifndef CTSC_BASE_DISK_H
#define CTSC_BASE_DISK_H

#include "base/keyed_hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct disk {
    char *folder; /* NULL: none */
    int64_t limit;
    unsigned char secret[KEYED_HASH_KEY];
} disk;

enum { DISK_PATH = 4096, DISK_NAME = 40 };
/* Where the folder is to be: `folder`, or as the environment says. False: nowhere. */
bool disk_path(char path[DISK_PATH], const char *folder);
/* The file of the user's secret, made if it is not there; false: it cannot be had outside the
 * folder of kernels. */
bool disk_secret_path(char path[DISK_PATH]);
/* Finds and makes folder and secret; leaves it NULL if there is none that can be trusted. limit: in
 * bytes; 0: 256 MiB. */
void disk_open(disk *k, const char *folder, int64_t limit);
void disk_close(disk *k);
/* The name of a key's file, without folder and ending: kind (a letter per user of the folder) and
 * 128 bits of hash. */
void disk_name(char name[DISK_NAME], char kind, const void *key, size_t key_len);
/* What is stored for key, mem_alloc'd; false if there is nothing or anything about it is wrong. */
bool disk_read(const disk *k, const char *name, const char *key, size_t key_len, void **data,
               size_t *size);
/* Failure is silent: the next process makes it again. */
void disk_write(const disk *k, const char *name, const char *key, size_t key_len, const void *data,
                size_t size);

/* A number for names; the same in every process. */
uint64_t disk_hash(const void *p, size_t len, uint64_t seed);

#endif
