/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls.c - ctsc as a contender that is kept running, as peer.py does for the others: many short
 * measurements in one process.
 *
 *     calls THREADS
 *
 * Reads commands, one per line, and answers each with one line of JSON:
 *     load OPT PATH      compiles the Python file PATH, whose forward takes no arguments; calls it five times     {} or {"error": "..."}
 *     run SECONDS                                                               {"min_us": ..., "median_us": ...} or {"error": "..."}
 * Samples are batches of calls of 20 microseconds at least.
 */
#include <ctsc.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WARM = 5, MIN_SAMPLES = 5, MAX_SAMPLES = 1 << 16, MAX_BATCH = 100000 };
static const double batch_us = 20;

static double calls_now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static int calls_compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void calls_print_error(const ctsc_error *e) {
    printf("{\"error\": \"");
    for (const char *p = ctsc_error_message(e); *p && *p != '\n'; p++)
        putchar(*p == '"' || *p == '\\' ? '\'' : *p);
    printf("\"}\n");
}

static ctsc_status calls_sample(const ctsc_module *m, int n, double *us, ctsc_error *e) {
    ctsc_status s = CTSC_OK;
    double start = calls_now_us();
    for (int i = 0; i < n && s == CTSC_OK; i++) {
        ctsc_value *out = NULL;
        s = ctsc_module_run(m, "forward", 0, NULL, NULL, &out, e);
        ctsc_value_free(out);
    }
    *us = (calls_now_us() - start) / n;
    return s;
}

static ctsc_status calls_load(int opt, const char *path, ctsc_module **m, ctsc_error *e) {
    double us;
    ctsc_status s = ctsc_module_compile(path, NULL, m, e);
    if (s == CTSC_OK) s = ctsc_module_set_opt(*m, opt, e);
    return s == CTSC_OK ? calls_sample(*m, WARM, &us, e) : s;
}

static ctsc_status calls_run(const ctsc_module *m, double seconds, double *samples, ctsc_error *e) {
    double once;
    int n = 0;
    ctsc_status s = calls_sample(m, 1, &once, e);
    double want = once > 0 ? batch_us / once + 1 : MAX_BATCH;
    int batch = want > MAX_BATCH ? MAX_BATCH : (int)want;
    double begin = calls_now_us();
    while (s == CTSC_OK && n < MAX_SAMPLES &&
           (n < MIN_SAMPLES || calls_now_us() - begin < seconds * 1e6))
        s = calls_sample(m, batch, &samples[n++], e);
    if (s != CTSC_OK) return s;
    qsort(samples, (size_t)n, sizeof *samples, calls_compare);
    printf("{\"min_us\": %.4f, \"median_us\": %.4f}\n", samples[0], samples[n / 2]);
    return s;
}

int main(int argc, char **argv) {
    char line[4096];
    ctsc_module *m = NULL;
    ctsc_error *e = ctsc_error_new();
    double *samples = malloc(MAX_SAMPLES * sizeof *samples);
    if (!e || !samples || argc != 2) return CTSC_USAGE;
    ctsc_set_threads(atoi(argv[1]));
    ctsc_set_compiling(CTSC_COMPILE_IN_CALLS);
    while (fgets(line, sizeof line, stdin)) {
        ctsc_status s = CTSC_OK;
        line[strcspn(line, "\n")] = 0;
        if (!strncmp(line, "load ", 5) && strlen(line) > 7) {
            ctsc_module_free(m);
            m = NULL;
            s = calls_load(atoi(line + 5), line + 7, &m, e);
            if (s == CTSC_OK) printf("{}\n");
        } else if (!strncmp(line, "run ", 4) && m) {
            s = calls_run(m, atof(line + 4), samples, e);
        } else {
            printf("{\"error\": \"neither load nor run\"}\n");
        }
        if (s != CTSC_OK) calls_print_error(e);
        fflush(stdout);
    }
    ctsc_module_free(m);
    ctsc_error_free(e);
    free(samples);
    return 0;
}
