/* SPDX-License-Identifier: Apache-2.0 */
/* workspace.c - the spare workspaces of a module. Slots are exchanged atomically,
 * so nobody waits.
 * Tests: tests/unit/test_steady.c
 */
#include "runtime/context/workspace.h"

#include "base/memory/mem.h"

void stack_free_after(stack_chunk *c) {
    stack_chunk *next = c->next;
    c->next = NULL;
    while (next) {
        stack_chunk *after = next->next;
        mem_free(next);
        next = after;
    }
}

void stack_chunk_free(stack_chunk *first) {
    if (!first) return;
    stack_free_after(first);
    mem_free(first);
}

static void workspace_free(workspace *w) {
    stack_chunk_free(w->stack);
    if (w->fft) w->fft_free(w->fft);
    recycler_free(&w->blocks);
    mem_free(w);
}

/* Where the calling thread begins to look. Threads begin at different slots, so each finds what it
 * left, and finds it in its own caches. */
static unsigned workspace_first(void) {
    static atomic_uint threads;
    static MEM_THREAD_LOCAL unsigned first; /* + 1; 0: not known yet */
    if (!first)
        first = atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed) % WORKSPACE_SPARE + 1;
    return first - 1;
}

workspace *workspace_take(workspace_pool *p) {
    workspace *w = NULL;
    unsigned first = workspace_first(), slot = first;
    for (unsigned i = 0; i < WORKSPACE_SPARE && !w; i++) {
        slot = (first + i) % WORKSPACE_SPARE;
        if (atomic_load_explicit(&p->slots[slot].spare, memory_order_relaxed))
            w = atomic_exchange_explicit(&p->slots[slot].spare, NULL, memory_order_acquire);
    }
    if (!w && (w = mem_zalloc(sizeof *w))) slot = first;
    if (!w) return NULL;
    w->slot = slot;
    w->home = p;
    w->outer = recycler_use(&w->blocks);
    recycler_begin(&w->blocks);
    return w;
}

void workspace_give(workspace_pool *p, workspace *w) {
    recycler_end(&w->blocks);
    recycler_use(w->outer);
    for (unsigned i = 0; i < WORKSPACE_SPARE; i++) {
        workspace *none = NULL;
        if (atomic_compare_exchange_strong_explicit(
                &p->slots[(w->slot + i) % WORKSPACE_SPARE].spare, &none, w, memory_order_release,
                memory_order_relaxed))
            return;
    }
    workspace_free(w);
}

void workspace_pool_free(workspace_pool *p) {
    for (int i = 0; i < WORKSPACE_SPARE; i++) {
        workspace *w = atomic_exchange_explicit(&p->slots[i].spare, NULL, memory_order_acquire);
        if (w) workspace_free(w);
    }
}
