/* SPDX-License-Identifier: Apache-2.0 */
/*
 * library.c - opens CUDA's libraries (library.h).
 *
 * The driver is a part of the system and found by the loader. The others come with a toolkit or
 * a Python package, whose folders the loader often does not know, so they are also looked for
 * where toolkits are.
 * Tests: tests/cli/device.test
 */
#include "cuda/library.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* %NAME at the start of a folder is replaced by an environment variable. */
static const char *const library_toolkits[] = {"%CUDA_HOME", "%CUDA_PATH", "/usr/local/cuda"};

/* ---- looking --------------------------------------------------------------------------------- */

/* False: the variable that names the toolkit's folder is not set. */
static bool library_path(const char *toolkit, const char *file, char *path, size_t size) {
    const char *folder = *toolkit == '%' ? getenv(toolkit + 1) : toolkit;
    return folder && *folder && snprintf(path, size, "%s/lib64/%s", folder, file) < (int)size;
}

static bool library_load(cuda_library *l, const char *path) {
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        const char *text = dlerror();
        if (!*l->why) snprintf(l->why, sizeof l->why, "%s", text ? text : path);
        return false;
    }
    for (size_t i = 0; i < l->count; i++) {
        void *function = dlsym(handle, l->symbols[i].name);
        if (!function) {
            snprintf(l->why, sizeof l->why, "%s has no %s: it is too old", path,
                     l->symbols[i].name);
            dlclose(handle);
            return false;
        }
        memcpy((char *)l->table + l->symbols[i].offset, &function, sizeof function);
    }
    struct link_map *map = NULL;
    bool known = dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map && *map->l_name;
    snprintf(l->file, sizeof l->file, "%s", known ? map->l_name : path);
    return true;
}

static bool library_search(cuda_library *l) {
    char path[4096];
    const char *given = variable_get(l->variable);
    if (given) return library_load(l, given);
    for (const char *const *name = l->names; *name; name++)
        if (library_load(l, *name)) return true;
    for (size_t i = 0; l->toolkit_file && i < sizeof library_toolkits / sizeof *library_toolkits;
         i++)
        if (library_path(library_toolkits[i], l->toolkit_file, path, sizeof path) &&
            library_load(l, path))
            return true;
    return false;
}

bool cuda_library_open(cuda_library *l) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    if (l->state == LIBRARY_UNKNOWN) l->state = library_search(l) ? LIBRARY_OPEN : LIBRARY_MISSING;
    pthread_mutex_unlock(&lock);
    return l->state == LIBRARY_OPEN;
}

/* ---- the driver and NVRTC -------------------------------------------------------------------- */

static const char *const library_driver_names[] = {"libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1",
                                                   NULL};
static const char *const library_nvrtc_names[] = {"libnvrtc.so.13", "libnvrtc.so.12",
                                                  "libnvrtc.so.11.2", "libnvrtc.so", NULL};

static cuda_driver library_driver_table;
static cuda_nvrtc library_nvrtc_table;

static const cuda_symbol library_driver_symbols[] = {
#define CUDA_FUNCTION(name, symbol, params) {#symbol, offsetof(cuda_driver, name)},
    CUDA_DRIVER_FUNCTIONS(CUDA_FUNCTION)
#undef CUDA_FUNCTION
};
static const cuda_symbol library_nvrtc_symbols[] = {
#define CUDA_FUNCTION(name, symbol, params) {#symbol, offsetof(cuda_nvrtc, name)},
    CUDA_NVRTC_FUNCTIONS(CUDA_FUNCTION)
#undef CUDA_FUNCTION
};

static cuda_library library_driver = {
    .variable = VARIABLE_CUDA_DRIVER,
    .names = library_driver_names,
    .symbols = library_driver_symbols,
    .count = sizeof library_driver_symbols / sizeof *library_driver_symbols,
    .table = &library_driver_table,
};
static cuda_library library_nvrtc = {
    .variable = VARIABLE_NVRTC,
    .names = library_nvrtc_names,
    .toolkit_file = "libnvrtc.so",
    .symbols = library_nvrtc_symbols,
    .count = sizeof library_nvrtc_symbols / sizeof *library_nvrtc_symbols,
    .table = &library_nvrtc_table,
};

const cuda_driver *cuda_driver_open(diag *d) {
    if (cuda_library_open(&library_driver)) return &library_driver_table;
    diag_fail(d, CTSC_ENVIRONMENT,
              "NVIDIA's driver is missing: %s (a machine with an NVIDIA GPU needs it; "
              "CTSC_CUDA_DRIVER=FILE names another file)",
              library_driver.why);
    return NULL;
}

const cuda_nvrtc *cuda_nvrtc_open(diag *d) {
    if (cuda_library_open(&library_nvrtc)) return &library_nvrtc_table;
    diag_fail(d, CTSC_ENVIRONMENT,
              "NVRTC, the compiler for CUDA kernels, is missing: %s (install the CUDA toolkit "
              "(libnvrtc), set CUDA_HOME to its folder, or CTSC_NVRTC to the file)",
              library_nvrtc.why);
    return NULL;
}
