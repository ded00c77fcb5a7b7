/* SPDX-License-Identifier: Apache-2.0 */
/* test_register.c - operators of a program's own: results, defaults, errors, effects, in
 * place, hostile ones. */
#include "support.h"

#include "ctsc.h"

#include <stdlib.h>

static int register_calls;

/* mine::scale(Tensor x, float by=2.0) -> Tensor */
static ctsc_status register_scale(void *ctx, size_t nargs, ctsc_value *const *args,
                                  ctsc_value **results, ctsc_error *e) {
    assert_ptr_equal(ctx, &register_calls);
    assert_int_equal(nargs, 2);
    assert_non_null(results[0]);
    register_calls++;
    if (ctsc_value_float(args[1]) < 0)
        return ctsc_error_set(e, CTSC_FAILED, "by must not be negative, is %g",
                              ctsc_value_float(args[1]));
    const float *x = ctsc_tensor_data(args[0]);
    float *y = ctsc_tensor_data(results[0]);
    for (int64_t i = 0; i < ctsc_tensor_sizes(args[0])[0]; i++)
        y[i] = x[i] * (float)ctsc_value_float(args[1]);
    return CTSC_OK;
}

static ctsc_status register_same(void *ctx, size_t nargs, ctsc_value *const *args, size_t i,
                                 ctsc_tensor_shape *out, ctsc_error *e) {
    (void)ctx, (void)nargs, (void)i;
    if (ctsc_tensor_ndim(args[0]) != 1)
        return ctsc_error_set(e, CTSC_FAILED, "x must have one dimension");
    *out = (ctsc_tensor_shape){ctsc_tensor_dtype(args[0]), 1, {ctsc_tensor_sizes(args[0])[0]}};
    return CTSC_OK;
}

static ctsc_module *register_compile(const char *text) {
    ctsc_module *m = NULL;
    ctsc_error *e = ctsc_error_new();
    if (ctsc_module_compile_text("t.py", text, strlen(text), NULL, &m, e) != CTSC_OK)
        fail_msg("%s", ctsc_error_message(e));
    ctsc_error_free(e);
    return m;
}

static ctsc_value *register_ones(int ndim) {
    int64_t sizes[] = {3, 1};
    ctsc_value *t = NULL;
    assert_int_equal(ctsc_tensor_new(CTSC_FLOAT32, ndim, sizes, &t, NULL), CTSC_OK);
    for (int i = 0; i < 3; i++) ((float *)ctsc_tensor_data(t))[i] = (float)i + 1;
    return t;
}

static void register_function(void **state) {
    ctsc_error *e = ctsc_error_new();
    ctsc_op_options o = {.size = sizeof o, .shape = register_same};
    (void)state;
    assert_int_equal(ctsc_register_op("mine::scale(Tensor x, float by=2.0) -> Tensor",
                                      register_scale, &register_calls, &o, e),
                     CTSC_OK);
    ctsc_module *m = register_compile(
        "import torch\ndef forward(x, by: float):\n    y = torch.ops.mine.scale(x) + 1\n"
        "    return torch.ops.mine.scale(y, by) + torch.ops.mine.scale(y, by=by)\n");
    ctsc_value *args[] = {register_ones(1), ctsc_float_new(10)}, *y = NULL;
    for (int opt = 0; opt <= 3; opt++) {
        assert_int_equal(ctsc_module_set_opt(m, opt, e), CTSC_OK);
        for (int i = 0; i < 3; i++) {
            if (ctsc_module_run(m, "forward", 2, args, NULL, &y, e) != CTSC_OK)
                fail_msg("%s", ctsc_error_message(e));
            assert_true(((float *)ctsc_tensor_data(y))[2] == 140);
            ctsc_value_free(y);
        }
    }
    y = NULL;
    ctsc_value *bad[] = {args[0], ctsc_float_new(-1)}, *deep[] = {register_ones(2), args[1]};
    assert_int_equal(ctsc_module_run(m, "forward", 2, bad, NULL, &y, e), CTSC_FAILED);
    assert_string_equal(ctsc_error_message(e), "mine::scale: by must not be negative, is -1");
    assert_int_equal(ctsc_module_run(m, "forward", 2, deep, NULL, &y, e), CTSC_FAILED);
    assert_string_equal(ctsc_error_message(e), "mine::scale: x must have one dimension");
    assert_null(y);
    ctsc_value_free(args[0]), ctsc_value_free(args[1]), ctsc_value_free(bad[1]),
        ctsc_value_free(deep[0]);
    ctsc_module_free(m), ctsc_error_free(e);
}

/* mine::split(int n) -> (int, str); -1: too little, -2: the wrong type */
static ctsc_status register_split(void *ctx, size_t nargs, ctsc_value *const *args,
                                  ctsc_value **results, ctsc_error *e) {
    int64_t n = ctsc_value_int(args[0]);
    (void)ctx, (void)nargs, (void)e;
    results[0] = ctsc_int_new(n * 2);
    if (n == -2) results[1] = ctsc_int_new(1);
    else if (n != -1) results[1] = ctsc_string_new("ab", 2);
    return CTSC_OK;
}

