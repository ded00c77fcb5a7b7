/* SPDX-License-Identifier: Apache-2.0 */
/*
 * library.c - opens CUDA's driver and NVRTC (library.h).
 *
 * The driver is a part of the system and found by the loader. NVRTC comes with a toolkit or a Python package, whose folders the loader
 * often does not know, so it is also looked for where toolkits are.
 */
#include "cuda/library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct library_function {
    const char *symbol;
    size_t offset; /* of the pointer, in the table */
} library_function;

/* One library: where it may be, and what is to be found in it. */
typedef struct library {
    const char *variable; /* of the environment, naming the file */
    const char *const *names;
    const char *missing; /* for people: "... is missing: WHY; ADVICE" */
    const char *advice;
    const library_function *functions;
    size_t count;
    void *table;
    enum { LIBRARY_UNKNOWN, LIBRARY_OPEN, LIBRARY_MISSING } state;
    char why[1024];
} library;

static const char *const library_driver_names[] = {"libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1", NULL};
static const char *const library_nvrtc_names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so",
                                                  "%CUDA_HOME/lib64/libnvrtc.so", "%CUDA_PATH/lib64/libnvrtc.so",
                                                  "/usr/local/cuda/lib64/libnvrtc.so", NULL};

static cuda_driver library_driver_table;
static cuda_nvrtc library_nvrtc_table;

static const library_function library_driver_functions[] = {
#define CUDA_FUNCTION(name, symbol, params) {#symbol, offsetof(cuda_driver, name)},
    CUDA_DRIVER_FUNCTIONS(CUDA_FUNCTION)
#undef CUDA_FUNCTION
};
static const library_function library_nvrtc_functions[] = {
#define CUDA_FUNCTION(name, symbol, params) {#symbol, offsetof(cuda_nvrtc, name)},
    CUDA_NVRTC_FUNCTIONS(CUDA_FUNCTION)
#undef CUDA_FUNCTION
};

static library library_driver = {
    .variable = "CTSC_CUDA_DRIVER",
    .names = library_driver_names,
    .missing = "NVIDIA's driver",
    .advice = "a machine with an NVIDIA GPU needs it; CTSC_CUDA_DRIVER=FILE names another file",
    .functions = library_driver_functions,
    .count = sizeof library_driver_functions / sizeof *library_driver_functions,
    .table = &library_driver_table,
};
static library library_nvrtc = {
    .variable = "CTSC_NVRTC",
    .names = library_nvrtc_names,
    .missing = "NVRTC, the compiler for CUDA kernels,",
    .advice = "install the CUDA toolkit (libnvrtc), set CUDA_HOME to its folder, or CTSC_NVRTC to the file",
    .functions = library_nvrtc_functions,
    .count = sizeof library_nvrtc_functions / sizeof *library_nvrtc_functions,
    .table = &library_nvrtc_table,
};

/* The name as a path: %NAME/ at its start stands for a variable of the environment. False: that is not set. */
static bool library_path(const char *name, char *path, size_t size) {
    if (*name != '%') return snprintf(path, size, "%s", name) < (int)size;
    char variable[32];
    const char *slash = strchr(name, '/');
    snprintf(variable, sizeof variable, "%.*s", (int)(slash - name - 1), name + 1);
    const char *folder = getenv(variable);
    return folder && *folder && snprintf(path, size, "%s%s", folder, slash) < (int)size;
}

static bool library_load(library *l, const char *path) {
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        const char *text = dlerror();
        if (!*l->why) snprintf(l->why, sizeof l->why, "%s", text ? text : path);
        return false;
    }
    for (size_t i = 0; i < l->count; i++) {
        void *function = dlsym(handle, l->functions[i].symbol);
        if (!function) {
            snprintf(l->why, sizeof l->why, "%s has no %s, as libraries before CUDA 11.4", path, l->functions[i].symbol);
            dlclose(handle);
            return false;
        }
        memcpy((char *)l->table + l->functions[i].offset, &function, sizeof function);
    }
    return true;
}

static bool library_search(library *l) {
    char path[4096];
    const char *given = getenv(l->variable);
    if (given && *given) return library_load(l, given);
    for (const char *const *name = l->names; *name; name++)
        if (library_path(*name, path, sizeof path) && library_load(l, path)) return true;
    return false;
}

static const void *library_open(library *l, diag *d) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    if (l->state == LIBRARY_UNKNOWN) l->state = library_search(l) ? LIBRARY_OPEN : LIBRARY_MISSING;
    pthread_mutex_unlock(&lock);
    if (l->state == LIBRARY_OPEN) return l->table;
    diag_fail(d, CTSC_ENVIRONMENT, "%s is missing: %s (%s)", l->missing, l->why, l->advice);
    return NULL;
}

const cuda_driver *cuda_driver_open(diag *d) {
    return library_open(&library_driver, d);
}

const cuda_nvrtc *cuda_nvrtc_open(diag *d) {
    return library_open(&library_nvrtc, d);
}
