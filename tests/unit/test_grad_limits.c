/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_grad_limits.c - programs that take gradients end at each of a call's limits, wherever it
 * falls, within their backward passes too: CTSC_LIMIT, nothing kept that was not there before, and
 * the next call without limits gives what it always did, to the last bit.
 *
 * Method: a limit (steps, bytes, time, the moment of cancellation) grows from nothing until the
 * call succeeds. On the tape (level 1), and captured (level 3), by calls of a module that is warm,
 * and by the first ones of new modules.
 */
#include "support.h"

#include "base/clock.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

enum { SIDE = 24, ROUNDS = 3, GUARD = 240 /* seconds after which a call does not end */ };

static const char *const programs[] = {
    /* what is captured */
    "def forward(x):\n"
    "    y = x.detach().requires_grad_()\n"
    "    z = y\n"
    "    for i in range(12):\n"
    "        z = torch.tanh(torch.mm(z, y)) + z\n"
    "    g = torch.autograd.grad([z.sum()], [y])[0]\n"
    "    assert g is not None\n"
    "    return z.detach(), g\n",
    /* a branch that asks for elements: taped at every level */
    "def forward(x):\n"
    "    y = x.detach().requires_grad_()\n"
    "    z = y\n"
    "    for i in range(12):\n"
    "        z = torch.tanh(torch.mm(z, y)) + z\n"
    "        if float(z.sum()) > 1e30:\n"
    "            z = z * 2\n"
    "    z.sum().backward()\n"
    "    g = y.grad\n"
    "    assert g is not None\n"
    "    return z.detach(), g\n",
    /* second order */
    "def forward(x):\n"
    "    y = x.detach().requires_grad_()\n"
    "    z = torch.tanh(torch.mm(y, y)).sigmoid().pow(3).sum()\n"
    "    g = torch.autograd.grad([z], [y], create_graph=True)[0]\n"
    "    assert g is not None\n"
    "    h = torch.autograd.grad([g.pow(2).sum()], [y])[0]\n"
    "    assert h is not None\n"
    "    return g.detach(), h\n",
};
enum { PROGRAMS = sizeof programs / sizeof *programs };

static ctsc_module *compiled(int program, int level) {
    char text[1000];
    ctsc_module *m = NULL;
    ctsc_error *e = ctsc_error_new();
    snprintf(text, sizeof text, "import torch\n%s", programs[program]);
    if (ctsc_module_compile_text("t.py", text, strlen(text), NULL, &m, e) != CTSC_OK)
        fail_msg("%s: %s", text, ctsc_error_message(e));
    assert_int_equal(ctsc_module_set_opt(m, level, e), CTSC_OK);
    ctsc_error_free(e);
    return m;
}

static ctsc_value *input(void) {
    ctsc_value *x = NULL;
    int64_t sizes[2] = {SIDE, SIDE};
    assert_int_equal(ctsc_tensor_new(CTSC_FLOAT32, 2, sizes, &x, NULL), CTSC_OK);
    for (int i = 0; i < SIDE * SIDE; i++)
        ((float *)ctsc_tensor_data(x))[i] = (float)(i * 37 % 101 - 50) * 0.002f;
    return x;
}

static ctsc_status run(const ctsc_module *m, ctsc_value *x, const ctsc_run_options *o,
                       ctsc_value **out) {
    ctsc_error *e = ctsc_error_new();
    *out = NULL;
    ctsc_status s = ctsc_module_run(m, "forward", 1, &x, o, out, e);
    if (s != CTSC_OK && s != CTSC_LIMIT) fail_msg("status %d: %s", s, ctsc_error_message(e));
    if (s != CTSC_OK) assert_null(*out);
    ctsc_error_free(e);
    return s;
}

/* ---- the limits ------------------------------------------------------------------------------ */

typedef struct moment {
    ctsc_cancel *c;
    uint64_t us;
    atomic_bool begun;
} moment;

