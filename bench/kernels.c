/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernels.c - the speed of generated code, one thread, against memcpy of the same bytes
 * in the same run.
 *
 *     kernels [CPU [--asm|--ir NAME]]        (make bench-kernels)
 *
 * Times are the best of many calls; a call follows a call of memcpy, so both meet the same machine.
 * Bytes are what the kernel must read and write. The disk cache is off, so compile times are real.
 */
#include "codegen/cache/cache.h"

#include "../tests/unit/codegen_nests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct bench_case {
    const char *name;
    nest *(*build)(arena *a);
    int64_t floats[4]; /* elements of each buffer; the last is the output */
    int nbuffers;
    int64_t ints[2], range; /* of the parallel loop */
    double reals[1];
} bench_case;

static nest *bench_power(arena *a) { return nests_power(a, DT_FLOAT32, 10); }
static nest *bench_softmax(arena *a) { return nests_softmax(a, DT_FLOAT32); }
static nest *bench_gelu_norm(arena *a) { return nests_layer_norm(a, "gelu_tanh"); }
static nest *bench_distance(arena *a) { return nests_distance(a, 10); }
static nest *bench_map(arena *a, const char *f) {
    nest *n = nest_new(a, f);
    nest_buffer *x = nest_add_buffer(n, "x", DT_FLOAT32, 0),
                *out = nest_add_buffer(n, "out", DT_FLOAT32, 0);
    nest_expr *i = nest_for(n, "i", nest_int(n, 0), nest_add_int(n, "n"),
                            NEST_PARALLEL | NEST_VECTOR);
    nest_expr *v = nest_load(n, x, i);
    n->contract = true;
    nest_store(n, out, i,
               strcmp(f, "pow")
                   ? nest_call1(n, f, v)
                   : nest_call(n, f, 2, (nest_expr *[]){v, nest_const_float(n, NEST_F32, 2.5)}));
    nest_end(n);
    return n;
}
#define BENCH_MAP(f)                                                                               \
    static nest *bench_##f(arena *a) { return bench_map(a, #f); }
BENCH_MAP(exp)
BENCH_MAP(tanh)
BENCH_MAP(erf)
BENCH_MAP(log)
BENCH_MAP(sin)
BENCH_MAP(pow)

enum { MI = 1 << 20 };
static const bench_case bench_cases[] = {
    {"x*x ten times, 5", bench_power, {5, 5}, 2, {5}, 5},
    {"x*x ten times, 1 M", bench_power, {MI, MI}, 2, {MI}, MI},
    {"x*x ten times, 4 M", bench_power, {4 * MI, 4 * MI}, 2, {4 * MI}, 4 * MI},
    {"softmax 2048x1024", bench_softmax, {2048 * 1024, 2048 * 1024}, 2, {2048, 1024}, 2048},
    {"gelu+norm 2048x768",
     bench_gelu_norm,
     {2048 * 768, 768, 768, 2048 * 768},
     4,
     {2048, 768},
     2048,
     {1e-5}},
    {"distance 1000x2000x10",
     bench_distance,
     {10000, 20000, 2000000},
     3,
     {1000, 2000},
     (2000 + NESTS_TILE - 1) / NESTS_TILE},
    {"exp 1 M", bench_exp, {MI, MI}, 2, {MI}, MI},
    {"tanh 1 M", bench_tanh, {MI, MI}, 2, {MI}, MI},
    {"erf 1 M", bench_erf, {MI, MI}, 2, {MI}, MI},
    {"log 1 M", bench_log, {MI, MI}, 2, {MI}, MI},
    {"sin 1 M", bench_sin, {MI, MI}, 2, {MI}, MI},
    {"pow 1 M", bench_pow, {MI, MI}, 2, {MI}, MI},
};

static double bench_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static void bench_run(const bench_case *b, const kernel *k) {
    void *buffers[4], *copy, *to;
    int64_t bytes = 0;
    for (int i = 0; i < b->nbuffers; i++) {
        size_t size = (size_t)b->floats[i] * 4;
        buffers[i] = aligned_alloc(64, (size + 63) / 64 * 64);
        bytes += (int64_t)size;
        for (int64_t j = 0; j < b->floats[i]; j++)
            ((float *)buffers[i])[j] = 0.5f + (float)(j % 1000) * 1e-3f;
    }
    copy = aligned_alloc(64, (size_t)(bytes + 63) / 64 * 64);
    to = aligned_alloc(64, (size_t)(bytes + 63) / 64 * 64);
    memset(copy, 1, (size_t)bytes);
    memset(to, 1, (size_t)bytes);
    int inner = bytes < 4096 ? 1000 : 1, rounds = 60;
    double best = 1e30, best_copy = 1e30;
    for (int r = 0; r < rounds; r++) {
        double t0 = bench_now();
        for (int i = 0; i < inner; i++) {
            memcpy(to, copy, (size_t)bytes / 2); /* reads half, writes half: the same traffic */
            __asm__ volatile("" : : "r"(to) : "memory");
        }
        double t1 = bench_now();
        for (int i = 0; i < inner; i++) k->fn(buffers, b->ints, b->reals, 0, b->range, NULL);
        double t2 = bench_now();
        if ((t1 - t0) / inner < best_copy) best_copy = (t1 - t0) / inner;
        if ((t2 - t1) / inner < best) best = (t2 - t1) / inner;
    }
    printf("%-24s %10.3f us  %7.2f GB/s  memcpy %10.3f us %7.2f GB/s  ratio %5.2f  compile %6.2f "
           "ms, %5zu "
           "bytes\n",
           b->name, best, (double)bytes / best * 1e-3, best_copy, (double)bytes / best_copy * 1e-3,
           best / best_copy, k->milliseconds, k->code_bytes);
    for (int i = 0; i < b->nbuffers; i++) free(buffers[i]);
    free(copy);
    free(to);
}

int main(int argc, char **argv) {
    codegen *c = codegen_new(&(codegen_options){.cpu = argc > 1 ? argv[1] : NULL, .folder = ""});
    diag d = {0};
    double t = bench_now();
    if (!codegen_available(c, &d)) {
        printf("%s\n", diag_message(&d));
        return 6;
    }
    printf("opening the compiler: %.2f ms\n", (bench_now() - t) * 1e-3);
    for (size_t i = 0; i < sizeof bench_cases / sizeof *bench_cases; i++) {
        arena a;
        const kernel *k;
        arena_init(&a);
        nest *n = bench_cases[i].build(&a);
        char *text;
        if (argc > 3) {
            codegen_text what = strcmp(argv[2], "--asm") == 0   ? CODEGEN_ASSEMBLY
                                : strcmp(argv[2], "--raw") == 0 ? CODEGEN_IR
                                                                : CODEGEN_OPTIMISED_IR;
            if (strncmp(bench_cases[i].name, argv[3], strlen(argv[3])) == 0) {
                if (codegen_describe(c, n, what, &text, &d) == CTSC_OK) puts(text);
                else puts(diag_message(&d));
            }
        } else if (codegen_kernel(c, n, &k, &d) != CTSC_OK) {
            printf("%s: %s\n", bench_cases[i].name, diag_message(&d));
            diag_clear(&d);
        } else if (codegen_runnable(c)) {
            bench_run(&bench_cases[i], k);
        } else {
            printf("%-24s compile %6.2f ms, %5zu bytes (this machine cannot run it)\n",
                   bench_cases[i].name, k->milliseconds, k->code_bytes);
        }
        arena_free(&a);
    }
    codegen_free(c);
    return 0;
}
