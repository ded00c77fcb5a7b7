/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zoo_figures.c - the figures of a network: parameters, operations (ctsc_module_count_work, as
 * inspect and view count them), time.
 * Tests: tests/cli/zoo.test
 */
#include "cli/machine.h"
#include "cli/zoo/zoo.h"

#include "ctsc_compiler.h"

#include <stdlib.h>
#include <string.h>

enum { FIGURES_WARMUP = 2, FIGURES_MOST = 50, FIGURES_LEAST = 3, FIGURES_US = 500000 };

static void figures_count(void *ctx, const ctsc_attribute_info *a) {
    int64_t *sum = ctx, n = 1;
    if (!a->is_parameter || ctsc_value_kind(a->value) != CTSC_KIND_TENSOR) return;
    for (int i = 0; i < ctsc_tensor_ndim(a->value); i++)
        n = cli_product(n, ctsc_tensor_sizes(a->value)[i]);
    *sum = cli_sum(*sum, n);
}

static int figures_order(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of some calls, after those that compile. */
static ctsc_status figures_time(ctsc_module *m, size_t n, ctsc_value *const *args, double *us,
                                ctsc_error *e) {
    double all[FIGURES_MOST], begun = 0;
    int calls = 0;
    ctsc_run_options o = {.size = sizeof o};
    ctsc_status s = ctsc_module_set_opt(m, CLI_OPT_DEFAULT, e);
    for (int i = 0; s == CTSC_OK && i < FIGURES_WARMUP + FIGURES_MOST; i++) {
        ctsc_value *result = NULL;
        double start = machine_now();
        if (i == FIGURES_WARMUP) begun = start;
        if (i >= FIGURES_WARMUP + FIGURES_LEAST && start - begun > FIGURES_US) break;
        s = ctsc_module_run(m, "forward", n, args, &o, &result, e);
        if (i >= FIGURES_WARMUP) all[calls++] = machine_now() - start;
        ctsc_value_free(result);
    }
    if (s != CTSC_OK) return s;
    qsort(all, (size_t)calls, sizeof *all, figures_order);
    *us = all[calls / 2];
    return s;
}

ctsc_status zoo_measure(const zoo_net *net, bool time, zoo_figures *out, ctsc_error *e) {
    zoo_figures f = {.parameters = 0, .flops = -1, .us = -1};
    ctsc_work work = {.size = sizeof work};
    ctsc_value *args[ZOO_INPUTS] = {0};
    size_t n = 0;
    ctsc_module_attributes(net->m, figures_count, &f.parameters);
    *out = f;
    while (n < net->nspecs && (args[n] = zoo_input(net->specs[n]))) n++;
    ctsc_status s = CTSC_OK;
    if (n && n == net->nspecs) {
        s = ctsc_module_count_work(net->m, "forward", n, args, &work, e);
        if (s == CTSC_OK) f.flops = work.flops, f.all_flops = !work.uncounted;
        if (s == CTSC_OK && time) s = figures_time(net->m, n, args, &f.us, e);
    }
    for (size_t i = 0; i < n; i++) ctsc_value_free(args[i]);
    *out = f;
    return s;
}
