/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jit_library.c - opens libctsc-jit.so when the first kernel is to be compiled.
 *
 * It is looked for beside the program or library that contains this code, in ../lib from there, one
 * and two folders up (programs in the build folder), and then where the loader looks (the run path,
 * LD_LIBRARY_PATH, the system). ctsc works without it.
 * Tests: tests/cli/doctor.test
 */
#include "codegen/cache/cache_internal.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char library_name[] = "libctsc-jit.so";

static const jit_interface *library_try(const char *path, char *why, size_t size) {
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        const char *text = dlerror();
        snprintf(why, size, "%s", text ? text : path);
        return NULL;
    }
    union {
        void *object;
        jit_entry fn;
    } entry;
    entry.object = dlsym(handle, JIT_ENTRY);
    const jit_interface *found = entry.object ? entry.fn() : NULL;
    if (found && found->version == JIT_INTERFACE) return found;
    snprintf(why, size, "%s belongs to another version of ctsc", path);
    return NULL;
}

enum { LIBRARY_PLACES = 4, LIBRARY_PATH = 4096 };

/* The i-th file beside this code that may be the library; false: there is no such place. */
static bool library_place(int i, char path[LIBRARY_PATH]) {
    static const char *const places[LIBRARY_PLACES] = {"", "../lib/", "../", "../../"};
    Dl_info self;
    if (!dladdr((void *)library_name, &self) || !self.dli_fname) return false;
    const char *slash = strrchr(self.dli_fname, '/');
    int len = slash ? (int)(slash - self.dli_fname) + 1 : 0;
    return slash && snprintf(path, LIBRARY_PATH, "%.*s%s%s", len, self.dli_fname, places[i],
                             library_name) < LIBRARY_PATH;
}

static const jit_interface *library_search(char *why, size_t size) {
    char path[LIBRARY_PATH];
    for (int i = 0; i < LIBRARY_PLACES; i++) {
        const jit_interface *found = library_place(i, path) ? library_try(path, why, size) : NULL;
        if (found) return found;
    }
    return library_try(library_name, why, size);
}

bool library_identify(const char *path, strbuf *key) {
    char found[LIBRARY_PATH], *whole;
    struct stat s;
    for (int i = 0; !path && i < LIBRARY_PLACES; i++)
        if (library_place(i, found) && stat(found, &s) == 0) path = found;
    if (!path || stat(path, &s) != 0 || !(whole = realpath(path, NULL))) return false;
    sb_printf(key, "%s %lld %lld.%09ld", whole, (long long)s.st_size, (long long)s.st_mtim.tv_sec,
              s.st_mtim.tv_nsec);
    free(whole);
    return true;
}

const jit_interface *library_open(const char *path, diag *d) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static const jit_interface *shared;
    char why[512] = "";
    const jit_interface *found = NULL;
    pthread_mutex_lock(&lock);
    if (path) found = library_try(path, why, sizeof why);
    else if (!shared) found = shared = library_search(why, sizeof why);
    else found = shared;
    pthread_mutex_unlock(&lock);
    if (!found) diag_fail(d, CTSC_ENVIRONMENT, "no compiler for kernels: %s", why);
    return found;
}
