/* SPDX-License-Identifier: Apache-2.0 */
/*
 * real.c - the real NVRTC, asked as well: what the host's compiler takes for C++ may be none to it.
 *
 * With CTSC_SIM_NVRTC=FILE each program that is compiled for the simulated device is also compiled
 * by that library, for two architectures. Nothing is done with what comes out; a program that it
 * does not take is an error of the compilation, with its words.
 */
#include "sim.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const real_archs[] = {"sm_80", "sm_90"};

typedef struct real_nvrtc {
#define REAL_POINTER(name, symbol, params) int(*name) params;
    CUDA_NVRTC_FUNCTIONS(REAL_POINTER)
#undef REAL_POINTER
} real_nvrtc;

static bool real_open(const char *path, real_nvrtc *r) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) return false;
#define REAL_LOAD(name, symbol, params)                                                            \
    *(void **)(void *)&r->name = dlsym(library, #symbol);                                          \
    if (!r->name) return false;
    CUDA_NVRTC_FUNCTIONS(REAL_LOAD)
#undef REAL_LOAD
        return true;
}

static char *real_log(const real_nvrtc *r, nvrtcProgram program, const char *arch) {
    size_t size = 0;
    r->nvrtcGetProgramLogSize(program, &size);
    char *log = calloc(1, size + 64);
    if (!log) return NULL;
    int n = sprintf(log, "NVRTC, %s:\n", arch);
    r->nvrtcGetProgramLog(program, log + n);
    return log;
}

bool sim_real_compile(const char *text, const char *name, int nheaders, const char *const *headers,
                      const char *const *header_names, char **log) {
    static real_nvrtc real; /* under compile.c's lock */
    static bool open;
    const char *path = getenv("CTSC_SIM_NVRTC");
    bool ok = true;
    if (!path || !*path) return true;
    if (!open && !(open = real_open(path, &real))) {
        *log = strdup("CTSC_SIM_NVRTC is no NVRTC");
        return false;
    }
    for (size_t i = 0; i < sizeof real_archs / sizeof *real_archs && ok; i++) {
        char option[64];
        nvrtcProgram program = NULL;
        snprintf(option, sizeof option, "--gpu-architecture=%s", real_archs[i]);
        ok = real.nvrtcCreateProgram(&program, text, name, nheaders, headers, header_names) ==
                 NVRTC_SUCCESS &&
             real.nvrtcCompileProgram(program, 2, (const char *const[]){option, "--std=c++17"}) ==
                 NVRTC_SUCCESS;
        if (!ok && program) *log = real_log(&real, program, real_archs[i]);
        if (program) real.nvrtcDestroyProgram(&program);
    }
    return ok;
}
