/* SPDX-License-Identifier: Apache-2.0 */
/* cache_internal.h - what cache.c, environment.c and library.c share. */
#ifndef CTSC_CODEGEN_CACHE_CACHE_INTERNAL_H
#define CTSC_CODEGEN_CACHE_CACHE_INTERNAL_H

#include "codegen/cache/cache.h"
#include "codegen/llvm/jit.h"

/* ---- library.c: finding libctsc-jit.so ------------------------------------------------------- */

/* The interface of the library at path, or of the first found; NULL and d if there is none. Never
 * closed again: LLVM does not survive being unloaded. Thread-safe. */
const jit_interface *library_open(const char *path, diag *d);

#endif
