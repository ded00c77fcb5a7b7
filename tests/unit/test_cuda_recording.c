/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_cuda_recording.c - calls that are recorded and replayed (src/runtime/cuda/recordings.h), on
 * the simulated device.
 *
 * Each program runs on the CPU as well, which is what the device's results are compared with.
 */
#include "cuda_support.h"

#include "cuda/replay.h"
#include "runtime/api/api.h"
#include "runtime/cuda/recordings.h"

#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>

/* ---- programs and arguments ------------------------------------------------------------------ */

static ctsc_module *module_of(const char *text, const char *device) {
    ctsc_error *e = ctsc_error_new();
    ctsc_module *m = NULL;
    if (ctsc_module_compile_text("test.py", text, strlen(text), NULL, &m, e) != CTSC_OK ||
        ctsc_module_to(m, device, e) != CTSC_OK) {
        fprintf(stderr, "%s\n%s\n", text, ctsc_error_message(e));
        _exit(1);
    }
    /* compiles nothing */
    if (!strcmp(device, "cpu")) CHILD_CHECK(ctsc_module_set_opt(m, 0, NULL) == CTSC_OK);
    ctsc_error_free(e);
    return m;
}

/* rows x 4: first, first + 1, ... */
static ctsc_value *matrix(const char *device, int64_t rows, float first) {
    const int64_t sizes[] = {rows, 4};
    ctsc_value *host, *there;
    CHILD_CHECK(ctsc_tensor_new(CTSC_FLOAT32, 2, sizes, &host, NULL) == CTSC_OK);
    for (int64_t k = 0; k < 4 * rows; k++) ((float *)ctsc_tensor_data(host))[k] = first + (float)k;
    CHILD_CHECK(ctsc_value_to(host, device, &there, NULL) == CTSC_OK);
    ctsc_value_free(host);
    return there;
}

static ctsc_value *run(ctsc_module *m, const char *method, ctsc_value *x) {
    ctsc_error *e = ctsc_error_new();
    ctsc_value *y = NULL;
    if (ctsc_module_run(m, method, x ? 1 : 0, &x, NULL, &y, e) != CTSC_OK) {
        fprintf(stderr, "%s\n", ctsc_error_message(e));
        _exit(1);
    }
    ctsc_error_free(e);
    return y;
}

static bool close_to(const ctsc_value *got, const ctsc_value *want) {
    char *why = NULL;
    bool ok = ctsc_value_close(got, want, 1e-5, 1e-6, &why);
    if (!ok) fprintf(stderr, "%s\n", why);
    ctsc_string_free(why);
    return ok;
}

/* A program on the CPU and on the device. */
typedef struct twins { ctsc_module *here, *there; } twins;

static twins twins_of(const char *text) {
    return (twins){module_of(text, "cpu"), module_of(text, "cuda")};
}

static void twins_free(twins t) {
    ctsc_module_free(t.here);
    ctsc_module_free(t.there);
}

/* Calls both with the same; the argument is compared, too: it may be written to. */
static void agree(twins t, const char *method, int64_t rows, float first) {
    ctsc_value *a = matrix("cpu", rows, first), *b = matrix("cuda", rows, first);
    ctsc_value *want = run(t.here, method, a), *got = run(t.there, method, b);
    CHILD_CHECK(close_to(got, want) && close_to(b, a));
    ctsc_value_free(a), ctsc_value_free(b), ctsc_value_free(want), ctsc_value_free(got);
}

static int64_t replayed(void) { return recordings_get_stats().replayed; }

static cuda *device(void) {
    cuda *c = NULL;
    CHILD_CHECK(cuda_open(NULL, 0, &c) == CTSC_OK);
    return c;
}

#define PROGRAM(body) "import torch\n@torch.jit.script\ndef forward(x: torch.Tensor):\n" body

static const char fused[] = PROGRAM("    return torch.relu(x * 2 - 1) + x.sigmoid()\n");
/* Several launches, intermediate results, two results. */
static const char longer[] = PROGRAM(
    "    y = x @ x.t()\n    z = torch.softmax(y, 1).cumsum(0)\n    w = (z @ x).sort(1)[0]\n"
    "    return w @ w.t(), w.view(4, -1)\n");
static const char *const net = "import torch\n"
                               "class Net(torch.nn.Module):\n"
                               "    def __init__(self):\n"
                               "        super().__init__()\n"
                               "        self.l = torch.nn.Linear(4, 4)\n"
                               "        self.register_buffer('mean', torch.zeros(4))\n"
                               "        self.k = 2\n"
                               "    def forward(self, x: torch.Tensor):\n"
                               "        y = torch.tanh(self.l(x))\n"
                               "        self.mean.mul_(0.5).add_(y.mean(0))\n"
                               "        return y * self.k, self.mean + 0\n"
                               "    @torch.jit.export\n"
                               "    def scale(self, x: torch.Tensor):\n"
                               "        self.l.weight.mul_(x[0])\n"
                               "    @torch.jit.export\n"
                               "    def replace(self, x: torch.Tensor):\n"
                               "        self.mean = x[0].clone()\n"
                               "        self.k += 1\n";

