/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_base.c - memory, pages, arenas, vectors, strings, maps, diagnostics and the thread pool.
 */
#include "base/clock.h"
#include "base/diag.h"
#include "base/map.h"
#include "base/memory/available.h"
#include "base/memory/pages.h"
#include "base/sorted.h"
#include "base/text/text.h"
#include "base/threads/limits.h"
#include "base/threads/thread_pool.h"
#include "base/threads/thread_steps.h"
#include "runtime/kernels/engine/slots.h"

#include <ctype.h>
#include <locale.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- an allocator that fails ----------------------------------------------------------------- */

typedef struct failing_allocator {
    long left; /* allocations until failure; then every one fails */
    long live; /* blocks alive */
} failing_allocator;

static void *failing_hook(void *ctx, void *p, size_t size) {
    failing_allocator *f = ctx;
    if (size == 0) {
        f->live--;
        free(p);
        return NULL;
    }
    if (f->left-- <= 0) return NULL;
    void *q = realloc(p, size);
    f->live += !p;
    return q;
}

/* Runs `body` with the n-th allocation failing, for every n until it succeeds; nothing may leak. */
static void with_failures(bool (*body)(void)) {
    for (long n = 0; n < 10000; n++) {
        failing_allocator f = {.left = n};
        mem_set_hook(failing_hook, &f);
        bool done = body();
        mem_set_hook(NULL, NULL);
        assert_int_equal(f.live, 0);
        if (done) return;
    }
    fail_msg("never succeeds");
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void test_mem(void **state) {
    (void)state;
    size_t r = 7;
    assert_false(size_mul(SIZE_MAX, 2, &r));
    assert_false(size_add(SIZE_MAX, 1, &r));
    assert_int_equal(r, 7);
    assert_null(mem_alloc(SIZE_MAX));
    void *a = mem_alloc(0), *b = mem_alloc(0);
    assert_non_null(a);
    assert_ptr_not_equal(a, b);
    mem_free(a);
    mem_free(b);
    char *s = mem_strndup("hello", 3);
    assert_string_equal(s, "hel");
    mem_free(s);
}

static void test_arena(void **state) {
    (void)state;
    arena a;
    assert_true(arena_init(&a));
    for (int i = 0; i < 5000; i++) {
        char *p = arena_alloc(&a, (size_t)(i % 300));
        assert_int_equal((uintptr_t)p % 16, 0);
        memset(p, 0xff, (size_t)(i % 300));
    }
    char *big = arena_alloc(&a, 5 << 20);
    assert_int_equal(big[(5 << 20) - 1], 0);
    int *grown = arena_grow(&a, (int[]){1, 2}, 8, 16);
    assert_int_equal(grown[1], 2);
    assert_int_equal(grown[3], 0);
    assert_string_equal(arena_printf(&a, "%s-%d", "x", 7), "x-7");
    assert_false(arena_failed(&a));
    arena_free(&a);
}

/* Small requests are served even without memory; large ones say so. */
static bool body_arena(void) {
    arena a;
    if (!arena_init(&a)) {
        arena_free(&a);
        return false;
    }
    interner in = {.a = &a};
    VEC(const char *) v = {0};
    for (int i = 0; i < 3000; i++) {
        char *p = arena_alloc(&a, ARENA_SMALL);
        assert_non_null(p);
        memset(p, 'x', ARENA_SMALL);
        char name[16];
        snprintf(name, sizeof name, "n%d", i % 100);
        const char *s = intern(&in, name);
        assert_non_null(s);
        (void)strlen(s); /* ends inside the reserve, whatever is left of it */
        bool pushed = avec_push(&a, &v, s);
        assert_true(pushed || arena_failed(&a));
        if (i > 200 && arena_failed(&a)) break;
    }
    bool ok = !arena_failed(&a);
    if (ok) {
        assert_int_equal(v.len, 3000);
        assert_ptr_equal(v.data[5], v.data[105]);
        assert_string_equal(v.data[105], "n5");
    }
    interner_free(&in);
    arena_free(&a);
    return ok;
}

static void test_arena_failures(void **state) {
    (void)state;
    with_failures(body_arena);
}

static bool body_containers(void) {
    VEC(int) v = {0};
    strbuf sb = STRBUF_INIT;
    strmap m = {0};
    ptrmap pm = {0};
    static int things[100];
    static char keys[100][16];
    bool ok = true;
    for (int i = 0; i < 100; i++) {
        ok = vec_push(&v, i) && ok;
        sb_printf(&sb, "%d,", i);
        snprintf(keys[i], sizeof keys[i], "k%d", i);
        ok = strmap_put(&m, keys[i], &things[i]) && ok;
        ok = ptrmap_put(&pm, &things[i], keys[i]) && ok;
    }
    char *text = sb_take(&sb);
    ok = text && ok;
    if (ok) {
        assert_int_equal(v.data[99], 99);
        assert_int_equal(strlen(text), 290);
        for (int i = 0; i < 100; i++) {
            assert_ptr_equal(strmap_get(&m, keys[i]), &things[i]);
            assert_ptr_equal(ptrmap_get(&pm, &things[i]), keys[i]);
        }
        assert_null(strmap_get(&m, "k100"));
        assert_null(ptrmap_get(&pm, &ok));
        strmap_put(&m, "k7", NULL);
        assert_null(strmap_get(&m, "k7"));
        assert_int_equal(m.used, 100);
    }
    mem_free(text);
    vec_free(&v);
    strmap_free(&m);
    ptrmap_free(&pm);
    return ok;
}

static void test_containers(void **state) {
    (void)state;
    with_failures(body_containers);
    strmap m = {0};
    assert_true(strmap_putn(&m, "a\0b", 3, &m));
    assert_true(strmap_putn(&m, "", 0, &m.cap));
    assert_null(strmap_get(&m, "a"));
    assert_ptr_equal(strmap_getn(&m, "a\0b", 3), &m);
    assert_ptr_equal(strmap_get(&m, ""), &m.cap);
    strmap_free(&m);
    assert_int_equal(hash_bytes("abcdefgh1", 9), hash_bytes("abcdefgh1", 9));
    assert_int_not_equal(hash_bytes("abcdefgh1", 9), hash_bytes("abcdefgh2", 9));
    assert_int_not_equal(hash_bytes("a\0", 2), hash_bytes("a", 1));
}

static void test_strbuf(void **state) {
    (void)state;
    strbuf sb = STRBUF_INIT;
    assert_string_equal(sb_str(&sb), "");
    sb_fill(&sb, 'a', 500);
    sb_printf(&sb, "%600d", 5);
    sb_putc(&sb, '!');
    assert_int_equal(sb.len, 1101);
    assert_string_equal(sb_str(&sb) + 1099, "5!");
    sb_clear(&sb);
    assert_string_equal(sb_str(&sb), "");
    char *s = sb_take(&sb);
    assert_string_equal(s, "");
    mem_free(s);
    s = sb_take(&sb);
    assert_string_equal(s, "");
    mem_free(s);
}

/* ---- diagnostics ----------------------------------------------------------------------------- */

static const char program[] = "def f(x):\n\ty = \"\xc3\xa9\" + x\n    return y\n";

/* The same texts in every locale there is here; where none has a comma, make
 * test-machines makes one. */
static void test_text(void **state) {
    (void)state;
    static const char *const locales[] = {"C", "de_DE.UTF-8", "de_DE.ISO-8859-1", "fr_FR.UTF-8",
                                          "tr_TR.UTF-8"};
    for (size_t i = 0; i < sizeof locales / sizeof *locales; i++) {
        if (!setlocale(LC_ALL, locales[i])) continue;
        char text[32], *end;
        strbuf sb = STRBUF_INIT;
        const char *number = "-1.5e3,5";
        assert_true(text_double(number, &end) == -1500);
        assert_string_equal(end, ",5");
        assert_int_equal(text_print(text, sizeof text, "%.2f|%d", 0.25, 7), 6);
        assert_string_equal(text, "0.25|7");
        sb_printf(&sb, "%g and %s", 1e-3, "so on");
        assert_string_equal(sb_str(&sb), "0.001 and so on");
        sb_free(&sb);
        for (int c = -1; c < 256; c++) {
            bool lower = c >= 'a' && c <= 'z', upper = c >= 'A' && c <= 'Z';
            assert_int_equal(text_is_lower(c), lower);
            assert_int_equal(text_is_upper(c), upper);
            assert_int_equal(text_is_alnum(c), lower || upper || (c >= '0' && c <= '9'));
            assert_int_equal(text_upper(c), lower ? c - 'a' + 'A' : c);
            assert_int_equal(text_lower(c), upper ? c - 'A' + 'a' : c);
        }
        setlocale(LC_ALL, "C");
        for (int c = 0; c < 128; c++) {
            assert_int_equal(text_is_space(c), isspace(c) != 0);
            assert_int_equal(text_is_print(c), isprint(c) != 0);
        }
    }
}

static void test_positions(void **state) {
    (void)state;
    source *s = source_new("a.py", program, strlen(program));
    uint32_t line, column;
    source_position(s, 0, &line, &column);
    assert_int_equal(line, 1);
    assert_int_equal(column, 1);
    source_position(s, 20, &line, &column); /* the "+", after a two-byte character */
    assert_int_equal(line, 2);
    assert_int_equal(column, 10);
    source_position(s, 999, &line, &column);
    assert_int_equal(line, 4);
    s->first_line = 41;
    source_position(s, 12, &line, &column);
    assert_int_equal(line, 42);
    source_unref(s);
}

static void test_render(void **state) {
    (void)state;
    source *s = source_new("a.py", program, strlen(program));
    diag d = {0};
    assert_int_equal(diag_fail(&d, CTSC_FAILED, "cannot add %s and %s", "str", "int"), CTSC_FAILED);
    assert_int_equal(diag_fail(&d, CTSC_LIMIT, "later"), CTSC_FAILED);
    diag_locate(&d, (source_range){s, 15, 23});
    diag_locate(&d, (source_range){s, 0, 1});
    diag_note(&d, (source_range){s, 4, 5}, "in this function");
    diag_frame(&d, (source_range){s, 28, 36}, "f");
    diag_frame(&d, (source_range){0}, "<host>");
    source_unref(s);
    strbuf sb = STRBUF_INIT;
    diag_render(&d, &sb, false);
    assert_string_equal(sb_str(&sb), "error: cannot add str and int\n"
                                     " --> a.py:2:6\n"
                                     "     |\n"
                                     "   2 | \ty = \"\xc3\xa9\" + x\n"
                                     "     | \t    ^~~~~~~\n"
                                     "note: in this function\n"
                                     " --> a.py:1:5\n"
                                     "     |\n"
                                     "   1 | def f(x):\n"
                                     "     |     ^\n"
                                     "  called from f at a.py:3:5\n"
                                     "  called from <host>\n");
    sb_free(&sb);
    diag_clear(&d);
    assert_string_equal(diag_message(&d), "");
    diag_render(&d, &sb, true);
    assert_string_equal(sb_str(&sb), "");
    assert_int_equal(diag_fail(NULL, CTSC_USAGE, "nobody listens"), CTSC_USAGE);
}

static bool origin_of_all(struct source *s, uint32_t begin, source_range *out) {
    (void)begin;
    *out = (source_range){s->origin_ctx, 4, 5};
    return true;
}

static void origin_release(void *ctx) { source_unref(ctx); }

static void test_origin(void **state) {
    (void)state;
    source *s = source_new("code/m.py", "return y", 8);
    s->origin = origin_of_all;
    s->origin_ctx = source_new("model.py", program, strlen(program));
    s->origin_free = origin_release;
    diag d = {0};
    diag_fail_at(&d, CTSC_FAILED, (source_range){s, 7, 8}, "bad");
    diag_frame(&d, (source_range){s, 0, 6}, "f");
    strbuf sb = STRBUF_INIT;
    diag_render(&d, &sb, false);
    assert_string_equal(sb_str(&sb),
                        "error: bad\n"
                        " --> code/m.py:1:8\n"
                        "     |\n"
                        "   1 | return y\n"
                        "     |        ^\n"
                        " --> originally model.py:1:5\n"
                        "     |\n"
                        "   1 | def f(x):\n"
                        "     |     ^\n"
                        "  called from f at code/m.py:1:1 (originally model.py:1:5)\n");
    sb_free(&sb);
    diag_clear(&d);
    source_unref(s);
}

/* What the machine is said to have, beside what is left for others; -1: the truth. */
static int64_t machine_has = -1, machine_asked;
int64_t __real_available_memory(int64_t most_left);
int64_t __wrap_available_memory(int64_t most_left);
int64_t __wrap_available_memory(int64_t most_left) {
    machine_asked++;
    if (machine_has < 0) return __real_available_memory(most_left);
    return machine_has > most_left ? machine_has - most_left : 0;
}

/* Many blocks, each of them small: the last one fails when the machine has no more, and not when
 * they are given back. */
static void test_machine_used_up(void **state) {
    static void *kept[5000];
    enum { EACH = 200 << 10 };
    size_t n = 0;
    diag d = {0};
    (void)state;
    machine_has = 1 << 30;
    machine_asked = 0;
    while (n < 5000 && (kept[n] = n % 2 ? mem_alloc(EACH) : mem_alloc_pages(EACH))) {
        machine_has -= EACH;
        n++;
    }
    assert_in_range(n, (700 << 20) / EACH, (820 << 20) / EACH);
    assert_in_range(machine_asked, 5, 20);
    assert_int_equal(diag_no_memory(&d), CTSC_LIMIT);
    assert_non_null(strstr(diag_message(&d), "you tried to allocate 204800 bytes (200.0 KiB): the "
                                             "machine has "));
    diag_clear(&d);
    while (n--) {
        if (n % 2) mem_free(kept[n]);
        else mem_free_pages(kept[n], EACH);
    }
    machine_has = 1 << 30;
    for (int i = 0; i < 50000; i++) {
        void *p = mem_alloc(EACH);
        assert_non_null(p);
        mem_free(p);
    }
    /* a list that grows */
    void *p = mem_alloc(1000);
    for (n = 1000; p && n < (900u << 20); n += n / 8) {
        void *q = mem_resize(p, n);
        if (!q) break;
        machine_has -= (int64_t)(n / 8);
        p = q;
    }
    assert_in_range(n, 200 << 20, 900 << 20);
    mem_free(p);
    machine_has = -1;
}

/* Linux would promise it, and end the process when it is touched. */
static void test_machine(void **state) {
    (void)state;
    size_t size = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE) * 64;
    void *(*const allocators[])(size_t) = {mem_alloc, mem_zalloc, mem_alloc_pages};
    for (size_t i = 0; i < 3; i++) {
        diag d = {0};
        assert_null(allocators[i](size));
        assert_int_equal(diag_no_memory(&d), CTSC_LIMIT);
        assert_non_null(
            strstr(diag_message(&d),
                   "DefaultCPUAllocator: can't allocate memory: you tried to allocate "));
        assert_non_null(strstr(diag_message(&d), "iB): the machine has "));
        diag_clear(&d);
    }
    void *p = mem_alloc(AVAILABLE_ASKED + 1);
    assert_non_null(p);
    assert_null(mem_resize(p, size));
    mem_free(p);
}

