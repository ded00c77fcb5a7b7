/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_rows.h - operators on the simulated device (tests/cuda/sim) against the host's results, as rows of text.
 *
 * Rows are those of dense_rows.h; f32 stands for the type that the row is run with. Results have to agree as closely as sums in another order do.
 */
#ifndef CTSC_TESTS_CUDA_ROWS_H
#define CTSC_TESTS_CUDA_ROWS_H

#include "dense_rows.h"

#include "cuda_support.h"
#include "runtime/cuda/through_host.h"

#include <dlfcn.h>

/* ---- running --------------------------------------------------------------------------------------------- */

/* Reads the results back and compares. NULL: they agree. */
static const char *dense_compare(const op *o, const value *host, const value *device, double tolerance) {
    static char why[400];
    for (int i = 0; i < o->schema->nreturns; i++) {
        if (host[i].tag != device[i].tag) return "another kind of result";
        if (host[i].tag != V_TENSOR) continue;
        tensor *here;
        diag d = {0};
        if (tensor_device(device[i].u.tensor) == DEVICE_HOST) return "a result on the host";
        if (tensor_to_device(&d, device[i].u.tensor, DEVICE_HOST, &here) != CTSC_OK) {
            snprintf(why, sizeof why, "%s", diag_message(&d));
            diag_clear(&d);
            return why;
        }
        bool near = dense_near(here, host[i].u.tensor, tolerance);
        strbuf sb = STRBUF_INIT;
        if (!near) {
            opcase_print_tensor(here, &sb);
            sb_puts(&sb, " not ");
            opcase_print_tensor(host[i].u.tensor, &sb);
        }
        snprintf(why, sizeof why, "result %d: %s", i, sb_str(&sb));
        sb_free(&sb);
        tensor_unref(here);
        if (!near) return why;
    }
    return NULL;
}

static ctsc_status dense_call(const op *o, int n, const value *args, value *results, diag *d) {
    runtime *rt = calloc(1, sizeof *rt);
    runtime_init(rt);
    op_ctx cx = {.diag = d, .op = o, .rt = rt};
    ctsc_status st = op_call(&cx, o->key, n, args, results);
    free(rt);
    return st;
}

/* 0: the row agrees with the host. */
static int dense_run(const dense_row *row, const char *type) {
    value args[OPCASE_MAX_ARGS], there[OPCASE_MAX_ARGS], host[OPCASE_MAX_RESULTS] = {value_none()}, device[OPCASE_MAX_RESULTS] = {value_none()};
    diag d = {0};
    strbuf text = STRBUF_INIT;
    const op *o = op_find(row->op);
    int n = 0, failed = 0;
    assert_non_null(o);
    dense_expand(row->args, type, &text);
    const char *at = sb_str(&text);
    for (opcase_space(&at); *at; opcase_space(&at)) args[n++] = opcase_value(&at);
    if (dense_call(o, n, args, host, &d) == CTSC_OK) { /* not all of them take half */
        const char *why = NULL;
        if (through_host_move(&d, n, args, 1, there) != CTSC_OK || dense_call(o, n, there, device, &d) != CTSC_OK) why = diag_message(&d);
        else why = dense_compare(o, host, device, dense_tolerance(type));
        if (why) {
            print_error("%s %s (%s): %s\n", row->op, row->args, type, why);
            failed = 1;
        }
        for (int i = 0; i < n; i++) value_unref(there[i]);
    }
    if (!strcmp(type, "f32") && host[0].tag == V_NONE) print_error("%s %s: the host says %s\n", row->op, row->args, diag_message(&d)), failed = 1;
    for (int i = 0; i < OPCASE_MAX_RESULTS; i++) value_unref(host[i]), value_unref(device[i]);
    for (int i = 0; i < n; i++) value_unref(args[i]);
    sb_free(&text);
    diag_clear(&d);
    return failed;
}

/* ---- the simulated libraries -------------------------------------------------------------------------------- */

/* How often one of them did something (tests/cuda/sim/library.h); kernels of ctsc's own that were launched. */
static inline long long sim_count_of(const char *what) {
    void *library = dlopen(sim_file(), RTLD_NOW | RTLD_LOCAL);
    long long (*ask)(const char *) = library ? (long long (*)(const char *))dlsym(library, "sim_counted") : NULL;
    CHILD_CHECK(ask != NULL);
    return ask(what);
}

static inline int64_t sim_launches(void) {
    cuda *c;
    CHILD_CHECK(cuda_open(NULL, 0, &c) == CTSC_OK);
    return cuda_get_program_stats(c).launches;
}

#endif
