/* SPDX-License-Identifier: Apache-2.0 */
/* bench.h - what ctsc bench measures (cmd_bench.c), compares (bench_compare.c) and
 * shows (bench_show.c). */
#ifndef CTSC_CLI_BENCH_H
#define CTSC_CLI_BENCH_H

#include "cli/cli.h"
#include "cli/machine.h"
#include "ctsc_compiler.h"

enum { BENCH_LEVELS = 3, WARM_CALLS = 5, BENCH_POINTS = 64, BENCH_MAX_BATCH = 1000000 };

/* One level of optimisation: a module of its own, inputs of its own (a method may write to
 * them), and its times. */
typedef struct bench_level {
    const char *name;
    int opt;
    ctsc_module *m;
    cli_inputs inputs;
    double load_us, first_us;
    double call_us;           /* about, once warm: decides the batch */
    int batch;                /* calls between two looks at the clock */
    ctsc_value *first, *warm; /* results of the first and of a later call */
    double *us;               /* samples: time per call of one batch each, sorted once measured */
    size_t n, cap;
} bench_level;

struct bench;

/* A model, at the levels that are measured. */
typedef struct bench_model {
    const struct bench *all;
    const char *path;
    int nlevels;
    bench_level levels[BENCH_LEVELS];
    int64_t kernels, kernels_from_disk; /* made by the last level */
    double compile_us;
    int64_t bytes, flops;         /* of one call */
    int64_t items;                /* the first size of the first tensor among the inputs; else 1 */
    bool counted;                 /* all of flops is known, else: */
    char uncounted[64];           /* an operator that is not in flops */
    ctsc_precision_counts layers; /* of the last level, where a precision was named */
    /* with which the levels' results were compared: of an element, of the largest one */
    double rtol, share;
    bool same;       /* and whether they agreed */
    bool by_float64; /* by how far they are from a float64 run, at most: */
    double from_float64;
} bench_model;

typedef struct bench {
    cli_model model; /* the first one's path, and how source is compiled */
    cli_call call;
    cli_limits limits;
    int calls;
    double seconds;
    bool json;
    const char *batches; /* of --batch: "1,2,4"; NULL: as the inputs are */
    int threads;         /* in use */
    int nmodels;
    bench_model *models;
    machine_rates machine;
} bench;

ctsc_status bench_call(const bench *b, bench_level *l, ctsc_value **out, ctsc_error *e);
/* Sets same and the fields around it; reports on stderr
 * what differs. After the work of a call was counted. */
void bench_compare(bench_model *b, ctsc_error *e);
int bench_show(const bench *b);
double bench_quantile(const bench_level *l, double q);
json_t *bench_model_json(const bench *b, const bench_model *m);
/* "1,2,4" as numbers: how many; 0: it is no such list, has more than `most`, or one outside
 * min to max. */
int bench_list(const char *text, int64_t *out, int most, int64_t min, int64_t max);
/* Loads, warms and measures all models: reports and returns the exit code on failure.
 * bench_clear gives back what it made of one. */
int bench_measured(bench *b, ctsc_error *e);
void bench_clear(bench_model *m);
int bench_sweep(bench *b, ctsc_error *e);

#endif
