/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_dist.c - ctsc_dist.h: each test forks the ranks of a world, which check what they get and
 * end with 0. Programs against PyTorch are in tests/distributed.
 */
#include "support.h"

#include "ctsc_dist.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RANKS_MOST = 8, TEST_MS = 20000 };
#define SECRET "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* In a rank: what does not hold ends it. */
#define HOLDS(x)                                                                                   \
    do {                                                                                           \
        if (!(x)) {                                                                                \
            fprintf(stderr, "%s:%d: rank %d: %s; %s\n", __FILE__, __LINE__, self, #x,              \
                    problem.message);                                                              \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

static ctsc_dist_error problem;
static int self, world; /* rank and size, in a rank */
static ctsc_dist_store *store;
static ctsc_dist_group *all;

typedef void (*rank_fn)(void);

static void rank_main(rank_fn fn, const char *path) {
    HOLDS(ctsc_dist_store_file(path, world, TEST_MS, &store, &problem) == CTSC_OK);
    HOLDS(ctsc_dist_init("gloo", store, self, world, TEST_MS, "all", &all, &problem) == CTSC_OK);
    fn();
    ctsc_dist_group_free(all);
    ctsc_dist_store_free(store);
    exit(0);
}

/* Runs fn in n processes; killed: that one may end as it likes. */
static void run_ranks(int n, rank_fn fn, int killed) {
    char path[] = "/tmp/ctsc-dist-XXXXXX";
    pid_t children[RANKS_MOST];
    int fd = mkstemp(path), status;
    assert_true(fd >= 0);
    close(fd);
    unlink(path);
    for (int r = 0; r < n; r++) {
        children[r] = fork();
        assert_true(children[r] >= 0);
        if (children[r] == 0) {
            self = r;
            world = n;
            rank_main(fn, path);
        }
    }
    bool ok = true;
    for (int r = 0; r < n; r++)
        ok &= waitpid(children[r], &status, 0) == children[r] &&
              (r == killed || (WIFEXITED(status) && WEXITSTATUS(status) == 0));
    unlink(path);
    assert_true(ok);
}

static bool lacks_gloo(void) {
    if (ctsc_dist_has_engine("gloo", &problem)) return false;
    print_message("left out: %s\n", problem.message);
    return true;
}

/* ---- elements -------------------------------------------------------------------------------- */

static const struct { int dtype; size_t bytes; } dtypes[] = {
    {CTSC_UINT8, 1},   {CTSC_INT8, 1},    {CTSC_INT16, 2},   {CTSC_INT32, 4},    {CTSC_INT64, 8},
    {CTSC_FLOAT16, 2}, {CTSC_FLOAT32, 4}, {CTSC_FLOAT64, 8}, {CTSC_BFLOAT16, 2}, {CTSC_BOOL, 1},
};
enum { DTYPES = sizeof dtypes / sizeof *dtypes };

/* Small whole numbers of 16-bit floats. */
static uint16_t half_of(int dtype, int v) {
    union {
        float f;
        uint32_t u;
    } x = {.f = (float)v};
    if (dtype == CTSC_BFLOAT16) return (uint16_t)(x.u >> 16);
    if (!v) return 0;
    return (uint16_t)((((x.u >> 23) - 127 + 15) << 10) | ((x.u >> 13) & 0x3ff));
}

static void put(void *data, size_t i, int dtype, int v) {
    switch (dtype) {
    case CTSC_UINT8: ((uint8_t *)data)[i] = (uint8_t)v; break;
    case CTSC_INT8: ((int8_t *)data)[i] = (int8_t)v; break;
    case CTSC_INT16: ((int16_t *)data)[i] = (int16_t)v; break;
    case CTSC_INT32: ((int32_t *)data)[i] = v; break;
    case CTSC_INT64: ((int64_t *)data)[i] = v; break;
    case CTSC_FLOAT32: ((float *)data)[i] = (float)v; break;
    case CTSC_FLOAT64: ((double *)data)[i] = v; break;
    case CTSC_BOOL: ((uint8_t *)data)[i] = v != 0; break;
    default: ((uint16_t *)data)[i] = half_of(dtype, v); break;
    }
}

/* Element i of rank r: from 0 to 4. */
static int element(int r, size_t i) { return (int)((i * 3 + (size_t)r * 2 + i / 7) % 5); }

static int folded(ctsc_dist_reduce op, size_t i) {
    int v = element(0, i);
    for (int r = 1; r < world; r++) {
        int x = element(r, i);
        v = op == CTSC_DIST_SUM       ? v + x
            : op == CTSC_DIST_PRODUCT ? v * x
            : op == CTSC_DIST_MIN     ? (x < v ? x : v)
                                      : (x > v ? x : v);
    }
    return v;
}

static void *filled(size_t n, int dtype, size_t bytes, int rank) {
    char *data = calloc(n + 1, bytes);
    for (size_t i = 0; i < n; i++) put(data, i, dtype, element(rank, i));
    return data;
}

/* ---- collectives ----------------------------------------------------------------------------- */

static ctsc_status call(ctsc_dist_op op, ctsc_dist_reduce reduce, int root, size_t n_in,
                        const ctsc_dist_tensor *in, size_t n_out, const ctsc_dist_tensor *out) {
    ctsc_dist_call c = {op, reduce, root, 0, -1, n_in, n_out, in, out};
    return ctsc_dist_run(all, &c, NULL, &problem);
}

static void reduces(size_t n, int d, ctsc_dist_reduce op) {
    int dtype = dtypes[d].dtype;
    size_t bytes = dtypes[d].bytes;
    int64_t count = (int64_t)n;
    char *in = filled(n, dtype, bytes, self), *want = calloc(n + 1, bytes),
         *out = calloc(n + 1, bytes);
    for (size_t i = 0; i < n; i++) put(want, i, dtype, folded(op, i));
    ctsc_dist_tensor from = {in, dtype, 1, &count, NULL}, to = {out, dtype, 1, &count, NULL};
    HOLDS(call(CTSC_DIST_ALL_REDUCE, op, 0, 1, &from, 1, &to) == CTSC_OK);
    HOLDS(!memcmp(out, want, n * bytes));
    memset(out, 0, n * bytes);
    int root = world - 1;
    bool mine = self == root;
    HOLDS(call(CTSC_DIST_REDUCE, op, root, 1, &from, mine, mine ? &to : NULL) == CTSC_OK);
    HOLDS(!mine || !memcmp(out, want, n * bytes));
    HOLDS(call(CTSC_DIST_ALL_REDUCE, op, 0, 1, &from, 1, &from) == CTSC_OK);
    HOLDS(!memcmp(in, want, n * bytes));
    free(in);
    free(want);
    free(out);
}

/* Every second column of a matrix. */
static void reduces_strided(void) {
    float data[6][8], want[6][8];
    int64_t sizes[] = {6, 4}, strides[] = {8, 2};
    for (size_t i = 0; i < 48; i++) {
        data[i / 8][i % 8] = (float)element(self, i);
        want[i / 8][i % 8] = (float)(i % 2 ? element(self, i) : folded(CTSC_DIST_SUM, i));
    }
    ctsc_dist_tensor t = {data, CTSC_FLOAT32, 2, sizes, strides};
    HOLDS(call(CTSC_DIST_ALL_REDUCE, CTSC_DIST_SUM, 0, 1, &t, 1, &t) == CTSC_OK);
    HOLDS(!memcmp(data, want, sizeof data));
}

static void moves(size_t n) {
    int64_t count = (int64_t)n;
    ctsc_dist_tensor parts[RANKS_MOST], given[RANKS_MOST];
    int32_t *mine = filled(n, CTSC_INT32, 4, self), *want[RANKS_MOST];
    int root = world / 2;
    for (int r = 0; r < world; r++) {
        want[r] = filled(n, CTSC_INT32, 4, r);
        parts[r] = (ctsc_dist_tensor){calloc(n + 1, 4), CTSC_INT32, 1, &count, NULL};
        given[r] = (ctsc_dist_tensor){want[r], CTSC_INT32, 1, &count, NULL};
    }
    ctsc_dist_tensor own = {mine, CTSC_INT32, 1, &count, NULL};
    size_t many = (size_t)world, at_root = self == root ? many : 0;
    HOLDS(call(CTSC_DIST_ALL_GATHER, 0, 0, 1, &own, many, parts) == CTSC_OK);
    for (int r = 0; r < world; r++) {
        HOLDS(!memcmp(parts[r].data, want[r], n * 4));
        memset(parts[r].data, 0, n * 4);
    }
    HOLDS(call(CTSC_DIST_GATHER, 0, root, 1, &own, at_root, parts) == CTSC_OK);
    for (int r = 0; r < world && self == root; r++) HOLDS(!memcmp(parts[r].data, want[r], n * 4));
    HOLDS(call(CTSC_DIST_SCATTER, 0, root, at_root, given, 1, &parts[0]) == CTSC_OK);
    HOLDS(!memcmp(parts[0].data, want[self], n * 4));
    HOLDS(call(CTSC_DIST_ALL_TO_ALL, 0, 0, many, given, many, parts) == CTSC_OK);
    for (int r = 0; r < world; r++) HOLDS(!memcmp(parts[r].data, want[self], n * 4));
    HOLDS(call(CTSC_DIST_BROADCAST, 0, root, 1, &own, 1, &own) == CTSC_OK);
    HOLDS(!memcmp(mine, want[root], n * 4));
    HOLDS(call(CTSC_DIST_REDUCE_SCATTER, CTSC_DIST_SUM, 0, many, given, 1, &parts[0]) == CTSC_OK);
    for (size_t i = 0; i < n; i++) HOLDS(((int32_t *)parts[0].data)[i] == world * element(self, i));
    for (int r = 0; r < world; r++) free(want[r]), free(parts[r].data);
    free(mine);
}

/* Rank r gives rank s 3 * r + s elements, some of them none. */
static void moves_unevenly(size_t factor) {
    ctsc_dist_tensor in[RANKS_MOST], out[RANKS_MOST];
    int64_t give[RANKS_MOST], take[RANKS_MOST];
    for (int r = 0; r < world; r++) {
        give[r] = (int64_t)((size_t)((3 * self + r) % 4) * factor);
        take[r] = (int64_t)((size_t)((3 * r + self) % 4) * factor);
        in[r] = (ctsc_dist_tensor){malloc((size_t)give[r] + 1), CTSC_UINT8, 1, &give[r], NULL};
        out[r] = (ctsc_dist_tensor){malloc((size_t)take[r] + 1), CTSC_UINT8, 1, &take[r], NULL};
        memset(in[r].data, 16 * self + r, (size_t)give[r]);
    }
    HOLDS(call(CTSC_DIST_ALL_TO_ALL, 0, 0, (size_t)world, in, (size_t)world, out) == CTSC_OK);
    for (int r = 0; r < world; r++) {
        for (int64_t i = 0; i < take[r]; i++) HOLDS(((uint8_t *)out[r].data)[i] == 16 * r + self);
        free(in[r].data);
        free(out[r].data);
    }
}

static void rank_collectives(void) {
    static const size_t sizes[] = {0, 1, 7, 1000, 300000};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        for (int d = 0; d < DTYPES; d++)
            for (int op = 0; op <= CTSC_DIST_MAX; op++) {
                bool all_numbers = dtypes[d].dtype != CTSC_BOOL; /* an "or", an "and" */
                if (op == CTSC_DIST_AVG || (op == CTSC_DIST_PRODUCT && world > 3)) continue;
                if (all_numbers || op != CTSC_DIST_SUM) reduces(sizes[s], d, (ctsc_dist_reduce)op);
            }
        moves(sizes[s]);
        moves_unevenly(sizes[s]);
        HOLDS(call(CTSC_DIST_BARRIER, 0, 0, 0, NULL, 0, NULL) == CTSC_OK);
    }
    reduces_strided();
}

static void test_collectives(void **state) {
    (void)state;
    if (lacks_gloo()) return;
    for (int n = 1; n <= 4; n++) run_ranks(n, rank_collectives, -1);
}

/* ---- groups, works, messages ----------------------------------------------------------------- */

static void rank_groups(void) {
    ctsc_dist_group *pair = NULL;
    int ranks[] = {2, 0};
    float x = (float)self;
    int64_t none[1] = {0};
    ctsc_dist_tensor t = {&x, CTSC_FLOAT32, 0, none, NULL};
    ctsc_dist_call sum = {CTSC_DIST_ALL_REDUCE, CTSC_DIST_SUM, 0, 0, -1, 1, 1, &t, &t};
    ctsc_dist_work *works[8];
    if (self != 1) {
        HOLDS(ctsc_dist_subgroup(all, 2, ranks, TEST_MS, "pair", &pair, &problem) == CTSC_OK);
        HOLDS(ctsc_dist_rank(pair) == (self == 0) && ctsc_dist_size(pair) == 2);
        HOLDS(ctsc_dist_publish(pair, "p", &problem) == CTSC_OK && ctsc_dist_find("p") == pair);
        HOLDS(ctsc_dist_run(pair, &sum, NULL, &problem) == CTSC_OK && x == 2);
        ctsc_dist_group_free(pair);
        HOLDS(!ctsc_dist_find("p"));
    }
    x = 1;
    for (int i = 0; i < 8; i++) HOLDS(ctsc_dist_run(all, &sum, &works[i], &problem) == CTSC_OK);
    for (int i = 8; i-- > 0;) {
        HOLDS(ctsc_dist_work_wait(works[i], -1, &problem) == CTSC_OK);
        ctsc_dist_work_free(works[i]);
    }
    HOLDS(x == 6561); /* 3 to the power of 8 */
    ctsc_dist_call message = {self ? CTSC_DIST_SEND : CTSC_DIST_RECV,
                              0,
                              self ? 0 : -1,
                              7,
                              -1,
                              self != 0,
                              self == 0,
                              &t,
                              &t};
    x = (float)(10 * self);
    if (self == 0) {
        float sum_of = 0;
        for (int i = 1; i < world; i++) {
            HOLDS(ctsc_dist_run(all, &message, NULL, &problem) == CTSC_OK);
            sum_of += x;
        }
        HOLDS(sum_of == 30);
    } else HOLDS(ctsc_dist_run(all, &message, NULL, &problem) == CTSC_OK);
}

static void test_groups(void **state) {
    (void)state;
    if (!lacks_gloo()) run_ranks(3, rank_groups, -1);
}

/* ---- faults ---------------------------------------------------------------------------------- */

static bool says(const char *part) { return strstr(problem.message, part) != NULL; }

static void rank_differs(void) {
    float data[8] = {0};
    int64_t count = self == 1 ? 6 : 5;
    ctsc_dist_tensor t = {data, CTSC_FLOAT32, 1, &count, NULL};
    ctsc_dist_group_set_timeout(all, 1000);
    HOLDS(call(CTSC_DIST_ALL_REDUCE, 0, 0, 1, &t, 1, &t) != CTSC_OK);
    HOLDS(says("all_reduce number 0 of group all") && says("rank 1"));
}

static void rank_lost(void) {
    float x = 0;
    int64_t none[1] = {0};
    ctsc_dist_tensor t = {&x, CTSC_FLOAT32, 0, none, NULL};
    HOLDS(call(CTSC_DIST_ALL_REDUCE, 0, 0, 1, &t, 1, &t) == CTSC_OK);
    if (self == 1) usleep(200000), raise(SIGKILL); /* what it has sent is there by then */
    HOLDS(call(CTSC_DIST_ALL_REDUCE, 0, 0, 1, &t, 1, &t) == CTSC_FAILED);
    HOLDS(says("all_reduce number 1 of group all") && says("lost rank "));
}

static void test_faults(void **state) {
    (void)state;
    if (lacks_gloo()) return;
    run_ranks(2, rank_differs, -1);
    run_ranks(3, rank_lost, 1);
}

static void test_refused(void **state) {
    (void)state;
    ctsc_dist_group *g = NULL;
    float x = 0;
    int64_t none[1] = {0};
    ctsc_dist_tensor t = {&x, CTSC_FLOAT32, 0, none, NULL}, odd = {&x, 999, 0, none, NULL};
    ctsc_dist_call sum = {CTSC_DIST_ALL_REDUCE, CTSC_DIST_BAND, 0, 0, -1, 1, 1, &t, &t};
    assert_int_equal(ctsc_dist_init("none", NULL, 0, 1, 1, "g", &g, &problem), CTSC_ENVIRONMENT);
    assert_int_equal(ctsc_dist_init("local", NULL, 0, 2, 1, "g", &g, &problem), CTSC_FAILED);
    assert_int_equal(ctsc_dist_init("local", NULL, 0, 1, 1, "g", &g, &problem), CTSC_OK);
    assert_int_equal(ctsc_dist_run(g, &sum, NULL, &problem), CTSC_USAGE);
    sum.in = sum.out = &odd;
    assert_int_not_equal(ctsc_dist_run(g, &sum, NULL, &problem), CTSC_OK);
    sum.in = sum.out = &t;
    sum.reduce = CTSC_DIST_SUM;
    assert_int_equal(ctsc_dist_run(g, &sum, NULL, &problem), CTSC_OK);
    ctsc_dist_group_free(g);
}

/* ---- launchers ------------------------------------------------------------------------------- */

static void clear_launcher(void) {
    static const char *const names[] = {"RANK",
                                        "WORLD_SIZE",
                                        "MASTER_ADDR",
                                        "MASTER_PORT",
                                        "OMPI_COMM_WORLD_SIZE",
                                        "PMI_SIZE",
                                        "SLURM_PROCID",
                                        "SLURM_NTASKS",
                                        "SLURM_JOB_ID",
                                        "SLURM_STEP_NUM_TASKS",
                                        "SLURM_JOB_NODELIST",
                                        "SLURM_STEP_NODELIST"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) unsetenv(names[i]);
}

/* As srun starts it: the store is on the first of the machines, at a port of the job. */
static void rank_launched(void) {
    ctsc_dist_store *kept = NULL;
    ctsc_dist_group *g = NULL;
    char text[16];
    int32_t x = 1;
    int64_t none[1] = {0};
    ctsc_dist_tensor t = {&x, CTSC_INT32, 0, none, NULL};
    ctsc_dist_call sum = {CTSC_DIST_ALL_REDUCE, CTSC_DIST_SUM, 0, 0, -1, 1, 1, &t, &t};
    clear_launcher();
    HOLDS(ctsc_dist_init_launched(TEST_MS, "0", &kept, &g, &problem) == CTSC_OK && !g && !kept);
    snprintf(text, sizeof text, "%d", self);
    setenv("SLURM_PROCID", text, 1);
    snprintf(text, sizeof text, "%d", world);
    setenv("SLURM_NTASKS", text, 1);
    setenv("SLURM_STEP_NODELIST", "127.0.0.[1-3,7],127.0.0.9", 1);
    snprintf(text, sizeof text, "%d", (int)getppid() % 10000);
    setenv("SLURM_JOB_ID", text, 1);
    setenv("CTSC_DIST_SECRET", SECRET, 1);
    ctsc_status st = ctsc_dist_init_launched(TEST_MS, "0", &kept, &g, &problem);
    if (st == CTSC_ENVIRONMENT && says("libzmq")) return;
    HOLDS(st == CTSC_OK && ctsc_dist_size(g) == world && ctsc_dist_rank(g) == self);
    HOLDS(ctsc_dist_run(g, &sum, NULL, &problem) == CTSC_OK && x == world);
    ctsc_dist_group_free(g);
    ctsc_dist_store_free(kept);
}

static void test_launched(void **state) {
    (void)state;
    if (!lacks_gloo()) run_ranks(2, rank_launched, -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_collectives), cmocka_unit_test(test_groups),
        cmocka_unit_test(test_faults),      cmocka_unit_test(test_refused),
        cmocka_unit_test(test_launched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
