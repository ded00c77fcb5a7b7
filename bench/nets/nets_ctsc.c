/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nets_ctsc.c - ctsc as a contender of `make bench-nets`: loads a network, compares its result with
 * PyTorch's, and runs it when told.
 *
 *     nets_ctsc MODEL.pt ARRAYS.npz THREADS [no-winograd]
 *
 * ARRAYS has the arguments (x0, x1, ...) and what PyTorch computed (y0, y1, ...). Prints one JSON
 * object once it is warm, {"version", "error", "base_kib", "peak_kib"}: the largest difference
 * relative to the largest value; the process' memory before it knew the network, and at most so
 * far; or {"failed"}. Then each line read is a number of seconds to measure for, which it answers
 * with {"min_ms", "median_ms", "peak_kib"}: of single calls, and of the process since it was warm.
 * nets_worker.py is the same in Python, for the peers.
 */
#include <ctsc.h>

#include "../process.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_ARGS = 8, WARM_CALLS = 4, LEAST_CALLS = 5 };

typedef struct net {
    ctsc_module *m;
    ctsc_value *arrays, *args[MAX_ARGS];
    size_t nargs;
    ctsc_error *e;
} net;

/* "x0" or "y0"; NULL if there is none. */
static ctsc_value *net_array(const net *n, char letter, size_t i) {
    char name[32];
    snprintf(name, sizeof name, "%c%zu", letter, i);
    return ctsc_value_get(n->arrays, name);
}

static bool net_call(const net *n, ctsc_value **out) {
    return ctsc_module_run(n->m, "forward", n->nargs, n->args, NULL, out, n->e) == CTSC_OK;
}

/* ---- comparing ------------------------------------------------------------------------------- */

/* The largest difference of two float tensors relative to the largest of want; infinite where
 * they do not compare. */
static double net_difference(const ctsc_value *got, const ctsc_value *want) {
    ctsc_value *a = NULL, *b = NULL;
    double largest = 0, most = 0;
    bool same = ctsc_value_kind(got) == CTSC_KIND_TENSOR &&
                ctsc_tensor_dtype(got) == CTSC_FLOAT32 && ctsc_tensor_dtype(want) == CTSC_FLOAT32 &&
                ctsc_tensor_ndim(got) == ctsc_tensor_ndim(want);
    int64_t count = 1;
    for (int i = 0; same && i < ctsc_tensor_ndim(want); i++) {
        same = ctsc_tensor_sizes(got)[i] == ctsc_tensor_sizes(want)[i];
        count *= ctsc_tensor_sizes(want)[i];
    }
    same = same && ctsc_tensor_contiguous(got, &a, NULL) == CTSC_OK &&
           ctsc_tensor_contiguous(want, &b, NULL) == CTSC_OK;
    for (int64_t i = 0; same && i < count; i++) {
        float x = ((float *)ctsc_tensor_data(a))[i], y = ((float *)ctsc_tensor_data(b))[i];
        if (isnan(x - y)) same = false;
        largest = fmax(largest, fabsf(y));
        most = fmax(most, fabsf(x - y));
    }
    ctsc_value_free(a);
    ctsc_value_free(b);
    return !same ? INFINITY : most == 0 ? 0 : most / largest;
}

static double net_error(const net *n, const ctsc_value *result) {
    double worst = 0;
    bool tuple = ctsc_value_kind(result) == CTSC_KIND_TUPLE;
    ctsc_value *want;
    size_t i = 0;
    for (; (want = net_array(n, 'y', i)); i++) {
        ctsc_value *item = tuple ? ctsc_value_item(result, i) : ctsc_value_copy(result);
        worst = fmax(worst, item ? net_difference(item, want) : INFINITY);
        ctsc_value_free(item);
        ctsc_value_free(want);
    }
    return i && i == (tuple ? ctsc_value_len(result) : 1) ? worst : INFINITY;
}

/* ---- running --------------------------------------------------------------------------------- */

static int compare_times(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool net_measure(const net *n, double seconds) {
    double *ms = NULL, end = now_ms() + seconds * 1e3;
    size_t count = 0, room = 0;
    while (count < LEAST_CALLS || now_ms() < end) {
        ctsc_value *out = NULL;
        if (count == room) {
            double *more = realloc(ms, (room = 2 * room + 64) * sizeof *ms);
            if (!more) break;
            ms = more;
        }
        double start = now_ms();
        if (!net_call(n, &out)) break;
        ms[count++] = now_ms() - start;
        ctsc_value_free(out);
    }
    bool ok = count >= LEAST_CALLS;
    if (ok) {
        qsort(ms, count, sizeof *ms, compare_times);
        printf("{\"min_ms\": %.5f, \"median_ms\": %.5f, \"peak_kib\": %ld}\n", ms[0], ms[count / 2],
               peak_kib());
    }
    free(ms);
    return ok;
}

/* Loads and warms up; prints the first line. */
static bool net_open(net *n, const char *model, const char *arrays) {
    ctsc_value *out = NULL;
    double error = INFINITY;
    long base = 0;
    bool ok = ctsc_value_load(arrays, &n->arrays, n->e) == CTSC_OK;
    while (ok && n->nargs < MAX_ARGS && (n->args[n->nargs] = net_array(n, 'x', n->nargs)))
        n->nargs++;
    base = status_kib("VmRSS");
    ok = ok && ctsc_module_load(model, &n->m, n->e) == CTSC_OK &&
         ctsc_module_set_opt(n->m, 2, n->e) == CTSC_OK;
    for (int i = 0; i < WARM_CALLS && ok; i++) {
        ctsc_value_free(out);
        out = NULL;
        ok = net_call(n, &out);
    }
    if (ok) error = net_error(n, out);
    ctsc_value_free(out);
    if (ok)
        printf("{\"version\": \"ctsc %s\", \"error\": %g, \"base_kib\": %ld, \"peak_kib\": %ld}\n",
               ctsc_version(), isfinite(error) ? error : 1e30, base, peak_kib());
    peak_reset();
    return ok;
}

int main(int argc, char **argv) {
    bool direct = argc == 5 && !strcmp(argv[4], "no-winograd");
    if (argc != 4 && !direct) {
        fprintf(stderr, "usage: nets_ctsc MODEL.pt ARRAYS.npz THREADS [no-winograd]\n");
        return CTSC_USAGE;
    }
    char line[64];
    net n = {.e = ctsc_error_new()};
    ctsc_set_threads(atoi(argv[3]));
    ctsc_set_winograd(!direct);
    ctsc_set_compiling(CTSC_COMPILE_IN_CALLS);
    bool ok = n.e && net_open(&n, argv[1], argv[2]);
    fflush(stdout);
    while (ok && fgets(line, sizeof line, stdin)) {
        ok = net_measure(&n, atof(line));
        fflush(stdout);
    }
    if (!ok) {
        fprintf(stderr, "%s\n", n.e ? ctsc_error_message(n.e) : "out of memory");
        puts("{\"failed\": \"ctsc, see above\"}");
    }
    for (size_t i = 0; i < n.nargs; i++) ctsc_value_free(n.args[i]);
    ctsc_value_free(n.arrays);
    ctsc_module_free(n.m);
    ctsc_error_free(n.e);
    return ok ? 0 : 1;
}
