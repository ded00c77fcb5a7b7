/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recycle.c - lists of free blocks by size class.
 *
 * Classes: multiples of 64 bytes up to 1 KiB, then four per power of two, so that rounding up
 * wastes a fifth at most.
 */
#include "base/recycle.h"

#include "base/mem.h"

#include <string.h>

enum {
    RECYCLE_STEP = 64,
    RECYCLE_SMALL = 1024,
    RECYCLE_SMALL_CLASSES = RECYCLE_SMALL / RECYCLE_STEP
};
#define RECYCLE_MAX ((size_t)1 << 32)
#define RECYCLE_LIMIT ((size_t)1 << 30)

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

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { RECYCLE_ON = 0 };
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
enum { RECYCLE_ON = 0 };
#else
enum { RECYCLE_ON = 1 };
#endif
#else
enum { RECYCLE_ON = 1 };
#endif

size_t recycle_size(size_t size) {
    size_t block = size;
    if (RECYCLE_ON && size <= RECYCLE_MAX) recycle_class(size, &block);
    return block;
}

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
    *block = size;
    if (!RECYCLE_ON || size > RECYCLE_MAX) return NULL;
    int k = recycle_class(size, block);
    void *p = r ? r->blocks[k] : NULL;
    if (!p) return NULL;
    memcpy(&r->blocks[k], p, sizeof(void *));
    r->bytes -= *block;
    return p;
}

void *recycle_alloc(size_t size) {
    size_t block;
    recycler *r = recycle_current;
    void *p = recycle_find(r, size, &block);
    if (!p) p = mem_alloc(block);
    if (!p && r && r->bytes) { /* what is kept for later may be what is missing now */
        recycler_clear(r);
        p = mem_alloc(block);
    }
    return recycle_note(r, p, block);
}

/* Fresh pages are zero already, and cost nothing until they are touched. */
void *recycle_zalloc(size_t size) {
    size_t block;
    recycler *r = recycle_current;
    void *p = recycle_find(r, size, &block);
    p = p ? memset(p, 0, size) : mem_zalloc(block);
    return recycle_note(r, p, block);
}

void recycle_free(void *p, size_t size) {
    recycler *r = recycle_current;
    size_t block;
    if (r && r->watch && p) r->watch->live -= (int64_t)recycle_size(size);
    if (!RECYCLE_ON || !p || !r || size > RECYCLE_MAX) {
        mem_free(p);
        return;
    }
    int k = recycle_class(size, &block);
    if (r->bytes + block > (r->limit ? r->limit : RECYCLE_LIMIT)) {
        mem_free(p);
        return;
    }
    memcpy(p, &r->blocks[k], sizeof(void *));
    r->blocks[k] = p;
    r->bytes += block;
}

void recycler_clear(recycler *r) {
    for (int k = 0; k < RECYCLE_CLASSES; k++) {
        for (void *p = r->blocks[k], *next; p; p = next) {
            memcpy(&next, p, sizeof(void *));
            mem_free(p);
        }
        r->blocks[k] = NULL;
    }
    r->bytes = 0;
}
