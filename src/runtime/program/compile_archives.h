/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compile_archives.h - the archives that module-level code loads while it is compiled (py_host's
 * load_archive and what belongs to it).
 */
#ifndef CTSC_RUNTIME_PROGRAM_COMPILE_ARCHIVES_H
#define CTSC_RUNTIME_PROGRAM_COMPILE_ARCHIVES_H

#include "runtime/program/module.h"

typedef struct compile_archives { VEC(module *) modules; } compile_archives; /* zeroed: none */

ctsc_status compile_archives_load(compile_archives *a, diag *d, const char *path, value *root);
ctsc_status compile_archives_freeze(compile_archives *a, diag *d, object *o, bool fold,
                                    value *frozen);
/* Their code cannot be compiled any more; objects that are still held live on. */
void compile_archives_free(compile_archives *a);

#endif
