/* SPDX-License-Identifier: Apache-2.0 */
/* test_optimize.c - ctsc.h's levels and graph-for, ctsc_compiler.h's count of work. */
#include "support.h"

#include "ctsc.h"
#include "ctsc_compiler.h"

#include <string.h>

static ctsc_module *optimize_compile(const char *source) {
    ctsc_module *m = NULL;
    ctsc_error *e = ctsc_error_new();
    if (ctsc_module_compile_text("t.py", source, strlen(source), NULL, &m, e) != CTSC_OK)
        fail_msg("%s", ctsc_error_message(e));
    ctsc_error_free(e);
    return m;
}

static ctsc_value *optimize_ones(ctsc_dtype dt, int ndim, const int64_t *sizes) {
    ctsc_value *t = NULL;
    assert_int_equal(ctsc_tensor_new(dt, ndim, sizes, &t, NULL), CTSC_OK);
    int64_t n = 1;
    for (int i = 0; i < ndim; i++) n *= sizes[i];
    for (int64_t i = 0; i < n && dt == CTSC_FLOAT32; i++) ((float *)ctsc_tensor_data(t))[i] = 1;
    return t;
}

static void optimize_levels(void **state) {
    (void)state;
    ctsc_module *m = optimize_compile(
        "def forward(x):\n    y = x * x + x\n    return y * 2.0 - y\n");
    ctsc_value *x = optimize_ones(CTSC_FLOAT32, 1, (int64_t[]){7}), *want = NULL;
    ctsc_error *e = ctsc_error_new();
    static const int wrong[] = {-1, 4, 100};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(ctsc_module_set_opt(m, wrong[i], e), CTSC_USAGE);
    assert_non_null(strstr(ctsc_error_message(e), "100"));
    for (int level = 0; level <= 3; level++) {
        assert_int_equal(ctsc_module_set_opt(m, level, e), CTSC_OK);
        for (int call = 0; call < 3; call++) { /* kernels come with the second */
            ctsc_value *got = NULL;
            if (ctsc_module_run(m, "forward", 1, &x, NULL, &got, e) != CTSC_OK)
                fail_msg("%s", ctsc_error_message(e));
            if (!want) want = ctsc_value_copy(got);
            assert_true(ctsc_value_close(got, want, 0, 0, NULL));
            ctsc_value_free(got);
        }
    }
    ctsc_value_free(x), ctsc_value_free(want);
    ctsc_error_free(e);
    ctsc_module_free(m);
}

static char *optimize_graph(const ctsc_module *m, size_t nargs, ctsc_value **args, unsigned flags) {
    char *text = NULL;
    ctsc_error *e = ctsc_error_new();
    if (ctsc_module_graph_for(m, "forward", nargs, args, flags, &text, e) != CTSC_OK)
        fail_msg("%s", ctsc_error_message(e));
    ctsc_error_free(e);
    return text;
}

static void optimize_has(char *text, const char *part) {
    if (!strstr(text, part)) fail_msg("'%s' is missing in:\n%s", part, text);
}

