/* SPDX-License-Identifier: Apache-2.0 */
/* test_library.c - ctsc.h: versions, the allocator, the log, file descriptors,
 * dicts and objects. */
#include "support.h"

#include "ctsc.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static void library_versions(void **state) {
    (void)state;
    assert_string_equal(ctsc_version(), CTSC_VERSION_STRING);
    assert_true(ctsc_compatible(CTSC_VERSION_STRING, CTSC_ABI_VERSION));
    assert_true(ctsc_compatible("0.0.9", CTSC_ABI_VERSION));
    assert_true(ctsc_compatible("0.1.1", CTSC_ABI_VERSION));
    assert_false(ctsc_compatible("0.2.1", CTSC_ABI_VERSION));
    assert_false(ctsc_compatible("1.0.0", CTSC_ABI_VERSION));
    assert_false(ctsc_compatible(CTSC_VERSION_STRING, CTSC_ABI_VERSION + 1));
    assert_false(ctsc_compatible("new", CTSC_ABI_VERSION));
    assert_false(ctsc_compatible(NULL, CTSC_ABI_VERSION));
}

static void library_load_fd(void **state) {
    ctsc_error *e = ctsc_error_new();
    ctsc_module *m = NULL;
    ctsc_value *x = NULL, *y = NULL;
    int64_t sizes[] = {2, 1, 8, 8};
    (void)state;
    int fd = open("models/digits_cnn.pt", O_RDONLY);
    assert_true(fd >= 0);
    assert_int_equal(ctsc_module_load_fd(fd, &m, e), CTSC_OK);
    close(fd);
    assert_int_equal(ctsc_tensor_new(CTSC_FLOAT32, 4, sizes, &x, e), CTSC_OK);
    assert_int_equal(ctsc_module_run(m, "forward", 1, &x, NULL, &y, e), CTSC_OK);
    ctsc_value_free(x), ctsc_value_free(y), ctsc_module_free(m);
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    m = NULL;
    assert_int_equal(ctsc_module_load_fd(ends[0], &m, e), CTSC_BAD_FILE);
    close(ends[0]), close(ends[1]);
    assert_int_equal(ctsc_module_load_fd(-1, &m, e), CTSC_BAD_FILE);
    assert_null(m);
    ctsc_error_free(e);
}

/* NULL where something has to be: an error, or NULL from makers, whose results are
 * often not looked at. */
static void library_null(void **state) {
    ctsc_error *e = ctsc_error_new();
    ctsc_module *m = NULL, *none = NULL;
    ctsc_value *v = NULL, *missing = NULL, *one = ctsc_int_new(1), *pair[] = {one, NULL};
    float data[4] = {0};
    char *text = NULL;
    (void)state;
    assert_int_equal(ctsc_tensor_new(CTSC_FLOAT32, 2, NULL, &v, e), CTSC_USAGE);
    assert_int_equal(ctsc_tensor_borrow(CTSC_FLOAT32, 1, NULL, data, NULL, NULL, &v, e),
                     CTSC_USAGE);
    assert_string_equal(ctsc_error_message(e), "the list of sizes is NULL");
    assert_int_equal(ctsc_tensor_borrow(CTSC_FLOAT32, -1, NULL, data, NULL, NULL, &v, e),
                     CTSC_USAGE);
    assert_int_equal(ctsc_tensor_borrow(CTSC_FLOAT32, 0, NULL, NULL, NULL, NULL, &v, e),
                     CTSC_USAGE);
    assert_null(v);
    assert_int_equal(ctsc_tensor_borrow(CTSC_FLOAT32, 0, NULL, data, NULL, NULL, &v, e), CTSC_OK);
    ctsc_value_free(v), v = NULL;
    assert_null(ctsc_string_new(NULL, 3));
    assert_non_null(v = ctsc_string_new(NULL, 0));
    ctsc_value_free(v), v = NULL;
    assert_null(ctsc_tuple_new(2, pair));
    assert_null(ctsc_list_new(2, pair));
    assert_null(ctsc_list_new(1, NULL));
    assert_null(ctsc_dict_new(1, pair, &missing));
    assert_null(ctsc_dict_new(1, NULL, pair));
    assert_null(ctsc_value_get(one, NULL));
    assert_false(ctsc_value_close(one, NULL, 0, 0, &text));
    ctsc_string_free(text);
    assert_int_equal(ctsc_value_load(NULL, &v, e), CTSC_USAGE);
    assert_int_equal(ctsc_value_save(one, NULL, e), CTSC_USAGE);
    assert_int_equal(ctsc_value_save(NULL, "x.pt", e), CTSC_USAGE);
    assert_int_equal(ctsc_tensor_to_dlpack(NULL, NULL, e), CTSC_USAGE);
    assert_int_equal(ctsc_module_load(NULL, &none, e), CTSC_USAGE);
    assert_int_equal(ctsc_module_load_memory(NULL, 10, &none, e), CTSC_USAGE);
    assert_int_equal(ctsc_module_load_memory(NULL, 0, &none, e), CTSC_BAD_FILE);
    assert_int_equal(ctsc_module_compile(NULL, NULL, &none, e), CTSC_USAGE);
    assert_int_equal(ctsc_module_compile_text(NULL, "", 0, NULL, &none, e), CTSC_USAGE);
    assert_int_equal(ctsc_module_compile_text("m.py", NULL, 1, NULL, &none, e), CTSC_USAGE);
    assert_null(none);
    assert_int_equal(ctsc_module_load("models/digits_cnn.pt", &m, e), CTSC_OK);
    assert_int_equal(ctsc_module_save(m, NULL, e), CTSC_USAGE);
    assert_int_equal(ctsc_module_run(m, NULL, 0, NULL, NULL, &v, e), CTSC_USAGE);
    assert_int_equal(ctsc_module_run(m, "forward", 1, NULL, NULL, &v, e), CTSC_USAGE);
    assert_int_equal(ctsc_module_run(m, "forward", 1, &missing, NULL, &v, e), CTSC_USAGE);
    assert_int_equal(ctsc_module_code(m, NULL, &text, e), CTSC_USAGE);
    assert_int_equal(ctsc_call(NULL, 0, NULL, &v, e), CTSC_USAGE);
    assert_int_equal(ctsc_call("aten::neg", 1, &missing, &v, e), CTSC_USAGE);
    assert_int_equal(ctsc_call("aten::neg", 1, NULL, &v, e), CTSC_USAGE);
    assert_int_equal(ctsc_load_library(NULL, e), CTSC_USAGE);
    assert_int_equal(ctsc_register_op(NULL, NULL, NULL, NULL, e), CTSC_USAGE);
    ctsc_scope *s = ctsc_scope_new();
    assert_null(ctsc_ints(s, 2, NULL));
    assert_int_equal(ctsc_scope_status(s), CTSC_USAGE);
    ctsc_scope_reset(s);
    assert_null(ctsc_string(s, NULL));
    ctsc_scope_reset(s);
    assert_null(ctsc_tuple(s, 1, NULL));
    assert_int_equal(ctsc_scope_status(s), CTSC_USAGE);
    ctsc_scope_free(s), ctsc_module_free(m), ctsc_value_free(one), ctsc_error_free(e);
}