/* A budget without room for the message. */
static void test_budget(void **state) {
    (void)state;
    mem_budget budget = {.left = 10};
    mem_budget_use(&budget);
    diag d = {0};
    assert_null(mem_alloc(256));
    assert_int_equal(diag_no_memory(&d), CTSC_LIMIT);
    diag_frame(&d, (source_range){0}, "f");
    mem_budget_use(NULL);
    assert_int_equal(budget.left, 10);
    assert_int_equal(d.items.len, 2);
    assert_string_equal(diag_message(&d), "out of memory: cannot allocate 256 bytes, the call's "
                                          "limit of 10 bytes (max_bytes) has 10 bytes left");
    diag_clear(&d);
}

static bool body_diag(void) {
    source *s = source_new("a.py", program, strlen(program));
    if (!s) return false;
    diag d = {0};
    assert_int_equal(diag_no_memory(&d), CTSC_LIMIT);
    diag_note(&d, (source_range){s, 0, 3}, "note");
    diag_frame(&d, (source_range){s, 0, 3}, "f");
    assert_string_equal(diag_message(&d), "out of memory");
    strbuf sb = STRBUF_INIT;
    diag_render(&d, &sb, true);
    bool ok = !sb.failed && d.items.len == 3;
    sb_free(&sb);
    diag_clear(&d);
    source_unref(s);
    return ok;
}