static void *cancel_later(void *ctx) {
    moment *m = ctx;
    uint64_t end = clock_now() + m->us * 1000;
    atomic_store(&m->begun, true);
    while (clock_now() < end) {
    }
    ctsc_cancel_set(m->c);
    return NULL;
}

typedef enum { BY_STEPS, BY_BYTES, BY_TIME, BY_CANCEL, KINDS } limit;

/* What is limited: a call of m, or, without m, a pass over what was recorded of x. */
static ctsc_status call_or_pass(const ctsc_module *m, ctsc_value *x, ctsc_value *sum,
                                const ctsc_run_options *o, ctsc_value **out) {
    if (m) return run(m, x, o, out);
    ctsc_error *e = ctsc_error_new();
    *out = NULL;
    ctsc_status s = ctsc_grad(1, &sum, NULL, 1, &x, CTSC_RETAIN_GRAPH, o, out, e);
    if (s == CTSC_OK) s = ctsc_backward(sum, NULL, CTSC_RETAIN_GRAPH, o, e);
    if (s != CTSC_OK && s != CTSC_LIMIT) fail_msg("%s", ctsc_error_message(e));
    ctsc_error_free(e);
    return s;
}

static ctsc_status run_limited(const ctsc_module *m, ctsc_value *x, ctsc_value *sum, limit kind,
                               uint64_t size, ctsc_value **out) {
    ctsc_run_options o = {.size = sizeof o};
    moment when = {.us = size};
    pthread_t other;
    if (kind == BY_STEPS) o.max_steps = size;
    else if (kind == BY_BYTES) o.max_bytes = size * 64;
    else if (kind == BY_TIME) o.timeout_us = size;
    else {
        o.cancel = when.c = ctsc_cancel_new();
        assert_int_equal(pthread_create(&other, NULL, cancel_later, &when), 0);
        while (!atomic_load(&when.begun)) {
        }
    }
    alarm(GUARD);
    ctsc_status s = call_or_pass(m, x, sum, &o, out);
    alarm(0);
    if (when.c) pthread_join(other, NULL), ctsc_cancel_free(when.c);
    return s;
}

static const char *const names[] = {"steps", "bytes", "time", "cancellation"};

static void check_same(ctsc_value *got, const ctsc_value *want, const char *what) {
    char *why = NULL;
    if (!ctsc_value_close(got, want, 0, 0, &why)) fail_msg("%s: %s", what, why);
    ctsc_value_free(got);
}

/* The limit grows by a part of itself until the call succeeds; how often it failed. */
static int grow(int program, int level, limit kind, bool warm, ctsc_value *x) {
    char what[100];
    ctsc_module *m = compiled(program, level);
    ctsc_value *want[ROUNDS] = {NULL}, *out = NULL;
    int failed = 0, rounds = warm ? ROUNDS : 1;
    snprintf(what, sizeof what, "program %d, level %d, %s%s", program, level, names[kind],
             warm ? ", warm" : "");
    for (int i = 0; i < rounds; i++) assert_int_equal(run(m, x, NULL, &want[i]), CTSC_OK);
    ctsc_status s = CTSC_LIMIT;
    for (uint64_t size = 1; s != CTSC_OK; size += 1 + size / 4, failed += s != CTSC_OK) {
        ctsc_module *fresh = warm ? m : compiled(program, level);
        s = run_limited(fresh, x, NULL, kind, size, &out);
        ctsc_value_free(out);
        assert_int_equal(run(fresh, x, NULL, &out), CTSC_OK);
        /* a first call may be another program than later ones */
        if (warm) check_same(out, want[rounds - 1], what);
        else {
            if (!ctsc_value_close(out, want[0], 1e-5, 1e-6, NULL)) fail_msg("%s", what);
            ctsc_value_free(out);
            ctsc_module_free(fresh);
        }
    }
    for (int i = 0; i < rounds; i++) ctsc_value_free(want[i]);
    ctsc_module_free(m);
    return failed;
}

