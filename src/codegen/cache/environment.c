/* SPDX-License-Identifier: Apache-2.0 */
/*
 * environment.c - tells people what there is to compile kernels with: the library, its LLVM, the
 * processor, the folder.
 *
 * Tests: tests/cli/doctor.test
 */
#include "codegen/cache/cache_internal.h"

#include "base/disk.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

void codegen_get_environment(codegen_environment *out) {
    diag d = {0};
    disk k = {0};
    jit_cpu *cpu = mem_zalloc(sizeof *cpu);
    Dl_info file;
    *out = (codegen_environment){0};
    const jit_interface *jit = library_open(NULL, &d);
    if (jit) {
        snprintf(out->build, sizeof out->build, "%s", jit->build);
        if (dladdr((void *)jit, &file) && file.dli_fname)
            snprintf(out->library, sizeof out->library, "%s", file.dli_fname);
        if (cpu && jit->describe("host", cpu)) snprintf(out->cpu, sizeof out->cpu, "%s", cpu->name);
    } else {
        snprintf(out->why, sizeof out->why, "%s", diag_message(&d));
        library_advise(out->advice);
    }
    diag_clear(&d);
    mem_free(cpu);
    if (!disk_path(out->folder, NULL)) out->folder[0] = '\0';
    disk_open(&k, NULL, 0);
    out->folder_usable = k.folder != NULL;
    out->folder_limit = k.limit;
    disk_close(&k);
}
