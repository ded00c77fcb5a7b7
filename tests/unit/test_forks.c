/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_forks.c - torch.jit.fork and wait: bodies do run beside their callers, and nobody can tell:
 * results, errors, prints and limits are those of one thread at every level of optimisation.
 */
#include "support.h"

#include "base/text/strbuf.h"
#include "base/threads/thread_pool.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

enum { LEVELS = 3, MANY = 4 };

static ctsc_module *forks_module(const char *source, int opt) {
    ctsc_module *m = NULL;
    ctsc_error *e = ctsc_error_new();
    ctsc_status s = ctsc_module_compile_text("forks.py", source, strlen(source), NULL, &m, e);
    if (s == CTSC_OK) s = ctsc_module_set_opt(m, opt, e);
    if (s != CTSC_OK) fail_msg("%s", ctsc_error_message(e));
    ctsc_error_free(e);
    return m;
}

static void forks_print(void *ctx, const char *text, size_t len) { sb_write(ctx, text, len); }

/* What a call with the int n prints, and then its result or its error with all places. */
static char *forks_outcome(const ctsc_module *m, int64_t n, ctsc_run_options o) {
    strbuf sb = STRBUF_INIT;
    ctsc_error *e = ctsc_error_new();
    ctsc_value *arg = ctsc_int_new(n), *out = NULL;
    o.size = sizeof o;
    o.print = forks_print;
    o.ctx = &sb;
    ctsc_status s = ctsc_module_run(m, "forward", 1, &arg, &o, &out, e);
    char *text = s == CTSC_OK ? ctsc_value_print(out) : ctsc_error_render(e, false);
    sb_printf(&sb, "%d %s", s, text);
    ctsc_string_free(text);
    ctsc_value_free(out);
    ctsc_value_free(arg);
    ctsc_error_free(e);
    return sb_take(&sb);
}

/* The outcome with one thread at level 0 is that of every level, number of threads, and further
 * call. expected NULL: whatever it is. */
static void forks_agree(const char *source, int64_t n, const char *expected) {
    char *want = NULL;
    for (int opt = 0; opt < LEVELS; opt++) {
        for (int threads = 1; threads <= MANY; threads++) {
            ctsc_module *m = forks_module(source, opt);
            pool_set_threads(threads);
            for (int round = 0; round < 3; round++) {
                char *got = forks_outcome(m, n, (ctsc_run_options){0});
                if (!want && expected) assert_string_equal(got, expected);
                if (!want) want = mem_strdup(got);
                if (strcmp(got, want))
                    fail_msg("level %d, %d threads, round %d: %s\nnot: %s\n%s", opt, threads, round,
                             got, want, source);
                mem_free(got);
            }
            ctsc_module_free(m);
        }
    }
    mem_free(want);
    pool_set_threads(0);
}

/* ---- do they run beside each other? ---------------------------------------------------------- */

static atomic_int forks_inside, forks_most;

/* forks::meet(n): waits until n calls are inside at the same time; false if that does not
 * happen for long. */
static ctsc_status forks_meet(void *ctx, size_t nargs, ctsc_value *const *args,
                              ctsc_value **results, ctsc_error *e) {
    (void)ctx, (void)nargs, (void)e;
    int64_t n = ctsc_value_int(args[0]);
    int inside = ++forks_inside;
    if (inside > forks_most) forks_most = inside;
    for (int i = 0; i < 10000 && forks_most < n; i++) usleep(1000);
    results[0] = ctsc_bool_new(forks_most >= n);
    return results[0] ? CTSC_OK : CTSC_LIMIT;
}

static bool forks_met(const char *source, int opt, int threads, int64_t n, ctsc_run_options o) {
    ctsc_module *m = forks_module(source, opt);
    forks_inside = forks_most = 0;
    pool_set_threads(threads);
    char *got = forks_outcome(m, n, o);
    bool met = !strcmp(got, "0 True");
    if (!met) assert_string_equal(got, "0 False");
    mem_free(got);
    ctsc_module_free(m);
    pool_set_threads(0);
    return met;
}

static const char forks_pair[] = "import torch\n"
                                 "def body(n: int) -> bool:\n"
                                 "    return torch.ops.forks.meet(n)\n"
                                 "def forward(n: int) -> bool:\n"
                                 "    f = torch.jit.fork(body, n)\n"
                                 "    mine = torch.ops.forks.meet(n)\n"
                                 "    return torch.jit.wait(f) and mine\n";

