/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block_plan.c - sequences of requests, and the placement of their blocks.
 *
 *     requests of a call, by size        places
 *        a |#####..|  12                  0 ....... 12 .... 18
 *        c |...####|  12                  [a     ] [b   ]       a and c do not live at a time
 *        b |..###..|   6                  [c     ] [b   ]
 *
 * Method: greedy by size (Pisarchyk and Lee 2020, "Efficient Memory Management for Deep Neural Net
 * Inference", section 5.2): the largest request first, each into the smallest gap between the
 * places of those that live while it does. On the networks of `make bench-nets` that is at most a
 * fifth, as a rule nothing, above the largest sum that lives at a time; first fit while the call
 * runs was up to 1.5 times that, and lists by size 2 to 8 times (densenet121: 8.0, 9.8 and 68 MiB).
 *
 * Several plans are kept, for methods and shapes that take turns; they share the slab. A plan is
 * chosen by the size of the call's first large request. What has no place in a plan, as all
 * requests of a call with new shapes, gets the best gap that there is at the time.
 *
 * Invariants: a bit of slab.used is set while a block is live in its slot; slab.holders counts
 * these and the owner, and the last one to go frees the slab. Slots are filled by the owner's
 * thread before their bit is set, and no two slots in use overlap: a plan ensures that as long as
 * the call keeps to it and nothing else is live in the slab, else the code that takes a place does.
 */
#include "base/memory/block_plan.h"

#include "base/memory/mem.h"
#include "base/memory/pages.h"
#include "base/memory/vec.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    PLAN_KEPT = 4,
    PLAN_MOST = 2048, /* requests; calls with more are not planned */
    PLAN_WORDS = 16,
    PLAN_SLOTS = 64 * PLAN_WORDS,
    PLAN_FEW = 64, /* living blocks between which a gap is looked for */
    PLAN_ALIGN = 64,
    PLAN_LATEST = 32 /* calls after which the slab may shrink */
};
#define PLAN_NOWHERE SIZE_MAX

typedef struct plan_item { size_t from, to; } plan_item;

typedef struct plan_slab {
    _Atomic uint32_t holders;
    _Atomic uint64_t used[PLAN_WORDS];
    char *memory;
    size_t size;
    plan_item slots[PLAN_SLOTS];
} plan_slab;

/* Points of time are counted by requests and returns. end 0: it outlived the call. */
typedef struct plan_request { size_t size; uint32_t begin, end; } plan_request;
typedef VEC(plan_request) plan_sequence;
typedef struct plan {
    plan_sequence requests;
    size_t *offsets; /* PLAN_NOWHERE: an ordinary block */
    size_t size;
    uint64_t chosen; /* the last call that was to keep to it */
} plan;

struct planner {
    plan_sequence now, before;
    uint64_t serial, call; /* unique in this process; call 0: there is none */
    uint32_t calls;
    uint32_t time;
    bool lost;         /* more requests than are written down */
    size_t live, peak; /* without blocks known to outlive this call */
    plan plans[PLAN_KEPT];
    plan *current; /* NULL: none fits */
    bool kept_to;  /* by this call so far, and nothing else was in the slab when it began */
    plan_slab *slab;
    /* what the slab had to have for the latest calls, and for those before them */
    size_t need, need_before;
    int calls_needed; /* the latest ones */
};

planner *planner_new(void) {
    static _Atomic uint64_t planners;
    planner *p = mem_zalloc(sizeof *p);
    if (p) p->serial = atomic_fetch_add_explicit(&planners, 1, memory_order_relaxed) + 1;
    return p;
}

/* ---- gaps ------------------------------------------------------------------------------------ */

static int plan_by_place(const void *a, const void *b) {
    const plan_item *x = a, *y = b;
    return (x->from > y->from) - (x->from < y->from);
}

/* The smallest gap between the n blocks that fits `size`; after them if there is none. */
static size_t plan_gap(plan_item *beside, size_t n, size_t size) {
    size_t at = 0, best = PLAN_NOWHERE, best_gap = SIZE_MAX;
    qsort(beside, n, sizeof *beside, plan_by_place);
    for (size_t i = 0; i < n; i++) {
        if (beside[i].from > at && beside[i].from - at >= size && beside[i].from - at < best_gap)
            best = at, best_gap = beside[i].from - at;
        if (beside[i].to > at) at = beside[i].to;
    }
    return best == PLAN_NOWHERE ? at : best;
}

