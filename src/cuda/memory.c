/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.c - the caching allocator of device memory.
 *
 * Asking the driver for memory takes long, and giving it back waits for the device. So memory is
 * taken in segments and kept:
 *
 *   a block of             comes from a segment of
 *   up to 1 MiB            2 MiB; the rest serves other small blocks
 *   up to 10 MiB           20 MiB
 *   more                   its own size, rounded up to 2 MiB
 *
 * A segment is a list of neighbouring blocks, free ones and such that are handed out. Sizes are
 * multiples of 512 bytes. A request takes the smallest free block that is large enough and leaves
 * the rest, if it is worth it, as another block; a freed block is joined with its free
 * neighbours. That all work is done in the order of one stream makes a freed block fit for the
 * next request at once.
 *
 * Free blocks are in bins of similar sizes: exact ones up to 8 KiB, then 16 per power
 * of two; a bitmap tells which have any. With CTSC_CUDA_MEMORY_CACHE=0 in the
 * environment each block is a segment of exactly the requested size, and returns to the
 * driver when it is freed: slow, but then tools that watch the driver's allocations
 * (compute-sanitizer, tests/cuda/sim) detect accesses outside a kernel's tensors.
 *
 * A thread that captures a call (capture.h) gets addresses that are made up.
 *
 * Invariants: no two neighbours are free. live has exactly the blocks that are handed out.
 * stats.reserved is the sum of the segments.
 * Tests: tests/unit/test_cuda_device.c
 */
#include "base/text/text.h"
#include "base/variables.h"
#include "cuda/capture_internal.h"
#include "cuda/cuda_internal.h"

#include <stdio.h>
#include <stdlib.h>

enum { MEMORY_UNIT_BITS = 9, MEMORY_UNIT = 1 << MEMORY_UNIT_BITS, MEMORY_LOOK_AT = 64 };

/* largest small block, and smallest remainder of a large one to keep separately */
static const size_t memory_small = (size_t)1 << 20;
static const size_t memory_small_segment = (size_t)2 << 20;
/* largest block that shares a segment with others from the start */
static const size_t memory_medium = (size_t)10 << 20;
static const size_t memory_medium_segment = (size_t)20 << 20;
static const size_t memory_largest = (size_t)1 << 46;

struct memory_block {
    CUdeviceptr start;
    size_t size;
    memory_block *before, *after; /* neighbours in the segment, by address */
    /* while free; bin_next also links live blocks of a bucket, and spare ones */
    memory_block *bin_before, *bin_next;
    bool free, large;
};

void memory_init(memory *m) {
    const char *limit = variable_get(VARIABLE_CUDA_MEMORY_LIMIT);
    const char *cache = variable_get(VARIABLE_CUDA_MEMORY_CACHE);
    if (limit) m->limit = (size_t)strtoull(limit, NULL, 10);
    m->direct = cache && !strcmp(cache, "0");
}

/* ---- descriptions ---------------------------------------------------------------------------- */

static memory_block *memory_describe(memory *m) {
    memory_block *b = m->spare;
    if (!b) return mem_zalloc(sizeof *b);
    m->spare = b->bin_next;
    *b = (memory_block){0};
    return b;
}

static void memory_forget(memory *m, memory_block *b) {
    b->bin_next = m->spare;
    m->spare = b;
}

/* ---- free blocks: bins ----------------------------------------------------------------------- */

static unsigned memory_bin(size_t size) {
    size_t units = size >> MEMORY_UNIT_BITS;
    if (units < 16) return (unsigned)units;
    unsigned log = 63 - (unsigned)__builtin_clzll(units);
    return 16 * (log - 3) + (unsigned)((units >> (log - 4)) & 15);
}

static void memory_put(memory *m, memory_block *b) {
    unsigned bin = memory_bin(b->size);
    memory_block **head = &m->bins[b->large][bin];
    b->free = true;
    b->bin_before = NULL;
    b->bin_next = *head;
    if (*head) (*head)->bin_before = b;
    *head = b;
    m->used[b->large][bin / 64] |= (uint64_t)1 << (bin % 64);
}

