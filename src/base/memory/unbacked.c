/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unbacked.c - the state of a thread that computes geometry alone, and reservations.
 *
 * Method. A budget of the thread's own makes every allocation zeroed (mem_budget.zeroed); it has
 * what the thread's own budget has left, and gives that back changed. Recycled blocks are dirty,
 * so that nothing is recycled meanwhile.
 * Tests: tests/unit/test_meta.c
 */
#include "base/memory/unbacked.h"

#include "base/memory/recycle.h"

#include <sys/mman.h>

MEM_THREAD_LOCAL bool geometry_thread;

void geometry_begin(geometry_scope *s) {
    s->before = geometry_thread;
    if (s->before) return;
    s->recycler = recycler_use(NULL);
    s->budget = (mem_budget){INT64_MAX / 2, false};
    s->outer = mem_budget_use(NULL);
    if (s->outer) s->budget.left = s->outer->left;
    s->budget.zeroed = true;
    mem_budget_use(&s->budget);
    geometry_thread = true;
}

void geometry_end(geometry_scope *s) {
    if (s->before) return;
    geometry_thread = false;
    if (s->outer) s->outer->left = s->budget.left;
    mem_budget_restore(s->outer);
    recycler_use(s->recycler);
}

void *unbacked_alloc(size_t size) {
    void *p = mmap(NULL, size ? size : 1, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

void unbacked_free(void *p, size_t size) { (void)munmap(p, size ? size : 1); }