static void test_diag_failures(void **state) {
    (void)state;
    with_failures(body_diag);
}

/* ---- the pool -------------------------------------------------------------------------------- */

typedef struct pool_record {
    atomic_int covered[5000];
    atomic_int pieces, nested;
    _Atomic int64_t borders; /* a sum that tells one cut from another */
} pool_record;

static void pool_nested(void *ctx, int64_t begin, int64_t end) {
    atomic_fetch_add(&((pool_record *)ctx)->nested, (int)(end - begin));
}

static void pool_mark(void *ctx, int64_t begin, int64_t end) {
    pool_record *r = ctx;
    for (int64_t i = begin; i < end; i++) atomic_fetch_add(&r->covered[i], 1);
    atomic_fetch_add(&r->pieces, 1);
    atomic_fetch_add(&r->borders, begin * 31 + end);
    pool_for(3, 1, pool_nested, r);
}

static void pool_check(int threads, int64_t n, int64_t grain, int *pieces, int64_t *borders) {
    static pool_record r;
    memset(&r, 0, sizeof r);
    pool_set_threads(threads);
    pool_for(n, grain, pool_mark, &r);
    for (int i = 0; i < 5000; i++) assert_int_equal(r.covered[i], i < n);
    assert_int_equal(r.nested, 3 * r.pieces);
    *pieces = r.pieces;
    *borders = r.borders;
}