/* ---- the slab -------------------------------------------------------------------------------- */

static void slab_leave(plan_slab *a) {
    if (atomic_fetch_sub_explicit(&a->holders, 1, memory_order_acq_rel) != 1) return;
    mem_free_pages(a->memory, a->size);
    mem_free(a);
}

static void slab_give(plan_slab *a, unsigned slot) {
    (void)atomic_fetch_and_explicit(&a->used[slot / 64], ~((uint64_t)1 << slot % 64),
                                    memory_order_release);
    slab_leave(a);
}

static plan_slab *slab_new(size_t size) {
    plan_slab *a = mem_zalloc(sizeof *a);
    if (a) a->memory = mem_alloc_pages(a->size = size);
    if (a && !a->memory) {
        mem_free(a);
        a = NULL;
    }
    if (!a) return NULL;
    atomic_init(&a->holders, 1);
    pages_prefer_large(a->memory, size);
    return a;
}

/* What lives in the slab: PLAN_FEW at most go to `lives`. */
static size_t slab_living(plan_slab *a, plan_item *lives) {
    size_t n = 0;
    for (int w = 0; w < PLAN_WORDS; w++) {
        uint64_t left = atomic_load_explicit(&a->used[w], memory_order_acquire);
        for (; left; left &= left - 1, n++)
            if (n < PLAN_FEW) lives[n] = a->slots[w * 64 + __builtin_ctzll(left)];
    }
    return n;
}

static bool slab_is_free(plan_slab *a, size_t from, size_t to) {
    for (int w = 0; w < PLAN_WORDS; w++) {
        uint64_t left = atomic_load_explicit(&a->used[w], memory_order_acquire);
        for (; left; left &= left - 1) {
            const plan_item *lives = &a->slots[w * 64 + __builtin_ctzll(left)];
            if (from < lives->to && lives->from < to) return false;
        }
    }
    return true;
}

/* The slot that then is in use for what nothing else is in; PLAN_SLOTS: there is none. */
static unsigned slab_take(plan_slab *a, size_t from, size_t to) {
    for (unsigned w = 0; w < PLAN_WORDS; w++) {
        uint64_t used = atomic_load_explicit(&a->used[w], memory_order_acquire);
        if (used == UINT64_MAX) continue;
        unsigned bit = (unsigned)__builtin_ctzll(~used), slot = w * 64 + bit;
        a->slots[slot].from = from;
        a->slots[slot].to = to;
        (void)atomic_fetch_add_explicit(&a->holders, 1, memory_order_relaxed);
        (void)atomic_fetch_or_explicit(&a->used[w], (uint64_t)1 << bit, memory_order_relaxed);
        return slot;
    }
    return PLAN_SLOTS;
}

/* The same, where there is room. */
static unsigned slab_place(plan_slab *a, size_t size) {
    plan_item lives[PLAN_FEW];
    size_t n = slab_living(a, lives);
    if (n > PLAN_FEW) return PLAN_SLOTS;
    size_t at = plan_gap(lives, n, size);
    return at <= a->size && size <= a->size - at ? slab_take(a, at, at + size) : PLAN_SLOTS;
}

/* ---- a plan ---------------------------------------------------------------------------------- */

static bool sequence_same(const plan_sequence *a, const plan_sequence *b) {
    if (a->len != b->len) return false;
    for (size_t i = 0; i < a->len; i++)
        if (a->data[i].size != b->data[i].size || a->data[i].begin != b->data[i].begin ||
            a->data[i].end != b->data[i].end)
            return false;
    return true;
}

/* Largest first; of equals the earlier. */
typedef struct plan_order { size_t size; uint32_t request; } plan_order;
static int plan_by_size(const void *a, const void *b) {
    const plan_order *x = a, *y = b;
    if (x->size != y->size) return x->size < y->size ? 1 : -1;
    return (x->request > y->request) - (x->request < y->request);
}

