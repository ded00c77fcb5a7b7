/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rt_memory.c - the functions of base/memory that operators use, on the heap of the call.
 * Tests: tests/aot/
 */
#include "base/memory/mem.h"
#include "base/memory/pages.h"
#include "base/memory/recycle.h"
#include "base/memory/unbacked.h"
#include "rt/rt_internal.h"

void *mem_alloc(size_t size) {
    rt_state *s = *ctsc_rt_current();
    void *p = rt_heap_alloc(&s->heap, size);
    if (!p) s->full = true;
    return p;
}

void *mem_zalloc(size_t size) {
    void *p = mem_alloc(size);
    return p ? memset(p, 0, size) : NULL;
}

void mem_free(void *p) { rt_heap_free(&(*ctsc_rt_current())->heap, p); }

void *mem_resize(void *p, size_t size) {
    if (!p) return mem_alloc(size);
    size_t have = rt_heap_size(p);
    if (size <= have) return p;
    void *q = mem_alloc(size);
    if (!q) return NULL;
    memcpy(q, p, have);
    mem_free(p);
    return q;
}

char *mem_strdup(const char *s) {
    size_t n = strlen(s) + 1;
    char *p = mem_alloc(n);
    return p ? memcpy(p, s, n) : NULL;
}

void *mem_alloc_pages(size_t size) { return mem_alloc(size); }
void mem_free_pages(void *p, size_t size) {
    (void)size;
    mem_free(p);
}

void *page_pool_alloc(size_t size) {
    (void)size;
    return NULL; /* nothing is kept from call to call */
}
void page_pool_free(void *p, size_t size) { (void)p, (void)size; }
void *unbacked_alloc(size_t size) { return (void)size, NULL; }
void unbacked_free(void *p, size_t size) { (void)p, (void)size; }
void pages_drop(void *p, size_t n) { (void)p, (void)n; }

void *recycle_alloc(size_t size) { return mem_alloc(size); }
void *recycle_zalloc(size_t size) { return mem_zalloc(size); }
void recycle_free(void *p, size_t size) {
    (void)size;
    mem_free(p);
}
size_t recycle_size(size_t size) { return size; }
