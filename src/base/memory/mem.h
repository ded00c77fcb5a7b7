/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mem.h - every byte the library allocates passes through here.
 *
 * One realloc-shaped callback serves all of it, so that a test can make the n-th
 * allocation fail and a program can supply its own allocator. The arena is built on top
 * of it: memory that is freed wholesale, for the AST, the graphs and the type tables.
 *
 * Ownership: mem_* memory is freed by mem_free; arena memory dies with arena_free.
 */
#ifndef CTSC_BASE_MEM_H
#define CTSC_BASE_MEM_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns `p` moved to a block of `size` bytes (p == NULL: a new block; size == 0: frees p and
 * returns NULL). NULL for size > 0 means that there is no memory and `p` is as it was. The result
 * is aligned to 16 bytes. Must be callable from any thread. */
typedef void *(*mem_hook)(void *ctx, void *p, size_t size);

/* Pointers of a thread's own that every call reads: found without a call, from within the shared
 * library too. For few: the room for such variables is set aside when a program starts. */
#ifdef CTSC_RT /* programs compiled ahead of time: none is ever set there */
#define MEM_THREAD_LOCAL
#else
#define MEM_THREAD_LOCAL _Thread_local __attribute__((tls_model("initial-exec")))
#endif

/* Replaces the allocator of the whole process; NULL restores malloc's. Only while nothing
 * allocated through the old one is alive. */
void mem_set_hook(mem_hook hook, void *ctx);

void *mem_alloc(size_t size);           /* NULL on failure; size 0 gives a unique block */
void *mem_zalloc(size_t size);          /* the same, zeroed */
void *mem_resize(void *p, size_t size); /* NULL on failure, p still valid then */
void mem_free(void *p);                 /* p may be NULL */

/* Memory whose size is known when it is freed. Much of it comes from the system directly and goes
 * back there at once: among small blocks it would leave holes that are as large, which nobody gives
 * back. Of a replaced allocator it is ordinary memory. */
void *mem_alloc_pages(size_t size); /* aligned as mem_alloc's; NULL on failure */
void mem_free_pages(void *p, size_t size);
/* Whether a block of that size comes from the system directly. */
bool mem_is_pages(size_t size);

/* A bound on the memory that one thread may take while it runs a program: what it allocates counts,
 * what it frees is given back, and an allocation that goes over the bound fails. Only the default
 * allocator tells the size of what is freed; with another one nothing counts. */
typedef struct mem_budget {
    int64_t left;
    bool zeroed; /* new blocks are (base/memory/unbacked.h) */
    /* Told of each block that the thread takes (given; size: as it was asked for) and gives back
     * (freed), of the default allocator; NULL: nobody is. For tools that plan memory. */
    void (*seen)(struct mem_budget *b, const void *freed, const void *given, size_t size);
} mem_budget;
/* Makes b (or none: NULL) the calling thread's; returns what was it before. */
mem_budget *mem_budget_use(mem_budget *b);
/* Makes a budget the thread's that was its before: its limit is what it was. */
void mem_budget_restore(mem_budget *b);
bool mem_is_bounded(void); /* the calling thread has one */
/* Counts memory that was there already; false: that would go over the bound. Back by
 * mem_budget_give. */
bool mem_budget_take(size_t size);
void mem_budget_give(size_t size);
char *mem_strdup(const char *s);
char *mem_strndup(const char *s, size_t len);

/* a*b and a+b into *out; false (out untouched) on overflow. */
static inline bool size_mul(size_t a, size_t b, size_t *out) {
    size_t r;
    if (__builtin_mul_overflow(a, b, &r)) return false;
    *out = r;
    return true;
}
static inline bool size_add(size_t a, size_t b, size_t *out) {
    size_t r;
    if (__builtin_add_overflow(a, b, &r)) return false;
    *out = r;
    return true;
}

/*
 * Arena. An allocation of at most ARENA_SMALL bytes never returns NULL: when memory runs out
 * the arena sets `failed` and serves from a reserve it took at the start (wrapping around in
 * it when that is used up: contents become garbage, but stay inside the reserve). Code that
 * builds things in an arena therefore needs no check per allocation, only a look at
 * arena_failed() at each statement, node or other step of bounded size, and gives up there.
 * Larger requests can return NULL.
 */
enum { ARENA_SMALL = 4096 };

typedef struct arena {
    struct arena_chunk *chunks; /* newest first */
    char *next, *end;           /* free part of the newest chunk */
    char *reserve;              /* what serves after a failure */
    size_t reserve_used;
    size_t total; /* bytes handed out, for limits */
    bool failed;
} arena;

bool arena_init(arena *a); /* false: out of memory (the arena is then usable by arena_free alone) */
void arena_free(arena *a);
/* Makes room, so that the next `size` bytes of small allocations cannot fail. False (and
 * arena_failed) without memory. Pages that are not used afterwards cost nothing. */
bool arena_ensure(arena *a, size_t size);
void *arena_alloc(arena *a, size_t size); /* zeroed, 16-byte aligned */
/* A block of new_size bytes that begins with the old_size bytes at p; p itself is abandoned. */
void *arena_grow(arena *a, const void *p, size_t old_size, size_t new_size);
char *arena_strdup(arena *a, const char *s);
char *arena_strndup(arena *a, const char *s, size_t len);
char *arena_printf(arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static inline bool arena_failed(const arena *a) { return a->failed; }
#define arena_new(a, T) ((T *)arena_alloc((a), sizeof(T)))
#define arena_array(a, T, n) ((T *)arena_alloc((a), sizeof(T) * (size_t)(n)))

/* Is this a build with a sanitizer that looks at memory? What is used again without the allocator's
 * knowing hides mistakes from it. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = 1 };
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif
#else
enum { SANITIZED = 0 };
#endif

#endif
