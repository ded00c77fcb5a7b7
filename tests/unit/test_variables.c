/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_variables.c - variables of the environment, from a program that uses the
 * library: the log, graphs after passes, and the graph file that a pass writes when
 * it damages its graph. The pass is cse, whose calls come here (the linker's --wrap).
 */
#include "support.h"

#include "base/log.h"
#include "base/variables.h"
#include "passes/passes.h"

#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/ctsc variables XXXXXX";
static bool damages;

bool __real_pass_cse(pass_ctx *cx, graph *g);
bool __wrap_pass_cse(pass_ctx *cx, graph *g) {
    bool changed = __real_pass_cse(cx, g);
    if (damages) g->root->params.data[0]->index = 7;
    return changed;
}

/* What goes to standard error until stderr_end, which gives it. */
static int stderr_before = -1, stderr_file = -1;
static void stderr_begin(void) {
    char path[] = "/tmp/ctsc-stderr-XXXXXX";
    stderr_file = mkstemp(path);
    assert_true(stderr_file >= 0);
    unlink(path);
    stderr_before = dup(STDERR_FILENO);
    dup2(stderr_file, STDERR_FILENO);
}

static char *stderr_end(void) {
    dup2(stderr_before, STDERR_FILENO);
    close(stderr_before);
    off_t n = lseek(stderr_file, 0, SEEK_END);
    char *text = calloc(1, (size_t)n + 1);
    assert_int_equal(pread(stderr_file, text, (size_t)n, 0), n);
    close(stderr_file);
    return text;
}

/* Compiles and calls a program at level 2; its status. */
static ctsc_status run_program(ctsc_error *e) {
    static const char source[] =
        "import torch\ndef forward(x):\n    return torch.relu(x) + torch.relu(x)\n";
    ctsc_module *m = NULL;
    ctsc_value *x = NULL, *y = NULL;
    int64_t size = 4;
    assert_int_equal(ctsc_module_compile_text("v.py", source, strlen(source), NULL, &m, e),
                     CTSC_OK);
    assert_int_equal(ctsc_module_set_opt(m, 2, e), CTSC_OK);
    assert_int_equal(ctsc_tensor_new(CTSC_FLOAT32, 1, &size, &x, e), CTSC_OK);
    ctsc_status s = ctsc_module_run(m, "forward", 1, &x, NULL, &y, e);
    ctsc_value_free(x), ctsc_value_free(y), ctsc_module_free(m);
    return s;
}

static void variables_print(void **state) {
    (void)state;
    ctsc_error *e = ctsc_error_new();
    stderr_begin();
    ctsc_status s = run_program(e);
    char *text = stderr_end();
    assert_int_equal(s, CTSC_OK);
    assert_non_null(strstr(text, "CTSC_PRINT_AFTER: there is no pass 'nonsense'"));
    const char *cse = strstr(text, "*** after cse (changed) ***\ngraph(");
    assert_non_null(cse);
    assert_non_null(strstr(cse, "aten::relu"));
    assert_null(strstr(strstr(cse, "aten::relu") + 1, "aten::relu(%x.1)\n"));
    assert_null(strstr(text, "*** after dce"));
    free(text);
    ctsc_error_free(e);
}

/* The file holds the graph before the pass: valid, and the pass finds something to do in it. */
static void check_left(const char *path) {
    diag d = {0};
    graph *g = NULL;
    strbuf text = STRBUF_INIT;
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    for (int c; (c = getc(f)) != EOF;) sb_putc(&text, (char)c);
    fclose(f);
    assert_int_equal(graph_parse(&d, path, sb_str(&text), text.len, &g), CTSC_OK);
    pass_ctx cx = {.diag = &d};
    bool changed = false;
    assert_int_equal(pass_run_list(&cx, g, "cse", &changed), CTSC_OK);
    assert_true(changed);
    graph_free(g);
    sb_free(&text);
}

static void variables_verify(void **state) {
    (void)state;
    char pattern[128], repeat[512];
    glob_t found;
    ctsc_error *e = ctsc_error_new();
    damages = true;
    stderr_begin();
    ctsc_status s = run_program(e);
    char *text = stderr_end();
    damages = false;
    assert_int_equal(s, CTSC_INTERNAL);
    snprintf(pattern, sizeof pattern, "%s/ctsc-cse-*.ir", folder);
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    assert_int_equal(found.gl_pathc, 1);
    snprintf(repeat, sizeof repeat, "ctsc opt --passes cse --verify-each '%s'\n",
             found.gl_pathv[0]);
    assert_non_null(strstr(text, "damaged after pass 'cse'"));
    assert_non_null(strstr(text, repeat));
    char *whole = ctsc_error_render(e, false);
    assert_non_null(strstr(whole, "the graph is so after pass 'cse'"));
    assert_non_null(strstr(whole, repeat));
    check_left(found.gl_pathv[0]);
    unlink(found.gl_pathv[0]);
    globfree(&found);
    ctsc_string_free(whole);
    free(text);
    ctsc_error_free(e);
}

static void count_alerts(void *ctx, ctsc_log_level level, const char *text) {
    (void)text;
    *(int *)ctx += level == CTSC_LOG_ALERT;
}

/* Both hear the log; of an alert who listens tells people. */
static void variables_log(void **state) {
    (void)state;
    int alerts = 0;
    stderr_begin();
    log_event(CTSC_LOG_INFO, "too little");
    log_event(CTSC_LOG_WARNING, "number %d", 5);
    log_event(CTSC_LOG_ALERT, "first");
    ctsc_set_log(CTSC_LOG_ALERT, count_alerts, &alerts);
    log_event(CTSC_LOG_WARNING, "number %d", 6);
    log_event(CTSC_LOG_ALERT, "second");
    ctsc_set_log(CTSC_LOG_ALERT, NULL, NULL);
    char *text = stderr_end();
    assert_string_equal(text, "ctsc: warning: number 5\nctsc: alert: first\n"
                              "ctsc: warning: number 6\n");
    assert_int_equal(alerts, 1);
    free(text);
}

/* An empty variable is one that is not set. */
static void variables_get(void **state) {
    (void)state;
    setenv("CTSC_CUDNN", "", 1);
    assert_null(variable_get(VARIABLE_CUDNN));
    setenv("CTSC_CUDNN", "x", 1);
    assert_string_equal(variable_get(VARIABLE_CUDNN), "x");
    unsetenv("CTSC_CUDNN");
    assert_null(variable_get(VARIABLE_CUDNN));
    assert_null(variable_get(VARIABLE_NONE));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(variables_print), cmocka_unit_test(variables_verify),
        cmocka_unit_test(variables_log), cmocka_unit_test(variables_get)};
    if (!mkdtemp(folder)) return 1;
    setenv("TMPDIR", folder, 1);
    setenv("CTSC_LOG", "warning", 1);
    setenv("CTSC_PRINT_AFTER", "nonsense,cse", 1);
    setenv("CTSC_VERIFY", "1", 1);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(folder);
    return failed;
}
