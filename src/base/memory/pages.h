/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pages.h - large memory: advice to the system about it, and the page pool. Advice can be ignored:
 * nothing depends on it but time and memory.
 *
 * The pool is for large blocks that are made once and kept for long: packed and folded
 * weights. They are placed one after the other in regions that huge pages fill. In a
 * mapping of its own a block shares no huge page, and small pages back its ends: about
 * half of a network's packed weights, with a page fault for each. Freed memory goes back
 * to the system at once; the addresses of a region are released when all of it is free.
 * Thread safety: any thread may call any of these functions at any time.
 */
#ifndef CTSC_BASE_PAGES_H
#define CTSC_BASE_PAGES_H

#include <stddef.h>

/* What will be written whole and kept: large pages spare most of the page faults. */
void pages_prefer_large(void *p, size_t n);
/* What will hardly be read again: its pages go. Those of a mapped file, which must be read-only,
 * come back from it if somebody reads them; others are zero then. */
void pages_drop(void *p, size_t n);

enum { PAGE_POOL_ALIGN = 64 };

/* Aligned to PAGE_POOL_ALIGN; NULL on failure. Counts for the thread's budget (mem.h), as all
 * memory does. Small blocks, those of a replaced allocator and those under a sanitizer, which then
 * sees their bounds, are mem_alloc's. */
void *page_pool_alloc(size_t size);
/* `size` as it was asked for; p may be NULL. */
void page_pool_free(void *p, size_t size);

#endif
