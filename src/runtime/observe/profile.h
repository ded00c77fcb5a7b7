/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile.h - what a profiler collects while programs run.
 *
 * A profiler has one row per operator, fusion group, source line and method, and sums in each.
 * A call that is given one takes a *profile*, which only this call uses: it counts in shadows
 * of the rows, without a lock, and adds them to the rows when the call ends. A profile is
 * the call's watch (interp/watch.h), by which the interpreter tells it of each instruction.
 *
 * Time. Spans nest as instructions do: the time of an instruction, less that of others
 * inside it, is its own (self). The profile's own time is excluded: its clock is stopped
 * meanwhile. A row that is entered again inside itself adds to its total once. Where
 * code was inlined, a node's chain of calls tells which methods and lines it belongs to,
 * so they add up as if the calls were made. Code that comes with ctsc (operators written
 * in TorchScript, torch.nn of compiled files) counts for the line that called it.
 *
 * Kernels. What a fusion group's operators would compute is counted by having them interpreted once
 * for each specialisation key, outside the profile's time. Groups with loops are not interpreted
 * for that: their operations are not known.
 *
 * Denormal numbers: the processor notes for a thread that it met some (base/threads/float_mode.h).
 * A span begins with none noted, and what spans inside it met is not its own.
 *
 * Memory: blocks taken by the thread of the call for tensors and other values
 * (base/memory/recycle.h), whether from the allocator or kept from earlier calls.
 * Tests: tests/unit/test_profile.c, tests/cli/profile.test
 */
#ifndef CTSC_RUNTIME_OBSERVE_PROFILE_H
#define CTSC_RUNTIME_OBSERVE_PROFILE_H

#include "base/memory/recycle.h"
#include "runtime/interp/watch.h"

#include <pthread.h>

typedef struct profile_sums {
    uint64_t count; /* instructions; of methods: calls that were not inlined */
    int64_t self_ns, total_ns;
    int64_t bytes, flops;
    uint64_t uncounted;              /* executions whose flops are not known */
    uint64_t denormal;               /* executions that met denormal numbers themselves */
    uint64_t allocations, allocated; /* blocks and their bytes, self */
    int64_t peak;                    /* most bytes that one execution held more than at its begin */
} profile_sums;

/* The table that contains a row. */
typedef enum profile_table {
    PROFILE_OPS,
    PROFILE_LINES,
    PROFILE_METHODS,
    PROFILE_TABLES
} profile_table;

typedef struct profile_row {
    const char *name; /* "aten::add.Tensor", "fused_add_mul"; a file; "__torch__.Net.forward" */
    const char *kind; /* "operator", "kernel", "call", "other"; "line"; "method" */
    const char *file; /* of a kernel, where its group begins; of a line; NULL: not known */
    uint32_t line;
    profile_sums sums;
} profile_row;

typedef struct profile_event {
    const profile_row *op, *line; /* line may be NULL */
    const char *shapes;           /* of the arguments; NULL: not known */
    uint64_t begin, ns;           /* on clock_now's scale */
    int64_t bytes, flops;         /* flops < 0: not known */
    int thread;
} profile_event;

/* What ctsc_profiler is. */
typedef struct profiler {
    pthread_mutex_t lock; /* of everything */
    arena arena;          /* rows and strings */
    strmap rows[PROFILE_TABLES], texts;
    VEC(profile_row *) list[PROFILE_TABLES];
    VEC(profile_event) events;
    VEC(unit *) units; /* references: profiles know code by its address */
    VEC(struct profile *) idle;
    size_t max_events;
    uint64_t origin; /* clock_now when it was made or reset */
    uint64_t calls, dropped;
    int64_t total_ns; /* of the calls */
    bool failed;      /* something was not counted: out of memory */
} profiler;

profiler *profiler_new(size_t max_events); /* NULL if out of memory */
void profiler_free(profiler *p);
void profiler_reset(profiler *p);

/* Around a call of f: what rt.watch is to be, a profile that counts into p; NULL if out of memory.
 * r: the thread's recycler. */
watch *profiler_begin(profiler *p, function *f, recycler *r);
void profiler_end(profiler *p, watch *w, recycler *r);

#endif
