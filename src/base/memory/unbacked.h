/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unbacked.h - calls that compute only geometry: memory that is addresses alone, and
 * whether the calling thread is inside such a call.
 *
 * Within geometry_begin and geometry_end an operator's function runs as always: it checks its
 * arguments, determines sizes, strides and dtypes, and allocates its results. The loops over
 * elements are what is left out, at the few places that all of them pass (pool_for, the iterator,
 * OP_LOOP, LAPACK's functions), by asking geometry_only(). runtime/meta/meta.h says why.
 *
 * Elements are zeros then, whoever looks: blocks come zeroed, and a large one is a reservation
 * whose pages cost nothing until they are touched. So a loop that is not left out is slow, never
 * wrong.
 * Tests: tests/unit/test_meta.c
 */
#ifndef CTSC_BASE_UNBACKED_H
#define CTSC_BASE_UNBACKED_H

#include "base/memory/mem.h"

struct recycler;

/* Is the calling thread inside such a call? */
#ifdef CTSC_RT /* programs compiled ahead of time: never */
static inline bool geometry_only(void) { return false; }
#else
extern MEM_THREAD_LOCAL bool geometry_thread;
static inline bool geometry_only(void) { return __builtin_expect(geometry_thread, 0); }
#endif

/* What the thread had before; they nest. */
typedef struct geometry_scope {
    bool before;
    mem_budget budget, *outer;
    struct recycler *recycler;
} geometry_scope;
void geometry_begin(geometry_scope *s);
void geometry_end(geometry_scope *s);

/* size bytes of zeros that take no memory until they are touched, and count against no budget;
 * NULL: the address space has no room for them. */
void *unbacked_alloc(size_t size);
void unbacked_free(void *p, size_t size);

#endif