static void test_pool(void **state) {
    (void)state;
    static const int64_t cases[][2] = {{0, 1},    {1, 1},     {7, 10},    {7, 1},   {64, 1},
                                       {65, 1},   {5000, 1},  {5000, 77}, {100, 0}, {5000, 4999},
                                       {127, 63}, {4097, 64}, {4096, 64}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int pieces, more_pieces;
        int64_t borders, more_borders;
        pool_check(1, cases[i][0], cases[i][1], &pieces, &borders);
        for (int threads = 2; threads <= 8; threads += 3)
            for (int again = 0; again < 50; again++) {
                pool_check(threads, cases[i][0], cases[i][1], &more_pieces, &more_borders);
                assert_int_equal(pieces, more_pieces);
                assert_int_equal(borders, more_borders);
            }
    }
    int pieces;
    int64_t borders;
    pool_check(100, 5000, 1, &pieces, &borders); /* more threads than homes */
    pool_set_threads(0);
    assert_true(pool_threads() >= 1);
}

enum { HALVES = 64 };
typedef struct halves_record {
    pthread_t by[HALVES];
    atomic_int begun; /* first chunks of the two halves */
} halves_record;

static void halves_mark(void *ctx, int64_t begin, int64_t end) {
    halves_record *r = ctx;
    for (int64_t i = begin; i < end; i++) r->by[i] = pthread_self();
    if (begin % (HALVES / 2)) return;
    atomic_fetch_add(&r->begun, 1);
    uint64_t late = clock_now() + 20000000000u;
    while (atomic_load(&r->begun) < 2 && clock_now() < late) {
    }
}

