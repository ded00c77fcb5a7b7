/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_faults.c - loading and running with every allocation failing in turn, once and for good: an
 * error or the right result, nothing leaked, and the next attempt works. A sample of the
 * allocations; all of them with CTSC_FAULTS_ALL=1 (make test-faults).
 */
#include "support.h"

#include "ctsc.h"

static counting count;
static char faults_message[256]; /* of the last failure */

/* One load, run and unload. Returns the status; checks that nothing stays behind. */
static ctsc_status faults_cycle(void *ctx) {
    const char *folder = ctx;
    char path[512];
    ctsc_error *e = ctsc_error_new();
    ctsc_module *m = NULL;
    ctsc_value *in = NULL, *out = NULL, *args[16] = {0};
    ctsc_status s = e ? CTSC_OK : CTSC_LIMIT;
    size_t n = 0;
    snprintf(path, sizeof path, "%s/model.pt", folder);
    if (s == CTSC_OK) s = ctsc_module_load(path, &m, e);
    snprintf(path, sizeof path, "%s/inputs.pt", folder);
    if (s == CTSC_OK) s = ctsc_value_load(path, &in, e);
    if (s == CTSC_OK) n = ctsc_value_len(in);
    assert_true(n < 16);
    for (size_t i = 0; s == CTSC_OK && i < n; i++)
        if (!(args[i] = ctsc_value_item(in, i))) s = CTSC_LIMIT;
    ctsc_run_options o = {.size = sizeof o, .print = NULL};
    if (s == CTSC_OK) s = ctsc_module_run(m, "forward", n, args, &o, &out, e);
    snprintf(faults_message, sizeof faults_message, "%s", ctsc_error_message(e));
    for (size_t i = 0; i < n; i++) ctsc_value_free(args[i]);
    ctsc_value_free(out);
    ctsc_value_free(in);
    ctsc_module_free(m);
    ctsc_error_free(e);
    return s;
}

#define FAULTS_TEST(name, folder, most)                                                            \
    static void faults_##name(void **state) {                                                      \
        (void)state;                                                                               \
        char path[] = "tests/corpus/" folder;                                                      \
        support_fail_allocations(&count, path, most, faults_cycle, path, faults_message);          \
    }
FAULTS_TEST(classes, "lang/class_operators", 2000)
FAULTS_TEST(dicts, "lang/dict_methods", 2000)
FAULTS_TEST(strings, "lang/str_methods", 2000)
FAULTS_TEST(loops, "lang/while_break_continue", 2000)
FAULTS_TEST(tensors, "lang/views_alias", 2000)
FAULTS_TEST(fork, "lang/fork_wait", 2000)
FAULTS_TEST(named_tuple, "lang/namedtuple_output", 2000)
FAULTS_TEST(enums, "lang/enum_basic", 2000)
FAULTS_TEST(mlp, "models/mlp_script", 1500)
FAULTS_TEST(lstm, "models/lstm_l1_script", 1000)
FAULTS_TEST(attention, "models/multihead_attention_script", 500)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_classes),     cmocka_unit_test(faults_dicts),
        cmocka_unit_test(faults_strings),     cmocka_unit_test(faults_loops),
        cmocka_unit_test(faults_tensors),     cmocka_unit_test(faults_fork),
        cmocka_unit_test(faults_named_tuple), cmocka_unit_test(faults_enums),
        cmocka_unit_test(faults_mlp),         cmocka_unit_test(faults_lstm),
        cmocka_unit_test(faults_attention),
    };
    mem_set_hook(counting_hook, &count);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
