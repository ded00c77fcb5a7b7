/* SPDX-License-Identifier: Apache-2.0 */
/* test_submodule.c - ctsc.h: submodules as modules, the module's object, attributes that are given
 * another value, calls whose result is the caller's. */
#include "support.h"

#include "ctsc.h"

static const char program[] = "import torch\n"
                              "from torch import nn\n"
                              "class Part(nn.Module):\n"
                              "    def __init__(self, k: float):\n"
                              "        super().__init__()\n"
                              "        self.k = k\n"
                              "        self.w = nn.Parameter(torch.full((2,), k))\n"
                              "    def forward(self, x):\n"
                              "        return x * self.w + self.k\n"
                              "class Main(nn.Module):\n"
                              "    def __init__(self):\n"
                              "        super().__init__()\n"
                              "        self.a = Part(1.0)\n"
                              "        self.b = nn.Sequential(Part(3.0))\n"
                              "        self.scale = 2.0\n"
                              "    def forward(self, x):\n"
                              "        return self.b(self.a(x)) * self.scale\n";

typedef struct fixture {
    ctsc_module *m;
    ctsc_error *e;
    ctsc_value *x;
} fixture;

static fixture begin(void) {
    fixture f = {.e = ctsc_error_new()};
    if (ctsc_module_compile_text("t.py", program, sizeof program - 1, NULL, &f.m, f.e) != CTSC_OK)
        fail_msg("%s", ctsc_error_message(f.e));
    assert_int_equal(ctsc_tensor_new(CTSC_FLOAT32, 1, (int64_t[]){2}, &f.x, f.e), CTSC_OK);
    for (int i = 0; i < 2; i++) ((float *)ctsc_tensor_data(f.x))[i] = 1;
    return f;
}

static void end(fixture *f) {
    ctsc_module_free(f->m);
    ctsc_value_free(f->x);
    ctsc_error_free(f->e);
}

static float result_of(const ctsc_module *m, ctsc_value *x) {
    ctsc_value *y = NULL;
    ctsc_error *e = ctsc_error_new();
    if (ctsc_module_run(m, "forward", 1, &x, NULL, &y, e) != CTSC_OK)
        fail_msg("%s", ctsc_error_message(e));
    float r = ((const float *)ctsc_tensor_data(y))[0];
    ctsc_value_free(y);
    ctsc_error_free(e);
    return r;
}

/* Two objects of one class, whose code is made once: each has its own weights, at every level
 * and in any order. */
static void parts_have_their_own_weights(void **state) {
    (void)state;
    for (int level = 0; level <= 3; level++) {
        fixture f = begin();
        ctsc_module *a = NULL, *b = NULL;
        assert_int_equal(ctsc_module_set_opt(f.m, level, f.e), CTSC_OK);
        assert_int_equal(ctsc_module_submodule(f.m, "a", &a, f.e), CTSC_OK);
        assert_int_equal(ctsc_module_submodule(f.m, "b.0", &b, f.e), CTSC_OK);
        for (int i = 0; i < 4; i++) {
            assert_float_equal(result_of(a, f.x), 2, 0);
            assert_float_equal(result_of(b, f.x), 6, 0);
            assert_float_equal(result_of(f.m, f.x), 18, 0);
        }
        assert_string_equal(ctsc_module_class(a), ctsc_module_class(b));
        ctsc_module_free(a), ctsc_module_free(b);
        end(&f);
    }
}

static void parts_outlive_the_whole(void **state) {
    (void)state;
    fixture f = begin();
    ctsc_module *b = NULL, *inner = NULL;
    assert_int_equal(ctsc_module_submodule(f.m, "b", &b, f.e), CTSC_OK);
    assert_int_equal(ctsc_module_submodule(b, "0", &inner, f.e), CTSC_OK);
    ctsc_module_free(f.m);
    f.m = NULL;
    ctsc_module_free(b);
    assert_float_equal(result_of(inner, f.x), 6, 0);
    ctsc_module_free(inner);
    end(&f);
}

static void objects_have_names(void **state) {
    (void)state;
    fixture f = begin();
    ctsc_value *root = ctsc_module_object(f.m), *a = ctsc_value_get(root, "a"),
               *k = ctsc_value_get(a, "k");
    bool found = false;
    for (size_t i = 0; i < ctsc_value_len(root); i++)
        found |= !strcmp(ctsc_value_name(root, i), "scale");
    assert_true(found);
    assert_null(ctsc_value_name(root, ctsc_value_len(root)));
    assert_null(ctsc_value_name(f.x, 0));
    assert_float_equal(ctsc_value_float(k), 1, 0);
    assert_true(ctsc_tensor_is_writable(f.x));
    assert_false(ctsc_tensor_is_writable(k));
    ctsc_value_free(root), ctsc_value_free(a), ctsc_value_free(k);
    end(&f);
}

