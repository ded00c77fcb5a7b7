/* SPDX-License-Identifier: Apache-2.0 */
/* test_float_mode.c - denormal numbers flushed: the thread's mode, chunks and tasks of the pool,
 * calls of the library, kernels that are kept, and what a profiler says of them. */
#include "support.h"

#include "base/threads/float_mode.h"
#include "base/threads/thread_pool.h"
#include "ctsc.h"

#include <pthread.h>

enum { NUMBERS = 1 << 20, TASKS = 8, TASK_WAITS = 1000 };

/* Denormal numbers and their products, computed when asked. */
static float tiny(void) {
    volatile float x = 1e-39f;
    return x;
}

static bool flushes(void) {
    volatile float x = tiny() * 0.5f;
    uint32_t bits;
    float y = x;
    memcpy(&bits, &y, sizeof bits);
    return bits == 0;
}

static int setup(void **state) {
    (void)state;
    if (!float_mode_can_flush()) skip();
    return 0;
}

static int teardown(void **state) {
    (void)state;
    float_mode_set_flush(false);
    pool_set_threads(0);
    return 0;
}

/* ---- the thread's mode ----------------------------------------------------------------------- */

static void mode_thread(void **state) {
    (void)state;
    assert_false(flushes());
    float_mode none = float_mode_begin();
    assert_false(flushes());
    float_mode_end(none);
    float_mode outer = float_mode_flush();
    assert_true(flushes());
    assert_true(float_mode_flush() == FLOAT_MODE_SAME);
    float_mode inner = float_mode_plain();
    assert_false(flushes());
    float_mode_end(inner);
    assert_true(flushes());
    float_mode_end(outer);
    assert_false(flushes());
    assert_true(float_mode_plain() == FLOAT_MODE_SAME);
}

static void mode_process(void **state) {
    (void)state;
    assert_true(float_mode_set_flush(true));
    assert_true(flushes()); /* the calling thread at once */
    float_mode_plain();     /* as another thread of the program */
    float_mode outer = float_mode_begin();
    assert_true(flushes());
    float_mode inner = float_mode_begin(); /* a call within */
    float_mode_end(inner);
    assert_true(flushes());
    float_mode_end(outer);
    assert_false(flushes());
    assert_true(float_mode_set_flush(false));
    float_mode_end(float_mode_begin());
    assert_false(flushes());
}

static void mode_noted(void **state) {
    (void)state;
    float_mode_take();
    assert_false(float_mode_met());
    volatile float x = 1e-10f;
    x = x * x;
    assert_false(float_mode_met());
    flushes();
    assert_true(float_mode_met());
    assert_true(float_mode_take());
    assert_false(float_mode_take());
    float_mode_note();
    float_mode outer = float_mode_flush();
    float_mode_end(outer); /* what was noted stays */
    assert_true(float_mode_take());
    /* for others: without what is noted */
    float_mode plain = float_mode_get();
    float_mode_note();
    assert_true(float_mode_get() == plain);
    float_mode before = float_mode_use(plain);
    assert_false(float_mode_met());
    float_mode_use(before);
    assert_true(float_mode_take());
}

/* ---- the pool -------------------------------------------------------------------------------- */

typedef struct numbers { float *in, *out; } numbers;

static void numbers_halve(void *ctx, int64_t begin, int64_t end) {
    const numbers *n = ctx;
    for (int64_t i = begin; i < end; i++) n->out[i] = n->in[i] * 0.5f;
}

static int64_t numbers_zero(const numbers *n) {
    int64_t zero = 0;
    for (int i = 0; i < NUMBERS; i++) {
        uint32_t bits;
        memcpy(&bits, &n->out[i], sizeof bits);
        zero += bits == 0;
    }
    return zero;
}

/* All chunks have the mode of the thread that makes the call, whichever it is, and
 * whatever was before. */