/* The same of passes that a program in C asks for. Gradients of leaves add up; what a pass that
 * ended early has added is part of that. */
static void test_passes(void **state) {
    (void)state;
    ctsc_scope *scope = ctsc_scope_new();
    ctsc_error *e = ctsc_error_new();
    ctsc_value *x = input(), *want = NULL, *out = NULL;
    assert_int_equal(ctsc_value_set_requires_grad(x, true, e), CTSC_OK);
    ctsc_scope_set_gradients(scope, true);
    ctsc_value *z = x;
    for (int i = 0; i < 12; i++) z = ctsc_add(scope, ctsc_tanh(scope, ctsc_mm(scope, z, x)), z);
    ctsc_value *sum = ctsc_sum(scope, z);
    assert_int_equal(call_or_pass(NULL, x, sum, NULL, &want), CTSC_OK);
    for (limit kind = 0; kind < KINDS; kind++) {
        int failed = 0;
        for (uint64_t size = 1;; size += 1 + size / 4, failed++) {
            ctsc_status s = run_limited(NULL, x, sum, kind, size, &out);
            if (out) check_same(out, want, names[kind]);
            if (s == CTSC_OK) break;
        }
        if (kind == BY_STEPS || kind == BY_BYTES) assert_true(failed > 2);
        print_message("passes, %s: %d were stopped\n", names[kind], failed);
    }
    ctsc_value_free(want);
    ctsc_value_free(x);
    ctsc_scope_free(scope);
    ctsc_error_free(e);
}

static counting count;

static void test_limits(bool bytes) {
    ctsc_value *x = input();
    for (int program = 0; program < PROGRAMS; program++)
        for (int level = 1; level <= 3; level += 2)
            for (limit kind = 0; kind < KINDS; kind++)
                for (int warm = 0; warm < 2; warm++) {
                    if ((kind == BY_BYTES) != bytes) continue;
                    /* the first fills tables of the process */
                    int failed = bytes ? 0 : grow(program, level, kind, warm, x);
                    long live = count.live;
                    failed += grow(program, level, kind, warm, x);
                    if (count.live > live)
                        fail_msg("program %d, level %d, %s: %ld blocks leaked", program, level,
                                 names[kind], count.live - live);
                    /* a warm captured call lives in memory that the module keeps */
                    if (kind == BY_STEPS || (bytes && !(warm && level == 3)))
                        assert_true(failed > 2);
                    print_message("program %d, level %d, %s%s: %d calls were stopped\n", program,
                                  level, names[kind], warm ? ", warm" : "", failed);
                }
    ctsc_value_free(x);
}

static void test_bytes(void **state) {
    (void)state;
    test_limits(true);
}

static void test_others(void **state) {
    (void)state;
    ctsc_set_allocator(counting_hook, &count); /* stays: the library's singletons are in it */
    test_limits(false);
}

/* ---- cancelled by what the pass itself calls ------------------------------------------------- */

typedef struct seen {
    ctsc_cancel *c;
    int calls;
    bool cancels;
} seen;

static ctsc_status hook(void *ctx, const ctsc_value *grad, unsigned flags, ctsc_value **out,
                        ctsc_error *e) {
    seen *s = ctx;
    (void)grad, (void)flags, (void)out, (void)e;
    s->calls++;
    if (s->cancels) ctsc_cancel_set(s->c);
    return CTSC_OK;
}

static const char inner[] = "import torch\n"
                            "def forward(x, h):\n"
                            "    loss = torch.tanh(torch.mm(h, h)).sum()\n"
                            "    g = torch.autograd.grad([loss], [x], retain_graph=True)[0]\n"
                            "    assert g is not None\n"
                            "    return g\n";

/* The hook of a tensor in the middle of the graph cancels the call; the graph is of the caller, and
 * serves the next one. */
