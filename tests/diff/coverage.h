/* SPDX-License-Identifier: Apache-2.0 */
/*
 * coverage.h - what the fuzzer has tried: which operators met in a kernel, in which schedules, and
 * which passes met on a graph.
 *
 * A label is an operator that is fusible, by the name that the lowering knows it by ("exp": alike
 * for exp and its aliases), or a kind of view: "slice, empty". A node has one label or more. A cell
 * is an ordered pair of labels: a node of the first makes what one of the second reads, in one
 * kernel. Cells count programs whose kernel was lowered, run, and agreed.
 *
 * The counts are in memory that the fuzzer's processes share.
 */
#ifndef CTSC_TESTS_COVERAGE_H
#define CTSC_TESTS_COVERAGE_H

#include "codegen/lower/group.h"
#include "diff.h"
#include "passes/passes.h"

enum { COVERAGE_LABELS = 288, COVERAGE_PER_NODE = 6 };

/* Why a program that was made for a cell did not get there. */
/* clang-format off */
#define COVERAGE_MISS_TABLE(X)                                                                     \
    X(FIRST,   "the first operator could not be placed")                                           \
    X(SECOND,  "the second does not take what the first gives (dtype, dims)")                      \
    X(PASSES,  "passes rewrote one of them, or moved them apart")                                  \
    X(PLAN,    "the group has no kernel, or goes on in parts")
/* clang-format on */

typedef enum coverage_miss {
#define COVERAGE_MISS_ENUM(e, text) MISS_##e,
    COVERAGE_MISS_TABLE(COVERAGE_MISS_ENUM)
#undef COVERAGE_MISS_ENUM
    MISSES
} coverage_miss;

typedef struct coverage {
    uint64_t meaning; /* of the numbers of cells */
    _Atomic uint64_t programs;
    _Atomic uint32_t native[COVERAGE_LABELS][COVERAGE_LABELS]; /* compiled programs */
    _Atomic uint32_t pairs[COVERAGE_LABELS][COVERAGE_LABELS],
        schedules[COVERAGE_LABELS][GROUP_SCHEDULES];
    _Atomic uint32_t tries[COVERAGE_LABELS][COVERAGE_LABELS],
        misses[COVERAGE_LABELS][COVERAGE_LABELS][MISSES];
    /* reused: plans that ran on other arguments than they were made for */
    _Atomic uint32_t plans[GROUP_SCHEDULES], reused;
    /* All of them changed the graph, in this order. */
    _Atomic uint32_t passes[PASS_COUNT][PASS_COUNT], triples[PASS_COUNT][PASS_COUNT][PASS_COUNT];
} coverage;

/* Shared by this process and those it starts; kept in a file (NULL: in none), to which several runs
 * may add. NULL: there is no memory, or the file is that of another version. */
coverage *coverage_new(const char *file);

int coverage_labels(void);
const char *coverage_label(int label);
/* The operators of a label, keys of rows: the i-th; after the last one NULL. */
const char *coverage_operator(int label, int i);
/* Is it a reduction, or made of some? Has that met all schedules of reductions so often? */
bool coverage_reduces(int label);
bool coverage_met_all(const coverage *c, int label, int goal);
/* The labels of a node, given what its inputs are. Gives how many. */
int coverage_of(const node *n, evaluation *e, int *labels);
bool coverage_has(const node *n, evaluation *e, int label);

/* Everything that a kernel made of g was run for. e: knows the values of g. host: pairs are counted
 * for kernels of the host alone. */
void coverage_count(coverage *c, const graph *g, evaluation *e, group_schedule schedule);
/* The tables, as Markdown. goal: programs that a cell should have. */
void coverage_report(const coverage *c, int goal, strbuf *out);
void coverage_report_passes(const coverage *c, strbuf *out);

#endif