/* Two threads that are both there each begin with a half of their own, the same in each call. */
static void test_halves(void **state) {
    (void)state;
    static halves_record r;
    pool_set_threads(2);
    for (int again = 0; again < 100; again++) {
        atomic_store(&r.begun, 0);
        pool_for(HALVES, 1, halves_mark, &r);
        assert_int_equal(r.begun, 2);
        assert_true(pthread_equal(r.by[0], pthread_self()));
        assert_false(pthread_equal(r.by[HALVES / 2], pthread_self()));
    }
    pool_set_threads(0);
}

typedef struct steps_record {
    _Atomic int64_t done;
    int64_t chunks, stop;
    _Atomic bool early;
    atomic_bool cancelled;
    atomic_int covered[40][70];
} steps_record;

static void steps_mark(void *ctx, int64_t step, int64_t chunk) {
    steps_record *r = ctx;
    if (atomic_load(&r->done) < step * r->chunks) atomic_store(&r->early, true);
    atomic_fetch_add(&r->covered[step][chunk], 1);
    atomic_fetch_add(&r->done, 1);
    if (step == r->stop) atomic_store(&r->cancelled, true);
}

/* Each chunk once, none before all of the step in front of it are done; limits end
 * it between steps. */
static void test_pool_steps(void **state) {
    (void)state;
    static const int64_t cases[][2] = {{40, 70}, {40, 1}, {1, 5}, {33, 2}, {0, 4}, {4, 0}};
    static steps_record r;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int threads = 1; threads <= 7; threads++)
            for (int stops = 0; stops < 2; stops++) {
                memset(&r, 0, sizeof r);
                r.chunks = cases[i][1], r.stop = stops ? 2 : -1;
                limits l = {.cancelled = &r.cancelled}, *outer = limits_use(&l);
                pool_set_threads(threads);
                bool stopped = stops && cases[i][0] > 3 && r.chunks > 0;
                assert_int_equal(pool_steps(cases[i][0], r.chunks, steps_mark, &r), !stopped);
                limits_use(outer);
                assert_false(r.early);
                for (int64_t step = 0; step < (stopped ? 2 : cases[i][0]); step++)
                    for (int64_t c = 0; c < 70; c++)
                        assert_int_equal(r.covered[step][c], c < r.chunks);
            }
    pool_set_threads(0);
}

