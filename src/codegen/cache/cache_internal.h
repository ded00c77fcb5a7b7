/* SPDX-License-Identifier: Apache-2.0 */
/* cache_internal.h - what cache.c, environment.c, jit_library.c and processor.c share. */
#ifndef CTSC_CODEGEN_CACHE_CACHE_INTERNAL_H
#define CTSC_CODEGEN_CACHE_CACHE_INTERNAL_H

#include "base/disk.h"
#include "base/text/strbuf.h"
#include "codegen/cache/cache.h"
#include "codegen/llvm/jit.h"

/* ---- jit_library.c: finding libctsc-jit.so --------------------------------------------------- */

/* The interface of the library at path, or of the first found (path NULL); NULL and d if there is
 * none, which is told as CTSC_LOG_ALERT once where it was looked for. Never closed again: LLVM does
 * not survive being unloaded. Thread-safe. */
const jit_interface *library_open(const char *path, diag *d);
/* What to do where library_open(NULL) found none; "": it found one, or was not called. */
enum { LIBRARY_ADVICE = 400 };
void library_advise(char advice[LIBRARY_ADVICE]);
/* Adds to key what tells that library from every other one: its file's place, size and time. False:
 * the file is not where that can be seen. Opens nothing. */
bool library_identify(const char *path, strbuf *key);

/* ---- processor.c: what is compiled for what, without asking LLVM ----------------------------- */

typedef struct cache_target {
    char build[128]; /* jit_interface.build */
    jit_cpu cpu;
} cache_target;

/* What the library at path (NULL: the first found) said when a process opened it here for the
 * processor `name`, and said it to the folder. False: nothing that still holds. */
bool target_read(const disk *k, const char *path, const char *name, cache_target *out);
void target_write(const disk *k, const char *path, const char *name, const cache_target *t);

#endif