static void pool_chunks(void **state) {
    numbers n = {malloc(NUMBERS * sizeof(float)), malloc(NUMBERS * sizeof(float))};
    (void)state;
    assert_non_null(n.in);
    assert_non_null(n.out);
    pool_set_threads(4);
    for (int round = 0; round < 50; round++) {
        bool flush = round % 2, normal = round % 4 >= 2;
        for (int i = 0; i < NUMBERS; i++) n.in[i] = normal ? 0.5f : 1e-39f;
        float_mode outer = flush ? float_mode_flush() : FLOAT_MODE_SAME;
        float_mode_take();
        pool_for(NUMBERS, 256, numbers_halve, &n);
        bool met = float_mode_take();
        float_mode_end(outer);
        assert_int_equal(numbers_zero(&n), flush && !normal ? NUMBERS : 0);
        if (normal || !flush) assert_int_equal(met, !normal);
    }
    free(n.in);
    free(n.out);
}

/* What a helper alone met is noted for the thread that it helps: the caller's own chunks
 * have no denormal number. */
typedef struct apart { pthread_t caller; atomic_int others; } apart;

static void apart_chunk(void *ctx, int64_t begin, int64_t end) {
    apart *a = ctx;
    (void)begin, (void)end;
    if (pthread_equal(pthread_self(), a->caller)) {
        for (int i = 0; i < TASK_WAITS && !atomic_load(&a->others); i++) sched_yield();
        return;
    }
    flushes();
    atomic_fetch_add(&a->others, 1);
}

static void pool_noted(void **state) {
    (void)state;
    pool_set_threads(4);
    for (int i = 0; i < 20; i++) {
        apart a = {.caller = pthread_self()};
        float_mode_take();
        pool_for(64, 1, apart_chunk, &a);
        assert_int_equal(float_mode_take(), atomic_load(&a.others) > 0);
    }
}

typedef struct task { pool_task task; bool flushed; } task;

static void task_run(pool_task *t) { ((task *)t)->flushed = flushes(); }

static void pool_tasks(void **state) {
    task tasks[TASKS];
    (void)state;
    pool_set_threads(3);
    for (int flush = 0; flush < 2; flush++) {
        float_mode outer = flush ? float_mode_flush() : FLOAT_MODE_SAME;
        bool offered[TASKS];
        for (int i = 0; i < TASKS; i++) {
            tasks[i] = (task){.task.run = task_run, .task.maker = &tasks, .flushed = !flush};
            offered[i] = pool_offer(&tasks[i].task);
        }
        float_mode_end(outer);
        for (int i = 0; i < TASKS; i++)
            if (offered[i]) { /* run by the pool, or by this thread as its helper */
                pool_wait(&tasks[i].task);
                assert_int_equal(tasks[i].flushed, flush);
            }
        assert_false(flushes());
    }
}

/* ---- calls ----------------------------------------------------------------------------------- */

static ctsc_module *compile(const char *text, int opt) {
    ctsc_module *m = NULL;
    ctsc_error *e = ctsc_error_new();
    if (ctsc_module_compile_text("net.py", text, strlen(text), NULL, &m, e) != CTSC_OK)
        fail_msg("%s", ctsc_error_message(e));
    assert_int_equal(ctsc_module_set_opt(m, opt, e), CTSC_OK);
    ctsc_error_free(e);
    return m;
}

static ctsc_value *filled(size_t ndim, const int64_t *sizes, float x) {
    ctsc_value *t = NULL;
    assert_int_equal(ctsc_tensor_new(CTSC_FLOAT32, ndim, sizes, &t, NULL), CTSC_OK);
    float *data = ctsc_tensor_data(t);
    int64_t n = 1;
    for (size_t i = 0; i < ndim; i++) n *= sizes[i];
    for (int64_t i = 0; i < n; i++) data[i] = x;
    return t;
}

