/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fused.h - a fusion group at run time: its kernels, and what to do where there is none.
 *
 * A group keeps a list of kernels, each with the plan that says which arguments it is for
 * (codegen/lower/group.h). A call looks for one that fits; if none does, one is made, unless their
 * specialisation key (group_key) is known not to be lowerable, or there are FUSED_MAX_KERNELS
 * already; then the group's operators are interpreted: those that pass_split_group can put into
 * smaller groups as such, the others one by one.
 *
 * When kernels are made: at the second call with a specialisation key, so that programs that run
 * once need no compiler; at the first one for groups with loops, whose first run may already be
 * long, and at --opt 3.
 *
 * Nobody waits for kernels. Groups are lowered in the call, which takes a tenth of the
 * time, and compiled in the background (codegen_request); until then the operators are
 * interpreted. Only loops, which natively may be a hundred times faster, wait, for
 * RUNTIME_PATIENCE_US of a call in total. At --opt 3, and where the process says so
 * (codegen_set_in_calls), calls wait for the kernels they request: then the first native
 * call depends on nothing but the sequence of calls, and so does the rounding of results.
 *
 * Ownership: a fused belongs to the code (bytecode.h) that calls it and borrows the graph from
 * the node it was made of. Thread-safe: kernels are only added, under a lock, and published with
 * a release store.
 * Tests: tests/corpus at every level, tests/unit/test_steady.c, test_api.c,
 * test_background.c, tests/diff
 */
#ifndef CTSC_RUNTIME_EXEC_FUSED_H
#define CTSC_RUNTIME_EXEC_FUSED_H

#include "runtime/code/bytecode.h"

/* The last of them are generic: they take any size where the earlier ones may have made
 * short rows constants. */
struct nest;       /* codegen/nest/nest.h */
struct group_plan; /* codegen/lower/plan/group_plan.h */

enum { FUSED_MAX_KERNELS = 8, FUSED_GENERIC_KERNELS = 2, FUSED_MAX_VALUES = CODE_GROUP_VALUES };

/* What code_host.group_new is. */
ctsc_status fused_new(diag *d, const char *name, graph *g, code_group **out);

const graph *fused_graph(const code_group *g);
/* The operators one by one, where the group has no loop and so costs little and writes to nothing;
 * results are dropped. False: it has one, or failed. */
bool fused_profile_run(code_group *g, struct interp *in, value *args);

/* Told of each kernel that a group asks for, with the nest that it is made of; plan: what the group
 * keeps of it. NULL: nobody is. Of the whole process, for tools that compile ahead of time
 * (runtime/aot/), while nothing else runs. */
typedef struct fused_listener {
    void (*made)(struct fused_listener *l, const code_group *g, struct nest *n,
                 const struct group_plan *plan);
} fused_listener;
extern fused_listener *fused_listening;
/* What runs where no kernel does: the group's operators in smaller groups, or one by one. */
const struct code *fused_operators(const code_group *g);

/* Calls with tensors on a device so far: by a kernel, and without one. For tests and tools. */
typedef struct fused_device_stats {
    int64_t native, interpreted;
} fused_device_stats;
fused_device_stats fused_get_device_stats(void);

#endif
