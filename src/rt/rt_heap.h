/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rt_heap.h - a heap in one block of memory, without a system below it.
 *
 *     | head | block | head | block | ... | free up to the end
 *
 * A head has the size of its block and of the one before it, so that neighbours that are free
 * become one. Free blocks are in lists by the power of two of their sizes; a request takes the
 * first that fits, of the smallest list that has one, and else memory at the end, where what is
 * freed last goes back to. So the places of a sequence of requests depend on that sequence alone:
 * the compiler lays the requests of a program out in the same way (runtime/aot/aot_run.c), and
 * knows how large the block has to be.
 *
 * Requests of RT_HEAP_ALIGN bytes and more are aligned to it; all are aligned to 16.
 */
#ifndef CTSC_RT_RT_HEAP_H
#define CTSC_RT_RT_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { RT_HEAP_BINS = 48, RT_HEAP_STEP = 16 };

typedef struct rt_head {
    size_t size;   /* of the block with its head; the lowest bit: it is free */
    size_t before; /* size of the block before it; 0: it is the first */
} rt_head;

typedef struct rt_free {
    rt_head head;
    struct rt_free *next, *prev;
} rt_free;

typedef struct rt_heap {
    char *base;
    size_t size, top, peak; /* top: of all blocks; peak: the highest that it was */
    size_t last;            /* size of the last block; 0: there is none */
    rt_free *bins[RT_HEAP_BINS];
} rt_heap;

static inline void rt_heap_init(rt_heap *h, void *base, size_t size) {
    memset(h, 0, sizeof *h);
    h->base = base;
    h->size = size;
}

static inline int rt_heap_bin(size_t size) {
    int k = 63 - __builtin_clzll((unsigned long long)size);
    return k < RT_HEAP_BINS ? k : RT_HEAP_BINS - 1;
}

static inline rt_head *rt_heap_next(const rt_heap *h, rt_head *b) {
    char *next = (char *)b + (b->size & ~(size_t)1);
    return next < h->base + h->top ? (rt_head *)(void *)next : NULL;
}

static inline void rt_heap_unlink(rt_heap *h, rt_free *f) {
    if (f->prev) f->prev->next = f->next;
    else h->bins[rt_heap_bin(f->head.size & ~(size_t)1)] = f->next;
    if (f->next) f->next->prev = f->prev;
}

static inline void rt_heap_link(rt_heap *h, rt_free *f) {
    rt_free **bin = &h->bins[rt_heap_bin(f->head.size & ~(size_t)1)];
    f->prev = NULL;
    f->next = *bin;
    if (*bin) (*bin)->prev = f;
    *bin = f;
}

/* Says to the block after b how large b is. */
static inline void rt_heap_tell(rt_heap *h, rt_head *b) {
    rt_head *next = rt_heap_next(h, b);
    if (next) next->before = b->size & ~(size_t)1;
    else h->last = b->size & ~(size_t)1;
}

/* b gives up what is beyond `need` bytes, if that is worth a block. */
static inline void rt_heap_split(rt_heap *h, rt_head *b, size_t need) {
    size_t rest = b->size - need;
    if (rest < sizeof(rt_free) + RT_HEAP_STEP) return;
    b->size = need;
    rt_free *f = (rt_free *)(void *)((char *)b + need);
    f->head = (rt_head){rest | 1, need};
    rt_heap_link(h, f);
    rt_heap_tell(h, &f->head);
}

/* NULL: there is no room. */
static inline void *rt_heap_alloc(rt_heap *h, size_t size) {
    if (size > SIZE_MAX / 2) return NULL;
    size_t need = (size + sizeof(rt_head) + RT_HEAP_STEP - 1) & ~(size_t)(RT_HEAP_STEP - 1);
    if (need < sizeof(rt_free)) need = sizeof(rt_free);
    for (int k = rt_heap_bin(need); k < RT_HEAP_BINS; k++) {
        for (rt_free *f = h->bins[k]; f; f = f->next) {
            if ((f->head.size & ~(size_t)1) < need) continue;
            rt_heap_unlink(h, f);
            f->head.size &= ~(size_t)1;
            rt_heap_split(h, &f->head, need);
            return &f->head + 1;
        }
    }
    if (need > h->size - h->top) return NULL;
    rt_head *b = (rt_head *)(void *)(h->base + h->top);
    *b = (rt_head){need, h->last};
    h->last = need;
    h->top += need;
    if (h->top > h->peak) h->peak = h->top;
    return b + 1;
}

static inline void rt_heap_free(rt_heap *h, void *p) {
    if (!p) return;
    rt_head *b = (rt_head *)p - 1;
    rt_head *next = rt_heap_next(h, b);
    if (next && next->size & 1) {
        rt_heap_unlink(h, (rt_free *)(void *)next);
        b->size += next->size & ~(size_t)1;
    }
    rt_head *before = b->before ? (rt_head *)(void *)((char *)b - b->before) : NULL;
    if (before && before->size & 1) {
        rt_heap_unlink(h, (rt_free *)(void *)before);
        before->size = (before->size & ~(size_t)1) + b->size;
        b = before;
    }
    if ((char *)b + b->size == h->base + h->top) {
        h->top = (size_t)((char *)b - h->base);
        h->last = b->before;
        return;
    }
    b->size |= 1;
    rt_heap_link(h, (rt_free *)(void *)b);
    rt_heap_tell(h, b);
}

/* Of a block that rt_heap_alloc gave: at least what was asked for. */
static inline size_t rt_heap_size(const void *p) {
    return (((const rt_head *)p)[-1].size & ~(size_t)1) - sizeof(rt_head);
}

#endif
