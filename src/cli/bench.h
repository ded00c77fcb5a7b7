/* SPDX-License-Identifier: Apache-2.0 */
/* bench.h - what ctsc bench measures (cmd_bench.c) and shows (bench_show.c). */
#ifndef CTSC_CLI_BENCH_H
#define CTSC_CLI_BENCH_H

#include "cli/cli.h"
#include "cli/machine.h"

enum { BENCH_LEVELS = 3 };

/* One level of optimisation: a module of its own, inputs of its own (a method may write to them), and its times. */
typedef struct bench_level {
    const char *name;
    int opt;
    ctsc_module *m;
    cli_inputs inputs;
    double load_us, first_us;
    double call_us;             /* about, once warm: decides the batch */
    int batch;                  /* calls between two looks at the clock */
    ctsc_value *first, *warm;   /* results of the first and of a later call */
    double *us;                 /* samples: time per call of one batch each, sorted once measured */
    size_t n, cap;
} bench_level;

/* A model, at the levels that are measured. */
typedef struct bench_model {
    const char *path;
    int nlevels;
    bench_level levels[BENCH_LEVELS];
    int64_t kernels, kernels_from_disk; /* made by the last level */
    double compile_us;
    int64_t bytes, flops;       /* of one call */
    bool counted;               /* all of flops is known, else: */
    char uncounted[64];         /* an operator that is not in flops */
    double rtol, atol;          /* with which the levels' results were compared */
    bool same;                  /* and whether they agreed */
} bench_model;

typedef struct bench {
    cli_model model;            /* the first one's path, and how source is compiled */
    cli_call call;
    int calls;
    double seconds;
    bool json;
    int threads;                /* in use */
    int nmodels;
    bench_model *models;
    machine_rates machine;
} bench;

int bench_show(const bench *b);

#endif
