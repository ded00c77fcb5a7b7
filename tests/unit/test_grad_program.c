/* SPDX-License-Identifier: Apache-2.0 */
/* test_grad_program.c - calls that are captured with their backward passes do what taped code does:
 * those that take gradients themselves, and those whose callers do. */
#include "support.h"

#include <math.h>

static const char net[] =
    "import torch\n"
    "import torch.nn.functional as F\n"
    "from typing import Dict, List, Tuple\n"
    "class Main(torch.nn.Module):\n"
    "    def __init__(self):\n"
    "        super().__init__()\n"
    "        self.conv = torch.nn.Conv2d(1, 4, 3, padding=1)\n"
    "        self.norm = torch.nn.BatchNorm2d(4)\n"
    "        self.drop = torch.nn.Dropout(0.25)\n"
    "        self.lstm = torch.nn.LSTM(8, 5)\n"
    "        self.fc = torch.nn.Linear(10, 3)\n"
    "        self.register_buffer('calls', torch.zeros(1))\n"
    "    def forward(self, x):\n"
    "        h = F.max_pool2d(torch.relu(self.norm(self.conv(x))), 2)\n"
    "        h = self.drop(h).flatten(2)\n"
    "        y, _ = self.lstm(h)\n"
    "        self.calls.add_(1)\n"
    "        return self.fc(y[:, :2].flatten(1)), {'mean': h.mean(), 'rest': [torch.tanh(y[0]), "
    "x]}\n"
    "    @torch.jit.export\n"
    "    def smooth(self, x, y):\n"
    "        return (torch.sigmoid(x * self.fc.bias) * y).exp().sum() + F.dropout(x, 0.5, "
    "True).pow(3).sum()\n"
    "    @torch.jit.export\n"
    "    def writes(self, x):\n"
    "        y = torch.exp(x * self.fc.bias) * (1 + self.calls.sum())\n"
    "        self.calls.add_(1)\n"
    "        return (y * torch.sin(x)).sum()\n"
    "    @torch.jit.export\n"
    "    def branch(self, x):\n"
    "        if float(x.sum()) > 0.:\n"
    "            return x * self.fc.bias\n"
    "        return x\n"
    "    @torch.jit.export\n"
    "    def view(self, x):\n"
    "        return self.fc.weight.t()\n"
    "    @torch.jit.export\n"
    "    def step(self, x):\n"
    "        w = self.fc.bias.detach().requires_grad_()\n"
    "        loss = (F.dropout(x * w, 0.5, True) * torch.rand_like(x)).exp().sum()\n"
    "        g = torch.autograd.grad([loss], [w])[0]\n"
    "        assert g is not None\n"
    "        return loss.detach(), g, torch.randn(2)\n";

typedef struct world {
    ctsc_module *m;
    ctsc_scope *s;
    ctsc_error *e;
    ctsc_value *x, *y;
} world;

static ctsc_value *tensor_of(world *w, int ndim, const int64_t *sizes) {
    ctsc_value *t = NULL;
    int64_t n = 1;
    for (int i = 0; i < ndim; i++) n *= sizes[i];
    assert_int_equal(ctsc_tensor_new(CTSC_FLOAT32, ndim, sizes, &t, w->e), CTSC_OK);
    for (int i = 0; i < n; i++)
        ((float *)ctsc_tensor_data(t))[i] = sinf((float)i * 0.7f + (float)ndim);
    return t;
}

static world begin(int opt, const int64_t *sizes, int ndim) {
    world w = {.s = ctsc_scope_new(), .e = ctsc_error_new()};
    ctsc_compile_options o = {.size = sizeof o, .seed = 3};
    if (ctsc_module_compile_text("net.py", net, sizeof net - 1, &o, &w.m, w.e) != CTSC_OK)
        fail_msg("%s", ctsc_error_message(w.e));
    assert_int_equal(ctsc_module_set_opt(w.m, opt, w.e), CTSC_OK);
    assert_int_equal(ctsc_module_set_gradients(w.m, true, w.e), CTSC_OK);
    ctsc_module_train(w.m);
    ctsc_scope_set_gradients(w.s, true);
    ctsc_scope_seed(w.s, 5);
    w.x = tensor_of(&w, ndim, sizes);
    w.y = tensor_of(&w, ndim, sizes);
    return w;
}

