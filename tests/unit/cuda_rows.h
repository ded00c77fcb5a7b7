/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_rows.h - operators on the simulated device (tests/cuda/sim) against the host's results,
 * as rows of text.
 *
 * Rows are those of dense_rows.h; f32 is replaced by the type that the row
 * is run with. Results have to agree as closely as sums in another order do.
 */
#ifndef CTSC_TESTS_CUDA_ROWS_H
#define CTSC_TESTS_CUDA_ROWS_H

#include "dense_rows.h"

#include "cuda_support.h"
#include "runtime/cuda/through_host.h"

/* ---- running --------------------------------------------------------------------------------- */

/* Reads the results back and compares. NULL: they agree. */
static const char *dense_compare(const op *o, const value *host, const value *device,
                                 const char *type) {
    static char why[440];
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
        const char *differ = dense_differ(here, host[i].u.tensor, type);
        tensor_unref(here);
        if (!differ) continue;
        snprintf(why, sizeof why, "result %d: %s", i, differ);
        return why;
    }
    return NULL;
}

/* 0: the row agrees with the host. */
static int dense_run(const dense_row *row, const char *type) {
    value args[OPCASE_MAX_ARGS], there[OPCASE_MAX_ARGS],
        host[OPCASE_MAX_RESULTS] = {value_none()}, device[OPCASE_MAX_RESULTS] = {value_none()};
    diag d = {0};
    strbuf text = STRBUF_INIT;
    const op *o = op_find(row->op);
    int failed = 0;
    assert_non_null(o);
    dense_expand(row->args, type, &text);
    int n = opcase_values(sb_str(&text), args);
    if (dense_call(o, NULL, n, args, host, &d) == CTSC_OK) { /* not all of them take half */
        const char *why = NULL;
        if (through_host_move(&d, n, args, 1, there) != CTSC_OK ||
            dense_call(o, NULL, n, there, device, &d) != CTSC_OK)
            why = diag_message(&d);
        else why = dense_compare(o, host, device, type);
        if (why) {
            print_error("%s %s (%s): %s\n", row->op, row->args, type, why);
            failed = 1;
        }
        for (int i = 0; i < n; i++) value_unref(there[i]);
    }
    if (!strcmp(type, "f32") && host[0].tag == V_NONE)
        print_error("%s %s: the host says %s\n", row->op, row->args, diag_message(&d)), failed = 1;
    for (int i = 0; i < OPCASE_MAX_RESULTS; i++) value_unref(host[i]), value_unref(device[i]);
    for (int i = 0; i < n; i++) value_unref(args[i]);
    sb_free(&text);
    diag_clear(&d);
    return failed;
}

#endif
