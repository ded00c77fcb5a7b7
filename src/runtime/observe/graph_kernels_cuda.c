/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph_kernels_cuda.c - kernels for a GPU as CUDA C++, as PTX and as SASS.
 *
 * NVRTC makes PTX and cubins without a GPU. What a cubin holds only CUDA's own tools can print:
 * nvdisasm or cuobjdump, looked for in PATH and in /usr/local/cuda/bin.
 * Tests: tests/cli/graph-for-cuda.test
 */
#include "runtime/observe/graph_kernels_cuda.h"

#include "codegen/cuda/cuda_emit.h"
#include "cuda/cuda.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_int kernels_arch = 90;

ctsc_status group_cuda_set_arch(const char *name, diag *d) {
    char *end = NULL;
    long arch = name && !strncmp(name, "sm_", 3) && name[3] >= '1' && name[3] <= '9'
                    ? strtol(name + 3, &end, 10)
                    : 0;
    if (arch < 10 || arch > 999 || *end)
        return diag_fail(d, CTSC_USAGE, "no architecture '%s', only such as sm_80 and sm_90",
                         name ? name : "");
    kernels_arch = (int)arch;
    return CTSC_OK;
}

/* ---- SASS ------------------------------------------------------------------------------------ */

static const struct {
    const char *program, *options;
} kernels_tools[] = {{"nvdisasm", "-c"}, {"cuobjdump", "-sass"}};

/* The command that prints `file`; false: there is no tool. */
static bool kernels_find_tool(const char *file, char *command, size_t size) {
    char test[128];
    for (size_t i = 0; i < sizeof kernels_tools / sizeof *kernels_tools; i++)
        for (int own = 0; own < 2; own++) {
            const char *folder = own ? "/usr/local/cuda/bin/" : "",
                       *program = kernels_tools[i].program;
            snprintf(test, sizeof test, "command -v %s%s >/dev/null 2>&1", folder, program);
            if (system(test) != 0) continue;
            snprintf(command, size, "%s%s %s %s 2>&1", folder, program, kernels_tools[i].options,
                     file);
            return true;
        }
    return false;
}

static ctsc_status kernels_run_tool(const char *file, strbuf *out, diag *d) {
    char command[256], bytes[4096];
    if (!kernels_find_tool(file, command, sizeof command))
        return diag_fail(d, CTSC_ENVIRONMENT,
                         "SASS is printed by CUDA's nvdisasm or cuobjdump, and neither is in PATH "
                         "or in /usr/local/cuda/bin");
    FILE *tool = popen(command, "r");
    if (!tool) return diag_fail(d, CTSC_ENVIRONMENT, "cannot run %s", command);
    strbuf text = STRBUF_INIT;
    for (size_t n; (n = fread(bytes, 1, sizeof bytes, tool)) > 0;) sb_write(&text, bytes, n);
    ctsc_status s = CTSC_OK;
    if (pclose(tool) != 0)
        s = diag_fail(d, CTSC_ENVIRONMENT, "%s fails: %s", command, sb_str(&text));
    else sb_write(out, sb_str(&text), text.len);
    out->failed |= text.failed;
    sb_free(&text);
    return s;
}

static ctsc_status kernels_disassemble(const void *cubin, size_t size, strbuf *out, diag *d) {
    char file[] = "/tmp/ctsc-XXXXXX";
    int fd = mkstemp(file);
    if (fd < 0) return diag_fail(d, CTSC_ENVIRONMENT, "cannot make a file in /tmp");
    bool written = write(fd, cubin, size) == (ssize_t)size;
    close(fd);
    ctsc_status s = written ? kernels_run_tool(file, out, d)
                            : diag_fail(d, CTSC_ENVIRONMENT, "cannot write %s", file);
    unlink(file);
    return s;
}

/* ---- a kernel -------------------------------------------------------------------------------- */

static ctsc_status kernels_compile(const strbuf *text, group_text what, strbuf *out, diag *d) {
    const cuda_source source = {
        .text = sb_str(text), .len = text->len, .name = "group.cu", .headers = cuda_emit_headers()};
    char arch[32];
    void *image = NULL;
    size_t size = 0;
    snprintf(arch, sizeof arch, "%s_%d", what == GROUP_TEXT_PTX ? "compute" : "sm", kernels_arch);
    ctsc_status s = source.headers ? cuda_compile(d, &source, arch, &image, &size)
                                   : diag_no_memory(d);
    if (s == CTSC_OK && what == GROUP_TEXT_SASS) s = kernels_disassemble(image, size, out, d);
    if (s == CTSC_OK && what == GROUP_TEXT_PTX) sb_write(out, image, strnlen(image, size));
    mem_free(image);
    return s;
}

ctsc_status group_cuda_code(nest *n, group_text what, strbuf *out, diag *d) {
    strbuf text = STRBUF_INIT;
    cuda_kernel_shape shape;
    ctsc_status s = nest_emit_cuda(n, &text, &shape, d);
    if (s == CTSC_OK) {
        sb_printf(out,
                  "; a block: %d threads, %d of them for an iteration, %d bytes of shared memory\n",
                  shape.block, shape.coop, shape.shared);
        if (what == GROUP_TEXT_CUDA) sb_puts(out, sb_str(&text));
        else s = kernels_compile(&text, what, out, d);
    }
    sb_free(&text);
    return s;
}