static void end(world *w) {
    ctsc_value_free(w->x);
    ctsc_value_free(w->y);
    ctsc_scope_free(w->s);
    ctsc_module_free(w->m);
    ctsc_error_free(w->e);
}

static ctsc_value *call(world *w, const char *method, size_t n, ctsc_value **args) {
    ctsc_value *y = ctsc_run(w->s, w->m, method, n, args);
    if (!y) fail_msg("%s", ctsc_error_message(ctsc_scope_error(w->s)));
    return y;
}

/* An item of a tuple or list, the scope's. */
static ctsc_value *part(world *w, ctsc_value *v, size_t i) {
    return ctsc_take(w->s, ctsc_value_item(v, i));
}

static void check_close(const ctsc_value *a, const ctsc_value *b, const char *what, int i) {
    char *why = NULL;
    if (!ctsc_value_close(a, b, 2e-4, 2e-5, &why)) fail_msg("%s, round %d: %s", what, i, why);
}

static char logged[4096];

static void keep_log(void *ctx, ctsc_log_level level, const char *text) {
    (void)ctx;
    (void)level;
    size_t n = strlen(logged);
    if (n + strlen(text) + 2 < sizeof logged) {
        strcat(logged, text);
        strcat(logged, "\n");
    }
}

/* One training step: forward, a loss of all results, its gradients, new parameters. */
static void train_step(world *w, bool last) {
    ctsc_value *params = NULL, *out = call(w, "forward", 1, &w->x);
    ctsc_value *logits = part(w, out, 0), *more = part(w, out, 1);
    ctsc_value *mean = ctsc_value_get(more, "mean"), *rest = ctsc_value_get(more, "rest");
    ctsc_value *h = part(w, rest, 0);
    ctsc_value *loss = ctsc_add(w->s, ctsc_sum(w->s, ctsc_mul(w->s, logits, logits)), mean);
    if (!last) loss = ctsc_add(w->s, loss, ctsc_sum(w->s, h));
    if (!loss) fail_msg("%s", ctsc_error_message(ctsc_scope_error(w->s)));
    if (ctsc_backward(loss, NULL, 0, NULL, w->e) != CTSC_OK)
        fail_msg("%s", ctsc_error_message(w->e));
    /* a graph that was not kept is gone */
    assert_int_equal(ctsc_backward(loss, NULL, 0, NULL, w->e), CTSC_FAILED);
    assert_int_equal(ctsc_module_parameters(w->m, &params, w->e), CTSC_OK);
    for (size_t i = 0; i < ctsc_value_len(params); i++) {
        ctsc_value *p = ctsc_value_item(params, i), *g = ctsc_value_grad(p);
        assert_non_null(g);
        float *to = ctsc_tensor_data(p);
        const float *by = ctsc_tensor_data(g);
        int64_t n = 1;
        for (int k = 0; k < ctsc_tensor_ndim(p); k++) n *= ctsc_tensor_sizes(p)[k];
        for (int64_t k = 0; k < n; k++) to[k] -= 0.05f * by[k];
        ctsc_value_free(g);
        ctsc_value_free(p);
    }
    ctsc_zero_grad(params);
    ctsc_value_free(params);
    ctsc_value_free(mean);
    ctsc_value_free(rest);
}

/* Dropout, statistics and counters included: state and parameters go the same way. */
static void test_training(void **state) {
    (void)state;
    static const int64_t sizes[] = {3, 1, 4, 8};
    world a = begin(0, sizes, 4), b = begin(2, sizes, 4);
    logged[0] = 0;
    ctsc_set_log(CTSC_LOG_INFO, keep_log, NULL);
    for (int i = 0; i < 6; i++) {
        ctsc_value *sa = NULL, *sb = NULL;
        train_step(&a, i == 5);
        train_step(&b, i == 5);
        assert_int_equal(ctsc_module_state(a.m, &sa, a.e), CTSC_OK);
        assert_int_equal(ctsc_module_state(b.m, &sb, b.e), CTSC_OK);
        check_close(sa, sb, "state", i);
        ctsc_value_free(sa);
        ctsc_value_free(sb);
    }
    ctsc_set_log(CTSC_LOG_WARNING, NULL, NULL);
    assert_null(strstr(logged, "run as taped code"));
    end(&a);
    end(&b);
}

