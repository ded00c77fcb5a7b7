/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recycle.h - memory that a thread frees while it runs a program is kept for its next requests.
 *
 * A program that is called repeatedly needs the same memory each time: after its
 * first calls have filled the recycler, calls take nothing from the allocator,
 * and large blocks cause no page faults. Small blocks wait in free lists, by
 * size; the large ones of repeated calls share one slab (block_plan.h), others
 * wait in free lists as well, up to half of the peak of live memory.
 *
 * A recycler is used by one thread at a time (recycler_use); without one, and for sizes above
 * RECYCLE_MAX, requests go to mem_alloc and mem_free. A block taken from a recycler may be freed
 * without it, on another thread, and the other way round.
 *
 * Built with a sanitizer every request goes to the allocator, so that use after free is seen.
 * Tests: tests/unit/test_block_plan.c, tests/unit/test_steady.c
 */
#ifndef CTSC_BASE_RECYCLE_H
#define CTSC_BASE_RECYCLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RECYCLE_CLASSES = 128 };

/* What a thread allocates and frees, for tools that measure programs. */
typedef struct recycle_watch {
    uint64_t blocks, bytes; /* taken so far */
    int64_t live, peak;     /* bytes held now, and at most; what was held before is not in them */
} recycle_watch;

typedef struct recycler {
    void *blocks[RECYCLE_CLASSES]; /* lists, linked through the blocks' first words */
    size_t bytes;                  /* held in all */
    size_t large;                  /* of them in large blocks */
    size_t live, peak, before;     /* in large ordinary blocks of this call; the last one's peak */
    struct planner *plan;          /* of the large blocks; NULL: none was asked for yet */
    bool repeated;                 /* calls begin and end: their large blocks are planned */
    recycle_watch *watch;          /* counts along; NULL: nobody does */
} recycler;

/* Makes r (or none: NULL) the calling thread's; returns what was it before. */
recycler *recycler_use(recycler *r);
/* A call that may be repeated begins, and is over. */
void recycler_begin(recycler *r);
void recycler_end(recycler *r);
/* Gives everything back to the allocator. */
void recycler_free(recycler *r);

void *recycle_alloc(size_t size);  /* not initialised; NULL if out of memory; aligned to 16 bytes */
void *recycle_zalloc(size_t size); /* zeroed */
size_t recycle_size(size_t size);  /* of the block that recycle_alloc gives */
/* size: what recycle_alloc was asked for. p may be NULL. */
void recycle_free(void *p, size_t size);

#endif
