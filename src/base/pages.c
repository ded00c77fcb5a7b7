/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pages.c - madvise.
 *
 * Only whole pages inside the block are advised about, so that nothing is said of
 * what lies beside it.
 * Tests: tests/unit/test_base.c
 */
#include "base/pages.h"

#include <stdint.h>
#include <sys/mman.h>

/* the second: a multiple of every size of a page that there is */
enum { PAGES_LARGE = 2 << 20, PAGES_SMALL = 64 << 10 };

static void pages_advise(void *p, size_t n, size_t unit, int advice) {
    uintptr_t begin = ((uintptr_t)p + unit - 1) & ~(uintptr_t)(unit - 1),
              end = ((uintptr_t)p + n) & ~(uintptr_t)(unit - 1);
    if (begin < end) (void)madvise((void *)begin, end - begin, advice);
}

void pages_prefer_large(void *p, size_t n) {
#ifdef MADV_HUGEPAGE
    pages_advise(p, n, PAGES_LARGE, MADV_HUGEPAGE);
#else
    (void)p, (void)n;
#endif
}

void pages_drop(void *p, size_t n) { pages_advise(p, n, PAGES_SMALL, MADV_DONTNEED); }