/* How many elements of the result are not zero, bit by bit. */
static int64_t nonzero(const ctsc_module *m, ctsc_value *x, ctsc_profiler *p) {
    ctsc_value *y = NULL;
    ctsc_error *e = ctsc_error_new();
    ctsc_run_options o = {.size = sizeof o, .profiler = p};
    if (ctsc_module_run(m, "forward", 1, &x, &o, &y, e) != CTSC_OK)
        fail_msg("%s", ctsc_error_message(e));
    ctsc_error_free(e);
    const float *data = ctsc_tensor_data(y);
    int64_t n = 1, count = 0;
    for (int i = 0; i < ctsc_tensor_ndim(y); i++) n *= ctsc_tensor_sizes(y)[i];
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &data[i], sizeof bits);
        count += (bits & 0x7fffffff) != 0;
    }
    ctsc_value_free(y);
    return count;
}

/* Pointwise operators and kernels, products, convolutions, a layer with packed weights, a fork, and
 * a loop that becomes a kernel. */
static const struct {
    const char *text;
    size_t ndim;
    int64_t sizes[4];
    float x;
} programs[] = {
    {"def forward(x):\n    return x * x * 0.5\n", 2, {500, 300}, 1e-20f},
    {"import torch\ndef forward(x):\n    return torch.mm(x, x)\n", 2, {160, 160}, 1e-21f},
    {"import torch\n"
     "class Main(torch.nn.Module):\n"
     "    def __init__(self):\n"
     "        super().__init__()\n"
     "        self.a = torch.nn.Linear(256, 200, bias=False)\n"
     "        self.a.weight.data.fill_(1e-21)\n"
     "    def forward(self, x):\n"
     "        return torch.relu(self.a(x))\n",
     2,
     {48, 256},
     1e-21f},
    {"import torch\n"
     "class Main(torch.nn.Module):\n"
     "    def __init__(self):\n"
     "        super().__init__()\n"
     "        self.a = torch.nn.Conv2d(16, 32, 3, bias=False)\n"
     "        self.a.weight.data.fill_(1e-21)\n"
     "    def forward(self, x):\n"
     "        return self.a(x)\n",
     4,
     {1, 16, 40, 40},
     1e-21f},
    {"import torch\n"
     "def body(x):\n"
     "    return x * x\n"
     "def forward(x):\n"
     "    a = torch.jit.fork(body, x)\n"
     "    b = torch.jit.fork(body, x * 0.5)\n"
     "    return torch.cat([torch.jit.wait(a), torch.jit.wait(b)])\n",
     2,
     {300, 300},
     1e-20f},
    {"import torch\n"
     "def forward(x):\n"
     "    y = torch.zeros_like(x)\n"
     "    for i in range(x.size(0)):\n"
     "        y[i] = x[i] * x[i]\n"
     "    return y\n",
     1,
     {200},
     1e-20f},
};
enum { PROGRAMS = sizeof programs / sizeof *programs };

static void call_programs(void **state) {
    (void)state;
    for (int i = 0; i < PROGRAMS; i++)
        for (int opt = 0; opt < 4; opt++) {
            ctsc_module *m = compile(programs[i].text, opt);
            ctsc_value *x = filled(programs[i].ndim, programs[i].sizes, programs[i].x);
            pool_set_threads(opt == 2 ? 4 : 2);
            int64_t all = nonzero(m, x, NULL);
            assert_true(all > 0);
            for (int call = 0; call < 6; call++) {
                assert_true(ctsc_set_flush_denormals(call % 2 == 0));
                float_mode_plain(); /* as any other thread */
                int64_t got = nonzero(m, x, NULL);
                if (got != (call % 2 ? all : 0))
                    fail_msg("program %d, --opt %d, call %d: %lld of %lld are not zero", i, opt,
                             call, (long long)got, (long long)all);
                assert_false(flushes());
            }
            ctsc_value_free(x);
            ctsc_module_free(m);
        }
}

/* A thread that flushes by itself has calls that do, without the process's setting. */
static void call_own_mode(void **state) {
    ctsc_module *m = compile(programs[1].text, 2);
    ctsc_value *x = filled(programs[1].ndim, programs[1].sizes, programs[1].x);
    (void)state;
    pool_set_threads(4);
    float_mode outer = float_mode_flush();
    for (int i = 0; i < 5; i++) assert_int_equal(nonzero(m, x, NULL), 0);
    assert_true(flushes());
    float_mode_end(outer);
    assert_int_equal(nonzero(m, x, NULL), 160 * 160);
    ctsc_value_free(x);
    ctsc_module_free(m);
}