/* Gradients of gradients of a captured call, which is repeated with the same random numbers. */
static void test_second_order(void **state) {
    (void)state;
    static const int64_t sizes[] = {2, 3};
    world w[2] = {begin(0, sizes, 2), begin(2, sizes, 2)};
    for (int i = 0; i < 5; i++) {
        ctsc_value *second[2][2] = {{NULL}}, *first[2][2] = {{NULL}};
        for (int k = 0; k < 2; k++) {
            ctsc_value *args[2] = {w[k].x, w[k].y}, *in[2] = {w[k].x, w[k].y};
            for (int j = 0; j < 2; j++)
                assert_int_equal(ctsc_value_set_requires_grad(args[j], true, w[k].e), CTSC_OK);
            ctsc_value *loss = call(&w[k], "smooth", 2, args);
            if (ctsc_grad(1, &loss, NULL, 2, in, CTSC_CREATE_GRAPH, NULL, first[k], w[k].e) !=
                CTSC_OK)
                fail_msg("%s", ctsc_error_message(w[k].e));
            ctsc_value *sum = ctsc_add(w[k].s,
                                       ctsc_sum(w[k].s, ctsc_mul(w[k].s, first[k][0], first[k][0])),
                                       ctsc_sum(w[k].s, first[k][1]));
            if (ctsc_grad(1, &sum, NULL, 2, in, 0, NULL, second[k], w[k].e) != CTSC_OK)
                fail_msg("%s", ctsc_error_message(w[k].e));
            if (i == 3) /* what was used is changed: refused */
                ((float *)ctsc_tensor_data(w[k].x))[0] += 0.5f;
        }
        for (int j = 0; j < 2; j++) {
            check_close(first[0][j], first[1][j], "first", i);
            check_close(second[0][j], second[1][j], "second", i);
            for (int k = 0; k < 2; k++) {
                ctsc_value_free(first[k][j]);
                ctsc_value_free(second[k][j]);
            }
        }
    }
    end(&w[0]);
    end(&w[1]);
}

/* What a saved tensor was must not have changed since. */
static void test_changed(void **state) {
    (void)state;
    static const int64_t sizes[] = {2, 3};
    world w = begin(2, sizes, 2);
    for (int i = 0; i < 4; i++) {
        ctsc_value *args[2] = {w.x, w.y}, *loss = call(&w, "smooth", 2, args);
        assert_non_null(ctsc_mul_(w.s, w.x, ctsc_float(w.s, 0.5)));
        assert_int_equal(ctsc_backward(loss, NULL, 0, NULL, w.e), CTSC_FAILED);
        assert_non_null(
            strstr(ctsc_error_message(w.e), "has been modified by an inplace operation"));
    }
    end(&w);
}

/* What cannot be captured goes on as it was; what a result is, too. */
static void test_others(void **state) {
    (void)state;
    static const int64_t sizes[] = {2, 3};
    world w = begin(2, sizes, 2);
    for (int i = 0; i < 5; i++) {
        ctsc_value *y = call(&w, "branch", 1, &w.x), *v = call(&w, "view", 1, &w.x), *g = NULL;
        ctsc_value *sum = ctsc_sum(w.s, ctsc_sum(w.s, v)), *params = NULL;
        assert_true(ctsc_value_requires_grad(v));
        assert_non_null(y);
        assert_int_equal(ctsc_module_named_parameters(w.m, &params, w.e), CTSC_OK);
        ctsc_value *weight = ctsc_value_get(params, "fc.weight");
        assert_int_equal(ctsc_grad(1, &sum, NULL, 1, &weight, 0, NULL, &g, w.e), CTSC_OK);
        assert_true(((float *)ctsc_tensor_data(g))[0] == 1);
        ctsc_value_free(g);
        ctsc_value_free(weight);
        ctsc_value_free(params);
        /* without gradients */
        ctsc_scope_set_gradients(w.s, false);
        ctsc_value *args[2] = {w.x, w.y};
        assert_false(ctsc_value_requires_grad(call(&w, "smooth", 2, args)));
        ctsc_scope_set_gradients(w.s, true);
    }
    end(&w);
}

