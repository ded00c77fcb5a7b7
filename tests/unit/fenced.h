/* SPDX-License-Identifier: Apache-2.0 */
/* fenced.h - an allocator of tensors that end at a page which cannot be touched. */
#ifndef CTSC_TESTS_UNIT_FENCED_H
#define CTSC_TESTS_UNIT_FENCED_H

#include <sys/mman.h>

enum { FENCED_PAGE = 4096 };

static inline size_t fenced_size(size_t nbytes) {
    return (nbytes + FENCED_PAGE - 1) / FENCED_PAGE * FENCED_PAGE + FENCED_PAGE;
}

static inline void *fenced_alloc(void *ctx, size_t nbytes) {
    (void)ctx;
    char *p = mmap(NULL, fenced_size(nbytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                   -1, 0);
    assert_true(p != MAP_FAILED);
    char *end = p + fenced_size(nbytes) - FENCED_PAGE;
    mprotect(end, FENCED_PAGE, PROT_NONE);
    return end - (nbytes + 7) / 8 * 8;
}

static inline void fenced_free(void *ctx, void *data, size_t nbytes) {
    (void)ctx;
    size_t size = fenced_size(nbytes);
    munmap((char *)data + (nbytes + 7) / 8 * 8 + FENCED_PAGE - size, size);
}

#endif
