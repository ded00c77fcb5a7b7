/* SPDX-License-Identifier: Apache-2.0 */
/* diff_nests.h - the fuzzer's programs for fusion groups: any, or one for a cell of
 * the coverage table. */
#ifndef CTSC_TESTS_DIFF_NESTS_H
#define CTSC_TESTS_DIFF_NESTS_H

#include "graph_gen.h"
#include "nests.h"

typedef struct nests_job {
    const gen_ops *ops;
    coverage *cover;   /* NULL: nothing is counted */
    int first, second; /* the cell; -1: any graph */
    int vary;          /* sets of arguments */
    int stretch;       /* percent of those after the first that have a long side */
    bool show;         /* prints the graph */
} nests_job;

typedef struct nests_totals { uint64_t graphs, runs, groups, kernels, excused; } nests_totals;

/* One graph on all its arguments. Totals are added to. */
nests_verdict nests_seed(const nests_job *j, uint64_t seed, nests_totals *t, strbuf *report);

#endif
