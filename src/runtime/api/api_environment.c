/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_environment.c - the part of ctsc_compiler.h about where the library runs.
 *
 * Tests: tests/cli/doctor.test
 */
/* Comes first: OpenBLAS declares a type bfloat16 of its own and brings in complex.h's macros. */
#define bfloat16 openblas_bfloat16
#include <cblas.h>
#undef bfloat16
#undef complex
#undef I

#include "base/disk.h"
#include "base/text/text.h"
#include "base/threads/thread_pool.h"
#include "codegen/cache/cache.h"
#include "ctsc_compiler.h"
#include "cuda/cuda.h"
#include "runtime/cuda/dense.h"

#include <stdio.h>
#include <string.h>

static void environment_cuda(ctsc_environment *e) {
    diag d = {0};
    cuda *c;
    e->cuda_devices = cuda_device_count(&d);
    if (e->cuda_devices && cuda_open(&d, 0, &c) == CTSC_OK) {
        const cuda_properties *p = cuda_get_properties(c);
        snprintf(e->cuda_driver, sizeof e->cuda_driver, "%d.%d", p->driver_version / 1000,
                 p->driver_version % 1000 / 10);
        text_print(e->cuda_device, sizeof e->cuda_device,
                   "%s, compute capability %d.%d, %d multiprocessors, %.1f GiB", p->name, p->major,
                   p->minor, p->multiprocessors, (double)p->memory / ((size_t)1 << 30));
    }
    snprintf(e->cuda_error, sizeof e->cuda_error, "%s", diag_message(&d));
    diag_clear(&d);
    snprintf(e->nvrtc, sizeof e->nvrtc, "%s", cuda_compiler(&d));
    snprintf(e->nvrtc_error, sizeof e->nvrtc_error, "%s", diag_message(&d));
    snprintf(e->cublas, sizeof e->cublas, "%s", blas_file());
    snprintf(e->cudnn, sizeof e->cudnn, "%s", dnn_file());
    diag_clear(&d);
}

void ctsc_get_environment(ctsc_environment *out) {
    codegen_environment *found = mem_zalloc(sizeof *found);
    ctsc_environment *e = mem_zalloc(sizeof *e);
    if (found && e) {
        codegen_get_environment(found);
        e->size = out->size;
        e->threads = pool_threads();
        snprintf(e->blas_core, sizeof e->blas_core, "%s", openblas_get_corename());
        snprintf(e->blas_config, sizeof e->blas_config, "%s", openblas_get_config());
        snprintf(e->compiler, sizeof e->compiler, "%s", found->library);
        snprintf(e->compiler_build, sizeof e->compiler_build, "%s", found->build);
        snprintf(e->compiler_cpu, sizeof e->compiler_cpu, "%s", found->cpu);
        snprintf(e->compiler_error, sizeof e->compiler_error, "%s", found->why);
        snprintf(e->compiler_advice, sizeof e->compiler_advice, "%s", found->advice);
        snprintf(e->cache, sizeof e->cache, "%s", found->folder);
        e->cache_usable = found->folder_usable;
        e->cache_limit = found->folder_limit;
        environment_cuda(e);
        memcpy(out, e, out->size < sizeof *e ? out->size : sizeof *e);
    } else if (out->size > sizeof out->size) {
        memset((char *)out + sizeof out->size, 0, out->size - sizeof out->size);
    }
    mem_free(found);
    mem_free(e);
}

bool ctsc_kernel_folder(char *text, size_t size) {
    char path[DISK_PATH];
    return disk_path(path, NULL) && (size_t)snprintf(text, size, "%s", path) < size;
}

bool ctsc_kernel_secret(char *text, size_t size) {
    char path[DISK_PATH];
    return disk_path(path, NULL) && disk_secret_path(path) &&
           (size_t)snprintf(text, size, "%s", path) < size;
}
