/* SPDX-License-Identifier: Apache-2.0 */
/*
 * malloc.c - preloaded into the command: the n-th allocation since main fails, whoever asks for it.
 *
 * The library's own allocations fail in unit tests, through its callback. Here fail those of the
 * libraries below it as well (libzip, jansson, libmicrohttpd, libprotobuf-c, the C library's
 * streams and folders). C++ is spared: LLVM and the engine on Gloo end the process when they have
 * no memory, by their design.
 *
 *   MALLOC_FAULT=N, =N+   the n-th fails (from 1), or all from it on
 *   MALLOC_COUNT=FILE     at the end the number of allocations is written there
 *
 * Method: the C library's malloc is replaced by names that its own stay reachable under. The
 * caller's library is found by address once per allocation, which is slow and needs no memory.
 * tests/faults/syscalls.py uses it.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static atomic_long counted;
static long first, last;
static const char *report;
static int (*program)(int, char **, char **);

static bool caller_is_spared(void *caller) {
    Dl_info at;
    if (!dladdr(caller, &at) || !at.dli_fname) return true;
    const char *name = strrchr(at.dli_fname, '/');
    name = name ? name + 1 : at.dli_fname;
    return !strncmp(name, "libLLVM", 7) || !strncmp(name, "libstdc++", 9) ||
           !strncmp(name, "ld-linux", 8) || !strncmp(name, "libctsc-jit", 11) ||
           !strncmp(name, "libopenblas", 11) || !strncmp(name, "libgfortran", 11);
}

static bool fails(void *caller) {
    if (!program || caller_is_spared(caller)) return false;
    long n = atomic_fetch_add(&counted, 1) + 1;
    if (n < first || n > last) return false;
    errno = ENOMEM;
    return true;
}

#define CALLER __builtin_return_address(0)
void *malloc(size_t size) { return fails(CALLER) ? NULL : __libc_malloc(size); }
void *calloc(size_t n, size_t size) { return fails(CALLER) ? NULL : __libc_calloc(n, size); }
void *realloc(void *p, size_t size) {
    return size && fails(CALLER) ? NULL : __libc_realloc(p, size);
}
void *memalign(size_t alignment, size_t size) {
    return fails(CALLER) ? NULL : __libc_memalign(alignment, size);
}
void *aligned_alloc(size_t alignment, size_t size) {
    return fails(CALLER) ? NULL : __libc_memalign(alignment, size);
}
int posix_memalign(void **p, size_t alignment, size_t size) {
    void *got = fails(CALLER) ? NULL : __libc_memalign(alignment, size);
    if (!got) return ENOMEM;
    *p = got;
    return 0;
}

static void at_end(void) {
    long n = atomic_load(&counted);
    first = 0, last = -1;
    FILE *f = report ? fopen(report, "w") : NULL;
    if (f) fprintf(f, "%ld\n", n), fclose(f);
}

static int begin(int argc, char **argv, char **environment) {
    const char *which = getenv("MALLOC_FAULT");
    first = 0, last = -1;
    if (which) {
        char *end;
        first = last = strtol(which, &end, 10);
        if (*end == '+') last = __LONG_MAX__;
    }
    report = getenv("MALLOC_COUNT");
    if (report) atexit(at_end);
    int (*start)(int, char **, char **) = program;
    atomic_store(&counted, 0);
    return start(argc, argv, environment);
}

/* main is called through here, so that what the loader and constructors allocate does not count. */
int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv, void (*init)(void),
                      void (*fini)(void), void (*rtld_fini)(void), void *stack_end) {
    typedef int start(int (*)(int, char **, char **), int, char **, void (*)(void), void (*)(void),
                      void (*)(void), void *);
    start *real;
    void *found = dlsym(RTLD_NEXT, "__libc_start_main");
    memcpy(&real, &found, sizeof real);
    program = main;
    return real(begin, argc, argv, init, fini, rtld_fini, stack_end);
}