/* Fills in offsets and size, which is 0 where everything
 * outlives the call; false if out of memory. */
static bool plan_lay(plan *p) {
    size_t n = p->requests.len;
    const plan_request *r = p->requests.data;
    plan_order *order = mem_alloc(n * (sizeof *order + sizeof(plan_item)));
    size_t *offsets = mem_alloc(n * sizeof *offsets);
    plan_item *beside = order ? (plan_item *)(void *)(order + n) : NULL;
    if (!order || !offsets) {
        mem_free(order);
        mem_free(offsets);
        return false;
    }
    p->size = 0;
    for (size_t i = 0; i < n; i++) {
        offsets[i] = PLAN_NOWHERE;
        order[i] = (plan_order){r[i].size, (uint32_t)i};
    }
    qsort(order, n, sizeof *order, plan_by_size);
    for (size_t i = 0; i < n; i++) {
        const plan_request *x = &r[order[i].request];
        if (!x->end) continue;
        size_t lives = 0;
        for (size_t k = 0; k < i; k++) {
            const plan_request *y = &r[order[k].request];
            size_t at = offsets[order[k].request];
            if (at != PLAN_NOWHERE && x->begin < y->end && y->begin < x->end)
                beside[lives++] = (plan_item){at, at + y->size};
        }
        size_t at = plan_gap(beside, lives, x->size);
        offsets[order[i].request] = at;
        if (at + x->size > p->size) p->size = at + x->size;
    }
    mem_free(order);
    mem_free(p->offsets);
    p->offsets = offsets;
    return true;
}

static void plan_clear(plan *p) {
    vec_free(&p->requests);
    mem_free(p->offsets);
    *p = (plan){0};
}

void planner_free(planner *p) {
    if (!p) return;
    for (int i = 0; i < PLAN_KEPT; i++) plan_clear(&p->plans[i]);
    if (p->slab) slab_leave(p->slab);
    vec_free(&p->now);
    vec_free(&p->before);
    mem_free(p);
}

size_t planner_slab(const planner *p) { return p->slab ? p->slab->size : 0; }

/* ---- calls ----------------------------------------------------------------------------------- */

void planner_begin(planner *p) {
    p->call = p->serial << 32 | ++p->calls;
    p->time = 0;
    p->now.len = 0;
    p->live = p->peak = 0;
    p->lost = p->kept_to = false;
    p->current = NULL;
}

/* The latest whose first request is of the size. */
static void planner_choose(planner *p, size_t first) {
    for (int i = 0; i < PLAN_KEPT; i++) {
        plan *k = &p->plans[i];
        if (k->offsets && k->requests.data[0].size == first &&
            (!p->current || k->chosen > p->current->chosen))
            p->current = k;
    }
    if (p->current) p->current->chosen = p->call;
    p->kept_to = p->current && p->slab &&
                 atomic_load_explicit(&p->slab->holders, memory_order_acquire) == 1;
}

/* Writes a request down; false: there are too many. */
static bool planner_note(planner *p, size_t size, plan_mark *m) {
    *m = (plan_mark){.call = p->call, .request = (uint32_t)p->now.len};
    if (!p->lost && p->now.len < PLAN_MOST &&
        vec_push(&p->now, ((plan_request){size, ++p->time, 0})))
        return true;
    p->lost = true;
    m->call = 0;
    return false;
}

/* Where the plan has the request; PLAN_SLOTS: nowhere. What a plan does not know may be as it was
 * in the call before. */
static unsigned planner_planned(planner *p, size_t size, plan_mark *m) {
    const plan *k = p->current;
    uint32_t i = m->request;
    if (k && i < k->requests.len && k->requests.data[i].size == size) {
        size_t at = k->offsets[i];
        m->outlives = at == PLAN_NOWHERE;
        p->kept_to &= k->requests.data[i].begin == p->time;
        return !m->outlives && p->slab && at + size <= p->slab->size &&
                       (p->kept_to || slab_is_free(p->slab, at, at + size))
                   ? slab_take(p->slab, at, at + size)
                   : PLAN_SLOTS;
    }
    p->kept_to = false;
    m->outlives = i < p->before.len && !p->before.data[i].end;
    return PLAN_SLOTS;
}

