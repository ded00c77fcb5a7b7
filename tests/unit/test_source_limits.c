/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_source_limits.c - source text that is too deep, too long or too hungry gets an error,
 * quickly and with the stack intact.
 */
#include "ctsc.h"

#include "base/text/strbuf.h"
#include "support.h"

enum { MANY = 100000 };

static void expect_compile_error(const char *program, ctsc_status status, const char *text) {
    ctsc_compile_options o = {
        .size = sizeof o, .skip_init = true, .max_steps = 1000000, .max_bytes = 64 << 20};
    ctsc_error *e = ctsc_error_new();
    ctsc_module *m = NULL;
    ctsc_status s = ctsc_module_compile_text("hostile.py", program, strlen(program), &o, &m, e);
    if (s != status || !strstr(ctsc_error_message(e), text)) {
        print_error("%.60s...: status %d: %s\n", program, (int)s, ctsc_error_message(e));
        fail();
    }
    assert_null(m);
    ctsc_error_free(e);
}

static void limits_repeat(strbuf *sb, const char *text, int times) {
    for (int i = 0; i < times; i++) sb_puts(sb, text);
}

/* before + MANY * open + middle + MANY * close + after */
static void test_nesting(void **state) {
    (void)state;
    static const struct {
        const char *before, *open, *middle, *close, *after, *text;
    } cases[] = {
        {"def forward(x):\n    return ", "(", "x", ")", "\n", "nested too deeply"},
        {"def forward(x):\n    return ", "-", "x", "", "\n", "nested too deeply"},
        {"def forward(x: bool):\n    return ", "not ", "x", "", "\n", "nested too deeply"},
        {"def forward(x: int):\n    return ", "x if x else ", "x", "", "\n", "nested too deeply"},
        {"def forward(x):\n    return x", ".t()", "", "", "\n", "too long"},
        {"def forward(x: int):\n    return x", " + x", "", "", "\n", "too long"},
        {"def forward(x: '", "List[", "int", "]", "'):\n    return 1\n", "nested too deeply"},
        {"y = ", "[", "", "]", "\ndef forward(x):\n    return x\n", "nested too deeply"},
        {"y = ", "lambda: ", "1", "", "\ndef forward(x):\n    return x\n", "nested too deeply"},
        {"def forward(x: int):\n    if x == 0:\n        return 0\n",
         "    elif x == 1:\n        return 1\n", "", "", "    return x\n", "nested too deeply"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        strbuf sb = STRBUF_INIT;
        sb_puts(&sb, cases[i].before);
        limits_repeat(&sb, cases[i].open, MANY);
        sb_puts(&sb, cases[i].middle);
        limits_repeat(&sb, cases[i].close, MANY);
        sb_puts(&sb, cases[i].after);
        expect_compile_error(sb_str(&sb), CTSC_FAILED, cases[i].text);
        sb_free(&sb);
    }
}

static void test_indentation(void **state) {
    (void)state;
    strbuf sb = STRBUF_INIT;
    sb_puts(&sb, "def forward(x: int):\n");
    for (int i = 1; i < 1000; i++) {
        limits_repeat(&sb, " ", i);
        sb_puts(&sb, "if x:\n");
    }
    expect_compile_error(sb_str(&sb), CTSC_FAILED, "too many levels of indentation");
    sb_free(&sb);
}

static void test_running(void **state) {
    (void)state;
    expect_compile_error("def f(n):\n    return f(n + 1)\nf(0)\n", CTSC_FAILED,
                         "maximum recursion depth exceeded");
    expect_compile_error("while True:\n    pass\n", CTSC_LIMIT, "runs for too long");
    expect_compile_error("x = [0]\nwhile True:\n    x = x + x\n", CTSC_LIMIT, "runs for too long");
    expect_compile_error("x = 'a' * (1 << 62)\n", CTSC_FAILED, "MemoryError");
    expect_compile_error("import torch\nx = []\nwhile True:\n    x.append(torch.zeros(1 << 16))\n",
                         CTSC_LIMIT, "memory");
    expect_compile_error(
        "class A:\n    def __getattr__(self, n):\n        return getattr(self, n + 'x')\nA().y\n",
        CTSC_FAILED, "maximum recursion depth exceeded");
    expect_compile_error("x = 10 ** 10 ** 10\n", CTSC_FAILED, "64 bit");
    expect_compile_error("def forward(x):\n    return forward(x)\n", CTSC_FAILED, "recursive");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_nesting),
                                       cmocka_unit_test(test_indentation),
                                       cmocka_unit_test(test_running)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
