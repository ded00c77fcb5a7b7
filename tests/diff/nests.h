/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nests.h - every fusion group of a graph, lowered for the CPU and for CUDA, and run as a loop nest
 * (nest_eval.h) against its operators.
 *
 * Each group is lowered with all sizes free to become constants, with none (group_options.generic),
 * and for CUDA; a group without a kernel goes on in parts, as at run time. Plans are kept while the
 * same graph runs on other arguments: where they say that they fit, they have to. The parallel loop
 * is cut into pieces, and these run in any order.
 */
#ifndef CTSC_TESTS_NESTS_H
#define CTSC_TESTS_NESTS_H

#include "coverage.h"

typedef struct nests nests;

/* g: a graph that runs; it is optimised as level 3 does. recompute_bytes: of the pass's context.
 * cover: NULL: nothing is counted. NULL: optimising failed, see d. */
nests *nests_new(const graph *g, int64_t recompute_bytes, coverage *cover, uint64_t seed, diag *d);
void nests_free(nests *s);

/* EXCUSED: rounding */
typedef enum nests_verdict { NESTS_SAME, NESTS_EXCUSED, NESTS_DIFFERENT } nests_verdict;
/* Runs the graph on copies of args. report: of a difference, the group, its nest, the arguments
 * and what is wrong. */
nests_verdict nests_check(nests *s, size_t nargs, const value *args, strbuf *report);

/* What the optimised graph became, for looking why a cell was not reached. */
const graph *nests_graph(const nests *s);
uint64_t nests_groups(const nests *s); /* fusion groups that were run */
uint64_t nests_plans(const nests *s);  /* kernels */

#endif
