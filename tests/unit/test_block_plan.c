/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_block_plan.c - places of requests: none overlap that live at a time, calls that are repeated
 * get them, calls that are not get ordinary blocks, and what outlives a call or is freed elsewhere
 * does no harm.
 */
#include "support.h"

#include "base/memory/block_plan.h"
#include "base/memory/mem.h"
#include "base/memory/recycle.h"

#include <pthread.h>
#include <string.h>

enum { MAX_BLOCKS = 1200, SLOTS = 1024 };

typedef struct block { unsigned char *p; plan_mark mark; size_t size; bool planned; } block;
/* request >= 0: the next block, of this many bytes; else block -1 - request is freed */
typedef struct script { long steps[2 * MAX_BLOCKS]; int n; } script;

static block blocks[MAX_BLOCKS];
static int nblocks, nplanned;

static void block_take(planner *pl, size_t size) {
    block *b = &blocks[nblocks];
    b->p = planner_take(pl, b->size = size, &b->mark);
    nplanned += b->planned = b->p != NULL;
    if (!b->p) b->p = mem_alloc(size);
    assert_non_null(b->p);
    memset(b->p, nblocks++ & 0xff, size);
}

/* Nobody has written to it meanwhile. */
static void block_give(planner *pl, int i) {
    block *b = &blocks[i];
    for (size_t k = 0; k < b->size; k++)
        if (b->p[k] != (i & 0xff)) fail_msg("block %d was overwritten", i);
    if (planner_give(pl, &b->mark)) assert_true(b->planned);
    else mem_free(b->p);
    b->p = NULL;
}

/* Runs a call; returns how many blocks had a place. */
static int call(planner *pl, const script *s) {
    nblocks = nplanned = 0;
    planner_begin(pl);
    for (int i = 0; i < s->n; i++) {
        if (s->steps[i] >= 0) block_take(pl, (size_t)s->steps[i]);
        else block_give(pl, (int)(-1 - s->steps[i]));
    }
    planner_end(pl);
    return nplanned;
}

static void free_rest(void) {
    for (int i = 0; i < nblocks; i++)
        if (blocks[i].p) block_give(NULL, i);
}

static uint64_t seed = 1;
static unsigned next_random(void) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(seed >> 33);
}

/* Blocks of random sizes and lives; `live` stay at most. *peak: the largest sum. */
static script random_script(int n, int live, size_t *peak) {
    script s = {.n = 0};
    int held[MAX_BLOCKS], nheld = 0, made = 0;
    size_t sizes[MAX_BLOCKS], sum = 0;
    *peak = 0;
    while (made < n || nheld) {
        if (made < n && (nheld == 0 || (nheld < live && next_random() % 2))) {
            sizes[made] = 1 + next_random() % 5000;
            s.steps[s.n++] = (long)sizes[made];
            sum += (sizes[made] + 63) / 64 * 64;
            if (sum > *peak) *peak = sum;
            held[nheld++] = made++;
        } else {
            int k = (int)(next_random() % (unsigned)nheld);
            s.steps[s.n++] = -1 - held[k];
            sum -= (sizes[held[k]] + 63) / 64 * 64;
            held[k] = held[--nheld];
        }
    }
    return s;
}

static void test_random(void **state) {
    (void)state;
    for (int round = 0; round < 200; round++) {
        size_t peak;
        int n = 1 + (int)(next_random() % MAX_BLOCKS), live = 1 + (int)(next_random() % 12);
        script s = random_script(n, live, &peak);
        planner *pl = planner_new();
        assert_int_equal(call(pl, &s), 0); /* nothing is known */
        call(pl, &s);                      /* gaps of a slab as large as what lived */
        for (int i = 0; i < 3; i++) assert_int_equal(call(pl, &s), n);
        assert_true(planner_slab(pl) >= peak);
        if (planner_slab(pl) > 2 * peak) fail_msg("%zu for %zu", planner_slab(pl), peak);
        planner_free(pl);
    }
}

/* a b -a c -b -c: c is where a was. */
static void test_small(void **state) {
    (void)state;
    script s = {{1000, 500, -1, 1000, -2, -3}, 6}, other = {{1000, 500, -1, 900, -2, -3}, 6};
    planner *pl = planner_new();
    for (int i = 0; i < 3; i++) call(pl, &s);
    assert_int_equal(nplanned, 3);
    assert_int_equal(planner_slab(pl), 1024 + 512);
    assert_int_equal(call(pl, &other), 3); /* the third is not as planned, and gets a gap */
    assert_int_equal(call(pl, &s), 3);
    planner_free(pl);
}

/* What outlives the call is an ordinary block once that is known, and keeps the slab until then. */
static void test_outlives(void **state) {
    (void)state;
    script inside = {{2000, 300, -1, -2}, 4}, result = {{2000, 300, -1}, 3};
    planner *pl = planner_new();
    for (int i = 0; i < 3; i++) call(pl, &inside);
    assert_int_equal(nplanned, 2);
    assert_int_equal(call(pl, &result), 2); /* not foreseen */
    block kept = blocks[1];
    assert_int_equal(call(pl, &inside), 2); /* another slab, or another place */
    for (int i = 0; i < 2; i++) {
        call(pl, &result);
        free_rest();
    }
    assert_int_equal(call(pl, &result), 1);
    assert_true(blocks[1].mark.outlives);
    free_rest();
    planner_free(pl);
    for (size_t k = 0; k < kept.size; k++) assert_int_equal(kept.p[k], 1);
    assert_true(planner_give(NULL, &kept.mark)); /* the last one frees the slab */
}

