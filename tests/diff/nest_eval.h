/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nest_eval.h - runs a loop nest by walking it, and checks on the way what the nest promises.
 *
 * A kernel takes a compiler some twenty milliseconds; walking a nest of a few hundred elements
 * takes some ten microseconds, so that a million of lowered groups can be looked at. It is also
 * stricter than a processor. Found as errors:
 *
 *   - a load or store outside of the elements that a buffer has, in arms of a select that are not
 *     taken as well (nest.h, point 3)
 *   - a load of an element that nobody has written, of an output, a scratch or a local buffer
 *   - a round of a vector or parallel loop that depends on another one: these loops go in an order
 *     of their own (point 6)
 *   - a call of a function that does not exist, a division of indices by 0
 *
 * Tests: tests/unit/test_nest_eval.c
 */
#ifndef CTSC_TESTS_NEST_EVAL_H
#define CTSC_TESTS_NEST_EVAL_H

#include "codegen/nest/nest.h"
#include "diff.h"

/* A buffer's memory: elements [0, length), element 0 at data. known: a flag for each, set where it
 * has been written; NULL: all are. */
typedef struct nest_memory {
    void *data;
    int64_t length;
    uint8_t *known;
} nest_memory;

typedef struct nest_eval nest_eval;

/* n has passed nest_verify, and outlives the result. */
nest_eval *nest_eval_new(nest *n);
void nest_eval_free(nest_eval *e);

/* Results beside those of kernels: the nest broke a rule, and nest_eval_why says which; it takes
 * longer than anybody wants to wait. */
enum { NEST_EVAL_WRONG = -1, NEST_EVAL_TIRED = -2 };

/* As a kernel_fn is called: memory, ints, floats in the order of the nest's; [begin, end)
 * of the parallel loop. order: decides the order of vector and parallel loops; NULL: as
 * they are written. */
int64_t nest_eval_run(nest_eval *e, nest_memory *memory, const int64_t *ints, const double *floats,
                      int64_t begin, int64_t end, rng *order);
const char *nest_eval_why(const nest_eval *e);

#endif