/* A program that takes its gradients itself draws the same numbers captured. */
static void test_random(void **state) {
    (void)state;
    static const int64_t sizes[] = {2, 3};
    world a = begin(0, sizes, 2), b = begin(2, sizes, 2);
    logged[0] = 0;
    ctsc_set_log(CTSC_LOG_INFO, keep_log, NULL);
    for (int i = 0; i < 5; i++)
        check_close(call(&a, "step", 1, &a.x), call(&b, "step", 1, &b.x), "step", i);
    ctsc_set_log(CTSC_LOG_WARNING, NULL, NULL);
    assert_null(strstr(logged, "run as taped code"));
    end(&a);
    end(&b);
}

static const char small[] =
    "import torch\n"
    "class Main(torch.nn.Module):\n"
    "    def __init__(self):\n"
    "        super().__init__()\n"
    "        self.w = torch.nn.Parameter(torch.ones(3))\n"
    "    def forward(self, x):\n"
    "        return torch.tanh(x * self.w) + torch.nn.functional.dropout(x, 0.5, True)\n";

/* Calls until they are a captured pair, with their gradients, the last ones twice. */
static ctsc_status cycle(void *ctx) {
    (void)ctx;
    int64_t n = 3;
    ctsc_error *e = ctsc_error_new();
    ctsc_scope *s = ctsc_scope_new();
    ctsc_module *m = NULL;
    ctsc_value *x = NULL;
    ctsc_compile_options o = {.size = sizeof o, .seed = 3};
    ctsc_status st = s && e ? ctsc_module_compile_text("net.py", small, sizeof small - 1, &o, &m, e)
                            : CTSC_LIMIT;
    if (st == CTSC_OK) st = ctsc_module_set_opt(m, 2, e);
    if (st == CTSC_OK) st = ctsc_module_set_gradients(m, true, e);
    if (st == CTSC_OK) st = ctsc_tensor_new(CTSC_FLOAT32, 1, &n, &x, e);
    if (s) ctsc_scope_set_gradients(s, true);
    if (st == CTSC_OK) st = ctsc_value_set_requires_grad(x, true, e);
    for (int i = 0; i < 4 && st == CTSC_OK; i++) {
        ctsc_value *y = ctsc_sum(s, ctsc_run(s, m, "forward", 1, &x)), *g = NULL;
        st = y ? ctsc_backward(y, NULL, CTSC_RETAIN_GRAPH, NULL, e) : ctsc_scope_status(s);
        if (st == CTSC_OK) st = ctsc_grad(1, &y, NULL, 1, &x, CTSC_CREATE_GRAPH, NULL, &g, e);
        ctsc_value_free(g);
    }
    ctsc_value_free(x);
    ctsc_scope_free(s);
    ctsc_module_free(m);
    ctsc_error_free(e);
    return st;
}

static const char within[] =
    "import torch\n"
    "class Main(torch.nn.Module):\n"
    "    def __init__(self):\n"
    "        super().__init__()\n"
    "        self.w = torch.nn.Parameter(torch.ones(3, 3))\n"
    "    def forward(self, x):\n"
    "        x = x.detach().requires_grad_()\n"
    "        y = torch.tanh(x @ self.w)\n"
    "        for i in range(3):\n"
    "            y = torch.sin(y @ self.w) + torch.nn.functional.dropout(x, 0.5, True)\n"
    "        e = (y * y).sum()\n"
    "        g = torch.autograd.grad([e], [x, self.w], create_graph=True)\n"
    "        f, w = g[0], g[1]\n"
    "        assert f is not None and w is not None\n"
    "        h = torch.autograd.grad([(f * f).sum()], [x])[0]\n"
    "        assert h is not None\n"
    "        return e.detach(), f.detach(), w.detach(), h\n";

/* The same for a program that takes its gradients itself, of the second order too. */
static ctsc_status cycle_within(void *ctx) {
    (void)ctx;
    int64_t n[2] = {2, 3};
    ctsc_error *e = ctsc_error_new();
    ctsc_module *m = NULL;
    ctsc_value *x = NULL, *y = NULL;
    ctsc_compile_options o = {.size = sizeof o, .seed = 3};
    ctsc_status st = e ? ctsc_module_compile_text("net.py", within, sizeof within - 1, &o, &m, e)
                       : CTSC_LIMIT;
    if (st == CTSC_OK) st = ctsc_module_set_opt(m, 2, e);
    if (st == CTSC_OK) st = ctsc_tensor_new(CTSC_FLOAT32, 2, n, &x, e);
    for (int i = 0; i < 4 && st == CTSC_OK; i++) {
        st = ctsc_module_run(m, "forward", 1, &x, NULL, &y, e);
        ctsc_value_free(y);
        y = NULL;
    }
    ctsc_value_free(x);
    ctsc_module_free(m);
    ctsc_error_free(e);
    return st;
}