typedef struct slots_record {
    slots slots;
    _Atomic bool shared; /* two threads had one slot */
    atomic_int covered;
} slots_record;

static void slots_mark(void *ctx, int64_t begin, int64_t end) {
    slots_record *r = ctx;
    slot taken = slots_take(&r->slots);
    _Atomic int64_t *scratch = taken.memory;
    atomic_store(scratch, begin);
    for (int64_t i = begin; i < end; i++) {
        if (atomic_load(scratch) != begin) atomic_store(&r->shared, true);
        atomic_fetch_add(&r->covered, 1);
    }
    slots_give(&r->slots, taken);
}

/* Each chunk has a slot of its own, also where there are fewer of them than threads; small ones are
 * where the caller says. */
static void test_slots(void **state) {
    (void)state;
    static slots_record r;
    _Alignas(SLOTS_ALIGN) char small[4 * SLOTS_ALIGN];
    for (int threads = 1; threads <= 4; threads++)
        for (int how = 0; how < 3; how++) { /* in `small`, or not, or more than threads have */
            bool room = how == 0;
            size_t each = how == 2 ? POOL_SCRATCH + 8 : 8;
            memset(&r, 0, sizeof r);
            pool_set_threads(threads);
            assert_true(slots_begin_in(&r.slots, each, 5000, small, room ? sizeof small : 0));
            assert_int_equal(r.slots.memory == small, room);
            pool_set_threads(4);
            pool_for(5000, 1, slots_mark, &r);
            slots_end(&r.slots);
            assert_int_equal(r.covered, 5000);
            assert_false(r.shared);
        }
    assert_false(slots_begin(&r.slots, SIZE_MAX - 8, 2));
    assert_false(slots_begin(&r.slots, SIZE_MAX / 2, 4));
    pool_set_threads(0);
}

static void *pool_caller(void *arg) {
    static pool_record records[4];
    pool_record *r = &records[(intptr_t)arg];
    for (int i = 0; i < 500; i++) pool_for(5000, 100, pool_mark, r);
    return (void *)(intptr_t)(r->covered[4999] == 500 && r->covered[0] == 500);
}

/* Several threads of the program use the pool at once. */
static void test_pool_shared(void **state) {
    (void)state;
    pool_set_threads(4);
    pthread_t threads[4];
    for (intptr_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, pool_caller, (void *)i), 0);
    for (int i = 0; i < 4; i++) {
        void *ok;
        pthread_join(threads[i], &ok);
        assert_non_null(ok);
    }
    pool_set_threads(0);
}