static void library_containers(void **state) {
    ctsc_error *e = ctsc_error_new();
    ctsc_value *keys[] = {ctsc_string_new("a", 1), ctsc_string_new("b", 1)},
               *items[] = {ctsc_int_new(1), ctsc_int_new(2)};
    (void)state;
    ctsc_value *d = ctsc_dict_new(2, keys, items);
    char *text = ctsc_value_print(d), *kind = ctsc_value_type(d);
    assert_string_equal(text, "{a: 1, b: 2}");
    assert_string_equal(kind, "Dict[str, int]");
    ctsc_string_free(text), ctsc_string_free(kind);
    ctsc_value *two = ctsc_value_get(d, "b");
    assert_int_equal(ctsc_value_int(two), 2);
    assert_null(ctsc_value_get(d, "c"));
    assert_null(ctsc_value_get(two, "c"));
    assert_null(ctsc_dict_new(1, &d, items)); /* a dict is no key */
    ctsc_value *z = ctsc_complex_new(1, -2);
    assert_int_equal(ctsc_value_kind(z), CTSC_KIND_COMPLEX);
    assert_true(ctsc_value_real(z) == 1 && ctsc_value_imaginary(z) == -2 &&
                ctsc_value_real(two) == 0);

    const char source[] = "import torch\nfrom typing import Dict, NamedTuple\nclass "
                          "P(NamedTuple):\n    x: int\n    y: float\n"
                          "def forward(d: Dict[str, int]):\n    return P(d['a'], 2.5)\n";
    ctsc_module *m = NULL;
    ctsc_value *p = NULL;
    assert_int_equal(ctsc_module_compile_text("p.py", source, strlen(source), NULL, &m, e),
                     CTSC_OK);
    assert_int_equal(ctsc_module_run(m, "forward", 1, &d, NULL, &p, e), CTSC_OK);
    ctsc_value *x = ctsc_value_get(p, "x"), *y = ctsc_value_get(p, "y");
    assert_int_equal(ctsc_value_int(x), 1);
    assert_true(ctsc_value_float(y) == 2.5);
    assert_null(ctsc_value_get(p, "z"));
    kind = ctsc_value_type(p);
    assert_non_null(strstr(kind, "P"));
    ctsc_string_free(kind);
    ctsc_value_free(x), ctsc_value_free(y), ctsc_value_free(p), ctsc_value_free(z),
        ctsc_value_free(two), ctsc_value_free(d);
    ctsc_module_free(m);
    for (int i = 0; i < 2; i++) ctsc_value_free(keys[i]), ctsc_value_free(items[i]);
    ctsc_error_free(e);
}

static void library_count_lines(void *ctx, ctsc_log_level level, const char *text) {
    assert_true(level >= CTSC_LOG_INFO);
    assert_null(strchr(text, '\n'));
    *(int *)ctx += level != CTSC_LOG_ALERT;
}

static void library_log(void **state) {
    const char source[] = "import torch\ndef forward(x):\n    return (x * 2 + 1).exp() * 3\n";
    ctsc_error *e = ctsc_error_new();
    ctsc_module *m = NULL;
    ctsc_value *x = NULL, *y = NULL;
    int64_t sizes[] = {1000};
    int lines = 0;
    (void)state;
    ctsc_set_log(CTSC_LOG_INFO, library_count_lines, &lines);
    assert_int_equal(ctsc_module_compile_text("l.py", source, strlen(source), NULL, &m, e),
                     CTSC_OK);
    assert_int_equal(ctsc_module_set_opt(m, 3, e), CTSC_OK);
    assert_int_equal(ctsc_tensor_new(CTSC_FLOAT32, 1, sizes, &x, e), CTSC_OK);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(ctsc_module_run(m, "forward", 1, &x, NULL, &y, e), CTSC_OK);
        ctsc_value_free(y);
    }
    assert_int_equal(lines, 1); /* a kernel, or why there is none */
    ctsc_set_log(CTSC_LOG_DEBUG, NULL, NULL);
    ctsc_value_free(x), ctsc_module_free(m), ctsc_error_free(e);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(library_versions), cmocka_unit_test(library_load_fd),
        cmocka_unit_test(library_null),     cmocka_unit_test(library_containers),
        cmocka_unit_test(library_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