/* ---- what is replayed ------------------------------------------------------------------------ */

static void child_replays(void) {
    sim_use();
    twins t = twins_of(fused), l = twins_of(longer);
    for (int i = 0; i < 6; i++) {
        agree(t, "forward", 3, (float)i);
        agree(l, "forward", 4, (float)i / 10);
    }
    recordings_stats s = recordings_get_stats();
    CHILD_CHECK(s.recorded == 2 && s.refused == 0 && s.replayed == 8 && s.dropped == 0);
    cuda_replay_stats r = cuda_get_replay_stats(device());
    CHILD_CHECK(r.made == 2 && r.played == 8 && r.graphs >= 1 && r.launched >= 4);
    twins_free(t);
    twins_free(l);
    cuda_empty_cache(device());
}

static void child_replays_lazy(void) {
    setenv("CTSC_SIM_LAZY", "1", 1);
    child_replays();
}

static void child_no_graphs(void) {
    setenv("CTSC_SIM_NO_CAPTURE", "1", 1);
    sim_use();
    twins l = twins_of(longer);
    for (int i = 0; i < 6; i++) agree(l, "forward", 4, (float)i);
    CHILD_CHECK(replayed() == 4 && cuda_get_replay_stats(device()).graphs == 0);
    twins_free(l);
}

static void child_off(void) {
    setenv("CTSC_CUDA_REPLAY", "0", 1);
    sim_use();
    twins t = twins_of(fused);
    for (int i = 0; i < 6; i++) agree(t, "forward", 3, (float)i);
    CHILD_CHECK(recordings_get_stats().recorded == 0 && replayed() == 0);
    twins_free(t);
}

/* What is made on the host of sizes and numbers is the same each time. */
static void child_host_values(void) {
    sim_use();
    twins t = twins_of(PROGRAM("    y = torch.arange(float(x.size(0) + 1), device=x.device)[:4]\n"
                               "    return x * y + torch.zeros(4, device=x.device), torch.full((2, "
                               "2), 7, device=x.device), x + torch.tensor(2.5)\n"));
    for (int i = 0; i < 6; i++) agree(t, "forward", 3 + i / 4, (float)i);
    CHILD_CHECK(recordings_get_stats().recorded == 2 && recordings_get_stats().refused == 0);
    twins_free(t);
}

/* Results stay what they are, and each is a tensor of its own. */
static void child_results_stay(void) {
    enum { CALLS = 8 };
    sim_use();
    twins l = twins_of(longer);
    ctsc_value *got[CALLS], *want[CALLS];
    for (int i = 0; i < CALLS; i++) {
        ctsc_value *a = matrix("cpu", 4, (float)i), *b = matrix("cuda", 4, (float)i);
        want[i] = run(l.here, "forward", a), got[i] = run(l.there, "forward", b);
        ctsc_value_free(a), ctsc_value_free(b);
    }
    twins_free(l);
    for (int i = 0; i < CALLS; i++) {
        CHILD_CHECK(close_to(got[i], want[i]));
        ctsc_value_free(got[i]), ctsc_value_free(want[i]);
    }
}

/* Sizes that change, and come back; more of them than are kept. */
static void child_shapes(void) {
    sim_use();
    twins t = twins_of(fused);
    for (int i = 0; i < 12; i++) agree(t, "forward", 2 + i % 3, (float)i);
    CHILD_CHECK(recordings_get_stats().recorded == 3 && replayed() > 3);
    for (int i = 0; i < 60; i++) agree(t, "forward", 10 + i / 2, (float)i);
    CHILD_CHECK(recordings_get_stats().recorded == 33);
    agree(t, "forward", 2, 0);
    twins_free(t);
}

/* Elements of parameters may change, also by what is replayed; attributes that are replaced make an
 * end to a recording. */
static void child_modules(void) {
    sim_use();
    twins t = twins_of(net);
    for (int i = 0; i < 5; i++) agree(t, "forward", 3, (float)i);
    int64_t before = replayed();
    CHILD_CHECK(before >= 2);
    agree(t, "scale", 1, 0.5f);
    agree(t, "forward", 3, 1);
    CHILD_CHECK(replayed() == before + 1 && recordings_get_stats().dropped == 0);
    agree(t, "replace", 1, 3);
    for (int i = 0; i < 4; i++) agree(t, "forward", 3, (float)i);
    CHILD_CHECK(recordings_get_stats().dropped == 1 && replayed() > before + 1);
    /* To the CPU and back: all of it is made again. */
    CHILD_CHECK(ctsc_module_to(t.there, "cpu", NULL) == CTSC_OK &&
                ctsc_module_to(t.there, "cuda", NULL) == CTSC_OK);
    for (int i = 0; i < 4; i++) agree(t, "forward", 3, (float)i);
    twins_free(t);
}