/* A kernel that was made by calls that flush has its numbers as they are. */
static void call_kernels(void **state) {
    (void)state;
    for (int background = 0; background < 2; background++) {
        ctsc_set_compiling(background ? CTSC_COMPILE_BACKGROUND : CTSC_COMPILE_IN_CALLS);
        ctsc_module *m = compile(background
                                     ? "def forward(x):\n    return (x + 1e-40) * 3 * (x + 1)\n"
                                     : "def forward(x):\n    return (x + 1e-40) * 2 * (x + 1)\n",
                                 2);
        ctsc_value *x = filled(1, (int64_t[]){1000}, 0);
        ctsc_set_flush_denormals(true);
        for (int i = 0; i < 4; i++) {
            assert_int_equal(nonzero(m, x, NULL), 0);
            ctsc_wait_for_kernels(0);
        }
        ctsc_set_flush_denormals(false);
        for (int i = 0; i < 4; i++) assert_int_equal(nonzero(m, x, NULL), 1000);
        ctsc_value_free(x);
        ctsc_module_free(m);
    }
    ctsc_set_compiling(CTSC_COMPILE_IN_CALLS);
}

/* A program says it itself, where it is compiled; the thread is as it was. */
static void call_program_sets(void **state) {
    (void)state;
    ctsc_module *m = compile("import torch\n"
                             "before = float((torch.tensor([1e-20]) * 1e-20).item())\n"
                             "assert before > 0\n"
                             "assert torch.set_flush_denormal(True) is True\n"
                             "assert float((torch.tensor([1e-20]) * 1e-20).item()) == 0\n"
                             "def forward(x):\n"
                             "    return x * x\n",
                             2);
    assert_false(flushes());
    ctsc_value *x = filled(1, (int64_t[]){64}, 1e-20f);
    assert_int_equal(nonzero(m, x, NULL), 0);
    ctsc_set_flush_denormals(false);
    assert_int_equal(nonzero(m, x, NULL), 64);
    ctsc_value_free(x);
    ctsc_module_free(m);
    ctsc_error *e = ctsc_error_new();
    const char text[] =
        "import torch\ntorch.set_flush_denormal(1)\ndef forward(x):\n    return x\n";
    assert_int_equal(ctsc_module_compile_text("net.py", text, sizeof text - 1, NULL, &m, e),
                     CTSC_FAILED);
    assert_non_null(strstr(ctsc_error_message(e), "flush_denormal expects a bool, but got int"));
    ctsc_error_free(e);
}

/* Gradients of x * 1e-20 are 1e-20 times what comes in: 1e-40. */
static void call_gradients(void **state) {
    ctsc_module *m = compile("def forward(x):\n    return (x * 1e-20).sum() * 1e-20\n", 2);
    (void)state;
    ctsc_error *e = ctsc_error_new();
    assert_int_equal(ctsc_module_set_gradients(m, true, e), CTSC_OK);
    for (int flush = 0; flush < 2; flush++) {
        ctsc_value *x = filled(1, (int64_t[]){32}, 1), *y = NULL;
        assert_int_equal(ctsc_value_set_requires_grad(x, true, e), CTSC_OK);
        assert_int_equal(ctsc_module_run(m, "forward", 1, &x, NULL, &y, e), CTSC_OK);
        ctsc_set_flush_denormals(flush);
        float_mode_plain();
        assert_int_equal(ctsc_backward(y, NULL, 0, NULL, e), CTSC_OK);
        ctsc_set_flush_denormals(false);
        ctsc_value *g = ctsc_value_grad(x);
        uint32_t bits;
        memcpy(&bits, ctsc_tensor_data(g), sizeof bits);
        assert_int_equal(bits == 0, flush);
        ctsc_value_free(g), ctsc_value_free(y), ctsc_value_free(x);
    }
    ctsc_error_free(e);
    ctsc_module_free(m);
}