static void attributes_are_set(void **state) {
    (void)state;
    fixture f = begin();
    ctsc_value *five = ctsc_int_new(5), *text = ctsc_string_new("five", 4), *w = NULL;
    /* compiled with the old ones */
    for (int i = 0; i < 4; i++) assert_float_equal(result_of(f.m, f.x), 18, 0);
    /* an int for a float */
    assert_int_equal(ctsc_module_set_attribute(f.m, "scale", five, f.e), CTSC_OK);
    assert_float_equal(result_of(f.m, f.x), 45, 0);
    assert_int_equal(ctsc_tensor_new(CTSC_FLOAT32, 1, (int64_t[]){2}, &w, f.e), CTSC_OK);
    assert_int_equal(ctsc_module_set_attribute(f.m, "b.0.w", w, f.e), CTSC_OK);
    for (int i = 0; i < 4; i++) assert_float_equal(result_of(f.m, f.x), 15, 0);
    assert_int_equal(ctsc_module_set_attribute(f.m, "scale", text, f.e), CTSC_USAGE);
    assert_string_equal(
        ctsc_error_message(f.e),
        "expected a value of type 'float' for attribute 'scale' but instead found type 'str'");
    assert_int_equal(ctsc_module_set_attribute(f.m, "a.nope", five, f.e), CTSC_USAGE);
    assert_int_equal(ctsc_module_set_attribute(f.m, "scale.x", five, f.e), CTSC_USAGE);
    assert_int_equal(ctsc_module_set_attribute(f.m, NULL, five, f.e), CTSC_USAGE);
    assert_int_equal(ctsc_module_set_attribute(f.m, "scale", NULL, f.e), CTSC_USAGE);
    ctsc_value_free(five), ctsc_value_free(text), ctsc_value_free(w);
    end(&f);
}

static void parts_that_are_none(void **state) {
    (void)state;
    fixture f = begin();
    ctsc_module *part = NULL;
    char longest[600];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    const char *const names[] = {"", "nope", "a.", "a.w", "scale", "a.k.b", longest, NULL};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_int_equal(ctsc_module_submodule(f.m, names[i], &part, f.e), CTSC_USAGE);
    assert_int_equal(ctsc_module_submodule(NULL, "a", &part, f.e), CTSC_USAGE);
    assert_null(part);
    assert_null(ctsc_module_object(NULL));
    end(&f);
}

static void calls_whose_result_is_the_callers(void **state) {
    (void)state;
    ctsc_scope *s = ctsc_scope_new();
    ctsc_error *e = ctsc_error_new();
    ctsc_value *x = ctsc_ints(s, 2, (int64_t[]){2, 3}), *args[] = {x, x}, *t = NULL, *y = NULL;
    assert_int_equal(ctsc_scope_invoke(s, "aten::ones", 1, NULL, args, &t, e), CTSC_OK);
    args[0] = args[1] = t;
    assert_int_equal(ctsc_scope_invoke(s, "aten::add", 2, NULL, args, &y, e), CTSC_OK);
    ctsc_scope_reset(s); /* frees what is the scope's alone */
    assert_float_equal(((const float *)ctsc_tensor_data(y))[5], 2, 0);
    ctsc_value_free(y);
    y = NULL;
    assert_int_equal(ctsc_scope_invoke(s, "aten::nope", 2, NULL, args, &y, e), CTSC_FAILED);
    assert_int_equal(ctsc_scope_status(s), CTSC_OK); /* the failure is not the scope's */
    assert_int_equal(ctsc_scope_invoke(s, NULL, 2, NULL, args, &y, e), CTSC_USAGE);
    assert_int_equal(ctsc_scope_invoke(s, "aten::add", 2, NULL, NULL, &y, e), CTSC_USAGE);
    assert_int_equal(ctsc_scope_invoke(NULL, "aten::add", 2, NULL, args, &y, NULL), CTSC_USAGE);
    assert_int_equal(ctsc_trace_begin(s, NULL), CTSC_OK);
    assert_int_equal(ctsc_scope_invoke(s, "aten::add", 2, NULL, args, &y, e), CTSC_USAGE);
    assert_null(y);
    /* by its name the overload is meant, where an int among several would be a size */
    ctsc_scope_reset(s);
    ctsc_value *view[] = {t, ctsc_int(s, CTSC_INT32)};
    assert_int_equal(ctsc_scope_invoke(s, "aten::view.dtype", 2, NULL, view, &y, e), CTSC_OK);
    assert_int_equal(ctsc_tensor_dtype(y), CTSC_INT32);
    ctsc_value_free(y), ctsc_value_free(t);
    ctsc_error_free(e);
    ctsc_scope_free(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_have_their_own_weights),
        cmocka_unit_test(parts_outlive_the_whole),
        cmocka_unit_test(objects_have_names),
        cmocka_unit_test(attributes_are_set),
        cmocka_unit_test(parts_that_are_none),
        cmocka_unit_test(calls_whose_result_is_the_callers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
