/* SPDX-License-Identifier: Apache-2.0 */
/* test_api_future.c - futures that operators of a program's own give to scripts, and that scripts
 * give to programs: results, types, errors, ownership. */
#include "support.h"

#include "ctsc.h"

#include <stdlib.h>

/* What the operator will give, and what has been asked of it. */
typedef struct promise {
    int64_t number;
    bool text, fails, empty;
} promise;

static int future_waits, future_frees;
static promise future_next;

static ctsc_status future_give(void *ctx, ctsc_value **result, ctsc_error *e) {
    const promise *p = ctx;
    future_waits++;
    if (p->fails) return ctsc_error_set(e, CTSC_FAILED, "nobody answers %d", (int)p->number);
    if (!p->empty) *result = p->text ? ctsc_string_new("a", 1) : ctsc_int_new(p->number);
    return CTSC_OK;
}

static void future_done_with(void *ctx) {
    future_frees++;
    free(ctx);
}

static ctsc_status future_ask(void *ctx, size_t nargs, ctsc_value *const *args,
                              ctsc_value **results, ctsc_error *e) {
    promise *p = malloc(sizeof *p);
    (void)ctx, (void)nargs, (void)e;
    *p = future_next;
    p->number += ctsc_value_int(args[0]);
    results[0] = ctsc_future_new(future_give, future_done_with, p);
    return results[0] ? CTSC_OK : (free(p), CTSC_FAILED);
}

static ctsc_module *future_module(void) {
    static const char text[] = "import torch\n"
                               "def add(x: int, y: int) -> int:\n"
                               "    return x + y\n"
                               "class M(torch.nn.Module):\n"
                               "    def forward(self, n: int):\n"
                               "        a = torch.ops.later.ask(n)\n"
                               "        b = torch.ops.later.ask(n * 10)\n"
                               "        return b.wait() - a.wait() + a.wait()\n"
                               "    @torch.jit.export\n"
                               "    def give(self, n: int):\n"
                               "        return torch.ops.later.ask(n)\n"
                               "    @torch.jit.export\n"
                               "    def unused(self, n: int) -> int:\n"
                               "        f = torch.ops.later.ask(n)\n"
                               "        return n\n"
                               "    @torch.jit.export\n"
                               "    def forked(self, n: int):\n"
                               "        return torch.jit.fork(add, n, 1)\n"
                               "    @torch.jit.export\n"
                               "    def listed(self, n: int):\n"
                               "        fs = [torch.ops.later.ask(i) for i in range(n)]\n"
                               "        total = 0\n"
                               "        for f in fs:\n"
                               "            total += f.wait()\n"
                               "        return total\n";
    ctsc_module *m = NULL;
    ctsc_error *e = ctsc_error_new();
    ctsc_op_options o = {.size = sizeof o, .flags = CTSC_OP_EFFECTS};
    if (ctsc_register_op("later::ask(int n) -> Future(int)", future_ask, NULL, &o, e) != CTSC_OK ||
        ctsc_module_compile_text("t.py", text, strlen(text), NULL, &m, e) != CTSC_OK)
        fail_msg("%s", ctsc_error_message(e));
    ctsc_error_free(e);
    future_waits = future_frees = 0;
    future_next = (promise){0};
    return m;
}

static ctsc_value *future_call(ctsc_module *m, const char *method, int64_t n, ctsc_error *e) {
    ctsc_value *arg = ctsc_int_new(n), *out = NULL;
    ctsc_module_run(m, method, 1, &arg, NULL, &out, e);
    ctsc_value_free(arg);
    return out;
}

static void future_results(void **state) {
    (void)state;
    ctsc_module *m = future_module();
    ctsc_error *e = ctsc_error_new();
    for (int level = 0; level <= 2; level++) {
        future_waits = future_frees = 0;
        assert_int_equal(ctsc_module_set_opt(m, level, e), CTSC_OK);
        ctsc_value *v = future_call(m, "forward", 4, e);
        assert_string_equal(ctsc_error_message(e), "");
        assert_int_equal(ctsc_value_int(v), 40);
        assert_true(future_waits >= 2);
        assert_int_equal(future_frees, 2);
        ctsc_value_free(v);
        v = future_call(m, "listed", 5, e);
        assert_int_equal(ctsc_value_int(v), 10);
        assert_int_equal(future_frees, 7);
        ctsc_value_free(v);
        int before = future_waits;
        v = future_call(m, "unused", 5, e);
        assert_int_equal(ctsc_value_int(v), 5);
        assert_int_equal(future_waits, before);
        assert_int_equal(future_frees, 8);
        ctsc_value_free(v);
    }
    ctsc_error_free(e);
    ctsc_module_free(m);
}

static void future_outside(void **state) {
    (void)state;
    ctsc_module *m = future_module();
    ctsc_error *e = ctsc_error_new();
    ctsc_value *f = future_call(m, "give", 3, e), *v = NULL;
    assert_int_equal(ctsc_value_kind(f), CTSC_KIND_FUTURE);
    assert_false(ctsc_future_done(f));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(ctsc_future_wait(f, &v, e), CTSC_OK);
        assert_int_equal(ctsc_value_int(v), 3);
        ctsc_value_free(v);
    }
    ctsc_value_free(f);
    assert_int_equal(future_frees, 1);
    f = future_call(m, "forked", 3, e);
    assert_int_equal(ctsc_value_kind(f), CTSC_KIND_FUTURE);
    assert_true(ctsc_future_done(f));
    assert_int_equal(ctsc_future_wait(f, &v, e), CTSC_OK);
    assert_int_equal(ctsc_value_int(v), 4);
    ctsc_value_free(v);
    ctsc_value_free(f);
    ctsc_error_free(e);
    ctsc_module_free(m);
}

static void future_errors(void **state) {
    (void)state;
    ctsc_module *m = future_module();
    ctsc_error *e = ctsc_error_new();
    future_next = (promise){.fails = true};
    assert_null(future_call(m, "forward", 4, e));
    assert_non_null(strstr(ctsc_error_message(e), "nobody answers 40"));
    future_next = (promise){.text = true};
    assert_null(future_call(m, "forward", 4, e));
    assert_non_null(strstr(ctsc_error_message(e), "another type than int"));
    future_next = (promise){.empty = true};
    assert_null(future_call(m, "forward", 4, e));
    assert_non_null(strstr(ctsc_error_message(e), "gave nothing"));
    assert_int_equal(future_frees, 6);
    ctsc_value *n = ctsc_int_new(1), *v = NULL;
    assert_int_equal(ctsc_future_wait(n, &v, e), CTSC_USAGE);
    assert_int_equal(ctsc_future_wait(NULL, &v, e), CTSC_USAGE);
    assert_int_equal(ctsc_future_wait(n, NULL, e), CTSC_USAGE);
    assert_false(ctsc_future_done(n));
    assert_null(ctsc_future_new(NULL, NULL, NULL));
    ctsc_value_free(n);
    ctsc_error_free(e);
    ctsc_module_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(future_results),
                                       cmocka_unit_test(future_outside),
                                       cmocka_unit_test(future_errors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
