/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mem.c - the one door to the allocator, and the arena.
 *
 * Invariants: an arena that was initialised always has its reserve, so a small allocation never
 * fails; the last bytes of the reserve are never handed out and stay zero, so that a string that
 * was overwritten by a later one still ends inside the reserve.
 * Tests: tests/unit/test_base.c
 */
#include "base/memory/mem.h"

#include "base/memory/available.h"
#include "base/memory/refusal.h"

#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Under a sanitizer: sizes come from files and programs, so one that is too large is an error to
 * report, not a bug. These are found by the sanitizers' runtimes; nobody else calls them. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#elif __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MEM_SANITIZER_OPTIONS(name)                                                                \
    const char *name(void);                                                                        \
    __attribute__((visibility("default"))) const char *name(void) {                                \
        return "allocator_may_return_null=1";                                                      \
    }
MEM_SANITIZER_OPTIONS(__asan_default_options)
MEM_SANITIZER_OPTIONS(__tsan_default_options)
#endif

/* Under AddressSanitizer, arena memory that is not handed out is poisoned, with a gap after each
 * block, so that a write past a block is detected even if it stays inside the arena's memory. */
#if defined(__SANITIZE_ADDRESS__)
void __asan_poison_memory_region(void const volatile *addr, size_t size);
void __asan_unpoison_memory_region(void const volatile *addr, size_t size);
enum { ARENA_GAP = 16 };
#define ARENA_POISON(p, n) __asan_poison_memory_region(p, n)
#define ARENA_UNPOISON(p, n) __asan_unpoison_memory_region(p, n)
#else
enum { ARENA_GAP = 0 };
#define ARENA_POISON(p, n) ((void)0)
#define ARENA_UNPOISON(p, n) ((void)0)
#endif

/* ---- the allocator --------------------------------------------------------------------------- */

static void *mem_default_hook(void *ctx, void *p, size_t size) {
    (void)ctx;
    if (size == 0) {
        free(p);
        return NULL;
    }
    return realloc(p, size);
}

static mem_hook mem_current = mem_default_hook;
static void *mem_current_ctx;

void mem_set_hook(mem_hook hook, void *ctx) {
    mem_current = hook ? hook : mem_default_hook;
    mem_current_ctx = hook ? ctx : NULL;
}

/* ---- budgets --------------------------------------------------------------------------------- */

static MEM_THREAD_LOCAL mem_budget *mem_thread_budget;
/* Seldom looked at, so of no special model. */
static _Thread_local mem_refusal mem_refused;
static _Thread_local int64_t mem_thread_limit; /* what the budget had when it became the thread's */

mem_refusal mem_last_refusal(void) { return mem_refused; }

void mem_forget_refusal(void) { mem_refused = (mem_refusal){0}; }

/* Remembers it; false. */
static __attribute__((noinline, cold)) bool mem_refuse(size_t size, bool bounded) {
    const mem_budget *b = mem_thread_budget;
    mem_refused = (mem_refusal){size, bounded, bounded ? b->left : 0,
                                bounded ? mem_thread_limit : 0, -1};
    return false;
}

enum {
    MEM_COUNTED = 4 << 10, /* smaller blocks do not count towards the next question */
    MEM_LAST = 256 << 20   /* what such a question leaves: it comes after memory was used */
};

/* What the thread took since its last question, whatever it gave back. */
static MEM_THREAD_LOCAL size_t mem_since;

/* Has the machine that much? */
static __attribute__((noinline, cold)) bool mem_ask(size_t size) {
    int64_t available = available_memory(size < AVAILABLE_ASKED ? MEM_LAST : INT64_MAX);
    mem_since = 0;
    if (size <= PTRDIFF_MAX && (int64_t)size <= available) return true;
    mem_refused = (mem_refusal){.size = size, .available = available};
    return false;
}

/* Asked of large blocks, and of small ones now and then: a program that keeps what it makes is told
 * that there is no more before the system ends it. */
static inline bool mem_is_there(size_t size) {
    if (size < MEM_COUNTED) return true;
    return (size < AVAILABLE_ASKED && (mem_since += size) < AVAILABLE_ASKED) || mem_ask(size);
}

