/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_check.h - does a trace compute what the traced program computes?
 *
 * Method. The program has run once more, and a second trace has kept a copy of each call's result.
 * Now the first trace's graph, as it was recorded, is run with the same inputs under instrument.h,
 * which shows every node's outputs in order: a recorded call's node is compared with the call that
 * the program made at that place. The first that differs is the error; so is a call that only one
 * of them makes, and a result of other values.
 * Tests: tests/unit/test_trace.c, tests/cli/trace.test
 */
#ifndef CTSC_RUNTIME_PROGRAM_TRACE_CHECK_H
#define CTSC_RUNTIME_PROGRAM_TRACE_CHECK_H

#include "frontend/trace/trace.h"
#include "runtime/context/runtime.h"

typedef struct trace_check {
    const trace *recorded, *again;
    const function *forward;
    size_t n;
    const value *args;    /* the module, then the inputs */
    const value *result;  /* what the program returned; NULL: not compared */
    const uint64_t *seed; /* of the random generator; NULL: its first one */
    double rtol, atol;
} trace_check;

ctsc_status trace_check_run(const trace_check *c, diag *d);

#endif