/* A body and what it forks, and two of the same frame. */
static const char forks_nested_pairs[] = "import torch\n"
                                         "def inner(n: int) -> bool:\n"
                                         "    return torch.ops.forks.meet(n)\n"
                                         "def outer(n: int) -> bool:\n"
                                         "    f = torch.jit.fork(inner, n)\n"
                                         "    mine = torch.ops.forks.meet(n)\n"
                                         "    return torch.jit.wait(f) and mine\n"
                                         "def forward(n: int) -> bool:\n"
                                         "    f = torch.jit.fork(outer, n)\n"
                                         "    g = torch.jit.fork(outer, n)\n"
                                         "    return torch.jit.wait(f) and torch.jit.wait(g)\n";

static void test_apart(void **state) {
    (void)state;
    for (int opt = 0; opt < LEVELS; opt++) {
        assert_true(forks_met(forks_pair, opt, 2, 2, (ctsc_run_options){0}));
        assert_true(forks_met(forks_nested_pairs, opt, 4, 4, (ctsc_run_options){0}));
    }
}

/* One thread, counted steps or bytes: at once. */
static void test_at_once(void **state) {
    (void)state;
    forks_inside = 0;
    for (int opt = 0; opt < LEVELS; opt++) {
        char *got;
        ctsc_module *m = forks_module(forks_pair, opt);
        const struct {
            int threads;
            ctsc_run_options o;
        } cases[] = {{1, {0}}, {4, {.max_steps = 1000}}, {4, {.max_bytes = 1 << 20}}};
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            forks_inside = forks_most = 0;
            pool_set_threads(cases[i].threads);
            got = forks_outcome(m, 1, cases[i].o);
            assert_string_equal(got, "0 True");
            assert_int_equal(forks_inside, 2);
            mem_free(got);
        }
        ctsc_module_free(m);
    }
    pool_set_threads(0);
}

/* ---- what programs see ----------------------------------------------------------------------- */

#define HEAD                                                                                       \
    "import torch\nfrom typing import Dict, List, Optional, Tuple\nfrom torch import Tensor\n"

static void test_many(void **state) {
    (void)state;
    forks_agree(HEAD "def body(i: int, x: Tensor) -> Tensor:\n"
                     "    for k in range(i % 7):\n"
                     "        x = x * 2 + k\n"
                     "    return x\n"
                     "def forward(n: int):\n"
                     "    x = torch.arange(4)\n"
                     "    futures: List[torch.jit.Future[Tensor]] = []\n"
                     "    for i in range(n):\n"
                     "        futures.append(torch.jit.fork(body, i, x + i))\n"
                     "    total = torch.zeros(4)\n"
                     "    for f in futures:\n"
                     "        total = total + torch.jit.wait(f)\n"
                     "    return total, torch.jit.wait(futures[0]), len(futures)\n",
                200, NULL);
    /* more than a frame keeps under way */
    forks_agree(HEAD "def body(i: int) -> int:\n"
                     "    return i * i\n"
                     "def forward(n: int):\n"
                     "    futures = [torch.jit.fork(body, i) for i in range(n)]\n"
                     "    return sum([torch.jit.wait(f) for f in futures])\n",
                1000, "0 332833500");
}

/* Six levels, two forks each; and one that waits in the opposite order. */
static void test_nested(void **state) {
    (void)state;
    strbuf sb = STRBUF_INIT;
    sb_puts(&sb, HEAD "def f0(x: int) -> int:\n    return x * x % 1009\n");
    for (int k = 1; k <= 6; k++)
        sb_printf(&sb,
                  "def f%d(x: int) -> int:\n    a = torch.jit.fork(f%d, x + 1)\n    b = "
                  "torch.jit.fork(f%d, x * 2)\n"
                  "    return torch.jit.wait(b) * 3 + torch.jit.wait(a)\n",
                  k, k - 1, k - 1);
    sb_puts(&sb,
            "def forward(n: int):\n    return f6(n), torch.jit.wait(torch.jit.fork(f6, n + 1))\n");
    forks_agree(sb_str(&sb), 5, NULL);
    sb_free(&sb);
}

