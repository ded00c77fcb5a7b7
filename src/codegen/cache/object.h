/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object.h - object code becomes callable without LLVM: a program whose kernels are all on disk
 * needs no compiler, which takes 50 MiB of memory and some ten milliseconds to open.
 * Tests: tests/unit/test_codegen.c
 */
#ifndef CTSC_CODEGEN_CACHE_OBJECT_H
#define CTSC_CODEGEN_CACHE_OBJECT_H

#include <stdbool.h>
#include <stddef.h>

/* Where an object is loaded. */
typedef struct object_code {
    void *memory; /* NULL: nowhere */
    size_t size;
} object_code;

/* Loads an object that libctsc-jit.so made, whose function `symbol` is at *address then. False: it
 * has something that this loader does not know (or is damaged, or there is no memory); LLVM's may.
 */
bool object_load(const void *data, size_t size, const char *symbol, object_code *out,
                 void **address);
/* Nothing of it may run any more. */
void object_unload(object_code *o);

#endif
