/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workspace.h - what calls of a module leave for the next call: the interpreter's stack, freed
 * tensors, plans of Fourier transforms, a runtime.
 *
 * A call takes a workspace and gives it back at its end; a module keeps as many as it had calls at
 * a time (WORKSPACE_SPARE at most). So in the steady state a call allocates nothing but its
 * results. A thread looks first where it gave its last one back.
 */
#ifndef CTSC_RUNTIME_CONTEXT_WORKSPACE_H
#define CTSC_RUNTIME_CONTEXT_WORKSPACE_H

#include "base/memory/recycle.h"
#include "runtime/context/runtime.h"

#include <stdatomic.h>

enum { WORKSPACE_SPARE = 16 };

/* Registers of all frames, in chunks that never move: operators hold pointers into them while they
 * call back. */
typedef struct stack_chunk {
    struct stack_chunk *prev, *next;
    size_t size, used;
    value slots[];
} stack_chunk;

void stack_free_after(stack_chunk *c);     /* those after it */
void stack_chunk_free(stack_chunk *first); /* and those after it; first may be NULL */

typedef struct workspace {
    runtime rt; /* runtime_init it before use */
    recycler blocks;
    struct workspace_pool *home; /* where it was taken from */
    recycler *outer;             /* the thread's recycler while the workspace is not in use */
    unsigned slot;               /* where it waits for its next call, if there is room */
    struct stack_chunk *stack;   /* the first chunk of the interpreter's stack; NULL: none yet */
    struct fft_cache *fft; /* plans of Fourier transforms (kernels/fft/fft.h); NULL: none yet */
    void (*fft_free)(struct fft_cache *c);
} workspace;

/* Slots have their own cache lines: threads that run one module
 * at the same time would otherwise wait for each other. */
typedef struct workspace_slot {
    char apart[64 - sizeof(void *)];
    workspace *_Atomic spare;
} workspace_slot;
typedef struct workspace_pool { workspace_slot slots[WORKSPACE_SPARE]; } workspace_pool;

/* Its recycler becomes the thread's. NULL if out of memory. */
workspace *workspace_take(workspace_pool *p);
void workspace_give(workspace_pool *p, workspace *w);
void workspace_pool_free(workspace_pool *p);

#endif