static void test_containers(void **state) {
    (void)state;
    forks_agree(HEAD "def body(x: Tensor, k: int) -> Tuple[Tensor, int]:\n"
                     "    return x + k, k\n"
                     "def last(fs: List[torch.jit.Future[Tuple[Tensor, int]]]) -> int:\n"
                     "    return torch.jit.wait(fs[-1])[1]\n"
                     "def again(f: torch.jit.Future[Tuple[Tensor, int]]) -> int:\n"
                     "    return torch.jit.wait(f)[1] + 1\n"
                     "def forward(n: int):\n"
                     "    x = torch.ones(3)\n"
                     "    pair = (torch.jit.fork(body, x, 1), torch.jit.fork(body, x, 2))\n"
                     "    named: Dict[str, torch.jit.Future[Tuple[Tensor, int]]] = {}\n"
                     "    for i in range(n):\n"
                     "        named[str(i)] = torch.jit.fork(body, x, i)\n"
                     "    fs = [named['0'], named['1'], pair[0]]\n"
                     "    maybe: Optional[torch.jit.Future[Tuple[Tensor, int]]] = None\n"
                     "    if n > 2:\n"
                     "        maybe = torch.jit.fork(body, x, 9)\n"
                     "    g = torch.jit.fork(again, pair[1])\n"
                     "    t = 0\n"
                     "    if maybe is not None:\n"
                     "        t = torch.jit.wait(maybe)[1]\n"
                     "    return last(fs), torch.jit.wait(g), t, [torch.jit.wait(f)[0] for f in "
                     "named.values()], torch.jit.wait(pair[0])\n",
                5, NULL);
}

/* Writes keep their place in the order of the program, on either side of the fork. */
static void test_writes(void **state) {
    (void)state;
    forks_agree(
        HEAD "def total(x: Tensor, l: List[int]) -> Tensor:\n"
             "    s = x.sum()\n"
             "    for i in range(200):\n"
             "        s = s + x.sum() * 0 + l[0]\n"
             "    return s\n"
             "def bump(x: Tensor) -> int:\n"
             "    x.add_(1)\n"
             "    return 1\n"
             "def same(x: Tensor) -> Tensor:\n"
             "    return x[1:]\n"
             "def forward(n: int):\n"
             "    x = torch.ones(100)\n"
             "    l = [1]\n"
             "    a = torch.jit.fork(total, x, l)\n"
             "    x[0] = 5\n"
             "    b = torch.jit.fork(total, x, l)\n"
             "    l[0] = 7\n"
             "    c = torch.jit.fork(bump, x)\n"
             "    d = torch.jit.fork(total, x, l)\n"
             "    e = torch.jit.wait(torch.jit.fork(same, x))\n"
             "    e.mul_(2)\n"
             "    f = torch.jit.fork(total, x, l)\n"
             "    y = x.t()\n"
             "    y.zero_()\n"
             "    return [torch.jit.wait(k) for k in [a, b, d, f]], torch.jit.wait(c), x.sum()\n",
        1, NULL);
    forks_agree("import torch\n"
                "class Main(torch.nn.Module):\n"
                "    def __init__(self):\n"
                "        super().__init__()\n"
                "        self.n = 3\n"
                "        self.w = torch.nn.Parameter(torch.ones(4, 4))\n"
                "        self.register_buffer('b', torch.ones(4))\n"
                "    def read(self, x: int):\n"
                "        return self.n * x, (self.w @ self.b).sum()\n"
                "    def write(self, x: int):\n"
                "        self.n += x\n"
                "        self.b.add_(1)\n"
                "        return self.n\n"
                "    def forward(self, k: int):\n"
                "        a = torch.jit.fork(self.read, k)\n"
                "        self.n = 4\n"
                "        b = torch.jit.fork(self.read, k)\n"
                "        c = torch.jit.fork(self.write, k)\n"
                "        d = torch.jit.fork(self.read, k)\n"
                "        self.b = torch.zeros(4)\n"
                "        e = torch.jit.fork(self.read, k)\n"
                "        r = torch.jit.wait(a), torch.jit.wait(b), torch.jit.wait(c), "
                "torch.jit.wait(d), torch.jit.wait(e)\n"
                "        self.n = 3\n"
                "        self.b = torch.ones(4)\n"
                "        return r\n",
                5, NULL);
}

