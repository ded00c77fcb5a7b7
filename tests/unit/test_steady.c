/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_steady.c - the steady state: once a program has run a few times, a call asks the allocator
 * for its results and nothing else.
 *
 * Counted are requests to the library's allocator (base/memory/mem.h) during the call. What the
 * caller keeps is taken off: for each tensor of the result its block; a block or two for each
 * container; one for the ctsc_value around it all. Each program prints the number found, so that a
 * change for the worse can be seen before it fails.
 */
#include "support.h"

#include "ctsc.h"

static counting count;

enum { STEADY_WARM = 12, STEADY_CALLS = 5, STEADY_ARGS = 16 };

/* What the caller gets to keep. */
static long steady_owned(const ctsc_value *v) {
    long n = 0;
    switch (ctsc_value_kind(v)) {
    case CTSC_KIND_TENSOR: return 1;
    case CTSC_KIND_STRING: return 1;
    case CTSC_KIND_LIST:
    case CTSC_KIND_TUPLE:
        for (size_t i = 0; i < ctsc_value_len(v); i++) {
            ctsc_value *item = ctsc_value_item(v, i);
            n += steady_owned(item);
            ctsc_value_free(item);
        }
        return n + (ctsc_value_kind(v) == CTSC_KIND_LIST ? 2 : 1);
    default: return 0;
    }
}

static void steady_print(void *ctx, const char *text, size_t len) {
    (void)ctx;
    (void)text;
    (void)len;
}

/* Requests of one call that were not for its result. */
static long steady_call(const ctsc_module *m, size_t nargs, ctsc_value *const *args,
                        ctsc_error *e) {
    ctsc_run_options o = {.size = sizeof o, .print = steady_print};
    ctsc_value *out = NULL;
    long before = count.requests;
    ctsc_status s = ctsc_module_run(m, "forward", nargs, args, &o, &out, e);
    long made = count.requests - before;
    if (s != CTSC_OK) fail_msg("%s", ctsc_error_message(e));
    made -= 1 + steady_owned(out);
    ctsc_value_free(out);
    return made;
}

static long steady_measure(const char *folder, int level) {
    char path[512];
    ctsc_error *e = ctsc_error_new();
    ctsc_module *m = NULL;
    ctsc_value *in = NULL, *args[STEADY_ARGS] = {0};
    snprintf(path, sizeof path, "tests/corpus/%s/model.pt", folder);
    if (ctsc_module_load(path, &m, e) != CTSC_OK) fail_msg("%s: %s", folder, ctsc_error_message(e));
    snprintf(path, sizeof path, "tests/corpus/%s/inputs.pt", folder);
    if (ctsc_value_load(path, &in, e) != CTSC_OK) fail_msg("%s: %s", folder, ctsc_error_message(e));
    assert_int_equal(ctsc_module_set_opt(m, level, e), CTSC_OK);
    size_t n = ctsc_value_len(in);
    assert_true(n <= STEADY_ARGS);
    for (size_t i = 0; i < n; i++) args[i] = ctsc_value_item(in, i);
    for (int i = 0; i < STEADY_WARM; i++) steady_call(m, n, args, e);
    long most = 0;
    for (int i = 0; i < STEADY_CALLS; i++) {
        long made = steady_call(m, n, args, e);
        if (made > most) most = made;
    }
    for (size_t i = 0; i < n; i++) ctsc_value_free(args[i]);
    ctsc_value_free(in);
    ctsc_module_free(m);
    ctsc_error_free(e);
    return most;
}

/* most: requests that are left to be got rid of, by level. It is to be 0 everywhere. */
static const struct { const char *folder; long most[3]; } steady_programs[] = {
    {"models/seed_script_fn_x10_script", {0, 0, 0}},
    {"models/seed_lstm_cell_chunk_script", {0, 0, 0}},
    {"models/seed_pairwise_distance_batched_script", {0, 0, 0}},
    /* its result is torch.zeros': separate handle, storage and data */
    {"models/seed_pairwise_distance_loop_script", {2, 2, 2}},
    {"models/mlp_script", {0, 0, 0}},
    /* results that are views, and scratch memory of the recurrence */
    {"models/lstm_l1_script", {3, 3, 3}},
    {"models/gpt_like_script", {0, 0, 0}},
};

static void test_steady_state(void **state) {
    (void)state;
    int failed = 0;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* nothing is recycled */
#endif
    for (size_t i = 0; i < sizeof steady_programs / sizeof *steady_programs; i++)
        for (int level = 0; level < 3; level++) {
            long made = steady_measure(steady_programs[i].folder, level);
            print_message("%s at level %d: %ld requests beside the result\n",
                          steady_programs[i].folder, level, made);
            failed += made > steady_programs[i].most[level];
        }
    assert_int_equal(failed, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_steady_state)};
    mem_set_hook(counting_hook, &count);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
