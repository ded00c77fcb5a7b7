/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fenced.c - linked into the command: each tensor ends where memory ends, and is full of noise.
 *
 * Generated code has no sanitizer that could see it read past the end of a tensor. Here the
 * page after each tensor cannot be touched, so that such a read ends the process; and what a
 * program reads before it was written is not zero. The last byte is the page's last, so data
 * are aligned to the size of elements and no more, as those of a caller may be. `make
 * test-fenced` runs the corpus so.
 */
#include "../../src/tensor/tensor.h"

#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, NOISE = 0xA5 };

static size_t fenced_size(size_t nbytes) { return (nbytes + PAGE - 1) / PAGE * PAGE + PAGE; }

static void *fenced_alloc(void *ctx, size_t nbytes) {
    (void)ctx;
    if (nbytes > PTRDIFF_MAX / 2) return NULL;
    size_t size = fenced_size(nbytes);
    char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return NULL;
    mprotect(p + size - PAGE, PAGE, PROT_NONE);
    char *data = p + size - PAGE - nbytes;
    memset(data, NOISE, nbytes);
    return data;
}

static void fenced_free(void *ctx, void *data, size_t nbytes) {
    (void)ctx;
    size_t size = fenced_size(nbytes);
    munmap((char *)data + nbytes + PAGE - size, size);
}

__attribute__((constructor)) static void fenced_install(void) {
    static const tensor_allocator fenced = {fenced_alloc, fenced_free, NULL};
    tensor_set_allocator(&fenced);
}