mem_budget *mem_budget_use(mem_budget *b) {
    mem_budget *before = mem_thread_budget;
    mem_thread_budget = b;
    if (b) mem_thread_limit = b->left;
    return before;
}

void mem_budget_restore(mem_budget *b) { mem_thread_budget = b; }

bool mem_is_bounded(void) { return mem_thread_budget != NULL; }

bool mem_budget_take(size_t size) {
    mem_budget *b = mem_thread_budget;
    if (!b) return true;
    if (size > PTRDIFF_MAX || (int64_t)size > b->left) return mem_refuse(size, true);
    b->left -= (int64_t)size;
    return true;
}

void mem_budget_give(size_t size) {
    if (mem_thread_budget) mem_thread_budget->left += (int64_t)size;
}

/* Whether the thread may take `size` bytes in place of those at p; counted at once, so that an
 * allocation that fails has to be refunded. */
static bool mem_charge(const void *p, size_t size) {
    mem_budget *b = mem_thread_budget;
    if (!b || mem_current != mem_default_hook) return true;
    int64_t more = (int64_t)size - (int64_t)malloc_usable_size((void *)p);
    if (more > 0 && more > b->left) return mem_refuse(size, true);
    b->left -= more;
    return true;
}

/* What the allocator gave is a little more than what was asked for, and what it
 * refused is nothing. */
static void mem_reconcile(const void *p, size_t size) {
    mem_budget *b = mem_thread_budget;
    if (b && mem_current == mem_default_hook)
        b->left += (int64_t)size - (int64_t)malloc_usable_size((void *)p);
}

/* Tells who watches the thread's blocks. */
static inline void *mem_seen(const void *freed, void *given, size_t size) {
    mem_budget *b = mem_thread_budget;
    if (__builtin_expect(b && b->seen, 0)) b->seen(b, freed, given, size);
    return given;
}

/* Nobody counts, and the allocator is malloc's. */
static inline bool mem_is_plain(void) {
    return mem_current == mem_default_hook && !mem_thread_budget;
}

/* What the allocator gave. */
static inline void *mem_given(void *p, size_t size) {
    if (__builtin_expect(!p, 0)) mem_refuse(size, false);
    return p;
}

void *mem_alloc(size_t size) {
    if (!mem_is_plain()) return mem_resize(NULL, size);
    return mem_is_there(size) ? mem_given(malloc(size ? size : 1), size) : NULL;
}

static void *mem_default_zalloc(size_t size) {
    if (size > PTRDIFF_MAX) return mem_given(NULL, size);
    if (!mem_is_there(size) || !mem_charge(NULL, size)) return NULL;
    void *p = mem_given(calloc(1, size ? size : 1), size);
    mem_reconcile(p, size);
    return p ? mem_seen(NULL, p, size) : NULL;
}

void *mem_zalloc(size_t size) {
    /* calloc gets large blocks from the system as zeros that cost nothing until they are touched */
    if (mem_current == mem_default_hook) return mem_default_zalloc(size);
    void *p = mem_alloc(size);
    if (p) memset(p, 0, size);
    return p;
}

void *mem_resize(void *p, size_t size) {
    if (size > PTRDIFF_MAX) return mem_given(NULL, size);
    if (mem_current == mem_default_hook && size >= MEM_COUNTED) { /* what it has it keeps */
        size_t has = malloc_usable_size(p);
        if (has < size && !mem_is_there(size - has)) return NULL;
    }
    if (mem_thread_budget && mem_thread_budget->zeroed && !p && mem_current == mem_default_hook)
        return mem_default_zalloc(size);
    if (mem_thread_budget && !mem_charge(p, size)) return NULL;
    void *q = mem_given(mem_current(mem_current_ctx, p, size ? size : 1), size);
    if (mem_thread_budget) mem_reconcile(q ? q : p, size);
    return q ? mem_seen(p, q, size) : NULL;
}

void mem_free(void *p) {
    if (mem_is_plain()) {
        free(p);
        return;
    }
    if (!p) return;
    if (mem_thread_budget) mem_charge(p, 0);
    mem_seen(p, NULL, 0);
    mem_current(mem_current_ctx, p, 0);
}