static void memory_pull(memory *m, memory_block *b) {
    unsigned bin = memory_bin(b->size);
    memory_block **head = &m->bins[b->large][bin];
    if (b->bin_before) b->bin_before->bin_next = b->bin_next;
    else *head = b->bin_next;
    if (b->bin_next) b->bin_next->bin_before = b->bin_before;
    if (!*head) m->used[b->large][bin / 64] &= ~((uint64_t)1 << (bin % 64));
    b->free = false;
}

/* The best of the first few: bins are narrow, so the difference is small. */
static memory_block *memory_best(memory_block *b, size_t size) {
    memory_block *best = NULL;
    for (int i = 0; b && i < MEMORY_LOOK_AT; b = b->bin_next, i++) {
        if (b->size < size || (best && b->size >= best->size)) continue;
        best = b;
        if (b->size == size) break;
    }
    return best;
}

static memory_block *memory_find(const memory *m, bool large, size_t size) {
    unsigned bin = memory_bin(size);
    memory_block *b = memory_best(m->bins[large][bin], size);
    if (b) return b;
    unsigned word = ++bin / 64;
    if (word >= MEMORY_BINS / 64) return NULL;
    uint64_t bits = m->used[large][word] & (~(uint64_t)0 << (bin % 64));
    while (!bits && ++word < MEMORY_BINS / 64) bits = m->used[large][word];
    return bits ? memory_best(m->bins[large][64 * word + (unsigned)__builtin_ctzll(bits)], size)
                : NULL;
}

/* Cuts b, which is in no bin, down to size. Without memory for a description it stays as it is. */
static void memory_split(memory *m, memory_block *b, size_t size) {
    size_t rest = b->size - size;
    memory_block *r = rest >= MEMORY_UNIT && (!b->large || rest > memory_small) ? memory_describe(m)
                                                                                : NULL;
    if (!r) return;
    *r = (memory_block){
        .start = b->start + size, .size = rest, .before = b, .after = b->after, .large = b->large};
    if (r->after) r->after->before = r;
    b->after = r;
    b->size = size;
    memory_put(m, r);
}

/* b, which is in no bin, takes in the neighbour after it. */
static void memory_join(memory *m, memory_block *b) {
    memory_block *a = b->after;
    b->size += a->size;
    b->after = a->after;
    if (b->after) b->after->before = b;
    memory_forget(m, a);
}

/* b, which is in no bin, becomes free. */
static void memory_release(memory *m, memory_block *b) {
    memory_block *before = b->before;
    if (b->after && b->after->free) {
        memory_pull(m, b->after);
        memory_join(m, b);
    }
    if (before && before->free) {
        memory_pull(m, before);
        memory_join(m, before);
        b = before;
    }
    memory_put(m, b);
}

/* ---- live blocks: a hash table by address ---------------------------------------------------- */

static memory_block **memory_bucket(const memory *m, CUdeviceptr p) {
    return &m->live[hash_u64(p >> MEMORY_UNIT_BITS) & (m->live_cap - 1)];
}

static bool memory_grow_table(memory *m) {
    memory_block **old = m->live;
    size_t cap = m->live_cap;
    memory_block **table = mem_zalloc((cap ? 2 * cap : 256) * sizeof *table);
    if (!table) return cap != 0; /* fuller buckets do as well */
    m->live = table;
    m->live_cap = cap ? 2 * cap : 256;
    for (size_t i = 0; i < cap; i++)
        for (memory_block *b = old[i], *next; b; b = next) {
            next = b->bin_next;
            memory_block **bucket = memory_bucket(m, b->start);
            b->bin_next = *bucket;
            *bucket = b;
        }
    mem_free(old);
    return true;
}

static void memory_hand_out(memory *m, memory_block *b) {
    memory_block **bucket = memory_bucket(m, b->start);
    b->bin_next = *bucket;
    *bucket = b;
    m->live_count++;
    m->stats.live += b->size;
    if (m->stats.live > m->stats.peak_live) m->stats.peak_live = m->stats.live;
}

