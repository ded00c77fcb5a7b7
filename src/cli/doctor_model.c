/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor_model.c - what slows a model down and only shows when it is called: denormal numbers.
 *
 * The method is called a few times, so that graphs and kernels are made, then with a profiler; only
 * where that says that denormal numbers are met their cost is measured (denormals.h).
 * Tests: tests/cli/denormals.test
 */
#include "cli/denormals.h"
#include "cli/doctor.h"

enum { DOCTOR_WARM_UP = 3, DOCTOR_CALLS = 5 };

static void doctor_drop(void *ctx, const char *text, size_t len) {
    (void)ctx, (void)text, (void)len;
}

static int doctor_call(const cli_call *c, const cli_limits *l, const ctsc_module *m,
                       ctsc_profiler *p, ctsc_error *e) {
    ctsc_run_options o = cli_limited(
        l, (ctsc_run_options){.size = sizeof o, .print = doctor_drop, .profiler = p});
    for (int i = 0; i <= DOCTOR_WARM_UP; i++) {
        ctsc_value *result = NULL;
        o.profiler = i == DOCTOR_WARM_UP ? p : NULL;
        if (ctsc_module_run(m, c->method, c->inputs.nvalues, c->inputs.values, &o, &result, e) !=
            CTSC_OK)
            return cli_report_call(&c->inputs, e);
        ctsc_value_free(result);
    }
    return 0;
}

/* *out: null where none are met, or where they count as zero already. */
static int doctor_denormals(const cli_call *c, const cli_limits *l, const ctsc_module *m,
                            json_t **out, ctsc_error *e) {
    denormals d = {0};
    ctsc_profiler *p = ctsc_profiler_new(NULL);
    int code = p ? doctor_call(c, l, m, p, e) : cli_complain(CTSC_LIMIT, "out of memory");
    bool met = !code && !c->flush_denormals && denormals_met(p);
    if (met) code = denormals_measure(m, c->method, &c->inputs, l, DOCTOR_CALLS, &d, e);
    if (!code) *out = met ? denormals_json(&d) : json_null();
    denormals_free(&d);
    ctsc_profiler_free(p);
    return code;
}

int doctor_model(const cli_model *model, cli_call *c, const cli_limits *l, json_t **out,
                 ctsc_error *e) {
    ctsc_module *m = NULL;
    json_t *found = NULL;
    int code = cli_load_for_call(model, c->opt, c->precision, &m, e);
    if (!code) code = cli_read_inputs(&c->inputs, m, c->method, e);
    if (!code) code = cli_place(c->device, m, &c->inputs, e);
    if (!code) code = doctor_denormals(c, l, m, &found, e);
    ctsc_module_free(m);
    if (!code)
        *out = json_pack("{s:s, s:s, s:o}", "path", model->path, "method", c->method, "denormals",
                         found);
    return code;
}