static void test_effects(void **state) {
    (void)state;
    forks_agree(HEAD "def noisy(i: int) -> int:\n"
                     "    print('body', i)\n"
                     "    return i\n"
                     "def draw(i: int) -> Tensor:\n"
                     "    return torch.rand(i)\n"
                     "def forward(n: int):\n"
                     "    a = torch.jit.fork(noisy, 1)\n"
                     "    print('after')\n"
                     "    b = torch.jit.fork(draw, 3)\n"
                     "    c = torch.rand(2)\n"
                     "    d = torch.jit.fork(draw, 2)\n"
                     "    e = torch.nn.functional.dropout(c, 0.5, True)\n"
                     "    return torch.jit.wait(a), torch.jit.wait(d), torch.jit.wait(b), c, e\n",
                1, NULL);
}

#define FAILING                                                                                    \
    HEAD "def fails(i: int) -> int:\n"                                                             \
         "    if i > 2:\n"                                                                         \
         "        raise ValueError('too large')\n"                                                 \
         "    return i\n"                                                                          \
         "def around(i: int) -> int:\n"                                                            \
         "    a = torch.jit.fork(fails, i)\n"                                                      \
         "    return torch.jit.wait(a)\n"

static void test_errors(void **state) {
    (void)state;
    /* waited for, in the order of the waits */
    forks_agree(FAILING "def forward(n: int):\n"
                        "    a = torch.jit.fork(fails, n)\n"
                        "    b = torch.jit.fork(around, n + 1)\n"
                        "    c = torch.jit.fork(fails, 1)\n"
                        "    print('on')\n"
                        "    r = torch.jit.wait(c)\n"
                        "    return r + torch.jit.wait(b) + torch.jit.wait(a)\n",
                3, NULL);
    /* not waited for */
    forks_agree(FAILING "def forward(n: int):\n"
                        "    a = torch.jit.fork(fails, n)\n"
                        "    for i in range(n):\n"
                        "        b = torch.jit.fork(around, i)\n"
                        "    return n\n",
                20, "0 20");
    /* the caller fails while bodies run */
    forks_agree(FAILING "def forward(n: int):\n"
                        "    fs = [torch.jit.fork(around, i) for i in range(n)]\n"
                        "    if n > 3:\n"
                        "        raise RuntimeError('mine')\n"
                        "    return len(fs)\n",
                20, NULL);
    /* in an operator, three forks deep */
    forks_agree(HEAD "def bad(i: int) -> Tensor:\n"
                     "    return torch.ones(2, i) + torch.ones(3, i)\n"
                     "def two(i: int) -> Tensor:\n"
                     "    return torch.jit.wait(torch.jit.fork(bad, i))\n"
                     "def one(i: int) -> Tensor:\n"
                     "    f = torch.jit.fork(two, i)\n"
                     "    return torch.jit.wait(f)\n"
                     "def forward(n: int):\n"
                     "    f = torch.jit.fork(one, n)\n"
                     "    y = torch.ones(n)\n"
                     "    return torch.jit.wait(f) + y\n",
                4, NULL);
}

/* ---- limits ---------------------------------------------------------------------------------- */

static const char forks_forever[] = "import torch\n"
                                    "def body(n: int) -> int:\n"
                                    "    s = 0\n"
                                    "    while n > 0:\n"
                                    "        s = (s + n) % 1000\n"
                                    "    return s\n"
                                    "def outer(n: int) -> int:\n"
                                    "    a = torch.jit.fork(body, n)\n"
                                    "    b = torch.jit.fork(body, n)\n"
                                    "    return torch.jit.wait(b) + torch.jit.wait(a)\n"
                                    "def forward(n: int) -> int:\n"
                                    "    fs = [torch.jit.fork(outer, n) for i in range(10)]\n"
                                    "    return sum([torch.jit.wait(f) for f in fs])\n";

static void *forks_cancel_soon(void *c) {
    usleep(30000);
    ctsc_cancel_set(c);
    return NULL;
}

static void test_cancel(void **state) {
    (void)state;
    ctsc_cancel *c = ctsc_cancel_new();
    for (int opt = 0; opt < LEVELS; opt++)
        for (int threads = 1; threads <= MANY; threads++) {
            pthread_t other;
            ctsc_module *m = forks_module(forks_forever, opt);
            pool_set_threads(threads);
            ctsc_cancel_clear(c);
            assert_int_equal(pthread_create(&other, NULL, forks_cancel_soon, c), 0);
            char *cancelled = forks_outcome(m, 1, (ctsc_run_options){.cancel = c});
            pthread_join(other, NULL);
            assert_non_null(strstr(cancelled, "the program was cancelled"));
            char *late = forks_outcome(m, 1, (ctsc_run_options){.timeout_us = 30000});
            assert_non_null(strstr(late, "the program exceeded its limit of time"));
            char *after = forks_outcome(m, 0, (ctsc_run_options){0});
            assert_string_equal(after, "0 0");
            mem_free(cancelled), mem_free(late), mem_free(after);
            ctsc_module_free(m);
        }
    ctsc_cancel_free(c);
    pool_set_threads(0);
}

