/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_meta.c - device meta: sizes, strides and dtypes without elements, and what has none.
 */
#include "support.h"

#include <ctsc_compiler.h>

#include <sys/resource.h>

/* A tensor of device meta. */
static ctsc_value *meta(ctsc_scope *s, ctsc_dtype dt, int n, const int64_t *sizes) {
    ctsc_value *args[] = {ctsc_ints(s, (size_t)n, sizes), ctsc_int(s, dt), ctsc_string(s, "meta")};
    const char *const names[] = {NULL, "dtype", "device"};
    ctsc_value *t = ctsc_scope_call(s, "aten::empty", 3, names, args);
    if (!t) fail_msg("%s", ctsc_error_message(ctsc_scope_error(s)));
    return t;
}

static ctsc_value *ones(ctsc_scope *s, int64_t n) {
    return ctsc_op(s, "aten::ones", 1, ctsc_ints(s, 1, &n));
}

static void assert_is(const ctsc_value *t, ctsc_dtype dt, int n, const int64_t *sizes,
                      const int64_t *strides) {
    assert_non_null(t);
    assert_int_equal(ctsc_tensor_device(t), CTSC_DEVICE_META);
    assert_int_equal(ctsc_tensor_dtype(t), dt);
    assert_int_equal(ctsc_tensor_ndim(t), n);
    for (int i = 0; i < n; i++) {
        assert_int_equal(ctsc_tensor_sizes(t)[i], sizes[i]);
        assert_int_equal(ctsc_tensor_strides(t)[i], strides[i]);
    }
    assert_null(ctsc_tensor_data(t));
}

/* Results too large for any machine, in no time and in no memory. */
static void large_results(void **state) {
    (void)state;
    struct rusage before, after;
    ctsc_scope *s = ctsc_scope_new();
    ctsc_value *a = meta(s, CTSC_FLOAT32, 2, (int64_t[]){1 << 20, 1 << 16}),
               *b = meta(s, CTSC_FLOAT32, 2, (int64_t[]){1 << 16, 1 << 18});
    getrusage(RUSAGE_SELF, &before);
    assert_is(ctsc_op(s, "aten::mm", 2, a, b), CTSC_FLOAT32, 2, (int64_t[]){1 << 20, 1 << 18},
              (int64_t[]){1 << 18, 1});
    assert_is(ctsc_op(s, "aten::gt", 2, a, ctsc_float(s, 0)), CTSC_BOOL, 2,
              (int64_t[]){1 << 20, 1 << 16}, (int64_t[]){1 << 16, 1});
    ctsc_value *norm[] = {a, ctsc_int(s, -1)};
    assert_is(ctsc_scope_call(s, "aten::softmax", 2, NULL, norm), CTSC_FLOAT32, 2,
              (int64_t[]){1 << 20, 1 << 16}, (int64_t[]){1 << 16, 1});
    getrusage(RUSAGE_SELF, &after);
    assert_true(after.ru_maxrss - before.ru_maxrss < 64 << 10); /* KiB */
    ctsc_scope_free(s);
}

static void views_and_writes(void **state) {
    (void)state;
    ctsc_scope *s = ctsc_scope_new();
    ctsc_value *x = meta(s, CTSC_FLOAT64, 2, (int64_t[]){3, 4});
    ctsc_value *t = ctsc_op(s, "aten::t", 1, x);
    assert_is(t, CTSC_FLOAT64, 2, (int64_t[]){4, 3}, (int64_t[]){1, 4});
    assert_is(ctsc_op(s, "aten::exp", 1, t), CTSC_FLOAT64, 2, (int64_t[]){4, 3}, (int64_t[]){1, 4});
    assert_is(ctsc_op(s, "aten::add_", 2, x, ctsc_int(s, 1)), CTSC_FLOAT64, 2, (int64_t[]){3, 4},
              (int64_t[]){4, 1});
    ctsc_op(s, "aten::resize_", 2, x, ctsc_ints(s, 1, (int64_t[]){20}));
    assert_is(x, CTSC_FLOAT64, 1, (int64_t[]){20}, (int64_t[]){1});
    /* out= is resized, as PyTorch does */
    ctsc_value *out = meta(s, CTSC_FLOAT64, 1, (int64_t[]){0}),
               *args[] = {t, ctsc_ints(s, 1, (int64_t[]){0}), out};
    const char *const names[] = {NULL, "dim", "out"};
    ctsc_scope_call(s, "aten::sum", 3, names, args);
    assert_is(out, CTSC_FLOAT64, 1, (int64_t[]){3}, (int64_t[]){1});
    assert_int_equal(ctsc_scope_status(s), CTSC_OK);
    ctsc_scope_free(s);
}

