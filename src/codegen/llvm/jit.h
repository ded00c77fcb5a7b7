/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jit.h - the interface between ctsc and libctsc-jit.so, the one file that contains LLVM.
 *
 * The library exports one function, ctsc_jit_interface. The interface is plain C:
 * IR text in, object code out, objects in, addresses out. Only this header is
 * shared, so neither side's allocator, LLVM's included, handles the other's memory.
 */
#ifndef CTSC_CODEGEN_LLVM_JIT_H
#define CTSC_CODEGEN_LLVM_JIT_H

#include <stdbool.h>
#include <stddef.h>

enum { JIT_INTERFACE = 2, JIT_TEXT = 512 };

typedef struct jit_engine jit_engine;
typedef enum jit_output { JIT_OBJECT, JIT_ASSEMBLY, JIT_IR } jit_output;

/* A processor: LLVM's name of it and its features, "+avx2,-avx512f,...". */
typedef struct jit_cpu {
    char name[64];
    char features[4096];
    char triple[64]; /* of another architecture: objects alone; "": this one */
} jit_cpu;

typedef struct jit_error {
    char text[JIT_TEXT];
} jit_error;

typedef struct jit_interface {
    int version; /* JIT_INTERFACE */
    /* LLVM's version and a hash of what was compiled in: objects of another build are stale */
    const char *build;
    /* name: "host" or one of LLVM's names. */
    bool (*describe)(const char *name, jit_cpu *out);
    /* Compiles a module with one function @kernel, which is called `symbol` in what comes out. Free
     * *data with release. Thread-safe. */
    bool (*compile)(const char *ir, size_t len, const jit_cpu *cpu, const char *symbol,
                    jit_output want, void **data, size_t *size, jit_error *error);
    void (*release)(void *data);
    /* An engine holds loaded objects, whose symbols must
     * differ. Thread-safe except for engine_free. */
    jit_engine *(*engine_new)(jit_error *error);
    void (*engine_free)(jit_engine *e);
    bool (*load)(jit_engine *e, const char *symbol, const void *data, size_t size, void **address,
                 void **handle, jit_error *error);
    void (*unload)(jit_engine *e, void *handle);
} jit_interface;

#define JIT_ENTRY "ctsc_jit_interface"
typedef const jit_interface *(*jit_entry)(void);

#endif