/* ---- pages ----------------------------------------------------------------------------------- */

/* Bounds of blocks are seen by a sanitizer if they are malloc's. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { MEM_PAGES = INT32_MAX };
#else
enum { MEM_PAGES = 256 << 10 }; /* from here on; malloc has a similar bound, until it was reached */
#endif

bool mem_is_pages(size_t size) { return size >= MEM_PAGES && mem_current == mem_default_hook; }

void *mem_alloc_pages(size_t size) {
    if (!mem_is_pages(size)) return mem_alloc(size);
    if (!mem_is_there(size) || !mem_budget_take(size)) return NULL;
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p != MAP_FAILED) return mem_seen(NULL, p, size);
    mem_budget_give(size);
    return mem_given(NULL, size);
}

void mem_free_pages(void *p, size_t size) {
    if (!p || !mem_is_pages(size)) {
        mem_free(p);
        return;
    }
    mem_budget_give(size);
    mem_seen(p, NULL, 0);
    (void)munmap(p, size);
}

char *mem_strdup(const char *s) { return mem_strndup(s, strlen(s)); }

char *mem_strndup(const char *s, size_t len) {
    size_t size;
    if (!size_add(len, 1, &size)) return NULL;
    char *p = mem_alloc(size);
    if (!p) return NULL;
    if (len) memcpy(p, s, len);
    p[len] = '\0';
    return p;
}

/* ---- arena ----------------------------------------------------------------------------------- */

enum {
    ARENA_ALIGN = 16,
    ARENA_FIRST_CHUNK = 16 * 1024,
    ARENA_LARGEST_CHUNK = 1024 * 1024,
    ARENA_RESERVE = 2 * ARENA_SMALL,
    ARENA_COMMON_RESERVE = 1024 * 1024,
};

typedef struct arena_chunk {
    struct arena_chunk *older;
    size_t size; /* of the part after this header */
} arena_chunk;

_Static_assert(sizeof(arena_chunk) % ARENA_ALIGN == 0, "chunk data stays aligned");

/* What arenas go on with after a failure, as long as it lasts: of a longer step nothing is
 * overwritten then. Untouched pages of it cost nothing. */
static struct {
    pthread_mutex_t lock;
    size_t used;
    long arenas; /* that still use what they were given; the last one gives everything back */
    _Alignas(ARENA_ALIGN) char bytes[ARENA_COMMON_RESERVE];
} arena_common = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* An arena's own, for when that is used up. */
typedef struct arena_reserve {
    bool in_common; /* the arena counts in arena_common.arenas */
    _Alignas(ARENA_ALIGN) char bytes[ARENA_RESERVE + ARENA_ALIGN];
} arena_reserve;

static arena_reserve *arena_reserve_of(const arena *a) {
    return (arena_reserve *)(void *)a->reserve;
}

/* NULL: it is used up. */
static void *arena_from_common(arena_reserve *r, size_t size) {
    void *p = NULL;
    pthread_mutex_lock(&arena_common.lock);
    if (!r->in_common) arena_common.arenas++;
    r->in_common = true;
    if (size <= ARENA_COMMON_RESERVE - arena_common.used) {
        p = arena_common.bytes + arena_common.used;
        arena_common.used += size;
    }
    pthread_mutex_unlock(&arena_common.lock);
    return p;
}

static void arena_leave_common(const arena_reserve *r) {
    if (!r || !r->in_common) return;
    pthread_mutex_lock(&arena_common.lock);
    if (--arena_common.arenas == 0) arena_common.used = 0;
    pthread_mutex_unlock(&arena_common.lock);
}

bool arena_init(arena *a) {
    arena_reserve *r = mem_alloc(sizeof *r);
    *a = (arena){.reserve = (char *)r, .failed = !r};
    if (!r) return false;
    r->in_common = false;
    /* the rest is as a rule never touched, which spares its page faults */
    memset(r->bytes + ARENA_RESERVE, 0, ARENA_ALIGN);
    return true;
}