static void optimize_types(void **state) {
    (void)state;
    ctsc_module *m = optimize_compile("def forward(x, n: int):\n"
                                      "    for i in range(n):\n"
                                      "        x = x[1:]\n"
                                      "    if n > 100:\n"
                                      "        x = x.sin()\n"
                                      "    return x\n");
    ctsc_value *args[] = {optimize_ones(CTSC_FLOAT32, 2, (int64_t[]){40, 2}), ctsc_int_new(30)};
    for (int level = 0; level <= 2; level++) {
        assert_int_equal(ctsc_module_set_opt(m, level, NULL), CTSC_OK);
        char *text = optimize_graph(m, 2, args, 0);
        optimize_has(text, "%x.1 : Float(40, 2, strides=[2, 1], requires_grad=0, device=cpu)");
        /* another size each round */
        optimize_has(text, "Float(*, 2, strides=[2, 1], requires_grad=0, device=cpu)");
        /* not reached */
        optimize_has(text, ": Tensor = ");
        ctsc_string_free(text);
        text = optimize_graph(m, 0, NULL, 0);
        assert_null(strstr(text, "Float("));
        ctsc_string_free(text);
        text = optimize_graph(m, 2, args, CTSC_GRAPH_DOT);
        optimize_has(text, "digraph");
        ctsc_string_free(text);
    }
    /* the method checks its arguments as in a call, and failures are as in a call */
    char *text = NULL;
    assert_int_equal(ctsc_module_graph_for(m, "forward", 1, args, 0, &text, NULL), CTSC_USAGE);
    assert_int_equal(ctsc_module_graph_for(m, "backward", 2, args, 0, &text, NULL), CTSC_USAGE);
    ctsc_value *scalar[] = {optimize_ones(CTSC_FLOAT32, 0, NULL), args[1]};
    assert_int_equal(ctsc_module_graph_for(m, "forward", 2, scalar, 0, &text, NULL), CTSC_FAILED);
    assert_null(text);
    ctsc_value_free(args[0]), ctsc_value_free(args[1]), ctsc_value_free(scalar[0]);
    ctsc_module_free(m);
}

static void optimize_check_work(const char *source, size_t nargs, ctsc_value **args, int64_t flops,
                                int64_t bytes, const char *uncounted) {
    ctsc_module *m = optimize_compile(source);
    ctsc_work w = {.size = sizeof w};
    ctsc_error *e = ctsc_error_new();
    if (ctsc_module_count_work(m, "forward", nargs, args, &w, e) != CTSC_OK)
        fail_msg("%s", ctsc_error_message(e));
    assert_int_equal(w.flops, flops);
    assert_int_equal(w.parameter_bytes, bytes);
    if (uncounted) assert_string_equal(w.uncounted, uncounted);
    else assert_null(w.uncounted);
    ctsc_error_free(e);
    ctsc_module_free(m);
}

static void optimize_work(void **state) {
    (void)state;
    ctsc_value *x = optimize_ones(CTSC_FLOAT32, 2, (int64_t[]){3, 4}),
               *y = optimize_ones(CTSC_FLOAT32, 2, (int64_t[]){4, 5});
    ctsc_value *image = optimize_ones(CTSC_FLOAT32, 4, (int64_t[]){1, 2, 5, 5}),
               *ints = optimize_ones(CTSC_INT64, 1, (int64_t[]){9});
    ctsc_value *xy[] = {x, y};
    optimize_check_work("import torch\ndef forward(x, y):\n    return torch.mm(x, y).relu_()\n", 2,
                        xy, 2 * 3 * 4 * 5 + 15, 0, NULL);
    optimize_check_work("def forward(x):\n    return x.t()[1:].reshape(-1)\n", 1, &x, 0, 0, NULL);
    optimize_check_work("def forward(x):\n    return (x * 2).sum(1).max()\n", 1, &x, 12 + 12 + 3, 0,
                        NULL);
    optimize_check_work("def forward(x):\n    return x * x + 1\n", 1, &ints, 0, 0, NULL);
    optimize_check_work("def forward(x):\n    s = 0.0\n    for i in range(3):\n        s = s + "
                        "float(x[i, 0]) * 2.0\n    return s\n",
                        1, &x, 6, 0, NULL);
    optimize_check_work("import torch\ndef forward(x):\n    return torch.logsumexp(x + 1, 0)\n", 1,
                        &x, 12, 0, "aten::logsumexp");
    optimize_check_work(
        "import torch\nclass Main(torch.nn.Module):\n    def __init__(self):\n        "
        "super().__init__()\n"
        "        self.c = torch.nn.Conv2d(2, 6, 3)\n        self.unused = torch.nn.Linear(10, 10)\n"
        "    def forward(self, x):\n        return self.c(x)\n",
        1, &image, 6 * 9 * (2 * 2 * 9 + 1), (6 * 2 * 9 + 6) * 4, NULL);
    ctsc_value_free(x), ctsc_value_free(y), ctsc_value_free(image), ctsc_value_free(ints);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(optimize_levels),
                                       cmocka_unit_test(optimize_types),
                                       cmocka_unit_test(optimize_work)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