/* Arguments that are written to, returned, returned as views. */
static void child_arguments(void) {
    sim_use();
    twins t = twins_of(PROGRAM("    x.mul_(2).add_(1)\n    return x, x[1:], x.t() + 1\n"));
    for (int i = 0; i < 5; i++) agree(t, "forward", 3, (float)i);
    CHILD_CHECK(replayed() == 3);
    ctsc_value *x = matrix("cuda", 3, 1), *y = run(t.there, "forward", x),
               *first = ctsc_value_item(y, 0), *tail = ctsc_value_item(y, 1);
    CHILD_CHECK(first->v.u.tensor == x->v.u.tensor &&
                tail->v.u.tensor->storage == x->v.u.tensor->storage &&
                tail->v.u.tensor->offset == 4);
    ctsc_value_free(x), ctsc_value_free(y), ctsc_value_free(first), ctsc_value_free(tail);
    twins_free(t);
}

/* ---- what is not ----------------------------------------------------------------------------- */

static const char *const refused[] = {
    PROGRAM("    if bool(x.sum() > 30):\n        return x * 2\n    return x + 1\n"),
    PROGRAM("    return x + x[0, 0].item()\n"),
    PROGRAM("    return torch.nonzero(x > 5)\n"),
    PROGRAM("    return x * torch.rand(1).item()\n"),
    PROGRAM("    return x + torch.rand(4).to(x.device)\n"),
    PROGRAM("    return torch.nn.functional.dropout(x, 0.5, True)\n"),
    PROGRAM("    print('called')\n    return x + 1\n"),
    PROGRAM("    x.resize_(2, 2)\n    return x + 1\n"),
    PROGRAM("    return torch.jit.wait(torch.jit.fork(torch.relu, x))\n"),
    "import torch\nclass Net(torch.nn.Module):\n    def __init__(self):\n        "
    "super().__init__()\n        self.n = 0\n"
    "    def forward(self, x: torch.Tensor):\n        self.n += 1\n        return x * self.n\n",
    "from typing import List\nimport torch\nclass Net(torch.nn.Module):\n    seen: List[int]\n    "
    "def __init__(self):\n        super().__init__()\n"
    "        self.seen = [1]\n    def forward(self, x: torch.Tensor):\n        "
    "self.seen.append(x.size(0))\n        return x * len(self.seen)\n",
};

static void child_refused(void) {
    sim_use();
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        twins t = twins_of(refused[i]);
        for (int k = 0; k < 5; k++) agree(t, "forward", 3, (float)k * 3);
        if (replayed()) fprintf(stderr, "%s", refused[i]);
        CHILD_CHECK(replayed() == 0);
        twins_free(t);
    }
    CHILD_CHECK(recordings_get_stats().recorded == 0 && recordings_get_stats().refused > 0);
}

/* ---- memory, threads, time ------------------------------------------------------------------- */

/* Memory that runs out takes a recording's; a call that finds none fails as ever, and
 * the next goes on. */
static void child_memory(void) {
    sim_use();
    twins l = twins_of(longer);
    cuda *c = device();
    void *rest = NULL;
    for (int i = 0; i < 4; i++) agree(l, "forward", 64, 0.001f * (float)i);
    int64_t before = replayed();
    CHILD_CHECK(before > 0);
    cuda_set_memory_limit(c, cuda_get_memory_stats(c).reserved);
    CHILD_CHECK(cuda_alloc(c, NULL, 1 << 30, &rest) == CTSC_LIMIT); /* flushes */
    cuda_set_memory_limit(c, 0);
    agree(l, "forward", 64, 0.001f);
    CHILD_CHECK(replayed() == before + 1);
    ctsc_value *x = matrix("cuda", 64, 0), *y = NULL;
    cuda_empty_cache(c);
    cuda_set_memory_limit(c, 1);
    for (void *p; cuda_alloc(c, NULL, 512, &p) == CTSC_OK;) continue; /* nothing is left */
    CHILD_CHECK(ctsc_module_run(l.there, "forward", 1, &x, NULL, &y, NULL) == CTSC_LIMIT && !y);
    cuda_set_memory_limit(c, 0);
    agree(l, "forward", 64, 0.001f);
    CHILD_CHECK(replayed() == before + 2);
    ctsc_value_free(x);
    twins_free(l);
}

static twins threads_twins;

static void *threads_body(void *arg) {
    for (int i = 0; i < 40; i++) agree(threads_twins, "forward", 3 + i % 2, (float)i);
    return arg;
}

