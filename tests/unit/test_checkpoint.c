/* SPDX-License-Identifier: Apache-2.0 */
/* test_checkpoint.c - what is computed again gives the gradients that what is kept gives, and takes
 * less memory: layers with dropout, layers that write in place, batch norm, tied weights. */
#include "ctsc_compiler.h"
#include "support.h"

#include <math.h>

static const char net[] =
    "import torch\n"
    "import torch.nn as nn\n"
    "import torch.nn.functional as F\n"
    "class Block(nn.Module):\n"
    "    def __init__(self):\n"
    "        super().__init__()\n"
    "        self.a = nn.Linear(16, 64)\n"
    "        self.b = nn.Linear(64, 16)\n"
    "        self.norm = nn.LayerNorm(16)\n"
    "        self.drop = nn.Dropout(0.25)\n"
    "    def forward(self, x):\n"
    "        return self.norm(x + self.drop(self.b(self.drop(F.gelu(self.a(x))))))\n"
    "class Written(nn.Module):\n"
    "    def __init__(self):\n"
    "        super().__init__()\n"
    "        self.a = nn.Linear(16, 16)\n"
    "        self.norm = nn.BatchNorm1d(16)\n"
    "    def forward(self, x):\n"
    "        y = self.norm(self.a(x))\n"
    "        z = torch.sigmoid(y) + 1\n"
    "        y.relu_()\n"
    "        z[:, 2:4] = y[:, :2] * 2\n"
    "        return y + z.add_(x)\n"
    "class Main(nn.Module):\n"
    "    def __init__(self):\n"
    "        super().__init__()\n"
    "        self.layers = nn.ModuleList([Block() for _ in range(12)])\n"
    "        self.written = nn.ModuleList([Written() for _ in range(6)])\n"
    "        self.layers[7].a.weight = self.layers[0].a.weight\n"
    "    def forward(self, x):\n"
    "        for layer in self.layers:\n"
    "            x = layer(x)\n"
    "        return x\n"
    "    @torch.jit.export\n"
    "    def inplace(self, x):\n"
    "        for layer in self.written:\n"
    "            x = layer(x)\n"
    "        a, b = x.split(8, 1)\n"
    "        return torch.cat([b, a.t().reshape(-1, 8)], 1), (x * b[:, :1]).exp()\n"
    "    @torch.jit.export\n"
    "    def reads(self, x):\n"
    "        if float(x.sum()) > 0.:\n"
    "            return self.layers[0](x)\n"
    "        return x\n";

typedef struct world {
    ctsc_module *m;
    ctsc_scope *s;
    ctsc_error *e;
    ctsc_value *x;
} world;

static world begin(int64_t segments, uint64_t max_bytes) {
    world w = {.s = ctsc_scope_new(), .e = ctsc_error_new()};
    ctsc_compile_options o = {.size = sizeof o, .seed = 3, .training = true};
    int64_t sizes[] = {32, 16};
    if (ctsc_module_compile_text("net.py", net, sizeof net - 1, &o, &w.m, w.e) != CTSC_OK)
        fail_msg("%s", ctsc_error_message(w.e));
    assert_int_equal(ctsc_module_set_opt(w.m, 3, w.e), CTSC_OK);
    assert_int_equal(ctsc_module_set_gradients(w.m, true, w.e), CTSC_OK);
    assert_int_equal(ctsc_module_set_checkpoints(w.m, segments, max_bytes, w.e), CTSC_OK);
    ctsc_module_train(w.m);
    ctsc_scope_set_gradients(w.s, true);
    ctsc_scope_seed(w.s, 5);
    assert_int_equal(ctsc_tensor_new(CTSC_FLOAT32, 2, sizes, &w.x, w.e), CTSC_OK);
    for (int i = 0; i < 32 * 16; i++) ((float *)ctsc_tensor_data(w.x))[i] = sinf((float)i * 0.7f);
    return w;
}

static void end(world *w) {
    ctsc_value_free(w->x);
    ctsc_scope_free(w->s);
    ctsc_module_free(w->m);
    ctsc_error_free(w->e);
}

static ctsc_checkpoints told(const world *w) {
    ctsc_checkpoints c = {.size = sizeof c};
    ctsc_module_checkpoints(w->m, &c);
    return c;
}

static void warm(world *w, const char *method) {
    if (ctsc_module_warm_up(w->m, method, 1, &w->x, true, w->e) != CTSC_OK)
        fail_msg("%s", ctsc_error_message(w->e));
}