/* Methods and shapes that take turns each keep their plan. */
static void test_turns(void **state) {
    (void)state;
    planner *pl = planner_new();
    size_t peak;
    script s[3];
    for (int i = 0; i < 3; i++) {
        s[i] = random_script(20 + i, 5, &peak);
        for (int k = 0; k < 2; k++) call(pl, &s[i]);
    }
    for (int round = 0; round < 4; round++)
        for (int i = 0; i < 3; i++) assert_int_equal(call(pl, &s[i]), 20 + i);
    planner_free(pl);
}

/* Calls that are never repeated: hardly anything is ordinary after some. */
static void test_new_shapes(void **state) {
    (void)state;
    planner *pl = planner_new();
    size_t peak, most = 0;
    int places = 0, all = 0;
    for (int i = 0; i < 200; i++) {
        int n = 50 + i % 20;
        script s = random_script(n, 8, &peak);
        if (peak > most) most = peak;
        int got = call(pl, &s);
        if (i >= 20) places += got, all += n;
        assert_true(planner_slab(pl) <= most + most / 4);
    }
    if (places < all * 95 / 100) fail_msg("%d places for %d", places, all);
    script small = {{200, -1}, 2};
    for (int i = 0; i < 100; i++) call(pl, &small);
    assert_int_equal(planner_slab(pl), 256); /* which is all that is needed now */
    planner_free(pl);
}

/* Calls that go as planned up to some point, where a block lives longer than it did or has another
 * size: nothing that lives is overwritten. */
static void test_deviations(void **state) {
    (void)state;
    size_t peak;
    for (int round = 0; round < 300; round++) {
        planner *pl = planner_new();
        script s = random_script(60, 2 + (int)(next_random() % 20), &peak);
        for (int i = 0; i < 3; i++) call(pl, &s);
        assert_int_equal(nplanned, 60);
        for (int i = 0; i < 10; i++) {
            script other = s;
            int at = (int)(next_random() % (unsigned)(s.n - 1)), to = at;
            long step = s.steps[at];
            for (; step < 0 && to + 1 < s.n && next_random() % 6; to++) {
                other.steps[to] = other.steps[to + 1];
                other.steps[to + 1] = step;
            }
            if (step >= 0) other.steps[at] = (long)(next_random() % 5000);
            call(pl, &other);
            free_rest();
            call(pl, &s);
            free_rest();
        }
        planner_free(pl);
    }
}

/* More than are written down, and more at a time than there are slots. */
static void test_many(void **state) {
    (void)state;
    planner *pl = planner_new();
    static script s;
    s.n = 0;
    for (int i = 0; i < MAX_BLOCKS; i++) s.steps[s.n++] = 64;
    for (int i = 0; i < MAX_BLOCKS; i++) s.steps[s.n++] = -1 - i;
    for (int i = 0; i < 4; i++) call(pl, &s);
    assert_int_equal(nplanned, SLOTS);
    for (int round = 0; round < 4; round++) {
        planner_begin(pl);
        for (int i = 0; i < 5000; i++) {
            nblocks = 0;
            block_take(pl, 32);
            block_give(pl, 0);
        }
        assert_false(planner_end(pl));
    }
    planner_free(pl);
}

/* ---- the recycler ---------------------------------------------------------------------------- */

static void *free_elsewhere(void *p) {
    recycle_free(p, 50000);
    return NULL;
}

/* What was planned lives longer than its recycler, whose slab goes with it. */
static void test_longer(void **state) {
    (void)state;
    recycler r = {0};
    void *kept = NULL;
    for (int i = 0; i < 5; i++) {
        recycler *outer = recycler_use(&r);
        recycler_begin(&r);
        kept = recycle_alloc(500000);
        memset(kept, i, 500000);
        if (i < 4) recycle_free(kept, 500000);
        recycler_end(&r);
        recycler_use(outer);
    }
    recycler_free(&r);
    assert_int_equal(((char *)kept)[499999], 4);
    recycle_free(kept, 500000);
}

/* Results are freed without a recycler, on any thread; a workspace may go before them. */
static void test_threads(void **state) {
    (void)state;
    recycler r = {0};
    void *results[8];
    for (int i = 0; i < 8; i++) {
        recycler *outer = recycler_use(&r);
        recycler_begin(&r);
        char *a = recycle_alloc(40000), *b = recycle_zalloc(60000);
        for (int k = 0; k < 60000; k++) assert_int_equal(b[k], 0);
        memset(a, 1, 40000);
        memset(b, 2, 60000);
        recycle_free(a, 40000);
        results[i] = recycle_alloc(50000);
        memset(results[i], 3, 50000);
        recycle_free(b, 60000);
        recycler_end(&r);
        recycler_use(outer);
    }
    recycler_free(&r);
    for (int i = 0; i < 8; i++) {
        pthread_t t;
        assert_int_equal(((char *)results[i])[49999], 3);
        assert_int_equal(pthread_create(&t, NULL, free_elsewhere, results[i]), 0);
        pthread_join(t, NULL);
    }
}

/* Sizes that come no more do not stay. */
static void test_bounded(void **state) {
    (void)state;
    recycler r = {0};
    recycler *outer = recycler_use(&r);
    for (int call = 0; call < 50; call++) {
        recycler_begin(&r);
        for (int i = 0; i < 10; i++) {
            size_t size = 20000 + next_random() % 400000;
            void *p = recycle_alloc(size);
            recycle_free(p, size);
        }
        recycler_end(&r);
        assert_true(r.large <= 520000);
    }
    recycler_use(outer);
    recycler_free(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),     cmocka_unit_test(test_small),
        cmocka_unit_test(test_outlives),   cmocka_unit_test(test_turns),
        cmocka_unit_test(test_new_shapes), cmocka_unit_test(test_deviations),
        cmocka_unit_test(test_many),       cmocka_unit_test(test_threads),
        cmocka_unit_test(test_bounded),    cmocka_unit_test(test_longer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
