/* SPDX-License-Identifier: Apache-2.0 */
/*
 * optimizers.c - how long a step of each optimiser takes, against memcpy of as many bytes as it
 * reads and writes.
 *
 *     optimizers [MILLIONS [THREADS]]
 *
 * One float32 parameter of so many million elements (11), on so many threads (1). The best of 15
 * steps; the first makes the state.
 */
#include "ctsc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* How many arrays a step reads and writes. */
static const struct {
    const char *name;
    int streams;
} rows[] = {{"sgd", 3},   {"adagrad", 5}, {"rmsprop", 5}, {"adadelta", 7},
            {"adam", 7},  {"adamw", 7},   {"adamax", 7},  {"nadam", 7},
            {"radam", 7}, {"asgd", 4},    {"rprop", 7}};

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* A parameter with a gradient. */
static ctsc_value *parameter(int64_t n) {
    ctsc_value *p = NULL, *g = NULL;
    if (ctsc_tensor_new(CTSC_FLOAT32, 1, &n, &p, NULL) != CTSC_OK ||
        ctsc_tensor_new(CTSC_FLOAT32, 1, &n, &g, NULL) != CTSC_OK)
        return NULL;
    float *gs = ctsc_tensor_data(g), *ps = ctsc_tensor_data(p);
    for (int64_t i = 0; i < n; i++)
        gs[i] = (float)(i % 17) * 0.01f - 0.05f, ps[i] = (float)(i % 13) * 0.1f;
    ctsc_status s = ctsc_value_set_grad(p, g, NULL);
    ctsc_value_free(g);
    return s == CTSC_OK ? p : NULL;
}

static double step_ms(const char *name, const ctsc_value *list) {
    ctsc_optimizer *o = NULL;
    double best = 1e30;
    if (ctsc_optimizer_new(name, list, 0, NULL, &o, NULL) != CTSC_OK) return -1;
    for (int i = 0; i < 15; i++) {
        double t = now_ms();
        if (ctsc_optimizer_step(o, NULL) != CTSC_OK) return -1;
        t = now_ms() - t;
        if (t < best) best = t;
    }
    ctsc_optimizer_free(o);
    return best;
}

static double copy_ms(size_t bytes) {
    char *a = malloc(bytes), *b = malloc(bytes);
    double best = 1e30;
    if (!a || !b) return -1;
    memset(a, 1, bytes);
    memset(b, 1, bytes);
    for (int i = 0; i < 10; i++) {
        double t = now_ms();
        memcpy(b, a, bytes);
        t = now_ms() - t;
        if (t < best) best = t;
        a[i] = b[i + 1];
    }
    free(a);
    free(b);
    return best;
}

int main(int argc, char **argv) {
    int64_t n = (int64_t)((argc > 1 ? atof(argv[1]) : 11) * 1e6);
    ctsc_set_threads(argc > 2 ? atoi(argv[2]) : 1);
    ctsc_value *p = parameter(n), *list = p ? ctsc_list_new(1, &p) : NULL;
    if (!list) return 1;
    printf("%-10s %10s %14s\n", "optimiser", "step, ms", "memcpy, ms");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) /* half is read, half written */
        printf("%-10s %10.2f %14.2f\n", rows[i].name, step_ms(rows[i].name, list),
               copy_ms((size_t)n * 2 * (size_t)rows[i].streams));
    ctsc_value_free(list);
    ctsc_value_free(p);
    return 0;
}