/* Advice changes no contents, wherever the block begins and ends. */
static void test_pages(void **state) {
    enum { BYTES = 5 << 20 };
    (void)state;
    FILE *f = tmpfile();
    char *block = malloc(BYTES);
    assert_true(f && block);
    pages_prefer_large(block + 3, BYTES - 3);
    for (int i = 0; i < BYTES; i++) block[i] = (char)(i * 7 >> 3);
    pages_prefer_large(block, BYTES);
    assert_int_equal(fwrite(block, 1, BYTES, f), BYTES);
    fflush(f);
    char *map = mmap(NULL, BYTES, PROT_READ, MAP_PRIVATE, fileno(f), 0);
    assert_ptr_not_equal(map, MAP_FAILED);
    assert_memory_equal(map, block, BYTES);
    pages_drop(map + 100, BYTES - 200);
    pages_drop(map + 100, 10);
    assert_memory_equal(map, block, BYTES);
    munmap(map, BYTES);
    free(block);
    fclose(f);
}

/* Blocks of many sizes, freed in an order of their own, keep what was written to them. */
static void test_page_pool(void **state) {
    enum { BLOCKS = 40 };
    (void)state;
    unsigned char *p[BLOCKS] = {0};
    size_t sizes[BLOCKS];
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < BLOCKS; i++) {
            sizes[i] = i % 8 == 7   ? (size_t)(i + 1) << 20 /* to more than a region */
                       : i % 8 == 3 ? (size_t)i
                                    : (size_t)(i * 70001 + round);
            p[i] = page_pool_alloc(sizes[i]);
            assert_non_null(p[i]);
            if (sizes[i] >= 1 << 20) assert_int_equal((uintptr_t)p[i] % PAGE_POOL_ALIGN, 0);
            memset(p[i], i + 1, sizes[i]);
        }
        for (int k = 0; k < BLOCKS; k++) {
            int i = k * 17 % BLOCKS;
            for (size_t at = 0; at < sizes[i]; at += 4001) assert_int_equal(p[i][at], i + 1);
            page_pool_free(p[i], sizes[i]);
        }
    }
    page_pool_free(NULL, 1 << 20);
    assert_null(page_pool_alloc(SIZE_MAX - 10));
    assert_null(page_pool_alloc(PTRDIFF_MAX));
    mem_budget b = {3 << 20}, *before = mem_budget_use(&b);
    void *some = page_pool_alloc(2 << 20);
    assert_null(page_pool_alloc(2 << 20));
    page_pool_free(some, 2 << 20);
    mem_budget_use(before);
    assert_non_null(some);
    assert_int_equal(b.left, 3 << 20);
}

static void test_sorted(void **state) {
    (void)state;
    static const struct { const char *name; int number; } rows[] = {
        {"", 0}, {"_a", 1}, {"a", 2}, {"a.b", 3}, {"ab", 4}, {"b", 5}};
    enum { ROWS = sizeof rows / sizeof *rows };
    for (int n = 0; n <= ROWS; n++)
        for (int i = 0; i < ROWS; i++)
            assert_int_equal(
                sorted_find(rows, (size_t)n * sizeof *rows, sizeof *rows, rows[i].name),
                i < n ? rows[i].number : -1);
    assert_int_equal(sorted_find(rows, sizeof rows, sizeof *rows, "A"), -1);
    assert_int_equal(sorted_find(rows, sizeof rows, sizeof *rows, "a."), -1);
    assert_int_equal(sorted_find(rows, sizeof rows, sizeof *rows, "c"), -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        /* while there is one worker only: others would come in its place */
        cmocka_unit_test(test_halves),
        cmocka_unit_test(test_mem),
        cmocka_unit_test(test_pages),
        cmocka_unit_test(test_machine),
        cmocka_unit_test(test_machine_used_up),
        cmocka_unit_test(test_budget),
        cmocka_unit_test(test_page_pool),
        cmocka_unit_test(test_arena),
        cmocka_unit_test(test_arena_failures),
        cmocka_unit_test(test_containers),
        cmocka_unit_test(test_strbuf),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_positions),
        cmocka_unit_test(test_render),
        cmocka_unit_test(test_origin),
        cmocka_unit_test(test_diag_failures),
        cmocka_unit_test(test_pool),
        cmocka_unit_test(test_pool_steps),
        cmocka_unit_test(test_slots),
        cmocka_unit_test(test_pool_shared),
        cmocka_unit_test(test_sorted),
    };
    return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
