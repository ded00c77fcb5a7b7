/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recycle.c - lists of free blocks by size class, and what is done with large ones.
 *
 * Classes: multiples of 64 bytes up to 1 KiB, then four per power of two, so that rounding up
 * wastes a fifth at most. A large request without a place in the slab takes a block of up to an
 * octave more if there is one.
 */
#include "base/memory/recycle.h"

#include "base/memory/block_plan.h"
#include "base/memory/mem.h"

#include <string.h>

enum {
    RECYCLE_STEP = 64,
    RECYCLE_SMALL = 1024,
    RECYCLE_SMALL_CLASSES = RECYCLE_SMALL / RECYCLE_STEP,
    RECYCLE_OCTAVE = 4,      /* classes */
    RECYCLE_LARGE = 16 << 10 /* from here on requests are planned */
};
#define RECYCLE_MAX ((size_t)1 << 32)
#define RECYCLE_SMALL_LIMIT ((size_t)1 << 28)

static MEM_THREAD_LOCAL recycler *recycle_current;

recycler *recycler_use(recycler *r) {
    recycler *before = recycle_current;
    recycle_current = r;
    return before;
}

/* The class of a size up to RECYCLE_MAX, and the size of its blocks. */
static inline int recycle_class(size_t size, size_t *block) {
    if (size <= RECYCLE_SMALL) {
        int k = size ? (int)((size - 1) / RECYCLE_STEP) : 0;
        *block = (size_t)(k + 1) * RECYCLE_STEP;
        return k;
    }
    /* 2^octave < size <= 2^(octave + 1) */
    int octave = 63 - __builtin_clzll((unsigned long long)(size - 1));
    size_t quarter = (size_t)1 << (octave - 2), step = (size - 1 - ((size_t)1 << octave)) / quarter;
    *block = ((size_t)1 << octave) + (step + 1) * quarter;
    return RECYCLE_SMALL_CLASSES + (octave - 10) * 4 + (int)step;
}

enum { RECYCLE_ON = !SANITIZED };

static void recycle_count(recycle_watch *w, size_t block) {
    w->blocks++;
    w->bytes += block;
    w->live += (int64_t)block;
    if (w->live > w->peak) w->peak = w->live;
}

/* A block was taken, also where it did not come from the recycler. p NULL: none was. */
static inline void *recycle_note(const recycler *r, void *p, size_t block) {
    if (r && r->watch && p) recycle_count(r->watch, block);
    return p;
}

/* A block that was freed before; NULL if there is none. *block: the size of such blocks. */
static inline void *recycle_find(recycler *r, size_t size, size_t *block) {
    int k = recycle_class(size, block);
    void *p = r ? r->blocks[k] : NULL;
    if (!p) return NULL;
    memcpy(&r->blocks[k], p, sizeof(void *));
    r->bytes -= *block;
    return p;
}

static inline void recycle_keep(recycler *r, void *p, size_t block, int k) {
    memcpy(p, &r->blocks[k], sizeof(void *));
    r->blocks[k] = p;
    r->bytes += block;
}

/* Header in front of a large block. Its first word links
 * it to the next block while it is in a free list. */
typedef struct large_head {
    plan_mark mark;
    uint64_t block : 63; /* all of it */
    uint64_t pages : 1;  /* of mem_alloc_pages */
} large_head;
_Static_assert(sizeof(large_head) % 16 == 0, "blocks stay aligned");

static bool recycle_is_large(size_t size) { return RECYCLE_ON && size >= RECYCLE_LARGE; }

static void large_release(large_head *h) {
    if (h->pages) mem_free_pages(h, h->block);
    else mem_free(h);
}

/* The first class of large blocks. */
static int recycle_large_class(void) {
    size_t block;
    return recycle_class(RECYCLE_LARGE + sizeof(large_head), &block);
}

static void recycle_clear_large(recycler *r) {
    for (int k = recycle_large_class(); r->large && k < RECYCLE_CLASSES; k++)
        for (large_head *h; (h = r->blocks[k]);) {
            memcpy(&r->blocks[k], h, sizeof(void *));
            large_release(h);
        }
    r->bytes -= r->large;
    r->large = 0;
}

static void recycle_clear_small(recycler *r) {
    for (int k = recycle_large_class(); k-- > 0;)
        for (void *p; (p = r->blocks[k]);) {
            memcpy(&r->blocks[k], p, sizeof(void *));
            mem_free(p);
        }
    r->bytes = r->large;
}

/* What is kept for later may be what is missing now. */
static void *recycle_fresh(recycler *r, size_t block, void *(*alloc)(size_t size)) {
    void *p = alloc(block);
    if (p || !r || !r->bytes) return p;
    recycle_clear_large(r);
    recycle_clear_small(r);
    return alloc(block);
}

/* ---- large blocks ---------------------------------------------------------------------------- */