static void *other_thread(void *ctx) {
    ctsc_value *x = filled(programs[0].ndim, programs[0].sizes, programs[0].x);
    int64_t *out = ctx;
    out[0] = flushes();
    out[1] = nonzero((const ctsc_module *)(intptr_t)out[2], x, NULL);
    out[0] += flushes();
    ctsc_value_free(x);
    return NULL;
}

/* Threads that were there before, and those that come later. */
static void call_other_threads(void **state) {
    ctsc_module *m = compile(programs[0].text, 2);
    pthread_t thread;
    (void)state;
    ctsc_set_flush_denormals(true);
    float_mode_plain();
    for (int i = 0; i < 3; i++) {
        int64_t out[3] = {0, 0, (int64_t)(intptr_t)m};
        assert_int_equal(pthread_create(&thread, NULL, other_thread, out), 0);
        pthread_join(thread, NULL);
        assert_int_equal(out[0], 0);
        assert_int_equal(out[1], 0);
    }
    ctsc_module_free(m);
}

/* ---- profiles -------------------------------------------------------------------------------- */

typedef struct met { const char *name; uint64_t count, denormal; } met;

static void profile_look(void *ctx, const ctsc_profile_entry *e) {
    met *m = ctx;
    if (strcmp(e->name, m->name) != 0) return;
    m->count += e->count;
    m->denormal += e->denormal;
}

static met profile_met(const ctsc_profiler *p, const char *name) {
    met m = {.name = name};
    assert_int_equal(ctsc_profiler_visit(p, CTSC_PROFILE_OPERATORS, profile_look, &m), CTSC_OK);
    return m;
}

/* mm makes denormal numbers, relu reads them, neg has others; the same with threads that help. */
static void profile_denormals(void **state) {
    ctsc_module *m = compile("import torch\n"
                             "def forward(x):\n"
                             "    y = torch.neg(x)\n"
                             "    y = torch.mm(x, y)\n"
                             "    return torch.tanh(y) + torch.sqrt(x)\n",
                             0);
    (void)state;
    for (int threads = 1; threads < 5; threads += 3) {
        ctsc_profiler *p = ctsc_profiler_new(NULL);
        ctsc_value *x = filled(2, (int64_t[]){300, 300}, 1e-21f),
                   *z = filled(2, (int64_t[]){300, 300}, 1);
        pool_set_threads(threads);
        float_mode_take();
        nonzero(m, x, p);
        assert_false(float_mode_met()); /* what the profile looks at is nobody else's */
        nonzero(m, z, p);
        assert_int_equal(profile_met(p, "aten::mm").count, 2);
        assert_int_equal(profile_met(p, "aten::mm").denormal, 1);
        assert_int_equal(profile_met(p, "aten::tanh").denormal, 1);
        assert_int_equal(profile_met(p, "aten::neg").denormal, 0);
        assert_int_equal(profile_met(p, "aten::sqrt").denormal, 0);
        assert_int_equal(profile_met(p, "aten::sqrt").count, 2);
        char *json = ctsc_profiler_json(p);
        assert_non_null(strstr(json, "\"denormal\": 1"));
        ctsc_string_free(json);
        float_mode_note();
        nonzero(m, z, p);
        assert_true(float_mode_take());
        assert_int_equal(profile_met(p, "aten::mm").denormal, 1);
        ctsc_value_free(x), ctsc_value_free(z);
        ctsc_profiler_free(p);
    }
    ctsc_module_free(m);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(mode_thread),       TEST(mode_process),   TEST(mode_noted),
        TEST(pool_chunks),       TEST(pool_noted),     TEST(pool_tasks),
        TEST(call_programs),     TEST(call_own_mode),  TEST(call_kernels),
        TEST(call_program_sets), TEST(call_gradients), TEST(call_other_threads),
        TEST(profile_denormals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