void *planner_take(planner *p, size_t bytes, plan_mark *m) {
    size_t size = (bytes + PLAN_ALIGN - 1) & ~(size_t)(PLAN_ALIGN - 1);
    unsigned slot = PLAN_SLOTS;
    if (planner_note(p, size, m)) {
        if (m->request == 0) planner_choose(p, size);
        slot = planner_planned(p, size, m);
        if (!m->outlives && (p->live += size) > p->peak) p->peak = p->live;
    }
    if (slot == PLAN_SLOTS && !m->outlives && p->slab) {
        p->kept_to = false;
        slot = slab_place(p->slab, size);
    }
    if (slot == PLAN_SLOTS) return NULL;
    m->slot = (uint16_t)slot;
    m->slab = p->slab;
    return p->slab->memory + p->slab->slots[slot].from;
}

bool planner_give(planner *p, const plan_mark *m) {
    if (p && m->call && m->call == p->call) {
        plan_request *r = &p->now.data[m->request];
        r->end = ++p->time;
        if (!m->outlives) p->live -= r->size;
        p->kept_to = p->kept_to && m->request < p->current->requests.len &&
                     p->current->requests.data[m->request].end == r->end;
    }
    plan_slab *slab = m->slab; /* the mark may be in it */
    if (slab) slab_give(slab, m->slot);
    return slab != NULL;
}

/* The plan that a new one takes the place of: one that the call did not keep to, a free one, or the
 * one that was not chosen for longest. */
static plan *planner_victim(planner *p) {
    plan *oldest = p->current ? p->current : &p->plans[0];
    for (int i = 0; i < PLAN_KEPT && !p->current; i++)
        if (p->plans[i].chosen < oldest->chosen) oldest = &p->plans[i];
    return oldest;
}

/* The slab gets another size, at once or with the next call. One in which something unforeseen
 * still lives is left to that. */
static void planner_resize(planner *p, size_t size) {
    if (p->slab && p->slab->size == size) return;
    if (p->slab) slab_leave(p->slab);
    p->slab = size ? slab_new(size) : NULL;
}

/* As large as the latest calls needed it. It shrinks seldom, since fresh pages take time. */
static void planner_fit_slab(planner *p, size_t need) {
    bool shrink = ++p->calls_needed == PLAN_LATEST;
    if (need > p->need) p->need = need;
    size_t most = p->need > p->need_before ? p->need : p->need_before;
    if (!p->slab || most > p->slab->size || shrink) planner_resize(p, most);
    if (!shrink) return;
    p->need_before = p->need;
    p->need = 0;
    p->calls_needed = 0;
}

/* A plan for what was asked for in this call and the last one. */
static plan *planner_new_plan(planner *p) {
    plan *k = planner_victim(p);
    plan_clear(k);
    k->requests.data = p->before.data; /* `before` is the same */
    k->requests.len = p->before.len;
    k->requests.cap = p->before.cap;
    memset(&p->before, 0, sizeof p->before);
    k->chosen = p->call;
    if (plan_lay(k)) return k;
    plan_clear(k);
    return NULL;
}

bool planner_end(planner *p) {
    bool again = !p->lost && p->now.len && sequence_same(&p->now, &p->before);
    const plan *k = p->current && sequence_same(&p->now, &p->current->requests) ? p->current : NULL;
    bool fresh = again && !k;
    if (fresh) k = planner_new_plan(p);
    else {
        plan_sequence before = p->before;
        p->before = p->now;
        p->now = before;
    }
    p->call = 0;
    /* without a plan some gaps are lost */
    size_t need = k ? k->size : p->peak + p->peak / 4;
    bool grows = need > planner_slab(p);
    if (fresh && k && p->calls < PLAN_LATEST) { /* until now it was a guess */
        p->need = p->need_before = 0;
        for (int i = 0; i < PLAN_KEPT; i++)
            if (p->plans[i].offsets && p->plans[i].size > p->need) p->need = p->plans[i].size;
        planner_resize(p, p->need);
    }
    planner_fit_slab(p, need);
    return fresh || grows;
}