/* The same number of steps is enough, and one less is too few, however many threads there are. */
static void test_steps(void **state) {
    (void)state;
    static const char source[] = "import torch\n"
                                 "def body(n: int) -> int:\n"
                                 "    s = 0\n"
                                 "    for i in range(n):\n"
                                 "        s += i * i\n"
                                 "    return s\n"
                                 "def forward(n: int) -> int:\n"
                                 "    a = torch.jit.fork(body, n)\n"
                                 "    b = torch.jit.fork(body, n * 2)\n"
                                 "    return torch.jit.wait(a) + torch.jit.wait(b)\n";
    for (int opt = 0; opt < LEVELS; opt++) {
        uint64_t enough[2];
        for (int threads = 1; threads <= 2; threads++) {
            ctsc_module *m = forks_module(source, opt);
            pool_set_threads(threads);
            uint64_t low = 1, high = 100000;
            while (low < high) {
                uint64_t mid = (low + high) / 2;
                char *got = forks_outcome(m, 20, (ctsc_run_options){.max_steps = mid});
                if (got[0] == '0') high = mid;
                else low = mid + 1;
                mem_free(got);
            }
            enough[threads - 1] = low;
            ctsc_module_free(m);
        }
        assert_int_equal(enough[0], enough[1]);
    }
    pool_set_threads(0);
}

/* ---- many callers ---------------------------------------------------------------------------- */

enum { CALLERS = 6 };

static const char forks_callers[] = HEAD
    "def leaf(x: Tensor, k: int) -> Tensor:\n"
    "    return (torch.mm(x, x) * k).relu() + 1\n"
    "def branch(x: Tensor, k: int) -> Tensor:\n"
    "    a = torch.jit.fork(leaf, x, k)\n"
    "    b = torch.jit.fork(leaf, x, k + 1)\n"
    "    return torch.jit.wait(b) - torch.jit.wait(a)\n"
    "def forward(n: int):\n"
    "    x = torch.ones(48, 48)\n"
    "    fs = [torch.jit.fork(branch, x, i) for i in range(n)]\n"
    "    return torch.stack([torch.jit.wait(f) for f in fs]).sum()\n";

typedef struct forks_caller { const ctsc_module *m; const char *want; bool differs; } forks_caller;

static void *forks_call_often(void *ctx) {
    forks_caller *c = ctx;
    for (int i = 0; i < 30; i++) {
        char *got = forks_outcome(c->m, 12, (ctsc_run_options){0});
        c->differs |= strcmp(got, c->want) != 0;
        mem_free(got);
    }
    return NULL;
}

static void test_callers(void **state) {
    (void)state;
    ctsc_module *m = forks_module(forks_callers, 2);
    pool_set_threads(1);
    char *want = forks_outcome(m, 12, (ctsc_run_options){0});
    assert_int_equal(want[0], '0');
    pool_set_threads(3);
    pthread_t threads[CALLERS];
    forks_caller callers[CALLERS];
    for (int i = 0; i < CALLERS; i++) {
        callers[i] = (forks_caller){m, want, false};
        assert_int_equal(pthread_create(&threads[i], NULL, forks_call_often, &callers[i]), 0);
    }
    for (int i = 0; i < CALLERS; i++) {
        pthread_join(threads[i], NULL);
        assert_false(callers[i].differs);
    }
    mem_free(want);
    ctsc_module_free(m);
    pool_set_threads(0);
}

static int forks_register(void **state) {
    (void)state;
    return ctsc_register_op("forks::meet(int n) -> bool", forks_meet, NULL, NULL, NULL) == CTSC_OK
               ? 0
               : -1;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_apart),      cmocka_unit_test(test_at_once),
        cmocka_unit_test(test_many),       cmocka_unit_test(test_nested),
        cmocka_unit_test(test_containers), cmocka_unit_test(test_writes),
        cmocka_unit_test(test_effects),    cmocka_unit_test(test_errors),
        cmocka_unit_test(test_cancel),     cmocka_unit_test(test_steps),
        cmocka_unit_test(test_callers),
    };
    return cmocka_run_group_tests(tests, forks_register, NULL);
}