static void assert_fails(ctsc_scope *s, ctsc_status st, const char *part) {
    assert_int_equal(ctsc_scope_status(s), st);
    const char *text = ctsc_error_message(ctsc_scope_error(s));
    if (!strstr(text, part)) fail_msg("'%s' is not in: %s", part, text);
    ctsc_scope_clear(s);
}

static void no_elements(void **state) {
    (void)state;
    ctsc_scope *s = ctsc_scope_new();
    static const struct { const char *op; ctsc_status st; const char *words; } rows[] = {
        {"aten::nonzero", CTSC_UNSUPPORTED, "aten::nonzero: attempted to run this operator with"},
        {"aten::unique_consecutive", CTSC_UNSUPPORTED, "depend on their elements"},
        {"aten::item", CTSC_FAILED, "Tensor.item() cannot be called on meta tensors"},
        {"aten::Bool", CTSC_FAILED, "Tensor.item() cannot be called on meta tensors"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ctsc_op(s, rows[i].op, 1, meta(s, CTSC_FLOAT32, 0, NULL));
        assert_fails(s, rows[i].st, rows[i].words);
    }
    ctsc_value *x = meta(s, CTSC_FLOAT32, 1, (int64_t[]){3}), *here = NULL;
    ctsc_op(s, "aten::index", 2, x,
            ctsc_list(s, 1, (ctsc_value *[]){ctsc_op(s, "aten::gt", 2, x, ctsc_int(s, 0))}));
    assert_fails(s, CTSC_UNSUPPORTED, "the sizes of its result depend");
    x = meta(s, CTSC_FLOAT32, 1, (int64_t[]){3});
    assert_int_equal(ctsc_value_to(x, "cpu", &here, NULL), CTSC_UNSUPPORTED);
    ctsc_op(s, "aten::mm", 2, meta(s, CTSC_FLOAT32, 2, (int64_t[]){2, 3}),
            meta(s, CTSC_FLOAT32, 2, (int64_t[]){2, 3}));
    assert_fails(s, CTSC_FAILED, "mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)");
    ctsc_op(s, "aten::add", 2, meta(s, CTSC_FLOAT32, 1, (int64_t[]){2}), ones(s, 2));
    assert_fails(s, CTSC_FAILED, "Tensor on device cpu is not on the expected device meta!");
    ctsc_scope_free(s);
}

/* Nothing is drawn. */
static void random_numbers(void **state) {
    (void)state;
    float first[2];
    for (int with = 0; with < 2; with++) {
        ctsc_scope *s = ctsc_scope_new();
        if (with) ctsc_op(s, "aten::normal_", 1, meta(s, CTSC_FLOAT32, 1, (int64_t[]){100000}));
        ctsc_value *t = ctsc_op(s, "aten::rand", 1, ctsc_ints(s, 1, (int64_t[]){1}));
        first[with] = *(const float *)ctsc_tensor_data(t);
        ctsc_scope_free(s);
    }
    assert_float_equal(first[0], first[1], 0);
}

static void shape_of_call(void **state) {
    (void)state;
    ctsc_scope *s = ctsc_scope_new();
    ctsc_error *e = ctsc_error_new();
    ctsc_value *out = NULL, *x = ones(s, 6),
               *sizes = ctsc_ints(s, 2, (int64_t[]){1 << 20, 1 << 20});
    ctsc_value *view[] = {x, ctsc_ints(s, 2, (int64_t[]){2, 3})};
    assert_int_equal(ctsc_shape_of_call("aten::reshape", 2, NULL, view, &out, e), CTSC_OK);
    assert_is(out, CTSC_FLOAT32, 2, (int64_t[]){2, 3}, (int64_t[]){3, 1});
    ctsc_value_free(out);
    assert_int_equal(ctsc_shape_of_call("aten::zeros", 1, NULL, &sizes, &out, e), CTSC_OK);
    assert_is(out, CTSC_FLOAT32, 2, (int64_t[]){1 << 20, 1 << 20}, (int64_t[]){1 << 20, 1});
    ctsc_value_free(out);
    assert_int_equal(ctsc_shape_of_call("aten::nonzero", 1, NULL, &x, &out, e), CTSC_UNSUPPORTED);
    assert_int_equal(ctsc_shape_of_call("aten::mm", 2, NULL, (ctsc_value *[]){x, x}, &out, e),
                     CTSC_FAILED);
    assert_int_equal(ctsc_shape_of_call("aten::mm", 1, NULL, (ctsc_value *[]){NULL}, &out, e),
                     CTSC_USAGE);
    ctsc_error_free(e);
    ctsc_scope_free(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_results), cmocka_unit_test(views_and_writes),
        cmocka_unit_test(no_elements),   cmocka_unit_test(random_numbers),
        cmocka_unit_test(shape_of_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