static void register_results(void **state) {
    ctsc_error *e = ctsc_error_new();
    (void)state;
    assert_int_equal(
        ctsc_register_op("mine::split(int n) -> (int, str)", register_split, NULL, NULL, e),
        CTSC_OK);
    ctsc_module *m = register_compile("import torch\ndef forward(n: int):\n    a, b = "
                                      "torch.ops.mine.split(n)\n    return b * a\n");
    ctsc_value *n = ctsc_int_new(2), *y = NULL;
    assert_int_equal(ctsc_module_run(m, "forward", 1, &n, NULL, &y, e), CTSC_OK);
    assert_string_equal(ctsc_value_string(y, NULL), "abababab");
    ctsc_value_free(y), ctsc_value_free(n);
    for (int64_t k = -2; k < 0; k++) {
        y = NULL, n = ctsc_int_new(k);
        assert_int_equal(ctsc_module_run(m, "forward", 1, &n, NULL, &y, e), CTSC_USAGE);
        assert_non_null(strstr(ctsc_error_message(e), "result 1, not str"));
        assert_null(y);
        ctsc_value_free(n);
    }
    ctsc_module_free(m), ctsc_error_free(e);
}

static ctsc_status register_count(void *ctx, size_t nargs, ctsc_value *const *args,
                                  ctsc_value **results, ctsc_error *e) {
    (void)ctx, (void)nargs, (void)args, (void)e;
    results[0] = ctsc_int_new(++register_calls);
    return CTSC_OK;
}

/* mine::add_one_(Tensor(a!) x) -> Tensor(a!) */
static ctsc_status register_in_place(void *ctx, size_t nargs, ctsc_value *const *args,
                                     ctsc_value **results, ctsc_error *e) {
    float *x = ctsc_tensor_data(args[0]);
    (void)ctx, (void)nargs, (void)e;
    for (int i = 0; i < 3; i++) x[i] += 1;
    results[0] = ctsc_value_copy(args[0]);
    return CTSC_OK;
}

static void register_effects(void **state) {
    ctsc_error *e = ctsc_error_new();
    ctsc_op_options o = {.size = sizeof o, .flags = CTSC_OP_EFFECTS};
    (void)state;
    assert_int_equal(ctsc_register_op("mine::count() -> int", register_count, NULL, &o, e),
                     CTSC_OK);
    assert_int_equal(ctsc_register_op("mine::add_one_(Tensor(a!) x) -> Tensor(a!)",
                                      register_in_place, NULL, NULL, e),
                     CTSC_OK);
    ctsc_module *m = register_compile(
        "import torch\ndef forward(x):\n    y = x.clone()\n    torch.ops.mine.count()\n    "
        "torch.ops.mine.count()\n"
        "    before = y.sum()\n    torch.ops.mine.add_one_(y)\n    return y.sum() - before\n");
    ctsc_value *x = register_ones(1), *y = NULL;
    for (int opt = 0; opt <= 3; opt++) {
        assert_int_equal(ctsc_module_set_opt(m, opt, e), CTSC_OK);
        register_calls = 0;
        for (int i = 0; i < 3; i++) {
            if (ctsc_module_run(m, "forward", 1, &x, NULL, &y, e) != CTSC_OK)
                fail_msg("%s", ctsc_error_message(e));
            assert_true(*(float *)ctsc_tensor_data(y) == 3);
            ctsc_value_free(y);
        }
        assert_int_equal(register_calls, 6);
    }
    ctsc_value_free(x), ctsc_module_free(m), ctsc_error_free(e);
}

static void register_errors(void **state) {
    ctsc_error *e = ctsc_error_new();
    const char *text = "import torch\ndef forward(x):\n    return torch.ops.nobodys.op(x)\n";
    ctsc_module *m = NULL;
    (void)state;
    assert_int_equal(ctsc_register_op("mine::bad(Tensor x", register_scale, NULL, NULL, e),
                     CTSC_FAILED);
    assert_true(*ctsc_error_message(e));
    assert_int_equal(ctsc_register_op("bad(Tensor x) -> Tensor", register_scale, NULL, NULL, e),
                     CTSC_USAGE);
    assert_int_equal(ctsc_register_op("mine::bad(Tensor x) -> Tensor", NULL, NULL, NULL, e),
                     CTSC_USAGE);
    assert_int_equal(ctsc_register_op(NULL, register_scale, NULL, NULL, e), CTSC_USAGE);
    assert_int_equal(ctsc_module_compile_text("t.py", text, strlen(text), NULL, &m, e),
                     CTSC_FAILED);
    assert_non_null(strstr(ctsc_error_message(e), "Unknown builtin op: nobodys::op"));
    char *full = ctsc_error_render(e, false);
    assert_non_null(strstr(full, "--load-library"));
    ctsc_string_free(full);
    assert_int_equal(ctsc_load_library("/nonexistent/libx.so", e), CTSC_ENVIRONMENT);
    assert_int_equal(ctsc_load_library("libm.so.6", e), CTSC_ENVIRONMENT);
    assert_non_null(strstr(ctsc_error_message(e), "ctsc_library_init"));
    ctsc_error_free(e);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(register_function),
        cmocka_unit_test(register_results),
        cmocka_unit_test(register_effects),
        cmocka_unit_test(register_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