/* Gradients of gradients of a call that writes what it has read: it is repeated on what was there
 * before. Below 0 in *sum: level 0; it gets the sum of the results, at least 0. */
static ctsc_status cycle_writes(void *ctx) {
    static const int64_t sizes[] = {2, 3};
    double *sum = ctx;
    ctsc_error *e = ctsc_error_new();
    ctsc_scope *s = ctsc_scope_new();
    ctsc_module *m = NULL;
    ctsc_value *x = NULL;
    ctsc_compile_options o = {.size = sizeof o, .seed = 3};
    ctsc_status st = e && s ? CTSC_OK : CTSC_LIMIT;
    if (st == CTSC_OK) st = ctsc_module_compile_text("net.py", net, sizeof net - 1, &o, &m, e);
    if (st == CTSC_OK) st = ctsc_module_set_opt(m, *sum < 0 ? 0 : 3, e);
    if (st == CTSC_OK) st = ctsc_module_set_gradients(m, true, e);
    if (st == CTSC_OK) st = ctsc_tensor_new(CTSC_FLOAT32, 2, sizes, &x, e);
    for (int k = 0; st == CTSC_OK && k < 6; k++) ((float *)ctsc_tensor_data(x))[k] = sinf((float)k);
    if (st == CTSC_OK) st = ctsc_value_set_requires_grad(x, true, e);
    if (st == CTSC_OK) ctsc_scope_set_gradients(s, true);
    double total = 0;
    for (int i = 0; st == CTSC_OK && i < 3; i++) {
        ctsc_value *first = NULL, *second = NULL, *y = ctsc_run(s, m, "writes", 1, &x), *q = NULL;
        if (!y) st = ctsc_error_status(ctsc_scope_error(s));
        if (y) st = ctsc_grad(1, &y, NULL, 1, &x, CTSC_CREATE_GRAPH, NULL, &first, e);
        if (st == CTSC_OK && !(q = ctsc_sum(s, ctsc_mul(s, first, first))))
            st = ctsc_error_status(ctsc_scope_error(s));
        if (q) st = ctsc_grad(1, &q, NULL, 1, &x, 0, NULL, &second, e);
        for (int k = 0; st == CTSC_OK && k < 6; k++)
            total += (double)((float *)ctsc_tensor_data(second))[k];
        ctsc_value_free(first);
        ctsc_value_free(second);
    }
    if (st == CTSC_OK) *sum = fabs(total);
    ctsc_value_free(x);
    ctsc_scope_free(s);
    ctsc_module_free(m);
    ctsc_error_free(e);
    return st;
}

static void test_writes(void **state) {
    (void)state;
    double want = -1, got = 0;
    assert_int_equal(cycle_writes(&want), CTSC_OK);
    assert_int_equal(cycle_writes(&got), CTSC_OK);
    assert_true(fabs(got - want) < 1e-4 * fabs(want));
}

static void test_no_memory(void **state) {
    (void)state;
    static counting c;
    ctsc_set_allocator(counting_hook, &c); /* stays: objects that the library made once are in it */
    ctsc_set_compiling(CTSC_COMPILE_IN_CALLS);
    support_fail_allocations(&c, "captured passes", 300, cycle, NULL, "");
    support_fail_allocations(&c, "captured programs", 150, cycle_within, NULL, "");
    double sum = 0;
    support_fail_allocations(&c, "repeated calls", 150, cycle_writes, &sum, "");
    ctsc_set_compiling(CTSC_COMPILE_BACKGROUND);
}

int main(void) {
    /* first: it sets the allocator */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_memory),    cmocka_unit_test(test_training),
        cmocka_unit_test(test_second_order), cmocka_unit_test(test_changed),
        cmocka_unit_test(test_others),       cmocka_unit_test(test_random),
        cmocka_unit_test(test_writes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