static void child_threads(void) {
    pthread_t threads[2];
    sim_use();
    threads_twins = twins_of(longer);
    for (int i = 0; i < 2; i++)
        CHILD_CHECK(pthread_create(&threads[i], NULL, threads_body, NULL) == 0);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    CHILD_CHECK(replayed() > 20);
    twins_free(threads_twins);
}

/* How often the host has waited for the simulated device. */
static long long waits(void) {
    void *library = dlopen(sim_file(), RTLD_NOW | RTLD_NOLOAD);
    long long (*count)(void) = NULL;
    CHILD_CHECK(library && (*(void **)&count = dlsym(library, "cudasim_waits")));
    long long n = count();
    dlclose(library);
    return n;
}

/* Nobody waits before a result is read, replayed or not. */
static void check_never_waits(ctsc_module *m, ctsc_value *x) {
    /* kernels are compiled, memory is taken */
    for (int i = 0; i < 2; i++) ctsc_value_free(run(m, "forward", x));
    int64_t before = replayed();
    long long waited = waits();
    for (int i = 0; i < 20; i++) ctsc_value_free(run(m, "forward", x));
    CHILD_CHECK(waits() == waited && replayed() == before + 20);
    ctsc_value *y = run(m, "forward", x);
    CHILD_CHECK(ctsc_value_close(y, y, 0, 0, NULL) && waits() > waited);
    ctsc_value_free(y);
    ctsc_value_free(x);
    ctsc_module_free(m);
}

static void child_never_waits(void) {
    ctsc_module *m;
    ctsc_value *all, *there, *x;
    sim_use();
    check_never_waits(module_of(fused, "cuda"), matrix("cuda", 3, 1));
    check_never_waits(module_of(longer, "cuda"), matrix("cuda", 4, 1));
    CHILD_CHECK(ctsc_module_load("tests/corpus/models/mlp_script/model.pt", &m, NULL) == CTSC_OK &&
                ctsc_module_to(m, "cuda", NULL) == CTSC_OK);
    CHILD_CHECK(ctsc_value_load("tests/corpus/models/mlp_script/inputs.pt", &all, NULL) == CTSC_OK);
    x = ctsc_value_item(all, 0);
    CHILD_CHECK(ctsc_value_to(x, "cuda", &there, NULL) == CTSC_OK);
    ctsc_value_free(x);
    ctsc_value_free(all);
    check_never_waits(m, there);
}

/* CTSC_TEST_CALLS: more of them (make test-cuda-repeat). */
static void child_no_growth(void) {
    const char *text = getenv("CTSC_TEST_CALLS");
    long calls = text ? atol(text) : 2000;
    sim_use();
    ctsc_module *m = module_of(fused, "cuda");
    ctsc_value *x = matrix("cuda", 3, 1);
    size_t heap = 0, live = 0, reserved = 0;
    for (long i = 0; i < calls; i++) {
        ctsc_value_free(run(m, "forward", x));
        cuda_memory_stats s = cuda_get_memory_stats(device());
        if (i == 100) heap = mallinfo2().uordblks, live = s.live, reserved = s.reserved;
        CHILD_CHECK(i <= 100 || (s.live == live && s.reserved == reserved));
    }
    CHILD_CHECK(mallinfo2().uordblks <= heap + 4096 && replayed() == calls - 2);
    ctsc_value_free(x);
    ctsc_module_free(m);
    CHILD_CHECK(cuda_get_memory_stats(device()).live == 0);
}

#define TEST(name)                                                                                 \
    static void name(void **state) {                                                               \
        (void)state;                                                                               \
        in_child(child_##name);                                                                    \
    }
TEST(replays)
TEST(replays_lazy)
TEST(no_graphs)
TEST(off)
TEST(host_values)
TEST(results_stay)
TEST(shapes)
TEST(modules)
TEST(arguments)
static void refusals(void **state) {
    (void)state;
    in_child(child_refused);
}
static void scarce(void **state) {
    (void)state;
    in_child(child_memory);
}
TEST(threads)
TEST(never_waits)
TEST(no_growth)

int main(void) {
    if (access(sim_file(), R_OK) != 0) {
        print_message("skipped: there is no %s\n", sim_file());
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replays),     cmocka_unit_test(replays_lazy),
        cmocka_unit_test(no_graphs),   cmocka_unit_test(off),
        cmocka_unit_test(host_values), cmocka_unit_test(results_stay),
        cmocka_unit_test(shapes),      cmocka_unit_test(modules),
        cmocka_unit_test(arguments),   cmocka_unit_test(refusals),
        cmocka_unit_test(scarce),      cmocka_unit_test(threads),
        cmocka_unit_test(never_waits), cmocka_unit_test(no_growth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