void arena_free(arena *a) {
    for (arena_chunk *c = a->chunks; c;) {
        arena_chunk *older = c->older;
        ARENA_UNPOISON(c + 1, c->size);
        mem_free(c);
        c = older;
    }
    arena_leave_common(arena_reserve_of(a));
    mem_free(a->reserve);
    *a = (arena){0};
}

/* Serves after a failure; NULL when the request is too large for that. */
static void *arena_from_reserve(arena *a, size_t size) {
    a->failed = true;
    if (size > ARENA_SMALL || !a->reserve) return NULL;
    arena_reserve *r = arena_reserve_of(a);
    void *p = arena_from_common(r, size);
    if (p) return memset(p, 0, size);
    if (size > ARENA_RESERVE - a->reserve_used) a->reserve_used = 0;
    p = r->bytes + a->reserve_used;
    a->reserve_used += size;
    return memset(p, 0, size);
}

/* Adds a chunk with room for `size` bytes and makes it the current one. A request that is
 * large next to the current chunk gets its own chunk, linked after it and returned in *own. */
static bool arena_add_chunk(arena *a, size_t size, void **own) {
    size_t room = a->chunks ? a->chunks->size * 2 : ARENA_FIRST_CHUNK;
    if (room > ARENA_LARGEST_CHUNK) room = ARENA_LARGEST_CHUNK;
    bool separate = a->chunks && size > room / 4;
    if (separate || room < size) room = size;
    size_t bytes;
    if (!size_add(room, sizeof(arena_chunk), &bytes)) return false;
    arena_chunk *c = mem_alloc(bytes);
    if (!c) return false;
    c->size = room;
    ARENA_POISON(c + 1, room);
    if (separate) {
        c->older = a->chunks->older;
        a->chunks->older = c;
        *own = c + 1;
        return true;
    }
    c->older = a->chunks;
    a->chunks = c;
    a->next = (char *)(c + 1);
    a->end = a->next + room;
    return true;
}

bool arena_ensure(arena *a, size_t size) {
    if (a->failed || (size_t)(a->end - a->next) >= size) return !a->failed;
    size_t bytes;
    arena_chunk *c = size_add(size, sizeof *c, &bytes) ? mem_alloc(bytes) : NULL;
    if (!c) {
        a->failed = true;
        return false;
    }
    *c = (arena_chunk){.older = a->chunks, .size = size};
    ARENA_POISON(c + 1, size);
    a->chunks = c;
    a->next = (char *)(c + 1);
    a->end = a->next + size;
    return true;
}

void *arena_alloc(arena *a, size_t size) {
    size_t rounded;
    size += size == 0;
    if (!size_add(size, ARENA_ALIGN - 1 + ARENA_GAP, &rounded)) return arena_from_reserve(a, size);
    rounded &= ~(size_t)(ARENA_ALIGN - 1);
    if (a->failed) return arena_from_reserve(a, rounded - ARENA_GAP);
    void *p = NULL;
    if (rounded > (size_t)(a->end - a->next) && !arena_add_chunk(a, rounded, &p))
        return arena_from_reserve(a, rounded - ARENA_GAP);
    if (!p) {
        p = a->next;
        a->next += rounded;
    }
    a->total += rounded;
    ARENA_UNPOISON(p, size);
    return memset(p, 0, size);
}

void *arena_grow(arena *a, const void *p, size_t old_size, size_t new_size) {
    void *q = arena_alloc(a, new_size);
    /* memmove: after a failure both blocks may be in the reserve. */
    if (q && p && old_size) memmove(q, p, old_size < new_size ? old_size : new_size);
    return q;
}

char *arena_strdup(arena *a, const char *s) { return arena_strndup(a, s, strlen(s)); }

char *arena_strndup(arena *a, const char *s, size_t len) {
    size_t size;
    if (!size_add(len, 1, &size)) size = SIZE_MAX;
    char *p = arena_alloc(a, size);
    if (p && len) memmove(p, s, len);
    if (p) p[len] = '\0';
    return p;
}

char *arena_printf(arena *a, const char *fmt, ...) {
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int len = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    char *p = len < 0 ? arena_strdup(a, "") : arena_alloc(a, (size_t)len + 1);
    if (p && len > 0) vsnprintf(p, (size_t)len + 1, fmt, again);
    va_end(again);
    return p;
}
