/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_libraries.h - what the tests of cuBLASLt and of cuDNN share: rows of operators with a
 * simulated library (tests/cuda/sim/library.h), which checks how it is called.
 */
#ifndef CTSC_TESTS_CUDA_LIBRARIES_H
#define CTSC_TESTS_CUDA_LIBRARIES_H

#include "cuda_rows.h"

#include <dlfcn.h>

typedef struct library_test {
    const char *variable; /* of the environment, naming the library's file */
    const dense_row *rows;
    size_t nrows;
    long long least; /* how much work the rows are */
    /* what the simulation counts: calls that do the work; what is made of an answer;
     * what it is asked */
    const char *work, *plans, *questions;
    const char *op; /* of library_takes */
} library_test;

/* The program's one library. */
static const library_test *library;

static void library_use(const library_test *test) {
    sim_use();
    setenv(test->variable, sim_file(), 1);
    library = test;
}

/* How often the library did something. */
static long long library_count(const char *what) {
    void *sim = dlopen(sim_file(), RTLD_NOW | RTLD_LOCAL);
    long long (*ask)(const char *) = sim ? (long long (*)(const char *))dlsym(sim, "sim_counted")
                                         : NULL;
    CHILD_CHECK(ask != NULL);
    return ask(what);
}

/* Kernels of ctsc's own that were launched. */
static int64_t library_launches(void) {
    cuda *c;
    CHILD_CHECK(cuda_open(NULL, 0, &c) == CTSC_OK);
    return cuda_get_program_stats(c).launches;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void child_rows(void) {
    static const char *const types[] = {"f32", "f16", "bf16", "f64"};
    int failed = 0;
    for (size_t i = 0; i < library->nrows; i++)
        for (size_t k = 0; k < sizeof types / sizeof *types; k++)
            failed += dense_run(&library->rows[i], types[k]);
    CHILD_CHECK(failed == 0);
}

static void child_agrees(void) {
    child_rows();
    CHILD_CHECK(library_count(library->work) >= library->least);
}

static void agrees_with_host(void **state) {
    (void)state;
    in_child(child_agrees);
}

/* Each call is given another situation to be wrong about: only the
 * driver's own allocations, and a device that lags far behind the host. */
static void child_strict(void) {
    setenv("CTSC_CUDA_MEMORY_CACHE", "0", 1);
    setenv("CTSC_SIM_LAZY", "1", 1);
    child_rows();
}

static void agrees_when_watched(void **state) {
    (void)state;
    in_child(child_strict);
}

static void child_refused(void) {
    setenv("CTSC_SIM_REFUSE", "1", 1);
    child_rows();
    CHILD_CHECK(library_count(library->work) == 0 && library_count(library->questions) > 0);
}

static void what_is_refused_is_done_otherwise(void **state) {
    (void)state;
    in_child(child_refused);
}

#define LIBRARY_TESTS                                                                              \
    cmocka_unit_test(agrees_with_host), cmocka_unit_test(agrees_when_watched),                     \
        cmocka_unit_test(what_is_refused_is_done_otherwise)

/* ---- what is asked of it --------------------------------------------------------------------- */

/* In a child: work, plans and kernels of ctsc's own that a call with these arguments takes. */
static void library_takes(const char *args, int work, int plans, int kernels) {
    const dense_row row = {library->op, args};
    long long w = library_count(library->work), p = library_count(library->plans);
    int64_t k = library_launches();
    CHILD_CHECK(dense_run(&row, "f32") == 0);
    w = library_count(library->work) - w, p = library_count(library->plans) - p,
    k = library_launches() - k;
    if (w != work || p != plans || k != kernels)
        fprintf(stderr, "%s: %s %lld, %s %lld, kernels %lld\n", args, library->work, w,
                library->plans, p, (long long)k);
    CHILD_CHECK(w == work && p == plans && k == kernels);
}

#endif
