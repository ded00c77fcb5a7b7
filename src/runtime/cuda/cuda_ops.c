/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_ops.c - the table of operators with a CUDA function, and what these functions share.
 *
 * Method. Rows are found by key through a map made once. Kernels of files are kept under the file's
 * address, the definitions and the symbol, so that a launch hashes a few words instead of the
 * file's text; the programs themselves belong to the CUDA layer.
 * Tests: tests/unit/test_cuda_tensor.c
 */
#include "runtime/cuda/cuda_ops.h"

#include "base/map.h"
#include "codegen/cuda/cuda_emit.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

ctsc_status cuda_of_device(diag *d, int device, cuda **out) {
    return cuda_open(d, device - 1, out);
}

/* ---- kernels from files ---------------------------------------------------------------------- */

static pthread_mutex_t cuda_known_lock = PTHREAD_MUTEX_INITIALIZER;
/* under the device, the file, shared memory, symbol, definitions; lives as long as the process */
static strmap cuda_known_kernels;

enum { CUDA_KEY_MAX = 512 };

/* The key's bytes; 0: too long to be kept. */
static size_t cuda_kernel_key(const cuda *c, const cuda_file *file, const char *defines,
                              const char *symbol, size_t shared, char *key) {
    const uintptr_t words[] = {(uintptr_t)c, (uintptr_t)file, shared};
    size_t n = strlen(symbol) + 1, m = strlen(defines);
    if (sizeof words + n + m > CUDA_KEY_MAX) return 0;
    memcpy(key, words, sizeof words);
    memcpy(key + sizeof words, symbol, n);
    memcpy(key + sizeof words + n, defines, m);
    return sizeof words + n + m;
}

static void cuda_kernel_keep(const char *key, size_t n, const cuda_kernel *k) {
    char *own = n ? mem_alloc(n) : NULL;
    if (!own) return;
    memcpy(own, key, n);
    pthread_mutex_lock(&cuda_known_lock);
    bool kept = !strmap_getn(&cuda_known_kernels, key, n) &&
                strmap_putn(&cuda_known_kernels, own, n, (void *)k);
    pthread_mutex_unlock(&cuda_known_lock);
    if (!kept) mem_free(own);
}

static bool cuda_put_text(strbuf *out, embedded *e) {
    size_t len;
    const char *text = embedded_text(e, &len);
    if (text) sb_write(out, text, len);
    return text != NULL;
}

ctsc_status cuda_file_kernel(diag *d, cuda *c, const cuda_file *file, const char *defines,
                             const char *symbol, size_t shared, const cuda_kernel **out) {
    char key[CUDA_KEY_MAX];
    size_t n = cuda_kernel_key(c, file, defines, symbol, shared, key);
    pthread_mutex_lock(&cuda_known_lock);
    const cuda_kernel *known = n ? strmap_getn(&cuda_known_kernels, key, n) : NULL;
    pthread_mutex_unlock(&cuda_known_lock);
    if (known) return *out = known, CTSC_OK;
    strbuf text = STRBUF_INIT;
    sb_puts(&text, defines);
    bool ok = true;
    for (embedded *const *e = file->before; ok && e && *e; e++) ok = cuda_put_text(&text, *e);
    ok = ok && (!file->template_text || cuda_put_text(&text, file->template_text)) &&
         cuda_put_text(&text, file->text) && !text.failed;
    cuda_source source = {
        .text = sb_str(&text), .len = text.len, .name = file->name, .headers = cuda_emit_headers()};
    ctsc_status s = ok && source.headers ? cuda_kernel_get(c, d, &source, symbol, shared, out)
                                         : diag_no_memory(d);
    sb_free(&text);
    if (s == CTSC_OK) cuda_kernel_keep(key, n, *out);
    return s;
}

enum { CUDA_EACH_THREADS = 256 };

ctsc_status cuda_each(op_ctx *cx, cuda *c, const cuda_file *file, const char *defines,
                      const char *symbol, int64_t items, const void *params, size_t nbytes) {
    const cuda_kernel *k;
    if (items <= 0) return CTSC_OK;
    TRY(cuda_file_kernel(cx->diag, c, file, defines, symbol, 0, &k));
    int64_t blocks = (items + CUDA_EACH_THREADS - 1) / CUDA_EACH_THREADS,
            most = cuda_resident_blocks(c, k, CUDA_EACH_THREADS, 0);
    if (most > 0 && blocks > most) blocks = most;
    cuda_shape shape = {.grid = {(unsigned)blocks, 1, 1}, .block = {CUDA_EACH_THREADS, 1, 1}};
    return cuda_launch(c, cx->diag, k, &shape, params, nbytes);
}