static void test_within(void **state) {
    (void)state;
    ctsc_scope *scope = ctsc_scope_new();
    ctsc_error *e = ctsc_error_new();
    ctsc_module *m = NULL;
    ctsc_value *args[2] = {input(), NULL}, *out = NULL, *want = NULL;
    seen s = {.c = ctsc_cancel_new()};
    assert_int_equal(ctsc_module_compile_text("t.py", inner, sizeof inner - 1, NULL, &m, e),
                     CTSC_OK);
    assert_int_equal(ctsc_value_set_requires_grad(args[0], true, e), CTSC_OK);
    ctsc_scope_set_gradients(scope, true);
    args[1] = ctsc_exp(scope, ctsc_mul(scope, args[0], args[0]));
    assert_int_equal(ctsc_value_add_hook(args[1], 0, hook, &s, NULL, NULL, e), CTSC_OK);
    ctsc_run_options o = {.size = sizeof o, .cancel = s.c};
    for (int level = 0; level <= 3; level++) {
        assert_int_equal(ctsc_module_set_opt(m, level, e), CTSC_OK);
        for (int i = 0; i < 4; i++) {
            s.cancels = i % 2 == 0;
            s.calls = 0;
            ctsc_status got = ctsc_module_run(m, "forward", 2, args, &o, &out, e);
            if (got != (s.cancels ? CTSC_LIMIT : CTSC_OK))
                fail_msg("level %d: status %d: %s", level, got, ctsc_error_message(e));
            assert_int_equal(s.calls, 1);
            ctsc_cancel_clear(s.c);
            if (s.cancels) continue;
            if (!want) want = ctsc_value_copy(out);
            if (!ctsc_value_close(out, want, 1e-6, 1e-6, NULL)) fail_msg("level %d", level);
            ctsc_value_free(out);
        }
    }
    ctsc_value_free(want);
    ctsc_value_free(args[0]);
    ctsc_module_free(m);
    ctsc_scope_free(scope);
    ctsc_cancel_free(s.c);
    ctsc_error_free(e);
}

/* A call that is recorded holds no more at once than one that is not: each of the 120 gradients
 * that are added up has 1 MiB. */
static void test_recorded(void **state) {
    (void)state;
    static const char text[] = "import torch\n"
                               "def forward(x):\n"
                               "    y = x.detach().requires_grad_()\n"
                               "    h = y[0].unsqueeze(0)\n"
                               "    for i in range(120):\n"
                               "        h = torch.tanh(torch.mm(h, y))\n"
                               "    g = torch.autograd.grad([h.sum()], [y])[0]\n"
                               "    assert g is not None\n"
                               "    return g\n";
    enum { WIDE = 512 };
    int64_t sizes[2] = {WIDE, WIDE};
    ctsc_value *x = NULL, *out, *first = NULL;
    ctsc_module *m = NULL;
    ctsc_error *e = ctsc_error_new();
    assert_int_equal(ctsc_module_compile_text("t.py", text, strlen(text), NULL, &m, e), CTSC_OK);
    assert_int_equal(ctsc_module_set_opt(m, 3, e), CTSC_OK);
    assert_int_equal(ctsc_tensor_new(CTSC_FLOAT32, 2, sizes, &x, NULL), CTSC_OK);
    for (int i = 0; i < WIDE * WIDE; i++)
        ((float *)ctsc_tensor_data(x))[i] = (float)(i * 37 % 101 - 50) * 0.002f;
    ctsc_run_options o = {.size = sizeof o, .max_bytes = 40 << 20};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(run(m, x, &o, &out), CTSC_OK);
        if (first) check_same(out, first, "another call");
        else first = out;
    }
    ctsc_value_free(first);
    ctsc_value_free(x);
    ctsc_module_free(m);
    ctsc_error_free(e);
}

int main(void) {
    ctsc_set_compiling(CTSC_COMPILE_IN_CALLS);
    /* bytes first: they are counted with the default allocator */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recorded), cmocka_unit_test(test_passes),
        cmocka_unit_test(test_bytes),    cmocka_unit_test(test_others),
        cmocka_unit_test(test_within),   cmocka_unit_test(test_recorded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