/* A free block that is not much larger than it has to be. */
static large_head *large_find(recycler *r, size_t bytes) {
    size_t block;
    if (!r->large || bytes > RECYCLE_MAX) return NULL;
    int first = recycle_class(bytes, &block);
    for (int k = first; k < first + RECYCLE_OCTAVE && k < RECYCLE_CLASSES; k++) {
        large_head *h = r->blocks[k];
        if (!h) continue;
        memcpy(&r->blocks[k], h, sizeof(void *));
        r->bytes -= h->block;
        r->large -= h->block;
        return h;
    }
    return NULL;
}

/* Made by the first large block: most small programs never ask for one. */
static planner *large_plan(recycler *r) {
    if (r && r->repeated && !r->plan && (r->plan = planner_new())) planner_begin(r->plan);
    return r ? r->plan : NULL;
}

/* Zeroed ones come from mem_zalloc, which has pages that cost nothing until they are touched. */
static void *large_alloc(recycler *r, size_t size, bool zero) {
    plan_mark mark = {0};
    size_t bytes, block;
    bool pages = false, zeros = false;
    if (!size_add(size, sizeof(large_head), &bytes)) return NULL;
    block = bytes;
    /* what goes over a bound is not even planned */
    planner *plan = large_plan(r);
    bool fits = plan && mem_budget_take(bytes);
    large_head *h = fits ? planner_take(plan, bytes, &mark) : NULL;
    if (fits && !h) mem_budget_give(bytes);
    if (!h && r && (h = large_find(r, bytes))) {
        block = h->block;
        pages = h->pages;
    }
    if (!h) {
        if (bytes <= RECYCLE_MAX) recycle_class(bytes, &block);
        pages = r && !mark.outlives && !zero;
        zeros = zero;
        h = recycle_fresh(r, block, pages ? mem_alloc_pages : zero ? mem_zalloc : mem_alloc);
    }
    if (!h) return NULL;
    *h = (large_head){mark, block, pages};
    if (r && !mark.slab && (r->live += block) > r->peak) r->peak = r->live;
    if (zero && !zeros) memset(h + 1, 0, size);
    return h + 1;
}

/* A call keeps no more of them than half of what it needed at a time: sizes that come no more would
 * stay for ever. */
static void large_free(recycler *r, void *p) {
    large_head *h = (large_head *)p - 1;
    size_t block = h->block;
    if (planner_give(r ? r->plan : NULL, &h->mark)) {
        mem_budget_give(block);
        return;
    }
    if (!r || block > RECYCLE_MAX) {
        large_release(h);
        return;
    }
    r->live -= block < r->live ? block : r->live;
    size_t most = (r->peak > r->before ? r->peak : r->before) / 2;
    if (r->large + block > most) recycle_clear_large(r);
    if (block > most) large_release(h);
    else {
        int k = recycle_class(block, &block);
        recycle_keep(r, h, block, k);
        r->large += block;
    }
}

/* ---- requests -------------------------------------------------------------------------------- */

size_t recycle_size(size_t size) {
    size_t block = size;
    if (RECYCLE_ON && size <= RECYCLE_MAX) recycle_class(size, &block);
    return block;
}

void *recycle_alloc(size_t size) {
    size_t block = size;
    recycler *r = recycle_current;
    if (recycle_is_large(size))
        return recycle_note(r, large_alloc(r, size, false), recycle_size(size));
    void *p = RECYCLE_ON ? recycle_find(r, size, &block) : NULL;
    return recycle_note(r, p ? p : recycle_fresh(r, block, mem_alloc), block);
}

/* Fresh pages are zero already, and cost nothing until they are touched. */
void *recycle_zalloc(size_t size) {
    size_t block = size;
    recycler *r = recycle_current;
    if (recycle_is_large(size))
        return recycle_note(r, large_alloc(r, size, true), recycle_size(size));
    void *p = RECYCLE_ON ? recycle_find(r, size, &block) : NULL;
    return recycle_note(r, p ? memset(p, 0, size) : recycle_fresh(r, block, mem_zalloc), block);
}

void recycle_free(void *p, size_t size) {
    recycler *r = recycle_current;
    size_t block = size;
    if (!p) return;
    if (r && r->watch) r->watch->live -= (int64_t)recycle_size(size);
    if (recycle_is_large(size)) {
        large_free(r, p);
        return;
    }
    int k = RECYCLE_ON && r ? recycle_class(size, &block) : -1;
    if (k < 0 || r->bytes - r->large + block > RECYCLE_SMALL_LIMIT) mem_free(p);
    else recycle_keep(r, p, block, k);
}

/* ---- calls ----------------------------------------------------------------------------------- */

void recycler_begin(recycler *r) {
    if (!RECYCLE_ON) return;
    r->repeated = true;
    if (r->plan) planner_begin(r->plan);
    r->before = r->peak;
    r->live = r->peak = 0;
}

void recycler_end(recycler *r) {
    if (r->plan && planner_end(r->plan)) recycle_clear_large(r);
}

void recycler_free(recycler *r) {
    recycle_clear_large(r);
    recycle_clear_small(r);
    planner_free(r->plan);
    *r = (recycler){0};
}
