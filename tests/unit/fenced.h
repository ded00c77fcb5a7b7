/* SPDX-License-Identifier: Apache-2.0 */
/* fenced.h - an allocator of tensors that end at a page which cannot be touched. */
#ifndef CTSC_TESTS_UNIT_FENCED_H
#define CTSC_TESTS_UNIT_FENCED_H

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

/* Blocks are aligned to this, so up to one byte less than it is unfenced at their end. */
#ifndef FENCED_ALIGNMENT
#define FENCED_ALIGNMENT 8
#endif
enum { FENCED_PAGE = 4096 };

static inline size_t fenced_size(size_t nbytes) {
    return (nbytes + FENCED_PAGE - 1) / FENCED_PAGE * FENCED_PAGE + FENCED_PAGE;
}

static inline size_t fenced_rounded(size_t nbytes) {
    return (nbytes + FENCED_ALIGNMENT - 1) / FENCED_ALIGNMENT * FENCED_ALIGNMENT;
}

/* NULL: there is no memory. */
static inline void *fenced_alloc(void *ctx, size_t nbytes) {
    (void)ctx;
    if (nbytes > PTRDIFF_MAX / 2) return NULL;
    char *p = mmap(NULL, fenced_size(nbytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                   -1, 0);
    if (p == MAP_FAILED) return NULL;
    char *end = p + fenced_size(nbytes) - FENCED_PAGE;
    mprotect(end, FENCED_PAGE, PROT_NONE);
    return end - fenced_rounded(nbytes);
}

static inline void fenced_free(void *ctx, void *data, size_t nbytes) {
    (void)ctx;
    size_t size = fenced_size(nbytes);
    munmap((char *)data + fenced_rounded(nbytes) + FENCED_PAGE - size, size);
}

#endif
