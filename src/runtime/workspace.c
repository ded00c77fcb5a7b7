/* SPDX-License-Identifier: Apache-2.0 */
/* workspace.c - the spare workspaces of a module. Slots are exchanged atomically, so nobody waits. */
#include "runtime/workspace.h"

#include "base/mem.h"
#include "runtime/interp_internal.h"
#include "runtime/kernels/fft.h"

static void workspace_free(workspace *w) {
    stack_chunk_free(w->stack);
    fft_cache_free(w->fft);
    recycler_clear(&w->blocks);
    mem_free(w);
}

workspace *workspace_take(workspace_pool *p) {
    workspace *w = NULL;
    for (int i = 0; i < WORKSPACE_SPARE && !w; i++)
        if (atomic_load_explicit(&p->spare[i], memory_order_relaxed))
            w = atomic_exchange_explicit(&p->spare[i], NULL, memory_order_acquire);
    if (!w) w = mem_zalloc(sizeof *w);
    if (!w) return NULL;
    w->home = p;
    w->outer = recycler_use(&w->blocks);
    return w;
}

void workspace_give(workspace_pool *p, workspace *w) {
    recycler_use(w->outer);
    for (int i = 0; i < WORKSPACE_SPARE; i++) {
        workspace *none = NULL;
        if (atomic_compare_exchange_strong_explicit(&p->spare[i], &none, w, memory_order_release, memory_order_relaxed)) return;
    }
    workspace_free(w);
}

void workspace_pool_free(workspace_pool *p) {
    for (int i = 0; i < WORKSPACE_SPARE; i++) {
        workspace *w = atomic_exchange_explicit(&p->spare[i], NULL, memory_order_acquire);
        if (w) workspace_free(w);
    }
}