/* The live block at p, out of the table; NULL: there is none. */
static memory_block *memory_take_back(memory *m, CUdeviceptr p) {
    if (!m->live_cap) return NULL;
    memory_block **at = memory_bucket(m, p);
    while (*at && (*at)->start != p) at = &(*at)->bin_next;
    memory_block *b = *at;
    if (!b) return NULL;
    *at = b->bin_next;
    m->live_count--;
    m->stats.live -= b->size;
    return b;
}

/* ---- segments -------------------------------------------------------------------------------- */

static size_t memory_segment_size(const memory *m, size_t size) {
    if (m->direct) return size;
    if (size <= memory_small) return memory_small_segment;
    if (size <= memory_medium) return memory_medium_segment;
    return (size + memory_small_segment - 1) & ~(memory_small_segment - 1);
}

static bool memory_free_segment(cuda *c, memory_block *b) {
    if (b->before || b->after || c->driver->cuMemFree(b->start) != CUDA_SUCCESS) return false;
    memory_pull(&c->memory, b);
    c->memory.stats.reserved -= b->size;
    memory_forget(&c->memory, b);
    return true;
}

/* Gives segments without live blocks back to the driver, once nothing that was asked of the
 * device can use them. */
static void memory_flush(cuda *c) {
    memory *m = &c->memory;
    if (c->driver->cuStreamSynchronize(c->stream) != CUDA_SUCCESS) return;
    m->stats.flushes++;
    replays_shrink(c);
    for (int kind = 0; kind < MEMORY_KINDS; kind++)
        for (unsigned bin = 0; bin < MEMORY_BINS; bin++)
            for (memory_block *b = m->bins[kind][bin], *next; b; b = next) {
                next = b->bin_next;
                memory_free_segment(c, b);
            }
}

static CUresult memory_ask_driver(cuda *c, size_t size, CUdeviceptr *out) {
    const memory *m = &c->memory;
    if (m->limit && (m->stats.reserved > m->limit || size > m->limit - m->stats.reserved))
        return CUDA_ERROR_OUT_OF_MEMORY;
    return c->driver->cuMemAlloc(out, size);
}

/* A new segment as one block in no bin. */
static CUresult memory_new_segment(cuda *c, size_t size, memory_block **out) {
    memory *m = &c->memory;
    CUdeviceptr start = 0;
    memory_block *b = memory_describe(m);
    if (!b) return CUDA_ERROR_OUT_OF_MEMORY;
    size_t segment = memory_segment_size(m, size);
    CUresult r = memory_ask_driver(c, segment, &start);
    if (r == CUDA_ERROR_OUT_OF_MEMORY) {
        memory_flush(c);
        r = memory_ask_driver(c, segment, &start);
    }
    if (r != CUDA_SUCCESS) {
        memory_forget(m, b);
        return r;
    }
    *b = (memory_block){.start = start, .size = segment, .large = size > memory_small};
    m->stats.reserved += segment;
    if (m->stats.reserved > m->stats.peak_reserved) m->stats.peak_reserved = m->stats.reserved;
    *out = b;
    return CUDA_SUCCESS;
}

/* ---- the interface --------------------------------------------------------------------------- */

typedef struct memory_text { char text[32]; } memory_text;

/* A size in PyTorch's way of writing it. */
static memory_text memory_size_text(size_t n) {
    static const char *const units[] = {"KiB", "MiB", "GiB"};
    memory_text t;
    double x = (double)n / 1024;
    int unit = 0;
    for (; unit < 2 && x > 1024; unit++) x /= 1024;
    if (n <= 1024) snprintf(t.text, sizeof t.text, "%zu bytes", n);
    else text_print(t.text, sizeof t.text, "%.2f %s", x, units[unit]);
    return t;
}

