/* SPDX-License-Identifier: Apache-2.0 */
/* profile_show.h - what ctsc profile measures (cmd_profile.c) and shows (profile_show.c). */
#ifndef CTSC_CLI_PROFILE_SHOW_H
#define CTSC_CLI_PROFILE_SHOW_H

#include "cli/denormals.h"

typedef struct profile_rows { ctsc_profile_entry *data; size_t n, cap; bool failed; } profile_rows;

/* One model at one level. */
typedef struct profile_side {
    cli_model model;
    int opt;
    ctsc_module *m;
    cli_inputs inputs; /* of its own: a method may write to them */
    ctsc_profiler *p;
    ctsc_profile_summary sum;
} profile_side;

typedef struct profile_args {
    cli_model model;
    cli_call call;
    cli_limits limits;
    const char *compare, *trace;
    int compare_opt; /* -1: not given */
    int calls, warmup, limit;
    bool lines, methods, json;
    int threads;       /* in use */
    double fma_gflops; /* the host's peak; negative: not measured, or of no use on another device */
    int nsides;
    profile_side sides[2];
    bool met_denormals;  /* of one side; */
    denormals denormals; /* ... what they cost then */
} profile_args;

int profile_show(const profile_args *a);

#endif
