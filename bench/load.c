/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load.c - how long loading and running an archive takes, and how much memory.
 *
 *     load MODEL INPUTS [THREADS]        (make bench-load MODEL=... INPUTS=...)
 *
 * Five rounds of load, first run, ten more runs, unload; the best and the median of each
 * are printed. Peak memory is that of the process (VmHWM) right after the first load, less
 * what it was before.
 */
#include <ctsc.h>

#include "process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 5, RUNS = 10 };

static int load_compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void load_print(const char *what, double *ms, int n) {
    qsort(ms, (size_t)n, sizeof *ms, load_compare);
    printf("%-12s best %8.2f ms   median %8.2f ms\n", what, ms[0], ms[n / 2]);
}

int main(int argc, char **argv) {
    if (argc < 3) {
        fprintf(stderr, "usage: load MODEL INPUTS [THREADS]\n");
        return CTSC_USAGE;
    }
    ctsc_error *e = ctsc_error_new();
    ctsc_value *tuple = NULL, *args[16], *out;
    double load[ROUNDS], first[ROUNDS], run[ROUNDS * RUNS];
    ctsc_set_threads(argc > 3 ? atoi(argv[3]) : 1);
    ctsc_set_compiling(CTSC_COMPILE_IN_CALLS);
    if (ctsc_value_load(argv[2], &tuple, e) != CTSC_OK) goto fail;
    size_t n = ctsc_value_len(tuple);
    if (n > 16) return CTSC_USAGE;
    for (size_t i = 0; i < n; i++) args[i] = ctsc_value_item(tuple, i);
    long before = peak_kib();
    for (int r = 0; r < ROUNDS; r++) {
        ctsc_module *m = NULL;
        double t = now_ms();
        if (ctsc_module_load(argv[1], &m, e) != CTSC_OK) goto fail;
        load[r] = now_ms() - t;
        if (r == 0)
            printf("%-12s %.1f MiB above the process's own\n", "peak memory",
                   (double)(peak_kib() - before) / 1024);
        for (int k = 0; k <= RUNS; k++) {
            t = now_ms();
            if (ctsc_module_run(m, "forward", n, args, NULL, &out, e) != CTSC_OK) goto fail;
            if (k == 0) first[r] = now_ms() - t;
            else run[r * RUNS + k - 1] = now_ms() - t;
            ctsc_value_free(out);
        }
        ctsc_module_free(m);
    }
    load_print("load", load, ROUNDS);
    load_print("first run", first, ROUNDS);
    load_print("run", run, ROUNDS * RUNS);
    for (size_t i = 0; i < n; i++) ctsc_value_free(args[i]);
    ctsc_value_free(tuple);
    ctsc_error_free(e);
    return 0;
fail:
    fprintf(stderr, "%s\n", ctsc_error_message(e));
    return ctsc_error_status(e);
}
