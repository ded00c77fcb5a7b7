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

/* One load, `calls` runs at a level (-1: as it is) and
 * unload. Returns the status; checks that nothing remains. */
static ctsc_status faults_run(const char *folder, int level, int calls) {
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
    if (s == CTSC_OK && level >= 0) s = ctsc_module_set_opt(m, level, e);
    for (int i = 0; s == CTSC_OK && i < calls; i++) {
        ctsc_value_free(out);
        out = NULL;
        s = ctsc_module_run(m, "forward", n, args, &o, &out, e);
    }
    snprintf(faults_message, sizeof faults_message, "%s", ctsc_error_message(e));
    for (size_t i = 0; i < n; i++) ctsc_value_free(args[i]);
    ctsc_value_free(out);
    ctsc_value_free(in);
    ctsc_module_free(m);
    ctsc_error_free(e);
    return s;
}

static ctsc_status faults_cycle(void *ctx) { return faults_run(ctx, -1, 1); }

/* Backward passes on the tape. */
static ctsc_status faults_taped(void *ctx) { return faults_run(ctx, 1, 1); }

/* The first call is captured with its backward passes, the second runs what was made of it. */
static ctsc_status faults_captured(void *ctx) { return faults_run(ctx, 3, 2); }

#define FAULTS_TEST_OF(name, folder, most, cycle)                                                  \
    static void faults_##name(void **state) {                                                      \
        (void)state;                                                                               \
        char path[] = "tests/corpus/" folder;                                                      \
        support_fail_allocations(&count, path, most, cycle, path, faults_message);                 \
    }
#define FAULTS_TEST(name, folder, most) FAULTS_TEST_OF(name, folder, most, faults_cycle)
#define FAULTS_GRAD(name, folder, most)                                                            \
    FAULTS_TEST_OF(taped_##name, "grad/program_" folder, most, faults_taped)                       \
    FAULTS_TEST_OF(captured_##name, "grad/program_" folder, (most) / 4, faults_captured)
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
FAULTS_GRAD(sgd, "sgd_mlp", 120)
FAULTS_GRAD(adam, "adam_logistic", 120)
FAULTS_GRAD(potential, "potential", 120)
FAULTS_GRAD(hessian, "hessian", 120)
FAULTS_GRAD(accumulate, "accumulate", 120)
FAULTS_GRAD(gru, "grutrain_20", 120)
FAULTS_GRAD(cnn, "traincnn", 120)
FAULTS_GRAD(rules, "rules", 120)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_classes),
        cmocka_unit_test(faults_dicts),
        cmocka_unit_test(faults_strings),
        cmocka_unit_test(faults_loops),
        cmocka_unit_test(faults_tensors),
        cmocka_unit_test(faults_fork),
        cmocka_unit_test(faults_named_tuple),
        cmocka_unit_test(faults_enums),
        cmocka_unit_test(faults_mlp),
        cmocka_unit_test(faults_lstm),
        cmocka_unit_test(faults_attention),
        cmocka_unit_test(faults_taped_sgd),
        cmocka_unit_test(faults_captured_sgd),
        cmocka_unit_test(faults_taped_adam),
        cmocka_unit_test(faults_captured_adam),
        cmocka_unit_test(faults_taped_potential),
        cmocka_unit_test(faults_captured_potential),
        cmocka_unit_test(faults_taped_hessian),
        cmocka_unit_test(faults_captured_hessian),
        cmocka_unit_test(faults_taped_accumulate),
        cmocka_unit_test(faults_captured_accumulate),
        cmocka_unit_test(faults_taped_gru),
        cmocka_unit_test(faults_captured_gru),
        cmocka_unit_test(faults_taped_cnn),
        cmocka_unit_test(faults_captured_cnn),
        cmocka_unit_test(faults_taped_rules),
        cmocka_unit_test(faults_captured_rules),
    };
    mem_set_hook(counting_hook, &count);
    if (getenv("CTSC_FAULTS_ONLY")) cmocka_set_test_filter(getenv("CTSC_FAULTS_ONLY"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
