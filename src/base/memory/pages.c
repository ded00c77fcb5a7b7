/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pages.c - madvise, and the page pool.
 *
 * Only whole pages inside a block are passed to madvise, so that neighbouring
 * memory is not affected. A region of the pool is allocated from front to back;
 * only the last block can be trimmed. There are few regions (each is 32 MiB or
 * one larger block), so the region of a block is found by a linear search.
 * Tests: tests/unit/test_base.c
 */
#include "base/memory/pages.h"

#include "base/memory/mem.h"

#include <pthread.h>
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

/* ---- the pool -------------------------------------------------------------------------------- */

enum { POOL_REGION = 16 * PAGES_LARGE };

typedef struct pool_region {
    struct pool_region *next;
    char *memory;
    size_t size, used;
    size_t blocks; /* that live there */
} pool_region;

static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static pool_region *pool_regions; /* the newest first: blocks are cut from it alone */

static bool pool_round(size_t n, size_t unit, size_t *out) {
    if (!size_add(n, unit - 1, out)) return false;
    *out &= ~(unit - 1);
    return true;
}

/* A mapping that begins with a large page. */
static char *pool_map(size_t size) {
    char *p = mmap(NULL, size + PAGES_LARGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                   -1, 0);
    if (p == MAP_FAILED) return NULL;
    size_t before = -(uintptr_t)p & (PAGES_LARGE - 1);
    if (before) (void)munmap(p, before);
    if (before < PAGES_LARGE) (void)munmap(p + before + size, PAGES_LARGE - before);
    pages_prefer_large(p + before, size);
    return p + before;
}

static pool_region *pool_region_new(size_t size) {
    pool_region *r;
    if (size < POOL_REGION) size = POOL_REGION;
    if (!pool_round(size, PAGES_LARGE, &size) || size > PTRDIFF_MAX - PAGES_LARGE ||
        !(r = mem_zalloc(sizeof *r)))
        return NULL;
    r->memory = pool_map(r->size = size);
    if (!r->memory) {
        mem_free(r);
        return NULL;
    }
    r->next = pool_regions;
    return pool_regions = r;
}

static void pool_region_free(pool_region **at) {
    pool_region *r = *at;
    *at = r->next;
    (void)munmap(r->memory, r->size);
    mem_free(r);
}

void *page_pool_alloc(size_t size) {
    size_t room;
    if (!mem_is_pages(size)) return mem_alloc(size);
    if (!pool_round(size, PAGE_POOL_ALIGN, &room) || !mem_budget_take(room)) return NULL;
    char *p = NULL;
    pthread_mutex_lock(&pool_lock);
    pool_region *r = pool_regions;
    if (!r || r->size - r->used < room) r = pool_region_new(room);
    if (r) {
        p = r->memory + r->used;
        r->used += room;
        r->blocks++;
    }
    pthread_mutex_unlock(&pool_lock);
    if (!p) mem_budget_give(room);
    return p;
}

void page_pool_free(void *p, size_t size) {
    size_t room = (size + PAGE_POOL_ALIGN - 1) & ~(size_t)(PAGE_POOL_ALIGN - 1);
    if (!p || !mem_is_pages(size)) {
        mem_free(p);
        return;
    }
    pthread_mutex_lock(&pool_lock);
    pool_region **at = &pool_regions;
    while ((uintptr_t)p - (uintptr_t)(*at)->memory >= (*at)->size) at = &(*at)->next;
    pool_region *r = *at;
    if (--r->blocks == 0) {
        pool_region_free(at);
    } else {
        if ((char *)p + room == r->memory + r->used) r->used -= room;
        pages_drop(p, room);
    }
    pthread_mutex_unlock(&pool_lock);
    mem_budget_give(room);
}
