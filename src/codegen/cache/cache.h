/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cache.h - loop nests to native functions, each compiled once: in memory by content, and on disk.
 *
 * A codegen is a processor to compile for, the kernels made so far, and a
 * folder of objects. A kernel is identified by its LLVM IR, the processor and
 * the build of the compiler library; the same content gives the same kernel.
 * Thread-safe: two threads that ask for one kernel get it from one compilation.
 *
 * A caller waits (codegen_kernel), or leaves it to the thread of base/threads/background.h
 * and checks again later (codegen_request). That thread also opens the compiler library,
 * and reads and writes the folder. The request holds a copy of all it needs: it outlives
 * the code that made it, and a kernel that is no longer needed is made all the same.
 *
 * The folder is base/disk.h's.
 *
 * Without libctsc-jit.so every request fails with CTSC_ENVIRONMENT, and codegen_available
 * says so beforehand.
 * Tests: tests/unit/test_codegen.c
 */
#ifndef CTSC_CODEGEN_CACHE_CACHE_H
#define CTSC_CODEGEN_CACHE_CACHE_H

#include "base/text/strbuf.h"
#include "codegen/nest/nest.h"

#include <stdatomic.h>

/* What kernel and caller tell each other while it runs (llvm_emit.c knows the layout). */
typedef struct kernel_call {
    int64_t fault;           /* the value of the fail that ended it */
    bool (*stop)(void *ctx); /* true: end at the next watch. NULL: nobody asks */
    void *ctx;
} kernel_call;

/* What a nest compiles to. buffers, ints, floats: the nest's parameters in the order they were
 * added. [begin, end): a chunk of the parallel loop's range, ignored by nests without one. call:
 * NULL will do for a nest that neither fails nor is watched. 0: done. Otherwise the code of the
 * nest's fail or watch. Any number of threads may call it at once. */
typedef int64_t (*kernel_fn)(void *const *buffers, const int64_t *ints, const double *floats,
                             int64_t begin, int64_t end, kernel_call *call);

typedef enum kernel_origin { KERNEL_COMPILED, KERNEL_FROM_DISK } kernel_origin;
typedef enum kernel_state { KERNEL_WORKING, KERNEL_READY, KERNEL_FAILED } kernel_state;

typedef struct kernel {
    atomic_int state; /* a kernel_state. What follows is only there when it is KERNEL_READY */
    kernel_fn fn;
    kernel_origin origin;
    double milliseconds; /* it took to compile, or to load */
    size_t code_bytes;   /* of the object */
} kernel;

typedef struct codegen codegen;

typedef struct codegen_options {
    const char *cpu;    /* NULL or "host"; "sse2", "avx2", "avx512"; or a name of LLVM's */
    const char *folder; /* of the disk cache; NULL: as above; "": none */
    int64_t disk_limit; /* bytes; 0: 256 MiB */
    /* path of libctsc-jit.so; NULL: beside the program or library, then the system's search */
    const char *library;
} codegen_options;

/* NULL if out of memory. A missing compiler library is found out at the first
 * request. o may be NULL. */
codegen *codegen_new(const codegen_options *o);
/* No kernel of it may run any more. */
void codegen_free(codegen *c);
/* The process's own, for the host; made at the first call, never freed. NULL if out of memory. */
codegen *codegen_shared(void);
/* The same for another processor than the host: "sse2", "avx2", "avx512". Fails if codegen_shared
 * was called before. */
ctsc_status codegen_share(diag *d, const char *cpu);

/* Object code for files: of n, or of a module in LLVM IR with one function, @kernel,
 * which is called `symbol`. triple: of the architecture ("aarch64-linux-gnu"); NULL: this
 * one. mem_free *data. */
ctsc_status codegen_emit(codegen *c, nest *n, const char *triple, strbuf *ir, diag *d);
ctsc_status codegen_object(codegen *c, const strbuf *ir, const char *triple, const char *symbol,
                           void **data, size_t *size, diag *d);

/* Can kernels be had? Opens the compiler library, unless the folder on disk has what it
 * said when it was opened before: then it is opened once a kernel is to be compiled. d: why
 * not (may be NULL). */
bool codegen_available(codegen *c, diag *d);
/* A program will need kernels of c, but not yet: if the compiler library
 * is missing, this finds out now, so that people are told even if the
 * program ends before (library_open). Costs something once per process. */
void codegen_expect(codegen *c);
/* Whether this machine can run what c compiles. */
bool codegen_runnable(codegen *c);

/* The kernel of n, which lives as long as c. */
ctsc_status codegen_kernel(codegen *c, nest *n, const kernel **out, diag *d);
/* The same without waiting for the compiler: *out may be in the making. Only for a
 * codegen that is open. */
ctsc_status codegen_request(codegen *c, nest *n, const kernel **out, diag *d);
/* Is c open, or known to have no compiler? If not, that is found out in the background, and waited
 * for until `until` (clock_now's scale). */
bool codegen_prepare(codegen *c, uint64_t until);
/* What becomes of k, one of c's, by `until`. 0: what it is now; UINT64_MAX: what it is
 * once it is made. */
kernel_state codegen_wait(codegen *c, const kernel *k, uint64_t until);
/* Why k, which is KERNEL_FAILED, is none. */
ctsc_status codegen_failure(const kernel *k, diag *d);
static inline kernel_state kernel_get_state(const kernel *k) {
    return (kernel_state)atomic_load_explicit(&k->state, memory_order_acquire);
}
/* Do calls wait for their kernels? Of the whole process; false at first. */
void codegen_set_in_calls(bool wait);
bool codegen_in_calls(void);
/* What the kernel of n looks like; the text is mem_free'd by the caller. */
typedef enum codegen_text { CODEGEN_IR, CODEGEN_OPTIMISED_IR, CODEGEN_ASSEMBLY } codegen_text;
ctsc_status codegen_describe(codegen *c, nest *n, codegen_text what, char **out, diag *d);

typedef struct codegen_stats {
    int64_t compiled, from_disk, from_memory, working;
    double compile_ms;
    bool compiler; /* its library was opened */
} codegen_stats;
codegen_stats codegen_get_stats(codegen *c);

/* What there is to compile with, for people (environment.c). Texts are empty where
 * there is nothing. */
typedef struct codegen_environment {
    char library[4096]; /* the compiler library's file */
    char build[128];    /* its LLVM, and its build */
    char cpu[64];       /* the processor it compiles for, in LLVM's words */
    char why[640];      /* there is none */
    char advice[400];   /* what to do about that */
    char folder[4096];  /* of kernels on disk, if there is to be one */
    bool folder_usable; /* it is there, or was made, and nobody else can write to it */
    int64_t folder_limit;
} codegen_environment;
void codegen_get_environment(codegen_environment *out);

#endif
