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
#include <string.h>

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

static const jit_interface *library_search(char *why, size_t size) {
    static const char *const places[] = {"", "../lib/", "../", "../../"};
    Dl_info self;
    char path[4096];
    if (dladdr((void *)library_name, &self) && self.dli_fname) {
        const char *slash = strrchr(self.dli_fname, '/');
        int len = slash ? (int)(slash - self.dli_fname) + 1 : 0;
        for (size_t i = 0; slash && i < sizeof places / sizeof *places; i++) {
            if (snprintf(path, sizeof path, "%.*s%s%s", len, self.dli_fname, places[i],
                         library_name) >= (int)sizeof path)
                continue;
            const jit_interface *found = library_try(path, why, size);
            if (found) return found;
        }
    }
    return library_try(library_name, why, size);
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
