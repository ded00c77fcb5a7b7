/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_trace_faults.c - calling and tracing with every allocation failing in turn, once and for
 * good: an error or the right module, nothing leaked, and the next attempt works. A sample of the
 * allocations; all of them with CTSC_FAULTS_ALL=1 (make test-faults).
 */
#include "support.h"

#include "trace_cases.h"

static counting count;
static char faults_message[256];

typedef struct faults_case { const trace_case *c; trace_world w; } faults_case;

/* Traces a case, checks it, runs the module. */
static ctsc_status faults_cycle(void *ctx) {
    const trace_case *c = ((faults_case *)ctx)->c;
    trace_world *w = &((faults_case *)ctx)->w;
    ctsc_error *e = ctsc_error_new();
    ctsc_scope *s = ctsc_scope_new();
    ctsc_value *in[TRACE_CASE_INPUTS] = {NULL}, *out = NULL;
    ctsc_module *m = NULL;
    ctsc_status st = e && s ? CTSC_OK : CTSC_LIMIT;
    for (int i = 0; i < c->ninputs && st == CTSC_OK; i++)
        if (!(in[i] = c->input(s, i, 3))) st = ctsc_scope_status(s);
    if (st == CTSC_OK) st = ctsc_trace(c->fn, w, (size_t)c->ninputs, in, NULL, &m, e);
    if (st == CTSC_OK) st = ctsc_module_run(m, "forward", (size_t)c->ninputs, in, NULL, &out, e);
    snprintf(faults_message, sizeof faults_message, "%s", ctsc_error_message(e));
    /* a tensor could not be made, and the scope was given NULL */
    if (st == CTSC_USAGE) st = CTSC_LIMIT;
    ctsc_value_free(out);
    ctsc_module_free(m);
    ctsc_scope_free(s);
    ctsc_error_free(e);
    return st;
}

static void faults_sweep(const char *name, long most) {
    faults_case f = {NULL};
    for (int k = 0; k < TRACE_CASES; k++)
        if (!strcmp(trace_cases[k].name, name)) f.c = &trace_cases[k];
    assert_non_null(f.c);
    assert_true(cases_world(&f.w, NULL));
    support_fail_allocations(&count, name, most, faults_cycle, &f, faults_message);
    cases_world_free(&f.w);
}

#define FAULTS_TEST(name, most)                                                                    \
    static void faults_##name(void **state) {                                                      \
        (void)state;                                                                               \
        faults_sweep(#name, most);                                                                 \
    }
FAULTS_TEST(mlp, 1500)
FAULTS_TEST(constant, 1500)
FAULTS_TEST(index, 1500)
FAULTS_TEST(pair, 1500)
FAULTS_TEST(scripts, 1500)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_mlp), cmocka_unit_test(faults_constant),
        cmocka_unit_test(faults_index), cmocka_unit_test(faults_pair),
        cmocka_unit_test(faults_scripts)};
    mem_set_hook(counting_hook, &count);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
