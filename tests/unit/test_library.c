/* SPDX-License-Identifier: Apache-2.0 */
/* test_library.c - ctsc.h: versions, the allocator, the log, file descriptors, dicts and objects. */
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
    assert_false(ctsc_compatible("0.1.1", CTSC_ABI_VERSION));
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

static void library_containers(void **state) {
    ctsc_error *e = ctsc_error_new();
    ctsc_value *keys[] = {ctsc_string_new("a", 1), ctsc_string_new("b", 1)}, *items[] = {ctsc_int_new(1), ctsc_int_new(2)};
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
    assert_true(ctsc_value_real(z) == 1 && ctsc_value_imaginary(z) == -2 && ctsc_value_real(two) == 0);

    const char source[] = "import torch\nfrom typing import Dict, NamedTuple\nclass P(NamedTuple):\n    x: int\n    y: float\n"
                          "def forward(d: Dict[str, int]):\n    return P(d['a'], 2.5)\n";
    ctsc_module *m = NULL;
    ctsc_value *p = NULL;
    assert_int_equal(ctsc_module_compile_text("p.py", source, strlen(source), NULL, &m, e), CTSC_OK);
    assert_int_equal(ctsc_module_run(m, "forward", 1, &d, NULL, &p, e), CTSC_OK);
    ctsc_value *x = ctsc_value_get(p, "x"), *y = ctsc_value_get(p, "y");
    assert_int_equal(ctsc_value_int(x), 1);
    assert_true(ctsc_value_float(y) == 2.5);
    assert_null(ctsc_value_get(p, "z"));
    kind = ctsc_value_type(p);
    assert_non_null(strstr(kind, "P"));
    ctsc_string_free(kind);
    ctsc_value_free(x), ctsc_value_free(y), ctsc_value_free(p), ctsc_value_free(z), ctsc_value_free(two), ctsc_value_free(d);
    ctsc_module_free(m);
    for (int i = 0; i < 2; i++) ctsc_value_free(keys[i]), ctsc_value_free(items[i]);
    ctsc_error_free(e);
}

static void library_count_lines(void *ctx, ctsc_log_level level, const char *text) {
    assert_true(level >= CTSC_LOG_INFO);
    assert_null(strchr(text, '\n'));
    ++*(int *)ctx;
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
    assert_int_equal(ctsc_module_compile_text("l.py", source, strlen(source), NULL, &m, e), CTSC_OK);
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
        cmocka_unit_test(library_versions),
        cmocka_unit_test(library_load_fd),
        cmocka_unit_test(library_containers),
        cmocka_unit_test(library_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
