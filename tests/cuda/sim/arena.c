/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arena.c - simulated device memory.
 *
 * An allocation has its own pages in a reserved range of addresses, and is placed at their end,
 * up to 511 bytes for alignment, so that an access past it faults at once. The rest of its pages
 * is filled with a pattern that is checked when it is freed. New memory is filled with bytes
 * that are NaNs. Pages are accessible only between sim_arena_touch and sim_arena_close, and only
 * where they are needed: the cost of a kernel or a copy does not depend on the amount of memory.
 */
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    ARENA_PAGE = 4096,
    ARENA_ALIGN = 512,
    ARENA_GUARD = 16 * ARENA_PAGE,
    ARENA_STRETCH = 1 << 20,
    ARENA_MOST = 1 << 16
};
/* filling more than this would take too long */
static const size_t arena_fill_most = (size_t)64 << 20;
static const unsigned char arena_red = 0xa5, arena_new = 0xff;

typedef struct arena_piece {
    char *pages, *start;
    size_t pages_size, size;
} arena_piece;

static char *arena_base;
static size_t arena_reserved, arena_used;
static arena_piece arena_pieces[ARENA_MOST]; /* by address */
static int arena_count;
static struct {
    char *start;
    size_t size;
} arena_open[ARENA_MOST]; /* accessible ranges */
static int arena_open_count;

size_t sim_arena_total(void) {
    static size_t total;
    if (!total) total = (size_t)sim_setting("CTSC_SIM_MEMORY", (long long)4 << 30);
    return total;
}

size_t sim_arena_used(void) { return arena_used; }

static void arena_protect(char *start, size_t size, bool open) {
    if (mprotect(start, size, open ? PROT_READ | PROT_WRITE : PROT_NONE) != 0) {
        sim_say("mprotect failed");
        abort();
    }
}

/* The allocation that has p; NULL: none does. */
static const arena_piece *arena_find(const char *p) {
    int low = 0, high = arena_count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (arena_pieces[middle].pages <= p) low = middle + 1;
        else high = middle;
    }
    const arena_piece *a = low ? &arena_pieces[low - 1] : NULL;
    return a && p < a->pages + a->pages_size ? a : NULL;
}

static bool arena_touchable(const char *p) {
    for (int i = 0; i < arena_open_count; i++)
        if (p >= arena_open[i].start && p < arena_open[i].start + arena_open[i].size) return true;
    return false;
}

static bool arena_touch(const void *address, size_t nbytes, size_t unit) {
    const char *p = address;
    const arena_piece *a = arena_find(p);
    if (!a || arena_open_count == ARENA_MOST) return false;
    size_t begin = (size_t)(p - a->pages) / unit * unit,
           end = ((size_t)(p + nbytes - a->pages) + unit - 1) / unit * unit;
    if (end > a->pages_size) end = a->pages_size;
    arena_open[arena_open_count].start = a->pages + begin;
    arena_open[arena_open_count++].size = end - begin;
    arena_protect(a->pages + begin, end - begin, true);
    return true;
}

bool sim_arena_touch(const void *p, size_t nbytes) { return arena_touch(p, nbytes, ARENA_PAGE); }

bool sim_arena_touch_around(const void *p) {
    return !arena_touchable(p) && arena_touch(p, 1, ARENA_STRETCH);
}

void sim_arena_close(void) {
    while (arena_open_count) {
        arena_open_count--;
        arena_protect(arena_open[arena_open_count].start, arena_open[arena_open_count].size, false);
    }
}

static bool arena_reserve(void) {
    if (arena_base) return true;
    arena_reserved = 2 * sim_arena_total() + ((size_t)1 << 30);
    void *p = mmap(NULL, arena_reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                   0);
    if (p == MAP_FAILED) return false;
    arena_base = p;
    return true;
}

/* The first gap that is large enough: its index among the pieces and its address;
 * NULL: there is none. */
static char *arena_gap(size_t pages_size, int *index) {
    char *at = arena_base + ARENA_GUARD;
    for (int i = 0; i <= arena_count; i++) {
        char *end = i < arena_count ? arena_pieces[i].pages : arena_base + arena_reserved;
        if (at + pages_size + ARENA_GUARD <= end) {
            *index = i;
            return at;
        }
        if (i < arena_count) at = arena_pieces[i].pages + arena_pieces[i].pages_size + ARENA_GUARD;
    }
    return NULL;
}

CUdeviceptr sim_arena_alloc(size_t nbytes) {
    int index;
    if (nbytes > sim_arena_total() - arena_used || arena_count == ARENA_MOST || !arena_reserve())
        return 0;
    arena_piece p = {.size = nbytes,
                     .pages_size = (nbytes + ARENA_PAGE - 1) / ARENA_PAGE * ARENA_PAGE};
    p.pages = arena_gap(p.pages_size, &index);
    if (!p.pages) return 0;
    p.start = p.pages + p.pages_size - (nbytes + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
    memmove(&arena_pieces[index + 1], &arena_pieces[index],
            (size_t)(arena_count - index) * sizeof p);
    arena_pieces[index] = p;
    arena_count++;
    arena_used += nbytes;
    arena_protect(p.pages, p.pages_size, true);
    memset(p.pages, arena_red, (size_t)(p.start - p.pages));
    if (nbytes <= arena_fill_most) memset(p.start, arena_new, nbytes);
    memset(p.start + nbytes, arena_red, (size_t)(p.pages + p.pages_size - p.start) - nbytes);
    arena_protect(p.pages, p.pages_size, false);
    return (CUdeviceptr)(uintptr_t)p.start;
}

static void arena_check(const arena_piece *p, const char *begin, const char *end) {
    for (const char *c = begin; c < end; c++)
        if ((unsigned char)*c != arena_red) {
            sim_say("somebody wrote at %td of an allocation of %zu bytes", c - p->start, p->size);
            abort();
        }
}

bool sim_arena_free(CUdeviceptr address) {
    for (int i = 0; i < arena_count; i++) {
        arena_piece p = arena_pieces[i];
        if (p.start != (char *)(uintptr_t)address) continue;
        arena_protect(p.pages, p.pages_size, true);
        arena_check(&p, p.pages, p.start);
        arena_check(&p, p.start + p.size, p.pages + p.pages_size);
        /* Fresh pages for the next user, and none meanwhile. */
        mmap(p.pages, p.pages_size, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
        arena_count--;
        memmove(&arena_pieces[i], &arena_pieces[i + 1], (size_t)(arena_count - i) * sizeof p);
        arena_used -= p.size;
        return true;
    }
    return false;
}

bool sim_arena_has(CUdeviceptr address, size_t nbytes) {
    const char *p = (const char *)(uintptr_t)address;
    const arena_piece *a = arena_find(p);
    return a && p >= a->start && p + nbytes <= a->start + a->size;
}