static ctsc_status memory_exhausted(cuda *c, diag *d, size_t nbytes) {
    const memory *m = &c->memory;
    size_t available = 0, total = c->properties.memory;
    char allowed[64] = "";
    c->driver->cuMemGetInfo(&available, &total);
    if (m->limit)
        snprintf(allowed, sizeof allowed, "%s allowed; ", memory_size_text(m->limit).text);
    return diag_fail(d, CTSC_LIMIT,
                     "CUDA out of memory. Tried to allocate %s (GPU %d; %s total capacity; %s "
                     "already allocated; %s free; %s%s reserved in "
                     "total by ctsc)",
                     memory_size_text(nbytes).text, c->index, memory_size_text(total).text,
                     memory_size_text(m->stats.live).text, memory_size_text(available).text,
                     allowed, memory_size_text(m->stats.reserved).text);
}

/* A block of at least size bytes out of the bins. */
static memory_block *memory_from_bins(memory *m, bool large, size_t size) {
    memory_block *b = memory_find(m, large, size);
    if (!b) return NULL;
    memory_pull(m, b);
    memory_split(m, b, size);
    m->stats.from_cache++;
    return b;
}

ctsc_status memory_get(cuda *c, diag *d, size_t nbytes, void **out) {
    memory *m = &c->memory;
    if (nbytes > memory_largest) return memory_exhausted(c, d, nbytes);
    size_t size = m->direct ? nbytes : (nbytes + MEMORY_UNIT - 1) & ~(size_t)(MEMORY_UNIT - 1);
    if (m->live_count >= m->live_cap && !memory_grow_table(m)) return diag_no_memory(d);
    memory_block *b = memory_from_bins(m, size > memory_small, size);
    if (!b) {
        CUresult r = memory_new_segment(c, size, &b);
        if (r == CUDA_ERROR_OUT_OF_MEMORY) return memory_exhausted(c, d, nbytes);
        if (r != CUDA_SUCCESS) return cuda_fail(c, d, r, "cuMemAlloc");
        memory_split(m, b, size);
    }
    m->stats.allocations++;
    memory_hand_out(m, b);
    *out = (void *)(uintptr_t)b->start;
    return CTSC_OK;
}

bool memory_give_back(cuda *c, void *p) {
    memory_block *b = memory_take_back(&c->memory, (CUdeviceptr)(uintptr_t)p);
    if (b) memory_release(&c->memory, b);
    return b != NULL;
}

ctsc_status cuda_alloc(cuda *c, diag *d, size_t nbytes, void **out) {
    if (nbytes == 0) {
        *out = NULL;
        return CTSC_OK;
    }
    if (cuda_capturing) return cuda_capture_alloc(c, d, nbytes, out);
    TRY(cuda_lock(c, d));
    ctsc_status st = memory_get(c, d, nbytes, out);
    cuda_unlock(c);
    return st;
}

void cuda_free(cuda *c, void *p) {
    if (!p || (cuda_capturing && cuda_capture_release(p))) return;
    /* Not cuda_lock: a device of no use gets its memory back, too. */
    pthread_mutex_lock(&c->lock);
    bool was = memory_give_back(c, p);
    if (was && c->memory.direct && c->driver->cuCtxSetCurrent(c->context) == CUDA_SUCCESS)
        memory_flush(c);
    pthread_mutex_unlock(&c->lock);
}

cuda_memory_stats cuda_get_memory_stats(cuda *c) {
    pthread_mutex_lock(&c->lock);
    cuda_memory_stats s = c->memory.stats;
    pthread_mutex_unlock(&c->lock);
    return s;
}

void cuda_reset_peaks(cuda *c) {
    pthread_mutex_lock(&c->lock);
    c->memory.stats.peak_live = c->memory.stats.live;
    c->memory.stats.peak_reserved = c->memory.stats.reserved;
    pthread_mutex_unlock(&c->lock);
}

void cuda_set_memory_limit(cuda *c, size_t nbytes) {
    pthread_mutex_lock(&c->lock);
    c->memory.limit = nbytes;
    pthread_mutex_unlock(&c->lock);
}

void cuda_empty_cache(cuda *c) {
    if (cuda_lock(c, NULL) != CTSC_OK) return;
    memory_flush(c);
    cuda_unlock(c);
}