/* The gradients of two steps, and all tensors after them: a tuple. */
static ctsc_value *steps(world *w, const char *method) {
    ctsc_value *params = NULL, *all = NULL;
    assert_int_equal(ctsc_module_parameters(w->m, &params, w->e), CTSC_OK);
    for (int i = 0; i < 2; i++) {
        ctsc_value *y = ctsc_run(w->s, w->m, method, 1, &w->x);
        if (!y) fail_msg("%s", ctsc_error_message(ctsc_scope_error(w->s)));
        if (ctsc_value_kind(y) == CTSC_KIND_TUPLE)
            y = ctsc_mean(w->s, ctsc_mul(w->s, ctsc_item(w->s, y, 0), ctsc_item(w->s, y, 1)));
        ctsc_value *loss = ctsc_mean(w->s, ctsc_mul(w->s, y, y));
        if (ctsc_backward(loss, NULL, 0, NULL, w->e) != CTSC_OK)
            fail_msg("%s", ctsc_error_message(w->e));
    }
    ctsc_value *items[512];
    size_t n = 0;
    for (size_t i = 0; i < ctsc_value_len(params); i++) {
        ctsc_value *p = ctsc_value_item(params, i), *g = ctsc_value_grad(p);
        if (g) items[n++] = g;
        ctsc_value_free(p);
    }
    assert_true(n > 20);
    assert_int_equal(ctsc_module_state(w->m, &items[n], w->e), CTSC_OK);
    n++;
    all = ctsc_tuple_new(n, items);
    for (size_t i = 0; i < n; i++) ctsc_value_free(items[i]);
    ctsc_value_free(params);
    return all;
}

static void check_same(const char *method, int64_t segments) {
    world plain = begin(1, 0), w = begin(segments, 0);
    warm(&plain, method);
    warm(&w, method);
    ctsc_value *a = steps(&plain, method), *b = steps(&w, method);
    char *why = NULL;
    if (!ctsc_value_close(a, b, 1e-4, 1e-6, &why))
        fail_msg("%s, %lld segments: %s", method, (long long)segments, why);
    ctsc_checkpoints c = told(&w);
    assert_null(c.refused);
    assert_true(c.segments > 1 && c.segments <= segments);
    assert_true(c.bytes <= c.bytes_without); /* of what is written in place little is repeated */
    assert_true(c.bytes < c.bytes_without || strcmp(method, "forward"));
    assert_int_equal(told(&plain).segments, 0);
    ctsc_value_free(a);
    ctsc_value_free(b);
    end(&plain);
    end(&w);
}

static void test_same_gradients(void **state) {
    (void)state;
    for (int64_t n = 2; n <= 12; n += 5) check_same("forward", n);
    check_same("inplace", 4);
}

/* More segments, less memory, until the ends of segments outweigh it; auto takes the fewest. */
static void test_peaks(void **state) {
    (void)state;
    uint64_t peaks[5] = {0};
    for (int i = 2; i <= 4; i++) {
        world w = begin(i, 0);
        warm(&w, "forward");
        peaks[i] = told(&w).bytes;
        assert_true(peaks[i] < told(&w).bytes_without);
        assert_true(i == 2 || peaks[i] < peaks[i - 1]);
        end(&w);
    }
    world w = begin(0, peaks[3]);
    warm(&w, "forward");
    assert_int_equal(told(&w).segments, 3);
    assert_int_equal(told(&w).bytes, peaks[3]);
    end(&w);
    w = begin(0, 1 << 30); /* all fits */
    warm(&w, "forward");
    assert_int_equal(told(&w).segments, 1);
    end(&w);
    w = begin(0, 1); /* nothing does */
    warm(&w, "forward");
    assert_true(told(&w).segments > 4);
    assert_true(told(&w).bytes > 1 && told(&w).bytes < peaks[4]);
    end(&w);
}

static void test_refused(void **state) {
    (void)state;
    world w = begin(4, 0);
    ctsc_value *y = ctsc_run(w.s, w.m, "reads", 1, &w.x); /* computes what it always does */
    assert_non_null(y);
    assert_string_equal(told(&w).refused, "it reads elements");
    assert_int_equal(ctsc_module_set_checkpoints(w.m, -1, 0, w.e), CTSC_USAGE);
    end(&w);
}

/* A warm-up leaves weights, statistics and random numbers as they were. */
static void test_warm_up_changes_nothing(void **state) {
    (void)state;
    world w = begin(3, 0);
    ctsc_value *before = NULL, *after = NULL;
    ctsc_value *kept[2];
    assert_int_equal(ctsc_module_state(w.m, &before, w.e), CTSC_OK);
    kept[0] = ctsc_run(w.s, w.m, "inplace", 1, &w.x); /* not captured yet: as it always was */
    assert_non_null(kept[0]);
    ctsc_value_free(before);
    assert_int_equal(ctsc_module_state(w.m, &before, w.e), CTSC_OK);
    char *text = ctsc_value_print(before), *now;
    warm(&w, "inplace");
    warm(&w, "forward");
    assert_int_equal(ctsc_module_state(w.m, &after, w.e), CTSC_OK);
    now = ctsc_value_print(after);
    assert_string_equal(text, now);
    ctsc_string_free(text);
    ctsc_string_free(now);
    ctsc_value_free(before);
    ctsc_value_free(after);
    end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_gradients),
        cmocka_unit_test(test_peaks),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_warm_up_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
